"""Ranks matched by the content of their compiles, and the differing lines of each side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.questions.hang.open_phases import trail
from tltui.questions.ranks.facet_texts import PARTS
from tltui.questions.ranks.rank_course import FACETS, Code, Lane, Step

BREAK_FACET, FAILED_FACET, COLLECTIVE_FACET, DEVICE_FACET = "breaks", "failure", "collectives", "devices"
INPUT_FACET, GUARD_FACET, CODE_FACET, CACHE_FACET, ESTIMATE_FACET = "inputs", "guards", "code", "cache", "estimates"
NOTHING = {BREAK_FACET: "no break", FAILED_FACET: "no failure", DEVICE_FACET: "all on its own device",
           COLLECTIVE_FACET: "no collectives",
           CACHE_FACET: "no answer logged"}  # fmt: skip
"""Wording for ranks without a value of a facet."""
WITHOUT = "without that"
"""Wording for ranks whose lines are a subset of the others' lines."""
SHOWN = 1
SHOWN_OF = {COLLECTIVE_FACET: 3, "settings": 3, "recompile": 3, "parity": 3, FAILED_FACET: 3, "version": 3, "graph": 3}
"""Lines of a facet that are printed; of the others `SHOWN`."""
DIGITS = 8
"""Digits of a digest that are printed."""
Lines = Mapping[Hashable, Sequence[str]]
"""Value of a facet on some ranks → its lines."""


def words(facet: str, lines: Lines) -> dict[Hashable, str]:
    """Describe how each value of a facet differs from the others; '' only if no wording separates any of them."""
    if facet == CACHE_FACET:
        return {value: _answers(own) for value, own in lines.items()}
    if facet == CODE_FACET:
        return _code(lines)
    compared = {value: {line.partition("\t")[0]: line.partition("\t")[2] or line for line in own} for value, own in lines.items()}
    same = set.intersection(*(set(own) for own in compared.values()))
    apart = {value: [shown for plain, shown in own.items() if plain not in same] for value, own in compared.items()}
    if facet == INPUT_FACET:
        apart = _inputs_apart(apart)
    said = {value: _distinct_lines(facet, own, apart[value]) for value, own in lines.items()}
    if any(said.values()):
        return {value: one or WITHOUT for value, one in said.items()}
    return said


def shared_inputs(lines: Lines) -> Lines:
    """Return the inputs described on all sides: ranks that did not finish lack the others."""
    sources = set.intersection(*({line.partition(": ")[0] for line in own} for own in lines.values()))
    return {value: [line for line in own if line.partition(": ")[0] in sources] for value, own in lines.items()}


def _inputs_apart(lines: Mapping[Hashable, Sequence[str]]) -> dict[Hashable, list[str]]:
    """Return only the differing properties of inputs that all ranks have."""
    inputs = {value: dict(line.split(": ", 1) for line in own if ": " in line) for value, own in lines.items()}
    results: dict[Hashable, list[str]] = {}
    for value, own in inputs.items():
        results[value] = []
        for source, what in own.items():
            others = [set(other[source].split(PARTS)) for other in inputs.values() if source in other]
            same = set.intersection(*others) if len(others) == len(inputs) else set()
            results[value].append(f"{PARTS.join(part for part in what.split(PARTS) if part not in same) or what} of {source}")
    return results


def _distinct_lines(facet: str, told: Sequence[str], lines: Sequence[str]) -> str:
    """Describe the distinct lines of these ranks in one line."""
    if not told:
        return NOTHING.get(facet, "")
    if not lines:
        return ""
    if facet == DEVICE_FACET:
        return f"{lines[0]}{''.join(', ' + line.removeprefix('tensors on ') for line in lines[1:])}, not its own device"
    shown = SHOWN_OF.get(facet, SHOWN)
    left = len(lines) - shown
    return "; ".join(line.strip() for line in lines[:shown]) + (f" and {left} more" if left > 0 else "")


