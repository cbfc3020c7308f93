"""What of a unit's provenance belongs to one kernel."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tltui.analyses.provenance.result import Kernel, LineMap, Provenance, UnitProvenance


def of_kernel(found: Provenance, wanted: str) -> Provenance:
    """The units that have a kernel of this key or name, each with that kernel (or all calls of the name), its nodes, its lines of
    source and what the line maps say of them. The counts stay those of the unit."""
    units = (_of_unit(unit, wanted) for unit in found.units)
    return Provenance(found.schema, found.ref, tuple(unit for unit in units if unit.kernels))


def _of_unit(unit: UnitProvenance, wanted: str) -> UnitProvenance:
    kernels = tuple(kernel for kernel in unit.kernels if wanted in (kernel.key, kernel.name, _with_handle(kernel)))
    keys = {kernel.key for kernel in kernels}
    pre = {name for kernel in kernels for name in kernel.pre_nodes}
    post = {name for kernel in kernels for name in kernel.post_nodes}
    born = tuple(
        replace(
            born, kernels=tuple(key for key in born.kernels if key in keys),
            pre=tuple(node for node in born.pre if node.name in pre), post=tuple(node for node in born.post if node.name in post),
        )
        for born in unit.lines if keys & set(born.kernels)
    )  # fmt: skip
    code = {line for kernel in kernels for line in (*kernel.call_lines, *(kernel.definition or ())[:1])}
    post_lines = {node.line for own in born for node in own.post}
    pre_lines = {node.line for own in born for node in own.pre}
    places = {(own.file, own.line) for own in born}
    maps = {
        name: _cut(own, *((pre_lines, post_lines) if name.startswith("pre") else (post_lines, pre_lines) if name.endswith("Pre")
                          else (post_lines, code) if name.startswith("post") else (code, post_lines)))
        for name, own in unit.maps.items()
    }  # fmt: skip
    about = keys | post
    unknown = (replace(own, names=tuple(name for name in own.names if name in about)) for own in unit.coverage.unknown)
    coverage = replace(
        unit.coverage, kernels_unmapped=tuple(key for key in unit.coverage.kernels_unmapped if key in keys),
        nodes_unmapped=tuple(name for name in unit.coverage.nodes_unmapped if name in post),
        unknown=tuple(own for own in unknown if own.names),
    )  # fmt: skip
    own_places = tuple(own for own in unit.places if (own.file, own.line) in places)
    return replace(unit, coverage=coverage, kernels=kernels, lines=born, maps=maps, places=own_places, groups=())


def _with_handle(kernel: Kernel) -> str:
    return kernel.name if kernel.handle is None else f"{kernel.name}:{kernel.handle}"


def _cut(found: LineMap, keys: Collection[int], values: Collection[int]) -> LineMap:
    """The part of a line map between some lines."""
    cut = {line: tuple(other for other in others if other in values) for line, others in found.items() if line in keys}
    return {line: others for line, others in cut.items() if others}
