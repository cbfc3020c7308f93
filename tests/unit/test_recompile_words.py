"""The grammars of torch's words about guards. The samples are what torch 2.13 wrote, but for those of other versions."""

from __future__ import annotations

import pytest
from pages import page
from real import trace
from viewed import text

from tltui.questions.recompiles.failed_guard_text import cause_of
from tltui.questions.recompiles.guard_comparison import Difference
from tltui.questions.recompiles.guard_grammar import (
    CAUSES,
    CONDITION,
    asked,
    comment_of,
    condition_of,
    split_comment,
    without_numpy,
)
from tltui.questions.recompiles.recompile_sections import _difference

BRANCH = "if n < 9:  # m.py:4 in f (_dynamo/variables/tensor.py:1 in evaluate_expr)"
BOUND = ("user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in the "
         "framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim)")  # fmt: skip


@pytest.mark.parametrize(("words", "kind", "source", "expected", "actual"), [
    ("tensor 'w' size mismatch at index 0. expected 4, actual 5. Guard failed on a parameter, consider using "
     "torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters.", "tensor size", "w", "4", "5"),
    ("tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1", "tensor device", "x",
     "index 0", "index 1"),
    ("tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), actual "
     "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)", "tensor kind", "x", "needs autograd", "inference tensor"),
    ("tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), actual "
     "DispatchKeySet(SparseCPU, BackendSelect, ADInplaceOrView, AutogradCPU)", "tensor kind", "x", "dense", "sparse"),
    ("tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), actual "
     "DispatchKeySet(CPU, BackendSelect, FuncTorchDynamicLayerBackMode, ADInplaceOrView, AutogradCPU, FuncTorchBatched, "
     "FuncTorchDynamicLayerFrontMode)", "tensor kind", "x", "plain", "inside torch.vmap"),
    ("_dynamo_weak_dynamic_indices should be absent but is present on runtime tensor", "dimension mark", "",
     "no maybe_mark_dynamic", "maybe_mark_dynamic"),
    ("_dynamo_dynamic_indices not a subset: runtime {0, 1} is not a subset of compiled {0}", "dimension mark", "",
     "mark_dynamic of {0}", "mark_dynamic of {0, 1}"),
    ("_dynamo_unbacked_bounds mismatch: expected None", "dimension mark", "", "mark_unbacked(min=…, max=…)", ""),
    ("_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time", "dimension mark", "",
     "no mark", "a mark"),
    ("hasattr(x, '_dynamo_dynamic_indices') == False", "dimension mark", "x", "no mark_dynamic", "mark_dynamic"),  # 2.6
    ("len(d) != 2", "length", "d", "2", ""),
    ("len(m._modules['ls']._modules) != 1", "length", "m._modules['ls']._modules", "1", ""),
    ("not m._forward_hooks", "length", "m._forward_hooks", "0", ""),
    ("list(dict.keys(d))[0] == 'a'", "key or attribute", "list(d)[0]", "'a'", ""),
    ("list(d.keys()) == ['a']", "key or attribute", "list(d)", "['a']", ""),
    ("getattr failed on source p", "key or attribute", "p", "an attribute", "not there"),
    ("KeyError on d['a']['b']", "key or attribute", "d['a']['b']", "there", "not there"),
    ("CodeGuardAccessor: Not a function on f.__code__", "type", "f", "function", ""),
    ("ClosureGuardAccessor: Not a function on f.__closure__", "object id", "f.__code__", "a function", "another object"),
    ("FuncDefaultsGuardAccessor: Not a function on f", "object id", "f", "a function with default values", "another object"),
    ("TYPE_MISMATCH(x)", "type", "x", "", ""),
    ("___normalize_range_iter(it) == (0, 3, 1)", "other value", "it", "(0, 3, 1)", ""),
    ("___normalize_count_iter(it) == (1, 1)", "other value", "it", "(1, 1)", ""),
    ("___tuple_iterator_len(it) == 2", "length", "it", "2", ""),
    ("(type(p) is float and __math_isnan(p))", "float value", "p", "nan", ""),
    ("not math.isnan(p)", "float value", "p", "a number", "nan"),
    ("int(c) == 3", "int value", "int(c)", "3", ""),
    ("d == torch.float64", "other value", "d", "torch.float64", ""),
    ("d == device(type='cpu')", "other value", "d", "device(type='cpu')", ""),
    ("c == Ellipsis", "other value", "c", "Ellipsis", ""),
    ("self.param_groups[0]['lr'] == 0.09000000000000001", "float value", "self.param_groups[0]['lr']", "0.09000000000000001", ""),
    ("___check_obj_id(c, 140421207844304), type=<class '__main__.Color'>", "object id", "c", "a __main__.Color", "another object"),
    ("GLOBAL_STATE changed: autocast(cpu)_dtype autocast_cache_enabled ", "global state",
     "autocast(cpu)_dtype, autocast_cache_enabled", "", ""),
    ("GLOBAL_STATE changed: ", "global state", "", "", ""),
    ("torch._functorch.pyfunctorch.compare_functorch_state([('Vmap', 1, 'error')])", "global state",
     "torch.func transforms", "", ""),
    ("torch.autograd.forward_ad._current_level == -1", "global state", "forward AD level", "", ""),
    ("torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None", "global state", "saved tensors hooks", "", ""),
    ("check_overlapping(overlapping=[x, y], non_overlapping=[])", "aliasing", "x, y",
     "memory shared as before", "shared otherwise"),
    ("___check_metadata_140179386005472_c4/0", "tensor kind", "", "metadata of a subclass", "another"),
    ("m == n", "size condition", "m", "m == n", ""),
    ("(x.size()[0] % 4) == 0", "size condition", "x", "(x.size()[0] % 4) == 0", ""),
    ("x.size()[0] != 8", "size condition", "x", "x.size()[0] != 8", ""),
    ("x.size()[0] == 2 or (x.size()[0] % 2) == 0", "size condition", "x", "x.size()[0] == 2 or (x.size()[0] % 2) == 0", ""),
    ("max(y.size()[0], x.size()[0]) <= 6", "size condition", "y", "max(y.size()[0], x.size()[0]) <= 6", ""),
    ("2 <= x.storage_offset()", "size condition", "x", "2 <= x.storage_offset()", ""),
    ("p <= 0.5", "size condition", "p", "p <= 0.5", ""),
    ("a sentence that no torch has written yet", "other", "", "", ""),
])  # fmt: skip
def test_what_a_guard_is_about(words: str, kind: str, source: str, expected: str, actual: str) -> None:
    cause = cause_of(words)
    assert (cause.kind, cause.source, cause.expected, cause.actual) == (kind, source, expected, actual)
    assert cause.kind in CAUSES


