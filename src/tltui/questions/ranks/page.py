"""The page `ranks`, and its sections for the summary and the page `problems`."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import Scope
from tltui.model.input_coverage import GRAPH_LOGS, Needs
from tltui.model.ref import Ranks, diff_ref, is_several, with_noun
from tltui.model.run import Run
from tltui.questions.coverage.input_sections import add_missing, add_not_read, why_not
from tltui.questions.coverage.job_inputs import Missing, NotRead, missing_ranks, not_read
from tltui.questions.question import Question
from tltui.questions.ranks.compile_facets import PhasesOf
from tltui.questions.ranks.differences import (
    Differing,
    Divergence,
    Expected,
    Function,
    Restarted,
    Side,
    pair_of,
    read_between,
    read_expected,
)
from tltui.questions.ranks.function_names import named_pace
from tltui.questions.ranks.lanes import read_lanes, with_hosts
from tltui.questions.ranks.matching import BREAKS, CACHE, EXECUTED, WIDE, WORDS
from tltui.questions.ranks.pace import Clock, Offset
from tltui.questions.ranks.pace_analysis import read_pace
from tltui.questions.ranks.stragglers_page import add_clocks, add_extra, add_late, add_slow
from tltui.questions.ranks.stragglers_page import answer as pace_answer
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

SHOWN = 8
"""Differences on the summary."""
FUNCTIONS_LISTED = 3
"""Functions with one difference that are named."""
LIST_WIDTH = 30
"""Width of a majority's rank list; a longer one is replaced by its count."""
EXPECTED = (
    "Torch's own estimates of kernel times, listed where ranks are more than 10% apart. They are not measured and do not count "
    "as a difference."
)


def add_ranks(page: Page, run: Run, differing: Differing | None) -> None:
    """Add the summary section: two lines per difference, or one line without differences."""
    if differing is None:
        return
    if not differing.count:
        if differing.functions:
            page.heading("Ranks")
            page.say(page.so_far(alike(differing, bool(page.untold))), "  ", tokens.DIM)
            add_received(page, differing)
            add_behind(page, differing)
        return
    page.heading(f"Ranks that differ ({fmt.plural(differing.count, 'difference')})")
    for divergence in differing.divergences[:SHOWN]:
        add_divergence(page, run, divergence)
    left = differing.count - sum(weight(divergence) for divergence in differing.divergences[:SHOWN])
    if left:
        page.row([(f"and {fmt.plural(left, 'more difference')}: ", tokens.DIM), ("[ranks]", tokens.LINK, "@ranks")])
    if differing.equal_functions:
        verb = "is" if differing.equal_functions == 1 else "are"
        page.say(
            f"{fmt.count(differing.equal_functions)} of {fmt.plural(differing.functions, 'function')} {verb} the same on "
            f"{'both' if differing.ranks == 2 else f'all {fmt.count(differing.ranks)}'} ranks.", "  ", tokens.DIM,
        )  # fmt: skip
    add_behind(page, differing)


STAGES_LISTED = 16
"""Maximum number of listed stages; of more only the count is shown."""


def add_stages(page: Page, differing: Differing) -> None:
    """Add the ranks that do the same work, where work differs by design: `ranks 1, 2  [1:0/0] embed  model.py:12`."""
    if not differing.stages:
        return
    is_pipeline = differing.stages[0].is_pipeline
    page.heading("Pipeline" if is_pipeline else "Different work")
    alike = "they compile for torch.distributed.pipelining. Stages with the same compiles share one line"
    why = alike if is_pipeline else "no two groups compile the same function"
    page.say(f"Ranks are compared only within a {'stage' if is_pipeline else 'group'}, because {why}.", "  ", tokens.DIM)
    for stage in differing.stages[:STAGES_LISTED]:
        pieces: list[Piece] = [(with_noun(stage.ranks), tokens.STRONG), "  ", (f"[{stage.ref}]", tokens.LINK, stage.ref), " "]
        pieces.append((fmt.clip_middle(sanitize(stage.function), 40), tokens.FUNCTION))
        if stage.file is not None:
            pieces += ["  ", page.place(stage.file, stage.line)]
        page.row(pieces)
    if differing.stages[STAGES_LISTED:]:
        page.add("  ", (f"and {fmt.count(len(differing.stages) - STAGES_LISTED)} more", tokens.DIM))


def stages_words(differing: Differing) -> str:
    """Describe stages: `pipeline stages, grouped by their compiles: rank 0; ranks 1, 2`. A log has no stage numbers."""
    title = "pipeline stages, grouped by their compiles" if differing.stages[0].is_pipeline else "different work by design"
    shown = [with_noun(stage.ranks) for stage in differing.stages[:STAGES_LISTED]]
    more = f" and {fmt.count(len(differing.stages) - STAGES_LISTED)} more" if differing.stages[STAGES_LISTED:] else ""
    return f"{title}: {'; '.join(shown)}{more}"


