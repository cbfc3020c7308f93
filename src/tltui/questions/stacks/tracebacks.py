"""Python stacks and tracebacks: parsing, and user frames versus framework frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tltui.model.node_answers import reader_of, reads
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, list_in, records_of, text_in, whole_in
from tltui.text.frozen import frozen
from tltui.text.torch_names import Owner, is_framework, owner_of
from tltui.trace.grammar import is_entry

UNKNOWN_FILE = "‹unknown file›"


@frozen
class StackFrame:
    """One frame of a Python stack."""

    name: str
    file: str
    line: int | None
    code: str | None = None
    """The source line; torch leaves it out for the compiled function itself."""
    framework: bool = False
    """Whether it is in a package (torch included) or in Python itself, not in the user's own code."""
    repeated: int = 0
    """How often more it came directly below itself, where Python left that out."""

    @property
    def owner(self) -> Owner:
        """Return the owner of the frame's file."""
        return owner_of(self.file)


def frames_of(process: Process, raw: object) -> tuple[StackFrame, ...]:
    """Parse frames of a log, outermost first.

    Each is `{line, name, filename: id of a string, loc}`.
    """
    results = []
    for item in raw if isinstance(raw, list) else ():
        if not isinstance(item, dict):
            continue
        number = item.get("filename")
        filename = process.string(number) if isinstance(number, int) else number
        file = filename if isinstance(filename, str) else UNKNOWN_FILE
        name = text_in(item, "name") or "?"
        results.append(StackFrame(name, file, whole_in(item, "line"), text_in(item, "loc"), is_framework(file)))
    return tuple(results)


def is_end_of(path: str, full_path: str) -> bool:
    """Return whether a guard may refer to the file by this suffix of its path.

    Torch removes the common prefix with its own path, and a letter too many if that is only the root (`ppzz/train.py`
    of `/appzz/train.py`).
    """
    return full_path.endswith("/" + path) or (full_path[:1] == "/" and full_path[2:] == path)


