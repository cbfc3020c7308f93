"""Limits that a test sets for torch.compile, and the message of a test that exceeds them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.check.limits import MEASURES, BadLimit, Gates, Limit, Outcome, gates, needing_a_profile, parse_limits
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.writers.check_reports import headline, reasons

NONE = "error,eager,break,recompiles"
"""Measures that a marker without limits forbids."""
ALIASES = {"errors": ("error", "eager"), "breaks": ("break",), "graph_breaks": ("break",)}
"""Names in a marker besides those of `tltui check`: `break` is a Python keyword."""


def limits_from(text: str) -> tuple[Limit, ...]:
    """Parse limits in the grammar of `tltui check --fail-on`. Raises `BadLimit`."""
    limits = parse_limits(text)
    if measured := needing_a_profile(limits):
        raise BadLimit(f"{', '.join(measured)}: needs a profile, which a test does not record")
    return limits


def marker_limits(arguments: Iterable[object], named: Mapping[str, object]) -> tuple[Limit, ...]:
    """Return the limits of a marker: texts, and names with numbers. Raises `BadLimit`."""
    parts = [str(argument) for argument in arguments]
    for name, number in named.items():
        if name not in MEASURES and name not in ALIASES:
            raise BadLimit(f"there is no {name!r}. There are: {', '.join((*MEASURES, *ALIASES))}")
        parts += [f"{measure}={number}" for measure in ALIASES.get(name, (name,))]
    return limits_from(",".join(parts) or NONE)


def merge_limits(*several: Iterable[Limit]) -> tuple[Limit, ...]:
    """Merge limits; the later limit of a measure wins."""
    return tuple({limit.name: limit for limits in several for limit in limits}.values())


WIDTH = 100
LINES = 80
"""Maximum lines of a page in a failure message."""
PAGES = ("@recompiles", "@problems")
"""Pages with reasons and remedies."""


def run_in(directory: str) -> Run | None:
    """Open the recording in a directory; None if it is empty."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        names = []
    return open_run(discover([directory])) if names else None


def check_limits(run: Run, limits: Sequence[Limit]) -> Gates:
    """Measure a run against limits."""
    return gates(run, limits)


def failure_message(run: Run, result: Gates, test: str, directory: str) -> str:
    """Return why a test fails; '' if no limit is exceeded."""
    over = [outcome for outcome in result.limits if outcome.exceeded]
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
    """Yield the lines that a page shows at first, without those of folded sections."""
    while not document.advance():
        pass
    closed: set[int] = set()
    for section in document.sections():
        if section.folded or section.aside:
            closed.update(range(section.first + 1, section.last + 1))
    for number in range(len(document)):
        if number not in closed:
            yield from document.text(number, number + 1)
