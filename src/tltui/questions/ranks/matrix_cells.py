"""The matrix as data: a cell of each compile and each group of ranks, with words and numbers in place of signs."""

from __future__ import annotations

from tltui.model.ref import Ranks
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
)
from tltui.questions.ranks.rank_course import Stage
from tltui.text.frozen import frozen

_DIFFERENCES = {
    NONE: "not compiled", ENDED: "after the end of the log", MORE: "only here",
    **{mark: facet for facet, mark in MARKS.items()},
    **{sign: status for status, sign in STATUSES.items() if status in ("unfinished", "running")},
}  # fmt: skip
_STATUSES = {sign: status for status, sign in STATUSES.items()}
_CACHES = {mark: state for state, mark in CACHES.items()}
_FACTORS = {SAME: 1.0, "<": 0.5, MORE: 10.0, **{str(times): float(times) for times in range(2, 10)}}


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
