"""Groups of equal compiles: ranks as ranges, long lists folded, equal compiles of several ranks under one entry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from tltui.documents import format as fmt
from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.model.ref import Ranks, with_noun
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

T = TypeVar("T")


@frozen
class OnRanks:
    """Compiles, frames or artifacts that have one id on several ranks, or one on a single rank."""

    refs: tuple[str, ...]
    """Their addresses, one a rank, in the order in which they were given."""
    ranks: str
    """`ranks 0–6, 8–511`; '' for a single one, whose address names it."""

    @property
    def ref(self) -> str:
        """The address where a link leads."""
        return self.refs[0]

    @property
    def label(self) -> str:
        """`0/1` of several ranks, `7:0/1` of one."""
        return self.ref.partition(":")[2] if self.ranks else self.ref

    def pieces(self, target: str = "", style: str = tokens.LINK) -> list[Piece]:
        """`[0/1] ranks 0–6, 8–511`"""
        pieces: list[Piece] = [(f"[{self.label}]", style, target or self.ref)]
        return [*pieces, (f" {self.ranks}", tokens.DIM)] if self.ranks else pieces


def alike_on_ranks(
    items: Iterable[T], ref_of: Callable[[T], str], newest: Collection[str] = (), kind_of: Callable[[T], Hashable] | None = None
) -> list[list[T]]:
    """Group items whose addresses differ only in the rank and whose `kind_of` is equal.

    Groups keep the order of their first items. Older processes of a rank form separate groups: `newest` holds the addresses
    of the current processes (`Options.newest`).
    """
    groups: dict[tuple[object, ...], list[T]] = {}
    for item in items:
        rank, _, rest = ref_of(item).partition(":")
        number, _, process = rank.partition(".")
        if not number.isdecimal() or not rest:
            number, process, rest = "", "", ref_of(item)
        elif rank in newest:
            process = ""
        groups.setdefault((bool(number), process, rest, kind_of(item) if kind_of else None), []).append(item)
    return list(groups.values())


def on_ranks(refs: Iterable[str], newest: Collection[str] = ()) -> list[OnRanks]:
    """Addresses that differ in nothing but the rank together."""
    return [OnRanks(tuple(group), said_ranks(group, newest)) for group in alike_on_ranks(refs, str, newest)]


def said_ranks(refs: Sequence[str], newest: Collection[str] = ()) -> str:
    """`ranks 0–6, 8–511` of addresses of one id, '' of a single one."""
    if len(refs) < 2:
        return ""
    text, first = with_noun(ranks_of(refs)), refs[0].partition(":")[0]
    return f"earlier processes of {text}" if "." in first and first not in newest else text


def ranks_of(refs: Iterable[str]) -> Ranks:
    """Return the ranks in addresses."""
    ranks = (ref.partition(":")[0].partition(".")[0] for ref in refs)
    return Ranks(int(rank) for rank in ranks if rank.isdecimal())


def first_refs(page: Page, refs: Iterable[str], shown: int, target: Callable[[str], str] = str) -> list[list[Piece]]:
    """`[0/0] ranks 0–7`, `[7:1/0]`, `and 3 more`: the first few, for `flow`. What is left out is counted in compiles."""
    groups = on_ranks(refs, page.newest)
    left = sum(len(group.refs) for group in groups[shown:])
    pieces = [group.pieces(target(group.ref)) for group in groups[:shown]]
    return [*pieces, [(f"and {fmt.count(left)} more", tokens.DIM)]] if left else pieces


def flow(page: Page, groups: Sequence[Sequence[Piece]], indent: str = "  ", lead: Sequence[Piece] = ()) -> None:
    """Add groups of pieces after `lead`, filling each line; only a group wider than a line is broken."""
    line: list[Piece] = list(lead)
    used, further = sum(_length(piece) for piece in lead), "    " if lead else ""
    for number, group in enumerate(groups):
        wide = sum(map(_length, group))
        gap = "" if not number else " " if len(groups[number - 1]) == len(group) == 1 else "  "
        fits_below = number > 0 or wide <= page.width - len(indent) - len(further)
        if line and len(indent) + used + len(gap) + wide > page.width and fits_below:
            page.add(indent, *line)
            line, used, gap = [further] if further else [], len(further), ""
        line += [gap, *group] if gap else group
        used += len(gap) + wide
        if len(indent) + used > page.width:
            page.row(line, indent)
            line, used = [], 0
    if line:
        page.add(indent, *line)


def _length(piece: Piece) -> int:
    return len(piece_text(piece))


FEW = 8
"""Compiles that are named at once; more are folded."""
AT_ONCE = 64
"""Compiles that are named between two moments at which a reader may leave."""


def add_alike(
    page: Page, title: str, kinds: Sequence[Sequence[str]], target: Callable[[str], str], note: str = "", texts: Sequence[str] = ()
) -> Generator[None, None, None]:
    """Add a section with one line per kind of equal compiles.

    `kinds` are lists of addresses; the first address of each represents the kind. `target` maps an address to its link.
    `texts` has the text after each kind.
    """
    if not kinds:
        return
    page.heading(title)
    if note:
        page.say(note, "  ", tokens.DIM)
    for number, refs in enumerate(kinds):
        first, *rest = on_ranks(refs, page.newest)
        text = f"  {texts[number]}" if texts else ""
        lead = first.pieces(target(first.ref))
        if not rest:
            flow(page, [], "  ", [*lead, text or "  the same on all of these ranks"])
            continue
        lead.append(f"{text}, the same in " if text else "  the same in ")
        if len(rest) <= FEW:
            flow(page, [group.pieces(target(group.ref)) for group in rest], "  ", lead)
            continue
        others = plural(sum(len(group.refs) for group in rest), "other compile")
        page.open(f"{first.ref}: {others}", folded=True)
        flow(page, [], "  ", [*lead, others])
        for start in range(0, len(rest), AT_ONCE):
            flow(page, [group.pieces(target(group.ref)) for group in rest[start : start + AT_ONCE]], "    ")
            yield
        page.close()


ROWS_SHOWN = 200
"""Compiles up to which a table has a line for each; more are grouped."""
GROUPS_SHOWN = 40
"""Maximum number of groups with a line of their own; the other compiles share one."""
EVERY = 2000
"""Links between two yields."""

Named = tuple[str, str, str]
"""The address of a compile, the style of its link, and where that leads."""


def add_named(page: Page, title: str, head: Sequence[Piece], members: Sequence[Named], indent: str = "  ") -> Iterator[None]:
    """Add a line `what` with the pieces `head`, and the compiles folded below it."""
    page.open(title, folded=True)
    page.row([(title, tokens.STRONG), "  ", *head], indent)
    groups = alike_on_ranks(members, lambda member: member[0], page.newest, lambda member: member[1])
    for start in range(0, len(groups), EVERY):
        links = []
        for group in groups[start : start + EVERY]:
            refs = OnRanks(tuple(ref for ref, _, _ in group), said_ranks([ref for ref, _, _ in group], page.newest))
            links.append(refs.pieces(group[0][2], group[0][1]))
        flow(page, links, indent + "  ")
        yield
    page.close()


def functions(names: Sequence[str | None], room: int) -> Piece:
    """`f, g, h …`: the first few of the functions that compiles are of."""
    distinct = list(dict.fromkeys(name or "?" for name in names))
    shown = ", ".join(distinct[:4]) + (" …" if len(distinct) > 4 else "")
    return (fmt.clip(sanitize(shown), max(room, 12)), tokens.FUNCTION)
