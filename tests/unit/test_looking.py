"""Looking at thousands of files with few calls of the file system: whose turn it is, and what comes and goes in directories."""

from __future__ import annotations

import gc
import os
import shutil
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest
from indexing import index
from real import TRACES
from replaying import HeldWriters

from tltui.model import follow
from tltui.model.follow import DELETED, Follower, open_run
from tltui.model.run import Event, Run, settle
from tltui.questions.ranks.differences import differences_of
from tltui.sources import polling
from tltui.sources.discover import Discovery, Found, discover
from tltui.sources.polling import SELDOM, Schedule
from tltui.trace.files import REPLACED


def begun(number: int, rank: int | None = None) -> bytes:
    return mt.record("dynamo_start", {"stack": []}, rank=rank, frame=number, compile=0, attempt=0)


class Job:
    """A directory into which ranks write, a run of it that is followed, and a clock in the test's hand."""

    def __init__(self, directory: Path, ranks: int) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.now = 1000.0
        self.writers = HeldWriters()
        for rank in range(ranks):
            self.write(rank)
        discovery = Discovery([str(directory)])
        self.run = Run(discovery.discover() if ranks else Found((str(directory),), (), ()))
        self.follower = Follower(self.run, discovery, self.writers, clock=lambda: self.now)
        self._take(self.follower.read())

    def path(self, rank: int) -> Path:
        return self.directory / f"dedicated_log_torch_trace_rank_{rank}_x.log"

    def write(self, rank: int, number: int = 0) -> None:
        with self.path(rank).open("ab") as file:
            file.write(begun(number, rank))

    def _take(self, events: Any) -> list[Event]:
        taken = list(events)
        for event in taken:
            self.run.update(event)
        settle(self.run)
        return taken

    def look(self, seconds: float = 0.5) -> list[Event]:
        self.now += seconds
        return self._take(self.follower.poll())

    def settle(self) -> None:
        for _ in range(8):
            self.look()

    def compiles(self) -> set[str]:
        return {str(compile_.ref) for compile_ in self.run.compiles() if compile_.is_compile}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the file system is asked for the state of a file or for a directory, by path."""
    counted: Counter[str] = Counter()

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **options: Any) -> Any:
            counted[str(path)] += 1
            return function(path, *args, **options)

        return call

    monkeypatch.setattr(os, "stat", counting(os.stat))
    monkeypatch.setattr(os, "scandir", counting(os.scandir))
    return counted


def test_no_more_than_200_looks_a_second_at_2048_files(tmp_path: Path, calls: Counter[str]) -> None:
    job = Job(tmp_path / "trace", 2048)
    job.settle()
    for seconds in (0.5, 0.5, 1.0, 0.5, 0.5, 0.5, 5.0, 0.5, 0.5):
        calls.clear()
        job.look(seconds)
        assert calls.total() <= 200 * min(seconds, 1.0)
    calls.clear()
    for _ in range(120):
        job.look()
    assert calls.total() <= 200 * 60
    assert min(calls[str(job.path(rank))] for rank in range(2048)) >= 2, "each of them is looked at again"


def test_what_grows_is_seen_at_the_next_look_however_many_are_quiet(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 600)
    for _ in range(100):
        job.look()
    job.write(7, 1)
    for _ in range(30):
        job.look()
        if "7:1/0" in job.compiles():  # its turn has come
            break
    for number in range(2, 10):
        job.write(7, number)
        job.look()
        assert f"7:{number}/0" in job.compiles(), "what is lively is looked at each time"


def test_a_file_that_nothing_happens_to_is_looked_at_seldom(tmp_path: Path, calls: Counter[str]) -> None:
    job = Job(tmp_path / "trace", 1)
    for _ in range(400):
        job.look()
    calls.clear()
    for _ in range(2 * 60):
        job.look()
    assert calls[str(job.path(0))] <= 60 / SELDOM + 1


def test_turns_go_round_when_there_are_too_many() -> None:
    turns: Schedule[int] = Schedule()
    for number in range(1000):
        turns.add(number, 0.0)
    seen: set[int] = set()
    for tick in range(1, 12):
        taken = turns.due_keys(0.5 * tick, 100)
        assert len(taken) == 100
        seen.update(taken)
        for number in taken:
            turns.polled(number, 0.5 * tick, True)
    assert seen == set(range(1000))


def test_quiet_ones_have_their_turn_beside_very_many_lively_ones() -> None:
    turns: Schedule[str] = Schedule()
    turns.add("quiet", 0.0, quiet=1000.0)
    for number in range(1000):
        turns.add(f"lively {number}", 0.0)
    assert "quiet" in turns.due_keys(0.5, 100)


def test_a_run_may_begin_with_an_empty_directory(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 0)
    job.settle()
    assert job.compiles() == set()
    assert job.run.goes_on or not job.run.models
    job.write(0)
    job.settle()
    assert job.compiles() == {"0/0"}
    job.write(3)
    job.settle()
    assert job.compiles() == {"0:0/0", "3:0/0"}


def test_a_directory_that_comes_later_is_looked_into(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 1)
    job.settle()
    deep = job.directory / "attempt_0" / "rank_3"
    deep.mkdir(parents=True)
    (deep / "x.log").write_bytes(begun(5))
    job.settle()
    assert "3:5/0" in job.compiles()


def test_an_empty_log_is_one_as_soon_as_it_has_a_record(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 1)
    late = job.path(1)
    late.write_bytes(b"")
    job.settle()
    late.write_bytes(begun(0, 1)[:9])
    job.settle()
    assert len(job.run.models) == 1
    late.write_bytes(begun(0, 1))
    for _ in range(40):
        job.look()
    assert "1:0/0" in job.compiles()


def test_other_files_are_looked_at_once(tmp_path: Path, calls: Counter[str]) -> None:
    job = Job(tmp_path / "trace", 1)
    other = job.directory / "notes.txt"
    other.write_bytes(b"some notes\n" * 100)
    job.settle()
    calls.clear()
    for _ in range(40):
        job.look()
    assert calls[str(other)] == 0


def test_a_link_to_a_log_is_no_second_log(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 1)
    (job.directory / "latest.log").symlink_to(job.path(0))
    job.settle()
    assert len(job.run.models) == 1


def test_a_deleted_log_stays_and_is_said_once(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 2)
    kept = job.path(0).read_bytes()
    job.path(0).unlink()
    told = [event for _ in range(9) for event in job.look() if getattr(event, "reason", None) is not None]
    assert [event.reason for event in told] == [DELETED]  # type: ignore[union-attr]
    assert job.run.unreadable == {str(job.path(0)): DELETED}
    assert job.compiles() == {"0:0/0", "1:0/0"} and not job.run.finished
    assert not job.run.lost
    job.path(0).write_bytes(kept)  # another file of the same name
    for _ in range(30):
        job.look()
    assert [reason for _, reason in job.run.lost] in ([REPLACED], [])


def test_a_log_that_becomes_a_directory_is_lost(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 1)
    job.path(0).unlink()
    job.path(0).mkdir()
    job.settle()
    assert [reason for _, reason in job.run.lost] == [REPLACED]
    assert len(job.run.models) == 1


def test_a_file_system_that_fails_for_a_while_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path / "trace", 1)
    job.write(0, 1)
    broken = True
    pread = os.pread

    def failing(fd: int, size: int, offset: int) -> bytes:
        if broken:
            raise OSError(5, "Input/output error")
        return pread(fd, size, offset)

    monkeypatch.setattr(os, "pread", failing)
    job.settle()
    assert job.run.unreadable == {str(job.path(0)): "Input/output error"}
    assert not job.run.finished
    broken = False
    job.write(0, 2)
    for _ in range(30):
        job.look()
    assert job.run.unreadable == {}
    assert job.compiles() == {"0/0", "1/0", "2/0"}
    assert job.run.damaged == 0


def test_it_is_asked_seldom_who_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path / "trace", 3)
    asked: list[float] = []
    ended = job.writers.ended

    def slow(files: dict[str, os.stat_result]) -> set[str]:
        asked.append(job.now)
        job.now += 0.2
        return ended(files)

    monkeypatch.setattr(job.writers, "ended", slow)
    for _ in range(200):
        job.look()
    assert len(asked) <= job.now / (follow.PART * 0.2) + 2
    job.writers.over = True
    for _ in range(60):
        job.look()
    assert job.run.finished


@pytest.mark.parametrize("by_look", [False, True])
def test_what_is_written_just_before_the_writer_ends(by_look: bool, tmp_path: Path) -> None:
    """Between the look at the file and the look at who writes into it: it is read to its end, and that is its end."""
    job = Job(tmp_path / "trace", 1)
    ended = job.writers.ended

    def late(files: dict[str, os.stat_result]) -> set[str]:
        job.write(0, 1)
        job.writers.over = True
        return ended(files)

    job.writers.ended = late  # type: ignore[method-assign]
    job.now += 30.0
    job._take(job.follower.poll() if by_look else job.follower.read())
    assert job.compiles() == {"0/0", "1/0"}
    job.writers.ended = ended  # type: ignore[method-assign]
    for _ in range(40):
        job.look(5.0)
    assert job.run.finished and job.run.unreadable == {}


def test_without_following_growth_is_seen_and_nothing_read(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 2)
    job.now += 30
    assert not job.follower.has_grown()
    job.write(1, 1)
    job.now += 30
    assert job.follower.has_grown()
    assert job.compiles() == {"0:0/0", "1:0/0"}


def test_the_clock_of_the_last_record_is_that_of_the_job(tmp_path: Path) -> None:
    job = Job(tmp_path / "trace", 1)
    log = job.run.models[0].log
    prefix = log.prefix(len(log) - 1)
    assert prefix is not None
    assert job.run.clock == f"{prefix.month:02}{prefix.day:02} {prefix.time}"


def test_a_directory_that_changes_twice_within_one_tick_of_its_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of change are coarse: a directory may hold more than when it was listed, with the time of then."""
    job = Job(tmp_path / "trace", 1)
    job.settle()
    status = os.stat(job.directory)
    job.write(1)
    os.utime(job.directory, ns=(status.st_atime_ns, status.st_mtime_ns))
    job.settle()
    assert "1:0/0" in job.compiles()
    assert polling.COARSE >= 1_000_000_000, "some file systems count seconds"




