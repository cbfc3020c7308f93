"""The page `provenance`."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.rank_groups import add_alike
from tltui.documents.scope import Scope
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.input_coverage import Needs
from tltui.model.ref import BadAddress, at_line
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.model.torch_versions import Way, provenance_way
from tltui.questions.coverage.input_sections import Away, add_not_indexed
from tltui.questions.fusion.sdsc_files import SpyreFile, files_by_kernel
from tltui.questions.layers.layer_costs import Layers, StaticCost, UnitLayers
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.layers.page import static_text
from tltui.questions.provenance.provenance import Covered, covered_by, provenance_json, provenance_of
from tltui.questions.provenance.records import (
    DERIVED,
    POST,
    PRE,
    SOURCES,
    Coverage,
    Kernel,
    LineMap,
    Node,
    Provenance,
    ProvenanceJson,
    UnitProvenance,
    Unknown,
)
from tltui.questions.provenance.unit_sections import (
    COUNTS,
    DERIVED_MARK,
    LEGEND,
    SAID,
    counts_of,
    coverage_text,
    marked,
    unknown_text,
)
from tltui.questions.question import Keyword, Question
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import owner_of


def of_kernel(provenance: Provenance, kernel: str) -> Provenance:
    """Restrict a result to the units with a kernel of this key or name.

    Each unit keeps that kernel (or all calls of the name), its nodes, source lines and line map entries. Counts stay
    those of the unit.
    """
    units = (_of_unit(unit, kernel) for unit in provenance.units)
    return Provenance(provenance.ref, tuple(unit for unit in units if unit.kernels))


def _of_unit(unit: UnitProvenance, kernel_key: str) -> UnitProvenance:
    kernels = tuple(kernel for kernel in unit.kernels if kernel_key in (kernel.key, kernel.name, _with_handle(kernel)))
    keys = {kernel.key for kernel in kernels}
    pre = {name for kernel in kernels for name in kernel.pre_nodes}
    post = {name for kernel in kernels for name in kernel.post_nodes}
    born = tuple(
        replace(
            born, kernels=tuple(key for key in born.kernels if key in keys),
            pre_nodes=tuple(node for node in born.pre_nodes if node.name in pre),
            post_nodes=tuple(node for node in born.post_nodes if node.name in post),
        )
        for born in unit.lines if keys & set(born.kernels)
    )  # fmt: skip
    code = {line for kernel in kernels for line in (*kernel.call_lines, *(kernel.definition or ())[:1])}
    post_lines = {node.line for item in born for node in item.post_nodes}
    pre_lines = {node.line for item in born for node in item.pre_nodes}
    places = {(item.file, item.line) for item in born}
    maps = {
        name: _cut(item, *((pre_lines, post_lines) if name.startswith("pre") else (post_lines, pre_lines) if name.endswith("_pre")
                          else (post_lines, code) if name.startswith("post") else (code, post_lines)))
        for name, item in unit.maps.items()
    }  # fmt: skip
    about = keys | post
    unknown = (replace(item, names=tuple(name for name in item.names if name in about)) for item in unit.coverage.unknown)
    coverage = replace(
        unit.coverage, kernels_unmapped=tuple(key for key in unit.coverage.kernels_unmapped if key in keys),
        nodes_unmapped=tuple(name for name in unit.coverage.nodes_unmapped if name in post),
        unknown=tuple(item for item in unknown if item.names),
    )  # fmt: skip
    own_places = tuple(item for item in unit.places if (item.file, item.line) in places)
    return replace(unit, coverage=coverage, kernels=kernels, lines=born, maps=maps, places=own_places, groups=())


def _with_handle(kernel: Kernel) -> str:
    return kernel.name if kernel.handle is None else f"{kernel.name}:{kernel.handle}"


def _cut(line_map: LineMap, keys: Collection[int], values: Collection[int]) -> LineMap:
    """Restrict a line map to the given lines."""
    cut = {line: tuple(other for other in targets if other in values) for line, targets in line_map.items() if line in keys}
    return {line: targets for line, targets in cut.items() if targets}


TITLES = {
    "pre": "pre-grad", "post": "post-grad", "py": "code", "cpp": "C++ wrapper", "kernel": "kernels", "source": "source",
}  # fmt: skip
NAMES_SHOWN = 12
LABEL = 10
PANE_LABEL = 12
COUNT_LABEL = 17
LISTED = 200
"""Compiles up to which each has its own lines."""
AT_ONCE = 32
"""Compiles that are looked at between two moments at which a reader may leave."""


@frozen
class UnitCoverage:
    """The coverage of one unit, in the list of several compiles."""

    ref: str
    unit: str
    source: str
    is_recorded: bool
    coverage: Coverage


@frozen
class Coverages:
    """The units of several compiles."""

    ref: str
    units: tuple[UnitCoverage, ...]
    not_available: tuple[str, ...] = ()
    """Compiles of which the texts are not in the index, and their logs not here."""


Files = Mapping[str, Sequence[SpyreFile]]
"""Kernel → its files of torch-spyre."""
NOTHING = "The trace has no Inductor graph, no generated code and no mapping of kernels to nodes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options beyond those of every view."""
    parser.add_argument("--unit", metavar="U", dest="filter", default="", help="only this unit: forward, backward, inference …")
    parser.add_argument("--kernel", metavar="K", dest="part", default="", help="only this kernel: NAME, NAME:HANDLE or its key")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the table of a compile, or the coverage of several."""

    def fill(page: Page) -> Generator[None, None, object]:
        page.add((f"Provenance{scope.title}", tokens.TITLE))
        if len(scope.compiles) == 1:
            compile_ = scope.compiles[0]
            way = provenance_way(version_of(compile_.process))
            spyre = files_by_kernel(compile_, run.compiles())
            provenance = provenance_of(compile_)
            selection = _select(provenance, options.filter, options.part)
            return provenance_json(_compile(page, selection, way, spyre, layers_of(compile_, provenance)))
        return (yield from _many(page, scope))

    return GrowingDocument(scope.page("provenance"), f"provenance{scope.title}", options, fill, Page)


def _select(provenance: Provenance, unit: str, kernel: str) -> Provenance:
    """Restrict a result to a unit and a kernel; raise BadAddress if there is none."""
    if unit:
        selected = provenance.unit(unit)
        if selected is None:
            names = ", ".join(known_unit.unit for known_unit in provenance.units) or "none"
            raise BadAddress(f"unknown unit of {provenance.ref}: {unit!r}", f"units: {names}")
        provenance = Provenance(provenance.ref, (selected,))
    if not kernel:
        return provenance
    kernel_provenance = of_kernel(provenance, kernel)
    if not kernel_provenance.units:
        keys = dict.fromkeys(selected.key for known_unit in provenance.units for selected in known_unit.kernels)
        near = get_close_matches(kernel, keys, n=3, cutoff=0.3)
        advice = f"similar: {', '.join(near)} …" if near else "the page without a kernel lists all kernels"
        raise BadAddress(f"{provenance.ref} has no kernel {kernel!r}", advice)
    return kernel_provenance


def _compile(page: Page, provenance: Provenance, way: Way, spyre: Files, layers: Layers) -> Provenance:
    units = provenance.units
    if not units:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
    if len(units) > 1:
        *units_before, last = (fmt.graph_title(unit.unit) for unit in units)
        page.row([("graphs: ", tokens.LABEL), *(f"{name}, " for name in units_before), last], "")
    for unit in units:
        _unit(page, unit, way, spyre, layers.unit(unit.unit))
    return provenance


def _unit(page: Page, unit: UnitProvenance, way: Way, spyre: Files, layers: UnitLayers | None) -> None:
    page.heading(fmt.graph_title(unit.unit))
    _coverage(page, unit, way)
    _panes(page, unit)
    _lines(page, unit)
    _kernels(page, unit, spyre, layers)


def _coverage(page: Page, unit: UnitProvenance, way: Way) -> None:
    """Add the three counts, their sources, and the reasons for what is missing."""
    coverage = unit.coverage
    if coverage.kernels or coverage.nodes:
        for label, text in counts_of(coverage):
            page.labelled(label, text, gap=COUNT_LABEL, style=tokens.STRONG)
    else:
        page.say(coverage_text(coverage), "  ", tokens.STRONG)
    if any(source in DERIVED for source in unit.sources):
        page.say(LEGEND, "  ", tokens.DIM)
    if unit.sources:
        page.labelled("by", ", ".join(SAID[source] for source in unit.sources), gap=PANE_LABEL)
    else:
        page.say(page.so_far("The trace has no provenance for these kernels and nodes."), "  ", tokens.WARN)
    if not unit.recorded and not page.goes_on:
        message = f"torch did not record provenance: {_how(way)}."
        source = " The links below come from comments and data flow." if unit.sources else ""
        page.say(message + source, "  ", tokens.WARN)
    for unknown in coverage.unknown:
        _unknown(page, unknown)


def _how(way: Way) -> str:
    return f"{way.sentence} in the environment of the job" if way.setting else way.sentence


def _unknown(page: Page, unknown: Unknown) -> None:
    """Add missing links by kernel or node, with reasons."""
    names = sanitize(", ".join(unknown.names))
    text = f"unknown: {unknown_text(unknown)}"
    page.open(text, folded=len(unknown.names) > NAMES_SHOWN)
    page.say(page.so_far(text), "  ", tokens.LABEL, "    ")
    page.say(names, "    ", tokens.DIM)
    page.close()


def _panes(page: Page, unit: UnitProvenance) -> None:
    for pane in unit.panes:
        if pane.ref:
            lines = (f"  {fmt.plural(pane.lines, 'line')}", tokens.DIM)
            page.row([(TITLES[pane.kind].ljust(PANE_LABEL), tokens.LABEL), (pane.ref, tokens.LINK, pane.ref), lines])
            if pane.why:
                page.say(page.so_far(pane.why), " " * (PANE_LABEL + 2), tokens.DIM)
        elif pane.kind in ("source", "pre", "post") and pane.why:
            page.add("  ", (TITLES[pane.kind].ljust(PANE_LABEL), tokens.LABEL), (page.so_far(pane.why), tokens.DIM))


def _lines(page: Page, unit: UnitProvenance) -> None:
    """Add the nodes and kernels of each source line."""
    keys = {kernel.key: kernel for kernel in unit.kernels}
    for born in unit.lines:
        page.blank()
        page.open(f"{fmt.place(born.file, born.line)}" if born.file else "no line of source")
        if born.file:
            where = fmt.place(born.file, born.line)
            whose = f" · {owner_of(born.file).value}" if born.is_framework else ""
            page.add("  ", (fmt.clip_middle(where, page.width - 2), tokens.LINK, fmt.place_target(born.file, born.line)),
                     (f" in {born.function}" if born.function else "", tokens.DIM), (whose, tokens.DIM))  # fmt: skip
            page.code(born.code, "    ")
        else:
            page.add("  ", (page.so_far("Source line unknown"), tokens.LABEL))
        _nodes(page, "pre-grad", unit.panes[PRE].ref, born.pre_nodes)
        _nodes(page, "post-grad", unit.panes[POST].ref, born.post_nodes)
        _born_kernels(page, unit, [keys[key] for key in born.kernels if key in keys])
        page.close()


def _nodes(page: Page, label: str, ref: str, nodes: Sequence[Node]) -> None:
    if not nodes:
        return
    pieces: list[Piece] = []
    for n, node in enumerate(nodes):
        pieces.append((sanitize(node.name), tokens.LINK, at_line(ref, node.line)))
        pieces.append((f":{node.line}" + (", " if n < len(nodes) - 1 else ""), tokens.DIM))
    _wrapped(page, label, pieces)


def _born_kernels(page: Page, unit: UnitProvenance, kernels: Sequence[Kernel]) -> None:
    pieces: list[Piece] = []
    for n, kernel in enumerate(kernels):
        line, ref = (kernel.call_lines or (0,))[0], unit.panes[kernel.call_pane].ref
        name = fmt.clip_middle(sanitize(kernel.name if kernel.handle is None else kernel.key), page.width - LABEL - 18)
        name = marked(kernel.lines_from if kernel.user_lines else kernel.nodes_from) + name
        pieces.append((name, tokens.LINK, at_line(ref, line)) if line and ref else name)
        pieces.append((_at(kernel) + (", " if n < len(kernels) - 1 else ""), tokens.DIM))
    if pieces:
        _wrapped(page, "kernels", pieces)


def _at(kernel: Kernel) -> str:
    """Format call lines: ` at 186`, or ` at 186, …` for several."""
    if not kernel.call_lines:
        return ""
    runs = sum(b != a + 1 for a, b in pairwise(kernel.call_lines))
    return f" at {kernel.call_lines[0]}" + (", …" if runs else "")


def _wrapped(page: Page, label: str, pieces: Sequence[Piece]) -> None:
    """Add names and their lines after a label; a name and its line share a row."""
    indent = 4 + LABEL
    line: list[Piece] = []
    used = indent
    first = True
    for n in range(0, len(pieces), 2):
        pair = pieces[n : n + 2]
        width = sum(len(piece_text(piece)) for piece in pair)
        if line and used + width > page.width:
            page.add("    ", (label.ljust(LABEL) if first else " " * LABEL, tokens.LABEL), *line)
            line, used, first = [], indent, False
        line += pair
        used += width
    page.add("    ", (label.ljust(LABEL) if first else " " * LABEL, tokens.LABEL), *line)


def _kernels(page: Page, unit: UnitProvenance, spyre: Files, layers: UnitLayers | None) -> None:
    """Add the kernels in code order, each with its calls, definition and source lines."""
    if not unit.kernels:
        return
    page.blank()
    title = f"{fmt.plural(len(unit.kernels), 'kernel')} in code order"
    page.open(title, folded=True)
    page.add("  ", (title, tokens.LABEL))
    for kernel in unit.kernels:
        calls, ref = unit.panes[kernel.call_pane].ref, unit.panes[kernel.definition_pane].ref
        name = fmt.clip_middle(sanitize(kernel.key), page.width - 6)
        target = at_line(calls, kernel.call_lines[0]) if kernel.call_lines and calls else ""
        page.add("    ", (name, tokens.LINK if target else tokens.NAME, target))
        if kernel.definition is not None and ref:
            first, last = kernel.definition
            page.add("      ", ("defined".ljust(LABEL), tokens.LABEL), (f"lines {first}–{last}", tokens.LINK, at_line(ref, first)))
        notes = (
            ("lines", _short(kernel.user_lines), kernel.lines_from), ("pre-grad", kernel.pre_nodes, kernel.nodes_from),
            ("post-grad", kernel.post_nodes, kernel.nodes_from),
        )  # fmt: skip
        for label, names, source in notes:
            if names:
                page.labelled(label, marked(source) + sanitize(", ".join(names)), "      ", LABEL)
        if kernel.operations:
            page.labelled("runs", sanitize(", ".join(kernel.operations)), "      ", LABEL)
        if kernel.again:
            page.labelled("again", sanitize(", ".join(kernel.again)) + ": recomputed, not loaded", "      ", LABEL)
        if layers is not None and (own_layers := [path for path in layers.of_kernel.get(kernel.key, ()) if path]):
            page.labelled("layers", sanitize(", ".join(own_layers)), "      ", LABEL)
        if layers is not None and (cost := static_text(layers.costs.get(kernel.key, StaticCost()))):
            page.labelled("cost", cost, "      ", LABEL)
        if files := spyre.get(kernel.name):
            _spyre(page, files)
        if not kernel.mapped:
            page.add("      ", (page.so_far("origin unknown (not in the trace)"), tokens.DIM))
    page.close()


def _spyre(page: Page, files: Sequence[SpyreFile]) -> None:
    """Add the inputs of torch-spyre's compiler for each operation of a kernel."""
    pieces: list[Piece] = []
    for n, file in enumerate(files):
        pieces.append((sanitize(file.ref), tokens.LINK, file.ref))
        pieces.append((f" {sanitize(file.op)}" if file.op else "") + (", " if n < len(files) - 1 else ""))
    page.row([("sdsc".ljust(LABEL), tokens.LABEL), *pieces], "      ")
    if any(file.of is not None and not file.of.agrees for file in files):
        page.say("matched by order: the operation names differ", " " * (6 + LABEL), tokens.WARN)


