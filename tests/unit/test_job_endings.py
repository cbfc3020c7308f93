"""Jobs that died, hung, restarted or waited, as they left their logs and output: tltui reports the truth about each."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from job_judge import ALONE, OUTPUT, Statement, faults
from job_truths import ACCIDENTS, TRUTHS
from jobs import unpacked
from real import TRACES

import tltui
from tltui.cli import main

JOBS = TRACES / "jobs"
CASES = [(name, form) for name in TRUTHS | ACCIDENTS for form in (ALONE, OUTPUT)]


def pages(run: tltui.Run, paths: list[Path]) -> Callable[[str], str]:
    """What commands print about a run that is open."""

    def show(command: str) -> str:
        if hasattr(tltui, command):
            return str(getattr(tltui, command)(run))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main([*command.split(), *map(str, paths)])
        return out.getvalue()

    return show


@pytest.mark.parametrize(("name", "form"), CASES, ids=[f"{name}-{form}" for name, form in CASES])
def test_the_truth_about_a_job(name: str, form: str, tmp_path: Path) -> None:
    place = unpacked(name, tmp_path, JOBS)
    paths = [place / "trace", *([place / "out.txt"] if form == OUTPUT else [])]
    with tltui.open(*paths) as run:
        assert faults(name, form, pages(run, paths)) == []


def test_each_job_has_a_capture() -> None:
    assert {path.name for path in JOBS.iterdir() if path.is_dir()} == set(TRUTHS | ACCIDENTS)


def test_the_judge_notices_what_is_missing_and_what_is_false() -> None:
    statement = Statement("where", ("rank 1 .* SIGKILL",), ("rank 0 died first",), 1)
    assert statement.faults("rank 1 was\n  killed by SIGKILL") == ["where: missing: rank 1 .* SIGKILL"]
    (fault,) = statement.faults("rank 1 got SIGKILL; rank 0 died first")
    assert fault.startswith("where: false: rank 0 died first: … rank 1 got SIGKILL")
    assert statement.faults("rank 1   was killed by SIGKILL\nrank 0 died first") == []
