"""Late, slow and extra compiles of ranks, found compile by compile with clock offsets applied."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import field, replace
from statistics import median_low
from typing import NamedTuple

from tltui.model.id_epochs import INNER, OUTERMOST
from tltui.model.ref import Ranks
from tltui.model.status import Status
from tltui.questions.hang.open_phases import WRAPPERS
from tltui.questions.ranks.pace import (
    LATE_S,
    MORE_S,
    TIMES,
    WAITING,
    Extra,
    ExtraCompile,
    Key,
    Late,
    Offset,
    Pace,
    Phases,
    Slow,
    Spread,
    Wait,
    clocks,
    is_minority,
    offsets_from_begins,
    sampled,
    stands_out,
    without_late,
)
from tltui.questions.ranks.rank_course import Lane, Step, classes, compile_ref, groups_of
from tltui.text.frozen import frozen, mutable
from tltui.text.steps import run_steps

FEW = 50
"""One rank of as many with another clock leaves the middle one where it is."""


@frozen
class Column:
    """A compile on all ranks that have it; the lists go together."""

    key: Key
    lanes: list[Lane]
    places: list[int]
    """The place of the compile in the course of each lane."""
    begin: list[float]
    """Microseconds since the epoch, clocks put right; NaN where that is not known."""
    took: list[float]
    """Seconds; NaN where it did not end, or failed."""

    ready: list[float]
    """End of the step before it on each rank, in microseconds, clocks put right; NaN for no such step, or one without an end."""

    pending: int
    """Ranks that do not have it, and may still: their logs go on."""
    going: int
    """Ranks of which the logs go on."""

    def unfinished(self) -> int:
        """Return the number of ranks that may still finish it."""
        if not self.going:
            return 0
        running = zip(self.lanes, self.took, strict=True)
        return self.pending + sum(not lane.ended and seconds != seconds for lane, seconds in running)

    def ref(self, number: int) -> str:
        """Return its address on a rank."""
        lane = self.lanes[number]
        return compile_ref(lane, lane.course.steps[self.places[number]])


class Columns:
    """All compiles of some lanes."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.classes = classes(lanes)
        self._where: dict[Key, list[tuple[int, int]]] = {}
        """Compile → classes that have it, with its place in their courses."""
        for number, class_ in enumerate(self.classes):
            for key, place in class_[0].course.places.items():
                self._where.setdefault(Key(*key), []).append((number, place))
        self._begin = [[lane.times.begin for lane in class_] for class_ in self.classes]
        self._took = [[lane.times.took for lane in class_] for class_ in self.classes]
        self._going = [sum(not lane.ended for lane in class_) for class_ in self.classes]
        """Class → ranks of it whose logs go on."""
        self.offsets: Mapping[int, Offset] = {}
        """Rank → how far its clock is ahead; only of those that are off."""
        self._shifts: dict[int, list[Offset | None]] = {}
        """Class with such ranks → the offset of each of its ranks."""
        self.usual = self._usual()
        """Compile → when the middle one of the ranks began it, in microseconds, in that order; only where two began it, and so many
        that the middle one is among them whenever the others will."""
        self.offsets = self._off()
        for number, class_ in enumerate(self.classes):
            if any(lane.rank in self.offsets for lane in class_):
                self._shifts[number] = [self.offsets.get(lane.rank) for lane in class_]
        if len(self.offsets) * FEW > len(lanes):  # with fewer wrong clocks the median hardly changes
            self.usual = self._usual()

    def compiles(self) -> list[Key]:
        """Yield all compiles by start time, then those without one."""
        return [*self.usual, *(key for key in self._where if key not in self.usual)]

    def column(self, key: Key) -> Column:
        """Return the column of a compile."""
        column = Column(Key(*key), [], [], [], [], [], self._pending(key), sum(self._going))
        for number, place in self._where[key]:
            class_ = self.classes[number]
            column.lanes.extend(class_)
            column.places.extend([place] * len(class_))
            column.begin.extend(self._begins(number, place))
            failed = class_[0].course.steps[place].status == Status.ERROR
            column.took.extend([math.nan] * len(class_) if failed else [took[place] for took in self._took[number]])
            column.ready.extend(self._ends(number, place - 1) if place else [math.nan] * len(class_))
        return column

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
        starts = {}
        for key, where in self._where.items():
            begun = sorted(at for number, place in where for at in self._begins(number, place) if at == at)
            middle = (len(begun) + self._pending(key) - 1) // 2
            if len(begun) > max(1, middle):
                starts[key] = begun[middle]
        return dict(sorted(starts.items(), key=lambda item: item[1]))

    def _off(self) -> dict[int, Offset]:
        """Return the offsets of the clocks that are off."""
        rows: list[tuple[int, list[float], list[float]]] = []
        starts = Counter(len(lane.older) for class_ in self.classes for lane in class_)
        usual_starts = max(starts, key=lambda count: starts[count], default=0)
        for class_ in self.classes:
            steps = class_[0].course.steps
            shared = [(n, self.usual[key]) for n, step in enumerate(steps) if (key := Key(step.code, step.number)) in self.usual]
            compared = sampled(shared)
            for lane in class_:
                again = len(lane.older) - usual_starts
                begin = lane.times.begin
                pairs = [(begin[n], usual) for n, usual in compared if begin[n] == begin[n]]
                if again < 0 or (again and any(at >= usual for at, usual in pairs)):
                    continue  # a rank that was restarted alone began everything later
                rows.append((lane.rank, [(at - usual) / 1e6 for at, usual in pairs], [at for at, _ in pairs]))
        times = ((lane.rank, lane.last, lane.written) for class_ in self.classes for lane in class_)
        return without_late(offsets_from_begins(rows), times)


