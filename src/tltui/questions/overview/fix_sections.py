"""The fix of a finding in one line, for the first screen: of recompilations by their guards, of graph breaks by torch's hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tltui.documents import format as fmt
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import cached_breaks, cached_failures, from_restart
from tltui.questions.problems.problem_list import run_steps
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import frame_recompiles, recompiles_of
from tltui.questions.recompiles.guard_grammar import whose
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.recompiles.recompile_sections import names_of_remedies, remaining_text
from tltui.questions.recompiles.variations import Variation
from tltui.text.sanitize import sanitize

RECOMPILES_READ = 16
"""Recompilations of a function up to which its guards are read for the first screen; it must not wait for more."""
HINT = "torch's hint: "
_NO_STEP = (
    "Please report", "Please file", "This graph break is fundamental", "Your code may result in an error",
    "It may be possible to write Dynamo tracing rules",
)  # fmt: skip
"""Beginnings of hints that are no change to the program."""


def fix_of_recompiles(compile_: Compile) -> str:
    """Return the line that removes most recompilations of the function, and its effect; '' for none, or too many to read."""
    recompiles = recompiles_of(compile_.frame)
    if not 0 < len(recompiles) <= RECOMPILES_READ:
        return ""
    explained = [explained_of(each) for each in recompiles]
    guards = run_steps(guards_of(compile_.frame, explained))
    result = frame_recompiles(compile_.frame, explained, explained, guards)
    best = next((variation for variation in result.variations if _has_effect(variation)), None)
    prediction = best.prediction if best is not None else None
    if result.together is not None and (prediction is None or result.together.fewest < prediction.fewest):
        changes = fmt.plural(len(result.together.names), "change")
        return f"{remaining_text(result.together)} with {changes}: {names_of_remedies(result.together)}"
    if best is None or prediction is None:
        return ""
    how = f"{'; '.join(best.code)} before the first call" if best.code else best.environment
    return f"{remaining_text(prediction)} with {how}"


def _has_effect(variation: Variation) -> bool:
    """Return whether a line of code or a variable removes recompilations by itself."""
    prediction = variation.prediction
    return bool(variation.code or variation.environment) and prediction is not None and prediction.fewest < prediction.before


def fix_of_break(compile_: Compile, headline: str = "") -> str:
    """Return torch's first hint on a graph break of the compile in the user's own code; '' for none. `headline`: of the break."""
    breaks = (each for each in cached_breaks(compile_) if headline in ("", each.headline))
    own = (each for each in breaks if each.file is None or not whose(each.file))
    return _hint(hint for each in own for hint in each.hints)


def fix_of_failure(compile_: Compile) -> str:
    """Return torch's first hint on the error of a compile; '' for none."""
    explained = (from_restart(each.reason) for each in cached_failures(compile_) if "Explanation:" in each.reason)
    return _hint(hint for each in explained for hint in each.hints)


def _hint(hints: Iterator[str]) -> str:
    hint = next((hint for hint in hints if not hint.startswith(_NO_STEP)), "")
    return f"{HINT}{fmt.one_line(sanitize(hint))}" if hint else ""


def fix_at(run: Run, ref: str, fix_of: Callable[[Compile], str]) -> str:
    """Return the fix for the compile at an address; '' if the address is none of a compile."""
    try:
        node = run.resolve(ref)
    except BadAddress:
        return ""
    return fix_of(node) if isinstance(node, Compile) else ""
