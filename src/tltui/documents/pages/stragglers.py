"""The view `stragglers`: which ranks were late or slow, in what, who waited for them, and whose clock is another one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from tltui.analyses.hang.clocks import Clock
from tltui.analyses.ranks.columns import Columns
from tltui.analyses.ranks.course import Lane
from tltui.analyses.ranks.courses import course_of
from tltui.analyses.ranks.hosts import with_hosts
from tltui.analyses.ranks.lanes import is_pipelined, read_lanes
from tltui.analyses.ranks.pace import RULE, Extra, Key, Pace, Spread, Wait
from tltui.analyses.ranks.pacing import read_pace
from tltui.analyses.ranks.ranges import ranges
from tltui.analyses.ranks.slowness import read_phase_spreads, spread_with
from tltui.analyses.ranks.times import PhasesOf, bare_course
from tltui.analyses.unread import not_read
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.few_ranks import why_not
from tltui.documents.parts.incomplete import add_not_read
from tltui.documents.parts.stragglers import (
    Called,
    add_clocks,
    add_extra,
    add_late,
    add_slow,
    add_spreads,
    add_waits,
    answer,
    called,
    reason_of,
)
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument


@dataclass(frozen=True, slots=True)
class LateRow:
    """Ranks that began a compile after the others."""

    compile: Called
    ranks: str
    """As ranges: `0–6, 8–511`."""
    ref: str
    """The address of the compile on the latest of them."""
    typical_ref: str
    """The same of a rank that began in the middle of the others."""
    seconds: float
    """After the median of all ranks, the latest of them."""
    stays: int
    """Compiles behind it that they began as late."""


@dataclass(frozen=True, slots=True)
class SlowRow:
    """Ranks on which a compile took much longer than on others."""

    compile: Called
    ranks: str
    ref: str
    """The address of the compile on the slowest of them."""
    typical_ref: str
    """The same of a rank that took the median."""
    seconds: float
    """What the compile took, on the slowest of them."""
    typical_s: float
    """The median of all ranks that finished it."""
    phase: str
    """The innermost timing event that explains it; '' where none does."""
    phase_s: float
    phase_typical_s: float


@dataclass(frozen=True, slots=True)
class WaitRow:
    """Ranks that waited for others."""

    compile: Called
    """What the last were at when the others waited for them."""
    ref: str
    last: str
    """Ranks that were waited for, as ranges."""
    late: bool
    """Whether the last began it after the others; else they were done with it last."""
    inside: bool
    """Whether the others waited in it, in a collective of the compiler; else after it."""
    waited: int
    """Ranks that waited for more than a second."""
    seconds: float
    """The median of their waits."""
    rank_seconds: float
    """All of their waits added up."""


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """What a compile, or a phase of it, took on all ranks that finished it."""

    compile: Called
    phase: str
    """'': all of the compile."""
    ranks: int
    slowest: int
    """The rank that took longest; on the page of a rank that rank."""
    slowest_s: float
    median: int
    median_s: float
    fastest: int
    fastest_s: float
    slowest_ref: str
    median_ref: str
    fastest_ref: str


@dataclass(frozen=True, slots=True)
class ExtraCompileRow:
    """A compile that less than half of the ranks have."""

    compile: Called
    ref: str
    seconds: float
    again: bool
    """Whether it is a recompile: most ranks compiled the function, not as often."""
    reason: str
    """Why: `x dim 0: 8 → 5`; '' where the log does not tell."""


@dataclass(frozen=True, slots=True)
class ExtraRow:
    """Ranks with compiles that the others do not have."""

    ranks: str
    seconds: float
    """What these took together, on the slowest of the ranks."""
    typical_s: float
    """The median of all ranks."""
    compiles: tuple[ExtraCompileRow, ...]
    """The one that took longest first."""


@dataclass(frozen=True, slots=True)
class Stragglers:
    """How the ranks of a run kept pace."""

    ref: str
    answer: str
    """In a sentence."""
    rule: str
    """Who is slow, who is late."""
    ranks: int
    """That are compared."""
    clocks: tuple[Clock, ...]
    """Those that are off; put right in all that follows."""
    late: tuple[LateRow, ...]
    """In the order in which they began."""
    slow: tuple[SlowRow, ...]
    """The most seconds above the median first."""
    waits: tuple[WaitRow, ...]
    """The most rank-seconds first."""
    compiles: tuple[SpreadRow, ...]
    """The widest first."""
    phases: tuple[SpreadRow, ...]
    """Of a compile that was asked about."""
    extra: tuple[ExtraRow, ...] = ()
    """Who had compiles that the others do not have: the most seconds first."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Who held the others up: of the run, of a rank, or in a compile."""

    def fill(page: Page) -> Generator[None, None, Stragglers]:
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("stragglers"), f"stragglers{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, Stragglers]:
    page.row([("Stragglers", tokens.TITLE), f"{scope.title or ' of the run'}"], "")
    is_alike = not all(is_pipelined(process) for process in run.processes())  # stages are known by the inputs of their compiles
    lanes = with_hosts(run, (yield from read_lanes(run, bare_course if is_alike else course_of)))
    if len(lanes) < 2:
        page.say(page.so_far(why_not(run)))
        add_not_read(page, not_read(run))
        return Stragglers(str(scope.ref), "", RULE, len(lanes), (), (), (), (), (), ())
    phases = PhasesOf(run)
    pace = yield from read_pace(lanes, phases)
    pace, keys, rank = _about(pace, scope, lanes)
    page.joined([fmt.plural(len(lanes), "rank"), fmt.plural(len(pace.spreads), "compile") + " that two or more finished"])
    page.more("everything below is as far as it is written")
    said = answer(run, pace, None if keys else rank)
    page.say(page.so_far(said), "", tokens.STRONG)
    add_not_read(page, not_read(run))
    add_extra(page, run, pace)
    add_late(page, pace)
    add_slow(page, pace)
    add_waits(page, pace.waits)
    add_clocks(page, pace.clocks)
    yield
    inner: list[Spread] = []
    if len(keys) == 1:
        inner = yield from read_phase_spreads(Columns(lanes).column(next(iter(keys))), phases)
    spreads: Sequence[Spread] = pace.spreads
    if rank is not None and not keys:
        columns = Columns(lanes)
        own = [one for spread in spreads if (one := spread_with(columns.column(spread.key), spread, rank)) is not None]
        spreads = sorted(own, key=lambda one: one.median_s - one.slowest_s)
    add_spreads(page, spreads, "By compile", rank is not None and not keys)
    add_spreads(page, inner, "By phase")
    page.heading("What counts")
    page.say(RULE, "  ", tokens.DIM)
    return _report(run, scope, said, pace, spreads, inner)


