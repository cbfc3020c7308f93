"""The view `where`: where a job that goes on is, or where one that was killed stood, rank by rank as far as they differ."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from tltui.analyses.hang.results import INSIDE, Where
from tltui.analyses.hang.where import read_where
from tltui.documents.page import Page
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


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Where the processes of the scope are."""
    return where_document(run, scope, options, {})


def where_document(run: Run, scope: Scope, options: Options, told: Mapping[str, Sequence[str]]) -> Document:
    """The same, with what is known of processes from elsewhere: `Process.key` → lines."""

    def fill(page: Page) -> Generator[None, None, WhereReport]:
        found = yield from read_where(run, scope.processes if str(scope.ref) else None)
        report = WhereReport(answer(found), found)
        page.say(report.answer, "", tokens.STRONG)
        page.more("this is as far as it is written")
        _groups(page, found)
        add_remarks(page, found)
        for process in scope.processes:
            if lines := told.get(process.key):
                page.heading(f"{_of_rank(process.rank)}pid {process.pid}")
                for line in lines:
                    page.say(line, "  ")
        add_advice(page, found)
        return report

    return GrowingDocument(scope.page("where"), f"where it is{scope.title}", options, fill, Page)


def _groups(page: Page, found: Where) -> None:
    if len(found.groups) > 1 or (found.groups and found.groups[0].state == INSIDE):
        page.blank()
        for number, group in enumerate(found.groups[:GROUPS_SHOWN]):
            add_group(page, group, found, number < FEW)
        add_rest(page, found.groups[GROUPS_SHOWN:], found)


def _of_rank(rank: int | None) -> str:
    """`rank 3, `; '' without one."""
    return "" if rank is None else f"rank {rank}, "
