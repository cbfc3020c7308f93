"""Predictions where the guards do not decide the number of recompilations: the expected number, and the condition of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from make_trace import record, start, write
from pages import page
from real import fresh, trace
from viewed import text

from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import explained_of, fixed_in
from tltui.questions.recompiles.frame_recompiles import recompiles_of
from tltui.questions.recompiles.guard_comparison import (
    Comparison,
    Version,
    _specialized_by,
    compared,
    distinct_values,
    strides_for,
)
from tltui.questions.recompiles.guard_grammar import BOOL, CONDITION, FLOAT, GRAD, INT, LENGTH, RANK, SIZE, STRIDE
from tltui.questions.recompiles.guard_requirements import Property, requirements_in
from tltui.questions.recompiles.guard_table import Call, _alike, _parameters, returned_sizes, varying_views
from tltui.questions.recompiles.predictions import (
    AFTER_LIMIT,
    BRANCHED,
    BRANCHES,
    DOUBTS,
    DYNAMIC,
    LAYOUT,
    LIMIT,
    OTHER_VIEWS,
    REFUSED,
    REMOVED,
    RESHAPED,
    RESPECIALIZED,
    SKIPPED,
    SPECIALIZED,
    STRIDES,
    UNBACKED,
    VIEWS,
    Candidate,
    Prediction,
    Simulation,
    _with_both,
    has_unseen_floats,
    other_outcomes,
)
from tltui.questions.recompiles.remedies import Advice, CauseFacts, Settings, advice_for
from tltui.questions.recompiles.variations import _add_equal_sizes, _candidates, _doubt, _marked_once, _removed
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
    assert outcome(calls(relaid=frozenset({(STRIDE, "x", 0)}))) == (0, 1, 1, LAYOUT)
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


def both(older: list[str], call: list[str]) -> Comparison:
    """Compare a call with an older version, each given by the lines of its guards."""
    return compared(*versions(older, call), 0, (), False, {})


def versions(*trees: list[str]) -> list[Version]:
    """Return versions, each given by the lines of its guards."""
    compile_ = next(iter(trace("torch-2.13/recompiles").compiles()))
    return [
        Version(compile_, {}, ({key: value for key, (value, _) in tree.items()}, {key: line for key, (_, line) in tree.items()}))
        for tree in (version(*lines).first for lines in trees)
    ]


def test_an_added_key_is_expected_to_have_a_tensor_of_its_own() -> None:
    """`kwargs_keys` of docs/advice-corpus.md: with equal keys, the call with one tensor twice needs a version of its own."""
    tensor = "ValueManager: GuardManager: source=d['{}'], accessed_by=X, type=<class 'torch.Tensor'>, tag_safe=(True, False)"
    alone = ["DICT_LENGTH: len(d) == 1", tensor.format("a")]
    twice = ["DICT_LENGTH: len(d) == 2", tensor.format("a"), tensor.format("b"), "DUPLICATE_INPUT: d['a'] is d['b']"]
    length = (LENGTH, "d", None)
    assert both(alone, twice).aliased == both(twice, alone).aliased == {length}
    assert not both([*alone, tensor.format("b")], twice).aliased and not both(twice, twice).aliased
    frame = [Call("0/0", (), False, True), Call("0/1", (both(alone, twice),), True, True)]
    predicted = Simulation(frame).predict([Candidate("length of d", "same keys", frozenset({length}), REMOVED)])
    assert (predicted.fewest, predicted.expected, predicted.most) == (0, 1, 1)


def test_a_call_at_the_limit_is_expected_to_differ_from_all_versions_alike() -> None:
    """`layer_index` of docs/advice-corpus.md: torch names requires_grad for one version, and the number for all others."""
    key = (INT, "n", None)
    older = [version(f"EQUALS_MATCH: n == {n}", "EQUALS_MATCH: depth == 3") for n in range(3)]
    for each in older:
        each.changes = {name: value for name, (value, _) in each.first.items()}
    call = version()
    call.changes = None
    distinct = distinct_values(older)
    assert distinct == (Property(required.VALUE, "n"),)
    assert not distinct_values(older[:2]) and not distinct_values([*older, older[0]])
    assert compared(older[0], call, 0, (), False, {}, (), distinct).likely == {key}
    other: Any = SimpleNamespace(cause=GRAD, source="x", dim=None, expected="no", actual="yes", key=(GRAD, "x", None))
    frame = [
        Call("0/0", (), False, True),
        Call("0/1", (Comparison(0, (other,), frozenset(), False, likely=frozenset({key})),), True, True),
    ]
    one_value = Candidate("x", "one value", frozenset({other.key}), REMOVED)
    assert Simulation(frame).outcome(dict.fromkeys(one_value.keys, REMOVED), {}, False) == (0, 1, 1, LIMIT)


def test_equal_sizes_have_the_bound_of_two_together() -> None:
    """`token_buckets` of docs/advice-corpus.md: with the size of one tensor unbacked, the other one has the bound alone."""
    tensor = (
        "TENSOR_MATCH: check_tensor({}, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, "
        "size=[{}], stride=[1])"
    )
    bound = "LAMBDA_GUARD: 2 <= ids.size()[0]"
    equal = "LAMBDA_GUARD: mask.size()[0] == ids.size()[0]"
    one = [tensor.format("ids", "1"), tensor.format("mask", "1")]
    free = [tensor.format("ids", "None"), tensor.format("mask", "None"), bound]
    ids, mask = (CONDITION, "ids", 0), (CONDITION, "mask", 0)
    assert [d.key for d in both(free, one).differences] == [ids]
    assert [d.key for d in both([*free, equal], one).differences] == [ids, mask]


def test_a_number_that_decides_a_branch_is_expected_to_need_a_version_for_each_side() -> None:
    """`observer_steps` of docs/advice-corpus.md: the third call also sets an attribute, which the first two do not touch."""
    calls_are, sets = "EQUALS_MATCH: self.calls == {}", "DICT_CONTAINS: not ___dict_contains('enabled', self._buffers)"
    assert both([calls_are.format(1)], [calls_are.format(2), sets]).is_branched
    assert not both([calls_are.format(1)], [calls_are.format(2)]).is_branched
    assert outcome(calls(is_branched=True)) == (0, 1, 1, BRANCHED)


def test_a_number_that_is_dynamic_explains_no_other_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    """`growing_generator` of tests/live/corpus: a depth, a constant, adds layers; the heads of `layer_plans` are dynamic."""
    monkeypatch.setattr(Version, "hint", lambda _, source: {"share": "0.25"}.get(source, ""))
    depth, share = "EQUALS_MATCH: depth == {}", "EQUALS_MATCH: share == 1.0"
    layer = "DICT_CONTAINS: not ___dict_contains('a', self.b)"
    assert not both([depth.format(0), share], [depth.format(1)]).is_branched
    assert both([depth.format(0), share], [depth.format(1), layer]).is_branched
    assert not both([depth.format(0), share], [depth.format(0), layer]).is_branched


def test_versions_with_other_operations_traced_another_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tagger_pipeline` of tests/live/corpus: an even number of steps is printed, which breaks the graph."""
    even, odd = versions(*([f"EQUALS_MATCH: L['self'].steps == {n}"] for n in (2, 3)))
    assert not compared(even, odd, 0, (), False, {}).is_branched
    monkeypatch.setattr(odd, "compile_", SimpleNamespace(facts=SimpleNamespace(graph_op_count=1)))
    for name in ("fixed_in", "symbols_of"):
        monkeypatch.setattr(f"tltui.questions.recompiles.guard_comparison.{name}", lambda _: {})
    assert compared(even, odd, 0, (), False, {}).is_branched


