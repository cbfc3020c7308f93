"""A tlparse report without raw.log converted to a trace in the private cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import IO, Any

from tltui.inputs.archives.cache import Cache, Full, Member, own_cache
from tltui.inputs.directory_layouts import EVENTS
from tltui.text.frozen import frozen
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


@frozen
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


@frozen
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
        """The UTC time in milliseconds, as in rows; None if the event has no valid time."""
        match = next((matched for line in reversed(self.lines) if (matched := _TIME.match(line))), None)
        try:
            return _EPOCH + timedelta(milliseconds=float(match[1]) // 1000) if match else None
        except OverflowError:
            return None

    @property
    def ids(self) -> dict[str, int]:
        """The ids of the event's compile, from its arguments."""
        match = next((matched for line in self.lines if (matched := _COMPILE.match(line))), None)
        id_match = _ID.fullmatch(match[1].decode("ascii", "replace")) if match else None
        if id_match is None:
            return {}
        autograd, frame, compile_ = id_match[1], id_match[2] or id_match[4], id_match[3] or id_match[5]
        values = {"compiled_autograd_id": autograd, "frame_id": frame, "frame_compile_id": compile_}
        return {key: int(value) for key, value in values.items() if value is not None}


def row_of(line: bytes) -> Row | None:
    """Parse a line of `raw.jsonl`; None for an invalid row."""
    try:
        parsed = parse_json(line, exact=True)
    except ValueError:
        return None
    if not isinstance(parsed, dict):
        return None
    event = {key: value for key, value in parsed.items() if key not in CONTEXT_KEYS and key not in ADDED}
    artifact = event.get("artifact")
    is_json = isinstance(artifact, dict) and artifact.get("encoding") == "json"
    context = {key: parsed[key] for key in ORDER if key in parsed}
    pid, line_number, file = parsed.get("thread"), parsed.get("lineno"), parsed.get("payload_filename")
    place = f"{str(parsed.get('pathname', '')).strip() or '?'}:{line_number if isinstance(line_number, int) else 0}"
    return Row(
        {**event, **context},
        _local(parsed.get("timestamp")),
        pid if isinstance(pid, int) and pid >= 0 else 0,
        place.replace("\n", " "),
        str(parsed.get("has_payload") or ""),
        file if isinstance(file, str) else "",
        is_json or str(file).endswith(".json"),
    )


def _local(stamp: object) -> datetime | None:
    """Parse the time of a row. The `Z` at its end is wrong: it is local time of the job."""
    if not isinstance(stamp, str):
        return None
    try:
        return datetime.fromisoformat(stamp.rstrip("Z")).replace(tzinfo=None)
    except ValueError:
        return None


def strings_of(line: bytes) -> dict[int, str]:
    """Parse the string table (id → string). tlparse fills the gaps with null."""
    try:
        value = parse_json(line)
    except ValueError:
        return {}
    table = value.get("string_table") if isinstance(value, dict) else None
    return {number: text for number, text in enumerate(table if isinstance(table, list) else ()) if isinstance(text, str)}


def events_in(file: IO[bytes], most: int) -> Iterator[Event]:
    """Yield the chromium events of a file; a layout other than tlparse's is read at once, up to `most` bytes."""
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
        value = parse_json(data)
    except ValueError:
        return
    for event in value if isinstance(value, list) else ():
        if isinstance(event, dict):
            yield Event([line.encode() for line in json.dumps(event, indent=0).split("\n")])


def zone_of(row: datetime, event: datetime) -> tuple[timedelta, int]:
    """Estimate the offset of the job's clock from UTC, and tlparse's error in years.

    Both result from the times of a row and of an event that were written at about the same time.
    """
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
    """Return a time `years` years earlier."""
    return _in_year(time, time.year - years) or time


LINE = 64 << 20
"""Bytes of a row, and of chromium events that are not laid out as tlparse does it."""
PIECE = 1 << 20
STRING_PLACE = "torch/_logging/structured.py:28"
EVENT_PLACE = "torch/_dynamo/utils.py:2350"


@frozen
class LaidOut:
    """The trace."""

    path: str
    notes: tuple[str, ...]
    """What is not in it, a sentence each."""
    fault: str
    """Why it is not all of the report; '' when it is."""


def lay_out_once(rows: str) -> LaidOut:
    """Lay out the report of a `raw.jsonl`. Raises OSError and `CannotUnpack`."""
    cache = own_cache()
    status = os.stat(rows)
    key = ("tlparse", os.path.realpath(rows), status.st_size, status.st_mtime_ns)
    if key not in cache.results:
        cache.results[key] = _Report(rows, cache).lay_out(status.st_mtime)
    return cache.results[key]  # type: ignore[no-any-return]


