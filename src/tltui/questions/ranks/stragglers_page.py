"""The page `stragglers`: late and slow ranks, who waited for them, distributions over ranks, and clock offsets."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tltui.documents import format as fmt
from tltui.documents.format import axis
from tltui.documents.page import Column, Page, Table, to_page
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress, Ranks, diff_ref, parse_ref, ranges, shortened
from tltui.model.run import Run
from tltui.questions.coverage.input_sections import add_not_read, why_not
from tltui.questions.coverage.job_inputs import not_read
from tltui.questions.problems.reason_sections import PHASE_STYLES
from tltui.questions.question import Question
from tltui.questions.ranks.compile_facets import PhasesOf, bare_course, course_of
from tltui.questions.ranks.function_names import named_pace, named_spreads
from tltui.questions.ranks.lanes import is_pipelined, read_lanes, with_hosts
from tltui.questions.ranks.pace import CRITERIA, RULE, Clock, Extra, Key, Late, Pace, Slow, Spread, Wait
from tltui.questions.ranks.pace_analysis import Columns, read_pace, read_phase_spreads, spread_with
from tltui.questions.ranks.rank_chart import chart_of
from tltui.questions.ranks.rank_chart_sections import add_chart, name
from tltui.questions.ranks.rank_course import Lane
from tltui.questions.timing.timing_events import group_of
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import LEVELS
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

LEAST_RANKS = 12
"""Ranks from which a distribution shows more than the table of compiles."""
SPREADS_SHOWN = 8
NAME, TIME, RANK, MOST = 18, 8, 10, 132
"""Columns of the name of a compile, of a time, of a rank, and of a line."""

SHOWN = 8
"""Facts of a kind, and rows of a table, that are not folded."""
FOLDED = 400
REASON = 80
"""Characters of the reason of a recompile."""
LIST_WIDTH = 40
"""Characters of a list of ranks."""
T = TypeVar("T")


@frozen
class Stragglers:
    """How the ranks of a run kept pace."""

    ref: str
    answer: str
    """In a sentence."""
    rule: str
    """Who is slow, who is late."""
    rank_count: int
    """That are compared."""
    clocks: tuple[Clock, ...]
    """Clocks that are off. All later times are corrected by them."""
    late: tuple[Late, ...]
    """In the order in which they began."""
    slow: tuple[Slow, ...]
    """The most seconds above the median first."""
    waits: tuple[Wait, ...]
    """The most rank-seconds first."""
    compiles: tuple[Spread, ...]
    """The widest first."""
    phases: tuple[Spread, ...]
    """Of a compile that was asked about."""
    extra_compiles: tuple[Extra, ...] = ()
    """Who had compiles that the others do not have: the most seconds first."""


def subject(ranks: Sequence[int]) -> str:
    """`rank 7`, `ranks 0–6, 8`, `512 ranks (0–9, 12 …)`"""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {text}" if len(text := ranges(ranks)) <= LIST_WIDTH else f"{fmt.count(len(ranks))} ranks ({_short(text)})"


def _short(text: str) -> str:
    return shortened(text, LIST_WIDTH)


def answer(run: Run, pace: Pace, rank: int | None = None) -> str:
    """Return the answer of the page in a sentence or two; `rank`: the only rank that it is about."""
    sentences = _sentences(run, pace)
    if not sentences and not pace.spreads:
        who = "No compile" if rank is None else f"No compile of rank {rank}"
        return f"{who} was finished by two or more ranks, so their times cannot be compared."
    if not sentences:
        who = "No rank was late or slow" if rank is None else f"Rank {rank} was neither late nor slow"
        return f"{who}{', after clock correction' if pace.clocks else ''}."
    waited = sum(wait.total_wait_s for wait in pace.waits)
    more = f" Others waited {fmt.seconds(waited)} in total." if waited else ""
    return "; ".join(sentences).replace("rank", "Rank", 1) + "." + more


def worst(run: Run, pace: Pace) -> tuple[str, str] | None:
    """Return the address and a sentence about the latest or slowest ranks; None if no rank was late or slow."""
    late = [(one.late_s, 0, replace(pace, late=(one,), slow=(), extra=())) for one in pace.late]
    slow = [(one.duration_s - one.median_s, 1, replace(pace, late=(), slow=(one,), extra=())) for one in pace.slow]
    extra = [(one.compile_s - one.median_s, 2, replace(pace, late=(), slow=(), extra=(one,))) for one in pace.extra]
    all_ = sorted([*late, *slow, *extra], key=lambda item: (-item[0], item[1]))
    if not all_:
        return None
    alone = all_[0][2]
    (sentence,), rest = _sentences(run, alone), len(all_) - 1
    if alone.extra:
        return alone.extra[0].compiles[0].ref, sentence + (f"; {fmt.count(rest)} more late or slow" if rest else "")
    one: Late | Slow = alone.late[0] if alone.late else alone.slow[0]
    wait = pace.wait_for(one.compile, one.ranks)
    if wait is not None:
        sentence += f"; {fmt.plural(wait.waiting_rank_count, 'rank')} waited, {fmt.seconds(wait.total_wait_s)} in total"
    return one.ref, sentence + (f"; {fmt.count(rest)} more late or slow" if rest else "")


def extra_words(run: Run, one: Extra) -> str:
    """`23.1 s in 2 recompiles that the others do not have, x dim 0: 8 → 5`"""
    again = sum(compile_.is_recompile for compile_ in one.compiles)
    compiles = fmt.plural(len(one.compiles), "recompile" if again == len(one.compiles) else "compile")
    reason = next(filter(None, (reason_of(run, compile_.ref) for compile_ in one.compiles)), "")
    return f"{fmt.seconds(one.compile_s)} in {compiles} that no other rank has" + (f", {reason}" if reason else "")


def reason_of(run: Run, ref: str) -> str:
    """Word why a compile was compiled again: `x dim 0: 8 → 5`; '' where its log is not here, or does not tell."""
    from tltui.questions.recompiles.explanations import explained_of  # much to import where ranks compile the same
    from tltui.questions.recompiles.recompile_sections import differing, reason_text

    try:
        node = run.resolve(ref)
        shown = differing(explained_of(node, with_guards=False))[0] if isinstance(node, Compile) and node.is_recompile else []
    except (BadAddress, OSError):
        return ""
    return fmt.clip(sanitize(reason_text(shown[0]).replace("  ", ": ", 1)), REASON) if shown else ""


def _sentences(run: Run, pace: Pace) -> list[str]:
    worst = sorted(pace.late, key=lambda one: -one.late_s)[:1]
    sentences = [f"{subject(one.ranks)} began {name(one.compile)} {fmt.seconds(one.late_s)} after the others" for one in worst]
    for one in pace.slow[:1]:
        where = f" (in {sanitize(one.phase)})" if one.phase else ""
        times = f"took {fmt.seconds(one.duration_s)} for {name(one.compile)}{where}; the median is {fmt.seconds(one.median_s)}"
        sentences.append(f"{subject(one.ranks)} {times}")
    sentences += [f"{subject(one.ranks)} took {extra_words(run, one)}" for one in pace.extra[:1]]
    rest = len(pace.late) + len(pace.slow) + len(pace.extra) - len(sentences)
    return [*sentences, f"{fmt.count(rest)} more below"] if rest else sentences


def add_late(page: Page, pace: Pace) -> None:
    """Add the ranks that began a compile after the others."""
    if not pace.late:
        return
    page.heading(f"Late ({fmt.count(len(pace.late))})")
    for one in _folded(page, pace.late, "late ranks"):
        page.row([
            (subject(one.ranks), tokens.STRONG), " began ", (f"[{one.ref}]", tokens.LINK, one.ref), " ",
            *_function(page, one.compile), (f"  {fmt.seconds(one.late_s)}", tokens.WARN), " after ",
            to_page("the others", one.median_ref),
        ])  # fmt: skip
        page.row(_behind(page, one) + _waited(pace.wait_for(one.compile, one.ranks)), "    ")


def _behind(page: Page, one: Late) -> list[Piece]:
    if not one.late_compiles_after:
        return []
    text = f"{fmt.plural(one.late_compiles_after, 'later compile')} began equally late"
    return [(text if page.goes_on else f"{text}; the rank did not catch up", tokens.DIM), "  "]


def _waited(wait: Wait | None) -> list[Piece]:
    if wait is None:
        return [("the logs show no rank that waited", tokens.DIM)]
    where = " in the compile" if wait.is_in_collective else ""
    many = "rank" if wait.waiting_rank_count == 1 else "ranks"
    text = f"{fmt.count(wait.waiting_rank_count)} {many} waited{where}, {fmt.seconds(wait.median_wait_s)} each"
    return [f"{text}, {fmt.seconds(wait.total_wait_s)} in total" if wait.waiting_rank_count > 1 else text]


def add_extra(page: Page, run: Run, pace: Pace) -> None:
    """Add the ranks with compiles that the others do not have, and why they were made."""
    if not pace.extra:
        return
    page.heading(f"Extra compiles, absent on other ranks ({fmt.count(sum(len(one.compiles) for one in pace.extra))})")
    for one in _folded(page, pace.extra, "ranks with extra compiles"):
        page.row([
            (subject(one.ranks), tokens.STRONG), " took ", (fmt.seconds(one.compile_s), tokens.WARN), " for ",
            fmt.plural(len(one.compiles), "compile"), f"; the median of the ranks is {fmt.seconds(one.median_s)}",
        ])  # fmt: skip
        for compile_ in one.compiles[:SHOWN]:
            reason = reason_of(run, compile_.ref) if compile_.is_recompile else ""
            page.row([
                (f"[{compile_.ref}]", tokens.LINK, compile_.ref), " ", *_function(page, compile_.compile), "  ",
                (fmt.seconds(compile_.duration_s), tokens.NUMBER, timing(compile_.ref)), f"  {reason}" if reason else "",
            ], "    ")  # fmt: skip
        if one.compiles[SHOWN:]:
            page.add("    ", (f"and {fmt.plural(len(one.compiles) - SHOWN, 'more compile')}", tokens.DIM))


def add_slow(page: Page, pace: Pace) -> None:
    """Add the ranks on which a compile took much longer, and the phase in which it did."""
    if not pace.slow:
        return
    groups: dict[tuple[tuple[int, ...], str], list[Slow]] = {}
    for one in pace.slow:
        groups.setdefault((one.ranks, one.phase), []).append(one)
    page.heading(f"Slow ({fmt.count(len(pace.slow))})")
    for group in _folded(page, list(groups.values()), "slow ranks"):
        _slow(page, pace, group[0])
        if group[1:]:
            page.add("    ", (f"and in {fmt.plural(len(group) - 1, 'other compile')}: ", tokens.DIM))
            links: list[Piece] = []
            for one in group[1:FOLDED]:
                links += [(f"[{one.ref}]", tokens.LINK, one.ref), f" {fmt.seconds(one.duration_s)}  "]
            page.row(links, "      ")


def _slow(page: Page, pace: Pace, one: Slow) -> None:
    page.row([
        (subject(one.ranks), tokens.STRONG), " took ", (fmt.seconds(one.duration_s), tokens.WARN), " for ",
        (f"[{one.ref}]", tokens.LINK, one.ref), " ", *_function(page, one.compile), "  the median is ",
        (fmt.seconds(one.median_s), tokens.NUMBER), " ", (f"[{one.median_ref}]", tokens.LINK, one.median_ref), "  ",
        to_page("compare", diff_ref(one.median_ref, one.ref)),
    ])  # fmt: skip
    pieces: list[Piece] = []
    if one.phase:
        pieces += [
            (sanitize(one.phase), PHASE_STYLES[group_of(one.phase)]), " ",
            (fmt.seconds(one.phase_s), tokens.NUMBER, timing(one.ref)), ", elsewhere ",
            (fmt.seconds(one.phase_median_s), tokens.NUMBER, timing(one.median_ref)), "  ",
        ]  # fmt: skip
    else:
        pieces.append(("no single phase explains it  ", tokens.DIM))
    wait = pace.wait_for(one.compile, one.ranks)
    page.row(pieces + (_waited(wait) if wait is not None else []), "    ")


def timing(ref: str) -> str:
    """Return the address of the timing of a compile."""
    return str(parse_ref(ref).at("timing"))


def _function(page: Page, key: Key) -> list[Piece]:
    (_, file, line), _ = key
    return [(name(key), tokens.FUNCTION), *([" ", page.place(file, line)] if file is not None else [])]


def _folded(page: Page, items: Sequence[T], noun: str) -> Iterator[T]:
    """Yield items to be added to the page, all but the first in a fold."""
    for number, item in enumerate(items[: SHOWN + FOLDED]):
        if number == SHOWN:
            title = f"{fmt.count(len(items) - SHOWN)} more {noun}"
            page.open(title, folded=True)
            page.add("  ", (title, tokens.DIM))
        yield item
    if len(items) > SHOWN:
        page.close()


def add_waits(page: Page, waits: Sequence[Wait]) -> None:
    """Add the table of ranks that waited for others, and how long."""
    if not waits:
        return
    page.heading("Waits")
    page.table(WAITS, waits)


WAITS: Table[Wait] = Table((
    Column("total", lambda row: (fmt.seconds(row.total_wait_s), tokens.NUMBER), right=True),
    Column("ranks", lambda row: (fmt.count(row.waiting_rank_count), tokens.NUMBER), right=True, drop=2),
    Column("each", lambda row: (fmt.seconds(row.median_wait_s), tokens.NUMBER), right=True, drop=3),
    Column("waited for", lambda row: fmt.clip(subject(row.last_ranks), 24)),
    Column("at", lambda row: (name(row.compile), tokens.LINK, row.ref)),
    Column("why", lambda row: ("began late" if row.is_late else "finished last", tokens.DIM), drop=1),
), "waits", SHOWN, FOLDED)  # fmt: skip


def add_clocks(page: Page, clocks: Sequence[Clock]) -> None:
    """Add the clocks that are off."""
    if not clocks:
        return
    page.heading("Clocks")
    for clock in _folded(page, clocks, "clocks that are off"):
        page.say(clock_sentence(clock), "  ", hang="    ")
    page.say("Times on this page are corrected.", "  ", tokens.DIM)


def clock_sentence(clock: Clock) -> str:
    """`Rank 3's clock is 62 s ahead of the others', or it started that much later: 8 compiles agree (± 12 ms).`"""
    many = clock.count > 1
    whose = f"The clocks of ranks {_short(str(clock.ranks))}" if many else f"Rank {clock.ranks}'s clock"
    if clock.hosts:
        whose += f" ({fmt.clip(sanitize(', '.join(clock.hosts)), LIST_WIDTH)})"
    apart = abs(clock.ahead_s)
    long = f"{apart:.0f} s" if 9.5 <= apart < 99.5 else fmt.seconds(apart)
    sentence = f"{whose} {'are' if many else 'is'} {long} {'ahead of' if clock.ahead_s > 0 else 'behind'} the others'"
    if clock.drift_s:
        sentence += f", {fmt.seconds(abs(clock.drift_s))} {'more' if clock.drift_s * clock.ahead_s > 0 else 'less'} at the end"
    else:  # ranks that compile everything before their first collective keep the distance with which they started
        sentence += f", or {'they' if many else 'it'} started that much {'later' if clock.ahead_s > 0 else 'earlier'}"
    return f"{sentence}: {clock.compiles} compiles agree (± {fmt.seconds(clock.uncertainty_s)})."


def add_spreads(page: Page, spreads: Sequence[Spread], title: str, is_one_rank: bool = False) -> None:
    """Add the durations of compiles or their phases over the ranks. `is_one_rank`: the first column is about one rank."""
    if not spreads:
        return
    page.heading(title)
    page.table(spreads_table("phase" if spreads[0].phase else "compile", "took" if is_one_rank else "slowest"), spreads)


def spreads_table(noun: str, first: str) -> Table[Spread]:
    """Return the table of compiles or phases; `first` is the title of the column with the slowest rank."""

    def time(seconds: float, ref: str) -> Piece:
        return (fmt.seconds(seconds), tokens.NUMBER, timing(ref))

    def ratio(row: Spread) -> Piece:
        text = _times(row.slowest_s / row.median_s) if row.median_s > 0 else ""
        return text if row.median_ref == row.slowest_ref else (text, tokens.LINK, diff_ref(row.median_ref, row.slowest_ref))

    def factor(row: Spread) -> float:
        return -row.slowest_s / row.median_s if row.median_s > 0 else 0.0

    def label(row: Spread) -> Piece:
        return (sanitize(row.phase), PHASE_STYLES[group_of(row.phase)]) if row.phase else (name(row.compile), tokens.FUNCTION)

    return Table((
        Column(first, lambda row: time(row.slowest_s, row.slowest_ref), right=True, sort="slowest",
               key=lambda row: -row.slowest_s),
        Column("rank", lambda row: (str(row.slowest_rank), tokens.LINK, row.slowest_ref), right=True),
        Column("median", lambda row: time(row.median_s, row.median_ref), right=True, drop=4, sort="median",
               key=lambda row: -row.median_s),
        Column("rank", lambda row: (str(row.median_rank), tokens.LINK, row.median_ref), right=True, drop=3),
        Column("fastest", lambda row: time(row.fastest_s, row.fastest_ref), right=True, drop=2),
        Column("rank", lambda row: (str(row.fastest_rank), tokens.LINK, row.fastest_ref), right=True, drop=1),
        Column("of median", ratio, right=True, drop=6, sort="ratio", key=factor),
        Column("ranks", lambda row: (fmt.count(row.ranks), tokens.NUMBER), right=True, drop=5),
        Column(noun, label, sort="name", key=lambda row: row.phase or name(row.compile)),
    ), f"{noun}s", SHOWN, FOLDED, order="difference")  # fmt: skip


def _times(ratio: float) -> str:
    return f"{ratio:.1f}×" if ratio < 9.95 else f"{ratio:.0f}×" if ratio < 999.5 else ">999×"


def _add_distribution(page: Page, columns: Columns, spreads: Sequence[tuple[Spread, Spread]]) -> None:
    """Add a line for each of the widest spreads, with its median and slowest rank.

    `spreads`: as computed, and with the display name of its function.
    """
    chosen = [pair for pair in spreads if pair[0].ranks >= LEAST_RANKS][:SPREADS_SHOWN]
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


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page about the ranks that held others up: of the run, a rank, or a compile."""

    def fill(page: Page) -> Generator[None, None, Stragglers]:
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("stragglers"), f"stragglers{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, Stragglers]:
    page.add((f"Stragglers{scope.title}", tokens.TITLE))
    is_alike = not all(is_pipelined(process) for process in run.processes())  # stages are known by the inputs of their compiles
    lanes = with_hosts(run, (yield from read_lanes(run, bare_course if is_alike else course_of)))
    if len(lanes) < 2:
        page.say(page.so_far(why_not(run)))
        add_not_read(page, not_read(run))
        return Stragglers(str(scope.ref), "", RULE, len(lanes), (), (), (), (), (), ())
    phases = PhasesOf(run)
    pace = yield from read_pace(lanes, phases)
    raw, keys, rank = _about(pace, scope, lanes)
    pace = named_pace(run, raw)
    page.joined([fmt.plural(len(lanes), "rank"), fmt.plural(len(pace.spreads), "compile") + " finished by two or more ranks"])
    page.more("this page shows only the records written so far")
    sentence = answer(run, pace, None if keys else rank)
    page.say(page.so_far(sentence), "", tokens.STRONG)
    add_not_read(page, not_read(run))
    if not str(scope.ref):
        add_chart(page, chart_of(run, lanes, raw), pace)
    add_extra(page, run, pace)
    add_late(page, pace)
    add_slow(page, pace)
    add_waits(page, pace.waits)
    add_clocks(page, pace.clocks)
    yield
    inner: list[Spread] = []
    if len(keys) == 1:
        inner = yield from read_phase_spreads(Columns(lanes).column(next(iter(keys))), phases)
    spreads: Sequence[Spread] = raw.spreads
    if rank is not None and not keys:
        columns = Columns(lanes)
        rank_spreads = [one for spread in spreads if (one := spread_with(columns.column(spread.compile), spread, rank)) is not None]
        spreads = sorted(rank_spreads, key=lambda one: one.median_s - one.slowest_s)
    shown = named_spreads(run, spreads)
    if rank is None and not keys:
        _add_distribution(page, Columns(lanes), list(zip(spreads, shown, strict=True)))
    spreads = shown
    add_spreads(page, spreads, "By compile", rank is not None and not keys)
    add_spreads(page, inner, "By phase")
    page.heading("Criteria")
    for outlier, text in CRITERIA.items():
        page.labelled(outlier, f"{text}.", style=tokens.DIM)
    return Stragglers(
        str(scope.ref), sentence, RULE, pace.ranks, pace.clocks, pace.late, pace.slow, pace.waits, spreads, tuple(inner),
        tuple(_with_reasons(run, extra) for extra in pace.extra),
    )  # fmt: skip


