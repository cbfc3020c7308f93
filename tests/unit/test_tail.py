"""`tltui tail`: what it prints while a job writes, when it ends, and with which code."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import make_trace as mt
import pytest
from jsonschema import Draft202012Validator
from real import ROOT, TRACES

import tltui
import tltui.cli.tail
import tltui.model.follow
from tltui.cli import main
from tltui.cli.schema import schema_text

SOURCES = str(Path(tltui.__file__).parents[1])
OUTCOMES = str(TRACES / "torch-2.13" / "outcomes")
DDP = str(TRACES / "torch-2.13" / "ddp")
TIMEOUT = 40.0
"""Seconds that a test waits for what must happen."""


def start(frame: int = 0, **more: object) -> bytes:
    return mt.start(**({"frame": frame, "compile": 0, "attempt": 0} | more))  # type: ignore[arg-type]


def ended(frame: int = 0, **fields: object) -> bytes:
    usual = {"graph_op_count": 2, "restart_reasons": [], "duration_us": 1_500_000, "pytorch_version": "2.13.0", "co_name": "f"}
    return mt.record("compilation_metrics", usual | fields, frame=frame, compile=0, attempt=0)


class Tail:
    """`tltui tail` in a process of its own. Tests wait for its text, never for time."""

    def __init__(self, *arguments: str) -> None:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "HOME": "/dev/null", "LC_ALL": "C.UTF-8"}
        command = [sys.executable, "-m", "tltui", "tail", *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True
        )
        self._lines: dict[str, Queue[str]] = {"stdout": Queue(), "stderr": Queue()}
        self._readers = [
            threading.Thread(target=self._read, args=(name,), daemon=True) for name in ("stdout", "stderr")
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str) -> None:
        for line in getattr(self.process, name):
            self._lines[name].put(line.rstrip("\n"))

    def next(self, name: str = "stdout") -> str:
        """The next line of this output."""
        return self._lines[name].get(timeout=TIMEOUT)

    def end(self) -> tuple[int, list[str]]:
        """Wait for its end: the code, and the lines that were left, those of stdout first."""
        code = self.process.wait(timeout=TIMEOUT)
        for reader in self._readers:
            reader.join(timeout=TIMEOUT)
        return code, [line for queue in self._lines.values() for line in queue.queue]

    def __enter__(self) -> Tail:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(timeout=TIMEOUT)


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "trace"
    directory.mkdir()
    yield directory


class Job:
    """Somebody who has a log open and writes into it."""

    def __init__(self, directory: Path, name: str = "dedicated_log_torch_trace_a.log") -> None:
        self.path = directory / name
        self.file = self.path.open("ab", buffering=0)

    def write(self, *records: bytes) -> None:
        self.file.write(b"".join(records))


def test_lines_come_while_the_log_grows_and_it_ends_with_the_writer(trace: Path) -> None:
    job = Job(trace)
    job.write(mt.string("/home/user/f.py", 0), start(), ended())
    with Tail(str(trace), "-n", "1") as tail:
        assert tail.next().endswith("✓ ended 1.50 s")
        job.write(start(1)[:-5])
        job.write(start(1)[-5:])
        assert tail.next().endswith("[1/0]  f  ◌ begun  user/f.py:2")
        job.write(ended(1, fail_type="ValueError", fail_reason="boom\nmore"))
        assert tail.next().endswith("[1/0]  f  ✗ failed after 1.50 s: ValueError: boom")
        rank = Job(trace, "dedicated_log_torch_trace_rank_3_b.log")
        rank.write(start(2, rank=3, pid=77))
        assert tail.next().endswith("rank 3              process 77: dedicated_log_torch_trace_rank_3_b.log")
        assert "rank 3  [2/0]  " in tail.next()
        rank.file.close()
        assert tail.next().endswith("? unfinished when the log ends")
        assert tail.next().endswith("dedicated_log_torch_trace_rank_3_b.log: no process writes to it anymore")
        job.file.close()  # the other one first: which of two is seen to have ended first is chance
        assert tail.end() == (0, ["tltui: all 2 logs are complete"])


def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    directory = tmp_path / "later" / "trace"
    with Tail(str(directory), "--json", "-n", "0") as tail:
        assert tail.next("stderr") == f"tltui: waiting for the first log in {directory}"
        directory.mkdir(parents=True)
        (directory / "dedicated_log_torch_trace_a.log").touch()
        (directory / "notes.txt").write_text("something else")
        job = Job(directory)
        job.write(start(), ended())
        kinds = [json.loads(tail.next())["kind"] for _ in range(3)]
        assert kinds == ["process", "begun", "ended"], "all of it: nothing of it was there"


def test_until_idle(trace: Path) -> None:
    job = Job(trace)
    job.write(start(), start(1)[:60])
    with Tail(str(trace), "--until-idle", "0.4", "-n", "all") as tail:
        code, lines = tail.end()
    assert code == 0 and len(lines) == 3
    assert lines[-1] == "tltui: nothing was written for 0.4 s"


def test_until_idle_without_any_log(trace: Path) -> None:
    with Tail(str(trace), "--until-idle", "0.2") as tail:
        assert tail.next("stderr") == f"tltui: waiting for the first log in {trace}"
        assert tail.end() == (2, [f"tltui: no TORCH_TRACE log was written within 0.2 s: '{trace}'"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_in_order(trace: Path, number: int, code: int) -> None:
    job = Job(trace)
    job.write(start())
    with Tail(str(trace)) as tail:
        assert "process 4321" in tail.next()
        assert "begun" in tail.next()
        tail.process.send_signal(number)
        assert tail.end() == (code, [])


def test_a_reader_that_leaves_ends_it_though_nothing_is_written(trace: Path) -> None:
    job = Job(trace)
    job.write(start())
    line = f"{sys.executable} -m tltui tail {trace} | head -1; echo ${{PIPESTATUS[@]}}"
    env = os.environ | {"PYTHONPATH": SOURCES}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=TIMEOUT, env=env, check=False)
    assert done.stdout.splitlines()[1:] == ["0 0"]
    assert done.stderr == ""


def test_on_a_terminal_lines_are_coloured_and_take_two_rows_at_most(trace: Path) -> None:
    leader, follower = pty.openpty()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCES, "LC_ALL": "C.UTF-8", "COLUMNS": "60", "TERM": "xterm"}
    command = [sys.executable, "-m", "tltui", "tail", OUTCOMES, "-n", "all"]
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=env) as process:
        os.close(follower)
        text = b""
        try:
            while data := os.read(leader, 65536):
                text += data
        except OSError:  # the other side is closed
            pass
        os.close(leader)
        assert process.wait(timeout=TIMEOUT) == 0
    lines = text.decode().replace("\r\n", "\n").splitlines()
    assert "\x1b[1;31m✗\x1b[0m" in lines[2]
    plain = [line.replace("\x1b[0m", "").split("\x1b[") for line in lines]
    assert max(len(parts[0]) + sum(len(part.partition("m")[2]) for part in parts[1:]) for parts in plain) <= 120


class Command:
    """The command in this process."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self._capsys = capsysbinary

    def __call__(self, *arguments: str) -> tuple[int, list[str], str]:
        try:
            code = main(["tail", *arguments])
        except SystemExit as end:
            code = int(str(end.code))
        out, err = self._capsys.readouterr()
        return code, out.decode().splitlines(), err.decode()


