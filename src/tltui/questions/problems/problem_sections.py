"""Sections of the page `problems`."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.rank_groups import OnRanks, alike_on_ranks, said_ranks
from tltui.model.ref import parse_ref, ranges
from tltui.model.status import SOFT, Eager, Status, error_name
from tltui.questions.index import BY_NAME
from tltui.questions.overview.summary_sections import code_piece, place_piece
from tltui.questions.problems.compile_problems import GraphBreak, from_restart
from tltui.questions.problems.problem_list import (
    BreakGroup,
    EagerGroup,
    FailedGroup,
    LimitGroup,
    Occurrence,
    Registered,
    RestartGroup,
    SkippedGroup,
    adds,
)  # fmt: skip
from tltui.questions.problems.reason_sections import (
    GIVEN_UP,
    LIMIT_EAGER,
    LIMIT_RAISES,
    NO_BREAKS,
    NO_RECOMPILES,
    UNSURE,
    add_advice,
    add_break_place,
    add_consequence,
    add_failure,
    add_stack,
    add_traceback,
)
from tltui.questions.stacks.tracebacks import USER, StackFrame, TracebackPart, user_frames
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.sanitize import sanitize

INDENT = "    "
OCCURRENCES_SHOWN = 6
OWN_FRAMES = 4


def add_occurrences(
    page: Page, occurrences: Sequence[Occurrence], indent: str = INDENT, named: bool = True, label: str = ""
) -> None:
    """`while compiling  ranks 0–3  [0/0] f  [7:0/0] g`, the first few; the rest is folded."""
    groups = alike_on_ranks(occurrences, lambda item: item.ref, page.newest, lambda item: item.function)
    pieces: list[Piece] = [(f"{label}  ", tokens.LABEL)] if label else []
    ranks = {item.rank for item in occurrences}
    if len(ranks) > 1:
        pieces.append(f"{ranks_text(ranks)}  ")
    page.row(pieces + _occurrences(page, groups[:OCCURRENCES_SHOWN], named, len(ranks)), indent)
    if len(groups) > OCCURRENCES_SHOWN:
        text = f"{fmt.count(sum(map(len, groups[OCCURRENCES_SHOWN:])))} more"
        page.open(text, folded=True)
        page.add(indent, (text, tokens.DIM))
        page.row(_occurrences(page, groups[OCCURRENCES_SHOWN:], named, len(ranks)), indent + "  ")
        page.close()


def _occurrences(page: Page, groups: Sequence[Sequence[Occurrence]], named: bool, ranks: int) -> list[Piece]:
    """Format an occurrence: `[0/0] f`; with its ranks if they are not all ranks of the line."""
    pieces: list[Piece] = []
    for group in groups:
        item = group[0]
        refs = OnRanks(tuple(one.ref for one in group), said_ranks([one.ref for one in group], page.newest))
        name = f" {fmt.clip_middle(sanitize(item.function), 30)}" if named and item.function else ""
        pieces += ["  "] * bool(pieces) + [(f"[{refs.label}]{name}", tokens.LINK, item.ref)]
        if refs.ranks and len(group) < ranks:
            pieces.append((f" {refs.ranks}", tokens.DIM))
    return pieces


def ranks_text(ranks: set[int | None]) -> str:
    """`ranks 0–3, 7`, with `no rank` for processes without one."""
    numbers = [rank for rank in ranks if rank is not None]
    text = f"{'rank' if len(numbers) == 1 else 'ranks'} {ranges(numbers)}" if numbers else ""
    return " and ".join(part for part in (text, "no rank" if None in ranks else "") if part)


def times(count: int) -> str:
    """`once`, `2 times`"""
    return "once" if count == 1 else f"{fmt.count(count)} times"


def add_failed(page: Page, group: FailedGroup) -> None:
    """Add one error: the compile, then type, reason and the user's line."""
    page.open(group.failure.type)
    head: list[Piece] = [page.status(Status.ERROR), " "]
    first = group.occurrences[0]
    head += [(f"[{first.ref}]", tokens.LINK, first.ref), "  "]
    if group.code.shown:
        head += [(fmt.clip_middle(sanitize(group.code.shown), 40), tokens.FUNCTION), "  ", place_piece(group.code)]
    if len(group.occurrences) > 1:
        head.append((f"  {fmt.plural(len(group.occurrences), 'compile')}", tokens.STRONG))
    page.row(head)
    _add_reached(page, group)
    add_failure(page, group.failure, INDENT)
    add_installed(page, group.installed, group.explained)
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, named=False)
    shown = (group.failure.file, group.failure.line)
    _add_callers(page, group.failure.stack, shown)
    add_traceback(page, group.failure.traceback, TRACEBACK, INDENT)
    page.close()


