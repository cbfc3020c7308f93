"""Run ▸ rank ▸ process ▸ frame ▸ compile. Append-only: batches of a scan add to it, nothing is removed.

Attempts, units and artifacts are not stored: `tltui.model.artifacts` derives them from the records of a compile.

Every node has a *stamp*. Values derived from a compile (`node_answers.py`) are valid while its stamp is the same:
only `tltui.model.log_model` increments it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import field, replace
from typing import NamedTuple

from tltui.model.derived_cache import Parts
from tltui.model.ref import NO_ID, NORANK, CompileId, Ref
from tltui.model.status import (
    NO_TALLY,
    Facts,
    SharedFacts,
    Status,
    Tally,
    backward_s,
    counts_of,
    duration_s,
    facts_of,
    start_us,
    status_of,
    total,
    with_times,
)
from tltui.text.frozen import mutable
from tltui.trace.batch import Metrics, Named, Started
from tltui.trace.grammar import is_entry
from tltui.trace.log import Log


class CompileKey(NamedTuple):
    """Tells a compile apart from every other of the run, and stays the same while the run grows: addresses do not."""

    process: str
    """`Process.key`"""
    id: CompileId
    """With its epoch."""


@mutable(eq=False)
class Compile:
    """`[frame/compile]`: one (re)compilation of a frame, all attempts together."""

    process: Process
    id: CompileId
    """With its epoch."""
    frame: Frame = field(init=False)
    """The frame that it compiles. The model sets it with the id."""
    records: array[int] = field(default_factory=lambda: array("I"))
    """Numbers of its records in the log, in file order."""
    attempts: frozenset[int] = frozenset()
    started: Started | None = None
    """Its first `dynamo_start`."""
    started_attempt: int | None = None
    name_source: Named | None = None
    """What else names the function: the best of it, which comes first, and what is sure before what is not."""
    is_told_failed: bool = False
    """Whether a traceback in what the job printed is probably about it (`tltui.model.log_model`)."""
    metrics: list[Metrics] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """How often each notable artifact (`trace.envelope.NOTABLE`) was logged. Shared: replaced, never changed."""
    stamp: int = 0
    """Counts the changes that anything derived from the compile may depend on."""
    _counted: Tally = NO_TALLY
    """Its tally without the seconds. Shared."""
    _seconds: float = 0.0
    _facts: SharedFacts | None = None

    @property
    def tally(self) -> Tally:
        """What it adds to the counts of its frame and its process, as far as it is counted."""
        return self._counted._replace(compile_s=self._seconds)

    def count(self) -> tuple[Tally, Tally]:
        """Count it again; return the tallies before and now."""
        before = self.tally
        counts, self._seconds = counts_of(self)
        self._counted = self.process.parts.same(counts)
        return before, self.tally

    @property
    def untimed_tally(self) -> Tally:
        """Its tally without the seconds, shared by equal compiles: pages count thousands of them."""
        return self._counted

    @property
    def compile_s(self) -> float:
        """The seconds of its tally."""
        return self._seconds

    @property
    def facts(self) -> SharedFacts:
        """The separate facts behind the status."""
        if self._facts is None:
            self._facts = self.process.parts.same(facts_of(self))
        return self._facts

    @property
    def all_facts(self) -> Facts:
        """Its facts, and its times."""
        return with_times(self.facts, self.metrics)

    @property
    def start_us(self) -> float | None:
        """When it began, in microseconds since the epoch."""
        return start_us(self.metrics)

    @property
    def duration_s(self) -> float | None:
        """How long it took, forward and backward together."""
        return duration_s(self.metrics)

    @property
    def backward_s(self) -> float | None:
        """How long its backward took."""
        return backward_s(self.metrics)

    @property
    def status(self) -> Status | None:
        """The status; None for records without an id, and for the capture of a compiled autograd graph."""
        return status_of(self.facts) if self.is_compile else None

    @property
    def is_compile(self) -> bool:
        """Records of one (re)compilation; false for `[-/-]`, and for `[!A]`, whose graph is compiled as `[!A/F/C]`."""
        return self.id.frame is not None or self.id.name != ""

    @property
    def is_traced(self) -> bool:
        """Whether the compile has a trace: only a trace records the outcome of a compile."""
        source = self.process.log.columns.source
        return self.process.is_traced and (not source or 0 in map(source.__getitem__, self.records))

    @property
    def logs_breaks(self) -> bool:
        """Whether its torch writes `dynamo_graph_break_reason` artifacts."""
        return self.process.logs_breaks

    @property
    def log_ended(self) -> bool:
        """Whether nothing more will come."""
        return self.process.log.ended

    @property
    def is_recompile(self) -> bool:
        """Whether the frame had compiled code, as far as the log records it, and its guards failed."""
        return (self.id.compile or 0) > self.frame.first_code

    @property
    def is_closed(self) -> bool:
        """Whether the compile of the frame came to its end; of a compiled autograd graph: whether it was captured."""
        if not self.is_compile:
            return bool(self.counts["compiled_autograd_graph"])
        return any(metrics.ends_compile for metrics in self.metrics)

    @property
    def ref(self) -> Ref:
        """Its address."""
        ref = self.process.ref_of(self.id)
        return replace(ref, bare=True) if ref.is_frame else ref

    @property
    def address(self) -> str:
        """Its address as text."""
        process, (autograd, frame, number, _, _) = self.process, self.id
        is_plain = autograd is None and frame is not None and number is not None
        if is_plain and process.alone and not process.ranks_differ and process.epochs == 1:
            return f"{frame}/{number}"  # nearly all are, and pages have thousands of them
        return str(self.ref)

    @property
    def label(self) -> str:
        """`[0/1]`, in a process with several epochs `[0/1~2]`"""
        return self.process.named_id(self.id).bracketed

    @property
    def doubtful(self) -> int:
        """How many of its records may be those of a compile with the same id in another epoch."""
        return self.process.doubtful.get(self.id, 0)

    @property
    def key(self) -> CompileKey:
        """What it is called, whatever its address is by now."""
        return CompileKey(self.process.key, self.id)

    def add_records(self, records: list[int]) -> None:
        """Add records of one context, in file order. Those of several contexts arrive one after the other."""
        if not self.records:
            self.records = array("I", records)  # without room for more
            return
        place = bisect_left(self.records, records[0])
        later = self.records[place:]
        del self.records[place:]
        self.records.extend(sorted((*later, *records)) if later else records)

    def holds(self, record: int) -> bool:
        """Whether a record of its log is one of its own."""
        place = bisect_left(self.records, record)
        return place < len(self.records) and self.records[place] == record

    def touch(self) -> None:
        """Something that is derived from it may be different now."""
        self.stamp += 1
        self.frame.stamp += 1
        self.process.stamp += 1
        self._facts = None


def frame_key(compile_id: CompileId) -> CompileId:
    """Return the common key of the compiles of one frame; `[!A]`, `[-/-]` and named compiles are keys of their own."""
    if compile_id.frame is None:
        return compile_id
    return CompileId(None, compile_id.frame, None, compile_id.epoch)


@mutable(eq=False)
class Frame:
    """A Python code object that Dynamo compiles."""

    process: Process
    key: CompileId
    compiles: list[Compile] = field(default_factory=list)
    stamp: int = 0
    """Counts the changes of its compiles."""
    _previous_code: tuple[str | None, str | None, int | None] | None = None
    _first: int = 0
    """`first_code`, as it was found for a stamp."""
    _first_stamp: int = -1
    _settled: int = 0

    @property
    def ref(self) -> Ref:
        """Its address."""
        return self.process.ref_of(self.key)

    @property
    def label(self) -> str:
        """`[0/-]`, in a process with several epochs `[0/-~2]`"""
        return self.process.named_id(self.key).bracketed

    def learn(self) -> bool:
        """Update the code from the frame's compiles; return whether it changed."""
        previous, self._previous_code = self._previous_code, self.code
        return previous != self._previous_code

    @property
    def first_code(self) -> int:
        """The number of the first compile that left compiled code, or that may have: the log does not record its end."""
        if self._first_stamp != self.stamp:
            number = 0
            for compile_ in self.compiles:
                if compile_.id.compile != number or compile_.facts.has_guarded_code is not False:
                    break
                number += 1
            self._first_stamp, self._first = self.stamp, number
        return self._first

    def settle(self) -> bool:
        """Whether `first_code` is news: then other compiles are recompiles than before."""
        before, self._settled = self._settled, self.first_code
        return before != self._settled

    @property
    def code(self) -> tuple[str | None, str | None, int | None]:
        """The function name, file and line of the code object, as far as any of its compiles records it.

        A hit of the recompile limit has neither `dynamo_start` nor a name of its own, its siblings do. The stacks of torch 2.4 and
        before end in Dynamo, or in the caller: there the metrics alone have the function.
        """
        for compile_ in self.compiles:
            titled = next((metrics for metrics in compile_.metrics if metrics.co_name), None)
            if (started := compile_.started) is not None and started.name is not None:
                file = self.process.string(started.filename)
                same = titled is None or (titled.co_name, titled.co_firstlineno) == (started.name, started.line)
                if same and not is_entry(file):
                    return started.name, file, started.line
            if titled is not None:
                return titled.co_name, titled.co_filename, titled.co_firstlineno
        name_sources = [compile_.name_source for compile_ in self.compiles if compile_.name_source is not None]
        for name in sorted(name_sources, key=lambda name: name.is_guess)[:1]:
            return name.name, name.filename, name.line
        return None, None, None

    @property
    def is_guessed(self) -> bool:
        """Whether `code` is inferred from the last operation of a graph, which may be in an inlined function."""
        return self.code[0] is not None and not any(
            (compile_.started is not None and compile_.started.name) or any(metrics.co_name for metrics in compile_.metrics)
            or (compile_.name_source is not None and not compile_.name_source.is_guess)
            for compile_ in self.compiles
        )  # fmt: skip

    @property
    def tally(self) -> Tally:
        """Counts over its compiles."""
        return total(compile_.tally for compile_ in self.compiles)


