"""The kernel calls of generated code with their arguments: which buffers each of them writes and which it only reads.

Which arguments a kernel writes is told by its definition: of Triton by the names of its parameters (`in_ptr0` is read, `out_ptr0`
and `in_out_ptr0` are written), of C++ by their types (`const float*` is read). An external function writes what is assigned to,
and `out=`. Where the definition does not tell, an argument counts as both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tltui.analyses.provenance.result import PY, Kernel

WIDE = 100_000
"""Characters of one call that are looked at."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"^([A-Za-z_][\w, ]{0,4000}) = ")
_OUT = re.compile(r"^out\w*\s*=\s*([A-Za-z_]\w*)")
_PYBINDING = re.compile(r"async_compile\.cpp(?:_pybinding)?\(\[([^\]]*)\]")
_PARAMETERS = re.compile(r"^\s*def (\w+)\((.*)\):\s*$")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_OPEN, _CLOSED = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel that generated code calls."""

    kernel: Kernel
    writes: frozenset[str]
    reads: frozenset[str]

    @property
    def is_generated(self) -> bool:
        """Whether Inductor wrote its code; else a function of a library is called."""
        return self.kernel.definition is not None


def calls_of(kernels: Sequence[Kernel], lines: Sequence[str]) -> tuple[KernelCall, ...]:
    """The calls of the Python wrapper, in the order of the code. `lines` are those of the wrapper."""
    return tuple(_call(kernel, lines) for kernel in kernels if kernel.call_pane == PY and kernel.call_lines)


def _call(kernel: Kernel, lines: Sequence[str]) -> KernelCall:
    text = " ".join(lines[n - 1].strip() for n in kernel.call_lines if n <= len(lines))[:WIDE]
    modes = _modes(kernel, lines)
    writes: set[str] = set()
    reads: set[str] = set()
    if assigned := _ASSIGNED.match(text):
        writes.update(_NAME.findall(assigned[1]))
    text = _STRING.sub("''", text)
    begin = text.find("(", text.find(kernel.name.rpartition(".")[2]))
    for place, argument in enumerate(_arguments(text[begin + 1 :])) if begin >= 0 else ():
        if out := _OUT.match(argument):
            writes.add(out[1])
            continue
        name = _named(argument)
        if not name:
            continue
        mode = modes[place] if place < len(modes) else "" if kernel.definition else "r"
        if mode != "r":
            writes.add(name)
        if mode != "w":
            reads.add(name)
    return KernelCall(kernel, frozenset(writes), frozenset(reads))


def _arguments(text: str) -> Iterator[str]:
    """The arguments up to the bracket that closes the call."""
    depth = start = 0
    for n, char in enumerate(text):
        if char in _OPEN:
            depth += 1
        elif char in _CLOSED:
            depth -= 1
            if depth < 0:
                yield text[start:n].strip()
                return
        elif char == "," and depth == 0:
            yield text[start:n].strip()
            start = n + 1
    yield text[start:].strip()


def _named(argument: str) -> str:
    """The buffer of an argument: `buf3`, or the first in `reinterpret_tensor(buf3, …)`; '' for a number or a keyword."""
    if "=" in argument:
        return ""
    found: list[str] = _NAME.findall(argument[:400])
    if len(found) > 1 and "(" in argument:
        return found[1] if argument.startswith(found[0]) else found[0]
    return found[0] if found else ""


def _modes(kernel: Kernel, lines: Sequence[str]) -> tuple[str, ...]:
    """Of each parameter `r` (read), `w` (written) or '' (both, or not known); () where the definition does not tell."""
    if kernel.definition is None or kernel.definition_pane != PY:
        return ()
    first, last = kernel.definition
    head = lines[first - 1][:WIDE] if first <= len(lines) else ""
    if binding := _PYBINDING.search(head):
        return tuple("r" if kind.strip(" '\"").startswith("const ") else "" for kind in binding[1].split(","))
    for line in lines[first : min(last, len(lines))]:
        if "def " in line and (own := _PARAMETERS.match(line[:WIDE])):
            return tuple(_mode(name.strip()) for name in own[2].split(","))
    return ()


def _mode(parameter: str) -> str:
    return "r" if parameter.startswith("in_ptr") else "w" if parameter.startswith("out_ptr") else ""
