"""vLLM runs: calls, pieces, what is alike, what each pass did; and the same levels in the tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import trace
from viewed import lead_somewhere, text

from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model.artifacts import Artifact
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.vllm.page import Call, graph_shape, read_calls, same_graph
from tltui.sources.discover import discover
from tltui.text.document import Piece
from tltui.tree.outline import Node, children, label, path_to, root

GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[4]"):
        # File: /home/user/m.py:3 in forward, code: y = x + 1
        y: "f32[4]" = x + 1;  x = None
        return y
"""


def calls(run: Run, ref: str = "") -> tuple[Call, ...]:
    return tuple(call for call in read_calls(scope_of(run, ref).compiles) if call is not None)


def said(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces)


def drawn(node: Node, deepest: int, depth: int = 0) -> list[str]:
    shown = label(node)
    lines = [f"{'  ' * depth}{said(shown.left)} | {said(shown.right)} | {node.ref}"]
    for child in children(node) if depth < deepest else ():
        lines += drawn(child, deepest, depth + 1)
    return lines


def vllm_config(log: Log, prefix: str = "model", **ids: Any) -> Log:
    return log.artifact("vllm_compilation_config", json.dumps({"model": "m", "prefix": prefix, "compile_sizes": [1, 2]}), **ids)


def piece(log: Log, name: str | None, low: object, high: object, **more: Any) -> Log:
    ids = {key: more.pop(key) for key in ("frame", "compile_") if key in more}
    fields = {"piecewise_index": 1, "compile_range_start": low, "compile_range_end": high, "is_single_size": low == high} | more
    if name is not None:
        fields["submod_name"] = name
    return log.artifact("vllm_piecewise_compile_start", json.dumps(fields), **ids)


def graph(log: Log, name: str, text_: str = GRAPH, **ids: Any) -> Log:
    return log.add("graph_dump", {"name": name}, text_, **ids)


def test_golden() -> None:
    run = trace("torch-2.13/vllm_like")
    document = page(run, "@vllm")
    assert_golden("vllm_like", text(document))
    lead_somewhere(run, document)
    folded = [section.title for section in document.sections() if section.folded]
    assert "submod_0 1–8192" in folded and "same graph except for names: submod_4" in folded


def test_lines_fit_at_every_width() -> None:
    run = trace("torch-2.13/vllm_like")
    for width in (60, 80, 160):
        document = page(run, "@vllm", width, ascii_=width == 60)
        assert not [line for line in document.text() if len(line) > width]
        assert width != 60 or all(line.isascii() for line in document.text())


def test_calls_pieces_and_passes() -> None:
    model, draft = calls(trace("torch-2.13/vllm_like"))
    assert (model.call_number, model.ref, model.event, model.setting("prefix"), model.expected_submodules) == (
        1,
        "0/0~1",
        "fresh_compile",
        "model",
        4,
    )
    assert model.setting("use_inductor_graph_partition") == "no"
    assert model.ranges == ((1, 8192), (4, 4))
    assert [(s.name, s.same_as, len(s.pieces)) for s in model.submodules] == [
        ("submod_0", None, 2), ("submod_2", None, 2), ("submod_4", "submod_2", 2), ("submod_6", None, 2),
    ]  # fmt: skip
    first, sized = model.submodules[0].pieces
    assert (first.ref, sized.ref) == ("@unit:0/0~1#1", "@unit:0/0~1#2") and sized.is_captured and not first.is_captured
    assert [(step.pass_number, step.name, step.is_changed) for step in first.passes] == [
        (0, "NoOpEliminationPass", True), (1, "RMSNormQuantFusionPass", False), (2, "PostCleanupPass", False),
    ]  # fmt: skip
    assert (model.passes[0].name, model.passes[0].changed_pieces, model.passes[0].pieces) == ("NoOpEliminationPass", 6, 8)
    assert model.passes[1].patterns == "0/0~1:vllm_patterns.RMSNormQuantFusionPass"
    assert (draft.call_number, draft.setting("prefix"), len(draft.submodules)) == (2, "draft", 1)
    assert draft.submodules[0].pieces[0].code == "0/0~2:inductor_output_code"


