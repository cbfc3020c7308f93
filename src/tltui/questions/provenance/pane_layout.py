"""Layout of provenance mode: visible panes, their arrangement, where `backspace` leads, letters of kernels in the gutters."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import combinations

from tltui.questions.provenance.records import CPP, KERNEL, PANES, POST, PRE, PY, SOURCE, Kernel
from tltui.text.frozen import frozen, mutable
from tltui.text.line_correspondence import LineGroups, Range, letters, of_lines

LAYERS = -1
"""The tree of layers, at the left of all others. `LineGroups` knows nothing of it: what is in a layer corresponds to it."""
NAMES = (*PANES, "layers")
ALL = (LAYERS, *range(len(PANES)))
CODE = (PY, CPP, KERNEL)
GRAPHS = (PRE, POST)
WANTED = (SOURCE, PY, CPP, POST, PRE, LAYERS, KERNEL)
"""Panes by priority: the first ones are visible where not all of them fit."""
SHARES = {LAYERS: 0.8, **dict.fromkeys(CODE, 1.25)}
"""Share of the screen of a pane; the source and the graphs have 1."""
TRAIL = 200
"""Places that `backspace` knows."""
STACKED_HEIGHT = 20
"""Rows of a screen from which two panes are stacked: five lines of source and seven of code, with the strip and all bars."""
STACKED_WIDTH = 100
"""Columns below which two panes are stacked.