def _answers(lines: Sequence[str]) -> str:
    """Count cache answers: `3 hits, 1 miss`; with the name of the cache if there are several."""
    if not lines:
        return NOTHING[CACHE_FACET]
    caches: dict[str, Counter[str]] = {}
    for line in lines:
        cache, _, state = line.rpartition(" ")
        caches.setdefault(cache, Counter())[state] += 1
    told = {cache: ", ".join(_count(state, n) for state, n in sorted(own.items())) for cache, own in sorted(caches.items())}
    return "; ".join(f"{cache}: {said}" for cache, said in told.items()) if len(told) > 1 else next(iter(told.values()))


def _count(state: str, count: int) -> str:
    return f"{count} {state}" if count == 1 else f"{count} {state}{'es' if state.endswith('s') else 's'}"


def _code(lines: Lines) -> dict[Hashable, str]:
    """Describe codes by graph count; with equal counts, by the digest of the first difference."""
    counts = {value: len(own) for value, own in lines.items()}
    if len(set(counts.values())) > 1:
        return {value: f"code of {count} graph{'s' * (count != 1)}" if count else "no code" for value, count in counts.items()}
    rows = list(zip(*lines.values(), strict=True))
    first = next((n for n, row in enumerate(rows) if len(set(row)) > 1), 0)
    of = f" of graph {first + 1}" if len(rows) > 1 else ""
    return {value: f"code {own[first][:DIGITS]}{of}" if own else "" for value, own in lines.items()}


STOPPED, UNFINISHED, MISSING, COUNT, ORDER, EXECUTED = "stopped", "unfinished", "missing", "count", "order", "executed"
BREAKS, FAILED, COLLECTIVES, DEVICES, RECOMPILE = "breaks", "failure", "collectives", "devices", "recompile"
INPUTS, GRAPH, GUARDS, CODE, PARITY, CACHE, ESTIMATES = "inputs", "graph", "guards", "code", "parity", "cache", "estimates"
VERSION, SETTINGS = "version", "settings"
WIDE = (VERSION, SETTINGS)
"""Facets of a whole rank: reported once for all compiles."""
NAMES = (
    VERSION, SETTINGS, STOPPED, UNFINISHED, BREAKS, FAILED, COLLECTIVES, MISSING, COUNT, ORDER, DEVICES, RECOMPILE, INPUTS, GRAPH,
    GUARDS, CODE, PARITY, CACHE, ESTIMATES, EXECUTED,
)  # fmt: skip
"""Facets of a difference, leading first: later ones on the same ranks of the same compile follow from earlier ones."""
CHAIN = tuple(name for name in NAMES if name in FACETS and name not in WIDE)
GROWING = frozenset((COLLECTIVES, CODE, CACHE, ESTIMATES))
"""Facets that backward compiles extend: live logs are compared up to the shorter one."""
EARLY = frozenset((INPUTS, GRAPH))
"""Facets that Dynamo logs after tracing: known of unfinished compiles, and often their cause."""
RESUMES = "torch_dynamo_resume_in_"
ONE_RANK = "compile_on_one_rank true"
"""The line of this setting."""
Key = tuple[Code, int]


@dataclass(eq=False, slots=True)
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
        said = self.first.course.said.get(self.step(place).of(facet), "")
        return tuple(said.split("\n")) if said else ()


@dataclass(slots=True)
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
        return frozenset(frozenset(lane.rank for class_ in classes for lane in class_.lanes) for _, classes in self.parts)

    @property
    def outliers(self) -> frozenset[int]:
        """Ranks that are not on the first side."""
        return frozenset(lane.rank for _, classes in self.parts[1:] for class_ in classes for lane in class_.lanes)


def classes_of(lanes: Iterable[Lane]) -> list[Class]:
    """Ranks that did the same together, the one with the lowest number first."""
    found: dict[Hashable, Class] = {}
    for lane in sorted(lanes, key=lambda lane: lane.rank):
        key = (lane.course.digest, lane.ended, lane.is_traced, lane.inside)
        if (own := found.get(key)) is not None:
            own.lanes.append(lane)
            continue
        own = found[key] = Class([lane])
        for place, step in enumerate(lane.course.steps):
            own.codes.setdefault(step.code, []).append(place)
    return list(found.values())


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


