"""How many cells of a terminal a text takes.

A Chinese character takes two, a combining accent none, a character that is told to look like an emoji (U+FE0F) two. The tables
are those of `wcwidth`; what terminals make of sequences of emoji differs from one to the next and is not modelled. Text of
characters that are known to take one cell never gets there, and the library is loaded for the first one that is not.
"""

from __future__ import annotations

import re
from functools import lru_cache

ELLIPSIS = "…"

_NARROW = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u2319\u2400-\u25fc\u2691\u2713\u2717]*"
).fullmatch
"""Text of which each character takes one cell: letters of Europe, punctuation, arrows, mathematics, boxes, our own marks."""
_AS_EMOJI = re.compile("(.)\ufe0f", re.DOTALL)


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    from wcwidth import wcwidth

    return abs(wcwidth(char))  # -1 for a control character: sanitised text has none


@lru_cache(maxsize=256)
def _widened(char: str) -> int:
    """By how much U+FE0F widens the character before it."""
    from wcwidth import wcswidth

    return 1 if _cells(char) == 1 and wcswidth(char + "\ufe0f") == 2 else 0


def cells(text: str) -> int:
    """Cells that `text` takes."""
    if text.isascii() or _NARROW(text):
        return len(text)
    return sum(map(_cells, text)) + (sum(map(_widened, _AS_EMOJI.findall(text))) if "\ufe0f" in text else 0)


def fitting(text: str, width: int) -> int:
    """How many characters of `text` fit into a number of cells, accents with their letters."""
    if width <= 0:
        return 0
    if text.isascii():
        return min(len(text), width)
    used = 0
    for n, char in enumerate(text):
        used += _cells(char)
        if char == "\ufe0f" and n:
            used += _widened(text[n - 1])
        if used > width:
            return n
    return len(text)


def crop(text: str, width: int) -> str:
    """The longest beginning of `text` that takes at most `width` cells. Accents stay with their letters."""
    return text[: fitting(text, width)]


def fit(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """`text` in at most `width` cells; what does not fit is replaced by `ellipsis`."""
    if len(text) <= width and text.isascii():
        return text
    if cells(text) <= width:
        return text
    room = width - cells(ellipsis)
    return crop(text, room) + ellipsis if room >= 0 else crop(ellipsis, width)


def crop_left(text: str, width: int) -> str:
    """The longest end of `text` that takes at most `width` cells. No accent is left without its letter."""
    if text.isascii():
        return text[max(len(text) - max(width, 0), 0) :]
    first, used = len(text), 0
    while first:
        used += _cells(text[first - 1]) + (_widened(text[first - 1]) if text[first : first + 1] == "\ufe0f" else 0)
        if used > width:
            break
        first -= 1
    while first < len(text) and _cells(text[first]) == 0:
        first += 1
    return text[first:]
