"""The steps in the output of a running job: the newest one, and what was printed after the last record of torch."""

from __future__ import annotations

import lzma
import os
import shutil
from pathlib import Path

import pytest
from real import TRACES
from replaying import HeldWriters

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.hang.open_phases import last_record
from tltui.questions.overview.running_sections import PrintedSteps, printed_steps, steps_text
from tltui.sources.discover import discover
from tltui.text.document import Options

T213 = TRACES / "torch-2.13"


def running(*paths: Path) -> Run:
    """Open the inputs of a job that goes on."""
    return open_run(discover([*map(str, paths)]), HeldWriters())


def printed(numbers: range, form: str = "epoch 1 step {}/400 loss 0.{}\n") -> str:
    return "".join(form.format(number, 1000 - number) for number in numbers)


@pytest.fixture
def job(tmp_path: Path) -> tuple[Path, Path]:
    """Return a trace whose file was written at its last record, and the path of an output that is not there yet."""
    shutil.copytree(T213 / "recompiles", tmp_path / "trace")
    [log] = (tmp_path / "trace").glob("*.log")
    at_us = max(at for process in running(log).processes() if (at := last_record(process)) is not None)
    os.utime(log, (at_us / 1e6 + 0.01, at_us / 1e6 + 0.01))
    return log, tmp_path / "job.out"


def wrote(output: Path, text: str, after: tuple[Path, float]) -> None:
    output.write_text(text, encoding="utf-8")
    log, seconds = after
    os.utime(output, (log.stat().st_mtime + seconds,) * 2)


def test_the_newest_step_was_printed_after_the_last_record(job: tuple[Path, Path]) -> None:
    log, output = job
    wrote(output, printed(range(1, 481)), (log, 60.0))
    steps = printed_steps(running(log, output))
    assert steps is not None and (steps.newest, steps.first_after_record) == (480, 480)
    assert steps.written_at_us == pytest.approx(output.stat().st_mtime * 1e6)
    assert steps_text(steps) == "No record since step 480 was printed, the newest in the output."
    page = build(running(log, output), "", Options(width=100))
    text = list(page.text())
    [rate] = [line for line in text if "compiles done" in line]
    assert rate.split("│")[1].rstrip() and rate.split("│")[1].endswith("    "), "up to now nothing was compiled"
    assert any("No record since step 480 was printed" in line for line in text)
    ended = list(build(open_run(discover([str(log), str(output)])), "", Options(width=100)).text())
    assert not any("compiles done" in line or "step 480" in line for line in ended)


@pytest.mark.parametrize(
    ("text", "seconds", "newest"),
    [
        (printed(range(1, 481)), -60.0, 480),  # the trace was written later
        (printed(range(1, 481)) + "saving a checkpoint\n", 60.0, 480),  # when the step was printed is unknown
        (printed(range(1, 481)) + "epoch 1 step 48", 60.0, 480),  # the line may not be complete
    ],
)
def test_without_proof_only_the_newest_step_is_named(job: tuple[Path, Path], text: str, seconds: float, newest: int) -> None:
    log, output = job
    wrote(output, text, (log, seconds))
    steps = printed_steps(running(log, output))
    assert steps is not None and (steps.newest, steps.first_after_record) == (newest, None)
    assert steps_text(steps) == f"Newest step in the output: {newest}."


def test_copies_prove_nothing(job: tuple[Path, Path]) -> None:
    log, output = job
    os.utime(log)
    wrote(output, printed(range(1, 481)), (log, 60.0))
    assert printed_steps(running(log, output)) == PrintedSteps(480, None, None)


@pytest.mark.parametrize(
    "text",
    ["Training starts at step 1\n", printed(range(480, 0, -1)), "step 3 of the installation\nread 5 files\n",
     "stepped 1\nstepped 2\n", "step 0.1\nstep 0.2\n"],
)  # fmt: skip
def test_numbers_that_do_not_count_up_are_no_steps(job: tuple[Path, Path], text: str) -> None:
    log, output = job
    wrote(output, text, (log, 60.0))
    assert printed_steps(running(log, output)) is None


@pytest.mark.parametrize(
    "form",
    ["step: {}  loss: {}\n", "[titan] 2026-11-20 09:00:00,{1} - root - INFO - \x1b[31mstep:  {0}  \x1b[32mloss:  1\n",
     "{{'step': {}, 'loss': {}}}\n", "global_step={} lr={}\n", "Iteration {} | {}\n", "iter [{}/400] {}\n"],
)  # fmt: skip
def test_forms_of_steps(job: tuple[Path, Path], form: str) -> None:
    log, output = job
    wrote(output, printed(range(1, 40), form), (log, 60.0))
    steps = printed_steps(running(log, output))
    assert steps is not None and (steps.newest, steps.first_after_record) == (39, 39)


def test_in_one_output_the_order_of_lines_tells_the_first_step_after_the_last_record(tmp_path: Path) -> None:
    source = lzma.decompress((TRACES / "inputs" / "recompiles" / "stderr.txt.xz").read_bytes())
    output = tmp_path / "job.err"
    output.write_bytes(printed(range(1, 5)).encode() + source + printed(range(5, 60)).encode())
    steps = printed_steps(running(output))
    assert steps == PrintedSteps(59, 5, None)
    assert steps_text(steps) == "No record since step 5 was printed. Newest step in the output: 59."


def test_no_compile_is_open_only_where_none_is(job: tuple[Path, Path]) -> None:
    log, _output = job
    data = log.read_bytes()
    last = data.rfind(b'"dynamo_start"')
    sentences = []
    for content in (data, data[: data.find(b"\nV", last) + 1]):
        log.write_bytes(content)
        text = "\n".join(build(running(log), "", Options(width=100)).text())
        sentences.append("No compile is open so far" in text)
    assert sentences == [True, False], "the second log ends in the last compile"


def test_a_run_whose_compiles_have_no_times_shows_the_newest_step(tmp_path: Path) -> None:
    [source] = (T213 / "train").glob("*.log")
    shutil.copy(source, tmp_path / "a.log")
    (tmp_path / "job.out").write_text(printed(range(1, 24)))
    text = "\n".join(build(running(tmp_path / "a.log", tmp_path / "job.out"), "", Options(width=100)).text())
    assert "Newest step in the output: 23." in text
