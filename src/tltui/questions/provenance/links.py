"""Links between kernels, post-grad nodes and pre-grad nodes of one unit, by torch's mapping, names or data flow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from tltui.questions.provenance import records
from tltui.questions.provenance.dataflow.buffer_values import (
    OTHER_NAMES,
    SCATTERS,
    Identified,
    buffer_node,
    copied_for,
    identify,
    laid_out_for,
    left_to_fused,
    lowered,
    name_in_code,
    standing_for,
)
from tltui.questions.provenance.dataflow.value_graph import FIXED, Lowering, Value, Values, traceless, values_of
from tltui.questions.provenance.dataflow.wrapper_code import EXTERN, FUNCTION, FUSED, Step, Walked, in_place, signature, walk
from tltui.questions.provenance.generated_code import (
    Call,
    CodeText,
    Definition,
    Function,
    Remarks,
    aten_of,
    fused_operators,
    name_base,
    vocabulary,
)
from tltui.questions.provenance.graph_names import COMPUTED, GraphText, bare
from tltui.questions.provenance.unit_artifacts import Left, Names, NodeMapping, Operations, Stacks, merged, split_key
from tltui.text.frozen import frozen, mutable


@mutable
class _Slicer:
    identified: Identified
    lowered: Lowering
    ready: dict[str, int]
    """Node → the last step that must precede it."""
    divided_nodes: dict[str, set[str]]
    """Nodes that an external kernel computes without some operands, with these operands."""

    @property
    def values(self) -> Values:
        return self.identified.values

    def nodes(self, step: Step) -> set[str]:
        """Return the nodes of one fused kernel."""
        values = self.values
        read = {name for version in step.reads if version.node for name in standing_for(values, version)}
        nodes, targets = self.starts(step, read)
        lost = False
        todo = [(name, "") for name in targets]
        visited: set[tuple[str, str]] = set()
        while todo:
            name, user = todo.pop()
            if (name, user) in visited:
                continue
            visited.add((name, user))
            node = values.nodes[name]
            if node.kind == "get_attr" and (name in self.lowered.inlined_always or (not user and name not in read)):
                nodes.add(name)
                continue
            if user and (name in read or name in self.lowered.constant):
                nodes |= self.divided(node, read) | self.completed(name, read)
                continue
            if node.kind in ("placeholder", "get_attr") or (user and self.identified.is_extern(name)):
                lost |= name not in read
                continue
            if values.is_view(name) and values.root(name) in read and name not in targets:
                if name not in self.lowered.buffer_views:  # one that has to be in memory carries nothing
                    nodes |= self.lowered.carried.get(name, frozenset((name,)))
                continue
            if name not in self.identified.joined and not (user and self.identified.only_joins(node)):
                nodes.add(name)
            operands = node.operands[1:] if node.op in SCATTERS or node.op == "copy_" else node.operands
            todo += [(operand, name) for operand in operands]
        unknown = [version for version in step.reads if not version.node and not version.start_of]
        if unknown:
            since = max(version.by for version in unknown)
            copied = {laid_out_for(values, version) and buffer_node(values, version) for version in step.writes if version.node}
            certain = set(targets) - copied
            nodes = {name for name in nodes if self.ready[name] > since or name in certain}
        elif lost:
            return set()
        return {name for name in nodes if not traceless(values, name) or (name in targets and self.is_given(name))}

    def divided(self, node: Value, read: set[str]) -> set[str]:
        """Return the node whose division a kernel computes that reads a sum from memory.

        It is a `mean`, or the `var_mean` of a variance that the kernel reads together with its mean.
        """
        values = self.values
        if node.op == "mean":
            return set() if node.name in self.lowered.realized else {node.name}
        source = values.nodes[node.operands[0]] if node.op == "getitem" and node.operands else None
        if source is None or source.op != "var_mean" or node.item != 0 or node.name in values.outputs:
            return set()
        return {source.name} if any(values.nodes[user].item == 1 and user in read for user in values.users[source.name]) else set()

    def completed(self, name: str, read: set[str]) -> frozenset[str]:
        """Return the nodes that a kernel counts because it completes one that an external kernel has begun: it adds the bias."""
        left = self.divided_nodes.get(name)
        if left is None or not all(operand in read or operand in self.lowered.inlined_always for operand in left):
            return frozenset()
        return self.lowered.carried[name]

    def is_given(self, name: str) -> bool:
        """Return whether a copy of an item into the expected stride order counts as the item's own node.

        With symbolic sizes the item may already have that order, which no text shows; with a first dimension of size 1
        every order may be the expected one.
        """
        values = self.values
        shape = values.nodes[name].shape
        if shape is None or shape.count is None or shape.sizes[:1] == ("1",):
            return False
        return name in values.outputs and not any(values.is_view(user) for user in values.users.get(name, ()))

    def copied(self, name: str, reader: str) -> frozenset[str]:
        """Return the nodes for a copy of a value: those of its only reader, an external kernel."""
        values = self.values
        if name in self.lowered.buffer_views:
            return self.lowered.carried[name]
        users = values.users.get(name, ())
        if values.nodes[name].kind == "placeholder" and (len(users) > 1 or name in values.outputs):
            if reader and values.nodes[reader].op == "convolution_backward":
                return frozenset((reader,))
            fixed = any(values.nodes[user].op in FIXED for user in users)
            return frozenset((name,)) if fixed else self.lowered.carried.get(reader, frozenset())
        return self.lowered.carried.get(reader, frozenset())

    def starts(self, step: Step, read: set[str]) -> tuple[set[str], list[str]]:
        """Return the certain nodes of a step, and the nodes whose values it writes."""
        values, carried = self.values, self.lowered.carried
        nodes: set[str] = set()
        targets = []
        for version in step.writes:
            if version.part_of:
                nodes |= carried.get(version.part_of, frozenset())
            elif version.start_of:
                nodes |= carried.get(version.start_of, frozenset())
            elif version.node and (completed := self.completed(values.root(version.node), read)):
                nodes |= completed
            elif version.node and (values.root(version.node) in read or copied_for(values, version)):
                nodes |= self.copied(version.node, version.reader)
                if values.root(version.node) in self.lowered.inlined_always:
                    targets.append(buffer_node(values, version))
            elif version.node:
                targets.append(buffer_node(values, version))
                if "convolution_backward" in step.name:  # Inductor names a kernel after what it counts to it
                    nodes |= {reader for reader in (laid_out_for(values, version),) if reader}
                    nodes |= {self.lowered.stored_for[name] for name in targets[-1:] if name in self.lowered.stored_for}
                if values.nodes[targets[-1]].op in SCATTERS:
                    nodes |= carried.get(targets[-1], frozenset())
        return nodes, targets


@frozen
class StepNodes:
    """The nodes of the calls in one function."""

    by_step: dict[int, tuple[str, ...]]
    """Number of a step → its nodes, where they are certain."""
    of_origins: frozenset[int]
    """Those that Inductor counts to all origins, which in a subgraph are also those of the node that runs it."""
    around: dict[str, tuple[str, ...]]
    """Function of a subgraph → the node that runs it, with what Inductor's lowering carries to it."""
    contradicted: frozenset[int] = frozenset()
    """Calls that do not run the node that another source has."""


