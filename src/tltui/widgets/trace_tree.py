"""The tree on the left: drawing, keys and mouse, and a stable anchor while the run grows."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from tltui.commands import Where
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.questions.runtime.costs import Costs, computed_costs
from tltui.text import formatting, tokens
from tltui.text.document import Piece, piece_style, piece_text
from tltui.text.formatting import cells as cell_len
from tltui.text.formatting import script_for
from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize
from tltui.tree.outline import Label, Node, label
from tltui.tree.rows import FunctionNames, OutlineRow, OutlineRows
from tltui.tree.stack_rows import StackOrder, keys_by_frames
from tltui.widgets.bars import LINE_STYLES
from tltui.widgets.document_canvas import Extent, Sideways, anchor_scroll, cell_under, is_inside
from tltui.widgets.key_input import MOVES, bindings
from tltui.widgets.row_painter import row_by_row
from tltui.widgets.themes import Grounded, part_style

INDENT = 2
SOON = 0.01
"""Seconds until the next slice of stacks is read: keys come first."""
PLACE = 10
"""Cells below which what is told of a place is no help."""
TIMES = (tokens.DIM, tokens.PHASE_KERNELS)
"""Styles of compile times and run times, which have columns of their own: neither is drawn in that of the other."""
ENOUGH = 24
"""Cells in which a name can be recognised."""
ENOUGH_BEFORE_TWO = 16
"""The same before two columns of times."""


@frozen
class Drawn:
    """What a screen row says."""

    depth: int
    mark: str
    is_cursor: bool
    label: Label


class TreeCanvas(Grounded, ScrollView, Sideways, can_focus=True, inherit_bindings=False):
    """Draws an `OutlineRows` with a cursor."""

    ALLOW_SELECT = False
    def __init__(
        self,
        rows: OutlineRows,
        *,
        mouse: bool = True,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
    ) -> None:
        super().__init__(id=id)
        self.outline = rows
        self.names = FunctionNames()
        self._mouse = self.mouse_scrolls = mouse
        self._ascii = ascii_only
        self._script = script_for(ascii_only)
        self._cursor = 0
        self.is_held = False
        """Whether somebody has used it: until then the tree fills from its first row on, and nothing is held."""
        self._is_at_end = False
        """Whether somebody went to the last row: then new rows below come into sight."""
        self._is_following = False
        self._floor = 0
        """Rows that there are at least: of a tree that stood still while it grew above the cursor the end may be in sight."""
        self._asking: Timer | None = None
        self._left = 0
        """Cells that are hidden at the left edge."""
        self._drawn: dict[int, Drawn | None] = {}
        """Screen row → what was drawn there last."""

    # what others may ask

    @property
    def node(self) -> Node:
        """The node under the cursor."""
        return self.outline.rows[self._cursor].node

    @property
    def cursor(self) -> int:
        """The row of the cursor, from 0."""
        return self._cursor

    # growth

    def on_mount(self) -> None:
        """Set the initial size."""
        self._resized()

    def run_changed(self, is_new: bool) -> None:
        """Update the rows after the run has grown.

        The cursor stays on its node, and the node where it is on the screen; if it is out of sight, the first row in sight stays.
        """
        if is_new and self.outline.order is not None and not self.outline.order.advance():
            self.set_timer(SOON, lambda: self.run_changed(True))
        before, top = self._cursor, self.scroll_offset.y
        node, above = self.node, self.outline.rows[min(top, len(self.outline) - 1)].node
        self.outline.refresh(held=node.key)
        self._cursor = self._place_of(node, before)
        if top <= before < top + self.size.height:
            top += self._cursor - before
        else:
            place = self.outline.row_of(above.key, top)
            top = top if place is None else place
        if not self.scroll_offset.y and (not self.is_held or len(self.outline) <= self.size.height):
            top = 0  # nobody has looked for a place yet; or all of it is in sight, and stays so
        elif self._is_at_end:
            top = min(max(len(self.outline) - self.size.height, 0), self._cursor)
        self._stand(top)
        self.repaint_changed()

    def _is_last(self, place: int) -> bool:
        """Return whether a row is the last one, not counting the records without an id: they always stand behind what is new."""
        behind = self.outline.rows[place + 1 :][:2]
        return not behind or (len(behind) == 1 and isinstance(last := behind[0].node.target, Compile) and last.id == NO_ID)

    def _place_of(self, node: Node, near: int) -> int:
        """Return the row of a node, opening its new ancestors: a second compile adds a frame to the first one."""
        place = self.outline.row_of(node.key, near)
        run = self.outline.rows[0].node.target
        if place is None and isinstance(run, Run) and len(keys := keys_by_frames(run, node)) > 1:
            place = self.outline.reveal(keys)
        return min(near, len(self.outline) - 1) if place is None else place

    def _stand(self, top: int) -> None:
        """Show the tree from row `top` on, without a repaint."""
        if not self.size.height:
            self._resized()
            return
        self._floor = max(top, 0) + self.size.height
        anchor_scroll(self, Size(self.size.width, max(len(self.outline), self._floor)), top)

    def _resized(self) -> None:
        rows = max(len(self.outline), min(self._floor, self.scroll_offset.y + self.size.height))
        self.virtual_size = Size(self.size.width, rows)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Drop the empty rows below the end when the tree is scrolled."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._is_at_end = self._is_at_end and self._is_following
            if self._floor:
                self.call_later(self._resized)

    def _scroll(self, top: int) -> None:
        self._is_following = True
        try:
            self.scroll_to(y=top, animate=False, immediate=True)
        finally:
            self._is_following = False

    @property
    def _width(self) -> int:
        """Cells of a row: `size` counts those under the scroll bar, too."""
        return self.scrollable_content_region.width

    def watch_show_vertical_scrollbar(self) -> None:
        """Repaint rows, which end at the scroll bar."""
        self.refresh()

    def repaint_changed(self) -> None:
        """Repaint those rows in sight that are to say something else than they did."""
        for y in range(self.size.height):
            if self._drawn.get(y) != self._row_content(y):
                self.refresh(Region(0, y, self.size.width, 1))

    # drawing

    def _style(self, part: str) -> Style:
        return part_style(self.app.theme, part)

    def _text_style(self, token: str) -> Style | None:
        return self._style(f"tok-{token}") if token in LINE_STYLES else None

    def _row_content(self, y: int) -> Drawn | None:
        """Return the content of a screen row; None below the last node."""
        place = self.scroll_offset.y + y
        if place >= len(self.outline):
            return None
        row = self.outline.rows[place]
        try:
            row_label = label(row.node, self._ascii, self.names, self._costs())
        except Exception as error:
            row_label = Label(((f"tltui cannot name this: {type(error).__name__}", tokens.ERROR),))
        if self.names.is_asked and self._asking is None:
            self._asking = self.set_timer(SOON, self._ask_names)
        return Drawn(row.depth, self._mark(row), place == self._cursor, row_label)

    def _costs(self) -> Costs | None:
        """Return the costs of compiles by a profile; None without one."""
        run = self.outline.rows[0].node.target
        return computed_costs(run) if isinstance(run, Run) else None

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """Render a screen row."""
        width, base = self._width, self.ground
        drawn = self._drawn[y] = self._row_content(y)
        if drawn is None:
            return Strip.blank(width, base)
        away = "" if self.has_focus else "-away"
        if drawn.is_cursor:
            base += self._style(f"cursor{away}")
        segments = self._segments(drawn, width + self._left)
        if self._left:
            rest = Strip(segments).crop(self._left + 1, width + self._left)
            segments = [Segment(self._script.drawn("‹"), self._style("fold")), *rest]
        if base.reverse or base.color != self.ground.color:  # such a ground brings its own ink
            return Strip([Segment("".join(segment.text for segment in segments), base)])
        if drawn.is_cursor:
            first, *others = (segment for segment in segments if segment.text)
            segments = [Segment(first.text[:1], self._style(f"edge{away}")), Segment(first.text[1:], first.style), *others]
        return Strip(segments).apply_style(base)

    def extent(self) -> Extent:
        """Return the extent of the rows in sight."""
        rows = [drawn for y in range(self.size.height) if (drawn := self._row_content(y)) is not None]
        return Extent(self._left, self._width, max(map(_row_width, rows), default=0))

    def shift_to(self, left: int) -> None:
        """Show the rows from cell `left` on."""
        self._left = left
        self.refresh()

    def _segments(self, drawn: Drawn, width: int) -> list[Segment]:
        """Render the label in `width` cells: indentation and mark, left, as much of the detail as fits, right."""
        row_label = drawn.label
        right = [(self._drawn_text(piece), piece_style(piece)) for piece in row_label.right]
        right_width = sum(cell_len(text) for text, _ in right)
        left_pieces = [(self._drawn_text(piece), piece_style(piece)) for piece in row_label.left]
        left_width = sum(cell_len(text) for text, _ in left_pieces)
        lead = " " * (INDENT * max(drawn.depth - 1, 0))
        room = width - len(lead) - 2
        enough = ENOUGH_BEFORE_TWO if any(style == tokens.PHASE_KERNELS for _, style in right) else ENOUGH
        if left_width + right_width + 1 > room and room - right_width < enough:
            # narrow: what a thing is matters more than how long it took
            right = [(text, style) for text, style in right if style not in TIMES]
            right_width = sum(cell_len(text) for text, _ in right)
            if min(left_width, room // 2) + right_width + 1 > room:
                right, right_width = [], 0
        segments = [Segment(lead), Segment(drawn.mark + " ", self._style("fold"))]
        detail = [(self._drawn_text(piece), piece_style(piece)) for piece in row_label.detail]
        left = room - right_width - (1 if right else 0)
        for number, (text, style) in enumerate((*left_pieces, *detail)):
            if number >= len(left_pieces) and left < min(PLACE, cell_len(text)):
                break
            shown = self._script.drawn(formatting.piece(text, max(left, 0)))
            left -= cell_len(shown)
            segments.append(Segment(shown, self._text_style(style)))
            if left <= 0:
                break
        blanks = max(left, 0) + (1 if right else 0)
        if row_label.rule and blanks > 2:
            rule = self._script.drawn(row_label.rule) * (blanks - 2)
            segments += [Segment(" "), Segment(rule, self._style("rule")), Segment(" ")]
        else:
            segments.append(Segment(" " * blanks))
        segments += [Segment(text, self._text_style(style)) for text, style in right]
        return segments

    def _drawn_text(self, piece: Piece) -> str:
        return self._script.drawn(sanitize(piece_text(piece)))

    def _mark(self, row: OutlineRow) -> str:
        if not row.node.expandable:
            return " "
        return self._script.drawn("▾" if row.node.key in self.outline.open else "▸")

    def _ask_names(self) -> None:
        """Request names of functions."""
        self._asking = None

def _row_width(drawn: Drawn) -> int:
    """Return the cells that a row needs without cuts."""
    row_label = drawn.label
    texts = [piece_text(piece) for piece in (*row_label.left, *row_label.detail, *row_label.right)]
    return INDENT * max(drawn.depth - 1, 0) + 2 + sum(cell_len(sanitize(text)) for text in texts) + bool(row_label.right)


STACKS_OPEN = 200
"""Nodes for callers that are open at first."""


class TraceTree(TreeCanvas, inherit_bindings=False):
    """Shows an `OutlineRows` with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.TREE)
    REPEATED: ClassVar[frozenset[str]] = MOVES

    @mutable(slots=False)
    class TreeMessage(Message):
        """A message of a tree."""

        tree: TraceTree

        @property
        def control(self) -> TraceTree:
            """The sender, for selectors of `textual.on`."""
            return self.tree

    @mutable(slots=False)
    class Highlighted(TreeMessage):
        """The cursor came to another node. `by_user`: through a key or the mouse, not while a scan fills the tree."""

        node: Node
        by_user: bool

        def can_replace(self, message: Message) -> bool:
            """Replace an earlier node: only the last one counts."""
            return isinstance(message, TraceTree.Highlighted) and message.tree is self.tree

    @mutable(slots=False)
    class Entered(TreeMessage):
        """Enter was pressed: the document is wanted."""

        node: Node

    @mutable(slots=False)
    class AskFilter(TreeMessage):
        """A filter is wanted; answer with `set_filter`."""

    @mutable(slots=False)
    class Unnamed(TreeMessage):
        """Functions in sight are known by a better name that nobody has read yet (`TraceTree.names`)."""

    @mutable(slots=False)
    class Notified(TreeMessage):
        """A remark for the status bar."""

        text: str

    def __init__(
        self,
        rows: OutlineRows,
        *,
        mouse: bool = True,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
    ) -> None:
        super().__init__(rows, mouse=mouse, ascii_only=ascii_only, id=id)
        self._stacks: StackOrder | None = None

    def on_resize(self) -> None:
        """Adapt to the new size."""
        self._resized()
        self._show_cursor()

    def _ask_names(self) -> None:
        super()._ask_names()
        self.post_message(self.Unnamed(self))

    def show_message(self, text: str) -> None:
        self.post_message(self.Notified(self, text))

    # the cursor

    def move_to(self, place: int, by_user: bool = True) -> None:
        """Put the cursor on a row; the page follows."""
        place = min(max(place, 0), len(self.outline) - 1)
        before, self._cursor = self._cursor, place
        self._is_at_end = by_user and self._is_last(place)
        if before != place:
            top = self.scroll_offset.y
            for row in (before, place):
                self.refresh(Region(0, row - top, self.size.width, 1))
        self._show_cursor()
        self.post_message(self.Highlighted(self, self.node, by_user))

    def _show_cursor(self) -> None:
        height = self.size.height
        if not height:
            return
        top = self.scroll_offset.y
        if self._cursor < top:
            self._scroll(self._cursor)
        elif self._cursor >= top + height:
            self._scroll(self._cursor - height + 1)

    def reveal(self, keys: list[str], by_user: bool = True) -> bool:
        """Go to the node that the last key names, opening those before it. False when there is no such node."""
        place = self.outline.reveal(keys)
        if place is None:
            return False
        self._resized()
        if not self.scroll_offset.y <= place < self.scroll_offset.y + self.size.height:
            self._scroll(max(place - self.size.height // 3, 0))
        self.repaint_changed()
        self.move_to(place, by_user)
        return True

    def _page(self, rows: int) -> None:
        top = self.scroll_offset.y
        place = min(max(self._cursor + rows, 0), len(self.outline) - 1)
        limit = max(len(self.outline) - self.size.height, 0)
        self._scroll(min(max(top + rows, 0), limit))
        self.move_to(place)

    def action_cursor_down(self, times: int = 1) -> None:
        """Move one row down."""
        self.move_to(self._cursor + times)

    def action_cursor_up(self, times: int = 1) -> None:
        """Move one row up."""
        self.move_to(self._cursor - times)

    def action_top(self) -> None:
        """Go to the run itself."""
        self.move_to(0)

    def action_bottom(self) -> None:
        """Go to the last line."""
        self.move_to(len(self.outline) - 1)

    def action_page_down(self, times: int = 1) -> None:
        """Move one page down, less a row."""
        self._page(times * max(self.size.height - 1, 1))

    def action_page_up(self, times: int = 1) -> None:
        """Move one page up, less a row."""
        self._page(-times * max(self.size.height - 1, 1))

    def action_half_down(self, times: int = 1) -> None:
        """Move half a page down."""
        self._page(times * max(self.size.height // 2, 1))

    def action_half_up(self, times: int = 1) -> None:
        """Move half a page up."""
        self._page(-times * max(self.size.height // 2, 1))

    # opening and closing

    def _changed(self) -> None:
        self._resized()
        self._cursor = min(self._cursor, len(self.outline) - 1)
        self._show_cursor()
        self.refresh()

    def action_expand(self) -> None:
        """Open the node, or go to its first child."""
        row = self.outline.rows[self._cursor]
        if not row.node.expandable:
            self.post_message(self.Entered(self, row.node))
        elif self.outline.is_open(self._cursor):
            if self._cursor + 1 < len(self.outline) and self.outline.rows[self._cursor + 1].depth > row.depth:
                self.move_to(self._cursor + 1)
        else:
            self.outline.expand(self._cursor)
            self._changed()

    def action_collapse(self) -> None:
        """Close the node, or go to its parent."""
        if self.outline.is_open(self._cursor) and self._cursor:
            self.outline.collapse(self._cursor)
            self._changed()
        else:
            self.move_to(self.outline.parent(self._cursor))

    def action_open_close(self) -> None:
        """Open or close the node."""
        if self.outline.is_open(self._cursor):
            self.outline.collapse(self._cursor)
        else:
            self.outline.expand(self._cursor)
        self._changed()

    def action_collapse_all(self) -> None:
        """Close all nodes; the cursor goes to the one that held it."""
        path = [self._cursor]
        while path[-1]:
            path.append(self.outline.parent(path[-1]))
        keys = [self.outline.rows[place].node.key for place in path]
        self.outline.collapse_all()
        self._cursor = next((row for key in keys if (row := self.outline.row_of(key)) is not None), 0)
        self._changed()
        self.move_to(self._cursor)

    def action_expand_all(self) -> None:
        """Open all nodes."""
        key = self.node.key
        if not self.outline.expand_all():
            self.show_message("too many nodes to open all. Filter first (f)")
        self._cursor = self.outline.row_of(key) or 0
        self._changed()

    def action_by_stacks(self) -> None:
        """Order the tree by the stacks at which compiles began, or by frames again. The cursor stays on its node."""
        run = self.outline.rows[0].node.target
        if not isinstance(run, Run):
            return
        if self.outline.order is None:
            self._read_stacks(self._stacks or StackOrder(run))
        else:
            keys = keys_by_frames(run, self.node)
            self.outline.set_order(None)
            self._cursor = 0
            self.reveal(keys)
            self.show_message("by frames")

    def _read_stacks(self, order: StackOrder) -> None:
        """Read stacks for a moment, and again soon, until they are all there."""
        run = self.outline.rows[0].node.target
        if not isinstance(run, Run) or self.outline.order is not None:
            return
        if not order.advance():
            self.show_message("reading the stacks…")
            self.set_timer(SOON, lambda: self._read_stacks(order))
            return
        if self._stacks is None:
            self._stacks = order
            self.outline.open.update(order.parts(STACKS_OPEN))
        keys = keys_by_frames(run, self.node)
        self.outline.set_order(order)
        self._cursor = 0
        self.reveal(keys)
        self.show_message("by stacks: callers first, their compiles below")

    def action_enter(self) -> None:
        """Go to the document."""
        self.post_message(self.Entered(self, self.node))

    def action_ask_filter(self) -> None:
        """Ask for a filter."""
        self.post_message(self.AskFilter(self))

    def set_filter(self, text: str) -> None:
        """Show only nodes that match; '' shows all. The cursor stays on its node if that is still there."""
        key = self.node.key
        self.outline.set_filter(text)
        place = self.outline.row_of(key)
        if text and len(self.outline) == 1:
            self.show_message(f"no node in the tree matches {text!r}")
        elif self.outline.filter:
            left, total = self.outline.filter_counts
            self.show_message(f"{left:,} of {total:,} compiles: {text} (esc shows all)")
        self._cursor = place if place is not None else min(self._cursor, len(self.outline) - 1)
        self._changed()
        self.move_to(self._cursor)

    # the mouse

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked row; on the mark, or a second time, open or close it."""
        if not self._mouse or event.button != 1 or not is_inside(self, event):
            return
        under = cell_under(self, event)
        place = self.scroll_offset.y + under.y
        if place >= len(self.outline):
            return
        again = place == self._cursor
        self.move_to(place)
        row = self.outline.rows[place]
        on_mark = under.x <= INDENT * max(row.depth - 1, 0) + 1
        if row.node.expandable and (on_mark or again):
            self.action_open_close()
