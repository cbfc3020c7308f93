"""The page `matrix`: aspects of its cells, their glyphs and link targets; the same cells as data, with words in place of glyphs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.scope import Scope, key_hint
from tltui.model.input_coverage import GRAPH_LOGS, Needs
from tltui.model.ref import Ranks, diff_ref, parse_ref, ranges, with_noun
from tltui.model.run import Run
from tltui.model.status import TABLE
from tltui.questions.coverage.input_sections import add_not_read
from tltui.questions.coverage.job_inputs import not_read
from tltui.questions.question import Keyword, Question
from tltui.questions.ranks.function_names import named_columns
from tltui.questions.ranks.lanes import read_lanes
from tltui.questions.ranks.matching import COUNT, WORDS
from tltui.questions.ranks.matrix import (
    CACHES,
    ENDED,
    LETTERS,
    MANY,
    MARKS,
    MORE,
    NONE,
    SAME,
    STATUSES,
    UNLOGGED,
    Column,
    Matrix,
    Row,
    matrix_of,
    merged,
)
from tltui.questions.ranks.rank_course import Lane, Stage
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import cells as cells_of
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

_DIFFERENCES = {
    NONE: "not compiled", ENDED: "after the end of the log", MORE: "only here",
    **{mark: facet for facet, mark in MARKS.items()},
    **{sign: status for status, sign in STATUSES.items() if status in ("unfinished", "running")},
}  # fmt: skip
_STATUSES = {sign: status for status, sign in STATUSES.items()}
_CACHES = {mark: state for state, mark in CACHES.items()}
_FACTORS = {SAME: 1.0, "<": 0.5, MORE: 10.0, **{str(times): float(times) for times in range(2, 10)}}

DIFFERENCE, STATUS, GRAPH, TIME, CACHE = "difference", "status", "graph", "time", "cache"
ABSENT, OVER, UNDONE = "·", "†", ("?", "o")
"""Glyphs of absent compiles and of compiles after the end of a log; signs of unfinished compiles."""
DESCRIBED = 3
"""Maximum number of compiles that describe a kind of ranks."""
_SIGNS = {row.ascii: row for row in TABLE.values()}
_LETTERS = (tokens.CHANGED, tokens.PHASE_INDUCTOR, tokens.PHASE_DYNAMO, tokens.PHASE_BACKEND, tokens.PHASE_CACHE)
"""Styles of the graphs that the most ranks do not have."""

_ABSENT = {NONE: "not compiled", ENDED: "ended before this"}
_DONE = {"?": "unfinished", "o": "not finished yet", **_ABSENT}
_TIMES = {str(n): f"{n} times" for n in range(2, 10)}

NAME = "matrix"
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""Letters of kinds of ranks; further kinds have no column."""
LISTED = 6
"""Kinds of ranks listed above the cells; further ones are folded."""
LABEL = 30
"""Columns that are left for the name of a compile."""
HEAD_EVERY = 20
"""Lines of cells between repeated column headers."""
ALIKE_LISTED, SHOWN = 400, 1000
"""Compiles that are alike on all ranks that are named in a fold, and those that differ that have a line."""


@frozen
class Cell:
    """One compile on some ranks."""

    id: str
    """What they call the compile; '' if they do not have it."""
    difference: str | None
    """In what it differs from the most ranks: the name of a property, `not compiled`, `only here`, `after the end of the log`,
    `unfinished` or `running`; null if it does not."""
    status: str | None
    """Null if they do not have it."""
    graph: int | None
    """0: the graph of the most ranks that have one, 1: another one, and so on; null: none in the log."""
    time_factor: float | None
    """The time as a multiple of the median: 1 (about equal), 2 to 9, 10 (at least 10) or 0.5 (at most half); null: unknown."""
    cache: str | None
    """`hit`, `miss` or `bypass`, the worst of several answers; null: no answer in the log."""


@frozen
class RankCells:
    """Ranks with equal cells."""

    ranks: Ranks
    ref: str
    """The address of the process of the first of them."""
    first_difference: int | None
    """The index of the first column in which they differ from the most ranks; null if there is none."""
    property: str
    """In what they differ there; '' for nothing."""
    properties_of_all: tuple[str, ...]
    """In what all of their compiles differ from those of the most ranks: another torch, another setting."""
    reference_rank: int
    """The rank, one of the most ranks of their stage, with which they are compared."""
    cells: tuple[Cell, ...]
    """One per column."""


