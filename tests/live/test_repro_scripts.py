"""The scripts of `tltui repro`, run by torch: what can be made of every compile of five programs agrees with eager mode, or fails
as the job did."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from test_live import PYTHON, run, run_program, why_no_torch

pytestmark = pytest.mark.live

REFUSED = {
    "repro_failing": {
        "1/0": "has no graph: torch failed before it captured one (Unsupported)",
        "2/0": "torch.ops.repro.twice is a custom operator, and its code is not in the trace",
    }
}
FAILS = {("repro_failing", "0/0"): "ConstraintViolationError"}
COMPILES = {"repro_training": 3, "repro_shapes": 8, "repro_inference": 3, "repro_cached": 4, "repro_failing": 3}


@pytest.mark.parametrize("name", COMPILES)
def test_every_compile_comes_again(name: str, tmp_path: Path) -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")
    run_program(name, tmp_path)
    listed = run([sys.executable, "-m", "tltui", "repro", str(tmp_path / "trace")])
    assert listed.returncode == 0, listed.stderr
    *lines, last = listed.stdout.splitlines()
    refused = REFUSED.get(name, {})
    assert last.startswith(f"{COMPILES[name] - len(refused)} of {COMPILES[name]} compiles"), listed.stdout
    for line in lines:
        ref = re.split(r"\s", line)[0]
        if ref in refused:
            assert refused[ref] in line
        else:
            assert "  a script of " in line
            assert_comes_again(ref, tmp_path, FAILS.get((name, ref), ""))


def assert_comes_again(ref: str, directory: Path, failure: str) -> None:
    """Write the script of a compile, and run it."""
    script = directory / "repro.py"
    written = run([sys.executable, "-m", "tltui", "repro", str(directory / "trace"), ref, "-o", str(script), "--force"])
    assert written.returncode == 0, written.stderr
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(directory / "scripts"), "OMP_NUM_THREADS": "1"}
    done = run([PYTHON, str(script)], env=environment, cwd=directory)
    said = f"FAILS AS IN THE JOB: {failure}" if failure else "AGREES with eager mode"
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout
