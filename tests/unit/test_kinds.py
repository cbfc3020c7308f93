"""The table of kinds against every name that torch 2.13, older torch and vLLM write, and against the real traces."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import orjson
import pytest

from tltui.model.kinds import LANGUAGES, Kind, Phase, all_kinds, kind_of


def _names(text: str) -> list[str]:
    return text.split()


EVENTS = _names("""
    str dynamo_start chromium_event dynamo_output_graph dynamo_cpp_guards_str dynamo_guards compilation_metrics
    bwd_compilation_metrics compilation_metrics_runtime bwd_compilation_metrics_runtime aot_joint_graph
    aot_forward_graph aot_backward_graph aot_inference_graph inductor_post_grad_graph inductor_output_code
    optimize_ddp_split_graph optimize_ddp_split_child compiled_autograd_graph dump_file link describe_storage
    describe_tensor describe_source create_symbol create_unbacked_symbol guard_added_fast
    symbolic_shape_specialization propagate_real_tensors guard_added propagate_real_tensors_provenance
    expression_created guard_on_data_dependent_error missing_fake_kernel mismatched_fake_kernel export
    exported_program inductor_pre_grad_graph aot_autograd_backward_compilation_metrics
    aot_forward_graph_pre_saved_tensors_hooks aot_backward_graph_pre_saved_tensors_hooks
    aot_forward_graph_pre_assert_saved_tensors_hooks
""")

GRAPH_DUMPS = _names("""
    inductor_aot_wrapper_code inductor_aot_kernel_code inductor_aot_header_code vllm_piecewise_split_graph
    vllm_subgraph_0 vllm_submod_1 vllm_patterns.RMSNormQuantFusionPass vllm_post_grad.0.NoOpEliminationPass
""")

STRING_ARTIFACTS = _names("""
    dynamo_graph_break_reason dynamo_error dynamo_side_effects compiler_collective fx_interpreter_error
    make_fx_fail_partial get_local_code_state get_remote_code_state get_extra_remote_code_state
    put_local_code_state put_remote_code_state put_extra_remote_code_state
    compiled_autograd_graph_pre_reordering aot_forward_graph_fw_metadata aot_forward_graph_fw_subclass_metadata
    torch._functorch.config aot_inference_graph_after_hop_passes aot_saved_tensors_hooks_graphs
    eager_compile_backwards_failure aot_joint_graph_sync_decision_cross_ranks min_cut_failed_fx_graph
    min_cut_failed_edge_list min_cut_failed_svg before_activation_quantization_fwd_aten_pass
    after_activation_quantization_fwd_aten_pass before_activation_quantization_bwd_aten_pass
    after_activation_quantization_bwd_aten_pass runtime_wrapper_orchestration output_alias_wrapper
    mutation_epilogue effect_tokens_wrapper dedup_wrapper synthetic_base_wrapper debug_assert_wrapper
    functionalized_rng_wrapper backward_prologue backward_epilogue compiled_function_forward
    compiled_function_backward compiled_fn_wrapper subclass_wrapper backward_subclass_unwrap
    backward_subclass_wrapper before_pre_grad_graph after_pre_grad_graph before_joint_graph after_joint_graph
    before_post_grad_graph inductor_post_grad_graph fx_graph_runnable after_post_grad_graph
    before_recompile_pre_grad after_recompile_pre_grad before_recompile_post_grad after_recompile_post_grad
    inductor_autotune_at_compile_time_code scheduler_nodes_before_comm_overlap
    reorder_communication_preserving_peak_memory sink_waits_iterative_info
    fx_bucketing_passes_reduce_scatter_buckets fx_bucketing_passes_all_gather_buckets pre_decomp_comms
    post_decomp_comms pre_bucketing_fsdp_collectives overlap_scheduling_graph_before
    overlap_scheduling_graph_after inductor_fx_passes_overlap_bucketing inductor_overlap_cyclic_extra_deps
    inductor_spmd_graph_mismatch fx_compute_nodes_runtime_estimation fx_collectives_analytical_estimation
    fx_collectives_node_runtime_estimation fx_collectives_estimations_after_overlap_bucketing
    torch_dynamo_resume_in_f_at_5_ORIGINAL_BYTECODE torch_dynamo_resume_in_f_at_5_MODIFIED_BYTECODE
    remove_reshape_pass_pre_grad decompose_mm_pass_post_grad optimus_BatchLinearFusion cff_MTIABatchLinearFusion
    sink_waits_iterative_ITERATIVE_RECOMPUTE_ERROR model__0_forward_1_fused
