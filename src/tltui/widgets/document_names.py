"""What the caret can stop at on a line: links, and names that something can be asked about."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.text import tokens
from tltui.text.document import Line

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_WORD = re.compile(r"\w+")

_NO_NAMES = frozenset({tokens.KEYWORD, tokens.CONSTANT, tokens.TYPE, tokens.NUMBER, tokens.OPERATOR, tokens.CONTROL})
_PROSE = frozenset({tokens.COMMENT, tokens.ORIGIN, tokens.STRING, tokens.HEADING, tokens.DIM})
_NAMED = frozenset({tokens.NAME, tokens.DEFINITION, tokens.FUNCTION})


@dataclass(frozen=True, slots=True)
class Stop:
    """Columns `start` to `end` (exclusive) of a line: a link with a `target`, or the name `text`."""

    start: int
    end: int
    text: str
    target: str = ""


def stops(line: Line, is_code: bool) -> list[Stop]:
    """The stops of a line (or of the part of it that was decoded), from left to right.

    In code every identifier is a name, but in comments and strings only those that look like one (`add_1`, not `add`).
    On pages that tltui wrote, only what they mark as a name is.
    """
    end = line.first + len(line.text)
    found = [
        Stop(link.start, link.end, line.text[max(link.start - line.first, 0) : link.end - line.first], link.target)
        for link in line.links
        if link.start < end and link.end > line.first
    ]
    links = list(found)
    for match in _NAME.finditer(line.text):
        start, stop = match.start() + line.first, match.end() + line.first
        if any(link.start < stop and start < link.end for link in links):
            continue
        if _is_name(match.group(), _style_at(line, start), is_code):
            found.append(Stop(start, stop, match.group()))
    return sorted(found, key=lambda stop: stop.start)


def _style_at(line: Line, column: int) -> str:
    style = ""
    for span in line.spans:
        if span.start <= column < span.end:
            style = span.style
    return style


def _is_name(word: str, style: str, is_code: bool) -> bool:
    if not is_code:
        return style in _NAMED
    if style in _PROSE:
        return "_" in word or any(char.isdigit() for char in word)
    return style not in _NO_NAMES


def word_at(line: Line, column: int) -> str:
    """The word that covers a column, or the next one to the right; '' for none."""
    for match in _WORD.finditer(line.text):
        if match.end() + line.first > column:
            return match.group()
    return ""
