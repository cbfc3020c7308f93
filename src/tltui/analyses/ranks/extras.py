"""Compiles that only some ranks have, and what they took: the others wait for these ranks, or do without.

A recompile that the others do not have counts in full. A function that they do not have counts where the rank took longer than the
others altogether: what goes on after a graph break is such a function, and the others compiled it as a part of the one before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low

from tltui.analyses.ranks.columns import Column, Columns
from tltui.analyses.ranks.pace import MORE_S, Extra, ExtraCompile, is_minority, stands_out


@dataclass(slots=True)
class _Sum:
    """What a rank took for compiles that the others do not have."""

    again_s: float = 0.0
    """For compiles of functions that others compiled too, not as often."""
    new_s: float = 0.0
    compiles: list[ExtraCompile] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.again_s + self.new_s


class Extras:
    """Adds up, compile by compile, what only some of the ranks have."""

    def __init__(self, columns: Columns) -> None:
        self._sums: dict[int, _Sum] = {}
        self._totals = {
            lane.rank: sum(seconds for seconds in lane.times.took if seconds == seconds) for own in columns.classes for lane in own
        }
        self._common: dict[object, int] = {}
        """Code object → how many ranks compiled it."""
        for own in columns.classes:
            for code in {step.code for step in own[0].course.steps}:
                self._common[code] = self._common.get(code, 0) + len(own)

    def add(self, column: Column) -> None:
        """The next compile."""
        ranks = len(self._totals)
        if len(column.lanes) == ranks or not is_minority(len(column.lanes) + column.pending, ranks):
            return
        is_again = not is_minority(self._common[column.key[0]], ranks)
        for number, seconds in enumerate(column.took):
            if seconds != seconds:
                continue
            own = self._sums.setdefault(column.lanes[number].rank, _Sum())
            own.again_s += seconds if is_again else 0.0
            own.new_s += 0.0 if is_again else seconds
            own.compiles.append(ExtraCompile(column.key, column.ref(number), seconds, is_again))

    def found(self) -> tuple[Extra, ...]:
        """Ranks with the same compiles beyond those of the others together, those that took most first."""
        sums = {rank: self._sums.get(rank, _Sum()) for rank in self._totals}
        typical, total = median_low([own.seconds for own in sums.values()]), median_low(self._totals.values())
        groups: dict[object, list[int]] = defaultdict(list)
        for rank, own in sums.items():
            is_longer = stands_out(own.seconds, typical) and self._totals[rank] - total > MORE_S
            if is_longer or stands_out(own.again_s, typical):
                groups[tuple(one.key for one in own.compiles)].append(rank)
        told = [_extra(ranks, sums, typical) for ranks in groups.values()]
        return tuple(sorted(told, key=lambda one: (-one.seconds, one.ranks)))


def _extra(ranks: Sequence[int], sums: Mapping[int, _Sum], typical: float) -> Extra:
    slowest = max(ranks, key=lambda rank: sums[rank].seconds)
    compiles = sorted(sums[slowest].compiles, key=lambda one: -one.seconds)
    return Extra(tuple(sorted(ranks)), tuple(compiles), sums[slowest].seconds, typical)
