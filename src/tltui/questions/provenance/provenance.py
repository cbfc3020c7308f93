"""Provenance of a compile: source lines to kernels and back, with its coverage.

The line that calls a compiled function of torch itself (an optimizer's step, `clip_grad_norm_`) comes from the compile's stack.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of, units_of
from tltui.model.node_answers import content_key, digest_of, part, reader_of, shared
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.questions.layers.layer_costs import IN_DICTIONARY, source_path
from tltui.questions.provenance import records, unit_artifacts
from tltui.questions.provenance.dataflow.value_graph import VIEWS
from tltui.questions.provenance.generated_code import CodeText, aten_of, parse_code
from tltui.questions.provenance.graph_names import COMPUTED, GraphText, NodeFacts, bare, facts_at, facts_of, parse_graph
from tltui.questions.provenance.line_groups import Places, Woven, born_of, groups_of, maps_of, places_of, weave
from tltui.questions.provenance.links import KernelLink, Links, Texts, links_of
from tltui.questions.provenance.records import (
    CPP,
    KERNEL,
    PANES,
    POST,
    PRE,
    PY,
    SOURCE,
    Born,
    Coverage,
    Kernel,
    Known,
    Pane,
    Place,
    Provenance,
    UnitProvenance,
    Unknown,
    correspondence,
    provenance_json,
)  # fmt: skip
from tltui.questions.provenance.unit_artifacts import (
    INFORMATION,
    KERNELS,
    OPERATIONS,
    TEXTS,
    WRAPPER,
    Left,
    Operations,
    Parts,
    left_of,
    parsed_beside,
    parts_of,
)
from tltui.questions.stacks.tracebacks import StackFrame, callers_of, is_end_of
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.safe_files import read_beside_log
from tltui.text.torch_names import Owner, owner_of, parameter_of
from tltui.trace.grammar import is_entry

__all__ = [
    "CPP",
    "KERNEL",
    "PANES",
    "POST",
    "PRE",
    "PY",
    "SOURCE",
    "Born",
    "Coverage",
    "Covered",
    "Kernel",
    "NodeFacts",
    "Pane",
    "Place",
    "Provenance",
    "UnitProvenance",
    "content_of",
    "correspondence",
    "covered_by",
    "facts_at",
    "facts_of",
    "graph_at",
    "provenance_json",
    "provenance_of",
]  # fmt: skip

_GUARDED = re.compile(r"  # (?P<file>[^\s#][^\n#]*?):\d{1,9} in \S+(?: \(HINT: [^\n]*)?$", re.M)
_TELLING = (Owner.USER, Owner.LIBRARY)

GUARDS = "dynamo_cpp_guards_str"
_GUARD = re.compile(
    r"^[^\n]*?: (?P<test>[^\n]*?(?P<module>[LG]\['\w+'\](?:\._modules\['[^'\n]+'\])*)[^\n]*?)"
    r"  # (?P<code>[^\n]*)  # (?P<file>\S[^\n]*?):(?P<line>\d{1,9}) in (?P<function>\S+)",
    re.M,
)
_CLASS = re.compile(r"type=<class '(\w+(?:\.\w+)+)\.\w+'>")
_PACKAGES = "/site-packages/"
_CALL = "not ___dict_contains('forward', "
Module = tuple[str, ...]
"""The variable that holds the outermost module, and the path from there."""
Key = tuple[str, int]

KERNEL_NODES, KERNEL_LINES, NODE_KERNELS = "kernel nodes", "kernel lines", "node kernels"
NO_GRAPH = "torch wrote no post-grad graph to name the nodes"
LAZY = "torch writes no mapping for a lazily compiled backward"
EMPTY = "torch's mapping of this unit is empty"
NOT_IN_MAPPING = "torch's mapping does not name them"
TOGETHER = "torch's mapping names the nodes of all calls of these kernels together"
NOT_RECORDED = "torch did not record provenance"
NOT_TOLD = "and neither comments in the code nor data flow show them"
NOT_APART = "and neither comments in the code nor data flow distinguish them"
NO_STACK = "their nodes are unknown, and torch recorded no stacks for them"
NO_ORIGIN = "the graph records no source line for the nodes of these kernels"
CALLED = "the graph has library lines only, not your line that calls them"
NO_CODE = "torch wrote no generated code"
VIEW = "views and getitem nodes, which need no kernel"
IN_NO_KERNEL = "in no kernel: Inductor computes them at compile time, or not at all"
PERHAPS = "kernels with unknown nodes may compute them"

LIMIT = 256 << 20
"""Stored bytes of a graph or of code that are read."""


@frozen
class Guard:
    """A guard on a module, at its call or at the first read of one of its attributes."""

    module: Module
    call: bool
    file: str
    """As guards shorten it."""
    line: int
    function: str
    code: str


@frozen
class Covered:
    """The coverage of one unit."""

    unit: str
    source: str
    recorded: bool
    coverage: Coverage


def provenance_of(compile_: Compile) -> Provenance:
    """Return the provenance of all units of a compile."""
    artifacts = artifacts_of(compile_)
    loader = _Loader(compile_)
    all_parts = parts_of(artifacts, units_of(artifacts), loader.reader)
    inside = inside_of(compile_)

    site = call_site(compile_) if inside is Owner.TORCH else None
    forwards: dict[int, Texts] = {}
    units = []
    for parts in all_parts:
        texts, panes = _texts(loader, parts, forwards)
        forwards[parts.unit.number] = texts
        lines: dict[Key, Place] = {}
        if inside is Owner.USER:
            lines = _own_callers(loader, compile_, artifacts, parts, texts)
        elif site is not None:
            lines = lines_below(site, texts, _guard_text(loader.reader, artifacts, parts.unit.attempt))
        units.append(_unit(parts, texts, panes, inside, lines))
    return Provenance(str(compile_.ref), tuple(units))


def _own_callers(
    loader: _Loader, compile_: Compile, artifacts: Sequence[Artifact], parts: Parts, texts: Texts
) -> dict[Key, Place]:  # fmt: skip
    """Map library lines to the user lines that call them, for units without recorded stacks."""
    if parts.pre is None or texts.pre is None or texts.stacks.frames or texts.left.stacks.frames:
        return {}
    pre = texts.pre
    if parts.pre.record not in loader.callers:
        text = _guard_text(loader.reader, artifacts, parts.pre.attempt)
        file = compile_.frame.code[1] or ""
        loader.callers[parts.pre.record] = callers_of_lines(pre, guards_of(text), file, class_files(text))
    return loader.callers[parts.pre.record]


def _guard_text(reader: Reader, artifacts: Sequence[Artifact], attempt: int) -> str:
    """Return the guards of an attempt; '' if there are none."""
    same = [artifact for artifact in artifacts if artifact.name == GUARDS and artifact.attempt == attempt]
    return reader.text(same[-1].record, LIMIT) if same else ""


def inside_of(compile_: Compile) -> Owner:
    """Return the owner of the compiled function; torch if unknown."""
    file = compile_.frame.code[1]
    return owner_of(file) if file else Owner.TORCH


class _Loader:
    """A cache of parsed texts.

    Units share the pre-grad graph, and a backward needs its forward's artifacts.
    """

    def __init__(self, compile_: Compile) -> None:
        self.reader = reader_of(compile_)
        self.log = compile_.process.log.path
        self._graphs: dict[int, GraphText] = {}
        self.callers: dict[int, dict[Key, Place]] = {}
        """Record of a pre-grad graph → line of a library in it → the own line that calls it."""

    def lines(self, artifact: Artifact) -> list[str]:
        """Return the lines of a payload."""
        text = self.reader.text(artifact.record, LIMIT)
        return (text.replace("\r\n", "\n") if "\r\n" in text else text).split("\n")

    def graph(self, artifact: Artifact | None) -> GraphText | None:
        """Return a parsed graph."""
        if artifact is None:
            return None
        if artifact.record not in self._graphs:
            self._graphs[artifact.record] = parse_graph(self.lines(artifact))
        return self._graphs[artifact.record]

    def json(self, parts: Parts, name: str) -> object:
        """Return a parsed JSON artifact of a unit."""
        return unit_artifacts.read_json(self.reader, parts.record(name))

    def left(self, parts: Parts, code: CodeText, post: GraphText | None) -> Left:
        """Return the job's provenance information for a unit's kernels.

        From the trace, else from files beside the log that match the unit.
        """
        kinds = (INFORMATION, OPERATIONS)
        texts = [next((self.json(parts, name) for name in names if name in parts.members), None) for names in kinds]
        if any(text is not None for text in texts):
            return left_of(*texts)
        information = left_of(*(parsed_beside(self.log, names[-1]) for names in kinds))
        keys = {call.key for call in code.calls}
        return information if information.is_of(keys, lambda name: post is None or post.find(name) is not None) else Left()

    def mapping(self, parts: Parts, graph_id: int | None) -> unit_artifacts.NodeMapping:
        """Return the node mapping of a unit, of any version."""
        if unit_artifacts.NODE_MAPPINGS in parts.members:
            mapping = unit_artifacts.node_mapping(self.json(parts, unit_artifacts.NODE_MAPPINGS))
            if mapping.version:
                return mapping
        kernels, nodes = self.json(parts, unit_artifacts.KERNEL_NODES), self.json(parts, unit_artifacts.POST_NODES)
        return unit_artifacts.older_mapping(kernels, nodes, graph_id)


def covered_by(compile_: Compile) -> tuple[Covered, ...]:
    """Return the coverage of each unit of a compile, cached for compiles with equal texts."""
    if not (content := content_of(compile_)):
        return ()
    content += inside_of(compile_).word.encode()  # the same texts are read in another way
    return shared(compile_, covered_by, content, lambda: _covered(provenance_of(compile_)))


def _covered(provenance: Provenance) -> tuple[Covered, ...]:
    return tuple(Covered(unit.unit, unit.source, unit.recorded, unit.coverage) for unit in provenance.units)


@part
def content_of(compile_: Compile, reader: Reader) -> bytes:
    """Return a digest of the inputs of a compile's provenance.

    Artifacts in order, texts of graphs, code and mappings, guards on modules, and the job's files beside the log. Equal
    digests give equal provenance except for the compile's address.
    """

    content = content_key(compile_, reader, TEXTS, LIMIT)
    if not content:
        return b""
    log = compile_.process.log.path
    files = (read_beside_log(log, names[-1], unit_artifacts.INFORMATION_LIMIT) for names in (INFORMATION, OPERATIONS))
    guard_texts: list[bytes] = []
    if inside_of(compile_) is Owner.USER:  # not the text of the guards: addresses stand in it
        artifacts = (a for a in artifacts_of(compile_) if a.name == GUARDS)
        read = ((a.attempt, reader.text(a.record, LIMIT)) for a in artifacts)
        guard_texts = [
            repr((attempt, guards_of(text), sorted(class_files(text)))).encode("utf-8", "replace") for attempt, text in read
        ]
        guard_texts.append((compile_.frame.code[1] or "").encode("utf-8", "replace"))
    elif site := call_site(compile_):
        guards = (a for a in artifacts_of(compile_) if a.name == GUARDS)
        guarded = [(a.attempt, sorted(_guarded_files(reader.text(a.record, LIMIT)))) for a in guards]
        guard_texts.append(repr((site, guarded)).encode("utf-8", "replace"))
    return content + digest_of(*files, *guard_texts)


def graph_at(compile_: Compile, ref: str) -> GraphText | None:
    """Return the parsed graph of a pane, by its address."""
    artifact = next((artifact for artifact in artifacts_of(compile_) if str(artifact.ref) == ref), None)
    return _Loader(compile_).graph(artifact)


def _texts(loader: _Loader, parts: Parts, forwards: dict[int, Texts]) -> tuple[Texts, dict[int, Pane]]:
    """Read the texts of a unit; return them with its available panes."""
    pre, post = loader.graph(parts.pre), loader.graph(parts.post)
    panes = {
        records.PRE: _pane(records.PRE, parts.pre, pre.lines if pre else 0, parts.pre_why),
        records.POST: _pane(records.POST, parts.post, post.lines if post else 0, "torch wrote no post-grad graph"),
    }
    names = unit_artifacts.node_mapping(None) if not parts.members else loader.mapping(parts, pre.graph_id if pre else None)
    mapped_names = {unit_artifacts.split_key(key)[0] for key in names.kernel_to_post}
    kernels = CodeText()
    if KERNELS in parts.members:
        lines = loader.lines(parts.members[KERNELS])
        kernels = parse_code(lines)
        panes[records.KERNEL] = _pane(records.KERNEL, parts.members[KERNELS], len(lines))
    code, pane = CodeText(), records.PY
    for name, number in ((OUTPUT_CODE, records.PY), (WRAPPER, records.CPP)):
        if name in parts.members:
            lines = loader.lines(parts.members[name])
            code, pane = parse_code(lines, (*mapped_names, *(definition.name for definition in kernels.definitions))), number
            panes[number] = _pane(number, parts.members[name], len(lines))
    forward = forwards.get(parts.forward) if parts.forward is not None else None
    texts = Texts(
        parts.unit.direction, pre, post, code, pane, kernels, names,
        unit_artifacts.kernel_stacks(loader.json(parts, unit_artifacts.KERNEL_STACKS)),
        forward.mapping if forward else unit_artifacts.NodeMapping(), forward.post if forward else None,
        loader.left(parts, code, post),
    )  # fmt: skip
    return texts, panes


def _pane(kind: int, artifact: Artifact | None, lines: int, why: str = "") -> Pane:
    if artifact is None:
        return Pane(PANES[kind], why=why)
    return Pane(PANES[kind], str(artifact.ref), lines, why if kind == records.PRE else "")


def _unit(
    parts: Parts, texts: Texts, panes: dict[int, Pane], inside: Owner, lines: dict[Key, Place]
) -> UnitProvenance:  # fmt: skip
    links = links_of(texts)
    places = places_of(texts, links, inside, lines)
    woven = weave(texts, links, places)
    times = Counter(kernel.key for kernel in links.kernels)
    kernels = tuple(_kernel(woven, n, kernel, times[kernel.key] == 1) for n, kernel in enumerate(links.kernels))
    sources = _sources(links, places, kernels)
    ordered = places.ordered()
    panes[records.SOURCE] = Pane(PANES[records.SOURCE], "", len(ordered), "" if ordered else "torch recorded no source line")
    recorded = texts.code.handles or any(
        name in parts.members for name in (unit_artifacts.NODE_MAPPINGS, unit_artifacts.KERNEL_NODES)
    )
    return UnitProvenance(
        parts.unit.name, parts.unit.number, parts.unit.direction, sources[0] if sources else records.NONE, sources, recorded,
        coverage_of(woven, kernels, recorded),
        tuple(panes.get(n, Pane(kind, why=_no_code(n, panes))) for n, kind in enumerate(PANES)), ordered, kernels,
        tuple(born_of(woven, ordered, [kernel.key for kernel in kernels])), maps_of(woven), groups_of(woven),
    )  # fmt: skip


def _no_code(pane: int, panes: dict[int, Pane]) -> str:
    if pane == records.PY:
        return "AOTInductor generates C++" if records.CPP in panes else "torch wrote no generated code"
    return "only AOTInductor generates a C++ wrapper" if records.PY in panes else "torch wrote none"


def _kernel(woven: Woven, number: int, kernel: KernelLink, alone: bool) -> Kernel:
    before = [name for node in kernel.post for name in woven.links.post_to_pre.get(node, ())]
    operations = woven.texts.left.operations.get(kernel.key, Operations())
    key = kernel.key if alone or not kernel.calls else f"{kernel.key}@{kernel.calls[0].last + 1}"
    places = woven.places.kernels[number]
    definition = kernel.definition
    lines_from = records.NONE
    if woven.places.from_stacks[number]:
        traced = kernel.key in woven.texts.stacks.frames or kernel.name in woven.texts.stacks.frames
        lines_from = records.KERNEL_STACK_TRACES if traced else records.KERNEL_INFORMATION
    elif places:
        fallback = woven.places.callers_from if woven.places.derived[number] else records.FILE_COMMENTS
        lines_from = kernel.nodes_from if kernel.nodes_from in records.DERIVED else fallback
    return Kernel(
        kernel.name, kernel.handle, tuple(line + 1 for call in kernel.calls for line in call.lines),
        None if definition is None else (definition.first + 1, definition.last + 1), kernel.call_pane, kernel.definition_pane,
        tuple(dict.fromkeys(map(bare, kernel.post))), tuple(dict.fromkeys((*before, *kernel.pre))),
        tuple(f"{file}:{line}" for file, line in places),
        kernel.nodes_from, lines_from, key, kernel.function, kernel.times, operations.targets, operations.again,
    )  # fmt: skip


def _sources(links: Links, places: Places, kernels: Iterable[Kernel]) -> tuple[str, ...]:
    used = set(links.pre_from) | {kernel.nodes_from for kernel in kernels} | {kernel.lines_from for kernel in kernels}
    if places.post or places.pre:
        used.add(records.FILE_COMMENTS)
    return tuple(source for source in records.SOURCES if source in used)


def call_site(compile_: Compile) -> Place | None:
    """Return the line outside of torch that calls the compiled function through `torch.compile`'s wrapper.

    Torch leaves the innermost callers out of some stacks. Without the wrapper, the last frame may be a caller of the
    caller: then None.
    """
    frames = callers_of(compile_)
    end = len(frames)
    while end and frames[end - 1].owner is Owner.TORCH:
        end -= 1
    if not 0 < end < len(frames) or not is_entry(frames[end].file):
        return None
    frame = frames[end - 1]
    if frame.owner not in _TELLING or frame.line is None:
        return None
    return Place(frame.file, frame.line, frame.name, (frame.code or "").strip(), frame.is_framework)


def lines_below(site: Place, texts: Texts, guards: str) -> dict[Key, Place]:
    """Map torch's lines in the graphs of a unit to the call site, if only torch's code ran in between.

    Recorded stacks prove that of each line. Without them, all comments in the graphs and all guards must name torch's
    files: a comment has only the innermost line, but code that is called from another file leaves a guard.
    """
    graphs = [graph for graph in (texts.pre, texts.post) if graph is not None]
    lines = {(origin.path, origin.place) for graph in graphs for origin in graph.graph.origins}
    stacks = [
        stack for recorded in (texts.stacks, texts.left.stacks) for of_kernel in recorded.frames.values() for stack in of_kernel
    ]
    if stacks:
        lines &= _innermost(stacks, has_owner=False) - _innermost(stacks, has_owner=True)
    elif any(owner_of(path) is not Owner.TORCH for path, _ in lines) or not _is_all_of_torch(guards, site.file):
        lines = set()
    return dict.fromkeys(lines, site)


def _innermost(stacks: Iterable[tuple[StackFrame, ...]], has_owner: bool) -> set[Key]:
    """Return the innermost lines of the stacks with a line of the user or a library, or of those without."""
    ends = (stack[-1] for stack in stacks if any(frame.owner in _TELLING for frame in stack) is has_owner)
    return {(frame.file, frame.line) for frame in ends if frame.line is not None}


def _is_all_of_torch(guards: str, file: str) -> bool:
    """Return whether there are guards, and all of them name files of torch or Python.

    Guards shorten paths: torch's are relative to its own directory. `file` is a file that is not torch's.
    """
    files = _guarded_files(guards)
    return bool(files) and not any(_is_of_others(path, file) for path in files)


def _guarded_files(guards: str) -> set[str]:
    """Return the files of the lines that guards name, as guards shorten them."""
    return {match["file"] for match in _GUARDED.finditer(guards)}


def _is_of_others(path: str, file: str) -> bool:
    owners = {owner_of(f"torch/{path}"), owner_of(f"/{path}")}
    return is_end_of(path, file) or not owners & {Owner.TORCH, Owner.PYTHON}


def guards_of(text: str) -> tuple[Guard, ...]:
    """Return the guards on modules in order, without duplicate places."""
    results: dict[Guard, None] = {}
    for match in _GUARD.finditer(text.replace(IN_DICTIONARY, "._modules")):
        source = source_path(match["module"])
        if source is not None:
            call = match["test"].startswith(_CALL)
            module = (source[0], *source[1])
            results[Guard(module, call, match["file"], int(match["line"]), match["function"], match["code"].strip())] = None
    return tuple(results)


def class_files(text: str) -> frozenset[str]:
    """Return the files of the classes that guards name, as their modules are called: `diffusers/models/resnet.py`."""
    return frozenset(f"{match[1].replace('.', '/')}.py" for match in _CLASS.finditer(text))


@mutable
class _Files:
    """Resolution of the shortened paths in guards to full paths."""

    user_files: frozenset[str]
    others: frozenset[str]
    _resolved: dict[str, str | None] = field(default_factory=dict)

    def own_path(self, short: str) -> str | None:
        """Return the user's file; '' for one of a library or torch, None if unknown."""
        if short not in self._resolved:
            matches = [path for path in self.user_files if path == short or is_end_of(short, path)]
            other = any(path == short or is_end_of(short, path) for path in self.others) or owner_of(short) is not Owner.USER
            self._resolved[short] = None if bool(matches) == other or len(matches) > 1 else matches[0] if matches else ""
        return self._resolved[short]


