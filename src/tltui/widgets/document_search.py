"""Search and selection in a document view, also while the document is still being written."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from textual import events

from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Document, Hit
from tltui.text.frozen import frozen
from tltui.text.screen_rows import Row, RowMap
from tltui.text.search.child_process import compiled
from tltui.widgets.document_canvas import WHEEL, CaretStop, cell_under, is_inside, word_at
from tltui.widgets.document_rows import FILTER_CAP, FoldingCanvas, Search, counting, seeking
from tltui.widgets.row_painter import RowStyle
from tltui.work.scheduler import Steps, Task


@frozen
class PositionBeforeSearch:
    """Where one was before a pattern was tried."""

    document: Document
    line: int
    column: int
    x: int
    y: int
    folded: frozenset[int]


class FindingCanvas(FoldingCanvas):
    """A canvas that shows the hits of a search and moves between them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._search: Search | None = None
        self._hit: Hit | None = None
        self._searching: list[Task] = []
        """What is being done for the search."""
        self._sought_from: tuple[int, int, bool, bool] | None = None
        """What a hit is being looked for from: line, column, back, whether it is the first one."""
        self._is_stale = False
        """The hits on the screen are those of the search before: repainted with the jump to the first hit."""
        self._before: PositionBeforeSearch | None = None
        """How it was before a pattern was tried; None when none is."""
        self._tried: Hit | None = None
        """The first hit of the pattern that is tried."""
        self._trying: Task | None = None

    @property
    def hits(self) -> str:
        """What is known of the search: `3/17`, `17…` while counting, '' without a search."""
        return self._search.label(self._hit) if self._search and self._search.counting else ""

    def search(self, pattern: str, back: bool = False) -> None:
        """Search from the caret on, and once more from the other end if there is nothing. '' ends the search."""
        self._hit = None
        self._drop_search()
        if not pattern:
            self._search = None
            self.refresh()
            self._moved()
            return
        self._search = Search(pattern, compiled(pattern), self._document)
        line, column = self.cursor
        self._is_stale = True
        self._seek(line, column + 1 if back else column - 1, back, is_first=True)
        self._count()

    # a pattern that is being typed

    def begin_trying(self) -> None:
        """Remember the position before a pattern is typed."""
        x, y = self.scroll_offset
        self._before = PositionBeforeSearch(self._document, *self.cursor, x, y, frozenset(self._folded))

    def try_search(self, pattern: str) -> None:
        """Show the first hit of a pattern that is still being typed, and nothing else of it.

        A pattern that could run for ever waits until it is entered.
        """
        before = self._before
        if before is None or before.document is not self._document:
            return
        self._stop_trying()
        search = Search(pattern, compiled(pattern), self._document)
        if pattern and search.is_simple:
            self._try(search, before, before.line, before.column - 1, self._try_from_top)
        else:
            self._go_back(before)

    def _try(
        self,
        search: Search,
        before: PositionBeforeSearch,
        line: int,
        column: int,
        otherwise: Callable[[Search, PositionBeforeSearch], None],
    ) -> None:
        def report(hit: Hit | None) -> None:
            self.post(before.document, partial(self._show_tried, search, before, otherwise, hit))

        self._trying = self.work(seeking(search, line, column, False, report))

    def _try_from_top(self, search: Search, before: PositionBeforeSearch) -> None:
        self._try(search, before, -1, 0, lambda search, before: self._go_back(before))

    def _show_tried(
        self,
        search: Search,
        before: PositionBeforeSearch,
        otherwise: Callable[[Search, PositionBeforeSearch], None],
        hit: Hit | None,
    ) -> None:
        if self._before is not before:
            return  # it was entered, or left
        if hit is None:
            otherwise(search, before)
        elif self._filtered is None or self._rows.shows(hit.line):
            earlier, self._tried = self._tried, hit
            if earlier is not None:
                self._repaint(self._rows.row_of(earlier.line, earlier.start))
            self.reveal(hit.line)
            self.move_to(hit.line, hit.start)

    def _stop_trying(self) -> None:
        if self._trying is not None:
            self._drop_task(self._trying)
            self._trying = None

    def _go_back(self, before: PositionBeforeSearch) -> None:
        """Go back to the position before a pattern was tried."""
        if self._tried is None:
            return
        self._repaint(self._rows.row_of(self._tried.line, self._tried.start))
        self._tried = None
        if self._folded != before.folded:
            self._folded = set(before.folded)
            self._renew_rows()
        self.move_to(before.line, before.column)
        self._scroll(before.x, before.y)

    def end_trying(self) -> None:
        """Restore the position after a pattern was entered or dropped."""
        self._stop_trying()
        before, self._before = self._before, None
        if before is not None and before.document is self._document:
            self._go_back(before)
        self._tried = None

    def _drop_search(self) -> None:
        """End what is being done for a search that nobody wants any more, whatever it does."""
        for task in self._searching:
            self._drop_task(task)
        self._searching.clear()
        self._sought_from = None

    def _begin(self, document: Document, folded: set[int] | None) -> RowMap:
        rows = super()._begin(document, folded)
        self._hit = None
        if self._search is not None:  # the pattern goes along; its hits are counted when somebody asks for the next
            self._search = Search(self._search.source, self._search.pattern, document)
        return rows

    def _count(self) -> None:
        """Have the hits counted in the background."""
        search = self._search
        assert search is not None
        search.counting = True

        def report(hits: list[Hit], counted: bool, capped: bool) -> None:
            self.post(search.document, partial(self._counted, search, hits, counted, capped))

        self._searching.append(self.work(counting(search, report)))

    def _counted(self, search: Search, hits: list[Hit], counted: bool, capped: bool) -> None:
        search.hits.extend(hits)
        search.counted, search.capped = counted, capped
        if search is self._search:
            if hits and not search.is_simple:  # what was not found yet could not be painted
                self.refresh()
            self._moved()

    def _seek(self, line: int, column: int, back: bool, is_first: bool = False) -> None:
        """Go to the hit after (`back`: before) a place: at once if it is known, else when it is found."""
        search = self._search
        assert search is not None
        is_known, hit = search.hit_after(line, column, back)
        if is_known:
            self._sought(search, back, is_first, hit)
            return

        def report(hit: Hit | None) -> None:
            self.post(search.document, partial(self._sought, search, back, is_first, hit))

        self._sought_from = line, column, back, is_first
        self._searching = [task for task in self._searching if not task.ended.is_set()]
        self._searching.append(self.work(seeking(search, line, column, back, report)))

    def _sought(self, search: Search, back: bool, is_first: bool, hit: Hit | None) -> None:
        if search is not self._search:
            return
        self._sought_from = None
        if self._is_stale:
            self._is_stale = False
            self.refresh()
        if hit is not None:
            self._arrive(hit)
        elif is_first:
            self.show_message(f"no match {'above' if back else 'below'}: searching from the {'end' if back else 'top'}")
            self._seek(len(self._document) if back else -1, 0, back)
        elif search.counted and not search.hits:
            self.show_message(f"no match: {search.source}")
        else:
            self.show_message(f"no more matches: this is the {'first' if back else 'last'} one")

    def _arrive(self, hit: Hit) -> None:
        before, self._hit = self._hit, hit
        self.reveal(hit.line)
        if before is not None:
            self._repaint(self._rows.row_of(before.line, before.start))
        self.move_to(hit.line, hit.start)

    def _go_on(self, back: bool) -> None:
        search = self._search
        if search is None:
            self.show_message("no search text. Press / to enter one")
            return
        if not search.counting:
            self._count()
        line, column = self.cursor
        self._seek(line, column, back)

    def action_next_hit(self) -> None:
        """Go to the next hit."""
        self._go_on(back=False)

    def action_previous_hit(self) -> None:
        """Go to the hit before."""
        self._go_on(back=True)

    def action_search_word(self) -> None:
        """Search for the name at the caret."""
        stop = self.stop_at_caret()
        if stop and not stop.target:
            word = stop.text
        else:
            line, column = self._cursor_line, self._caret_column
            word = word_at(self._document.line(line, 0, column + 256), column) if len(self._document) else ""
        if not word:
            self.show_message("no word at the cursor")
            return
        self._drop_search()
        self._search = Search(word, re.compile(rf"\b{re.escape(word)}\b"), self._document)
        self._hit, self._is_stale = None, True
        self._seek(self._cursor_line, self._caret_column, back=False, is_first=True)
        self._count()

    def _row_style(self, row: Row) -> RowStyle:
        row_style = super()._row_style(row)
        search = self._search
        if self._tried is not None and self._tried.line == row.line:
            row_style.overlays.append((self._tried.start, self._tried.end, "hit-current"))
        if search is None:
            return row_style
        fragment = self._fragment(row, self.scroll_offset.x)
        at = self._hit.start if self._hit and self._hit.line == row.line else -1
        hits = [
            (start, end, "hit-current" if start == at else "hit")
            for start, end in search.spans(row.line, fragment.source.text, fragment.source.first)
        ]
        row_style.is_hit = bool(hits) or search.hit_at(row.line)
        last = fragment.first + fragment.columns
        row_style.overlays.extend((start, min(end, last), name) for start, end, name in hits if start < last)
        return row_style


