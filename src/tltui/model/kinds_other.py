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
            "The key was not in the cache. Compare `components` with those of the run that filled the cache.",
            since=(2, 5),
        ),
        Row(
            "aotautograd_cache_bypass",
            "json",
            "AOTAutograd cache: bypass",
            "This graph cannot be cached; `cache_bypass_reason` has the reason.",
            since=(2, 5),
        ),
        Row(
            "aotautograd_cache_hash",
            "json",
            "AOTAutograd cache: key",
            "The cache key and its components, in the format of older torch.",
            since=(2, 5),
            until=(2, 6),
        ),
        Row(
            "aotautograd_cache_pickle_failure",
            "json",
            "AOTAutograd cache: not saved",
            "Pickling the result failed: the next run will miss the cache. The record names the field and the error.",
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
            "The key was not in the cache. Compare `components` with those of the run that filled the cache.",
            per_unit=True,
            since=(2, 6),
        ),
        Row(
            "fx_graph_cache_bypass",
            "json",
            "FX graph cache: bypass",
            "This graph cannot be cached; `cache_bypass_reason` has the reason.",
            per_unit=True,
            since=(2, 6),
        ),
        Row(
            "fx_graph_cache_hash",
            "json",
            "FX graph cache: key",
            "The cache key and its components, in the format of older torch.",
            per_unit=True,
            until=(2, 5),
        ),
        Row(
            "fx_graph_bundled_cache_hit",
            "json",
            "FX graph cache: bundled hit",
            "Inductor's code came from inside the AOTAutograd cache entry.",
            per_unit=True,
            since=(2, 8),
        ),
        Row(
            "precompile_cache_bypass",
            "json",
            "Precompile: bypass",
            "This compile will not be part of the precompile package; `_reason` has the reason.",
            since=(2, 9),
        ),
        Row(
            "dynamo_cache_entries",
            "json",
            "Precompile: entries",
            "The Dynamo entries that torch is about to save for precompile.",
            since=(2, 10),
        ),
        Row(
            "dynamo_cache_bypass",
            "json",
            "Precompile: entry skipped",
            "A Dynamo entry needs a backend result that was not saved, so torch skips its code.",
            since=(2, 10),
        ),
        Row(
            "dynamo_cache_exception",
            "json",
            "Precompile: entry failed",
            "Building a precompile entry raised an exception. The record has the key and the error.",
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
            "Outcome of the compile in about a hundred fields: failure, restarts, sizes, times, caches.",
        ),
        Row(
            "bwd_compilation_metrics",
            "json",
            "Backward compilation metrics",
            "Times and failure of a backward graph that was compiled when it first ran.",
        ),
        Row(
            "aot_autograd_backward_compilation_metrics",
            "json",
            "Backward compilation metrics (old)",
            "Metrics of the backward graph, under the name that torch used in 2024.",
            until=(2, 3),
        ),
        Row(
            "compilation_metrics_runtime",
            "json",
            "Runtime metrics",
            "Compile work while the compiled code ran: Triton autotuning, CUDA graph recording.",
            since=(2, 7),
        ),
        Row(
            "bwd_compilation_metrics_runtime",
            "json",
            "Backward runtime metrics",
            "Compile work while the backward graph ran: Triton autotuning, CUDA graph recording.",
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
            "Whether vLLM compiled the model or loaded it from its ahead-of-time cache.",
        ),
        Row(
            "vllm_compilation_config",
            "json",
            "vLLM compilation config",
            "Model, mode, splitting operators, sizes and passes of one vLLM compile call.",
        ),
        Row(
            "vllm_piecewise_split_graph",
            "fx",
            "vLLM split graph",
            "The graph of the whole model, split into pieces at the splitting operators (attention).",
        ),
        Row(
            "vllm_patterns.*",
            "python",
            "vLLM pass patterns",
            "The patterns that one vLLM pass searches for. Read it if an expected fusion is missing.",
        ),
        Row(
            "vllm_piecewise_compile_start",
            "json",
            "vLLM piece",
            "Marks the piece and the range of sizes that the records after it belong to.",
        ),
        Row("vllm_subgraph_*", "fx", "vLLM subgraph", "The graph of one piece, before Inductor.", per_unit=True),
        Row("vllm_submod_*", "fx", "vLLM submodule", "The graph of one piece, before Inductor.", per_unit=True),
        Row(
            "vllm_post_grad.*",
            "fx",
            "Graph after a vLLM pass",
            "The graph after one vLLM pass. Compare it with the previous graph.",
            per_unit=True,
        ),
        Row("vllm_*", "text", "vLLM record", "A record of vLLM without a description in this version of tltui."),
    ],
)