def user_frames(frames: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
    """Return the frames of user code, nearest first."""
    return tuple(frame for frame in reversed(frames) if not frame.framework)


def nearest(frames: Sequence[StackFrame]) -> StackFrame | None:
    """Return the most relevant frame of a stack (outermost first): the innermost of the user's code.

    Else of a library, else of Python, else of torch. See `StackFrame.owner`.
    """
    return min(reversed(frames), key=lambda frame: frame.owner.rank, default=None)


_WITH_STACK = ("create_symbol", "create_unbacked_symbol", "guard_added_fast", "symbolic_shape_specialization")


def callers_of(compile_: Compile, reader: Reader | None = None) -> tuple[StackFrame, ...]:
    """Return the callers of the compiled function, outermost first.

    Torch 2.13 often omits them from `dynamo_start`. Then the stack of the first symbol or guard is used: it goes from
    the caller through Dynamo.
    """
    reader = reader or reader_of(compile_)
    if callers := start_stack(compile_, reader)[:-1]:
        return callers
    for record, _ in records_of(compile_, _WITH_STACK):
        frames = frames_of(compile_.process, list_in(reader.event(record), "stack"))
        inside = next((n for n, frame in enumerate(frames) if "torch/_dynamo/" in frame.file.replace("\\", "/")), 0)
        return frames[:inside]
    return ()


def start_stack(compile_: Compile, reader: Reader | None = None) -> tuple[StackFrame, ...]:
    """Return the stack at the start of a compile, outermost first.

    Its last frame is the compiled function.
    """
    if compile_.started is None:
        return ()
    reader = reader or reader_of(compile_)
    return frames_of(compile_.process, whole_stack(compile_, list_in(reader.event(compile_.started.record), "stack")))


def whole_stack(compile_: Compile, stack: list[Any]) -> list[Any]:
    """Return the stack of a `dynamo_start` with the compiled function as its last frame.

    Torch 2.5 and later write it so. Older torch has its own frames there, and omits the function.
    """
    end = len(stack)
    while end and any(is_entry(frame.file) for frame in frames_of(compile_.process, stack[end - 1 : end])):
        end -= 1
    if end == len(stack):
        return stack
    reads(compile_, compile_.frame)
    name, file, line = compile_.frame.code
    return [*stack[:end], {"name": name or "?", "filename": file or UNKNOWN_FILE, "line": line}]


CAUSE, HANDLING, QUOTED, MEMBER = "caused", "while handling", "quoted", "member"
"""How a part follows the one before: that was its cause; it came while that was handled; the message before quotes it; it is one
of the exceptions of a group."""
RAISED, USER, BARE = "raised", "user", "bare"
"""What a part is: an exception with its frames; a stack of the program that torch printed; frames without any heading."""

_FRAME = re.compile(
    r'^(?P<indent>\s*)File "(?P<file>[^"\n]+)", line (?P<line>\d{1,9})(?:, in (?P<name><[^<>\n]*>|[\w.]+))?\s*$'
)
_HEADER = re.compile(r"^(?P<indent>\s*)(?P<said>Original )?(?:Exception Group )?Traceback \(most recent call last\):\s*$")
_LINKS = (
    ("The above exception was the direct cause of the following exception:", CAUSE),
    ("During handling of the above exception, another exception occurred:", HANDLING),
)
_USER = re.compile(
    r"^\s*(?:from user code|User code traceback|User stack|User Stack \(most recent call last\)|User stack trace"
    r"|The graph break occurred in the following user code)\s*:\s*$"
    r"|(?:^|\. |\s)Found from\s*:\s*$"
    r"|^=+ The above exception occurred while processing the following code =+\s*$"
)
_IN_STACK = re.compile(r"^\s*\(snipped, |^=+ most recent `torch\.compile` ")
_SOURCES = re.compile(r"^\s*Stack variable source attribution:\s*$")
_REPEATED = re.compile(r"^\s*\[Previous line repeated (\d{1,9}) more times?\]\s*$")
_MARKS = re.compile(r"^[\s~^]+$")
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?$")
_SURELY_RAISED = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Failed|Unsupported|Node|Interrupt|Exit|Hit|Warning|Exceeded)): ?(?P<message>.*)$"
)
_GROUP = re.compile(r"^\s*\+ Exception Group Traceback \(most recent call last\):\s*$")
_BAR = re.compile(r"^\s*\| ?|^\s*\+ (?=Exception Group )")
_MEMBER = re.compile(r"^\s*\+(?:-\+)?-{4,}(?: [\d.]+ -+)?\s*$")


@frozen
class TracebackPart:
    """One exception of a traceback, or one stack in it."""

    kind: str
    """`RAISED`, `USER` or `BARE`."""
    link: str = ""
    """How it follows the part before: `CAUSE`, `HANDLING`, `QUOTED`, `MEMBER`, or ''."""
    type: str = ""
    """The name of the exception, without its module."""
    message: str = ""
    frames: tuple[StackFrame, ...] = ()
    """Outermost first."""


@dataclass(slots=True)
class _Part:
    """A part under construction."""

    kind: str
    link: str = ""
    indent: int = 0
    frames: list[StackFrame] = field(default_factory=list)
    type: str = ""
    message: list[str] | None = None
    """The lines of the message, once the line of the exception was met."""
    frame_indent: int = -1
    """The indent of the last frame, while its source line may follow."""

    def done(self) -> TracebackPart:
        message = "\n".join(self.message or ()).strip()
        return TracebackPart(self.kind, self.link, self.type, message, tuple(self.frames))


def read_traceback(text: str) -> tuple[TracebackPart, ...]:
    """Parse a text into parts, in order; () without any frame or traceback."""
    reader = _Reader()
    for line, member in _ungrouped(text.split("\n")):
        if member:
            reader.begin(RAISED, MEMBER)
        else:
            reader.take(line)
    reader.close()
    return tuple(part.done() for part in reader.parts if part.frames or part.type or part.message)


def traceback_frames(text: str) -> tuple[StackFrame, ...]:
    """Return the frames of a printed stack with all its parts, outermost first."""
    return tuple(frame for part in read_traceback(text) for frame in part.frames)


def user_stack(parts: tuple[TracebackPart, ...]) -> tuple[StackFrame, ...]:
    """Return the program's stack at the error, outermost first: the last one in torch's text."""
    return next((part.frames for part in reversed(parts) if part.kind == USER and part.frames), ())