TRACEBACK = " of the traceback"


def _add_reached(page: Page, group: FailedGroup) -> None:
    """Add the cause that made a graph break an error, or that it is uncertain whether it was one."""
    if group.no_breaks:
        page.say(NO_BREAKS, INDENT, tokens.WARN)
    elif group.failure.type == "RecompileError":
        page.say(NO_RECOMPILES, INDENT, tokens.WARN)
    elif group.reached is None and error_name(group.failure.type) in SOFT:
        page.say(UNSURE, INDENT, tokens.WARN)


def add_eager(page: Page, group: EagerGroup) -> None:
    """One function that runs in eager mode, and why."""
    first = group.occurrences[0]
    head: list[Piece] = [page.status(Status.EAGER), " ", (f"[{first.ref}]", tokens.LINK, first.ref), "  "]
    if group.code.shown:
        head += [(fmt.clip_middle(sanitize(group.code.shown), 40), tokens.FUNCTION), "  ", place_piece(group.code)]
    if len(group.occurrences) > 1:
        head.append((f"  {fmt.plural(len(group.occurrences), 'compile')}", tokens.STRONG))
    page.row(head)
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, named=False)
    page.say(GIVEN_UP[group.eager], INDENT, tokens.WARN)
    if group.eager is Eager.SUPPRESSED and group.failure is not None:
        add_failure(page, group.failure, INDENT)
        _add_callers(page, group.failure.stack, (group.file, group.line))
        add_traceback(page, group.failure.traceback, TRACEBACK, INDENT)
        return
    page.say(group.headline or page.so_far("torch logged no reason"), INDENT + "  ")
    where: list[Piece] = [page.place(group.file, group.line)] if group.file is not None else []
    if group.record is not None:
        where += ["  "] * bool(where) + [("record", tokens.LINK, group.record)]
    if where:
        page.row(where, INDENT + "  ")


def _add_callers(page: Page, stack_frames: Sequence[StackFrame], shown: tuple[str | None, int | None]) -> None:
    """Add the user's frames, nearest first, without the location `shown`."""
    further = list(dict.fromkeys(frame for frame in stack_frames if (frame.file, frame.line) != shown))
    if further:
        page.add(INDENT, ("called from, nearest first", tokens.LABEL))
        add_stack(page, further[:OWN_FRAMES], INDENT + "  ")


def add_installed(page: Page, entry: Registered | None, graph_break: GraphBreak | None) -> None:
    """Add the registry text of the installed torch that the trace lacks, marked as such."""
    if entry is None or graph_break is None:
        return
    explanation, hints = adds(entry, graph_break.explanation, graph_break.hints)
    if not explanation and not hints:
        return
    version = f" {entry.torch}" if entry.torch else ""
    page.say(f"not in the trace, from the list of graph breaks of the torch{version} installed here:", INDENT, tokens.DIM)
    if explanation:
        page.labelled("why", explanation, INDENT, 5, tokens.DIM)
    for number, hint in enumerate(hints, 1):
        page.labelled("try" if number == 1 else "", fmt.one_line(hint), INDENT, 5, tokens.DIM)


def add_limit(page: Page, group: LimitGroup, ran: str = "") -> None:
    """Add one function at the recompile limit. `ran`: its run time from a profile."""
    first = group.occurrences[0]
    page.open(group.code.shown or group.frame)
    status = Status.EAGER if group.eager else Status.ERROR
    head: list[Piece] = [page.status(status), " ", (f"[{first.ref}]", tokens.LINK, first.ref), "  "]
    head += [code_piece(group.code, group.frame), "  ", place_piece(group.code)]
    if len(group.occurrences) > 1:
        head.append((f"  {times(len(group.occurrences))}", tokens.STRONG))
    page.row(head)
    limit = f"the limit of {group.limit} compiles was" if group.limit is not None else "the recompile limit was"
    page.say(f"{limit} reached. {LIMIT_EAGER if group.eager else LIMIT_RAISES}", INDENT, tokens.WARN)
    if ran:
        page.say(ran, INDENT, tokens.STRONG)
    if group.failure.type:
        page.say(f"{group.failure.type}: {group.failure.reason.partition(chr(10))[0]}", INDENT, tokens.DIM)
    add_advice(page, from_restart(group.failure.reason), INDENT)
    reason = fmt.one_line(group.last_reason) or "torch logged no reason"
    page.labelled("last", sanitize(reason), INDENT, 6)
    if "recompiles" in BY_NAME:
        target = str(parse_ref(group.frame).at("recompiles"))
        page.add(INDENT, ("all its recompiles", tokens.LINK, target))
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, named=False)
    page.close()


