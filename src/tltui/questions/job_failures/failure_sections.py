"""Sections about how a job ended: failures and what to do next, warnings of torch, and the output of a job without a compile."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.model.input_coverage import TEXT
from tltui.model.nodes import Compile, Frame
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.hang.open_phases import BACKWARD_OF, CAPTURE, OUTSIDE, Inside
from tltui.questions.job_failures.failure_order import ENDED, FOLLOWED
from tltui.questions.job_failures.job_failures import (
    OutputWarning,
    RunFailure,
    failures_outside_trace,
    independent_failures,
    is_of_compiler,
    outputs_of,
    printed_of,
    traceback_of,
    traced_processes,
)
from tltui.questions.job_failures.printed_messages import WATCHDOG
from tltui.questions.problems.compile_problems import read_reason
from tltui.questions.problems.reason_sections import add_explanation, add_gb_page, add_traceback
from tltui.questions.records.log_page import line_in_log
from tltui.questions.stacks.tracebacks import callers_of, display_name
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern
from tltui.text.sanitize import sanitize
from tltui.trace.files import Gone
from tltui.trace.log import Log

TEXT_READ = 4000
"""Characters of a failure that are matched."""
IN_COMPILER = 'Compile with backend="aot_eager", then with backend="eager": the first one to work shows the part at fault.'

INDENT = "    "
CHECKPOINT_ERROR = "CheckpointError"
CHECKPOINT = "torch/utils/checkpoint.py"
AFTER_LIMIT = (
    "Calls that match no compiled version run in eager mode, which may save different tensors than the compiled forward.",
    "Raise torch._dynamo.config.recompile_limit, or remove the cause of the recompilations.",
)
SHOWN = 3
"""Failures of a launch that have a line each."""
WARNINGS_SHOWN = 3
"""Warnings that a summary lists."""
LAUNCHES_SHOWN = 3
FOLDED = 100
"""Failures that are listed below the first ones."""
RANKS_SHOWN = 4
"""Ranks with two processes at once that are listed."""
CAUSE_UNKNOWN = (
    "These logs do not show which rank failed first. Open the job's output too: add its file to the command, as in "
    "`tltui where TRACE job.out`."
)

COUNTED = 256 << 20
"""Bytes of an output whose lines are counted; of a larger one the size is given."""
BLOCK = 1 << 20


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


def add_ends(page: Page, run: Run, failures: Sequence[RunFailure]) -> None:
    """Add how each launch ended: its first failure, other culprits, and in one line the ranks that only followed."""
    launches = failures[0].launches if failures else 1
    numbers = sorted({item.launch for item in failures})
    shown = numbers if len(numbers) <= LAUNCHES_SHOWN else [numbers[0], *numbers[1 - LAUNCHES_SHOWN :]]
    starts = _starts(run) if launches > 1 else {}
    for number in shown:
        _add_launch(page, [item for item in failures if item.launch == number], starts)
    if rest := len(numbers) - len(shown):
        page.add((f"and {fmt.plural(rest, 'more launch', 'more launches')} that failed", tokens.LINK, "@problems"))
    if launches > 1 and launches not in numbers:
        page.row(["  ", (f"launch {launches}{starts.get(launches, '')}: no failure in the output", tokens.DIM)], "")


def _starts(run: Run) -> dict[int, str]:
    """Map launches to ` (started 14:08:33)`, as far as logs contain it."""
    starts: dict[int, float] = {}
    for process in traced_processes(run)[0]:
        starts[process.launch] = min(process.started, starts.get(process.launch, process.started))
    return {number: f" (started {fmt.clock(at * 1e6)})" for number, at in starts.items()}


def _add_launch(page: Page, failures: Sequence[RunFailure], starts: dict[int, str]) -> None:
    culprits = independent_failures(failures)
    head = f"launch {failures[0].launch}{starts.get(failures[0].launch, '')}: " if failures[0].launches > 1 else ""
    for item in culprits[:SHOWN]:
        sentence = (fmt.clip(head + sentence_of(item), 2 * page.width), tokens.ERROR)
        page.row([page.status(Status.ERROR), " ", sentence, *_where(page, item)], "")
    if len(culprits) > SHOWN:
        page.add((f"and {fmt.plural(len(culprits) - SHOWN, 'more failure')} in the output", tokens.LINK, "@problems"))
    followed = [item for item in failures if item.is_consequence]
    if followed:
        texts = [_short(item) for item in followed[:SHOWN]]
        text = f"after that, {', '.join(texts)}" if culprits else ", ".join(texts)
        page.row(["  ", (fmt.clip(sanitize(text), 2 * page.width), tokens.DIM)], "")


def _short(item: RunFailure) -> str:
    """Return a consequence without its error, which only repeats that another process ended."""
    return item.sentence.partition(": ")[0]


def sentence_of(item: RunFailure) -> str:
    """`rank 1 failed first (SIGKILL) in the backward of Net.forward [1:5/0], in inductor_compile`"""
    event, colon, error = item.sentence.partition(": ")
    return sanitize(event) + _place(item) + sanitize(colon + error)


def _place(item: RunFailure) -> str:
    """Describe the open work at the end: `, in the backward of Net.forward, phase inductor_compile`; '' if no log shows it."""
    if item.open is not None:
        return f", in {open_work(item.open)}"
    if item.compiling:
        work = "the backward" if item.is_backward else "the compile"
        return f", in {work} of {fmt.clip_middle(sanitize(item.compiling), 60)}"
    return ", while it was not compiling" if is_outside(item) else ""


def is_outside(item: RunFailure) -> bool:
    """Return whether the log of a process that failed shows that it was in no compile."""
    return item.has_log and item.open is None and not item.compile and not item.is_compile and not item.is_consequence


def open_work(inside: Inside) -> str:
    """Describe the open work of a process: `the backward of Net.forward, phase inductor_compile`."""
    trail = f", phase {sanitize(inside.trail)}" if inside.trail else ""
    if inside.activity == CAPTURE:
        return f"compiled autograd's capture of a backward pass{trail}"
    if inside.activity == OUTSIDE:
        return f"work without a compile id{trail}"
    name = fmt.clip_middle(sanitize(inside.function), 60) if inside.function else "a function that the log does not name"
    return f"the backward of {name}{trail}" if inside.activity == BACKWARD_OF else f"the compile of {name}{trail}"


def capital(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def end_answer(failures: Sequence[RunFailure]) -> str:
    """Return the end of the newest failed launch in a sentence; '' where no output names a culprit."""
    newest = max((item.launch for item in failures), default=0)
    culprits = [item for item in independent_failures(failures) if item.launch == newest]
    if not culprits:
        return ""
    return capital(sentence_of(culprits[0])).rstrip(".") + "."


def launches_in(run: Run) -> int:
    """Return how many launches of the job left logs."""
    return max((process.launch for process in traced_processes(run)[0]), default=1)


def add_overlaps(page: Page, run: Run) -> frozenset[int]:
    """Add a warning where two jobs wrote into one directory at the same time; return the pids of the processes."""
    overlaps = traced_processes(run)[1]
    if overlaps:
        pids = "; ".join(f"rank {one.rank}: pids {one.pids[0]}, {one.pids[1]}" for one in overlaps[:RANKS_SHOWN])
        more = f" and {len(overlaps) - RANKS_SHOWN} more ranks" if len(overlaps) > RANKS_SHOWN else ""
        page.say(
            f"Two jobs ran at once and wrote into this directory ({pids}{more}). This page mixes them. Give each job its own "
            "directory.", "", tokens.WARN,
        )  # fmt: skip
    return frozenset(pid for one in overlaps for pid in one.pids)


def _where(page: Page, item: RunFailure | OutputWarning) -> list[Piece]:
    """Return the user's line and a link to the compile."""
    pieces: list[Piece] = []
    if item.file is not None:
        pieces += ["  ", page.place(item.file, item.line)]
    if item.compile:
        pieces += ["  ", (f"[{item.compile}]", tokens.LINK, item.compile)]
        if isinstance(item, RunFailure) and not item.is_certain:
            pieces.append((" probably", tokens.DIM))
    return pieces


