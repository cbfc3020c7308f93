"""The node value that each version of a buffer holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from tltui.questions.provenance.dataflow.value_graph import Lowering, Shape, Value, Values, fits, lowering, strides_of
from tltui.questions.provenance.dataflow.wrapper_code import EXTERN, FUNCTION, FUSED, Step, Version, Walked, in_place
from tltui.text.frozen import mutable

SCATTERS = frozenset((
    "_unsafe_index_put", "_unsafe_masked_index_put_accumulate", "index_add", "index_copy", "index_put", "scatter", "scatter_add",
    "scatter_reduce",
))  # fmt: skip
"""Operators that write into a copy of their first argument."""
MAX_SEEN = 2000


@mutable
class Identified:
    """Buffer versions, steps and graph nodes of one function, as identified so far."""

    values: Values
    walked: Walked
    steps: dict[int, str] = field(default_factory=dict)
    """Calls of external kernels and of functions → the node that they run."""
    contradicted: set[int] = field(default_factory=set)
    """Calls of external kernels whose arguments or results are not those of the node that another source has."""
    used: set[str] = field(default_factory=set)
    joined: set[str] = field(default_factory=set)
    """Each `cat` without a kernel: its pieces are written into its memory."""
    operators: frozenset[str] = frozenset()
    """The operators that external kernels run."""
    comments: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """Line of a call → the nodes of this graph that the comment above it names."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The number of calls by kind and operator."""
    _readers: dict[str, list[str]] = field(default_factory=dict)
    _equals: dict[str, list[str]] = field(default_factory=dict)

    def readers(self, node: str) -> list[str]:
        """Return the nodes that read a value directly, through views, or through a copy."""
        if not self._readers:
            self._index()
        return self._readers.get(self.values.plain(node), [])

    def equals(self, node: str) -> list[str]:
        """Return the nodes that may be the same buffer."""
        if not self._equals:
            self._index()
        return self._equals.get(self.values.plain(node), [])

    def _index(self) -> None:
        for name, node in self.values.nodes.items():
            self._equals.setdefault(self.values.plain(name), []).append(name)
            for plain in dict.fromkeys(map(self.values.plain, node.operands)):
                self._readers.setdefault(plain, []).append(name)

    def is_extern(self, name: str) -> bool:
        """Return whether an external kernel runs a node."""
        node = self.values.nodes[name]
        return name in self.used or node.higher or node.op in self.operators

    def name(self, version: Version, node: str) -> bool:
        """Assign a node to a buffer version; return whether the assignment is new."""
        if version.node or node not in self.values.nodes:
            return False
        version.node = node
        root_node = self.values.nodes[self.values.root(node)]
        if root_node.op == "cat" and len(version.parts) == len(root_node.operands):
            self.joined.add(root_node.name)
            for place, (part, operand) in enumerate(zip(version.parts, root_node.operands, strict=True)):
                self.name(part, operand)
                if self.is_copied(root_node, place):
                    part.part_of = root_node.name
        return True

    def is_copied(self, cat: Value, place: int) -> bool:
        """Return whether a piece of a `cat` is copied into its memory.

        The other pieces are computed in place, each in one place (`ConcatKernel.realize_into` of
        torch/_inductor/ir.py).
        """
        values, operand = self.values, cat.operands[place]
        if values.is_view(operand) or values.nodes[operand].kind == "placeholder" or self.is_extern(operand):
            return True
        earlier = (user for user in values.users.get(operand, ()) if values.order[user] < values.order[cat.name])
        return operand in cat.operands[:place] or any(values.nodes[user].op == "cat" for user in earlier)

    def only_joins(self, cat: Value) -> bool:
        """Return whether a `cat` needs no kernel because each piece is written into its memory.

        This holds for every `cat` on a CPU; on other devices a kernel may compute it (`cat` of
        torch/_inductor/lowering.py).
        """
        if cat.op != "cat" or not cat.type.endswith("cpu"):
            return False
        return not any(self.is_copied(cat, place) for place in range(len(cat.operands)))


