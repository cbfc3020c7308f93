"""A canvas whose document may be written while one looks at it.

What was added is shown below; the last line, which may still be written, is drawn again. The hits of a search and the lines of a
filter go on with it. Who is on the last line follows, as with `less +F`; who is not, sees nothing move.
"""

from __future__ import annotations

from array import array
from functools import partial
from typing import Any

from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Document, Hit
from tltui.text.rows import RowMap
from tltui.widgets.document_finding import FindingCanvas
from tltui.widgets.document_folding import FILTER_CAP
from tltui.widgets.document_search import Search, counting
from tltui.work.scheduler import Steps


def is_live(document: Document) -> bool:
    """Whether more may be written to it."""
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
        document, before, at_end = self._document, self._known, self.is_at_end
        if not is_live(document):
            super().document_grown()
            return
        rows, first = len(self._rows), max(before[0] - 2, 0)
        for line in range(first, before[0]):
            self._lengths.pop(line, None)
        super().document_grown()
        if self._known == before:
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
        """To the end as soon as it is known where that is: what comes in between nobody can read."""
        if document.complete:
            self._waits_at = -1
            self.to_end()
        else:
            self._waits_at = self._cursor_line

    def to_end(self) -> None:
        """The cursor to the last line, at the lower edge."""
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

        def found(hits: list[Hit], counted: bool, capped: bool) -> None:
            self.post(search.document, partial(self._counted, search, hits, counted, capped))

        self._searching.append(self.work(counting(search, found, first)))

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
        self._rows = self._made_rows(self._document)
        self._resized_rows()
        self._repaint(max(rows - 2, 0), len(self._rows))
        if at_end:
            self._follow_to_end(self._document)
