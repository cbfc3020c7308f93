"""The page `stragglers`: late and slow ranks, who waited for them, and clock offsets."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table
from tltui.documents.page import Page
from tltui.documents.scope import Scope
from tltui.model.nodes import Compile
from tltui.model.rank_ranges import ranges, shortened
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.questions.compare.artifacts_page import diff_ref
from tltui.questions.coverage.input_sections import add_not_read, why_not
from tltui.questions.coverage.job_inputs import not_read
from tltui.questions.hang.clock_offsets import Clock
from tltui.questions.problems.reason_sections import PHASE_STYLES
from tltui.questions.ranks.compile_facets import PhasesOf, bare_course, course_of
from tltui.questions.ranks.lanes import is_pipelined, read_lanes, with_hosts
from tltui.questions.ranks.pace import RULE, Extra, Key, Late, Pace, Slow, Spread, Wait
from tltui.questions.ranks.pace_analysis import Columns, read_pace, read_phase_spreads, spread_with
from tltui.questions.ranks.rank_course import Lane
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.recompile_sections import differing, said_of
from tltui.questions.timing.timing_events import group_of
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.sanitize import sanitize

SHOWN = 8
"""Facts of a kind, and rows of a table, that are not folded."""
FOLDED = 400
REASON = 80
"""Characters of the reason of a recompile."""
LIST_WIDTH = 40
"""Characters of a list of ranks."""


@dataclass(frozen=True, slots=True)
class Called:
    """A compile, whichever its id."""

    function: str
    file: str | None
    line: int | None
    number: int
    """Which compile of the function on its rank, from 1."""


def called(key: Key) -> Called:
    """The compile of a key."""
    (function, file, line), number = key
    return Called(function, file, line, number)


def name(key: Key) -> str:
    """`block2`, of a further compile of it `block2 (compile 2)`"""
    (function, _, _), number = key
    return fmt.clip_middle(sanitize(function), 40) + (f" (compile {number})" if number > 1 else "")


def subject(ranks: Sequence[int]) -> str:
    """`rank 7`, `ranks 0–6, 8`, `512 ranks (0–9, 12 …)`"""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {said}" if len(said := ranges(ranks)) <= LIST_WIDTH else f"{fmt.count(len(ranks))} ranks ({_short(said)})"


def _short(said: str) -> str:
    return shortened(said, LIST_WIDTH)


def answer(run: Run, pace: Pace, rank: int | None = None) -> str:
    """What there is to say, in a sentence or two. `rank`: it is about this one alone."""
    told = _told(run, pace)
    if not told:
        who = "No rank was late or slow" if rank is None else f"Rank {rank} was neither late nor slow"
        return f"{who}{', with clocks put right' if pace.clocks else ''}."
    waited = sum(wait.rank_seconds for wait in pace.waits)
    more = f" Others waited {fmt.seconds(waited)}, all of them added up." if waited else ""
    return "; ".join(told).replace("rank", "Rank", 1) + "." + more


def worst(run: Run, pace: Pace) -> tuple[str, str] | None:
    """Where to look, and who kept the others waiting most, or would have; None where nobody did."""
    late = [(one.seconds, 0, replace(pace, late=(one,), slow=(), extra=())) for one in pace.late]
    slow = [(one.seconds - one.typical_s, 1, replace(pace, late=(), slow=(one,), extra=())) for one in pace.slow]
    extra = [(one.seconds - one.typical_s, 2, replace(pace, late=(), slow=(), extra=(one,))) for one in pace.extra]
    all_ = sorted([*late, *slow, *extra], key=lambda item: (-item[0], item[1]))
    if not all_:
        return None
    alone = all_[0][2]
    (said,), rest = _told(run, alone), len(all_) - 1
    if alone.extra:
        return alone.extra[0].compiles[0].ref, said + (f"; {fmt.count(rest)} more late or slow" if rest else "")
    one: Late | Slow = alone.late[0] if alone.late else alone.slow[0]
    wait = pace.wait_for(one.key, one.ranks)
    if wait is not None:
        said += f"; {fmt.plural(wait.waited, 'rank')} waited, {fmt.seconds(wait.rank_seconds)} in all"
    return one.ref, said + (f"; {fmt.count(rest)} more late or slow" if rest else "")


def extra_words(run: Run, one: Extra) -> str:
    """`23.1 s in 2 recompiles that the others do not have, x dim 0: 8 → 5`"""
    again = sum(compile_.again for compile_ in one.compiles)
    what = fmt.plural(len(one.compiles), "recompile" if again == len(one.compiles) else "compile")
    reason = next(filter(None, (reason_of(run, compile_.ref) for compile_ in one.compiles)), "")
    return f"{fmt.seconds(one.seconds)} in {what} that the others do not have" + (f", {reason}" if reason else "")


def reason_of(run: Run, ref: str) -> str:
    """Word why a compile was compiled again: `x dim 0: 8 → 5`; '' where its log is not here, or does not tell."""
    try:
        node = run.resolve(ref)
        shown = differing(explained_of(node, own_guards=False))[0] if isinstance(node, Compile) and node.is_recompile else []
    except (BadAddress, OSError):
        return ""
    return fmt.clip(sanitize(said_of(shown[0]).replace("  ", ": ", 1)), REASON) if shown else ""


def _told(run: Run, pace: Pace) -> list[str]:
    worst = sorted(pace.late, key=lambda one: -one.seconds)[:1]
    said = [f"{subject(one.ranks)} began {name(one.key)} {fmt.seconds(one.seconds)} after the others" for one in worst]
    for one in pace.slow[:1]:
        where = f" (in {sanitize(one.phase)})" if one.phase else ""
        times = f"took {fmt.seconds(one.seconds)} for {name(one.key)}{where}, the median is {fmt.seconds(one.typical_s)}"
        said.append(f"{subject(one.ranks)} {times}")
    said += [f"{subject(one.ranks)} took {extra_words(run, one)}" for one in pace.extra[:1]]
    rest = len(pace.late) + len(pace.slow) + len(pace.extra) - len(said)
    return [*said, f"{fmt.count(rest)} more below"] if rest else said


def add_late(page: Page, pace: Pace) -> None:
    """Who began a compile after the others."""
    if not pace.late:
        return
    page.heading(f"Late ({fmt.count(len(pace.late))})")
    for number, one in enumerate(pace.late[: SHOWN + FOLDED]):
        _fold_from(page, number, len(pace.late), "who was late")
        page.row([
            (subject(one.ranks), tokens.STRONG), " began ", (f"[{one.ref}]", tokens.LINK, one.ref), " ", *_function(page, one.key),
            (f"  {fmt.seconds(one.seconds)}", tokens.WARN), " after ", ("the others", tokens.LINK, one.typical_ref),
        ])  # fmt: skip
        page.row(_behind(page, one) + _waited(pace.wait_for(one.key, one.ranks)), "    ")
    _end_fold(page, len(pace.late))


def _behind(page: Page, one: Late) -> list[Piece]:
    if not one.stays:
        return []
    what = f"{fmt.plural(one.stays, 'more compile')} behind it began as late"
    return [(what if page.goes_on else f"{what}: it did not catch up", tokens.DIM), "  "]


def _waited(wait: Wait | None) -> list[Piece]:
    if wait is None:
        return [("that others waited is not seen", tokens.DIM)]
    where = " in the compile" if wait.inside else ""
    many = "rank" if wait.waited == 1 else "ranks"
    said = f"{fmt.count(wait.waited)} {many} waited{where}, {fmt.seconds(wait.seconds)} each"
    return [f"{said}, {fmt.seconds(wait.rank_seconds)} in all" if wait.waited > 1 else said]


def add_extra(page: Page, run: Run, pace: Pace) -> None:
    """Who had compiles that the others do not have, and why."""
    if not pace.extra:
        return
    page.heading(f"Compiles that the others do not have ({fmt.count(sum(len(one.compiles) for one in pace.extra))})")
    for number, one in enumerate(pace.extra[: SHOWN + FOLDED]):
        _fold_from(page, number, len(pace.extra), "who had them")
        page.row([
            (subject(one.ranks), tokens.STRONG), " took ", (fmt.seconds(one.seconds), tokens.WARN), " for ",
            fmt.plural(len(one.compiles), "compile"), f"; the median of the ranks is {fmt.seconds(one.typical_s)}",
        ])  # fmt: skip
        for compile_ in one.compiles[:SHOWN]:
            reason = reason_of(run, compile_.ref) if compile_.again else ""
            page.row([
                (f"[{compile_.ref}]", tokens.LINK, compile_.ref), " ", *_function(page, compile_.key), "  ",
                (fmt.seconds(compile_.seconds), tokens.NUMBER, timing(compile_.ref)), f"  {reason}" if reason else "",
            ], "    ")  # fmt: skip
        if one.compiles[SHOWN:]:
            page.add("    ", (f"and {fmt.plural(len(one.compiles) - SHOWN, 'more compile')}", tokens.DIM))
    _end_fold(page, len(pace.extra))


def add_slow(page: Page, pace: Pace) -> None:
    """Whose compile took much longer, and in which phase."""
    if not pace.slow:
        return
    groups: dict[tuple[tuple[int, ...], str], list[Slow]] = {}
    for one in pace.slow:
        groups.setdefault((one.ranks, one.phase), []).append(one)
    page.heading(f"Slow ({fmt.count(len(pace.slow))})")
    for number, own in enumerate(list(groups.values())[: SHOWN + FOLDED]):
        _fold_from(page, number, len(groups), "who was slow")
        _slow(page, pace, own[0])
        if own[1:]:
            page.add("    ", (f"and in {fmt.plural(len(own) - 1, 'other compile')}: ", tokens.DIM))
            links: list[Piece] = []
            for one in own[1:FOLDED]:
                links += [(f"[{one.ref}]", tokens.LINK, one.ref), f" {fmt.seconds(one.seconds)}  "]
            page.row(links, "      ")
    _end_fold(page, len(groups))


def _slow(page: Page, pace: Pace, one: Slow) -> None:
    page.row([
        (subject(one.ranks), tokens.STRONG), " took ", (fmt.seconds(one.seconds), tokens.WARN), " for ",
        (f"[{one.ref}]", tokens.LINK, one.ref), " ", *_function(page, one.key), "  the median is ",
        (fmt.seconds(one.typical_s), tokens.NUMBER), " ", (f"[{one.typical_ref}]", tokens.LINK, one.typical_ref), "  ",
        ("compare", tokens.LINK, diff_ref(one.typical_ref, one.ref)),
    ])  # fmt: skip
    pieces: list[Piece] = []
    if one.phase:
        pieces += [
            (sanitize(one.phase), PHASE_STYLES[group_of(one.phase)]), " ",
            (fmt.seconds(one.phase_s), tokens.NUMBER, timing(one.ref)), ", elsewhere ",
            (fmt.seconds(one.phase_typical_s), tokens.NUMBER, timing(one.typical_ref)), "  ",
        ]  # fmt: skip
    else:
        pieces.append(("no single phase is known to explain it  ", tokens.DIM))
    wait = pace.wait_for(one.key, one.ranks)
    page.row(pieces + (_waited(wait) if wait is not None else []), "    ")


def timing(ref: str) -> str:
    """The page with the timing of a compile."""
    return str(parse_ref(ref).at("timing"))


def _function(page: Page, key: Key) -> list[Piece]:
    (_, file, line), _ = key
    return [(name(key), tokens.FUNCTION), *([" ", page.place(file, line)] if file is not None else [])]


def _fold_from(page: Page, number: int, count: int, noun: str) -> None:
    if number == SHOWN and count > SHOWN:
        what = f"{fmt.count(count - SHOWN)} more of {noun}"
        page.open(what, folded=True)
        page.add("  ", (what, tokens.DIM))


def _end_fold(page: Page, count: int) -> None:
    if count > SHOWN:
        page.close()


def add_waits(page: Page, waits: Sequence[Wait]) -> None:
    """For whom ranks waited, and what that cost."""
    if not waits:
        return
    page.heading("Waits")
    page.table(WAITS, waits)


WAITS: Table[Wait] = Table((
    Column("in all", lambda row: (fmt.seconds(row.rank_seconds), tokens.NUMBER), right=True),
    Column("ranks", lambda row: (fmt.count(row.waited), tokens.NUMBER), right=True, drop=2),
    Column("each", lambda row: (fmt.seconds(row.seconds), tokens.NUMBER), right=True, drop=3),
    Column("for", lambda row: fmt.clip(subject(row.last), 24)),
    Column("at", lambda row: (name(row.key), tokens.LINK, row.ref)),
    Column("why", lambda row: ("began late" if row.late else "done last", tokens.DIM), drop=1),
), "waits", SHOWN, FOLDED)  # fmt: skip


def add_clocks(page: Page, clocks: Sequence[Clock]) -> None:
    """Clocks that are off."""
    if not clocks:
        return
    page.heading("Clocks")
    for number, clock in enumerate(clocks[: SHOWN + FOLDED]):
        _fold_from(page, number, len(clocks), "the clocks that are off")
        page.say(clock_said(clock), "  ", hang="    ")
    _end_fold(page, len(clocks))
    page.say("Times on this page are put right.", "  ", tokens.DIM)


def clock_said(clock: Clock) -> str:
    """`Rank 3's clock is 62 s ahead of the others', or it started that much later: 8 compiles agree (± 12 ms).`"""
    many = clock.count > 1
    whose = f"The clocks of ranks {_short(clock.ranks)}" if many else f"Rank {clock.ranks}'s clock"
    if clock.hosts:
        whose += f" ({fmt.clip(sanitize(', '.join(clock.hosts)), LIST_WIDTH)})"
    apart = abs(clock.seconds)
    long = f"{apart:.0f} s" if 9.5 <= apart < 99.5 else fmt.seconds(apart)
    said = f"{whose} {'are' if many else 'is'} {long} {'ahead of' if clock.seconds > 0 else 'behind'} the others'"
    if clock.gained_s:
        said += f", {fmt.seconds(abs(clock.gained_s))} {'more' if clock.gained_s * clock.seconds > 0 else 'less'} at the end"
    else:  # ranks that compile everything before their first collective keep the distance with which they started
        said += f", or {'they' if many else 'it'} started that much {'later' if clock.seconds > 0 else 'earlier'}"
    return f"{said}: {clock.compiles} compiles agree (± {fmt.seconds(clock.sure_s)})."


def add_spreads(page: Page, spreads: Sequence[Spread], title: str, own: bool = False) -> None:
    """What compiles or their phases took, the widest first. `own`: the first column is of one rank, not of the slowest."""
    if not spreads:
        return
    page.heading(title)
    page.table(spreads_table("phase" if spreads[0].phase else "compile", "took" if own else "slowest"), spreads)


def spreads_table(noun: str, first: str) -> Table[Spread]:
    """Return the table of compiles or phases; `first` is the title of the column with the slowest rank."""

    def time(seconds: float, ref: str) -> Piece:
        return (fmt.seconds(seconds), tokens.NUMBER, timing(ref))

    def ratio(row: Spread) -> Piece:
        text = _times(row.slowest_s / row.median_s) if row.median_s > 0 else ""
        return text if row.median_ref == row.slowest_ref else (text, tokens.LINK, diff_ref(row.median_ref, row.slowest_ref))

    def what(row: Spread) -> Piece:
        return (sanitize(row.phase), PHASE_STYLES[group_of(row.phase)]) if row.phase else (name(row.key), tokens.FUNCTION)

    return Table((
        Column(first, lambda row: time(row.slowest_s, row.slowest_ref), right=True),
        Column("rank", lambda row: (str(row.slowest), tokens.LINK, row.slowest_ref), right=True),
        Column("median", lambda row: time(row.median_s, row.median_ref), right=True, drop=4),
        Column("rank", lambda row: (str(row.median), tokens.LINK, row.median_ref), right=True, drop=3),
        Column("fastest", lambda row: time(row.fastest_s, row.fastest_ref), right=True, drop=2),
        Column("rank", lambda row: (str(row.fastest), tokens.LINK, row.fastest_ref), right=True, drop=1),
        Column("×", ratio, right=True, drop=6),
        Column("ranks", lambda row: (fmt.count(row.count), tokens.NUMBER), right=True, drop=5),
        Column(noun, what),
    ), f"{noun}s", SHOWN, FOLDED)  # fmt: skip


def _times(ratio: float) -> str:
    return f"{ratio:.1f}×" if ratio < 9.95 else f"{ratio:.0f}×" if ratio < 999.5 else ">999×"


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