def last_raised(parts: tuple[TracebackPart, ...]) -> TracebackPart | None:
    """Return the exception of a traceback: the last one that no other part quotes or contains."""
    return next((part for part in reversed(parts) if part.kind == RAISED and part.link not in (QUOTED, MEMBER)), None)


def _ungrouped(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield (line, whether an exception of a group begins) without Python's bars beside groups."""
    inside = False
    for line in lines:
        inside = inside or bool(_GROUP.match(line))
        if inside and _MEMBER.match(line):
            yield "", True
            continue
        bare = _BAR.sub("", line, count=1) if inside else line
        inside = inside and (bare != line or not line.strip())
        yield bare, False


class _Reader:
    """A parser that consumes lines one by one."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []
        self._part: _Part | None = None
        self._link = ""
        self._ignored = False
        """Inside of what has frames that are none of a stack."""

    def begin(self, kind: str, link: str = "", indent: int = 0) -> None:
        """Begin another part."""
        self.close()
        self._part = _Part(kind, self._link or link, indent)
        self._link = ""

    def close(self) -> None:
        """End the current part."""
        if self._part is not None:
            self.parts.append(self._part)
        self._part, self._ignored = None, False

    def take(self, line: str) -> None:
        """Process the next line."""
        stripped = line.strip()
        link = next((link for message, link in _LINKS if stripped == message), "")
        if link:
            self.close()
            self._link = link
        elif header := _HEADER.match(line):
            empty = self._part is not None and self._part.kind == RAISED and not (self._part.frames or self._part.message)
            if not (empty and self._part and self._part.link == MEMBER):
                quoted = bool(self.parts or self._part) and not self._link
                self.begin(RAISED, QUOTED if quoted and self._says_more() else "", len(header["indent"]))
        elif heading := _USER.search(line):
            if before := line[: heading.start()].rstrip():  # `ValueError: … Found from :`
                self._inside(before, before.strip())
            self.begin(USER)
        elif _SOURCES.match(line):
            self.close()
            self._ignored = True
        elif not self._ignored:
            self._inside(line, stripped)

    def _says_more(self) -> bool:
        """Return whether the line continues the message of the previous exception."""
        return self._part is not None and self._part.kind == RAISED and self._part.message is not None

    def _inside(self, line: str, stripped: str) -> None:
        """Process a line of a part, or of the text between parts."""
        part = self._part
        frame = _FRAME.match(line)
        if part is not None and part.message is not None:
            part.message.append(line)  # a frame in a message is text
        elif frame is not None:
            if part is None:
                self.begin(BARE)
                part = self._part
            assert part is not None
            part.frames.append(
                StackFrame(frame["name"] or "?", frame["file"], int(frame["line"]), None, is_framework(frame["file"]))
            )
            part.frame_indent = len(frame["indent"])
        elif part is not None and stripped:
            self._below_frames(part, line)

    def _below_frames(self, part: _Part, line: str) -> None:
        """Process a source line, the marks below it, the exception, or the end of a stack."""
        if repeated := _REPEATED.match(line):
            if part.frames:
                last = part.frames[-1]
                part.frames[-1] = replace(last, repeated=last.repeated + int(repeated[1]))
            return
        if part.frames and _MARKS.match(line):  # at any column: where the file has changed since, Python marks another line
            return
        deep = len(line) - len(line.lstrip())
        if part.frames and part.frame_indent >= 0 and deep > part.frame_indent:
            if part.frames[-1].code is None:
                part.frames[-1] = replace(part.frames[-1], code=line.strip())
        elif part.kind == RAISED:
            match = _RAISED.match(line[part.indent :])
            part.type = match["type"].rpartition(".")[2] if match else ""
            part.message = [(match["message"] or "") if match else line.strip()]
        elif part.kind == BARE and (match := _SURELY_RAISED.match(line)):  # its beginning is cut off
            part.kind, part.type, part.message = RAISED, match["type"].rpartition(".")[2], [match["message"]]
        elif not _IN_STACK.match(line):
            self.close()
