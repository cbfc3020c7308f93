"""`tltui run --record-steps` with the torch that is installed: programs that know nothing of it, and the profiles that they leave.

Run as test_live.py is.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_live import PYTHON, why_no_torch
from test_run import environment, line

from tltui.questions.runtime.page import recording_of

pytestmark = pytest.mark.live
LOOP = """
import os, sys, torch
from torch import nn
if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

def step():
    for _ in range(2):                      # two calls of what is compiled a step
        compiled(torch.randn(16, 32)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TRAINING = LOOP + """
for _ in range(7):
    step()
print("done", flush=True)
if "RANK" in os.environ:
    torch.distributed.destroy_process_group()
"""
INFERENCE = """
import torch
@torch.compile(backend='eager')
def prefill(x):
    return x.sin() + 1
@torch.compile(backend='eager')
def decode(x):
    return (x @ x).relu()
with torch.no_grad():
    x = prefill(torch.randn(32, 32))
    for _ in range(6):
        decode(x)
"""
COMPILED_STEP = """
import torch
from torch import nn
model = nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=.1)
@torch.compile(backend="aot_eager")
def train(x):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
for _ in range(6):
    train(torch.randn(4, 16))
"""
"""Dynamo reads what torch calls after an optimizer's step: ours must add nothing to what is compiled."""
WITH_PROFILER = LOOP + """
for _ in range(3):
    step()
with torch.profiler.profile() as profiler:
    step()
print(sum("Torch-Compiled Region" in event.name for event in profiler.events()))
raise ValueError("as always")
"""
EAGER = ("torch.compile(model)", "torch.compile(model, backend='eager')")
"""Where kernels do not matter: nothing is to be compiled by C++."""


@pytest.fixture(autouse=True, scope="module")
def torch_is_there() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(why_no_torch())
        pytest.skip(why_no_torch())


def run(home: Path, program: str, steps: str, *launcher: str) -> subprocess.CompletedProcess[str]:
    (home / "job.py").write_text(program)
    words = line("--record-steps", steps, "-o", home / "trace", "--", *(launcher or (PYTHON,)), "job.py")
    return subprocess.run(words, cwd=home, env=environment(home), check=False, capture_output=True, text=True, timeout=300)


def profiles(home: Path) -> list[Path]:
    assert not list((home / "trace").glob("*.part"))
    return sorted((home / "trace").glob("profile_*.json"))


def counted(path: Path) -> dict[str, int]:
    """How often events of some kinds are in a profile."""
    names = [event.get("name", "") for event in json.loads(path.read_text())["traceEvents"] if event.get("ph") == "X"]
    kinds = ("Torch-Compiled Region", "Optimizer.step#", "## Call CompiledFxGraph", "graph_0_cpp_fused")
    found = {kind: sum(name.startswith(kind) for name in names) for kind in kinds}
    return found | {name: 1 for name in sorted(names) if name.startswith("ProfilerStep#")}


def compiles(trace: Path) -> list[tuple[str, str]]:
    """What was compiled, and what became of it."""
    words = [word if word != "run" else "ls" for word in line(trace, "--json")]
    done = subprocess.run(words, cwd=trace, env=environment(trace), check=True, capture_output=True, text=True, timeout=60)
    [process] = json.loads(done.stdout)["result"]["ranks"][0]["processes"]
    return [(item["id"], item["status"]) for item in process["compiles"]]


def runtime(home: Path) -> dict[str, Any]:
    """What `tltui runtime` says of the directory."""
    words = [word if word != "run" else "runtime" for word in line(home / "trace", "--json")]
    done = subprocess.run(words, cwd=home, env=environment(home), check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout)["result"])