def nodes_of_steps(identified: Identified) -> StepNodes:
    """Return the nodes of each call with a certain node.

    An external kernel is one node. One with several results, or whose result is not all of the node's, is recorded with all origins
    of its arguments.
    """
    values = identified.values
    slicer = _Slicer(identified, lowered(identified), _ready(identified), left_to_fused(identified))
    result: dict[int, tuple[str, ...]] = {}
    around: dict[str, tuple[str, ...]] = {}
    for step in identified.walked.steps:
        if step.kind == FUSED and step.complete and (nodes := slicer.nodes(step)):
            result[step.number] = tuple(sorted(nodes, key=values.order.__getitem__))
    of_origins = set(result)
    for number, name in identified.steps.items():
        step, node = identified.walked.steps[number], values.nodes[name]
        if in_place(step.name) and "aten." in step.name:
            continue  # Inductor knows no node of it
        if step.kind == FUNCTION:
            graphs = {operand for operand in node.operands if values.nodes[operand].attribute}
            origins = slicer.lowered.carried[name] | graphs
            around.setdefault(step.name, tuple(sorted(origins, key=values.order.__getitem__)))
        several = any(values.nodes[user].op == "getitem" for user in values.users.get(name, ())) and not node.higher
        several |= name in slicer.divided_nodes or (step.kind == EXTERN and in_place(step.name))
        of_origins.update((number,) if several else ())
        all_of_them = slicer.lowered.carried[name] if several else (name,)
        result[number] = tuple(sorted(all_of_them, key=values.order.__getitem__))
    return StepNodes(result, frozenset(of_origins), around, frozenset(identified.contradicted))


