"""Messages of vLLM and SGLang in a job's output that have the time of a step of the engine's start-up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tltui.text.frozen import frozen
from tltui.text.terminal_lines import shown

VLLM, SGLANG = "vLLM", "SGLang"
MODEL, WEIGHTS, DYNAMO, COMPILE, LOAD, AOT_LOAD, TOTAL, WARM_UP, CAPTURE, ENGINE, DIRECTORY, BEGIN, READY = (
    "model loading", "weight loading", "Dynamo", "compile", "cache load", "AOT load", "torch.compile", "warm-up",
    "CUDA graph capture", "engine start", "cache directory", "begin", "ready",
)  # fmt: skip
"""Steps. `torch.compile` contains Dynamo, compiles and cache loads; `engine start` contains `torch.compile` and the capture."""
LINE_LIMIT = 4000
"""Bytes of a line that are matched: these messages are short."""


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


_SECONDS = r"(?P<seconds>\d{1,9}(?:\.\d{1,9})?)"


def _row(engine: str, step: str, needle: str, pattern: str, versions: str, source: str) -> Row:
    return Row(engine, step, needle.encode(), re.compile(pattern), versions, source)


_BACKENDS, _MONITOR, _CORE = "vllm/compilation/backends.py", "vllm/compilation/monitor.py", "vllm/v1/engine/core.py"
_RUNNER, _SG_RUNNER = "vllm/v1/worker/gpu_model_runner.py", "sglang/srt/model_executor/model_runner.py"
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
_WRITER = re.compile(r"\(([^()\n]{0,80}\bpid=\d{1,10})\)")
_VLLM_LINE = re.compile(
    r"(?P<writer>(?:\([^()\n]{0,80}\bpid=\d{1,10}\) ?){0,4})(?:DEBUG|INFO|WARNING) (?P<clock>\d\d-\d\d \d\d:\d\d:\d\d) "
    r"\[[\w./-]{1,120}:\d{1,6}\] (?:\[[^\]\n]{1,80}\] )?(?P<message>[^\n]*)"
)
_SGLANG_LINE = re.compile(
    r"\[(?P<clock>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?(?P<writer>(?: [A-Z]{2,4}\d{1,6}){0,6})\] (?P<message>[^\n]*)"
)
_MESSAGES = "|".join(re.escape(row.needle.decode()) for row in ROWS if row.engine == VLLM)
_DATED_LINE = re.compile(
    r"(?P<writer>)\d{4}-(?P<clock>\d\d-\d\d[ T]\d\d:\d\d:\d\d)[^\n]{0,160}?(?:[:|\]]|\w\.\w+) "
    rf"(?P<message>(?:{_MESSAGES})[^\n]*)"
)
"""A line of another formatter for vLLM's messages (`logging.config`, vllm-musa): a date, fields up to `:`, `|`, `]` or a module."""
LINES = ((VLLM, _VLLM_LINE), (SGLANG, _SGLANG_LINE), (VLLM, _DATED_LINE))


def may_have_times(data: bytes) -> bool:
    """Return whether a piece of an output may have one of the messages."""
    return any(needle in data for needle in NEEDLES)


def engine_times(data: bytes) -> Iterator[EngineTime]:
    """Yield the messages in complete lines of an output."""
    for line in data.split(b"\n"):
        if may_have_times(line[:LINE_LIMIT]):
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


_RANGE = re.compile(r"\((\d{1,10}), (\d{1,10})\)")


def _subject(text: str) -> str:
    """Return `sizes 1 to 8192` for a compile range, `size 8` for one size."""
    if match := _RANGE.fullmatch(text):
        return f"size {match[1]}" if match[1] == match[2] else f"sizes {match[1]} to {match[2]}"
    return {"general shape": "all sizes", "dynamic shape": "all sizes"}.get(text, text.replace("shape ", "size ", 1))
