"""The layer of each node of the pre-grad graph, from guards and source lines.

Modules without parameters (dropout, activations) are found by their classes in guards, and by the values that they read.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from tltui.questions.layers.layer_costs import is_below, merged, source_path
from tltui.questions.provenance.graph_names import COMPUTED, GraphText
from tltui.questions.stacks.tracebacks import is_end_of
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.torch_names import Parameter, common

_CALLED = re.compile(
    r"not ___dict_contains\('forward', ([LG]\[[^\n]*?)\.__dict__\)  # ([^\n]*)  # (\S[^\n]*?):(\d{1,9}) in (\S+)"
)
_READ = re.compile(
    r"___check_type_id\(([LG]\[[^\n]*?)\._(?:parameters|buffers), [^\n]*?  # ([^\n]*)  # (\S[^\n]*?):(\d{1,9}) in (\S+)"
)
_ATTRIBUTE = re.compile(
    r"(?:EQUALS_MATCH: |check_tensor\()([LG]\['\w+'\](?:\._modules\['[^'\]\n]+'\])+)\.(\w+)[, ]"
    r"[^\n]*?  # ([^\n]*)  # (\S[^\n]*?):(\d{1,9}) in (\S+)"
)
_FLAT = re.compile(r"^(?:self\.)?[Ll]__self___(\w+)$")
Naming = Callable[[str, tuple[str, ...]], str]
"""The variable of a module and its path there → its path in the model."""

Key = tuple[str, int]
"""File and line."""
_CHECKPOINT = "tag_activation_checkpoint"
_FUNCTION = "autograd_function_apply"
"""Runs the `forward` of an own `torch.autograd.Function`, the first of its graphs; the second one is its `backward`."""
_RUNS = re.compile(r"\bhigher_order\.(?:cond|while_loop|invoke_subgraph)$")
"""Operators that run graphs inside of the graph, which take the last arguments."""
_CALL = re.compile(r"^\s*(?:\w+ = |return )?\w+\.(\w+)\([\w., =]*\)\s*$")
"""A line that calls an attribute of a module with names for arguments, and does nothing else."""

_CLASS = re.compile(
    r"___check_type_id\(([LG]\['\w+'\](?:\._modules\['[^'\]\n]+'\])+), \d+\), type=<class 'torch\.nn\.modules\.\w+\.(\w+)'>"
)
_SEQUENTIAL = "Sequential"
_CONTAINER = "nn/modules/container.py"
_RANDOM = ("inductor_lookup_seed", "inductor_random")
OWN_NAME = frozenset(("relu", "sigmoid", "tanh"))
"""Operators that lowered graphs have under the name that they have in the program."""


@frozen
class At:
    """A line that runs."""

    file: str
    function: str
    line: int


@mutable
class Frames:
    """Source lines of modules. Modules that differ only in numbers share their code."""

    calls: dict[str, At] = field(default_factory=dict)
    """Module → where it is called."""
    lines: dict[tuple[str, str], dict[int, set[str]]] = field(default_factory=dict)
    """File (its end) and function → line → the modules, numbers merged, whose code it is."""
    _files: dict[str, str] = field(default_factory=dict)

    def add(self, at: At, path: str) -> None:
        """Add a source line of a module's code."""
        self.lines.setdefault((self.file(at.file), at.function), {}).setdefault(at.line, set()).add(merged(path))

    def file(self, path: str) -> str:
        """Return the file name in guards for a path in a graph."""
        if path not in self._files:
            files = {file for file, _ in self.lines}
            self._files[path] = path if path in files else next((file for file in files if is_end_of(file, path)), path)
        return self._files[path]

    def owners(self, at: At) -> set[str]:
        """Return the modules whose code may include a line, numbers merged.

        Lines of one function are contiguous: an unknown line belongs to the modules of the known lines around it.
        """
        layers_here = self.lines.get((self.file(at.file), at.function))
        if not layers_here:
            return set()
        if at.line in layers_here:
            return layers_here[at.line]
        ordered = sorted(layers_here)
        n = bisect_left(ordered, at.line)
        around = ordered[max(n - 1, 0) : n + 1]
        return set().union(*(layers_here[line] for line in around))

    def caller(self, path: str) -> str:
        """Return the module that calls a module: the nearest enclosing module that is called itself."""
        parts = path.split(".")[:-1]
        while parts and ".".join(parts) not in self.calls:
            parts.pop()
        return ".".join(parts)


