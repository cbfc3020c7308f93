"""Rows of places, lists, searches, comparisons and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from tltui.api.renamed import RENAMED, with_earlier_names
from tltui.model import nodes as model
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.torch_version import torch_version
from tltui.questions.check.limits import Gates
from tltui.questions.compare.artifacts_page import CompareResult, DiffResult
from tltui.questions.records.grep_page import GrepResult
from tltui.questions.records.log_page import OutputReport
from tltui.questions.records.records_page import DamageReport, RecordRow, Records
from tltui.questions.source_lines.page import SourceFile, SourceLine
from tltui.questions.stacks.tracebacks import display_code
from tltui.text.frozen import frozen

Row = TypeVar("Row")


def _row(kind: type[Row], source: object, **values: object) -> Row:
    """Return a row of the given values and, for its other fields, the attributes of these names."""
    return kind(*(values[name] if name in values else getattr(source, name) for name in kind.__match_args__))  # type: ignore[attr-defined]


@frozen
class RankRow:
    """One rank."""

    ref: str
    """Its address."""
    rank: int | None
    """Its number; None if no record or file name has one."""
    processes: int
    """Its processes."""
    compiles: int
    """The number of compiles of all its processes."""
    compile_s: float
    """Their total time in seconds."""

    @classmethod
    def of(cls, rank: model.Rank) -> RankRow:
        """Return the row of a rank."""
        tally = rank.tally
        return cls(str(rank.ref), rank.number, len(rank.processes), tally.compiles, tally.compile_s)


@frozen
class ProcessRow:
    """One process."""

    ref: str
    """Its address."""
    rank: int | None
    """Its rank; None if unknown."""
    pid: int
    """Its process id on the machine of the job."""
    path: str
    """Its log."""
    torch_version: str | None
    """The version of torch; None if the log does not state it."""
    compiles: int
    """Its compiles."""
    compile_s: float
    """Their total time in seconds."""

    @classmethod
    def of(cls, process: model.Process) -> ProcessRow:
        """Return the row of a process."""
        tally = process.tally
        version = torch_version(process)
        return cls(str(process.ref), process.rank, process.pid, process.log.path, version, tally.compiles, tally.compile_s)


@frozen
class FrameRow:
    """One frame."""

    ref: str
    """Its address."""
    rank: int | None
    """The rank that compiled it."""
    function: str | None
    """The qualified name of the function, `Model.forward`."""
    file: str | None
    """The file of the function."""
    line: int | None
    """Its first line, from 1."""
    compiles: int
    """Its compiles."""
    recompiles: int
    """The number of recompiles among them."""
    compile_s: float
    """Their total time in seconds."""

    @classmethod
    def of(cls, frame: model.Frame) -> FrameRow:
        """Return the row of a frame."""
        tally = frame.tally
        return cls(str(frame.ref), frame.process.rank, *display_code(frame), tally.compiles, tally.recompiles, tally.compile_s)


@frozen
class CompileRow:
    """One compile."""

    ref: str
    """Its address."""
    rank: int | None
    """The rank that compiled it."""
    status: str | None
    """`ok`, `error`, `eager`, `break`, `empty`, `running`, `unfinished`, `seen` (docs/glossary.md)."""
    function: str | None
    """The qualified name of the function, `Model.forward`."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    duration_s: float | None
    """Time of the forward and backward compile in seconds; None if unknown."""
    start_at_us: float | None
    """Start, in microseconds since 1970 (UTC)."""
    is_recompile: bool
    """Whether guards of earlier compiled code of the frame failed."""
    breaks: int
    """Graph breaks."""
    attempts: int
    """Attempts; each restart of the analysis adds one."""
    graph_op_count: int | None
    """Operations of the graph that Dynamo captured."""
    guard_count: int | None
    """Guards, as counted in the metrics."""
    fail_type: str | None
    """The type of the exception."""
    fail_reason: str | None
    """The message of the exception."""

    @classmethod
    def of(cls, compile_: model.Compile) -> CompileRow:
        """Return the row of a compile."""
        facts, start = compile_.all_facts, compile_.start_us
        return cls(
            str(compile_.ref), compile_.process.rank, str(compile_.status) if compile_.status else None,
            *display_code(compile_.frame),
            compile_.duration_s, start, compile_.is_recompile, facts.breaks, facts.attempts,
            facts.graph_op_count, facts.guard_count, facts.fail_type, facts.fail_reason,
        )  # fmt: skip


