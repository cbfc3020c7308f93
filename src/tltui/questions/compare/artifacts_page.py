"""Two artifacts compared: page, patch, overview row, and the two sides of a split screen."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.ref import diff_ref
from tltui.questions.compare.comparable_lines import Difference
from tltui.questions.compare.kernel_changes import KernelComparison
from tltui.questions.compare.pairing import Pair, artifact_difference, raw_of, surely_same
from tltui.text import tokens
from tltui.text.document import Line, Options, Piece, Span, TextDocument, piece_text
from tltui.text.frozen import frozen, mutable
from tltui.text.line_diff import CONTEXT, Change, line_pairs, unified, word_changes
from tltui.text.safe_files import safe_name
from tltui.text.sanitize import sanitize

SAME, CHANGED, ONLY_LEFT, ONLY_RIGHT = "same", "changed", "only left", "only right"
OUTCOMES = (CHANGED, ONLY_LEFT, ONLY_RIGHT, SAME)


@frozen
class DiffHunk:
    """Lines of the left that became lines of the right."""

    left_line: int
    right_line: int
    left: tuple[str, ...]
    right: tuple[str, ...]


@frozen
class DiffResult:
    """The outcome of comparing two artifacts. Line numbers count from 1 in the stored payloads, 0: laid out anew."""

    left: str
    right: str
    same: bool
    added: int
    removed: int
    ignored_lines: int
    """Lines that look different and count as equal: another run's ids, paths, names."""
    hunks: tuple[DiffHunk, ...]


@frozen
class CompareRow:
    """One pair of a comparison."""

    name: str
    left: str | None
    right: str | None
    outcome: str
    """`same`, `changed`, `only left`, `only right`."""
    added: int = 0
    removed: int = 0
    ignored_lines: int = 0
    unit: str = ""
    """Of an artifact: the unit that it belongs to."""
    problem: str = ""
    """Why the two could not be compared; they count as changed."""


@frozen
class Fact:
    """A number or word of two compiles."""

    name: str
    left: str | None
    right: str | None


@frozen
class CompareResult:
    """The outcome of comparing two compiles, ranks or runs."""

    left: str
    right: str
    rows: tuple[CompareRow, ...]
    facts: tuple[Fact, ...] = ()
    """Of two compiles: status and metrics."""
    timing: tuple[Fact, ...] = ()
    """Of two compiles: seconds by phase."""
    guards: tuple[Fact, ...] = ()
    """Of two compiles: guards that differ; None: the other side has no such guard."""
    inputs: tuple[Fact, ...] = ()
    """Of two compiles: inputs that differ."""
    symbols: tuple[Fact, ...] = ()
    """Of two compiles: symbols that differ."""
    kernels: KernelComparison | None = None
    """Kernels of the pairs of compiles that are not equal throughout."""


WORDS_UP_TO = 400
"""Changed lines up to which words are marked as well."""


def artifact_page(ref: str, title: str, left: Artifact, right: Artifact, options: Options) -> TextDocument:
    """Two artifacts, changed lines with three lines around them, the rest folded; raw: a patch."""
    if options.raw:
        return raw_patch(ref, title, left, right)
    difference = artifact_difference(left, right)
    page = Page(ref, title, options)
    page.row([(f"{left.ref}", tokens.LINK, str(left.ref)), " ↔ ", (f"{right.ref}", tokens.LINK, str(right.ref))], "")
    page.say(verdict(difference), "", tokens.STRONG)
    if devices := own_devices(difference):
        page.say(devices, "", tokens.DIM)
    page.blank()
    for change in difference.changes:
        if change.same:
            _same(page, difference, change)
        else:
            _changed(page, difference, change)
    return page.document(result_of(left, right, difference))


def verdict(difference: Difference) -> str:
    """One sentence about a difference."""
    if difference.same and not difference.hidden:
        return "the same"
    differ = "differs" if difference.hidden == 1 else "differ"
    hidden = (
        f"{plural(difference.hidden, 'line')} {differ} only in run-specific text (i or --raw shows it)" if difference.hidden else ""
    )
    if difference.same:
        return f"the same: {hidden}"
    counted = f"+{difference.added} −{difference.removed} lines"
    return f"{counted} · {hidden}" if hidden else counted


def own_devices(difference: Difference) -> str:
    """Return a note on devices treated as equal, one per rank."""
    a, b = (identity.name for identity in difference.owns)
    if not a or not b or a == b:
        return ""
    return f"{a} on the left and {b} on the right count as the same because each is the device of most tensors of its rank."


