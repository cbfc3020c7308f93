"""What a generated kernel does with each of its arguments, as its own code says.

Inductor names what it gives a kernel by use (`torch/_inductor/codegen/common.py`, `KernelArgs`): `in_ptr0` is read, `out_ptr0`
written, `in_out_ptr0` both; sizes have other names. Templates have names of their own; of these C++ tells by `const`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tltui.analyses.provenance.code import Definition
from tltui.analyses.provenance.flow.values import arguments

READ, WRITE, BOTH, NEITHER = "read", "write", "both", ""
MAX_HEAD = 400
"""Lines of a kernel in which its signature is looked for."""
_DEF = re.compile(r"^\s*def (\w+)\(")
_CPP = re.compile(r"\bkernel(?:_\w+)?\($|\bkernel\(")
_NAMED = re.compile(r"^(in_out|in|out)_(?:ptr|desc_ptr)\d*$|^(ws)_ptr\d*$|^(arg)_\w+$")
_USES = {"in": READ, "arg": READ, "out": WRITE, "in_out": BOTH, "ws": NEITHER}
_PARAMETER_LINE = re.compile(r"\*\s*(?:__restrict__\s+)?in_out_ptr\d+[,)]|^\s*def ")
_LAST = re.compile(r"(\w+)\s*$")


def signature(lines: Sequence[str], definition: Definition) -> tuple[str, ...]:
    """The use of each parameter of a kernel in order: READ, WRITE, BOTH, or NEITHER for a number; () where
    it is not found, and of a kernel that the user wrote."""
    last = min(definition.last, definition.first + MAX_HEAD)
    triton = definition.kind != "cpp_pybinding" and definition.kind != "cpp"
    for n in range(definition.first, min(last + 1, len(lines))):
        line = lines[n]
        if triton and "def " in line and (found := _DEF.match(line)):
            names = [part.partition(":")[0].partition("=")[0].strip() for part in _parameters(lines, n, last, found.end())]
            uses = _settled(lines, n, definition.last, names, list(map(_use_in_triton, names)))
            return uses if any(uses) else ()
        if not triton and "kernel" in line and (found := _CPP.search(line)) and not line.lstrip().startswith("#"):
            given = _parameters(lines, n, last, found.end())
            names = [name[1] if (name := _LAST.search(part)) else "" for part in given]
            return _settled(lines, n, definition.last, names, list(map(_use_in_cpp, given)))
    return ()


def _settled(lines: Sequence[str], first: int, last: int, names: Sequence[str], uses: list[str]) -> tuple[str, ...]:
    """What is written before it is read is not read: the kernel only works in memory that it was given."""
    waiting = {name: n for n, name in enumerate(names) if uses[n] == BOTH}
    for line in lines[first + 1 : last + 1] if waiting else ():
        name = next((name for name in waiting if name in line and re.search(rf"\b{name}\b", line)), "")
        if not name or _PARAMETER_LINE.search(line):
            continue
        place = waiting[name]
        if other := re.match(rf"^\s*auto (\w+) = {name};", line):
            waiting[other[1]] = place
            continue
        if re.search(rf"\bstore\w*\({name}\b|^\s*{name}\[.*\] = (?!.*\b{name}\b)", line):
            uses[place] = WRITE
        waiting = {name: n for name, n in waiting.items() if n != place}
    return tuple(uses)


def _parameters(lines: Sequence[str], n: int, last: int, start: int) -> list[str]:
    text, depth = "", 1
    for at in range(n, min(last + 1, len(lines))):
        for mark in lines[at][start if at == n else 0 :]:
            depth += (mark in "([{") - (mark in ")]}")
            if depth == 0:
                return [part for part in arguments(text) if part]
            text += mark
    return []


def _use_in_triton(name: str) -> str:
    found = _NAMED.match(name)
    return _USES[found[found.lastindex or 0]] if found else NEITHER


def _use_in_cpp(parameter: str) -> str:
    if "*" not in parameter:
        return NEITHER
    name = _LAST.search(parameter)
    found = _NAMED.match(name[1]) if name else None
    if found:
        return _USES[found[found.lastindex or 0]]
    return READ if parameter.lstrip().startswith("const ") else WRITE
