"""The page of fusion, from each input that tells of it."""

from __future__ import annotations

import lzma
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import real
from pages import page
from test_schemas import fits, view_data
from text_runs import directory, text_run, unpacked
from viewed import lead_somewhere, opened, targets, text

from tltui.model.artifacts import artifacts_of
from tltui.model.follow import open_run
from tltui.model.ref import diff_ref
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.model.torch_versions import SETTINGS, TorchVersion
from tltui.questions.fusion.fusion_decisions import KNOWN_REASONS, UnitFusion, loops_of, meaning_of, sums_of
from tltui.questions.fusion.unit_fusion import UnitTexts, calls_of, fusion_of, fusion_of_compile
from tltui.questions.passes.page import counterpart, has_counterpart
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import PY
from tltui.sources.discover import discover
from tltui.text.graphs.fusion_log import parse

INPUTS = real.TRACES / "inputs"
MLP, TRAIN = "mlp/stderr.txt.xz", "fusion/train.txt.xz"


@cache
def run_of(kind: str) -> Run:
    """A training step as a debug directory, as text, as a trace alone, and as a trace with its debug directory."""
    if kind in (MLP, TRAIN):
        return text_run(kind)
    if kind == "debug":
        return open_run(discover([str(INPUTS / "mlp" / "torch_compile_debug")]))
    job = directory() / f"mlp_{kind}"
    if not job.exists():
        packed = next((INPUTS / "mlp" / "trace").iterdir())
        (job / "trace").mkdir(parents=True)
        (job / "trace" / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
        if kind == "case":
            shutil.copytree(INPUTS / "mlp" / "torch_compile_debug", job / "torch_compile_debug")
    return open_run(discover([str(job)]))


def units(kind: str) -> list[UnitFusion]:
    """All units of a run."""
    found = (fusion_of_compile(compile_, version_of(compile_.process)) for compile_ in run_of(kind).compiles())
    return [unit for own in found for unit in own.units]


@pytest.mark.parametrize("kind", ["debug", "case", MLP])
def test_what_became_of_a_training_step(kind: str) -> None:
    sums = sums_of(tuple(units(kind)))
    assert (sums.units, sums.ops, sums.nodes, sums.kernel_calls, sums.external_calls) == (4, 46, 28, 12, 12)
    for unit in units(kind):
        assert {node.kernel_from for node in unit.nodes} == {"arguments"}
        assert all(len(node.kernels) == 1 for node in unit.nodes) and all(kernel.nodes for kernel in unit.kernels)
        assert sum(kernel.operations for kernel in unit.kernels) == unit.ops


def test_the_first_lines_are_the_answer() -> None:
    lines = text(page(run_of(MLP), "@fusion", 140)).split("\n")
    assert lines[1] == "46 operations became 28 nodes: 12 calls of generated kernels and 12 external calls"
    assert " ".join(" ".join(lines[2:4]).split()) == (
        "36 reasons against fusion: 30 × intermediate nodes between node1 & node2, 6 × no shared data; 10 of them were fused in "
        "a later round"
    )


def test_a_kernel_with_all_that_is_in_it() -> None:
    lines = text(page(run_of(MLP), "@fusion:0/0", 140))
    assert """
  cpp_fused_native_layer_norm_0:1  5 operations  called at line 301, defined at line 33
    op0 op1 op2 op3 op4  outer loops fused · Reduction, Pointwise · 4 × 16 reduced, 4, 4 × 16 · writes buf0 buf1 buf2 buf3 buf4
    from    var_mean getitem_1 add rsqrt sub mul mul_1 add_1
    source  job/mlp.py:7  return torch.softmax(x + self.down(torch.nn.functional.gelu(self.up(self.ln(x)))), -1)
""" in lines
    assert "2 operations in 2 nodes" in lines, "several nodes may be one kernel of the CPU"
    assert """
      op0 op1 op2 op3 op4 (var_mean, rsqrt, add, add_1 …)  in cpp_fused_native_layer_norm_0:1  job/mlp.py:7
        with op8 op9 op10 op11 (amax, add_3, exp, sub_1 …)  in cpp_fused__softmax_add_2:5  job/mlp.py:7
        reported for op0/op8,""" in lines
    assert "one kernel runs both, one after the other" in lines


@pytest.mark.parametrize("kind", ["debug", "case", MLP, "trace", TRAIN])
def test_links_and_data(kind: str) -> None:
    run = run_of(kind)
    ref = "3/0" if kind == TRAIN else str(next(iter(run.compiles())).ref) if kind == "debug" else "0/0"
    for place in ("", ref):
        document = page(run, f"@fusion:{place}" if place else "@fusion")
        lead_somewhere(run, document)
        fits("fusion", view_data(run, "fusion", place))
        assert all(len(line) <= 80 for line in document.text())


def test_origins_without_a_log_are_those_of_the_only_node() -> None:
    forward = next(unit for unit in units("case") if unit.unit == "forward")
    own = {node.name: [origin.name for origin in node.origins] for node in forward.nodes}
    assert own["op5"] == ["addmm"] and own["op0_op1_op2_op3_op4"][0] == "var_mean"
    assert {line.line for node in forward.nodes for line in node.source} == {7}
    said = " ".join(text(page(run_of("case"), "@fusion:0/0")).split())
    assert "The log does not contain the reasons why nodes were not fused. To record them, set TORCH_LOGS=fusion." in said
    assert "nodes before and after fusion" not in said


def test_a_trace_alone() -> None:
    said = text(page(run_of("trace"), "@fusion:0/0", 120))
    assert "6 calls of generated kernels and 6 external calls" in said
    assert "The nodes before and after fusion are not logged. To record them, set TORCH_COMPILE_DEBUG=1" in said
    assert "set TORCH_LOGS=fusion" in said
    assert "from    mul_4 mul_2 add_2 erf mul_3" in said and "job/mlp.py:7" in said
    assert "This trace has no fusion log" in text(page(run_of("trace"), "@fusion"))


def test_a_kernel_of_the_gpu_from_its_arguments() -> None:
    run = opened("tests/traces/tlparse/inductor_provenance_jit_cuda_log.txt")
    compile_ = next(iter(run.compiles()))
    unit = provenance_of(compile_).units[0]
    code = next(a.log.text(a.record) for a in artifacts_of(compile_) if str(a.ref) == unit.panes[PY].ref)
    calls = {call.kernel.key: (sorted(call.writes), sorted(call.reads)) for call in calls_of(unit.kernels, code.split("\n"))}
    assert calls["triton_poi_fused_mul_1"] == (["buf2"], ["arg3_1"])
    assert calls["triton_poi_fused_addmm_relu_sigmoid_0"] == (["buf1"], ["arg1_1", "buf1"]), "what is changed in place is both"
    assert calls["extern_kernels.mm@186"] == (["buf0"], ["arg0_1", "arg2_1"])
    assert calls["extern_kernels.mm@201"] == (["buf3"], ["arg4_1", "buf2"])
    said = text(page(run, f"@fusion:{compile_.ref}"))
    assert "triton_poi_fused_addmm_gelu_2" in said and "from    " in said


def test_an_optimizer_is_one_kernel_of_many_nodes() -> None:
    step = next(unit for unit in units(TRAIN) if unit.unit == "inference")
    assert (step.ops, len(step.nodes), len(step.kernels)) == (104, 26, 1) and step.log_agrees_with_ir
    assert {node.kernels for node in step.nodes} == {(step.kernels[0].key,)}
    assert [(reason.reason, len(reason.pairs)) for reason in step.reasons] == [
        ("no shared data", 120), ("score_fusion_memory_threshold", 13),
        ("Nodes are too far away. Fusing them may increase peak memory.", 7),
    ]  # fmt: skip
    assert sum(pair.is_fused_later for reason in step.reasons for pair in reason.pairs) == 72


def test_what_has_no_kernel_is_said() -> None:
    backward = next(unit for unit in units(TRAIN) if unit.unit == "backward")
    assert [node.kind for node in backward.nodes if not node.kernel_from] == ["NopKernelSchedulerNode"]
    assert {node.kernel_from for node in backward.nodes} == {"arguments", "part", ""}, "outputs that are taken apart"
    assert "No kernel: nothing to run (1 node)" in text(page(run_of(TRAIN), "@fusion:0/0"))


def test_text_without_graphs_has_units_too(tmp_path: Path) -> None:
    """TORCH_LOGS=fusion,ir_pre_fusion,ir_post_fusion,output_code: only IR tells where the next unit begins."""
    kept = [line for line in unpacked(MLP).read_text().split("\n")
            if any(f"[__{name}]" in line for name in ("fusion", "ir_pre_fusion", "ir_post_fusion", "output_code"))]  # fmt: skip
    path = tmp_path / "few.txt"
    path.write_text("\n".join(kept) + "\n")
    run = text_run(path)
    found = [unit for c in run.compiles() for unit in fusion_of_compile(c, version_of(c.process)).units]
    assert [(unit.unit, unit.ops, len(unit.nodes), len(unit.kernels), unit.log_agrees_with_ir) for unit in found] == [
        ("forward", 12, 5, 5, True), ("backward", 11, 9, 7, True)] * 2  # fmt: skip
    lead_somewhere(run, page(run, "@fusion:0/0"))


def test_the_fusion_log_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("\n".join(line for line in unpacked(MLP).read_text().split("\n") if "[__fusion]" in line) + "\n")
    run = text_run(path)
    said = text(page(run, "@fusion:0/0"))
    assert "23 operations became 14 nodes\n18 reasons against fusion" in said
    assert "Kernels unknown (no generated code) (5 nodes)" in said and "nodes before and after fusion" not in said
    fits("fusion", view_data(run, "fusion", ""))


def test_buffers_lead_from_writer_to_reader() -> None:
    own = {buffer.name: buffer for buffer in units(MLP)[0].buffers}
    assert (own["buf4"].writer, own["buf4"].readers) == ("op0_op1_op2_op3_op4", ("op5",))
    assert (own["buf4"].written_by, own["buf4"].read_by) == (("cpp_fused_native_layer_norm_0:1",), ("extern_kernels.addmm:2",))
    assert own["buf4"].is_output and not own["buf7"].is_output


def test_the_log_alone_gives_the_nodes() -> None:
    """Without IR the log says what was fused, and the mapping of a trace in which kernel that is."""
    log = run_of(MLP).models[0].log
    records = [log.text(r) for r in range(len(log)) if log.kind(r).name == "fusion" and log.context(r).compile == 0]
    mapped = provenance_of(next(c for c in run_of("trace").compiles() if str(c.ref) == "0/0")).units[0]
    compile_ = next(c for c in run_of("trace").compiles() if str(c.ref) == "0/0")
    code = next(a.log.text(a.record) for a in artifacts_of(compile_) if str(a.ref) == mapped.panes[PY].ref).split("\n")
    texts = UnitTexts("forward", run=parse(records)[0], provenance=mapped, code=code)
    found = fusion_of(texts)
    assert [len(node.operations) for node in found.nodes] == [5, 1, 1, 1, 4] and found.ops == 12
    kernels = {node.name: (node.kernels, node.kernel_from) for node in found.nodes if node.origins}
    assert kernels["op8_op9_op10_op11"] == (("cpp_fused__softmax_add_2:5",), "origins")
    assert not fusion_of(replace(texts, provenance=None, code=())).kernels


@pytest.mark.parametrize("known", KNOWN_REASONS, ids=lambda known: known.begins)
def test_reasons_are_explained(known: object) -> None:
    own = meaning_of(f"{known.begins} (4, 16)")  # type: ignore[attr-defined]
    assert own.entry is known and own.template == known.begins and own.values == "(4, 16)"  # type: ignore[attr-defined]
    assert own.entry.means.endswith(".") and (not own.entry.does or own.entry.setting in SETTINGS)


def test_reasons_that_nobody_knows_are_grouped_without_their_numbers() -> None:
    assert meaning_of("too wide (12, 3) for 4 lanes").template == meaning_of("too wide (1, 99) for 8 lanes").template
    assert meaning_of("no shared data due to indexing mismatch").entry is not meaning_of("no shared data").entry
    assert meaning_of("node1 is extern but node2 is not SchedulerNode").template.endswith("SchedulerNode")


def test_no_setting_that_this_torch_lacks() -> None:
    own = meaning_of("score_fusion_memory_threshold")
    new, old = TorchVersion(least=(2, 13), most=(2, 13)), TorchVersion(least=(2, 4), most=(2, 4))
    assert own.advice(new) and not own.advice(old)


@pytest.mark.parametrize(
    ("said", "read"),
    [("([4], [16])", "4 × 16 reduced"), ("([64], [])", "64"), ("([], [])", "1"), ("([s0, 4], [])", "s0 × 4"),
     ("((4,), (16,))", "4 × 16 reduced"), ("odd", "odd")],
)  # fmt: skip
def test_sizes(said: str, read: str) -> None:
    assert str(loops_of(said) or "") == read


def test_the_overview_leads_there() -> None:
    assert "@fusion:0/0" in targets(page(run_of(MLP), "0/0"))
    assert "@fusion:0/0" not in targets(page(run_of("trace"), "0/0")), "only where there is more than the code"


def test_every_page_of_this_can_be_narrow_and_in_ascii() -> None:
    for width in (60, 200):
        said = text(page(run_of(TRAIN), "@fusion", width, ascii_=True))
        assert said.isascii() and max(map(len, said.split("\n"))) <= width


def test_ir_before_fusion_stands_beside_that_after_it() -> None:
    compile_ = next(c for c in run_of(MLP).compiles() if str(c.ref) == "0/0")
    own = {str(artifact.ref): artifact for artifact in artifacts_of(compile_)}
    for n in (1, 2):
        before, after = own[f"0/0:ir_pre_fusion#{n}"], own[f"0/0:ir_post_fusion#{n}"]
        assert has_counterpart(before) and counterpart(before) == after and counterpart(after) == before
    said = text(page(run_of(MLP), diff_ref("0/0:ir_pre_fusion#1", "0/0:ir_post_fusion#1")))
    assert "op0_op1_op2_op3_op4: OuterLoopFusedSchedulerNode" in said


def test_the_ir_is_a_document_with_sections() -> None:
    run = run_of(MLP)
    document = page(run, "0/0:ir_post_fusion#1")
    assert document.language == "ir" and document.sections()[0].title.startswith("op0_op1_op2_op3_op4")
    assert any(span.style == "definition" for span in document.line(0).spans)


def test_what_torch_does_not_count_as_shared_is_not_called_apart() -> None:
    """The score behind "no shared data" counts only what both use in the same order: a matrix and its sums over columns have none
    (`score_fusion_memory` of torch/_inductor/scheduler.py). And loops are put into another order on a GPU only (`is_cpu` there)."""
    assert "do not use the same elements of it in the same order" in meaning_of("no shared data").entry.means
    for known in KNOWN_REASONS:
        assert "loop_ordering" not in known.setting or "on a GPU" in known.does