def is_live(document: Document) -> bool:
    """Return whether more may be written to it."""
    return isinstance(document, BytesDocument) and document.is_live


class LiveCanvas(FindingCanvas):
    """A canvas that follows what is written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._waits_at = -1
        """The line from which the cursor goes to the end when all lines that are there by now are known."""

    def _begin(self, document: Document, folded: set[int] | None) -> RowMap:
        self._waits_at = -1
        return super()._begin(document, folded)

    @property
    def is_at_end(self) -> bool:
        """Whether the cursor is on the last line, as far as that is on the screen."""
        rows = self._rows
        last = rows.at(len(rows) - 1).line if len(rows) else 0
        return self._cursor_line >= last or self._cursor_line == self._waits_at

    def document_grown(self) -> None:
        document, before, at_end = self._document, self._drawn_state, self.is_at_end
        if not is_live(document):
            super().document_grown()
            return
        rows, first = len(self._rows), max(before[0] - 2, 0)
        for line in range(first, before[0]):
            self._lengths.pop(line, None)
        super().document_grown()
        if self._drawn_state == before:
            return
        if self._filtered is None:
            self._repaint(max(rows - 2, 0), len(self._rows))
        elif self._filter:
            self.work(self._filtered_on(document, self._filter, first))
        search = self._search
        if search is not None and search.counted and not search.capped:
            self._search_on(search, first)
        if at_end and self._filtered is None:
            self._follow_to_end(document)

    def _follow_to_end(self, document: Document) -> None:
        """Go to the end as soon as its line is known."""
        if document.complete:
            self._waits_at = -1
            self.to_end()
        else:
            self._waits_at = self._cursor_line

    def to_end(self) -> None:
        """Move the cursor to the last line, at the lower edge."""
        if not len(self._rows):
            return
        before = self._cursor_row()
        self._cursor_line, self._cursor_column = max(self._row_at(len(self._rows) - 1).line, 0), 0
        if not self._reveal_cursor(self.size.height - 1, 0):
            self._moved_rows(before, self._cursor_row())
        self._moved()

    def _search_on(self, search: Search, first: int) -> None:
        """Have the hits counted that were added, from a line on."""
        while search.hits and search.hits[-1].line >= first:
            search.hits.pop()
        search.counted = False

        def report(hits: list[Hit], counted: bool, capped: bool) -> None:
            self.post(search.document, partial(self._counted, search, hits, counted, capped))

        self._searching.append(self.work(counting(search, report, first)))

    def _filtered_on(self, document: Document, text: str, first: int) -> Steps:
        """Collect the lines with hits that were added, from a line on."""
        lines: array[int] = array("q")
        yield from self._collected(document, text, lines, first)
        self.post(document, partial(self._filter_grown, text, first, lines))

    def _filter_grown(self, text: str, first: int, lines: array[int]) -> None:
        filtered = self._filtered
        if text != self._filter or filtered is None or len(filtered) >= FILTER_CAP:
            return
        at_end, rows = self.is_at_end, len(self._rows)
        while filtered and filtered[-1] >= first:
            filtered.pop()
        filtered.extend(lines)
        self._rows = self._make_rows(self._document)
        self._resized_rows()
        self._repaint(max(rows - 2, 0), len(self._rows))
        if at_end:
            self._follow_to_end(self._document)


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
        """Return the selected lines as a half-open range from 0, as `Document.text` takes it. A closed fold counts whole."""
        if self._selected_from is None:
            return None
        lo, hi = sorted((self._selected_from, self._cursor_line))
        section = self._sections.headed(hi)
        if section is not None and self._is_closed(section):
            hi = section.last
        return lo, hi + 1

    def selection(self) -> Sequence[int] | None:
        """Return the selected lines that the filter leaves, ascending; None while none are selected."""
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

    def _row_style(self, row: Row) -> RowStyle:
        row_style = super()._row_style(row)
        selected = self.selected_lines()
        if selected and selected[0] <= row.line < selected[1]:
            row_style.base = "selection"
        return row_style

    # the mouse

    def place_at(self, x: int, y: int) -> tuple[int, int] | None:
        """Return line and column under a cell of the widget; None beside the text. The gutter is column 0."""
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
        """Scroll three rows down; with shift to the right."""
        if not self.is_sideways(event, WHEEL):
            self.wheel(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll three rows up; with shift to the left."""
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
            if self._selected_from is None:
                self.fold_here()
            return
        stop = self.stop_at_caret()
        if self._selected_from is None and stop and stop.target and stop.start <= pressed[1] < stop.end:
            self._follow(stop, pressed[0])

    def _follow(self, stop: CaretStop, line: int) -> None:
        """Follow a link or a name; `DocumentView` knows how."""