def add_received(page: Page, differing: Differing) -> None:
    """Add the ranks that run code compiled by another rank."""
    if differing.ranks_with_received_code:
        page.say(
            f"{with_noun(differing.ranks_with_received_code).capitalize()} compiled less: with compile_on_one_rank, "
            "all ranks run the code that one rank compiled. Nothing is missing.", "  ", tokens.DIM,
        )  # fmt: skip


def weight(divergence: Divergence) -> int:
    """Return the number of distinct differences in a group."""
    return 1 if divergence.compile_count else 1 + len(divergence.other_functions)


def alike(differing: Differing, is_partly_logged: bool) -> str:
    """Describe ranks without differences. `is_partly_logged`: breaks and graphs may be unlogged on some ranks."""
    if differing.stages:
        words = stages_words(differing)
        return (
            f"{words[:1].upper()}{words[1:]}. Ranks within a {'stage' if differing.stages[0].is_pipeline else 'group'} do not "
            "differ."
        )
    if any(one.is_concurrent for one in differing.restarted):
        newest = f"the newest processes of the {fmt.count(differing.ranks)} ranks"
        return f"No differences between {newest}. Other processes ran at the same time: see ranks."
    if differing.ranks_with_received_code:
        return f"No differences in functions compiled by several of the {fmt.count(differing.ranks)} ranks."
    if differing.ranks_behind or differing.is_cut or is_partly_logged:
        return f"No differences in functions compiled by all of the {fmt.count(differing.ranks)} ranks."
    functions = "the same function" if differing.functions == 1 else f"the same {fmt.count(differing.functions)} functions"
    who = "Both ranks" if differing.ranks == 2 else f"All {fmt.count(differing.ranks)} ranks"
    return f"{who} compiled {functions} equally often and in the same order, with the same graphs and breaks."


def add_behind(page: Page, differing: Differing) -> None:
    """Add ranks whose log has not reached this compile."""
    if differing.ranks_behind:
        page.say(
            f"{with_noun(differing.ranks_behind).capitalize()} compiled less than others and may still catch up.", "  ", tokens.DIM
        )


def add_divergence(page: Page, run: Run, divergence: Divergence, timed: bool = False) -> None:
    """Add a difference and its sides: `[2/0] block2  blocks.py:140  graphs differ  also: code`.

    `timed`: with the time of day.
    """
    pieces: list[Piece] = []
    if divergence.compile_count:
        pieces += [
            (WORDS[divergence.properties[0]].difference, tokens.WARN),
            f" in {fmt.plural(divergence.compile_count, 'compile')}",
        ]
    else:
        pieces += [
            *([(f"{fmt.clock(divergence.start_at_us)} ", tokens.DIM)] if timed and divergence.start_at_us is not None else []),
            *_title_pieces(page, divergence),
        ]
    also = [WORDS[facet].noun for facet in divergence.properties[1:] if WORDS[facet].noun]
    if also:
        pieces.append((f"  also different: {', '.join(also)}", tokens.DIM))
    page.row(pieces)
    _add_sides(page, run, divergence)


def _title_pieces(page: Page, divergence: Divergence) -> list[Piece]:
    pieces: list[Piece] = [(f"[{divergence.id}] ", tokens.DIM)] if divergence.id else []
    pieces += [(_name(divergence.function), tokens.FUNCTION), "  "]
    if divergence.function.file is not None:
        pieces += [page.place(divergence.function.file, divergence.function.line), "  "]
    if divergence.compile_number > 1:
        pieces.append(f"its {fmt.ordinal(divergence.compile_number)} compile  ")
    if divergence.other_functions:
        names = ", ".join(_name(function) for function in divergence.other_functions[: FUNCTIONS_LISTED - 1])
        rest = len(divergence.other_functions) - (FUNCTIONS_LISTED - 1)
        pieces.append(f"and {names}" + (f" and {rest} more" if rest > 0 else "") + "  ")
    broken = only_break(divergence)
    difference = (
        WORDS[divergence.properties[0]].difference if broken is None else f"graph break on {subject(broken, divergence)} only"
    )
    return [*pieces, (difference, tokens.WARN)]


