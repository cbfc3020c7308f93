"""Graph breaks and failures of a compile: location, reason, hints, and the consequences of a hit of the recompile limit."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Any

from tltui.model.node_answers import parsed, part, reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, address, addresses, metrics_fields, records_of, text_in, whole_in
from tltui.model.status import error_name
from tltui.questions.stacks.tracebacks import (
    BARE,
    RAISED,
    USER,
    StackFrame,
    TracebackPart,
    callers_of,
    last_raised,
    nearest,
    read_traceback,
    user_frames,
    user_stack,
)
from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern
from tltui.text.torch_names import PREFIX, Owner, is_framework, owner_of

NESTED = "*** While handling this graph break, another graph break occurred: ***"
_GB = lazy_pattern(r"/(gb\d{3,6})\.html")
_TRACING = lazy_pattern(r"^Encountered graph break when attempting to trace (?P<op>.*):$")
_SKIPPING = lazy_pattern(r"^Failed to handle graph break gracefully\. .*:$")
_CANNOT_RESUME = lazy_pattern(r"^Encountered graph break that we cannot resume from\. .*:$")
_INTENDED = lazy_pattern(r"^Encountered intentional debugging graph break:$")
_FIELD = lazy_pattern(r"^\s*(Explanation|Hint|Developer debug context|Higher Order Operator): ?(.*)$")
_END = lazy_pattern(
    r"^\s*(?:For more details about this graph break|Stack variable source attribution|User code traceback:"
    r"|Traceback \(most recent|from user code:|The above exception|During handling of the above exception)"
)
_WEB = ("http://", "https://")
_TYPED = lazy_pattern(r"^(?:torch\._dynamo\.exc\.)?Unsupported: (?=\S)")
_EARLIER = "This graph break may have been caused by an earlier graph break."
WRAPPERS = frozenset(("Graph break under GenericContextWrappingVariable",))
"""Uninformative break types of torch; their explanation is the headline."""

_AT = lazy_pattern(r"Graph [Bb]reak(?: \([^)\n]{1,200}\))? in user code at (?P<file>[^\n]+):(?P<line>\d{1,9})[ \t]*$", re.MULTILINE)
_SKIPPED = lazy_pattern(
    r"^torch\.compile will skip tracing the frame (?P<name>\S+) \((?P<file>[^\n]+) line (?P<line>\d{1,9})\)"
    r"|^WON'T CONVERT (?P<old>\S+) [^\n]+ line \d+$",
    re.MULTILINE,
)
_REASON = lazy_pattern(r"(?:Graph Break )?Reason:[ \t]*")
_AFTER_REASON = lazy_pattern(
    r"^(?:User code traceback:|Stack variable source attribution:|The graph break occurred in the following user code:"
    r"|Traceback \(most recent call last\):)[ \t]*$", re.MULTILINE
)  # fmt: skip

NAME = "dynamo_graph_break_reason"
LIMIT = 1 << 19

ERROR = "dynamo_error"
BACKWARD = "eager_compile_backwards_failure"
FAILURE_LIMIT = 1 << 18
INTERRUPTED = "interrupted"
INTERRUPTION = "by Ctrl-C, an exit or a timeout of the test runner, not by an error; torch logs nothing further"
_FAKE_ERROR = lazy_pattern(
    r"\bwith fake tensors: .*\): got \w+\((?P<message>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)\s*(?=\n  Hint:|\Z)", re.DOTALL
)
"""An error of an operator on fake tensors, behind a call with all its arguments (`run_node` in torch/_dynamo/utils.py)."""
_ABOUT_THE_FUNCTION = lazy_pattern(r"\n\s*\n\s*(?:from user code:|Set TORCHDYNAMO_VERBOSE)")
"""The end of a message: the code that torch was compiling, and a hint on logging, follow."""

LATER_READ = 64
"""Maximum number of later compiles whose stacks are read."""
EVAL_FRAME = "torch/_dynamo/eval_frame.py"
"""The file with the wrapper of compiled functions."""
_RESUMED = re.compile(rf"{PREFIX}(?P<function>.+)_at_\d+")


@frozen
class Reason:
    """Why one graph break happened, in torch's words."""

    headline: str
    """In a line; '' where torch wrote none."""
    gb: str | None = None
    """torch's stable id of the kind of break: `gb0059`."""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    """Torch's context for its developers."""
    operator: str = ""
    """The higher order operator in whose function it happened, in torch's words."""
    unparsed: str = ""
    """The unparsed rest."""


