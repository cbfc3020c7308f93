"""Files in the state and config directories, and beside a log, that are pipes, devices, too large or nested too deeply."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from real import TRACES

from tltui.config import layout_path, read_share
from tltui.screens.marks import read_marks
from tltui.sources.job_output import is_job_output, read_state
from tltui.text.safe_files import read_small_file, read_small_json


def pipe(path: Path) -> None:
    os.mkfifo(path)


def nested(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def directory(path: Path) -> None:
    path.mkdir()


ODD = pytest.mark.parametrize("make", [pipe, nested, device, directory])


@ODD
def test_state_that_is_none(make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks, state = tmp_path / "marks.json", tmp_path / "output.json"
    make(marks)
    make(state)
    assert read_marks(marks) == []
    assert read_state(str(tmp_path / "output.txt")) is None and not is_job_output(str(state))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    layout_path().parent.mkdir(parents=True)
    make(layout_path())
    assert read_share("tree") is None


def test_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'{"a": [1]}')
    assert read_small_file(path, 10) == b'{"a": [1]}' and read_small_json(str(path), 10) == {"a": [1]}
    with pytest.raises(OSError, match="larger than 9 bytes"):
        read_small_file(path, 9)
    (tmp_path / "link").symlink_to(path)
    assert read_small_file(tmp_path / "link", 10) == b'{"a": [1]}'
    with pytest.raises(OSError, match="link"):
        read_small_file(tmp_path / "link", 10, follow=False)
    with pytest.raises(ValueError, match="embedded null"):
        read_small_file("a\0b", 10)
    with pytest.raises(OSError, match="not a regular file"):
        read_small_file(os.devnull, 10)


def test_nested_json_is_bad_json(tmp_path: Path) -> None:
    nested(tmp_path / "x")
    with pytest.raises(ValueError, match="nested too deeply"):
        read_small_json(tmp_path / "x", 1 << 20)


@pytest.mark.parametrize("name", ["config.toml", "output.json", "dedicated_log_torch_trace_a.log"])
def test_a_pipe_without_a_writer_is_not_waited_for(name: str, tmp_path: Path) -> None:
    """In a process, so that a command that waits ends the test."""
    config = tmp_path / "config" / "tltui"
    config.mkdir(parents=True)
    directory = config if name == "config.toml" else tmp_path / "trace"
    directory.mkdir(exist_ok=True)
    os.mkfifo(directory / name)
    trace = TRACES / "torch-2.13" / "breaks"
    command = [sys.executable, "-m", "tltui", "ls", str(trace), *([] if directory == config else [str(directory)])]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "inner_break" in done.stdout, done.stderr
