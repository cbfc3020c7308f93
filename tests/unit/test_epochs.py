"""Ids that begin again: `torch._dynamo.reset()`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import LOGS, TRACES, fresh, opened, trace
from viewed import lead_somewhere, text

from tltui.cli import main
from tltui.documents.scope import scope_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, frame_key
from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.questions.overview.run_summary import forgotten
from tltui.trace.files import FileBytes
from tltui.trace.log import Log as TraceLog
from tltui.trace.scan import Scanner
from tltui.writers.bundle import Bundle

RESETS = "torch-2.13/resets"
AOT_ID = re.compile(r"# AOT ID: \['(\w+)'\]")


def compiles(run: Run) -> dict[str, Compile]:
    return {str(c.ref): c for c in run.compiles() if c.is_compile}


def graph_ids(compile_: Compile) -> list[str]:
    log = compile_.process.log
    codes = [log.text(r) for r in compile_.records if log.kind(r).event == "inductor_output_code"]
    return [match[1] for code in codes if (match := AOT_ID.search(code))]


def events(compile_: Compile) -> list[tuple[str, str]]:
    log = compile_.process.log
    found = [json.loads(log.text(r)) for r in compile_.records if log.kind(r).event == "chromium_event"]
    return [(event["ph"], event["name"]) for event in found]


def test_each_beginning_is_a_compile_of_its_own() -> None:
    """The truth stands in tests/traces/scripts/resets.py."""
    run = trace(RESETS)
    found = compiles(run)
    assert {ref: c.frame.code[0] for ref, c in found.items()} == {
        "0/0~1": "f", "1/0~1": "g", "0/0~2": "g", "1/0~2": "f", "1/1~2": "f", "0/0~3": "h",
        "1/0~3": "torch_dynamo_resume_in_h_at_48",
    }  # fmt: skip
    tally = run.tally
    assert (tally.compiles, tally.recompiles, tally.breaks, tally.errors) == (7, 1, 1, 0)
    assert [ref for ref, c in found.items() if c.is_recompile] == ["1/1~2"]
    assert [ref for ref, c in found.items() if c.facts.breaks] == ["0/0~3"]
    assert sum(len(c.records) for c in run.compiles()) == len(next(run.processes()).log)


def test_a_backward_belongs_to_its_forward_however_late_it_is_compiled() -> None:
    found = compiles(trace(RESETS))
    assert {ref: graph_ids(c) for ref, c in found.items()} == {
        "0/0~1": ["0_forward", "0_backward"], "1/0~1": ["1_forward", "1_backward"], "0/0~2": ["2_forward", "2_backward"],
        "1/0~2": ["3_forward", "3_backward"], "1/1~2": ["4_forward"], "0/0~3": ["5_inference"], "1/0~3": ["6_inference"],
    }  # fmt: skip
    assert {ref for ref, c in found.items() if c.facts.has_backward} == {"0/0~1", "1/0~1", "0/0~2", "1/0~2"}
    for compile_ in found.values():
        own = events(compile_)
        assert own[0] == ("B", "dynamo") and sorted(name for phase, name in own if phase == "B") == sorted(
            name for phase, name in own if phase == "E"
        )
        assert compile_.doubtful == 0


@pytest.mark.parametrize("size", [1 << 12, 10_000, 70_001, 1 << 20])
def test_epochs_do_not_depend_on_how_the_log_is_cut_into_batches(size: int) -> None:
    path = str(next((TRACES / RESETS).iterdir()))
    model = LogModel(TraceLog(path, FileBytes(path)))
    scanner = Scanner(model.log.source)
    while not model.log.ended:
        model.apply(scanner.step(size))
    (process,) = model.processes
    expected = next(trace(RESETS).processes())
    for compile_id, compile_ in expected.compiles.items():
        own = process.compiles[compile_id]
        assert list(own.records) == list(compile_.records), compile_id
        assert (own.counts, own.attempts, own.metrics, own.started) == (
            compile_.counts, compile_.attempts, compile_.metrics, compile_.started
        ), compile_id  # fmt: skip
    assert (process.records, process.tally[:-1]) == (expected.records, expected.tally[:-1])
    assert all(model.owner(record).holds(record) for record in range(len(model.log)))


def test_an_address_without_an_epoch_is_the_newest_and_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    run = trace(RESETS)
    assert run.resolve("0/0") is run.resolve("0/0~3") and run.resolve("1/") is run.resolve("1/~3")
    assert str(scope_of(run, "1/1").ref) == "1/1~2", "the newest that there is, not that of the newest epoch"
    newest = run.other_epochs(parse_ref("0/0"))
    assert newest == "0/0 is the newest of 3 with this id, 0/0~3: compile ids restarted. Older: 0/0~1, 0/0~2"
    assert run.other_epochs(parse_ref("0/0~2")) == run.other_epochs(parse_ref("1/1")) == ""
    assert main(["show", str(TRACES / RESETS), "0/"]) == 0
    shown = capfd.readouterr()
    assert "0/ is the newest of 3 with this id, 0/~3" in shown.err and "[0/0~3]" in shown.out
    assert trace("torch-2.13/breaks").other_epochs(parse_ref("0/0")) == ""


def test_every_printed_address_names_its_epoch() -> None:
    run = trace(RESETS)
    for view in ("summary", "problems", "recompiles", "timing", "caches", "guards", "metrics", "stacks", "provenance"):
        document = page(run, f"@{view}", 120)
        assert not re.findall(r"\[\d+/\d+\]", text(document)), view
        lead_somewhere(run, document)
    assert "epoch 2 of 3" in text(page(run, "0/0~2")) and "epoch" not in text(page(trace("torch-2.13/breaks"), "0/0"))


def test_the_summary_says_what_was_compiled_again() -> None:
    found = text(page(trace(RESETS), "", 120))
    assert "3 epochs" in found and "2 functions were compiled again after a reset: 2 compiles" in found


def test_a_recompile_is_explained_by_its_own_epoch() -> None:
    found = text(page(trace(RESETS), "@recompiles", 120))
    assert "[1/1~2] recompiled" in found and "1 recompile of 1 frame" in found


def test_epochs_stay_apart_in_a_bundle(tmp_path: Path) -> None:
    run = fresh(TRACES / RESETS)
    out = tmp_path / "bundle.log"
    Bundle(run, ["0/0~1", "0/0~3"]).write(str(out))
    assert {ref: c.frame.code[0] for ref, c in compiles(fresh(out)).items()} == {"0/0~1": "f", "0/0~2": "h"}


def test_ids_of_compiled_autograd_begin_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for _ in range(2):
        log.start().metrics()
        log.add("compiled_autograd_graph", {}, "graph()", frame=None, compiled_autograd_id=0)
    assert [c.label for c in log.open().compiles()] == ["[-/-]", "[0/0~1]", "[!0~1]", "[0/0~2]", "[!0~2]"]


def test_a_number_is_given_once_in_an_epoch_with_an_id_of_compiled_autograd_or_without() -> None:
    """The truth stands in tests/traces/scripts/autograd_resets.py."""
    run = trace("torch-2.13/autograd_resets")
    assert {ref: c.frame.code[::2] for ref, c in compiles(run).items()} == {
        "0/0~1": ("forward", 27), "a0/0/0~2": ("forward", 4), "a0/0/1~2": ("forward", 4), "0/0~3": ("other", 31),
        "1/0~3": ("forward", 27),
    }  # fmt: skip
    assert [ref for ref, c in compiles(run).items() if c.is_recompile] == ["a0/0/1~2"]


def test_a_frame_id_of_another_code_object_begins_an_epoch(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start(name="f", line=1).metrics(co_name="f", co_firstlineno=1)
    log.start(name="g", line=9, compile_=1).metrics(co_name="g", co_firstlineno=9, compile_=1)
    run = log.start(name="g", line=9, compile_=2).metrics(co_name="g", co_firstlineno=9, compile_=2).open()
    assert {c.label: c.frame.code[0] for c in run.compiles() if c.is_compile} == {"[0/0~1]": "f", "[0/1~2]": "g", "[0/2~2]": "g"}
    assert [frame.label for process in run.processes() for frame in process.frames.values() if frame.key.frame is not None] == [
        "[0/-~1]", "[0/-~2]",
    ]  # fmt: skip
    assert run.resolve("0/1") is run.resolve("0/1~2") and run.resolve("0/0") is run.resolve("0/0~1")


@pytest.mark.parametrize("log", LOGS, ids=lambda path: str(path.relative_to(TRACES)))
def test_each_compile_is_shown_with_the_function_of_its_metrics(log: Path) -> None:
    for compile_ in opened(log).compiles():
        name, _, line = compile_.frame.code
        assert all((m.co_name, m.co_firstlineno) == (name, line) for m in compile_.metrics if m.co_name), compile_.label


def test_metrics_alone_are_a_beginning_too(tmp_path: Path) -> None:
    """A hit of the recompile limit has no `dynamo_start`."""
    run = Log(tmp_path / "x.log").start().metrics().metrics(fail_type="E", fail_reason="x").open()
    assert [(c.label, c.facts.failed) for c in run.compiles() if c.is_compile] == [("[0/0~1]", False), ("[0/0~2]", True)]


def test_restarts_are_no_epochs(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().start(attempt=1).start(attempt=2).metrics(attempt=2).metrics("bwd_compilation_metrics")
    assert [c.label for c in log.open().compiles() if c.is_compile] == ["[0/0]"]


def backwards(log: Log, count: int) -> Run:
    """Two compiles with one id that have a backward graph each, and `count` backwards without code to tell them apart."""
    for _ in range(2):
        log.start().add("aot_backward_graph", {}, "graph()").metrics()
    for _ in range(count):
        log.event("entire_backward_compile", "B", 1.0).add("inductor_post_grad_graph", {}, "graph()")
        log.metrics("bwd_compilation_metrics")
    return log.open()


def test_what_cannot_be_decided_is_said(tmp_path: Path) -> None:
    run = backwards(Log(tmp_path / "one.log"), 1)
    assert [(c.label, c.facts.has_backward, c.doubtful) for c in run.compiles() if c.is_compile] == [
        ("[0/0~1]", False, 3), ("[0/0~2]", True, 3),
    ]  # fmt: skip
    assert "3 records of a backward may belong to this compile or to another one" in text(page(run, "0/0~1", 120))
    run = backwards(Log(tmp_path / "two.log"), 2)
    assert [(c.label, c.facts.has_backward, len(c.metrics)) for c in run.compiles() if c.is_compile] == [
        ("[0/0~1]", True, 2), ("[0/0~2]", True, 2),
    ]  # fmt: skip


def test_recompiles_count_as_often_as_there_had_been_some(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for number in (2, 3, 1):
        for compile_ in range(number):
            log.start(compile_=compile_).metrics(compile_=compile_)
    found = forgotten(log.open().processes())
    assert found is not None and (found.epochs, found.compiles, found.functions, found.newest_ref) == (3, 3, 1, "0/0~3")


def test_a_second_resume_function_of_a_line_is_no_compile_because_of_a_reset(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().metrics().start().metrics()
    for frame in (1, 2, 3):
        log.start("torch_dynamo_resume_in_f_at_6", 6, frame=frame).metrics(frame=frame)
    again = forgotten(log.open().processes())
    assert again is not None and (again.epochs, again.compiles, again.functions, again.newest_ref) == (2, 1, 1, "0/0~2")


def test_metrics_of_run_time_end_no_compile(tmp_path: Path) -> None:
    """They may come while the next compile with this id goes on."""
    log = Log(tmp_path / "x.log").start().metrics().start().metrics("compilation_metrics_runtime", is_runtime=True).start(attempt=1)
    assert [c.label for c in log.metrics(attempt=1).open().compiles() if c.is_compile] == ["[0/0~1]", "[0/0~2]"]


@pytest.mark.parametrize("name", ["torch-2.13/autograd_resets", "torch-2.13/ddp", "torch-2.13/recompiles"])
def test_each_compile_has_its_frame_and_address(name: str) -> None:
    for compile_ in trace(name).compiles():
        assert compile_.frame is compile_.process.frames[frame_key(compile_.id)] and compile_ in compile_.frame.compiles
        assert compile_.address == str(compile_.ref)
