"""What is on the screen, as text.

Read from Textual's own picture of the screen: it is the public way that sees what a person sees, borders and overlays
included, and it does not change with how widgets are composed.
"""

from __future__ import annotations

import html
import re
from typing import Any

from rich.cells import cell_len
from textual.app import App
from textual.pilot import Pilot

_TEXT = re.compile(r'<text class="[^"]*-r\d+" x="([\d.]+)" [^>]*-line-(\d+)\)">(.*?)</text>')
_CELL = 12.2


def screen_lines(app: App[Any]) -> list[str]:
    """Return the rows of the current screen, without blanks at their ends. A wide character is one character here."""
    rows = [[" "] * app.size.width for _ in range(app.size.height)]
    for x, line, text in _TEXT.findall(app.export_screenshot()):
        column = round(float(x) / _CELL)
        for char in html.unescape(text).replace("\xa0", " "):
            width = cell_len(char)
            if width and column < app.size.width:
                rows[int(line)][column] = char
                for extra in range(column + 1, min(column + width, app.size.width)):
                    rows[int(line)][extra] = ""
            column += width
    return ["".join(row).rstrip() for row in rows]


def screen_text(app: App[Any]) -> str:
    """Return the rows of the current screen as one text."""
    return "\n".join(screen_lines(app))


async def until(pilot: Pilot[Any], condition: Any, seconds: float = 5.0) -> None:
    """Wait until `condition()` holds: for what a helper thread finds. Never for a fixed time."""
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("it did not happen:\n" + screen_text(pilot.app))
