"""The page `problems`, with artifacts that the log's version of torch does not write.

Failures with the same type, message and raising line have one cause, in any number of functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Generic, TypeVar

from tltui.documents import format as fmt
from tltui.documents.format import joined
from tltui.documents.page import Page, to_page
from tltui.documents.rank_groups import OnRanks, alike_on_ranks, said_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.kinds import kind_of
from tltui.model.nodes import Frame
from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.model.status import DEFAULT_LIMIT, SOFT, Eager, Status, Tally, error_name
from tltui.model.torch_version import version_of
from tltui.questions.index import BY_NAME
from tltui.questions.job_failures.failure_sections import add_job_failures, add_warnings
from tltui.questions.job_failures.job_failures import RunFailure, failures_outside_trace, output_warnings
from tltui.questions.overview.run_summary import doing, is_unfinished
from tltui.questions.overview.summary_sections import breaks_counted, code_piece, open_phase, place_piece
from tltui.questions.problems.compile_problems import Failure, GraphBreak, from_restart, headline_of, message_of
from tltui.questions.problems.problem_list import (
    BreakGroup,
    CudagraphGroup,
    EagerGroup,
    FailedGroup,
    LimitGroup,
    Occurrence,
    Problems,
    Registered,
    RestartGroup,
    SkippedGroup,
    adds,
    break_groups,
    breaks_logged,
    cudagraph_groups,
    eager_groups,
    failed_groups,
    limit_groups,
    skipped_groups,
    unfinished_of,
)  # fmt: skip
from tltui.questions.problems.reason_sections import (
    FALLBACK_CAUSES,
    NO_BREAKS,
    NO_RECOMPILES,
    UNSURE,
    add_advice,
    add_break_place,
    add_consequence,
    add_failure,
    add_gb_page,
    add_line,
    add_stack,
    add_traceback,
    gb_piece,
    limit_text,
    ranks_text,
)
from tltui.questions.question import Question
from tltui.questions.ranks.differences import Differing, read_differences
from tltui.questions.ranks.page import add_divergence, leading_sentence
from tltui.questions.runtime.cost_sections import add_ran, break_costs, break_sentence, fallbacks_sentence
from tltui.questions.runtime.profile_results import compile_at
from tltui.questions.stacks.tracebacks import USER, StackFrame, TracebackPart, display_name, user_frames
from tltui.questions.timing.timing_events import Open
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece, piece_text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

CauseGroup = TypeVar("CauseGroup", FailedGroup, EagerGroup)
INDENT = "    "
OCCURRENCES_SHOWN = 6
USER_FRAMES = 4
TRACEBACK = "traceback"
SHOWN = 8
PHASES_SHOWN = 8
"""Maximum number of unfinished compiles shown with their current phase."""
Group = TypeVar("Group", FailedGroup, EagerGroup, LimitGroup, BreakGroup, RestartGroup, SkippedGroup)


@dataclass(frozen=True)
class Cause(Generic[CauseGroup]):
    """Failures with one cause."""

    group: CauseGroup
    """The first group with the occurrences of all, without the code of one function."""
    functions: int
    """The number of code objects."""


def causes_of(groups: Sequence[CauseGroup]) -> list[Cause[CauseGroup]]:
    """Join groups of failures with one cause, in the order of their first occurrence."""
    by_cause: dict[tuple[Any, ...], list[CauseGroup]] = defaultdict(list)
    for group in groups:
        by_cause[_cause_key(group)].append(group)
    return [_cause(members) for members in by_cause.values()]


def _cause_key(group: FailedGroup | EagerGroup) -> tuple[Any, ...]:
    failure = group.failure
    if failure is None or failure.raised_in is None:
        return (id(group),)
    place = (failure.raised_in.file, failure.raised_in.line)
    if failure.type in SOFT and failure.file is not None and not failure.is_raise_location:  # a graph break: your line is the cause
        place = (failure.file, failure.line)
    outcome = group.eager_reason if isinstance(group, EagerGroup) else (group.break_not_allowed, group.reached_caller)
    return (failure.is_backward, failure.type, message_of(failure.reason), place, outcome)


def _cause(members: list[CauseGroup]) -> Cause[CauseGroup]:
    first = members[0]
    occurrences = tuple(chain.from_iterable(member.occurrences for member in members))
    failure, functions = first.failure, len({member.code for member in members})
    if failure is not None and functions > 1:
        failure = replace(failure, reason=message_of(failure.reason))
    if failure is not None and len({_line_of(member.failure) for member in members}) > 1:
        failure = replace(failure, file=None, line=None, code=None, stack=(), innermost_frame=None)
    return Cause(replace(first, occurrences=occurrences, failure=failure), functions)


def _line_of(failure: Failure | None) -> tuple[str | None, int | None]:
    return (failure.file, failure.line) if failure is not None else (None, None)


def add_occurrences(
    page: Page, occurrences: Sequence[Occurrence], indent: str = INDENT, with_names: bool = True, label: str = ""
) -> None:
    """Add compiles, `while compiling  ranks 0–3  [0/0] f  [7:0/0] g`: the first few; the rest is folded."""
    by_ref: dict[str, Occurrence] = {}
    for item in occurrences:  # a further attempt of a compile may meet a break again
        by_ref.setdefault(item.ref, item)
    groups = alike_on_ranks(by_ref.values(), lambda item: item.ref, page.newest, lambda item: item.function)
    pieces: list[Piece] = [(f"{label}  ", tokens.LABEL)] if label else []
    ranks = {item.rank for item in occurrences}
    if len(ranks) > 1:
        pieces.append(f"{ranks_text(ranks)}  ")
    page.row(pieces + _occurrences(page, groups[:OCCURRENCES_SHOWN], with_names, len(ranks)), indent)
    if len(groups) > OCCURRENCES_SHOWN:
        with page.fold(f"{fmt.count(sum(map(len, groups[OCCURRENCES_SHOWN:])))} more", indent):
            page.row(_occurrences(page, groups[OCCURRENCES_SHOWN:], with_names, len(ranks)), indent + "  ")


def _occurrences(page: Page, groups: Sequence[Sequence[Occurrence]], with_names: bool, ranks: int) -> list[Piece]:
    """Format an occurrence: `[0/0] f`; with its ranks if they are not all ranks of the line."""
    pieces: list[Piece] = []
    for group in groups:
        item = group[0]
        refs = OnRanks(tuple(one.ref for one in group), said_ranks([one.ref for one in group], page.newest))
        name = f" {fmt.clip_middle(sanitize(item.function), 30)}" if with_names and item.function else ""
        pieces += ["  "] * bool(pieces) + [(f"[{refs.label}]{name}", tokens.LINK, item.ref)]
        if refs.ranks and len(group) < ranks:
            pieces.append((f" {refs.ranks}", tokens.DIM))
    return pieces


def times(count: int) -> str:
    """Return `once`, `2 times`."""
    return "once" if count == 1 else f"{fmt.count(count)} times"


def _compile_head(page: Page, status: Status, first: Occurrence) -> list[Piece]:
    return [page.status(status), " ", (f"[{first.ref}]", tokens.LINK, first.ref), "  "]


def _function_head(page: Page, status: Status, group: FailedGroup | EagerGroup, functions: int) -> list[Piece]:
    head = _compile_head(page, status, group.occurrences[0])
    if group.code.shown:
        head += [(fmt.clip_middle(sanitize(group.code.shown), 40), tokens.FUNCTION), "  ", place_piece(group.code)]
    if functions > 1:
        head.append((f"  and {fmt.plural(functions - 1, 'other function')} with the same cause", tokens.STRONG))
    if len(group.occurrences) > functions:
        head.append((f"  {fmt.plural(len(group.occurrences), 'compile')}", tokens.STRONG))
    return head


def add_failed(page: Page, group: FailedGroup, functions: int = 1) -> None:
    """Add one error: the compile, then type, reason and the user's line. `functions`: the number of functions that fail of it."""
    page.open(group.failure.type)
    page.row(_function_head(page, Status.ERROR, group, functions))
    _add_reached(page, group)
    add_failure(page, group.failure, INDENT)
    add_installed(page, group.registry_entry, group.graph_break)
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, with_names=functions > 1)
    shown = (group.failure.file, group.failure.line)
    _add_callers(page, group.failure.stack, shown)
    add_traceback(page, group.failure.traceback, TRACEBACK, INDENT)
    page.close()