def _short(places: Sequence[str]) -> list[str]:
    results = (place.rpartition(":") for place in places)
    return [fmt.place(file, int(line)) for file, _, line in results]


def _many(page: Page, scope: Scope) -> Generator[None, None, Coverages]:
    """Add a line per unit; with very many compiles, one line per group with equal lines."""
    units: list[UnitCoverage] = []
    kinds: dict[tuple[Covered, ...], list[str]] = {}
    away: list[Away] = []
    for number, compile_ in enumerate(scope.compiles):
        if number % AT_ONCE == 0:
            yield
        ref = str(compile_.ref)
        try:
            covered = covered_by(compile_)
        except Elsewhere as error:
            away.append((ref, error))
            continue
        if not covered:
            continue
        rows = [UnitCoverage(ref, c.unit, c.source, c.recorded, c.coverage) for c in covered]
        if not units:
            page.say(COUNTS, "", tokens.DIM)
        units += rows
        same = kinds.setdefault(covered, [])
        same.append(ref)
        if len(same) == 1 or len(scope.compiles) <= LISTED:
            for unit in rows:
                _unit_line(page, unit)
    if not units and not away:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
    elif not all(unit.is_recorded for unit in units):
        page.blank()
        descriptions = dict.fromkeys(_how(provenance_way(version_of(process))) for process in scope.processes)
        page.say(f"Provenance not recorded: {'; '.join(descriptions)}.", "", tokens.DIM)
    if len(scope.compiles) > LISTED:
        several = [refs for refs in kinds.values() if len(refs) > 1]
        yield from add_alike(page, "Compiles with the same counts", several, lambda ref: f"@provenance:{ref}")
    add_not_indexed(page, away, "provenance")
    return Coverages(str(scope.ref), tuple(units), tuple(ref for ref, _ in away))


