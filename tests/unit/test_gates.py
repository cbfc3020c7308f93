from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from real import ROOT, trace
from results import result_in

from tltui.cli import COMMANDS, main
from tltui.export import to_json
from tltui.model.run import Run
from tltui.questions.check.limits import MEASURES, BadLimit, Gates, Limit, gates, parse_limits
from tltui.text.document import Options
from tltui.writers.check_reports import check_document

ALL = ",".join(f"{name}=0{'%' if own.share else ''}" for name, own in MEASURES.items())


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    monkeypatch.setattr("tltui.questions.problems.problem_list.installed_torch", lambda: None)
    yield


def check(run: Run, text: str, baseline: Run | None = None) -> Gates:
    return gates(run, parse_limits(text, baseline is not None), baseline)


def values(run: Run) -> dict[str, float]:
    return {outcome.name: outcome.value for outcome in check(run, ALL).limits}


# what is asked for


def test_bars() -> None:
    assert parse_limits("error, break=3,compile_time=1.5") == (Limit("error"), Limit("break", 3), Limit("compile_time", 1.5))
    assert parse_limits("recompiles=+2,compile_time=+10%", True) == (
        Limit("recompiles", more=2), Limit("compile_time", more=10, percent=True),
    )  # fmt: skip
    assert parse_limits("cache-miss") == (Limit("cache_miss"),)
    assert parse_limits("error,error=2") == (Limit("error", 2),)


@pytest.mark.parametrize("text", ["foo", "", ",", "error=", "error=x", "error=-1", "error=nan", "error=inf", "error=5%", "error=+1",
                                  "compile_time", "error=2=3", "=2"])  # fmt: skip
def test_bad_bars(text: str) -> None:
    with pytest.raises(BadLimit):
        parse_limits(text)


def test_a_bad_bar_says_what_there_is() -> None:
    with pytest.raises(BadLimit, match=r"unknown limit: 'foo'; tltui check --help lists the limits"):
        parse_limits("error,foo=2")


# what is measured


@pytest.mark.parametrize(("name", "expected"), [
    ("torch-2.13/breaks", {"error": 0, "break": 3, "distinct_break": 2, "recompiles": 0, "empty": 0}),
    ("torch-2.13/errors", {"error": 3, "break": 0, "unfinished": 0}),
    ("torch-2.13/recompiles", {"recompiles": 4, "frame_recompiles": 4, "cache_miss": 0}),
    ("torch-2.13/cache_miss", {"error": 0, "cache_miss": 3}),
    ("torch-2.13/aoti", {"error": 0, "break": 0, "compile_time": 0}),
])  # fmt: skip
def test_values(name: str, expected: dict[str, float]) -> None:
    found = values(trace(name))
    assert {key: found[key] for key in expected} == expected


def test_every_bar_counts_what_it_lists() -> None:
    for name in ("torch-2.13/breaks", "torch-2.13/ddp", "torch-2.13/errors", "torch-2.13/recompiles", "torch-2.13/cache_miss"):
        for outcome in check(trace(name), ALL).limits:
            if outcome.name not in ("compile_time", "frame_recompiles", "kernels"):
                assert len(outcome.reasons) == outcome.value, (name, outcome.name)


def test_the_slowest_rank_counts() -> None:
    run = trace("torch-2.13/ddp")
    assert values(run)["compile_time"] == max(rank.tally.compile_s for rank in run.ranks) < run.tally.compile_s


def test_a_number_is_the_most_that_is_allowed() -> None:
    run = trace("torch-2.13/recompiles")
    assert not check(run, "recompiles=3").passed
    assert check(run, "recompiles=4").passed
    assert check(run, "recompiles=5,error").passed
    assert not check(run, "recompiles").passed


def test_of_a_bar_that_holds_nothing_is_listed() -> None:
    (outcome,) = check(trace("torch-2.13/recompiles"), "recompiles=4").limits
    assert outcome.reasons == ()


# against a baseline


