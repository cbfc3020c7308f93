"""The real traces. Each is opened once for all tests of a process: a run only grows, and what is asked of it does not change it.

A test that applies batches, or that tells two runs of one trace apart, opens its own: `fresh`.
"""

from __future__ import annotations

import os
import shutil
import time
from functools import cache
from pathlib import Path

import tltui
from tltui.model.follow import open_run
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.sources.discover import discover

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests" / "traces"
DEMO = ROOT / "src" / "tltui" / "demo"
INPUTS = TRACES / "inputs"
"""What is no trace, or one that is packed: those who test it open it."""
LOGS = sorted(
    path for path in TRACES.rglob("*") if path.suffix in (".log", ".txt") and path.is_file() and not path.is_relative_to(INPUTS)
)
COMPLETE_LOGS = [path for path in LOGS if not path.is_relative_to(TRACES / "rank_jobs")]
"""Those of which no records were left out: of the others a peer that reads each artifact reads something else."""
DAY = 86_400


def fresh(*paths: str | Path) -> Run:
    """Open a run of one's own. The pages show the paths as they are given."""
    return open_run(discover([str(path) for path in paths]))


def opened(name: str | Path) -> Run:
    """Return the run of a real trace that all tests share. A relative path, which some pages show, is one in the repository."""
    assert os.path.isabs(name) or Path.cwd() == ROOT, "what is read later is read from here"
    return _shared(str(name))


@cache
def _shared(name: str) -> Run:
    is_constant = any(Path(name).absolute().is_relative_to(directory) for directory in (TRACES, DEMO))
    assert is_constant, f"{name}: what a test wrote may change"
    return fresh(name)


def trace(name: str) -> Run:
    """Return the run of one of tests/traces: `torch-2.13/breaks`, `tlparse/simple.log`."""
    return opened(TRACES / name)


def compile_at(run: Run, ref: str) -> Compile:
    """Return the compile at an address."""
    node = run.resolve(ref)
    assert isinstance(node, Compile)
    return node


def demo() -> Run:
    """Return the run of `tltui --demo`."""
    return opened(DEMO)


def age() -> None:
    """Set the times of the traces to yesterday: those of a fresh clone are as young as those of a running job."""
    yesterday = time.time() - DAY
    demos = [path for directory in {DEMO, Path(tltui.__file__).parent / "demo"} for path in directory.iterdir()]
    for path in (*LOGS, *demos):
        try:
            if path.stat().st_mtime > yesterday:
                os.utime(path, (yesterday, yesterday))
        except OSError:
            return  # a checkout that cannot be written


def copy_as_edit(directory: Path) -> Path:
    """Copy the trace `errors` as one of an edited breaks.py: of three functions each, two have the same names."""
    copied = Path(shutil.copytree(TRACES / "torch-2.13" / "errors", directory))
    for log in copied.iterdir():
        log.write_bytes(log.read_bytes().replace(b"errors.py", b"breaks.py"))
    return copied
