"""Names in FX graphs and generated code: lines, definitions, readers and facts of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from tltui.text.document import Document
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxGraph, FxNode, Origin, parse

UP_TO = 8 << 20
"""Characters of a document up to which its names are looked for."""
LANGUAGES = frozenset(("fx", "output_code", "python", "cpp"))
USERS_NAMED = 3

_DEFINITION = re.compile(
    r"^\s*(?:async\s+def|def|class)\s+(\w+)"  # Python
    r"|^\s*([A-Za-z_]\w*)(?:\s*:\s*[^=\n]+)?\s*=(?!=)"  # an assignment
    r"|^\s*(?:extern \"C\" |static |inline |void |template<[^>]*> ?)+[\w:<>*& ]*?\b(\w+)\s*\("  # C++
)


@frozen
class Names:
    """Definitions and facts of the names in one document."""

    graph: FxGraph | None
    """The parsed graph of an FX document."""
    lines: dict[str, list[int]] = field(default_factory=dict)
    """For other code: name → the lines of its assignments, in order."""

    def definition(self, name: str, line: int) -> int | None:
        """Return the line that defines `name` as used on `line`; None if the document has none."""
        if self.graph is not None:
            node = self._node(name, line)
            return None if node is None else node.line
        definitions = self.lines.get(name)
        if not definitions:
            return None
        return max((place for place in definitions if place < line), default=definitions[0])

    def about(self, name: str, line: int) -> str:
        """Describe a name in one line: type, origin, readers; '' if nothing is known."""
        node = self._node(name, line) if self.graph is not None else None
        if node is None or self.graph is None:
            return ""
        parts = [f"{node.name}: {node.type}" if node.type else node.name]
        if node.target:
            parts.append(node.target)
        if node.args:
            parts.append(f"from {_listed([producer.name for producer in self.graph.producers(node)] or list(node.args))}")
        users = self.graph.users(node)
        parts.append(f"read by {_listed([user.name for user in users])}" if users else "not read")
        if 0 <= node.origin < len(self.graph.origins):
            origin = self.graph.origins[node.origin]
            parts.append(f"{origin.path.rpartition('/')[2]}:{origin.place} {origin.code}".rstrip())
        return " · ".join(parts)

    def about_line(self, line: int) -> str:
        """Describe the node that a line defines."""
        if self.graph is None:
            return ""
        nodes = self.graph.at(line)
        return self.about(nodes[0].name, line) if nodes else ""

    def _node(self, name: str, line: int) -> FxNode | None:
        assert self.graph is not None
        place = self.graph.graph_at(line)
        while place >= 0:
            if node := self.graph.find(name, place):
                return node
            place = self.graph.graphs[place].parent
        return None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - USERS_NAMED} more" if len(names) > USERS_NAMED else ""
    return ", ".join(names[:USERS_NAMED]) + more


def names_of(document: Document) -> Names | None:
    """Return the names of a document; None for pages, data and oversized documents."""
    if document.language not in LANGUAGES or document.width() * len(document) > UP_TO * 64:
        return None
    text, size = [], 0
    for line in document.text():
        size += len(line)
        if size > UP_TO:
            return None
        text.append(line)
    if document.language == "fx":
        return Names(parse(text))
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(text):
        if match := _DEFINITION.match(line):
            name = match[1] or match[2] or match[3]
            lines.setdefault(name, []).append(number)
    return Names(None, lines)


COMPUTED = frozenset(("call", "getitem", "expression"))
"""Kinds of nodes that compute something: coverage counts these."""
_GRAPH_ID = re.compile(r"^ # graph id: (\d{1,20})\s*$")


@frozen
class GraphText:
    """A parsed graph. Lines count from 0."""

    graph: FxGraph
    lines: int
    graph_id: int | None
    numbers: dict[str, int]
    """Names in a mapping and keys → index in `nodes`."""
    text: Sequence[str] = field(default=(), repr=False, compare=False)
    """The lines themselves."""

    @property
    def nodes(self) -> tuple[FxNode, ...]:
        """All nodes in text order."""
        return self.graph.nodes

    def origin(self, node: FxNode) -> Origin | None:
        """Return the user's source line from the comment above a node."""
        return self.graph.origins[node.origin] if node.origin >= 0 else None

    def find(self, name: str) -> FxNode | None:
        """Return the node for a name in a mapping."""
        number = self.numbers.get(name)
        return None if number is None else self.nodes[number]

    def is_outermost(self, node: FxNode) -> bool:
        """Return whether a name in a mapping resolves to this node."""
        return self.find(node.name) is node

    def repeated_names(self) -> frozenset[str]:
        """Return the names of computing nodes that several graphs of the text have."""
        graphs: dict[str, set[int]] = {}
        for node in self.nodes:
            if node.kind in COMPUTED:
                graphs.setdefault(node.name, set()).add(node.graph)
        return frozenset(name for name, numbers in graphs.items() if len(numbers) > 1)

    def has_inner(self) -> bool:
        """Return whether there are graphs inside of the graph."""
        return any(graph.parent >= 0 for graph in self.graph.graphs)

    def key(self, node: FxNode) -> str:
        """Return the unique key of a node in the text."""
        return node.name if self.is_outermost(node) else _inner_key(self.graph, node)

    def inner(self, function: str) -> int | None:
        """Return the subgraph that a function of the code runs, by name."""
        paths = [(n, graph.path.partition(".")[2]) for n, graph in enumerate(self.graph.graphs) if graph.parent >= 0]
        leaves = [(n, path.rpartition(".")[2]) for n, path in paths]
        matches = (
            [n for n, path in paths if path.replace(".", "_") == function]  # one in another has the names of both
            or [n for n, leaf in leaves if leaf == function] or [n for n, leaf in leaves if function.endswith(f"_{leaf}")]
        )  # fmt: skip
        return matches[0] if len(matches) == 1 else None

    def nodes_in(self, function: str, names: Sequence[str]) -> list[FxNode]:
        """Return the nodes of a kernel in a function of the code.

        In the function of a subgraph names are those of its graph: the nodes around it, which Inductor also counts, are left out.
        """
        number = self.inner(function) if function else None
        inner = [node for name in names if number is not None and (node := self.graph.find(name, number)) is not None]
        return inner or [node for name in names if (node := self.find(name)) is not None]

    def inputs(self) -> tuple[int, ...]:
        """Lines of the parameters of the outermost graph."""
        return tuple(sorted({node.line for node in self.nodes if node.kind == "placeholder" and node.graph == 0}))

    def outputs(self) -> tuple[int, ...]:
        """Lines of the `return` of the outermost graph."""
        return tuple(node.line for node in self.nodes if node.kind == "output" and node.graph == 0)


