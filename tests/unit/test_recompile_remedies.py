"""What helps against a recompile, on the trace of the live proofs: `tests/live/programs/remedies.py` before the remedies."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import trace
from viewed import text

from tltui.questions.recompiles.failed_guard_text import cause_of
from tltui.questions.recompiles.frame_recompiles import FrameRecompiles
from tltui.questions.recompiles.guard_grammar import FLOAT, INT, LENGTH, MARKED, SIZE
from tltui.questions.recompiles.page import Recompiles
from tltui.questions.recompiles.recompile_reasons import in_exception
from tltui.questions.recompiles.remedies import REFS_LISTED, REMEDIES, Advice, CauseFacts, Settings, advice_for, condition, size
from tltui.questions.recompiles.variations import CauseKey, RecompileCauses, _others

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "live" / "programs" / "remedies.py"
REMEDIED = "torch-2.13/remedies"


def cases() -> dict[str, str]:
    """Case → the remedy that it is about, as the program names it."""
    found = {}
    for node in ast.parse(PROGRAM.read_text(encoding="utf-8")).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            assert isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name)
            if decorator.func.id == "case" and isinstance(decorator.args[0], ast.Constant):
                found[node.name] = str(decorator.args[0].value)
    return found


def frames() -> dict[str, FrameRecompiles]:
    found = page(trace(REMEDIED), "@recompiles").data()
    assert isinstance(found, Recompiles)
    return {frame.function or "": frame for frame in found.frames}


@pytest.mark.parametrize(("name", "remedy"), cases().items())
def test_each_case_has_its_remedy(name: str, remedy: str) -> None:
    found = {variation.remedy: variation for variation in frames()[name].variations}
    assert remedy in found and found[remedy].advice
    assert remedy or found.keys() == {""}, "a case without a remedy gets none"
    assert found[remedy].proof == (REMEDIES[remedy] if remedy else "")


def test_each_proven_remedy_has_a_case_and_a_row() -> None:
    """Each remedy that is called proven is run by a live test, and is in the table of the page."""
    proven = {name for name, proof in REMEDIES.items() if proof == "proven"}
    assert proven == (set(cases().values()) | {"unbacked sources"}) - {""}  # that one: tests/live/test_dynamic_sources_live.py
    table = (ROOT / "docs" / "recompiles.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \| (\w+)", table, re.MULTILINE))
    assert rows == REMEDIES


# what each cause says


def advice(name: str) -> str:
    (variation,) = (v for v in frames()[name].variations if v.reported)
    return variation.advice


def test_a_float_that_torch_fixes_again_is_no_success() -> None:
    """It gets a symbol and loses it in the same compile: each value is a compile."""
    (found,) = frames()["floats_fixed"].variations
    assert (found.dynamic_in, found.fixed_again_in, found.count) == ("24/1", "24/1", 3)
    assert "then specialized it" in found.advice and "nothing to do" not in found.advice and "as a tensor instead" in found.advice
    (held,) = frames()["floats"].variations
    assert (held.dynamic_in, held.fixed_again_in, held.remedy) == ("23/1", None, "nothing to do")
    shown = text(page(trace(REMEDIED), "@recompiles:24/"))
    assert "was about to become dynamic, but was specialized to 0.25" in shown and "from here on" not in shown


def test_a_float_in_an_expression_that_torch_fixes_is_no_success() -> None:
    """It stays dynamic, but each value of `1 - momentum` is a compile; with a tensor none remains (the corpus has the program)."""
    [function] = page(trace("torch-2.13/float_expression"), "@recompiles").data().frames  # type: ignore[attr-defined]
    found = {variation.cause: variation for variation in function.variations}
    assert set(found) == {"float value", "size condition"}
    for variation in found.values():
        assert variation.remedy == "tensor" and "Pass momentum as a tensor instead" in variation.advice
        assert (variation.prediction.before, variation.prediction.fewest, variation.prediction.most) == (3, 0, 0)


def test_a_constant_that_becomes_a_symbol_may_need_more_versions() -> None:
    """No version shows the conditions on it: a module that branches on its step counter is compiled again at the bound."""
    found = {variation.remedy: variation for frame in frames().values() for variation in frame.variations}
    for remedy in ("dynamic attribute", "argument", "specialize_float"):
        prediction = found[remedy].prediction
        assert prediction is not None and prediction.fewest < prediction.most == prediction.before
    shown = text(page(trace(REMEDIED), "@recompiles:33/"))
    assert "Predicted effect: 3 → 1 recompilation (up to 3 if your code or torch branches on the value)" in " ".join(shown.split())


def test_an_int_that_the_program_fixes_again_has_no_remedy() -> None:
    (found,) = frames()["int_fixed"].variations
    assert found.fixed_again_in is not None and "needs the number itself" in found.advice and not found.remedy


def test_what_fixed_a_float_is_named() -> None:
    assert "nn/functional.py:1491 in dropout" in advice("float_fixed_by_torch")


def test_one_setting_is_one_cause() -> None:
    """What differs from every earlier compile is what was set for the call."""
    found = frames()["several_settings"]
    assert {(v.source, v.count, len(v.only_cause_refs)) for v in found.variations} == {
        ("grad_mode", 1, 1), ("autocast(cpu)_enabled", 1, 1), ("default_dtype", 1, 1),
    }  # fmt: skip
    assert [sorted(key[1] for key in one.keys) for one in found.recompiles] == [
        ["grad_mode"], ["autocast(cpu)_enabled"], ["default_dtype"],
    ]  # fmt: skip
    shown = text(page(trace(REMEDIED), f"@recompiles:{found.ref}"))
    assert "recompiles, same guard" not in shown


def test_torchs_own_bound_is_told_from_the_programs() -> None:
    (own,) = frames()["size_one_dynamic"].recompiles[0].reasons
    assert (own.origin, own.failed_part, own.actual) == ("sizes 0 and 1", "2 <= x.size()[0]", "1")
    (program,) = frames()["decides"].recompiles[0].reasons
    assert (program.origin, program.failed_part, program.actual) == ("your line", "x.size()[0] <= 10", "20")
    assert "Your line branches" in advice("decides") and "mark_unbacked" not in advice("decides")
    (mark,) = frames()["wider"].recompiles[0].reasons
    assert (mark.origin, mark.failed_part, mark.bound) == ("the bounds of a mark", "x.size()[0] <= 64", 64)
    assert "raise max to 100" in advice("wider") and frames()["wider"].variations[0].code == (
        "torch._dynamo.mark_dynamic(x, 0, min=2, max=100)",
    )  # fmt: skip


def test_the_values_of_a_condition_are_named() -> None:
    shown = text(page(trace(REMEDIED), f"@recompiles:{frames()['broadcast_view'].ref}", 160))
    assert "did not hold: x dim 0 was 24, y dim 0 was 4, y dim 1 was 1" in shown
    assert "broadcasting" in advice("broadcast_view")


def test_divisibility_is_no_broadcasting_and_the_failure_is_told() -> None:
    assert "divisible by 4" in advice("divisible") and "multiple of 4" in advice("divisible")
    shown = text(page(trace(REMEDIED), f"@recompiles:{frames()['divisible'].ref}"))
    assert "this compile failed: TorchRuntimeError" in shown
    assert frames()["divisible"].recompiles[0].failure == "TorchRuntimeError"


def test_duck_sizing_off_does_not_help_against_a_size_of_one() -> None:
    assert "use_duck_shape" in advice("duck") and "use_duck_shape" not in advice("broadcast_one")
    assert "one of them was 1" in advice("broadcast_one")


def test_a_size_that_a_line_fixed_is_not_to_be_marked() -> None:
    """mark_dynamic on it would be an error."""
    assert "mark_dynamic" not in advice("size_fixed") and "<string>:2 specialized it to one size" in advice("size_fixed")


def test_members_of_an_enum_and_classes_are_no_new_objects() -> None:
    (enum,) = frames()["enum_member"].recompiles[0].reasons
    assert (enum.expected, enum.actual, enum.value) == ("a __main__.Colour", "another __main__.Colour", "enum")
    assert "Each member of an Enum" in advice("enum_member") and "outside" not in advice("enum_member")
    (kind,) = frames()["class_argument"].recompiles[0].reasons
    assert (kind.expected, kind.actual) == ("class __main__.Layer", "class __main__.Count")


def test_a_dict_is_no_tensor() -> None:
    (found,) = frames()["missing_keys"].recompiles[0].reasons
    assert (found.text, found.cause, found.source, found.expected) == ("len(o) != 2", "length", "o", "2")
    assert "tensor" not in advice("missing_keys").lower() and "keys" in advice("missing_keys")


def test_only_values_that_were_met_are_values() -> None:
    for frame in frames().values():
        for variation in frame.variations:
            assert not any(value.startswith(("some", "another ", "a ")) for value in variation.values)
    (found,) = frames()["float_fixed_by_torch"].variations
    assert found.values == ("0.5", "0.25", "0.125")


def test_an_inference_tensor_is_called_one() -> None:
    (found,) = frames()["inference"].recompiles[0].reasons
    assert (found.expected, found.actual) == ("needs autograd", "inference tensor")


# order, whose line


def log_of(path: Path, *recompiles: tuple[str, float]) -> Log:
    log = Log(path).start().metrics()
    for number, (reason, seconds) in enumerate(recompiles, 1):
        log.start(compile_=number).artifact("recompile_reasons", reason, compile_=number)
        log.metrics(compile_=number, duration_us=int(seconds * 1e6))
    return log


def test_what_would_have_saved_most_comes_first(tmp_path: Path) -> None:
    log = log_of(
        tmp_path / "a.log", ("0/0: n == 1", 1.0), ("0/1: n == 2", 1.0),
        ("0/2: tensor 'x' dtype mismatch. expected Float, actual Double", 5.0),
    )  # fmt: skip
    found = page(log.open(), "@recompiles").data()
    assert isinstance(found, Recompiles)
    first, second = found.frames[0].variations
    assert (first.cause, first.only_cause_refs, first.only_cause_s) == ("tensor dtype", ("0/3",), 5.0)
    assert (second.cause, second.only_cause_s) == ("int value", 2.0)


def test_older_compiles_are_told_once_a_frame(tmp_path: Path) -> None:
    """Not a line for each older compile at each recompile."""
    reasons = [(str([f"0/{n}: n == {n}" for n in range(k - 1, -1, -1)]).replace("'", '"'), 0.1) for k in range(1, 9)]
    run = log_of(tmp_path / "a.log", *reasons).open()
    shown = text(page(run, "@recompiles"))
    assert " ".join(shown.split()).count("the guards of every older compile") == 1 and "the same cause against" not in shown
    assert len(shown.splitlines()) < 40
    assert "the same cause against 7 older compiles" in text(page(run, "@recompiles:0/8"))


@pytest.mark.parametrize(("comment", "whose", "by"), [
    ("# return x * n  # user/m.py:4 in f", "", ""),
    ("# for g in self.param_groups:  # optim/sgd.py:118 in step", "torch", ""),
    ("# x  # /opt/venv/lib/python3.11/site-packages/other/a.py:3 in g", "a library", ""),
    ("# (_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs)", "",
     "_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs"),
])  # fmt: skip
def test_whose_line_it_is(comment: str, whose: str, by: str, tmp_path: Path) -> None:
    """A place in torch alone is no line that was traced."""
    run = log_of(tmp_path / "a.log", (f"0/0: n == 1  {comment}", 1.0)).open()
    found = page(run, "@recompiles").data()
    assert isinstance(found, Recompiles)
    (reason,) = found.frames[0].recompiles[0].reasons
    assert (reason.owner, reason.torch_line) == (whose, by)
    assert (reason.file is None) is bool(by)
    shown = text(page(run, "@recompiles"))
    assert "from (" not in shown and (f"from {whose}: " in shown) is bool(whose)


def test_values_are_in_the_order_in_which_they_were_met(tmp_path: Path) -> None:
    """Torch lists the entry that was used last first: here 0/0, then 0/2, then 0/1."""
    sizes = [2, 3, 4, 5]
    said = "tensor 'x' size mismatch at index 0. expected {}, actual {}"
    order = [[0], [1, 0], [0, 2, 1]]
    reasons = [
        (str([f"0/{n}: {said.format(sizes[n], sizes[k])}" for n in tried]).replace('"', "\x00").replace("\x00", '"'), 0.1)
        for k, tried in enumerate(order, 1)
    ]
    found = page(log_of(tmp_path / "a.log", *reasons).open(), "@recompiles").data()
    assert isinstance(found, Recompiles)
    assert found.frames[0].variations[0].values == ("2", "3", "4", "5")


# more than one size at once, and after a graph break


def sizes(path: Path, name: str, dims: list[tuple[str, int]]) -> list[FrameRecompiles]:
    """A function that was compiled again as a size of `x` varied; torch made `dims` dynamic for it."""
    log = Log(path).start(name).metrics().start(name, compile_=1)
    log.artifact("recompile_reasons", "0/0: tensor 'x' size mismatch at index 0. expected 8, actual 5", compile_=1)
    for source, dim in dims:
        args = {"name": f"L['{source}']", "dim_changed": dim, "reason": "size change", "cached": "8", "new": "5"}
        value = {"name": "automatic_dynamic", "ts": log.micros, "args": args, "ph": "i", "cat": "dynamo_timed"}
        log.add("chromium_event", {}, json.dumps(value), compile_=1)
        log.add("create_symbol", {"symbol": f"s{dim}", "val": "5", "source": f"L['{source}'].size()[{dim}]"}, compile_=1)
    found = page(log.metrics(compile_=1).open(), "@recompiles").data()
    assert isinstance(found, Recompiles)
    return list(found.frames)


def test_all_sizes_that_became_dynamic_together_are_to_be_marked(tmp_path: Path) -> None:
    """`x + y`: with a mark on x alone torch raises ConstraintViolationError, as y is taken for static and has to be equal."""
    (frame,) = sizes(tmp_path / "a.log", "f", [("x", 0), ("y", 0)])
    (found,) = frame.variations
    assert found.code == ("torch._dynamo.mark_dynamic(x, 0)", "torch._dynamo.mark_dynamic(y, 0)")
    assert "together with y dim 0" in found.advice and "mark_dynamic(y, 0)" in found.advice
    (frame,) = sizes(tmp_path / "b.log", "f", [("x", 0), ("x", 1), ("y", 0), ("y", 1)])
    (found,) = frame.variations
    assert len(found.code) == 4 and "together with 3 other sizes" in found.advice


def test_a_mark_is_advised_without_bounds_beside_the_sizes_compiled(tmp_path: Path) -> None:
    """The log has the sizes of compiles only, and torch raises an error for a marked size outside of the bounds."""
    (frame,) = sizes(tmp_path / "a.log", "f", [("x", 0)])
    (found,) = frame.variations
    assert found.code == ("torch._dynamo.mark_dynamic(x, 0)",)
    assert "Sizes compiled: 5, 8. Do not set min or max: torch raises an error for sizes outside them." in found.advice

    def advised(values: Iterable[int]) -> str:
        facts = CauseFacts("tensor size", "x", 0, values=dict.fromkeys(map(str, values)))
        return size(facts, Settings(automatic_dynamic=True)).text

    assert "Sizes compiled: 5 sizes from 2 to 6. Do not set" in advised((6, 3, 4, 5, 2))
    with_one = advised((12, 7, 1))
    assert "Sizes compiled: 1, 7, 12." in with_one and "Sizes 0 and 1 are always compiled separately" in with_one
    assert "Sizes compiled" not in advised(range(2, 2 + REFS_LISTED))


def test_no_min_serves_size_one(tmp_path: Path) -> None:
    """Torch specializes a marked size of 1 whatever its bounds are, and raises ConstraintViolationError."""
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1)
    reason = "0/0: 4 <= L['x'].size()[0] and L['x'].size()[0] <= 64  # (_dynamo/variables/builder.py:1 in <lambda>)"
    log.artifact("recompile_reasons", json.dumps([reason]), compile_=1)
    log.metrics(compile_=1)
    reasons = page(log.open(), "@recompiles").data().frames[0].recompiles[0].reasons  # type: ignore[attr-defined]
    term = replace(reasons[0].terms[0], value="1")
    facts = CauseFacts("size condition", "x", 0, reasons=[replace(reasons[0], origin=MARKED, bound=4, terms=(term,))])
    assert condition(facts, Settings()) == Advice(
        "The bound 4 comes from the mark on x dim 0 (min, max). Sizes 0 and 1 are always compiled separately, whatever min is."
    )


def test_no_mark_is_advised_on_what_compiled_code_made(tmp_path: Path) -> None:
    """After a graph break the program has no place for a mark: torch forbids the call in what it traces."""
    (frame,) = sizes(tmp_path / "a.log", "torch_dynamo_resume_in_f_at_7", [("x", 0)])
    (found,) = frame.variations
    assert found.remedy == "dynamic=True" and not found.code and "torch.compile(dynamic=True)" in found.advice


def test_what_happens_at_the_limit_is_not_the_same_for_all() -> None:
    """One of two functions at the limit has fullgraph=True: there it is an error."""
    shown = " ".join(text(page(trace("torch-2.13/outcomes"), "@recompiles")).split())
    for what in ("are errors", "run in eager mode"):
        assert f"1 frame hit the recompile limit: calls that match no compiled version {what}." in shown


def test_the_guards_of_an_error_on_recompile_stand_in_its_exception() -> None:
    """Torch raises before it writes why."""
    shown = text(page(trace("torch-2.13/outcomes"), "@recompiles:5/"))
    assert "vs [5/0]: tensor size" in shown and "x dim 0: 3 → 4" in shown and "torch logged no reason" not in shown
    assert in_exception("triggered by the following guard failure(s):\n    - 1/0: a == 1\n  # f.py:2\n    - 1/1: b") == [
        "1/0: a == 1\n  # f.py:2", "1/1: b"
    ]  # fmt: skip
    assert in_exception("- 1/0: no such text") == []


@pytest.mark.parametrize(("program", "effect"), [
    ("policy_gradient", "3 → 1 recompilation"),  # torch: 1. A line specialized a size once; the next compile has a symbol
    ("ddpm_guidance", "3 → 2 recompilations"),  # torch: 2
])  # fmt: skip
def test_dynamic_true_is_offered_where_it_leaves_fewer_than_each_other_change(program: str, effect: str) -> None:
    run = trace(f"recompiled/{program}")
    shown = " ".join(text(page(run, "@recompiles")).split())
    assert f"torch.compile(dynamic=True) makes sizes and numbers dynamic from the start. Predicted effect: {effect}" in shown
    assert f"fix: Use torch.compile(dynamic=True); predicted: {effect}" in " ".join(text(page(run, "")).split())


def test_dynamic_true_is_not_offered_for_constants() -> None:
    """Of numpy's numbers (torch: 4 → 5), parameters, marked sizes, default values, NaN, and with `specialize_float`."""
    for name in ("recompiled/numpy_signals", "torch-2.13/remedies"):
        assert "makes sizes and numbers dynamic" not in text(page(trace(name), "@recompiles"))