@mutable
class Step:
    """A node that computes something, in the order of the graph."""

    name: str
    key: Key
    at: At
    code: str
    reads: tuple[int, ...] = ()
    """Numbers of the inputs that are parameters and that it reads."""
    operator: str = ""
    """The last part of its target: `dropout`."""
    inputs: tuple[int, ...] = ()
    """Numbers of the steps in the same graph whose values it reads."""
    type: str = ""
    """As torch annotates it: `f32[4, 8][8, 1]cpu`."""
    layer: str | None = None
    anchor: bool = False


@mutable
class Program:
    """The graph that Inductor began with."""

    steps: list[Step] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    """Names of its inputs, in their order."""
    attributes: dict[str, int] = field(default_factory=dict)
    """Parameters that are attributes of the graph → their numbers, which are negative."""
    paths: dict[int, str] = field(default_factory=dict)
    """Number of an input that is a parameter → its module."""
    names: dict[int, str] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    """All modules that are known, without those that only hold others."""
    by_key: dict[Key, list[int]] = field(default_factory=dict)
    """Line → numbers of its steps."""
    readers: dict[int, list[int]] = field(default_factory=dict)
    """Number of an input → the steps that read it."""
    inner: list[tuple[Step, int]] = field(default_factory=list)
    """Nodes of graphs inside of the graph (branches of a `cond`, the body of a loop), with the number of the step that runs them.

    They are in no order with the steps: one that reads a parameter is in its module, any other in that of the node that runs it."""

    def layer_of(self, key: Key, low: int = 0, high: int | None = None) -> str | None:
        """Return the innermost layer of a line's nodes between two steps (both inclusive).

        None if any of these nodes has no known layer.
        """
        return self.layer_of_steps(self.steps_in(key, low, high))

    def steps_in(self, key: Key, low: int = 0, high: int | None = None) -> list[int]:
        """Return the steps of a line between two steps (both inclusive)."""
        last = len(self.steps) if high is None else high
        return [n for n in self.by_key.get(key, ()) if low <= n <= last]

    def layer_of_steps(self, steps: Iterable[int]) -> str | None:
        """Return the innermost layer around all of these steps; None if any of them has no known layer."""
        layers = [self.steps[n].layer for n in steps]
        known_layers = [layer for layer in layers if layer is not None]
        return None if not known_layers or len(known_layers) < len(layers) else self.module(common(known_layers))

    def module(self, path: str) -> str:
        """Return the innermost module that runs: a module list only holds modules."""
        return next(ancestor for ancestor in ancestors(path) if not ancestor or ancestor in self.modules)


@frozen
class Region:
    """A graph inside of a graph, as one node runs it."""

    number: int
    """The index in `FxGraph.graphs`."""
    given: dict[str, str]
    """Input of the region → node of the graph around it."""

    def held(self, around: dict[str, int]) -> dict[str, int]:
        """Return the parameters among the inputs of the region; `around` are those of the graph around it."""
        return {name: around[outer] for name, outer in self.given.items() if outer in around}


@mutable
class _Gap:
    """Nodes between two anchors."""

    before: Step | None
    after: Step | None
    base: str
    modules: tuple[tuple[str, str], ...]
    """Modules that may run in it, with their numbers merged: those of the anchors in `base`, and `base`."""

    @classmethod
    def in_module(cls, before: Step | None, after: Step | None, base: str) -> _Gap:
        """Return the gap between two anchors in one call of the module `base`."""
        paths = [
            path for anchor in (before, after) if anchor is not None for path in ancestors(anchor.layer or "")
            if is_below(path, base)
        ]  # fmt: skip
        return cls(before, after, base, tuple((path, merged(path)) for path in dict.fromkeys((*paths, base))))


