"""From pass to pass: what each step changed, node by node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import ROOT
from viewed import lead_somewhere, opened, text

from tltui import cli
from tltui.export import to_json
from tltui.questions.compare.comparable_lines import graph_text
from tltui.questions.passes.node_changes import ADDED, REMOVED, RETARGETED, RETYPED, REWIRED, GraphChange, node_changes
from tltui.questions.passes.page import Passes

TORCH = "tests/traces/torch-2.13/"
GRAPH = """class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: "f32[4]", arg1_1: "f32[4]"):
        # File: /home/user/m.py:3 in f, code: y = x * w
        mul: "f32[4]" = torch.ops.aten.mul.Tensor(arg0_1, arg1_1);  arg1_1 = None
        add: "f32[4]" = torch.ops.aten.add.Tensor(mul, 1);  mul = None
        sin: "f32[4]" = torch.ops.aten.sin.default(add);  add = None
        return (sin,)
"""


@pytest.mark.parametrize(("name", "ref"), [("recompiles", "0/0"), ("vllm_like", ""), ("ca", "0/0"), ("errors", "")])
def test_golden(name: str, ref: str) -> None:
    run = opened(TORCH + name)
    document = page(run, f"@passes:{ref}" if ref else "@passes", 100)
    assert_golden(f"passes_{name}", text(document))
    lead_somewhere(run, document)


@pytest.mark.parametrize("name", ["breaks", "train", "ddp", "regional_inductor", "aoti", "export_draft", "cache_hit"])
def test_every_trace_has_a_page(name: str) -> None:
    run = opened(TORCH + name)
    for width in (60, 160):
        document = page(run, "@passes", width, ascii_=width == 60)
        assert len(document) > 2
        to_json(document.data())
    lead_somewhere(run, document)


def change(right: str, left: str = GRAPH) -> GraphChange:
    return node_changes(graph_text(left), graph_text(right))


def kinds(found: GraphChange) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in found.changes]


def test_nothing_changed() -> None:
    found = change(GRAPH)
    assert not found.changes and found.unchanged == found.nodes_before == found.nodes_after == 6 and not found.renamed


def test_renumbered() -> None:
    found = change(GRAPH.replace("mul", "mul_4").replace("aten.mul_4", "aten.mul").replace("sin,", "sin,"))
    assert not found.changes and found.renamed == 1


def test_added_and_its_user_reads_something_else() -> None:
    right = GRAPH.replace("        sin:", '        neg: "f32[4]" = torch.ops.aten.neg.default(add);  add = None\n        sin:')
    assert kinds(change(right.replace("sin.default(add)", "sin.default(neg)"))) == [(ADDED, "neg"), (REWIRED, "sin")]


def test_removed() -> None:
    right = GRAPH.replace('        add: "f32[4]" = torch.ops.aten.add.Tensor(mul, 1);  mul = None\n', "")
    assert sorted(kinds(change(right.replace("default(add);  add", "default(mul);  mul")))) == [(REMOVED, "add"), (REWIRED, "sin")]


def test_another_operation_is_told_once() -> None:
    """Those that read it read the same node as before."""
    found = change(GRAPH.replace("aten.mul.Tensor", "aten.div.Tensor"))
    assert kinds(found) == [(RETARGETED, "mul")]
    assert found.changes[0].before != found.changes[0].after
    assert (found.nodes_before, found.unchanged, found.moved, found.nodes_after) == (6, 5, 0, 6)
    found = change(GRAPH.replace("aten.mul.Tensor", "aten.div.Tensor").replace("aten.sin", "aten.cos"))
    assert kinds(found) == [(RETARGETED, "mul"), (RETARGETED, "sin")]
    assert (found.nodes_before, found.unchanged, found.moved, found.nodes_after) == (6, 4, 0, 6)
    others = GRAPH.replace("aten.mul.Tensor", "aten.div.Tensor").replace("(mul, 1)", "(mul, 2)").replace("aten.sin", "aten.cos")
    found = change(others)
    assert kinds(found) == [(RETARGETED, "mul"), (REWIRED, "add"), (RETARGETED, "sin")] and found.unchanged == 3


def test_a_name_alone_does_not_make_it_the_same_node() -> None:
    """Names are given anew: another operation of another type that has the name now is another node."""
    another = GRAPH.replace('add: "f32[4]" = torch.ops.aten.add.Tensor(mul, 1)', 'add: "i64[2]" = torch.ops.aten.sort(mul)')
    found = change(another)
    assert sorted(kinds(found)) == [(ADDED, "add"), (REMOVED, "add"), (REWIRED, "sin")]
    untyped = GRAPH.replace(': "f32[4]"', "")
    found = change(untyped.replace("aten.add.Tensor(mul, 1)", "aten.argsort.default(mul)"), untyped)
    assert sorted(kinds(found)) == [(ADDED, "add"), (REMOVED, "add"), (REWIRED, "sin")]


def test_another_dtype_and_another_number() -> None:
    assert kinds(change(GRAPH.replace('add: "f32[4]"', 'add: "bf16[4]"'))) == [(RETYPED, "add")]
    assert kinds(change(GRAPH.replace("(mul, 1)", "(mul, 2)"))) == [(REWIRED, "add")]


def test_steps_begin_anew_with_each_range_of_vllm() -> None:
    document = page(opened(TORCH + "vllm_like"), "@passes")
    found = document.data()
    assert isinstance(found, Passes)
    steps = [step for compile_ in found.compiles for unit in compile_.units for step in unit.steps]
    first = [step for step in steps if step.name.startswith("vllm_post_grad.0.")]
    assert len(first) > 2 and all(step.before == "before_post_grad_graph" for step in first)
    assert all(step.before and step.before.startswith("vllm_post_grad.0.") for step in steps if ".1." in step.name)
    assert [c.kind for step in first[:1] if step.change for c in step.change.changes] == [REMOVED, REWIRED]


def test_a_graph_that_is_not_understood_says_so_and_the_others_are_compared(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start()
    log.add("dynamo_output_graph", {}, GRAPH).artifact("before_pre_grad_graph", "what a custom backend printed")
    log.artifact("before_post_grad_graph", GRAPH).artifact("after_post_grad_graph", GRAPH.replace("aten.sin", "aten.cos"))
    run = log.metrics().open()
    document = page(run, "@passes:0/0", 100)
    lines = text(document).split("\n")
    assert any("before_pre_grad_graph" in line and line.endswith("cannot be parsed as a graph") for line in lines)
    assert any("after_post_grad_graph" in line and "not understood" not in line for line in lines)
    assert '      + sin: "f32[4]" = torch.ops.aten.cos.default(add)' in lines
    found = document.data()
    assert isinstance(found, Passes)
    steps = {step.name: step for unit in found.compiles[0].units for step in unit.steps}
    assert steps["before_pre_grad_graph"].change is None and not steps["before_pre_grad_graph"].is_unchanged


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / TORCH / "recompiles")
    assert cli.main(["passes", path, "0/0"]) == 0
    assert "before_post_grad_graph" in capsys.readouterr().out
    assert cli.main(["passes", path, "0/0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["compiles"][0]["units"][0]["steps"][0]["name"] == "dynamo_output_graph"
