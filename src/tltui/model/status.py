"""Status, outcome and facts of a compile."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from enum import Enum
from functools import lru_cache
from math import fsum
from operator import add, sub
from typing import NamedTuple, Protocol

from tltui.model.ref import CompileId
from tltui.text import tokens
from tltui.text.frozen import frozen
from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.batch import Metrics, Started
from tltui.trace.log import Log


class Eager(str, Enum):
    """The reason that a complete function runs in eager mode."""

    SKIPPED = "skipped"
    """Torch can't resume from a graph break in it."""
    SUPPRESSED = "suppressed"
    """`suppress_errors` is set."""
    LIMIT = "recompile_limit"
    UNTRACED = "untraced"
    """Dynamo failed before it traced the function, unless `fullgraph=True` made that an error: torch logs both alike."""

    def __str__(self) -> str:
        return self.value


class Outcome(NamedTuple):
    """The outcome of the call."""

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
_UNTRACED = (
    "Attempted to guard on uninitialized nn.Module",
    "Excessive RestartAnalysis() calls",
    "Unsupported functorch tracing attempt",
    "If you are reaching here, it means dynamo failed for one of the following reasons",  # of an older torch
)
"""Soft failures that are raised outside of tracing: they have no record of a break, whatever was allowed."""
_CLASS = re.compile(r"^<class '(?P<name>[^'\n]+)'>$")
_LIMIT_TYPE = re.compile("(?:RecompileLimit|CacheLimit)")
_LIMIT_TEXT = re.compile("recompile limit|recompile_limit|cache_size_limit reached")


def error_name(fail_type: str | None) -> str:
    """Return the name of an exception without its module; any other text is unchanged.

    Before torch 2.5 it is written as `<class 'torch._dynamo.exc.Unsupported'>`.
    """
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
    """Return the outcome of a failed compile with this number of break records.

    `last_breaks`: one of them is in its last attempt.
    """
    kind = error_name(failed.fail_type)
    if kind in RAISED:
        return Outcome(None, True)
    if hit_limit(failed):
        return Outcome(Eager.LIMIT, False)
    if kind not in SOFT:
        return Outcome(Eager.SUPPRESSED, False) if failed.suppressed else Outcome(None, True)
    if last_breaks:
        return Outcome(Eager.SKIPPED, False)
    if (failed.fail_reason or "").startswith(_UNTRACED):
        return Outcome(Eager.UNTRACED, None)
    if not _logs_skips(failed.pytorch_version):
        return Outcome(Eager.SKIPPED, False) if breaks else Outcome(None, None)
    return Outcome(None, True, no_breaks=kind in ("Unsupported", "UserError"))


def _logs_skips(version: str | None) -> bool:
    parts = (version or "").split(".")
    return len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() and (int(parts[0]), int(parts[1])) >= LOGS_SKIPS


def interrupted(ended: Metrics, has_graph: bool) -> bool:
    """Return whether a non-`Exception`, as Ctrl-C, ended the compile. Torch then writes metrics without a failure.

    Torch 2.4 to 2.6 writes the same for a function that it skips; only a graph distinguishes the two there.
    """
    if ended.fail_type is not None or ended.guarded is not False or ended.graph_op_count is not None:
        return False
    return has_graph or ended.pytorch_version is not None  # stated since 2.10


BACKWARD = frozenset(("entire_backward_compile", "backward._backward_impl"))
"""The events that are the whole compile of a backward."""
_EVENT = "chromium_event"
_LONGEST = 1 << 12
"""Stored bytes of an event that are read: the begin and the end of a backward are short."""


class _Process(Protocol):
    @property
    def log(self) -> Log: ...


class _Compile(Protocol):
    metrics: list[Metrics]

    @property
    def process(self) -> _Process: ...

    @property
    def records(self) -> Sequence[int]: ...


def is_backward_open(compile_: _Compile) -> bool:
    """Decide whether a backward began after the last metrics of a compile and has no end in the log so far."""
    records, log = compile_.records, compile_.process.log
    last = max((metrics.record for metrics in compile_.metrics if not metrics.is_runtime), default=-1)
    first = bisect_right(records, last)
    count = len(records) - first
    if last < 0 or not count or (count == 1 and records[first] + 1 < len(log)):
        return False
    for place in range(len(records) - 1, first - 1, -1):
        if log.kind(records[place]).event == _EVENT and (phase := _phase(log, records[place])):
            return phase == "B"
    return False


