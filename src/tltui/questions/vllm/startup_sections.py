"""The start-up of vLLM and SGLang as sections of a page: seconds and share of each step."""

from __future__ import annotations

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.run import Run
from tltui.questions.vllm.startup import (
    AOT_LOAD,
    CAPTURE,
    COMPILE,
    LOAD,
    MODEL,
    PARTS,
    VLLM,
    WEIGHTS,
    EngineProcess,
    Startup,
    StartupStep,
    startups_of,
)
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

_NAMES = {COMPILE: "compile", LOAD: "loaded from vLLM's cache", AOT_LOAD: "compiled code loaded from"}


def add_startups(page: Page, run: Run) -> tuple[Startup, ...]:
    """Add a section per engine; return what was added."""
    startups = startups_of(run)
    for startup in startups:
        page.blank()
        page.open(f"Start-up of {startup.engine}")
        head: list[Piece] = [(f"Start-up of {startup.engine}", tokens.HEADING)]
        if startup.total_s is not None:
            head.append((f"  {fmt.seconds(startup.total_s)}", tokens.STRONG))
        page.row(head, "")
        page.say(f"from {startup.engine}'s own log {fmt.clip_middle(sanitize(startup.path), 60)}", "  ", tokens.DIM)
        for process in startup.processes:
            _add_process(page, startup.engine, process, startup.total_s)
        if startup.total_s is None:
            page.say(f"Total: unknown ({startup.unknown})", "  ", tokens.WARN)
        elif startup.rest_s is not None:
            rest = "profiling run, KV cache, warm-up" if startup.engine == VLLM else "KV cache, warm-up, server"
            page.say(f"Rest: {fmt.seconds(startup.rest_s)} ({rest})", "  ")
        page.close()
    return startups


def _add_process(page: Page, engine: str, process: EngineProcess, total: float | None) -> None:
    if process.writer:
        page.add("  ", (fmt.clip_middle(sanitize(process.writer), 60), tokens.LABEL))
    before = (MODEL, WEIGHTS) if engine == VLLM else ()
    outside = [step for step in process.steps if step.step in before]
    rows = [_row(step.duration_s, None, f"{_name(step)}, not part of the start-up time") for step in outside]
    steps = [step for step in process.steps if step.step not in before]
    parts = [step for step in steps if step.step in (*PARTS, AOT_LOAD)]
    rows += [_row(step.duration_s, total, _name(step)) for step in parts]
    if process.compile_rest_s is not None and process.torch_compile_s is not None:
        rest = f"rest of torch.compile ({fmt.seconds(process.torch_compile_s)} in total)"
        rows.append(_row(process.compile_rest_s, total, rest))
    rows += [_row(step.duration_s, total, _name(step)) for step in steps if step not in parts]
    page.grid(rows, right=(0, 1))
    if process.cache_directory:
        page.labelled("cache directory", process.cache_directory, "  ", 17)
        names = {step.step for step in process.steps}
        if engine == VLLM and COMPILE in names and LOAD not in names:
            page.say("Keep this directory between starts. A start with the same hash loads the graphs instead of compiling.", "  ")


def _name(step: StartupStep) -> str:
    name = _NAMES.get(step.step, step.step)
    subject = sanitize(step.subject)
    if step.step == CAPTURE and subject:
        return f"capture of {subject}"
    if step.step == LOAD:
        return f"{subject} {name}"
    return f"{name} {subject}".rstrip()


def _row(seconds: float | None, total: float | None, name: str) -> list[Piece]:
    share = "" if not total or seconds is None else f"{seconds / total:.0%}"
    return [("" if seconds is None else fmt.seconds(seconds), tokens.VALUE), (share, tokens.DIM), fmt.clip_middle(name, 70)]