def _unit_line(page: Page, unit: UnitCoverage) -> None:
    message = coverage_text(unit.coverage).replace(f" {DERIVED_MARK})", " derived)").replace(" · ", " ·  ").split("  ")
    if not unit.is_recorded:
        message[-1] += "; provenance not recorded"
    elif unit.source in SOURCES[1:]:
        message[-1] += f"; recorded in {SAID[unit.source]}"
    pieces: list[Piece] = [(f"[{unit.ref}]", tokens.LINK, f"@provenance:{unit.ref}"), f" {sanitize(fmt.graph_title(unit.unit))}  "]
    page.row([*pieces, *((f"{part} ", tokens.DIM) for part in message)], "")


@frozen
class ProvenanceRow:
    """A kernel of one compile, or a unit of several compiles with `kernel` empty."""

    ref: str
    """The address of the compile."""
    unit: str
    """The lowering."""
    kernel: str
    """The kernel as the code calls it, `NAME:HANDLE`; empty where the row is a lowering."""
    kernels: int
    """Kernels: 1 where the row is one."""
    kernels_with_nodes: int
    """Kernels whose nodes are known."""
    kernels_with_lines: int
    """Kernels whose source lines are known."""
    nodes: tuple[str, ...]
    """The post-grad nodes that it computes."""
    lines: tuple[str, ...]
    """The lines of source, `FILE:LINE`."""
    nodes_from: str
    """The source of the nodes: recorded by torch, or derived (`flow`, `names`); of a lowering the best one."""
    lines_from: str
    """The source of the lines."""


