"""Memory of the compiled graphs of a compile: tensors saved for backward, nodes computed again, highest level of storages."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tltui.model.artifacts import GUARDS, OUTPUT_CODE, Artifact, artifacts_of, is_artifact, units_of
from tltui.model.node_answers import content_key, part, reader_of, shared
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, records_of
from tltui.questions.layers.layer_costs import UnitLayers
from tltui.questions.layers.layer_kernels import JOINT, layers_of
from tltui.questions.layers.lowered_layers import inputs_of
from tltui.questions.layers.node_layers import Program
from tltui.questions.memory.wrapper_allocations import (
    NO_CODE,
    Allocations,
    Amount,
    Level,
    Name,
    Results,
    Storage,
    TensorType,
    UnreadableWrapper,
    allocations_of,
    highest_level,
    tensor_type,
    together,
)
from tltui.questions.provenance.dataflow.value_graph import Value, Values, arguments, values_of
from tltui.questions.provenance.generated_code import CodeText, parse_code
from tltui.questions.provenance.graph_names import COMPUTED, GraphText, parse_graph
from tltui.questions.provenance.provenance import LIMIT, provenance_of
from tltui.questions.provenance.records import PY, Kernel, Provenance, UnitProvenance
from tltui.questions.provenance.unit_artifacts import TEXTS, Parts, parts_of
from tltui.questions.shapes import shape_env
from tltui.questions.stacks.tracebacks import display_name
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxNode, Origin
from tltui.text.torch_names import parameter_of

ACTIVATION, OUTPUT, INPUT, PARAMETER = "activation", "output", "input", "parameter"
KINDS = (ACTIVATION, OUTPUT, INPUT, PARAMETER)
"""What a saved tensor is: allocated by the forward and held for the backward alone; also a result of the function; an argument; a
parameter or buffer of a module."""
_TAG = re.compile(r"\b((?:MUST|PREFER)_(?:SAVE|RECOMPUTE))\b")
_SAVED = "SavedForBackwards"
_MUTATION = "InputMutation"
_NOT_SAVED = re.compile(r"^(?:tangents?_\d|bwd_(?:base|seed|rng)|fwd_rng_state|rng_state|token)")
MAX_RETURN = 20_000
"""Lines of a `return`."""

FORWARD, BACKWARD = "aot_forward_graph", "aot_backward_graph"
_READ = TEXTS | {GUARDS, JOINT, FORWARD, BACKWARD}
NO_PAIR = "the trace lacks AOTAutograd's forward or backward graph, which name the saved tensors"
NO_SIZES = "the trace has no value for a size symbol"
MAX_DIGITS = 16
_NAME = re.compile(r"[A-Za-z_]\w*")
_GRAPHS = (FORWARD, OUTPUT_CODE)
Place = tuple[str, int | None]
"""An artifact within its compile: its name, and its number if the name is not unique. Compiles with equal texts share answers."""
_WITH_VALUE = ("create_symbol",)
"""Records that have the value of a symbol."""


@frozen
class SavedTensor:
    """A tensor that backward reads and that exists since the forward, or one that it computes again."""

    name: str
    """The node of the forward graph."""
    kind: str
    """`activation`, `output`, `input`, `parameter`."""
    dtype: str
    sizes: tuple[int | str, ...]
    """Its sizes, with symbols and expressions for dynamic ones."""
    storage_bytes: int | None
    """Bytes of its storage; None if a symbol has no value, or the dtype is unknown."""
    formula: str
    """These bytes by symbols; '' for a fixed size."""
    shares_storage_with: str
    """An earlier tensor with the same storage, whose bytes count once; '' for none."""
    parameter: str
    """The path of a parameter or buffer, '' for any other tensor."""
    layer: str | None
    """The path of the module that computes it; None if unknown."""
    line: str
    """The line of source as `FILE:LINE`, '' if unknown."""
    tag: str
    """The checkpointing tag of the node in the joint graph, '' for none."""
    partitioner_tag: str
    """Its tag after the partitioner if that is another one, else ''."""


@frozen
class RecomputedGroup:
    """Nodes of one line and layer that backward computes again."""

    nodes: tuple[str, ...]
    result_bytes: int | None
    """Bytes of their results, which are not saved; None if a symbol has no value."""
    formula: str
    layer: str | None
    line: str
    tag: str


@frozen
class KindSum:
    """Saved storages of one kind."""

    kind: str
    tensors: int
    storage_bytes: int | None
    """Each storage once; None if a symbol has no value."""
    formula: str


@frozen
class SavedForBackward:
    """What one compiled region holds from its forward to its backward."""

    forward: str
    """The unit of the forward; '' if it was not lowered."""
    graph_ref: str
    """The address of the forward graph."""
    backward_ref: str
    is_from_wrapper: bool
    """Whether the wrapper shows which results share a storage; else the views of the graph do."""
    sums: tuple[KindSum, ...]
    tensors: tuple[SavedTensor, ...]
    """The largest first."""
    recomputed: tuple[RecomputedGroup, ...]
    unknown_sizes: int
    """Saved tensors without a known size."""


@frozen
class AliveStorage:
    """A storage that is allocated at the highest level."""

    name: str
    """Its last name in the wrapper at that moment."""
    is_saved: bool
    """Whether it holds what the forward saved; not if another buffer has taken it over."""
    storage_bytes: int
    formula: str
    kernel: str
    """The first kernel that names it, which writes it; '' if unknown, and for a saved tensor."""
    layers: tuple[str, ...]
    lines: tuple[str, ...]


@frozen
class Peak:
    """The highest level of storages on one device."""

    device: str
    peak_bytes: int
    formula: str
    start_bytes: int
    """At the start of the call: what the forward saved."""
    end_bytes: int
    """At its end: the results."""
    wrapper_line: int
    """The allocation that reaches it, from 1; 0 if it is the start of the call."""
    kernel: str
    """The kernel that runs next."""
    layers: tuple[str, ...]
    lines: tuple[str, ...]
    """The lines of source of this kernel."""
    alive: tuple[AliveStorage, ...]
    """The largest first."""


@frozen
class GraphMemory:
    """The storages of one compiled graph."""

    unit: str
    is_backward: bool
    code_ref: str
    """The address of its generated code, '' for none."""
    reason: str
    """Why there is no peak; '' if there is one."""
    peaks: tuple[Peak, ...]
    """By device, the highest first."""
    storages: int
    """Storages that a call allocates."""
    reused: int
    """Buffers that take over the storage of another one."""
    unknown_calls: tuple[str, ...]
    """Library calls whose results have an unknown size: the peak may be higher."""


@frozen
class SymbolSize:
    """A symbol of the shapes, and its value at the compile."""

    symbol: str
    value: int


@frozen
class CompileMemory:
    """The memory of one compile."""

    ref: str
    function: str | None
    symbols: tuple[SymbolSize, ...]
    """Symbols of dynamic sizes that have a value."""
    saved: tuple[SavedForBackward, ...]
    graphs: tuple[GraphMemory, ...]


@frozen
class _Output:
    """A result of a graph: the node, '' for none, and torch's note about it."""

    name: str
    note: str = ""