@mutable
class _Reads:
    """Reads of parameters in the current call of each module: the number of the parameter and the line."""

    marks: dict[str, set[tuple[int, Key]]] = field(default_factory=dict)
    _below: dict[str, set[str]] = field(default_factory=dict)
    """Module → itself and the modules in it that have reads."""

    def add(self, path: str, marks: set[tuple[int, Key]]) -> None:
        """Add reads in a module."""
        if path not in self.marks:
            self.marks[path] = set()
            for outer in ancestors(path):
                self._below.setdefault(outer, set()).add(path)
        self.marks[path] |= marks

    def forget(self, path: str) -> None:
        """Remove the reads in a module, whose call has ended, and in the modules in it."""
        for inner in tuple(self._below.get(path, ())):
            del self.marks[inner]
            for outer in ancestors(inner):
                self._below[outer].discard(inner)


def frames_of_guards(text: str, naming: Naming) -> Frames:
    """Parse the code locations of modules from the guard text (`dynamo_cpp_guards_str`)."""
    frames = Frames()
    read: list[tuple[str, At]] = []
    for path, at, _ in _guard_matches(_CALLED, text, naming):
        frames.calls.setdefault(path, at)
    for path, at, code in _guard_matches(_READ, text, naming):
        read.append((reader_of(path, "", code), at))
    for match in _ATTRIBUTE.finditer(text):
        source = source_path(match[1])
        if source is not None and re.search(rf"\bself\.{match[2]}\b", match[3]):
            read.append((naming(*source), At(match[4], match[6], int(match[5]))))
    for path, at in frames.calls.items():
        frames.add(at, frames.caller(path))
    for path, at in read:
        frames.add(at, path)
    return frames


def called_module(name: str, frames: Frames) -> str:
    """Return the module of a parameter whose name has `_` for each `.`, by the modules that guards list as called: the longest one.

    So torch names the attributes of a graph with frozen parameters: `L__self___head_weight`.
    """
    match = _FLAT.match(name)
    paths = (path for path in frames.calls if path and match and match[1].startswith(f"{path.replace('.', '_')}_"))
    return max(paths, key=len, default="")


def _guard_matches(pattern: re.Pattern[str], text: str, naming: Naming) -> Iterator[tuple[str, At, str]]:
    for match in pattern.finditer(text):
        source = source_path(match[1])
        if source is not None:
            yield naming(*source), At(match[3], match[5], int(match[4])), match[2]


def reader_of(path: str, name: str, code: str) -> str:
    """Return the module whose code reads a parameter: for `self.embed.weight`, the parent of `embed`."""
    parts = path.split(".") if path else []
    away = 0
    attribute = re.escape(name) if name else r"[A-Za-z]\w*"
    for match in re.finditer(rf"((?:\.\w+)*)\.{attribute}\b", code):
        words = [word for word in match[1].split(".") if word]
        same = 0
        while words and same < min(len(words), len(parts)) and words[-1 - same] == parts[-1 - same]:
            same += 1
        if same and same == len(words):
            away = max(away, same)
    return ".".join(parts[: len(parts) - away])


def mentions(name: str, code: str) -> bool:
    """Return whether a line of code reads an attribute of this name."""
    return bool(name) and re.search(rf"\.{re.escape(name)}\b", code) is not None


