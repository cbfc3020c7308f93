"""One unit on the page of fusion: its kernels with what is in them, what was not fused, its buffers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tltui.analyses.fusion.result import (
    BufferUse,
    FusedKernel,
    FusionSums,
    NotFused,
    Origin,
    Reason,
    SchedulerNode,
    SourceLine,
    UnitFusion,
)
from tltui.documents import format as fmt
from tltui.documents.compare.artifacts import diff_ref
from tltui.documents.page import Page
from tltui.model.ref import at_line
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

LABEL = 8
NAMES = 8
"""Operations and buffers of a node that are named; of more the first and the last."""
ORIGINS = 24
SOURCES = 4
PAIRS = 12
"""Pairs of a reason that are shown at once; more are folded."""
ALL_PAIRS = 1000
BUFFERS = 1000
KINDS = {
    "FusedSchedulerNode": "fused", "OuterLoopFusedSchedulerNode": "outer loops fused", "ForeachKernelSchedulerNode": "foreach",
    "ExternKernelSchedulerNode": "external", "NopKernelSchedulerNode": "nothing to run", "FusedMixOrderReductions": "reductions fused",
    "SchedulerNode": "",
}  # fmt: skip


def sums_pieces(sums: FusionSums, units: Sequence[UnitFusion]) -> list[Piece]:
    """`46 operations became 28 nodes in 12 kernel calls and 12 external calls; 36 reasons why not more: 30 × …`"""
    calls = fmt.plural(sums.kernel_calls, "call of a generated kernel", "calls of generated kernels")
    if sums.external_calls:
        calls += f" and {fmt.plural(sums.external_calls, 'external call')}"
    if sums.nodes:
        pieces: list[Piece] = [(f"{fmt.plural(sums.ops, 'operation')} became {fmt.plural(sums.nodes, 'node')}: {calls}", tokens.STRONG)]
    else:
        pieces = [(calls, tokens.STRONG)]
    if sums.not_fused:
        pieces.append(f"; {fmt.plural(sums.not_fused, 'reason')} why not more: ")
        for number, reason in enumerate(sums.reasons):
            end = ", " if number + 1 < len(sums.reasons) else ""
            pieces.append((f"{fmt.count(reason.pairs)} × {sanitize(reason.reason)}{end}", tokens.WARN))
    elif units and all(unit.has_log for unit in units):
        pieces.append("; no two nodes were refused")
    return pieces


def add_unit(page: Page, unit: UnitFusion) -> None:
    """A unit, below its heading."""
    _texts(page, unit)
    inside: dict[str, list[SchedulerNode]] = {}
    for node in unit.nodes:
        for key in node.kernels if node.kernel_from else ():
            inside.setdefault(key, []).append(node)
    for kernel in unit.kernels:
        page.blank()
        _kernel(page, unit, kernel, inside.get(kernel.key, []))
    _homeless(page, unit)
    _not_fused(page, unit)
    _buffers(page, unit)


def _texts(page: Page, unit: UnitFusion) -> None:
    pieces: list[Piece] = []
    for label, ref in (("IR before", unit.pre_ref), ("IR after", unit.post_ref), ("graph", unit.graph_ref), ("code", unit.code_ref)):
        if ref:
            pieces.append((label, tokens.LINK, ref))
    if unit.pre_ref and unit.post_ref:
        pieces.insert(2, ("what fusion changed", tokens.LINK, diff_ref(unit.pre_ref, unit.post_ref)))
    if pieces:
        page.joined(pieces, "  ")


def _kernel(page: Page, unit: UnitFusion, kernel: FusedKernel, nodes: Sequence[SchedulerNode]) -> None:
    """`cpp_fused_gelu_1:3  1 operation  called at 196, defined at 60`"""
    name = page.clip_middle(sanitize(kernel.key), page.width - 4)
    page.open(name)
    what = f"  {fmt.plural(kernel.operations, 'operation')}" if kernel.operations else ""
    if len(nodes) > 1:
        what += f" in {fmt.plural(len(nodes), 'node')}"
    target = at_line(unit.code_ref, kernel.line) if unit.code_ref and kernel.line else ""
    pieces: list[Piece] = [(name, tokens.LINK if target else tokens.NAME, target), (what or ("" if kernel.is_generated else "  external"), tokens.STRONG)]
    pieces.append((f"  called at {kernel.line}", tokens.DIM))
    if kernel.definition and unit.code_ref:
        pieces += [", ", (f"defined at {kernel.definition}", tokens.DIM, at_line(unit.code_ref, kernel.definition))]
    page.row(pieces)
    for node in nodes:
        _node(page, unit, node, kernel)
    if kernel.origins:
        _named(page, "from", _origins(unit, kernel.origins))
    _source(page, kernel.source)
    if unit.nodes and not nodes:
        page.add("    ", (page.so_far("which operations are in it is not known"), tokens.DIM))
    page.close()


def _node(page: Page, unit: UnitFusion, node: SchedulerNode, kernel: FusedKernel | None) -> None:
    """`op0 … op4  5 operations, outer loops fused · Reduction, Pointwise · 4 × 16 reduced · writes buf0 … buf4`"""
    target = at_line(unit.post_ref, node.line) if unit.post_ref and node.line else ""
    parts = [KINDS.get(node.kind, node.kind)]
    if node.does and not (kernel is not None and node.does == kernel.name):
        parts.append(node.does)
    sizes = ", ".join(node.sizes[:3]) + (" …" if len(node.sizes) > 3 else "")
    parts += [sizes, "" if node.device in ("", "cpu") else node.device]
    if node.writes:
        parts.append(f"writes {_few(node.writes)}")
    if kernel is not None and node.kernel_from == "origins":
        parts.append("in this kernel by its origins")
    pieces: list[Piece] = [(_few(node.operations), tokens.LINK if target else tokens.NAME, target)]
    if len(node.operations) > NAMES:
        pieces.append((f"  {fmt.plural(len(node.operations), 'operation')}", tokens.STRONG))
    said = " · ".join(sanitize(part) for part in parts if part)
    page.row([*pieces, "  ", *((f"{word} ", tokens.DIM) for word in said.split(" "))], "    ")


def _few(names: Sequence[str]) -> str:
    """`op0 op1 op2`; of many the first and the last."""
    if len(names) <= NAMES:
        return sanitize(" ".join(names))
    return sanitize(f"{names[0]} {names[1]} … {names[-1]}")


def _origins(unit: UnitFusion, origins: Sequence[Origin]) -> list[Piece]:
    pieces: list[Piece] = []
    for origin in origins[:ORIGINS]:
        target = at_line(unit.graph_ref, origin.line) if unit.graph_ref and origin.line else ""
        pieces.append((sanitize(origin.name), tokens.LINK if target else tokens.NAME, target))
    if len(origins) > ORIGINS:
        pieces.append((f"and {len(origins) - ORIGINS} more", tokens.DIM))
    return pieces


def _named(page: Page, label: str, pieces: Sequence[Piece], indent: str = "    ") -> None:
    """Names behind a label, wrapped below each other."""
    lead = len(indent) + LABEL
    line: list[Piece] = []
    used, first = lead, True
    for piece in pieces:
        text = piece if isinstance(piece, str) else piece[0]
        if line and used + len(text) + 1 > page.width:
            page.add(indent, (label.ljust(LABEL) if first else " " * LABEL, tokens.LABEL), *line)
            line, used, first = [], lead, False
        line += [piece, " "]
        used += len(text) + 1
    page.add(indent, (label.ljust(LABEL) if first else " " * LABEL, tokens.LABEL), *line)


def _source(page: Page, source: Sequence[SourceLine], indent: str = "    ") -> None:
    for number, line in enumerate(source[:SOURCES]):
        label = ("source" if number == 0 else "").ljust(LABEL)
        place = page.place(line.file, line.line)
        text = place if isinstance(place, str) else place[0]
        room = page.width - len(indent) - LABEL - len(text) - 2
        code = page.clip(sanitize(line.code.strip()), room) if line.code and room > 8 else ""
        page.add(indent, (label, tokens.LABEL), place, "  " if code else "", (code, tokens.NAME))
    if len(source) > SOURCES:
        page.add(indent, " " * LABEL, (f"and {fmt.plural(len(source) - SOURCES, 'further line')}", tokens.DIM))


def _homeless(page: Page, unit: UnitFusion) -> None:
    """Nodes of which no kernel is known."""
    left = [node for node in unit.nodes if not node.kernel_from]
    if not left:
        return
    idle = [node for node in left if node.kind.startswith("Nop")]
    for title, nodes in (("No kernel: nothing to run", idle), ("Kernel unknown", [n for n in left if n not in idle])):
        if not nodes:
            continue
        page.blank()
        what = f"{title} ({fmt.plural(len(nodes), 'node')})"
        page.open(what, folded=title != "Kernel unknown")
        page.add("  ", (what, tokens.LABEL))
        for node in nodes:
            _node(page, unit, node, None)
            if node.kernels:
                _named(page, "one of", [sanitize(key) for key in node.kernels], "      ")
            if node.origins:
                _named(page, "from", _origins(unit, node.origins), "      ")
        page.close()


def _not_fused(page: Page, unit: UnitFusion) -> None:
    for timed in unit.timed:
        word = "faster: fused" if timed.is_fused else "slower: not fused"
        page.row([("timed", tokens.LABEL), f"  {_few(timed.first)} with {_few(timed.second)}  {timed.factor}× {word}"])
    if not unit.reasons:
        return
    page.blank()
    title = f"Not fused: {fmt.plural(unit.not_fused, 'reason')}"
    page.open(title)
    rounds = f"  in {fmt.plural(unit.rounds, 'round')}" if unit.rounds else ""
    page.add("  ", (title, tokens.LABEL), (rounds, tokens.DIM))
    for reason in unit.reasons:
        _reason(page, unit, reason)
    page.close()


def _reason(page: Page, unit: UnitFusion, reason: Reason) -> None:
    page.open(reason.reason, folded=True)
    page.row([(f"{fmt.count(len(reason.pairs))} × ", tokens.STRONG), (sanitize(reason.reason), tokens.WARN)], "    ")
    if reason.means:
        page.say(reason.means, "      ", tokens.DIM)
    if reason.does:
        page.labelled("try", reason.does, "      ", 5)
    for number, pair in enumerate(reason.pairs[:ALL_PAIRS]):
        if number == PAIRS:
            more = f"{fmt.plural(len(reason.pairs) - PAIRS, 'further pair')}"
            page.open(more, folded=True)
            page.add("      ", (more, tokens.LABEL))
        _pair(page, unit, pair)
    if len(reason.pairs) > PAIRS:
        page.close()
    if len(reason.pairs) > ALL_PAIRS:
        page.add("      ", (f"and {fmt.count(len(reason.pairs) - ALL_PAIRS)} more, in the fusion log", tokens.DIM))
    page.close()


def _pair(page: Page, unit: UnitFusion, pair: NotFused) -> None:
    """`op0 (var_mean) with op2 (var_mean)`"""
    sides: list[Piece] = []
    for lead, name, origins in (("", pair.first, pair.first_origins), (" with ", pair.second, pair.second_origins)):
        sides += [lead, (page.clip_middle(sanitize(name), page.width // 3), tokens.STRONG)]
        if origins:
            sides += [" (", *_between(_origins(unit, origins[:4])), (" …)" if len(origins) > 4 else ")")]
    if pair.values:
        sides.append((f"  {sanitize(pair.values)}", tokens.DIM))
    page.row(sides, "      ")
    both = tuple(dict.fromkeys((*pair.first_source, *pair.second_source)))
    if both:
        _places(page, both)


def _places(page: Page, lines: Sequence[SourceLine]) -> None:
    places: list[Piece] = []
    for line in lines[:SOURCES]:
        places += [page.place(line.file, line.line), "  "]
    page.row(places, "        ")


def _between(pieces: Iterable[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for piece in pieces:
        found += [", ", piece] if found else [piece]
    return found


def _buffers(page: Page, unit: UnitFusion) -> None:
    """Each buffer: who writes it, who reads it, and in which kernels that is."""
    if not unit.buffers:
        return
    page.blank()
    title = fmt.plural(len(unit.buffers), "buffer")
    page.open(title, folded=True)
    page.add("  ", (title, tokens.LABEL), ("  who writes and who reads them", tokens.DIM))
    lines = {node.name: node.line for node in unit.nodes}
    calls = {kernel.key: kernel.line for kernel in unit.kernels}
    for buffer in unit.buffers[:BUFFERS]:
        _buffer(page, unit, buffer, lines, calls)
    if len(unit.buffers) > BUFFERS:
        page.add("    ", (f"and {fmt.count(len(unit.buffers) - BUFFERS)} more, in the IR", tokens.DIM))
    page.close()


def _buffer(page: Page, unit: UnitFusion, buffer: BufferUse, lines: dict[str, int], calls: dict[str, int]) -> None:
    def node(name: str) -> Piece:
        text = page.clip_middle(sanitize(name), page.width // 3)
        return (text, tokens.LINK, at_line(unit.post_ref, lines[name])) if lines.get(name) and unit.post_ref else text

    def kernels(keys: Sequence[str]) -> list[Piece]:
        found: list[Piece] = []
        for key in keys:
            text = page.clip_middle(sanitize(key), page.width // 2)
            found.append((text, tokens.LINK, at_line(unit.code_ref, calls[key])) if calls.get(key) and unit.code_ref else text)
        return found

    page.row([(sanitize(buffer.name), tokens.NAME), (f"  {page.clip(sanitize(buffer.layout), page.width - 14)}", tokens.DIM)], "    ")
    _named(page, "written", [node(buffer.writer), *kernels(buffer.written_by)], "      ")
    others = [name for name in buffer.readers if name != buffer.writer]
    if others:
        keys = [key for key in buffer.read_by if key not in buffer.written_by] or buffer.read_by
        _named(page, "read", [*map(node, others), *kernels(keys)], "      ")
    if len(others) < len(buffer.readers):
        page.add("      ", ("read where it is written, by what was fused with it", tokens.DIM))
    if buffer.is_output:
        page.add("      ", ("an output of the graph", tokens.DIM))
