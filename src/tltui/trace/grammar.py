"""The grammar of a line of a `TORCH_TRACE` log: the prefix, the envelope, and the fields that the scanner keeps of it.

Source: `TorchLogsFormatter.format` with `trace=True` in torch/_logging/_internal.py:
`LEVEL MMDD HH:MM:SS.micros PID PATH:LINE] {json}`. There is no year, and the time is local time.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from tltui.text.frozen import frozen
from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.batch import Context, Kind, Metrics, Started

# Launchers put `[rank0]:` or `[default0]:` in front, editors a byte order mark, a truncated live log NULs. The path may
# hold spaces and, on Windows, a colon. Numbers are bounded: `int` refuses texts of thousands of digits.
PREFIX = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \x00\r]*(?:\[[^\]\n]{1,40}\]: ?)*"
    rb"([A-Z])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6,}) (\d{1,4000}) ([^\n]+?):(\d{1,4000})\] ?(?=[{\[\d\"\-tfnNI]|$)"
)
INNER = re.compile(rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6,} \d{1,4000} [^\n\"]{1,500}?:\d{1,4000}\] ?\{")
"""A record that starts inside a line: the writer before it was cut off."""
BEGUN = re.compile(rb"[A-Z](?:\d{1,4}|\d{4} [\d:.]{0,15}|\d{4} \d\d:\d\d:\d\d\.\d{6,} (?:\d{1,4000}(?: [^\n]*)?)?)?")
"""A first line that was cut off before its envelope (full match)."""

CONTEXT_KEYS = frozenset(
    ("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "subgraph_name", "stack", "has_payload")
)
"""Keys of an envelope that are not the event."""
ID_KEYS = ("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt")
IDS = re.compile(
    rb'\}(?:, "(?:rank|compiled_autograd_id|frame_id|frame_compile_id|attempt)": \d{1,9}|, "subgraph_name": "\w*")+\}?'
)
"""The end of an envelope, from the end of the event's value on, that holds ids and nothing else (full match)."""


NOT_JSON = "its envelope is not JSON"
NO_RECORD = "a line that belongs to no record"
TEXT_LINE = "a line of TORCH_LOGS text inside of a trace: tltui reads such text only from a separate file"
TEXT_TAG = re.compile(rb"\[(?:__\w+|(?:!\d+(?:/\d+/\d+)?|\d+/\d+)(?:_\d+)?)\](?: |$)")
"""The tag after the prefix of a line of text: the id of a compile, or the name of an artifact. No envelope begins so."""


@frozen
class Prefix:
    """The part of a first line before the envelope."""

    level: str
    month: int
    day: int
    time: str
    """`HH:MM:SS.micros`, local time of the job."""
    pid: int
    path: str
    line: int

    @property
    def order(self) -> tuple[int, int, str]:
        """A key that sorts by time within a year."""
        return (self.month, self.day, self.time)


def parse_prefix(match: re.Match[bytes]) -> Prefix:
    """Return the prefix from a match of `PREFIX`."""
    level, month, day, hour, minute, second, micros, pid, path, line = match.groups()
    return Prefix(
        level.decode(),
        int(month),
        int(day),
        f"{hour.decode()}:{minute.decode()}:{second.decode()}.{micros.decode()}",
        int(pid),
        path.decode("utf-8", "replace"),
        int(line),
    )


def parse_json(data: bytes, exact: bool = False) -> Any:
    """Parse any JSON that Python itself writes: NaN, lone surrogates and deep nesting included.

    orjson is tried first; it refuses those three, and it rounds integers above 64 bit, which `exact` prevents.
    Raises ValueError when the text is not JSON.
    """
    try:
        value = loads(data)
    except JSONDecodeError:
        pass
    else:
        if not (exact and LONG_NUMBER.search(data) and BIG_INTEGER.search(data)):
            return value
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


LONG_NUMBER = re.compile(rb"[0-9]{19}")
"""A part of every match of `BIG_INTEGER`; it is searched several times as fast."""
BIG_INTEGER = re.compile(rb"(?<![\d.eE+-])-?\d{19,}(?![\d.eE])")


def parse_envelope(data: bytes) -> Any:
    """Parse an envelope, with ids beyond 64 bit exact. Raises ValueError when the text is not JSON."""
    data = data.rstrip(b"\x00\r")
    envelope = parse_json(data)
    if isinstance(envelope, dict) and float in map(type, map(envelope.get, ID_KEYS)):
        return parse_json(data, exact=True)
    return envelope


