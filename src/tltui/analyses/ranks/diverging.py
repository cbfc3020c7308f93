"""Ranks that do not do the same: which functions differ, in what, and on which ranks.

Compiles are matched by code object (function, file, line) and by how often that was compiled before on the rank. Ids are no help:
one break more on a rank, and all of its later ids are others. Of each rank the newest process counts. What follows from another
difference of the same compile on the same ranks is named with it. Of a rank whose log goes on nothing is said that it may still do.
Ranks that a trace tells of are not compared with those of which other inputs tell: those lack what was not logged. Where these
leave out what the functions are called, nothing is compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.analyses.compare.own_device import own_device
from tltui.analyses.compare.pairing import code_of
from tltui.analyses.ranks.prints import breaks_told, graph_of, other_devices, texts_of
from tltui.analyses.ranks.ranges import ranges
from tltui.model.nodes import Compile, Process
from tltui.model.run import Run
from tltui.text.diff.own import Own

KEPT = 200
"""Differences that are kept."""
SIDES = 6
"""Kinds of ranks that are told apart."""
STOPPED, UNFINISHED, BREAKS, FAILED, COLLECTIVES = "stopped", "unfinished", "breaks", "failure", "collectives"
MISSING, COUNT, ORDER, DEVICE, GRAPH = "missing", "count", "order", "device", "graph"
FACETS = (STOPPED, UNFINISHED, BREAKS, FAILED, COLLECTIVES, MISSING, COUNT, ORDER, DEVICE, GRAPH)
"""What may differ, the more telling first: on the same ranks of the same compile the later ones follow from the first."""
SAID = {
    STOPPED: "the last function of some ranks", UNFINISHED: "not finished on some ranks", BREAKS: "graph breaks differ",
    FAILED: "failures differ", COLLECTIVES: "collectives differ", MISSING: "compiled on some ranks only",
    COUNT: "compiled more often on some ranks", ORDER: "compiled in another order on some ranks",
    DEVICE: "tensors on a device that is not the rank's own", GRAPH: "graphs differ",
}  # fmt: skip
"""What is said of a difference."""
RESUMES = "torch_dynamo_resume_in_"
Code = tuple[str, "str | None", "int | None"]


@dataclass(frozen=True, slots=True)
class Function:
    """A code object, as one of the ranks has it."""

    name: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Side:
    """Ranks that do the same."""

    ranks: str
    """As ranges: `0–6, 8–511`."""
    count: int
    said: str
    """What they do; '' where that takes a comparison to see."""
    ref: str
    """The compile of the first of them; '' where they have none."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Something in which ranks differ."""

    function: Function
    others: tuple[Function, ...]
    """Further functions that differ in the same on the same ranks."""
    number: int
    """Which compile of the function, from 1; 0: all of them."""
    facets: tuple[str, ...]
    """In what: the first is told, the others follow from it. See `FACETS`."""
    sides: tuple[Side, ...]
    """The most ranks first."""
    majority: bool
    """Whether the first side is more than half of three or more ranks; else nobody can tell which is right."""
    more: int = 0
    """Ranks that are on no side here: there are too many different ones."""


@dataclass(frozen=True, slots=True)
class Diverging:
    """What comparing the ranks gave."""

    ranks: int
    """Ranks that were compared."""
    functions: int
    alike: int
    """Functions that do not differ."""
    count: int
    """All differences; of several functions each counts."""
    divergences: tuple[Divergence, ...]
    """The more telling first, at most `KEPT`."""
    behind: str
    """Ranks that have compiled less than others and may still do so, as ranges."""


@dataclass(eq=False, slots=True)
class _Rank:
    """The newest process of a rank."""

    number: int
    process: Process
    own: Own
    codes: dict[Code, list[Compile]] = field(default_factory=dict)
    stopped: bool = False
    """Whether it ended while the others went on: what it lacks after that is no news."""

    @property
    def ended(self) -> bool:
        return self.process.log.ended


@dataclass(frozen=True, slots=True)
class _Fact:
    """A partition of ranks by what they do."""

    code: Code
    number: int
    facet: str
    parts: tuple[tuple[str, tuple[_Rank, ...]], ...]
    """(what is said of them, ranks), the most first."""

    @property
    def partition(self) -> frozenset[frozenset[int]]:
        return frozenset(frozenset(rank.number for rank in ranks) for _, ranks in self.parts)


