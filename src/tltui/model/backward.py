"""Whether the backward of a compile has begun and not ended.

Torch writes metrics when a backward is over. Before that only its timing events show that it began: their payloads are read here,
of very few records. After the metrics of a forward comes one event at most (the end of `dynamo`), so that nothing is read of a
compile whose backward has not begun, unless that event is the last record of its log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.batch import Metrics
from tltui.trace.log import Log

BACKWARD = frozenset(("entire_backward_compile", "backward._backward_impl"))
"""The events that are the whole compile of a backward."""
_EVENT = "chromium_event"
_LONGEST = 1 << 12
"""Stored bytes of an event that are read: the begin and the end of a backward are short."""


class _Process(Protocol):
    @property
    def log(self) -> Log: ...


class _Compile(Protocol):
    metrics: list[Metrics]

    @property
    def process(self) -> _Process: ...

    @property
    def records(self) -> Sequence[int]: ...


def is_backward_open(compile_: _Compile) -> bool:
    """Decide whether a backward began after the last metrics of a compile and has no end in the log so far."""
    records, log = compile_.records, compile_.process.log
    last = max((metrics.record for metrics in compile_.metrics if not metrics.is_runtime), default=-1)
    first = bisect_right(records, last)
    count = len(records) - first
    if last < 0 or not count or (count == 1 and records[first] + 1 < len(log)):
        return False
    for place in range(len(records) - 1, first - 1, -1):
        if log.kind(records[place]).event == _EVENT and (phase := _phase(log, records[place])):
            return phase == "B"
    return False


def _phase(log: Log, record: int) -> str:
    """Read `B` or `E` from an event that is the whole compile of a backward; '' for any other event."""
    try:
        text = log.text(record, _LONGEST)
    except OSError:
        return ""
    if not any(name in text for name in BACKWARD):
        return ""
    try:
        value = loads(text)
    except JSONDecodeError:
        return ""
    return str(value.get("ph")) if isinstance(value, dict) and value.get("name") in BACKWARD else ""
