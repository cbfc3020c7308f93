"""The processes of one log: what a batch of the scan adds to them, and what that changes.

This is the one place that counts changes (`Compile.touch`): whatever is derived from a compile is good until then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tltui.model.nodes import Compile, Frame, Process, frame_key
from tltui.model.parts import Parts
from tltui.model.ref import CompileId
from tltui.model.status import Tally
from tltui.trace.batch import Batch, Context
from tltui.trace.log import Log

SHARED = 32
"""Counted records of a compile up to which its counts are shared with others."""


class LogModel:
    """The processes of one log.

    There is more than one where an older torch let parent and forked children write into one file, and where the
    records of one pid state different ranks.
    """

    def __init__(
        self, log: Log, rank_by_name: int | None = None, launch: str = "", started: float = 0.0, parts: Parts | None = None
    ) -> None:
        self.log = log
        self.processes: list[Process] = []
        """In the order of their first records."""
        self.rearranged = False
        """Whether the last batch brought a process, or the rank of one."""
        self._rank_by_name = rank_by_name
        self._launch = launch
        self.started = started
        """Seconds since the epoch."""
        self._parts = parts or Parts()
        self._owners: list[Compile] = []  # context → compile
        self._by_pid: dict[int, list[Process]] = {}
        self._attempts: dict[frozenset[int], frozenset[int]] = {}
        """Sets of attempts: nearly all compiles have the same one."""
        self._counts: dict[frozenset[tuple[str, int]], Counter[str]] = {}

    def apply(self, batch: Batch) -> list[Compile]:
        """Take over a batch; the compiles that it touched."""
        log, was_ended = self.log, self.log.ended
        log.apply(batch)
        self.rearranged = False
        touched: dict[int, Compile] = {}
        for context in batch.contexts:
            self._owners.append(self._owner(context))
        for number, records in batch.members.items():
            owner = self._owners[number]
            owner.take(records)
            owner.process.records += len(records)
            touched[id(owner)] = owner
        for record in batch.resized:
            owner = self.owner(record)
            touched[id(owner)] = owner
        for record, kind in batch.notable:
            event, name, _ = log.kinds[kind]
            owner = self.owner(record)
            owner.counts = self._one_more(owner.counts, name or event)
        for pid, number, text in batch.strings:
            self._define(pid, number, text)
        for started in batch.started:
            owner = self.owner(started.record)
            if owner.started is None:
                owner.started = started
                owner.started_attempt = log.context(started.record).attempt
                self._rename(owner, touched)
        for metrics in batch.metrics:
            owner = self.owner(metrics.record)
            owner.metrics.append(metrics)
            if metrics.co_name and owner.started is None:
                self._rename(owner, touched)
        if log.ended != was_ended:
            touched.update((id(owner), owner) for owner in self._unfinished())
        self._count(touched)
        return list(touched.values())

    def _one_more(self, counts: Counter[str], name: str) -> Counter[str]:
        """These counts and one more of a name. Most compiles have the same few counts: they share one object for them."""
        more = Counter(counts)
        more[name] += 1
        if more.total() > SHARED:
            return more
        return self._counts.setdefault(frozenset(more.items()), more)

    def end(self) -> None:
        """Nothing will be added to the log any more, though its end was not reached."""
        self.log.end()
        self._count({id(owner): owner for owner in self._unfinished()})

    def began(self, started: float) -> bool:
        """The log began at this time (seconds since the epoch); whether that is news."""
        news = started != self.started
        self.started = started
        for process in self.processes:
            process.started = started
        return news

    def owner(self, record: int) -> Compile:
        """The compile that a record belongs to."""
        return self._owners[self.log.columns.context[record]]

    def _define(self, pid: int, number: int, text: str) -> None:
        """Take over an entry of the string table, which all processes of one pid share."""
        strings = self._process(pid).strings
        if strings.get(number) != text:
            strings[number] = text
            for process in self._by_pid[pid]:
                process.defined(number)

    def _process(self, pid: int, rank: int | None = None, compile_id: CompileId | None = None) -> Process:
        """The process that wrote a record.

        Not every record states the rank (`str` never does, none does before the process group is there): one without
        belongs to the process of its pid that has the compile, else to the first.
        """
        if pid == 0 and self.processes:  # a line that is no record has no pid of its own
            return self.processes[0]
        own = self._by_pid.get(pid, [])
        if not own and self.processes and self.processes[0].pid == 0:
            self.processes[0].pid = pid
            own = self._by_pid[pid] = self._by_pid.pop(0)
        if rank is None and own:
            return next((process for process in own if compile_id in process.compiles), own[0])
        for process in own:
            if process.stated_rank is None:
                process.stated_rank = rank
                self.rearranged = True
            if process.stated_rank == rank:
                return process
        return self._new_process(pid, rank, own)

    def _new_process(self, pid: int, rank: int | None, own: list[Process]) -> Process:
        process = Process(self.log, pid, self._rank_by_name, self._launch, self.started, parts=self._parts)
        process.stated_rank = rank
        if own:
            process.strings, process.twin = own[0].strings, len(own)
        elif self.processes:
            process.parent, process.inherits = self.processes[0], True
        self.processes.append(process)
        self._by_pid.setdefault(pid, []).append(process)
        self.rearranged = True
        return process

    def _owner(self, context: Context) -> Compile:
        compile_id = CompileId(context.autograd, context.frame, context.compile)
        process = self._process(context.pid, context.rank, compile_id)
        owner = process.compiles.get(compile_id)
        if owner is None:
            owner = process.compiles[compile_id] = Compile(process, compile_id)
            key = frame_key(compile_id)
            frame = process.frames.get(key)
            if frame is None:
                frame = process.frames[key] = Frame(process, key)
            frame.compiles.append(owner)
        if context.attempt is not None and context.attempt not in owner.attempts:
            attempts = owner.attempts | {context.attempt}
            owner.attempts = self._attempts.setdefault(attempts, attempts)
        return owner

    @staticmethod
    def _rename(owner: Compile, touched: dict[int, Compile]) -> None:
        """What tells the name of a frame is news to all of its compiles (`Frame.code`): mostly it is the first one that tells."""
        frame = owner.frame
        if len(frame.compiles) > 1 and frame.learn():
            touched.update((id(sibling), sibling) for sibling in frame.compiles)

    def _unfinished(self) -> Iterator[Compile]:
        """Compiles without metrics: what they are depends on whether the log has ended."""
        for process in self.processes:
            yield from (c for c in process.compiles.values() if not c.facts.has_metrics)

    def _count(self, touched: dict[int, Compile]) -> None:
        """Bring stamps and tallies up to date: of touched compiles, of all if the meaning of a restart reason changed."""
        by_process: dict[int, list[Compile]] = {}
        for owner in touched.values():
            by_process.setdefault(id(owner.process), []).append(owner)
        for owners in by_process.values():
            process = owners[0].process
            if not process.logs_breaks and _logs_breaks(owners):
                process.logs_breaks = True
                touched.update((id(owner), owner) for owner in process.compiles.values())
        for owner in touched.values():
            owner.touch()
        for frame in {id(owner.frame): owner.frame for owner in touched.values()}.values():
            if frame.settle():
                later = {id(sibling): sibling for sibling in frame.compiles if id(sibling) not in touched}
                touched.update(later)
                for sibling in later.values():
                    sibling.touch()
        for owner in touched.values():
            owner.process.tally -= owner.tally
            owner.tally = Tally.of(owner)
            owner.process.tally += owner.tally


FIRST_WITH_BREAK_ARTIFACT = (2, 6)


def _logs_breaks(owners: list[Compile]) -> bool:
    """Whether graph breaks have an artifact of their own in the log of these compiles (torch 2.6 and later)."""
    for owner in owners:
        if owner.counts["dynamo_graph_break_reason"] or owner.counts["torch_version"]:
            return True
        for metrics in owner.metrics:
            parts = (metrics.pytorch_version or "").split(".")
            if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit():
                return (int(parts[0]), int(parts[1])) >= FIRST_WITH_BREAK_ARTIFACT
    return False