TRACE: tuple[Kind, ...] = section(
    Phase.TRACE,
    [
        Row(
            "torch_version",
            "json",
            "Torch version",
            "Version and commit of torch that wrote this file. torch 2.12 and later write it near the start.",
            since=(2, 12),
        ),
        Row(
            "dump_file",
            "python",
            "Generated source file",
            "Source of a file that exists only in memory (<eval_with_key>…); stacks refer to its lines.",
            since=(2, 5),
        ),
        Row(
            "link",
            "json",
            "Link",
            "A URL that torch recorded, such as that of an uploaded profile. tltui never opens it.",
            artifact=False,
        ),
        Row(
            "graph_svgs",
            "json",
            "Graph pictures",
            "Paths of the pictures of a graph. The trace does not contain the pictures.",
        ),
        Row(
            "str",
            "json",
            "String table entry",
            "A file name that stacks refer to by number; part of the trace format.",
            artifact=False,
        ),
        Row(
            "chromium_event",
            "json",
            "Timing event",
            "Start, end or instant of a piece of compile work. The timing page shows it.",
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
            "Data that this rank sent to the others, so that all ranks mark the same sizes as dynamic.",
            since=(2, 5),
        ),
        Row(
            "optimize_ddp_split_graph",
            "fx",
            "DDP split graph",
            "The graph, split into submodules so that DDP can overlap communication with the backward.",
        ),
        Row(
            "optimize_ddp_split_child",
            "fx",
            "DDP submodule",
            "One submodule of the graph that DDPOptimizer split. Each is compiled separately.",
        ),
        Row(
            "inductor_spmd_graph_mismatch",
            "text",
            "Ranks have different graphs",
            "Differences between the graphs of ranks. Such ranks may run different collectives and hang.",
            per_unit=True,
            since=(2, 12),
        ),
        Row(
            "pre_decomp_comms",
            "fx",
            "Graph before collective decomposition",
            "The graph before Inductor replaces patterns of collectives with cheaper ones.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "post_decomp_comms",
            "fx",
            "Graph after collective decomposition",
            "The graph after Inductor replaced patterns of collectives with cheaper ones.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "pre_bucketing_collective_sizes",
            "json",
            "FSDP collectives before bucketing",
            "Type and size of each FSDP collective before merging. Written only with the verbose setting.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "pre_bucketing_collective_sizes_after",
            "json",
            "FSDP collectives after bucketing",
            "Type and size of each FSDP collective after merging. Written only with the verbose setting.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "pre_bucketing_fsdp_collectives",
            "text",
            "FSDP bucketing summary",
            "Process groups, bucket size and the number of collectives before and after merging.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "fx_bucketing_passes_reduce_scatter_buckets",
            "text",
            "Reduce-scatter buckets",
            "The reduce_scatter nodes that Inductor merged with each other.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "fx_bucketing_passes_all_gather_buckets",
            "text",
            "All-gather buckets",
            "The all_gather nodes that Inductor merged with each other.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "fusion_regions_before",
            "fx",
            "Graph before fusion regions",
            "The graph as it was before overlap scheduling grouped the nodes to fuse.",
            per_unit=True,
            since=(2, 11),
            until=(2, 12),
        ),
        Row(
            "fusion_regions_after",
            "fx",
            "Graph after fusion regions",
            "The graph after nodes to be fused were grouped into one node for overlap scheduling.",
            per_unit=True,
            since=(2, 11),
            until=(2, 12),
        ),
        Row(
            "overlap_scheduling_graph_before",
            "fx",
            "Graph before overlap scheduling",
            "The graph before Inductor moves collectives to overlap them with computation.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "pge_profile_vs_analytical",
            "json",
            "Profile against estimates",
            "Times from a given profile next to analytical estimates. Written only with profile-guided estimation.",
            per_unit=True,
            since=(2, 13),
        ),
        Row(
            "fx_compute_nodes_runtime_estimation",
            "text",
            "Compute time estimates",
            "Measured and estimated time of compute nodes, as CSV.",
            per_unit=True,
            since=(2, 10),
        ),
        Row(
            "fx_collectives_analytical_estimation",
            "text",
            "Collective time estimates",
            "Time of each collective as estimated by the models of NCCL and Inductor, as CSV.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "fx_collectives_node_runtime_estimation",
            "text",
            "Collective times, measured",
            "Measured and estimated time of each collective, as CSV.",
            per_unit=True,
            since=(2, 10),
        ),
        Row(
            "inductor_fx_passes_overlap_bucketing",
            "text",
            "Overlap buckets",
            "Collectives that were merged without losing overlap, each with the nodes that hide it.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "inductor_overlap_cyclic_extra_deps",
            "text",
            "Overlap: cyclic dependencies",
            "Overlap scheduling created cyclic dependencies, which is a bug in torch. Report it.",
            per_unit=True,
            since=(2, 12),
        ),
        Row(
            "fx_collectives_estimations_after_overlap_bucketing",
            "text",
            "Collective times after bucketing",
            "Measured and estimated time of the merged collectives, as CSV.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "overlap_scheduling_graph_after",
            "fx",
            "Graph after overlap scheduling",
            "The graph after Inductor moved collectives to overlap them with computation.",
            per_unit=True,
            since=(2, 11),
        ),
        Row(
            "scheduler_nodes_before_comm_overlap",
            "text",
            "Scheduler nodes before reordering",
            "Inductor's scheduler nodes before communication is reordered. Written only with verbose logging.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "reorder_communication_preserving_peak_memory",
            "text",
            "Communication reordering",
            "Exposed time of each collective before and after moving, the limiting factor, peak memory.",
            per_unit=True,
            since=(2, 8),
        ),
        Row(
            "sink_waits_iterative_info",
            "text",
            "Wait sinking",
            "For each wait: distance moved down, the limiting factor and peak memory.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "*_ITERATIVE_RECOMPUTE_ERROR",
            "text",
            "Peak memory estimate wrong",
            "The running memory estimate of a reordering pass was wrong, which is a bug in torch. Report it.",
            per_unit=True,
            since=(2, 9),
        ),
        Row(
            "inductor_collective_schedule",
            "json",
            "Collective schedule",
            "The collectives of this graph in execution order. Compare it between ranks that hang.",
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
            "Bytecode that Dynamo runs instead. Read it if code around a graph behaves differently from eager mode.",
        ),
        Row(
            "ddp_graphs",
            "text",
            "Graphs of DDP buckets",
            "How DistributedDataParallel split the graph into buckets.",
        ),
        Row(
            "recompile_limit",
            "text",
            "Recompile limit reached",
            "Torch's warning that a function was compiled as often as the limit allows, with the last reason.",
        ),
        Row(
            "dynamo_frames",
            "text",
            "Frames that Dynamo attempted",
            "All functions that Dynamo attempted to trace, as it listed them when the process ended.",
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
            "Code of the shape guards, logged next to the guard tree.",
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
            "AOTAutograd metadata",
            "Views and in-place mutations among inputs and outputs, as AOTAutograd detected them.",
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
            "The graph that Inductor received, from a debug directory. Compare it with the transformed one.",
            per_unit=True,
        ),
        Row(
            "fx_graph_transformed",
            "fx",
            "Graph after post-grad passes",
            "The graph that Inductor lowers, from a debug directory: the readable graph after the passes.",
            per_unit=True,
        ),
        Row(
            "ir_pre_fusion",
            "ir",
            "IR before fusion",
            "Each operation as a separate loop nest with its reads and writes. The fusion page uses it.",
            per_unit=True,
        ),
        Row(
            "ir_post_fusion",
            "ir",
            "IR after fusion",
            "The same operations after fusion. Each block becomes a kernel or a part of a kernel.",
            per_unit=True,
        ),
        Row(
            "kernel_code",
            "text",
            "Kernel code",
            "Source of a kernel, as passed to its compiler.",
        ),
        Row(
            "cudagraphs",
            "text",
            "CUDA graphs",
            "Log messages about recording and replaying CUDA graphs.",
        ),
        Row(
            "perf_hints",
            "text",
            "Performance hint",
            "A missed optimization in Inductor, with the reason.",
        ),
        Row(
            "autotuning",
            "text",
            "Autotuning",
            "The implementations that Inductor benchmarked, with their times.",
        ),
        Row(
            "autotuning_result_json_list",
            "json",
            "Autotuning results",
            "The implementations that Inductor benchmarked, with their times; one result per line.",
            per_unit=True,
        ),
        Row(
            "debug_log",
            "text",
            "Debug log",
            "Messages of the enabled loggers, from the debug directory.",
        ),
        Row(
            "sdsc",
            "json",
            "Spyre design space",
            "Input to torch-spyre's compiler for a kernel with a single operation.",
            per_unit=True,
        ),
        Row(
            "sdsc_*",
            "json",
            "Spyre design space",
            "Input to torch-spyre's compiler for a kernel: dimensions, cores, memory, layouts.",
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
            "Seconds in each part of the compiler over all compiles, printed when the process ended.",
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
            "Failure report of torchrun",
            "The rank that failed first, the time, and its exit code or signal.",
        ),
        Row(
            "log",
            "text",
            "Log message",
            "A message of a torch logger.",
            artifact=False,
        ),
        Row(
            "text",
            "text",
            "Other text",
            "Output of the job, its launcher and other libraries, not written by a torch logger.",
            artifact=False,
        ),
    ],
    BEHIND,
)

ALL: tuple[Kind, ...] = (
    CACHE + METRICS + VLLM + TRACE + DISTRIBUTED
    + TEXT_DYNAMO + TEXT_AUTOGRAD + TEXT_INDUCTOR + TEXT_GUARDS + TEXT_METRICS + TEXT_TRACE
)  # fmt: skip