def test_a_bool_attribute_has_two_versions() -> None:
    shown = " ".join(text(page(trace("recompiled/policy_gradient"), "@recompiles")).split())
    assert "policy.continuous" in shown and "True and False are compiled separately (at most two versions)" in shown


def test_guards_that_differ_only_in_an_index_are_one_line() -> None:
    """train() and eval() set the mode of all submodules at once."""
    shown = text(page(trace("recompiled/dropout_modes"), "@recompiles"))
    assert "module attribute G['model'].training  True, False\n      of 3 submodules" in shown
    assert "also module attribute G['model'].training True → False (3 guards)" in shown
    assert "also module attribute G['model'].training False → True (2 guards)" in shown
    assert re.search(r"\(3 guards\)   True  False   True\n", shown)


def test_numbers_in_closures_are_dynamic_and_default_values_are_constants() -> None:
    """With `dynamic=True` torch recompiles the program 4 times."""
    shown = " ".join(text(page(trace("recompiled/activation_factories"), "@recompiles")).split())
    assert "float value activation.__closure__[0].cell_contents 0.1, 0.05, 0.025" in shown
    assert "Set dynamic=True. (dynamic=None needs one recompilation to see that it varies.)" in shown
    assert "Predicted effect: 8 → 4 recompilations (up to 5 if guarded values that the log lacks differ)" in shown
    assert (
        "Torch treats default values of arguments as constants. Pass the value as an argument, in a tensor: "
        "automatic_dynamic_shapes was off"
    ) in shown  # an int that is an argument is compiled 9 times too, with dynamic=False; a tensor once