def test_the_tree_has_the_same_levels() -> None:
    run = trace("torch-2.13/vllm_like")
    assert_golden("tree_vllm_like", "\n".join(drawn(root(run), 4)))
    artifact = run.resolve("0/0~2:vllm_submod_0")
    assert isinstance(artifact, Artifact)
    assert any(key.endswith("\0unit0") for key in path_to(run, artifact))


def test_several_calls_in_one_compile_are_levels(tmp_path: Path) -> None:
    log = vllm_config(Log(tmp_path / "x.log").start())
    graph(piece(log, "submod_0", 1, 8), "vllm_submod_0")
    graph(piece(vllm_config(log), "submod_0", 4, 4), "vllm_submod_0").metrics()
    run = log.open()
    lines = [line.strip().partition(" |")[0] for line in drawn(root(run), 2) if line.startswith("    ")]
    assert [line.partition("  ")[0] for line in lines] == ["call 1", "call 2", "Metrics"]
    artifact = run.resolve("0/0:vllm_submod_0#2")
    assert isinstance(artifact, Artifact)
    keys = path_to(run, artifact)
    assert any(key.endswith("\0call2") for key in keys) and any(key.endswith("\0unit1") for key in keys)


def test_one_call_is_no_level_of_its_own(tmp_path: Path) -> None:
    log = vllm_config(Log(tmp_path / "x.log").start())
    graph(piece(log, "submod_0", 1, 8), "vllm_submod_0").metrics()
    lines = drawn(root(log.open()), 2)
    assert [line.strip().partition(" |")[0] for line in lines[1:] if line.startswith("    ")] == [
        "vLLM", "submod_0 1-8", "Metrics",
    ]  # fmt: skip


def test_other_traces_have_none() -> None:
    for name in ("torch-2.13/breaks", "tlparse/simple.log"):
        assert calls(trace(name)) == ()
        assert "No vLLM records in this trace." in text(page(trace(name), "@vllm"))


def test_a_call_without_pieces(tmp_path: Path) -> None:
    run = vllm_config(Log(tmp_path / "x.log").start()).metrics().open()
    assert "no piece was compiled" in text(page(run, "@vllm"))


def test_pieces_without_a_configuration(tmp_path: Path) -> None:
    """Ranges that an older vLLM compiles when a size turns up stand outside of any compile."""
    log = Log(tmp_path / "x.log").start()
    piece(log, None, 2, 2, frame=None)
    graph(log, "vllm_subgraph_1", frame=None).add("inductor_output_code", {}, "code", frame=None)
    (call,) = calls(log.open())
    assert (call.ref, call.config, call.ranges) == ("none", None, ((2, 2),))
    assert [s.name for s in call.submodules] == ["subgraph_1"] and call.submodules[0].graph == "none:vllm_subgraph_1"
    assert "no configuration in the log for these pieces" in text(page(log.open(), "@vllm"))


def test_more_submodules_announced_than_begun(tmp_path: Path) -> None:
    log = vllm_config(Log(tmp_path / "x.log").start())
    run = piece(log, "submod_0", 1, 8, total_piecewise_compiles=5).open()
    said_ = " ".join(text(page(run, "@vllm")).split())
    assert "4 of 5 submodules not begun" in said_ and "no output code" in said_
    assert calls(run)[0].submodules[0].graph is None


def test_many_ranges_are_laid_out_in_several_tables(tmp_path: Path) -> None:
    log = vllm_config(Log(tmp_path / "x.log").start())
    for size in range(1, 60):
        piece(log, "submod_0", size * 1000, size * 1000)
    document = page(log.open(), "@vllm", 60)
    assert not [line for line in document.text() if len(line) > 60]
    assert sum("submod_0  " in line for line in document.text()) > 5


