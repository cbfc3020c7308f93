"""Kinds of caches, metrics, the trace itself, vLLM and distributed passes; and kinds that no trace has.

These are the texts of TORCH_LOGS, and the files of a torch_compile_debug directory.
"""

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

DISTRIBUTED: tuple[Kind, ...] = section(
    Phase.DISTRIBUTED,
    [
        Row(
            "compiler_collective",
            "text",
            "Compiler collective",
            "What this rank told the others while compiling, so that all mark the same sizes as dynamic.",
            since=(2, 5),
        ),
        Row(
            "optimize_ddp_split_graph",
            "fx",
            "DDP split graph",
            "The graph cut into submodules so that DDP can overlap communication with the backward.",
        ),
        Row(
            "optimize_ddp_split_child",
            "fx",
            "DDP submodule",
            "One submodule of the graph that DDPOptimizer cut. Each is compiled as a unit of its own.",
        ),
        Row(
            "inductor_spmd_graph_mismatch",
            "text",
            "Ranks have different graphs",
            "Where the graphs of the ranks differ. Such ranks may run different collectives, and hang.",
            per_unit=True,
            since=(2, 12),
        ),
        Row(
            "pre_decomp_comms",
            "fx",
            "Before collective decomposition",
            "The graph before patterns of collectives are replaced by cheaper ones.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "post_decomp_comms",
            "fx",
            "After collective decomposition",
            "The graph after patterns of collectives were replaced by cheaper ones.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "pre_bucketing_collective_sizes",
            "json",
            "FSDP collectives before bucketing",
            "Type and size of each FSDP collective before they are merged. Only with the verbose setting.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "pre_bucketing_collective_sizes_after",
            "json",
            "FSDP collectives after bucketing",
            "Type and size of each FSDP collective after they were merged. Only with the verbose setting.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "pre_bucketing_fsdp_collectives",
            "text",
            "FSDP bucketing summary",
            "Process groups, bucket size, and how many collectives there were before and after merging.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "fx_bucketing_passes_reduce_scatter_buckets",
            "text",
            "Reduce-scatter buckets",
            "Which reduce_scatter nodes were merged with which.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "fx_bucketing_passes_all_gather_buckets",
            "text",
            "All-gather buckets",
            "Which all_gather nodes were merged with which.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "fusion_regions_before",
            "fx",
            "Before fusion regions",
            "The graph before nodes that will be fused are put together for overlap scheduling.",
            per_unit=True,
            since=(2, 11),
            until=(2, 12),
        ),
        Row(
            "fusion_regions_after",
            "fx",
            "After fusion regions",
            "The graph in which nodes that will be fused are one node, for overlap scheduling.",
            per_unit=True,
            since=(2, 11),
            until=(2, 12),
        ),
        Row(
            "overlap_scheduling_graph_before",
            "fx",
            "Before overlap scheduling",
            "The graph before collectives are moved so that computation hides them.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "pge_profile_vs_analytical",
            "json",
            "Profile against estimates",
            "Times from a given profile beside the analytical estimates. Only with profile-guided estimation.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "fx_compute_nodes_runtime_estimation",
            "text",
            "Compute time estimates",
            "Measured against estimated time of compute nodes, as CSV.",
            per_unit=True,
            since=(2, 10),
        ),
        Row(
            "fx_collectives_analytical_estimation",
            "text",
            "Collective time estimates",
            "Estimated time of each collective by NCCL's and Inductor's models, as CSV.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "fx_collectives_node_runtime_estimation",
            "text",
            "Collective times, measured",
            "Measured time of each collective beside the estimates, as CSV.",
            per_unit=True,
            since=(2, 10),
        ),
        Row(
            "inductor_fx_passes_overlap_bucketing",
            "text",
            "Overlap buckets",
            "Which collectives were merged without losing overlap, and what hides each.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "inductor_overlap_cyclic_extra_deps",
            "text",
            "Overlap: cyclic dependencies",
            "Overlap scheduling made dependencies in a circle: a bug of torch, to report.",
            per_unit=True,
            since=(2, 12),
        ),
        Row(
            "fx_collectives_estimations_after_overlap_bucketing",
            "text",
            "Collective times after bucketing",
            "Measured time of the merged collectives beside the estimates, as CSV.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "overlap_scheduling_graph_after",
            "fx",
            "After overlap scheduling",
            "The graph after collectives were moved so that computation hides them.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "scheduler_nodes_before_comm_overlap",
            "text",
            "Scheduler nodes before reordering",
            "Inductor's scheduler nodes before communication is reordered. Only with verbose logging of it.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "reorder_communication_preserving_peak_memory",
            "text",
            "Communication reordering",
            "How much of each collective is exposed before and after moving, what stopped it, peak memory.",
            per_unit=True,
            since=(2, 8),
        ),
        Row(
            "sink_waits_iterative_info",
            "text",
            "Wait sinking",
            "For each wait how far it was moved down, what stopped it, and peak memory.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "*_ITERATIVE_RECOMPUTE_ERROR",
            "text",
            "Peak memory estimate wrong",
            "A reordering pass found its running estimate of memory wrong: a bug of torch, to report.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "inductor_collective_schedule",
            "json",
            "Collective schedule",
            "The collectives of this graph in the order they run. Compare it between ranks that hang.",
            per_unit=True,
            since=(2, 9),
        ),
    ],
)

