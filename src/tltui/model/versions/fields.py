"""Since which torch, and until which, the metrics of a compile have a field.

Torch writes all fields of a record, those without a value as null. So a whole record tells by the fields that it lacks as well
as by those that it has, between which versions of torch it was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from tltui.model.versions.version import ALWAYS, Minor, Span

_ALWAYS = """
    frame_key co_name co_filename co_firstlineno cache_size accumulated_cache_size guard_count shape_env_guard_count
    graph_op_count graph_node_count graph_input_count start_time entire_frame_compile_time_s backend_compile_time_s
    inductor_compile_time_s code_gen_time_s fail_type fail_reason fail_user_frame_filename fail_user_frame_lineno
    non_compliant_ops compliant_custom_ops
"""
_SINCE: dict[Minor, str] = {
    (2, 4): "compile_id restart_reasons dynamo_time_before_restart_s has_guarded_code",
    (2, 6): """
        remote_cache_time_saved_s structured_logging_overhead_s config_suppress_errors config_inline_inbuilt_nn_modules
        specialize_float dynamo_config is_forward num_triton_bundles remote_fx_graph_cache_get_time_ms
        remote_fx_graph_cache_put_time_ms start_time_us duration_us dynamo_cumulative_compile_time_us
        aot_autograd_cumulative_compile_time_us inductor_cumulative_compile_time_us
        inductor_code_gen_cumulative_compile_time_us triton_compile_time_us runtime_cudagraphify_time_us
        runtime_triton_autotune_time_us dynamo_compile_time_before_restart_us distributed_ephemeral_timeout_us
        structured_logging_overhead_us remote_fx_graph_cache_get_time_us remote_fx_graph_cache_put_time_us
        backward_cumulative_compile_time_us end_time_us pre_grad_pass_time_us post_grad_pass_time_us joint_graph_pass_time_us
        log_format_version inductor_config remote_cache_version inductor_fx_remote_cache_hit_count
        inductor_fx_remote_cache_miss_count inductor_fx_remote_cache_backend_type inductor_fx_remote_cache_hit_keys
        inductor_fx_remote_cache_miss_keys cuda_version triton_version feature_usage
    """,
    (2, 7): """
        compile_time_autotune_time_us is_runtime gc_time_us tensorify_float_attempt tensorify_float_success
        tensorify_float_failure guard_latency_us recompile_reason num_graph_breaks triton_kernel_compile_times_us ir_count
        cudagraph_skip_reason
    """,
    (2, 8): """
        python_version pgo_put_remote_code_state_time_us pgo_get_remote_code_state_time_us param_numel param_bytes param_count
    """,
    (2, 9): "stack_trace exception_stack_trace graph_node_shapes recompile_user_contexts inline_inbuilt_nn_modules_candidate",
    (2, 10): "compiler_config pytorch_version inductor_provenance",
    (2, 11): """
        inductor_fx_local_cache_hit_count inductor_fx_local_cache_miss_count aotautograd_remote_cache_hit_count
        aotautograd_remote_cache_miss_count aotautograd_local_cache_hit_count aotautograd_local_cache_miss_count
    """,
    (2, 13): "functorch_config",
}

_ONLY_2_5 = "possibly_missed_reinplacing_opportunities"

FIELDS: dict[str, Span] = {
    **dict.fromkeys(_ALWAYS.split(), ALWAYS),
    **{name: Span(since) for since, names in _SINCE.items() for name in names.split()},
    _ONLY_2_5: Span((2, 5), (2, 5)),
    "cuda_synchronize_time_us": Span((2, 6), (2, 7)),
}
"""Field of `compilation_metrics` → the versions that write it."""

CLUE = "the fields of its metrics"
_WHOLE = frozenset(name for name, span in FIELDS.items() if span == ALWAYS)


def clues_of(fields: Set[str]) -> Iterator[tuple[str, Span]]:
    """What the names of the fields of a `compilation_metrics` tell of the version."""
    for name in fields & FIELDS.keys():
        yield CLUE, FIELDS[name]
    if not fields >= _WHOLE:
        return  # not as torch wrote it: what is not there may have been taken out
    for since, names in _SINCE.items():
        if fields.isdisjoint(names.split()):
            yield CLUE, Span(until=(since[0], since[1] - 1))
            if since == (2, 6) and _ONLY_2_5 not in fields:
                yield CLUE, Span(until=(2, 4))
