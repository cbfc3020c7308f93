"""Two texts that differ in little: which lines, and in them which words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

LINES, WORDS = 400, 400
"""Lines, and words of a line, that are compared."""
CONTEXT = 24
"""Columns that are shown before the first difference of a long line."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
Marks = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line of the left text and the one in its place on the right; None where there is none."""

    left: str | None
    right: str | None
    left_marks: Marks = ()
    """Columns of the words that differ."""
    right_marks: Marks = ()


def changed_lines(left: str, right: str, limit: int = 3) -> tuple[list[ChangedLine], int]:
    """The first `limit` lines that differ, and how many more there are."""
    a, b = left.split("\n")[:LINES], right.split("\n")[:LINES]
    found: list[tuple[str | None, str | None]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        rows = max(i_end - i, j_end - j)
        found += [(a[i + n] if i + n < i_end else None, b[j + n] if j + n < j_end else None) for n in range(rows)]
    shown = [_marked(*pair) for pair in found[:limit]]
    return shown, max(len(found) - limit, 0)


def _marked(left: str | None, right: str | None) -> ChangedLine:
    if left is None or right is None:
        return ChangedLine(left, right)
    a, b = _WORD.findall(left), _WORD.findall(right)
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    ours, theirs = a[start : len(a) - end][:WORDS], b[start : len(b) - end][:WORDS]
    before = sum(map(len, a[:start]))
    left_marks: list[tuple[int, int]] = []
    right_marks: list[tuple[int, int]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            _mark(left_marks, before, ours, i, i_end)
            _mark(right_marks, before, theirs, j, j_end)
    return ChangedLine(left, right, tuple(left_marks), tuple(right_marks))


def _mark(marks: list[tuple[int, int]], before: int, words: list[str], first: int, end: int) -> None:
    if end > first:
        start = before + sum(map(len, words[:first]))
        marks.append((start, start + sum(map(len, words[first:end]))))


def around(text: str, marks: Marks, width: int) -> tuple[str, Marks]:
    """The part of a line that has its first marks, at most `width` columns, and the marks in it."""
    if len(text) <= width:
        return text, marks
    first = marks[0][0] if marks else 0
    start = max(min(first - CONTEXT, len(text) - width), 0)
    part = text[start : start + width]
    if start:
        part = "…" + part[1:]
    if start + width < len(text):
        part = part[:-1] + "…"
    moved = tuple((max(a - start, 0), min(b - start, width)) for a, b in marks if b > start and a < start + width)
    return part, moved
