"""Rows of what compiles did: counts, stacks, guards, shapes, caches, metrics, vLLM's pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tltui.api.rows.words import joined
from tltui.model.nodes import Compile
from tltui.model.status import total
from tltui.questions.caches.cache_report import CachesReport
from tltui.questions.guards.page import CompileGuards, GuardTable
from tltui.questions.metrics.compile_metrics import CompileMetrics, RunMetrics
from tltui.questions.overview.compile_sections import Study
from tltui.questions.overview.run_summary import Summary
from tltui.questions.shapes.page import ShapesReport
from tltui.questions.stacks.stack_tree import Stacks
from tltui.questions.vllm.page import Vllm


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """The counts of a run, or of a part of it."""

    ref: str
    """The address of the part; empty for the run."""
    ranks: int
    """Ranks with a compile in it; processes without a rank count as one."""
    compiles: int
    """Compiles. Each is counted in one of the next eight columns."""
    ok: int
    """Compiled without a graph break."""
    errors: int
    """Failed, and the exception reached the caller."""
    eager: int
    """Run in eager mode."""
    broken: int
    """Compiled, with graph breaks."""
    empty: int
    """No operation was captured."""
    running: int
    """Not ended yet."""
    missing: int
    """Without metrics, though the log has ended."""
    seen: int
    """Of which the log tells no outcome."""
    breaks: int
    """Graph breaks, all of them."""
    recompiles: int
    """Recompiles."""
    restarts: int
    """Restarts of the analysis."""
    seconds: float
    """What the compiles took together, in seconds; those of ranks ran side by side."""
    torch: str
    """The versions of torch that the log states."""


def summary_rows(data: Summary | Study, ref: str, compiles: Sequence[Compile]) -> Iterator[SummaryRow]:
    """One row."""
    tally = total(own.tally for own in compiles)
    torch = (data.torch or "") if isinstance(data, Study) else joined(data.versions)
    yield SummaryRow(
        ref, len({own.process.rank for own in compiles}), tally.compiles, tally.ok, tally.errors, tally.eager, tally.broken,
        tally.empty, tally.running, tally.missing, tally.seen, tally.breaks, tally.recompiles, tally.restarts, tally.seconds, torch,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StackRow:
    """One frame of the tree of stacks, in the order of the tree."""

    number: int
    """Its number in the tree."""
    parent: int
    """The number of the frame that calls it; as the page numbers them."""
    depth: int
    """How deep it is, from 0."""
    function: str
    """The function."""
    file: str
    """The file."""
    line: int | None
    """The line, from 1."""
    code: str | None
    """What stands there."""
    framework: bool
    """Whether it is torch's own, or a library's."""
    count: int
    """Compiles at this frame and in what it calls."""
    refs: str
    """The addresses of the compiles whose stack ends here."""


def stack_rows(data: Stacks) -> Iterator[StackRow]:
    """A row each."""
    for own in data.nodes:
        frame = own.frame
        refs = joined(compile_.ref for compile_ in own.compiles)
        yield StackRow(own.number, own.parent, own.depth, frame.name, frame.file, frame.line, frame.code, frame.framework,
                       own.count, refs)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GuardRow:
    """Of one compile: one guard. Of several: the guards of one kind of one compile."""

    ref: str
    """The address of the compile."""
    kind: str
    """The kind of guard: `TENSOR_MATCH` …"""
    count: int
    """How many there are: 1 where the row is one guard."""
    source: str | None
    """What it speaks of; none where the row is several."""
    expression: str | None
    """What it checks; none where the row is several."""
    file: str | None
    """The file of the line that made it."""
    line: int | None
    """That line, from 1."""
    code: str | None
    """What stands there."""
    failed: int
    """How many later compiles there are for which it did not hold; of several guards 0: `data` has them."""


def guard_rows(data: GuardTable | CompileGuards | tuple[CompileGuards, ...]) -> Iterator[GuardRow]:
    """A row a guard, or a row a kind."""
    if isinstance(data, GuardTable):
        for counts in data.compiles:
            for kind in counts.kinds:
                yield GuardRow(counts.ref, kind.name, kind.times, None, None, None, None, None, 0)
        return
    for own in (data,) if isinstance(data, CompileGuards) else data:
        ref = own.counts.ref if own.counts is not None else ""
        for guard in own.guards:
            yield GuardRow(ref, guard.kind, 1, guard.source, guard.expression, guard.file, guard.place, guard.code,
                           len(guard.failed))  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """One symbol of one compile."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    symbol: str
    """What torch calls it: `s0`."""
    source: str | None
    """What it stands for: `L['x'].size()[0]`."""
    tensor: str | None
    """The tensor, of a size."""
    dim: int | None
    """The dimension, of a size."""
    hint: str | None
    """The value that it had while torch traced."""
    range: str | None
    """The values that it may have."""
    unbacked: bool
    """Whether it depends on data."""
    fixed: str | None
    """The number that it was fixed to; none where it stayed a symbol."""
    fixed_file: str | None
    """The file of the line that fixed it."""
    fixed_line: int | None
    """That line, from 1."""
    guards: int
    """Conditions that torch noted down of it while it traced."""


