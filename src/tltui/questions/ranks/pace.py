"""Pace of ranks: clock offsets, late starts, slow compiles and waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from tltui.model.ref import Ranks
from tltui.questions.hang.clock_offsets import Clock, Offset
from tltui.questions.ranks.rank_course import Code, Lane
from tltui.text.frozen import frozen


class Called(NamedTuple):
    """A compile, whichever its id."""

    function: str
    file: str | None
    line: int | None
    number: int
    """Which compile of the function on its rank, from 1."""


class Key(NamedTuple):
    """A compile, whichever its id: code object, and which compile of it. In JSON it is `Called`."""

    code: Code
    number: int

    @property
    def called(self) -> Called:
        """The compile as JSON and rows have it."""
        return Called(*self.code, self.number)

    def __json__(self) -> Called:
        """Return what JSON has of it."""
        return self.called


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


@frozen
class Late:
    """Ranks that began a compile after the others."""

    compile: Key
    ranks: Ranks
    """As ranges: `0–6, 8–511`."""
    ref: str
    """The address of the compile on the latest of them."""
    typical_ref: str
    """The same of a rank that began in the middle of the others."""
    seconds: float
    """After the median of all ranks, the latest of them."""
    stays: int
    """Compiles after it that they began as late: they did not catch up. 0: the next one they began with the others."""


@frozen
class Slow:
    """Ranks on which a compile took much longer than on others."""

    compile: Key
    ranks: Ranks
    """As ranges: `0–6, 8–511`."""
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


@frozen
class Spread:
    """What a compile, or a phase of it, took on all ranks that finished it."""

    compile: Key
    phase: str
    """'': all of the compile."""
    ranks: int
    slowest: int
    """The rank that took longest; on the page of a rank that rank."""
    slowest_s: float
    median: int
    median_s: float
    fastest: int
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
    last: Ranks
    """Ranks that were waited for, as ranges."""
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


@frozen
class ExtraCompile:
    """A compile that less than half of the ranks have."""

    compile: Key
    ref: str
    """Its address."""
    seconds: float
    again: bool
    """Whether it is a recompile: most ranks compiled the function, not as often."""
    reason: str = ""
    """Why: `x dim 0: 8 → 5`; '' where the log does not tell, or nobody has looked."""


@frozen
class Extra:
    """Ranks with compiles that the others do not have."""

    ranks: Ranks
    seconds: float
    """What these took together, on the slowest of the ranks."""
    typical_s: float
    """The median of all ranks."""
    compiles: tuple[ExtraCompile, ...]
    """Those of the slowest of them, the one that took longest first."""


@frozen
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
        return next((wait for wait in self.waits if wait.compile == key and not set(wait.last).isdisjoint(ranks)), None)
