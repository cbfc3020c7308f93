"""Why a compile failed, and at which line of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tltui.analyses.parts import part, reader_of
from tltui.analyses.prose.traceback import USER, TracebackPart, last_raised, read_traceback, user_stack
from tltui.analyses.records import Reader, address, metrics_fields, named, text_in, whole_in
from tltui.analyses.stacks.stacks import StackFrame, callers_of, nearest, user_frames
from tltui.model.nodes import Compile
from tltui.model.outcome import error_name
from tltui.text.owner import Owner, is_framework, owner_of

ERROR = "dynamo_error"
BACKWARD = "eager_compile_backwards_failure"
LIMIT = 1 << 18
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Failure:
    """A compile, or its backward, that failed."""

    type: str
    reason: str
    backward: bool = False
    file: str | None = None
    """The line of the program that was being compiled, the nearest one; else a library's, else torch's (`owner` says whose it is);
    or where the error was raised: see `raised`."""
    line: int | None = None
    raised: bool = False
    """The place is where the error was raised, as torch does not say what it was compiling."""
    code: str | None = None
    stack: tuple[StackFrame, ...] = ()
    """Frames of the user's own code, the nearest first: of what was being compiled, then who called it."""
    ref: str | None = None
    """The address of the traceback."""
    traceback: tuple[TracebackPart, ...] = ()
    """The exceptions and the stacks that torch printed, in their order."""
    inner: StackFrame | None = None
    """The innermost line that Dynamo was tracing, where that is none of the user's: the place led there."""
    raised_at: StackFrame | None = None
    """The user's own line that raised the error: in a backend, a lowering, a fake of an operator."""

    @property
    def owner(self) -> Owner | None:
        """Whose line `file` and `line` are."""
        return None if self.file is None else owner_of(self.file)


def failures_of(
    compile_: Compile, metrics: list[tuple[str, dict[str, Any]]], reader: Reader | None = None
) -> tuple[Failure, ...]:
    """The failure of the compile, then that of its backward."""
    reader = reader or reader_of(compile_)
    errors = {name: record for record, name in named(compile_, (ERROR, BACKWARD))}  # the last of each
    found = []
    for event, fields in metrics:
        backward = event != "compilation_metrics"
        if kind := text_in(fields, "fail_type"):
            record = errors.pop(BACKWARD if backward else ERROR, None)
            found.append(_failure(compile_, kind, fields, backward, record, reader))
    if compile_.facts.interrupted:
        found.append(Failure(INTERRUPTED, "by something that is no error: Ctrl-C, or an exit; torch logs no more of it"))
    for name, record in errors.items():  # the log ends before the metrics, or torch went on in eager mode
        if name == BACKWARD or not (compile_.facts.has_metrics or compile_.facts.waiting):
            found.append(_failure(compile_, "", {}, name == BACKWARD, record, reader))
    return tuple(found)


@part
def known_failures(compile_: Compile, reader: Reader) -> tuple[Failure, ...]:
    """The failures of a compile, kept."""
    return failures_of(compile_, metrics_fields(compile_, reader), reader)


def _failure(
    compile_: Compile, kind: str, fields: dict[str, Any], backward: bool, record: int | None, reader: Reader
) -> Failure:
    text, reason = _traceback(reader, record), text_in(fields, "fail_reason") or ""
    parts = read_traceback(text or reason)
    if not reason or not kind:
        last = last_raised(parts)
        kind = kind or (last.type if last else "") or "failure"
        reason = reason or (last.message if last else text.strip().rpartition("\n")[2])
    own = user_stack(parts) or user_stack(read_traceback(reason))
    named_frame = _named_frame(fields, own)
    inner = own[-1] if own else named_frame
    callers = () if backward else callers_of(compile_, reader)
    raised_at = _raised_at(parts)
    lead, raised = _lead((*callers, *(own or filter(None, (named_frame,)))), inner, raised_at)
    return Failure(
        error_name(kind), reason.strip(), backward, lead.file if lead else None, lead.line if lead else None, raised,
        lead.code if lead else None, (*user_frames(own), *user_frames(callers)),
        None if record is None else address(compile_, record, BACKWARD if backward else ERROR), parts,
        inner if inner is not None and lead is not None and (inner.file, inner.line) != (lead.file, lead.line) else None,
        raised_at if raised_at is not None and raised_at != lead else None,
    )  # fmt: skip


def _named_frame(fields: dict[str, Any], own: tuple[StackFrame, ...]) -> StackFrame | None:
    """What the metrics name: the innermost frame that Dynamo was tracing."""
    file, line = text_in(fields, "fail_user_frame_filename"), whole_in(fields, "fail_user_frame_lineno")
    if file is None:
        return None
    same = next((frame for frame in reversed(own) if (frame.file, frame.line) == (file, line)), None)
    return same or StackFrame("", file, line, None, is_framework(file))


def _raised_at(parts: tuple[TracebackPart, ...]) -> StackFrame | None:
    """The innermost of the user's own frames in what was raised: their code that torch called."""
    frames = [frame for part in parts if part.kind != USER for frame in part.frames]
    return next((frame for frame in reversed(frames) if frame.owner is Owner.USER), None)


def _lead(
    stack: tuple[StackFrame, ...], inner: StackFrame | None, raised_at: StackFrame | None
) -> tuple[StackFrame | None, bool]:
    """The line to lead with, and whether it is where the error was raised.

    Who called the function is no answer where nothing is known of the line in it.
    """
    if inner is None:
        return raised_at, raised_at is not None
    return nearest(stack), False


def _traceback(reader: Reader, record: int | None) -> str:
    """The text of a traceback; of a very long one the end, where the error is."""
    if record is None:
        return ""
    if reader.log.columns.size[record] <= LIMIT:
        return reader.text(record, LIMIT)
    payload = reader.log.payload(record)
    if payload is None:
        return ""
    tail = payload.source.read(payload.offset + payload.size - LIMIT, LIMIT)
    return tail.replace(b"\n\t", b"\n").decode("utf-8", "replace")
