"""Pages that compare: two artifacts, two compiles, two ranks, two runs.

`@diff::LEFT RIGHT` is the address of a comparison within a run.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial

from tltui.analyses.comparing import Difference
from tltui.analyses.pairing import Pair, artifact_difference, artifact_pairs, compile_pairs, input_lines, text_of
from tltui.documents.format import plural, seconds
from tltui.documents.page import Page
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Process, Rank
from tltui.model.ref import BadAddress, Ref
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.diff import CONTEXT, Change, changes, unified, word_changes
from tltui.text.document import Builder, Document, Line, Options, Piece, Span, TextDocument
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

WORDS_UP_TO = 400
"""Changed lines up to which words are marked as well."""


@dataclass(frozen=True, slots=True)
class DiffResult:
    """The outcome of comparing two artifacts, for JSON. Line numbers count from 1 in the stored payloads, 0: laid out anew."""

    schema: int
    left: str
    right: str
    same: bool
    added: int
    removed: int
    hidden: int
    """Lines that look different and count as equal: another run's ids, paths, names."""
    hunks: tuple[DiffHunk, ...]


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """Lines of the left that became lines of the right."""

    left_line: int
    right_line: int
    left: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One pair of a comparison."""

    name: str
    left: str | None
    right: str | None
    outcome: str
    """`same`, `changed`, `only left`, `only right`."""
    added: int = 0
    removed: int = 0
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class CompareResult:
    """The outcome of comparing two compiles, ranks or runs."""

    schema: int
    left: str
    right: str
    rows: tuple[CompareRow, ...]


def diff_ref(left: Ref | str, right: Ref | str) -> str:
    """The address of the comparison of two things."""
    return str(Ref(view="diff", artifact=f"{left} {right}"))


def compare_document(run: Run, ref: Ref, options: Options) -> Document:
    """The comparison that an address names. Raises `BadAddress`, OSError."""
    left, _, right = (ref.artifact or "").partition(" ")
    if not right:
        raise BadAddress("a comparison needs two addresses: @diff::0/0%200/1")
    return compare_nodes(run, left, run, right, options)


def compare_nodes(run: Run, left: str, other: Run, right: str, options: Options) -> Document:
    """Compare what two addresses of two runs (or of one) name. Raises `BadAddress`, OSError."""
    a, b = run.resolve(left), other.resolve(right)
    title = f"{left or run.title} ↔ {right or other.title}"
    ref = diff_ref(left, right)
    if isinstance(a, Artifact) and isinstance(b, Artifact):
        return artifact_page(ref, title, a, b, options)
    if isinstance(a, Compile) and isinstance(b, Compile):
        return GrowingDocument(ref, title, options, partial(_compiles, a, b, run is other), Page)
    groups = _processes(run, a), _processes(other, b)
    if groups[0] is None or groups[1] is None:
        raise BadAddress(f"{left or 'the run'} and {right or 'the run'} are not of the same kind: compare two artifacts, "
                         "two compiles, two ranks or two runs")  # fmt: skip
    return GrowingDocument(ref, title, options, partial(_sets, groups[0], groups[1], run is other, title), Page)


def _processes(run: Run, node: object) -> list[Process] | None:
    if node is None:
        return list(run.processes())
    if isinstance(node, Rank):
        return node.processes
    return [node] if isinstance(node, Process) else None


def artifact_page(ref: str, title: str, left: Artifact, right: Artifact, options: Options) -> TextDocument:
    """Two artifacts, changed lines with three lines around them, the rest folded; raw: a patch."""
    if options.raw:
        return raw_patch(left, right)
    found = artifact_difference(left, right)
    page = Page(ref, title, options)
    page.add((f"{left.ref}", tokens.LINK, str(left.ref)), " ↔ ", (f"{right.ref}", tokens.LINK, str(right.ref)))
    page.say(verdict(found), "", tokens.STRONG)
    page.blank()
    for change in found.changes:
        if change.same:
            _same(page, found, change)
        else:
            _changed(page, found, change)
    return page.document(_result(left, right, found))


def verdict(found: Difference) -> str:
    """One sentence about a difference."""
    if found.same and not found.hidden:
        return "the same"
    differ = "differs" if found.hidden == 1 else "differ"
    hidden = f"{plural(found.hidden, 'line')} {differ} only as any two runs do (i shows that)" if found.hidden else ""
    if found.same:
        return f"the same: {hidden}"
    counted = f"+{found.added} −{found.removed} lines"
    return f"{counted} · {hidden}" if hidden else counted


def _result(left: Artifact, right: Artifact, found: Difference) -> DiffResult:
    a, b = found.left, found.right
    hunks = tuple(
        DiffHunk(
            a.numbers[c.a0] if c.a0 < len(a.numbers) else 0,
            b.numbers[c.b0] if c.b0 < len(b.numbers) else 0,
            a.lines[c.a0 : c.a1],
            b.lines[c.b0 : c.b1],
        )
        for c in found.changes
        if not c.same
    )
    return DiffResult(1, str(left.ref), str(right.ref), found.same, found.added, found.removed, found.hidden, hunks)


def _same(page: Page, found: Difference, change: Change) -> None:
    lines = found.right.lines[change.b0 : change.b1]
    if len(lines) > 2 * CONTEXT + 1:
        for line in lines[:CONTEXT]:
            page.add("  ", (line, tokens.DIM))
        page.open(f"{len(lines) - 2 * CONTEXT} equal lines", folded=True)
        page.add((f"  ⋯ {len(lines) - 2 * CONTEXT} equal lines", tokens.LABEL))
        for line in lines[CONTEXT:-CONTEXT]:
            page.add("  ", (line, tokens.DIM))
        page.close()
        lines = lines[-CONTEXT:]
    for line in lines:
        page.add("  ", (line, tokens.DIM))


def _changed(page: Page, found: Difference, change: Change) -> None:
    left = found.left.lines[change.a0 : change.a1]
    right = found.right.lines[change.b0 : change.b1]
    page.open(f"−{len(left)} +{len(right)}")
    marks: dict[tuple[str, int], list[tuple[int, int]]] = {}
    if len(left) == len(right) and len(left) <= WORDS_UP_TO:
        for n, (a, b) in enumerate(zip(left, right, strict=True)):
            marks["-", n], marks["+", n] = word_changes(a, b)
    for sign, lines, style in (("-", left, tokens.REMOVED), ("+", right, tokens.ADDED)):
        for n, line in enumerate(lines):
            page.add((f"{sign} ", style), *_marked(line, marks.get((sign, n)), style))
    page.close()


def _marked(line: str, spans: list[tuple[int, int]] | None, style: str) -> list[Piece]:
    """The line with what changed in it standing out."""
    if not spans or spans == [(0, len(line))]:
        return [(line, style)]
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        pieces += [(line[at:start], style), (line[start:end], tokens.CHANGED)]
        at = end
    return [*pieces, (line[at:], style)]


def _compiles(left: Compile, right: Compile, linked: bool, page: Builder) -> Generator[None, None, object]:
    page.add(*_named(left), "  ↔  ", *_named(right))
    for label, a, b in _facts(left, right):
        same = a == b
        page.add((f"  {label:<14}", tokens.LABEL), (a, tokens.DIM if same else tokens.REMOVED),
                 "" if same else "  →  ", ("" if same else b, tokens.ADDED))  # fmt: skip
    yield
    page.heading("Inputs and symbols")
    a_lines, b_lines = input_lines(left), input_lines(right)
    for change in changes(a_lines, b_lines):
        for line in a_lines[change.a0 : change.a1]:
            page.add(("    " if change.same else "  - ", tokens.DIM), (line, tokens.DIM if change.same else tokens.REMOVED))
        if not change.same:
            for line in b_lines[change.b0 : change.b1]:
                page.add("  + ", (line, tokens.ADDED))
    if not a_lines and not b_lines:
        page.add(("  neither has any", tokens.DIM))
    yield
    page.heading("Artifacts")
    rows = []
    for pair in artifact_pairs(left, right):
        row = _row(pair)
        rows.append(row)
        page.add(*_row_pieces(row, linked))
        yield
    return CompareResult(1, str(left.ref), str(right.ref), tuple(rows))


def _named(compile_: Compile) -> list[Piece]:
    name = compile_.frame.code[0] or ""
    return [(str(compile_.ref), tokens.LINK, str(compile_.ref)), (f" {name}", tokens.DEFINITION)]


def _facts(left: Compile, right: Compile) -> list[tuple[str, str, str]]:
    def said(compile_: Compile) -> list[str]:
        facts = compile_.facts
        took = seconds(facts.duration_s) if facts.duration_s is not None else "?"
        return [str(compile_.status), took, str(facts.graph_op_count), str(facts.guard_count), str(facts.breaks)]

    labels = ("status", "time", "operations", "guards", "graph breaks")
    return list(zip(labels, said(left), said(right), strict=True))


def _row(pair: Pair[Artifact]) -> CompareRow:
    left, right = pair.left, pair.right
    name = _artifact_label(left or right)
    if left is None or right is None:
        return CompareRow(
            name, str(left.ref) if left else None, str(right.ref) if right else None,
            "only left" if left else "only right",
        )  # fmt: skip
    found = artifact_difference(left, right)
    outcome = "same" if found.same else "changed"
    return CompareRow(name, str(left.ref), str(right.ref), outcome, found.added, found.removed, found.hidden)


def _artifact_label(artifact: Artifact | None) -> str:
    assert artifact is not None
    if artifact.unit is None or artifact.alone:
        return artifact.name
    units = {unit.number: unit.name for unit in units_of(artifacts_of(artifact.owner))}
    return f"{artifact.name} · {units.get(artifact.unit, '')}"


def _row_pieces(row: CompareRow, linked: bool) -> list[Piece]:
    target = diff_ref(row.left, row.right) if linked and row.left and row.right else (row.left or row.right or "") * linked
    name: Piece = (row.name, tokens.LINK, target) if target else row.name
    if row.outcome == "changed":
        outcome: list[Piece] = [(f"+{row.added}", tokens.ADDED), " ", (f"−{row.removed}", tokens.REMOVED)]
    else:
        outcome = [(row.outcome, tokens.DIM if row.outcome == "same" else tokens.WARN)]
    room = " " * max(14 - sum(len(p if isinstance(p, str) else p[0]) for p in outcome), 1)
    return ["  ", *outcome, room, name]


def _sets(
    left: list[Process], right: list[Process], linked: bool, title: str, page: Builder
) -> Generator[None, None, object]:
    """Two ranks or runs: their compiles in pairs."""
    page.add((title, tokens.TITLE))
    page.add(("Compiles are paired by function, file, line and how often that was compiled before.", tokens.DIM))
    rows = []
    for pair in compile_pairs(left, right):
        row = _compile_row(pair)
        rows.append(row)
        page.add(*_compile_pieces(pair, row, linked))
        yield
    page.blank()
    counts = {outcome: sum(row.outcome == outcome for row in rows) for outcome in ("same", "changed", "only left", "only right")}
    page.add(" · ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "there are no compiles")
    return CompareResult(1, title.partition(" ↔ ")[0], title.partition(" ↔ ")[2], tuple(rows))


def _compile_row(pair: Pair[Compile]) -> CompareRow:
    left, right = pair.left, pair.right
    shown = left or right
    assert shown is not None
    name, file, line = shown.frame.code
    label = f"{name or shown.id.bracketed}  {(file or '').rpartition('/')[2]}:{line}"
    if left is None or right is None:
        refs = str(left.ref) if left else None, str(right.ref) if right else None
        return CompareRow(label, *refs, "only left" if left else "only right")
    rows = [_row(artifacts) for artifacts in artifact_pairs(left, right)]
    changed = [row for row in rows if row.outcome != "same"]
    same = not changed and left.status is right.status
    return CompareRow(
        label, str(left.ref), str(right.ref), "same" if same else "changed",
        sum(row.added for row in changed), sum(row.removed for row in changed), sum(row.hidden for row in rows),
    )  # fmt: skip


def _compile_pieces(pair: Pair[Compile], row: CompareRow, linked: bool) -> list[Piece]:
    pieces = _row_pieces(row, linked)
    ids = f"{row.left or '—'} ↔ {row.right or '—'}"
    pieces.append((f"   {ids}", tokens.DIM))
    if pair.left and pair.right and pair.left.status is not pair.right.status:
        pieces.append((f"   {pair.left.status} → {pair.right.status}", tokens.WARN))
    return pieces


def raw_patch(left: Artifact, right: Artifact) -> TextDocument:
    """The bytes of two artifacts as a unified diff that `patch` and `git apply` understand."""
    a, b = text_of(left, raw=True).split("\n"), text_of(right, raw=True).split("\n")
    document = TextDocument(diff_ref(left.ref, right.ref), f"{left.ref} ↔ {right.ref}")
    styles = {"+": tokens.ADDED, "-": tokens.REMOVED, "@": tokens.LABEL}
    for line in unified(a, b, f"a/{left.name}", f"b/{right.name}"):
        text = sanitize(line)
        style = styles.get(line[:1])
        document.lines.append(Line(text, (Span(0, len(text), style),) if style else ()))
    return document
