"""What a gate of `tltui check` is made of: how something is counted, and what it lists when it is too much.

A gate of a new kind is a `Measure` in a module of its own and a line in `gates.MEASURES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tltui.analyses.problems.problems import Problems, problems
from tltui.model.nodes import Compile
from tltui.model.run import Run

REASONS = 50

Found = tuple[str, str, str]
"""(address, text, what makes it the same in another run)"""


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
