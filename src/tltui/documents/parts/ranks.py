"""The section of the summary that says in what the ranks of a job differ."""

from __future__ import annotations

from tltui.analyses.ranks.diverging import (
    BREAKS,
    COLLECTIVES,
    DEVICE,
    FAILED,
    GRAPH,
    SAID,
    UNFINISHED,
    Divergence,
    Diverging,
    Function,
    Side,
)
from tltui.documents import format as fmt
from tltui.documents.compare.artifacts import diff_ref
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 8
NAMED = 3
"""Functions with one difference that are named."""
WITH_IT = {
    UNFINISHED: "what is finished", BREAKS: "the breaks", FAILED: "the failures", COLLECTIVES: "the collectives",
    DEVICE: "the devices", GRAPH: "the graphs",
}  # fmt: skip
"""What is named beside the difference that it follows from."""


def add_ranks(page: Page, found: Diverging | None) -> None:
    """What differs between ranks, a line each; one line where nothing does."""
    if found is None:
        return
    if not found.count:
        if found.functions:
            page.heading("Ranks")
            page.say(page.so_far(_alike(found, bool(page.untold))), "  ", tokens.DIM)
            _behind(page, found)
        return
    page.heading(f"Ranks that differ ({fmt.plural(found.count, 'difference')})")
    for one in found.divergences[:SHOWN]:
        add_divergence(page, one)
    left = found.count - sum(1 + len(one.others) for one in found.divergences[:SHOWN])
    if left:
        page.say(f"and {fmt.plural(left, 'more difference')}", "  ", tokens.DIM)
    if found.alike:
        verb = "is" if found.alike == 1 else "are"
        page.say(
            f"{fmt.plural(found.alike, 'function')} of {fmt.count(found.functions)} {verb} the same on all "
            f"{fmt.count(found.ranks)} ranks.", "  ", tokens.DIM,
        )  # fmt: skip
    _behind(page, found)


def _alike(found: Diverging, is_partly_told: bool) -> str:
    """`is_partly_told`: breaks and graphs may not have been logged, or not those of all ranks."""
    if found.behind or is_partly_told:
        return f"Nothing differs in what all of the {fmt.count(found.ranks)} ranks have compiled."
    what = "the same function" if found.functions == 1 else f"the same {fmt.count(found.functions)} functions"
    who = "Both ranks" if found.ranks == 2 else f"All {fmt.count(found.ranks)} ranks"
    return f"{who} compiled {what}, with the same graphs and breaks, as often and in the same order."


def _behind(page: Page, found: Diverging) -> None:
    if found.behind:
        many = "ranks" if any(sign in found.behind for sign in "–, ") else "rank"
        page.say(f"So far {many} {found.behind} compiled less than others, and may only be behind.", "  ", tokens.DIM)


def add_divergence(page: Page, one: Divergence) -> None:
    """`block2  blocks.py:140  other graphs   ranks 0–6, 8–511 [0:2/0] | rank 7 [7:1/0]   compare`"""
    pieces: list[Piece] = [(_name(one.function), tokens.FUNCTION), "  "]
    if one.function.file is not None:
        pieces += [page.place(one.function.file, one.function.line), "  "]
    if one.number > 1:
        pieces.append(f"compile {one.number}  ")
    if one.others:
        named = ", ".join(_name(function) for function in one.others[: NAMED - 1])
        rest = len(one.others) - (NAMED - 1)
        pieces.append(f"and {named}" + (f" and {rest} more" if rest > 0 else "") + "  ")
    also = [WITH_IT[facet] for facet in one.facets[1:] if facet in WITH_IT]
    pieces.append((SAID[one.facets[0]], tokens.WARN))
    if also:
        pieces.append((f", and with that {' and '.join(also)}", tokens.DIM))
    page.row(pieces)
    page.row(_sides(page, one), "    ")


def _sides(page: Page, one: Divergence) -> list[Piece]:
    pieces: list[Piece] = []
    for number, side in enumerate(one.sides):
        last = number == len(one.sides) - 1
        pieces.append((_ranks(side), tokens.STRONG if one.majority and number else ""))
        if side.ref:
            pieces += [" ", (f"[{side.ref}]", tokens.LINK, side.ref)]
        if side.said:
            pieces.append(f": {fmt.clip(sanitize(fmt.one_line(side.said)), max(page.width - 20, 20))}")
        if not last:
            pieces.append(("  |  ", tokens.DIM))
    if one.more:
        pieces.append((f"  |  {fmt.plural(one.more, 'more rank')}, otherwise again", tokens.DIM))
    if target := compared(one):
        pieces += ["  ", ("compare", tokens.LINK, target)]
    return pieces


def compared(one: Divergence) -> str:
    """The comparison of a rank of the first side with one of the second; '' where one of them has no such compile."""
    a, b = one.sides[0].ref, one.sides[1].ref
    return diff_ref(a, b) if a and b else ""


def _name(function: Function) -> str:
    return fmt.clip_middle(sanitize(function.name), 40)


def told(found: Diverging) -> tuple[str, str]:
    """Where to look, and the most telling difference in a sentence."""
    first = found.divergences[0]
    usual, other = first.sides[0], first.sides[1]
    what = f"ranks diverge: {first.function.name}: {SAID[first.facets[0]]} ({_ranks(other)} unlike "
    what += f"the other {fmt.count(usual.count)})" if first.majority and len(first.sides) == 2 else f"{_ranks(usual)})"
    more = f", and {fmt.plural(found.count - 1, 'more difference')}" if found.count > 1 else ""
    return compared(first) or other.ref or usual.ref, what + more


def _ranks(side: Side) -> str:
    return f"{'rank' if side.count == 1 else 'ranks'} {side.ranks}"
