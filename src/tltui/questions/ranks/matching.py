"""Ranks matched by the content of their compiles, and the differing lines of each side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from tltui.questions.hang.open_phases import trail
from tltui.questions.ranks.compile_facets import PARTS
from tltui.questions.ranks.rank_course import FACETS, Code, Lane, Step
from tltui.text.frozen import mutable

STOPPED, UNFINISHED, MISSING, COUNT, ORDER, EXECUTED = "stopped", "unfinished", "missing", "count", "order", "executed"
BREAKS, FAILED, COLLECTIVES, DEVICES, RECOMPILE = "breaks", "failure", "collectives", "devices", "recompile"
INPUTS, GRAPH, GUARDS, CODE, PARITY, CACHE, ESTIMATES = "inputs", "graph", "guards", "code", "parity", "cache", "estimates"
VERSION, SETTINGS = "version", "settings"


class FacetWords(NamedTuple):
    """Wording of a facet."""

    difference: str
    """As the title of a difference."""
    label: str
    """In a word or two, for the matrix."""
    mark: str = ""
    """Sign of a cell of the matrix; '' for facets that have none. Unfinished compiles show their status instead."""
    noun: str = ""
    """For a facet that differs as a consequence of another one; '' for facets that never do."""
    absent: str = ""
    """For ranks without a value of it."""


WORDS = {
    VERSION: FacetWords("torch versions differ", "torch version"),
    SETTINGS: FacetWords("settings differ", "other settings"),
    STOPPED: FacetWords("some ranks stopped early", "stopped"),
    UNFINISHED: FacetWords("unfinished on some ranks", "unfinished"),
    BREAKS: FacetWords("graph breaks differ", "graph breaks", "b", "", "no break"),
    FAILED: FacetWords("failures differ", "failure", "f", "failures", "no failure"),
    COLLECTIVES: FacetWords("collectives differ", "collectives", "c", "collectives", "no collectives"),
    MISSING: FacetWords("compiled on some ranks only", "not compiled"),
    COUNT: FacetWords("compiled more times on some ranks", "only here"),
    ORDER: FacetWords("compiled in a different order on some ranks", "order", "q"),
    DEVICES: FacetWords("tensors on a device that is not the rank's own", "devices", "d", "devices", "all on its own device"),
    RECOMPILE: FacetWords("recompiled for different reasons", "recompile reasons", "r", "recompile reasons"),
    INPUTS: FacetWords("inputs differ", "inputs", "i", "inputs"),
    GRAPH: FacetWords("graphs differ", "graph", "g", "graphs"),
    GUARDS: FacetWords("guards differ", "guards", "u", "guards"),
    CODE: FacetWords("generated code differs", "code", "k", "code"),
    PARITY: FacetWords("collectives in the code do not match the schedule", "collectives in code", "p", "the code's collectives"),
    CACHE: FacetWords("cache results differ", "cache", "h", "cache results", "no result logged"),
    ESTIMATES: FacetWords("kernel outputs differ (shape, stride or dtype)", "estimates", "e", "kernel outputs"),
    EXECUTED: FacetWords("graphs ran in a different order", "order of graphs", "x", "order of graphs"),
}
NAMES = tuple(WORDS)
"""Facets of a difference, leading first: later ones on the same ranks of the same compile follow from earlier ones."""
WIDE = (VERSION, SETTINGS)
"""Facets of a whole rank: reported once for all compiles."""
WITHOUT = "without that"
"""Wording for ranks whose lines are a subset of the others' lines."""
SHOWN = 1
SHOWN_OF = dict.fromkeys((COLLECTIVES, SETTINGS, RECOMPILE, PARITY, FAILED, VERSION, GRAPH), 3)
"""Lines of a facet that are printed; of the others `SHOWN`."""
DIGITS = 8
"""Digits of a digest that are printed."""
Lines = Mapping[Hashable, Sequence[str]]
"""Value of a facet on some ranks → its lines."""