def buffer_node(values: Values, version: Version) -> str:
    """Return the node of a buffer: the value or view with the buffer's sizes.

    The value itself where several nodes have these sizes.
    """
    root = values.root(version.node)
    if version.shape is None:
        return root
    for name in reversed(_view_chain(values, version.node)):
        shape = values.nodes[name].shape
        if shape is not None and shape.sizes == version.shape.sizes:
            return name
    return root


def copied_for(values: Values, version: Version) -> str:
    """Return the node of the external kernel for which a view is copied, '' if none is.

    A copy of a view with further readers is a node by itself.
    """
    name = buffer_node(values, version)
    alone = len(values.users.get(name, ())) == 1 and name not in values.outputs
    return version.reader if alone and values.is_view(name) else ""


def computed_views(values: Values, versions: Iterable[Version]) -> set[str]:
    """Return the values that are in memory only in the form of a view that an external kernel reads.

    Inductor computed them for that view: they never were a buffer.
    """
    written = [version for version in versions if version.node and version.by >= 0]
    buffers = {buffer_node(values, version) for version in written}
    given = {values.root(version.node) for version in versions if version.node and version.by < 0}
    roots = {values.root(version.node) for version in written if copied_for(values, version)}
    return {root for root in roots - given if root not in buffers and values.nodes[root].kind not in ("placeholder", "get_attr")}


def laid_out_for(values: Values, version: Version) -> str:
    """Return the `convolution_backward` for which a value is copied into another layout, '' if none is."""
    reader = values.nodes.get(version.reader)
    if reader is None or reader.op != "convolution_backward" or not version.strides:
        return ""
    strides = strides_of(values.nodes[buffer_node(values, version)].type)
    return reader.name if len(strides) == len(version.strides) and strides != version.strides else ""


def standing_for(values: Values, version: Version) -> set[str]:
    """Return the nodes that a version may represent."""
    return {values.root(version.node), values.plain(version.node), buffer_node(values, version)}


def closes(identified: Identified, version: Version, name: str) -> int:
    """Compare the inputs of a kernel with the needs of a node: can the kernel compute it?

    1: it reads everything that the node needs. -1: it does not. 0: some of its inputs are not identified.
    """
    values = identified.values
    node = values.nodes[values.root(name)]
    if version.parts and node.op == "cat" and len(version.parts) == len(node.operands):
        return min(closes(identified, part, operand) for part, operand in zip(version.parts, node.operands, strict=True))
    step = identified.walked.steps[version.by] if version.by >= 0 else None
    if step is None or step.kind != FUSED or not step.complete:
        return 0
    if any(not read.node and not (read.parts and read.by == step.number) for read in step.reads):  # its own pieces are no input
        return 0
    read = {other for step_version in step.reads for other in (values.root(step_version.node), values.plain(step_version.node))}
    return 1 if _is_computable(identified, read, [name]) else -1


def _is_computable(identified: Identified, read: set[str], names: Iterable[str]) -> bool:
    """Return whether fused kernels can compute nodes from the values that they read."""
    values = identified.values
    todo, visited = list(names), set[str]()
    while todo:
        name = todo.pop()
        if name in visited or values.root(name) in read or values.plain(name) in read:
            continue
        visited.add(name)
        node = values.nodes[name]
        if node.kind in ("placeholder", "get_attr") or identified.is_extern(name) or len(visited) > MAX_SEEN:
            return False
        todo += node.operands
    return True


