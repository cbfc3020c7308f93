"""Index of the questions, made by `python tools/renew.py` from `QUESTION` in their modules, which it does not import."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """What is needed of a question before its page is asked for; the fields are those of `questions.question.Question`."""

    name: str
    key: str
    help: str
    group: str
    help_order: int
    module: str
    """The module with its `QUESTION`."""
    sorts: tuple[str, ...] = ()
    sort_label: str = "sorted by"
    in_debug_dir: bool = False
    """Whether a torch_compile_debug directory has what it shows."""


QUESTIONS: tuple[Entry, ...] = (
    Entry(
        "summary", "1", "outcome of the run, and where to look first",
        "look at a run", 10, "tltui.questions.overview.summary_page",
        in_debug_dir=True,
    ),
    Entry(
        "problems", "2", "errors, graph breaks, restarts, the recompile limit: grouped by kind, worst first",
        "look at a run", 20, "tltui.questions.problems.page",
    ),
    Entry(
        "recompiles", "3", "why functions were recompiled: the guard that failed, the changed values, and the fix",
        "find causes", 30, "tltui.questions.recompiles.page",
    ),
    Entry(
        "stacks", "4", "where in the code compilations happen: their stacks as one tree",
        "find causes", 65, "tltui.questions.stacks.page",
    ),
    Entry(
        "guards", "5", "guards by source, their cost, and later failures",
        "find causes", 50, "tltui.questions.guards.page",
        sorts=("compile", "guards", "latency", "name", "failed", "cause", "line"),
    ),
    Entry(
        "shapes", "6", "dynamic sizes: symbols, their guards, and specializations with the source line",
        "find causes", 60, "tltui.questions.shapes.page",
    ),
    Entry(
        "caches", "7", "cache hits, misses, bypasses: reasons, time saved, cold start, differences of missed keys",
        "find causes", 70, "tltui.questions.caches.page",
        sorts=("saved", "compile", "time", "name"),
    ),
    Entry(
        "timing", "8", "compile time by phase, function, compile and rank; a flame graph of each compile",
        "find causes", 80, "tltui.questions.timing.page",
        sorts=("own", "total", "count", "longest", "ranks", "phase", "name"),
    ),
    Entry(
        "runtime", "T", "run time from a profile: compiles, kernels, lines, guards, eager code",
        "find causes", 90, "tltui.questions.runtime.page",
        sorts=("time", "mean", "median", "calls", "alone", "kernels", "line", "name", "code"),
    ),
    Entry(
        "ranks", "9", "how the ranks of a job differ: in which property, on which ranks, and since when",
        "ranks and hangs", 100, "tltui.questions.ranks.page",
    ),
    Entry(
        "matrix", "M", "a grid of ranks by compiles: differences, status, graphs, compile time or cache hits",
        "ranks and hangs", 110, "tltui.questions.ranks.matrix_page",
        sorts=("difference", "status", "graph", "time", "cache"), sort_label="the cells show:",
    ),
    Entry(
        "stragglers", "", "which ranks were late or slow, which ranks waited for them, and whose clock is off",
        "ranks and hangs", 120, "tltui.questions.ranks.stragglers_page",
        sorts=("difference", "slowest", "median", "ratio", "name"),
    ),
    Entry(
        "where", "W", "where a job hangs: the compile phase of each rank, its start, and ranks that are not compiling",
        "ranks and hangs", 130, "tltui.questions.hang.page",
    ),
    Entry(
        "provenance", "", "source lines, graph nodes and kernels that belong together, and the share of linked nodes",
        "find causes", 140, "tltui.questions.provenance.page",
        in_debug_dir=True,
    ),
    Entry(
        "layers", "", "kernels, graph nodes and source lines by model layer, with memory traffic and time",
        "find causes", 150, "tltui.questions.layers.page",
        sorts=("each", "merged"), sort_label="iterations:", in_debug_dir=True,
    ),
    Entry(
        "blocks", "", "repeated blocks of a model, and the predicted effect of compiling each block separately",
        "find causes", 155, "tltui.questions.blocks.page",
    ),
    Entry(
        "memory", "", "tensors saved for backward by layer and line, and the estimated peak of each graph",
        "find causes", 155, "tltui.questions.memory.page",
        sorts=("kind", "size", "name", "layer", "line", "forward", "backward"), in_debug_dir=True,
    ),
    Entry(
        "fusion", "", "operations by kernel, and nodes that were not fused, with reasons",
        "find causes", 160, "tltui.questions.fusion.page",
        in_debug_dir=True,
    ),
    Entry(
        "passes", "", "graph changes by each compiler step: nodes added, removed, replaced",
        "find causes", 170, "tltui.questions.passes.page",
        in_debug_dir=True,
    ),
    Entry(
        "absent", "", "absent artifacts and the reasons: failed, cut off, not logged, cached",
        "look at a run", 680, "tltui.questions.problems.absent_page",
    ),
    Entry(
        "metrics", "", "every field of the compilation metrics; settings that differ between compiles or ranks",
        "look at a run", 690, "tltui.questions.metrics.page",
        sorts=("group", "sum", "records", "max", "time", "name"),
    ),
    Entry(
        "exports", "", "torch.export runs: values that export guessed, could not determine or found to be incorrect, and why",
        "find causes", 700, "tltui.questions.exports.page",
    ),
    Entry(
        "vllm", "", "vLLM: compile calls, piecewise graphs by compile range, and changes by each pass",
        "find causes", 710, "tltui.questions.vllm.page",
    ),
    Entry(
        "cudagraphs", "", "CUDA graphs by compile: used, skipped with the reason and line, or recorded for many sizes",
        "find causes", 720, "tltui.questions.cudagraphs.page",
        sorts=("compile", "use", "recorded", "sizes", "recording", "name"),
    ),
    Entry(
        "autotune", "", "autotuning by operation and shape: choices, winner, cost of the search, your lines",
        "find causes", 730, "tltui.questions.autotune.page",
        sorts=("search", "time", "gain", "choices", "winner", "name", "warps", "stages"), in_debug_dir=True,
    ),
    Entry(
        "warmup", "", "calls that compile the functions in advance, with the recorded shapes; as a script with -o warmup.py",
        "record and follow", 600, "tltui.questions.warmup.page",
        sorts=("began", "time", "name"),
    ),
)
BY_NAME = {question.name: question for question in QUESTIONS}
