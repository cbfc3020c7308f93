"""The nodes of two FX graphs → what each is, whatever it is called.

A node's identity is its operation, its dtype and shape, its constants, and the operations of what it reads, without what
those read in turn. So renumbering is no difference, and an inserted node makes only its users differ. Inputs that are
numbered (`primals_3`) are known by their type and by what reads them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tltui.text.diff.diff import changes
from tltui.text.diff.normalise import Rule, normalised, rules_of
from tltui.text.graphs.fx_graph import FxGraph, FxNode, parse

_FREED = re.compile(r";  (?:\w+ = )+None(?=;|$)")
_NAME = re.compile(r"\"[^\"]*\"|'[^']*'|(?<![\w.])[A-Za-z_]\w*")
_PLACE = re.compile(r":\d{1,9} in (\S+, code: \S)")
_NUMBERED = re.compile(r"_\d+$|_\d+_$")
_INDEX = re.compile(r"\b(idx=)\d+")
ALIASES = 8
"""Names of names that are followed."""
Names = Mapping[tuple[int, str], str]
"""(graph, name of an input) → what it is called in the comparison."""


@dataclass(frozen=True, slots=True)
class GraphText:
    """A graph as text and parsed."""

    lines: tuple[str, ...]
    graph: FxGraph

    @property
    def understood(self) -> bool:
        """Whether it is a graph at all."""
        return self.graph.statements > 0


def graph_text(text: str) -> GraphText:
    """Parse the text of a graph."""
    lines = tuple(text.split("\n"))
    return GraphText(lines, parse(lines))


def line_keys(own: GraphText, names: Names, rules: Sequence[Rule] | None = None) -> tuple[tuple[Hashable, ...], int]:
    """What each line amounts to, and how many things were left out of that: what any run changes, or what `rules` say."""
    rules = rules_of("\n".join(own.lines)) if rules is None else rules
    by_line: dict[int, list[FxNode]] = {}
    for node in own.graph.nodes:
        by_line.setdefault(node.line, []).append(node)
    keys: list[Hashable] = []
    hidden = 0
    for number, line in enumerate(own.lines):
        nodes = by_line.get(number)
        if nodes is not None:
            if " = None" in line:
                line, count = _FREED.subn("", line)
                hidden += count
            line = _roles(line, own.graph, nodes, names)
        elif "# File: " in line:
            line = _PLACE.sub(r":‹line› in \1", line)
        if rules or "{'" in line:
            line, count = normalised(line, rules)
            hidden += count
        keys.append(line.rstrip())
    return tuple(keys), hidden


def _roles(line: str, graph: FxGraph, nodes: Sequence[FxNode], names: Names) -> str:
    """The line with the names of nodes replaced by what they are."""
    own = {node.name for node in nodes if node.kind != "placeholder"}
    place = nodes[0].graph

    def role(match: re.Match[str]) -> str:
        name = match.group()
        if name in own:
            return "·"
        node = graph.find(name, place)
        return name if node is None else role_of(graph, node, names)

    if nodes[0].kind == "placeholder":
        line = _INDEX.sub(r"\1‹n›", line)
    return _NAME.sub(role, line)


def role_of(graph: FxGraph, node: FxNode, names: Names) -> str:
    """What a node is to those that read it. Another name for a node is that node."""
    node = resolved(graph, node)
    if node.kind == "placeholder":
        return names.get((node.graph, node.name), node.name)
    return f"‹{node.target or node.kind}›"


def resolved(graph: FxGraph, node: FxNode) -> FxNode:
    """The node that a name stands for in the end."""
    for _ in range(ALIASES):
        found = graph.producers(node) if node.kind == "alias" else ()
        if not found:
            break
        node = found[0]
    return node


def paired_inputs(left: FxGraph, right: FxGraph, rules: tuple[Sequence[Rule], Sequence[Rule]] = ((), ())) -> tuple[Names, Names]:
    """Names under which the numbered inputs of both graphs are compared: the same for those that belong together. `rules`: what
    is left out of the types of either side."""
    a, b = _inputs(left), _inputs(right)
    if not {node.name for node in a} & {node.name for node in b}:  # one was traced anew: no name has survived
        a, b = _inputs(left, True), _inputs(right, True)
    types_a, types_b = [normalised(n.type, rules[0])[0] for n in a], [normalised(n.type, rules[1])[0] for n in b]
    kinds_a = [(n.graph, type_) for n, type_ in zip(a, types_a, strict=True)]
    kinds_b = [(n.graph, type_) for n, type_ in zip(b, types_b, strict=True)]
    if kinds_a == kinds_b and [n.name for n in a] == [n.name for n in b]:
        return {}, {}
    names: tuple[dict[tuple[int, str], str], dict[tuple[int, str], str]] = {}, {}
    users_a, users_b = [_users(left, node) for node in a], [_users(right, node) for node in b]
    for change in changes(list(zip(kinds_a, users_a, strict=True)), list(zip(kinds_b, users_b, strict=True))):
        x0, x1, y0, y1 = change.a0, change.a1, change.b0, change.b1
        # of a stretch where what reads them changed: one after another, as far as their types agree
        same = [change] if change.same else [c for c in changes(kinds_a[x0:x1], kinds_b[y0:y1]) if c.same]
        x0, y0 = (0, 0) if change.same else (x0, y0)
        for c in same:
            for x, y in zip(range(x0 + c.a0, x0 + c.a1), range(y0 + c.b0, y0 + c.b1), strict=True):
                names[0][a[x].graph, a[x].name] = names[1][b[y].graph, b[y].name] = f"‹input {len(names[0])}›"
    return names


def _inputs(graph: FxGraph, every: bool = False) -> list[FxNode]:
    return [node for node in graph.nodes if node.kind == "placeholder" and (every or _NUMBERED.search(node.name))]


def _users(graph: FxGraph, node: FxNode) -> Hashable:
    """The operations that read an input."""
    return tuple(sorted(Counter(user.target for user in graph.users(node)).items()))
