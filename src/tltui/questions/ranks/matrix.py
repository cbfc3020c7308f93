"""Matrix of all ranks by all compiles."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median_low

from tltui.model.ref import Ranks
from tltui.model.status import TABLE, Status
from tltui.questions.caches.cache_report import BYPASS, HIT, MISS
from tltui.questions.ranks.matching import NAMES, WIDE, WORDS, Class, Fact, Key, classes_of, facts_of, order_of, rank_count
from tltui.questions.ranks.rank_course import Lane, Stage, Step, groups_of, stages_of
from tltui.text.frozen import frozen

SAME, NONE, MORE, MANY, UNLOGGED, ENDED = "=", " ", "+", "*", "0", "~"
"""Signs: as on the most ranks; absent; additional, or ten times as slow; more kinds than characters; nothing logged; after the
end of the logs.
"""
MARKS = {facet: words.mark for facet, words in WORDS.items() if words.mark}
"""Facet of a difference → its mark. Unfinished compiles show their status instead."""
CACHES = {MISS: "m", BYPASS: "b", HIT: "h"}
"""Cache answer → its mark; of several answers the worst."""
SLOWER, FASTER, LEAST_S = 1.5, 0.5, 0.5
"""Times the median from which on a compile is slower than on the most ranks, or faster, if it is by half a second too."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
UNFINISHED = (Status.UNFINISHED.value, Status.RUNNING.value)
STATUSES = {status.value: row.ascii for status, row in TABLE.items()}


@frozen
class Column:
    """A compile, whichever its id on a rank."""

    id: str
    """What the first rank of the most calls it: `2/0`."""
    ref: str
    """Its address there, for comparisons with it."""
    function: str
    file: str | None
    line: int | None
    compile_number: int
    """Which compile of its code object, from 1."""
    rank_count: int
    """How many ranks have it."""
    median_s: float | None
    """The median of the ranks that finished it."""


@frozen
class Row:
    """Ranks whose cells are the same. Of each string a character is a column."""

    ranks: Ranks
    ref: str
    """The address of the process of the first of them."""
    first_difference: int
    """The first column in which they are not as the most ranks, from 0; -1 where there is none."""
    property: str
    """In what they differ there: a name of `matching.NAMES`; '' for nothing."""
    properties_of_all: tuple[str, ...]
    """In what all of their compiles differ from those of the most ranks: another torch, another setting."""
    differs: str
    """`=` as the most ranks, a blank for a compile that they do not have, `~` (in the other strings as well) for one that comes
    after the end of their logs, `+` for one that the most ranks do not have, else what differs by `MARKS`, or the sign of a status
    for what is not finished."""
    statuses: str
    """The signs of `--ascii`."""
    graphs: str
    """`a`: the graph of the most ranks that have one, `b` another one, `0` none in the log."""
    times: str
    """`=` about the median, `2` to `9` so many times it, `+` ten times or more, `<` half of it or less."""
    caches: str
    """`h` hit, `m` miss, `b` bypass, `0` no answer in the log."""
    ids: tuple[str, ...]
    """What they call each compile; '' for none."""
    reference_rank: int = -1
    """One of the most ranks, of their stage where there are several, with which they are compared."""


@frozen
class Matrix:
    """Kinds of ranks by compiles."""

    rank_count: int
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    """The most ranks first; of as many those that are unlike these first, those that are unlike them in no one compile before."""
    reference_rank: int
    """One of the most ranks, with which the others are compared."""
    ranks_behind: Ranks
    """Ranks that have compiled less than others and may still do so."""
    stages: tuple[Stage, ...] = ()
    """Where ranks do different work by design, the groups within which they are compared."""


def matrix_of(lanes: Sequence[Lane]) -> Matrix:
    """Return the matrix of ranks by compiles."""
    if not lanes:
        return Matrix(0, (), (), -1, Ranks())
    groups = [classes_of(members) for members in groups_of(lanes)]
    classes = [class_ for group in groups for class_ in group]
    facts: list[Fact] = []
    behind: set[int] = set()
    typical: dict[int, Class] = {}
    for group in groups:
        more, late = facts_of(group)
        facts += more
        behind |= late
        typical.update(dict.fromkeys(map(id, group), _usual(group)))
    usual = _usual(classes) if len(groups) == 1 else typical[id(max(groups, key=rank_count)[0])]
    order = order_of(classes)
    keys = sorted(order, key=order.__getitem__)
    cells = _Cells(classes, typical, keys)
    marks, wide_facets = _marks(facts, cells)
    rows = merged([row for class_ in classes for row in cells.rows(class_, marks, wide_facets, behind)], _everything)
    rows.sort(key=lambda row: (usual.first.rank not in row.ranks, -len(row.ranks), row.first_difference, row.ranks))
    columns = tuple(cells.column(number) for number in range(len(keys)))
    return Matrix(len(lanes), columns, tuple(rows), usual.first.rank, Ranks(behind), stages_of(lanes))