@frozen
class MatrixReport:
    """Groups of equal ranks by compiles."""

    rank_count: int
    columns: tuple[Column, ...]
    rows: tuple[RankCells, ...]
    """The largest group first; of equally large ones, the group that differs later first."""
    reference_rank: int | None
    """One of the most ranks, with which the others are compared; null without ranks."""
    ranks_behind: Ranks
    """Ranks that have compiled less than others and may still do so."""
    stages: tuple[Stage, ...]
    """If ranks do different work by design: the groups within which they are compared."""


@frozen
class Aspect:
    """Aspect of a compile shown in the cells."""

    name: str
    title: str
    cells: Callable[[Row], str]
    key: Callable[[Row], Hashable]
    """Rows of which it is the same are one."""
    meanings: Mapping[str, str]
    """Sign → what it means."""
    styles: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    """The page about a compile to which a cell leads; '' for a comparison with the most ranks."""

    def drawn(self, sign: str) -> str:
        """Return the glyph of a sign."""
        if sign in (NONE, ENDED):
            return ABSENT if sign == NONE else OVER
        is_status = self.name == STATUS or sign in UNDONE
        return _SIGNS[sign].glyph if is_status and sign in _SIGNS and sign != "." else sign

    def meaning(self, sign: str) -> str:
        """Return the legend of a sign."""
        if sign in self.meanings:
            return self.meanings[sign]
        return _SIGNS[sign].words if sign in _SIGNS else ""

    def ordered(self, signs: Collection[str]) -> list[str]:
        """Sort signs for the legend: usual first, absent last."""
        order = [*self.meanings, *_SIGNS]
        return sorted(signs, key=lambda sign: (sign in (NONE, ENDED), order.index(sign) if sign in order else len(order)))

    def style(self, sign: str) -> str:
        """Return a style of `tltui.text.tokens`; cells also differ in their glyphs."""
        if sign in self.styles:
            return self.styles[sign]
        if sign in (SAME, UNLOGGED, ENDED):
            return tokens.DIM
        if sign in _SIGNS and (self.name == STATUS or sign in UNDONE):
            return _SIGNS[sign].colour
        return tokens.WARN

    def detail(self, column: Column) -> str:
        """Return the text after the name of a compile."""
        if self.name == TIME:
            return fmt.seconds(column.median_s) if column.median_s is not None else ""
        return sanitize(fmt.place(column.file, column.line)) if column.file else ""

    def target(self, column: Column, row: Row, number: int) -> str:
        """Return the link of an unusual cell: the comparison, or whichever of the two compiles exists."""
        text = f"{row.ref}:{row.ids[number]}" if row.ids[number] else ""
        if not text or text == column.ref:
            return column.ref
        if self.page:
            return str(parse_ref(text).at(self.page))
        return diff_ref(column.ref, text) if self.cells(row)[number] not in (MORE, *UNDONE) else text

    def descriptions(self, row: Row, columns: Sequence[Column], usual: Row, others: Sequence[Row]) -> Iterator[tuple[str, str]]:
        """Yield descriptions of a row with link targets, and the number of further differing compiles.

        The described compiles separate the row from the `others`.
        """
        if self.name == DIFFERENCE:
            yield from ((WORDS[facet].label, "@metrics") for facet in row.properties_of_all)
        numbers = self._unlike(row, usual)
        if not numbers:
            return
        shown = self._separating(row, numbers, others)
        for number in shown:
            sign = self.cells(row)[number]
            description = WORDS[COUNT].label if self.cells(usual)[number] == NONE else self.meaning(sign)
            yield _at(columns[number], description), self.target(columns[number], row, number)
        if len(numbers) > len(shown):
            more = len(numbers) - len(shown)
            yield f"{fmt.plural(more, 'more compile')} {'differs' if more == 1 else 'differ'}", ""

    def _unlike(self, row: Row, usual: Row) -> list[int]:
        """Return the columns in which a row differs from the usual row, the most telling first."""
        pairs = zip(self.cells(row), self.cells(usual), strict=True)
        numbers = [number for number, (mine, theirs) in enumerate(pairs) if mine != theirs and mine != ENDED]
        first = self.first(row, usual)
        return [first, *(number for number in numbers if number > first)] if first >= 0 else []

    def _separating(self, row: Row, numbers: Sequence[int], others: Sequence[Row]) -> list[int]:
        """Choose the first compile that separates a row from all others; without one, as many as necessary."""
        cells = self.cells(row)
        alone = next((n for n in numbers if all(self.cells(other)[n] != cells[n] for other in others)), None)
        if alone is not None:
            return [alone]
        shown: list[int] = []
        like = list(others)
        for number in numbers[:DESCRIBED]:
            fewer = [other for other in like if self.cells(other)[number] == cells[number]]
            if not shown or len(fewer) < len(like):
                shown.append(number)
            like = fewer
        return shown

    def first(self, row: Row, usual: Row) -> int:
        """Return the first column in which a row differs from the usual row; -1 for none."""
        if self.name == DIFFERENCE:
            return row.first_difference
        pairs = zip(self.cells(row), self.cells(usual), strict=True)
        return next((number for number, (mine, theirs) in enumerate(pairs) if mine != theirs), -1)