class _Report:
    """A report while it is laid out."""

    def __init__(self, rows: str, cache: Cache) -> None:
        self._rows = rows
        self._directory = os.path.dirname(rows) or "."
        self._real = os.path.realpath(self._directory)
        self._cache = cache
        self._member = Member(cache, cache.new_file())
        self._strings: dict[int, str] = {}
        self._pids: set[int] = set()
        self._owners: dict[tuple[tuple[str, int], ...], int] = {}
        """Ids of a compile → the process that wrote its last row."""
        self._zone = timedelta()
        self._years = 0
        self._again = self._outside = self._missing = 0

    def lay_out(self, changed: float) -> LaidOut:
        fault = ""
        try:
            with open(self._rows, "rb") as file:
                self._write(file)
        except Full as full:
            fault = f"cut at the limit: {full}"
        except BaseException:
            self._member.drop()
            raise
        finally:
            self._member.end(changed)
        return LaidOut(str(self._member.path), tuple(self._notes()), fault)

    def _notes(self) -> Iterator[str]:
        where = os.path.basename(os.path.abspath(self._directory))
        yield (
            f"{where} is a tlparse report without raw.log. It lacks the attempts of phases and "
            "records that tlparse dropped"
        )
        for count, label in (
            (self._again, "JSON artifact{} reformatted by tlparse: equal as JSON, but not byte for byte"),
            (self._missing, "payload{} not in the report"),
            (self._outside, "payload{} outside of the report: not read"),
        ):
            if count:
                yield f"{where}: {count:,} {label.format('s' * (count != 1))}"

    def _write(self, file: IO[bytes]) -> None:
        self._strings = strings_of(file.readline(LINE))
        path = os.path.join(self._directory, EVENTS)
        with open(path if _is_file(path) else os.devnull, "rb") as events_file:
            events = events_in(events_file, LINE)
            event = next(events, None)
            is_first = True
            while line := file.readline(LINE):
                row = row_of(line)
                if row is None:
                    self._member.write(line if line.endswith(b"\n") else line + b"\n")
                    continue
                if is_first and row.time and event is not None and (time := event.time) is not None:
                    self._zone, self._years = zone_of(row.time, time)
                    is_first = False
                while event is not None and self._is_before(event, row):
                    self._event(event, row.pid)
                    event = next(events, None)
                self._row(row)
            while event is not None:
                self._event(event, next(iter(self._pids), 0))
                event = next(events, None)
            self._cache.progress(self._rows, 0, 0, self._cache.written)

    def _is_before(self, event: Event, row: Row) -> bool:
        time = event.time
        return time is None or row.time is None or time + self._zone <= moved_to(row.time, self._years)

    def _record(self, time: datetime | None, pid: int, place: str, envelope: dict[str, Any], md5: str) -> None:
        stamp = time.strftime("%m%d %H:%M:%S.%f") if time is not None else "0101 00:00:00.000000"
        fields = {**envelope, "has_payload": md5} if md5 else envelope
        self._member.write(f"V{stamp} {pid} {place}] {json.dumps(fields)}\n".encode())

    def _begin(self, pid: int, time: datetime | None) -> None:
        """Write the string table before the first row of a process: the arrival time of each string is unknown."""
        if pid not in self._pids:
            self._pids.add(pid)
            for number, text in self._strings.items():
                self._record(time, pid, STRING_PLACE, {"str": [text, number]}, "")

    def _event(self, event: Event, pid: int) -> None:
        time = event.time
        ids = event.ids
        pid = self._owners.get(tuple(ids.items()), pid)
        local = time + self._zone if time is not None else None
        payload = event.text
        md5 = hashlib.md5(payload, usedforsecurity=False).hexdigest()
        self._record(local, pid, EVENT_PLACE, {"chromium_event": {}, **ids}, md5)
        self._member.write(b"\t" + payload.replace(b"\n", b"\n\t") + b"\n")

    def _row(self, row: Row) -> None:
        time = moved_to(row.time, self._years) if row.time is not None else None
        self._begin(row.pid, time)
        ids = {key: row.envelope[key] for key in ("compiled_autograd_id", "frame_id", "frame_compile_id") if key in row.envelope}
        if all(isinstance(value, int) for value in ids.values()):
            self._owners[tuple(ids.items())] = row.pid
        path = self._payload(row) if row.md5 else ""
        if not path:
            self._record(time, row.pid, row.place, row.envelope, "")
            return
        with open(path, "rb") as file:
            md5 = hashlib.md5(usedforsecurity=False)
            while data := file.read(PIECE):
                md5.update(data)
            is_again = row.is_json and md5.hexdigest() != row.md5
            self._again += is_again
            self._record(time, row.pid, row.place, row.envelope, md5.hexdigest() if is_again else row.md5)
            file.seek(0)
            self._member.write(b"\t")
            while data := file.read(PIECE):
                self._member.write(data.replace(b"\n", b"\n\t"))
            self._member.write(b"\n")

    def _payload(self, row: Row) -> str:
        """Return the file of a payload, '' if missing. Any name is possible: files outside of the report are never read."""
        path = os.path.join(self._directory, row.file or os.path.join("payloads", f"{row.md5}.txt"))
        if "\0" in path:
            self._outside += 1
            return ""
        real = os.path.realpath(path)
        if os.path.commonpath((real, self._real)) != self._real:
            self._outside += 1
            return ""
        if not _is_file(real):
            self._missing += 1
            return ""
        return real


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False
