"""Files that are made from the code are up to date, and one command makes them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from real import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import renew


@pytest.mark.parametrize("tool", renew.TOOLS)
def test_made_files_are_up_to_date(tool: str) -> None:
    assert [str(path.relative_to(ROOT)) for path in renew.stale(tool)] == [], "out of date: run python tools/renew.py"


def test_the_command_only_lists_them_when_asked_to() -> None:
    command = [sys.executable, str(ROOT / "tools" / "renew.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
