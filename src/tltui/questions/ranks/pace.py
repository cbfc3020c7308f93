"""Pace of ranks: clock offsets, late starts, slow compiles and waits."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from statistics import median, median_low
from typing import NamedTuple, TypeVar

from tltui.model.ref import Ranks
from tltui.questions.ranks.rank_course import Code, Lane
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
"""Share of a rank's compiles that must agree."""
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
    """Number of compiles that agree with it."""
    sure_s: float = 0.0
    """Largest deviation of one of these compiles from it, in seconds."""
    rate: float = 0.0
    """Seconds that it gains in one; 0 where it stays as far ahead."""
    middle: float = 0.0
    """The time at which it was `seconds` ahead, in microseconds since the epoch; without a rate it always is."""
    gained_s: float = 0.0
    """Seconds gained from the first of its compiles to the last."""

    def at(self, time: float) -> float:
        """Return the offset in microseconds at a reading of this clock."""
        return (self.seconds + self.rate * (time - self.middle) / 1e6) * 1e6


@frozen
class Clock:
    """Ranks with the same clock offset."""

    ranks: Ranks
    count: int
    ahead_s: float
    """How far it is ahead of the others'; below 0: behind."""
    compiles: int
    """How many compiles say so, at least."""
    uncertainty_s: float = 0.0
    """How far a single one of them is from that at most: ±."""
    drift_s: float = 0.0
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
    return offsets_from_begins(
        (rank, [(at - usual[key]) / 1e6 for key, at in begins], [at for _, at in begins]) for rank, begins in shared
    )


def offsets_from_begins(ranks: Iterable[tuple[int, Sequence[float], Sequence[float]]]) -> dict[int, Offset]:
    """Map ranks to clock offsets, from the begins on each rank in order.

    Seconds after the lower median of all ranks, and the time by their clocks in microseconds.
    """
    offsets_by_rank = {rank: offset for rank, apart, times in ranks if (offset := offset_of(apart, times)) is not None}
    groups = _group_by_seconds((offset.seconds, rank) for rank, offset in offsets_by_rank.items())
    if not groups:
        return {}
    # the reference is the clock of most ranks; on a tie, of the first rank
    right = median(seconds for seconds, _ in max(groups, key=lambda group: (len(group), -min(rank for _, rank in group))))
    return {
        rank: offset._replace(seconds=offset.seconds - right)
        for rank, offset in offsets_by_rank.items()
        if abs(offset.seconds - right) >= LEAST_S or abs(offset.gained_s) >= LEAST_S
    }


def sampled(many: Sequence[T]) -> Sequence[T]:
    """Return the sample of a rank's compiles for the comparison."""
    return many if len(many) <= FIRST + LAST else [*many[:FIRST], *many[-LAST:]]


def offset_of(apart: Sequence[float], times: Sequence[float]) -> Offset | None:
    """Return the offset of a rank; None if its compiles disagree."""
    if len(apart) < ENOUGH:
        return None
    apart, times = sampled(apart), sampled(times)
    middle = median(apart)
    is_concurrent = abs(middle) >= LEAST_S and abs(apart[0]) <= SPREAD_S  # at their first compile their clocks agreed
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


def _group_by_seconds(offsets: Iterable[tuple[float, int]]) -> list[list[tuple[float, int]]]:
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
    groups = _group_by_seconds((offset.seconds, rank) for rank, offset in offsets_by_rank.items())
    ordered = sorted(groups, key=lambda group: (-len(group), group[0][1]))
    return tuple(_clock([(rank, offsets_by_rank[rank]) for _, rank in group], hosts or {}) for group in ordered)


def _clock(members: Sequence[tuple[int, Offset]], hosts: Mapping[int, str]) -> Clock:
    seconds = median(offset.seconds for _, offset in members)
    nodes = sorted({hosts.get(rank, "") for rank, _ in members})
    return Clock(
        Ranks(rank for rank, _ in members), len(members), seconds, min(offset.compiles for _, offset in members),
        max(abs(offset.seconds - seconds) + offset.sure_s for _, offset in members),
        median(offset.gained_s for _, offset in members),
        tuple(nodes) if "" not in nodes else (),
    )  # fmt: skip


class Called(NamedTuple):
    """A compile, whichever its id."""

    function: str
    file: str | None
    line: int | None
    compile_number: int
    """Which compile of the function on its rank, from 1."""


class Key(NamedTuple):
    """A compile, whichever its id: code object, and which compile of it. In JSON it is `Called`."""

    code: Code
    number: int

    @property
    def called(self) -> Called:
        """Return the compile as JSON and rows have it."""
        return Called(*self.code, self.number)

    def __json__(self) -> Called:
        """Return the value that JSON has for it."""
        return self.called


Phases = Callable[[Lane, int], Mapping[str, float]]
"""Lane, place of a step in its course → name of a timing event → seconds in it; {} where that is not known. Asked only for
compiles that took much longer than elsewhere, and for a few that did not, to compare with."""

