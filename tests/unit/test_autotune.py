"""Autotuning: the trace and the output of one run give the same answer, and tables of each form are read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import make_trace as t
import pytest
from autotune_tables import FORMS, OPERATIONS
from real import ROOT, fresh
from viewed import text

import tltui
from tltui.cli import main
from tltui.documents.scope import scope_of
from tltui.model.ref import Ref
from tltui.questions.autotune.autotune_report import (
    AutotuneReport,
    PrintedTable,
    TableReader,
    compared_with,
    report_of,
    result_of,
    strides_in,
)
from tltui.questions.autotune.page import headline
from tltui.questions.question import question_of
from tltui.text.document import Options


def tables_in(lines: Iterable[str]) -> tuple[PrintedTable, ...]:
    """Return the tables of lines."""
    reader, offset = TableReader(), 0
    for line in lines:
        reader.read(offset, line)
        offset += len(line.encode("utf-8", "replace")) + 1
    return reader.tables()


HERE = ROOT / "tests" / "traces" / "inputs" / "autotune"


def _report(*paths: Path) -> AutotuneReport:
    run = fresh(*paths)
    return report_of(run, list(run.compiles()))


def test_text_and_trace_give_the_same_answer() -> None:
    trace, output, both = _report(HERE / "trace"), _report(HERE / "output.txt"), _report(HERE / "trace", HERE / "output.txt")
    answers = []
    for report in (trace, output, both):
        rows = [
            (item.op, item.shape, item.dtypes, item.winner, round(item.winner_us or 0, 1), item.result, item.choice_count)
            for item in report.tunings
        ]
        answers.append((sorted(rows), report.unchanged, report.changed, round(report.search_s), headline(report).partition(".")[0]))
    assert answers[0] == answers[1] == answers[2] and len(trace.tunings) == 3
    assert all(item.choices and item.lines and item.ref == "0/0" for item in both.tunings)
    assert not any(item.choices for item in trace.tunings) and not any(item.lines or item.ref for item in output.tunings)


def test_lines_are_those_of_the_operation() -> None:
    lines = {(item.op, item.shape.split(",")[0]): [line.code for line in item.lines] for item in _report(HERE / "trace").tunings}
    assert lines == {
        ("packed_linear", "32x64"): ["hidden = torch.relu(self.first(x))"],
        ("packed_linear", "32x128"): ["return self.second(hidden).sum() + scores.sum()"],
        ("bmm", "4x8x128"): ["scores = torch.bmm(hidden.view(4, 8, 128), hidden.view(4, 8, 128).transpose(1, 2))"],
    }


# torch 2.4 and 2.6 (without strides and dtypes), 2.8 to 2.13, with prescreening, in a subprocess
OLD = """\
AUTOTUNE addmm(16x32, 16x64, 64x32)
  bias_addmm 0.0051 ms 100.0%
  addmm 0.0061 ms 83.6%
  triton_mm_4 0.0072 ms 70.8% ACC_TYPE='tl.float32', BLOCK_K=32
SingleProcess AUTOTUNE benchmarking takes 1.5000 seconds and 0.2500 seconds precompiling
"""
NEW = """\
Autotune Choices Stats:
{"num_choices": 19, "num_triton_choices": 18, "best_kernel": "mm", "best_time": 0.0061}
AUTOTUNE mm(512x64, 64x32)
strides: [64, 1], [32, 1]
dtypes: torch.float16, torch.float16
  mm 0.0061 ms 100.0% \n  triton_mm_4 0.0072 ms 84.7% ACC_TYPE='tl.float32', BLOCK_K=32
  triton_mm_5 inf ms 0.0% ACC_TYPE='tl.float32'