@frozen
class _Saved:
    """A tensor that the forward returns for the backward."""

    name: str
    place: int
    """Its number among the results of the forward graph."""
    node: FxNode
    kind: str
    """One of `KINDS`."""
    root: str
    """The node whose memory it shows: itself, or the base of a view."""
    argument: str
    """The argument of the forward whose storage it is, '' for none."""
    base: str
    """The first saved tensor with the same storage, itself if it is the first."""
    amount: Amount | None
    """Bytes of the storage; None if unknown."""
    tag: str
    """The checkpointing tag of the node in the joint graph, '' for none."""
    set_tag: str
    """Its tag in the forward graph where the partitioner changed it, else ''."""


@frozen
class _Recomputed:
    """A node of the forward that the backward computes again."""

    node: FxNode
    amount: Amount | None
    """Bytes of its result; none for a view."""
    tag: str


@mutable
class _GraphPair:
    """A forward graph and its backward, as AOTAutograd logged them."""

    forward: GraphText
    backward: GraphText
    joint: GraphText | None
    outputs: tuple[_Output, ...] = field(init=False)
    saved_places: tuple[int, ...] = field(init=False)
    """Numbers of the results that the backward reads."""

    def __post_init__(self) -> None:
        self.outputs = _outputs_of(self.forward)
        self.saved_places = _saved_places(self.outputs, self.backward)