def test_a_training_loop(tmp_path: Path) -> None:
    """A step ends with the optimizer's, however often compiled functions are called in it."""
    done = run(tmp_path, TRAINING, "3:5")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    [path] = profiles(tmp_path)
    assert counted(path) == {
        "Torch-Compiled Region": 6, "Optimizer.step#": 3, "## Call CompiledFxGraph": 12, "graph_0_cpp_fused": 18,
        "ProfilerStep#3": 1, "ProfilerStep#4": 1, "ProfilerStep#5": 1,
    }  # fmt: skip
    assert f"tltui: recorded: {path}" in done.stderr
    said = runtime(tmp_path)
    [compile_] = said["compiles"]
    assert (compile_["ref"], compile_["regions"], [graph["calls"] for graph in compile_["graphs"]]) == ("0/0", 6, [6, 6])
    assert [kernel["calls"] for graph in compile_["graphs"] for kernel in graph["kernels"]].count(6) == len(
        [kernel for graph in compile_["graphs"] for kernel in graph["kernels"]]
    )


def test_the_lines_to_paste(tmp_path: Path) -> None:
    """With the loop of the program in the place of theirs."""
    lines = "\n".join(recording_of(None).lines)
    lines = lines.replace("        ...\n        optimizer.step()", "        step()").replace("in loader", "in range(12)")
    begin, middle, end = lines.partition("def save")
    (tmp_path / "job.py").write_text(begin + LOOP + middle + end)
    words = line("-o", tmp_path / "trace", "--", PYTHON, "job.py")
    done = subprocess.run(words, cwd=tmp_path, env=environment(tmp_path), check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = counted(tmp_path / "trace" / "profile.json")
    assert (found["Torch-Compiled Region"], found["graph_0_cpp_fused"], found["Optimizer.step#"]) == (12, 36, 6)
    assert "1 compile" in done.stderr


def test_calls_where_there_is_no_optimizer(tmp_path: Path) -> None:
    done = run(tmp_path, INFERENCE, "2:4")
    assert done.returncode == 0, done.stderr
    [path] = profiles(tmp_path)
    found = counted(path)
    assert {name for name in found if name.startswith("ProfilerStep#")} == {"ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"}
    [compile_] = runtime(tmp_path)["compiles"]
    assert (compile_["ref"], compile_["regions"]) == ("1/0", 3)


def test_what_is_compiled_is_what_would_be(tmp_path: Path) -> None:
    done = run(tmp_path, COMPILED_STEP, "2:3")
    assert done.returncode == 0, done.stderr
    assert len(profiles(tmp_path)) == 1
    bare = subprocess.run([PYTHON, "job.py"], cwd=tmp_path, env={**environment(tmp_path), "TORCH_TRACE": str(tmp_path / "bare")},
                          check=False, capture_output=True, text=True, timeout=300)  # fmt: skip
    assert bare.returncode == 0, bare.stderr
    assert compiles(tmp_path / "trace") == compiles(tmp_path / "bare") != []


def test_the_ranks_of_torchrun(tmp_path: Path) -> None:
    launcher = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    done = run(tmp_path, TRAINING.replace(*EAGER), "2:3", *launcher)
    assert done.returncode == 0, done.stderr
    found = profiles(tmp_path)
    assert [path.name.split("_")[2] for path in found] == ["0", "1"]
    assert [counted(path)["Torch-Compiled Region"] for path in found] == [4, 4]
    ranks = [json.loads(path.read_text())["distributedInfo"]["rank"] for path in found]
    assert ranks == [0, 1]
    said = json.dumps(runtime(tmp_path))
    assert said.count('"regions": 4') == 2 or said.count('"regions":4') == 2, said[:2000]


def test_a_job_that_ends_early_and_has_a_profiler(tmp_path: Path) -> None:
    """Its own profiler comes first; what it would have left is what it leaves."""
    done = run(tmp_path, WITH_PROFILER.replace(*EAGER), "2:9")
    assert done.returncode == 1
    assert done.stdout == "2\n"
    assert "ValueError: as always" in done.stderr
    assert "tltui: --record-steps: the program starts its own profiler: the steps recorded before are in " in done.stderr
    [path] = profiles(tmp_path)
    assert counted(path)["Optimizer.step#"] == 2


def test_a_job_that_ends_too_early(tmp_path: Path) -> None:
    done = run(tmp_path, TRAINING.replace(*EAGER), "9:12")
    assert done.returncode == 0
    assert "tltui: --record-steps: the program ended in step 8, before step 9: no steps were recorded" in done.stderr
    assert profiles(tmp_path) == []
    assert "tltui: no profile was written. To record one:" in done.stderr