def order_of(classes: Sequence[Class]) -> dict[Key, float]:
    """Return the position of each compile in the usual course; unusual compiles follow their predecessor elsewhere."""
    order: dict[Key, float] = {}
    for own in sorted(classes, key=lambda own: (-len(own.lanes), -len(own.first.course.steps), own.first.rank)):
        is_usual, before = not order, -1.0
        for place, step in enumerate(own.first.course.steps):
            key = (step.code, step.number)
            before = order.setdefault(key, float(place) if is_usual else before + 0.5)
    return order


def _size(classes: Iterable[Class]) -> int:
    return sum(len(class_.lanes) for class_ in classes)


def _usual(values: Mapping[Class, Hashable]) -> Hashable:
    """Return the value of the most ranks."""
    counts: Counter[Hashable] = Counter()
    for own, value in values.items():
        counts[value] += len(own.lanes)
    return max(counts, key=lambda value: counts[value], default=None)  # of equal ones the first, that of the lowest rank


def _parted(
    code: Code, number: int, facet: str, values: Mapping[Class, Hashable], said: Callable[[Hashable, Class], str]
) -> list[Fact]:
    """Return the fact that these ranks differ, if they do."""
    found: dict[Hashable, list[Class]] = defaultdict(list)
    for own, value in values.items():
        found[value].append(own)
    if len(found) < 2:
        return []
    ordered = sorted(found.items(), key=lambda item: (-_size(item[1]), min(own.first.rank for own in item[1])))
    return [Fact(code, number, facet, tuple((said(value, own[0]), tuple(own)) for value, own in ordered))]


def _text(value: Hashable, _: Class) -> str:
    return str(value)


def _stops(classes: Sequence[Class]) -> list[Fact]:
    """Return ranks that ended before the others; the compiles that they lack follow from that.

    If a rank ended within a compile, the fact names the compile.
    """
    sequences = {own: tuple(own.codes) for own in classes}
    usual = _usual(sequences)
    assert isinstance(usual, tuple)
    last: dict[Code, dict[Class, str]] = defaultdict(dict)
    for own, codes in sequences.items():
        if own.ended and not all(map(own.is_over, range(len(own.first.course.steps)))):
            own.stopped = True
        elif own.ended and codes and len(codes) + 1 < len(usual) and codes == usual[: len(codes)]:
            own.stopped = True
            last[codes[-1]][own] = f"stopped after it, {len(usual) - len(codes)} functions before the others"
    if any(own.stopped for own in classes):  # the job did not end by itself: who did a part of what others did had not come further
        keys = {own: [(step.code, step.number) for step in own.first.course.steps] for own in classes}
        longest = max(keys.values(), key=len)
        for own, mine in keys.items():
            own.stopped = own.stopped or (own.ended and bool(mine) and mine == longest[: len(mine)] and len(mine) < len(longest))
    results = []
    for code, stopped in last.items():
        results += _parted(
            code, 0, STOPPED, {c: stopped.get(c, "went on") for c in classes if c in stopped or not c.stopped}, _text
        )
    return results


def _counts(code: Code, classes: Sequence[Class], behind: set[int]) -> list[Fact]:
    """Compare the number of compiles of a function."""
    counts = {own: len(own.codes.get(code, ())) for own in classes}
    most = max(counts.values())
    if all(count == most for count in counts.values()):
        return []
    late = {own for own, count in counts.items() if count < most and not own.ended}
    behind.update(lane.rank for own in late for lane in own.lanes)
    if any(_is_for_all(own, own.codes[code][-1]) for own, count in counts.items() if count == most):
        for own, count in counts.items():
            own.receives = own.receives or count < most
    values: dict[Class, Hashable] = {
        c: n for c, n in counts.items() if c not in late and not ((c.stopped or c.receives) and n < most)
    }  # fmt: skip
    found = []
    if 0 in values.values():
        found = _parted(code, 0, MISSING, {c: bool(n) for c, n in values.items()}, lambda n, _: "compiled" if n else "not compiled")
    compiled = {own: count for own, count in values.items() if count}
    return found + _parted(code, 0, COUNT, compiled, lambda n, _: "1 compile" if n == 1 else f"{n} compiles")