def _ready(identified: Identified) -> dict[str, int]:
    """Map each node to the last step that must precede it: its inputs must exist."""
    values = identified.values
    written: dict[str, int] = {}
    for version in identified.walked.versions:
        if version.node and version.by >= 0:
            root = values.root(version.node)
            written[root] = min(version.by, written.get(root, version.by))
    ready: dict[str, int] = {}
    for name, node in values.nodes.items():
        ready[name] = max((written.get(operand, ready.get(operand, -1)) for operand in node.operands), default=-1)
    return ready


@frozen
class Derived:
    """The nodes of one call."""

    graph: int
    """The index of the nodes' graph in `FxGraph.graphs`."""
    nodes: tuple[str, ...]
    """() if only the node from another source is known not to be it."""
    around: tuple[tuple[int, str], ...] = ()
    """Nodes of graphs around that one, with their graphs: the `cond` of a branch, and what Inductor counts to it."""


def derive(
    post: GraphText, code: CodeText, extern_nodes: Mapping[int, str], cpp_kernels: CodeText | None = None,
    comments: Mapping[int, frozenset[str]] | None = None,
) -> dict[int, Derived]:  # fmt: skip
    """Derive nodes of calls from data flow, by the first line of the call.

    `extern_nodes` are calls of external kernels with nodes from a better source: line → node. `cpp_kernels` are kernels
    with a definition in another text. `comments` are the nodes of the graph that the comment of a call names, by line.
    """
    graphs = values_of(post)
    kernels = {
        item.name: signature(one.text, item) for one in (cpp_kernels or CodeText(), code) for item in one.definitions
    }  # fmt: skip
    functions = {item.name: item for item in code.functions if item.name}
    derived: dict[int, Derived] = {}
    around: dict[str, tuple[tuple[int, str], ...]] = {}
    for function in reversed(code.functions):  # callers first
        if function.name.startswith("partition_"):
            continue
        number = graph_of(post, function)
        if number is None or number not in graphs:
            continue
        walked, origins = _of_function(graphs[number], code, function, functions, kernels, extern_nodes, comments or {})
        outer = around.get(function.name, ())
        for name, nodes in origins.around.items():
            around.setdefault(name, (*outer, *((number, node) for node in nodes)))
        for step, nodes in origins.by_step.items():
            derived[walked.steps[step].line] = Derived(number, nodes, outer if step in origins.of_origins else ())
        for step in origins.contradicted:
            derived.setdefault(walked.steps[step].line, Derived(number, ()))
    return derived


def graph_of(post: GraphText, function: Function) -> int | None:
    """Return the graph that a function runs: the outermost one, or the one of its name."""
    if function.inner:
        return post.inner(function.inner)
    return next((n for n, graph in enumerate(post.graph.graphs) if graph.parent < 0), None)


