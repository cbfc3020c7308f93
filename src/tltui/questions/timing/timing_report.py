"""Compile time of a run by phase, function, compile and rank; flame of one compile; slow ranks."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID, Ref
from tltui.questions.ranks.pace import MORE_S, is_minority, stands_out
from tltui.questions.ranks.pace_analysis import QUARTILE, SIGMAS, explained_by
from tltui.questions.timing.event_sums import (
    Block,
    NameSum,
    NameTotal,
    Sums,
    Waiting,
    add_names,
    block_from,
    is_beside,
    kernels_of,
    nested,
    stretches_of,
    time_of,
    together,
)
from tltui.questions.timing.timing_events import ORDER, PRIORITY, Group, Seen, read_groups, record_page
from tltui.questions.timing.timing_results import (
    Bar,
    CompileTime,
    Flame,
    FunctionTime,
    Gap,
    KernelTime,
    NameTime,
    Outlier,
    ProcessTime,
    StillOpen,
    Timing,
)

_BACKWARD = "entire_backward_compile"


def flames_of(groups: Iterable[Group]) -> tuple[Flame, ...]:
    """One flame for each group, in the order of time."""
    return tuple(_flame(group) for group in sorted(groups, key=lambda group: group.start))


def _flame(group: Group) -> Flame:
    process, start = group.owner.process, group.start
    bars = [
        Bar(name, depth, (begin - start) / 1e6, (end - begin) / 1e6, max(own, 0.0) / 1e6,
            record_page(process, record), record in group.open)
        for (begin, record, end, name), depth, own in nested(group.spans)
    ]  # fmt: skip
    title = "backward" if any(span[3] == _BACKWARD for span in group.spans) else group.spans[0][3]
    return Flame(title, start, (group.end - start) / 1e6, tuple(bars))


NO_NAMES: Mapping[str, Mapping[str, float]] = {}


def outliers_of(processes: Sequence[ProcessTime], names: Mapping[str, Mapping[str, float]] = NO_NAMES) -> tuple[Outlier, ...]:
    """Ranks of which all compiles together took longer than the ranks differ anyway, the slowest first: more than a second and four
    standard deviations above the median, or by the rule for one compile (`questions/ranks/pace.py`). Who took less than the others
    may have been killed: that is no outlier. `names`: address of a process -> name of a timing event -> seconds in it."""
    by_rank: dict[int, list[ProcessTime]] = defaultdict(list)
    for process in processes:
        if process.rank is not None:
            by_rank[process.rank].append(process)
    seconds = {rank: sum(p.seconds for p in own) for rank, own in by_rank.items()}
    if len(seconds) < 2:
        return ()
    known = sorted(seconds.values())
    typical = statistics.median_low(known)
    usual = (known[int(0.75 * (len(known) - 1))] - typical) / QUARTILE
    bound = typical + max(MORE_S, SIGMAS * usual) if len(known) > 2 else float("inf")
    slow = [rank for rank, own in seconds.items() if stands_out(own, typical) or own > bound]
    if not slow or not is_minority(len(slow), len(seconds)):
        return ()
    phases = {rank: {p.name: p.seconds for p in together(q.phases for q in own)} for rank, own in by_rank.items()}
    medians = {name: statistics.median_low(phases[rank].get(name, 0.0) for rank in seconds) for name in ORDER}
    events = {rank: _together(own, names) for rank, own in by_rank.items()}
    others = [events[rank] for rank in seconds if rank not in slow]
    found = []
    for rank in sorted(slow, key=lambda rank: -seconds[rank]):
        apart = {name: phases[rank].get(name, 0.0) - medians[name] for name in ORDER}
        name = max(apart, key=apart.__getitem__)
        phase = name if apart[name] > 0 else None
        event, event_s, usual_s = explained_by(events[rank], others)
        found.append(Outlier(
            str(Ref(rank)), rank, seconds[rank], typical, phase, apart[name] if phase else 0.0, event, event_s - usual_s
        ))  # fmt: skip
    return tuple(found)


def _together(processes: Sequence[ProcessTime], names: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    found: Counter[str] = Counter()
    for process in processes:
        found.update(names.get(process.ref, {}))
    return found


GAPS_KEPT = 5
LEAST_GAP = 0.1
"""Seconds."""
FUNCTIONS_AT_ONCE = 500
"""Functions that are added up between two moments at which a reader may leave."""


def timing_steps(ref: str, compiles: Sequence[Compile]) -> Generator[None, None, Timing]:
    """The timing of some compiles. Yields after each block of them."""
    single = single_of(compiles)
    groups: list[Group] = []
    blocks = _Joined()
    if single is not None:
        yield from _alone(compiles, single, groups, blocks)
    else:
        for stretch in stretches_of(compiles):
            blocks.add(stretch.process, stretch.members, stretch.block())
            yield
    times = {id(compile_): time for compile_ in compiles if (time := blocks.times.get(id(compile_))) is not None}
    yield
    functions = yield from function_times(compiles, times)
    processes = process_times(compiles, times, {key: _busy(own.walls) for key, own in blocks.processes.items() if own.walls})
    yield
    both = (("events", blocks.with_events), ("metrics", blocks.with_metrics))
    everyone = [(own.process, own.names, own.beside) for own in blocks.processes.values()]
    names = {str(process.ref): {name: own.total / 1e6 for name, own in sums.items()} for process, sums, _ in everyone}
    return Timing(
        2, ref, " and ".join(word for word, has in both if has), blocks.events, blocks.unreadable, blocks.lone_ends,
        sum(time.seconds for time in times.values()), together(time.phases for time in times.values()),
        _names((process, names) for process, names, _ in everyone), _names((process, beside) for process, _, beside in everyone),
        tuple(sorted((t for t in times.values() if t.seconds > 0), key=lambda time: -time.seconds)),
        functions, processes, outliers_of(processes, names), blocks.open(), blocks.gaps(),
        kernels_of(blocks.kernels, everyone, single), flames_of(groups),
    )  # fmt: skip


@dataclass(slots=True)
class _Process:
    """What the blocks of one process amount to."""

    process: Process
    names: dict[str, NameSum] = field(default_factory=dict)
    beside: dict[str, NameSum] = field(default_factory=dict)
    walls: list[tuple[float, float, Compile]] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    last: float = float("-inf")


class _Joined:
    """Blocks, added up."""

    def __init__(self) -> None:
        self.processes: dict[int, _Process] = {}
        self.times: dict[int, CompileTime] = {}
        """Compile (its `id`) → its time."""
        self.kernels: list[KernelTime] = []
        self.events = self.unreadable = self.lone_ends = 0
        self.with_events = self.with_metrics = False

    def add(self, process: Process, members: Sequence[Compile], block: Block) -> None:
        """One more block."""
        own = self.processes.setdefault(id(process), _Process(process))
        for compile_, row in zip(members, block.rows, strict=True):
            if (time := time_of(compile_, row)) is not None:
                self.times[id(compile_)] = time
        for totals, names in ((block.names, own.names), (block.beside, own.beside)):
            for total in totals:
                if total.name not in names:
                    names[total.name] = NameSum(total.rank)
                names[total.name].add(_sum(total))
        own.walls += [(start, end, members[place]) for start, end, place in block.walls]
        own.waiting += block.waiting
        own.last = max(own.last, block.last if block.last is not None else own.last)
        self.kernels += block.kernels
        self.events += block.events
        self.unreadable += block.unreadable
        self.lone_ends += block.lone_ends
        self.with_events = self.with_events or block.with_events
        self.with_metrics = self.with_metrics or block.with_metrics

    def open(self) -> tuple[StillOpen, ...]:
        """The newest first."""
        found = []
        for own in self.processes.values():
            for item in own.waiting:
                since, (start, record, _, _) = item.spans[0][0], item.spans[-1]
                last = max(own.last, item.last)
                found.append(StillOpen(
                    item.ref, tuple(span[3] for span in item.spans), record_page(own.process, record), since,
                    _passed(since, last), _passed(start, last), last, item.finished,
                ))  # fmt: skip
        return tuple(sorted(found, key=lambda item: -item.since))

    def gaps(self) -> tuple[Gap, ...]:
        """When a process compiled nothing, the longest first."""
        found: list[tuple[float, float, Compile, Compile]] = []
        for own in self.processes.values():
            upto, before = None, None
            for start, end, owner in sorted(own.walls, key=lambda wall: wall[:2]):
                if upto is not None and before is not None and start - upto >= LEAST_GAP * 1e6:
                    found.append(((start - upto) / 1e6, upto, before, owner))
                if upto is None or end > upto:
                    upto, before = end, owner
        found.sort(key=lambda gap: -gap[0])
        return tuple(Gap(seconds, at, str(a.ref), str(b.ref)) for seconds, at, a, b in found[:GAPS_KEPT])


def _sum(total: NameTotal) -> NameSum:
    return NameSum(
        total.rank, total.count, total.total, total.own, total.work, total.longest, total.record, None, total.owner
    )


def _alone(
    compiles: Sequence[Compile], single: Compile, groups: list[Group], blocks: _Joined
) -> Generator[None, None, None]:
    """The only compile, and records without an id: their events are read as they are, for the flame view of the compile."""
    by_process: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        by_process[id(compile_.process)].append(compile_)
    for members in by_process.values():
        seen, sums = Seen(), Sums()
        for found in read_groups(members, seen):
            for group in found:
                sums.add(group)
            groups += [group for group in found if group.owner is single and not is_beside(group)]
            yield
        if len(compiles) == 1:
            _add_beside(single, groups, sums)
        blocks.add(members[0].process, members, block_from(members, sums, seen))


def _passed(begun: float, last: float) -> float | None:
    """Seconds from a begin to the last event; None where that is the begin itself: nothing is known of the time since."""
    return (last - begun) / 1e6 if last > begun else None


def single_of(compiles: Sequence[Compile]) -> Compile | None:
    """The only compile, where there is just one; else the only records without an id (AOTInductor)."""
    real = [compile_ for compile_ in compiles if compile_.id != NO_ID]
    if len(real) == 1:
        return real[0]
    return compiles[0] if len(compiles) == 1 and not real else None


def _add_beside(compile_: Compile, groups: list[Group], sums: Sums) -> None:
    """What worker threads did for one compile has no id: it stands between the compile's own records, at its time."""
    workers = compile_.process.compiles.get(NO_ID)
    if workers is None or workers is compile_:
        return
    ranges = [(group.spans[0][1], max(span[1] for span in group.spans)) for group in groups]
    process = sums.processes.get(id(compile_.process))
    if process is None or not ranges:
        return
    bounds = [(lo, _last_record(compile_, hi)) for lo, hi in ranges]
    for found in read_groups([workers], Seen(), bounds):
        for group in found:
            if is_beside(group) and any(group.start < own.end and own.start < group.end for own in groups):
                add_names(group, process.beside)


