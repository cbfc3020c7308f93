"""Settings and functions of torch that advice of ours names, with the versions that know them.

Whoever advises asks `exists_in` first: a variable that a version does not read is set in vain, and a configuration that it does
not have raises. `tests/unit/test_versions.py` sees to it that every name in a text of ours stands here.
"""

from __future__ import annotations

from dataclasses import dataclass

from tltui.model.versions.version import ALWAYS, NEWEST, Span, TorchVersion, dotted

SETTINGS: dict[str, Span] = {
    # environment variables
    "AOT_PARTITIONER_DEBUG": ALWAYS,
    "ENABLE_AOT_AUTOGRAD_CACHE": Span((2, 5), (2, 5)),
    "INDUCTOR_PROVENANCE": Span((2, 9)),
    "LOG_TLPARSE": Span((2, 9)),
    "TORCHINDUCTOR_AUTOGRAD_CACHE": Span((2, 6)),
    "TORCHDYNAMO_VERBOSE": ALWAYS,
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": ALWAYS,
    "TORCHINDUCTOR_FX_GRAPH_CACHE": ALWAYS,
    "TORCH_COMPILE_DEBUG": ALWAYS,
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
    "torch._inductor.config.triton.tiling_prevents_pointwise_fusion": ALWAYS,
    "torch._inductor.config.triton.tiling_prevents_reduction_fusion": ALWAYS,
    "torch.fx.experimental._config.use_duck_shape": Span((2, 5)),
    # functions
    "torch._check": ALWAYS,
    "torch._dynamo.decorators.mark_unbacked": Span((2, 5)),
    "torch._dynamo.mark_dynamic": ALWAYS,
    "torch._dynamo.maybe_mark_dynamic": ALWAYS,
    "torch.export.draft_export": Span((2, 8)),
    "torch.library.register_fake": ALWAYS,
}
"""A name as our texts write it → the versions of torch that know it."""


def exists_in(version: TorchVersion, name: str) -> bool | None:
    """Whether a version of torch knows this setting or function (`SETTINGS`; `NAME=1` will do); None where that is not known."""
    return version.has(SETTINGS[name.partition("=")[0]])


def limit_name(version: TorchVersion) -> str:
    """What the setting of the recompile limit is called. The old name still stands for the new one: it is right everywhere."""
    old, new = "torch._dynamo.config.cache_size_limit", "torch._dynamo.config.recompile_limit"
    since = SETTINGS[new].since
    return new if since is not None and version.least is not None and version.least >= since else old


@dataclass(frozen=True, slots=True)
class Way:
    """How to have torch do something."""

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
        return Way(f"{version.words} does not record it, only {_MAPPINGS} do", None)
    if version.has(_OWN_VARIABLE):
        return Way(f"set {PROVENANCE}", PROVENANCE)
    if version.has(_OLD_VARIABLE):
        return Way(f"set {PROVENANCE_BEFORE}", PROVENANCE_BEFORE)
    if version.newer:
        return Way(f"{PROVENANCE} did it up to torch {dotted(NEWEST)}; not known for {version.words}", None)
    return Way(f"set {PROVENANCE} (torch 2.9 and later) or {PROVENANCE_BEFORE} (torch 2.7 and 2.8)", None)


def aot_cache_setting(version: TorchVersion) -> str | None:
    """The variable that switches the AOTAutograd cache on; None where this torch has none, or it is not known which it is."""
    names = ("TORCHINDUCTOR_AUTOGRAD_CACHE", "ENABLE_AOT_AUTOGRAD_CACHE")
    return next((f"{name}=1" for name in names if exists_in(version, name)), None)
