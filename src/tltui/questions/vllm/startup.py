"""The start-up budget of vLLM and SGLang from their own logs: Dynamo, each compile range, cache load, capture, rest."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import islice
from weakref import WeakKeyDictionary

from tltui.model.log_model import OTHER_TEXT
from tltui.model.run import Run
from tltui.questions.vllm.engine_log import (
    BEGIN,
    CAPTURE,
    COMPILE,
    DIRECTORY,
    DYNAMO,
    ENGINE,
    LOAD,
    READY,
    SGLANG,
    TOTAL,
    VLLM,
    WARM_UP,
    WEIGHTS,
    EngineTime,
    engine_times,
    may_have_times,
)
from tltui.text.frozen import frozen, mutable
from tltui.trace.files import Gone
from tltui.trace.log import Log

BLOCK = 1 << 20


@frozen
class StartupStep:
    """One step of the start-up of one process."""

    step: str
    """`Dynamo`, `compile`, `cache load`, `torch.compile`, `warm-up`, `CUDA graph capture`, `model loading` and others."""
    subject: str
    """The compile range or graph; empty for none."""
    start: int | None
    """The smallest size of the compile range; None for all sizes, or without one."""
    end: int | None
    """The largest size of the compile range."""
    duration_s: float | None
    """Seconds; null for a load without a recorded duration."""


@frozen
class EngineProcess:
    """The start-up of one process of an engine."""

    writer: str
    """The process as its lines name it; empty where they do not."""
    steps: tuple[StartupStep, ...]
    """Steps in the order of the output."""
    cache_directory: str
    """vLLM's cache directory; empty for none."""
    torch_compile_s: float | None
    """Seconds in torch.compile as vLLM sums them up; null where the output lacks the sum."""
    compile_rest_s: float | None
    """Seconds of `torch_compile_s` outside Dynamo, compiles and cache loads."""


@frozen
class Startup:
    """The start-up of one engine in one output."""

    path: str
    """The output."""
    engine: str
    """`vLLM` or `SGLang`."""
    processes: tuple[EngineProcess, ...]
    """Processes in the order of their first message."""
    total_s: float | None
    """Seconds of the start: vLLM's `init engine`; SGLang from the first weight to readiness. Null if unknown."""
    rest_s: float | None
    """Seconds of the start outside the listed steps of the slowest process."""
    unknown: str
    """Why the total is unknown; empty if it is known."""


@mutable
class _State:
    """Progress of reading an output."""

    record: int = 0
    done: int = 0
    times: list[EngineTime] = field(default_factory=list)


_STATES: WeakKeyDictionary[Log, _State] = WeakKeyDictionary()


def read_startups(run: Run) -> Iterator[None]:
    """Read the outputs of a run on, block by block."""
    for model in run.models:
        if model.form == "text":
            yield from _read_on(model.log, _STATES.setdefault(model.log, _State()))


def _read_on(log: Log, state: _State) -> Iterator[None]:
    columns = log.columns
    wanted = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    for record in range(state.record, len(log) if wanted else 0):
        done = state.done if record == state.record else 0
        if columns.kind[record] not in wanted:
            continue
        size = columns.size[record]
        while done < size:
            try:
                data = log.source_of(record).read(columns.offset[record] + done, min(BLOCK, size - done))
            except (Gone, OSError):
                return
            end = data.rfind(b"\n") + 1 or len(data)
            data = data if done + len(data) >= size and log.ended else data[:end]
            if not data:
                break
            if may_have_times(data):
                state.times += engine_times(data)
            done += len(data)
            state.record, state.done = record, done
            yield


def startups_of(run: Run) -> tuple[Startup, ...]:
    """Return the start-up of each engine in each output, as far as `read_startups` has read."""
    startups = []
    for model in run.models:
        state = _STATES.get(model.log, _State())
        for engine in (VLLM, SGLANG):
            if times := [one for one in state.times if one.engine == engine]:
                startups.append(startup_of(model.log.path, engine, times))
    return tuple(startups)


