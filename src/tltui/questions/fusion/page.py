"""The page `fusion`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import Scope
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.ref import at_line, diff_ref
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.questions.coverage.input_sections import Away, add_not_indexed
from tltui.questions.fusion.fusion_decisions import (
    BufferUse,
    CompileFusion,
    FusedKernel,
    FusionSums,
    NotFused,
    Origin,
    Reason,
    SchedulerNode,
    SourceLine,
    UnitFusion,
    sums_of,
)
from tltui.questions.fusion.unit_fusion import fusion_of_compile, has_fusion, tells_of_fusion
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text, with_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

LABEL = 8
NAMES = 8
"""Operations and buffers of a node that are named; of more the first and the last."""
NODES = 12
"""Nodes of a kernel that are shown at once; more are folded."""
ORIGINS = 24
SOURCES = 4
PAIRS = 12
"""Pairs of a reason that are shown at once; more are folded."""
ALL_PAIRS = 1000
BUFFERS = 1000
AT_ONCE = 16
"""Kernels, pairs or buffers written between two yields."""
KINDS = {
    "FusedSchedulerNode": "fused", "OuterLoopFusedSchedulerNode": "outer loops fused", "ForeachKernelSchedulerNode": "foreach",
    "ExternKernelSchedulerNode": "external", "NopKernelSchedulerNode": "nothing to run",
    "FusedMixOrderReductions": "reductions fused", "SchedulerNode": "",
}  # fmt: skip


def calls_said(sums: FusionSums) -> str:
    """`46 operations became 28 nodes: 12 calls of generated kernels and 12 external calls`"""
    sentence = fmt.plural(sums.kernel_calls, "call of a generated kernel", "calls of generated kernels")
    if sums.external_calls:
        sentence += f" and {fmt.plural(sums.external_calls, 'external call')}"
    if not sums.nodes:
        return sentence
    became = f"{fmt.plural(sums.ops, 'operation')} became {fmt.plural(sums.nodes, 'node')}"
    return f"{became}: {sentence}" if sums.kernel_calls or sums.external_calls else became


def reasons_said(sums: FusionSums, units: Sequence[UnitFusion]) -> list[Piece]:
    """`36 reasons against fusion: 30 × intermediate nodes …, 6 × no shared data; 10 of them were fused in a later round`"""
    if not sums.not_fused:
        return ["No fusion was rejected."] if units and all(unit.has_log for unit in units) else []
    pieces: list[Piece] = [f"{fmt.plural(sums.not_fused, 'reason')} against fusion: "]
    later = sum(reason.fused_later for reason in sums.reasons)
    for number, reason in enumerate(sums.reasons):
        end = ", " if number + 1 < len(sums.reasons) else "; " if later else ""
        pieces.append((f"{fmt.count(reason.pairs)} × {sanitize(reason.reason)}{end}", tokens.WARN))
    if later:
        pieces.append((f"{fmt.count(later)} of them were fused in a later round", tokens.DIM))
    return pieces


class _LookupTables:
    """Lookup tables for the lines of a unit."""

    __slots__ = ("calls", "nodes")

    def __init__(self, unit: UnitFusion) -> None:
        self.nodes = {node.name: node for node in unit.nodes}
        self.calls = {kernel.key: kernel.call_line for kernel in unit.kernels}


def add_unit(page: Page, unit: UnitFusion) -> Generator[None, None, None]:
    """Add a unit below its heading."""
    tables = _LookupTables(unit)
    _texts(page, unit)
    inside: dict[str, list[SchedulerNode]] = {}
    for node in unit.nodes:
        for key in node.kernels if node.kernel_from else ():
            inside.setdefault(key, []).append(node)
    for number, kernel in enumerate(unit.kernels):
        page.blank()
        _kernel(page, unit, kernel, inside.get(kernel.key, []))
        if number % AT_ONCE == 0:
            yield
    _homeless(page, unit)
    yield from _not_fused(page, unit, tables)
    yield from _buffers(page, unit, tables)


def _texts(page: Page, unit: UnitFusion) -> None:
    pieces: list[Piece] = []
    texts = (("IR before", unit.pre_ref), ("IR after", unit.post_ref), ("graph", unit.graph_ref), ("code", unit.code_ref))
    pieces += [(label, tokens.LINK, ref) for label, ref in texts if ref]
    if unit.pre_ref and unit.post_ref:
        pieces.insert(2, to_page("changes by fusion", diff_ref(unit.pre_ref, unit.post_ref)))
    if pieces:
        page.joined(pieces, "  ")


def _kernel(page: Page, unit: UnitFusion, kernel: FusedKernel, nodes: Sequence[SchedulerNode]) -> None:
    """`cpp_fused_gelu_1:3  1 operation  called at line 196, defined at line 60`"""
    name = page.clip_middle(sanitize(kernel.key), page.width - 4)
    page.open(name)
    text = f"  {fmt.plural(kernel.operations, 'operation')}" if kernel.operations else ""
    if len(nodes) > 1:
        text += f" in {fmt.plural(len(nodes), 'node')}"
    target = at_line(unit.code_ref, kernel.call_line) if unit.code_ref and kernel.call_line else ""
    pieces: list[Piece] = [(name, tokens.LINK if target else tokens.NAME, target), (text, tokens.STRONG)]
    pieces.append((f"  called at line {kernel.call_line}", tokens.DIM))
    if kernel.definition_line and unit.code_ref:
        pieces += [", ", (f"defined at line {kernel.definition_line}", tokens.DIM, at_line(unit.code_ref, kernel.definition_line))]
    page.row(pieces)
    for number, node in enumerate(nodes):
        if number == NODES:
            more = fmt.plural(len(nodes) - NODES, "more node")
            page.open(more, folded=True)
            page.add("    ", (more, tokens.LABEL))
        _node(page, unit, node, kernel)
    if len(nodes) > NODES:
        page.close()
    if kernel.origins:
        _add_label(page, "from", _origins(unit, kernel.origins))
    _source(page, kernel.source)
    if unit.nodes and not nodes:
        page.add("    ", (page.so_far("its operations are unknown"), tokens.DIM))
    page.close()


def _node(page: Page, unit: UnitFusion, node: SchedulerNode, kernel: FusedKernel | None) -> None:
    """`op0 … op4  5 operations, outer loops fused · Reduction, Pointwise · 4 × 16 reduced · writes buf0 … buf4`"""
    target = at_line(unit.post_ref, node.line) if unit.post_ref and node.line else ""
    parts = [KINDS.get(node.kind, node.kind)]
    if (kinds := ", ".join(node.operation_kinds)) and not (kernel is not None and kinds == kernel.name):
        parts.append(kinds)
    sizes = ", ".join(map(str, node.loops[:3])) + (" …" if len(node.loops) > 3 else "")
    parts += [sizes, "" if node.device in ("", "cpu") else node.device]
    if node.writes:
        parts.append(f"writes {_few(node.writes)}")
    if kernel is not None and node.kernel_from == "origins":
        parts.append("assigned to this kernel by its origins")
    pieces: list[Piece] = [(_few(node.operations), tokens.LINK if target else tokens.NAME, target)]
    if len(node.operations) > NAMES:
        pieces.append((f"  {fmt.plural(len(node.operations), 'operation')}", tokens.STRONG))
    texts = [sanitize(part) for part in parts if part]
    pieces += [(f" · {part}" if number else f"  {part}", tokens.DIM) for number, part in enumerate(texts)]
    _flow(page, pieces, "    ", " " * 6)


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


def _add_label(page: Page, label: str, pieces: Sequence[Piece], indent: str = "    ") -> None:
    """Add wrapped names after a label."""
    spaced: list[Piece] = [(label.ljust(LABEL), tokens.LABEL)]
    for number, piece in enumerate(pieces):
        spaced += [" ", piece] if number else [piece]
    _flow(page, spaced, indent, indent + " " * LABEL)


def _flow(page: Page, pieces: Sequence[Piece], indent: str, hang: str) -> None:
    """Pieces one after another, those that do not fit in more lines that begin with `hang`; no blanks begin a line."""
    line: list[Piece] = []
    used = len(indent)
    for piece in pieces:
        text = piece_text(piece)
        if line and used + len(text.rstrip()) > page.width:
            page.add(indent, *line)
            line, indent, used = [], hang, len(hang)
            text = text.lstrip(" ·")
            if not text:
                continue
        if used + len(text) > page.width:
            text = page.clip_middle(text, page.width - used)
        line.append(with_text(piece, text))
        used += len(text)
    page.add(indent, *line)


def _source(page: Page, source: Sequence[SourceLine], indent: str = "    ") -> None:
    for number, line in enumerate(source[:SOURCES]):
        label = ("source" if number == 0 else "").ljust(LABEL)
        place = page.place(line.file, line.line)
        text = place if isinstance(place, str) else place[0]
        room = page.width - len(indent) - LABEL - len(text) - 2
        code = page.clip(sanitize(line.code.strip()), room) if line.code and room > 8 else ""
        page.add(indent, (label, tokens.LABEL), place, "  " if code else "", (code, tokens.NAME))
    if len(source) > SOURCES:
        page.add(indent, " " * LABEL, (f"and {fmt.plural(len(source) - SOURCES, 'more line')}", tokens.DIM))


def _homeless(page: Page, unit: UnitFusion) -> None:
    """Add nodes without a known kernel."""
    left = [node for node in unit.nodes if not node.kernel_from]
    if not left:
        return
    idle = [node for node in left if node.kind.startswith("Nop")]
    unknown = "Kernel unknown" if unit.kernels else page.so_far("Kernels unknown (no generated code)")
    for title, nodes in (("No kernel: nothing to run", idle), (unknown, [n for n in left if not n.kind.startswith("Nop")])):
        if not nodes:
            continue
        page.blank()
        text = f"{title} ({fmt.plural(len(nodes), 'node')})"
        page.open(text, folded=title != unknown)
        page.add("  ", (text, tokens.LABEL))
        for node in nodes:
            _node(page, unit, node, None)
            if node.kernels:
                _add_label(page, "one of", [sanitize(key) for key in node.kernels], "      ")
            if node.origins:
                _add_label(page, "from", _origins(unit, node.origins), "      ")
        page.close()


def _not_fused(page: Page, unit: UnitFusion, tables: _LookupTables) -> Generator[None, None, None]:
    """Add the reasons against fusion and the benchmarked pairs."""
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
        yield from _reason(page, unit, reason, tables)
    page.close()


def _reason(page: Page, unit: UnitFusion, reason: Reason, tables: _LookupTables) -> Generator[None, None, None]:
    page.open(reason.reason, folded=True)
    apart = [pair for pair in reason.pairs if not pair.is_fused_later]
    later = len(reason.pairs) - len(apart)
    page.row([
        (f"{fmt.count(len(reason.pairs))} × ", tokens.STRONG), (sanitize(reason.reason), tokens.WARN),
        (f"  {fmt.count(later)} of them fused in a later round" if later else "", tokens.DIM),
    ], "    ")  # fmt: skip
    if reason.meaning:
        page.say(reason.meaning, "      ", tokens.DIM)
    if reason.advice:
        page.labelled("try", reason.advice, "      ", 5)
    by_pair: dict[tuple[str, str], list[NotFused]] = {}
    for pair in apart:
        one, other = sorted((pair.first_node or pair.first, pair.second_node or pair.second))
        by_pair.setdefault((one, other), []).append(pair)
    for number, pairs in enumerate(list(by_pair.values())[:ALL_PAIRS]):
        if number == PAIRS:
            more = f"{fmt.plural(len(by_pair) - PAIRS, 'more pair')}"
            page.open(more, folded=True)
            page.add("      ", (more, tokens.LABEL))
        _pair(page, unit, pairs, tables)
        if number % AT_ONCE == 0:
            yield
    if len(by_pair) > PAIRS:
        page.close()
    if len(by_pair) > ALL_PAIRS:
        page.add("      ", (f"and {fmt.count(len(by_pair) - ALL_PAIRS)} more, in the fusion log", tokens.DIM))
    page.close()


def _pair(page: Page, unit: UnitFusion, pairs: Sequence[NotFused], tables: _LookupTables) -> None:
    """Two nodes that stayed apart, and of which of their operations that was said:

    op0 op1 (var_mean, rsqrt)  in cpp_fused_native_layer_norm_0:1
    op8 op9 (amax, exp)  in cpp_fused__softmax_add_2:5
    """
    first = pairs[0]
    nodes = [tables.nodes.get(first.first_node), tables.nodes.get(first.second_node)]
    sides = ((first.first, nodes[0], first.first_origins, first.first_source), (first.second, nodes[1], first.second_origins,
             first.second_source))  # fmt: skip
    same = nodes[0] is not None and nodes[1] is not None and nodes[0].kernels == nodes[1].kernels and bool(nodes[0].kernel_from)
    for number, (name, node, label, source) in enumerate(sides):
        origins = node.origins if node is not None and node.origins else label
        name = name if node is None else _few(node.operations)
        _side(page, unit, name, node, origins, source, "        with " if number else "      ", tables)
    if same:
        page.add("        ", ("one kernel runs both, one after the other", tokens.DIM))
    values = "; ".join(dict.fromkeys(pair.details for pair in pairs if pair.details))
    if values:
        page.say(sanitize(values), "        ", tokens.DIM)
    if len(pairs) > 1:
        page.say(f"reported for {', '.join(sanitize(f'{pair.first}/{pair.second}') for pair in pairs[:NAMES])}"
                 + (f" and {len(pairs) - NAMES} more" if len(pairs) > NAMES else ""), "        ", tokens.DIM)  # fmt: skip


def _side(
    page: Page, unit: UnitFusion, name: str, node: SchedulerNode | None, origins: Sequence[Origin], source: Sequence[SourceLine],
    lead: str, tables: _LookupTables,
) -> None:  # fmt: skip
    """`op8 op9 (amax, exp)  in cpp_fused__softmax_add_2:5  job/mlp.py:7`, in two lines where that is too long for one."""
    room = page.width - 2 * len(lead)
    target = at_line(unit.post_ref, node.line) if node is not None and unit.post_ref and node.line else ""
    name = page.clip_middle(sanitize(name), room // 2)
    first: list[Piece] = [(name, tokens.LINK if target else tokens.STRONG, target)]
    few: list[Piece] = []
    for piece in _origins(unit, origins[:4]):
        if _length(few) + len(piece_text(piece)) + len(name) + 6 < room:
            few += [", ", piece] if few else [piece]
    if few:
        first += [" (", *few, (" …)" if (len(few) + 1) // 2 < len(origins) else ")")]
    second: list[Piece] = []
    for key in node.kernels[:1] if node is not None and node.kernel_from else ():
        where = at_line(unit.code_ref, tables.calls[key]) if unit.code_ref and key in tables.calls else ""
        second += ["in ", (page.clip_middle(sanitize(key), room // 2), tokens.LINK if where else tokens.NAME, where), "  "]
    for line in (node.source if node is not None and node.source else source)[:2]:
        if _length(second) + len(piece_text(place := page.place(line.file, line.line))) <= room - 4:
            second += [place, "  "]
    if len(lead) + _length(first) + 2 + _length(second) <= page.width:
        page.add(lead, *first, "  ", *second)
    else:
        page.add(lead, *first)
        if second:
            page.add(" " * 10, *second)


def _length(pieces: Iterable[Piece]) -> int:
    return sum(len(piece_text(piece)) for piece in pieces)


def _buffers(page: Page, unit: UnitFusion, tables: _LookupTables) -> Generator[None, None, None]:
    """Each buffer: who writes it, who reads it, and in which kernels that is."""
    if not unit.buffers:
        return
    page.blank()
    title = fmt.plural(len(unit.buffers), "buffer")
    page.open(title, folded=True)
    page.add("  ", (title, tokens.LABEL), (": writers and readers", tokens.DIM))
    for number, buffer in enumerate(unit.buffers[:BUFFERS]):
        _buffer(page, unit, buffer, tables)
        if number % AT_ONCE == 0:
            yield
    if len(unit.buffers) > BUFFERS:
        page.add("    ", (f"and {fmt.count(len(unit.buffers) - BUFFERS)} more, in the IR", tokens.DIM))
    page.close()


def _buffer(page: Page, unit: UnitFusion, buffer: BufferUse, tables: _LookupTables) -> None:
    def node(name: str) -> Piece:
        text = page.clip_middle(sanitize(name), page.width // 3)
        node = tables.nodes.get(name)
        return (text, tokens.LINK, at_line(unit.post_ref, node.line)) if node is not None and node.line and unit.post_ref else text

    def kernels(keys: Sequence[str]) -> list[Piece]:
        pieces: list[Piece] = []
        for key in keys:
            text = page.clip_middle(sanitize(key), page.width // 2)
            line = tables.calls.get(key, 0)
            pieces.append((text, tokens.LINK, at_line(unit.code_ref, line)) if line and unit.code_ref else text)
        return pieces

    layout = page.clip(sanitize(buffer.layout), page.width - len(buffer.name) - 8)
    page.row([(sanitize(buffer.name), tokens.NAME), (f"  {layout}", tokens.DIM)], "    ")
    _add_label(page, "written", [node(buffer.writer), *kernels(buffer.written_by)], "      ")
    others = [name for name in buffer.readers if name != buffer.writer]
    if others:
        keys = [key for key in buffer.read_by if key not in buffer.written_by] or buffer.read_by
        _add_label(page, "read", [*map(node, others), *kernels(keys)], "      ")
    if len(others) < len(buffer.readers):
        page.add("      ", ("read in the kernel that writes it", tokens.DIM))
    if buffer.is_output:
        page.add("      ", ("an output of the graph", tokens.DIM))


FULL = 6
"""Maximum number of compiles in full; of further ones the sums."""
COMPILES_PER_STEP = 64
"""Compiles examined between two yields."""
NOTHING = "This log has no generated code, no IR and no fusion log."
NO_IR = (
    "The nodes before and after fusion are not logged. To record them, set TORCH_COMPILE_DEBUG=1 or "
    "TORCH_LOGS=ir_pre_fusion,ir_post_fusion."
)
NO_LOG = "The log does not contain the reasons why nodes were not fused. To record them, set TORCH_LOGS=fusion."


@frozen
class FusionReport:
    """The fusion of the compiles of a part of a run."""

    ref: str
    sums: FusionSums
    compiles: tuple[CompileFusion, ...]
    not_available: tuple[str, ...] = ()
    """Compiles of which the texts are not in the index, and their logs not here."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `fusion` for the compiles of the scope."""

    def fill(page: Page) -> Generator[None, None, FusionReport]:
        page.add((f"Fusion{scope.title}", tokens.TITLE))
        compile_fusions: list[CompileFusion] = []
        away: list[Away] = []
        asked = _asked(scope)
        for number, compile_ in enumerate(asked):
            if number % COMPILES_PER_STEP == 0 or compile_fusions:
                yield
            try:
                compile_fusion = fusion_of_compile(compile_, version_of(compile_.process))
            except Elsewhere as error:
                if len(asked) == 1:
                    raise
                away.append((str(compile_.ref), error))
                continue
            if compile_fusion.units:
                compile_fusions.append(compile_fusion)
        sums = sums_of(tuple(unit for compile_fusion in compile_fusions for unit in compile_fusion.units))
        report = FusionReport(str(scope.ref), sums, tuple(compile_fusions), tuple(ref for ref, _ in away))
        if compile_fusions or not away:
            yield from _page(page, scope, report)
        add_not_indexed(page, away, "fusion")
        return report

    return GrowingDocument(scope.page("fusion"), f"fusion{scope.title}", options, fill, Page)


