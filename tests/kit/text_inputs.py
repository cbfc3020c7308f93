"""TORCH_LOGS text of real jobs, with the traces of the same runs (`tests/traces/inputs`). Each is unpacked once in a process."""

from __future__ import annotations

import atexit
import json
import lzma
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tltui.inputs.text.text_log import TEXT, TextBatch, TextLog
from tltui.inputs.text.text_scanner import TextScanner
from tltui.trace.files import FileBytes
from tltui.trace.log import Log
from tltui.trace.scan import Scanner

INPUTS = Path(__file__).parents[1] / "traces" / "inputs"
TRUTH: dict[str, dict[str, Any]] = json.loads((INPUTS / "truth.json").read_text())
"""Text file → what is true of it."""


@cache
def _place() -> Path:
    place = tempfile.mkdtemp(prefix="tltui-inputs-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place)


@cache
def unpacked(name: str) -> Path:
    """Return the uncompressed file of an input."""
    name = name.removesuffix(".xz")
    path = _place() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.decompress((INPUTS / f"{name}.xz").read_bytes()))
    return path


@cache
def traces_of(name: str) -> list[Path]:
    """Return the traces of the run that wrote a text."""
    return [unpacked(str(path.relative_to(INPUTS))) for path in sorted((INPUTS / name.split("/")[0] / "trace").glob("*.xz"))]


def scanned(path: Path, size: int = 1 << 20) -> TextLog:
    """Read a text log to its end, in steps."""
    source = FileBytes(str(path))
    scanner, log = TextScanner(source), TextLog(str(path), source)
    while not log.ended:
        log.apply(scanner.step(size))
    return log


@cache
def text_log(name: str) -> TextLog:
    """Return a text of the inputs, which all tests share."""
    return scanned(unpacked(name))


@cache
def trace_logs(name: str) -> list[Log]:
    """Return the traces of the run that wrote a text."""
    logs = []
    for path in traces_of(name):
        source = FileBytes(str(path))
        scanner, log = Scanner(source), Log(str(path), source)
        while not log.ended:
            log.apply(scanner.step())
        logs.append(log)
    return logs


def batches(path: Path, size: int) -> list[TextBatch]:
    """Return all batches of a text log."""
    scanner, steps = TextScanner(FileBytes(str(path))), []
    while not steps or not steps[-1].finished:
        steps.append(scanner.step(size))
    return steps


def messages(log: TextLog) -> list[int]:
    """Return the records that torch's loggers wrote."""
    return [record for record in log.records() if log.kind(record) != TEXT]


def others(log: TextLog) -> list[bytes]:
    """Return the lines that torch's loggers did not write, without empty ones."""
    return [line for record in log.records() if log.kind(record) == TEXT for line in log.lines(record) if line.strip()]
