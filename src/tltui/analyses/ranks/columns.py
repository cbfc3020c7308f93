"""When the ranks began each compile and what it took, a compile at a time, with clocks put right.

Lanes of one class have the same steps: nothing is looked up per rank and compile but two numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tltui.analyses.hang.clocks import Offset, chosen, off, without_late
from tltui.analyses.ranks.course import Lane, classes, compile_ref
from tltui.analyses.ranks.pace import Key
from tltui.model.status import Status

FEW = 50
"""One rank of as many with another clock leaves the middle one where it is."""


@dataclass(frozen=True, slots=True)
class Column:
    """A compile on all ranks that have it; the lists go together."""

    key: Key
    lanes: list[Lane]
    places: list[int]
    """Of the compile in the course of each."""
    begin: list[float]
    """Microseconds since the epoch, clocks put right; NaN where that is not known."""
    took: list[float]
    """Seconds; NaN where it did not end, or failed."""

    ready: list[float]
    """When the step before it ended on each rank, in microseconds, clocks put right; NaN where there is none or it did not end."""

    pending: int
    """Ranks that do not have it, and may still: their logs go on."""
    going: int
    """Ranks of which the logs go on."""

    def unfinished(self) -> int:
        """Ranks that may still finish it."""
        if not self.going:
            return 0
        running = zip(self.lanes, self.took, strict=True)
        return self.pending + sum(not lane.ended and seconds != seconds for lane, seconds in running)

    def ref(self, number: int) -> str:
        """Its address on a rank."""
        lane = self.lanes[number]
        return compile_ref(lane, lane.course.steps[self.places[number]])


class Columns:
    """All compiles of some lanes."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.classes = classes(lanes)
        self._where: dict[Key, list[tuple[int, int]]] = {}
        """Compile → classes that have it, with its place in their courses."""
        for number, own in enumerate(self.classes):
            for key, place in own[0].course.places.items():
                self._where.setdefault(key, []).append((number, place))
        self._begin = [[lane.times.begin for lane in own] for own in self.classes]
        self._took = [[lane.times.took for lane in own] for own in self.classes]
        self._going = [sum(not lane.ended for lane in own) for own in self.classes]
        """Class → ranks of it whose logs go on."""
        self.offsets: Mapping[int, Offset] = {}
        """Rank → how far its clock is ahead; only of those that are off."""
        self._shifts: dict[int, list[Offset | None]] = {}
        """Class with such ranks → the offset of each of its ranks."""
        self.usual = self._usual()
        """Compile → when the middle one of the ranks began it, in microseconds, in that order; only where two began it, and so many
        that the middle one is among them whenever the others will."""
        self.offsets = self._off()
        for number, own in enumerate(self.classes):
            if any(lane.rank in self.offsets for lane in own):
                self._shifts[number] = [self.offsets.get(lane.rank) for lane in own]
        if len(self.offsets) * FEW > len(lanes):  # else the middle one hardly is another
            self.usual = self._usual()

    def compiles(self) -> list[Key]:
        """All compiles: in the order in which they began, then those of which that is not known."""
        return [*self.usual, *(key for key in self._where if key not in self.usual)]

    def column(self, key: Key) -> Column:
        """A compile."""
        found = Column(key, [], [], [], [], [], self._pending(key), sum(self._going))
        for number, place in self._where[key]:
            own = self.classes[number]
            found.lanes.extend(own)
            found.places.extend([place] * len(own))
            found.begin.extend(self._begins(number, place))
            failed = own[0].course.steps[place].status == Status.ERROR
            found.took.extend([math.nan] * len(own) if failed else [took[place] for took in self._took[number]])
            found.ready.extend(self._ends(number, place - 1) if place else [math.nan] * len(own))
        return found

    def _begins(self, number: int, place: int) -> list[float]:
        begun = [begin[place] for begin in self._begin[number]]
        shifts = self._shifts.get(number)
        if shifts is None:
            return begun
        return [at if offset is None else at - offset.at(at) for at, offset in zip(begun, shifts, strict=True)]

    def _pending(self, key: Key) -> int:
        return sum(self._going) - sum(self._going[number] for number, _ in self._where[key])

    def _ends(self, number: int, place: int) -> list[float]:
        return [at + took[place] * 1e6 for at, took in zip(self._begins(number, place), self._took[number], strict=True)]

    def _usual(self) -> dict[Key, float]:
        found = {}
        for key, where in self._where.items():
            begun = sorted(at for number, place in where for at in self._begins(number, place) if at == at)
            middle = (len(begun) + self._pending(key) - 1) // 2
            if len(begun) > max(1, middle):
                found[key] = begun[middle]
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def _off(self) -> dict[int, Offset]:
        """Clocks that are off."""
        rows: list[tuple[int, list[float], list[float]]] = []
        starts = Counter(len(lane.older) for own in self.classes for lane in own)
        usual_starts = max(starts, key=lambda count: starts[count], default=0)
        for own in self.classes:
            steps = own[0].course.steps
            shared = [(n, self.usual[key]) for n, step in enumerate(steps) if (key := (step.code, step.number)) in self.usual]
            compared = chosen(shared)
            for lane in own:
                again = len(lane.older) - usual_starts
                begin = lane.times.begin
                known = [(begin[n], usual) for n, usual in compared if begin[n] == begin[n]]
                if again < 0 or (again and any(at >= usual for at, usual in known)):
                    continue  # who was started again, and not with the others, began all of it later: its clock can only be behind
                rows.append((lane.rank, [(at - usual) / 1e6 for at, usual in known], [at for at, _ in known]))
        return without_late(off(rows), ((lane.rank, lane.last, lane.written) for own in self.classes for lane in own))
