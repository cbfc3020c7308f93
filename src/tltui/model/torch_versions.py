"""The torch version that wrote a log, and the settings and metrics that each version has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from tltui.text.frozen import frozen

Minor = tuple[int, int]
"""`(2, 13)`"""

OLDEST: Minor = (2, 4)
NEWEST: Minor = (2, 15)
"""The first and the last version of torch of which it is known what they write."""


def minor_of(version: str | None) -> Minor | None:
    """`2.13.0+cpu` → (2, 13)"""
    parts = (version or "").split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


def dotted(minor: Minor) -> str:
    """(2, 13) → `2.13`"""
    return f"{minor[0]}.{minor[1]}"


def _shifted(minor: Minor, step: int) -> Minor:
    return minor[0], max(minor[1] + step, 0)


@frozen
class Span:
    """The versions of torch that have something: from `since` to `until`, both included.

    Without `since` the oldest known version has it already, without `until` the newest known one has it still.
    """

    since: Minor | None = None
    until: Minor | None = None

    def __str__(self) -> str:
        """`torch 2.8 and later`, `torch 2.8 to 2.9`, `torch 2.6 and before`, `every torch`"""
        if self.since is None:
            return "every torch" if self.until is None else f"torch {dotted(self.until)} and before"
        if self.until is None:
            return f"torch {dotted(self.since)} and later"
        return f"torch {dotted(self.since)}" + (f" to {dotted(self.until)}" if self.until != self.since else "")

    def __or__(self, other: Span) -> Span:
        """Return the union."""
        since = None if self.since is None or other.since is None else min(self.since, other.since)
        until = None if self.until is None or other.until is None else max(self.until, other.until)
        return Span(since, until)


ALWAYS = Span()


@frozen
class TorchVersion:
    """The stated or inferred version of torch that wrote a log."""

    stated: str | None = None
    """As the log states it."""
    least: Minor | None = None
    """It is at least this one."""
    most: Minor | None = None
    """It is at most this one."""
    by: tuple[str, ...] = ()
    """What shows it, where the log does not state it."""

    def has(self, span: Span) -> bool | None:
        """Whether it has something that these versions have; None where that is not known.

        Unless it is stated, it is taken for one of those that are known: every newer one states it.
        """
        if span.since is not None and self.most is not None and self.most < span.since:
            return False
        if span.until is not None and self.least is not None and self.least > span.until:
            return False
        begun = span.since is None or (self.least is not None and self.least >= span.since)
        ended = self.newer if span.until is None else self.most is None or self.most > span.until
        return True if begun and not ended else None

    @property
    def newer(self) -> bool:
        """Whether it is newer than every version with known log contents."""
        return self.least is not None and self.least > NEWEST

    @property
    def words(self) -> str:
        """`torch 2.13`, `torch 2.8 to 2.9`, `torch 2.9 or later`, `torch 2.6 or before`, `this torch`"""
        if self.least is None:
            return "this torch" if self.most is None else f"torch {dotted(self.most)} or before"
        if self.most is None:
            return f"torch {dotted(self.least)} or later"
        return f"torch {dotted(self.least)}" + (f" to {dotted(self.most)}" if self.most != self.least else "")

    @property
    def description(self) -> str | None:
        """A description, `torch 2.13.0+cpu`, or `torch 2.8 to 2.9, judging by …`; None if unknown."""
        if self.stated is not None:
            return f"torch {self.stated}"
        return f"{self.words}, judging by {', '.join(self.by)}" if self.by else None


UNKNOWN = TorchVersion()


def stated_version(version: str) -> TorchVersion:
    """Parse a stated version. A build between two releases has the features of the older one, and some of the newer one."""
    minor = minor_of(version)
    if minor is None:
        return TorchVersion(version)
    is_prerelease = any(mark in version.partition("+")[0] for mark in ("a0", "dev"))
    return TorchVersion(version, _shifted(minor, -1) if is_prerelease else minor, minor)


def judged_version(clues: Iterable[tuple[str, Span]]) -> TorchVersion:
    """Infer the version from named clues with the versions that write them.

    Clues that exclude each other indicate a build between two releases.
    """
    least: tuple[Minor, str] | None = None
    most: tuple[Minor, str] | None = None
    for name, span in clues:
        if span.since is not None and (least is None or span.since > least[0]):
            least = span.since, name
        if span.until is not None and (most is None or span.until < most[0]):
            most = span.until, name
    by = tuple(dict.fromkeys(clue[1] for clue in (least, most) if clue is not None))
    if least is not None and most is not None and least[0] > most[0]:
        least, most = most, least
    return TorchVersion(None, least[0] if least else None, most[0] if most else None, by)


SETTINGS: dict[str, Span] = {
    # environment variables
    "AOT_PARTITIONER_DEBUG": ALWAYS,
    "ENABLE_AOT_AUTOGRAD_CACHE": Span((2, 5), (2, 5)),
    "INDUCTOR_PROVENANCE": Span((2, 9)),
    "LOG_TLPARSE": Span((2, 9)),
    "TORCH_NCCL_TRACE_BUFFER_SIZE": ALWAYS,
    "TORCHINDUCTOR_AUTOGRAD_CACHE": Span((2, 6)),
    "TORCHDYNAMO_VERBOSE": ALWAYS,
    "TORCHINDUCTOR_COMPILE_THREADS": ALWAYS,
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": ALWAYS,
    "TORCHINDUCTOR_FX_GRAPH_CACHE": ALWAYS,
    "TORCHINDUCTOR_MAX_AUTOTUNE": ALWAYS,
    "TORCH_COMPILE_DEBUG": ALWAYS,
    "TORCH_COMPILE_DYNAMIC_SOURCES": Span((2, 8)),
    "TORCH_COMPILE_UNBACKED_SOURCES": Span((2, 8)),
    "TORCH_DTRACE": Span((2, 7)),
    "TORCH_LOGS": ALWAYS,
    "TORCH_LOGS_FORMAT": ALWAYS,
    "TORCH_TRACE": ALWAYS,
    # configurations
    "torch._dynamo.config.allow_unspec_int_on_nn_module": Span((2, 7)),
    "torch._dynamo.config.cache_size_limit": ALWAYS,
    "torch._dynamo.config.capture_dynamic_output_shape_ops": ALWAYS,
    "torch._dynamo.config.capture_scalar_outputs": ALWAYS,
    "torch._dynamo.config.recompile_limit": Span((2, 7)),
    "torch._dynamo.config.specialize_float": ALWAYS,
    "torch._dynamo.config.suppress_errors": ALWAYS,
    "torch._inductor.config.aggressive_fusion": ALWAYS,
    "torch._inductor.config.benchmark_fusion": ALWAYS,
    "torch._inductor.config.cpp.enable_kernel_profile": ALWAYS,
    "torch._inductor.config.epilogue_fusion": ALWAYS,
    "torch._inductor.config.fallback_random": ALWAYS,
    "torch._inductor.config.loop_ordering_after_fusion": Span((2, 6)),
    "torch._inductor.config.max_autotune_gemm": ALWAYS,
    "torch._inductor.config.max_fusion_size": ALWAYS,
    "torch._inductor.config.max_fusion_unique_io_buffers": Span((2, 13)),
    "torch._inductor.config.prologue_fusion": Span((2, 7)),
    "torch._inductor.config.score_fusion_memory_threshold": Span((2, 6)),
    "torch._inductor.config.triton.cudagraph_skip_dynamic_graphs": ALWAYS,
    "torch._inductor.config.triton.tiling_prevents_pointwise_fusion": ALWAYS,
    "torch._inductor.config.triton.tiling_prevents_reduction_fusion": ALWAYS,
    "torch.compiler.config.dynamic_sources": Span((2, 8)),
    "torch.compiler.config.unbacked_sources": Span((2, 8)),
    "torch.fx.experimental._config.use_duck_shape": Span((2, 5)),
    # functions
    "torch._check": ALWAYS,
    "torch._dynamo.decorators.mark_unbacked": Span((2, 5)),
    "torch._dynamo.mark_dynamic": ALWAYS,
    "torch._dynamo.mark_static_address": ALWAYS,
    "torch._dynamo.maybe_mark_dynamic": ALWAYS,
    "torch.export.draft_export": Span((2, 8)),
    "torch.library.register_fake": ALWAYS,
}
"""A name as our texts write it → the versions of torch that know it."""


def exists_in(version: TorchVersion, name: str) -> bool | None:
    """Whether a version of torch knows this setting or function (`SETTINGS`; `NAME=1` will do); None where that is not known."""
    return version.has(SETTINGS[name.partition("=")[0]])


def limit_name(version: TorchVersion) -> str:
    """Return the name of the recompile limit setting. The old name is an alias of the new one and valid everywhere."""
    old, new = "torch._dynamo.config.cache_size_limit", "torch._dynamo.config.recompile_limit"
    since = SETTINGS[new].since
    return new if since is not None and version.least is not None and version.least >= since else old


@frozen
class Way:
    """An instruction to enable a feature of torch."""

    sentence: str
    """`set INDUCTOR_PROVENANCE=1`, or that this torch cannot."""
    setting: str | None
    """The one setting, where the version is known to have it."""


PROVENANCE, PROVENANCE_BEFORE = "INDUCTOR_PROVENANCE=1", "TORCH_COMPILE_DEBUG=1"
_MAPPINGS = Span((2, 7))
_OWN_VARIABLE = SETTINGS["INDUCTOR_PROVENANCE"]
_OLD_VARIABLE = Span((2, 7), (2, 8))


def provenance_way(version: TorchVersion) -> Way:
    """How to have this torch record provenance."""
    if version.has(_MAPPINGS) is False:
        return Way(f"{version.words} does not record it, {_MAPPINGS} do", None)
    if version.has(_OWN_VARIABLE):
        return Way(f"set {PROVENANCE}", PROVENANCE)
    if version.has(_OLD_VARIABLE):
        return Way(f"set {PROVENANCE_BEFORE}", PROVENANCE_BEFORE)
    if version.newer:
        return Way(f"{PROVENANCE} enables it up to torch {dotted(NEWEST)}; unknown for {version.words}", None)
    return Way(f"set {PROVENANCE} (torch 2.9 and later) or {PROVENANCE_BEFORE} (torch 2.7 and 2.8)", None)


def aot_cache_setting(version: TorchVersion) -> str | None:
    """Return the variable that enables the AOTAutograd cache; None if this torch has none, or the version is unknown."""
    names = ("TORCHINDUCTOR_AUTOGRAD_CACHE", "ENABLE_AOT_AUTOGRAD_CACHE")
    return next((f"{name}=1" for name in names if exists_in(version, name)), None)


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

CLUE = "the fields of its compilation metrics"
_WHOLE = frozenset(name for name, span in FIELDS.items() if span == ALWAYS)


def clues_of(fields: Set[str]) -> Iterator[tuple[str, Span]]:
    """Yield the version clues in the field names of a `compilation_metrics`."""
    for name in fields & FIELDS.keys():
        yield CLUE, FIELDS[name]
    if not fields >= _WHOLE:
        return  # not as torch wrote it: what is not there may have been taken out
    for since, names in _SINCE.items():
        if fields.isdisjoint(names.split()):
            yield CLUE, Span(until=(since[0], since[1] - 1))
            if since == (2, 6) and _ONLY_2_5 not in fields:
                yield CLUE, Span(until=(2, 4))
