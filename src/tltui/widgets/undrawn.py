"""A row that cannot be drawn says so; the others, and the program, are what they were.

Behind an exception in `render_line` Textual leaves the screen as it is, and each further look at the row would raise again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from tltui.messages import Undrawn
from tltui.text.width import crop

W = TypeVar("W", bound=Widget)


def row_by_row(render_line: Callable[[W, int], Strip]) -> Callable[[W, int], Strip]:
    """A `render_line` whose failure costs the row; the app is told with `Undrawn`."""

    @wraps(render_line)
    def drawn(self: W, y: int) -> Strip:
        try:
            return render_line(self, y)
        except Exception as error:
            self.app.post_message(Undrawn(error))  # it would not bubble: the screen draws, and counts as its sender
            width = self.size.width
            return Strip([Segment(crop(f"tltui could not draw this: {type(error).__name__}", width).ljust(width))], width)

    return drawn
