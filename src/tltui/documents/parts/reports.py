"""Pieces that several overviews share: graph breaks, failures, recompile reasons, stacks, bars of time."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.problems.breaks import GraphBreak, from_restart
from tltui.analyses.problems.failures import Failure
from tltui.analyses.recompiles.reasons import Became, Recompile, RecompileReason
from tltui.analyses.stacks.stacks import StackFrame, is_framework, user_frames
from tltui.analyses.timing.phases import Phase
from tltui.documents import format as fmt
from tltui.documents.page import BAR, BAR_END, Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

REASON_LINES = 6
"""Lines of a long reason that stay visible; the rest is folded."""


def add_stack(page: Page, frames: Sequence[StackFrame], indent: str = "  ") -> None:
    """Frames in the order given: place, function, source line."""
    places = [fmt.place(frame.file, frame.line) for frame in frames]
    room = min(max((len(place) for place in places), default=0), page.width // 2 - len(indent))
    for frame, place in zip(frames, places, strict=True):
        name = fmt.clip_middle(sanitize(frame.name), max(page.width // 4, 12))
        shown = fmt.clip_middle(sanitize(place), room)
        style = tokens.DIM if frame.framework else tokens.LINK
        pieces: list[Piece] = [
            indent,
            (shown, style, fmt.place_target(frame.file, frame.line)),
            " " * (room - len(shown) + 1),
            (name, tokens.DIM if frame.framework else tokens.FUNCTION),
        ]
        left = page.width - len(indent) - room - len(name) - 4
        if frame.code and left >= 16:
            pieces += ["   ", (fmt.clip(sanitize(frame.code.strip()), left), tokens.DIM)]
        page.add(*pieces)


def add_called_from(page: Page, frames: Sequence[StackFrame], indent: str = "  ", user_limit: int = 4) -> None:
    """The user's frames, the nearest first; all frames in a folded section."""
    own = user_frames(tuple(frames))
    add_stack(page, own[:user_limit], indent)
    if len(own) < len(frames) or len(own) > user_limit:
        others = len(frames) - len(own)
        what = f"{fmt.plural(len(frames), 'frame')}, outermost first"
        if others:
            what += f", {others} of the framework" if own else ", none your own"
        page.open(what, folded=True)
        page.add(indent, (what, tokens.DIM))
        add_stack(page, frames, indent + "  ")
        page.close()


def add_break(page: Page, found: GraphBreak, indent: str = "  ") -> None:
    """One graph break: reason, place, explanation, hints; torch's own words, the place of the user's code added."""
    head: list[Piece] = [indent]
    used = len(indent)
    if found.gb:
        head += [(found.gb, tokens.BREAK), "  "]
        used += len(found.gb) + 2
    link = "record" if found.ref else ""
    lines = fmt.wrap(found.headline, page.width - used - len(link) - 2)
    for n, line in enumerate(lines):
        tail: list[Piece] = ["  ", (link, tokens.LINK, found.ref)] if n == 0 and found.ref else []
        page.add(*(head if n == 0 else [" " * used]), (line, tokens.STRONG), *tail)
    if found.skips_frame:
        what = "The frame can't go on after this break: torch skips all of it, it runs in eager mode."
        page.say(what, indent, tokens.WARN)
    add_break_place(page, found, indent)
    add_advice(page, found, indent)
    if found.stack:
        what = f"the stack of the break: {fmt.plural(len(found.stack), 'frame')}, outermost first"
        page.open(what, folded=True)
        page.add(indent, (what, tokens.DIM))
        add_stack(page, found.stack, indent + "  ")
        page.close()


