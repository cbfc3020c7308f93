"""Fusion of each unit of a compile: nodes, kernel calls, buffers and missed fusions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.model.torch_versions import TorchVersion
from tltui.questions.fusion.fusion_decisions import (
    ARGUMENTS,
    ORIGINS,
    PART,
    UNKNOWN,
    BufferUse,
    CompileFusion,
    FusedKernel,
    NotFused,
    Origin,
    Reason,
    SchedulerNode,
    SourceLine,
    Timed,
    UnitFusion,
    loops_of,
    meaning_of,
)
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import POST, PY, Kernel, UnitProvenance
from tltui.questions.stacks.tracebacks import display_name
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs import fusion_log, scheduler_ir
from tltui.text.graphs.fusion_log import FusionRun
from tltui.text.graphs.scheduler_ir import IrNode, members_of
from tltui.text.torch_names import owner_of

WIDE = 100_000
"""Maximum number of characters to read of one call."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"^([A-Za-z_][\w, ]{0,4000}) = ")
_OUT = re.compile(r"^out\w*\s*=\s*([A-Za-z_]\w*)")
_PYBINDING = re.compile(r"async_compile\.cpp(?:_pybinding)?\(\[([^\]]*)\]")
_PARAMETERS = re.compile(r"^\s*def (\w+)\((.*)\):\s*$")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_OPEN, _CLOSED = "([{", ")]}"


@frozen
class KernelCall:
    """A kernel that generated code calls."""

    kernel: Kernel
    writes: frozenset[str]
    reads: frozenset[str]

    @property
    def is_generated(self) -> bool:
        """Whether Inductor wrote its code; else a function of a library is called."""
        return self.kernel.definition is not None


def calls_of(kernels: Sequence[Kernel], lines: Sequence[str]) -> tuple[KernelCall, ...]:
    """Return the kernel calls of the Python wrapper in code order. `lines` are the lines of the wrapper."""
    return tuple(_call(kernel, lines) for kernel in kernels if kernel.call_pane == PY and kernel.call_lines)


def _call(kernel: Kernel, lines: Sequence[str]) -> KernelCall:
    text = " ".join(lines[n - 1].strip() for n in kernel.call_lines if n <= len(lines))[:WIDE]
    modes = _modes(kernel, lines)
    writes: set[str] = set()
    reads: set[str] = set()
    if assigned := _ASSIGNED.match(text):
        writes.update(_NAME.findall(assigned[1]))
    text = _STRING.sub("''", text)
    begin = text.find("(", text.find(kernel.name.rpartition(".")[2]))
    for place, argument in enumerate(_arguments(text[begin + 1 :])) if begin >= 0 else ():
        if out := _OUT.match(argument):
            writes.add(out[1])
            continue
        name = _buffer_name(argument)
        if not name:
            continue
        mode = modes[place] if place < len(modes) else "" if kernel.definition else "r"
        if mode != "r":
            writes.add(name)
        if mode != "w":
            reads.add(name)
    return KernelCall(kernel, frozenset(writes), frozenset(reads))


def _arguments(text: str) -> Iterator[str]:
    """Yield the arguments of a call up to its closing bracket."""
    depth = start = 0
    for n, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSED:
            depth -= 1
            if depth < 0:
                yield text[start:n].strip()
                return
        elif char == "," and depth == 0:
            yield text[start:n].strip()
            start = n + 1
    yield text[start:].strip()


def _buffer_name(argument: str) -> str:
    """Return the buffer of an argument: `buf3`, or the first in `reinterpret_tensor(buf3, …)`; '' for numbers and keywords."""
    if "=" in argument:
        return ""
    names: list[str] = _NAME.findall(argument[:400])
    if len(names) > 1 and "(" in argument:
        return names[1] if argument.startswith(names[0]) else names[0]
    return names[0] if names else ""


def _modes(kernel: Kernel, lines: Sequence[str]) -> tuple[str, ...]:
    """Return per parameter `r` (read), `w` (written) or '' (both or unknown); () if not in the definition."""
    if kernel.definition is None or kernel.definition_pane != PY:
        return ()
    first, last = kernel.definition
    head = lines[first - 1][:WIDE] if first <= len(lines) else ""
    if binding := _PYBINDING.search(head):
        return tuple("r" if kind.strip(" '\"").startswith("const ") else "" for kind in binding[1].split(","))
    for line in lines[first : min(last, len(lines))]:
        if "def " in line and (match := _PARAMETERS.match(line[:WIDE])):
            return tuple(_mode(name.strip()) for name in match[2].split(","))
    return ()