@frozen
class BreakReason:
    """Parsed message of a graph break."""

    first: Reason
    later: tuple[Reason, ...] = ()
    """The breaks that came while the one before was handled: why torch could not go on after it."""
    op: str = ""
    """The bytecode that Dynamo was tracing, in torch's words: `CALL: a function call, e.g. f(x, y)`."""
    skips: bool = False
    """All of the function runs in eager mode."""
    stops: bool = False
    """Whether the code after the break runs in eager mode."""


@frozen
class BreakRecord:
    """Parsed text of a break record."""

    reason: BreakReason
    file: str | None = None
    line: int | None = None
    function: str | None = None
    skips: bool = False
    """All of the function runs in eager mode."""
    stack: tuple[StackFrame, ...] = ()
    """The stack of the program, outermost first."""
    raised: tuple[TracebackPart, ...] = ()
    """The exceptions, each with its frames in torch."""


@frozen
class GraphBreak:
    """One graph break."""

    headline: str
    """The reason in a line."""
    gb: str | None = None
    """torch's stable id of the kind of break: `gb0059`."""
    file: str | None = None
    line: int | None = None
    code: str | None = None
    """The source line."""
    function: str | None = None
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    """Torch's context for its developers."""
    skips_frame: bool = False
    """The function can't be resumed after the break: all of it runs in eager mode."""
    stack: tuple[StackFrame, ...] = ()
    """The stack of the program, outermost first."""
    ref: str | None = None
    """The address of the record; None if only the metrics have it."""
    attempt: int = 0
    bytecode: str = ""
    """The bytecode that Dynamo was tracing, in torch's words: `CALL: a function call, e.g. f(x, y)`."""
    exceptions: tuple[TracebackPart, ...] = ()
    """The exceptions in torch, each with its frames."""
    while_handling: tuple[Reason, ...] = ()
    """The breaks that came while this one was handled: why torch could not go on after it."""
    is_unresumable: bool = False
    """Whether the code after the break runs in eager mode, as torch can't resume from it."""
    unparsed: str = ""
    """The unparsed part of the message."""
    operator: str = ""
    """The higher order operator in whose function it happened."""

    @property
    def lead(self) -> StackFrame | None:
        """The nearest user line: the location of the break or its caller; else a library's, else torch's."""
        at = self.at
        if at is not None and at.owner is Owner.USER:
            return at
        caller = nearest(self.stack)
        return at if caller is None or (at is not None and at.owner.rank <= caller.owner.rank) else caller

    @property
    def at(self) -> StackFrame | None:
        """Location of the break."""
        if self.file is None:
            return None
        return StackFrame(self.function or "", self.file, self.line, self.code, owner_of(self.file) is not Owner.USER)


@frozen
class Failure:
    """A compile, or its backward, that failed."""

    type: str
    reason: str
    is_backward: bool = False
    file: str | None = None
    """The line of the program that was being compiled, the nearest one; else a library's, else torch's (`owner` says whose it is);
    or where the error was raised: see `raised`."""
    line: int | None = None
    is_raise_location: bool = False
    """Whether the place is that of the raise, as torch does not log the line that it was compiling."""
    code: str | None = None
    stack: tuple[StackFrame, ...] = ()
    """Frames of the user's own code, the nearest first: of what was being compiled, then who called it."""
    ref: str | None = None
    """The address of the traceback."""
    traceback: tuple[TracebackPart, ...] = ()
    """The exceptions and the stacks that torch printed, in their order."""
    innermost_frame: StackFrame | None = None
    """The innermost line that Dynamo was tracing, where that is none of the user's: the place led there."""
    user_raise_frame: StackFrame | None = None
    """The user's own line that raised the error: in a backend, a lowering, a fake of an operator."""
    raised_in: StackFrame | None = None
    """The innermost frame of the exception, whoever owns it."""

    @property
    def owner(self) -> Owner | None:
        """Owner of the line `file` and `line`."""
        return None if self.file is None else owner_of(self.file)


