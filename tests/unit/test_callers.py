"""Which own line calls a library's model, by guards and the order of the graph."""

from __future__ import annotations

import pytest
import real

from tltui.questions.provenance.graph_names import parse_graph
from tltui.questions.provenance.provenance import Guard, callers_of_lines, guards_of, provenance_of

OWN, LIBRARY = "/home/user/train.py", "/opt/venv/site-packages/models/net.py"
CALL = Guard(("self", "net"), True, "ome/user/train.py", 5, "forward", "y = self.net(x)")


def graph(*steps: str) -> str:
    """A graph before grad: `LINE NAME INPUTS` of the library's file, `own LINE NAME INPUTS` of the own one."""
    names = ("a", "b")
    inputs = [f"L_self_modules_net_modules_{name}_parameters_weight_" for name in names]
    lines = ["class GraphModule(torch.nn.Module):", f"    def forward(self, L_x_: \"f32[2]\", {', '.join(inputs)}):"]
    lines += [f"        l{name[1:]} = {name}" for name in inputs]
    for step in steps:
        file, (line, name, *args) = (OWN, step.split()[1:]) if step.startswith("own") else (LIBRARY, step.split())
        known = {"a": f"l{inputs[0][1:]}", "b": f"l{inputs[1][1:]}"}
        called = ", ".join(known.get(arg, arg) for arg in args)
        lines += [f"        # File: {file}:{line} in forward, code: ?", f"        {name}: \"f32[2]\" = torch.add({called})"]
    return "\n".join([*lines, "        return (y,)"])


def told(text: str, *guards: Guard) -> dict[int, int]:
    """Line of the library → own line."""
    found = callers_of_lines(parse_graph(text.split("\n")), guards or (CALL,), OWN)
    return {line: place.line for (_, line), place in found.items()}


def test_all_between_the_first_and_the_last_use_of_parameters_was_called() -> None:
    text = graph("own 4 p L_x_", "9 before p", "10 q p a", "11 r q", "12 s r b", "13 t s", "own 6 y t")
    assert told(text) == {10: 5, 11: 5, 12: 5}


@pytest.mark.parametrize("steps, guards", [
    (("10 q L_x_ a", "12 s q b", "10 t s a", "12 y t b"), (CALL,)),
    (("10 q L_x_ a", "own 7 r q", "12 y r b"), (CALL,)),
    (("10 q L_x_ a", "12 y q b"), (CALL, Guard(("self", "net"), True, "ome/user/train.py", 6, "forward", ""))),
    (("10 q L_x_ a", "12 y q b"), (CALL, Guard(("self", "net", "a"), False, "ome/user/train.py", 8, "forward", ""))),
    (("10 q L_x_ a", "12 y q b"), (Guard(("self", "net"), True, "elsewhere/wrap.py", 5, "forward", ""),)),
], ids=[
    "it runs twice", "own code runs inside", "two lines call it", "an own line reads what is inside", "an unknown file calls it",
])  # fmt: skip
def test_what_is_not_certain_is_not_said(steps: tuple[str, ...], guards: tuple[Guard, ...]) -> None:
    assert told(graph(*steps), *guards) == {}


def test_a_line_that_ran_outside_of_the_call_too_has_no_caller() -> None:
    assert told(graph("10 q L_x_ a", "11 r q", "12 s r b", "11 y s")) == {10: 5, 12: 5}


def test_guards_name_the_module_and_the_line() -> None:
    test = "| +- DICT_CONTAINS: not ___dict_contains('forward', L['self']._modules['net'].__dict__)"
    text = f"{test}  # y = self.net(x)  # ome/user/train.py:5 in forward"
    assert guards_of(text) == (CALL,)
    assert guards_of("| +- LENGTH: len(L['x']) == 2  # no place") == ()


def test_the_lines_of_kernels_say_that_they_are_derived() -> None:
    [log] = (real.TRACES / "provenance" / "wrapped").glob("*.log")
    compile_ = next(found for found in real.opened(log).compiles() if str(found.ref) == "0/0")
    for unit in provenance_of(compile_).units:
        derived = [kernel for kernel in unit.kernels if kernel.lines_from in ("guards", "dataflow")]
        assert len(derived) > len(unit.kernels) // 2
        assert {line for kernel in derived for line in kernel.user_lines} <= {f"/home/user/models/wrapped.py:{n}" for n in (24, 25)}
        library = next(line for line in unit.lines if line.owner == "library" and line.post_nodes)
        assert library.function, "the library's line stays known"
