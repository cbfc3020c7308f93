"""The remedies of docs/recompiles.md, and what the page shapes advises, proven: torch runs each program, tltui names the remedy,
torch runs it with the remedy.

Two processes of torch run all programs, one as they are and one with what tltui said: see `programs/remedies.py`.
"""

from __future__ import annotations

import json
import os
import re
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
    return {frame["function"]: frame for frame in found["result"]["frames"]}


CALL = re.compile(r"torch\._dynamo\.[\w.]+\([^()]*\)")


def shapes(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """The compiles on the page of shapes, by function."""
    done = run([sys.executable, "-m", "tltui", "shapes", str(directory), "--json"])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    by_name: dict[str, list[dict[str, Any]]] = {}
    for compile_ in found["result"]["compiles"]:
        by_name.setdefault(compile_["function"], []).append(compile_)
    return by_name


def unsaid(first: dict[str, Any], cases: dict[str, Any]) -> list[object]:
    """The cases for which tltui does not name the remedy."""
    named = {name: {variation["remedy"] for variation in first[name]["variations"]} for name in cases}
    return [(name, remedy, named[name]) for name, (remedy, _) in cases.items() if remedy not in named[name]]


def code_of(frame: dict[str, Any], remedy: str) -> list[str]:
    """The lines of Python of a remedy, as tltui wrote them."""
    (found,) = [variation for variation in frame["variations"] if variation["remedy"] == remedy][:1]
    assert found["proof"] == "proven"
    return list(found["code"])


def wrong_predictions(first: dict[str, Any], cases: dict[str, Any], left: dict[str, int]) -> list[object]:
    """Return the remedies after which more or fewer recompilations remain than predicted."""
    wrong: list[object] = []
    for name, count in left.items():
        frame, remedy = first[name], cases[name][0]
        predictions = [variation["prediction"] for variation in frame["variations"] if variation["remedy"] == remedy]
        if frame["together"] and remedy in frame["together"]["remedies"]:
            predictions = [frame["together"]]  # the program has the remedy for all of them
        wrong += [
            (name, remedy, predicted["fewest"], predicted["most"], count)
            for predicted in predictions
            if predicted and not predicted["fewest"] <= count <= predicted["most"]
        ]
    return wrong


def _need_torch() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")


def test_bounds_of_a_mark_only_add_errors() -> None:
    """The reason why a mark is advised without min and max."""
    _need_torch()
    done = run([PYTHON, str(PROGRAMS / "mark_bounds.py")], env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout.strip().splitlines()[-1])
    compiles = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, int)}
    assert compiles == {"no bounds": 1, "no bounds, 0 and 1": 3, "no bounds, a branch": 2, "bounds": 1}


def test_each_remedy_helps(tmp_path: Path) -> None:
    """Every case compiles again; tltui names the remedy; with it, as tltui wrote it, the recompiles are gone."""
    _need_torch()
    before, after, said = tmp_path / "before", tmp_path / "after", tmp_path / "advice.json"
    programs = torch(before, "before")
    cases, sizes = programs["recompiles"], programs["shapes"]
    first, one = recompiles(before), shapes(before)
    assert first.keys() >= cases.keys(), "each case is compiled again"
    assert not unsaid(first, cases)
    without = [name for name, (remedy, _) in cases.items() if not remedy]
    assert not any(variation["remedy"] for name in without for variation in first[name]["variations"])
    advice = {name: {"code": code_of(first[name], remedy)} for name, (remedy, _) in cases.items() if remedy}
    for name, words in sizes.items():
        (text,) = [line for compile_ in one[name] for line in compile_["advice"] if words in line][:1]
        advice[name] = {"code": CALL.findall(text)}
    said.write_text(json.dumps(advice))
    torch(after, "after", str(said))
    second, other = recompiles(after), shapes(after)
    left = {name: second.get(name, {}).get("recompile_count", 0) for name in advice if name in cases}
    assert left == {name: cases[name][1] for name in left}
    assert not wrong_predictions(first, cases, left)
    gone = {name: first[name]["recompile_count"] - count for name, count in left.items()}
    assert all(count > 0 or cases[name][0] == "nothing to do" for name, count in gone.items())
    for name in sizes:
        assert name in first or one[name][0]["fail_type"], f"{name}: it was compiled again, or failed"
        assert name not in second and other[name][0]["fail_type"] is None, f"{name}: now it is compiled once"