def add_job_failures(page: Page, run: Run, failures: Sequence[RunFailure]) -> Generator[None, None, None]:
    """Add the failures of the job that its output reports, one by one."""
    if not failures:
        return
    page.heading(f"Failures in the job's output ({fmt.count(len(failures))})")
    shown = _shown_first(failures)
    order = [*shown, *(place for place in range(len(failures)) if place not in shown)]
    for number, item in enumerate(failures[place] for place in order[: SHOWN + FOLDED]):
        if number == SHOWN:
            page.open(f"{fmt.count(len(failures) - SHOWN)} more", folded=True)
            page.add("  ", (f"{fmt.count(len(failures) - SHOWN)} more", tokens.DIM))
        _add_failure(page, run, item)
        yield
    page.close(0)


def _shown_first(failures: Sequence[RunFailure]) -> list[int]:
    """Return the places of the failures that are not folded: causes before consequences, and the newest launch before others."""
    newest = max(item.launch for item in failures)

    def weight(place: int) -> tuple[bool, bool]:
        item = failures[place]
        return item.is_consequence or not item.is_fatal, item.launch != newest

    return sorted(sorted(range(len(failures)), key=weight)[:SHOWN])


def add_of_compile(page: Page, run: Run, ref: str) -> None:
    """Add the failures in the output that are probably those of a compile."""
    for item in failures_outside_trace(run):
        if item.compile == ref:
            page.heading("Failure in the output")
            _add_failure(page, run, item)


