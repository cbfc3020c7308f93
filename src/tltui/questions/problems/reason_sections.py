"""Sections that several pages share: graph breaks, failures, recompile reasons, tracebacks, bars of time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.model.ref import ranges
from tltui.model.status import Eager
from tltui.questions.problems.compile_problems import (
    NESTED,
    Failure,
    GraphBreak,
    Reason,
    from_restart,
    hints_without_nesting,
    read_reason,
)
from tltui.questions.recompiles.recompile_reasons import Became, Recompile, RecompileReason
from tltui.questions.stacks.tracebacks import CAUSE, HANDLING, MEMBER, QUOTED, USER, StackFrame, TracebackPart, user_frames
from tltui.questions.timing.timing_events import ORDER, Phase
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import Owner, graph_break_page, is_runner

SKIPS = (
    "From then on the whole function runs in eager mode, even for calls that "
    "match an earlier compiled version. Functions it calls are still compiled."
)
FALLBACK_CAUSES = {
    Eager.SKIPPED: "Torch cannot resume the function after a graph break.",
    Eager.SUPPRESSED: (
        "suppress_errors is on, so the error did not reach the caller. With fullgraph=True it does reach the caller; torch logs "
        "both cases alike."
    ),
    Eager.UNTRACED: (
        "Dynamo failed before it traced the function, so torch skipped it. With fullgraph=True the exception reaches the caller; "
        "torch logs both cases alike."
    ),
}
NO_BREAKS = "This graph break is an error because fullgraph=True (or error_on_graph_break) was set."
NO_RECOMPILES = "The recompilation is an error because error_on_recompile is set. The guards below failed for the call."
UNSURE = (
    "Torch before 2.11 does not log whether the error was raised to the caller. With fullgraph=True it was; otherwise torch "
    "skipped the function, and all of it runs in eager mode."
)
INTERRUPTED = "Interrupted (Ctrl-C, an exit, or a timeout of the test runner), not an error. Torch logs nothing further."
LIMIT_EAGER = (
    "The function will not be compiled again. Calls that match an existing compiled version use it; all others run in eager mode"
)
CALLEES_EAGER = ", and functions called from those are not newly compiled either"
LIMIT_RAISES = (
    "Calls that match no compiled version raise an error, because of fullgraph=True or fail_on_recompile_limit_hit."
)


def limit_text(eager: bool, callees_eager: bool) -> str:
    """Return the consequence of the recompile limit. `callees_eager`: no later compile came from a call at the limit."""
    return f"{LIMIT_EAGER}{CALLEES_EAGER if callees_eager else ''}." if eager else LIMIT_RAISES


FOLD_FRAMES = 2
"""Frames of torch in a row from which on they are folded."""
LINKS = {
    CAUSE: "direct cause of:",
    HANDLING: "while handling it, another exception was raised:",
    QUOTED: "its message quotes:",
    MEMBER: "one of the exceptions in the group:",
}


def add_stack(page: Page, frames: Sequence[StackFrame], indent: str = "  ") -> None:
    """Add frames in the order given: place, function, source line. Several frames of torch or a test runner in a row are folded."""
    places = [fmt.place(frame.file, frame.line) for frame in frames]
    room = min(max((len(place) for place in places), default=0), page.width // 2 - len(indent))
    for owner, members in groupby(frames, key=_folded_owner):
        run = list(members)
        if not owner or len(run) < FOLD_FRAMES:
            for frame in run:
                _frame(page, frame, room, indent)
            continue
        with page.fold(f"{fmt.plural(len(run), f'{owner} frame')}", indent, aside=True):
            for frame in run:
                _frame(page, frame, room, indent)


def _folded_owner(frame: StackFrame) -> str:
    """Return who owns a frame that is folded with its neighbours; '' for one that is shown."""
    if is_runner(frame.file):
        return "test runner"
    return "torch" if frame.owner in (Owner.TORCH, Owner.PYTHON) else ""


def _frame(page: Page, frame: StackFrame, room: int, indent: str) -> None:
    name = fmt.clip_middle(sanitize(frame.name), max(page.width // 4, 12))
    shown = fmt.clip_middle(sanitize(fmt.place(frame.file, frame.line)), room)
    pieces: list[Piece] = [
        indent,
        (shown, tokens.DIM if frame.is_framework else tokens.LINK, fmt.place_target(frame.file, frame.line)),
        " " * (room - len(shown) + 1),
        (name, tokens.DIM if frame.is_framework else tokens.FUNCTION),
    ]
    left = page.width - len(indent) - room - len(name) - 4
    if frame.code and left >= 16:
        pieces += ["   ", (fmt.clip(sanitize(frame.code.strip()), left), tokens.DIM)]
    page.add(*pieces)
    if frame.repeat_count:
        page.add(indent, (f"and {fmt.count(frame.repeat_count)} more of the same, nested", tokens.DIM))


def add_called_from(page: Page, frames: Sequence[StackFrame], indent: str = "  ", user_limit: int = 4) -> None:
    """Add the user's frames, nearest first; all frames go into a folded section."""
    of_user = user_frames(tuple(frames))
    add_stack(page, of_user[:user_limit], indent)
    if len(of_user) < len(frames) or len(of_user) > user_limit:
        text = f"stack of {fmt.plural(len(frames), 'frame')}, outermost first"
        if others := len(frames) - len(of_user):
            text += f" ({others} not your code)" if of_user else " (none in your code)"
        with page.fold(text, indent):
            add_stack(page, frames, indent + "  ")


