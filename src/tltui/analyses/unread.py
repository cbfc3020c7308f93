"""Files of a run that could not be read, wholly or in part: what pages about all ranks say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tltui.analyses.ranks.indexed import told
from tltui.analyses.ranks.ranges import ranges
from tltui.model.run import Run


@dataclass(frozen=True, slots=True)
class NotRead:
    """A file that could not be read, or not all of it."""

    path: str
    reason: str
    ranks: str = ""
    """The ranks that it has and that are therefore left out, as far as that is known."""


def not_read(run: Run) -> tuple[NotRead, ...]:
    """List the files that could not be read, and those that were not opened."""
    return (*failed_files(run), *(NotRead(file.path, file.reason) for file in run.found.skipped))


def failed_files(run: Run) -> tuple[NotRead, ...]:
    """List the files that were opened and could not be read to their ends. A saved index is one file, however many logs it has."""
    logs = {log.name: log for log in run.found.logs}
    ranks: dict[tuple[str, str], set[int]] = {}
    for name, reason in run.failures.items():
        log = logs.get(name)
        path = name if log is None or log.is_here else log.index
        ranks.setdefault((path, reason), set()).update(_ranks_of(run, name))
    if run.crowd is not None:
        for path, reason in told(run.crowd).damaged.items():
            ranks.setdefault((path, reason), set())
    return tuple(NotRead(path, reason, ranges(numbers)) for (path, reason), numbers in ranks.items())


def _ranks_of(run: Run, name: str) -> Iterator[int]:
    """Yield the ranks of a log."""
    for log in run.found.logs:
        if log.name == name and log.rank is not None:
            yield log.rank
    for saved in run.crowd.saved if run.crowd is not None else ():
        if saved.found.name == name and saved.rank is not None:
            yield saved.rank