def diverging(run: Run) -> Diverging | None:
    """In what the ranks of a run differ; None where there are no two ranks."""
    ranks = list(_newest(run))
    if len(ranks) < 2 or any(_is_nameless(rank.process) for rank in ranks):
        return None
    codes = list(dict.fromkeys(code for rank in ranks for code in rank.codes))
    behind: set[int] = set()
    facts = list(_stops(ranks))
    for code in codes:
        facts += _counts(code, ranks, behind)
        facts += _compiles(code, ranks)
    facts += _order(ranks)
    facts = _without_resumes(facts)
    divergences = _grouped(_folded(facts))
    differing = {one for d in divergences for one in (d.function, *d.others)}
    return Diverging(
        len(ranks), len(codes), len(codes) - len(differing), sum(1 + len(d.others) for d in divergences),
        tuple(divergences[:KEPT]), ranges(behind),
    )  # fmt: skip


def _newest(run: Run) -> Iterator[_Rank]:
    """The newest process of each rank that has a number, of the newest launch."""
    newest = [rank.processes[-1] for rank in run.ranks if rank.number is not None]
    if any(process.is_traced for process in newest):
        newest = [process for process in newest if process.is_traced]
    launches = [int(number) for p in newest if (number := p.launch.rpartition("_")[2]).isdigit()]
    launch = max(launches, default=None)
    for process in newest:
        number = process.launch.rpartition("_")[2]
        if process.rank is None or (launch is not None and number.isdigit() and int(number) != launch):
            continue
        device = own_device(process)
        rank = _Rank(process.rank, process, Own(*device, True) if device else Own(of_rank=True))
        codes = {id(frame): code_of(frame.compiles[0]) for frame in process.frames.values() if frame.code[0] is not None}
        for compile_ in process.ordered():
            if compile_.is_compile and (code := codes.get(id(compile_.frame))) is not None:
                rank.codes.setdefault(code, []).append(compile_)
        yield rank


def _is_nameless(process: Process) -> bool:
    """Whether a text leaves out which functions some of its compiles are of."""
    frames = () if process.is_traced else process.frames.values()
    return any(frame.is_guessed or frame.code[0] is None for frame in frames if any(own.is_compile for own in frame.compiles))


def _parted(code: Code, number: int, facet: str, values: Mapping[_Rank, Hashable], said: Callable[[Hashable], str]) -> list[_Fact]:
    """The fact that these ranks differ, if they do."""
    classes: dict[Hashable, list[_Rank]] = defaultdict(list)
    for rank, value in values.items():
        classes[value].append(rank)
    if len(classes) < 2:
        return []
    ordered = sorted(classes.items(), key=lambda item: (-len(item[1]), item[1][0].number))
    return [_Fact(code, number, facet, tuple((said(value), tuple(own)) for value, own in ordered))]


def _stops(ranks: Sequence[_Rank]) -> list[_Fact]:
    """Ranks that ended in the middle of what the others did: all that they lack follows from that. Of one that ended inside of a
    compile, that compile is told."""
    sequences = {rank: tuple(rank.codes) for rank in ranks}
    usual = Counter(sequences.values()).most_common(1)[0][0]
    last: dict[Code, dict[_Rank, str]] = defaultdict(dict)
    for rank, own in sequences.items():
        if rank.ended and own and not _is_over(max((c[-1] for c in rank.codes.values()), key=_begun)):
            rank.stopped = True
        elif rank.ended and own and len(own) + 1 < len(usual) and own == usual[: len(own)]:
            rank.stopped = True
            last[own[-1]][rank] = f"stopped after it, {len(usual) - len(own)} functions before the others"
    found = []
    for code, stopped in last.items():
        found += _parted(code, 0, STOPPED, {r: stopped.get(r, "went on") for r in ranks if r in stopped or not r.stopped}, str)
    return found


def _begun(compile_: Compile) -> int:
    return compile_.records[0] if compile_.records else 0


def _is_over(compile_: Compile) -> bool:
    """Whether it came to an end. Only a trace tells that: of others it is what was logged that is compared."""
    process = compile_.process
    return compile_.facts.has_metrics if process.is_traced else process.log.ended