@pytest.fixture
def tail(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    return Command(capsysbinary)


def test_of_a_run_that_is_over_the_last_lines_are_printed(tail: Command) -> None:
    code, every, err = tail(DDP, "-n", "all")
    assert (code, err) == (0, "tltui: all 2 logs are complete\n")
    assert len(every) == 34 and "[5/0]  only" in every[-1]
    assert len({line.index("begun") for line in every if "begun" in line}) == 1, "aligned"
    last = tail(DDP)[1]
    assert [line.split() for line in last] == [line.split() for line in every[-10:]]
    assert tail(DDP, "-n", "0")[1] == []
    assert [line.split() for line in tail(DDP, "-n", "3")[1]] == [line.split() for line in every[-3:]]


def test_json_lines_fit_their_schema(tail: Command) -> None:
    schema = json.loads(schema_text("tail"))
    said = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    for trace in (OUTCOMES, DDP, str(TRACES / "versions" / "torch-2.5")):
        code, lines, _ = tail(trace, "--json", "-n", "all")
        assert code == 0 and len(lines) > 10
        for line in lines:
            Draft202012Validator(schema).validate(json.loads(line))
            assert f"`{json.loads(line)['kind']}`" in said
    found = [json.loads(line) for line in tail(OUTCOMES, "--json", "-n", "all")[1]]
    broke = next(item for item in found if item["kind"] == "break")
    assert (broke["ref"], broke["function"], broke["line"], broke["time"][:14]) == ("1/1", "picky", 60, "11-22 00:18:18")


def test_limits_are_checked_at_the_end(tail: Command) -> None:
    code, lines, err = tail(OUTCOMES, "-n", "1", "--fail-on", "error,break=99")
    assert code == 1 and len(lines) == 1
    assert "FAILED: 1 of 2 limits exceeded" in err
    assert tail(OUTCOMES, "-n", "1", "--fail-on", "error=99")[0] == 0
    assert tail(OUTCOMES, "-n", "1", "--fail-on", "error,eager", "--baseline", OUTCOMES)[0] == 0


@pytest.mark.parametrize(("arguments", "said"), [
    (("-n", "some"), "invalid number of lines: 'some'\n  use a number, such as 10 or all"), (("-n", "-1"), ""),
    (("--until-idle", "soon"), "invalid number of seconds: 'soon'"), (("--until-idle", "nan"), "invalid number of seconds"),
    (("--until-idle=-1",), "invalid number of seconds"), (("--fail-on", "nonsense"), "unknown limit: 'nonsense'"),
    (("--baseline", OUTCOMES), "--baseline needs limits"),
    (("--fail-on", "error", "--baseline", "/nowhere/trace"), "/nowhere/trace"),
])  # fmt: skip
def test_bad_usage(arguments: tuple[str, ...], said: str, tail: Command) -> None:
    code, lines, err = tail(OUTCOMES, *arguments)
    assert (code, lines) == (2, []) or (code == 2 and "baseline" in " ".join(arguments))
    assert said in err


def test_an_address_is_not_waited_for(tail: Command) -> None:
    """Nothing would be said of it beside a directory that is there, and all ranks be printed."""
    said = "tltui: this command takes no address: '0/1'\n  write a file of that name as ./0/1\n"
    assert tail(OUTCOMES, "0/1") == (2, [], said)


def test_what_will_never_be_a_log_is_not_waited_for(tail: Command, tmp_path: Path) -> None:
    other = tmp_path / "train.py"
    other.write_text("import torch\n" * 200)
    assert tail(str(other)) == (0, [], "tltui: the log is complete\n"), "it opens as a text without a line of torch"
    assert tail(f"{other}/trace")[0] == 2
    assert "no PATH given" in tail()[2]


def test_a_log_that_cannot_be_read(tail: Command, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tltui.trace.files import FileBytes

    path = mt.write(trace, start())

    def fails(self: FileBytes, offset: int, size: int) -> bytes:
        raise PermissionError(13, "Permission denied")

    found = []
    discover = tltui.sources.discover  # type: ignore[attr-defined]
    monkeypatch.setattr(discover, "head_of", lambda file: start())
    monkeypatch.setattr(FileBytes, "read", fails)
    found = tail(str(trace))
    assert found[0] == 2
    assert found[2] == f"tltui: Permission denied: '{path}'\n"
    assert len(found[1]) == 1 and found[1][0].endswith("Permission denied")


def test_before_it_gives_up_it_looks_at_everything(tail: Command, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has been quiet for long is looked at now and then only: what came meanwhile is not lost."""
    job = Job(trace)
    job.write(start())
    monkeypatch.setattr(tltui.model.follow.Follower, "poll", lambda self: iter(()))  # type: ignore[attr-defined]
    paused = []

    def pause(self: object, wait: float = 0.5) -> bool:
        if not paused:
            job.write(start(1))
        paused.append(wait)
        time.sleep(0.05)
        return False

    monkeypatch.setattr(tltui.cli.tail._Tail, "_pause", pause)  # type: ignore[attr-defined]
    code, lines, err = tail(str(trace), "--until-idle", "0.3")
    assert (code, err) == (0, "tltui: nothing was written for 0.3 s\n")
    assert "[1/0]" in lines[-1] and len(lines) == 3


def test_what_is_idle_is_measured_from_the_last_write(trace: Path) -> None:
    """It goes on for as long as something is written now and then."""
    job = Job(trace)
    job.write(start())
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.wait(0.1):
            number += 1
            job.write(start(number))

    writer = threading.Thread(target=write)
    with Tail(str(trace), "--until-idle", "1.5", "-n", "1") as tail:
        writer.start()
        try:
            for _ in range(30):
                assert "begun" in tail.next()
        finally:
            stop.set()
            writer.join()
        code, lines = tail.end()
    assert (code, lines[-1]) == (0, "tltui: nothing was written for 1.5 s")


def test_a_method_has_its_qualified_name_once_the_log_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tail", "-n", "all", "--demo", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = [(line["kind"], line["function"]) for line in lines if line["ref"] == "0:0/0"]
    assert names[0] == ("begun", "forward"), "its guards are not written yet"
    assert ("ended", "Model.forward") in names and ("ended", "forward") not in names


@pytest.mark.parametrize(("width", "begin"), [
    ("120", "[0/0] forward (model.py:30) ◌ begun"),
    ("80", "[0/0] forward ◌ begun train/model.py:30"),
])  # fmt: skip
def test_a_method_without_a_class_is_named_with_its_place(
    width: str, begin: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place is part of the name; a line about the begin does not repeat it."""
    monkeypatch.setenv("COLUMNS", width)
    assert main(["tail", "-n", "all", "--demo"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines() if "rank 0 [0/0]" in " ".join(line.split())]
    assert lines[0].endswith(begin)
    assert [line.split("[0/0] ")[1].split()[0] for line in lines[1:]] == ["Model.forward"] * (len(lines) - 1)
