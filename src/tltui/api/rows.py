"""Rows of places, lists, searches, comparisons and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from tltui.model import nodes as model
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.torch_version import torch_version
from tltui.questions.check.limits import Gates
from tltui.questions.compare.artifacts_page import CompareResult, DiffResult
from tltui.questions.records.damage_page import DamageReport
from tltui.questions.records.grep_page import GrepResult
from tltui.questions.records.log_page import OutputReport
from tltui.questions.records.records_page import Records
from tltui.questions.source_lines.page import SourceLine
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
    """Its number; none: no record and no name tells one."""
    processes: int
    """Its processes."""
    compiles: int
    """Compiles of all its processes."""
    seconds: float
    """What they took together, in seconds."""

    @classmethod
    def of(cls, rank: model.Rank) -> RankRow:
        """Return the row of a rank."""
        tally = rank.tally
        return cls(str(rank.ref), rank.number, len(rank.processes), tally.compiles, tally.seconds)


@frozen
class ProcessRow:
    """One process."""

    ref: str
    """Its address."""
    rank: int | None
    """Its rank; none where none is known."""
    pid: int
    """Its number on the machine of the job."""
    path: str
    """Its log."""
    torch_version: str | None
    """Which torch it was, as far as the log states it."""
    compiles: int
    """Its compiles."""
    seconds: float
    """What they took together, in seconds."""

    @classmethod
    def of(cls, process: model.Process) -> ProcessRow:
        """Return the row of a process."""
        tally = process.tally
        version = torch_version(process)
        return cls(str(process.ref), process.rank, process.pid, process.log.path, version, tally.compiles, tally.seconds)


@frozen
class FrameRow:
    """One frame."""

    ref: str
    """Its address."""
    rank: int | None
    """The rank that compiled it."""
    function: str | None
    """The function."""
    file: str | None
    """The file that it stands in."""
    line: int | None
    """Its first line, from 1."""
    compiles: int
    """Its compiles."""
    recompiles: int
    """How many of them are recompiles."""
    seconds: float
    """What they took together, in seconds."""

    @classmethod
    def of(cls, frame: model.Frame) -> FrameRow:
        """Return the row of a frame."""
        tally = frame.tally
        return cls(str(frame.ref), frame.process.rank, *frame.code, tally.compiles, tally.recompiles, tally.seconds)


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
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    seconds: float | None
    """Forward and backward compile, in seconds; none where the log does not tell."""
    start_s: float | None
    """When it began, in seconds since 1970 (UTC)."""
    is_recompile: bool
    """Whether guards of earlier compiled code of the frame failed."""
    breaks: int
    """Graph breaks."""
    attempts: int
    """Attempts: each restart of the analysis is one more."""
    graph_ops: int | None
    """Operations of the graph that Dynamo captured."""
    guards: int | None
    """Guards, as the metrics count them."""
    fail_type: str | None
    """The exception that it failed with."""
    fail_reason: str | None
    """What the exception said."""

    @classmethod
    def of(cls, compile_: model.Compile) -> CompileRow:
        """Return the row of a compile."""
        facts, start = compile_.all_facts, compile_.start_us
        return cls(
            str(compile_.ref), compile_.process.rank, str(compile_.status) if compile_.status else None, *compile_.frame.code,
            compile_.duration_s, None if start is None else start / 1e6, compile_.is_recompile, facts.breaks, facts.attempts,
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
    """As torch calls it."""
    title: str
    """What its kind is called."""
    phase: str
    """The step of the compiler that wrote it."""
    unit: str | None
    """The lowering that it belongs to; none: it belongs to the compile."""
    attempt: int
    """The attempt that wrote it, from 0."""
    language: str
    """What it is written in; empty for plain text."""
    stored_bytes: int
    """Bytes in the log; 0 for metrics."""
    md5: str | None
    """As torch declared it."""

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


@frozen
class RecordRow:
    """One record of a log."""

    record: int
    """Its number in its log, from 0."""
    file: str
    """The log."""
    offset: int
    """Where it begins, in bytes."""
    time: str | None
    """When it was written, as the log has it."""
    pid: int
    """The process that wrote it."""
    id: str
    """The compile id, as torch prints it."""
    attempt: int | None
    """The attempt."""
    event: str
    """The kind of record."""
    name: str
    """Its name, of artifacts."""
    site: str | None
    """The line of torch that wrote it."""
    envelope_bytes: int
    """Bytes of its first line."""
    payload_bytes: int
    """Bytes of its payload."""


def record_rows(data: Records) -> Iterator[RecordRow]:
    """Yield a row per record."""
    for record in data["records"]:
        yield _row(RecordRow, record)


@frozen
class HitRow:
    """One line that matches."""

    ref: str
    """Where it is: an artifact, a record or a page."""
    name: str
    """What that is called."""
    line: int
    """The line there, from 1."""
    column: int
    """Where the match begins, in characters."""
    length: int
    """Characters of the match."""
    text: str
    """The line."""


def hit_rows(data: GrepResult) -> Iterator[HitRow]:
    """Yield a row per hit."""
    for hit in data.hits:
        yield _row(HitRow, hit)


@frozen
class SourceRow:
    """One thing that was born of a line of source."""

    compile: str
    """The address of the compile."""
    function: str
    """The function that it compiles."""
    unit: str
    """The lowering; empty where it is of the compile."""
    kind: str
    """What it is: a node, a kernel, a guard, a graph break …"""
    text: str
    """What it says."""
    detail: str
    """More of it."""
    ref: str
    """Where it stands."""


def source_rows(data: SourceLine) -> Iterator[SourceRow]:
    """Yield a row per result of the line."""
    for compile_ in data.compiles:
        for trail in compile_.trails:
            yield _row(SourceRow, trail, compile=compile_.ref, function=compile_.function)


@frozen
class FailureRow:
    """One failure that the output of the job tells of."""

    sentence: str
    """What happened, in a sentence."""
    rank: int | None
    """The rank."""
    pid: int | None
    """The process."""
    exit: str
    """How it ended."""
    is_first: bool
    """Whether it was the first one."""
    is_consequence: bool
    """Whether the process was ended since another one had failed."""
    compile: str
    """The address of the compile that it is probably about; empty for none."""
    function: str | None
    """The function in which it happened."""
    file: str | None
    """The file."""
    line: int | None
    """The line, from 1."""
    log: str
    """The file that says it."""
    offset: int
    """Where in it, in bytes."""


def failure_rows(data: OutputReport) -> Iterator[FailureRow]:
    """Yield a row per failure."""
    for failure in data.failures:
        yield _row(FailureRow, failure)


@frozen
class DamageRow:
    """One damaged place of a log."""

    file: str
    """The log."""
    offset: int
    """Where it begins, in bytes."""
    record: int | None
    """The number of the record, from 0; none where it is no record."""
    name: str
    """What the record is."""
    reason: str
    """What is wrong."""
    ref: str
    """The address of the record, or of what it belongs to."""


def damage_rows(data: DamageReport) -> Iterator[DamageRow]:
    """Yield a row per damaged place."""
    for damage in data.damaged:
        yield _row(DamageRow, damage)


@frozen
class DiffRow:
    """A difference: changed lines of two artifacts, a pair of artifacts or compiles, or a fact of both."""

    what: str
    """`lines`, `pair`, `fact`, `timing`, `guard`, `input`, `symbol`."""
    name: str
    """What the pair or fact is called; empty for lines."""
    left: str | None
    """The lines, the address or the value on the left; none where it has none."""
    right: str | None
    """The same on the right."""
    outcome: str
    """`same`, `changed`, `only left`, `only right`."""
    left_line: int | None
    """The first of the lines on the left, from 1; none where the row is no lines."""
    right_line: int | None
    """The first of the lines on the right."""
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
    """Yield a row per limit."""
    for limit in data.limits:
        yield _row(LimitRow, limit, first=limit.reasons[0].ref if limit.reasons else "")
