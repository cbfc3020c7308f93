"""Predictions where the guards do not decide the number of recompilations: the expected number, and the condition of another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pages import page
from real import trace
from viewed import text

from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import explained_of, fixed_in
from tltui.questions.recompiles.frame_recompiles import recompiles_of
from tltui.questions.recompiles.guard_comparison import Comparison, Version, compared
from tltui.questions.recompiles.guard_grammar import BOOL, INT, SIZE
from tltui.questions.recompiles.guard_requirements import Property, requirements_in
from tltui.questions.recompiles.guard_table import Call
from tltui.questions.recompiles.predictions import (
    BRANCHES,
    DOUBTS,
    DYNAMIC,
    LAYOUT,
    SKIPPED,
    SPECIALIZED,
    UNBACKED,
    Candidate,
    Simulation,
    other_outcomes,
)
from tltui.questions.recompiles.remedies import CauseFacts
from tltui.questions.trials.changes import Change, FrameCauses, Predictor, _options

KEY = (SIZE, "x", 0)


def calls(**facts: Any) -> list[Call]:
    """Return a first compile and a recompile for another size of x."""
    differing = SimpleNamespace(cause=SIZE, source="x", dim=0, expected="8", actual="6", key=KEY)
    comparison: Any = Comparison(0, (differing,), frozenset(), True)._replace(**facts)  # type: ignore[arg-type]
    return [Call("0/0", (), False, True), Call("0/1", (comparison,), True, True)]


def outcome(frame: list[Call], doubt: str = "", skipped: bool = False) -> tuple[int, int, int, str]:
    return Simulation(frame).outcome({KEY: DYNAMIC}, {KEY: doubt} if doubt else {}, False, skipped)


def test_a_symbol_in_the_call_shows_that_the_size_is_not_specialized() -> None:
    assert outcome(calls(), SPECIALIZED) == (0, 1, 0, SPECIALIZED)
    assert outcome(calls(free=frozenset({KEY})), SPECIALIZED) == (0, 0, 0, "")
    assert outcome(calls(free=frozenset({KEY})), BRANCHES) == (0, 1, 0, BRANCHES)  # a constant in each compile of the log


def test_a_size_that_code_needs_as_a_number_stays_a_cause() -> None:
    assert outcome(calls(needed=frozenset({KEY})), SPECIALIZED) == (1, 1, 1, "")


def test_another_layout_is_expected_to_differ() -> None:
    assert outcome(calls(is_relaid=True)) == (0, 1, 1, LAYOUT)
    assert outcome(calls(), skipped=True) == (0, 0, 0, "")


def test_a_function_that_torch_skipped_is_expected_to_be_skipped_again() -> None:
    assert outcome(calls(needed=frozenset({KEY})), skipped=True) == (0, 1, 0, SKIPPED)


def test_a_branch_on_an_unbacked_size_breaks_the_graph() -> None:
    """`static_cache_decode` of docs/advice-corpus.md: 1 → 0, and a function after the break is recompiled instead."""
    other = (SIZE, "y", 0)
    candidate = Candidate("y dim 0", "unbacked sources", frozenset({other}), DYNAMIC, ((other, UNBACKED),))
    prediction = Simulation(calls()).predict([candidate])
    assert (prediction.fewest, prediction.expected, prediction.most, prediction.condition) == (0, 1, 1, UNBACKED)
    assert not prediction.may_help


def test_equal_sizes_after_a_break_may_have_a_symbol_each() -> None:
    """Torch keeps the dynamic sizes of what a compiled graph returned, here 6 × 6; with `dynamic=True` it recompiled nothing."""
    shown = " ".join(text(page(trace("recompiled/pyg_autoencoder"), "@recompiles")).split())
    assert "Predicted effect: 1 → 0 recompilations (up to 1 if sizes that were equal differ in a call)" in shown


@pytest.mark.parametrize(("numbers", "words"), [
    ((1, 1, 1), ""), ((1, 8, 1), " (up to 8 if C)"), ((1, 8, 8), " (1 to 7 if C)"), ((2, 3, 3), " (2 if C)"),
    ((1, 8, 4), " (1 to 8 if C)"),
])  # fmt: skip
def test_other_outcomes(numbers: tuple[int, int, int], words: str) -> None:
    assert other_outcomes(*numbers, "C") == words
    assert other_outcomes(*numbers) == words.replace(" if C", "").replace("(2)", "(or 2)")


def test_conditions_are_short() -> None:
    assert max(len(f"if {condition}".split()) for condition in DOUBTS.values()) <= 12


def test_the_page_has_the_expected_number_first() -> None:
    shown = " ".join(text(page(trace("torch-2.13/guards"), "@recompiles:0/")).split())
    assert "→ 1 recompilation (up to 5 if your code or torch branches on the value)" in shown


def test_the_specialization_shows_whether_code_needs_the_number() -> None:
    run = trace("recompiled/numpy_signals")
    frame = next(c.frame for c in run.compiles() if c.is_recompile)
    fixed = [fixed_in(compile_)["axis"] for compile_ in frame.compiles if "axis" in fixed_in(compile_)]
    assert fixed and all(each.needs_number for each in fixed)
    became = [change for c in recompiles_of(frame) for change in explained_of(c).became_dynamic if change.source == "axis"]
    assert became and all(change.needs_number for change in became)


def test_a_number_that_equals_another_one_is_not_specialized() -> None:
    """`facts.free` has the source: another index of the same list that becomes dynamic later is not fixed again."""
    facts = CauseFacts(INT, "lengths[0]", None)
    facts.free.add(("0/1", "lengths[0]"))
    reason: Any = SimpleNamespace(earlier="0/1", source="lengths[1]", expected="6", actual="9", cause=INT, settings=())
    facts.add(reason, "0/2")
    assert facts.fixed is None
    facts.add(SimpleNamespace(**vars(reason) | {"source": "lengths[0]"}), "0/3")  # type: ignore[arg-type]
    assert facts.fixed == "0/3" and facts.is_constant
    facts.needs_number = False
    assert not facts.is_constant


def version(*lines: str) -> Version:
    guards = {key: (value, f"+- {line}") for line in lines for key, value in requirements_in(f"+- {line}")}
    return Version(next(iter(trace("torch-2.13/recompiles").compiles())), guards, ({}, {}))


def test_a_guard_that_failed_for_one_version_fails_for_each_version_that_has_it() -> None:
    """The call has no guard on the value itself, so only torch's reason shows that it is another one."""
    guard = "EQUALS_MATCH: kwargs['flag'] == False"
    older, call = version(guard), version("EQUALS_MATCH: n == 2")
    call.changes = {Property(required.VALUE, "kwargs['flag']"): None}
    call.first = older.first
    key = (BOOL, "kwargs['flag']", None)
    unknown = compared(older, call, 0, (), False, {})
    assert not unknown.differences and unknown.unknown == {key}
    failed = compared(older, call, 0, (), False, {}, {(key, "False")})
    assert [difference.key for difference in failed.differences] == [key] and not failed.unknown


