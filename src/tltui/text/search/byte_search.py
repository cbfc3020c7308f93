"""The lines of a block of bytes that match a pattern.

A literal is found with `find`, on text in small letters when case does not matter: a flag of a regular expression would be
five times slower. A regular expression runs on the lines that hold what it must hold (`needles`), or on the whole block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tltui.text.pattern import heeds_case
from tltui.text.search.needles import needles

FREQUENT = 400
"""Bytes for each needle, on average, below which the expression itself is quicker than looking at so many lines."""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


@dataclass(frozen=True, slots=True)
class Finder:
    """A pattern, ready to be looked for in bytes."""

    needles: tuple[bytes, ...]
    """Every hit holds one of them; () where that is not known."""
    pattern: re.Pattern[bytes] | None
    """None: the needles are the pattern."""
    cased: bool
    """Whether case matters; if not, needles and pattern are for the text in small letters."""


class BadPattern(ValueError):
    """The pattern is no regular expression. Its text says why."""


def finder(pattern: str) -> Finder:
    """Prepare a search. Raises `BadPattern`."""
    cased = heeds_case(pattern)
    if not _SPECIAL.search(pattern):
        text = pattern if cased else pattern.lower()
        # an envelope is JSON in ASCII: there the same text has escapes
        texts = dict.fromkeys((text, json.dumps(text, ensure_ascii=True)[1:-1]))
        return Finder(tuple(t.encode("utf-8", "surrogateescape") for t in texts if t), None, cased)
    try:
        re.compile(pattern)
        data = pattern.encode("utf-8", "surrogateescape")
        # stored lines of a payload begin with a tab that is not part of them
        expression = re.compile(b"^\t?" + data[1:] if data.startswith(b"^") else data, re.MULTILINE)
    except re.error as error:
        raise BadPattern(f"{pattern!r} is no regular expression: {error}") from None
    held = needles(pattern) if pattern.isascii() else None
    return Finder(tuple(text.encode() for text in held or ()), expression, cased)


def first_hits(text: bytes, wanted: Finder) -> Iterator[tuple[int, int, int, int]]:
    """(begin of line, its end, begin of hit, its end): the first hit of each line that has one."""
    if not wanted.needles or (wanted.pattern and sum(map(text.count, wanted.needles)) > len(text) // FREQUENT):
        yield from _matches(text, wanted.pattern)
        return
    ahead = [text.find(needle) for needle in wanted.needles]
    while (at := min((place for place in ahead if place >= 0), default=-1)) >= 0:
        line = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        if wanted.pattern is None:
            yield line, end, at, at + len(wanted.needles[ahead.index(at)])
        elif (match := _first(wanted.pattern, text, line, end)) is not None:
            yield line, end, match.start(), match.end()
        ahead = [text.find(needle, end) if 0 <= place < end else place for needle, place in zip(wanted.needles, ahead, strict=True)]


def _matches(text: bytes, pattern: re.Pattern[bytes] | None) -> Iterator[tuple[int, int, int, int]]:
    """The same by running the expression over the whole text."""
    assert pattern is not None
    at = 0
    while (found := pattern.search(text, at)) is not None:
        line = text.rfind(b"\n", 0, found.start()) + 1
        end = text.find(b"\n", found.start())
        end = len(text) if end < 0 else end
        # what runs over the end of a line, or is empty, may still be a hit within the line
        is_good = found.start() < found.end() <= end
        if (match := found if is_good else _first(pattern, text, line, end)) is not None:
            yield line, end, match.start(), match.end()
        at = end + 1
        if at > len(text):
            return


def _first(pattern: re.Pattern[bytes], text: bytes, start: int, end: int) -> re.Match[bytes] | None:
    return next((match for match in pattern.finditer(text, start, end) if match.end() > match.start()), None)
