"""The drawn and scrolled part of the document widget: lines, gutter, title, cursor row, links and names under the caret.

Trees and documents share its scrolling: sideways by half a page, an anchor while content grows, the cell under the mouse.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.events import MouseEvent
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

from tltui.terminal.frames import shows_hyperlinks
from tltui.text import formatting, tokens
from tltui.text.document import Document, Line, TextDocument
from tltui.text.formatting import ELLIPSIS, Script, script_for
from tltui.text.formatting import cells as cell_len
from tltui.text.frozen import frozen
from tltui.text.screen_rows import WRAP_CAP, Lines, Row, RowMap
from tltui.text.torch_names import short
from tltui.widgets.row_painter import ASCII_MARKS, WHOLE, Fragment, Marks, Painter, RowStyle, key_of, row_by_row
from tltui.widgets.themes import part_style

WHEEL = 6
"""Cells that a step of the wheel scrolls."""
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_WORD = re.compile(r"\w+")

_NO_NAMES = frozenset({tokens.KEYWORD, tokens.CONSTANT, tokens.TYPE, tokens.NUMBER, tokens.OPERATOR, tokens.CONTROL})
_PROSE = frozenset({tokens.COMMENT, tokens.ORIGIN, tokens.STRING, tokens.HEADING, tokens.DIM})
_NAMED = frozenset({tokens.NAME, tokens.DEFINITION, tokens.FUNCTION})

CARET_IN_REVERSE = "caret-in-reverse"
IN_REVERSE = {"caret": CARET_IN_REVERSE}
"""What lies over a row in reverse video instead."""
BETWEEN = " · "
"""Between the parts of a title."""
TITLE_EDGES = 4
"""Cells of the border that a title leaves free at both sides."""
MARGIN = 12
"""Cells that stay free right of the caret when a long line is scrolled."""


@frozen
class CaretStop:
    """Columns `start` to `end` (exclusive) of a line: a link with a `target`, or the name `text`."""

    start: int
    end: int
    text: str
    target: str = ""


class Extent(NamedTuple):
    """What is shown of the rows in sight, in cells."""

    left: int
    """Cells that are hidden at the left edge."""
    room: int
    """Cells in sight."""
    widest: int
    """Cells of the widest row."""


def cell_under(widget: Widget, event: MouseEvent) -> Offset:
    """Return the cell under the mouse, counted from the first one that the widget draws in, inside its border.

    Outside of the widget coordinates continue, below zero too.
    """
    return event.screen_offset - widget.scrollable_content_region.offset


def is_inside(widget: Widget, event: MouseEvent) -> bool:
    """Return whether the mouse is where the widget draws: not on its border or scroll bar."""
    return widget.scrollable_content_region.contains_point(event.screen_offset)


def anchor_scroll(view: ScrollView, size: Size, top: int) -> None:
    """Give a view as many rows and columns as `size` says, and show it from row `top` on, as far as it has so many rows."""
    if (size.height > view.size.height) > view.show_vertical_scrollbar:  # its scroll bar appears: that is laid out, once
        view.virtual_size = size
        view.scroll_to(y=top, animate=False, force=True, immediate=True)
        return
    view.set_reactive(Widget.virtual_size, size)
    top = min(max(top, 0), max(int(view.max_scroll_y), 0))
    view.set_reactive(Widget.scroll_y, float(top))
    view.set_reactive(Widget.scroll_target_y, float(top))
    bar = view.vertical_scrollbar
    before = _scrollbar_segments(bar)
    bar.set_reactive(ScrollBar.window_virtual_size, size.height)
    bar.set_reactive(ScrollBar.position, bar.validate_position(top))
    if _scrollbar_segments(bar) != before:
        bar.refresh()


def _scrollbar_segments(bar: ScrollBar) -> list[tuple[str, object]]:
    """Return the segments that a scroll bar draws."""
    drawn = ScrollBarRender.render_bar(
        size=bar.size.height,
        virtual_size=bar.window_virtual_size,
        window_size=bar.window_size if bar.window_size < bar.window_virtual_size else 0,
        position=bar.position,
    )
    return [(segment.text, segment.style) for segment in drawn.segments]


class Sideways(Widget):
    """A widget whose rows may be wider than it is."""

    mouse_scrolls = True
    """Whether the wheel is for it."""

    def extent(self) -> Extent:
        """Return the extent of the rows in sight."""
        raise NotImplementedError

    def shift_to(self, left: int) -> None:
        """Show the rows from cell `left` on."""
        raise NotImplementedError

    def show_message(self, text: str) -> None:
        """Show a message in the status bar."""
        raise NotImplementedError

    def why_not_sideways(self) -> str:
        """Return why there is nothing at the sides; '' when there may be."""
        return ""

    def scroll_sideways(self, cells: int) -> None:
        """Scroll by so many cells (to the right), as far as a row in sight goes on."""
        if why := self.why_not_sideways():
            self.show_message(why)
            return
        left, room, widest = self.extent()
        to = max(min(left + cells, max(widest - room, left)), 0) if cells > 0 else max(left + cells, 0)
        if to != left:
            self.shift_to(to)
        else:
            self.show_message("no visible line extends to the right" if cells > 0 else "this is already the left edge")

    def action_scroll_right(self) -> None:
        """Scroll half a page to the right."""
        self.scroll_sideways(max(self.extent().room // 2, 1))

    def action_scroll_left(self) -> None:
        """Scroll half a page to the left."""
        self.scroll_sideways(-max(self.extent().room // 2, 1))

    def is_sideways(self, event: events.MouseEvent, cells: int) -> bool:
        """Scroll by the wheel with shift held down; False for a wheel without it."""
        if not event.shift:
            return False
        self._wheel(event, cells)
        return True

    def _wheel(self, event: events.MouseEvent, cells: int) -> None:
        event.stop()
        event.prevent_default()
        left, room, widest = self.extent()
        if self.mouse_scrolls and not self.why_not_sideways() and (left if cells < 0 else left + room < widest):
            self.scroll_sideways(cells)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll right with shift."""
        self.is_sideways(event, WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll left with shift."""
        self.is_sideways(event, -WHEEL)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Scroll by a horizontal wheel."""
        self._wheel(event, WHEEL)

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Scroll by a horizontal wheel."""
        self._wheel(event, -WHEEL)


def caret_stops(line: Line, is_code: bool) -> list[CaretStop]:
    """Return the stops of a line (or of the part of it that was decoded), from left to right.

    In code every identifier is a name, but in comments and strings only those that look like one (`add_1`, not `add`).
    On pages that tltui wrote, only what they mark as a name is.
    """
    end = line.first + len(line.text)
    stops = [
        CaretStop(link.start, link.end, line.text[max(link.start - line.first, 0) : link.end - line.first], link.target)
        for link in line.links
        if link.start < end and link.end > line.first
    ]
    links = list(stops)
    for match in _NAME.finditer(line.text):
        start, stop = match.start() + line.first, match.end() + line.first
        if any(link.start < stop and start < link.end for link in links):
            continue
        if _is_name(match.group(), _style_at(line, start), is_code):
            stops.append(CaretStop(start, stop, match.group()))
    return sorted(stops, key=lambda stop: stop.start)


def _style_at(line: Line, column: int) -> str:
    style = ""
    for span in line.spans:
        if span.start <= column < span.end:
            style = span.style
    return style


def _is_name(word: str, style: str, is_code: bool) -> bool:
    if not is_code:
        return style in _NAMED
    if style in _PROSE:
        return "_" in word or any(char.isdigit() for char in word)
    return style not in _NO_NAMES


def word_at(line: Line, column: int) -> str:
    """Return the word that covers a column, or the next one to the right; '' for none."""
    for match in _WORD.finditer(line.text):
        if match.end() + line.first > column:
            return match.group()
    return ""


class DrawnDocument(ScrollView, can_focus=True, inherit_bindings=False):
    """Draws a document with a cursor. Knows rows, but not why they are as they are."""

    ALLOW_SELECT = False
    SCROLLS_BY_HALVES: ClassVar[bool] = False
    """Whether a cursor that leaves the pane is put in its middle.

    Next to another pane a terminal cannot scroll, so that all rows are sent again: for most lines none then are.
    """

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
        self._painter = Painter(self._part, self.marks.cut, hyperlinks=not ascii_only and shows_hyperlinks())
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
        """Return the line that the cursor is on, from 0."""
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
        """Drop cached styles: colours may have changed."""
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
        """Render a screen row."""
        strip = self._drawn[y] = self._strip(y)
        return strip

    @row_by_row
    def _strip(self, y: int) -> Strip:
        x, top = self.scroll_offset
        row = self._row_at(top + y)
        if row.line < 0:
            return Strip.blank(self.size.width, self._base_style(""))
        row_style = self._row_style(row)
        fragment = self._fragment(row, x)
        base, flat = self._base_style(row_style.base), self._is_flat(row_style.base)
        if base.reverse:
            overlays = [(start, end, IN_REVERSE.get(name, name)) for start, end, name in row_style.overlays]
            row_style.overlays = sorted(overlays, key=lambda overlay: overlay[2] == CARET_IN_REVERSE)  # on top
        if row_style.overlays or row_style.tail:
            body = self._painter.covered(fragment, base, row_style.overlays, row_style.tail, flat)
        else:
            body = self._painter.strip(key_of(row, x), fragment, base, flat)
        return Strip([*self._gutter_segments(row, row_style, base, flat), *body])

    def _is_flat(self, name: str) -> bool:
        """Return whether a row of this look is drawn in one colour: its ground brings its own, or it is in reverse video."""
        base = self._base_style(name)
        return bool(base.reverse) or base.color != self.rich_style.color

    def _row_at(self, row: int) -> Row:
        entry = self._rows.at(row)
        if len(self._rows) != self._row_count:  # wrapped lines turned out to be higher or lower than guessed
            self._row_count = len(self._rows)
            self.call_later(self._resized_rows)
        return entry

    def _fragment(self, row: Row, x: int) -> Fragment:
        return self._painter.fragment(self._document, row, x, self.text_width)

    def _gutter_segments(self, row: Row, row_style: RowStyle, base: Style, flat: bool) -> list[Segment]:
        style = base if flat else base + self._part("gutter-cursor" if row_style.base == "cursor" else "gutter")
        is_left = self.scroll_offset.x and self._document.length(row.line)
        before = self.marks.onward if row.part else self.marks.before if is_left else " "
        number = ""
        if self.has_numbers:
            number = (str(row.line + 1) if not row.part else "").rjust(self._number_width)
        sign, name = (self.marks.hit, "hit-mark") if row_style.is_hit else (row_style.sign or " ", row_style.sign_style)
        if name == "hit-mark" and row_style.edge:
            name = row_style.edge
        label, rest = row_style.label, f"{number}{row_style.fold}{before}"
        if flat or not (row_style.is_hit or row_style.sign or row_style.edge or label.strip()):
            return [Segment(f"{sign}{label}{rest}", style)]
        mark = base + self._part(name)
        letters, blanks = label.rstrip(), label[len(label.rstrip()) :]
        return [Segment(sign, mark), Segment(letters, base + self._part(row_style.label_style)), Segment(f"{blanks}{rest}", style)]

    def _row_style(self, row: Row) -> RowStyle:
        """Return the style of a row; `DocumentView` adds hits, selection and folds."""
        row_style = RowStyle()
        if self._is_cursor(row):
            row_style.base = "cursor" if self.has_focus else "cursor-away"
            row_style.edge = "edge" if self.has_focus else "edge-away"
            if self.has_focus:
                stop = self.stop_at_caret()
                start, end = (stop.start, stop.end) if stop else (self._caret_column, self._caret_column + 1)
                row_style.overlays.append((start, end, "caret"))
        return row_style

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

    def stops_in(self, line: int, lo: int, hi: int) -> list[CaretStop]:
        """Return links and names that begin in columns `lo` to `hi` of a line."""
        if self._document.length(line) <= WHOLE:
            part = self._document.line(line)
        else:
            part = self._document.line(line, max(lo - 256, 0), hi + 256)
        return [stop for stop in caret_stops(part, bool(self._document.language)) if lo <= stop.start < hi]

    def stop_at_caret(self) -> CaretStop | None:
        """Return the link or name under the caret."""
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
        """Show title and badge in the upper border, but not the position, which changes with each key."""
        is_ascii = self.marks is ASCII_MARKS
        script = script_for(is_ascii)
        lead = f"{self._lead}{BETWEEN}" if self._lead else ""
        badge = f"{BETWEEN}{badge_text}" if (badge_text := self._badge()) else ""
        lead, badge = script.drawn(lead), script.drawn(badge)
        room = self.size.width - TITLE_EDGES - cell_len(lead) - cell_len(badge)
        title = script.drawn(short(self._title(room), is_ascii))
        shown = formatting.middle(title, max(room, 0)) if self.size.width else title
        content = Content(lead + (shown if shown == title else shown.replace(ELLIPSIS, self.marks.cut)) + badge)
        if self.border_title != content.markup:
            self.border_title = content

    def _title(self, room: int) -> str:
        """Return the title; it is cut where it is wider than `room` cells."""
        return self._document.title

    def _badge(self) -> str:
        """Return the text behind the title."""
        return self._document.badge

    def joined(self, *parts: str) -> str:
        """Join the parts of a title that are not empty."""
        return script_for(self.marks is ASCII_MARKS).drawn(BETWEEN).join(part for part in parts if part)

    def set_lead(self, text: str) -> None:
        """Show a text before the title."""
        if text != self._lead:
            self._lead = text
            self._set_frame()

    # for DocumentCanvas

    def _resized_rows(self) -> None:
        """Handle a changed number of rows."""


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
        """Scroll the cursor into sight; return whether anything moved.

        `offset`: rows below the upper edge; without it, scroll as little as needed, or by half a pane (`SCROLLS_BY_HALVES`), but
        after a jump of more than a page to a third below the edge. `x`: cells to scroll to, -1 for as needed.
        """
        height, row, top = self.size.height, self._cursor_row(), self.scroll_offset.y
        if not height:
            self._offset_wanted = offset
            return False
        if offset is not None:
            top = row - min(max(offset, 0), height - 1)
        elif not top <= row < top + height:
            if not top - height < row < top + 2 * height:
                top = row - height // 3
            elif self.SCROLLS_BY_HALVES:
                top = row - height // 2
            else:
                top = row if row < top else row - height + 1
        return self._scroll(self._x_of_caret() if x == -1 else x, top)

    def _x_of_caret(self) -> int:
        """Return the cells to scroll right to show the caret and the name under it."""
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
        """Return the extent of the lines in sight."""
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
        """Return why there is nothing at the sides: wrapped lines continue below."""
        return "the lines are wrapped; w unwraps them" if any(row.hi is not None for row in self._rows_in_sight()) else ""

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
        """Cut rows to the new width; the cursor stays in sight."""
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
        """Handle a movement of cursor or page."""

    def _width_changed(self) -> None:
        """Handle another width."""
        self._resized_rows()
