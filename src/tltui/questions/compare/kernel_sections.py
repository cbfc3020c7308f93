"""Kernels of two compiles or runs on a page: the largest differences at the top, and the table of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table
from tltui.documents.page import Page
from tltui.questions.compare.kernel_changes import (
    ADDED,
    CODE,
    CONFIGURATION,
    FEWER,
    IMPLEMENTATION,
    KINDS,
    MERGED,
    MORE,
    REGROUPED,
    REMOVED,
    SPLIT,
    TIME,
    UNPAIRED,
    ComparedKernel,
    KernelChange,
    KernelComparison,
    RecordedDifference,
)
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

LARGEST = 3
"""Differences at the top of a page."""
RECORDED = 3
"""Recorded differences there."""
NAMED = 2
"""Kernels of a side that a line names."""

_COUNTED = {
    SPLIT: "split", MERGED: "merged", REGROUPED: "regrouped", IMPLEMENTATION: "with another implementation",
    MORE: "with more bytes", FEWER: "with fewer bytes", CONFIGURATION: "with another configuration", CODE: "with other code",
    ADDED: "added", REMOVED: "removed", UNPAIRED: "not paired",
}  # fmt: skip


def summary_of(comparison: KernelComparison) -> str:
    """Return one sentence about all kernels; '' if neither side has any."""
    if not comparison.left_kernels and not comparison.right_kernels:
        return ""
    if not comparison.changes:
        where = "kernels that could be compared" if comparison.not_compared else "kernels"
        return f"No difference in {where}: {fmt.plural(comparison.same, 'kernel is', 'kernels are')} unchanged."
    counts = Counter(change.kind for change in comparison.changes)
    kinds = ", ".join(f"{counts[kind]} {_COUNTED[kind]}" for kind in KINDS if counts[kind])
    left, right = comparison.left_kernels, comparison.right_kernels
    became = fmt.plural(left, "kernel") + (f" became {fmt.count(right)}" if left != right else " per side")
    same = f"; {fmt.count(comparison.same)} unchanged" if comparison.same else ""
    return f"{became}: {kinds}{same}."


def add_largest(page: Page, comparison: KernelComparison, others: Sequence[str] = ()) -> None:
    """Add the summary, the largest differences, and the recorded differences that may be their cause.

    `others`: differences of other kinds; they come before kernels.
    """
    if summary := summary_of(comparison):
        page.say(summary, "", tokens.STRONG if comparison.changes else tokens.OK)
    for number, text in enumerate(others[:LARGEST], 1):
        page.row([(f"{number}. ", tokens.LABEL), (page.clip(sanitize(text), page.width - 3), tokens.CHANGED)], "")
    for number, change in enumerate(comparison.changes[: max(LARGEST - len(others), 0)], len(others) + 1):
        pieces: list[Piece] = [(f"{number}. ", tokens.LABEL), (change.title, tokens.CHANGED)]
        pieces += [(f"  {amounts}", tokens.NUMBER)] if (amounts := _amounts(change, comparison.order)) else []
        pieces += [("  ", ""), (sanitize(change.function), tokens.DEFINITION)]
        pieces += [(f"  {place}", tokens.DIM)] if (place := _place(change)) else []
        page.row(pieces, "")
        page.add("   ", (page.clip(sanitize(_notes_and_kernels(change)), page.width - 3), tokens.DIM))
    if comparison.changes:
        _recorded(page, comparison.recorded_differences)


def _recorded(page: Page, differences: Sequence[RecordedDifference]) -> None:
    """Add the recorded differences, a line each."""
    if not differences:
        page.say("The traces record no other version, setting, input or guard that may be the cause.", "", tokens.DIM)
        return
    more = f", the first {RECORDED} of {fmt.count(len(differences))}" if len(differences) > RECORDED else ""
    page.add((f"Recorded differences that may be the cause{more}:", tokens.LABEL))
    for difference in differences[:RECORDED]:
        text = sanitize(fmt.one_line(difference_text(difference)))
        if difference.kind == "input":  # its sizes are at the end
            page.say(text, "  ", tokens.WARN, "    ")
        else:
            page.add("  ", (page.clip(text, page.width - 2), tokens.WARN))


def difference_text(difference: RecordedDifference) -> str:
    """Return a recorded difference as one text: `torch._inductor.config.max_fusion_size: 64 → 1`."""
    texts = [text for text in (difference.left, difference.right) if text is not None]
    label = difference.name if difference.kind in ("version", "setting") else f"{difference.kind} {difference.name}"
    side = "" if len(texts) > 1 or difference.kind == "guard" else " (only left)" if difference.right is None else " (only right)"
    return f"{label}: {' → '.join(texts)}{side}"


def _amounts(change: KernelChange, order: str) -> str:
    """Return time, if measured, and bytes of both sides."""
    return " · ".join(filter(None, (_times(change) if order == TIME else "", _sizes(change))))


def _sizes(change: KernelChange) -> str:
    left, right = change.bytes_by_side
    return _both(change, None if left is None else fmt.size_of(left), None if right is None else fmt.size_of(right))


def _times(change: KernelChange) -> str:
    left, right = change.us_by_side
    return _both(change, None if left is None else fmt.seconds(left / 1e6), None if right is None else fmt.seconds(right / 1e6))


def _both(change: KernelChange, left: str | None, right: str | None) -> str:
    if left is None and right is None:
        return ""
    if not change.left or not change.right:
        return (right if change.right else left) or ""
    return left if left == right and left is not None else f"{left or 'unknown'} → {right or 'unknown'}"


def _place(change: KernelChange) -> str:
    """Return the first source line, and the number of others."""
    if not change.lines:
        return ""
    file, _, line = change.lines[0].rpartition(":")
    more = f" +{len(change.lines) - 1}" if len(change.lines) > 1 else ""
    return f"{fmt.short_path(file)}:{line}{more}"


def _kernels(change: KernelChange) -> str:
    """Return the names of the kernels: `cpp_fused_add_0 → cpp_fused_add_0, cpp_fused_mul_1`."""
    left, right = _names(change.left), _names(change.right)
    side = "" if left and right else " (left)" if left else " (right)"
    return (left if left == right else " → ".join(filter(None, (left, right)))) + side


def _names(kernels: Sequence[ComparedKernel]) -> str:
    names = [kernel.key.partition(":")[0] for kernel in kernels]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _notes(change: KernelChange) -> str:
    """Return changed settings of the kernels and Inductor's reasons."""
    reasons = [f"not fused: {reason}" for reason in change.reasons]
    return "; ".join((*change.details, *reasons))


