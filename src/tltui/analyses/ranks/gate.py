"""The bar `diverge`: differences between the ranks of a run."""

from __future__ import annotations

from tltui.analyses.problems.measure import Found
from tltui.analyses.ranks.differing import SAID, Side
from tltui.analyses.ranks.reading import differences_of
from tltui.model.run import Run


def differences(run: Run) -> int:
    """How many differences there are."""
    found = differences_of(run)
    return found.count if found is not None else 0


def difference_reasons(run: Run) -> list[Found]:
    """Where each is, what differs on which ranks, and what makes it the same in another run: not the ranks."""
    found = differences_of(run)
    reasons = []
    for one in found.divergences if found is not None else ():
        sides = " | ".join(map(_side, one.sides)) + (f" | {one.more} more ranks" if one.more else "")
        ref = next((side.ref for side in (*one.sides[1:], one.sides[0]) if side.ref), "@ranks")
        if one.whole:
            reasons.append(Found(ref, f"{SAID[one.facets[0]]}: {sides}", f"{one.facets[0]}\0{one.sides[-1].said}"))
            continue
        for function in (one.function, *one.others):
            where = f" ({function.file}:{function.line})" if function.file else ""
            of = f", compile {one.number}" if one.number > 1 else ""
            key = f"{one.facets[0]}\0{function.name}\0{one.number}"
            text = f"{function.name}{where}{of}: {SAID[one.facets[0]]}: {sides}"
            reasons.append(Found(ref, text, key, function.file, function.line))
    return reasons


def _side(side: Side) -> str:
    ranks = f"{'rank' if side.count == 1 else 'ranks'} {side.ranks}"
    return f"{ranks}: {' '.join(side.said.split())[:120]}" if side.said else ranks
