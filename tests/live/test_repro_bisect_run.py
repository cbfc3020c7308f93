"""The scripts of `tltui repro --bisect`, run by torch: each planted fault is named, and graphs without one have no difference."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from real import fresh, trace
from test_live import COMPILER, PROGRAMS, PYTHON, run, why_no_torch
from test_repro_scripts import run_scripts

from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.writers.repro.script import repro_of

pytestmark = pytest.mark.live


@dataclass(frozen=True)
class Fault:
    """A fault of `programs/faults.py`, whose function of `programs/repro_bisected.py` is the compile with the same number."""

    name: str
    node: str
    measured: str
    """A part of the first measurement."""
    bisector: str = ""
    """A part of the line of torch's bisector, which runs for some faults only: it compiles often."""


FAULTS = (
    Fault("pointwise", "sin = torch.sin(l_x_)", "sin: off by up to 0.03", r"'inductor'.* lowerings number 0 is left out: sin"),
    Fault("decomposed", "weights = torch.nn.functional.softmax(", "weights: off", r"number 0 is left out: .*aten\._softmax"),
    Fault("reduced", "layer_norm = torch.nn.functional.layer_norm(", "layer_norm: off"),
    Fault("backward_only", "tanh = torch.tanh(add)", "gradient of add: off", r"number \d+ is left out: .*aten\.tanh_backward"),
    Fault("not_a_number", "log = add_1.log()", "elements are NaN only compiled"),
    Fault("whole_numbers", "mul_2 = mul_1 * add_1", "128 of 128 elements differ"),
    Fault("type_of_result", "to = sub.to(torch.float64)", "torch.float64 in eager mode, torch.float32 compiled"),
    Fault("shape_of_result", "flip = torch.flip(mul, (1,))", "shape (8, 16) in eager mode, (8, 15) compiled"),
    Fault("two_results", "max_1 = torch.max(add, 1)", "max_1[1]: 8 of 8 elements differ"),
    Fault("in_place", "lerp_ = z.lerp_(l_y_, 0.25)", "z afterwards: off"),
    Fault("random", "gelu = torch._C._nn.gelu(add)", "gelu: off"),
    Fault("together", "erf = torch.erf(add)", "erf: off"),
    Fault("two_faults", "silu = torch.nn.functional.silu(l_x_)", "silu: off"),
    Fault("half_precision", "softplus = torch._C._nn.softplus(add)", "softplus: off"),
    Fault("autocast", "atan = torch.atan(float_1)", "atan: off"),
    Fault("failing", "roll = torch.roll(add, 1, 1)", "fails: BackendCompilerFailed"),
)
REAL = (
    ("torch-2.13/train", "0/0", None),
    ("torch-2.13/train", "0/0", "aot_forward_graph"),
    ("torch-2.13/train", "0/0", "aot_joint_graph"),
    ("torch-2.13/recompiles", "0/0", None),
    ("torch-2.13/dyn", "1/0", None),
    ("torch-2.13/dyn", "2/0", None),
    ("torch-2.13/cache_hit", "0/0", None),
    ("torch-2.13/ca", "0/0", None),
)
"""Compiles of real traces, and the graph if it is not the best one."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for scripts: they share compiled headers in it."""
    return tmp_path_factory.mktemp("scripts")


