"""torch compiles, and hangs or is killed at a known place: `tltui where` names it.

Run with `pytest -m live tests/live`; see test_live.py.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_live import COMPILER, PROGRAMS, PYTHON, run, why_no_torch

pytestmark = pytest.mark.live

KNOWN = runpy.run_path(str(PROGRAMS / "hangs.py"))["KNOWN"]
NEEDS_NO_COMPILER = ("tracing", "before_start", "backend", "second_attempt", "interrupted", "capture",
                     "after_failed_capture", "after_failure")
USUAL = (*NEEDS_NO_COMPILER, "lowering", "backward", "epoch_begins")
"""What is tried; the traces have them all, and TLTUI_LIVE_ALL=1 tries all of them."""
PATIENCE_S = 120
NAMES = [
    name for name in KNOWN
    if (COMPILER or name in NEEDS_NO_COMPILER) and (name in USUAL or os.environ.get("TLTUI_LIVE_ALL") == "1")
]  # fmt: skip


@pytest.fixture(autouse=True)
def torch_is_there() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")


def environment(directory: Path, **more: str) -> dict[str, str]:
    ours = ("TORCH", "INDUCTOR", "RANK")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | {
        "TORCH_TRACE": str(directory / "trace"), "TORCHINDUCTOR_CACHE_DIR": str(directory / "cache"), "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "PYTHONDONTWRITEBYTECODE": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", **more,
    }  # fmt: skip


def told(directory: Path, stacks: bool = False) -> dict[str, Any]:
    done = run([sys.executable, "-m", "tltui", "where", str(directory / "trace"), "--json", *["--stacks"] * stacks])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_is_killed(name: str, tmp_path: Path) -> None:
    threads = "2" if name == "kernels" else "1"
    done = run([PYTHON, str(PROGRAMS / "hangs.py"), name], env=environment(tmp_path, TORCHINDUCTOR_COMPILE_THREADS=threads))
    assert done.returncode == (-signal.SIGINT if name == "interrupted" else -signal.SIGKILL), done.stdout + done.stderr
    found = told(tmp_path)
    (group,) = found["where"]["groups"]
    if KNOWN[name] is None:
        assert group["state"] == "between", found["answer"]
    else:
        said = (group["activity"], group["function"], group["ids"][0]["id"], group["phases"][-1]["name"])
        assert said == KNOWN[name], found["answer"]


def test_a_program_that_hangs(tmp_path: Path) -> None:
    """It is alive: what it is in is said in the present."""
    command = [PYTHON, str(PROGRAMS / "hangs.py"), "backend"]
    child = subprocess.Popen(command, env=environment(tmp_path, HANG="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert waited(tmp_path, "The process is in f [0/0]: backend_compile since ")
    finally:
        child.kill()
        child.wait()
    assert told(tmp_path)["answer"].startswith("At the end of its log, the process was in f [0/0]: backend_compile since ")


def test_ranks_of_which_one_hangs(tmp_path: Path) -> None:
    """The others wait for it in a collective."""
    command = [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "4", str(PROGRAMS / "hang_ranks.py")]
    child = subprocess.Popen(
        command, env=environment(tmp_path, HANG="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        others = ". Ranks 0, 1, 3 have started no other compile since block1 [1/0]"
        assert waited(tmp_path, "Rank 2 is in block1 [2/0]: backend_compile since ", others)
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()


@pytest.mark.skipif(shutil.which("py-spy") is None, reason="py-spy is not installed")
def test_the_stacks_of_ranks_of_which_one_hangs(tmp_path: Path) -> None:
    """The others are in the all_reduce behind the compile in which rank 2 hangs; the first page names it too."""
    command = [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "4", str(PROGRAMS / "hang_ranks.py")]
    child = subprocess.Popen(
        command, env=environment(tmp_path, HANG="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        assert waited(tmp_path, "Rank 2 is in block1 [2/0]", "Ranks 0, 1, 3 have started no other compile since block1 [1/0]")
        first = run([sys.executable, "-m", "tltui", "summary", str(tmp_path / "trace")])
        assert "rank 2 is in block1 [2/0]: backend_compile since " in " ".join(first.stdout.split())
        answer = "Rank 2 has not reached the all_reduce at programs/hang_ranks.py:57, in which ranks 0, 1, 3 wait. It is at "
        assert waited(tmp_path, answer, " in backend, inside of torch.compile.", stacks=True)
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()


def waited(directory: Path, *texts: str, stacks: bool = False) -> bool:
    """Whether the answer comes to have these texts."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if any((directory / "trace").glob("*.log")) and all(text in told(directory, stacks)["answer"] for text in texts):
            return True
        time.sleep(1)
    return False
