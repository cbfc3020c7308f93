"""Kinds that belong to no single part of the compiler: caches, metrics, the trace itself; and those of vLLM."""

from __future__ import annotations

from tltui.model.kind import Kind, Phase, Row, section

CACHE: tuple[Kind, ...] = section(
    Phase.CACHE,
    [
        Row(
            "aotautograd_cache_hit",
            "json",
            "AOTAutograd cache: hit",
            "The compiled result came from the cache: passes did not run, so some artifacts are missing.",
            since=(2, 5),
        ),
        Row(
            "aotautograd_cache_miss",
            "json",
            "AOTAutograd cache: miss",
            "The key was not in the cache. Compare `components` with the run that should have filled it.",
            since=(2, 5),
        ),
        Row(
            "aotautograd_cache_bypass",
            "json",
            "AOTAutograd cache: bypass",
            "This graph can't be cached; `cache_bypass_reason` says why.",
            since=(2, 5),
        ),
        Row(
            "aotautograd_cache_hash",
            "json",
            "AOTAutograd cache: key",
            "The cache key and its components, as older torch wrote it.",
            since=(2, 5),
            until=(2, 6),
        ),
        Row(
            "aotautograd_cache_pickle_failure",
            "json",
            "AOTAutograd cache: not saved",
            "The result could not be pickled, so the next run will miss; the field and the error are named.",
            since=(2, 11),
        ),
        Row(
            "fx_graph_cache_hit",
            "json",
            "FX graph cache: hit",
            "Inductor's code for this graph came from the cache.",
            per_unit=True,
            since=(2, 6),
        ),
        Row(
            "fx_graph_cache_miss",
            "json",
            "FX graph cache: miss",
            "The key was not in the cache. Compare `components` with the run that should have filled it.",
            per_unit=True,
            since=(2, 6),
        ),
        Row(
            "fx_graph_cache_bypass",
            "json",
            "FX graph cache: bypass",
            "This graph can't be cached; `cache_bypass_reason` says why.",
            per_unit=True,
            since=(2, 6),
        ),
        Row(
            "fx_graph_cache_hash",
            "json",
            "FX graph cache: key",
            "The cache key and its components, as older torch wrote it.",
            per_unit=True,
            until=(2, 5),
        ),
        Row(
            "fx_graph_bundled_cache_hit",
            "json",
            "FX graph cache: bundled hit",
            "Inductor's code came out of the AOTAutograd cache entry itself.",
            per_unit=True,
            since=(2, 8),
        ),
        Row(
            "precompile_cache_bypass",
            "json",
            "Precompile: bypass",
            "This compile will not be part of the precompile package; `_reason` says why.",
            since=(2, 9),
        ),
        Row(
            "dynamo_cache_entries",
            "json",
            "Precompile: entries",
            "The Dynamo entries that are about to be saved for precompile.",
            since=(2, 10),
        ),
        Row(
            "dynamo_cache_bypass",
            "json",
            "Precompile: entry skipped",
            "A Dynamo entry refers to a compiled backend result that was not saved, so its code is skipped.",
            since=(2, 10),
        ),
        Row(
            "dynamo_cache_exception",
            "json",
            "Precompile: entry failed",
            "Building a precompile entry raised; the key and the error are named.",
            since=(2, 10),
        ),
    ],
)

METRICS: tuple[Kind, ...] = section(
    Phase.METRICS,
    [
        Row(
            "compilation_metrics",
            "json",
            "Compilation metrics",
            "What became of the compile, in about a hundred fields: failure, restarts, sizes, times, caches.",
        ),
        Row(
            "bwd_compilation_metrics",
            "json",
            "Backward compilation metrics",
            "The same for a backward that was compiled when it first ran: its times and its failure.",
        ),
        Row(
            "aot_autograd_backward_compilation_metrics",
            "json",
            "Backward compilation metrics (old)",
            "Metrics of the backward, as torch of 2024 named them.",
            until=(2, 3),
        ),
        Row(
            "compilation_metrics_runtime",
            "json",
            "Runtime metrics",
            "Compile work that happened while the code ran: Triton autotuning, CUDA graph recording.",
            since=(2, 7),
        ),
        Row(
            "bwd_compilation_metrics_runtime",
            "json",
            "Backward runtime metrics",
            "Compile work that happened while the backward ran: Triton autotuning, CUDA graph recording.",
            since=(2, 7),
        ),
    ],
)

VLLM: tuple[Kind, ...] = section(
    Phase.VLLM,
    [
        Row(
            "vllm_compile_event",
            "json",
            "vLLM compile event",
            "Whether vLLM compiled afresh or took its own ahead-of-time cache.",
        ),
        Row(
            "vllm_compilation_config",
            "json",
            "vLLM compilation config",
            "Model, mode, splitting operators, sizes and passes of one compile call of vLLM.",
        ),
        Row(
            "vllm_piecewise_split_graph",
            "fx",
            "vLLM split graph",
            "The whole model's graph, cut at the splitting operators (attention) into pieces.",
        ),
        Row(
            "vllm_patterns.*",
            "python",
            "vLLM pass patterns",
            "The patterns that one of vLLM's passes looks for. Read it when a fusion did not happen.",
        ),
        Row(
            "vllm_piecewise_compile_start",
            "json",
            "vLLM piece",
            "Which piece and which range of sizes everything after it belongs to, up to the next one.",
        ),
        Row("vllm_subgraph_*", "fx", "vLLM subgraph", "The graph of one piece, before Inductor.", per_unit=True),
        Row("vllm_submod_*", "fx", "vLLM submodule", "The graph of one piece, before Inductor.", per_unit=True),
        Row(
            "vllm_post_grad.*",
            "fx",
            "After a vLLM pass",
            "The graph after one of vLLM's passes: compare it with the one before.",
            per_unit=True,
        ),
        Row("vllm_*", "text", "vLLM record", "Written by vLLM; not one that tltui knows more about."),
    ],
)

TRACE: tuple[Kind, ...] = section(
    Phase.TRACE,
    [
        Row(
            "torch_version",
            "json",
            "Torch version",
            "Version and commit of torch that wrote this file. Near the start of each file, since torch 2.12.",
            since=(2, 12),
        ),
        Row(
            "dump_file",
            "python",
            "Generated source file",
            "Source of a file that exists only in memory (<eval_with_key>…), so that stacks into it can be read.",
            since=(2, 5),
        ),
        Row(
            "link",
            "json",
            "Link",
            "An address that torch recorded, such as an uploaded profile. tltui never opens it.",
            artifact=False,
        ),
        Row(
            "graph_svgs",
            "json",
            "Graph pictures",
            "Where pictures of a graph were put; the pictures are not in the trace.",
        ),
        Row(
            "str",
            "json",
            "String table entry",
            "A file name that stacks refer to by number. Part of the format.",
            artifact=False,
        ),
        Row(
            "chromium_event",
            "json",
            "Timing event",
            "Begin, end or instant of a piece of compile work. Shown by the timing view.",
            artifact=False,
            since=(2, 5),
        ),
    ],
)

ALL: tuple[Kind, ...] = CACHE + METRICS + VLLM + TRACE
