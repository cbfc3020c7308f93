"""Node changes of a pass: nodes added, removed, moved, retargeted, rewired or retyped."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from tltui.questions.compare.comparable_lines import GraphText, Names, line_keys, paired_inputs, resolved, role_of
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.line_diff import changes

ADDED, REMOVED, RETARGETED, RETYPED, REWIRED = "added", "removed", "retargeted", "retyped", "rewired"
KINDS = (ADDED, REMOVED, RETARGETED, RETYPED, REWIRED)
_FREES = re.compile(r";  (?:\w+ = )+None(?=;|$)")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
LONGEST = 400


@frozen
class NodeChange:
    """A node that a step changed. Lines count from 1, 0 where it is not in that graph."""

    kind: str
    """`added`, `removed`, `retargeted` (calls something else), `retyped` (dtype or shape), `rewired` (reads something else)."""
    name: str
    before: str
    after: str
    line_before: int
    line_after: int


@frozen
class GraphChange:
    """Node changes of a graph."""

    nodes_before: int
    """Nodes before."""
    nodes_after: int
    unchanged: int
    renamed: int
    """Of those that are the same, how many have another name."""
    moved: int
    """The same, at another place in the order."""
    changes: tuple[NodeChange, ...]

    def count(self, kind: str) -> int:
        """Return the number of changes of a kind."""
        return sum(change.kind == kind for change in self.changes)


@frozen
class _Matching:
    """Nodes of two graphs, in the order of their texts, and which of them are the same ones. Numbers are places in these lists."""

    left: list[FxNode]
    right: list[FxNode]
    same: list[tuple[int, int]]
    """Pairs that compute the same."""
    moved: int
    """How many of those have another place in the order."""
    changed: list[tuple[int, int]]
    """Pairs of one node before and after a change."""
    alone: list[tuple[list[int], list[int]]]


def _matching(left: GraphText, right: GraphText) -> _Matching:
    names = paired_inputs(left.graph, right.graph)
    a, b = _nodes(left), _nodes(right)
    keys_a, keys_b = _keys(left, a, names[0]), _keys(right, b, names[1])
    pairs: list[tuple[int, int]] = []
    blocks: list[tuple[list[int], list[int]]] = []
    for change in changes(keys_a, keys_b):
        if change.same:
            pairs += zip(range(change.a0, change.a1), range(change.b0, change.b1), strict=True)
        else:
            blocks.append((list(range(change.a0, change.a1)), list(range(change.b0, change.b1))))
    moved = _moved(blocks, keys_a, keys_b)
    changed = _by_name(blocks, a, b) + _by_target(blocks, a, b)
    same = pairs + moved
    following = _following(left, right, [(a[x], b[y]) for x, y in same + changed])
    same += [(x, y) for x, y in changed if (a[x], b[y]) in following]
    return _Matching(a, b, same, len(moved), [(x, y) for x, y in changed if (a[x], b[y]) not in following], blocks)


def node_changes(left: GraphText, right: GraphText) -> GraphChange:
    """Compare two graphs node by node."""
    matching = _matching(left, right)
    a, b, same = matching.left, matching.right, matching.same
    node_list = [_changed(left, right, a[x], b[y]) for x, y in matching.changed]
    node_list += [_alone(left, a[x], REMOVED) for block, _ in matching.alone for x in block]
    node_list += [_alone(right, b[y], ADDED) for _, block in matching.alone for y in block]
    node_list.sort(key=lambda change: (change.line_after or change.line_before, KINDS.index(change.kind)))
    renamed = sum(a[x].name != b[y].name for x, y in same)
    return GraphChange(len(a), len(b), len(same), renamed, matching.moved, tuple(node_list))


def node_pairs(left: GraphText, right: GraphText) -> list[tuple[FxNode, FxNode]]:
    """Return the nodes of two graphs that are the same ones, changed or not.

    Of the others those of one source line and type, if each side has one: another operator for the same result.
    """
    matching = _matching(left, right)
    a, b = matching.left, matching.right
    places: tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]] = (defaultdict(list), defaultdict(list))
    for block, other in matching.alone:
        for side, text, nodes, numbers in ((places[0], left, a, block), (places[1], right, b, other)):
            for number in numbers:
                if (origin := _origin(text, nodes[number])) is not None:
                    side[origin, nodes[number].type].append(number)
    replaced = [(lefts[0], places[1][key][0]) for key, lefts in places[0].items() if len(lefts) == len(places[1].get(key, ())) == 1]
    return [(a[x], b[y]) for x, y in (*matching.same, *matching.changed, *replaced)]


_FLAT = ("primals", "tangents")
_OPEN = ("(", "[", "{", ",")


def _nodes(graph_text: GraphText) -> list[FxNode]:
    """Return the effective nodes: without aliases and unpacked input lists."""
    return [
        n for n in graph_text.graph.nodes if n.kind != "alias" and not (n.kind == "placeholder" and n.name in _FLAT and not n.type)
    ]


def _keys(graph_text: GraphText, nodes: Sequence[FxNode], names: Names) -> list[Hashable]:
    lines, _ = line_keys(graph_text, names)
    count = Counter(node.line for node in nodes)
    keys: list[Hashable] = []
    for node in nodes:
        text = str(lines[node.line]).strip()
        if node.kind == "placeholder":
            keys.append((node.graph, node.type, names.get((node.graph, node.name), node.name)))
        elif count[node.line] == 1 and node.kind != "output" and not text.endswith(_OPEN):
            keys.append((node.graph, text, _origin(graph_text, node)))
        else:
            roles = tuple(role_of(graph_text.graph, producer, names) for producer in graph_text.graph.producers(node))
            keys.append((node.graph, node.kind, node.target, node.type, roles))
    return keys


def _origin(graph_text: GraphText, node: FxNode) -> Hashable:
    """Return the source line by its code: an edit above it only moves it, and its function may have another name."""
    if node.origin < 0:
        return None
    origin = graph_text.graph.origins[node.origin]
    return origin.code or (origin.function, origin.place)


Blocks = Sequence[tuple[list[int], list[int]]]


def _moved(blocks: Blocks, keys_a: Sequence[Hashable], keys_b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Nodes that are the same but for their place; they are taken out of the blocks."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for _, block in blocks:
        for y in block:
            places[keys_b[y]].append(y)
    pairs = []
    for block, _ in blocks:
        for x in block:
            if waiting := places.get(keys_a[x]):
                pairs.append((x, waiting.pop(0)))
    _append_pairs(blocks, pairs)
    return pairs


def _by_name(blocks: Blocks, a: Sequence[FxNode], b: Sequence[FxNode]) -> list[tuple[int, int]]:
    """Nodes of one name that still call the same, or still have the same type."""
    places = {(b[y].graph, b[y].name): y for _, block in blocks for y in block}
    pairs = []
    for block, _ in blocks:
        for x in block:
            y = places.get((a[x].graph, a[x].name))
            if y is not None and (a[x].target == b[y].target or (a[x].type and a[x].type == b[y].type)):
                pairs.append((x, y))
    _append_pairs(blocks, pairs)
    return pairs


def _by_target(blocks: Blocks, a: Sequence[FxNode], b: Sequence[FxNode]) -> list[tuple[int, int]]:
    """Within a stretch that changed: nodes that call the same, in their order."""
    pairs: list[tuple[int, int]] = []
    for block, other in blocks:
        for change in changes([(a[x].kind, a[x].target) for x in block], [(b[y].kind, b[y].target) for y in other]):
            if change.same:
                pairs += zip(block[change.a0 : change.a1], other[change.b0 : change.b1], strict=True)
    _append_pairs(blocks, pairs)
    return pairs


Pairs = set[tuple[FxNode, FxNode]]


def _following(left: GraphText, right: GraphText, pairs: list[tuple[FxNode, FxNode]]) -> Pairs:
    """Pair nodes that only read changed nodes: same operation and type, and paired producers."""
    partner = {(x.graph, x.name): (y.graph, y.name) for x, y in pairs}
    followers: Pairs = set()
    for x, y in pairs:
        if x.target != y.target or x.type != y.type or x.kind != y.kind:
            continue
        mapped = [partner.get((p.graph, p.name)) for p in _producers(left, x)]
        if mapped == [(p.graph, p.name) for p in _producers(right, y)] and _rest(left, x) == _rest(right, y):
            followers.add((x, y))
    return followers


def _producers(graph_text: GraphText, node: FxNode) -> list[FxNode]:
    return [resolved(graph_text.graph, producer) for producer in graph_text.graph.producers(node)]


def _rest(graph_text: GraphText, node: FxNode) -> str:
    """Return a node's text without node names: numbers, dtypes, keywords."""
    if node.kind in ("placeholder", "output"):
        return node.type
    names = {node.name, *node.args}
    return _WORD.sub(lambda match: "·" if match.group() in names else match.group(), _text(graph_text, node))


