"""The section `The run`: compiles over time, and the time by phase, of first compiles and of recompiles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.format import BREAK as GAP
from tltui.documents.format import axis, broken_axis
from tltui.documents.page import Page, to_page
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, Status
from tltui.questions.overview.run_timeline import (
    BREAK,
    EAGER,
    ERROR,
    RECOMPILE,
    RUNNING,
    UNFINISHED,
    Timeline,
    TimelineRow,
    timeline,
)
from tltui.questions.problems.reason_sections import PHASE_STYLES, add_pairs, add_time
from tltui.questions.ranks.pace import Pace
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.formatting import LEVELS

LABEL, MOST = 16, 102
"""Columns of the name of a row, and of a line, at most."""
ROWS = 4
"""Rows at most; further groups of ranks are counted."""
WIDE = 100
"""Columns from which each phase has a bar."""
NAMED = 0.01
"""Share of the time from which a phase is named on a narrower page."""
FIRST = "first compiles"
HEADING = "The run"
CONTINUES = "…"
"""The last cell of a compile without an end."""


def add_timeline(page: Page, run: Run, pace: Pace, still_open: int) -> None:
    """Add the timeline of the run, a row for each group of ranks with the same compiles. `still_open`: compiles without an end."""
    odd = {rank for slow in pace.slow for rank in slow.ranks} | {rank for late in pace.late for rank in late.ranks}
    label = LABEL if any(rank.number is not None for rank in run.ranks) else len(FIRST)
    width = max(min(page.width, MOST) - 2 - label - 2, 10)
    result = timeline(run.processes(), width, pace.offsets, odd, ROWS)
    if result is None:
        if page.goes_on and run.is_read:
            from tltui.questions.overview.running_sections import add_steps  # most runs have ended

            add_steps(page, run)
        return
    page.heading(HEADING)
    scale, width = result.scale, result.scale.width
    begins = [(part.cell, (part.start_us - result.start_at_us) / 1e6) for part in scale.parts]
    axis_ = broken_axis(result.duration_s, width, begins, scale.gap_cells) if scale.gaps_s else axis(result.duration_s, width)
    page.add("  ", " " * label, "  ", (axis_, tokens.DIM))
    shown = result.rows[:ROWS]
    names = _names(shown)
    for row, name in zip(shown, names, strict=True):
        _row(page, row, name, label, scale.gap_cells)
    if len(result.rows) > ROWS:
        _add_others(page, result.rows[ROWS:])
    if any(row.open_ends for row in shown):
        ended = "an end so far" if page.goes_on else "an end in the log"
        page.say(f"{CONTINUES}: compile without {ended}, drawn up to the last record of its process", "  ", tokens.DIM)
    _add_gaps(page, scale.gaps_s)
    _add_phases(page, result)
    _add_shares(page, result, label, width)
    if page.goes_on and run.is_read and not still_open:
        end = fmt.clock(result.start_at_us + result.duration_s * 1e6)
        page.say(f"No compile is open so far: the last one ended at {end}. A new one would add records.", "  ")
    if page.goes_on and run.is_read:
        from tltui.questions.overview.running_sections import add_running  # most runs have ended

        add_running(page, run, result.start_at_us, result.start_at_us + result.duration_s * 1e6, pace.offsets, label)


def _add_others(page: Page, rows: Sequence[TimelineRow]) -> None:
    """Add the number of rows that are not drawn."""
    if any(rank is None for row in rows for rank in row.ranks):
        noun, page_of_others = "row of other processes", to_page("timing", "@timing")
    else:
        noun, page_of_others = "kind of ranks", to_page("matrix", "@matrix")
    text = fmt.plural(len(rows), f"more {noun}", f"more {noun.replace(' ', 's ', 1)}")
    page.row([(f"{text}: ", tokens.DIM), page_of_others])


def _add_gaps(page: Page, gaps_s: Sequence[float]) -> None:
    """Add the duration of the gaps that are left out."""
    if not gaps_s:
        return
    longest = f", the longest {fmt.seconds(max(gaps_s))}" if len(gaps_s) > 1 else ""
    text = f"{fmt.plural(len(gaps_s), 'gap')} between these compiles: {fmt.seconds(sum(gaps_s))}{longest}"
    page.say(f"{GAP} {text}", "  ", tokens.DIM)


def _add_phases(page: Page, result: Timeline) -> None:
    """Add the time by phase: the meaning of the colors and, with `--ascii`, of the letters."""
    total = sum(phase.self_s for phase in result.phases)
    if not total:
        return
    if page.width >= WIDE:
        add_time(page, result.phases, "  ")
    else:
        pairs: list[Piece] = []
        for phase in result.phases:
            if phase.self_s >= NAMED * total:
                share = f" {fmt.seconds(phase.self_s)} {fmt.percent(phase.self_s, total)}   "
                pairs += [(phase.name, PHASE_STYLES[phase.name]), share]
        rest_s = sum(phase.self_s for phase in result.phases if phase.self_s < NAMED * total)
        if rest_s:
            pairs += [("rest", tokens.DIM), f" {fmt.seconds(rest_s)}"]
        add_pairs(page, pairs, "  ")
    if result.compiles_with_phases < result.compiles:
        part = f"{fmt.count(result.compiles_with_phases)} of {fmt.plural(result.compiles, 'compile')}"
        page.row([(f"phases of {part}: ", tokens.DIM), to_page("timing", "@timing")])


def _row(page: Page, row: TimelineRow, name: str, label: int, gaps: Sequence[int]) -> None:
    """Add the cells of a row, and its marks below; the marks alone if all compiles are too short to be drawn."""
    head: tuple[Piece, ...] = ("  ", (name, tokens.LINK, row.ref), " " * (label - len(name)), "  ")
    if any(row.levels) or row.open_ends:
        page.add(*head, *_cells(page, row, gaps), signs=True)
        head = ("  ", " " * (label + 2))
    elif not any(row.marks):
        page.add(*head, (f"{fmt.plural(row.compiles, 'compile')}, too short to draw", tokens.DIM))
    if any(row.marks):
        signs = {
            ERROR: page.status(Status.ERROR), EAGER: page.status(Status.EAGER), BREAK: page.status(Status.BREAK),
            UNFINISHED: page.status(Status.UNFINISHED), RUNNING: page.status(Status.RUNNING),
            RECOMPILE: (ASCII_RECOMPILE if page.ascii else RECOMPILE_GLYPH, tokens.RECOMPILE), "": (" ", ""),
        }  # fmt: skip
        marks: list[Piece] = [
            ("".join(piece_text(signs[mark]) for mark in run_), signs[mark][1]) for mark, run_ in groupby(row.marks)
        ]
        page.add(*head, *_without_end(marks), signs=True)


def _cells(page: Page, row: TimelineRow, gaps: Sequence[int]) -> list[Piece]:
    """Return the cells of a row."""
    styles = [PHASE_STYLES.get(phase, tokens.VALUE) for phase in row.phases] or [
        tokens.RECOMPILE if is_recompile else tokens.VALUE for is_recompile in row.recompiles
    ]
    letters = [phase[:1] for phase in row.phases] if page.ascii and row.phases else [""] * len(row.levels)
    texts = [letter if letter and level else LEVELS[level] for level, letter in zip(row.levels, letters, strict=True)]
    for gap in gaps:
        texts[gap], styles[gap] = GAP, tokens.DIM
    for end in row.open_ends:
        texts[end], styles[end] = CONTINUES, tokens.RUNNING
    cells: list[Piece] = []
    for style, run_ in groupby(zip(texts, styles, strict=True), key=lambda cell: cell[1]):
        cells.append(("".join(text for text, _ in run_), style))
    return _without_end(cells)


def _without_end(pieces: list[Piece]) -> list[Piece]:
    """Remove the blanks at the end of a line."""
    while pieces and not piece_text(pieces[-1]).strip():
        pieces.pop()
    return pieces


def _names(rows: Sequence[TimelineRow]) -> list[str]:
    """Return the names of rows: ranks, or the address of the process where several rows would have one name."""
    names = list(map(_name, rows))
    return [name if names.count(name) == 1 else row.ref for name, row in zip(names, rows, strict=True)]


def _name(row: TimelineRow) -> str:
    numbers = [rank for rank in row.ranks if rank is not None]
    if not numbers:
        return "compiles"
    text = f"ranks {ranges(numbers)}" if len(set(numbers)) > 1 else f"rank {numbers[0]}"
    return text if len(text) <= LABEL else fmt.plural(len(set(numbers)), "rank")


def _add_shares(page: Page, result: Timeline, label: int, width: int) -> None:
    """Add the time of first compiles and of recompiles, with bars where there is room, and the number of compiles not drawn."""
    total = result.first_s + result.recompile_s
    shares = ((FIRST, result.first_s, tokens.VALUE), ("recompiles", result.recompile_s, tokens.RECOMPILE))
    if result.recompile_s and page.width < WIDE:
        pairs: list[Piece] = []
        for name, seconds, style in shares:
            pairs += [(name, style), f" {fmt.seconds(seconds)} {fmt.percent(seconds, total)}   "]
        add_pairs(page, pairs, "  ")
    elif result.recompile_s:
        for name, seconds, style in shares:
            text = f"{fmt.seconds(seconds):>10}  {fmt.percent(seconds, total):>4}  "
            bar = fmt.bar((width - len(text)) * seconds / total)
            page.add("  ", (name.ljust(label), tokens.LABEL), "  ", (text, tokens.NUMBER), (bar, style))
    if too_short := sum(row.too_short for row in result.rows[:ROWS] if any(row.levels) or any(row.marks)):
        page.say(f"too short to draw: {fmt.plural(too_short, 'compile')}", "  ", tokens.DIM)
