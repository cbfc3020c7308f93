"""Record the CPU time of every test in tests/durations.json, from which tests/durations.py chooses the `long` ones.

    nice python tools/record_durations.py      # runs all tests but the live ones: 10 to 20 minutes on two cores

Load on the machine changes little: CPU time of the test process and of its children is measured, not wall time.
The file lists shares of the run, so that it does not depend on the speed of the machine either.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import durations  # noqa: E402

DIRECTORY = "TLTUI_DURATIONS"
"""The environment variable with the directory that the test processes write to."""


def cpu_s() -> float:
    """Add up the CPU seconds of this process and of its children that ended."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def children_s() -> dict[int, float]:
    """Read the CPU seconds of the children that were not waited for, by pid; {} without /proc.

    They are fields 14 to 17 of `stat` in proc(5).
    """
    seconds = {}
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text(encoding="ascii").split():
            try:
                fields = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            seconds[int(pid)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds


class Recorder:
    """A pytest plugin that notes the CPU seconds of each test with its fixtures."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure a test, without the children that tests before it left behind and that ended now."""
        before, left = cpu_s(), children_s()
        try:
            return (yield)
        finally:
            after, remaining = cpu_s(), children_s()
            self.seconds[item.nodeid] = max(after - before - sum(left[pid] for pid in left.keys() - remaining.keys()), 0.0)

    def pytest_sessionfinish(self) -> None:
        """Write the seconds of this process."""
        (self.directory / f"{os.getpid()}.json").write_text(json.dumps(self.seconds), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder where the environment names a directory."""
    if directory := os.environ.get(DIRECTORY):
        config.pluginmanager.register(Recorder(Path(directory)))


def measured(workers: str) -> dict[str, float]:
    """Run the tests and return the CPU seconds of each."""
    with tempfile.TemporaryDirectory() as directory:
        paths = os.pathsep.join(filter(None, (str(ROOT / "tools"), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, DIRECTORY: directory, "PYTHONPATH": paths}
        command = [sys.executable, "-m", "pytest", "-p", "record_durations", "-m", "not live", "-n", workers]
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            sys.exit(f"pytest ended with {done.returncode}: nothing is recorded")
        seconds: dict[str, float] = {}
        for path in Path(directory).iterdir():
            seconds |= json.loads(path.read_text(encoding="utf-8"))
    return seconds


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-n", "--workers", default="auto", help="test processes (default: one a core)")
    seconds = measured(parser.parse_args().workers)
    recorded = durations.shares(seconds)
    chosen = durations.long_tests(recorded)
    durations.write(recorded)
    quick_s = sum(cpu_s for test, cpu_s in seconds.items() if test not in chosen)
    print(f"{len(seconds)} tests, {sum(seconds.values()):.0f} CPU s; {len(seconds) - len(chosen)} quick ones, {quick_s:.0f} CPU s")


if __name__ == "__main__":
    main()
