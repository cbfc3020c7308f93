"""Processes that several inputs tell of, while the inputs change: they grow, end, are lost, tell the same news."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jobs import unpacked
from replaying import HeldWriters, texts_of
from results import result_in

from tltui.cli import main
from tltui.model.follow import Follower, open_run
from tltui.model.nodes import Compile
from tltui.model.run import Lost, Run, settle
from tltui.model.status import Status
from tltui.questions.build import build
from tltui.questions.coverage.job_inputs import conflicts
from tltui.questions.records.grep_page import Query, hits
from tltui.sources.discover import Discovery, discover
from tltui.text.document import Options
from tltui.trace.files import NO_LONGER


class Followed:
    """A job in a directory, read as it is written, by somebody who holds its files open until `writers.over`."""

    def __init__(self, job: Path) -> None:
        self.writers = HeldWriters()
        discovery = Discovery([str(job)])
        self.run = Run(discovery.discover())
        self.follower = Follower(self.run, discovery, self.writers)
        self.read()

    def read(self, joins: bool = True) -> None:
        for event in self.follower.read():
            self.run.update(event)
        if joins:
            settle(self.run)


def halves(path: Path) -> bytes:
    """Leaves the first half of a text in its file, up to the end of a line: the other half."""
    data = path.read_bytes()
    middle = data.index(b"\n", len(data) // 2) + 1
    path.write_bytes(data[:middle])
    return data[middle:]


def only(run: Run) -> set[frozenset[str]]:
    return {process.origins for process in run.processes()}


def test_what_has_come_since_is_searched_and_listed_too(tmp_path: Path) -> None:
    job = unpacked("breaks", tmp_path)
    rest = halves(job / "stderr.txt")
    followed = Followed(job)
    run = followed.run
    with (job / "stderr.txt").open("ab") as file:
        file.write(rest)
    followed.read()
    assert run.joining.is_behind
    text = next(model for model in run.models if model.form == "text")
    (joined,) = run.joining.merged
    assert len(text.log) > len(joined.places[1])
    assert all(run.joining.home(text, record)[0].process.pid == joined.members[0].pid for record in text.log.records())
    for ref in ("@damage", "@log", ""):
        assert texts_of(build(run, ref, Options()))
    assert list(hits(run, Query("Graph break")))


def test_a_compile_without_an_end_is_said_to_have_none_when_the_writer_has_ended(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path)
    (trace,) = (job / "trace").iterdir()
    data = trace.read_bytes()
    trace.write_bytes(data[: data.rindex(b"\n", 0, data.index(b'{"inductor_output_code"')) + 1])
    followed = Followed(job)
    assert Status.RUNNING in {compile_.status for compile_ in followed.run.compiles()}
    followed.writers.over = True
    followed.read()
    now = {str(own.ref): own.status for own in followed.run.compiles()}
    assert now == {str(own.ref): own.status for own in open_run(discover([str(job)])).compiles()}
    assert Status.RUNNING not in now.values()


def test_a_trace_that_is_lost_stays_joined(tmp_path: Path) -> None:
    run = Followed(unpacked("mlp", tmp_path)).run
    before = only(run)
    assert before == {frozenset(("trace", "text", "debug_dir"))}
    refs = [str(compile_.ref) for compile_ in run.compiles()]
    number = next(number for number, model in enumerate(run.models) if model.form == "trace")
    run.models[number].source.lost_reason = f"{NO_LONGER}replaced"
    run.update(Lost(number, "replaced"))
    for model in run.models:
        model.end()
    settle(run)
    assert only(run) == before
    assert [str(compile_.ref) for compile_ in run.compiles()] == refs


def test_of_a_trace_that_is_copied_here_again_the_new_one_is_joined(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path)
    followed = Followed(job)
    (trace,) = (job / "trace").iterdir()
    data = trace.read_bytes()
    trace.unlink()
    trace.write_bytes(data)
    followed.read()
    followed.writers.over = True
    followed.read()
    assert only(followed.run) == {frozenset(("trace", "text", "debug_dir")), frozenset(("trace",))}


def test_a_compile_that_the_job_says_has_failed_has_failed(tmp_path: Path) -> None:
    job = unpacked("crash", tmp_path)
    (trace,) = (job / "trace").iterdir()
    lines = trace.read_bytes().split(b"\n")
    trace.write_bytes(b"\n".join(lines[: next(n for n, line in enumerate(lines) if b'"frame_id": 1,' in line)]) + b"\n")
    run = open_run(discover([str(job)]))
    compile_ = run.resolve("1/0")
    assert isinstance(compile_, Compile) and "trace" in compile_.process.origins and not compile_.is_traced
    assert compile_.status is Status.ERROR
    assert run.tally == sum((own.tally for own in run.compiles()), type(run.tally)())


def test_damage_of_an_input_counts_for_the_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = unpacked("breaks", tmp_path)
    (trace,) = (job / "trace").iterdir()
    data = trace.read_bytes()
    at = data.index(b'{"dynamo_start"')
    trace.write_bytes(data[:at] + b'{"dynamo_start": nothing' + data[data.index(b"\n", at) :])
    assert main(["ls", str(trace), "--json"]) == 0
    (alone,) = result_in(capsys.readouterr().out)["ranks"][0]["processes"]
    assert main(["ls", str(job), "--json"]) == 0
    (joined,) = result_in(capsys.readouterr().out)["ranks"][0]["processes"]
    assert joined["damaged_records"] == alone["damaged_records"] > 0


def test_nothing_is_told_twice(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    job = unpacked("breaks", tmp_path)

    def told(path: Path) -> list[tuple[str, str]]:
        assert main(["tail", str(path), "--json", "-n", "1000"]) == 0
        lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
        return sorted((line["kind"], line["text"]) for line in lines if line["kind"] not in ("process", "over"))

    assert told(job) == told(job / "trace")


def test_nothing_is_called_a_contradiction_while_it_may_still_be_written(tmp_path: Path) -> None:
    job = unpacked("recompiles", tmp_path)
    text = job / "stderr.txt"
    data = text.read_bytes()
    text.write_bytes(data.replace(b"GuardManager", b"GuardMonager"))
    followed = Followed(job)
    assert not list(filter(None, conflicts(followed.run)))
    followed.writers.over = True
    followed.read()
    assert list(filter(None, conflicts(followed.run)))


def test_containers_whose_processes_have_one_pid_are_told_apart_by_their_ranks(tmp_path: Path) -> None:
    """Each text has found its trace: that the other rank has a process 1 too contradicts nothing."""
    job = unpacked("nodes", tmp_path)
    prefix = re.compile(rb"^((?:\[rank\d\]:)?[VIWE]\d{4} [\d:.]+) \d+ ", re.MULTILINE)
    for path in job.rglob("*.log"):
        path.write_bytes(prefix.sub(rb"\1 1 ", path.read_bytes()))
    run = open_run(discover([str(job)]))
    assert [(rank.number, [process.origins for process in rank.processes]) for rank in run.ranks] == [
        (0, [{"trace", "text"}]),
        (1, [{"trace", "text"}]),
    ]
    assert not list(filter(None, conflicts(run)))
