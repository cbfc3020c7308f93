"""What is opened, and what is left out and why."""

from __future__ import annotations

import os
import re
from pathlib import Path

import make_trace as mt
import pytest

from tltui.cli import main
from tltui.model.follow import open_run
from tltui.sources import discover as module
from tltui.sources import log_files
from tltui.sources.discover import Found, NothingFound, discover
from tltui.sources.log_files import is_named_like_a_log
from tltui.text.document import Options
from tltui.tree.listing import listing_document

LOG = mt.string("/a.py", 0) + mt.compiled()


def at(seconds: float, **ids: int) -> bytes:
    """A log whose first event is `seconds` after some moment."""
    table = mt.string("/a.py", 0, pid=ids.get("pid", mt.PID))
    return table + mt.chromium(ts=1763630566e6 + seconds * 1e6, **ids) + mt.compiled(**ids)


def put(path: Path, data: bytes = LOG, ended: float | None = None) -> Path:
    mt.write(path.parent, data, path.name)
    if ended is not None:
        os.utime(path, (1763630566 + ended, 1763630566 + ended))
    return path


def names(found: Found, top: Path) -> list[str]:
    return sorted(os.path.relpath(log.path, top) for log in found.logs)


# layouts


@pytest.mark.parametrize(
    ("name", "rank", "launch"),
    [
        ("dedicated_log_torch_trace_abcd1234.log", None, ""),
        ("dedicated_log_torch_trace_rank_7_ab_d_234.log", 7, ""),
        ("rank_3/dedicated_log_torch_trace_abcd1234.log", 3, ""),
        ("rank_2_dp_1/dedicated_log_torch_trace_abcd1234.log", 2, ""),
        ("attempt_1/5/dedicated_log_torch_trace_abcd1234.log", None, "attempt_1"),
        ("job/attempt_0/0/trace/x.log", None, "attempt_0"),
        ("attempt_0/rank_4/x.log", 4, "attempt_0"),
        ("torch_compile_debug/tlparse/dedicated_log_torch_trace_abcd1234.log", None, ""),
        ("some/where/deep/down/raw.log", None, ""),
        ("12/x.log", None, ""),
    ],
)
def test_layouts(tmp_path: Path, name: str, rank: int | None, launch: str) -> None:
    put(tmp_path / name)
    (log,) = discover([str(tmp_path)]).logs
    assert (os.path.relpath(log.path, tmp_path), log.rank, log.launch) == (name, rank, launch)


def test_the_name_of_a_file_wins_over_that_of_a_directory(tmp_path: Path) -> None:
    put(tmp_path / "rank_9" / "dedicated_log_torch_trace_rank_1_x.log")
    assert discover([str(tmp_path)]).logs[0].rank == 1


def test_directories_above_the_given_one_say_nothing(tmp_path: Path) -> None:
    put(tmp_path / "rank_9" / "attempt_1" / "x.log")
    (log,) = discover([str(tmp_path / "rank_9" / "attempt_1")]).logs
    assert (log.rank, log.launch) == (None, "")
    (log,) = discover([str(tmp_path / "rank_9" / "attempt_1" / "x.log")]).logs
    assert (log.rank, log.launch) == (None, "")


def test_launches_become_processes_newest_last(tmp_path: Path) -> None:
    for launch in (10, 2, 0):
        put(tmp_path / f"attempt_{launch}" / "0" / "x.log", mt.compiled(pid=100 + launch))
    (rank,) = open_run(discover([str(tmp_path)])).ranks
    assert [process.pid for process in rank.processes] == [100, 102, 110]
    assert [process.number for process in rank.processes] == [1, 2, 3]


def test_restarts_of_a_rank_become_processes_newest_last(tmp_path: Path) -> None:
    put(tmp_path / "dedicated_log_torch_trace_rank_0_zzz.log", at(0, pid=9), ended=10)
    put(tmp_path / "dedicated_log_torch_trace_rank_0_aaa.log", at(20, pid=3), ended=30)
    (rank,) = open_run(discover([str(tmp_path)])).ranks
    assert [process.pid for process in rank.processes] == [9, 3]


# content, not name


def test_content_decides_not_the_name(tmp_path: Path) -> None:
    put(tmp_path / "trace.bin")
    put(tmp_path / ".hidden")
    put(tmp_path / "no suffix")
    put(tmp_path / "dedicated_log_torch_trace_rank_0_abc.log", b"not really\n")
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == [".hidden", "no suffix", "trace.bin"]
    assert found.others == 1