def _suffices(identified: Identified, version: Version, name: str, readers: Iterable[int]) -> bool:
    """Return whether the kernels that read a buffer can compute what they write if it holds a node.

    Of kernels that read other unidentified buffers this is not known.
    """
    values = identified.values
    for number in readers:
        step = identified.walked.steps[number]
        if all(read.node or read is version for read in step.reads):
            nodes = [read.node or name for read in step.reads]
            read = {other for node in nodes for other in (values.root(node), values.plain(node))}
            written = [values.nodes[values.root(write.node)] for write in step.writes if write.node]
            if not _is_computable(identified, read, [operand for node in written for operand in node.operands]):
                return False
    return True


MAX_GROUP, MAX_WAY = 8, 500
RANDOM = "inductor_random"


def lowered(identified: Identified) -> Lowering:
    """Return the origins that each node carries, from the nodes identified so far."""
    values = identified.values
    stored = {
        name for version in identified.walked.versions
        if version.node and version.by >= 0 and values.is_view(name := buffer_node(values, version))
        and not version.part_of and not copied_for(values, version)
    }  # fmt: skip
    always = computed_views(values, identified.walked.versions) | _named_with_readers(identified) | _numbers(identified)
    return lowering(values, set(identified.steps.values()), stored, always)


def _numbers(identified: Identified) -> set[str]:
    """Return the tensors of the module whose few numbers Inductor writes into code: no call is given them."""
    given = {version.node for _, version in identified.walked.given}
    nodes = identified.values.nodes
    return {name for name, node in nodes.items() if node.attribute and node.shape is not None and name not in given}


def left_to_fused(identified: Identified) -> dict[str, set[str]]:
    """Return the nodes that an external kernel computes without some of their operands, with these operands.

    What they contribute is left to a fused kernel: the bias of a convolution or of a linear layer.
    """
    values, results = identified.values, {}
    for number, name in identified.steps.items():
        step = identified.walked.steps[number]
        operands = values.nodes[name].operands
        if step.kind != EXTERN or len(step.reads) >= len(operands) or any(not version.node for version in step.reads):
            continue
        read = {values.plain(version.node) for version in step.reads}
        left = {operand for operand in operands if values.plain(operand) not in read}
        if left and len(left) == len(operands) - len(step.reads):
            results[name] = left
    return results


def _named_with_readers(identified: Identified) -> set[str]:
    """Return the values that the comment of an external kernel names: they were no buffers when Inductor lowered that kernel."""
    values, steps = identified.values, identified.walked.steps
    results = set()
    for number, name in identified.steps.items():
        commented = identified.comments.get(steps[number].line, frozenset())
        if name in commented:
            results |= {operand for operand in values.nodes[name].operands if operand in commented and not values.is_view(operand)}
    return results


def identify_between(identified: Identified) -> bool:
    """Identify buffers between identified ones; return whether there were any."""
    groups = _groups(identified)
    if not groups:
        return False
    values, memory, new = identified.values, lowered(identified), False
    candidates: dict[int, set[str]] = {}
    identified_roots = {values.root(version.node) for version in identified.walked.versions if version.node and version.by >= 0}
    for (_, shape, readers), versions in groups.items():
        common: set[str] | None = None
        for reader in readers:
            if reader not in candidates:
                candidates[reader] = _nodes_between(identified, identified.walked.steps[reader])
            common = candidates[reader] if common is None else common & candidates[reader]
        choices = [
            name for name in sorted(common or (), key=values.order.__getitem__)
            if (name in memory.realized or name in memory.sums) and name not in memory.constant and name not in identified_roots
            and values.nodes[name].op != RANDOM and _is(values.nodes[name].shape, shape)
            and closes(identified, versions[0], name) > 0
        ]  # fmt: skip
        if len(choices) > 1 == len(versions):
            choices = [name for name in choices if _suffices(identified, versions[0], name, readers)]
        if not choices and len(versions) == 1:
            choices = _random_numbers(identified, versions[0], readers, common or ())
        if len(choices) == len(versions):
            for version, name in zip(versions, choices, strict=True):
                new |= identified.name(version, name)
            identified_roots.update(choices)
    return new


