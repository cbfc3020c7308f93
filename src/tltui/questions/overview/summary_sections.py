"""Sections that the overviews of a run, a rank and a process share."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.model.expected_artifacts import FRESH
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, TABLE, Eager, Status, Tally
from tltui.questions.overview.run_summary import BreakPlace, Code, ErrorLine, Summary
from tltui.questions.problems.compile_problems import headline_of
from tltui.questions.problems.reason_sections import (
    NEVER_LOGGED,
    NO_BREAKS,
    add_gb_page,
    gb_piece,
    inside,
    limit_text,
    ranks_text,
    refused_words,
)
from tltui.questions.timing.timing_events import OTHER, Open, group_of
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import owner_of

ERRORS_SHOWN = 8
LEAST_SHOWN_S = 0.0005
"""Seconds from which on a minimum duration is shown; below that the log ends right after the begin."""
ERRORS_FOLDED = 200
BREAKS_SHOWN = 10


def add_span(page: Page, summary: Summary) -> None:
    """Add the time from the first compile to the end of the last."""
    if summary.start_at_us is not None and summary.end_at_us is not None:
        span = fmt.seconds(max(summary.end_at_us - summary.start_at_us, 0.0) / 1e6)
        text = f"{span} from the first compile to the last, starting {fmt.when(summary.start_at_us)}"
        page.say(text, "", tokens.DIM)


def add_without_graph(page: Page, ranks: Sequence[int | None], of: int) -> None:
    """Add that no operation runs in compiled code, of the ranks for which this is so."""
    if ranks:
        where = f" on {ranks_text(set(ranks))}" if len(ranks) < of else ""
        text = f"No compile{where} passed a graph with operations to a backend, so no operation runs in compiled code."
        page.say(page.so_far(text), "", tokens.ERROR)


def add_counts(page: Page, tally: Tally, unfinished: int) -> None:
    """Add `✗ 1 failed · ⚑ 5 with breaks · …`: each compile once, then their overlapping counts.

    `unfinished`: compiles without an end, those with another status included.
    """
    words: list[Piece] = []
    for status, row in TABLE.items():
        if count := tally.counted(status):
            mark = "" if status is Status.SEEN else f"{page.status(status)[0]} "  # its dot is also the separator
            cut = unfinished - tally.unfinished if status is Status.BREAK else 0
            rest = f" ({fmt.count(cut)} unfinished)" if cut > 0 else ""
            words.append((f"{mark}{fmt.count(count)} {row.words}{rest}", row.colour))
    page.joined(words)
    overlapping: list[Piece] = []
    if tally.recompiles:
        mark = ASCII_RECOMPILE if page.ascii else RECOMPILE_GLYPH
        text = f"{fmt.plural(tally.recompiles, 'recompile')}{refused_words(tally.refused)}"
        overlapping.append((f"{mark} {text}", tokens.RECOMPILE))
    if tally.breaks:
        overlapping.append(breaks_counted(tally))
    if tally.restarts:
        overlapping.append(fmt.plural(tally.restarts, "restart"))
    if overlapping:
        page.joined(overlapping)


def breaks_counted(tally: Tally) -> str:
    """Format `7 graph breaks, 4 with a fallback to eager`."""
    breaks = fmt.plural(tally.breaks, "graph break")
    if not tally.skipped_frames:
        return breaks
    return f"{breaks}, {'' if tally.breaks == 1 else f'{fmt.count(tally.skipped_frames)} '}with a fallback to eager"


def add_outcomes(page: Page, summary: Summary, finished: bool, costs_shown: int) -> None:
    """Add errors, eager functions, unfinished compiles, graph breaks, recompiles and the most expensive functions."""
    _error_lines(page, f"Errors ({fmt.count(summary.tally.errors)})", summary.errors)
    _error_lines(page, f"Fell back to eager mode ({fmt.count(summary.tally.eager)})", summary.eager)
    if finished:  # while the log is being read compiles without an end may only be running
        _add_unfinished(page, summary)
    _add_breaks(page, summary)
    _add_recompiled(page, summary)
    _add_costs(page, summary, costs_shown)


def _error_lines(page: Page, title: str, lines: tuple[ErrorLine, ...]) -> None:
    if not lines:
        return
    page.heading(title)
    for error in lines[:ERRORS_SHOWN]:
        _error(page, error, "  ")
    remaining = lines[ERRORS_SHOWN : ERRORS_SHOWN + ERRORS_FOLDED]
    if remaining:
        with page.fold(f"{fmt.count(len(lines) - ERRORS_SHOWN)} more"):
            for error in remaining:
                _error(page, error, "    ")


KINDS: dict[Eager | None, str] = {
    Eager.SKIPPED: "graph break", Eager.SUPPRESSED: "suppress_errors", Eager.UNTRACED: "not traced",
}  # fmt: skip
"""The reasons for which a function falls back to eager mode."""


def _error(page: Page, error: ErrorLine, indent: str) -> None:
    kind = "recompile limit" if error.recompile_limit_hit else KINDS.get(error.eager_reason, error.type)
    pieces: list[Piece] = [(f"[{error.ref}]", tokens.LINK, error.ref), " "]
    pieces.append((fmt.clip(sanitize(kind), 40), tokens.EAGER if error.eager_reason else tokens.ERROR))
    if error.function:
        pieces += ["  ", (fmt.clip_middle(sanitize(error.function), 40), tokens.FUNCTION)]
    if error.functions > 1:
        pieces.append(f" and {fmt.plural(error.functions - 1, 'other function')}")
    if error.file is not None:
        pieces += ["  ", page.place(error.file, error.line)]
    if error.count > 1:
        on = f" on {fmt.plural(error.ranks, 'rank')}" if error.ranks > 1 else ""
        pieces.append((f"  {fmt.plural(error.count, 'compile')}{on}", tokens.DIM))
    page.row(pieces, indent)
    if error.break_not_allowed:
        page.say(NO_BREAKS, indent + "  ", tokens.WARN)
    reason = sanitize(fmt.one_line(headline_of(error.reason)))
    if reason and not error.recompile_limit_hit:
        page.add(indent, "  ", (fmt.sentences(reason, page.width - len(indent) - 2), tokens.DIM))


def _add_unfinished(page: Page, summary: Summary) -> None:
    """Add compiles without an end."""
    if not summary.unfinished:
        return
    page.heading(f"Unfinished ({fmt.count(summary.unfinished_count)})")
    for item in summary.unfinished:
        name = fmt.clip_middle(sanitize(item.code.shown or "?"), 40)
        pieces: list[Piece] = [(f"[{item.ref}]", tokens.LINK, item.ref), "  ", (name, tokens.FUNCTION)]
        if item.open_phase is not None:
            pieces.append(f"  {'its backward ' if item.is_backward else ''}{open_phase(item.open_phase)}")
        page.row(pieces)


def open_phase(item: Open | None) -> str:
    """Format `in bytecode_tracing (dynamo), for at least 3.2 s`.

    Without the time if the log ends right after the begin.
    """
    if item is None:
        return ""
    phase = group_of(item.name)
    # backend_compile is any backend, with AOTAutograd or without: only an open event inside of it shows which
    message = "" if phase in (item.name, OTHER) or item.name == "backend_compile" else f" ({phase})"
    where = "in " + fmt.clip_middle(sanitize(item.name), 40) + message
    return f"{where}, {least}" if (least := at_least(item.duration_s)) else where


def at_least(seconds: float | None) -> str:
    """Format `for at least 3.2 s`; '' if the time is unknown."""
    return f"for at least {fmt.seconds(seconds)}" if seconds is not None and seconds >= LEAST_SHOWN_S else ""


def _add_breaks(page: Page, summary: Summary) -> None:
    """Add graph breaks grouped by kind and line."""
    if not summary.breaks:
        return
    total = summary.tally.breaks
    places = len(summary.breaks)
    partial = total > summary.breaks_read
    title = f"Graph breaks ({fmt.count(total)}"
    title += ")" if places == total and not partial else f" at {fmt.plural(places, 'place')})" if not partial else ")"
    page.heading(title)
    if partial:
        page.say(f"grouped from the first {summary.breaks_read} of {fmt.count(total)}", "  ", tokens.DIM)
    documented: set[str] = set()
    for place in summary.breaks[:BREAKS_SHOWN]:
        _break_place(page, place, documented)
    if places > BREAKS_SHOWN:
        with page.fold(f"{places - BREAKS_SHOWN} more places"):
            for place in summary.breaks[BREAKS_SHOWN:]:
                _break_place(page, place, documented)


def _break_place(page: Page, place: BreakPlace, documented: set[str]) -> None:
    """Add a place with its breaks. `documented`: numbers of graph breaks whose address the page has already."""
    times = f"{place.count}{'×'}"
    on = f" on {fmt.plural(place.ranks, 'rank')}" if place.ranks > 1 else ""
    head: list[Piece] = [(times.rjust(4), tokens.STRONG), " ", gb_piece(place.gb or ""), " " * (7 - len(place.gb or ""))]
    used = 2 + sum(len(piece_text(p)) for p in head)
    page.add("  ", *head, fmt.clip(sanitize(place.headline), page.width - used))
    where: list[Piece] = []
    if place.user_file is not None:
        where += ["from ", page.place(place.user_file, place.user_line), "  "]
    if place.file is not None:
        where += [f"{'broke ' if where else ''}{inside(owner_of(place.file))} ", page.place(place.file, place.line)]
    where += ["  " if where else "", (f"[{place.first_ref}]", tokens.LINK, place.first_ref), (on, tokens.DIM)]
    page.row(where, " " * 7)
    if place.gb and place.gb not in documented:
        documented.add(place.gb)
        add_gb_page(page, place.gb, " " * 7)


def _add_recompiled(page: Page, summary: Summary) -> None:
    """Add the most recompiled frame with its last recompile reason."""
    worst = summary.most_recompiled
    if worst is None:
        return
    page.heading(f"Recompiles ({fmt.count(summary.tally.recompiles)})")
    name = fmt.clip_middle(sanitize(worst.code.shown or worst.frame), 40)
    pieces: list[Piece] = ["most often: ", (name, tokens.LINK, worst.frame)]
    if worst.code.file is not None:
        pieces += ["  ", page.place(worst.code.file, worst.code.line)]
    pieces.append(f"  {fmt.plural(worst.recompiles, 'recompile')}{fmt.took(worst.recompile_s, ', ')}")
    page.row(pieces)
    if worst.limit_hit:
        page.say(f"The recompile limit was reached. {limit_text(worst.is_eager, worst.callees_eager)}", "  ", tokens.WARN)
    unlogged = NEVER_LOGGED if worst.torch_logs_no_reason else page.so_far("torch logged no reason")
    reason = sanitize(fmt.one_line(worst.reason)) if worst.reason else unlogged
    last = f"[{worst.newest_ref}]"
    room = max(page.width - len(last) - 16, 10)
    if len(reason) > room:
        from tltui.questions.recompiles.failed_guard_text import short_change  # most reasons fit

        reason = sanitize(short_change(reason)) or reason
    page.add("  last reason: ", (last, tokens.LINK, worst.newest_ref), " ", fmt.clip(reason, room))


def _add_costs(page: Page, summary: Summary, shown: int) -> None:
    """Add functions by total compile time."""
    costs = summary.costs[:shown]
    if not costs:
        return
    page.heading("Most expensive functions")
    page.table(Table((
        Column("", lambda cost: (fmt.seconds(cost.compile_s), tokens.NUMBER), right=True),
        Column("", lambda cost: (fmt.percent(cost.compile_s, summary.tally.compile_s), tokens.DIM), right=True),
        Column("", lambda cost: code_piece(cost.code, cost.frame)),
        Column("", lambda cost: place_piece(cost.code)),
        Column("", lambda cost: (fmt.plural(cost.compiles, "compile") + _on_ranks(cost.ranks), tokens.DIM)),
    )), costs)  # fmt: skip


def _on_ranks(ranks: int) -> str:
    return f" on {ranks} ranks" if ranks > 1 else ""


def code_piece(code: Code, ref: str) -> Piece:
    """Return the name of a function as a link."""
    return (fmt.clip_middle(sanitize(code.shown or f"frame {ref}"), 40), tokens.LINK, ref)


def place_piece(code: Code) -> Piece:
    """Return the place of a function's definition as a link."""
    shown = fmt.place(code.file, code.line) if code.file else ""
    return (shown, tokens.LINK, fmt.place_target(code.file, code.line))


