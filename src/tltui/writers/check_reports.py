"""The outcome of `tltui check` as text, JUnit XML and annotations for GitHub Actions."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterator
from itertools import zip_longest
from xml.etree import ElementTree

from tltui import __version__
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.status import Status
from tltui.questions.check.limits import REASONS, Gates, Outcome, Reason
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import is_framework

REASONS_SHOWN = 20


def check_document(result: Gates, title: str, options: Options, unread: int = 0, lacks: str = "") -> Document:
    """Return the outcome of the limits as a page.

    `unread`: number of unreadable files. `lacks`: note about limits that inputs besides a trace cannot measure.
    """
    page = Page("@check", f"check of {title}", options)
    over = sum(outcome.exceeded for outcome in result.limits)
    scope = f"{fmt.plural(result.compiles, 'compile')} of {title}"
    if over:
        page.add((f"FAILED: {over} of {len(result.limits)} limits exceeded", tokens.ERROR), f" · {scope}")
    elif result.passed:
        page.add(("passed", tokens.OK), f" · {scope}")
    else:
        page.add((f"NOT CHECKED: {_unknown(result)}", tokens.ERROR), f" · {scope}")
    for sentence in unsure(result, lacks=lacks):
        page.say(sentence, style=tokens.WARN)
    if unread:
        page.add((_unread(unread), tokens.WARN, "@damage"))
    rows: list[list[Piece]] = []
    for outcome in result.limits:
        mark = ("?", tokens.WARN) if outcome.unknown else page.status(Status.ERROR if outcome.exceeded else Status.OK)
        style = tokens.ERROR if outcome.exceeded else tokens.WARN if outcome.unknown else ""
        value = (measured(outcome), style, outcome.page)
        rows.append([mark, (outcome.name, tokens.STRONG), value, (f"(limit {maximum(outcome)})", tokens.DIM), outcome.title])
    page.grid(rows, right=(2,))
    for outcome in result.limits:
        if outcome.exceeded:
            _add_reasons(page, outcome)
    return page.document(result)


def unsure(result: Gates, unread: int = 0, lacks: str = "") -> tuple[str, ...]:
    """Return the caveats of the outcome."""
    no_compile = "No compiles, so limits on compiles had no effect." if not result.compiles else ""
    unknown = (_why_unknown(outcome) for outcome in result.limits if outcome.unknown)
    return tuple(filter(None, (no_compile, *unknown, lacks, _unread(unread) if unread else "")))


def _unknown(result: Gates) -> str:
    count = sum(bool(outcome.unknown) for outcome in result.limits)
    return f"{count} of {fmt.plural(len(result.limits), 'limit')} {'is' if count == 1 else 'are'} unknown"


def _unread(unread: int) -> str:
    return f"{fmt.plural(unread, 'file')} could not be read. The numbers do not include unread files (details: tltui damage)"


def number(outcome: Outcome, value: float) -> str:
    """Format a value of a limit in its unit, as on pages."""
    if outcome.is_seconds:
        return fmt.seconds(value)
    if outcome.is_percent:
        return f"{round(value, 1):g}%"
    return fmt.count(int(value)) if value == int(value) else f"{value:g}"


def measured(outcome: Outcome) -> str:
    """Format the value of a limit; `unknown` where torch does not log it."""
    return "unknown" if outcome.unknown else number(outcome, outcome.value)


def _why_unknown(outcome: Outcome) -> str:
    return f"{outcome.name}: unknown ({outcome.unknown})"


def headline(outcome: Outcome) -> str:
    """Return the name, value and maximum of a limit."""
    return f"{outcome.name}: {number(outcome, outcome.value)}, limit {number(outcome, outcome.limit)}"


def maximum(outcome: Outcome) -> str:
    """Return the maximum, and the value of the baseline."""
    text = number(outcome, outcome.limit)
    return text if outcome.baseline is None else f"{text}, baseline {number(outcome, outcome.baseline)}"


def _add_reasons(page: Page, outcome: Outcome) -> None:
    page.heading(headline(outcome))
    for reason in outcome.reasons[:REASONS_SHOWN]:
        label = reason.ref if reason.ref.startswith("@") else f"[{reason.ref}]"
        pieces: list[Piece] = ["  ", (label, tokens.LINK, reason.ref), "  "]
        if reason.is_new:
            pieces.append(("new  ", tokens.WARN))
        used = sum(len(piece_text(piece)) for piece in pieces)
        lines = fmt.wrap(sanitize(reason.text), page.width - used) if page.width - used > 30 else [sanitize(reason.text)]
        for n, line in enumerate(lines):
            page.add(*(pieces if n == 0 else [" " * used]), line)
    more = len(outcome.reasons) - REASONS_SHOWN
    if more > 0:
        page.add("  ", (f"… more. All of them: tltui {outcome.page.removeprefix('@')} PATH", tokens.LINK, outcome.page))


CLASS = "tltui.check"
"""The class of all test cases; CI servers identify a case by it and the name of the limit."""


def junit(result: Gates, title: str, page: str, seconds: float, now: float) -> bytes:
    """Return the JUnit XML document.

    `page`: the lines for people; `seconds`: duration of the check; `now`: time of the check in seconds since 1970.
    """
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {
        "name": _token(f"tltui check of {title}"), "package": "tltui", "id": "0", "hostname": "localhost",
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)), "time": f"{max(seconds, 0):.3f}",
        "tests": str(len(result.limits)), "failures": str(sum(outcome.exceeded for outcome in result.limits)),
        "errors": str(sum(bool(outcome.unknown) for outcome in result.limits)), "skipped": "0",
    })  # fmt: skip
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in {"run": title, "compiles": str(result.compiles), "tltui": __version__}.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _token(value)})
    for outcome in result.limits:
        case = ElementTree.SubElement(suite, "testcase", {"name": outcome.name, "classname": CLASS, "time": "0.000"})
        if outcome.exceeded:
            failure = ElementTree.SubElement(case, "failure", {"message": _token(headline(outcome)), "type": outcome.name})
            failure.text = "\n".join(reasons(outcome))
        elif outcome.unknown:
            ElementTree.SubElement(case, "error", {"message": _token(_why_unknown(outcome)), "type": "unknown"})
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(sanitize, page.split("\n")))
    ElementTree.SubElement(suite, "system-err")
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def reasons(outcome: Outcome) -> list[str]:
    """Return the items that a limit counted, a sanitised line each."""
    lines = [sanitize(_line(reason)) for reason in outcome.reasons]
    if len(lines) == REASONS:
        lines.append(f"… more. All of them: tltui {outcome.page.removeprefix('@')} PATH")
    return lines


def _line(reason: Reason) -> str:
    label = reason.ref if reason.ref.startswith("@") else f"[{reason.ref}]"
    return f"{label}  {'new  ' if reason.is_new else ''}{reason.text}"


def _token(text: str) -> str:
    """Normalise whitespace for an XML attribute; `sanitize` escapes the characters that XML 1.0 forbids."""
    return sanitize(" ".join(text.split())).strip()


SHOWN = 10
"""Maximum annotations of a kind that GitHub shows per step."""
REFS = 4
"""Maximum compiles named in an annotation; above it their count."""


@frozen
class Annotation:
    """A GitHub annotation at a line of a file, or of the whole job."""

    kind: str
    """`error`, `warning` or `notice`."""
    title: str
    text: str
    file: str = ""
    """Relative to the checkout if below it; '' if unknown."""
    line: int | None = None

    def __str__(self) -> str:
        """Return the workflow command."""
        place = [f"file={_property(self.file)}"] if self.file else []
        if self.file and self.line:
            place.append(f"line={self.line}")
        return f"::{self.kind} {','.join([*place, f'title={_property(self.title)}'])}::{_data(self.text)}"


def github(result: Gates, page: str, warnings: tuple[str, ...], workspace: str) -> Iterator[str]:
    """Yield the lines to print: `page` for people, then annotations. `workspace`: the directory of the checkout, or ''."""
    token = secrets.token_hex(16)
    yield f"::stop-commands::{token}"
    yield from page.split("\n")
    yield f"::{token}::"
    for warning in warnings[:SHOWN]:
        yield str(Annotation("warning", "tltui check", sanitize(warning)))
    yield from map(str, errors(result, workspace))


def errors(result: Gates, workspace: str) -> list[Annotation]:
    """Return at most the displayed number of errors, round-robin over the limits; the last one counts the omitted."""
    by_limit = [_of(outcome, workspace) for outcome in result.limits if outcome.exceeded]
    annotations = [annotation for turn in zip_longest(*by_limit) for annotation in turn if annotation is not None]
    if len(annotations) <= SHOWN:
        return annotations
    more = f"{len(annotations) - SHOWN + 1} more places are in the output of this step and in the job summary."
    return [*annotations[: SHOWN - 1], Annotation("error", "tltui check", more)]


def _of(outcome: Outcome, workspace: str) -> list[Annotation]:
    """Return an annotation per place and reason, however many compiles share it."""
    alike: dict[tuple[str, int | None, str], list[Reason]] = {}
    for reason in outcome.reasons:
        alike.setdefault((file_of_checkout(reason.file or "", workspace), reason.line, reason.text), []).append(reason)
    title = f"tltui: {headline(outcome)}"
    if not alike:
        return [Annotation("error", title, sanitize(outcome.title))]
    return [
        Annotation("error", title, f"{'new: ' if same[0].is_new else ''}{sanitize(text)}{_refs(same)}", sanitize(file), line)
        for (file, line, text), same in alike.items()
    ]


def _refs(same: list[Reason]) -> str:
    """Return the addresses of the compiles as a line."""
    refs = [reason.ref for reason in same if not reason.ref.startswith("@")]
    if not refs:
        return ""
    more = f" and {len(refs) - REFS} more" if len(refs) > REFS else ""
    return f"\nin {', '.join(refs[:REFS])}{more}"


def file_of_checkout(file: str, workspace: str) -> str:
    """Return a file relative to the checkout if it is below it; '' for files that are not the user's."""
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