@pytest.mark.parametrize(("text", "kind", "terms", "values", "failed"), [
    ("2 <= x.size()[0] <= 64", "range", ["x.size()[0]"], ["100"], ["x.size()[0] <= 64"]),
    ("2 <= x.size()[0] <= 64", "range", ["x.size()[0]"], ["1"], ["2 <= x.size()[0]"]),
    ("2 <= x.size()[0] <= 64", "range", ["x.size()[0]"], [""], []),
    ("(x.size()[0] % 4) == 0", "divisibility", ["x.size()[0]"], ["13"], ["x.size()[0] % 4 == 0"]),
    ("Eq(Mod(s77, 4), 0)", "divisibility", ["s77"], ["13"], ["Eq(Mod(s77, 4), 0)"]),
    ("x.size()[0] != 8", "inequality", ["x.size()[0]"], ["8"], ["x.size()[0] != 8"]),
    ("(x.size()[0] // y.size()[0]) == y.size()[1]", "equality", ["x.size()[0]", "y.size()[0]", "y.size()[1]"], ["24", "4", "1"],
     ["x.size()[0] // y.size()[0] == y.size()[1]"]),
    ("max(y.size()[0], x.size()[0]) <= 6", "range", ["y.size()[0]", "x.size()[0]"], ["4", "9"],
     ["max(y.size()[0], x.size()[0]) <= 6"]),
    ("2*y.size()[0] < 20 + x.size()[0]", "condition", ["y.size()[0]", "x.size()[0]"], ["40", "9"],
     ["2*y.size()[0] < 20 + x.size()[0]"]),
    ("x.size()[0] == 2 or (x.size()[0] % 2) == 0", "condition", ["x.size()[0]"], ["9"],
     ["x.size()[0] == 2 or (x.size()[0] % 2) == 0"]),
    ("not math.isnan(p)", "not NaN", ["p"], ["nan"], ["not math.isnan(p)"]),
    ("self.a['größe'].size()[0] <= 3", "range", ["self.a['größe'].size()[0]"], ["4"], ["self.a['größe'].size()[0] <= 3"]),
    ("x.size()[0] // y.size()[0] <= 3", "range", ["x.size()[0]", "y.size()[0]"], ["4", "0"], []),
])  # fmt: skip
def test_conditions(text: str, kind: str, terms: list[str], values: list[str], failed: list[str]) -> None:
    condition = condition_of(text)
    assert condition is not None
    assert (condition.kind, [term.text for term in condition.terms]) == (kind, terms)
    assert [part.text for part in condition.failing(dict(zip(terms, values, strict=True)))] == failed