def parse_line(line: bytes) -> tuple[int, int, dict[str, object] | None, str]:
    """Return (pid, start of the envelope, envelope, '') of a first line; without a usable envelope None and the reason."""
    match = PREFIX.match(line)
    if match is None:
        return 0, 0, None, NO_RECORD
    pid, brace = int(match[8]), match.end()
    if TEXT_TAG.match(line, brace):
        return pid, brace, None, TEXT_LINE
    try:
        envelope = parse_envelope(line[brace:])
    except ValueError as error:
        return pid, brace, None, f"{NOT_JSON}: {error}"[:160]
    if isinstance(envelope, dict):
        return pid, brace, envelope, ""
    return pid, brace, None, "its envelope is JSON, but not an object"


def event_of(envelope: dict[str, Any]) -> str:
    """Return the event key of an envelope: the one that is not context. '' for none (never emitted by torch)."""
    for key in envelope:
        if key not in CONTEXT_KEYS:
            return key
    return "stack" if "stack" in envelope else ""


MOST = 2**63
"""The bound of ids, counts and lines: torch never reaches it, and an address would get hundreds of digits."""


def whole_number(value: object) -> int | None:
    """Return `value` as an id: integers, integral floats and strings of digits below `MOST`; None for anything else."""
    if isinstance(value, str) and len(value) <= 40 and value.isdigit() and value.isascii():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MOST:
        return None
    return int(value) if value == int(value) else None


LARGEST = 1e30
"""The bound of times, sizes and counts: sums and products below it are finite."""


