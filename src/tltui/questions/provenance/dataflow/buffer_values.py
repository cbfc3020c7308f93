"""The node value that each version of a buffer holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tltui.questions.provenance.dataflow.value_graph import Lowering, Shape, Value, Values, fits, lowering
from tltui.questions.provenance.dataflow.wrapper_code import EXTERN, FUNCTION, FUSED, Step, Version, Walked, in_place

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


MAX_GROUP, MAX_WAY = 8, 500


def lowered(found: Identified) -> Lowering:
    """What each node carries, by what is known so far."""
    values = found.values
    kept = {
        name for version in found.walked.versions
        if version.node and version.by >= 0 and values.is_view(name := buffer_node(values, version))
        and not version.part_of and not copied_for(values, version)
    }  # fmt: skip
    return lowering(values, set(found.steps.values()), kept)


def identify_between(found: Identified) -> bool:
    """Identify such buffers; whether there were any."""
    groups = _groups(found)
    if not groups:
        return False
    values, memory, new = found.values, lowered(found), False
    ways: dict[int, set[str]] = {}
    taken = {values.root(version.node) for version in found.walked.versions if version.node and version.by >= 0}
    for (_, shape, readers), versions in groups.items():
        common: set[str] | None = None
        for reader in readers:
            if reader not in ways:
                ways[reader] = _way(found, found.walked.steps[reader])
            common = ways[reader] if common is None else common & ways[reader]
        choices = [
            name for name in sorted(common or (), key=values.order.__getitem__)
            if name in memory.realized and name not in memory.constant and name not in taken
            and _is(values.nodes[name].shape, shape) and closes(found, versions[0], name) > 0
        ]  # fmt: skip
        if len(choices) == len(versions):
            for version, name in zip(versions, choices, strict=True):
                new |= found.name(version, name)
            taken.update(choices)
    return new


def _groups(found: Identified) -> dict[tuple[int, Shape, tuple[int, ...]], list[Version]]:
    """Buffers of which nothing is known: by the kernel that wrote them, their sizes, and the kernels that read them."""
    readers: dict[int, list[int]] = {}
    for step in found.walked.steps:
        for version in step.reads:
            if not version.node and version.by >= 0 and version.shape is not None:
                readers.setdefault(id(version), []).append(step.number)
    groups: dict[tuple[int, Shape, tuple[int, ...]], list[Version]] = {}
    for version in found.walked.versions:
        read_by = readers.get(id(version))
        if read_by and version.shape is not None and all(_tells(found.walked.steps[number]) for number in read_by):
            groups.setdefault((version.by, version.shape, tuple(dict.fromkeys(read_by))), []).append(version)
    return {key: versions for key, versions in groups.items() if len(versions) <= MAX_GROUP}


def _tells(step: Step) -> bool:
    return step.kind == FUSED and step.complete and any(version.node for version in step.writes)


def _is(one: Shape | None, other: Shape) -> bool:
    return one is not None and one == other


def _way(found: Identified, step: Step) -> set[str]:
    """The nodes on the way back from what a kernel writes to what is known of what it reads."""
    values = found.values
    read = {name for version in step.reads if version.node for name in standing_for(values, version)}
    todo = [values.root(version.node) for version in step.writes if version.node]
    seen: set[str] = set()
    while todo and len(seen) < MAX_WAY:
        name = todo.pop()
        node = values.nodes[name]
        if name in seen or name in read or node.kind in ("placeholder", "get_attr") or found.is_extern(name):
            continue
        seen.add(name)
        todo += node.operands
    return seen


_PREFIX = re.compile(r"^(?:extern_kernels|torch\.ops\.\w+|aten|inductor_ops)\.")
_OTHER_NAMES = {"bias_addmm": "addmm", "randint": "inductor_seeds"}
"""Kernels that run a node of another name: seeds of dropout are random integers."""
MAX_ROUNDS = 500
def identify(values: Values, walked: Walked, known: Mapping[int, str]) -> Identified:
    """Identify what can be. `known` are calls of external kernels whose nodes something else tells: line → node."""
    found = Identified(values, walked)
    found.calls = Counter((step.kind, operator(step.name)) for step in walked.steps)
    found.operators = frozenset(op for kind, op in found.calls if kind == EXTERN and op in values.by_op)
    _given(found)
    _returned(found)
    open_steps = []
    for step in walked.steps:
        node = known.get(step.line, "")
        if step.kind == EXTERN and node in values.nodes:
            _run(found, step, node)
        elif step.kind in (EXTERN, FUNCTION):
            open_steps.append(step)
    for _ in range(MAX_ROUNDS):
        left = [step for step in open_steps if not _match(found, step)]
        if len(left) == len(open_steps) and not identify_between(found):
            break
        open_steps = left[::-1]  # what is known spreads both ways
    _starts(found)
    return found


def _starts(found: Identified) -> None:
    """What a scatter writes into: the buffer that another kernel filled for it."""
    for step in found.walked.steps:
        for before, after in step.updates if step.kind == FUSED else ():
            node = found.values.nodes.get(found.values.root(after.node)) if after.node else None
            if node is not None and node.op in SCATTERS and not before.node:
                before.start_of = node.name


def _given(found: Identified) -> None:
    """What the function takes: the placeholders have the same names, in a function of its own behind its name."""
    attributes = {node.attribute: name for name, node in found.values.nodes.items() if node.attribute}
    inputs = found.values.inputs
    given = [name for name, _ in found.walked.given if name not in attributes]
    by_place = dict(zip(given, inputs, strict=True)) if len(given) == len(inputs) else {}
    for name, version in found.walked.given:
        node = name if name in found.values.nodes and found.values.nodes[name].kind == "placeholder" else ""
        node = node or attributes.get(name, "") or by_place.get(name, "")
        node = node or next((own for own in inputs if name.endswith(f"_{own}")), "")
        found.name(version, node)
        version.shape = version.shape or (found.values.nodes[node].shape if node else None)


def _returned(found: Identified) -> None:
    """What it returns, position by position; and what it took and wrote, which the graph says at its end (`copy_`)."""
    outputs = found.values.outputs
    if len(outputs) == len(found.walked.returned):
        for version, node in zip(found.walked.returned, outputs, strict=True):
            if version is not None and node:
                found.name(version, node)
    targets: dict[str, str] = {}
    for name in found.values.by_op.get("copy_", ()):
        operands = found.values.nodes[name].operands
        if operands:
            targets[operands[0]] = name
    for name, version in found.walked.updated.items():
        if name in targets:
            found.name(version, targets[name])


def operator(name: str) -> str:
    """`aten.cumsum.default`, `extern_kernels.mm`, `aten.randint.low_out` → the operator."""
    return _PREFIX.sub("", name).partition(".")[0].removesuffix("_out")


def _match(found: Identified, step: Step) -> bool:
    """Find the node that a call runs: the one that agrees with most of what is known, and with all of it."""
    best, most = [], -1
    for name in _near(found, step):
        if name in found.used:
            continue
        agreed = _agreement(found, step, found.values.nodes[name])
        if agreed < 0:
            continue
        if agreed > most:
            best, most = [name], agreed
        elif agreed == most:
            best.append(name)
    if len(best) != 1 or (most == 0 and not _only(found, step)):
        return False
    _run(found, step, best[0])
    return True


def _near(found: Identified, step: Step) -> list[str]:
    """The nodes that a call may run: of those of its operator the ones that read what it is known to read, or make what it is known
    to make."""
    near = [found.readers(version.node) for version in step.reads if version.node]
    near += [found.equals(version.node) for version in step.writes[:1] if version.node]
    nodes = _nodes(found, step)
    least = min(near, key=len, default=nodes)
    return nodes if len(nodes) <= len(least) else sorted(set(least) & set(nodes), key=found.values.order.__getitem__)


def _nodes(found: Identified, step: Step) -> list[str]:
    """The nodes that a call may run, by their operator."""
    values = found.values
    if step.kind == FUNCTION:
        return [
            name for name, node in values.nodes.items()
            if node.higher and any(runs(values, operand, step.name) for operand in node.operands)
        ]  # fmt: skip
    op = operator(step.name)
    choices = (op, op.removesuffix("_"), _OTHER_NAMES.get(op, op))
    return next((names for choice in choices if (names := values.by_op.get(choice))), [])


def runs(values: Values, name: str, function: str) -> bool:
    """Whether a node is the graph that a function runs."""
    own = values.nodes[name]
    return bool(own.attribute) and (function == own.attribute or function.endswith(f"_{own.attribute}"))


def _only(found: Identified, step: Step) -> bool:
    """Whether there are as many calls of an operator as nodes: then the last of each belong together."""
    return found.calls[step.kind, operator(step.name)] == len(_nodes(found, step))


def _operands(found: Identified, node: Value) -> list[str]:
    return [name for name in node.operands if not found.values.nodes[name].attribute or not node.higher]


def _agreement(found: Identified, step: Step, node: Value) -> int:
    """How many arguments and results are known to be those of a node; -1 where one is known to be another."""
    values, agreed = found.values, 0
    operands = _operands(found, node)
    reads = step.reads
    if len(reads) > len(operands):
        return -1
    if step.kind == FUNCTION:
        operands = operands[len(operands) - len(reads) :]
    for version, operand in zip(reads, operands, strict=False):
        if version.node:
            if not values.same(version.node, operand):
                return -1
            agreed += 1
        elif not fits(version.shape, values.nodes[operand].shape) or (closed := closes(found, version, operand)) < 0:
            return -1
        else:
            agreed += closed
    for version in step.writes[:1]:
        if version.node:
            if not values.same(version.node, node.name):
                return -1
            agreed += 1
        elif not fits(version.shape, node.shape):
            return -1
    for item, version in (step.writes[0].items if step.writes else {}).items():
        taken = _item(values, node.name, item)
        if version.node and not (taken and values.same(version.node, taken)):
            return -1
        agreed += bool(version.node)
    return agreed


def _item(values: Values, name: str, item: int) -> str:
    return next((user for user in values.users.get(name, ()) if values.nodes[user].item == item), "")


def _run(found: Identified, step: Step, name: str) -> None:
    """A call runs a node: that identifies its arguments and its results."""
    values = found.values
    node = values.nodes[name]
    found.steps[step.number] = name
    found.used.add(name)
    operands = _operands(found, node)
    if step.kind == FUNCTION:
        operands = operands[max(0, len(operands) - len(step.reads)) :]
    if len(step.reads) <= len(operands):
        for version, operand in zip(step.reads, operands, strict=False):
            if version is step.reads[0] and in_place(step.name) and not version.node:
                version.start_of = name  # a buffer that was made to be written into
                continue
            found.name(version, operand)
            version.reader = version.reader or name
    for version in step.writes[:1]:
        found.name(version, name)
        for item, own in version.items.items():
            if taken := _item(values, name, item):
                found.name(own, taken)