def add_traceback(page: Page, parts: Sequence[TracebackPart], title: str, indent: str) -> None:
    """Add all frames of a traceback in a folded section, with the relations between its exceptions."""
    count = sum(len(part.frames) for part in parts)
    if not count:
        return
    with page.fold(f"{title} of {fmt.plural(count, 'frame')}, outermost first", indent):
        for part in parts:
            if link := LINKS.get(part.link):
                page.add(indent, "  ", (link, tokens.LABEL))
            elif part.kind == USER and len(parts) > 1 and part.frames:
                page.add(indent, "  ", ("your program:", tokens.LABEL))
            add_stack(page, part.frames, indent + "  ")
            if part.type:
                message = fmt.one_line(_first_line(part.message))
                text = sanitize(f"{part.type}: {message}" if message else part.type)
                page.add(indent, "  ", (fmt.clip(text, page.width - len(indent) - 2), tokens.EXCEPTION))


def _first_line(message: str) -> str:
    """Return the first line of a message; for nested graph breaks, the headline of the last one (the raised one)."""
    if NESTED not in message:
        return message.partition("\n")[0]
    return read_reason(message).later[-1].headline


def refused_words(count: int) -> str:
    """Return `, 1 refused at the recompile limit`; '' for none."""
    return f", {fmt.count(count)} refused at the recompile limit" if count else ""


def ranks_text(ranks: set[int | None]) -> str:
    """Return `ranks 0–3, 7`, with `no rank` for processes without one."""
    numbers = [rank for rank in ranks if rank is not None]
    text = f"{'rank' if len(numbers) == 1 else 'ranks'} {ranges(numbers)}" if numbers else ""
    return " and ".join(part for part in (text, "no rank" if None in ranks else "") if part)


def whose_line(owner: Owner) -> str:
    """Return `your line`, `a library's line`."""
    return f"{owner.value} line"


def inside(owner: Owner) -> str:
    """Return the place of an error below the user's line: `in torch,`."""
    return _INSIDE[owner]


_INSIDE = {Owner.USER: "at", Owner.LIBRARY: "in a library,", Owner.PYTHON: "in Python,", Owner.TORCH: "in torch,"}


REASON_LINES = 6
"""Lines of a long reason that stay visible; the rest is folded."""


def add_break(page: Page, graph_break: GraphBreak, indent: str = "  ") -> None:
    """Add a graph break in torch's words: reason, place, explanation, hints; and the user's line."""
    head: list[Piece] = [indent]
    used = len(indent)
    if graph_break.gb:
        head += [gb_piece(graph_break.gb), "  "]
        used += len(graph_break.gb) + 2
    link: list[Piece] = ["  ", to_page("record", graph_break.ref)] if graph_break.ref else []
    lines = fmt.wrap(graph_break.headline, page.width - used - sum(len(piece_text(piece)) for piece in link))
    for n, line in enumerate(lines):
        page.add(*(head if n == 0 else [" " * used]), (line, tokens.STRONG), *(link if n == 0 else []))
    add_consequence(page, graph_break, indent)
    add_break_place(page, graph_break, indent)
    add_advice(page, graph_break, indent)
    add_gb_page(page, graph_break.gb, indent)
    if graph_break.stack:
        with page.fold(f"stack of the break: {fmt.plural(len(graph_break.stack), 'frame')}, outermost first", indent):
            add_stack(page, graph_break.stack, indent + "  ")


