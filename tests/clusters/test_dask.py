"""A real dask cluster reads: workers and the scheduler may die, the bytes are those of one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed")

from dask_cluster import Cluster, dask_cluster
from engine_parts import Part, digest
from index_runs import BREAKS, command, environment, indexed, job, reads, serial
from waiting import until

from tltui.work.engines.executors import opened_engine
from tltui.work.engines.gather import Done, NoEngineError, gather

__all__ = ["job", "serial"]
pytestmark = pytest.mark.live
LOGS = sorted(str(path) for path in BREAKS.parent.rglob("*.log"))[:12]


def gathered(cluster: Cluster, parts: list[Part]) -> list[Done[Part, bytes]]:
    with opened_engine(f"dask://{cluster.address}") as opened:
        assert opened is not None and opened.is_remote
        return sorted(gather(opened.engine(len(parts), 0), digest, parts), key=lambda done: done.number)


def test_a_worker_is_killed_in_the_middle(job: Path, serial: bytes, tmp_path: Path) -> None:
    target = tmp_path / "run.tlx"
    with dask_cluster(tmp_path) as cluster:
        given = command(job, "-o", target, "--engine", f"dask://{cluster.address}")
        with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
            until(lambda: any(reads(worker.pid, job) for worker in cluster.workers))
            [killed, *_] = [worker for worker in cluster.workers if reads(worker.pid, job)]
            killed.kill()
            _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
        assert target.read_bytes() == serial
        assert indexed(job, tmp_path / "again.tlx", "--engine", f"dask://{cluster.address}").returncode == 0
        assert (tmp_path / "again.tlx").read_bytes() == serial, "one worker is enough"


def test_no_worker_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All die of the same part, and nobody starts others."""
    monkeypatch.setattr("tltui.work.engines.executors.GONE", 2.0)
    parts = [Part(path, str(tmp_path / "fatal") if n == 2 else "", 1000, parent=os.getpid()) for n, path in enumerate(LOGS)]
    with dask_cluster(tmp_path) as cluster:
        found = gathered(cluster, parts)
    assert [done.result for done in found] == [digest(Part(path)) for path in LOGS]
    assert found[2].fault is not None


def test_the_scheduler_is_killed(tmp_path: Path) -> None:
    parts = [Part(path, seconds=0.1) for path in LOGS]
    with dask_cluster(tmp_path) as cluster, opened_engine(f"dask://{cluster.address}") as opened:
        assert opened is not None
        found: list[Done[Part, bytes]] = []
        for done in gather(opened.engine(len(parts), 0), digest, parts):
            found.append(done)
            if len(found) == 2:
                cluster.scheduler.kill()
    found.sort(key=lambda done: done.number)
    assert [done.result for done in found] == [digest(Part(path)) for path in LOGS]
    assert sum(done.fault is not None for done in found) >= 6


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_is_left_in_the_middle(number: int, code: int, job: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "run.tlx"
    target.parent.mkdir()
    with dask_cluster(tmp_path) as cluster:
        given = command(job, "-o", target, "--engine", f"dask://{cluster.address}")
        with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
            until(lambda: any(reads(worker.pid, job) for worker in cluster.workers))
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (code, b"", b"")
        assert list(target.parent.iterdir()) == []
        assert [worker.poll() for worker in cluster.workers] == [None, None], "they are not ours"


def test_workers_that_do_not_see_the_files(job: Path, tmp_path: Path) -> None:
    """This process sees other files under the same names: it has them open."""
    with dask_cluster(tmp_path) as cluster:
        [first, *_] = sorted(job.rglob("*.log"))
        with first.open("rb") as file:
            own = f"/proc/self/fd/{file.fileno()}"
            with tarfile.open(tmp_path / "job.tar", "w") as archive:
                archive.add(BREAKS, "job")
            done = subprocess.run(
                command(own, BREAKS, tmp_path / "job.tar", "-o", tmp_path / "run.tlx", "--engine", f"dask://{cluster.address}"),
                capture_output=True, text=True, env=environment(), pass_fds=[file.fileno()], timeout=60, check=False,
            )  # fmt: skip
    assert done.returncode == 1
    assert f"tltui: {own}: " in done.stderr
    assert "cannot read it" in done.stderr or "has a different file of this name" in done.stderr
    assert "job.tar!job/" in done.stderr and "workers cannot read unpacked files: index it without --engine" in done.stderr
    assert done.stderr.count("\n") == 2
    assert (tmp_path / "run.tlx").exists()


def test_workers_with_another_version(tmp_path: Path) -> None:
    other = tmp_path / "other" / "tltui"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text('__version__ = "0.0.1"\n')
    with dask_cluster(tmp_path, sources=str(other.parent)) as cluster:
        done = indexed(BREAKS, tmp_path / "run.tlx", "--engine", f"dask://{cluster.address}")
    assert done.returncode == 2
    assert "has tltui 0.0.1, but this is " in done.stderr and done.stderr.count("\n") == 2
    assert not (tmp_path / "run.tlx").exists()


def test_no_worker_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.work.engines.executors.COMING", 1.0)
    with dask_cluster(tmp_path, workers=0) as cluster, pytest.raises(NoEngineError, match="no usable dask worker after 1 s"):
        gathered(cluster, [])


def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.work.engines.executors.CLUSTER_PATIENCE", 1.0)
    with pytest.raises(NoEngineError, match="no dask scheduler at 127"), opened_engine("dask://127.0.0.1:9"):
        pass


def test_it_is_not_imported_without_being_asked_for(tmp_path: Path) -> None:
    program = f"""
import sys, tltui.cli
assert tltui.cli.main(["index", {str(BREAKS)!r}, "-o", {str(tmp_path / "run.tlx")!r}]) == 0
print(sorted({{name.split(".")[0] for name in sys.modules}} & {{"dask", "distributed", "mpi4py", "textual", "rich"}}))
"""
    given = [sys.executable, "-c", program]
    done = subprocess.run(given, capture_output=True, text=True, env=environment(), timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
