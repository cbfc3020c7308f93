"""Differences between ranks, earliest first, with details from their logs; expected run times of kernels."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import cast

from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.node_answers import reader_of, shared
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, addresses, records_of
from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.questions.compare.comparable_lines import GraphText, graph_text, rules_for
from tltui.questions.compare.pairing import code_of, owns_of
from tltui.questions.passes.node_changes import ADDED, REMOVED, RETARGETED, RETYPED, NodeChange, node_changes
from tltui.questions.ranks.compile_facets import PhasesOf, bare, estimates_fact
from tltui.questions.ranks.function_names import compile_of, function_name, named_pace
from tltui.questions.ranks.lanes import read_lanes, with_hosts
from tltui.questions.ranks.matching import (
    CACHE,
    CODE,
    COUNT,
    EXECUTED,
    FAILED,
    GRAPH,
    NAMES,
    PARITY,
    RECOMPILE,
    UNFINISHED,
    WIDE,
    Class,
    Fact,
    Key,
    classes_of,
    facts_of,
    order_of,
    rank_count,
    ranks_in,
)
from tltui.questions.ranks.pace import Pace, clocks
from tltui.questions.ranks.pace_analysis import Columns, pace_of
from tltui.questions.ranks.rank_course import Code, Lane, Stage, compile_ref, groups_of, stages_of, steps_in
from tltui.questions.stacks.tracebacks import display_name, is_ambiguous
from tltui.text.frozen import frozen
from tltui.text.normalisation import RankIdentity, normalised, own_rules
from tltui.text.steps import run_steps
from tltui.trace.files import Gone

KEPT = 200
"""Maximum number of differences in a result."""
SIDES = 6
"""Maximum number of sides per difference."""


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

    ranks: Ranks
    count: int
    description: str
    """What they do; '' where that takes a comparison to see."""
    ref: str
    """The compile of one of them that is like most; '' where they have none."""


@frozen
class Divergence:
    """Something in which ranks differ."""

    id: str
    """What the first side calls the compile, `2/0`; '' where it has none, or all of its compiles are meant."""
    function: Function
    other_functions: tuple[Function, ...]
    """Further functions that differ in the same on the same ranks."""
    compile_number: int
    """Which compile of the function, from 1; 0: all of them."""
    properties: tuple[str, ...]
    """In what: the first is told, the others follow from it. See `matching.NAMES`."""
    groups: tuple[Side, ...]
    """The most ranks first."""
    has_majority: bool
    """Whether the first side is more than half of three or more ranks; else nobody can tell which is right."""
    ranks_in_no_group: int = 0
    """Ranks that are on no side here: there are too many different ones."""
    compile_count: int = 0
    """Of what a rank has in all of its compiles, how many compiles show it; else 0."""
    start_at_us: float | None = None
    """When a rank of the first side that has the compile began it, microseconds since the epoch by its clock; null where that is
    not known."""


@frozen
class Restarted:
    """Ranks with the log of an older process."""

    ranks: Ranks
    count: int
    ended_in: str
    """The compile in which its log ends, `block1 [1/0]`; '' where it finished what it began."""
    is_concurrent: bool
    """Whether it ran beside the newer one: two processes have one rank, or two jobs wrote into one directory."""
    ref: str
    """The address of the older process of the first of them."""
    pid: int


@frozen
class Parity:
    """Ranks on which the code of a compile calls other collectives than its schedule has, whether or not all ranks do."""

    function: Function
    compile_number: int
    """Which compile of the function, from 1."""
    mismatches: tuple[str, ...]
    """`wait_tensor: 1 in the schedule, 0 in the code`"""
    ranks: Ranks
    ref: str
    """The compile of the first of them."""


@frozen
class Differing:
    """Result of comparing ranks."""

    ranks: int
    """Ranks that were compared."""
    rank_kinds: int
    """Kinds of ranks: those of one did all the same."""
    agreeing_ranks: Ranks
    """Ranks that are on the first side of every difference; empty where some difference has no majority."""
    agreeing_count: int
    """How many these are."""
    differing_ranks: Ranks
    """The others; empty where there are none, or a difference has no majority."""
    compiles_per_rank: int
    """Compiles of the rank that most ranks equal."""
    functions: int
    equal_functions: int
    """Functions that do not differ."""
    count: int
    """All differences; of several functions each counts."""
    divergences: tuple[Divergence, ...]
    """The first in time first, at most `KEPT`."""
    ranks_behind: Ranks
    """Ranks that have compiled less than others and may still do so."""
    restarted: tuple[Restarted, ...] = ()
    parity: tuple[Parity, ...] = ()
    """The first in time first, at most `KEPT`."""
    is_cut: bool = False
    """Whether some rank ended in the middle: what others compiled after that it may not have come to."""
    stages: tuple[Stage, ...] = ()
    """Where ranks do different work by design, the groups within which they are compared; the one with the lowest rank first."""
    ranks_with_received_code: Ranks = Ranks()
    """Ranks that did not compile what another rank compiled under `compile_on_one_rank`: its code runs on all ranks."""

    @property
    def leading(self) -> Divergence | None:
        """Return the most important difference; None if none leads.

        Cache answers are consequences, and other pages list failed and unfinished compiles.
        """
        return next(
            (divergence for divergence in self.divergences if divergence.properties[0] not in (CACHE, FAILED, UNFINISHED)), None
        )


def differing(lanes: Sequence[Lane]) -> Differing | None:
    """Compare ranks; None for fewer than two."""
    if len(lanes) < 2:
        return None
    stages = stages_of(lanes)
    return _within(lanes, stages) if stages else _of_one_kind(lanes)


def _within(lanes: Sequence[Lane], stages: tuple[Stage, ...]) -> Differing:
    """Compare ranks within each of several stages. Different stages do different work."""
    results = [_of_one_kind(group) for group in groups_of(lanes)]
    divergences = sorted(
        (one for result in results for one in result.divergences),
        key=lambda one: (
            one.properties[0] in (CACHE, EXECUTED),
            one.properties[0] not in WIDE,
            math.inf if one.start_at_us is None else one.start_at_us,
        ),
    )
    is_parted = any(result.count and not result.agreeing_ranks for result in results)
    return Differing(
        len(lanes), sum(result.rank_kinds for result in results),
        Ranks() if is_parted else _union(result.agreeing_ranks for result in results),
        0 if is_parted else sum(result.agreeing_count for result in results),
        Ranks() if is_parted else _union(result.differing_ranks for result in results),
        max(result.compiles_per_rank for result in results), sum(result.functions for result in results),
        sum(result.equal_functions for result in results), sum(result.count for result in results), tuple(divergences[:KEPT]),
        _union(result.ranks_behind for result in results), _restarted(lanes),
        tuple(one for result in results for one in result.parity)[:KEPT], any(result.is_cut for result in results), stages,
        _union(result.ranks_with_received_code for result in results),
    )  # fmt: skip


def _union(parts: Iterable[Ranks]) -> Ranks:
    return Ranks(chain.from_iterable(parts))


def _of_one_kind(lanes: Sequence[Lane]) -> Differing:
    """Compare ranks that do the same work."""
    classes = classes_of(lanes)
    facts, behind = facts_of(classes)
    order = order_of(classes)
    divergences = _grouped(_folded(facts), order)
    codes = {code for class_ in classes for code in class_.codes}
    unlike = {fact.code for fact in facts if fact.facet not in WIDE}
    agree = _agreeing(lanes, facts)
    usual = max(classes, key=lambda class_: (len(class_.lanes), -class_.first.rank))
    return Differing(
        len(lanes), len({class_.first.course.digest for class_ in classes}), Ranks(agree), len(agree),
        Ranks(lane.rank for lane in lanes if agree and lane.rank not in agree), len(usual.first.course.steps),
        len(codes), len(codes - unlike), sum(1 if d.compile_count else 1 + len(d.other_functions) for d in divergences),
        tuple(divergences[:KEPT]), Ranks(behind), _restarted(lanes), _parities(classes, order),
        any(class_.stopped for class_ in classes), (), Ranks(ranks_in(class_ for class_ in classes if class_.receives)),
    )  # fmt: skip


def _agreeing(lanes: Sequence[Lane], facts: Sequence[Fact]) -> set[int]:
    """Return the ranks that are on the first side of every fact."""
    left = {lane.rank for lane in lanes}
    for fact in facts:
        if rank_count(fact.parts[0][1]) * 2 <= _ranks_in(fact):
            return set()
        left -= fact.outliers
    return left


def _parities(classes: Sequence[Class], order: Mapping[Key, float]) -> tuple[Parity, ...]:
    groups: dict[tuple[Key, tuple[str, ...]], list[tuple[Class, int]]] = defaultdict(list)
    for class_ in classes:
        for place, step in enumerate(class_.first.course.steps):
            if step.of(PARITY):
                groups[(step.code, step.number), class_.lines(place, PARITY)].append((class_, place))
    ordered = sorted(groups.items(), key=lambda item: (order.get(item[0][0], 0.0), item[0][1]))
    return tuple(
        Parity(
            Function(*code), number, lines, Ranks(ranks_in(class_ for class_, _ in having)),
            compile_ref(having[0][0].first, having[0][0].step(having[0][1])),
        )
        for ((code, number), lines), having in ordered[:KEPT]
    )  # fmt: skip


def _restarted(lanes: Sequence[Lane]) -> tuple[Restarted, ...]:
    groups: dict[tuple[bool, str], list[Lane]] = defaultdict(list)
    for lane in sorted(lanes, key=lambda lane: lane.rank):
        if lane.older:
            newest = lane.older[-1]
            groups[newest.at_once, newest.inside].append(lane)
    return tuple(
        Restarted(
            Ranks(lane.rank for lane in members), len(members), inside, at_once,
            members[0].older[-1].ref, members[0].older[-1].pid,
        )
        for (at_once, inside), members in sorted(groups.items(), key=lambda item: (not item[0][0], item[1][0].rank))
    )  # fmt: skip


def _folded(facts: Sequence[Fact]) -> list[tuple[Fact, tuple[str, ...]]]:
    """Return the leading fact per compile and partition of ranks, with the facets that follow from it."""
    groups: dict[Hashable, list[Fact]] = defaultdict(list)
    for fact in facts:
        apart = fact.facet if fact.facet in (*WIDE, UNFINISHED) else ""  # a traced graph does not follow from how the compile ended
        groups[fact.code, fact.number, apart, fact.partition].append(fact)
    results = []
    for group in groups.values():
        group.sort(key=lambda fact: NAMES.index(fact.facet))
        also = dict.fromkeys(facet for fact in group for facet in (fact.facet, *fact.also))
        results.append((group[0], tuple(sorted(also, key=NAMES.index))))
    return results


def _grouped(facts: Sequence[tuple[Fact, tuple[str, ...]]], order: Mapping[Key, float]) -> list[Divergence]:
    """Merge one difference of several functions on the same ranks into its first occurrence."""
    groups: dict[tuple[tuple[str, ...], Hashable], list[tuple[float, Fact]]] = defaultdict(list)
    widest: list[Fact] = []
    for fact, facets in sorted(facts, key=lambda pair: -_ranks_in(pair[0]) if pair[0].facet in WIDE else 0):
        shown = fact
        if fact.facet in WIDE:
            shown = next((wider for wider in widest if _is_within(fact, wider)), fact)
            widest += [fact] if shown is fact else []
        groups[facets, _parts(shown)].append((_place(fact, order), fact))
    results = []
    for (facets, _), occurrences in groups.items():
        # a difference of whole ranks is reported with all ranks that show it: some may lack the compile that shows it first
        is_wide = facets[0] in WIDE
        occurrences.sort(key=lambda pair: (-_ranks_in(pair[1]) if is_wide else 0, pair[0], pair[1].code[0], pair[1].number))
        first = -1.0 if is_wide else occurrences[0][0]
        divergence = _divergence([fact for _, fact in occurrences], facets)
        results.append((first, NAMES.index(facets[0]), occurrences[0][1].code[0], divergence))
    return [one for *_, one in sorted(results, key=lambda item: (*item[:3], item[3].groups[-1].ranks))]


def _parts(fact: Fact) -> Hashable:
    """Return the values of a fact with their ranks, as a grouping key.

    For facets of a whole rank, the largest side is without its ranks.
    """
    parts = [(words, ranks_in(classes)) for words, classes in fact.parts]
    if fact.facet in WIDE and len(parts[0][1]) > sum(len(ranks) for _, ranks in parts[1:]):
        parts[0] = (parts[0][0], frozenset())
    return tuple(parts)


def _is_within(fact: Fact, other: Fact) -> bool:
    """Return whether a fact about whole ranks is another one, without ranks that had ended before its compile."""
    ranks = {words: ranks_in(classes) for words, classes in other.parts}
    return fact.facet == other.facet and all(words in ranks and ranks[words] >= ranks_in(classes) for words, classes in fact.parts)


def _ranks_in(fact: Fact) -> int:
    return sum(rank_count(classes) for _, classes in fact.parts)


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
    total = _ranks_in(first)
    shown_in = len(facts) if facets[0] in WIDE else 0
    fewest = min(len(class_.codes.get(first.code, ())) for _, classes in first.parts for class_ in classes)
    sides = tuple(_side(first, words, classes, fewest) for words, classes in first.parts[:SIDES])
    functions = list(dict.fromkeys(Function(*fact.code) for fact in facts))
    return Divergence(
        sides[0].ref.rpartition(":")[2] if not shown_in else "", functions[0], tuple(functions[1:]), first.number, facets, sides,
        total > 2 and sides[0].count * 2 > total, total - sum(side.count for side in sides), shown_in, _begun(first),
    )  # fmt: skip


def _begun(fact: Fact) -> float | None:
    """Return when the compile began on a rank of the first side that has it, else of the next side."""
    if fact.facet == EXECUTED:
        return None
    for _, classes in fact.parts:
        for class_ in sorted(classes, key=lambda class_: (-len(class_.lanes), class_.first.rank)):  # as `_side` chooses
            places = class_.codes.get(fact.code)
            at = class_.first.times.begin[places[min(max(fact.number, 1), len(places)) - 1]] if places else math.nan
            if not math.isnan(at):
                return at
    return None


def _side(fact: Fact, words: str, classes: Sequence[Class], fewest: int) -> Side:
    ranks = ranks_in(classes)
    having = [class_ for class_ in classes if class_.codes.get(fact.code)]
    ref = ""
    if having:
        # a rank that differs in more may have other ids
        class_ = min(having, key=lambda class_: (-len(class_.lanes), class_.first.rank))
        places = class_.codes[fact.code]
        # where counts differ the last compile tells why there was one more
        step = class_.step(places[fact.number - 1 if fact.number else -1 if fact.facet == COUNT else 0])
        ref = compile_ref(class_.first, step)
        if fact.facet == COUNT and len(places) > fewest and (reason := class_.lines(places[-1], RECOMPILE)):
            words = f"{words}, last reason: {reason[0].strip()}"
    return Side(Ranks(ranks), len(ranks), words, ref)


ARTIFACT = "inductor_runtime_and_tensor_meta"
APART, ALIKE = 1.1, 1.01
"""Ratio of slowest to fastest estimate from which a difference is reported; ratio up to which estimates are equal."""
ESTIMATE_LIMIT = 4 << 20
"""Stored bytes of an artifact that are read."""
PIECE = 16
"""Ranks that are read without a pause."""


@frozen
class Expected:
    """A compile whose kernels are expected to take longer on some ranks."""

    function: str
    file: str | None
    """Its name, without a directory."""
    line: int | None
    compile_number: int
    """Which compile of the function, from 1."""
    count: int
    """Ranks of which the log has estimates."""
    slowest_ranks: Ranks
    """Ranks that are expected to take longest."""
    slowest_us: float
    slowest_ref: str
    """The compile of the first of them."""
    fastest_ranks: Ranks
    fastest_us: float
    fastest_ref: str


def read_expected(run: Run, lanes: Sequence[Lane]) -> Generator[None, None, tuple[Expected, ...]]:
    """Return compiles whose estimates differ by more than 10 %, the widest first; yields between steps.

    Ranks known only from an index have no estimates.
    """
    processes = {process.key: process for process in run.processes()}
    totals: dict[tuple[Code, int], list[tuple[float, int, str]]] = {}
    for number, lane in enumerate(lanes, 1):
        process = processes.get(lane.process)
        if process is not None and any(kind.name == ARTIFACT for kind in process.log.kinds):
            for compile_, code, occurrence in steps_in(process):
                if total := _total(compile_):
                    totals.setdefault((code, occurrence), []).append((total, lane.rank, str(compile_.ref)))
        if number % PIECE == 0:
            yield
    expected = [one for (code, occurrence), estimates in totals.items() if (one := _apart(code, occurrence, estimates)) is not None]
    shown = (replace(one, function=function_name(run, one.function, one.slowest_ref)) for one in expected)
    return tuple(sorted(shown, key=lambda one: round(1000 * (one.fastest_us - one.slowest_us))))


def _total(compile_: Compile) -> float:
    """Return the estimated nanoseconds of all kernels of the last attempt, forward and backward; 0 without estimates."""
    reader, log = reader_of(compile_), compile_.process.log
    last = max(compile_.attempts, default=0)
    total = 0.0
    try:
        for record, _ in records_of(compile_, (ARTIFACT,)):
            if (log.context(record).attempt or 0) >= last:
                key = reader.md5(record) or (log.key, record)
                total += shared(compile_, _total, key, partial(_sum, reader, record))
    except (Gone, Elsewhere):
        return 0.0
    return total


def _sum(reader: Reader, record: int) -> float:
    return estimates_fact(reader.payload(record, ESTIMATE_LIMIT))[1]


def _apart(code: Code, occurrence: int, estimates: Sequence[tuple[float, int, str]]) -> Expected | None:
    most, least = max(estimates)[0], min(estimates)[0]
    if most < APART * least:
        return None
    slow = sorted((rank, ref) for total, rank, ref in estimates if total * ALIKE >= most)
    fast = sorted((rank, ref) for total, rank, ref in estimates if total <= least * ALIKE)
    slowest, fastest = (_ranks(slow), most / 1000, slow[0][1]), (_ranks(fast), least / 1000, fast[0][1])
    return Expected(*code, occurrence, len(estimates), *slowest, *fastest)


def _ranks(pairs: Iterable[tuple[int, str]]) -> Ranks:
    return Ranks(rank for rank, _ in pairs)


GRAPHS_READ = 24
"""Maximum number of graph differences whose nodes are compared."""
LIMIT = 2 << 20
"""Stored bytes of a graph up to which that is done."""
PACE_LIMIT = 1_000_000
"""Compiles of all ranks together up to which who was late or slow is found out by the way: 0.5 s of CPU."""
EXCERPT = 160
"""Maximum number of characters of a code line."""
GRAPH_NAME = "dynamo_output_graph"
ARTIFACTS = {
    GRAPH: GRAPH_NAME, "guards": "dynamo_cpp_guards_str", "code": "inductor_output_code", "inputs": GRAPH_NAME,
    "collectives": "inductor_collective_schedule", "parity": "inductor_collective_schedule", "devices": GRAPH_NAME,
    "estimates": "inductor_runtime_and_tensor_meta", "settings": "compilation_metrics", "version": "compilation_metrics",
}  # fmt: skip
"""Facet → the artifact that shows it."""


def differences_of(run: Run) -> Differing | None:
    """Return the differences between the ranks of a run; None without two comparable ranks."""
    return run_steps(read_differences(run))


def read_differences(run: Run) -> Generator[None, None, Differing | None]:
    """Return the differences between ranks; yields between steps."""
    lanes = yield from _read_several(run)
    return (yield from read_between(run, lanes))


def differences_and_pace(run: Run) -> tuple[Differing | None, Pace]:
    """Return the differences and the pace of the ranks of a run; for large runs only the clock offsets."""
    lanes = run_steps(_read_several(run))
    if len(lanes) < 2:
        return None, Pace(len(lanes), (), (), (), (), ())
    differences = run_steps(read_between(run, lanes))
    lanes = with_hosts(run, lanes)
    if sum(len(lane.course.steps) for lane in lanes) <= PACE_LIMIT:
        return differences, named_pace(run, pace_of(lanes, PhasesOf(run)))
    offsets = Columns(lanes).offsets
    hosts = {lane.rank: lane.host for lane in lanes}
    off_clocks = clocks(offsets, hosts if len(set(hosts.values())) > 1 else {})
    return differences, Pace(len(lanes), off_clocks, (), (), (), (), offsets)


def _read_several(run: Run) -> Generator[None, None, Sequence[Lane]]:
    """Read the ranks of a run; none for a single rank, whose course costs time and 1 KB per compile."""
    if run.crowd is None and sum(rank.number is not None for rank in run.ranks) < 2:
        return ()
    return (yield from read_lanes(run))


def read_between(run: Run, lanes: Sequence[Lane]) -> Generator[None, None, Differing | None]:
    """Compare these lanes of a run; yields after each difference."""
    differences = differing(lanes)
    if differences is None:
        return None
    completed = []
    for number, divergence in enumerate(differences.divergences):
        completed.append(_completed(run, divergence, number < GRAPHS_READ))
        yield
    parity = tuple(
        replace(one, function=replace(one.function, name=function_name(run, one.function.name, one.ref)))
        for one in differences.parity
    )
    return replace(differences, divergences=tuple(completed), parity=parity)


def compiles_of(run: Run, divergence: Divergence) -> list[Compile | None]:
    """Return a compile of each side; None if a side has none or no node represents it."""
    return [compile_of(run, side.ref) for side in divergence.groups]


def pair_of(run: Run, divergence: Divergence) -> tuple[str, str]:
    """Return two addresses to compare: the differing artifact of the first two sides, else their compiles.

    ('', '') if either side has none.
    """
    compiles = compiles_of(run, divergence)[:2]
    refs = [side.ref for side in divergence.groups[:2]]
    if not all(refs):
        return "", ""
    name = ARTIFACTS.get(divergence.properties[0])
    if name is None or None in compiles:
        return refs[0], refs[1]
    addresses_by_side = [[*addresses(cast(Compile, compile_), (name,)).values()] for compile_ in compiles]
    if not all(addresses_by_side):
        return refs[0], refs[1]
    if name == GRAPH_NAME or len(addresses_by_side[0]) != len(addresses_by_side[1]):
        return addresses_by_side[0][-1], addresses_by_side[1][-1]
    return addresses_by_side[0][0], addresses_by_side[1][0]


def _completed(run: Run, one: Divergence, with_nodes: bool) -> Divergence:
    """Add the path of the function, and to graphs the first node that differs."""
    compiles = compiles_of(run, one)
    first = next((compile_ for compile_ in compiles if compile_ is not None), None)
    if first is not None:
        file = first.frame.code[1]
        others = tuple(_in_file(_with_name(first.process, function), file) for function in one.other_functions)
        name = display_name(first.frame) or one.function.name
        one = replace(one, function=replace(one.function, name=name, file=file), other_functions=others)
    if with_nodes and len(compiles) > 1 and compiles[0] is not None:
        if one.properties[0] == GRAPH:
            one = _with_nodes(one, compiles)
        if one.properties[0] in (GRAPH, CODE) and len({side.description for side in one.groups if one.properties[0] == GRAPH}) < 2:
            one = _with_lines(one, compiles)
    return one


def _with_nodes(divergence: Divergence, compiles: Sequence[Compile | None]) -> Divergence:
    """Add the first node in which each graph differs from the first side."""
    sides = [divergence.groups[0]]
    for side, other in zip(divergence.groups[1:], compiles[1:], strict=True):
        words = node_words(compiles[0], other) if compiles[0] is not None and other is not None else ""
        sides.append(replace(side, description=": ".join(filter(None, (side.description, words)))))
    return replace(divergence, groups=tuple(sides))


def _with_lines(divergence: Divergence, compiles: Sequence[Compile | None]) -> Divergence:
    """Add the first differing line of two texts if nothing else separates them; unchanged if unreadable."""
    name = ARTIFACTS[divergence.properties[0]]
    try:
        texts = [_compared(compile_, name) if compile_ is not None else [] for compile_ in compiles]
    except (Gone, Elsewhere):
        return divergence
    for pair in zip(*texts, strict=False):
        for number, lines in enumerate(zip(*(text.split("\n") for text in pair), strict=False), 1):
            if len(set(lines)) > 1:
                excerpts = [f"line {number}: {line.strip() or '(empty)'}"[:EXCERPT] for line in lines]
                if len(set(excerpts)) < 2:
                    return divergence
                sides = zip(divergence.groups, excerpts, strict=True)
                return replace(divergence, groups=tuple(replace(side, description=excerpt) for side, excerpt in sides))
    return divergence


def _compared(compile_: Compile, name: str) -> list[str]:
    """Return the normalized texts of an artifact, without the rank identity."""
    reader, (identity, _) = reader_of(compile_), owns_of(compile_.process, compile_.process)
    results = []
    for record, _ in records_of(compile_, (name,)):
        text = bare(reader.payload(record, LIMIT), identity).decode("utf-8", "replace")
        results.append(normalised(text, rules_for(text, identity))[0])
    return results


def _with_name(process: Process, function: Function) -> Function:
    """Return a function of a process with its display name."""
    if not is_ambiguous(function.name):
        return function
    frames = (frame for frame in process.frames.values() if frame.compiles and code_of(frame.compiles[0])[:3] == (
        function.name, function.file, function.line
    ))  # fmt: skip
    frame = next(frames, None)
    return function if frame is None else replace(function, name=display_name(frame) or function.name)


def _in_file(function: Function, file: str | None) -> Function:
    """Return a function with the path of its file, if that is the file."""
    return replace(function, file=file) if file and function.file == file.rpartition("/")[2] else function


def node_words(left: Compile, right: Compile) -> str:
    """Describe the first node in which the second graph differs, with its source line: `gelu instead of relu at model.py:88`."""
    try:
        identities = owns_of(left.process, right.process)
        a, b = (_graph(compile_, identity) for compile_, identity in zip((left, right), identities, strict=True))
    except (Gone, Elsewhere):
        return ""
    if a is None or b is None or not (a.understood and b.understood):
        return ""
    changes = node_changes(a, b).changes
    ordered = sorted(changes, key=lambda change: change.kind not in (ADDED, REMOVED, RETARGETED, RETYPED))
    if not ordered:
        return ""
    more = len(ordered) - 1
    return _words(ordered[0], a, b) + (f" and {more} more node{'s' * (more > 1)}" if more else "")


def _graph(compile_: Compile, identity: RankIdentity) -> GraphText | None:
    records = [record for record, _ in records_of(compile_, (GRAPH_NAME,))]
    if not records:
        return None
    text = reader_of(compile_).text(records[-1], LIMIT)
    return graph_text(normalised(text, own_rules(identity, text))[0])


def _words(change: NodeChange, left: GraphText, right: GraphText) -> str:
    before, after = _target(left, change.line_before), _target(right, change.line_after)
    at = _origin(right, change.line_after) or _origin(left, change.line_before)
    where = f" at {at}" if at else ""
    if change.kind == ADDED:
        return f"{after or change.name} added{where}"
    if change.kind == REMOVED:
        return f"no {before or change.name}{where}"
    if change.kind == RETARGETED:
        return f"{after} instead of {before}{where}"
    return f"{change.name} differs{where}"


def _target(graph: GraphText, line: int) -> str:
    """Return the call target of the node at a line: `aten.clone`."""
    node = next((node for node in graph.graph.nodes if node.line == line - 1), None)
    if node is None or not node.target:
        return ""
    return node.target.removeprefix("torch.ops.").removeprefix("torch.nn.functional.").removesuffix(".default")


def _origin(graph: GraphText, line: int) -> str:
    node = next((node for node in graph.graph.nodes if node.line == line - 1), None)
    if node is None or node.origin < 0:
        return ""
    origin = graph.graph.origins[node.origin]
    return f"{origin.path.rpartition('/')[2]}:{origin.place}"
