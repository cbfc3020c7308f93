"""Sections of the page `layers`: the tree of layers, the kernels of one, and the call tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tltui.analyses.provenance.layer_costs import KernelCost
from tltui.analyses.provenance.layer_names import is_below
from tltui.analyses.provenance.layered import Layer, Site, StaticCost
from tltui.analyses.provenance.result import Kernel, UnitProvenance
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.ref import at_line
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

DEEP = 2
"""Layers from this depth on are folded at first, where there are many."""
MANY = 40
LABEL = 10


@dataclass(frozen=True, slots=True)
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


def add_tree(page: Page, rows: Sequence[Row], of: str) -> None:
    """The tree, a line a layer: what is in it and in what it holds. `of`: what measured times are of, '' without a profile."""
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
    page.say("A kernel counts in each layer that it computes something of; alone: in this one only.", "  ", tokens.DIM)
    if any(row.priced < row.kernels for row in rows):
        page.say("≥: not of all kernels of the layer is it known how much they move.", "  ", tokens.DIM)


def _cells(row: Row, estimated: bool, measured: bool) -> list[str]:
    found = [str(row.kernels), str(row.alone), str(row.nodes), moved(row.cost, row.priced < row.kernels)]
    if estimated:
        found.append("" if row.cost.estimated_us is None else micros(row.cost.estimated_us))
    if measured:
        found.append("" if row.us is None else micros(row.us))
    return found


def moved(cost: StaticCost, more: bool = False) -> str:
    """`12.3 KB`, `≥ 12.3 KB` where that is not of all."""
    if cost.bytes is None:
        return ""
    return ("≥ " if more else "") + fmt.size_of(cost.bytes)


def micros(us: float) -> str:
    """Microseconds with a digit behind the point where that tells something."""
    return f"{us:.1f}" if us < 100 else f"{us:,.0f}"


def static_text(cost: StaticCost) -> str:
    """`3 loads, 1 store, 2 reductions, 12.3 KB, estimated 4.2 µs`: what is known of it."""
    told = [
        fmt.plural(count, noun) for count, noun in ((cost.loads, "load"), (cost.stores, "store"), (cost.reductions, "reduction"))
        if count is not None and (count or noun != "reduction")
    ]  # fmt: skip
    if cost.bytes is not None:
        told.append(fmt.size_of(cost.bytes))
    if cost.estimated_us is not None:
        told.append(f"estimated {micros(cost.estimated_us)} µs")
    return ", ".join(told)


def add_kernels(
    page: Page, ref: str, unit: UnitProvenance | None, layer: Layer, paths: Sequence[str], kernels: Sequence[KernelCost],
    us: float | None, of: str,
) -> None:  # fmt: skip
    """One layer, or the iterations of one (`paths`): its sums, its lines, and its kernels in the order of the code."""
    said = f"{fmt.plural(len(layer.kernels), 'kernel')}, {len(layer.alone)} of them for it alone; "
    said += fmt.plural(len(layer.post), "node")
    name = sanitize(layer.path) or "the whole model"
    page.say(f"{name}{f' × {len(paths)}' if len(paths) > 1 else ''}: {said}", "  ", tokens.STRONG)
    if told := static_text(layer.cost):
        some = f" (of {layer.priced} of {len(layer.kernels)} kernels)" if layer.priced < len(layer.kernels) else ""
        page.labelled("together", told + some, gap=LABEL)
    if us is not None:
        page.labelled("measured", f"{micros(us)} µs {of} in kernels that are in it", gap=LABEL)
    links = (("provenance", tokens.LINK, f"@provenance:{ref}"), ", ", ("all layers", tokens.LINK, f"@layers:{ref}"))
    page.row([("see".ljust(LABEL), tokens.LABEL), *links])
    _places(page, "lines", layer.lines)
    if unit is None:
        return
    by_key = {kernel.key: kernel for kernel in unit.kernels}
    inside = set(layer.post)
    page.blank()
    for cost in kernels:
        others = [path for path in cost.layers if not any(is_below(path, own) for own in paths)]
        _kernel(page, unit, by_key[cost.key], cost, inside, others, of)


def _kernel(
    page: Page, unit: UnitProvenance, kernel: Kernel, cost: KernelCost, inside: set[str], others: Sequence[str], of: str
) -> None:
    """A kernel of a layer: its cost, its nodes there, what else it computes, its lines."""
    ref = unit.panes[kernel.call_pane].ref
    target = at_line(ref, kernel.call_lines[0]) if kernel.call_lines and ref else ""
    page.open(kernel.key)
    name = fmt.clip_middle(sanitize(kernel.key), page.width - 14)
    pieces: list[Piece] = ["  ", (name, tokens.LINK if target else tokens.NAME, target)]
    if cost.us is not None:
        pieces.append((f"  {micros(cost.us)} µs {of}", tokens.STRONG))
    page.add(*pieces)
    if told := static_text(cost.cost):
        page.labelled("cost", told, "    ", LABEL)
    if kernel.post_nodes:
        own = [name for name in kernel.post_nodes if name in inside]
        page.labelled("nodes", sanitize(", ".join(own or kernel.post_nodes)), "    ", LABEL)
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
    """The call tree, folded: who called what leads to which kernels."""
    if not sites:
        return
    page.blank()
    title = "call sites, as the stacks of the kernels have them"
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