def _usual(classes: Sequence[Class]) -> Class:
    """Return the most typical class: the majority of ranks, else the class with the most in common with others.

    The largest of many small classes may be that of ranks that ended early.
    """
    largest = max(classes, key=lambda class_: (len(class_.lanes), -class_.first.rank))
    if 2 * len(largest.lanes) > rank_count(classes):
        return largest
    did = [{key: class_.step(place).facets for key, place in class_.first.course.places.items()} for class_ in classes]
    counts: dict[Key, Counter[Hashable]] = defaultdict(Counter)
    for class_, facets in zip(classes, did, strict=True):
        for key, value in facets.items():
            counts[key][value] += len(class_.lanes)
    ranks = rank_count(classes)
    lacking = {key: ranks - counter.total() for key, counter in counts.items()}
    lacked = sum(lacking.values())

    def alike(facets: Mapping[Key, Hashable]) -> int:
        return lacked + sum(counts[key][value] - lacking[key] for key, value in facets.items())

    scores = [(alike(facets), len(class_.lanes), -class_.first.rank) for class_, facets in zip(classes, did, strict=True)]
    return classes[max(range(len(classes)), key=scores.__getitem__)]


def _marks(facts: Sequence[Fact], cells: _Cells) -> tuple[dict[tuple[int, int], str], dict[int, set[str]]]:
    """Map (class `id`, column) to its leading unusual facet; and classes to facets unusual in all compiles."""
    marks: dict[tuple[int, int], str] = {}
    wide_facets: dict[int, set[str]] = defaultdict(set)
    for fact in sorted(facts, key=lambda fact: NAMES.index(fact.facet), reverse=True):
        for _, classes in fact.parts[1:]:
            for class_ in classes:
                if fact.facet in WIDE:
                    wide_facets[id(class_)].add(fact.facet)
                elif fact.facet in MARKS and (place := cells.places.get((fact.code, fact.number or 1))) is not None:
                    marks[id(class_), place] = fact.facet
    return marks, wide_facets


