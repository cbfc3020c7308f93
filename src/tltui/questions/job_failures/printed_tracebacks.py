"""Python tracebacks in a job's output: rank, exception, user line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tltui.questions.job_failures.launcher_reports import OUTER, RANK, Prefix, TextLine
from tltui.questions.stacks.tracebacks import StackFrame, TracebackPart, last_raised, read_traceback, user_stack
from tltui.text.frozen import frozen
from tltui.text.torch_names import Owner, is_framework

_HEADER = r"(?:Exception Group )?Traceback \(most recent call last\):"
_OPENER = re.compile(
    rf"^(?P<outer>{OUTER}){RANK}(?P<text>"
    rf"(?P<group>\s*\+ Exception Group Traceback \(most recent call last\):)|(?P<header>{_HEADER})"
    r'|(?P<syntax>  File "[^"]+", line \d+)|(?P<fatal>Fatal Python error: .*)'
    r"|(?P<failed>torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError:)"
    r"|(?P<lead>Exception (?:in thread|ignored in).*:))\s*$"
)
_CHAINED = re.compile(r"^(?:The above exception was the direct cause|During handling of the above exception, another exception)")
_RAISED = re.compile(r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z_]\w*)(?:: ?(?P<message>.*))?$")
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_FATAL_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d{1,9}) in (?P<name>\S+)')
_RULE = re.compile(r"^=+\s*$")
_PARAGRAPH = re.compile(
    r"^(?:from user code:|Set TORCHDYNAMO_VERBOSE=1|You can suppress this exception|Original traceback:|While executing)"
)
_LAST_PARAGRAPH = re.compile(r"^Set TORCHDYNAMO_VERBOSE=1")
_SHORT = frozenset((
    "Unsupported", "InternalTorchDynamoError", "BackendCompilerFailed", "TorchRuntimeError", "FailOnRecompileLimitHit",
    "RecompileError", "InvalidBackend", "UncapturedHigherOrderOpError", "InductorError", "LoweringException", "CppCompileError",
    "CUDACompileError", "CppWrapperCodegenError", "InvalidCxxCompiler", "TritonMissing", "GPUTooOldForTriton",
    "MissingOperatorWithDecomp", "MissingOperatorWithoutDecomp",
))  # fmt: skip
"""Exceptions of `torch/_dynamo/exc.py` and `torch/_inductor/exc.py` that no other library has by that name."""
FATAL = "Fatal Python error"
CHILD_FAILED = "ChildFailedError"
INTERLOPERS = 20
"""Lines of other writers between the frames of one traceback; with more of them its end is lost."""
LONGEST = 4000
"""Lines of one traceback. What is longer is cut: no exception's message is worth more."""


@frozen
class Traceback:
    """One traceback, chained exceptions and all."""

    offset: int
    """Bytes from the beginning of the file to its first line."""
    end: int
    """Offset behind its last line."""
    rank: int | None
    pid: int | None
    """Of the process whose records stand around it, where one is known."""
    type: str
    """The exception that it is about, with its module; '' where the output ends before."""
    message: str
    file: str | None = None
    """The innermost line of the user's own code; of a failed compile the one that was being compiled."""
    line: int | None = None
    function: str | None = None
    lead: str = ""
    """What stands before it: `Exception in thread …`, `Exception ignored in …`."""
    parts: tuple[TracebackPart, ...] = ()

    @property
    def name(self) -> str:
        """The exception without its module."""
        return self.type.rpartition(".")[2]

    @property
    def headline(self) -> str:
        """`RuntimeError: rank 1 gives up`: its first line."""
        lines = self.message.split("\n", 2)
        first = " ".join(lines[: 2 if lines[0].endswith("raised:") else 1]).strip()
        return f"{self.name}: {first}" if first else self.name

    @property
    def is_compile(self) -> bool:
        """Whether a compile failed."""
        return is_compile_failure(self.type)

    @property
    def is_deadly(self) -> bool:
        """Whether Python ends by it where nobody catches it; a thread's, or one in a destructor, ends nothing else."""
        return not self.lead


def is_compile_failure(type_: str) -> bool:
    """Return whether an exception is one of a compile, by its full or its short name."""
    return type_.startswith(("torch._dynamo.exc.", "torch._inductor.exc.")) or type_ in _SHORT


