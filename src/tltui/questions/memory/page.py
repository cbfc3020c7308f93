"""The page `memory`: tensors saved for backward, and the estimated peak of each compiled graph."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, to_page
from tltui.documents.rank_groups import OnRanks, alike_on_ranks, said_ranks
from tltui.documents.scope import Scope
from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.input_coverage import Needs
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.questions.coverage.input_sections import Away, add_not_indexed
from tltui.questions.memory.memory_report import (
    ACTIVATION,
    INPUT,
    OUTPUT,
    PARAMETER,
    AliveStorage,
    CompileMemory,
    GraphMemory,
    KindSum,
    Peak,
    RecomputedGroup,
    SavedForBackward,
    SavedTensor,
    has_graphs,
    memory_of,
    unread,
)
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

AT_ONCE = 8
"""Compiles read between two yields."""
NOTHING = "No memory estimates: {} has no forward graph and no generated code."
LIMITS = (
    "Estimates from the trace: sizes as requested, without the allocator's rounding and fragmentation. Memory used by eager "
    "code and inside library calls is unknown. The caller's arguments and incoming gradients are not counted."
)
MODEL = "(model)"
MEANINGS = {
    ACTIVATION: "held only for backward",
    OUTPUT: "also returned by the function, so your code holds them",
    INPUT: "arguments, which your code also holds",
    PARAMETER: "parameters and buffers of modules",
}
NAMES = {ACTIVATION: "activations", OUTPUT: "outputs", INPUT: "inputs", PARAMETER: "parameters"}


def size(count: int | None, formula: str) -> str:
    """`12.3 KB`; the formula in bytes where a symbol has no value; `?` for an unknown size."""
    return fmt.size_of(count) if count is not None else f"{formula} B" if formula else "?"


def _layer(path: str | None) -> Piece:
    return ("?", tokens.DIM) if path is None else (path or MODEL, tokens.NAME)


def _layers(paths: Sequence[str]) -> Piece:
    return (", ".join(path or MODEL for path in paths) or "?", tokens.NAME if paths else tokens.DIM)


def _line(place: str) -> Piece:
    if not place:
        return ("?", tokens.DIM)
    file, _, line = place.rpartition(":")
    return (fmt.place(file, int(line)), tokens.LINK, fmt.place_target(file, int(line)))


def _by_place(place: str) -> tuple[str, int]:
    """Return what lines are ordered by: the file, then the number."""
    file, _, line = place.rpartition(":")
    return file, int(line or 0)


def _lines(places: Sequence[str]) -> Piece:
    """Return the first line of a kernel, as a link, and the number of the others."""
    if not places:
        return ("?", tokens.DIM)
    text, style, target = (*_line(places[0]), "")[:3]
    return (text + (f" +{len(places) - 1}" if len(places) > 1 else ""), style, target)


CHOICE = "partitioner's choice"
"""The reason for a value without a tag: the partitioner weighs memory against computing again."""


def _why_saved(tensor: SavedTensor) -> Piece:
    """`MUST_SAVE`; `PREFER_RECOMPUTE → MUST_SAVE` where the partitioner changed the tag."""
    if tensor.partitioner_tag:
        return f"{tensor.tag or 'no tag'} → {tensor.partitioner_tag}"
    return tensor.tag or ("" if tensor.kind in (INPUT, PARAMETER) else (CHOICE, tokens.DIM))


def _has_formula(rows: Sequence[SavedTensor | RecomputedGroup | AliveStorage | KindSum]) -> bool:
    return any(row.formula for row in rows)


SUMS: Table[KindSum] = Table((
    Column("saved", lambda row: (NAMES[row.kind], tokens.STRONG)),
    Column("tensors", lambda row: fmt.count(row.tensors), right=True),
    Column("size", lambda row: (size(row.storage_bytes, row.formula), tokens.NUMBER), right=True),
    Column("bytes", lambda row: row.formula, when=_has_formula, drop=1),
    Column("", lambda row: (MEANINGS[row.kind], tokens.DIM), drop=2),
))  # fmt: skip
TENSORS: Table[SavedTensor] = Table((
    Column("tensor", lambda row: (row.parameter or row.name, tokens.NAME), sort="name", key=lambda row: row.parameter or row.name),
    Column("size", lambda row: (f"shares {row.shares_storage_with}", tokens.DIM) if row.shares_storage_with
           else (size(row.storage_bytes, row.formula), tokens.NUMBER), right=True, sort="size",
           key=lambda row: -(row.storage_bytes or 0)),
    Column("bytes", lambda row: row.formula, when=_has_formula, drop=3),
    Column("type", lambda row: f"{row.dtype}[{fmt.joined(row.sizes)}]", drop=2),
    Column("layer", lambda row: "" if row.kind == INPUT else _layer(row.layer), drop=4,
           when=lambda rows: any(row.layer for row in rows), sort="layer", key=lambda row: row.layer or ""),
    Column("line", lambda row: _line(row.line) if row.line or row.kind not in (INPUT, PARAMETER) else "", sort="line",
           key=lambda row: _by_place(row.line)),
    Column("why", _why_saved, when=lambda rows: any(row.tag or row.partitioner_tag for row in rows), drop=1),
), "saved tensors", shown=20, folded=2000, order="kind")  # fmt: skip
AGAIN: Table[RecomputedGroup] = Table((
    Column("nodes", lambda row: fmt.count(len(row.nodes)), right=True),
    Column("size", lambda row: (size(row.result_bytes, row.formula), tokens.NUMBER), right=True, sort="size",
           key=lambda row: -(row.result_bytes or 0)),
    Column("bytes", lambda row: row.formula, when=_has_formula, drop=2),
    Column("layer", lambda row: _layer(row.layer), when=lambda rows: any(row.layer for row in rows), drop=3, sort="layer",
           key=lambda row: row.layer or ""),
    Column("line", lambda row: _line(row.line), sort="line", key=lambda row: _by_place(row.line)),
    Column("why", lambda row: row.tag or (CHOICE, tokens.DIM), drop=1),
), "lines", shown=12, folded=1000, indent="    ")  # fmt: skip
ALIVE: Table[AliveStorage] = Table((
    Column("storage", lambda row: (row.name, tokens.NAME), sort="name", key=lambda row: row.name),
    Column("size", lambda row: (size(row.storage_bytes, row.formula), tokens.NUMBER), right=True, sort="size"),
    Column("bytes", lambda row: row.formula, when=_has_formula, drop=2),
    Column("layer", lambda row: ("saved by the forward", tokens.DIM) if row.is_saved else _layers(row.layers), drop=3),
    Column("line", lambda row: "" if row.is_saved else _lines(row.lines)),
    Column("kernel", lambda row: row.kernel, drop=1),
), "storages", shown=8, folded=2000, indent="    ", order="size")  # fmt: skip


@frozen
class _Overview:
    """Compiles in the list of several: one, or equal ones of several ranks."""

    compiles: OnRanks
    function: str
    saved: str
    forward: str
    backward: str
    saved_bytes: int
    """0 if unknown, as the peaks."""
    forward_bytes: int
    backward_bytes: int


COMPILES: Table[_Overview] = Table((
    Column("compile", lambda row: (f"[{row.compiles.label}]", tokens.LINK, f"@memory:{row.compiles.ref}"), shrinks=False),
    Column("ranks", lambda row: (row.compiles.ranks.partition(" ")[2], tokens.DIM),
           when=lambda rows: any(row.compiles.ranks for row in rows)),
    Column("function", lambda row: (row.function, tokens.FUNCTION), sort="name", key=lambda row: row.function),
    Column("saved for backward", lambda row: (row.saved, tokens.NUMBER), right=True, sort="size", key=lambda row: -row.saved_bytes),
    Column("forward peak", lambda row: (row.forward, tokens.NUMBER), right=True, sort="forward",
           key=lambda row: -row.forward_bytes),
    Column("backward peak", lambda row: (row.backward, tokens.NUMBER), right=True, sort="backward",
           key=lambda row: -row.backward_bytes),
), "compiles", shown=100, folded=1000)  # fmt: skip


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `memory` for the compiles of the scope."""

    def fill(page: Page) -> Generator[None, None, tuple[CompileMemory, ...]]:
        page.add((f"Memory{scope.title}", tokens.TITLE))
        results: list[CompileMemory] = []
        away: list[Away] = []
        for number, compile_ in enumerate(scope.compiles):
            if number % AT_ONCE == 0:
                yield
            if len(scope.compiles) > 1 and not has_graphs(compile_):
                continue
            try:
                results.append(memory_of(compile_))
            except Elsewhere as error:
                if len(scope.compiles) == 1:
                    raise
                away.append((str(compile_.ref), error))
                results.append(unread(compile_, str(error.strerror)))
        missing = {ref for ref, _ in away}
        readable = [memory for memory in results if memory.ref not in missing]
        if not any(memory.saved or memory.graphs for memory in results):
            where = "this part of the trace" if str(scope.ref) else "the trace"
            page.say(page.so_far(NOTHING.format(where)), "", tokens.DIM)
        elif readable:
            page.say(LIMITS, "", tokens.DIM)
        if len(results) == len(readable) == 1:
            _compile(page, results[0], run.finished)
        elif readable:
            page.blank()
            page.table(COMPILES, _overviews(page, readable))
        add_not_indexed(page, away, "memory")
        page.more()
        return tuple(results)

    return GrowingDocument(scope.page("memory"), f"memory{scope.title}", options, fill, Page)