@pytest.mark.parametrize("text", [
    "", "x is y", "x", "(", "(" * 5000, "1 < 2", "'a' == 'b'", "lambda: 0 < x", "[i for i in x] == 3", "x < 'a'", "x == '\\d'",
    "f'{x}' < 3", "x <= 2 <= (yield)", "x := 3", "x ** 10 ** 10 < 3" * 200, "a\nb < 3", "__import__('os').system('true')",
])  # fmt: skip
def test_what_is_no_condition(text: str) -> None:
    """It is parsed, never run; other forms are claimed nothing about."""
    assert condition_of(text) is None


def test_arithmetic_is_bounded() -> None:
    condition = condition_of("x * x * x * x * x <= 3")
    assert condition is not None and condition.failing({"x": "9" * 60}) == ()


@pytest.mark.parametrize(("text", "places", "by", "note"), [
    (f"return x.sin()  # models/m.py:18 in size ({BOUND})", ["models/m.py:18 in size"], [None], BOUND),
    ("return x * n  # models/m.py:4 in f (_prims_common/__init__.py:1118 in infer_size)", ["models/m.py:4 in f"],
     ["_prims_common/__init__.py:1118 in infer_size"], ""),
    ("(_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs)", [None],
     ["_dynamo/output_graph.py:3375 in remove_tensorify_specialized_graphargs"], ""),
    ("return x if a and b else y  # m.py:8 in u (_dynamo/variables/builder.py:4960 in <lambda>) and return x if a and b else y  "
     "# m.py:9 in u (_dynamo/variables/builder.py:4961 in <lambda>)", ["m.py:8 in u", "m.py:9 in u"],
     ["_dynamo/variables/builder.py:4960 in <lambda>", "_dynamo/variables/builder.py:4961 in <lambda>"], ""),
    ("if not torch.compiler.is_compiling() and not all(  # optim/adam.py:951 in adam", ["optim/adam.py:951 in adam"], [None], ""),
    ("_dynamo/output_graph.py:448 in init_ambient_guards", ["_dynamo/output_graph.py:448 in init_ambient_guards"], [None], ""),
    ("return x * n  # m.py:4 in f (HINT: type int)", ["m.py:4 in f"], [None], "type int"),
    ("implicit guard for float input due to NaN specialization in the framework", [None], [None],
     "implicit guard for float input due to NaN specialization in the framework"),
    ("(unknown var s19, please file a bug)", [None], [None], "unknown var s19, please file a bug"),
    (" # <string>:2 in f", ["<string>:2 in f"], [None], ""),
])  # fmt: skip
def test_comments(text: str, places: list[str | None], by: list[str | None], note: str) -> None:
    found = comment_of(text)
    assert [str(origin.place) if origin.place else None for origin in found.origins] == places
    assert [str(origin.by) if origin.by else None for origin in found.origins] == by
    assert found.note == note