def _phase(log: Log, record: int) -> str:
    """Read `B` or `E` from the event of a complete backward compile; '' for any other event."""
    try:
        text = log.text(record, _LONGEST)
    except OSError:
        return ""
    if not any(name in text for name in BACKWARD):
        return ""
    try:
        value = loads(text)
    except JSONDecodeError:
        return ""
    return str(value.get("ph")) if isinstance(value, dict) and value.get("name") in BACKWARD else ""


class Status(str, Enum):
    """The status of a compile."""

    ERROR = "error"
    EAGER = "eager"
    BREAK = "break"
    EMPTY = "empty"
    RUNNING = "running"
    SEEN = "seen"
    OK = "ok"
    UNFINISHED = "unfinished"

    def __str__(self) -> str:
        return self.value


class Row(NamedTuple):
    """The properties of a status."""

    glyph: str
    ascii: str
    colour: str
    """A style of `tltui.text.tokens`."""
    field: str
    """The field of `Tally` that counts such compiles."""
    words: str
    """After their number: `3 failed`."""
    gate: str
    """The limit of `tltui check` that is about them; '' for none."""
    keys: str
    """The keys that visit them, small letters: `e`; `b` where they have a graph break."""
    meaning: str


TABLE: dict[Status, Row] = {
    Status.ERROR: Row(
        "✗", "x", tokens.ERROR, "errors", "failed", "error", "eb",
        "the compilation failed; where the log shows no other outcome, assume that the call raised an exception"),
    Status.EAGER: Row(
        "»", ">", tokens.EAGER, "eager", "fell back to eager", "eager", "eb",
        "fell back to eager mode without an exception: torch skipped the function, or the function hit the recompile limit"),
    Status.BREAK: Row(
        "⚑", "!", tokens.BREAK, "with_breaks", "with breaks", "break", "b",
        "compiled with a graph break, or not finished after one"),
    Status.EMPTY: Row(
        "∅", "0", tokens.EMPTY, "empty", "empty", "empty", "",
        "no operations were captured; torch may also skip later calls of the function, even if they run operations"),
    Status.RUNNING: Row(
        "◌", "o", tokens.RUNNING, "running", "running", "unfinished", "",
        "the compile or its backward is not finished, and the job may still be running"),
    Status.SEEN: Row(
        "·", ".", tokens.SEEN, "without_outcome", "seen", "", "",
        "appears only in a text log or a debug directory, without a recorded outcome"),
    Status.OK: Row("✓", "+", tokens.OK, "ok", "ok", "", "", "compiled"),
    Status.UNFINISHED: Row(
        "?", "?", tokens.UNFINISHED, "unfinished", "unfinished", "unfinished", "",
        "the log has no end of the compilation or of its backward: the job still compiles it or was killed, or the log is cut off"),
}  # fmt: skip
DEFAULT_LIMIT = 8
"""Compiles of a function that torch keeps unless the limit is set (`cache_size_limit`, since torch 2.7 `recompile_limit`)."""
RECOMPILE_GLYPH, ASCII_RECOMPILE = "↻", "r"


def glyph(status: Status | None, ascii_: bool = False) -> str:
    """Return the mark of a status; a dot for None."""
    if status is None:
        return "." if ascii_ else "·"
    return TABLE[status].ascii if ascii_ else TABLE[status].glyph


def colour(status: Status | None) -> str:
    """Return the style of a status."""
    return tokens.DIM if status is None else TABLE[status].colour


def is_visited(compile_: Recorded, key: str) -> bool:
    """Whether the keys `e E` or `b B` stop at a compile."""
    status = compile_.status
    return status is not None and key in TABLE[status].keys and (key != "b" or compile_.facts.breaks > 0)


class Owner(Protocol):
    """The process of a compile, as far as facts need it."""

    @property
    def log(self) -> Log:
        """Its log."""


class Recorded(Protocol):
    """The input of facts and statuses. `tltui.model.nodes.Compile` implements it."""

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
    def is_traced(self) -> bool:
        """Whether the compile has a trace."""

    @property
    def is_recompile(self) -> bool:
        """Whether its frame had been compiled before."""

    @property
    def is_told_failed(self) -> bool:
        """Whether a traceback in the job's output is probably about it."""

    @property
    def logs_breaks(self) -> bool:
        """Whether its torch writes records of graph breaks."""

    @property
    def log_ended(self) -> bool:
        """Whether nothing more will come."""

    @property
    def facts(self) -> SharedFacts:
        """See `facts_of`."""

    @property
    def status(self) -> Status | None:
        """See `status_of`."""