def test_a_log_that_begins_with_something_else(tmp_path: Path) -> None:
    put(tmp_path / "a.log", b"a launcher said something\n" * 100 + LOG)
    put(tmp_path / "b.log", b"[rank0]:" + LOG)
    put(tmp_path / "c.log", LOG[:25])
    assert names(discover([str(tmp_path)]), tmp_path) == ["a.log", "b.log", "c.log"]


def test_no_logs_at_all(tmp_path: Path) -> None:
    with pytest.raises(NothingFound, match="no trace, TORCH_LOGS text, debug directory or tlparse output found"):
        discover([str(tmp_path)])
    with pytest.raises(NothingFound, match="No such file or directory"):
        discover([str(tmp_path / "nowhere")])


# what cannot be read


def test_a_dangling_link_and_a_pipe_are_listed(tmp_path: Path) -> None:
    put(tmp_path / "good.log")
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere.log")
    (tmp_path / "itself.log").symlink_to(tmp_path / "itself.log")
    os.mkfifo(tmp_path / "pipe")
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == ["good.log"]
    reasons = {os.path.basename(item.path): item.reason for item in found.skipped}
    assert reasons["gone.log"] == "a dangling symbolic link"
    assert "symbolic link" in reasons["itself.log"]
    assert reasons["pipe"] == "not a regular file"


def test_a_file_that_vanishes_while_one_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a.log")
    put(tmp_path / "b.log")
    real = module.walk

    def vanishing(*arguments: object) -> object:
        for path in real(*arguments):  # type: ignore[arg-type]
            if path.endswith("a.log"):
                os.unlink(path)
            yield path

    monkeypatch.setattr(module, "walk", vanishing)
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == ["b.log"]
    assert [item.reason for item in found.skipped] == ["No such file or directory"]


def test_an_unreadable_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "good.log")
    (tmp_path / "closed").mkdir()
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == ["good.log"]
    assert [(os.path.basename(item.path), item.reason) for item in found.skipped] == [("closed", "Permission denied")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    put(tmp_path / "good.log")
    put(tmp_path / "closed.log").chmod(0)
    found = discover([str(tmp_path)])
    assert [item.reason for item in found.skipped] == ["Permission denied"]


def test_a_log_that_fails_while_it_is_read_keeps_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a.log", mt.compiled(pid=1))
    put(tmp_path / "b.log", mt.compiled(pid=2))
    found = discover([str(tmp_path)])
    (tmp_path / "a.log").unlink()
    from tltui.trace import files

    monkeypatch.setattr(files, "_descriptors", files._Descriptors())  # the file is not open any more
    run = open_run(found)
    assert run.finished
    assert run.failures == {str(tmp_path / "a.log"): "No such file or directory"}
    assert [process.pid for process in run.processes()] == [2]


# links


def test_link_loops_and_links_out(tmp_path: Path) -> None:
    put(tmp_path / "run" / "a.log")
    put(tmp_path / "elsewhere" / "b.log")
    (tmp_path / "run" / "loop").symlink_to(tmp_path / "run", target_is_directory=True)
    (tmp_path / "run" / "latest").symlink_to("loop/loop", target_is_directory=True)
    (tmp_path / "run" / "out").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "run" / "again.log").symlink_to("a.log")
    found = discover([str(tmp_path / "run")])
    assert len(found.logs) == 1
    assert [(os.path.basename(item.path), item.reason) for item in found.skipped] == [
        ("out", "a symbolic link to a directory: not followed")
    ]
    (tmp_path / "link").symlink_to(tmp_path / "run", target_is_directory=True)
    assert len(discover([str(tmp_path / "link")]).logs) == 1, "the given path itself may be a link"


