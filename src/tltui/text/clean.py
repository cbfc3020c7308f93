"""Stored bytes → text that may be shown, with columns that search, links and the screen agree on.

Columns are characters of the sanitised line. Three kinds of lines, by their stored size:

* up to `SHORT` bytes a line is decoded and kept whole;
* up to `LONG` bytes columns are still exact, but only a window is handed out;
* beyond, one byte is one column: what is not printable ASCII is shown as a mark. Only `text()` decodes such lines.
"""

from __future__ import annotations

import re

from tltui.text.sanitize import SUBSTITUTE, sanitize

SHORT = 16 << 10
LONG = 4 << 20
LEXED = 8 << 10
"""Lines beyond this many stored bytes are never lexed."""

_PRINTABLE = bytes(range(0x20, 0x7F))
_WITH_LINE_ENDS = _PRINTABLE + b"\n"
_NOT_PRINTABLE = re.compile("[^ -~]")


def is_plain(data: bytes) -> bool:
    """Whether every byte is one printable ASCII character, so that byte and column are the same."""
    return data.isascii() and not data.translate(None, _PRINTABLE)


def decode(data: bytes) -> str:
    """One line as text that is safe to show."""
    return sanitize(data.decode("utf-8", "replace"))


def decode_lines(data: bytes) -> str:
    """Several lines, joined by line ends, as text that is safe to show."""
    if not data.translate(None, _WITH_LINE_ENDS):
        return data.decode("ascii")
    return "\n".join(map(sanitize, data.decode("utf-8", "replace").split("\n")))


def decode_bytewise(data: bytes) -> str:
    """Part of a huge line: one column per byte."""
    return _NOT_PRINTABLE.sub(_mark, data.decode("latin-1"))


def _mark(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\t":
        return " "
    mark = sanitize(char)
    return mark if mark != char else SUBSTITUTE
