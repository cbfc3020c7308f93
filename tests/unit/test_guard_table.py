"""Causes from all guards, and predictions: torch names the first failed guard only (`tests/traces/scripts/guards.py`)."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from made_logs import Log
from make_trace import artifact, compiled, metrics, record, start, string, write
from pages import page
from real import TRACES, trace
from viewed import text

from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.failed_guard_text import strip_local
from tltui.questions.recompiles.frame_recompiles import FrameRecompiles
from tltui.questions.recompiles.guard_comparison import Version, compared
from tltui.questions.recompiles.guard_requirements import Property, requirements_in, requirements_of
from tltui.questions.recompiles.guard_table import base_guards, base_of, changes_of
from tltui.questions.recompiles.page import Recompiles
from tltui.questions.recompiles.variations import Variation
from tltui.sources.discover import discover

GUARDS = "torch-2.13/guards"


REFS = {
    "Layer": "0/", "several": "1/", "dictionary": "2/", "<lambda>": "3/", "wrapper": "4/", "product": "5/", "Attention": "6/",
    "clock": "8/",
    "in_a_mode": "10/",
}  # fmt: skip


def frame_of(function: str) -> FrameRecompiles:
    result = page(trace(GUARDS), f"@recompiles:{REFS[function]}").data()
    assert isinstance(result, Recompiles)
    (frame,) = result.frames
    return frame


def shown(function: str, width: int = 100) -> str:
    return text(page(trace(GUARDS), f"@recompiles:{frame_of(function).ref}", width))


def variation(frame: FrameRecompiles, source: str, cause: str = "") -> Variation:
    return next(v for v in frame.variations if v.source == source and cause in v.cause)


def effect(frame: FrameRecompiles, source: str, cause: str = "") -> tuple[int, int, int] | None:
    prediction = variation(frame, source, cause).prediction
    return (prediction.before, prediction.fewest, prediction.most) if prediction is not None else None


# causes


def test_a_layer_index_behind_requires_grad_is_a_cause() -> None:
    """advice.md 2: requires_grad was said to be the only cause of [0/1]."""
    frame = frame_of("Layer")
    grad, index = variation(frame, "x"), variation(frame, "self.i")
    assert grad.only_cause_refs == () and index.only_cause_refs == ()
    assert (grad.count, index.count) == (5, 5)
    assert index.reported == 4
    assert "also module attribute self.i 0 → 1" in text(page(trace(GUARDS), f"@recompiles:{frame.ref}"))


def test_a_fix_without_effect_is_not_offered() -> None:
    """Applied: 6 graphs with requires_grad_() as without, 2 with the dynamic attribute (the log cannot exclude more)."""
    frame = frame_of("Layer")
    assert effect(frame, "self.i") == (5, 1, 5)
    grad = variation(frame, "x")
    assert (grad.remedy, grad.code, grad.prediction) == ("", (), None)
    assert grad.advice == "Fixing this alone removes no recompilation, because self.i differs too."
    assert frame.variations[0].source == "self.i"


def test_the_only_cause_is_proven_by_the_guards() -> None:
    frame = frame_of("several")
    assert variation(frame, "x", "requires_grad").only_cause_refs == ("1/1",)
    assert variation(frame, "grad_mode").only_cause_refs == ()
    assert {c.ref: c.is_complete for c in frame.causes} == {f"1/{n}": True for n in range(1, 6)}
    assert ("tensor dtype", "x", None) in frame.causes[-1].causes


def test_predictions_equal_what_torch_does() -> None:
    """Each number was counted with torch 2.13 after the fix."""
    frame = frame_of("several")
    assert effect(frame, "x", "requires_grad") == (5, 4, 4)
    assert effect(frame, "x", "tensor size") == (5, 4, 4)
    together = frame.together
    assert together is not None and (together.before, together.fewest, together.most) == (5, 1, 1)
    assert effect(frame_of("dictionary"), "d") == (3, 1, 1)
    assert effect(frame_of("<lambda>"), "k") == (4, 0, 0)
    assert effect(frame_of("wrapper"), "args[0]", "tensor size") == (3, 2, 2)


def test_the_index_of_a_layer_behind_the_length_of_a_cache() -> None:
    """advice.md 2: `layer_idx` was not named at all."""
    frame = frame_of("Attention")
    assert variation(frame, "self.layer_idx").count == 7
    assert variation(frame, "self.layer_idx").reported == 0
    assert variation(frame, "cache.layers[*]").sources == ("cache.layers[0]", "cache.layers[1]", "cache.layers[2]")


def test_a_compile_without_guards_proves_nothing() -> None:
    """The limit was reached at [6/8]: its guards were never made."""
    frame = frame_of("Attention")
    assert frame.guards is not None and frame.guards.without_guards == ("6/8",)
    assert not frame.causes[-1].is_complete
    together = frame.together
    assert together is not None and together.fewest < together.most
    assert "No guards in the log for [6/8]: other causes of these compiles are unknown." in shown("Attention")


def test_modes_are_not_in_the_guards() -> None:
    """Torch compares the modes before the sizes: a mode that failed hides nothing that the guards show, but other modes."""
    frame = frame_of("in_a_mode")
    assert [c.is_complete for c in frame.causes] == [False, False]
    assert ("tensor size", "x", 0) in frame.causes[1].causes
    assert all(not v.only_cause_refs for v in frame.variations)


# remedies


def test_no_remedy_from_a_compile_that_failed() -> None:
    """advice.md 1: with mark_dynamic the first, good call raised ConstraintViolationError."""
    (found,) = frame_of("product").variations
    assert (found.remedy, found.code) == ("", ())
    assert found.advice.startswith("This compile failed (TorchRuntimeError). The call was wrong, or torch could not compile it")


def test_no_mark_for_the_arguments_of_a_wrapper() -> None:
    """advice.md 7: the program has no variable `args`."""
    found = variation(frame_of("wrapper"), "args[0]", "tensor size")
    assert "mark_dynamic" not in found.advice
    assert found.code == (r"torch.compiler.config.dynamic_sources = 'L\\[\\x27args\\x27\\]\\[0\\]$'",)


def test_a_closure_variable_is_no_argument() -> None:
    """advice.md 9."""
    assert "argument" not in variation(frame_of("<lambda>"), "k").advice


def test_modules_that_share_a_wrapper_share_its_limit() -> None:
    """advice.md 3."""
    frame = frame_of("wrapper")
    assert frame.guards is not None and frame.guards.callees == ("Embedding", "Linear", "LayerNorm")
    assert "Embedding, Linear, LayerNorm share this wrapper of torch and its recompile limit." in shown("wrapper")
    assert variation(frame, "args[0]", "tensor dtype").remedy == ""


def test_a_value_on_the_stack_is_that_of_the_line_that_broke_the_graph() -> None:
    """advice.md 10: nobody can put a tensor in the place of `___stack0`."""
    (found,) = frame_of("clock").variations
    assert "___stack0 is a value of the line at line" not in found.advice
    assert "___stack0 is a value of line 156, which broke the graph" in found.advice
    assert "tensor" not in found.advice


def test_the_keys_that_differ_are_named() -> None:
    """advice.md 7: which key it is was not shown."""
    lines = shown("dictionary").split("\n")
    assert "keys: 'c' added" in [line.strip() for line in lines]


# the table


def test_the_table_has_a_column_a_version() -> None:
    table = frame_of("Layer").guards
    assert table is not None
    assert table.versions == tuple(f"0/{n}" for n in range(6))
    assert [(row.cause, row.source, row.values) for row in table.rows] == [
        ("requires_grad", "x", ("no", "yes", "yes", "yes", "yes", "yes")),
        ("module attribute", "self.i", ("0", "1", "2", "3", "4", "5")),
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits(width: int) -> None:
    for function in ("Attention", "several", "wrapper"):
        assert max(len(line) for line in shown(function, width).split("\n") if "TORCH_COMPILE_" not in line) <= width
    assert "requires_grad x" in shown("several", width)


def test_the_table_is_in_json() -> None:
    result = json.loads(to_json(page(trace(GUARDS), f"@recompiles:{frame_of('several').ref}").data()))
    (frame,) = result["frames"]
    assert frame["guards"]["versions"] == [f"1/{n}" for n in range(6)]
    assert frame["guards"]["rows"][0]["values"] == ["no", "yes", "yes", "no", "yes", "no"]
    assert frame["together"]["names"]


def test_without_guards_the_page_says_so_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics()
    for n in (1, 2):
        log.start(compile_=n).artifact("recompile_reasons", f"0/{n - 1}: n == {n}", compile_=n).metrics(compile_=n)
    document = page(log.open(), "@recompiles")
    result = document.data()
    assert isinstance(result, Recompiles)
    assert result.frames[0].guards is None and result.frames[0].variations[0].prediction is None
    words = "The log has no guards: these are only the causes that torch named first."
    assert text(document).count(words) == 1


def test_a_function_without_guards_beside_others(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start(frame=1).add("dynamo_cpp_guards_str", {}, "TREE_GUARD_MANAGER:", frame=1).metrics(frame=1)
    log.start().metrics().start(compile_=1).artifact("recompile_reasons", "0/0: n == 1", compile_=1).metrics(compile_=1)
    lines = text(page(log.open(), "@recompiles"))
    assert lines.count("The log has no guards of this function: torch named these causes first.") == 1
    assert "The log has no guards:" not in lines


def test_text_without_guards_says_so(tmp_path: Path) -> None:
    """TORCH_LOGS=recompiles prints reasons and no guards."""
    printed = lzma.decompress((TRACES / "inputs" / "recompiles" / "stderr.txt.xz").read_bytes())
    lines = printed.split(b"\n")
    is_reason = (b"Recompiling", b"triggered", b" - ")
    without_guards = b"\n".join(line for line in lines if b"guards.py" not in line or any(words in line for words in is_reason))
    (tmp_path / "stderr.txt").write_bytes(without_guards)
    lines_shown = text(page(open_run(discover([str(tmp_path / "stderr.txt")])), "@recompiles"))
    assert "recompiles of 1 frame" in lines_shown
    assert lines_shown.replace("\n", " ").count("has no guards: these are only the causes that torch named first.") == 1


# the grammar


@pytest.mark.parametrize(("line", "requirements"), [
    ("+- EQUALS_MATCH: L['n'] == 3   # return x * n  # f.py:1 in f", {("value", "n", ""): "3"}),
    ("+- GuardManager: source=L['n'], accessed_by=A, type=<class 'int'>, tag_safe=(True, False)", {("kind", "n", ""): "int"}),
    ("| +- TYPE_MATCH: ___check_type_id(L['fn'], 94), type=<class 'a.B'> (HINT: type B)", {("type", "fn", ""): "a.B"}),
    ("| +- NONE_MATCH: L['m'] is None", {("value", "m", ""): "None"}),
    ("| +- DICT_LENGTH: not L['d']", {("length", "d", ""): "0"}),
    ("| +- LENGTH_CHECK: len(L['d']) == 2", {("length", "d", ""): "2"}),
    ("| +- DICT_CONTAINS: not ___dict_contains('forward', L['m'].__dict__)", {("key", "m.__dict__", "'forward'"): "not there"}),
    ("+- LAMBDA_GUARD: 2 <= L['x'].size()[0]", {("condition", "2 <= x.size()[0]", ""): "there"}),
    ("+- LAMBDA_GUARD: L['p'] == 0.25", {("value", "p", ""): "0.25"}),
    ("+- LAMBDA_GUARD: L['y'] is L['x']", {("aliasing", "x", "y"): "one object"}),
    ('| +- GLOBAL_STATE: ___check_global_state() against {"grad_mode":true}', {("state", "", "grad_mode"): "true"}),
    ('| +- GLOBAL_STATE: ___check_global_state() against {"default_dtype":15}', {("state", "", "default_dtype"): "bfloat16"}),
    ('| +- GLOBAL_STATE: ___check_global_state() against {"default_dtype":44}', {("state", "", "default_dtype"): "ScalarType 44"}),
    ("| +- GLOBAL_STATE: ___check_global_state()", {("opaque", "", "global settings"): ""}),
    ("| +- TORCH_FUNCTION_MODE_STACK: ___check_torch_function_mode_stack()", {}),
    ("nothing", {}),
    ("| +- " + "x" * 30_000, {}),
])  # fmt: skip
def test_a_line_requires(line: str, requirements: dict[tuple[str, str, str], str]) -> None:
    assert {tuple(key): value for key, value in requirements_in(strip_local(line))} == requirements


def test_a_tensor_has_a_requirement_for_each_property() -> None:
    line = (
        "| +- TENSOR_MATCH: check_tensor(d['a, b'], Parameter, DispatchKeySet(CPU, AutogradCPU), torch.float32, device=None, "
        "requires_grad=True, size=[None, 4], stride=[4, 1])"
    )
    values = {(key.kind, key.name): value for key, value in requirements_in(line)}
    assert {key.source for key, _ in requirements_in(line)} == {"d['a, b']"}
    assert [values[kind, ""] for kind in ("class", "dtype", "grad", "rank")] == ["Parameter", "float32", "True", "2"]
    assert (values["size", "0"], values["size", "1"], values["stride", "0"]) == ("any", "4", "4")


def test_a_dict_with_keys_in_order_has_a_length() -> None:
    """Torch compares it, and writes no line for it."""
    manager = "| +- DictGuardManager: source=L['d'], accessed_by=A, type=<class 'dict'>, tag_safe=(False, False)\n"
    pair = "| | | +- KeyManager: GuardManager: source=list(dict.keys(L['d']))[{0}], type=<class 'str'>, tag_safe=(False, False)\n"
    assert requirements_of(manager + pair.format(0) + pair.format(1))[Property("length", "d")] == ("2", "")
    assert Property("length", "d") not in requirements_of(manager + pair.format(1))
    assert requirements_of(manager)[Property("length", "d")] == ("0", "")


# the comparison against torch

WITHOUT_VALUES = ("global state", "backend", "object freed", "dimension mark")
"""Causes that guards have no value of, or under another name (autocast)."""


@pytest.mark.parametrize("name", ["guards", "reasons", "remedies", "recompiles", "shapes", "train", "outcomes"])
def test_each_guard_that_torch_names_differs_in_the_table(name: str) -> None:
    """The table alone finds it, or reports it as unknown: never as equal."""
    compared_pairs = 0
    for compile_ in trace(f"torch-2.13/{name}").compiles():
        base = base_of(compile_.frame) if compile_.is_compile and compile_.is_recompile else None
        if base is None or changes_of(compile_) is None:
            continue
        older = {str(c.ref): c for c in compile_.frame.compiles if changes_of(c) is not None}
        requirements = base_guards(base).requirements
        call = Version(compile_, requirements, changes_of(compile_))
        for reason in explained_of(compile_).reasons:
            if reason.earlier not in older or reason.cause in WITHOUT_VALUES:
                continue
            version = older[reason.earlier]
            result = compared(Version(version, requirements, changes_of(version)), call, 0, (), False, {})
            differing = {difference.key for difference in result.differences}
            assert not differing.isdisjoint(reason.keys) or not result.is_complete, (compile_.ref, reason.text)
            compared_pairs += 1
    assert compared_pairs or name == "train"


# whose a line is


@pytest.mark.parametrize(("files", "file", "owner", "origin"), [
    (("/opt/venv/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py",),
     "/opt/venv/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py", "a library", "a library"),
    (("/home/jane/transformers/models/bert/modeling_bert.py",),
     "/home/jane/transformers/models/bert/modeling_bert.py", "", "your line"),
    ((), "transformers/models/bert/modeling_bert.py", "", ""),
    (("/opt/venv/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py",
      "/home/jane/transformers/models/bert/modeling_bert.py"), "transformers/models/bert/modeling_bert.py", "", ""),
])  # fmt: skip
def test_a_line_is_yours_only_if_its_path_shows_it(
    files: tuple[str, ...], file: str, owner: str, origin: str, tmp_path: Path
) -> None:
    """advice.md 5: the short path of a guard is the end of a path in the trace; without a match nothing is claimed."""
    reason = (
        "0/0: 2*L['x'].size()[0] < 10  # if y.shape[0] < 10:  # transformers/models/bert/modeling_bert.py:7 in forward "
        "(_dynamo/variables/tensor.py:1 in evaluate_expr)"
    )
    graph = "".join(f"# File: {name}:7 in forward, code: y\n" for name in files)
    log = Log(tmp_path / "a.log").start().add("dynamo_output_graph", {}, f"def forward(self):\n{graph}").metrics()
    log.start(compile_=1).artifact("recompile_reasons", json.dumps([reason]), compile_=1).metrics(compile_=1)
    result = page(log.open(), "@recompiles").data()
    assert isinstance(result, Recompiles)
    (shown_reason,) = result.frames[0].recompiles[0].reasons
    assert (shown_reason.file, shown_reason.owner, shown_reason.origin) == (file, owner, origin)
    advice = result.frames[0].variations[0].advice
    assert ("Your line" in advice) == (origin == "your line")
    assert ("Library code branches" in advice) == (origin == "a library")


# advice for cases of real programs


def recompiled(path: Path, *reasons: str, name: str = "f", file: str = "/home/jane/f.py") -> FrameRecompiles:
    """A function that was compiled again once for each reason."""
    data = [string(file, 0), compiled(name=name, fields={"co_filename": file})]
    for n, reason in enumerate(reasons, 1):
        ids = {"frame": 0, "compile": n, "attempt": 0}
        data += [
            start(name, **ids),
            artifact("recompile_reasons", json.dumps([reason]), "json", **ids),
            metrics(fields={"co_name": name, "co_filename": file}, **ids),
        ]
    result = page(open_run(discover([str(write(path, b"".join(data)))])), "@recompiles").data()
    assert isinstance(result, Recompiles)
    (frame,) = result.frames
    return frame


def test_a_model_without_a_graph_is_the_first_line_of_the_summary(tmp_path: Path) -> None:
    """Case 4: both ranks compiled a wrapper and no operation, and no page said that the model runs in eager mode."""
    for rank in (0, 1):
        name = "DistributedDataParallel.__call__"
        ids = {"rank": rank, "frame": 0, "compile": 0}
        data = string("/home/jane/f.py", 0) + start(name, **ids)
        data += artifact("dynamo_graph_break_reason", "Graph break", **ids, attempt=0)
        data += metrics(fields={"co_name": name, "graph_op_count": 0}, **ids)
        write(tmp_path, data, f"dedicated_log_torch_trace_rank_{rank}_abcd{rank}.log")
    run = open_run(discover([str(tmp_path)]))
    first, second = text(page(run, "", 160)).splitlines()[:2]
    assert "passed a graph with operations to a backend, so no operation runs in compiled code." in first + second
    assert gates(run, parse_limits("no_graph")).limits[0].value == 2


def test_the_code_of_a_guard_stands_beside_its_own_file_and_line(tmp_path: Path) -> None:
    """Case 6: a line of tensordict was shown under the file and line of the program."""
    reason = "0/0: len(td._tensordict) == 1  # self._tensordict[key] = value  # tensordict/_td.py:1661 in _set_str"
    frame = recompiled(tmp_path, reason, name="cat", file="/home/jane/rl.py")
    (shown_reason,) = frame.recompiles[0].reasons
    assert (shown_reason.file, shown_reason.line) == ("tensordict/_td.py", 1661)
    assert shown_reason.code == "self._tensordict[key] = value"
    assert not shown_reason.is_of_program


def test_equal_keys_do_not_fix_different_modules_of_a_wrapper(tmp_path: Path) -> None:
    """Case 8: with the same keys in each call, 1 of 3 recompilations remained: actor and value share the wrapper."""
    wrapper = "/opt/venv/lib/python3.11/site-packages/tensordict/nn/common.py"
    calls = (("A", "1"), ("A", "2"), ("V", "2"), ("V", "3"))
    data = [string(wrapper, 0)]
    for n, (module, length) in enumerate(calls):
        ids = {"frame": 0, "compile": n, "attempt": 0}
        kind = 1 if module == "A" else 2
        tree = (
            f"+- TYPE_MATCH: ___check_type_id(L['self'], {kind}), type=<class 'tensordict.{module}'>\n"
            f"+- GuardManager: source=L['td'], accessed_by=A, type=<class 'dict'>\n| +- DICT_LENGTH: len(L['td']) == {length}\n"
        )
        data += [start("wrapper", **ids), record("dynamo_cpp_guards_str", {}, f"TREE_GUARD_MANAGER:\n{tree}", **ids)]
        if n:
            other_type = "___check_type_id(self, 1), type=<class 'tensordict.A'>"
            older = [(m, calls[m][1]) for m in reversed(range(n))]
            failed = [f"0/{m}: {f'len(td) == {keys}' if keys != length else other_type}" for m, keys in older]
            data.append(artifact("recompile_reasons", json.dumps(failed), "json", **ids))
        data.append(metrics(fields={"co_name": "wrapper", "co_filename": wrapper}, **ids))
    result = page(open_run(discover([str(write(tmp_path, b"".join(data)))])), "@recompiles").data()
    assert isinstance(result, Recompiles)
    (frame,) = result.frames
    assert frame.guards is not None and frame.guards.callees == ("A", "V")
    assert variation(frame, "td").remedy == "same keys"
    assert effect(frame, "td") == (3, 1, 1)
    assert variation(frame, "self", "type").remedy == ""


def test_values_that_differ_in_a_layer_index_are_one_cause(tmp_path: Path) -> None:
    """Case 11: `is_initialized` of each cached layer was a bool of its own that "can't be dynamic"."""
    reasons = [f"0/{n}: cache.layers[{n}].is_initialized == False" for n in range(3)]
    (found,) = recompiled(tmp_path, *reasons).variations
    assert (found.source, found.count, len(found.sources)) == ("cache.layers[*].is_initialized", 3, 3)
    assert found.advice == "The guards name each index, so each index has a compiled version of its own."


def test_values_that_change_at_all_indices_together_are_no_index(tmp_path: Path) -> None:
    """`chat_turns` of docs/advice-corpus.md: all layers of a cache are empty in the first call, and filled in the second."""
    ids = {"frame": 0, "compile": 1, "attempt": 0}
    reasons = [f"0/0: cache.layers[{n}].is_initialized == False" for n in range(3)]
    data = [string("/home/jane/f.py", 0), compiled(name="f", fields={"co_filename": "/home/jane/f.py"}), start("f", **ids),
            artifact("recompile_reasons", json.dumps(reasons), "json", **ids), metrics(fields={"co_name": "f"}, **ids)]  # fmt: skip
    result = page(open_run(discover([str(write(tmp_path, b"".join(data)))])), "@recompiles").data()
    assert isinstance(result, Recompiles)
    (cause,) = result.frames[0].variations
    assert cause.sources and cause.advice.startswith("Bools cannot be dynamic: True and False are compiled separately")


def test_the_size_of_a_tensor_behind_a_view_is_explained(tmp_path: Path) -> None:
    """`torchrl_exploration` of docs/advice-corpus.md."""
    (cause,) = recompiled(tmp_path, "0/0: 'NoneType' object has no attribute 'size'").variations
    assert cause.cause == "other" and "such as the one behind a view (x._base)" in cause.advice


def test_a_number_of_another_type_is_a_cause_by_its_type(tmp_path: Path) -> None:
    """Case 12: k was 0.0, 3 and 2.0, and the page called that a float that became dynamic, with nothing to do."""
    data = [string("/home/jane/f.py", 0)]
    for n, k in enumerate(("0.0", "3", "2.0")):
        ids = {"frame": 0, "compile": n, "attempt": 0}
        kind = "float" if "." in k else "int"
        tree = f"+- GuardManager: source=L['k'], accessed_by=A, type=<class '{kind}'>\n| +- EQUALS_MATCH: L['k'] == {k}\n"
        data += [start(**ids), record("dynamo_cpp_guards_str", {}, f"TREE_GUARD_MANAGER:\n{tree}", **ids)]
        if n:
            failed = [f"0/{older}: k == {('0.0', '3')[older]}" for older in reversed(range(n))]
            data.append(artifact("recompile_reasons", json.dumps(failed), "json", **ids))
        data.append(metrics(**ids))
    result = page(open_run(discover([str(write(tmp_path, b"".join(data)))])), "@recompiles").data()
    assert isinstance(result, Recompiles)
    (frame,) = result.frames
    kind_of_k = variation(frame, "k", "type")
    assert (kind_of_k.remedy, kind_of_k.values) == ("one type", ("float", "int"))
    assert all(found.remedy != "nothing to do" for found in frame.variations)
    assert all(set(found.values) in ({"0.0", "2.0"}, {"3"}, {"float", "int"}) for found in frame.variations)