def _notes_and_kernels(change: KernelChange) -> str:
    return " · ".join(filter(None, (_notes(change), _kernels(change))))


def _table(linked: bool, order: str) -> Table[KernelChange]:
    def target(change: KernelChange) -> str:
        return next((kernel.ref for kernel in (*change.right, *change.left) if linked and kernel.ref), "")

    return Table((
        Column("change", lambda change: (change.title, tokens.CHANGED), shrinks=False),
        Column("time", _times, right=True, shrinks=False, when=lambda _: order == TIME),
        Column("bytes", lambda change: _sizes(change) or ("unknown", tokens.DIM), right=True, shrinks=False, drop=6),
        Column("pairs", lambda change: fmt.count(change.compiles), right=True, drop=2,
               when=lambda rows: any(change.compiles > 1 for change in rows)),
        Column("graph", lambda change: change.unit, drop=1, when=lambda rows: len({change.unit for change in rows}) > 1),
        Column("function", lambda change: (change.function, tokens.DEFINITION), drop=3,
               when=lambda rows: len({change.function for change in rows}) > 1),
        Column("line", _place, drop=4),
        Column("kernels", lambda change: (_kernels(change), tokens.LINK if linked else tokens.NAME, target(change))),
        Column("notes", lambda change: (_notes(change), tokens.WARN), drop=5, when=lambda rows: any(map(_notes, rows))),
    ), noun="changes", shown=24, folded=1000)  # fmt: skip


def add_kernels(page: Page, comparison: KernelComparison, linked: bool) -> None:
    """Add the section of all changes; unchanged kernels are one line. Without any change the summary is enough."""
    if not comparison.changes and not comparison.not_compared:
        return
    page.heading("Kernels")
    if comparison.changes:
        by = "time" if comparison.order == TIME else "bytes read and written by one call"
        page.say(f"Kernels are paired by the graph nodes that they compute. The largest difference in {by} comes first.", "  ",
                 tokens.DIM)  # fmt: skip
        page.table(_table(linked, comparison.order), comparison.changes)
    if comparison.same:
        page.add(f"  {fmt.plural(comparison.same, 'kernel is', 'kernels are')} unchanged")
    for problem in comparison.not_compared:
        page.say(f"not compared: {sanitize(problem)}", "  ", tokens.WARN)