@frozen
class ArtifactRow:
    """One artifact."""

    ref: str
    """Its address."""
    compile: str
    """The address of its compile."""
    name: str
    """Torch's name for it."""
    title: str
    """The title of its kind."""
    phase: str
    """The step of the compiler that wrote it."""
    unit: str | None
    """Its lowering; None if it belongs to the compile."""
    attempt: int
    """The attempt that wrote it, from 0."""
    language: str
    """Its language; empty for plain text."""
    stored_bytes: int
    """Bytes in the log; 0 for metrics."""
    md5: str | None
    """The md5 that torch logged."""

    @classmethod
    def of(cls, artifact: Artifact) -> ArtifactRow:
        """Return the row of an artifact."""
        unit = None
        if artifact.unit is not None:
            unit = next((unit.name for unit in units_of(artifacts_of(artifact.owner)) if unit.number == artifact.unit), None)
        return cls(
            str(artifact.ref), str(artifact.owner.ref), artifact.name, artifact.kind.title, artifact.kind.phase.key, unit,
            artifact.attempt, artifact.kind.language,
            artifact.log.columns.size[artifact.record], artifact.log.md5(artifact.record),
        )  # fmt: skip


def record_rows(data: Records) -> Iterator[RecordRow]:
    """Yield a row per record."""
    yield from data["records"]


@frozen
class HitRow:
    """One line that matches."""

    ref: str
    """The address of the artifact, record or page."""
    name: str
    """The name of the artifact, record or page."""
    line: int
    """The line, from 1."""
    column: int
    """The first character of the match."""
    length: int
    """The length of the match in characters."""
    text: str
    """The line."""


def hit_rows(data: GrepResult) -> Iterator[HitRow]:
    """Yield a row per hit."""
    for hit in data.hits:
        yield _row(HitRow, hit)


@frozen
class SourceRow:
    """One result of a line of source."""

    compile: str
    """The address of the compile."""
    function: str
    """The function that it compiles."""
    unit: str
    """The lowering; empty if it belongs to the compile."""
    kind: str
    """Its kind: a node, a kernel, a guard, a graph break …"""
    text: str
    """Its text."""
    detail: str
    """Further text."""
    ref: str
    """Its address."""
    file: str
    """The file."""
    line: int
    """The line, from 1."""


def source_rows(data: SourceLine | SourceFile) -> Iterator[SourceRow]:
    """Yield a row per result of the line, or per finding of the file."""
    if isinstance(data, SourceFile):
        for file in data.files:
            for line in file.lines:
                for finding in line.findings:
                    first = finding.compiles[0] if finding.compiles else ""
                    yield SourceRow(first, "", "", finding.kind, finding.text, finding.detail, first, file.file, line.line)
        return
    for compile_ in data.compiles:
        for trail in compile_.results:
            place = {"file": data.file, "line": data.line}
            yield _row(SourceRow, trail, compile=compile_.ref, function=compile_.function, **place)


@frozen
class FailureRow:
    """One failure in the output of the job."""

    sentence: str
    """The failure in one sentence."""
    rank: int | None
    """The rank."""
    pid: int | None
    """The process."""
    exit: str
    """Its exit code or signal."""
    is_first: bool
    """Whether it was the first failure."""
    is_consequence: bool
    """Whether the process ended because another one had failed."""
    compile: str
    """The address of the compile that probably failed; empty if none."""
    function: str | None
    """The function in which it failed."""
    file: str | None
    """The file."""
    line: int | None
    """The line, from 1."""
    log: str
    """The file with the message."""
    offset_bytes: int
    """The offset of the message in bytes."""


