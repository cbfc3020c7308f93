"""The page `layers`: the layer tree, kernels of a layer, the call tree."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.rank_groups import add_alike
from tltui.documents.scope import Scope
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, at_line
from tltui.model.run import Run
from tltui.questions.coverage.input_sections import Away, add_not_indexed
from tltui.questions.layers.layer_costs import (
    MERGED,
    CompileLayers,
    KernelCost,
    Layer,
    LayerCost,
    Layers,
    Site,
    StaticCost,
    UnitCosts,
    UnitLayers,
    is_below,
    merged,
    together,
)
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.provenance.provenance import content_of, provenance_of
from tltui.questions.provenance.records import Kernel, Provenance, UnitProvenance
from tltui.questions.question import Question
from tltui.questions.runtime.costs import Costs, costs_of
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

NEAR = 5
ROOT = "(model)"
"""Display name of the outermost layer."""


def layer_names(layers: Layers) -> tuple[str, ...]:
    """Return all layers of a compile in the order of their first runs, then merged iterations."""
    paths = dict.fromkeys(layer.path for unit in layers.units for layer in unit.layers)
    return (*paths, *dict.fromkeys(pattern for path, pattern in iterations(paths).items() if pattern != path))


def iterations(paths: Collection[str]) -> dict[str, str]:
    """Map paths to paths with merged iterations: `layers.*.attn`.

    Only elements of lists count: the parts of a module that runs itself (`Sequential`) follow each other.
    """
    existing, results = set(paths), {}
    for path in paths:
        parts = path.split(".")
        results[path] = ".".join(
            MERGED if part.isdecimal() and ".".join(parts[:n]) not in existing else part for n, part in enumerate(parts)
        )
    return results


def matches(path: str, wanted: str) -> bool:
    """Return whether a name matches a layer; `*` stands for any number, and a path suffix is enough."""
    parts_of_path, parts = path.split("."), wanted.split(".")
    if wanted in ("", ROOT):
        return not path
    if len(parts) > len(parts_of_path):
        return False
    return all(a == b or (b == MERGED and a.isdecimal()) for a, b in zip(parts_of_path[-len(parts) :], parts, strict=True))


def chosen(paths: Iterable[str], wanted: str) -> tuple[str, ...]:
    """Return the layers that a name matches: by exact path, else by path suffix if all are of one kind."""
    valid = list(paths)
    exact = [path for path in valid if len(path.split(".")) == len(wanted.split(".")) and matches(path, wanted)]
    if exact:
        return tuple(exact)
    ends = [path for path in valid if matches(path, wanted)]
    return tuple(ends) if len({merged(path) if MERGED in wanted else path for path in ends}) <= 1 else ()


def near(paths: Iterable[str], wanted: str) -> tuple[str, ...]:
    """Return layers with names similar to an unknown one."""
    valid = [path for path in paths if path]
    ends = [path for path in valid if matches(path, wanted)]
    last = wanted.rpartition(".")[2]
    alike = difflib.get_close_matches(wanted, valid, NEAR, 0.5)
    return tuple(dict.fromkeys((*ends, *alike, *(path for path in valid if last and path.rpartition(".")[2] == last))))[:NEAR]


def layers_in(unit: UnitLayers, merge: bool) -> tuple[tuple[Layer, int], ...]:
    """Return the layers of a unit with their iteration counts.

    With `merge`, layers that differ only in numbers are one row; its parent is the index of the merged parent.
    """
    if not merge:
        return tuple((layer, 1) for layer in unit.layers)
    groups: dict[str, list[Layer]] = {}
    iteration_of = iterations([layer.path for layer in unit.layers])
    for layer in unit.layers:
        groups.setdefault(iteration_of[layer.path], []).append(layer)
    places = {path: n for n, path in enumerate(groups)}
    rows = []
    for path, same in groups.items():
        around = unit.layers[same[0].parent].path if same[0].parent >= 0 else None
        rows.append((union(unit, path, same, -1 if around is None else places[iteration_of[around]]), len(same)))
    return tuple(rows)


def union(unit: UnitLayers, path: str, layers: Iterable[Layer], parent: int = -1) -> Layer:
    """Several layers as one. A kernel that is in two of them counts once, and is alone where it computes nothing outside of all."""
    members = list(layers)
    if len(members) == 1:
        one = members[0]
        return Layer(path, parent, one.pre, one.post, one.kernels, one.alone, one.lines, one.cost, one.priced)
    inside = {name for layer in members for name in layer.kernels}
    kernels = tuple(key for key in unit.of_kernel if key in inside)
    paths = {layer.path for layer in members}
    alone = tuple(key for key in kernels if all(_in(path, paths) for path in unit.of_kernel[key]))
    priced = [unit.costs[key] for key in kernels if key in unit.costs]
    return Layer(
        path, parent, tuple(dict.fromkeys(name for layer in members for name in layer.pre)),
        tuple(dict.fromkeys(name for layer in members for name in layer.post)), kernels, alone,
        tuple(dict.fromkeys(line for layer in members for line in layer.lines)), together(priced),
        sum(cost.moved_bytes is not None for cost in priced),
    )  # fmt: skip


def _in(path: str, paths: set[str]) -> bool:
    while path:
        if path in paths:
            return True
        path = path.rpartition(".")[0]
    return "" in paths


DEEP = 2
"""Depth from which layers are initially folded in large trees."""
MANY = 40
LABEL = 10


@frozen
class Row:
    """A layer in the tree."""

    name: str
    parent: int
    target: str
    iterations: int
    kernels: int
    alone: int
    nodes: int
    cost: StaticCost
    priced: int
    us: float | None
    is_partial: bool
    """Whether kernels of the graph have an unknown layer: a count of 0 is then unknown."""


def add_tree(page: Page, rows: Sequence[Row], of: str) -> None:
    """Add the layer tree, one line per layer. `of`: the label of measured times, '' without a profile."""
    heads = ["kernels", "alone", "nodes", "moved"]
    estimated = any(row.cost.estimated_us is not None for row in rows)
    heads += ["estimated"] if estimated else []
    heads += [f"µs {of}"] if of else []
    cells = [_cells(row, estimated, bool(of)) for row in rows]
    widths = [max(len(head), *(len(row[n]) for row in cells)) for n, head in enumerate(heads)]
    room = page.width - 4 - sum(widths) - 2 * len(widths)
    titles = ("  " + head.rjust(width) for head, width in zip(heads, widths, strict=True))
    page.add("  ", ("layer".ljust(room) + "".join(titles), tokens.LABEL))
    below: dict[int, list[int]] = {}
    for n, row in enumerate(rows):
        below.setdefault(row.parent, []).append(n)

    def add(n: int, depth: int) -> None:
        row = rows[n]
        held = below.get(n, ())
        name = sanitize(row.name) + (f" × {row.iterations}" if row.iterations > 1 else "")
        if held:
            page.open(row.name, folded=len(rows) > MANY and depth >= DEEP)
        shown = fmt.clip_middle(name, max(room - 2 * depth, 8))
        pad = " " * max(room - 2 * depth - len(shown), 0)
        page.add("  " + "  " * depth, (shown, tokens.LINK, row.target), pad,
                 *("  " + cell.rjust(width) for cell, width in zip(cells[n], widths, strict=True)))  # fmt: skip
        for inner in held:
            add(inner, depth + 1)
        if held:
            page.close()

    for n in below.get(-1, ()):
        add(n, 0)
    page.say('A fused kernel counts once in each of its layers; "alone" counts kernels used by this layer only.', "  ", tokens.DIM)
    if any(row.priced < row.kernels for row in rows):
        page.say("≥: the memory traffic of some kernels of the layer is unknown.", "  ", tokens.DIM)


def _cells(row: Row, estimated: bool, measured: bool) -> list[str]:
    counts = ("" if row.is_partial and not count else str(count) for count in (row.kernels, row.alone, row.nodes))
    results = [*counts, moved(row.cost, row.priced < row.kernels)]
    if estimated:
        results.append("" if row.cost.estimated_us is None else micros(row.cost.estimated_us))
    if measured:
        results.append("" if row.us is None else micros(row.us))
    return results


def moved(cost: StaticCost, more: bool = False) -> str:
    """`12.3 KB`, `≥ 12.3 KB` where that is not of all."""
    if cost.moved_bytes is None:
        return ""
    return ("≥ " if more else "") + fmt.size_of(cost.moved_bytes)


def micros(us: float) -> str:
    """Format microseconds, with a decimal for small values."""
    return f"{us:.1f}" if us < 100 else f"{us:,.0f}"


def static_text(cost: StaticCost) -> str:
    """Format the known costs: `3 loads, 1 store, 2 reductions, 12.3 KB, estimated 4.2 µs`."""
    texts = [
        fmt.plural(count, noun) for count, noun in ((cost.loads, "load"), (cost.stores, "store"), (cost.reductions, "reduction"))
        if count is not None and (count or noun != "reduction")
    ]  # fmt: skip
    if cost.moved_bytes is not None:
        texts.append(fmt.size_of(cost.moved_bytes))
    if cost.estimated_us is not None:
        texts.append(f"estimated {micros(cost.estimated_us)} µs")
    return ", ".join(texts)


def add_kernels(
    page: Page, ref: str, unit: UnitProvenance | None, layer: Layer, paths: Sequence[str], kernels: Sequence[KernelCost],
    us: float | None, of: str, is_partial: bool,
) -> None:  # fmt: skip
    """One layer, or the iterations of one (`paths`): its sums, its lines, and its kernels in the order of the code."""
    text = f"{fmt.plural(len(layer.kernels), 'kernel')}, {len(layer.alone)} for this layer only; "
    text += fmt.plural(len(layer.post), "node")
    if is_partial and not layer.kernels:
        text = "kernels unknown"
    name = sanitize(layer.path) or "the whole model"
    page.say(f"{name}{f' × {len(paths)}' if len(paths) > 1 else ''}: {text}", "  ", tokens.STRONG)
    if cost_text := static_text(layer.cost):
        coverage = f" (of {layer.priced} of {len(layer.kernels)} kernels)" if layer.priced < len(layer.kernels) else ""
        page.labelled("together", cost_text + coverage, gap=LABEL)
    if us is not None:
        page.labelled("measured", f"{micros(us)} µs {of} in its kernels", gap=LABEL)
    links = (to_page("provenance", f"@provenance:{ref}"), ", ", to_page("all layers", f"@layers:{ref}"))
    page.row([("see".ljust(LABEL), tokens.LABEL), *links])
    _places(page, "lines", layer.lines)
    if unit is None:
        return
    by_key = {kernel.key: kernel for kernel in unit.kernels}
    inside = set(layer.post)
    page.blank()
    for cost in kernels:
        others = [path for path in cost.layers if not any(is_below(path, shown_path) for shown_path in paths)]
        _kernel(page, unit, by_key[cost.key], cost, inside, others, of)


def _kernel(
    page: Page, unit: UnitProvenance, kernel: Kernel, cost: KernelCost, inside: set[str], others: Sequence[str], of: str
) -> None:
    """Add a kernel of a layer: cost, nodes in the layer, other layers, source lines."""
    ref = unit.panes[kernel.call_pane].ref
    target = at_line(ref, kernel.call_lines[0]) if kernel.call_lines and ref else ""
    page.open(kernel.key)
    name = fmt.clip_middle(sanitize(kernel.key), page.width - 14)
    pieces: list[Piece] = ["  ", (name, tokens.LINK if target else tokens.NAME, target)]
    if cost.measured_us is not None:
        pieces.append((f"  {micros(cost.measured_us)} µs {of}", tokens.STRONG))
    page.add(*pieces)
    if cost_text := static_text(cost.cost):
        page.labelled("cost", cost_text, "    ", LABEL)
    if kernel.post_nodes:
        names = [name for name in kernel.post_nodes if name in inside]
        page.labelled("nodes", sanitize(", ".join(names or kernel.post_nodes)), "    ", LABEL)
    if others:
        page.labelled("also in", sanitize(", ".join(path or "no module" for path in others)), "    ", LABEL, tokens.DIM)
    _places(page, "lines", kernel.user_lines, "    ")
    page.close()


def _places(page: Page, label: str, places: Sequence[str], indent: str = "  ") -> None:
    if not places:
        return
    pieces: list[Piece] = [(label.ljust(LABEL), tokens.LABEL)]
    for n, place in enumerate(places):
        file, _, line = place.rpartition(":")
        pieces.append((fmt.place(file, int(line)), tokens.LINK, fmt.place_target(file, int(line))))
        if n < len(places) - 1:
            pieces.append(", ")
    page.row(pieces, indent)


def add_sites(page: Page, sites: Sequence[Site]) -> None:
    """Add the folded call tree: callers, with the kernels that they lead to."""
    if not sites:
        return
    page.blank()
    title = "call sites (from kernel stacks)"
    page.open(title, folded=True)
    page.add("  ", (title, tokens.LABEL))
    depths: list[int] = []
    for site in sites:
        depths.append(0 if site.parent < 0 else depths[site.parent] + 1)
    order: dict[int, list[int]] = {}
    for n, site in enumerate(sites):
        order.setdefault(site.parent, []).append(n)
    waiting = list(reversed(order.get(-1, [])))
    while waiting:
        n = waiting.pop()
        site = sites[n]
        waiting += reversed(order.get(n, []))
        where = fmt.place(site.file, site.line)
        page.row([
            (where, tokens.LINK, fmt.place_target(site.file, site.line)), (f" in {sanitize(site.function)}  ", tokens.DIM),
            fmt.plural(len(site.kernels), "kernel"),
        ], "    " + "  " * min(depths[n], 12))  # fmt: skip
    page.close()


MERGE = "merged"
SORTS = ("each", MERGE)
AT_ONCE = 8
"""Compiles examined between two yields."""
NAMED = 8
LISTED = 200
"""Compiles up to which each has its own line."""
NO_PARAMETERS = "no graph input is named after a parameter of a module"
NOTHING = "No layers. This page identifies modules by the parameters among graph inputs; the graphs of this trace have none."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command to those of every view."""
    one = "only this layer: layers.3.attn, layers.*.attn, or its last part: attn"
    parser.add_argument("place", nargs="?", metavar="LAYER", help=one)
    same = "the same; needed if the layer's name looks like an address"
    parser.add_argument("--layer", metavar="LAYER", dest="filter", default="", help=same)
    parser.add_argument("--merge", action="store_const", dest="sort", const=MERGE, default="", help="merge iterations: layers.*")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `layers` for the scope. Raises `BadAddress` for an unknown layer."""

    def fill(page: Page) -> Generator[None, None, tuple[CompileLayers, ...]]:
        costs = costs_of(run)
        if len(scope.compiles) != 1 and not options.filter:
            page.add((f"Layers{scope.title}", tokens.TITLE))
            return (yield from _many(page, scope))
        compile_ = scope.compiles[0] if len(scope.compiles) == 1 else (yield from _only(scope, options.filter))
        page.add((f"Layers of [{compile_.ref}]", tokens.TITLE))
        provenance = provenance_of(compile_)
        layers = layers_of(compile_, provenance)
        name = _wanted(layers, options.filter, scope.n)
        return (_compile(page, provenance, layers, name, options.sort == MERGE, costs),)

    return GrowingDocument(_address(scope), f"layers{scope.title}", options, fill, Page)


def _address(scope: Scope) -> str:
    return scope.page("layers") + (f"#{scope.n}" if scope.n is not None else "")


ADVICE = "the layers page of a compile lists its layers"


def _wanted(layers: Layers, name: str, number: int | None) -> str | None:
    """Return the requested layer, by name or number; None for all."""
    names = layer_names(layers)
    if name:
        if not chosen(names, name):
            alike = sanitize(", ".join(near(names, name)))
            raise BadAddress(f"unknown layer of [{layers.ref}]: {sanitize(name)!r}", f"similar: {alike}" if alike else ADVICE)
        return name
    if number is None:
        return None
    if not 0 < number <= len(names):
        raise BadAddress(f"unknown layer of [{layers.ref}]: number {number}", f"it has {fmt.plural(len(names), 'layer')}")
    return names[number - 1] or ROOT


def _only(scope: Scope, name: str) -> Generator[None, None, Compile]:
    """Return the only compile that has a layer. Raises `BadAddress`."""
    compiles: list[Compile] = []
    for n, compile_ in enumerate(scope.compiles):
        if n % AT_ONCE == 0:
            yield
        if chosen(layer_names(layers_of(compile_)), name):
            compiles.append(compile_)
    if len(compiles) != 1:
        several = ", ".join(f"[{compile_.ref}]" for compile_ in compiles[:NAMED]) + (" …" if len(compiles) > NAMED else "")
        if not compiles:
            raise BadAddress(f"unknown layer: {sanitize(name)!r}", ADVICE)
        raise BadAddress(f"several compiles have layer {sanitize(name)!r}", f"name one: {several}")
    return compiles[0]


def _many(page: Page, scope: Scope) -> Generator[None, None, tuple[CompileLayers, ...]]:
    """Add a line per compile with layers; in large runs, compiles with equal layers share a line."""
    done = []
    kinds: dict[tuple[UnitLayers, ...] | bytes, list[str]] = {}
    away: list[Away] = []
    for n, compile_ in enumerate(scope.compiles):
        if n % AT_ONCE == 0:
            yield
        try:
            layers = layers_of(compile_)
        except Elsewhere as error:
            away.append((str(compile_.ref), error))
            done.append(CompileLayers(str(compile_.ref), "", (UnitCosts("", str(error.strerror), 0, (), (), ()),)))
            continue
        if not any(unit.layers for unit in layers.units):
            continue
        same = kinds.setdefault(content_of(compile_) or layers.units, [])
        same.append(layers.ref)
        done.append(CompileLayers(layers.ref, "", tuple(UnitCosts(u.unit, u.why, u.unknown, (), (), ()) for u in layers.units)))
        count = sum(len(unit.of_kernel) for unit in layers.units)
        is_unknown = not count and any(unit.unknown for unit in layers.units)
        kernels = "kernels unknown" if is_unknown else f"{fmt.plural(count, 'kernel')} in them"
        text = f" {fmt.plural(len({layer.path for unit in layers.units for layer in unit.layers}), 'layer')}, {kernels}"
        if len(same) == 1 or len(scope.compiles) <= LISTED:
            page.row([(f"[{layers.ref}]", tokens.LINK, f"@layers:{layers.ref}"), text], "")
    if not done:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
    if len(scope.compiles) > LISTED:
        several = [refs for refs in kinds.values() if len(refs) > 1]
        yield from add_alike(page, "Compiles with the same layers", several, lambda ref: f"@layers:{ref}")
    add_not_indexed(page, away, "layers")
    return tuple(done)


def _compile(
    page: Page, provenance: Provenance, layers: Layers, name: str | None, merge: bool, costs: Costs | None
) -> CompileLayers:  # fmt: skip
    if not layers.units:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
    units = []
    numbers = {path: n for n, path in enumerate(layer_names(layers), 1)}
    for unit in layers.units:
        unit_provenance = provenance.unit(unit.unit)
        measured = _measured(costs, layers.ref, unit.unit)
        page.heading(fmt.graph_title(unit.unit))
        if not unit.layers:
            page.say(page.so_far(f"Layers unknown ({unit.why or NO_PARAMETERS})."), "  ", tokens.DIM)
        if name is None:
            units.append(_tree(page, layers.ref, unit, unit_provenance, merge, measured, numbers, costs))
        else:
            units.append(_one(page, layers.ref, unit, unit_provenance, name, measured, costs))
    return CompileLayers(layers.ref, name or "", tuple(units))


def _measured(costs: Costs | None, ref: str, unit: str) -> Mapping[str, float]:
    """Key of a kernel → µs, of those that were measured."""
    if costs is None:
        return {}
    return {key: costs.scaled(ref, kernel.time.us) for key, kernel in costs.of_kernels(ref, unit).items()}


def _layer_cost(layer: Layer, count: int, measured: Mapping[str, float]) -> LayerCost:
    times = [measured[key] for key in layer.kernels if key in measured]
    return LayerCost(
        layer.path, count, len(layer.kernels), len(layer.alone), len(layer.post), layer.lines, layer.cost, layer.priced,
        sum(times) if times else None,
    )  # fmt: skip


def _tree(
    page: Page, ref: str, unit: UnitLayers, unit_provenance: UnitProvenance | None, merge: bool, measured: Mapping[str, float],
    numbers: Mapping[str, int], costs: Costs | None,
) -> UnitCosts:  # fmt: skip
    layers = layers_in(unit, merge)
    layer_costs = tuple(_layer_cost(layer, count, measured) for layer, count in layers)
    rows = []
    for (layer, count), cost in zip(layers, layer_costs, strict=True):
        target = f"@layers:{ref}#{numbers[layer.path]}" if layer.path in numbers else ""
        around = layers[layer.parent][0].path if layer.parent >= 0 else ""
        name = _short(layer.path, around)
        alone = cost.kernels_only_here
        row = Row(
            name, layer.parent, target, count, cost.kernels, alone, cost.nodes, cost.cost, cost.kernels_with_bytes,
            cost.measured_us, unit.unknown > 0,
        )  # fmt: skip
        rows.append(row)
    if rows:
        add_tree(page, rows, costs.of if costs is not None else "")
    _add_unknown(page, unit)
    add_sites(page, unit.sites)
    return UnitCosts(unit.unit, unit.why, unit.unknown, layer_costs, _kernels(unit, unit_provenance, None, measured), unit.sites)


def _add_unknown(page: Page, unit: UnitLayers) -> None:
    """Add the number of kernels without a known layer."""
    if unit.unknown and unit.layers:
        text = f"Layers of {fmt.plural(unit.unknown, 'kernel')} unknown ({unit.why})."
        page.say(f"{page.so_far(text)} A layer may have more kernels than listed.", "  ", tokens.DIM)


def _short(path: str, around: str) -> str:
    """`self_attn` in `layers.0`."""
    return path.removeprefix(f"{around}.") if around else path or ROOT


def _one(
    page: Page, ref: str, unit: UnitLayers, unit_provenance: UnitProvenance | None, name: str, measured: Mapping[str, float],
    costs: Costs | None,
) -> UnitCosts:  # fmt: skip
    """Add the kernels of one layer, or of all its iterations."""
    paths = set(chosen((layer.path for layer in unit.layers), name))
    layers = [layer for layer in unit.layers if layer.path in paths]
    if not layers:
        page.say(f"No kernel of {sanitize(name)} is known in this unit.", "  ", tokens.DIM)
        return UnitCosts(unit.unit, unit.why, unit.unknown, (), (), ())
    merged_layer = union(unit, layers[0].path if len(layers) == 1 else name, layers)
    layer_cost = _layer_cost(merged_layer, len(layers), measured)
    kernels = _kernels(unit, unit_provenance, set(merged_layer.kernels), measured)
    of = costs.of if costs is not None else ""
    add_kernels(page, ref, unit_provenance, merged_layer, [layer.path for layer in layers], kernels, layer_cost.measured_us, of,
                unit.unknown > 0)  # fmt: skip
    _add_unknown(page, unit)
    return UnitCosts(unit.unit, unit.why, unit.unknown, (layer_cost,), kernels, ())


def _kernels(
    unit: UnitLayers, unit_provenance: UnitProvenance | None, wanted: set[str] | None, measured: Mapping[str, float]
) -> tuple[KernelCost, ...]:
    """Return the kernels in code order."""
    return tuple(
        KernelCost(
            kernel.key, unit.of_kernel.get(kernel.key, ()), kernel.post_nodes, kernel.user_lines,
            unit.costs.get(kernel.key, StaticCost()), measured.get(kernel.key),
        ) for kernel in (unit_provenance.kernels if unit_provenance is not None else ()) if wanted is None or kernel.key in wanted
    )  # fmt: skip


@frozen
class LayerRow:
    """One layer of the model in one lowering. A kernel is in each layer that it computes something of: rows are never added."""

    ref: str
    """The address of the compile."""
    unit: str
    """The lowering."""
    layer: str
    """The path of the module; empty for the outermost."""
    iterations: int
    """The number of layers in this row."""
    kernels: int
    """Kernels that compute something of it."""
    kernels_only_here: int
    """Kernels that compute nothing else."""
    nodes: int
    """Post-grad nodes."""
    lines: tuple[str, ...]
    """The lines of source, `FILE:LINE`."""
    loads: int | None
    """Known loads in the code of its kernels."""
    stores: int | None
    """Stores."""
    reductions: int | None
    """Reductions."""
    moved_bytes: int | None
    """Bytes that its kernels move, by their code."""
    estimated_us: float | None
    """What Inductor estimates its kernels to take, in microseconds."""
    measured_us: float | None
    """What a profile measured, in microseconds."""


def layer_rows(data: tuple[CompileLayers, ...]) -> Iterator[LayerRow]:
    """Yield one row per layer."""
    for compile_ in data:
        for unit in compile_.units:
            for layer in unit.layers:
                cost = layer.cost
                yield LayerRow(compile_.ref, unit.unit, layer.path, layer.iterations, layer.kernels, layer.kernels_only_here,
                               layer.nodes,
                               layer.lines, cost.loads, cost.stores, cost.reductions, cost.moved_bytes, cost.estimated_us,
                               layer.measured_us)  # fmt: skip


QUESTION = Question(
    name="layers",
    help="kernels, graph nodes and source lines by model layer, with memory traffic and time",
    group="find causes",
    order=150,
    sorts=SORTS,
    sort_label="iterations:",
    needs=Needs("", ("aot_graphs", "post_grad_graphs", "output_code"), "graphs and code", in_debug_dir=True),
    document=document,
    add_arguments=add_arguments,
    answer=tuple[CompileLayers, ...],
    rows=LayerRow,
    records=layer_rows,
    doc="""
    Kernels, graph nodes and source lines by model layer, with memory traffic and time. A row per layer.

    For several compiles the page shows the number of layers of each. Rows for many compiles take a while to compute.

    `layer`: only this layer: `layers.3.attn`, `layers.*.attn`, or its last part. `merge`: merge the iterations, as `layers.*`.
    """,
)
