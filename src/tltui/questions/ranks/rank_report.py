"""Rank differences of a run with details from logs, and expected kernel times."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.node_answers import reader_of, shared
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, addresses, records_of
from tltui.model.ref import BadAddress, ranges
from tltui.model.run import Run
from tltui.questions.compare.comparable_lines import GraphText, graph_text, rules_for
from tltui.questions.compare.pairing import owns_of
from tltui.questions.hang.clock_offsets import clocks
from tltui.questions.passes.node_changes import ADDED, REMOVED, RETARGETED, RETYPED, NodeChange, node_changes
from tltui.questions.ranks.compile_facets import PhasesOf
from tltui.questions.ranks.differences import Differing, Divergence, Function, differing
from tltui.questions.ranks.facet_texts import bare, estimates_fact
from tltui.questions.ranks.lanes import read_lanes, with_hosts
from tltui.questions.ranks.matching import CODE, GRAPH
from tltui.questions.ranks.pace import Pace
from tltui.questions.ranks.pace_analysis import Columns, pace_of
from tltui.questions.ranks.rank_course import Code, Lane, steps_in
from tltui.text.frozen import frozen
from tltui.text.normalisation import RankIdentity, normalised, own_rules
from tltui.trace.files import Gone

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
    number: int
    """Which compile of the function, from 1."""
    count: int
    """Ranks of which the log has estimates."""
    slowest: str
    """Ranks that are expected to take longest, as ranges."""
    slowest_ns: float
    slowest_ref: str
    """The compile of the first of them."""
    fastest: str
    fastest_ns: float
    fastest_ref: str


def read_expected(run: Run, lanes: Sequence[Lane]) -> Generator[None, None, tuple[Expected, ...]]:
    """Return compiles whose estimates differ by more than 10 %, the widest first; yields between steps.

    Ranks known only from an index have no estimates.
    """
    processes = {process.key: process for process in run.processes()}
    found: dict[tuple[Code, int], list[tuple[float, int, str]]] = {}
    for number, lane in enumerate(lanes, 1):
        process = processes.get(lane.process)
        if process is not None and any(kind.name == ARTIFACT for kind in process.log.kinds):
            for compile_, code, which in steps_in(process):
                if total := _total(compile_):
                    found.setdefault((code, which), []).append((total, lane.rank, str(compile_.ref)))
        if number % PIECE == 0:
            yield
    told = [one for (code, which), own in found.items() if (one := _apart(code, which, own)) is not None]
    return tuple(sorted(told, key=lambda one: round(one.fastest_ns - one.slowest_ns)))


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


def _apart(code: Code, which: int, own: Sequence[tuple[float, int, str]]) -> Expected | None:
    most, least = max(own)[0], min(own)[0]
    if most < APART * least:
        return None
    slow = sorted((rank, ref) for total, rank, ref in own if total * ALIKE >= most)
    fast = sorted((rank, ref) for total, rank, ref in own if total <= least * ALIKE)
    return Expected(*code, which, len(own), _ranks(slow), most, slow[0][1], _ranks(fast), least, fast[0][1])


def _ranks(own: Iterable[tuple[int, str]]) -> str:
    return ranges(rank for rank, _ in own)


T = TypeVar("T")
GRAPHS_READ = 24
"""Maximum number of graph differences whose nodes are compared."""
LIMIT = 2 << 20
"""Stored bytes of a graph up to which that is done."""
PACED = 1_000_000
"""Compiles of all ranks together up to which who was late or slow is found out by the way: 0.5 s of CPU."""
SAID_LINE = 160
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
    return _result(read_differences(run))


def read_differences(run: Run) -> Generator[None, None, Differing | None]:
    """Return the differences between ranks; yields between steps."""
    lanes = yield from _read_several(run)
    return (yield from read_between(run, lanes))


def differences_and_pace(run: Run) -> tuple[Differing | None, Pace]:
    """Return the differences and the pace of the ranks of a run; for large runs only the clock offsets."""
    lanes = _result(_read_several(run))
    if len(lanes) < 2:
        return None, Pace(len(lanes), (), (), (), (), ())
    found = _result(read_between(run, lanes))
    lanes = with_hosts(run, lanes)
    if sum(len(lane.course.steps) for lane in lanes) <= PACED:
        return found, pace_of(lanes, PhasesOf(run))
    offsets = Columns(lanes).offsets
    hosts = {lane.rank: lane.host for lane in lanes}
    told = clocks(offsets, hosts if len(set(hosts.values())) > 1 else {})
    return found, Pace(len(lanes), told, (), (), (), (), offsets)


def _read_several(run: Run) -> Generator[None, None, Sequence[Lane]]:
    """Read the ranks of a run; none for a single rank, whose course costs time and 1 KB per compile."""
    if run.crowd is None and sum(rank.number is not None for rank in run.ranks) < 2:
        return ()
    return (yield from read_lanes(run))


def _result(reading: Generator[None, None, T]) -> T:
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return cast(T, stop.value)


def read_between(run: Run, lanes: Sequence[Lane]) -> Generator[None, None, Differing | None]:
    """Compare these lanes of a run; yields after each difference."""
    found = differing(lanes)
    if found is None:
        return None
    told = []
    for number, divergence in enumerate(found.divergences):
        told.append(_completed(run, divergence, number < GRAPHS_READ))
        yield
    return replace(found, divergences=tuple(told))


def compiles_of(run: Run, divergence: Divergence) -> list[Compile | None]:
    """Return a compile of each side; None if a side has none or no node represents it."""
    return [_compile(run, side.ref) for side in divergence.sides]


def _compile(run: Run, ref: str) -> Compile | None:
    try:
        node = run.resolve(ref) if ref else None
    except BadAddress:
        return None
    return node if isinstance(node, Compile) else None


def pair_of(run: Run, divergence: Divergence) -> tuple[str, str]:
    """Return two addresses to compare: the differing artifact of the first two sides, else their compiles.

    ('', '') if either side has none.
    """
    compiles = compiles_of(run, divergence)[:2]
    refs = [side.ref for side in divergence.sides[:2]]
    if not all(refs):
        return "", ""
    name = ARTIFACTS.get(divergence.facets[0])
    if name is None or None in compiles:
        return refs[0], refs[1]
    own = [[*addresses(cast(Compile, compile_), (name,)).values()] for compile_ in compiles]
    if not all(own):
        return refs[0], refs[1]
    if name == GRAPH_NAME or len(own[0]) != len(own[1]):
        return own[0][-1], own[1][-1]
    return own[0][0], own[1][0]


def _completed(run: Run, one: Divergence, with_nodes: bool) -> Divergence:
    """With the whole path of its function, and of graphs with the first node that differs."""
    compiles = compiles_of(run, one)
    first = next((compile_ for compile_ in compiles if compile_ is not None), None)
    if first is not None:
        file = first.frame.code[1]
        one = replace(one, function=replace(one.function, file=file), others=tuple(_in_file(own, file) for own in one.others))
    if with_nodes and len(compiles) > 1 and compiles[0] is not None:
        if one.facets[0] == GRAPH:
            one = _with_nodes(one, compiles)
        if one.facets[0] in (GRAPH, CODE) and len({side.said for side in one.sides if one.facets[0] == GRAPH}) < 2:
            one = _with_lines(one, compiles)
    return one


def _with_nodes(divergence: Divergence, compiles: Sequence[Compile | None]) -> Divergence:
    """Add the first node in which each graph differs from the first side."""
    sides = [divergence.sides[0]]
    for side, other in zip(divergence.sides[1:], compiles[1:], strict=True):
        words = node_words(compiles[0], other) if compiles[0] is not None and other is not None else ""
        sides.append(replace(side, said=": ".join(filter(None, (side.said, words)))))
    return replace(divergence, sides=tuple(sides))


def _with_lines(divergence: Divergence, compiles: Sequence[Compile | None]) -> Divergence:
    """Add the first differing line of two texts if nothing else separates them; unchanged if unreadable."""
    name = ARTIFACTS[divergence.facets[0]]
    try:
        texts = [_compared(compile_, name) if compile_ is not None else [] for compile_ in compiles]
    except (Gone, Elsewhere):
        return divergence
    for pair in zip(*texts, strict=False):
        for number, lines in enumerate(zip(*(text.split("\n") for text in pair), strict=False), 1):
            if len(set(lines)) > 1:
                said = [f"line {number}: {line.strip() or '(empty)'}"[:SAID_LINE] for line in lines]
                if len(set(said)) < 2:
                    return divergence
                return replace(
                    divergence, sides=tuple(replace(side, said=own) for side, own in zip(divergence.sides, said, strict=True))
                )
    return divergence


def _compared(compile_: Compile, name: str) -> list[str]:
    """Return the normalized texts of an artifact, without the rank identity."""
    reader, (own, _) = reader_of(compile_), owns_of(compile_.process, compile_.process)
    results = []
    for record, _ in records_of(compile_, (name,)):
        text = bare(reader.payload(record, LIMIT), own).decode("utf-8", "replace")
        results.append(normalised(text, rules_for(text, own))[0])
    return results


def _in_file(function: Function, file: str | None) -> Function:
    """Another function of the same file."""
    return replace(function, file=file) if file and function.file == file.rpartition("/")[2] else function


def node_words(left: Compile, right: Compile) -> str:
    """In which node the second graph is unlike the first, with the line of the program: `gelu instead of relu at model.py:88`."""
    try:
        owns = owns_of(left.process, right.process)
        a, b = (_graph(compile_, own) for compile_, own in zip((left, right), owns, strict=True))
    except (Gone, Elsewhere):
        return ""
    if a is None or b is None or not (a.understood and b.understood):
        return ""
    changes = node_changes(a, b).changes
    telling = sorted(changes, key=lambda change: change.what not in (ADDED, REMOVED, RETARGETED, RETYPED))
    if not telling:
        return ""
    more = len(telling) - 1
    return _words(telling[0], a, b) + (f" and {more} more node{'s' * (more > 1)}" if more else "")


def _graph(compile_: Compile, identity: RankIdentity) -> GraphText | None:
    records = [record for record, _ in records_of(compile_, (GRAPH_NAME,))]
    if not records:
        return None
    text = reader_of(compile_).text(records[-1], LIMIT)
    return graph_text(normalised(text, own_rules(identity, text))[0])


def _words(change: NodeChange, left: GraphText, right: GraphText) -> str:
    before, after = _target(left, change.left_line), _target(right, change.right_line)
    at = _origin(right, change.right_line) or _origin(left, change.left_line)
    where = f" at {at}" if at else ""
    if change.what == ADDED:
        return f"{after or change.name} added{where}"
    if change.what == REMOVED:
        return f"no {before or change.name}{where}"
    if change.what == RETARGETED:
        return f"{after} instead of {before}{where}"
    return f"{change.name} otherwise{where}"


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
