"""Why a compile failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tltui.analyses.parts import part, reader_of
from tltui.analyses.records import Reader, address, metrics_fields, named, text_in, whole_in
from tltui.analyses.stacks.stacks import StackFrame, traceback_frames, user_frames
from tltui.model.nodes import Compile

ERROR = "dynamo_error"
BACKWARD = "eager_compile_backwards_failure"
LIMIT = 1 << 18
INTERRUPTED = "interrupted"
_LAST = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Failed|Unsupported|Node|Interrupt|Exit|Hit|Warning)): ?(?P<text>.*)$"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A compile, or its backward, that failed."""

    type: str
    reason: str
    backward: bool = False
    file: str | None = None
    """The user's line that was being compiled, or where the error was raised: see `raised`."""
    line: int | None = None
    raised: bool = False
    """The place is the user's line nearest to the error, as torch does not say which one it was compiling."""
    code: str | None = None
    stack: tuple[StackFrame, ...] = ()
    """Frames of the user's own code in the traceback, the nearest first."""
    ref: str | None = None
    """The address of the traceback."""
    traceback: tuple[StackFrame, ...] = ()
    """All its frames, outermost first."""


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
    text = _traceback(reader, record)
    reason = text_in(fields, "fail_reason") or ""
    if not reason or not kind:
        said_type, said = _raised(text)
        kind, reason = kind or said_type or "failure", reason or said
    frames = traceback_frames(text or reason)
    stack = user_frames(frames)
    file, line = text_in(fields, "fail_user_frame_filename"), whole_in(fields, "fail_user_frame_lineno")
    raised = file is None and bool(stack)
    if raised:
        file, line = stack[0].file, stack[0].line
    code = next((frame.code for frame in stack if frame.file == file and frame.line == line and frame.code), None)
    name = BACKWARD if backward else ERROR
    ref = None if record is None else address(compile_, record, name)
    return Failure(kind, reason.strip(), backward, file, line, raised, code, stack, ref, frames)


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


def _raised(text: str) -> tuple[str, str]:
    """Type and message of the exception that a traceback ends with."""
    lines = text.split("\n")
    for n in range(len(lines) - 1, -1, -1):
        if match := _LAST.match(lines[n]):
            return match["type"].rpartition(".")[2], "\n".join([match["text"], *lines[n + 1 :]]).strip()
    return "", text.strip().rpartition("\n")[2]
