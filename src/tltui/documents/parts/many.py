"""What is the same of very many compiles: one line, and folded below it each of them as a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.on_ranks import OnRanks, alike_on_ranks, flow, said_ranks
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

ROWS_SHOWN = 200
"""Compiles up to which a table has a line for each; more are grouped."""
GROUPS_SHOWN = 40
"""Groups that have a line of their own; the compiles of the others stand together."""
EVERY = 2000
"""Links between two yields."""

Named = tuple[str, str, str]
"""The address of a compile, the style of its link, and where that leads."""


def add_named(page: Page, what: str, head: Sequence[Piece], members: Sequence[Named], indent: str = "  ") -> Iterator[None]:
    """A line `what` with more beside it, and folded below it the compiles."""
    page.open(what, folded=True)
    page.row([(what, tokens.STRONG), "  ", *head], indent)
    groups = alike_on_ranks(members, lambda member: member[0], page.newest, lambda member: member[1])
    for start in range(0, len(groups), EVERY):
        named = []
        for own in groups[start : start + EVERY]:
            refs = OnRanks(tuple(ref for ref, _, _ in own), said_ranks([ref for ref, _, _ in own], page.newest))
            named.append(refs.pieces(own[0][2], own[0][1]))
        flow(page, named, indent + "  ")
        yield
    page.close()


def functions(names: Sequence[str | None], room: int) -> Piece:
    """`f, g, h …`: the first few of the functions that compiles are of."""
    known = list(dict.fromkeys(name or "?" for name in names))
    shown = ", ".join(known[:4]) + (" …" if len(known) > 4 else "")
    return (fmt.clip(sanitize(shown), max(room, 12)), tokens.FUNCTION)
