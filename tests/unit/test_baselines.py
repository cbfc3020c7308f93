"""`tltui run --keep-baseline` and `tltui check --baseline auto`: what is kept, what is comparable, and damaged files."""

from __future__ import annotations

import json
import math
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from real import ROOT, trace

from tltui.cli import main
from tltui.questions.check.limits import gates, parse_limits
from tltui.running.baselines import (
    MOST_RUNS,
    BaselineError,
    KeptBaseline,
    KeptRun,
    choose,
    differences,
    encoded,
    identity_of,
    keep,
    read,
)  # fmt: skip
from tltui.running.job_trace import write_job
from tltui.writers.check_reports import COMMENT_LINES, comment

BREAKS, TRAIN = ROOT / "tests/traces/torch-2.13/breaks", ROOT / "tests/traces/torch-2.13/train"
COMMAND = ("python", "train.py")
NOW = 1_795_000_000.0


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No repository and no CI job around the tests."""
    outside = tmp_path / "outside"
    outside.mkdir()
    monkeypatch.chdir(outside)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "CI_", "BUILDKITE_", "TORCH_TRACE", "TLTUI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TLTUI_BASELINES", str(tmp_path / "kept"))
    monkeypatch.setattr("tltui.questions.problems.problem_list.installed_torch", lambda: None)
    yield


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def kept(directory: Path, path: Path = BREAKS, name: str = "train", at: float = NOW) -> Path:
    return keep(trace(path), name, COMMAND, directory, at)[0]


def test_a_run_passes_against_itself(directory: Path) -> None:
    kept(directory)
    chosen, problems = choose(trace(BREAKS), "", COMMAND, directory)
    result = gates(trace(BREAKS), parse_limits(chosen.fail_on, True), chosen)
    assert result.passed and problems == []
    assert [(one.name, one.value, one.baseline) for one in result.limits] == [
        ("error", 0, 0), ("eager", 0, 0), ("break", 3, 3), ("recompiles", 0, 0), ("recompile_limit", 0, 0), ("kernels", 5, 5),
        ("no_graph", 0, 0),
    ]  # fmt: skip


def test_what_is_more_fails_and_only_that_is_new(directory: Path) -> None:
    """The kept run has one break less: of the three breaks the one that it lacks is new."""
    path = kept(directory)
    stored = json.loads(path.read_bytes())
    stored["values"]["break"] = 2
    stored["keys"]["break"] = stored["keys"]["break"][1:]
    path.write_text(json.dumps(stored), encoding="utf-8")
    chosen, _ = choose(trace(BREAKS), "train", COMMAND, directory)
    result = gates(trace(BREAKS), parse_limits(chosen.fail_on, True), chosen)
    (exceeded,) = [one for one in result.limits if one.exceeded]
    assert exceeded.name == "break" and (exceeded.value, exceeded.limit) == (3, 2)
    assert {reason.is_new for reason in exceeded.reasons} == {True, False}


def test_it_contains_nothing_of_the_program(directory: Path) -> None:
    text = kept(directory).read_text(encoding="utf-8")
    for word in ("breaks.py", "/home/user", "models", "graph_break()", "inner_break", "train.py"):
        assert word not in text
    assert len(text) < 40_000


def test_the_file_is_private(directory: Path) -> None:
    assert stat.S_IMODE(kept(directory).stat().st_mode) == 0o600


def test_times_are_compared_from_three_runs_on() -> None:
    def run(at: float, seconds: float) -> KeptRun:
        identity = identity_of(trace(TRAIN), COMMAND)
        return KeptRun("train", "", "", at, identity, {"compile_time": seconds}, {})

    two = KeptBaseline([run(2, 10), run(1, 12)])
    assert "compile_time" not in two.fail_on and math.isinf(two.most_of("compile_time"))
    three = KeptBaseline([run(3, 10), run(2, 12), run(1, 11)])
    assert three.fail_on.endswith(",compile_time") and three.most_of("compile_time") == 12 + 2
    equal = KeptBaseline([run(3, 10), run(2, 10), run(1, 10)])
    assert equal.most_of("compile_time") == 11


def test_differences_are_listed(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept(directory)
    one = identity_of(trace(BREAKS), COMMAND)
    assert differences(one, one) == []
    assert differences(one, replace(one, program="x")) == ["another command"]
    assert differences(one, replace(one, program="")) == ["one of the two commands is unknown"]
    other = replace(one, torch=("2.8.0",), ranks=4)
    assert differences(one, other) == ["torch 2.13.0+cpu instead of 2.8.0", "1 rank instead of 4"]
    assert differences(one, replace(one, devices=("cuda",))) == ["devices cpu instead of cuda"]
    assert differences(one, replace(one, settings={**one.settings, "inductor.max_autotune": "?"})) == [
        "other settings: inductor.max_autotune"
    ]
    assert main(["check", str(TRAIN), "--baseline", "auto:train"]) == 2
    err = capfd.readouterr().err
    assert err.startswith("tltui: no comparable baseline among 1; the newest (train, ")
    assert "one of the two commands is unknown" in err and err.count("\n") == 1


def test_the_command_of_another_checkout_is_the_same() -> None:
    one = identity_of(trace(BREAKS), ("/a/venv/bin/python", "/a/checkout/train.py", "--lr", "1"))
    assert one.program == identity_of(trace(BREAKS), ("/b/bin/python", "/b/train.py", "--lr", "1")).program
    assert one.program != identity_of(trace(BREAKS), ("/b/bin/python", "/b/train.py", "--lr", "2")).program


def test_the_oldest_go(directory: Path) -> None:
    first = kept(directory)
    for number in range(MOST_RUNS + 1):
        path, runs = keep(trace(BREAKS), "train", COMMAND, directory, NOW + number + 1)
    assert runs == MOST_RUNS == len(list(path.parent.iterdir()))
    assert not first.exists() and path.exists()


def test_branches(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The own branch, then the one that the change goes to, then any."""
    for at, branch in enumerate(("main", "release/1", "topic")):
        monkeypatch.setenv("GITHUB_REF_NAME", branch)
        kept(directory, at=NOW + at)

    def chosen(**variables: str) -> str:
        for name in ("GITHUB_REF_NAME", "GITHUB_BASE_REF"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return choose(trace(BREAKS), "", COMMAND, directory)[0].runs[0].branch

    assert chosen(GITHUB_REF_NAME="topic") == "topic"
    assert chosen(GITHUB_REF_NAME="other") == "main"
    assert chosen(GITHUB_REF_NAME="other", GITHUB_BASE_REF="release/1") == "release/1"


@given(st.text(max_size=300))
def test_a_name_is_never_a_path(text: str) -> None:
    name = encoded(text)
    assert name not in (".", "..") and "/" not in name and "\0" not in name and 0 < len(os.fsencode(name)) < 256


@given(st.text(max_size=40), st.text(max_size=40))
def test_other_names_have_other_directories(one: str, other: str) -> None:
    if one.encode("utf-8", "replace") != other.encode("utf-8", "replace"):
        assert encoded(one) != encoded(other)


DAMAGED = {
    "empty": b"", "cut": b'{"written_by":"tltui","schema":1,"name":"tr', "binary": os.urandom(500), "list": b"[]",
    "types": b'{"schema":1,"name":1,"branch":"","commit":"","at":0,"program":"","torch":[],"devices":[],"ranks":1,"settings":{}}',
    "deep": b"[" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_named_and_ignored(data: bytes, directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    good = kept(directory)
    bad = good.with_name("999999999999999-0.baseline.json")
    bad.write_bytes(data)
    chosen, problems = choose(trace(BREAKS), "train", COMMAND, directory)
    assert len(chosen.runs) == 1 and problems == [f"baseline ignored (damaged): '{bad}'"]
    good.unlink()
    assert main(["check", str(BREAKS), "--baseline", "auto"]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("tltui: no baseline in ") and lines[0].endswith(f"baseline ignored (damaged): '{bad}'")
    assert lines[1] == "  keep one: tltui run --keep-baseline NAME -- COMMAND"


@pytest.mark.parametrize("field", ["values", "keys", "settings", "at", "ranks", "torch", "name"])
def test_any_wrong_field_is_damage(field: str, directory: Path) -> None:
    path = kept(directory)
    stored = json.loads(path.read_bytes())
    for wrong in (None, "x", [1], {"break": "x"}, math.inf, True):
        path.write_text(json.dumps({**stored, field: wrong}), encoding="utf-8")
        if (field, wrong) not in (("name", "x"), ("settings", {"break": "x"})):
            with pytest.raises(BaselineError):
                read(path)


def test_a_newer_file_is_refused(directory: Path) -> None:
    path = kept(directory)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "schema": 2}), encoding="utf-8")
    with pytest.raises(BaselineError, match=r"^baseline of a newer tltui, ignored: "):
        read(path)


def test_where_nothing_can_be_written_nothing_is_lost(directory: Path) -> None:
    before = kept(directory)
    data = before.read_bytes()
    with pytest.raises(BaselineError, match=r"^no baseline was kept: .*\n  set TLTUI_BASELINES to another directory$"):
        keep(trace(BREAKS), "train", COMMAND, before, NOW)  # a file where the directory should be
    assert before.read_bytes() == data


def test_two_writers_at_once(directory: Path) -> None:
    run, identities = trace(BREAKS), []

    def write() -> None:
        identities.append(keep(run, "train", COMMAND, directory, NOW)[0])

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(identities)) == 2 and all(read(path).name == "train" for path in identities)