def _overviews(page: Page, memories: Sequence[CompileMemory]) -> list[_Overview]:
    """Return a row per compile; compiles of several ranks with equal figures share one."""
    figures = {memory.ref: _figures(memory) for memory in memories}
    groups = alike_on_ranks(figures, str, page.newest, figures.__getitem__)
    return [_Overview(OnRanks(tuple(refs), said_ranks(refs, page.newest)), *figures[refs[0]]) for refs in groups]


def _figures(memory: CompileMemory) -> tuple[str, str, str, str, int, int, int]:
    sums = [total for saved in memory.saved for total in saved.sums if total.kind == ACTIVATION]
    saved = size(_sum(total.storage_bytes for total in sums), " + ".join(total.formula for total in sums)) if memory.saved else ""
    saved_bytes = _sum(total.storage_bytes for total in sums) or 0
    forwards = [graph for graph in memory.graphs if not graph.is_backward]
    backwards = [graph for graph in memory.graphs if graph.is_backward]
    return (
        sanitize(memory.function or ""), saved, _highest(forwards), _highest(backwards),
        saved_bytes, _peak_bytes(forwards), _peak_bytes(backwards),
    )  # fmt: skip


def _sum(values: Iterable[int | None]) -> int | None:
    counted = list(values)
    numbers = [value for value in counted if value is not None]
    return sum(numbers) if len(numbers) == len(counted) else None


