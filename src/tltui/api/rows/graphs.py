"""Rows of graphs, kernels and layers, and of what two of them differ in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tltui.api.rows.words import joined
from tltui.questions.compare.artifacts_page import CompareResult, DiffResult
from tltui.questions.fusion.page import FusionReport
from tltui.questions.layers.layer_costs import CompileLayers
from tltui.questions.passes.page import Passes
from tltui.questions.provenance.page import Coverages
from tltui.questions.provenance.records import ProvenanceJson


@dataclass(frozen=True, slots=True)
class ProvenanceRow:
    """Of one compile: one kernel. Of several: one lowering, with `kernel` empty."""

    ref: str
    """The address of the compile."""
    unit: str
    """The lowering."""
    kernel: str
    """The kernel as the code calls it, `NAME:HANDLE`; empty where the row is a lowering."""
    kernels: int
    """Kernels: 1 where the row is one."""
    kernels_with_nodes: int
    """Kernels of which it is known which nodes they compute."""
    kernels_with_lines: int
    """Kernels of which it is known which lines of source they come from."""
    nodes: str
    """The post-grad nodes that it computes."""
    lines: str
    """The lines of source, `FILE:LINE`."""
    nodes_from: str
    """What tells the nodes: recorded by torch, or derived (`flow`, `names`); of a lowering what tells most."""
    lines_from: str
    """What tells the lines."""


def provenance_rows(data: ProvenanceJson | Coverages) -> Iterator[ProvenanceRow]:
    """A row a kernel, or a row a lowering."""
    if isinstance(data, Coverages):
        for one in data.units:
            known = one.coverage
            yield ProvenanceRow(one.ref, one.unit, "", known.kernels, known.kernels_with_nodes, known.kernels_with_lines, "", "",
                                one.source, "")  # fmt: skip
        return
    for unit in data["units"]:
        for own in unit["kernels"]:
            nodes, lines = own["post_nodes"], own["user_lines"]
            yield ProvenanceRow(data["ref"], unit["unit"], own["key"], 1, int(bool(nodes)), int(bool(lines)), joined(nodes),
                                joined(lines), own["nodes_from"], own["lines_from"])  # fmt: skip


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer of the model in one lowering. A kernel is in each layer that it computes something of: rows are never added."""

    ref: str
    """The address of the compile."""
    unit: str
    """The lowering."""
    layer: str
    """The path of the module; empty for the outermost."""
    iterations: int
    """How many layers it stands for."""
    kernels: int
    """Kernels that compute something of it."""
    kernels_only_here: int
    """Kernels that compute nothing else."""
    nodes: int
    """Post-grad nodes."""
    lines: str
    """The lines of source, `FILE:LINE`."""
    loads: int | None
    """Loads in the code of its kernels, as far as it tells."""
    stores: int | None
    """Stores."""
    reductions: int | None
    """Reductions."""
    bytes: int | None
    """Bytes that its kernels move, by their code."""
    estimated_us: float | None
    """What Inductor estimates its kernels to take, in microseconds."""
    us: float | None
    """What a profile measured, in microseconds."""


def layer_rows(data: tuple[CompileLayers, ...]) -> Iterator[LayerRow]:
    """A row each."""
    for compile_ in data:
        for unit in compile_.units:
            for own in unit.layers:
                cost = own.cost
                yield LayerRow(compile_.ref, unit.unit, own.path, own.iterations, own.kernels, own.kernels_only_here, own.nodes,
                               joined(own.lines), cost.loads, cost.stores, cost.reductions, cost.bytes, cost.estimated_us,
                               own.us)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FusionRow:
    """One call of a kernel, and what was fused into it."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function that it compiles."""
    unit: str
    """The lowering."""
    kernel: str
    """The kernel as the code calls it, `NAME:HANDLE`."""
    is_generated: bool
    """Whether Inductor made it; else it is called from a library."""
    operations: int
    """Operations in it."""
    nodes: str
    """The nodes of the scheduler in it."""
    origins: str
    """The post-grad nodes that it computes."""
    lines: str
    """The lines of source, `FILE:LINE`."""