@frozen
class SharedFacts:
    """The facts of a compile besides its status, without its times: most compiles share one object."""

    has_metrics: bool
    is_waiting: bool
    """It has no metrics yet, and its log may go on."""
    has_trace: bool
    """A trace tells of it: nothing else says what became of a compile."""
    failed: bool
    """The compile of the frame failed, or was interrupted."""
    interrupted: bool
    """Something that is no `Exception` broke it off: Ctrl-C, `SystemExit`."""
    reached_caller: bool | None
    """Whether its exception reached the caller; None: torch does not log it."""
    break_not_allowed: bool
    """It failed as a graph break was not allowed: `fullgraph=True`, `error_on_graph_break`."""
    eager_reason: Eager | None
    """Why all of the function runs in eager mode from then on."""
    has_guarded_code: bool | None
    """Whether it left compiled code with guards; None: the log does not tell."""
    fail_type: str | None
    fail_reason: str | None
    backward_failed: bool
    backward_fail_reason: str | None
    backward_running: bool
    """Its backward has begun and has no end yet, and its log may go on."""
    backward_unfinished: bool
    """Its backward had begun and has no end when the log ends."""
    breaks: int
    """Graph breaks: records of `dynamo_graph_break_reason`; in logs without them, restart reasons."""
    restarts: tuple[str, ...]
    """Why the analysis started again."""
    attempts: int
    is_empty: bool
    """No operation was captured."""
    recompile_limit_hit: bool
    """The frame had been compiled as often as `recompile_limit` allows."""
    has_backward: bool
    cudagraph_skip_reason: str | None
    graph_op_count: int | None
    guard_count: int | None


@frozen
class Facts(SharedFacts):
    """The facts of a compile besides its status."""

    start_at_us: float | None
    duration_s: float | None
    """Forward and backward compile together."""
    backward_s: float | None


class Tally(NamedTuple):
    """Counts that headings show. They add up over compiles, processes and ranks. Each compile is in one of `counted`."""

    compiles: int = 0
    breaks: int = 0
    """Graph breaks, whatever became of their compile."""
    errors: int = 0
    recompiles: int = 0
    restarts: int = 0
    ok: int = 0
    with_breaks: int = 0
    empty: int = 0
    unfinished: int = 0
    running: int = 0
    eager: int = 0
    without_outcome: int = 0
    skipped_frames: int = 0
    """Of `eager`: those for which a graph break is the reason."""
    refused: int = 0
    """Of `recompiles`: those that torch did not compile, because the recompile limit was reached."""
    compile_s: float = 0.0

    def __add__(self, other: object) -> Tally:
        return _rounded([*map(add, self, other)]) if isinstance(other, Tally) else NotImplemented

    def __sub__(self, other: Tally) -> Tally:
        return _rounded([*map(sub, self, other)])

    def counted(self, status: Status) -> int:
        """How many compiles have a status."""
        return int(getattr(self, TABLE[status].field))


def counts_of(compile_: Recorded) -> tuple[Tally, float]:
    """Return the counts of one compile without its seconds, and these."""
    status = compile_.status
    if status is None:
        return Tally(breaks=compile_.counts[BREAK]), 0.0
    exact = duration_s(compile_.metrics) or 0.0
    seconds = round(exact, 9)
    # where it is the rounded one, the number that its metrics have: there are thousands of them
    return _counts(compile_.facts, status, compile_.is_recompile), exact if exact == seconds else seconds


@lru_cache(maxsize=512)
def _counts(facts: SharedFacts, status: Status, is_recompile: bool) -> Tally:
    """Return the counts of a compile without its seconds: most compiles share their facts."""
    counts = Tally(
        compiles=1,
        breaks=facts.breaks,
        recompiles=int(is_recompile),
        restarts=len(facts.restarts),
        skipped_frames=int(facts.eager_reason is Eager.SKIPPED and status is Status.EAGER),
        refused=int(is_recompile and facts.recompile_limit_hit),
    )
    return counts._replace(**{TABLE[status].field: 1})


NO_TALLY = Tally()


def total(tallies: Iterable[Tally]) -> Tally:
    """All of them together."""
    columns = list(zip(*tallies, strict=True))
    return _rounded([*map(sum, columns[:-1]), fsum(columns[-1])]) if columns else NO_TALLY


