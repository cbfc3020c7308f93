"""`tltui index`, whoever does the work, and whatever becomes of who does it: the same bytes, or none."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from index_runs import BREAKS, command, environment, indexed, job, reads, serial
from waiting import until

from tltui.cli import main
from tltui.work.engines.gather import PieceStore

__all__ = ["job", "serial"]


def workers(pid: int) -> list[int]:
    """The processes of a pool."""
    try:
        tasks = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/children")]
        found = [int(text) for task in tasks for text in task.split()]
        return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []


def test_a_pool_writes_the_same_bytes(job: Path, serial: bytes, tmp_path: Path) -> None:
    done = indexed(job, tmp_path / "run.tlx", "--workers", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "run.tlx").read_bytes() == serial
    assert done.stdout.startswith(f"wrote {tmp_path / 'run.tlx'}: 12 logs, ")
    assert done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "run.tlx"]


def test_a_worker_is_killed(job: Path, serial: bytes, tmp_path: Path) -> None:
    target = tmp_path / "run.tlx"
    with subprocess.Popen(command(job, "-o", target, "--workers", "2"), stderr=subprocess.PIPE, env=environment()) as process:
        until(lambda: any(reads(pid, job) for pid in workers(process.pid)))
        [killed, *_] = [pid for pid in workers(process.pid) if reads(pid, job)]
        os.kill(killed, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert target.read_bytes() == serial


def test_all_workers_are_killed_again_and_again(job: Path, serial: bytes, tmp_path: Path) -> None:
    target = tmp_path / "run.tlx"
    given = command(job, "-o", target, "--workers", "2")
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        killed = 0
        while process.poll() is None:
            for pid in workers(process.pid):
                os.kill(pid, signal.SIGKILL)
                killed += 1
            time.sleep(0.01)
        assert process.stderr is not None
        err = process.stderr.read()
    assert killed >= 3
    assert process.returncode == 0, err
    assert target.read_bytes() == serial
    assert "tltui: workers died repeatedly (" in err
    assert "); read in this process instead: " in err
    assert str(job) in err


LEAVING = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), LEAVING)
@pytest.mark.parametrize("how", ["--engine=serial", "--workers=2", "--redact"])
def test_it_is_left_in_the_middle(number: int, code: int, how: str, job: Path, tmp_path: Path) -> None:
    target, scratch = tmp_path / "run.tlx", tmp_path / "scratch"
    target.write_bytes(b"")
    scratch.mkdir()
    given = command(job, "-o", target, "--workers", "2", how)
    own = environment() | {"TMPDIR": str(scratch)}
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own, start_new_session=True) as process:
        until(lambda: any(reads(pid, job) for pid in (process.pid, *workers(process.pid))))
        given = workers(process.pid)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            os.kill(process.pid, number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (code, b"", b"")
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in given))
    assert target.read_bytes() == b"", "it is what it was"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["run.tlx", "scratch"]


def test_a_log_that_cannot_be_read(job: Path, tmp_path: Path, serial: bytes) -> None:
    """One that only the process has that was asked: its workers are others."""
    [first, *_] = sorted(job.rglob("*.log"))
    target = tmp_path / "run.tlx"
    with first.open("rb") as file:
        own = f"/proc/self/fd/{file.fileno()}"
        done = subprocess.run(command(own, BREAKS, "-o", target, "--workers", "2"), capture_output=True, text=True, check=False,
                              env=environment(), pass_fds=[file.fileno()], timeout=60)  # fmt: skip
        alone = subprocess.run(command(own, "-o", tmp_path / "none.tlx", "--engine", "serial"), capture_output=True, text=True,
                               check=False, env=environment(), timeout=60)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"tltui: {own}: No such file or directory\n"
    assert indexed(BREAKS, tmp_path / "other.tlx").returncode == 0
    assert target.read_bytes() == (tmp_path / "other.tlx").read_bytes()
    assert alone.returncode == 2 and not (tmp_path / "none.tlx").exists()


def test_what_goes_into_no_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Logs of another form are told of; a file that cannot be read is one too few."""
    trace = tmp_path / "trace"
    shutil.copytree(BREAKS, trace)
    (trace / "empty_torch_trace.log").touch()
    line = "[rank0]:V0101 10:00:00.000000 7 torch/_dynamo/convert_frame.py:1] [0/0] [__bytecode] ORIGINAL\n"
    (trace / "job.err").write_text(line * 3)
    assert main(["index", str(trace), "-o", str(tmp_path / "run.tlx")]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"tltui: {trace / 'job.err'}: an index contains only traces") and err.count("\n") == 1
    (trace / "rank_1.log").symlink_to("rank_1.log")
    assert main(["index", str(trace), "-o", str(tmp_path / "run.tlx")]) == 1
    assert f"tltui: {trace / 'rank_1.log'}: Too many levels of symbolic links\n" in capsys.readouterr().err
    assert main(["index", str(trace / "job.err"), "-o", str(tmp_path / "text.tlx")]) == 2
    assert not (tmp_path / "text.tlx").exists()


