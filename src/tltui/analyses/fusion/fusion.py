"""The fusion of a compile: its texts, wherever they come from, unit by unit.

    found = fusion_of_compile(compile_, version)     # kept; reads IR, generated code, graphs, mapping and the fusion log
    for unit in found.units:
        unit.nodes, unit.kernels, unit.reasons   # what became of the operations, and why not more was fused

A trace alone has neither IR nor log: then the kernels and what is in them is known, and nothing of single operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tltui.analyses.fusion.result import CompileFusion
from tltui.analyses.fusion.unit import UnitTexts, fusion_of
from tltui.analyses.parts import part
from tltui.analyses.provenance.provenance import provenance_of
from tltui.analyses.provenance.result import PY, UnitProvenance
from tltui.analyses.records import Reader
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Process
from tltui.model.versions.version import TorchVersion
from tltui.text.ir import fusion_log, scheduler_ir
from tltui.text.ir.fusion_log import FusionRun

LIMIT = 256 << 20
"""Stored bytes of an IR text that are read."""
PRE, FUSED = "ir_pre_fusion", "ir_post_fusion"
LOG = ("log", "fusion")


def tells_of_fusion(process: Process) -> bool:
    """Whether any record of the process is IR or of the fusion log."""
    kinds = process.log.kinds
    return any((kind.event, kind.name) == LOG or kind.name in (PRE, FUSED) for kind in kinds)


def has_fusion(compile_: Compile) -> bool:
    """Whether there is IR of a compile, or a record of its fusion."""
    log = compile_.process.log
    wanted = {n for n, kind in enumerate(log.kinds) if (kind.event, kind.name) == LOG or kind.name in (PRE, FUSED)}
    column = log.columns.kind
    return bool(wanted) and any(column[record] in wanted for record in compile_.records)


@part
def fusion_of_compile(compile_: Compile, reader: Reader, version: TorchVersion) -> CompileFusion:
    """What is known of the fusion of all units of a compile. Advice is for this version of torch."""
    artifacts = artifacts_of(compile_)
    names = {unit.number: unit.name for unit in units_of(artifacts)}
    mapped = {unit.number: unit for unit in provenance_of(compile_).units}
    pre, post = (_by_unit([a for a in artifacts if a.name == name], mapped) for name in (PRE, FUSED))
    texts: list[UnitTexts] = []
    for number in sorted({*pre, *post, *mapped}):
        own = mapped.get(number)
        texts.append(UnitTexts(
            names.get(number, "graph"), _nodes(pre.get(number)), _nodes(post.get(number)), None, own, _code(artifacts, own),
            _ref(pre.get(number)), _ref(post.get(number)), version,
        ))  # fmt: skip
    runs = fusion_log.parse(_log_texts(compile_, reader))
    function = compile_.frame.code[0]
    return CompileFusion(str(compile_.ref), function, tuple(map(fusion_of, with_runs(texts, runs, version))))


def _by_unit(artifacts: Sequence[Artifact], mapped: dict[int, UnitProvenance]) -> dict[int, Artifact]:
    """Unit → its IR, the last of each. What belongs to no unit is given in order to those that lack it."""
    found = {artifact.unit: artifact for artifact in artifacts if artifact.unit is not None}
    free = iter(sorted(set(mapped) - set(found)))
    for artifact in artifacts:
        if artifact.unit is None:
            found[next(free, max((*mapped, *found), default=-1) + 1)] = artifact
    return found


def _ref(artifact: Artifact | None) -> str:
    return "" if artifact is None else str(artifact.ref)


def _lines(artifact: Artifact) -> list[str]:
    text = artifact.log.text(artifact.record, LIMIT)
    return (text.replace("\r\n", "\n") if "\r\n" in text else text).split("\n")


def _nodes(artifact: Artifact | None) -> tuple[scheduler_ir.IrNode, ...] | None:
    return None if artifact is None else scheduler_ir.parse(_lines(artifact))


def _code(artifacts: Iterable[Artifact], unit: UnitProvenance | None) -> list[str]:
    """The lines of the generated code of a unit."""
    ref = unit.panes[PY].ref if unit is not None else ""
    return next((_lines(artifact) for artifact in artifacts if ref and str(artifact.ref) == ref), [])


def _log_texts(compile_: Compile, reader: Reader) -> Iterator[str]:
    """What the fusion log says of a compile, record by record."""
    log = compile_.process.log
    wanted = {n for n, kind in enumerate(log.kinds) if (kind.event, kind.name) == LOG}
    column = log.columns.kind
    return (reader.text(record) for record in sorted(compile_.records) if column[record] in wanted) if wanted else iter(())


def with_runs(texts: Sequence[UnitTexts], runs: Sequence[FusionRun], version: TorchVersion) -> Iterator[UnitTexts]:
    """The units with what the log says of each: in order, a unit whose IR or graph has other nodes being none. What belongs to
    no unit that is known is one of its own."""
    left = list(runs)
    for unit in texts:
        own = next((n for n, run in enumerate(left) if _fits(unit, run)), None)
        yield unit if own is None else replace(unit, run=left.pop(own))
    for number, run in enumerate(left, 1):
        yield UnitTexts("graph" if len(left) == 1 else f"graph {number}", run=run, version=version)


def _fits(unit: UnitTexts, run: FusionRun) -> bool:
    names = {candidate.name for candidate in run.candidates}
    ir = unit.pre if unit.pre is not None else unit.post
    if ir is not None and names:
        return names == {name for node in ir for name in node.operations}
    graph = {node.name for born in unit.provenance.lines for node in born.post} if unit.provenance is not None else set()
    origins = {name for candidate in run.candidates for name in candidate.origins}
    return not graph or not origins or len(origins & graph) * 2 > len(origins)
