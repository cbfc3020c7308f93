"""The view `matrix`: all kinds of ranks beside all compiles, a character a cell. What the cells tell is chosen by the order.

Compiles are lines, so that each can be named; kinds of ranks are columns, the most ranks first. Compiles that are alike on all
ranks are folded: what is left is what differs, the first of it first.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator, Sequence
from itertools import groupby

from tltui.analyses.ranks.course import Lane
from tltui.analyses.ranks.lanes import read_lanes
from tltui.analyses.ranks.matrix import ENDED, NONE, Column, Matrix, Row, matrix_of, merged
from tltui.analyses.ranks.ranges import ranges
from tltui.analyses.unread import not_read
from tltui.documents import format as fmt
from tltui.documents.hints import key_hint
from tltui.documents.page import Page
from tltui.documents.parts.incomplete import add_not_read
from tltui.documents.parts.matrix import ASPECTS, DIFFERENCE, Aspect
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.resume_names import short
from tltui.text.sanitize import sanitize
from tltui.text.width import cells as cells_of

NAME = "matrix"
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""What kinds of ranks are called; further ones have no column."""
LISTED = 6
"""Kinds of ranks that are told above the cells; more are folded."""
LABEL = 30
"""Columns that are left for the name of a compile."""
HEAD_EVERY = 20
"""Lines of cells after which it stands again which column is which."""
ALIKE_NAMED, SHOWN = 400, 1000
"""Compiles that are alike on all ranks that are named in a fold, and those that differ that have a line."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The matrix of all ranks, whatever the scope: one alone has nothing beside it."""
    aspect = ASPECTS.get(options.sort, ASPECTS[DIFFERENCE])

    def fill(page: Page) -> Generator[None, None, Matrix]:
        lanes = yield from read_lanes(run)
        matrix = matrix_of(lanes)
        yield
        _head(page, matrix, lanes, aspect, options)
        add_not_read(page, not_read(run))
        if len(lanes) > 1:
            yield from Grid(page, matrix, aspect).write()
        return matrix

    return GrowingDocument(scope.page(NAME), f"{NAME}{scope.title}", options, fill, Page)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command has beside the options of every view."""
    help_ = "what the cells tell (default: difference)"
    parser.add_argument("--show", dest="sort", choices=tuple(ASPECTS), default=DIFFERENCE, help=help_)


def _head(page: Page, matrix: Matrix, lanes: Sequence[Lane], aspect: Aspect, options: Options) -> None:
    if len(lanes) < 2:
        page.say(page.so_far("There are no two ranks here whose compiles could stand side by side."))
        return
    page.row([(f"{fmt.count(matrix.ranks)} ranks × {fmt.plural(len(matrix.columns), 'compile')}", tokens.STRONG),
              (f"  {aspect.title}", tokens.DIM)], "")  # fmt: skip
    others = ", ".join(name for name in ASPECTS if name != aspect.name)
    hint = key_hint(options, "app.sort", "{}", instead="--show")
    page.row([hint, (f" changes what the cells tell: {others}", tokens.DIM)], "")
    if matrix.behind:
        many = "ranks" if any(sign in matrix.behind for sign in "–, ") else "rank"
        page.say(f"So far {many} {matrix.behind} compiled less than others, and may only be behind.", "", tokens.WARN)


class Grid:
    """Kinds of ranks, as this aspect tells them apart, and their cells."""

    def __init__(self, page: Page, matrix: Matrix, aspect: Aspect) -> None:
        self._page = page
        self._columns = matrix.columns
        self._aspect = aspect
        self._rows = merged(matrix.rows, aspect.key)
        usual = next(row for row in self._rows if matrix.usual in row.numbers)
        self._rows.sort(key=lambda row: (row is not usual, -len(row.numbers), aspect.first(row, usual), row.numbers))
        self._cells = [aspect.cells(row) for row in self._rows]
        room = page.width - LABEL
        self._wide = 2 if 2 * len(self._rows) <= room else 1
        self._shown = min(len(self._rows), room // self._wide, len(NAMES))
        self._label = min(page.width - self._wide * self._shown - 2, max(map(self._needs, self._columns), default=LABEL))
        by_rank = {number: place for place, row in enumerate(self._rows) for number in row.numbers}
        self._compared = [by_rank[row.usual] for row in self._rows]
        """Of each kind of ranks the one that it is compared with."""
        self._stages = matrix.stages

    def write(self) -> Generator[None, None, None]:
        """What the signs mean, which column is which, the cells."""
        self._legend()
        self._kinds()
        yield
        self._page.close(0)
        self._page.blank()
        self._page.open("Compiles")
        self._names()  # the head of all that follows: a fold that began here would hold it
        lines = 0
        for is_alike, group in groupby(range(len(self._columns)), self._alike):
            own = list(group)
            if is_alike and len(own) > 1:
                self._folded(own, is_alike)
                continue
            for number in own:
                if lines and lines % HEAD_EVERY == 0:
                    self._names()
                if lines == SHOWN:
                    self._page.say("More compiles differ: all of them with --json.", "  ", tokens.DIM)
                    return
                self._line(number)
                lines += 1
            yield

    def _alike(self, number: int) -> str:
        """The cell that all ranks have of a compile; '' where they differ. What ranks lack after they ended does not count."""
        signs = {cells[number] for cells in self._cells} - {ENDED}
        return signs.pop() if len(signs) == 1 else ""

    def _needs(self, column: Column) -> int:
        place = self._aspect.beside(column)
        return max(len(column.id) + 3, 8) + cells_of(short(column.function)) + (cells_of(place) + 2 if place else 0) + 1

    def _legend(self) -> None:
        """The signs that are used, and what they mean."""
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
        """`A  498 ranks  0–2, 4–80, …`, `B  rank 3  [4/0] block4: another graph`"""
        page, several = self._page, len(self._rows) > 1
        page.close(0)
        page.blank()
        title = f"{fmt.plural(len(self._rows), 'kind')} of ranks" if several else "All ranks are alike in this"
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
        many = len(row.numbers) > 1
        who = f"{fmt.count(len(row.numbers))} ranks" if many else f"rank {row.ranks}"
        pieces: list[Piece] = ["  ", (name, tokens.STRONG), "  ", (who, tokens.LINK, f"{row.ref}:")]
        if many:
            pieces.append(f"  {row.ranks}")
        compared = self._rows[self._compared[number]]
        if compared is row and len(self._rows) > 1:
            pieces += ["  ", (self._usual_words(row), tokens.DIM)]
        others = [other for other in self._rows if other is not row]
        for text, target in self._aspect.told(row, self._columns, compared, others):
            pieces += ["  ", (text, tokens.LINK if target else tokens.WARN, target)]
        page.row(pieces, "")

    def _usual_words(self, row: Row) -> str:
        """What the ranks are with which others are compared."""
        if self._stages:
            firsts: dict[int, int] = {}
            for own in self._rows:
                firsts[own.usual] = min(firsts.get(own.usual, own.numbers[0]), own.numbers[0])
            number = sorted(firsts.values()).index(firsts[row.usual])
            return f"{'stage' if self._stages[0].is_pipeline else 'group'} {number}"
        return "most ranks" if 2 * len(row.numbers) > sum(len(own.numbers) for own in self._rows) else "most alike to the others"

    def _names(self) -> None:
        gap = " " * (self._wide - 1)
        self._page.add("  ", " " * self._label, (gap.join(NAMES[: self._shown]), tokens.STRONG))

    def _line(self, number: int) -> None:
        column = self._columns[number]
        pieces: list[Piece] = ["  ", *self._named(column, self._label)]
        gap = " " * (self._wide - 1)
        run, style = "", ""
        for row, cells, compared in zip(self._rows[: self._shown], self._cells, self._compared, strict=False):
            sign = cells[number]
            is_told = sign != self._cells[compared][number] and sign != ENDED
            target = self._aspect.target(column, row, number) if is_told else ""
            own = self._aspect.style(sign) if sign != NONE or is_told else tokens.DIM
            if target or own != style:
                pieces += [(run, style)] if run else []
                run, style = "", own
            if target:
                pieces += [(self._aspect.drawn(sign), own, target), gap]
            else:
                run += self._aspect.drawn(sign) + gap
        self._page.add(*pieces, *([(run.rstrip(), style)] if run.rstrip() else []), signs=True)

    def _named(self, column: Column, width: int) -> list[Piece]:
        """`[2/0] block2  blocks.py:140`, padded."""
        page = self._page
        head = f"[{column.id}] ".ljust(8)
        place = self._aspect.beside(column)
        room, called = width - len(head) - 1, sanitize(short(column.function))
        beside = len(place) + 2 if place and room - len(place) - 2 >= min(12, cells_of(called)) else 0
        name = page.clip_middle(called, room - beside)
        gap = " " * (len(head) - len(head.rstrip()))
        pieces: list[Piece] = [(head.rstrip(), tokens.LINK, column.ref), gap, (name, tokens.FUNCTION)]
        pad = width - len(head) - len(name) - (len(place) + 1 if beside else 0)
        return [*pieces, " " * pad, (place, tokens.DIM), " "] if beside else [*pieces, " " * pad]

    def _folded(self, numbers: Sequence[int], sign: str) -> None:
        page = self._page
        what = f"{fmt.count(len(numbers))} compiles alike"
        first, last = self._columns[numbers[0]], self._columns[numbers[-1]]
        page.open(what, folded=True)
        drawn, style = self._aspect.drawn(sign), self._aspect.style(sign)
        signs = zip(self._rows, (cells[numbers[0]] for cells in self._cells), strict=True)
        over = [rank for own, mine in signs if mine == ENDED for rank in own.numbers]
        ended = f" ({'rank' if len(over) == 1 else 'ranks'} {ranges(over)} ended before)" if over else ""
        page.add("  ", (f"{drawn} ", style), (f"{what}, [{first.id}] … [{last.id}]{ended}", tokens.DIM))
        named = [self._columns[number] for number in numbers[:ALIKE_NAMED]]
        width = min(page.width - 6, max(map(self._needs, named)))
        for column in named:
            page.add("  ", (f"{drawn} ", style), *self._named(column, width))
        if len(numbers) > ALIKE_NAMED:
            page.add("    ", (f"and {fmt.count(len(numbers) - ALIKE_NAMED)} more", tokens.DIM))
        page.close()
