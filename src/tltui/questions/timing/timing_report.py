"""Compile time of a run by phase, function, compile and rank; flame of one compile; slow ranks."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import field

from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID, Ref
from tltui.questions.ranks.pace import MORE_S, is_minority, stands_out
from tltui.questions.ranks.pace_analysis import QUARTILE, SIGMAS, explained_by
from tltui.questions.timing.event_sums import (
    Block,
    CompileTime,
    Kernels,
    KernelTime,
    NameSum,
    NameTotal,
    ProcessSum,
    Sums,
    Waiting,
    add_names,
    add_phases,
    block_from,
    is_of_workers,
    kernels_of,
    nested,
    stretches_of,
    time_of,
)
from tltui.questions.timing.timing_events import ORDER, PRIORITY, Group, Phase, ReadStats, read_groups, record_page
from tltui.questions.vllm.startup import Startup
from tltui.text.frozen import frozen, mutable


@frozen
class NameTime:
    """All timing events of one name."""

    name: str
    phase: str
    """The part of the compiler's work it belongs to: dynamo, inductor, kernels …"""
    self_s: float
    """Without what began inside of it."""
    total_s: float
    """While it was active; nested or parallel ones of the same name count once."""
    work_s: float
    """All of them added up: more than the total where threads work side by side."""
    count: int
    longest_s: float
    longest: str | None
    """The address of the compile with the longest one."""
    record: str | None
    """The page of the event that began the longest one."""


@frozen
class FunctionTime:
    """All compiles of a code object, on all ranks."""

    function: str | None
    file: str | None
    line: int | None
    frame: str
    """The address of the frame, on the rank where its slowest compile is."""
    compile_s: float
    compiles: int
    ranks: int
    slowest_ref: str
    slowest_s: float
    phases: tuple[Phase, ...]


@frozen
class ProcessTime:
    """One process of a rank."""

    ref: str
    rank: int | None
    pid: int
    compile_s: float
    compiles: int
    phases: tuple[Phase, ...]
    busy_s: float | None
    """While anything was compiled, by the events."""
    span_s: float | None
    """From its first event to its last."""


@frozen
class Outlier:
    """A rank that took much longer than the others."""

    ref: str
    rank: int
    compile_s: float
    median_s: float
    """The median of all ranks, of an even number the lower one."""
    phase: str | None
    """Where most of the difference is."""
    phase_s: float
    """By how much it took longer there."""
    event: str = ""
    """The innermost timing event that explains it; '' where none does or that is not known."""
    event_s: float = 0.0
    """By how much it was longer in it."""


@frozen
class StillOpen:
    """A compile with events that began and were not seen to end."""

    ref: str
    names: tuple[str, ...]
    """The outermost first."""
    record: str
    """The page of the event that began the innermost."""
    since_at_us: float
    """When the outermost began."""
    duration_s: float | None
    """From then to the last event of the process: at least so long. None: it is the last event, nothing is known of the time."""
    innermost_s: float | None
    """The same of the innermost."""
    last_event_at_us: float
    """The last event of the process."""
    has_metrics: bool
    """Whether its metrics were written all the same, those of its backward too if that is open: then only the end events are
    missing."""


@frozen
class Gap:
    """A time during which a process compiled nothing."""

    duration_s: float
    start_at_us: float
    after_ref: str
    """The address of the compile before it."""
    before_ref: str


@frozen
class Bar:
    """One event of a flame view."""

    name: str
    depth: int
    start_s: float
    """From the beginning of its group."""
    duration_s: float
    self_s: float
    record: str
    is_open: bool
    """Not seen to end: it took at least so long."""


@frozen
class Flame:
    """The nested events of a compile between two moments at which nothing was open: its forward, later its backward."""

    title: str
    start_at_us: float
    duration_s: float
    bars: tuple[Bar, ...]
    """Parents before their children."""


