"""Collectives of a compile, what its kernels are expected to take, and whether code and schedule have the same collectives.

`inductor_collective_schedule` and `inductor_runtime_and_tensor_meta` are written by `torch/_inductor/debug.py` for each graph that
is lowered; the comparison of the schedule with the code (`parity`) is tlparse's `check_collectives_parity`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tltui.analyses.ranks.facets.fact import NONE, Fact, digest_of, fact
from tltui.analyses.records import list_in, text_in
from tltui.trace.grammar import parse_json

_CALL = re.compile(rb"(?m)^(?![ \t]*#).*?torch\.ops\._c10d_functional\.(\w+)\.default\(")
_OP = re.compile(r"torch\.ops\._c10d_functional\.(\w+)\.default")
MARK = b"torch.ops._c10d_functional."
ESTIMATE = "estimated_runtime_ns"


def operations(text: bytes) -> list[str]:
    """The collectives of a schedule in their order, as torch names them."""
    try:
        value = parse_json(text)
    except ValueError:
        return []
    return [op if isinstance(op, str) else str(op) for op in value] if isinstance(value, list) else []


def collectives_fact(schedules: Sequence[bytes]) -> Fact:
    """The schedules of a compile in the order in which they were written; each collective a line, with its place."""
    lines = [
        f"{n}. {op.removeprefix('torch.ops.').removesuffix('.default')}"
        for n, op in enumerate((op for text in schedules for op in operations(text)), 1)
    ]
    return fact(lines) if lines else NONE


def parity_fact(schedules: Sequence[bytes], codes: Sequence[bytes]) -> Fact:
    """Collectives that the code calls more or less often than the schedules have them; nothing where all is right, or one of them
    is not there."""
    if not schedules or not any(MARK in code for code in codes):
        return NONE
    ops = (_OP.fullmatch(op) for text in schedules for op in operations(text))
    planned = Counter(match[1] for match in ops if match is not None)
    called = Counter(match[1].decode() for code in codes for match in _CALL.finditer(code))
    lines = [
        f"{name}: {planned[name]} in the schedule, {called[name]} in the code"
        for name in sorted(planned.keys() | called.keys())
        if planned[name] != called[name]
    ]
    return fact(lines) if lines else NONE


def estimates_fact(text: bytes) -> tuple[Fact, float]:
    """What the operations of a graph give, without what they are expected to take: that is measured on some machines, and no
    reason for two ranks to differ. And the nanoseconds of all of them together."""
    try:
        value = parse_json(text)
    except ValueError:
        return NONE, 0.0
    total = 0.0
    lines, parts = [], []
    for n, op in enumerate(list_in(value, "ops"), 1):
        expected = op.get(ESTIMATE) if isinstance(op, dict) else None
        total += expected if isinstance(expected, (int, float)) else 0.0
        outputs = " ".join(_output(output) for output in list_in(op, "outputs"))
        line = f"{n}. {text_in(op, 'name') or '?'} {outputs}".strip()
        lines.append(line)
        parts.append(line.encode("utf-8", "replace"))
    return (Fact(digest_of(parts), "\n".join(lines)[:4096]) if lines else NONE), total


def _output(output: Any) -> str:
    if not isinstance(output, dict):
        return "?"
    return f"{output.get('dtype')} {output.get('shape')} stride {output.get('stride')}"
