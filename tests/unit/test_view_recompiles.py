"""Why frames were compiled again: torch's words, the guard that they are about, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import TRACES, fresh, trace
from viewed import lead_somewhere, opened, targets, text

from tltui.cli import main
from tltui.export import to_json
from tltui.model.artifacts import Artifact
from tltui.model.ref import at_line, parse_ref, split_line
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.guards.guard_report import GuardText
from tltui.questions.recompiles.explanations import Reason
from tltui.questions.recompiles.failed_guard_text import cause_of
from tltui.questions.recompiles.frame_recompiles import FrameRecompiles
from tltui.questions.recompiles.guard_grammar import CAUSES
from tltui.questions.recompiles.page import Recompiles
from tltui.text.document import Document, Options

REASONS = "torch-2.13/reasons"
ALL = sorted(
    str(path.relative_to(TRACES.parents[1]))
    for group in ("torch-2.13", "tlparse")
    for path in (TRACES / group).iterdir()
    if path.name != "LICENSE"
)


def result(document: Document) -> Recompiles:
    found = document.data()
    assert isinstance(found, Recompiles)
    return found


def frames(run: Run, ref: str = "") -> dict[str, FrameRecompiles]:
    found = result(page(run, f"@recompiles:{ref}" if ref else "@recompiles"))
    return {frame.function or "": frame for frame in found.frames}


def first(frame: FrameRecompiles, recompile: int = 0) -> Reason:
    return frame.recompiles[recompile].reasons[0]


# torch's words


@pytest.mark.parametrize(("words", "kind", "source", "dim", "expected", "actual"), [
    ("tensor 'x' size mismatch at index 0. expected 3, actual 5", "tensor size", "x", 0, "3", "5"),
    ("tensor 'L['x']' size mismatch at index 1. expected 3, actual 5", "tensor size", "x", 1, "3", "5"),
    ("tensor 'self._parameters['w']' rank mismatch. expected 1, actual 2", "tensor rank", "self._parameters['w']", None, "1", "2"),
    ("tensor 'x' stride mismatch at index 0. expected 6, actual 1", "tensor stride", "x", 0, "6", "1"),
    ("tensor 'x' dtype mismatch. expected Float, actual BFloat16", "tensor dtype", "x", None, "float32", "bfloat16"),
    ("tensor 'x' requires_grad mismatch. expected requires_grad=1", "requires_grad", "x", None, "yes", "no"),
    ("tensor 'x' Tensor device index mismatch. Expected device index to be 0, got 1", "tensor device", "x", None,
     "index 0", "index 1"),
    ("tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), "
     "actual DispatchKeySet(CUDA, BackendSelect, ADInplaceOrView, AutogradCUDA)", "tensor device", "x", None, "cpu", "cuda"),
    ("tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect), "
     "actual DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)", "tensor kind", "x", None, "inference tensor",
     "needs autograd"),
    ("expected type of 'x' to be a tensor type, ' but found <class 'NoneType'>", "type", "x", None, "Tensor", "NoneType"),
    ("L['n'] == 2", "int value", "n", None, "2", ""),
    ("n == -2", "int value", "n", None, "-2", ""),
    ("p == 0.5", "float value", "p", None, "0.5", ""),
    ("p == 1e-05", "float value", "p", None, "1e-05", ""),
    ("up == True", "bool value", "up", None, "True", ""),
    ("name == 'a <= b'", "str value", "name", None, "'a <= b'", ""),
    ("shape == (3, 4)", "other value", "shape", None, "(3, 4)", ""),
    ("mask is None", "other value", "mask", None, "None", "something"),
    ("mask is not None", "other value", "mask", None, "something", "None"),
    ("___check_type_id(n, 9416328), type=<class 'int'>", "type", "n", None, "int", ""),
    ("___check_type_id(L['n'], 9416328)", "type", "n", None, "", ""),
    ("___check_type_id(x, 9416), type=<class 'torch.Tensor'>", "type", "x", None, "Tensor", ""),
    ("___check_type_id(x, 9416), type=<class 'torch.nn.parameter.Parameter'>", "type", "x", None, "Parameter", ""),
    ("___check_obj_id(fn.__code__, 1400), type=<class 'code'>", "object id", "fn.__code__", None, "a function", "another object"),
    ("___check_obj_id(L['self'], 1400)", "object id", "self", None, "an object", "another object"),
    ("GLOBAL_STATE changed: grad_mode num_threads ", "global state", "grad_mode, num_threads", None, "", ""),
    ("___check_global_state()", "global state", "", None, "", ""),
    ("utils_device.CURRENT_DEVICE == None", "global state", "default device", None, "None", ""),
    ("___check_torch_function_mode_stack()", "global state", "torch function modes", None, "", ""),
    ("G['FACTOR'] == 2", "global", "G['FACTOR']", None, "2", ""),
    ("fn.__closure__[0].cell_contents == 3", "int value", "fn.__closure__[0].cell_contents", None, "3", ""),
    ("self._modules['drop'].training == True", "module attribute", "self._modules['drop'].training", None, "True", ""),
    ("len(items) == 2", "length", "items", None, "2", ""),
    ("not kwargs", "length", "kwargs", None, "0", ""),
    ("___dict_contains('scale', options)", "key or attribute", "options['scale']", None, "there", "not there"),
    ("not ___dict_contains('forward', self.__dict__)", "key or attribute", "self['forward']", None, "not there", "there"),
    ("not hasattr(options, 'scale')", "key or attribute", "options.scale", None, "not there", "there"),
    ("KeyError on L['x']['y']", "key or attribute", "x['y']", None, "there", "not there"),
    ("2 <= x.size()[0] <= 8", "size condition", "x", 0, "2 <= x.size()[0] <= 8", ""),
    ("L['y'].size()[1] == L['x'].size()[0]", "size condition", "y", 1, "y.size()[1] == x.size()[0]", ""),
    ("Eq(s0, 5)", "size condition", "s0", None, "Eq(s0, 5)", ""),
    ("2 <= n", "size condition", "n", None, "2 <= n", ""),
    ('Duplicate tensors found: ["x", "y"]', "aliasing", "x, y", None, "different tensors", "one tensor"),
    ("Duplicate tensor found where not expected! ", "aliasing", "", None, "different tensors", "one tensor"),
    ("y is x", "aliasing", "y, x", None, "one object", "different objects"),
    ("Cache line invalidated because L['self'] got deallocated", "object freed", "self", None, "", ""),
    ("BACKEND_MATCH failure: torch.compile detected different backend callables. Cached …", "backend", "", None, "", ""),
    ("Unexpected recompilation: runtime guards failed even though …", "unexpected", "", None, "", ""),
    ("n == 2; name == 'x'", "str value", "n", None, "2; name == 'x'", ""),
    ("", "other", "", None, "", ""),
    ("something that no torch says", "other", "", None, "", ""),
])  # fmt: skip
def test_what_a_reason_is_about(words: str, kind: str, source: str, dim: int | None, expected: str, actual: str) -> None:
    cause = cause_of(words)
    if words != "n == 2; name == 'x'":  # several at once: only that it is read as something
        assert (cause.kind, cause.source, cause.dim, cause.expected, cause.actual) == (kind, source, dim, expected, actual)
    assert cause.kind in CAUSES


def test_hints_tell_where_a_value_is_from() -> None:
    assert cause_of("x == 3", 'guard on "scale"').kind == "int value"
    about = "torch.compile considers integer attributes of the nn.Module to be static. If you …"
    assert (cause_of("m.index == 3", about).kind, cause_of("m.index == 3", about).value) == ("module attribute", "int value")


def test_every_class_that_torch_has_words_for_is_in_the_trace() -> None:
    """The traces were made for it: what is not there has a reason of its own."""
    told = [frame for name in (REASONS, "torch-2.13/remedies") for frame in frames(trace(name)).values()]
    seen = {reason.cause for frame in told for found in frame.recompiles for reason in found.reasons}
    missing = CAUSES.keys() - seen
    assert missing == {
        "other value", "closure",  # torch names a free variable like an argument
        "unexpected", "other",
    }  # fmt: skip


# the guard


def test_each_reason_finds_its_guard() -> None:
    """The line that a reason links to is a guard on what the reason names."""
    run = trace(REASONS)
    count = 0
    for frame in frames(run).values():
        for found in frame.recompiles:
            for reason in found.reasons:
                if reason.cause == "backend":
                    assert reason.guard is None
                    continue
                assert reason.guard is not None, reason
                ref, line = split_line(reason.guard)
                node = run.resolve(ref)
                assert isinstance(node, Artifact) and str(node.owner.ref) == reason.earlier
                said = node.log.text(node.record).split("\n")[(line or 0) - 1].replace("L['", "").replace("']", "")
                assert f"+- {reason.guard_kind}" in said
                if reason.cause not in ("global state", "size condition", "aliasing", "key or attribute"):
                    assert reason.source.replace("G['", "G['").replace("']", "") in said, (reason, said)
                count += 1
    assert count > 60


def test_expected_and_actual() -> None:
    """Torch says what it expected of a value, not what came: the guards and symbols of the new compile tell."""
    found = frames(trace(REASONS))
    assert (first(found["mode"]).expected, first(found["mode"]).actual) == ("'train'", "'eval'")
    assert (first(found["flag"]).expected, first(found["flag"]).actual) == ("True", "False")
    assert (first(found["number"]).expected, first(found["number"]).actual) == ("7", "9")
    assert (first(found["number"], 1).expected, first(found["number"], 1).actual) == ("int", "float")
    assert (first(found["listed"]).expected, first(found["listed"]).actual) == ("2", "3")
    assert (first(found["of_global"]).cause, first(found["of_global"]).actual) == ("global", "5")
    assert (first(found["small_size"]).actual, first(found["small_size"], 1).actual) == ("12", "1")
    layer = first(found["layer"])
    assert (layer.cause, layer.value, layer.expected, layer.actual) == ("module attribute", "int value", "3", "4")
    assert first(found["stormy"], 3).actual == ""  # the limit was reached: nothing was compiled


def test_the_users_line_is_that_of_the_guard() -> None:
    reason = first(frames(trace("torch-2.13/recompiles"))["f"])
    assert (reason.file, reason.line) == ("/home/user/models/recompiles.py", 4)  # the guard has only the end of the path
    assert reason.code == "return x * n + x.shape[0]"


def test_what_became_dynamic_has_a_symbol() -> None:
    found = frames(trace(REASONS))
    assert [(d.source, d.dim, d.before, d.now, d.symbol) for d in found["size"].recompiles[0].became_dynamic] == [
        ("x", 0, 3, 5, "s77")
    ]
    assert found["layer"].recompiles[0].became_dynamic == ()  # torch wanted it, but takes such attributes as constants


TREE = """
TREE_GUARD_MANAGER:
+- RootGuardManager
| +- GuardManager: source=L['n'], accessed_by=FrameLocalsGuardAccessor(key='n', framelocals_idx=0), type=<class 'int'>
| | +- EQUALS_MATCH: L['n'] == 22   # return x * n  # m/f.py:4 in f
| +- GuardManager: source=L['nn'], accessed_by=FrameLocalsGuardAccessor(key='nn', framelocals_idx=1), type=<class 'int'>
| | +- EQUALS_MATCH: L['nn'] == 2   # return x * n  # m/f.py:4 in f
| +- GuardManager: source=L['n'].x, accessed_by=GetAttrGuardAccessor(x), type=<class 'int'>
+- LAMBDA_GUARD: L['x'].size()[0] <= 90  # return x  # m/f.py:5 in f
+- LAMBDA_GUARD: L['x'].size()[0] <= 9
"""


def test_a_guard_is_not_taken_for_a_longer_one() -> None:
    tree = GuardText(TREE, "0/0:dynamo_cpp_guards_str")

    def line(words: str) -> int | None:
        found = tree.failed(cause_of(words), words)
        return found.line if found else None

    assert [line(words) for words in ("n == 22", "nn == 2", "n == 2", "x.size()[0] <= 9", "KeyError on n")] == [5, 7, None, 10, 4]
    assert tree.actual(cause_of("n == 1")) == "22"
    assert tree.actual(cause_of("missing == 1")) == ""


# the limit


@pytest.mark.parametrize("module", [True, False])
def test_an_attribute_of_a_module_is_told_from_one_of_another_object(module: bool, tmp_path: Path) -> None:
    """Dynamo guards that a module has no `forward` of its own; only for modules there is a setting that makes integers dynamic."""
    check = "| | +- DICT_CONTAINS: not ___dict_contains('forward', L['m'].__dict__)\n" if module else ""
    tree = (
        "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n"
        "| +- GuardManager: source=L['m'], accessed_by=FrameLocalsGuardAccessor(key='m', framelocals_idx=0), type=<class 'a.M'>\n"
        f"{check}| | +- GuardManager: source=L['m'].n, accessed_by=GetAttrGuardAccessor(n), type=<class 'int'>\n"
        "| | | +- EQUALS_MATCH: L['m'].n == 3   # return x * m.n  # m/f.py:4 in f\n"
    )
    log = Log(tmp_path / "a.log").start().add("dynamo_cpp_guards_str", {}, tree).metrics().start(compile_=1)
    log.artifact("recompile_reasons", '["0/0: m.n == 3"]', compile_=1)
    log.add("dynamo_cpp_guards_str", {}, tree.replace("== 3", "== 4"), compile_=1).metrics(compile_=1)
    frame = frames(log.open())["f"]
    reason = first(frame)
    assert (reason.cause, reason.expected, reason.actual) == ("module attribute" if module else "int value", "3", "4")
    assert ("allow_unspec_int_on_nn_module" in frame.variations[0].advice) is module


@pytest.mark.parametrize("kind", ["torch.Tensor", "a.Patch"])
def test_an_object_that_differs_has_a_fix(kind: str, tmp_path: Path) -> None:
    """Torch 2.13 guards the identity of a tensor only if mark_static_address marked it (`VariableBuilder.wrap_tensor`)."""
    tree = (
        "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n"
        "| +- GuardManager: source=L['p'], accessed_by=FrameLocalsGuardAccessor(key='p', framelocals_idx=0), "
        f"type=<class '{kind}'>\n"
        f"| | +- ID_MATCH: ___check_obj_id(L['p'], 1400), type=<class '{kind}'>  # return x * p  # m/f.py:4 in f\n"
    )
    log = Log(tmp_path / "a.log").start().add("dynamo_cpp_guards_str", {}, tree).metrics().start(compile_=1)
    log.artifact("recompile_reasons", json.dumps([f"0/0: ___check_obj_id(p, 1400), type=<class '{kind}'>"]), compile_=1)
    log.add("dynamo_cpp_guards_str", {}, tree.replace("1400", "1500"), compile_=1).metrics(compile_=1)
    advice = frames(log.open())["f"].variations[0].advice
    assert ("torch._dynamo.mark_static_address(p, guard=False)" in advice) is (kind == "torch.Tensor")
    assert ("Create the object once" in advice) is (kind != "torch.Tensor")


def test_the_distance_to_the_limit() -> None:
    found = frames(trace(REASONS))
    assert (found["kind"].compiles, found["kind"].limit, found["kind"].compiles_left, found["kind"].limit_hit) == (7, 8, 1, False)
    assert (found["stormy"].limit, found["stormy"].compiles_left, found["stormy"].limit_hit) == (4, 0, True)
    assert found["kind"].limit_ref == "3/6:compilation_metrics"


def test_an_unknown_time_of_recompilations_in_a_row_is_blank(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().metrics(duration_us=None)
    for number in range(1, 7):
        reason = json.dumps([f"0/{number - 1}: n == {number - 1}"])
        log.start(compile_=number).artifact("recompile_reasons", reason, compile_=number).metrics(compile_=number, duration_us=None)
    found = text(page(log.open(), "@recompiles"))
    assert "[0/1] … [0/6]  6 recompiles" in found and "0 ms" not in found


def test_a_value_in_two_spellings_counts_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().metrics()
    failed = (
        "expected type of 'x' to be a tensor type, ' but found <class 'int'>",
        "___check_type_id(x, 94), type=<class 'torch.Tensor'>",
        "_dynamo_dynamic_indices not a subset: runtime {0} is not a subset of compiled {1}",
        "_dynamo_dynamic_indices not a subset: runtime {1} is not a subset of compiled {0}",
    )
    for number, reason in enumerate(failed, 1):
        log.start(compile_=number).artifact("recompile_reasons", json.dumps([f"0/0: {reason}"]), compile_=number)
        log.metrics(compile_=number)
    (frame,) = result(page(log.open(), "@recompiles")).frames
    assert {v.cause: (v.values, v.value_count) for v in frame.variations} == {
        "type": (("Tensor", "int"), 2), "dimension mark": (("mark_dynamic of {1}", "mark_dynamic of {0}"), 2),
    }  # fmt: skip


def test_the_context_that_a_hook_of_the_program_gave_is_next_to_the_recompilation() -> None:
    run = trace("torch-2.13/user_contexts")
    (frame,) = result(page(run, "@recompiles")).frames
    assert [(r.ref, r.contexts) for r in frame.recompiles] == [("0/1", ("step 3 of warm-up",)), ("0/2", ("step 7 of warm-up",))]
    lines = [line.strip() for line in text(page(run, "@recompiles", 120)).splitlines()]
    contexts = [line for line in lines if line.startswith("your context")]
    assert contexts == ["your context  step 3 of warm-up", "your context  step 7 of warm-up"]
    assert "your context  step 7 of warm-up" in text(page(run, "0/2")) and "step 0" not in text(page(run, "0/0"))


@pytest.mark.parametrize(("guarded", "left"), [(True, 5), (False, 6)])
def test_a_compile_without_operations_counts_where_it_left_guarded_code(tmp_path: Path, guarded: bool, left: int) -> None:
    """`has_guarded_code` decides: a function that breaks at its first operation leaves code without a graph operation."""
    log = Log(tmp_path / "x.log")
    for number in range(3):
        has_code = guarded or number < 2
        fields: dict[str, Any] = {"cache_size": number, "has_guarded_code": has_code, "dynamo_config": '{"recompile_limit": 8}'}
        log.start(compile_=number).artifact("recompile_reasons", json.dumps(["0/0: t == 'a'"]), compile_=number)
        log.metrics(compile_=number, graph_op_count=0 if has_code else None, **fields)
    assert frames(log.open())["f"].compiles_left == left


def test_a_limit_without_configuration_is_told_by_the_failure(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().artifact("recompile_reasons", "0/0: n == 2", compile_=1)
    said = "Dynamo recompile limit exceeded\n  Explanation: … cache size limit (currently set to 5). …"
    log.metrics(compile_=1, fail_type="Unsupported", fail_reason=said)
    (frame,) = result(page(log.open(), "@recompiles")).frames
    assert (frame.limit, frame.compiles_left, frame.limit_hit) == (5, 0, True)


def test_nothing_is_said_of_a_limit_that_nobody_states(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1).metrics(compile_=1)
    run = log.open()
    (frame,) = result(page(run, "@recompiles")).frames
    assert (frame.limit, frame.compiles_left) == (None, None)
    assert "limit" not in text(page(run, "@recompiles"))


# advice


def test_advice_needs_a_fact() -> None:
    found = frames(trace(REASONS))

    def advice(name: str) -> str:
        return found[name].variations[0].advice

    assert "mark_dynamic(x, 0)" in advice("size") and "Torch made it dynamic at [0/1]" in advice("size")
    assert "automatic_dynamic_shapes was off" in advice("sizes")  # compiled with dynamic=False: the metrics say so
    assert "allow_unspec_int_on_nn_module" in advice("layer")
    assert "Your line branches on it" in advice("small_size")  # `if x.shape[0] < 9`: mark_unbacked would not help
    assert "use_duck_shape" in advice("equal")  # torch's own hint
    assert "mark_dynamic" not in advice("mode") and "cannot be dynamic" in advice("mode")
    assert "nothing to do" in advice("closed")
    sizes = found["sizes"].variations[0]
    assert (sizes.count, sizes.only_cause_refs, sizes.values) == (3, ("1/1", "1/2", "1/3"), ("3", "4", "5", "6"))


@pytest.mark.parametrize(("allowed", "advised"), [(True, False), (False, True), (None, True)])
def test_an_allowed_attribute_gets_no_advice_to_allow_it(allowed: bool | None, advised: bool, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1)
    log.artifact("recompile_reasons", "0/0: m._modules['a'].index == 2", compile_=1)
    log.metrics(compile_=1, dynamo_config=json.dumps({"allow_unspec_int_on_nn_module": allowed}))
    assert ("allow_unspec" in frames(log.open())["f"].variations[0].advice) == advised


@pytest.mark.parametrize(("guard", "advice"), [
    ("m._modules['a'].mode == 'fast'", "It cannot be dynamic"), ("m._modules['a'].on == True", "Bools cannot be dynamic"),
    ("m._modules['a'].scale == 0.5", "Use a buffer (a tensor) instead"),
    ("m._modules['a'].training == True", "avoid switching often"),
    ("name == 'fast'", "Strings cannot be dynamic"),
])  # fmt: skip
def test_what_helps_depends_on_what_varied(guard: str, advice: str, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1)
    log.artifact("recompile_reasons", f"0/0: {guard}", compile_=1).metrics(compile_=1)
    assert advice in frames(log.open())["f"].variations[0].advice


@pytest.mark.parametrize(("values", "many"), [(3, False), (4, True)])
def test_many_strings_are_better_kept_out(values: int, many: bool, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics()
    for number in range(1, values):
        log.start(compile_=number).artifact("recompile_reasons", f"0/0: name == 'v{number}'", compile_=number)
        log.add("create_symbol", {"symbol": "zf0", "source": "L['name']", "val": f"w{number}"}, compile_=number)
        log.metrics(compile_=number)
    (seen,) = frames(log.open())["f"].variations
    assert ("map it to a few values" in seen.advice) is (seen.value_count > 3)
    assert seen.value_count >= values - 1


# the page


@pytest.mark.parametrize(("name", "ref", "width"), [
    ("tests/traces/torch-2.13/recompiles", "", 60), ("tests/traces/torch-2.13/recompiles", "", 80),
    ("tests/traces/torch-2.13/recompiles", "", 160), ("tests/traces/torch-2.13/recompiles", "0/3", 80),
    ("tests/traces/torch-2.13/reasons", "", 80), ("tests/traces/torch-2.13/ddp", "", 80),
    ("tests/traces/torch-2.13/breaks", "", 80), ("tests/traces/torch-2.13/draft_export", "", 80), ("src/tltui/demo", "", 80),
])  # fmt: skip
def test_golden(name: str, ref: str, width: int) -> None:
    run = opened(name)
    document = page(run, f"@recompiles:{ref}" if ref else "@recompiles", width)
    assert max(len(line) for line in document.text()) <= width
    part = f"_{ref.replace('/', '_')}" if ref else ""
    assert_golden(f"recompiles_{name.rpartition('/')[2]}{part}_{width}", text(document))
    lead_somewhere(run, document)


def test_ascii() -> None:
    shown = text(page(trace("torch-2.13/recompiles"), "@recompiles", 80, ascii_=True))
    assert shown.isascii() and "[0/1] recompiled" in shown and "vs [0/0]: tensor size x dim 0: 3 -> 5" in shown


@pytest.mark.parametrize("name", ALL)
def test_every_trace(name: str) -> None:
    run = opened(name)
    for width in (60, 80, 160):
        document = page(run, "@recompiles", width)
        lines = (line for line in document.text() if "TORCH_COMPILE_" not in line)  # an assignment is one line, to be copied
        assert max(map(len, lines)) <= width
    found = result(document)
    assert found.recompiles == sum(len(frame.recompiles) for frame in found.frames)
    assert found.recompiles == sum(c.is_recompile and c.is_compile for c in run.compiles())
    assert json.loads(to_json(found))
    lead_somewhere(run, document)


def test_recompiles_in_a_row_are_one_line_that_opens() -> None:
    document = page(trace(REASONS), "@recompiles:20/")
    folds = {section.title: section.folded for section in document.sections()}
    assert folds["4 recompiles one by one"]
    line = next(n for n, line in enumerate(document.text()) if "4 recompiles, same guard" in line)
    assert document.line(line).text.startswith("  [20/1] … [20/4]  115 ms")


def test_the_same_code_on_another_rank_is_folded() -> None:
    run = trace("torch-2.13/ddp")
    log = [section for section in page(run, "@recompiles").sections() if section.level == 0]
    assert [section.folded for section in log][:1] == [False]


def test_an_empty_reason_is_said_to_be_empty(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1)
    log.artifact("recompile_reasons", "[\n\n]", compile_=1).metrics(compile_=1)
    log.start(compile_=2).metrics(compile_=2)
    shown = text(page(log.open(), "@recompiles"))
    assert "torch logged an empty list of reasons" in shown and "torch logged no reason." in shown


def test_a_reason_of_the_metrics_is_said_to_be_one(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1).metrics(compile_=1, recompile_reason="0/0: n == 2")
    shown = text(page(log.open(), "@recompiles"))
    assert "int value" in shown and "from the metrics" in shown


@pytest.mark.parametrize("payload", [
    "", "[", '["0/0: n == 2", 3, null, {}]', '"0/0: tensor \'x\' size mismatch at index 99999999. expected , actual "',
    "0/7: n == 2", "!9/9/9: x", "0/0: \x1b[31m[red]x[/red]\u202e == 'y'", "9" * 50 + "/1: n == 1", "0/1: n == 2", "0/0: ; ; ;",
    "0/0: ___check_obj_id(, 1)", "0/0: not ", "0/0: == 3", "0/0: x is ", "0/0: 2 <= ", "0/0: " + "(" * 5000, "0/0: " + "L['" * 3000,
])  # fmt: skip
def test_odd_reasons(payload: str, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().add("dynamo_cpp_guards_str", {}, TREE).metrics()
    log.start(compile_=1).artifact("recompile_reasons", payload, compile_=1)
    log.add("dynamo_cpp_guards_str", {}, TREE, compile_=1).metrics(compile_=1, dynamo_config="[", cache_size="x")
    run = log.open()
    document = page(run, "@recompiles", 60)
    assert "\x1b" not in text(document) and "\u202e" not in text(document)
    lead_somewhere(run, document)


def test_only_torchs_own_events_make_a_size_dynamic(tmp_path: Path) -> None:
    said = {"name": "L['x']", "dim_changed": 0, "reason": "size change", "cached": "3", "new": "5"}
    for name, count in (("automatic_dynamic", 1), ("somebody_else", 0)):
        log = Log(tmp_path / f"{name}.log").start().metrics().start(compile_=1)
        log.artifact("recompile_reasons", "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 5", compile_=1)
        log.add("chromium_event", {}, json.dumps({"name": name, "ph": "i", "ts": 1.0, "args": said}), compile_=1)
        log.add("create_symbol", {"symbol": "s0", "source": "L['x'].size()[0]", "val": "5"}, compile_=1).metrics(compile_=1)
        assert len(frames(log.open())["f"].recompiles[0].became_dynamic) == count


@pytest.mark.parametrize("event", [
    {"name": 3, "dim_changed": "all", "reason": "size change"}, [], None, {"name": "L['n']", "reason": "scalar change", "new": {}},
])  # fmt: skip
def test_odd_events(event: Any, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1).artifact("recompile_reasons", "0/0: n == 2", compile_=1)
    log.add("chromium_event", {}, json.dumps({"name": "automatic_dynamic", "ph": "i", "ts": 1.0, "args": event}), compile_=1)
    log.add("create_symbol", {"symbol": 3, "source": None}, compile_=1).add("create_symbol", [], compile_=1).metrics(compile_=1)
    assert "[0/1] recompiled" in text(page(log.open(), "@recompiles"))


def test_a_cut_log(tmp_path: Path) -> None:
    (source,) = (TRACES / REASONS).iterdir()
    data = source.read_bytes()
    for part in (1, 3, 5, 7):
        cut = tmp_path / f"{part}.log"
        cut.write_bytes(data[: len(data) * part // 8 + 137])
        run = fresh(cut)
        lead_somewhere(run, page(run, "@recompiles"))


def test_the_first_lines_are_there_at_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for frame in range(300):
        for compile_ in range(3):
            ids = {"frame": frame, "compile_": compile_}
            if compile_:
                log.artifact("recompile_reasons", f"{frame}/{compile_ - 1}: n == {compile_}", **ids)
            log.start(**ids).add("dynamo_cpp_guards_str", {}, TREE * 20, **ids).metrics(**ids)
    document = build(log.open(), "@recompiles", Options(width=80))
    assert "600 recompiles of 300 frames" in document.line(1).text
    while not document.advance():
        pass
    assert len(result(document).frames) == 300


# the address of a line


def test_an_address_may_name_a_line() -> None:
    target = at_line("3:0/1:dynamo_cpp_guards_str#2", 12)
    assert target == "3:0/1:dynamo_cpp_guards_str#2@L12"
    assert split_line(target) == ("3:0/1:dynamo_cpp_guards_str#2", 12)
    assert split_line("0/1:x") == ("0/1:x", None) and split_line("@L3") == ("@L3", None)
    assert parse_ref(target) == parse_ref("3:0/1:dynamo_cpp_guards_str#2")


def test_a_name_that_looks_like_a_line_stays_a_name() -> None:
    ref = parse_ref("0/1:a").at("")
    named = type(ref)(id=ref.id, artifact="odd@L12")
    assert split_line(str(named))[1] is None and parse_ref(str(named)) == named


def test_the_links_name_lines() -> None:
    found = targets(page(trace("torch-2.13/recompiles"), "@recompiles"))
    assert "0/0:dynamo_cpp_guards_str@L11" in found


def test_a_size_of_a_trace_with_its_text_became_dynamic_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recompiles", str(TRACES / "inputs" / "recompiles")]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "became dynamic" in line]
    assert lines == ["x dim 0 became dynamic: s77 from here on", "n became dynamic: s86 from here on"]


def test_the_first_compile_of_a_frame_names_the_further_ones() -> None:
    run = trace("torch-2.13/recompiles")
    document = page(run, "@recompiles:0/0")
    lines = text(document).splitlines()
    assert "[0/0] is the first compile of its frame" in lines[1]
    assert lines[2] == "The frame has 4 further compiles: 0/" and "@recompiles:0/" in targets(document)
    lead_somewhere(run, document)
