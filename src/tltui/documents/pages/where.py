"""The view `where`: where a job that goes on is, or where one that was killed stood, rank by rank as far as they differ."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from tltui.analyses.hang.results import INSIDE, Where
from tltui.analyses.hang.where import read_where
from tltui.analyses.unread import not_read
from tltui.documents.page import Page
from tltui.documents.parts.incomplete import add_not_read
from tltui.documents.parts.processes import Here, add_processes
from tltui.documents.parts.where import FEW, GROUPS_SHOWN, add_advice, add_group, add_remarks, add_rest, answer
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument


@dataclass(frozen=True, slots=True)
class WhereReport:
    """Where a job is."""

    answer: str
    """In a sentence."""
    where: Where
    here: Here | None = None
    """What the processes of the run on this machine do, where that was asked for."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Where the processes of the scope are."""
    return where_document(run, scope, options, None)


def where_document(run: Run, scope: Scope, options: Options, here: Here | None, ref: str = "") -> Document:
    """The same, with what its processes on this machine were found to do. `ref`: its address, where it is not that of the view."""

    def fill(page: Page) -> Generator[None, None, WhereReport]:
        found = yield from read_where(run, scope.processes if str(scope.ref) else None)
        report = WhereReport(answer(found), found, here)
        page.say(report.answer, "", tokens.STRONG)
        add_not_read(page, not_read(run))
        page.more("this is as far as it is written")
        _groups(page, found)
        add_remarks(page, found)
        if here is not None:
            add_processes(page, run, here)
        add_advice(page, found, here is not None)
        return report

    return GrowingDocument(ref or scope.page("where"), f"where it is{scope.title}", options, fill, Page)


def _groups(page: Page, found: Where) -> None:
    if len(found.groups) > 1 or (found.groups and found.groups[0].state == INSIDE):
        page.blank()
        for number, group in enumerate(found.groups[:GROUPS_SHOWN]):
            add_group(page, group, found, number < FEW)
        add_rest(page, found.groups[GROUPS_SHOWN:], found)

