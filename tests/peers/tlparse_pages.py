"""tlparse's pages of a log, for the tests that compare a view with one of them. It runs once for each log."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from real import COMPLETE_LOGS as LOGS
from real import TRACES

__all__ = ["BINARY", "LOGS", "TRACES", "label", "names_of", "page", "pages_of"]
BINARY = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")
TEMPORARY: dict[str, pytest.TempPathFactory] = {}


def label(path: Path) -> str:
    """A log as test ids name it."""
    return str(path.relative_to(TRACES))


def page(path: Path, name: str, factory: pytest.TempPathFactory) -> str:
    """One of the pages that tlparse writes for a log; '' if it wrote none of that name. Skips without tlparse."""
    if BINARY is None:
        print("tlparse is not installed: nothing is compared with it")
        pytest.skip("tlparse is not installed: nothing is compared with it")
    TEMPORARY.setdefault("factory", factory)
    file = _report(path) / name
    return file.read_text(encoding="utf-8") if file.exists() else ""


def pages_of(path: Path, pattern: str, factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """(directory, text) of the pages of compiles whose file names match."""
    page(path, "", factory) if BINARY is None else TEMPORARY.setdefault("factory", factory)
    return [(file.parent.name, file.read_text(encoding="utf-8")) for file in sorted(_report(path).glob(f"*/{pattern}"))]


def names_of(path: Path, factory: pytest.TempPathFactory) -> list[str]:
    """The names of all files in the directories of compiles."""
    pages_of(path, "index.html", factory)
    return [file.name for file in sorted(_report(path).glob("*/*")) if file.parent.name != "payloads"]


@cache
def _report(path: Path) -> Path:
    directory = TEMPORARY["factory"].mktemp("pages") / "out"
    assert BINARY is not None
    command = [BINARY, str(path), "-o", str(directory), "--plain-text", "--no-browser", "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return directory