def test_without_a_number_the_baseline_is_allowed(tmp_path: Path) -> None:
    old = Log(tmp_path / "old.log").start().metrics().open()
    run = trace("torch-2.13/recompiles")
    assert check(run, "recompiles,compile_time=+0", run).passed
    assert not check(run, "recompiles", old).passed
    assert check(run, "recompiles=+4", old).passed
    assert not check(run, "recompiles=+3", old).passed
    assert not check(run, "recompiles=2", run).passed  # a number stands for itself


def test_percent_of_the_baseline(tmp_path: Path) -> None:
    old = Log(tmp_path / "old.log").start().metrics(duration_us=1_000_000).open()
    new = Log(tmp_path / "new.log").start().metrics(duration_us=1_100_000).open()
    assert check(new, "compile_time=+10%", old).passed
    assert not check(new, "compile_time=+9%", old).passed
    assert not check(new, "compile_time", old).passed


def test_what_is_new_comes_first(tmp_path: Path) -> None:
    def log(name: str, lines: list[int]) -> Run:
        made = Log(tmp_path / name)
        for frame, line in enumerate(lines):
            text = f"Graph break in user code at /home/user/f.py:{line}\nGraph Break Reason: no\n"
            made.start(frame=frame).artifact("dynamo_graph_break_reason", text, frame=frame).metrics(frame=frame)
        return made.open()

    found = check(log("new.log", [3, 3, 9]), "break", log("old.log", [3, 3]))
    assert [(reason.ref, reason.is_new) for reason in found.limits[0].reasons] == [("2/0", True), ("0/0", False), ("1/0", False)]
    assert "new  no at /home/user/f.py:9" in "\n".join(check_document(found, "new.log", Options()).text())


# the command


def test_golden(capfd: pytest.CaptureFixture[str]) -> None:
    text = "error,break=1,recompiles=2,frame_recompiles,cache_miss,compile_time=60,empty,unfinished,damage"
    assert main(["check", "--demo", "--fail-on", text]) == 1
    assert_golden("check_demo", capfd.readouterr().out)


def test_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    traces = "tests/traces/torch-2.13"
    issue = "error,break,recompiles=2,cache_miss,compile_time=60"
    assert main(["check", f"{traces}/breaks", "--fail-on", issue]) == 1
    assert "break: 3, limit 0" in capfd.readouterr().out
    assert main(["check", f"{traces}/train", "--fail-on", issue]) == 0
    assert "passed" in capfd.readouterr().out
    assert main(["check", f"{traces}/breaks"]) == 0  # errors only
    assert main(["check", f"{traces}/errors"]) == 1
    assert main(["check", f"{traces}/breaks", "--fail-on", "error", "--fail-on", "break=3"]) == 0
    assert main(["check", f"{traces}/recompiles", "--fail-on", "recompiles", "--baseline", f"{traces}/recompiles"]) == 0
    capfd.readouterr()


@pytest.mark.parametrize("rest", [["--fail-on", "foo"], ["--fail-on", "compile_time"], ["--baseline", "/nowhere"]])
def test_bad_input(rest: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "tests/traces/torch-2.13/breaks", *rest]) == 2
    out, err = capfd.readouterr()
    assert err.startswith("tltui: ")
    assert out == ""


def test_nothing_compiled_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "tests/traces/torch-2.13/aoti"]) == 0
    assert "No compiles, so limits" in capfd.readouterr().out


def test_json(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "tests/traces/torch-2.13/errors", "--json"]) == 1
    found = result_in(capfd.readouterr().out)
    assert (found["passed"], found["compiles"]) == (False, 3)
    assert [reason["ref"] for reason in found["limits"][0]["reasons"]] == ["0/0", "1/0", "2/0"]
    assert "check" in COMMANDS


def test_odd_logs_do_no_harm(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics(fail_type=[], duration_us="long", restart_reasons=7, recompile_reason=3)
    log.add("dynamo_start", 7, frame=1).metrics(frame=1, fail_type="E", fail_reason=None)
    run = log.open()
    found = check(run, ALL, run)
    assert json.loads(to_json(found))["limits"]
    assert len(check_document(found, "a", Options(width=60))) > 0
