"""A run that grows while it is looked at."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from make import copies, ensure_log
from probe import Answer, Probe
from rows import Bench, Row, at_most

POLL = 0.5
"""Seconds between two looks of tltui at the files."""
BATCH = 1000
RANKS, RATE = 8, 2_000_000
"""Logs that grow at the same time, and bytes a second of each."""
GROWTH = f"""
import sys, time
files = [open(path, "ab", buffering=0) for path in sys.argv[2:]]
data = open(sys.argv[1], "rb").read()
begin, at = time.monotonic(), 0
while at < len(data):
    due = int((time.monotonic() - begin) * {RATE})
    cut = data.rfind(b"\\nV", at, due) + 1
    if cut > at:
        for number, file in enumerate(files):
            file.write(data[at:cut].replace(b', "attempt"', b', "rank": %d, "attempt"' % number))
        at = cut
    time.sleep(0.05)
time.sleep(3600)
"""


def ms(seconds: float) -> float:
    """Convert seconds to milliseconds."""
    return seconds * 1000


def appears(keep: Path, quick: bool) -> list[Row]:
    """Measure the time from the write of 1,000 records to the screen with them, on a run of 10 MB."""
    took = []
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "trace" / "dedicated_log_torch_trace_a.log"
        log.parent.mkdir()
        shutil.copy(ensure_log(keep, "middle").path, log)
        parts = batches(log.stat().st_size)
        with log.open("ab", buffering=0) as file, Probe.tltui(log.parent, home=Path(place)) as probe:
            probe.wait_for("live · last record")
            probe.settle()
            for _ in range(5 if quick else 15):
                head = probe.lines()[0]
                file.write(next(parts))
                begin = time.perf_counter()
                probe.wait(lambda before=head: probe.lines()[0] != before, "the new records")  # type: ignore[misc]
                took.append(time.perf_counter() - begin)
                probe.settle()
    label = f"{BATCH:,} new records on the screen, up to {POLL:g} s of it until a look"
    return [at_most(label, max(took), POLL + 0.3, "s", f" (median {statistics.median(took):.2f})")]


def batches(skip: int) -> Iterator[bytes]:
    """Yield batches of records of a repeated log after its first `skip` bytes."""
    buffer = b""
    size = 0
    for data in copies("cache_hit"):
        size += len(data)
        if size <= skip:
            continue
        buffer += data
        while buffer.count(b"\nV") > BATCH:
            at = 0
            for _ in range(BATCH):
                at = buffer.index(b"\nV", at) + 1
            yield buffer[:at]
            buffer = buffer[at:]


@contextmanager
def growing(place: Path, keep: Path) -> Iterator[Path]:
    """Make a directory of logs that grow within the context."""
    trace = place / "trace"
    trace.mkdir()
    logs = [trace / f"dedicated_log_torch_trace_rank_{number}_x.log" for number in range(RANKS)]
    source = ensure_log(keep, "cut").path
    child = subprocess.Popen([sys.executable, "-c", GROWTH, str(source), *map(str, logs)])
    try:
        yield trace
    finally:
        child.kill()
        child.wait()


def keys_meanwhile(keep: Path, quick: bool) -> list[Row]:
    """Measure keys while eight ranks grow."""
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory() as place, growing(Path(place), keep) as trace:
        time.sleep(2.0)
        with Probe.tltui(trace, home=Path(place)) as probe:
            probe.wait_for("live · last record")
            for key in ("j", "j", "k", "j", "tab", "j", "j", "tab", "2", "1") * (5 if quick else 20):
                answers.append(probe.send(key, idle=0.03, limit=0.2))
            memory = probe.memory() / 1e6
    first = sorted(ms(answer.first) for answer in answers if answer.bytes)
    more = f" (median {statistics.median(first):.0f}, {len(first)} keys, {memory:,.0f} MB)"
    return [at_most(f"a key while {RANKS} ranks grow by 2 MB/s each: slowest first byte", first[-1], 60, "ms", more)]


def idle(keep: Path, quick: bool) -> list[Row]:
    """Measure bytes and CPU time while nothing happens."""
    seconds = 5 if quick else 20
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "trace" / "dedicated_log_torch_trace_a.log"
        log.parent.mkdir()
        shutil.copy(ensure_log(keep, "middle").path, log)
        with log.open("ab"), Probe.tltui(log.parent, home=Path(place)) as probe:
            probe.wait_for("live · last record")
            probe.settle()
            before, used = len(probe.raw), cpu(probe.pid)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                probe.pump(0.2)
            spent = 100 * (cpu(probe.pid) - used) / seconds
            return [
                at_most("bytes while a run is followed and nothing happens", len(probe.raw) - before, 0, "B"),
                at_most("processor meanwhile", spent, 1.0, "%"),
            ]


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


BENCHES: dict[str, Bench] = {"appears": appears, "growing": keys_meanwhile, "idle": idle}