def ancestors(path: str) -> Iterable[str]:
    """Yield a module and its parents, innermost first, '' last."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""


def program_of(graph: GraphText, parameters: dict[str, Parameter], paths: dict[str, str], frames: Frames) -> Program:
    """All nodes with their layers. `paths` has the module of each parameter."""
    program = Program()
    held = _inputs(program, graph, parameters, paths)
    produced: dict[tuple[int, str], int] = {}
    program.modules |= set(frames.calls)
    for node, here in _in_order(graph, 0, held):
        origin = graph.origin(node)
        place = (origin.path, origin.place) if origin else ("", 0)
        at = At(place[0], origin.function if origin else "", place[1])
        regions = regions_of(graph, node) if _RUNS.search(node.target) else []
        reads = tuple(dict.fromkeys(here[name] for name in node.args if name in here and not regions))
        inputs = tuple(produced[node.graph, name] for name in node.args if (node.graph, name) in produced)
        produced[node.graph, node.name] = len(program.steps)
        operator = node.target.rpartition(".")[2]
        program.steps.append(Step(graph.key(node), place, at, origin.code if origin else "", reads, operator, inputs, node.type))
        for region in regions:
            _add_inner(program, graph, region, region.held(here), len(program.steps) - 1)
    for n, step in enumerate(program.steps):
        if step.key[0]:
            program.by_key.setdefault(step.key, []).append(n)
        for number in step.reads:
            program.readers.setdefault(number, []).append(n)
    _anchors(program, frames)
    for step, _ in program.inner:
        if step.reads and not _shared(program, frames, step):
            step.layer, step.anchor = common(_owners_of_reads(program, frames, step)), True
    program.modules |= {step.layer for step in (*program.steps, *(step for step, _ in program.inner)) if step.layer}
    if not frames.calls:  # what a list holds is called, also where no guard says so
        program.modules |= {path for step in program.steps for path in ancestors(step.layer or "") if _in_list(path)}
    _layers_between(program, frames)
    _leaves(program, frames)
    for step, n in program.inner:
        step.layer = program.steps[n].layer if step.layer is None else step.layer
    return program


def _add_inner(program: Program, graph: GraphText, region: Region, held: dict[str, int], at: int) -> None:
    """Add the nodes of a graph that step `at` runs, and of graphs inside of it."""
    for node in graph.nodes:
        if node.graph != region.number:
            continue
        if node.kind == "alias" and node.args and node.args[0] in held:
            held[node.name] = held[node.args[0]]
        if node.kind not in COMPUTED:
            continue
        origin = graph.origin(node)
        place = (origin.path, origin.place) if origin else ("", 0)
        regions = regions_of(graph, node)
        reads = tuple(dict.fromkeys(held[name] for name in node.args if name in held and not regions))
        line = At(place[0], origin.function if origin else "", place[1])
        program.inner.append((Step(graph.key(node), place, line, origin.code if origin else "", reads), at))
        for inner in regions:
            _add_inner(program, graph, inner, inner.held(held), at)


def _in_order(graph: GraphText, number: int, held: dict[str, int]) -> Iterator[tuple[FxNode, dict[str, int]]]:
    """Yield the computing nodes as they run, with the parameters that names mean there.

    A checkpointed region and an own autograd function are graphs inside.
    """
    for node in graph.nodes:
        if node.kind not in COMPUTED or node.graph != number:
            continue
        regions = regions_of(graph, node) if _CHECKPOINT in node.target or _FUNCTION in node.target else []
        if _FUNCTION in node.target:
            del regions[1:]
        if not regions:
            yield node, held
        for region in regions:
            yield from _in_order(graph, region.number, region.held(held))


def regions_of(graph: GraphText, node: FxNode) -> list[Region]:
    """Return the graphs that a node runs: a checkpointed region, the branches of a `cond`, the condition and the body of a loop."""
    if not any(word in node.target for word in (_CHECKPOINT, _FUNCTION)) and not _RUNS.search(node.target):
        return []
    attributes = {
        other.name: other.target.rpartition(".")[2] for other in graph.nodes
        if other.kind == "get_attr" and other.graph == node.graph
    }  # fmt: skip
    inside = {
        inner.path.rpartition(".")[2]: n for n, inner in enumerate(graph.graph.graphs)
        if n != node.graph and inner.parent == node.graph
    }  # fmt: skip
    given = [name for name in node.args if attributes.get(name, name) not in inside]
    results = []
    for name in node.args:
        number = inside.get(attributes.get(name, name))
        if number is None:
            continue
        names = [inner.name for inner in graph.nodes if inner.kind == "placeholder" and inner.graph == number]
        if _CHECKPOINT in node.target and len(names) != len(given):
            pairs = {name: name for name in names}
        else:
            pairs = dict(zip(names, given[max(0, len(given) - len(names)) :], strict=False)) if len(names) <= len(given) else {}
        results.append(Region(number, pairs))
    return results


def _in_list(path: str) -> bool:
    around, _, last = path.rpartition(".")
    return bool(around) and last.isdecimal()


def _inputs(program: Program, graph: GraphText, parameters: dict[str, Parameter], paths: dict[str, str]) -> dict[str, int]:
    """Return the inputs and all names of parameters: Dynamo gives each a second name."""
    held: dict[str, int] = {}
    for node in graph.nodes:
        if node.graph != 0:
            continue
        if node.kind == "placeholder":
            if node.name in parameters:
                number = held[node.name] = len(program.inputs)
                program.paths[number], program.names[number] = paths[node.name], parameters[node.name].name
            program.inputs.append(node.name)
        elif node.kind == "get_attr" and node.target in parameters:
            number = held[node.name] = program.attributes[node.target] = -1 - len(program.paths)
            program.paths[number], program.names[number] = paths[node.target], parameters[node.target].name
        elif node.kind == "alias" and node.args and node.args[0] in held:
            held[node.name] = held[node.args[0]]
    return held


def _anchors(program: Program, frames: Frames) -> None:
    """Mark the nodes that read parameters.

    In a function that receives parameters (attention of `torch.nn`), those of a module and its children belong to the module.
    """
    given: list[Step] = []
    last: Step | None = None
    for step in program.steps:
        if not step.reads or _shared(program, frames, step):
            continue
        step.layer, step.anchor = common(_owners_of_reads(program, frames, step)), True
        if any(mentions(program.names[n], step.code) for n in step.reads):
            frames.add(step.at, step.layer)
            last = None
            continue
        same = last is not None and _function(last) == _function(step)
        given = [*given, step] if same else [step]
        last = step
        around = common(anchor_step.layer or "" for anchor_step in given)
        if same and any(anchor_step.layer == around for anchor_step in given):
            for anchor_step in given:
                anchor_step.layer = around
        else:
            given = [step]


def _function(step: Step) -> tuple[str, str, str]:
    """Return the function of a step: in another graph it is another one, as the `forward` of an own autograd function."""
    return step.name.rpartition(".")[0], step.at.file, step.at.function


def _owners_of_reads(program: Program, frames: Frames, step: Step) -> list[str]:
    """Return the modules that run where a step reads parameters."""
    return [_called(frames, reader_of(program.paths[n], program.names[n], step.code)) for n in step.reads]


def _called(frames: Frames, path: str) -> str:
    """Return the module that runs: the caller of a module that guards do not list as called (it only holds parameters)."""
    return path if not frames.calls or path in frames.calls else frames.caller(path)


def _shared(program: Program, frames: Frames, step: Step) -> bool:
    """Return whether a node reads a tied weight at a line that is not known to belong to its owner."""
    for number in step.reads:
        lines = {program.steps[n].key for n in program.readers.get(number, ())}
        lines |= {inner.key for inner, _ in program.inner if number in inner.reads}
        called = frames.calls.get(program.paths[number])
        if len(lines) > 1 and called is not None and not _same(frames, called, step.at):
            path = program.paths[number]
            return merged(path) not in frames.owners(step.at) and not _calls_only(frames, path, step.code)
    return False


def _calls_only(frames: Frames, path: str, code: str) -> bool:
    """Return whether a line calls a module by its name, and no other module that runs has this name."""
    name = path.rpartition(".")[2]
    if name.isdecimal() or re.search(rf"\.{re.escape(name)}\(", code) is None:
        return False
    return [other for other in frames.calls if other.rpartition(".")[2] == name] == [path]


def _is_called_at(frames: Frames, path: str, at: At) -> bool:
    """Return whether guards list a module as called at a line."""
    return path in frames.calls and _same(frames, frames.calls[path], at)


def _same(frames: Frames, a: At, b: At) -> bool:
    return (frames.file(a.file), a.function, a.line) == (frames.file(b.file), b.function, b.line)


def _layers_between(program: Program, frames: Frames) -> None:
    places = [n for n, step in enumerate(program.steps) if step.anchor]
    reads = _Reads()
    entered = _entered(program, frames, places)
    bounds = [-1, *places, len(program.steps)]
    for first, last in pairwise(bounds):
        before = program.steps[first] if first >= 0 else None
        after = program.steps[last] if last < len(program.steps) else None
        base = _base(program, before, after, reads)
        gap = _Gap.in_module(before, after, base)
        candidates = {n: _owners(program, frames, gap, program.steps[n], n, entered) for n in range(first + 1, last)}
        for n, layer in _settled(candidates, gap, program).items():
            program.steps[n].layer = layer
        _within(program, range(first + 1, last), first, last, base)


def _base(program: Program, before: Step | None, after: Step | None, reads: _Reads) -> str:
    """Return the innermost module whose one call holds both anchors.

    A repeated read of an anchor in the same module means a second call; the common module is then its parent.
    """
    if after is None or after.layer is None:
        return ""
    base = "" if before is None else program.module(common((before.layer or "", after.layer)))
    marks = {(number, after.key) for number in after.reads}
    while base and not marks.isdisjoint(reads.marks.get(base, ())):
        reads.forget(base)
        base = program.module(base.rpartition(".")[0])
    for path in reversed(list(ancestors(after.layer))):
        if path and (before is None or not is_below(before.layer or "", path)):
            reads.forget(path)
        reads.add(path, marks)
    return base


def _entered(program: Program, frames: Frames, places: Iterable[int]) -> dict[tuple[str, int], int]:
    """Map each module and line of its code to the first anchor in the module called there."""
    results: dict[tuple[str, int], int] = {}
    for n in places:
        inner = ""
        for path in ancestors(program.steps[n].layer or ""):
            if inner and inner in frames.calls:
                results.setdefault((path, frames.calls[inner].line), n)
            inner = path if path in frames.calls or not inner else inner
    return results


def _runs(frames: Frames, cand: str, anchor: Step | None, at: At) -> int | None:
    """Return the line of a module's code that leads to an anchor in it; None if unknown or in another function."""
    if anchor is None or anchor.layer is None or not is_below(anchor.layer, cand):
        return None
    if anchor.layer == cand:
        called: At | None = anchor.at
    else:
        inner = [path for path in ancestors(anchor.layer) if path != cand and is_below(path, cand) and path in frames.calls]
        called = frames.calls[inner[-1]] if inner else None
    if called is None or (frames.file(called.file), called.function) != (frames.file(at.file), at.function):
        return None
    return called.line


