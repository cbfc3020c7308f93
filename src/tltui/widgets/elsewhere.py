"""Three lines below a pane that has the screen to itself: what corresponds to its line in the panes that are not in sight."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from tltui.text.document import Piece
from tltui.widgets.bars import Bar

LINES = 3


class Corresponding(Bar):
    """One of the lines."""


class Elsewhere(Vertical):
    """The lines, each of which is repainted when it says something else."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(id="elsewhere")
        self._lines = [Corresponding(ascii_only=ascii_only) for _ in range(LINES)]

    def compose(self) -> ComposeResult:
        """The lines, from above."""
        yield from self._lines

    def say(self, lines: Sequence[Sequence[Piece]]) -> None:
        """Change what they say; fewer lines leave the others empty."""
        for n, line in enumerate(self._lines):
            line.set(lines[n] if n < len(lines) else ())

    def said(self) -> list[str]:
        """What they say, as text."""
        return [line.said().rstrip() for line in self._lines]