def _mode(parameter: str) -> str:
    return "r" if parameter.startswith("in_ptr") else "w" if parameter.startswith("out_ptr") else ""


@frozen
class UnitTexts:
    """Texts of a unit."""

    unit: str
    pre: tuple[IrNode, ...] | None = None
    """The IR, None where there is none."""
    post: tuple[IrNode, ...] | None = None
    run: FusionRun | None = None
    provenance: UnitProvenance | None = None
    code: Sequence[str] = ()
    """Lines of the generated code."""
    pre_ref: str = ""
    post_ref: str = ""
    version: TorchVersion = field(default_factory=TorchVersion)
    """Advice names a setting only of a version that has it."""


@mutable
class _LookupTables:
    """Lookup tables for the nodes of a unit."""

    lines: dict[str, int] = field(default_factory=dict)
    """Node of the graph → its line."""
    source: dict[str, list[SourceLine]] = field(default_factory=dict)
    origins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Operation → nodes of the graph."""
    place: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Operation → where the fusion log says that it comes from."""
    does: dict[str, str] = field(default_factory=dict)

    def origin(self, name: str) -> Origin:
        """Return a graph node with its line."""
        return Origin(name, self.lines.get(name, 0))

    def of(self, operations: Iterable[str]) -> tuple[Origin, ...]:
        """Return the graph nodes that the operations compute."""
        return tuple(map(self.origin, dict.fromkeys(name for op in operations for name in self.origins.get(op, ()))))

    def source_of(self, origins: Iterable[Origin], operations: Iterable[str] = ()) -> tuple[SourceLine, ...]:
        """Return the source lines of graph nodes, else the lines in the log; user code before libraries."""
        lines = dict.fromkeys(line for origin in origins for line in self.source.get(origin.name, ()))
        if not lines:
            places = dict.fromkeys(self.place[op] for op in operations if op in self.place)
            lines = dict.fromkeys(SourceLine(file, line, "") for file, line in places)
        best = min((owner_of(line.file).rank for line in lines), default=0)
        return tuple(line for line in lines if owner_of(line.file).rank == best)


def fusion_of(texts: UnitTexts) -> UnitFusion:
    """Return the fusion of a unit from its texts."""
    tables = _lookup_tables(texts)
    provenance = texts.provenance
    calls = calls_of(provenance.kernels, texts.code) if provenance is not None else ()
    nodes = _nodes(texts, tables, calls)
    run = texts.run
    groups = {frozenset(node.operations) for node in nodes}
    agrees = None if run is None or texts.post is None else {frozenset(provenance) for provenance in run.groups()} == groups
    announced = run.announced if run is not None else 0
    ops = announced if texts.pre is None else len({op for node in texts.pre for op in node.operations})
    return UnitFusion(
        texts.unit, ops or sum(len(node.operations) for node in nodes), nodes, _kernels(tables, calls, nodes),
        _reasons(run, tables, nodes, texts.version),
        tuple(Timed(m.first, m.second, m.is_fused, m.factor) for m in run.measured) if run else (),
        _buffers(texts, nodes), len(run.rounds) if run else 0, texts.post is not None, run is not None,
        run is not None and run.is_complete, agrees, texts.pre_ref, texts.post_ref,
        provenance.panes[PY].ref if provenance is not None else "", provenance.panes[POST].ref if provenance is not None else "",
    )  # fmt: skip


def _lookup_tables(texts: UnitTexts) -> _LookupTables:
    tables = _LookupTables()
    for born in texts.provenance.lines if texts.provenance is not None else ():
        for node in born.post_nodes:
            tables.lines.setdefault(node.name, node.line)
            if born.file:
                tables.source.setdefault(node.name, []).append(SourceLine(born.file, born.line, born.code))
    for candidate in texts.run.candidates if texts.run is not None else ():
        tables.origins[candidate.name] = candidate.origins
        tables.does[candidate.name] = candidate.does
        if candidate.place[0]:
            tables.place[candidate.name] = candidate.place
    return tables


def _nodes(texts: UnitTexts, tables: _LookupTables, calls: tuple[KernelCall, ...]) -> tuple[SchedulerNode, ...]:
    """Return the nodes after fusion: from the IR, else from the log."""
    writers: dict[str, list[str]] = {}
    for call in calls:
        for name in call.writes:
            writers.setdefault(name, []).append(call.kernel.key)
    nodes = []
    if texts.post is not None:
        before = {name: node for node in texts.pre or () for name in node.operations}
        for node in texts.post:
            nodes.append(_of_ir(node, tables, calls, writers, before))
        nodes = _outputs_taken_apart(texts.post, nodes)
    elif texts.run is not None:
        kinds = {candidate.name: candidate.kind for candidate in texts.run.candidates}
        for group in texts.run.groups():
            kind = kinds.get(group[0], "") if len(group) == 1 else "FusedSchedulerNode"
            origins = tables.of(group)
            kernels, how = _by_origins(origins, calls)
            does = tuple(dict.fromkeys(tables.does.get(op, "") for op in group))
            nodes.append(SchedulerNode(
                "_".join(group), kind, group, tuple(filter(None, does)), (), "", (), (), origins,
                tables.source_of(origins, group), kernels, how, 0,
            ))  # fmt: skip
    return _with_kernels(tuple(nodes), tables, calls)


