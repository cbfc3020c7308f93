"""How the document widget looks: lines, gutter, the row of the cursor, title.

A cursor move repaints two rows: over SSH bytes are dear. `DocumentCanvas` moves and scrolls.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tltui.text import cut
from tltui.text.document import Document, TextDocument
from tltui.text.resume_names import short
from tltui.text.rows import WRAP_CAP, Lines, Row, RowMap
from tltui.text.script import Script, script_for
from tltui.text.width import ELLIPSIS
from tltui.text.width import cells as cell_len
from tltui.widgets.document_names import Stop, stops
from tltui.widgets.document_strips import ASCII_MARKS, WHOLE, Fragment, Look, Marks, Painter, key_of
from tltui.widgets.looks import part_style
from tltui.widgets.undrawn import row_by_row

CARET_IN_REVERSE = "caret-in-reverse"
IN_REVERSE = {"caret": CARET_IN_REVERSE}
"""What lies over a row in reverse video instead."""
BETWEEN = " · "
"""Between the parts of a title."""
TITLE_EDGES = 4
"""Cells of the border that a title leaves free at both sides."""


class DrawnDocument(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws a document with a cursor. Knows rows, but not why they are as they are."""

    ALLOW_SELECT = False

    def __init__(
        self,
        *,
        mouse: bool = True,
        ascii_only: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.mouse = mouse
        self.marks = ASCII_MARKS if ascii_only else Marks()
        self.numbers: bool | None = None
        """Line numbers: True, False, or None for those documents that have a language."""
        self._document: Document = TextDocument("", "")
        self._numbered = 0
        """Lines that the gutter is made for: a growing document must not shift single rows."""
        self._rows: RowMap = Lines(range(0))
        self._row_count = 0
        self._cursor_line = 0
        self._cursor_column = 0
        self._lead = ""
        self._base_styles: dict[str, Style] = {}
        self._painter = Painter(self._part, self.marks.cut)
        self._drawn: dict[int, Strip] = {}
        """Screen row → what was drawn there last."""

    # what others may ask

    @property
    def document(self) -> Document:
        """The document that is shown."""
        return self._document

    @property
    def rows(self) -> RowMap:
        """Which line stands in which row."""
        return self._rows

    @property
    def cursor(self) -> tuple[int, int]:
        """Line and column of the caret, from 0."""
        return self._cursor_line, self._cursor_column

    @property
    def script(self) -> Script:
        """With which characters the document is drawn."""
        return script_for(self.marks is ASCII_MARKS, self._document.language)

    def current_line(self) -> int:
        """The line that the cursor is on, from 0."""
        return self._cursor_line

    @property
    def has_numbers(self) -> bool:
        """Whether line numbers are shown."""
        return bool(self._document.language) if self.numbers is None else self.numbers

    @property
    def gutter_width(self) -> int:
        """Cells left of the text: mark, number, fold, and whether the row begins with its line."""
        return 3 + self._number_width

    @property
    def _number_width(self) -> int:
        return max(len(str(self._numbered)), 3) if self.has_numbers else 0

    @property
    def text_width(self) -> int:
        """Cells that a row has for text."""
        return max(self.scrollable_content_region.width - self.gutter_width, 1)

    # styles

    def notify_style_update(self) -> None:
        """Textual calls this when colours may have changed."""
        super().notify_style_update()
        self._base_styles.clear()
        self._painter.clear()

    def _part(self, name: str) -> Style:
        return part_style(self.app.theme, name)

    def _base_style(self, name: str) -> Style:
        style = self._base_styles.get(name)
        if style is None:
            style = self._base_styles[name] = self.rich_style + self._part(name)
        return style

    # drawing

    def render_line(self, y: int) -> Strip:
        """One screen row."""
        strip = self._drawn[y] = self._strip(y)
        return strip

    @row_by_row
    def _strip(self, y: int) -> Strip:
        x, top = self.scroll_offset
        row = self._row_at(top + y)
        if row.line < 0:
            return Strip.blank(self.size.width, self._base_style(""))
        look = self._look(row)
        fragment = self._fragment(row, x)
        base, flat = self._base_style(look.base), self._is_flat(look.base)
        if base.reverse:
            overlays = [(start, end, IN_REVERSE.get(name, name)) for start, end, name in look.overlays]
            look.overlays = sorted(overlays, key=lambda overlay: overlay[2] == CARET_IN_REVERSE)  # on top
        if look.overlays or look.tail:
            body = self._painter.covered(fragment, base, look.overlays, look.tail, flat)
        else:
            body = self._painter.strip(key_of(row, x), fragment, base, flat)
        return Strip([*self._gutter_segments(row, look, base, flat), *body])

    def _is_flat(self, name: str) -> bool:
        """Whether a row of this look is drawn in one colour: its ground brings its own, or it is in reverse video."""
        base = self._base_style(name)
        return bool(base.reverse) or base.color != self.rich_style.color

    def _row_at(self, row: int) -> Row:
        found = self._rows.at(row)
        if len(self._rows) != self._row_count:  # wrapped lines turned out to be higher or lower than guessed
            self._row_count = len(self._rows)
            self.call_later(self._resized_rows)
        return found

    def _fragment(self, row: Row, x: int) -> Fragment:
        return self._painter.fragment(self._document, row, x, self.text_width)

    def _gutter_segments(self, row: Row, look: Look, base: Style, flat: bool) -> list[Segment]:
        style = base if flat else base + self._part("gutter-cursor" if look.base == "cursor" else "gutter")
        is_left = self.scroll_offset.x and self._document.length(row.line)
        before = self.marks.onward if row.part else self.marks.before if is_left else " "
        number = ""
        if self.has_numbers:
            number = (str(row.line + 1) if not row.part else "").rjust(self._number_width)
        sign, name = (self.marks.hit, "hit-mark") if look.is_hit else (look.sign or " ", look.sign_style)
        if name == "hit-mark" and look.edge:
            name = look.edge
        if flat or not (look.is_hit or look.sign or look.edge):
            return [Segment(f"{sign}{number}{look.fold}{before}", style)]
        mark = base + self._part(name)
        if look.base == "match":
            mark += self._part("match-mark")
        return [Segment(sign, mark), Segment(f"{number}{look.fold}{before}", style)]

    def _look(self, row: Row) -> Look:
        """What lies over a row; `DocumentView` adds hits, selection and folds."""
        look = Look()
        if self._is_cursor(row):
            look.base = "cursor" if self.has_focus else "cursor-away"
            look.edge = "edge" if self.has_focus else "edge-away"
            if self.has_focus:
                stop = self.stop_at_caret()
                start, end = (stop.start, stop.end) if stop else (self._caret_column, self._caret_column + 1)
                look.overlays.append((start, end, "caret"))
        return look

    def _is_cursor(self, row: Row) -> bool:
        if row.line != self._cursor_line:
            return False
        is_last = row.hi is None or row.hi >= WRAP_CAP
        return row.lo <= self._caret_column and (is_last or self._caret_column < (row.hi or 0))

    @property
    def _caret_column(self) -> int:
        """The column wanted, or the end of a shorter line."""
        line = self._cursor_line
        if self._cursor_column <= 0 or not 0 <= line < len(self._document):
            return 0
        return min(self._cursor_column, self._document.length(line))

    def stops_in(self, line: int, lo: int, hi: int) -> list[Stop]:
        """Links and names that begin in columns `lo` to `hi` of a line."""
        if self._document.length(line) <= WHOLE:
            part = self._document.line(line)
        else:
            part = self._document.line(line, max(lo - 256, 0), hi + 256)
        return [stop for stop in stops(part, bool(self._document.language)) if lo <= stop.start < hi]

    def stop_at_caret(self) -> Stop | None:
        """The link or name under the caret."""
        line, column = self._cursor_line, self._caret_column
        if not 0 <= line < len(self._document):
            return None
        near = self.stops_in(line, max(column - 256, 0), column + 1)
        return next((stop for stop in reversed(near) if stop.start <= column < stop.end), None)

    def _repaint(self, first: int, last: int | None = None) -> None:
        """Repaint the rows `first` to `last` (inclusive), where they are in sight."""
        last = first if last is None else last
        top, height = self.scroll_offset.y, self.size.height
        lo, hi = max(min(first, last) - top, 0), min(max(first, last) - top, height - 1)
        if lo <= hi:
            self.refresh(Region(0, lo, self.size.width, hi - lo + 1))

    def _repaint_changed(self) -> None:
        """Repaint those rows in sight that are to look otherwise than they were drawn last."""
        for y in range(self.size.height):
            if self._drawn.get(y) != self._strip(y):
                self.refresh(Region(0, y, self.size.width, 1))

    # the title

    def _set_frame(self) -> None:
        """Title and badge in the upper border. The position is not in it: it changes with each key."""
        is_ascii = self.marks is ASCII_MARKS
        script = script_for(is_ascii)
        lead = f"{self._lead}{BETWEEN}" if self._lead else ""
        badge = f"{BETWEEN}{said}" if (said := self._badge()) else ""
        title = script.drawn(short(self._title(), is_ascii))
        lead, badge = script.drawn(lead), script.drawn(badge)
        room = self.size.width - TITLE_EDGES - cell_len(lead) - cell_len(badge)
        shown = cut.middle(title, max(room, 0)) if self.size.width else title
        content = Content(lead + (shown if shown == title else shown.replace(ELLIPSIS, self.marks.cut)) + badge)
        if self.border_title != content.markup:
            self.border_title = content

    def _title(self) -> str:
        """What stands over the document."""
        return self._document.title

    def _badge(self) -> str:
        """What stands behind the title."""
        return self._document.badge

    def joined(self, *parts: str) -> str:
        """Parts of a title, those that are not empty."""
        return script_for(self.marks is ASCII_MARKS).drawn(BETWEEN).join(part for part in parts if part)

    def set_lead(self, text: str) -> None:
        """What stands in the upper border before the title."""
        if text != self._lead:
            self._lead = text
            self._set_frame()

    # for DocumentCanvas

    def _resized_rows(self) -> None:
        """Rows turned out to be more or fewer than was thought."""