SubProcess AUTOTUNE benchmarking takes 3.0000 seconds and 0.5000 seconds precompiling for 19 choices and 0.1 seconds prescreening
"""


@pytest.mark.parametrize("version", FORMS)
@pytest.mark.parametrize("op", OPERATIONS)
def test_each_operation_in_each_form(op: str, version: str) -> None:
    sizes, strides, types, extern, generated = OPERATIONS[op]
    name, tensors, last = FORMS[version]
    choices = [f"  {generated} 0.0100 ms 100.0% BLOCK_M=64, BLOCK_N=32, num_stages=3, num_warps=4"]
    choices += [f"  {extern} 0.0125 ms 80.0% "] if extern else []
    head = f"AUTOTUNE {name.format(op=op)}({sizes})\n{tensors.format(strides=strides, dtypes=types)}"
    text = head + "\n".join(choices) + f"\n{last}"
    (table,) = tables_in(text.split("\n"))
    assert (table.op, table.shape, table.benchmark_s) == (op, sizes, 1.5)
    assert [choice.name for choice in table.choices] == [generated, *[extern] * bool(extern)]
    assert table.dtypes == (types if tensors else "") and table.choices[0].description.endswith("num_warps=4")
    assert result_of(generated) == "changed" and (not extern or result_of(extern) == "unchanged")


def test_tables_of_older_and_newer_torch() -> None:
    old, new = tables_in((OLD + NEW).split("\n"))
    assert (old.op, old.shape, old.dtypes, [choice.name for choice in old.choices]) == (
        "addmm", "16x32, 16x64, 64x32", "", ["bias_addmm", "addmm", "triton_mm_4"],
    )  # fmt: skip
    assert (old.benchmark_s, old.precompile_s, old.choice_count) == (1.5, 0.25, None)
    assert (new.dtypes, new.choices[1].description) == ("torch.float16, torch.float16", "ACC_TYPE='tl.float32', BLOCK_K=32")
    assert [choice.time_us and round(choice.time_us, 1) for choice in new.choices] == [6.1, 7.2, None]
    assert (new.benchmark_s, new.precompile_s, new.choice_count) == (3.0, 0.5, 19)


def test_the_result_has_lists_and_microseconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["autotune", str(HERE / "trace"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["result"]["tunings"][0]
    assert (first["op"], first["sizes"], first["dtypes"]) == ("bmm", [[4, 8, 128], [4, 128, 8]], ["torch.float32"] * 2)
    assert first["strides"] == [[1024, 128, 1], [1024, 1, 128]]
    assert 9 < first["winner_us"] < 10
    assert strides_in("[s0, 1], [32, 1]") == (("s0", 1), (32, 1))


def test_interleaved_and_cut_tables() -> None:
    pairs = zip(OLD.split("\n"), NEW.split("\n")[2:], strict=False)
    lines = [line for old, new in pairs for line in (f"[rank0]: {old}", f"1: {new}")]
    tables = tables_in(["epoch 1", *lines, "AUTOTUNE mm(1x1, 1x1)", "  mm 0.1000 ms 100.0%"])
    assert [(table.op, len(table.choices)) for table in tables] == [("addmm", 3), ("mm", 3), ("mm", 1)]
    assert tables[2].benchmark_s is None
    assert tables_in(["AUTOTUNE mm(1x1", "AUTOTUNE mm(1x1)", "  mm fast", "we AUTOTUNE mm(all of it) today"]) == ()


@pytest.mark.parametrize(
    "clock", ["2026-01-18T22:59:25.%03dZ ", "[2026-01-18 22:59:25,%03d] ", "2026-01-18  22:59:25.%03d | info | a1 | "]
)
def test_a_collector_s_time_before_each_line(clock: str) -> None:
    lines = [clock % number + line for number, line in enumerate((OLD + NEW).split("\n"))]
    assert [len(table.choices) for table in tables_in(lines)] == [3, 3]
    assert tables_in(lines)[1].benchmark_s == 3.0


@pytest.mark.parametrize(("winner", "result"), [
    ("mm", "unchanged"), ("_mkl_linear", "unchanged"), ("convolution", "unchanged"), ("triton_mm_3", "changed"),
    ("cpp_CppMicroGemmFP32Vec_0", "changed"), ("bias_addmm", "unknown"), ("conv1x1_via_mm", "unknown"), ("", "unknown"),
])  # fmt: skip
def test_what_max_autotune_changed(winner: str, result: str) -> None:
    assert result_of(winner) == result


def test_the_leading_sentence(tmp_path: Path) -> None:
    (tmp_path / "output.txt").write_text(OLD + NEW)
    report = _report(tmp_path / "output.txt")
    assert headline(report) == (
        "max-autotune changed nothing for 1 of 2 shapes. The search took 5.25 s. For 1 shape, the winner or its kind is unknown."
    )
    assert [item.speedup for item in report.tunings] == [1.0, pytest.approx(0.0061 / 0.0051)]


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faster = NEW.replace("  mm 0.0061", "  triton_mm_9 0.0050")
    for name, content in (("old", OLD + NEW), ("new", faster), ("same", OLD + NEW)):
        (tmp_path / f"{name}.txt").write_text(content)
    old, new, same = (_report(tmp_path / f"{name}.txt") for name in ("old", "new", "same"))
    assert compared_with(same, old).differences == ()
    assert [(item.op, item.old_winner, item.new_winner) for item in compared_with(new, old).differences] == [
        ("mm", "mm", "triton_mm_9"), ("addmm", "bias_addmm", ""),
    ]  # fmt: skip
    assert main(["autotune", str(tmp_path / "new.txt"), "--baseline", str(tmp_path / "old.txt")]) == 0
    assert "Search: 5.25 s → 3.50 s." in capsys.readouterr().out
    assert main(["autotune", "--demo", "--baseline", str(tmp_path / "old.txt")]) == 0
    assert "Search: 5.25 s → 0 ms." in capsys.readouterr().out
    assert main(["autotune", str(tmp_path / "same.txt"), "--baseline", str(tmp_path / "old.txt")]) == 0
    assert "Both runs have the same operations, sizes and winners." in capsys.readouterr().out


def test_a_trace_of_older_torch_lacks_shapes_and_winners(tmp_path: Path) -> None:
    name = "mm_template_autotuning"
    log = t.chromium(name, frame=0, compile=0, ts=1e15) + t.chromium(name, "E", frame=0, compile=0, ts=1e15 + 2e6)
    report = _report(t.write(tmp_path, t.compiled(frame=0, compile=0) + log))
    assert [(item.op, item.shape, item.winner, item.result, item.benchmark_s) for item in report.tunings] == [
        ("mm", "", "", "unknown", 2.0)
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_page(width: int) -> None:
    run = fresh(HERE / "trace", HERE / "output.txt")
    shown = text(question_of("autotune").document(run, scope_of(run, Ref()), Options(width=width)))
    assert shown.splitlines()[2].startswith("max-autotune ")
    assert all(len(line) <= width for line in shown.splitlines())


def test_nothing_was_tuned(tmp_path: Path) -> None:
    run = fresh(t.write(tmp_path, t.compiled(frame=0, compile=0)))
    assert "The log has no record of autotuning." in text(question_of("autotune").document(run, scope_of(run, Ref()), Options()))


def test_the_function() -> None:
    rows = tltui.autotune(tltui.open(HERE / "trace")).to_records()
    assert len(rows) == 3 and {row["result"] for row in rows} <= {"changed", "unchanged"}


def test_caches_links_to_the_searches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caches", str(HERE / "trace")]) == 0
    assert "Autotuning took 56.4 s of it → autotune" in " ".join(capsys.readouterr().out.split())
    assert main(["caches", str(HERE / "trace"), "--json"]) == 0
    cold = json.loads(capsys.readouterr().out)["result"]["cold_start"]
    assert cold["autotuned_s"] == pytest.approx(_report(HERE / "trace").search_s, abs=1e-6)
    assert main(["caches", str(ROOT / "tests" / "traces" / "torch-2.13" / "cache_miss")]) == 0
    assert "Autotuning" not in capsys.readouterr().out
