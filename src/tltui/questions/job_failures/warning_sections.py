"""Sections about warnings of torch in a job's output."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.model.run import Run
from tltui.questions.job_failures.job_failures import OutputWarning, outputs_of
from tltui.questions.records.log_page import line_in_log
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

INDENT = "    "
SHOWN = 3
"""Warnings that a summary lists."""


def add_warnings(page: Page, run: Run, warnings: Sequence[OutputWarning]) -> None:
    """Add each warning with its meaning and what to do against it."""
    if not warnings:
        return
    page.heading(f"Torch's warnings in the job's output ({fmt.count(len(warnings))})")
    for warning in warnings:
        page.row([(warning.title, tokens.WARN), *_where(page, warning)])
        if warning.detail:
            page.labelled("cause", sanitize(fmt.one_line(warning.detail)), INDENT, 6)
        page.say(warning.means, INDENT)
        if warning.fix:
            page.say(warning.fix, INDENT)
        model = next((model for model in outputs_of(run) if model.log.path == warning.log), None)
        if model is not None:
            page.add(INDENT, to_page("in the output", line_in_log(run, model, warning.offset_bytes, page.options)))


def add_warning_titles(page: Page, warnings: Sequence[OutputWarning]) -> None:
    """Add one line for each of the first warnings."""
    if not warnings:
        return
    page.heading(f"Torch's warnings in the job's output ({fmt.count(len(warnings))})")
    for warning in warnings[:SHOWN]:
        page.row([(warning.title, tokens.WARN), *_where(page, warning)])
        if warning.detail:
            page.add(INDENT, page.clip(sanitize(fmt.one_line(warning.detail)), page.width - len(INDENT)))
        page.say(warning.fix or warning.means, INDENT, tokens.DIM)
    if len(warnings) > SHOWN:
        page.add("  ", (f"and {fmt.count(len(warnings) - SHOWN)} more", tokens.LINK, "@problems"))


def _where(page: Page, warning: OutputWarning) -> list[Piece]:
    """Return the number of times, the user's line and a link to the compile."""
    pieces: list[Piece] = [f"  {fmt.count(warning.count)} times"] if warning.count > 1 else []
    if warning.file is not None:
        pieces += ["  ", page.place(warning.file, warning.line)]
    if warning.compile:
        pieces += ["  ", (f"[{warning.compile}]", tokens.LINK, warning.compile)]
    return pieces
