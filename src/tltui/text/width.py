"""How many cells of a terminal a text takes.

A Chinese character takes two, a combining accent none. The standard library's tables decide; what a
terminal makes of emoji sequences differs from terminal to terminal and is not modelled.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

ELLIPSIS = "…"


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    code = ord(char)
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or 0x1160 <= code <= 0x11FF:
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cells(text: str) -> int:
    """Cells that `text` takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def crop(text: str, width: int) -> str:
    """The longest beginning of `text` that takes at most `width` cells. Accents stay with their letters."""
    if width <= 0:
        return ""
    if text.isascii():
        return text[:width]
    used = 0
    for n, char in enumerate(text):
        used += _cells(char)
        if used > width:
            return text[:n]
    return text


def fit(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` in at most `width` cells; what does not fit is replaced by `ellipsis`."""
    if len(text) <= width and text.isascii():
        return text
    if cells(text) <= width:
        return text
    room = width - cells(ellipsis)
    return crop(text, room) + ellipsis if room >= 0 else crop(ellipsis, width)


def fit_left(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """As `fit`, but keeps the end: for paths, whose end says most."""
    if cells(text) <= width:
        return text
    room = width - cells(ellipsis)
    if room < 0:
        return crop(ellipsis, width)
    first, used = len(text), 0
    while first and used + _cells(text[first - 1]) <= room:
        first -= 1
        used += _cells(text[first])
    while first < len(text) and _cells(text[first]) == 0:  # an accent without its letter
        first += 1
    return ellipsis + text[first:]


def pad(text: str, width: int, right: bool = False, ellipsis: str = ELLIPSIS) -> str:
    """`text` in exactly `width` cells: cut with `ellipsis` or filled with blanks (`right`: the text stands right)."""
    text = fit(text, width, ellipsis)
    blanks = " " * max(width - cells(text), 0)
    return blanks + text if right else text + blanks
