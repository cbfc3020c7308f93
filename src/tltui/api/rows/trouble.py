"""Rows of what went wrong, or is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tltui.api.rows.words import joined
from tltui.questions.check.limits import Gates
from tltui.questions.exports.export_report import Exports
from tltui.questions.problems.absent_artifacts import Absence
from tltui.questions.problems.problem_list import Occurrence, Problems
from tltui.questions.recompiles.page import Recompiles


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One kind of problem at one place."""

    kind: str
    """`error`, `backward` (its backward failed), `eager` (runs in eager mode), `limit` (recompile limit), `break` (graph break),
    `restart`, `unfinished`, `running`, `empty` (no operation), `cudagraph` (no CUDA graph), `output` (told by what the job
    printed)."""
    headline: str
    """What it is, in a sentence or a name."""
    reason: str
    """What torch says of it."""
    function: str | None
    """The function."""
    file: str | None
    """The file of the line that it is about."""
    line: int | None
    """That line, from 1."""
    count: int
    """How often it occurs."""
    ranks: int
    """On how many ranks."""
    first: str
    """The address of the first compile that has it; empty where none is known."""
    refs: str
    """The addresses of all compiles that have it."""
    hints: str
    """What torch advises."""


def problem_rows(data: Problems) -> Iterator[ProblemRow]:
    """A row each, the worst first."""
    for own in data.printed:
        yield ProblemRow("output", own.sentence, own.means, own.function, own.file, own.line, 1, 1, own.compile, own.compile, "")
    for kind, failed in (("error", data.errors), ("backward", data.backward)):
        for group in failed:
            error = group.failure
            hints = group.explained.hints if group.explained is not None else ()
            yield _row(kind, error.type, error.reason, group.code.name, error.file, error.line, group.occurrences, hints)
    for eager in data.eager:
        reason = eager.failure.reason if eager.failure is not None else ""
        yield _row("eager", eager.headline, reason, eager.code.name, eager.file, eager.line, eager.occurrences)
    for limit in data.limits:
        said = "recompile limit" if limit.limit is None else f"recompile limit of {limit.limit}"
        yield _row("limit", said, limit.last_reason, limit.code.name, limit.code.file, limit.code.line, limit.occurrences)
    for broken in data.breaks:
        found, place = broken.found, (broken.user_file or broken.found.file, broken.user_line or broken.found.line)
        function = joined(broken.functions) or found.function
        yield _row("break", found.headline, found.explanation, function, *place, broken.occurrences, found.hints)
    for restart in data.restarts:
        yield _row("restart", restart.reason, "", None, None, None, restart.occurrences)
    for kind, group_of in (("unfinished", data.unfinished), ("running", data.running)):
        if group_of:
            yield _row(kind, f"{kind} compiles", "", None, None, None, group_of)
    for skipped in data.skipped:
        code = skipped.code
        yield _row("empty", "no operation was captured", "", code.name, code.file, code.line, skipped.occurrences)
    for graphs in data.cudagraphs:
        yield _row("cudagraph", "no CUDA graph", graphs.reason, None, None, None, graphs.occurrences)


def _row(
    kind: str, headline: str, reason: str, function: str | None, file: str | None, line: int | None,
    occurrences: Sequence[Occurrence], hints: Sequence[str] = (),
) -> ProblemRow:  # fmt: skip
    refs = list(dict.fromkeys(own.ref for own in occurrences))
    function = function or next((own.function for own in occurrences if own.function), None)
    ranks = len({own.rank for own in occurrences})
    first = refs[0] if refs else ""
    return ProblemRow(kind, headline, reason, function, file, line, len(occurrences), ranks, first, joined(refs), joined(hints))


