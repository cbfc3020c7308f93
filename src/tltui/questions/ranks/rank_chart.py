"""The compiles of ranks over time: a row for each group of alike ranks, with clocks corrected."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence

from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.questions.ranks.compile_facets import bare_course, course_of
from tltui.questions.ranks.function_names import function_name
from tltui.questions.ranks.lanes import is_pipelined, read_lanes
from tltui.questions.ranks.pace import Extra, Late, Pace, Slow
from tltui.questions.ranks.pace_analysis import read_pace
from tltui.questions.ranks.rank_course import Code, Lane, compile_ref, groups_of
from tltui.text.frozen import frozen

LONGEST_US = 366 * 86400e6
"""Microseconds of a run beyond which a start time is wrong."""


@frozen
class ChartBar:
    """A compile of a rank."""

    function: int
    """The place of its function in `RankChart.functions`."""
    is_again: bool
    """Whether it is an even compile of the function: neighbors of one function can be told apart."""
    ref: str
    start_s: float
    """From the first compile of all ranks."""
    end_s: float
    is_open: bool
    """Without an end in the log: it took at least so long."""


@frozen
class ChartRow:
    """Ranks with the same compiles, drawn as the one that ended in the middle of them."""

    ranks: Ranks
    ref: str
    """The address of the process that is drawn."""
    bars: tuple[ChartBar, ...]
    spread_s: float
    """By how much others of them ended before or after it, at most."""
    facts: tuple[int, ...]
    """Places in the late, slow and extra entries of the pace, in this order, that are about them."""


@frozen
class ChartFunction:
    """A function that ranks compiled."""

    name: str
    ref: str
    """The address of its first compile that is drawn."""


@frozen
class RankChart:
    """The compiles of ranks over time."""

    duration_s: float
    """From the first compile to the end of the last one that is drawn."""
    rows: tuple[ChartRow, ...]
    """The largest group of each kind of ranks and those that differ in pace first."""
    functions: tuple[ChartFunction, ...]
    """In the order of their first compiles."""


def read_chart(run: Run) -> Generator[None, None, RankChart | None]:
    """Return the chart of the ranks of a run; None for fewer than two ranks."""
    if run.crowd is None and sum(rank.number is not None for rank in run.ranks) < 2:
        return None
    is_alike = not all(is_pipelined(process) for process in run.processes())
    lanes = yield from read_lanes(run, bare_course if is_alike else course_of)
    if len(lanes) < 2:
        return None
    pace = yield from read_pace(lanes, lambda lane, place: {})
    return chart_of(run, lanes, pace)


def chart_of(run: Run, lanes: Sequence[Lane], pace: Pace) -> RankChart | None:
    """Return the chart of ranks; None where no two ranks have a compile with a time."""
    facts: dict[int, list[int]] = defaultdict(list)
    entries: list[Late | Slow | Extra] = [*pace.late, *pace.slow, *pace.extra]
    for number, odd in enumerate(entries):
        for rank in odd.ranks:
            facts[rank].append(number)
    rows: list[tuple[bool, int, list[Lane]]] = []
    for kind, group in enumerate(groups_of(lanes)):
        alike: dict[Hashable, list[Lane]] = defaultdict(list)
        for lane in group:
            if any(at == at for at in lane.times.begin):
                alike[_compiles(lane), _is_cut(lane), tuple(facts[lane.rank])].append(lane)
        ordered = sorted(alike.values(), key=lambda members: (-len(members), members[0].rank))
        rows += [(number > 0 and not facts[members[0].rank], kind, members) for number, members in enumerate(ordered)]
    rows.sort(key=lambda row: (row[0], row[1], -len(row[2]), row[2][0].rank))
    drawn = [_drawn(members, pace) for _, _, members in rows]
    if sum(len(members) for _, _, members in rows) < 2:
        return None
    spans = [span for _, steps, _ in drawn for _, *span in steps]
    start, end = min(begin for begin, _, _ in spans), max(ended for _, ended, _ in spans)
    if not 0 < end - start < LONGEST_US:
        return None
    first: dict[Code, tuple[float, str]] = {}
    for lane, steps, _ in drawn:
        for place, begin, _, _ in steps:
            step = lane.course.steps[place]
            first[step.code] = min((begin, compile_ref(lane, step)), first.get(step.code, (math.inf, "")))
    codes = {code: number for number, code in enumerate(sorted(first, key=lambda code: first[code][0]))}
    charted = tuple(
        ChartRow(
            Ranks(sorted(member.rank for member in members)), f"{lane.ref}:", tuple(_bars(lane, steps, codes, start)), spread_s,
            tuple(facts[lane.rank]),
        )
        for (_, _, members), (lane, steps, spread_s) in zip(rows, drawn, strict=True)
    )  # fmt: skip
    return RankChart((end - start) / 1e6, charted, _functions(run, [(code, first[code][1]) for code in codes]))


def _functions(run: Run, codes: Sequence[tuple[Code, str]]) -> tuple[ChartFunction, ...]:
    """Name functions; those of one name by their places too."""
    names = [function_name(run, code[0], ref) for code, ref in codes]
    several = {name for name, count in Counter(names).items() if count > 1}
    return tuple(
        ChartFunction(f"{name} {os.path.basename(code[1])}:{code[2]}" if name in several and code[1] else name, ref)
        for name, (code, ref) in zip(names, codes, strict=True)
    )


def _compiles(lane: Lane) -> tuple[object, ...]:
    """Return what alike ranks have in common; that some of them still compile is no difference."""
    return tuple((step.code, step.number) for step in lane.course.steps)


def _is_cut(lane: Lane) -> bool:
    """Return whether the log of a rank has ended in a compile."""
    return lane.ended and any(took != took for took in lane.times.took)


Drawn = tuple[int, float, float, bool]
"""Place in the course, begin and end in microseconds since the epoch by corrected clocks, whether the end is unknown."""


def _drawn(members: Sequence[Lane], pace: Pace) -> tuple[Lane, list[Drawn], float]:
    """Return the rank that ended in the middle of alike ones, its compiles, and the seconds between its end and others'."""
    ends = sorted((_end(lane, pace), number) for number, lane in enumerate(members))
    middle, number = ends[(len(ends) - 1) // 2]
    lane = members[number]
    spread_s = max(middle - ends[0][0], ends[-1][0] - middle) / 1e6
    return lane, list(_steps(lane, pace)), spread_s


def _end(lane: Lane, pace: Pace) -> float:
    """Return the end of the last compile of a rank."""
    return max(end for _, _, end, _ in _steps(lane, pace))


def _steps(lane: Lane, pace: Pace) -> Iterator[Drawn]:
    """Yield the compiles of a rank that have a begin."""
    offset = pace.offsets.get(lane.rank)
    for place, (begin, took) in enumerate(zip(lane.times.begin, lane.times.took, strict=True)):
        if begin == begin:
            shift = 0.0 if offset is None else offset.at(begin)
            last = max(lane.last, begin) if lane.last == lane.last else begin
            end = last if took != took else begin + took * 1e6
            yield place, begin - shift, end - shift, took != took


def _bars(lane: Lane, steps: Sequence[Drawn], codes: Mapping[Code, int], start: float) -> Iterator[ChartBar]:
    for place, begin, end, is_open in steps:
        step = lane.course.steps[place]
        ref = compile_ref(lane, step)
        yield ChartBar(codes[step.code], step.number % 2 == 0, ref, (begin - start) / 1e6, (end - start) / 1e6, is_open)
