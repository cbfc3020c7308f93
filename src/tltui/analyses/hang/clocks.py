"""How far the clock of a process is from that of the others.

Ranks that work together begin a compile at about the same time: who is early waits. So an offset that all compiles of a rank have
in common is its clock's, mostly that of its whole node; one that is gone in the next compile is no clock's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from tltui.analyses.ranks.ranges import ranges

READ = 64
"""Compiles of a rank that are compared."""
LEAST_S = 3.0
"""Seconds that processes may begin one after the other without their clocks being apart."""
SPREAD_S = 1.5
"""Seconds that the offsets of single compiles may be from their median."""
ENOUGH = 2
"""Compiles that must agree: with one, who knows whether it began late?"""


@dataclass(frozen=True, slots=True)
class Clock:
    """Ranks whose clock is another one."""

    ranks: str
    count: int
    seconds: float
    """How far it is ahead of the others'; below 0: behind."""
    compiles: int
    """How many compiles say so, at least."""


def offsets(starts: Mapping[int, Mapping[Hashable, float]]) -> dict[int, tuple[float, int]]:
    """Rank → seconds that its clock is ahead, and how many compiles say so; only of clocks that are off.

    `starts`: rank → compile, whichever its id → when it began, in microseconds.
    """
    begun: dict[Hashable, list[float]] = defaultdict(list)
    for own in starts.values():
        for compile_, at in own.items():
            begun[compile_].append(at)
    usual = {compile_: median_low(times) for compile_, times in begun.items() if len(times) > 1}
    found = {}
    for rank, own in starts.items():
        apart = [(at - usual[compile_]) / 1e6 for compile_, at in list(own.items())[-READ:] if compile_ in usual]
        if len(apart) < ENOUGH:
            continue
        middle = median(apart)
        agree = sum(abs(one - middle) <= SPREAD_S for one in apart)
        if abs(middle) >= LEAST_S and agree >= ENOUGH and agree * 4 >= len(apart) * 3:
            found[rank] = (middle, agree)
    return found


def clocks(found: Mapping[int, tuple[float, int]]) -> tuple[Clock, ...]:
    """The clocks that are off, those of one node together; the most ranks first."""
    groups: list[list[tuple[float, int, int]]] = []
    for offset, compiles, rank in sorted((offset, compiles, rank) for rank, (offset, compiles) in found.items()):
        if groups and offset - groups[-1][0][0] <= SPREAD_S:
            groups[-1].append((offset, compiles, rank))
        else:
            groups.append([(offset, compiles, rank)])
    return tuple(_clock(own) for own in sorted(groups, key=lambda own: (-len(own), own[0][2])))


def _clock(own: Sequence[tuple[float, int, int]]) -> Clock:
    seconds = median(offset for offset, _, _ in own)
    return Clock(ranges(rank for _, _, rank in own), len(own), seconds, min(compiles for _, compiles, _ in own))
