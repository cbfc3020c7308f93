"""Entries of `TORCH_COMPILE_DYNAMIC_SOURCES` against torch's own `is_dynamic_source`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest
from dynamic_source_rules import HOSTILE
from test_live import PYTHON, run, why_no_torch

from tltui.questions.recompiles.dynamic_sources import entry_of

pytestmark = pytest.mark.live

PROGRAM = """
import json, sys
import torch
from torch._dynamo.variables.builder import is_dynamic_source
entries, sources = json.load(sys.stdin)
results = []
for entry in entries:
    torch.compiler.config.dynamic_sources = entry
    results.append([source for source in sources if is_dynamic_source(source)])
print(json.dumps(results))
"""


def skip_without_torch() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")


def test_torch_matches_the_meant_source_only() -> None:
    skip_without_torch()
    entries = [*map(entry_of, HOSTILE), ",".join(map(entry_of, HOSTILE))]
    done = run([PYTHON, "-c", PROGRAM], input=json.dumps([entries, HOSTILE]))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [*([source] for source in HOSTILE), list(HOSTILE)]


WRAPPER = """
import sys, torch
@torch.compile(backend="eager")
def of_a_wrapper(**kwargs):
    return kwargs["x"].sin()
for n in map(int, sys.argv[1:]):
    of_a_wrapper(x=torch.ones(n))
"""


@pytest.mark.parametrize(("sizes", "remedy"), [(("3", "5", "7"), "dynamic sources"), (("5", "1"), "unbacked sources")])
def test_the_assignment_as_printed_removes_the_recompilations(sizes: tuple[str, ...], remedy: str, tmp_path: Path) -> None:
    """The page has it on one line of its own; with it, as many recompilations remain as predicted."""
    skip_without_torch()
    program = tmp_path / "wrapper.py"
    program.write_text(WRAPPER)

    def recompiles(directory: str, assignment: str = "") -> tuple[int, dict[str, object] | None, str]:
        settings = dict(word.split("=", 1) for word in shlex.split(assignment))
        environment = os.environ | {"TORCH_TRACE": str(tmp_path / directory), "OMP_NUM_THREADS": "1"} | settings
        done = run([PYTHON, str(program), *sizes], env=environment)
        assert done.returncode == 0, done.stderr
        done = run([sys.executable, "-m", "tltui", "recompiles", str(tmp_path / directory), "--json"])
        result = json.loads(done.stdout)["result"]
        page = run([sys.executable, "-m", "tltui", "recompiles", str(tmp_path / directory)]).stdout
        return result["recompiles"], result["frames"][0]["variations"][0] if result["frames"] else None, page

    before, variation, page = recompiles("before")
    assert variation is not None and variation["remedy"] == remedy
    assignment = str(variation["environment"])
    assert assignment in [line.strip() for line in page.splitlines()]
    after, _, _ = recompiles("after", assignment)
    assert (before, after) == (len(sizes) - (2 if remedy == "dynamic sources" else 1), 0)