def add_consequence(page: Page, graph_break: GraphBreak, indent: str) -> None:
    """Add the extent of eager execution after a break, where it exceeds the broken line."""
    if graph_break.skips_frame:
        page.say("Torch could not resume tracing after this break, so the whole function runs in eager mode.", indent, tokens.WARN)
    elif graph_break.is_unresumable:
        text = "Torch could not resume tracing after this break, so the rest of the function runs in eager mode."
        page.say(text, indent, tokens.WARN)


def add_break_place(page: Page, graph_break: GraphBreak, indent: str) -> None:
    """Add the user line of a break, and the location of the break if it is in other code."""
    lead, at = graph_break.lead, graph_break.at
    if lead is None or at is None:
        page.add(indent, ("unknown place (not in the log)", tokens.DIM))
        return
    add_line(page, lead, f"{whose_line(lead.owner)} ", indent)
    if (at.file, at.line) != (lead.file, lead.line):
        add_line(page, at, f"it broke {inside(at.owner)} ", indent)


def add_line(page: Page, frame: StackFrame, label: str, indent: str) -> None:
    """Add a place, `your line models/f.py:12 in forward`, and its source line."""
    pieces: list[Piece] = [label, page.place(frame.file, frame.line)]
    if frame.name:
        pieces.append((f" in {fmt.clip_middle(sanitize(frame.name), 40)}", tokens.FUNCTION))
    page.row(pieces, indent)
    page.code(frame.code, indent + "   ")


def is_listed_break(failure: Failure, breaks: Sequence[GraphBreak]) -> bool:
    """Return whether a failure is a forbidden graph break that is among `breaks`."""
    if "Explanation:" not in failure.reason:
        return False
    graph_break = from_restart(failure.reason)
    wanted = (graph_break.headline, graph_break.gb, graph_break.context)
    return any((other.headline, other.gb, other.context) == wanted for other in breaks)


def add_failure(
    page: Page, failure: Failure, indent: str = "  ", breaks: Sequence[GraphBreak] = (), fold_advice: bool = False
) -> None:
    """Add type, reason and location of a failure, with a long reason folded after its first lines.

    Text that is also in one of the `breaks` below is omitted. `fold_advice`: the page has better advice than torch's message.
    """
    kind = fmt.clip(sanitize(failure.type), page.width - 20)
    pieces: list[Piece] = [(kind, tokens.ERROR)]
    if failure.ref:
        pieces += ["  ", to_page("traceback", failure.ref)]
    page.add(indent, *pieces)
    if "Explanation:" in failure.reason:  # a graph break where none is allowed: fullgraph, or the recompile limit
        graph_break = from_restart(failure.reason)
        if is_listed_break(failure, breaks):
            page.say("because of the graph break below", indent, tokens.STRONG)
            return
        page.say(graph_break.headline, indent, tokens.STRONG)
        _add_where(page, failure, indent)
        if fold_advice:
            with page.fold("torch's explanation and hints", indent):
                add_advice(page, graph_break, indent + "  ")
        else:
            add_advice(page, graph_break, indent)
        add_gb_page(page, graph_break.gb, indent)
        return
    if not failure.reason:
        page.add(indent, ("torch wrote no reason", tokens.DIM))
    shown = _add_quoted(page, failure.reason, indent)
    _add_where(page, failure, indent)
    _fold_quoted(page, failure.reason, shown, "of the reason", indent)


def _quoted(page: Page, text: str, indent: str) -> list[str]:
    return [line for part in text.split("\n") for line in fmt.wrap(part, page.width - len(indent) - 2)]


def _add_quoted(page: Page, text: str, indent: str) -> int:
    """Add the first lines of a quoted message; return their number."""
    lines = _quoted(page, text, indent)[:REASON_LINES]
    for line in lines:
        page.add(indent, line)
    return len(lines)


def _fold_quoted(page: Page, text: str, shown: int, noun: str, indent: str) -> None:
    """Add the lines after the first ones in a folded section."""
    lines = _quoted(page, text, indent)[shown:]
    if not lines:
        return
    with page.fold(f"{fmt.plural(len(lines), 'more line')} {noun}", indent):
        for line in lines:
            page.add(indent, "  ", line)


