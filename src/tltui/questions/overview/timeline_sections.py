"""The section `The run`: compiles over time, and the time of first compiles and of recompiles."""

from __future__ import annotations

import math
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, Status
from tltui.questions.overview.run_timeline import BREAK, EAGER, ERROR, RECOMPILE, Timeline, TimelineRow, timeline
from tltui.questions.ranks.pace import Pace
from tltui.text import tokens
from tltui.text.document import Piece, piece_text

LABEL, MOST = 16, 102
"""Columns of the name of a row, and of a line, at most."""
ROWS = 4
"""Rows at most; further groups of ranks are counted."""
FIRST = "first compiles"
LEVELS = " ▁▂▃▄▅▆▇█"
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""Seconds between two ticks of the axis from a second on."""
TICKS = 5
"""Ticks of the axis at most."""
GAP = 3
"""Blanks between two labels of the axis at least."""


def add_timeline(page: Page, run: Run, pace: Pace) -> None:
    """Add the timeline of the run, a row for each group of ranks with the same compiles."""
    odd = {rank for slow in pace.slow for rank in slow.ranks} | {rank for late in pace.late for rank in late.ranks}
    label = LABEL if any(rank.number is not None for rank in run.ranks) else len(FIRST)
    width = max(min(page.width, MOST) - 2 - label - 2, 10)
    result = timeline(run.processes(), width, pace.offsets, odd)
    if result is None:
        return
    page.heading("The run")
    page.add("  ", " " * label, "  ", (_axis(result.duration_s, width), tokens.DIM))
    for row in result.rows[:ROWS]:
        _row(page, row, label)
    if len(result.rows) > ROWS:
        others = len(result.rows) - ROWS
        page.row([(f"{fmt.plural(others, 'more kind')} of ranks: ", tokens.DIM), to_page("matrix", "@matrix")])
    _add_shares(page, result, label, width)


def _row(page: Page, row: TimelineRow, label: int) -> None:
    """Add the cells of a row, and its marks below."""
    cells: list[Piece] = []
    for is_recompile, run_ in groupby(zip(row.levels, row.recompiles, strict=True), key=lambda cell: cell[1]):
        text = "".join(LEVELS[level] for level, _ in run_)
        cells.append((text, tokens.RECOMPILE if is_recompile else tokens.PHASE_INDUCTOR))
    name = fmt.clip(_name(row), label)
    page.add("  ", (name, tokens.LINK, row.ref), " " * (label - len(name)), "  ", *_without_end(cells), signs=True)
    if any(row.marks):
        signs = {
            ERROR: page.status(Status.ERROR), EAGER: page.status(Status.EAGER), BREAK: page.status(Status.BREAK),
            RECOMPILE: (ASCII_RECOMPILE if page.ascii else RECOMPILE_GLYPH, tokens.RECOMPILE), "": (" ", ""),
        }  # fmt: skip
        marks: list[Piece] = [
            ("".join(piece_text(signs[mark]) for mark in run_), signs[mark][1]) for mark, run_ in groupby(row.marks)
        ]
        page.add("  ", " " * (label + 2), *_without_end(marks), signs=True)


def _without_end(pieces: list[Piece]) -> list[Piece]:
    """Remove the blanks at the end of a line."""
    while pieces and not piece_text(pieces[-1]).strip():
        pieces.pop()
    return pieces


def _name(row: TimelineRow) -> str:
    numbers = [rank for rank in row.ranks if rank is not None]
    if not numbers:
        return "compiles"
    text = f"ranks {ranges(numbers)}" if len(set(numbers)) > 1 else f"rank {numbers[0]}"
    return text if len(text) <= LABEL else fmt.plural(len(set(numbers)), "rank")


def _axis(duration_s: float, width: int) -> str:
    """Return `0 s         5 s         10 s`, a label at each tick, and the duration at the end."""
    end = fmt.seconds(duration_s)
    step = _step(duration_s)
    line = ""
    for number in range(TICKS + 2):
        at, text = int(width * number * step / duration_s), _tick(number * step)
        if number * step > duration_s or at + len(text) + GAP > width - len(end) or (line and at < len(line) + GAP):
            break
        line = line.ljust(at) + text
    return line.ljust(width - len(end)) + end


def _step(duration_s: float) -> float:
    """Return the seconds between two ticks."""
    least = duration_s / TICKS
    if least <= 1:
        power = 10.0 ** math.floor(math.log10(least))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return next((float(step) for step in STEPS if step >= least), least)


def _tick(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.4g} ms" if seconds else "0 s"
    if seconds < 60:
        return f"{seconds:.4g} s"
    return f"{seconds / 60:.4g} min" if seconds < 3600 else f"{seconds / 3600:.4g} h"


def _add_shares(page: Page, result: Timeline, label: int, width: int) -> None:
    """Add the time of first compiles and of recompiles, each with a bar, and the number of compiles that are not drawn."""
    total = result.first_s + result.recompile_s
    if result.recompile_s:
        for name, seconds, style in (
            (FIRST, result.first_s, tokens.PHASE_INDUCTOR), ("recompiles", result.recompile_s, tokens.RECOMPILE),
        ):  # fmt: skip
            text = f"{fmt.seconds(seconds):>10}  {fmt.percent(seconds, total):>4}  "
            bar = fmt.bar((width - len(text)) * seconds / total)
            page.add("  ", (name.ljust(label), tokens.LABEL), "  ", (text, tokens.NUMBER), (bar, style))
    if result.too_short:
        page.say(f"too short to draw: {fmt.plural(result.too_short, 'compile')}", "  ", tokens.DIM)
