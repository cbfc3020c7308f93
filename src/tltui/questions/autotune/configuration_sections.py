"""Sections of the page `autotune` about configurations in Inductor's cache."""

from __future__ import annotations

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table
from tltui.documents.page import Page
from tltui.questions.autotune.autotune_report import AutotuneReport
from tltui.questions.autotune.best_configs import Configuration, ConfigurationChange
from tltui.text import tokens
from tltui.text.formatting import micros
from tltui.text.sanitize import sanitize

REFUSED_SHOWN = 5


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
CHANGES: Table[ConfigurationChange] = Table((
    Column("kernel", lambda row: (sanitize(row.kernel) or "unknown", tokens.NAME)),
    Column("changed parameters", lambda row: sanitize(row.text)),
), noun="differences", shown=40, folded=2000)  # fmt: skip


def add_configurations(page: Page, report: AutotuneReport) -> None:
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


def add_changes(page: Page, differences: tuple[ConfigurationChange, ...]) -> None:
    """Add the kernels with another configuration than in the baseline."""
    if differences:
        page.say("Kernels with another configuration:", "  ")
        page.table(CHANGES, differences)
