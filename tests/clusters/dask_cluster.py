"""A dask cluster on this machine: a scheduler and workers, each a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cluster:
    """What runs."""

    address: str
    """HOST:PORT"""
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def dask_cluster(directory: Path, workers: int = 2, sources: str = "") -> Iterator[Cluster]:
    """Started, and ended with the block. `sources`: other directories of Python modules for the workers."""
    paths = [*([sources] if sources else ()), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    told = directory / "scheduler.json"

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        log = open(directory / f"{arguments[0].rpartition('.')[2]}.log", "ab")  # noqa: SIM115
        with log:
            return subprocess.Popen([sys.executable, "-m", *arguments, "--no-dashboard"], stdout=log, stderr=log, env=environment)

    own = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told)]
    running = [start("distributed.cli.dask_scheduler", *own)]
    try:
        end = time.monotonic() + 30
        while not (told.exists() and told.read_text().strip().endswith("}")):
            assert time.monotonic() < end and running[0].poll() is None, (directory / "dask_scheduler.log").read_text()
            time.sleep(0.05)
        address = json.loads(told.read_text())["address"]
        place = ["--local-directory", str(directory / "workers"), "--nthreads", "1", "--no-nanny"]
        running += [start("distributed.cli.dask_worker", address, *place) for _ in range(workers)]
        yield Cluster(address.removeprefix("tcp://"), running[0], running[1:])
    finally:
        for process in running:
            process.kill()
            process.wait()