@mutable
class _Sum:
    """Seconds of a rank in compiles that the other ranks lack."""

    again_s: float = 0.0
    """For compiles of functions that others compiled too, not as often."""
    new_s: float = 0.0
    compiles: list[ExtraCompile] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.again_s + self.new_s


class Extras:
    """Running sums of compiles on a minority of ranks."""

    def __init__(self, columns: Columns) -> None:
        self._sums: dict[int, _Sum] = {}
        self._totals = {
            lane.rank: sum(seconds for seconds in lane.times.took if seconds == seconds)
            for class_ in columns.classes
            for lane in class_
        }
        self._common: dict[object, int] = {}
        """Code object → how many ranks compiled it."""
        for class_ in columns.classes:
            for code in {step.code for step in class_[0].course.steps}:
                self._common[code] = self._common.get(code, 0) + len(class_)

    def add(self, column: Column) -> None:
        """Process the next compile."""
        ranks = len(self._totals)
        if len(column.lanes) == ranks or not is_minority(len(column.lanes) + column.pending, ranks):
            return
        is_again = not is_minority(self._common[column.key[0]], ranks)
        for number, seconds in enumerate(column.took):
            if seconds != seconds:
                continue
            sum_ = self._sums.setdefault(column.lanes[number].rank, _Sum())
            sum_.again_s += seconds if is_again else 0.0
            sum_.new_s += 0.0 if is_again else seconds
            sum_.compiles.append(ExtraCompile(column.key, column.ref(number), seconds, is_again))

    def extras(self) -> tuple[Extra, ...]:
        """Return ranks with extra compiles, grouped by equal compiles, the slowest group first."""
        sums = {rank: self._sums.get(rank, _Sum()) for rank in self._totals}
        typical, total = median_low([sum_.seconds for sum_ in sums.values()]), median_low(self._totals.values())
        groups: dict[object, list[int]] = defaultdict(list)
        for rank, sum_ in sums.items():
            is_longer = stands_out(sum_.seconds, typical) and self._totals[rank] - total > MORE_S
            if is_longer or stands_out(sum_.again_s, typical):
                groups[tuple(one.compile for one in sum_.compiles)].append(rank)
        extras = [_extra(ranks, sums, typical) for ranks in groups.values()]
        return tuple(sorted(extras, key=lambda one: (-one.compile_s, one.ranks)))


