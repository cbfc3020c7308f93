"""Sums of timing events by name, compile, process and kernel, in cached blocks."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from tltui.model.node_answers import part, part_of, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, addresses, metrics_fields, number_in, records_of, text_in, whole_in
from tltui.model.ref import NO_ID
from tltui.model.status import is_backward
from tltui.questions.stacks.tracebacks import display_code
from tltui.questions.timing.timing_events import (
    KERNELS,
    ORDER,
    PRIORITY,
    Group,
    Phase,
    ReadStats,
    Span,
    group_of,
    is_aot,
    micros_by_phase,
    ordered,
    read_groups,
    record_page,
    timing_of,
    without_metrics_writing,
)
from tltui.text.frozen import frozen, mutable
from tltui.trace.grammar import number, parse_json


@frozen
class CompileTime:
    """One compile: its forward and, where it was compiled, its backward."""

    ref: str
    function: str | None
    file: str | None
    line: int | None
    status: str | None
    duration_s: float
    source: str
    """`metrics`, or `events` for what has no metrics: records without an id, compiles that were cut off."""
    start_at_us: float | None
    phases: tuple[Phase, ...]


@frozen
class KernelTime:
    """A Triton kernel."""

    name: str
    duration_s: float
    ref: str
    """Where it is stated."""
    cache: str | None = None
    """What the cache of tuned configurations said: hit, miss, only 1 config."""
    configs: int | None = None
    """Configurations that were tried."""


class Tuning(NamedTuple):
    """What the metrics of a compile state of autotuning."""

    name: str
    duration_s: float
    ref: str


@frozen
class Kernels:
    """Compiling kernels."""

    triton: tuple[KernelTime, ...]
    """The slowest first."""
    triton_s: float
    """All of them added up; workers compile them side by side."""
    file_count: int
    """C++ and other files that were compiled (`compile_file`)."""
    files_s: float
    """All of them added up."""
    longest_file_s: float
    longest_file: str | None
    """The page of its event."""
    wait_s: float
    """While a compile waited for kernels (`async_compile.wait`)."""
    tuning: tuple[Tuning, ...] = ()
    """Autotuning and CUDA graphs as the metrics state them, of one compile."""


_RANK = {group: number for number, group in enumerate(PRIORITY)}


@mutable(eq=False)
class NameSum:
    """All events of one name. Microseconds."""

    rank: int
    """The phase, as an index of `PRIORITY`."""
    count: int = 0
    total: float = 0.0
    self_time: float = 0.0
    work: float = 0.0
    longest: float = -1.0
    record: int = -1
    """The record of the longest event's begin."""
    owner: Compile | None = None
    """The compile with the longest one."""
    ref: str = ""
    """The address of that compile, where only the address is known any more."""

    def add(self, other: NameSum) -> None:
        """Add the sums of another process."""
        self.count += other.count
        self.total += other.total
        self.self_time += other.self_time
        self.work += other.work
        if other.longest > self.longest:
            self.longest, self.record, self.owner, self.ref = other.longest, other.record, other.owner, other.ref


@mutable(eq=False)
class OwnerSum:
    """All groups of one compile. Microseconds."""

    owner: Compile
    start: float = math.inf
    end: float = -math.inf
    wall: float = 0.0
    phases: list[float] = field(default_factory=lambda: [0.0] * len(PRIORITY))
    aot: bool = False
    open: list[Span] = field(default_factory=list)
    """Events without an end, outermost first."""
    last: float = -math.inf
    """The time of its last event."""

    def micros(self) -> dict[str, float]:
        """Return microseconds by phase."""
        return dict(zip(PRIORITY, self.phases, strict=True))


@mutable(eq=False)
class ProcessSum:
    """All groups of one process."""

    process: Process
    names: dict[str, NameSum] = field(default_factory=dict)
    """Sums of the events of compiles, and of events without a compile id and without a compile that waits for them."""
    worker_names: dict[str, NameSum] = field(default_factory=dict)
    """Sums of the events of worker threads that a compile waits for: they compile kernels."""
    walls: list[tuple[float, float, Compile]] = field(default_factory=list)
    """(start, end, compile) of the times of compilation."""