def _rounded(counts: list[float]) -> Tally:
    """Seconds are rounded, so that it does not matter in which order something was added and taken away."""
    counts[-1] = round(counts[-1], 9)
    return Tally._make(counts)


BREAK = "dynamo_graph_break_reason"
LIMIT = "recompile_limit"
"""The warning in TORCH_LOGS text that a compile was refused: a trace has metrics of it instead."""


FORWARD = "compilation_metrics"


def is_backward(metrics: Metrics) -> bool:
    """Return whether a metrics record is of a backward at compile time."""
    return metrics.event.startswith(("bwd_comp", "aot_autograd_b")) and not metrics.is_runtime


def start_us(metrics: Sequence[Metrics]) -> float | None:
    """When a compile began, in microseconds since the epoch."""
    return min((m.start_us for m in metrics if m.event == FORWARD and m.start_us is not None), default=None)


def duration_s(metrics: Sequence[Metrics]) -> float | None:
    """How long it took, forward and backward together."""
    durations = [m.duration_s for m in metrics if m.duration_s is not None and m.event == FORWARD]
    durations += [m.duration_s for m in metrics if m.duration_s is not None and is_backward(m)]
    return durations[0] if len(durations) == 1 else sum(durations) if durations else None


def compile_intervals(metrics: Sequence[Metrics]) -> list[tuple[float, float]]:
    """Return (begin in microseconds since the epoch, seconds) of the forward and of each backward."""
    return [
        (m.start_us, m.duration_s) for m in metrics
        if m.start_us is not None and m.duration_s is not None and (m.event == FORWARD or is_backward(m))
    ]  # fmt: skip


def backward_s(metrics: Sequence[Metrics]) -> float | None:
    """How long its backward took."""
    durations = [m.duration_s for m in metrics if m.duration_s is not None and is_backward(m)]
    return sum(durations) if durations else None


def facts_of(compile_: Recorded) -> SharedFacts:
    """Derive the facts from the metrics and the counted artifacts."""
    forward = [m for m in compile_.metrics if m.event == FORWARD]
    backward = [m for m in compile_.metrics if is_backward(m)]
    failed = next((m for m in forward if m.fail_type), None)
    backward_failed = next((m for m in backward if m.fail_type), None)
    restarts = tuple(reason for m in forward for reason in m.restart_reasons or ())
    breaks = compile_.counts[BREAK]
    if not compile_.logs_breaks:
        breaks = max(breaks, len(restarts))
    last = forward[-1] if forward else None
    skip_reason = next((m.cudagraph_skip_reason for m in compile_.metrics if m.cudagraph_skip_reason), None)
    traced = compile_.is_traced
    silent = (not forward and compile_.counts[LIMIT] > 0) or (traced and hit_silently(compile_))
    ended = _ended(compile_, failed, last, breaks, silent)
    is_open = traced and not ended.failed and backward_failed is None and is_backward_open(compile_)
    return SharedFacts(
        has_metrics=bool(forward) or silent,
        is_waiting=not forward and traced and not compile_.log_ended,
        has_trace=traced,
        failed=ended.failed,
        interrupted=ended.failed and failed is None and last is not None,
        reached_caller=True if backward_failed else ended.outcome.reached,
        break_not_allowed=ended.outcome.no_breaks,
        eager_reason=ended.outcome.eager,
        has_guarded_code=ended.left_code,
        fail_type=failed.fail_type if failed else None,
        fail_reason=failed.fail_reason if failed else None,
        backward_failed=backward_failed is not None,
        backward_fail_reason=backward_failed.fail_reason if backward_failed else None,
        backward_running=is_open and not compile_.log_ended,
        backward_unfinished=is_open and compile_.log_ended,
        breaks=breaks,
        restarts=restarts,
        attempts=max(len(compile_.attempts), 1),
        is_empty=bool(forward) and not ended.failed and ended.outcome.eager is None and not any(m.graph_op_count for m in forward),
        recompile_limit_hit=silent or (failed is not None and hit_limit(failed)),
        has_backward=bool(backward),
        cudagraph_skip_reason=skip_reason,
        graph_op_count=last.graph_op_count if last else None,
        guard_count=last.guard_count if last else None,
    )


def with_times(facts: SharedFacts, metrics: Sequence[Metrics]) -> Facts:
    """Return the facts of one compile, with its metrics."""
    shared = {field.name: getattr(facts, field.name) for field in fields(SharedFacts)}
    return Facts(**shared, start_at_us=start_us(metrics), duration_s=duration_s(metrics), backward_s=backward_s(metrics))


