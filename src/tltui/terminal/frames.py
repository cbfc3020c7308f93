"""An app whose frames are small, and wait for the terminal.

Textual gives every frame to `App._display`; there is no public way to take it. This module and `decoder.py` are the only places
that use what is private in Textual for the terminal.
"""

from __future__ import annotations

import asyncio
import os
import time
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

TOGETHER = 0.25
"""Seconds for which keys that are waiting hold up a frame at most."""
NEXT_KEY = 0.01
"""Seconds until it is asked again whether some are."""


class Frames(App[None]):
    """Draws what differs, one frame at a time."""

    def __init__(self, **options: Any) -> None:
        super().__init__(driver_class=TerminalDriver, **options)
        self.picture = Picture(self.console._color_system, erases_in_color=erases_in_color())
        self._flow = Flow()
        self._drawn = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._anew: asyncio.TimerHandle | None = None

    # what the driver tells

    def terminal_begins(self) -> None:
        """The terminal is ours, and shows nothing of ours."""
        self._flow.begin()
        self.picture.forget()

    def terminal_changed(self) -> None:
        """It has another size, which Textual will find out, or somebody else has done something to it."""
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
        except Exception as error:
            self._handle_exception(error)
        else:
            if not self._batch_count:
                self.draw()
            elif self._later is None:  # the batch may end without another frame
                self._later = asyncio.get_running_loop().call_later(SOON, self.draw)
        finally:
            self.post_display_hook()

    def _take(self, update: ChopsUpdate | LayoutUpdate) -> None:
        """Put into the picture what Textual has painted."""
        picture = self.picture
        if isinstance(update, LayoutUpdate):
            left, top, width, height = update.region
            if (width, height) != (picture.width, picture.height):
                picture.resize(width, height)
                self._settled()
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
        if not isinstance(driver, TerminalDriver) or not self._running or self._closed or self._exit or self._anew is not None:
            return
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if seconds := self._flow.wait() or self._for_keys():
            self._later = asyncio.get_running_loop().call_later(seconds, self.draw)
            return
        try:
            changes = self.picture.changes()
        except Exception as error:
            self._handle_exception(error)
            return
        if changes:
            x, y = self.cursor_position
            changes += f"\x1b[{min(y, self.picture.height - 1) + 1};{min(x, self.picture.width - 1) + 1}H"
            self._drawn = time.monotonic()
            driver.write(f"{SYNC_START}{changes}{SYNC_END}" if self._sync_available else changes)
            if self._flow.drawn():
                driver.ask()

    @property
    def keys_wait(self) -> bool:
        """Whether keys have come that were not taken yet."""
        return False

    def _for_keys(self) -> float:
        """Seconds to wait because the frame would be an old one before it is drawn: what is typed at once is drawn together."""
        return NEXT_KEY if self.keys_wait and time.monotonic() - self._drawn < TOGETHER else 0.0

    def redraw(self) -> None:
        """Have Textual paint everything, and draw it whatever the terminal shows."""
        self.picture.forget()
        self.refresh(layout=True)

    def _draw_anew(self) -> None:
        self._settled()
        self.draw()

    def _settled(self) -> None:
        """What happened to the terminal is over."""
        if self._anew is not None:
            self._anew.cancel()
            self._anew = None


def erases_in_color() -> bool:
    """Whether the terminal erases with the ground that is set. All do but `screen`; tmux calls itself so too, and does."""
    return not os.environ.get("TERM", "").startswith("screen") or bool(os.environ.get("TMUX"))