def _add_reached(page: Page, group: FailedGroup) -> None:
    """Add the cause that made a graph break an error, or that it is uncertain whether it was one."""
    if group.break_not_allowed:
        page.say(NO_BREAKS, INDENT, tokens.WARN)
    elif group.failure.type == "RecompileError":
        page.say(NO_RECOMPILES, INDENT, tokens.WARN)
    elif group.reached_caller is None and error_name(group.failure.type) in SOFT:
        page.say(UNSURE, INDENT, tokens.WARN)


def add_eager(page: Page, group: EagerGroup, functions: int = 1) -> None:
    """Add a function that runs in eager mode, and why. `functions`: the number of functions that do for this reason."""
    page.row(_function_head(page, Status.EAGER, group, functions))
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, with_names=functions > 1)
    page.say(FALLBACK_CAUSES[group.eager_reason], INDENT, tokens.WARN)
    if group.eager_reason is not Eager.SKIPPED and group.failure is not None:
        add_failure(page, group.failure, INDENT)
        _add_callers(page, group.failure.stack, (group.file, group.line))
        add_traceback(page, group.failure.traceback, TRACEBACK, INDENT)
        return
    page.say(group.headline or page.so_far("torch logged no reason"), INDENT + "  ")
    where: list[Piece] = [page.place(group.file, group.line)] if group.file is not None else []
    if group.record is not None:
        where += ["  "] * bool(where) + [to_page("record", group.record)]
    if where:
        page.row(where, INDENT + "  ")


