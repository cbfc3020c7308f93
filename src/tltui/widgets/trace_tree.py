"""The tree on the left: what a person does with it. `TreeCanvas` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Region
from textual.message import Message

from tltui.commands import Where
from tltui.documents.tree.outline import Node
from tltui.documents.tree.rows import OutlineRows
from tltui.documents.tree.stacks import StackOrder, keys_by_frames
from tltui.model.run import Run
from tltui.widgets.bindings import bindings
from tltui.widgets.pointer import cell_under, is_inside
from tltui.widgets.tree_canvas import INDENT, SOON, TreeCanvas
from tltui.widgets.type_ahead import MOVES

STACKS_OPEN = 200
"""Nodes for callers that are open at first."""


class TraceTree(TreeCanvas, inherit_bindings=False):
    """Shows an `OutlineRows` with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.TREE)
    REPEATED: ClassVar[frozenset[str]] = MOVES

    @dataclass
    class Highlighted(Message):
        """The cursor came to another node. `by_user`: through a key or the mouse, not while a scan fills the tree."""

        tree: TraceTree
        node: Node
        by_user: bool

        @property
        def control(self) -> TraceTree:
            """The tree that posted this."""
            return self.tree

        def can_replace(self, message: Message) -> bool:
            """Only the last node counts."""
            return isinstance(message, TraceTree.Highlighted) and message.tree is self.tree

    @dataclass
    class Entered(Message):
        """Enter was pressed: the document is wanted."""

        tree: TraceTree
        node: Node

        @property
        def control(self) -> TraceTree:
            """The tree that posted this."""
            return self.tree

    @dataclass
    class AskFilter(Message):
        """A filter is wanted; answer with `set_filter`."""

        tree: TraceTree

        @property
        def control(self) -> TraceTree:
            """The tree that posted this."""
            return self.tree

    @dataclass
    class Unnamed(Message):
        """Functions in sight are known by a better name that nobody has read yet (`TraceTree.names`)."""

        tree: TraceTree

        @property
        def control(self) -> TraceTree:
            """The tree that posted this."""
            return self.tree

    @dataclass
    class Told(Message):
        """A remark for the status bar."""

        tree: TraceTree
        text: str

        @property
        def control(self) -> TraceTree:
            """The tree that posted this."""
            return self.tree

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
        """Textual calls this when the size changed."""
        self._resized()
        self._show_cursor()

    def _ask_names(self) -> None:
        super()._ask_names()
        self.post_message(self.Unnamed(self))

    def tell(self, text: str) -> None:
        self.post_message(self.Told(self, text))

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
        """One line down."""
        self.move_to(self._cursor + times)

    def action_cursor_up(self, times: int = 1) -> None:
        """One line up."""
        self.move_to(self._cursor - times)

    def action_top(self) -> None:
        """To the run itself."""
        self.move_to(0)

    def action_bottom(self) -> None:
        """To the last line."""
        self.move_to(len(self.outline) - 1)

    def action_page_down(self, times: int = 1) -> None:
        """One page down, less a row."""
        self._page(times * max(self.size.height - 1, 1))

    def action_page_up(self, times: int = 1) -> None:
        """One page up, less a row."""
        self._page(-times * max(self.size.height - 1, 1))

    def action_half_down(self, times: int = 1) -> None:
        """Half a page down."""
        self._page(times * max(self.size.height // 2, 1))

    def action_half_up(self, times: int = 1) -> None:
        """Half a page up."""
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
            self.tell("too many nodes to open all of them: filter first (f)")
        self._cursor = self.outline.row_of(key) or 0
        self._changed()

    def action_by_stacks(self) -> None:
        """By the stacks at which the compiles began, or by frames again. The cursor stays on its node."""
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
            self.tell("by frames")

    def _read_stacks(self, order: StackOrder) -> None:
        """Read stacks for a moment, and again soon, until they are all there."""
        run = self.outline.rows[0].node.target
        if not isinstance(run, Run) or self.outline.order is not None:
            return
        if not order.advance():
            self.tell("reading the stacks…")
            self.set_timer(SOON, lambda: self._read_stacks(order))
            return
        if self._stacks is None:
            self._stacks = order
            self.outline.open.update(order.parts(STACKS_OPEN))
        keys = keys_by_frames(run, self.node)
        self.outline.set_order(order)
        self._cursor = 0
        self.reveal(keys)
        self.tell("by stacks: callers first, what they compiled below")

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
            self.tell(f"nothing in the tree has {text!r}")
        elif self.outline.filter:
            left, seen = self.outline.filter_counts
            self.tell(f"{left:,} of {seen:,} compiles: {text} (esc shows all)")
        self._cursor = place if place is not None else min(self._cursor, len(self.outline) - 1)
        self._changed()
        self.move_to(self._cursor)

    # the mouse

    def on_click(self, event: events.Click) -> None:
        """A click: the cursor; on the mark, or a second time, opens or closes."""
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
