"""What is on the screen, as text.

Read from Textual's own full picture of the screen, the one that its screenshots are made from: it has what a person sees, borders
and overlays included, and it does not change with how widgets are composed.
"""

from __future__ import annotations

import asyncio
from typing import Any

from rich.cells import cell_len
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.pilot import Pilot


def screen_lines(app: App[Any]) -> list[str]:
    """Return the rows of the current screen, without blanks at their ends. A wide character is one character here."""
    picture = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(picture, LayoutUpdate)
    return [_visible("".join(strip.text for strip in strips)).rstrip() for strips in picture.strips]


def _visible(text: str) -> str:
    return text if text.isascii() else "".join(char for char in text if cell_len(char))


def screen_text(app: App[Any]) -> str:
    """Return the rows of the current screen as one text."""
    return "\n".join(screen_lines(app))


async def until(pilot: Pilot[Any], condition: Any, seconds: float = 5.0) -> None:
    """Wait until `condition()` holds: for what a helper thread finds. Never for a fixed time."""
    if condition():
        return
    for _ in range(int(seconds / 0.01)):
        await asyncio.sleep(0.01)
        if condition():
            await pilot.pause(0.0)  # what follows from it is on the screen
            if condition():
                return
    raise AssertionError("it did not happen:\n" + screen_text(pilot.app))
