"""Nodes and kernels of each layer, followed from the pre-grad graph to the lowered graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tltui.model.artifacts import GUARDS, OUTPUT_CODE, Artifact, artifacts_of, units_of
from tltui.model.node_answers import content_key, part, reader_of, shared
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.questions.layers.layer_costs import (
    IN_DICTIONARY,
    Layer,
    Layers,
    Site,
    StaticCost,
    UnitLayers,
    costs_of_unit,
    is_below,
    modules_in_lists,
    signature_of,
    together,
)
from tltui.questions.layers.lowered_layers import backward_layers, forward_layers, inner_layers, inputs_of
from tltui.questions.layers.node_layers import (
    Frames,
    Naming,
    Program,
    ancestors,
    assign_leaves,
    called_module,
    classes_of_guards,
    frames_of_guards,
    program_of,
)
from tltui.questions.provenance import unit_artifacts
from tltui.questions.provenance.graph_names import GraphText, parse_graph
from tltui.questions.provenance.provenance import LIMIT, provenance_of
from tltui.questions.provenance.records import Kernel, Provenance, UnitProvenance
from tltui.questions.provenance.unit_artifacts import KERNELS, TEXTS, WRAPPER, Parts, Stacks, parts_of
from tltui.questions.stacks.tracebacks import StackFrame
from tltui.text.frozen import frozen, mutable
from tltui.text.torch_names import DICTIONARY, Owner, Parameter, common, parameter_of

Line = tuple[str, int, str]


def sites_of(stacks: Stacks, kernels: Iterable[Kernel]) -> tuple[Site, ...]:
    """Return the call tree of a unit's kernels, parents before children, in the order of their first runs."""
    chains: list[tuple[Kernel, tuple[Line, ...]]] = []
    for kernel in kernels:
        frames = stacks.frames.get(kernel.key) or stacks.frames.get(kernel.name, ())
        chains += [(kernel, chain) for stack in frames if (chain := _user_chain(stack))]
    head = _head([chain for _, chain in chains])
    parents: list[int] = []
    lines: list[Line] = []
    reached: list[dict[str, tuple[str, ...]]] = []
    numbers: dict[tuple[int, Line], int] = {}
    for kernel, chain in chains:
        at = -1
        for line in chain[head:]:
            below = numbers.setdefault((at, line), len(lines))
            if below == len(lines):
                parents.append(at)
                lines.append(line)
                reached.append({})
            at = below
            reached[at][kernel.key] = kernel.post_nodes
    return tuple(
        Site(*line, parent, tuple(site), tuple(dict.fromkeys(node for nodes in site.values() for node in nodes)))
        for line, parent, site in zip(lines, parents, reached, strict=True)
    )


def _user_chain(stack: tuple[StackFrame, ...]) -> tuple[Line, ...]:
    """Return the frames of a stack, outermost first; frames of torch and Python only if there are no others."""
    placed = [frame for frame in stack if frame.line is not None]
    theirs = (Owner.USER, Owner.LIBRARY)
    user_frames = [frame for frame in placed if frame.owner in theirs] or placed[-1:]
    return tuple((frame.file, frame.line or 0, frame.name) for frame in user_frames)


def _head(chains: list[tuple[Line, ...]]) -> int:
    """Return the number of leading frames common to all chains; at least one frame of each remains."""
    if not chains:
        return 0
    least = min(map(len, chains)) - 1
    first = chains[0]
    return next((n for n in range(least) if any(chain[n] != first[n] for chain in chains)), max(least, 0))


JOINT = "aot_joint_graph"
EXPORTED = "exported_program"
RUNTIMES = ("inductor_runtime_and_tensor_meta", "inductor_tlparse_runtime")
_READ = TEXTS | {GUARDS, JOINT, EXPORTED, *RUNTIMES}
_DICTIONARY_OF = ".__dict__['_"
NO_GRAPH = "torch wrote no graph of the program"
NO_NAMES = "no graph reads module parameters by name"


def layers_of(compile_: Compile, provenance: Provenance | None = None) -> Layers:
    """Return the layers of all units of a compile. `found`: its complete provenance, if already at hand."""
    content = _content_of(compile_)
    units = shared(compile_, layers_of, content, lambda: _units(compile_, provenance or provenance_of(compile_))) if content else ()
    return Layers(str(compile_.ref), units)


@part
def _content_of(compile_: Compile, reader: Reader) -> bytes:
    return content_key(compile_, reader, _READ, LIMIT)


def _in_list(parameter: Parameter, listed: Mapping[str, tuple[str, tuple[str, ...]]]) -> Parameter:
    """Return a parameter of a module in a Python list with the list and the number of the module in its path."""
    if parameter.root not in listed:
        return parameter
    root, held = listed[parameter.root]
    return replace(parameter, root=root, path=(*held, *parameter.path))


