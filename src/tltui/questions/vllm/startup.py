"""The start-up budget of vLLM and SGLang from messages of their own logs: Dynamo, each compile range, cache load, capture, rest."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import islice
from weakref import WeakKeyDictionary

from tltui.model.log_model import OTHER_TEXT
from tltui.model.run import Run
from tltui.text.frozen import frozen, mutable
from tltui.text.terminal_lines import shown
from tltui.trace.files import Gone
from tltui.trace.log import Log

VLLM, SGLANG = "vLLM", "SGLang"
MODEL, WEIGHTS, DYNAMO, COMPILE, LOAD, AOT_LOAD, TOTAL, WARM_UP, CAPTURE, ENGINE, DIRECTORY, BEGIN, READY = (
    "model loading", "weight loading", "Dynamo", "compile", "cache load", "AOT load", "torch.compile", "warm-up",
    "CUDA graph capture", "engine start", "cache directory", "begin", "ready",
)  # fmt: skip
"""Steps. `torch.compile` contains Dynamo, compiles and cache loads; `engine start` contains `torch.compile` and the capture."""
LINE_LIMIT = 4000
"""Bytes of a line that are matched: these messages are short."""
_SECONDS = r"(?P<seconds>\d{1,9}(?:\.\d{1,9})?)"

_BACKENDS, _MONITOR, _CORE = "vllm/compilation/backends.py", "vllm/compilation/monitor.py", "vllm/v1/engine/core.py"
_RUNNER, _SG_RUNNER = "vllm/v1/worker/gpu_model_runner.py", "sglang/srt/model_executor/model_runner.py"
_WRITER = re.compile(r"\(([^()\n]{0,80}\bpid=\d{1,10})\)")
_VLLM_LINE = re.compile(
    r"(?P<writer>(?:\([^()\n]{0,80}\bpid=\d{1,10}\) ?){0,4})(?:DEBUG|INFO|WARNING) (?P<clock>\d\d-\d\d \d\d:\d\d:\d\d) "
    r"\[[\w./-]{1,120}:\d{1,6}\] (?:\[[^\]\n]{1,80}\] )?(?P<message>[^\n]*)"
)
_SGLANG_LINE = re.compile(
    r"\[(?P<clock>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?(?P<writer>(?: [A-Z]{2,4}\d{1,6}){0,6})\] (?P<message>[^\n]*)"
)
_RANGE = re.compile(r"\((\d{1,10}), (\d{1,10})\)")
BLOCK = 1 << 20
BEGINNING = 8
"""Blocks of the outputs of a run in which an engine's start-up is looked for: it is at the beginning."""

_SIZES = re.compile(r"sizes? (\d{1,10})(?: to (\d{1,10}))?")
PARTS = (DYNAMO, COMPILE, LOAD)
"""Steps whose sum torch.compile is."""


@frozen
class Row:
    """One message."""

    engine: str
    step: str
    needle: bytes
    """Every line with the message contains it."""
    pattern: re.Pattern[str]
    """Pattern of the message, with the groups `seconds` and `subject`."""
    versions: str
    """Versions of the engine that print it, as far as their sources were read."""
    source: str
    """The file that prints it."""


@frozen
class EngineTime:
    """One message about the start-up of an engine."""

    engine: str
    """`vLLM` or `SGLang`."""
    writer: str
    """The process as its line names it, such as `EngineCore_0 pid=123` or `TP0`; empty where it has no name."""
    step: str
    """Step of the start-up."""
    subject: str
    """The compile range, size, graph or directory; empty for none."""
    seconds: float | None
    """Duration; None for a message without one."""
    clock: str
    """Time of the message as written."""


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


def _row(engine: str, step: str, needle: str, pattern: str, versions: str, source: str) -> Row:
    return Row(engine, step, needle.encode(), re.compile(pattern), versions, source)


