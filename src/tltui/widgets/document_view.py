"""The one widget that shows documents; a page that is rendered again replaces the old one and keeps cursor and scroll offset."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message

from tltui.commands import Where
from tltui.text.annotations import Unannotated
from tltui.text.bytes_document import BytesDocument
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Hit, TextDocument
from tltui.text.formatting import cells as cell_len
from tltui.text.frozen import frozen, mutable
from tltui.text.line_correspondence import Renewed
from tltui.text.screen_rows import WRAP_LIMIT, RowMap, SectionIndex
from tltui.widgets.document_canvas import CaretStop, anchor_scroll
from tltui.widgets.document_rows import ADVANCE, Search, counting
from tltui.widgets.document_search import SelectingCanvas, is_live
from tltui.widgets.key_input import MOVES, bindings
from tltui.widgets.row_painter import WHOLE
from tltui.work.scheduler import Place, Steps, Task

TRIES = 3
"""How often the height of wrapped lines around the cursor is looked at: it is exact from the second time on."""
BEHIND = 200
"""Rows behind the end of before that must be new for the cursor to follow."""


@mutable
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
        self._paged_to: tuple[Document, int] | None = None
        """The document and the line to which the last press of the key of `action_fold` moved."""
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
        self.post(old, lambda: self._replace_document(renewal))

    # on the UI thread

    def _replace_document(self, renewal: Renewal) -> None:
        """Put a page in the place of the one that is shown."""
        self._renewing = None
        if (self._filter, self._is_wrapped) != (renewal.filter, renewal.is_wrapped):
            self.renew(renewal.document)  # a key came in between
            return
        document, lines = renewal.document, renewal.lines
        offset = self._cursor_row() - self.scroll_offset.y
        is_at_end = 0 < self._cursor_row() == len(self._rows) - 1 and self._selected_from is None
        is_at_end = is_at_end and lines.counterpart(self._cursor_line) is not None
        # whoever is at the top wants to see what comes in there
        place = 0 if not self._cursor_row() and not self.scroll_offset.y else lines.line(self._cursor_line)
        column = self._column_in(document, place)
        sought, search = self._sought_from, self._transfer_search(document, lines)
        self.drop_work()
        self._searching.clear()
        self._filtering = None
        self._transfer_folds(renewal)
        self._document, self._numbered, self._drawn_state = document, len(document), (len(document), document.version)
        self._cursor_line, self._cursor_column = place, column
        if self._selected_from is not None:
            self._selected_from = lines.line(self._selected_from)
        self._painter.clear()
        self._unhide(self._cursor_line)
        self._rows = self._fixed or self._make_rows(document)
        self._set_frame()
        self._stand(offset, lines if is_at_end else None)
        self._repaint_changed()
        self._search_again(search, lines, sought)
        self._moved()
        self._rested()

    def _transfer_folds(self, renewal: Renewal) -> None:
        """Transfer folds, filter and line lengths to the new page."""
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
            self.show_message(f"no line with: {renewal.filter}")

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
        anchor_scroll(self, Size(self._content_width(), max(self._row_count, self._floor)), top)
        if not self.scroll_offset.y <= self._cursor_row() < self.scroll_offset.y + self.size.height:
            self._reveal_cursor()

    def _column_in(self, document: Document, line: int) -> int:
        """Return the column of the caret in a line of the new page: on the same link or name, when there is one."""
        column = self._cursor_column
        stop = self.stop_at_caret()
        if stop is None or not 0 <= line < len(document):
            return column
        stops = self._stops_of(document, line)
        same = [other for other in stops if (other.target, other.text) == (stop.target, stop.text)]
        same = same or [other for other in stops if stop.target and other.target == stop.target]
        near = min(same, key=lambda other: abs(other.start - stop.start), default=None)
        return column if near is None else near.start + column - stop.start

    def _stops_of(self, document: Document, line: int) -> list[CaretStop]:
        shown, self._document = self._document, document
        try:
            return self.stops_in(line, 0, self._cursor_column + 4096)
        finally:
            self._document = shown

    # the search

    def _transfer_search(self, document: Document, lines: Renewed) -> Search | None:
        """Return the search in the new page, with the hits of lines that are the same; the rest is found soon."""
        search, current = self._search, self._hit
        if search is None:
            return None
        moved = Search(search.source, search.pattern, document)
        moved.counted, moved.capped, moved.counting = search.counted, search.capped, search.counting
        if isinstance(document, TextDocument):
            for hit in search.hits:
                place = lines.counterpart(hit.line)
                if place is not None and self._document.line(hit.line).text == document.line(place).text:
                    moved.hits.append(replace(hit, line=place))
            moved.hits.sort(key=lambda hit: (hit.line, hit.start))
        else:
            moved.hits = search.hits
        if current is not None:
            place = lines.counterpart(current.line)
            self._hit = None if place is None else replace(current, line=place)
        return moved

    def _search_again(self, search: Search | None, lines: Renewed, sought: tuple[int, int, bool, bool] | None) -> None:
        """Have the hits of the new page counted; what was found in the old one is shown until then."""
        self._search = search
        if search is None:
            return
        if search.counting:
            fresh = replace(search, hits=[], counted=False, capped=False)

            def report(hits: list[Hit], counted: bool, capped: bool) -> None:
                self.post(search.document, lambda: self._counted_again(search, fresh, hits, counted, capped))

            self._searching.append(self.work(counting(fresh, report)))
        if sought is not None:
            line, column, back, is_first = sought
            self._seek(lines.line(line), column, back, is_first)

    def _counted_again(self, before: Search, fresh: Search, hits: list[Hit], counted: bool, capped: bool) -> None:
        fresh.hits.extend(hits)
        fresh.counted, fresh.capped = counted, capped
        if not counted or self._search is not before:
            return
        self._search, current = fresh, self._hit
        if current is not None and current not in fresh.hits:
            near = [hit for hit in fresh.hits if hit.line == current.line]
            self._hit = min(near, key=lambda hit: abs(hit.start - current.start), default=None)
        self._repaint_changed()
        self._moved()


TRAIL = " ▸ "
"""Separator between the parts of a title."""
PLACES = 500
"""Documents of which the place is remembered."""


@frozen
class ViewPlace:
    """Where one was in a document: by anchor, so that it survives another width or order."""

    anchor: str
    line: int
    column: int
    offset: int
    x: int
    lines: int
    folded: frozenset[int]
    at_end: bool


class DocumentView(RenewingCanvas):
    """Shows a document; `commands.py` says which keys call its `action_…` methods."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.DOCUMENT)
    REPEATED: ClassVar[frozenset[str]] = MOVES

    @mutable(slots=False)
    class ViewMessage(Message):
        """A message of a view."""

        view: DocumentView

        @property
        def control(self) -> DocumentView:
            """The sender, for selectors of `textual.on`."""
            return self.view

    @mutable(slots=False)
    class Followed(ViewMessage):
        """A link was followed. (Links to a line of the same document, `line:N`, the view follows itself.)"""

        target: str
        document: Document

    @mutable(slots=False)
    class NameFollowed(ViewMessage):
        """Enter was pressed on a name that is no link. `line` counts from 0."""

        name: str
        line: int

    @mutable(slots=False)
    class Asked(ViewMessage):
        """Request for a prompt: `line` (answer with `goto_line`), `search` (`search`) or `filter` (`set_filter`)."""

        prompt: str

    class AskLine(Asked):
        """Asks for a line to go to; answer with `goto_line`."""

    class AskSearch(Asked):
        """Asks for a pattern; answer with `search`."""

    class AskFilter(Asked):
        """Asks for a pattern; answer with `set_filter`."""

    @mutable(slots=False)
    class Notified(ViewMessage):
        """A remark for the status bar."""

        text: str

    @mutable(slots=False)
    class Moved(ViewMessage):
        """Cursor, page, length, hits or selection changed. Lines and columns count from 0."""

        line: int
        column: int
        lines: int
        top: int
        bottom: int
        hits: str
        selected: int
        complete: bool
        left: int = 0
        """Cells that are hidden at the left edge."""

        @property
        def position(self) -> str:
            """`1/46`, with `…` while more lines are being found, and the first cell in sight of a page scrolled sideways."""
            left = f" from {self.left + 1:,}" if self.left else ""
            return f"{min(self.line + 1, self.lines):,}/{self.lines:,}{'' if self.complete else '…'}{left}"

        @property
        def percent(self) -> int:
            """How much of the document is above the lower edge of the page."""
            return 100 if self.bottom + 1 >= self.lines else 100 * (self.bottom + 1) // self.lines

        def can_replace(self, message: Message) -> bool:
            """Replace an earlier position: only the last one counts."""
            return isinstance(message, DocumentView.Moved) and message.view is self.view

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._places: OrderedDict[str, ViewPlace] = OrderedDict()
        self._awaited: tuple[str | None, int, int] | None = None
        self.on_position: Callable[[DocumentView.Moved], None] | None = None
        """Called at each move in place of posting `Moved`: what it repaints goes to the terminal in the same frame as
        the cursor, a message would bring a second frame 30 ms later."""
        self.trail_of: Callable[[Document], Sequence[str]] = lambda document: (document.title,)
        """The parts of the title: the run, the part of it, the page."""

    def _title(self, room: int) -> str:
        parts = self.trail_of(self._document)
        trail = TRAIL.join(parts)
        return trail if len(parts) == 1 or cell_len(trail) <= room else TRAIL.join(parts[1:])

    # documents

    def show(self, document: Document, *, top: str | None = None, at: int | None = None) -> None:
        """Show a document where it was left.

        `top`: anchor of the first row; `at`: line under the cursor, from 0.
        """
        self._remember()
        self._selected_from = None
        place = self._places.get(_place_key(document))
        is_same = place is not None and place.lines == len(document)
        rows = self._begin(document, set(place.folded) if place and is_same else None)
        line, column, offset, x = 0, 0, 0, 0
        anchor = top if top is not None else place.anchor if place and at is None else None
        if top is not None:
            line = document.where(top) or 0
        elif at is not None:
            height = self.size.height or (self.screen.size.height if self.is_attached else 0)  # 0: not laid out yet
            line, offset = at, height // 3
        elif place is not None:
            anchor_line = document.where(place.anchor)
            line = place.line if anchor_line is None else anchor_line
            column, offset, x = place.column, place.offset, 0 if self._is_wrapped else place.x
        else:
            line = offset = _start_of(document)
        if is_live(document) and top is None and at is None and (place is None or place.at_end):
            line, offset = len(document) - 1, self.size.height  # one follows what is written, until one moves away from its end
        wanted, line = line, min(max(line, 0), max(len(document) - 1, 0))
        self._show_document(document, rows, line, column, offset, x)
        if top is not None or at is not None:
            self.reveal(line)
        self._cursor_line = max(self._row_at(self._cursor_row()).line, 0)
        self._await_line(anchor, wanted)
        self._moved()

    def _await_line(self, anchor: str | None, line: int) -> None:
        """Remember to go to a line that the line index has not reached yet."""
        document = self._document
        is_there = line < len(document) if anchor is None else document.where(anchor) is not None
        self._awaited = None if document.complete or is_there else (anchor, line, self._cursor_line)

    def document_grown(self) -> None:
        """Show what was added; go to a line that was asked for, unless the cursor was moved since."""
        super().document_grown()
        if self._awaited is None:
            return
        anchor, line, origin = self._awaited
        target = line if anchor is None else self._document.where(anchor)
        if self._cursor_line != origin or self._document.complete:
            self._awaited = None
        if self._cursor_line == origin and target is not None and target < len(self._document):
            self._awaited = None
            self.reveal(target)
            self.move_to(target, 0)

    def _remember(self) -> None:
        document = self._document
        if not len(document):
            return
        line, column = self.cursor
        offset = self._cursor_row() - self.scroll_offset.y
        place = ViewPlace(
            document.anchor(line), line, column, offset, self.scroll_offset.x, len(document), frozenset(self._folded),
            self.is_at_end,
        )
        key = _place_key(document)
        self._places[key] = place
        self._places.move_to_end(key)
        while len(self._places) > PLACES:
            self._places.popitem(last=False)

    def goto_line(self, n: int) -> None:
        """Go to line `n`, counted from 1."""
        if n > len(self._document):
            more = "" if self._document.complete else ", more to come"
            self.show_message(f"the page has {len(self._document):,} lines{more}")
        line = min(max(n, 1), max(len(self._document), 1)) - 1
        self.reveal(line)
        self.move_to(line, 0)
        self._await_line(None, n - 1)

    def to_start(self) -> None:
        """Move the caret to its initial line, and scroll to the lines above it and to the rest of its section."""
        if (line := _start_of(self._document)) != self._cursor_line:
            self.move_to(line, 0)
        row, height = self._cursor_row(), self.size.height
        below = max((self._rows.row_of(section.last, 0) - row for section in self._sections.around(line)), default=0)
        self._reveal_cursor(min(row, max(height - 1 - below, 1)))

    # messages

    def show_message(self, text: str) -> None:
        self.post_message(self.Notified(self, text))

    def whereabouts(self) -> Moved:
        """Return the position."""
        top = self.scroll_offset.y
        first, last = self._row_at(top).line, self._row_at(min(top + self.size.height, len(self._rows)) - 1).line
        selected = self.selection() or ()
        return self.Moved(
            self, self._cursor_line, self._caret_column, len(self._document), first, last, self.hits,
            len(selected), self._document.complete, self.scroll_offset.x,
        )  # fmt: skip

    def _moved(self) -> None:
        if not self.is_mounted:
            return
        if self.on_position is None:
            self.post_message(self.whereabouts())
        else:
            self.on_position(self.whereabouts())

    # movement

    def action_cursor_down(self, times: int = 1) -> None:
        """Move one row down."""
        self.move_rows(times)

    def action_cursor_up(self, times: int = 1) -> None:
        """Move one row up."""
        self.move_rows(-times)

    def action_page_down(self, times: int = 1) -> None:
        """Move one page down, less a row."""
        self.move_rows(times * max(self.size.height - 1, 1), scroll=True)

    def action_fold(self) -> None:
        """Close or open the section at the cursor, or move one page down.

        A press after such a move is another one, also if it ended on a heading.
        """
        place = self._document, self._cursor_line
        if self._paged_to == place or not self.fold_here():
            self.action_page_down()
            self._paged_to = self._document, self._cursor_line

    def action_page_up(self, times: int = 1) -> None:
        """Move one page up, less a row."""
        self.move_rows(-times * max(self.size.height - 1, 1), scroll=True)

    def action_half_down(self, times: int = 1) -> None:
        """Move half a page down."""
        self.move_rows(times * max(self.size.height // 2, 1), scroll=True)

    def action_half_up(self, times: int = 1) -> None:
        """Move half a page up."""
        self.move_rows(-times * max(self.size.height // 2, 1), scroll=True)

    def action_top(self) -> None:
        """Go to the first row."""
        self.move_rows(-len(self._rows))

    def action_bottom(self) -> None:
        """Go to the last row."""
        self.move_rows(len(self._rows))

    def action_next_name(self) -> None:
        """Move the caret to the next name or link on the line; a long line scrolls along."""
        if not len(self._document):
            return
        column, length = self._caret_column, self._document.length(self._cursor_line)
        following = next(iter(self.stops_in(self._cursor_line, column + 1, column + WHOLE)), None)
        if following is not None:
            self.move_to(self._cursor_line, following.start)
        elif length > column + WHOLE:
            self.move_to(self._cursor_line, column + WHOLE)
        elif column < length:
            self.move_to(self._cursor_line, max(length - 1, column))

    def action_previous_name(self) -> None:
        """Move the caret to the previous name or link on the line, at last to its beginning."""
        if not len(self._document):
            return
        column = self._caret_column
        before = self.stops_in(self._cursor_line, max(column - WHOLE, 0), column)
        if before:
            self.move_to(self._cursor_line, before[-1].start)
        elif column:
            self.move_to(self._cursor_line, max(column - WHOLE, 0))

    # following

    def action_follow(self) -> None:
        """Follow what is under the caret: a link, else a name; without one the next link of the line, else fold."""
        line, stop = self._cursor_line, self.stop_at_caret()
        if stop is None:
            near = self.stops_in(line, 0, self._caret_column + WHOLE) if len(self._document) else []
            links = [stop for stop in near if stop.target]
            stop = next((stop for stop in links if stop.start >= self._caret_column), next(iter(links), None))
        if stop is not None:
            self._follow(stop, line)
        elif self._sections.headed(line):
            self.action_fold()
        else:
            self.show_message("no link or name on this line")

    def _follow(self, stop: CaretStop, line: int) -> None:
        if not stop.target:
            self.post_message(self.NameFollowed(self, stop.text, line))
        elif stop.target.startswith("line:") and stop.target[5:].isdigit():
            self.goto_line(int(stop.target[5:]))
        else:
            self.post_message(self.Followed(self, stop.target, self._document))

    def action_ask_line(self) -> None:
        """Ask for a line to go to."""
        self.post_message(self.AskLine(self, "line"))

    def action_ask_search(self) -> None:
        """Ask for a pattern to search for."""
        self.post_message(self.AskSearch(self, "search"))

    def action_ask_filter(self) -> None:
        """Ask for a pattern that lines must have."""
        self.post_message(self.AskFilter(self, "filter"))

    # the end of things

    def close_innermost(self) -> bool:
        """End selection, else filter, else search, else a page in the making. False when there was none of them."""
        if self._selected_from is not None:
            self._end_selection()
        elif self.filter_text:
            self.set_filter("")
        elif self._search is not None:
            self.search("")
        elif self.stop_growing():
            self.show_message("stopped: this page is incomplete")
        else:
            return False
        return True


def _place_key(document: Document) -> str:
    """Return the name under which the place in a document is remembered; the summary of the run has the address ''."""
    return document.ref or document.title


def _start_of(document: Document) -> int:
    return document.start if isinstance(document, (TextDocument, BytesDocument, Unannotated)) else 0