def add_break_group(page: Page, group: BreakGroup, costs: str = "") -> None:
    """Add one graph break: kind, reason, count, user line, torch's explanation and hints, stacks.

    `costs`: its run time cost, from a profile.
    """
    found = group.found
    page.open(f"{found.gb or ''} {found.headline}".strip())
    _break_head(page, group)
    if costs:
        page.say(costs, INDENT, tokens.STRONG)
    add_consequence(page, found, INDENT)
    if found.file is not None:
        add_break_place(page, found, INDENT)
    elif found.ref is not None:
        page.add(INDENT, ("the record does not say where", tokens.DIM))
    add_occurrences(page, group.occurrences, label="while compiling")
    if found.op:
        page.labelled("op", found.op, INDENT, 5)
    add_advice(page, found, INDENT)
    add_installed(page, group.installed, found)
    if found.context:
        page.labelled("context", found.context, INDENT, 9, tokens.DIM)
    _add_variants(page, group.variants)
    _add_callers(page, user_frames(found.stack), (group.user_file, group.user_line))
    add_traceback(page, (TracebackPart(USER, frames=found.stack), *found.raised), "", INDENT)
    page.close()


def _break_head(page: Page, group: BreakGroup) -> None:
    found = group.found
    head: list[Piece] = [page.status(Status.BREAK), " "]
    if found.gb:
        head += [(found.gb, tokens.BREAK), "  "]
    used = 2 + sum(len(piece_text(piece)) for piece in head)
    record = group.occurrences[0].record
    count = times(len(group.occurrences)) if len(group.occurrences) > 1 else ""
    tail: list[Piece] = ["  ", (count, tokens.STRONG)] if count else []
    if record is not None:
        tail += ["  ", ("record" if found.ref else "metrics", tokens.LINK, record)]
    lines = fmt.wrap(found.headline, page.width - used - len(count) - 11)
    for n, line in enumerate(lines):
        page.add("  ", *(head if n == 0 else [" " * (used - 2)]), (line, tokens.STRONG), *(tail if n == 0 else []))


def _add_variants(page: Page, variants: Sequence[GraphBreak]) -> None:
    """Add the other wordings of torch within a group."""
    if not variants:
        return
    text = f"{fmt.plural(len(variants), 'other wording')} at this line"
    page.open(text, folded=True)
    page.add(INDENT, (text, tokens.DIM))
    for variant in variants:
        page.add(
            INDENT + "  ", (variant.ref or "", tokens.LINK, variant.ref or ""), "  ", fmt.clip(variant.headline, page.width // 2)
        )
        add_advice(page, variant, INDENT + "  ")
        if variant.context:
            page.labelled("context", variant.context, INDENT + "  ", 9, tokens.DIM)
    page.close()


def add_restart(page: Page, group: RestartGroup) -> None:
    """Add a restart reason."""
    lines = [line for part in error_name(group.reason).split("\n") for line in fmt.wrap(part, page.width - 16)] or ["no reason"]
    page.open(lines[0])
    for n, line in enumerate(lines):
        count: list[Piece] = [("  " + times(len(group.occurrences)), tokens.STRONG)] if n == 0 < len(group.occurrences) - 1 else []
        page.add("  " if n == 0 else INDENT, line, *count)
    add_occurrences(page, group.occurrences)
    page.close()


def add_skipped(page: Page, group: SkippedGroup) -> None:
    """Add a function without operations."""
    first = group.occurrences[0]
    head: list[Piece] = [page.status(Status.EMPTY), " ", (f"[{first.ref}]", tokens.LINK, first.ref), "  "]
    head += [code_piece(group.code, first.ref), "  ", place_piece(group.code), f"  {fmt.seconds(group.seconds)}"]
    if len(group.occurrences) > 1:
        head.append(f"  {fmt.plural(len(group.occurrences), 'compile')}")
    page.row(head)
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, named=False)