def _same(page: Page, difference: Difference, change: Change) -> None:
    lines = difference.right.lines[change.b0 : change.b1]
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


def _changed(page: Page, difference: Difference, change: Change) -> None:
    left = difference.left.lines[change.a0 : change.a1]
    right = difference.right.lines[change.b0 : change.b1]
    page.open(f"−{len(left)} +{len(right)}")
    marks: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for x, y in line_pairs(left, right) if len(left) <= WORDS_UP_TO else ():
        if min(x, y) >= 0:
            marks["-", x], marks["+", y] = word_changes(left[x], right[y])
    for sign, lines, style in (("-", left, tokens.REMOVED), ("+", right, tokens.ADDED)):
        for n, line in enumerate(lines):
            page.add((f"{sign} ", style), *marked(line, marks.get((sign, n)), style))
    page.close()


def marked(line: str, spans: list[tuple[int, int]] | None, style: str) -> list[Piece]:
    """Highlight the changed spans of a line."""
    if not spans or spans == [(0, len(line))]:
        return [(line, style)]
    pieces: list[Piece] = []
    at = 0
    for start, end in spans:
        pieces += [(line[at:start], style), (line[start:end], tokens.CHANGED)]
        at = end
    return [*pieces, (line[at:], style)]


def result_of(left: Artifact, right: Artifact, difference: Difference) -> DiffResult:
    """For JSON."""
    a, b = difference.left, difference.right
    hunks = tuple(
        DiffHunk(
            a.numbers[c.a0] if c.a0 < len(a.numbers) else 0,
            b.numbers[c.b0] if c.b0 < len(b.numbers) else 0,
            a.lines[c.a0 : c.a1],
            b.lines[c.b0 : c.b1],
        )
        for c in difference.changes
        if not c.same
    )
    return DiffResult(
        str(left.ref), str(right.ref), difference.same, difference.added, difference.removed, difference.hidden, hunks
    )


def compared(pair: Pair[Artifact]) -> CompareRow:
    """Return the row of a pair.

    Payloads with the same md5 are not read; an unreadable payload counts as changed.
    """
    left, right = pair.left, pair.right
    shown = left or right
    assert shown is not None
    unit = _unit(shown)
    refs = str(left.ref) if left else None, str(right.ref) if right else None
    if left is None or right is None:
        return CompareRow(shown.name, *refs, ONLY_LEFT if left else ONLY_RIGHT, unit=unit)
    if surely_same(left, right):
        return CompareRow(shown.name, *refs, SAME, unit=unit)
    try:
        difference = artifact_difference(left, right)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        problem = reason or f"{type(error).__name__}: {error}"
        return CompareRow(shown.name, *refs, CHANGED, unit=unit, problem=problem)
    outcome = SAME if difference.same else CHANGED
    return CompareRow(shown.name, *refs, outcome, difference.added, difference.removed, difference.hidden, unit)


def _unit(artifact: Artifact) -> str:
    if artifact.unit is None or artifact.alone:
        return ""
    return next((unit.name for unit in units_of(artifacts_of(artifact.owner)) if unit.number == artifact.unit), "")


def row_pieces(row: CompareRow, linked: bool) -> list[Piece]:
    """Format a row of the overview: the outcome, and the compared artifacts as a link."""
    target = diff_ref(row.left, row.right) if linked and row.left and row.right else (row.left or row.right or "") * linked
    label = f"{row.name} · {row.unit}" if row.unit else row.name
    name: Piece = (label, tokens.LINK, target) if target else label
    if row.problem:
        outcome: list[Piece] = [(f"not compared ({row.problem})", tokens.WARN)]
    elif row.outcome == CHANGED and (row.added or row.removed):
        outcome = [(f"+{row.added}", tokens.ADDED), " ", (f"−{row.removed}", tokens.REMOVED)]
    else:
        style = {SAME: tokens.DIM, ONLY_LEFT: tokens.REMOVED, ONLY_RIGHT: tokens.ADDED}.get(row.outcome, tokens.WARN)
        outcome = [(row.outcome, style)]
    room = " " * max(14 - sum(len(piece_text(p)) for p in outcome), 1)
    return [*outcome, room, name]


def patch_lines(left: Artifact, right: Artifact) -> Iterator[bytes]:
    """Yield the unified diff of two artifacts in bytes, for `patch` and `git apply`. Raises OSError."""
    name = safe_name(left.name)
    yield from unified(raw_of(left), raw_of(right), f"a/{name}", f"b/{name}")


