"""The guards of many compiles: those that failed by function, all of them by what their guards are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from tltui.analyses.guards.guards import GuardCounts
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.many import GROUPS_SHOWN, Named, add_named, functions
from tltui.documents.parts.on_ranks import OnRanks, alike_on_ranks, said_ranks
from tltui.model.nodes import Compile, Frame
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 40
"""Functions whose guards failed that have a line at first."""
FOLDED = 400
"""Those that have one in a fold."""
CAUSES = 3


@dataclass(slots=True)
class _Failed:
    """The compiles of a frame whose guards failed later."""

    frame: Frame
    compiles: int = 0
    recompiles: set[str] = field(default_factory=set)
    causes: Counter[str] = field(default_factory=Counter)


class GuardGroups:
    """Takes compiles one after the other and writes them together at the end."""

    def __init__(self, newest: Collection[str] = ()) -> None:
        self._newest = newest
        self._failed: dict[int, _Failed] = {}
        self._alike: dict[tuple[tuple[str, int], ...], list[tuple[Compile, GuardCounts]]] = {}

    def take(self, compile_: Compile, counts: GuardCounts) -> None:
        """One compile."""
        self._alike.setdefault(counts.kinds, []).append((compile_, counts))
        if counts.failed:
            frame = compile_.frame
            found = self._failed.get(id(frame))
            if found is None:
                found = self._failed[id(frame)] = _Failed(frame)
            found.compiles += 1
            for failed in counts.failed:
                found.recompiles.add(failed.ref)
                found.causes[failed.cause] += 1

    def write(self, page: Page) -> Generator[None, None, None]:
        """What failed, then all compiles, each as a link to its guards."""
        if self._failed:
            self._write_failed(page)
            yield
        if self._alike:
            page.heading(f"Compiles with the same kinds of guards ({fmt.plural(len(self._alike), 'group')})")
        groups = sorted(self._alike.values(), key=len, reverse=True)
        for group in groups[:GROUPS_SHOWN]:
            yield from _group(page, group)
        rest = [member for group in groups[GROUPS_SHOWN:] for member in group]
        if rest:
            what = f"{fmt.plural(len(rest), 'compile')} in {len(groups) - GROUPS_SHOWN:,} smaller groups"
            yield from add_named(page, what, [], list(map(_named, rest)))

    def _write_failed(self, page: Page) -> None:
        found = sorted(self._failed.values(), key=lambda failed: -len(failed.recompiles))
        compiles, recompiles = sum(f.compiles for f in found), sum(len(f.recompiles) for f in found)
        page.heading(f"Failed later: guards of {fmt.plural(compiles, 'compile')}, for {fmt.plural(recompiles, 'recompile')}")
        groups = alike_on_ranks(found, lambda own: str(own.frame.ref), self._newest, _same)
        rows = [_row(own, self._newest) for own in groups[: SHOWN + FOLDED]]
        page.grid(rows[:SHOWN], right=(2,))
        rest = rows[SHOWN:]
        if rest:
            what = f"{fmt.plural(len(groups) - SHOWN, 'more function')}"
            what += f", the first {fmt.count(len(rest))}" if len(groups) - SHOWN > len(rest) else ""
            page.open(what, folded=True)
            page.add("  ", (what, tokens.DIM))
            page.grid(rest, "    ", right=(2,))
            page.close()


def _same(found: _Failed) -> Hashable:
    """What functions on several ranks are alike in."""
    return found.frame.code, found.compiles, len(found.recompiles), tuple(found.causes.items())


def _row(group: Sequence[_Failed], newest: Collection[str]) -> Sequence[Piece]:
    """`[0/] f  models/f.py:4  failed for 12 recompiles  tensor size 11, tensor dtype 1  ranks 0–7`"""
    found = group[0]
    name, file, line = found.frame.code
    refs = tuple(str(own.frame.ref) for own in group)
    on = OnRanks(refs, said_ranks(refs, newest))
    causes = found.causes.most_common()
    said = ", ".join(f"{cause} {fmt.count(count)}" for cause, count in causes[:CAUSES])
    more = f" and {len(causes) - CAUSES} more" if len(causes) > CAUSES else ""
    each = " each" if on.ranks else ""
    return (
        (f"[{on.label}]", tokens.LINK, f"@guards:{on.ref}"), (fmt.clip_middle(sanitize(name or "?"), 30), tokens.FUNCTION),
        (f"failed for {fmt.plural(len(found.recompiles), 'recompile')}{each}", tokens.ERROR, f"@recompiles:{on.ref}"),
        (said + more, tokens.KEYWORD), (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line)),
        *([(on.ranks, tokens.DIM)] if on.ranks else []),
    )  # fmt: skip


def _group(page: Page, group: Sequence[tuple[Compile, GuardCounts]]) -> Iterator[None]:
    """`1,251 compiles of 3 functions  6 guards each  62–81 µs  f, g, h`"""
    first = group[0][1]
    codes = dict.fromkeys(compile_.frame.code for compile_, _ in group)
    times = [counts.latency_us for _, counts in group if counts.latency_us is not None]
    what = fmt.plural(len(group), "compile") + (f" of {fmt.plural(len(codes), 'function')}" if len(codes) > 1 else "")
    each = f"{fmt.plural(first.guards, 'guard')}{' each' if len(group) > 1 else ''}"
    low, high = (f"{min(times):,.0f}", f"{max(times):,.0f}") if times else ("", "")
    took = "" if not times else f"  {low} µs" if low == high else f"  {low}–{high} µs"
    names = functions([code[0] for code in codes], page.width - len(what) - len(each) - len(took) - 8)
    head: list[Piece] = [(each, tokens.NUMBER, first.artifact), took, "  ", names]
    yield from add_named(page, what, head, list(map(_named, group)))


def _named(member: tuple[Compile, GuardCounts]) -> Named:
    counts = member[1]
    return counts.ref, tokens.ERROR if counts.failed else tokens.LINK, f"@guards:{counts.ref}"