def _add_sides(page: Page, run: Run, divergence: Divergence) -> None:
    """Add the sides of a difference in one line if there is room, else in a line each."""
    rows = [_side(page, side, divergence) for side in divergence.groups]
    if divergence.ranks_in_no_group:
        rows.append([(f"{fmt.plural(divergence.ranks_in_no_group, 'more rank')} with other values", tokens.DIM)])
    if target := compared(run, divergence):
        rows[-1] += ["  ", to_page("compare", target)]
    if sum(len(piece_text(piece)) for row in rows for piece in row) + 5 * (len(rows) - 1) + 4 <= page.width:
        separator: list[Piece] = [("  |  ", tokens.DIM)]
        rows = [[piece for n, row in enumerate(rows) for piece in (*(separator if n else ()), *row)]]
        page.row(rows[0], "    ")
        return
    for row in rows:
        _add_side(page, row)


def _add_side(page: Page, row: list[Piece]) -> None:
    """Add the ranks of a side, and their value below if it does not fit on the line."""
    if sum(len(piece_text(piece)) for piece in row) + 4 <= page.width:
        page.add("    ", *row)
        return
    place = next((n for n, piece in enumerate(row) if isinstance(piece, str) and piece.startswith(": ")), len(row))
    page.row(row[:place], "    ")
    if row[place:]:
        *lines, last = fmt.wrap(piece_text(row[place])[2:], page.width - 6)
        for line in lines:
            page.add("      ", line)
        page.row([last, *row[place + 1 :]], "      ")


def _side(page: Page, side: Side, divergence: Divergence) -> list[Piece]:
    pieces: list[Piece] = [
        (subject(side, divergence), tokens.STRONG if divergence.has_majority and side is not divergence.groups[0] else "")
    ]
    if side.ref:
        pieces += [" ", (f"[{side.ref}]", tokens.LINK, side.ref)]
    if side.description:
        pieces.append(f": {fmt.clip(sanitize(fmt.one_line(side.description)), max(2 * page.width - 40, 20))}")
    return pieces


def subject(side: Side, divergence: Divergence) -> str:
    """`rank 7`, `ranks 0–6, 8–511`; of a majority with many gaps `the other 500 ranks`."""
    if divergence.has_majority and side is divergence.groups[0] and len(str(side.ranks)) > LIST_WIDTH:
        return f"the other {fmt.count(side.count)} ranks"
    return with_noun(side.ranks)


def compared(run: Run, divergence: Divergence) -> str:
    """Return the comparison of a rank of the first side with one of the second; '' if either lacks the compile."""
    a, b = pair_of(run, divergence)
    return diff_ref(a, b) if a and b else ""


def add_restarted(page: Page, restart: Restarted) -> None:
    """Add `rank 3: started again: an earlier process (pid 77) ended in block1 [1/0]`, over several lines where it is long."""
    if restart.is_concurrent:
        these = "this rank" if restart.count == 1 else "each of these ranks"
        text = f"two processes ran at once as {these}: two jobs wrote into one directory, or a log has a wrong rank"
    else:
        where = f" ended in {sanitize(restart.ended_in)}" if restart.ended_in else " ended"
        text = f"started again: an earlier process (pid {restart.pid}){where}"
    who = f"{with_noun(restart.ranks)}:"
    page.row([(who, tokens.STRONG), *(f" {word}" for word in text.split()), "  ", (f"[{restart.ref}]", tokens.LINK, restart.ref)])


def add_expected(page: Page, expected: Sequence[Expected]) -> None:
    """`block1  blocks.py:120  8.27 ms on rank 3, 6.92 ms on ranks 0–2 compare`"""
    if not expected:
        return
    page.heading(f"Estimated run times ({fmt.count(len(expected))})")
    page.say(EXPECTED, "  ", tokens.DIM)
    for one in expected[:SHOWN]:
        pieces: list[Piece] = [(fmt.clip_middle(sanitize(one.function), 40), tokens.FUNCTION), "  "]
        if one.file is not None:
            pieces += [page.place(one.file, one.line), "  "]
        if one.compile_number > 1:
            pieces.append(f"its {fmt.ordinal(one.compile_number)} compile  ")
        page.row(pieces)
        sides = ((one.slowest_ranks, one.slowest_us, one.slowest_ref), (one.fastest_ranks, one.fastest_us, one.fastest_ref))
        cells = [[*_expected(*side), "  |  "] for side in sides]
        compare: Piece = to_page("compare", diff_ref(one.fastest_ref, one.slowest_ref))
        page.row([*cells[0], *cells[1][:-1], "  ", compare], "    ")
    if expected[SHOWN:]:
        page.add("  ", (f"and {fmt.plural(len(expected) - SHOWN, 'more compile')}", tokens.DIM))