def _counts(code: Code, ranks: Sequence[_Rank], behind: set[int]) -> list[_Fact]:
    """How often a function was compiled."""
    counts = {rank: len(rank.codes.get(code, ())) for rank in ranks}
    most = max(counts.values())
    if all(count == most for count in counts.values()):
        return []
    late = {rank.number for rank, count in counts.items() if count < most and not rank.ended}
    behind |= late
    values: dict[_Rank, Hashable] = {r: n for r, n in counts.items() if r.number not in late and not (r.stopped and n < most)}
    if 0 in values.values():
        return _parted(code, 0, MISSING, {r: bool(n) for r, n in values.items()}, lambda n: "compiled" if n else "not compiled")
    return _parted(code, 0, COUNT, values, lambda n: "1 compile" if n == 1 else f"{n} compiles")


def _compiles(code: Code, ranks: Sequence[_Rank]) -> list[_Fact]:
    """The compiles of a function, the first of each rank with one another, then the second."""
    found: list[_Fact] = []
    owned = [(rank, own) for rank in ranks if (own := rank.codes.get(code))]
    lengths = Counter(len(own) for _, own in owned)
    usual = lengths.most_common(1)[0][0]
    for n in range(max(lengths)):
        members = {rank: own[n] for rank, own in owned if n < len(own)}
        if len(members) > 1:
            shifted = {rank for rank, own in owned if len(own) != usual}
            found += _compared(code, n, members, shifted, [own for rank, own in owned if rank not in shifted])
    return found


def _compared(
    code: Code, n: int, members: Mapping[_Rank, Compile], shifted: set[_Rank], usual: Sequence[list[Compile]]
) -> Iterator[_Fact]:
    """In what compiles of one function differ: one a rank. `shifted`: ranks with more or fewer of them than is usual."""
    done = {rank: c for rank, c in members.items() if _is_over(c)}
    over = {rank: c for rank, c in members.items() if _is_over(c) or rank.ended}
    ends = {rank: _is_over(c) for rank, c in over.items()}
    yield from _parted(code, n + 1, UNFINISHED, ends, lambda end: "finished" if end else "not finished")
    yield from _parted(code, n + 1, BREAKS, {r: breaks_told(c) for r, c in done.items()}, _said_breaks)
    yield from _parted(code, n + 1, FAILED, _failures(done), lambda kind: str(kind or "no failure"))
    yield from _parted(code, n + 1, COLLECTIVES, _schedules(done), lambda _: "")
    texts = {(texts_of(c)[0][1], r.own) for r, c in done.items()}
    if len(texts) < 2 and None not in (md5 for md5, _ in texts):
        return
    yield from _parted(code, n + 1, DEVICE, {r: other_devices(c, r.own) for r, c in done.items()}, _said_devices)
    graphs: dict[_Rank, Hashable] = {r: graph_of(c, r.own) for r, c in done.items()}
    if len(set(graphs.values())) > 1 and shifted:
        known = {graph_of(c, r.own) for r in done if r not in shifted for c in r.codes[code]}
        graphs = {r: graph for r, graph in graphs.items() if r not in shifted or graph not in known}
    yield from _parted(code, n + 1, GRAPH, graphs, lambda _: "")


def _said_breaks(breaks: Hashable) -> str:
    told = breaks if isinstance(breaks, tuple) else ()
    more = f" and {len(told) - 1} more" if len(told) > 1 else ""
    return f"{told[0].said}{more}" if told else "no break"


def _said_devices(devices: Hashable) -> str:
    told = devices if isinstance(devices, tuple) else ()
    return f"tensors on {', '.join(told)}, not its own device" if told else "all on its own device"


def _failures(done: Mapping[_Rank, Compile]) -> dict[_Rank, Hashable]:
    """How compiles failed. Backwards are compiled later: they count when there is nothing more to come."""
    over = all(rank.ended for rank in done)
    found: dict[_Rank, Hashable] = {}
    for rank, compile_ in done.items():
        facts = compile_.facts
        kind = "recompile limit" if facts.recompile_limit else facts.fail_type or "failed" if facts.failed else ""
        found[rank] = kind or ("backward failed" if over and facts.backward_failed else "")
    return found


def _schedules(done: Mapping[_Rank, Compile]) -> dict[_Rank, Hashable]:
    """The collectives of forward and backward; while there is more to come, as many of them as each rank has."""
    found = {rank: texts_of(compile_)[1] for rank, compile_ in done.items()}
    least = None if all(rank.ended for rank in done) else min(map(len, found.values()), default=0)
    return {rank: schedules[:least] for rank, schedules in found.items()}