def read_reason(text: str) -> BreakReason:
    """Parse the message of an `Unsupported`, a restart reason, or the text after `Graph Break Reason:`."""
    first, *others = _split(_unquoted(text.strip()))
    lines = first.split("\n")
    op, skips, stops = "", False, False
    for n, line in enumerate(lines):
        stripped = line.strip()
        if tracing := _TRACING.match(stripped):
            op = tracing["op"]
        elif _SKIPPING.match(stripped):
            skips = True
        elif _CANNOT_RESUME.match(stripped):
            stops = True
        elif stripped and not _INTENDED.match(stripped):
            lines = lines[n:]
            break
    else:
        lines = []
    return BreakReason(_reason(lines), tuple(_reason(other.split("\n")) for other in others), op, skips, stops)


def _split(text: str) -> list[str]:
    """Split a message into the first break and the breaks raised while it was handled."""
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() == NESTED:
            parts.append([])
        else:
            parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def _unquoted(text: str) -> str:
    """Without the quotes that older versions put around a message, and without the name of torch's own exception."""
    text = _TYPED.sub("", text, count=1)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and "\n" not in text:
        return text[1:-1]
    return text


def _reason(lines: list[str]) -> Reason:
    """Headline, explanation and hints of one message. It ends with torch's link, or where something else begins."""
    headline = ""
    fields: list[list[str]] = []
    rest: list[str] = []
    current: list[str] | None = None
    gb = None
    for line in lines:
        if _END.match(line):
            current = None
            if (link := _GB.search(line)) is not None:
                gb = link[1]
            if headline:
                break
        elif field := _FIELD.match(line):
            current = [field[1], field[2]]
            fields.append(current)
        elif not line.strip():
            current = None
        elif current is not None:
            current[1] += "\n" + line.strip()
        elif not fields and not headline:
            headline = line.strip()
        else:
            rest.append(line.rstrip())
    first = {name: value.strip() for name, value in reversed(fields)}
    explanation = first.get("Explanation", "")
    if headline in WRAPPERS and explanation:
        headline, explanation = explanation.partition("\n")[0], ""
    return Reason(
        headline, gb, explanation,
        tuple(value.strip() for name, value in fields if name == "Hint" and value.strip()),
        first.get("Developer debug context", ""), first.get("Higher Order Operator", ""),
        "\n".join(rest),
    )  # fmt: skip


def hints_without_nesting(reason: Reason) -> tuple[str, ...]:
    """Return the hints of a nested break, without the hint that only refers to the nesting."""
    return tuple(hint for hint in reason.hints if not hint.startswith(_EARLIER))


def read_record(text: str) -> BreakRecord:
    """Parse a break record of any shape; unparsed text becomes the reason."""
    at, skipped = _AT.match(text), _SKIPPED.search(text)
    match = _REASON.match(text, at.end() + 1) if at else None
    end = _AFTER_REASON.search(text, match.end()) if match else None
    parts = read_traceback(text[end.start() :] if end else "" if match else text)
    stack = next((part.frames for part in parts if part.kind in (USER, BARE) and part.frames), ())
    raised = tuple(part for part in parts if part.kind == RAISED)
    if match is not None:
        reason = read_reason(text[match.end() : end.start() if end else None])
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


def breaks_of(compile_: Compile, reader: Reader | None = None, limit: int | None = None) -> tuple[GraphBreak, ...]:
    """Return the graph breaks of a compile, at most `limit`."""
    log = compile_.process.log
    reader = reader or reader_of(compile_)
    if not compile_.counts[NAME]:
        if compile_.process.logs_breaks:
            return ()
        return tuple(from_restart(reason) for reason in compile_.facts.restarts[:limit])
    records = [record for record, _ in records_of(compile_, (NAME,))][:limit]
    refs, plain = addresses(compile_, (NAME,)), f"{compile_.ref}:{NAME}"
    return tuple(
        replace(
            parsed_break(compile_, reader.payload(record, LIMIT)), ref=refs.get(record, plain),
            attempt=log.context(record).attempt or 0,
        )
        for record in records
    )  # fmt: skip


@part
def cached_breaks(compile_: Compile, reader: Reader, limit: int | None = None) -> tuple[GraphBreak, ...]:
    """Return the graph breaks of a compile, cached."""
    return breaks_of(compile_, reader, limit)


@parsed
def parsed_break(text: bytes) -> GraphBreak:
    """Parse the text of a break record without its context."""
    return parse_break(text.decode("utf-8", "replace"))


