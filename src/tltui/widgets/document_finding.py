"""Searching in a document view: the pattern, the hits in sight, the way from hit to hit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tltui.text.document import Document, Hit
from tltui.text.pattern import compiled
from tltui.text.rows import Row, RowMap
from tltui.widgets.document_folding import FoldingCanvas
from tltui.widgets.document_names import word_at
from tltui.widgets.document_search import Search, counting, seeking
from tltui.widgets.document_strips import Look
from tltui.work.scheduler import Task


@dataclass(frozen=True, slots=True)
class Before:
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
        self._before: Before | None = None
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
        """A pattern is going to be typed."""
        x, y = self.scroll_offset
        self._before = Before(self._document, *self.cursor, x, y, frozenset(self._folded))

    def try_search(self, pattern: str) -> None:
        """Show the first hit of a pattern that is still being typed, and nothing else of it. One that could run for ever waits
        until it is entered."""
        before = self._before
        if before is None or before.document is not self._document:
            return
        self._stop_trying()
        search = Search(pattern, compiled(pattern), self._document)
        if pattern and search.is_simple:
            self._try(search, before, before.line, before.column - 1, self._try_from_top)
        else:
            self._go_back(before)

    def _try(self, search: Search, before: Before, line: int, column: int, otherwise: Callable[[Search, Before], None]) -> None:
        def found(hit: Hit | None) -> None:
            self.post(before.document, partial(self._found_tried, search, before, otherwise, hit))

        self._trying = self.work(seeking(search, line, column, False, found))

    def _try_from_top(self, search: Search, before: Before) -> None:
        self._try(search, before, -1, 0, lambda search, before: self._go_back(before))

    def _found_tried(
        self, search: Search, before: Before, otherwise: Callable[[Search, Before], None], hit: Hit | None
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

    def _go_back(self, before: Before) -> None:
        """To where one was before a pattern was tried."""
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
        """The pattern was entered, or is not wanted: all is as it was before."""
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

        def found(hits: list[Hit], counted: bool, capped: bool) -> None:
            self.post(search.document, partial(self._counted, search, hits, counted, capped))

        self._searching.append(self.work(counting(search, found)))

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
        known, hit = search.known(line, column, back)
        if known:
            self._sought(search, back, is_first, hit)
            return

        def found(hit: Hit | None) -> None:
            self.post(search.document, partial(self._sought, search, back, is_first, hit))

        self._sought_from = line, column, back, is_first
        self._searching = [task for task in self._searching if not task.ended.is_set()]
        self._searching.append(self.work(seeking(search, line, column, back, found)))

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
            self.tell(f"no hit {'above' if back else 'below'}: searching from the {'end' if back else 'top'}")
            self._seek(len(self._document) if back else -1, 0, back)
        elif search.counted and not search.hits:
            self.tell(f"no hit: {search.source}")
        else:
            self.tell(f"no further hit: at the {'first' if back else 'last'} one")

    def _arrive(self, hit: Hit) -> None:
        before, self._hit = self._hit, hit
        self.reveal(hit.line)
        if before is not None:
            self._repaint(self._rows.row_of(before.line, before.start))
        self.move_to(hit.line, hit.start)

    def _go_on(self, back: bool) -> None:
        search = self._search
        if search is None:
            self.tell("nothing to search for: / asks")
            return
        if not search.counting:
            self._count()
        line, column = self.cursor
        self._seek(line, column, back)

    def action_next_hit(self) -> None:
        """To the next hit."""
        self._go_on(back=False)

    def action_previous_hit(self) -> None:
        """To the hit before."""
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
            self.tell("no word here")
            return
        self._drop_search()
        self._search = Search(word, re.compile(rf"\b{re.escape(word)}\b"), self._document)
        self._hit, self._is_stale = None, True
        self._seek(self._cursor_line, self._caret_column, back=False, is_first=True)
        self._count()

    def _look(self, row: Row) -> Look:
        look = super()._look(row)
        search = self._search
        if self._tried is not None and self._tried.line == row.line:
            look.overlays.append((self._tried.start, self._tried.end, "hit-current"))
        if search is None:
            return look
        fragment = self._fragment(row, self.scroll_offset.x)
        at = self._hit.start if self._hit and self._hit.line == row.line else -1
        hits = [
            (start, end, "hit-current" if start == at else "hit")
            for start, end in search.spans(row.line, fragment.source.text, fragment.source.first)
        ]
        look.is_hit = bool(hits) or search.hit_at(row.line)
        last = fragment.first + fragment.columns
        look.overlays.extend((start, min(end, last), name) for start, end, name in hits if start < last)
        return look
