"""The fix below each finding of the first screen: from the guards, or torch's hint."""

from __future__ import annotations

from dataclasses import replace

import pytest
from real import TRACES, demo, fresh, trace

from tltui.model.run import Run
from tltui.model.status import Eager
from tltui.questions.overview import fix_sections
from tltui.questions.overview.fix_sections import INSTRUCTIONS, LABELS, NO_FIX, Fix, fix_at, fix_lines
from tltui.questions.overview.run_page import _failed, run_document
from tltui.questions.overview.run_summary import summarise
from tltui.questions.recompiles.remedies import REMEDIES
from tltui.text.document import Options


def lines(run: Run, width: int = 100) -> list[str]:
    document = run_document(run, Options(width=width))
    return [line.strip() for line in document.text(0, len(document))]


def test_a_recompiled_function_has_the_change_with_the_largest_effect() -> None:
    run = trace("torch-2.13/recompiles")
    fix = fix_at(run, "0/4", "recompiles")
    assert fix.advice.startswith("Make 4 changes: x dim 0 (mark dynamic)") and not fix.has_code
    assert fix.effect == "predicted: 4 → 1 recompilation (up to 2)"


def test_one_change_is_given_as_code() -> None:
    fix = "Call torch._dynamo.mark_dynamic(x, 0) before the first call; predicted: 1 → 0 recompilations"
    assert f"fix: {fix}" in lines(trace("inputs/mlp"), 120)


def test_a_change_that_is_no_line_of_code_is_an_instruction() -> None:
    advice = "Pass a value computed from request instead of the string"
    assert fix_at(demo(), "0:4/8", "recompiles") == Fix(advice, "predicted: 8 → 0 recompilations (up to 1)")


def test_a_fix_takes_two_lines_at_most_and_its_effect_is_never_cut() -> None:
    for ascii_, arrow in ((False, "→"), (True, "->")):
        document = run_document(trace("torch-2.13/recompiles"), Options(width=80, ascii=ascii_))
        shown = list(document.text(0, len(document)))
        first = next(number for number, line in enumerate(shown) if "fix: " in line)
        assert shown[first].lstrip().startswith("fix: Make 4 changes: x dim 0 (mark dynamic)")
        assert shown[first + 1].endswith(f"predicted: 4 {arrow} 1 recompilation (up to 2)")
        assert shown[first + 2].lstrip().startswith("Compile ids:")
        assert max(map(len, shown)) <= 80


def test_of_a_set_of_changes_those_without_room_are_counted() -> None:
    run = trace("torch-2.13/reasons")
    names = fix_at(run, "3/1", "recompiles").changes
    assert len(names) == 6 and all(name.endswith(")") for name in names)
    for width in range(60, 200):
        shown = fix_lines(fix_at(run, "3/1", "recompiles"), width)
        text = " ".join(shown)
        effect = " more → recompiles; predicted: 6 → 1 recompilation (0 to 2)"
        listed, more = text.replace("(0 to", "").count("("), text.count(effect)
        assert len(shown) <= 2 and max(map(len, shown)) <= width and "…" not in text
        assert all(name in text for name in names[:listed]) and (listed == 6 or (more == 1 and f"{6 - listed} more" in text))
    document = run_document(trace("torch-2.13/recompiles"), Options(width=80))
    line = next(line for line in map(document.line, range(len(document))) if "and 2 more → recompiles; predicted:" in line.text)
    assert [(line.text[link.start : link.end], link.target) for link in line.links] == [("more → recompiles", "@recompiles:0/")]


def test_the_first_change_is_clipped_rather_than_left_out() -> None:
    fix = fix_at(trace("recompiled/activation_factories"), "0/8", "recompiles")
    assert fix.changes[0] == "activation.__closure__[0].cell_contents (dynamic=True)"
    for width in range(62, 100):
        first, second = fix_lines(fix, width)
        assert first.startswith("Make 2 changes: activation.") and "(dynamic=True)" in first and len(first) <= width >= len(second)


def test_what_to_do_with_the_first_value_is_left_out_rather_than_clipped() -> None:
    changes = ("x dim 0 (mark dynamic)", "tensor rank of x (reshape)", "tensor dtype of x (one dtype)", "requires_grad (one value)")
    fix = Fix(f"Make 4 changes: {', '.join(changes)}", "predicted: 4 → 1 recompilation (up to 2)", changes=changes)
    assert fix_lines(fix, 58) == ["Make 4 changes: x dim 0 and 3 more → recompiles;", "predicted: 4 → 1 recompilation (up to 2)"]