def from_restart(reason: str) -> GraphBreak:
    """Parse a restart reason or the message of an `Unsupported`; neither has a location."""
    return _graph_break(read_reason(reason))


def headline_of(message: str) -> str:
    """Return the first line of a failure in torch's words.

    Of a graph break it is the reason, of a backend's failure its error, of an operator on fake tensors the operator's error.
    """
    if error := _FAKE_ERROR.search(message_of(message)):
        return _text_in(error["message"])
    if "Explanation:" in message and (headline := read_reason(message).first.headline):
        return headline
    lines = (stripped for line in message.split("\n") if (stripped := line.strip()) and not stripped.startswith(_WEB))
    first = next(lines, "")
    return f"{first} {next(lines, '')}".rstrip() if first.endswith(" raised:") else first


def _text_in(literal: str) -> str:
    """Return the first line of a string literal."""
    lines = (re.sub(r"\\(.)", r"\1", line).strip() for line in literal[1:-1].split("\\n"))
    return next(filter(None, lines), "")


def parse_break(text: str, ref: str | None = None, attempt: int = 0) -> GraphBreak:
    """Parse the text of a break record. Text of any shape yields a headline."""
    record = read_record(text)
    same = next((f for f in reversed(record.stack) if (f.file, f.line) == (record.file, record.line)), None)
    return replace(
        _graph_break(record.reason), file=record.file, line=record.line, code=same.code if same else None, function=record.function,
        skips_frame=record.skips, stack=record.stack, exceptions=record.raised, ref=ref, attempt=attempt,
    )  # fmt: skip


def _graph_break(message: BreakReason) -> GraphBreak:
    first = message.first
    return GraphBreak(
        first.headline or "torch wrote no reason", first.gb, explanation=first.explanation, hints=first.hints,
        context=first.context, skips_frame=message.skips, bytecode=message.op, while_handling=message.later,
        is_unresumable=message.stops, unparsed=first.unparsed, operator=first.operator,
    )  # fmt: skip


def message_of(reason: str) -> str:
    """Return the message of a failure without the code that was being compiled."""
    return _ABOUT_THE_FUNCTION.split(reason, maxsplit=1)[0].strip()


def failures_of(
    compile_: Compile, metrics: list[tuple[str, dict[str, Any]]], reader: Reader | None = None
) -> tuple[Failure, ...]:
    """Return the failure of the compile, then the failure of its backward."""
    reader = reader or reader_of(compile_)
    errors = {name: record for record, name in records_of(compile_, (ERROR, BACKWARD))}  # the last of each
    failures = []
    for event, fields in metrics:
        backward = event != "compilation_metrics"
        if kind := text_in(fields, "fail_type"):
            record = errors.pop(BACKWARD if backward else ERROR, None)
            failures.append(_failure(compile_, kind, fields, backward, record, reader))
    if compile_.facts.interrupted:
        failures.append(Failure(INTERRUPTED, INTERRUPTION))
    for name, record in errors.items():  # the log ends before the metrics, or torch went on in eager mode
        if name == BACKWARD or not (compile_.facts.has_metrics or compile_.facts.is_waiting):
            failures.append(_failure(compile_, "", {}, name == BACKWARD, record, reader))
    return tuple(failures)


@part
def cached_failures(compile_: Compile, reader: Reader) -> tuple[Failure, ...]:
    """Return the failures of a compile, cached."""
    return failures_of(compile_, metrics_fields(compile_, reader), reader)


def _failure(compile_: Compile, kind: str, fields: dict[str, Any], backward: bool, record: int | None, reader: Reader) -> Failure:
    text, reason = _traceback(reader, record), text_in(fields, "fail_reason") or ""
    parts = read_traceback(text or reason)
    if not reason or not kind:
        last = last_raised(parts)
        kind = kind or (last.type if last else "") or "failure"
        reason = reason or (last.message if last else text.strip().rpartition("\n")[2])
    stack = user_stack(parts) or user_stack(read_traceback(reason))
    metrics_frame = _frame_in_metrics(fields, stack)
    inner = stack[-1] if stack else metrics_frame
    callers = () if backward else callers_of(compile_, reader)
    raised_at = _raised_at(parts)
    lead, raised = _lead((*callers, *(stack or filter(None, (metrics_frame,)))), inner, raised_at)
    return Failure(
        error_name(kind), reason.strip(), backward, lead.file if lead else None, lead.line if lead else None, raised,
        lead.code if lead else None, (*user_frames(stack), *user_frames(callers)),
        None if record is None else address(compile_, record, BACKWARD if backward else ERROR), parts,
        inner if inner is not None and lead is not None and (inner.file, inner.line) != (lead.file, lead.line) else None,
        raised_at if raised_at is not None and raised_at != lead else None, _raised_in(parts),
    )  # fmt: skip


