"""The page `cudagraphs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.run import Run
from tltui.questions.cudagraphs.cudagraph_report import (
    MIXED,
    RECORDED_AGAIN,
    SIZES,
    SKIPPED,
    USED,
    CudagraphChange,
    CudagraphReport,
    CudagraphUse,
    SkipReason,
    compared_with,
    printed_skips,
    report_of,
    sentence_of,
)
from tltui.questions.job_failures.failure_sections import add_warnings
from tltui.questions.problems.reason_sections import add_stack
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

_STYLES = {USED: tokens.OK, RECORDED_AGAIN: tokens.WARN, SKIPPED: tokens.WARN, MIXED: tokens.WARN}
SIZES_SHOWN = 12
REFS_SHOWN = 8

USES: Table[CudagraphUse] = Table((
    Column("compile", lambda row: (f"[{row.ref}]", tokens.LINK, row.ref), sort="compile"),
    Column("CUDA graph", lambda row: (_words(row.use), _STYLES[row.use]), sort="use", key=lambda row: row.use),
    Column("recorded", lambda row: fmt.count(row.recordings) if row.recordings is not None else "", right=True,
           when=lambda rows: any(row.recordings is not None for row in rows), sort="recorded",
           key=lambda row: -(row.recordings or 0)),
    Column("sizes", lambda row: fmt.count(row.size_count) if row.size_count is not None else "", right=True,
           when=lambda rows: any(row.size_count is not None for row in rows), sort="sizes", key=lambda row: -(row.size_count or 0)),
    Column("recording", lambda row: fmt.seconds(row.recording_s) if row.recording_s is not None else "", right=True, drop=1,
           when=lambda rows: any(row.recording_s is not None for row in rows), sort="recording",
           key=lambda row: -(row.recording_s or 0.0)),
    Column("function", lambda row: (sanitize(row.function or ""), tokens.NAME), sort="name",
           key=lambda row: short(row.function or "")),
), noun="compiles", shown=40, folded=2000, order="compile")  # fmt: skip


CHANGES: Table[CudagraphChange] = Table((
    Column("compile", lambda row: (f"[{row.ref}]", tokens.LINK, row.ref) if row.ref else ("–", tokens.DIM)),
    Column("baseline", lambda row: _words(row.old_use) or ("no record", tokens.DIM)),
    Column("now", lambda row: (_words(row.new_use), _STYLES[row.new_use]) if row.new_use else ("no record", tokens.DIM)),
    Column("function", lambda row: (sanitize(row.function or ""), tokens.NAME)),
), noun="differences", shown=40, folded=2000)  # fmt: skip


def document(run: Run, scope: Scope, options: Options, baseline: Run | None = None) -> Document:
    """Return the page `cudagraphs` for the scope. `baseline`: a run to compare with."""
    page = Page(scope.page("cudagraphs"), f"cudagraphs{scope.title}", options)
    report = report_of(scope.compiles)
    if not str(scope.ref):
        report = replace(report, printed=printed_skips(run))
    if baseline is not None:
        report = compared_with(report, report_of(list(baseline.compiles())))
    page.add((f"CUDA graphs{scope.title}", tokens.TITLE))
    page.blank()
    page.say(_headline(report))
    if not report.compiles and not report.reasons and not report.printed:
        page.say(
            'On a GPU, torch.compile uses CUDA graphs with mode="reduce-overhead" or "max-autotune". When torch skips CUDA graphs, '
            "it prints the reason by default. To log each CUDA graph recording too, set TORCH_LOGS=cudagraphs.", "", tokens.DIM,
        )  # fmt: skip
    if report.differences is not None:
        _add_differences(page, report.differences)
    for reason in report.reasons:
        _add_reason(page, reason)
    add_warnings(page, run, report.printed)
    if report.compiles:
        page.heading("By compile")
        page.table(USES, report.compiles)
    for use in report.compiles:
        if use.sizes:
            shown = ", ".join(use.sizes[:SIZES_SHOWN]) + (" …" if len(use.sizes) > SIZES_SHOWN else "")
            page.say(f"[{use.ref}] was recorded for the sizes {sanitize(shown)}.", "  ")
    return page.document(report)


def _words(use: str) -> str:
    return use.replace("_", " ")


def _add_differences(page: Page, differences: Sequence[CudagraphChange]) -> None:
    page.heading("Differences from the baseline")
    if differences:
        page.table(CHANGES, differences)
    else:
        page.say("In both runs, the same compiles used or skipped CUDA graphs, for the same recorded reasons.", "  ")
    for change in differences:
        for reason in change.reasons:
            page.say(f"New in {change.ref}: {sanitize(fmt.one_line(reason))}", "  ", tokens.WARN, "    ")


def _headline(report: CudagraphReport) -> str:
    if not report.compiles and not report.reasons:
        if report.printed:
            return "Torch printed that it skipped CUDA graphs. The text does not name the compile."
        return "The log has no records of CUDA graphs."
    counts = [(use, sum(row.use == use for row in report.compiles)) for use in _STYLES]
    words = ", ".join(f"{fmt.count(count)} {_words(use)}" for use, count in counts if count)
    unknown = f"{fmt.plural(report.without_record, 'compile')} without a record of CUDA graphs" if report.without_record else ""
    return f"Compiles: {'; '.join(filter(None, (words, unknown)))}." if words else f"{unknown or 'No compile'}."


def _add_reason(page: Page, reason: SkipReason) -> None:
    page.blank()
    count = fmt.plural(len(reason.refs), "compile")
    title = "Recorded again" if reason.kind == SIZES else "Skipped"
    page.say(f"{title} ({count}): {sanitize(fmt.one_line(sentence_of(reason)))}", "", tokens.WARN, "  ")
    if reason.instances is not None and reason.instances > 1:
        page.say(f"Torch prints only one of {fmt.count(reason.instances)} places.", "  ", tokens.DIM)
    if reason.stack:
        add_stack(page, reason.stack)
    if fix := _fix(reason):
        page.say(fix, "  ")
    refs = reason.refs[:REFS_SHOWN]
    page.row([piece for ref in refs for piece in ((f"[{ref}]", tokens.LINK, ref), " ")], "  ")


def _fix(reason: SkipReason) -> str:
    """Return the fix, in code where torch has a setting for it."""
    if reason.kind == SIZES:
        return (
            "Pad inputs to a few sizes, or set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True; torch then "
            "records no graph for dynamic sizes."
        )
    if reason.reason.startswith("cpu device"):
        return "Create this tensor on the GPU; CUDA graphs record GPU work only."
    if reason.reason.startswith("mutated inputs"):
        return (
            "If the input is the same tensor in every call, call torch._dynamo.mark_static_address on it before the first call; "
            "torch then allows its mutation."
        )
    return ""


@dataclass(frozen=True, slots=True)
class CudagraphRow:
    """The CUDA graphs of one compile."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    rank: int | None
    """The rank."""
    use: str
    """`used`, `recorded_again`, `skipped`, or `used_in_part`."""
    reasons: tuple[str, ...]
    """Torch's reasons for skips."""
    file: str | None
    """The file of the first reason's line."""
    line: int | None
    """That line, from 1."""
    recordings: int | None
    """CUDA graphs that were recorded; None if unknown."""
    size_count: int | None
    """Distinct input sizes that were recorded; None if unknown."""


def cudagraph_rows(report: CudagraphReport) -> Iterator[CudagraphRow]:
    """Yield one row per compile with a record about CUDA graphs."""
    for use in report.compiles:
        places = [place for message in use.messages if (place := message.place) is not None]
        reasons = tuple(dict.fromkeys(message.reason for message in use.messages if message.kind == SKIPPED))
        file, line = (places[0].file, places[0].line) if places else (None, None)
        yield CudagraphRow(use.ref, use.function, use.rank, use.use, reasons, file, line, use.recordings, use.size_count)


QUESTION = Question(
    name="cudagraphs",
    help="CUDA graphs by compile: used, skipped with the reason and line, or recorded for many sizes",
    group="find causes",
    order=720,
    sorts=("compile", "use", "recorded", "sizes", "recording", "name"),
    needs=Needs(
        "has only the printed messages about CUDA graphs", ("cudagraphs",), "recordings of CUDA graphs", reads_output=True
    ),
    document=document,
    answer=CudagraphReport,
    rows=CudagraphRow,
    records=cudagraph_rows,
    doc="""
    CUDA graphs by compile: used, skipped with reason and line, or recorded for many sizes. One row per compile with a record.
    """,
)