ROWS = (
    _row(VLLM, DIRECTORY, "Using cache directory: ", r"Using cache directory: (?P<subject>.+) for vLLM's torch\.compile$",
         "0.8.0–0.33.0", _BACKENDS),
    _row(VLLM, DYNAMO, "Dynamo bytecode transform time: ", rf"Dynamo bytecode transform time: {_SECONDS} s$",
         "0.8.0–0.33.0", _BACKENDS),
    _row(VLLM, COMPILE, "Compiling a graph for ", rf"Compiling a graph for (?P<subject>general shape) takes {_SECONDS} s$",
         "0.8.0–0.9.2", _BACKENDS),
    _row(VLLM, COMPILE, "Compiling a graph for ", rf"Compiling a graph for (?P<subject>dynamic shape) takes {_SECONDS} s$",
         "0.10.2–0.12.0", _BACKENDS),
    _row(VLLM, COMPILE, "Compiling a graph for ", rf"Compiling a graph for (?P<subject>shape .+) takes {_SECONDS} s$",
         "0.8.0–0.12.0", _BACKENDS),
    _row(VLLM, COMPILE, "Compiling a graph for ", rf"Compiling a graph for compile range (?P<subject>\(.+\)) takes {_SECONDS} s$",
         "0.14.0–0.33.0", _BACKENDS),
    _row(VLLM, LOAD, "Directly load the compiled graph(s) for ",
         rf"Directly load the compiled graph\(s\) for (?P<subject>dynamic shape|shape .+) from the cache, took {_SECONDS} s$",
         "0.8.5–0.12.0", _BACKENDS),
    _row(VLLM, LOAD, "Directly load the compiled graph(s) for ",
         rf"Directly load the compiled graph\(s\) for compile range (?P<subject>\(.+\)) from the cache, took {_SECONDS} s$",
         "0.14.0–0.33.0", _BACKENDS),
    _row(VLLM, AOT_LOAD, "Directly load AOT compilation from path ", r"Directly load AOT compilation from path (?P<subject>.+)$",
         "0.11.2–0.33.0", "vllm/compilation/decorators.py"),
    _row(VLLM, TOTAL, "torch.compile t", rf"torch\.compile takes {_SECONDS} s in total$", "0.8.0–0.17.0", _MONITOR),
    _row(VLLM, TOTAL, "torch.compile t", rf"torch\.compile took {_SECONDS} s in total$", "0.20.0–0.33.0", _MONITOR),
    _row(VLLM, WARM_UP, "Initial profiling/warmup run took ", rf"Initial profiling/warmup run took {_SECONDS} s$",
         "0.20.0–0.33.0", _MONITOR),
    _row(VLLM, CAPTURE, "Graph capturing finished in ", rf"Graph capturing finished in {_SECONDS} secs, took ",
         "0.8.0–0.33.0", _RUNNER),
    _row(VLLM, WEIGHTS, "Loading weights took ", rf"Loading weights took {_SECONDS} seconds$", "0.8.0–0.33.0",
         "vllm/model_executor/model_loader/default_loader.py"),
    _row(VLLM, MODEL, "Model loading took ", rf"Model loading took \S+ (?:GB|GiB)(?: memory)? and {_SECONDS} seconds$",
         "0.8.0–0.33.0", _RUNNER),
    _row(VLLM, ENGINE, "init engine (profile, create kv cache, warmup model) took ",
         rf"init engine \(profile, create kv cache, warmup model\) took {_SECONDS} s(?:econds)?(?: \(compilation: .+\))?$",
         "0.8.0–0.33.0", _CORE),
    _row(SGLANG, BEGIN, "Load weight begin.", r"Load weight begin\.", "0.5.1–0.5.23", _SG_RUNNER),
    _row(SGLANG, WEIGHTS, "Load weight end.", rf"Load weight end\. elapsed={_SECONDS} s,", "0.5.10–0.5.23", _SG_RUNNER),
    _row(SGLANG, COMPILE, "Compiling a graph for ", rf"Compiling a graph for (?P<subject>dynamic shape) takes {_SECONDS} s$",
         "0.5.4–0.5.23", "sglang/srt/compilation/backend.py"),
    _row(SGLANG, CAPTURE, " graph end. ", rf"Capture (?P<subject>.*graph) end\. Time elapsed: {_SECONDS} s\.",
         "0.4.6–0.5.10", _SG_RUNNER),
    _row(SGLANG, CAPTURE, " graph end. ", rf"Capture (?P<subject>.*graph) end\. (?:\w+=[^=]+, )?elapsed={_SECONDS} s,",
         "0.5.15–0.5.23", "sglang/srt/model_executor/model_runner_components/cuda_graph_setup.py"),
    _row(SGLANG, READY, "The server is fired up and ready to roll!", r"The server is fired up and ready to roll!$",
         "0.5.1–0.5.23", "sglang/srt/entrypoints/http_server.py"),
)  # fmt: skip
NEEDLES = tuple(dict.fromkeys(row.needle for row in ROWS))
_MESSAGES = "|".join(re.escape(row.needle.decode()) for row in ROWS if row.engine == VLLM)
_DATED_LINE = re.compile(
    r"(?P<writer>)\d{4}-(?P<clock>\d\d-\d\d[ T]\d\d:\d\d:\d\d)[^\n]{0,160}?(?:[:|\]]|\w\.\w+) "
    rf"(?P<message>(?:{_MESSAGES})[^\n]*)"
)
"""A line of another formatter for vLLM's messages (`logging.config`, vllm-musa): a date, fields up to `:`, `|`, `]` or a module."""
LINES = ((VLLM, _VLLM_LINE), (SGLANG, _SGLANG_LINE), (VLLM, _DATED_LINE))


def _may_have_times(data: bytes) -> bool:
    """Return whether a piece of an output may have one of the messages."""
    return any(needle in data for needle in NEEDLES)


def engine_times(data: bytes) -> Iterator[EngineTime]:
    """Yield the messages in complete lines of an output."""
    for line in data.split(b"\n"):
        if _may_have_times(line[:LINE_LIMIT]):
            time = _time_of(line[:LINE_LIMIT])
            if time is not None:
                yield time


def _time_of(line: bytes) -> EngineTime | None:
    text = shown(line).decode("utf-8", "replace").rstrip()
    for engine, pattern in LINES:
        head = pattern.search(text)
        if head is None:
            continue
        for row in ROWS:
            if row.engine == engine and (match := row.pattern.match(head["message"])):
                fields = match.groupdict()
                writers = _WRITER.findall(head["writer"]) or [head["writer"].strip()]
                seconds = None if fields.get("seconds") is None else float(fields["seconds"])
                return EngineTime(engine, writers[-1], row.step, _subject(fields.get("subject") or ""), seconds, head["clock"])
    return None


def _subject(text: str) -> str:
    """Return `sizes 1 to 8192` for a compile range, `size 8` for one size."""
    if match := _RANGE.fullmatch(text):
        return f"size {match[1]}" if match[1] == match[2] else f"sizes {match[1]} to {match[2]}"
    return {"general shape": "all sizes", "dynamic shape": "all sizes"}.get(text, text.replace("shape ", "size ", 1))


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
            if _may_have_times(data):
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


def has_startup(run: Run) -> bool:
    """Return whether the beginning of an output is the log of an engine."""
    for _ in islice(read_startups(run), BEGINNING):
        pass
    return bool(startups_of(run))


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
