"""`tltui try`: which changes are tried, whether numbers stayed equal, what is a difference, whose command is run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from viewed import opened, text

from tltui.cli import main
from tltui.questions.trials.changes import Change, dynamic_source
from tltui.questions.trials.outcomes import NO_COUNTS, Counts, Outcome, TrialReport, compare, helps, series_of
from tltui.questions.trials.page import sentences, trial_document
from tltui.running.job_trace import JOB, Untrusted, read_job, tracing_pids, write_job
from tltui.running.trial import changes_of
from tltui.text.document import Options
from tltui.text.safe_files import read_small_json

HOSTILE = (
    "L['a,b']", "L['x'].*", "L['x']|.*", "G['x']", "L['x']; rm -rf /", "L['$(id)']", "L['`id`']", 'L["x"]', "L['x']\n", "L[x]",
    "a b",
    "L['x']+", "L['d']['use-cache'](", "L['(?P<a>']", "L['\\']", "L['x']['" + "k" * 200 + "']", "", "L['x']:0",
    "L['é']",
)


SOURCES = ("L['x']", "L['self'].i", "L['d']['use-cache']", "L['args'][0]", "L['d']['a b']", "L['d']['a.b']")


@pytest.mark.parametrize("source", SOURCES)
def test_an_entry_matches_its_source_alone(source: str) -> None:
    # torch removes blanks, splits at commas and matches each entry from the start: torch/_dynamo/variables/builder.py
    (entry,) = dynamic_source(source).replace(" ", "").split(",")
    assert re.match(entry, source)
    others = (source + "0", source + ".size", source.replace("'", "'y", 1), source[:-1], source.replace("-", "x"), "y" + source)
    for other in others:
        assert other == source or not re.match(entry, other)


@pytest.mark.parametrize("source", HOSTILE)
def test_a_name_torch_does_not_make_is_no_entry(source: str) -> None:
    assert dynamic_source(source) == ""


def test_changes_come_from_the_remedies_of_a_trace() -> None:
    proposed, predictor = changes_of(opened("tests/traces/torch-2.13/recompiles"))
    assert [change.title.partition("=")[0] for change in proposed] == ["TORCH_COMPILE_DYNAMIC_SOURCES", "torch.compile(dynamic"]
    assert proposed[0].environment == (("TORCH_COMPILE_DYNAMIC_SOURCES", r"L\[\x27x\x27\]$,L\[\x27n\x27\]$"),)
    assert [change.predicted for change in proposed] == [(3, 3), (3, 3)] and predictor.before == 4


PRINTED = ["epoch 1 loss 0.5 took 3.2 s", "epoch 2 loss 0.25 took 3.1 s", "\x1b[1mdone\x1b[0m in 7 steps"]
AGAIN = ["epoch 1 loss 0.5 took 3.3 s", "epoch 2 loss 0.25 took 3.4 s", "done in 7 steps"]


@pytest.mark.parametrize(("changed", "differing", "missing"), [
    (["epoch 1 loss 0.5 took 9 s", "epoch 2 loss 0.25 took 9 s", "done in 7 steps"], 0, 0),
    (["epoch 1 loss 0.5 took 9 s", "epoch 2 loss 0.75 took 9 s", "done in 7 steps"], 1, 0),
    (["epoch 1 loss 0.5 took 9 s", "epoch 2 loss nan took 9 s", "done in 7 steps"], 1, 0),
    (["epoch 1 loss 0.5 took 9 s", "done in 7 steps"], 0, 4),
    (["W1124 12:00:00.000 1 torch/x.py:3] 99", *AGAIN, "tltui: try: 5"], 0, 0),
    ([], 0, 5),
])  # fmt: skip
def test_numbers_that_vary_are_not_compared(changed: list[str], differing: int, missing: int) -> None:
    numbers = compare(series_of(PRINTED), series_of(AGAIN), series_of(changed))
    assert (numbers.compared, numbers.varying, numbers.differing, numbers.missing) == (5, 2, differing, missing)
    assert numbers.are_equal == (not differing and not missing)


def test_warnings_are_no_results() -> None:
    warning = ["/x y/tensor.py:368: UserWarning: no numpy (t.cpp:84.)\n", "  cpu = template(7)\n"]
    assert series_of(["  indented 3\n", *warning, "  loss 0.5\n"]) == series_of(["  indented 3\n", "  loss 0.5\n"])
    assert series_of(["  loss 0.5\n", "step 3: Warning: 4\n"])[("step #: Warning: #", 1)] == [4]


def test_nothing_printed_is_unknown() -> None:
    numbers = compare(series_of(["x"]), series_of(["x"]), series_of(["x"]))
    assert not numbers.are_equal
    report = _report(_outcome("A", Counts(5, 1, 0, 0, 0, 0, 9.0)))
    assert "Results: unknown (the job prints no numbers)." in sentences(report, replace(report.changed[0], numbers=numbers))


def _outcome(label: str, counts: Counts, **values: object) -> Outcome:
    made = Outcome(label, "dynamic=True", "sizes of x", 0, False, counts, 20.0, 0.1, None, (), (), "/d")
    return replace(made, **values)


BEFORE = Counts(9, 8, 1, 0, 0, 0, 10.0)


def _report(*changed: Outcome) -> TrialReport:
    unchanged = (_outcome("unchanged", BEFORE), _outcome("unchanged", replace(BEFORE, compile_s=11.0)))
    return TrialReport(1, ("python", "train.py"), False, unchanged, changed, ())


@pytest.mark.parametrize(("seconds", "text"), [
    (10.5, "no difference beyond the noise"), (9.0, "no difference beyond the noise"), (12.0, "no difference beyond the noise"),
    (8.0, "10.5 s → 8.00 s"), (13.0, "10.5 s → 13.0 s"),
])  # fmt: skip
def test_a_difference_that_unchanged_runs_have_is_none(seconds: float, text: str) -> None:
    outcome = _outcome("A", replace(BEFORE, compile_s=seconds))
    assert any(text in sentence for sentence in sentences(_report(outcome), outcome) if sentence.startswith("Compile time"))


@pytest.mark.parametrize(("outcome", "expected"), [
    (_outcome("A", replace(BEFORE, recompilations=2)), True),
    (_outcome("A", BEFORE), False),
    (_outcome("A", replace(BEFORE, recompilations=2, graph_breaks=2)), False),
    (_outcome("A", replace(BEFORE, recompilations=2), exit_code=1), False),
    (_outcome("A", replace(BEFORE, recompilations=2), timed_out=True), False),
    (_outcome("A", replace(BEFORE, recompilations=2), unsupported=("dynamic",)), False),
    (_outcome("A", NO_COUNTS), True),
])  # fmt: skip
def test_a_change_helps_that_removes_and_adds_nothing(outcome: Outcome, expected: bool) -> None:
    assert helps(_report(outcome), outcome) is expected


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_page_fits(width: int) -> None:
    report = _report(_outcome("A", replace(BEFORE, recompilations=2)), _outcome("B", BEFORE, exit_code=1, change="x" * 300))
    lines = text(trial_document(report, Options(width=width))).splitlines()
    assert lines[0].startswith("Best: A.")
    assert any("The job failed with this change (exit code 1)" in line for line in lines)
    assert all(len(line) <= width for line in lines if "xxx" not in line)


def test_changes_add_up() -> None:
    both = Change("a", environment=(("A", "1"),)) + Change("b", arguments=(("dynamic", True),), config=(("c.d", 1),))
    assert (both.title, both.environment) == ("a + b", (("A", "1"),))
    assert (both.arguments, both.config) == ((("dynamic", True),), (("c.d", 1),))


# the recorded command


def test_a_recorded_command_is_read_back(tmp_path: Path) -> None:
    write_job(str(tmp_path), ["python", "train.py", "--name", "a b"], {"HOME": "secret"})
    assert os.stat(tmp_path / JOB).st_mode & 0o777 == 0o600
    assert "secret" not in (tmp_path / JOB).read_text()
    job = read_job(str(tmp_path))
    assert (job.command, job.cwd, job.variables) == (("python", "train.py", "--name", "a b"), os.getcwd(), ("HOME",))
    write_job(str(tmp_path), ["other"], ())
    assert read_job(str(tmp_path)).command[0] == "python"


def _written(directory: Path, content: object = None) -> Path:
    path = directory / JOB
    path.write_text(json.dumps({"command": ["true"], "cwd": "/", "variables": []} if content is None else content))
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("content", [
    [], {}, {"command": "rm -rf /"}, {"command": [], "cwd": "/"}, {"command": [1], "cwd": "/"}, {"command": ["a\0b"], "cwd": "/"},
    {"command": ["true"], "cwd": 3}, {"command": ["true"], "cwd": "/", "variables": "HOME"},
])  # fmt: skip
def test_what_tltui_did_not_write_is_refused(tmp_path: Path, content: object) -> None:
    _written(tmp_path, content)
    with pytest.raises(Untrusted, match="not a job recorded by tltui run"):
        read_job(str(tmp_path))


def test_what_others_can_write_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path)
    assert read_job(str(tmp_path)).command == ("true",)
    path.chmod(0o620)
    with pytest.raises(Untrusted, match="others can write it"):
        read_job(str(tmp_path))
    path.chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.raises(Untrusted, match="others can write it"):
        read_job(str(tmp_path))
    tmp_path.chmod(0o700)
    path.rename(tmp_path / "real.json")
    path.symlink_to("real.json")
    with pytest.raises(Untrusted, match="a symbolic link"):
        read_job(str(tmp_path))


# the command line


@pytest.mark.parametrize(("words", "message"), [
    ([], "missing COMMAND"),
    (["--cwd", "/nonexistent", "--", "true"], "no such directory: '/nonexistent'"),
    (["--env", "X", "--", "true"], "--env: not NAME=VALUE: 'X'"),
    (["--budget", "0", "--", "true"], "invalid number of seconds: '0'"),
    (["--until-step", "-1", "--", "true"], "invalid step: '-1'"),
    (["-o", "FULL", "--", "true"], "the directory of -o is not empty"),
    (["FULL"], "the recorded command is not run"),
])  # fmt: skip
def test_bad_input(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    try:
        code = main(["try", *(str(tmp_path) if word == "FULL" else word for word in words)])
    except SystemExit as error:
        code = int(error.code or 0)
    assert code == 2 and message in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["file"]


def test_a_recorded_command_needs_an_answer(tmp_path: Path) -> None:
    write_job(str(tmp_path), [sys.executable, "-c", "open('ran', 'w')"], ())
    done = _try(tmp_path, str(tmp_path))
    assert done.returncode == 2 and "--yes runs it without confirmation" in done.stderr and not (tmp_path / "ran").exists()


def test_a_job_that_compiles_nothing(tmp_path: Path) -> None:
    done = _try(tmp_path, "-o", "runs", "--", sys.executable, "-c", "print(1)")
    assert done.returncode == 2 and "nothing was compiled, so there is nothing to try" in done.stderr


def test_a_job_that_fails_unchanged_ends_with_its_code(tmp_path: Path) -> None:
    done = _try(tmp_path, "-o", "runs", "--", sys.executable, "-c", "raise SystemExit(3)")
    assert done.returncode == 3 and "fails even without a change (exit code 3)" in done.stderr and not done.stdout
    report = read_small_json(tmp_path / "runs" / "try.json", 1 << 20)
    assert [outcome["exit_code"] for outcome in report["unchanged"]] == [3]


def test_a_job_ends_with_the_budget(tmp_path: Path) -> None:
    done = _try(tmp_path, "-o", "runs", "--budget", "1", "--", sys.executable, "-c", "import time; time.sleep(60)")
    assert done.returncode != 0 and "did not end within --budget" in done.stderr


STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
print("started", flush=True)
time.sleep(300)
"""


def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    start = "import signal as s; s.signal(s.SIGINT, s.default_int_handler); from tltui.cli import main; raise SystemExit(main())"
    words = [sys.executable, "-c", start, "try", "-o", "runs", "--", sys.executable, "-c", STUBBORN]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    output, trace = tmp_path / "runs" / "run-1" / "output.txt", str(tmp_path / "runs" / "run-1" / "trace")
    while not (output.exists() and b"started" in output.read_bytes()):
        assert process.poll() is None
        time.sleep(0.02)
    assert len(tracing_pids(trace)) >= 2
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130 and tracing_pids(trace) == []


def _try(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tltui", "try", *words]
    return subprocess.run(command, check=False, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True)