def provenance_rows(data: ProvenanceJson | Coverages) -> Iterator[ProvenanceRow]:
    """Yield a row per kernel, or a row per unit."""
    if isinstance(data, Coverages):
        for covered_unit in data.units:
            coverage = covered_unit.coverage
            yield ProvenanceRow(covered_unit.ref, covered_unit.unit, "", coverage.kernels, coverage.kernels_with_nodes,
                                coverage.kernels_with_lines, (), (), covered_unit.source, "")  # fmt: skip
        return
    for unit in data["units"]:
        for kernel in unit["kernels"]:
            nodes, lines = kernel["post_nodes"], kernel["user_lines"]
            yield ProvenanceRow(data["ref"], unit["unit"], kernel["key"], 1, int(bool(nodes)), int(bool(lines)), tuple(nodes),
                                tuple(lines), kernel["nodes_from"], kernel["lines_from"])  # fmt: skip


QUESTION = Question(
    name="provenance",
    help="source lines, graph nodes and kernels that belong together, and the share of linked nodes",
    group="find causes",
    order=140,
    needs=Needs(
        "has no mapping from kernels to nodes",
        ("aot_graphs", "post_grad_graphs", "output_code"),
        "graphs and code",
        in_debug_dir=True,
    ),
    document=document,
    add_arguments=add_arguments,
    answer=Coverages | ProvenanceJson,
    is_long=True,
    rows=ProvenanceRow,
    records=provenance_rows,
    keywords=(
        Keyword("unit", "filter"),
        Keyword("kernel", "part"),
    ),
    doc="""
    Source lines, graph nodes and kernels that belong together. For one compile a row per kernel; for several a row per lowering,
    with counts of the known links.

    `unit`: only this unit: forward, backward, inference. `kernel`: only this kernel: NAME, NAME:HANDLE or its key.
    """,
)