def test_too_deep(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefghijkl")
    put(deep / "x.log")
    put(tmp_path / "y.log")
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == ["y.log"]
    assert [item.reason for item in found.skipped] == ["more than 8 levels deep"]


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with names of logs are opened all the same, up to as many again."""
    monkeypatch.setattr(log_files, "MAX_FILES", 3)
    for number in range(5):
        put(tmp_path / f"{number}.log", mt.compiled(pid=number + 1))
    assert len(discover([str(tmp_path)]).logs) == 5 and not discover([str(tmp_path)]).skipped
    for number in range(5):
        put(tmp_path / f"{number}.data", mt.compiled(pid=number + 100))
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == ["0.data", "0.log", "1.data", "1.log", "2.log", "3.log"]
    stopped = "stopped after 6 of 10 files, files with log names first. Give the log or its directory"
    assert [(item.path, item.reason) for item in found.skipped] == [(str(tmp_path), stopped)]
    assert f"not opened: {tmp_path}: {stopped}" in listing_document(open_run(found), Options(width=400)).text()
    for number in range(5, 9):
        put(tmp_path / f"{number}.log", mt.compiled(pid=number + 1))
    assert len(discover([str(tmp_path)]).logs) == 6, "as many again, and no more"


def test_no_log_among_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(log_files, "MAX_FILES", 3)
    for number in range(5):
        put(tmp_path / f"{number}.bin", b"nothing")
    put(tmp_path / "zz.data", mt.compiled())
    assert main(["ls", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"tltui: no trace, TORCH_LOGS text, debug directory or tlparse output found: '{tmp_path}'\n"
        f"  {tmp_path}: stopped after 3 of 6 files. Give the log or its directory\n  3 files of other kinds\n"
    )
    put(tmp_path / "zz.log", mt.compiled())
    assert names(discover([str(tmp_path)]), tmp_path) == ["zz.log"]
    assert main(["ls", str(tmp_path / "zz.data")]) == 0


def test_the_rest_of_very_many_files_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MAX_FILES", 3)
    monkeypatch.setattr(log_files, "MAX_LISTED", 8)
    for number in range(30):
        put(tmp_path / str(number) / "x.bin", b"nothing")
    put(tmp_path / "a.log")
    [stopped] = discover([str(tmp_path)]).skipped
    assert re.fullmatch(r"stopped after 3 of more than \d files. Give the log or its directory", stopped.reason)


@pytest.mark.parametrize(("name", "is_likely"), [
    ("dedicated_log_torch_trace_rank_0_abcd.log", True), ("slurm-123.out", True), ("job.err.1", True), ("run.log.gz", True),
    ("rank3", True), ("job.rank_3.txt", True), ("all.tlx", True), ("step.pt.trace.json.gz", True), ("trainer.LOG", True),
    ("000123.jpg", False), ("frank3", False), ("blog", False), ("weights.bin", False), ("x.login", False),
])  # fmt: skip
def test_names_of_logs(name: str, is_likely: bool) -> None:
    assert is_named_like_a_log(name) == is_likely


# several paths


def test_several_paths_and_duplicates(tmp_path: Path) -> None:
    first, second = put(tmp_path / "a" / "a.log"), put(tmp_path / "b" / "b.log")
    found = discover([str(first), str(second.parent), str(first), str(tmp_path / "a"), str(tmp_path)])
    assert names(found, tmp_path) == ["a/a.log", "b/b.log"]
    assert found.paths[0] == str(first)
    found = discover([str(first), str(tmp_path / "nowhere")])
    assert [item.reason for item in found.skipped] == ["No such file or directory"]


def test_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "traces" / "a.log")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(discover(["~/traces"]).logs) == 1


# the newest run


def test_latest_takes_the_logs_that_overlap_with_the_newest(tmp_path: Path) -> None:
    for run, begin in enumerate((0, 1000, 2000)):
        for rank in range(3):
            put(tmp_path / f"run{run}_rank_{rank}.log", at(begin + rank, rank=rank), ended=begin + 50)
    assert names(discover([str(tmp_path)], latest=True), tmp_path) == [f"run2_rank_{rank}.log" for rank in range(3)]
    assert len(discover([str(tmp_path)]).logs) == 9


def test_latest_keeps_a_rank_that_was_done_before_the_others_began(tmp_path: Path) -> None:
    put(tmp_path / "old_rank_0.log", at(0, rank=0), ended=5)
    put(tmp_path / "old_rank_1.log", at(10, rank=1), ended=15)
    put(tmp_path / "new_rank_0.log", at(40, rank=0), ended=45)
    put(tmp_path / "new_rank_1.log", at(50, rank=1), ended=55)
    assert names(discover([str(tmp_path)], latest=True), tmp_path) == ["new_rank_0.log", "new_rank_1.log"]


def test_latest_keeps_all_launches_of_a_job(tmp_path: Path) -> None:
    put(tmp_path / "job1" / "attempt_0" / "0" / "x.log", at(0), ended=5)
    put(tmp_path / "job2" / "attempt_0" / "0" / "x.log", at(1000), ended=1005)
    put(tmp_path / "job2" / "attempt_1" / "0" / "x.log", at(2000), ended=2005)
    found = discover([str(tmp_path)], latest=True)
    assert names(found, tmp_path) == ["job2/attempt_0/0/x.log", "job2/attempt_1/0/x.log"]


def test_latest_goes_by_records_where_copies_lost_the_times_of_files(tmp_path: Path) -> None:
    """As `cp` without -p, and a download, leave them."""
    for job, begin in (("job_1", 0), ("job_2", 1000)):
        for rank in range(2):
            put(tmp_path / job / f"rank_{rank}.log", at(begin, rank=rank) + at(begin + 90, rank=rank), ended=5000)
    found = discover([str(tmp_path)], latest=True)
    assert names(found, tmp_path) == ["job_2/rank_0.log", "job_2/rank_1.log"] and found.notes == ()


def test_latest_of_texts_goes_by_messages(tmp_path: Path) -> None:
    line = "V1121 {time}.307000 5303 torch/_dynamo/guards.py:2835] [0/0] [__guards] GUARDS:\n"
    for name, hour in (("old.err", 10), ("new.err", 14)):
        (tmp_path / name).write_text("".join(line.format(time=f"{hour}:{minute}:00") for minute in (10, 20)))
    assert names(discover([str(tmp_path)], latest=True), tmp_path) == ["new.err"]


@pytest.mark.parametrize(("later", "said"), [
    (10, "/arr/job_2: it started last, "), (0, "/arr/job_2: it started "),
])  # fmt: skip
def test_latest_takes_one_job_of_an_array_and_names_the_others(later: int, said: str, tmp_path: Path) -> None:
    for number, begin in ((1, 0), (2, later)):
        for rank in range(2):
            put(tmp_path / "arr" / f"job_{number}" / f"rank_{rank}.log", at(begin, rank=rank) + at(begin + 500, rank=rank))
    found = discover([str(tmp_path)], latest=True)
    assert names(found, tmp_path) == ["arr/job_2/rank_0.log", "arr/job_2/rank_1.log"]
    [note] = found.notes
    assert said in note and f"{tmp_path}/arr/job_1" in note and note.startswith("--latest opened only ")
    assert ("at the same time" in note) == (later == 0)


def test_latest_takes_all_nodes_and_ranks_of_a_job(tmp_path: Path) -> None:
    for node in range(2):
        for rank in range(2 * node, 2 * node + 2):
            put(tmp_path / f"node{node}" / f"r{rank}" / f"rank_{rank}.log", at(node, rank=rank) + at(100, rank=rank))
    found = discover([str(tmp_path)], latest=True)
    assert len(found.logs) == 4 and found.notes == ()


def test_latest_says_where_it_cannot_tell_jobs_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / name / "x.log", at(0) + at(100))
    found = discover([str(tmp_path)], latest=True)
    assert len(found.logs) == 2 and "Whether they are one job is unknown, so all are open" in found.notes[0]


def test_latest_takes_what_the_job_printed(tmp_path: Path) -> None:
    for job, begin in (("job_1", 0), ("job_2", 1000)):
        put(tmp_path / job / "rank_0.log", at(begin, rank=0) + at(begin + 90, rank=0), ended=begin + 90)
        put(tmp_path / job / f"slurm-{begin}.out", b"epoch 1\n", ended=begin + 95)
    assert names(discover([str(tmp_path)], latest=True), tmp_path) == ["job_2/rank_0.log", "job_2/slurm-1000.out"]


def test_without_a_clock_the_time_of_the_last_change_counts(tmp_path: Path) -> None:
    put(tmp_path / "old.log", mt.string("/a.py", 0), ended=0)
    put(tmp_path / "new.log", mt.string("/a.py", 0), ended=1000)
    assert names(discover([str(tmp_path)], latest=True), tmp_path) == ["new.log"]


# forks


def test_a_forked_child_looks_into_its_parents_table(tmp_path: Path) -> None:
    parent = mt.string("/a.py", 0, pid=1) + mt.string("/b.py", 1, pid=1) + mt.compiled(pid=1)
    child = mt.string("/c.py", 2, pid=2) + mt.start("in_b", filename=1, frame=0, compile=0, pid=2)
    bare = mt.start("in_a", filename=0, frame=0, compile=0, pid=3)
    other = mt.string("/other.py", 0, pid=4) + mt.compiled(pid=4)
    put(tmp_path / "run" / "1.log", at(0)[:0] + parent, ended=10)
    put(tmp_path / "run" / "2.log", child, ended=20)
    put(tmp_path / "run" / "3.log", bare, ended=30)
    put(tmp_path / "else" / "4.log", other, ended=15)
    run = open_run(discover([str(tmp_path)]))
    parents = {process.pid: process.parent.pid if process.parent else None for process in run.processes()}
    assert parents == {1: None, 2: 1, 3: 1, 4: None}
    code = {process.pid: next(c.frame.code for c in process.compiles.values() if c.started) for process in run.processes()}
    assert code[2] == ("in_b", "/b.py", 2)
    assert code[3] == ("in_a", "/a.py", 2)