def words(facet: str, lines: Lines) -> dict[Hashable, str]:
    """Describe how each value of a facet differs from the others; '' only if no wording separates any of them."""
    if facet == CACHE:
        return {value: _answers(texts) for value, texts in lines.items()}
    if facet == CODE:
        return _code(lines)
    compared = {value: {plain: shown or plain for plain, _, shown in (line.partition("\t") for line in texts)}
                for value, texts in lines.items()}  # fmt: skip
    same = set.intersection(*(set(texts) for texts in compared.values()))
    apart = {value: [shown for plain, shown in texts.items() if plain not in same] for value, texts in compared.items()}
    if facet == INPUTS:
        apart = _inputs_apart(apart)
    descriptions = {value: _distinct_lines(facet, texts, apart[value]) for value, texts in lines.items()}
    if any(descriptions.values()):
        return {value: one or WITHOUT for value, one in descriptions.items()}
    return descriptions


def shared_inputs(lines: Lines) -> Lines:
    """Return the inputs described on all sides: ranks that did not finish lack the others."""
    sources = set.intersection(*({line.partition(": ")[0] for line in texts} for texts in lines.values()))
    return {value: [line for line in texts if line.partition(": ")[0] in sources] for value, texts in lines.items()}


def _inputs_apart(lines: Mapping[Hashable, Sequence[str]]) -> dict[Hashable, list[str]]:
    """Return only the differing properties of inputs that all ranks have."""
    inputs = {value: dict(line.split(": ", 1) for line in described if ": " in line) for value, described in lines.items()}
    results: dict[Hashable, list[str]] = {}
    for value, described in inputs.items():
        results[value] = []
        for source, properties in described.items():
            others = [set(other[source].split(PARTS)) for other in inputs.values() if source in other]
            same = set.intersection(*others) if len(others) == len(inputs) else set()
            differing = PARTS.join(part for part in properties.split(PARTS) if part not in same)
            results[value].append(f"{differing or properties} of {source}")
    return results


def _distinct_lines(facet: str, all_lines: Sequence[str], lines: Sequence[str]) -> str:
    """Describe the distinct lines of these ranks in one line."""
    if not all_lines:
        return WORDS[facet].absent
    if not lines:
        return ""
    if facet == DEVICES:
        return f"{lines[0]}{''.join(', ' + line.removeprefix('tensors on ') for line in lines[1:])}, not the rank's own device"
    shown = SHOWN_OF.get(facet, SHOWN)
    left = len(lines) - shown
    described = [line.strip() for line in lines[:shown]]
    if facet == COLLECTIVES:
        described = [f"collective {line.replace('. ', ': ', 1)}" for line in described]
    return "; ".join(described) + (f" and {left} more" if left > 0 else "")


def _answers(lines: Sequence[str]) -> str:
    """Count cache answers: `3 hits, 1 miss`; with the name of the cache if there are several."""
    if not lines:
        return WORDS[CACHE].absent
    caches: dict[str, Counter[str]] = {}
    for line in lines:
        cache, _, state = line.rpartition(" ")
        caches.setdefault(cache, Counter())[state] += 1
    summaries = {cache: ", ".join(_count(state, n) for state, n in sorted(caches[cache].items())) for cache in sorted(caches)}
    return "; ".join(f"{cache}: {summary}" if len(summaries) > 1 else summary for cache, summary in summaries.items())


def _count(state: str, count: int) -> str:
    return f"{count} {state}" if count == 1 else f"{count} {state}{'es' if state.endswith('s') else 's'}"


def _code(lines: Lines) -> dict[Hashable, str]:
    """Describe codes by graph count; with equal counts, by the digest of the first difference."""
    counts = {value: len(digests) for value, digests in lines.items()}
    if len(set(counts.values())) > 1:
        return {value: f"code of {count} graph{'s' * (count != 1)}" if count else "no code" for value, count in counts.items()}
    rows = list(zip(*lines.values(), strict=True))
    first = next((n for n, row in enumerate(rows) if len(set(row)) > 1), 0)
    of = f" of graph {first + 1}" if len(rows) > 1 else ""
    return {value: f"code {digests[first][:DIGITS]}{of}" if digests else "" for value, digests in lines.items()}


