"""Clock offsets between the processes of a job."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_low
from typing import NamedTuple, TypeVar

from tltui.model.rank_ranges import ranges
from tltui.trace.files import FileBytes
from tltui.trace.log import Log

T = TypeVar("T")
FIRST, LAST = 16, 48
"""Compiles of a rank that are compared: its first and its last ones."""
LEAST_S = 3.0
"""Seconds that processes may begin one after the other without their clocks being apart."""
SPREAD_S = 1.5
"""Seconds that the offsets of single compiles may be from their median."""
ENOUGH = 2
"""Compiles that must agree: with one, who knows whether it began late?"""
SHARE = 0.75
"""Of the compiles of a rank, how many must agree."""
FASTEST = 1e-3
"""Seconds a second by which a clock may go wrong (one that is being put right is slewed by 0.0005); more is falling behind."""
TREND = 6
"""Compiles from which on an offset may be seen to grow."""


def written_us(log: Log) -> float:
    """Return when a log was written last, in microseconds since the epoch by the clock of its file system; NaN where that is not
    known: for copies that tltui made, and for logs that are not here."""
    source = log.source
    if not isinstance(source, FileBytes) or source.gone or source.path != log.path:
        return math.nan
    try:
        return os.stat(source.path).st_mtime * 1e6
    except OSError:
        return math.nan


def without_late(offsets: Mapping[int, Offset], times: Iterable[tuple[int, float | None, float]]) -> dict[int, Offset]:
    """Leave out ranks that began later than the others, and whose clocks are right.

    `times`: (rank, when its last record was written by its own clock, when its log was written last by that of the file system), in
    microseconds. Where both are the same, and they are for a rank without an offset too, the two clocks agree.
    """
    right = {rank for rank, last, written in times if last is not None and abs(written - last) < LEAST_S * 1e6}
    return dict(offsets) if right <= offsets.keys() else {rank: own for rank, own in offsets.items() if rank not in right}


class Offset(NamedTuple):
    """How far a clock is ahead."""

    seconds: float
    """The median of its compiles."""
    compiles: int
    """How many of them say so."""
    sure_s: float = 0.0
    """How far the offset of a single one of these is from that at most."""
    rate: float = 0.0
    """Seconds that it gains in one; 0 where it stays as far ahead."""
    middle: float = 0.0
    """When it was `seconds` ahead, microseconds since the epoch; where it gains none that is always."""
    gained_s: float = 0.0
    """What it gained from the first of its compiles to the last."""

    def at(self, time: float) -> float:
        """Microseconds that it is ahead when it shows this time."""
        return (self.seconds + self.rate * (time - self.middle) / 1e6) * 1e6


@dataclass(frozen=True, slots=True)
class Clock:
    """Ranks whose clock is another one."""

    ranks: str
    count: int
    seconds: float
    """How far it is ahead of the others'; below 0: behind."""
    compiles: int
    """How many compiles say so, at least."""
    sure_s: float = 0.0
    """How far a single one of them is from that at most: ±."""
    gained_s: float = 0.0
    """By how much more it is ahead at its last compile than at its first; 0 where it stays the same."""
    hosts: tuple[str, ...] = ()
    """The nodes that these ranks ran on, as far as known; of logs in a directory for each node the names of these."""


def offsets(starts: Mapping[int, Mapping[Hashable, float]]) -> dict[int, Offset]:
    """Rank → how far its clock is ahead; only of clocks that are off.

    `starts`: rank → compile, whichever its id → when it began, in microseconds; in the order in which they began.
    """
    begun: dict[Hashable, list[float]] = defaultdict(list)
    for own in starts.values():
        for compile_, at in own.items():
            begun[compile_].append(at)
    usual = {compile_: median_low(times) for compile_, times in begun.items() if len(times) > 1}
    shared = ((rank, [(key, at) for key, at in own.items() if key in usual]) for rank, own in starts.items())
    return off((rank, [(at - usual[key]) / 1e6 for key, at in own], [at for _, at in own]) for rank, own in shared)


