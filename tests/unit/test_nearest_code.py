"""Of a compile without generated code: why it has none, and the nearest one that has. All of real traces."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import pytest
from real import TRACES, compile_at, fresh, trace

from tltui.questions.problems.absent_artifacts import Nearest, NoCode, has_code, has_lowered, no_code


def answer(steps: Generator[None, None, NoCode]) -> NoCode:
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        found: NoCode = stop.value
        return found


@pytest.mark.parametrize(("name", "ref", "why", "nearest"), [
    ("torch-2.13/breaks", "2/0", "no operations were captured before the graph break", "1/0 the nearest compile that has code"),
    ("torch-2.13/breaks", "none", "these records belong to no compile", "5/0 the nearest compile that has code"),
    ("torch-2.13/ca", "a0", "compiled autograd captured a backward; its graph has a different compile id",
     "0/0 the nearest compile that has code"),
    ("torch-2.13/ddp", "1:3/0", "no operations were captured", "1:4/0 the nearest compile on rank 1 that has code"),
    ("torch-2.13/errors", "0/0", "it failed in Dynamo", ""),
    ("torch-2.13/errors", "1/0", "it failed in the backend", ""),
    ("torch-2.13/outcomes", "1/0", "the backend is not Inductor: eager or a custom backend", ""),
    ("torch-2.13/outcomes", "3/2", "the recompile limit was reached, so nothing was compiled", ""),
    ("torch-2.8/skips", "0/0", "the function fell back to eager mode", ""),
    ("hangs/kernels", "0/0", "the log ends before any code existed", ""),
    ("hangs/interrupted", "0/0", "it was interrupted", ""),
])  # fmt: skip
def test_why_and_where(name: str, ref: str, why: str, nearest: str) -> None:
    run = trace(name)
    compile_ = compile_at(run, ref)
    assert not has_lowered(compile_)
    found = answer(no_code(run, compile_))
    assert found.why == why
    assert (f"{found.nearest.ref} {found.nearest.relation}" if found.nearest else "") == nearest


def test_the_same_function_is_nearest(tmp_path: Path) -> None:
    """The log of recompiles, cut where the third compile of f began; what went before is another function's."""
    [log] = (TRACES / "torch-2.13" / "recompiles").glob("*.log")
    whole = log.read_bytes()
    third = [match.start() for match in re.finditer(rb'(?m)^V.*\{"dynamo_start"', whole)][2]
    (tmp_path / "cut.log").write_bytes(whole[: whole.index(b"\nV", third) + 1])
    run = fresh(tmp_path)
    found = answer(no_code(run, compile_at(run, "0/2")))
    assert found == NoCode("the log ends before any code existed", Nearest("0/1", "the nearest compile of f that has code"))


def test_without_a_compile_it_is_the_first() -> None:
    found = answer(no_code(trace("torch-2.13/ddp"), None))
    assert found.nearest is not None and (found.nearest.ref, found.nearest.relation) == ("0:4/0", "the first compile that has code")
    aoti = answer(no_code(trace("torch-2.13/aoti"), None)).nearest
    assert aoti is not None and aoti.ref == "none", "AOTInductor writes its code without an id"


@pytest.mark.parametrize("name", ["torch-2.13/breaks", "torch-2.13/train", "torch-2.13/ddp", "torch-2.13/cache_hit"])
def test_what_has_code_can_be_shown(name: str) -> None:
    for compile_ in trace(name).compiles():
        assert not has_code(compile_) or has_lowered(compile_), compile_.ref
        found = answer(no_code(trace(name), compile_))
        assert found.nearest is None or has_code(compile_at(trace(name), found.nearest.ref))
