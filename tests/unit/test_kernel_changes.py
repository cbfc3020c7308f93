"""Kernels of two compiles are paired by what they compute, and each planted change is called by its name."""

from __future__ import annotations

from functools import cache

import pytest
from pages import page
from real import ROOT, fresh, trace
from text_runs import text_run
from viewed import initial_text, opened, text

import tltui
from tltui import cli
from tltui.model.ref import diff_ref
from tltui.model.run import Run
from tltui.model.status import Eager
from tltui.questions.compare.artifacts_page import CompareResult
from tltui.questions.compare.kernel_changes import (
    Group,
    KernelChange,
    KernelComparison,
    RecordedDifference,
    UnitKernel,
    UnitKernels,
    by_weight,
    compare_kernels,
    groups_of,
    kernel_changes,
    kind_of,
)
from tltui.questions.compare.page import compare_nodes, summary_of
from tltui.questions.provenance.records import Kernel
from tltui.text.document import Document, Options
from tltui.text.steps import run_steps

KERNELS = "tests/traces/kernels/"


@cache
def run_of(variant: str) -> Run:
    return text_run(f"../kernels/{variant}") if variant.endswith(".xz") else fresh(ROOT / KERNELS / variant)


def compared(left: str, right: str, ref: str = "", width: int = 100) -> Document:
    document = compare_nodes(run_of(left), ref, run_of(right), ref, Options(width=width))
    while not document.advance():
        pass
    return document


def kernels(left: str, right: str, ref: str = "") -> KernelComparison:
    result = compared(left, right, ref).data()
    assert isinstance(result, CompareResult) and result.kernels is not None
    return result.kernels


def rows(comparison: KernelComparison) -> list[tuple[str, str]]:
    return [(change.title, change.function) for change in comparison.changes]


@pytest.mark.parametrize("other", ["base", "warm"])
def test_a_cold_and_a_warm_cache_have_no_difference_in_kernels(other: str) -> None:
    comparison = kernels("base", other, "0/0")
    assert (comparison.left_kernels, comparison.right_kernels, comparison.same, comparison.changes) == (1, 1, 1, ())
    whole = kernels("base", "warm")
    assert (whole.left_kernels, whole.right_kernels, whole.same) == (4, 4, 4) and not whole.changes
    assert text(compared("base", "warm")).split("\n")[1] == "No difference in kernels: 4 kernels are unchanged."


def test_compiles_with_code_on_one_side_are_not_called_equal() -> None:
    [first, *_] = (compile_ for compile_ in run_of("base").compiles() if compile_.is_compile)
    without = next(c for c in trace("torch-2.13/outcomes").compiles() if c.facts.eager_reason is Eager.SUPPRESSED)
    comparison = run_steps(compare_kernels([(first, first), (first, without), (without, without)], lambda left, right: ()))
    assert comparison.not_compared == (f"{without.ref}: only left has generated code",)
    assert summary_of(comparison) == "No difference in kernels that could be compared: 1 kernel is unchanged."


def test_kernels_that_are_split() -> None:
    comparison = kernels("base", "apart")
    assert rows(comparison) == [("split 1 → 4", "normalized"), ("split 1 → 2", "sums")]
    assert comparison.same == 2, "the matrix product and its relu"
    first, second = comparison.changes
    assert first.bytes_by_side == (99712, 50048 + 99200 + 49664 + 98816)
    assert [kernel.key for kernel in second.right] == ["cpp_fused_mul_tanh_0:1", "cpp_fused_exp_sum_1:2"]
    assert set(second.nodes) == {"tanh", "mul", "exp", "sum_1"}
    assert {line.rpartition("/")[2] for line in second.lines} == {"kernels.py:52", "kernels.py:53"}
    [recorded] = comparison.recorded_differences
    assert (recorded.name, recorded.left, recorded.right) == ("torch._inductor.config.max_fusion_size", "64", "1")


def test_the_other_direction_merges() -> None:
    comparison = kernels("apart", "base")
    assert rows(comparison) == [("merged 4 → 1", "normalized"), ("merged 2 → 1", "sums")]