def off(ranks: Iterable[tuple[int, Sequence[float], Sequence[float]]]) -> dict[int, Offset]:
    """The same of ranks with what they began, in that order: seconds after the lower median of all ranks, and when that was by
    their clocks, in microseconds."""
    found = {rank: offset for rank, apart, times in ranks if (offset := offset_of(apart, times)) is not None}
    groups = _together((offset.seconds, rank) for rank, offset in found.items())
    if not groups:
        return {}
    # of several clocks the right one is that of most ranks, of as many that of the first rank
    right = median(seconds for seconds, _ in max(groups, key=lambda own: (len(own), -min(rank for _, rank in own))))
    return {
        rank: offset._replace(seconds=offset.seconds - right)
        for rank, offset in found.items()
        if abs(offset.seconds - right) >= LEAST_S or abs(offset.gained_s) >= LEAST_S
    }


def chosen(many: Sequence[T]) -> Sequence[T]:
    """Of the compiles of a rank those that are compared."""
    return many if len(many) <= FIRST + LAST else [*many[:FIRST], *many[-LAST:]]


def offset_of(apart: Sequence[float], times: Sequence[float]) -> Offset | None:
    """How far a rank is from the others in all that it began; None where its compiles do not agree."""
    if len(apart) < ENOUGH:
        return None
    apart, times = chosen(apart), chosen(times)
    middle = median(apart)
    together = abs(middle) >= LEAST_S and abs(apart[0]) <= SPREAD_S  # when they began their first compile: their clocks agreed
    if not together and (found := _agreed([one - middle for one in apart])) is not None:
        return Offset(middle, *found)
    return _growing(apart, [at / 1e6 for at in times])


def _agreed(rest: Sequence[float]) -> tuple[int, float] | None:
    """How many of what is left beside an offset are near nothing, and how near."""
    near = [abs(one) for one in rest if abs(one) <= SPREAD_S]
    if rest[0] < -SPREAD_S or len(near) < max(ENOUGH, SHARE * len(rest)):
        return None
    return len(near), max(near)


def _growing(apart: Sequence[float], times: Sequence[float]) -> Offset | None:
    """An offset that grows all the time, as that of a clock does that goes wrong."""
    third = len(apart) // 3
    if len(apart) < TREND:
        return None
    early, late = median(times[:third]), median(times[-third:])
    rate = (median(apart[-third:]) - median(apart[:third])) / (late - early) if late > early else 0.0
    gained = rate * (times[-1] - times[0])
    if not 0 < abs(rate) <= FASTEST or abs(gained) < LEAST_S:
        return None
    middle = median(times)
    level = [one - rate * (at - middle) for one, at in zip(apart, times, strict=True)]
    seconds = median(level)
    found = _agreed([one - seconds for one in level])
    return Offset(seconds, *found, rate, middle * 1e6, gained) if found is not None else None


def _together(offsets: Iterable[tuple[float, int]]) -> list[list[tuple[float, int]]]:
    """Ranks (seconds, rank) with the same offset."""
    groups: list[list[tuple[float, int]]] = []
    for seconds, rank in sorted(offsets):
        if groups and seconds - groups[-1][0][0] <= SPREAD_S:
            groups[-1].append((seconds, rank))
        else:
            groups.append([(seconds, rank)])
    return groups


def clocks(found: Mapping[int, Offset], hosts: Mapping[int, str] | None = None) -> tuple[Clock, ...]:
    """The clocks that are off, those of one node together; the most ranks first. `hosts`: rank → its node, as far as known."""
    groups = _together((offset.seconds, rank) for rank, offset in found.items())
    ordered = sorted(groups, key=lambda own: (-len(own), own[0][1]))
    return tuple(_clock([(rank, found[rank]) for _, rank in own], hosts or {}) for own in ordered)


def _clock(own: Sequence[tuple[int, Offset]], hosts: Mapping[int, str]) -> Clock:
    seconds = median(offset.seconds for _, offset in own)
    nodes = sorted({hosts.get(rank, "") for rank, _ in own})
    return Clock(
        ranges(rank for rank, _ in own), len(own), seconds, min(offset.compiles for _, offset in own),
        max(abs(offset.seconds - seconds) + offset.sure_s for _, offset in own), median(offset.gained_s for _, offset in own),
        tuple(nodes) if "" not in nodes else (),
    )  # fmt: skip