def callers_of_lines(
    pre: GraphText, guards: Iterable[Guard], file: str, classes: frozenset[str] = frozenset()
) -> dict[Key, Place]:  # fmt: skip
    """Map library and torch lines to the user line that called them.

    Only lines with the same caller for all their nodes. `file` is the file of the compiled function, `classes` are the
    files of the classes in its guards: those of a library in the graph are not the user's.
    """
    guards = tuple(guards)
    origins = {origin.path for origin in pre.graph.origins}
    user_files = frozenset(path for path in (*origins, file) if path and owner_of(path) is Owner.USER)
    packages = {path.partition(_PACKAGES)[2].partition("/")[0] for path in origins if owner_of(path) is Owner.LIBRARY}
    of_libraries = {f"{_PACKAGES}{path}" for path in classes if path.partition("/")[0] in packages}
    files = _Files(user_files, frozenset((origins - user_files) | of_libraries))
    calls = _calls(guards, files)
    uses = _uses(pre, calls)
    return _of_lines(pre, {n: calls[module] for module, nodes in _exclusive_nodes(pre, uses, guards, calls, files) for n in nodes})


def _calls(guards: tuple[Guard, ...], files: _Files) -> dict[Module, Place | None]:
    """Map each module to the user line that calls it; None if no user line is known.

    Modules that libraries call are omitted.
    """
    calls: dict[Module, Place | None] = {}
    for guard in guards:
        if not guard.call:
            continue
        path = files.own_path(guard.file)
        place = Place(path, guard.line, guard.function, guard.code) if path else None
        if path != "" and calls.setdefault(guard.module, place) != place:
            calls[guard.module] = None
    return calls


