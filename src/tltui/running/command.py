"""The words of a job's command line → the program to start and its arguments."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

PYTHONS = ("python", "python3")


def program_of(words: Sequence[str], path: str | None = None) -> tuple[str, ...]:
    """The command with its program. A script without one, `train.py …` or `-m package.train …`, is run by the `python` that a shell
    would find; `path` is PATH, where it is another one than ours."""
    first = words[0]
    if first == "-m" or (first.endswith(".py") and shutil.which(first, path=path) is None and os.path.isfile(first)):
        return _python(path), *words
    return tuple(words)


def _python(path: str | None) -> str:
    return next((name for name in PYTHONS if shutil.which(name, path=path)), sys.executable)
