"""Methods of `Run`, one for each question, made by `python tools/renew.py`."""

# ruff: noqa: A002, D205, D401, E501, I001

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tltui.api.functions import FUNCTIONS

if TYPE_CHECKING:
    from tltui.api.nodes import Node
    from tltui.api.results import Result
    from tltui.questions.autotune.autotune_report import AutotuneReport
    from tltui.questions.autotune.page import TuningRow
    from tltui.questions.blocks.block_costs import CompileBlocks
    from tltui.questions.blocks.page import BlockRow
    from tltui.questions.caches.cache_report import CachesReport
    from tltui.questions.caches.page import CacheRow
    from tltui.questions.cudagraphs.cudagraph_report import CudagraphReport
    from tltui.questions.cudagraphs.page import CudagraphRow
    from tltui.questions.exports.page import ExportRow, Exports
    from tltui.questions.fusion.page import FusionReport, FusionRow
    from tltui.questions.guards.page import CompileGuards, GuardRow, GuardTable
    from tltui.questions.hang.page import WhereReport, WhereRow
    from tltui.questions.layers.layer_costs import CompileLayers
    from tltui.questions.layers.page import LayerRow
    from tltui.questions.memory.memory_report import CompileMemory
    from tltui.questions.memory.page import MemoryRow
    from tltui.questions.metrics.metric_sums import CompileMetrics, RunMetrics
    from tltui.questions.metrics.page import MetricRow
    from tltui.questions.overview.compile_sections import Study
    from tltui.questions.overview.run_summary import Summary
    from tltui.questions.overview.summary_page import SummaryRow
    from tltui.questions.passes.page import PassRow, Passes
    from tltui.questions.problems.absent_artifacts import Absence
    from tltui.questions.problems.absent_page import AbsentRow
    from tltui.questions.problems.page import ProblemRow
    from tltui.questions.problems.problem_list import Problems
    from tltui.questions.provenance.page import Coverages, ProvenanceRow
    from tltui.questions.provenance.records import ProvenanceJson
    from tltui.questions.ranks.matrix_page import CellRow, MatrixReport
    from tltui.questions.ranks.page import DifferenceRow, RanksReport
    from tltui.questions.ranks.stragglers_page import StragglerRow, Stragglers
    from tltui.questions.recompiles.page import RecompileRow, Recompiles
    from tltui.questions.runtime.page import RuntimeRow
    from tltui.questions.runtime.runtime_report import RuntimeJson, RuntimesJson
    from tltui.questions.shapes.page import ShapeRow, ShapesReport
    from tltui.questions.stacks.page import StackRow
    from tltui.questions.stacks.stack_tree import Stacks
    from tltui.questions.timing.page import TimingRow
    from tltui.questions.timing.timing_report import Timing
    from tltui.questions.vllm.page import Vllm, VllmRow
    from tltui.questions.warmup.page import WarmupRow
    from tltui.questions.warmup.recorded_calls import WarmupPlan


