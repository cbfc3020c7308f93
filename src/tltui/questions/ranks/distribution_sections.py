"""The section `Distribution over ranks`: for each of a few compiles how many ranks took how long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tltui.documents import format as fmt
from tltui.documents.axis import axis
from tltui.documents.page import Page
from tltui.questions.ranks.pace import Spread
from tltui.questions.ranks.pace_analysis import Columns
from tltui.questions.ranks.rank_chart_sections import name
from tltui.text import tokens
from tltui.text.formatting import LEVELS

LEAST_RANKS = 12
"""Ranks from which a distribution shows more than the table of compiles."""
SHOWN = 8
NAME, TIME, RANK, MOST = 18, 8, 10, 132
"""Columns of the name of a compile, of a time, of a rank, and of a line."""


def add_distribution(page: Page, columns: Columns, spreads: Sequence[tuple[Spread, Spread]]) -> None:
    """Add a line for each of the widest spreads, with its median and slowest rank.

    `spreads`: as computed, and with the display name of its function.
    """
    chosen = [pair for pair in spreads if pair[0].ranks >= LEAST_RANKS][:SHOWN]
    if not chosen:
        return
    page.heading("Distribution over ranks")
    longest_s = max(spread.slowest_s for spread, _ in chosen)
    width = max(min(page.width, MOST) - 2 - NAME - 2 - 2 * (2 + TIME) - 2 - RANK, 10)
    titles = f"  {'median':>{TIME}}  {'slowest':>{TIME}}  rank"
    page.add("  ", " " * NAME, "  ", (axis(longest_s, width), tokens.DIM), (titles, tokens.LABEL))
    for spread, display in chosen:
        counts = counts_of(columns.column(spread.compile).took, longest_s, width)
        most = max(counts)
        cells = "".join(LEVELS[min(-(-8 * count // most), 8)] for count in counts)
        times = f"  {fmt.seconds(spread.median_s):>{TIME}}  {fmt.seconds(spread.slowest_s):>{TIME}}  "
        page.add(
            "  ", (fmt.clip_middle(name(display.compile), NAME).ljust(NAME), tokens.FUNCTION), "  ", (cells, tokens.PHASE_INDUCTOR),
            (times, tokens.NUMBER), (f"{spread.slowest_rank}", tokens.LINK, spread.slowest_ref),
        )  # fmt: skip
    page.say("height: ranks, relative to the fullest cell of the line", "  ", tokens.DIM)


def counts_of(seconds: Iterable[float], longest_s: float, width: int) -> list[int]:
    """Return how many of the known durations are in each of `width` equal parts of 0 to `longest_s`."""
    counts = [0] * width
    for value in seconds:
        if value == value:
            counts[min(int(value / longest_s * width), width - 1)] += 1
    return counts