def _add_callers(page: Page, stack_frames: Sequence[StackFrame], shown: tuple[str | None, int | None]) -> None:
    """Add the user's frames, nearest first, without the location `shown`."""
    further = list(dict.fromkeys(frame for frame in stack_frames if (frame.file, frame.line) != shown))
    if further:
        page.add(INDENT, ("called from, nearest first", tokens.LABEL))
        add_stack(page, further[:USER_FRAMES], INDENT + "  ")


def add_installed(page: Page, entry: Registered | None, graph_break: GraphBreak | None) -> None:
    """Add the registry text of the installed torch that the trace lacks, marked as such."""
    if entry is None or graph_break is None:
        return
    explanation, hints = adds(entry, graph_break.explanation, graph_break.hints)
    if not explanation and not hints:
        return
    version = f" {entry.torch_version}" if entry.torch_version else ""
    page.say(f"not in the trace, from the list of graph breaks of the torch{version} installed here:", INDENT, tokens.DIM)
    if explanation:
        page.labelled("why", explanation, INDENT, 5, tokens.DIM)
    for number, hint in enumerate(hints, 1):
        page.labelled("try" if number == 1 else "", fmt.one_line(hint), INDENT, 5, tokens.DIM)


def add_limit(page: Page, group: LimitGroup, ran: str = "") -> None:
    """Add one function at the recompile limit. `ran`: its run time from a profile."""
    page.open(group.code.shown or group.frame)
    head = _compile_head(page, Status.EAGER if group.is_eager else Status.ERROR, group.occurrences[0])
    head += [code_piece(group.code, group.frame), "  ", place_piece(group.code)]
    if len(group.occurrences) > 1:
        head.append((f"  {times(len(group.occurrences))}", tokens.STRONG))
    page.row(head)
    limit = f"The recompile limit of {group.limit} was" if group.limit is not None else "The recompile limit was"
    page.say(f"{limit} reached. {limit_text(group.is_eager, group.callees_eager)}", INDENT, tokens.WARN)
    if ran:
        page.say(ran, INDENT, tokens.STRONG)
    if group.failure.type:
        page.say(f"{group.failure.type}: {headline_of(group.failure.reason)}", INDENT, tokens.DIM)
    add_advice(page, from_restart(group.failure.reason), INDENT)
    reason = fmt.one_line(group.last_reason) or "torch logged no reason"
    page.labelled("last", sanitize(reason), INDENT, 6)
    if "recompiles" in BY_NAME:
        target = str(parse_ref(group.frame).at("recompiles"))
        page.add(INDENT, to_page("all its recompiles", target))
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, with_names=False)
    page.close()


