"""Steps, windows and regions of each trace with a profile, and what its process counted and timed itself (`truth.json`). Graphs are
held against it in test_runtime_facts.py."""

from __future__ import annotations

import json
from functools import cache

import pytest
import real

from tltui.questions.runtime.profile_results import Runtime
from tltui.questions.runtime.profile_sums import runtimes_of

PROFILED = real.TRACES / "profiler"
TRUTHS = sorted(str(path.relative_to(PROFILED)) for path in PROFILED.glob("*/truth*.json"))
WITH_CALLS = [name for name in TRUTHS if "calls" in json.loads((PROFILED / name).read_text())]


@cache
def runtimes(name: str) -> tuple[Runtime, ...]:
    run = real.fresh(PROFILED / name)
    run.profiles.read()
    found = runtimes_of(run)
    assert all(isinstance(item, Runtime) for item in found), found
    return tuple(item for item in found if isinstance(item, Runtime))


def test_there_are_some() -> None:
    assert len(TRUTHS) >= 10
    assert len(WITH_CALLS) >= 4


@pytest.mark.parametrize("name", TRUTHS)
def test_steps_and_the_window(name: str) -> None:
    truth = json.loads((PROFILED / name).read_text())
    mine = [item for item in runtimes(name.split("/")[0]) if item.pid == truth["pid"]]
    assert mine
    if truth["steps"]:
        assert [step.name for step in mine[0].steps] == [step["name"] for step in truth["steps"]]
        for step, told in zip(mine[0].steps, truth["steps"], strict=True):
            assert 0 <= told["us"] - step.duration_us < 400, step.name  # the first annotation of a process takes 0.3 ms to begin
    if truth["window_us"]:
        begin, end = truth["window_us"]
        assert begin - 5e4 < mine[0].begin_us < mine[0].end_us < end + 5e4
    if "active" in truth:
        names = [[int(step.name.partition("#")[2]) for step in item.steps] for item in mine]
        assert sorted(names) == truth["active"]


@pytest.mark.parametrize("name", WITH_CALLS)
def test_calls_of_compiles(name: str) -> None:
    truth = json.loads((PROFILED / name).read_text())
    [runtime] = runtimes(name.split("/")[0])
    assert {compile_.ref: compile_.regions.calls for compile_ in runtime.compiles} == truth["calls"]
