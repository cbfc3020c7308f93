"""Flow of data through C++ wrappers: which node each call runs where torch's mapping does not say it."""

from __future__ import annotations

import pytest
from provenance_truth import CASES
from real import fresh

from tltui.questions.provenance.dataflow import cpp_statements
from tltui.questions.provenance.dataflow.cpp_statements import python_statements
from tltui.questions.provenance.generated_code import Function
from tltui.questions.provenance.provenance import UnitProvenance, provenance_of

TOGETHER = (
    "torch's mapping names the nodes of all calls of these kernels together, "
    "and neither comments in the code nor data flow distinguish them"
)


def unit(trace: str) -> UnitProvenance:
    [log] = (CASES / trace).glob("*.log.xz")
    [one] = [unit for compile_ in fresh(log).compiles() for unit in provenance_of(compile_).units]
    return one


@pytest.mark.parametrize("trace, calls", [
    ("equal_products", {"aoti_torch_cpu_mm_out@678": ("mm", "16"), "aoti_torch_cpu_mm_out@685": ("mm_1", "125")}),
    ("aot_cuda", {"aoti_torch_cuda_mm_out@1061": ("mm_default_1", "125"), "aoti_torch_cuda_mm_out@1080": ("mm_default", "33")}),
])  # fmt: skip
def test_two_calls_of_one_kernel_are_told_apart(trace: str, calls: dict[str, tuple[str, str]]) -> None:
    one = unit(trace)
    externs = {kernel.key: kernel for kernel in one.kernels if kernel.name.startswith("aoti_")}
    assert {key: (kernel.post_nodes, kernel.nodes_from) for key, kernel in externs.items()} == {
        key: ((node,), "dataflow") for key, (node, _) in calls.items()
    }
    assert {key: kernel.user_lines[0].rpartition(":")[2] for key, kernel in externs.items()} == {
        key: line for key, (_, line) in calls.items()
    }
    known = {item.source: item.count for item in one.coverage.kernel_nodes_from}
    assert known == {"node_mappings": len(one.kernels) - 2, "dataflow": 2}


@pytest.mark.parametrize("trace", ["equal_products", "aot_cuda"])
def test_calls_that_nothing_tells_apart_have_no_nodes(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpp_statements, "python_statements", lambda *_: None)
    one = unit(trace)
    externs = {kernel.key for kernel in one.kernels if kernel.name.startswith("aoti_")}
    assert all(not kernel.post_nodes and not kernel.user_lines for kernel in one.kernels if kernel.key in externs)
    assert one.coverage.kernels_with_nodes == len(one.kernels) - 2
    [unknown] = [unknown for unknown in one.coverage.unknown if unknown.kind == "kernel nodes"]
    assert (unknown.reason, set(unknown.names)) == (TOGETHER, externs)


CODE = """\
void inductor_entry_impl(
    AtenTensorHandle* input_handles,  // handles
) {
    auto inputs = steal_from_raw_handles_to_raii_handles(input_handles, 3);
    int64_t arg0_1;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_item_int64(inputs[0], &arg0_1));
    auto arg1_1 = std::move(inputs[1]);
    [[maybe_unused]] auto& fc_weight = constants_->at(0);
    int64_t s0 = arg0_1;
    const int64_t int_array_0[] = {s0, 8L};
    static constexpr int64_t int_array_1[] = {8L, 1L};
    AtenTensorHandle buf0_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, int_array_1, cached_torch_dtype_float32, cpu, 0,
        &buf0_handle));
    RAIIAtenTensorHandle buf0(buf0_handle);
    {
    KernelContextGuard _ctx("aoti_torch_cpu_mm_out", R"(
    buf0.reset(); mystery(buf0);
    )");
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out(buf0, arg1_1,
        wrap_with_raii_handle_if_needed(reinterpret_tensor_wrapper(fc_weight, 2, int_array_0, int_array_1, 4L))));
    }
    arg1_1.reset();
    AtenTensorHandle buf2_handle;
    AtenTensorHandle buf3_handle;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_sort_stable(buf0, &var_0, 1L, nullptr, &buf2_handle));
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_cumsum(buf0, 1L, nullptr, &buf3_handle));
    RAIIAtenTensorHandle buf3(buf3_handle);
    auto buf4 = std::move(buf0);  // reuse
    cpp_fused_relu_0((float*)(buf4.data_ptr()),
        (const int64_t*)(buf3.data_ptr()), s0);
    output_handles[1] = buf4.release();
} // inductor_entry_impl
"""


def statements(code: str) -> tuple[list[tuple[int, str]], list[str]] | None:
    lines = code.split("\n")
    operators = {"mm": [frozenset[int]()], "sort": [frozenset({1})], "cumsum": [frozenset[int]()]}
    return python_statements(lines, Function("", 0, len(lines) - 3), {"cpp_fused_relu_0"}, operators)


def test_statements_of_cpp_in_the_form_of_python() -> None:
    assert statements(CODE) == (
        [
            (5, "arg0_1, = args"), (6, "arg1_1, = args"), (7, "fc_weight, = args"),
            (12, "buf0_handle = empty_strided((s0, 8), (8, 1), torch.float32)"), (14, "buf0 = buf0_handle"),
            (19, "aten.mm(arg1_1, reinterpret_tensor(fc_weight, (s0, 8), (8, 1), 4), out=buf0)"),
            (25, "results_1 = aten.sort(buf0, var_0, 1)"), (25, "buf2_handle = results_1[1]"),
            (26, "buf3_handle = aten.cumsum(buf0, 1, nullptr)"), (27, "buf3 = buf3_handle"), (28, "buf4 = buf0  # reuse"),
            (29, "cpp_fused_relu_0(buf4, buf3, s0)"),
        ],
        ["None", "buf4"],
    )  # fmt: skip


@pytest.mark.parametrize("statement", [
    "aoti_torch_index_put_out(buf0, arg1_1);", "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_mystery(buf0));", "launch(buf0);",
    "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_scatter_(buf0, arg1_1));", "for (int i = 0; i < s0; i++) {",
    "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_proxy_executor_call_function(proxy_executor, 0, 1, s0, 2, buf0));",
])  # fmt: skip
def test_an_unknown_statement_is_never_passed_over(statement: str) -> None:
    assert statements(CODE.replace("    arg1_1.reset();", f"    {statement}")) is None
