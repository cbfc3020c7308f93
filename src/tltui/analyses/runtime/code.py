"""What the trace knows of the graphs of a compile, as a profile names it: cache keys, and the calls of kernels in their order."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.caches.caches import BUNDLED, FX, NAMES, answer_of
from tltui.analyses.parts import part
from tltui.analyses.provenance.provenance import provenance_of
from tltui.analyses.provenance.result import Kernel
from tltui.analyses.records import Reader
from tltui.analyses.runtime.words import code_name
from tltui.model.artifacts import OUTPUT_CODE, artifacts_of, units_of
from tltui.model.nodes import Compile


@dataclass(frozen=True, slots=True)
class CodeCall:
    """A call of a kernel in the code of a graph."""

    name: str
    """As a profile names it."""
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class CodeGraph:
    """A lowered graph."""

    unit: str
    direction: str
    """As `tltui.model.artifacts.Unit.direction`."""
    keys: frozenset[str]
    """Of the FX graph cache; none where it was off, or said nothing."""
    calls: tuple[CodeCall, ...]
    """In the order of the code."""
    has_code: bool


@part
def graphs_of(compile_: Compile, reader: Reader) -> tuple[CodeGraph, ...]:
    """The lowered graphs of a compile."""
    artifacts = artifacts_of(compile_)
    keys: dict[int | None, set[str]] = {}
    for artifact in artifacts:
        if artifact.name in NAMES and NAMES[artifact.name][0] in (FX, BUNDLED):
            key = answer_of(artifact.name, artifact.record, "", reader)[0].key
            keys.setdefault(artifact.unit, set()).update((key,) if key else ())
    coded = {artifact.unit for artifact in artifacts if artifact.name == OUTPUT_CODE}
    kernels = {unit.number: unit.kernels for unit in provenance_of(compile_).units}
    return tuple(
        CodeGraph(
            unit.name, unit.direction, frozenset(keys.get(unit.number, ())), _calls(kernels.get(unit.number, ())),
            unit.number in coded,
        )
        for unit in units_of(artifacts)
    )  # fmt: skip


def _calls(kernels: tuple[Kernel, ...]) -> tuple[CodeCall, ...]:
    """Each place that calls a kernel, by its line; of several calls of one row all."""
    calls = [(line, CodeCall(code_name(kernel.name), kernel)) for kernel in kernels for line in _first_lines(kernel)]
    return tuple(call for _, call in sorted(calls, key=lambda own: own[0]))


def _first_lines(kernel: Kernel) -> tuple[int, ...]:
    """The first line of each of its calls: the lines of one stand together."""
    return tuple(line for line in kernel.call_lines if line - 1 not in kernel.call_lines)
