"""What several pages say of compiles that failed, in the same words."""

from __future__ import annotations

from tltui.model.outcome import Eager

SKIPS = "All of it runs in eager mode from then on, also calls that fit an earlier compile. What it calls is compiled by itself."
GIVEN_UP = {
    Eager.SKIPPED: "Torch can't go on after a graph break in it.",
    Eager.SUPPRESSED: (
        "suppress_errors is on, so the error did not reach the caller; under fullgraph=True it does, and torch logs no difference."
    ),
}
NO_BREAKS = "It is an error because no graph break was allowed: fullgraph=True, or error_on_graph_break."
NO_RECOMPILES = "It is an error because error_on_recompile is set: these guards did not hold for the call."
UNSURE = (
    "Torch before 2.11 does not log whether this reached the caller: with fullgraph=True it did; without it torch gave the "
    "function up, and all of it runs in eager mode."
)
INTERRUPTED = "By something that is no error: Ctrl-C, or an exit. Torch logs no more of it."
LIMIT_EAGER = (
    "Since then it is not compiled again: calls that fit an earlier compile use it, all others run in eager mode. "
    "What it calls is not compiled anew from there either, only run as it was compiled before."
)
LIMIT_RAISES = "It is an error for calls that fit none of its compiles: fullgraph=True, or fail_on_recompile_limit_hit."
