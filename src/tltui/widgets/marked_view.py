"""A document view whose lines carry marks from outside: which lines of other panes they belong to.

Provenance and compare show several documents side by side. What belongs together has a cell of one colour in the gutter and, so
that it works without colour too, a letter in it. The text keeps its own colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from textual import events

from tltui.text.rows import Row
from tltui.widgets.document_strips import BANDS, Look
from tltui.widgets.document_view import DocumentView
from tltui.widgets.pointer import cell_under, is_inside

AROUND = 3
"""Rows that come into sight above or below a line with it."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class MarkedView(DocumentView):
    """A `DocumentView` with bands, matches and pinned lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.group_of: Callable[[int], int | None] = lambda line: None
        """Line → number of the first group it belongs to, None for none. Set by the screen with each document."""
        self.on_hover: Callable[[int], None] | None = None
        """Called with the line under the mouse when it comes to another one, -1 when there is none any more."""
        self._hovered = -1
        self._matches: frozenset[int] = frozenset()
        self._pinned: frozenset[int] = frozenset()

    @property
    def matches(self) -> list[int]:
        """The lines that correspond to the cursor of the pane that has the focus, sorted."""
        return sorted(self._matches)

    def set_matches(self, lines: Iterable[int], to: Sequence[int] = ()) -> None:
        """Light up lines. The cursor goes to one of the lines `to`, unless it is on one: to one in sight, so that nothing scrolls,
        else to the nearest."""
        before, self._matches = self._matches, frozenset(lines)
        for line in before ^ self._matches:
            self.repaint_line(line)
        if to and self.current_line() not in to:
            self.bring(self._nearest(to))

    def _nearest(self, lines: Iterable[int]) -> int:
        """The first line in sight, else the one that is the fewest rows away."""
        top, here = self.scroll_offset.y, self._cursor_row()

        def away(line: int) -> tuple[bool, int, int]:
            row = self.rows.row_of(line)
            is_away = not (top <= row < top + self.size.height and self.rows.shows(line))
            return is_away, abs(row - here) if is_away else 0, line

        return min(lines, key=away)

    def bring(self, line: int) -> None:
        """The cursor to a line. What is in sight stays where it is; else some rows around the line come into sight with it."""
        row, top, height = self.rows.row_of(line), self.scroll_offset.y, self.size.height
        margin = min(AROUND, max(height - 1, 0) // 2)
        if height and top - height < row < top:
            self._scroll(None, max(row - margin, 0))
        elif height and top + height <= row < top + 2 * height:
            self._scroll(None, row - height + 1 + margin)
        self.move_to(line, 0)

    @property
    def has_pinned(self) -> bool:
        """Whether lines are kept lit."""
        return bool(self._pinned)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The mouse came to another line."""
        inside = self.mouse and is_inside(self, event)
        self._hover(self._row_at(self.scroll_offset.y + cell_under(self, event).y).line if inside else -1)

    def on_leave(self) -> None:
        """The mouse is over something else."""
        self._hover(-1)

    def _hover(self, line: int) -> None:
        if line != self._hovered:
            self._hovered = line
            if self.on_hover is not None:
                self.on_hover(line)

    def set_pinned(self, lines: Iterable[int]) -> None:
        """Keep lines lit while the cursor moves on."""
        before, self._pinned = self._pinned, frozenset(lines)
        for line in before ^ self._pinned:
            self.repaint_line(line)

    def repaint_line(self, line: int) -> None:
        """Repaint one line, if it is in sight."""
        if self.rows.shows(line):
            self._repaint(self.rows.row_of(line))

    def _look(self, row: Row) -> Look:
        look = super()._look(row)
        group = self.group_of(row.line)
        if look.base in ("", "cursor-away"):
            look.base = "match" if row.line in self._matches else "pinned" if row.line in self._pinned else look.base
        if group is not None:
            look.sign, look.sign_style = " " if row.part else LETTERS[group % len(LETTERS)], f"band-{group % BANDS}"
        return look
