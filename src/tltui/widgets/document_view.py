"""The one widget that shows documents.

`DocumentView` adds to the canvas what a person does: moving, following links, selecting, the mouse; it remembers where
one was in each document. It knows no screens: it posts messages, and a screen answers by calling its methods.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.message import Message

from tltui.commands import Where
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Document, TextDocument
from tltui.text.unannotated import Unannotated
from tltui.widgets.bindings import bindings
from tltui.widgets.document_live import is_live
from tltui.widgets.document_names import Stop
from tltui.widgets.document_renewing import RenewingCanvas
from tltui.widgets.document_strips import WHOLE
from tltui.widgets.type_ahead import MOVES

PLACES = 500
"""Documents of which the place is remembered."""


@dataclass(frozen=True, slots=True)
class Place:
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

    @dataclass
    class Followed(Message):
        """A link was followed. (Links to a line of the same document, `line:N`, the view follows itself.)"""

        view: DocumentView
        target: str
        document: Document

        @property
        def control(self) -> DocumentView:
            """The view that posted this."""
            return self.view

    @dataclass
    class NameFollowed(Message):
        """Enter was pressed on a name that is no link. `line` counts from 0."""

        view: DocumentView
        name: str
        line: int

        @property
        def control(self) -> DocumentView:
            """The view that posted this."""
            return self.view

    @dataclass
    class Asked(Message):
        """A prompt is wanted: `what` is `line` (answer with `goto_line`), `search` (`search`) or `filter`
        (`set_filter`)."""

        view: DocumentView
        what: str

        @property
        def control(self) -> DocumentView:
            """The view that posted this."""
            return self.view

    class AskLine(Asked):
        """Asks for a line to go to; answer with `goto_line`."""

    class AskSearch(Asked):
        """Asks for a pattern; answer with `search`."""

    class AskFilter(Asked):
        """Asks for a pattern; answer with `set_filter`."""

    @dataclass
    class Told(Message):
        """A remark for the status bar."""

        view: DocumentView
        text: str

        @property
        def control(self) -> DocumentView:
            """The view that posted this."""
            return self.view

    @dataclass
    class Moved(Message):
        """Cursor, page, length, hits or selection changed. Lines and columns count from 0."""

        view: DocumentView
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
        def control(self) -> DocumentView:
            """The view that posted this."""
            return self.view

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
            """Only the last position counts."""
            return isinstance(message, DocumentView.Moved) and message.view is self.view

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._places: OrderedDict[str, Place] = OrderedDict()
        self._awaited: tuple[str | None, int, int] | None = None
        self.on_position: Callable[[DocumentView.Moved], None] | None = None
        """Called at each move in place of posting `Moved`: what it repaints goes to the terminal in the same frame as
        the cursor, a message would bring a second frame 30 ms later."""

    # documents

    def show(self, document: Document, *, top: str | None = None, at: int | None = None) -> None:
        """Show a document where one left it; or with the line of anchor `top` as the first row; or with line `at`
        (from 0) under the cursor."""
        self._remember()
        self._selected_from = None
        place = self._places.get(document.ref)
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
            found = document.where(place.anchor)
            line = place.line if found is None else found
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
        found = line if anchor is None else self._document.where(anchor)
        if self._cursor_line != origin or self._document.complete:
            self._awaited = None
        if self._cursor_line == origin and found is not None and found < len(self._document):
            self._awaited = None
            self.reveal(found)
            self.move_to(found, 0)

    def _remember(self) -> None:
        document = self._document
        if not document.ref or not len(document):
            return
        line, column = self.cursor
        offset = self._cursor_row() - self.scroll_offset.y
        place = Place(
            document.anchor(line), line, column, offset, self.scroll_offset.x, len(document), frozenset(self._folded),
            self.is_at_end,
        )
        self._places[document.ref] = place
        self._places.move_to_end(document.ref)
        while len(self._places) > PLACES:
            self._places.popitem(last=False)

    def goto_line(self, n: int) -> None:
        """Go to line `n`, counted from 1."""
        if n > len(self._document):
            more = "" if self._document.complete else " so far"
            self.tell(f"there are {len(self._document):,} lines{more}")
        line = min(max(n, 1), max(len(self._document), 1)) - 1
        self.reveal(line)
        self.move_to(line, 0)
        self._await_line(None, n - 1)

    def to_start(self) -> None:
        """The caret to where it is at first, and what stands above it into sight."""
        if (line := _start_of(self._document)) != self._cursor_line:
            self.move_to(line, 0)
        self._reveal_cursor(self._cursor_row())

    def goto_anchor(self, anchor: str) -> bool:
        """Go to the line of an anchor; False when there is none."""
        line = self._document.where(anchor)
        if line is not None:
            self.goto_line(line + 1)
        return line is not None

    # messages

    def tell(self, text: str) -> None:
        self.post_message(self.Told(self, text))

    def whereabouts(self) -> Moved:
        """Where one is."""
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
        """One row down."""
        self.move_rows(times)

    def action_cursor_up(self, times: int = 1) -> None:
        """One row up."""
        self.move_rows(-times)

    def action_page_down(self, times: int = 1) -> None:
        """One page down, less a row."""
        self.move_rows(times * max(self.size.height - 1, 1), scroll=True)

    def action_page_up(self, times: int = 1) -> None:
        """One page up, less a row."""
        self.move_rows(-times * max(self.size.height - 1, 1), scroll=True)

    def action_half_down(self, times: int = 1) -> None:
        """Half a page down."""
        self.move_rows(times * max(self.size.height // 2, 1), scroll=True)

    def action_half_up(self, times: int = 1) -> None:
        """Half a page up."""
        self.move_rows(-times * max(self.size.height // 2, 1), scroll=True)

    def action_top(self) -> None:
        """To the first row."""
        self.move_rows(-len(self._rows))

    def action_bottom(self) -> None:
        """To the last row."""
        self.move_rows(len(self._rows))

    def action_next_name(self) -> None:
        """The caret to the next name or link on the line; a long line scrolls along."""
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
        """The caret to the previous name or link on the line, at last to its beginning."""
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
            self.tell("no link or name here")

    def _follow(self, stop: Stop, line: int) -> None:
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
            self.tell("stopped: this page is not complete")
        else:
            return False
        return True


def _start_of(document: Document) -> int:
    return document.start if isinstance(document, (TextDocument, BytesDocument, Unannotated)) else 0
