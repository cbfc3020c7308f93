"""Pace of ranks: clock offsets, late starts, slow compiles and waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.questions.hang.clock_offsets import Clock, Offset
from tltui.questions.ranks.rank_course import Code, Lane

Key = tuple[Code, int]
"""A compile, whichever its id: code object, and which compile of it."""
Phases = Callable[[Lane, int], Mapping[str, float]]
"""Lane, place of a step in its course → name of a timing event → seconds in it; {} where that is not known. Asked only for
compiles that took much longer than elsewhere, and for a few that did not, to compare with."""

TIMES, MORE_S = 3.0, 1.0
"""How many times the median something must take to be an outlier, and how many seconds more than the median."""
LATE_S = 3.0
"""Seconds that ranks may begin one after the other without any of them being late."""
RULE = (
    "Slow are ranks, less than half of them, that took more than 3 times the median for a compile or a phase of it, and more "
    "than 1 s above it. Late are those that began it more than 3 s after the median, and more than 3 times as far from it as ranks "
    "usually are. Compiles that less than half of the ranks have are extra: they count where they take a rank more than 1 s, and "
    "more than 3 times the median of the ranks."
)
WAITING = "compiler_collective"
"""The timing event in which torch's compiler waits for the other ranks."""


def stands_out(seconds: float, typical_s: float) -> bool:
    """Whether something took so much longer than the median that it is an outlier."""
    return seconds > TIMES * typical_s and seconds - typical_s > MORE_S


def is_minority(count: int, ranks: int) -> bool:
    """Whether so many of the ranks can be called others than the rest: of two one can, else half against half are two sides."""
    return 2 * count < ranks or (count, ranks) == (1, 2)


@dataclass(frozen=True, slots=True)
class Late:
    """Ranks that began a compile after the others."""

    key: Key
    ranks: tuple[int, ...]
    """In order."""
    ref: str
    """The address of the compile on the latest of them."""
    typical_ref: str
    """The same of a rank that began in the middle of the others."""
    seconds: float
    """After the median of all ranks, the latest of them."""
    stays: int
    """Compiles after it that they began as late: they did not catch up. 0: the next one they began with the others."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Ranks on which a compile took much longer than on others."""

    key: Key
    ranks: tuple[int, ...]
    """In order."""
    ref: str
    """The address of the compile on the slowest of them."""
    typical_ref: str
    """The same of a rank that took the median."""
    seconds: float
    """What the compile took, on the slowest of them."""
    typical_s: float
    """The median of all ranks that finished it."""
    phase: str
    """The innermost timing event that explains it; '' where none does or that is not known."""
    phase_s: float
    """Seconds in it on the slowest of them; of '' 0."""
    phase_typical_s: float
    """The median of the ranks that were compared; of '' 0."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What a compile, or a phase of it, took on all ranks that finished it."""

    key: Key
    phase: str
    """'': all of the compile."""
    count: int
    """Ranks."""
    slowest: int
    """The rank that took longest."""
    slowest_s: float
    median: int
    median_s: float
    fastest: int
    fastest_s: float
    slowest_ref: str
    """The address of the compile on that rank."""
    median_ref: str
    fastest_ref: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Ranks that waited for others: they were done earlier, and began their next compile together with them."""

    key: Key
    """What the last were at when the others waited for them."""
    ref: str
    """Its address on the first of the last."""
    last: tuple[int, ...]
    """Ranks that were waited for, in order."""
    late: bool
    """Whether the last began it after the others; else it took them longer."""
    inside: bool
    """Whether they waited in it, in a collective of the compiler; else after it."""
    waited: int
    """Ranks that waited for more than a second."""
    seconds: float
    """The median of their waits."""
    rank_seconds: float
    """All of their waits added up."""


@dataclass(frozen=True, slots=True)
class ExtraCompile:
    """A compile that less than half of the ranks have."""

    key: Key
    ref: str
    """Its address."""
    seconds: float
    again: bool
    """Whether it is a recompile: most ranks compiled the function, not as often."""


@dataclass(frozen=True, slots=True)
class Extra:
    """Ranks with compiles that the others do not have."""

    ranks: tuple[int, ...]
    """In order."""
    compiles: tuple[ExtraCompile, ...]
    """Those of the slowest of them, the one that took longest first."""
    seconds: float
    """What these took together."""
    typical_s: float
    """The median of all ranks."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How the ranks of a run kept pace."""

    ranks: int
    clocks: tuple[Clock, ...]
    """Those that are off; put right in all that follows."""
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
        """Whether nobody was late or slow, or had compiles that the others do not have."""
        return not (self.late or self.slow or self.extra)

    def wait_for(self, key: Key, ranks: Sequence[int]) -> Wait | None:
        """Who waited while these ranks were at a compile."""
        return next((wait for wait in self.waits if wait.key == key and not set(wait.last).isdisjoint(ranks)), None)
