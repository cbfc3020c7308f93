"""What the cells of the matrix tell, how they are drawn, and where they lead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.analyses.ranks.matching import COUNT, MISSING, STOPPED, UNFINISHED
from tltui.analyses.ranks.matrix import CACHES, ENDED, LETTERS, MANY, MARKS, MORE, NONE, NOTHING, SAME, Column, Row
from tltui.documents import format as fmt
from tltui.documents.compare.artifacts import diff_ref
from tltui.model.ref import parse_ref
from tltui.model.status import TABLE
from tltui.text import tokens
from tltui.text.resume_names import short
from tltui.text.sanitize import sanitize

DIFFERENCE, STATUS, GRAPH, TIME, CACHE = "difference", "status", "graph", "time", "cache"
WORDS = {
    "breaks": "graph breaks", "failure": "failure", "collectives": "collectives", "order": "order", "devices": "devices",
    "recompile": "why again", "inputs": "inputs", "graph": "graph", "guards": "guards", "code": "code",
    "parity": "collectives of the code", "cache": "cache", "estimates": "estimates", "executed": "order of graphs",
    "version": "another torch", "settings": "other settings",
    UNFINISHED: "not finished", MISSING: "not compiled", COUNT: "only here", STOPPED: "stopped",
}  # fmt: skip
"""Facets, in a word or two."""
ABSENT, OVER, UNDONE = "·", "†", ("?", "o")
"""How a compile is drawn that the ranks do not have, and one that comes after the end of their logs; the signs of what is not
finished."""
TOLD = 3
"""Compiles that tell a kind of ranks apart from the others, at most."""
_SIGNS = {row.ascii: row for row in TABLE.values()}
_LETTERS = (tokens.CHANGED, tokens.PHASE_INDUCTOR, tokens.PHASE_DYNAMO, tokens.PHASE_BACKEND, tokens.PHASE_CACHE)
"""Styles of the graphs that the most ranks do not have."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """What cells can tell."""

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
        """The sign on the page."""
        if sign in (NONE, ENDED):
            return ABSENT if sign == NONE else OVER
        is_status = self.name == STATUS or sign in UNDONE
        return _SIGNS[sign].glyph if is_status and sign in _SIGNS and sign != "." else sign

    def meaning(self, sign: str) -> str:
        """What a sign stands for."""
        if sign in self.meanings:
            return self.meanings[sign]
        return _SIGNS[sign].words if sign in _SIGNS else ""

    def ordered(self, signs: Collection[str]) -> list[str]:
        """Signs as they are explained: what is usual first, what is not there last."""
        known = [*self.meanings, *_SIGNS]
        return sorted(signs, key=lambda sign: (sign in (NONE, ENDED), known.index(sign) if sign in known else len(known)))

    def style(self, sign: str) -> str:
        """A style of `tltui.text.tokens`; a cell is never told apart by that alone."""
        if sign in self.styles:
            return self.styles[sign]
        if sign in (SAME, NOTHING, ENDED):
            return tokens.DIM
        if sign in _SIGNS and (self.name == STATUS or sign in UNDONE):
            return _SIGNS[sign].colour
        return tokens.WARN

    def beside(self, column: Column) -> str:
        """What stands behind the name of a compile."""
        if self.name == TIME:
            return fmt.seconds(column.seconds) if column.seconds is not None else ""
        return sanitize(fmt.place(column.file, column.line)) if column.file else ""

    def target(self, column: Column, row: Row, number: int) -> str:
        """Where a cell leads that is not as on the most ranks: to the comparison, or to what there is of the two."""
        own = f"{row.ref}:{row.ids[number]}" if row.ids[number] else ""
        if not own or own == column.ref:
            return column.ref
        if self.page:
            return str(parse_ref(own).at(self.page))
        return diff_ref(column.ref, own) if self.cells(row)[number] not in (MORE, *UNDONE) else own

    def told(self, row: Row, columns: Sequence[Column], usual: Row, others: Sequence[Row]) -> Iterator[tuple[str, str]]:
        """What a kind of ranks is told by, and where that leads: the compiles that separate it from the `others`, and how many more
        are not as on the ranks that it is compared with."""
        if self.name == DIFFERENCE:
            yield from ((WORDS[facet], "@metrics") for facet in row.whole)
        numbers = self._unlike(row, usual)
        if not numbers:
            return
        shown = self._separating(row, numbers, others)
        for number in shown:
            sign = self.cells(row)[number]
            what = WORDS[COUNT] if self.cells(usual)[number] == NONE else self.meaning(sign)
            yield _at(columns[number], what), self.target(columns[number], row, number)
        if len(numbers) > len(shown):
            yield f"+{len(numbers) - len(shown)}", ""

    def _unlike(self, row: Row, usual: Row) -> list[int]:
        """The compiles in which ranks are not as the most, the first that tells something first."""
        pairs = zip(self.cells(row), self.cells(usual), strict=True)
        found = [number for number, (mine, theirs) in enumerate(pairs) if mine != theirs and mine != ENDED]
        first = self.first(row, usual)
        return [first, *(number for number in found if number > first)] if first >= 0 else []

    def _separating(self, row: Row, numbers: Sequence[int], others: Sequence[Row]) -> list[int]:
        """Choose the first of these compiles that no other kind of ranks has so; where there is none as many as it takes."""
        cells = self.cells(row)
        alone = next((n for n in numbers if all(self.cells(other)[n] != cells[n] for other in others)), None)
        if alone is not None:
            return [alone]
        shown: list[int] = []
        like = list(others)
        for number in numbers[:TOLD]:
            fewer = [other for other in like if self.cells(other)[number] == cells[number]]
            if not shown or len(fewer) < len(like):
                shown.append(number)
            like = fewer
        return shown

    def first(self, row: Row, usual: Row) -> int:
        """The first compile in which ranks are not as the most; -1 for none."""
        if self.name == DIFFERENCE:
            return row.first
        pairs = zip(self.cells(row), self.cells(usual), strict=True)
        return next((number for number, (mine, theirs) in enumerate(pairs) if mine != theirs), -1)


def _at(column: Column, what: str) -> str:
    return f"[{column.id}] {fmt.clip_middle(sanitize(short(column.function)), 24)}: {what}"


_ABSENT = {NONE: "not compiled", ENDED: "ended before this"}
_DONE = {"?": "not finished", "o": "not finished yet", **_ABSENT}
_TIMES = {str(n): f"{n} times" for n in range(2, 10)}
ASPECTS: Mapping[str, Aspect] = {
    aspect.name: aspect
    for aspect in (
        Aspect(
            DIFFERENCE, "what differs from most ranks", lambda row: row.differs,
            lambda row: (row.differs, row.graphs, row.whole),
            {SAME: "as most ranks", **{mark: WORDS[facet] for facet, mark in MARKS.items()}, MORE: "only here", **_DONE},
            {MORE: tokens.ADDED},
        ),
        Aspect(
            STATUS, "what became of each compile", lambda row: row.statuses, lambda row: row.statuses, _ABSENT,
        ),
        Aspect(
            GRAPH, "which ranks have the same graph: a letter each", lambda row: row.graphs, lambda row: row.graphs,
            {"a": "the graph of most ranks", **dict.fromkeys(LETTERS[1:], "another"), MANY: "more", NOTHING: "none in the log",
             **_ABSENT},
            {"a": tokens.DIM, **{letter: _LETTERS[n % len(_LETTERS)] for n, letter in enumerate(LETTERS[1:])}},
        ),
        Aspect(
            TIME, "how long it took, beside the median of the ranks", lambda row: row.times, lambda row: row.times,
            {SAME: "about the median", **_TIMES, MORE: "10 times or more", "<": "half or less", **_DONE},
            {**{sign: tokens.WARN if sign < "5" else tokens.ERROR for sign in _TIMES}, MORE: tokens.ERROR, "<": tokens.VALUE},
            "timing",
        ),
        Aspect(
            CACHE, "what the caches answered", lambda row: row.caches, lambda row: row.caches,
            {CACHES["hit"]: "hit", CACHES["miss"]: "miss", CACHES["bypass"]: "bypass", NOTHING: "no answer in the log",
             **_ABSENT},
            {CACHES["hit"]: tokens.OK, CACHES["miss"]: tokens.WARN, CACHES["bypass"]: tokens.RECOMPILE},
            "caches",
        ),
    )
}  # fmt: skip
"""By name, in the order in which a key goes through them."""
