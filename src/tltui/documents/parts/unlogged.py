"""What the torch of a log does not write, where somebody would take it for something that did not happen."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.torch_version import version_of
from tltui.documents.page import Page
from tltui.documents.scope import Scope
from tltui.model.kinds import kind_of
from tltui.model.nodes import Frame
from tltui.model.status import DEFAULT_LIMIT
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 8


def unlogged_limits(scope: Scope) -> tuple[Frame, ...]:
    """Frames that may have hit the recompile limit, of a torch that does not log it: before 2.5 it writes nothing of the call."""
    span = kind_of("artifact", "recompile_reasons").span
    wanted = {id(compile_.frame) for compile_ in scope.compiles}
    return tuple(
        frame
        for process in scope.processes
        for frame in process.frames.values()
        if len(frame.compiles) >= DEFAULT_LIMIT and id(frame) in wanted and version_of(process).has(span) is False
    )


def add_unlogged_limits(page: Page, frames: Sequence[Frame]) -> None:
    """`torch 2.4 does not log …: f was compiled 8 times`."""
    if not frames:
        return
    version = version_of(frames[0].process).words
    page.say(
        f"{version} writes nothing when it hits the recompile limit. The limit is {DEFAULT_LIMIT} unless it was changed, and these "
        f"were compiled {DEFAULT_LIMIT} times or more: calls that fit none of their compiles may have run in eager mode.",
        "", tokens.WARN,
    )  # fmt: skip
    pieces: list[Piece] = []
    for frame in frames[:SHOWN]:
        pieces += [(sanitize(frame.code[0] or str(frame.ref)), tokens.LINK, str(frame.ref)), "  "]
    page.row([*pieces, f"and {len(frames) - SHOWN} more" if len(frames) > SHOWN else ""])