CHAIN = tuple(name for name in NAMES if name in FACETS and name not in WIDE)
GROWING = frozenset((COLLECTIVES, CODE, CACHE, ESTIMATES))
"""Facets that backward compiles extend: live logs are compared up to the shorter one."""
EARLY = frozenset((INPUTS, GRAPH))
"""Facets that Dynamo logs after tracing: known of unfinished compiles, and often their cause."""
RESUMES = "torch_dynamo_resume_in_"
ONE_RANK = "compile_on_one_rank true"
"""The line of this setting."""
Key = tuple[Code, int]


@mutable(eq=False)
class Class:
    """Ranks with the same course that are at the same point."""

    lanes: list[Lane]
    codes: dict[Code, list[int]] = field(default_factory=dict)
    """Places of the compiles of each code object, in the order of the first ones."""
    stopped: bool = False
    """Whether it ended while the others went on: what it lacks after that is no news."""
    receives: bool = False
    """Whether it lacks compiles of others that `compile_on_one_rank` was set for: it may run the code that they compiled."""

    @property
    def first(self) -> Lane:
        return self.lanes[0]

    @property
    def ended(self) -> bool:
        return self.first.ended

    def step(self, place: int) -> Step:
        return self.first.course.steps[place]

    def is_over(self, place: int) -> bool:
        """Return whether a compile ended. Only traces record that; for other inputs the logged parts are compared."""
        return bool(self.step(place).of("end")) if self.first.is_traced else self.ended

    def lines(self, place: int, facet: str) -> tuple[str, ...]:
        """Return the text lines of a facet."""
        text = self.first.course.texts.get(self.step(place).of(facet), "")
        return tuple(text.split("\n")) if text else ()


@mutable
class Fact:
    """Partition of ranks by the value of a facet."""

    code: Code
    number: int
    """Which compile of the code object, from 1; 0: all of them."""
    facet: str
    parts: tuple[tuple[str, tuple[Class, ...]], ...]
    """(what is said of them, ranks), the most first."""
    also: list[str] = field(default_factory=list)
    """Facets that differ with it."""

    @property
    def partition(self) -> frozenset[frozenset[int]]:
        return frozenset(ranks_in(classes) for _, classes in self.parts)

    @property
    def outliers(self) -> frozenset[int]:
        """Ranks that are not on the first side."""
        return frozenset().union(*(ranks_in(classes) for _, classes in self.parts[1:]))


def classes_of(lanes: Iterable[Lane]) -> list[Class]:
    """Group ranks with the same course, the class with the lowest rank first."""
    classes: dict[Hashable, Class] = {}
    for lane in sorted(lanes, key=lambda lane: lane.rank):
        key = (lane.course.digest, lane.ended, lane.is_traced, lane.inside)
        if (class_ := classes.get(key)) is not None:
            class_.lanes.append(lane)
            continue
        class_ = classes[key] = Class([lane])
        for place, step in enumerate(lane.course.steps):
            class_.codes.setdefault(step.code, []).append(place)
    return list(classes.values())


def facts_of(classes: Sequence[Class]) -> tuple[list[Fact], set[int]]:
    """Return the differences, unordered, and the ranks that may still catch up with the others."""
    behind: set[int] = set()
    facts = _stops(classes)
    for code in dict.fromkeys(code for class_ in classes for code in class_.codes):
        facts += _counts(code, classes, behind)
        facts += _compiles(code, classes)
    facts += _order(classes)
    facts += _executed(classes)
    return _without_following(facts), behind


def ranks_in(classes: Iterable[Class]) -> frozenset[int]:
    """Return the ranks in some classes."""
    return frozenset(lane.rank for class_ in classes for lane in class_.lanes)


def order_of(classes: Sequence[Class]) -> dict[Key, float]:
    """Return the position of each compile in the usual course; unusual compiles follow their predecessor elsewhere."""
    order: dict[Key, float] = {}
    for class_ in sorted(classes, key=lambda class_: (-len(class_.lanes), -len(class_.first.course.steps), class_.first.rank)):
        is_usual, before = not order, -1.0
        for place, step in enumerate(class_.first.course.steps):
            key = (step.code, step.number)
            before = order.setdefault(key, float(place) if is_usual else before + 0.5)
    return order


