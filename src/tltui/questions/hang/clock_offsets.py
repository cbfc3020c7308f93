"""Clock offsets between the processes of a job."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median, median_low
from typing import NamedTuple, TypeVar

from tltui.model.ref import ranges
from tltui.text.frozen import frozen
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
    """Return a log's last write, in microseconds since the epoch by its file system's clock.

    NaN if unknown: for copies that tltui made, and for logs on other machines.
    """
    source = log.source
    if not isinstance(source, FileBytes) or source.lost_reason or source.path != log.path:
        return math.nan
    try:
        return os.stat(source.path).st_mtime * 1e6
    except OSError:
        return math.nan


def without_late(offsets: Mapping[int, Offset], times: Iterable[tuple[int, float | None, float]]) -> dict[int, Offset]:
    """Remove offsets of ranks that started late and whose clocks are right.

    `times`: (rank, last record by its own clock, last write of its log by the file system's clock), in microseconds. If
    both agree, as for a rank without an offset, the two clocks agree.
    """
    right = {rank for rank, last, written in times if last is not None and abs(written - last) < LEAST_S * 1e6}
    return dict(offsets) if right <= offsets.keys() else {rank: offset for rank, offset in offsets.items() if rank not in right}


class Offset(NamedTuple):
    """The offset of a clock."""

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
        """Return the offset in microseconds at a reading of this clock."""
        return (self.seconds + self.rate * (time - self.middle) / 1e6) * 1e6


@frozen
class Clock:
    """Ranks with the same clock offset."""

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
    """Map ranks to clock offsets, without clocks that are right.

    `starts`: rank → compile (any id) → its begin in microseconds; in the order of begins.
    """
    begun: dict[Hashable, list[float]] = defaultdict(list)
    for begins in starts.values():
        for compile_, at in begins.items():
            begun[compile_].append(at)
    usual = {compile_: median_low(times) for compile_, times in begun.items() if len(times) > 1}
    shared = ((rank, [(key, at) for key, at in begins.items() if key in usual]) for rank, begins in starts.items())
    return off((rank, [(at - usual[key]) / 1e6 for key, at in begins], [at for _, at in begins]) for rank, begins in shared)


def off(ranks: Iterable[tuple[int, Sequence[float], Sequence[float]]]) -> dict[int, Offset]:
    """Map ranks to clock offsets, from the begins on each rank in order.

    Seconds after the lower median of all ranks, and the time by their clocks in microseconds.
    """
    offsets_by_rank = {rank: offset for rank, apart, times in ranks if (offset := offset_of(apart, times)) is not None}
    groups = _together((offset.seconds, rank) for rank, offset in offsets_by_rank.items())
    if not groups:
        return {}
    # the reference is the clock of most ranks; on a tie, of the first rank
    right = median(seconds for seconds, _ in max(groups, key=lambda group: (len(group), -min(rank for _, rank in group))))
    return {
        rank: offset._replace(seconds=offset.seconds - right)
        for rank, offset in offsets_by_rank.items()
        if abs(offset.seconds - right) >= LEAST_S or abs(offset.gained_s) >= LEAST_S
    }


def chosen(many: Sequence[T]) -> Sequence[T]:
    """Return the sample of a rank's compiles for the comparison."""
    return many if len(many) <= FIRST + LAST else [*many[:FIRST], *many[-LAST:]]


def offset_of(apart: Sequence[float], times: Sequence[float]) -> Offset | None:
    """Return the offset of a rank; None if its compiles disagree."""
    if len(apart) < ENOUGH:
        return None
    apart, times = chosen(apart), chosen(times)
    middle = median(apart)
    is_concurrent = abs(middle) >= LEAST_S and abs(apart[0]) <= SPREAD_S  # when they began their first compile: their clocks agreed
    if not is_concurrent and (agreement := _agreed([value - middle for value in apart])) is not None:
        return Offset(middle, *agreement)
    return _growing(apart, [at / 1e6 for at in times])


def _agreed(residuals: Sequence[float]) -> tuple[int, float] | None:
    """Count the residuals near zero, and return their spread."""
    near = [abs(residual) for residual in residuals if abs(residual) <= SPREAD_S]
    if residuals[0] < -SPREAD_S or len(near) < max(ENOUGH, SHARE * len(residuals)):
        return None
    return len(near), max(near)


def _growing(apart: Sequence[float], times: Sequence[float]) -> Offset | None:
    """Return an offset that grows constantly: a clock with drift."""
    third = len(apart) // 3
    if len(apart) < TREND:
        return None
    early, late = median(times[:third]), median(times[-third:])
    rate = (median(apart[-third:]) - median(apart[:third])) / (late - early) if late > early else 0.0
    gained = rate * (times[-1] - times[0])
    if not 0 < abs(rate) <= FASTEST or abs(gained) < LEAST_S:
        return None
    middle = median(times)
    level = [value - rate * (at - middle) for value, at in zip(apart, times, strict=True)]
    seconds = median(level)
    agreement = _agreed([value - seconds for value in level])
    return Offset(seconds, *agreement, rate, middle * 1e6, gained) if agreement is not None else None


def _together(offsets: Iterable[tuple[float, int]]) -> list[list[tuple[float, int]]]:
    """Group ranks (seconds, rank) with the same offset."""
    groups: list[list[tuple[float, int]]] = []
    for seconds, rank in sorted(offsets):
        if groups and seconds - groups[-1][0][0] <= SPREAD_S:
            groups[-1].append((seconds, rank))
        else:
            groups.append([(seconds, rank)])
    return groups


def clocks(offsets_by_rank: Mapping[int, Offset], hosts: Mapping[int, str] | None = None) -> tuple[Clock, ...]:
    """Return wrong clocks grouped by node, the most ranks first.

    `hosts`: rank → its node, if known.
    """
    groups = _together((offset.seconds, rank) for rank, offset in offsets_by_rank.items())
    ordered = sorted(groups, key=lambda group: (-len(group), group[0][1]))
    return tuple(_clock([(rank, offsets_by_rank[rank]) for _, rank in group], hosts or {}) for group in ordered)


def _clock(members: Sequence[tuple[int, Offset]], hosts: Mapping[int, str]) -> Clock:
    seconds = median(offset.seconds for _, offset in members)
    nodes = sorted({hosts.get(rank, "") for rank, _ in members})
    return Clock(
        ranges(rank for rank, _ in members), len(members), seconds, min(offset.compiles for _, offset in members),
        max(abs(offset.seconds - seconds) + offset.sure_s for _, offset in members),
        median(offset.gained_s for _, offset in members),
        tuple(nodes) if "" not in nodes else (),
    )  # fmt: skip
