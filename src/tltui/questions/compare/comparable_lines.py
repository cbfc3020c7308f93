"""Normalized lines of two texts of one kind, and the FX graph node keys that they are aligned by."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from tltui.text.frozen import frozen
from tltui.text.graphs import guard_tree
from tltui.text.graphs.fx_graph import FxGraph, FxNode, parse
from tltui.text.line_diff import Change, changes
from tltui.text.normalisation import NOBODY, RankIdentity, Rule, normalised, own_rules, rules_of
from tltui.trace.grammar import parse_json

_FREED = re.compile(r";  (?:\w+ = )+None(?=;|$)")
_NAME = re.compile(r"\"[^\"]*\"|'[^']*'|(?<![\w.])[A-Za-z_]\w*")
_PLACE = re.compile(r":\d{1,9} in (\S+, code: \S)")
_NUMBERED = re.compile(r"_\d+$|_\d+_$")
_INDEX = re.compile(r"\b(idx=)\d+")
ALIASES = 8
"""Names of names that are followed."""
Names = Mapping[tuple[int, str], str]
"""(graph, input name) → common name in the comparison."""


@frozen
class GraphText:
    """A graph as text and parsed."""

    lines: tuple[str, ...]
    graph: FxGraph

    @property
    def understood(self) -> bool:
        """Whether the text is a graph."""
        return self.graph.statements > 0


def graph_text(text: str) -> GraphText:
    """Parse the text of a graph."""
    lines = tuple(text.split("\n"))
    return GraphText(lines, parse(lines))


def line_keys(graph: GraphText, names: Names, rules: Sequence[Rule] | None = None) -> tuple[tuple[Hashable, ...], int]:
    """Return a comparison key per line and the number of normalized parts.

    Normalized are the parts that `rules` match (default: the parts that vary between runs).
    """
    rules = rules_of("\n".join(graph.lines)) if rules is None else rules
    by_line: dict[int, list[FxNode]] = {}
    for node in graph.graph.nodes:
        by_line.setdefault(node.line, []).append(node)
    keys: list[Hashable] = []
    hidden = 0
    for number, line in enumerate(graph.lines):
        nodes = by_line.get(number)
        if nodes is not None:
            if " = None" in line:
                line, count = _FREED.subn("", line)
                hidden += count
            line = _roles(line, graph.graph, nodes, names)
        elif "# File: " in line:
            line = _PLACE.sub(r":‹line› in \1", line)
        if rules or "{'" in line:
            line, count = normalised(line, rules)
            hidden += count
        keys.append(line.rstrip())
    return tuple(keys), hidden


def _roles(line: str, graph: FxGraph, nodes: Sequence[FxNode], names: Names) -> str:
    """Replace the node names in a line by the roles of the nodes."""
    computed = {node.name for node in nodes if node.kind != "placeholder"}
    place = nodes[0].graph

    def role(match: re.Match[str]) -> str:
        name = match.group()
        if name in computed:
            return "·"
        node = graph.find(name, place)
        return name if node is None else role_of(graph, node, names)

    if nodes[0].kind == "placeholder":
        line = _INDEX.sub(r"\1‹n›", line)
    return _NAME.sub(role, line)


def role_of(graph: FxGraph, node: FxNode, names: Names) -> str:
    """Return the role of a node for its users. An alias has the role of its node."""
    node = resolved(graph, node)
    if node.kind == "placeholder":
        return names.get((node.graph, node.name), node.name)
    return f"‹{node.target or node.kind}›"


def resolved(graph: FxGraph, node: FxNode) -> FxNode:
    """Follow aliases to the final node."""
    for _ in range(ALIASES):
        producers = graph.producers(node) if node.kind == "alias" else ()
        if not producers:
            break
        node = producers[0]
    return node


def paired_inputs(left: FxGraph, right: FxGraph, rules: tuple[Sequence[Rule], Sequence[Rule]] = ((), ())) -> tuple[Names, Names]:
    """Return common names for the matching numbered inputs of two graphs.

    `rules`: the normalization of types on each side.
    """
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
    """Return the operations that read an input."""
    return tuple(sorted(Counter(user.target for user in graph.users(node)).items()))


@frozen
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


@frozen
class Difference:
    """Changes between two sides."""

    left: Side
    right: Side
    changes: tuple[Change, ...]
    owns: tuple[RankIdentity, RankIdentity] = (NOBODY, NOBODY)
    """What each side called its own."""

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
        """Whether only normalized parts changed."""
        return all(change.same for change in self.changes)

    @property
    def hidden(self) -> int:
        """Lines that look different and count as equal."""
        pairs = ((a, b) for c in self.changes if c.same for a, b in zip(range(c.a0, c.a1), range(c.b0, c.b1), strict=True))
        return sum(self.left.lines[a] != self.right.lines[b] for a, b in pairs)


def difference(
    left: str, right: str, language: str, raw: bool = False, owns: tuple[RankIdentity, RankIdentity] = (NOBODY, NOBODY)
) -> Difference:
    """Compare two texts in a language of `text.highlight.LANGUAGES`.

    `raw`: line by line without normalization. `owns`: the rank identity of each side.
    """
    if raw:
        a, b = _plain(left), _plain(right)
    elif language == "fx":
        a, b = _graphs(left, right, owns)
    else:
        a, b = side_of(left, language, owns[0]), side_of(right, language, owns[1])
    return Difference(a, b, tuple(changes(a.keys, b.keys)), owns)


def side_of(text: str, language: str, identity: RankIdentity) -> Side:
    """One side of a comparison, of a language that can be laid out without knowing the other one: any but graphs."""
    make = {"guards": _guards, "json": _json, "traceback": _traceback}.get(language, _lines)
    return make(text, identity)


def _plain(text: str) -> Side:
    lines = tuple(text.split("\n"))
    return Side(lines, lines, tuple(range(1, len(lines) + 1)))


_SETTING = re.compile(r"torch\._\w+\.config\.[\w.]+ = |os\.environ\[")


def _lines(text: str, identity: RankIdentity) -> Side:
    """Line by line; settings that follow one another (`fx_graph_runnable` writes a set) in the order of the alphabet."""
    lines = text.split("\n")
    order = list(range(len(lines)))
    first = 0
    for n in range(len(lines) + 1):
        if n == len(lines) or not _SETTING.match(lines[n]):
            if n - first > 1:
                order[first:n] = sorted(range(first, n), key=lines.__getitem__)
            first = n + 1
    shown = [lines[n] for n in order]
    keys, hidden = _normalised(shown, rules_for(text, identity))
    return Side(tuple(shown), keys, tuple(n + 1 for n in order), hidden)


_FRAME = re.compile(r"^ *File \"[^\"]*/(?:torch|torch_[\w.]+|torchgen|importlib|lib/python3\.\d+)/[^\"]*\", line \d+")


def _traceback(text: str, identity: RankIdentity) -> Side:
    """Frames of torch and of Python's own library that follow one another count as one line: their number is no difference."""
    lines = text.split("\n")
    shown: list[str] = []
    numbers: list[int] = []
    keys: list[str] = []
    rules = rules_for(text, identity)
    hidden = 0
    inside = 0
    for number, line in enumerate(lines, 1):
        is_frame = line.lstrip().startswith("File ")
        inside = (2 if _FRAME.match(line) else 0) if is_frame else inside
        if inside and (is_frame or line.startswith("    ")):
            key = "‹framework›"
            hidden += 1
            if keys and keys[-1] == key:
                shown[-1] = f"  ⋯ frames of the framework up to line {number}"
                continue
            shown.append(line)
        else:
            inside = 0
            key, count = normalised(line, rules)
            hidden += count
            shown.append(line)
        keys.append(key)
        numbers.append(number)
    return Side(tuple(shown), tuple(keys), tuple(numbers), hidden)