BEHIND = 1000
"""The order of the first kind of text in its phase: after those of traces."""

TEXT_DYNAMO: tuple[Kind, ...] = section(
    Phase.DYNAMO,
    [
        Row(
            "bytecode_original",
            "bytecode",
            "Original bytecode",
            "Bytecode of the function before Dynamo changed it.",
        ),
        Row(
            "bytecode_modified",
            "bytecode",
            "Modified bytecode",
            "Bytecode that runs in its place. Read it when the code around a graph behaves differently.",
        ),
        Row(
            "ddp_graphs",
            "text",
            "Graphs of DDP's buckets",
            "How DistributedDataParallel split the graph into buckets.",
        ),
        Row(
            "dynamo_frames",
            "text",
            "Frames that Dynamo tried",
            "All functions that Dynamo looked at, as it listed them when the process ended.",
        ),
    ],
    BEHIND,
)

TEXT_GUARDS: tuple[Kind, ...] = section(
    Phase.GUARDS,
    [
        Row(
            "guards_text",
            "text",
            "Guards as code",
            "Code of guards on shapes, as the guards log has it beside the tree.",
        ),
    ],
    BEHIND,
)

TEXT_AUTOGRAD: tuple[Kind, ...] = section(
    Phase.AUTOGRAD,
    [
        Row(
            "aot_metadata",
            "text",
            "Metadata of AOTAutograd",
            "What it found out of inputs and outputs: which are views, which are changed in place.",
        ),
    ],
    BEHIND,
)

TEXT_INDUCTOR: tuple[Kind, ...] = section(
    Phase.INDUCTOR,
    [
        Row(
            "fx_graph_readable",
            "fx",
            "Graph before post-grad passes",
            "The graph as Inductor got it, of a debug directory. Compare it with the transformed one.",
            per_unit=True,
        ),
        Row(
            "fx_graph_transformed",
            "fx",
            "Graph after post-grad passes",
            "The graph that is lowered, of a debug directory: what the passes made of the readable one.",
            per_unit=True,
        ),
        Row(
            "ir_pre_fusion",
            "ir",
            "IR before fusion",
            "Every operation as a loop nest of its own: what it reads and writes. See the page of fusion.",
            per_unit=True,
        ),
        Row(
            "ir_post_fusion",
            "ir",
            "IR after fusion",
            "The same operations as they were put together: each block becomes a kernel, or a part of one.",
            per_unit=True,
        ),
        Row(
            "kernel_code",
            "text",
            "Kernel code",
            "Source of a kernel as it was given to its compiler.",
        ),
        Row(
            "cudagraphs",
            "text",
            "CUDA graphs",
            "What was said of recording and replaying CUDA graphs.",
        ),
        Row(
            "perf_hints",
            "text",
            "Performance hint",
            "What Inductor could not make fast, and why.",
        ),
        Row(
            "autotuning",
            "text",
            "Autotuning",
            "Which implementations were tried, and how long each took.",
        ),
        Row(
            "autotuning_result_json_list",
            "json",
            "Autotuning results",
            "Which implementations were tried, and how long each took: one result a line.",
            per_unit=True,
        ),
        Row(
            "debug_log",
            "text",
            "Debug log",
            "Messages of the loggers that were on, as the debug directory has them.",
        ),
        Row(
            "sdsc",
            "json",
            "Spyre design space",
            "What torch-spyre's compiler is told of a kernel of one operation.",
            per_unit=True,
        ),
        Row(
            "sdsc_*",
            "json",
            "Spyre design space",
            "What torch-spyre's compiler is told of a kernel: dimensions, cores, memory, layouts.",
            per_unit=True,
        ),
    ],
    BEHIND,
)

TEXT_METRICS: tuple[Kind, ...] = section(
    Phase.METRICS,
    [
        Row(
            "compile_times",
            "text",
            "Compile times of the process",
            "Seconds in each part of the compiler, over all compiles, as printed when the process ended.",
        ),
    ],
    BEHIND,
)

TEXT_TRACE: tuple[Kind, ...] = section(
    Phase.TRACE,
    [
        Row(
            "job_traceback",
            "traceback",
            "Traceback",
            "An exception that the job printed.",
        ),
        Row(
            "torchrun_failure",
            "text",
            "Failure as torchrun saw it",
            "The rank that failed first, when, and its exit code or signal.",
        ),
        Row(
            "log",
            "text",
            "Log message",
            "What a logger of torch said.",
            artifact=False,
        ),
        Row(
            "text",
            "text",
            "Other text",
            "Lines that no logger of torch wrote: what the job itself, its launcher and other libraries print.",
            artifact=False,
        ),
    ],
    BEHIND,
)

ALL: tuple[Kind, ...] = (
    CACHE + METRICS + VLLM + TRACE + DISTRIBUTED
    + TEXT_DYNAMO + TEXT_AUTOGRAD + TEXT_INDUCTOR + TEXT_GUARDS + TEXT_METRICS + TEXT_TRACE
)  # fmt: skip
