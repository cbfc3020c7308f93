"""Formats of numbers, times, sizes and paths in documents, and the axis of a chart over time."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from tltui.text import formatting
from tltui.text.torch_names import short

ALL = "(--all)"
"""The option that prints the lines below a folded line, after that line in print."""
_BLANKS = re.compile(r"[ \t\n]+")
_DIRECTION = re.compile(r"(?:^|(?<= ))(forward|backward|inference)(?=$| #?[0-9]+$)")
_SENTENCE = re.compile(r"[.!?](?= +[A-Z])")

_URL = re.compile(r"\W{0,2}https?://")
"""The start of a word that is a URL, also in parentheses or quotes."""
LONGEST_URL = 500
"""Characters of a URL up to which it remains whole, so that it can be copied or clicked; a longer one is cut like other words."""

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


def pid(number: int) -> str:
    """Format a process id: `pid 8336`; for 0, that the input does not name the process."""
    return f"pid {number}" if number else "pid unknown"


def took(value: float, before: str = " in ", behind: str = "") -> str:
    """` in 3.2 s`; '' where no time is known."""
    return f"{before}{seconds(value)}{behind}" if value else ""


def took_from_to(values: Sequence[float], before: str = " in ", behind: str = "") -> str:
    """` in 3.2–3.4 s`: the least and the most of several ranks, once where they read the same; '' where no time is known."""
    return f"{before}{from_to(values)}{behind}" if any(values) else ""


def from_to(values: Sequence[float]) -> str:
    """`3.2–3.4 s`, `900 ms–1.2 s`, `3.2 s`"""
    low, high = seconds(min(values)), seconds(max(values))
    number, _, unit = low.rpartition(" ")
    if low == high:
        return high
    return f"{number if high.endswith(f' {unit}') and ' ' not in number else low}–{high}"


def seconds(value: float) -> str:
    """`85 ms`, `1.42 s`, `38.2 s`, `3 min 20 s`, `1 h 05 min`"""
    if not math.isfinite(value):
        return "?"
    if value < 0:
        return f"-{seconds(-value)}"
    if value < 0.0005:
        return "0 ms" if value == 0 else "<1 ms"
    if value < 0.9995:
        return f"{value * 1000:.0f} ms"
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 99.95:
        return f"{value:.1f} s"
    rounded = round(value)
    if rounded < 3600:
        return f"{rounded // 60} min {rounded % 60:02d} s"
    minutes = round(value / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def bar(cells: float) -> str:
    """Draw a bar of a length in cells, to an eighth of a cell; '' for less than that."""
    full, eighths = divmod(int(cells * 8 + 1e-6), 8)
    return "█" * full + (formatting.EIGHTHS[eighths - 1] if eighths else "")


def size_of(value: float) -> str:
    """`812 B`, `12.3 KB`, `4.1 MB` (powers of 1024)"""
    if value < 1024:
        return f"{value:.0f} B"
    for unit in ("KB", "MB", "GB"):
        value /= 1024
        if value < 1023.95 or unit == "GB":
            return f"{value:.1f} {unit}" if value < 99.95 else f"{value:,.0f} {unit}"
    raise AssertionError


def count(value: int) -> str:
    """`12,345`"""
    return f"{value:,}"


def plural(value: int, one: str, many: str = "") -> str:
    """`1 graph break`, `3 graph breaks`, `2 caches missed`"""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def ordinal(value: int) -> str:
    """`1st`, `2nd`, `11th`"""
    suffix = "th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{suffix}"


def percent(part: float, total: float) -> str:
    """`12%`; `<1%` for little that is not nothing."""
    if total <= 0:
        return "0%"
    share = 100 * part / total
    return "<1%" if 0 < share < 0.5 else f"{share:.0f}%"


def short_path(path: str) -> str:
    """Return the last two components of a path: `models/train.py`. Names such as `<string>` are unchanged."""
    parts = path.replace("\\", "/").rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts) > 2 else path


def file_name(path: str) -> str:
    """Return the last component of a path."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path


def place(path: str | None, line: int | None) -> str:
    """`models/train.py:25`"""
    if path is None:
        return "?"
    return short_path(path) if line is None else f"{short_path(path)}:{line}"


def place_target(path: str | None, line: int | None) -> str:
    """Return the link to a source line of the user; '' if no file can be opened."""
    if path is None or line is None or path.startswith(("<", "‹")):
        return ""
    return f"file:{path}:{line}"