def _of_function(
    values: Values, code: CodeText, function: Function, functions: Mapping[str, Function], kernels: Mapping[str, tuple[str, ...]],
    extern_nodes: Mapping[int, str], comments: Mapping[int, frozenset[str]],
) -> tuple[Walked, StepNodes]:  # fmt: skip
    shapes = {
        node.attribute or name: node.shape for name, node in values.nodes.items() if node.attribute or node.kind == "placeholder"
    }
    shapes |= {name_in_code(name): shape for name, shape in shapes.items()}
    operators = {name: {frozenset[int]()} for name in OTHER_NAMES} | {
        op: {frozenset(values.nodes[user].item for user in values.users.get(name, ()) if values.nodes[user].op == "getitem")
             for name in names}
        for op, names in values.by_op.items()
    }  # fmt: skip
    walked = walk(code.text, function, functions, kernels, shapes, operators)
    if walked is None:
        return Walked(), StepNodes({}, frozenset(), {})
    if not function.name:  # C++ leaves out results that are None
        walked.returned += [None] * (len(values.outputs) - len(walked.returned))
    return walked, nodes_of_steps(identify(values, walked, extern_nodes, comments))


_ASSIGNED = re.compile(r"^\s*([A-Za-z_]\w*)(?::[^=]*)? = ")
_EXTERN = re.compile(r"^(?:extern_kernels|torch\.ops\.\w+|aten)\.(\w+)|^aoti_torch_(?:cpu|cuda|xpu|mps)_(\w+?)(?:_out)?$")


@frozen
class Texts:
    """The parsed artifacts of one unit."""

    direction: str
    pre: GraphText | None = None
    post: GraphText | None = None
    code: CodeText = field(default_factory=CodeText)
    code_pane: int = records.PY
    kernels: CodeText = field(default_factory=CodeText)
    """The kernel code of AOTInductor, in the pane KERNEL."""
    mapping: NodeMapping = field(default_factory=NodeMapping)
    stacks: Stacks = field(default_factory=Stacks)
    forward: NodeMapping = field(default_factory=NodeMapping)
    """The node mapping of a backward's forward, and the forward's post-grad graph."""
    forward_post: GraphText | None = None
    left: Left = field(default_factory=Left)
    """The job's provenance information outside of its trace."""


@mutable
class KernelLink:
    """The nodes and sources of one kernel during linking."""

    name: str
    handle: int | None
    calls: tuple[Call, ...] = ()
    definition: Definition | None = None
    call_pane: int = records.PY
    definition_pane: int = records.PY
    post: tuple[str, ...] = ()
    """Keys of post-grad nodes: `GraphText.find`."""
    pre: tuple[str, ...] = ()
    """Pre-grad nodes from comments that the post-grad nodes do not lead to."""
    nodes_from: str = records.NONE
    function: str = ""
    """The function of the call, if it runs a subgraph."""
    times: int = 1
    """The number of calls of that function."""

    @property
    def key(self) -> str:
        """The key in version 2 of the node mapping."""
        return self.name if self.handle is None else f"{self.name}:{self.handle}"


@frozen
class Links:
    """Links between kernels, post-grad nodes and pre-grad nodes."""

    kernels: tuple[KernelLink, ...]
    post_to_pre: Names
    own_nodes: bool
    """Whether the mapping of this unit links nodes of the two graphs."""
    pre_from: frozenset[str]
    """The source of `post_to_pre`."""


class _Index:
    """Lookup tables for linking kernels."""

    __slots__ = ("by_base", "by_place", "definitions", "kernel_file_definitions", "repeated", "words")

    def __init__(self, texts: Texts) -> None:
        self.definitions = {definition.name: definition for definition in reversed(texts.code.definitions)}
        self.kernel_file_definitions = {definition.name: definition for definition in reversed(texts.kernels.definitions)}
        self.words = vocabulary(texts.pre, texts.post, (texts.code, texts.kernels))
        inlined = texts.pre is not None and texts.post is not None and not texts.post.has_inner()
        self.repeated = texts.pre.repeated_names() if texts.pre is not None and inlined else frozenset[str]()
        """Names of pre-grad nodes that do not tell which node is meant: those of graphs that the post-grad graph has inlined,
        as of a checkpointed layer."""
        self.by_base: dict[str, list[str]] = {}
        """`addmm` → post-grad nodes."""
        self.by_place: dict[tuple[str, int], dict[str, list[str]]] = {}
        """Line of source → `aten.addmm` → post-grad nodes. A node stands for its operator and for what its name says:
        `view_3` may be a `reshape`."""
        for node in texts.post.nodes if texts.post is not None else ():
            if node.kind != "call" or texts.post is None or not texts.post.is_outermost(node):
                continue
            aten, origin = aten_of(node), texts.post.origin(node)
            self.by_base.setdefault(aten.partition(".")[2], []).append(node.name)
            if origin is not None:
                here = self.by_place.setdefault((origin.path, origin.place), {})
                for op in {aten, f"aten.{name_base(node.name)}"}:
                    here.setdefault(op, []).append(node.name)


