"""Limits that a test sets for torch.compile, and the message of a test that exceeds them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.check.limits import BadLimit, Gates, Limit, Outcome, gates, needing_a_profile, parse_limits
from tltui.questions.check.measures import MEASURES
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.writers.check_reports import headline, reasons

NONE = "error,eager,break,recompiles"
"""What a marker without limits allows none of."""
ALIASES = {"errors": ("error", "eager"), "breaks": ("break",), "graph_breaks": ("break",)}
"""Names in a marker besides those of `tltui check`: `break` is a word of Python."""


def limits_from(text: str) -> tuple[Limit, ...]:
    """Limits in the grammar of `tltui check --fail-on`. Raises `BadLimit`."""
    limits = parse_limits(text)
    if measured := needing_a_profile(limits):
        raise BadLimit(f"{', '.join(measured)}: needs a profile, which a test does not record")
    return limits


def marker_limits(arguments: Iterable[object], named: Mapping[str, object]) -> tuple[Limit, ...]:
    """The limits of a marker: texts, and names with numbers. Raises `BadLimit`."""
    parts = [str(argument) for argument in arguments]
    for name, number in named.items():
        if name not in MEASURES and name not in ALIASES:
            raise BadLimit(f"there is no {name!r}. There are: {', '.join((*MEASURES, *ALIASES))}")
        parts += [f"{own}={number}" for own in ALIASES.get(name, (name,))]
    return limits_from(",".join(parts) or NONE)


def merge_limits(*several: Iterable[Limit]) -> tuple[Limit, ...]:
    """Of two limits on one thing the later counts."""
    return tuple({limit.name: limit for limits in several for limit in limits}.values())


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


def check_limits(run: Run, limits: Sequence[Limit]) -> Gates:
    """The limits, measured."""
    return gates(run, limits)


def failure_message(run: Run, found: Gates, test: str, directory: str) -> str:
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
