"""Repeated blocks: equal graphs of modules of a list, their versions, and the page with the prediction."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from real import TRACES, compile_at, fresh, trace

import tltui
from tltui.cli import main
from tltui.export import lines_of
from tltui.questions.blocks.block_costs import CompileBlocks, blocks_of
from tltui.questions.blocks.graph_blocks import DifferentBlock, _Covered, _Members, blocks_in
from tltui.questions.blocks.page import compile_calls, members_of
from tltui.questions.build import build
from tltui.questions.layers.layer_kernels import captured_layers
from tltui.text.document import Options

DIFFERENT = DifferentBlock("", 0, "", 0, "", "", "no nodes in this graph")
LOG = str(TRACES / "blocks")


def blocks(name: str = "blocks", ref: str = "0/0") -> CompileBlocks:
    result = blocks_of(compile_at(trace(name), ref))
    assert result is not None
    return result


def page(ref: str, name: str = "blocks", width: int = 100, **options: str) -> list[str]:
    document = build(trace(name), ref, Options(width=width, **options))  # type: ignore[arg-type]
    while not document.advance():
        pass
    return list(lines_of(document, "text"))


def test_equal_modules_of_a_list_are_a_group() -> None:
    layers, tail = blocks().groups
    assert (layers.containers, layers.class_name, layers.nodes) == (("layers",), "Block", 5)
    assert layers.members == ("layers.0", "layers.1", "layers.3", "layers.4"), "layers.2 has another constant"
    assert (tail.containers, tail.class_name, tail.members) == (("tail",), "Numbered", ("tail.0", "tail.1", "tail.2"))
    assert blocks().nodes == 39 and blocks().repeated_nodes == 4 * 5 + 3 * 4


def test_one_different_constant_makes_a_module_different() -> None:
    [other] = blocks().groups[0].different
    assert (other.path, other.nodes, other.differing_nodes) == ("layers.2", 5, 1)
    assert other.statement == "torch.nn.functional.leaky_relu(linear_4, 0.2)"


def test_a_later_call_of_a_module_is_a_call_of_its_own() -> None:
    members = _Members()
    for number, path in enumerate(("layers.0", "layers.0", "layers.1", "layers.0", "layers.1")):
        members.add(path, number)
    assert members.calls == {"layers.0": [[0, 1], [3]], "layers.1": [[2], [4]]}


def test_buffers_of_other_shapes_make_blocks_different() -> None:
    fours, eights = blocks("blocks_buffers").groups
    assert fours.members == ("layers.0", "layers.1") and eights.members == ("layers.2", "layers.3")
    assert (fours.versions, eights.versions) == (2, 1), "the input of layers.0 needs no gradient"
    assert blocks("blocks_buffers").versions == 3, "of one class: they share the limit"
    assert eights.difference is not None and eights.difference.parameter == "shift is f32[8][1]cpu, not f32[4][1]cpu"
    text = "\n".join(page("@blocks:0/0", "blocks_buffers"))
    assert "2 × Block  layers.0, 1 " in text and "2 × Block  layers.2, 3 " in text, "the rows name their blocks"
    assert "2 × Block (layers.0, 1): the input of 1 call needs no gradient. This takes one more version." in text
    assert "layers.2, 3  6 nodes, 1 without an equal node in layers.0" in text


def test_frozen_parameters_take_versions() -> None:
    [group] = blocks("blocks_frozen").groups
    assert (group.versions, group.without_gradient) == (3, 2), "layers.1 gets its input from a block that trains nothing"
    assert [(one.paths, one.frozen, one.parameters) for one in group.frozen] == [
        (("layers.0",), 4, 4), (("layers.1",), 2, 4), (("layers.2", "layers.3"), 0, 4),
    ]  # fmt: skip
    text = "\n".join(page("@blocks:0/0", "blocks_frozen"))
    assert "layers.1: 2 of 4 parameters need no gradient." in text and "layers.2, 3: all parameters need gradients." in text


def test_the_loops_cover_the_blocks_of_the_prediction() -> None:
    found = blocks("blocks_arguments")
    assert [group.members for group in found.groups] == [("layers.1", "layers.2"), ("layers.3", "layers.4")]
    assert [other.path for other in found.groups[0].different] == ["layers.0"]
    assert list(compile_calls(found.groups, "layers")) == ["for n in (1, 2, 3, 4):", "    model.layers[n].compile()"]
    found = blocks("blocks_shared")
    [group] = found.groups
    assert group.members == ("layers.0", "layers.1", "layers.3"), "layers.2 reads a layer of layers.0"
    assert [other.path for other in group.different] == ["layers.2"]
    assert next(iter(compile_calls(found.groups, "layers"))) == "for n in (0, 1, 3):"


def test_the_calls_of_one_module_are_counted() -> None:
    [group] = blocks("blocks_same").groups
    assert (group.members, group.calls, group.nodes, group.versions) == (("layers.0",), 4, 6, 1), "one module, four times in a row"
    assert list(compile_calls([group], "layers")) == ["model.layers[0].compile()"]
    [group] = blocks("blocks_twice").groups
    assert (len(group.members), group.calls, group.nodes) == (3, 6, 6), "the list runs twice"
    assert blocks("blocks_twice").rest_nodes == 1, "the head"
    assert "3 × Block, 2 calls each" in "\n".join(page("@blocks:0/0", "blocks_twice"))


def test_code_after_that_of_a_base_class_belongs_to_the_block() -> None:
    [group] = blocks("blocks_constant").groups
    assert (len(group.members), group.nodes, blocks("blocks_constant").rest_nodes) == (4, 7, 1)
    captured = captured_layers(compile_at(trace("blocks_indexed"), "0/0"))
    assert captured is not None
    assert sorted(captured.layers.values()).count("layers.0") == sorted(captured.layers.values()).count("layers.3") == 5
    assert not blocks_in(captured, False).groups, "each block adds another number"


def test_equal_blocks_of_several_lists_and_of_a_dictionary_are_a_group() -> None:
    [group] = blocks("blocks_dictionaries").groups
    assert (len(group.members), group.versions, group.containers) == (6, 1, ("heads", "stages.a", "stages.b"))
    assert next(iter(compile_calls([group], "stages.a"))) == 'for block in model.stages["a"]:'
    assert next(iter(compile_calls([group], "heads"))) == "for block in model.heads.values():"
    other = replace(DIFFERENT, path="heads.z")
    lines = list(compile_calls([replace(group, different=(other,))], "heads"))
    assert lines == ['for name in ("x", "y"):', "    model.heads[name].compile()"]


def test_modules_of_groups_are_found_by_their_paths() -> None:
    covered = _Covered()
    covered.add(("stages.1.layers.0", "stages.10"))
    assert covered.has("stages.1.layers.0.up") and covered.has("stages.10") and not covered.has("stages.1")
    assert covered.are_in("stages.1.layers") and not covered.are_in("stages.10.layers") and not covered.are_in("stages.1.layers.01")
    assert covered.overlaps("stages.1") and covered.overlaps("stages.10.layers.0") and not covered.overlaps("stages.100")


@pytest.mark.parametrize("name, groups, counted", [
    ("alike", [("stages.0–3", 1)], 1),
    ("widening_train", [("stages.2.layers.0–5; stages.3.layers.0, 1", 1), ("stages.0.layers.0, 1", 2),
                        ("stages.1.layers.0, 1", 1)], 4),
    ("shifted", [("stages.2.layers.0, 2, 4", 3), ("stages.2.layers.1, 3, 5", 3), ("stages.1.layers.0, 2", 2),
                 ("stages.1.layers.1, 3", 2)], 10),
    ("numbered", [("stages.0–3", 3)], 3),
    ("unet_train", [("down.0.blocks.0, 1; up.2.blocks.0–2", 2), ("down.1.blocks.0, 1; up.1.blocks.0–2", 1),
                    ("down.2.blocks.0, 1; up.0.blocks.0–2", 1)], 4),
    ("pairs", [("layers.0–3.0", 1), ("layers.0–3.1", 1)], 2),
    ("convolutions", [("stages.0.1–3", 1), ("stages.1.1–3", 1), ("stages.2.1–3", 1)], 3),
])  # fmt: skip
def test_lists_inside_of_blocks(name: str, groups: list[tuple[str, int]], counted: int) -> None:
    """The outermost equal modules count, else those inside of them. `counted`: compiles that torch counted for these blocks."""
    found = blocks(f"blocks_nested/{name}").groups
    assert [(members_of(group.members), group.versions) for group in found] == groups
    assert sum(group.versions for group in found) == counted


def test_the_modules_of_several_lists_are_not_compared_with_those_of_another_class() -> None:
    gate, layer = blocks("blocks_nested/pairs").groups
    assert (gate.class_name, layer.class_name, layer.difference) == ("Gate", "Layer", None)
    text = "\n".join(page("@blocks:0/0", "blocks_nested/pairs"))
    assert "4 × Gate   layers.0–3.0 " in text and "Other modules" not in text


def test_no_steps_where_separate_compilation_saves_no_time() -> None:
    text = "\n".join(page("@blocks:0/0", "blocks_twice"))
    assert "would not save compile time" in text and "How to compile each block separately" not in text


def test_last_nodes_are_part_of_a_block_where_one_block_certainly_has_them() -> None:
    captured = captured_layers(compile_at(trace("blocks"), "0/0"))
    assert captured is not None
    ends = [
        name for name, path in captured.layers.items() if path in ("layers.0", "layers.1", "layers.3") and name.startswith("x_")
    ]
    assert len(ends) == 3, "the sums with the residual connection"
    uncertain = replace(captured, layers=captured.layers | dict.fromkeys(ends, ""))
    group = blocks_in(uncertain, False).groups[0]
    assert (group.members, group.nodes) == (("layers.0", "layers.1", "layers.3", "layers.4"), 5)


def test_a_guarded_attribute_with_a_value_per_block_needs_a_version_per_block() -> None:
    layers, tail = blocks().groups
    assert not layers.guarded and layers.versions == 1
    [number] = tail.guarded
    assert (number.attribute, number.values, number.is_integer, number.code) == ("number", 3, True, "if self.number < 0:")
    assert number.place.endswith("blocks.py:34") and tail.versions == 3


def test_the_input_of_the_first_block_may_need_no_gradient() -> None:
    captured = captured_layers(compile_at(trace("layers"), "0/0"))
    assert captured is not None
    [group] = blocks_in(captured, True).groups
    assert group.without_gradient == 0 and group.versions == 1, "the embedding before them is trained"
    captured.parameters.clear()
    [group] = blocks_in(captured, True).groups
    assert group.without_gradient == 0 and group.versions == 1, "without parameters no input needs a gradient: one version too"


def test_an_input_with_other_strides_takes_one_more_version() -> None:
    captured = captured_layers(compile_at(trace("blocks"), "0/0"))
    assert captured is not None
    changed = (
        replace(node, type="f32[2, 4, 8][32, 1, 4]cpu") if node.name == "x" else node for node in captured.graph.nodes
    )  # fmt: skip
    graph = replace(captured.graph, graph=replace(captured.graph.graph, nodes=tuple(changed)))
    group = blocks_in(replace(captured, graph=graph), False).groups[0]
    assert group.members == ("layers.0", "layers.1", "layers.3", "layers.4"), "their nodes are equal"
    assert (group.versions, group.graph_versions) == (2, 2)
    [other] = group.other_inputs
    assert (other.path, other.type, other.usual_type) == ("layers.0", "f32[2, 4, 8][32, 1, 4]cpu", "f32[2, 4, 8][32, 8, 1]cpu")


def test_the_prediction_counts_versions_and_kernels() -> None:
    found = blocks()
    layers, tail = found.costs
    assert layers.compile_s is not None and tail.compile_s is not None and found.compile_s is not None
    assert found.separate_s is not None and layers.compile_s < found.compile_s and found.separate_s > layers.compile_s
    assert tail.compile_s > layers.compile_s / 2, "three versions"
    assert (layers.kernel_calls, tail.kernel_calls, found.separate_kernel_calls) == (6, 3, 4 * 6 + 3 * 3)
    lost = {one.key: one.blocks for one in found.lost_fusions}
    assert lost["cpp_fused_add_native_layer_norm_view_6"] == ("layers.3", "layers.4")
    assert lost["cpp_fused_embedding_native_layer_norm_0"] == ("", "layers.0")


@pytest.mark.parametrize("width", [80, 120])
def test_the_page_states_group_prediction_and_warning(width: int) -> None:
    lines = page("@blocks:0/0", width=width)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width and lines[0] == "Blocks of [0/0]"
    assert "4 × Block" in text and "3 × Numbered: number has 3 values and a guard at" in text
    assert "for n in (0, 1, 3, 4):" in text and "model.layers[n].compile()" in text, "layers.2 is left out"
    assert "for block in model.tail:" in text
    assert "layers.2  5 nodes, 1 without an equal node in layers.0" in text
    assert "torch._dynamo.config.allow_unspec_int_on_nn_module = True" in text


def test_timing_has_a_line_where_separate_compilation_saves_time() -> None:
    [line] = [line for line in page("@timing:0/0", width=120) if line.startswith("Blocks")]
    assert line == ("Blocks  4 × Block, 82% of the nodes: compile each block separately  → blocks")
    assert not [line for line in page("@timing:0/0", "layers") if line.startswith("Blocks")], "two blocks are few"


def test_a_compile_without_repeated_blocks_has_no_group() -> None:
    assert blocks_of(compile_at(trace("provenance/wrapped"), "0/0")) is None
    assert page("@blocks", "torch-2.13/breaks")[1] == "No repeated blocks: no list of modules has two members with equal graphs."


def test_an_index_names_the_log_that_has_the_code(tmp_path: Path) -> None:
    saved = tmp_path / "x.tlx"
    assert main(["index", str(TRACES / "blocks"), "-o", str(saved)]) == 0
    document = build(fresh(saved), "@blocks", Options(width=100))
    while not document.advance():
        pass
    lines = list(lines_of(document, "text"))
    assert lines[0] == "Blocks" and not any(line.startswith("No repeated blocks") for line in lines)
    assert any(line.startswith("Not in the index (1 compile)") for line in lines)


def test_rows_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    rows = tltui.blocks(tltui.open(LOG))
    assert [(row.container, row.blocks, row.versions) for row in rows] == [("layers", 4, 1), ("tail", 3, 3)]
    assert main(["blocks", LOG, "--json"]) == 0
    [result] = json.loads(capsys.readouterr().out)["result"]
    assert result["groups"][0]["members"][2] == "layers.3" and result["costs"][1]["kernel_calls"] == 3
