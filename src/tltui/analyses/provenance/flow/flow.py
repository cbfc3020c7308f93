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
from tltui.analyses.provenance.flow.slices import nodes_of_steps
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
    if function.inner:
        return post.inner(function.inner)
    return next((n for n, graph in enumerate(post.graph.graphs) if graph.parent < 0), None)


def _of_function(
    values: Values, code: CodeText, function: Function, functions: Mapping[str, Function], kernels: Mapping[str, tuple[str, ...]],
    known: Mapping[int, str],
) -> dict[int, tuple[str, ...]]:  # fmt: skip
    shapes = {
        node.attribute or name: node.shape for name, node in values.nodes.items() if node.attribute or node.kind == "placeholder"
    }
    walked = walk(code.text, function, functions, kernels, shapes)
    found = identify(values, walked, known)
    nodes = nodes_of_steps(found)
    return {step.line: nodes[step.number] for step in walked.steps if step.number in nodes}
