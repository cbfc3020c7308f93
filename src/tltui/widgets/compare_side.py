"""One side of a comparison: what its keys do concerns both sides, so the screen is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tltui.text.rows import Row
from tltui.widgets.document_strips import Look
from tltui.widgets.marked_view import MarkedView

SIGNS = {True: ("-", "tok-removed"), False: ("+", "tok-added")}


class CompareSide(MarkedView):
    """A `MarkedView` whose rows are aligned with those of another one."""

    def __init__(self, *, is_left: bool, **options: Any) -> None:
        super().__init__(**options)
        self.is_left = is_left
        self.is_changed: Callable[[int], bool] = lambda line: False
        """Whether a line differs. Set by the screen with each document."""
        self.asked: Callable[[str], None] = lambda what: None
        """What a key asks of the screen: `next`, `previous`, `fold`, `fold_all`, `unfold_all`."""

        self._is_away = False

    @property
    def row(self) -> int:
        """The row that the cursor is in."""
        return self._cursor_row()

    @property
    def top(self) -> int:
        """The first row in sight."""
        return self.scroll_offset.y

    def follow(self, row: int, top: int, x: int) -> None:
        """Show the same rows as the other side; the cursor goes to this one, or stays where this side has no line."""
        before = self._cursor_row()
        line = self._row_at(row).line
        self._is_away = line < 0  # no line here: no cursor either
        if line >= 0:
            self._cursor_line = line
        if not self._scroll(min(x, max(self.max_scroll_x, 0)), top):
            self._moved_rows(before, self._cursor_row())

    def move_to(self, line: int, column: int | None = None) -> None:
        """Put the cursor on a line of this side, which has it from now on."""
        self._is_away = False
        super().move_to(line, column)

    def go(self, row: int) -> bool:
        """The cursor to a row; False where this side has no line there."""
        line = self._row_at(row).line
        if line >= 0:
            self.move_to(line, 0)
        return line >= 0

    def go_near(self, row: int) -> None:
        """The cursor to a row, else to the nearest one where this side has a line."""
        rows = len(self._rows)
        next((near for step in range(rows) for near in (row - step, row + step) if 0 <= near < rows and self.go(near)), None)

    def _is_cursor(self, row: Row) -> bool:
        return not self._is_away and super()._is_cursor(row)

    def _look(self, row: Row) -> Look:
        look = super()._look(row)
        if self.is_changed(row.line) and not row.part:
            look.sign, look.sign_style = SIGNS[self.is_left]
        return look

    def action_next_section(self) -> None:
        """To the next change."""
        self.asked("next")

    def action_previous_section(self) -> None:
        """To the change before."""
        self.asked("previous")

    def action_fold(self) -> None:
        """Show what is folded here."""
        self.asked("fold")

    def action_follow(self) -> None:
        """Show what is folded here."""
        self.asked("fold")

    def action_fold_all(self) -> None:
        """Fold equal lines."""
        self.asked("fold_all")

    def action_unfold_all(self) -> None:
        """Show all equal lines."""
        self.asked("unfold_all")

    def action_wrap(self) -> None:
        """Not here: a wrapped line would not stand beside its other half."""
        self.tell("lines are not wrapped side by side")

    def action_ask_filter(self) -> None:
        """Not here: both sides would lose their order."""
        self.tell("nothing is filtered side by side: only changes and the lines around them are shown (= shows all)")