""")

JSON_ARTIFACTS = _names("""
    recompile_reasons torch_version precompile_cache_bypass dynamo_cache_bypass dynamo_cache_entries
    dynamo_cache_exception fx_net_acc_splitter_finder_events compiled_autograd_compile_reasons
    min_cut_information invoke_subgraph_backward_duplicate inductor_provenance_tracking_node_mappings
    inductor_provenance_tracking_kernel_stack_traces inductor_post_to_pre_grad_nodes
    inductor_triton_kernel_to_post_grad_nodes fx_graph_cache_hit fx_graph_cache_miss fx_graph_cache_bypass
    fx_graph_cache_hash fx_graph_bundled_cache_hit aotautograd_cache_hit aotautograd_cache_miss
    aotautograd_cache_bypass aotautograd_cache_hash aotautograd_cache_pickle_failure triton_kernel_info
    inductor_collective_schedule inductor_runtime_and_tensor_meta graph_execution inductor_graph_execution
    pre_bucketing_collective_sizes pre_bucketing_collective_sizes_after pge_profile_vs_analytical
    vllm_compilation_config vllm_piecewise_compile_start vllm_compile_event
""")

WITHOUT_PAYLOAD = _names("""
    str dynamo_start link describe_storage describe_tensor describe_source create_symbol create_unbacked_symbol
    guard_added_fast symbolic_shape_specialization propagate_real_tensors guard_added
    propagate_real_tensors_provenance expression_created guard_on_data_dependent_error missing_fake_kernel
    mismatched_fake_kernel
