"""What to do next about exceptions and messages of torch in a job's output."""

from __future__ import annotations

import re

from tltui.questions.job_failures.printed_messages import WATCHDOG
from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern

TEXT_READ = 4000
"""Characters of a failure that are matched."""


@frozen
class AdviceRow:
    """The next step for one exception or message."""

    pattern: re.Pattern[str]
    """It matches the type and the message."""
    next_step: str
    """One sentence with what to type or to change."""
    source: str
    """The file with the text."""


def _row(pattern: str, next_step: str, source: str) -> AdviceRow:
    return AdviceRow(lazy_pattern(pattern), next_step, source)


ROWS: tuple[AdviceRow, ...] = (
    _row(
        r"tensor output of CUDAGraphs that has been overwritten",
        "Clone the result outside of the compiled function, or call torch.compiler.cudagraph_mark_step_begin() before each step. "
        'If gradients are accumulated, compile with mode="max-autotune-no-cudagraphs".',
        "torch/_inductor/cudagraph_trees.py",
    ),
    _row(
        r"in the cudagraph pool not tracked as outputs",
        "Keep no tensor of a compiled call in other objects, and change no parameter through .data in it; "
        'mode="max-autotune-no-cudagraphs" compiles without CUDA graphs.',
        "torch/_inductor/cudagraph_trees.py",
    ),
    _row(
        r"TimeoutExpired: .*compile_worker",
        "The program had ended when a compile worker did not stop. TORCHINDUCTOR_COMPILE_THREADS=1 starts no workers.",
        "torch/_inductor/compile_worker/subproc_pool.py",
    ),
    _row(
        r"Attempting to use a closed pool|A compilation subprocess exited unexpectedly|\bBrokenProcessPool\b",
        "A compile worker died: look for the kernel's out-of-memory killer in dmesg, and set TORCHINDUCTOR_COMPILE_THREADS=1. "
        "Kernels are then compiled in the job's process.",
        "torch/_inductor/async_compile.py, torch/_inductor/compile_worker/subproc_pool.py",
    ),
    _row(
        r"\bSubprocException\b",
        "The last exception in the message is that of a compile worker. With TORCHINDUCTOR_COMPILE_THREADS=1 the job raises it.",
        "torch/_inductor/compile_worker/subproc_pool.py",
    ),
    _row(
        r"GuardOnDataDependentSymNode|Could not (?:guard on|extract specialized integer from) data-dependent expression",
        "Your code decides by a value that only the data have: state its range with torch._check before that line, "
        "or call the line outside of the compiled function.",
        "torch/fx/experimental/symbolic_shapes.py",
    ),
    _row(
        r"No valid triton configs|out of resource: ",
        "Reduce the tile sizes (for flex_attention: kernel_options), or turn max-autotune off.",
        "torch/_inductor/runtime/triton_heuristics.py",
    ),
    _row(
        r"CppCompileError|C\+\+ compile error",
        "Correct the first error of the C++ compiler. The compiler's output is below the exception.",
        "torch/_inductor/exc.py",
    ),
    _row(
        r"Cannot find a working triton installation|TritonMissing", "Install the triton of this torch version.",
        "torch/_inductor/exc.py",
    ),
    _row(
        r"\bOutOfMemoryError\b|CUDA out of memory",
        "Reduce the batch size, or recompute activations with torch.utils.checkpoint.", "c10/cuda/CUDACachingAllocator.cpp",
    ),
    _row(
        r"\bCheckpointError\b",
        "Forward and recomputation differ: raise the recompile limit, or compile the function outside of the checkpoint.",
        "torch/utils/checkpoint.py",
    ),
    _row(
        r"\bConstraintViolationError\b|Constraints violated",
        "Your code specializes a size that is marked as dynamic: use maybe_mark_dynamic, or change that line.",
        "torch/fx/experimental/symbolic_shapes.py",
    ),
    _row(
        r"\bFailOnRecompileLimitHit\b",
        "Remove the cause of the recompiles, or raise torch._dynamo.config.recompile_limit.", "torch/_dynamo/exc.py",
    ),
    _row(
        r"\bUnsupported\b", "Change the line as torch's hints describe, or compile without fullgraph=True.", "torch/_dynamo/exc.py",
    ),
    _row(
        r"expected size \d+==\d+",
        "A compiled graph was called with sizes for which it was not compiled: delete the compile cache and start again.",
        "torch/csrc/dynamo/guards.cpp",
    ),
    _row(
        r"\bTorchRuntimeError\b", "Run this line in eager mode with the same shapes, and see whether it fails there too.",
        "torch/_dynamo/exc.py",
    ),
    _row(
        r"\bBackendCompilerFailed\b|\bInductorError\b|\bLoweringException\b",
        'Compile with backend="aot_eager": if that works, the fault is in the backend.', "torch/_dynamo/exc.py",
    ),
    _row(
        r"\bInternalTorchDynamoError\b", 'Compile with backend="eager": if that fails too, Dynamo is at fault.',
        "torch/_dynamo/exc.py",
    ),
    _row(
        WATCHDOG,
        "Record TORCH_TRACE on all ranks: `tltui where DIR` then names the rank that the others are waiting for. "
        "With TORCH_NCCL_TRACE_BUFFER_SIZE=2000 torch also records the collective that each rank entered last.",
        "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
    ),
    _row(
        r"Timed out waiting \d+ms for (?:recv|send) operation|failed to pass monitoredBarrier",
        "Record TORCH_TRACE on all ranks: `tltui where DIR` then names the rank that the others are waiting for.",
        "gloo/transport/tcp/unbound_buffer.cc, torch/csrc/distributed/c10d/ProcessGroupGloo.cpp",
    ),
    _row(
        r"failed(?: first)? \(exit code -?\d+\)$|failed(?: first)? \(SIG\w+\)$",
        "The text has no error message of this process: start torchrun with --tee 3, and open the output of torchrun.",
        "torch/distributed/elastic/multiprocessing/errors/__init__.py",
    ),
)  # fmt: skip
"""The first row that matches counts."""
IN_COMPILER = 'Compile with backend="aot_eager", then with backend="eager": the first one to work shows the part at fault.'


def next_step(failure: str, in_compiler: bool) -> str:
    """Return the next step for a failure; `in_compiler`: torch's compiler raised it. '' if there is none."""
    text = failure[:TEXT_READ]
    step = next((row.next_step for row in ROWS if row.pattern.search(text)), "")
    return step or (IN_COMPILER if in_compiler else "")
