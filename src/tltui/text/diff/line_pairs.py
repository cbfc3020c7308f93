"""Which line of a stretch that changed became which: those that share most words, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence

LARGEST = 2_500
"""Product of the numbers of lines up to which pairs are looked for; beyond, lines stand beside each other in order."""
ALIKE = 0.4
"""Share of the words that two lines must have in common."""
_WORD = re.compile(r"\w+|[^\w\s]")

Row = tuple[int, int]
"""A line of the left and one of the right; -1: none."""


def line_pairs(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """The rows of a changed stretch: lines that resemble each other side by side, the others alone or in order."""
    if len(left) * len(right) > LARGEST or not left or not right:
        return _beside(range(len(left)), range(len(right)))
    rows: list[Row] = []
    a = b = 0
    for x, y in [*_alike(left, right), (len(left), len(right))]:
        rows += _beside(range(a, x), range(b, y))
        if x < len(left):
            rows.append((x, y))
        a, b = x + 1, y + 1
    return rows


def _beside(left: range, right: range) -> list[Row]:
    size = max(len(left), len(right))
    return [(left[n] if n < len(left) else -1, right[n] if n < len(right) else -1) for n in range(size)]


def _alike(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """The pairs, in order on both sides, with the largest sum of likeness."""
    words_a = [set(_WORD.findall(line[:2_000])) for line in left]
    words_b = [set(_WORD.findall(line[:2_000])) for line in right]
    height, width = len(left), len(right)
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    score = [[_likeness(a, b) for b in words_b] for a in words_a]
    for x in range(height - 1, -1, -1):
        for y in range(width - 1, -1, -1):
            taken = score[x][y] + best[x + 1][y + 1] if score[x][y] >= ALIKE else 0.0
            best[x][y] = max(taken, best[x + 1][y], best[x][y + 1])
    pairs: list[Row] = []
    x = y = 0
    while x < height and y < width:
        if score[x][y] >= ALIKE and best[x][y] == score[x][y] + best[x + 1][y + 1]:
            pairs.append((x, y))
            x, y = x + 1, y + 1
        elif best[x][y] == best[x + 1][y]:
            x += 1
        else:
            y += 1
    return pairs


def _likeness(left: set[str], right: set[str]) -> float:
    return len(left & right) / max(len(left | right), 1)
