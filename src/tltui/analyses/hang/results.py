"""What asking where a job is gives."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.hang.clocks import Clock
from tltui.analyses.hang.open_work import Inside, Phase

INSIDE, BETWEEN, EMPTY = "inside", "between", "empty"


@dataclass(frozen=True, slots=True)
class Named:
    """What a compile is called on some ranks."""

    id: str
    ranks: str


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that are at the same place."""

    ranks: str
    """As ranges: `0–6, 8–511`; of a run without ranks the numbers of its processes, '' where it is one."""
    count: int
    state: str
    """`inside`: something is open; `between`: nothing is; `empty`: it has not begun a compile."""
    over: bool
    """Whether their logs have ended: then they were there."""
    what: str
    """See `Inside.what`; '' unless inside."""
    function: str | None
    """That is compiled, or was compiled last."""
    file: str | None
    line: int | None
    number: int
    """Which compile of the function, from 1; 0 where that is not known."""
    ids: tuple[Named, ...]
    """What the compile is called; several where ranks call it otherwise."""
    ref: str
    """The address of the compile on the first of the ranks."""
    phases: tuple[Phase, ...]
    """Open phases, the outermost first, on the first of the ranks, by its clock."""
    trail: str
    """Those that tell most."""
    since: float | None
    """When the innermost phase began, the first of the ranks; microseconds since the epoch, clocks put right."""
    until: float | None
    """The same, the last of the ranks."""
    last: float | None
    """The newest record of them."""
    artifact: str
    """What the first of them wrote last of the compile beside timing events, by name."""
    graph: str
    """The address of the last graph that it wrote; '' where there is none."""
    done: int
    """Compiles that each has finished at least."""
    passed: str
    """Of an open compile: the ranks with nothing open that have finished it."""
    not_begun: str
    """The ranks with nothing open that have not begun it."""
    behind: bool
    """Nothing is open, and they have come less far than others."""
    first: int
    """The first of the ranks."""
    pid: int
    """Its process."""
    collective: str
    """The collective of the compiler that they wait in: `compiler_collective`, `guard_collective`; '' for none."""
    waits_for: str
    """The ranks that are not in a collective of the compiler, for which these wait; '' where they wait for none."""


@dataclass(frozen=True, slots=True)
class Older:
    """An older process of a rank that was started again, or another one that has something open."""

    rank: int | None
    ref: str
    pid: int
    over: bool
    open: Inside | None
    """What it was in the middle of."""


@dataclass(frozen=True, slots=True)
class Also:
    """Something else that is open on a rank."""

    rank: int
    open: Inside


@dataclass(frozen=True, slots=True)
class Where:
    """Where the processes of a run are."""

    goes_on: bool
    """Whether any of the logs may still be written."""
    ranks: int
    """Ranks, or processes without a rank, that are compared."""
    numbered: bool
    """Whether they are ranks."""
    groups: tuple[Group, ...]
    """Who is behind first."""
    behind: str
    """The ranks with nothing open that have come less far than others, as ranges."""
    clocks: tuple[Clock, ...]
    missing: str
    """Ranks below the highest one of which there is no log."""
    restarted: tuple[Older, ...]
    beside: tuple[Older, ...]
    """Processes without a rank beside ranks, and forked ones, that have something open."""
    quiet: int
    """Those that have nothing open."""
    also: tuple[Also, ...]
    """What else is open on the same processes: other threads."""
