"""Two compiles compared: metrics, time, guards, inputs, symbols, and every pair of artifacts."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from tltui.analyses.compare.compared import SAME, CompareResult, Fact
from tltui.analyses.compare.pairing import artifact_pairs
from tltui.analyses.told import told_less
from tltui.documents.compare.artifacts import compared, diff_ref, marked, row_pieces
from tltui.documents.compare.facts import facts_between, guards_between, inputs_between, symbols_between, timing_between
from tltui.documents.format import clip, plural
from tltui.documents.page import Page
from tltui.model.nodes import Compile
from tltui.text import tokens
from tltui.text.diff.diff import word_changes
from tltui.text.document import Piece

SHOWN = 24
"""Guards that differ, and inputs: more are folded."""


Attempts = tuple[int | None, int | None]


def fill_compiles(
    left: Compile, right: Compile, attempts: Attempts, linked: bool, page: Page
) -> Generator[None, None, object]:
    """The overview; of one attempt of each where one is meant."""
    page.add(*_named(left, linked), "  ↔  ", *_named(right, linked))
    if less := told_less([left.process], [right.process]):
        page.say(less, "", tokens.WARN)
    page.blank()
    facts = facts_between(left, right)
    for fact in facts:
        _fact(page, fact)
    page.blank()
    yield
    timing = timing_between(left, right)
    page.heading("Time")
    if timing:
        for fact in timing:
            _fact(page, fact)
    else:
        page.add(("  neither says where its time went", tokens.DIM))
    yield
    guards, refs, none = guards_between(left, right)
    _listed(page, "Guards", guards, none, diff_ref(*refs) if refs and linked and guards else "")
    yield
    inputs = inputs_between(left, right)
    _listed(page, "Inputs", inputs, "the same inputs")
    symbols = symbols_between(left, right)
    _listed(page, "Symbols", symbols, "the same symbols, or none")
    yield
    page.heading("Artifacts")
    rows, same = [], []
    for pair in artifact_pairs(left, right, attempts):
        row = compared(pair)
        rows.append(row)
        if row.outcome == SAME:
            same.append(row)
        else:
            page.row(row_pieces(row, linked))
        yield
    if same:
        label = f"{plural(len(same), 'artifact')} the same" if len(rows) > len(same) else f"all {len(same)} are the same"
        page.open(label, folded=True)
        page.add((f"  {label}", tokens.OK))
        for row in same:
            page.row(row_pieces(row, linked), "    ")
        page.close()
    if not rows:
        page.add(("  neither has any", tokens.DIM))
    return CompareResult(
        1, str(left.ref), str(right.ref), tuple(rows), tuple(facts), tuple(timing), tuple(guards), tuple(inputs), tuple(symbols)
    )


def _named(compile_: Compile, linked: bool) -> list[Piece]:
    name = compile_.frame.code[0] or ""
    ref = str(compile_.ref)
    return [(ref, tokens.LINK, ref) if linked else ref, (f" {name}", tokens.DEFINITION)]


def _fact(page: Page, fact: Fact) -> None:
    """`label   left → right`; on a narrow page what does not fit goes below."""
    a, b = fact.left or "–", fact.right or "–"
    label = f"  {fact.name:<15} "
    if a == b:
        page.labelled(f"{fact.name:<15} ", a, gap=16, style=tokens.DIM)
    elif len(label) + len(a) + len(b) + 5 <= page.width:
        page.add((label, tokens.LABEL), a, "  →  ", (b, tokens.CHANGED))
    else:
        room = page.width - len(label) - 2
        page.add((label, tokens.LABEL), ("- ", tokens.REMOVED), (clip(a, room), tokens.REMOVED))
        page.add(" " * len(label), ("+ ", tokens.ADDED), (clip(b, room), tokens.ADDED))


def _listed(page: Page, title: str, facts: Sequence[Fact], none: str, target: str = "") -> None:
    """What only one side has, or has otherwise."""
    page.heading(title)
    if not facts:
        page.add((f"  {none}", tokens.DIM))
    for number, fact in enumerate(facts):
        if number == SHOWN:
            page.open(f"{len(facts) - SHOWN} more", folded=True)
            page.add((f"  {len(facts) - SHOWN} more", tokens.LABEL))
        spans = word_changes(fact.left, fact.right) if fact.left and fact.right else ([], [])
        sides = (("-", fact.left, tokens.REMOVED, spans[0]), ("+", fact.right, tokens.ADDED, spans[1]))
        for sign, text, style, words in sides:
            if text is not None:
                short, words = around(text, words, page.width - 4)
                page.add((f"  {sign} ", style), *marked(short, words, style))
    if len(facts) > SHOWN:
        page.close()
    if target:
        page.add("  ", ("compare the guards", tokens.LINK, target))


HEAD = 24
"""Columns that stay of the beginning of a line that is cut to show what differs."""


def around(text: str, words: list[tuple[int, int]], width: int) -> tuple[str, list[tuple[int, int]]]:
    """The text cut to a width so that the first of the words is in sight, and the words that are."""
    if len(text) > width and words and words[0][1] > width - 2 and width > 2 * HEAD:
        start = max(words[0][0] - 12, HEAD)
        cut = HEAD + 3 - start
        text = f"{text[:HEAD]} … {text[start:]}"
        words = [(max(a + cut, HEAD + 3), b + cut) for a, b in words if b + cut > HEAD + 3]
    short = clip(text, width)
    return short, [(a, min(b, len(short))) for a, b in words if a < len(short)]