@pytest.mark.parametrize(("text", "parts"), [
    ("n == 2     # return x  # m.py:3 in f", ("n == 2", "return x  # m.py:3 in f")),
    ("k == 'a  # b'    # return x  # m.py:3 in f", ("k == 'a  # b'", "return x  # m.py:3 in f")),
    (r"k == 'it\'s  # b'", (r"k == 'it\'s  # b'", "")),
    ("expected type of 'y' to be a tensor type, ' but found <class 'int'>  # q.py:3 in f",
     ("expected type of 'y' to be a tensor type, ' but found <class 'int'>", "q.py:3 in f")),
    ("n == 2", ("n == 2", "")),
])  # fmt: skip
def test_a_comment_begins_outside_of_quotes(text: str, parts: tuple[str, str]) -> None:
    assert split_comment(text) == parts


@pytest.mark.parametrize(("text", "value", "comment", "who"), [
    ("2 <= x.size()[0] <= 9", "1", f"f(x)  # m.py:3 in f ({BOUND}) and {BRANCH}", "sizes 0 and 1"),
    ("2 <= x.size()[0] <= 9", "12", f"f(x)  # m.py:3 in f ({BOUND}) and {BRANCH}", "your line"),
    ("2 <= x.size()[0]", "1", "", "sizes 0 and 1"),  # 2.6 writes no comment
    ("2 <= x.size()[0] <= 9", "12", "", ""),
    ("x.size()[0] <= 64", "99", "f(x)  # m.py:3 in f (_dynamo/variables/builder.py:4960 in <lambda>)", "the bounds of a mark"),
    ("x.size()[0] <= 64", "99", "f(x)  # optim/sgd.py:3 in f (_dynamo/variables/tensor.py:1 in evaluate_expr)", "torch"),
    ("x.size()[0] != 64", "64", "exclusion guard for automatic dynamic", "an older compile"),
    ("x.size()[0] == y.size()[0]", "3", "duck sizing added this equality because these variables had the same size 3",
     "equal sizes"),
])  # fmt: skip
def test_who_asked(text: str, value: str, comment: str, who: str) -> None:
    condition = condition_of(text)
    assert condition is not None
    assert asked(condition, {condition.terms[0].text: value}, comment_of(comment)).who == who


def test_a_numpy_array_has_the_name_of_the_argument() -> None:
    """Torch converts it with a function of its own, whose name no program has; guards are quoted as torch wrote them."""
    run = trace("recompiled/numpy_signals")
    for address in ("", "@recompiles", "@shapes:0/3"):
        shown = text(page(run, address))
        assert "___from_numpy" not in shown
    shown = text(page(trace("recompiled/matcher_targets"), "@recompiles"))
    assert "___from_numpy" not in shown and "also size condition 2 <= ___stack0[1].size()[0] did not hold" in shown
    assert "tensor size x dim 1: 8 → 12" in text(page(run, "@recompiles"))
    assert "dim 0 of L['x'] varied: 4, then 6" in text(page(run, "@shapes:0/3"))
    assert without_numpy("2 <= ___from_numpy(L['d'].get('x')).size()[0]") == "2 <= L['d'].get('x').size()[0]"


def test_a_long_condition_keeps_the_last_part_of_its_source() -> None:
    source = "self.__dict__['_modules']['encoder'].__dict__['_modules']['normalization']._buffers['total']"
    key = (CONDITION, source, 0)
    shown = _difference(Difference(key, "", "1", f"2 <= {source}.size()[0]  # in forward"), 1)
    assert shown.startswith("size condition 2 <= self.") and shown.endswith("._buffers['total'].size()[0] did not hold"), shown
