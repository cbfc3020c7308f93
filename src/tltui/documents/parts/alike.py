"""Compiles of which a page says the same: said once, and each of them named."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.documents.parts.on_ranks import flow, on_ranks
from tltui.text import tokens

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
    for number, refs in enumerate(kinds):
        first, *rest = on_ranks(refs, page.newest)
        own = f"  {said[number]}" if said else ""
        lead = first.pieces(target(first.ref))
        if not rest:
            flow(page, [], "  ", [*lead, own or "  the same on all of them"])
            continue
        lead.append(f"{own}, the same in " if own else "  the same in ")
        if len(rest) <= FEW:
            flow(page, [group.pieces(target(group.ref)) for group in rest], "  ", lead)
            continue
        others = plural(sum(len(group.refs) for group in rest), "further compile")
        page.open(f"{first.ref}: {others}", folded=True)
        flow(page, [], "  ", [*lead, others])
        for start in range(0, len(rest), AT_ONCE):
            flow(page, [group.pieces(target(group.ref)) for group in rest[start : start + AT_ONCE]], "    ")
            yield
        page.close()