def test_a_day_of_following_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """24 hours by the clock, with 80 looks in each: a record now and then, and a file that comes and goes."""
    job = Job(tmp_path / "trace", 2)
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    sizes = []
    for hour in range(24):
        job.write(0, hour + 1)
        passing = job.directory / f"passing_{hour}.log"
        passing.write_bytes(b"some notes\n" * 100)
        for _ in range(40):
            job.look()
        passing.unlink()
        for _ in range(40):
            job.look(89.0)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0)
        if hour == 3:
            tracemalloc.start()
    tracemalloc.stop()
    assert f"0:{24}/0" in job.compiles()
    assert sizes[-1] - sizes[4] < 200_000, sizes
    assert not descriptors or len(os.listdir("/proc/self/fd")) <= descriptors + 2


def test_a_saved_index_that_comes_is_taken_up_with_all_its_logs(tmp_path: Path) -> None:
    """As nodes write theirs beside those that are there. One that is still being copied counts when it is whole."""
    job = Job(tmp_path / "shared", 1)
    ddp = TRACES / "torch-2.13" / "ddp"
    data = index([ddp], tmp_path / "made.tlx").read_bytes()
    (job.directory / "node17.tlx").write_bytes(data[: len(data) // 2])
    job.settle()
    assert {rank.number for rank in job.run.ranks} == {0}
    (job.directory / "node17.tlx").write_bytes(data)
    for _ in range(30):
        job.look()
    logs = len(list(ddp.glob("*.log")))
    assert len(job.run.models) == 1 + logs and job.run.crowd is not None
    assert {rank.number for rank in job.run.ranks} == set(range(logs))
    told = differences_of(job.run)
    assert told is not None and told.ranks == logs
    again = open_run(discover([str(job.directory)]))
    assert [str(one.ref) for one in job.run.processes()] == [str(one.ref) for one in again.processes()]
    mesh = index([TRACES / "torch-2.13" / "mesh"], tmp_path / "more.tlx", host="node18")
    shutil.move(mesh, job.directory / "node18.tlx")
    for _ in range(30):
        job.look()
    again = open_run(discover([str(job.directory)]))
    assert len(job.run.models) == len(again.models) > 1 + logs
