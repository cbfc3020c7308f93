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
LONG_UNITS = (("h", 3600.0), ("min", 60.0))
DIGITS = 2
"""Decimals of a number of minutes or hours at most: a step with more of them is labeled in seconds."""
BREAK = "┊"
"""The sign of a gap that is left out."""


def axis(duration_s: float, width: int) -> str:
    """Return `0 s         5 s         10 s`, a label at each tick, and the duration at the end."""
    end = fmt.seconds(duration_s)
    step = _step(duration_s)
    line = ""
    for number in range(TICKS + 2):
        at, text = int(width * number * step / duration_s), tick(number * step, step)
        if number * step > duration_s or at + len(text) + GAP > width - len(end) or (line and at < len(line) + GAP):
            break
        line = line.ljust(at) + text
    return line.ljust(width - len(end)) + end


def part_of_axis(begin_s: float, end_s: float, width: int) -> str:
    """Return the axis of a part of the time: its begin, its end, and a label at each tick between them."""
    if not begin_s:
        return axis(end_s, width)
    (start, end), span = ends(begin_s, end_s), end_s - begin_s
    line, step = start, _step(span)
    number = math.ceil(begin_s / step)
    while number * step <= end_s and len(start) + len(end) < width:
        at, text = int(width * (number * step - begin_s) / span), tick(number * step, step)
        if at + len(text) + GAP > width - len(end):
            break
        if at >= len(line) + GAP:
            line = line.ljust(at) + text
        number += 1
    return line.ljust(width - len(end)) + end


def ends(begin_s: float, end_s: float) -> tuple[str, str]:
    """Return the labels of the begin and end of a part, with as many digits as tell its ticks apart."""
    step = _step(end_s - begin_s)
    begin, end = (fmt.seconds(at) if _resolution(at) <= step / 2 else tick(at, step / 10) for at in (begin_s, end_s))
    return begin, end


def _resolution(seconds: float) -> float:
    """Return the seconds between two successive values of `format.seconds`."""
    if seconds < 0.9995:
        return 0.001
    return 0.01 if seconds < 9.995 else 0.1 if seconds < 99.95 else 1.0 if seconds < 3599.5 else 60.0


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


def tick(seconds: float, step_s: float) -> str:
    """Return the label of a multiple of `step_s` in few characters: `200 ms`, `5 s`, `2 min`, with digits down to the step."""
    if not seconds:
        return "0 s"
    for unit, unit_s in LONG_UNITS:
        digits = len(f"{step_s / unit_s:.9f}".rstrip("0").partition(".")[2])
        if seconds >= unit_s - 1e-9 and digits <= DIGITS:
            return f"{round(seconds / unit_s, digits):g} {unit}"
    unit, unit_s = ("s", 1.0) if seconds >= 1 - 1e-9 else ("ms", 0.001)
    digits = max(math.ceil(-math.log10(step_s / unit_s) - 1e-9), 0)
    number = f"{seconds / unit_s:,.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if digits else number} {unit}"