def rank_count(classes: Iterable[Class]) -> int:
    """Return the number of ranks in some classes."""
    return sum(len(class_.lanes) for class_ in classes)


def _usual(values: Mapping[Class, Hashable]) -> Hashable:
    """Return the value of the most ranks."""
    counts: Counter[Hashable] = Counter()
    for class_, value in values.items():
        counts[value] += len(class_.lanes)
    return max(counts, key=lambda value: counts[value], default=None)  # on a tie the first: that of the lowest rank


def _parted(
    code: Code, number: int, facet: str, values: Mapping[Class, Hashable], describe: Callable[[Hashable, Class], str]
) -> list[Fact]:
    """Return the fact that these ranks differ, if they do."""
    groups: dict[Hashable, list[Class]] = defaultdict(list)
    for class_, value in values.items():
        groups[value].append(class_)
    if len(groups) < 2:
        return []
    ordered = sorted(groups.items(), key=lambda item: (-rank_count(item[1]), min(class_.first.rank for class_ in item[1])))
    return [Fact(code, number, facet, tuple((describe(value, classes[0]), tuple(classes)) for value, classes in ordered))]


def _value_text(value: Hashable, _: Class) -> str:
    return str(value)


def _stops(classes: Sequence[Class]) -> list[Fact]:
    """Return ranks that ended before the others; the compiles that they lack follow from that.

    If a rank ended within a compile, the fact names the compile.
    """
    sequences = {class_: tuple(class_.codes) for class_ in classes}
    usual = _usual(sequences)
    assert isinstance(usual, tuple)
    last: dict[Code, dict[Class, str]] = defaultdict(dict)
    for class_, codes in sequences.items():
        if class_.ended and not all(map(class_.is_over, range(len(class_.first.course.steps)))):
            class_.stopped = True
        elif class_.ended and codes and len(codes) + 1 < len(usual) and codes == usual[: len(codes)]:
            class_.stopped = True
            last[codes[-1]][class_] = f"stopped after this function, {len(usual) - len(codes)} before the others"
    if any(class_.stopped for class_ in classes):  # the job was ended: ranks with a part of the others' compiles got no further
        keys = {class_: [(step.code, step.number) for step in class_.first.course.steps] for class_ in classes}
        longest = max(keys.values(), key=len)
        for class_, mine in keys.items():
            class_.stopped |= class_.ended and 0 < len(mine) < len(longest) and mine == longest[: len(mine)]
    results = []
    for code, stopped in last.items():
        results += _parted(
            code, 0, STOPPED, {c: stopped.get(c, "continued") for c in classes if c in stopped or not c.stopped}, _value_text
        )
    return results


def _counts(code: Code, classes: Sequence[Class], behind: set[int]) -> list[Fact]:
    """Compare the number of compiles of a function."""
    counts = {class_: len(class_.codes.get(code, ())) for class_ in classes}
    most = max(counts.values())
    if all(count == most for count in counts.values()):
        return []
    late = {class_ for class_, count in counts.items() if count < most and not class_.ended}
    behind |= ranks_in(late)
    if any(_is_for_all(class_, class_.codes[code][-1]) for class_, count in counts.items() if count == most):
        for class_, count in counts.items():
            class_.receives = class_.receives or count < most
    values: dict[Class, Hashable] = {
        c: n for c, n in counts.items() if c not in late and not ((c.stopped or c.receives) and n < most)
    }  # fmt: skip
    facts = []
    if 0 in values.values():
        facts = _parted(code, 0, MISSING, {c: bool(n) for c, n in values.items()}, lambda n, _: "compiled" if n else "not compiled")
    compiled = {class_: count for class_, count in values.items() if count}
    return facts + _parted(code, 0, COUNT, compiled, lambda n, _: "1 compile" if n == 1 else f"{n} compiles")


def _is_for_all(class_: Class, place: int) -> bool:
    """Return whether a compile ran under `torch.compiler.config.compile_on_one_rank`.

    With it (`TORCH_COMPILE_ON_ONE_RANK`, since torch 2.14) a graph compiled by one rank runs on all
    (torch/compiler/config.py). The metrics record the configuration.
    """
    return ONE_RANK in class_.lines(place, SETTINGS)


