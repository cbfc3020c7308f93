"""Layers of the model: held against what Inductor knew in the process (`nn_module_stack`), which no text of a trace has."""

import json
import re
from functools import cache

import pytest
from real import TRACES, trace

from tltui.questions.layers.layer_costs import Layers, UnitLayers, is_below, merged, modules_in_lists, signature_of, source_path
from tltui.questions.layers.layer_kernels import captured_layers, layers_of
from tltui.questions.layers.node_layers import frames_of_guards
from tltui.questions.layers.page import chosen, layer_names, layers_in, matches, near
from tltui.text.torch_names import Parameter, common, parameter_of

TIED = {"head", ""}


@cache
def found(log: str = "layers") -> Layers:
    [compile_] = [compile_ for compile_ in trace(log).compiles() if compile_.is_compile]
    return layers_of(compile_)


def unit(name: str, log: str = "layers") -> UnitLayers:
    own = found(log).unit(name)
    assert own is not None
    return own


def truth(name: str, log: str = "layers") -> dict[str, str | None]:
    """Node → its module, None where torch has none: what stands outside of all, and in a backward sums of gradients."""
    rows = map(json.loads, (TRACES / log / "truth.jsonl").read_text().splitlines())
    return {
        row["node"]: row["module"] and re.sub(r"^[LG]\['(\w+)'\]", r"\1", row["module"]).removeprefix("self").strip(".")
        for row in rows if row["unit"] == name
    }  # fmt: skip


@pytest.mark.parametrize(
    ("log", "name", "exact"),
    [
        ("layers", "forward", 0.6), ("layers", "backward", 0.7), ("layers_shared", "forward", 0.6),
        ("layers_shared", "backward", 0.6),
    ],
)  # fmt: skip
def test_a_node_is_said_to_be_in_its_module_or_in_one_around_it(log: str, name: str, exact: float) -> None:
    wanted, own = truth(name, log), unit(name, log).of_post
    told = {node: module or "" for node, module in wanted.items() if module is not None or name == "forward"}
    said = {node: own[node] for node in told if node in own}
    assert {node: (said[node], told[node]) for node in said if not is_below(told[node], said[node])} == {}
    assert sum(said[node] == told[node] for node in said) >= exact * len(told)


def test_what_runs_once_an_iteration_is_told_apart() -> None:
    wanted, own = truth("forward"), unit("forward").of_post
    adds = [node for node, module in wanted.items() if module in ("layers.0", "layers.1")]
    assert len(adds) == 4 and {node: own[node] for node in adds} == {node: wanted[node] for node in adds}
    norms = [node for node, module in wanted.items() if module in ("layers.0.n1", "layers.1.n1", "norm")]
    assert len(norms) == 18 and {node: own[node] for node in norms} == {node: wanted[node] for node in norms}


def test_what_stands_in_the_loop_around_the_layers_is_in_none_of_them() -> None:
    layers = unit("forward").of_pre
    assert {name: layers[name] for name in ("x", "x_3", "x_6")} == {"x": "", "x_3": "", "x_6": ""}, "position, and behind each call"


def test_tied_weights_make_no_layer_of_each_other() -> None:
    wanted, own = truth("forward"), unit("forward").of_post
    heads = [node for node, module in wanted.items() if module == "head"]
    assert heads and {own.get(node, "") for node in heads} <= TIED


def test_a_module_that_is_called_again_is_left_between() -> None:
    wanted, own = truth("forward", "layers_shared"), unit("forward", "layers_shared").of_post
    between = [node for node, module in wanted.items() if node.startswith("cos")]
    assert len(between) >= 2 and {node: own[node] for node in between} == {node: wanted[node] for node in between}
    assert {layer.path for layer in unit("forward", "layers_shared").layers} >= {"net.module.router.experts.a.leaf", "disc.0"}


def test_modules_that_only_hold_parameters_are_no_layers() -> None:
    paths = {layer.path for layer in unit("forward", "layers_shared").layers}
    assert not any(path.endswith((".gate", ".lin", ".experts", ".norms")) for path in paths)


def test_a_backward_has_the_layers_of_what_it_is_the_gradient_of() -> None:
    own = unit("backward")
    assert {layer.path for layer in own.layers} >= {"layers.1.attn.out", "layers.0.mlp.net.0", "norm"}
    assert own.unknown <= 1, "the sum of the gradients of weights that are tied"
    assert all(own.of_kernel.values())