def _of_ir(
    node: IrNode,
    tables: _LookupTables,
    calls: tuple[KernelCall, ...],
    writers: Mapping[str, list[str]],
    before: Mapping[str, IrNode],
) -> SchedulerNode:
    operations = node.operations
    leaves = {leaf.name: leaf for leaf in node.leaves()}
    parts = [leaves.get(op) or before.get(op) or node for op in operations]
    writes = tuple(sorted({dep.buffer for part in (node, *parts) for dep in part.writes}, key=_natural))
    changed = [name for part in (node, *parts) for out in part.outputs for name in out.mutations]
    reads = tuple(dict.fromkeys(dep.buffer for dep in node.reads if dep.kind != "WeakDep" and dep.buffer not in writes))
    origins = tables.of(operations)
    kernels, how = tuple(dict.fromkeys(key for name in writes for key in writers.get(name, ()))), ARGUMENTS
    if not kernels:  # what is changed in place has the name of what it was before, which others may write too
        keys = [set(writers.get(name, ())) for name in changed if name in writers]
        kernels = tuple(sorted(set.intersection(*keys))) if keys else ()
    if not kernels or (len(kernels) > 1 and not node.kind.startswith(("Foreach", "Combo"))):
        by_origins, way = _by_origins(origins, calls, kernels)
        kernels, how = (by_origins, way) if by_origins else (kernels, UNKNOWN)
    descriptions = [tables.does.get(op) or _description(part) for op, part in zip(operations, parts, strict=True)]
    does = dict.fromkeys([node.kernel] if node.kernel else descriptions)
    loops = dict.fromkeys(each for part in parts if (each := loops_of(part.sizes or part.iteration)) is not None)
    device = next((part.device for part in (node, *parts) if part.device), "")
    return SchedulerNode(
        node.name, node.kind, operations, tuple(filter(None, does)), tuple(loops), device, writes, reads, origins,
        tables.source_of(origins, operations), kernels, how, node.first + 1,
    )  # fmt: skip


def _outputs_taken_apart(ir: Sequence[IrNode], nodes: list[SchedulerNode]) -> list[SchedulerNode]:
    """Assign the kernel of a multi-output node to the nodes that only select one of its outputs."""
    writer = {name: node for node in nodes for name in node.writes}
    results = []
    for text, node in zip(ir, nodes, strict=True):
        of = next((writer[name] for name in node.reads if name in writer), None) if text.class_name == "MultiOutput" else None
        if of is not None and not node.kernel_from:
            node = replace(node, kernels=of.kernels, kernel_from=PART if of.kernel_from else UNKNOWN)
        results.append(node)
    return results


def _description(node: IrNode) -> str:
    """Return the kind of a node that is not in the log, from its loops: whether it reduces."""
    if not node.is_generated or not node.sizes:
        return ""
    return "Pointwise" if node.sizes.endswith("[])") else "Reduction"


def _by_origins(
    origins: Sequence[Origin], calls: Sequence[KernelCall], among: Sequence[str] = ()
) -> tuple[tuple[str, ...], str]:
    """Return the kernels whose graph nodes include all `origins`; more than one match is uncertain."""
    names = {origin.name for origin in origins}
    if not names:
        return (), UNKNOWN
    matching = tuple(
        call.kernel.key for call in calls
        if names.issubset(call.kernel.post_nodes) and (not among or call.kernel.key in among)
    )  # fmt: skip
    return matching, ORIGINS if len(matching) == 1 else UNKNOWN


def _with_kernels(
    nodes: tuple[SchedulerNode, ...], tables: _LookupTables, calls: tuple[KernelCall, ...]
) -> tuple[SchedulerNode, ...]:
    """Complete the origins of a kernel's only node from the provenance mapping, where no log has them."""
    alone: dict[str, int] = {}
    for node in nodes:
        for key in node.kernels:
            alone[key] = alone.get(key, 0) + 1
    post = {call.kernel.key: call.kernel.post_nodes for call in calls}
    results = []
    for node in nodes:
        if not node.origins and node.kernel_from == ARGUMENTS and len(node.kernels) == 1 and alone[node.kernels[0]] == 1:
            origins = tuple(map(tables.origin, post[node.kernels[0]]))
            node = replace(node, origins=origins, source=tables.source_of(origins))
        results.append(node)
    return tuple(results)