def _compiles(code: Code, classes: Sequence[Class]) -> list[Fact]:
    """Compare the compiles of a function by number: the first of each rank, then the second."""
    facts: list[Fact] = []
    owned = {class_: places for class_ in classes if (places := class_.codes.get(code))}
    usual, is_cut = _usual({class_: len(places) for class_, places in owned.items()}), any(class_.stopped for class_ in classes)
    shifted = {class_ for class_, places in owned.items() if len(places) != usual}
    usual_places = [(class_, place) for class_ in owned if shifted and class_ not in shifted for place in owned[class_]]
    for n in range(max(map(len, owned.values()))):
        members = {class_: places[n] for class_, places in owned.items() if n < len(places)}
        if len(members) > 1:
            facts += _compared((code, n + 1), members, shifted, usual_places, is_cut)
    return facts


def _compared(
    key: Key, members: Mapping[Class, int], shifted: set[Class], usual_places: Sequence[tuple[Class, int]], is_cut: bool
) -> Iterator[Fact]:
    """Yield the differences between compiles of one function, one compile per rank.

    `shifted`: ranks with an unusual number of compiles; a value that the usual ranks have in another compile (`usual_places`) only
    moved. `is_cut`: some rank ended early.
    """
    done = {class_: place for class_, place in members.items() if class_.is_over(place)}
    over = {class_: class_.is_over(place) for class_, place in members.items() if class_.ended or class_ in done}
    yield from _parted(*key, UNFINISHED, over, _end_words)
    traced = {class_: place for class_, place in members.items() if over.get(class_) is False and class_.step(place).of(GRAPH)}
    if len({class_.step(place).facets for class_, place in (done | traced).items()}) < 2:
        return
    for facet in WIDE:
        digests = {class_: digest for class_, place in done.items() if (digest := class_.step(place).of(facet))}
        yield from _with_lines(key, facet, done, digests)
    yield from _chain(key, done, traced, shifted & (done | traced).keys(), usual_places, is_cut)


def _end_words(end: Hashable, class_: Class) -> str:
    if end:
        return "finished"
    return f"unfinished, in {trail(class_.first.inside)}" if class_.first.inside else "unfinished"


def _chain(
    key: Key, done: dict[Class, int], traced: dict[Class, int], shifted: set[Class], usual_places: Sequence[tuple[Class, int]],
    is_cut: bool,
) -> list[Fact]:
    """Compare facet by facet, without differences that follow from earlier ones.

    `traced`: unfinished compiles with known `EARLY` facets; in other facets they count as usual.
    """
    facts: list[Fact] = []
    places = done | traced
    earlier: dict[Class, tuple[Hashable, ...]] = dict.fromkeys(places, ())
    goes_on = not all(class_.ended for class_ in done)
    for facet in CHAIN:
        values = _inputs(places) if facet == INPUTS else _values(places if facet in EARLY else done, facet, goes_on)
        if is_cut and facet in GROWING and values:
            values = _as_far(values, facet, done)
        if shifted and len(set(values.values())) > 1:
            usual = {class_.step(place).of(facet) for class_, place in usual_places}
            moved = {class_ for class_ in shifted & values.keys() if class_.step(places[class_]).of(facet) in usual}
            values = {class_: value for class_, value in values.items() if class_ not in moved}
        if len(set(values.values())) < 2:
            continue
        groups: dict[Hashable, dict[Class, Hashable]] = defaultdict(dict)
        for class_, value in values.items():
            groups[earlier[class_]][class_] = value
        fresh = [fact for group in groups.values() for fact in _with_lines(key, facet, places, group)]
        for fact in facts:
            if len({_usual({class_: values[class_] for class_ in classes if class_ in values}) for _, classes in fact.parts}) > 1:
                fact.also.append(facet)
        facts += fresh
        common = _usual(values)
        for class_ in places:
            earlier[class_] += (values.get(class_, None if class_ in done or facet in EARLY else common),)
    return facts


