"""The part of the document widget that moves and scrolls.

A scroll repaints one page, growth of the document what it added. `DocumentView` adds what a person does with it.
"""

from __future__ import annotations

from typing import Any

from textual import events
from textual.geometry import Size
from textual.widget import Widget

from tltui.text.document import Document
from tltui.text.rows import Row, RowMap
from tltui.text.width import cells as cell_len
from tltui.widgets.document_drawn import DrawnDocument
from tltui.widgets.document_strips import WHOLE
from tltui.widgets.sideways import Extent, Sideways

MARGIN = 12
"""Cells that stay free right of the caret when a long line is scrolled."""


class DocumentCanvas(DrawnDocument, Sideways, inherit_bindings=False):
    """A drawn document with a cursor that moves."""

    def __init__(self, *, mouse: bool = True, **options: Any) -> None:
        super().__init__(mouse=mouse, **options)
        self.mouse_scrolls = mouse
        self._wide = 0
        self._drawn_size = Size(0, 0)
        self._is_following = False
        self._offset_wanted: int | None = None
        self._floor = 0
        """Rows that there are at least: of a page that stood still while it grew above the cursor the end may be in sight."""

    # rows

    def set_rows(self, rows: RowMap) -> None:
        """Show the document by another row map; the cursor stays on its line and where it is on the screen."""
        offset = self._cursor_row() - self.scroll_offset.y
        self._rows = rows
        self._resized_rows()
        self._reveal_cursor(offset)
        self.refresh()

    def _cursor_row(self) -> int:
        return self._rows.row_of(self._cursor_line, self._caret_column)

    def _content_width(self) -> int:
        return self.gutter_width + max(self._document.width(), self._wide) + MARGIN

    def _content_height(self) -> int:
        return max(len(self._rows), min(self._floor, self.scroll_offset.y + self.size.height))

    def _resized_rows(self) -> None:
        """Tell Textual how many rows and columns there are.

        Assigning `virtual_size` would lay out the whole screen, for nothing: the scrollbar is always there.
        """
        self._row_count = len(self._rows)
        size = Size(self._content_width(), self._content_height())
        if size == self.virtual_size:
            return
        if not self.size.height:
            self.virtual_size = size
            return
        self.set_reactive(Widget.virtual_size, size)
        self.vertical_scrollbar.window_virtual_size = size.height
        if self.scroll_offset.y > self.max_scroll_y or self.scroll_offset.x > self.max_scroll_x:
            self._scroll(min(self.scroll_offset.x, self.max_scroll_x), min(self.scroll_offset.y, self.max_scroll_y))

    def _show_document(self, document: Document, rows: RowMap, line: int, column: int, offset: int, x: int) -> None:
        """Replace what is shown; the cursor is on `line`, `offset` rows below the upper edge."""
        self._document, self._rows, self._numbered = document, rows, len(document)
        self._painter.script = self.script
        self._painter.clear()
        self._wide = self._floor = 0
        self._cursor_line, self._cursor_column = line, column
        self._resized_rows()
        self._set_frame()
        self._reveal_cursor(offset, x)
        self.refresh()

    # the cursor

    def move_to(self, line: int, column: int | None = None) -> None:
        """Put the cursor on a line (and column), and scroll there if it is out of sight."""
        if not len(self._document):
            return
        before = self._cursor_row()
        self._cursor_line = min(max(line, 0), len(self._document) - 1)
        if column is not None:
            self._cursor_column = max(column, 0)
        after = self._cursor_row()
        self._cursor_line = max(self._row_at(after).line, 0)
        scrolled = self._reveal_cursor(None, None if column is None else -1)
        if not scrolled:
            self._moved_rows(before, after)
        self._moved()

    def _moved_rows(self, before: int, after: int) -> None:
        """Repaint what a move inside the page changed."""
        self._repaint(before)
        if after != before:
            self._repaint(after)

    def move_rows(self, delta: int, scroll: bool = False) -> None:
        """Move by rows; with `scroll` what is shown moves along, so that the cursor keeps its place on the screen."""
        if not len(self._rows):
            return
        row = self._cursor_row()
        target = min(max(row + delta, 0), len(self._rows) - 1)
        if scroll:
            self._scroll(None, self.scroll_offset.y + delta)
        to = self._row_at(target)
        if to.line < 0:
            step = 1 if delta > 0 else -1
            while 0 <= target < len(self._rows) and self._row_at(target).line < 0:
                target += step
            to = self._row_at(target)
        if to.line < 0:
            return
        column = self._cursor_column
        here = self._row_at(row)
        if to.lo or here.lo:  # wrapped: keep the place in the row, not in the line
            column = to.lo + max(min(self._caret_column - here.lo, self.text_width - 1), 0)
            column = column if to.hi is None else min(column, to.hi - 1)
        self._cursor_column = column
        self._repaint(row)
        self.move_to(to.line)

    def _reveal_cursor(self, offset: int | None = None, x: int | None = None) -> bool:
        """Scroll so that the cursor is in sight: `offset` rows below the upper edge if given, else as little as need
        be, but a jump further than a page puts it a third below the edge. `x`: cells to scroll to, -1 for as needed."""
        height, row, top = self.size.height, self._cursor_row(), self.scroll_offset.y
        if not height:
            self._offset_wanted = offset
            return False
        if offset is not None:
            top = row - min(max(offset, 0), height - 1)
        elif not top <= row < top + height:
            near = top - height < row < top + 2 * height
            top = (row if row < top else row - height + 1) if near else row - height // 3
        return self._scroll(self._x_of_caret() if x == -1 else x, top)

    def _x_of_caret(self) -> int:
        """How far the line must be scrolled right to show the caret and the name under it."""
        x, width, column = self.scroll_offset.x, self.text_width, self._caret_column
        if self._row_at(self._cursor_row()).lo or self.max_scroll_x == 0:
            return 0
        stop = self.stop_at_caret()
        start, end = (stop.start, stop.end) if stop else (column, column + 1)
        if self._document.length(self._cursor_line) <= WHOLE:
            text = self._document.line(self._cursor_line).text
            start, end = self.script.cells(text[:start]), self.script.cells(text[:end])
        self._wide = max(self._wide, end)
        if end <= width - MARGIN:
            return 0
        if x <= start and end <= x + width - MARGIN:
            return x
        return max(start - width // 3, 0)

    def extent(self) -> Extent:
        """How much of the lines in sight is shown."""
        lines = {row.line for row in self._rows_in_sight()}
        return Extent(self.scroll_offset.x, self.text_width, max(map(self._cells_of, lines), default=0))

    def _cells_of(self, line: int) -> int:
        length = self._document.length(line)
        return cell_len(self._document.line(line).text) if length <= WHOLE else length

    def shift_to(self, left: int) -> None:
        """Show the lines from cell `left` on."""
        self._wide = max(self._wide, left + self.text_width)
        self._scroll(left, self.scroll_offset.y)
        self.refresh()
        self._moved()

    def why_not_sideways(self) -> str:
        """Rows of wrapped lines go on below."""
        return "the lines are wrapped: w cuts them again" if any(row.hi is not None for row in self._rows_in_sight()) else ""

    def _rows_in_sight(self) -> list[Row]:
        top = self.scroll_offset.y
        return [row for row in map(self._row_at, range(top, top + self.size.height)) if row.line >= 0]

    def _scroll(self, x: int | None, y: int) -> bool:
        """Scroll without animation; True when anything moved."""
        before = self.scroll_offset
        self._is_following = True
        try:
            if x is not None and x + self.size.width > self.virtual_size.width:
                self._resized_rows()
            self.scroll_to(x, y, animate=False, force=True)
        finally:
            self._is_following = False
        return self.scroll_offset != before

    @property
    def is_laid_out(self) -> bool:
        """Whether the document stands in rows of the size that the widget has."""
        return self._offset_wanted is None and self.size.height > 0 and self.size == self._drawn_size

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the cursor along when the wheel or the scrollbar moves the page."""
        super().watch_scroll_y(old_value, new_value)
        if self._floor:
            self.call_later(self._resized_rows)
        is_placed = self._offset_wanted is None  # else a document came while the pane was hidden, and on_resize places it
        if self._is_following or not (self.size.height and is_placed) or round(old_value) == round(new_value):
            return
        top, row = self.scroll_offset.y, self._cursor_row()
        inside = min(max(row, top), top + self.size.height - 1)
        if inside != row and (line := self._row_at(inside).line) >= 0:
            self._cursor_line = line
            self._cursor_column = max(self._cursor_column, self._row_at(inside).lo)
        self._moved()

    def on_resize(self, event: events.Resize) -> None:
        """Rows are cut to the new width; the cursor stays in sight."""
        if self.size == self._drawn_size and self._offset_wanted is None:
            return
        was_empty = not self._drawn_size.height or self._offset_wanted is not None
        offset = self._offset_wanted if was_empty else self._cursor_row() - self.scroll_offset.y
        self._drawn_size, self._offset_wanted = self.size, None
        self._set_frame()
        self._painter.clear()
        self._set_frame()
        self._width_changed()
        self._reveal_cursor(offset, -1)
        self.refresh()
        self._moved()

    # for DocumentView

    def _moved(self) -> None:
        """The cursor or the page moved."""

    def _width_changed(self) -> None:
        """The widget has another width."""
        self._resized_rows()