def _kernels(tables: _LookupTables, calls: tuple[KernelCall, ...], nodes: tuple[SchedulerNode, ...]) -> tuple[FusedKernel, ...]:
    inside: dict[str, list[SchedulerNode]] = {}
    for node in nodes:
        for key in node.kernels if node.kernel_from else ():
            inside.setdefault(key, []).append(node)
    kernels = []
    for call in calls:
        kernel, members = call.kernel, inside.get(call.kernel.key, [])
        origins = tuple(map(tables.origin, kernel.post_nodes)) or tuple(dict.fromkeys(o for node in members for o in node.origins))
        source = tables.source_of(origins) or tuple(dict.fromkeys(_line(place) for place in kernel.user_lines))
        kernels.append(FusedKernel(
            kernel.key, kernel.name, call.is_generated, kernel.call_lines[0], kernel.definition[0] if kernel.definition else 0,
            tuple(node.name for node in members), sum(len(node.operations) for node in members), origins,
            source or tuple(dict.fromkeys(line for node in members for line in node.source)),
        ))  # fmt: skip
    return tuple(kernels)


def _line(place: str) -> SourceLine:
    file, _, line = place.rpartition(":")
    return SourceLine(file, int(line) if line.isdigit() else 0, "")


def _reasons(
    run: FusionRun | None, tables: _LookupTables, nodes: tuple[SchedulerNode, ...], version: TorchVersion
) -> tuple[Reason, ...]:
    """Return the refused fusions by reason. A pair counts once per reason, though every round repeats it."""
    ends = {op: node.name for node in nodes for op in node.operations}
    by_reason: dict[str, list[NotFused]] = {}
    explanations: dict[str, tuple[str, str]] = {}
    for refusal in run.refused if run is not None else ():
        explanation = meaning_of(refusal.reason)
        explanations[explanation.template] = explanation.entry.means, explanation.advice(version)
        sides = [(tables.of(ops), ops) for ops in (members_of(refusal.first), members_of(refusal.second))]
        (first, _), (second, _) = sides
        by_reason.setdefault(explanation.template, []).append(NotFused(
            refusal.first, refusal.second, ends.get(members_of(refusal.first)[0], ""), ends.get(members_of(refusal.second)[0], ""),
            explanation.values, refusal.times, first, second,
            *(tables.source_of(origins, ops) for origins, ops in sides),
        ))  # fmt: skip
    reasons = (Reason(template, *explanations[template], tuple(pairs)) for template, pairs in by_reason.items())
    return tuple(sorted(reasons, key=lambda reason: -len(reason.pairs)))


def _buffers(texts: UnitTexts, nodes: tuple[SchedulerNode, ...]) -> tuple[BufferUse, ...]:
    """Return the buffers of the IR in the order of their writes, with their readers."""
    node_of = {op: node for node in nodes for op in node.operations}
    readers: dict[str, dict[str, None]] = {}
    uses = []
    source = texts.post if texts.post is not None else ()
    for node in nodes:
        for name in node.reads:
            readers.setdefault(name, {})[node.name] = None
    by_name = {node.name: node for node in nodes}
    for ir in source:
        buffer_node = by_name.get(ir.name)
        for buffer in ir.outputs if buffer_node is not None else ():
            assert buffer_node is not None
            inside = [node_of[user].name for user in map(_first, buffer.users) if user in node_of]
            users = tuple(dict.fromkeys((*inside, *readers.get(buffer.name, ()))))
            using = (by_name[name] for name in users)
            uses.append(BufferUse(
                buffer.name, buffer.layout, buffer_node.name, users, "OUTPUT" in buffer.users,
                buffer_node.kernels if buffer_node.kernel_from else (),
                tuple(dict.fromkeys(key for node in using if node.kernel_from for key in node.kernels)),
            ))  # fmt: skip
    return tuple(uses)


def _natural(name: str) -> tuple[str, int]:
    """`buf9` before `buf10`: torch sorts them as texts."""
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :][:9] or 0)


def _first(user: str) -> str:
    return members_of(user)[0]


LIMIT = 256 << 20
"""Stored bytes of an IR text that are read."""
PRE, FUSED = "ir_pre_fusion", "ir_post_fusion"
LOG = ("log", "fusion")


