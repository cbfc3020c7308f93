"""The outcome of `tltui check` for a job of GitHub Actions: annotations at the lines of the user's, and a summary of the job.

Annotations are workflow commands, lines of the output: `::error file=…,line=…,title=…::text`. GitHub shows ten errors and ten
warnings of a step. Its runner takes any line that begins with `::` for a command, so that what a trace says stands between
`::stop-commands::TOKEN` and `::TOKEN::`.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from tltui.analyses.problems.gates import Gates, Outcome, Reason
from tltui.documents import format as fmt
from tltui.documents.check import at_most, headline, number
from tltui.documents.check_junit import reasons
from tltui.text.owner import is_framework
from tltui.text.sanitize import sanitize

SHOWN = 10
"""Annotations of a kind that GitHub shows of a step."""
REFS = 4
"""Compiles that an annotation names; of more their number."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A remark at a line of a file, or of the whole job."""

    kind: str
    """`error` or `warning`."""
    title: str
    text: str
    file: str = ""
    """Relative to the checkout where it is below it; '' where no file is known."""
    line: int | None = None

    def __str__(self) -> str:
        """The workflow command."""
        place = [f"file={_property(self.file)}"] if self.file else []
        if self.file and self.line:
            place.append(f"line={self.line}")
        return f"::{self.kind} {','.join([*place, f'title={_property(self.title)}'])}::{_data(self.text)}"


def github(found: Gates, page: str, warnings: tuple[str, ...], workspace: str) -> Iterator[str]:
    """The lines to print: `page`, what is for people, then annotations. `workspace`: the directory of the checkout, or ''."""
    token = secrets.token_hex(16)
    yield f"::stop-commands::{token}"
    yield from page.split("\n")
    yield f"::{token}::"
    for warning in warnings[:SHOWN]:
        yield str(Annotation("warning", "tltui check", sanitize(warning)))
    yield from map(str, errors(found, workspace))


def errors(found: Gates, workspace: str) -> list[Annotation]:
    """At most as many as are shown: of each limit the first, then of each the second, …; the last one says how many are not."""
    by_limit = [_of(outcome, workspace) for outcome in found.limits if outcome.exceeded]
    wanted = [one for turn in zip_longest(*by_limit) for one in turn if one is not None]
    if len(wanted) <= SHOWN:
        return wanted
    more = f"{len(wanted) - SHOWN + 1} more places are in the output of this step, and in the summary of the job."
    return [*wanted[: SHOWN - 1], Annotation("error", "tltui check", more)]


def _of(outcome: Outcome, workspace: str) -> list[Annotation]:
    """An annotation a place and reason, however many compiles have it."""
    alike: dict[tuple[str, int | None, str], list[Reason]] = {}
    for reason in outcome.reasons:
        alike.setdefault((_below(reason.file or "", workspace), reason.line, reason.text), []).append(reason)
    title = f"tltui: {headline(outcome)}"
    if not alike:
        return [Annotation("error", title, sanitize(outcome.title))]
    return [
        Annotation("error", title, f"{'new: ' if same[0].new else ''}{sanitize(text)}{_refs(same)}", sanitize(file), line)
        for (file, line, text), same in alike.items()
    ]


def _refs(same: list[Reason]) -> str:
    """Which compiles: a line of its own."""
    refs = [reason.ref for reason in same if not reason.ref.startswith("@")]
    if not refs:
        return ""
    more = f" and {len(refs) - REFS} more" if len(refs) > REFS else ""
    return f"\nin {', '.join(refs[:REFS])}{more}"


def _below(file: str, workspace: str) -> str:
    """A file as GitHub finds it: relative to the checkout where it is below it; '' for what is not the user's."""
    if not file or file.startswith("<") or is_framework(file):
        return ""
    if not workspace or not os.path.isabs(file):
        return file
    for root in (os.path.normpath(workspace), os.path.realpath(workspace)):
        relative = os.path.relpath(os.path.normpath(file), root)
        if relative != ".." and not relative.startswith("../"):
            return relative
    return file


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(found: Gates, title: str, warnings: tuple[str, ...]) -> str:
    """The summary of the job, in markdown: each limit, and the reasons of those that are exceeded."""
    over = sum(outcome.exceeded for outcome in found.limits)
    said = f"FAILED: {over} of {fmt.plural(len(found.limits), 'limit')} exceeded" if over else "passed"
    lines = [f"### tltui check {said}", "", f"{fmt.plural(found.compiles, 'compile')} of {_code(sanitize(title))}", ""]
    for warning in warnings:
        lines += [f"⚠ {_code(sanitize(warning))}", ""]
    lines += ["| | limit | found | allowed | what |", "| --- | --- | ---: | --- | --- |"]
    for outcome in found.limits:
        mark = "✗" if outcome.exceeded else "✓"
        lines.append(f"| {mark} | `{outcome.name}` | {number(outcome, outcome.value)} | {at_most(outcome)} | {outcome.title} |")
    for outcome in found.limits:
        if outcome.exceeded:
            own = reasons(outcome)
            fence = "`" * max(3, _longest("\n".join(own)) + 1)
            lines += ["", "<details open>", f"<summary>{headline(outcome)}</summary>", "", fence, *own, fence, "", "</details>"]
    return "\n".join(lines) + "\n"


def _longest(text: str) -> int:
    """The longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def _code(text: str) -> str:
    """A span of code, in which markdown has no meaning."""
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks} {text} {ticks}" if text.strip() else ""
