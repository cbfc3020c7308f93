"""Warm-up calls: what traces record of a call, hostile names and values, and the script as a syntax tree."""

from __future__ import annotations

import ast
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import DEMO, opened, trace
from viewed import text

from tltui.cli import main
from tltui.model.run import Run
from tltui.questions.shapes.shape_env import Symbol
from tltui.questions.warmup.page import argument_text
from tltui.questions.warmup.recorded_calls import (
    Argument,
    Guarded,
    NotCallable,
    RecordedCall,
    UncalledCompile,
    WarmupPlan,
    is_name,
    local_guards,
    number_of,
    plain_value,
    recorded_call,
)
from tltui.writers.warmup.script import BadModule, check_modules, script_of

CODE = ("__import__('os').system('x')", "1) or __import__('os').system('x'", "x\nimport os", "os.system", "1 if x else 2", "")
STATE = '{"autocast_state":{"enabled":[%s]},"grad_mode":%s}'


def plan_of(run: Run) -> WarmupPlan:
    plan = page(run, "@warmup").data()
    assert isinstance(plan, WarmupPlan)
    return plan


def tree(*variables: tuple[str, str, str], autocast: str = "false", grad: str = "true") -> str:
    """Return a guard tree with (name, type, guard) of the arguments, in torch's words."""
    lines = ["TREE_GUARD_MANAGER:", "+- RootGuardManager",
             f"| +- GLOBAL_STATE: ___check_global_state() against {STATE % (autocast, grad)}"]  # fmt: skip
    for place, (name, kind, guard) in enumerate(variables):
        accessor = f"FrameLocalsGuardAccessor(key='{name}', framelocals_idx={place})"
        lines.append(f"| +- GuardManager: source=L['{name}'], accessed_by={accessor}, type=<class '{kind}'>, tag_safe=(True, True)")
        if guard:
            lines.append(f"| | +- {guard}  # return x  # f.py:5 in f")
    return "\n".join(lines)


def made(path: Path, function: str = "f", guards: str = "", **tensor: Any) -> RecordedCall | UncalledCompile:
    """Return the call of a made compile whose argument x is a tensor with these fields."""
    fields = {"id": 1, "describer_id": 1, "storage": 0, "dtype": "torch.float32", "device": "device(type='cpu')",
              "size": [4, 8], "stride": [8, 1]} | tensor  # fmt: skip
    log = Log(path / "dedicated_log_torch_trace_abcdefgh.log").start(function)
    log.add("describe_tensor", fields).add("describe_source", {"describer_id": 1, "id": 1, "source": "L['x']"})
    log.add("dynamo_cpp_guards_str", {}, guards or tree(("x", "torch.Tensor", "")))
    return recorded_call(log.metrics().compile())


def reason(recorded: RecordedCall | UncalledCompile) -> str:
    assert isinstance(recorded, UncalledCompile)
    return recorded.reason


def call(recorded: RecordedCall | UncalledCompile) -> RecordedCall:
    assert isinstance(recorded, RecordedCall)
    return recorded


def test_golden() -> None:
    assert_golden("warmup_demo_100", text(page(opened("src/tltui/demo"), "@warmup", 100)))
    assert_golden("warmup_demo_ascii_60", text(page(opened("src/tltui/demo"), "@warmup", 60, ascii_=True)))


def test_a_method_needs_its_object_and_has_its_backward() -> None:
    [one] = plan_of(trace("torch-2.13/train")).calls
    assert (one.name, one.has_backward, one.has_grad) == ("M.forward", True, True)
    assert [(arg.name, arg.dtype, arg.size, arg.stride, arg.device) for arg in one.arguments] == [
        ("i", "int64", (2, 16), (16, 1), "cpu")
    ]


def test_equal_calls_of_ranks_are_written_once() -> None:
    calls = plan_of(opened("src/tltui/demo")).calls
    assert sum(one.name == "Model.forward" for one in calls) == 2
    assert len({(one.name, one.arguments) for one in calls}) == len(calls)


def test_a_compile_for_another_attribute_is_no_call_of_its_own() -> None:
    """The third compile of step differs from the second in the mode of the model, a global."""
    plan = plan_of(trace("recompiled/dropout_modes"))
    [one] = plan.uncalled
    assert (one.ref, one.function) == ("0/2", "step") and one.reason.startswith("its arguments are those of a listed call")
    shown = " ".join(text(page(trace("recompiled/dropout_modes"), "@warmup")).split())
    assert "2 calls to 1 function · 1 compile without a call" in shown and "which the script does not set [0/2]" in shown