def test_an_entry_for_unbacked_sizes_is_about_all_tensors_that_it_names() -> None:
    """`static_cache_decode` of docs/advice-corpus.md: the printed variable names all tensors that became dynamic together."""
    facts = CauseFacts(SIZE, "cache.keys", 0)
    facts.co_dynamic = (("cache.values", 0),)
    keys = frozenset({(SIZE, "cache.keys", 0)})
    every = keys | {(SIZE, "cache.values", 0), (SIZE, "token", 0)}
    assert _removed(facts, "unbacked sources", keys, every) == every - {(SIZE, "token", 0)}


def test_many_constant_floats_leave_open_which_float_stays_dynamic() -> None:
    """`controlnet_scales` of docs/advice-corpus.md: with dynamic=True torch specialized a float under the name of another one."""
    keys = [(FLOAT, "strength", None)]
    assert not has_unseen_floats(keys, 3) and has_unseen_floats(keys, 40) and not has_unseen_floats([KEY], 40)
    change = Change("torch.compile(dynamic=True)", effects=((SIZE, "", DYNAMIC), (FLOAT, "", DYNAMIC)))
    frame = calls()
    frame[1].comparisons[0].differences[0].__dict__.update(cause=FLOAT, source="strength", dim=None, key=keys[0])
    few, many = (Predictor([FrameCauses((), frame, constant_floats=n)]).predicted(change).predicted for n in (3, 40))
    assert few == (0, 0) and many is None