@mutable
class _Graph:
    """One unit with its texts."""

    parts: Parts
    provenance: UnitProvenance | None
    layers: UnitLayers | None
    post: GraphText | None
    code: CodeText
    allocations: Allocations | None = None
    reason: str = ""
    kernels: tuple[Kernel, ...] = field(init=False)
    """The kernels that the Python wrapper calls, in the order of the code."""
    readers: dict[str, list[Kernel]] = field(init=False)
    """Name in the calls of kernels → these kernels."""

    def __post_init__(self) -> None:
        kernels = self.provenance.kernels if self.provenance is not None else ()
        called = (kernel for kernel in kernels if kernel.call_pane == PY and kernel.call_lines)
        self.kernels = tuple(sorted(called, key=_call_line))
        self.readers = _readers(self.kernels, self.code.text)


_Regions = tuple[tuple[SavedForBackward, Place, Place], ...]
_Levels = tuple[tuple[GraphMemory, Place | None], ...]


def memory_of(compile_: Compile) -> CompileMemory:
    """Return the memory of a compile, cached for compiles with equal texts."""
    content = _content_of(compile_)
    symbols = _symbols(compile_) if content else {}
    key = (content, tuple(symbols.items()))
    regions, levels = shared(compile_, memory_of, key, lambda: _Compile(compile_, symbols).answer()) if content else ((), ())
    saved = tuple(
        replace(region, graph_ref=_address(compile_, forward), backward_ref=_address(compile_, backward))
        for region, forward, backward in regions
    )  # fmt: skip
    graphs = tuple(replace(graph, code_ref=_address(compile_, code)) for graph, code in levels)
    used = _symbols_in(saved, graphs)
    sizes = tuple(SymbolSize(name, value) for name, value in symbols.items() if name in used)
    return CompileMemory(str(compile_.ref), display_name(compile_.frame), sizes, saved, graphs)


def unread(compile_: Compile, reason: str) -> CompileMemory:
    """Return the memory of a compile whose texts cannot be read."""
    graph = GraphMemory("", False, "", reason, (), 0, 0, ())
    return CompileMemory(str(compile_.ref), display_name(compile_.frame), (), (), (graph,))


def _address(compile_: Compile, place: Place | None) -> str:
    return "" if place is None else str(replace(compile_.ref, artifact=place[0], n=place[1]))


def _place(artifact: Artifact) -> Place:
    return artifact.name, None if artifact.alone else artifact.n


def _symbols_in(saved: Iterable[SavedForBackward], graphs: Iterable[GraphMemory]) -> set[str]:
    """Return the names in all formulas."""
    formulas = [total.formula for region in saved for total in region.sums]
    formulas += [group.formula for region in saved for group in region.recomputed]
    formulas += [peak.formula for graph in graphs for peak in graph.peaks]
    return {name for formula in formulas for name in _NAME.findall(formula)}


def has_graphs(compile_: Compile) -> bool:
    """Return whether a compile has a forward graph or generated code."""
    log = compile_.process.log
    return any(is_artifact(log.kind(record), log.has_payload(record)) for record, _ in records_of(compile_, _GRAPHS))


@part
def _content_of(compile_: Compile, reader: Reader) -> bytes:
    return content_key(compile_, reader, _READ, LIMIT)


@part
def _symbols(compile_: Compile, reader: Reader) -> dict[str, int]:
    """Return the values of symbols at the compile. Without any, the descriptions of its inputs are not read."""
    if next(records_of(compile_, _WITH_VALUE), None) is None:
        return {}
    symbols = shape_env.inputs_of(compile_, reader).symbols
    return {symbol.name: symbol.hint for symbol in symbols if type(symbol.hint) is int}


