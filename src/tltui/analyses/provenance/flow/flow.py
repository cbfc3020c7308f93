"""Kernel → post-grad nodes from the flow of data: what the code reads and writes, held against the values of the graph.

Each function of the code runs one graph of the text: `call` (and its partitions) the outermost one, the others the graph
of their name. Nothing here raises on damaged texts; what does not fit together is not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tltui.analyses.provenance.code import CodeText, Function
from tltui.analyses.provenance.flow.identify import identify
from tltui.analyses.provenance.flow.signatures import signature
from tltui.analyses.provenance.flow.slices import fused_nodes
from tltui.analyses.provenance.flow.values import Values, values_of
from tltui.analyses.provenance.flow.wrapper import walk
from tltui.analyses.provenance.graph import GraphText


@dataclass(frozen=True, slots=True)
class Derived:
    """The nodes of one call."""

    graph: int
    """The graph that they are of, its place in `FxGraph.graphs`."""
    nodes: tuple[str, ...]


def derive(post: GraphText, code: CodeText, known: Mapping[int, str]) -> dict[int, Derived]:
    """The nodes of the calls of which something is certain: by the first line of the call. `known` are calls of external kernels
    whose nodes something better tells: line → node."""
    graphs = values_of(post)
    kernels = {own.name: signature(code.text, own) for own in code.definitions}
    functions = {own.name: own for own in code.functions if own.name}
    found: dict[int, Derived] = {}
    for function in code.functions:
        if function.name.startswith("partition_"):
            continue
        number = graph_of(post, function)
        if number is None or number not in graphs:
            continue
        values = graphs[number]
        for line, nodes in _of_function(values, code, function, functions, kernels, known).items():
            found[line] = Derived(number, nodes)
    return found


def graph_of(post: GraphText, function: Function) -> int | None:
    """The graph that a function runs: the outermost one, or the one with its name."""
    graphs = post.graph.graphs
    if not function.inner:
        outer = [n for n, graph in enumerate(graphs) if graph.parent < 0]
        return outer[0] if outer else None
    leaves = [(n, graph.path.rpartition(".")[2]) for n, graph in enumerate(graphs) if graph.parent >= 0]
    named = [n for n, leaf in leaves if leaf == function.inner]
    named = named or [n for n, leaf in leaves if function.inner.endswith(f"_{leaf}")]
    return named[0] if len(named) == 1 else None


def _of_function(
    values: Values, code: CodeText, function: Function, functions: Mapping[str, Function], kernels: Mapping[str, tuple[str, ...]],
    known: Mapping[int, str],
) -> dict[int, tuple[str, ...]]:  # fmt: skip
    constants = frozenset(node.attribute for node in values.nodes.values() if node.attribute)
    walked = walk(code.text, function, functions, kernels, constants)
    found = identify(values, walked, known)
    nodes = fused_nodes(found)
    nodes.update({number: (name,) for number, name in found.steps.items()})
    return {step.line: nodes[step.number] for step in walked.steps if step.number in nodes}