def _at(column: Column, description: str) -> str:
    return f"[{column.id}] {fmt.clip_middle(sanitize(short(column.function)), 24)}: {description}"


ASPECTS: Mapping[str, Aspect] = {
    aspect.name: aspect
    for aspect in (
        Aspect(
            DIFFERENCE, "cells show differences from the reference ranks", lambda row: row.differs,
            lambda row: (row.differs, row.graphs, row.properties_of_all),
            {SAME: "same as the reference", **{mark: WORDS[facet].label for facet, mark in MARKS.items()},
             MORE: "only here", **_DONE},
            {MORE: tokens.ADDED},
        ),
        Aspect(
            STATUS, "outcome of each compile", lambda row: row.statuses, lambda row: row.statuses, _ABSENT,
        ),
        Aspect(
            GRAPH, "graphs, one letter per distinct graph", lambda row: row.graphs, lambda row: row.graphs,
            {"a": "the graph of most ranks", **dict.fromkeys(LETTERS[1:], "other"), MANY: "more", UNLOGGED: "not in the log",
             **_ABSENT},
            {"a": tokens.DIM, **{letter: _LETTERS[n % len(_LETTERS)] for n, letter in enumerate(LETTERS[1:])}},
        ),
        Aspect(
            TIME, "compile time relative to the median of the ranks", lambda row: row.times, lambda row: row.times,
            {SAME: "about the median", **_TIMES, MORE: "10 times or more", "<": "half or less", **_DONE},
            {**{sign: tokens.WARN if sign < "5" else tokens.ERROR for sign in _TIMES}, MORE: tokens.ERROR, "<": tokens.VALUE},
            "timing",
        ),
        Aspect(
            CACHE, "cache results", lambda row: row.caches, lambda row: row.caches,
            {CACHES["hit"]: "hit", CACHES["miss"]: "miss", CACHES["bypass"]: "bypass", UNLOGGED: "not in the log",
             **_ABSENT},
            {CACHES["hit"]: tokens.OK, CACHES["miss"]: tokens.WARN, CACHES["bypass"]: tokens.RECOMPILE},
            "caches",
        ),
    )
}  # fmt: skip
"""Aspects by name, in the order in which a key goes through them."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the matrix of all ranks, in any scope: a single rank has nothing to compare with."""
    aspect = ASPECTS.get(options.sort, ASPECTS[DIFFERENCE])

    def fill(page: Page) -> Generator[None, None, MatrixReport]:
        page.add(("Matrix", tokens.TITLE))
        lanes = yield from read_lanes(run)
        matrix = named_columns(run, matrix_of(lanes))
        yield
        _head(page, matrix, lanes, aspect, options)
        add_not_read(page, not_read(run))
        if len(lanes) > 1:
            yield from Grid(page, matrix, aspect).write()
        return matrix_report(matrix)

    return GrowingDocument(scope.page(NAME), f"{NAME}{scope.title}", options, fill, Page)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command to those of every view."""
    help_ = "content of the cells (default: difference)"
    parser.add_argument("--show", dest="sort", choices=tuple(ASPECTS), default=DIFFERENCE, help=help_)


def _head(page: Page, matrix: Matrix, lanes: Sequence[Lane], aspect: Aspect, options: Options) -> None:
    if len(lanes) < 2:
        page.say(page.so_far("Nothing to compare: fewer than two ranks have compiles."))
        return
    total = sum(column.rank_count for column in matrix.columns)
    size = f"{fmt.count(matrix.rank_count)} ranks × {fmt.plural(len(matrix.columns), 'row')}"
    of_all = f", {fmt.plural(total, 'compile')}"
    if len(size) + len(of_all) + 2 + len(aspect.title) <= page.width:
        page.row([(size, tokens.STRONG), of_all, (f"  {aspect.title}", tokens.DIM)], "")
    else:
        page.row([(size, tokens.STRONG), of_all], "")
        page.say(aspect.title, "", tokens.DIM)
    others = ", ".join(name for name in ASPECTS if name != aspect.name)
    hint = key_hint(options, "app.sort", "{}", instead="--show")
    page.row([hint, (f" changes what the cells show: {others}", tokens.DIM)], "")
    if matrix.ranks_behind:
        page.say(
            f"{with_noun(matrix.ranks_behind).capitalize()} compiled less than others and may still catch up.", "", tokens.WARN
        )


class Grid:
    """Kinds of ranks under this aspect, with their cells."""

    def __init__(self, page: Page, matrix: Matrix, aspect: Aspect) -> None:
        self._page = page
        self._columns = matrix.columns
        self._aspect = aspect
        self._rows = merged(matrix.rows, aspect.key)
        usual = next(row for row in self._rows if matrix.reference_rank in row.ranks)
        self._rows.sort(key=lambda row: (row is not usual, -len(row.ranks), aspect.first(row, usual), row.ranks))
        self._cells = [aspect.cells(row) for row in self._rows]
        room = page.width - LABEL
        self._wide = 2 if 2 * len(self._rows) <= room else 1
        self._shown = min(len(self._rows), room // self._wide, len(NAMES))
        self._label = min(page.width - self._wide * self._shown - 2, max(map(self._needs, self._columns), default=LABEL))
        by_rank = {number: place for place, row in enumerate(self._rows) for number in row.ranks}
        self._compared = [by_rank[row.reference_rank] for row in self._rows]
        """For each kind of ranks, the kind that it is compared with."""
        self._stages = matrix.stages

    def write(self) -> Generator[None, None, None]:
        """Add the legend, the column names and the cells."""
        self._legend()
        self._kinds()
        yield
        self._page.close(0)
        self._page.blank()
        self._page.open("Compiles")
        self._names()  # before the first fold, which would hide it
        lines = 0
        for is_alike, group in groupby(range(len(self._columns)), self._alike):
            numbers = list(group)
            if is_alike and len(numbers) > 1:
                self._folded(numbers, is_alike)
                continue
            for number in numbers:
                if lines and lines % HEAD_EVERY == 0:
                    self._names()
                if lines == SHOWN:
                    self._page.say("More compiles differ; --json lists all of them.", "  ", tokens.DIM)
                    return
                self._line(number)
                lines += 1
            yield

    def _alike(self, number: int) -> str:
        """Return the common cell of a column; '' if ranks differ. Cells after the end of a rank are ignored."""
        signs = {cells[number] for cells in self._cells} - {ENDED}
        return signs.pop() if len(signs) == 1 else ""

    def _needs(self, column: Column) -> int:
        place = self._aspect.detail(column)
        return max(len(column.id) + 3, 8) + cells_of(short(column.function)) + (cells_of(place) + 2 if place else 0) + 1

    def _legend(self) -> None:
        """Add the signs in use with their meanings."""
        used = {sign for cells in self._cells for sign in cells}
        groups = [f"{self._aspect.drawn(sign)} {self._aspect.meaning(sign)}" for sign in self._aspect.ordered(used)]
        line, width = "", self._page.width
        for group in groups:
            if line and len(line) + 2 + len(group) > width:
                self._page.add((line, tokens.DIM))
                line = ""
            line += ("  " if line else "") + group
        self._page.add((line, tokens.DIM))

    def _kinds(self) -> None:
        """Add the kinds of ranks: `A  498 ranks  0–2, 4–80, …`, `B  rank 3  [4/0] block4: another graph`."""
        page, several = self._page, len(self._rows) > 1
        page.close(0)
        page.blank()
        title = f"{fmt.plural(len(self._rows), 'kind')} of ranks" if several else "All ranks are the same in every row"
        page.open(title)
        page.add((title, tokens.HEADING))
        for number, row in enumerate(self._rows):
            if number == LISTED and len(self._rows) > LISTED + 2:
                more = f"{fmt.count(len(self._rows) - LISTED)} more"
                page.open(more, folded=True)
                page.add("  ", (more, tokens.DIM))
            self._kind(number, row)

    def _kind(self, number: int, row: Row) -> None:
        page = self._page
        name = NAMES[number] if number < self._shown else " "
        many = len(row.ranks) > 1
        who = f"{fmt.count(len(row.ranks))} ranks:" if many else f"rank {row.ranks}"
        pieces: list[Piece] = ["  ", (name, tokens.STRONG), "  ", (who, tokens.LINK, f"{row.ref}:")]
        if many:
            pieces.append(f" {row.ranks}")
        compared = self._rows[self._compared[number]]
        if compared is row and len(self._rows) > 1:
            pieces += ["  ", (self._usual_words(row), tokens.DIM)]
        others = [other for other in self._rows if other is not row]
        descriptions = list(self._aspect.descriptions(row, self._columns, compared, others))
        if descriptions and compared is not row:
            pieces += ["  ", ("differs:", tokens.DIM)]
        for text, target in descriptions:
            pieces += ["  ", (text, tokens.LINK if target else tokens.WARN, target)]
        page.row(pieces, "")

    def _usual_words(self, row: Row) -> str:
        """Describe the ranks that a row is compared with."""
        stage = next((stage for stage in self._stages if row.reference_rank in stage.ranks), None)
        if stage is not None:  # a log has no numbers of stages
            place = f" {sanitize(fmt.place(stage.file, stage.line))}" if stage.file is not None else ""
            name = kind = "stage" if stage.is_pipeline else "group"
            code = (stage.function, stage.file, stage.line)
            if any(other.reference_rank == row.reference_rank for other in self._rows if other is not row):
                name = f"reference of the {kind} of {with_noun(stage.ranks)}"
            elif sum((other.function, other.file, other.line) == code for other in self._stages) > 1:
                name = f"own {kind}"  # the stages of one class share the function
            return f"{name}: {fmt.clip_middle(sanitize(stage.function), 40)}{place}"
        is_majority = 2 * len(row.ranks) > sum(len(other.ranks) for other in self._rows)
        return "reference (most ranks)" if is_majority else "reference (closest to the other ranks)"

    def _names(self) -> None:
        gap = " " * (self._wide - 1)
        self._page.add("  ", " " * self._label, (gap.join(NAMES[: self._shown]), tokens.STRONG))

    def _line(self, number: int) -> None:
        column = self._columns[number]
        pieces: list[Piece] = ["  ", *self._name_pieces(column, self._label)]
        gap = " " * (self._wide - 1)
        run, style = "", ""
        for row, cells, compared in zip(self._rows[: self._shown], self._cells, self._compared, strict=False):
            sign = cells[number]
            is_unusual = sign != self._cells[compared][number] and sign != ENDED
            target = self._aspect.target(column, row, number) if is_unusual else ""
            cell_style = self._aspect.style(sign) if sign != NONE or is_unusual else tokens.DIM
            if target or cell_style != style:
                pieces += [(run, style)] if run else []
                run, style = "", cell_style
            if target:
                pieces += [(self._aspect.drawn(sign), cell_style, target), gap]
            else:
                run += self._aspect.drawn(sign) + gap
        self._page.add(*pieces, *([(run.rstrip(), style)] if run.rstrip() else []), signs=True)

    def _name_pieces(self, column: Column, width: int) -> list[Piece]:
        """`[2/0] block2  blocks.py:140`, padded."""
        page = self._page
        head = f"[{column.id}] ".ljust(8)
        place = self._aspect.detail(column)
        room, called = width - len(head) - 1, sanitize(short(column.function))
        place_width = len(place) + 2 if place and room - len(place) - 2 >= min(12, cells_of(called)) else 0
        name = page.clip_middle(called, room - place_width)
        gap = " " * (len(head) - len(head.rstrip()))
        pieces: list[Piece] = [(head.rstrip(), tokens.LINK, column.ref), gap, (name, tokens.FUNCTION)]
        pad = width - len(head) - len(name) - (len(place) + 1 if place_width else 0)
        return [*pieces, " " * pad, (place, tokens.DIM), " "] if place_width else [*pieces, " " * pad]

    def _folded(self, numbers: Sequence[int], sign: str) -> None:
        page = self._page
        text = f"{fmt.count(len(numbers))} equal compiles"
        first, last = self._columns[numbers[0]], self._columns[numbers[-1]]
        page.open(text, folded=True)
        drawn, style = self._aspect.drawn(sign), self._aspect.style(sign)
        signs = zip(self._rows, (cells[numbers[0]] for cells in self._cells), strict=True)
        over = [rank for row, mine in signs if mine == ENDED for rank in row.ranks]
        ended = f" ({with_noun(ranges(over))} ended before)" if over else ""
        page.add("  ", (f"{drawn} ", style), (f"{text}, [{first.id}] … [{last.id}]{ended}", tokens.DIM))
        columns = [self._columns[number] for number in numbers[:ALIKE_LISTED]]
        width = min(page.width - 6, max(map(self._needs, columns)))
        for column in columns:
            page.add("  ", (f"{drawn} ", style), *self._name_pieces(column, width))
        if len(numbers) > ALIKE_LISTED:
            page.add("    ", (f"and {fmt.count(len(numbers) - ALIKE_LISTED)} more", tokens.DIM))
        page.close()


def matrix_report(matrix: Matrix) -> MatrixReport:
    """Return a matrix as data."""
    return MatrixReport(
        matrix.rank_count, matrix.columns, tuple(map(_row, matrix.rows)),
        matrix.reference_rank if matrix.reference_rank >= 0 else None, matrix.ranks_behind, matrix.stages,
    )  # fmt: skip


def _row(row: Row) -> RankCells:
    first = row.first_difference if row.first_difference >= 0 else None
    cells = tuple(map(_cell, row.ids, row.differs, row.statuses, row.graphs, row.times, row.caches))
    return RankCells(row.ranks, row.ref, first, row.property, row.properties_of_all, row.reference_rank, cells)


def _cell(id_: str, differs: str, status: str, graph: str, time: str, cache: str) -> Cell:
    is_absent = status in (NONE, ENDED)
    return Cell(
        id_, _DIFFERENCES.get(differs), None if is_absent else _STATUSES.get(status),
        None if graph in (NONE, ENDED, UNLOGGED) else len(LETTERS) if graph == MANY else LETTERS.index(graph),
        _FACTORS.get(time), _CACHES.get(cache),
    )  # fmt: skip


@frozen
class CellRow:
    """One compile of ranks that did all the same."""

    ranks: Ranks
    """The ranks."""
    count: int
    """How many they are."""
    id: str
    """What they call the compile; empty where they have none."""
    ref: str
    """The address of the compile on the ranks that are the most."""
    function: str
    """The function."""
    compile_number: int
    """Which compile of the function, from 1."""
    difference: str | None
    """In what it differs from the most ranks; None if it does not (docs/json.md)."""
    status: str | None
    """The status; None if they do not have it."""
    graph: int | None
    """0: the graph of the most ranks that have one, 1: another one, and so on; None: none in the log."""
    time_factor: float | None
    """The time as a multiple of the median: 1, 2 to 9, 10 (at least) or 0.5 (at most); None: unknown."""
    cache: str | None
    """`hit`, `miss` or `bypass`; None: no answer in the log."""


def cell_rows(data: MatrixReport) -> Iterator[CellRow]:
    """Yield one row per cell."""
    for row in data.rows:
        for column, cell in zip(data.columns, row.cells, strict=True):
            yield CellRow(row.ranks, len(row.ranks), cell.id, column.ref, column.function, column.compile_number, cell.difference,
                          cell.status, cell.graph, cell.time_factor, cell.cache)  # fmt: skip


QUESTION = Question(
    name="matrix",
    help="a grid of ranks by compiles: differences, status, graphs, compile time or cache hits",
    key="M",
    group="ranks and hangs",
    order=110,
    sorts=("difference", "status", "graph", "time", "cache"),
    sort_label="the cells show:",
    needs=Needs("has no times, outcomes or cache hits", ("graph_breaks", "recompiles", "guards", *GRAPH_LOGS, "output_code")),
    document=document,
    add_arguments=add_arguments,
    answer=MatrixReport,
    rows=CellRow,
    records=cell_rows,
    keywords=(Keyword("show", "sort", "aspect", ("difference", "status", "graph", "time", "cache")),),
    doc="""
    A grid of ranks by compiles, one row per cell. Ranks that did the same share one row.

    `show`: content of the cells of the page: difference, status, graph, time, cache.
    """,
)
