"""What a compile that failed did to the program: its exception reached the caller, or the function ran on in eager mode.

Torch decides it in `ConvertFrame.__call__` (torch/_dynamo/convert_frame.py, 2.4 to 2.15):

- `fullgraph=True` does not go that way at all, and with `error_on_graph_break` it raises: whatever fails reaches the caller.
- A *soft* failure, an `Unsupported` or a `UserError`, is a graph break that torch could not resume from. It skips the function.
  Since torch 2.11 it then always writes the break (`InstructionTranslator.run`); what has none was not allowed to break.
- The recompile limit is a soft failure of its own: the function runs only what is compiled already.
- Anything else is raised, unless `suppress_errors` is set.

Up to torch 2.10 a graph break in a loop skipped the function without a failure: the break is there, and no graph.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from tltui.trace.batch import Metrics


class Eager(str, Enum):
    """Why a whole function runs in eager mode."""

    SKIPPED = "skipped"
    """Torch can't resume from a graph break in it."""
    SUPPRESSED = "suppressed"
    """`suppress_errors` is set."""
    LIMIT = "recompile_limit"

    def __str__(self) -> str:
        return self.value


class Outcome(NamedTuple):
    """What became of the call."""

    eager: Eager | None
    reached: bool | None
    """Whether an exception reached the caller; None: this torch does not log it."""
    no_breaks: bool = False
    """A graph break was not allowed (`fullgraph=True`, `error_on_graph_break`)."""


FINE = Outcome(None, False)
SOFT = frozenset(
    ("Unsupported", "UserError", "ArgsMismatchError", "AttributeMutationError", "CondOpArgsMismatchError", "InfiniteGeneratorError",
     "SideEffectsError", "UnknownPropertiesDuringBackwardTrace")
)  # fmt: skip
"""The last six are subclasses of `Unsupported` up to torch 2.10."""
RAISED = frozenset(("UncapturedHigherOrderOpError", "ResumePrologueTracingError", "FailOnRecompileLimitHit"))
"""Never suppressed."""
LOGS_SKIPS = (2, 11)
"""Since this torch every skipped function has a record of its break."""
_UNTRACED = ("Attempted to guard on uninitialized nn.Module", "Excessive RestartAnalysis() calls")
"""Soft failures that are raised outside of tracing: they have no record of a break, whatever was allowed."""
_CLASS = re.compile(r"^<class '(?P<name>[^'\n]+)'>$")
_LIMIT_TYPE = re.compile("(?:RecompileLimit|CacheLimit)")
_LIMIT_TEXT = re.compile("recompile limit|recompile_limit|cache_size_limit reached")


def error_name(fail_type: str | None) -> str:
    """The name of an exception without its module: before torch 2.5 it is written as `<class 'torch._dynamo.exc.Unsupported'>`.
    A text that is no such name is left as it is."""
    text = (fail_type or "").strip()
    name = match["name"] if (match := _CLASS.match(text)) else text
    last = name.rpartition(".")[2]
    return last if name.replace(".", "").isidentifier() and last else text


def hit_limit(failed: Metrics) -> bool:
    """Whether the recompile limit was reached."""
    if _LIMIT_TYPE.search(failed.fail_type or ""):
        return True
    return error_name(failed.fail_type) in SOFT and _LIMIT_TEXT.search(failed.fail_reason or "") is not None


def outcome_of(failed: Metrics, breaks: int, last_breaks: bool) -> Outcome:
    """The outcome of a failed compile with so many records of breaks; `last_breaks`: one of them is in its last attempt."""
    kind = error_name(failed.fail_type)
    if kind in RAISED:
        return Outcome(None, True)
    if hit_limit(failed):
        return Outcome(Eager.LIMIT, False)
    if kind not in SOFT:
        return Outcome(Eager.SUPPRESSED, False) if failed.suppressed else Outcome(None, True)
    if last_breaks:
        return Outcome(Eager.SKIPPED, False)
    if not _logs_skips(failed.pytorch_version):
        return Outcome(Eager.SKIPPED, False) if breaks else Outcome(None, None)
    if (failed.fail_reason or "").startswith(_UNTRACED):
        return Outcome(None, None)
    return Outcome(None, True, no_breaks=kind in ("Unsupported", "UserError"))


def _logs_skips(version: str | None) -> bool:
    parts = (version or "").split(".")
    return len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() and (int(parts[0]), int(parts[1])) >= LOGS_SKIPS


def interrupted(ended: Metrics, has_graph: bool) -> bool:
    """Whether the compile was broken off by what is no `Exception`, as Ctrl-C. Torch then writes metrics without a failure.

    Torch 2.4 to 2.6 writes the same for a function that it skips; only a graph tells the two apart there.
    """
    if ended.fail_type is not None or ended.guarded is not False or ended.graph_op_count is not None:
        return False
    return has_graph or ended.pytorch_version is not None  # stated since 2.10