class RunViews:
    """The views of a run as methods: `run.recompiles(rank=0)` is `tltui.recompiles(run, "0:")`."""

    __slots__ = ()

    def _ask(self, name: str, ref: str | Node, rank: int | None, frame: int | None, **keywords: Any) -> Any:
        return FUNCTIONS["ask_run"](self, name, ref, rank, frame, keywords)

    def absent(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[AbsentRow, Absence]:
        """Absent artifacts and the reasons: failed, cut off, not logged, cached. A row per artifact and reason."""
        return self._ask("absent", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def autotune(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[TuningRow, AutotuneReport]:
        """Autotuning by operation and shape: choices, winner, cost of the search. One row per search, the most expensive first."""
        return self._ask("autotune", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def blocks(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[BlockRow, tuple[CompileBlocks, ...]]:
        """Repeated blocks of a model by isomorphism of their graphs, a row per group of equal blocks.

        `separate_s` predicts the compile time with each block compiled separately (`block.compile()`). Only compiles with repeated
        blocks have rows; of more than 200 compiles the 200 slowest are examined.
        """
        return self._ask("blocks", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def caches(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[CacheRow, CachesReport]:
        """Cache hits, misses, bypasses: a row per cache lookup of a compile. `data.misses` has the differences of
        missed keys, `data.cold_start` the compile time that the next process saves. `data.vllm` has the contents of vLLM's
        cache directories, and the factors that make their hashes differ.
        """
        return self._ask("caches", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def cudagraphs(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[CudagraphRow, CudagraphReport]:
        """CUDA graphs by compile: used, skipped with reason and line, or recorded for many sizes. One row per compile with a record."""
        return self._ask("cudagraphs", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def exports(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[ExportRow, Exports]:
        """Export runs: values that export guessed, could not determine or found to be incorrect, and why. One row per finding."""
        return self._ask("exports", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def fusion(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[FusionRow, FusionReport]:
        """Operations by kernel, one row per kernel. Nodes that were not fused, with reasons, are in
        `data.compiles[…].units[…].reasons`.
        """
        return self._ask("fusion", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def guards(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, filter: str = "", width: int = 100,
    ) -> Result[GuardRow, GuardTable | CompileGuards | tuple[CompileGuards, ...]]:
        """Guards of compiled code. For one compile a row per guard; for several a row per kind of guard and compile.

        `filter`: only guards with this text, a regular expression; `kind:WORD`, `source:WORD` and `is:failed` restrict further.
        """
        return self._ask("guards", ref, rank, frame, filter=filter, width=width)  # type: ignore[no-any-return]

    def layers(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, layer: str = "", merge: bool = False, width: int = 100,
    ) -> Result[LayerRow, tuple[CompileLayers, ...]]:
        """Kernels, graph nodes and source lines by model layer, with memory traffic and time. A row per layer.

        For several compiles the page shows the number of layers of each. Rows for many compiles take a while to compute.

        `layer`: only this layer: `layers.3.attn`, `layers.*.attn`, or its last part. `merge`: merge the iterations, as `layers.*`.
        """
        return self._ask("layers", ref, rank, frame, layer=layer, merge=merge, width=width)  # type: ignore[no-any-return]

    def matrix(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, show: str = "", width: int = 100,
    ) -> Result[CellRow, MatrixReport]:
        """A grid of ranks by compiles, one row per cell. Ranks that did the same share one row.

        `show`: content of the cells of the page: difference, status, graph, time, cache.
        """
        return self._ask("matrix", ref, rank, frame, show=show, width=width)  # type: ignore[no-any-return]

    def memory(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[MemoryRow, tuple[CompileMemory, ...]]:
        """Tensors saved for backward by layer and line. A row per tensor. The estimated peak of each compiled graph is in
        `data[…].graphs[…].peaks`, recomputed nodes in `data[…].saved[…].recomputed`.
        """
        return self._ask("memory", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def metrics(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[MetricRow, RunMetrics | CompileMetrics]:
        """All fields of the metrics. For one compile a row per field; for several a row per number, with sum, minimum and maximum."""
        return self._ask("metrics", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def passes(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[PassRow, Passes]:
        """Graph changes by each compiler step, one row per step."""
        return self._ask("passes", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def problems(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[ProblemRow, Problems]:
        """Errors, graph breaks, restarts, the recompile limit: a row per kind and place, worst first."""
        return self._ask("problems", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def provenance(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, unit: str = "", kernel: str = "", width: int = 100,
    ) -> Result[ProvenanceRow, Coverages | ProvenanceJson]:
        """Source lines, graph nodes and kernels that belong together. For one compile a row per kernel; for several a row per lowering,
        with counts of the known links.

        `unit`: only this unit: forward, backward, inference. `kernel`: only this kernel: NAME, NAME:HANDLE or its key.
        """
        return self._ask("provenance", ref, rank, frame, unit=unit, kernel=kernel, width=width)  # type: ignore[no-any-return]

    def rank_differences(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[DifferenceRow, RanksReport]:
        """How the ranks of a job differ: in which property, on which ranks, and since when. One row per difference and rank group."""
        return self._ask("ranks", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def recompiles(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[RecompileRow, Recompiles]:
        """The failed guards of earlier compiles, with the changed values: one row per reason. The page and
        `data.frames[…].variations` show how to fix them.
        """
        return self._ask("recompiles", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def runtime(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, sort: str = "", width: int = 100,
    ) -> Result[RuntimeRow, RuntimeJson | RuntimesJson]:
        """Run time from profiles of `torch.profiler`: a row per kernel, in microseconds. `data` has shares, eager code, guards.

        It reads the profiles given to `tltui.open` or next to the logs; without a profile there is no row, and the page shows
        how to record one. From then on `layers` and `ls` of this run show measured times too. `sort`: the order of the page's tables:
        time, mean, median, calls, alone, kernels, line, name, code. Raises `ProfileError` if none matches the trace.
        """
        return self._ask("runtime", ref, rank, frame, sort=sort, width=width)  # type: ignore[no-any-return]

    def shapes(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[ShapeRow, ShapesReport]:
        """Dynamic sizes: symbols, their guards, and specializations with the source line. A row per symbol."""
        return self._ask("shapes", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def stacks(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[StackRow, Stacks]:
        """Where in the code compilations happen: their stacks as one tree, one row per frame."""
        return self._ask("stacks", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def stragglers(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[StragglerRow, Stragglers]:
        """Which ranks were late or slow, and which ranks waited for them. One row per finding."""
        return self._ask("stragglers", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def summary(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[SummaryRow, Summary | Study]:
        """The outcome of the run, and where to look first. One row: the counts. `data` is a `Study` for a single compile."""
        return self._ask("summary", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def timing(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, sort: str = "", width: int = 100,
    ) -> Result[TimingRow, Timing]:
        """Compile time: one row per phase of each compile, in own seconds, which add up.

        `sort`: order of the page's tables: own, total, count, longest, ranks, phase, name. `data` also has functions, ranks, kernels,
        gaps.
        """
        return self._ask("timing", ref, rank, frame, sort=sort, width=width)  # type: ignore[no-any-return]

    def vllm(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[VllmRow, Vllm]:
        """Compile calls of vLLM, piecewise graphs by compile range, and changes by each pass. One row per piece."""
        return self._ask("vllm", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def warmup(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[WarmupRow, WarmupPlan]:
        """Calls that compile the functions of a run in advance: a row per call, then a row per compile without one, with the reason."""
        return self._ask("warmup", ref, rank, frame, width=width)  # type: ignore[no-any-return]

    def where(
        self, ref: str | Node = "", *, rank: int | None = None, frame: int | None = None, width: int = 100,
    ) -> Result[WhereRow, WhereReport]:
        """Where a job hangs: the compile phase of each rank, its start, and ranks that are not compiling. A row per group of ranks."""
        return self._ask("where", ref, rank, frame, width=width)  # type: ignore[no-any-return]
