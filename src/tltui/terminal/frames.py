"""An app whose frames are small, and wait for the terminal.

Textual gives every frame to `App._display`; there is no public way to take it. This module and `decoder.py` are the only places
that use what is private in Textual for the terminal.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from rich.console import RenderableType
from textual._ansi_sequences import SYNC_END, SYNC_START
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.screen import Screen

from tltui.terminal.driver import TerminalDriver
from tltui.terminal.flow import Flow
from tltui.terminal.picture import Picture

SOON = 0.1
"""Seconds after which a terminal of the same size is drawn anew when something has happened to it."""


class Frames(App[None]):
    """Draws what differs, one frame at a time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(driver_class=TerminalDriver, **options)
        self.picture = Picture(self.console._color_system, erases_in_color=erases_in_color())
        self._flow = Flow()
        self._later: asyncio.TimerHandle | None = None
        self._anew: asyncio.TimerHandle | None = None

    # what the driver tells

    def terminal_begins(self) -> None:
        """The terminal is ours, and shows nothing of ours."""
        self._flow.begin()
        self.picture.forget()

    def terminal_changed(self) -> None:
        """It has another size, or somebody else has done something to it."""
        self.picture.forget()
        if self._anew is None:
            self._anew = asyncio.get_running_loop().call_later(SOON, self._draw_anew)

    def terminal_answers(self) -> None:
        """It is done with the last frame."""
        self._flow.answered()
        self.draw()

    # drawing

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Textual calls this with each frame."""
        if not isinstance(self._driver, TerminalDriver) or not isinstance(renderable, (ChopsUpdate, LayoutUpdate, type(None))):
            super()._display(screen, renderable)
            self.picture.forget()
            return
        try:
            if renderable is not None:
                self._take(renderable)
            if not self._batch_count:
                self.draw()
        except Exception as error:
            self._handle_exception(error)
        finally:
            self.post_display_hook()

    def _take(self, update: ChopsUpdate | LayoutUpdate) -> None:
        """Put into the picture what Textual has painted."""
        picture = self.picture
        if isinstance(update, LayoutUpdate):
            left, top, width, height = update.region
            if (width, height) != (picture.width, picture.height):
                picture.resize(width, height)
            for y, strips in enumerate(update.strips, top):
                x = left
                for strip in strips:
                    picture.put(y, x, strip)
                    x += strip.cell_length
            return
        for y, start, end in update.spans:
            for stop, (x, painted) in zip(update.chop_ends[y], update.chops[y].items(), strict=True):
                if painted is not None and x < end and stop > start:
                    picture.put(y, x, painted)

    def draw(self) -> None:
        """Send what the terminal does not show yet, now or when it is done with the frame before."""
        driver = self._driver
        if not isinstance(driver, TerminalDriver) or not self._running or self._closed or self._exit:
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if seconds := self._flow.wait():
            self._later = asyncio.get_running_loop().call_later(seconds, self.draw)
            return
        changes = self.picture.changes()
        if not changes:
            return
        x, y = self.screen.outer_size.clamp_offset(self.cursor_position)
        changes += f"\x1b[{y + 1};{x + 1}H"
        driver.write(f"{SYNC_START}{changes}{SYNC_END}" if self._sync_available else changes)
        if self._flow.drawn():
            driver.ask()

    def redraw(self) -> None:
        """Have Textual paint everything, and draw it whatever the terminal shows."""
        self.picture.forget()
        self.refresh(layout=True)

    def _draw_anew(self) -> None:
        self._anew = None
        self.draw()


def erases_in_color() -> bool:
    """Whether the terminal erases with the ground that is set. All do but `screen`; tmux calls itself so too, and does."""
    return not os.environ.get("TERM", "").startswith("screen") or bool(os.environ.get("TMUX"))