def _add_limit_in_checkpoint(page: Page, run: Run, item: RunFailure) -> None:
    """Add the hit of the recompile limit after which a checkpointed region runs in eager mode."""
    hit = limit_in_checkpoint(run, item)
    if hit is None:
        return
    ref, name = str(hit.ref), sanitize(display_name(hit.frame) or "a function")
    text = f" {name} reached the recompile limit inside of torch.utils.checkpoint before this failure."
    page.row([(f"[{ref}]", tokens.LINK, ref), text], INDENT)
    for sentence in AFTER_LIMIT:
        page.say(sentence, INDENT)


def _add_failure(page: Page, run: Run, item: RunFailure) -> None:
    is_cause = not item.is_consequence and item.is_fatal
    page.open(sanitize(item.sentence))
    head = f"launch {item.launch}: " if item.launches > 1 else ""
    sentence = (fmt.clip(head + sentence_of(item), 4 * page.width), tokens.ERROR if is_cause else tokens.DIM)
    page.row([page.status(Status.ERROR) if is_cause else "·", " ", sentence, *_where(page, item)])
    if item.meaning:
        page.say(capital(item.meaning) + ".", INDENT)
    _add_limit_in_checkpoint(page, run, item)
    if is_cause and limit_in_checkpoint(run, item) is None and (step := next_step_of(run, item)):
        page.say(step, INDENT)
    if is_outside(item):
        page.say("The process had no compile open in its log, so it failed outside of torch.compile.", INDENT)
    if item.host or item.time:
        host = f"on {item.host} " if item.host else ""
        page.say(sanitize(host + (f"at {item.time.replace('_', ' ')}" if item.time else "")).strip(), INDENT)
    if item.compile and not item.is_certain:
        page.say("The output does not name the compile; this is the last unfinished one before the failure.", INDENT, tokens.DIM)
    model = next((model for model in outputs_of(run) if model.log.path == item.log), None)
    if model is not None:
        page.add(INDENT, to_page("in the output", line_in_log(run, model, item.offset_bytes, page.options)))
    traceback = traceback_of(run, item) if item.role not in (ENDED, FOLLOWED) else None
    if traceback is not None and traceback.is_compile:
        reason = read_reason(traceback.message).first
        hints = [sanitize(fmt.one_line(hint)) for hint in reason.hints]
        add_explanation(page, sanitize(fmt.one_line(reason.explanation)), hints, INDENT)
        add_gb_page(page, reason.gb, INDENT)
    if traceback is not None and traceback.parts:
        add_traceback(page, traceback.parts, "traceback", INDENT)
    page.close()


def next_step_of(run: Run, item: RunFailure) -> str:
    """Return what to do next about a failure; '' if there is no advice."""
    traceback = traceback_of(run, item)
    return next_step(item.sentence, item.is_compile or (traceback is not None and is_of_compiler(traceback)))


