"""Static cost of kernels: what code, graphs and estimates of real traces tell, and nothing else."""

import pytest
from real import trace

from tltui.questions.layers.layer_costs import StaticCost, UnitLayers, costs_of_unit, together
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.provenance.records import KERNEL, PY, Kernel


def units(name: str, ref: str = "0/0") -> list[UnitLayers]:
    compile_ = next(compile_ for compile_ in trace(name).compiles() if str(compile_.ref).endswith(ref))
    return list(layers_of(compile_).units)


def kernel(key: str, line: int, definition: tuple[int, int] | None = None, nodes: tuple[str, ...] = (), pane: int = PY) -> Kernel:
    name = key.partition("@")[0]
    return Kernel(name, None, (line,), definition, PY, pane, nodes, (), (), "none", "none", key)


def test_cpp_kernels_tell_by_their_pointers_and_the_sizes_of_buffers() -> None:
    forward = units("layers")[0]
    cost = next(cost for key, cost in forward.costs.items() if key.startswith("cpp_fused_add_embedding"))
    assert cost.loads == 6 and cost.stores == 5 and cost.reductions is None and cost.estimated_us is None
    ids, table, position = 2 * 4 * 8, 32 * 8 * 4, 4 * 8 * 4
    assert cost.moved_bytes is not None and cost.moved_bytes > ids + table + position


def test_external_kernels_tell_by_the_types_of_their_nodes() -> None:
    forward = units("layers")[0]
    cost = next(cost for key, cost in forward.costs.items() if key.startswith("extern_kernels.addmm"))
    assert cost == StaticCost(3, 1, None, 4 * (24 + 8 * 8 + 8 * 24 + 8 * 24)), "bias, input, weight, result"


def test_nodes_of_a_subgraph_are_meant_by_its_kernels() -> None:
    """The outermost graph of this backward has an `addmm_default` of 8 × 8; its branches have one of 4 × 8, and a `mm_1`."""
    _, backward = units("provenance/cond")
    inner, outer = 4 * (4 * 8 + 4 * 8 + 8 * 8 + 4 * 8), 4 * (8 * 8 + 8 * 4 + 4 * 8 + 8 * 8)
    moved = {key: cost.moved_bytes for key, cost in backward.costs.items() if key.startswith("extern_kernels.")}
    assert [moved[f"extern_kernels.addmm:{n}"] for n in (4, 9, 12)] == [inner, inner, outer]
    assert [moved[f"extern_kernels.mm:{n}"] for n in (2, 7)] == [4 * (8 * 4 + 4 * 8 + 8 * 8)] * 2


def test_triton_kernels_tell_what_inductor_counted() -> None:
    [inference] = units("tlparse/two_gpus", "0:0/1")
    norm = inference.costs["triton_per_fused_all_reduce_gelu_native_layer_norm_0"]
    assert (norm.loads, norm.reductions, norm.stores) == (3, 4, 1)
    relu = next(cost for key, cost in inference.costs.items() if key.startswith("triton_poi_fused") and "relu" in key)
    assert relu.reductions == 0 and relu.moved_bytes


def test_estimates_are_taken_in_the_order_of_the_code() -> None:
    [inference] = units("tlparse/two_gpus", "0:0/0")
    assert next(iter(inference.costs)).partition("@")[0] == "extern_kernels.mm"
    times = [cost.estimated_us for cost in inference.costs.values()]
    assert None not in times and times[0] == pytest.approx(6885.84, abs=0.01) and times[3] == 0.0


CODE = [
    "cpp_fused_a_0 = async_compile.cpp_pybinding(['const float*', 'float*', 'const int64_t'], r'''",
    'extern "C"  void  kernel(const float* in_ptr0,',
    "                       half* out_ptr0,",
    "                       const int64_t ks0)",
    "{",
    "}",
    "''')",
    "def call(self, args):",
    "    arg0_1, = args",
    "    assert_size_stride(arg0_1, (4, 8), (8, 1), 'input')",
    "    buf0 = empty_strided_cpu((4, 8), (8, 1), torch.float16)",
    "    cpp_fused_a_0(arg0_1, buf0, 7)",
    "    buf1 = reinterpret_tensor(buf0, (2, 4), (4, 1), 0); del buf0  # reuse",
    "    cpp_fused_a_0(arg0_1, reinterpret_tensor(buf1, (4, 8), (0, 1), 0), 7)",
    "    cpp_fused_a_0(arg9_1, buf1, 7)",
]


def test_sizes() -> None:
    own = [kernel(f"cpp_fused_a_0@{line}", line, (1, 7)) for line in (12, 14, 15)]
    first, expanded, unknown = costs_of_unit(own, CODE, [], None, None).values()
    assert first == StaticCost(1, 1, None, 32 * 4 + 32 * 2)
    assert expanded.moved_bytes == 32 * 4 + 8 * 2, "an expanded dimension is one in memory"
    assert unknown == StaticCost(1, 1, None, None), "of a buffer nothing is known"


def test_the_definition_may_stand_in_another_text() -> None:
    own = kernel("cpp_fused_a_0", 3, (1, 7), pane=KERNEL)
    calls = ["", "", "cpp_fused_a_0(arg0_1, buf0, 7)"]
    assert costs_of_unit([own], calls, CODE, None, None)["cpp_fused_a_0"] == StaticCost(1, 1, None, None)


@pytest.mark.parametrize(
    "estimates", [None, [], {"ops": []}, {"ops": [{"name": "op0"}]}, {"ops": [{"name": "op0", "estimated_runtime_ns": True}]},
                  {"ops": [{"name": "op0", "estimated_runtime_ns": 1}, {"name": "op1", "estimated_runtime_ns": 1}]}],
)  # fmt: skip
def test_estimates_that_do_not_fit_are_left_out(estimates: object) -> None:
    own = [kernel("cpp_fused_a_0", 12, (1, 7))]
    assert costs_of_unit(own, CODE, [], None, estimates)["cpp_fused_a_0"].estimated_us is None
    fit = {"ops": [{"name": "op0", "estimated_runtime_ns": 1500.0}]}
    assert costs_of_unit(own, CODE, [], None, fit)["cpp_fused_a_0"].estimated_us == 1.5


def test_sums_are_of_what_is_known() -> None:
    assert together([]) == StaticCost()
    assert together([StaticCost(1, 2, None, 8, None), StaticCost(2, 1, 3, None, 4.5)]) == StaticCost(3, 3, 3, 8, 4.5)
