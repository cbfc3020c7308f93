"""Timing events of many compiles, read fast and paired: a stream of finished pieces.

A *lane* holds the events of one compile, all attempts together; records without an id have a lane of their own. Threads
share a lane (process and thread numbers of the events are always 0), so an end closes the nearest open begin of its
name. A *group* is what a lane held between two moments at which nothing was open: the compile of a forward, later that
of a backward. What is read is dropped again group by group, so that a log of any size can be worked through.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tltui.model.nodes import Compile, Process
from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.grammar import parse_json
from tltui.trace.log import Log

EVENT = "chromium_event"
EVENT_LIMIT = 32 << 20
"""Stored bytes above which an event is not parsed."""
BLOCK = 1 << 20
SPARSE = 1 << 16
"""Bytes read at once where the wanted events lie far apart."""

Span = tuple[float, int, float, str]
"""(start, record of the begin, end, name), times in microseconds since the epoch. Sorts parents before children."""


@dataclass(slots=True)
class Group:
    """What happened in a lane between two moments at which nothing was open."""

    owner: Compile
    spans: list[Span]
    """By their starts."""
    open: frozenset[int] = frozenset()
    """Records of the begins without an end; such a span goes to the last event of its lane."""

    @property
    def start(self) -> float:
        """Microseconds since the epoch."""
        return self.spans[0][0]

    @property
    def end(self) -> float:
        """Microseconds since the epoch."""
        return max(span[2] for span in self.spans)


@dataclass(slots=True)
class Seen:
    """What the reading came across."""

    events: int = 0
    unreadable: int = 0
    """Events that are no JSON, have no name, phase or time, or are larger than `EVENT_LIMIT`."""
    lone_ends: int = 0
    """Ends without a begin: the log starts after it, or it is damaged."""
    last: dict[int, float] = field(default_factory=dict)
    """Process (its `id`) → time of its last event."""


class _Lane:
    __slots__ = ("last", "open", "owner", "spans")

    def __init__(self, owner: Compile) -> None:
        self.owner = owner
        self.open: list[tuple[str, float, int]] = []
        self.spans: list[Span] = []
        self.last = -math.inf

    def ended(self, name: str, at: float) -> bool:
        """Close the nearest open begin of that name; False where there is none."""
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place][0] == name:
                _, start, record = self.open.pop(place)
                self.spans.append((start, record, at if at > start else start, name))
                return True
        return False

    def group(self) -> Group | None:
        """What was collected; begins that are still open last until the last event."""
        left = [(start, record, max(self.last, start), name) for name, start, record in self.open]
        spans = sorted(self.spans + left)
        waiting = frozenset(record for _, _, record in self.open)
        self.spans, self.open = [], []
        return Group(self.owner, spans, waiting) if spans else None


def count_events(compiles: Iterable[Compile]) -> int:
    """How many timing events there are, without reading one."""
    by_log: dict[Log, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        by_log[compile_.process.log].append(compile_)
    return sum(_count(log, own) for log, own in by_log.items())


def _count(log: Log, compiles: list[Compile]) -> int:
    if sum(len(compile_.records) for compile_ in compiles) == len(log):  # all of it: no need to look whose each is
        return sum(log.columns.kind.count(number) for number, kind in enumerate(log.kinds) if kind.event == EVENT)
    return sum(len(_wanted(log, owners)) for _, owners in logs_of(compiles))


def read_groups(
    compiles: Iterable[Compile], seen: Seen, within: Sequence[tuple[int, int]] | None = None
) -> Iterator[list[Group]]:
    """The groups of some compiles, a list after each block that was read; those with something open come last.

    `within`: only events of these records (first, last).
    """
    for log, owners in logs_of(compiles):
        lanes = _lanes(owners)
        records = _wanted(log, owners)
        if within is not None:
            records = [record for record in records if any(lo <= record <= hi for lo, hi in within)]
        for numbers, payloads in _blocks(log, records):
            yield _pair(log, lanes, numbers, payloads, seen)
        rest = [group for lane in _distinct(lanes.values()) if (group := lane.group()) is not None]
        yield sorted(rest, key=lambda group: group.start)


def logs_of(compiles: Iterable[Compile]) -> Iterator[tuple[Log, dict[int, Compile]]]:
    """Logs in the order of the compiles, each with its contexts → compile; where ids began again, epoch by epoch."""
    logs: dict[tuple[int, int], tuple[Log, dict[int, Compile]]] = {}
    for compile_ in compiles:
        log = compile_.process.log
        _, owners = logs.setdefault((id(log), max(compile_.id.epoch, 1)), (log, {}))
        for context in set(map(log.columns.context.__getitem__, compile_.records)):
            owners[context] = compile_
    return iter(logs.values())


def _lanes(owners: dict[int, Compile]) -> dict[int, _Lane]:
    own: dict[int, _Lane] = {}
    return {context: own.setdefault(id(owner), _Lane(owner)) for context, owner in owners.items()}


def _distinct(lanes: Iterable[_Lane]) -> Iterator[_Lane]:
    return iter({id(lane): lane for lane in lanes}.values())


def _wanted(log: Log, owners: dict[int, Compile]) -> list[int]:
    """The records of timing events of some contexts, in file order."""
    kinds = {number for number, kind in enumerate(log.kinds) if kind.event == EVENT}
    if not kinds:
        return []
    column = log.columns.kind
    own = {id(owner): owner for owner in owners.values()}
    if sum(len(owner.records) for owner in own.values()) == len(log):
        return [record for record, kind in enumerate(column) if kind in kinds]
    return sorted(record for owner in own.values() for record in owner.records if column[record] in kinds)


def payloads_of(log: Log, owners: dict[int, Compile]) -> Iterator[tuple[list[int], list[bytes]]]:
    """(records, payloads) of the timing events of some contexts of a log, block by block, in file order."""
    return _blocks(log, _wanted(log, owners))


def _blocks(log: Log, records: list[int]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Payloads as stored, read in large blocks: the records of a log follow each other. A tab before a line is blank
    space to JSON, so nothing is stripped.
    """
    offset, head, size = log.columns.offset, log.columns.head, log.columns.size
    done, total = 0, len(records)
    while done < total:
        begin = offset[records[done]]
        last = records[min(done + 256, total - 1)]
        near = offset[last] - begin < 4 * BLOCK
        first = records[done]
        need = head[first] + 1 + size[first]
        data = log.source.read(begin, max(BLOCK if near else SPARSE, need if need <= EVENT_LIMIT else 0))
        numbers: list[int] = []
        payloads: list[bytes] = []
        while done < total:
            record = records[done]
            start = offset[record] + head[record] + 1 - begin
            end = start + size[record]
            if end > len(data) and numbers:
                break
            numbers.append(record)
            payloads.append(data[start:end])
            done += 1
        yield numbers, payloads


