"""The views, a function each: what the pages and the commands of these names tell.

Each takes a run (or a place of one) and the address of the part that is meant, and gives a `Result`: its rows, all of the answer
(`data`), the page (`print`), JSON. `width` is that of the page, in columns; it changes nothing else.
"""

from __future__ import annotations

from dataclasses import replace

from tltui.api.errors import ProfileError, safe
from tltui.api.making import Part, one_of, part_of, view, with_profiles
from tltui.api.nodes import WIDTH, Node, place
from tltui.api.results import Result
from tltui.api.rows.compiled import (
    CacheRow,
    GuardRow,
    MetricRow,
    ShapeRow,
    StackRow,
    SummaryRow,
    VllmRow,
    cache_rows,
    guard_rows,
    metric_rows,
    shape_rows,
    stack_rows,
    summary_rows,
    vllm_rows,
)
from tltui.api.rows.graphs import FusionRow, LayerRow, PassRow, ProvenanceRow, fusion_rows, layer_rows, pass_rows, provenance_rows
from tltui.api.rows.ranked import (
    CellRow,
    DifferenceRow,
    StragglerRow,
    WhereRow,
    cell_rows,
    difference_rows,
    straggler_rows,
    where_rows,
)
from tltui.api.rows.timed import RuntimeRow, TimingRow, runtime_rows, timing_rows
from tltui.api.rows.trouble import (
    AbsentRow,
    ExportRow,
    ProblemRow,
    RecompileRow,
    absent_rows,
    export_rows,
    problem_rows,
    recompile_rows,
)
from tltui.api.runs import Run
from tltui.questions.caches.cache_report import CachesReport
from tltui.questions.exports.export_report import Exports
from tltui.questions.fusion.page import FusionReport
from tltui.questions.guards.page import CompileGuards, GuardTable
from tltui.questions.hang.page import WhereReport
from tltui.questions.layers.layer_costs import CompileLayers
from tltui.questions.metrics.compile_metrics import CompileMetrics, RunMetrics
from tltui.questions.overview.compile_sections import Study
from tltui.questions.overview.run_summary import Summary
from tltui.questions.passes.page import Passes
from tltui.questions.problems.absent_artifacts import Absence
from tltui.questions.problems.problem_list import Problems
from tltui.questions.provenance.page import Coverages
from tltui.questions.provenance.records import ProvenanceJson
from tltui.questions.ranks.matrix import Matrix
from tltui.questions.ranks.page import RanksReport
from tltui.questions.ranks.stragglers_page import Stragglers
from tltui.questions.recompiles.page import Recompiles
from tltui.questions.runtime.profile_results import Refused
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.questions.runtime.runtime_report import RuntimeJson, RuntimesJson
from tltui.questions.shapes.page import ShapesReport
from tltui.questions.stacks.stack_tree import Stacks
from tltui.questions.table import BY_NAME
from tltui.questions.timing.timing_results import Timing
from tltui.questions.vllm.page import Vllm


