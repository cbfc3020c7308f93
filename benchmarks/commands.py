"""Benchmarks without a terminal: start, indexing, memory."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from make import TRACES, BenchmarkLog, ensure_log
from rows import Bench, Row, at_least, at_most

TLTUI = [sys.executable, "-m", "tltui"]

INDEX = """
import resource, sys, time
from tltui.model.follow import open_run
from tltui.sources.discover import discover
import tltui.tree.listing
def resident():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) * 1024
found = discover([sys.argv[1]])
before = resident()
begin = time.perf_counter()
run = open_run(found)
took = time.perf_counter() - begin
print(took, resident() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, run.tally.compiles)
"""
"""Indexing as `tltui ls` does it: a run with all statuses, in a process of its own. Prints seconds, growth, peak, compiles."""

NO_TEXTUAL = """
import io, sys
sys.stdout = io.TextIOWrapper(io.BytesIO())
from tltui.cli import main
code = main(sys.argv[1:])
sys.exit(code or ("textual" in sys.modules or "rich" in sys.modules))
"""


def seconds_of(command: Sequence[str], times: int) -> list[float]:
    """Return the seconds of each run of a process."""
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        took.append(time.perf_counter() - begin)
    return took


def start(keep: Path, quick: bool) -> list[Row]:
    """Measure the start of commands, which never import the UI."""
    trace = str(TRACES / "breaks")
    rows = []
    for label, budget, arguments in (("tltui --help", 0.12, ["--help"]), ("tltui ls on a 600 KB trace", 0.25, ["ls", trace])):
        took = seconds_of([*TLTUI, *arguments], 5 if quick else 11)
        rows.append(at_most(label, statistics.median(took), budget, "s", f" (best {min(took):.3f})"))
    done = subprocess.run([sys.executable, "-c", NO_TEXTUAL, "ls", trace], check=False)
    rows.append(Row("tltui ls imports textual", "never", "never" if done.returncode == 0 else "it does", done.returncode == 0))
    return rows


def _indexed(log: BenchmarkLog, times: int) -> tuple[float, float, int, int]:
    """Return median seconds, best seconds, growth and peak of memory."""
    figures = []
    for _ in range(times):
        done = subprocess.run([sys.executable, "-c", INDEX, str(log.path)], check=True, capture_output=True, text=True)
        figures.append([float(word) for word in done.stdout.split()])
    took = [one[0] for one in figures]
    return statistics.median(took), min(took), int(figures[0][1]), int(figures[0][2])


def index(keep: Path, quick: bool) -> list[Row]:
    """Measure the indexing of a trace, and its memory."""
    times = 3 if quick else 5
    cut, small = ensure_log(keep, "cut"), ensure_log(keep, "small-records")
    took, best, _, _ = _indexed(cut, times)
    size, mean = cut.size / 1e6, cut.size / cut.records
    rows = [at_least(f"index {size:.0f} MB, {mean:,.0f} B a record", size / took, 400, "MB/s", f" (best {size / best:.0f})")]
    took, best, _, _ = _indexed(small, times)
    label = f"index {small.size / 1e6:.0f} MB, {small.size / small.records:,.0f} B a record"
    rows.append(at_least(label, small.records / took, 150_000, "records/s", f" (best {small.records / best:,.0f})"))
    large = cut if quick else ensure_log(keep, "large")
    took, _, grown, peak = _indexed(large, 1)
    label = f"index {large.size / 1e6:,.0f} MB, {large.records:,} records"
    rows.append(Row(label, "", f"{took:.2f} s, {large.size / took / 1e6:.0f} MB/s, {peak / 1e6:.0f} MB at most", None))
    other = ensure_log(keep, "middle" if quick else "cut")
    _, _, grown_there, _ = _indexed(other, 1)
    # the difference of two sizes: what the program itself needs is in both
    each = (grown - grown_there) / (large.records - other.records)
    rows.append(at_most("memory for each further record", each, 60, "B"))
    return rows


def texts(keep: Path, quick: bool) -> list[Row]:
    """Measure the reading of TORCH_LOGS text, and its memory."""
    times = 1 if quick else 3
    large, small = ensure_log(keep, "text"), ensure_log(keep, "text-flood")
    took, best, _, peak = _indexed(large, times)
    size = large.size / 1e6
    more = f" (best {size / best:.0f}, {peak / 1e6:.0f} MB at most)"
    rows = [at_least(f"TORCH_LOGS text of {size:.0f} MB", size / took, 60, "MB/s", more)]
    took, best, _, _ = _indexed(small, times)
    size = small.size / 1e6
    label = f"the same, {small.records:,} messages of one line"
    return [*rows, at_least(label, size / took, 10, "MB/s", f" (best {size / best:.0f})")]


def rewriting(keep: Path, quick: bool) -> list[Row]:
    """Measure commands that read every record, as whole processes."""
    log = ensure_log(keep, "cut")
    size, times = log.size / 1e6, 1 if quick else 3
    took = statistics.median(seconds_of([*TLTUI, "records", str(log.path)], times))
    rows = [at_least(f"records of {size:.0f} MB", size / took, 50, "MB/s")]
    with tempfile.TemporaryDirectory() as directory:
        command = [*TLTUI, "bundle", str(log.path), "--redact", "-o", f"{directory}/out.log", "--force"]
        took = statistics.median(seconds_of(command, times))
    return [*rows, at_least(f"bundle --redact of {size:.0f} MB", size / took, 10, "MB/s")]


def tlparse(keep: Path, quick: bool) -> list[Row]:
    """Compare with tlparse 0.4.3 on the same file, which also writes its report."""
    binary = shutil.which("tlparse") or shutil.which("tlparse", path=sysconfig.get_path("scripts"))
    if quick or binary is None:
        return [Row("tlparse beside it", "≥ 25 ×", "left out: --quick" if quick else "tlparse is not installed", None)]
    cut = ensure_log(keep, "cut")
    with tempfile.TemporaryDirectory() as directory:
        command = [binary, str(cut.path), "-o", f"{directory}/out", "--no-browser", "--overwrite"]
        begin = time.perf_counter()
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        theirs = time.perf_counter() - begin
    if done.returncode:
        return [Row("tlparse beside it", "≥ 25 ×", f"tlparse failed with {done.returncode}", None)]
    ours, _, _, _ = _indexed(cut, 3)
    process_s = statistics.median(seconds_of([*TLTUI, "ls", str(cut.path)], 3))
    size = cut.size / 1e6
    return [
        Row(f"tlparse 0.4.3 on {size:.0f} MB", "", f"{theirs:.1f} s, {size / theirs:.1f} MB/s", None),
        at_least("indexing against tlparse", theirs / ours, 25, "×"),
        Row("tltui ls on the same, as a whole process", "", f"{process_s:.2f} s, {theirs / process_s:.0f} × tlparse", None),
    ]


BENCHES: dict[str, Bench] = {"start": start, "index": index, "texts": texts, "rewriting": rewriting, "tlparse": tlparse}