def _asked(scope: Scope) -> list[Compile]:
    """Return the compiles to examine."""
    if len(scope.compiles) == 1:
        return list(scope.compiles)
    logged = {id(process) for process in scope.processes if tells_of_fusion(process)}
    return [compile_ for compile_ in scope.compiles if id(compile_.process) in logged and has_fusion(compile_)]


def _page(page: Page, scope: Scope, report: FusionReport) -> Generator[None, None, None]:
    units = [unit for compile_ in report.compiles for unit in compile_.units]
    if not units:
        _add_no_fusion(page, scope)
        return
    page.say(calls_said(report.sums), "", tokens.STRONG)
    page.row(reasons_said(report.sums, units), "")
    _missing(page, units)
    for number, compile_ in enumerate(report.compiles):
        if number < FULL:
            yield from _compile(page, compile_, len(scope.compiles) > 1)
        else:
            if number == FULL:
                page.heading("More compiles, totals only")
            name = (sanitize(compile_.function or ""), tokens.FUNCTION)
            sums = sums_of(compile_.units)
            page.row([(f"[{compile_.ref}]", tokens.LINK, f"@fusion:{compile_.ref}"), " ", name, f"  {calls_said(sums)}"])
            page.row(reasons_said(sums, compile_.units), "    ")
        yield


