"""Sections about how a job ended."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.model.nodes import Compile, Frame
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.hang.open_phases import BACKWARD_OF, CAPTURE, OUTSIDE, Inside
from tltui.questions.job_failures.failure_advice import next_step
from tltui.questions.job_failures.failure_order import ENDED, FOLLOWED
from tltui.questions.job_failures.job_failures import (
    RunFailure,
    failures_outside_trace,
    independent_failures,
    is_of_compiler,
    outputs_of,
    traceback_of,
    traced_processes,
)
from tltui.questions.problems.compile_problems import read_reason
from tltui.questions.problems.reason_sections import add_explanation, add_gb_page, add_traceback
from tltui.questions.records.log_page import line_in_log
from tltui.questions.stacks.tracebacks import callers_of, display_name
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

INDENT = "    "
CHECKPOINT_ERROR = "CheckpointError"
CHECKPOINT = "torch/utils/checkpoint.py"
AFTER_LIMIT = (
    "Calls that match no compiled version run in eager mode, which may save different tensors than the compiled forward.",
    "Raise torch._dynamo.config.recompile_limit, or remove the cause of the recompilations.",
)
SHOWN = 3
"""Failures of a launch that have a line each."""
LAUNCHES_SHOWN = 3
FOLDED = 100
"""Failures that are listed below the first ones."""
RANKS_SHOWN = 4
"""Ranks with two processes at once that are listed."""
CAUSE_UNKNOWN = (
    "These logs do not show which rank failed first. Open the job's output too: add its file to the command, as in "
    "`tltui where TRACE job.out`."
)


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


def _where(page: Page, item: RunFailure) -> list[Piece]:
    """Return the user's line and a link to the compile."""
    pieces: list[Piece] = []
    if item.file is not None:
        pieces += ["  ", page.place(item.file, item.line)]
    if item.compile:
        pieces += ["  ", (f"[{item.compile}]", tokens.LINK, item.compile)]
        pieces += [] if item.is_certain else [(" probably", tokens.DIM)]
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
