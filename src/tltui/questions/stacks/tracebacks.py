"""Python stacks and tracebacks: parsing, user frames versus framework frames, and qualified names of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from itertools import repeat
from typing import Any

from tltui.model.node_answers import part, reader_of, reads
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.record_reader import Reader, list_in, records_of, text_in, whole_in
from tltui.text.frozen import frozen, mutable
from tltui.text.lazy_pattern import lazy_pattern
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
    is_framework: bool = False
    """Whether it is in a package (torch included) or in Python itself, not in the user's own code."""
    repeat_count: int = 0
    """How often more it came directly below itself, where Python left that out."""

    @property
    def owner(self) -> Owner:
        """Return the owner of the frame's file."""
        return owner_of(self.file)


def without_stacks(text: str) -> str:
    """Return a message of torch up to the first stack that it quotes."""
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if _USER.match(line) or _HEADER.match(line)), len(lines))
    return "\n".join(lines[:end]).rstrip()


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
    return tuple(frame for frame in reversed(frames) if not frame.is_framework)


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
    return frames_of(compile_.process, full_stack(compile_, list_in(reader.event(compile_.started.record), "stack")))


def full_stack(compile_: Compile, stack: list[Any]) -> list[Any]:
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
"""Link of a part to the one before: that is its cause; it was raised while that was handled; the message before quotes it; it is
one of the exceptions of a group."""
RAISED, USER, BARE = "raised", "user", "bare"
"""Kind of a part: an exception with its frames; a stack of the program that torch printed; frames without any heading."""

_FRAME = lazy_pattern(
    r'^(?P<indent>\s*)File "(?P<file>[^"\n]+)", line (?P<line>\d{1,9})(?:, in (?P<name><[^<>\n]*>|[\w.]+))?\s*$'
)
_HEADER = lazy_pattern(r"^(?P<indent>\s*)(?:Original )?(?:Exception Group )?Traceback \(most recent call last\):\s*$")
_LINKS = (
    ("The above exception was the direct cause of the following exception:", CAUSE),
    ("During handling of the above exception, another exception occurred:", HANDLING),
)
_USER = lazy_pattern(
    r"^\s*(?:from user code|User code traceback|User stack|User Stack \(most recent call last\)|User stack trace"
    r"|The graph break occurred in the following user code)\s*:\s*$"
    r"|(?:^|\. |\s)Found from\s*:\s*$"
    r"|^=+ The above exception occurred while processing the following code =+\s*$"
)
_IN_STACK = lazy_pattern(r"^\s*\(snipped, |^=+ most recent `torch\.compile` ")
_SOURCES = lazy_pattern(r"^\s*Stack variable source attribution:\s*$")
_LAST = (":", "=")
"""The last character of each line that begins a part."""
_REPEATED = lazy_pattern(r"^\s*\[Previous line repeated (\d{1,9}) more times?\]\s*$")
_MARKS = lazy_pattern(r"^[\s~^]+$")
_RAISED = lazy_pattern(r"^(?P<type>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?$")
_SURELY_RAISED = lazy_pattern(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Failed|Unsupported|Node|Interrupt|Exit|Hit|Warning|Exceeded)): ?(?P<message>.*)$"
)
_GROUP = lazy_pattern(r"^\s*\+ Exception Group Traceback \(most recent call last\):\s*$")
_BAR = lazy_pattern(r"^\s*\| ?|^\s*\+ (?=Exception Group )")
_MEMBER = lazy_pattern(r"^\s*\+(?:-\+)?-{4,}(?: [\d.]+ -+)?\s*$")


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


@mutable
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
    lines = text.split("\n")
    for line, member in _ungrouped(lines) if "Exception Group" in text else zip(lines, repeat(False)):
        if member:
            reader.begin(RAISED, MEMBER)
        else:
            reader.read_line(line)
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


