"""Kinds that no trace has: texts of TORCH_LOGS, and files of a torch_compile_debug directory."""

from __future__ import annotations

from tltui.model.kind import Kind, Phase, Row, section

BEHIND = 1000
"""Of each phase they stand behind what traces have."""

DYNAMO: tuple[Kind, ...] = section(
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

GUARDS: tuple[Kind, ...] = section(
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

AUTOGRAD: tuple[Kind, ...] = section(
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

INDUCTOR: tuple[Kind, ...] = section(
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

METRICS: tuple[Kind, ...] = section(
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

TRACE: tuple[Kind, ...] = section(
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

ALL: tuple[Kind, ...] = DYNAMO + AUTOGRAD + INDUCTOR + GUARDS + METRICS + TRACE