def add_break_group(page: Page, group: BreakGroup, costs: str = "") -> None:
    """Add one graph break: kind, reason, count, user line, torch's explanation and hints, stacks.

    `costs`: its run time cost, from a profile.
    """
    graph_break = group.graph_break
    page.open(f"{graph_break.gb or ''} {graph_break.headline}".strip())
    _break_head(page, group)
    if costs:
        page.say(costs, INDENT, tokens.STRONG)
    add_consequence(page, graph_break, INDENT)
    if graph_break.file is not None:
        add_break_place(page, graph_break, INDENT)
    elif graph_break.ref is not None:
        page.add(INDENT, ("unknown place (not in the record)", tokens.DIM))
    add_occurrences(page, group.occurrences, label="while compiling")
    if graph_break.bytecode:
        page.labelled("op", graph_break.bytecode, INDENT, 5)
    add_advice(page, graph_break, INDENT)
    add_gb_page(page, graph_break.gb, INDENT)
    add_installed(page, group.registry_entry, graph_break)
    if graph_break.context:
        page.labelled("context", graph_break.context, INDENT, 9, tokens.DIM)
    _add_variants(page, group.variants)
    _add_callers(page, user_frames(graph_break.stack), (group.user_file, group.user_line))
    add_traceback(page, (TracebackPart(USER, frames=graph_break.stack), *graph_break.exceptions), "stack", INDENT)
    page.close()


def _break_head(page: Page, group: BreakGroup) -> None:
    graph_break = group.graph_break
    head: list[Piece] = [page.status(Status.BREAK), " "]
    if graph_break.gb:
        head += [gb_piece(graph_break.gb), "  "]
    used = 2 + sum(len(piece_text(piece)) for piece in head)
    record = group.occurrences[0].record
    count = times(len(group.occurrences)) if len(group.occurrences) > 1 else ""
    compiles = {item.ref for item in group.occurrences}
    if len(compiles) < len(group.occurrences):
        count += f" in {fmt.plural(len(compiles), 'compile')}"
    tail: list[Piece] = ["  ", (count, tokens.STRONG)] if count else []
    if record is not None:
        tail += ["  ", to_page("record" if graph_break.ref else "metrics", record)]
    lines = fmt.wrap(graph_break.headline, page.width - used - len(count) - 13)
    for n, line in enumerate(lines):
        page.add("  ", *(head if n == 0 else [" " * (used - 2)]), (line, tokens.STRONG), *(tail if n == 0 else []))