def tells_of_fusion(process: Process) -> bool:
    """Return whether any record of the process is IR or of the fusion log."""
    kinds = process.log.kinds
    return any((kind.event, kind.name) == LOG or kind.name in (PRE, FUSED) for kind in kinds)


def has_fusion(compile_: Compile) -> bool:
    """Return whether there is IR of a compile, or a record of its fusion."""
    log = compile_.process.log
    wanted = {n for n, kind in enumerate(log.kinds) if (kind.event, kind.name) == LOG or kind.name in (PRE, FUSED)}
    column = log.columns.kind
    return bool(wanted) and any(column[record] in wanted for record in compile_.records)


@part
def fusion_of_compile(compile_: Compile, reader: Reader, version: TorchVersion) -> CompileFusion:
    """Return the fusion of all units of a compile, with advice for this version of torch."""
    artifacts = artifacts_of(compile_)
    names = {unit.number: unit.name for unit in units_of(artifacts)}
    mapped = {unit.number: unit for unit in provenance_of(compile_).units}
    pre, post = (_by_unit([a for a in artifacts if a.name == name], mapped) for name in (PRE, FUSED))
    texts: list[UnitTexts] = []
    for number in sorted({*pre, *post, *mapped}):
        mapping = mapped.get(number)
        texts.append(UnitTexts(
            names.get(number, "graph"), _graph_nodes(pre.get(number)), _graph_nodes(post.get(number)), None, mapping,
            _code(artifacts, mapping),
            _ref(pre.get(number)), _ref(post.get(number)), version,
        ))  # fmt: skip
    runs = fusion_log.parse(_log_texts(compile_, reader))
    function = display_name(compile_.frame)
    return CompileFusion(str(compile_.ref), function, tuple(map(fusion_of, with_runs(texts, runs, version))))


def _by_unit(artifacts: Sequence[Artifact], mapped: dict[int, UnitProvenance]) -> dict[int, Artifact]:
    """Map units to their last IR artifact. Artifacts without a unit fill the units without one, in order."""
    results = {artifact.unit: artifact for artifact in artifacts if artifact.unit is not None}
    free = iter(sorted(set(mapped) - set(results)))
    for artifact in artifacts:
        if artifact.unit is None:
            results[next(free, max((*mapped, *results), default=-1) + 1)] = artifact
    return results


def _ref(artifact: Artifact | None) -> str:
    return "" if artifact is None else str(artifact.ref)


def _lines(artifact: Artifact) -> list[str]:
    text = artifact.log.text(artifact.record, LIMIT)
    return (text.replace("\r\n", "\n") if "\r\n" in text else text).split("\n")


def _graph_nodes(artifact: Artifact | None) -> tuple[scheduler_ir.IrNode, ...] | None:
    return None if artifact is None else scheduler_ir.parse(_lines(artifact))


def _code(artifacts: Iterable[Artifact], unit: UnitProvenance | None) -> list[str]:
    """Return the lines of the generated code of a unit."""
    ref = unit.panes[PY].ref if unit is not None else ""
    return next((_lines(artifact) for artifact in artifacts if ref and str(artifact.ref) == ref), [])


def _log_texts(compile_: Compile, reader: Reader) -> Iterator[str]:
    """Yield the records of the fusion log of a compile."""
    log = compile_.process.log
    wanted = {n for n, kind in enumerate(log.kinds) if (kind.event, kind.name) == LOG}
    column = log.columns.kind
    return (reader.text(record) for record in sorted(compile_.records) if column[record] in wanted) if wanted else iter(())


def with_runs(texts: Sequence[UnitTexts], runs: Sequence[FusionRun], version: TorchVersion) -> Iterator[UnitTexts]:
    """Match the fusion runs of the log to units, in order and by equal nodes.

    A run that matches no unit becomes a unit without IR.
    """
    left = list(runs)
    for unit in texts:
        matched = next((n for n, run in enumerate(left) if _fits(unit, run)), None)
        yield unit if matched is None else replace(unit, run=left.pop(matched))
    for number, run in enumerate(left, 1):
        yield UnitTexts("graph" if len(left) == 1 else f"graph {number}", run=run, version=version)


def _fits(unit: UnitTexts, run: FusionRun) -> bool:
    names = {candidate.name for candidate in run.candidates}
    ir = unit.pre if unit.pre is not None else unit.post
    if ir is not None and names:
        return names == {name for node in ir for name in node.operations}
    graph = {node.name for born in unit.provenance.lines for node in born.post_nodes} if unit.provenance is not None else set()
    origins = {name for candidate in run.candidates for name in candidate.origins}
    return not graph or not origins or len(origins & graph) * 2 > len(origins)
