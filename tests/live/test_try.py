"""`tltui try` with the torch that is installed: programs that know nothing of it.

Run as test_live.py is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_live import PYTHON
from test_run import SOURCES as OURS
from test_run import environment

from tltui.questions.trials.changes import dynamic_source

pytestmark = pytest.mark.live
LAYERS = """
import time, torch
torch.manual_seed(0)

class Layer(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number, self.linear = number, torch.nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x) * (self.number + 1)

layers = [torch.compile(Layer(number), backend="aot_eager"{arguments}) for number in range(4)]
optimizer = torch.optim.SGD([p for layer in layers for p in layer.parameters()], lr=0.001)
for step in range(12):
    x = torch.randn(3 + step % 5, 16)
    for layer in layers:
        x = layer(x)
    loss = x.pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {{step}} loss {{loss.item():.6f}} after {{time.monotonic():.4f}} s")
"""


def tried(directory: Path, program: str, *options: str) -> dict[str, Any]:
    """Run `tltui try` on a program; return its report."""
    (directory / "train.py").write_text(program)
    start = f"import sys; sys.path.insert(0, {OURS!r}); from tltui.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", start, "try", "--json", "-o", "runs", *options, "--", PYTHON, "train.py"]
    done = subprocess.run(words, cwd=directory, env=environment(directory), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_changes_remove_what_they_promise(tmp_path: Path) -> None:
    report = tried(tmp_path, LAYERS.format(arguments=""))
    assert [outcome["counts"]["recompilations"] for outcome in report["unchanged"]] == [7, 7]
    counts = {outcome["change"].partition("=")[0]: outcome["counts"]["recompilations"] for outcome in report["changed"][:-1]}
    assert counts["torch.compile(dynamic"] == counts["TORCH_COMPILE_DYNAMIC_SOURCES"] == 3
    assert counts["torch._dynamo.config.allow_unspec_int_on_nn_module "] == 3
    together = report["changed"][-1]
    assert together["label"] == "all" and together["counts"]["recompilations"] == 1
    for outcome in report["changed"]:
        assert outcome["numbers"]["compared"] == 24 and outcome["numbers"]["varying"] == 12
        assert not outcome["numbers"]["differing"] and outcome["step_s"] > 0
    assert not list((tmp_path / "runs").glob("*/inductor")), "caches of a run are removed"


def test_arguments_of_the_program_win(tmp_path: Path) -> None:
    report = tried(tmp_path, LAYERS.format(arguments=", dynamic=False"), "--until-step", "6")
    counts = {outcome["change"]: outcome["counts"]["recompilations"] for outcome in report["changed"]}
    assert counts["torch.compile(dynamic=True)"] == report["unchanged"][0]["counts"]["recompilations"]
    output = (tmp_path / "runs" / "run-1" / "output.txt").read_text()
    assert "step 4 " in output and "step 6 " not in output


SOURCES = """
import json, sys, torch, torch._dynamo.variables.builder as builder
for entries, sources in json.load(sys.stdin):
    torch.compiler.config.dynamic_sources = entries
    print(json.dumps([bool(builder.is_dynamic_source(source)) for source in sources]))
"""
NAMES = (
    "L['x']", "L['xy']", "L['x'].a", "L['d']['use-cache']", "L['d']['usecache']", "L['d']['a b']", "L['args'][0]", "L['args'][01]",
)  # fmt: skip


def test_torch_matches_each_entry_with_its_source_alone() -> None:
    entries = {name: dynamic_source(name) for name in NAMES[:-1]}
    cases = json.dumps([(entry, NAMES) for entry in entries.values()])
    done = subprocess.run([PYTHON, "-c", SOURCES], input=cases, capture_output=True, text=True, check=True)
    for name, line in zip(entries, done.stdout.splitlines(), strict=True):
        assert [other for other, matches in zip(NAMES, json.loads(line), strict=True) if matches] == [name]


EDITED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, scale):
        return (x * scale).sum()

@torch.compile(backend="aot_eager")
def f(a, b=None):
    return a.sin() + 1

model = torch.compile(Model(), backend="aot_eager")

def main():
    for size in (4, 6, 8, 12):
        x = torch.ones(size, 3)
        y = f(x)
        z = model(torch.ones(size, size + 1), 2.0)
        print(f"{y.sum().item():.4f} {z.item():.4f}")

main()
"""


def test_an_applied_diff_leaves_as_many_recompilations_as_predicted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(EDITED)
    start = f"import sys; sys.path.insert(0, {OURS!r}); from tltui.cli import main; sys.exit(main())"
    ours = [sys.executable, "-c", start]

    def run(*words: str, **variables: str) -> str:
        env = environment(tmp_path) | variables
        return subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout

    before = run(PYTHON, "train.py", TORCH_TRACE=str(tmp_path / "before"))
    diff = run(*ours, "try", "--edit", "before")
    comments = [line for line in diff.splitlines() if line.startswith("# ")]
    assert len(comments) == 2 and all(line.endswith("recompilations 1 → 0") for line in comments)
    (tmp_path / "fix.diff").write_text(diff)
    run("patch", "-p1", "-i", "fix.diff")
    after = run(PYTHON, "train.py", TORCH_TRACE=str(tmp_path / "after"))
    counts = [json.loads(run(*ours, "summary", "--json", name))["result"]["tally"]["recompiles"] for name in ("before", "after")]
    assert counts == [2, 0] and after == before
