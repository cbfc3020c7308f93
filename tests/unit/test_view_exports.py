"""Export runs: each kind of failure, what an expression was made of, and pages that somebody stuck can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import trace
from viewed import lead_somewhere, text

from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.exports.page import ExportFailure, Exports, read_exports, uses_of
from tltui.sources.discover import discover
from tltui.text.steps import run_steps

GOLDEN = ("torch-2.13/export_draft", "torch-2.13/export_failed", "torch-2.13/draft_export", "tlparse/export.log")
NO_ID: dict[str, Any] = {"frame": None}


def exports(run: Run, ref: str = "") -> Exports:
    return run_steps(read_exports(scope_of(run, ref).compiles))


def only(run: Run) -> ExportFailure:
    (export,) = exports(run).exports
    (failure,) = export.failures
    return failure


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    run = trace(name)
    document = page(run, "@exports")
    assert_golden("exports_" + name.rpartition("/")[2].replace(".log", "_log"), text(document))
    lead_somewhere(run, document)


@pytest.mark.parametrize("name", GOLDEN)
def test_lines_fit_at_every_width(name: str) -> None:
    run = trace(name)
    for width in (60, 80, 160):
        document = page(run, "@exports", width, ascii_=width == 60)
        assert not [line for line in document.text() if len(line) > width]
        assert width != 60 or all(line.isascii() for line in document.text())


def test_every_kind_of_failure_of_a_draft_export() -> None:
    (export,) = exports(trace("torch-2.13/export_draft")).exports
    assert [failure.kind for failure in export.failures] == [
        "propagate_real_tensors_provenance", "guard_added", "missing_fake_kernel", "mismatched_fake_kernel",
    ]  # fmt: skip
    guess, guard, missing, mismatched = export.failures
    assert (guess.expr, guess.result, guess.code) == ("u0 + ((u0//2)) > 2", "True", "if half > 2:")
    assert [(part.depth, part.text, part.method) for part in guess.expressions] == [
        (0, "u0 + ((u0//2)) > 2", "gt"), (1, "u0 + ((u0//2))", "add"), (2, "(u0//2)", "int_floordiv"), (3, "u0", None),
    ]  # fmt: skip
    assert guess.user_frame is not None and guess.user_frame.line == 12 and guess.locals[0].value == "u0 + ((u0//2))"
    assert guard.expr == "Eq(s77, 4)" and [s.value for s in guard.symbols] == ["L['x'].size()[0]"]
    assert guard.expressions[1].source == "L['x'].size()[0]", "a symbol of an input is made by no record"
    assert missing.op == "demo.no_fake.default"
    assert [(use.line, use.code) for use in missing.uses] == [(16, "a = torch.ops.demo.no_fake(x)")]
    assert mismatched.reason is not None and mismatched.reason.startswith("mismatch between fake value 4 and real value 8")
    assert export.program == "none:exported_program" and not export.clean and not export.failed
    assert [symbol.name for symbol in export.unbacked] == ["u0", "u1", "u3", "u5"]


def test_a_failure_leads_to_its_record() -> None:
    run = trace("torch-2.13/export_draft")
    (export,) = exports(run).exports
    for failure in export.failures:
        shown = text(page(run, failure.record, 200))
        assert f'"{failure.kind}"' in shown and str(failure.op or failure.expr) in shown


def test_an_export_that_stopped() -> None:
    (export,) = exports(trace("torch-2.13/export_failed")).exports
    assert export.failed and export.program is None and export.partial_graph == "none:make_fx_fail_partial"
    (failure,) = export.failures
    assert failure.kind == "guard_on_data_dependent_error" and failure.expr == "2*u0 > 4" and failure.expr_without_hints is None
    assert failure.user_frame is not None and failure.user_frame.line == 22, "the user's line nearest to the error"
    assert len(failure.stack) == 52


def test_other_traces_have_no_exports(tmp_path: Path) -> None:
    for name in ("torch-2.13/breaks", "torch-2.13/aoti", "torch-2.13/dyn", "tlparse/simple.log"):
        run = trace(name)
        assert exports(run).exports == ()
        assert "No torch.export records in this trace." in text(page(run, "@exports"))
    # guards of an ordinary compile under TORCH_DTRACE are no failures of an export
    run = Log(tmp_path / "x.log").start().add("guard_added", {"expr": "s0 > 1", "prefix": "eval"}).metrics().open()
    assert exports(run).exports == ()
    assert "this part of the trace" in text(page(run, "@exports:0/0"))
    run = Log(tmp_path / "y.log").start().add("expression_created", made("a", 1, [], [])).metrics().open()
    assert exports(run).expression_count == 0, "only those of exports are counted"


def test_guards_of_the_compile_that_an_export_makes_are_its_own(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").add("export", {}, "start!", **NO_ID).start().add("guard_added", guard("s0 > 1"))
    log.add("exported_program", {}, "ExportedProgram", **NO_ID)
    (export,) = exports(log.open()).exports
    assert [failure.expr for failure in export.failures] == ["s0 > 1"]
    # without `export` it is a compile beside it
    log = Log(tmp_path / "y.log").start().add("guard_added", guard("s0 > 1")).add("exported_program", {}, "x", **NO_ID)
    (export,) = exports(log.open()).exports
    assert not export.failures


def guard(expr: str, node: object = None, prefix: str = "eval", **more: Any) -> dict[str, Any]:
    return {"expr": expr, "prefix": prefix, "expr_node_id": node, "user_stack": [], "stack": []} | more


def made(result: str, node: int, parts: list[int], arguments: list[str]) -> dict[str, Any]:
    return {
        "method": "add", "result": result, "result_id": node, "arguments": arguments, "argument_ids": parts,
        "user_stack": [], "stack": [],
    }  # fmt: skip


def test_several_exports_in_one_process(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for number in range(3):
        log.add("export", {}, "start!", **NO_ID)
        if number < 2:
            log.add("guard_added", guard(f"s{number} > 1"), **NO_ID).add("guard_added", guard("a", prefix="runtime"), **NO_ID)
            log.add("exported_program", {}, "ExportedProgram", **NO_ID)
    found = exports(log.open()).exports
    assert [len(export.failures) for export in found] == [1, 1, 0]
    assert [export.guard_added_count for export in found] == [1, 1, 0]
    assert [export.program for export in found] == ["none:exported_program#1", "none:exported_program#2", None]
    run = log.open()
    said = text(page(run, "@exports"))
    assert "Export 3" in said and "no exported_program record: the export failed, or the log ends before it" in said


def test_a_clean_export_says_so(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").add("export", {}, "start!", **NO_ID)
    run = log.add("exported_program", {}, "ExportedProgram", **NO_ID).open()
    assert exports(run).exports[0].clean
    assert "✓ exported a program; torch reported no problems" in text(page(run, "@exports"))


def test_the_same_failure_is_told_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for _ in range(5):
        log.add("missing_fake_kernel", {"op": "demo.f.default"}, **NO_ID)
    found = exports(log.open())
    assert found.failure_count == 5 and found.exports[0].failures[0].count == 5
    assert "no fake kernel  5×  → record" in text(page(log.open(), "@exports"))


def test_an_id_that_python_used_again_means_the_newest_expression(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.add("create_unbacked_symbol", {"symbol": "u0", "node_id": 1, "vr": "[0, 9]"}, **NO_ID)
    log.add("expression_created", made("old", 7, [1], ["u0", "2"]), **NO_ID)
    log.add("expression_created", made("u0 + 3", 7, [1, 1], ["u0", "3"]), **NO_ID)
    log.add("guard_added", guard("u0 + 3", 7), **NO_ID)
    log.add("expression_created", made("new", 7, [], []), **NO_ID)
    assert [(part.text, part.source) for part in only(log.open()).expressions] == [
        ("u0 + 3", None), ("u0", "depends on data, range [0, 9]"),
    ]  # fmt: skip


def test_a_shared_part_is_told_once_and_a_circle_ends(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.add("expression_created", made("a", 1, [3], ["c"]), **NO_ID)
    log.add("expression_created", made("b", 2, [1, 1], ["a", "a"]), **NO_ID)
    log.add("expression_created", made("c", 3, [2, 1, 3], ["b", "a", "c"]), **NO_ID)
    log.add("guard_added", guard("c", 3), **NO_ID)
    assert [part.text for part in only(log.open()).expressions] == ["c", "b", "a"]


def test_a_very_deep_expression_is_folded_and_bounded(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for n in range(3000):
        log.add("expression_created", made(f"e{n}", n + 1, [n] if n else [], []), **NO_ID)
    log.add("guard_added", guard("deep", 3000), **NO_ID)
    run = log.open()
    parts = only(run).expressions
    assert len(parts) == 301 and parts[-1].source == "more parts not shown"
    document = page(run, "@exports")
    assert any(section.folded and "more parts" in section.title for section in document.sections())
    assert all(len(line) <= 80 for line in document.text())


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"expr": 3, "prefix": "eval"}, {"prefix": "eval", "expr_node_id": "x", "frame_locals": []},
        {"prefix": "eval", "expr": "x\x1b[31m\nred", "user_stack": [{"line": "x", "filename": -1}, 5], "stack": {}},
        {"prefix": "eval", "frame_locals": {"loc": 3, "locals": {"a": [1, [2]], "b": None}, "symbols": "no"}},
        {"prefix": "eval", "symbol_to_sources": {"s0": {"x": 1}}, "expr_node_id": 10**30},
        "text", None, [1],
    ],
)  # fmt: skip
@pytest.mark.parametrize("event", ["guard_added", "propagate_real_tensors_provenance", "guard_on_data_dependent_error"])
def test_odd_records(tmp_path: Path, event: str, fields: Any) -> None:
    log = Log(tmp_path / "x.log").add("expression_created", fields, **NO_ID).add("create_unbacked_symbol", fields, **NO_ID)
    run = log.add(event, fields, **NO_ID).add("missing_fake_kernel", fields, **NO_ID).open()
    document = page(run, "@exports")
    assert len(document) > 3
    assert not [line for line in document.text() if "\x1b" in line or len(line) > 80]


@pytest.mark.parametrize("name", ["torch-2.13/export_draft", "tlparse/export.log"])
def test_truncated_logs(tmp_path: Path, name: str) -> None:
    source = trace(name).models[0].log.path
    data = Path(source).read_bytes()
    for part in range(1, 12):
        path = tmp_path / f"{part}.log"
        path.write_bytes(data[: len(data) * part // 12])
        assert len(page(open_run(discover([str(path)])), "@exports")) > 1


def test_json() -> None:
    document = page(trace("torch-2.13/export_draft"), "@exports")
    found = json.loads(to_json(document.data()))
    assert found["failure_count"] == 4 and found["expression_count"] == 4
    assert found["exports"][0]["failures"][0]["expressions"][0]["user_frame"]["line"] == 12


def test_calls_of_an_operator_in_a_program() -> None:
    program = (
        "class GraphModule(torch.nn.Module):\n    a = torch.ops.demo.f.default(x)\n"
        "    # File: /a b/m.py:3 in forward, code: y = f(x)\n    b: \"f32[u0]\" = torch.ops.demo.f.default(y);  y = None\n"
        "    c = torch.ops.demo.f.default_2(y)\n"
    )
    found = uses_of("demo.f.default", program)
    assert [(use.file, use.line, use.function) for use in found] == [(None, None, None), ("/a b/m.py", 3, "forward")]
    assert found[1].text == 'b: "f32[u0]" = torch.ops.demo.f.default(y)'
