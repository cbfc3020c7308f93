"""The grammar of a line of a `TORCH_TRACE` log.

Source: `TorchLogsFormatter.format` with `trace=True` in torch/_logging/_internal.py:
`LEVEL MMDD HH:MM:SS.micros PID PATH:LINE] {json}`. There is no year, and the time is local time.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

# Launchers put `[rank0]:` or `[default0]:` in front, editors a byte order mark. The path may hold spaces and, on
# Windows, a colon.
PREFIX = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \x00\r]*(?:\[[^\]\n]{1,40}\]: ?)*"
    rb"([VIWEC])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6,}) (\d+) ([^\n]+?):(\d+)\] ?(?=\{|\[|\d|\"|$)"
)
INNER = re.compile(rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+ [^\n\"]+?:\d+\] ?\{")
"""A record that starts inside a line: the writer before it was cut off."""

CONTEXT_KEYS = frozenset(
    ("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "subgraph_name", "stack", "has_payload")
)
"""Keys of an envelope that are not the event."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before the envelope."""

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
        """Sorts by time within a year."""
        return (self.month, self.day, self.time)


def parse_prefix(match: re.Match[bytes]) -> Prefix:
    """The prefix from a match of `PREFIX`."""
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
    """Any JSON that Python itself writes: NaN, lone surrogates and deep nesting included.

    orjson is tried first; it refuses those three, and it rounds integers above 64 bit, which `exact` prevents.
    Raises ValueError when the text is not JSON.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    else:
        if not (exact and BIG_INTEGER.search(data)):
            return value
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


BIG_INTEGER = re.compile(rb"(?<![\d.eE+-])-?\d{19,}(?![\d.eE])")


def only_ids(tail: bytes) -> bool:
    """Whether the end of an envelope, cut after the event's value, holds ids and nothing else."""
    try:
        fields = parse_json(b"{" + tail.removesuffix(b"}") + b"}")
    except ValueError:
        return False
    return bool(fields) and CONTEXT_KEYS.issuperset(fields) and "stack" not in fields


def event_of(envelope: dict[str, Any]) -> str:
    """The event key of an envelope: the one that is not context. '' for none (never emitted by torch)."""
    for key in envelope:
        if key not in CONTEXT_KEYS:
            return key
    return "stack" if "stack" in envelope else ""


def whole_number(value: object) -> int | None:
    """`value` as an id: integers, integral floats and strings of digits; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)
    if isinstance(value, str) and value.isdigit() and value.isascii():
        return int(value)
    return None