@pytest.fixture(scope="module")
def compiles(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The trace of the functions in which faults are planted, recorded without Inductor."""
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(f"TLTUI_TEST_TORCH=1, but torch doesn't import in {PYTHON}: {why_no_torch()}")
        pytest.skip(f"torch doesn't import in {PYTHON}: {why_no_torch()}")
    if not COMPILER:
        pytest.skip("no C++ compiler: Inductor compiles nothing")
    directory = tmp_path_factory.mktemp("bisected")
    environment = {**os.environ, "TORCH_TRACE": str(directory), "BACKEND": "eager"}
    done = run([PYTHON, str(PROGRAMS / "repro_bisected.py")], env=environment)
    assert done.returncode == 0, done.stderr
    return fresh(directory)


def write(node: object, target: Path, only: str | None = None) -> Path:
    """Write the script of a compile."""
    assert isinstance(node, Compile)
    result = repro_of(node, only, bisects=True)
    assert result.script, result.refused
    target.write_text(result.script, encoding="ascii")
    return target


def line_of(out: str, label: str) -> str:
    """The first line with a label."""
    return next(line.partition(":")[2].strip() for line in out.splitlines() if line.strip().startswith(f"{label}:"))


def cases(values: Sequence[Any], quick: Container[Any]) -> list[Any]:
    """Mark all values but the quick ones as exhaustive: each compiles for half a minute."""
    return [value if value in quick else pytest.param(value, marks=pytest.mark.exhaustive) for value in values]


QUICK = {"not_a_number", "in_place", "together"}


@pytest.mark.parametrize("fault", cases(FAULTS, [fault for fault in FAULTS if fault.name in QUICK]), ids=lambda fault: fault.name)
def test_a_fault_is_named(fault: Fault, compiles: Run, directory: Path) -> None:
    script = write(compiles.resolve(f"{FAULTS.index(fault)}/0"), directory / "differs.py")
    options = [] if fault.bisector else ["--no-bisector"]
    [(code, out, err)] = run_scripts([[f"fault:{fault.name}", str(script), "--limited", *options]], directory)
    assert code == 1, out + err
    assert re.search(r"^FAILS: " if fault.name == "failing" else r"^DIFFERS: ", out, re.MULTILINE)
    assert line_of(out, "node").startswith(fault.node), out
    assert re.search(rf"repro_bisected\.py:\d+ in {fault.name}: ", line_of(out, "source"))
    assert fault.measured in line_of(out, "measured")
    assert re.search(fault.bisector or "not asked", line_of(out, "bisector")), out
    count = re.search(r"^(\d+) compilations for \d+ nodes", out, re.MULTILINE)
    assert count
    assert int(count[1]) <= 10
    assert ("alone:    no, by itself it agrees" in out) == (fault.name == "together")
    if fault.name == "together":
        assert "it differs when it is compiled with the nodes before it, from node 4 on" in out
    if fault.name == "random":
        assert "not compared, because it draws random numbers: z = torch.nn.functional.dropout(mul, 0.5)" in out
        assert "not compared, because it draws random numbers: rand_like = torch.rand_like(z)" in out


@pytest.mark.parametrize("part", cases(range(4), [0]))
def test_without_a_fault_nothing_differs(part: int, compiles: Run, directory: Path) -> None:
    numbers = range(len(FAULTS))[part::4]
    scripts = [write(compiles.resolve(f"{number}/0"), directory / f"differs_{number}.py") for number in numbers]
    for code, out, err in run_scripts([[str(script), "--limited"] for script in scripts], directory):
        assert code == 0, out + err
        assert out.splitlines()[-1].startswith("NO DIFFERENCE: the compiled graph agrees with eager mode (")
        assert out.endswith(" nodes, 1 compilation)\n")


@pytest.mark.parametrize("graph", cases(REAL, REAL[3:5]))
def test_graphs_of_real_traces_do_not_differ(graph: tuple[str, str, str | None], compiles: Run, directory: Path) -> None:
    name, ref, only = graph
    script = write(trace(name).resolve(ref), directory / "differs.py", only)
    [(code, out, err)] = run_scripts([[str(script), "--limited"]], directory)
    assert code == 0, out + err
    assert "NO DIFFERENCE: " in out


@pytest.mark.exhaustive
def test_a_fault_in_a_model_is_named_where_it_is_first(compiles: Run, directory: Path) -> None:
    """The error of the first of four equal nodes is below the tolerance at the outputs of its prefix."""
    script = write(trace("torch-2.13/train").resolve("0/0"), directory / "differs.py")
    [(code, out, err)] = run_scripts([["fault:random", str(script), "--limited", "--no-bisector"]], directory)
    assert code == 1, out + err
    assert line_of(out, "node").startswith("input_2 = torch._C._nn.gelu(input_1, approximate='none')")
    assert line_of(out, "source") == "/home/user/models/train.py:11 in forward: return x+s.m(x)"
    assert line_of(out, "kernel") == "cpp_fused_gelu_view_2"


def test_the_script_runs_as_its_user_runs_it(compiles: Run, directory: Path) -> None:
    """In a child process with limits, with a device, a seed and a tolerance."""
    script = write(compiles.resolve("0/0"), directory / "differs.py")
    done = run([PYTHON, str(script), "--device", "cpu", "--seed", "3", "--tolerance", "1e-3"], cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NO DIFFERENCE: " in done.stdout


def test_a_script_with_the_name_of_a_module_of_python_does_not_run(compiles: Run, tmp_path: Path) -> None:
    done = run([PYTHON, str(write(compiles.resolve("0/0"), tmp_path / "bisect.py"))], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "rename this script: bisect is a module of Python, and torch would import the script in its place\n"
