"""Which panes provenance mode shows, how wide, what they are called, and where one was in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from tltui.analyses.provenance.result import CPP, KERNEL, PANES, POST, PRE, PY, SOURCE
from tltui.text.width import ELLIPSIS, cells, crop_left

LAYERS = -1
"""The tree of layers, at the left of all others. `LineGroups` knows nothing of it: what is in a layer corresponds to it."""
NAMES = (*PANES, "layers")
ALL = (LAYERS, *range(len(PANES)))
CODE = (PY, CPP, KERNEL)
GRAPHS = (PRE, POST)
WORDS = ("source", "pre", "post", "code", "code", "kernels", "layers")
"""What a pane is called, in one word."""
WIDTHS = ((100, 1), (200, 3), (1 << 30, 4))
"""Columns below which so many panes stand side by side."""
WANTED = (SOURCE, POST, PY, CPP, LAYERS, PRE, KERNEL)
"""Which panes are shown where not all of them fit, the first ones first."""
SHARES = {LAYERS: 0.8, **dict.fromkeys(CODE, 1.5)}
"""How much of the width a pane gets beside one of the graphs or of the source, which get 1."""
TRAIL = 200
"""Places that `backspace` knows."""


def fitting(width: int) -> int:
    """How many panes stand side by side in so many columns."""
    return next(count for limit, count in WIDTHS if width < limit)


def first_choice(width: int, there: Iterable[int], lines: int = 1) -> tuple[int, ...]:
    """The panes that are shown at first, from the left; where one alone has the place, all between which `tab` turns. `lines`: how
    many lines of source are known."""
    wanted = [pane for pane in WANTED if pane in set(there)]
    if not lines and SOURCE in wanted:  # an empty pane has no claim to a place
        wanted = [*(pane for pane in wanted if pane != SOURCE), SOURCE]
    count = fitting(width)
    return tuple(sorted(wanted if count == 1 else wanted[:count]))


def next_choice(chosen: tuple[int, ...], there: Iterable[int]) -> tuple[int, ...]:
    """Another choice of as many panes."""
    choices = list(combinations(sorted(there), len(chosen)))
    return choices[(choices.index(chosen) + 1) % len(choices)] if chosen in choices else chosen


def share(pane: int) -> float:
    """How much of the width a pane gets beside others."""
    return SHARES.get(pane, 1.0)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the mode."""

    unit: int
    pane: int
    line: int
    column: int = 0


@dataclass(slots=True)
class Trail:
    """Where one was inside the mode, for `backspace`: each place from which a key led far away."""

    spots: list[Spot] = field(default_factory=list)

    def leave(self, spot: Spot) -> None:
        """Somebody is led away from here."""
        if not self.spots or self.spots[-1] != spot:
            self.spots.append(spot)
            del self.spots[:-TRAIL]

    def back(self) -> Spot | None:
        """The place before; None at the first one."""
        return self.spots.pop() if self.spots else None


def from_right(path: str, width: int) -> str:
    """A path whose directories are left out from the left: `…/llama/modeling_llama.py:311`. Its end is always there."""
    if cells(path) <= width:
        return path
    parts = path.split("/")
    for first in range(1, len(parts)):
        tail = f"{ELLIPSIS}/{'/'.join(parts[first:])}"
        if cells(tail) <= width:
            return tail
    return ELLIPSIS + crop_left(parts[-1], max(width - 1, 0))
