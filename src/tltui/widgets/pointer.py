"""Where the mouse is in a widget."""

from __future__ import annotations

from textual.events import MouseEvent
from textual.geometry import Offset
from textual.widget import Widget


def cell_under(widget: Widget, event: MouseEvent) -> Offset:
    """The cell under the mouse, counted from the first one that the widget draws in: the border above it is no row. Outside of the
    widget it goes on, below zero too."""
    return event.screen_offset - widget.scrollable_content_region.offset


def is_inside(widget: Widget, event: MouseEvent) -> bool:
    """Whether the mouse is where the widget draws: not on its border or scroll bar."""
    return widget.scrollable_content_region.contains_point(event.screen_offset)