@lru_cache(4096)
def _frame_in(line: str) -> StackFrame | None:
    """Return the frame of a line without its code; None for any other line. Many tracebacks have the same frames."""
    frame = _FRAME.match(line) if 'File "' in line else None
    if frame is None:
        return None
    return StackFrame(frame["name"] or "?", frame["file"], int(frame["line"]), None, is_framework(frame["file"]))


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

    def read_line(self, line: str) -> None:
        """Process the next line."""
        stripped = line.strip()
        if stripped[-1:] not in _LAST:
            if not self._ignored:
                self._inside(line, stripped)
            return
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
        if part is not None and part.message is not None:
            part.message.append(line)  # a frame in a message is text
        elif (frame := _frame_in(line)) is not None:
            if part is None:
                self.begin(BARE)
                part = self._part
            assert part is not None
            part.frames.append(frame)
            part.frame_indent = len(line) - len(line.lstrip())
        elif part is not None and stripped:
            self._below_frames(part, line)

    def _below_frames(self, part: _Part, line: str) -> None:
        """Process a source line, the marks below it, the exception, or the end of a stack."""
        bare = line.lstrip()
        if repeated := _REPEATED.match(line) if bare[:1] == "[" else None:
            if part.frames:
                last = part.frames[-1]
                part.frames[-1] = replace(last, repeat_count=last.repeat_count + int(repeated[1]))
            return
        # at any column: where the file has changed since, Python marks another line
        if part.frames and bare[:1] in ("~", "^") and _MARKS.match(line):
            return
        if part.frames and 0 <= part.frame_indent < len(line) - len(bare):
            last = part.frames[-1]
            if last.code is None:  # `replace` takes several times as long
                part.frames[-1] = StackFrame(last.name, last.file, last.line, bare.rstrip(), last.is_framework, last.repeat_count)
        elif part.kind == RAISED:
            match = _RAISED.match(line[part.indent :])
            part.type = match["type"].rpartition(".")[2] if match else ""
            part.message = [(match["message"] or "") if match else line.strip()]
        elif part.kind == BARE and (match := _SURELY_RAISED.match(line)):  # its beginning is cut off
            part.kind, part.type, part.message = RAISED, match["type"].rpartition(".")[2], [match["message"]]
        elif not _IN_STACK.match(line):
            self.close()


GUARDS, GRAPH = "dynamo_cpp_guards_str", "dynamo_output_graph"
LIMIT = 1 << 20
"""Stored bytes of a guard tree that are read."""
HEAD = 1 << 16
"""Stored bytes of a graph that are read."""
COMPILES_READ = 4
"""Compiles of a function that are asked, until one tells."""
METHODS = frozenset(("forward", "__call__"))
_WRAPPER = lazy_pattern(
    r"_{0,2}(?:wrapper|wrapped|wrap|inner|inner_fn|fn|func|new_func|decorated?|decorator|decorate_\w+|wrapped_\w+|\w+_wrapper)_{0,2}"
)
_LOCAL = lazy_pattern(
    rb"source=L\['(?P<name>\w+)'\], accessed_by=FrameLocalsGuardAccessor\(key='(?P=name)', framelocals_idx=(?P<place>\d+)\),"
    rb" type=<class '(?P<type>[^'\n]{1,200})'>"
)
_ORIGIN = lazy_pattern(rb"^[ \t]*# File: (?P<file>[^\n]+?):\d+ in (?P<name>\w+), code:", re.MULTILINE)
_OTHER_TYPE = lazy_pattern(r"___check_type_id\((?:L\['(\w+)'\]|(\w+)),")
_OTHER_CODE = lazy_pattern(r"___check_obj_id\((?:L\['\w+'\]|\w+)\.__code__,")
_CALLS_FORWARD = ("_call_impl", "_wrapped_call_impl")
_MODULE, _EXTERNAL = "/torch/nn/modules/module.py", "/torch/_dynamo/external_utils.py"
_PLAIN = frozenset(("function", "builtin_function_or_method", "method", "type", "functools.partial"))


@frozen
class _Locals:
    """The classes of the function's local names in a guard tree."""

    first: str | None
    """The name of the first argument, where it is the object that the function is a method of."""
    receiver: str | None
    """The class of that object."""
    called: str | None
    """The class of `fn`, `func` …: what it calls."""
    closes: bool
    """One of the local names is a function."""


def is_ambiguous(name: str | None) -> bool:
    """Return whether a function name is ambiguous, such as `forward`."""
    return name is not None and (name in METHODS or _WRAPPER.fullmatch(name) is not None)


def qualified_name(frame: Frame) -> str | None:
    """Return the qualified name of a function; None if its name is unambiguous."""
    return _name_from_compiles(frame) if is_ambiguous(frame.code[0]) else None


@part
def _name_from_compiles(frame: Frame, reader: Reader) -> str | None:
    """Return the qualified name from the function's compiles."""
    name, file = frame.code[0] or "", frame.code[1]
    compiles = [compile_ for compile_ in frame.compiles if compile_.is_compile][:COMPILES_READ]
    results = (_name_from_compile(compile_, reader, name, file or "") for compile_ in compiles)
    result = next((result for result in results if result is not None), None)
    if result is None:
        return None
    text, first = result
    reasons = [m.recompile_reason for compile_ in frame.compiles for m in compile_.metrics if m.recompile_reason]
    has_other = any(first in match.groups() for reason in reasons if first and (match := _OTHER_TYPE.search(reason)))
    if not has_other and name not in METHODS:
        has_other = any(map(_OTHER_CODE.search, reasons))
    return f"{text} and others" if has_other else text


