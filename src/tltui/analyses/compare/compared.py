"""What comparing gives: frozen results, for JSON and for the pages."""

from __future__ import annotations

from dataclasses import dataclass

SAME, CHANGED, ONLY_LEFT, ONLY_RIGHT = "same", "changed", "only left", "only right"
OUTCOMES = (CHANGED, ONLY_LEFT, ONLY_RIGHT, SAME)


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Lines of the left that became lines of the right."""

    left_line: int
    right_line: int
    left: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiffResult:
    """The outcome of comparing two artifacts. Line numbers count from 1 in the stored payloads, 0: laid out anew."""

    schema: int
    left: str
    right: str
    same: bool
    added: int
    removed: int
    hidden: int
    """Lines that look different and count as equal: another run's ids, paths, names."""
    hunks: tuple[DiffHunk, ...]


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One pair of a comparison."""

    name: str
    left: str | None
    right: str | None
    outcome: str
    """`same`, `changed`, `only left`, `only right`."""
    added: int = 0
    removed: int = 0
    hidden: int = 0
    unit: str = ""
    """Of an artifact: the unit that it belongs to."""
    problem: str = ""
    """Why the two could not be compared; they count as changed."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A number or word of two compiles."""

    name: str
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class CompareResult:
    """The outcome of comparing two compiles, ranks or runs."""

    schema: int
    left: str
    right: str
    rows: tuple[CompareRow, ...]
    facts: tuple[Fact, ...] = ()
    """Of two compiles: status and metrics."""
    timing: tuple[Fact, ...] = ()
    """Of two compiles: seconds by phase."""
    guards: tuple[Fact, ...] = ()
    """Of two compiles: guards that differ; None: the other side has no such guard."""
    inputs: tuple[Fact, ...] = ()
    """Of two compiles: inputs that differ."""
    symbols: tuple[Fact, ...] = ()
    """Of two compiles: symbols that differ."""