def _is_for_all(class_: Class, place: int) -> bool:
    """Return whether a compile ran under `torch.compiler.config.compile_on_one_rank`.

    With it (`TORCH_COMPILE_ON_ONE_RANK`, since torch 2.14) a graph compiled by one rank runs on all
    (torch/compiler/config.py). The metrics record the configuration.
    """
    return ONE_RANK in class_.lines(place, SETTINGS)


def _compiles(code: Code, classes: Sequence[Class]) -> list[Fact]:
    """Compare the compiles of a function by number: the first of each rank, then the second."""
    facts: list[Fact] = []
    owned = {own: places for own in classes if (places := own.codes.get(code))}
    usual, is_cut = _usual({own: len(places) for own, places in owned.items()}), any(own.stopped for own in classes)
    shifted = {own for own, places in owned.items() if len(places) != usual}
    for n in range(max(map(len, owned.values()))):
        members = {own: places[n] for own, places in owned.items() if n < len(places)}
        if len(members) > 1:
            known = [(own, place) for own, places in owned.items() if own not in shifted for place in places] if shifted else []
            facts += _compared((code, n + 1), members, shifted, known, is_cut)
    return facts


def _compared(
    key: Key, members: Mapping[Class, int], shifted: set[Class], known: Sequence[tuple[Class, int]], is_cut: bool
) -> Iterator[Fact]:
    """Yield the differences between compiles of one function, one compile per rank.

    `shifted`: ranks with an unusual number of compiles; a value that the usual ranks have in another compile (`known`) only
    moved. `is_cut`: some rank ended early.
    """
    done = {own: place for own, place in members.items() if own.is_over(place)}
    over = {own: own.is_over(place) for own, place in members.items() if own.ended or own in done}
    yield from _parted(*key, UNFINISHED, over, _said_end)
    traced = {own: place for own, place in members.items() if over.get(own) is False and own.step(place).of(GRAPH)}
    if len({own.step(place).facets for own, place in (done | traced).items()}) < 2:
        return
    for facet in WIDE:
        told = {own: digest for own, place in done.items() if (digest := own.step(place).of(facet))}
        yield from _with_lines(key, facet, done, told)
    yield from _chain(key, done, traced, shifted & (done | traced).keys(), known, is_cut)


def _said_end(end: Hashable, class_: Class) -> str:
    if end:
        return "finished"
    return f"not finished, in {trail(class_.first.inside)}" if class_.first.inside else "not finished"


def _chain(
    key: Key, done: dict[Class, int], traced: dict[Class, int], shifted: set[Class], known: Sequence[tuple[Class, int]],
    is_cut: bool,
) -> list[Fact]:
    """Compare facet by facet, without differences that follow from earlier ones.

    `traced`: unfinished compiles with known `EARLY` facets; in other facets they count as usual.
    """
    facts: list[Fact] = []
    places = done | traced
    told: dict[Class, tuple[Hashable, ...]] = dict.fromkeys(places, ())
    goes_on = not all(own.ended for own in done)
    for facet in CHAIN:
        values = _inputs(places) if facet == INPUTS else _values(places if facet in EARLY else done, facet, goes_on)
        if is_cut and facet in GROWING and values:
            values = _as_far(values, facet, done)
        if shifted and len(set(values.values())) > 1:
            usual = {own.step(place).of(facet) for own, place in known}
            values = {own: v for own, v in values.items() if own not in shifted or own.step(places[own]).of(facet) not in usual}
        if len(set(values.values())) < 2:
            continue
        groups: dict[Hashable, dict[Class, Hashable]] = defaultdict(dict)
        for own, value in values.items():
            groups[told[own]][own] = value
        fresh = [fact for group in groups.values() for fact in _with_lines(key, facet, places, group)]
        for fact in facts:
            if len({_usual({own: values[own] for own in classes if own in values}) for _, classes in fact.parts}) > 1:
                fact.also.append(facet)
        facts += fresh
        common = _usual(values)
        for own in places:
            told[own] += (values.get(own, None if own in done or facet in EARLY else common),)
    return facts