def _about(pace: Pace, scope: Scope, lanes: Sequence[Lane]) -> tuple[Pace, set[Key], int | None]:
    """Return the part of the pace that is about the scope, with the compiles or the rank that the scope names."""
    if not str(scope.ref) or (len(scope.processes) != 1 and scope.processes[0].rank is None):
        return pace, set(), None
    process = scope.processes[-1]
    lane = next((lane for lane in lanes if lane.process == process.key), None)
    if lane is None:
        lane = next((lane for lane in lanes if lane.rank == process.rank), None)
    if scope.ref.id is not None and lane is not None:
        asked = {str(process.named_id(compile_.id)) for compile_ in scope.compiles}
        keys = {Key(step.code, step.number) for step in lane.course.steps if step.id in asked}
        return _only(pace, keys, None), keys, lane.rank
    rank = process.rank
    return (pace if rank is None else _only(pace, None, rank)), set(), rank


def _only(pace: Pace, keys: set[Key] | None, rank: int | None) -> Pace:
    """Return the pace of some compiles or of a rank, with all clocks, since times are put right by them."""

    def fits(key: Key, ranks: Sequence[int]) -> bool:
        return (keys is None or key in keys) and (rank is None or rank in ranks)

    return replace(
        pace, late=tuple(one for one in pace.late if fits(one.compile, one.ranks)),
        slow=tuple(one for one in pace.slow if fits(one.compile, one.ranks)),
        waits=tuple(one for one in pace.waits if fits(one.compile, one.last_ranks)),
        spreads=tuple(one for one in pace.spreads if keys is None or one.compile in keys),
        extra=tuple(one for one in pace.extra if any(fits(compile_.compile, one.ranks) for compile_ in one.compiles)),
    )  # fmt: skip