TIMES, MORE_S = 3.0, 1.0
"""Multiple of the median, and seconds above the median, from which a duration is an outlier."""
LATE_S = 3.0
"""Seconds that ranks may begin one after the other without any of them being late."""
CRITERIA = {
    "slow": "a compile or phase took more than 3 times the median and more than 1 s above it, on fewer than half of the ranks",
    "late": "a compile began more than 3 s after the median start, and more than 3 times the ranks' median distance from it",
    "extra": "fewer than half of the ranks have the compile; reported if a rank spends more than 1 s on such compiles, and more "
    "than 3 times the ranks' median",
}
"""Name of an outlier → when a rank, or a compile of a rank, is one."""
RULE = " ".join(f"{name.capitalize()}: {text}." for name, text in CRITERIA.items())
WAITING = "compiler_collective"
"""The timing event in which torch's compiler waits for the other ranks."""


def stands_out(seconds: float, typical_s: float) -> bool:
    """Return whether a duration is so much longer than the median that it is an outlier."""
    return seconds > TIMES * typical_s and seconds - typical_s > MORE_S


def is_minority(count: int, ranks: int) -> bool:
    """Return whether so many of the ranks are a minority: less than half of them, or one of two."""
    return 2 * count < ranks or (count, ranks) == (1, 2)


@frozen
class Late:
    """Ranks that began a compile after the others."""

    compile: Key
    ranks: Ranks
    """As ranges: `0–6, 8–511`."""
    ref: str
    """The address of the compile on the latest of them."""
    median_ref: str
    """The same of a rank that began in the middle of the others."""
    late_s: float
    """After the median of all ranks, the latest of them."""
    late_compiles_after: int
    """Compiles after it that they began as late: they did not catch up. 0: the next one they began with the others."""


@frozen
class Slow:
    """Ranks on which a compile took much longer than on others."""

    compile: Key
    ranks: Ranks
    """As ranges: `0–6, 8–511`."""
    ref: str
    """The address of the compile on the slowest of them."""
    median_ref: str
    """The same of a rank that took the median."""
    duration_s: float
    """What the compile took, on the slowest of them."""
    median_s: float
    """The median of all ranks that finished it."""
    phase: str
    """The innermost timing event that explains it; '' where none does or that is not known."""
    phase_s: float
    """Seconds in it on the slowest of them; of '' 0."""
    phase_median_s: float
    """The median of the ranks that were compared; of '' 0."""


@frozen
class Spread:
    """What a compile, or a phase of it, took on all ranks that finished it."""

    compile: Key
    phase: str
    """'': all of the compile."""
    ranks: int
    slowest_rank: int
    """The rank that took longest; on the page of a rank that rank."""
    slowest_s: float
    median_rank: int
    median_s: float
    fastest_rank: int
    fastest_s: float
    slowest_ref: str
    """The address of the compile on that rank."""
    median_ref: str
    fastest_ref: str


@frozen
class Wait:
    """Ranks that waited for others: they were done earlier, and began their next compile together with them."""

    compile: Key
    """What the last were at when the others waited for them."""
    ref: str
    """Its address on the first of the last."""
    last_ranks: Ranks
    """Ranks that were waited for, as ranges."""
    is_late: bool
    """Whether the last began it after the others; else it took them longer."""
    is_in_collective: bool
    """Whether they waited in it, in a collective of the compiler; else after it."""
    waiting_rank_count: int
    """Ranks that waited for more than a second."""
    median_wait_s: float
    """The median of their waits."""
    total_wait_s: float
    """All of their waits added up."""


@frozen
class ExtraCompile:
    """A compile that less than half of the ranks have."""

    compile: Key
    ref: str
    """Its address."""
    duration_s: float
    is_recompile: bool
    """Whether it is a recompile: most ranks compiled the function, not as often."""
    reason: str = ""
    """Why: `x dim 0: 8 → 5`; '' where the log does not tell, or nobody has looked."""


@frozen
class Extra:
    """Ranks with compiles that the others do not have."""

    ranks: Ranks
    compile_s: float
    """What these took together, on the slowest of the ranks."""
    median_s: float
    """The median of all ranks."""
    compiles: tuple[ExtraCompile, ...]
    """Those of the slowest of them, the one that took longest first."""


@frozen
class Pace:
    """How the ranks of a run kept pace."""

    ranks: int
    clocks: tuple[Clock, ...]
    """Clocks that are off. All later times are corrected by them."""
    late: tuple[Late, ...]
    """In the order in which they began."""
    slow: tuple[Slow, ...]
    """The most seconds above the median first."""
    waits: tuple[Wait, ...]
    """The most rank-seconds first."""
    spreads: tuple[Spread, ...]
    """Of each compile that two ranks or more finished, the widest first."""
    offsets: Mapping[int, Offset] = field(default_factory=dict)
    """Rank → how far its clock is ahead; only of those that are off."""
    extra: tuple[Extra, ...] = ()
    """The most seconds first."""

    @property
    def is_even(self) -> bool:
        """Return whether no rank was late or slow, or had compiles that the others do not have."""
        return not (self.late or self.slow or self.extra)

    def wait_for(self, key: Key, ranks: Sequence[int]) -> Wait | None:
        """Return the wait of other ranks while these ranks were at a compile."""
        return next((wait for wait in self.waits if wait.compile == key and not set(wait.last_ranks).isdisjoint(ranks)), None)