def test_limits_that_kept_runs_cannot_check(directory: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kept(directory)
    copied = tmp_path / "trace"
    copied.mkdir()
    for log in BREAKS.glob("*.log"):
        (copied / log.name).write_bytes(log.read_bytes())
    write_job(str(copied), COMMAND, ())
    assert main(["check", str(copied), "--baseline", "auto", "--fail-on", "compile_time"]) == 2
    assert capfd.readouterr().err == (
        "tltui: compile_time needs 3 kept runs, but there are 1\n  allow a margin over the newest run: compile_time=+20%\n"
    )
    assert main(["check", str(copied), "--baseline", "auto", "--fail-on", "compile_time=+20%"]) == 0
    assert main(["check", str(copied), "--baseline", "auto", "--baseline", "old"]) == 2
    assert main(["check", str(copied), "--baseline", "auto:other"]) == 2
    assert "no baseline named 'other' in " in capfd.readouterr().err


def test_the_comment_has_at_most_sixty_lines(capfd: pytest.CaptureFixture[str]) -> None:
    limits = "error,eager,break=0,distinct_break=0,recompiles=0,frame_recompiles=0,recompile_limit=0,empty=0,unknown=0,no_graph=0"
    for name in ("errors", "recompiles", "breaks"):
        result = gates(trace(ROOT / "tests/traces/torch-2.13" / name), parse_limits(limits))
        lines = comment(result, name, ("first", "second", "third", "fourth"), "train, branch main")
        assert len(lines) <= COMMENT_LINES and lines[0].startswith("### torch.compile: ")
    assert main(["check", str(BREAKS), "--fail-on", "break", "--format", "markdown"]) == 1
    out = capfd.readouterr().out.splitlines()
    assert out[0] == "### torch.compile: 1 of 1 limit exceeded"
    assert "| `break` | 3 | 0 |" in out
    assert out[-1] == "- ` [0/0] gb0059 Failed to trace builtin operator at /home/user/models/breaks.py:5 `"
