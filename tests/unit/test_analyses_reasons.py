from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_logs import Log
from real import compile_at, trace

from tltui.model.nodes import Compile
from tltui.model.record_reader import metrics_fields
from tltui.questions.problems.compile_problems import breaks_of, failures_of, from_restart, headline_of, parse_break
from tltui.questions.recompiles.recompile_reasons import parse_payload, parse_reason, recompile_of
from tltui.questions.timing.timing_events import events_of


def recompile(node: Compile):
    return recompile_of(node, events_of(node))


def test_a_single_reason_is_the_bare_text() -> None:
    found = recompile(compile_at(trace("torch-2.13/recompiles"), "0/1"))
    assert found is not None and found.reasons_from == "artifact" and found.ref == "0/1:recompile_reasons"
    (reason,) = found.reasons
    assert reason.text == "tensor 'x' size mismatch at index 0. expected 3, actual 5"
    assert reason.earlier == "0/0" and reason.guards == "0/0:dynamo_cpp_guards_str"
    assert [(b.source, b.dim, b.reason, b.before, b.now) for b in found.became_dynamic] == [("L['x']", 0, "size change", 3, 5)]


def test_several_reasons_are_a_list_with_the_users_line() -> None:
    found = recompile(compile_at(trace("torch-2.13/recompiles"), "0/3"))
    assert found is not None
    assert [reason.earlier for reason in found.reasons] == ["0/2", "0/1", "0/0"]
    of_a_number = found.reasons[1]
    assert of_a_number.text == "n == 2"
    assert of_a_number.code == "return x * n + x.shape[0]"
    assert of_a_number.file == "/home/user/models/recompiles.py" and of_a_number.line == 4


def test_the_first_compile_has_no_reason() -> None:
    assert recompile(compile_at(trace("torch-2.13/recompiles"), "0/0")) is None