def test_options_of_one_remedy_are_one_change() -> None:
    """Each of the two alone has no effect in torch 2.13 (`class_widths` of docs/advice-corpus.md)."""
    names = ("force_parameter_static_shapes", "force_nn_module_property_static_shapes")
    code = tuple(f"torch._dynamo.config.{name} = False" for name in names)
    cause: Any = SimpleNamespace(
        cause=SIZE, source="self._parameters['weight']", dim=0, sources=(), dynamic_in=None, fixed_again_in=None, is_constant=False,
        remedy="dynamic parameters", code=code,
    )  # fmt: skip
    (change,) = _options([cause])
    assert change.title == "; ".join(code) and [name for name, _ in change.config] == [f"torch._dynamo.config.{n}" for n in names]


def test_sizes_of_parameters_stay_static_with_dynamic_true() -> None:
    differing = SimpleNamespace(cause=SIZE, source="self._parameters['w']", dim=0, expected="8", actual="6",
                                key=(SIZE, "self._parameters['w']", 0))  # fmt: skip
    frame = calls()
    frame[1] = Call("0/1", (Comparison(0, (differing,), frozenset(), True),), True, True)  # type: ignore[arg-type]
    change = Change("torch.compile(dynamic=True)", effects=((SIZE, "", DYNAMIC),))
    assert Predictor([FrameCauses((), frame)]).predicted(change).predicted == (1, 1)