def _expected(ranks: Ranks, took_us: float, ref: str) -> list[Piece]:
    noun = "ranks" if is_several(ranks) else "rank"
    return [f"{noun} {fmt.clip_middle(str(ranks), LIST_WIDTH)} ", (f"[{ref}]", tokens.LINK, ref), f": {took_us / 1e3:,.3g} ms"]


def _name(function: Function) -> str:
    return fmt.clip_middle(sanitize(function.name), 40)


def leading_sentence(run: Run, differing: Differing) -> tuple[str, str] | None:
    """Return the link and a sentence for the leading difference; None if none leads."""
    first = differing.leading
    if first is None:
        return None
    usual, other = first.groups[0], first.groups[1]
    more = f"; {fmt.plural(differing.count - 1, 'more difference')}" if differing.count > 1 else ""
    ref = compared(run, first) or other.ref or usual.ref
    if (broken := only_break(first)) is not None:
        return (
            ref,
            f"a graph break on {subject(broken, first)} only, in {first.function.name}: {fmt.one_line(broken.description)}{more}",
        )
    where = "" if first.compile_count else f" at {first.function.name}"
    who = "ranks of one stage diverge" if differing.stages else "ranks diverge"
    verb = "differ" if other.count > 1 else "differs"
    text = f"{who}{where}: {WORDS[first.properties[0]].difference} ({subject(other, first)} {verb} from "
    text += f"the other {fmt.count(usual.count)})" if first.has_majority and len(first.groups) == 2 else f"{subject(usual, first)})"
    return ref, text + more


def only_break(divergence: Divergence) -> Side | None:
    """Find the side whose ranks have a graph break that the others do not have: a `print` on rank 0, for instance."""
    if divergence.properties[0] != BREAKS or len(divergence.groups) != 2 or divergence.ranks_in_no_group:
        return None
    without = [side for side in divergence.groups if side.description == WORDS[BREAKS].absent]
    return next(side for side in divergence.groups if side is not without[0]) if len(without) == 1 else None


def answer(differing: Differing) -> str:
    """Return the opening sentence of the page."""
    if differing.stages:
        words = stages_words(differing)
        within = f" within {'stages' if differing.stages[0].is_pipeline else 'groups'}"
        differ = f"{fmt.plural(differing.count, 'difference')}{within}" if differing.count else f"No difference{within}"
        return f"{words[:1].upper()}{words[1:]}. {differ}."
    compiles = fmt.plural(differing.compiles_per_rank, "compile")
    everybody = "both ranks" if differing.ranks == 2 else f"all {fmt.count(differing.ranks)} ranks"
    if not differing.count:
        if differing.ranks_behind:
            return f"No differences yet in functions compiled by {everybody}."
        if differing.is_cut:
            return f"No differences in functions compiled by {everybody}."
        if differing.ranks_with_received_code:
            return f"No differences in functions compiled by several of {fmt.count(differing.ranks)} ranks."
        return f"{everybody[:1].upper()}{everybody[1:]} agree ({compiles} each)."
    differ = fmt.plural(differing.count, "difference")
    if differing.agreeing_count:
        agree = f"{fmt.count(differing.agreeing_count)} of {fmt.count(differing.ranks)} ranks agree ({compiles} each)"
        unlike = with_noun(differing.differing_ranks)
        return f"{differ}. {agree}; {unlike} {'differ' if is_several(differing.differing_ranks) else 'differs'}."
    return f"{differ} between {fmt.count(differing.ranks)} ranks."


OPEN = 24
"""Differences that are shown; the others are folded."""