def test_the_reason_of_inductor_is_that_of_the_log() -> None:
    """The kernels on the right have no nodes in this text: the one with the last node, and those that can only be the rest."""
    [change] = kernels("base.txt.xz", "apart.txt.xz").changes
    assert (change.title, change.reasons) == ("split 1 → 4", ("exceeds max fusion",))
    [change] = kernels("apart.txt.xz", "base.txt.xz").changes
    assert (change.title, change.reasons) == ("merged 4 → 1", ("exceeds max fusion",))


def test_more_and_fewer_bytes_of_one_kernel() -> None:
    [more] = kernels("base", "unfused").changes
    assert (more.title, more.bytes_by_side) == ("more bytes", (99712, 148864))
    [fewer] = kernels("unfused", "base").changes
    assert fewer.title == "fewer bytes"


def test_another_configuration_of_the_same_kernels() -> None:
    comparison = kernels("base", "scalar")
    assert {change.title for change in comparison.changes} == {"other configuration"}
    assert comparison.changes[0].details == ("C++: vectorized by 8 → scalar",)
    assert [change.function for change in comparison.changes] == ["normalized", "linear", "sums"], "the most bytes first"
    assert comparison.same == 1, "the matrix product of a library has no code"
    assert [recorded.name for recorded in comparison.recorded_differences] == ["torch._inductor.config.cpp.simdlen"]


def test_renamed_functions_and_statements_in_another_order_are_paired() -> None:
    document = compared("base", "renamed")
    result = document.data()
    assert isinstance(result, CompareResult) and result.kernels is not None
    assert [(row.left, row.right) for row in result.rows] == [("0/0", "0/0"), ("1/0", "1/0"), ("2/0", "2/0")]
    assert "sums  kernels.py:51 → totals" in text(document)
    assert not result.kernels.changes and result.kernels.same == 4


def test_dynamic_sizes() -> None:
    comparison = kernels("base", "dynamic", "0/0")
    [change] = comparison.changes
    assert (change.title, change.details) == ("other configuration", ("sizes: static → dynamic",))
    assert change.bytes_by_side == (99712, None), "symbolic sizes"
    assert {recorded.kind for recorded in comparison.recorded_differences} == {"symbol"}


def test_a_template_replaces_an_extern_kernel() -> None:
    [change] = kernels("base", "tuned").changes
    assert (change.title, change.details) == ("merged 2 → 1", ("extern and generated → template",))
    assert [kernel.implementation for kernel in (*change.left, *change.right)] == ["extern", "generated", "template"]


def test_the_epilogue_of_a_template_is_lost() -> None:
    comparison = kernels("tuned", "tuned_apart")
    assert rows(comparison) == [("split 1 → 2", "linear")]
    assert [recorded.name for recorded in comparison.recorded_differences] == ["torch._inductor.config.epilogue_fusion"]


def test_another_version_comes_before_its_settings() -> None:
    left, right = RecordedDifference("version", "torch", "2.8", "2.13"), RecordedDifference("setting", "a.config.b", "1", "2")
    private = RecordedDifference("setting", "a.config._c", "1", "2")
    size = RecordedDifference("input", "L['x']", "[4]", "[8]")
    assert by_weight([private, right, size, left], set()) == (left, size, right, private)
    assert by_weight([size, private, right], set()) == (right, size, private)
    assert by_weight([size, right, private], {"a.config._c"}) == (private, right, size)


def test_two_profiles_order_by_time() -> None:
    run = opened("tests/traces/profiler/recompiles")
    run.profiles.read()
    result = page(run, diff_ref("0/0", "0/1"), 100).data()
    assert isinstance(result, CompareResult) and result.kernels is not None and result.kernels.order == "time"
    [change] = result.kernels.changes
    assert change.title == "more bytes" and None not in change.us_by_side
    assert [recorded.kind for recorded in result.kernels.recorded_differences] == ["guard", "input"]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("other", ["apart", "scalar", "dynamic", "tuned"])
def test_the_first_twelve_lines_are_the_answer(other: str, width: int) -> None:
    lines = text(compared("base", other, width=width)).split("\n")
    assert "" in lines[:13] and all(len(line) <= width for line in lines), lines


def test_unchanged_kernels_are_one_line() -> None:
    shown = initial_text(compared("base", "unfused", "", 120))
    assert shown.count("cpp_fused__softmax_add_gelu_0") == 2, "at the top and in the table"
    assert "    3 kernels are unchanged" in shown and "cpp_fused_relu_0" not in shown