def _append_pairs(blocks: Blocks, pairs: Sequence[tuple[int, int]]) -> None:
    gone_a, gone_b = {x for x, _ in pairs}, {y for _, y in pairs}
    for block, other in blocks:
        block[:] = [x for x in block if x not in gone_a]
        other[:] = [y for y in other if y not in gone_b]


def _changed(left: GraphText, right: GraphText, before: FxNode, after: FxNode) -> NodeChange:
    kind = RETARGETED if before.target != after.target else RETYPED if before.type != after.type else REWIRED
    return NodeChange(kind, after.name, _text(left, before), _text(right, after), before.line + 1, after.line + 1)


def _alone(graph_text: GraphText, node: FxNode, kind: str) -> NodeChange:
    text = _text(graph_text, node)
    if kind == REMOVED:
        return NodeChange(kind, node.name, text, "", node.line + 1, 0)
    return NodeChange(kind, node.name, "", text, 0, node.line + 1)


def _text(graph_text: GraphText, node: FxNode) -> str:
    """Return the text of a node in the graph without the names that it frees."""
    line = _FREES.sub("", graph_text.lines[node.line]).strip()
    if node.kind == "placeholder":
        return f'{node.name}: "{node.type}"' if node.type else node.name
    if node.kind == "output":
        return f"return ({', '.join(node.args)})"[:LONGEST]
    return line[:LONGEST]