def test_after_the_limit_each_call_may_have_another_number() -> None:
    """`muon_optimizer` of docs/advice-corpus.md: fewer versions leave room for those of calls that torch refused."""
    rate: Any = SimpleNamespace(cause=FLOAT, source="lr", dim=None, expected="0.1", actual="", key=(FLOAT, "lr", None))
    size: Any = SimpleNamespace(cause=SIZE, source="x", dim=0, expected="8", actual="6", key=KEY)
    refused = [Comparison(n, (rate,), frozenset(), False) for n in range(2)]
    frame = [Call("0/0", (), False, True), Call("0/1", (Comparison(0, (size,), frozenset(), True),), True, True)]
    at_limit = [*frame, Call("0/2", tuple(refused), True, True, is_at_limit=True)]
    assert Simulation(at_limit).outcome({KEY: DYNAMIC}, {}, False) == (1, 2, 2, AFTER_LIMIT)
    removed = Simulation(at_limit).outcome({KEY: DYNAMIC, rate.key: REMOVED}, {}, False)
    assert removed[:3] == (0, 1, 0)  # the refused call is served, and so are those like it
    grad: Any = SimpleNamespace(cause=GRAD, source="x", dim=None, expected="no", actual="yes", key=(GRAD, "x", None))
    other = at_limit[2]._replace(comparisons=tuple(Comparison(n, (grad,), frozenset(), False) for n in range(2)))
    assert Simulation([*frame, other]).outcome({KEY: DYNAMIC}, {}, False) == (1, 2, 1, REFUSED)
    assert Simulation([*frame, at_limit[2]._replace(is_at_limit=False)]).outcome({KEY: DYNAMIC}, {}, False)[:3] == (1, 1, 1)


def test_an_argument_that_is_a_parameter_has_static_sizes() -> None:
    """Torch takes the class of the tensor, wherever it comes from (force_parameter_static_shapes)."""
    change = Change("torch.compile(dynamic=True)", effects=((SIZE, "", DYNAMIC),))
    static, free = (
        Predictor([FrameCauses((), calls(), parameters=frozenset(names))]).predicted(change).predicted for names in (["x"], [])
    )
    assert static == (1, 1) and free == (0, 0)
    tensor = (
        "TENSOR_MATCH: check_tensor({}, {}, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, "
        "size=[2], stride=[1])"
    )
    assert _parameters([version(tensor.format("p", "Parameter"), tensor.format("x", "Tensor"))]) == {"p"}


def test_a_version_for_a_view_serves_no_other_tensor_with_dynamic_true() -> None:
    """`torchrl_exploration` of docs/advice-corpus.md: it guards on the size of the tensor behind the view."""
    frame = calls(is_same_code=True)
    viewed = [frame[0]._replace(views=frozenset({"x"})), frame[1]]
    assert Simulation(viewed).outcome({KEY: DYNAMIC}, {}, True) == (0, 1, 1, VIEWS)
    assert Simulation(viewed).outcome({KEY: DYNAMIC}, {}, False)[:3] == (0, 0, 0)  # a mark does not make that size dynamic
    other = [frame[0]._replace(views=frozenset({"y"})), frame[1]._replace(views=frozenset({"y"}))]
    assert Simulation(other).outcome({KEY: DYNAMIC}, {}, True) == (0, 1, 0, OTHER_VIEWS)


def test_views_are_read_from_the_descriptions_of_tensors(tmp_path: Path) -> None:
    def described(number: int, is_view: bool) -> bytes:
        ids = {"frame": 0, "compile": number, "attempt": 0}
        tensor = {"id": 3, "describer_id": number, **({"is_view": True} if is_view else {})}
        source = {"describer_id": number, "id": 3, "source": "L['x']"}
        return start("f", **ids) + record("describe_tensor", tensor, **ids) + record("describe_source", source, **ids)

    run = fresh(write(tmp_path, described(0, True) + described(1, False)))
    compiles = sorted((c for c in run.compiles() if c.is_compile), key=lambda c: c.id.compile or 0)
    assert varying_views(compiles) == [{"x"}, set()] and varying_views(compiles[:1]) == [set()]