def summary(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[SummaryRow, Summary | Study]:
    """What happened, and what to look at first. One row: the counts. `data` is a `Study` where one compile is meant.

    >>> import tltui
    >>> run = tltui.open("tests/traces/torch-2.13/recompiles")
    >>> [(row.compiles, row.recompiles, row.breaks) for row in tltui.summary(run)]
    [(5, 4, 0)]
    """
    return view("summary", part_of(run, ref), summary_rows, width)


def problems(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[ProblemRow, Problems]:
    """Errors, graph breaks, restarts, the recompile limit: a row for each kind at each place, the worst first.

    >>> import tltui
    >>> for problem in tltui.problems(tltui.open("tests/traces/torch-2.13/breaks")):
    ...     print(problem.kind, problem.count, problem.first, problem.headline)
    break 2 2/0 Call to `torch._dynamo.graph_break()`
    break 1 0/0 Failed to trace builtin operator
    """
    return view("problems", part_of(run, ref), lambda data, *_: problem_rows(data), width)


def recompiles(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[RecompileRow, Recompiles]:
    """Which guard of which earlier compile failed, and what varied: a row a reason. What helps stands on the page, and in
    `data.frames[…].variations`.

    >>> import tltui
    >>> found = tltui.recompiles(tltui.open("tests/traces/torch-2.13/recompiles"))
    >>> [(row.ref, row.cause, row.source, row.expected, row.actual) for row in found[:2]]
    [('0/1', 'tensor size', 'x', '3', '5'), ('0/2', 'int value', 'n', '2', '1')]
    """
    return view("recompiles", part_of(run, ref), lambda data, *_: recompile_rows(data), width)


def stacks(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[StackRow, Stacks]:
    """Where in the code the compilations take place: their stacks as one tree, a row a frame."""
    return view("stacks", part_of(run, ref), lambda data, *_: stack_rows(data), width)


def guards(
    run: Run | Node, ref: str | Node = "", *, filter: str = "", width: int = WIDTH  # noqa: A002 - as the option is called
) -> Result[GuardRow, GuardTable | CompileGuards | tuple[CompileGuards, ...]]:
    """What compiled code relies on. Of one compile a row a guard; of several a row for each kind of guard of each compile.

    `filter`: only guards with this text, a regular expression; `kind:WORD`, `source:WORD` and `is:failed` restrict further.
    """
    return view("guards", part_of(run, ref), lambda data, *_: guard_rows(data), width, filter=filter)


def shapes(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[ShapeRow, ShapesReport]:
    """Dynamic sizes: each symbol, its guards, what was fixed and by which line. A row a symbol."""
    return view("shapes", part_of(run, ref), lambda data, *_: shape_rows(data), width)


def caches(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[CacheRow, CachesReport]:
    """Cache hits, misses, bypasses: a row for each question of a compile to a cache. How a missed key differs is in
    `data.misses`."""
    return view("caches", part_of(run, ref), lambda data, *_: cache_rows(data), width)


def timing(run: Run | Node, ref: str | Node = "", *, sort: str = "", width: int = WIDTH) -> Result[TimingRow, Timing]:
    """Where compile time went: a row for each phase of each compile, in seconds of its own, which add up.

    `sort`: the order of the page's tables: own, total, count, name. `data` has functions, ranks, kernels, gaps too.
    """
    sort = one_of("order", sort, BY_NAME["timing"].sorts)
    return view("timing", part_of(run, ref), lambda data, *_: timing_rows(data), width, sort=sort)


def runtime(
    run: Run | Node, ref: str | Node = "", *, sort: str = "", width: int = WIDTH
) -> Result[RuntimeRow, RuntimeJson | RuntimesJson]:
    """Where run time goes, by profiles of `torch.profiler`: a row a kernel, in microseconds. `data` has shares, eager code, guards.

    Profiles are those that `tltui.open` was given, or that lie beside the logs; without any there is no row, and the page says
    how to record one. From then on `layers` and `ls` of this run tell measured times too. `sort`: the order of the page's tables:
    time, mean, calls, name, code. Raises `ProfileError` where none
    fits the trace.
    """
    sort = one_of("order", sort, BY_NAME["runtime"].sorts)
    part = part_of(run, ref)
    with_profiles(part)
    with part.run._reading() as model:
        found = runtimes_of(model)
    if found and all(isinstance(item, Refused) for item in found):
        raise ProfileError(safe("\n".join(f"{own.profile}: not joined: {own.why}" for own in found if isinstance(own, Refused))))
    return view("runtime", part, lambda data, *_: runtime_rows(data), width, sort=sort)


def ranks(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[DifferenceRow, RanksReport]:
    """In what the ranks of a job differ: which ranks, in what, and since when. A row for each side of each difference."""
    return view("ranks", part_of(run, ref), lambda data, *_: difference_rows(data), width)


def matrix(run: Run | Node, ref: str | Node = "", *, show: str = "", width: int = WIDTH) -> Result[CellRow, Matrix]:
    """All ranks by all compiles: a row a cell; ranks that did all the same are one.

    `show`: what the cells of the page tell: difference, status, graph, time, cache.
    """
    sort = one_of("aspect", show, BY_NAME["matrix"].sorts)
    return view("matrix", part_of(run, ref), lambda data, *_: cell_rows(data), width, sort=sort)


def stragglers(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[StragglerRow, Stragglers]:
    """Which ranks were late or slow, in what, and who waited for them: a row each."""
    return view("stragglers", part_of(run, ref), lambda data, *_: straggler_rows(data), width)


def where(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[WhereRow, WhereReport]:
    """Where a job is, or hangs: what is open on which ranks, since when, and who has nothing open. A row a group of ranks."""
    return view("where", part_of(run, ref), lambda data, *_: where_rows(data), width)


def provenance(
    run: Run | Node, ref: str | Node = "", *, unit: str = "", kernel: str = "", width: int = WIDTH
) -> Result[ProvenanceRow, ProvenanceJson | Coverages]:
    """Which line of source became which nodes and kernels. Of one compile a row a kernel; of several a row for each lowering, with
    how much of it is known.

    `unit`: only this lowering: forward, backward, inference. `kernel`: only this kernel: NAME, NAME:HANDLE or its key.
    """
    return view("provenance", part_of(run, ref), lambda data, *_: provenance_rows(data), width, filter=unit, part=kernel)


def layers(
    run: Run | Node, ref: str | Node = "", *, layer: str = "", merge: bool = False, width: int = WIDTH
) -> Result[LayerRow, tuple[CompileLayers, ...]]:
    """Which kernels, nodes and lines belong to which layer of the model, and what they move and take. A row a layer.

    Of several compiles the page only says how many layers each has, and the rows of all of them take a while where they are many.

    `layer`: only this one: `layers.3.attn`, `layers.*.attn`, or an end of it. `merge`: iterations as one, `layers.*`.
    """
    sort = BY_NAME["layers"].sorts[1] if merge else ""
    part = part_of(run, ref)
    with part.run._reading():
        found = view("layers", part, lambda data, *_: layer_rows(data), width, filter=layer, sort=sort)
        if found.rows:
            return found
        # the page of several compiles only names those that have layers
        each = [view("layers", Part(part.run, place(own.ref)), lambda data, *_: layer_rows(data), sort=sort) for own in found.data]
        return replace(found, rows=tuple(row for own in each for row in own.rows))


def fusion(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[FusionRow, FusionReport]:
    """Which operations went into which kernel: a row a kernel. What was not fused, and why, is in
    `data.compiles[…].units[…].reasons`."""
    return view("fusion", part_of(run, ref), lambda data, *_: fusion_rows(data), width)


def passes(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[PassRow, Passes]:
    """What each step of the compiler changed in the graph: a row a step."""
    return view("passes", part_of(run, ref), lambda data, *_: pass_rows(data), width)


def absent(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[AbsentRow, Absence]:
    """Which artifacts are not in the trace, and why: failed, cut off, not logged, cached. A row for each artifact and reason."""
    return view("absent", part_of(run, ref), lambda data, *_: absent_rows(data), width)


def metrics(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[MetricRow, RunMetrics | CompileMetrics]:
    """All fields of the metrics. Of one compile a row a field; of several a row for each number, with its sum, least and most."""
    return view("metrics", part_of(run, ref), lambda data, *_: metric_rows(data), width)


def exports(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[ExportRow, Exports]:
    """Export runs: what export guessed, could not decide, or found wrong, and why. A row each."""
    return view("exports", part_of(run, ref), lambda data, *_: export_rows(data), width)


def vllm(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[VllmRow, Vllm]:
    """The compile calls of vLLM, their pieces by ranges of sizes, and what each pass did. A row a piece."""
    return view("vllm", part_of(run, ref), lambda data, *_: vllm_rows(data), width)