def _last_record(compile_: Compile, begun: int) -> int:
    """A late record of a group whose last begin is known: its ends follow within the records of the compile."""
    later = [record for record in compile_.records if record > begun]
    return later[min(len(later) - 1, 200)] if later else begun


def compile_times(compiles: Iterable[Compile]) -> dict[int, CompileTime]:
    """Compile (its `id`) → its time, from the index alone."""
    return {id(compile_): time for compile_ in compiles if (time := time_of(compile_)) is not None}


def function_times(
    compiles: Iterable[Compile], times: dict[int, CompileTime]
) -> Generator[None, None, tuple[FunctionTime, ...]]:
    """By code object, the most expensive first. Frames whose code is unknown stay apart. Yields while it adds up."""
    groups: dict[tuple[object, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        time = times.get(id(compile_))
        if time is not None and compile_.is_compile:
            key = (time.function, time.file, time.line) if time.function else (id(compile_.frame),)
            groups[key].append(compile_)
    found = []
    for number, members in enumerate(groups.values(), 1):
        if number % FUNCTIONS_AT_ONCE == 0:
            yield
        if len(members) == 1:
            first, slowest, ranks, phases = times[id(members[0])], members[0], 1, times[id(members[0])].phases
            seconds = first.seconds
        else:
            own = [times[id(c)] for c in members]
            slowest, first = max(zip(members, own, strict=True), key=lambda pair: pair[1].seconds)
            seconds, ranks = sum(time.seconds for time in own), len({c.process.rank for c in members})
            phases = together(time.phases for time in own)
        found.append(FunctionTime(
            first.function, first.file, first.line, str(slowest.frame.ref), seconds, len(members), ranks, first.ref,
            first.seconds, phases,
        ))  # fmt: skip
    return tuple(sorted((f for f in found if f.seconds > 0), key=lambda function: -function.seconds))


def process_times(
    compiles: Iterable[Compile], times: dict[int, CompileTime], busy: dict[int, tuple[float, float]] | None = None
) -> tuple[ProcessTime, ...]:
    """In the order of the ranks. `busy`: process (its `id`) → seconds of compiling, seconds from first to last event."""
    members: dict[int, tuple[Process, list[Compile]]] = {}
    for compile_ in compiles:
        members.setdefault(id(compile_.process), (compile_.process, []))[1].append(compile_)
    found = []
    for process, own in members.values():
        known = [times[id(c)] for c in own if id(c) in times]
        compiled, span = (busy or {}).get(id(process), (None, None))
        found.append(ProcessTime(
            str(process.ref), process.rank, process.pid, sum(t.seconds for t in known), sum(c.is_compile for c in own),
            together(t.phases for t in known), compiled, span,
        ))  # fmt: skip
    return tuple(found)


def index_process_times(compiles: Iterable[Compile]) -> tuple[ProcessTime, ...]:
    """The same from the index alone: seconds, no phases."""
    found: dict[int, tuple[Process, list[float], int]] = {}
    for compile_ in compiles:
        process, seconds, count = found.get(id(compile_.process)) or (compile_.process, [], 0)
        seconds.append(compile_.tally.seconds)
        found[id(process)] = (process, seconds, count + compile_.is_compile)
    return tuple(
        ProcessTime(str(process.ref), process.rank, process.pid, sum(seconds), count, (), None, None)
        for process, seconds, count in found.values()
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
    for process, own in parts:
        for name, found in own.items():
            if name not in sums:
                sums[name] = NameSum(found.rank)
            if found.longest > sums[name].longest:
                longest[name] = process
            sums[name].add(found)
    rows = []
    for name, found in sums.items():
        rows.append(NameTime(
            name, PRIORITY[found.rank], max(found.own, 0.0) / 1e6, found.total / 1e6, found.work / 1e6, found.count,
            max(found.longest, 0.0) / 1e6, found.ref or None,
            record_page(longest[name], found.record) if name in longest else None,
        ))  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (-row.self_s, row.name)))