@dataclass(slots=True)
class _Block:
    """A traceback that is being read."""

    first: TextLine
    prefix: Prefix
    pattern: re.Pattern[str]
    lines: list[str] = field(default_factory=list)
    end: int = 0
    state: str = "frames"
    """`frames`, `message`, `blank` (a blank line behind a message), `chained` (another header follows), `group`, `syntax`,
    `fatal`, `torchrun`."""
    type: str = ""
    others: int = 0
    rules: int = 0
    lead: str = ""

    def add(self, line: TextLine, text: str) -> None:
        self.lines.append(text)
        if text.strip():
            self.end = line.end


class TracebackReader:
    """Reader of lines in file order that collects tracebacks and torchrun's summaries (text and offset) as they end."""

    def __init__(self) -> None:
        self.tracebacks: list[Traceback] = []
        self.torchrun: list[tuple[int, str]] = []
        """(offset, text from `ChildFailedError` on)"""
        self._open: dict[tuple[str, int | None], _Block] = {}
        self._leads: dict[tuple[str, int | None], tuple[str, int]] = {}
        self._end = 0

    @property
    def is_open(self) -> bool:
        """Whether a traceback may go on with the next line."""
        return bool(self._open)

    def read(self, line: TextLine) -> None:
        """Read the next line."""
        has_gap, self._end = line.offset > self._end, line.end
        text = line.text
        opener = _OPENER.match(text)
        for block in list(self._open.values()):
            if has_gap and not block.prefix.outer and block.prefix.rank is None and block.state in ("message", "blank"):
                self._close(block)  # a log record stands between: the message is over
        if (owner := self._owner(text)) is not None:
            match = owner.pattern.match(text)
            assert match is not None
            if self._goes_on(owner, line, match["rest"] or "", opener):
                return
        if opener is not None:
            self._begin(line, opener)

    def close(self) -> None:
        """Close the open tracebacks: there are no more lines."""
        for block in list(self._open.values()):
            self._close(block)

    def _owner(self, text: str) -> _Block | None:
        """Return the block that a line belongs to: of the writer with its prefix, else of the one without a prefix."""
        plain = None
        for block in self._open.values():
            if not block.prefix.outer and block.prefix.rank is None:
                plain = block
            elif block.pattern.match(text):
                return block
        return None if plain is None or text.startswith("[rank") else plain

    def _begin(self, line: TextLine, opener: re.Match[str]) -> None:
        rank = opener["rank"]
        prefix = Prefix(opener["outer"], None if rank is None else int(rank))
        if opener["lead"]:
            self._leads[prefix.key] = opener["text"].rstrip().rstrip(":"), line.end
            return
        if (before := self._open.get(prefix.key)) is not None:
            self._close(before)
        block = _Block(line, prefix, prefix.pattern())
        lead, end = self._leads.pop(prefix.key, ("", -1))
        block.lead = lead if prefix.outer or end == line.offset else ""
        block.state = next((name for name in ("group", "syntax", "fatal") if opener[name]), "frames")
        block.add(line, opener["text"])
        if opener["failed"]:
            block.state, block.type = "torchrun", CHILD_FAILED
        self._open[prefix.key] = block

    def _goes_on(self, block: _Block, line: TextLine, text: str, opener: re.Match[str] | None) -> bool:
        """Take a line into a block, or close it. True when the line was used."""
        step = {
            "frames": self._in_frames, "message": self._in_message, "blank": self._in_message, "chained": self._in_chain,
            "group": self._in_group, "syntax": self._in_syntax, "fatal": self._in_fatal, "torchrun": self._in_torchrun,
        }[block.state]  # fmt: skip
        is_header = opener is not None and not opener["failed"]
        if len(block.lines) > LONGEST or not step(block, text, is_header):
            self._close(block)
            return False
        block.add(line, text)
        return True

    def _in_frames(self, block: _Block, text: str, is_opener: bool) -> bool:
        if is_opener and len(block.lines) > 1:
            return False
        if not text.strip() or text[0].isspace():
            return True
        raised = _RAISED.match(text)
        if raised is None:
            block.others += 1
            return block.others <= INTERLOPERS
        block.type = raised["type"]
        block.state = "torchrun" if block.type.endswith("." + CHILD_FAILED) else "message"
        return True

    def _in_message(self, block: _Block, text: str, is_opener: bool) -> bool:
        if _CHAINED.match(text):
            block.state = "chained"
            return True
        if is_opener:
            return False
        if block.prefix.rank is not None:
            return True
        compile_ = is_compile_failure(block.type)
        if not text.strip():
            if block.state == "blank" and not compile_:
                return False
            block.state = "blank"
            return True
        if compile_:
            if block.lines and any(_LAST_PARAGRAPH.match(line) for line in block.lines[-2:]):
                return False
            return block.state == "message" or text[0].isspace() or _PARAGRAPH.match(text) is not None
        return block.state == "message" and text[0].isspace()

    def _in_chain(self, block: _Block, text: str, is_opener: bool) -> bool:
        if is_opener:
            block.state = "group" if text.lstrip().startswith("+") else "frames"
        return is_opener or not text.strip()

    def _in_group(self, block: _Block, text: str, is_opener: bool) -> bool:
        return text.lstrip().startswith(("|", "+"))

    def _in_syntax(self, block: _Block, text: str, is_opener: bool) -> bool:
        if text.startswith("    ") and len(block.lines) < 4:
            return True
        raised = _RAISED.match(text)
        if raised is None or raised["type"] not in _SYNTAX:
            block.lines.clear()
            return False
        block.type, block.state = raised["type"], "message"
        return True

    def _in_fatal(self, block: _Block, text: str, is_opener: bool) -> bool:
        if not text.strip() or text.startswith(("Current thread ", "Thread 0x", "Python runtime state:")):
            return not any(_FATAL_FRAME.match(line) for line in block.lines)
        return _FATAL_FRAME.match(text) is not None

    def _in_torchrun(self, block: _Block, text: str, is_opener: bool) -> bool:
        if block.rules >= 2:
            return False
        block.rules += bool(_RULE.match(text))
        return True

    def _close(self, block: _Block) -> None:
        del self._open[block.prefix.key]
        if not block.lines:
            return
        rank = block.first.rank if block.prefix.rank is None else block.prefix.rank
        text = "\n".join(block.lines)
        if block.state == "torchrun":
            self.torchrun.append((block.first.offset, text[max(text.rfind(CHILD_FAILED + ":"), 0) :]))
        elif block.state == "fatal":
            self.tracebacks.append(_fatal(block, rank))
        else:
            self.tracebacks.append(_traceback(block, rank, text))


