"""Layout of provenance mode: which panes are visible, how they are arranged, and where `backspace` leads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from itertools import combinations

from tltui.questions.provenance.records import CPP, KERNEL, PANES, POST, PRE, PY, SOURCE
from tltui.text.frozen import frozen, mutable

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


SINGLE, STACKED = Layout(1), Layout(2, is_stacked=True)
STACKED_HEIGHT = 20
"""Rows of a screen from which two panes are stacked: five lines of source and seven of code, with the strip and all bars."""
STACKED_WIDTH = 100
"""Columns below which two panes are stacked.

Next to each other on 80 columns, a pane of code has 24 characters behind its gutter and indentation, less than the name of
most kernels. Stacked panes show whole source lines, and calls up to their second argument.
"""
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