class Sums:
    """Running sums of groups."""

    def __init__(self) -> None:
        self.owners: dict[int, OwnerSum] = {}
        self.processes: dict[int, ProcessSum] = {}

    def add(self, group: Group) -> None:
        """Add one group."""
        process = self.processes.get(id(group.owner.process))
        if process is None:
            process = self.processes[id(group.owner.process)] = ProcessSum(group.owner.process)
        if is_of_workers(group):
            add_names(group, process.worker_names)
            return
        owner = self.owners.get(id(group.owner))
        if owner is None:
            owner = self.owners[id(group.owner)] = OwnerSum(group.owner)
        _add_owner(owner, group, add_names(group, process.names, owner.phases))
        process.walls.append((group.start, group.end, group.owner))


def is_of_workers(group: Group) -> bool:
    """Return whether a group is the work of threads that a compile waits for.

    Such a group has no compile id and contains only kernels.
    """
    return group.owner.id == NO_ID and all(group_of(span[3]) == KERNELS for span in group.spans)


def _add_owner(owner: OwnerSum, group: Group, wall: float) -> None:
    owner.wall += wall
    end = group.end
    owner.start, owner.end = min(owner.start, group.start), max(owner.end, end)
    owner.last = max(owner.last, end)
    if not owner.aot:
        owner.aot = any(is_aot(span[3]) for span in group.spans)
    if group.open:
        owner.open += [span for span in group.spans if span[1] in group.open]


def add_names(group: Group, names: dict[str, NameSum], phases: list[float] | None = None) -> float:
    """Add a group's spans to the sums by name and by phase; return their total microseconds."""
    spans = group.spans
    name_sum: list[NameSum] = []
    reach: dict[str, float] = {}
    nesting = Nesting()
    for start, record, end, name in spans:
        mine = names.get(name)
        if mine is None:
            mine = names[name] = NameSum(_RANK[group_of(name)])
        length = end - start
        nesting.add(start, end, mine.rank)
        name_sum.append(mine)
        mine.count += 1
        mine.work += length
        if length > mine.longest:
            mine.longest, mine.record, mine.owner = length, record, group.owner
        before = reach.get(name, start)
        if start >= before:
            mine.total += length
            reach[name] = end
        elif end > before:
            mine.total += end - before
            reach[name] = end
    for mine, self_us in zip(name_sum, nesting.self_times, strict=True):
        mine.self_time += self_us
    if phases is not None:
        _add_phases(spans, phases, nesting)
    return nesting.wall


class Nesting:
    """Parents of sorted spans.

    Spans of parallel threads may overlap: the parent is the innermost span that contains all of a span.
    """

    __slots__ = ("depths", "ranks", "self_times", "stack", "tangled", "upto", "wall", "wall_upto")

    def __init__(self) -> None:
        self.stack: list[tuple[float, int]] = []
        self.depths: list[int] = []
        self.self_times: list[float] = []
        """Self times."""
        self.upto: list[float] = []
        """The end of the covered part of each span."""
        self.ranks: list[int] = []
        """The most specific phase on the way from the outermost span to each."""
        self.wall = 0.0
        self.wall_upto = -math.inf
        self.tangled = False
        """Whether some overlap without one holding the other."""

    def add(self, start: float, end: float, rank: int = 0) -> None:
        """Add the next span."""
        stack, number = self.stack, len(self.self_times)
        while stack and stack[-1][0] <= start and (stack[-1][0] < start or end > start):
            stack.pop()
        parent = -1
        if stack:
            parent = stack[-1][1] if stack[-1][0] >= end else self._search(end)
        if parent >= 0:
            before = self.upto[parent]
            if start >= before:
                self.self_times[parent] -= end - start
                self.upto[parent] = end
            else:
                self.tangled = True
                if end > before:
                    self.self_times[parent] -= end - before
                    self.upto[parent] = end
            above = self.ranks[parent]
            self.ranks.append(above if above < rank else rank)
            self.depths.append(self.depths[parent] + 1)
        else:
            self.ranks.append(rank)
            self.depths.append(0)
            if end > self.wall_upto:
                self.wall += end - (start if start > self.wall_upto else self.wall_upto)
                self.wall_upto = end
        stack.append((end, number))
        self.self_times.append(end - start)
        self.upto.append(start)

    def _search(self, end: float) -> int:
        """Return the innermost span that contains the time `end`, -1 for none."""
        self.tangled = True
        return next((number for reach, number in reversed(self.stack) if reach >= end), -1)