def test_tensors_of_other_sizes_stay_different_after_a_reshape() -> None:
    """`muon_optimizer` of docs/advice-corpus.md: a matrix and a bias, both flattened."""
    tensor = "TENSOR_MATCH: check_tensor(p, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, {})"
    matrix, row = [tensor.format("size=[4, 8], stride=[8, 1]")], [tensor.format("size=[32], stride=[1]")]
    bias = [tensor.format("size=[8], stride=[1]")]
    rank = (RANK, "p", None)
    assert both(matrix, bias).reshaped == {rank} and not both(matrix, row).reshaped
    frame = [Call("0/0", (), False, True), Call("0/1", (both(matrix, bias),), True, True)]
    assert Simulation(frame).outcome({rank: REMOVED}, {}, False) == (0, 1, 1, RESHAPED)


def test_a_symbolic_stride_that_sizes_do_not_explain_needs_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """`scale(x)`, then `scale(x[:, ::2])`: with mark_dynamic(x, 1) before both calls torch compiles twice."""
    hints = {"x.size()[1]": "2", "x.stride()[1]": "2"}
    monkeypatch.setattr(Version, "hint", lambda _, source: hints.get(source, ""))
    tensor = "TENSOR_MATCH: check_tensor(x, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, {})"
    whole, columns = [tensor.format("size=[4, 4], stride=[4, 1]")], [tensor.format("size=[4, None], stride=[None, None]")]
    assert both(whole, columns).relaid
    hints["x.stride()[1]"] = "1"
    assert not both(whole, columns).relaid


@pytest.mark.parametrize(
    ("shape", "new_shape", "expected"),
    [
        (((4, 4), (4, 1)), ((4, 6), (6, 1)), [6, 1]),  # whole rows
        (((4, 4), (1, 4)), ((4, 6), (6, 1)), [1, 4]),  # columns: another layout
        (((4, 4), (8, 1)), ((4, 4), (12, 1)), [None, 1]),  # a part of each row: the stride is a symbol
        (((4, 4), (8, 1)), ((4, 4), (1, 4)), [8, 1]),  # a symbol is 2 or more
        (((2, 3, 4, 4), (48, 1, 12, 3)), ((2, 3, 6, 6), (108, 36, 6, 1)), [108, 1, 18, 3]),  # channels last, then first
        (((1, 1, 8), (40, 8, 1)), ((1, 1, 8), (8, 8, 1)), [None, 8, 1]),
    ],
)
def test_strides_follow_from_sizes_as_torch_computes_them(
    shape: tuple[Sequence[int], Sequence[int]], new_shape: tuple[Sequence[int], Sequence[int]], expected: list[int | None]
) -> None:
    assert strides_for(*new_shape, *shape) == expected


def test_another_layout_of_equal_sizes_stays_different_with_dynamic_sizes() -> None:
    """`image_layouts` of tests/live/corpus: contiguous images, then channels last."""
    tensor = "TENSOR_MATCH: check_tensor(x, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, {})"
    first, last, crop, row = ([tensor.format(f"size=[{rows}, 4], stride={strides}")] for rows, strides in (
        (4, [4, 1]), (4, [1, 4]), (4, [8, 1]), (1, [8, 1])
    ))  # fmt: skip
    stride = (STRIDE, "x", 0)
    assert both(first, last).laid == {stride} and both(crop, first).relaid == {stride} and both(first, row).loose == {stride}
    pair = both(first, last)
    frame = [Call("0/0", (), False, True), Call("0/1", (pair,), True, True)]
    assert Simulation(frame).outcome({KEY: DYNAMIC, stride: DYNAMIC}, {stride: STRIDES}, False)[:3] == (1, 1, 1)
    assert Simulation(frame).outcome({KEY: REMOVED, stride: REMOVED}, {stride: STRIDES}, False)[:3] == (1, 1, 1)  # unbacked
    contiguous = _removed(CauseFacts(STRIDE, "x", 1), "contiguous", frozenset({(STRIDE, "x", 1)}), frozenset())
    assert stride in contiguous and Simulation(frame).outcome(dict.fromkeys(contiguous, REMOVED), {}, False)[:3] == (0, 0, 0)


def test_a_size_that_one_compile_specialized_is_expected_to_need_a_version() -> None:
    """`packed_documents` of tests/live/corpus; in `padded_attention` the size of the mask was the reason, which has a mark too."""
    mask = (SIZE, "mask", 1)
    alone, equal = calls(specialized=((KEY, frozenset()),)), calls(specialized=((KEY, frozenset({mask})),))
    assert outcome(alone) == (0, 1, 1, RESPECIALIZED)
    assert Simulation(equal).outcome({KEY: DYNAMIC}, {}, False) == (0, 1, 1, RESPECIALIZED)
    assert Simulation(equal).outcome({KEY: DYNAMIC, mask: DYNAMIC}, {}, False)[:3] == (0, 0, 0)


