"""Several inputs of one job are one run: which processes are the same, what each adds, and what is never joined."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from jobs import INPUTS, unpacked
from real import fresh

from tltui.model.artifacts import artifacts_of, units_of
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.coverage.job_inputs import conflicts, holdings
from tltui.questions.records.grep_page import Query, hits
from tltui.text.document import Options

JOBS = [
    "breaks", "cache_hit", "crash", "dyn", "errors", "killed", "levels", "logs_out", "mlp", "recompiles", "tty_pty", "tty_stdout",
]  # fmt: skip
TEXT, DEBUG = "TORCH_LOGS text", "torch_compile_debug"


def told(compile_: Compile) -> dict[str, list[str]]:
    """Source → the names of the artifacts that are from there."""
    found: dict[str, list[str]] = {}
    for artifact in artifacts_of(compile_):
        log, _ = artifact.log.origin(artifact.record)
        found.setdefault(log.told_by or "trace", []).append(artifact.name)
    return found


@pytest.mark.parametrize("name", JOBS)
def test_each_text_is_joined_with_the_trace_of_its_job(name: str, tmp_path: Path) -> None:
    job = unpacked(name, tmp_path)
    alone, case = fresh(job / "trace"), fresh(job)
    assert [rank.number for rank in case.ranks] == [rank.number for rank in alone.ranks]
    processes = list(case.processes())
    assert len(processes) == len(list(alone.processes()))
    assert all({"trace", "text"} <= process.origins for process in processes)
    statuses = {str(compile_.ref): compile_.status for compile_ in case.compiles() if compile_.status is not None}
    assert statuses == {str(compile_.ref): compile_.status for compile_ in alone.compiles() if compile_.status is not None}
    assert [conflict for conflict in conflicts(case) if conflict is not None] == []


@pytest.mark.parametrize("name", ["ranks_redirect", "ranks_merged", "ranks_tee", "nodes"])
def test_each_rank_gets_its_own_part_of_the_text(name: str, tmp_path: Path) -> None:
    job = unpacked(name, tmp_path)
    case = fresh(job)
    numbered = [rank for rank in case.ranks if rank.number is not None]
    assert [rank.number for rank in numbered] == [0, 1]
    for rank in numbered:
        (process,) = rank.processes
        assert process.origins == {"trace", "text"}
        for compile_ in process.compiles.values():
            for record in compile_.records:
                log, number = process.log.origin(record)
                assert log.context(number).pid == process.pid


def test_what_a_trace_has_is_not_shown_twice(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path)
    alone, case = fresh(job / "trace"), fresh(job)
    for before, after in zip(alone.compiles(), case.compiles(), strict=True):
        assert before.ref == after.ref
        names = [artifact.name for artifact in artifacts_of(before)]
        assert told(after)["trace"] == names
        if before.is_compile:
            assert not set(told(after)[TEXT]) & set(names)


def test_a_unit_stands_with_its_own_direction(tmp_path: Path) -> None:
    case = fresh(unpacked("mlp", tmp_path))
    compile_ = case.resolve("0/0")
    assert isinstance(compile_, Compile)
    artifacts = artifacts_of(compile_)
    directions = {unit.number: unit.direction for unit in units_of(artifacts)}
    assert list(directions.values()) == ["forward", "backward"]
    for name in ("ir_pre_fusion", "ir_post_fusion", "fx_graph_readable", "fx_graph_transformed"):
        assert [directions[artifact.unit] for artifact in artifacts if artifact.name == name] == ["forward", "backward"]  # type: ignore[index]


def test_the_same_text_in_two_files_counts_once(tmp_path: Path) -> None:
    job = unpacked("logs_out", tmp_path)
    shutil.rmtree(job / "trace")
    one, both = fresh(job / "logs_out.txt"), fresh(job)
    assert [held.files for held in holdings(both)] == [2]

    def events(run: Run) -> list[tuple[str, str]]:
        return [(str(c.ref), a.name) for c in run.compiles() for a in artifacts_of(c)]

    assert events(both) == events(one)
    logs = [model.log for model in one.models]
    assert len([r for r in logs[0].records() if logs[0].kind(r).event != "text"]) == 45
    (process,) = both.processes()
    assert len([r for r in process.log.records() if process.log.kind(r).event != "text"]) == 45


def test_a_compile_that_only_the_text_tells_of_is_seen(tmp_path: Path) -> None:
    job = unpacked("recompiles", tmp_path)
    (log,) = (job / "trace").iterdir()
    data = log.read_bytes()
    log.write_bytes(data[: data.index(b'"frame_compile_id": 3')].rpartition(b"\nV")[0] + b"\n")
    os.utime(log, (0, 0))
    case = fresh(job)
    statuses = {str(c.ref): str(c.status) for c in case.compiles() if c.status is not None}
    assert list(statuses) == ["0/0", "0/1", "0/2", "0/3", "0/4"], "units of the debug directory go by the code in the text"
    assert statuses["0/0"] == "ok"
    assert statuses["0/4"] == "seen"


def test_a_pid_alone_joins_nothing(tmp_path: Path) -> None:
    """Another program's text with the same pid: at other hours, with other functions."""
    trace, other = unpacked("breaks", tmp_path), unpacked("mlp", tmp_path)
    pid = next(iter(fresh(trace / "trace").processes())).pid
    text = (other / "stderr.txt").read_bytes()
    text = re.sub(rb"(?m)^([VIWEC]\d{4} \S+ )\d+ ", rb"\g<1>%d " % pid, text)
    (trace / "stderr.txt").write_bytes(text)
    run = fresh(trace)
    assert len(list(run.processes())) == 2
    assert not run.joining.merged
    (conflict,) = [found for found in conflicts(run) if found is not None]
    assert conflict.name == str(pid)
    page = build(run, "@damage", Options(width=100))
    while not page.advance():
        pass
    text_of = "\n".join(page.line(n).text for n in range(len(page)))
    assert f"both have a process {pid}, but the two differ" in text_of