def summary(result: Gates, title: str, warnings: tuple[str, ...]) -> str:
    """Return the job summary in markdown: each limit, and the reasons of the exceeded ones."""
    over = sum(outcome.exceeded for outcome in result.limits)
    verdict = f"FAILED: {over} of {len(result.limits)} limits exceeded" if over else "passed"
    if not over and not result.passed:
        verdict = f"NOT CHECKED: {_unknown(result)}"
    lines = [f"### tltui check {verdict}", "", f"{fmt.plural(result.compiles, 'compile')} of {_code(sanitize(title))}", ""]
    for warning in warnings:
        lines += [f"⚠ {_code(sanitize(warning))}", ""]
    lines += ["| | check | value | limit | description |", "| --- | --- | ---: | --- | --- |"]
    for outcome in result.limits:
        mark = "✗" if outcome.exceeded else "?" if outcome.unknown else "✓"
        lines.append(f"| {mark} | `{outcome.name}` | {measured(outcome)} | {maximum(outcome)} | {outcome.title} |")
    for outcome in result.limits:
        if outcome.exceeded:
            listed = reasons(outcome)
            fence = "`" * max(3, _longest("\n".join(listed)) + 1)
            lines += ["", "<details open>", f"<summary>{headline(outcome)}</summary>", "", fence, *listed, fence, "", "</details>"]
    return "\n".join(lines) + "\n"


