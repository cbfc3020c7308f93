"""Runs that are known from what a job printed, opened from fixtures."""

from __future__ import annotations

import lzma
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.job_failures.failure_order import Printed, PrintedReader
from tltui.questions.job_failures.printed_messages import TextLine
from tltui.sources.discover import Found, FoundLog

INPUTS = Path(__file__).parents[1] / "traces" / "inputs"


@cache
def directory() -> Path:
    return Path(tempfile.mkdtemp(prefix="tltui-text-"))


def unpacked(name: str) -> Path:
    """Return the uncompressed file of a fixture: `ranks_merged/stderr.txt.xz`."""
    path = INPUTS / name
    if path.suffix != ".xz":
        return path
    target = directory() / name.removesuffix(".xz").replace("/", "_")
    if not target.exists():
        target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


def found_text(*paths: str | Path, is_over: bool = True) -> Found:
    """Return the outputs of a job as discovered inputs."""
    logs = []
    for path in paths:
        file = unpacked(path) if isinstance(path, str) else path
        state = os.stat(file)
        logs.append(FoundLog(str(file), state.st_size, None, "", state.st_mtime, state.st_mtime, form="text", is_final=is_over))
    return Found(tuple(log.path for log in logs), tuple(logs), (), is_over=is_over)


def text_run(*paths: str | Path) -> Run:
    """Return the run of complete outputs."""
    return open_run(found_text(*paths))


def read_printed(lines: Iterable[TextLine]) -> Printed:
    """Read the messages of a whole output."""
    reader = PrintedReader()
    reader.read(lines)
    return reader.printed()
