"""Two texts of the same kind → their lines in an order that can be compared, and what each line amounts to.

Guards are put in the order of their sources; the nodes of a graph are known by what they do, not by their names; JSON is laid
out by key; everything else is compared line by line. What only another run changes is left out of the comparison
(`text.normalise`), and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tltui.text import guard_tree
from tltui.text.diff import Change, changes
from tltui.text.fx_graph import FxGraph, FxNode, parse
from tltui.text.normalise import normalised
from tltui.trace.grammar import parse_json


@dataclass(frozen=True, slots=True)
class Side:
    """One of two texts, ready to be compared."""

    lines: tuple[str, ...]
    """What is shown."""
    keys: tuple[Hashable, ...]
    """What is compared, one for each line."""
    numbers: tuple[int, ...]
    """The line of the text as it is stored, from 1, for each line shown; 0 where it has none (laid-out JSON)."""
    hidden: int = 0
    """Things that were left out of the comparison."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two sides."""

    left: Side
    right: Side
    changes: tuple[Change, ...]

    @property
    def added(self) -> int:
        """Lines that only the right has."""
        return sum(c.b1 - c.b0 for c in self.changes if not c.same)

    @property
    def removed(self) -> int:
        """Lines that only the left has."""
        return sum(c.a1 - c.a0 for c in self.changes if not c.same)

    @property
    def same(self) -> bool:
        """Whether nothing changed but what was left out."""
        return all(change.same for change in self.changes)

    @property
    def hidden(self) -> int:
        """Lines that look different and count as equal."""
        pairs = ((a, b) for c in self.changes if c.same for a, b in zip(range(c.a0, c.a1), range(c.b0, c.b1), strict=True))
        return sum(self.left.lines[a] != self.right.lines[b] for a, b in pairs)


def difference(left: str, right: str, language: str, raw: bool = False) -> Difference:
    """Compare two texts of a language of `text.highlight.LANGUAGES`; `raw`: line by line, nothing left out."""
    make = _plain if raw else {"guards": _guards, "fx": _graph, "json": _json}.get(language, _lines)
    a, b = make(left), make(right)
    return Difference(a, b, tuple(changes(a.keys, b.keys)))


def _plain(text: str) -> Side:
    lines = tuple(text.split("\n"))
    return Side(lines, lines, tuple(range(1, len(lines) + 1)))


def _lines(text: str) -> Side:
    lines = text.split("\n")
    keys, hidden = _normalised(lines)
    return Side(tuple(lines), keys, tuple(range(1, len(lines) + 1)), hidden)


def _normalised(lines: Sequence[str]) -> tuple[tuple[str, ...], int]:
    found = [normalised(line) for line in lines]
    return tuple(line for line, _ in found), sum(count for _, count in found)


def _guards(text: str) -> Side:
    """Guards in the order of their sources, each manager with what is below it; the user's line belongs to a guard's key."""
    lines = text.split("\n")
    tree = guard_tree.parse(lines)
    if not tree.nodes:
        return _lines(text)
    below: dict[int, list[int]] = {}
    for place, node in enumerate(tree.nodes):
        below.setdefault(node.parent, []).append(place)
    order: list[int] = []
    names = {place: normalised(_guard_name(node))[0] for place, node in enumerate(tree.nodes)}

    def walk(parent: int) -> None:
        # what a manager checks itself stands before the managers below it
        for place in sorted(below.get(parent, ()), key=lambda n: (tree.nodes[n].is_manager, names[n])):
            order.append(place)
            walk(place)

    walk(-1)
    used = {node.line for node in tree.nodes}
    rest = [n for n, line in enumerate(lines) if n not in used and line.strip()]
    numbers = [tree.nodes[place].line for place in order] + rest
    shown = tuple(lines[n] for n in numbers)
    keys, hidden = _normalised([re.sub(r"framelocals_idx=\d+", "framelocals_idx", re.sub(r"  +", "  ", line)) for line in shown])
    return Side(shown, keys, tuple(n + 1 for n in numbers), hidden)


def _guard_name(node: guard_tree.GuardNode) -> str:
    return f"{node.source or node.kind} {node.kind} {node.expression}"


_FREED = re.compile(r";  (?:\w+ = )+None(?:;|$)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def _graph(text: str) -> Side:
    """A node is what it does: operation, arguments by what made them, dtype and shape. Its name and what is freed after it
    are not; so renumbering is no difference, and an inserted node makes only its users differ."""
    lines = text.split("\n")
    graph = parse(lines)
    if graph.statements == 0:
        return _lines(text)
    keys: list[Hashable] = []
    hidden = 0
    for number, line in enumerate(lines):
        nodes = graph.at(number)
        stripped, freed = _FREED.subn("", line)
        hidden += freed
        if nodes and "def forward" not in line:
            stripped = _roles(stripped, graph, nodes)
        key, count = normalised(stripped)
        hidden += count
        keys.append(key.rstrip())
    return Side(tuple(lines), tuple(keys), tuple(range(1, len(lines) + 1)), hidden)


def _roles(line: str, graph: FxGraph, nodes: Sequence[FxNode]) -> str:
    """The line with the names of nodes replaced by what they are."""
    own = {node.name for node in nodes}
    place = nodes[0].graph

    def role(match: re.Match[str]) -> str:
        name = match.group()
        if name in own:
            return "·"
        node = graph.find(name, place)
        if node is None:
            return name
        return name if node.kind == "placeholder" else f"‹{node.target or node.kind}›"

    return _WORD.sub(role, line)


def _json(text: str) -> Side:
    """One value a line, keys in order."""
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass"), exact=True)
    except ValueError:
        return _lines(text)
    lines = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=repr).split("\n")
    keys, hidden = _normalised([line.rstrip(",") for line in lines])
    return Side(tuple(lines), keys, (0,) * len(lines), hidden)