def _owners(
    program: Program, frames: Frames, gap: _Gap, step: Step, n: int, entered: dict[tuple[str, int], int]
) -> list[str]:  # fmt: skip
    """Return the candidate modules of a node between two anchors, by its source line."""
    owners = frames.owners(step.at)
    if not owners:
        return []
    return [path for path, name in gap.modules if name in owners and _agrees(program, frames, gap, step, path, n, entered)]


def _leaves(program: Program, frames: Frames) -> None:
    """Assign nodes to modules without parameters (dropout, an activation) where their line only calls one."""
    holding = {around for path in (*frames.calls, *program.paths.values()) for around in ancestors(path.rpartition(".")[0])}
    holding |= set(program.paths.values())
    for step in program.steps:
        call = None if step.anchor or step.layer is None else _CALL.match(step.code)
        leaf = f"{step.layer}.{call[1]}" if call and step.layer else call[1] if call else ""
        called = frames.calls.get(leaf) if leaf and leaf not in holding else None
        if called is not None and _same(frames, called, step.at):
            step.layer = leaf


def _settled(candidates: dict[int, list[str]], gap: _Gap, program: Program) -> dict[int, str]:
    """Choose the candidate consistent with call nesting.

    A layer is never re-entered after it returned, nor left before its anchor.
    """
    results = {n: paths[0] for n, paths in candidates.items() if len(paths) == 1}
    order = [n for n, paths in candidates.items() if paths]
    for ends, numbers in ((True, order), (False, order[::-1])):
        passed: list[str] = []
        for n in numbers:
            if n in results:
                if not passed or passed[-1] != results[n]:
                    passed.append(results[n])
                continue
            candidates[n] = [
                path for path in candidates[n]
                if path == gap.base or _ends(path, gap) != ends or all(is_below(other, path) for other in passed)
            ]  # fmt: skip
            if len(candidates[n]) == 1:
                results[n] = candidates[n][0]
                passed.append(results[n])
    for n in order:
        if n not in results and candidates[n]:
            results[n] = program.module(common(candidates[n]))
    return results