@frozen
class RanksReport:
    """Differences between ranks."""

    answer: str
    """In a sentence."""
    differences: Differing | None
    """None where there are no two ranks that can be compared."""
    pace: str = ""
    """Who was late or slow, in a sentence; '' where nobody was. The page `stragglers` has all of it."""
    clocks: tuple[Clock, ...] = ()
    """Those that are off."""
    expected: tuple[Expected, ...] = ()
    """Where torch expects kernels to take longer on some ranks; counted nowhere."""
    missing_ranks: Missing | None = None
    """Ranks of which nothing is here; None where none is known to be missing."""
    not_read: tuple[NotRead, ...] = ()
    """Files that could not be read."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `ranks` for the run, in any scope: a single rank has nothing to compare with."""

    def fill(page: Page) -> Generator[None, None, RanksReport]:
        page.add(("Ranks", tokens.TITLE))
        lanes = yield from read_lanes(run)
        differing = yield from read_between(run, lanes)
        missing, unread = missing_ranks(run), not_read(run)
        if differing is None:
            page.say(page.so_far(why_not(run)))
            _incomplete(page, missing, unread)
            return RanksReport("", None, missing_ranks=missing, not_read=unread)
        pace = named_pace(run, (yield from read_pace(with_hosts(run, lanes), PhasesOf(run))))
        sentence = answer(differing)
        page.say(sentence, "", tokens.STRONG)
        _incomplete(page, missing, unread)
        page.more("ranks that have made less progress may still compile more")
        add_received(page, differing)
        add_behind(page, differing)
        add_stages(page, differing)
        differing = replace(differing, divergences=_in_time([_timed(one, pace.offsets) for one in differing.divergences]))
        _divergences(page, run, "Whole ranks", [d for d in differing.divergences if d.properties[0] in WIDE])
        _divergences(page, run, "Compiles, earliest first", [d for d in differing.divergences if d.properties[0] not in WIDE])
        if differing.restarted:
            page.heading("Processes")
            for one in differing.restarted:
                add_restarted(page, one)
        add_clocks(page, pace.clocks)
        add_extra(page, run, pace)
        add_late(page, pace)
        add_slow(page, pace)
        expected = yield from read_expected(run, lanes)
        add_expected(page, expected)
        if pace.clocks or not pace.is_even:
            page.blank()
            page.row([to_page("stragglers", "@stragglers"), ": compile times by rank, and ranks that waited"], "")
        paced = pace_answer(run, pace) if not pace.is_even else ""
        return RanksReport(sentence, differing, paced, pace.clocks, expected, missing, unread)

    return GrowingDocument(scope.page("ranks"), f"ranks{scope.title}", options, fill, Page)


def _incomplete(page: Page, missing: Missing | None, unread: Sequence[NotRead]) -> None:
    add_missing(page, missing)
    add_not_read(page, unread)


def _timed(divergence: Divergence, offsets: Mapping[int, Offset]) -> Divergence:
    """Return a difference with its time of day by the clock of most ranks."""
    rank = next((side.ref for side in divergence.groups if side.ref), "").partition(":")[0].partition(".")[0]
    if divergence.start_at_us is None or not rank.isdecimal() or (offset := offsets.get(int(rank))) is None:
        return divergence
    return replace(divergence, start_at_us=divergence.start_at_us - offset.at(divergence.start_at_us))


def _in_time(divergences: list[Divergence]) -> tuple[Divergence, ...]:
    """Sort differences by their displayed times.

    Cache answers and execution order come last, facets of whole ranks first.
    """
    return tuple(sorted(divergences, key=lambda one: (
        one.properties[0] in (CACHE, EXECUTED), one.properties[0] not in WIDE,
        math.inf if one.start_at_us is None else one.start_at_us,
    )))  # fmt: skip


def _divergences(page: Page, run: Run, title: str, divergences: list[Divergence]) -> None:
    if not divergences:
        return
    page.heading(title)
    for divergence in divergences[:OPEN]:
        add_divergence(page, run, divergence, timed=True)
    if divergences[OPEN:]:
        more = fmt.plural(len(divergences) - OPEN, "more difference")
        page.open(more, folded=True)
        page.add("  ", (more, tokens.DIM))
        for divergence in divergences[OPEN:]:
            add_divergence(page, run, divergence, timed=True)
        page.close()


@frozen
class DifferenceRow:
    """One side of something in which ranks differ."""

    id: str
    """What the compile is called: sides of one difference have the same."""
    function: str
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    compile_number: int
    """Which compile of the function, from 1."""
    properties: tuple[str, ...]
    """The facets in which they differ."""
    ranks: Ranks
    """The ranks on this side."""
    count: int
    """How many they are."""
    description: str
    """The state of these ranks."""
    ref: str
    """The address on the first of them."""


def difference_rows(data: RanksReport) -> Iterator[DifferenceRow]:
    """Yield one row per side, the first difference first."""
    for divergence in data.differences.divergences if data.differences is not None else ():
        for side in divergence.groups:
            function = divergence.function
            yield DifferenceRow(divergence.id, function.name, function.file, function.line, divergence.compile_number,
                                divergence.properties, side.ranks,
                                side.count, side.description, side.ref)  # fmt: skip


QUESTION = Question(
    name="ranks",
    help="how the ranks of a job differ: in which property, on which ranks, and since when",
    key="9",
    group="ranks and hangs",
    order=100,
    needs=Needs(
        "does not record inputs, settings and caches, in which ranks may differ",
        ("graph_breaks", "guards", *GRAPH_LOGS, "output_code"),
    ),
    document=document,
    answer=RanksReport,
    rows=DifferenceRow,
    records=difference_rows,
    doc="""
    How the ranks of a job differ: in which property, on which ranks, and since when. One row per difference and rank group.
    """,
)
