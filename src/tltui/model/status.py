"""Status and facts of a compile.

The status is the first that applies: error, break, empty, ok; without metrics running while the job may still be writing, then
missing. What only a text log tells of is seen. The facts stay separate beside
it, since one compile may well have restarted, broken its graph and failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from tltui.model.ref import CompileId
from tltui.trace.batch import Metrics, Started
from tltui.trace.log import Log


class Status(str, Enum):
    """What became of a compile."""

    ERROR = "error"
    BREAK = "break"
    EMPTY = "empty"
    OK = "ok"
    MISSING = "missing"
    RUNNING = "running"
    SEEN = "seen"

    def __str__(self) -> str:
        return self.value


GLYPHS = {Status.ERROR: "✗", Status.BREAK: "⚑", Status.EMPTY: "∅", Status.OK: "✓", Status.MISSING: "?",
          Status.RUNNING: "◌", Status.SEEN: "·"}  # fmt: skip
ASCII_GLYPHS = {Status.ERROR: "x", Status.BREAK: "!", Status.EMPTY: "0", Status.OK: "+", Status.MISSING: "?",
                Status.RUNNING: "o", Status.SEEN: "."}  # fmt: skip
DEFAULT_LIMIT = 8
"""Compiles of a function that torch keeps unless the limit is set (`cache_size_limit`, since torch 2.7 `recompile_limit`)."""
RECOMPILE_GLYPH, ASCII_RECOMPILE = "↻", "~"
MEANING = {
    Status.ERROR: "the compile failed, or its backward did",
    Status.BREAK: "a graph break: the rest of the function was compiled separately, or ran in eager mode",
    Status.EMPTY: "no operations to compile: nothing was gained, and nothing lost",
    Status.OK: "compiled",
    Status.MISSING: "no metrics: still compiling, killed, or cut off",
    Status.RUNNING: "no metrics yet: the job may still be compiling it",
    Status.SEEN: "seen in a text log, which does not tell what became of it",
}


def glyph(status: Status | None, ascii_: bool = False) -> str:
    """The mark of a status; a dot for what has none."""
    if status is None:
        return "." if ascii_ else "·"
    return (ASCII_GLYPHS if ascii_ else GLYPHS)[status]


class Owner(Protocol):
    """The process of a compile, as far as facts need it."""

    @property
    def log(self) -> Log:
        """Its log."""


class Recorded(Protocol):
    """What facts and statuses are made of. `tltui.model.nodes.Compile` is one."""

    metrics: list[Metrics]
    counts: Counter[str]
    attempts: frozenset[int]
    id: CompileId
    started: Started | None
    started_attempt: int | None

    @property
    def process(self) -> Owner:
        """Whose it is."""

    @property
    def records(self) -> Sequence[int]:
        """Numbers of its records in the log."""

    @property
    def is_compile(self) -> bool:
        """Whether it has a status at all."""

    @property
    def is_recompile(self) -> bool:
        """Whether its frame had been compiled before."""

    @property
    def logs_breaks(self) -> bool:
        """Whether its torch writes records of graph breaks."""

    @property
    def log_ended(self) -> bool:
        """Whether nothing more will come."""

    @property
    def facts(self) -> Facts:
        """See `facts_of`."""

    @property
    def status(self) -> Status | None:
        """See `status_of`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a compile beside its status."""

    has_metrics: bool
    waiting: bool
    """It has no metrics yet, and its log may go on."""
    failed: bool
    """The compile of the frame failed."""
    fail_type: str | None
    fail_reason: str | None
    backward_failed: bool
    backward_fail_reason: str | None
    breaks: int
    """Graph breaks: records of `dynamo_graph_break_reason`; in logs without them, restart reasons."""
    restarts: tuple[str, ...]
    """Why the analysis started again."""
    attempts: int
    skipped: bool
    """No operation was captured."""
    recompile_limit: bool
    """The frame had been compiled as often as `recompile_limit` allows; it runs in eager mode from now on."""
    has_backward: bool
    cudagraph_skip_reason: str | None
    graph_op_count: int | None
    guard_count: int | None
    start_us: float | None
    duration_s: float | None
    """Forward and backward compile together."""
    backward_s: float | None


class Tally(NamedTuple):
    """Counts that headings show. They add up over compiles, processes and ranks."""

    compiles: int = 0
    breaks: int = 0
    errors: int = 0
    recompiles: int = 0
    restarts: int = 0
    ok: int = 0
    broken: int = 0
    empty: int = 0
    missing: int = 0
    running: int = 0
    seconds: float = 0.0

    def __add__(self, other: object) -> Tally:
        return self._with(other, 1) if isinstance(other, Tally) else NotImplemented

    def __sub__(self, other: Tally) -> Tally:
        return self._with(other, -1)

    def _with(self, other: Tally, sign: int) -> Tally:
        counts = [int(a + sign * b) for a, b in zip(self[:-1], other[:-1], strict=True)]
        return Tally(*counts)._replace(seconds=self.seconds + sign * other.seconds)

    @classmethod
    def of(cls, compile_: Recorded) -> Tally:
        """What one compile adds."""
        if not compile_.is_compile:
            return cls(breaks=compile_.counts["dynamo_graph_break_reason"])
        facts, status = compile_.facts, compile_.status
        return cls(
            compiles=1,
            breaks=facts.breaks,
            errors=int(status is Status.ERROR),
            recompiles=int(compile_.is_recompile),
            restarts=len(facts.restarts),
            ok=int(status is Status.OK),
            broken=int(status is Status.BREAK),
            empty=int(status is Status.EMPTY),
            missing=int(status is Status.MISSING),
            running=int(status is Status.RUNNING),
            seconds=facts.duration_s or 0.0,
        )


def facts_of(compile_: Recorded) -> Facts:
    """Derive the facts from the metrics and the counted artifacts."""
    forward = [m for m in compile_.metrics if m.event == "compilation_metrics"]
    backward = [m for m in compile_.metrics if m.event.startswith(("bwd_comp", "aot_autograd_b")) and not m.is_runtime]
    failed = next((m for m in forward if m.fail_type), None)
    backward_failed = next((m for m in backward if m.fail_type), None)
    restarts = tuple(reason for m in forward for reason in m.restart_reasons or ())
    breaks = compile_.counts["dynamo_graph_break_reason"]
    if not compile_.logs_breaks:
        breaks = max(breaks, len(restarts))
    durations = [m.duration_s for m in forward if m.duration_s is not None]
    backward_s = [m.duration_s for m in backward if m.duration_s is not None]
    last = forward[-1] if forward else None
    skip_reason = next((m.cudagraph_skip_reason for m in compile_.metrics if m.cudagraph_skip_reason), None)
    # with fullgraph=True the limit is an error of its own
    limit = failed is not None and (
        "recompile limit" in (failed.fail_reason or "").lower() or "RecompileLimit" in (failed.fail_type or "")
    )
    silent = hit_silently(compile_)
    return Facts(
        has_metrics=bool(forward) or silent,
        waiting=not forward and not compile_.log_ended,
        failed=failed is not None or silent or bool(compile_.counts["dynamo_error"] and not forward and compile_.log_ended),
        fail_type=failed.fail_type if failed else None,
        fail_reason=failed.fail_reason if failed else None,
        backward_failed=backward_failed is not None,
        backward_fail_reason=backward_failed.fail_reason if backward_failed else None,
        breaks=breaks,
        restarts=restarts,
        attempts=max(len(compile_.attempts), 1),
        skipped=bool(forward) and failed is None and not any(m.graph_op_count for m in forward),
        recompile_limit=limit or silent,
        has_backward=bool(backward),
        cudagraph_skip_reason=skip_reason,
        graph_op_count=last.graph_op_count if last else None,
        guard_count=last.guard_count if last else None,
        start_us=min((m.start_us for m in forward if m.start_us is not None), default=None),
        duration_s=sum(durations + backward_s) if durations or backward_s else None,
        backward_s=sum(backward_s) if backward_s else None,
    )


def hit_silently(compile_: Recorded) -> bool:
    """Whether all that was written of a compile is why the earlier ones did not fit: torch 2.5 writes no more than that when it
    hits the recompile limit. Later ones first note that a compile begins, and write metrics. At the very end of a log it may have
    been cut off there instead, unless there are as many earlier ones as the limit allows by default."""
    if not compile_.log_ended or compile_.started is not None or compile_.metrics:
        return False
    reasons, records = compile_.counts["recompile_reasons"], compile_.records
    if not 0 < reasons == len(records):
        return False
    log, following = compile_.process.log, records[-1] + 1
    followed = following < len(log.columns.kind) and log.kind(following).event != ""
    return followed or (compile_.id.compile or 0) >= DEFAULT_LIMIT


def status_of(facts: Facts) -> Status:
    """The first that applies."""
    if facts.failed or facts.backward_failed:
        return Status.ERROR
    if facts.breaks:
        return Status.BREAK
    if not facts.has_metrics:
        return Status.RUNNING if facts.waiting else Status.MISSING
    return Status.EMPTY if facts.skipped else Status.OK


def tlparse_status(compile_: Recorded) -> str | None:
    """The colour that tlparse 0.4.3 gives the compile in its stack trie; None where it does not list it.

    Its rules hide breaks of frames without operations and read absent restart reasons as a break: kept for comparison.
    """
    if compile_.started is None or not compile_.is_compile:
        return None
    metrics = [m for m in compile_.metrics if m.event == "compilation_metrics"]
    if not metrics or compile_.started_attempt != 0:
        return Status.MISSING.value
    if any(m.fail_type for m in metrics):
        return Status.ERROR.value
    if any(not m.graph_op_count for m in metrics):
        return Status.EMPTY.value
    if any(m.restart_reasons is None or m.restart_reasons for m in metrics):
        return Status.BREAK.value
    return Status.OK.value