def _highest(graphs: Sequence[GraphMemory]) -> str:
    """Return the highest of the peaks, `?` if any is unknown."""
    if not graphs:
        return ""
    if any(graph.reason for graph in graphs):
        return "?"
    least = "≥ " if any(graph.unknown_calls for graph in graphs) else ""
    return least + fmt.size_of(_peak_bytes(graphs))


def _peak_bytes(graphs: Sequence[GraphMemory]) -> int:
    return max((peak.peak_bytes for graph in graphs for peak in graph.peaks), default=0)


def _compile(page: Page, memory: CompileMemory, is_final: bool) -> None:
    """Add one compile. `is_final`: the wrapper of a forward that lacks one cannot follow."""
    if memory.symbols:
        sizes = ", ".join(f"{sanitize(symbol.symbol)} = {symbol.value}" for symbol in memory.symbols)
        page.labelled("sizes", f"{sizes} at this compile", "", 7)
    for region in memory.saved:
        _saved(page, region, is_final)
    for graph in memory.graphs:
        _graph(page, graph)


def _saved(page: Page, region: SavedForBackward, is_final: bool) -> None:
    """Add the saved and the recomputed values of one region."""
    page.heading("Saved for backward" + (f" by the {fmt.graph_title(region.forward)}" if region.forward else ""))
    page.row([("forward graph", tokens.LINK, region.graph_ref), " · ", ("backward graph", tokens.LINK, region.backward_ref)])
    if not region.tensors:
        page.say("Backward reads nothing from forward.", "  ", tokens.DIM)
    page.table(SUMS, region.sums)
    if not region.is_from_wrapper and is_final:
        page.say("≈ Storage sharing is derived from views in the graph: no forward wrapper could be read.", "  ", tokens.DIM)
    if region.unknown_sizes:
        page.say(f"≥: the size of {fmt.plural(region.unknown_sizes, 'saved tensor')} is unknown.", "  ", tokens.WARN)
    if region.tensors:
        page.blank()
        page.table(TENSORS, region.tensors)
    if region.recomputed:
        page.blank()
        nodes = sum(len(group.nodes) for group in region.recomputed)
        with page.fold(f"Backward recomputes {fmt.plural(nodes, 'node')} instead of saving the results"):
            page.table(AGAIN, region.recomputed)