BEGINNING = 8
"""Blocks of the outputs of a run in which an engine's start-up is looked for: it is at the beginning."""


def has_startup(run: Run) -> bool:
    """Return whether the beginning of an output is the log of an engine."""
    for _ in islice(read_startups(run), BEGINNING):
        pass
    return bool(startups_of(run))


_SIZES = re.compile(r"sizes? (\d{1,10})(?: to (\d{1,10}))?")
PARTS = (DYNAMO, COMPILE, LOAD)
"""Steps whose sum torch.compile is."""


def startup_of(path: str, engine: str, times: Sequence[EngineTime]) -> Startup:
    """Sum up the messages of one engine."""
    writers = dict.fromkeys(one.writer for one in times if one.step not in (ENGINE, READY))
    processes = tuple(_process(writer, [one for one in times if one.writer == writer]) for writer in writers)
    starts = [one.seconds for one in times if one.step == ENGINE and one.seconds is not None]
    total, unknown = (starts[0], "") if len(starts) == 1 else (None, "")
    if len(starts) > 1:
        unknown = f"this output has {len(starts)} engine starts"
    elif engine == SGLANG:
        total = _elapsed([one.clock for one in times if one.step == BEGIN], [one.clock for one in times if one.step == READY])
    if total is None and not unknown:
        unknown = "the output lacks the end of the start-up" if engine == VLLM else "the output lacks the beginning or end"
    rest = None if total is None else max(total - max((_inside(process, engine) for process in processes), default=0.0), 0.0)
    return Startup(path, engine, processes, total, rest, unknown)


def longest_step(startup: Startup) -> StartupStep | None:
    """Return the step of the start-up with the longest recorded duration; None without one."""
    steps = [step for process in startup.processes for step in process.steps if step.duration_s is not None]
    return max(steps, key=lambda step: step.duration_s or 0.0, default=None)


def range_of(subject: str) -> tuple[int | None, int | None]:
    """Return the smallest and the largest size that a subject names; None, None for all sizes, or another subject."""
    match = _SIZES.fullmatch(subject)
    return (int(match[1]), int(match[2] or match[1])) if match else (None, None)


def _elapsed(begins: Sequence[str], ends: Sequence[str]) -> float | None:
    if not begins or len(ends) != 1:
        return None
    try:
        moments = [time.mktime(time.strptime(clock, "%Y-%m-%d %H:%M:%S")) for clock in (begins[0], ends[0])]
    except (ValueError, OverflowError):
        return None
    return moments[1] - moments[0] if moments[1] >= moments[0] else None


def _process(writer: str, times: Sequence[EngineTime]) -> EngineProcess:
    hidden = (ENGINE, TOTAL, DIRECTORY, BEGIN, READY)
    shown = [one for one in times if one.step not in hidden]
    steps = tuple(StartupStep(one.step, one.subject, *range_of(one.subject), one.seconds) for one in shown)
    directories = [one.subject for one in times if one.step == DIRECTORY]
    totals = [one.seconds for one in times if one.step == TOTAL and one.seconds is not None]
    total = sum(totals) if totals else None
    parts = sum(step.duration_s or 0.0 for step in steps if step.step in PARTS)
    rest = None if total is None else max(total - parts, 0.0)
    return EngineProcess(writer, steps, directories[-1] if directories else "", total, rest)


def _inside(process: EngineProcess, engine: str) -> float:
    """Return the seconds of the start of the engine in the listed steps of a process.

    vLLM loads the model before `init engine`. SGLang compiles while it captures (`PiecewiseCudaGraphRunner`).
    """
    compiled = sum(step.duration_s or 0.0 for step in process.steps if step.step in PARTS)
    others = {step: sum(one.duration_s or 0.0 for one in process.steps if one.step == step) for step in (CAPTURE, WARM_UP, WEIGHTS)}
    if engine == SGLANG:
        return others[WEIGHTS] + max(others[CAPTURE], compiled)
    return others[CAPTURE] + others[WARM_UP] + max(compiled, process.torch_compile_s or 0.0)