@pytest.mark.parametrize(("source", "is_foreign", "remedy"), [
    ("rewards", False, "stack"), ("self.param_groups", True, ""), ("state.losses", False, ""), ("args", True, ""),
])  # fmt: skip
def test_only_a_list_that_the_program_passes_can_be_stacked(source: str, is_foreign: bool, remedy: str) -> None:
    """`unfreeze_groups` of docs/advice-corpus.md: an optimizer gets more parameter groups."""
    advice = advice_for(CauseFacts(LENGTH, source, None, is_foreign=is_foreign), Settings())
    assert advice is not None and advice.remedy == remedy
    assert ("Python loop" in advice.text) == (remedy == "stack"), "torch unrolls a loop over a stacked tensor as one over a list"


def test_a_number_of_failed_compiles_only_is_no_proof_that_it_stays_constant() -> None:
    """`assert n > 0` in a compiled function that is called with -1: n has a symbol in the compile that failed."""
    failed = advice_for(CauseFacts(INT, "n", None, refs=["0/1"], failures=["Unsupported"]), Settings(traced=True))
    compiled = advice_for(CauseFacts(INT, "n", None, refs=["0/1"]), Settings(traced=True))
    assert failed is not None and failed.text.startswith("This compile failed (Unsupported)") and not failed.remedy
    assert compiled is not None and compiled.text.startswith("It did not become dynamic in this log.")


