"""FX graphs of a compile as provenance needs them: a name → its lines, a node → what is known of it.

The names in a mapping are those of the outermost graph. A name that only occurs in one of the graphs inside of it (the
branches of a `cond`, a regional subgraph) is found there; one that several of them have is not clear, and not guessed.
Each node has a key that means no other one: its name, or behind the graphs that it is in, `true_graph_0.mm`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tltui.text.graphs.fx_graph import FxGraph, FxNode, Origin, parse

COMPUTED = frozenset(("call", "getitem", "expression"))
"""Kinds of nodes that compute something: coverage counts these."""
_GRAPH_ID = re.compile(r"^ # graph id: (\d{1,20})\s*$")


@dataclass(frozen=True, slots=True)
class GraphText:
    """A parsed graph. Lines count from 0."""

    graph: FxGraph
    lines: int
    graph_id: int | None
    numbers: dict[str, int]
    """The node that a name of a mapping means, and that a key means: its place in `nodes`."""
    text: Sequence[str] = field(default=(), repr=False, compare=False)
    """The lines themselves."""

    @property
    def nodes(self) -> tuple[FxNode, ...]:
        """All nodes in the order of the text."""
        return self.graph.nodes

    def origin(self, node: FxNode) -> Origin | None:
        """Where the user wrote it, as the comment above it says."""
        return self.graph.origins[node.origin] if node.origin >= 0 else None

    def find(self, name: str) -> FxNode | None:
        """The node that a name of a mapping means."""
        number = self.numbers.get(name)
        return None if number is None else self.nodes[number]

    def named(self, node: FxNode) -> bool:
        """Whether a mapping can mean this node: it is what its name stands for."""
        return self.find(node.name) is node

    def key(self, node: FxNode) -> str:
        """What means this node and no other one of the text."""
        return node.name if self.named(node) else _inner_key(self.graph, node)

    def inner(self, function: str) -> int | None:
        """The graph inside of the outermost one that a function of the code runs: the one of its name."""
        leaves = [(n, own.path.rpartition(".")[2]) for n, own in enumerate(self.graph.graphs) if own.parent >= 0]
        named = [n for n, leaf in leaves if leaf == function] or [n for n, leaf in leaves if function.endswith(f"_{leaf}")]
        return named[0] if len(named) == 1 else None

    def inputs(self) -> tuple[int, ...]:
        """Lines of the parameters of the outermost graph."""
        return tuple(sorted({node.line for node in self.nodes if node.kind == "placeholder" and node.graph == 0}))

    def outputs(self) -> tuple[int, ...]:
        """Lines of its `return`."""
        return tuple(node.line for node in self.nodes if node.kind == "output" and node.graph == 0)


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a status line says of a node."""

    name: str
    graph: str
    """The class path of its graph: names are those of one graph."""
    kind: str
    op: str
    """What is called or done: `torch.ops.aten.mm.default`, `+=`."""
    type: str
    """dtype, shape, stride and device as torch writes them: `f32[8, 16][16, 1]cpu`."""
    producers: tuple[str, ...]
    users: tuple[str, ...]
    file: str
    """Where the user wrote it, '' where torch does not say."""
    line: int
    """From 1; 0 without a file."""
    code: str
    at: int
    """The line of the graph text, from 1."""


def parse_graph(lines: Sequence[str]) -> GraphText:
    """Parse the lines of a text of FX graphs."""
    graph = parse(lines)
    tail = next((match for line in reversed(lines[-4:]) if (match := _GRAPH_ID.match(line))), None)
    return GraphText(graph, len(lines), int(tail[1]) if tail else None, _numbers(graph), lines)


def _numbers(graph: FxGraph) -> dict[str, int]:
    outer: dict[str, int] = {}
    inner: dict[str, dict[int, int]] = {}
    for n, node in enumerate(graph.nodes):
        if node.kind == "output":
            continue
        if graph.graphs[node.graph].parent < 0:
            outer[node.name] = n
        else:
            inner.setdefault(node.name, {})[node.graph] = n
            outer[_inner_key(graph, node)] = n
    for name, found in inner.items():
        if name not in outer and len(found) == 1:
            outer[name] = next(iter(found.values()))
    return outer


def _inner_key(graph: FxGraph, node: FxNode) -> str:
    return f"{graph.graphs[node.graph].path.partition('.')[2]}.{node.name}"


def bare(key: str) -> str:
    """The name in a key."""
    return key.rpartition(".")[2]


def facts_at(graph: GraphText, line: int) -> tuple[NodeFacts, ...]:
    """The nodes that are defined on a line of the text (from 0), in its order."""
    return tuple(facts_of(graph, node) for node in graph.graph.at(line))


def facts_of(graph: GraphText, node: FxNode) -> NodeFacts:
    """What is known of one node."""
    origin = graph.origin(node)
    return NodeFacts(
        node.name, graph.graph.graphs[node.graph].path, node.kind, node.in_place or node.target, node.type,
        tuple(other.name for other in graph.graph.producers(node)),
        tuple(dict.fromkeys(other.name for other in graph.graph.users(node))),
        origin.path if origin else "", origin.place if origin else 0, origin.code if origin else "", node.line + 1,
    )  # fmt: skip