def _missing(page: Page, units: list[UnitFusion]) -> None:
    """Add the missing inputs and how to record them."""
    if not all(unit.has_ir or unit.has_log for unit in units):
        page.say(page.so_far(NO_IR), "", tokens.DIM)
    if not all(unit.has_log for unit in units):
        page.say(page.so_far(NO_LOG), "", tokens.DIM)
    elif not all(unit.is_complete for unit in units):
        page.say("The fusion log ends before fusion ends, so this page may be incomplete.", "", tokens.WARN)
    if any(unit.log_agrees_with_ir is False for unit in units):
        page.say("The IR does not match the fusion log: operations were combined later (combo kernels), or the two belong to "
                 "different compiles. This page shows the IR.", "", tokens.WARN)  # fmt: skip


def _add_no_fusion(page: Page, scope: Scope) -> None:
    if len(scope.compiles) == 1:
        page.say(page.so_far(NOTHING), "", tokens.DIM)
        return
    page.say(page.so_far("This trace has no fusion log."), "", tokens.DIM)
    page.say(NO_IR, "", tokens.DIM)
    page.say(NO_LOG, "", tokens.DIM)
    page.say("The generated code still shows the nodes of each kernel, one compile at a time:", "", tokens.DIM)
    page.add("  ", (f"tltui fusion {page.options.path} 0/0", tokens.DIM))