def failure_rows(data: OutputReport) -> Iterator[FailureRow]:
    """Yield a row per failure."""
    for failure in data.failures:
        yield _row(FailureRow, failure)


@frozen
class DamageRow:
    """One damaged place of a log."""

    file: str
    """The log."""
    offset_bytes: int
    """Its offset in bytes."""
    record: int | None
    """Its number in its log, from 1; None outside of records."""
    name: str
    """The name of the record."""
    reason: str
    """The kind of damage."""
    ref: str
    """The address of the record, or of its compile or process."""


def damage_rows(data: DamageReport) -> Iterator[DamageRow]:
    """Yield a row per damaged place."""
    for damage in data.damaged:
        yield _row(DamageRow, damage)


@frozen
class DiffRow:
    """A difference: changed lines of two artifacts, a pair of artifacts or compiles, changed kernels, or a fact of both."""

    kind: str
    """`lines`, `pair`, `kernels`, `fact`, `timing`, `guard`, `input`, `symbol`."""
    name: str
    """The name of the pair or fact, the change of kernels (`split 1 → 4`); empty for lines."""
    left: str | None
    """The lines, address, value or kernels on the left; None if absent."""
    right: str | None
    """The same on the right."""
    outcome: str
    """`same`, `changed`, `only left`, `only right`."""
    left_line: int | None
    """The first line on the left, from 1; None in rows without lines."""
    right_line: int | None
    """The first line on the right, from 1; None in rows without lines."""
    added: int
    """Lines that only the right has."""
    removed: int
    """Lines that only the left has."""


def diff_rows(data: DiffResult | CompareResult) -> Iterator[DiffRow]:
    """Yield a row per change, pair or fact."""
    if isinstance(data, DiffResult):
        for hunk in data.hunks:
            outcome = _outcome(bool(hunk.left), bool(hunk.right))
            yield DiffRow("lines", "", "\n".join(hunk.left), "\n".join(hunk.right), outcome, hunk.left_line, hunk.right_line,
                          len(hunk.right), len(hunk.left))  # fmt: skip
        return
    for pair in data.rows:
        yield DiffRow("pair", pair.name, pair.left, pair.right, pair.outcome, None, None, pair.added, pair.removed)
    for change in data.kernels.changes if data.kernels is not None else ():
        left, right = (", ".join(kernel.key for kernel in side) or None for side in (change.left, change.right))
        yield DiffRow("kernels", change.title, left, right, _outcome(bool(left), bool(right)), None, None, 0, 0)
    for kind, facts in (("fact", data.facts), ("timing", data.timing), ("guard", data.guards), ("input", data.inputs),
                        ("symbol", data.symbols)):  # fmt: skip
        for fact in facts:
            same = "same" if fact.left == fact.right else _outcome(fact.left is not None, fact.right is not None)
            yield DiffRow(kind, fact.name, fact.left, fact.right, same, None, None, 0, 0)


def _outcome(left: bool, right: bool) -> str:
    return "changed" if left and right else "only left" if left else "only right"


@frozen
class LimitRow:
    """One limit of `check`."""

    name: str
    """The name of the limit: `error`, `break` …"""
    title: str
    """A description of the limit."""
    value: float
    """The value of the run: a count, seconds (`compile_time`), or percent (if `share`)."""
    limit: float
    """The highest allowed value."""
    baseline: float | None
    """The value of the baseline run."""
    exceeded: bool
    """Whether the value exceeds the limit."""
    is_percent: bool
    """Whether the value is a percentage."""
    first_ref: str
    """The address of the first occurrence; empty if none."""


def limit_rows(data: Gates) -> Iterator[LimitRow]:
    """Yield a row per limit."""
    for limit in data.limits:
        yield _row(LimitRow, limit, first_ref=limit.reasons[0].ref if limit.reasons else "")


for _kind in [kind for name, kind in globals().items() if name in RENAMED]:
    with_earlier_names(_kind)
