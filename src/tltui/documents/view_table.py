"""The table of views: pages about the run or a part of it, each with a key, a page `@name`, and a command of its name.

Adding a question is one pure function in `analyses/`, one module here in `documents/` with a function `document`, and one
line in this table. It is kept apart from the code of the views, which is imported when one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """One view."""

    name: str
    """The page `@name` and the command `tltui name`."""
    key: str
    """The digit that opens it, '' for none."""
    help: str
    """What it answers, as a phrase."""
    module: str
    """The module of `tltui.documents` whose `document(run, scope, options)` makes it."""
    sorts: tuple[str, ...] = ()
    """The orders that its tables can be in, the default first."""


VIEWS: tuple[View, ...] = (
    View("summary", "1", "what happened in the run, and what to look at first", "view_summary"),
    View("problems", "2", "errors, graph breaks, restarts, the recompile limit: each kind once, the worst first", "view_problems"),
    View("recompiles", "3", "which guard of which earlier compile failed, what varied, and what helps", "view_recompiles"),
    View("stacks", "4", "where in the code the compilations take place: their stacks as one tree", "view_stacks"),
    View("guards", "5", "what compiled code relies on: guards by source, their cost, and which failed later", "view_guards"),
    View("shapes", "6", "dynamic sizes: each symbol, its guards, what was fixed and by which line", "view_shapes"),
    View("caches", "7", "cache hits, misses, bypasses: why, time saved, and how a missed key differs", "view_caches"),
    View("timing", "8", "where compile time went: by phase, function, compile and rank; a flame view of a compile", "view_timing",
         ("self", "total", "count", "name")),
    View("provenance", "", "which line of source became which nodes and kernels, and how much of it is known", "view_provenance"),
    View("passes", "", "what each step of the compiler changed in the graph: nodes added, removed, replaced", "view_passes"),
    View("absent", "", "which artifacts are not in the trace, and why: failed, cut off, not logged, cached", "view_absent"),
    View("metrics", "", "all fields of the metrics; settings that differ between compiles and ranks", "view_metrics"),
    View("exports", "", "export runs: what export guessed, could not decide, or found wrong, and why", "view_exports"),
    View("vllm", "", "the compile calls of vLLM, their pieces by ranges of sizes, and what each pass did", "view_vllm"),
)

BY_NAME = {view.name: view for view in VIEWS}
