"""Python stacks: where the user's code called, and what of it is the framework's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tltui.analyses.parts import reader_of, reads
from tltui.analyses.records import Reader, list_in, named, text_in, whole_in
from tltui.model.nodes import Compile, Process
from tltui.text.owner import Owner, is_framework, owner_of
from tltui.trace.envelope import is_entry

UNKNOWN_FILE = "‹unknown file›"


@dataclass(frozen=True, slots=True)
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
        """Whose line it is."""
        return owner_of(self.file)


def frames_of(process: Process, raw: object) -> tuple[StackFrame, ...]:
    """Frames as a log writes them: `{line, name, filename: id of a string, loc}`, outermost first."""
    found = []
    for item in raw if isinstance(raw, list) else ():
        if not isinstance(item, dict):
            continue
        number = item.get("filename")
        known = process.string(number) if isinstance(number, int) else number
        file = known if isinstance(known, str) else UNKNOWN_FILE
        name = text_in(item, "name") or "?"
        found.append(StackFrame(name, file, whole_in(item, "line"), text_in(item, "loc"), is_framework(file)))
    return tuple(found)


def is_end_of(path: str, whole: str) -> bool:
    """Whether a guard may name the file by this path: torch leaves out what it has in common with its own, and a letter too much
    where that is the root only (`ppzz/train.py` of `/appzz/train.py`)."""
    return whole.endswith("/" + path) or (whole[:1] == "/" and whole[2:] == path)


def user_frames(frames: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
    """Those of the user's own code, the nearest first."""
    return tuple(frame for frame in reversed(frames) if not frame.framework)


def nearest(frames: Sequence[StackFrame]) -> StackFrame | None:
    """The frame to lead with, of some that come outermost first: the innermost of the user's own, else of a library, else of
    Python, else of torch. Who reads it is told whose it is (`StackFrame.owner`)."""
    return min(reversed(frames), key=lambda frame: frame.owner.rank, default=None)


_WITH_STACK = ("create_symbol", "create_unbacked_symbol", "guard_added_fast", "symbolic_shape_specialization")


def callers_of(compile_: Compile, reader: Reader | None = None) -> tuple[StackFrame, ...]:
    """Who called the compiled function, outermost first.

    Torch 2.13 often leaves the callers out of `dynamo_start`. Then those of the first symbol or guard are taken: its
    stack goes from the caller through Dynamo.
    """
    reader = reader or reader_of(compile_)
    if callers := start_stack(compile_, reader)[:-1]:
        return callers
    for record, _ in named(compile_, _WITH_STACK):
        frames = frames_of(compile_.process, list_in(reader.event(record), "stack"))
        inside = next((n for n, frame in enumerate(frames) if "torch/_dynamo/" in frame.file.replace("\\", "/")), 0)
        return frames[:inside]
    return ()


def start_stack(compile_: Compile, reader: Reader | None = None) -> tuple[StackFrame, ...]:
    """The stack at which Dynamo began with this compile, outermost first; the last frame is the compiled function."""
    if compile_.started is None:
        return ()
    reader = reader or reader_of(compile_)
    return frames_of(compile_.process, whole_stack(compile_, list_in(reader.event(compile_.started.record), "stack")))


def whole_stack(compile_: Compile, stack: list[Any]) -> list[Any]:
    """The stack of a `dynamo_start` with the compiled function as its last frame, as torch 2.5 and later write it.

    Older torch leaves its own frames there, and the function out.
    """
    end = len(stack)
    while end and any(is_entry(frame.file) for frame in frames_of(compile_.process, stack[end - 1 : end])):
        end -= 1
    if end == len(stack):
        return stack
    reads(compile_, compile_.frame)
    name, file, line = compile_.frame.code
    return [*stack[:end], {"name": name or "?", "filename": file or UNKNOWN_FILE, "line": line}]
