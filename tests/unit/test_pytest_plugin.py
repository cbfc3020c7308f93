"""`-p tltui.pytest` where there is no torch, what it costs who does not use it, and what it says. With torch: tests/live."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import real

from tltui.questions.check.limits import BadLimit, Limit, parse_limits
from tltui.testing import check_limits, failure_message, limits_from, marker_limits, merge_limits, run_in

NO_TORCH = "raise ImportError('no torch on this machine')\n"
SUITE = """
import os, sys, pytest

def test_plain():
    assert "torch" not in sys.modules
    assert not [name for name in sys.modules if name.startswith(("tltui.", "textual", "rich")) and name != "tltui.pytest"]
    assert "TORCH_TRACE" not in os.environ

@pytest.mark.torch_compile(recompiles=0)
def test_marked():
    pass

def test_with_the_fixture(torch_compiles):
    torch_compiles.assert_no_recompiles()

def test_asking_later(request):
    request.getfixturevalue("torch_compiles")

@pytest.mark.torch_compile(recompile=0)
def test_wrong():
    pass
"""


def suite(home: Path, *options: str, program: str = SUITE) -> subprocess.CompletedProcess[str]:
    """A suite in a pytest of its own, in which torch cannot be imported."""
    (home / "lib").mkdir()
    (home / "lib" / "torch.py").write_text(NO_TORCH)
    (home / "test_suite.py").write_text(program)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TORCH", "PYTEST"))}
    environment |= {"PYTHONPATH": os.pathsep.join((str(home / "lib"), str(real.ROOT / "src"))), "COLUMNS": "150"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    words = [sys.executable, "-m", "pytest", "-p", "tltui.pytest", "-p", "no:cacheprovider", "--strict-markers", "-c", os.devnull,
             "--rootdir", str(home), "--basetemp", str(home / "tmp"), "-rA", *options, "test_suite.py"]  # fmt: skip
    return subprocess.run(words, cwd=home, env=environment, check=False, capture_output=True, text=True, timeout=60)


def test_without_torch(tmp_path: Path) -> None:
    """What needs it is skipped and says why; a wrong marker fails; who does not use it does not notice it."""
    done = suite(tmp_path)
    assert "tltui: records tests with the fixture torch_compiles or the marker torch_compile" in done.stdout
    assert "PASSED test_suite.py::test_plain" in done.stdout, done.stdout + done.stderr
    assert "torch cannot be imported: no torch on this machine" in done.stdout
    unknown = "the marker torch_compile: unknown limit: 'recompile'; did you mean recompiles? tltui check --help lists"
    assert unknown in done.stdout
    assert "1 passed, 3 skipped, 1 error" in done.stdout
    assert not list((tmp_path / "tmp").glob("tltui-*"))


def test_limits_for_all_without_torch(tmp_path: Path) -> None:
    done = suite(tmp_path, "--tltui-limits", "error,recompiles=2", "-k", "later or marked", "--tltui-keep", str(tmp_path / "kept"))
    assert "tltui: records every test" in done.stdout
    assert done.returncode == 0, done.stdout
    assert not (tmp_path / "kept").exists()


def test_a_bad_limit_is_said_at_once(tmp_path: Path) -> None:
    done = suite(tmp_path, "--tltui-limits", "errors")
    assert done.returncode == 4
    assert "ERROR: --tltui-limits: unknown limit: 'errors'; did you mean error? tltui check --help lists" in done.stderr


def test_it_is_listed_among_markers_fixtures_and_options(tmp_path: Path) -> None:
    done = suite(tmp_path, "--markers", program="")
    assert "@pytest.mark.torch_compile(*limits, recompiles=N, breaks=N, errors=N, …): record torch.compile" in done.stdout
    (tmp_path / "help").mkdir()
    done = suite(tmp_path / "help", "--help", program="")
    assert "--tltui-limits=LIMITS" in done.stdout and "--tltui-keep=DIR" in done.stdout


def test_it_is_loaded_only_when_it_is_asked_for() -> None:
    """An entry point `pytest11` would load it into every session of everybody."""
    assert "pytest11" not in (real.ROOT / "pyproject.toml").read_text()


# limits


def test_limits_of_a_marker() -> None:
    assert marker_limits((), {}) == parse_limits("error,eager,break,recompiles")
    assert marker_limits((), {"recompiles": 1, "breaks": 2}) == (Limit("recompiles", 1), Limit("break", 2))
    assert marker_limits((), {"errors": 0}) == (Limit("error", 0), Limit("eager", 0))
    assert marker_limits(("error,break=3",), {"compile_time": 2.5}) == (
        Limit("error"),
        Limit("break", 3),
        Limit("compile_time", 2.5),
    )
    assert merge_limits(limits_from("error,break"), marker_limits((), {"breaks": 4})) == (Limit("error"), Limit("break", 4))


@pytest.mark.parametrize(("arguments", "named"), [
    (("foo",), {}), ((), {"foo": 1}), ((), {"recompiles": "many"}), ((), {"recompiles": -1}), ((), {"recompiles": None}),
    (("compile_time",), {}), ((), {"guard_overhead": "5%"}), ((3,), {}),
])  # fmt: skip
def test_bad_limits(arguments: tuple[object, ...], named: dict[str, object]) -> None:
    with pytest.raises(BadLimit):
        marker_limits(arguments, named)


# what is said


def said(name: str, limits: str) -> str:
    run = real.trace(name)
    return failure_message(run, check_limits(run, limits_from(limits)), "tests/test_a.py::test_b[\x1b[31m]", "/tmp/a b")


def test_a_verdict_has_the_lines_of_the_pages() -> None:
    text = said("torch-2.13/recompiles", "error,recompiles=2")
    assert text.splitlines()[:2] == ["torch.compile: recompiles: 4, limit 2", "in tests/test_a.py::test_b[␛[31m]"]
    assert "    tensor size      x dim 0  3, 5, 4\n" in text
    assert text.endswith("\nfull trace: tltui '/tmp/a b'")
    assert said("torch-2.13/recompiles", "recompiles=4") == ""


def test_frames_of_torch_are_left_to_the_page() -> None:
    text = said("torch-2.13/outcomes", "error,break")
    assert "Call to `torch._dynamo.graph_break()`" in text
    assert "transform_code_object" not in text
    assert "more lines: tltui problems '/tmp/a b'" in text


def test_limits_without_a_page_of_reasons_list_them() -> None:
    text = said("torch-2.13/cache_miss", "cache_miss")
    assert "cache misses\n  [" in text and "FX graph cache missed: " in text


def test_where_nothing_was_written_nothing_is_read(tmp_path: Path) -> None:
    assert run_in(str(tmp_path)) is None
    assert run_in(str(tmp_path / "nowhere")) is None
