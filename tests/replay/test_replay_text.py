"""TORCH_LOGS text that is still being written: at the end each page is what a fresh start says."""

from __future__ import annotations

from pathlib import Path

import pytest
from replaying import Replay, follow, pages_of, refs_again, results_of
from text_inputs import unpacked


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["breaks/stderr.txt.xz", "made/ranks_torn.txt.xz", "levels/stderr.txt", "made/slurm_label.txt.xz"])
def test_a_followed_text_is_what_a_fresh_start_gives(name: str, seed: int, tmp_path: Path) -> None:
    run, _, names, fresh = follow(Replay([unpacked(name)], tmp_path / "job", seed))
    refs = refs_again(fresh, names)
    assert refs_again(run, names) == refs
    assert pages_of(run, refs) == pages_of(fresh, refs)
    assert results_of(run, refs) == results_of(fresh, refs)
    assert run.finished and fresh.finished