def _called(module: Module, calls: Mapping[Module, Place | None]) -> Module | None:
    """Return the nearest enclosing module, or the module itself, that no library calls."""
    return next((module[:n] for n in range(len(module), 0, -1) if module[:n] in calls), None)


def _uses(pre: GraphText, calls: Mapping[Module, Place | None]) -> dict[Module, dict[str, list[int]]]:
    """Map each called module to its parameters and the nodes that read them."""
    reads: dict[str, Module] = {}
    for node in pre.nodes:
        if node.graph == 0 and node.kind in ("placeholder", "get_attr"):
            parameter = parameter_of(node.name if node.kind == "placeholder" else node.target)
            called = _called((parameter.root, *parameter.path), calls) if parameter is not None else None
            if called is not None and parameter is not None and parameter.name:
                reads[node.name] = called
    uses: dict[Module, dict[str, list[int]]] = {}
    for n, node in enumerate(pre.nodes):
        if node.graph != 0 or node.kind in ("placeholder", "get_attr", "output"):
            continue
        read = {other.name for other in pre.graph.producers(node)} & reads.keys()
        if {name.lower() for name in read} == {node.name.lower()}:  # `l_x_ = L_x_`: another name for an input
            reads[node.name] = reads[read.pop()]
            continue
        for name in read:
            uses.setdefault(reads[name], {}).setdefault(name, []).append(n)
    return uses