def _random_numbers(identified: Identified, version: Version, readers: Iterable[int], candidates: Iterable[str]) -> list[str]:
    """Return the random numbers that a buffer must hold, as the only entry; [] if it may hold something else.

    `candidates` are nodes between the inputs and outputs of the reading kernels. Inductor always keeps random numbers in
    memory. Those that the writing kernel needs for its other results are computed there, so the readers get them from
    the only buffer that is not identified, unless it holds a value made from them.
    """
    values, steps, shape = identified.values, identified.walked.steps, version.shape
    if shape is None or any(not read.node and read is not version for number in readers for read in steps[number].reads):
        return []
    fitting = [name for name in candidates if _is(values.nodes[name].shape, shape) and closes(identified, version, name) > 0]
    needed = _nodes_between(identified, steps[version.by])
    drawn = [name for name in fitting if values.nodes[name].op == RANDOM and name in needed]
    return drawn if len(drawn) == 1 and not any(name in fitting for name in _made_from(values, drawn[0])) else []


def _made_from(values: Values, name: str) -> set[str]:
    """Return the nodes that a value leads to."""
    todo, visited = [name], set[str]()
    while todo:
        new = [user for user in values.users.get(todo.pop(), ()) if user not in visited]
        visited.update(new)
        todo += new
    return visited


def _groups(identified: Identified) -> dict[tuple[int, Shape, tuple[int, ...]], list[Version]]:
    """Group unidentified buffers by writing kernel, sizes and reading kernels."""
    readers: dict[int, list[int]] = {}
    for step in identified.walked.steps:
        for version in step.reads:
            if not version.node and version.by >= 0 and version.shape is not None:
                readers.setdefault(id(version), []).append(step.number)
    groups: dict[tuple[int, Shape, tuple[int, ...]], list[Version]] = {}
    for version in identified.walked.versions:
        read_by = readers.get(id(version))
        if read_by and version.shape is not None and all(_is_informative(identified.walked.steps[number]) for number in read_by):
            groups.setdefault((version.by, version.shape, tuple(dict.fromkeys(read_by))), []).append(version)
    return {key: versions for key, versions in groups.items() if len(versions) <= MAX_GROUP}


def _is_informative(step: Step) -> bool:
    return step.kind == FUSED and step.complete and any(version.node for version in step.writes)


def _is(shape: Shape | None, other: Shape) -> bool:
    return shape is not None and shape == other


def _nodes_between(identified: Identified, step: Step) -> set[str]:
    """Return the nodes between a step's outputs and its identified inputs."""
    values = identified.values
    read = {name for version in step.reads if version.node for name in standing_for(values, version)}
    todo = [values.root(version.node) for version in step.writes if version.node]
    visited: set[str] = set()
    while todo and len(visited) < MAX_WAY:
        name = todo.pop()
        node = values.nodes[name]
        if name in visited or name in read or node.kind in ("placeholder", "get_attr") or identified.is_extern(name):
            continue
        visited.add(name)
        todo += node.operands
    return visited


