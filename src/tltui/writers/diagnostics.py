"""The rows of `tltui problems` for editors and code review: SARIF, vim's quickfix list, reviewdog's rdjson, GitHub annotations.

Formats: SARIF 2.1.0 of OASIS; the `DiagnosticResult` of reviewdog (proto/rdf); `errorformat` of vim; GitHub's workflow commands.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import quote

from tltui import __version__
from tltui.questions.problems.page import ProblemRow
from tltui.questions.stacks.tracebacks import without_stacks
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.writers.check_reports import Annotation, file_of_checkout

RULES = {
    "error": ("error", "A function could not be compiled, and the exception reached the caller"),
    "output": ("error", "The output of the job has a failure"),
    "backward": ("error", "The backward of a function failed"),
    "eager": ("warning", "A function fell back to eager mode"),
    "limit": ("warning", "A function reached the recompile limit"),
    "break": ("warning", "A graph break"),
    "cudagraph": ("warning", "A compile runs without a CUDA graph"),
    "warning": ("warning", "A warning that torch printed"),
    "restart": ("note", "Torch restarted the analysis of a function"),
    "unfinished": ("note", "Compiles without a logged end"),
    "running": ("note", "Compiles that have not ended yet"),
    "empty": ("note", "A function without a tensor operation"),
}
"""The kinds of `ProblemRow` → their SARIF level and description."""
_RDF_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
_ANNOTATIONS = {"error": "error", "warning": "warning", "note": "notice"}
_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
"""The base of relative files in SARIF; a reader knows where its checkout is."""
_REFS = 4
"""Addresses in a message; above it their number."""


@frozen
class Diagnostic:
    """A problem at a line of the user's code, or of the run as a whole."""

    kind: str
    """A key of `RULES`."""
    headline: str
    """The problem in one line."""
    details: tuple[str, ...]
    """Torch's message and hints, and where it occurred: a line each."""
    file: str
    """Relative to the base directory if below it; '' without a file of the user."""
    line: int | None
    """From 1."""

    @property
    def level(self) -> str:
        """Return `error`, `warning` or `note`."""
        return RULES[self.kind][0]

    @property
    def message(self) -> str:
        """Return headline and details, a line each."""
        return "\n".join((self.headline, *self.details))


def diagnostics_of(rows: Iterable[ProblemRow], base: str) -> list[Diagnostic]:
    """Return the problems as diagnostics, worst first. `base`: the directory that files are relative to."""
    return [_diagnostic(row, base) for row in rows]


def _diagnostic(row: ProblemRow, base: str) -> Diagnostic:
    headline, *more = [line for line in (sanitize(text).strip() for text in row.headline.splitlines()) if line] or [row.kind]
    reason = [line for line in (sanitize(text).rstrip() for text in without_stacks(row.reason).splitlines()) if line.strip()]
    hints = [f"hint: {sanitize(' '.join(hint.split()))}" for hint in row.hints]
    occurrences = [_occurrences(row)] if row.refs else []
    file = file_of_checkout(row.file or "", base)
    line = row.line if file and row.line and row.line > 0 else None
    return Diagnostic(row.kind, headline, (*more, *reason, *hints, *occurrences), sanitize(file), line)


def _occurrences(row: ProblemRow) -> str:
    more = f" and {len(row.refs) - _REFS} more" if len(row.refs) > _REFS else ""
    ranks = f" on {row.ranks} ranks" if row.ranks > 1 else ""
    return f"in compile {', '.join(row.refs[:_REFS])}{more}{ranks}"


def sarif(diagnostics: list[Diagnostic]) -> dict[str, object]:
    """Return the SARIF log of one run, with a rule for each kind that occurs."""
    kinds = list(dict.fromkeys(diagnostic.kind for diagnostic in diagnostics))
    rules = [
        {"id": f"tltui/{kind}", "shortDescription": {"text": RULES[kind][1]}, "defaultConfiguration": {"level": RULES[kind][0]}}
        for kind in kinds
    ]
    results = [
        {
            "ruleId": f"tltui/{one.kind}", "ruleIndex": kinds.index(one.kind), "level": one.level,
            "message": {"text": one.message}, "locations": _sarif_locations(one),
        }
        for one in diagnostics
    ]  # fmt: skip
    driver = {"name": "tltui", "version": __version__, "rules": rules}
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _sarif_locations(diagnostic: Diagnostic) -> list[dict[str, object]]:
    if not diagnostic.file:
        return []
    path = PurePath(diagnostic.file)
    if path.is_absolute():
        file = {"uri": f"file://{quote(diagnostic.file)}"}
    else:
        file = {"uri": quote(diagnostic.file), "uriBaseId": _ROOT}
    place: dict[str, object] = {"artifactLocation": file}
    if diagnostic.line:
        place["region"] = {"startLine": diagnostic.line}
    return [{"physicalLocation": place}]


def rdjson(diagnostics: list[Diagnostic]) -> dict[str, object]:
    """Return the `DiagnosticResult` of those with a file: reviewdog needs one."""
    return {
        "source": {"name": "tltui"},
        "diagnostics": [
            {
                "message": one.message,
                "location": {"path": one.file, **({"range": {"start": {"line": one.line}}} if one.line else {})},
                "severity": _RDF_SEVERITIES[one.level],
                "code": {"value": one.kind},
            }
            for one in diagnostics
            if one.file
        ],
    }


def quickfix(diagnostic: Diagnostic) -> str:
    """Return a line that vim's default 'errorformat' parses: file:line:text; without a file the text alone."""
    text = " · ".join((f"{diagnostic.level}: {diagnostic.headline}", *diagnostic.details))
    return f"{diagnostic.file}:{diagnostic.line or 1}:{text}" if diagnostic.file else f"tltui: {text}"


def annotation(diagnostic: Diagnostic) -> Annotation:
    """Return the annotation of GitHub Actions; its text is the workflow command."""
    title = f"tltui: {diagnostic.headline}"
    kind, text = _ANNOTATIONS[diagnostic.level], "\n".join(diagnostic.details) or RULES[diagnostic.kind][1]
    return Annotation(kind, title, text, diagnostic.file, diagnostic.line)


def base_directory() -> str:
    """Return the directory of the checkout in a job of GitHub Actions, otherwise the current one."""
    return os.environ.get("GITHUB_WORKSPACE") or os.getcwd()