def test_a_list_of_a_submodule_is_no_set_of_submodules() -> None:
    """`ia3_merge` of docs/advice-corpus.md: PEFT lists the merged adapters of each layer."""
    texts = [advice_for(CauseFacts(LENGTH, f"self._modules['dense'].{name}", None), Settings()) for name in ("_modules", "merged")]
    assert ["set of submodules" in str(advice and advice.text) for advice in texts] == [True, False]


@pytest.mark.parametrize("cause", [INT, FLOAT])
def test_a_default_value_is_an_argument_where_numbers_become_dynamic(cause: str) -> None:
    facts = CauseFacts(cause, "loss.__defaults__[0]", None)
    on, off = (advice_for(facts, Settings(automatic_dynamic=is_on)) for is_on in (True, False))
    assert on is not None and off is not None and (on.remedy, off.remedy) == ("argument", "tensor")


def test_numbers_behind_a_global_are_constants() -> None:
    assert cause_of("fn.__closure__[0].cell_contents == 3", "").kind == "int value"
    assert cause_of("G['fn'].__closure__[0].cell_contents == 3", "").kind == "closure"
    assert cause_of("fn.__closure__[0].cell_contents == 'a'", "").kind == "closure"


def test_the_tensor_behind_a_view_gets_no_mark() -> None:
    facts = CauseFacts(SIZE, "x", 0, became="0/1", co_dynamic=(("x._base", 0),))
    alone = advice_for(facts, Settings())
    assert alone is not None and alone.code == ("torch._dynamo.mark_dynamic(x, 0)",) and "_base" not in alone.text
    both = advice_for(replace(facts, co_dynamic=(("x._base", 0), ("y", 0))), Settings())
    assert both is not None and len(both.code) == 2 and "together with y dim 0." in both.text


