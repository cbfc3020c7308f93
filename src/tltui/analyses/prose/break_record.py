"""The text of a `dynamo_graph_break_reason` record: where it broke, why, the stack of the program, where in torch it gave up.

Torch writes it in three shapes: `log_graph_break` (torch/_dynamo/symbolic_convert.py), the skip of a frame that can't be resumed
(convert_frame.py), and `format_error_msg_verbose` (exc.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.analyses.prose.break_reason import BreakReason, Reason, read_reason
from tltui.analyses.prose.traceback import BARE, RAISED, USER, TracebackPart, last_raised, read_traceback
from tltui.analyses.stacks.stacks import StackFrame

_AT = re.compile(
    r"Graph [Bb]reak(?: \([^)\n]{1,200}\))? in user code at (?P<file>[^\n]+):(?P<line>\d{1,9})[ \t]*$", re.MULTILINE
)
_SKIPPED = re.compile(
    r"^torch\.compile will skip tracing the frame (?P<name>\S+) \((?P<file>[^\n]+) line (?P<line>\d{1,9})\)"
    r"|^WON'T CONVERT (?P<old>\S+) [^\n]+ line \d+$",
    re.MULTILINE,
)
_REASON = re.compile(r"(?:Graph Break )?Reason:[ \t]*")
_AFTER_REASON = re.compile(
    r"^(?:User code traceback:|Stack variable source attribution:|The graph break occurred in the following user code:"
    r"|Traceback \(most recent call last\):)[ \t]*$", re.MULTILINE
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BreakRecord:
    """What the text says."""

    reason: BreakReason
    file: str | None = None
    line: int | None = None
    function: str | None = None
    skips: bool = False
    """All of the function runs in eager mode."""
    stack: tuple[StackFrame, ...] = ()
    """Of the program, outermost first."""
    raised: tuple[TracebackPart, ...] = ()
    """The exceptions, each with its frames in torch."""


def read_record(text: str) -> BreakRecord:
    """Whatever the shape is, what can't be read is left as the reason."""
    at, skipped = _AT.match(text), _SKIPPED.search(text)
    told = _REASON.match(text, at.end() + 1) if at else None
    end = _AFTER_REASON.search(text, told.end()) if told else None
    parts = read_traceback(text[end.start() :] if end else "" if told else text)
    stack = next((part.frames for part in parts if part.kind in (USER, BARE) and part.frames), ())
    raised = tuple(part for part in parts if part.kind == RAISED)
    if told is not None:
        reason = read_reason(text[told.end() : end.start() if end else None])
    elif (last := last_raised(parts)) is not None:
        reason = read_reason(last.message or last.type)
    elif at or skipped:
        reason = BreakReason(Reason(""))
    else:
        reason = read_reason(text)
    inner = stack[-1] if stack else None
    file = at["file"] if at else inner.file if inner else None
    line = int(at["line"]) if at else inner.line if inner else None
    same = next((frame for frame in reversed(stack) if (frame.file, frame.line) == (file, line)), None)
    function = same.name if same else (skipped["name"] or skipped["old"]) if skipped else None
    return BreakRecord(reason, file, line, function, skipped is not None or reason.skips, stack, raised)
