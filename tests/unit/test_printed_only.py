"""What a job printed without any message of torch: opened where it is named, or beside logs, and it is no process."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import unpacked
from real import TRACES, fresh

from tltui.cli import main
from tltui.model.follow import open_run
from tltui.questions.job_failures.job_failures import outputs_of
from tltui.sources.discover import Discovery, NothingFound, discover
from tltui.sources.polling import Watching

DDP = TRACES / "torch-2.13" / "ddp"
SRUN = "epoch 1 loss 0.3\nsrun: error: node01: task 1: Killed\n"
LAUNCHED = [
    SRUN,
    "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\nRuntimeError: no\n",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 3659 RUNNING AT node01\n=   EXIT CODE: 9\n",
    "mpirun noticed that process rank 1 with PID 3659 on node node01 exited on signal 9 (Killed).\n",
    "x\n" * 2_000_000 + "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0\n",
]


def put(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A directory of two logs."""
    return Path(shutil.copytree(DDP, tmp_path / "job"))


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: object, code: int = 0) -> str:
        assert main([*map(str, arguments)]) == code
        done = capsys.readouterr()
        return " ".join((done.err if code else done.out).split())

    return run


def outputs(*paths: Path) -> list[str]:
    return [Path(model.log.path).name for model in outputs_of(open_run(discover(map(str, paths))))]


@pytest.mark.parametrize("text", ["hello\nworld\n", SRUN, "Tür auf\n".encode("latin-1")])
def test_a_text_that_is_named_is_an_output(text: str | bytes, tmp_path: Path, printed: Callable[..., str]) -> None:
    path = put(tmp_path / "job.o4242", text)
    assert outputs(path) == ["job.o4242"]
    assert printed("log", path) == " ".join((text if isinstance(text, str) else text.decode("utf-8", "replace")).split())
    lines = {1: "1 line", 2: "2 lines"}[len(text.splitlines())]
    assert f"No message of torch.compile in {lines}: → log" in printed("summary", path)
    (said,) = {printed(page, path, code=2) for page in ("timing", "recompiles", "guards")}
    advice = f"To record a trace, set TORCH_TRACE=DIR. To see the contents: tltui summary {path}"
    assert said == f"tltui: no torch.compile messages in {lines}: '{path}' {advice}"


@pytest.mark.parametrize("name", ["train.py", "report.html", "job.json", "metrics.csv", "README"])
def test_any_text_that_is_named_opens(name: str, tmp_path: Path, printed: Callable[..., str]) -> None:
    assert "No message of torch.compile in 2 lines" in printed("summary", put(tmp_path / name, '{"a": 1}\nlast'))
    assert "No message of torch.compile in this text." in printed("problems", tmp_path / name)


def test_what_is_no_text_is_refused_in_a_line(tmp_path: Path, printed: Callable[..., str]) -> None:
    said = printed("summary", put(tmp_path / "job.out", bytes(range(256)) * 9), code=2)
    path = tmp_path / "job.out"
    refused = f"tltui: not a trace, TORCH_LOGS text, debug directory or tlparse output: '{path}' to record a trace: tltui run -- "
    assert said.startswith(refused)


@pytest.mark.parametrize("text", LAUNCHED, ids=lambda text: text[-40:-1])
def test_an_output_beside_logs_is_known_by_the_texts_of_launchers(text: str, job: Path) -> None:
    put(job / "train.err", text)
    put(job / "notes.txt", "to do: write it\n")
    put(job / "slurm-4242.out", "nothing of a launcher\n")
    assert sorted(outputs(job)) == ["slurm-4242.out", "train.err"]


def test_outputs_alone_are_named_and_not_opened(tmp_path: Path) -> None:
    put(tmp_path / "slurm-4242.out", SRUN)
    with pytest.raises(NothingFound, match=r"slurm-4242\.out: job output without a torch record") as nothing:
        discover([str(tmp_path)])
    assert not nothing.value.is_empty


