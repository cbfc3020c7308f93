"""Logs of 12 ranks, and the command that indexes them, for tests of engines in processes and on several machines."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranked import ranked
from real import TRACES

from tltui.cli import main

SOURCES = str(Path(inspect.getfile(main)).parents[2])
BREAKS = TRACES / "torch-2.13" / "breaks"


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the logs of 12 ranks, which take a moment to be read."""
    into = tmp_path_factory.mktemp("job") / "logs"
    ranked(into, "--ranks", 12, "--compiles", 6, "--detail", "tiny", "--seed", 14)
    return into


@pytest.fixture(scope="session")
def serial(job: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the index that one process makes of them."""
    target = tmp_path_factory.mktemp("serial") / "run.tlx"
    done = indexed(job, target, "--engine", "serial")
    assert done.returncode == 0, done.stderr
    return target.read_bytes()


def command(*arguments: str | Path) -> list[str]:
    """Return the words of `tltui index`."""
    return [sys.executable, "-m", "tltui", "index", *map(str, arguments)]


def environment(host: str = "here") -> dict[str, str]:
    """Return the environment of a host of this name."""
    inherited = {name: value for name, value in os.environ.items() if name != "TORCH_TRACE"}
    return inherited | {"PYTHONPATH": SOURCES, "TLTUI_HOST": host}


def indexed(path: Path, target: Path, *arguments: str, host: str = "here") -> subprocess.CompletedProcess[str]:
    """Index logs to a file."""
    given = command(path, "-o", target, *arguments)
    return subprocess.run(given, capture_output=True, text=True, env=environment(host), timeout=120, check=False)


def reads(pid: int, path: Path) -> bool:
    """Return whether a process has a file below a directory open."""
    try:
        return any(os.readlink(one.path).startswith(str(path)) for one in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False