def test_no_mark_is_advised_for_a_tensor_that_the_program_has_no_name_for() -> None:
    """An array after a graph break: sizes 0 and 1 have a reason, and no code."""
    shown = text(page(trace("recompiled/matcher_targets"), "@recompiles"))
    assert "mark_unbacked(labels, 0)" in shown and not re.search(r"mark_\w+\(___", shown)
    arrays = shown.partition("size condition   ___stack0[*]")[2]
    assert "The minimum of 2 comes from torch: sizes 0 and 1 are compiled separately." in " ".join(arrays.split())


def test_none_in_some_calls_and_a_tensor_in_others_is_one_cause(tmp_path: Path) -> None:
    """Versions for None have a guard on the value, those for a tensor one on its class."""
    log = Log(tmp_path / "a.log").start().metrics()
    reasons = ("0/0: L['mask'] is None", "0/1: expected type of 'L['mask']' to be a tensor type, ' but found <class 'NoneType'>")
    for number, reason in enumerate(reasons, 1):
        log.start(compile_=number).artifact("recompile_reasons", json.dumps([reason]), compile_=number).metrics(compile_=number)
    (variation,) = page(log.open(), "@recompiles").data().frames[0].variations  # type: ignore[attr-defined]
    assert (variation.cause, variation.source, variation.count, variation.sources) == ("type", "mask", 2, ())
    assert variation.values == ("None", "Tensor") and variation.advice == (
        "None and a tensor are two code paths, which torch compiles separately. If the program needs only one of them, pass a "
        "tensor in every call, or None in every call."
    )


def test_other_causes_are_named_once() -> None:
    """The size of a dimension and a condition on it have one name."""
    keys = [CauseKey("int value", "n", None), CauseKey("tensor size", "x", 0), CauseKey("size condition", "x", 0)]
    assert _others([keys[0]], [RecompileCauses("0/1", tuple(keys), True)]) == ["x dim 0"]
