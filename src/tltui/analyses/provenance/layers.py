"""The layers of a compile: which nodes and kernels belong to which module of the model.

    found = layers_of(compile_)                # made once for compiles with the same texts
    for unit in found.units:
        unit.layers                            # the modules, in the order in which they first run
        unit.of_post["mm_3"]                   # layers.0.attn.out
        unit.of_kernel[kernel.key]             # the innermost layers that a kernel computes something of

No text of a trace says of a node which module it is of. It is concluded from the names of parameters, the order of the program and
its lines (`layer_pre.py`), then followed into the graphs that were lowered (`layer_follow.py`) and to the kernels by their nodes.
What is not certain stays in the module around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tltui.analyses.content import content_key
from tltui.analyses.parts import part, reader_of, shared
from tltui.analyses.provenance import mapping
from tltui.analyses.provenance.cost import costs_of_unit, together
from tltui.analyses.provenance.graph import GraphText, parse_graph
from tltui.analyses.provenance.layer_follow import backward_layers, forward_layers, inputs_of
from tltui.analyses.provenance.layer_lines import Frames, ancestors, frames_of_guards
from tltui.analyses.provenance.layer_names import is_below, signature_of
from tltui.analyses.provenance.layer_pre import Program, program_of
from tltui.analyses.provenance.layered import Layer, Layers, StaticCost, UnitLayers
from tltui.analyses.provenance.parts import KERNELS, TEXTS, WRAPPER, Parts, parts_of
from tltui.analyses.provenance.provenance import LIMIT, provenance_of
from tltui.analyses.provenance.result import Kernel, Provenance, UnitProvenance
from tltui.analyses.provenance.sites import sites_of
from tltui.analyses.records import Reader
from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile
from tltui.text.graphs.module_names import Parameter, parameter_of

GUARDS = "dynamo_cpp_guards_str"
JOINT = "aot_joint_graph"
EXPORTED = "exported_program"
RUNTIMES = ("inductor_runtime_and_tensor_meta", "inductor_tlparse_runtime")
_READ = TEXTS | {GUARDS, JOINT, EXPORTED, *RUNTIMES}
NO_GRAPH = "torch wrote no graph of the program"
NO_NAMES = "no parameter of a module is read by its name"


def layers_of(compile_: Compile, found: Provenance | None = None) -> Layers:
    """The layers of all units of a compile. `found`: its whole provenance, where that is at hand."""
    content = _content_of(compile_)
    units = shared(compile_, layers_of, content, lambda: _units(compile_, found or provenance_of(compile_))) if content else ()
    return Layers(str(compile_.ref), units)


@part
def _content_of(compile_: Compile, reader: Reader) -> bytes:
    return content_key(compile_, reader, _READ, LIMIT)


class _Texts:
    """Reads and parses every text once."""

    def __init__(self, compile_: Compile) -> None:
        self.reader = reader_of(compile_)
        self.artifacts = artifacts_of(compile_)
        self._lines: dict[int, list[str]] = {}
        self._graphs: dict[int, GraphText] = {}
        self._programs: dict[int, tuple[Program, bool]] = {}

    def lines(self, artifact: Artifact) -> list[str]:
        """The lines of a payload."""
        if artifact.record not in self._lines:
            self._lines[artifact.record] = self.reader.text(artifact.record, LIMIT).replace("\r\n", "\n").split("\n")
        return self._lines[artifact.record]

    def graph(self, artifact: Artifact | None) -> GraphText | None:
        """A parsed graph."""
        if artifact is None:
            return None
        if artifact.record not in self._graphs:
            self._graphs[artifact.record] = parse_graph(self.lines(artifact))
        return self._graphs[artifact.record]

    def last(self, name: str, attempt: int | None = None) -> Artifact | None:
        """The last artifact of a name."""
        found = (a for a in reversed(self.artifacts) if a.name == name and (attempt is None or a.attempt == attempt))
        return next(found, None)

    def program(self, pre: Artifact) -> tuple[Program, bool]:
        """The layers of a pre-grad graph, and whether any parameter is known."""
        if pre.record not in self._programs:
            self._programs[pre.record] = self._program(pre)
        return self._programs[pre.record]

    def _program(self, pre: Artifact) -> tuple[Program, bool]:
        graph = self.graph(pre)
        assert graph is not None
        exported = self.last(EXPORTED)
        signed = signature_of(self.reader.text(exported.record, LIMIT)) if exported is not None else {}
        names = [node.name for node in graph.nodes if node.kind == "placeholder" and node.graph == 0]
        names += [node.target for node in graph.nodes if node.kind == "get_attr" and node.graph == 0]
        known: dict[str, Parameter] = {}
        for name in names:
            found = signed.get(name) or parameter_of(name, exported is not None)
            if found is not None:
                known[name] = found
        one = len({parameter.root for parameter in known.values()}) <= 1

        def naming(root: str, path: tuple[str, ...]) -> str:
            return ".".join(path if one or not root else (root, *path))

        guards = self.last(GUARDS, pre.attempt) or self.last(GUARDS)
        text = self.reader.text(guards.record, LIMIT) if guards is not None and known else ""
        roots = {parameter.root for parameter in known.values()}
        frames = frames_of_guards(text, naming) if roots else Frames()
        paths = {name: naming(parameter.root, parameter.path) for name, parameter in known.items()}
        return program_of(graph, known, paths, frames), bool(known)


@dataclass(slots=True)
class _Found:
    """What is known of one unit while it is put together."""

    pre: dict[str, str] = field(default_factory=dict)
    post: dict[str, str] = field(default_factory=dict)
    program: Program = field(default_factory=Program)
    why: str = ""


def _units(compile_: Compile, provenance: Provenance) -> tuple[UnitLayers, ...]:
    texts = _Texts(compile_)
    known = {unit.number: unit for unit in provenance.units}
    done: dict[int, _Found] = {}
    units = []
    for parts in parts_of(texts.artifacts, units_of(texts.artifacts), texts.reader):
        unit = known.get(parts.unit.number)
        if unit is None:
            continue
        found = done[parts.unit.number] = _found(texts, parts, unit, done)
        units.append(_unit(texts, parts, unit, found))
    return tuple(units)


def _found(texts: _Texts, parts: Parts, unit: UnitProvenance, done: dict[int, _Found]) -> _Found:
    """The layers of the nodes of a unit."""
    if parts.pre is None:
        return _Found(why=parts.pre_why or NO_GRAPH)
    program, named = texts.program(parts.pre)
    found = _Found(program=program, why="" if named else NO_NAMES)
    if not named:
        return found
    found.pre = {step.name: step.layer for step in program.steps if step.layer is not None}
    post = texts.graph(parts.post)
    if post is None or parts.post is None:
        return found
    joint = texts.graph(texts.last(JOINT, parts.pre.attempt))
    inputs = inputs_of(post, joint, program)
    forward = done.get(parts.forward) if parts.forward is not None else None
    if unit.direction == "backward":
        graph = _forward_graph(texts, parts)
        if not inputs and graph is not None:
            inputs = inputs_of(graph, joint, program)
        found.post = backward_layers(post, texts.lines(parts.post), program, inputs, graph, forward.post if forward else {})
    else:
        found.post = forward_layers(post, program, inputs, _before(texts, parts, unit), unit.direction == "inference")
    return found


def _forward_graph(texts: _Texts, parts: Parts) -> GraphText | None:
    """The post-grad graph of the forward of a backward."""
    units = units_of(texts.artifacts)
    others = parts_of(texts.artifacts, units, texts.reader) if parts.forward is not None else []
    return next((texts.graph(other.post) for other in others if other.unit.number == parts.forward), None)


def _before(texts: _Texts, parts: Parts, unit: UnitProvenance) -> dict[str, tuple[str, ...]]:
    """The pre-grad nodes that torch says post-grad nodes came from, by their names."""
    pre, post = texts.graph(parts.pre), texts.graph(parts.post)
    recorded = any(name in parts.members for name in (mapping.NODE_MAPPINGS, mapping.POST_NODES))
    if pre is None or post is None or not recorded:
        return {}
    names: dict[int, list[str]] = {}
    for node in pre.nodes:
        names.setdefault(node.line + 1, []).append(node.name)
    links = unit.maps.get("postToPre", {})
    return {
        node.name: tuple(name for line in links.get(node.line + 1, ()) for name in names.get(line, ()))
        for node in post.nodes if node.line + 1 in links
    }  # fmt: skip


def _unit(texts: _Texts, parts: Parts, unit: UnitProvenance, found: _Found) -> UnitLayers:
    of_kernel = {kernel.key: layers for kernel in unit.kernels if (layers := _of_kernel(kernel, found))}
    unknown = len(unit.kernels) - len(of_kernel)
    why = found.why
    if unknown and not why:
        why = "the nodes are not known, or not where in the program they stand"
    costs = _costs(texts, parts, unit)
    stacks = mapping.kernel_stacks(mapping.read_json(texts.reader, parts.record(mapping.KERNEL_STACKS)))
    return UnitLayers(
        unit.unit, _layers(unit, found, of_kernel, costs), sites_of(stacks, unit.kernels), found.pre, found.post, of_kernel,
        unknown, why if unknown or found.why else "", costs,
    )  # fmt: skip


def _costs(texts: _Texts, parts: Parts, unit: UnitProvenance) -> dict[str, StaticCost]:
    """What code, graph and estimates tell of each kernel."""
    code = parts.members.get(OUTPUT_CODE) or parts.members.get(WRAPPER)
    kernels = parts.members.get(KERNELS)
    logged = [a for a in texts.artifacts if a.name in RUNTIMES and a.unit == parts.unit.number]
    estimates = mapping.read_json(texts.reader, logged[-1].record) if logged else None
    return costs_of_unit(
        unit.kernels, texts.lines(code) if code is not None else [], texts.lines(kernels) if kernels is not None else [],
        texts.graph(parts.post), estimates,
    )  # fmt: skip


def _of_kernel(kernel: Kernel, found: _Found) -> tuple[str, ...]:
    """The innermost layers that a kernel computes something of: by its nodes, else by its lines where they are of one layer."""
    if not found.pre:
        return ()
    layers: Iterable[str | None] = [found.post.get(name) for name in kernel.post_nodes]
    if not kernel.post_nodes:
        layers = [found.pre.get(name) for name in kernel.pre_nodes]
    if not kernel.post_nodes and not any(layer is not None for layer in layers):
        places = (place.rpartition(":") for place in kernel.user_lines)
        layers = [found.program.layer_of((file, int(line))) for file, _, line in places]
    return tuple(dict.fromkeys(layer for layer in layers if layer is not None))


def _layers(
    unit: UnitProvenance, found: _Found, of_kernel: dict[str, tuple[str, ...]], costs: dict[str, StaticCost]
) -> tuple[Layer, ...]:
    """The modules in the order in which they first run, with what is in them and in what they hold."""
    paths: dict[str, None] = {}
    for layer in (*found.pre.values(), *found.post.values(), *(path for layers in of_kernel.values() for path in layers)):
        if layer not in paths:
            for path in reversed([path for path in ancestors(layer) if not path or path in found.program.modules]):
                paths.setdefault(path)
    if not paths:
        return ()
    order = sorted(paths, key=lambda path: path != "")  # stable: the outermost first
    numbers = {path: n for n, path in enumerate(order)}
    held = _Held(numbers)
    pre, post = held.names(found.pre.items()), held.names(found.post.items())
    kernels = held.names((key, layer) for key, layers in of_kernel.items() for layer in layers)
    lines = held.names((f"{step.key[0]}:{step.key[1]}", step.layer) for step in found.program.steps if step.layer is not None)
    places = {str(place): n for n, place in enumerate(unit.places)}
    made = []
    for path in order:
        parent = -1 if not path else next(numbers[around] for around in ancestors(path.rpartition(".")[0]) if around in numbers)
        own = tuple(kernels.get(path, ()))
        priced = [costs[key] for key in own if key in costs]
        known = sorted((line for line in lines.get(path, ()) if line in places), key=places.__getitem__)
        made.append(Layer(
            path, parent, tuple(pre.get(path, ())), tuple(post.get(path, ())), own,
            tuple(key for key in own if all(is_below(layer, path) for layer in of_kernel[key])), tuple(known), together(priced),
            sum(cost.bytes is not None for cost in priced),
        ))  # fmt: skip
    return tuple(made)


class _Held:
    """What layers hold, each what those in it hold too."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._around: dict[str, tuple[str, ...]] = {}
        self._paths = frozenset(paths)

    def names(self, pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, None]]:
        """Layer → the names that are in it, in their order."""
        found: dict[str, dict[str, None]] = {}
        for name, layer in pairs:
            if layer not in self._around:
                self._around[layer] = tuple(path for path in ancestors(layer) if path in self._paths)
            for path in self._around[layer]:
                found.setdefault(path, {})[name] = None
        return found