def test_it_says_how_far_it_is(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, and the line is gone at the end."""
    monkeypatch.setattr("tltui.cli.loading.PATIENCE", 0.0)
    monkeypatch.setattr("tltui.work.engines.gather.EVERY", 0.0)
    controller, terminal = pty.openpty()
    with open(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(["index", str(job), "-o", str(tmp_path / "run.tlx")]) == 0
        monkeypatch.undo()
    said = os.read(controller, 1 << 16).decode()
    os.close(controller)
    assert "\rtltui: 1 of 12 logs, " in said and " MiB (ctrl+c stops)" in said
    assert said.endswith("\r") and said.rstrip("\r").endswith("  ")


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (None, "missing -o FILE.tlx"),
        ("%x.tlx", "unknown %x in -o: '%x.tlx'\n  use %h for the name of the host, %% for a percent sign"),
        ("run.tlx%", "unknown % in -o: 'run.tlx%'"),
        (".", "Is a directory: '.'\n  use -o here.tlx"),
        ("no/run.tlx", "No such file or directory: 'no'\n  mkdir -p "),
        ("a.log", "-o names one of the inputs: 'a.log'"),
        ("link.tlx", "-o names one of the inputs: 'link.tlx'"),
        ("../notes.txt", "not an index: '../notes.txt'"),
        ("fifo", "not an index: 'fifo'"),
    ],
)
def test_where_it_is_not_written(
    output: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [log] = BREAKS.glob("*.log")
    here = tmp_path / "here"
    here.mkdir()
    shutil.copyfile(log, here / "a.log")
    (here / "link.tlx").symlink_to("a.log")
    os.mkfifo(here / "fifo")
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.chdir(here)
    monkeypatch.setenv("TLTUI_HOST", "here")
    assert main(["index", "a.log", *(["-o", output] if output else [])]) == 2
    assert capsys.readouterr().err.startswith(f"tltui: {says}")
    assert (here / "a.log").read_bytes() == log.read_bytes() and (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in here.iterdir()) == ["a.log", "fifo", "link.tlx"]


@pytest.mark.parametrize(
    ("host", "output", "name"),
    [("node7", "%h.tlx", "node7.tlx"), ("a/../b c", "x-%h.tlx", "x-a_.._b_c.tlx"), ("n", "100%%-%h%%h.tlx", "100%-n%h.tlx")],
)
def test_the_name_of_the_host(host: str, output: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLTUI_HOST", host)
    assert main(["index", str(BREAKS), "-o", f"{tmp_path}/{output}"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_nothing_to_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.txt").write_text("no log")
    assert main(["index", str(tmp_path), "-o", str(tmp_path / "run.tlx")]) == 2
    assert "no trace" in capsys.readouterr().err
    assert not (tmp_path / "run.tlx").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine", "dusk://a:1"], "unknown engine: 'dusk://a:1'\n  engines: process, serial, dask://HOST:PORT, mpi"),
        (["--node-local"], "--node-local needs --engine mpi and %h in FILE"),
        (["--node-local", "--engine", "mpi"], "--node-local needs --engine mpi and %h in FILE"),
        (["--workers", "0"], "invalid number of workers: '0'\n  use a number from 1 to 4096"),
    ],
)
def test_what_does_not_go_together(arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["index", str(BREAKS), "-o", str(tmp_path / "x.tlx"), *arguments])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_memory", [1 << 20, 4])
def test_pieces_come_back_in_order(in_memory: int, tmp_path: Path) -> None:
    with PieceStore(tmp_path, in_memory) as shelf:
        for number in (3, 0, 7, 1):
            shelf.put(number, b"%d " % number * 3)
        assert b"".join(shelf.pieces()) == b"0 0 0 1 1 1 3 3 3 7 7 7 "
        assert list(tmp_path.iterdir()) == [], "nobody else sees them"


@pytest.fixture(autouse=True)
def no_trace(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    yield