def _outside_dictionaries(parameter: Parameter, guards: str) -> Parameter:
    """Return a parameter without the suffix that its name has after each module that guards read through its `__dict__`."""
    path = (
        short if (short := part.removesuffix(DICTIONARY)) != part and f"['{short}']{_DICTIONARY_OF}" in guards else part
        for part in parameter.path
    )
    return replace(parameter, path=tuple(path))


class _Texts:
    """Reads and parses every text once."""

    def __init__(self, compile_: Compile) -> None:
        self.reader = reader_of(compile_)
        self.artifacts = artifacts_of(compile_)
        self._lines: dict[int, list[str]] = {}
        self._graphs: dict[int, GraphText] = {}
        self._programs: dict[int, tuple[Program, bool]] = {}
        self._modules: dict[int, tuple[dict[str, Parameter], Naming, str]] = {}

    def lines(self, artifact: Artifact) -> list[str]:
        """Return the lines of a payload, cached."""
        if artifact.record not in self._lines:
            self._lines[artifact.record] = self.reader.text(artifact.record, LIMIT).replace("\r\n", "\n").split("\n")
        return self._lines[artifact.record]

    def graph(self, artifact: Artifact | None) -> GraphText | None:
        """Return the parsed graph of an artifact, cached."""
        if artifact is None:
            return None
        if artifact.record not in self._graphs:
            self._graphs[artifact.record] = parse_graph(self.lines(artifact))
        return self._graphs[artifact.record]

    def last(self, name: str, attempt: int | None = None) -> Artifact | None:
        """Return the last artifact of a name."""
        candidates = (a for a in reversed(self.artifacts) if a.name == name and (attempt is None or a.attempt == attempt))
        return next(candidates, None)

    def program(self, pre: Artifact) -> tuple[Program, bool]:
        """Return the layers of a pre-grad graph, and whether any parameter is known."""
        if pre.record not in self._programs:
            self._programs[pre.record] = self._program(pre)
        return self._programs[pre.record]

    def _program(self, pre: Artifact) -> tuple[Program, bool]:
        graph = self.graph(pre)
        assert graph is not None
        parameters, naming, guards = self.modules(pre)
        frames = frames_of_guards(guards, naming) if parameters else Frames()
        paths = {
            name: naming(parameter.root, parameter.path) or called_module(name, frames) for name, parameter in parameters.items()
        }  # fmt: skip
        program = program_of(graph, parameters, paths, frames)
        assign_leaves(program, frames, classes_of_guards(guards, naming))
        return program, bool(parameters)

    def modules(self, pre: Artifact) -> tuple[dict[str, Parameter], Naming, str]:
        """Return the parameters among the inputs of a pre-grad graph, the naming of their modules, and the text of the guards."""
        if pre.record not in self._modules:
            self._modules[pre.record] = self._read_modules(pre)
        return self._modules[pre.record]

    def _read_modules(self, pre: Artifact) -> tuple[dict[str, Parameter], Naming, str]:
        graph = self.graph(pre)
        assert graph is not None
        exported = self.last(EXPORTED)
        signed = signature_of(self.reader.text(exported.record, LIMIT)) if exported is not None else {}
        names = [node.name for node in graph.nodes if node.kind == "placeholder" and node.graph == 0]
        names += [node.target for node in graph.nodes if node.kind == "get_attr" and node.graph == 0]
        parameters: dict[str, Parameter] = {}
        for name in names:
            parsed_parameter = signed.get(name) or parameter_of(name, exported is not None)
            if parsed_parameter is not None:
                parameters[name] = parsed_parameter
        guards = self.last(GUARDS, pre.attempt) or self.last(GUARDS)
        text = self.reader.text(guards.record, LIMIT) if guards is not None and parameters else ""
        listed = modules_in_lists(text)
        parameters = {name: _in_list(parameter, listed) for name, parameter in parameters.items()}
        one = len({parameter.root for parameter in parameters.values()}) <= 1

        def naming(root: str, path: tuple[str, ...]) -> str:
            return ".".join(path if one or not root else (root, *path))

        if _DICTIONARY_OF in text:
            parameters = {name: _outside_dictionaries(parameter, text) for name, parameter in parameters.items()}
        return parameters, naming, text.replace(IN_DICTIONARY, "._modules")


@frozen
class CapturedLayers:
    """The graph that Dynamo captured, with the layer of each node."""

    graph: GraphText
    layers: dict[str, str]
    """Key of a node (`GraphText.key`) → path of its innermost layer, in the order in which they run."""
    parameters: dict[str, str]
    """Graph input that is a parameter or a buffer → its path in the model: `layers.3.attn.weight`."""
    naming: Naming
    guards: str
    """The text of the guards; '' if there is none."""