@pytest.mark.parametrize("elastic", ["", (
    "E1123 14:03:22.123456 3895 torch/distributed/elastic/multiprocessing/api.py:984] failed (exitcode: -9) local_rank: 1 "
    "(pid: 3659) of binary: /usr/bin/python\n"
)])  # fmt: skip
def test_an_output_is_no_process(elastic: str, job: Path, tmp_path: Path, printed: Callable[..., str]) -> None:
    """Neither is torchrun, which is not a process of the job."""
    alone, pages = fresh(job), ("ls", "ranks", "timing")
    before = [printed(page, job) for page in pages]
    header = printed("summary", job).partition("The run")[0]
    path = put(tmp_path / "slurm-4242.out", SRUN + elastic)
    run = open_run(discover([str(job), str(path)]))
    assert [process.key for process in run.processes()] == [process.key for process in alone.processes()]
    assert run.tally == alone.tally and outputs_of(run)
    assert [printed(page, job, path).replace("job and 1 more", "job") for page in pages] == before
    after = printed("summary", job, path)
    assert header.replace("job torch", "job and 1 more torch").strip() in after
    assert ("✗ local rank 1 (pid 3659) failed first (SIGKILL)" if elastic else "✗ rank 1 failed (SIGKILL)") in after


def test_a_plain_line_in_an_output_keeps_it_of_the_process_that_wrote_it(tmp_path: Path) -> None:
    """The time of the first and the last message counts, not that of a line that has none."""
    job = unpacked("breaks", tmp_path)
    before = [process.records for process in fresh(job).processes()]
    text = (job / "stderr.txt").read_bytes()
    (job / "stderr.txt").write_bytes(b"epoch 0 loss 0.3\n" + text + b"epoch 1 loss 0.2\n")
    run = fresh(job)
    assert [process.origins for process in run.processes()] == [{"trace", "text"}]
    assert len(before) == 1 and run.tally.compiles == fresh(job / "trace").tally.compiles


# what tltui run --view wrote


@pytest.fixture
def viewed(job: Path) -> Path:
    put(job / "output.txt", SRUN)
    state = {"written_by": "tltui run", "command": ["torchrun"], "pid": 1, "began": 1e9, "ended": 1e9 + 9, "code": 1}
    put(job / "output.json", json.dumps(state))
    return job


def test_what_tltui_wrote_beside_logs_is_read_as_any_output(viewed: Path, printed: Callable[..., str]) -> None:
    run = fresh(viewed)
    assert [Path(model.log.path).name for model in outputs_of(run)] == ["output.txt"]
    assert [Path(path).name for path in run.discovered.outputs] == ["output.txt"]
    assert "✗ rank 1 failed (SIGKILL)" in printed("summary", viewed)
    assert "✗ rank 1 failed (SIGKILL)" in printed("problems", viewed, viewed / "output.txt")
    listed = printed("show", viewed, "@pages")
    assert "tltui show PATH @output" in listed and "tltui log PATH" not in listed


def test_a_case_has_it_once(viewed: Path, tmp_path: Path) -> None:
    import zipfile

    assert main(["case", str(viewed), "-o", str(tmp_path / "case.zip")]) == 0
    names = zipfile.ZipFile(tmp_path / "case.zip").namelist()
    assert [name for name in names if name.endswith(".txt") and "output" in name] == ["output/output.txt"]
    assert not [name for name in names if name.startswith("text/")]


def test_an_output_comes_with_the_first_log(tmp_path: Path) -> None:
    """Nothing is opened while there is no log, then everything once."""
    put(tmp_path / "slurm-4242.out", SRUN)
    watching = Watching(Discovery([str(tmp_path)]), 0.0)
    assert watching.poll(0.0, 100) == []
    [first, second] = sorted(DDP.glob("*.log"))
    shutil.copy(first, tmp_path)
    names = [Path(log.path).name for log in watching.poll(time.monotonic(), 100)]
    assert sorted(names) == sorted([first.name, "slurm-4242.out"])
    shutil.copy(second, tmp_path)
    assert [Path(log.path).name for log in watching.poll(time.monotonic() + 100, 100)] == [second.name]


def test_what_tltui_writes_beside_a_job_that_runs_comes_with_its_first_log(tmp_path: Path) -> None:
    put(tmp_path / "output.txt", SRUN)
    put(tmp_path / "output.json", json.dumps({"written_by": "tltui run", "command": ["torchrun"], "pid": 1, "began": 1e9}))
    watching = Watching(Discovery([str(tmp_path)]), 0.0)
    assert watching.poll(0.0, 100) == []
    [first, _] = sorted(DDP.glob("*.log"))
    shutil.copy(first, tmp_path)
    came = [Path(log.path).name for turn in (100.0, 200.0) for log in watching.poll(time.monotonic() + turn, 100)]
    assert sorted(came) == sorted([first.name, "output.txt"])