class _Cells:
    """Cells of classes by compile."""

    def __init__(self, classes: Sequence[Class], usual: Mapping[int, Class], keys: Sequence[Key]) -> None:
        """`usual`: class (its `id`) → the one with which it is compared."""
        self._keys = keys
        self._usual = usual
        self._typical_classes = {id(class_) for class_ in usual.values()}
        self.places = {key: number for number, key in enumerate(keys)}
        self._steps: dict[int, dict[int, int]] = {}
        self._having: list[list[Class]] = [[] for _ in keys]
        for class_ in classes:
            mine = self._steps[id(class_)] = {self.places[key]: place for key, place in class_.first.course.places.items()}
            for number in mine:
                self._having[number].append(class_)
        self._typical = [self._median(number) for number in range(len(keys))]
        self._graphs = [self._letters(number) for number in range(len(keys))]

    def step(self, class_: Class, number: int) -> Step | None:
        """Return the compile of a class in a column."""
        place = self._steps[id(class_)].get(number)
        return None if place is None else class_.step(place)

    def _median(self, number: int) -> float:
        took = []
        for class_ in self._having[number]:
            place = self._steps[id(class_)][number]
            took += [seconds for lane in class_.lanes if (seconds := lane.times.took[place]) == seconds]
        return median_low(took) if took else math.nan

    def _letters(self, number: int) -> Mapping[bytes, str]:
        """Map graphs to letters, the graph of the most ranks first."""
        counts: Counter[bytes] = Counter()
        for class_ in self._having[number]:
            step = self.step(class_, number)
            if step is not None and step.of("graph"):
                counts[step.of("graph")] += len(class_.lanes)
        ordered = sorted(counts, key=lambda digest: -counts[digest])
        return {digest: LETTERS[n] if n < len(LETTERS) else MANY for n, digest in enumerate(ordered)}

    def column(self, number: int) -> Column:
        """Describe the compile of a column."""
        (name, file, line), occurrence = self._keys[number]
        having = self._having[number]
        first = max(having, key=lambda class_: (id(class_) in self._typical_classes, len(class_.lanes), -class_.first.rank))
        step = self.step(first, number)
        assert step is not None
        seconds = self._typical[number]
        return Column(
            step.id, f"{first.first.ref}:{step.id}", name, file, line, occurrence, rank_count(having),
            None if math.isnan(seconds) else seconds,
        )  # fmt: skip

    def rows(
        self, class_: Class, marks: Mapping[tuple[int, int], str], wide_facets: Mapping[int, set[str]], behind: set[int]
    ) -> list[Row]:
        """Return the rows of a class: several if some of its ranks were slow."""
        steps = [self.step(class_, number) for number in range(len(self._keys))]
        facets = [marks.get((id(class_), number), "") for number in range(len(steps))]
        # a log that ends within a compile: the rank may have made every later compile
        is_cut = any(step is not None and step.status in UNFINISHED for step in steps)
        differs = "".join(self._differs(class_, n, step, facets[n], is_cut) for n, step in enumerate(steps))
        may_come = not class_.ended or class_.first.rank in behind
        usual = [self.step(self._usual[id(class_)], number) is not None for number in range(len(steps))]
        lacks = [steps[n] is None and (may_come or not usual[n] or (is_cut and differs[n] == ENDED)) for n in range(len(steps))]
        first = next((n for n, mark in enumerate(differs) if mark != SAME and not lacks[n]), -1)
        facet = "" if first < 0 else facets[first] or _facet_of(differs[first])
        absent = [ENDED if mark == ENDED else NONE for mark in differs]
        statuses = "".join(absent[n] if s is None else STATUSES.get(s.status, UNLOGGED) for n, s in enumerate(steps))
        graphs = "".join(absent[n] if s is None else self._graphs[n].get(s.of("graph"), UNLOGGED) for n, s in enumerate(steps))
        caches = "".join(absent[n] if s is None else _cache(class_.first, s) for n, s in enumerate(steps))
        ids = tuple("" if step is None else step.id for step in steps)
        groups: dict[str, list[Lane]] = defaultdict(list)
        for lane in class_.lanes:
            groups[self._times(class_, lane, absent)].append(lane)
        return [
            Row(Ranks(lane.rank for lane in lanes), lanes[0].ref, first, facet, tuple(sorted(wide_facets.get(id(class_), ()))),
                differs, statuses, graphs, times, caches, ids, self._usual[id(class_)].first.rank)
            for times, lanes in groups.items()
        ]  # fmt: skip

    def _differs(self, class_: Class, number: int, step: Step | None, facet: str, is_cut: bool) -> str:
        other = self.step(self._usual[id(class_)], number)
        if step is None:
            is_over = class_.stopped and number > max(self._steps[id(class_)], default=-1)
            return ENDED if is_over and (is_cut or other is not None) else NONE
        if step.status in UNFINISHED and (other is None or other.status != step.status):
            return STATUSES[step.status]
        return MARKS[facet] if facet else MORE if other is None else SAME

    def _times(self, class_: Class, lane: Lane, absent: Sequence[str]) -> str:
        return "".join(
            absent[number] if (place := self._steps[id(class_)].get(number)) is None else _slower(lane.times.took[place], typical)
            for number, typical in enumerate(self._typical)
        )


def _facet_of(mark: str) -> str:
    return "missing" if mark in (NONE, ENDED) else "count" if mark == MORE else "unfinished"


def _cache(lane: Lane, step: Step) -> str:
    answers = lane.course.texts.get(step.of("cache"), "").split("\n")
    return next((mark for state, mark in CACHES.items() if any(line.endswith(state) for line in answers)), UNLOGGED)


def _slower(seconds: float, typical: float) -> str:
    """Return a duration relative to the usual one."""
    if seconds != seconds:
        return STATUSES[Status.UNFINISHED.value]
    if abs(seconds - typical) < LEAST_S or FASTER < seconds / typical < SLOWER:
        return SAME
    if seconds < typical:
        return "<"
    times = round(seconds / typical)
    return MORE if times > 9 else str(max(times, 2))


def merged(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[Row]:
    """Merge rows with an equal `key`; the merged row has the cells of the first."""
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    results = []
    for group in groups.values():
        first = min(group, key=lambda row: row.ranks)
        results.append(replace(first, ranks=Ranks(number for row in group for number in row.ranks)))
    return results


def _everything(row: Row) -> Hashable:
    return replace(row, ranks=Ranks(), ref="", ids=())