def links_of(texts: Texts) -> Links:
    """Return all links of a unit."""
    index = _Index(texts)
    kernels = list(_kernels(texts, index))
    times = Counter(kernel.name for kernel in kernels)
    for kernel in kernels:
        nodes = texts.mapping.kernel_to_post.get(kernel.key, texts.mapping.kernel_to_post.get(kernel.name, ()))
        if nodes:
            kernel.post, kernel.nodes_from = tuple(_key(texts, kernel, name) for name in nodes), records.NODE_MAPPINGS
        elif not _from_left(texts, kernel):
            _from_comments(texts, kernel, index)
    _from_flow(texts, kernels)
    done = {name for kernel in kernels for name in kernel.post}
    for kernel in kernels:
        if kernel.nodes_from not in (*records.WRITTEN, records.DATAFLOW) and not kernel.function:
            _from_name(texts, kernel, index, done, times[kernel.name] == 1)
    sources: set[str] = set()
    parts: list[Names] = [texts.mapping.post_to_pre]
    if texts.mapping.post_to_pre:
        sources.add(records.NODE_MAPPINGS)
    for names, source in ((_from_forward(texts), records.FORWARD_MAPPINGS), (_from_arrows(texts, index), records.COMMENTS),
                          (_from_generated(texts), records.FILE_COMMENTS)):  # fmt: skip
        new = {name: nodes for name, nodes in names.items() if not any(name in part for part in parts)}
        if new:
            parts.append(new)
            sources.add(source)
    return Links(tuple(kernels), merged(*parts), bool(texts.mapping.post_to_pre), frozenset(sources))


def _kernels(texts: Texts, index: _Index) -> Iterator[KernelLink]:
    """Yield the kernels that the code calls; without code those of the mapping."""
    calls = texts.code.calls
    kernel_to_post = texts.mapping.kernel_to_post
    if not calls and not texts.code.definitions:
        for key in dict.fromkeys((*kernel_to_post, *texts.stacks.frames)):
            yield KernelLink(*split_key(key))
        return
    keys = {} if texts.code.handles else _keys_by_name(texts)
    for call in calls:
        handle = call.handle
        if handle is None and keys.get(call.name):
            handle = keys[call.name].pop(0)
        yield _link(texts, index, call.name, handle, call)


def _keys_by_name(texts: Texts) -> dict[str, list[int]]:
    """Return the handles of each kernel name in order, for code without comments.

    Only names with one handle per call.
    """
    handles: dict[str, list[int]] = {}
    for key in dict.fromkeys((*texts.mapping.kernel_to_post, *texts.stacks.frames, *texts.left.keys)):
        name, handle = split_key(key)
        if handle is not None:
            handles.setdefault(name, []).append(handle)
    counts = Counter(call.name for call in texts.code.calls)
    return {name: sorted(keys) for name, keys in handles.items() if counts[name] == len(keys)}


def _link(texts: Texts, index: _Index, name: str, handle: int | None, call: Call) -> KernelLink:
    definition, pane = index.definitions.get(name), texts.code_pane
    if name in index.kernel_file_definitions and (definition is None or definition.kind == "cpp"):
        definition, pane = index.kernel_file_definitions[name], records.KERNEL
    return KernelLink(
        name, handle, (call,), definition, texts.code_pane, pane, function=call.function, times=texts.code.times(call.function)
    )


