"""Predictions of torch.compile(dynamic=True): sizes that share a symbol, and values that torch specializes again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.equal_sizes import Equal, _by_value, _fresh, _shared, _sizes_in
from tltui.questions.recompiles.guard_comparison import Comparison
from tltui.questions.recompiles.guard_grammar import CONDITION, FLOAT, INT, SIZE, STRIDE
from tltui.questions.recompiles.guard_requirements import Property, numbers_removed
from tltui.questions.recompiles.guard_table import Call
from tltui.questions.recompiles.predictions import BRANCHES, DYNAMIC
from tltui.questions.trials.changes import Change, FrameCauses, Predictor

ALL = Change("torch.compile(dynamic=True)", effects=((SIZE, "", DYNAMIC), (FLOAT, "", DYNAMIC)))


def difference(cause: str, source: str, dim: int | None, expected: str, actual: str) -> Any:
    return SimpleNamespace(cause=cause, source=source, dim=dim, expected=expected, actual=actual, key=(cause, source, dim))


def calls(*differences: Any) -> list[Call]:
    return [Call("0/0", (), False, True), Call("0/1", (Comparison(0, differences, frozenset(), True),), True, True)]


def size(source: str, dim: int) -> tuple[str, str]:
    return (source, str(dim))


@pytest.mark.parametrize(("sizes", "shared"), [
    ({size("x", 0): "8", size("x", 1): "3"}, []),
    ({size("x", 0): "8", size("x", 1): "8"}, [(SIZE, "x", 0)]),  # a batch of 8 rows of 8 columns
    ({size("x", 0): "8", size("y", 0): "8"}, []),  # both have the batch size
    ({size("x", 0): "8", size("y", 1): required.ANY}, []),
])  # fmt: skip
def test_a_size_that_equals_one_that_does_not_vary_with_it(sizes: dict[tuple[str, str], str], shared: list[object]) -> None:
    differences = (difference(SIZE, "x", 0, "8", "6"), difference(SIZE, "y", 0, "8", "6"))
    compared = Comparison(0, differences[: 1 + (size("y", 0) in sizes)], frozenset(), True)
    assert sorted(set(_shared(compared, _by_value(sizes)))) == shared


def test_sizes_of_parameters_stay_static() -> None:
    changes: Any = {Property(required.SIZE, "self._parameters['weight']", "0"): "8", Property(required.SIZE, "x", "1"): "4"}
    assert _by_value(_sizes_in({size("x", 0): "8"}, changes)) == {"8": [size("x", 0)], "4": [size("x", 1)]}


@pytest.mark.parametrize(("equal", "predicted"), [
    (None, (0, 0)),
    (Equal(frozenset({(SIZE, "x", 0)}), frozenset()), (1, 1)),
    (Equal(frozenset(), frozenset({(SIZE, "x", 0)})), (0, 1)),  # a call that the log does not have may divide them
])  # fmt: skip
def test_a_shared_symbol_needs_another_version(equal: Equal | None, predicted: tuple[int, int]) -> None:
    frame = calls(difference(SIZE, "x", 0, "8", "6"))
    sizes = {("0/1", 0): equal} if equal is not None else {}
    assert Predictor([FrameCauses((), frame, sizes)]).predicted(ALL).predicted == predicted


def test_a_size_that_had_changed_has_a_symbol_of_its_own() -> None:
    first, later = (difference(SIZE, "x", 1, "8", "1"), difference(SIZE, "x", 0, "6", "4"))
    comparisons = (Comparison(1, (later,), frozenset(), True), Comparison(0, (first,), frozenset(), True))
    frame = [*calls(first), Call("0/2", comparisons, True, True)]
    sizes = {("0/2", 1): Equal(frozenset({(SIZE, "x", 0)}), frozenset())}
    assert Predictor([FrameCauses((), frame, sizes)]).predicted(ALL).predicted == (1, 2)


def test_a_size_that_a_version_has_first_may_share_a_symbol_with_a_constant_size() -> None:
    """`replay_memory` of tests/live/corpus: with dynamic=True a mask of 4 rows gets the symbol of a width of 4, which is fixed."""
    groups = {"4": [size("mask", 0), size("x", 1), size("x", 0)]}
    older = [{size("x", 1): "4", size("x", 0): "2"}]
    mask = frozenset({(SIZE, "mask", 0)})
    assert set(_fresh(mask, groups, older)) == mask
    assert not set(_fresh(mask, groups, [{size("x", 1): "5", size("x", 0): "2"}]))  # each had changed, and has a symbol
    assert not set(_fresh(mask, groups, [*older, {size("mask", 0): "3"}]))
    absent = difference("type", "mask", None, "NoneType", "Tensor")
    grown = Comparison(1, (difference(SIZE, "mask", 0, "4", "6"),), frozenset(), True)
    frame = [*calls(absent), Call("0/2", (grown,), True, True)]
    sizes = {("0/2", 1): Equal(mask, frozenset(), mask)}
    ends = [Predictor([FrameCauses((), frame, each)]).predicted(ALL).predicted for each in (sizes, {})]
    assert ends == [(2, 2), (1, 1)]


def test_a_condition_of_the_call_that_the_older_version_would_not_meet() -> None:
    differences = (difference(SIZE, "x", 0, "8", "9"), difference(SIZE, "x", 1, "3", "4"))
    branch = (frozenset({(SIZE, "x", 0)}),)
    frame = calls()
    frame[1] = Call("0/1", (Comparison(0, differences, frozenset(), True, branch),), True, True)
    assert Predictor([FrameCauses((), frame)]).predicted(ALL).predicted == (1, 1)
    relaid = Comparison(0, differences, frozenset(), True, relaid=frozenset({(STRIDE, "x", 0)}))
    frame[1] = Call("0/1", (relaid,), True, True)
    assert Predictor([FrameCauses((), frame)]).predicted(ALL).predicted == (0, 1)


def test_conditions_of_versions_that_one_serves_are_its_own() -> None:
    grown, failed = difference(SIZE, "x", 0, "8", "9"), difference(CONDITION, "x", None, "x % 2 == 0", "9")
    even = Call("0/1", (Comparison(0, (difference(SIZE, "x", 0, "8", "10"),), frozenset(), True),), True, True)
    odd = Call("0/2", (Comparison(1, (failed,), frozenset(), True), Comparison(0, (grown,), frozenset(), True)), True, True)
    assert Predictor([FrameCauses((), [calls()[0], even, odd])]).predicted(ALL).predicted == (1, 1)


def test_no_prediction_with_an_option_that_removes_breaks() -> None:
    option = Change("", config=(("torch._dynamo.config.capture_scalar_outputs", True),))
    predictor = Predictor([FrameCauses((), calls(difference(SIZE, "x", 0, "8", "6")))])
    assert predictor.predicted(ALL).predicted == (0, 0) and predictor.predicted(ALL + option).predicted is None


def test_what_comes_after_a_break_may_never_be_compiled() -> None:
    frame = calls(difference("type", "x", None, "int", "str"))
    assert Predictor([FrameCauses((), frame, may_end=True)]).predicted(ALL).predicted == (0, 1)


def test_a_float_that_torch_specializes_again_may_stay_a_cause() -> None:
    cause: Any = SimpleNamespace(cause=FLOAT, source="scale", dim=None, sources=(), fixed_again_in="0/1", is_constant=False)
    frame = calls(difference(FLOAT, "scale", None, "1.0", "2.0"))
    assert Predictor([FrameCauses((), frame)]).predicted(ALL).predicted == (0, 0)
    assert Predictor([FrameCauses((cause,), frame)]).predicted(ALL).predicted == (0, 1)


def test_a_number_that_was_always_a_constant_may_have_a_bound() -> None:
    """Called with 5 and 1, `x[None].expand(n, -1)` is recompiled with dynamic=True, and `x * n` is not (torch 2.13)."""
    cause: Any = SimpleNamespace(
        cause=INT, source="n", dim=None, sources=(), fixed_again_in=None, is_constant=False, dynamic_in=None
    )
    change = Change("torch.compile(dynamic=True)", effects=((INT, "", DYNAMIC),))
    frame = calls(difference(INT, "n", None, "5", "1"))
    predicted = Predictor([FrameCauses((cause,), frame)]).predicted(change)
    assert (predicted.predicted, predicted.expected, predicted.condition) == ((0, 1), 0, BRANCHES)
    cause.dynamic_in = "0/1"
    assert Predictor([FrameCauses((cause,), frame)]).predicted(change).predicted == (0, 0)


def test_no_prediction_where_a_break_returns_a_float() -> None:
    frame = calls(difference(FLOAT, "___stack0", None, "1.5", "2.5"))
    assert Predictor([FrameCauses((), frame)]).predicted(ALL).predicted is None


@pytest.mark.parametrize(("text", "without"), [
    ("G['___unnamed_scope_140649515523712_c1']['f']", "G['___unnamed_scope_140649515523712']['f']"),
    ("G['_139964437645648_c3'].Tensor", "G['_139964437645648'].Tensor"),
    ("G['__builtins_dict___12']['print']", "G['__builtins_dict__']['print']"),
    ("L['x_1_c2']", "L['x_1_c2']"),
])  # fmt: skip
def test_globals_that_dynamo_numbers_have_one_name(text: str, without: str) -> None:
    assert numbers_removed(text) == without