def test_two_paths_without_an_address_are_two_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["diff", str(ROOT / KERNELS / "base"), str(ROOT / KERNELS / "apart")]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == ["base ↔ apart", "4 kernels became 8: 2 split; 2 unchanged."]


def test_rows_of_kernels_in_python() -> None:
    before, after = (tltui.open(str(ROOT / KERNELS / name)) for name in ("base", "apart"))
    rows = [row for row in tltui.diff(before, other=after) if row.kind == "kernels"]
    assert [(row.name, row.left, row.outcome) for row in rows] == [
        ("split 1 → 4", "cpp_fused__softmax_add_gelu_0:1", "changed"), ("split 1 → 2", "cpp_fused_exp_mul_sum_tanh_0:1", "changed"),
    ]  # fmt: skip


def made(name: str, *nodes: str, implementation: str = "generated") -> UnitKernel:
    kernel = Kernel(name, None, (1,), (2, 3), 3, 3, nodes, (), (), "none", "none", name)
    return UnitKernel(kernel, "", implementation, (name, nodes), (), None)


def grouped(left: list[UnitKernel], right: list[UnitKernel]) -> tuple[Group, ...]:
    return groups_of(UnitKernels("forward", tuple(left), None), UnitKernels("forward", tuple(right), None))


def test_a_node_that_is_computed_again_joins_no_kernels() -> None:
    left = [made("a", "exp", "sum"), made("b", "exp", "div")]
    right = [made("c", "exp", "sum", "neg"), made("d", "exp", "div")]
    assert grouped(left, right) == (Group((0,), (0,)), Group((1,), (1,)))


def test_a_node_that_moved_to_another_kernel_regroups_both() -> None:
    left = [made("a", "x", "y"), made("b", "z")]
    right = [made("c", "x"), made("d", "y", "z")]
    assert grouped(left, right) == (Group((0, 1), (0, 1)),)


def test_kernels_without_common_nodes_are_alone() -> None:
    assert grouped([made("a", "x")], [made("b", "y")]) == (Group((), (0,)), Group((0,), ()))


def test_kernels_without_nodes_pair_by_name() -> None:
    assert grouped([made("k_0"), made("l_1")], [made("l_0"), made("k_1")]) == (Group((1,), (0,)), Group((0,), (1,)))


def test_the_same_node_in_two_kernels_pairs_those_with_equal_code() -> None:
    both = [made("copy", "all_reduce"), made("all_reduce_", "all_reduce", implementation="extern")]
    assert grouped(both, [*both, made("x", "y")]) == (Group((0,), (0,)), Group((1,), (1,)), Group((), (2,)))


def test_kernels_of_two_ranks_with_different_collectives() -> None:
    """Torch maps the collective of rank 1 to the node that waits for it; the kernel that waits is unchanged and not split."""
    result = page(opened("src/tltui/demo"), diff_ref("0:13/0", "1:1/0"), 100).data()
    assert isinstance(result, CompareResult) and result.kernels is not None
    assert [change.title for change in result.kernels.changes] == ["added", "removed", "removed"]
    assert result.kernels.changes[0].right[0].key == "torch.ops._c10d_functional.all_gather_into_tensor.default:3"


def test_kernels_with_unknown_nodes_are_not_called_added() -> None:
    [change] = [*changes_between([made("a", "x")], [made("a", "x"), made("b")])]
    assert change == "not paired"


def changes_between(left: list[UnitKernel], right: list[UnitKernel]) -> list[str]:
    kinds = (kind_of([left[n] for n in group.left], [right[n] for n in group.right]) for group in grouped(left, right))
    return [kind for kind in kinds if kind]


def test_no_kernel_is_lost() -> None:
    runs = run_of("base"), run_of("tuned_apart")
    left, right = ([c for c in run.compiles() if c.frame.code[0] == "linear"] for run in runs)
    counts, changes = kernel_changes(left[0], right[0])
    assert counts[0] == sum(len(change.left) for change in changes) + counts[2]
    assert counts[1] == sum(len(change.right) for change in changes) + counts[2]
    assert all(isinstance(change, KernelChange) for change in changes)
