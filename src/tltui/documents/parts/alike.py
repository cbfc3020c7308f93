"""Compiles of which a page says the same: said once, and each of them named."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece

FEW = 8
"""Compiles that are named at once; more are folded."""
AT_ONCE = 64
"""Compiles that are named between two moments at which a reader may leave."""


def add_alike(
    page: Page, title: str, kinds: Sequence[Sequence[str]], view: str, what: str = "", said: Sequence[str] = ()
) -> Generator[None, None, None]:
    """A section with a line for each kind of compiles: the first, and which others are like it. `kinds` are addresses, the
    first of each is the one of which the page tells; links lead to the page `view` of each. `said` is said of each kind."""
    if not kinds:
        return
    page.heading(title)
    if what:
        page.say(what, "  ", tokens.DIM)
    for number, (first, *rest) in enumerate(kinds):
        lead = f"{said[number]}, the same in " if said else "the same in "
        pieces: list[Piece] = [_link(first, view), f"  {lead}"]
        if len(rest) <= FEW:
            page.row([*pieces, *_links(rest, view)])
            continue
        others = plural(len(rest), "further compile")
        page.open(f"{first}: {others}", folded=True)
        page.row([*pieces, others])
        for at in range(0, len(rest), AT_ONCE):
            page.row(_links(rest[at : at + AT_ONCE], view), "    ")
            yield
        page.close()


def _link(ref: str, view: str) -> Piece:
    return (f"[{ref}]", tokens.LINK, f"@{view}:{ref}")


def _links(refs: Sequence[str], view: str) -> list[Piece]:
    return [piece for ref in refs for piece in (_link(ref, view), " ")]
