"""The timing events of a compile (`chromium_event`): begin, end and instant, in Chrome's trace format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tltui.analyses.parts import reader_of
from tltui.analyses.records import Reader, named, number_in, text_in
from tltui.model.nodes import Compile
from tltui.trace.grammar import PREFIX

DAY = 86400.0
EVENT_LIMIT = 1 << 18
"""Stored bytes above which an event is not read: end events repeat the whole configuration, but no more than that."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `phase` is `B`, `E` or `i`; times are microseconds since the epoch."""

    name: str
    phase: str
    at: float
    args: dict[str, Any]
    """What an instant says; empty for begin and end."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Something that took time. `end` None: it was not seen to end."""

    name: str
    start: float
    end: float | None


def events_of(compile_: Compile, reader: Reader | None = None) -> list[Event]:
    """The events of a compile in the order in which they were written."""
    reader = reader or reader_of(compile_)
    found = []
    for record, _ in named(compile_, ("chromium_event",)):
        value = reader.json(record, EVENT_LIMIT)
        name, phase, at = text_in(value, "name"), text_in(value, "ph"), number_in(value, "ts")
        if name is None or phase is None or at is None:
            continue
        args = value.get("args") if phase == "i" else None
        found.append(Event(name, phase, at, args if isinstance(args, dict) else {}))
    return found


def after_events(compile_: Compile, reader: Reader) -> float:
    """Seconds from the last event of a compile to its last record, by the clock of the records; 0 where that is not to be read."""
    event = max((record for record, _ in named(compile_, ("chromium_event",))), default=-1)
    last = compile_.records[-1] if compile_.records else -1
    if not -1 < event < last:
        return 0.0
    began, ended = _clock(reader.head(event)), _clock(reader.head(last))
    if began is None or ended is None:
        return 0.0
    passed = ended - began
    return max(passed + DAY if passed < -DAY / 2 else passed, 0.0)


def _clock(line: bytes) -> float | None:
    """The time of day of a record, in seconds."""
    match = PREFIX.match(line)
    if match is None:
        return None
    hour, minute, second, fraction = match[4], match[5], match[6], match[7]
    return int(hour) * 3600 + int(minute) * 60 + float(second + b"." + fraction)


def intervals_of(events: list[Event]) -> list[Interval]:
    """Pair begins with ends: an end closes the nearest open begin with the same name (threads share one lane, and
    process and thread numbers are always 0). An end without a begin is dropped: the log starts after it.
    """
    open_: list[tuple[str, float]] = []
    found: list[Interval] = []
    for event in events:
        if event.phase == "B":
            open_.append((event.name, event.at))
        elif event.phase == "E":
            for place in range(len(open_) - 1, -1, -1):
                if open_[place][0] == event.name:
                    _, start = open_.pop(place)
                    found.append(Interval(event.name, start, max(event.at, start)))
                    break
    found.extend(Interval(name, start, None) for name, start in open_)
    return sorted(found, key=lambda interval: interval.start)