def _order(ranks: Sequence[_Rank]) -> list[_Fact]:
    """Ranks that compile functions in another order than most: told by the first one that comes too early or too late."""
    sequences = {rank: tuple(rank.codes) for rank in ranks}
    usual = Counter(sequences.values()).most_common(1)[0][0]
    places = set(usual)
    firsts: dict[tuple[Code, Code], dict[_Rank, str]] = defaultdict(dict)
    for rank, own in sequences.items():
        mine = [code for code in own if code in places]
        theirs = [code for code in usual if code in rank.codes] if own != usual else mine
        if mine != theirs:
            a, b = next((a, b) for a, b in zip(theirs, mine, strict=True) if a != b)
            firsts[a, b][rank] = f"after {b[0]}"
    moved = {rank for ranks_moved in firsts.values() for rank in ranks_moved}
    found = []
    for (a, b), late in firsts.items():
        have = [r for r in ranks if r in late or (r not in moved and a in r.codes and b in r.codes)]
        found += _parted(a, 0, ORDER, {r: late.get(r, f"before {b[0]}") for r in have}, str)
    return found


def _without_resumes(facts: list[_Fact]) -> list[_Fact]:
    """What goes on after a break is compiled where the break is: no news beside it."""
    broken = {(fact.code[:2], fact.partition) for fact in facts if fact.facet == BREAKS}

    def follows(fact: _Fact) -> bool:
        name = fact.code[0]
        if fact.facet != MISSING or not name.startswith(RESUMES):
            return False
        before = name.removeprefix(RESUMES).rpartition("_at_")[0]
        return ((before, fact.code[1]), fact.partition) in broken

    return [fact for fact in facts if not follows(fact)]


def _folded(facts: Sequence[_Fact]) -> list[tuple[_Fact, tuple[str, ...]]]:
    """Of each compile and partition of ranks the most telling fact, with the facets that follow from it."""
    groups: dict[Hashable, list[_Fact]] = defaultdict(list)
    for fact in facts:
        groups[fact.code, fact.number, fact.partition].append(fact)
    found = []
    for own in groups.values():
        own.sort(key=lambda fact: FACETS.index(fact.facet))
        found.append((own[0], tuple(fact.facet for fact in own)))
    return sorted(found, key=lambda pair: FACETS.index(pair[1][0]))


def _grouped(facts: Sequence[tuple[_Fact, tuple[str, ...]]]) -> list[Divergence]:
    """One difference of several functions on the same ranks is told once."""
    groups: dict[Hashable, list[_Fact]] = defaultdict(list)
    for fact, facets in facts:
        key = (facets, tuple((said, frozenset(r.number for r in ranks)) for said, ranks in fact.parts))
        groups[key].append(fact)
    return [_divergence(own, facets) for (facets, _), own in groups.items()]  # type: ignore[misc, has-type]


def _divergence(facts: Sequence[_Fact], facets: tuple[str, ...]) -> Divergence:
    first = facts[0]
    total = sum(len(ranks) for _, ranks in first.parts)
    sides = tuple(_side(first, said, ranks) for said, ranks in first.parts[:SIDES])
    functions = list(dict.fromkeys(_function(fact) for fact in facts))
    return Divergence(
        functions[0], tuple(functions[1:]), first.number, facets, sides, total > 2 and sides[0].count * 2 > total,
        total - sum(side.count for side in sides),
    )  # fmt: skip


def _function(fact: _Fact) -> Function:
    rank = next(rank for _, ranks in fact.parts for rank in ranks if fact.code in rank.codes)
    name, file, line = rank.codes[fact.code][0].frame.code
    return Function(name or fact.code[0], file, line)


def _side(fact: _Fact, said: str, ranks: Sequence[_Rank]) -> Side:
    compiles = next((own for rank in ranks if (own := rank.codes.get(fact.code))), [])
    # of the number of compiles the last one is of interest: why was there one more?
    compile_ = compiles[fact.number - 1 if fact.number else -1 if fact.facet == COUNT else 0] if compiles else None
    return Side(ranges(rank.number for rank in ranks), len(ranks), said, str(compile_.ref) if compile_ is not None else "")