def _values(done: Mapping[Class, int], facet: str, goes_on: bool) -> dict[Class, Hashable]:
    if goes_on and facet in GROWING:
        lines = {own: own.lines(place, facet) for own, place in done.items()}
        least = min(map(len, lines.values()))
        return {own: own_lines[:least] for own, own_lines in lines.items()}
    if goes_on and facet in (FAILED, PARITY):  # a backward comes later, and its code before its schedule
        return {own: own.step(place).of("end") if facet == FAILED else b"" for own, place in done.items()}
    if facet == CACHE:  # in which order they were asked is no difference
        return {own: tuple(sorted(own.lines(place, facet))) for own, place in done.items()}
    return {own: own.step(place).of(facet) for own, place in done.items()}


def _as_far(values: dict[Class, Hashable], facet: str, places: Mapping[Class, int]) -> dict[Class, Hashable]:
    """Treat a prefix of the usual value, or a continuation of it, as the usual value.

    For jobs that did not end by themselves: unfinished ranks had not reached the remainder. Fewer cache answers are expected
    only with less code.
    """
    usual = _usual(values)
    typical = next(own for own, value in values.items() if value == usual)
    theirs, codes = typical.lines(places[typical], facet), len(typical.lines(places[typical], CODE))
    results = dict(values)
    for own in values:
        mine, more = own.lines(places[own], facet), len(own.lines(places[own], CODE)) - codes
        least = min(len(mine), len(theirs))
        is_far = facet != CACHE or (len(mine) - len(theirs)) * more > 0
        if least and is_far and mine[:least] == theirs[:least]:
            results[own] = usual
    return results


def _with_lines(key: Key, facet: str, places: Mapping[Class, int], values: Mapping[Class, Hashable]) -> list[Fact]:
    """Return the fact that values differ, with the differing lines."""
    if len(set(values.values())) < 2:
        return []
    lines: dict[Hashable, Sequence[str]] = {}
    for own in sorted(values, key=lambda own: not own.is_over(places[own])):  # those first that came to their end
        lines.setdefault(values[own], own.lines(places[own], facet))
    if facet == GUARDS and _own_numbers(values, lines):
        return []
    is_partial = facet == INPUTS and any(_is_partial(own, places[own]) for own in values)
    said = words(facet, shared_inputs(lines) if is_partial else lines)
    return _parted(*key, facet, values, lambda value, _: said[value])


def _is_partial(class_: Class, place: int) -> bool:
    """Return whether a compile may have inputs that its log does not describe, or not yet."""
    return not class_.ended or not class_.is_over(place)


def _inputs(places: Mapping[Class, int]) -> dict[Class, Hashable]:
    """Return the inputs of a compile.

    An unfinished compile counts as usual if the usual inputs include all its described inputs.
    """
    results: dict[Class, Hashable] = {own: own.step(place).of(INPUTS) for own, place in places.items()}
    partial = [own for own, place in places.items() if _is_partial(own, place)]
    if not partial or len(set(results.values())) < 2:
        return results
    described = {own: set(own.lines(place, INPUTS)) for own, place in places.items()}
    likely = sorted(places, key=lambda own: (own in partial, -len(described[own]), -len(own.lanes), own.first.rank))
    for own in partial:
        sources = {line.partition(": ")[0] for line in described[own]}
        for other in likely:
            theirs = {line.partition(": ")[0] for line in described[other]}
            if all(line.partition(": ")[0] not in sources & theirs for line in described[own] ^ described[other]):
                results[own] = results[other]
                break
    return results


