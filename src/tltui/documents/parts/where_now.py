"""Where a job that goes on is, in one line for its first page."""

from __future__ import annotations

from tltui.analyses.hang.open_work import INTERRUPTED
from tltui.analyses.hang.results import INSIDE, Group, Where
from tltui.analyses.hang.where import where
from tltui.analyses.job_failures.of_run import outputs_of
from tltui.analyses.ranks.ranges import ranges
from tltui.documents.parts.where import (
    answer,
    called,
    doing,
    elsewhere,
    many_ranks,
    short,
    since_when,
    stands,
    subject,
    these,
    waited_for,
)
from tltui.model.run import Run
from tltui.sources.pids import compilers_of
from tltui.trace.files import FileBytes

MOST = 256
"""Processes of a run whose first page asks where it is: of more that takes seconds."""
COMPILING = {"compile_file": "compiling C++ for", "async_compile.wait": "waiting for the compilers of the kernels of"}
"""Phases in which other processes do the work, in words."""


def now(places: Where) -> str:
    """What a job that goes on is in the middle of, in a line: `rank 1 is compiling C++ for forward [4/0] since 13:55:26; ranks 0, 2
    have finished it`. '' where nothing is open."""
    if any(group.waits_for for group in places.groups):
        return waited_for(places)
    inside = [group for group in places.groups if group.state == INSIDE and not group.over and group.what != INTERRUPTED]
    if not inside:
        return ""
    first = inside[0]
    text = f"{_works(first, places)}{elsewhere(inside, places)}"
    if first.passed:
        text += f"; {these(short(first.passed)).lower()} {'have' if many_ranks(first.passed) else 'has'} finished it"
    if first.not_begun:
        text += f"; {these(short(first.not_begun)).lower()} {'have' if many_ranks(first.not_begun) else 'has'} not begun it so far"
    return text


def _works(group: Group, places: Where) -> str:
    """`rank 1 is compiling C++ for forward [4/0] since 13:55:26`"""
    names = [phase.name for phase in group.phases[-1:]]
    names += [one.open.phases[-1].name for one in places.also if one.rank == group.first and one.open.phases]
    what = next((COMPILING[name] for name in COMPILING if name in names), "")
    if not what or names[0] not in COMPILING:
        return stands(group, places)
    is_ = "is" if group.count == 1 else "are"
    return f"{subject(group, places)} {is_} {what} {doing(group, called(group))} {since_when(group)}".rstrip()


def open_now(run: Run) -> str:
    """What a job that goes on is in the middle of, and the compilers that it runs for that; '' where nothing is open, or where too
    many processes would have to be read."""
    if sum(1 for _ in run.processes()) > MOST:
        return ""
    places = where(run)
    text = now(places)
    compilers = _compilers_now(run, places.groups[0]) if text else ()
    more = f" and {len(compilers) - 1} more" if len(compilers) > 1 else ""
    return f"{text} ({compilers[0]}{more})" if compilers else text


def dumps_beside(run: Run) -> str:
    """That there are dumps of the flight recorder, which the first page does not read; '' where there are none."""
    ranks = ranges(dump.rank for dump in run.found.dumps)
    what = "which collective ranks wait in, and who has not entered it"
    return f"torch's flight recorder left dumps of {these(short(ranks)).lower()}: {what}" if ranks else ""


def place_at_end(run: Run) -> Where | None:
    """Find where the ranks of an ended job were; None for a job of one process, or where too many would have to be read."""
    return where(run) if 1 < sum(1 for _ in run.processes()) <= MOST else None


def is_unnamed(run: Run, found: Where | None) -> bool:
    """Return whether several ranks of an ended job were in compiles, and neither an output nor what they waited for shows which of
    them failed first."""
    if found is None or found.goes_on or outputs_of(run) or any(group.waits_for for group in found.groups):
        return False
    return sum(group.count for group in found.groups if group.state == INSIDE and group.what != INTERRUPTED) > 1


def open_at_end(found: Where | None) -> tuple[str, str]:
    """The compile that ranks of an ended job were in: its address, and a sentence; both empty where nothing was open."""
    inside = [group for group in found.groups if group.state == INSIDE] if found is not None and found.ranks > 1 else []
    return (inside[0].ref, answer(found)) if inside and found is not None else ("", "")


def _compilers_now(run: Run, group: Group) -> tuple[str, ...]:
    """What the first process of a group compiles in child processes now, where it runs on this machine."""
    models = (model for model in run.models if any(process.pid == group.pid for process in model.processes))
    for source in (model.log.source for model in models):
        identity = source.identity if isinstance(source, FileBytes) else None
        if identity is not None and (commands := compilers_of(group.pid, identity)):
            return commands
    return ()