class _Ended(NamedTuple):
    """The end of the compile of the frame."""

    outcome: Outcome
    failed: bool = False
    left_code: bool | None = None


def _ended(compile_: Recorded, failed: Metrics | None, last: Metrics | None, breaks: int, silent: bool) -> _Ended:
    if silent:
        raised = compile_.is_told_failed and not compile_.is_traced
        return _Ended(Outcome(None, True) if raised else Outcome(Eager.LIMIT, False), True, False)
    if failed is not None:
        return _Ended(outcome_of(failed, breaks, breaks > 0 and _ends_with(compile_)[0]), True, False)
    if last is None:
        if compile_.is_told_failed and not compile_.is_traced:
            return _Ended(Outcome(None, None), True, False)
        if not compile_.counts["dynamo_error"] or (compile_.is_traced and not compile_.log_ended):
            return _Ended(FINE)
        # cut off between the failure and the metrics: nothing tells what torch made of it
        skips = breaks > 0 and _ends_with(compile_)[0]
        return _Ended(Outcome(Eager.SKIPPED if skips else None, False if skips else None), True, False)
    if last.graph_op_count is not None or last.guarded is None:
        return _Ended(FINE, False, True)
    skips, has_graph = _ends_with(compile_)
    if interrupted(last, has_graph):
        return _Ended(Outcome(None, True), True, False)
    return _Ended(Outcome(Eager.SKIPPED, False) if skips else FINE, False, False)


def _ends_with(compile_: Recorded) -> tuple[bool, bool]:
    """Whether the last attempt has a record of a graph break, and whether any has a graph. No payload is read."""
    log, attempt = compile_.process.log, max(compile_.attempts, default=0)
    has_break = has_graph = False
    for record in compile_.records:
        kind = log.kind(record)
        has_graph = has_graph or kind.event == "dynamo_output_graph"
        has_break = has_break or (kind.name == BREAK and (log.context(record).attempt or 0) == attempt)
    return has_break, has_graph


def hit_silently(compile_: Recorded) -> bool:
    """Return whether the only records of a compile are the reasons why the earlier ones did not fit.

    Torch 2.5 writes no more than that when it hits the recompile limit. Later versions first note that a compile begins, and write
    metrics. At the very end of a log the compile may have been cut off there instead, unless there are as many earlier ones as the
    limit allows by default.
    """
    if not compile_.log_ended or compile_.started is not None or compile_.metrics:
        return False
    reasons, records = compile_.counts["recompile_reasons"], compile_.records
    if not 0 < reasons == len(records):
        return False
    log, following = compile_.process.log, records[-1] + 1
    followed = following < len(log.columns.kind) and log.kind(following).event != ""
    return followed or (compile_.id.compile or 0) >= DEFAULT_LIMIT


def status_of(facts: SharedFacts) -> Status:
    """Return the first status that applies."""
    if facts.backward_failed or (facts.failed and facts.eager_reason is None):
        return Status.ERROR
    if facts.eager_reason is not None:
        return Status.EAGER
    if facts.breaks:
        return Status.BREAK
    if not facts.has_metrics and not facts.has_trace:
        return Status.SEEN
    if not facts.has_metrics or facts.backward_running or facts.backward_unfinished:
        return Status.RUNNING if facts.is_waiting or facts.backward_running else Status.UNFINISHED
    return Status.EMPTY if facts.is_empty else Status.OK


def without_backward(facts: SharedFacts) -> SharedFacts:
    """Remove the outcome of the backward from the facts: the facts at the end of the forward."""
    return replace(facts, backward_failed=False, backward_running=False, backward_unfinished=False)


_TLPARSE_UNFINISHED = "missing"


def tlparse_status(compile_: Recorded) -> str | None:
    """Return the colour of the compile in the stack trie of tlparse 0.4.3; None where it is not listed.

    Its rules hide breaks of frames without operations and read absent restart reasons as a break: kept for comparison.
    """
    if compile_.started is None or not compile_.is_compile:
        return None
    metrics = [m for m in compile_.metrics if m.event == "compilation_metrics"]
    if not metrics or compile_.started_attempt != 0:
        return _TLPARSE_UNFINISHED
    if any(m.fail_type for m in metrics):
        return Status.ERROR.value
    if any(not m.graph_op_count for m in metrics):
        return Status.EMPTY.value
    if any(m.restart_reasons is None or m.restart_reasons for m in metrics):
        return Status.BREAK.value
    return Status.OK.value