_PREFIX = re.compile(r"^(?:extern_kernels|torch\.ops\.\w+|aten|inductor_ops)\.")
OTHER_NAMES = {"bias_addmm": "addmm", "randint": "inductor_seeds"}
"""Kernels that run a node of another name: seeds of dropout are random integers."""
_PASSES = "torch__inductor_fx_passes_"
"""How the names begin of functions that passes of Inductor put into a graph."""
MAX_ROUNDS = 500
def identify(
    values: Values, walked: Walked, extern_nodes: Mapping[int, str], comments: Mapping[int, frozenset[str]] | None = None
) -> Identified:  # fmt: skip
    """Identify as many versions and steps as possible.

    `extern_nodes` are calls of external kernels with nodes from another source: line → node.
    """
    identified = Identified(values, walked, comments=comments or {})
    identified.calls = Counter((step.kind, operator(step.name)) for step in walked.steps)
    identified.operators = frozenset(op for kind, op in identified.calls if kind == EXTERN and op in values.by_op)
    _identify_inputs(identified)
    _returned(identified)
    open_steps = []
    by_constant = _by_constants(identified)
    _contradict(identified, extern_nodes)
    for step in walked.steps:
        mapped = "" if step.number in identified.contradicted else extern_nodes.get(step.line, "")
        node = mapped or by_constant.get(step.number, "")
        if step.kind == EXTERN and node in values.nodes:
            _run(identified, step, node)
        elif step.kind in (EXTERN, FUNCTION):
            open_steps.append(step)
    for _ in range(MAX_ROUNDS):
        remaining = [step for step in open_steps if not _match(identified, step)]
        if len(remaining) == len(open_steps) and not identify_between(identified):
            break
        open_steps = remaining[::-1]  # identified nodes identify their neighbors in both directions
    _starts(identified)
    return identified


def _contradict(identified: Identified, extern_nodes: Mapping[int, str]) -> None:
    """Find the calls that do not run the node that another source has: it does not fit, or several calls have it."""
    values = identified.values
    calls: dict[str, list[Step]] = {}
    for step in identified.walked.steps:
        node = extern_nodes.get(step.line, "")
        if step.kind == EXTERN and node in values.nodes:
            calls.setdefault(node, []).append(step)
    for name, steps in calls.items():
        fitting = [step for step in steps if _may_run(identified, step, values.nodes[name])]
        identified.contradicted.update(step.number for step in steps if step not in fitting or len(fitting) > 1)


def _may_run(identified: Identified, step: Step, node: Value) -> bool:
    """Return whether arguments and results of a call have the sizes of a node's, whatever their dtype: arguments are converted.

    An argument that shows a part of a buffer counts with all of it.
    """
    values, operands = identified.values, _operands(identified, node)
    if len(step.reads) > len(operands):
        return False
    for version, name in zip(step.reads, operands, strict=False):
        if version.node and not values.same(version.node, name):
            return False
        if not any(_is_as_large(version, values.nodes[shown]) for shown in _view_chain(values, name)):
            return False
    return all(
        values.same(version.node, node.name) if version.node else _is_as_large(version, node) for version in step.writes[:1]
    )


def _view_chain(values: Values, name: str) -> list[str]:
    """Return a node and, if it is a view, what it shows, down to the value."""
    chain = [name]
    while chain[-1] != values.root(name):
        chain.append(values.nodes[chain[-1]].operands[0])
    return chain


def _is_as_large(version: Version, node: Value) -> bool:
    """Return whether a buffer has as many elements as a node, as far as both are known."""
    return version.shape is None or node.shape is None or fits(replace(version.shape, dtype=node.shape.dtype), node.shape)


def _by_constants(identified: Identified) -> dict[int, str]:
    """Return the nodes of external kernels that a pass of Inductor made without the name of an operator: frozen convolutions.

    A constant that one node and one call read identifies them.
    """
    values = identified.values
    calls: dict[str, set[int]] = {}
    for step in identified.walked.steps:
        for version in step.reads:
            if version.by < 0 and version.node:
                calls.setdefault(version.node, set()).add(step.number)
    nodes: dict[int, set[str]] = {}
    for name, numbers in calls.items():
        users = values.users.get(name, [])
        one = values.nodes[name].kind == "get_attr" and len(users) == len(numbers) == 1
        if one and values.nodes[users[0]].op.startswith(_PASSES):
            nodes.setdefault(min(numbers), set()).add(users[0])
    steps = identified.walked.steps
    return {number: min(names) for number, names in nodes.items() if steps[number].kind == EXTERN and len(names) == 1}


