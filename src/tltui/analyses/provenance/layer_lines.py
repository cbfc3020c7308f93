"""Which lines of source are in the code of which module, as the guards of a compile tell.

The guard that a module has no `forward` of its own is made where it is called, and the guard on its parameters where it reads them:
both name file, line and function. So a line is known to be one of the caller's, or of the module itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tltui.analyses.provenance.layer_names import merged, source_path
from tltui.analyses.stacks.stacks import is_end_of

_CALLED = re.compile(
    r"not ___dict_contains\('forward', ([LG]\[[^\n]*?)\.__dict__\)  # ([^\n]*)  # (\S[^\n]*?):(\d{1,9}) in (\S+)"
)
_READ = re.compile(
    r"___check_type_id\(([LG]\[[^\n]*?)\._(?:parameters|buffers), [^\n]*?  # ([^\n]*)  # (\S[^\n]*?):(\d{1,9}) in (\S+)"
)
Naming = Callable[[str, tuple[str, ...]], str]
"""The variable of a module and its path there → its path in the model."""


@dataclass(frozen=True, slots=True)
class At:
    """A line that runs."""

    file: str
    function: str
    line: int


@dataclass(slots=True)
class Frames:
    """The code of modules: what is known of whose a line is. Modules that differ in numbers only have the same code."""

    calls: dict[str, At] = field(default_factory=dict)
    """Module → where it is called."""
    lines: dict[tuple[str, str], dict[int, set[str]]] = field(default_factory=dict)
    """File (its end) and function → line → the modules, numbers merged, whose code it is."""
    _files: dict[str, str] = field(default_factory=dict)

    def add(self, at: At, path: str) -> None:
        """A line of a module's own code."""
        self.lines.setdefault((self.file(at.file), at.function), {}).setdefault(at.line, set()).add(merged(path))

    def file(self, path: str) -> str:
        """The file as guards name it, by its path in a graph."""
        if path not in self._files:
            known = {file for file, _ in self.lines}
            self._files[path] = path if path in known else next((file for file in known if is_end_of(file, path)), path)
        return self._files[path]

    def owners(self, at: At) -> set[str]:
        """Whose code a line may be, numbers merged: of a function the lines follow each other, so it is that of the known lines
        around it."""
        known = self.lines.get((self.file(at.file), at.function))
        if not known:
            return set()
        if at.line in known:
            return known[at.line]
        ordered = sorted(known)
        n = bisect_left(ordered, at.line)
        around = ordered[max(n - 1, 0) : n + 1]
        return set().union(*(known[line] for line in around))

    def caller(self, path: str) -> str:
        """The module whose code calls a module: the nearest one around it that is called itself."""
        parts = path.split(".")[:-1]
        while parts and ".".join(parts) not in self.calls:
            parts.pop()
        return ".".join(parts)


def frames_of_guards(text: str, naming: Naming) -> Frames:
    """What the text of the guards (`dynamo_cpp_guards_str`) tells of the code of modules."""
    frames = Frames()
    read: list[tuple[str, At]] = []
    for path, at, _ in _found(_CALLED, text, naming):
        frames.calls.setdefault(path, at)
    for path, at, code in _found(_READ, text, naming):
        read.append((reader_of(path, "", code), at))
    for path, at in frames.calls.items():
        frames.add(at, frames.caller(path))
    for path, at in read:
        frames.add(at, path)
    return frames


def _found(pattern: re.Pattern[str], text: str, naming: Naming) -> Iterator[tuple[str, At, str]]:
    for found in pattern.finditer(text):
        source = source_path(found[1])
        if source is not None:
            yield naming(*source), At(found[3], found[5], int(found[4])), found[2]


def reader_of(path: str, name: str, code: str) -> str:
    """The module whose code reads a parameter: `self.embed.weight` stands in the one around `embed`."""
    parts = path.split(".") if path else []
    away = 0
    own = re.escape(name) if name else r"[A-Za-z]\w*"
    for found in re.finditer(rf"((?:\.\w+)*)\.{own}\b", code):
        words = [word for word in found[1].split(".") if word]
        same = 0
        while words and same < min(len(words), len(parts)) and words[-1 - same] == parts[-1 - same]:
            same += 1
        if same and same == len(words):
            away = max(away, same)
    return ".".join(parts[: len(parts) - away])


def mentions(name: str, code: str) -> bool:
    """Whether a line of code reads an attribute of this name."""
    return bool(name) and re.search(rf"\.{re.escape(name)}\b", code) is not None


def ancestors(path: str) -> Iterable[str]:
    """The module and those around it, itself first, '' last."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""