def _own_numbers(values: Mapping[Class, Hashable], lines: Mapping[Hashable, Sequence[str]]) -> bool:
    """Return whether guards differ only in comparisons with the rank's number."""
    plain = set()
    same = set.intersection(*(set(told) for told in lines.values()))
    for own, value in values.items():
        apart = [line for line in lines[value] if line not in same]
        number = f" == {own.first.rank}"
        if len(own.lanes) > 1 or not apart or not all(line.endswith(number) for line in apart):
            return False
        plain.add(tuple(line.removesuffix(number) for line in apart))
    return len(plain) == 1


def _order(classes: Sequence[Class]) -> list[Fact]:
    """Return ranks with an unusual compile order, with the first function out of order."""
    sequences = {own: tuple(own.codes) for own in classes}
    usual = _usual(sequences)
    assert isinstance(usual, tuple)
    places = set(usual)
    firsts: dict[tuple[Code, Code], dict[Class, str]] = defaultdict(dict)
    for own, codes in sequences.items():
        mine = [code for code in codes if code in places]
        theirs = [code for code in usual if code in own.codes] if codes != usual else mine
        if mine != theirs:
            a, b = next((a, b) for a, b in zip(theirs, mine, strict=True) if a != b)
            firsts[a, b][own] = f"after {b[0]}"
    moved = {own for late in firsts.values() for own in late}
    results = []
    for (a, b), late in firsts.items():
        have = [c for c in classes if c in late or (c not in moved and a in c.codes and b in c.codes)]
        results += _parted(a, 0, ORDER, {c: late.get(c, f"before {b[0]}") for c in have}, _text)
    return results


def _executed(classes: Sequence[Class]) -> list[Fact]:
    """Return ranks with an unusual execution order of common graphs, with the first one out of order."""
    ran = {
        own: tuple((own.step(n).code, own.step(n).number) for n in own.first.course.executed)
        for own in classes
        if own.first.course.executed
    }
    if len(set(ran.values())) < 2:
        return []
    usual = _usual(ran)
    assert isinstance(usual, tuple)
    places = set(usual)
    firsts: dict[tuple[Code, str, str], list[Class]] = defaultdict(list)
    for own, keys in ran.items():
        mine = [key for key in keys if key in places]
        theirs = [key for key in usual if key in own.first.course.places]
        if mine == theirs or not theirs:
            continue
        n = next((n for n, (a, b) in enumerate(zip(theirs, mine, strict=False)) if a != b), min(len(mine), len(theirs)))
        said, expected = (_called(keys_[n]) if n < len(keys_) else "nothing more" for keys_ in (mine, theirs))
        firsts[theirs[min(n, len(theirs) - 1)][0], f"ran {said} as graph {n + 1}", f"ran {expected} as graph {n + 1}"].append(own)
    others = {own for late in firsts.values() for own in late}
    results = []
    for (code, said, expected), late in firsts.items():
        values = {own: said if own in late else expected for own in ran if own in late or own not in others}
        results += _parted(code, 0, EXECUTED, values, _text)
    return results


def _called(key: Key) -> str:
    """`f`, of a further compile of it `f (compile 2)`"""
    (name, _, _), number = key
    return name if number == 1 else f"{name} (compile {number})"


def _without_following(facts: list[Fact]) -> list[Fact]:
    """Remove consequences: compiles after a graph break, and execution order after compile order."""
    broken = {(fact.code[:2], fact.partition) for fact in facts if fact.facet == BREAKS}
    present = [fact for fact in facts if fact.facet in (BREAKS, MISSING, COUNT, ORDER)]

    def follows(fact: Fact) -> bool:
        if fact.facet == EXECUTED:
            earlier = [own for own in present if own.outliers & fact.outliers]
            whole = [own for own in earlier if own.outliers >= fact.outliers]  # else each of them explains some of the ranks
            for own in whole or earlier:
                own.also.append(EXECUTED)
            return fact.outliers <= frozenset(rank for own in earlier for rank in own.outliers)
        name = fact.code[0]
        if fact.facet != MISSING or not name.startswith(RESUMES):
            return False
        before = name.removeprefix(RESUMES).rpartition("_at_")[0]
        return ((before, fact.code[1]), fact.partition) in broken

    return [fact for fact in facts if not follows(fact)]