""")

TRACES = Path(__file__).parents[1] / "traces"
RECORD = re.compile(rb"^[VIWEC]\d{4} [\d:.]+ \d+ .+?:\d+\] (\{.*\})\r?$")


def test_every_event_of_torch_is_known() -> None:
    unknown = [event for event in EVENTS if kind_of(event).generic]
    assert unknown == []
    assert [kind_of(event).name for event in EVENTS] == EVENTS


def test_every_graph_dump_is_known() -> None:
    assert [name for name in GRAPH_DUMPS if kind_of("graph_dump", name).generic] == []


@pytest.mark.parametrize(("names", "encoding"), [(STRING_ARTIFACTS, "string"), (JSON_ARTIFACTS, "json")])
def test_every_artifact_is_known(names: list[str], encoding: str) -> None:
    assert [name for name in names if kind_of("artifact", name, encoding).generic] == []
    assert [kind_of("artifact", name, encoding).name for name in names] == names
    assert all(kind_of("artifact", name, encoding).artifact for name in names)


def test_a_json_artifact_is_json() -> None:
    assert {kind_of("artifact", name, "json").language for name in JSON_ARTIFACTS} == {"json"}
    # Declared as strings, but their content is JSON.
    assert kind_of("artifact", "torch._functorch.config", "string").language == "json"
    assert kind_of("artifact", "model__0_forward_1_fused", "string").language == "json"


def test_what_has_no_payload_is_no_artifact() -> None:
    assert {event for event in EVENTS if not kind_of(event).artifact} == {*WITHOUT_PAYLOAD, "chromium_event"}
    assert all(kind_of(event).artifact for event in EVENTS if "metrics" in event)


def test_the_table_is_sound() -> None:
    places: dict[Phase, list[int]] = defaultdict(list)
    for kind in all_kinds():
        assert kind.language in LANGUAGES, kind.name
        assert kind.phase is not Phase.OTHER, kind.name
        assert kind.title and kind.help, kind.name
        assert len(kind.title) <= 45, kind.name
        assert not kind.title.startswith(("Before ", "After ")), "a title is a noun phrase"
        assert len(kind.help) <= 105 and "\n" not in kind.help and kind.help[-1] in ".?", kind.name
        places[kind.phase].append(kind.order)
    for phase, orders in places.items():
        assert orders == sorted(set(orders)), phase
    names = [kind.name for kind in all_kinds()]
    assert len(names) == len(set(names))
    assert [phase.order for phase in Phase] == list(range(len(Phase)))


def test_the_order_is_that_of_a_compile() -> None:
    def place(name: str) -> tuple[int, int]:
        kind = kind_of(name)
        return kind.phase.order, kind.order

    order = _names("""
        recompile_reasons dynamo_graph_break_reason dynamo_output_graph before_pre_grad_graph after_pre_grad_graph
        aot_joint_graph aot_forward_graph_fw_metadata aot_forward_graph aot_backward_graph before_joint_graph
        after_joint_graph fx_graph_runnable before_post_grad_graph inductor_post_grad_graph inductor_output_code
        inductor_provenance_tracking_node_mappings inductor_provenance_tracking_kernel_stack_traces
        inductor_collective_schedule fx_graph_cache_miss runtime_wrapper_orchestration dynamo_cpp_guards_str
        compilation_metrics
    """)
    assert [place(name) for name in order] == sorted(place(name) for name in order)


def test_a_post_grad_graph_is_one_kind_as_event_and_as_artifact() -> None:
    assert kind_of("inductor_post_grad_graph") == kind_of("artifact", "inductor_post_grad_graph", "string")
    assert kind_of("inductor_post_grad_graph").language == "fx"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("my_pass_post_grad", "Graph after a post-grad pass"),
        ("inductor_post_grad_graph", "Post-grad graph"),
        ("before_recompile_post_grad", "Graph before custom post-grad passes"),
        ("vllm_post_grad.12.Fusion\nPass", "Graph after a vLLM pass"),
        ("vllm_something_new", "vLLM record"),
        ("f_ORIGINAL_BYTECODE", "Original bytecode"),
        ("f_original_bytecode", "f_original_bytecode"),
    ],
)
def test_families_of_names(name: str, title: str) -> None:
    kind = kind_of("artifact", name, "string")
    assert (kind.name, kind.title) == (name, title)


@pytest.mark.parametrize(
    ("event", "name", "encoding", "language"),
    [
        ("artifact", "mine", "json", "json"),
        ("artifact", "mine", "string", "text"),
        ("artifact", "mine", "x-unknown", "text"),
        ("artifact", "mine", None, "text"),
        ("artifact", None, "json", "json"),
        ("artifact", "../../etc/passwd", None, "text"),
        ("artifact", "[red]\x1b[31m\x00", None, "text"),
        ("artifact", "", None, "text"),
        ("artifact", "a" * 100_000, "string", "text"),
        ("graph_dump", None, None, "text"),
        ("graph_dump", "mine", "cpp", "cpp"),
        ("", None, None, "text"),
        ("my_event", None, None, "text"),
    ],
)
def test_unknown_names_can_be_opened(event: str, name: str | None, encoding: str | None, language: str) -> None:
    kind = kind_of(event, name, encoding)
    assert kind.generic
    assert kind.artifact
    assert (kind.name, kind.language) == (event if name is None else name, language)


@pytest.mark.parametrize("name", ["str", "chromium_event", "describe_tensor", "compilation_metrics", "dynamo_start"])
def test_an_artifact_named_like_an_event_is_still_an_artifact(name: str) -> None:
    kind = kind_of("artifact", name, "string")
    assert kind.artifact and kind.generic and kind.language == "text"


def _kinds_of_files() -> dict[tuple[str, str], set[Kind]]:
    found: dict[tuple[str, str], set[Kind]] = defaultdict(set)
    for path in sorted(TRACES.rglob("*")):
        if path.suffix not in {".log", ".txt"} or not path.is_file() or "planted" in path.parts:
            continue
        with path.open("rb") as file:
            for line in file:
                match = RECORD.match(line.rstrip(b"\n"))
                if match is None:
                    continue
                try:
                    envelope = orjson.loads(match[1])
                except orjson.JSONDecodeError:
                    continue
                event = next(iter(envelope))
                metadata = envelope[event]
                name = metadata.get("name") if event in {"artifact", "graph_dump"} else None
                encoding = metadata.get("encoding") if isinstance(metadata, dict) else None
                found[event, name or ""].add(kind_of(event, name, encoding))
    return found


def test_all_names_in_the_real_traces_are_known() -> None:
    found = _kinds_of_files()
    if not found:
        pytest.skip("no traces here")
    assert sorted(names for names, kinds in found.items() if any(kind.generic for kind in kinds)) == []