def _all_remarks(kernel: KernelLink) -> list[Remarks]:
    """Return the comments of a kernel's call and definition.

    Equal kernels share a definition with the comments of its first call. These count only for calls without comments,
    or with the same.
    """
    results = [call.remarks for call in kernel.calls if call.remarks]
    definition_remarks = kernel.definition.remarks if kernel.definition else Remarks()
    if definition_remarks and (not results or any(remarks.sources == definition_remarks.sources for remarks in results)):
        results.append(definition_remarks)
    return results


def _from_left(texts: Texts, kernel: KernelLink) -> bool:
    """Take a kernel's nodes from the provenance files of the job; return whether there were any."""
    operations = texts.left.operations.get(kernel.key, Operations())
    for nodes, source in (
        (texts.left.post.get(kernel.key, ()), records.KERNEL_INFORMATION),
        (operations.nodes, records.KERNEL_OPERATIONS),
    ):
        if nodes:
            kernel.post, kernel.nodes_from = tuple(_key(texts, kernel, name) for name in nodes), source
            kernel.pre = texts.left.pre.get(kernel.key, ())
            return True
    return False


def _operator(kernel: KernelLink) -> str:
    """Return the operator of an external kernel, '' for a generated one."""
    match = _EXTERN.match(kernel.name)
    return (match[1] or match[2]) if match else ""


def _from_comments(texts: Texts, kernel: KernelLink, index: _Index) -> None:
    """Take a kernel's nodes from its comments.

    Comments of an external kernel also name the producers of its arguments' views. It runs one operator, the last name:
    producers precede it.
    """
    post: dict[str, None] = {}
    pre: dict[str, None] = {}
    operator = _operator(kernel)
    for remarks in _all_remarks(kernel):
        post.update(dict.fromkeys(name for name in remarks.nodes if _in(texts.post, name)))
        arrows = dict(remarks.arrows)
        for name in remarks.sources[-1:] if operator else remarks.sources:
            targets = [node for node in arrows.get(name, ()) if _in(texts.post, node)]
            if name in index.repeated:
                post.update(dict.fromkeys(targets))
            elif _is_pre(texts, name, remarks):
                pre[name] = None
                targets = targets or _only_one(texts, index, name, remarks)
            elif not targets and texts.direction == "backward" and _in(texts.post, name):
                targets = [name]
            post.update(dict.fromkeys(targets))
    if operator:
        post = {name: None for name in post if _does(texts, name, operator)}
    if post or pre:
        keys = tuple(dict.fromkeys(_key(texts, kernel, name) for name in post))
        kernel.post, kernel.pre, kernel.nodes_from = keys, _pre_keys(texts, kernel, pre), records.COMMENTS


def _key(texts: Texts, kernel: KernelLink, name: str) -> str:
    """Return the key of a named node; in a subgraph's function, names belong to its graph."""
    number = texts.post.inner(kernel.function) if texts.post is not None and kernel.function else None
    node = texts.post.graph.find(name, number) if texts.post is not None and number is not None else None
    return texts.post.key(node) if texts.post is not None and node is not None else name


