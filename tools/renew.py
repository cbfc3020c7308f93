#!/usr/bin/env python3
"""Renew all files that are made from the code: `python tools/renew.py`; with `--check` only list those that are out of date.

The index of the questions comes first: the other tools import it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("make_index", "make_api", "make_man", "make_tables", "make_questions")
"""Modules with a function `generated() -> dict[Path, str]`: each file and its text."""


def stale(tool: str) -> dict[Path, str]:
    """Return the files of a tool that differ from what it makes, with their new texts."""
    files: dict[Path, str] = import_module(tool).generated()
    return {path: text for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text}


def main(arguments: list[str]) -> int:
    """Write what is out of date and list it; return 1 where `--check` finds any."""
    is_stale = False
    for tool in TOOLS:
        for path, text in stale(tool).items():
            is_stale = True
            print(path.relative_to(ROOT), flush=True)
            if "--check" not in arguments:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, "utf-8")
        if is_stale and tool == TOOLS[0] and "--check" not in arguments:
            os.execv(sys.executable, [sys.executable, *sys.argv])  # the index that was imported is the old one
    return int(is_stale and "--check" in arguments)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]
    sys.exit(main(sys.argv[1:]))
