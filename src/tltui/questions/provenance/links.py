"""Links between kernels, post-grad nodes and pre-grad nodes of one unit, by torch's mapping, names or data flow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.questions.provenance import records
from tltui.questions.provenance.dataflow.buffer_values import (
    SCATTERS,
    Identified,
    buffer_node,
    copied_for,
    identify,
    lowered,
    standing_for,
)
from tltui.questions.provenance.dataflow.value_graph import FIXED, Lowering, Values, traceless, values_of
from tltui.questions.provenance.dataflow.wrapper_code import FUSED, Step, in_place, signature, walk
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


@dataclass(frozen=True, slots=True)
class Derived:
    """The nodes of one call."""

    graph: int
    """The graph that they are of, its place in `FxGraph.graphs`."""
    nodes: tuple[str, ...]


def derive(post: GraphText, code: CodeText, known: Mapping[int, str]) -> dict[int, Derived]:
    """The nodes of the calls of which something is certain: by the first line of the call. `known` are calls of external kernels
    whose nodes something better tells: line → node."""
    graphs = values_of(post)
    kernels = {own.name: signature(code.text, own) for own in code.definitions}
    functions = {own.name: own for own in code.functions if own.name}
    found: dict[int, Derived] = {}
    for function in code.functions:
        if function.name.startswith("partition_"):
            continue
        number = graph_of(post, function)
        if number is None or number not in graphs:
            continue
        values = graphs[number]
        for line, nodes in _of_function(values, code, function, functions, kernels, known).items():
            found[line] = Derived(number, nodes)
    return found


def graph_of(post: GraphText, function: Function) -> int | None:
    """The graph that a function runs: the outermost one, or the one with its name."""
    if function.inner:
        return post.inner(function.inner)
    return next((n for n, graph in enumerate(post.graph.graphs) if graph.parent < 0), None)


def _of_function(
    values: Values, code: CodeText, function: Function, functions: Mapping[str, Function], kernels: Mapping[str, tuple[str, ...]],
    known: Mapping[int, str],
) -> dict[int, tuple[str, ...]]:  # fmt: skip
    shapes = {
        node.attribute or name: node.shape for name, node in values.nodes.items() if node.attribute or node.kind == "placeholder"
    }
    walked = walk(code.text, function, functions, kernels, shapes)
    found = identify(values, walked, known)
    nodes = nodes_of_steps(found)
    return {step.line: nodes[step.number] for step in walked.steps if step.number in nodes}


_ASSIGNED = re.compile(r"^\s*([A-Za-z_]\w*)(?::[^=]*)? = ")
_EXTERN = re.compile(r"^(?:extern_kernels|torch\.ops\.\w+|aten)\.(\w+)|^aoti_torch_(?:cpu|cuda|xpu|mps)_(\w+?)(?:_out)?$")


@dataclass(frozen=True, slots=True)
class Texts:
    """What was read of one unit."""

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
    """Of a backward: the mapping of its forward, and its post-grad graph."""
    forward_post: GraphText | None = None
    left: Left = field(default_factory=Left)
    """What the job left of its kernels besides."""


@dataclass(slots=True)
class KernelLink:
    """One kernel while it is being linked."""

    name: str
    handle: int | None
    calls: tuple[Call, ...] = ()
    definition: Definition | None = None
    call_pane: int = records.PY
    definition_pane: int = records.PY
    post: tuple[str, ...] = ()
    """Keys of post-grad nodes: `GraphText.find`."""
    pre: tuple[str, ...] = ()
    """Pre-grad nodes that a comment names, where the post-grad nodes do not lead there."""
    nodes_from: str = records.NONE
    function: str = ""
    """The function that it is called in, where that runs a graph inside of the graph."""
    times: int = 1
    """How often that function is called."""

    @property
    def key(self) -> str:
        """As version 2 of the mapping names it."""
        return self.name if self.handle is None else f"{self.name}:{self.handle}"


@dataclass(frozen=True, slots=True)
class Links:
    """Names ↔ names."""

    kernels: tuple[KernelLink, ...]
    post_to_pre: Names
    own_nodes: bool
    """Whether the mapping of this unit links nodes of the two graphs."""
    pre_from: frozenset[str]
    """Where `post_to_pre` comes from."""


class _Index:
    """What is looked up for every kernel."""

    __slots__ = ("by_base", "by_place", "definitions", "elsewhere", "words")

    def __init__(self, texts: Texts) -> None:
        self.definitions = {found.name: found for found in reversed(texts.code.definitions)}
        self.elsewhere = {found.name: found for found in reversed(texts.kernels.definitions)}
        self.words = vocabulary(texts.pre, texts.post, (texts.code, texts.kernels))
        self.by_base: dict[str, list[str]] = {}
        """`addmm` → post-grad nodes."""
        self.by_place: dict[tuple[str, int], dict[str, list[str]]] = {}
        """Line of source → `aten.addmm` → post-grad nodes. A node stands for its operator and for what its name says:
        `view_3` may be a `reshape`."""
        for node in texts.post.nodes if texts.post is not None else ():
            if node.kind != "call" or texts.post is None or not texts.post.named(node):
                continue
            aten, origin = aten_of(node), texts.post.origin(node)
            self.by_base.setdefault(aten.partition(".")[2], []).append(node.name)
            if origin is not None:
                here = self.by_place.setdefault((origin.path, origin.place), {})
                for op in {aten, f"aten.{name_base(node.name)}"}:
                    here.setdefault(op, []).append(node.name)


def links_of(texts: Texts) -> Links:
    """All links of a unit."""
    index = _Index(texts)
    kernels = list(_kernels(texts, index))
    times = Counter(kernel.name for kernel in kernels)
    for kernel in kernels:
        found = texts.mapping.kernel_to_post.get(kernel.key, texts.mapping.kernel_to_post.get(kernel.name, ()))
        if found:
            kernel.post, kernel.nodes_from = tuple(_key(texts, kernel, name) for name in found), records.NODE_MAPPINGS
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
    for names, source in ((_from_forward(texts), records.FORWARD_MAPPINGS), (_from_arrows(texts), records.COMMENTS),
                          (_from_generated(texts), records.FILE_COMMENTS)):  # fmt: skip
        new = {name: found for name, found in names.items() if not any(name in part for part in parts)}
        if new:
            parts.append(new)
            sources.add(source)
    return Links(tuple(kernels), merged(*parts), bool(texts.mapping.post_to_pre), frozenset(sources))


def _kernels(texts: Texts, index: _Index) -> Iterator[KernelLink]:
    """The kernels that the code calls; without code those of the mapping."""
    calls = texts.code.calls
    known = texts.mapping.kernel_to_post
    if not calls and not texts.code.definitions:
        for key in dict.fromkeys((*known, *texts.stacks.frames)):
            yield KernelLink(*split_key(key))
        return
    keys = {} if texts.code.handles else _keys_by_name(texts)
    for call in calls:
        handle = call.handle
        if handle is None and keys.get(call.name):
            handle = keys[call.name].pop(0)
        yield _link(texts, index, call.name, handle, call)


def _keys_by_name(texts: Texts) -> dict[str, list[int]]:
    """The handles of a name in order, for code whose comments were lost: only where there is one for each call."""
    handles: dict[str, list[int]] = {}
    for key in dict.fromkeys((*texts.mapping.kernel_to_post, *texts.stacks.frames, *texts.left.keys)):
        name, handle = split_key(key)
        if handle is not None:
            handles.setdefault(name, []).append(handle)
    counts = Counter(call.name for call in texts.code.calls)
    return {name: sorted(found) for name, found in handles.items() if counts[name] == len(found)}


def _link(texts: Texts, index: _Index, name: str, handle: int | None, call: Call) -> KernelLink:
    definition, pane = index.definitions.get(name), texts.code_pane
    if name in index.elsewhere and (definition is None or definition.kind == "cpp"):
        definition, pane = index.elsewhere[name], records.KERNEL
    return KernelLink(
        name, handle, (call,), definition, texts.code_pane, pane, function=call.function, times=texts.code.times(call.function)
    )


def _all_remarks(kernel: KernelLink) -> list[Remarks]:
    """What the comments say of a kernel. Equal kernels share a definition, whose comments are those of its first call:
    they count only where the call has none of its own, or the same."""
    found = [call.remarks for call in kernel.calls if call.remarks]
    own = kernel.definition.remarks if kernel.definition else Remarks()
    if own and (not found or any(remarks.sources == own.sources for remarks in found)):
        found.append(own)
    return found


def _from_left(texts: Texts, kernel: KernelLink) -> bool:
    """The nodes of a kernel as a file says them that the job left; whether it does."""
    told = texts.left.operations.get(kernel.key, Operations())
    for nodes, source in (
        (texts.left.post.get(kernel.key, ()), records.KERNEL_INFORMATION),
        (told.nodes, records.KERNEL_OPERATIONS),
    ):
        if nodes:
            kernel.post, kernel.nodes_from = tuple(_key(texts, kernel, name) for name in nodes), source
            kernel.pre = texts.left.pre.get(kernel.key, ())
            return True
    return False


def _operator(kernel: KernelLink) -> str:
    """The operator that an external kernel runs, '' for one that Inductor generated."""
    match = _EXTERN.match(kernel.name)
    return (match[1] or match[2]) if match else ""


def _from_comments(texts: Texts, kernel: KernelLink, index: _Index) -> None:
    """The nodes of a kernel as the comments beside it name them.

    Those of an external kernel also name what its arguments are views of. It runs one operator, and what it runs is the
    last name: producers stand before it.
    """
    post: dict[str, None] = {}
    pre: dict[str, None] = {}
    operator = _operator(kernel)
    for remarks in _all_remarks(kernel):
        post.update(dict.fromkeys(name for name in remarks.nodes if _in(texts.post, name)))
        arrows = dict(remarks.arrows)
        for name in remarks.sources[-1:] if operator else remarks.sources:
            made = [node for node in arrows.get(name, ()) if _in(texts.post, node)]
            if _is_pre(texts, name, remarks):
                pre[name] = None
                made = made or _only_one(texts, index, name, remarks)
            elif not made and texts.direction == "backward" and _in(texts.post, name):
                made = [name]
            post.update(dict.fromkeys(made))
    if operator:
        post = {name: None for name in post if _does(texts, name, operator)}
    if post or pre:
        keys = tuple(dict.fromkeys(_key(texts, kernel, name) for name in post))
        kernel.post, kernel.pre, kernel.nodes_from = keys, _pre_keys(texts, kernel, pre), records.COMMENTS


def _key(texts: Texts, kernel: KernelLink, name: str) -> str:
    """The key of a node that something names: in a function of its own a name is one of the graph that it runs."""
    number = texts.post.inner(kernel.function) if texts.post is not None and kernel.function else None
    node = texts.post.graph.find(name, number) if texts.post is not None and number is not None else None
    return texts.post.key(node) if texts.post is not None and node is not None else name


def _pre_keys(texts: Texts, kernel: KernelLink, names: Iterable[str]) -> tuple[str, ...]:
    """The keys of pre-grad nodes that a comment names; in a function of its own those of the graph of its name."""
    if texts.pre is None or not kernel.function:
        return tuple(names)
    number = texts.pre.inner(kernel.function)
    nodes = (texts.pre.graph.find(name, number) for name in names if number is not None)
    return tuple(texts.pre.key(node) for node in nodes if node is not None)


def _from_flow(texts: Texts, kernels: Sequence[KernelLink]) -> None:
    """What nothing else tells, from the flow of data. What torch recorded stays; a comment that names a part of the nodes, or more
    calls than one, gives way to what says all of them."""
    post = texts.post
    again = Counter(kernel.name for kernel in kernels if kernel.handle is None)
    shared = {kernel.key for kernel in kernels if kernel.nodes_from == records.NODE_MAPPINGS and again[kernel.name] > 1}
    if post is None or all(kernel.nodes_from in records.WRITTEN and kernel.key not in shared for kernel in kernels):
        return
    known = {
        call.lines[0]: bare(kernel.post[0])
        for kernel in kernels if len(kernel.post) == 1 and kernel.key not in shared for call in kernel.calls[:1] if call.lines
    }  # fmt: skip
    derived = derive(post, texts.code, known)
    for kernel in kernels:
        line = next((line for call in kernel.calls for line in call.lines if line in derived), None)
        if line is None:
            continue
        found = tuple(post.key(node) for name in derived[line].nodes if (node := post.graph.find(name, derived[line].graph)))
        if kernel.key in shared:
            agrees = set(found) <= set(kernel.post)
        else:
            agrees = kernel.nodes_from not in records.WRITTEN and set(kernel.post) < set(found)
        if found and agrees:
            kernel.post, kernel.nodes_from = found, records.DATAFLOW
    for kernel in kernels:
        if kernel.key in shared and kernel.nodes_from == records.NODE_MAPPINGS:
            others = [other for other in kernels if other.name == kernel.name and other.nodes_from == records.DATAFLOW]
            taken = {name for other in others for name in other.post}
            kernel.post = tuple(name for name in kernel.post if name not in taken) or kernel.post


def _does(texts: Texts, name: str, operator: str) -> bool:
    node = texts.post.find(name) if operator and texts.post is not None else None
    return node is not None and aten_of(node).partition(".")[2] == operator


def _in(graph: GraphText | None, name: str) -> bool:
    node = graph.find(name) if graph is not None else None
    return node is not None and node.kind != "placeholder"


def _is_pre(texts: Texts, name: str, remarks: Remarks) -> bool:
    """Whether a source node is one of the pre-grad graph. In a backward the list also holds its own nodes: of a name that
    both graphs have, the one that does what the comment says is meant."""
    if not _in(texts.pre, name):
        return False
    own = texts.post.find(name) if texts.post is not None and _in(texts.post, name) else None
    return texts.direction != "backward" or own is None or aten_of(own) not in remarks.aten


def _only_one(texts: Texts, index: _Index, name: str, remarks: Remarks) -> list[str]:
    """The post-grad nodes that a pre-grad node became: for each operator that the comment names, the node of the same
    line of source, where there is only one."""
    node = texts.pre.find(name) if texts.pre is not None else None
    origin = texts.pre.origin(node) if texts.pre is not None and node is not None else None
    if origin is None:
        return []
    found = index.by_place.get((origin.path, origin.place), {})
    return [names[0] for aten in remarks.aten if len(names := found.get(aten, [])) == 1]


def _from_name(texts: Texts, kernel: KernelLink, index: _Index, done: set[str], once: bool) -> None:
    """The operators in the name of a kernel (`extern_kernels.mm`, `cpp_fused_embedding_0`): of its lines of source, else of
    the whole graph, the node that does such a thing, where there is only one left."""
    extern = _operator(kernel)
    operators = frozenset((extern,)) if extern else fused_operators(kernel.name, index.words)
    found: dict[str, None] = {}
    for aten, names in _near(texts, kernel, index).items():
        left = [name for name in names if name not in done] if extern else list(names)
        if aten.partition(".")[2] in operators and len(left) == 1 and not any(name in names for name in kernel.post):
            found.update(dict.fromkeys(name for name in left if name not in done))
    if not extern and not kernel.post and not found and once:
        alone = (index.by_base[word] for word in sorted(operators) if len(index.by_base.get(word, ())) == 1)
        found.update({names[0]: None for names in alone if names[0] not in done})
    if found:
        done.update(found if extern else ())
        kernel.post += tuple(found)
        if kernel.nodes_from == records.NONE:
            kernel.nodes_from = records.KERNEL_NAMES


def _near(texts: Texts, kernel: KernelLink, index: _Index) -> dict[str, dict[str, None]]:
    """Operator → the nodes that do it, at all lines of source that the stacks of a kernel lead to."""
    found: dict[str, dict[str, None]] = {}
    for place in {(stack[-1].file, stack[-1].line or 0) for stack in texts.stacks.frames.get(kernel.key, ())}:
        for aten, names in index.by_place.get(place, {}).items():
            found.setdefault(aten, {}).update(dict.fromkeys(names))
    return found


def _from_forward(texts: Texts) -> Names:
    """Forward nodes that a backward computes again: names come from one joint graph, so the mapping of the forward tells
    where they come from. A name that stands for something else has another type or another line of source."""
    if texts.post is None or texts.forward_post is None:
        return {}
    found = {}
    for name, pre in texts.forward.post_to_pre.items():
        node, other = texts.post.find(name), texts.forward_post.find(name)
        if node is None or other is None or node.kind not in COMPUTED:
            continue
        here, there = texts.post.origin(node), texts.forward_post.origin(other)
        same_line = (here and (here.path, here.place)) == (there and (there.path, there.place))
        if same_line and (node.type, node.target) == (other.type, other.target):
            found[name] = pre
    return found


def _from_arrows(texts: Texts) -> Names:
    """`#   x => relu`: the comments of kernels say which nodes came from which."""
    pairs: dict[str, dict[str, None]] = {}
    remarks = [found.remarks for code in (texts.code, texts.kernels) for found in code.definitions]
    remarks += [call.remarks for call in texts.code.calls]
    for found in remarks:
        for name, nodes in found.arrows:
            if _in(texts.pre, name) and (texts.direction != "backward" or name not in nodes):
                for node in nodes:
                    if _in(texts.post, node):
                        pairs.setdefault(node, {})[name] = None
    return {node: tuple(names) for node, names in pairs.items()}


def _from_generated(texts: Texts) -> Names:
    """With compiled autograd, the source is a graph too: `# File: <eval_with_key>.7:25 …, code: aot0_mm = …` names the
    node of Dynamo's graph."""
    if texts.pre is None or texts.post is None:
        return {}
    found: Names = {}
    for node in texts.post.nodes:
        origin = texts.post.origin(node) if texts.post.named(node) else None
        if origin is None or not origin.path.startswith("<eval_with_key>"):
            continue
        match = _ASSIGNED.match(origin.code)
        if match and _in(texts.pre, match[1]):
            found[node.name] = (match[1],)
    return found
