"""What the page `runtime` says of several ranks: where each spends a step, and which kernels one rank takes longer for."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tltui.analyses.ranks.ranges import ranges
from tltui.analyses.runtime.across import RankKernel, rank_kernels
from tltui.analyses.runtime.costs import whole_us
from tltui.analyses.runtime.result import Runtime
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.runtime import PARTS, UNCLEAR
from tltui.documents.parts.runtime_graphs import NARROW
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize
from tltui.text.times import micros

RANKS_SHOWN = 16
KERNELS_SHOWN = 12
FOLDED = 400
ALL_PARTS = 62
"""Columns from which on all parts of the time have a column."""
SLOW = 1.2
"""Times what the rank in the middle takes, from which on a rank is named as slow."""


def step_us(runtime: Runtime) -> float:
    """A step on average; without steps the window."""
    return whole_us(runtime) / max(len(runtime.steps), 1)


def _ranges(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(set(ranks)) == 1 else 'ranks'} {ranges(ranks)}"


def add_ranks(page: Page, runtimes: Sequence[Runtime]) -> None:
    """A row a profile, the slowest first."""
    of = "a step" if all(runtime.steps for runtime in runtimes) else "the window"
    ordered = sorted(runtimes, key=lambda runtime: -step_us(runtime))
    slowest, middle = ordered[0], median(step_us(runtime) for runtime in runtimes)
    _slowest(page, slowest, middle, of)
    numbers = sorted({runtime.rank for runtime in runtimes if runtime.rank is not None})
    page.heading(f"{fmt.plural(len(runtimes), 'profile')}{f' of {_ranges(numbers)}' if numbers else ''}")
    hidden = () if page.width >= ALL_PARTS else ("wrapper", "around") if page.width > NARROW else ("guards", *UNCLEAR)
    parts = [part for part in PARTS if part[0] not in hidden]
    names = [name for name, *_ in parts]
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in ("rank", of, *names)]]
    for runtime in ordered:
        share = runtime.share
        rows.append([
            _who(runtime), (micros(step_us(runtime)), tokens.NUMBER),
            *((fmt.percent(float(getattr(share, field)), share.whole_us), style) for _, field, style, _ in parts),
        ])  # fmt: skip
    shown = 1 + RANKS_SHOWN if len(ordered) > RANKS_SHOWN + 2 else -1
    page.grid(rows, right=range(1, len(rows[0])), shown=shown, more=f"{fmt.count(len(ordered) - RANKS_SHOWN)} more ranks")


def _who(runtime: Runtime) -> Piece:
    if runtime.rank is None:
        return (fmt.pid(runtime.pid), tokens.NAME)
    return (str(runtime.rank), tokens.LINK, f"@runtime:{runtime.rank}:")


def _slowest(page: Page, slowest: Runtime, middle: float, of: str) -> None:
    us = step_us(slowest)
    who = f"rank {slowest.rank}" if slowest.rank is not None else fmt.pid(slowest.pid)
    if middle > 0 and us >= SLOW * middle:
        more = fmt.percent(us - middle, middle)
        said = f"{who} is the slowest: {micros(us)} {of}, {more} more than the rank in the middle"
    else:
        said = f"the ranks take about the same time: {micros(middle)} {of} in the middle, {micros(us)} on {who}"
    page.say(said, "", tokens.STRONG)


def add_rank_kernels(page: Page, runtimes: Sequence[Runtime]) -> None:
    """Kernels that take longer on some rank than on the one in the middle, by how much."""
    found = [item for item in rank_kernels(runtimes) if item.lost_us > 0]
    if not found:
        return
    page.heading("Kernels across ranks")
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in ("middle", "slowest", "on", "kernel")]]
    for item in found[: KERNELS_SHOWN + FOLDED]:
        means = dict(item.means)
        rows.append([
            (micros(item.median_us), tokens.NUMBER),
            (micros(means[item.slowest]), tokens.WARN if means[item.slowest] >= SLOW * item.median_us else tokens.NUMBER),
            (_slow(item), tokens.LABEL),
            (sanitize(item.kernel.key or item.kernel.name), tokens.LINK, f"@runtime:{item.ref}"),
        ])  # fmt: skip
    shown = 1 + KERNELS_SHOWN if len(found) > KERNELS_SHOWN + 2 else -1
    page.grid(rows, right=(0, 1), shown=shown, more=f"{fmt.count(len(found) - KERNELS_SHOWN)} more kernels")
    said = "A call on average, on the rank in the middle and on the slowest; which ranks are slow. Those first that differ most."
    page.say(said, "  ", tokens.DIM)


def _slow(item: RankKernel) -> str:
    """The ranks that are slow for a kernel; else the one that is slowest."""
    slow = [rank for rank, us in item.means if us >= SLOW * item.median_us]
    return _ranges(slow or [item.slowest])
