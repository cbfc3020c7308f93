"""How the job ended, as its output tells: a line for overviews, a section for the page of problems."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from tltui.analyses.job_failures.of_run import RunFailure, outputs_of, own_failures, told_first, traceback_of
from tltui.analyses.prose.break_reason import read_reason
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.pages.log import line_in_log
from tltui.documents.parts.reports import add_said
from tltui.documents.parts.stacks import add_traceback
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

INDENT = "    "
SHOWN = 3
FOLDED = 100
"""Failures that are told beside the first ones."""


def add_ends(page: Page, found: Sequence[RunFailure]) -> None:
    """The first failures, a line each."""
    own = own_failures(found)
    for item in own[:SHOWN]:
        sentence = (fmt.clip(sanitize(item.sentence), 2 * page.width), tokens.ERROR)
        page.row([page.status(Status.ERROR), " ", sentence, *_where(page, item)], "")
    if len(own) > SHOWN:
        page.add((f"and {fmt.plural(len(own) - SHOWN, 'more failure')} in the output", tokens.LINK, "@problems"))


def _where(page: Page, item: RunFailure) -> list[Piece]:
    """The user's line, and the compile that it is about."""
    pieces: list[Piece] = []
    if item.file is not None:
        pieces += ["  ", page.place(item.file, item.line)]
    if item.compile:
        pieces += ["  ", (f"[{item.compile}]", tokens.LINK, item.compile), (" probably", tokens.DIM)]
    return pieces


def add_job_failures(page: Page, run: Run, found: Sequence[RunFailure]) -> Generator[None, None, None]:
    """All that the output tells of how the job ended."""
    if not found:
        return
    page.heading(f"What the output says of the end ({fmt.count(len(found))})")
    for number, item in enumerate(found[: SHOWN + FOLDED]):
        if number == SHOWN:
            page.open(f"{fmt.count(len(found) - SHOWN)} more", folded=True)
            page.add("  ", (f"{fmt.count(len(found) - SHOWN)} more", tokens.DIM))
        _add_failure(page, run, item)
        yield
    page.close(0)


def add_of_compile(page: Page, run: Run, ref: str) -> None:
    """The failures in the output that are probably those of a compile."""
    for item in told_first(run):
        if item.compile == ref:
            page.heading("Failure in the output")
            _add_failure(page, run, item)


def _add_failure(page: Page, run: Run, item: RunFailure) -> None:
    style = tokens.DIM if item.is_consequence else tokens.ERROR
    page.open(sanitize(item.sentence))
    glyph = page.status(Status.ERROR) if not item.is_consequence else "·"
    page.row([glyph, " ", (fmt.clip(sanitize(item.sentence), 4 * page.width), style), *_where(page, item)])
    if item.means:
        page.say(f"It means: {item.means}.", INDENT)
    if item.host or item.time:
        host = f"on {item.host} " if item.host else ""
        page.say(sanitize(host + (f"at {item.time.replace('_', ' ')}" if item.time else "")).strip(), INDENT)
    if item.compile:
        page.say("The output does not name the compile: this is the last one before it that has no end.", INDENT, tokens.DIM)
    model = next((model for model in outputs_of(run) if model.log.path == item.log), None)
    if model is not None:
        page.add(INDENT, ("in the output", tokens.LINK, line_in_log(run, model, item.offset, page.options)))
    traceback = traceback_of(run, item)
    if traceback is not None and traceback.is_compile:
        said = read_reason(traceback.message).first
        add_said(page, sanitize(fmt.one_line(said.explanation)), [sanitize(fmt.one_line(hint)) for hint in said.hints], INDENT)
    if traceback is not None and traceback.parts:
        add_traceback(page, traceback.parts, " of the traceback", INDENT)
    page.close()