def captured_layers(compile_: Compile) -> CapturedLayers | None:
    """Return the graph of the last attempt of a compile with its layers; None without a graph that names parameters."""
    texts = _Texts(compile_)
    captured = texts.last(unit_artifacts.DYNAMO_GRAPH)
    graph = texts.graph(captured)
    if captured is None or graph is None:
        return None
    parameters, naming, guards = texts.modules(captured)
    if not parameters:
        return None
    program, _ = texts.program(captured)
    paths = {
        name: ".".join(word for word in (naming(parameter.root, parameter.path), parameter.name) if word)
        for name, parameter in parameters.items()
    }  # fmt: skip
    layers = {step.name: step.layer for step in program.steps if step.layer is not None}
    return CapturedLayers(graph, layers, paths, naming, guards)


@mutable
class _UnitNodes:
    """Intermediate results for one unit."""

    pre: dict[str, str] = field(default_factory=dict)
    post: dict[str, str] = field(default_factory=dict)
    graph: GraphText | None = None
    """The post-grad graph."""
    program: Program = field(default_factory=Program)
    why: str = ""


def _units(compile_: Compile, provenance: Provenance) -> tuple[UnitLayers, ...]:
    texts = _Texts(compile_)
    by_number = {unit.number: unit for unit in provenance.units}
    done: dict[int, _UnitNodes] = {}
    units = []
    for parts in parts_of(texts.artifacts, units_of(texts.artifacts), texts.reader):
        unit = by_number.get(parts.unit.number)
        if unit is None:
            continue
        layers = done[parts.unit.number] = _unit_layers(texts, parts, unit, done)
        units.append(_unit(texts, parts, unit, layers))
    return tuple(units)


def _unit_layers(texts: _Texts, parts: Parts, unit: UnitProvenance, done: dict[int, _UnitNodes]) -> _UnitNodes:
    """Return the layers of the nodes of a unit."""
    if parts.pre is None:
        return _UnitNodes(why=parts.pre_why or NO_GRAPH)
    program, names = texts.program(parts.pre)
    results = _UnitNodes(program=program, why="" if names else NO_NAMES)
    if not names:
        return results
    for step in (*program.steps, *(step for step, _ in program.inner)):
        if step.layer is not None:
            other = results.pre.setdefault(step.name, step.layer)
            if other != step.layer:  # a region that several layers run
                results.pre[step.name] = program.module(common((other, step.layer)))
    post = texts.graph(parts.post)
    if post is None or parts.post is None:
        return results
    joint = texts.graph(texts.last(JOINT, parts.pre.attempt))
    inputs = inputs_of(post, joint, program)
    forward = done.get(parts.forward) if parts.forward is not None else None
    if unit.direction == "backward":
        graph = _forward_graph(texts, parts)
        if not inputs and graph is not None:
            inputs = inputs_of(graph, joint, program)
        results.post = backward_layers(post, texts.lines(parts.post), program, inputs, graph, forward.post if forward else {})
    else:
        results.post = forward_layers(post, program, inputs, _before(texts, parts, unit), unit.direction == "inference")
    results.graph = post
    results.post |= {name: layer for name, layer in inner_layers(post, program, inputs).items() if layer is not None}
    return results


def _forward_graph(texts: _Texts, parts: Parts) -> GraphText | None:
    """Return the post-grad graph of the forward that belongs to a backward."""
    units = units_of(texts.artifacts)
    others = parts_of(texts.artifacts, units, texts.reader) if parts.forward is not None else []
    return next((texts.graph(other.post) for other in others if other.unit.number == parts.forward), None)


def _before(texts: _Texts, parts: Parts, unit: UnitProvenance) -> dict[str, tuple[str, ...]]:
    """Map post-grad nodes to their pre-grad nodes from torch's mappings, by name."""
    pre, post = texts.graph(parts.pre), texts.graph(parts.post)
    recorded = any(name in parts.members for name in (unit_artifacts.NODE_MAPPINGS, unit_artifacts.POST_NODES))
    if pre is None or post is None or not recorded:
        return {}
    names: dict[int, list[str]] = {}
    for node in pre.nodes:
        names.setdefault(node.line + 1, []).append(pre.key(node))
    links = unit.maps.get("post_to_pre", {})
    return {
        node.name: tuple(name for line in links.get(node.line + 1, ()) for name in names.get(line, ()))
        for node in post.nodes if node.line + 1 in links
    }  # fmt: skip