def _values(done: Mapping[Class, int], facet: str, goes_on: bool) -> dict[Class, Hashable]:
    if goes_on and facet in GROWING:
        lines = {class_: class_.lines(place, facet) for class_, place in done.items()}
        least = min(map(len, lines.values()))
        return {class_: class_lines[:least] for class_, class_lines in lines.items()}
    if goes_on and facet in (FAILED, PARITY):  # a backward comes later, and its code before its schedule
        return {class_: class_.step(place).of("end") if facet == FAILED else b"" for class_, place in done.items()}
    if facet == CACHE:  # the order of lookups is no difference
        return {class_: tuple(sorted(class_.lines(place, facet))) for class_, place in done.items()}
    return {class_: class_.step(place).of(facet) for class_, place in done.items()}


def _as_far(values: dict[Class, Hashable], facet: str, places: Mapping[Class, int]) -> dict[Class, Hashable]:
    """Treat a prefix of the usual value, or a continuation of it, as the usual value.

    For jobs that did not end by themselves: unfinished ranks had not reached the remainder. Fewer cache answers are expected
    only with less code.
    """
    usual = _usual(values)
    typical = next(class_ for class_, value in values.items() if value == usual)
    theirs, codes = typical.lines(places[typical], facet), len(typical.lines(places[typical], CODE))
    results = dict(values)
    for class_ in values:
        mine, more = class_.lines(places[class_], facet), len(class_.lines(places[class_], CODE)) - codes
        least = min(len(mine), len(theirs))
        is_far = facet != CACHE or (len(mine) - len(theirs)) * more > 0
        if least and is_far and mine[:least] == theirs[:least]:
            results[class_] = usual
    return results


def _with_lines(key: Key, facet: str, places: Mapping[Class, int], values: Mapping[Class, Hashable]) -> list[Fact]:
    """Return the fact that values differ, with the differing lines."""
    if len(set(values.values())) < 2:
        return []
    lines: dict[Hashable, Sequence[str]] = {}
    for class_ in sorted(values, key=lambda class_: not class_.is_over(places[class_])):  # finished compiles first
        lines.setdefault(values[class_], class_.lines(places[class_], facet))
    if facet == GUARDS and _differ_in_rank_number(values, lines):
        return []
    is_partial = facet == INPUTS and any(_is_partial(class_, places[class_]) for class_ in values)
    descriptions = words(facet, shared_inputs(lines) if is_partial else lines)
    return _parted(*key, facet, values, lambda value, _: descriptions[value])


def _is_partial(class_: Class, place: int) -> bool:
    """Return whether a compile may have inputs that its log does not describe, or not yet."""
    return not class_.ended or not class_.is_over(place)


def _inputs(places: Mapping[Class, int]) -> dict[Class, Hashable]:
    """Return the inputs of a compile.

    An unfinished compile counts as usual if the usual inputs include all its described inputs.
    """
    results: dict[Class, Hashable] = {class_: class_.step(place).of(INPUTS) for class_, place in places.items()}
    partial = [class_ for class_, place in places.items() if _is_partial(class_, place)]
    if not partial or len(set(results.values())) < 2:
        return results
    described = {class_: set(class_.lines(place, INPUTS)) for class_, place in places.items()}
    likely = sorted(places, key=lambda class_: (class_ in partial, -len(described[class_]), -len(class_.lanes), class_.first.rank))
    for class_ in partial:
        sources = {line.partition(": ")[0] for line in described[class_]}
        for other in likely:
            theirs = {line.partition(": ")[0] for line in described[other]}
            if all(line.partition(": ")[0] not in sources & theirs for line in described[class_] ^ described[other]):
                results[class_] = results[other]
                break
    return results


def _differ_in_rank_number(values: Mapping[Class, Hashable], lines: Mapping[Hashable, Sequence[str]]) -> bool:
    """Return whether guards differ only in comparisons with the rank's number."""
    plain = set()
    same = set.intersection(*(set(texts) for texts in lines.values()))
    for class_, value in values.items():
        apart = [line for line in lines[value] if line not in same]
        number = f" == {class_.first.rank}"
        if len(class_.lanes) > 1 or not apart or not all(line.endswith(number) for line in apart):
            return False
        plain.add(tuple(line.removesuffix(number) for line in apart))
    return len(plain) == 1


