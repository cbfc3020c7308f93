"""What is the same of many ranks: said once, with the ranks as ranges, and a link to the first of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tltui.analyses.ranks.ranges import ranges
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece, piece_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
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
        found: list[Piece] = [(f"[{self.label}]", style, target or self.ref)]
        return [*found, (f" {self.ranks}", tokens.DIM)] if self.ranks else found


def alike_on_ranks(
    items: Iterable[T], ref_of: Callable[[T], str], newest: Collection[str] = (), kind_of: Callable[[T], Hashable] | None = None
) -> list[list[T]]:
    """Items whose addresses differ in nothing but the rank, and of which `kind_of` says the same, together; in the order of the
    first of each. An older process of a rank stands apart: `newest` has the addresses of those that stand for their rank
    (`Options.newest`)."""
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
    return [OnRanks(tuple(own), said_ranks(own, newest)) for own in alike_on_ranks(refs, str, newest)]


def said_ranks(refs: Sequence[str], newest: Collection[str] = ()) -> str:
    """`ranks 0–6, 8–511` of addresses of one id, '' of a single one."""
    if len(refs) < 2:
        return ""
    found = [ref.partition(":")[0].partition(".") for ref in refs]
    ranks = {int(rank) for rank, _, _ in found if rank.isdecimal()}
    own = ranges(ranks)
    said = f"ranks {own}" if len(ranks) > 1 else f"rank {own}"
    older = found[0][2] and refs[0].partition(":")[0] not in newest
    return f"older processes of {said}" if older else said


def named(page: Page, refs: Iterable[str], shown: int, target: Callable[[str], str] = str) -> list[list[Piece]]:
    """`[0/0] ranks 0–7`, `[7:1/0]`, `and 3 more`: the first few, for `flow`. What is left out is counted in compiles."""
    groups = on_ranks(refs, page.newest)
    left = sum(len(group.refs) for group in groups[shown:])
    found = [group.pieces(target(group.ref)) for group in groups[:shown]]
    return [*found, [(f"and {fmt.count(left)} more", tokens.DIM)]] if left else found


def flow(page: Page, groups: Sequence[Sequence[Piece]], indent: str = "  ", lead: Sequence[Piece] = ()) -> None:
    """Groups of pieces one after another behind `lead`, as many in a line as fit; a group is broken where it alone is too long."""
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
