"""What the tests of the engines have done by workers: parts that a worker can be killed with."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """A log, and what becomes of the worker that reads it."""

    path: str
    fatal: str = ""
    """A file that becomes a byte longer with each worker that dies of it."""
    deaths: int = 0
    """How many do."""
    seconds: float = 0.0
    fails: bool = False
    parent: int = 0
    """The process that is never killed."""


def digest(part: Part) -> bytes:
    """Return the md5 of a log and the count of its records."""
    if part.seconds:
        time.sleep(part.seconds)
    if part.fails:
        raise ValueError("no log at all")
    if part.fatal and os.getpid() != part.parent:
        with open(part.fatal, "ab") as file:
            if file.tell() < part.deaths:
                file.write(b"+")
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
    data = Path(part.path).read_bytes()
    return hashlib.md5(data).digest() + data.count(b"\nV").to_bytes(4, "big")


def imported(part: Part) -> str:
    """Return the packages of the user interface that a worker has imported."""
    import sys

    return " ".join(sorted({name.split(".")[0] for name in sys.modules} & {"textual", "rich", "dask", "distributed", "mpi4py"}))


def who(part: Part) -> int:
    """Return the id of the process that does the work."""
    return os.getpid()
