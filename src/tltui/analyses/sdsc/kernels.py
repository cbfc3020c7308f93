"""Which kernel of the generated code a file of torch-spyre is of.

    sdsc_fused_add_mul_0 = async_compile.sdsc('sdsc_fused_add_mul_0', [OpSpec(op='mul', …), OpSpec(op='add', …)])

In a unit the files are numbered over all kernels: they are dealt out in order, to each kernel as many as it has operations. In
torch-spyre's cache each kernel has a directory, `<8 hex>_<kernel>_<random>`, and the numbers begin at 0 in each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DEFINED = re.compile(r"^(?:#\s*)?(\w+) = async_compile\.sdsc\(")
_OP = re.compile(r"""\bOpSpec\(\s*op\s*=\s*(?:'([^'\n]{1,200})'|"([^"\n]{1,200})")""")
_CACHED = re.compile(r"[0-9a-f]{8}_(.+)_[^_]+\Z", re.DOTALL)
MOST_LINES = 20_000
"""Lines of one list of operations that are looked at."""


@dataclass(frozen=True, slots=True)
class SpyreKernel:
    """A kernel of the generated code."""

    name: str
    ops: tuple[str, ...]
    line: int
    """From 1."""


@dataclass(frozen=True, slots=True)
class Dealt:
    """The kernel that a file is of."""

    kernel: str
    place: int
    """Which of the operations of the kernel it is, from 1."""
    of: int
    """How many the kernel has."""
    line: int
    """Of the generated code, from 1; 0 where there is none."""
    agrees: bool
    """Whether code and file name the same operation, as far as both do."""


def kernels_in(lines: Sequence[str]) -> list[SpyreKernel]:
    """The kernels that generated code defines for torch-spyre, in order."""
    found: list[SpyreKernel] = []
    n = 0
    while n < len(lines):
        match = _DEFINED.match(lines[n])
        n += 1
        if match is None:
            continue
        first, depth, ops = n, 0, []
        for at in range(n - 1, min(n - 1 + MOST_LINES, len(lines))):
            line = lines[at]
            ops += [found_op[1] or found_op[2] for found_op in _OP.finditer(line)]
            depth += line.count("(") - line.count(")")
            n = at + 1
            if depth <= 0:
                break
        found.append(SpyreKernel(match[1], tuple(ops), first))
    return found


def dealt(kernels: Sequence[SpyreKernel], files: Sequence[tuple[int, str]]) -> dict[int, Dealt]:
    """Number of a file → its kernel. `files`: number and operation ('' where it cannot be read); those that are left over
    are of no kernel."""
    places = [(kernel, n) for kernel in kernels for n in range(len(kernel.ops))]
    found = {}
    for number, op in sorted(files):
        if number < len(places):
            kernel, n = places[number]
            found[number] = Dealt(kernel.name, n + 1, len(kernel.ops), kernel.line, not op or op == kernel.ops[n])
    return found


def kernel_of_directory(name: str) -> str:
    """The kernel of a directory of torch-spyre's cache; '' for any other name."""
    match = _CACHED.match(name)
    return match[1] if match else ""