def _about(pace: Pace, scope: Scope, lanes: Sequence[Lane]) -> tuple[Pace, set[Key], int | None]:
    """What concerns the scope: all, a rank, or some compiles."""
    if not str(scope.ref) or (len(scope.processes) != 1 and scope.processes[0].rank is None):
        return pace, set(), None
    process = scope.processes[-1]
    lane = next((lane for lane in lanes if lane.process == process.key), None)
    if lane is None:
        lane = next((lane for lane in lanes if lane.rank == process.rank), None)
    if scope.ref.id is not None and lane is not None:
        asked = {str(process.named_id(compile_.id)) for compile_ in scope.compiles}
        keys = {(step.code, step.number) for step in lane.course.steps if step.id in asked}
        return _only(pace, keys, None), keys, lane.rank
    rank = process.rank
    return (pace if rank is None else _only(pace, None, rank)), set(), rank


def _only(pace: Pace, keys: set[Key] | None, rank: int | None) -> Pace:
    """Facts of some compiles or of a rank; of the clocks all, since they are put right."""

    def fits(key: Key, ranks: Sequence[int]) -> bool:
        return (keys is None or key in keys) and (rank is None or rank in ranks)

    return replace(
        pace, late=tuple(one for one in pace.late if fits(one.key, one.ranks)),
        slow=tuple(one for one in pace.slow if fits(one.key, one.ranks)),
        waits=tuple(one for one in pace.waits if fits(one.key, one.last)),
        spreads=tuple(one for one in pace.spreads if keys is None or one.key in keys),
        extra=tuple(one for one in pace.extra if any(fits(own.key, one.ranks) for own in one.compiles)),
    )  # fmt: skip


def _report(run: Run, scope: Scope, said: str, pace: Pace, spreads: Sequence[Spread], inner: Sequence[Spread]) -> Stragglers:
    late = tuple(
        LateRow(called(one.key), ranges(one.ranks), one.ref, one.typical_ref, one.seconds, one.stays) for one in pace.late
    )
    slow = tuple(
        SlowRow(
            called(one.key), ranges(one.ranks), one.ref, one.typical_ref, one.seconds, one.typical_s, one.phase, one.phase_s,
            one.phase_typical_s,
        )
        for one in pace.slow
    )  # fmt: skip
    return Stragglers(
        str(scope.ref), said, RULE, pace.ranks, pace.clocks, late, slow, tuple(map(_wait, pace.waits)), tuple(map(_row, spreads)),
        tuple(map(_row, inner)), tuple(_extra(run, one) for one in pace.extra),
    )  # fmt: skip


def _extra(run: Run, one: Extra) -> ExtraRow:
    return ExtraRow(ranges(one.ranks), one.seconds, one.typical_s, tuple(
        ExtraCompileRow(called(own.key), own.ref, own.seconds, own.again, reason_of(run, own.ref) if own.again else "")
        for own in one.compiles
    ))  # fmt: skip


def _wait(one: Wait) -> WaitRow:
    return WaitRow(
        called(one.key), one.ref, ranges(one.last), one.late, one.inside, one.waited, one.seconds, one.rank_seconds
    )  # fmt: skip


def _row(one: Spread) -> SpreadRow:
    return SpreadRow(
        called(one.key), one.phase, one.count, one.slowest, one.slowest_s, one.median, one.median_s, one.fastest, one.fastest_s,
        one.slowest_ref, one.median_ref, one.fastest_ref,
    )  # fmt: skip
