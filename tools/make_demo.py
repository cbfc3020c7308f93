#!/usr/bin/env python3
"""Make the built-in demo trace.

    make_demo.py [OUT]                  (OUT: src/tltui/demo)

README: the logs in ``src/tltui/demo`` are real. torch 2.13.0 (CPU) wrote them while ``tools/demo_job`` ran on
two ranks (gloo) with provenance tracking on; then they passed ``tools/neutralise.py``, and nothing else was
changed. To make them anew, run this with a Python that has torch (``pip install torch==2.13.0``), where there
is a C++ compiler; it takes a minute.

Every compile costs 40 KB or more for the configuration that torch dumps into its metrics, hence a job of few
compiles, with ``backend="eager"`` where Inductor has nothing to show, and caches off except for one pair.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RANKS = 2
LIMIT = 3_000_000
"""Bytes of the whole demo: it is in every wheel."""


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run_job(place: Path) -> list[Path]:
    """Run all ranks of the job below `place`; return their logs."""
    shutil.copytree(HERE / "demo_job", place / "train")
    common = {name: value for name, value in os.environ.items() if not name.startswith(("TORCH", "INDUCTOR"))}
    common |= {
        "WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCH_TRACE": str(place / "trace"),
        "INDUCTOR_PROVENANCE": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT": "0",
    }
    jobs = []
    for rank in range(RANKS):
        variables = {"RANK": str(rank), "TORCHINDUCTOR_CACHE_DIR": str(place / f"cache_{rank}")}
        jobs.append(subprocess.Popen([sys.executable, "train.py"], cwd=place / "train", env=common | variables))
    statuses = [job.wait() for job in jobs]
    if any(statuses):
        raise SystemExit("the demo job failed")
    return sorted((place / "trace").iterdir())


def neutralise(log: Path, place: Path, out: Path) -> None:
    """Write `log` into `out` without the traces of this machine."""
    maps = {place / "train": "/home/user/train", place / "trace": "/home/user/trace"}
    maps |= {place / f"cache_{rank}": "/tmp/torchinductor_user" for rank in range(RANKS)}
    options = [part for old, new in maps.items() for part in ("--map", f"{old}={new}")]
    subprocess.run([sys.executable, HERE / "neutralise.py", log, out / log.name, *options], check=True)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the built-in demo trace (needs torch).")
    parser.add_argument("out", metavar="OUT", nargs="?", type=Path, default=HERE.parent / "src/tltui/demo")
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory(prefix="tltui_demo_") as directory:
        place = Path(directory).resolve()
        logs = run_job(place)
        out.mkdir(parents=True, exist_ok=True)
        for old in out.glob("dedicated_log_torch_trace_*.log"):
            old.unlink()
        for log in logs:
            neutralise(log, place, out)
    size = sum(path.stat().st_size for path in out.iterdir())
    print(f"{out}: {len(logs)} logs, {size:,} bytes")
    if size > LIMIT:
        print(f"more than {LIMIT:,} bytes: make the job smaller", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
