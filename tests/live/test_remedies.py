"""The remedies of docs/recompiles.md, proven: torch runs each program, tltui names the remedy, torch runs it with the remedy.

Two processes of torch run all programs, one as they are and one with what tltui said: see `programs/remedies.py`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from test_live import PROGRAMS, PYTHON, run, why_no_torch

pytestmark = pytest.mark.live

PROGRAM = PROGRAMS / "remedies.py"


def torch(directory: Path, *arguments: str) -> dict[str, Any]:
    """Run the programs under TORCH_TRACE; the cases as they print them."""
    ours = ("TORCH", "INDUCTOR", "RANK")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {"TORCH_TRACE": str(directory), "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "OMP_NUM_THREADS": "1"}
    done = run([PYTHON, str(PROGRAM), *arguments], env=environment, cwd=directory.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads(done.stdout.strip().splitlines()[-1])
    assert isinstance(cases, dict)
    return cases


def recompiles(directory: Path) -> dict[str, Any]:
    """The frames that were compiled again, by function."""
    done = run([sys.executable, "-m", "tltui", "recompiles", str(directory), "--json"])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {frame["function"]: frame for frame in found.get("result", found)["frames"]}


def test_each_remedy_helps(tmp_path: Path) -> None:
    """Every case compiles again; tltui names the remedy; with it, as tltui wrote it, the recompiles are gone."""
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")
    before, after, said = tmp_path / "before", tmp_path / "after", tmp_path / "advice.json"
    cases = torch(before, "before")
    first = recompiles(before)
    assert first.keys() >= cases.keys(), "each case is compiled again"
    advice, wrong = {}, []
    for name, (remedy, _) in cases.items():
        named = {variation["remedy"]: variation for variation in first[name]["variations"]}
        if remedy not in named:
            wrong.append((name, remedy, sorted(named)))
        elif remedy:
            assert named[remedy]["proof"] == "proven"
            advice[name] = {"remedy": remedy, "code": named[remedy]["code"]}
    assert not wrong
    without = [name for name, (remedy, _) in cases.items() if not remedy]
    assert not any(variation["remedy"] for name in without for variation in first[name]["variations"])
    said.write_text(json.dumps(advice))
    torch(after, "after", str(said))
    second = recompiles(after)
    left = {name: second.get(name, {}).get("recompile_count", 0) for name in advice}
    assert left == {name: cases[name][1] for name in advice}
    gone = {name: first[name]["recompile_count"] - left[name] for name in advice}
    assert all(count > 0 or advice[name]["remedy"] == "nothing to do" for name, count in gone.items())