def test_a_set_without_room_for_any_change_is_not_read_as_further_changes() -> None:
    changes = ("self.calls (dynamic attribute)", "tensor stride of x dim 0 (contiguous)")
    fix = Fix(f"Make 2 changes: {changes[0]}, {changes[1]}", "predicted: 6 → 3 recompilations (up to 6)", changes=changes)
    assert fix_lines(fix, 44) == ["Make 2 changes: more → recompiles;", "predicted: 6 → 3 recompilations (up to 6)"]


@pytest.mark.parametrize("room", [20, 60, 90, 400])
def test_code_of_a_fix_can_be_copied_at_any_width(room: int) -> None:
    """One line has it whole: a break or a cut in the middle would make another command of it."""
    code = "TORCH_COMPILE_DYNAMIC_SOURCES='" + ",".join(rf"L\['x{n}'\]$" for n in range(9)) + "'"
    fix = Fix(f"Set {code} for the job", "predicted: 3 → 0 recompilations", has_code=True)
    shown = fix_lines(fix, room)
    assert shown == [f"{fix.advice};", fix.effect] or shown == [f"{fix.advice}; {fix.effect}"]
    assert fix_lines(fix._replace(has_code=False), 60)[-1].endswith(f"; {fix.effect}")


def test_the_effect_has_a_line_of_its_own_where_the_advice_fills_the_first() -> None:
    effect = "predicted: 8 → 0 recompilations (up to 1 if sizes differ)"
    fix = Fix("Pass a value computed from request instead of the string", effect)
    assert fix_lines(fix, 58) == [f"{fix.advice};", effect]
    assert fix_lines(fix, 57)[1].startswith("predicted: 8 → 0 recompilations")


def test_sources_are_a_variable_for_the_job() -> None:
    fix = fix_at(trace("torch-2.13/remedies"), "59/1", "recompiles")
    assert fix.advice.startswith("Set TORCH_COMPILE_DYNAMIC_SOURCES=") and fix.advice.endswith("$' for the job")
    assert fix.has_code and fix.effect == "predicted: 1 → 0 recompilations"


def test_the_verb_fits_the_code() -> None:
    remedies, reasons = trace("torch-2.13/remedies"), trace("torch-2.13/reasons")
    assert fix_at(remedies, "26/1", "recompiles").advice.startswith("Set torch._dynamo.config.specialize_float = False before")
    assert fix_at(remedies, "6/1", "recompiles").advice.startswith("Call torch._dynamo.decorators.mark_unbacked(x, 0) before")
    assert fix_at(reasons, "16/1", "recompiles").advice.startswith("Run import torch.fx.experimental._config; torch.")
    assert fix_at(reasons, "14/1", "recompiles").advice == "Use torch.compile(dynamic=True)"


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
    hint = "Remove the `torch._dynamo.graph_break()` call."
    assert fix_at(run, "2/0", "break", "Call to `torch._dynamo.graph_break()`") == Fix(hint)
    assert fix_at(run, "2/0", "break", "another reason") == NO_FIX
    assert f"torch's hint: {hint}" in lines(run)


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
    hints = {fix_at(run, str(compile_.ref), "failure").advice for compile_ in run.compiles()}
    assert any(hint.startswith("Avoid calling builtin `print`") for hint in hints)
    assert not any("Please report" in hint or "may result in an error" in hint for hint in hints)


@pytest.mark.parametrize(("name", "limit"), [("RECOMPILES_READ", 3), ("GUARD_BYTES_READ", 2000)])
def test_very_many_guards_are_not_read(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fresh(TRACES / "torch-2.13" / "recompiles")
    monkeypatch.setattr(fix_sections, name, limit)
    assert fix_at(run, "0/4", "recompiles") == NO_FIX


def test_an_error_without_hints_has_the_advice_in_its_message() -> None:
    hint = "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic."
    assert fix_at(demo(), "0:9/0", "failure") == Fix(hint)
    assert fix_at(demo(), "0:10/0", "failure") == Fix("Consider annotating your code using torch._check*().")


def test_an_address_of_no_compile_has_none() -> None:
    run = trace("torch-2.13/recompiles")
    assert {fix_at(run, ref, kind) for ref in ("@problems", "99/0", "0/4:recompile_reasons") for kind in LABELS} == {NO_FIX}