def _compile(page: Page, compile_fusion: CompileFusion, several: bool) -> Generator[None, None, None]:
    """Each unit of a compile."""
    if several:
        page.heading(f"[{compile_fusion.ref}] {compile_fusion.function or ''}".rstrip())
    for unit in compile_fusion.units:
        page.close(1 if several else 0)
        page.blank()
        page.open(fmt.graph_title(unit.unit))
        head = f"{fmt.plural(unit.ops, 'operation')} → {fmt.plural(len(unit.nodes), 'node')}" if unit.nodes else ""
        page.add((sanitize(fmt.graph_title(unit.unit)), tokens.HEADING), (f"  {head}" if head else "", tokens.DIM))
        yield from add_unit(page, unit)
    page.close(0)


@frozen
class FusionRow:
    """Kernel call with the nodes fused into it."""

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
    nodes: tuple[str, ...]
    """The nodes of the scheduler in it."""
    origins: tuple[str, ...]
    """The post-grad nodes that it computes."""
    lines: tuple[str, ...]
    """The lines of source, `FILE:LINE`."""


def fusion_rows(data: FusionReport) -> Iterator[FusionRow]:
    """Yield one row per kernel."""
    for compile_ in data.compiles:
        for unit in compile_.units:
            for kernel in unit.kernels:
                lines = tuple(f"{line.file}:{line.line}" for line in kernel.source)
                yield FusionRow(compile_.ref, compile_.function, unit.unit, kernel.key, kernel.is_generated, kernel.operations,
                                tuple(kernel.nodes), tuple(origin.name for origin in kernel.origins), lines)  # fmt: skip


QUESTION = Question(
    name="fusion",
    help="operations by kernel, and nodes that were not fused, with reasons",
    group="find causes",
    order=160,
    needs=Needs("", ("ir_pre_fusion", "ir_post_fusion", "fusion"), "fusions and the reasons against others", in_debug_dir=True),
    document=document,
    answer=FusionReport,
    rows=FusionRow,
    records=fusion_rows,
    doc="""
    Operations by kernel, one row per kernel. Nodes that were not fused, with reasons, are in
    `data.compiles[…].units[…].reasons`.
    """,
)