def _pre_keys(texts: Texts, kernel: KernelLink, names: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of pre-grad nodes in a comment; in a subgraph's function, those of its graph."""
    if texts.pre is None or not kernel.function:
        return tuple(names)
    number = texts.pre.inner(kernel.function)
    nodes = (texts.pre.graph.find(name, number) for name in names if number is not None)
    return tuple(texts.pre.key(node) for node in nodes if node is not None)


def _from_flow(texts: Texts, kernels: Sequence[KernelLink]) -> None:
    """Derive missing nodes from data flow.

    Nodes that torch recorded stay. Comments that name only some nodes, or several calls, give way to a complete
    derivation.
    """
    post = texts.post
    again = Counter(kernel.name for kernel in kernels if kernel.handle is None)
    shared = {kernel.key for kernel in kernels if kernel.nodes_from == records.NODE_MAPPINGS and again[kernel.name] > 1}
    if post is None or all(kernel.nodes_from in records.WRITTEN and kernel.key not in shared for kernel in kernels):
        return
    extern_nodes = {
        call.lines[0]: bare(kernel.post[0])
        for kernel in kernels if len(kernel.post) == 1 and kernel.key not in shared for call in kernel.calls[:1] if call.lines
    }  # fmt: skip
    comments = {
        call.lines[0]: frozenset(call.remarks.sources) for call in texts.code.calls if call.lines and call.remarks.sources
    } if texts.direction == "backward" else {}  # fmt: skip
    derived = derive(post, texts.code, extern_nodes, texts.kernels, comments)
    for kernel in kernels:
        line = next((line for call in kernel.calls for line in call.lines if line in derived), None)
        if line is None:
            continue
        references = [*((derived[line].graph, name) for name in derived[line].nodes), *derived[line].around]
        nodes = tuple(dict.fromkeys(post.key(node) for graph, name in references if (node := post.graph.find(name, graph))))
        if (operator := _operator(kernel)) and _commented_operators(kernel) == {f"aten.{operator}"}:
            nodes = tuple(name for name in nodes if _does(texts, name, operator)) or nodes
        if kernel.key in shared:
            agrees = set(nodes) <= set(kernel.post)
        else:
            contradicted = kernel.nodes_from == records.COMMENTS and not set(kernel.post) & set(nodes) and _operator(kernel)
            if contradicted:
                kernel.post, kernel.nodes_from = (), records.COMMENTS if kernel.pre else records.NONE
            agrees = kernel.nodes_from not in records.WRITTEN and set(kernel.post) < set(nodes)
        if nodes and agrees:
            kernel.post, kernel.nodes_from = nodes, records.DATAFLOW
    for kernel in kernels:
        if kernel.key in shared and kernel.nodes_from == records.NODE_MAPPINGS:
            same_name = [other for other in kernels if other.name == kernel.name and other.nodes_from == records.DATAFLOW]
            linked = {name for other in same_name for name in other.post}
            kernel.post = tuple(name for name in kernel.post if name not in linked) or kernel.post
            operator = _operator(kernel)
            if operator and sum(_does(texts, name, operator) for name in kernel.post) > 1:
                kernel.post, kernel.nodes_from = (), records.NONE  # a call runs one of them


def _commented_operators(kernel: KernelLink) -> set[str]:
    """Return the operators in the comments of a kernel's calls: those of all its nodes, as they were before decompositions."""
    return {aten for call in kernel.calls for aten in call.remarks.aten}


def _does(texts: Texts, name: str, operator: str) -> bool:
    node = texts.post.find(name) if operator and texts.post is not None else None
    return node is not None and aten_of(node).partition(".")[2] == operator


def _in(graph: GraphText | None, name: str) -> bool:
    node = graph.find(name) if graph is not None else None
    return node is not None and node.kind != "placeholder"


def _is_pre(texts: Texts, name: str, remarks: Remarks) -> bool:
    """Return whether a source node belongs to the pre-grad graph.

    In a backward the list also has backward nodes: of a name in both graphs, the node with the comment's operator
    counts.
    """
    if not _in(texts.pre, name):
        return False
    post_node = texts.post.find(name) if texts.post is not None and _in(texts.post, name) else None
    return texts.direction != "backward" or post_node is None or aten_of(post_node) not in remarks.aten


def _only_one(texts: Texts, index: _Index, name: str, remarks: Remarks) -> list[str]:
    """Return the post-grad nodes of a pre-grad node.

    For each operator in the comment: the only such node of the same source line.
    """
    node = texts.pre.find(name) if texts.pre is not None else None
    origin = texts.pre.origin(node) if texts.pre is not None and node is not None else None
    if origin is None:
        return []
    candidates = index.by_place.get((origin.path, origin.place), {})
    return [names[0] for aten in remarks.aten if len(names := candidates.get(aten, [])) == 1]


def _from_name(texts: Texts, kernel: KernelLink, index: _Index, done: set[str], once: bool) -> None:
    """Derive nodes from the operators in a kernel's name (`extern_kernels.mm`, `cpp_fused_embedding_0`).

    For each operator: the only remaining node with it at the kernel's source lines, else in the graph.
    """
    extern = _operator(kernel)
    operators = frozenset((extern,)) if extern else fused_operators(kernel.name, index.words)
    nodes: dict[str, None] = {}
    for aten, names in _nodes_by_operator(texts, kernel, index).items():
        remaining = [name for name in names if name not in done] if extern else list(names)
        if aten.partition(".")[2] in operators and len(remaining) == 1 and not any(name in names for name in kernel.post):
            nodes.update(dict.fromkeys(name for name in remaining if name not in done))
    if not extern and not kernel.post and not nodes and once:
        alone = (index.by_base[word] for word in sorted(operators) if len(index.by_base.get(word, ())) == 1)
        nodes.update({names[0]: None for names in alone if names[0] not in done})
    if nodes:
        done.update(nodes if extern else ())
        kernel.post += tuple(nodes)
        if kernel.nodes_from == records.NONE:
            kernel.nodes_from = records.KERNEL_NAMES


def _nodes_by_operator(texts: Texts, kernel: KernelLink, index: _Index) -> dict[str, dict[str, None]]:
    """Map each operator to its nodes at the source lines in a kernel's stacks."""
    by_operator: dict[str, dict[str, None]] = {}
    for place in {(stack[-1].file, stack[-1].line or 0) for stack in texts.stacks.frames.get(kernel.key, ())}:
        for aten, names in index.by_place.get(place, {}).items():
            by_operator.setdefault(aten, {}).update(dict.fromkeys(names))
    return by_operator


def _from_forward(texts: Texts) -> Names:
    """Map forward nodes that a backward recomputes to pre-grad nodes.

    Names come from one joint graph, so the forward's mapping applies. A reused name has another type or source line.
    """
    if texts.post is None or texts.forward_post is None:
        return {}
    names = {}
    for name, pre in texts.forward.post_to_pre.items():
        node, other = texts.post.find(name), texts.forward_post.find(name)
        if node is None or other is None or node.kind not in COMPUTED:
            continue
        here, forward_origin = texts.post.origin(node), texts.forward_post.origin(other)
        same_line = (here and (here.path, here.place)) == (forward_origin and (forward_origin.path, forward_origin.place))
        if same_line and (node.type, node.target) == (other.type, other.target):
            names[name] = pre
    return names


def _from_arrows(texts: Texts, index: _Index) -> Names:
    """Parse `#   x => relu` in kernel comments: source node to graph node."""
    pairs: dict[str, dict[str, None]] = {}
    remarks = [item.remarks for code in (texts.code, texts.kernels) for item in code.definitions]
    remarks += [call.remarks for call in texts.code.calls]
    for item in remarks:
        for name, nodes in item.arrows:
            if name not in index.repeated and _in(texts.pre, name) and (texts.direction != "backward" or name not in nodes):
                for node in nodes:
                    if _in(texts.post, node):
                        pairs.setdefault(node, {})[name] = None
    return {node: tuple(names) for node, names in pairs.items()}


def _from_generated(texts: Texts) -> Names:
    """Map nodes of compiled autograd to nodes of Dynamo's graph.

    There the source is a graph too: `# File: <eval_with_key>.7:25 …, code: aot0_mm = …`.
    """
    if texts.pre is None or texts.post is None:
        return {}
    names: Names = {}
    for node in texts.post.nodes:
        origin = texts.post.origin(node) if texts.post.is_outermost(node) else None
        if origin is None or not origin.path.startswith("<eval_with_key>"):
            continue
        match = _ASSIGNED.match(origin.code)
        if match and _in(texts.pre, match[1]):
            names[node.name] = (match[1],)
    return names