def number(value: object) -> float | None:
    """Return `value` as a finite number; None for anything else (NaN, 1e308 and 10**400 are legal JSON for Python)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LARGEST < value < LARGEST:
        return None
    return float(value)


METRICS = frozenset(
    (
        "compilation_metrics",
        "bwd_compilation_metrics",
        "compilation_metrics_runtime",
        "bwd_compilation_metrics_runtime",
        "aot_autograd_backward_compilation_metrics",
    )
)
NOTABLE = frozenset(
    (
        "dynamo_graph_break_reason",
        "dynamo_error",
        "recompile_reasons",
        "cudagraphs",
        "recompile_limit",
        "torch_version",
        "fx_graph_cache_hit",
        "fx_graph_cache_miss",
        "fx_graph_cache_bypass",
        "aotautograd_cache_hit",
        "aotautograd_cache_miss",
        "aotautograd_cache_bypass",
        "eager_compile_backwards_failure",
        "symbolic_shape_specialization",
        "compiled_autograd_graph",
        "dump_file",
        "fx_graph_runnable",
    )
)
"""Events and artifact names that are counted while scanning: the tree and the overviews ask for them all the time."""

NAMED = frozenset(("artifact", "graph_dump", "dump_file", "link", "optimize_ddp_split_child"))
"""Events that carry the name of an artifact."""

KEPT_TEXT = 2000
"""Characters of a failure reason kept in memory; the whole is in the record."""


def kind_of(envelope: dict[str, Any]) -> Kind:
    """Return the event and, for events that carry one, the name of the artifact."""
    event = event_of(envelope)
    value = envelope.get(event)
    if isinstance(value, dict) and event in NAMED:
        name, encoding = value.get("name"), value.get("encoding")
        return Kind(event, name if isinstance(name, str) else "", encoding if isinstance(encoding, str) else "")
    return Kind(event, "")


def context_of(envelope: dict[str, Any], pid: int) -> tuple[Context, str | None]:
    """Return the context and a remark about ids that are no whole numbers, None without any."""
    subgraph = envelope.get("subgraph_name")
    values = [envelope.get(key) for key in ID_KEYS]
    ids = rank, autograd, frame, compile_, attempt = [
        value if value is None or (type(value) is int and 0 <= value < MOST) else whole_number(value) for value in values
    ]
    context = Context(
        pid, rank, autograd, frame, compile_, attempt, subgraph if isinstance(subgraph, str) else None, "stack" in envelope
    )
    if ids == values:
        return context, None
    odd = [
        f"{key} is {value!r:.40}"
        for key, value, number_ in zip(ID_KEYS, values, ids, strict=True)
        if value is not None and number_ is None
    ]
    return context, "; ".join(odd) or None


def _text(value: object) -> str | None:
    """Intern a text: most are the same in every compile (versions, files)."""
    return sys.intern(value[:KEPT_TEXT]) if isinstance(value, str) else None


def _seconds(fields: dict[str, Any]) -> float | None:
    for key, unit in (
        ("duration_us", 1e-6),
        ("entire_frame_compile_time_s", 1.0),
        ("dynamo_cumulative_compile_time_us", 1e-6),
        ("backward_cumulative_compile_time_us", 1e-6),
        ("inductor_compile_time_s", 1.0),
    ):
        if (value := number(fields.get(key))) is not None:
            return value * unit
    return None


def _start_us(fields: dict[str, Any]) -> float | None:
    if (value := number(fields.get("start_time_us"))) is not None:
        return value
    value = number(fields.get("start_time"))
    return None if value is None else value * 1e6


def metrics_of(event: str, fields: object, record: int) -> Metrics | None:
    """Return the fields of a metrics record that are kept (of 99, all nullable). None if it is not an object."""
    if not isinstance(fields, dict):
        return None
    restarts, guarded = fields.get("restart_reasons"), fields.get("has_guarded_code")
    fail_type = _text(fields.get("fail_type"))
    if event == "bwd_compilation_metrics" and fields.get("is_forward", False) is None:
        event = "compilation_metrics"  # torch 2.6 names those of a compile that hit the recompile limit so
    return Metrics(
        record,
        _corrected_event(event, fields),
        fail_type,
        _text(fields.get("fail_reason")),
        tuple(str(reason)[:KEPT_TEXT] for reason in restarts) if isinstance(restarts, list) else None,
        whole_number(fields.get("graph_op_count")),
        _start_us(fields),
        _seconds(fields),
        _text(fields.get("co_name")),
        _text(fields.get("co_filename")),
        whole_number(fields.get("co_firstlineno")),
        whole_number(fields.get("guard_count")),
        whole_number(fields.get("num_graph_breaks")),
        _text(fields.get("cudagraph_skip_reason")),
        _text(fields.get("recompile_reason")),
        _text(fields.get("pytorch_version")),
        event.endswith("_runtime") or fields.get("is_runtime") is True,
        guarded if isinstance(guarded, bool) else None,
        fail_type is not None and _suppresses(fields),
    )


def _corrected_event(event: str, fields: dict[str, Any]) -> str:
    """Return the event, corrected for torch 2.6.

    It writes the metrics of a compile that it gave up before the first step as those of a backward, with a null `is_forward`.
    """
    is_forward = event == "bwd_compilation_metrics" and "is_forward" in fields and fields["is_forward"] is None
    return "compilation_metrics" if is_forward else event


def _suppresses(fields: dict[str, Any]) -> bool:
    """Return whether `suppress_errors` was set: a field of its own since torch 2.6, and in the configuration."""
    config = fields.get("dynamo_config")
    return fields.get("config_suppress_errors") is True or (isinstance(config, str) and '"suppress_errors": true' in config)


def started_of(fields: object, record: int) -> Started:
    """Return the frame of a `dynamo_start`: the last one of its stack. Odd shapes give an unnamed frame."""
    stack = fields.get("stack") if isinstance(fields, dict) else None
    frame = stack[-1] if isinstance(stack, list) and stack else None
    if not isinstance(frame, dict):
        return Started(record, None, None, None, 0)
    name, filename = frame.get("name"), frame.get("filename")
    return Started(
        record,
        _text(name),
        filename if isinstance(filename, int) else None,
        whole_number(frame.get("line")),
        len(stack) if isinstance(stack, list) else 0,
    )


def is_entry(path: str | None) -> bool:
    """Return whether a file is one in which Dynamo takes over from the interpreter.

    Nothing in it is ever compiled: where a stack of `dynamo_start` ends there (torch 2.4 and before), the compiled function is
    missing behind the caller.
    """
    return path is not None and path.replace("\\", "/").endswith(("torch/_dynamo/convert_frame.py", "torch/_dynamo/eval_frame.py"))


def string_of(value: object) -> tuple[int, str] | None:
    """Return (id, string) of a `str` record; None for odd shapes."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
        return value[1], value[0]
    return None