def _with_reasons(run: Run, extra: Extra) -> Extra:
    """Add why its recompiles were made."""
    return replace(extra, compiles=tuple(
        replace(compile_, reason=reason_of(run, compile_.ref)) if compile_.is_recompile else compile_ for compile_ in extra.compiles
    ))  # fmt: skip


@frozen
class StragglerRow:
    """Ranks that were late, slow, or waited, in one compile."""

    kind: str
    """`late`, `slow`, or `waited`."""
    function: str
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    compile_number: int
    """Which compile of the function, from 1."""
    ranks: Ranks
    """The ranks; of `waited` those that the others waited for."""
    duration_s: float
    """The delay of the start, the time of the compile, or the time of the wait, in seconds."""
    median_s: float | None
    """What it took on the others, of `slow`, in seconds."""
    phase: str
    """The phase in which they were slow; empty for none."""
    ref: str
    """The address of the compile on the first of them."""


def straggler_rows(data: Stragglers) -> Iterator[StragglerRow]:
    """Yield a row for each late, slow or waiting group of ranks."""
    for late in data.late:
        yield StragglerRow("late", *late.compile.called, late.ranks, late.late_s, None, "", late.ref)
    for slow in data.slow:
        yield StragglerRow("slow", *slow.compile.called, slow.ranks, slow.duration_s, slow.median_s, slow.phase, slow.ref)
    for wait in data.waits:
        yield StragglerRow("waited", *wait.compile.called, wait.last_ranks, wait.median_wait_s, None, "", wait.ref)


QUESTION = Question(
    name="stragglers",
    help="which ranks were late or slow, which ranks waited for them, and whose clock is off",
    group="ranks and hangs",
    order=120,
    sorts=("difference", "slowest", "median", "ratio", "name"),
    needs=Needs("has no times"),
    document=document,
    answer=Stragglers,
    rows=StragglerRow,
    records=straggler_rows,
    doc="""
    Which ranks were late or slow, and which ranks waited for them. One row per finding.
    """,
)
