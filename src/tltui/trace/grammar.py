"""The grammar of a line of a `TORCH_TRACE` log.

Source: `TorchLogsFormatter.format` with `trace=True` in torch/_logging/_internal.py:
`LEVEL MMDD HH:MM:SS.micros PID PATH:LINE] {json}`. There is no year, and the time is local time.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tltui.text.frozen import frozen
from tltui.text.json_codec import JSONDecodeError, loads

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
NO_RECORD = "a line that is no record"
TEXT_LINE = "a line of TORCH_LOGS text, which no trace has: in a file of its own it can be read"
TEXT_TAG = re.compile(rb"\[(?:__\w+|(?:!\d+(?:/\d+/\d+)?|\d+/\d+)(?:_\d+)?)\](?: |$)")
"""What stands behind the prefix of a line of text: the id of a compile, or the name of an artifact. No envelope begins so."""


@frozen
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
"""What is in every text that `BIG_INTEGER` matches; found several times as fast."""
BIG_INTEGER = re.compile(rb"(?<![\d.eE+-])-?\d{19,}(?![\d.eE])")


def parse_envelope(data: bytes) -> Any:
    """An envelope, with ids beyond 64 bit exact. Raises ValueError when the text is not JSON."""
    data = data.rstrip(b"\x00\r")
    envelope = parse_json(data)
    if isinstance(envelope, dict) and float in map(type, map(envelope.get, ID_KEYS)):
        return parse_json(data, exact=True)
    return envelope


def parse_line(line: bytes) -> tuple[int, int, dict[str, object] | None, str]:
    """(pid, where the envelope begins, envelope, '') of a first line; without a usable envelope None and the reason."""
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
    """The event key of an envelope: the one that is not context. '' for none (never emitted by torch)."""
    for key in envelope:
        if key not in CONTEXT_KEYS:
            return key
    return "stack" if "stack" in envelope else ""


MOST = 2**63
"""No id, count or line of torch reaches it; one that does would be an address of hundreds of digits."""


def whole_number(value: object) -> int | None:
    """`value` as an id: integers, integral floats and strings of digits below `MOST`; None for anything else."""
    if isinstance(value, str) and len(value) <= 40 and value.isdigit() and value.isascii():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < MOST:
        return None
    return int(value) if value == int(value) else None


LARGEST = 1e30
"""No time, size or count reaches it; sums and products of what is below it are finite."""


def number(value: object) -> float | None:
    """`value` as a number that can be reckoned with; None for anything else (NaN, 1e308 and 10**400 are legal JSON for Python)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LARGEST < value < LARGEST:
        return None
    return float(value)
