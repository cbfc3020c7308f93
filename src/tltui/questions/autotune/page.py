"""The page `autotune`: searches, their choices, and configurations in Inductor's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.run import Run
from tltui.questions.autotune.autotune_report import (
    CHANGED,
    CHOICES_SHOWN,
    UNCHANGED,
    UNKNOWN,
    AutotuneReport,
    Choice,
    Configuration,
    ConfigurationChange,
    Tuning,
    TuningChange,
    compared_with,
    report_of,
)
from tltui.questions.question import Question
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import micros
from tltui.text.sanitize import sanitize

REFUSED_SHOWN = 5
_STYLES = {UNCHANGED: tokens.WARN, CHANGED: tokens.OK, UNKNOWN: tokens.DIM}
TABLES_SHOWN = 30
"""Searches whose choices are listed."""


def _time(time_us: float | None) -> str:
    return micros(time_us) if time_us is not None else ""


TUNINGS: Table[Tuning] = Table((
    Column("operation", lambda row: (sanitize(row.op), tokens.NAME), sort="name", key=lambda row: (row.op, row.shape)),
    Column("input sizes", lambda row: sanitize(row.shape) or ("unknown", tokens.DIM)),
    Column("winner", lambda row: (sanitize(row.winner) or "unknown", _STYLES[row.result]), sort="winner",
           key=lambda row: row.winner),
    Column("time", lambda row: (_time(row.winner_us), tokens.NUMBER), right=True, sort="time",
           key=lambda row: -(row.winner_us or 0.0)),
    Column("gain", lambda row: f"{row.speedup:.2f}×" if row.speedup is not None else "", right=True, drop=3,
           when=lambda rows: any(row.speedup is not None for row in rows), sort="gain", key=lambda row: -(row.speedup or 0.0)),
    Column("choices", lambda row: fmt.count(row.choice_count) if row.choice_count is not None else "", right=True, drop=2,
           sort="choices", key=lambda row: -(row.choice_count or 0)),
    Column("search", lambda row: fmt.seconds(row.benchmark_s) if row.benchmark_s is not None else "", right=True, shrinks=False,
           sort="search"),
    Column("compile", lambda row: (f"[{row.ref}]", tokens.LINK, row.ref) if row.ref else "", drop=1,
           when=lambda rows: any(row.ref for row in rows)),
), noun="searches", shown=40, folded=2000, order="search")  # fmt: skip

CHOICES: Table[Choice] = Table((
    Column("choice", lambda row: (sanitize(row.name), tokens.NAME)),
    Column("time", lambda row: (_time(row.time_us), tokens.NUMBER), right=True),
    Column("parameters", lambda row: (sanitize(row.description), tokens.DIM), drop=1,
           when=lambda rows: any(row.description for row in rows)),
), noun="choices", shown=CHOICES_SHOWN, indent="    ")  # fmt: skip

CHANGES: Table[TuningChange] = Table((
    Column("operation", lambda row: (sanitize(row.op), tokens.NAME)),
    Column("input sizes", lambda row: sanitize(row.shape) or ("unknown", tokens.DIM)),
    Column("baseline", lambda row: sanitize(row.old_winner) or ("–", tokens.DIM)),
    Column("time", lambda row: (_time(row.old_us), tokens.NUMBER), right=True),
    Column("now", lambda row: sanitize(row.new_winner) or ("–", tokens.DIM)),
    Column("time", lambda row: (_time(row.new_us), tokens.NUMBER), right=True),
), noun="differences", shown=40, folded=2000)  # fmt: skip


def _kernel(item: Configuration) -> tuple[str, str]:
    if item.kernel:
        return sanitize(item.kernel), tokens.NAME
    return f"one of {fmt.plural(len(item.candidates), 'kernel')}" if item.candidates else "unknown", tokens.DIM


def _count(value: int | None) -> tuple[str, str]:
    return "" if value is None else fmt.count(value), tokens.NUMBER


CONFIGURATIONS: Table[Configuration] = Table((
    Column("kernel", _kernel, sort="name", key=lambda row: row.kernel or ""),
    Column("parameters", lambda row: sanitize(" ".join(f"{item.name}={item.value}" for item in row.parameters))),
    Column("warps", lambda row: _count(row.num_warps), right=True, shrinks=False, sort="warps",
           key=lambda row: -(row.num_warps or 0)),
    Column("stages", lambda row: _count(row.num_stages), right=True, shrinks=False, sort="stages",
           key=lambda row: -(row.num_stages or 0)),
    Column("", lambda row: "descent" if row.by_coordinate_descent else "", drop=1,
           when=lambda rows: any(row.by_coordinate_descent for row in rows)),
    Column("search", lambda row: (micros(row.search_s * 1e6), tokens.NUMBER) if row.search_s is not None else "", right=True,
           shrinks=False, sort="search"),
), noun="configurations", shown=40, folded=2000, order="search")  # fmt: skip
CONFIGURATION_CHANGES: Table[ConfigurationChange] = Table((
    Column("kernel", lambda row: (sanitize(row.kernel) or "unknown", tokens.NAME)),
    Column("changed parameters", lambda row: sanitize(row.text)),
), noun="differences", shown=40, folded=2000)  # fmt: skip


def document(run: Run, scope: Scope, options: Options, baseline: Run | None = None) -> Document:
    """Return the page `autotune` for the scope. `baseline`: a run to compare with."""
    page = Page(scope.page("autotune"), f"autotune{scope.title}", options)
    report = report_of(run, scope.compiles, with_output=not str(scope.ref))
    if baseline is not None:
        report = compared_with(report, report_of(baseline, list(baseline.compiles())))
    page.add((f"Autotune{scope.title}", tokens.TITLE))
    page.blank()
    if report.configurations and not report.tunings:
        count = fmt.plural(len(report.configurations), "kernel")
        page.say(f"Inductor's cache has the configurations of {count}.", style=tokens.STRONG)
        if report.baseline_search_s is not None:
            _add_differences(page, report)
        _add_configurations(page, report)
        return page.document(report)
    if not report.tunings:
        page.say("The log has no record of autotuning.")
        page.say(
            'Torch autotunes with torch.compile(mode="max-autotune") or TORCHINDUCTOR_MAX_AUTOTUNE=1. The trace then records the '
            "winners (torch 2.8 and later), and the job's output lists all choices with their times.", "", tokens.DIM,
        )  # fmt: skip
        if report.baseline_search_s is not None:
            _add_differences(page, report)
        _add_configurations(page, report)
        return page.document(report)
    page.say(headline(report), style=tokens.STRONG)
    if report.unchanged:
        page.say(
            "max-autotune changes nothing if an extern kernel wins (ATen, MKL): torch uses it without max-autotune too.",
            "", tokens.DIM,
        )  # fmt: skip
    if any(tuning.speedup is not None for tuning in report.tunings):
        page.say("Gain: time of the fastest extern kernel divided by the time of the winner.", "", tokens.DIM)
    if report.baseline_search_s is not None:
        _add_differences(page, report)
    page.blank()
    page.table(TUNINGS, report.tunings)
    for tuning in report.tunings[:TABLES_SHOWN]:
        _add_tuning(page, tuning)
    _add_configurations(page, report)
    return page.document(report)


def _add_differences(page: Page, report: AutotuneReport) -> None:
    page.heading("Differences from the baseline")
    if report.search_s or report.baseline_search_s:
        page.say(f"Search: {fmt.seconds(report.baseline_search_s or 0.0)} → {fmt.seconds(report.search_s)}.", "  ")
    _add_configuration_changes(page, report.configured)
    if report.differences:
        page.table(CHANGES, report.differences)
    elif report.configurations and not report.tunings:
        if not report.configured:
            page.say("Kernels of both runs have equal configurations.", "  ")
    else:
        page.say("Both runs have the same operations, sizes and winners.", "  ")


def headline(report: AutotuneReport) -> str:
    """Return the outcome of all searches in a sentence."""
    total = len(report.tunings)
    cost = f"The search took {fmt.seconds(report.search_s)}" if report.search_s else "The cost of the search is unknown"
    unknown = f" For {fmt.plural(report.unknown, 'shape')}, the winner or its kind is unknown." if report.unknown else ""
    shapes = fmt.plural(total, "shape")
    if not report.unchanged:
        return f"max-autotune chose generated kernels for {fmt.count(report.changed)} of {shapes}. {cost}.{unknown}"
    return f"max-autotune changed nothing for {fmt.count(report.unchanged)} of {shapes}. {cost}.{unknown}"


def _add_tuning(page: Page, tuning: Tuning) -> None:
    if not tuning.choices and not tuning.lines:
        return
    page.blank()
    title: list[Piece] = [(f"{sanitize(tuning.op)}({sanitize(tuning.shape)})", tokens.STRONG)]
    if tuning.dtypes:
        title.append((f"  {sanitize(', '.join(tuning.dtypes))}", tokens.DIM))
    page.row(title, "  ")
    for line in tuning.lines:
        page.row(["your line ", page.place(line.file, line.line)], "    ")
        page.code(line.code, "       ")
    if tuning.choices:
        page.table(CHOICES, tuning.choices)


def _add_configurations(page: Page, report: AutotuneReport) -> None:
    """Add the chosen configurations of Triton kernels."""
    if not report.configurations and not report.refused:
        return
    page.heading("Configurations in Inductor's cache")
    page.say("Torch uses these instead of a new search while the kernel and the version of torch are the same.", "  ", tokens.DIM)
    if any(item.by_coordinate_descent for item in report.configurations):
        page.say("descent: found by coordinate descent.", "  ", tokens.DIM)
    if report.configurations:
        page.table(CONFIGURATIONS, report.configurations)
    for line in report.refused[:REFUSED_SHOWN]:
        page.say(f"not read: {sanitize(line)}", "  ", tokens.DIM)
    if len(report.refused) > REFUSED_SHOWN:
        page.say(f"{fmt.count(len(report.refused) - REFUSED_SHOWN)} more files were not read.", "  ", tokens.DIM)


def _add_configuration_changes(page: Page, differences: tuple[ConfigurationChange, ...]) -> None:
    """Add the kernels with another configuration than in the baseline."""
    if differences:
        page.say("Kernels with another configuration:", "  ")
        page.table(CONFIGURATION_CHANGES, differences)


@dataclass(frozen=True, slots=True)
class TuningRow:
    """The search for one operation and shape."""

    ref: str
    """The address of the compile; '' if only the output of the job shows the search."""
    op: str
    """The operation as torch names it."""
    sizes: tuple[tuple[int | str, ...], ...]
    """The sizes of its inputs, one list per input."""
    dtypes: tuple[str, ...]
    """Their types."""
    winner: str
    """The fastest choice; '' if unknown."""
    winner_us: float | None
    """Its time in microseconds."""
    result: str
    """`unchanged` (an extern kernel won), `changed` (a generated kernel won) or `unknown`."""
    speedup: float | None
    """Time of the fastest extern kernel divided by that of the winner; None without all times."""
    choice_count: int | None
    """The number of choices."""
    benchmark_s: float | None
    """Seconds of the search."""
    precompile_s: float | None
    """Seconds of compiling the choices before it."""
    file: str | None
    """The file of the first line of the program with it."""
    line: int | None
    """That line, from 1."""


def tuning_rows(report: AutotuneReport) -> Iterator[TuningRow]:
    """Yield one row per search."""
    for tuning in report.tunings:
        lines: Sequence[tuple[str, int]] = [(line.file, line.line) for line in tuning.lines]
        file, number = lines[0] if lines else (None, None)
        yield TuningRow(
            tuning.ref, tuning.op, tuning.sizes, tuning.dtypes, tuning.winner, tuning.winner_us, tuning.result, tuning.speedup,
            tuning.choice_count, tuning.benchmark_s, tuning.precompile_s, file, number,
        )  # fmt: skip


QUESTION = Question(
    name="autotune",
    help="autotuning by operation and shape: choices, winner, cost of the search, your lines",
    group="find causes",
    order=730,
    sorts=("search", "time", "gain", "choices", "winner", "name", "warps", "stages"),
    needs=Needs("has only the printed tables of autotuning, without your lines", in_debug_dir=True, reads_output=True),
    document=document,
    answer=AutotuneReport,
    rows=TuningRow,
    records=tuning_rows,
    doc="""
    Autotuning by operation and shape: choices, winner, cost of the search. One row per search, the most expensive first.
    """,
)
