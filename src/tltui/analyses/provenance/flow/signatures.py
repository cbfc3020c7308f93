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
_LAST = re.compile(r"(\w+)\s*(?::.*)?$")


def signature(lines: Sequence[str], definition: Definition) -> tuple[str, ...]:
    """The use of each parameter of a kernel in order: READ, WRITE, BOTH, or NEITHER for a number; () where
    it is not found, and of a kernel that the user wrote."""
    last = min(definition.last, definition.first + MAX_HEAD)
    triton = definition.kind != "cpp_pybinding" and definition.kind != "cpp"
    for n in range(definition.first, min(last + 1, len(lines))):
        line = lines[n]
        if triton and "def " in line and (found := _DEF.match(line)):
            uses = tuple(map(_use_in_triton, _parameters(lines, n, last, found.end())))
            return uses if any(uses) else ()
        if not triton and "kernel" in line and (found := _CPP.search(line)) and not line.lstrip().startswith("#"):
            return tuple(map(_use_in_cpp, _parameters(lines, n, last, found.end())))
    return ()


def _parameters(lines: Sequence[str], n: int, last: int, start: int) -> list[str]:
    text, depth = "", 1
    for at in range(n, min(last + 1, len(lines))):
        for mark in lines[at][start if at == n else 0 :]:
            depth += (mark in "([{") - (mark in ")]}")
            if depth == 0:
                return [part for part in arguments(text) if part]
            text += mark
    return []


def _use_in_triton(parameter: str) -> str:
    name = parameter.partition(":")[0].partition("=")[0].strip()
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