def raw_patch(ref: str, title: str, left: Artifact, right: Artifact) -> TextDocument:
    """Return the patch as a page."""
    document = TextDocument(ref, sanitize(title))
    styles = {"+": tokens.ADDED, "-": tokens.REMOVED, "@": tokens.LABEL}
    for line in patch_lines(left, right):
        text = sanitize(line.decode("utf-8", "replace"))
        style = styles.get(line[:1].decode("latin-1"))
        document.lines.append(Line(text, (Span(0, len(text), style),) if style else ()))
    if not document.lines:
        document.lines.append(Line("The two are identical, byte for byte."))
    return document


@mutable
class Sides:
    """Two sides of a split screen. Rows and lines count from 0; -1 marks a row without a line on that side."""

    left: TextDocument
    right: TextDocument
    rows: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    """For each side: row → line of its document."""
    hunks: list[tuple[int, int]] = field(default_factory=list)
    """First and last row of each change."""
    starts: list[int] = field(default_factory=list)
    """The first row of each change and each equal stretch."""
    folds: dict[int, int] = field(default_factory=dict)
    """Row of a folded stretch → number of the change that it stands for."""


Spans = list[tuple[int, int]]
Memo = dict[int, list[tuple[int, int, Spans | None, Spans | None]]]
"""Number of a change → its rows: left line, right line, words that differ in each. Folding again need not find them again."""


def sides_of(
    difference: Difference,
    refs: tuple[str, str],
    opened: Collection[int] | None = (),
    memo: Memo | None = None,
    ascii_only: bool = False,
) -> Sides:
    """Lay out both sides. Equal stretches are folded but for those in `opened`; None opens all."""
    memo = {} if memo is None else memo
    options = Options(ascii=ascii_only)
    builders = Page(refs[0], refs[0], options), Page(refs[1], refs[1], options)
    sides = Sides(builders[0].growing(), builders[1].growing())
    for number, change in enumerate(difference.changes):
        sides.starts.append(len(sides.rows[0]))
        if change.same:
            fold = opened is not None and number not in opened
            _aligned_rows(difference, change, number, builders, sides, fold)
        else:
            if number not in memo:
                memo[number] = _pairs(difference, change)
            _changed_rows(difference, change, memo[number], builders, sides)
    for builder in builders:
        builder.document()
    return sides


def _row(sides: Sides, left: bool, right: bool) -> None:
    """Put the newest lines of either side into one row."""
    sides.rows[0].append(len(sides.left.lines) - 1 if left else -1)
    sides.rows[1].append(len(sides.right.lines) - 1 if right else -1)


def _aligned_rows(
    difference: Difference, change: Change, number: int, builders: tuple[Page, Page], sides: Sides, fold: bool
) -> None:
    size = change.a1 - change.a0
    hidden = range(CONTEXT, size - CONTEXT) if fold and size > 2 * CONTEXT + 1 else range(0)
    for n in range(size):
        if n in hidden:
            if n == hidden.start:
                for builder in builders:
                    builder.add((f"⋯ {len(hidden)} equal lines", tokens.LABEL))
                _row(sides, True, True)
                sides.folds[len(sides.rows[0]) - 1] = number
            continue
        builders[0].add(difference.left.lines[change.a0 + n])
        builders[1].add(difference.right.lines[change.b0 + n])
        _row(sides, True, True)


def _pairs(difference: Difference, change: Change) -> list[tuple[int, int, Spans | None, Spans | None]]:
    left = difference.left.lines[change.a0 : change.a1]
    right = difference.right.lines[change.b0 : change.b1]
    few = len(left) <= WORDS_UP_TO
    return [
        (x, y, *(word_changes(left[x], right[y]) if few and min(x, y) >= 0 else (None, None))) for x, y in line_pairs(left, right)
    ]


def _changed_rows(
    difference: Difference,
    change: Change,
    pairs: list[tuple[int, int, Spans | None, Spans | None]],
    builders: tuple[Page, Page],
    sides: Sides,
) -> None:
    first = len(sides.rows[0])
    for x, y, removed, added in pairs:
        if x >= 0:
            builders[0].add(*marked(difference.left.lines[change.a0 + x], removed, tokens.REMOVED))
        if y >= 0:
            builders[1].add(*marked(difference.right.lines[change.b0 + y], added, tokens.ADDED))
        _row(sides, x >= 0, y >= 0)
    sides.hunks.append((first, len(sides.rows[0]) - 1))