def rules_for(text: str, identity: RankIdentity) -> tuple[Rule, ...]:
    """Return the normalization rules of a text: parts that vary between runs, then the rank identity."""
    return (*rules_of(text), *own_rules(identity, text))


def _normalised(lines: Sequence[str], rules: Sequence[Rule]) -> tuple[tuple[str, ...], int]:
    texts = [normalised(line, rules) for line in lines]
    return tuple(line for line, _ in texts), sum(count for _, count in texts)


def _guards(text: str, identity: RankIdentity) -> Side:
    """Sort guards by source, managers with their children; the user's line is part of a guard's key."""
    lines = text.split("\n")
    tree = guard_tree.parse(lines)
    if not tree.nodes:
        return _lines(text, identity)
    below: dict[int, list[int]] = {}
    for place, node in enumerate(tree.nodes):
        below.setdefault(node.parent, []).append(place)
    order: list[int] = []
    rules = rules_for(text, identity)
    names = {place: normalised(_guard_name(node), rules)[0] for place, node in enumerate(tree.nodes)}

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
    keys, hidden = _normalised([_guard_key(line) for line in shown], rules)
    return Side(shown, keys, tuple(n + 1 for n in numbers), hidden)


_SLOT, _LINE = re.compile(r"framelocals_idx=\d+"), re.compile(r":\d+ in ")
_ALIASES = re.compile(r"\+- (?:LAMBDA_GUARD|OBJECT_ALIASING): [^#\n]{1,2000} is (?!not |None)")
"""Two names for one thing: torch notes the line of one of them, and which one depends on the run."""


def _guard_key(line: str) -> str:
    """Normalize a guard: without alignment, frame slot and source line number."""
    code, mark, comment = line.partition("  # ")
    code = _SLOT.sub("framelocals_idx", code.rstrip())
    if mark and _ALIASES.search(code):
        return code
    return code + mark + _LINE.sub(":‹line› in ", comment.strip()) if mark else code


def _guard_name(node: guard_tree.GuardNode) -> str:
    return f"{node.source or node.kind} {node.kind} {node.expression}"


def _graphs(left: str, right: str, owns: tuple[RankIdentity, RankIdentity]) -> tuple[Side, Side]:
    """Graphs by structure, where both are graphs."""
    a, b = graph_text(left), graph_text(right)
    if not (a.understood and b.understood):
        return _lines(left, owns[0]), _lines(right, owns[1])
    rules = rules_for(left, owns[0]), rules_for(right, owns[1])
    names = paired_inputs(a.graph, b.graph, rules)
    sides = []
    for graph, mapping, its_rules in zip((a, b), names, rules, strict=True):
        keys, hidden = line_keys(graph, mapping, its_rules)
        sides.append(Side(graph.lines, keys, tuple(range(1, len(graph.lines) + 1)), hidden))
    return sides[0], sides[1]


def _json(text: str, identity: RankIdentity) -> Side:
    """One value a line, keys in order."""
    try:
        value = parse_json(text.encode("utf-8", "surrogatepass"), exact=True)
    except ValueError:
        return _lines(text, identity)
    lines = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=repr).split("\n")
    keys, hidden = _normalised([line.rstrip(",") for line in lines], rules_for("\n".join(lines), identity))
    return Side(tuple(lines), keys, (0,) * len(lines), hidden)
