"""A trace and the text of the same job that are both still being written: at the end each page is what a fresh start says."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs import unpacked
from replaying import Replay, follow, pages_of, refs_again, results_of

from tltui.model import input_joining


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["breaks", "recompiles", "ranks_redirect"])
def test_a_followed_case_is_what_a_fresh_start_gives(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_joining, "REST", 2.0 * seed)  # it is put together anew at each step, or at the end
    job = unpacked(name, tmp_path / "whole")
    files = [*sorted((job / "trace").iterdir()), *sorted(path for path in job.rglob("stderr.*") if path.stat().st_size)]
    sources = [path.rename(path.with_name(f"{number}_{path.name}")) for number, path in enumerate(files)]
    run, _, names, fresh = follow(Replay(sources, tmp_path / "job", seed))
    assert any(len(process.origins) > 1 for process in fresh.processes())
    known = {f"{compile_.key}" for compile_ in fresh.compiles()} | {f"process {own.key}" for own in fresh.processes()}
    names = {own for own in names if "CompileKey" not in own and not own.startswith("process ")} | {*known}
    refs = refs_again(fresh, names)
    assert refs_again(run, names) == refs
    assert pages_of(run, refs) == pages_of(fresh, refs)
    assert results_of(run, refs) == results_of(fresh, refs)
    assert run.finished and fresh.finished
