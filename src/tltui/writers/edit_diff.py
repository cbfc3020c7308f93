"""A unified diff with the edits for recompilations: only of the user's own regular files below one directory, never applied.

Paths and lines come from the trace. A file is read only if no part of its path is a link or belongs to another user, and it is
edited only if its line equals the line that torch recorded.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tltui.questions.recompiles.predictions import DOUBTS, other_outcomes
from tltui.questions.trials.edits import ArgumentEdit, FrameEdits, Function, Refused, edited, function_at, parsed
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_file
from tltui.text.sanitize import sanitize

MAX_BYTES = 4 << 20


@frozen
class EditDiff:
    """A diff, and the edits that it does not have."""

    text: str
    """'' without an edit."""
    refused: tuple[str, ...]
    """One line for each edit that is not made, with the reason."""


@frozen
class _Request:
    """The edits of one call."""

    line: int
    code: str
    function: Function
    edits: tuple[ArgumentEdit, ...]
    title: str


def diff_of(frames: Sequence[FrameEdits], root: str) -> EditDiff:
    """Return the diff for files below a directory."""
    refused: list[str] = []
    requests: dict[str, list[_Request]] = defaultdict(list)
    files = _Files(root)
    for frame in frames:
        title = f"{frame.function}: {', '.join(frame.code)}"
        try:
            if not frame.calls:
                raise Refused("the trace does not record which line calls the function")
            function = function_at(parsed(files.read(frame.file)), frame.function, frame.line)
        except Refused as reason:
            refused.append(f"{title}: {reason}")
            continue
        for call in frame.calls:
            try:
                files.read(call.file)
            except Refused as reason:
                refused.append(f"{title}: {reason}")
                continue
            requests[files.relative(call.file)].append(
                _Request(call.line or 0, call.code or "", function, frame.edits, f"{title}; {_effect(frame)}")
            )
    parts = [part for name in sorted(requests) for part in _file_diff(files, name, requests[name], refused)]
    return EditDiff("".join(parts), tuple(dict.fromkeys(refused)))


def _effect(frame: FrameEdits) -> str:
    if frame.predicted is None:
        return f"recompilations {frame.before} → unknown (no guards in the trace)"
    fewest, most, expected = frame.predicted.fewest, frame.predicted.most, frame.predicted.expected
    others = other_outcomes(fewest, most, expected, DOUBTS.get(frame.predicted.condition, ""))
    return f"recompilations {frame.before} → {expected}{others}"


def _file_diff(files: _Files, name: str, requests: list[_Request], refused: list[str]) -> Iterator[str]:
    """Yield the diff of a file."""
    before = after = files.texts[name]
    comments: list[str] = []
    shifts: dict[int, int] = defaultdict(int)
    for request in sorted(requests, key=lambda request: -request.line):
        line = request.line + shifts[request.line]
        try:
            lines = after.split("\n")
            if not 0 < line <= len(lines) or lines[line - 1].strip() != request.code.strip():
                raise Refused(f"{name}:{request.line} is not the recorded line {sanitize(request.code)[:80]!r}")
            changed = edited(after, line, request.function, request.edits)
        except Refused as reason:
            refused.append(f"{request.title.partition('; ')[0]}: {name}:{request.line}: {reason}")
            continue
        shifts[request.line] += changed.count("\n") - after.count("\n")
        after = changed
        comments.append(f"# {sanitize(request.title)}\n")
    if after == before:
        return
    yield from reversed(comments)
    tab = "\t" if " " in name else ""  # as git writes it: a tab ends a name with blanks
    old, new = (text.split("\n") for text in (before, after))
    diff = difflib.unified_diff(_ended(old), _ended(new), f"a/{name}{tab}", f"b/{name}{tab}")
    for text in diff:
        yield text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n"


def _ended(lines: list[str]) -> list[str]:
    """Return lines with their newlines; the last one has none where the file does not end with one."""
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


class _Files:
    """Files below a directory that may be edited."""

    def __init__(self, root: str) -> None:
        self._roots = tuple(dict.fromkeys((os.path.abspath(root), os.path.realpath(root))))
        self.texts: dict[str, str] = {}
        """Name below the directory → contents."""

    def relative(self, path: str) -> str:
        """Return the name of a recorded file below the directory. Raises `Refused`."""
        shown = repr(sanitize(path)[:200])
        if "\0" in path or ".." in path.split("/") or sanitize(path) != path or any(char in path for char in '\t"\\'):
            raise Refused(f"{shown}: unusual file name")
        absolute = os.path.normpath(path if os.path.isabs(path) else os.path.join(self._roots[-1], path))
        for root in self._roots:
            if absolute.startswith(f"{root.rstrip('/')}/"):
                return absolute[len(root.rstrip("/")) + 1 :]
        raise Refused(f"{shown}: not below {self._roots[0]}; give its directory with --cwd")

    def read(self, path: str) -> str:
        """Return the contents of a recorded file. Raises `Refused`."""
        name = self.relative(path)
        if name not in self.texts:
            self.texts[name] = self._checked(name)
        return self.texts[name]

    def _checked(self, name: str) -> str:
        place = self._roots[-1]
        parts = name.split("/")
        for part in parts:
            place = os.path.join(place, part)
            try:
                status = os.lstat(place)
            except OSError as error:
                raise Refused(f"{name}: {error.strerror}") from None
            if stat.S_ISLNK(status.st_mode):
                raise Refused(f"{name}: {part} is a symbolic link")
            if status.st_uid != os.geteuid():
                raise Refused(f"{name}: {part} belongs to another user")
        try:
            data = read_small_file(place, MAX_BYTES, follow=False)
        except OSError as error:
            raise Refused(f"{name}: {error.strerror}") from None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise Refused(f"{name}: not UTF-8") from None
        if "\r" in text.replace("\r\n", ""):
            raise Refused(f"{name}: lines end with \\r")
        if "\f" in text or text.startswith("\ufeff"):
            raise Refused(f"{name}: has a byte order mark or a form feed")
        return text
