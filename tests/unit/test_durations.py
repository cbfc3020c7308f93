"""Which cases of a test function are quick, long and exhaustive."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from durations import EXPENSIVE_PPM, FUNCTION_BUDGET_PPM, LONG_FUNCTION_BUDGET_PPM, expensive_tests, long_tests, shares

TOOL = Path(__file__).resolve().parents[2] / "tools" / "record_durations.py"


def load_tool() -> ModuleType:
    """The script, which is in no package."""
    spec = importlib.util.spec_from_file_location(TOOL.stem, TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_cheapest_cases_are_quick_the_next_long_and_the_others_exhaustive() -> None:
    costs = (FUNCTION_BUDGET_PPM, FUNCTION_BUDGET_PPM + 1, LONG_FUNCTION_BUDGET_PPM - FUNCTION_BUDGET_PPM - 1, 3000, 3001)
    cases = {f"[{n}]": ppm for n, ppm in enumerate(costs)}
    assert long_tests({"a.py": {"test_a": cases}}) == {
        "a.py::test_a[1]": "long", "a.py::test_a[2]": "long", "a.py::test_a[3]": "exhaustive", "a.py::test_a[4]": "exhaustive",
    }  # fmt: skip


def test_an_expensive_test_without_cases_is_long() -> None:
    assert long_tests({"a.py": {"test_a": {"": 100 * LONG_FUNCTION_BUDGET_PPM}}}) == {"a.py::test_a": "long"}


def test_expensive_cases_begin_first() -> None:
    recorded = {"a.py": {"test_a": {"[0]": EXPENSIVE_PPM, "[1]": EXPENSIVE_PPM + 1}, "test_b": {"": 1}}}
    assert expensive_tests(recorded) == {"a.py::test_a[1]"}


def test_functions_within_the_budget_of_quick_tests_are_not_recorded() -> None:
    seconds = {"a.py::test_a[1]": 999.0, "a.py::test_a[2]": 0.9, "b.py::test_b": 0.1}
    assert shares(seconds) == {"a.py": {"test_a": {"[1]": 999000, "[2]": 900}}}


def test_children_that_other_tests_left_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = load_tool()
    totals, children = iter((10.0, 16.5)), iter(({1: 5.0, 2: 3.0}, {2: 3.0, 3: 1.0}))
    monkeypatch.setattr(tool, "cpu_s", lambda: next(totals))
    monkeypatch.setattr(tool, "children_s", lambda: next(children))
    recorder = tool.Recorder(Path())
    measuring = recorder.pytest_runtest_protocol(SimpleNamespace(nodeid="a.py::test_a"))
    next(measuring)
    with pytest.raises(StopIteration):
        measuring.send(None)
    assert recorder.seconds == {"a.py::test_a": 1.5}


def test_a_child_that_nobody_waited_for_is_measured() -> None:
    tool = load_tool()
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in tool.children_s()
        child.kill()
    assert child.pid not in tool.children_s()
