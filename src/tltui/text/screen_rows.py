"""The mapping between lines of a document and rows of the screen, with wrapping and alignment."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import accumulate
from typing import Protocol

from tltui.text.document import Section
from tltui.text.frozen import frozen

WRAP_LIMIT = 20_000
"""Visible lines above which wrapping is refused: it needs the height of every line before it knows any row."""

WRAP_CAP = 16_384
"""Columns of one line that are shown when wrapped. The rest is told, not shown."""

_BLOCK = 64


@frozen
class Row:
    """The content of one screen row: columns `lo` to `hi` (exclusive; None: to the end) of `line`; -1 is a filler.

    `part` counts the rows of a wrapped line from 0.
    """

    line: int
    part: int = 0
    lo: int = 0
    hi: int | None = None


FILLER = Row(-1)


class RowMap(Protocol):
    """Screen row ↔ line."""

    def __len__(self) -> int:
        """Rows there are."""

    def at(self, row: int) -> Row:
        """Return the content of row `row`; `FILLER` beyond the end."""

    def row_of(self, line: int, column: int = 0) -> int:
        """Return the row of `column` of `line`; for a hidden line, the row of the last visible line before it (its fold's head)."""

    def shows(self, line: int) -> bool:
        """Whether the line has a row of its own."""


class Lines:
    """The lines of `base` that are not in one of the `hidden` ranges, one row each.

    `base` is `range(number of lines)`, or the ascending lines that a filter kept. `hidden` are disjoint ascending
    ranges of lines, both ends inclusive, as `SectionIndex.hidden` gives them.
    """

    def __init__(self, base: Sequence[int], hidden: Iterable[tuple[int, int]] = ()) -> None:
        self._base = base
        self._starts = array("q")
        self._before = array("q")
        position = rows = 0
        for first, last in (*hidden, (None, None)):
            start = len(base) if first is None else bisect_left(base, first)
            if start > position:
                self._starts.append(position)
                self._before.append(rows)
                rows += start - position
            if last is not None:
                position = max(position, bisect_right(base, last))
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def at(self, row: int) -> Row:
        if not 0 <= row < self._rows:
            return FILLER
        segment = bisect_right(self._before, row) - 1
        return Row(self._base[self._starts[segment] + row - self._before[segment]])

    def row_of(self, line: int, column: int = 0) -> int:
        position = bisect_right(self._base, line) - 1
        segment = bisect_right(self._starts, position) - 1
        if segment < 0:
            return 0
        end = self._before[segment + 1] if segment + 1 < len(self._before) else self._rows
        return min(self._before[segment] + position - self._starts[segment], end - 1)

    def shows(self, line: int) -> bool:
        return self._rows > 0 and self.at(self.row_of(line)).line == line


class Wrapped:
    """The wrapped rows of `lines`.

    `columns(line)` is cheap: an upper bound of the columns of a line, from which its number of rows is estimated.
    `parts(line)` returns the exact start columns of its rows; it is called for the lines around the visible rows.
    The estimate is exact unless a line has characters two cells wide, so rows below the visible ones seldom move.
    """

    def __init__(
        self,
        lines: RowMap,
        width: int,
        columns: Callable[[int], int],
        parts: Callable[[int], Sequence[int]],
    ) -> None:
        self._lines = lines
        self._width = max(width, 1)
        self._columns = columns
        self._parts = parts
        self._starts: dict[int, Sequence[int]] = {}
        self._heights = array("L", (self._guess(lines.at(row).line) for row in range(len(lines))))
        blocks = range(0, len(self._heights), _BLOCK)
        self._measured = bytearray(len(blocks))
        self._totals = [sum(self._heights[block : block + _BLOCK]) for block in blocks]
        self._before = [0, *accumulate(self._totals)]

    def _guess(self, line: int) -> int:
        columns = min(self._columns(line), WRAP_CAP)
        return max(1, -(-columns // self._width))

    def _starts_of(self, line: int) -> Sequence[int]:
        """Where the rows of a line begin. Lines that fit even with wide characters only are not asked for."""
        if self._columns(line) * 2 <= self._width:
            return (0,)
        starts = self._starts.get(line)
        if starts is None:
            if len(self._starts) > 4096:
                self._starts.clear()
            starts = self._starts[line] = self._parts(line) or (0,)
        return starts

    def _measure(self, block: int) -> bool:
        """Put the exact heights of a block of lines in place of the guessed ones. True when that moved rows."""
        if self._measured[block]:
            return False
        self._measured[block] = 1
        for index in range(block * _BLOCK, min((block + 1) * _BLOCK, len(self._heights))):
            self._heights[index] = len(self._starts_of(self._lines.at(index).line))
        total = sum(self._heights[block * _BLOCK : (block + 1) * _BLOCK])
        if total == self._totals[block]:
            return False
        self._totals[block] = total
        self._before = [0, *accumulate(self._totals)]
        return True

    def __len__(self) -> int:
        return self._before[-1]

    def at(self, row: int) -> Row:
        while 0 <= row < self._before[-1]:
            block = bisect_right(self._before, row) - 1
            if self._measure(block):
                continue
            offset = row - self._before[block]
            index = block * _BLOCK
            while offset >= self._heights[index]:
                offset -= self._heights[index]
                index += 1
            line = self._lines.at(index).line
            starts = self._starts_of(line)
            hi = starts[offset + 1] if offset + 1 < len(starts) else None
            if hi is None and self._columns(line) > WRAP_CAP:
                hi = max(WRAP_CAP, starts[offset] + 1)
            return Row(line, offset, starts[offset], hi)
        return FILLER

    def row_of(self, line: int, column: int = 0) -> int:
        if not len(self._lines):
            return 0
        index = self._lines.row_of(line)
        block = index // _BLOCK
        self._measure(block)
        row = self._before[block] + sum(self._heights[block * _BLOCK : index])
        if self._lines.at(index).line != line:
            return row
        return row + bisect_right(self._starts_of(line), column) - 1

    def shows(self, line: int) -> bool:
        return self._lines.shows(line)


class Aligned:
    """One side of a side-by-side view: row `r` shows line `lines[r]`, -1 is a filler. The lines ascend."""

    def __init__(self, lines: Iterable[int]) -> None:
        self._at = array("q", lines)
        self._rows = array("q", (row for row, line in enumerate(self._at) if line >= 0))
        self._lines = array("q", (line for line in self._at if line >= 0))

    def __len__(self) -> int:
        return len(self._at)

    def at(self, row: int) -> Row:
        return Row(self._at[row]) if 0 <= row < len(self._at) and self._at[row] >= 0 else FILLER

    def row_of(self, line: int, column: int = 0) -> int:
        place = bisect_right(self._lines, line) - 1
        return self._rows[max(place, 0)] if self._rows else 0

    def shows(self, line: int) -> bool:
        place = bisect_left(self._lines, line)
        return place < len(self._lines) and self._lines[place] == line


class SectionIndex:
    """An index of the sections of a document, for lookup by line in O(log n).

    Relies on the contract of `Document.sections`: ordered by first line, the outer one first, properly nested.
    """

    def __init__(self, sections: Sequence[Section] = ()) -> None:
        self.sections = [section for section in sections if section.last > section.first]
        self._firsts = [section.first for section in self.sections]
        self._parents = array("q")
        open_: list[int] = []
        for place, section in enumerate(self.sections):
            while open_ and self.sections[open_[-1]].last < section.first:
                open_.pop()
            self._parents.append(open_[-1] if open_ else -1)
            open_.append(place)

    def __len__(self) -> int:
        return len(self.sections)

    def around(self, line: int) -> list[Section]:
        """Return the sections that contain a line, the innermost first."""
        place = bisect_right(self._firsts, line) - 1
        sections = []
        while place >= 0:
            if self.sections[place].last >= line:
                sections.append(self.sections[place])
            place = self._parents[place]
        return sections

    def headed(self, line: int) -> Section | None:
        """Return the section with head `line`; the outermost of several."""
        place = bisect_left(self._firsts, line)
        return self.sections[place] if place < len(self._firsts) and self._firsts[place] == line else None

    def after(self, line: int) -> int | None:
        """Return the next head below a line."""
        place = bisect_right(self._firsts, line)
        return self._firsts[place] if place < len(self._firsts) else None

    def before(self, line: int) -> int | None:
        """Return the next head above a line."""
        place = bisect_left(self._firsts, line)
        return self._firsts[place - 1] if place else None

    def heads(self) -> set[int]:
        """Return the first lines of all sections."""
        return set(self._firsts)

    def folded(self) -> set[int]:
        """Return the first lines of the sections that start closed."""
        return {section.first for section in self.sections if section.folded}

    def hidden(self, folded: Collection[int]) -> list[tuple[int, int]]:
        """Return the line ranges (inclusive) hidden by closed sections; `folded`: the first lines of these."""
        ranges: list[tuple[int, int]] = []
        if not folded:
            return ranges
        for section in self.sections:
            if section.first not in folded or (ranges and section.last <= ranges[-1][1]):
                continue
            ranges.append((section.first + 1, section.last))
        return ranges

    def with_heads(self, lines: Iterable[int]) -> array[int]:
        """Return the filtered lines and the heads of their sections, ascending."""
        visible: set[int] = set()
        for line in lines:
            visible.add(line)
            visible.update(section.first for section in self.around(line))
        return array("q", sorted(visible))
