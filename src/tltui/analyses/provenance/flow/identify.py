"""Which node's value each version of a buffer holds, as far as it is certain.

Known from the start is what the function takes (placeholders keep their names) and what it returns. A call of an external
kernel is the one node of its operator that agrees with all that is known of its arguments and its result; it then tells
what its other arguments and its result are: that is what identifies the buffers in the middle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from tltui.analyses.provenance.flow.between import identify_between
from tltui.analyses.provenance.flow.known import SCATTERS, Identified, closes
from tltui.analyses.provenance.flow.values import Value, Values, fits
from tltui.analyses.provenance.flow.wrapper import EXTERN, FUNCTION, FUSED, Step, Walked, in_place

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