@mutable
class _Compile:
    """The state while one compile is read."""

    compile_: Compile
    symbols: Mapping[str, int]
    reader: Reader = field(init=False)
    artifacts: list[Artifact] = field(init=False)
    texts: dict[int, GraphText] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reader, self.artifacts = reader_of(self.compile_), artifacts_of(self.compile_)

    def lines(self, artifact: Artifact) -> list[str]:
        """Return the lines of a payload."""
        return self.reader.text(artifact.record, LIMIT).replace("\r\n", "\n").split("\n")

    def graph(self, artifact: Artifact | None) -> GraphText | None:
        """Return a parsed graph."""
        if artifact is None:
            return None
        if artifact.record not in self.texts:
            self.texts[artifact.record] = parse_graph(self.lines(artifact))
        return self.texts[artifact.record]

    def answer(self) -> tuple[_Regions, _Levels]:
        """Return the saved tensors of each region, and the level of each graph, without addresses but with their artifacts."""
        provenance = provenance_of(self.compile_)
        graphs = {graph.parts.unit.number: graph for graph in self.units(provenance)}
        regions: list[tuple[SavedForBackward, Place, Place]] = []
        held: dict[int, dict[str, Amount | None]] = {}
        for forward, backward, joint in self.pairs():
            graph = graphs.get(forward.unit) if forward.unit is not None else None
            pair = _GraphPair(_graph(self.graph(forward)), _graph(self.graph(backward)), self.graph(joint))
            parameters = self.parameters(pair, graph)
            storages = _returned(pair, graph)
            tensors = _saved_of(pair, parameters, storages)
            layers = self.layers(pair, graph)
            rows = [self.tensor(pair, tensor, layers, parameters) for tensor in tensors]
            rows.sort(key=lambda row: (KINDS.index(row.kind), row.shares_storage_with != "", -(row.storage_bytes or 0)))
            region = SavedForBackward(
                graph.parts.unit.name if graph is not None else "", "", "", bool(storages),
                tuple(self.sum_of(tensors, kind) for kind in KINDS if any(tensor.kind == kind for tensor in tensors)), tuple(rows),
                tuple(self.recomputed(pair, layers)), sum(tensor.amount is None for tensor in tensors),
            )  # fmt: skip
            regions.append((region, _place(forward), _place(backward)))
            number = backward.unit if backward.unit in graphs else self.backward_of(graph, graphs)
            if number is not None:
                held[number] = _arguments(tensors)
        codes = {number: graph.parts.members.get(OUTPUT_CODE) for number, graph in graphs.items()}
        return tuple(regions), tuple(
            (self.level(graph, held.get(number)), None if (code := codes[number]) is None else _place(code))
            for number, graph in graphs.items()
        )  # fmt: skip

    def units(self, provenance: Provenance) -> Iterator[_Graph]:
        """Yield the units with their wrappers followed."""
        layers = layers_of(self.compile_, provenance)
        for parts in parts_of(self.artifacts, units_of(self.artifacts), self.reader):
            code = parts.members.get(OUTPUT_CODE)
            unit = next((unit for unit in provenance.units if unit.number == parts.unit.number), None)
            graph = _Graph(
                parts, unit, layers.unit(parts.unit.name), self.graph(parts.post),
                parse_code(self.lines(code)) if code is not None else CodeText(),
            )
            try:
                graph.allocations = allocations_of(graph.code, _results_of(graph))
            except UnreadableWrapper as error:
                graph.reason = str(error) if code is not None else NO_CODE
            yield graph

    def pairs(self) -> Iterator[tuple[Artifact, Artifact, Artifact | None]]:
        """Yield each forward graph with the backward graph logged next, and the joint graph before."""
        joint: Artifact | None = None
        forward: Artifact | None = None
        for artifact in self.artifacts:
            if artifact.name == JOINT:
                joint = artifact
            elif artifact.name == FORWARD:
                forward = artifact
            elif artifact.name == BACKWARD and forward is not None:
                same = (artifact.attempt, artifact.subgraph)
                if (forward.attempt, forward.subgraph) == same:
                    has_joint = joint is not None and (joint.attempt, joint.subgraph) == same
                    yield forward, artifact, joint if has_joint else None
                forward = joint = None

    @staticmethod
    def backward_of(forward: _Graph | None, graphs: Mapping[int, _Graph]) -> int | None:
        """Return the unit that is the backward of a forward by its code."""
        if forward is None:
            return None
        return next((number for number, graph in graphs.items() if graph.parts.forward == forward.parts.unit.number), None)

    def parameters(self, pair: _GraphPair, graph: _Graph | None) -> dict[str, str]:
        """Map placeholders of the forward graph to the paths of their parameters, as Dynamo named the inputs."""
        pre = self.graph(graph.parts.pre) if graph is not None else None
        if pre is None:
            return {}
        names = [node.name for node in pre.nodes if node.kind == "placeholder" and node.graph == 0]
        numbers = inputs_of(pair.forward, pair.forward, Program(inputs=names))
        paths: dict[str, str] = {}
        for name, number in numbers.items():
            parameter = parameter_of(names[number]) if number < len(names) else None
            if parameter is not None and parameter.name:
                paths[name] = ".".join((*parameter.path, parameter.name))
        return paths

    @staticmethod
    def layers(pair: _GraphPair, graph: _Graph | None) -> dict[str, str]:
        """Return the layers of nodes, also of results that have another name in the post-grad graph."""
        if graph is None or graph.layers is None:
            return {}
        layers = dict(graph.layers.of_post)
        outputs = _outputs_of(graph.post) if graph.post is not None else ()
        if len(outputs) == len(pair.outputs):
            for before, after in zip(pair.outputs, outputs, strict=True):
                if after.name in layers:
                    layers.setdefault(before.name, layers[after.name])
        return layers

    def tensor(
        self, pair: _GraphPair, tensor: _Saved, layers: Mapping[str, str], parameters: Mapping[str, str]
    ) -> SavedTensor:  # fmt: skip
        kind = _tensor(tensor.node.type)
        path = parameters.get(tensor.argument, "")
        layer = path.rpartition(".")[0] if path else layers.get(tensor.name, layers.get(tensor.root))
        return SavedTensor(
            tensor.name, tensor.kind, kind.dtype, tuple(map(_size, kind.sizes)), self.value(tensor.amount), _formula(tensor.amount),
            "" if tensor.base == tensor.name else tensor.base, path, layer, _line(pair.forward, tensor.name), tensor.tag,
            tensor.set_tag,
        )  # fmt: skip

    def sum_of(self, tensors: Sequence[_Saved], kind: str) -> KindSum:
        amount = _saved_amount(tensors, kind)
        return KindSum(kind, sum(tensor.kind == kind for tensor in tensors), amount.value(self.symbols), amount.formula)

    def recomputed(self, pair: _GraphPair, layers: Mapping[str, str]) -> Iterator[RecomputedGroup]:
        """Yield the nodes that are computed again by line, layer and tag, in the order of the backward."""
        groups: dict[tuple[str, str | None, str], list[_Recomputed]] = {}
        for node in _recomputed_of(pair):
            key = (_line(pair.backward, node.node.name), layers.get(node.node.name), node.tag)
            groups.setdefault(key, []).append(node)
        for (line, layer, tag), nodes in groups.items():
            amount = together(node.amount for node in nodes)
            names = tuple(node.node.name for node in nodes)
            yield RecomputedGroup(names, amount.value(self.symbols), amount.formula, layer, line, tag)

    def value(self, amount: Amount | None) -> int | None:
        return None if amount is None else amount.value(self.symbols)

    def level(self, graph: _Graph, held: Mapping[str, Amount | None] | None) -> GraphMemory:
        """Return the highest level of a graph on each device. `held`: the arguments that it frees, None if unknown."""
        unit = graph.parts.unit
        is_backward = unit.direction == "backward"
        allocations = graph.allocations
        if allocations is None or (is_backward and held is None):
            return GraphMemory(unit.name, is_backward, "", graph.reason or NO_PAIR, (), 0, 0, ())
        held = held or {}
        saved = [storage for name, storage in allocations.given if name in held]
        for storage in saved:
            storage.amount = held[storage.name]
            storage.device = self.device(graph, storage.name)
        storages = [*saved, *allocations.storages]
        unknown = tuple(dict.fromkeys(storage.call or storage.name for storage in storages if storage.amount is None))
        devices = dict.fromkeys(storage.device for storage in storages if storage.amount is not None)
        levels = [(device, highest_level(allocations, _on(storages, device), self.symbols)) for device in devices]
        peaks = [self.peak(graph, device, level) for device, level in levels if level is not None]
        return GraphMemory(
            unit.name, is_backward, "", NO_SIZES if any(level is None for _, level in levels) else "",
            tuple(sorted(peaks, key=lambda peak: -peak.peak_bytes)), len(allocations.storages), allocations.reused, unknown,
        )  # fmt: skip

    @staticmethod
    def device(graph: _Graph, name: str) -> str:
        node = graph.post.find(name) if graph.post is not None else None
        tensor = tensor_type(node.type) if node is not None else None
        return tensor.device.partition(":")[0] if tensor is not None else ""

    def peak(self, graph: _Graph, device: str, level: Level) -> Peak:
        reached = next((storage for storage in level.alive if storage.begin == level.moment), None)
        kernel = _kernel_after(graph.kernels, reached.line) if reached is not None else None
        return Peak(
            device, level.bytes, together(storage.amount for storage in level.alive).formula, level.start_bytes, level.end_bytes,
            0 if reached is None else reached.line + 1, "" if kernel is None else kernel.key,
            () if kernel is None else _layers(graph, kernel), () if kernel is None else kernel.user_lines,
            tuple(self.alive(graph, storage, level.moment) for storage in level.alive if storage.amount != Amount()),
        )  # fmt: skip

    def alive(self, graph: _Graph, storage: Storage, moment: int) -> AliveStorage:
        name = storage.name_at(moment)
        writer = _writer(graph, name) if name.line >= 0 else None
        amount = (self.value(storage.amount) or 0, _formula(storage.amount))
        if writer is None:
            return AliveStorage(name.text, name.line < 0, *amount, "", (), ())
        return AliveStorage(name.text, name.line < 0, *amount, writer.key, _layers(graph, writer), writer.user_lines)


