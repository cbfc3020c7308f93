"""The view `timing`: where the time went, by phase, function, compile and rank; of a compile as a flame view."""

from __future__ import annotations

import argparse
import heapq
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence

from tltui.analyses.timing.results import Timing
from tltui.analyses.timing.spans import count_events
from tltui.analyses.timing.timing import (
    compile_times,
    function_times,
    index_process_times,
    timing_steps,
)
from tltui.analyses.unread import not_read
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.flame import add_flames
from tltui.documents.parts.incomplete import add_not_read
from tltui.documents.parts.on_ranks import alike_on_ranks
from tltui.documents.parts.reports import add_time
from tltui.documents.parts.timing import (
    ROWS,
    OnAll,
    add_beside,
    add_compiles,
    add_functions,
    add_gaps,
    add_kernels,
    add_meaning,
    add_names,
    add_open,
    add_outliers,
    add_processes,
    on_all,
)
from tltui.documents.scope import Scope
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

AT_ONCE = 40_000
"""Events up to which the page begins with what they say; with more, it begins with what the index knows."""
COMPILES_AT_ONCE = 300
"""The same, for compiles without events: their metrics are read."""
SORTS = ("own", "total", "count", "name")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The timing of the scope."""

    def fill(page: Page) -> Generator[None, None, Timing]:
        return (yield from _fill(page, run, scope, options.sort if options.sort in SORTS else "own"))

    return GrowingDocument(scope.page("timing"), f"timing{scope.title}", options, fill, Page)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command has beside the options of every view."""
    parser.add_argument("--sort", choices=SORTS, default="own", help="the order of the tables (default: own)")


def _fill(page: Page, run: Run, scope: Scope, sort: str) -> Generator[None, None, Timing]:
    compiles = scope.compiles
    events = count_events(compiles)
    _head(page, run, scope, events)
    yield
    if events > AT_ONCE or (not events and len(compiles) > COMPILES_AT_ONCE):
        return (yield from _large(page, scope, sort))
    timing = yield from timing_steps(str(scope.ref), compiles)
    if not timing.source and not timing.compiles:
        _nothing(page, events)
        return timing
    if not timing.events:
        page.say("This log has no timing events (chromium_event): the times are those that the metrics state.", "", tokens.DIM)
    add_time(page, timing.phases, "")
    add_open(page, timing)
    if timing.flames:
        add_flames(page, timing)
        add_names(page, timing, sort, folded=len(compiles) == 1)
    else:
        add_names(page, timing, sort)
        add_functions(page, timing.functions, timing.seconds, sort)
        add_compiles(page, on_all(page, timing.compiles), timing.seconds, sort)
        add_processes(page, timing.processes, timing.outliers)
    _rest(page, timing)
    return timing


def _large(page: Page, scope: Scope, sort: str) -> Generator[None, None, Timing]:
    """What the index knows is there at once; the events are read behind it."""
    times = yield from _index_tables(page, scope.compiles, sort)
    timing = yield from timing_steps(str(scope.ref), scope.compiles)
    if len(timing.processes) > 1 and times:
        page.heading("Between ranks")
        add_outliers(page, timing.processes, timing.outliers)
    page.heading("Where it went")
    add_time(page, timing.phases, "  ")
    add_open(page, timing)
    add_names(page, timing, sort)
    if timing.flames:
        add_flames(page, timing)
    elif not times:  # no metrics at all: every compile was cut off, or none has an id
        add_compiles(page, on_all(page, timing.compiles), timing.seconds, sort)
        add_processes(page, timing.processes, timing.outliers)
    _rest(page, timing)
    return timing


def _index_tables(page: Page, compiles: Sequence[Compile], sort: str) -> Generator[None, None, bool]:
    """The tables by function, compile and rank, as far as the index knows; whether it knows anything. Only the rows that are
    shown are made, unless another order asks for all of them."""
    timed = [compile_ for compile_ in compiles if compile_.tally.seconds > 0]
    total, most = sum(compile_.tally.seconds for compile_ in timed), ROWS if sort in ("own", "total") else len(timed)
    codes: dict[int, tuple[object, ...]] = {}
    groups: dict[object, list[Compile]] = defaultdict(list)
    for compile_ in timed:
        if compile_.is_compile:
            frame = compile_.frame
            code = codes.get(id(frame)) or codes.setdefault(id(frame), frame.code)
            groups[code if code[0] else id(frame)].append(compile_)
    yield
    dear = heapq.nlargest(most, groups.values(), key=lambda own: sum(c.tally.seconds for c in own))
    members = [compile_ for own in dear for compile_ in own]
    functions = yield from function_times(members, compile_times(members))
    add_functions(page, functions, total, sort, len(groups))
    alike = alike_on_ranks(timed, lambda c: str(c.ref), page.newest, lambda c: codes.get(id(c.frame)))
    slow = heapq.nlargest(most, alike, key=lambda own: max(c.tally.seconds for c in own))
    add_compiles(page, list(_spreads(slow)), total, sort, len(alike))
    yield
    if timed:
        add_processes(page, index_process_times(timed), None)
    yield
    return bool(timed)


def _spreads(groups: Sequence[Sequence[Compile]]) -> Iterator[OnAll]:
    """The times of compiles that several ranks have."""
    for own in groups:
        slowest = max(own, key=lambda c: c.tally.seconds)
        if (time := compile_times([slowest]).get(id(slowest))) is not None:
            yield OnAll(time, min(c.tally.seconds for c in own), len(own))


def _rest(page: Page, timing: Timing) -> None:
    add_kernels(page, timing)
    add_beside(page, timing)
    add_gaps(page, timing)
    add_meaning(page, timing)


def _head(page: Page, run: Run, scope: Scope, events: int) -> None:
    seconds, compiles = sum(c.tally.seconds for c in scope.compiles), sum(c.tally.compiles for c in scope.compiles)
    page.add(("Timing", tokens.TITLE), *_of(scope))
    words: list[Piece] = []
    if len(scope.compiles) == 1 and (code := scope.compiles[0].frame.code)[0]:
        words += [(fmt.clip_middle(sanitize(code[0]), 40), tokens.FUNCTION), page.place(code[1], code[2])]
    elif compiles:
        words.append((fmt.plural(compiles, "compile"), tokens.LINK, str(scope.ref) or "@run"))
    if seconds:
        words.append(f"{fmt.seconds(seconds)} of compiling")
    words.append((fmt.plural(events, "timing event"), tokens.LINK, scope.page("records")))
    page.joined(words)
    if not str(scope.ref):
        add_not_read(page, not_read(run))
    page.more("everything below is preliminary")


def _of(scope: Scope) -> list[Piece]:
    return [" of ", (f"[{scope.ref}]", tokens.LINK, str(scope.ref))] if str(scope.ref) else [" of the run"]


def _nothing(page: Page, events: int) -> None:
    page.blank()
    if events:
        page.say(page.so_far("None of the timing events could be read, and there are no metrics with times."))
    else:
        what = "Nothing here tells how long anything took: there are no timing events (chromium_event), and no metrics."
        page.say(page.so_far(what))