Next to each other on 80 columns, a pane of code has 24 characters behind its gutter and indentation, less than the name of
most kernels. Stacked panes show whole source lines, and calls up to their second argument.
"""

MORE = "+"
"""Behind the letter of a line that is part of further kernels."""
UNLETTERED = "·"
"""Marks a line with a mapping but without a kernel."""


@frozen
class Layout:
    """The arrangement of panes on a screen."""

    count: int
    """Visible panes."""
    is_stacked: bool = False
    """Whether they are above each other, each with the width of the screen."""

    @property
    def has_strip(self) -> bool:
        """Whether lines below the panes list what corresponds in hidden panes."""
        return self.count <= 2

    @property
    def columns(self) -> int:
        """Return the number of panes next to each other."""
        return 1 if self.is_stacked else self.count


@frozen
class Spot:
    """A cursor position in the mode."""

    unit: int
    pane: int
    line: int
    column: int = 0


@mutable
class Trail:
    """The history of cursor positions for `backspace`, one entry per jump."""

    spots: list[Spot] = field(default_factory=list)

    def leave(self, spot: Spot) -> None:
        """Push a position before a jump."""
        if not self.spots or self.spots[-1] != spot:
            self.spots.append(spot)
            del self.spots[:-TRAIL]

    def back(self) -> Spot | None:
        """Pop the previous position; None at the first one."""
        return self.spots.pop() if self.spots else None


@frozen
class Label:
    """The mark of a line in the gutter."""

    text: str
    """`a`, `ab+`, or `UNLETTERED`."""
    kernel: int = -1
    """Number of its first kernel in the order of the code, from 0; -1 without one."""


SINGLE, STACKED = Layout(1), Layout(2, is_stacked=True)
LAYOUTS = ((160, Layout(2)), (200, Layout(3)))
"""Columns below which a layout is used, from `STACKED_WIDTH` on."""
WIDEST = Layout(4)


def layout(width: int, height: int) -> Layout:
    """Return the layout for a screen of `width` columns and `height` rows."""
    if width < STACKED_WIDTH:
        return STACKED if height >= STACKED_HEIGHT else SINGLE
    return next((fitting for limit, fitting in LAYOUTS if width < limit), WIDEST)


def first_choice(count: int, available: Iterable[int], lines: int = 1) -> tuple[int, ...]:
    """Return the initially visible panes, left to right.

    `count`: panes with room on the screen; `lines`: known source lines.
    """
    existing = set(available)
    panes = [pane for pane in WANTED if pane in existing]
    if not lines and SOURCE in panes:  # an empty pane has no claim to a place
        panes = [*(pane for pane in panes if pane != SOURCE), SOURCE]
    return tuple(sorted(panes[:count]))


def next_choice(chosen: tuple[int, ...], available: Iterable[int]) -> tuple[int, ...]:
    """Return the next combination of as many panes, those with panes of higher priority first."""
    existing = set(available)
    wanted = [pane for pane in WANTED if pane in existing]
    choices = [tuple(sorted(panes)) for panes in combinations(wanted, len(chosen))]
    return choices[(choices.index(chosen) + 1) % len(choices)] if chosen in choices else chosen


def with_pane(chosen: tuple[int, ...], pane: int) -> tuple[int, ...]:
    """Return the visible panes after `pane` has replaced the one of lowest priority, unless it is visible already."""
    if pane in chosen:
        return chosen
    remaining = sorted(chosen, key=WANTED.index)[:-1]
    return tuple(sorted((*remaining, pane)))


def share(pane: int) -> float:
    """Return the relative width of a pane; its relative height where panes are stacked."""
    return SHARES.get(pane, 1.0)


def _in_order(kernel: Kernel) -> tuple[int, bool, tuple[int, ...]]:
    """Sort kernels by their calls; kernels without a call come last."""
    return kernel.call_pane, not kernel.call_lines, kernel.call_lines or kernel.definition or ()


class KernelLetters:
    """The letters of a unit: a, b … z, aa, ab … in the order in which the code calls the kernels.

    A kernel that is called twice has two letters, because each call computes other nodes. Lines are labeled when a row is
    first painted: a unit can have tens of thousands of them.
    """

    def __init__(self, kernels: Iterable[Kernel], groups: LineGroups) -> None:
        """Assign letters to the kernels of the code; `groups`: the correspondence of all panes but the layers."""
        self._groups = groups
        self._kernels = sorted((kernel for kernel in kernels if kernel.call_lines or kernel.definition), key=_in_order)
        self._numbers = {kernel.key: number for number, kernel in enumerate(self._kernels)}
        self._calls: dict[int, list[tuple[int, int]]] = {pane: [] for pane in CODE}
        """Pane → lines of calls with the number of the kernel, ascending."""
        for number, kernel in enumerate(self._kernels):
            self._calls[kernel.call_pane] += ((line - 1, number) for line in kernel.call_lines)
        for calls in self._calls.values():
            calls.sort()
        self._ranges = {pane: sorted(ranges.items()) for pane, ranges in self._ranges_of().items()}
        """Pane → lines of calls and definitions, with the comments above them, and the numbers of their kernels."""
        self._labels: dict[tuple[int, int], Label | None] = {}

    @property
    def width(self) -> int:
        """Return the cells of the longest label."""
        if self._numbers:
            return len(letters(len(self._numbers) - 1)) + len(MORE)
        return len(UNLETTERED) if len(self._groups) else 0

    def letter(self, kernel: Kernel) -> str:
        """Return the letter of a kernel; '' for one that is not in the code."""
        number = self._numbers.get(kernel.key)
        return "" if number is None else letters(number)

    def label(self, pane: int, line: int) -> Label | None:
        """Return the label of a line, from 0; None for a line without a mapping."""
        key = pane, line
        if key not in self._labels:
            self._labels[key] = self._label(pane, line)
        return self._labels[key]

    def kernels(self, pane: int, line: int) -> list[Kernel]:
        """Return the kernels of a line: called or defined there, otherwise those that compute it."""
        return [self._kernels[number] for number in self._at(pane, line)]

    def _at(self, pane: int, line: int) -> Sequence[int]:
        return self._in_code(pane, line) if pane in CODE else self._of(pane, line)

    def _label(self, pane: int, line: int) -> Label | None:
        if not self._groups.groups(pane, line):
            return None
        numbers = self._at(pane, line)
        if not numbers:
            return Label(UNLETTERED)
        return Label(letters(numbers[0]) + (MORE if len(numbers) > 1 else ""), numbers[0])

    def _ranges_of(self) -> dict[int, dict[Range, list[int]]]:
        ranges: dict[int, dict[Range, list[int]]] = {pane: {} for pane in CODE}
        for number, kernel in enumerate(self._kernels):
            for first, last in of_lines(line - 1 for line in kernel.call_lines):
                begin = self._with_comments(kernel.call_pane, first)
                ranges[kernel.call_pane].setdefault((begin, last), []).append(number)
            if kernel.definition is not None:
                begin = self._with_comments(kernel.definition_pane, kernel.definition[0] - 1)
                ranges[kernel.definition_pane].setdefault((begin, kernel.definition[1] - 1), []).append(number)
        return ranges

    def _with_comments(self, pane: int, line: int) -> int:
        """Return the first line of the comments above a call or definition."""
        ranges = (lines for group in self._groups.groups(pane, line)[:1] for lines in self._groups.ranges(group, pane))
        begin = next((first for first, last in ranges if first <= line <= last), line)
        calls = self._calls[pane]
        at = bisect_left(calls, (line, -1))
        return max(begin, calls[at - 1][0] + 1) if at else begin

    def _in_code(self, pane: int, line: int) -> Sequence[int]:
        """Return the kernels that are called or defined at a line."""
        ranges = self._ranges[pane]
        at = bisect_right(ranges, line, key=lambda item: item[0][0]) - 1
        return ranges[at][1] if at >= 0 and line <= ranges[at][0][1] else ()

    def _of(self, pane: int, line: int) -> list[int]:
        """Return the kernels with a call that corresponds to a line."""
        numbers: set[int] = set()
        for code in CODE:
            calls = self._calls[code]
            for first, last in self._groups.matches(pane, line, code) if calls else ():
                numbers.update(number for _, number in calls[bisect_left(calls, (first, -1)) : bisect_left(calls, (last + 1, -1))])
        return sorted(numbers)
