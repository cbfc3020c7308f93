"""The fix below each finding of the first screen: from the guards, or torch's hint."""

from __future__ import annotations

from dataclasses import replace

import pytest
from real import TRACES, demo, fresh, trace

from tltui.model.run import Run
from tltui.model.status import Eager
from tltui.questions.overview import fix_sections
from tltui.questions.overview.fix_sections import INSTRUCTIONS, LABELS, fix_at
from tltui.questions.overview.run_page import _failed, run_document
from tltui.questions.overview.run_summary import summarise
from tltui.questions.recompiles.remedies import REMEDIES
from tltui.text.document import Options


def lines(run: Run, width: int = 100) -> list[str]:
    document = run_document(run, Options(width=width))
    return [line.strip() for line in document.text(0, len(document))]


def test_a_recompiled_function_has_the_change_with_the_largest_effect() -> None:
    run = trace("torch-2.13/recompiles")
    assert fix_at(run, "0/4", "recompiles").startswith("4 → 1 or 2 recompilations with 4 changes: x dim 0 (mark dynamic)")
    assert any(line.startswith("fix: 4 → 1 or 2 recompilations with 4 changes") and line.endswith("…") for line in lines(run))


def test_one_change_is_given_as_code() -> None:
    fix = "1 → 0 recompilations with torch._dynamo.mark_dynamic(x, 0) before the first call"
    assert f"fix: {fix}" in lines(trace("inputs/mlp"))


def test_a_change_that_is_no_line_of_code_is_an_instruction() -> None:
    fix = "8 → 0 or 1 recompilations: pass a value computed from request instead of the string"
    assert fix_at(demo(), "0:4/8", "recompiles") == fix


def test_each_remedy_without_code_has_an_instruction() -> None:
    """Those with code, or with a setting of the environment, are quoted themselves."""
    quoted = {
        "mark dynamic", "mark unbacked", "dynamic sources", "unbacked sources", "dynamic parameters", "no duck sizing",
        "specialize_float", "dynamic attribute",
    }  # fmt: skip
    assert REMEDIES.keys() == INSTRUCTIONS.keys() | quoted | {"nothing to do"}
    assert not INSTRUCTIONS.keys() & quoted


def test_a_graph_break_has_the_hint_of_torch_for_the_users_own_line() -> None:
    run = trace("torch-2.13/breaks")
    assert fix_at(run, "2/0", "break", "Call to `torch._dynamo.graph_break()`") == "Remove the `torch._dynamo.graph_break()` call."
    assert fix_at(run, "2/0", "break", "another reason") == ""
    assert "torch's hint: Remove the `torch._dynamo.graph_break()` call." in lines(run)


def test_a_function_in_eager_mode_has_the_hint_on_its_own_cause() -> None:
    """An error that suppress_errors hid has nothing to do with the graph breaks of its compile."""
    run = trace("torch-2.13/outcomes")
    summary = summarise(list(run.processes()))
    kinds = {}
    for line in summary.eager:
        if not line.recompile_limit_hit:
            [hint] = _failed(replace(summary, errors=(), eager=(line,)))
            kinds[line.eager_reason] = hint.fix, bool(hint.headline)
    assert kinds == {Eager.SKIPPED: ("break", True), Eager.SUPPRESSED: ("failure", False)}


def test_an_error_has_the_hint_of_torch() -> None:
    run = trace("torch-2.13/errors")
    hints = {fix_at(run, str(compile_.ref), "failure") for compile_ in run.compiles()}
    assert any(hint.startswith("Avoid calling builtin `print`") for hint in hints)
    assert not any("Please report" in hint or "may result in an error" in hint for hint in hints)


@pytest.mark.parametrize(("name", "limit"), [("RECOMPILES_READ", 3), ("GUARD_BYTES_READ", 2000)])
def test_very_many_guards_are_not_read(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fresh(TRACES / "torch-2.13" / "recompiles")
    monkeypatch.setattr(fix_sections, name, limit)
    assert fix_at(run, "0/4", "recompiles") == ""


def test_an_error_without_hints_has_the_advice_in_its_message() -> None:
    hint = "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic."
    assert fix_at(demo(), "0:9/0", "failure") == hint
    assert fix_at(demo(), "0:10/0", "failure") == "Consider annotating your code using torch._check*()."


def test_an_address_of_no_compile_has_none() -> None:
    run = trace("torch-2.13/recompiles")
    assert {fix_at(run, ref, kind) for ref in ("@problems", "99/0", "0/4:recompile_reasons") for kind in LABELS} == {""}