def _add_phases(spans: list[Span], phases: list[float], nesting: Nesting) -> None:
    """Add each instant to the most specific phase that covers it.

    Without parallel threads this is the most specific phase on the path from a span to its outermost one; with them,
    intervals are merged.
    """
    if not nesting.tangled:
        for rank, self_us in zip(nesting.ranks, nesting.self_times, strict=True):
            phases[rank] += self_us
        return
    for name, micros in micros_by_phase((name, start, end) for start, _, end, name in spans).items():
        phases[_RANK[name]] += micros


def nested(spans: list[Span]) -> Iterator[tuple[Span, int, float]]:
    """Yield (span, depth, self time) in the order of the spans."""
    nesting = Nesting()
    for start, _, end, _ in spans:
        nesting.add(start, end)
    return zip(spans, nesting.depths, nesting.self_times, strict=True)


INFO = "triton_kernel_info"
FILE, WAIT = "compile_file", "async_compile.wait"
MAX_KERNELS = 200
Names = dict[str, NameSum]
TUNING = (
    ("triton_compile_time_us", "compiling kernels or waiting for them, from the metrics"),
    ("compile_time_autotune_time_us", "autotuning at compile time"),
    ("runtime_triton_autotune_time_us", "autotuning at the first call"),
    ("runtime_cudagraphify_time_us", "recording CUDA graphs at run time"),
)


def kernels_of(
    triton: list[KernelTime], processes: Iterable[tuple[Process, Names, Names]], single: Compile | None
) -> Kernels:
    """Return the kernels of some compiles.

    From their artifacts and from the sums of the events of each process (its own, and those of parallel threads); for a
    single compile also from its metrics.
    """
    tuning: tuple[Tuning, ...] = ()
    if single is not None:
        tuning, listed = _from_metrics(single)
        triton = triton or list(listed)
    file, files_of = NameSum(0), None
    wait = 0.0
    for process, names, thread_names in processes:
        for sums in (names, thread_names):
            if FILE in sums:
                if sums[FILE].longest > file.longest:
                    files_of = process
                file.add(sums[FILE])
        if WAIT in names:
            wait += names[WAIT].total
    triton = sorted(triton, key=lambda kernel: -kernel.duration_s)
    return Kernels(
        tuple(triton[:MAX_KERNELS]), sum(kernel.duration_s for kernel in triton), file.count, file.work / 1e6,
        max(file.longest, 0.0) / 1e6, record_page(files_of, file.record) if files_of is not None else None,
        wait / 1e6, tuning,
    )  # fmt: skip


def stated_by(compile_: Compile, reader: Reader) -> list[KernelTime]:
    """Parse the artifacts `triton_kernel_info`.

    `{kernel: {autotune_cache_state, num_configs, compile_time_us}}`.
    """
    kernel_times: list[KernelTime] = []
    refs: dict[int, str] = {}
    for record, name in records_of(compile_, (INFO,)):
        refs = refs or addresses(compile_, (INFO,))
        value = reader.json(record)
        ref = refs.get(record, f"{compile_.ref}:{name}")
        for kernel, fields in value.items() if isinstance(value, dict) else ():
            micros = number_in(fields, "compile_time_us")
            if micros is not None:
                cache, configs = text_in(fields, "autotune_cache_state"), whole_in(fields, "num_configs")
                kernel_times.append(KernelTime(str(kernel), max(micros, 0.0) / 1e6, ref, cache, configs))
    return kernel_times


@part
def _from_metrics(compile_: Compile, reader: Reader) -> tuple[tuple[Tuning, ...], tuple[KernelTime, ...]]:
    """Return tuning and kernels from the metrics."""
    tuning: list[Tuning] = []
    kernels: list[KernelTime] = []
    for metrics in compile_.metrics:
        fields = reader.event(metrics.record)
        ref = f"@metrics:{compile_.ref}"
        graph = " of the backward" if is_backward(metrics) else ""
        for key, text in TUNING:
            micros = number_in(fields, key)
            if micros:
                tuning.append(Tuning(text + graph, micros / 1e6, ref))
        kernels += _listed(fields, ref)
    return tuple(tuning), tuple(kernels)


