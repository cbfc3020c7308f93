"""CUDA graphs: skips with reason and line from traces and from text, and recordings for several sizes."""

from __future__ import annotations

from pathlib import Path

import make_trace as t
import pytest
from real import fresh
from viewed import text

from tltui.cli import main
from tltui.documents.scope import scope_of
from tltui.model.ref import Ref
from tltui.questions.cudagraphs.cudagraph_report import (
    RECORDED,
    RECORDED_AGAIN,
    SIZES,
    SKIPPED,
    compared_with,
    parse_message,
    report_of,
    sentence_of,
)
from tltui.questions.problems.problem_list import problems
from tltui.questions.question import question_of
from tltui.text.document import Options

STACK = '   File "/home/user/model.py", line 5, in forward\n    self.cache.copy_(x)\n'
MUTATED = f"skipping cudagraphs due to mutated inputs (2 instances). Found from : \n{STACK}"
CPU = f"skipping cudagraphs due to cpu device (arg1_1). Found from : \n{STACK}"
LIMIT = (
    "skipping cudagraph due to function 0 exceeding max re-recording limit (=128) on cudagraph node None due to cudagraph managed "
    "tensor data pointer changed.\ninput name: primals_1. data pointer changed from 1 to 2. input stack trace: None\n."
)
OBSERVED = (
    "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too many CUDAGraphs may "
    "lead to extra overhead. We have observed 51 distinct sizes. Please consider the following options for better performance: a) …"
)


# messages of torch/_inductor/cudagraph_utils.py, cudagraph_trees.py and output_code.py of torch 2.4 to 2.13
@pytest.mark.parametrize(("message", "kind", "reason", "line"), [
    (MUTATED, SKIPPED, "mutated inputs (2 instances)", 5),
    (CPU, SKIPPED, "cpu device (arg1_1)", 5),
    (f"skipping cudagraphs due to input storage mutation (1 instances). Found from:\n {STACK}", SKIPPED,
     "input storage mutation (1 instances)", 5),
    ("skipping cudagraphs due to multiple devices: device(type='cuda', index=0), device(type='cuda', index=1)", SKIPPED,
     "multiple devices: device(type='cuda', index=0), device(type='cuda', index=1)", None),
    ("skipping cudagraphs due to ['non-cuda device in graph', 'mutated inputs']", SKIPPED,
     "['non-cuda device in graph', 'mutated inputs']", None),
    ("disabling cudagraphs for backward due to override_cudagraphs annotation", SKIPPED,
     "override_cudagraphs annotation", None),
    (OBSERVED, SIZES, "", None),
    ("recording cudagraph tree for graph without symints", RECORDED, "", None),
    ("[0/0] Recording cudagraph tree for symint key (3, 4)", RECORDED, "", None),
    ("[0/0] Re-recording function=f, mode=FORWARD, reason=static input data pointer changed.\ninput name: x", RECORDED_AGAIN,
     "static input data pointer changed. input name: x", None),
])  # fmt: skip
def test_messages(message: str, kind: str, reason: str, line: int | None) -> None:
    parsed = parse_message(message)
    assert parsed is not None and (parsed.kind, parsed.reason) == (kind, reason)
    assert (parsed.place.line if parsed.place else None) == line
    assert "data pointer changed" in (parse_message(LIMIT) or parsed).reason


def _text(*messages: tuple[str, str, str]) -> str:
    """Lines of loggers: (compile id or '', logger, message)."""
    lines = ["epoch 1 loss 0.5"]
    for n, (number, logger, message) in enumerate(messages):
        ids = f"[{number}] " if number else ""
        prefix = f"W1124 10:00:0{n}.000000 411 torch/_inductor/cudagraph_utils.py:390] {ids}[__{logger}]"
        lines += [f"{prefix} {line}" for line in message.rstrip("\n").split("\n")]
    return "\n".join([*lines, "epoch 2 loss 0.4"]) + "\n"


def test_the_backward_is_named() -> None:
    parsed = parse_message("disabling cudagraphs for backward due to override_cudagraphs annotation")
    assert parsed is not None and parsed.is_backward
    assert sentence_of(parsed) == "backward: override_cudagraphs annotation"


def test_text_and_trace_give_the_same_answer(tmp_path: Path) -> None:
    compiles = ((0, MUTATED), (1, CPU))
    trace = b"".join(
        t.compiled(frame=frame, compile=0, fields={"cudagraph_skip_reason": message}) for frame, message in compiles
    )
    (tmp_path / "err.txt").write_text(_text(("0/0", "cudagraphs", MUTATED), ("1/0", "perf_hints", CPU)))
    reports = [report_of(list(fresh(path).compiles())) for path in (t.write(tmp_path, trace), tmp_path / "err.txt")]
    assert reports[0].reasons == reports[1].reasons and len(reports[0].reasons) == 2
    assert [(use.ref, use.use) for use in reports[0].compiles] == [(use.ref, use.use) for use in reports[1].compiles]
    for path in (tmp_path / "err.txt", tmp_path):
        groups = problems(list(fresh(path).compiles())).cudagraph_skips
        assert {(group.reason, group.line) for group in groups} == {("mutated inputs (2 instances)", 5), ("cpu device (arg1_1)", 5)}