def test_sums_of_gradients_are_of_no_layer() -> None:
    wanted, own = truth("backward"), unit("backward").of_post
    sums = [node for node, module in wanted.items() if module is None]
    assert sums and not [node for node in sums if own.get(node)]


def test_a_layer_has_what_is_in_it_and_in_what_it_holds() -> None:
    own = unit("forward")
    by_path = {layer.path: layer for layer in own.layers}
    root, attn, out = by_path[""], by_path["layers.0.attn"], by_path["layers.0.attn.out"]
    assert set(out.post) < set(attn.post) < set(root.post) and set(out.kernels) <= set(attn.kernels) <= set(root.kernels)
    assert own.layers[attn.parent].path == "layers.0" and own.layers[0].path == "" and "layers" not in by_path
    assert set(attn.alone) == {key for key in attn.kernels if all(is_below(path, "layers.0.attn") for path in own.of_kernel[key])}
    assert set(attn.alone) < set(attn.kernels)
    assert any(line.endswith("layers.py:41") for line in attn.lines) and not any(line.endswith(":57") for line in attn.lines)


def test_iterations_are_merged() -> None:
    own = unit("forward")
    by_path = {layer.path: (layer, count) for layer, count in layers_in(own, True)}
    attn, count = by_path["layers.*.attn"]
    single = {layer.path: layer for layer in own.layers}
    assert count == 2 and set(attn.kernels) == {*single["layers.0.attn"].kernels, *single["layers.1.attn"].kernels}
    assert by_path["layers.*.mlp.net.0"][1] == 2, "the parts of a Sequential are no iterations"
    places = [layer.path for layer, _ in layers_in(own, True)]
    assert places[attn.parent] == "layers.*"


def test_a_layer_is_named_by_its_path_or_the_end_of_it() -> None:
    paths = layer_names(found())
    assert chosen(paths, "layers.1.attn") == ("layers.1.attn",)
    assert chosen(paths, "n1") == (), "two layers end so"
    assert chosen(paths, "layers.*.attn") == ("layers.0.attn", "layers.1.attn", "layers.*.attn")
    assert chosen(paths, "1.attn.out") == ("layers.1.attn.out",)
    assert not chosen(paths, "layers.7.attn") and near(paths, "layers.7.attn")[0].endswith(".attn")
    assert matches("", "(model)") and not matches("layers.0", "layers.0.attn")


def test_call_sites_begin_where_calls_part() -> None:
    sites = unit("forward").sites
    tops = [site for site in sites if site.parent < 0]
    assert {site.line for site in tops} >= {91, 93, 95} and {site.file.rpartition("/")[2] for site in sites} == {"layers.py"}
    attend = next(site for site in sites if site.line == 42)
    assert sites[attend.parent].line == 76 and set(attend.kernels) <= set(sites[attend.parent].kernels) and attend.post_nodes


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("L_self_modules_model_modules_layers_modules_0_modules_self_attn_modules_q_proj_parameters_weight_",
         Parameter("self", ("model", "layers", "0", "self_attn", "q_proj"), "weight")),
        ("l_self_modules_my_parameters_modules_a_buffers_running_mean_", Parameter("self", ("my_parameters", "a"), "running_mean")),
        ("L_self_parameters_pos_", Parameter("self", (), "pos")),
        ("L_model_modules_module_modules_fc_parameters_bias_", Parameter("model", ("module", "fc"), "bias")),
        ("L_self_modules_orig_mod_modules_fc_parameters_bias_", Parameter("self", ("fc",), "bias")),
        ("L_fn_modules_2_parameters_bias_", Parameter("fn", ("2",), "bias")),
        ("L_self_dict_modules_transformer_blocks_modules_3_modules_fc_parameters_weight_",
         Parameter("self", ("transformer_blocks", "3", "fc"), "weight")),
        ("L__self___layers_0_attn_qkv_weight", Parameter("", ("layers", "0", "attn_qkv"), "")),
        ("self.L__self___layers_0_fc_weight", Parameter("", ("layers", "0", "fc"), "")),
        ("self.layers.0.fc.weight", Parameter("", ("layers", "0", "fc"), "weight")),
        ("self.true_graph_0", None),
        ("L_x_", None),
        ("G_net_modules_fc_parameters_bias_", Parameter("net", ("fc",), "bias")),
        ("L_stack0_", None),
        ("primals_3", None),
        ("p_fc_weight", None),
    ],
)  # fmt: skip
def test_names_of_parameters(name: str, parameter: Parameter | None) -> None:
    assert parameter_of(name) == parameter