def test_pieces_that_are_alike_are_found_among_thousands(tmp_path: Path) -> None:
    log = vllm_config(Log(tmp_path / "x.log").start())
    for number in range(2000):
        piece(log, f"submod_{number * 2}", 1, 8)
        graph(log, f"vllm_submod_{number * 2}", GRAPH.replace("x", f"x_{number}"))
    (call,) = calls(log.open())
    assert len(call.submodules) == 2000 and all(s.same_as == "submod_0" for s in call.submodules[1:])


@pytest.mark.parametrize("payload", [
    "", "[]", "null", "{", '{"submod_name": 3, "compile_range_start": "a"}', '{"is_single_size": []}',
    '{"submod_name": "\\u001b[31mred\\n", "compile_range_start": 1e400}',
])  # fmt: skip
def test_odd_records(tmp_path: Path, payload: str) -> None:
    log = Log(tmp_path / "x.log").start().artifact("vllm_compile_event", payload, frame=None)
    log.artifact("vllm_compilation_config", payload).artifact("vllm_piecewise_compile_start", payload)
    graph(log, "vllm_submod_0", "\x1b[31m").artifact("before_post_grad_graph", "")
    graph(log, "vllm_post_grad.x", "")
    graph(log, "vllm_post_grad.99999999.P.after", "y").artifact("vllm_compilation_config", payload)
    run = log.open()
    document = page(run, "@vllm")
    assert len(document) > 4 and not [line for line in document.text() if "\x1b" in line or len(line) > 80]
    assert len(drawn(root(run), 6)) > 4


def test_truncated_logs(tmp_path: Path) -> None:
    data = Path(trace("torch-2.13/vllm_like").models[0].log.path).read_bytes()
    for part in range(1, 16):
        path = tmp_path / f"{part}.log"
        path.write_bytes(data[: len(data) * part // 16])
        run = open_run(discover([str(path)]))
        assert len(page(run, "@vllm")) > 1 and drawn(root(run), 5)


def test_json() -> None:
    found = json.loads(to_json(page(trace("torch-2.13/vllm_like"), "@vllm").data()))
    assert [call["ref"] for call in found["calls"]] == ["0/0~1", "0/0~2"]


def shape_of(statement: str, *inputs: str) -> object:
    return graph_shape(f"def forward(self, {', '.join(inputs)}):\n    # File: m.py:3 in f, code: x\n    {statement};  a = None\n")


def test_graphs_that_differ_in_names_only() -> None:
    one = shape_of('add: "f32[s0]" = torch.ops.aten.add.Tensor(a, w)', 'a: "f32[s0]"', "w")
    assert one == shape_of('add_7: "f32[s0]" = torch.ops.aten.add.Tensor(arg0_1, arg1_1)', 'arg0_1: "f32[s0]"', "arg1_1")
    assert one != shape_of('add: "f32[9]" = torch.ops.aten.add.Tensor(a, w)', 'a: "f32[9]"', "w")
    assert one != shape_of('add: "f32[s0]" = torch.ops.aten.add.Tensor(w, a)', 'a: "f32[s0]"', "w")
    assert graph_shape("y = self.layer_3.weight * 2") == graph_shape("z = self.layer_9.weight * 2")
    assert graph_shape("y = f(x, dim = 1)") != graph_shape("y = f(x, dim = 2)")


def test_the_same_graph_printed_with_and_without_types() -> None:
    typed = 'def forward(self, a: "f32[4]"):\n    b: "f32[4]" = a + 1;  a = None\n    return b'
    assert same_graph("def forward(self, a):\n    b = a + 1\n    return b", typed)
    assert not same_graph("b = a + 1", "b = a + 2")
    assert not same_graph("b = f(a, True)", "b = f(a, False)"), "a word that nothing in the graph made is no name of it"