def _graph(page: Page, graph: GraphMemory) -> None:
    """Add the estimated peak of one graph."""
    title = f"Estimated peak of the {fmt.graph_title(graph.unit)}"
    page.heading(sanitize(title))
    if graph.reason:
        page.say(page.so_far(f"Peak unknown ({graph.reason})."), "  ", tokens.DIM)
    if not graph.peaks and not graph.reason:
        page.say("It allocates nothing.", "  ", tokens.DIM)
    for peak in graph.peaks:
        _peak(page, graph, peak)
    if graph.unknown_calls:
        page.say(f"≥: the sizes of the results of {sanitize(', '.join(graph.unknown_calls))} are unknown.", "  ", tokens.WARN)


def _peak(page: Page, graph: GraphMemory, peak: Peak) -> None:
    least = "≥ " if graph.unknown_calls else ""
    pieces: list[Piece] = [(f"{least}{fmt.size_of(peak.peak_bytes)}", tokens.STRONG), f" on {sanitize(peak.device or '?')}"]
    if peak.formula:
        pieces.append((f"  {peak.formula} B", tokens.DIM))
    page.row(pieces)
    if peak.wrapper_line:
        before = "reached before the call of  " if peak.kernel else "reached before  "
        reached: list[Piece] = [(before, tokens.LABEL), (sanitize(peak.kernel) or "the end", tokens.NAME), "  "]
        if peak.layers:
            reached += [("layer ", tokens.LABEL), _layers(peak.layers), "  "]
        if peak.lines:
            reached += [_lines(peak.lines), "  "]
        page.row([*reached, to_page(f"code line {peak.wrapper_line}", at_line(graph.code_ref, peak.wrapper_line))])
    else:
        page.row([("reached at the start of the call", tokens.LABEL)])
    reused = f", reused for {fmt.plural(graph.reused, 'more buffer')}" if graph.reused else ""
    texts = [f"{fmt.size_of(peak.start_bytes)} at the start", f"{fmt.size_of(peak.end_bytes)} at the end"]
    page.say(f"{', '.join(texts)}; {fmt.plural(graph.storages, 'storage')} allocated{reused}", "  ", tokens.DIM)
    if peak.alive:
        page.open(f"alive at the peak on {peak.device}")
        page.add("  ", (f"Allocated at the peak: {fmt.plural(len(peak.alive), 'storage')}", tokens.LABEL))
        page.table(ALIVE, peak.alive)
        page.close()


@frozen
class MemoryRow:
    """One saved tensor."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function that it compiles."""
    unit: str
    """The lowering of the forward; empty if it was not lowered."""
    tensor: str
    """The node of the forward graph."""
    kind: str
    """`activation`, `output`, `input` or `parameter`."""
    dtype: str
    """Its dtype as in graphs: `f32`."""
    shape: tuple[int | str, ...]
    """Its sizes; symbols for dynamic ones."""
    storage_bytes: int | None
    """Bytes of its storage; None if unknown."""
    formula: str
    """These bytes by symbols; empty for a fixed size."""
    shares_storage_with: str
    """An earlier tensor with the same storage, whose bytes count once; empty for none."""
    layer: str | None
    """The path of its module; None if unknown."""
    line: str
    """The line of source, `FILE:LINE`; empty if unknown."""
    tag: str
    """Its checkpointing tag; empty for none."""


def memory_rows(data: tuple[CompileMemory, ...]) -> Iterator[MemoryRow]:
    """Yield one row per saved tensor."""
    for memory in data:
        for region in memory.saved:
            for tensor in region.tensors:
                yield MemoryRow(
                    memory.ref, memory.function, region.forward, tensor.name, tensor.kind, tensor.dtype, tensor.sizes,
                    tensor.storage_bytes, tensor.formula, tensor.shares_storage_with, tensor.layer, tensor.line, tensor.tag,
                )  # fmt: skip


QUESTION = Question(
    name="memory",
    help="tensors saved for backward by layer and line, and the estimated peak of each graph",
    group="find causes",
    order=155,
    sorts=("kind", "size", "name", "layer", "line", "forward", "backward"),
    needs=Needs("", ("aot_graphs", "post_grad_graphs", "output_code"), "graphs and code", in_debug_dir=True),
    document=document,
    answer=tuple[CompileMemory, ...],
    rows=MemoryRow,
    records=memory_rows,
    doc="""
    Tensors saved for backward by layer and line. A row per tensor. The estimated peak of each compiled graph is in
    `data[…].graphs[…].peaks`, recomputed nodes in `data[…].saved[…].recomputed`.
    """,
)
