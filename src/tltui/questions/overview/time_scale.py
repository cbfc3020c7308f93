"""From times to the cells of a row. Long gaps between compiles are one cell each, so that compiles are visible."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from tltui.text.frozen import frozen

LARGEST_PART = 4
"""At most one cell of so many is a gap."""


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