def _extra(ranks: Sequence[int], sums: Mapping[int, _Sum], typical: float) -> Extra:
    slowest = max(ranks, key=lambda rank: sums[rank].seconds)
    compiles = sorted(sums[slowest].compiles, key=lambda one: -one.duration_s)
    return Extra(Ranks(sorted(ranks)), sums[slowest].seconds, typical, tuple(compiles))


ALIKE_S, ALIKE = 1.5, 0.2
"""Seconds, and fraction of the longest delay, within which late ranks are merged."""


class Lateness:
    """Late ranks, accumulated over compiles by start time."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._groups: list[tuple[Column, list[int], list[float]]] = []
        self._since: dict[int, tuple[int, int]] = {}
        """Rank → the group that it was late in, and the place of the last compile that it was as late for."""
        self._stays: dict[int, int] = {}
        """Group → compiles after it."""

    def add(self, column: Column) -> None:
        """Process the next compile."""
        typical = self._columns.usual[column.key]
        apart = [(at - typical) / 1e6 for at in column.begin]
        numbers = [number for number, seconds in enumerate(apart) if seconds == seconds]
        if max(apart[number] for number in numbers) <= LATE_S:
            return
        ranks = len(numbers) + column.pending
        bound = max(LATE_S, TIMES * sorted(abs(apart[number]) for number in numbers)[(ranks - 1) // 2])
        late = [number for number in numbers if apart[number] > bound]
        if not is_minority(len(late) + column.pending, ranks):  # pending ranks will begin it even later
            return
        fresh = self._fresh(column, late, apart)
        for members in _alike(fresh, apart):
            group = len(self._groups)
            self._groups.append((column, members, apart))
            for number in members:
                self._since[column.lanes[number].rank] = group, column.places[number]

    def _fresh(self, column: Column, late: Sequence[int], apart: Sequence[float]) -> list[int]:
        """Return the ranks that became late here, not as a consequence of earlier compiles."""
        gaps = [begin - ready for begin, ready in zip(column.begin, column.ready, strict=True)]
        usual = median_low([one for one in gaps if one == one] or [0.0])
        fresh = []
        for number in late:
            lane, place = column.lanes[number], column.places[number]
            group, last = self._since.get(lane.rank, (-1, -1))
            more = (gaps[number] - usual) / 1e6
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
        column, members, _ = self._groups[group]
        return next(column.places[number] for number in members if column.lanes[number].rank == rank)

    def _is_moved(self, column: Column, number: int) -> bool:
        """Return whether a rank compiles in another order.

        It compiled something before it that the others compile after it; it is not late.
        """
        usual = self._columns.usual
        before = column.lanes[number].course.steps[: column.places[number]]
        return any(usual.get(_key(step), 0.0) > usual[column.key] for step in before)

    def late_ranks(self) -> tuple[Late, ...]:
        """Return the late ranks of each compile."""
        late = []
        for group, (column, members, apart) in enumerate(self._groups):
            latest = max(members, key=apart.__getitem__)
            ranks = Ranks(sorted(column.lanes[number].rank for number in members))
            middle = min((number for number, seconds in enumerate(apart) if seconds == seconds), key=lambda n: abs(apart[n]))
            stays = self._stays.get(group, 0)
            late.append(Late(column.key, ranks, column.ref(latest), column.ref(middle), apart[latest], stays))
        return tuple(late)


def _key(step: Step) -> Key:
    return Key(step.code, step.number)


def _alike(numbers: Sequence[int], seconds: Sequence[float]) -> list[list[int]]:
    """Group numbers with about the same seconds, the most seconds first."""
    groups: list[list[int]] = []
    for number in sorted(numbers, key=lambda number: -seconds[number]):
        if groups and seconds[groups[-1][0]] - seconds[number] <= max(ALIKE_S, ALIKE * seconds[groups[-1][0]]):
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def wait_before(column: Column) -> Wait | None:
    """Return the ranks that waited before a compile for slower ranks in the previous one; None if none did."""
    ready, begin = column.ready, column.begin
    when = [at for at in ready if at == at]
    if len(when) < 2 or max(when) - min(when) <= MORE_S * 1e6:
        return None
    numbers = [number for number, at in enumerate(ready) if at == at and begin[number] == begin[number]]
    if not numbers:
        return None
    typical = median_low([ready[number] for number in numbers])
    most = max(ready[number] for number in numbers) - typical
    if most <= MORE_S * 1e6:
        return None
    last = [number for number in numbers if ready[number] - typical > most / 2]
    among = set(last)
    others = [number for number in numbers if number not in among]
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
    ranks = Ranks(sorted(column.lanes[number].rank for number in last))
    return Wait(_key(step), compile_ref(lane, step), ranks, False, False, len(waited), median_low(waited), sum(waited))


def wait_inside(column: Column, late: Late, phases: Phases) -> Wait | None:
    """Return the ranks that waited within a compile for ranks that began it late."""
    among = set(late.ranks)
    numbers = [number for number, seconds in enumerate(column.took) if seconds == seconds]
    others = [number for number in numbers if column.lanes[number].rank not in among]
    last = [column.took[number] for number in numbers if column.lanes[number].rank in among]
    if not others or not last:
        return None
    middle = sorted(others, key=column.took.__getitem__)[(len(others) - 1) // 2]
    if column.took[middle] - min(last) < late.late_s / 2:
        return None
    if phases(column.lanes[middle], column.places[middle]).get(WAITING, 0.0) < late.late_s / 2:
        return None
    waited = [min(column.took[number] - min(last), late.late_s) for number in others]
    waited = [seconds for seconds in waited if seconds > MORE_S]
    return Wait(late.compile, late.ref, late.ranks, True, True, len(waited), median_low(waited), sum(waited))


SIGMAS = 4
"""Deviation from the median, in usual deviations, from which the phases of a compile are read."""
QUARTILE = 0.674
"""Quartile of a normal distribution in standard deviations."""
COMPARED = 9
"""Ranks that took the median whose phases are read."""
SLOWEST_READ = 64
"""Ranks of one compile whose phases are read, the slowest."""
EXPLAINS = 0.9
"""Fraction of the delay of the outermost phase that an inner phase must account for."""
PIECE = 16
"""Ranks whose phases are read without a pause."""
ALL_OF_COMPILE = {*OUTERMOST, *INNER}
"""Phases that are all of a compile: that they took long explains nothing."""
HOLDS_WAIT = WRAPPERS | {"bytecode_tracing"}
"""Phases that hold the waiting for other ranks."""


def spread_of(column: Column) -> Spread | None:
    """Return the spread of a compile's durations over ranks; None if fewer than two ranks finished it."""
    took = column.took
    finished = sorted(seconds for seconds in took if seconds == seconds)
    if len(finished) < 2:
        return None
    return _spread(column, "", took, finished)


