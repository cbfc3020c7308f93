"""What a report of tlparse keeps of a trace: rows, chromium events, and files with payloads.

`raw.jsonl` (tlparse 0.3 and 0.4, `lib.rs`): `{"string_table": […]}`, then an envelope a line, its keys in alphabetical order, with
what stood in front of it as further keys. `chromium_events.json`: all events of the trace in its order, one list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Any

from tltui.trace.grammar import CONTEXT_KEYS, parse_json

ADDED = frozenset(("timestamp", "thread", "pathname", "lineno", "payload_filename"))
"""Keys of a row that are not of the envelope."""
ORDER = ("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt", "subgraph_name", "stack")
"""As torch writes them behind the event; `has_payload` comes last."""
QUARTER = 900
"""Seconds: time zones differ by multiples of it."""
_ID = re.compile(r"(?:!(\d{1,18})(?:/(\d{1,18})/(\d{1,18}))?|(\d{1,18})/(\d{1,18}))")
_COMPILE = re.compile(rb'"compile_id": ?"([^"\\]*)"')
_TIME = re.compile(rb'"ts": ?(\d{1,18}(?:\.\d+)?)')
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Row:
    """A record without its payload."""

    envelope: dict[str, Any]
    """In the order in which torch writes it, without `has_payload`."""
    time: datetime | None
    """Local time of the job, in the year in which tlparse ran."""
    pid: int
    place: str
    """`PATH:LINE` of the call that wrote it."""
    md5: str
    """Of its payload, '' without one."""
    file: str
    """Where the payload is, '' for nowhere. Not to be trusted."""
    is_json: bool
    """Whether the payload is JSON, which tlparse lays out again."""


@dataclass(frozen=True, slots=True)
class Event:
    """A chromium event."""

    lines: list[bytes]
    """As torch writes them: a line for each value, not indented."""

    @property
    def text(self) -> bytes:
        """Its payload."""
        return b"\n".join(self.lines)

    @property
    def time(self) -> datetime | None:
        """UTC, in milliseconds as those of rows; None where it does not tell."""
        match = next((found for line in reversed(self.lines) if (found := _TIME.match(line))), None)
        try:
            return _EPOCH + timedelta(milliseconds=float(match[1]) // 1000) if match else None
        except OverflowError:
            return None

    @property
    def ids(self) -> dict[str, int]:
        """Those of the compile that it belongs to, which only its arguments tell."""
        match = next((found for line in self.lines if (found := _COMPILE.match(line))), None)
        told = _ID.fullmatch(match[1].decode("ascii", "replace")) if match else None
        if told is None:
            return {}
        autograd, frame, compile_ = told[1], told[2] or told[4], told[3] or told[5]
        given = {"compiled_autograd_id": autograd, "frame_id": frame, "frame_compile_id": compile_}
        return {key: int(value) for key, value in given.items() if value is not None}


def row_of(line: bytes) -> Row | None:
    """A line of `raw.jsonl`; None for one that is no row."""
    try:
        found = parse_json(line, exact=True)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    event = {key: value for key, value in found.items() if key not in CONTEXT_KEYS and key not in ADDED}
    artifact = event.get("artifact")
    is_json = isinstance(artifact, dict) and artifact.get("encoding") == "json"
    context = {key: found[key] for key in ORDER if key in found}
    pid, line_number, file = found.get("thread"), found.get("lineno"), found.get("payload_filename")
    place = f"{str(found.get('pathname', '')).strip() or '?'}:{line_number if isinstance(line_number, int) else 0}"
    return Row(
        {**event, **context},
        _local(found.get("timestamp")),
        pid if isinstance(pid, int) and pid >= 0 else 0,
        place.replace("\n", " "),
        str(found.get("has_payload") or ""),
        file if isinstance(file, str) else "",
        is_json or str(file).endswith(".json"),
    )


def _local(stamp: object) -> datetime | None:
    """The time of a row. The `Z` at its end is wrong: it is local time of the job."""
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp.rstrip("Z")).replace(tzinfo=None)
    except ValueError:
        return None


def strings_of(line: bytes) -> dict[int, str]:
    """The string table: id → string. tlparse fills the gaps with null."""
    try:
        found = parse_json(line)
    except ValueError:
        return {}
    table = found.get("string_table") if isinstance(found, dict) else None
    return {number: text for number, text in enumerate(table if isinstance(table, list) else ()) if isinstance(text, str)}


def events_in(file: IO[bytes], most: int) -> Iterator[Event]:
    """The chromium events of a file, one after the other. What is laid out otherwise than tlparse does is read as a whole, up to
    `most` bytes."""
    lines: list[bytes] = []
    first = file.readline(most)
    if first.strip() != b"[":
        yield from _events_of(first + file.read(most))
        return
    while line := file.readline(most):
        begins, text = line.rstrip() in (b"  {",), line.strip()
        if begins:
            lines = [text]
        elif line.rstrip() in (b"  }", b"  },"):
            yield Event([*lines, b"}"])
            lines = []
        elif lines:
            lines.append(text)


def _events_of(data: bytes) -> Iterator[Event]:
    try:
        found = parse_json(data)
    except ValueError:
        return
    for event in found if isinstance(found, list) else ():
        if isinstance(event, dict):
            yield Event([line.encode() for line in json.dumps(event, indent=0).split("\n")])


def zone_of(row: datetime, event: datetime) -> tuple[timedelta, int]:
    """How far the clock of the job is ahead of UTC, and by how many years that of tlparse is ahead of it: from the times of a row
    and of an event that were written at about the same time."""
    best = min(
        (abs(moved - event), year, moved) for year in (0, 1, 2, 3, -1) if (moved := _in_year(row, row.year - year)) is not None
    )  # fmt: skip
    seconds = (best[2] - event).total_seconds()
    return timedelta(seconds=round(seconds / QUARTER) * QUARTER), best[1]


def _in_year(time: datetime, year: int) -> datetime | None:
    try:
        return time.replace(year=year)
    except ValueError:  # 29 February
        return None


def moved_to(time: datetime, years: int) -> datetime:
    """A time so many years earlier."""
    return _in_year(time, time.year - years) or time

