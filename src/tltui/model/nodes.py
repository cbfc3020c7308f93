"""Run ▸ rank ▸ process ▸ frame ▸ compile. Append-only: batches of a scan add to it, nothing is taken away.

Attempts, units and artifacts are not stored: `tltui.model.artifacts` derives them from the records of a compile.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tltui.model.ref import NORANK, CompileId, Ref
from tltui.model.status import Facts, Status, Tally, facts_of, status_of
from tltui.trace.batch import Batch, Context, Metrics, Started
from tltui.trace.log import Log


@dataclass(slots=True, eq=False)
class Compile:
    """`[frame/compile]`: one (re)compilation of a frame, all attempts together."""

    process: Process
    id: CompileId
    records: array[int] = field(default_factory=lambda: array("I"))
    """Numbers of its records in the log, in file order once `settle` ran."""
    attempts: set[int] = field(default_factory=set)
    started: Started | None = None
    """Its first `dynamo_start`."""
    started_attempt: int | None = None
    metrics: list[Metrics] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """How often each notable artifact (`trace.envelope.NOTABLE`) was logged."""
    tally: Tally = field(default_factory=Tally)
    _facts: Facts | None = None

    @property
    def facts(self) -> Facts:
        """The separate facts behind the status."""
        if self._facts is None:
            self._facts = facts_of(self)
        return self._facts

    @property
    def status(self) -> Status | None:
        """None for what is no compile: records without an id, and the capture of a compiled autograd graph."""
        return status_of(self.facts) if self.is_compile else None

    @property
    def is_compile(self) -> bool:
        """Records of one (re)compilation; false for `[-/-]`, and for `[!A]`, whose graph is compiled as `[!A/F/C]`."""
        return self.id.frame is not None

    @property
    def is_recompile(self) -> bool:
        """A compile of a frame that had been compiled before."""
        return bool(self.id.compile)

    @property
    def ref(self) -> Ref:
        """Its address."""
        ref = self.process.ref_of(self.id)
        return replace(ref, bare=True) if ref.is_frame else ref

    @property
    def frame(self) -> Frame:
        """The frame that it compiles."""
        return self.process.frames[frame_key(self.id)]

    def settle(self) -> None:
        """Put the records in file order (contexts of one compile arrive separately)."""
        ordered = array("I", sorted(self.records))
        if ordered != self.records:
            self.records = ordered


def frame_key(compile_id: CompileId) -> CompileId:
    """What compiles of one frame share. `[!A]` and `[-/-]` stand for themselves."""
    if compile_id.frame is None:
        return compile_id
    return CompileId(None, compile_id.frame, None)


@dataclass(slots=True, eq=False)
class Frame:
    """A Python code object that Dynamo compiles."""

    process: Process
    key: CompileId
    compiles: list[Compile] = field(default_factory=list)

    @property
    def ref(self) -> Ref:
        """Its address."""
        return self.process.ref_of(self.key)

    @property
    def code(self) -> tuple[str | None, str | None, int | None]:
        """Function name, file and line of the code object, as far as any of its compiles tells: a hit of the recompile
        limit has neither `dynamo_start` nor names of its own, its siblings do."""
        for compile_ in self.compiles:
            started = compile_.started
            if started is not None and started.name is not None:
                return started.name, self.process.string(started.filename), started.line
        for compile_ in self.compiles:
            for metrics in compile_.metrics:
                if metrics.co_name:
                    return metrics.co_name, metrics.co_filename, metrics.co_firstlineno
        return None, None, None

    @property
    def tally(self) -> Tally:
        """Counts over its compiles."""
        return sum((compile_.tally for compile_ in self.compiles), Tally())


@dataclass(slots=True, eq=False)
class Process:
    """One Python process: rank, pid, file. Owner of frame ids and of the string table."""

    log: Log
    pid: int
    rank_by_name: int | None = None
    launch: str = ""
    started: float = 0.0
    """Seconds since the epoch, to order the processes of a rank."""
    number: int = 1
    """Among the processes of its rank, from 1, newest last."""
    alone: bool = True
    """Whether it is the only process of its rank."""
    ranks_differ: bool = False
    """Whether the run has processes of several ranks."""
    compiles: dict[CompileId, Compile] = field(default_factory=dict)
    frames: dict[CompileId, Frame] = field(default_factory=dict)
    strings: dict[int, str] = field(default_factory=dict)
    parent: Process | None = None
    """The process that this one was forked from, as far as known: its string table holds what was interned before."""
    stated_rank: int | None = None
    """The rank that its records state."""
    twin: int = 0
    """Which of the processes of one pid in one log it is, from 0: their records state different ranks."""
    records: int = 0
    logs_breaks: bool = False
    """Whether its torch writes `dynamo_graph_break_reason` artifacts."""
    tally: Tally = field(default_factory=Tally)

    @property
    def rank(self) -> int | None:
        """From the records first, from the name second."""
        return self.rank_by_name if self.stated_rank is None else self.stated_rank

    @property
    def key(self) -> str:
        """Tells it apart from every other process of the run, and stays the same while the scan runs."""
        return f"{self.log.path}\0{self.pid}" + (f"\0{self.twin}" if self.twin else "")

    def string(self, number: int | None) -> str | None:
        """An entry of the string table; `‹str#N›` for an id that the log does not define."""
        if number is None:
            return None
        if number in self.strings:
            return self.strings[number]
        if self.parent is not None and number in self.parent.strings:
            return self.parent.strings[number]
        return f"‹str#{number}›"

    def undefined_strings(self) -> set[int]:
        """Ids that an older process must have defined: those below its first own one, and those that it uses."""
        first = min(self.strings, default=0)
        wanted = {0, first - 1} if first > 0 else set()
        for compile_ in self.compiles.values():
            if compile_.started is not None and (filename := compile_.started.filename) is not None and filename >= 0:
                wanted.add(filename)
        return wanted - self.strings.keys()

    @property
    def ref(self) -> Ref:
        """Its address."""
        number = NORANK if self.rank is None else self.rank
        return Ref(number, None if self.alone else self.number)

    def ref_of(self, compile_id: CompileId) -> Ref:
        """The shortest address of one of its compiles or frames that is clear in this run."""
        if self.alone and not self.ranks_differ:
            return Ref(id=compile_id)
        number = NORANK if self.rank is None else self.rank
        return Ref(number, None if self.alone else self.number, compile_id)

    def owns(self, record: int) -> bool:
        """Whether a record of its log is one of its own."""
        context = self.log.context(record)
        compile_ = self.compiles.get(CompileId(context.autograd, context.frame, context.compile))
        return compile_ is not None and record in compile_.records

    def ordered(self) -> Iterator[Compile]:
        """Its compiles in the order of their first records."""
        return iter(self.compiles.values())

    def torch_version(self) -> str | None:
        """As its metrics state it (the artifact `torch_version` needs a payload)."""
        for compile_ in self.compiles.values():
            for metrics in compile_.metrics:
                if metrics.pytorch_version:
                    return metrics.pytorch_version
        return None


@dataclass(slots=True, eq=False)
class Rank:
    """All processes of one distributed rank; `number` None: no rank known."""

    number: int | None
    processes: list[Process]

    @property
    def ref(self) -> Ref:
        """Its address."""
        return Ref(NORANK if self.number is None else self.number)

    @property
    def title(self) -> str:
        """`rank 3`, `no rank`"""
        return "no rank" if self.number is None else f"rank {self.number}"

    @property
    def tally(self) -> Tally:
        """Counts over its processes."""
        return sum((process.tally for process in self.processes), Tally())


class LogModel:
    """The processes of one log.

    There is more than one where an older torch let parent and forked children write into one file, and where the
    records of one pid state different ranks.
    """

    def __init__(self, log: Log, rank_by_name: int | None = None, launch: str = "", started: float = 0.0) -> None:
        self.log = log
        self.processes: list[Process] = []
        """In the order of their first records."""
        self.rearranged = False
        """Whether the last batch brought a process, or the rank of one."""
        self._rank_by_name = rank_by_name
        self._launch = launch
        self._started = started
        self._owners: list[Compile] = []  # context → compile

    def apply(self, batch: Batch) -> list[Compile]:
        """Take over a batch; the compiles that it touched."""
        log = self.log
        log.apply(batch)
        self.rearranged = False
        for context in batch.contexts:
            self._owners.append(self._owner(context))
        touched: dict[int, Compile] = {}
        for number, records in batch.members.items():
            owner = self._owners[number]
            owner.records.extend(records)
            owner.process.records += len(records)
            touched[id(owner)] = owner
        for record, kind in batch.notable:
            event, name, _ = log.kinds[kind]
            self.owner(record).counts[name or event] += 1
        for pid, number, text in batch.strings:
            self._process(pid).strings[number] = text
        for started in batch.started:
            owner = self.owner(started.record)
            if owner.started is None:
                owner.started = started
                owner.started_attempt = log.context(started.record).attempt
        for metrics in batch.metrics:
            self.owner(metrics.record).metrics.append(metrics)
        self._count(touched)
        return list(touched.values())

    def owner(self, record: int) -> Compile:
        """The compile that a record belongs to."""
        return self._owners[self.log.columns.context[record]]

    def _process(self, pid: int, rank: int | None = None, compile_id: CompileId | None = None) -> Process:
        """The process that wrote a record.

        Not every record states the rank (`str` never does, none does before the process group is there): one without
        belongs to the process of its pid that has the compile, else to the first.
        """
        if pid == 0 and self.processes:  # a line that is no record has no pid of its own
            return self.processes[0]
        own = [process for process in self.processes if process.pid == pid]
        if not own and self.processes and self.processes[0].pid == 0:
            self.processes[0].pid = pid
            own = self.processes[:1]
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
        process = Process(self.log, pid, self._rank_by_name, self._launch, self._started)
        process.stated_rank = rank
        if own:
            process.strings, process.twin = own[0].strings, len(own)
        elif self.processes:
            process.parent = self.processes[0]
        self.processes.append(process)
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
        if context.attempt is not None:
            owner.attempts.add(context.attempt)
        return owner

    def _count(self, touched: dict[int, Compile]) -> None:
        """Bring the tallies up to date: of touched compiles, of all if the meaning of a restart reason changed."""
        for process in {id(owner.process): owner.process for owner in touched.values()}.values():
            if not process.logs_breaks and _logs_breaks(process, touched):
                process.logs_breaks = True
                for owner in process.compiles.values():
                    touched[id(owner)] = owner
        for owner in touched.values():
            owner._facts = None
            owner.process.tally -= owner.tally
            owner.tally = Tally.of(owner)
            owner.process.tally += owner.tally


FIRST_WITH_BREAK_ARTIFACT = (2, 6)


def _logs_breaks(process: Process, touched: dict[int, Compile]) -> bool:
    """Whether graph breaks have an artifact of their own in this log (torch 2.6 and later)."""
    for owner in touched.values():
        if owner.process is not process:
            continue
        if owner.counts["dynamo_graph_break_reason"] or owner.counts["torch_version"]:
            return True
        for metrics in owner.metrics:
            parts = (metrics.pytorch_version or "").split(".")
            if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit():
                return (int(parts[0]), int(parts[1])) >= FIRST_WITH_BREAK_ARTIFACT
    return False