def when(micros: float | None) -> str:
    """Microseconds since the epoch as local time: `2026-11-20 09:22:47`."""
    if micros is None or not math.isfinite(micros):
        return "?"
    try:
        return datetime.fromtimestamp(micros / 1e6).isoformat(sep=" ", timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return "?"


def clock(micros: float | None) -> str:
    """Return the time of day of `when`."""
    return when(micros).rpartition(" ")[2]


def home(path: str) -> str:
    """Abbreviate the user's home directory in a path as `~`."""
    directory = os.path.expanduser("~")
    return "~" + path[len(directory) :] if directory != "/" and path.startswith(directory + "/") else path


def clip(text: str, width: int) -> str:
    """`text` with functions called in short (`f ↩5`), its end cut off where it is wider than `width`."""
    return formatting.end(short(text), width)


def clip_middle(text: str, width: int) -> str:
    """Shorten a name, path or shape to `width` columns with the rules of `tltui.text.formatting`."""
    return formatting.name(short(text), width)


def one_line(text: str) -> str:
    """Join a text to one line and collapse runs of blanks."""
    return _BLANKS.sub(" ", text).strip(" ")


def graph_title(unit: str) -> str:
    """Return the name of a compiled graph on pages: `forward graph`, `submod_0 inference graph 2`."""
    return _DIRECTION.sub(r"\1 graph", unit)


def sentences(text: str, width: int) -> str:
    """Return as many whole sentences from the start of a text as fit; of a longer first one the beginning."""
    ends = [len(text), *(match.end() for match in reversed([*_SENTENCE.finditer(text)]))]
    return next((text[:end] for end in ends if formatting.cells(text[:end]) <= width), clip(text[: ends[-1]], width))


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at blanks and line ends. Longer words are cut, but a URL is a whole line."""
    width = max(width, 10)
    lines: list[str] = []
    current = ""
    for word in filter(None, _BLANKS.split(text)):
        if len(word) > width and len(word) <= LONGEST_URL and _URL.match(word):
            lines += [current, word] if current else [word]
            current = ""
            continue
        while len(word) > width:
            room = width - len(current) - 1 if current else width
            if current and room < 8:
                lines.append(current)
                current = ""
                continue
            piece, word = word[:room], word[room:]
            lines.append(f"{current} {piece}" if current else piece)
            current = ""
        if current and len(current) + 1 + len(word) > width:
            lines.append(current)
            current = word
        elif word:
            current = f"{current} {word}" if current else word
    if current:
        lines.append(current)
    return lines


def joined(values: Iterable[object]) -> str:
    """Return the values as one cell: `a, b`."""
    return ", ".join(map(str, values))


def axis(duration_s: float, width: int) -> str:
    """Return `0 s         5 s         10 s`, a label at each tick, and the duration at the end."""
    end = seconds(duration_s)
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
    begin, end = (seconds(at) if _resolution(at) <= step / 2 else tick(at, step / 10) for at in (begin_s, end_s))
    return begin, end


def _resolution(value: float) -> float:
    """Return the seconds between two successive values of `seconds`."""
    if value < 0.9995:
        return 0.001
    return 0.01 if value < 9.995 else 0.1 if value < 99.95 else 1.0 if value < 3599.5 else 60.0


def broken_axis(duration_s: float, width: int, begins: Iterable[tuple[int, float]], gaps: Sequence[int]) -> str:
    """Return an axis with gaps that are left out.

    `begins`: cell and second at which a part between gaps begins, labeled where there is room. `gaps`: the cells of the gaps.
    """
    end = seconds(duration_s)
    cells = [" "] * (width - len(end)) + list(end)
    room = width - len(end) - GAP
    for gap in gaps:
        if gap < len(cells) - len(end):
            cells[gap] = BREAK
    line = 0
    for cell, at_s in begins:
        text = seconds(at_s) if at_s else "0 s"
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


def tick(value: float, step_s: float) -> str:
    """Return the label of a multiple of `step_s` in few characters: `200 ms`, `5 s`, `2 min`, with digits down to the step."""
    if not value:
        return "0 s"
    for unit, unit_s in LONG_UNITS:
        digits = len(f"{step_s / unit_s:.9f}".rstrip("0").partition(".")[2])
        if value >= unit_s - 1e-9 and digits <= DIGITS:
            return f"{round(value / unit_s, digits):g} {unit}"
    unit, unit_s = ("s", 1.0) if value >= 1 - 1e-9 else ("ms", 0.001)
    digits = max(math.ceil(-math.log10(step_s / unit_s) - 1e-9), 0)
    number = f"{value / unit_s:,.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if digits else number} {unit}"
