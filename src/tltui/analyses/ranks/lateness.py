"""Ranks that began a compile after the others, and who waited for whom.

A rank that begins late because what it did before took longer is not late but slow. That the others waited is said where they
were done before and began their next compile together with the last, so that what they did in between took longer than there.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from tltui.analyses.ranks.columns import Column, Columns
from tltui.analyses.ranks.course import Step, compile_ref
from tltui.analyses.ranks.pace import LATE_S, MORE_S, TIMES, WAITING, Key, Late, Phases, Wait, is_minority

ALIKE_S, ALIKE = 1.5, 0.2
"""Seconds, and part of the longest, by which ranks may be late for different lengths and still are told as one."""


class Lateness:
    """Who was late, compile by compile in the order in which they began."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._groups: list[tuple[Column, list[int], list[float]]] = []
        self._since: dict[int, tuple[int, int]] = {}
        """Rank → the group that it was late in, and the place of the last compile that it was as late for."""
        self._stays: dict[int, int] = {}
        """Group → compiles after it."""

    def add(self, column: Column) -> None:
        """The next compile."""
        typical = self._columns.usual[column.key]
        apart = [(at - typical) / 1e6 for at in column.begin]
        known = [number for number, seconds in enumerate(apart) if seconds == seconds]
        if max(apart[number] for number in known) <= LATE_S:
            return
        ranks = len(known) + column.pending
        bound = max(LATE_S, TIMES * sorted(abs(apart[number]) for number in known)[(ranks - 1) // 2])
        late = [number for number in known if apart[number] > bound]
        if not is_minority(len(late) + column.pending, ranks):  # those to come begin it later still
            return
        fresh = self._fresh(column, late, apart)
        for own in _alike(fresh, apart):
            group = len(self._groups)
            self._groups.append((column, own, apart))
            for number in own:
                self._since[column.lanes[number].rank] = group, column.places[number]

    def _fresh(self, column: Column, late: Sequence[int], apart: Sequence[float]) -> list[int]:
        """Those that were not late before, and are not because of what they did before."""
        between = [begin - ready for begin, ready in zip(column.begin, column.ready, strict=True)]
        usual = median_low([one for one in between if one == one] or [0.0])
        fresh = []
        for number in late:
            lane, place = column.lanes[number], column.places[number]
            group, last = self._since.get(lane.rank, (-1, -1))
            more = (between[number] - usual) / 1e6
            if more != more:
                more = apart[number]
            if min(more, apart[number]) > LATE_S:
                if not self._is_moved(column, number):
                    fresh.append(number)
            elif group >= 0 and not any(_key(step) in self._columns.usual for step in lane.course.steps[last + 1 : place]):
                self._since[lane.rank] = group, place
                self._stays[group] = max(self._stays.get(group, 0), place - self._first(group, lane.rank))
        return fresh

    def _first(self, group: int, rank: int) -> int:
        column, own, _ = self._groups[group]
        return next(column.places[number] for number in own if column.lanes[number].rank == rank)

    def _is_moved(self, column: Column, number: int) -> bool:
        """Whether the rank compiled something before it that the others compile after it: it has another order, and is not late."""
        usual = self._columns.usual
        before = column.lanes[number].course.steps[: column.places[number]]
        return any(usual.get(_key(step), 0.0) > usual[column.key] for step in before)

    def found(self) -> tuple[Late, ...]:
        """All that were late."""
        told = []
        for group, (column, own, apart) in enumerate(self._groups):
            latest = max(own, key=apart.__getitem__)
            ranks = tuple(sorted(column.lanes[number].rank for number in own))
            middle = min((number for number, seconds in enumerate(apart) if seconds == seconds), key=lambda n: abs(apart[n]))
            stays = self._stays.get(group, 0)
            told.append(Late(column.key, ranks, column.ref(latest), column.ref(middle), apart[latest], stays))
        return tuple(told)


def _key(step: Step) -> Key:
    return step.code, step.number


def _alike(numbers: Sequence[int], seconds: Sequence[float]) -> list[list[int]]:
    """Numbers with about the same seconds together."""
    groups: list[list[int]] = []
    for number in sorted(numbers, key=lambda number: -seconds[number]):
        if groups and seconds[groups[-1][0]] - seconds[number] <= max(ALIKE_S, ALIKE * seconds[groups[-1][0]]):
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def wait_before(column: Column) -> Wait | None:
    """Who waited before a compile for ranks that were not done with the one before; None where nobody did."""
    ready, begin = column.ready, column.begin
    when = [at for at in ready if at == at]
    if len(when) < 2 or max(when) - min(when) <= MORE_S * 1e6:
        return None
    known = [number for number, at in enumerate(ready) if at == at and begin[number] == begin[number]]
    if not known:
        return None
    typical = median_low([ready[number] for number in known])
    most = max(ready[number] for number in known) - typical
    if most <= MORE_S * 1e6:
        return None
    last = [number for number in known if ready[number] - typical > most / 2]
    among = set(last)
    others = [number for number in known if number not in among]
    least = min(begin[number] - ready[number] for number in last)
    latest, since = max(ready[number] for number in last), min(begin[number] for number in last) - MORE_S * 1e6
    waits = [
        min(begin[number] - ready[number] - least, latest - ready[number]) / 1e6 for number in others if begin[number] >= since
    ]
    waited = [seconds for seconds in waits if seconds > MORE_S]
    if 2 * len(waited) <= len(others):
        return None
    first = min(last, key=lambda number: column.lanes[number].rank)
    lane = column.lanes[first]
    step = lane.course.steps[column.places[first] - 1]
    ranks = tuple(sorted(column.lanes[number].rank for number in last))
    return Wait(_key(step), compile_ref(lane, step), ranks, False, False, len(waited), median_low(waited), sum(waited))


def wait_inside(column: Column, late: Late, phases: Phases) -> Wait | None:
    """Who waited for ranks that began a compile late, in the compile itself."""
    among = set(late.ranks)
    known = [number for number, seconds in enumerate(column.took) if seconds == seconds]
    others = [number for number in known if column.lanes[number].rank not in among]
    last = [column.took[number] for number in known if column.lanes[number].rank in among]
    if not others or not last:
        return None
    middle = sorted(others, key=column.took.__getitem__)[(len(others) - 1) // 2]
    if column.took[middle] - min(last) < late.seconds / 2:
        return None
    if phases(column.lanes[middle], column.places[middle]).get(WAITING, 0.0) < late.seconds / 2:
        return None
    waited = [min(column.took[number] - min(last), late.seconds) for number in others]
    waited = [seconds for seconds in waited if seconds > MORE_S]
    return Wait(late.key, late.ref, late.ranks, True, True, len(waited), median_low(waited), sum(waited))