def add_break_place(page: Page, found: GraphBreak, indent: str) -> None:
    """Where it broke and, where that is the framework's code, which line of the user's led there."""
    if found.file is None:
        page.add(indent, ("the log does not say where", tokens.DIM))
        return
    where: list[Piece] = ["at ", page.place(found.file, found.line)]
    if found.function:
        where.append((f" in {fmt.clip_middle(sanitize(found.function), 40)}", tokens.FUNCTION))
    page.row(where, indent)
    page.code(found.code, indent + "   ")
    own = user_frames(found.stack)
    if is_framework(found.file) and own:
        caller = (f" in {fmt.clip_middle(own[0].name, 40)}", tokens.FUNCTION)
        page.row(["called from ", page.place(own[0].file, own[0].line), caller], indent)
        page.code(own[0].code, indent + "   ")


def add_failure(page: Page, found: Failure, indent: str = "  ") -> None:
    """Type, reason and place of a failure; a long reason is folded after its first lines."""
    kind = fmt.clip(sanitize(found.type), page.width - 20)
    pieces: list[Piece] = [(kind, tokens.ERROR)]
    if found.ref:
        pieces += ["  ", ("traceback", tokens.LINK, found.ref)]
    page.add(indent, *pieces)
    if "Explanation:" in found.reason:  # a graph break where none is allowed: fullgraph, or the recompile limit
        told = from_restart(found.reason)
        page.say(told.headline, indent, tokens.STRONG)
        add_advice(page, told, indent)
        _add_where(page, found, indent)
        return
    lines = [line for part in found.reason.split("\n") for line in fmt.wrap(part, page.width - len(indent) - 2)]
    if not lines:
        page.add(indent, ("torch wrote no reason", tokens.DIM))
    for line in lines[:REASON_LINES]:
        page.add(indent, line)
    _add_where(page, found, indent)
    if len(lines) > REASON_LINES:
        what = f"{fmt.plural(len(lines) - REASON_LINES, 'more line')} of the reason"
        page.open(what, folded=True)
        page.add(indent, (what, tokens.DIM))
        for line in lines[REASON_LINES:]:
            page.add(indent, "  ", line)
        page.close()


def _add_where(page: Page, found: Failure, indent: str) -> None:
    if found.file is not None:
        page.row(["raised at " if found.raised else "your line ", page.place(found.file, found.line)], indent)
        page.code(found.code, indent + "   ")


def add_advice(page: Page, found: GraphBreak, indent: str) -> None:
    """Explanation and hints."""
    if found.explanation:
        page.labelled("why", found.explanation, indent, 5)
    for number, hint in enumerate(found.hints, 1):
        page.labelled("try" if number == 1 else "", f"{number} {fmt.one_line(hint)}", indent, 5)


def add_recompile(page: Page, found: Recompile, indent: str = "  ", shown: int = 4) -> None:
    """Why it recompiled; with many earlier compiles only the newest ones stay unfolded."""
    if not found.reasons:
        page.say(page.so_far(no_reason(found)), indent, tokens.DIM)
    for n, reason in enumerate(found.reasons[:shown]):
        add_reason(page, reason, indent, same_place=n > 0 and _same_place(reason, found.reasons[n - 1]))
    if len(found.reasons) > shown:
        what = f"{len(found.reasons) - shown} more earlier compiles that could not be used either"
        page.open(what, folded=True)
        page.add(indent, (what, tokens.DIM))
        for reason in found.reasons[shown:]:
            add_reason(page, reason, indent + "  ")
        page.close()
    for change in found.became:
        if change.why in ("size change", "scalar change") and change.before.isdigit() and change.now.isdigit():
            page.say(became(change), indent, tokens.VALUE, indent + "  ")
    if found.logged == "metrics":
        what = "(from the metrics, which keep only one reason: this log has no recompile_reasons record)"
        page.say(what, indent, tokens.DIM)


NEVER_LOGGED = "torch before 2.5 does not write why; TORCH_LOGS=recompiles does"


def no_reason(found: Recompile) -> str:
    """What can be said where no reason is known."""
    if found.logged == "artifact":
        return "torch logged an empty list of reasons: no guard of an earlier compile was found to fail."
    return f"{NEVER_LOGGED}." if found.logged == "never" else "torch logged no reason."