def _add_cached(page: Page, summary: Summary) -> None:
    """Add a note: compiles from a cache have fewer graphs, and how to disable caches."""
    if not summary.from_cache:
        return
    of = f"{fmt.count(summary.from_cache)} of {fmt.plural(summary.tally.compiles, 'compile')} came from the cache"
    part = f" ({fmt.count(summary.partly_from_cache)} in part)" if summary.partly_from_cache else ""
    fix = f"To log all graphs, record with tltui run --fresh, or set {FRESH}."
    page.say(f"{of}{part}. Torch does not log every graph on a cache hit. {fix}", "  ")


def add_caches(page: Page, summary: Summary) -> None:
    """Add hits and misses."""
    if not summary.caches and not summary.cudagraph_skips:
        return
    if summary.caches:
        page.heading("Caches")
        for title, hits, misses, bypassed in summary.caches:
            words: list[Piece] = [(fmt.plural(hits, "hit"), tokens.OK if hits else tokens.DIM)]
            words.append((fmt.plural(misses, "miss", "misses"), tokens.WARN if misses else tokens.DIM))
            if bypassed:
                words.append((f"{fmt.count(bypassed)} bypassed", tokens.WARN))
            line: list[Piece] = []
            for n, word in enumerate(words):
                line += [", " if n else "", word]
            page.add("  ", title.ljust(19), *line)
        _add_cached(page, summary)
    if summary.cudagraph_skips:
        page.heading("CUDA graphs")
        for reason, count in summary.cudagraph_skips:
            page.say(f"{count}× {fmt.one_line(reason)}", "  ")
