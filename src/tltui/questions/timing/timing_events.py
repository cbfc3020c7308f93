"""Timing events of compiles (`chromium_event`): reading, pairing, and compile time by phase."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Any

from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, number_in, records_of, text_in
from tltui.text.frozen import frozen, mutable
from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.grammar import PREFIX, parse_json
from tltui.trace.log import Log

DAY = 86400.0
EVENT_LIMIT = 1 << 18
"""Stored bytes above which an event is not read: end events repeat the whole configuration, but no more than that."""


@frozen
class Event:
    """One event. `phase` is `B`, `E` or `i`; times are microseconds since the epoch."""

    name: str
    phase: str
    at: float
    args: dict[str, Any]
    """The message of an instant; '' for begin and end."""


@frozen
class Interval:
    """A named time range; `end` is None without an end event."""

    name: str
    start: float
    end: float | None


def events_of(compile_: Compile, reader: Reader | None = None) -> list[Event]:
    """Return the events of a compile in the order of the log."""
    reader = reader or reader_of(compile_)
    results = []
    for record, _ in records_of(compile_, ("chromium_event",)):
        value = reader.json(record, EVENT_LIMIT)
        name, phase, at = text_in(value, "name"), text_in(value, "ph"), number_in(value, "ts")
        if name is None or phase is None or at is None:
            continue
        args = value.get("args") if phase == "i" else None
        results.append(Event(name, phase, at, args if isinstance(args, dict) else {}))
    return results


def after_events(compile_: Compile, reader: Reader) -> float:
    """Return seconds from the last event of a compile to its last record.

    By the clock of the records; 0 if it cannot be parsed.
    """
    event = max((record for record, _ in records_of(compile_, ("chromium_event",))), default=-1)
    last = compile_.records[-1] if compile_.records else -1
    if not -1 < event < last:
        return 0.0
    began, ended = _clock(reader.head(event)), _clock(reader.head(last))
    if began is None or ended is None:
        return 0.0
    passed = ended - began
    return max(passed + DAY if passed < -DAY / 2 else passed, 0.0)


def _clock(line: bytes) -> float | None:
    """Parse the time of day of a record, in seconds."""
    match = PREFIX.match(line)
    if match is None:
        return None
    hour, minute, second, fraction = match[4], match[5], match[6], match[7]
    return int(hour) * 3600 + int(minute) * 60 + float(second + b"." + fraction)


def intervals_of(events: list[Event]) -> list[Interval]:
    """Pair begins with ends: an end closes the nearest open begin of its name.

    Threads share one lane, and process and thread numbers are always 0. An end without a begin is dropped: the log
    starts after it.
    """
    open_: list[tuple[str, float]] = []
    intervals: list[Interval] = []
    for event in events:
        if event.phase == "B":
            open_.append((event.name, event.at))
        elif event.phase == "E":
            for place in range(len(open_) - 1, -1, -1):
                if open_[place][0] == event.name:
                    _, start = open_.pop(place)
                    intervals.append(Interval(event.name, start, max(event.at, start)))
                    break
    intervals.extend(Interval(name, start, None) for name, start in open_)
    return sorted(intervals, key=lambda interval: interval.start)


EVENT = "chromium_event"
SPAN_EVENT_LIMIT = 32 << 20
"""Stored bytes above which an event is not parsed."""
BLOCK = 1 << 20
SPARSE = 1 << 16
"""Bytes read at once where the wanted events lie far apart."""

Span = tuple[float, int, float, str]
"""(start, record of the begin, end, name), times in microseconds since the epoch. Sorts parents before children."""


@mutable
class Group:
    """The intervals of a lane between two moments without an open event."""

    owner: Compile
    spans: list[Span]
    """Spans by start."""
    open: frozenset[int] = frozenset()
    """Records of the begins without an end; such a span goes to the last event of its lane."""

    @property
    def start(self) -> float:
        """The start, in microseconds since the epoch."""
        return self.spans[0][0]

    @property
    def end(self) -> float:
        """The end, in microseconds since the epoch."""
        return max(span[2] for span in self.spans)


@mutable
class ReadStats:
    """Side results of reading the events."""

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
        """Close the nearest open begin of a name; return False if there is none."""
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place][0] == name:
                _, start, record = self.open.pop(place)
                self.spans.append((start, record, at if at > start else start, name))
                return True
        return False

    def group(self) -> Group | None:
        """Return the collected group; open begins last until the last event."""
        remaining = [(start, record, max(self.last, start), name) for name, start, record in self.open]
        spans = sorted(self.spans + remaining)
        waiting = frozenset(record for _, _, record in self.open)
        self.spans, self.open = [], []
        return Group(self.owner, spans, waiting) if spans else None


def count_events(compiles: Iterable[Compile]) -> int:
    """Count timing events from the index, without reading them."""
    by_log: dict[Log, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        by_log[compile_.process.log].append(compile_)
    return sum(_count(log, item) for log, item in by_log.items())


def _count(log: Log, compiles: list[Compile]) -> int:
    if sum(len(compile_.records) for compile_ in compiles) == len(log):  # the entire log: no need to check the owner of each
        return sum(log.columns.kind.count(number) for number, kind in enumerate(log.kinds) if kind.event == EVENT)
    return sum(len(_event_records(log, owners)) for _, owners in logs_of(compiles))


def read_groups(
    compiles: Iterable[Compile], stats: ReadStats, within: Sequence[tuple[int, int]] | None = None
) -> Iterator[list[Group]]:
    """Yield the groups of some compiles, one list per block; groups with an open event come last.

    `within`: only events of these records (first, last).
    """
    for log, owners in logs_of(compiles):
        lanes = _lanes(owners)
        records = _event_records(log, owners)
        if within is not None:
            records = [record for record in records if any(lo <= record <= hi for lo, hi in within)]
        for numbers, payloads in _blocks(log, records):
            yield _pair(log, lanes, numbers, payloads, stats)
        remaining = [group for lane in _distinct(lanes.values()) if (group := lane.group()) is not None]
        yield sorted(remaining, key=lambda group: group.start)


def logs_of(compiles: Iterable[Compile]) -> Iterator[tuple[Log, dict[int, Compile]]]:
    """Yield logs in the order of the compiles, each with its contexts → compile.

    Where ids restart, epoch by epoch.
    """
    logs: dict[tuple[int, int], tuple[Log, dict[int, Compile]]] = {}
    for compile_ in compiles:
        log = compile_.process.log
        _, owners = logs.setdefault((id(log), max(compile_.id.epoch, 1)), (log, {}))
        for context in set(map(log.columns.context.__getitem__, compile_.records)):
            owners[context] = compile_
    return iter(logs.values())


def _lanes(owners: dict[int, Compile]) -> dict[int, _Lane]:
    lanes: dict[int, _Lane] = {}
    return {context: lanes.setdefault(id(owner), _Lane(owner)) for context, owner in owners.items()}


def _distinct(lanes: Iterable[_Lane]) -> Iterator[_Lane]:
    return iter({id(lane): lane for lane in lanes}.values())


def _event_records(log: Log, owners: dict[int, Compile]) -> list[int]:
    """Return the records of timing events of some contexts, in file order."""
    kinds = {number for number, kind in enumerate(log.kinds) if kind.event == EVENT}
    if not kinds:
        return []
    column = log.columns.kind
    compiles = {id(owner): owner for owner in owners.values()}
    if sum(len(owner.records) for owner in compiles.values()) == len(log):
        return [record for record, kind in enumerate(column) if kind in kinds]
    return sorted(record for owner in compiles.values() for record in owner.records if column[record] in kinds)


def payloads_of(log: Log, owners: dict[int, Compile]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Yield (records, payloads) of the timing events of some contexts, in blocks and file order."""
    return _blocks(log, _event_records(log, owners))


