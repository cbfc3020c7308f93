"""`tltui watch DIR`: a line per run that ends, the change from the run before, the program that is started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real import ROOT, TRACES, copy_as_edit

from tltui.cli import main
from tltui.cli.watch_runs import Watch

T213 = TRACES / "torch-2.13"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copytree(T213 / "breaks", tmp_path / "runs" / "breaks")
    return tmp_path / "runs"


def test_a_run_is_reported_once_it_no_longer_changes_and_again_when_it_does(directory: Path) -> None:
    watch = Watch(str(directory), 60)
    assert watch.start() == 1 and [row.name for row in watch.rows.values()] == ["breaks"]
    assert list(watch.ended()) == []
    shutil.copytree(T213 / "errors", directory / "errors")
    assert list(watch.ended()) == [], "it may still be written"
    [(row, reason)] = watch.ended()
    assert (row.name, row.errors, reason) == ("errors", 3, "ended")
    assert list(watch.ended()) == []
    shutil.copytree(T213 / "train", directory / "errors" / "more")
    assert list(watch.ended()) == []
    [(row, _)] = watch.ended()
    assert (row.name, row.compiles) == ("errors", 4)


def test_a_log_that_is_open_ends_when_it_is_idle(directory: Path) -> None:
    watch, patient = Watch(str(directory), 1e-9), Watch(str(directory), 3600)
    watch.start(), patient.start()
    copy = shutil.copytree(T213 / "errors", directory / "errors")
    [log] = copy.iterdir()
    with log.open("ab") as file:
        file.write(b"V1120 09:23:")
        file.flush()
        assert list(watch.ended()) == [] == list(patient.ended())
        assert [(row.name, reason) for row, reason in watch.ended()] == [("errors", "nothing was written for 1e-09 s")]
        assert list(patient.ended()) == []


def test_entries_that_are_no_runs_are_passed_over(directory: Path) -> None:
    watch = Watch(str(directory), 60)
    watch.start()
    (directory / "notes.txt").write_text("nothing of torch\n", encoding="utf-8")
    (directory / "empty").mkdir()
    assert [list(watch.ended()) for _ in range(3)] == [[], [], []]


def test_the_line_and_the_program(directory: Path, tmp_path: Path) -> None:
    out = tmp_path / "facts.json"
    code = (
        "import json, os, sys\n"
        "facts = [sys.argv[1], os.environ['RUN_ERRORS'], json.load(open(os.environ['RUN_JSON']))]\n"
        "json.dump(facts, open(sys.argv[2], 'w'))"
    )
    command = [
        sys.executable, "-m", "tltui", "watch", str(directory), "--interval", "0.05", "--count", "1",
        "--exec", sys.executable, "-c", code, "$(touch hacked) *", str(out),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as process:
        assert process.stderr is not None and process.stdout is not None
        assert process.stderr.readline() == f"tltui: watching {directory}; 1 run ended before\n"
        copy_as_edit(directory / "errors")
        line = process.stdout.read()
    assert line.startswith("errors  3 compiles · 3 errors · 81 ms · since the run of this program before: +3 errors, −3 breaks")
    assert line.endswith(" · ended\n") and process.returncode == 0
    argument, errors, row = json.loads(out.read_text())
    assert (argument, errors, row["name"], row["errors"]) == ("$(touch hacked) *", "3", "errors", 3)
    assert row["change"]["errors"] == 3, "the object of --json"
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "tltui: missing DIR\n  for example: tltui watch /shared/traces\n"),
    (["{}", "--exec"], "tltui: missing program after --exec\n  for example: --exec python notify.py\n"),
    (["{}", "--interval", "0"], "tltui: invalid number of seconds: '0'\n  use a number above 0, such as 60\n"),
    (["{}/no"], "tltui: No such file or directory: '{}/no'\n  give a directory of runs\n"),
])  # fmt: skip
def test_wrong_usage(arguments: list[str], message: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", *(argument.format(directory) for argument in arguments)]) == 2
    assert capsys.readouterr().err == message.format(directory)
