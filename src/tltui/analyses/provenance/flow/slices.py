"""The nodes of a fused kernel: what lies between the values that it writes and those that it reads."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.provenance.flow.identify import SCATTERS, Identified
from tltui.analyses.provenance.flow.lowering import Lowering, lowering, traceless
from tltui.analyses.provenance.flow.values import Values
from tltui.analyses.provenance.flow.wrapper import FUSED, Step, Version


@dataclass(slots=True)
class _Slicer:
    found: Identified
    lowered: Lowering
    ready: dict[str, int]
    """Node → the last step that must have run before it."""

    @property
    def values(self) -> Values:
        return self.found.values

    def nodes(self, step: Step) -> set[str]:
        """The nodes of one fused kernel."""
        values = self.values
        read = {name for version in step.reads if version.node for name in self.names(version)}
        nodes, wanted = self.starts(step, read)
        lost = False
        todo = [(name, "") for name in wanted]
        seen: set[tuple[str, str]] = set()
        while todo:
            name, user = todo.pop()
            if (name, user) in seen:
                continue
            seen.add((name, user))
            node = values.nodes[name]
            if user and (name in read or name in self.lowered.constant):
                continue
            if node.kind in ("placeholder", "get_attr") or (user and self.found.is_extern(name)):
                lost |= name not in read
                continue
            if values.is_view(name) and values.root(name) in read and name not in wanted:
                nodes |= self.lowered.carried.get(name, frozenset((name,)))
                continue
            nodes.add(name)
            operands = node.operands[1:] if node.op in SCATTERS or node.op == "copy_" else node.operands
            todo += [(operand, name) for operand in operands]
        unknown = [version for version in step.reads if not version.node and not version.start_of]
        if unknown:
            since = max(version.by for version in unknown)
            nodes = {name for name in nodes if self.ready[name] > since}
        elif lost:
            return set()
        return {name for name in nodes if not traceless(values, name) or (name in wanted and name in values.outputs)}

    def starts(self, step: Step, read: set[str]) -> tuple[set[str], list[str]]:
        """Nodes that are certain from the outset, and the nodes whose values it writes."""
        values, carried = self.values, self.lowered.carried
        nodes: set[str] = set()
        wanted = []
        for version in step.writes:
            if version.start_of:
                nodes |= carried.get(version.start_of, frozenset())
            elif version.node and values.root(version.node) in read and values.is_view(version.node):
                copier = version.node if version.node in self.lowered.realized else version.reader
                nodes |= carried.get(copier, frozenset()) if copier else frozenset()
            elif version.node:
                wanted.append(buffer_node(values, version))
                if values.nodes[wanted[-1]].op in SCATTERS:
                    nodes |= carried.get(wanted[-1], frozenset())
        return nodes, wanted

    def names(self, version: Version) -> set[str]:
        """The nodes that a version may stand for."""
        values = self.values
        return {values.root(version.node), values.plain(version.node), buffer_node(values, version)}


def buffer_node(values: Values, version: Version) -> str:
    """The node that a buffer is: of a value and its views the one with the sizes of the buffer, the value itself where several
    have them."""
    root = values.root(version.node)
    if version.shape is None:
        return root
    way, name = [], version.node
    while name != root:
        way.append(name)
        name = values.nodes[name].operands[0]
    for name in (root, *reversed(way)):
        shape = values.nodes[name].shape
        if shape is not None and shape.sizes == version.shape.sizes:
            return name
    return root


def nodes_of_steps(found: Identified) -> dict[int, tuple[str, ...]]:
    """The nodes of each call of which something is certain, by the number of the step. An external kernel is one node; one with
    several results is recorded with all that its arguments carried."""
    values = found.values
    kept = {
        name for version in found.walked.versions
        if version.node and version.by >= 0 and values.is_view(name := buffer_node(values, version))
    }  # fmt: skip
    slicer = _Slicer(found, lowering(values, set(found.steps.values()), kept), _ready(found))
    result = {}
    for step in found.walked.steps:
        if step.kind == FUSED and step.complete and (nodes := slicer.nodes(step)):
            result[step.number] = tuple(sorted(nodes, key=values.order.__getitem__))
    for number, name in found.steps.items():
        several = any(values.nodes[user].op == "getitem" for user in values.users.get(name, ()))
        nodes = slicer.lowered.carried[name] if several and not values.nodes[name].higher else {name}
        result[number] = tuple(sorted(nodes, key=values.order.__getitem__))
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
