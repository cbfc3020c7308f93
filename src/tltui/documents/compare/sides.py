"""Two artifacts side by side: a document for each side, and which of their lines stand in one row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tltui.analyses.compare.comparing import Difference
from tltui.documents.compare.artifacts import WORDS_UP_TO, marked
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.diff.diff import CONTEXT, Change, word_changes
from tltui.text.diff.line_pairs import line_pairs
from tltui.text.document import Options, TextDocument


@dataclass(slots=True)
class Sides:
    """What the screen shows. Rows and lines count from 0; -1 stands where only the other side has a line."""

    left: TextDocument
    right: TextDocument
    rows: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    """For each side: row → line of its document."""
    hunks: list[tuple[int, int]] = field(default_factory=list)
    """First and last row of each change."""
    starts: list[int] = field(default_factory=list)
    """The first row of each change and each equal stretch."""
    folds: dict[int, int] = field(default_factory=dict)
    """Row of a folded stretch → number of the change that it stands for."""


Spans = list[tuple[int, int]]
Memo = dict[int, list[tuple[int, int, Spans | None, Spans | None]]]
"""Number of a change → its rows: left line, right line, words that differ in each. Folding again need not find them again."""


def sides_of(
    found: Difference,
    refs: tuple[str, str],
    opened: Collection[int] | None = (),
    memo: Memo | None = None,
    ascii_only: bool = False,
) -> Sides:
    """Lay out both sides. Equal stretches are folded but for those in `opened`; None opens all."""
    memo = {} if memo is None else memo
    options = Options(ascii=ascii_only)
    builders = Page(refs[0], refs[0], options), Page(refs[1], refs[1], options)
    sides = Sides(builders[0].growing(), builders[1].growing())
    for number, change in enumerate(found.changes):
        sides.starts.append(len(sides.rows[0]))
        if change.same:
            fold = opened is not None and number not in opened
            _same(found, change, number, builders, sides, fold)
        else:
            if number not in memo:
                memo[number] = _pairs(found, change)
            _changed(found, change, memo[number], builders, sides)
    for builder in builders:
        builder.document()
    return sides


def _row(sides: Sides, left: bool, right: bool) -> None:
    """The lines that were just added stand in a row of their own."""
    sides.rows[0].append(len(sides.left.lines) - 1 if left else -1)
    sides.rows[1].append(len(sides.right.lines) - 1 if right else -1)


def _same(
    found: Difference, change: Change, number: int, builders: tuple[Page, Page], sides: Sides, fold: bool
) -> None:
    size = change.a1 - change.a0
    hidden = range(CONTEXT, size - CONTEXT) if fold and size > 2 * CONTEXT + 1 else range(0)
    for n in range(size):
        if n in hidden:
            if n == hidden.start:
                for builder in builders:
                    builder.add((f"⋯ {len(hidden)} equal lines", tokens.LABEL))
                _row(sides, True, True)
                sides.folds[len(sides.rows[0]) - 1] = number
            continue
        builders[0].add(found.left.lines[change.a0 + n])
        builders[1].add(found.right.lines[change.b0 + n])
        _row(sides, True, True)


def _pairs(found: Difference, change: Change) -> list[tuple[int, int, Spans | None, Spans | None]]:
    left = found.left.lines[change.a0 : change.a1]
    right = found.right.lines[change.b0 : change.b1]
    few = len(left) <= WORDS_UP_TO
    return [
        (x, y, *(word_changes(left[x], right[y]) if few and min(x, y) >= 0 else (None, None))) for x, y in line_pairs(left, right)
    ]


def _changed(
    found: Difference,
    change: Change,
    pairs: list[tuple[int, int, Spans | None, Spans | None]],
    builders: tuple[Page, Page],
    sides: Sides,
) -> None:
    first = len(sides.rows[0])
    for x, y, removed, added in pairs:
        if x >= 0:
            builders[0].add(*marked(found.left.lines[change.a0 + x], removed, tokens.REMOVED))
        if y >= 0:
            builders[1].add(*marked(found.right.lines[change.b0 + y], added, tokens.ADDED))
        _row(sides, x >= 0, y >= 0)
    sides.hunks.append((first, len(sides.rows[0]) - 1))