def _exclusive_nodes(
    pre: GraphText, uses: Mapping[Module, dict[str, list[int]]], guards: tuple[Guard, ...], calls: Mapping[Module, Place | None],
    files: _Files,
) -> Iterable[tuple[Module, list[int]]]:  # fmt: skip
    """Yield called modules with the nodes that certainly run during the call."""
    spans = {
        module: (min(map(min, parameters.values())), max(map(max, parameters.values())))
        for module, parameters in uses.items()
    }
    for module, (first, last) in spans.items():
        place = calls[module]
        other_spans = (span for other, span in spans.items() if other != module)
        if place is None or any(start <= last and first <= end for start, end in other_spans):
            continue
        if _runs_twice(pre, uses[module]) or _read_elsewhere(module, place, guards, files):
            continue
        nodes = [n for n in range(first, last + 1) if pre.nodes[n].graph == 0 and pre.nodes[n].kind in COMPUTED]
        lines = [line for n in nodes if (line := _line(pre, n)) is not None]
        call = place.file, place.line
        if all(line == call or owner_of(line[0]) is not Owner.USER for line in lines):
            yield module, nodes


def _runs_twice(pre: GraphText, uses: Mapping[str, list[int]]) -> bool:
    """Return whether any parameter is read twice by one line."""
    for nodes in uses.values():
        lines = [_line(pre, n) for n in nodes]
        if len(set(lines)) < len(lines):
            return True
    return False