@mutable(eq=False)
class Naming:
    """The current names of the compiles of a process; the stamp counts the changes of its addresses."""

    stamp: int = 0


@mutable(eq=False)
class Process:
    """One Python process: rank, pid, file. Owner of frame ids and of the string table."""

    log: Log
    pid: int
    rank_by_name: int | None = None
    launch: str = ""
    started: float = 0.0
    """Seconds since the epoch, to order the processes of a rank."""
    is_dated: bool = True
    """Whether an event says so; else it is when the log was last written to, as far as that was known when it was found."""
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
    inherits: bool = False
    """Whether its parent writes into the same log: that is known, not guessed."""
    stated_rank: int | None = None
    """The rank that its records state."""
    twin: int = 0
    """Which of the processes of one pid in one log it is, from 0: their records state different ranks."""
    epochs: int = 1
    """How often ids began in it: after `torch._dynamo.reset()` they begin again."""
    doubtful: dict[CompileId, int] = field(default_factory=dict)
    """Compiles of whose records some may be those of another epoch: how many."""
    records: int = 0
    logs_breaks: bool = False
    """Whether its torch writes `dynamo_graph_break_reason` artifacts."""
    tally: Tally = NO_TALLY
    origins: frozenset[str] = frozenset(("trace",))
    """The forms of the inputs that tell of it (`tltui.inputs.forms`)."""
    clock_offset: float = 0.0
    """Seconds that its clock is ahead of the run's."""
    stamp: int = 0
    """Counts the changes of its compiles and strings."""
    naming: Naming = field(default_factory=Naming)
    parts: Parts = field(default_factory=Parts)
    """What was derived from its compiles; one for the whole run."""
    _asked: set[int] = field(default_factory=set)
    """Ids of strings that somebody asked for."""
    _heirs: set[Process] = field(default_factory=set)
    """Forked processes that asked for a string of it."""
    _names: tuple[int | None, int, bool, bool] | None = None
    _order: tuple[tuple[int, int], list[Compile]] | None = None
    """(stamp and number of compiles, compiles in order), for a process that left several inputs."""

    @property
    def is_traced(self) -> bool:
        """Whether the process wrote a trace: only a trace records the outcome of a compile."""
        return "trace" in self.origins

    @property
    def rank(self) -> int | None:
        """From the records first, from the name second."""
        return self.rank_by_name if self.stated_rank is None else self.stated_rank

    def set_name(self, number: int, alone: bool, ranks_differ: bool) -> None:
        """Set the name as the `number`-th process of its rank."""
        names = (self.rank, number, alone, ranks_differ)
        if names != self._names:
            self.number, self.alone, self.ranks_differ, self._names = number, alone, ranks_differ, names
            self.naming.stamp += 1

    @property
    def key(self) -> str:
        """Tells it apart from every other process of the run, and stays the same while the scan runs."""
        return f"{self.log.key}\0{self.pid}" + (f"\0{self.twin}" if self.twin else "")

    def string(self, number: int | None) -> str | None:
        """Return an entry of the string table; `‹str#N›` for an id that the log does not define."""
        if number is None:
            return None
        self._asked.add(number)
        if number in self.strings:
            return self.strings[number]
        if self.parent is not None:
            self.parent._heirs.add(self)
            if number in self.parent.strings:
                return self.parent.strings[number]
        return f"‹str#{number}›"

    def undefined_strings(self) -> set[int]:
        """Ids that an older process must have defined: those below its first own one, and those that it uses."""
        first = min(self.strings, default=0)
        undefined = {0, first - 1} if first > 0 else set()
        for compile_ in self.compiles.values():
            if compile_.started is not None and (filename := compile_.started.filename) is not None and filename >= 0:
                undefined.add(filename)
        return undefined - self.strings.keys()

    @property
    def ref(self) -> Ref:
        """Its address."""
        number = NORANK if self.rank is None else self.rank
        return Ref(number, None if self.alone else self.number)

    def ref_of(self, compile_id: CompileId) -> Ref:
        """Return the shortest unambiguous address in this run of one of its compiles or frames."""
        compile_id = self.named_id(compile_id)
        if self.alone and not self.ranks_differ:
            return Ref(id=compile_id)
        number = NORANK if self.rank is None else self.rank
        return Ref(number, None if self.alone else self.number, compile_id)

    def begin_epoch(self) -> None:
        """Begin an epoch: ids begin again."""
        self.epochs += 1
        self.naming.stamp += 1

    def named_id(self, compile_id: CompileId) -> CompileId:
        """Return the id as in addresses: with its epoch where there are several."""
        return compile_id if self.epochs > 1 else compile_id.of(0)

    def epochs_of(self, compile_id: CompileId) -> list[Compile]:
        """Return the compiles with this id, newest last; only those of its epoch if it has one."""
        if compile_id.epoch or compile_id == NO_ID:
            compile_ = self.compiles.get(compile_id)
            return [] if compile_ is None else [compile_]
        ids = (compile_id.of(epoch) for epoch in range(1, self.epochs + 1))
        return [self.compiles[epoch_id] for epoch_id in ids if epoch_id in self.compiles]

    def find(self, compile_id: CompileId) -> Compile | None:
        """Return the compile with this id, the newest one if it has no epoch."""
        if compile_id.epoch or compile_id == NO_ID:
            return self.compiles.get(compile_id)
        ids = (compile_id.of(epoch) for epoch in range(self.epochs, 0, -1))
        return next((self.compiles[epoch_id] for epoch_id in ids if epoch_id in self.compiles), None)

    def frames_of(self, key: CompileId) -> list[Frame]:
        """Return the frames with this key, newest last."""
        return [self.frames[epoch_key] for epoch in range(1, self.epochs + 1) if (epoch_key := key.of(epoch)) in self.frames]

    def find_frame(self, key: CompileId) -> Frame | None:
        """Return the frame with this key, the newest one if it has no epoch."""
        if key.epoch:
            return self.frames.get(key)
        return next(reversed(self.frames_of(key)), None)

    def owner(self, record: int) -> Compile | None:
        """Return the compile of a record of its log; None for a record of another process."""
        context = self.log.context(record)
        candidates = self.epochs_of(CompileId(context.autograd, context.frame, context.compile, name=context.name))
        return next((compile_ for compile_ in candidates if compile_.holds(record)), None)

    def owns(self, record: int) -> bool:
        """Whether a record of its log is one of its own."""
        return self.owner(record) is not None

    def defined(self, number: int) -> None:
        """Mark an entry of its string table as new or changed, which invalidates answers that used it."""
        if number in self._asked:
            self.touch()
        for heir in self._heirs:
            if number in heir._asked:
                heir.touch()

    def forked_from(self, parent: Process) -> None:
        """Its string table goes on with that of `parent`."""
        self.parent = parent
        self.touch()

    def touch(self) -> None:
        """Something that all of its compiles depend on is different now."""
        self._asked.clear()
        for compile_ in self.compiles.values():
            compile_.touch()

    def ordered(self) -> Iterator[Compile]:
        """Its compiles in the order of their first records; of a process that left several inputs that of its trace."""
        if not self.log.columns.source:
            return iter(self.compiles.values())
        state = (self.stamp, len(self.compiles))
        if self._order is None or self._order[0] != state:
            self._order = state, sorted(self.compiles.values(), key=self._first_in_trace)
        return iter(self._order[1])

    def _first_in_trace(self, compile_: Compile) -> tuple[bool, int]:
        """Return the sort key of a compile: records of other inputs precede those of the trace, whatever their times."""
        source, records = self.log.columns.source, compile_.records
        first = next((record for record in records if source[record] == 0), None)
        return (first is None, first if first is not None else records[0] if records else 0)

    def torch_version(self) -> str | None:
        """As its metrics state it (the artifact `torch_version` needs a payload)."""
        for compile_ in self.compiles.values():
            for metrics in compile_.metrics:
                if metrics.pytorch_version:
                    return metrics.pytorch_version
        return None


@mutable(eq=False)
class Rank:
    """All processes of one distributed rank; `number` None: no rank known."""

    number: int | None
    processes: list[Process]
    unread: tuple[int, ...] = ()
    """Ranks that did the same, as a saved index says, and that were not read: this one stands for them."""

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
        return total(process.tally for process in self.processes)
