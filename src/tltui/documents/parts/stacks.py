"""Frames and tracebacks on pages. Of torch's own frames in a row only their number is in sight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tltui.analyses.prose.break_reason import NESTED, read_reason
from tltui.analyses.prose.traceback import CAUSE, HANDLING, MEMBER, QUOTED, USER, TracebackPart
from tltui.analyses.stacks.stacks import StackFrame, user_frames
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.owner import Owner
from tltui.text.sanitize import sanitize

FOLD_FRAMES = 2
"""Frames of torch in a row from which on they are folded."""
LINKS = {
    CAUSE: "that was the direct cause of:",
    HANDLING: "while that was handled, another exception came:",
    QUOTED: "its message quotes:",
    MEMBER: "one of the exceptions in it:",
}


def add_stack(page: Page, frames: Sequence[StackFrame], indent: str = "  ") -> None:
    """Frames in the order given: place, function, source line. A run of torch's own is folded."""
    places = [fmt.place(frame.file, frame.line) for frame in frames]
    room = min(max((len(place) for place in places), default=0), page.width // 2 - len(indent))
    for apart, members in groupby(frames, key=lambda frame: frame.owner in (Owner.TORCH, Owner.PYTHON)):
        own = list(members)
        if not apart or len(own) < FOLD_FRAMES:
            for frame in own:
                _frame(page, frame, room, indent)
            continue
        what = f"{fmt.plural(len(own), 'frame')} of torch"
        page.open(what, folded=True, aside=True)
        page.add(indent, (what, tokens.DIM))
        for frame in own:
            _frame(page, frame, room, indent)
        page.close()


def _frame(page: Page, frame: StackFrame, room: int, indent: str) -> None:
    name = fmt.clip_middle(sanitize(frame.name), max(page.width // 4, 12))
    shown = fmt.clip_middle(sanitize(fmt.place(frame.file, frame.line)), room)
    pieces: list[Piece] = [
        indent,
        (shown, tokens.DIM if frame.framework else tokens.LINK, fmt.place_target(frame.file, frame.line)),
        " " * (room - len(shown) + 1),
        (name, tokens.DIM if frame.framework else tokens.FUNCTION),
    ]
    left = page.width - len(indent) - room - len(name) - 4
    if frame.code and left >= 16:
        pieces += ["   ", (fmt.clip(sanitize(frame.code.strip()), left), tokens.DIM)]
    page.add(*pieces)
    if frame.repeated:
        page.add(indent, (f"and {fmt.count(frame.repeated)} more of the same, one in the other", tokens.DIM))


def add_called_from(page: Page, frames: Sequence[StackFrame], indent: str = "  ", user_limit: int = 4) -> None:
    """The user's frames, the nearest first; all frames in a folded section."""
    own = user_frames(tuple(frames))
    add_stack(page, own[:user_limit], indent)
    if len(own) < len(frames) or len(own) > user_limit:
        what = f"{fmt.plural(len(frames), 'frame')}, outermost first"
        if others := len(frames) - len(own):
            what += f", {others} of torch and libraries" if own else ", none your own"
        page.open(what, folded=True)
        page.add(indent, (what, tokens.DIM))
        add_stack(page, frames, indent + "  ")
        page.close()


def add_traceback(page: Page, parts: Sequence[TracebackPart], what: str, indent: str) -> None:
    """All frames of a traceback in a folded section; between its exceptions how one led to the other."""
    count = sum(len(part.frames) for part in parts)
    if not count:
        return
    title = f"{fmt.plural(count, 'frame')}{what}, outermost first"
    page.open(title, folded=True)
    page.add(indent, (title, tokens.DIM))
    for part in parts:
        if link := LINKS.get(part.link):
            page.add(indent, "  ", (link, tokens.LABEL))
        elif part.kind == USER and len(parts) > 1 and part.frames:
            page.add(indent, "  ", ("of your program:", tokens.LABEL))
        add_stack(page, part.frames, indent + "  ")
        if part.type:
            said = fmt.one_line(_says(part.message))
            text = sanitize(f"{part.type}: {said}" if said else part.type)
            page.add(indent, "  ", (fmt.clip(text, page.width - len(indent) - 2), tokens.EXCEPTION))
    page.close()


def _says(message: str) -> str:
    """A message in a line: of nested graph breaks the last one is what was raised."""
    if NESTED not in message:
        return message.partition("\n")[0]
    return read_reason(message).later[-1].headline


def whose_line(owner: Owner) -> str:
    """`your line`, `a library's line`"""
    return f"{owner.value} line"


def inside(owner: Owner) -> str:
    """`in torch`: where something happened that a line of the user's led to."""
    return _INSIDE[owner]


_INSIDE = {Owner.USER: "at", Owner.LIBRARY: "in a library,", Owner.PYTHON: "in Python,", Owner.TORCH: "in torch,"}