def test_the_rest_of_a_function_has_no_call() -> None:
    plan = plan_of(trace("torch-2.13/breaks"))
    assert {one.ref for one in plan.uncalled if "after a graph break" in one.reason} >= {"1/0", "4/0", "5/0"}
    assert [one.ref for one in plan.calls] == ["0/0", "2/0", "3/0"]


def after_break(path: Path, *values: str) -> WarmupPlan:
    """Return the plan of a function that was called with x, and whose rest was compiled for each of the values of n."""
    log = Log(path / "dedicated_log_torch_trace_abcdefgh.log").start("f")
    log.add("dynamo_cpp_guards_str", {}, tree(("m", "int", "EQUALS_MATCH: L['m'] == 1"))).metrics()
    for number, value in enumerate(values):
        ids = {"frame": 1, "compile_": number}
        log.add("dynamo_start", {"stack": [{"line": 6, "name": "torch_dynamo_resume_in_f_at_6", "filename": 0}]}, **ids)
        rest = tree(("___stack0", "torch.Tensor", ""), ("m", "int", "EQUALS_MATCH: L['m'] == 9"),
                    ("n", "int", f"EQUALS_MATCH: L['n'] == {value}"), ("model", "train.Model", ""))  # fmt: skip
        log.add("dynamo_cpp_guards_str", {}, rest, **ids).metrics(**ids)
    return plan_of(log.open())


def test_variables_after_a_graph_break_may_be_arguments(tmp_path: Path) -> None:
    plan = after_break(tmp_path, "3", "3", "4")
    assert [(one.ref, [(arg.name, arg.value) for arg in one.arguments + one.later]) for one in plan.calls] == [
        ("0/0", [("m", 1), ("n", 3)]), ("1/2", [("m", 1), ("n", 4)])
    ]  # fmt: skip
    assert [one.ref for one in plan.uncalled] == ["1/0", "1/1", "1/2"]


def test_a_hostile_value_after_a_graph_break_is_left_out(tmp_path: Path) -> None:
    assert [one.later for one in after_break(tmp_path, "__import__('os')").calls] == [()]


def test_a_made_call_is_complete(tmp_path: Path) -> None:
    variables = (
        ("x", "torch.Tensor", ""), ("flag", "bool", "TRUE_MATCH: L['flag'] == True"), ("n", "int", "EQUALS_MATCH: L['n'] == -3"),
        ("mask", "NoneType", "NONE_MATCH: L['mask'] is None"), ("args", "tuple", "LENGTH_CHECK: not L['args']"),
    )  # fmt: skip
    guards = tree(*variables, grad="false")
    one = call(made(tmp_path, guards=guards, requires_grad=True))
    assert [(arg.name, arg.value) for arg in one.arguments] == [
        ("x", None), ("flag", True), ("n", -3), ("mask", None), ("args", ())
    ]  # fmt: skip
    assert one.arguments[0].requires_grad
    assert not one.has_grad


@pytest.mark.parametrize("name", [*CODE, "a.b", "class", "__import__", "__builtins__", "1a", "ｆ", "é", "a b", "a" * 201, "None"])
def test_a_name_is_a_plain_identifier(name: str, tmp_path: Path) -> None:
    assert not is_name(name)
    assert reason(made(tmp_path, name)) in (
        "its name is not a plain identifier", "a special method", "the log has no guards of this compile"
    )


@pytest.mark.parametrize("value", [*CODE, "1e999", "nan", "inf", "10**10", "0x10", "1_000", "9" * 14, "True", "1 #", "1;2", "²"])
@pytest.mark.parametrize("kind", ["int", "float"])
def test_other_texts_are_not_numbers(value: str, kind: str) -> None:
    with pytest.raises(NotCallable):
        number_of(value, kind) if kind != "float" or value != "9" * 14 else number_of("9" * 60, kind)


def test_numbers_have_their_type() -> None:
    assert [number_of(text, "float") for text in ("1e-05", "0.125", "2")] == [1e-05, 0.125, 2.0]
    assert number_of("-3", "int") == -3
    assert number_of(" True", "bool") is True
    dynamic = Guarded("L['n']", "int", ("TYPE_MATCH: ___check_type_id(L['n'], 1)",))
    assert plain_value(dynamic, Symbol("s0", "L['n']", 7, None)) == 7
    with pytest.raises(NotCallable, match="the value of its argument n is not in the trace"):
        plain_value(dynamic, None)