def _spread(column: Column, phase: str, took: Sequence[float], finished: Sequence[float]) -> Spread:
    """`finished`: in order."""
    slowest, median, fastest = (took.index(finished[place]) for place in (-1, (len(finished) - 1) // 2, 0))
    ranks = [column.lanes[number].rank for number in (slowest, median, fastest)]
    return Spread(
        column.key, phase, len(finished), ranks[0], took[slowest], ranks[1], took[median], ranks[2], took[fastest],
        column.ref(slowest), column.ref(median), column.ref(fastest),
    )  # fmt: skip


def spread_with(column: Column, spread: Spread, rank: int) -> Spread | None:
    """Return the spread with a given rank in place of the slowest; None if it did not finish the compile."""
    for number, lane in enumerate(column.lanes):
        if lane.rank == rank and column.took[number] == column.took[number]:
            return replace(spread, slowest_rank=rank, slowest_s=column.took[number], slowest_ref=column.ref(number))
    return None


def read_phase_spreads(column: Column, phases: Phases) -> Generator[None, None, list[Spread]]:
    """Return the spread of each phase over the ranks that finished a compile, the widest first.

    Reads the phases of all of them; yields now and then.
    """
    durations: dict[str, list[float]] = {}
    unknown = [math.nan] * len(column.lanes)
    for number, seconds in enumerate(column.took):
        if seconds == seconds:
            for name, phase_s in phases(column.lanes[number], column.places[number]).items():
                durations.setdefault(name, unknown[:])[number] = phase_s
            if number % PIECE == 0:
                yield
    finished = {name: sorted(phase_s for phase_s in took if phase_s == phase_s) for name, took in durations.items()}
    spreads = [_spread(column, name, took, finished[name]) for name, took in durations.items() if len(finished[name]) > 1]
    return sorted(spreads, key=lambda spread: (spread.median_s - spread.slowest_s, spread.phase))


def slow_in(column: Column, spread: Spread, phases: Phases) -> list[Slow]:
    """Return the ranks on which a compile was slow, grouped by phase."""
    took, pending = column.took, column.unfinished()
    if spread.slowest_s - spread.fastest_s <= MORE_S:
        return []
    finished = sorted((number for number, seconds in enumerate(took) if seconds == seconds), key=took.__getitem__)
    middle = (len(finished) + pending - 1) // 2
    if middle >= len(finished):
        return []
    typical, typical_ref = took[finished[middle]], column.ref(finished[middle])
    usual = (took[finished[int(0.75 * (len(finished) - 1))]] - typical) / QUARTILE
    bound = typical + max(MORE_S, SIGMAS * usual)
    slow = [number for number in reversed(finished) if took[number] > bound or stands_out(took[number], typical)]
    if not is_minority(len(slow) + pending, len(finished) + pending):  # pending ranks will take even longer
        return []
    others = finished[: len(finished) - len(slow)]
    first = max((len(others) - COMPARED) // 2, 0)
    compared = [phases(column.lanes[number], column.places[number]) for number in others[first : first + COMPARED]]
    groups: dict[str, list[int]] = defaultdict(list)
    explained: dict[int, _Explained] = {}
    for number in slow[:SLOWEST_READ]:
        durations = phases(column.lanes[number], column.places[number])
        explained[number] = explained_by(durations, compared)
        phase = explained[number].phase
        waited = durations.get(WAITING, 0.0) - _typical(WAITING, compared)
        if phase or stands_out(took[number] - max(waited, 0.0), typical):
            groups[phase].append(number)
    groups[""] += [number for number in slow[SLOWEST_READ:] if stands_out(took[number], typical)]
    return [
        Slow(
            column.key, Ranks(sorted(column.lanes[number].rank for number in members)), column.ref(members[0]), typical_ref,
            took[members[0]], typical, *explained.get(members[0], UNEXPLAINED),
        )
        for phase, members in groups.items()
        if members
    ]  # fmt: skip


class _Explained(NamedTuple):
    """Phase that explains a slow compile."""

    phase: str
    seconds: float
    typical_s: float


UNEXPLAINED = _Explained("", 0.0, 0.0)


def _typical(name: str, compared: Sequence[Mapping[str, float]]) -> float:
    return median_low([other.get(name, 0.0) for other in compared]) if compared else 0.0


def explained_by(durations: Mapping[str, float], compared: Sequence[Mapping[str, float]]) -> _Explained:
    """Find the innermost phase that explains why something was slow, seconds in it, and those of others; '' for none."""
    waited = max(durations.get(WAITING, 0.0) - _typical(WAITING, compared), 0.0)
    candidates = []
    for name, seconds in durations.items():
        typical = _typical(name, compared)
        if name in HOLDS_WAIT:
            seconds -= waited
        if name != WAITING and stands_out(seconds, typical):
            candidates.append((seconds, typical, name))
    most = max((seconds - typical for seconds, typical, _ in candidates), default=0.0)
    # an outer phase takes longer than the phases within it
    inner = min((one for one in candidates if one[0] - one[1] >= EXPLAINS * most), default=None)
    if inner is None or inner[2] in ALL_OF_COMPILE or inner[2].startswith("compile_attempt_"):
        return UNEXPLAINED
    return _Explained(inner[2], inner[0], inner[1])


def indexed_phases(lane: Lane, place: int) -> Mapping[str, float]:
    """Return the phases of a lane at a step, in seconds."""
    durations = {name: column[place] for name, column in lane.times.phases.items()}
    return {name: seconds for name, seconds in durations.items() if seconds == seconds}


def pace_of(lanes: Sequence[Lane], phases: Phases = indexed_phases) -> Pace:
    """Return the pace of ranks."""
    return run_steps(read_pace(lanes, phases))


def read_pace(lanes: Sequence[Lane], phases: Phases = indexed_phases) -> Generator[None, None, Pace]:
    """Return the pace of all ranks; yields after each compile. Pipeline stages are compared separately."""
    groups = groups_of(lanes)
    if len(groups) < 2:
        return (yield from _read_alike(lanes, phases))
    paces = []
    for group in groups:
        pace = yield from _read_alike(group, phases)
        # a stage of a pipeline begins when the one before is done, and stages that compile the same are one group
        paces.append(replace(pace, late=(), waits=()) if group[0].is_pipelined else pace)
    return Pace(
        len(lanes), tuple(clock for pace in paces for clock in pace.clocks), tuple(one for pace in paces for one in pace.late),
        tuple(sorted((one for pace in paces for one in pace.slow), key=lambda one: one.median_s - one.duration_s)),
        tuple(sorted((one for pace in paces for one in pace.waits), key=lambda wait: -wait.total_wait_s)),
        tuple(sorted((one for pace in paces for one in pace.spreads), key=lambda one: one.median_s - one.slowest_s)),
        {rank: offset for pace in paces for rank, offset in pace.offsets.items()},
        tuple(sorted((one for pace in paces for one in pace.extra), key=lambda one: -one.compile_s)),
    )  # fmt: skip


def _read_alike(lanes: Sequence[Lane], phases: Phases) -> Generator[None, None, Pace]:
    """Return the pace of ranks that do the same work; yields after each compile."""
    columns = Columns(lanes)
    lateness, extras = Lateness(columns), Extras(columns)
    slow: list[Slow] = []
    spreads: list[Spread] = []
    waits: list[Wait] = []
    yield
    for key in columns.compiles():
        column = columns.column(key)
        extras.add(column)
        if key in columns.usual:
            lateness.add(column)
            if (wait := wait_before(column)) is not None:
                waits.append(wait)
        if (spread := spread_of(column)) is not None:
            spreads.append(spread)
            slow += slow_in(column, spread, phases)
        yield
    late = lateness.late_ranks()
    waits = [replace(wait, is_late=_is_late(wait, late)) for wait in waits]
    waits += [wait for one in late if (wait := wait_inside(columns.column(one.compile), one, phases)) is not None]
    hosts = {lane.rank: lane.host for lane in lanes}
    return Pace(
        len(lanes), clocks(columns.offsets, hosts if len(set(hosts.values())) > 1 else {}), late,
        tuple(sorted(slow, key=lambda one: one.median_s - one.duration_s)),
        tuple(sorted(waits, key=lambda wait: -wait.total_wait_s)),
        tuple(sorted(spreads, key=lambda one: one.median_s - one.slowest_s)), columns.offsets, extras.extras(),
    )  # fmt: skip


def _is_late(wait: Wait, late: Sequence[Late]) -> bool:
    return any(one.compile == wait.compile and not set(one.ranks).isdisjoint(wait.last_ranks) for one in late)