def _same_place(one: RecompileReason, other: RecompileReason) -> bool:
    return (one.file, one.line, one.code) == (other.file, other.line, other.code)


def add_reason(page: Page, reason: RecompileReason, indent: str, same_place: bool = False) -> None:
    """`[0/0] the guard that failed   guards`; then the user's line, unless it is that of the reason before."""
    pieces: list[Piece] = []
    if reason.earlier:
        pieces += [(f"[{reason.earlier}]", tokens.LINK, reason.earlier), " "]
    hang = indent + "    "
    first = sum(len(p if isinstance(p, str) else p[0]) for p in pieces)
    tail: list[Piece] = ["  ", ("its guards", tokens.LINK, reason.guards)] if reason.guards else []
    text = reason.text or "torch wrote no reason"
    lines = fmt.wrap(text, page.width - len(indent) - max(first, 4) - (12 if tail else 0)) or [""]
    for n, line in enumerate(lines):
        page.add(indent if n == 0 else hang, *(pieces if n == 0 else []), line, *(tail if n == 0 else []))
    if same_place:
        return
    if reason.file is not None:
        page.row([("from ", tokens.DIM), page.place(reason.file, reason.line)], hang)
    page.code(reason.code, hang)


def became(change: Became) -> str:
    """`torch marked dim 0 of L['x'] as dynamic: it was 3, then 5`"""
    what = change.source if change.dim is None else f"dim {change.dim} of {change.source}"
    return f"torch marked {what} as dynamic: it was {change.before}, then {change.now}"


PHASE_STYLES = (tokens.FUNCTION, tokens.STRING, tokens.NUMBER, tokens.KEYWORD, tokens.TYPE, tokens.NAME)


def add_time(page: Page, phases: Sequence[Phase], indent: str = "  ") -> None:
    """Seconds by phase, and one bar in which each phase has its share."""
    total = sum(phase.seconds for phase in phases)
    if not phases or total <= 0:
        return
    shown = [phase for phase in phases if phase.seconds >= 0.0005] or list(phases)
    styles = {phase.name: PHASE_STYLES[n % len(PHASE_STYLES)] for n, phase in enumerate(phases)}
    pieces: list[Piece] = []
    for n, phase in enumerate(shown):
        gap = "   " if n + 1 < len(shown) else ""
        pieces += [(phase.name, styles[phase.name]), f" {fmt.seconds(phase.seconds)}{gap}"]
    _add_pairs(page, pieces, indent)
    bar: list[Piece] = [indent]
    for phase, cells in zip(shown, shares([p.seconds for p in shown], min(page.width, 102) - len(indent)), strict=True):
        bar += [(BAR_END, tokens.DIM), (BAR * cells, styles[phase.name])]
    page.add(*bar, (BAR_END, tokens.DIM))


def shares(values: Sequence[float], width: int) -> list[int]:
    """Cells for each value, at least one, that fill `width` together with the marks between them."""
    room = width - len(values) - 1
    total = sum(values) or 1.0
    cells = [max(int(room * value / total), 1) for value in values]
    while sum(cells) > room and max(cells) > 1:
        cells[cells.index(max(cells))] -= 1
    cells[cells.index(max(cells))] += max(room - sum(cells), 0)
    return cells


def _add_pairs(page: Page, pieces: list[Piece], indent: str) -> None:
    """Name and value stay together on a line."""
    line: list[Piece] = []
    used = len(indent)
    for n in range(0, len(pieces), 2):
        pair = pieces[n : n + 2]
        length = sum(len(p if isinstance(p, str) else p[0]) for p in pair)
        if line and used + length > page.width:
            page.add(indent, *line)
            line, used = [], len(indent)
        line += pair
        used += length
    if line:
        page.add(indent, *line)

