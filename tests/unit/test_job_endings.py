"""Jobs that died, hung, restarted or waited, as they left their logs and output: tltui reports the truth about each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from job_judge import ALONE, OUTPUT, Statement, faults, printing
from job_truths import ACCIDENTS, TRUTHS
from jobs import unpacked
from real import TRACES

import tltui

JOBS = TRACES / "jobs"
CASES = [(name, form) for name in TRUTHS | ACCIDENTS for form in (ALONE, OUTPUT)]


def pages(run: tltui.Run, paths: list[Path]) -> Callable[[str], str]:
    """Return a function that returns what a command prints about a run that is open."""

    def show(command: str) -> str:
        name, *options = command.split()
        if hasattr(tltui, name):
            result = getattr(tltui, name)(run)
            return str(result.to_json()) if options == ["--json"] else str(result)
        return printing(*paths)(command)

    return show


@pytest.mark.parametrize(("name", "form"), CASES, ids=[f"{name}-{form}" for name, form in CASES])
def test_the_truth_about_a_job(name: str, form: str, tmp_path: Path) -> None:
    place = unpacked(name, tmp_path, JOBS)
    paths = [place / "trace", *([place / "out.txt"] if form == OUTPUT else [])]
    with tltui.open(*paths) as run:
        wrong = faults(name, form, pages(run, paths))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("words", ["slurm", "kernel"])
def test_others_report_that_memory_ran_out(words: str, tmp_path: Path) -> None:
    place = unpacked("oom_signal", tmp_path, JOBS)
    paths = [place / "trace", place / f"out_{words}.txt"]
    with tltui.open(*paths) as run:
        show = pages(run, paths)
        assert faults("oom_signal", OUTPUT, show) == []
        statement = Statement("summary", (r"[Rr]ank 1 .{0,200}(out of memory|OOM)",), (r"rank [02] .{0,60}memory",), 30)
        assert statement.faults(show("summary")) == []


def test_consequences_at_two_lines_do_not_hide_the_cause_in_the_next_launch(tmp_path: Path) -> None:
    place = unpacked("restart_fails", tmp_path, JOBS)
    paths = [place / "trace", place / "out.txt"]
    output = paths[1].read_text()
    line = '[rank2]:   File "/home/user/train/jobs.py", line 68, in train'
    assert line in output
    paths[1].write_text(output.replace(line, line.replace("68", "66"), 1))
    assert faults("restart_fails", OUTPUT, printing(*paths)) == []


def test_each_job_has_a_capture() -> None:
    assert {path.parent.parent.name for path in JOBS.glob("*/trace/*.log.xz")} == set(TRUTHS | ACCIDENTS)


def test_the_judge_notices_what_is_missing_and_what_is_false() -> None:
    statement = Statement("where", ("rank 1 .* SIGKILL",), ("rank 0 died first",), 1)
    assert statement.faults("rank 1 was\n  killed by SIGKILL") == ["where: missing: rank 1 .* SIGKILL"]
    (fault,) = statement.faults("rank 1 got SIGKILL; rank 0 died first")
    assert fault.startswith("where: false: rank 0 died first: … rank 1 got SIGKILL")
    assert statement.faults("rank 1   was killed by SIGKILL\nrank 0 died first") == []