def _returned(pair: _GraphPair, graph: _Graph | None) -> list[Storage | None]:
    """Return the storage of each result of a forward in its wrapper; [] without a readable one."""
    allocations = graph.allocations if graph is not None else None
    return allocations.returned if allocations is not None and len(allocations.returned) == len(pair.outputs) else []


def _graph(graph: GraphText | None) -> GraphText:
    assert graph is not None
    return graph


def _tensor(text: str) -> TensorType:
    tensor = tensor_type(text)
    assert tensor is not None
    return tensor


def _size(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < MAX_DIGITS else text


def _formula(amount: Amount | None) -> str:
    return "" if amount is None else amount.formula


def _line(graph: GraphText, name: str) -> str:
    node = graph.find(name)
    origin = graph.origin(node) if node is not None else None
    return "" if origin is None else f"{origin.path}:{origin.place}"


def _layers(graph: _Graph, kernel: Kernel) -> tuple[str, ...]:
    return graph.layers.of_kernel.get(kernel.key, ()) if graph.layers is not None else ()


def _arguments(tensors: Iterable[_Saved]) -> dict[str, Amount | None]:
    """Return the arguments of the backward that only the saved tensors hold, each storage once."""
    return {
        tensor.name: tensor.amount if tensor.base == tensor.name else Amount() for tensor in tensors if tensor.kind == ACTIVATION
    }  # fmt: skip


def _on(storages: Iterable[Storage], device: str) -> list[Storage]:
    return [storage for storage in storages if storage.device == device]


def _kernel_after(kernels: Iterable[Kernel], line: int) -> Kernel | None:
    """Return the first kernel, of those in the order of the code, that is called below a line, from 0."""
    return next((kernel for kernel in kernels if kernel.call_lines[0] > line), None)


def _writer(graph: _Graph, name: Name) -> Kernel | None:
    """Return the first kernel, at or below the line that binds a name, that names it."""
    kernels = graph.readers.get(name.text, ())
    at = bisect_left(kernels, name.line + 1, key=_call_line)
    return kernels[at] if at < len(kernels) else None


def _call_line(kernel: Kernel) -> int:
    return kernel.call_lines[0]


def _readers(kernels: Iterable[Kernel], lines: Sequence[str]) -> dict[str, list[Kernel]]:
    """Map each name in the call of a kernel to its kernels, in the order of the code."""
    readers: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        for name in dict.fromkeys(name for n in kernel.call_lines for name in _NAME.findall(lines[n - 1])):
            readers.setdefault(name, []).append(kernel)
    return readers


def _results_of(graph: _Graph) -> Results:
    """Return the tensors that a library call of the wrapper allocates, by the types of its post-grad nodes.

    Where provenance has no node for the call, the nodes of the operator count if all of them have results of one type. If these
    differ in their sizes only, the sizes come from the wrapper's check of the result.
    """
    nodes: dict[int, list[FxNode]] = {}
    for kernel in graph.kernels:
        of_kernel = graph.post.nodes_in(kernel.function, kernel.post_nodes) if graph.post is not None else []
        nodes.update(dict.fromkeys((line - 1 for line in kernel.call_lines), of_kernel))
    values = values_of(graph.post) if graph.post is not None else {}

    def of_node(value: Value, inside: Values) -> dict[int, TensorType]:
        if (tensor := tensor_type(value.type)) is not None:
            return {-1: tensor}
        users = (inside.nodes[user] for user in inside.users.get(value.name, ()))
        return {user.item: tensor for user in users if user.op == "getitem" and (tensor := tensor_type(user.type)) is not None}

    def results(line: int, operator: str) -> dict[int, TensorType]:
        for node in nodes.get(line, ()):
            inside = values.get(node.graph)
            if inside is not None and inside.nodes[node.name].op == operator:
                return of_node(inside.nodes[node.name], inside)
        same = [of_node(inside.nodes[name], inside) for inside in values.values() for name in inside.by_op.get(operator, ())]
        if same and all(tensors == same[0] for tensors in same):
            return same[0]
        alone = {replace(tensors[-1], sizes=("?",), strides=None) for tensors in same if -1 in tensors}
        return {-1: alone.pop()} if len(alone) == 1 and all(-1 in tensors for tensors in same) else {}

    return results


def _outputs_of(graph: GraphText) -> tuple[_Output, ...]:
    """Return the results of the outermost graph in order, with their notes."""
    node = next((node for node in reversed(graph.nodes) if node.kind == "output" and node.graph == 0), None)
    if node is None:
        return ()
    first = graph.text[node.line].strip().removeprefix("return").strip()
    if first not in ("(", "["):
        text = first.partition("  # ")[0].partition(";")[0].strip()
        names = arguments(text[1:-1]) if text[:1] in ("(", "[") else [text]
        return tuple(_Output("" if name == "None" else name) for name in names if name)
    outputs = []
    for line in graph.text[node.line + 1 : node.line + MAX_RETURN]:
        code, _, note = line.strip().partition("  # ")
        if code.startswith((")", "]")):
            break
        name = code.rstrip(", ")
        outputs.append(_Output("" if name == "None" else name, note))
    return tuple(outputs)


def _saved_places(outputs: Sequence[_Output], backward: GraphText) -> tuple[int, ...]:
    """Return the results that are saved: by torch's notes, else the last result of each name that the backward reads."""
    noted = tuple(n for n, output in enumerate(outputs) if output.note.startswith(_SAVED))
    if noted:
        return noted
    names = {node.name for node in backward.nodes if node.kind == "placeholder" and node.graph == 0}
    read = {name for name in names if not _NOT_SAVED.match(name)}
    last = {output.name: n for n, output in enumerate(outputs) if output.name in read}
    return tuple(sorted(last.values()))


def _saved_of(pair: _GraphPair, parameters: Mapping[str, str], storages: Sequence[Storage | None]) -> tuple[_Saved, ...]:
    """Return the saved tensors in the order of the forward's results.

    `parameters` maps placeholders to paths of parameters. `storages` has the storage of each result in the wrapper, () without a
    wrapper. The wrapper decides: it may return a copy of an argument where the graph has the argument.
    """
    values = values_of(pair.forward).get(0, Values(0))
    inputs = {node.name for node in pair.forward.nodes if node.kind == "placeholder" and node.graph == 0}
    returned = _returned_storages(pair, values, storages)
    bases: dict[object, str] = {}
    results = []
    for place in pair.saved_places:
        name = pair.outputs[place].name
        node = pair.forward.find(name)
        if node is None or tensor_type(node.type) is None:
            continue  # a size
        root = values.root(name)
        storage = storages[place] if place < len(storages) else None
        if storage is not None and storage.is_argument:
            root = storage.name if storage.name in inputs else root
        is_input = root in inputs if storage is None else storage.is_argument
        key = _storage(storages, place, root)
        kind = (PARAMETER if root in parameters else INPUT) if is_input else OUTPUT if key in returned else ACTIVATION
        amount = _amount(pair.forward, root) if storage is None or storage.is_argument else storage.amount
        tag, set_tag = _tags(pair, name)
        results.append(
            _Saved(name, place, node, kind, root, root if is_input else "", bases.setdefault(key, name), amount, tag, set_tag)
        )
    return tuple(results)


def _storage(storages: Sequence[Storage | None], place: int, root: str) -> object:
    """Return a key for the storage of a result: the wrapper's, else the node that the result is a view of."""
    storage = storages[place] if place < len(storages) else None
    return root if storage is None else storage


def _returned_storages(pair: _GraphPair, values: Values, storages: Sequence[Storage | None]) -> set[object]:
    """Return the storages of the results that the caller gets."""
    saved = set(pair.saved_places)
    return {
        _storage(storages, n, values.root(output.name)) for n, output in enumerate(pair.outputs)
        if n not in saved and output.name and not output.note.startswith(_MUTATION)
    }  # fmt: skip


def _amount(graph: GraphText, name: str) -> Amount | None:
    node = graph.find(name)
    tensor = tensor_type(node.type) if node is not None else None
    return tensor.amount if tensor is not None else None


def _tag(graph: GraphText | None, name: str) -> str:
    node = graph.find(name) if graph is not None else None
    origin: Origin | None = graph.origin(node) if graph is not None and node is not None else None
    match = _TAG.search(origin.note) if origin is not None else None
    return match[1] if match else ""


def _tags(pair: _GraphPair, name: str) -> tuple[str, str]:
    """Return the tag of a node in the joint graph, and that of the partitioner if it differs."""
    before, after = _tag(pair.joint, name), _tag(pair.forward, name)
    if pair.joint is None or pair.joint.find(name) is None:
        return after, ""
    return before, after if after != before else ""


def _recomputed_of(pair: _GraphPair) -> tuple[_Recomputed, ...]:
    """Return the nodes of the forward that the backward graph has too, views left out."""
    values = values_of(pair.backward).get(0, Values(0))
    results = []
    for node in pair.backward.nodes:
        if node.graph != 0 or node.kind not in COMPUTED or values.is_view(node.name):
            continue
        first = pair.forward.find(node.name)
        if first is None or first.graph != 0 or first.kind != node.kind or first.target != node.target:
            continue
        tensor = tensor_type(node.type)
        if tensor is not None:  # results of a call with several results have nodes of their own
            results.append(_Recomputed(node, tensor.amount, _tag(pair.backward, node.name)))
    return tuple(results)


def _saved_amount(saved: Iterable[_Saved], kind: str) -> Amount:
    """Return the bytes of a kind, each storage once."""
    return together(tensor.amount for tensor in saved if tensor.kind == kind and tensor.base == tensor.name)
