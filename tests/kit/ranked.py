"""Jobs of many ranks, made from a real one with differences planted in it, and what is true of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from real import TRACES

MAKER = TRACES / "ranks" / "make_ranks.py"


def ranked(into: Path, *arguments: object) -> dict[str, Any]:
    """Write a job to a directory with these arguments of `make_ranks.py`, and return the truth about it."""
    command = [sys.executable, str(MAKER), str(into), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    truth: dict[str, Any] = json.loads((into / "truth.json").read_text())
    return truth
