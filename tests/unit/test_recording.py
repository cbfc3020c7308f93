"""How a profile is recorded, as it is told of a program."""

from __future__ import annotations

import ast

import pytest
from real import trace

from tltui.questions.runtime.page import (
    CHANGES_KEY,
    KERNEL_PROFILE,
    TRITON_REMARK,
    recording_document,
    recording_of,
    remarks,
)
from tltui.text.document import Options


@pytest.mark.parametrize(("name", "trains", "cpu", "gpu", "ranks", "loop"), [
    ("torch-2.13/train", True, True, False, 1, "train.py:21"),
    ("torch-2.13/breaks", False, True, False, 1, "breaks.py:14"),
    ("torch-2.13/ddp", False, True, False, 2, "ddp.py:9"),
    ("tlparse/two_gpus", False, False, True, 2, "test2.py:177"),
    ("profiler/plain", True, True, False, 1, "plain.py:22"),
    ("profiler/recompiles", False, True, False, 1, ""),
])  # fmt: skip
def test_what_the_program_is_like(name: str, trains: bool, cpu: bool, gpu: bool, ranks: int, loop: str) -> None:
    found = recording_of(trace(name))
    assert (found.trains, found.cpu, found.gpu, found.ranks) == (trains, cpu, gpu, ranks)
    assert (found.loop is not None) == bool(loop), "torch 2.13 often leaves the callers out"
    assert found.loop is None or f"{found.loop.file}:{found.loop.line}".endswith(loop)
    text = "\n".join(found.lines)
    ast.parse(text)
    assert (f"{KERNEL_PROFILE} = True" in text) == cpu
    assert ("optimizer.step()" in text) == trains
    assert ("get_rank()" in text) == (ranks > 1)
    assert (CHANGES_KEY in remarks(found), TRITON_REMARK in remarks(found)) == (cpu, gpu)


def test_nothing_is_known_of_the_program() -> None:
    """All that it may need is in it."""
    found = recording_of(None)
    assert (found.trains, found.cpu, found.gpu, found.ranks, found.loop) == (True, True, False, 1, None)
    text = "\n".join(recording_document(None, Options(width=80)).lines[n].text for n in range(12))
    assert f"  {KERNEL_PROFILE} = True\n" in text
