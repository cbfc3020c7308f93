"""torchrun starts jobs of three or four ranks that die, hang, restart or wait, and tltui reports the truth (`job_truths.py`).

Run with `pytest -m live tests/live`; see test_live.py. TLTUI_LIVE_ALL=1 runs all of them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from job_judge import ALONE, LIVE, OUTPUT, faults, printing
from job_runs import Job, start, warm_cache
from job_truths import TRUTHS
from test_live import COMPILER, PYTHON, why_no_torch

pytestmark = pytest.mark.live

USUAL = ("killed_backward", "restart_fails", "barrier_outside", "uneven_batch")
NAMES = [name for name in TRUTHS if name in USUAL or os.environ.get("TLTUI_LIVE_ALL") == "1"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    why = why_no_torch() or ("" if COMPILER else "there is no C++ compiler")
    if why and os.environ.get("TLTUI_TEST_TORCH") == "1":
        pytest.fail(f"TLTUI_TEST_TORCH=1, but these jobs cannot run with {PYTHON}: {why}")
    if why:
        pytest.skip(f"these jobs cannot run with {PYTHON}: {why}")
    return warm_cache(tmp_path_factory.mktemp("cache") / "warm", PYTHON)


@pytest.mark.parametrize("name", [name for name in NAMES if not TRUTHS[name].stops])
def test_a_job_that_ends(name: str, tmp_path: Path, cache: Path) -> None:
    job = start(name, tmp_path / "job", PYTHON, cache)
    try:
        assert set(job.wait()) == {TRUTHS[name].exit_code}, job.output().read_text()[-4000:]
    finally:
        job.stop()
    judge_the_end(job)


@pytest.mark.parametrize("name", [name for name in NAMES if TRUTHS[name].stops])
def test_a_job_that_hangs(name: str, tmp_path: Path, cache: Path) -> None:
    job = start(name, tmp_path / "job", PYTHON, cache)
    try:
        job.wait_until_it_hangs()
        if name.startswith("flight_recorder"):
            job.dump_flight_recorder()
        wrong = faults(name, LIVE, printing(job.trace, job.output()), has_stacks=shutil.which("py-spy") is not None)
        assert not wrong, "\n".join(wrong)
    finally:
        job.stop()
    judge_the_end(job)


def judge_the_end(job: Job) -> None:
    """Compare what is reported about the job that has ended with the truth: its logs alone, and with what it printed."""
    wrong = faults(job.name, ALONE, printing(job.trace)) + faults(job.name, OUTPUT, printing(job.trace, job.output()))
    assert not wrong, "\n".join(wrong)
