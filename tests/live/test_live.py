"""Programs run under TORCH_TRACE by the torch that is installed, and tltui opens what they wrote.

Run with `pytest -m live tests/live`. Skipped where torch doesn't import, unless TLTUI_TEST_TORCH=1 says that it
must. TLTUI_TORCH_PYTHON names another Python that has torch. Without a C++ compiler the backend is `aot_eager`.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.live

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = os.environ.get("TLTUI_TORCH_PYTHON", sys.executable)
COMPILER = next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)
BACKEND = "inductor" if COMPILER else "aot_eager"
Rows = list[dict[str, Any]]


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its output as text."""
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, **options)


@functools.cache
def why_no_torch() -> str:
    """Why torch doesn't import, nothing if it does."""
    done = run([PYTHON, "-c", "import torch"])
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """A function that runs a program under TORCH_TRACE, once, and gives what `tltui ls --json` says of its logs."""
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")
    if not COMPILER:
        print("no C++ compiler: the backend is aot_eager, not inductor", file=sys.stderr)

    @functools.cache
    def listing(name: str) -> dict[str, Any]:
        directory = tmp_path_factory.mktemp(name)
        run_program(name, directory)
        done = run([sys.executable, "-m", "tltui", "ls", str(directory / "trace"), "--json", "--check"])
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)["result"]
        assert isinstance(result, dict)
        return result

    return listing


def run_program(name: str, directory: Path) -> None:
    """Run a program so that its logs are in `directory`/trace and nothing comes from a cache."""
    ours = ("TORCH", "INDUCTOR", "RANK")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    environment |= {
        "BACKEND": BACKEND,
        "TORCH_TRACE": str(directory / "trace"),
        "TORCHINDUCTOR_CACHE_DIR": str(directory / "cache"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "INDUCTOR_PROVENANCE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = run([PYTHON, str(PROGRAMS / f"{name}.py")], env=environment, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr


def processes(listing: dict[str, Any], rank: int | None = None) -> Rows:
    """The processes of a rank."""
    found: Rows = [process for each in listing["ranks"] if each["rank"] == rank for process in each["processes"]]
    assert found, [each["rank"] for each in listing["ranks"]]
    for process in found:
        assert process["damaged_records"] == 0
        assert process["torch_version"]
        assert Path(process["file"]).name.startswith("dedicated_log_torch_trace_")
        checked = [artifact for row in process["compiles"] for artifact in row["artifacts"] if artifact["md5"]]
        assert checked
        assert all(artifact["md5_ok"] for artifact in checked)
    return found


def compiles(listing: dict[str, Any], rank: int | None = None) -> Rows:
    """The compiles of a rank with one process, without what has no id."""
    (process,) = processes(listing, rank)
    return [row for row in process["compiles"] if row["id"] != "[-/-]"]


def statuses(rows: Rows) -> dict[str, str]:
    """Compile id → status, in record order."""
    return {row["id"]: row["status"] for row in rows}


def artifact_names(row: dict[str, Any]) -> list[str]:
    return [artifact["name"] for artifact in row["artifacts"]]


def test_a_graph_break(trace: Callable[[str], dict[str, Any]]) -> None:
    rows = compiles(trace("breaks"))
    assert statuses(rows) == {"[0/0]": "break", "[1/0]": "ok"}
    first, second = rows
    assert first["facts"]["breaks"] == 1
    assert first["facts"]["restarts"]
    assert first["attempts"] == [0, 1]
    assert first["frame"]["name"] == "step"
    assert Path(first["frame"]["file"]).name == "breaks.py"
    assert first["duration_s"] > 0
    assert "dynamo_graph_break_reason" in artifact_names(first)
    assert second["frame"]["name"].startswith("torch_dynamo_resume_in_step")
    assert not second["facts"]["breaks"]


def test_recompiles(trace: Callable[[str], dict[str, Any]]) -> None:
    rows = compiles(trace("recompiles"))
    assert statuses(rows) == {"[0/0]": "ok", "[0/1]": "ok", "[0/2]": "ok"}
    assert ["recompile_reasons" in artifact_names(row) for row in rows] == [False, True, True]
    assert {row["frame"]["name"] for row in rows} == {"scale"}


def test_the_recompile_limit(trace: Callable[[str], dict[str, Any]]) -> None:
    rows = compiles(trace("limit"))
    assert [row["id"] for row in rows] == ["[0/0]", "[0/1]", "[0/2]", "[0/3]"]
    assert [row["facts"]["recompile_limit_hit"] for row in rows] == [False, False, False, True]
    assert rows[-1]["status"] == "eager"
    assert rows[-1]["frame"]["name"] == "sample", "named after its siblings"


def test_errors(trace: Callable[[str], dict[str, Any]]) -> None:
    rows = compiles(trace("errors"))
    assert statuses(rows) == {"[0/0]": "error", "[1/0]": "error"}
    assert all(row["facts"]["failed"] for row in rows)
    assert rows[1]["facts"]["fail_type"] == "BackendCompilerFailed"
    assert "backend [red]boom[/red]" in rows[1]["facts"]["fail_reason"]
    assert all("dynamo_error" in artifact_names(row) for row in rows)


def test_training_with_a_lazy_backward(trace: Callable[[str], dict[str, Any]]) -> None:
    (row,) = compiles(trace("train"))
    assert row["id"] == "[0/0]"
    assert row["status"] == "ok"
    assert row["facts"]["has_backward"]
    names = artifact_names(row)
    assert {"aot_forward_graph", "aot_backward_graph", "dynamo_cpp_guards_str"} <= set(names)
    if BACKEND == "inductor":
        units = [artifact["unit"] for artifact in row["artifacts"] if artifact["name"] == "inductor_output_code"]
        assert len(units) == 2
        assert ["forward" in units[0], "backward" in units[1]] == [True, True]


def test_ranks_that_diverge(trace: Callable[[str], dict[str, Any]]) -> None:
    listing = trace("ranks")
    assert [each["rank"] for each in listing["ranks"]] == [0, 1]
    assert statuses(compiles(listing, 0)) == {"[0/0]": "ok"}
    assert statuses(compiles(listing, 1)) == {"[0/0]": "ok", "[1/0]": "ok"}
    assert compiles(listing, 1)[1]["frame"]["name"] == "only"


def test_a_fork_is_two_processes(trace: Callable[[str], dict[str, Any]]) -> None:
    parent, child = processes(trace("fork"))
    assert parent["pid"] != child["pid"]
    names = [[row["frame"]["name"] for row in each["compiles"] if row["frame"]] for each in (parent, child)]
    assert names == [["parent"], ["child"]]