def test_a_specialized_size_has_the_constants_that_equal_it(tmp_path: Path) -> None:
    ids = {"frame": 0, "compile": 0, "attempt": 0}
    fixed = {"symbol": "s0", "sources": ["L['x'].size()[0]"], "value": "8", "reason": "range_refined_to_singleton", "stack": []}
    log = write(tmp_path, start("f", **ids) + record("symbolic_shape_specialization", fixed, **ids))
    [compile_] = fresh(log).compiles()
    tensor = "TENSOR_MATCH: check_tensor({}, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, {})"
    tree = version(tensor.format("x", "size=[8], stride=[1]"), tensor.format("y", "size=[8, 4], stride=[4, 1]")).first
    specialized = Version(compile_, tree, ({}, {}))
    assert dict(_specialized_by([KEY], [specialized])) == {KEY: {(SIZE, "y", 0)}}


def test_a_view_of_another_branch_serves_no_plain_tensor_anyway() -> None:
    key = (CONDITION, "x", 0)
    failed: Any = SimpleNamespace(cause=CONDITION, source="x", dim=0, expected="x.size()[0] <= 7", actual="8", key=key)
    frame = calls(is_same_code=True)
    pair = frame[1].comparisons[0]
    other = frame[1]._replace(comparisons=(pair._replace(differences=(*pair.differences, failed)),))
    viewed = frame[0]._replace(views=frozenset({"x"}))
    assert _with_both([viewed, frame[1]]) == {0} and _with_both([viewed, other]) == set()
    plain_first = [frame[0], frame[1]._replace(views=frozenset({"x"}))]
    assert _with_both(plain_first) == set()  # `contrastive_pairs`: the version for plain tensors serves the later ones too


TENSOR = "TENSOR_MATCH: check_tensor({}, Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, {})"


def test_a_size_that_was_returned_is_dynamic_where_that_of_the_call_before_is() -> None:
    """`growing_cache` of docs/advice-corpus.md: a prompt of 5, then one token and a cache of 5."""
    prompt, token = (TENSOR.format("x", f"size=[1, {n}, 16], stride=[{16 * n}, 16, 1]") for n in (5, 1))
    cache = TENSOR.format("cache[0]", "size=[1, 5, 16], stride=[80, 16, 1]")
    assert returned_sizes(versions([prompt], [token, cache])) == {(SIZE, "x", 1): {(SIZE, "cache[0]", 1)}}
    assert returned_sizes(versions([prompt], [prompt, cache])) == {}  # a size of the same call
    assert returned_sizes(versions([prompt, cache], [token, cache])) == {}


def test_a_call_at_the_limit_is_expected_to_be_like_the_versions_that_only_a_size_told_apart() -> None:
    """`stacked_layers` of tests/live/corpus: layers that differ in an index and in a width."""
    first, second, third = versions(*(
        [f"EQUALS_MATCH: L['self'].index == {n}", TENSOR.format("w", f"size=[{wide}], stride=[1]"),
         TENSOR.format("x", "size=[6], stride=[1]")]
        for n, wide in ((1, 16), (2, 16), (3, 32))
    ))  # fmt: skip
    refused = Version(first.compile_, {}, None)
    other, size = (SimpleNamespace(cause=cause) for cause in (INT, SIZE))
    assert _alike([first], {first.ref: [size]}) == [first]  # type: ignore[list-item]
    assert _alike([first], {first.ref: [size, other]}) == _alike([first], {}) == []  # type: ignore[list-item]
    likely = compared(first, refused, 0, (), False, {}, alike=[third]).likely
    assert (SIZE, "w", 0) in likely and (SIZE, "x", 0) not in likely
    assert (SIZE, "w", 0) not in compared(first, refused, 0, (), False, {}, alike=[second]).likely