def _starts(identified: Identified) -> None:
    """Identify the buffers that another kernel fills for a scatter.

    One in place (`index_put_`) writes into its first operand itself.
    """
    values = identified.values
    for step in identified.walked.steps:
        for before, after in step.updates if step.kind == FUSED else ():
            node = values.nodes.get(values.root(after.node)) if after.node else None
            if node is None or before.node:
                continue
            if node.op in SCATTERS:
                before.start_of = node.name
            elif node.op.removesuffix("_") in SCATTERS and node.operands:
                start = values.nodes[values.plain(node.operands[0])]
                if start.op.removesuffix("_") not in SCATTERS:  # else one kernel may run both
                    identified.name(before, node.operands[0])


def _identify_inputs(identified: Identified) -> None:
    """Identify the inputs of the function by placeholder name.

    In a partition or subgraph function the placeholder names follow the function's name.
    """
    attributes = {node.attribute: name for name, node in identified.values.nodes.items() if node.attribute}
    attributes |= {name_in_code(attribute): name for attribute, name in attributes.items()}
    inputs = identified.values.inputs
    input_names = [name for name, _ in identified.walked.given if name not in attributes]
    by_place = dict(zip(input_names, inputs, strict=True)) if len(input_names) == len(inputs) else {}
    for name, version in identified.walked.given:
        node = name if name in identified.values.nodes and identified.values.nodes[name].kind == "placeholder" else ""
        node = node or attributes.get(name, "") or by_place.get(name, "")
        node = node or next((placeholder for placeholder in inputs if name.endswith(f"_{placeholder}")), "")
        identified.name(version, node)
        version.shape = version.shape or (identified.values.nodes[node].shape if node else None)


def name_in_code(attribute: str) -> str:
    """Return the name of a module's constant in C++: `fc1.weight` → `fc1_weight`."""
    return attribute.replace(".", "_")


def _returned(identified: Identified) -> None:
    """Identify the outputs by position, and the mutated inputs by the `copy_` nodes at the graph's end."""
    outputs = identified.values.outputs
    if len(outputs) == len(identified.walked.returned):
        for version, node in zip(identified.walked.returned, outputs, strict=True):
            if version is not None and node:
                identified.name(version, node)
    targets: dict[str, str] = {}
    for name in identified.values.by_op.get("copy_", ()):
        operands = identified.values.nodes[name].operands
        if operands:
            targets[operands[0]] = name
    for name, version in identified.walked.updated.items():
        if name in targets:
            identified.name(version, targets[name])


def operator(name: str) -> str:
    """Return the operator of a target: `aten.cumsum.default`, `extern_kernels.mm`, `aten.randint.low_out`."""
    return _PREFIX.sub("", name).partition(".")[0].removesuffix("_out")


def _match(identified: Identified, step: Step) -> bool:
    """Find the node that a call runs.

    It agrees with the most identified arguments and results, and contradicts none.
    """
    best, most = [], -1
    for name in _related_candidates(identified, step):
        if name in identified.used and not _is_other_branch(identified, step, name):
            continue
        agreed = _agreement(identified, step, identified.values.nodes[name])
        if agreed < 0:
            continue
        if agreed > most:
            best, most = [name], agreed
        elif agreed == most:
            best.append(name)
    if len(best) != 1 or (most == 0 and not _match_last(identified, step)):
        return False
    _run(identified, step, best[0])
    return True


def _is_other_branch(identified: Identified, step: Step, name: str) -> bool:
    """Return whether a function is another one than those known to run a node: a branch of a `cond`, the body of a loop."""
    steps = identified.walked.steps
    return step.kind == FUNCTION and all(
        steps[number].name != step.name for number, node in identified.steps.items() if node == name
    )


def _related_candidates(identified: Identified, step: Step) -> list[str]:
    """Return the candidate nodes of a call with an identified input or output in common."""
    near = [identified.readers(version.node) for version in step.reads if version.node]
    near += [identified.equals(version.node) for version in step.writes[:1] if version.node]
    nodes = _nodes(identified, step)
    least = min(near, key=len, default=nodes)
    return nodes if len(nodes) <= len(least) else sorted(set(least) & set(nodes), key=identified.values.order.__getitem__)


