"""Graph breaks: where, why, and what torch suggests.

The record `dynamo_graph_break_reason` is a text for people, in four shapes: the usual one, that of a frame that is
skipped because it can't be resumed, that of an error in a fake tensor, and those of older versions of torch. Before
torch 2.6 there is no such record: then the restart reasons of the metrics are all there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tltui.analyses.parts import parsed, part, reader_of
from tltui.analyses.records import Reader, addresses, named
from tltui.analyses.stacks.stacks import StackFrame, traceback_frames
from tltui.model.nodes import Compile

NAME = "dynamo_graph_break_reason"
LIMIT = 1 << 19
_AT = re.compile(r"^Graph [Bb]reak[^\n]*? in user code at (?P<file>[^\n]+):(?P<line>\d{1,9})\s*$", re.MULTILINE)
_SKIPPED = re.compile(
    r"skip tracing the frame (?P<name>.+) \((?P<file>.+) line (?P<line>\d{1,9})\)|^WON'T CONVERT (?P<old>.+) line \d+",
    re.MULTILINE,
)
_GB = re.compile(r"/(gb\d{3,6})\.html")
_USER_STACK = re.compile(
    r"^(?:User code traceback:|The graph break occurred in the following user code:)[ \t]*$", re.MULTILINE
)
_LAST_FRAME = re.compile(r"\n(?=Traceback \(most recent call last\):)")
_REASON = re.compile(r"^Graph Break Reason:[ \t]*", re.MULTILINE)
_ENCOUNTERED = re.compile(r"^Encountered graph break when attempting to trace (.*):\s*$")
_PART = re.compile(r"^\s*(Explanation|Hint|Developer debug context): ?(.*)$")
_END = re.compile(
    r"^\s*(For more details about this graph break|Stack variable source attribution|User code traceback:"
    r"|Traceback \(most recent|from user code:|The above exception)"
)
_EXCEPTION = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Unsupported|Failed|Node|Limit\w*)?: \S")


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One graph break."""

    headline: str
    """The reason in a line."""
    gb: str | None = None
    """torch's stable id of the kind of break: `gb0059`."""
    file: str | None = None
    line: int | None = None
    code: str | None = None
    """The user's source line."""
    function: str | None = None
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    """What torch's developers want to know."""
    skips_frame: bool = False
    """The frame can't be resumed after the break: all of it runs in eager mode."""
    stack: tuple[StackFrame, ...] = ()
    """The user's stack, outermost first."""
    ref: str | None = None
    """The address of the record; None where only the metrics tell."""
    attempt: int = 0
    op: str = ""
    """The bytecode that Dynamo was tracing, in torch's words: `CALL: a function call, e.g. f(x, y)`."""
    framework: tuple[StackFrame, ...] = ()
    """Where in torch it gave up, outermost first."""


def breaks_of(compile_: Compile, reader: Reader | None = None, limit: int | None = None) -> tuple[GraphBreak, ...]:
    """The graph breaks of a compile, at most `limit` of them."""
    log = compile_.process.log
    reader = reader or reader_of(compile_)
    if not compile_.counts[NAME]:
        if compile_.process.logs_breaks:
            return ()
        return tuple(from_restart(reason) for reason in compile_.facts.restarts[:limit])
    records = [record for record, _ in named(compile_, (NAME,))][:limit]
    refs, plain = addresses(compile_, (NAME,)), f"{compile_.ref}:{NAME}"
    return tuple(
        replace(
            parsed_break(compile_, reader.payload(record, LIMIT)), ref=refs.get(record, plain),
            attempt=log.context(record).attempt or 0,
        )
        for record in records
    )  # fmt: skip


@part
def known_breaks(compile_: Compile, reader: Reader, limit: int | None = None) -> tuple[GraphBreak, ...]:
    """The graph breaks of a compile, kept."""
    return breaks_of(compile_, reader, limit)


@parsed
def parsed_break(text: bytes) -> GraphBreak:
    """What the text of a break record says by itself."""
    return parse_break(text.decode("utf-8", "replace"))


def from_restart(reason: str) -> GraphBreak:
    """A restart reason, or the message of an `Unsupported`: neither says a place."""
    text = reason.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return _reason(text)


def parse_break(text: str, ref: str | None = None, attempt: int = 0) -> GraphBreak:
    """The text of a break record. Whatever its shape is, there is a headline."""
    at = _AT.search(text)
    skipped = _SKIPPED.search(text)
    user = _USER_STACK.search(text)
    frames: tuple[StackFrame, ...] = ()
    framework: tuple[StackFrame, ...] = ()
    if user is not None:
        own, *rest = _LAST_FRAME.split(text[user.end() :], maxsplit=1)
        frames, framework = traceback_frames(own), traceback_frames(rest[0]) if rest else ()
    told = _REASON.search(text)
    if told is not None:
        found = _reason(text[told.end() : user.start() if user and user.start() > told.end() else None])
    else:
        found = _reason(_raised(text))
    last = frames[-1] if frames else None
    file = at["file"] if at else last.file if last else None
    line = int(at["line"]) if at else last.line if last else None
    same = next((f for f in reversed(frames) if f.line == line and f.file == file), None)
    function = same.name if same else skipped["name"] if skipped else None
    return GraphBreak(
        found.headline, found.gb, file, line, same.code if same else None, function,
        found.explanation, found.hints, found.context, skipped is not None, frames, ref, attempt, found.op, framework,
    )  # fmt: skip


def _raised(text: str) -> str:
    """The message of the exception that a traceback ends with; the first line of a text without one."""
    lines = text.split("\n")
    for n in range(len(lines) - 1, -1, -1):
        if _EXCEPTION.match(lines[n]):
            _, _, message = lines[n].partition(": ")
            return "\n".join([message, *lines[n + 1 :]])
    return text


def _reason(text: str) -> GraphBreak:
    """Headline, explanation and hints of the message of an `Unsupported`."""
    headline, op, parts, current = "", "", [], None
    for line in text.split("\n"):
        if _END.match(line):
            current = None
            if headline:
                break
            continue
        part = _PART.match(line)
        if part is not None:
            current = [part[1], part[2]]
            parts.append(current)
        elif current is not None:
            if not line.strip():
                current = None
            else:
                current[1] += "\n" + line.strip()
        elif line.strip() and not parts and not headline:
            if encountered := _ENCOUNTERED.match(line.strip()):
                op = encountered[1]
            else:
                headline = line.strip()
    gb = _GB.search(text)
    first = {name: value.strip() for name, value in reversed(parts)}
    return GraphBreak(
        headline or "torch wrote no reason",
        gb[1] if gb else None,
        explanation=first.get("Explanation", ""),
        hints=tuple(value.strip() for name, value in parts if name == "Hint" and value.strip()),
        context=first.get("Developer debug context", ""),
        op=op,
    )
