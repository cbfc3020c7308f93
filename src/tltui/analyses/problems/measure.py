"""What a gate of `tltui check` is made of: how something is counted, and what it lists when it is too much.

A gate of a new kind is a `Measure` in a module of its own and a line in `measures.MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tltui.analyses.problems.problems import Problems, problems
from tltui.model.nodes import Compile
from tltui.model.run import Run

REASONS = 50


class Found(NamedTuple):
    """One of the things that a gate counts."""

    ref: str
    """Where it is, as an address."""
    text: str
    key: str
    """What makes it the same in another run."""
    file: str | None = None
    """The user's file that it is about, as torch named it; None where that is not known."""
    line: int | None = None


class Facts:
    """A run as the gates see it. Payloads are read once, and only if a gate asks for them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.everything: list[Compile] = list(run.compiles())
        self.compiles = [compile_ for compile_ in self.everything if compile_.is_compile]
        self._problems: Problems | None = None

    @property
    def problems(self) -> Problems:
        """All problems."""
        if self._problems is None:
            self._problems = problems(self.everything)
        return self._problems


@dataclass(frozen=True, slots=True)
class Measure:
    """How something is counted."""

    title: str
    """What is counted, as a phrase."""
    value: Callable[[Facts], float]
    reasons: Callable[[Facts], list[Found]]
    page: str
    """The page with more about it: a name of `documents/pages/table.py`, or `damage`."""
    seconds: bool = False
    share: bool = False
    """Whether it is a share, in percent."""


def one_line(text: str) -> str:
    """A text as a reason shows it."""
    return " ".join(text.split())[:300]