def test_names_of_an_export_cut_at_numbers_only() -> None:
    assert parameter_of("p_layers_0_self_attn_weight", True) == Parameter("", ("layers", "0", "self_attn"), "")
    assert parameter_of("p_fc_weight", True) == Parameter("", (), ""), "fc, or f of c: not told"
    text = "# inputs\np_a_b_weight: PARAMETER target='a_b.weight'\n    b_n_mean: BUFFER target='n.mean' persistent=True\n"
    assert signature_of(text) == {
        "p_a_b_weight": Parameter("", ("a_b",), "weight"), "b_n_mean": Parameter("", ("n",), "mean"),
    }  # fmt: skip


def test_paths() -> None:
    assert merged("layers.3.mlp.net.0") == "layers.*.mlp.net.*" and merged("conv1.bn2") == "conv1.bn2" and merged("") == ""
    assert common(["a.b.c", "a.b.d"]) == "a.b" and common([]) == "" and common(["a.bc", "a.b"]) == "a"
    assert is_below("a.b", "a") and is_below("a", "") and not is_below("ab", "a")
    assert source_path("L['self']._modules['blocks']._modules['0']") == ("self", ("blocks", "0"))
    assert source_path("L['self'].blocks[0].attn") == ("self", ("blocks", "0", "attn")) and source_path("f()") is None
    assert source_path("L['self'].tails[0]._modules['fc']") == ("self", ("tails", "0", "fc"))
    assert source_path("G['MODELS']['net']._modules['0']._parameters['weight']") == ("MODELS", ("net", "0"))
    assert source_path("L['holder'].net._modules['0']._parameters['bias']") == ("holder", ("net", "0"))
    assert source_path("L['args'][0]._modules['fc']") == ("args", ("fc",)), "an argument without a name"
    guards = "source=G['MODELS']['net']._modules['0'] source=L['holder'].net._parameters source=L['self'].layers[0]._modules"
    assert modules_in_lists(guards) == {
        "MODELS_net": ("MODELS", ("net",)), "holder_net": ("holder", ("net",)), "self_layers_0": ("self", ("layers", "0")),
    }  # fmt: skip


def test_modules_in_a_python_list_are_layers_like_others() -> None:
    [compile_] = [compile_ for compile_ in trace("python_list").compiles() if compile_.is_compile]
    captured = captured_layers(compile_)
    assert captured is not None
    block = ["norm", "fc", "", ""]
    assert list(captured.layers.values()) == [
        *(".".join(filter(None, ("blocks.0", part))) for part in block), "heads.0", "heads.1",
        *(".".join(filter(None, ("tails.0", part))) for part in block), "",
    ]  # fmt: skip
    assert captured.parameters["L_self_heads_1_parameters_weight_"] == "heads.1.weight"


def test_guards_tell_whose_code_a_line_is() -> None:
    text = (
        "| +- DICT_CONTAINS: not ___dict_contains('forward', L['self']._modules['a']._modules['0'].__dict__)  # x = b(x)"
        "  # p/m.py:44 in forward\n"
        "| +- DICT_CONTAINS: not ___dict_contains('forward', L['self']._modules['a']._modules['0']._modules['n'].__dict__)"
        "  # h = self.n(x)  # p/m.py:32 in forward\n"
    )
    frames = frames_of_guards(text, lambda root, path: ".".join(path))
    assert frames.calls["a.0"].line == 44 and frames.caller("a.0.n") == "a.0" and frames.caller("a.0") == ""
    assert frames.lines[("p/m.py", "forward")] == {44: {""}, 32: {"a.*"}}
    assert frames.file("/app/m.py") == "/app/m.py" and frames.file("/x/p/m.py") == "p/m.py"


def test_aot_inductor_names_modules_by_attributes() -> None:
    units = [own for compile_ in trace("torch-2.13/aoti").compiles() for own in layers_of(compile_).units]
    [own] = [own for own in units if own.layers]
    assert [layer.path for layer in own.layers] == ["", "l", "l2"]
    assert (own.of_post["addmm"], own.of_post["addmm_1"], own.of_post["mul"]) == ("l", "l2", "")


def test_a_compile_without_modules_says_why() -> None:
    [compile_] = [compile_ for compile_ in trace("torch-2.13/mesh").compiles() if compile_.is_compile][:1]
    for own in layers_of(compile_).units:
        assert own.layers == () and own.of_kernel == {} and own.why and own.unknown
