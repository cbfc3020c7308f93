"""Thousands of ranks, and logs of tens of thousands of compiles. The jobs are made by `tests/traces/ranks/make_ranks.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from commands import INDEX, TLTUI, seconds_of
from probe import Probe, worst
from rows import Bench, Row, at_most

MAKE = Path(__file__).resolve().parents[1] / "tests" / "traces" / "ranks" / "make_ranks.py"
RANKS = ("--ranks", "2048", "--compiles", "4", "--detail", "tiny", "--layout", "hosts")
QUICK_RANKS = ("--ranks", "256", "--compiles", "4", "--detail", "tiny", "--layout", "hosts")
COMPILES = ("--ranks", "1", "--compiles", "20000", "--detail", "tiny")
MANY_COMPILES = ("--ranks", "1", "--compiles", "100000", "--detail", "tiny")
FIVE_GB = ("--ranks", "1", "--compiles", "11000", "--detail", "full")
WORKER = b"trace/worker.py"


def job(keep: Path, *arguments: str) -> Path:
    """Return the directory of a job of many ranks or compiles, after making it if it does not exist."""
    path = keep / "-".join(("job", *(one.strip("-") for one in arguments)))
    if not path.exists():
        keep.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run([sys.executable, str(MAKE), str(unfinished), *arguments], check=True, stdout=subprocess.DEVNULL)
        unfinished.rename(path)
    return path


def ranks(keep: Path, quick: bool) -> list[Row]:
    """Measure a job of 2,048 ranks on the screen."""
    arguments = QUICK_RANKS if quick else RANKS
    path, count = job(keep, *arguments), int(arguments[1])
    with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
        first = probe.first_frame()
        largest = 0
        while not is_complete(probe, f"{count:,} ranks"):
            largest = max(largest, _largest_worker(probe.pid))
            probe.pump(0.1)
        complete_s = probe.now()
        probe.settle()
        answers = [probe.send("tab"), *(probe.send(key) for key in ("j", "k", "pagedown", "pageup", "G", "g") * 2)]
        memory = probe.memory()
    label = f"{count:,} ranks × 4"
    return [
        at_most(f"{label}: first frame", first, 0.35, "s"),
        at_most(f"{label}: the whole tree", complete_s, 4.0, "s"),
        at_most(f"{label}: a key, first byte (worst)", 1000 * worst(answers, "first"), 60, "ms"),
        at_most(f"{label}: memory of the UI", memory / 1e6, 200, "MB"),
        at_most(f"{label}: memory of a process that reads", largest / 1e6, 60, "MB"),
    ]


def compiles(keep: Path, quick: bool) -> list[Row]:
    """Measure 20,000 compiles in one log."""
    path = job(keep, *COMPILES)
    rows = [at_most("20,000 compiles: ls", min(seconds_of([*TLTUI, "ls", str(path)], 1 if quick else 3)), 5.0, "s")]
    with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
        while not is_complete(probe, "20,000 compiles"):
            probe.pump(0.1)
        rows.append(at_most("20,000 compiles: the whole tree", probe.now(), 5.0, "s"))
        probe.settle()
        rows.append(at_most("20,000 compiles: memory of the UI", probe.memory() / 1e6, 110, "MB"))
    return rows


def huge(keep: Path, quick: bool) -> list[Row]:
    """Measure logs of 100,000 compiles and of 5 GB, which are made for it and deleted: 9 GB."""
    if quick:
        return []
    rows = []
    for label, arguments, seconds, megabytes in (
        ("100,000 compiles in one log", MANY_COMPILES, 25.0, 300.0), ("5 GB in one log", FIVE_GB, 10.0, 300.0),
    ):  # fmt: skip
        path = job(keep, *arguments)
        try:
            output = subprocess.run([sys.executable, "-c", INDEX, str(path)], check=True, capture_output=True, text=True).stdout
            took, _, peak, _ = map(float, output.split())
            size = sum(log.stat().st_size for log in path.glob("*.log"))
            rows.append(at_most(label, took, seconds, "s", f" ({size / 1e6 / took:,.0f} MB/s)"))
            rows.append(at_most(f"{label}: memory", peak / 1e6, megabytes, "MB"))
        finally:
            shutil.rmtree(path)
    return rows


def further(keep: Path, quick: bool) -> list[Row]:
    """Measure the memory of a further record: 20,000 compiles against 2,000."""
    grown, records = [], []
    for arguments in (("--ranks", "1", "--compiles", "2000", "--detail", "tiny"), COMPILES):
        path = job(keep, *arguments)
        output = subprocess.run([sys.executable, "-c", INDEX, str(path)], check=True, capture_output=True, text=True).stdout
        grown.append(float(output.split()[1]))
        with next(path.glob("*.log")).open("rb") as file:
            records.append(sum(line.startswith(b"V") for line in file))
    return [at_most("memory of a further record", (grown[1] - grown[0]) / (records[1] - records[0]), 50, "B")]


def is_complete(probe: Probe, count: str) -> bool:
    """Return whether all is read, according to the header."""
    above = probe.lines()[0]
    return count in above and "reading" not in above and "looking" not in above


def _largest_worker(parent: int) -> int:
    """Return the peak memory of the processes that read for the UI, in bytes."""
    peaks = [0]
    for name in filter(str.isdecimal, os.listdir("/proc")):
        directory = Path("/proc", name)
        try:
            is_worker, status = WORKER in (directory / "cmdline").read_bytes(), (directory / "status").read_text()
            if is_worker and f"\nPPid:\t{parent}\n" in status:
                peaks.append(int(status.partition("VmHWM:")[2].split()[0]) * 1024)
        except OSError:
            continue
    return max(peaks)


def scale(keep: Path, quick: bool) -> list[Row]:
    """Run all benchmarks but those of gigabytes."""
    return [*ranks(keep, quick), *compiles(keep, quick), *further(keep, quick)]


BENCHES: dict[str, Bench] = {"scale": scale, "huge": huge}
LONG = frozenset(("huge",))
"""Benchmarks that run by name only (`tools/long_run scale`)."""