def _ends(path: str, gap: _Gap) -> bool:
    """Return whether a module is left in a gap, not entered."""
    return gap.before is not None and is_below(gap.before.layer or "", path)


def _agrees(
    program: Program, frames: Frames, gap: _Gap, step: Step, cand: str, n: int, entered: dict[tuple[str, int], int]
) -> bool:  # fmt: skip
    """Return whether the line can run here in the code of a module, whose lines go forward but in loops."""
    before, after, line = _runs(frames, cand, gap.before, step.at), _runs(frames, cand, gap.after, step.at), step.at.line
    if cand != gap.base:  # it ends, or begins, in this gap
        return (before is None or before <= line) if _ends(cand, gap) else (after is None or line <= after)
    if before is None or after is None:
        return (before is None or before <= line) and (after is None or line <= after)
    if before <= line and (line <= after or after <= before):
        return True
    if line > after or after > before:
        return False
    first = entered.get((cand, after), 0)  # the loop goes on: then it ran before what it calls was called first
    earlier = program.by_key.get(step.key, ())
    return bool(earlier) and bisect_right(earlier, first) > 0 and n > first


def _within(program: Program, gap: range, first: int, last: int, base: str) -> None:
    """Assign the nodes between two nodes of one module to that module."""
    steps = program.steps
    placed = [n for n in (first, *gap, last) if 0 <= n < len(steps) and steps[n].layer is not None]
    for n in gap:
        if steps[n].layer is None:
            at = bisect_right(placed, n)
            around = common(steps[k].layer or "" for k in placed[max(at - 1, 0) : at + 1]) if 0 < at < len(placed) else base
            steps[n].layer = program.module(around) if is_below(around, base) else base


