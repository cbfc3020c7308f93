"""A log that is still being written: nothing that a page says on the way is wrong, and at the end it is what a fresh start says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from replaying import Replay, follow, pages_of, refs_again, results_of

from tltui.model.run import Run

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"
SOME = ("breaks", "errors", "recompiles", "ddp", "ca", "cache_hit", "resets", "outcomes")
NAMES = sorted(path.name for path in TRACES.iterdir()) if os.environ.get("TLTUI_REPLAY_ALL") else SOME
SEEDS = range(int(os.environ.get("TLTUI_REPLAY_SEEDS", "2")))  # tools/long_run replay takes all traces and more seeds


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_followed_run_is_what_a_fresh_start_gives(name: str, seed: int, tmp_path: Path) -> None:
    check(Replay(sorted((TRACES / name).glob("*.log")), tmp_path / "trace", seed))


@pytest.mark.parametrize("name", ["torch-2.4", "torch-2.5", "torch-2.6", "torch-2.9"])
def test_a_log_that_does_not_state_its_version(name: str, tmp_path: Path) -> None:
    """What its torch writes is known better with every record, and nothing that was said before turns out wrong."""
    check(Replay(sorted((TRACES.parent / "versions" / name).glob("*.log")), tmp_path / "trace", 1))


@pytest.mark.parametrize("name", ["ranks", "backward", "epoch_begins", "epoch_backward", "after_failed_capture"])
def test_a_program_that_was_killed(name: str, tmp_path: Path) -> None:
    check(Replay(sorted((TRACES.parent / "hangs" / name).glob("*.log")), tmp_path / "trace", 2))


def test_a_restarted_process_writes_a_log_of_its_own(tmp_path: Path) -> None:
    (log,) = (TRACES / "recompiles").glob("*.log")
    data = log.read_bytes()
    pid = re.match(rb"V\d{4} \S+ (\d+) ", data)
    assert pid is not None
    again = tmp_path / "dedicated_log_torch_trace_b.log"
    again.write_bytes(re.sub(rb"(?m)^(V\d{4} \S+ )%b " % pid[1], rb"\g<1>%d " % (int(pid[1]) + 4711), data))
    run = check(Replay([log, again], tmp_path / "trace", 5))
    assert [process.number for process in run.processes()] == [1, 2]


def check(replay: Replay) -> Run:
    """Follow it, and compare with a fresh start."""
    run, said, names, fresh = follow(replay)
    refs = refs_again(fresh, names)
    assert refs_again(run, names) == refs
    final = pages_of(run, refs)
    assert final == pages_of(fresh, refs)
    assert results_of(run, refs) == results_of(fresh, refs)
    assert run.finished and fresh.finished
    assert said.missing(final) == []
    return run