def fusion_rows(data: FusionReport) -> Iterator[FusionRow]:
    """A row each."""
    for compile_ in data.compiles:
        for unit in compile_.units:
            for own in unit.kernels:
                lines = joined(f"{line.file}:{line.line}" for line in own.source)
                yield FusionRow(compile_.ref, compile_.function, unit.unit, own.key, own.is_generated, own.operations,
                                joined(own.nodes), joined(origin.name for origin in own.origins), lines)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PassRow:
    """One step of the compiler: a graph, and what changed since the one that it was made from."""

    ref: str
    """The address of the graph."""
    compile: str
    """The address of the compile."""
    function: str | None
    """The function that it compiles."""
    unit: str
    """The lowering; empty before the graph was split."""
    step: str
    """The graph."""
    before: str | None
    """The graph that it was made from; none for the first one."""
    unchanged: bool
    """Whether both have the same bytes."""
    nodes_before: int | None
    """Nodes of the graph before; none where the two were not compared."""
    nodes: int | None
    """Nodes of this one; none where the two were not compared."""
    added: int
    """Nodes that were added."""
    removed: int
    """Nodes that were removed."""
    changed: int
    """Nodes that call, give or read something else."""
    problem: str
    """Why the two could not be compared; empty where they were."""


def pass_rows(data: Passes) -> Iterator[PassRow]:
    """A row each."""
    for compile_ in data.compiles:
        for unit in compile_.units:
            for own in unit.steps:
                change = own.change
                counts = Counter(node.what for node in change.changes) if change is not None else Counter[str]()
                added, removed = counts.pop("added", 0), counts.pop("removed", 0)
                yield PassRow(own.ref, compile_.ref, compile_.function, unit.unit, own.name, own.before, own.unchanged,
                              change.left if change is not None else None, change.right if change is not None else None,
                              added, removed, sum(counts.values()),
                              own.problem)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiffRow:
    """Of two artifacts: lines of the left that became lines of the right. Of anything else: a pair of artifacts or compiles, or a
    fact of both."""

    what: str
    """`lines`, `pair`, `fact`, `timing`, `guard`, `input`, `symbol`."""
    name: str
    """What the pair or fact is called; empty for lines."""
    left: str | None
    """The lines, the address or the value on the left; none where it has none."""
    right: str | None
    """The same on the right."""
    outcome: str
    """`same`, `changed`, `only left`, `only right`."""
    left_line: int | None
    """The first of the lines on the left, from 1; none where the row is no lines."""
    right_line: int | None
    """The first of the lines on the right."""
    added: int
    """Lines that only the right has."""
    removed: int
    """Lines that only the left has."""


def diff_rows(data: DiffResult | CompareResult) -> Iterator[DiffRow]:
    """A row each."""
    if isinstance(data, DiffResult):
        for hunk in data.hunks:
            outcome = _outcome(bool(hunk.left), bool(hunk.right))
            yield DiffRow("lines", "", "\n".join(hunk.left), "\n".join(hunk.right), outcome, hunk.left_line, hunk.right_line,
                          len(hunk.right), len(hunk.left))  # fmt: skip
        return
    for pair in data.rows:
        yield DiffRow("pair", pair.name, pair.left, pair.right, pair.outcome, None, None, pair.added, pair.removed)
    for what, facts in (("fact", data.facts), ("timing", data.timing), ("guard", data.guards), ("input", data.inputs),
                        ("symbol", data.symbols)):  # fmt: skip
        for fact in facts:
            same = "same" if fact.left == fact.right else _outcome(fact.left is not None, fact.right is not None)
            yield DiffRow(what, fact.name, fact.left, fact.right, same, None, None, 0, 0)


def _outcome(left: bool, right: bool) -> str:
    return "changed" if left and right else "only left" if left else "only right"
