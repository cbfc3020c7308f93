"""Whether a log is still being written."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tltui.sources import file_writers
from tltui.sources.file_writers import QUIET, Writers

WRITER = "import sys, time; file = open(sys.argv[1], sys.argv[2]); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(b"V")
    return path


def held(path: Path, mode: str) -> subprocess.Popen[bytes]:
    """A process that has the file open."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path), mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"open\n"
    return process


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Writers, "_file_system", lambda self, path: "ext4")
    yield


def ended(path: Path, look: Writers | None = None) -> bool:
    return bool((look or Writers()).ended({str(path): os.stat(path)}))


def test_a_file_is_quiet_ten_minutes_after_its_last_change(log: Path) -> None:
    status = os.stat(log)
    assert not Writers(lambda: status.st_mtime + QUIET - 1).quiet(status)
    assert Writers(lambda: status.st_mtime + QUIET + 1).quiet(status)
    assert not Writers().quiet(status)
    os.utime(log, (time.time() - 2 * QUIET,) * 2)
    assert Writers().quiet(os.stat(log))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
def test_who_has_it_open_for_writing_has_not_ended(log: Path, local: None) -> None:
    assert ended(log)
    for mode in ("a", "r+"):
        process = held(log, mode)
        assert not ended(log)
        process.communicate()
        assert ended(log)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
def test_a_job_that_hangs_for_an_hour_has_not_ended(log: Path) -> None:
    os.utime(log, (time.time() - 3600,) * 2)
    process = held(log, "a")
    assert Writers().abandoned({str(log): os.stat(log)}) == set()
    process.communicate()
    assert Writers().abandoned({str(log): os.stat(log)}) == {str(log)}
    os.utime(log)
    assert Writers().abandoned({str(log): os.stat(log)}) == set(), "too young to tell without a look at who writes"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
def test_who_only_reads_it_does_not_count(log: Path, local: None) -> None:
    process = held(log, "r")
    assert ended(log)
    process.communicate()


def test_a_descriptor_that_was_closed_since_it_was_listed_does_not_count(log: Path, local: None, tmp_path: Path) -> None:
    place = tmp_path / "proc" / "77"
    (place / "fd").mkdir(parents=True)
    (place / "fd" / "5").symlink_to(log)
    look = Writers(proc=str(tmp_path / "proc"))
    assert not ended(log, look), "without fdinfo it may be a writer"
    (place / "fdinfo").mkdir()
    assert ended(log, look)


def test_of_a_file_of_another_host_nothing_is_known(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("nfs4", "lustre", "fuse.sshfs", ""):
        monkeypatch.setattr(Writers, "_file_system", lambda self, path, kind=kind: kind)
        assert not ended(log)


def test_without_processes_to_look_at_nothing_is_known(log: Path, local: None, tmp_path: Path) -> None:
    assert not ended(log, Writers(proc=str(tmp_path / "none")))


def test_processes_of_the_same_user_that_cannot_be_looked_into(
    log: Path, local: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proc = tmp_path / "proc"
    (proc / "77").mkdir(parents=True)
    listdir = os.listdir

    def refuse(path: str) -> list[str]:
        if path.endswith("/fd"):
            raise PermissionError(13, "Permission denied", path)
        return listdir(path)

    monkeypatch.setattr(file_writers.os, "listdir", refuse)
    assert not ended(log, Writers(proc=str(proc)))
    monkeypatch.setattr(file_writers, "owner", lambda place: os.stat(log).st_uid + 1)
    assert ended(log, Writers(proc=str(proc)))


def test_the_innermost_mount_tells_the_file_system(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "mountinfo").write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw\n"
        "31 30 0:41 / /home/my\\040jobs rw - xfs /dev/sdb rw\n"
        "32 22 0:42 / /scratch rw - tmpfs none rw\n"
        "33 22 0:43 / /scratch rw - lustre fs rw\n"
    )
    look = Writers(proc=str(proc))
    assert [look._file_system(path) for path in ("/tmp/a", "/home/me/a", "/home/my jobs/a", "/home/my jobsx", "/scratch/a")] == [
        "ext4", "nfs4", "xfs", "nfs4", "lustre",
    ]  # fmt: skip


@pytest.mark.parametrize("options", ["rw,hidepid=2", "rw,hidepid=invisible", "rw", "rw,hidepid=0"])
def test_processes_of_others_may_be_hidden(
    options: str, log: Path, local: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On many clusters one sees one's own processes only: of another user's log nothing is known then."""
    proc = tmp_path / "proc"
    (proc / "77" / "fd").mkdir(parents=True)
    (proc / "self").mkdir()
    (proc / "self" / "mountinfo").write_text(f"22 1 0:21 / /proc rw - proc proc {options}\n")
    own = os.stat(log).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: own)
    assert ended(log, Writers(proc=str(proc)))
    monkeypatch.setattr(os, "geteuid", lambda: own + 1000)
    assert ended(log, Writers(proc=str(proc))) is (options in ("rw", "rw,hidepid=0"))
