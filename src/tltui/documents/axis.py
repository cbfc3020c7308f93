"""The axis of a chart over time, with a label at each tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tltui.documents import format as fmt

STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""Seconds between two ticks of the axis from a second on."""
TICKS = 5
"""Ticks of the axis at most."""
GAP = 3
"""Blanks between two labels of the axis at least."""
BREAK = "┊"
"""The sign of a gap that is left out."""


def axis(duration_s: float, width: int) -> str:
    """Return `0 s         5 s         10 s`, a label at each tick, and the duration at the end."""
    end = fmt.seconds(duration_s)
    step = _step(duration_s)
    line = ""
    for number in range(TICKS + 2):
        at, text = int(width * number * step / duration_s), tick(number * step)
        if number * step > duration_s or at + len(text) + GAP > width - len(end) or (line and at < len(line) + GAP):
            break
        line = line.ljust(at) + text
    return line.ljust(width - len(end)) + end


def broken_axis(duration_s: float, width: int, begins: Iterable[tuple[int, float]], gaps: Sequence[int]) -> str:
    """Return an axis with gaps that are left out.

    `begins`: cell and second at which a part between gaps begins, labeled where there is room. `gaps`: the cells of the gaps.
    """
    end = fmt.seconds(duration_s)
    cells = [" "] * (width - len(end)) + list(end)
    room = width - len(end) - GAP
    for gap in gaps:
        if gap < len(cells) - len(end):
            cells[gap] = BREAK
    line = 0
    for cell, at_s in begins:
        text = fmt.seconds(at_s) if at_s else "0 s"
        if cell >= line and cell + len(text) <= room and BREAK not in cells[cell : cell + len(text)]:
            cells[cell : cell + len(text)] = text
            line = cell + len(text) + 1
    return "".join(cells)


def _step(duration_s: float) -> float:
    """Return the seconds between two ticks."""
    least = duration_s / TICKS
    if least <= 1:
        power = 10.0 ** math.floor(math.log10(least))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return next((float(step) for step in STEPS if step >= least), least)


def tick(seconds: float) -> str:
    """Return round seconds in few characters: `200 ms`, `5 s`, `2 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.4g} ms" if seconds else "0 s"
    if seconds < 60:
        return f"{seconds:.4g} s"
    return f"{seconds / 60:.4g} min" if seconds < 3600 else f"{seconds / 3600:.4g} h"
