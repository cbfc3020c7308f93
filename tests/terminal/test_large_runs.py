"""Directories of thousands of files, and large logs: the screen waits for none of it, and nothing is left of what reads it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from real import TRACES
from terminal import Terminal

from tltui.model.follow import WORTH

LOG = next(TRACES.joinpath("torch-2.13/train").glob("*.log"))


def workers_of(parent: int) -> list[int]:
    """The processes that scan for tltui."""
    found = []
    for name in os.listdir("/proc"):
        try:
            stat = Path("/proc", name, "stat").read_text().rpartition(")")[2].split() if name.isdecimal() else []
            if stat and stat[1] == str(parent) and b"trace/worker.py" in Path("/proc", name, "cmdline").read_bytes():
                found.append(int(name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("many")
    (where / "0.txt").write_text("nothing of torch\n")
    for number in range(1, 4000):
        os.link(where / "0.txt", where / f"{number}.txt")
    return where


def test_the_first_frame_comes_before_all_files_were_looked_at(files: Path, tmp_path: Path) -> None:
    log = files / "zz_rank_0.log"
    log.write_bytes(LOG.read_bytes())
    with Terminal.tltui(files, home=tmp_path) as terminal:
        terminal.wait_for("searching for logs: 0 found")
        assert "? help" in terminal.text(), "all of the screen is there"
        terminal.wait_for("[0/0]")
        terminal.press("q")
        assert terminal.wait_end() == 0
    log.unlink()


def test_nothing_among_many_files(files: Path, tmp_path: Path) -> None:
    with Terminal.tltui(files, home=tmp_path) as terminal:
        terminal.wait_for("searching for logs")
        assert terminal.wait_end() == 2
        assert "4000 files of other kinds" in terminal.text()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    data = LOG.read_bytes()
    log = tmp_path_factory.mktemp("large") / "large.log"
    with log.open("wb") as file:
        for _ in range(8 * WORTH // len(data)):
            file.write(data)
    yield log
    log.unlink()


@pytest.mark.parametrize("how", ["q", "ctrl+q", "killed"])
def test_leaving_while_a_log_is_read_leaves_no_process(how: str, large: Path, tmp_path: Path) -> None:
    with Terminal.tltui(large, home=tmp_path, environment={"TLTUI_WORKERS": "2"}) as terminal:
        terminal.wait(lambda: "reading" in terminal.lines()[0] and len(workers_of(terminal.pid)) == 2, "two processes that read")
        theirs = workers_of(terminal.pid)
        if how == "killed":
            os.kill(terminal.pid, 9)
        else:
            terminal.press(how)
        terminal.wait_end()
    until = time.monotonic() + 5
    while any(os.path.exists(f"/proc/{pid}") for pid in theirs) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [pid for pid in theirs if os.path.exists(f"/proc/{pid}")]
