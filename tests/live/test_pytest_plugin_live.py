"""`-p tltui.pytest` with the torch that is installed: a suite of a user's in a pytest of its own.

Run as test_live.py is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_live import PROGRAMS, PYTHON, run, why_no_torch

pytestmark = pytest.mark.live
ROOT = Path(__file__).resolve().parents[2]
SUITE = PROGRAMS / "compiling_tests.py"
EXAMPLE = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL | re.MULTILINE)[0]
"""The tests of docs/ci.md."""
PATHS = os.pathsep.join((str(ROOT / "src"), sysconfig.get_path("purelib")))
"""Tltui, and for a Python that has torch and no pytest those of this one."""


@pytest.fixture(autouse=True, scope="module")
def torch_is_there() -> None:
    if why_no_torch():
        if os.environ.get("TLTUI_TEST_TORCH") == "1":
            pytest.fail(why_no_torch())
        pytest.skip(why_no_torch())
    why = run([PYTHON, "-c", "import torch, pytest, tltui.pytest"], env={**os.environ, "PYTHONPATH": PATHS})
    if why.returncode:
        pytest.skip(f"{PYTHON} has torch and no pytest: {why.stderr.strip().splitlines()[-1]}")


class Suite:
    """A suite that was run: how each test ended, with what text."""

    def __init__(self, home: Path, *options: str, trace: Path | None = None) -> None:
        shutil.copy(SUITE, home / "test_suite.py")
        (home / "test_model.py").write_text(EXAMPLE)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("TORCH", "RANK", "PYTEST"))}
        environment |= {"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        if trace is not None:
            environment |= {"TORCH_TRACE": str(trace), "USERS_TRACE": str(trace)}
        words = [PYTHON, "-m", "pytest", "-p", "tltui.pytest", "-p", "no:cacheprovider", "--strict-markers",
                 "--basetemp", str(home / "tmp"), f"--junitxml={home / 'out.xml'}", "-c", os.devnull, "--rootdir", str(home),
                 *options, "test_suite.py", "test_model.py"]  # fmt: skip
        self.done = subprocess.run(words, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=300)
        self.text, self.ended = self.done.stdout, dict[str, str]()
        self.why: dict[str, str] = {}
        assert (home / "out.xml").exists(), self.done.stdout + self.done.stderr
        for case in ElementTree.parse(home / "out.xml").iter("testcase"):
            name = case.attrib["name"].removeprefix("test_" if case.attrib["classname"] == "test_suite" else "")
            (child,) = [child for child in case if child.tag in ("failure", "error", "skipped")] or [None]
            self.ended[name], self.why[name] = (child.tag, child.text or "") if child is not None else ("passed", "")


EXPECTED = {"passes": "passed", "fails": "failure", "errors": "error"}


def as_named(ended: dict[str, str]) -> dict[str, str]:
    """How the tests are to end, by their names; those of docs/ci.md pass."""
    return {name: "passed" if name.startswith("test_") else EXPECTED[name.split("_")[1]] for name in ended}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """The suite without options."""
    return Suite(tmp_path_factory.mktemp("suite"))


def test_each_test_ends_as_it_should(suite: Suite) -> None:
    assert len(suite.ended) == 14
    assert suite.ended == as_named(suite.ended), suite.text
    assert "tltui: records tests with the fixture torch_compiles or the marker torch_compile" in suite.text
    assert "Captured log" not in suite.text


def test_a_failure_has_the_sentences_of_the_pages(suite: Suite) -> None:
    why = suite.why["b_fails_recompiled"]
    assert why.startswith("torch.compile: recompiles: 1, limit 0\nin test_suite.py::test_b_fails_recompiled\n")
    assert "tensor rank x: 1 → 2" in why
    assert "The number of dimensions cannot be dynamic." in why
    broken = suite.why["e_fails_broken"]
    assert "torch_compiles.assert_no_breaks()" in broken, "the line of the test"
    assert "Call to `torch._dynamo.graph_break()`" in broken
    assert "src/tltui" not in broken, "none of our frames"
    assert "1 recompile of 1 frame" in suite.why["i_fails_in_a_process_of_its_own"]


def test_what_else_goes_wrong_is_said(suite: Suite) -> None:
    assert "Unsupported" in suite.why["f_fails_by_itself"]
    assert "torch.compile: error: 1, limit 0" in suite.text, "beside the traceback of the test"
    assert "torch compiled 1 time without logging it: the logger torch.__trace is disabled" in suite.why["j_fails_unlogged"]
    assert "guard_overhead: needs a profile, but tests record none" in suite.why["l_errors"]


def test_traces_of_what_failed_are_kept(suite: Suite) -> None:
    path = suite.why["b_fails_recompiled"].strip().rsplit("tltui ", 1)[1]
    assert [log.name.startswith("dedicated_log_torch_trace_") for log in Path(path).iterdir()] == [True]
    assert not list(Path(path).parent.glob("tltui-*passes*"))


def test_limits_for_all_kept_in_parallel_beside_a_trace(tmp_path: Path) -> None:
    """All options at once: every test is recorded, also without a marker, and the user's own TORCH_TRACE has all of it."""
    parallel = ("-p", "xdist.plugin", "-n", "2") if "xdist" in run([PYTHON, "-c", "import xdist; print('xdist')"], env={
        **os.environ, "PYTHONPATH": PATHS}).stdout else ()  # fmt: skip
    keep = ("--tltui-keep", "kept")
    some = ("-k", "test_a_ or test_c_ or test_d_ or test_h_")
    found = Suite(tmp_path, "--tltui-limits", "recompiles", *keep, *parallel, *some, trace=tmp_path / "users")
    assert found.ended == {
        "a_passes": "passed", "c_passes_as_much_as_allowed": "passed", "h_passes_with_torch_logging_set_up_anew": "passed",
        "d_passes_all_by_itself": "failure",  # it has no marker, and a recompile
    }, found.text  # fmt: skip
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {f"test_suite.py_test_{name}" for name in found.ended}
    assert len(list((tmp_path / "users").glob("*.log"))) == (2 if parallel else 1), "of each process"
