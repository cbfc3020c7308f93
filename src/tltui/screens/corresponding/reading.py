"""How a compile is read for provenance mode: off the UI thread, a unit at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tltui.analyses.provenance.layers import layers_of
from tltui.analyses.provenance.provenance import POST, PRE, SOURCE, Provenance, UnitProvenance, provenance_of
from tltui.analyses.provenance.result import correspondence
from tltui.documents.build import build
from tltui.documents.names import Names, names_of
from tltui.documents.panes import Panes, UnitCosts, costs_of_unit
from tltui.documents.parts.layer_tree import layer_tree
from tltui.documents.parts.pane_choice import CODE, LAYERS
from tltui.documents.parts.source_lines import source_lines
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.text.document import Document, Options
from tltui.text.sanitize import sanitize
from tltui.work.scheduler import Place, Steps


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """The texts of a unit, read and parsed."""

    number: int
    provenance: Provenance
    documents: dict[int, Document]
    panes: Panes | None
    """None where there is no unit."""


def reading(
    run: Run, compile_: Compile, found: Provenance | None, wanted: Callable[[Provenance], int], options: Options,
    done: Callable[[ReadUnit], object],
) -> Steps:  # fmt: skip
    """Analyse the compile unless that was `found` before, make the documents of the unit that is `wanted` of it, and find out what
    their names mean. `done` gets the answer, on the thread of the work."""
    found = found or provenance_of(compile_)
    yield None
    if not found.units:
        done(ReadUnit(0, found, {}, None))
        return
    number = wanted(found)
    unit = found.units[number]
    source = source_lines(f"@source:{compile_.ref}", "your source", unit.places, options)
    documents: dict[int, Document] = {SOURCE: source.document}
    for pane in (PRE, POST, *CODE):
        if unit.panes[pane].ref:
            yield None
            documents[pane] = build(run, unit.panes[pane].ref, options)
    yield None
    files, costs = _files(compile_, unit), costs_of_unit(run, found.ref, unit.unit)
    yield None
    layers = layers_of(compile_, found).unit(unit.unit)
    tree = layer_tree(f"@layers:{compile_.ref}", layers) if layers is not None else None
    yield Place.LONG
    groups = correspondence(unit, source.lines)
    yield Place.LONG
    names: dict[int, Names] = {}
    for pane, document in documents.items():
        known = names_of(document)
        if known is not None:
            names[pane] = known
    if tree is not None:
        documents[LAYERS] = tree.document
    panes = Panes(unit, documents, groups, names, source.lines, files, tree)
    if costs is not None:
        panes.take_costs(costs)
    done(ReadUnit(number, found, documents, panes))


def costing(run: Run, found: Provenance, number: int, done: Callable[[UnitCosts | None], object]) -> Steps:
    """Ask what profiles tell of a unit that is shown already; `done` as for `reading`."""
    yield None
    done(costs_of_unit(run, found.ref, found.units[number].unit))


def _files(compile_: Compile, unit: UnitProvenance) -> dict[int, str]:
    """The file that generated code was written to, for the title of its pane."""
    artifacts = {str(artifact.ref): artifact for artifact in artifacts_of(compile_)}
    found: dict[int, str] = {}
    for pane in CODE:
        artifact = artifacts.get(unit.panes[pane].ref)
        told = artifact.log.event(artifact.record) if artifact is not None else None
        name = told.get("filename") if isinstance(told, dict) else None
        if isinstance(name, str):
            found[pane] = sanitize(name)
    return found