def classes_of_guards(text: str, naming: Naming) -> dict[str, str]:
    """Return the classes of torch's own modules, by path: `layers.0.drop` → `Dropout`."""
    results = {}
    for match in _CLASS.finditer(text):
        source = source_path(match[1])
        if source is not None:
            results[naming(*source)] = match[2]
    return results


def operator_of(target: str) -> str:
    """Return the operator of a lowered graph without namespace and overload: `mul` of `torch.ops.aten.mul.Tensor`."""
    parts = target.split(".")
    return parts[3] if target.startswith("torch.ops.") and len(parts) > 3 else parts[-1]


def assign_leaves(program: Program, frames: Frames, classes: dict[str, str]) -> None:
    """Assign nodes to modules without parameters that run the operator of their class."""
    holding = {around for path in program.paths.values() for around in (path, path.rpartition(".")[0])}
    leaves = [(path, classes[path].lower()) for path in frames.calls if path in classes and path not in holding]
    by_operator: dict[str, list[str]] = {}
    for path, operator in leaves:
        by_operator.setdefault(operator, []).append(path)
    for step in program.steps:
        paths = by_operator.get(step.operator.replace("_", ""), [])
        if step.anchor or not paths:
            continue
        inner = [path for path in paths if _follows(program, frames, classes, step, path)]
        called = inner or [path for path in paths if _is_only_call(frames, step, path)]
        if len(called) == 1:
            step.layer = called[0]


def _follows(program: Program, frames: Frames, classes: dict[str, str], step: Step, path: str) -> bool:
    """Return whether a node reads the value of the module before this one in a `Sequential`."""
    around, _, number = path.rpartition(".")
    if classes.get(around) != _SEQUENTIAL or not number.isdecimal() or not frames.calls[path].file.endswith(_CONTAINER):
        return False
    before = f"{around}.{int(number) - 1}"
    return any(program.steps[n].layer == before and program.steps[n].key == step.key for n in step.inputs)


def _is_only_call(frames: Frames, step: Step, path: str) -> bool:
    """Return whether the line of a node calls the module once, and no function of the operator."""
    around, _, name = path.rpartition(".")
    if step.layer != around or name.isdecimal() or not _is_called_at(frames, path, step.at):
        return False
    calls = len(re.findall(rf"\.{re.escape(name)}\(", step.code))
    functions = len(re.findall(rf"\b{re.escape(step.operator)}\(", step.code))
    return calls == 1 and functions == (name == step.operator)


def same_operator(program: Program, operator: str, steps: Iterable[int]) -> list[int]:
    """Return the steps that an operator of a lowered graph can come from, where its name tells; [] where it does not."""
    if operator in OWN_NAME:
        return [n for n in steps if program.steps[n].operator == operator]
    return [n for n in steps if program.steps[n].operator == "dropout"] if operator in _RANDOM else []


def masked(graph: GraphText, node: FxNode, key: tuple[str, int]) -> Iterator[FxNode]:
    """Yield the nodes of one line that apply the mask of a dropout, from its random numbers: `gt`, the product, its scale."""
    todo: Sequence[FxNode] = (node,)
    for operator in ("gt", "mul", "mul"):
        todo = [
            user for other in todo for user in graph.graph.users(other)
            if operator_of(user.target) == operator and (origin := graph.origin(user)) and (origin.path, origin.place) == key
        ]  # fmt: skip
        yield from todo
