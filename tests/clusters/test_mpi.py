"""A real MPI job reads: the same bytes, and none where a rank dies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed")

from index_runs import BREAKS, command, environment, job, reads, serial
from waiting import until

__all__ = ["job", "serial"]
MPIRUN = shutil.which("mpirun", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))


def is_mpich() -> bool:
    """Others have other options, and refuse root."""
    return MPIRUN is not None and b"HYDRA" in subprocess.run([MPIRUN, "--version"], capture_output=True, check=False).stdout


pytestmark = [pytest.mark.live, pytest.mark.skipif(not is_mpich(), reason="there is no mpirun of MPICH")]


def mpi(ranks: int, *arguments: str | Path) -> list[str]:
    return [str(MPIRUN), "-n", str(ranks), *command(*arguments)]


def children(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *children(child)]
    return found


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_share_the_reading(ranks: int, job: Path, serial: bytes, tmp_path: Path) -> None:
    target = tmp_path / "run.tlx"
    given = mpi(ranks, job, "-o", target, "--engine", "mpi")
    done = subprocess.run(given, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1 and done.stdout.startswith(f"wrote {target}: 12 logs, ")
    assert target.read_bytes() == serial
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_rank_dies(number: int, job: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.tlx"
    target.write_bytes(b"")
    given = mpi(3, job, "-o", target, "--engine", "mpi")
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        until(lambda: any(reads(pid, job) for pid in children(process.pid)))
        all_ = children(process.pid)
        [killed, *_] = [pid for pid in all_ if reads(pid, job)]
        os.kill(killed, number)
        process.communicate(timeout=30)
    assert process.returncode != 0
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("run.tlx", 0)], "it is what it was"
    until(lambda: not any(reads(pid, job) for pid in all_))


def test_each_host_for_itself(job: Path, tmp_path: Path) -> None:
    """Two ranks on one host, one on another that has other logs."""
    hosts = {"a": job, "b": BREAKS}
    local = ["-o", tmp_path / "%h.tlx", "--engine", "mpi", "--node-local"]
    given = [str(MPIRUN), "-n", "2", "-env", "TLTUI_HOST", "a", *command(hosts["a"], *local),
             ":", "-n", "1", "-env", "TLTUI_HOST", "b", *command(hosts["b"], *local)]  # fmt: skip
    done = subprocess.run(given, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tlx", "b.tlx"]
    for host, path in hosts.items():
        alone = tmp_path / f"alone-{host}.tlx"
        subprocess.run(command(path, "-o", alone), env=environment(host), check=True, capture_output=True, timeout=60)
        assert (tmp_path / f"{host}.tlx").read_bytes() == alone.read_bytes()


def test_there_is_nothing(tmp_path: Path) -> None:
    """All ranks end, and say it once."""
    given = mpi(3, tmp_path, "-o", tmp_path / "run.tlx", "--engine", "mpi")
    done = subprocess.run(given, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.count("no trace") == 1
    assert list(tmp_path.iterdir()) == []
