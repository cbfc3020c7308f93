"""Differences between ranks: facet, first compile, ranks; earliest first."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from tltui.model.ref import ranges
from tltui.questions.ranks.matching import (
    BREAKS,
    CACHE,
    CODE,
    COLLECTIVES,
    COUNT,
    DEVICES,
    ESTIMATES,
    EXECUTED,
    FAILED,
    GRAPH,
    GUARDS,
    INPUTS,
    MISSING,
    NAMES,
    ORDER,
    PARITY,
    RECOMPILE,
    SETTINGS,
    STOPPED,
    UNFINISHED,
    VERSION,
    WIDE,
    Class,
    Fact,
    Key,
    classes_of,
    facts_of,
    order_of,
)
from tltui.questions.ranks.rank_course import Code, Lane, Stage, compile_ref, groups_of, stages_of
from tltui.text.frozen import frozen

KEPT = 200
"""Maximum number of differences in a result."""
SIDES = 6
"""Maximum number of sides per difference."""
SAID = {
    VERSION: "another torch", SETTINGS: "settings differ", STOPPED: "the last function of some ranks",
    UNFINISHED: "not finished on some ranks", BREAKS: "graph breaks differ", FAILED: "failures differ",
    COLLECTIVES: "collectives differ", MISSING: "compiled on some ranks only", COUNT: "compiled more often on some ranks",
    ORDER: "compiled in another order on some ranks", DEVICES: "tensors on a device that is not the rank's own",
    RECOMPILE: "compiled again for another reason", INPUTS: "inputs differ", GRAPH: "graphs differ", GUARDS: "guards differ",
    CODE: "generated code differs", PARITY: "code and schedule have other collectives", CACHE: "caches answer differently",
    ESTIMATES: "what its kernels give differs", EXECUTED: "graphs ran in another order",
}  # fmt: skip
"""Wording of a difference by facet."""


@frozen
class Function:
    """A code object."""

    name: str
    file: str | None
    """Its name, without a directory."""
    line: int | None


@frozen
class Side:
    """Ranks that do the same."""

    ranks: str
    """As ranges: `0–6, 8–511`."""
    count: int
    said: str
    """What they do; '' where that takes a comparison to see."""
    ref: str
    """The compile of one of them that is like most; '' where they have none."""


@frozen
class Divergence:
    """Something in which ranks differ."""

    id: str
    """What the first side calls the compile, `2/0`; '' where it has none, or all of its compiles are meant."""
    function: Function
    others: tuple[Function, ...]
    """Further functions that differ in the same on the same ranks."""
    number: int
    """Which compile of the function, from 1; 0: all of them."""
    facets: tuple[str, ...]
    """In what: the first is told, the others follow from it. See `matching.NAMES`."""
    sides: tuple[Side, ...]
    """The most ranks first."""
    majority: bool
    """Whether the first side is more than half of three or more ranks; else nobody can tell which is right."""
    more: int = 0
    """Ranks that are on no side here: there are too many different ones."""
    whole: int = 0
    """Of what a rank has in all of its compiles, how many compiles show it; else 0."""
    at: float | None = None
    """When a rank of the first side that has the compile began it, microseconds since the epoch by its clock; null where that is
    not known."""


@frozen
class Restarted:
    """Ranks with the log of an older process."""

    ranks: str
    count: int
    inside: str
    """The compile in which its log ends, `block1 [1/0]`; '' where it finished what it began."""
    at_once: bool
    """Whether it ran beside the newer one: two processes have one rank, or two jobs wrote into one directory."""
    ref: str
    """The address of the older process of the first of them."""
    pid: int


@frozen
class Parity:
    """Ranks on which the code of a compile calls other collectives than its schedule has, whether or not all ranks do."""

    function: Function
    number: int
    """Which compile of the function, from 1."""
    said: tuple[str, ...]
    """`wait_tensor: 1 in the schedule, 0 in the code`"""
    ranks: str
    """As ranges."""
    ref: str
    """The compile of the first of them."""


@frozen
class Differing:
    """Result of comparing ranks."""

    ranks: int
    """Ranks that were compared."""
    classes: int
    """Kinds of ranks: those of one did all the same."""
    agree: str
    """Ranks that are on the first side of every difference, as ranges; '' where some difference has no majority."""
    agreeing: int
    """How many these are."""
    unlike: str
    """The others, as ranges: '' where there are none, or a difference has no majority."""
    compiles: int
    """Compiles of most ranks."""
    functions: int
    alike: int
    """Functions that do not differ."""
    count: int
    """All differences; of several functions each counts."""
    divergences: tuple[Divergence, ...]
    """The first in time first, at most `KEPT`."""
    behind: str
    """Ranks that have compiled less than others and may still do so, as ranges."""
    restarted: tuple[Restarted, ...] = ()
    parity: tuple[Parity, ...] = ()
    """The first in time first, at most `KEPT`."""
    cut: bool = False
    """Whether some rank ended in the middle: what others compiled after that it may not have come to."""
    stages: tuple[Stage, ...] = ()
    """Where ranks do different work by design, the groups within which they are compared; the one with the lowest rank first."""
    received: str = ""
    """Ranks, as ranges, that did not compile what another rank compiled under `compile_on_one_rank`: its code runs on all ranks."""

    @property
    def leading(self) -> Divergence | None:
        """Return the most important difference; None if none leads.

        Cache answers are consequences, and other pages list failed and unfinished compiles.
        """
        return next(
            (divergence for divergence in self.divergences if divergence.facets[0] not in (CACHE, FAILED, UNFINISHED)), None
        )


def differing(lanes: Sequence[Lane]) -> Differing | None:
    """Compare ranks; None for fewer than two."""
    if len(lanes) < 2:
        return None
    stages = stages_of(lanes)
    return _within(lanes, stages) if stages else _of_one_kind(lanes)


def _within(lanes: Sequence[Lane], stages: tuple[Stage, ...]) -> Differing:
    """Compare ranks within each of several stages. Different stages do different work."""
    found = [_of_one_kind(own) for own in groups_of(lanes)]
    told = sorted(
        (one for own in found for one in own.divergences),
        key=lambda one: (one.facets[0] in (CACHE, EXECUTED), one.facets[0] not in WIDE, math.inf if one.at is None else one.at),
    )
    is_parted = any(own.count and not own.agree for own in found)
    agree, unlike = ([own.agree for own in found if own.agree], [own.unlike for own in found if own.unlike])
    return Differing(
        len(lanes), sum(own.classes for own in found), "" if is_parted else ", ".join(agree),
        0 if is_parted else sum(own.agreeing for own in found), "" if is_parted else ", ".join(unlike),
        max(own.compiles for own in found), sum(own.functions for own in found), sum(own.alike for own in found),
        sum(own.count for own in found), tuple(told[:KEPT]), ", ".join(own.behind for own in found if own.behind),
        _restarted(lanes),
        tuple(one for own in found for one in own.parity)[:KEPT], any(own.cut for own in found), stages,
        ", ".join(own.received for own in found if own.received),
    )  # fmt: skip


def _of_one_kind(lanes: Sequence[Lane]) -> Differing:
    """Compare ranks that do the same work."""
    classes = classes_of(lanes)
    facts, behind = facts_of(classes)
    order = order_of(classes)
    divergences = _grouped(_folded(facts), order)
    codes = {code for own in classes for code in own.codes}
    unlike = {fact.code for fact in facts if fact.facet not in WIDE}
    agree = _agreeing(lanes, facts)
    usual = max(classes, key=lambda own: (len(own.lanes), -own.first.rank))
    return Differing(
        len(lanes), len({own.first.course.digest for own in classes}), ranges(agree), len(agree),
        ranges(lane.rank for lane in lanes if agree and lane.rank not in agree), len(usual.first.course.steps),
        len(codes), len(codes - unlike), sum(1 if d.whole else 1 + len(d.others) for d in divergences), tuple(divergences[:KEPT]),
        ranges(behind), _restarted(lanes), _parities(classes, order), any(own.stopped for own in classes),
        (), ranges(lane.rank for own in classes if own.receives for lane in own.lanes),
    )  # fmt: skip


def _agreeing(lanes: Sequence[Lane], facts: Sequence[Fact]) -> set[int]:
    """Ranks that are always with the most."""
    left = {lane.rank for lane in lanes}
    for fact in facts:
        sizes = [sum(len(class_.lanes) for class_ in classes) for _, classes in fact.parts]
        if sizes[0] * 2 <= sum(sizes):
            return set()
        left -= {lane.rank for _, classes in fact.parts[1:] for class_ in classes for lane in class_.lanes}
    return left


def _parities(classes: Sequence[Class], order: Mapping[Key, float]) -> tuple[Parity, ...]:
    groups: dict[tuple[Key, tuple[str, ...]], list[tuple[Class, int]]] = defaultdict(list)
    for own in classes:
        for place, step in enumerate(own.first.course.steps):
            if step.of(PARITY):
                groups[(step.code, step.number), own.lines(place, PARITY)].append((own, place))
    found = sorted(groups.items(), key=lambda item: (order.get(item[0][0], 0.0), item[0][1]))
    return tuple(
        Parity(
            _function(code), number, said, ranges(lane.rank for own, _ in having for lane in own.lanes),
            compile_ref(having[0][0].first, having[0][0].step(having[0][1])),
        )
        for ((code, number), said), having in found[:KEPT]
    )  # fmt: skip


def _restarted(lanes: Sequence[Lane]) -> tuple[Restarted, ...]:
    groups: dict[tuple[bool, str], list[Lane]] = defaultdict(list)
    for lane in sorted(lanes, key=lambda lane: lane.rank):
        if lane.older:
            newest = lane.older[-1]
            groups[newest.at_once, newest.inside].append(lane)
    return tuple(
        Restarted(ranges(lane.rank for lane in own), len(own), inside, at_once, own[0].older[-1].ref, own[0].older[-1].pid)
        for (at_once, inside), own in sorted(groups.items(), key=lambda item: (not item[0][0], item[1][0].rank))
    )


def _folded(facts: Sequence[Fact]) -> list[tuple[Fact, tuple[str, ...]]]:
    """Return the leading fact per compile and partition of ranks, with the facets that follow from it."""
    groups: dict[Hashable, list[Fact]] = defaultdict(list)
    for fact in facts:
        apart = fact.facet if fact.facet in (*WIDE, UNFINISHED) else ""  # what was traced is no consequence of the end
        groups[fact.code, fact.number, apart, fact.partition].append(fact)
    results = []
    for group in groups.values():
        group.sort(key=lambda fact: NAMES.index(fact.facet))
        also = dict.fromkeys(facet for fact in group for facet in (fact.facet, *fact.also))
        results.append((group[0], tuple(sorted(also, key=NAMES.index))))
    return results


def _grouped(facts: Sequence[tuple[Fact, tuple[str, ...]]], order: Mapping[Key, float]) -> list[Divergence]:
    """Merge one difference of several functions on the same ranks into its first occurrence."""
    groups: dict[Hashable, list[tuple[float, Fact]]] = defaultdict(list)
    told: dict[Hashable, tuple[str, ...]] = {}
    widest: list[Fact] = []
    for fact, facets in sorted(facts, key=lambda own: -_ranks_in(own[0]) if own[0].facet in WIDE else 0):
        shown = fact
        if fact.facet in WIDE:
            shown = next((own for own in widest if _is_within(fact, own)), fact)
            widest += [fact] if shown is fact else []
        parts = _parts(shown)
        place = _place(fact, order)
        groups[facets, parts].append((place, fact))
        told[facets, parts] = facets
    found = []
    for key, own in groups.items():
        facets = told[key]
        # of a whole rank it is told with all ranks that show it: some may lack the compile that shows it first
        own.sort(key=lambda pair: (-_ranks_in(pair[1]) if facets[0] in WIDE else 0, pair[0], pair[1].code[0], pair[1].number))
        first = -1.0 if facets[0] in WIDE else own[0][0]
        found.append((first, NAMES.index(facets[0]), own[0][1].code[0], _divergence([fact for _, fact in own], facets)))
    return [one for *_, one in sorted(found, key=lambda item: (*item[:3], item[3].sides[-1].ranks))]


def _parts(fact: Fact) -> Hashable:
    """Return the values of a fact with their ranks, as a grouping key.

    For facets of a whole rank, the largest side is without its ranks.
    """
    parts = [(said, frozenset(lane.rank for class_ in classes for lane in class_.lanes)) for said, classes in fact.parts]
    if fact.facet in WIDE and len(parts[0][1]) > sum(len(ranks) for _, ranks in parts[1:]):
        parts[0] = (parts[0][0], frozenset())
    return tuple(parts)


def _is_within(fact: Fact, other: Fact) -> bool:
    """Return whether a fact about whole ranks is another one, without ranks that had ended before its compile."""
    ranks = {said: frozenset(lane.rank for class_ in classes for lane in class_.lanes) for said, classes in other.parts}
    return fact.facet == other.facet and all(
        said in ranks and ranks[said].issuperset(lane.rank for class_ in classes for lane in class_.lanes)
        for said, classes in fact.parts
    )


def _ranks_in(fact: Fact) -> int:
    return sum(len(class_.lanes) for _, classes in fact.parts for class_ in classes)


def _place(fact: Fact, order: Mapping[Key, float]) -> float:
    """Return the course position at which a difference first appears.

    An extra compile counts at its number. Execution order and cache answers come last.
    """
    if fact.facet in (EXECUTED, CACHE):
        return math.inf
    counts = [len(class_.codes.get(fact.code, ())) for _, classes in fact.parts for class_ in classes]
    number = min(counts) + 1 if fact.facet == COUNT else fact.number or 1
    return order.get((fact.code, number), order.get((fact.code, 1), 0.0))


def _divergence(facts: Sequence[Fact], facets: tuple[str, ...]) -> Divergence:
    first = facts[0]
    total = sum(len(class_.lanes) for _, classes in first.parts for class_ in classes)
    whole = len(facts) if facets[0] in WIDE else 0
    fewest = min(len(class_.codes.get(first.code, ())) for _, classes in first.parts for class_ in classes)
    sides = tuple(_side(first, said, classes, fewest) for said, classes in first.parts[:SIDES])
    functions = list(dict.fromkeys(_function(fact.code) for fact in facts))
    return Divergence(
        sides[0].ref.rpartition(":")[2] if not whole else "", functions[0], tuple(functions[1:]), first.number, facets, sides,
        total > 2 and sides[0].count * 2 > total, total - sum(side.count for side in sides), whole, _begun(first),
    )  # fmt: skip


def _begun(fact: Fact) -> float | None:
    """When the compile began on a rank of the first side that has it, else on one of the next."""
    if fact.facet == EXECUTED:
        return None
    for _, classes in fact.parts:
        for own in sorted(classes, key=lambda own: (-len(own.lanes), own.first.rank)):  # as `_side` chooses
            places = own.codes.get(fact.code)
            at = own.first.times.begin[places[min(max(fact.number, 1), len(places)) - 1]] if places else math.nan
            if not math.isnan(at):
                return at
    return None


def _function(code: Code) -> Function:
    return Function(*code)


def _side(fact: Fact, said: str, classes: Sequence[Class], fewest: int) -> Side:
    ranks = sorted(lane.rank for own in classes for lane in own.lanes)
    having = [own for own in classes if own.codes.get(fact.code)]
    ref = ""
    if having:
        own = min(having, key=lambda own: (-len(own.lanes), own.first.rank))  # ids on a rank that differs elsewhere may be others
        places = own.codes[fact.code]
        # of the number of compiles the last one is of interest: why was there one more?
        step = own.step(places[fact.number - 1 if fact.number else -1 if fact.facet == COUNT else 0])
        ref = compile_ref(own.first, step)
        if fact.facet == COUNT and len(places) > fewest and (reason := own.lines(places[-1], RECOMPILE)):
            said = f"{said}, the last for: {reason[0].strip()}"
    return Side(ranges(ranks), len(ranks), said, ref)
