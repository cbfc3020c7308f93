"""How to record a profile of this program: the lines to paste."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import records_of
from tltui.model.run import Run
from tltui.questions.stacks.tracebacks import StackFrame, callers_of, user_frames
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen

LOOKED_AT = 16
"""Compiles that are asked what the program is like."""
CODE = ("inductor_output_code", "output_code")
CPP, TRITON = "async_compile.cpp", "async_compile.triton"
"""What the generated code calls to compile its kernels."""
KERNEL_PROFILE = "torch._inductor.config.cpp.enable_kernel_profile"


@frozen
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
    codes = [reader_of(compile_).text(record) for compile_ in compiles for record, _ in records_of(compile_, CODE)]
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


WITHOUT_EDITING = "tltui run --record-steps 5:10 -- "
CHANGES_KEY = (
    "The setting is part of the key of Inductor's caches: such a run finds nothing that other runs cached, its kernels do a little "
    "more, and how long it compiles says nothing about the job without it."
)
TRITON_NEEDS_NOTHING = "Triton kernels are in a profile without a setting."


def add_recording(page: Page, recording: Recording) -> None:
    """What to do so that there is a profile."""
    page.say("Record some steps without a change to the program (tltui run --help says what a step is):", "")
    started = f"torchrun --nproc-per-node {recording.ranks} train.py" if recording.ranks > 1 else "python train.py"
    page.add("  ", (WITHOUT_EDITING + started, tokens.NAME))
    page.blank()
    page.say("Or put this into the program, and run it with TORCH_TRACE:", "")
    add_lines(page, recording)


def recording_document(run: Run | None, options: Options) -> Document:
    """The lines to paste alone: for where a start-up hook did not do."""

    page = Page("recording", "how to record", options)
    add_lines(page, recording_of(run))
    return page.document()


def add_lines(page: Page, recording: Recording) -> None:
    """The lines to paste, and what is to be known of them."""
    for line in recording.lines:
        page.add("  ", (line, tokens.NAME)) if line else page.blank()
    page.blank()
    if recording.loop is not None:
        place = page.place(recording.loop.file, recording.loop.line)
        page.row(["The loop is the one around the call at ", place, "."], "")
    for text in remarks(recording):
        page.say(text, "")


def remarks(recording: Recording) -> tuple[str, ...]:
    """What is to be known of it."""
    said = []
    if recording.ranks > 1:
        said.append(f"Each of the {fmt.count(recording.ranks)} ranks writes a file of its own.")
    if recording.cpu:
        said.append(CHANGES_KEY)
    if recording.gpu:
        said.append(TRITON_NEEDS_NOTHING)
    said.append("tltui runtime DIR reads the profile that lies beside the log; --profile FILE names one that lies elsewhere.")
    return tuple(said)
