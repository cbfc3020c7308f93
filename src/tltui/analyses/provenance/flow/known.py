"""What is known of the buffers of one function: which node's value each version holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tltui.analyses.provenance.flow.values import Value, Values
from tltui.analyses.provenance.flow.wrapper import FUSED, Version, Walked

SCATTERS = frozenset((
    "_unsafe_index_put", "_unsafe_masked_index_put_accumulate", "index_add", "index_copy", "index_put", "scatter", "scatter_add",
    "scatter_reduce",
))  # fmt: skip
"""Operators that write into a copy of their first argument."""
MAX_SEEN = 2000


@dataclass(slots=True)
class Identified:
    """What is known of one function."""

    values: Values
    walked: Walked
    steps: dict[int, str] = field(default_factory=dict)
    """Calls of external kernels and of functions → the node that they run."""
    used: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)
    """Each `cat` whose pieces are written where they belong: nothing computes it."""
    operators: frozenset[str] = frozenset()
    """Those that external kernels run."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each kind of call runs each operator."""
    _readers: dict[str, list[str]] = field(default_factory=dict)
    _equals: dict[str, list[str]] = field(default_factory=dict)

    def readers(self, node: str) -> list[str]:
        """The nodes that read a value, as it is, through views, or a copy of it."""
        if not self._readers:
            self._index()
        return self._readers.get(self.values.plain(node), [])

    def equals(self, node: str) -> list[str]:
        """The nodes that may stand for the same buffer."""
        if not self._equals:
            self._index()
        return self._equals.get(self.values.plain(node), [])

    def _index(self) -> None:
        for name, node in self.values.nodes.items():
            self._equals.setdefault(self.values.plain(name), []).append(name)
            for plain in dict.fromkeys(map(self.values.plain, node.operands)):
                self._readers.setdefault(plain, []).append(name)

    def is_extern(self, name: str) -> bool:
        """Whether an external kernel runs a node."""
        node = self.values.nodes[name]
        return name in self.used or node.higher or node.op in self.operators

    def name(self, version: Version, node: str) -> bool:
        """Say which node's value a version holds; whether that is new."""
        if version.node or node not in self.values.nodes:
            return False
        version.node = node
        own = self.values.nodes[self.values.root(node)]
        if own.op == "cat" and len(version.parts) == len(own.operands):
            self.joined.add(own.name)
            for place, (part, operand) in enumerate(zip(version.parts, own.operands, strict=True)):
                self.name(part, operand)
                if self.is_copied(own, place):
                    part.part_of = own.name
        return True

    def is_copied(self, cat: Value, place: int) -> bool:
        """Whether a `cat` has a piece copied into its memory; the others are computed where they belong, each in one place
        (`ConcatKernel.realize_into` of torch/_inductor/ir.py)."""
        values, operand = self.values, cat.operands[place]
        if values.is_view(operand) or values.nodes[operand].kind == "placeholder" or self.is_extern(operand):
            return True
        earlier = (user for user in values.users.get(operand, ()) if values.order[user] < values.order[cat.name])
        return operand in cat.operands[:place] or any(values.nodes[user].op == "cat" for user in earlier)

    def only_joins(self, cat: Value) -> bool:
        """Whether nothing computes a `cat`: each piece is written where it belongs. On a CPU that is so of every one, elsewhere
        a kernel may compute it (`cat` of torch/_inductor/lowering.py)."""
        if cat.op != "cat" or not cat.type.endswith("cpu"):
            return False
        return not any(self.is_copied(cat, place) for place in range(len(cat.operands)))


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


def copied_for(values: Values, version: Version) -> str:
    """The node of the external kernel that has a view copied for itself, '' where that is not so: of a view that others read too
    the copy is its own."""
    name = buffer_node(values, version)
    alone = len(values.users.get(name, ())) == 1 and name not in values.outputs
    return version.reader if alone and values.is_view(name) else ""


def standing_for(values: Values, version: Version) -> set[str]:
    """The nodes that a version may stand for."""
    return {values.root(version.node), values.plain(version.node), buffer_node(values, version)}


def closes(found: Identified, version: Version, name: str) -> int:
    """Whether the kernel that wrote a version can have made a node of what it reads: 1 if all that the node needs is read, -1 if
    not, 0 where not all that it reads is known."""
    values = found.values
    step = found.walked.steps[version.by] if version.by >= 0 else None
    if step is None or step.kind != FUSED or not step.complete or any(not read.node for read in step.reads):
        return 0
    read = {other for own in step.reads for other in (values.root(own.node), values.plain(own.node))}
    todo, seen = [name], set[str]()
    while todo:
        name = todo.pop()
        if name in seen or values.root(name) in read or values.plain(name) in read:
            continue
        seen.add(name)
        node = values.nodes[name]
        if node.kind in ("placeholder", "get_attr") or found.is_extern(name) or len(seen) > MAX_SEEN:
            return -1
        todo += node.operands
    return 1
