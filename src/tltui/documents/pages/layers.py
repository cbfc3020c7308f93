"""The view `layers`: which kernels, nodes and lines belong to which module of the model, and what they move and take.

Of a compile the tree of its layers, unit by unit; of one layer (`tltui layers DIR 0/0 layers.3.attn`, a link of the tree) its
kernels; of more compiles how many layers each has.
"""

from __future__ import annotations

import argparse
from collections.abc import Generator, Mapping

from tltui.analyses.provenance.layer_choice import ROOT, chosen, layers_in, named, near, union
from tltui.analyses.provenance.layer_costs import CompileLayers, KernelCost, LayerCost, UnitCosts
from tltui.analyses.provenance.layered import Layer, Layers, StaticCost, UnitLayers
from tltui.analyses.provenance.layers import layers_of
from tltui.analyses.provenance.provenance import content_of, provenance_of
from tltui.analyses.provenance.result import Provenance, UnitProvenance
from tltui.analyses.runtime.costs import Costs, costs_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.alike import add_alike
from tltui.documents.parts.elsewhere import Away, add_elsewhere
from tltui.documents.parts.layers import Row, add_kernels, add_sites, add_tree
from tltui.documents.scope import Scope
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

MERGE = "merged"
SORTS = ("each", MERGE)
AT_ONCE = 8
"""Compiles that are looked at between two moments at which a reader may leave."""
NAMED = 8
LISTED = 200
"""Compiles up to which each has its own line."""
NOTHING = "No layer is known here: no graph reads parameters of a module by their names."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command has beside the options of every view."""
    one = "only this layer: layers.3.attn, layers.*.attn, or an end of it: attn"
    parser.add_argument("place", nargs="?", metavar="LAYER", help=one)
    same = "the same, for a layer that is called like an address"
    parser.add_argument("--layer", metavar="LAYER", dest="filter", default="", help=same)
    parser.add_argument("--merge", action="store_const", dest="sort", const=MERGE, default="", help="iterations as one: layers.*")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The layers of the scope. Raises `BadAddress` for a layer that there is not."""
    def fill(page: Page) -> Generator[None, None, tuple[CompileLayers, ...]]:
        costs = costs_of(run)
        if len(scope.compiles) != 1 and not options.filter:
            page.add((f"Layers{scope.title}", tokens.TITLE))
            return (yield from _many(page, scope))
        compile_ = scope.compiles[0] if len(scope.compiles) == 1 else (yield from _only(scope, options.filter))
        page.add((f"Layers of [{compile_.ref}]", tokens.TITLE))
        provenance = provenance_of(compile_)
        found = layers_of(compile_, provenance)
        name = _wanted(found, options.filter, scope.n)
        return (_compile(page, provenance, found, name, options.sort == MERGE, costs),)

    return GrowingDocument(_address(scope), f"layers{scope.title}", options, fill, Page)


def _address(scope: Scope) -> str:
    return scope.page("layers") + (f"#{scope.n}" if scope.n is not None else "")


def _wanted(found: Layers, name: str, number: int | None) -> str | None:
    """The layer that is asked for, by its name or its number; None for all."""
    known = named(found)
    if name:
        if not chosen(known, name):
            alike = sanitize(", ".join(near(known, name)))
            said = f". It has: {alike}" if alike else ", and none like it"
            raise BadAddress(f"[{found.ref}] has no layer {sanitize(name)!r}{said}")
        return name
    if number is None:
        return None
    if not 0 < number <= len(known):
        raise BadAddress(f"[{found.ref}] has {fmt.plural(len(known), 'layer')}, and no number {number}")
    return known[number - 1] or ROOT


def _only(scope: Scope, name: str) -> Generator[None, None, Compile]:
    """The one compile of several that has a layer. Raises `BadAddress`."""
    found: list[Compile] = []
    for n, compile_ in enumerate(scope.compiles):
        if n % AT_ONCE == 0:
            yield
        if chosen(named(layers_of(compile_)), name):
            found.append(compile_)
    if len(found) != 1:
        several = ", ".join(f"[{compile_.ref}]" for compile_ in found[:NAMED]) + (" …" if len(found) > NAMED else "")
        said = f"several compiles have it: {several}; name one, as in 0/0" if found else "no compile here has it"
        raise BadAddress(f"of which compile is the layer {sanitize(name)!r}? {said[0].upper()}{said[1:]}")
    return found[0]


def _many(page: Page, scope: Scope) -> Generator[None, None, tuple[CompileLayers, ...]]:
    """A line for each compile that has layers; of very many compiles those that have the same together."""
    done = []
    kinds: dict[tuple[UnitLayers, ...] | bytes, list[str]] = {}
    away: list[Away] = []
    for n, compile_ in enumerate(scope.compiles):
        if n % AT_ONCE == 0:
            yield
        try:
            found = layers_of(compile_)
        except Elsewhere as error:
            away.append((str(compile_.ref), error))
            done.append(CompileLayers(str(compile_.ref), "", (UnitCosts("", str(error.strerror), 0, (), (), ()),)))
            continue
        if not any(unit.layers for unit in found.units):
            continue
        same = kinds.setdefault(content_of(compile_) or found.units, [])
        same.append(found.ref)
        done.append(CompileLayers(found.ref, "", tuple(UnitCosts(u.unit, u.why, u.unknown, (), (), ()) for u in found.units)))
        said = f" {fmt.plural(len({layer.path for unit in found.units for layer in unit.layers}), 'layer')}, "
        said += f"{fmt.plural(sum(len(unit.of_kernel) for unit in found.units), 'kernel')} in them"
        if len(same) == 1 or len(scope.compiles) <= LISTED:
            page.row([(f"[{found.ref}]", tokens.LINK, f"@layers:{found.ref}"), said], "")
    if not done:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
    if len(scope.compiles) > LISTED:
        several = [refs for refs in kinds.values() if len(refs) > 1]
        yield from add_alike(page, "The same layers", several, lambda ref: f"@layers:{ref}")
    add_elsewhere(page, away, "layers")
    return tuple(done)