def test_sizes_that_are_always_equal_are_marked_together() -> None:
    """`expert_tokens` of tests/live/corpus: torch raises an error if only one of two equal sizes is marked."""
    tokens, weight, other, parameter = (
        CauseFacts(SIZE, name, 0, refs=["0/1", "0/2"], values=dict.fromkeys(values))
        for name, values in (("tokens", "612"), ("weight", "612"), ("x", "62"), ("self._parameters['w']", "612"))
    )
    _add_equal_sizes([tokens, weight, other], frozenset())
    assert (tokens.co_dynamic, weight.co_dynamic, other.co_dynamic) == ((("weight", 0),), (("tokens", 0),), ())
    advice = advice_for(tokens, Settings())
    assert advice is not None and "In this log weight dim 0 always equals it: mark both." in advice.text
    assert advice.code == ("torch._dynamo.mark_dynamic(tokens, 0)", "torch._dynamo.mark_dynamic(weight, 0)")
    assert (SIZE, "weight", 0) in _removed(tokens, advice.remedy, frozenset({tokens.key}), frozenset())
    for facts, parameters in (([tokens, parameter], frozenset[str]()), ([tokens, weight], frozenset({"weight"}))):
        _add_equal_sizes(facts, parameters)  # `muon_optimizer`: a parameter, its gradient and what belongs to it
        advice = advice_for(tokens, Settings())
        assert tokens.co_dynamic == () and advice is not None and not advice.remedy and "of a parameter" in advice.text


def test_a_guard_that_failed_for_a_refused_call_fails_for_each_version_that_has_it() -> None:
    """`shifted_windows`: torch names one size for each version, and another one for a version that has both."""
    older, wider = versions([TENSOR.format("x", "size=[8, 8], stride=[8, 1]")], [TENSOR.format("x", "size=[8, 9], stride=[9, 1]")])
    refused, size = Version(older.compile_, {}, None), (SIZE, "x", 1)
    assert {each.key for each in compared(older, refused, 0, (), False, {}, {(size, "8")}).differences} == {size}
    assert not compared(wider, refused, 0, (), False, {}, {(size, "8")}).differences


def test_dynamic_parameters_free_the_sizes_that_were_specialized_to_theirs() -> None:
    """`class_widths` of docs/advice-corpus.md: the channels of an image equal those of a weight."""
    weight = CauseFacts(SIZE, "self._parameters['weight']", 1)
    channels = CauseFacts(SIZE, "x", 1, became="0/1", fixed="0/2", needs_number=False)
    guards: Any = SimpleNamespace(table=SimpleNamespace(versions=("0/0",)), related=frozenset(), returned={})
    groups = {each.key: (each.key,) for each in (weight, channels)}
    advice = [Advice("", "dynamic parameters"), Advice("")]
    found, none = _candidates([weight, channels], advice, groups, guards)
    assert none is None and found is not None and found.keys == {weight.key, channels.key}
    assert dict(found.doubts) == {channels.key: SPECIALIZED}


def test_a_set_of_remedies_names_each_size_for_one_mark() -> None:
    """`qa_windows` of docs/advice-corpus.md: mark_dynamic marks the size of ids with that of mask, mark_unbacked that of ids."""
    mask, wide = (SIZE, "mask", 0), (SIZE, "x", 1)
    facts = [CauseFacts(*KEY), CauseFacts(CONDITION, "x", 0), CauseFacts(*mask), CauseFacts(*wide)]
    dynamic = Candidate("x dim 0", "mark dynamic", frozenset({KEY, mask, wide}), DYNAMIC)
    candidates = [dynamic, Candidate("x dim 0", "mark unbacked", frozenset({KEY}), REMOVED), dynamic, dynamic]
    chosen = Prediction(("x dim 0", "x dim 0"), ("mark dynamic", "mark unbacked"), 3, 0, 0, 0)
    groups = {each.key: (each.key,) for each in facts}
    found = _marked_once(chosen, facts, candidates, groups)
    assert found.names == ("mask dim 0", "x dim 1", "x dim 0")
    assert found.remedies == ("mark dynamic", "mark dynamic", "mark unbacked")
    alone = replace(chosen, names=("x dim 0",), remedies=("mark dynamic",))
    assert _marked_once(alone, facts, candidates, groups).names == ("x dim 0",)


def test_a_size_that_never_had_a_symbol_may_be_broadcast() -> None:
    """`x + y` with y of 4 and 1 columns: with mark_unbacked(y, 1) torch raises an error for the second call."""
    advice, guards = Advice("", "mark unbacked"), SimpleNamespace(related=frozenset())
    facts = CauseFacts(SIZE, "y", 1)
    assert _doubt(facts, advice, frozenset({KEY}), guards) == UNBACKED  # type: ignore[arg-type]
    facts.became = "0/1"
    assert _doubt(facts, advice, frozenset({KEY}), guards) == ""  # type: ignore[arg-type]