def _add_where(page: Page, failure: Failure, indent: str) -> None:
    """Add the line to inspect first, the framework line below it, and the user line that raised the error."""
    if failure.file is not None and failure.owner is not None:
        label = "raised at " if failure.is_raise_location else f"{whose_line(failure.owner)} "
        place = StackFrame("", failure.file, failure.line, failure.code)
        add_line(page, place, label, indent)
    if failure.innermost_frame is not None:
        add_line(page, failure.innermost_frame, f"it failed {inside(failure.innermost_frame.owner)} ", indent)
    if failure.user_raise_frame is not None:
        add_line(page, failure.user_raise_frame, "raised at ", indent)


def add_advice(page: Page, graph_break: GraphBreak, indent: str) -> None:
    """Add explanation and hints; then the breaks that came while torch handled this one."""
    add_explanation(page, graph_break.explanation, graph_break.hints, indent)
    if graph_break.unparsed:
        shown = _add_quoted(page, graph_break.unparsed, indent)
        _fold_quoted(page, graph_break.unparsed, shown, "of the message", indent)
    for reason in graph_break.while_handling:
        add_later(page, reason, graph_break.skips_frame, indent)


def add_later(page: Page, reason: Reason, skipped: bool, indent: str) -> None:
    """Add a break raised while torch handled another one: the cause of a skipped function."""
    label = "Cause of the fallback to eager mode: " if skipped else "While torch handled this break: "
    gb = f"  {reason.gb}" if reason.gb else ""
    page.say(f"{label}{reason.headline or 'torch wrote no reason'}{gb}", indent, tokens.WARN, indent + "  ")
    add_explanation(page, reason.explanation, hints_without_nesting(reason), indent + "  ")
    if reason.context:
        page.labelled("context", reason.context, indent + "  ", 9, tokens.DIM)
    add_gb_page(page, reason.gb, indent + "  ")


def gb_piece(gb: str) -> Piece:
    """Return torch's number of a kind of graph break as a link to its documentation."""
    return (gb, tokens.BREAK, graph_break_page(gb))


def add_gb_page(page: Page, gb: str | None, indent: str) -> None:
    """Add the address of torch's documentation of a kind of graph break."""
    if address := graph_break_page(gb):
        page.add(indent, (address, tokens.LINK, address))


def add_explanation(page: Page, explanation: str, hints: Sequence[str], indent: str) -> None:
    """Add torch's explanation and hints."""
    if explanation:
        page.labelled("why", explanation, indent, 5)
    for number, hint in enumerate(hints, 1):
        page.labelled("try" if number == 1 else "", f"{number} {fmt.one_line(hint)}", indent, 5)


def add_recompile(
    page: Page, recompile: Recompile, logged: Collection[str], constants: Collection[str] = (), indent: str = "  ", shown: int = 4
) -> None:
    """Add why it recompiled; of many earlier compiles the older ones are folded. `logged` are those in the log.

    `constants` are sources of numbers that varied and that the compile took for constants nevertheless.
    """
    add_contexts(page, recompile.contexts, indent)
    if not recompile.reasons:
        page.say(page.so_far(no_reason(recompile)), indent, tokens.DIM)
    for n, reason in enumerate(recompile.reasons[:shown]):
        add_reason(page, reason, logged, indent, same_place=n > 0 and _same_place(reason, recompile.reasons[n - 1]))
    if len(recompile.reasons) > shown:
        with page.fold(f"{len(recompile.reasons) - shown} more earlier compiles that did not match", indent):
            for reason in recompile.reasons[shown:]:
                add_reason(page, reason, logged, indent + "  ")
    for change in recompile.became_dynamic:
        if change.reason in ("size change", "scalar change") and isinstance(change.before, int) and isinstance(change.now, int):
            text = became(change, change.dim is None and change.source in constants)
            page.say(text, indent, tokens.VALUE, indent + "  ")
    if recompile.reasons_from == "metrics":
        title = "(from the metrics, which record only one reason; this log has no recompile_reasons record)"
        page.say(title, indent, tokens.DIM)


def add_contexts(page: Page, contexts: Sequence[str], indent: str) -> None:
    """Add the texts that the program's hooks gave at a recompilation."""
    for text in contexts:
        page.labelled("your context", fmt.one_line(text), indent, 14)


NEVER_LOGGED = "torch before 2.5 does not log the reason; TORCH_LOGS=recompiles does"


def no_reason(recompile: Recompile) -> str:
    """Return the text for a recompile without a known reason."""
    if recompile.reasons_from == "artifact":
        return "torch logged an empty list of reasons: it found no guard failure in earlier compiles."
    return f"{NEVER_LOGGED}." if recompile.reasons_from == "never" else "torch logged no reason."