def test_another_rank_is_another_process(tmp_path: Path) -> None:
    """Containers of different nodes have the same pids, at the same time."""
    job = unpacked("ranks_merged", tmp_path)
    pids = {rank.number: rank.processes[0].pid for rank in fresh(job / "trace").ranks}
    text = (job / "stderr.txt").read_bytes()
    for number, other in ((0, 1), (1, 0)):
        text = text.replace(b" %d torch" % pids[number], b" PID%d torch" % other)  # type: ignore[str-bytes-safe]
    for number, pid in pids.items():
        text = text.replace(b"PID%d" % number, b"%d" % pid)  # type: ignore[str-bytes-safe]
    (job / "stderr.txt").write_bytes(text)
    assert not fresh(job).joining.merged


def test_a_cache_directory_is_joined_by_its_code(tmp_path: Path) -> None:
    """The units in Inductor's cache name no process."""
    job = unpacked("mlp", tmp_path)
    shutil.rmtree(job / "torch_compile_debug")
    shutil.copytree(INPUTS / "torchinductor_user", job / "torchinductor_user")
    run = fresh(job)
    first = run.resolve("0/0")
    assert isinstance(first, Compile)
    assert told(first)[DEBUG].count("fx_graph_transformed") == 2


def test_search_finds_each_text_once(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path)
    pattern = "TREE_GUARD_MANAGER"
    alone = [hit for hit in hits(fresh(job / "trace"), Query(pattern)) if hit is not None]
    case = [hit for hit in hits(fresh(job), Query(pattern)) if hit is not None]
    assert [hit.ref for hit in case] == [hit.ref for hit in alone]
    found = [hit for hit in hits(fresh(job), Query("op0.unmet_dependencies")) if hit is not None]
    assert found
    assert all(":ir_p" in hit.ref for hit in found)


def test_records_say_which_file_they_stand_in(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path)
    run = fresh(job)
    (process,) = run.processes()
    files = {os.path.basename(process.log.place(record)[0]) for record in process.log.records()}
    assert "stderr.txt" in files
    for record in process.log.records():
        path, offset = process.log.place(record)
        if path.endswith("stderr.txt"):
            log, number = process.log.origin(record)
            assert (job / "stderr.txt").read_bytes()[offset:].startswith(log.written(number)[:40])
