"""When the processes of a run compiled: a row of cells for each group of ranks with the same compiles.

Long gaps between compiles are one cell each, so that compiles are visible. The phase at each moment comes from timing events.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.model.status import Status, compile_intervals
from tltui.questions.hang.open_phases import begun, last_record
from tltui.questions.ranks.pace import Offset
from tltui.questions.timing.event_sums import add_phases
from tltui.questions.timing.timing_events import (
    AUTOGRAD,
    BACKEND,
    PRIORITY,
    Phase,
    ReadStats,
    group_of,
    is_aot,
    ordered,
    read_groups,
    without_metrics_writing,
)
from tltui.text.frozen import frozen

FINEST = 2000
"""Spans shorter than this fraction of a compile belong to the span before them."""
LARGEST_PART = 4
"""At most one cell of so many is a gap."""

LEAST = 1e-9
"""Part of a cell that is not empty."""
FULL = 8
"""The level of a cell in which all ranks of a row compiled all of the time."""
LONGEST = 366 * 86400.0
"""Seconds of a run beyond which a start time is wrong."""
ERROR, EAGER, UNFINISHED, RUNNING, BREAK, RECOMPILE = "error", "eager", "unfinished", "running", "break", "recompile"
OPEN: dict[Status | None, str] = {Status.UNFINISHED: UNFINISHED, Status.RUNNING: RUNNING}
"""Statuses of compiles that are drawn up to the last record of their process, with their marks."""
MARKS = (ERROR, EAGER, UNFINISHED, RUNNING, BREAK, RECOMPILE)
"""Marks of a cell; the first one in this order is drawn."""
READ = 12_000
"""Records of compiles up to which phases are read from their timing events."""

Interval = tuple[float, float, Compile, bool]
"""Begin and end, in microseconds since the epoch, the compile, and whether it has no end: the last record of its process counts."""
Members = Sequence[tuple[Process, Sequence[Interval]]]
"""The processes of a row and their compiles."""


@frozen
class TimelineRow:
    """Ranks with the same compiles."""

    ref: str
    """The address of the process of the first rank."""
    ranks: tuple[int | None, ...]
    levels: tuple[int, ...]
    """Cell → eighths of its time in which these ranks compiled, on average."""
    recompiles: tuple[bool, ...]
    """Cell → whether most of that time is recompiles."""
    marks: tuple[str, ...]
    """Cell → the worst of `MARKS` whose compile began in it; '' for none."""
    compiles: int
    too_short: int
    """Compiles without a drawn cell."""
    phases: tuple[str, ...] = ()
    """Cell → the phase of most of its compile time; '' where it is unknown. () without a phase in any cell."""
    open_ends: tuple[int, ...] = ()
    """The last cell of each compile without an end."""


@frozen
class Timeline:
    """The compiles of a run over time."""

    scale: TimeScale
    start_at_us: float
    duration_s: float
    rows: tuple[TimelineRow, ...]
    """The row with the most ranks first. If there are more than `detailed` rows, those with the longest compile time are first."""
    first_s: float
    """The time of first compiles."""
    recompile_s: float
    """The time of recompiles."""
    phases: tuple[Phase, ...] = ()
    """Seconds by phase of the compiles whose events were read, without compiles that have no end."""
    compiles: int = 0
    """Compiles with an end."""
    compiles_with_phases: int = 0


class PhaseSpan(NamedTuple):
    """A time during which a compile was in one phase, in microseconds since the epoch."""

    phase: str
    start_us: float
    end_us: float


@frozen
class PhaseSpans:
    """The phases of a compile, forward and backward."""

    spans: tuple[PhaseSpan, ...]
    """In the order of time; () without timing events."""
    phases: tuple[Phase, ...]
    """Seconds by phase."""


@frozen
class Part:
    """A time that is drawn."""

    cell: int
    """Its first cell."""
    cells: int
    start_us: float


@frozen
class TimeScale:
    """The cells of a time. All cells have the same duration, but for gaps."""

    parts: tuple[Part, ...]
    """In the order of time; before each but the first is the cell of a gap."""
    cell_us: float
    """Microseconds of a cell."""
    gaps_s: tuple[float, ...] = ()
    """Seconds of the gaps that are one cell each, in the order of time."""

    @property
    def width(self) -> int:
        """The number of cells."""
        return self.parts[-1].cell + self.parts[-1].cells

    @property
    def gap_cells(self) -> tuple[int, ...]:
        """The cells of the gaps."""
        return tuple(part.cell - 1 for part in self.parts[1:])

    def cell(self, time_us: float) -> float:
        """Return the place of a time, in cells. A time in a gap has the place where the part before it ends."""
        place = max(bisect_right(self.parts, time_us, key=lambda part: part.start_us) - 1, 0)
        part = self.parts[place]
        return part.cell + min((time_us - part.start_us) / self.cell_us, float(part.cells))


def timeline(
    processes: Iterable[Process], width: int, offsets: Mapping[int, Offset], odd_ranks: Collection[int] = (), detailed: int = 4
) -> Timeline | None:
    """Return the timeline in at most `width` cells; None for fewer than two compiles with times.

    `offsets`: rank → the offset of a wrong clock. Ranks of `odd_ranks` share no row with the others. In a long run phases
    are those of one process for each of the first `detailed` rows.
    """
    groups, first_s, recompile_s = _grouped(processes, offsets, odd_ranks)
    everything = [interval for members in groups for _, intervals in members for interval in intervals]
    if len({id(compile_) for _, _, compile_, _ in everything}) < 2:
        return None
    start, end = min(begin for begin, *_ in everything), max(end for _, end, *_ in everything)
    if not 0 < end - start < LONGEST * 1e6:
        return None
    scale = scale_of([(begin, end) for begin, end, *_ in everything], width)
    ordered = _ordered(groups, detailed)
    compiles = {id(compile_): compile_ for _, _, compile_, is_open in everything if not is_open}
    count = len(compiles)
    if sum(len(compile_.records) for compile_ in compiles.values()) > READ:
        firsts = (compile_ for members in ordered[:detailed] for _, _, compile_, is_open in members[0][1] if not is_open)
        compiles = _longest({id(compile_): compile_ for compile_ in firsts})
    sums: list[tuple[Phase, ...]] = []
    with_phases = 0
    rows: list[TimelineRow] = []
    for members in ordered:
        cells = _PhaseCells(scale.width)
        for process, spans in members:
            offset = None if process.rank is None else offsets.get(process.rank)
            for compile_ in {id(one): one for _, _, one, _ in spans if id(one) in compiles}.values():
                timed = phase_spans(compile_)
                with_phases += bool(timed.spans)
                sums.append(timed.phases)
                for phase, begin, ended in timed.spans:
                    shift = 0.0 if offset is None else offset.at(begin)
                    cells.add(phase, scale.cell(begin - shift), scale.cell(ended - shift))
        rows.append(replace(_row(members, scale), phases=cells.phases()))
    return Timeline(
        scale, start, (end - start) / 1e6, tuple(rows), first_s, recompile_s, add_phases(sums), count, with_phases
    )


def _grouped(
    processes: Iterable[Process], offsets: Mapping[int, Offset], odd_ranks: Collection[int]
) -> tuple[list[Members], float, float]:
    """Group processes with the same compiles; return with them the seconds of first compiles and of recompiles."""
    groups: dict[Hashable, list[tuple[Process, list[Interval]]]] = defaultdict(list)
    first_s = recompile_s = 0.0
    for process in processes:
        rank, intervals, key = process.rank, [], []
        offset = None if rank is None else offsets.get(rank)
        for compile_ in process.ordered():
            if not compile_.is_compile:
                continue
            key.append((compile_.frame.code, compile_.status, compile_.is_recompile))
            for start, seconds in compile_intervals(compile_.metrics):
                begin = start if offset is None else start - offset.at(start)
                intervals.append((begin, begin + seconds * 1e6, compile_, False))
                if compile_.is_recompile:
                    recompile_s += seconds
                else:
                    first_s += seconds
            if compile_.status in OPEN and (span := _open_span(compile_)) is not None:
                shift = 0.0 if offset is None else offset.at(span[0])
                intervals.append((span[0] - shift, span[1] - shift, compile_, True))
        if intervals:
            alike = ("process", id(process)) if rank is None else ("ranks", rank in odd_ranks, hash(tuple(key)))
            groups[alike].append((process, intervals))
    return list(groups.values()), first_s, recompile_s


def _open_span(compile_: Compile) -> tuple[float, float] | None:
    """Return when a compile without an end, or its backward, began, and the last record; None where the log has no begin."""
    open_phases, _ = begun(compile_)
    last = last_record(compile_.process) if open_phases else None
    return None if last is None else (open_phases[0].since_at_us, max(last, open_phases[0].since_at_us))


def _ordered(groups: Iterable[Members], detailed: int) -> list[Members]:
    """Order rows by the number of their processes; of many rows, the `detailed` ones with the longest compile time are first."""

    def order(members: Members) -> tuple[int, str]:
        return -len(members), str(members[0][0].ref)

    def length_us(members: Members) -> float:
        return sum(end - begin for _, intervals in members for begin, end, *_ in intervals)

    longest = sorted(groups, key=lambda members: (-len(members), -length_us(members)))
    return sorted(longest[:detailed], key=order) + sorted(longest[detailed:], key=order)


def _longest(compiles: Mapping[int, Compile]) -> dict[int, Compile]:
    """Return the longest compiles, as many as have `READ` records together."""
    chosen, records = {}, 0
    for key, compile_ in sorted(compiles.items(), key=lambda item: -item[1].compile_s):
        records += len(compile_.records)
        if records > READ:
            break
        chosen[key] = compile_
    return chosen


def _row(members: Members, scale: TimeScale) -> TimelineRow:
    """Return the row of some processes."""
    width = scale.width
    covered, recompiled = _Coverage(width), _Coverage(width)
    marks: list[str] = [""] * width
    spans: dict[int, set[tuple[int, int]]] = defaultdict(set)
    open_ends: dict[int, int] = {}
    for _, intervals in members:
        for begin, end, compile_, is_open in intervals:
            lo, hi = scale.cell(begin), scale.cell(end)
            covered.add(lo, hi)
            if compile_.is_recompile:
                recompiled.add(lo, hi)
            place = min(int(lo), width - 1)
            spans[id(compile_)].add((place, min(int(hi), width - 1)))
            if is_open:
                open_ends[id(compile_)] = max(min(math.ceil(hi), width) - 1, place)
            if (mark := _mark(compile_, is_open)) and (not marks[place] or MARKS.index(mark) < MARKS.index(marks[place])):
                marks[place] = mark
    count = len(members)
    shares, recompile_shares = covered.shares(), recompiled.shares()
    levels = tuple(min(round(FULL * share / count), FULL) for share in shares)
    return TimelineRow(
        str(members[0][0].ref), tuple(process.rank for process, _ in members), levels,
        tuple(2 * part > share for part, share in zip(recompile_shares, shares, strict=True)), tuple(marks), len(spans),
        sum(
            key not in open_ends and not any(any(levels[first : last + 1]) for first, last in cells) for key, cells in spans.items()
        ),
        open_ends=tuple(sorted(set(open_ends.values()))),
    )  # fmt: skip


def _mark(compile_: Compile, is_open: bool) -> str:
    if compile_.status in (Status.ERROR, Status.EAGER):
        return ERROR if compile_.status is Status.ERROR else EAGER
    if is_open:
        return OPEN[compile_.status]
    return BREAK if compile_.facts.breaks else RECOMPILE if compile_.is_recompile else ""


class _PhaseCells:
    """The time of each phase in each cell."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._covered: dict[str, _Coverage] = {}

    def add(self, phase: str, lo: float, hi: float) -> None:
        """Add a time in a phase, in cells."""
        if hi <= 0 or lo >= self._width:
            return
        if phase not in self._covered:
            self._covered[phase] = _Coverage(self._width)
        self._covered[phase].add(lo, hi)

    def phases(self) -> tuple[str, ...]:
        """Return the phase with the most time in each cell, '' for none; () without any."""
        shares = {phase: covered.shares() for phase, covered in self._covered.items()}
        if not shares:
            return ()
        most = [max(shares, key=lambda phase: shares[phase][cell]) for cell in range(self._width)]
        return tuple(phase if shares[phase][cell] > LEAST else "" for cell, phase in enumerate(most))


