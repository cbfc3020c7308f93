"""The table of views: name, key, help and sort orders of each page about the run or a part of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """One view."""

    name: str
    """The page `@name` and the command `tltui name`."""
    key: str
    """The key that opens it, '' for none."""
    help: str
    """What it answers, as a phrase."""
    module: str
    """The module below `tltui.questions` whose function `document` builds the page."""
    sorts: tuple[str, ...] = ()
    """The orders that its tables can be in, or what its cells can tell, the default first."""
    sorted: str = "sorted by"
    """What is said before the name of the one that was chosen."""

    @property
    def path(self) -> str:
        """The module of the page, to import."""
        return f"tltui.questions.{self.module}"


VIEWS: tuple[View, ...] = (
    View("summary", "1", "what happened in the run, and what to look at first", "overview.summary_page"),
    View(
        "problems", "2", "errors, graph breaks, restarts, the recompile limit: each kind once, the worst first", "problems.page"
    ),
    View("recompiles", "3", "which guard of which earlier compile failed, what varied, and what helps", "recompiles.page"),
    View("stacks", "4", "where in the code the compilations take place: their stacks as one tree", "stacks.page"),
    View("guards", "5", "what compiled code relies on: guards by source, their cost, and which failed later", "guards.page"),
    View("shapes", "6", "dynamic sizes: each symbol, its guards, what was fixed and by which line", "shapes.page"),
    View("caches", "7", "cache hits, misses, bypasses: why, time saved, and how a missed key differs", "caches.page"),
    View(
        "timing",
        "8",
        "where compile time went: by phase, function, compile and rank; a flame view of a compile",
        "timing.page",
        ("own", "total", "count", "name"),
    ),
    View(
        "runtime",
        "T",
        "where run time goes, by a profile: compiles, kernels, lines, guards, eager code",
        "runtime.page",
        ("time", "mean", "calls", "name", "code"),
    ),
    View("ranks", "9", "in what the ranks of a job differ: which ranks, in what, and since when", "ranks.page"),
    View(
        "matrix",
        "M",
        "all ranks by all compiles, a sign a cell: what differs, status, graphs, time, caches",
        "ranks.matrix_page",
        ("difference", "status", "graph", "time", "cache"),
        "the cells tell:",
    ),
    View(
        "stragglers",
        "",
        "which ranks were late or slow, in what, who waited for them, whose clock is off",
        "ranks.stragglers_page",
    ),
    View("where", "W", "where it hangs: what is open on which ranks, since when, and who has nothing open", "hang.page"),
    View(
        "provenance", "", "which line of source became which nodes and kernels, and how much of it is known", "provenance.page"
    ),
    View(
        "layers",
        "",
        "which kernels, nodes and lines belong to which layer of the model, and what they move and take",
        "layers.page",
        ("each", "merged"),
        "iterations:",
    ),
    View("fusion", "", "which operations went into which kernel, what was not fused and why", "fusion.page"),
    View("passes", "", "what each step of the compiler changed in the graph: nodes added, removed, replaced", "passes.page"),
    View(
        "absent",
        "",
        "which artifacts are not in the trace, and why: failed, cut off, not logged, cached",
        "problems.absent_page",
    ),
    View("metrics", "", "all fields of the metrics; settings that differ between compiles and ranks", "metrics.page"),
    View("exports", "", "export runs: what export guessed, could not decide, or found wrong, and why", "exports.page"),
    View("vllm", "", "the compile calls of vLLM, their pieces by ranges of sizes, and what each pass did", "vllm.page"),
)

BY_NAME = {view.name: view for view in VIEWS}
