"""Document views whose lines are linked to other panes: the sides of a comparison and the panes of provenance mode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message

from tltui.documents import format as fmt
from tltui.questions.provenance.pane_layout import Label
from tltui.text.annotations import Unannotated
from tltui.text.document import Document
from tltui.text.formatting import LEVELS, script_for
from tltui.text.frozen import frozen, mutable
from tltui.text.screen_rows import Row, RowMap
from tltui.text.search.child_process import compiled
from tltui.widgets.document_canvas import TITLE_EDGES, cell_under, is_inside
from tltui.widgets.document_view import DocumentView
from tltui.widgets.row_painter import ASCII_MARKS, BANDS, RowStyle


class MarkedView(DocumentView):
    """A `DocumentView` with matches and pinned lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.on_hover: Callable[[int], None] | None = None
        """Called with the line under the mouse when it comes to another one, -1 when there is none any more."""
        self._hovered = -1
        self._matches: frozenset[int] = frozenset()
        self._pinned: frozenset[int] = frozenset()

    @property
    def matches(self) -> list[int]:
        """The lines that correspond to the cursor of the pane that has the focus, sorted."""
        return sorted(self._matches)

    def set_matches(self, lines: Iterable[int], to: Sequence[int] = ()) -> None:
        """Light up lines, and move the cursor to one of the lines `to`, unless it is on one.

        It moves to the first visible one, so that nothing scrolls; if none is visible, to the first one.
        """
        before, self._matches = self._matches, frozenset(lines)
        for line in before ^ self._matches:
            self.repaint_line(line)
        if to and self.current_line() not in to:
            self.move_to(next(filter(self.is_visible, sorted(to)), min(to)), 0)

    def is_visible(self, line: int) -> bool:
        """Return whether a line is on the screen."""
        top = self.scroll_offset.y
        return self.rows.shows(line) and top <= self.rows.row_of(line) < top + self.size.height

    @property
    def has_pinned(self) -> bool:
        """Whether lines are kept lit."""
        return bool(self._pinned)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Report the line under the mouse."""
        inside = self.mouse and is_inside(self, event)
        self._hover(self._row_at(self.scroll_offset.y + cell_under(self, event).y).line if inside else -1)

    def on_leave(self) -> None:
        """Report that the mouse has left."""
        self._hover(-1)

    def _hover(self, line: int) -> None:
        if line != self._hovered:
            self._hovered = line
            if self.on_hover is not None:
                self.on_hover(line)

    def set_pinned(self, lines: Iterable[int]) -> None:
        """Keep lines lit while the cursor moves on."""
        before, self._pinned = self._pinned, frozenset(lines)
        for line in before ^ self._pinned:
            self.repaint_line(line)

    def repaint_line(self, line: int) -> None:
        """Repaint one line, if it is in sight."""
        if self.rows.shows(line):
            self._repaint(self.rows.row_of(line))

    def _row_style(self, row: Row) -> RowStyle:
        row_style = super()._row_style(row)
        if row_style.base in ("", "cursor-away"):
            row_style.base = "match" if row.line in self._matches else "pinned" if row.line in self._pinned else row_style.base
        return row_style


SIGNS = {True: ("-", "tok-removed"), False: ("+", "tok-added")}


class CompareSide(MarkedView):
    """A `MarkedView` whose rows are aligned with those of another one."""

    def __init__(self, *, is_left: bool, **options: Any) -> None:
        super().__init__(**options)
        self.is_left = is_left
        self.is_changed: Callable[[int], bool] = lambda line: False
        """Whether a line differs. Set by the screen with each document."""
        self.asked: Callable[[str], None] = lambda action: None
        """What a key asks of the screen: `next`, `previous`, `fold`, `fold_all`, `unfold_all`."""

        self._is_away = False

    @property
    def row(self) -> int:
        """The row that the cursor is in."""
        return self._cursor_row()

    @property
    def top(self) -> int:
        """The first row in sight."""
        return self.scroll_offset.y

    def follow(self, row: int, top: int, x: int) -> None:
        """Show the same rows as the other side; the cursor goes to this one, or stays where this side has no line."""
        before = self._cursor_row()
        line = self._row_at(row).line
        self._is_away = line < 0  # no line here: no cursor either
        if line >= 0:
            self._cursor_line = line
        if not self._scroll(min(x, max(self.max_scroll_x, 0)), top):
            self._moved_rows(before, self._cursor_row())

    def move_to(self, line: int, column: int | None = None) -> None:
        """Put the cursor on a line of this side, which has it from now on."""
        self._is_away = False
        super().move_to(line, column)

    def go(self, row: int) -> bool:
        """Move the cursor to a row; False where this side has no line there."""
        line = self._row_at(row).line
        if line >= 0:
            self.move_to(line, 0)
        return line >= 0

    def go_near(self, row: int) -> None:
        """Move the cursor to a row, else to the nearest one where this side has a line."""
        rows = len(self._rows)
        next((near for step in range(rows) for near in (row - step, row + step) if 0 <= near < rows and self.go(near)), None)

    def _is_cursor(self, row: Row) -> bool:
        return not self._is_away and super()._is_cursor(row)

    def _row_style(self, row: Row) -> RowStyle:
        row_style = super()._row_style(row)
        if self.is_changed(row.line) and not row.part:
            row_style.sign, row_style.sign_style = SIGNS[self.is_left]
        return row_style

    def action_next_section(self) -> None:
        """Go to the next change."""
        self.asked("next")

    def action_previous_section(self) -> None:
        """Go to the change before."""
        self.asked("previous")

    def action_fold(self) -> None:
        """Show what is folded here."""
        self.asked("fold")

    def action_follow(self) -> None:
        """Show what is folded here."""
        self.asked("fold")

    def action_fold_all(self) -> None:
        """Fold equal lines."""
        self.asked("fold_all")

    def action_unfold_all(self) -> None:
        """Show all equal lines."""
        self.asked("unfold_all")

    def action_wrap(self) -> None:
        """Show that lines are not wrapped here: both halves would no longer be aligned."""
        self.show_message("cannot wrap lines in the side-by-side view")

    def action_ask_filter(self) -> None:
        """Show that lines are not filtered here: both halves would lose their order."""
        self.show_message("cannot filter the side-by-side view; it shows only changes and their context (= shows all)")


DERIVED = "≈"
HEIGHTS = LEVELS[1:]
BAR = 6
"""Cells of the bar of a time in a wide pane."""
TIME = 8
"""Cells of the time beside it, with a blank."""
WIDE, HALF = 66, 54
"""Cells of a pane from which a time is written out with a bar, or with one cell; a narrower one has the cell alone."""
HOT, WARM = 0.5, 0.1
"""From which part of the dearest a time stands out."""


@frozen
class Heat:
    """What a line took."""

    text: str
    """`812 µs`."""
    part: float
    """Of the dearest one: 0…1."""


class ProvenanceView(MarkedView):
    """A `MarkedView` with more in its gutter. The screen sets what it is to show."""

    SCROLLS_BY_HALVES = True

    @mutable(slots=False)
    class LineFollowed(Message):
        """Enter was pressed on a line. Who knows nothing that it corresponds to calls `follow_link`. Lines count from 0."""

        view: ProvenanceView
        line: int

        @property
        def control(self) -> ProvenanceView:
            """The view that posted this."""
            return self.view

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.titled: Callable[[int, int], str] = lambda line, room: self.document.title
        """What stands over the document while the cursor is on a line, in so many cells."""
        self.label_of: Callable[[int], Label | None] = lambda line: None
        """Letter of the kernel that a line belongs to. Set by the screen with each document."""
        self.label_width = 0
        """Cells of the longest label."""
        self.is_around_call: Callable[[int], bool] = lambda line: False
        """Whether the gutter alone marks a line that corresponds: highlighting ten lines of comments costs 1 KB per key."""
        self.is_derived: Callable[[int], bool] = lambda line: False
        """Whether what a line corresponds to was derived."""
        self.heat_of: Callable[[int], Heat | None] | None = None
        """What a line took; None where no profile tells of this pane."""

    # following

    def action_follow(self) -> None:
        """Follow the caret's link or name; in the first column the line."""
        stop = self.stop_at_caret() if self._caret_column else None
        if stop is not None:
            self._follow(stop, self._cursor_line)
        else:
            self.post_message(self.LineFollowed(self, self._cursor_line))

    def follow_link(self) -> None:
        """Follow the first link of the line, or open its fold."""
        super().action_follow()

    # what is left out

    def search(self, pattern: str, back: bool = False) -> None:
        """Search from the caret on; a line with a hit in what is left out is shown whole."""
        self._open_for(compiled(pattern) if pattern else None)
        super().search(pattern, back)

    def action_search_word(self) -> None:
        """Search for the name at the caret."""
        super().action_search_word()
        if self._search is not None:
            self._open_for(self._search.pattern)

    def _begin(self, document: Document, folded: set[int] | None) -> RowMap:
        if isinstance(document, Unannotated):
            document.opening = self._search.pattern if self._search is not None else None
        return super()._begin(document, folded)

    def _open_for(self, pattern: re.Pattern[str] | None) -> None:
        document = self.document
        if isinstance(document, Unannotated) and document.opening is not pattern:
            document.opening = pattern
            self._painter.clear()
            self.refresh()

    # the title

    def _title(self, room: int) -> str:
        return self.titled(self.current_line(), max(self.size.width - TITLE_EDGES, 0))

    def _badge(self) -> str:
        """Return the badge, but none for a text whose md5 is right."""
        badge = super()._badge()
        return "" if badge.endswith("✓") else badge

    def renew_title(self) -> None:
        """Update the title for the current line."""
        self._set_frame()

    # the gutter

    @property
    def _heat_width(self) -> int:
        if self.heat_of is None:
            return 0
        width = self.size.width
        return TIME + BAR + 1 if width >= WIDE else TIME + 2 if width >= HALF else 2

    @property
    def gutter_width(self) -> int:
        """Cells left of the text."""
        return super().gutter_width + self.label_width + self._heat_width

    def set_heat(self, heat_of: Callable[[int], Heat | None] | None) -> None:
        """Show what lines took, or no more."""
        if (heat_of is None) != (self.heat_of is None):
            self._painter.clear()
        self.heat_of = heat_of
        self._resized_rows()
        self.refresh()

    def _row_style(self, row: Row) -> RowStyle:
        row_style = super()._row_style(row)
        is_linked = row.line in self._matches
        if is_linked:
            row_style.sign, row_style.sign_style = self.marks.linked, "match-mark"
            if row_style.base == "match" and self.is_around_call(row.line):
                row_style.base = ""
        label = self.label_of(row.line) if self.label_width and not row.part else None
        row_style.label = (self._draw_text(label.text) if label is not None else "").ljust(self.label_width)
        if is_linked and label is not None and label.kernel >= 0:
            row_style.label_style = f"band-{label.kernel % BANDS}"
        if row_style.fold == " " and not row.part and self.is_derived(row.line):
            row_style.fold = self._draw_text(DERIVED)
        return row_style

    def _draw_text(self, text: str) -> str:
        return script_for(self.marks is ASCII_MARKS).drawn(text)

    def _gutter_segments(self, row: Row, row_style: RowStyle, base: Style, flat: bool) -> list[Segment]:
        segments = super()._gutter_segments(row, row_style, base, flat)
        width = self._heat_width
        if not width or self.heat_of is None:
            return segments
        heat = self.heat_of(row.line) if not row.part else None
        if heat is None:
            return [*segments, Segment(" " * width, base)]
        name = "tok-error" if heat.part >= HOT else "tok-warn" if heat.part >= WARM else "gutter"
        bar = HEIGHTS[min(round(heat.part * len(HEIGHTS)), len(HEIGHTS) - 1)]
        if width > TIME + 2:
            bar = f"{fmt.bar(heat.part * BAR):<{BAR}}"
        text = f"{heat.text:>{TIME - 1}} {bar} " if width > 2 else f"{bar} "
        return [*segments, Segment(self._draw_text(text), base if flat else base + self._part(name))]
