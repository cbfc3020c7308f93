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
    """The directory of a job of many ranks or compiles; made if it is not there."""
    path = keep / "-".join(("job", *(one.strip("-") for one in arguments)))
    if not path.exists():
        keep.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        subprocess.run([sys.executable, str(MAKE), str(unfinished), *arguments], check=True, stdout=subprocess.DEVNULL)
        unfinished.rename(path)
    return path


def ranks(keep: Path, quick: bool) -> list[Row]:
    """A job of 2,048 ranks on the screen."""
    arguments = QUICK_RANKS if quick else RANKS
    path, count = job(keep, *arguments), int(arguments[1])
    with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
        first = probe.first_frame()
        largest = 0
        while not is_whole(probe, f"{count:,} ranks"):
            largest = max(largest, _largest_worker(probe.pid))
            probe.pump(0.1)
        whole = probe.now()
        probe.settle()
        answers = [probe.send("tab"), *(probe.send(key) for key in ("j", "k", "pagedown", "pageup", "G", "g") * 2)]
        memory = probe.memory()
    what = f"{count:,} ranks × 4"
    return [
        at_most(f"{what}: first frame", first, 0.35, "s"),
        at_most(f"{what}: the whole tree", whole, 4.0, "s"),
        at_most(f"{what}: a key, first byte (worst)", 1000 * worst(answers, "first"), 60, "ms"),
        at_most(f"{what}: memory of the UI", memory / 1e6, 200, "MB"),
        at_most(f"{what}: memory of a process that reads", largest / 1e6, 60, "MB"),
    ]


def compiles(keep: Path, quick: bool) -> list[Row]:
    """20,000 compiles in one log."""
    path = job(keep, *COMPILES)
    rows = [at_most("20,000 compiles: ls", min(seconds_of([*TLTUI, "ls", str(path)], 1 if quick else 3)), 5.0, "s")]
    with tempfile.TemporaryDirectory() as home, Probe.tltui(path, home=Path(home)) as probe:
        while not is_whole(probe, "20,000 compiles"):
            probe.pump(0.1)
        rows.append(at_most("20,000 compiles: the whole tree", probe.now(), 5.0, "s"))
        probe.settle()
        rows.append(at_most("20,000 compiles: memory of the UI", probe.memory() / 1e6, 110, "MB"))
    return rows


def huge(keep: Path, quick: bool) -> list[Row]:
    """100,000 compiles, and 5 GB, in one log each. They are made for it, and deleted: 9 GB."""
    if quick:
        return []
    rows = []
    for what, arguments, seconds, megabytes in (
        ("100,000 compiles in one log", MANY_COMPILES, 25.0, 300.0), ("5 GB in one log", FIVE_GB, 10.0, 300.0),
    ):  # fmt: skip
        path = job(keep, *arguments)
        try:
            said = subprocess.run([sys.executable, "-c", INDEX, str(path)], check=True, capture_output=True, text=True).stdout
            took, _, peak, _ = map(float, said.split())
            size = sum(log.stat().st_size for log in path.glob("*.log"))
            rows.append(at_most(what, took, seconds, "s", f" ({size / 1e6 / took:,.0f} MB/s)"))
            rows.append(at_most(f"{what}: memory", peak / 1e6, megabytes, "MB"))
        finally:
            shutil.rmtree(path)
    return rows


def further(keep: Path, quick: bool) -> list[Row]:
    """What a further record takes: 20,000 compiles against 2,000."""
    grown, records = [], []
    for arguments in (("--ranks", "1", "--compiles", "2000", "--detail", "tiny"), COMPILES):
        path = job(keep, *arguments)
        said = subprocess.run([sys.executable, "-c", INDEX, str(path)], check=True, capture_output=True, text=True).stdout
        grown.append(float(said.split()[1]))
        with next(path.glob("*.log")).open("rb") as file:
            records.append(sum(line.startswith(b"V") for line in file))
    return [at_most("memory of a further record", (grown[1] - grown[0]) / (records[1] - records[0]), 50, "B")]


def is_whole(probe: Probe, count: str) -> bool:
    """Whether all has been read, as the line above says it."""
    above = probe.lines()[0]
    return count in above and "reading" not in above and "looking" not in above


def _largest_worker(parent: int) -> int:
    """The most memory that a process which reads for the UI has taken so far, in bytes."""
    peaks = [0]
    for name in filter(str.isdecimal, os.listdir("/proc")):
        own = Path("/proc", name)
        try:
            if WORKER in (own / "cmdline").read_bytes() and f"\nPPid:\t{parent}\n" in (status := (own / "status").read_text()):
                peaks.append(int(status.partition("VmHWM:")[2].split()[0]) * 1024)
        except OSError:
            continue
    return max(peaks)


def scale(keep: Path, quick: bool) -> list[Row]:
    """All of it but what takes gigabytes."""
    return [*ranks(keep, quick), *compiles(keep, quick), *further(keep, quick)]


BENCHES: dict[str, Bench] = {"scale": scale, "huge": huge}
LONG = frozenset(("huge",))
"""Those that are asked for by name (`tools/long_run scale`)."""