@frozen
class Timing:
    """Where the time went."""

    ref: str
    source: str
    """`events`, `metrics`, `events and metrics`, or '' where nothing is known."""
    events: int
    unreadable_events: int
    unmatched_ends: int
    compile_s: float
    """All compiles added up."""
    phases: tuple[Phase, ...]
    names: tuple[NameTime, ...]
    outside_compiles: tuple[NameTime, ...]
    """Of worker threads, while a compile waits for them."""
    compiles: tuple[CompileTime, ...]
    """The slowest first."""
    functions: tuple[FunctionTime, ...]
    processes: tuple[ProcessTime, ...]
    outliers: tuple[Outlier, ...]
    open: tuple[StillOpen, ...]
    gaps: tuple[Gap, ...]
    """The longest first."""
    kernels: Kernels
    flames: tuple[Flame, ...]
    """Of a single compile."""
    startups: tuple[Startup, ...] = ()
    """Start-up of each engine, from the log that vLLM or SGLang prints."""


_BACKWARD = "entire_backward_compile"


def flames_of(groups: Iterable[Group]) -> tuple[Flame, ...]:
    """Return one flame per group, in the order of time."""
    return tuple(_flame(group) for group in sorted(groups, key=lambda group: group.start))


def _flame(group: Group) -> Flame:
    process, start = group.owner.process, group.start
    bars = [
        Bar(name, depth, (begin - start) / 1e6, (end - begin) / 1e6, max(item, 0.0) / 1e6,
            record_page(process, record), record in group.open)
        for (begin, record, end, name), depth, item in nested(group.spans)
    ]  # fmt: skip
    title = "backward" if any(span[3] == _BACKWARD for span in group.spans) else group.spans[0][3]
    return Flame(title, start, (group.end - start) / 1e6, tuple(bars))


NO_NAMES: Mapping[str, Mapping[str, float]] = {}


def outliers_of(processes: Sequence[ProcessTime], names: Mapping[str, Mapping[str, float]] = NO_NAMES) -> tuple[Outlier, ...]:
    """Return ranks with an unusually long total compile time, slowest first.

    More than a second and four standard deviations above the median, or by the rule for one compile
    (`questions/ranks/pace.py`). A rank below the others may have been killed: that is no outlier. `names`: address of a
    process -> name of a timing event -> seconds in it.
    """
    by_rank: dict[int, list[ProcessTime]] = defaultdict(list)
    for process in processes:
        if process.rank is not None:
            by_rank[process.rank].append(process)
    seconds = {rank: sum(p.compile_s for p in item) for rank, item in by_rank.items()}
    if len(seconds) < 2:
        return ()
    ordered = sorted(seconds.values())
    typical = statistics.median_low(ordered)
    usual = (ordered[int(0.75 * (len(ordered) - 1))] - typical) / QUARTILE
    bound = typical + max(MORE_S, SIGMAS * usual) if len(ordered) > 2 else float("inf")
    slow = [rank for rank, item in seconds.items() if stands_out(item, typical) or item > bound]
    if not slow or not is_minority(len(slow), len(seconds)):
        return ()
    phases = {rank: {p.name: p.self_s for p in add_phases(q.phases for q in item)} for rank, item in by_rank.items()}
    medians = {name: statistics.median_low(phases[rank].get(name, 0.0) for rank in seconds) for name in ORDER}
    events = {rank: _sum_of_names(item, names) for rank, item in by_rank.items()}
    other_events = [events[rank] for rank in seconds if rank not in slow]
    results = []
    for rank in sorted(slow, key=lambda rank: -seconds[rank]):
        apart = {name: phases[rank].get(name, 0.0) - medians[name] for name in ORDER}
        name = max(apart, key=apart.__getitem__)
        phase = name if apart[name] > 0 else None
        event, event_s, usual_s = explained_by(events[rank], other_events)
        results.append(Outlier(
            str(Ref(rank)), rank, seconds[rank], typical, phase, apart[name] if phase else 0.0, event, event_s - usual_s
        ))  # fmt: skip
    return tuple(results)


