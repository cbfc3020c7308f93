"""The nodes of a fused kernel: what lies between the values that it writes and those that it reads."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.provenance.flow.between import lowered
from tltui.analyses.provenance.flow.known import SCATTERS, Identified, buffer_node, copied_for, standing_for
from tltui.analyses.provenance.flow.lowering import FIXED, Lowering, traceless
from tltui.analyses.provenance.flow.values import Values
from tltui.analyses.provenance.flow.wrapper import FUSED, Step, in_place


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
        read = {name for version in step.reads if version.node for name in standing_for(values, version)}
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
                if name not in self.lowered.kept:  # one that has to be in memory carries nothing
                    nodes |= self.lowered.carried.get(name, frozenset((name,)))
                continue
            if name not in self.found.joined and not (user and self.found.only_joins(node)):
                nodes.add(name)
            operands = node.operands[1:] if node.op in SCATTERS or node.op == "copy_" else node.operands
            todo += [(operand, name) for operand in operands]
        unknown = [version for version in step.reads if not version.node and not version.start_of]
        if unknown:
            since = max(version.by for version in unknown)
            nodes = {name for name in nodes if self.ready[name] > since or name in wanted}
        elif lost:
            return set()
        return {name for name in nodes if not traceless(values, name) or (name in wanted and self.is_given(name))}

    def is_given(self, name: str) -> bool:
        """Whether an item is handed out as it is: then it is brought into the order that is expected, which counts as its own.
        With sizes that are symbols it may stay as it is, no text tells; of one that is 1 long in its first dimension every order
        may be the expected one."""
        values = self.values
        shape = values.nodes[name].shape
        if shape is None or shape.count is None or shape.sizes[:1] == ("1",):
            return False
        return name in values.outputs and not any(values.is_view(user) for user in values.users.get(name, ()))

    def copied(self, name: str, reader: str) -> frozenset[str]:
        """What a copy of a value counts as: as the external kernel that has it copied, where nobody else reads the value."""
        values = self.values
        if name in self.lowered.kept:
            return self.lowered.carried[name]
        users = values.users.get(name, ())
        if values.nodes[name].kind == "placeholder" and (len(users) > 1 or name in values.outputs):
            fixed = any(values.nodes[user].op in FIXED for user in users)
            return frozenset((name,)) if fixed else self.lowered.carried.get(reader, frozenset())
        return self.lowered.carried.get(reader, frozenset())

    def starts(self, step: Step, read: set[str]) -> tuple[set[str], list[str]]:
        """Nodes that are certain from the outset, and the nodes whose values it writes."""
        values, carried = self.values, self.lowered.carried
        nodes: set[str] = set()
        wanted = []
        for version in step.writes:
            if version.part_of:
                nodes |= carried.get(version.part_of, frozenset())
            elif version.start_of:
                nodes |= carried.get(version.start_of, frozenset())
            elif version.node and (values.root(version.node) in read or copied_for(values, version)):
                nodes |= self.copied(version.node, version.reader)
            elif version.node:
                wanted.append(buffer_node(values, version))
                if values.nodes[wanted[-1]].op in SCATTERS:
                    nodes |= carried.get(wanted[-1], frozenset())
        return nodes, wanted


def nodes_of_steps(found: Identified) -> dict[int, tuple[str, ...]]:
    """The nodes of each call of which something is certain, by the number of the step. An external kernel is one node; one with
    several results is recorded with all that its arguments carried."""
    values = found.values
    slicer = _Slicer(found, lowered(found), _ready(found))
    result = {}
    for step in found.walked.steps:
        if step.kind == FUSED and step.complete and (nodes := slicer.nodes(step)):
            result[step.number] = tuple(sorted(nodes, key=values.order.__getitem__))
    for number, name in found.steps.items():
        if in_place(found.walked.steps[number].name):
            continue  # Inductor knows no node of it
        several = any(values.nodes[user].op == "getitem" for user in values.users.get(name, ()))
        all_of_them = slicer.lowered.carried[name] if several and not values.nodes[name].higher else (name,)
        result[number] = tuple(sorted(all_of_them, key=values.order.__getitem__))
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