def record_page(process: Process, record: int) -> str:
    """The address of the page of a record."""
    return f"@record:{process.ref}#{record + 1}"


def event_in(data: bytes) -> dict[str, Any] | None:
    """A timing event; None where it is no JSON object."""
    try:
        value = loads(data)
    except JSONDecodeError:
        try:
            value = parse_json(data.replace(b"\n\t", b"\n"))
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _pair(log: Log, lanes: dict[int, _Lane], records: list[int], payloads: list[bytes], seen: Seen) -> list[Group]:
    """Pair the events of one block; the groups that ended in it."""
    contexts, bad = log.columns.context, 0
    groups: list[Group] = []
    lasts: dict[int, float] = defaultdict(lambda: -math.inf)
    for record, data in zip(records, payloads, strict=True):
        try:
            event = loads(data)
            name, phase, at = event["name"], event["ph"], event["ts"]
        except (ValueError, TypeError, KeyError):
            event = event_in(data) or {}
            name, phase, at = event.get("name"), event.get("ph"), event.get("ts")
        if type(at) is not float:
            at = float(at) if type(at) is int and abs(at) < 1 << 62 else math.nan
        if type(name) is not str or type(phase) is not str or not -1e18 < at < 1e18:
            bad += 1
            continue
        lane = lanes.get(contexts[record])
        if lane is None:  # a record that came while we read
            continue
        if phase == "B":
            lane.open.append((name, at, record))
        elif phase == "E":
            opened = lane.open
            if opened and opened[-1][0] == name:
                _, start, begun = opened.pop()
                lane.spans.append((start, begun, at if at > start else start, name))
            elif not lane.ended(name, at):
                seen.lone_ends += 1
            if not opened and lane.spans:
                lane.spans.sort()
                groups.append(Group(lane.owner, lane.spans))
                lane.spans = []
        else:
            continue
        if at > lane.last:
            lane.last = at
            lasts[id(lane.owner.process)] = at
    seen.events += len(records)
    seen.unreadable += bad
    for process, at in lasts.items():
        seen.last[process] = max(at, seen.last.get(process, at))
    return groups
