"""A page that was made again, because the run has grown, takes the place of the old one and nothing that one looks at moves.

The line under the cursor stays in its screen row; folds, selection, filter, the hits of a search go along with their lines. Who is
at the end is taken to the new end, as by `less +F`. The new page is completed, compared with the old one, filtered and measured by
the scheduler: until then the old one stays. Only the rows that look otherwise are repainted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from textual.geometry import Size

from tltui.text.document import Document, Hit, TextDocument
from tltui.text.growing import GrowingDocument
from tltui.text.renewed import Renewed
from tltui.text.rows import WRAP_LIMIT, RowMap, SectionIndex
from tltui.widgets.document_background import ADVANCE
from tltui.widgets.document_names import Stop
from tltui.widgets.document_search import Search, counting
from tltui.widgets.document_selecting import SelectingCanvas
from tltui.widgets.standing import stand
from tltui.work.scheduler import Place, Steps, Task

TRIES = 3
"""How often the height of wrapped lines around the cursor is looked at: it is exact from the second time on."""
BEHIND = 200
"""Rows behind the end of before that must be new for the cursor to follow."""


@dataclass(slots=True)
class Renewal:
    """A page that is to take the place of the one that is shown."""

    document: Document
    lines: Renewed
    filter: str
    filtered: array[int] | None
    lengths: dict[int, int]
    is_wrapped: bool


class RenewingCanvas(SelectingCanvas):
    """A canvas whose document can be made again."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._renewing: Task | None = None
        self.on_rest: Callable[[], object] | None = None
        """Called when a document is whole that was not, or has taken the place of the one before."""

    @property
    def is_at_work(self) -> bool:
        """Whether the page is still being made, or made again: another one would have to wait."""
        document = self._document
        return self._renewing is not None or (isinstance(document, GrowingDocument) and not document.complete)

    def _begin(self, document: Document, folded: set[int] | None) -> RowMap:
        self._renewing = None
        return super()._begin(document, folded)

    def document_grown(self) -> None:
        """Show what was added; say so when that was all."""
        super().document_grown()
        self._rested()

    def _rested(self) -> None:
        if self.on_rest is not None and not self.is_at_work:
            self.on_rest()

    def renew(self, document: Document) -> None:
        """Put the page that is shown, made again, in its place as soon as it is whole."""
        if self._renewing is not None:
            self._drop_task(self._renewing)
        steps = self._prepared(self._document, document)
        next(steps)
        self._renewing = self.work(steps, Place.NODES)

    def _prepared(self, old: Document, document: Document) -> Steps:
        """Complete a page and find out what of the old one is where. Does nothing at its first step."""
        try:
            yield None
            while not document.advance(ADVANCE):
                yield None
        finally:
            if isinstance(document, GrowingDocument):
                document.stop()
        yield Place.LONG
        document.width()
        lines = Renewed(old, document)
        renewal = Renewal(document, lines, self._filter, None, {}, self._is_wrapped)
        if renewal.is_wrapped and len(document) <= WRAP_LIMIT:
            renewal.lengths = {line: document.length(line) for line in range(len(document))}
        if renewal.filter:
            renewal.filtered = array("q")
            yield from self._collected(document, renewal.filter, renewal.filtered)
        self.post(old, lambda: self._take(renewal))

    # on the UI thread

    def _take(self, renewal: Renewal) -> None:
        """Put a page in the place of the one that is shown."""
        self._renewing = None
        if (self._filter, self._is_wrapped) != (renewal.filter, renewal.is_wrapped):
            self.renew(renewal.document)  # a key came in between
            return
        document, lines = renewal.document, renewal.lines
        offset = self._cursor_row() - self.scroll_offset.y
        is_at_end = 0 < self._cursor_row() == len(self._rows) - 1 and self._selected_from is None
        is_at_end = is_at_end and lines.kept(self._cursor_line) is not None
        # whoever is at the top wants to see what comes in there
        place = 0 if not self._cursor_row() and not self.scroll_offset.y else lines.line(self._cursor_line)
        column = self._column_in(document, place)
        sought, found = self._sought_from, self._found_in(document, lines)
        self.drop_work()
        self._searching.clear()
        self._filtering = None
        self._take_folds(renewal)
        self._document, self._numbered, self._known = document, len(document), (len(document), document.version)
        self._cursor_line, self._cursor_column = place, column
        if self._selected_from is not None:
            self._selected_from = lines.line(self._selected_from)
        self._painter.clear()
        self._unhide(self._cursor_line)
        self._rows = self._fixed or self._made_rows(document)
        self._set_frame()
        self._stand(offset, lines if is_at_end else None)
        self._repaint_changed()
        self._search_again(found, lines, sought)
        self._moved()
        self._rested()

    def _take_folds(self, renewal: Renewal) -> None:
        """Sections are open and closed as they were; so is what the filter leaves, and how long the lines are."""
        document = renewal.document
        index = SectionIndex(document.sections())
        if len(self._sections) or not self._fold_at_first:
            self._folded = renewal.lines.folded(self._sections.sections, self._folded, index.sections)
        elif len(index):
            self._folded, self._fold_at_first = index.folded(), False
        self._sections, self._lengths = index, renewal.lengths
        self._filtered = index.with_heads(renewal.filtered) if renewal.filtered else None
        if renewal.filter and not renewal.filtered:
            self._filter = ""
            self.tell(f"no line with: {renewal.filter}")

    def _unhide(self, line: int) -> None:
        """Open what is closed around a line that was in sight: it came into a section."""
        if self._filtered is None:
            self._folded -= {section.first for section in self._sections.around(line)} - {line}

    def _stand(self, offset: int, followed: Renewed | None) -> None:
        """Show the line of the cursor `offset` rows below the upper edge; or go to the end, if all behind it is new."""
        self._cursor_line = max(self._rows.at(self._cursor_row()).line, 0)
        top = 0
        for _ in range(TRIES):
            top = max(self._cursor_row() - offset, 0)
            for row in range(top, top + self.size.height):
                self._rows.at(row)
        if followed is not None:
            behind = range(self._cursor_row() + 1, len(self._rows))[:BEHIND]
            if all(followed.was(self._rows.at(row).line) is None for row in behind):
                self._cursor_line = max(self._rows.at(len(self._rows) - 1).line, 0)
                top = max(top, self._cursor_row() - self.size.height + 1)
        self._row_count = len(self._rows)
        if self.scroll_offset.x:
            self._wide = max(self._wide, self.scroll_offset.x + self.size.width - self.gutter_width)
        self._floor = top + self.size.height
        stand(self, Size(self._content_width(), max(self._row_count, self._floor)), top)
        if not self.scroll_offset.y <= self._cursor_row() < self.scroll_offset.y + self.size.height:
            self._reveal_cursor()

    def _column_in(self, document: Document, line: int) -> int:
        """The column of the caret in a line of the new page: on the same link or name, when there is one."""
        column = self._cursor_column
        stop = self.stop_at_caret()
        if stop is None or not 0 <= line < len(document):
            return column
        there = self._stops_of(document, line)
        same = [other for other in there if (other.target, other.text) == (stop.target, stop.text)]
        same = same or [other for other in there if stop.target and other.target == stop.target]
        near = min(same, key=lambda other: abs(other.start - stop.start), default=None)
        return column if near is None else near.start + column - stop.start

    def _stops_of(self, document: Document, line: int) -> list[Stop]:
        shown, self._document = self._document, document
        try:
            return self.stops_in(line, 0, self._cursor_column + 4096)
        finally:
            self._document = shown

    # the search

    def _found_in(self, document: Document, lines: Renewed) -> Search | None:
        """The search in the new page, with the hits of lines that are the same; the rest is found soon."""
        search, own = self._search, self._hit
        if search is None:
            return None
        moved = Search(search.source, search.pattern, document)
        moved.counted, moved.capped, moved.counting = search.counted, search.capped, search.counting
        if isinstance(document, TextDocument):
            for hit in search.hits:
                place = lines.kept(hit.line)
                if place is not None and self._document.line(hit.line).text == document.line(place).text:
                    moved.hits.append(replace(hit, line=place))
            moved.hits.sort(key=lambda hit: (hit.line, hit.start))
        else:
            moved.hits = search.hits
        if own is not None:
            place = lines.kept(own.line)
            self._hit = None if place is None else replace(own, line=place)
        return moved

    def _search_again(self, search: Search | None, lines: Renewed, sought: tuple[int, int, bool, bool] | None) -> None:
        """Have the hits of the new page counted; what was found in the old one is shown until then."""
        self._search = search
        if search is None:
            return
        if search.counting:
            fresh = replace(search, hits=[], counted=False, capped=False)

            def found(hits: list[Hit], counted: bool, capped: bool) -> None:
                self.post(search.document, lambda: self._counted_again(search, fresh, hits, counted, capped))

            self._searching.append(self.work(counting(fresh, found)))
        if sought is not None:
            line, column, back, is_first = sought
            self._seek(lines.line(line), column, back, is_first)

    def _counted_again(self, before: Search, fresh: Search, hits: list[Hit], counted: bool, capped: bool) -> None:
        fresh.hits.extend(hits)
        fresh.counted, fresh.capped = counted, capped
        if not counted or self._search is not before:
            return
        self._search, own = fresh, self._hit
        if own is not None and own not in fresh.hits:
            near = [hit for hit in fresh.hits if hit.line == own.line]
            self._hit = min(near, key=lambda hit: abs(hit.start - own.start), default=None)
        self._repaint_changed()
        self._moved()