COMMENT_LINES = 60
_EACH = 5
"""Reasons of a limit in a comment."""


def comment(result: Gates, title: str, warnings: tuple[str, ...], baseline: str) -> list[str]:
    """Return a comment for a pull request in markdown, at most `COMMENT_LINES` lines: exceeded limits, the new reasons first.

    `baseline`: origin of the kept baseline, '' for none.
    """
    exceeded = [outcome for outcome in result.limits if outcome.exceeded]
    head = f"### torch.compile: {_verdict(result, len(exceeded))}"
    lines = [head, "", f"{fmt.plural(result.compiles, 'compile')} of {_code(sanitize(title))}"]
    lines += ["", f"Compared with {_code(sanitize(baseline))}"] if baseline else []
    for warning in warnings[:3]:
        lines += ["", f"⚠ {_code(sanitize(warning))}"]
    if exceeded:
        lines += ["", "| check | value | limit |", "| --- | ---: | --- |"]
        lines += [f"| `{outcome.name}` | {measured(outcome)} | {maximum(outcome)} |" for outcome in exceeded]
    for outcome in exceeded:
        section = ["", f"**{outcome.title}**", ""]
        section += [f"- {_code(line)}" for line in map(_with_place, outcome.reasons[:_EACH])]
        if len(outcome.reasons) > _EACH:
            section.append(f"- … {len(outcome.reasons) - _EACH} more: `tltui {outcome.page.removeprefix('@')} PATH`")
        if len(lines) + len(section) > COMMENT_LINES - 2:
            lines += ["", f"More limits are exceeded: {', '.join(f'`{one.name}`' for one in exceeded[exceeded.index(outcome):])}"]
            break
        lines += section
    return lines


def _with_place(reason: Reason) -> str:
    """Return a reason in a line, with its file and line where the text lacks them."""
    text = _line(reason)
    place = f"{reason.file}:{reason.line}" if reason.file and reason.line else ""
    return sanitize(" ".join(text.split()) if not place or place in text else f"{' '.join(text.split())} ({place})")


def _verdict(result: Gates, over: int) -> str:
    if over:
        return f"{over} of {fmt.plural(len(result.limits), 'limit')} exceeded"
    return "passed" if result.passed else f"not checked: {_unknown(result)}"


def _longest(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)


def _code(text: str) -> str:
    """Return a markdown code span."""
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks} {text} {ticks}" if text.strip() else ""
