"""Selecting lines in a document view, by key and by mouse."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from textual import events

from tltui.text.rows import Row
from tltui.widgets.document_live import LiveCanvas
from tltui.widgets.document_names import Stop
from tltui.widgets.document_strips import Look
from tltui.widgets.pointer import cell_under, is_inside
from tltui.widgets.sideways import WHEEL


class SelectingCanvas(LiveCanvas):
    """A canvas with a selection of whole lines, and the mouse."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._selected_from: int | None = None
        self._pressed: tuple[int, int] | None = None
        self._is_in_gutter = False  # it was pressed beside the text

    @property
    def is_at_end(self) -> bool:
        """Whether the cursor is on the last line; not while lines are selected, which it would add to."""
        return self._selected_from is None and super().is_at_end

    def selected_lines(self) -> tuple[int, int] | None:
        """The selected lines as a half-open range from 0, as `Document.text` takes it. A closed fold counts whole."""
        if self._selected_from is None:
            return None
        lo, hi = sorted((self._selected_from, self._cursor_line))
        section = self._sections.headed(hi)
        if section is not None and self._is_closed(section):
            hi = section.last
        return lo, hi + 1

    def selection(self) -> Sequence[int] | None:
        """The selected lines that the filter leaves, ascending; None while none are selected."""
        selected, filtered = self.selected_lines(), self.filtered_lines
        if selected is None or filtered is None:
            return None if selected is None else range(*selected)
        return filtered[bisect_left(filtered, selected[0]) : bisect_left(filtered, selected[1])]

    def action_select_lines(self) -> None:
        """Begin to select lines, or end it."""
        if self._selected_from is not None:
            self._end_selection()
        elif len(self._document):
            self._selected_from = self._cursor_line
            self._repaint(self._cursor_row())
            self._moved()

    def _end_selection(self) -> None:
        selected = self.selected_lines()
        self._selected_from = None
        if selected:
            self._repaint(self._rows.row_of(selected[0]), self._rows.row_of(selected[1] - 1, 1 << 40))
        self._moved()

    def _moved_rows(self, before: int, after: int) -> None:
        if self._selected_from is None:
            super()._moved_rows(before, after)
        else:
            self._repaint(before, after)

    def _look(self, row: Row) -> Look:
        look = super()._look(row)
        selected = self.selected_lines()
        if selected and selected[0] <= row.line < selected[1]:
            look.base = "selection"
        return look

    # the mouse

    def place_at(self, x: int, y: int) -> tuple[int, int] | None:
        """Line and column under a cell of the widget; None beside the text. The gutter is column 0."""
        row = self._row_at(self.scroll_offset.y + y)
        if row.line < 0:
            return None
        fragment = self._fragment(row, self.scroll_offset.x)
        return row.line, fragment.first + min(self.script.fitting(fragment.text, x - self.gutter_width), fragment.columns)

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        """Scroll by the wheel, or leave it to the terminal's owner when the mouse is off."""
        event.prevent_default()
        event.stop()
        if self.mouse:
            self.scroll_to(None, self.scroll_offset.y + rows, animate=False, force=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down; with shift to the right."""
        if not self.is_sideways(event, WHEEL):
            self.wheel(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up; with shift to the left."""
        if not self.is_sideways(event, -WHEEL):
            self.wheel(event, -3)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Put the cursor where the mouse is."""
        if not self.mouse or event.button != 1 or not is_inside(self, event):
            return
        under = cell_under(self, event)
        place = self.place_at(under.x, under.y)
        if place is not None:
            if self._selected_from is not None:
                self._end_selection()
            self._pressed = place
            self._is_in_gutter = under.x < self.gutter_width
            self.capture_mouse()
            self.move_to(*place)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Select the lines that the mouse is drawn over."""
        if self._pressed is None:
            return
        under = cell_under(self, event)
        last = len(self._rows) - 1 - self.scroll_offset.y
        place = self.place_at(under.x, min(under.y, last))
        if place is None or place[0] == self._cursor_line:
            return
        if self._selected_from is None:
            self._selected_from = self._pressed[0]
        self.move_to(place[0])

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Follow the link that was clicked; beside the text, close or open the section that begins here."""
        pressed, self._pressed = self._pressed, None
        if pressed is None:
            return
        self.release_mouse()
        if self._is_in_gutter:
            if self._selected_from is None and self._sections.headed(self._cursor_line) is not None:
                self.action_fold()
            return
        stop = self.stop_at_caret()
        if self._selected_from is None and stop and stop.target and stop.start <= pressed[1] < stop.end:
            self._follow(stop, pressed[0])

    def _follow(self, stop: Stop, line: int) -> None:
        """Follow a link or a name; `DocumentView` knows how."""
