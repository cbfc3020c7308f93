"""Compiles of which a page says the same: said once, and each of them named."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece

FEW = 8
"""Compiles that are named at once; more are folded."""
AT_ONCE = 64
"""Compiles that are named between two moments at which a reader may leave."""


def add_alike(
    page: Page, title: str, kinds: Sequence[Sequence[str]], target: Callable[[str], str], what: str = "", said: Sequence[str] = ()
) -> Generator[None, None, None]:
    """A section with a line for each kind of compiles: the first, and which others are like it. `kinds` are addresses, the
    first of each is the one of which the page tells; `target` gives the address where a link to one leads. `said` is said of
    each kind."""
    if not kinds:
        return
    page.heading(title)
    if what:
        page.say(what, "  ", tokens.DIM)
    for number, (first, *rest) in enumerate(kinds):
        lead = f"{said[number]}, the same in " if said else "the same in "
        pieces: list[Piece] = [_link(first, target), f"  {lead}"]
        if len(rest) <= FEW:
            page.row([*pieces, *_links(rest, target)])
            continue
        others = plural(len(rest), "further compile")
        page.open(f"{first}: {others}", folded=True)
        page.row([*pieces, others])
        line: list[str] = []
        used = 0
        for place, ref in enumerate(rest):
            if line and used + len(ref) + 2 > page.width - 4:
                page.add("    ", *_links(line, target))
                line, used = [], 0
            line.append(ref)
            used += len(ref) + 3
            if place % AT_ONCE == 0:
                yield
        page.add("    ", *_links(line, target))
        page.close()


def _link(ref: str, target: Callable[[str], str]) -> Piece:
    return (f"[{ref}]", tokens.LINK, target(ref))


def _links(refs: Sequence[str], target: Callable[[str], str]) -> list[Piece]:
    return [piece for ref in refs for piece in (_link(ref, target), " ")]