def display_name(frame: Frame) -> str | None:
    """Return the name of a function on pages: the qualified one, where its own name is ambiguous."""
    return qualified_name(frame) or frame.code[0]


def display_code(frame: Frame) -> tuple[str | None, str | None, int | None]:
    """Return the display name, file and line of a function."""
    return (display_name(frame), *frame.code[1:])


def method_name(compile_: Compile, name: str | None, until: int) -> str | None:
    """Return the name of a function as far as a log shows it up to a record: qualified once guards name the class of a method."""
    if name not in METHODS:
        return name
    for candidate in (compile_, *compile_.frame.compiles[:COMPILES_READ]):
        record, receiver = _receiver(candidate)
        if receiver and record <= until:
            return f"{receiver}.{name}"
    return name


@part
def _receiver(compile_: Compile, reader: Reader) -> tuple[int, str | None]:
    """Return the record of the guards of a compile and the class of the object whose method it compiles; -1 without guards."""
    record = next((record for record, _ in records_of(compile_, (GUARDS,))), -1)
    return record, _locals(compile_, reader).receiver if record >= 0 else None


def _name_from_compile(compile_: Compile, reader: Reader, name: str, file: str) -> tuple[str, str | None] | None:
    """Return the qualified name from one compile, and the argument of that class."""
    result = _locals(compile_, reader)
    if name in METHODS:
        return (f"{result.receiver}.{name}", result.first) if result.receiver else None
    if file.replace("\\", "/").endswith(_EXTERNAL) and result.called:
        return f"{result.called}.__call__", "fn"
    below = _called(compile_, reader, name, file)
    if result.first == "self" and result.closes and below is not None and below.name in METHODS:
        return f"{result.receiver}.{below.name} ({name})", result.first
    if result.first == "self" and _is_forward(start_stack(compile_, reader)):
        return f"{result.receiver}.forward ({name})", result.first
    if below is not None:
        return f"{below.name} ({name})", None
    runs = _runs(compile_, reader, name) if result.closes else None
    return (f"{name} (runs {runs})", None) if runs else None


def _locals(compile_: Compile, reader: Reader) -> _Locals:
    """Return the classes of local names, from the guards on them (torch 2.10 and later)."""
    first = receiver = called = None
    closes = False
    for record, _ in records_of(compile_, (GUARDS,)):
        text = reader.payload(record, LIMIT)
        for match in _LOCAL.finditer(text):
            name, kind = match["name"].decode(), match["type"].decode("utf-8", "replace")
            if match["place"] == b"0" and (name == "self" or is_module(match["name"], text)):
                first, receiver = name, kind.rpartition(".")[2]
            elif kind == "function":
                closes = True
            elif name == "fn" and kind not in _PLAIN:
                called = called or kind.rpartition(".")[2]
        break
    return _Locals(first, receiver, called, closes)


def is_module(name: bytes, text: bytes) -> bool:
    """Return whether guards on a local name access it as a module."""
    return any(b"L['%s']._%s" % (name, attribute) in text for attribute in (b"modules", b"parameters", b"buffers"))


def _called(compile_: Compile, reader: Reader, name: str, file: str) -> StackFrame | None:
    """Return the function that a wrapper called: the first frame below without a wrapper."""
    for record, _ in records_of(compile_, _WITH_STACK):
        stack = frames_of(compile_.process, list_in(reader.event(record), "user_stack"))
        if len(stack) > 1 and (stack[0].name, stack[0].file) == (name, file):
            return next((frame for frame in stack[1:] if not _WRAPPER.fullmatch(frame.name)), None)
    return None


def _is_forward(stack: tuple[StackFrame, ...]) -> bool:
    """Return whether a module called a frame as its `forward`.

    Only Dynamo frames lie between `Module._call_impl` and it.
    """
    for frame in reversed(stack[:-1]):
        path = frame.file.replace("\\", "/")
        if "/torch/_dynamo/" not in path:
            return frame.name in _CALLS_FORWARD and path.endswith(_MODULE)
    return False


def _runs(compile_: Compile, reader: Reader, name: str) -> str | None:
    """Return the only function with operations in the graph."""
    for record, _ in records_of(compile_, (GRAPH,)):
        result = {match["name"].decode() for match in _ORIGIN.finditer(reader.payload(record, HEAD))} - {name}
        return result.pop() if len(result) == 1 else None
    return None