def _compile(
    page: Page, provenance: Provenance, found: Layers, name: str | None, merge: bool, costs: Costs | None
) -> CompileLayers:  # fmt: skip
    if not found.units:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
    units = []
    numbers = {path: n for n, path in enumerate(named(found), 1)}
    for unit in found.units:
        own = provenance.unit(unit.unit)
        measured = _measured(costs, found.ref, unit.unit)
        page.heading(unit.unit)
        if not unit.layers:
            page.say(page.so_far(f"No layer is known: {unit.why or NOTHING}."), "  ", tokens.DIM)
        if name is None:
            units.append(_tree(page, found.ref, unit, own, merge, measured, numbers, costs))
        else:
            units.append(_one(page, found.ref, unit, own, name, measured, costs))
    return CompileLayers(found.ref, name or "", tuple(units))


def _measured(costs: Costs | None, ref: str, unit: str) -> Mapping[str, float]:
    """Key of a kernel → µs, of those that were measured."""
    if costs is None:
        return {}
    return {key: costs.scaled(ref, kernel.time.us) for key, kernel in costs.of_kernels(ref, unit).items()}


def _told(layer: Layer, count: int, measured: Mapping[str, float]) -> LayerCost:
    times = [measured[key] for key in layer.kernels if key in measured]
    return LayerCost(
        layer.path, count, len(layer.kernels), len(layer.alone), len(layer.post), layer.lines, layer.cost, layer.priced,
        sum(times) if times else None,
    )  # fmt: skip


def _tree(
    page: Page, ref: str, unit: UnitLayers, own: UnitProvenance | None, merge: bool, measured: Mapping[str, float],
    numbers: Mapping[str, int], costs: Costs | None,
) -> UnitCosts:  # fmt: skip
    layers = layers_in(unit, merge)
    told = tuple(_told(layer, count, measured) for layer, count in layers)
    rows = []
    for (layer, count), cost in zip(layers, told, strict=True):
        target = f"@layers:{ref}#{numbers[layer.path]}" if layer.path in numbers else ""
        around = layers[layer.parent][0].path if layer.parent >= 0 else ""
        name = _short(layer.path, around)
        alone = cost.kernels_only_here
        row = Row(name, layer.parent, target, count, cost.kernels, alone, cost.nodes, cost.cost, cost.priced, cost.us)
        rows.append(row)
    if rows:
        add_tree(page, rows, costs.of if costs is not None else "")
    if unit.unknown and unit.layers:
        page.say(page.so_far(f"Of {fmt.plural(unit.unknown, 'kernel')} no layer is known: {unit.why}."), "  ", tokens.DIM)
    add_sites(page, unit.sites)
    return UnitCosts(unit.unit, unit.why, unit.unknown, told, _kernels(unit, own, None, measured), unit.sites)


def _short(path: str, around: str) -> str:
    """`self_attn` in `layers.0`."""
    return path.removeprefix(f"{around}.") if around else path or ROOT


def _one(
    page: Page, ref: str, unit: UnitLayers, own: UnitProvenance | None, name: str, measured: Mapping[str, float],
    costs: Costs | None,
) -> UnitCosts:  # fmt: skip
    """The kernels of one layer, or of all iterations of one."""
    paths = set(chosen((layer.path for layer in unit.layers), name))
    layers = [layer for layer in unit.layers if layer.path in paths]
    if not layers:
        page.say(f"{sanitize(name)} computes nothing here, as far as is known.", "  ", tokens.DIM)
        return UnitCosts(unit.unit, unit.why, unit.unknown, (), (), ())
    whole = union(unit, layers[0].path if len(layers) == 1 else name, layers)
    told = _told(whole, len(layers), measured)
    kernels = _kernels(unit, own, set(whole.kernels), measured)
    add_kernels(page, ref, own, whole, [layer.path for layer in layers], kernels, told.us, costs.of if costs is not None else "")
    return UnitCosts(unit.unit, unit.why, unit.unknown, (told,), kernels, ())


def _kernels(
    unit: UnitLayers, own: UnitProvenance | None, wanted: set[str] | None, measured: Mapping[str, float]
) -> tuple[KernelCost, ...]:
    """The kernels in the order of the code."""
    return tuple(
        KernelCost(
            kernel.key, unit.of_kernel.get(kernel.key, ()), kernel.post_nodes, kernel.user_lines,
            unit.costs.get(kernel.key, StaticCost()), measured.get(kernel.key),
        ) for kernel in (own.kernels if own is not None else ()) if wanted is None or kernel.key in wanted
    )  # fmt: skip