def _read_elsewhere(module: Module, place: Place, guards: tuple[Guard, ...], files: _Files) -> bool:
    """Return whether attributes of a module are read outside of libraries and of its call."""
    inside = (guard for guard in guards if len(guard.module) > len(module) and guard.module[: len(module)] == module)
    return any((path := files.own_path(guard.file)) and (path, guard.line) != (place.file, place.line) for guard in inside)


def _line(pre: GraphText, n: int) -> Key | None:
    origin = pre.origin(pre.nodes[n])
    return (origin.path, origin.place) if origin is not None else None


def _of_lines(pre: GraphText, callers: Mapping[int, Place | None]) -> dict[Key, Place]:
    """Convert callers of nodes to callers of lines.

    A line that also ran outside of the call has none.
    """
    results: dict[Key, set[Place | None]] = {}
    for n, node in enumerate(pre.nodes):
        line = _line(pre, n)
        if line is not None and node.kind in COMPUTED and owner_of(line[0]) is not Owner.USER:
            results.setdefault(line, set()).add(callers.get(n))
    return {line: place for line, (place, *more) in results.items() if place is not None and not more}


def coverage_of(woven: Woven, kernels: Sequence[Kernel], recorded: bool) -> Coverage:
    """Return the coverage of a unit."""
    graph = woven.texts.post
    nodes = [] if graph is None else [(n, node) for n, node in enumerate(graph.nodes) if node.kind in COMPUTED]
    keys = {n: graph.key(node) for n, node in nodes} if graph is not None else {}
    run = {n: woven.node_kernels[key] for n, key in keys.items() if key in woven.node_kernels}
    unmapped = tuple(node.name for n, node in nodes if n not in run and not woven.links.post_to_pre.get(keys[n]))
    missing = tuple(kernel.key for kernel in kernels if not kernel.mapped)
    with_nodes = [kernel for kernel in kernels if kernel.post_nodes or kernel.pre_nodes]
    with_lines = [kernel for kernel in kernels if kernel.user_lines]
    best = (min((kernels[k].nodes_from for k in item), key=_order) for item in run.values())
    all_known = all(kernel.nodes_from in records.WRITTEN for kernel in kernels)
    unknown = (
        *_kernels_without_nodes(woven.texts, kernels, recorded), *_kernels_without_lines(woven, kernels),
        *_nodes_without_kernels(woven.texts, [node for n, node in nodes if n not in run], all_known),
    )  # fmt: skip
    return Coverage(
        len(kernels), len(kernels) - len(missing), missing, len(nodes), len(nodes) - len(unmapped), unmapped, len(run),
        sum(n in woven.places.post for n, _ in nodes), len(with_nodes), len(with_lines),
        _from(kernel.nodes_from for kernel in with_nodes), _from(kernel.lines_from for kernel in with_lines), _from(best), unknown,
    )  # fmt: skip


