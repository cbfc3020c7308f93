"""Scrolling that the tree and documents share: sideways by half a page, an anchor while content grows, the cell under the mouse."""

from __future__ import annotations

from typing import NamedTuple

from textual import events
from textual.events import MouseEvent
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget


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


WHEEL = 6
"""Cells that a step of the wheel scrolls."""


class Extent(NamedTuple):
    """What is shown of the rows in sight, in cells."""

    left: int
    """Cells that are hidden at the left edge."""
    room: int
    """Cells in sight."""
    widest: int
    """Cells of the widest row."""


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