def _nodes(identified: Identified, step: Step) -> list[str]:
    """Return the candidate nodes of a call, by operator."""
    values = identified.values
    if step.kind == FUNCTION:
        return [
            name for name, node in values.nodes.items()
            if node.higher and any(runs(values, operand, step.name) for operand in node.operands)
        ]  # fmt: skip
    op = operator(step.name)
    choices = (op, op.removesuffix("_"), OTHER_NAMES.get(op, op))
    return next((names for choice in choices if (names := values.by_op.get(choice))), [])


def runs(values: Values, name: str, function: str) -> bool:
    """Return whether a node is the subgraph that a function runs."""
    node = values.nodes[name]
    return bool(node.attribute) and (function == node.attribute or function.endswith(f"_{node.attribute}"))


def _match_last(identified: Identified, step: Step) -> bool:
    """Match the last call of an operator to its last node if there are as many calls as nodes."""
    return identified.calls[step.kind, operator(step.name)] == len(_nodes(identified, step))


def _operands(identified: Identified, node: Value) -> list[str]:
    return [name for name in node.operands if not identified.values.nodes[name].attribute or not node.higher]


def _agreement(identified: Identified, step: Step, node: Value) -> int:
    """Count the identified arguments and results in common with a node; -1 on a contradiction."""
    values, agreed = identified.values, 0
    operands = _operands(identified, node)
    reads = step.reads
    if len(reads) > len(operands):
        return -1
    if step.kind == FUNCTION:
        operands = operands[len(operands) - len(reads) :]
    for n, (version, operand) in enumerate(zip(reads, operands, strict=False)):
        if version.node:
            begins = values.nodes[operand].begins
            if not values.same(version.node, operand) or (begins is not None and step.offsets.get(n, begins) != begins):
                return -1
            agreed += 1
        elif not fits(version.shape, values.nodes[operand].shape) or (closed := closes(identified, version, operand)) < 0:
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
        source_item = _item(values, node.name, item)
        if version.node and not (source_item and values.same(version.node, source_item)):
            return -1
        agreed += bool(version.node)
    return agreed


def _item(values: Values, name: str, item: int) -> str:
    return next((user for user in values.users.get(name, ()) if values.nodes[user].item == item), "")


def _run(identified: Identified, step: Step, name: str) -> None:
    """Record that a call runs a node; this identifies its arguments and results."""
    values = identified.values
    node = values.nodes[name]
    identified.steps[step.number] = name
    identified.used.add(name)
    operands = _operands(identified, node)
    if step.kind == FUNCTION:
        if step.decided_by is not None and len(operands) > len(step.reads):
            identified.name(step.decided_by, operands[0])
        operands = operands[max(0, len(operands) - len(step.reads)) :]
    if len(step.reads) <= len(operands):
        for version, operand in _parallel(step, operands):
            if version is step.reads[0] and in_place(step.name) and not version.node:
                version.start_of = name  # a buffer that was made to be written into
                continue
            identified.name(version, operand)
            version.reader = version.reader or name
    for version in step.writes[:1]:
        identified.name(version, name)
        for item, part in version.items.items():
            if source_item := _item(values, name, item):
                identified.name(part, source_item)


def _parallel(step: Step, operands: Sequence[str]) -> Iterable[tuple[Version, str]]:
    """Pair the arguments of a call with the operands of its node.

    If an identified constant stands at another place in the call, only what follows it is paired: frozen convolutions.
    """
    for n, version in enumerate(step.reads):
        if version.by < 0 and operands.count(version.node) == 1 and operands[n : n + 1] != [version.node]:
            return zip(step.reads[n:], operands[operands.index(version.node) :], strict=False)
    return zip(step.reads, operands, strict=False)
