"""The nodes of a fused kernel: what lies between the values that it writes and those that it reads."""

from __future__ import annotations

from tltui.analyses.provenance.flow.identify import Identified
from tltui.analyses.provenance.flow.wrapper import FUSED, Step, Version

CREATED = frozenset(("full", "scalar_tensor", "iota", "empty", "zeros", "ones", "full_like", "arange"))


def fused_nodes(found: Identified) -> dict[int, tuple[str, ...]]:
    """The nodes of each fused kernel of which something is certain, by the number of the step."""
    ready = _ready(found)
    result = {}
    for step in found.walked.steps:
        if step.kind == FUSED and step.complete and (nodes := _slice(found, step, ready)):
            result[step.number] = tuple(sorted(nodes, key=found.values.order.__getitem__))
    return result


def _ready(found: Identified) -> dict[str, int]:
    """Node → the last step that must have run before it: a node cannot be older than what it is made of."""
    values = found.values
    written: dict[str, int] = {}
    for version in found.walked.versions:
        if version.node and version.by >= 0:
            root = values.root(version.node)
            written[root] = min(version.by, written.get(root, version.by))
    ready: dict[str, int] = {}
    for name, node in values.nodes.items():
        ready[name] = max((written.get(operand, ready.get(operand, -1)) for operand in node.operands), default=-1)
    return ready


def _slice(found: Identified, step: Step, ready: dict[str, int]) -> set[str]:
    values = found.values
    read = {name for version in step.reads if version.node for name in _names(found, version)}
    nodes: set[str] = set()
    lost = False
    wanted = [version.node for version in step.writes if version.node]
    todo = [(values.root(name) if values.root(name) not in read else name, True) for name in wanted]
    seen = set()
    while todo:
        name, first = todo.pop()
        if (name, first) in seen:
            continue
        seen.add((name, first))
        node = values.nodes[name]
        if name in read and not first:
            continue
        if node.kind in ("placeholder", "get_attr"):
            lost |= name not in read
            continue
        if name not in read or not values.is_view(name) or first:
            nodes.add(name)
        operands = node.operands[1:] if node.op == "copy_" else node.operands
        todo += [(operand, False) for operand in operands]
    unknown = [version for version in step.reads if not version.node]
    if unknown:
        since = max(version.by for version in unknown)
        nodes = {name for name in nodes if ready[name] > since}
    elif lost:
        return set()
    return {name for name in nodes if not _traceless(found, name, wanted)}


def _names(found: Identified, version: Version) -> set[str]:
    values = found.values
    return {values.root(version.node), values.plain(version.node)}


def _traceless(found: Identified, name: str, wanted: list[str]) -> bool:
    """Whether lowering leaves no trace of a node: views that change nothing, and items that no buffer holds."""
    values = found.values
    node = values.nodes[name]
    if node.op == "getitem":
        return name not in wanted
    return values.is_view(name) and bool(node.type) and node.type == values.nodes[node.operands[0]].type