def _listed(fields: dict[str, Any], ref: str) -> list[KernelTime]:
    """Parse `triton_kernel_compile_times_us`: a JSON string of `[[kernel, microseconds], …]`."""
    text = text_in(fields, "triton_kernel_compile_times_us")
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass")) if text else None
    except ValueError:
        return []
    results = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and (micros := number(item[1])) is not None:
            results.append(KernelTime(item[0], max(micros, 0.0) / 1e6, ref))
    return results


MEMBERS = 16
"""Compiles of a block."""
LARGE = 1000
"""Records from which on a compile is a block of its own."""


@frozen
class NameTotal:
    """All events of one name in a block. Microseconds."""

    name: str
    rank: int
    count: int
    total: float
    self_time: float
    work: float
    longest: float
    record: int
    owner: str
    """The address of the compile with the longest one."""


@frozen
class Waiting:
    """An open event of a compile: a begin without an end."""

    ref: str
    spans: tuple[Span, ...]
    """The outermost first."""
    last: float
    """The last event of the compile."""
    has_metrics: bool
    """Whether the compile has metrics, and its backward too if that has begun."""


@frozen
class Block:
    """The sums of events of some compiles; where there are none, of their metrics."""

    events: int
    unreadable: int
    lone_ends: int
    last: float | None
    """The last event."""
    with_events: bool
    with_metrics: bool
    """Whether phases of some compile come from events, of some from metrics."""
    rows: tuple[array[float] | None, ...]
    """For each compile its row (see `time_of`); None without events and metrics."""
    names: tuple[NameTotal, ...]
    worker_names: tuple[NameTotal, ...]
    walls: tuple[tuple[float, float, int], ...]
    """(start, end, which of the compiles) of each time in which something was compiled."""
    waiting: tuple[Waiting, ...]
    kernels: tuple[KernelTime, ...]


@frozen
class Stretch:
    """Compiles that form a block."""

    process: Process
    members: Sequence[Compile]
    scope: str
    """The order of the members: compiles of a process, or of a frame."""

    def block(self) -> Block:
        """Return the block, from the cache if nothing changed."""
        return part_of(("timing", self.scope), self.members, lambda: block_of(self.members, Sums(), ReadStats()))


def stretches_of(compiles: Sequence[Compile]) -> Iterator[Stretch]:
    """Split compiles into stretches."""
    by_process: dict[Process, list[Compile]] = {}
    for compile_ in compiles:
        by_process.setdefault(compile_.process, []).append(compile_)
    for process, item in by_process.items():
        scope = "process" if len(item) == len(process.compiles) else "frame"
        for members in _cut(process.compiles.values() if scope == "process" else item):
            yield Stretch(process, members, scope)


def _cut(compiles: Iterable[Compile]) -> Iterator[list[Compile]]:
    run: list[Compile] = []
    for compile_ in compiles:
        alone = compile_.id == NO_ID or len(compile_.records) > LARGE
        if run and (alone or len(run) == MEMBERS):
            yield run
            run = []
        if alone:
            yield [compile_]
        else:
            run.append(compile_)
    if run:
        yield run


def block_of(members: Sequence[Compile], sums: Sums, stats: ReadStats) -> Block:
    """Read the events of some compiles of one process."""
    for groups in read_groups(members, stats):
        for group in groups:
            sums.add(group)
    return block_from(members, sums, stats)