def _same_place(recompile_reason: RecompileReason, other: RecompileReason) -> bool:
    return (recompile_reason.file, recompile_reason.line, recompile_reason.code) == (other.file, other.line, other.code)


def add_reason(page: Page, reason: RecompileReason, logged: Collection[str], indent: str, same_place: bool = False) -> None:
    """Add a reason: `[0/0] the guard that failed   guards`; then the user's line unless it repeats."""
    pieces: list[Piece] = []
    if reason.earlier:
        name = f"[{reason.earlier}]"
        pieces += [(name, tokens.LINK, reason.earlier) if reason.earlier in logged else (name, tokens.DIM), " "]
    hang = indent + "    "
    first = sum(len(piece_text(p)) for p in pieces)
    tail: list[Piece] = ["  ", to_page("its guards", reason.guards)] if reason.guards else []
    text = reason.text or "torch wrote no reason"
    lines = fmt.wrap(text, page.width - len(indent) - max(first, 4) - sum(len(piece_text(piece)) for piece in tail)) or [""]
    for n, line in enumerate(lines):
        page.add(indent if n == 0 else hang, *(pieces if n == 0 else []), line, *(tail if n == 0 else []))
    if same_place:
        return
    if reason.file is not None:
        page.row([("from ", tokens.DIM), page.place(reason.file, reason.line)], hang)
    page.code(reason.code, hang)


def became(change: Became, is_constant: bool = False) -> str:
    """Format a change: `torch marked dim 0 of L['x'] as dynamic: it was 3, then 5`."""
    source = change.source if change.dim is None else f"dim {change.dim} of {change.source}"
    if is_constant:
        return f"torch saw that {source} varies: it was {change.before}, then {change.now}. It is a constant in this compile."
    if change.lacks_values:
        return f"torch marked {source} as dynamic: it varied"
    return f"torch marked {source} as dynamic: it was {change.before}, then {change.now}"


PHASE_STYLES = dict(zip(ORDER, tokens.PHASES, strict=True))
"""Phase → its style, the same on every page."""


TIME_WIDTH, SHARE, PHASE = 102, 4, max(map(len, ORDER))
"""Columns of a line with a bar at most, of a share, and of the name of a phase."""


def add_time(page: Page, phases: Sequence[Phase], indent: str = "  ", scale_s: float = 0.0) -> None:
    """Add a line per phase with its seconds, share and bar; phases too short for a bar share a line.

    A bar of the whole width is `scale_s` long, by default the sum of the phases.
    """
    total = sum(phase.self_s for phase in phases)
    if not phases or total <= 0:
        return
    shown = [phase for phase in phases if phase.self_s >= 0.0005] or list(phases)
    seconds = max(len("999 ms"), *(len(fmt.seconds(phase.self_s)) for phase in shown))
    room = min(page.width, TIME_WIDTH) - len(indent) - PHASE - seconds - SHARE - 6
    bars = [fmt.bar(room * phase.self_s / max(scale_s, total)) for phase in shown]
    for phase, bar in zip(shown, bars, strict=True):
        if bar:
            style = PHASE_STYLES[phase.name]
            page.add(
                indent, (phase.name.ljust(PHASE), style), "  ", (fmt.seconds(phase.self_s).rjust(seconds), tokens.NUMBER), "  ",
                (fmt.percent(phase.self_s, total).rjust(SHARE), tokens.DIM), "  ", (bar, style),
            )  # fmt: skip
    short = [phase for phase, bar in zip(shown, bars, strict=True) if not bar]
    pieces: list[Piece] = [("too short to draw:", tokens.DIM), " "] if len(short) < len(shown) else []
    for n, phase in enumerate(short):
        gap = "   " if n + 1 < len(short) else ""
        pieces += [(phase.name, PHASE_STYLES[phase.name]), f" {fmt.seconds(phase.self_s)}{gap}"]
    if short:
        add_pairs(page, pieces, indent)


def add_pairs(page: Page, pieces: list[Piece], indent: str) -> None:
    """Add pairs of name and value, each in one line."""
    line: list[Piece] = []
    used = len(indent)
    for n in range(0, len(pieces), 2):
        pair = pieces[n : n + 2]
        length = sum(len(piece_text(p)) for p in pair)
        if line and used + length > page.width:
            page.add(indent, *line)
            line, used = [], len(indent)
        line += pair
        used += length
    if line:
        page.add(indent, *line)
