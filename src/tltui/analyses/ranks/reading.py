"""In what the ranks of a run differ, with what only logs can tell: which node of a graph, and where a function stands."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from tltui.analyses.compare.comparing import rules_for
from tltui.analyses.compare.graph_keys import GraphText, graph_text
from tltui.analyses.compare.node_changes import ADDED, REMOVED, RETARGETED, RETYPED, NodeChange, node_changes
from tltui.analyses.compare.own_device import owns_of
from tltui.analyses.hang.clocks import clocks
from tltui.analyses.parts import reader_of
from tltui.analyses.ranks.columns import Columns
from tltui.analyses.ranks.course import Lane
from tltui.analyses.ranks.differing import Differing, Divergence, Function, differing
from tltui.analyses.ranks.facets.texts import bare
from tltui.analyses.ranks.hosts import with_hosts
from tltui.analyses.ranks.lanes import read_lanes
from tltui.analyses.ranks.matching import CODE, GRAPH
from tltui.analyses.ranks.pace import Pace
from tltui.analyses.ranks.pacing import pace_of
from tltui.analyses.ranks.times import PhasesOf
from tltui.analyses.records import addresses, named
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.text.diff.normalise import normalised
from tltui.text.diff.own import Own, own_rules
from tltui.trace.files import Gone

T = TypeVar("T")
GRAPHS_READ = 24
"""Differences of graphs of which the nodes are compared."""
LIMIT = 2 << 20
"""Stored bytes of a graph up to which that is done."""
PACED = 1_000_000
"""Compiles of all ranks together up to which who was late or slow is found out by the way: 0.5 s of CPU."""
SAID_LINE = 160
"""Characters of a line of code that are kept."""
GRAPH_NAME = "dynamo_output_graph"
ARTIFACTS = {
    GRAPH: GRAPH_NAME, "guards": "dynamo_cpp_guards_str", "code": "inductor_output_code", "inputs": GRAPH_NAME,
    "collectives": "inductor_collective_schedule", "parity": "inductor_collective_schedule", "devices": GRAPH_NAME,
    "estimates": "inductor_runtime_and_tensor_meta", "settings": "compilation_metrics", "version": "compilation_metrics",
}  # fmt: skip
"""Facet → the artifact that shows it."""


def differences_of(run: Run) -> Differing | None:
    """In what the ranks of a run differ; None where there are no two of them that can be compared."""
    return _result(read_differences(run))


def read_differences(run: Run) -> Generator[None, None, Differing | None]:
    """The same, with a pause after each piece."""
    lanes = yield from _read_several(run)
    return (yield from read_between(run, lanes))


def differences_and_pace(run: Run) -> tuple[Differing | None, Pace]:
    """In what the ranks of a run differ, and how they kept pace; of many that is only whose clock is off."""
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
    """The ranks of a run; none of a single one: what that did is not read for nothing, it takes long, and 1 KB a compile."""
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
    """In what these lanes of a run differ, with a pause after each difference."""
    found = differing(lanes)
    if found is None:
        return None
    told = []
    for number, one in enumerate(found.divergences):
        told.append(_completed(run, one, number < GRAPHS_READ))
        yield
    return replace(found, divergences=tuple(told))


def compiles_of(run: Run, one: Divergence) -> list[Compile | None]:
    """A compile of each side; None where it has none, or where no node of the run stands for it."""
    return [_compile(run, side.ref) for side in one.sides]


def _compile(run: Run, ref: str) -> Compile | None:
    try:
        node = run.resolve(ref) if ref else None
    except BadAddress:
        return None
    return node if isinstance(node, Compile) else None


def pair_of(run: Run, one: Divergence) -> tuple[str, str]:
    """The addresses of two things to compare: of the first two sides the artifact that differs, else their compiles; ('', '')
    where one side has none."""
    compiles = compiles_of(run, one)[:2]
    refs = [side.ref for side in one.sides[:2]]
    if not all(refs):
        return "", ""
    name = ARTIFACTS.get(one.facets[0])
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


def _with_nodes(one: Divergence, compiles: Sequence[Compile | None]) -> Divergence:
    """With the first node in which each graph is unlike that of the first side."""
    sides = [one.sides[0]]
    for side, other in zip(one.sides[1:], compiles[1:], strict=True):
        words = node_words(compiles[0], other) if compiles[0] is not None and other is not None else ""
        sides.append(replace(side, said=": ".join(filter(None, (side.said, words)))))
    return replace(one, sides=tuple(sides))


def _with_lines(one: Divergence, compiles: Sequence[Compile | None]) -> Divergence:
    """With the first line in which two texts differ, where nothing else tells them apart; as it was where none can be read."""
    name = ARTIFACTS[one.facets[0]]
    try:
        texts = [_compared(compile_, name) if compile_ is not None else [] for compile_ in compiles]
    except (Gone, Elsewhere):
        return one
    for pair in zip(*texts, strict=False):
        for number, lines in enumerate(zip(*(text.split("\n") for text in pair), strict=False), 1):
            if len(set(lines)) > 1:
                said = [f"line {number}: {line.strip() or '(empty)'}"[:SAID_LINE] for line in lines]
                if len(set(said)) < 2:
                    return one
                return replace(one, sides=tuple(replace(side, said=own) for side, own in zip(one.sides, said, strict=True)))
    return one


def _compared(compile_: Compile, name: str) -> list[str]:
    """The texts of an artifact as they are compared: without what is the rank's own."""
    reader, (own, _) = reader_of(compile_), owns_of(compile_.process, compile_.process)
    found = []
    for record, _ in named(compile_, (name,)):
        text = bare(reader.payload(record, LIMIT), own).decode("utf-8", "replace")
        found.append(normalised(text, rules_for(text, own))[0])
    return found


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


def _graph(compile_: Compile, own: Own) -> GraphText | None:
    records = [record for record, _ in named(compile_, (GRAPH_NAME,))]
    if not records:
        return None
    text = reader_of(compile_).text(records[-1], LIMIT)
    return graph_text(normalised(text, own_rules(own, text))[0])


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
    """What the node of a line calls: `aten.clone`."""
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