def _unit(texts: _Texts, parts: Parts, unit: UnitProvenance, unit_nodes: _UnitNodes) -> UnitLayers:
    of_kernel = {kernel.key: layers for kernel in unit.kernels if (layers := _of_kernel(kernel, unit_nodes))}
    unknown = len(unit.kernels) - len(of_kernel)
    why = unit_nodes.why
    if unknown and not why:
        why = "the nodes, or their place in the program, are unknown"
    costs = _costs(texts, parts, unit)
    stacks = unit_artifacts.kernel_stacks(unit_artifacts.read_json(texts.reader, parts.record(unit_artifacts.KERNEL_STACKS)))
    return UnitLayers(
        unit.unit, _layers(unit, unit_nodes, of_kernel, costs), sites_of(stacks, unit.kernels), unit_nodes.pre, unit_nodes.post,
        of_kernel, unknown, why if unknown or unit_nodes.why else "", costs,
    )  # fmt: skip


def _costs(texts: _Texts, parts: Parts, unit: UnitProvenance) -> dict[str, StaticCost]:
    """Return the cost of each kernel from code, graph and runtime estimates."""
    code = parts.members.get(OUTPUT_CODE) or parts.members.get(WRAPPER)
    kernels = parts.members.get(KERNELS)
    logged = [a for a in texts.artifacts if a.name in RUNTIMES and a.unit == parts.unit.number]
    estimates = unit_artifacts.read_json(texts.reader, logged[-1].record) if logged else None
    return costs_of_unit(
        unit.kernels, texts.lines(code) if code is not None else [], texts.lines(kernels) if kernels is not None else [],
        texts.graph(parts.post), estimates,
    )  # fmt: skip


def _of_kernel(kernel: Kernel, unit_nodes: _UnitNodes) -> tuple[str, ...]:
    """Return the innermost layers that a kernel computes: by its nodes, else by its lines if they agree on one layer."""
    if not unit_nodes.pre:
        return ()
    graph = unit_nodes.graph
    nodes = kernel.post_nodes
    if kernel.function and graph is not None:  # it is in the layers of its own graph, not in those of what the graph is given
        nodes = tuple(map(graph.key, graph.nodes_in(kernel.function, nodes))) or nodes
    layers: Iterable[str | None] = [unit_nodes.post.get(name) for name in nodes]
    if not kernel.post_nodes:
        layers = [unit_nodes.pre.get(name) for name in kernel.pre_nodes]
    if not kernel.post_nodes and not any(layer is not None for layer in layers):
        places = (place.rpartition(":") for place in kernel.user_lines)
        layers = [unit_nodes.program.layer_of((file, int(line))) for file, _, line in places]
    return tuple(dict.fromkeys(layer for layer in layers if layer is not None))


def _layers(
    unit: UnitProvenance, unit_nodes: _UnitNodes, of_kernel: dict[str, tuple[str, ...]], costs: dict[str, StaticCost]
) -> tuple[Layer, ...]:
    """Return the modules in the order of their first runs, with direct and inclusive sums."""
    paths: dict[str, None] = {}
    for layer in (*unit_nodes.pre.values(), *unit_nodes.post.values(), *(path for layers in of_kernel.values() for path in layers)):
        if layer not in paths:
            for path in reversed([path for path in ancestors(layer) if not path or path in unit_nodes.program.modules]):
                paths.setdefault(path)
    if not paths:
        return ()
    order = sorted(paths, key=lambda path: path != "")  # stable: the outermost first
    numbers = {path: n for n, path in enumerate(order)}
    held = _Held(numbers)
    pre, post = held.names(unit_nodes.pre.items()), held.names(unit_nodes.post.items())
    kernels = held.names((key, layer) for key, layers in of_kernel.items() for layer in layers)
    lines = held.names((f"{step.key[0]}:{step.key[1]}", step.layer) for step in unit_nodes.program.steps if step.layer is not None)
    places = {str(place): n for n, place in enumerate(unit.places)}
    layer_list = []
    for path in order:
        parent = -1 if not path else next(numbers[around] for around in ancestors(path.rpartition(".")[0]) if around in numbers)
        kernel_keys = tuple(kernels.get(path, ()))
        priced = [costs[key] for key in kernel_keys if key in costs]
        placed_lines = sorted((line for line in lines.get(path, ()) if line in places), key=places.__getitem__)
        layer_list.append(Layer(
            path, parent, tuple(pre.get(path, ())), tuple(post.get(path, ())), kernel_keys,
            tuple(key for key in kernel_keys if all(is_below(layer, path) for layer in of_kernel[key])), tuple(placed_lines),
            together(priced), sum(cost.moved_bytes is not None for cost in priced),
        ))  # fmt: skip
    return tuple(layer_list)


class _Held:
    """Contents of layers, including nested ones."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._around: dict[str, tuple[str, ...]] = {}
        self._paths = frozenset(paths)

    def names(self, pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, None]]:
        """Layer → the names that are in it, in their order."""
        results: dict[str, dict[str, None]] = {}
        for name, layer in pairs:
            if layer not in self._around:
                self._around[layer] = tuple(path for path in ancestors(layer) if path in self._paths)
            for path in self._around[layer]:
                results.setdefault(path, {})[name] = None
        return results
