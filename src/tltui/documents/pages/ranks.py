"""The view `ranks`: in what the ranks of a job differ, the first difference in time first."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from tltui.analyses.hang.clocks import Clock, Offset
from tltui.analyses.ranks.differing import Differing, Divergence
from tltui.analyses.ranks.estimates import Expected, read_expected
from tltui.analyses.ranks.hosts import with_hosts
from tltui.analyses.ranks.lanes import read_lanes
from tltui.analyses.ranks.matching import CACHE, EXECUTED, WIDE
from tltui.analyses.ranks.missing import Missing, missing_ranks
from tltui.analyses.ranks.pacing import read_pace
from tltui.analyses.ranks.reading import read_between
from tltui.analyses.ranks.times import PhasesOf
from tltui.analyses.unread import NotRead, not_read
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.few_ranks import why_not
from tltui.documents.parts.incomplete import add_missing, add_not_read
from tltui.documents.parts.ranks import (
    add_behind,
    add_divergence,
    add_expected,
    add_received,
    add_restarted,
    add_stages,
    answer,
)
from tltui.documents.parts.stragglers import add_clocks, add_extra, add_late, add_slow
from tltui.documents.parts.stragglers import answer as pace_answer
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument

OPEN = 24
"""Differences that are shown; the others are folded."""


@dataclass(frozen=True, slots=True)
class RanksReport:
    """In what ranks differ."""

    answer: str
    """In a sentence."""
    differing: Differing | None
    """None where there are no two ranks that can be compared."""
    pace: str = ""
    """Who was late or slow, in a sentence; '' where nobody was. The page `stragglers` has all of it."""
    clocks: tuple[Clock, ...] = ()
    """Those that are off."""
    expected: tuple[Expected, ...] = ()
    """Where torch expects kernels to take longer on some ranks; counted nowhere."""
    missing: Missing | None = None
    """Ranks of which nothing is here; None where none is known to be missing."""
    not_read: tuple[NotRead, ...] = ()
    """Files that could not be read."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """In what the ranks of the run differ, whatever the scope: a rank alone differs in nothing."""

    def fill(page: Page) -> Generator[None, None, RanksReport]:
        lanes = yield from read_lanes(run)
        found = yield from read_between(run, lanes)
        missing, unread = missing_ranks(run), not_read(run)
        if found is None:
            page.say(page.so_far(why_not(run)))
            _incomplete(page, missing, unread)
            return RanksReport("", None, missing=missing, not_read=unread)
        pace = yield from read_pace(with_hosts(run, lanes), PhasesOf(run))
        said = answer(found)
        page.say(said, "", tokens.STRONG)
        _incomplete(page, missing, unread)
        page.more("nothing is said of what ranks that are behind may still do")
        add_received(page, found)
        add_behind(page, found)
        add_stages(page, found)
        found = replace(found, divergences=_in_time([_timed(one, pace.offsets) for one in found.divergences]))
        _divergences(page, run, "Whole ranks", [d for d in found.divergences if d.facets[0] in WIDE])
        _divergences(page, run, "Compiles, in the order of time", [d for d in found.divergences if d.facets[0] not in WIDE])
        if found.restarted:
            page.heading("Processes")
            for one in found.restarted:
                add_restarted(page, one)
        add_clocks(page, pace.clocks)
        add_extra(page, run, pace)
        add_late(page, pace)
        add_slow(page, pace)
        expected = yield from read_expected(run, lanes)
        add_expected(page, expected)
        if pace.clocks or not pace.is_even:
            page.blank()
            page.row([("stragglers", tokens.LINK, "@stragglers"), ": what each compile took on which rank, and who waited"], "")
        paced = pace_answer(run, pace) if not pace.is_even else ""
        return RanksReport(said, found, paced, pace.clocks, expected, missing, unread)

    return GrowingDocument(scope.page("ranks"), f"what differs between ranks{scope.title}", options, fill, Page)


def _incomplete(page: Page, missing: Missing | None, unread: Sequence[NotRead]) -> None:
    add_missing(page, missing)
    add_not_read(page, unread)


def _timed(one: Divergence, offsets: Mapping[int, Offset]) -> Divergence:
    """With the time of day by the clock of most ranks."""
    rank = next((side.ref for side in one.sides if side.ref), "").partition(":")[0].partition(".")[0]
    if one.at is None or not rank.isdecimal() or (offset := offsets.get(int(rank))) is None:
        return one
    return replace(one, at=one.at - offset.at(one.at))


def _in_time(divergences: list[Divergence]) -> tuple[Divergence, ...]:
    """By the times that are printed; what caches answered, and the order in which graphs ran, come last, and before the others what
    whole ranks have."""
    return tuple(sorted(divergences, key=lambda one: (
        one.facets[0] in (CACHE, EXECUTED), one.facets[0] not in WIDE, math.inf if one.at is None else one.at
    )))  # fmt: skip


def _divergences(page: Page, run: Run, title: str, divergences: list[Divergence]) -> None:
    if not divergences:
        return
    page.heading(title)
    for one in divergences[:OPEN]:
        add_divergence(page, run, one, timed=True)
    if divergences[OPEN:]:
        more = fmt.plural(len(divergences) - OPEN, "more difference")
        page.open(more, folded=True)
        page.add("  ", (more, tokens.DIM))
        for one in divergences[OPEN:]:
            add_divergence(page, run, one, timed=True)
        page.close()