def shape_rows(data: ShapesReport) -> Iterator[ShapeRow]:
    """A row each."""
    for compile_ in data.compiles:
        for own in compile_.symbols:
            fixed = own.fixed
            user = fixed.user if fixed is not None else None
            yield ShapeRow(compile_.ref, compile_.function, own.name, own.source, own.tensor, own.dim, own.hint, own.range,
                           own.unbacked, fixed.value if fixed is not None else None, user.file if user is not None else None,
                           user.line if user is not None else None, len(own.guards))  # fmt: skip


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One question of one compile to a cache."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    cache: str
    """Which cache."""
    state: str
    """`hit`, `miss`, `bypass` …"""
    key: str | None
    """The key that was looked for."""
    reason: str | None
    """Why it was bypassed, or could not be used."""
    seconds_saved: float | None
    """What a hit saved, in seconds, as torch estimates it."""
    seconds_taken: float | None
    """What asking took, in seconds."""
    record: str | None
    """The address of the answer."""


def cache_rows(data: CachesReport) -> Iterator[CacheRow]:
    """A row each."""
    for compile_ in data.compiles:
        for own in compile_.answers:
            yield CacheRow(compile_.ref, compile_.function, own.cache, own.state, own.key, own.reason, own.seconds_saved,
                           own.seconds_taken, own.ref)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetricRow:
    """Of one compile: one field of one metrics record. Of several: one number over all records that have it."""

    ref: str
    """The address of the record; of several that of the one with the most."""
    name: str
    """The field, as torch calls it."""
    group: str
    """What it is about."""
    unit: str
    """Its unit: `s`, `us`, `ns`, `bytes` …; empty for a count or a word."""
    count: int
    """Records that have it."""
    sum: float | None
    """The sum; none where it is no number, or a sum means nothing."""
    least: float | None
    """The least; none where it is no number."""
    most: float | None
    """The most; none where it is no number."""
    text: str | None
    """The value where it is no number, as JSON; of several records none."""


def metric_rows(data: RunMetrics | CompileMetrics) -> Iterator[MetricRow]:
    """A row each."""
    if isinstance(data, RunMetrics):
        for total_ in data.totals:
            yield MetricRow(total_.most_ref, total_.name, total_.group, total_.unit, total_.count, total_.sum, total_.least,
                            total_.most, None)  # fmt: skip
        return
    for record in data.records:
        for own in record.fields:
            value = own.value
            number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
            text = None if number is not None else value if isinstance(value, str) else json.dumps(value)
            yield MetricRow(record.ref, own.name, own.group, own.unit, 1, number, number, number, text)


@dataclass(frozen=True, slots=True)
class VllmRow:
    """One piece of one compile call of vLLM: a submodule, compiled for a range of sizes."""

    call: int
    """The number of the call, from 1."""
    ref: str
    """The address of the piece."""
    compile: str
    """The address of the compile."""
    submodule: str
    """What the piece is called."""
    start: int | None
    """The least size that it is for; none where that is not stated."""
    end: int | None
    """The largest size."""
    single: bool
    """Whether it is for one size."""
    capture: bool
    """Whether a CUDA graph of it is captured."""
    passes: int
    """Passes that ran over it."""
    changed: int
    """Passes that changed it."""
    code: str | None
    """The address of its code."""
    cache: str | None
    """How the cache answered."""


def vllm_rows(data: Vllm) -> Iterator[VllmRow]:
    """A row each."""
    for call in data.calls:
        for submodule in call.submodules:
            for own in submodule.pieces:
                changed = sum(step.changed is True for step in own.passes)
                yield VllmRow(call.number, own.ref, call.ref, own.submodule, own.start, own.end, own.single, own.capture,
                              len(own.passes), changed, own.code, own.cache)  # fmt: skip
