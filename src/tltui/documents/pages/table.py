"""The table of views: pages about the run or a part of it, each with a key, a page `@name`, and a command of its name.

Adding a question is one pure function in `analyses/`, one module `NAME.py` beside this one with a function
`document(run, scope, options)`, and one line in this table. It is kept apart from the code of the views, which is imported
when one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """One view."""

    name: str
    """The page `@name`, the command `tltui name` and the module `name` beside this one."""
    key: str
    """The key that opens it, '' for none."""
    help: str
    """What it answers, as a phrase."""
    sorts: tuple[str, ...] = ()
    """The orders that its tables can be in, or what its cells can tell, the default first."""
    sorted: str = "sorted by"
    """What is said before the name of the one that was chosen."""


VIEWS: tuple[View, ...] = (
    View("summary", "1", "what happened in the run, and what to look at first"),
    View("problems", "2", "errors, graph breaks, restarts, the recompile limit: each kind once, the worst first"),
    View("recompiles", "3", "which guard of which earlier compile failed, what varied, and what helps"),
    View("stacks", "4", "where in the code the compilations take place: their stacks as one tree"),
    View("guards", "5", "what compiled code relies on: guards by source, their cost, and which failed later"),
    View("shapes", "6", "dynamic sizes: each symbol, its guards, what was fixed and by which line"),
    View("caches", "7", "cache hits, misses, bypasses: why, time saved, and how a missed key differs"),
    View("timing", "8", "where compile time went: by phase, function, compile and rank; a flame view of a compile",
         ("own", "total", "count", "name")),
    View("runtime", "T", "where run time goes, by a profile: compiles, kernels, lines, guards, eager code",
         ("time", "mean", "calls", "name", "code")),
    View("ranks", "9", "in what the ranks of a job differ: which ranks, in what, and since when"),
    View("matrix", "M", "all ranks by all compiles, a sign a cell: what differs, status, graphs, time, caches",
         ("difference", "status", "graph", "time", "cache"), "the cells tell:"),
    View("stragglers", "", "which ranks were late or slow, in what, who waited for them, whose clock is off"),
    View("where", "W", "where it hangs: what is open on which ranks, since when, and who has nothing open"),
    View("provenance", "", "which line of source became which nodes and kernels, and how much of it is known"),
    View("layers", "", "which kernels, nodes and lines belong to which layer of the model, and what they move and take",
         ("each", "merged"), "iterations:"),
    View("fusion", "", "which operations went into which kernel, what was not fused and why"),
    View("passes", "", "what each step of the compiler changed in the graph: nodes added, removed, replaced"),
    View("absent", "", "which artifacts are not in the trace, and why: failed, cut off, not logged, cached"),
    View("metrics", "", "all fields of the metrics; settings that differ between compiles and ranks"),
    View("exports", "", "export runs: what export guessed, could not decide, or found wrong, and why"),
    View("vllm", "", "the compile calls of vLLM, their pieces by ranges of sizes, and what each pass did"),
)

BY_NAME = {view.name: view for view in VIEWS}
