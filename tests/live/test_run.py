"""`tltui run` with the torch that is installed: ranks of torchrun, a launcher with a session of its own, a job that is killed.

Run as test_live.py is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_live import PYTHON, why_no_torch

import tltui

pytestmark = pytest.mark.live
SOURCES = str(Path(tltui.__file__).parents[1])
COMPILES = """
import os, sys, torch
@torch.compile(backend="eager")
def step(x):
    return torch.relu(x) * 2
step(torch.ones(3))
print("compiled", os.getpid(), flush=True)
"""
RANKS = "import torch.distributed as dist\ndist.init_process_group('gloo')\n" + COMPILES + "dist.destroy_process_group()\n"
HANGS = COMPILES + """
import time
def slow(module, inputs):
    print("inside", os.getpid(), flush=True)
    time.sleep(60)
    return module
torch.compile(lambda x: x + 1, backend=slow)(torch.ones(3))
"""


@pytest.fixture(autouse=True, scope="module")
def torch_is_there() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(why_no_torch())
        pytest.skip(why_no_torch())


def environment(home: Path) -> dict[str, str]:
    """Without variables of ours or of torch. tltui's sources go where the job's Python does not look."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TORCH", "INDUCTOR", "RANK", "PYTHON"))}
    return {**clean, "HOME": str(home), "OMP_NUM_THREADS": "1"}


def line(*arguments: str | Path) -> list[str]:
    start = f"import sys; sys.path.insert(0, {SOURCES!r}); from tltui.cli import main; sys.exit(main())"
    return [sys.executable, "-c", start, "run", *map(str, arguments)]


def run(home: Path, program: str, *command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    (home / "job.py").write_text(program)
    return subprocess.run(line(*options, "-o", home / "trace", "--", *command), cwd=home, env=environment(home), check=False,
                          capture_output=True, text=True, timeout=300)  # fmt: skip


def until(found: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_script(tmp_path: Path) -> None:
    done = run(tmp_path, COMPILES, PYTHON, "job.py", options=("--fail-on", "error,break"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("compiled ")
    assert " · 1 compile" in done.stderr
    assert "passed · 1 compile" in done.stderr
    assert done.stderr.splitlines()[-1] == f"tltui: trace directory: {tmp_path / 'trace'}"


def test_what_torch_was_asked_for_is_in_the_directory(tmp_path: Path) -> None:
    program = COMPILES.replace('backend="eager"', 'backend="aot_eager"')
    done = run(tmp_path, program, PYTHON, "job.py", options=("--debug", "--logs", "graph_code"))
    assert done.returncode == 0, done.stderr
    assert "[__graph_code]" in (tmp_path / "trace" / "torch_logs.txt").read_text()
    assert list((tmp_path / "trace" / "torch_compile_debug").glob("run_*"))
    assert not (tmp_path / "torch_compile_debug").exists()


def test_a_graph_break_fails_the_check(tmp_path: Path) -> None:
    program = COMPILES.replace("    return", "    torch._dynamo.graph_break()\n    return")
    done = run(tmp_path, program, PYTHON, "job.py", options=("--fail-on", "break"))
    assert done.returncode == 1
    assert "FAILED: 1 of 1 limits exceeded" in done.stderr


def test_nothing_is_compiled(tmp_path: Path) -> None:
    done = run(tmp_path, "import torch", PYTHON, "job.py", options=("--logs", "dynamo"))
    assert done.returncode == 0
    assert "no log was written into" in done.stderr
    assert "torch was imported (it started torch_logs.txt) but compiled nothing" in done.stderr


def test_the_environment_is_dropped(tmp_path: Path) -> None:
    done = run(tmp_path, COMPILES, "env", "-i", f"PATH={os.environ['PATH']}", f"HOME={tmp_path}", PYTHON, "job.py")
    assert done.returncode == 0
    assert "env -i clears the environment" in done.stderr


@pytest.mark.parametrize("session", [False, True])
def test_the_ranks_of_torchrun(session: bool, tmp_path: Path) -> None:
    launcher = [*(["setsid"] if session else []), PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = run(tmp_path, RANKS, *launcher, "job.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("compiled") == 2
    assert "2 ranks · 2 compiles" in done.stderr


def test_a_rank_fails(tmp_path: Path) -> None:
    launcher = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    done = run(tmp_path, RANKS + "sys.exit(3 * int(os.environ['RANK']))\n", *launcher, "job.py")
    assert done.returncode == 1, "torchrun's"
    assert "2 ranks · 2 compiles" in done.stderr


def started(home: Path, *launcher: str) -> tuple[subprocess.Popen[str], int]:
    """A job that hangs in its backend; its pid."""
    (home / "job.py").write_text(HANGS)
    process = subprocess.Popen(line("-o", home / "trace", "--", *launcher, PYTHON, "job.py"), cwd=home, env=environment(home),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    assert process.stdout is not None
    said = ""
    while not said.startswith("inside "):
        said = process.stdout.readline()
        assert said, process.communicate()
    return process, int(said.split()[1])


@pytest.mark.parametrize("launcher", [(), ("setsid",)])
def test_a_job_that_is_killed_inside_a_compile(launcher: tuple[str, ...], tmp_path: Path) -> None:
    process, pid = started(tmp_path, *launcher)
    os.kill(pid, signal.SIGKILL)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 137
    assert "was killed by SIGKILL" in error
    assert "did not finish compiling" in error


@pytest.mark.parametrize("launcher", [(), ("setsid",)])
def test_tltui_is_told_to_end(launcher: tuple[str, ...], tmp_path: Path) -> None:
    process, pid = started(tmp_path, *launcher)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "did not finish compiling" in error
    assert not Path(f"/proc/{pid}").exists()