@pytest.mark.parametrize(
    "tensor",
    [
        *({"size": [4, item]} for item in CODE), {"size": [4, -1]}, {"size": [4, True]}, {"size": [4, 1.5]}, {"size": [1 << 41]},
        {"size": [1 << 20, 1 << 20], "stride": None}, {"stride": [8, "__import__('os')"]}, {"stride": [8]}, {"size": [[4], 8]},
        {"stride": [1 << 39, 1]}, {"size": [1] * 65, "stride": None}, {"size": None}, {"dtype": "torch.os"},
        {"dtype": "torch.float32.__class__"}, {"device": "import os"}, {"device": "device(type='os')"},
        {"is_sparse": True}, {"is_traceable_wrapper_subclass": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_tensor_with_other_fields_has_no_call(tensor: dict[str, Any], tmp_path: Path) -> None:
    assert reason(made(tmp_path, **tensor)).startswith(("its argument x ", "the size of its argument x "))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ((("x", "dict", "EQUALS_MATCH: len(L['x']) == 1"),), ""),
        ((("x", "str", "EQUALS_MATCH: L['x'] == 'a'"),), ""),
        ((("x", "list", "LENGTH_CHECK: len(L['x']) == 2"),), "neither a tensor nor a plain value: list"),
        ((("x", "tuple", "LENGTH_CHECK: len(L['x']) == 2"),), "item 0 of its argument x is not in the trace"),
        ((("x", "tuple", "LENGTH_CHECK: len(L['x']) == 65"),), "too large"),
        ((("x", "int", "EQUALS_MATCH: L['x'] == __import__('os')"),), "no value that is a plain int"),
        ((("x; import os", "int", "EQUALS_MATCH: L['x; import os'] == 3"),), "an argument has no plain name"),
        ((("self", "train.os system", ""),), "the class of its object has no plain name"),
        ((("self", "__main__.__import__", ""),), "the class of its object has no plain name"),
    ],
)
def test_other_arguments_have_a_reason(variables: tuple[tuple[str, str, str], ...], expected: str, tmp_path: Path) -> None:
    recorded = made(tmp_path, guards=tree(*variables))
    assert expected in (recorded.reason if isinstance(recorded, UncalledCompile) else "")
    assert isinstance(recorded, UncalledCompile) == bool(expected)


LITERALS = r"""
| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0), type=<class 'torch.Tensor'>
| +- GuardManager: source=L['mode'], accessed_by=FrameLocalsGuardAccessor(key='mode', framelocals_idx=1), type=<class 'str'>
| | +- EQUALS_MATCH: L['mode'] == "dou'ble\né"                                     # if mode == "double": x = x * 2  # lit.py:4 in f
| +- GuardManager: source=L['opts'], accessed_by=FrameLocalsGuardAccessor(key='opts', framelocals_idx=5), type=<class 'tuple'>
| | +- TYPE_MATCH: ___check_type_id(L['opts'], 139916967535488), type=<class 'tuple'>  # for o in opts:  # lit.py:7 in f
| | +- LENGTH_CHECK: len(L['opts']) == 5                                           # for o in opts:  # lit.py:7 in f
| | +- GuardManager: source=L['opts'][0], accessed_by=TupleGetItemGuardAccessor(0), type=<class 'str'>
| | | +- EQUALS_MATCH: L['opts'][0] == 'a'                                           # if o == "a": x = x + 1  # lit.py:8 in f
| | +- GuardManager: source=L['opts'][1], accessed_by=TupleGetItemGuardAccessor(1), type=<class 'NoneType'>
| | | +- NONE_MATCH: L['opts'][1] is None                                          # if o == "a": x = x + 1  # lit.py:8 in f
| | +- GuardManager: source=L['opts'][2], accessed_by=TupleGetItemGuardAccessor(2), type=<class 'bool'>
| | | +- TRUE_MATCH: L['opts'][2] == True                                          # if o == "a": x = x + 1  # lit.py:8 in f
| | +- GuardManager: source=L['opts'][3], accessed_by=TupleGetItemGuardAccessor(3), type=<class 'int'>
| | | +- EQUALS_MATCH: L['opts'][3] == 2                                             # if o == "a": x = x + 1  # lit.py:8 in f
| | +- GuardManager: source=L['opts'][4], accessed_by=TupleGetItemGuardAccessor(4), type=<class 'float'>
| | | +- EQUALS_MATCH: L['opts'][4] == 1.5                                           # if o == "a": x = x + 1  # lit.py:8 in f
""".replace("'>\n", "'>, tag_safe=(False, False)\n")
"""Guards as torch 2.13 wrote them for `f(x, "dou'ble\\né", opts=("a", None, True, 2, 1.5))`."""


def literal_call(path: Path, old: str = "", new: str = "") -> RecordedCall | UncalledCompile:
    """Return the call with the guards of `LITERALS`, one text replaced."""
    assert old in LITERALS
    return made(path, guards="TREE_GUARD_MANAGER:\n+- RootGuardManager" + (LITERALS.replace(old, new) if old else LITERALS))


def test_strings_and_tuples_that_guards_fix_are_literals(tmp_path: Path) -> None:
    one = call(literal_call(tmp_path))
    assert [(arg.name, arg.value) for arg in one.arguments[1:]] == [("mode", "dou'ble\né"), ("opts", ("a", None, True, 2, 1.5))]
    script = script_of([one], [], ["train"], "a run")
    values, _ = parts_of(script)
    check_calls(values["CALLS"])
    assert script.isascii()
    assert r"""'mode': "dou'ble\n\xe9",""" in script
    assert "'opts': ('a', None, True, 2, 1.5)," in script
    assert argument_text(one.arguments[1]) == f"mode {one.arguments[1].value!r}"
    assert "Without a call" not in script, "a heading without lines"


@pytest.mark.parametrize(
    ("size", "stride", "words"),
    [((4, 16), (16, 1), ""), ((4, 16), (1, 4), " stride [1, 4]"), ((1, 16), (99, 1), ""), ((0, 3), (3, 1), ""), ((), (), "")],
)
def test_calls_that_differ_in_strides_only_are_told_apart(size: tuple[int, ...], stride: tuple[int, ...], words: str) -> None:
    argument = Argument("x", "float32", size, stride, "cpu", False, (), None)
    assert argument_text(argument) == f"x float32[{', '.join(map(str, size))}]{words}"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (r'''L['mode'] == "dou'ble\né"''', "L['mode'] == __import__('os').name", "a string that is not in the trace, or too long"),
        (r'''L['mode'] == "dou'ble\né"''', "L['mode'] == 'a' 'b'", "a string that is not in the trace, or too long"),
        (r'''L['mode'] == "dou'ble\né"''', f"L['mode'] == '{'a' * 201}'", "a string that is not in the trace, or too long"),
        ("len(L['opts']) == 5", "len(L['opts']) == 6", "item 5 of its argument opts is not in the trace"),
        ("<class 'NoneType'>", "<class 'torch.Tensor'>", "does not only contain plain values: Tensor"),
        ("L['opts'][3] == 2 ", "L['opts'][3] == os ", "no value that is a plain int"),
        ("EQUALS_MATCH: L['opts'][4]", "TYPE_MATCH: L['opts'][4]", "the value of its argument opts[4] is not in the trace"),
    ],
)
def test_other_strings_and_tuples_have_a_reason(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert expected in reason(literal_call(tmp_path, old, new))


def test_the_script_can_be_printed(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    assert main(["warmup", str(DEMO), "--module", "train", "-o", str(tmp_path / "w.py")]) == 0
    capsysbinary.readouterr()
    assert main(["warmup", str(DEMO), "--module", "train", "-o", "-"]) == 0
    assert capsysbinary.readouterr().out == (tmp_path / "w.py").read_bytes()
    assert main(["warmup", str(DEMO), "-o", "-"]) == 2
    assert capsysbinary.readouterr().err.startswith(b"tltui: missing --module NAME\n")
    assert main(["warmup", str(DEMO), "--json", "-o", "-"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"{")


def test_autocast_and_older_guards_have_a_reason(tmp_path: Path) -> None:
    assert "autocast" in reason(made(tmp_path, guards=tree(("x", "torch.Tensor", ""), autocast="false,true")))
    old = "TREE_GUARD_MANAGER:\n| +- GuardManager: source=L['x'], accessed_by=DictGetItemGuardAccessor(x)"
    with pytest.raises(NotCallable, match=r"torch 2\.10"):
        local_guards(old)


@pytest.mark.parametrize(
    "name", [*CODE[:3], *CODE[4:], "a..b", ".a", "a.", "a b", "a.class", "a.__import__", "a-b", "a;b", "é", "/a"]
)
def test_a_module_is_a_dotted_name(name: str, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    with pytest.raises(BadModule):
        check_modules([name])
    target = tmp_path / "warmup.py"
    assert main(["warmup", str(DEMO), f"--module={name}", "-o", str(target)]) == 2
    assert capsysbinary.readouterr().err.startswith(b"tltui: not the name of a module: ")
    assert not target.exists()


def parts_of(script: str) -> tuple[dict[str, ast.expr], list[str]]:
    """Return the assigned values of a script, and its other statements."""
    values: dict[str, ast.expr] = {}
    others: list[str] = []
    for statement in ast.parse(script).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            values[statement.targets[0].id] = statement.value
        else:
            others.append(ast.unparse(statement))
    return values, others


def check_calls(value: ast.expr) -> None:
    """Fail if calls have anything but constants, tuples, dicts, and the two classes of the script."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            assert node.func.id in ("Call", "Tensor")
        elif isinstance(node, ast.Name):
            assert node.id in ("Call", "Tensor")
        else:
            allowed = (ast.List, ast.Dict, ast.Tuple, ast.Constant, ast.keyword, ast.Load, ast.UnaryOp, ast.USub)
            assert isinstance(node, allowed), ast.dump(node)


@pytest.mark.parametrize("name", ["torch-2.13/train", "torch-2.13/breaks", "torch-2.13/dyn", "torch-2.13/recompiles"])
def test_the_script_has_no_code_of_the_trace(name: str) -> None:
    plan = plan_of(trace(name))
    values, others = parts_of(script_of(plan.calls, plan.uncalled, ["a.b", "c", "c"], "x\nimport os"))
    fixed = parts_of(files("tltui.writers.warmup").joinpath("script.txt").read_text("ascii"))[1]
    assert [statement for statement in others if statement not in fixed] == ["import a.b", "import c"]
    assert ast.unparse(values["MODULES"]) == "(a.b, c)"
    check_calls(values["CALLS"])
    assert isinstance(values["CALLS"], ast.List)
    assert len(values["CALLS"].elts) == len(plan.calls) > 0
    assert isinstance(values["make"], ast.Dict)
    assert all(isinstance(item, ast.Constant) and item.value is None for item in values["make"].values)


def test_texts_of_a_hostile_trace_stay_literals_and_comments(tmp_path: Path) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace_abcdefgh.log")
    log.add("str", ["/x/'''\n\"\"\"; import os #.py", 0], frame=None)
    log.add("dynamo_start", {"stack": [{"line": 3, "name": "f", "filename": 0}]})
    log.add("dynamo_cpp_guards_str", {}, tree(("n", "int", "EQUALS_MATCH: L['n'] == 3"))).metrics()
    log.add("dynamo_start", {"stack": [{"line": 4, "name": "x\nimport os", "filename": 0}]}, frame=1).metrics(frame=1)
    plan = plan_of(log.open())
    assert (len(plan.calls), len(plan.uncalled)) == (1, 1)
    values, others = parts_of(script_of(plan.calls, plan.uncalled, ["train"], "\u2028import os\x0c\n"))
    check_calls(values["CALLS"])
    assert not [statement for statement in others if statement == "import os"]


def test_the_command_writes_the_script_and_never_replaces_a_file(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    target = tmp_path / "warmup.py"
    words = ["warmup", str(DEMO), "--module", "train", "--module", "package.model", "-o", str(target)]
    assert main(words) == 0
    assert b"wrote" in capsysbinary.readouterr().err
    written = target.read_text("ascii")
    assert "import train\nimport package.model\n" in written
    assert "'Model.forward': None," in written
    assert main(words) == 2
    assert target.read_text("ascii") == written


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--module", "warmup", "-o", "warmup.py"], "the script would import itself"),
        (["-o", "warmup.py"], "missing --module NAME"),
        (["--module", "train"], "--module needs a script to write"),
        (["--module", "train", "-o", "warmup.txt"], "--module needs a script to write"),
    ],
)
def test_module_and_script_belong_together(words: list[str], message: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["warmup", str(DEMO), *words]) == 2
    assert message in capsysbinary.readouterr().err.decode()


def test_without_any_call_no_script_is_written(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace_abcdefgh.log").start("f").metrics()
    log.open()
    assert main(["warmup", str(log.path), "--module", "train", "-o", str(tmp_path / "warmup.py")]) == 2
    assert b"tltui cannot write a call" in capsysbinary.readouterr().err


def test_a_member_of_an_enum_is_an_argument_too() -> None:
    """A call without it would fail: its guards name the type in another form than those of classes."""
    said = text(page(trace("planted"), "@warmup"))
    assert "its argument zqmode is neither a tensor nor a plain value: ZqMood" in said
