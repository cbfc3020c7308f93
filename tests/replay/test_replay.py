"""A log that is still being written: nothing that a page says on the way is wrong, and at the end it is what a fresh start says."""

from __future__ import annotations

from pathlib import Path

import pytest
from replaying import Replay, follow, pages_of, refs_again, results_of

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"
NAMES = ("breaks", "errors", "recompiles", "ddp", "ca", "cache_hit")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_a_followed_run_is_what_a_fresh_start_gives(name: str, seed: int, tmp_path: Path) -> None:
    run, said, names, fresh = follow(Replay(sorted((TRACES / name).glob("*.log")), tmp_path / "trace", seed))
    refs = refs_again(fresh, names)
    assert refs_again(run, names) == refs
    final = pages_of(run, refs)
    assert final == pages_of(fresh, refs)
    assert results_of(run, refs) == results_of(fresh, refs)
    assert run.finished and fresh.finished
    assert said.missing(final) == []
