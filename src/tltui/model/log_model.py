"""The processes of one log, updated by each batch of the scan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Protocol, TypeVar

from tltui.inputs.text.line_grammar import OUTER
from tltui.model.derived_cache import Parts
from tltui.model.id_epochs import Epochs, begins_again, is_numbered, is_other_code
from tltui.model.nodes import Compile, Frame, Process, frame_key
from tltui.model.ref import CompileId
from tltui.model.status import Tally, total
from tltui.trace.batch import Batch, Context, Kind, Metrics, Named, Started
from tltui.trace.files import FileBytes, Gone
from tltui.trace.log import Log

OTHER_TEXT = Kind("text", "")
"""Lines of an output that are no log records."""
LOOKED_BACK = 4096
"""Records before a traceback among which its compile is looked for."""
READ = 1 << 20
"""Bytes at the end of a run of lines that are looked at after each batch."""
FINISHED = frozenset(("dynamo_cpp_guards_str",))
"""Torch writes them at the end of a compile."""
_NEEDLE = b".exc."
_FAILED = re.compile(rb"^" + OUTER + rb"torch\.(?:_dynamo|_inductor)\.exc\.[A-Z]\w*(?::|\r?$)", re.MULTILINE)


class Recorded(Protocol):
    """A compile, as far as it matters here."""

    @property
    def records(self) -> Sequence[int]:
        """Numbers of its records in the log."""


C = TypeVar("C", bound=Recorded)


def failed_in(log: Log, owner_of: Callable[[int], C], batch: Batch) -> Iterator[C]:
    """Yield the compiles that probably failed according to the text of a batch. `owner_of`: record → its compile."""
    kinds = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    column = log.columns.kind
    records = [*(record for record in batch.resized if column[record] in kinds), *range(batch.first, len(log))]
    for record in records:
        if column[record] in kinds and _says_so(log, record):
            context = log.context(record)
            owner = unfinished_before(log, owner_of, record, context.pid, context.rank)
            if owner is not None:
                yield owner


def _says_so(log: Log, record: int) -> bool:
    log, record = log.origin(record)  # of several outputs joined the one that it is in
    columns = log.columns
    size = columns.size[record]
    begin = max(size - READ, 0)
    try:
        data = log.source_of(record).read(columns.offset[record] + begin, size - begin)
    except (Gone, OSError):
        return False
    return _NEEDLE in data and _FAILED.search(data) is not None


def unfinished_before(log: Log, owner_of: Callable[[int], C], record: int, pid: int | None, rank: int | None) -> C | None:
    """Return the last compile of a process that has records before `record` and no end."""
    for other in range(record - 1, max(record - LOOKED_BACK, 0) - 1, -1):
        context = log.context(other)
        if context.frame is None or (pid and context.pid != pid):
            continue
        if rank is not None and context.rank is not None and context.rank != rank:
            continue
        owner = owner_of(other)
        is_finished = any(log.kind(n).name in FINISHED for n in owner.records)
        return None if is_finished else owner
    return None


Event = tuple[int, int, Context | Started | Metrics | Named | int | None]
"""Record, rank among the events of one record, event."""
SHARED = 32
"""Counted records of a compile up to which its counts are shared with others."""


class LogModel:
    """The processes of one log.

    There is more than one where an older torch let parent and forked children write into one file, and where the
    records of one pid state different ranks.
    """

    def __init__(
        self, log: Log, rank_by_name: int | None = None, launch: str = "", started: float = 0.0, parts: Parts | None = None,
        is_dated: bool = True, form: str = "trace", origins: frozenset[str] = frozenset(),
    ) -> None:
        self.log = log
        self.form = form
        """The form of the input that it is (`tltui.inputs.forms`)."""
        self._origins = origins or frozenset((form,))
        self.processes: list[Process] = []
        """In the order of their first records."""
        self.rearranged = False
        """Whether the last batch brought a process, or the rank of one."""
        self._rank_by_name = rank_by_name
        self._launch = launch
        self.started = started
        """Seconds since the epoch."""
        self._is_dated = is_dated
        self._parts = parts or Parts()
        self._owners: list[Compile] = []
        """Context → compile, the first one with its id."""
        self._epochs: dict[Compile, Epochs] = {}
        """Compiles whose id began again."""
        self._by_pid: dict[int, list[Process]] = {}
        self._attempts: dict[frozenset[int], frozenset[int]] = {}
        """Sets of attempts: nearly all compiles have the same one."""
        self._counts: dict[frozenset[tuple[str, int]], Counter[str]] = {}
        self._one_more_of: dict[tuple[int, str], Counter[str]] = {}
        """Identity of shared counts (0: none yet) and a name → the shared counts with one more of it."""

    def apply(self, batch: Batch, is_counted: bool = True) -> list[Compile]:
        """Take over a batch; the compiles that it touched. Without `is_counted` the caller counts them with `count` later."""
        log, was_ended = self.log, self.log.ended
        log.apply(batch)
        self.rearranged = False
        touched: dict[int, Compile] = {}
        applied = self._in_order(batch, touched)
        for number, records in batch.members.items():
            owner = self._owners[number]
            left = [record for record in records if record not in applied] if owner in self._epochs else records
            if left:
                owner.add_records(left)
                owner.process.records += len(left)
                touched[id(owner)] = owner
        for record in batch.resized:
            owner = self.owner(record)
            touched[id(owner)] = owner
        for pid, number, text in batch.strings:
            self._define(pid, number, text)
        if batch.strings:
            for frame in {id(owner.frame): owner.frame for owner in touched.values()}.values():
                self._rename(frame, touched)
        if log.ended != was_ended:
            touched.update((id(owner), owner) for owner in self._unfinished(touched))
        for owner in failed_in(log, self.owner, batch) if self.form == "text" else ():
            if not owner.is_told_failed:
                owner.is_told_failed = True
                touched[id(owner)] = owner
        if is_counted:
            self.count(touched)
        return list(touched.values())

    def _in_order(self, batch: Batch, touched: dict[int, Compile]) -> set[int]:
        """Apply the facts of a batch in record order, since ids may begin again in it (`tltui.model.id_epochs`).

        Returns the records already applied: those of ids with several epochs.
        """
        applied: set[int] = set()
        facts: dict[int, Started | Metrics] = {}
        events: list[Event] = []
        first = len(self._owners)
        at = batch.first + len(batch.columns)
        for number in range(first + len(batch.contexts) - 1, first - 1, -1):  # none comes behind the records of a later one
            at = min(at, batch.members[number][0]) if number in batch.members else at
            events.append((at, number - first - len(batch.contexts), batch.contexts[number - first]))
        facts.update((started.record, started) for started in batch.started)
        facts.update((metrics.record, metrics) for metrics in batch.metrics)
        events += [(record, 1, fact) for record, fact in facts.items()]
        events += [(fact.record, 2, fact) for fact in batch.name_sources]
        events += [(record, 3, kind) for record, kind in batch.notable]
        if self._epochs:
            for number, records in batch.members.items():
                if number < first and self._owners[number] in self._epochs:
                    events += [(record, 0, None) for record in records]
        events.sort()
        late: list[Event] = []
        for record, _, event in _merged(events, late):
            if isinstance(event, Context):
                owner = self._owner(event)
                self._owners.append(owner)
                if owner in self._epochs:
                    for other in batch.members.get(len(self._owners) - 1, ()):
                        heappush(late, (other, 0, None))
                continue
            owner = self._owners[self.log.columns.context[record]]
            epochs = self._epochs.get(owner)
            if event is None:
                assert epochs is not None
                self._assign(epochs, record, facts.get(record), touched)
                applied.add(record)
            elif isinstance(event, Named):
                self._name(self.owner(record), event, touched)
            elif epochs is None and begins_again(owner, record, None if isinstance(event, int) else event):
                for other in self._split(owner, record, batch, applied):
                    heappush(late, (other, 0, None))
            elif epochs is None:
                self._apply_fact(owner, event, touched)
        return applied

    def _split(self, owner: Compile, record: int, batch: Batch, applied: set[int]) -> list[int]:
        """Start a new epoch of the id of `owner` at `record`; return the later records of the batch, to be assigned one by one."""
        numbers = [number for number, other in enumerate(self._owners) if other is owner]
        others = [other for number in numbers for other in batch.members.get(number, ())]
        early = sorted(other for other in others if other < record)
        if early:
            owner.add_records(early)
            owner.process.records += len(early)
            applied.update(early)
        self._epochs[owner] = Epochs(owner)
        return [other for other in others if other >= record]

    def _assign(self, epochs: Epochs, record: int, fact: Started | Metrics | None, touched: dict[int, Compile]) -> None:
        """Assign a further record of an id with several epochs."""
        newest = epochs.newest
        if begins_again(newest, record, fact):
            process = newest.process
            if process.epochs == newest.id.epoch or is_numbered(process, newest.id):
                process.begin_epoch()
            new = self._new_compile(process, newest.id.of(process.epochs))
            self._epochs[new] = epochs
            epochs.begin(new)
        owner = epochs.assign(record, fact)
        touched.update((id(compile_), compile_) for compile_ in (owner, *epochs.changed))
        epochs.changed.clear()
        if fact is not None:
            self._rename(owner.frame, touched)

    def _apply_fact(self, owner: Compile, event: Started | Metrics | int, touched: dict[int, Compile]) -> None:
        """Apply a fact of a record to a compile."""
        if isinstance(event, Started):
            if owner.started is None:
                if is_other_code(owner, event):
                    self._move_to_next_epoch(owner)
                owner.started = event
                owner.started_attempt = self.log.context(event.record).attempt
                self._rename(owner.frame, touched)
        elif isinstance(event, Metrics):
            if owner.started is not None and owner.started.line == event.co_firstlineno:
                event = event._replace(co_firstlineno=owner.started.line)  # one number for both
            if owner.metrics:
                owner.metrics.append(event)
            else:  # a list that has room for one: most compiles have no more
                owner.metrics = [event]
            if event.co_name:
                self._rename(owner.frame, touched)
        else:
            kind = self.log.kinds[event]
            owner.counts = self._one_more(owner.counts, kind.name or kind.event)

    def _name(self, owner: Compile, name_source: Named, touched: dict[int, Compile]) -> None:
        """Apply the function name in a record to a compile: certain names win over guessed ones."""
        if owner.name_source is None or (owner.name_source.is_guess and not name_source.is_guess):
            owner.name_source = name_source
            self._rename(owner.frame, touched)

    def _one_more(self, counts: Counter[str], name: str) -> Counter[str]:
        """Return the counts with one more of a name; equal counts share one object, as most compiles have the same few."""
        key = (id(counts) if counts else 0, name)
        if (shared := self._one_more_of.get(key)) is not None:
            return shared
        more = Counter(counts)
        more[name] += 1
        if more.total() > SHARED:
            return more
        shared = self._counts.setdefault(frozenset(more.items()), more)
        if not counts or self._counts.get(frozenset(counts.items())) is counts:
            self._one_more_of[key] = shared
        return shared

    @property
    def source(self) -> FileBytes:
        """The file that is read."""
        assert isinstance(self.log.source, FileBytes)
        return self.log.source

    def end(self) -> None:
        """Nothing will be added to the log any more, though its end was not reached."""
        self.log.end()
        self.count({id(owner): owner for owner in self._unfinished({})})

    def began(self, started: float, is_dated: bool) -> bool:
        """Set the start time of the log (seconds since the epoch); return whether it changed."""
        news = (started, is_dated) != (self.started, self._is_dated)
        self.started, self._is_dated = started, is_dated
        for process in self.processes:
            process.started, process.is_dated = started, is_dated
        return news

    def tell_failed(self, owners: Iterable[Compile]) -> None:
        """Mark these compiles as failed according to the output of the job."""
        newly_failed = {id(owner): owner for owner in owners if not owner.is_told_failed}
        for owner in newly_failed.values():
            owner.is_told_failed = True
        self.count(newly_failed)

    def owner(self, record: int) -> Compile:
        """Return the compile of a record."""
        owner = self._owners[self.log.columns.context[record]]
        epochs = self._epochs.get(owner)
        return owner if epochs is None else epochs.owner(record)

    def _define(self, pid: int, number: int, text: str) -> None:
        """Take over an entry of the string table, which all processes of one pid share."""
        strings = self._process(pid).strings
        if strings.get(number) != text:
            strings[number] = text
            for process in self._by_pid.get(pid, ()):
                process.defined(number)

    def _process(self, pid: int, rank: int | None = None, compile_id: CompileId | None = None) -> Process:
        """Return the process that wrote a record.

        Not every record has the rank (`str` never does, none does before the process group exists): one without
        belongs to the process of its pid that has the compile, else to the first.
        """
        if pid == 0 and self.processes:  # a line that is no record has no pid of its own
            return self.processes[0]
        processes = self._by_pid.get(pid, [])
        if not processes and self.processes and self.processes[0].pid == 0:
            self.processes[0].pid = pid
            processes = self._by_pid[pid] = self._by_pid.pop(0)
            self.rearranged = True
        if rank is None and processes:
            return next((process for process in processes if compile_id is not None and process.find(compile_id)), processes[0])
        for process in processes:
            if process.stated_rank is None:
                process.stated_rank = rank
                self.rearranged = True
            if process.stated_rank == rank:
                return process
        return self._new_process(pid, rank, processes)

    def _new_process(self, pid: int, rank: int | None, processes: list[Process]) -> Process:
        process = Process(
            self.log, pid, self._rank_by_name, self._launch, self.started, self._is_dated,
            origins=self._origins, parts=self._parts,
        )  # fmt: skip
        process.stated_rank = rank
        if processes:
            process.strings, process.twin = processes[0].strings, len(processes)
        elif self.processes and self.form == "trace":  # what others print into one stream they do not inherit
            process.parent, process.inherits = self.processes[0], True
        self.processes.append(process)
        self._by_pid.setdefault(pid, []).append(process)
        self.rearranged = True
        return process

    def _owner(self, context: Context) -> Compile:
        compile_id = CompileId(context.autograd, context.frame, context.compile, name=context.name)
        process = self._process(context.pid, context.rank, compile_id)
        owner = process.find(compile_id)
        if owner is None:
            if is_numbered(process, compile_id):
                process.begin_epoch()
            owner = self._new_compile(process, compile_id.of(process.epochs))
        elif owner in self._epochs:
            return self._epochs[owner].compiles[0]
        if context.attempt is not None and context.attempt not in owner.attempts:
            attempts = owner.attempts | {context.attempt}
            owner.attempts = self._attempts.setdefault(attempts, attempts)
        return owner

    @staticmethod
    def _new_compile(process: Process, compile_id: CompileId) -> Compile:
        new = process.compiles[compile_id] = Compile(process, compile_id)
        key = frame_key(compile_id)
        frame = process.frames.get(key)
        if frame is None:
            new.frame = process.frames[key] = Frame(process, key, [new])
        else:
            new.frame = frame
            frame.compiles.append(new)
        return new

    @staticmethod
    def _move_to_next_epoch(owner: Compile) -> None:
        """Begin an epoch with a compile that has just begun in the current one."""
        process, frame = owner.process, owner.frame
        frame.compiles.remove(owner)
        del process.compiles[owner.id]
        process.begin_epoch()
        owner.id = owner.id.of(process.epochs)
        process.compiles[owner.id] = owner
        key = frame_key(owner.id)
        owner.frame = process.frames[key] = Frame(process, key, [owner])
        frame.stamp += 1

    @staticmethod
    def _rename(frame: Frame, touched: dict[int, Compile]) -> None:
        """Propagate the name of a frame to all of its compiles (`Frame.code`); mostly the first compile has it."""
        if len(frame.compiles) > 1 and frame.learn():
            touched.update((id(sibling), sibling) for sibling in frame.compiles)

    def _unfinished(self, touched: Mapping[int, Compile]) -> list[Compile]:
        """Return compiles without metrics, or with an unfinished backward: their status depends on the end of the log.

        The facts of those in `touched` are computed later.
        """
        every = (compile_ for process in self.processes for compile_ in process.compiles.values() if id(compile_) not in touched)
        return [compile_ for compile_ in every if not compile_.facts.has_metrics or compile_.facts.backward_running]

    def count(self, touched: dict[int, Compile]) -> None:
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
        changes: dict[int, tuple[Process, list[Tally], list[Tally]]] = {}
        for owner in touched.values():
            process = owner.process
            _, removed, added = changes.setdefault(id(process), (process, [], []))
            before, now = owner.count()
            removed.append(before)
            added.append(now)
        for process, removed, added in changes.values():
            process.tally += total(added) - total(removed)


def _merged(events: list[Event], late: list[Event]) -> Iterator[Event]:
    """Sorted events in their order, with those that are pushed on the heap `late` on the way."""
    for event in events:
        while late and late[0] < event:
            yield heappop(late)
        yield event
    while late:
        yield heappop(late)


FIRST_WITH_BREAK_ARTIFACT = (2, 6)


def _logs_breaks(owners: list[Compile]) -> bool:
    """Whether graph breaks have an artifact of their own in the log of these compiles (torch 2.6 and later)."""
    for owner in owners:
        if owner.counts["dynamo_graph_break_reason"] or owner.counts["torch_version"]:
            return True
        for metrics in owner.metrics:
            if metrics.graph_breaks is not None:  # torch 2.7 and later, and there always
                return True
            parts = (metrics.pytorch_version or "").split(".")
            if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit():
                return (int(parts[0]), int(parts[1])) >= FIRST_WITH_BREAK_ARTIFACT
    return False
