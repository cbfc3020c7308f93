"""Rows of what ranks did otherwise, late, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tltui.api.rows.words import joined
from tltui.questions.hang.page import WhereReport
from tltui.questions.ranks.matrix import Matrix
from tltui.questions.ranks.page import RanksReport
from tltui.questions.ranks.stragglers_page import Stragglers


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One side of something in which ranks differ."""

    id: str
    """What the compile is called: sides of one difference have the same."""
    function: str
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    number: int
    """Which compile of the function, from 1."""
    facets: str
    """In what they differ."""
    ranks: str
    """The ranks on this side, as ranges."""
    count: int
    """How many they are."""
    said: str
    """What is so on them."""
    ref: str
    """The address on the first of them."""


def difference_rows(data: RanksReport) -> Iterator[DifferenceRow]:
    """A row a side, the first difference first."""
    for own in data.differing.divergences if data.differing is not None else ():
        for side in own.sides:
            function = own.function
            yield DifferenceRow(own.id, function.name, function.file, function.line, own.number, joined(own.facets), side.ranks,
                                side.count, side.said, side.ref)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CellRow:
    """One compile of ranks that did all the same."""

    ranks: str
    """The ranks, as ranges."""
    count: int
    """How many they are."""
    id: str
    """What they call the compile; empty where they have none."""
    ref: str
    """The address of the compile on the ranks that are the most."""
    function: str
    """The function."""
    number: int
    """Which compile of the function, from 1."""
    differs: str
    """`=` as on the most ranks, a blank for none, else what differs (docs/json.md)."""
    status: str
    """The sign of the status, as `--ascii` draws it."""
    graph: str
    """`a` the graph of the most ranks, `b` another one …, `0` none."""
    time: str
    """`=` about the median, `2` to `9` times it, `+` ten times or more, `<` half or less."""
    cache: str
    """`h` hit, `m` miss, `b` bypass, `0` no answer."""


def cell_rows(data: Matrix) -> Iterator[CellRow]:
    """A row a cell."""
    for own in data.rows:
        for n, column in enumerate(data.columns):
            yield CellRow(own.ranks, len(own.numbers), own.ids[n], column.ref, column.function, column.number, own.differs[n],
                          own.statuses[n], own.graphs[n], own.times[n], own.caches[n])  # fmt: skip


@dataclass(frozen=True, slots=True)
class StragglerRow:
    """Ranks that were late, slow, or waited, in one compile."""

    kind: str
    """`late`, `slow`, or `waited`."""
    function: str
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    number: int
    """Which compile of the function, from 1."""
    ranks: str
    """The ranks, as ranges; of `waited` those that the others waited for."""
    seconds: float
    """How late they began, what the compile took them, or how long was waited, in seconds."""
    typical_s: float | None
    """What it took on the others, of `slow`, in seconds."""
    phase: str
    """The phase in which they were slow; empty for none."""
    ref: str
    """The address of the compile on the first of them."""


def straggler_rows(data: Stragglers) -> Iterator[StragglerRow]:
    """A row each."""
    for late in data.late:
        own = late.compile
        yield StragglerRow("late", own.function, own.file, own.line, own.number, late.ranks, late.seconds, None, "", late.ref)
    for slow in data.slow:
        own = slow.compile
        yield StragglerRow("slow", own.function, own.file, own.line, own.number, slow.ranks, slow.seconds, slow.typical_s,
                           slow.phase, slow.ref)  # fmt: skip
    for wait in data.waits:
        own = wait.compile
        yield StragglerRow("waited", own.function, own.file, own.line, own.number, wait.last, wait.seconds, None, "", wait.ref)


@dataclass(frozen=True, slots=True)
class WhereRow:
    """Ranks that are at the same place, who is behind first."""

    ranks: str
    """The ranks, as ranges."""
    count: int
    """How many they are."""
    state: str
    """`inside`: something is open; `between`: nothing is; `empty`: no compile was begun."""
    over: bool
    """Whether their logs have ended: then they were there."""
    what: str
    """What they are in the middle of."""
    function: str | None
    """That is compiled, or was compiled last."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    ref: str
    """The address of the compile on the first of them."""
    trail: str
    """The open phases that tell most."""
    since_s: float | None
    """When the innermost of them began, in seconds since 1970 (UTC)."""
    done: int
    """Compiles that each has finished at least."""
    behind: bool
    """Nothing is open, and they have come less far than others."""


def where_rows(data: WhereReport) -> Iterator[WhereRow]:
    """A row each."""
    for own in data.where.groups:
        since = None if own.since is None else own.since / 1e6
        yield WhereRow(own.ranks, own.count, own.state, own.over, own.what, own.function, own.file, own.line, own.ref, own.trail,
                       since, own.done, own.behind)  # fmt: skip
