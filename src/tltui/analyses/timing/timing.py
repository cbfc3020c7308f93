"""Where the time went: by phase, function, compile and rank. From timing events, and from metrics where there are none."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence

from tltui.analyses.records import Reader, metrics_fields
from tltui.analyses.timing.flame import flames_of
from tltui.analyses.timing.kernels import kernels_of
from tltui.analyses.timing.phases import ORDER, PRIORITY, Phase, ordered, timing_of
from tltui.analyses.timing.results import (
    CompileTime,
    FunctionTime,
    Gap,
    NameTime,
    Outlier,
    ProcessTime,
    StillOpen,
    Timing,
)
from tltui.analyses.timing.spans import Group, Seen, read_groups, record_page
from tltui.analyses.timing.sums import NameSum, ProcessSum, Sums, add_names, is_beside
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID, Ref

GAPS_KEPT = 5
LEAST_GAP = 0.1
"""Seconds."""
SLOW, FAST = 1.5, 0.5
"""How many times the median of the other ranks an outlier takes, at least or at most."""
METRICS_AT_ONCE = 8

Phases = dict[str, float]
"""Phase → seconds."""


def timing_steps(ref: str, compiles: Sequence[Compile]) -> Generator[None, None, Timing]:
    """The timing of some compiles. Yields after each block of events that was read."""
    seen, sums = Seen(), Sums()
    single = single_of(compiles)
    groups: list[Group] = []
    for found in read_groups(compiles, seen):
        for group in found:
            sums.add(group)
        groups += [group for group in found if group.owner is single and not is_beside(group)]
        yield
    if single is not None and len(compiles) == 1:
        _add_beside(single, groups, sums)
    known = {key: {p.name: p.seconds for p in ordered(o.micros(), o.aot)} for key, o in sums.owners.items()}
    from_metrics = yield from _without_events(compiles, sums)
    kernels = yield from kernels_of(compiles, sums, single)
    times = compile_times(compiles, sums, known | from_metrics)
    processes = _processes(compiles, sums, times)
    return Timing(
        1, ref, " and ".join(word for word, has in (("events", known), ("metrics", from_metrics)) if has),
        seen.events, seen.unreadable, seen.lone_ends,
        sum(time.seconds for time in times.values()), _together(time.phases for time in times.values()),
        _names([p.names for p in sums.processes.values()]), _names([p.beside for p in sums.processes.values()]),
        tuple(sorted((t for t in times.values() if t.seconds > 0), key=lambda time: -time.seconds)),
        function_times(compiles, times), processes, outliers_of(processes), _open(sums, seen), _gaps(sums), kernels,
        flames_of(groups),
    )  # fmt: skip


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


def _without_events(compiles: Sequence[Compile], sums: Sums) -> Generator[None, None, dict[int, Phases]]:
    """Phases of compiles that have metrics and no events."""
    found: dict[int, Phases] = {}
    for compile_ in compiles:
        if id(compile_) in sums.owners or not compile_.metrics:
            continue
        timing = timing_of([], metrics_fields(compile_, Reader(compile_.process.log)))
        phases: Phases = defaultdict(float)
        for phase in timing.phases + timing.backward:
            phases[phase.name] += phase.seconds
        if phases:
            found[id(compile_)] = phases
        if len(found) % METRICS_AT_ONCE == 0:
            yield
    return found


def compile_times(
    compiles: Iterable[Compile], sums: Sums | None = None, phases: dict[int, Phases] | None = None
) -> dict[int, CompileTime]:
    """Compile (its `id`) → its time; without sums from the index alone."""
    found: dict[int, CompileTime] = {}
    for compile_ in compiles:
        own = sums.owners.get(id(compile_)) if sums is not None else None
        seconds, source = compile_.tally.seconds, "metrics"
        if not seconds and own is not None:
            seconds, source = own.wall / 1e6, "events"
        if not seconds and not compile_.is_compile:
            continue
        name, file, line = compile_.frame.code
        status = compile_.status
        parts = (phases or {}).get(id(compile_), {})
        start = own.start if own is not None else compile_.facts.start_us
        found[id(compile_)] = CompileTime(
            str(compile_.ref), name, file, line, str(status) if status else None, seconds, source, start, _phases(parts)
        )
    return found


def _phases(seconds: Phases) -> tuple[Phase, ...]:
    return tuple(Phase(name, seconds[name]) for name in ORDER if seconds.get(name, 0) > 0)


def _together(parts: Iterable[tuple[Phase, ...]]) -> tuple[Phase, ...]:
    """The sums of phases."""
    seconds: Phases = defaultdict(float)
    for phases in parts:
        for phase in phases:
            seconds[phase.name] += phase.seconds
    return _phases(seconds)


def function_times(compiles: Iterable[Compile], times: dict[int, CompileTime]) -> tuple[FunctionTime, ...]:
    """By code object, the most expensive first. Frames whose code is unknown stay apart."""
    groups: dict[tuple[object, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        time = times.get(id(compile_))
        if time is not None and compile_.is_compile:
            key = (time.function, time.file, time.line) if time.function else (id(compile_.frame),)
            groups[key].append(compile_)
    found = []
    for members in groups.values():
        slowest = max(members, key=lambda c: times[id(c)].seconds)
        first = times[id(slowest)]
        found.append(FunctionTime(
            first.function, first.file, first.line, str(slowest.frame.ref),
            sum(times[id(c)].seconds for c in members), len(members), len({c.process.rank for c in members}),
            first.ref, first.seconds, _together(times[id(c)].phases for c in members),
        ))  # fmt: skip
    return tuple(sorted((f for f in found if f.seconds > 0), key=lambda function: -function.seconds))


def _processes(compiles: Iterable[Compile], sums: Sums, times: dict[int, CompileTime]) -> tuple[ProcessTime, ...]:
    return process_times(compiles, times, {key: _busy(own) for key, own in sums.processes.items() if own.walls})


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
            _together(t.phases for t in known), compiled, span,
        ))  # fmt: skip
    return tuple(found)


def _busy(process: ProcessSum) -> tuple[float, float]:
    total, upto = 0.0, float("-inf")
    walls = sorted(process.walls, key=lambda wall: wall[:2])
    for start, end, _ in walls:
        total += max(end - max(start, upto), 0.0)
        upto = max(upto, end)
    return total / 1e6, (upto - walls[0][0]) / 1e6


def outliers_of(processes: Sequence[ProcessTime]) -> tuple[Outlier, ...]:
    """Ranks that took much longer or shorter than the median, the most different first; of two ranks the slower one,
    compared with the other.
    """
    by_rank: dict[int, list[ProcessTime]] = defaultdict(list)
    for process in processes:
        if process.rank is not None:
            by_rank[process.rank].append(process)
    seconds = {rank: sum(p.seconds for p in own) for rank, own in by_rank.items()}
    phases = {rank: {p.name: p.seconds for p in _together(q.phases for q in own)} for rank, own in by_rank.items()}
    found = []
    for rank, own in seconds.items() if len(seconds) > 1 else ():
        others = [other for other in seconds if other != rank or len(seconds) > 2]
        typical = statistics.median(seconds[other] for other in others)
        if FAST * typical < own < SLOW * typical or abs(own - typical) < LEAST_GAP or (len(others) == 1 and own < typical):
            continue
        apart = {
            name: phases[rank].get(name, 0.0) - statistics.median(phases[other].get(name, 0.0) for other in others)
            for name in ORDER
        }
        name = max(apart, key=lambda name: apart[name] * (1 if own > typical else -1))
        found.append(Outlier(str(Ref(rank)), rank, own, typical, name if apart[name] else None, apart[name]))
    return tuple(sorted(found, key=lambda outlier: -abs(outlier.seconds - outlier.typical_s)))


def _names(parts: Iterable[dict[str, NameSum]]) -> tuple[NameTime, ...]:
    sums: dict[str, NameSum] = {}
    for part in parts:
        for name, found in part.items():
            if name not in sums:
                sums[name] = NameSum(found.rank)
            sums[name].add(found)
    rows = []
    for name, found in sums.items():
        owner = found.owner
        rows.append(NameTime(
            name, PRIORITY[found.rank], max(found.own, 0.0) / 1e6, found.total / 1e6, found.work / 1e6, found.count,
            max(found.longest, 0.0) / 1e6, str(owner.ref) if owner is not None else None,
            record_page(owner.process, found.record) if owner is not None else None,
        ))  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (-row.self_s, row.name)))


def _open(sums: Sums, seen: Seen) -> tuple[StillOpen, ...]:
    """The newest first."""
    found = []
    for own in sums.owners.values():
        if not own.open:
            continue
        compile_, since, (start, record, _, _) = own.owner, own.open[0][0], own.open[-1]
        last = seen.last.get(id(compile_.process), own.last)
        found.append(StillOpen(
            str(compile_.ref), tuple(span[3] for span in own.open), record_page(compile_.process, record), since,
            max(last - since, 0.0) / 1e6, max(last - start, 0.0) / 1e6, last, bool(compile_.metrics),
        ))  # fmt: skip
    return tuple(sorted(found, key=lambda item: -item.since))


def _gaps(sums: Sums) -> tuple[Gap, ...]:
    found = []
    for process in sums.processes.values():
        upto, before = None, None
        for start, end, owner in sorted(process.walls, key=lambda wall: wall[:2]):
            if upto is not None and before is not None and start - upto >= LEAST_GAP * 1e6:
                found.append(Gap((start - upto) / 1e6, upto, str(before.ref), str(owner.ref)))
            if upto is None or end > upto:
                upto, before = end, owner
    return tuple(sorted(found, key=lambda gap: -gap.seconds)[:GAPS_KEPT])