@dataclass(frozen=True, slots=True)
class RecompileRow:
    """One reason of one recompile: a guard of an earlier compile that failed. A recompile without a reason has one row too."""

    ref: str
    """The address of the recompile."""
    frame: str
    """The address of its frame."""
    function: str | None
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    status: str | None
    """What became of it."""
    seconds: float | None
    """What the recompile took, in seconds: the same in each row of one recompile, never to be added over its reasons."""
    cause: str
    """What varied, as docs/recompiles.md has it: `tensor size`, `int value`, `type` …; empty where no reason is known."""
    source: str
    """What the guard speaks of: `L['x']`."""
    dim: int | None
    """The dimension, of a size or stride."""
    expected: str
    """What the guard expected."""
    actual: str
    """What it met."""
    guard: str
    """The reason in torch's words."""
    earlier: str | None
    """The address of the earlier compile whose guard failed."""
    user_file: str | None
    """The file of the line that made the guard."""
    user_line: int | None
    """That line, from 1."""
    code: str | None
    """What stands there."""
    limit_hit: bool
    """Whether the recompile limit was hit."""


def recompile_rows(data: Recompiles) -> Iterator[RecompileRow]:
    """A row a reason, in the order of the compiles."""
    for frame in data.frames:
        for own in frame.recompiles:
            head = (own.ref, frame.ref, frame.function, frame.file, frame.line, own.status, own.seconds)
            if not own.reasons:
                yield RecompileRow(*head, "", "", None, "", "", own.logged, None, None, None, None, own.limit_hit)
            for reason in own.reasons:
                yield RecompileRow(*head, reason.cause, reason.source, reason.dim, reason.expected, reason.actual, reason.text,
                                   reason.earlier, reason.file, reason.line, reason.code, own.limit_hit)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AbsentRow:
    """One artifact that is not there, for one reason."""

    name: str
    """The artifact."""
    title: str
    """What its kind is called."""
    state: str
    """Which sort of absence it is."""
    reason: str
    """Why it is not there."""
    flag: str | None
    """The setting that has torch write it."""
    routine: bool
    """Whether that is as it should be."""
    count: int
    """From how many compiles it is absent."""
    first: str
    """The address of the first of them."""


def absent_rows(data: Absence) -> Iterator[AbsentRow]:
    """A row each."""
    for own in data.groups:
        first = own.refs[0] if own.refs else ""
        yield AbsentRow(own.name, own.title, own.state, own.reason, own.flag, own.routine, len(own.refs), first)


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One thing that export could not decide, guessed, or found wrong."""

    ref: str
    """The address of the export."""
    kind: str
    """What it is."""
    count: int
    """How often."""
    expr: str | None
    """The expression."""
    result: str | None
    """What was guessed."""
    op: str | None
    """The operator."""
    reason: str | None
    """Why."""
    file: str | None
    """The file of the line."""
    line: int | None
    """The line, from 1."""
    code: str | None
    """What stands there."""


def export_rows(data: Exports) -> Iterator[ExportRow]:
    """A row each."""
    for export in data.exports:
        for own in export.failures:
            file, line = (None, None) if own.where is None else (own.where.file, own.where.line)
            yield ExportRow(export.ref, own.kind, own.count, own.expr, own.result, own.op, own.reason, file, line, own.code)


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One limit of `check`."""

    name: str
    """What is limited: `error`, `break` …"""
    title: str
    """The same in words."""
    value: float
    """What the run has: a count, seconds (`compile_time`), or percent (where `share`)."""
    at_most: float
    """The most that is allowed."""
    baseline: float | None
    """What the run has that it is compared with."""
    exceeded: bool
    """Whether it is more than is allowed."""
    share: bool
    """Whether it is a share, in percent."""
    first: str
    """The address of the first thing that counts; empty for none."""


def limit_rows(data: Gates) -> Iterator[LimitRow]:
    """A row each."""
    for own in data.limits:
        first = own.reasons[0].ref if own.reasons else ""
        yield LimitRow(own.name, own.title, own.value, own.at_most, own.baseline, own.exceeded, own.share, first)