def _fatal(block: _Block, rank: int | None) -> Traceback:
    """Return the traceback that faulthandler printed, innermost frame first."""
    frames = []
    for line in reversed(block.lines):
        if match := _FATAL_FRAME.match(line):
            file = match["file"]
            frames.append(StackFrame(match["name"], file, int(match["line"]), None, is_framework(file)))
    user = next((frame for frame in reversed(frames) if frame.owner is Owner.USER), None)
    return Traceback(
        block.first.offset, block.end, rank, block.first.pid, FATAL, block.lines[0].partition(": ")[2].strip(),
        user.file if user else None, user.line if user else None, user.name if user else None,
    )  # fmt: skip


def _traceback(block: _Block, rank: int | None, text: str) -> Traceback:
    parts = read_traceback(text)
    last = last_raised(parts)
    frames = (user_stack(parts) if is_compile_failure(block.type) else ()) or (last.frames if last else ())
    lead = next((frame for frame in reversed(frames) if frame.owner is Owner.USER), None)
    type_, message = block.type, last.message if last else ""
    if not type_ and last is not None:  # a group: its bars stand before the name
        type_ = last.type
    if block.lines[0].startswith("  File "):
        message = next(line for line in block.lines if line.startswith(block.type)).partition(": ")[2]
        place = re.match(r'  File "([^"]+)", line (\d+)', block.lines[0])
        lead = StackFrame("", place[1], int(place[2])) if place else None
    return Traceback(
        block.first.offset, block.end, rank, block.first.pid, type_, message, lead.file if lead else None,
        lead.line if lead else None, (lead.name or None) if lead else None, block.lead, parts,
    )  # fmt: skip