def test_an_empty_list_is_not_the_same_as_no_record(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(compile_=1)
    log.artifact("recompile_reasons", "[\n\n]", compile_=1).metrics(compile_=1)
    log.start(compile_=2).metrics(compile_=2)
    run = log.open()
    empty, absent = run.resolve("0/1"), run.resolve("0/2")
    assert isinstance(empty, Compile) and isinstance(absent, Compile)
    of_empty, of_absent = recompile(empty), recompile(absent)
    assert of_empty is not None and of_empty.reasons_from == "artifact" and of_empty.reasons == ()
    assert of_absent is not None and of_absent.reasons_from == "" and of_absent.reasons == ()


def test_metrics_are_the_fallback(tmp_path: Path) -> None:
    node = Log(tmp_path / "a.log").start(compile_=1).metrics(compile_=1, recompile_reason="0/0: n == 2").compile("0/1")
    found = recompile(node)
    assert found is not None and found.reasons_from == "metrics"
    assert [(r.earlier, r.text, r.guards) for r in found.reasons] == [("0/0", "n == 2", None)]


@pytest.mark.parametrize(
    ("payload", "texts"),
    [
        (b"", []),
        (b"0/0: a", ["0/0: a"]),
        (b'"0/0: a"', ["0/0: a"]),
        (b'[\n"a",\n"b"\n]', ["a", "b"]),
        (b"[broken", ["[broken"]),
        (b'["a", 3, null]', ["a", "3", "None"]),
    ],
)
def test_payloads_of_any_shape(payload: bytes, texts: list[str]) -> None:
    assert parse_payload(payload) == texts


def test_a_reason_without_an_earlier_compile_is_kept_as_it_is() -> None:
    reason = parse_reason("___check_global_state()  # _dynamo/output_graph.py:448 in init_ambient_guards")
    assert reason.earlier is None and reason.text == "___check_global_state()"
    assert (reason.file, reason.line) == ("_dynamo/output_graph.py", 448)


def test_a_graph_break_with_explanation_and_hints() -> None:
    (found,) = breaks_of(compile_at(trace("torch-2.13/breaks"), "0/0"))
    assert found.gb == "gb0059" and found.headline == "Failed to trace builtin operator"
    assert (found.file, found.line, found.function) == ("/home/user/models/breaks.py", 5, "f")
    assert found.code == 'print("break", y.shape)'
    assert found.explanation.startswith("Dynamo does not know how to trace builtin operator `print`")
    assert len(found.hints) == 3 and found.hints[2] == "Please report an issue to PyTorch."
    assert found.context.startswith("builtin print [")
    assert [frame.line for frame in found.stack] == [14, 5]
    assert found.ref == "0/0:dynamo_graph_break_reason" and found.attempt == 0 and not found.skips_frame


SKIPPED = '''Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.
torch.compile will skip tracing the frame forward (/home/user/m.py line 30) and fall back to eager.
The graph break occurred in the following user code:
  File "/home/user/m.py", line 33, in forward
    with open(path) as file:

Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py", line 2102, in _compile
    guarded_code = compile_inner(code)
torch._dynamo.exc.Unsupported: Unsupported context manager
  Explanation: Dynamo does not know how to enter a `TextIOWrapper` context manager.
  Hint: Avoid using the unsupported context manager.

  Developer debug context: open

 For more details about this graph break, please visit: https://meta-pytorch.github.io/x/gb/gb0142.html

from user code:
   File "/home/user/m.py", line 33, in forward
    with open(path) as file:
'''


def test_a_break_that_skips_the_frame() -> None:
    found = parse_break(SKIPPED)
    assert found.skips_frame and found.headline == "Unsupported context manager" and found.gb == "gb0142"
    assert (found.file, found.line, found.function) == ("/home/user/m.py", 33, "forward")
    assert found.code == "with open(path) as file:"
    assert found.hints == ("Avoid using the unsupported context manager.",)


def test_a_break_of_an_older_torch() -> None:
    text = (
        "Graph break (user stack suppressed due to duplicate graph break) in user code at /home/user/m.py:12\n"
        "Graph Break Reason: Unsupported: call_function BuiltinVariable(print) [ConstantVariable(str)] {}\n"
        'User code traceback:\n  File "/home/user/m.py", line 12, in f\n    print("x")\n'
    )
    found = parse_break(text)
    assert found.headline == "call_function BuiltinVariable(print) [ConstantVariable(str)] {}"
    assert found.gb is None and found.line == 12 and found.function == "f" and found.explanation == ""


def test_explanations_and_hints_of_several_lines() -> None:
    found = parse_break("""Graph break in user code at /home/user/m.py:12
Graph Break Reason: Attempted to call a function of C
  Explanation: Dynamo does not know how to trace `f`:
    it is written in C.
  Hint: Move the call out of the compiled function,
    or wrap it in a custom operator.
  Hint: Use `torch.compiler.disable`.

    what stands alone
  Developer debug context: call f
    with x

 For more details about this graph break, please visit: https://meta-pytorch.github.io/x/gb/gb0147.html
""")
    assert found.headline == "Attempted to call a function of C" and found.gb == "gb0147"
    assert found.explanation == "Dynamo does not know how to trace `f`:\nit is written in C."
    assert found.hints == (
        "Move the call out of the compiled function,\nor wrap it in a custom operator.", "Use `torch.compiler.disable`.",
    )  # fmt: skip
    assert found.context == "call f\nwith x"


@pytest.mark.parametrize("version", ["2.13.0", "2.6", "2.9.0a0+git1a2b", "3.0.0"])
def test_torch_of_today_logs_breaks_themselves_restarts_are_no_breaks(version: str, tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics(restart_reasons=["guard failed while tracing"], pytorch_version=version)
    assert breaks_of(log.compile()) == ()


@pytest.mark.parametrize("version", ["2.5.1", "2.5", "1.13.1", "", "unknown"])
def test_older_torch_tells_of_breaks_by_restarts_only(version: str, tmp_path: Path) -> None:
    log = Log(tmp_path / "b.log").start().metrics(restart_reasons=["call to print"], pytorch_version=version)
    assert [found.headline for found in breaks_of(log.compile())] == ["call to print"]


def test_an_exception_without_frames() -> None:
    text = "Traceback (most recent call last):\ntorch._dynamo.exc.Unsupported: Unsupported context manager\n  Explanation: Why."
    found = parse_break(text)
    assert (found.headline, found.explanation) == ("Unsupported context manager", "Why.")


def test_what_follows_the_reason_is_not_part_of_it() -> None:
    """A traceback goes on below: the hints of another exception are not those of this one."""
    after = "\nThe above exception was the direct cause of:\n\nUnsupported: B\n  Explanation: of another.\n  Hint: of another.\n"
    found = from_restart("Failed to trace builtin operator\n  Hint: Own hint.\n" + after)
    assert (found.headline, found.explanation, found.hints) == ("Failed to trace builtin operator", "", ("Own hint.",))


@pytest.mark.parametrize(
    "text", ["", "\n\n", "nonsense", "Graph break in user code at :\nGraph Break Reason:", "Explanation:"]
)
def test_any_text_makes_a_break_with_a_headline(text: str) -> None:
    assert parse_break(text).headline


def test_a_cut_off_break_says_what_is_left() -> None:
    text = SKIPPED[: SKIPPED.index("Explanation")]
    assert parse_break(text).headline == "Unsupported context manager"
    (whole,) = breaks_of(compile_at(trace("torch-2.13/breaks"), "0/0"))
    assert whole.headline == from_restart("'Failed to trace builtin operator'").headline


def test_logs_without_break_records_have_the_restart_reasons() -> None:
    (found,) = breaks_of(compile_at(trace("tlparse/comp_metrics.log"), "0/0"))
    assert found.headline.startswith("skip function graph_break in file") and found.file is None and found.ref is None


def failures(node: Compile):
    return failures_of(node, metrics_fields(node))


def test_a_failure_has_type_reason_and_the_users_line() -> None:
    (found,) = failures(compile_at(trace("torch-2.13/errors"), "0/0"))
    assert found.type == "Unsupported" and found.reason.startswith("Failed to trace builtin operator")
    assert (found.file, found.line, found.is_raise_location) == ("/home/user/models/errors.py", 5, False)
    assert found.ref == "0/0:dynamo_error"


def test_without_a_user_line_the_place_is_that_of_the_error() -> None:
    (found,) = failures(compile_at(trace("torch-2.13/errors"), "1/0"))
    assert found.type == "BackendCompilerFailed" and found.is_raise_location
    assert (found.line, found.code) == (10, 'def bad(gm, ex): raise RuntimeError("backend [red]boom[/red]")')


def test_an_error_without_metrics_is_read_from_its_traceback(tmp_path: Path) -> None:
    text = 'Traceback (most recent call last):\n  File "/home/user/m.py", line 3, in f\n    g()\nx.OutError: no\nmore'
    (found,) = failures(Log(tmp_path / "a.log").start().artifact("dynamo_error", text).compile())
    assert (found.type, found.reason, found.line) == ("OutError", "no\nmore", 3)


def test_a_backward_that_failed(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics()
    node = log.metrics("bwd_compilation_metrics", is_forward=False, fail_type="RuntimeError", fail_reason="x").compile()
    (found,) = failures(node)
    assert found.is_backward and found.type == "RuntimeError" and found.ref is None


def test_fields_of_wrong_types_do_not_raise(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").add("dynamo_start", {"stack": [{"line": "x", "filename": [1]}, 3, None]})
    log.metrics(fail_type="E", fail_reason=7, fail_user_frame_filename=3, fail_user_frame_lineno="x", duration_us="a")
    (found,) = failures(log.compile())
    assert found.type == "E" and found.file is None
    assert json.dumps(found.reason) == '""'


def test_the_headline_of_an_operator_on_fake_tensors_is_its_error() -> None:
    (found,) = failures(compile_at(trace("torch-2.13/texts"), "2/0"))
    assert found.reason.startswith("RuntimeError when making fake tensor call\n  Explanation: Dynamo failed to run FX node")
    assert headline_of(found.reason) == "a and b must have same reduction dim, but got [2, 5] X [3, 4]."


def test_the_headline_of_an_error_of_several_lines_is_its_first() -> None:
    call = "Dynamo failed to run FX node with fake tensors: call_function f(*(FakeTensor(..., size=(3,)),), **{}): got "
    assert headline_of(call + r"""ValueError("it's\n2 lines")""") == "it's"
    assert headline_of(call + "ValueError('cut off") == call + "ValueError('cut off"
    assert headline_of(call + "KeyError(3)") == call + "KeyError(3)"