def _blocks(log: Log, records: list[int]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Yield unmodified payloads from large reads: the records of a log are contiguous.

    A tab before a line is whitespace to JSON, so nothing is stripped.
    """
    offset, head, size = log.columns.offset, log.columns.head, log.columns.size
    done, total = 0, len(records)
    while done < total:
        begin = offset[records[done]]
        last = records[min(done + 256, total - 1)]
        near = offset[last] - begin < 4 * BLOCK
        first = records[done]
        need = head[first] + 1 + size[first]
        data = log.source.read(begin, max(BLOCK if near else SPARSE, need if need <= SPAN_EVENT_LIMIT else 0))
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
    """Return the address of a record's page."""
    return f"@record:{process.ref}#{record + 1}"


def event_in(data: bytes) -> dict[str, Any] | None:
    """Parse a timing event; None if it is no JSON object."""
    try:
        value = loads(data)
    except JSONDecodeError:
        try:
            value = parse_json(data.replace(b"\n\t", b"\n"))
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _pair(log: Log, lanes: dict[int, _Lane], records: list[int], payloads: list[bytes], stats: ReadStats) -> list[Group]:
    """Pair the events of one block; return the groups that ended in it."""
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
                stats.lone_ends += 1
            if not opened and lane.spans:
                lane.spans.sort()
                groups.append(Group(lane.owner, lane.spans))
                lane.spans = []
        else:
            continue
        if at > lane.last:
            lane.last = at
            lasts[id(lane.owner.process)] = at
    stats.events += len(records)
    stats.unreadable += bad
    for process, at in lasts.items():
        stats.last[process] = max(at, stats.last.get(process, at))
    return groups


DYNAMO, AUTOGRAD, BACKEND, INDUCTOR, KERNELS, CACHE, GUARDS, OTHER = (
    "dynamo", "aot autograd", "backend", "inductor", "kernels", "cache", "guards", "other",
)  # fmt: skip
MEANING = {
    DYNAMO: "tracing Python into a graph",
    AUTOGRAD: "AOTAutograd: functionalizing, the joint graph, partitioning",
    BACKEND: "the backend, excluding Inductor",
    INDUCTOR: "passes, lowering, scheduling and code generation",
    KERNELS: "compiling (Triton or C++), loading and autotuning kernels",
    CACHE: "loading from a cache",
    GUARDS: "building the guards",
    OTHER: "garbage collection and time not covered by any event",
}
PRIORITY = (KERNELS, GUARDS, CACHE, INDUCTOR, AUTOGRAD, DYNAMO, OTHER)
"""Phases from the most to the least specific."""
ORDER = (DYNAMO, AUTOGRAD, BACKEND, INDUCTOR, CACHE, KERNELS, GUARDS, OTHER)
_KERNEL_NAMES = ("compile_file", "async_compile.", "CachingAutotuner.", "TritonBenchmarker.", "benchmark")
_CACHE_NAMES = ("AOTAutogradCache.", "FxGraphCache.", "TritonBundler.")
_INDUCTOR_NAMES = (
    "inductor_compile", "fx_codegen_and_compile", "compile_fx.", "compile_fx_aot", "_recursive_", "GraphLowering.",
    "Scheduler.", "code_gen", "PyCodeCache.", "pass.",
)  # fmt: skip
_VLLM_NAMES = ("vllm_", "vllm.", "CompiledArtifact.save")
"""Of vLLM's backend: `vllm_backend`, `vllm.generate_execution_code` … (vllm/compilation, 0.17–0.33). SGLang has none of its own."""
_AUTOGRAD_NAMES = ("backend_compile", "create_aot_dispatcher_function", "aot_", *_VLLM_NAMES)
_DYNAMO_NAMES = ("dynamo", "entire_frame_compile", "compile_attempt_", "bytecode_tracing", "compiled_autograd")


@frozen
class Phase:
    """The self time of a phase."""

    name: str
    self_s: float


@frozen
class Open:
    """An event without an end: still running, or killed in it."""

    name: str
    since_at_us: float
    """Microseconds since the epoch."""
    duration_s: float
    """Up to the last record of this compile: at least so long. 0: nothing is known of its length."""


@frozen
class Timing:
    """The time of a compile by phase. `source` is `events`, `metrics`, or '' if unknown."""

    source: str
    phases: tuple[Phase, ...] = ()
    """Of the compile; a backward that was compiled later is not in it."""
    backward: tuple[Phase, ...] = ()
    """Of the backward that was compiled later."""
    start_at_us: float | None = None
    """Microseconds since the epoch."""
    end_at_us: float | None = None
    open: tuple[Open, ...] = ()
    """The outermost first."""

    @property
    def seconds(self) -> float:
        """The sum of all phases of the compile."""
        return sum(phase.self_s for phase in self.phases)

    @property
    def backward_seconds(self) -> float:
        """The sum of all phases of the backward."""
        return sum(phase.self_s for phase in self.backward)


def timing_of(events: list[Event], metrics: list[tuple[str, dict[str, Any]]], later_s: float = 0.0) -> Timing:
    """Return the timing of a compile from its events, else from the totals in its metrics.

    It lasted at least `later_s` seconds beyond its last event.
    """
    intervals = intervals_of(events)
    if not intervals:
        return _from_metrics(metrics)
    last = max([event.at for event in events] + [i.end for i in intervals if i.end is not None]) + later_s * 1e6
    backward_spans = [i for i in intervals if i.name == "entire_backward_compile"]
    backward = [i for i in intervals if any(_inside(i, outer, last) for outer in backward_spans)]
    backward_ids = {id(interval) for interval in backward}
    forward = [i for i in intervals if id(i) not in backward_ids]
    waiting = tuple(Open(i.name, i.start, (last - i.start) / 1e6) for i in intervals if i.end is None)
    return Timing("events", _phases(forward, last), _phases(backward, last), intervals[0].start, last, waiting)


def without_metrics_writing(phases: tuple[Phase, ...], beyond_s: float) -> tuple[Phase, ...]:
    """Reduce Dynamo's phase by the seconds beyond the total in the metrics.

    The outermost event, Dynamo's, includes the writing of the metrics, which they do not count.
    """
    if beyond_s <= 0:
        return phases
    return tuple(replace(one, self_s=max(one.self_s - beyond_s, 0.0)) if one.name == DYNAMO else one for one in phases)


def within_metrics(timing: Timing, total_s: float) -> Timing:
    """Limit the phases of a finished compile, forward and backward, to its total in the metrics; 0: unknown."""
    if timing.source != "events" or timing.open or not total_s:
        return timing
    phases = without_metrics_writing(timing.phases, timing.seconds + timing.backward_seconds - total_s)
    return replace(timing, phases=phases)


def timing_so_far(
    compile_: Compile, events: list[Event], metrics: list[tuple[str, dict[str, Any]]], reader: Reader
) -> Timing:
    """Return the timing of a compile that may still run, at least up to its last record."""
    timing = timing_of(events, metrics)
    later_s = after_events(compile_, reader) if timing.open else 0.0
    return timing_of(events, metrics, later_s) if later_s else timing


def _inside(interval: Interval, outer: Interval, last: float) -> bool:
    return outer.start <= interval.start <= (last if outer.end is None else outer.end)


@lru_cache(maxsize=4096)
def group_of(name: str) -> str:
    """Return the phase of an event name."""
    for group, names in (
        (KERNELS, _KERNEL_NAMES), (CACHE, _CACHE_NAMES), (INDUCTOR, _INDUCTOR_NAMES), (AUTOGRAD, _AUTOGRAD_NAMES),
        (DYNAMO, _DYNAMO_NAMES),
    ):  # fmt: skip
        if name.startswith(names):
            return group
    return GUARDS if name == "build_guards" else OTHER


def _phases(intervals: list[Interval], last: float) -> tuple[Phase, ...]:
    """Return seconds by phase, without empty phases."""
    micros = micros_by_phase((i.name, i.start, last if i.end is None else i.end) for i in intervals)
    return ordered(micros, any(is_aot(interval.name) for interval in intervals))


def micros_by_phase(spans: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Return microseconds by phase of (name, start, end).

    Each instant counts for the most specific phase that covers it.
    """
    by_group: dict[str, list[tuple[float, float]]] = {group: [] for group in PRIORITY}
    for name, start, end in spans:
        by_group[group_of(name)].append((start, end))
    covered: list[tuple[float, float]] = []
    total, micros = 0.0, {}
    for group in PRIORITY:
        if by_group[group]:
            covered = union(covered + by_group[group])
            now = sum(end - start for start, end in covered)
            micros[group] = now - total
            total = now
    return micros


def is_aot(name: str) -> bool:
    """Return whether an event belongs to AOTAutograd; otherwise the backend is another one."""
    return name.startswith("create_aot_dispatcher")


def ordered(micros: Mapping[str, float], aot: bool) -> tuple[Phase, ...]:
    """Return phases in compiler order, without empty ones."""
    micros_by_name = {BACKEND if group == AUTOGRAD and not aot else group: value for group, value in micros.items()}
    return tuple(Phase(name, micros_by_name[name] / 1e6) for name in ORDER if micros_by_name.get(name, 0) > 0)


def union(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge overlapping intervals."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def _seconds(fields: dict[str, Any], micros: str, seconds: str = "") -> float | None:
    value = number_in(fields, micros)
    if value is not None:
        return max(value, 0.0) / 1e6
    return number_in(fields, seconds) if seconds else None


def _from_metrics(metrics: list[tuple[str, dict[str, Any]]]) -> Timing:
    """Compute phases from the nested totals in metrics: all ⊃ AOTAutograd ⊃ Inductor ⊃ waiting for kernels."""
    forward: list[Phase] = []
    backward: list[Phase] = []
    for event, fields in metrics:
        is_backward = event != "compilation_metrics"
        kernels = _seconds(fields, "triton_compile_time_us")
        inductor = _seconds(fields, "inductor_cumulative_compile_time_us", "inductor_compile_time_s")
        if is_backward:
            total_s = _seconds(fields, "backward_cumulative_compile_time_us")
            chain = [(OTHER, total_s), (INDUCTOR, inductor), (KERNELS, kernels)]
        else:
            total_s = _seconds(fields, "dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s")
            aot = _seconds(fields, "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s")
            chain = [(DYNAMO, total_s), (AUTOGRAD, aot), (INDUCTOR, inductor), (KERNELS, kernels)]
        parts = [(name, value) for name, value in chain if value is not None]
        inner = [value for _, value in parts[1:]] + [0.0]
        phases = [Phase(name, max(value - less, 0.0)) for (name, value), less in zip(parts, inner, strict=False)]
        (backward if is_backward else forward).extend(phase for phase in phases if phase.self_s > 0)
    return Timing("metrics" if forward or backward else "", tuple(forward), tuple(backward))