def limit_in_checkpoint(run: Run, failure: RunFailure) -> Compile | None:
    """Return the last hit of the recompile limit in a checkpointed region of the process that raised a `CheckpointError`."""
    if CHECKPOINT_ERROR not in failure.sentence or (failure.pid is None and failure.rank is None):
        return None
    hits = [
        compile_
        for process in run.processes()
        if failure.pid in (None, process.pid) and failure.rank in (None, process.rank)
        for compile_ in process.ordered()
        if compile_.facts.recompile_limit_hit and _is_in_checkpoint(compile_.frame)
    ]
    return hits[-1] if hits else None


def _is_in_checkpoint(frame: Frame) -> bool:
    """Return whether a compile of a frame has `torch.utils.checkpoint` among its callers."""
    callers = (caller for compile_ in frame.compiles for caller in callers_of(compile_))
    return any(caller.file.replace("\\", "/").endswith(CHECKPOINT) for caller in callers)


def next_step(failure: str, in_compiler: bool) -> str:
    """Return the next step for a failure; `in_compiler`: torch's compiler raised it. '' if there is none."""
    text = failure[:TEXT_READ]
    step = next((row.next_step for row in ROWS if row.pattern.search(text)), "")
    return step or (IN_COMPILER if in_compiler else "")


def has_only_output(run: Run) -> bool:
    """Return whether a run consists of text logs without any compile."""
    return bool(run.models) and all(model.form == TEXT for model in run.models) and not run.tally.compiles


def has_torch(run: Run) -> bool:
    """Return whether the output of a run has a log message of torch or an exception of its compiler."""
    if any(process.records for process in run.processes()):
        return True
    return any(is_of_compiler(traceback) for model in outputs_of(run) for traceback in printed_of(model.log).tracebacks)


def size_of_output(run: Run) -> str:
    """Return `812 lines`, or the size in bytes of a large output."""
    logs = [model.log for model in outputs_of(run)]
    size = sum(log.scanned for log in logs)
    return fmt.plural(sum(map(_lines_in, logs)), "line") if size <= COUNTED else fmt.size_of(size)


def _lines_in(log: Log) -> int:
    count, at, last = 0, 0, b"\n"
    try:
        while at < log.scanned and (data := log.source.read(at, min(BLOCK, log.scanned - at))):
            count, at, last = count + data.count(b"\n"), at + len(data), data[-1:]
    except (Gone, OSError):
        return count
    return count + (last != b"\n")


def add_warnings(page: Page, run: Run, warnings: Sequence[OutputWarning]) -> None:
    """Add each warning with its meaning and what to do against it."""
    if not warnings:
        return
    page.heading(f"Torch's warnings in the job's output ({fmt.count(len(warnings))})")
    for warning in warnings:
        page.row(_title(page, warning))
        if warning.detail:
            page.labelled("cause", sanitize(fmt.one_line(warning.detail)), INDENT, 6)
        page.say(warning.means, INDENT)
        if warning.fix:
            page.say(warning.fix, INDENT)
        model = next((model for model in outputs_of(run) if model.log.path == warning.log), None)
        if model is not None:
            page.add(INDENT, to_page("in the output", line_in_log(run, model, warning.offset_bytes, page.options)))


def add_warning_titles(page: Page, warnings: Sequence[OutputWarning]) -> None:
    """Add one line for each of the first warnings."""
    if not warnings:
        return
    page.heading(f"Torch's warnings in the job's output ({fmt.count(len(warnings))})")
    for warning in warnings[:WARNINGS_SHOWN]:
        page.row(_title(page, warning))
        if warning.detail:
            page.add(INDENT, page.clip(sanitize(fmt.one_line(warning.detail)), page.width - len(INDENT)))
        page.say(warning.fix or warning.means, INDENT, tokens.DIM)
    if len(warnings) > WARNINGS_SHOWN:
        page.add("  ", (f"and {fmt.count(len(warnings) - WARNINGS_SHOWN)} more", tokens.LINK, "@problems"))


def _title(page: Page, warning: OutputWarning) -> list[Piece]:
    """Return the title of a warning, the number of times, the user's line and a link to the compile."""
    times: list[Piece] = [f"  {fmt.count(warning.count)} times"] if warning.count > 1 else []
    return [(warning.title, tokens.WARN), *times, *_where(page, warning)]
