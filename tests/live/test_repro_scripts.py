"""The scripts of `tltui repro`, run by torch: what can be made of every compile of five programs agrees with eager mode, or fails
as the job did."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_live import PROGRAMS, PYTHON, run, run_program, why_no_torch

pytestmark = pytest.mark.live

REFUSED = {
    "repro_failing": {
        "1/0": "has no graph: torch failed before it captured one (Unsupported)",
        "2/0": "torch.ops.repro.twice is a custom operator, and its code is not in the trace",
    }
}
FAILS = {("repro_failing", "0/0"): "ConstraintViolationError"}
COMPILES = {"repro_training": 3, "repro_shapes": 8, "repro_inference": 3, "repro_cached": 4, "repro_failing": 3}


MANY = pytest.mark.exhaustive
"""Of a program with many compiles: 5 minutes on a slow machine."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=MANY if count > 4 else ()) for name, count in COMPILES.items()])
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
    ends = {}
    for line in lines:
        ref = re.split(r"\s", line)[0]
        if ref in refused:
            assert refused[ref] in line
        else:
            assert "  a script of " in line
            failure = FAILS.get((name, ref), "")
            ends[write_script(ref, tmp_path)] = f"FAILS AS IN THE JOB: {failure}" if failure else "AGREES with eager mode"
    results = run_scripts([[str(script)] for script in ends], tmp_path)
    for (script, end), (code, out, err) in zip(ends.items(), results, strict=True):
        assert code == 0, (script, out + err)
        assert end in out


def write_script(ref: str, directory: Path) -> Path:
    """Write the script of a compile."""
    script = directory / f"repro_{ref.replace('/', '_')}.py"
    written = run([sys.executable, "-m", "tltui", "repro", str(directory / "trace"), ref, "-o", str(script)])
    assert written.returncode == 0, written.stderr
    return script


def run_scripts(commands: Sequence[Sequence[str]], directory: Path) -> list[tuple[int, str, str]]:
    """Run scripts with their arguments in processes that share the import of torch; return exit codes, outputs and errors.

    They compile everything again, but share compiled headers and kernels of equal source with the program.
    """
    environment = {
        **os.environ, "TORCHINDUCTOR_CACHE_DIR": str(directory / "cache"), "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "0", "TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    done = run([PYTHON, str(PROGRAMS / "forked_scripts.py"), json.dumps(commands)], env=environment, cwd=directory)
    assert done.returncode == 0, done.stderr
    return [tuple(end) for end in json.loads(done.stdout)]
