"""Logs that grow, are cut off, renamed or replaced while they are read."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import make_trace as mt
import pytest
from replaying import HeldWriters, read, texts_of

from tltui.cli.loading import DEMO, discover_logs
from tltui.model.follow import Follower, open_run
from tltui.model.nodes import Process
from tltui.model.run import Run, settle
from tltui.model.status import Status
from tltui.questions.build import build
from tltui.sources.discover import Discovery
from tltui.text.document import Options, error_document
from tltui.trace import files
from tltui.trace.files import CUT_OFF, REPLACED, WRITTEN_ANEW, FileBytes, Gone
from tltui.trace.log import Check
from tltui.tree.listing import listing_document

GRAPH = "class GraphModule(torch.nn.Module):\n    pass\n"


def part(compile_: int, *, ended: bool = True) -> bytes:
    """The records of one compile."""
    begun = mt.record("dynamo_start", {"stack": []}, frame=0, compile=compile_, attempt=0)
    graph = mt.record("dynamo_output_graph", payload=GRAPH + f"# {compile_}", frame=0, compile=compile_, attempt=0)
    metrics = mt.record("compilation_metrics", {"graph_op_count": 1}, frame=0, compile=compile_, attempt=0)
    return begun + graph + (metrics if ended else b"")


class Live:
    """A run that is followed, and the hand that writes its log. `polled`: each look is one at those files whose turn it is."""

    def __init__(self, directory: Path, begin: bytes, polled: bool = False) -> None:
        self.polled = False
        self.now = 1000.0
        self.path = directory / "dedicated_log_torch_trace_a.log"
        self.path.write_bytes(begin)
        self.writers = HeldWriters()
        discovery = Discovery([str(directory)])
        self.run = Run(discovery.discover())
        self.follower = Follower(self.run, discovery, self.writers, clock=lambda: self.now)
        self.look()
        self.polled = polled
        if polled:
            self.look()  # only now the directory is listed for the first time

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        self.look()

    def look(self) -> None:
        self.now += 20.0
        if not self.polled:
            read(self.run, self.follower)
            return
        for event in self.follower.poll():
            self.run.update(event)
        self.now += 1.0
        for event in self.follower.poll():  # what the directory was found to have
            self.run.update(event)
        settle(self.run)

    def statuses(self) -> dict[str, str]:
        return {str(c.ref): str(c.status) for c in self.run.compiles() if c.is_compile}

    def processes(self) -> list[Process]:
        return list(self.run.processes())

    def text(self, ref: str) -> str:
        return "\n".join(texts_of(build(self.run, ref, Options())))


@pytest.fixture(params=["read", "look"])
def live(tmp_path: Path, request: pytest.FixtureRequest) -> Live:
    directory = tmp_path / "trace"
    directory.mkdir()
    return Live(directory, part(0), polled=request.param == "look")


def test_a_record_is_there_when_it_is_whole(live: Live) -> None:
    record = mt.record("dynamo_output_graph", payload=GRAPH, frame=0, compile=1, attempt=0)
    before = len(live.run.models[0].log)
    for end in range(1, len(record)):
        live.path.write_bytes(part(0) + record[:end])
        live.look()
        assert len(live.run.models[0].log) == before
        assert live.run.tails == [(str(live.path), (len(part(0)), end))]
        assert live.run.damaged == 0
    live.path.write_bytes(part(0) + record)
    live.look()
    assert len(live.run.models[0].log) == before + 1
    assert live.run.tails == []


def test_a_record_without_a_payload_is_whole_at_its_newline(live: Live) -> None:
    record = mt.record("compilation_metrics", {"graph_op_count": 1}, frame=0, compile=1, attempt=0)
    live.write(record[:-1])
    assert "0/1" not in live.statuses()
    live.write(record[-1:])
    assert live.statuses()["0/1"] == "ok"


def test_a_payload_that_does_not_match_waits_for_the_next_record(live: Live) -> None:
    wrong = mt.record("dynamo_output_graph", payload=GRAPH, frame=0, compile=1, attempt=0, declared="0" * 32)
    live.write(wrong)
    assert "0/1" not in live.statuses()
    assert live.run.tails
    live.write(part(2)[:30])
    assert live.statuses()["0/1"] == "running"


def test_an_unfinished_compile_runs_until_the_writer_has_ended(live: Live) -> None:
    live.write(part(1, ended=False))
    assert live.statuses() == {"0/0": "ok", "0/1": "running"}
    assert (live.run.tally.running, live.run.tally.unfinished) == (1, 0)
    live.writers.over = True
    live.look()
    assert live.statuses() == {"0/0": "ok", "0/1": "unfinished"}
    assert (live.run.tally.running, live.run.tally.unfinished) == (0, 1)
    assert live.run.finished


def test_a_half_record_is_damage_only_at_the_end(live: Live) -> None:
    live.write(part(1)[:-20])
    assert live.run.damaged == 0
    live.writers.over = True
    live.look()
    assert [damage.reason for damage in live.run.models[0].log.damage] == ["cut off: the log ends inside its first line"]


def test_a_long_incomplete_record_is_not_kept_in_memory(live: Live) -> None:
    payload = "\n".join(["x" * 99] * 30_000)
    record = mt.record("dynamo_output_graph", payload=payload, frame=0, compile=1, attempt=0)
    assert len(record) > 2 << 20
    live.write(record[: 2 << 20])
    assert live.run.tails == [(str(live.path), (len(part(0)), 2 << 20))]
    live.write(record[2 << 20 :])
    assert live.run.tails == []
    log = live.run.models[0].log
    checked = log.check(len(log) - 1)
    assert checked is not None and checked.check is Check.GOOD
    assert checked.size == len(payload)


def test_a_tail_of_nuls_is_no_damage_and_may_be_overwritten(live: Live) -> None:
    live.write(b"\0" * 200)
    assert live.run.damaged == 0
    live.path.write_bytes(part(0) + part(1))
    live.look()
    assert live.statuses() == {"0/0": "ok", "0/1": "ok"}
    assert live.run.damaged == 0


def test_a_log_that_was_cut_off_is_another_process_from_then_on(live: Live) -> None:
    live.write(part(1))
    live.path.write_bytes(part(2))
    live.look()
    assert len(live.processes()) == 1, "some file systems take bytes back for a moment"
    live.look()
    old, new = sorted(live.processes(), key=lambda process: len(process.compiles), reverse=True)
    assert old.key != new.key
    assert {c.label.strip("[]") for c in old.compiles.values()} == {"0/0", "0/1"}
    assert {c.label.strip("[]") for c in new.compiles.values()} == {"0/2"}
    assert live.run.lost == [(str(live.path), CUT_OFF)]
    gone = live.text(f"{old.compiles[next(iter(old.compiles))].ref}:dynamo_output_graph")
    assert CUT_OFF in gone and "GraphModule" not in gone
    assert "# 2" in live.text(f"{next(iter(new.compiles.values())).ref}:dynamo_output_graph")


def test_bytes_that_come_back_are_the_same_log(live: Live) -> None:
    whole = part(0) + part(1)
    live.write(part(1))
    live.path.write_bytes(whole[:-50])
    live.look()
    live.path.write_bytes(whole + part(2))
    live.look()
    assert live.statuses() == {"0/0": "ok", "0/1": "ok", "0/2": "ok"}
    assert len(live.processes()) == 1 and live.run.lost == []


def test_other_bytes_at_the_place_reached_are_another_log(live: Live) -> None:
    live.path.write_bytes(part(5) + part(6))
    live.look()
    assert live.run.lost == [(str(live.path), WRITTEN_ANEW)]
    assert sorted(c.label.strip("[]") for c in live.run.compiles()) == ["0/0", "0/5", "0/6"]


def test_a_log_with_another_name_goes_on(live: Live) -> None:
    moved = live.path.with_name("dedicated_log_torch_trace_a.log.1")
    live.path.rename(moved)
    live.path.write_bytes(part(1))
    live.look()
    assert [process.log.path for process in live.processes()] == [str(moved), str(live.path)]
    assert live.run.lost == []
    first = live.processes()[0]
    assert "GraphModule" in live.text(f"{next(iter(first.compiles.values())).ref}:dynamo_output_graph")


def test_a_log_that_was_replaced_shows_nothing_of_the_new_file_as_the_old(live: Live, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_bytes(part(7))
    os.replace(other, live.path)
    live.look()
    old = next(process for process in live.processes() if any(c.label.strip("[]") == "0/0" for c in process.compiles.values()))
    assert live.run.lost == [(str(live.path), REPLACED)]
    assert REPLACED in live.text(f"{next(iter(old.compiles.values())).ref}:dynamo_output_graph")


def test_a_new_rank_appears(live: Live) -> None:
    rank = live.path.with_name("dedicated_log_torch_trace_rank_3_b.log")
    rank.write_bytes(b"".join(mt.record("dynamo_start", {"stack": []}, rank=3, frame=0, compile=n, attempt=0) for n in range(2)))
    live.look()
    assert [rank.title for rank in live.run.ranks] == ["rank 3", "no rank"]
    assert "3:0/1" in live.statuses()


def test_descriptors_are_never_those_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_OPEN", 2)
    monkeypatch.setattr(files, "_descriptors", files._Descriptors())
    paths = [tmp_path / f"{n}.log" for n in range(5)]
    for n, path in enumerate(paths):
        path.write_bytes(b"old %d" % n)
    sources = [FileBytes(str(path)) for path in paths]
    assert [source.read(0, 10) for source in sources] == [b"old %d" % n for n in range(5)]
    for n, path in enumerate(paths):
        other = tmp_path / "other"
        other.write_bytes(b"NEW %d" % n)
        os.replace(other, path)
    for n, source in enumerate(sources):
        try:
            assert source.read(0, 10) == b"old %d" % n
        except Gone as gone:
            assert gone.strerror == REPLACED and gone.filename == str(paths[n])
    with pytest.raises(Gone):
        sources[0].read(0, 10)


def test_what_was_read_must_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"a" * 1000)
    source = FileBytes(str(path))
    assert source.read(0, 1000) == b"a" * 1000
    source.reached(1000)
    path.write_bytes(b"a" * 500)
    with pytest.raises(Gone, match="truncated"):
        source.read(0, 10)
    path.write_bytes(b"b" * 1000)
    with pytest.raises(Gone, match="rewritten"):
        source.read(0, 10)
    path.write_bytes(b"a" * 1000 + b"b")
    assert source.read(999, 10) == b"ab"


def test_the_list_of_compiles_of_a_live_run_says_that_one_runs(live: Live) -> None:
    live.write(part(1, ended=False))
    lines = texts_of(listing_document(live.run, Options()))
    assert any(re.match(r"\s*◌ \[0/1\]", line) for line in lines), lines
    assert Status.RUNNING in {c.status for c in live.run.compiles()}


def test_copies_of_a_log_are_logs_of_their_own(live: Live) -> None:
    shutil.copy(live.path, live.path.with_name("copy.log"))
    live.look()
    assert len(live.processes()) == 2


def test_the_demo_is_over_however_young_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(part(0, ended=False))
    writers = HeldWriters()
    found = Discovery([str(tmp_path)]).discover()
    assert not open_run(found, writers).finished
    assert open_run(replace(found, is_over=True), writers).finished
    assert discover_logs([str(DEMO)], False).is_over and not discover_logs([str(tmp_path)], False).is_over


def test_a_file_that_cannot_be_read_is_no_fault_of_tltui() -> None:
    text = "\n".join(texts_of(error_document("@diff", "diff", "@diff", Gone(CUT_OFF, "/logs/a.log"))))
    assert CUT_OFF in text and "/logs/a.log" in text
    assert "This is an internal error in tltui" not in text
    assert "This is an internal error in tltui" in "\n".join(texts_of(error_document("@diff", "diff", "@diff", ValueError("x"))))
