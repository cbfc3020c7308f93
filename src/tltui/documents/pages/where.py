"""The view `where`: where a job that goes on is, or where one that was killed stood, rank by rank as far as they differ."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from tltui.analyses.hang.collectives import Collectives, compare_dumps
from tltui.analyses.hang.results import INSIDE, Group, Where
from tltui.analyses.hang.sampled_stacks import StackGroup
from tltui.analyses.hang.where import read_where
from tltui.analyses.job_failures.of_run import RunFailure, run_failures
from tltui.analyses.unread import not_read
from tltui.documents.page import Page
from tltui.documents.parts.collectives import add_collectives, collectives_answer
from tltui.documents.parts.incomplete import add_not_read
from tltui.documents.parts.job_failures import UNNAMED, add_ends, add_overlaps, end_answer
from tltui.documents.parts.processes import Here, add_processes, stack_groups
from tltui.documents.parts.sampled_stacks import stacks_answer
from tltui.documents.parts.where import FEW, GROUPS_SHOWN, add_group, add_rest, answer
from tltui.documents.parts.where_now import is_unnamed
from tltui.documents.parts.where_remarks import add_advice, add_remarks
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
    stacks: tuple[StackGroup, ...] = ()
    """Their Python stacks in groups, the odd one first, where these were asked for."""
    collectives: Collectives | None = None
    """What torch's flight recorder wrote of collectives; None where there is no dump of it."""
    failures: tuple[RunFailure, ...] = ()
    """How the processes of an ended job failed, as its output reports it: causes before consequences."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Where the processes of the scope are."""
    return where_document(run, scope, options, None)


def where_document(run: Run, scope: Scope, options: Options, here: Here | None, ref: str = "") -> Document:
    """The same, with what its processes on this machine were found to do. `ref`: its address, where it is not that of the view."""

    def fill(page: Page) -> Generator[None, None, WhereReport]:
        found = yield from read_where(run, scope.processes if str(scope.ref) else None)
        yield from run.dumps.steps()
        recorded = _recorded(run, scope)
        groups = stack_groups(run, here) if here is not None else ()
        failures = () if found.goes_on or str(scope.ref) else run_failures(run)
        if failures:
            found = replace(found, groups=_causes_first(found.groups, failures))
        by_dumps = collectives_answer(recorded, not found.goes_on) if recorded is not None else ""
        end = end_answer(failures)
        first, *others = [sentence for sentence in (stacks_answer(groups), by_dumps, answer(found)) if sentence]
        report = WhereReport(f"{end} {first}".strip(), found, here, groups, recorded, failures)
        at_once = frozenset() if str(scope.ref) else add_overlaps(page, run)
        if at_once:  # they are the processes of another job, no older ones
            found = replace(found, restarted=tuple(one for one in found.restarted if one.pid not in at_once))
        if failures:
            add_ends(page, run, failures)
        elif is_unnamed(run, found):
            page.say(UNNAMED, "", tokens.WARN)
        page.say(first, "", "" if failures else tokens.STRONG)
        for sentence in others:
            page.say(sentence)
        add_not_read(page, not_read(run))
        page.more("this is as far as it is written")
        _groups(page, found)
        if recorded is not None:
            add_collectives(page, recorded, run.dumps.refused)
        add_remarks(page, found)
        if here is not None:
            add_processes(page, run, here)
        add_advice(page, found, here is not None or bool(failures), _missing(run, recorded))
        return report

    return GrowingDocument(ref or scope.page("where"), f"where it is{scope.title}", options, fill, Page)


def _causes_first(groups: Sequence[Group], failures: Sequence[RunFailure]) -> tuple[Group, ...]:
    """Order groups of ranks: those that failed by themselves first, those that the launcher ended last."""
    newest = max(failure.launch for failure in failures)
    culprits = {item.rank for item in failures if item.launch == newest and not item.is_consequence}
    followers = {item.ranks for item in failures if item.launch == newest and item.is_consequence}
    return tuple(sorted(groups, key=lambda group: 0 if group.first in culprits else 2 if group.ranks in followers else 1))


def _recorded(run: Run, scope: Scope) -> Collectives | None:
    """What the dumps of the flight recorder show of the whole run; None without a dump."""
    if str(scope.ref) or not (run.dumps.dumps or run.dumps.refused):
        return None
    ranks = [rank.number for rank in run.ranks if rank.number is not None]
    began = min((process.started for process in run.processes() if process.is_traced and process.started), default=0.0)
    return compare_dumps(run.dumps.dumps, ranks, began * 1e6)


def _missing(run: Run, recorded: Collectives | None) -> tuple[int, int] | None:
    """A rank that has not entered a collective in which others wait, and its newest process; None where no dump shows one."""
    rank = next((own.first_missing for own in recorded.pending if own.missing), None) if recorded is not None else None
    processes = [process for process in run.processes() if process.rank == rank and process.is_traced] if rank is not None else []
    return (rank, processes[-1].pid) if rank is not None and processes else None


def _groups(page: Page, found: Where) -> None:
    if len(found.groups) > 1 or (found.groups and found.groups[0].state == INSIDE):
        page.blank()
        for number, group in enumerate(found.groups[:GROUPS_SHOWN]):
            add_group(page, group, found, number < FEW)
        add_rest(page, found.groups[GROUPS_SHOWN:], found)