def test_recordings_belong_to_the_compile_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "err.txt").write_text(_text(
        ("2/0", "cudagraphs", "[2/0] Recording cudagraph tree for symint key (3,)"),
        ("", "cudagraphs", "[2/0] Recording cudagraph tree for symint key (4,)"),
        ("3/0", "cudagraphs", "[3/0] Recording cudagraph tree for graph without symints"),
        ("4/0", "cudagraphs", MUTATED), ("4/0", "cudagraphs", OBSERVED),
    ))  # fmt: skip
    report = report_of(list(fresh(tmp_path / "err.txt").compiles()))
    assert [(use.ref, use.use, use.recordings, use.size_count) for use in report.compiles] == [
        ("2/0", "recorded_again", 2, 2), ("3/0", "used", 1, None), ("4/0", "used_in_part", None, 51),
    ]  # fmt: skip
    assert set(report.compiles[0].sizes) == {"(3,)", "(4,)"}


def test_a_trace_shows_recordings_by_their_time(tmp_path: Path) -> None:
    runtime = t.metrics("compilation_metrics_runtime", fields={"runtime_cudagraphify_time_us": 2_000_000}, frame=0, compile=0)
    events = t.chromium("CUDAGraphNode.record", frame=0, compile=0) + t.chromium("CUDAGraphNode.record", "E", frame=0, compile=0)
    trace = t.compiled(frame=0, compile=0) + events + runtime + t.compiled(frame=1, compile=0)
    report = report_of(list(fresh(t.write(tmp_path, trace)).compiles()))
    assert [(use.use, use.recordings, use.recording_s) for use in report.compiles] == [("used", 1, 2.0)]
    assert report.without_record == 1


def test_the_page(tmp_path: Path) -> None:
    (tmp_path / "err.txt").write_text(_text(("0/0", "cudagraphs", MUTATED), ("", "cudagraphs", OBSERVED)))
    run = fresh(tmp_path / "err.txt")
    for width in (60, 120):
        shown = text(question_of("cudagraphs").document(run, scope_of(run, Ref()), Options(width=width)))
        assert "Compiles: 1 skipped." in shown and "user/model.py:5" in shown
        assert "51 distinct sizes" in " ".join(shown.split())
        assert all(len(line) <= width for line in shown.splitlines())


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[0/0] has a new reason, [1/0] lost its CUDA graph, [2/0] is only in the baseline."""
    recorded = "[1/0] Recording cudagraph tree for graph without symints"
    old = _text(("0/0", "cudagraphs", MUTATED), ("1/0", "cudagraphs", recorded), ("2/0", "cudagraphs", CPU))
    (tmp_path / "old.txt").write_text(old)
    (tmp_path / "new.txt").write_text(_text(("0/0", "cudagraphs", CPU), ("1/0", "cudagraphs", CPU)))
    reports = [report_of(list(fresh(tmp_path / f"{name}.txt").compiles())) for name in ("new", "old")]
    differences = compared_with(*reports).differences or ()
    assert [(one.ref, one.old_use, one.new_use, one.reasons) for one in differences] == [
        ("0/0", "skipped", "skipped", ("cpu device (arg1_1)",)),
        ("1/0", "used", "skipped", ("cpu device (arg1_1)",)),
        ("", "skipped", "", ()),
    ]  # fmt: skip
    assert compared_with(reports[1], reports[1]).differences == ()
    assert main(["cudagraphs", str(tmp_path / "new.txt"), "--baseline", str(tmp_path / "old.txt")]) == 0
    printed = capsys.readouterr().out
    assert "Differences from the baseline" in printed and "New in 1/0: cpu device (arg1_1)" in printed
    assert main(["cudagraphs", str(tmp_path / "old.txt"), "--baseline", str(tmp_path / "old.txt")]) == 0
    assert "the same compiles used" in capsys.readouterr().out


def test_nothing_recorded(tmp_path: Path) -> None:
    run = fresh(t.write(tmp_path, t.compiled(frame=0, compile=0)))
    shown = text(question_of("cudagraphs").document(run, scope_of(run, Ref()), Options()))
    assert "The log has no records of CUDA graphs." in shown and "TORCH_LOGS=cudagraphs" in " ".join(shown.split())
