"""The script of `tltui warmup`, run by torch with an empty cache directory: afterwards the program compiles from the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_live import COMPILER, PROGRAMS, PYTHON, run, run_program, why_no_torch

pytestmark = pytest.mark.live

NAME = "warmup_calls"


def run_in(directory: Path, words: list[str], trace: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of torch with the cache directory of the directory, and a trace."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TORCH", "INDUCTOR", "RANK"))}
    environment |= {
        "TORCH_TRACE": str(trace), "TORCHINDUCTOR_CACHE_DIR": str(directory / "kept"), "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROGRAMS), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    return run([PYTHON, *words], env=environment, cwd=directory)


def json_of(*words: str) -> Any:
    """Return the result that a command of tltui prints."""
    done = run([sys.executable, "-m", "tltui", *words, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["result"]


def test_the_program_compiles_from_the_cache_after_the_script(tmp_path: Path) -> None:
    if why_no_torch() or not COMPILER:
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but no torch in {PYTHON} or no compiler: {why_no_torch()}")
        pytest.skip(f"no torch in {PYTHON} or no compiler: {why_no_torch()}")
    run_program(NAME, tmp_path)
    plan = json_of("warmup", str(tmp_path / "trace"))
    assert {call["function"] for call in plan["calls"]} == {"scores", "loss", "forward", "scaled", "broken"}
    assert {one["reason"] for one in plan["uncalled"]} == {
        "a lambda has no name", "after a graph break: a call of the function compiles it too"
    }  # fmt: skip
    script = tmp_path / "warmup.py"
    written = run([sys.executable, "-m", "tltui", "warmup", str(tmp_path / "trace"), "--module", NAME, "-o", str(script)])
    assert written.returncode == 0, written.stderr

    without = run_in(tmp_path, [str(script)], tmp_path / "no_trace")
    assert without.returncode == 2, without.stderr
    assert without.stderr.endswith(  # torch may warn before
        "warmup: supply an object for Model.forward in `make` at the top of this file, or delete the line\n"
    )

    text = script.read_text("ascii")
    script.write_text(text.replace("'Model.forward': None", f"'Model.forward': lambda: {NAME}.fast_model"), "ascii")
    warm = run_in(tmp_path, [str(script)], tmp_path / "script_trace")
    assert warm.returncode == 0, warm.stdout + warm.stderr
    assert ", 0 failed; FX graph cache: 0 hits" in warm.stdout

    program = run_in(tmp_path, [str(PROGRAMS / f"{NAME}.py")], tmp_path / "second_trace")
    assert program.returncode == 0, program.stderr
    caches = json_of("caches", str(tmp_path / "second_trace"))
    missed = {(one["function"], answer["cache"]) for one in caches["compiles"] for answer in one["answers"]
              if answer["state"] != "hit"}  # fmt: skip
    assert {function for function, _ in missed} == {"<lambda>"}
    assert {total["cache"]: total["hits"] for total in caches["totals"]}["FX graph cache"] >= 12
    assert caches["cold_start"]["saved_s"] > 0

    text = script.read_text("ascii")
    script.write_text(text.replace("'loss', None, 'warmup_calls.py', ", "'loss', None, 'warmup_calls.py', 1"), "ascii")
    edited = run_in(tmp_path, [str(script)], tmp_path / "edited_trace")
    assert edited.returncode == 1, edited.stderr
    assert f"no function of {NAME} is loss of warmup_calls.py:1" in edited.stderr