def _order(classes: Sequence[Class]) -> list[Fact]:
    """Return ranks with an unusual compile order, with the first function out of order."""
    sequences = {class_: tuple(class_.codes) for class_ in classes}
    usual = _usual(sequences)
    assert isinstance(usual, tuple)
    places = set(usual)
    firsts: dict[tuple[Code, Code], dict[Class, str]] = defaultdict(dict)
    for class_, codes in sequences.items():
        mine = [code for code in codes if code in places]
        theirs = [code for code in usual if code in class_.codes] if codes != usual else mine
        if mine != theirs:
            a, b = next((a, b) for a, b in zip(theirs, mine, strict=True) if a != b)
            firsts[a, b][class_] = f"after {b[0]}"
    moved = {class_ for late in firsts.values() for class_ in late}
    results = []
    for (a, b), late in firsts.items():
        have = [c for c in classes if c in late or (c not in moved and a in c.codes and b in c.codes)]
        results += _parted(a, 0, ORDER, {c: late.get(c, f"before {b[0]}") for c in have}, _value_text)
    return results


def _executed(classes: Sequence[Class]) -> list[Fact]:
    """Return ranks with an unusual execution order of common graphs, with the first one out of order."""
    ran = {
        class_: tuple((class_.step(n).code, class_.step(n).number) for n in class_.first.course.executed)
        for class_ in classes
        if class_.first.course.executed
    }
    if len(set(ran.values())) < 2:
        return []
    usual = _usual(ran)
    assert isinstance(usual, tuple)
    places = set(usual)
    firsts: dict[tuple[Code, str, str], list[Class]] = defaultdict(list)
    for class_, keys in ran.items():
        mine = [key for key in keys if key in places]
        theirs = [key for key in usual if key in class_.first.course.places]
        if mine == theirs or not theirs:
            continue
        n = next((n for n, (a, b) in enumerate(zip(theirs, mine, strict=False)) if a != b), min(len(mine), len(theirs)))
        actual, expected = (_compile_name(keys_[n]) if n < len(keys_) else "nothing more" for keys_ in (mine, theirs))
        code, graph = theirs[min(n, len(theirs) - 1)][0], f"graph {n + 1}"
        firsts[code, f"ran {actual} as {graph}", f"ran {expected} as {graph}"].append(class_)
    others = {class_ for late in firsts.values() for class_ in late}
    results = []
    for (code, actual, expected), late in firsts.items():
        values = {class_: actual if class_ in late else expected for class_ in ran if class_ in late or class_ not in others}
        results += _parted(code, 0, EXECUTED, values, _value_text)
    return results


def _compile_name(key: Key) -> str:
    """`f`, of a further compile of it `f (compile 2)`"""
    (name, _, _), number = key
    return name if number == 1 else f"{name} (compile {number})"


def _without_following(facts: list[Fact]) -> list[Fact]:
    """Remove consequences: compiles after a graph break, and execution order after compile order."""
    broken = {(fact.code[:2], fact.partition) for fact in facts if fact.facet == BREAKS}
    present = [fact for fact in facts if fact.facet in (BREAKS, MISSING, COUNT, ORDER)]

    def follows(fact: Fact) -> bool:
        if fact.facet == EXECUTED:
            earlier = [cause for cause in present if cause.outliers & fact.outliers]
            covering = [cause for cause in earlier if cause.outliers >= fact.outliers]  # else each explains some of the ranks
            for cause in covering or earlier:
                cause.also.append(EXECUTED)
            return fact.outliers <= frozenset(rank for cause in earlier for rank in cause.outliers)
        name = fact.code[0]
        if fact.facet != MISSING or not name.startswith(RESUMES):
            return False
        before = name.removeprefix(RESUMES).rpartition("_at_")[0]
        return ((before, fact.code[1]), fact.partition) in broken

    return [fact for fact in facts if not follows(fact)]