def _order(source: str) -> int:
    return records.SOURCES.index(source) if source in records.SOURCES else len(records.SOURCES)


def _from(sources: Iterable[str]) -> tuple[Known, ...]:
    counts = Counter(sources)
    return tuple(Known(source, counts[source]) for source in sorted(counts, key=_order))


def _kernels_without_nodes(texts: Texts, kernels: Sequence[Kernel], recorded: bool) -> Iterator[Unknown]:
    without = [kernel for kernel in kernels if not kernel.post_nodes and not kernel.pre_nodes]
    together = tuple(kernel.key for kernel in without if texts.mapping.kernel_to_post.get(kernel.name))
    if together:
        yield Unknown(KERNEL_NODES, f"{TOGETHER}, {NOT_APART}", together)
    names = tuple(kernel.key for kernel in without if kernel.key not in together)
    if not names:
        return
    if texts.post is None:
        why = NO_GRAPH
    elif texts.mapping.kernel_to_post:
        why = f"{NOT_IN_MAPPING}, {NOT_TOLD}"
    elif not recorded:
        why = f"{NOT_RECORDED}, {NOT_TOLD}"
    else:
        why = f"{LAZY if texts.direction == 'backward' else EMPTY}, {NOT_TOLD}"
    yield Unknown(KERNEL_NODES, why, names)


def _kernels_without_lines(woven: Woven, kernels: Sequence[Kernel]) -> Iterator[Unknown]:
    """Yield reasons for missing lines: no node, a node without a line, or only a library line."""
    reasons: dict[str, list[str]] = {}
    for n, kernel in enumerate(kernels):
        if not kernel.user_lines:
            why = CALLED if woven.places.called[n] else NO_ORIGIN if kernel.post_nodes or kernel.pre_nodes else NO_STACK
            reasons.setdefault(why, []).append(kernel.key)
    for why, keys in reasons.items():
        yield Unknown(KERNEL_LINES, why, tuple(keys))


def _nodes_without_kernels(texts: Texts, nodes: Iterable[FxNode], all_known: bool) -> Iterator[Unknown]:
    reasons: dict[str, list[str]] = {}
    for node in nodes:
        if not texts.code.calls:
            why = NO_CODE
        elif node.kind == "getitem" or aten_of(node).partition(".")[2] in VIEWS:
            why = VIEW
        else:
            why = IN_NO_KERNEL if all_known else PERHAPS
        reasons.setdefault(why, []).append(node.name)
    for why, names in reasons.items():
        yield Unknown(NODE_KERNELS, why, tuple(names))
