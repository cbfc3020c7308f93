"""What a test is told: which limits its trace exceeds, and why, in the sentences of the pages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from tltui.analyses.problems.gates import Gates, Limit, Outcome, gates
from tltui.documents.build import build
from tltui.documents.check import headline
from tltui.documents.check_junit import reasons
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.text.sanitize import sanitize
from tltui.text.shell import quoted

WIDTH = 100
LINES = 80
"""Lines of a page that a failure shows."""
PAGES = ("@recompiles", "@problems")
"""Pages that say why, and what helps."""


def run_in(directory: str) -> Run | None:
    """What was recorded in a directory; None where nothing was."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        names = []
    return open_run(discover([directory])) if names else None


def checked(run: Run, limits: Sequence[Limit]) -> Gates:
    """The limits, measured."""
    return gates(run, limits)


def verdict(run: Run, found: Gates, test: str, directory: str) -> str:
    """Why a test fails; '' where no limit is exceeded."""
    over = [outcome for outcome in found.limits if outcome.exceeded]
    return "\n".join(_lines(run, over, test, directory)) if over else ""


def _lines(run: Run, over: Sequence[Outcome], test: str, directory: str) -> Iterator[str]:
    yield f"torch.compile: {'; '.join(map(headline, over))}"
    yield f"in {sanitize(test)}"
    for outcome in over:
        if outcome.page not in PAGES:
            yield ""
            yield outcome.title
            yield from (f"  {line}" for line in reasons(outcome))
    for page in PAGES:
        if any(outcome.page == page for outcome in over):
            yield ""
            yield from _page(run, page, directory)
    yield ""
    yield f"all of it: tltui {quoted(directory)}"


def _page(run: Run, page: str, directory: str) -> Iterator[str]:
    lines = list(_open_lines(build(run, page, Options(width=WIDTH))))
    yield from lines[:LINES]
    if len(lines) > LINES:
        yield f"… {len(lines) - LINES} more lines: tltui {page.removeprefix('@')} {quoted(directory)}"


def _open_lines(document: Document) -> Iterator[str]:
    """The lines that a page shows at first: of what is folded its head."""
    while not document.advance():
        pass
    closed: set[int] = set()
    for section in document.sections():
        if section.folded or section.aside:
            closed.update(range(section.first + 1, section.last + 1))
    for number in range(len(document)):
        if number not in closed:
            yield from document.text(number, number + 1)
