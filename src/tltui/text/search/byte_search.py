"""Lines of a block of bytes that match a pattern, found through required substrings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field

from tltui.text.bad_input import BadInput
from tltui.text.frozen import frozen, mutable
from tltui.text.search.child_process import BLOCK, Child, heeds_case, is_by_line, is_simple
from tltui.text.search.matcher import first_in, in_bytes

SHORTEST = 2
MOST = 8
"""Alternatives that are looked for one by one."""
_CLASSES = "dDwWsSbBAZ0123456789nrtfvxuUNaz"
"""Letters that are no letters behind a backslash."""


@mutable
class _Branch:
    """One alternative: the sets of texts, of each of which a match holds one."""

    sets: list[list[str]] = field(default_factory=list)
    run: str = ""

    def end(self) -> None:
        if self.run:
            self.sets.append([self.run])
        self.run = ""

    def drop(self) -> None:
        """Drop the last letter, which may be missing or repeated."""
        self.run = self.run[:-1]
        self.end()

    def best(self) -> list[str] | None:
        self.end()
        return max(self.sets, key=lambda texts: min(map(len, texts)), default=None)


def needles(pattern: str) -> list[str] | None:
    """Return texts of which every match holds one; None when there are none that help."""
    try:
        texts, at = _alternatives(pattern, 0)
    except IndexError:
        return None
    if texts is None or at != len(pattern) or len(texts) > MOST or min(map(len, texts)) < SHORTEST:
        return None
    return sorted(set(texts))


def _alternatives(pattern: str, at: int) -> tuple[list[str] | None, int]:
    """Parse the alternatives from `at` to the end of the group; return their texts, and the end of the group."""
    branch, texts, is_literal = _Branch(), list[str](), True
    while at < len(pattern) and pattern[at] != ")":
        letter = pattern[at]
        at += 1
        if letter == "|":
            best = branch.best()
            is_literal = is_literal and best is not None
            texts += best or []
            branch = _Branch()
        elif letter == "(":
            at = _group(pattern, at, branch)
        elif letter == "[":
            branch.end()
            at = _behind_class(pattern, at)
        elif letter in "*?{":
            branch.drop()
            at = pattern.index("}", at) + 1 if letter == "{" and "}" in pattern[at:] else at
        elif letter in ".^$+":
            branch.end()
        elif letter == "\\":
            escaped = pattern[at]
            at += 1
            if escaped in _CLASSES:
                branch.end()
                if escaped in "xuUN":  # digits or a name follow, which are no text
                    raise IndexError
            elif escaped.isalnum():
                raise IndexError
            else:
                branch.run += escaped
        else:
            branch.run += letter
    best = branch.best()
    is_literal = is_literal and best is not None
    return ([*texts, *(best or [])] if is_literal else None), at


def _group(pattern: str, at: int, branch: _Branch) -> int:
    """Add the contents of a group to the branch, unless it is optional; return its end."""
    branch.end()
    if pattern[at] == "?":
        if pattern[at + 1] != ":":
            raise IndexError  # flags, looks ahead and behind, names: not worth it
        at += 2
    inside, at = _alternatives(pattern, at)
    if pattern[at] != ")":
        raise IndexError
    at += 1
    if inside is not None and (at >= len(pattern) or pattern[at] not in "*?{"):
        branch.sets.append(inside)
    return at


def _behind_class(pattern: str, at: int) -> int:
    """Where a `[…]` ends."""
    at += pattern[at] == "^"
    at += pattern[at] == "]"
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


FREQUENT = 400
"""Bytes for each needle, on average, below which the expression itself is quicker than looking at so many lines."""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


@frozen
class Finder:
    """A pattern, ready to be looked for in bytes."""

    needles: tuple[bytes, ...]
    """Every hit holds one of them; () where that is not known."""
    pattern: re.Pattern[bytes] | None
    """None: the needles are the pattern."""
    is_whole: bool
    """Whether the pattern may see more than one line at a time."""
    cased: bool
    """Whether case matters; if not, needles and pattern are for the text in small letters."""


class BadPattern(BadInput):
    """The error that a pattern is empty, or no regular expression."""


def finder(pattern: str) -> Finder:
    """Prepare a search. Raises `BadPattern`."""
    if not pattern:
        raise BadPattern("empty pattern: ''", "give at least one character")
    cased = heeds_case(pattern)
    if not _SPECIAL.search(pattern):
        text = pattern if cased else pattern.lower()
        # an envelope is JSON in ASCII: there the same text has escapes
        texts = dict.fromkeys((text, json.dumps(text, ensure_ascii=True)[1:-1]))
        return Finder(tuple(_encoded(t) for t in texts if t), None, True, cased)
    try:
        re.compile(pattern)
        data = _encoded(pattern)
        # stored lines of a payload begin with a tab that is not part of them
        expression = re.compile(b"^\t?" + data[1:] if data.startswith(b"^") else data, re.MULTILINE)
    except re.error as error:
        advice = f"{error}; a backslash makes a character literal: '{re.escape(pattern)}'"
        raise BadPattern(f"invalid regular expression: {pattern!r}", advice) from None
    held = needles(pattern) if pattern.isascii() else None
    return Finder(tuple(text.encode() for text in held or ()), expression, not is_by_line(pattern), cased)


def _encoded(pattern: str) -> bytes:
    """Encode a pattern. Half of a surrogate pair, which a terminal may paste, becomes the bytes that no UTF-8 text contains."""
    try:
        return pattern.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return pattern.encode("utf-8", "surrogatepass")


Found = tuple[int, int, int, int]
"""Begin of a line, its end, begin of the hit, its end."""


def child_for(finder: Finder) -> Child | None:
    """Start the process for a pattern; None for one that is sure to be quick."""
    if finder.pattern is None or is_simple(finder.pattern):
        return None
    return Child(finder.pattern, finder.pattern if finder.is_whole else None)


def first_hits(text: bytes, finder: Finder, child: Child | None) -> Iterator[Found | None]:
    """Yield the first hit of each matching line. None now and then, while `child` is at work."""
    if not finder.needles or (finder.pattern and sum(map(text.count, finder.needles)) > len(text) // FREQUENT):
        assert finder.pattern is not None
        yield from in_bytes(text, finder.pattern, finder.is_whole) if child is None else _outside(text, child)
    elif finder.pattern is None:
        for at, needle, line, end in _held(text, finder.needles):
            yield line, end, at, at + len(needle)
    elif child is None:
        for _, _, line, end in _held(text, finder.needles):
            if (match := first_in(finder.pattern, text, line, end)) is not None:
                yield line, end, match.start(), match.end()
    else:
        yield from _outside_in(text, [(line, end) for _, _, line, end in _held(text, finder.needles)], child)


def _held(text: bytes, needles: tuple[bytes, ...]) -> Iterator[tuple[int, bytes, int, int]]:
    """(place, needle, begin of line, its end) for the first needle of each line that holds one."""
    ahead = [text.find(needle) for needle in needles]
    while (at := min((place for place in ahead if place >= 0), default=-1)) >= 0:
        line = text.rfind(b"\n", 0, at) + 1
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        yield at, needles[ahead.index(at)], line, end
        ahead = [text.find(needle, end) if 0 <= place < end else place for needle, place in zip(needles, ahead, strict=True)]


def _outside(text: bytes, child: Child) -> Iterator[Found | None]:
    """Search the full text, block by block, in another process."""
    at = 0
    while at < len(text):
        cut = len(text) if len(text) - at <= BLOCK else text.rfind(b"\n", at, at + BLOCK) + 1
        if cut <= at:  # a line that is longer than a block
            cut = text.find(b"\n", at) + 1 or len(text)
        answer = yield from child.ask(text[at:cut])
        for n in range(0, len(answer), 4):
            line = at + answer[n + 1]
            end = text.find(b"\n", line)
            yield line, len(text) if end < 0 else end, line + answer[n + 2], line + answer[n + 3]
        at = cut


def _outside_in(text: bytes, lines: list[tuple[int, int]], child: Child) -> Iterator[Found | None]:
    """Search some lines of the text, in another process."""
    place = 0
    while place < len(lines):
        stop, size = place, 0
        while stop < len(lines) and size < BLOCK:
            size += lines[stop][1] - lines[stop][0] + 1
            stop += 1
        answer = yield from child.ask(b"\n".join(text[line:end] for line, end in lines[place:stop]))
        for n in range(0, len(answer), 4):
            line, end = lines[place + answer[n]]
            yield line, end, line + answer[n + 2], line + answer[n + 3]
        place = stop