def _frame_in_metrics(fields: dict[str, Any], stack_frames: tuple[StackFrame, ...]) -> StackFrame | None:
    """Return the frame in the metrics: the innermost one that Dynamo was tracing."""
    file, line = text_in(fields, "fail_user_frame_filename"), whole_in(fields, "fail_user_frame_lineno")
    if file is None:
        return None
    same = next((frame for frame in reversed(stack_frames) if (frame.file, frame.line) == (file, line)), None)
    return same or StackFrame("", file, line, None, is_framework(file))


def _raised_in(parts: tuple[TracebackPart, ...]) -> StackFrame | None:
    """Return the innermost frame of the exception."""
    last = last_raised(parts)
    return last.frames[-1] if last is not None and last.frames else None


def _raised_at(parts: tuple[TracebackPart, ...]) -> StackFrame | None:
    """Return the innermost user frame of the raised error: user code that torch called."""
    frames = [frame for part in parts if part.kind != USER for frame in part.frames]
    return next((frame for frame in reversed(frames) if frame.owner is Owner.USER), None)


def _lead(stack: tuple[StackFrame, ...], inner: StackFrame | None, raised_at: StackFrame | None) -> tuple[StackFrame | None, bool]:
    """Return the line to lead with, and whether the error was raised there.

    A caller of the function is no substitute for an unknown line in it.
    """
    if inner is None:
        return raised_at, raised_at is not None
    return nearest(stack), False


def _traceback(reader: Reader, record: int | None) -> str:
    """Return the text of a traceback; only the end of a very long one, which has the error."""
    if record is None:
        return ""
    if reader.log.columns.size[record] <= FAILURE_LIMIT:
        return reader.text(record, FAILURE_LIMIT)
    payload = reader.log.payload(record)
    if payload is None:
        return ""
    tail = payload.source.read(payload.offset + payload.size - FAILURE_LIMIT, FAILURE_LIMIT)
    return tail.replace(b"\n\t", b"\n").decode("utf-8", "replace")


def compiled_nothing_below(hit: Compile) -> bool:
    """Return whether no later compile of the process came from a call of the function at its limit.

    False also where that is unknown: without a trace, in a log that may go on, after more than `LATER_READ` later compiles, and
    where the caller is not in the log. A function that calls torch.compile itself, as flex_attention does, is compiled from such
    calls too.
    """
    if not hit.is_traced:
        return False
    name, file, _ = hit.frame.code
    names = {name, _resumed_in(name) or name}
    later = list(islice((compile_ for compile_ in hit.process.ordered() if _is_after(compile_, hit)), LATER_READ + 1))
    if not hit.log_ended or len(later) > LATER_READ:
        return False
    return not any(_may_be_below(compile_, names, file) for compile_ in later)


def _may_be_below(compile_: Compile, names: set[str | None], file: str | None) -> bool:
    """Whether a function of these names may be among the callers of a compile.

    Torch 2.13 leaves out the last two callers. After the wrapper of a compiled function the one left out is that function;
    the caller of a resume function is the function that it resumes.
    """
    callers = callers_of(compile_)
    if compile_.started is None or any(caller.name in names and caller.file == file for caller in callers):
        return True
    name, own_file, _ = compile_.frame.code
    if resumed := _resumed_in(name):
        return resumed in names and own_file == file
    return len(callers) > 0 and callers[-1].file.replace("\\", "/").endswith(EVAL_FRAME)


def _resumed_in(name: str | None) -> str | None:
    """Return the function that a resume function resumes; None for any other function."""
    match = _RESUMED.fullmatch(name or "")
    return match["function"] if match else None


def _is_after(compile_: Compile, hit: Compile) -> bool:
    if not compile_.is_compile or compile_.frame is hit.frame or (compile_.started is None and compile_.facts.failed):
        return False
    return len(compile_.records) > 0 and len(hit.records) > 0 and compile_.records[0] > hit.records[0]
