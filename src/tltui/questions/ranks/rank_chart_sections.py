"""The section `Ranks over time`: a row of letters for each group of alike ranks, a letter for each function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.format import part_of_axis
from tltui.documents.page import Page, to_page
from tltui.model.ref import ranges
from tltui.questions.ranks.pace import Key, Pace
from tltui.questions.ranks.rank_chart import ChartBar, ChartRow, RankChart
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

LETTERS = "abcdefghijk"
FURTHER = "lmnopqrstuvwxyz"
"""Letters of further functions where a part of the time is shown."""
OTHER = "·"
"""The letter of all other functions."""
STYLES = (tokens.FUNCTION, tokens.TYPE, tokens.STRING, tokens.KEYWORD, tokens.DECORATOR, tokens.ORIGIN)
LABEL, MOST, ROWS, NOTES = 17, 136, 10, 2
"""Columns of the name of a row, columns of a line, rows, and remarks on a row, of each at most."""
HALF = 0.5
"""Part of a cell that compiles cover at least for one of them to be drawn in it."""
NAME = 32


def name(key: Key) -> str:
    """`block2`, of a further compile of it `block2 (compile 2)`"""
    (function, _, _), number = key
    return fmt.clip_middle(sanitize(function), 40) + (f" (compile {number})" if number > 1 else "")


def add_chart(page: Page, chart: RankChart | None, pace: Pace | None = None) -> None:
    """Add the compiles of ranks over time, alike ranks in one row. `pace`: with a remark on each late or slow rank."""
    if chart is None:
        return
    page.heading(page.title_so_far("Ranks over time"))
    width = max(min(page.width, MOST) - 2 - LABEL - 2, 10)
    begin_s, end_s = page.window_of(chart.duration_s)
    page.add("  ", " " * LABEL, "  ", (part_of_axis(begin_s, end_s, width), tokens.DIM))
    notes = list(_notes(pace)) if pace is not None else []
    shown = []
    for row in chart.rows[:ROWS]:
        bars = [bar for bar in row.bars if bar.start_s < end_s and bar.end_s >= begin_s]
        shown.append((replace(row, bars=tuple(bars)), cells_of(bars, begin_s, end_s, width)))
    drawn = [bar.function for _, cells in shown for bar in cells if bar is not None]
    letters = letters_of(drawn)
    if (begin_s, end_s) != (0.0, chart.duration_s):
        rows = (cells_of(row.bars, 0.0, chart.duration_s, width) for row in chart.rows[:ROWS])
        functions = [bar.function for cells in rows for bar in cells if bar is not None]
        letters = {number: letter for number, letter in letters_of_part(functions, len(chart.functions)).items() if number in drawn}
    short = 0
    for row, cells in shown:
        short += len(row.bars) - len({bar.ref for bar in cells if bar is not None})
        _add_row(page, row, cells, letters)
        for fact in row.facts[:NOTES] if notes else ():
            page.say(notes[fact], " " * (LABEL + 4), tokens.WARN)
    _add_functions(page, chart, letters)
    if any(bar is not None and bar.is_again for _, cells in shown for bar in cells):
        page.say("Successive compiles of a function alternate between lowercase and UPPERCASE.", "  ", tokens.DIM)
    remaining = chart.rows[ROWS:]
    if remaining:
        ranks = sum(len(row.ranks) for row in remaining)
        text = f"{fmt.plural(len(remaining), 'more group')} of {fmt.plural(ranks, 'rank')}: "
        page.row([(text, tokens.DIM), to_page("matrix", "@matrix")])
    if short:
        page.say(f"too short to draw: {fmt.plural(short, 'compile')}", "  ", tokens.DIM)
    if any(_label(row)[1] for row in chart.rows[:ROWS]):
        page.say("±: each row draws one of its ranks; the others differ from it by at most this much", "  ", tokens.DIM)


def cells_of(bars: Sequence[ChartBar], begin_s: float, end_s: float, width: int) -> list[ChartBar | None]:
    """Return the compile of each cell between two times: the one that covers most of it, where compiles cover at least half of it.

    A compile without an end has a cell in any case.
    """
    cells: list[ChartBar | None] = [None] * width
    most, covered = [0.0] * width, [0.0] * width
    for bar in bars:
        lo, hi = ((at_s - begin_s) / (end_s - begin_s) * width for at_s in (bar.start_s, bar.end_s))
        for cell in range(max(int(lo), 0), min(int(hi) + 1, width)):
            share = max(min(hi, cell + 1) - max(lo, cell), 0.0)
            covered[cell] += share
            if share > most[cell]:
                cells[cell], most[cell] = bar, share
    cells = [bar if share >= HALF - 1e-9 else None for bar, share in zip(cells, covered, strict=True)]
    for bar in bars:
        if bar.is_open and not any(cell is bar for cell in cells):
            cells[min(max(int((bar.start_s - begin_s) / (end_s - begin_s) * width), 0), width - 1)] = bar
    return cells


def letters_of(functions: Iterable[int]) -> dict[int, str]:
    """Map each function to its letter; `functions`: that of each cell. Those with the fewest cells share `OTHER`."""
    cells = Counter(functions)
    most = sorted(sorted(cells), key=lambda function: -cells[function])[: len(LETTERS)]
    return {**dict.fromkeys(cells, OTHER), **dict(zip(sorted(most), LETTERS, strict=False))}


def letters_of_part(functions: Iterable[int], count: int) -> dict[int, str]:
    """Map each of `count` functions to its letter in a part of a chart.

    It is the letter in the whole chart, otherwise an unused one, otherwise `OTHER`.
    `functions`: that of each cell of the whole chart.
    """
    cells = Counter(functions)
    letters = {function: letter for function, letter in letters_of(cells.elements()).items() if letter != OTHER}
    unused = (LETTERS + FURTHER)[len(letters) :]
    further = [number for number in range(count) if number not in letters]
    most = sorted(further, key=lambda number: -cells[number])[: len(unused)]
    return {**dict.fromkeys(range(count), OTHER), **letters, **dict(zip(sorted(most), unused, strict=False))}


def _add_row(page: Page, row: ChartRow, cells: Sequence[ChartBar | None], letters: Mapping[int, str]) -> None:
    """Add the cells of a row; the first letter of each compile leads to it."""
    pieces: list[Piece] = []
    for bar, run in groupby(cells, key=lambda cell: cell):
        count = len(list(run))
        if bar is None:
            pieces.append(" " * count)
            continue
        letter, style = letters[bar.function], STYLES[bar.function % len(STYLES)]
        text = (letter.upper() if bar.is_again else letter) * count
        if bar.is_open:
            text = text[:-1] + "…"
        pieces += [(text[0], style, bar.ref), (text[1:], tokens.RUNNING if bar.is_open else style)]
    while pieces and not (pieces[-1] if isinstance(pieces[-1], str) else pieces[-1][0]).strip():
        pieces.pop()
    label, spread = _label(row)
    gap = " " * (LABEL + 2 - len(label) - len(spread))
    page.add("  ", (label, tokens.LINK, row.ref), (spread, tokens.DIM), gap, *pieces, signs=True)


def _notes(pace: Pace) -> Iterator[str]:
    """Yield a remark for each late, slow and extra entry."""
    for late in pace.late:
        yield f"began {name(late.compile)} {fmt.seconds(late.late_s)} after the others"
    for slow in pace.slow:
        phase = f" in {sanitize(slow.phase)}" if slow.phase else ""
        yield f"{name(slow.compile)} took {fmt.seconds(slow.duration_s)}{phase}; the median is {fmt.seconds(slow.median_s)}"
    for extra in pace.extra:
        compiles = fmt.plural(len(extra.compiles), "compile")
        yield f"{compiles} more than most ranks, {fmt.seconds(extra.compile_s)} in total"


def _label(row: ChartRow) -> tuple[str, str]:
    """Return the ranks of a row, and ` ±1.12 s` where their times differ and there is room."""
    spread = f" ±{fmt.seconds(row.spread_s)}" if len(row.ranks) > 1 and row.spread_s >= 0.0005 else ""
    text, size = f"{'ranks' if len(row.ranks) > 1 else 'rank'} {ranges(row.ranks)}", fmt.plural(len(row.ranks), "rank")
    label = text if len(text) + len(spread) <= LABEL else fmt.clip(size, LABEL)
    return label, "" if len(label) + len(spread) > LABEL else spread


def _add_functions(page: Page, chart: RankChart, letters: Mapping[int, str]) -> None:
    """Add the meaning of the letters."""
    pieces: list[Piece] = []
    for number, function in enumerate(chart.functions):
        if letters.get(number, OTHER) != OTHER:
            text = fmt.clip_middle(sanitize(function.name), NAME)
            style = STYLES[number % len(STYLES)]
            pieces += [(letters[number], style), " = ", (text, tokens.LINK, function.ref), "   "]
    others = list(letters.values()).count(OTHER)
    if others:
        pieces += [(OTHER, tokens.DIM), f" = {fmt.plural(others, 'more function')}"]
    if pieces:
        line: list[Piece] = []
        used = 2
        for n in range(0, len(pieces), 4):
            entry = pieces[n : n + 4]
            length = sum(len(piece if isinstance(piece, str) else piece[0]) for piece in entry)
            if line and used + length > page.width:
                page.add("  ", *line)
                line, used = [], 2
            line += entry
            used += length
        page.add("  ", *line)