def block_from(members: Sequence[Compile], sums: Sums, stats: ReadStats) -> Block:
    """Combine event sums with the index's facts about the compiles."""
    process = members[0].process
    process_sum = sums.processes.get(id(process)) or ProcessSum(process)
    owners = [sums.owners.get(id(compile_)) for compile_ in members]
    phases = [_of_events(owner_sum) if owner_sum is not None else () for owner_sum in owners]
    with_metrics = False
    for n, compile_ in enumerate(members):
        if owners[n] is None and compile_.metrics:
            phases[n] = _of_metrics(compile_, reader_of(compile_))
            with_metrics = with_metrics or bool(phases[n])
    places = {id(compile_): n for n, compile_ in enumerate(members)}
    return Block(
        stats.events, stats.unreadable, stats.lone_ends, stats.last.get(id(process)), any(owner is not None for owner in owners),
        with_metrics, tuple(map(_row, owners, phases)), _totals(process_sum.names),
        _totals(process_sum.worker_names), tuple((start, end, places[id(owner)]) for start, end, owner in process_sum.walls),
        tuple(_waiting(owner_sum) for owner_sum in owners if owner_sum is not None and owner_sum.open),
        tuple(kernel for compile_ in members for kernel in stated_by(compile_, reader_of(compile_))),
    )  # fmt: skip


def _of_events(owner_sum: OwnerSum) -> tuple[Phase, ...]:
    return ordered(owner_sum.micros(), owner_sum.aot)


def _of_metrics(compile_: Compile, reader: Reader) -> tuple[Phase, ...]:
    timing = timing_of([], metrics_fields(compile_, reader))
    return add_phases((timing.phases, timing.backward))


def add_phases(parts: Iterable[tuple[Phase, ...]]) -> tuple[Phase, ...]:
    """Add up phases."""
    seconds: dict[str, float] = {}
    for phases in parts:
        for phase in phases:
            seconds[phase.name] = seconds.get(phase.name, 0.0) + phase.self_s
    return tuple(Phase(name, seconds[name]) for name in ORDER if seconds.get(name, 0) > 0)


def _row(owner_sum: OwnerSum | None, phases: tuple[Phase, ...]) -> array[float] | None:
    """Return (microseconds of the groups, start, seconds of each phase of `ORDER`).

    The first two are NaN without events. There is one row per compile of the run: it must be small.
    """
    if owner_sum is None and not phases:
        return None
    seconds = {phase.name: phase.self_s for phase in phases}
    wall, start = (owner_sum.wall, owner_sum.start) if owner_sum is not None else (math.nan, math.nan)
    return array("d", [wall, start, *(seconds.get(name, 0.0) for name in ORDER)])


def has_open_backward(compile_: Compile) -> bool:
    """Return whether a backward has begun and has no end, so that no metrics count its time."""
    return compile_.facts.backward_running or compile_.facts.backward_unfinished


def time_of(compile_: Compile, row: array[float] | None = None) -> CompileTime | None:
    """Return the time of a compile; without its row from the index alone."""
    events = row is not None and not math.isnan(row[0])
    seconds, source = compile_.compile_s, "metrics"
    if row is not None and events and (not seconds or has_open_backward(compile_)) and row[0] / 1e6 > seconds:
        seconds, source = row[0] / 1e6, "events"
    if not seconds and not compile_.is_compile:
        return None
    name, file, line = display_code(compile_.frame)
    status = compile_.status
    start = row[1] if row is not None and events else compile_.start_us
    phases = tuple(Phase(name, row[n]) for n, name in enumerate(ORDER, 2) if row[n] > 0) if row is not None else ()
    if source == "metrics":
        phases = without_metrics_writing(phases, sum(phase.self_s for phase in phases) - seconds)
    return CompileTime(
        str(compile_.ref), name, file, line, str(status) if status else None, seconds, source, start, phases
    )


def _totals(names: dict[str, NameSum]) -> tuple[NameTotal, ...]:
    return tuple(
        NameTotal(
            sys.intern(name), name_sum.rank, name_sum.count, name_sum.total, name_sum.self_time, name_sum.work, name_sum.longest,
            name_sum.record,
            str(name_sum.owner.ref) if name_sum.owner is not None else "",
        )
        for name, name_sum in names.items()
    )  # fmt: skip


def _waiting(owner_sum: OwnerSum) -> Waiting:
    last = owner_sum.last if owner_sum.last > -math.inf else 0.0
    has_metrics = bool(owner_sum.owner.metrics) and not has_open_backward(owner_sum.owner)
    return Waiting(str(owner_sum.owner.ref), tuple(owner_sum.open), last, has_metrics)