class _Coverage:
    """How much of each cell some intervals cover; the work per interval does not depend on its length."""

    def __init__(self, width: int) -> None:
        self._parts = array("d", bytes(8 * width))
        self._changes = array("d", bytes(8 * (width + 1)))

    def add(self, lo: float, hi: float) -> None:
        """Add an interval, in cells."""
        width = len(self._parts)
        lo, hi = max(lo, 0.0), min(hi, float(width))
        first, last = min(int(lo), width - 1), min(int(hi), width - 1)
        if first == last:
            self._parts[first] += hi - lo
            return
        self._parts[first] += first + 1 - lo
        self._parts[last] += hi - last
        self._changes[first + 1] += 1.0
        self._changes[last] -= 1.0

    def shares(self) -> list[float]:
        """Return the covered part of each cell, summed over the intervals."""
        results, covering = [], 0.0
        for partial, change in zip(self._parts, self._changes, strict=False):
            covering += change
            results.append(covering + partial)
        return results


def scale_of(spans: Iterable[tuple[float, float]], width: int) -> TimeScale:
    """Return the scale for spans of time (begin and end, in microseconds) in at most `width` cells.

    While more than half of the time is empty, the longest gap is one cell. No gap is if the others are still most of the time.
    """
    drawn = _joined(spans)
    start_us, end_us = drawn[0][0], drawn[-1][1]
    gaps = sorted(range(1, len(drawn)), key=lambda place: drawn[place - 1][1] - drawn[place][0])
    remaining_us, filled_us = end_us - start_us, sum(end - begin for begin, end in drawn)
    chosen: list[int] = []
    for place in gaps[: width // LARGEST_PART]:
        if 2 * filled_us >= remaining_us:
            break
        chosen.append(place)
        remaining_us -= drawn[place][0] - drawn[place - 1][1]
    if 2 * remaining_us > end_us - start_us:
        chosen = []
    places = [0, *sorted(chosen), len(drawn)]
    ranges = [(drawn[first][0], drawn[end - 1][1]) for first, end in pairwise(places)]
    cell_us = _cell_us([end - begin for begin, end in ranges], width - len(chosen))
    parts: list[Part] = []
    cell = 0
    for begin, end in ranges:
        cells = _cells(end - begin, cell_us)
        parts.append(Part(cell, cells, begin))
        cell += cells + 1
    gaps_s = tuple((after[0] - before[1]) / 1e6 for before, after in pairwise(ranges))
    return TimeScale(tuple(parts), cell_us, gaps_s)


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join spans that overlap or touch."""
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((begin, end))
    return joined


def _cells(duration_us: float, cell_us: float) -> int:
    return max(math.ceil(duration_us / cell_us - 1e-9), 1)


def _cell_us(durations_us: list[float], width: int) -> float:
    """Return the shortest duration of a cell with which all parts have room, each with whole cells."""
    total_us = max(sum(durations_us), 1.0)
    low, high = total_us / width, total_us
    if len(durations_us) == 1:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        if sum(_cells(duration, middle) for duration in durations_us) <= width:
            high = middle
        else:
            low = middle
    return high


@part
def phase_spans(compile_: Compile, reader: Reader) -> PhaseSpans:
    """Return the phases of a compile over time, and their sums as the page `timing` has them."""
    events = [span for groups in read_groups((compile_,), ReadStats()) for group in groups for span in group.spans]
    has_aot = any(is_aot(name) for *_, name in events)
    spans = list(phases_over_time((group_of(name), start, end) for start, _, end, name in events))
    micros: dict[str, float] = defaultdict(float)
    for span in spans:
        micros[span.phase] += span.end_us - span.start_us
    phases, total_s = ordered(micros, has_aot), compile_.compile_s
    if total_s:
        phases = without_metrics_writing(phases, sum(phase.self_s for phase in phases) - total_s)
    backend = AUTOGRAD if has_aot else BACKEND
    merged = _merged(spans, sum(micros.values()) / FINEST)
    return PhaseSpans(tuple(span._replace(phase=backend) if span.phase == AUTOGRAD else span for span in merged), phases)


def phases_over_time(events: Iterable[tuple[str, float, float]]) -> Iterator[PhaseSpan]:
    """Yield spans of (phase, start, end): each moment counts for the most specific phase that covers it."""
    changes = sorted(
        (at, change, phase) for phase, start, end in events if end > start for at, change in ((start, 1), (end, -1))
    )
    active: Counter[str] = Counter()
    before = 0.0
    for at, change, phase in changes:
        if at > before and (current := next((one for one in PRIORITY if active[one]), "")):
            yield PhaseSpan(current, before, at)
        active[phase] += change
        before = at


def _merged(spans: Sequence[PhaseSpan], finest: float) -> Iterator[PhaseSpan]:
    """Yield spans in which equal neighbors, and those too short to be seen, are one."""
    last: PhaseSpan | None = None
    for span in spans:
        if last is not None and last.end_us == span.start_us and (
            span.phase == last.phase or span.end_us - span.start_us < finest
        ):  # fmt: skip
            last = last._replace(end_us=span.end_us)
        else:
            if last is not None:
                yield last
            last = span
    if last is not None:
        yield last