def _add_variants(page: Page, variants: Sequence[GraphBreak]) -> None:
    """Add the other wordings of torch within a group."""
    if not variants:
        return
    with page.fold(f"{fmt.plural(len(variants), 'other wording')} at this line", INDENT):
        for variant in variants:
            ref = variant.ref or ""
            page.add(INDENT + "  ", (ref, tokens.LINK, ref), "  ", fmt.clip(variant.headline, page.width // 2))
            add_advice(page, variant, INDENT + "  ")
            if variant.context:
                page.labelled("context", variant.context, INDENT + "  ", 9, tokens.DIM)


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
    head = _compile_head(page, Status.EMPTY, first)
    head += [code_piece(group.code, first.ref), "  ", place_piece(group.code), fmt.took(group.compile_s, "  ")]
    if len(group.occurrences) > 1:
        head.append(f"  {fmt.plural(len(group.occurrences), 'compile')}")
    page.row(head)
    if len(group.occurrences) > 1:
        add_occurrences(page, group.occurrences, with_names=False)


def unlogged_limits(scope: Scope) -> tuple[Frame, ...]:
    """Return frames that may have hit the recompile limit, of a torch before 2.5, which does not log that."""
    span = kind_of("artifact", "recompile_reasons").span
    wanted = {id(compile_.frame) for compile_ in scope.compiles}
    return tuple(
        frame
        for process in scope.processes
        for frame in process.frames.values()
        if len(frame.compiles) >= DEFAULT_LIMIT and id(frame) in wanted and version_of(process).has(span) is False
    )


def add_unlogged_limits(page: Page, frames: Sequence[Frame]) -> None:
    """Add these frames: `torch 2.4 writes nothing …: f`."""
    if not frames:
        return
    version = version_of(frames[0].process).words
    page.say(
        f"{version} does not log hits of the recompile limit ({DEFAULT_LIMIT} by default). These functions were compiled "
        f"{DEFAULT_LIMIT} times or more; calls that matched no compiled version may have run in eager mode.",
        "", tokens.WARN,
    )  # fmt: skip
    pieces: list[Piece] = []
    for frame in frames[:SHOWN]:
        pieces += [(sanitize(display_name(frame) or str(frame.ref)), tokens.LINK, str(frame.ref)), "  "]
    page.row([*pieces, f"and {len(frames) - SHOWN} more" if len(frames) > SHOWN else ""])


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `problems` for the scope."""

    def fill(page: Page) -> Generator[None, None, Problems]:
        return (yield from _fill(page, run, scope))

    return GrowingDocument(scope.page("problems"), f"problems{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope) -> Generator[None, None, Problems]:
    compiles = scope.compiles
    unfinished, skipped, cudagraphs = unfinished_of(compiles), skipped_groups(compiles), cudagraph_groups(compiles)
    running = unfinished_of(compiles, waiting=True)
    printed = [item for item in failures_outside_trace(run) if _is_of(item, scope)]
    differing = None if str(scope.ref) else (yield from read_differences(run))
    page.add((f"Problems{scope.title}", tokens.TITLE))
    warnings = tuple(item for item in output_warnings(run) if not str(scope.ref) or _is_in(item.compile, scope))
    _head(page, run, scope, len(running), len(unfinished), len(skipped), bool(printed or warnings))
    add_unlogged_limits(page, unlogged_limits(scope))
    yield
    yield from add_job_failures(page, run, printed)
    errors, backward = yield from failed_groups(compiles)
    yield from _add_failed(page, "Errors", errors)
    yield from _add_failed(page, "Backward failures", backward)
    eager = yield from eager_groups(compiles)
    _add_eager(page, eager)
    limits = yield from limit_groups(compiles)
    _add_limits(page, run, limits)
    phases = {str(c.ref): doing(c) for c in [c for c in compiles if is_unfinished(c)][:PHASES_SHOWN]}
    why = "The log does not have the end: torch is still compiling, the process was killed, or the log was cut off."
    _add_unfinished(page, unfinished, phases, "Unfinished", why)
    _add_unfinished(page, running, phases, "Running", f"No end yet: {page.goes_on}.")
    yield
    diverging = _add_differing(page, run, differing)
    breaks, restarts = yield from break_groups(compiles)
    logged = breaks_logged(compiles)
    yield from _add_breaks(page, run, breaks, logged)
    _add_restarts(page, restarts)
    yield
    _add_skipped(page, skipped)
    _add_cudagraphs(page, cudagraphs)
    add_warnings(page, run, warnings)
    add_ran(page, run, {str(compile_.ref) for compile_ in compiles})
    return Problems(
        errors, backward, limits, unfinished, breaks, restarts, skipped, cudagraphs, logged, running, eager, tuple(printed),
        diverging, warnings,
    )


def _is_of(item: RunFailure, scope: Scope) -> bool:
    """Return whether a failure in the job output belongs to a part of the run."""
    if not str(scope.ref):
        return True
    if scope.ref.id is not None:
        return _is_in(item.compile, scope)
    return any((item.rank is not None and item.rank == process.rank) or item.pid == process.pid for process in scope.processes)


def _is_in(ref: str, scope: Scope) -> bool:
    return any(str(compile_.ref) == ref for compile_ in scope.compiles)


def _head(page: Page, run: Run, scope: Scope, running: int, unfinished: int, skipped: int, has_output: bool) -> None:
    """Add the problem counts of the index, or that there are none. `has_output`: the output has failures or warnings."""
    tally = sum((c.tally for c in scope.compiles), Tally())
    limits = sum(c.facts.recompile_limit_hit for c in scope.compiles)
    words: list[Piece] = []
    if tally.errors:
        words.append((f"{page.status(Status.ERROR)[0]} {fmt.plural(tally.errors, 'compile')} failed", tokens.ERROR))
    if tally.eager:
        words.append((f"{page.status(Status.EAGER)[0]} {fmt.count(tally.eager)} fell back to eager", tokens.EAGER))
    if limits:
        words.append(f"recompile limit reached {times(limits)}")
    if unfinished:
        words.append((f"{page.status(Status.UNFINISHED)[0]} {fmt.count(unfinished)} unfinished", tokens.UNFINISHED))
    if running:
        words.append((f"{page.status(Status.RUNNING)[0]} {fmt.count(running)} running", tokens.RUNNING))
    if tally.breaks:
        words.append((f"{page.status(Status.BREAK)[0]} {breaks_counted(tally)}", tokens.BREAK))
    if tally.restarts:
        words.append(fmt.plural(tally.restarts, "restart"))
    if skipped:
        words.append((f"{page.status(Status.EMPTY)[0]} {fmt.plural(skipped, 'function')} without operations", tokens.DIM))
    page.joined(words)
    reading = "" if run.finished else " so far"
    if has_output and not words:
        return
    if not tally.compiles and not words:
        is_traced = any(process.is_traced for process in run.processes())
        where = " in this part of the log" if str(scope.ref) else ""
        page.say(f"No compiles{reading}{where}." if is_traced else f"No message of torch.compile{reading} in this text.")
        if is_traced and "exports" in BY_NAME:
            page.add("Failures of exports: ", to_page("exports", scope.page("exports")))
    elif not words and page.untold:
        page.say(page.so_far(f"{fmt.plural(tally.compiles, 'compile')}{reading}, no failure and no graph break."))
    elif not words:
        limit = "" if unlogged_limits(scope) else "recompile limits, "
        page.say(f"{fmt.plural(tally.compiles, 'compile')}{reading}: no problems found.")
        kinds = f"errors, eager fallbacks, graph breaks, restarts, {limit}unfinished compiles, and functions without operations"
        page.say(f"Checked for {kinds}.", "", tokens.DIM)
    if run.damaged and not str(scope.ref):
        damaged = f"{fmt.plural(run.damaged, 'damaged place')} in the logs: this page may be incomplete"
        page.add((damaged, tokens.LINK, "@damage"))


def _section(
    page: Page, title: str, among: str, groups: Sequence[Group], note: str = "", kinds: int = 0, apart: bool = False
) -> Iterator[Group]:
    """Yield the groups of a section below its heading and note. `kinds`: their number, if some groups are of one kind."""
    if not groups:
        return
    page.heading(_title(title, sum(len(group.occurrences) for group in groups), kinds or len(groups), among))
    if note:
        page.say(note, "  ", tokens.DIM)
    for number, group in enumerate(groups):
        if number and apart:
            page.blank()
        yield group


def _add_failed(page: Page, title: str, groups: Sequence[FailedGroup]) -> Generator[None, None, None]:
    causes = causes_of(groups)
    section = _section(page, title, "of kind", [cause.group for cause in causes], apart=True)
    for group, cause in zip(section, causes, strict=True):
        add_failed(page, group, cause.functions)
        yield


def _title(title: str, count: int, kinds: int, among: str) -> str:
    """Format a title: `Errors (5, of 2 kinds)`; just the number if all kinds differ."""
    if kinds == count:
        return f"{title} ({fmt.count(count)})"
    preposition, _, word = among.partition(" ")
    return f"{title} ({fmt.count(count)} {preposition} {fmt.plural(kinds, word)})"


def _add_limits(page: Page, run: Run, groups: Sequence[LimitGroup]) -> None:
    for group in _section(page, "Recompile limit", "in function", groups, apart=True):
        frames = {str(c.frame.ref): c.frame for ref in group.occurrences if (c := compile_at(run, ref.ref)) is not None}
        refs = {str(c.ref) for frame in frames.values() for c in frame.compiles}
        add_limit(page, group, fallbacks_sentence(run, refs))


def _add_eager(page: Page, groups: Sequence[EagerGroup]) -> None:
    note = (
        "From then on these functions run in eager mode as a whole, even for calls that match an earlier compiled version. "
        "Functions that they call are still compiled."
    )
    causes = causes_of(groups)
    functions = sum(cause.functions for cause in causes)
    section = _section(page, "Fell back to eager mode", "in function", [cause.group for cause in causes], note, functions)
    for group, cause in zip(section, causes, strict=True):
        add_eager(page, group, cause.functions)


def _add_unfinished(
    page: Page, occurrences: Sequence[Occurrence], phases: dict[str, Open | None], title: str, why: str
) -> None:
    if not occurrences:
        return
    page.heading(f"{title} ({fmt.count(len(occurrences))})")
    page.say(why, "  ", tokens.DIM)
    items = [item for item in occurrences if phases.get(item.ref)]
    for item in items:
        name = fmt.clip_middle(sanitize(item.function or "?"), 40)
        noun = "its backward " if item.is_backward else ""
        page.row([
            (f"[{item.ref}]", tokens.LINK, item.ref), "  ", (name, tokens.FUNCTION), f"  {noun}{open_phase(phases[item.ref])}",
        ])  # fmt: skip
    add_occurrences(page, [item for item in occurrences if item not in items], "  ")


def _add_differing(page: Page, run: Run, differing: Differing | None) -> str:
    """Add the leading difference between ranks with a link to all."""
    sentence = leading_sentence(run, differing) if differing is not None else None
    if differing is None or differing.leading is None or sentence is None:
        return ""
    page.heading(f"Ranks that differ ({fmt.plural(differing.count, 'difference')})")
    add_divergence(page, run, differing.leading)
    lead = "all differences: " if differing.count > 1 else "details: "
    page.row([(lead, tokens.DIM), to_page("ranks", "@ranks")])
    return sentence[1]


def _add_breaks(page: Page, run: Run, groups: Sequence[BreakGroup], logged: bool) -> Generator[None, None, None]:
    if not groups:
        return
    places = len({(group.graph_break.gb or group.graph_break.headline, group.user_file, group.user_line) for group in groups})
    note = "" if logged else (
        "This torch version wrote no records of graph breaks (2.6 and later do). Entries with a link to metrics are restart reasons"
        " from the metrics, without a line of your code."
    )
    ran = break_costs(run)
    for group in _section(page, "Graph breaks", "at place", groups, note, places, apart=True):
        add_break_group(page, group, break_sentence(ran, group.graph_break, {item.ref for item in group.occurrences}))
        yield


def _add_restarts(page: Page, groups: Sequence[RestartGroup]) -> None:
    note = "Torch restarted the analysis for a reason other than a recorded graph break."
    for group in _section(page, "Other restarts", "for reason", groups, note):
        add_restart(page, group)


def _add_skipped(page: Page, groups: Sequence[SkippedGroup]) -> None:
    note = "No tensor operation was captured: the function runs as plain Python."
    for group in _section(page, "Without operations", "in function", groups, note):
        add_skipped(page, group)


def _add_cudagraphs(page: Page, groups: Sequence[CudagraphGroup]) -> None:
    if not groups:
        return
    page.heading("CUDA graphs")
    for group in groups:
        page.say(f"{times(len(group.occurrences))}: {fmt.one_line(group.reason)}", "  ", "", "    ")
        if group.file is not None:
            add_line(page, StackFrame("", group.file, group.line, group.code), "", "    ")
        add_occurrences(page, group.occurrences)


@frozen
class ProblemRow:
    """One kind of problem at one place."""

    kind: str
    """`error`, `eager` (fell back to eager mode), `limit` (recompile limit), `break` (graph break), `restart`, `unfinished`,
    `running`. Also `backward` (its backward failed), `empty` (no operations), `cudagraph` (no CUDA graph), `output` (from the job's
    output), `warning` (of torch in that output)."""
    headline: str
    """The problem, in a sentence or a name."""
    reason: str
    """Torch's message."""
    function: str | None
    """The function."""
    file: str | None
    """The file of the line that it is about."""
    line: int | None
    """The line that it is about, from 1."""
    count: int
    """The number of occurrences."""
    ranks: int
    """On how many ranks."""
    first_ref: str
    """The address of the first compile with it; empty if unknown."""
    refs: tuple[str, ...]
    """The addresses of all compiles that have it."""
    hints: tuple[str, ...]
    """Torch's hints."""


def problem_rows(data: Problems) -> Iterator[ProblemRow]:
    """Yield one row per problem, worst first."""
    for item in data.output_failures:
        yield ProblemRow(
            "output", item.sentence, item.meaning, item.function, item.file, item.line, 1, 1, item.compile,
            (item.compile,) if item.compile else (), (),
        )  # fmt: skip
    for kind, failed in (("error", data.errors), ("backward", data.backward)):
        for group in failed:
            error = group.failure
            hints = group.graph_break.hints if group.graph_break is not None else ()
            yield _problem_row(kind, error.type, error.reason, group.code.shown, error.file, error.line, group.occurrences, hints)
    for eager in data.eager:
        reason = eager.failure.reason if eager.failure is not None else ""
        yield _problem_row("eager", eager.headline, reason, eager.code.shown, eager.file, eager.line, eager.occurrences)
    for limit in data.limits:
        title = "recompile limit" if limit.limit is None else f"recompile limit of {limit.limit}"
        yield _problem_row("limit", title, limit.last_reason, limit.code.shown, limit.code.file, limit.code.line, limit.occurrences)
    for broken in data.breaks:
        graph_break = broken.graph_break
        place = (broken.user_file or graph_break.file, broken.user_line or graph_break.line)
        function = joined(broken.functions) or graph_break.function
        yield _problem_row(
            "break", graph_break.headline, graph_break.explanation, function, *place, broken.occurrences, graph_break.hints
        )
    for restart in data.restarts:
        yield _problem_row("restart", restart.reason, "", None, None, None, restart.occurrences)
    for kind, group_of in (("unfinished", data.unfinished), ("running", data.running)):
        if group_of:
            yield _problem_row(kind, f"{kind} compiles", "", None, None, None, group_of)
    for skipped in data.skipped:
        code = skipped.code
        yield _problem_row("empty", "no operation was captured", "", code.shown, code.file, code.line, skipped.occurrences)
    for graphs in data.cudagraph_skips:
        yield _problem_row("cudagraph", "no CUDA graph", graphs.reason, None, graphs.file, graphs.line, graphs.occurrences)
    for warning in data.output_warnings:
        yield ProblemRow(
            "warning", warning.title, warning.detail or warning.means, None, warning.file, warning.line, warning.count, 1,
            warning.compile, (warning.compile,) if warning.compile else (), (warning.fix,) if warning.fix else (),
        )  # fmt: skip


def _problem_row(
    kind: str, headline: str, reason: str, function: str | None, file: str | None, line: int | None,
    occurrences: Sequence[Occurrence], hints: Sequence[str] = (),
) -> ProblemRow:  # fmt: skip
    refs = list(dict.fromkeys(occurrence.ref for occurrence in occurrences))
    function = function or next((occurrence.function for occurrence in occurrences if occurrence.function), None)
    ranks = len({occurrence.rank for occurrence in occurrences})
    first = refs[0] if refs else ""
    return ProblemRow(kind, headline, reason, function, file, line, len(occurrences), ranks, first, tuple(refs), tuple(hints))


QUESTION = Question(
    name="problems",
    help="errors, graph breaks, restarts, the recompile limit: grouped by kind, worst first",
    key="2",
    group="look at a run",
    order=20,
    needs=Needs(
        "has no restarts, and only the printed failures and functions in eager mode",
        ("graph_breaks",), "graph breaks", reads_output=True,
    ),
    document=document,
    answer=Problems,
    rows=ProblemRow,
    records=problem_rows,
    doc="""
    Errors, graph breaks, restarts, the recompile limit: a row per kind and place, worst first.

    >>> import tltui
    >>> for problem in tltui.problems(tltui.open("tests/traces/torch-2.13/breaks")):
    ...     print(problem.kind, problem.count, problem.first_ref, problem.headline)
    break 2 2/0 Call to `torch._dynamo.graph_break()`
    break 1 0/0 Failed to trace builtin operator
    """,
)