@frozen
class NodeFacts:
    """The facts about a node in a status line."""

    name: str
    graph: str
    """The class path of its graph, the scope of its name."""
    kind: str
    op: str
    """The operator or statement: `torch.ops.aten.mm.default`, `+=`."""
    type: str
    """dtype, shape, stride and device as torch writes them: `f32[8, 16][16, 1]cpu`."""
    producers: tuple[str, ...]
    users: tuple[str, ...]
    file: str
    """The user's source file, '' if unknown."""
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
    for name, definitions in inner.items():
        if name not in outer and len(definitions) == 1:
            outer[name] = next(iter(definitions.values()))
    return outer


def _inner_key(graph: FxGraph, node: FxNode) -> str:
    return f"{graph.graphs[node.graph].path.partition('.')[2]}.{node.name}"


def bare(key: str) -> str:
    """Return the name part of a key."""
    return key.rpartition(".")[2]


def facts_at(graph: GraphText, line: int) -> tuple[NodeFacts, ...]:
    """Return the facts of the nodes that a line (from 0) defines, in text order."""
    return tuple(facts_of(graph, node) for node in graph.graph.at(line))


def facts_of(graph: GraphText, node: FxNode) -> NodeFacts:
    """Return the facts of one node."""
    origin = graph.origin(node)
    return NodeFacts(
        node.name, graph.graph.graphs[node.graph].path, node.kind, node.in_place or node.target, node.type,
        tuple(other.name for other in graph.graph.producers(node)),
        tuple(dict.fromkeys(other.name for other in graph.graph.users(node))),
        origin.path if origin else "", origin.place if origin else 0, origin.code if origin else "", node.line + 1,
    )  # fmt: skip
