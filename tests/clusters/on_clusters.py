"""What tests of engines on several machines share: logs, and the command that indexes them."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from real import TRACES

from tltui.cli import main

SOURCES = str(Path(inspect.getfile(main)).parents[2])
BREAKS = TRACES / "torch-2.13" / "breaks"
RANKS = TRACES / "ranks" / "make_ranks.py"


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of 12 ranks, which take a moment to be read."""
    into = tmp_path_factory.mktemp("job") / "logs"
    wanted = ["--ranks", "12", "--compiles", "6", "--detail", "tiny", "--seed", "14"]
    subprocess.run([sys.executable, str(RANKS), str(into), *wanted], check=True, capture_output=True, timeout=120)
    return into


@pytest.fixture(scope="session")
def serial(job: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What one process makes of them."""
    target = tmp_path_factory.mktemp("serial") / "run.tlx"
    done = indexed(job, target, "--engine", "serial")
    assert done.returncode == 0, done.stderr
    return target.read_bytes()


def command(*arguments: str | Path) -> list[str]:
    """`tltui index`."""
    return [sys.executable, "-m", "tltui", "index", *map(str, arguments)]


def environment(host: str = "here") -> dict[str, str]:
    """In which it runs on a host of this name."""
    kept = {name: value for name, value in os.environ.items() if name != "TORCH_TRACE"}
    return kept | {"PYTHONPATH": SOURCES, "TLTUI_HOST": host}


def indexed(path: Path, target: Path, *arguments: str, host: str = "here") -> subprocess.CompletedProcess[str]:
    """It has run."""
    given = command(path, "-o", target, *arguments)
    return subprocess.run(given, capture_output=True, text=True, env=environment(host), timeout=120, check=False)


def until(is_so: Callable[[], object], seconds: float = 60) -> None:
    """Wait for it."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


def reads(pid: int, path: Path) -> bool:
    """Whether a process has a file below a directory open."""
    try:
        return any(os.readlink(one.path).startswith(str(path)) for one in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False
