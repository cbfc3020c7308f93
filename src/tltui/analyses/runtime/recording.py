"""How a profile of this program is recorded: the lines to paste, made for what the trace tells of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tltui.analyses.parts import reader_of
from tltui.analyses.records import named
from tltui.analyses.stacks.stacks import StackFrame, callers_of, user_frames
from tltui.model.nodes import Compile
from tltui.model.run import Run

LOOKED_AT = 16
"""Compiles that are asked what the program is like."""
CODE = ("inductor_output_code", "output_code")
CPP, TRITON = "async_compile.cpp", "async_compile.triton"
"""What the generated code calls to compile its kernels."""
KERNEL_PROFILE = "torch._inductor.config.cpp.enable_kernel_profile"


@dataclass(frozen=True, slots=True)
class Recording:
    """What to add to a program, and why."""

    lines: tuple[str, ...]
    """Python, as it is pasted."""
    loop: StackFrame | None
    """Where the program calls what is compiled: the loop around it is meant. None where the trace does not tell."""
    trains: bool
    """Whether a backward was compiled: a step ends with the optimizer."""
    cpu: bool
    """Whether C++ kernels were made, or it is not known which: they need a setting to be in the profile."""
    gpu: bool
    """Whether Triton kernels were made: they need nothing."""
    ranks: int


def recording_of(run: Run | None) -> Recording:
    """How to record a profile of the program of a run; without a run, of any program."""
    compiles = [] if run is None else list(islice(_compiles(run), LOOKED_AT))
    cpu, gpu = _kernels(compiles)
    ranks = 1 if run is None else max(len({process.rank for process in run.processes()}), 1)
    trains = not compiles or any(compile_.facts.has_backward for compile_ in compiles)
    lines = (*_setting(cpu), *_profiler(ranks > 1), *_loop(trains))
    return Recording(lines, _called_at(compiles), trains, cpu, gpu, ranks)


def _compiles(run: Run) -> Iterator[Compile]:
    return (compile_ for process in run.processes() for compile_ in process.ordered() if compile_.is_compile)


def _kernels(compiles: list[Compile]) -> tuple[bool, bool]:
    """Whether there are C++ kernels, and Triton kernels. Without any code there may be C++ kernels."""
    codes = [reader_of(compile_).text(record) for compile_ in compiles for record, _ in named(compile_, CODE)]
    return not codes or any(CPP in code for code in codes), any(TRITON in code for code in codes)


def _called_at(compiles: list[Compile]) -> StackFrame | None:
    """The nearest line of the user's own above the first compiled function."""
    for compile_ in compiles:
        if frames := user_frames(callers_of(compile_)):
            return frames[0]
    return None


def _setting(cpu: bool) -> tuple[str, ...]:
    if not cpu:
        return ("import os", "import torch", "")
    return (
        "import os", "import torch", "import torch._inductor.config", "",
        "# before the first compile: C++ kernels then tell the profiler when they run",
        f"{KERNEL_PROFILE} = True", "",
    )  # fmt: skip


def _profiler(ranks: bool) -> tuple[str, ...]:
    """The profiler, and what writes the file beside the log."""
    name = "profile_rank_{rank}.json" if ranks else "profile.json"
    return (
        "def save(profiler):",
        '    directory = os.environ.get("TORCH_TRACE") or "."',
        *(("    rank = torch.distributed.get_rank()",) if ranks else ()),
        f'    profiler.export_chrome_trace(f"{{directory}}/{name}")',
        "",
        "with torch.profiler.profile(",
        "    schedule=torch.profiler.schedule(wait=3, warmup=1, active=6, repeat=1),",
        "    on_trace_ready=save,",
        ") as profiler:",
    )


def _loop(trains: bool) -> tuple[str, ...]:
    if trains:
        return ("    for batch in loader:  # your loop", "        ...", "        optimizer.step()", "        profiler.step()")
    return ("    for batch in batches:  # your loop", "        model(batch)", "        profiler.step()")