def _sum_of_names(processes: Sequence[ProcessTime], names: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    results: Counter[str] = Counter()
    for process in processes:
        results.update(names.get(process.ref, {}))
    return results


MAX_GAPS = 5
LEAST_GAP = 0.1
"""Seconds."""
FUNCTIONS_AT_ONCE = 500
"""Functions that are added up between two moments at which a reader may leave."""


def timing_steps(ref: str, compiles: Sequence[Compile]) -> Generator[None, None, Timing]:
    """Compute the timing of some compiles, yielding after each block of them."""
    single = single_of(compiles)
    groups: list[Group] = []
    blocks = _Joined()
    if single is not None:
        yield from _read_single(compiles, single, groups, blocks)
    else:
        for stretch in stretches_of(compiles):
            blocks.add(stretch.process, stretch.members, stretch.block())
            yield
    times = {id(compile_): time for compile_ in compiles if (time := blocks.times.get(id(compile_))) is not None}
    yield
    functions = yield from function_times(compiles, times)
    processes = process_times(compiles, times, {key: _busy(item.walls) for key, item in blocks.processes.items() if item.walls})
    yield
    both = (("events", blocks.with_events), ("metrics", blocks.with_metrics))
    everyone = [(item.process, item.names, item.worker_names) for item in blocks.processes.values()]
    names = {str(process.ref): {name: item.total / 1e6 for name, item in sums.items()} for process, sums, _ in everyone}
    return Timing(
        ref, " and ".join(word for word, has in both if has), blocks.events, blocks.unreadable, blocks.lone_ends,
        sum(time.duration_s for time in times.values()), add_phases(time.phases for time in times.values()),
        _names((process, names) for process, names, _ in everyone),
        _names((process, thread_names) for process, _, thread_names in everyone),
        tuple(sorted((t for t in times.values() if t.duration_s > 0), key=lambda time: -time.duration_s)),
        functions, processes, outliers_of(processes, names), blocks.open(), blocks.gaps(),
        kernels_of(blocks.kernels, everyone, single), flames_of(groups),
    )  # fmt: skip


@mutable(eq=False)
class _Process(ProcessSum):
    """The sum of the blocks of one process."""

    waiting: list[Waiting] = field(default_factory=list)
    last: float = float("-inf")


class _Joined:
    """The sum of blocks."""

    def __init__(self) -> None:
        self.processes: dict[int, _Process] = {}
        self.times: dict[int, CompileTime] = {}
        """Compile (its `id`) → its time."""
        self.kernels: list[KernelTime] = []
        self.events = self.unreadable = self.lone_ends = 0
        self.with_events = self.with_metrics = False

    def add(self, process: Process, members: Sequence[Compile], block: Block) -> None:
        """Add one block."""
        entry = self.processes.setdefault(id(process), _Process(process))
        for compile_, row in zip(members, block.rows, strict=True):
            if (time := time_of(compile_, row)) is not None:
                self.times[id(compile_)] = time
        for totals, names in ((block.names, entry.names), (block.worker_names, entry.worker_names)):
            for total in totals:
                if total.name not in names:
                    names[total.name] = NameSum(total.rank)
                names[total.name].add(_sum(total))
        entry.walls += [(start, end, members[place]) for start, end, place in block.walls]
        entry.waiting += block.waiting
        entry.last = max(entry.last, block.last if block.last is not None else entry.last)
        self.kernels += block.kernels
        self.events += block.events
        self.unreadable += block.unreadable
        self.lone_ends += block.lone_ends
        self.with_events = self.with_events or block.with_events
        self.with_metrics = self.with_metrics or block.with_metrics

    def open(self) -> tuple[StillOpen, ...]:
        """Return the open events, newest first."""
        results = []
        for process in self.processes.values():
            for item in process.waiting:
                since, (start, record, _, _) = item.spans[0][0], item.spans[-1]
                last = max(process.last, item.last)
                results.append(StillOpen(
                    item.ref, tuple(span[3] for span in item.spans), record_page(process.process, record), since,
                    _passed(since, last), _passed(start, last), last, item.has_metrics,
                ))  # fmt: skip
        return tuple(sorted(results, key=lambda item: -item.since_at_us))

    def gaps(self) -> tuple[Gap, ...]:
        """Return the periods without compilation of a process, longest first."""
        results: list[tuple[float, float, Compile, Compile]] = []
        for process in self.processes.values():
            upto, before = None, None
            for start, end, owner in sorted(process.walls, key=lambda wall: wall[:2]):
                if upto is not None and before is not None and start - upto >= LEAST_GAP * 1e6:
                    results.append(((start - upto) / 1e6, upto, before, owner))
                if upto is None or end > upto:
                    upto, before = end, owner
        results.sort(key=lambda gap: -gap[0])
        return tuple(Gap(seconds, at, str(a.ref), str(b.ref)) for seconds, at, a, b in results[:MAX_GAPS])


def _sum(total: NameTotal) -> NameSum:
    return NameSum(
        total.rank, total.count, total.total, total.self_time, total.work, total.longest, total.record, None, total.owner
    )


def _read_single(
    compiles: Sequence[Compile], single: Compile, groups: list[Group], blocks: _Joined
) -> Generator[None, None, None]:
    """Read all events of a single compile, or of records without an id, for the flame view."""
    by_process: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        by_process[id(compile_.process)].append(compile_)
    for members in by_process.values():
        stats, sums = ReadStats(), Sums()
        for block in read_groups(members, stats):
            for group in block:
                sums.add(group)
            groups += [group for group in block if group.owner is single and not is_of_workers(group)]
            yield
        if len(compiles) == 1:
            _add_workers(single, groups, sums)
        blocks.add(members[0].process, members, block_from(members, sums, stats))


def _passed(begun: float, last: float) -> float | None:
    """Return seconds from a begin to the last event; None if the begin is the last event."""
    return (last - begun) / 1e6 if last > begun else None


def single_of(compiles: Sequence[Compile]) -> Compile | None:
    """Return the only compile; else the only records without an id (AOTInductor)."""
    real = [compile_ for compile_ in compiles if compile_.id != NO_ID]
    if len(real) == 1:
        return real[0]
    return compiles[0] if len(compiles) == 1 and not real else None


def _add_workers(compile_: Compile, groups: list[Group], sums: Sums) -> None:
    """Add the worker threads' events, which have no id, between the records of a compile.

    They lie between the compile's own records, at its time.
    """
    workers = compile_.process.compiles.get(NO_ID)
    if workers is None or workers is compile_:
        return
    ranges = [(group.spans[0][1], max(span[1] for span in group.spans)) for group in groups]
    process = sums.processes.get(id(compile_.process))
    if process is None or not ranges:
        return
    bounds = [(lo, _last_record(compile_, hi)) for lo, hi in ranges]
    for block in read_groups([workers], ReadStats(), bounds):
        for group in block:
            if is_of_workers(group) and any(group.start < member.end and member.start < group.end for member in groups):
                add_names(group, process.worker_names)


def _last_record(compile_: Compile, begun: int) -> int:
    """Return a late record of a group with a known last begin.

    Its ends follow within the records of the compile.
    """
    later = [record for record in compile_.records if record > begun]
    return later[min(len(later) - 1, 200)] if later else begun


def compile_times(compiles: Iterable[Compile]) -> dict[int, CompileTime]:
    """Map the `id` of each compile to its time, from the index alone."""
    return {id(compile_): time for compile_ in compiles if (time := time_of(compile_)) is not None}


def function_times(
    compiles: Iterable[Compile], times: dict[int, CompileTime]
) -> Generator[None, None, tuple[FunctionTime, ...]]:
    """Compute times by code object, most expensive first; yields during the computation.

    Frames with unknown code stay separate.
    """
    groups: dict[tuple[object, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        time = times.get(id(compile_))
        if time is not None and compile_.is_compile:
            key = (time.function, time.file, time.line) if time.function else (id(compile_.frame),)
            groups[key].append(compile_)
    results = []
    for number, members in enumerate(groups.values(), 1):
        if number % FUNCTIONS_AT_ONCE == 0:
            yield
        if len(members) == 1:
            first, slowest, ranks, phases = times[id(members[0])], members[0], 1, times[id(members[0])].phases
            seconds = first.duration_s
        else:
            member_times = [times[id(c)] for c in members]
            slowest, first = max(zip(members, member_times, strict=True), key=lambda pair: pair[1].duration_s)
            seconds, ranks = sum(time.duration_s for time in member_times), len({c.process.rank for c in members})
            phases = add_phases(time.phases for time in member_times)
        results.append(FunctionTime(
            first.function, first.file, first.line, str(slowest.frame.ref), seconds, len(members), ranks, first.ref,
            first.duration_s, phases,
        ))  # fmt: skip
    return tuple(sorted((f for f in results if f.compile_s > 0), key=lambda function: -function.compile_s))


def process_times(
    compiles: Iterable[Compile], times: dict[int, CompileTime], busy: dict[int, tuple[float, float]] | None = None
) -> tuple[ProcessTime, ...]:
    """Return times in rank order.

    `busy`: process (its `id`) → seconds of compiling, seconds from first to last event.
    """
    members: dict[int, tuple[Process, list[Compile]]] = {}
    for compile_ in compiles:
        members.setdefault(id(compile_.process), (compile_.process, []))[1].append(compile_)
    results = []
    for process, item in members.values():
        measured = [times[id(c)] for c in item if id(c) in times]
        compiled, span = (busy or {}).get(id(process), (None, None))
        results.append(ProcessTime(
            str(process.ref), process.rank, process.pid, sum(t.duration_s for t in measured), sum(c.is_compile for c in item),
            add_phases(t.phases for t in measured), compiled, span,
        ))  # fmt: skip
    return tuple(results)


def index_process_times(compiles: Iterable[Compile]) -> tuple[ProcessTime, ...]:
    """Return times by process from the index alone: seconds, no phases."""
    results: dict[int, tuple[Process, list[float], int]] = {}
    for compile_ in compiles:
        process, seconds, count = results.get(id(compile_.process)) or (compile_.process, [], 0)
        seconds.append(compile_.compile_s)
        results[id(process)] = (process, seconds, count + compile_.is_compile)
    return tuple(
        ProcessTime(str(process.ref), process.rank, process.pid, sum(seconds), count, (), None, None)
        for process, seconds, count in results.values()
    )


def _busy(walls: Sequence[tuple[float, float, Compile]]) -> tuple[float, float]:
    total, upto = 0.0, float("-inf")
    ordered = sorted(wall[:2] for wall in walls)
    for start, end in ordered:
        total += max(end - max(start, upto), 0.0)
        upto = max(upto, end)
    return total / 1e6, (upto - ordered[0][0]) / 1e6


def _names(parts: Iterable[tuple[Process, dict[str, NameSum]]]) -> tuple[NameTime, ...]:
    sums: dict[str, NameSum] = {}
    longest: dict[str, Process] = {}
    for process, item in parts:
        for name, name_sum in item.items():
            if name not in sums:
                sums[name] = NameSum(name_sum.rank)
            if name_sum.longest > sums[name].longest:
                longest[name] = process
            sums[name].add(name_sum)
    rows = []
    for name, name_sum in sums.items():
        rows.append(NameTime(
            name, PRIORITY[name_sum.rank], max(name_sum.self_time, 0.0) / 1e6, name_sum.total / 1e6, name_sum.work / 1e6,
            name_sum.count, max(name_sum.longest, 0.0) / 1e6, name_sum.ref or None,
            record_page(longest[name], name_sum.record) if name in longest else None,
        ))  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (-row.self_s, row.name)))
