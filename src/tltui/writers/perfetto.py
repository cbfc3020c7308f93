"""Timing and profile events of a run as one file for Perfetto and chrome://tracing."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain
from typing import Any, NamedTuple

from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.questions.runtime.profile_results import Runtime, process_of
from tltui.questions.runtime.profile_sums import DEVICE, GRAPH, GUARDS, REGIONS, nested_of, profile_of, runtimes_of, spans_of
from tltui.questions.stacks.tracebacks import display_code
from tltui.questions.timing.timing_events import event_in, logs_of, payloads_of
from tltui.text.frozen import mutable
from tltui.text.json_codec import dumps
from tltui.trace.grammar import number

STEPS = "steps"
NAMES = {REGIONS: "compiled region", GUARDS: "guards", GRAPH: "graph"}
"""Displayed names of categories, where the key is too short."""


class Ran(NamedTuple):
    """A profile event and its thread."""

    thread: str
    """`run time, thread 9234`, `run time, steps`."""
    event: dict[str, Any]
    """The trace event, without process and thread."""


def ran(run: Run, runtime: Runtime) -> Iterator[Ran]:
    """Yield the events of a profile: steps, regions, guards, graphs, kernels, eager operators, device activity (times in µs)."""
    for step in runtime.steps:
        yield Ran(f"run time, {STEPS}", _complete(step.name, "step", step.start_at_us, step.duration_us))
    profile = profile_of(run, runtime)
    if profile is None:
        return
    begin, end = profile.window
    for span in spans_of(profile, nested_of(run, profile), begin, end):
        if span is not None:
            pid, tid = profile.threads[span.thread]
            thread = f"run time, device {pid} stream {tid}" if span.kind == DEVICE else f"run time, thread {tid}"
            us = (span.end_ns - span.begin_ns) / 1000
            yield Ran(thread, _complete(span.name, NAMES.get(span.kind, span.kind), profile.epoch_us(span.begin_ns), us))


def _complete(name: str, category: str, ts: float, us: float) -> dict[str, Any]:
    return {"name": name, "cat": category, "ph": "X", "ts": ts, "dur": us}


HEAD = b'{"displayTimeUnit":"ms","traceEvents":[\n'
TAIL = b"\n]}\n"
CHUNK = 1 << 18
TRACKS = 4096
"""Maximum threads of one lane in the sort order."""


@mutable
class Written:
    """Counts of a written file."""

    events: int = 0
    lanes: int = 0
    """Compiles, and one lane per process for records without an id."""
    unreadable: int = 0
    ran: int = 0
    """Profile events."""


def chunks(compiles: Sequence[Compile], written: Written, run: Run | None = None) -> Iterator[bytes]:
    """Yield the file in pieces and count into `written`; with `run` its profiles are included."""
    pending, size = [HEAD], 0
    separator = b""
    threads = _Threads(compiles)
    for event in chain(_events(compiles, threads, written), _ran(run, threads, written) if run is not None else ()):
        pending.append(separator + event)
        separator = b",\n"
        size += len(event)
        if size > CHUNK:
            yield b"".join(pending)
            pending, size = [], 0
    pending.append(TAIL)
    yield b"".join(pending)


@mutable(eq=False)
class _Queued:
    """An event queued until its lane has no open event, when its nesting is known."""

    order: tuple[float, int]
    event: dict[str, Any]
    end: float = math.inf
    """End time of a begin event."""
    begin: _Queued | None = None
    """Matching begin event of an end."""
    track: int = 0


@mutable(eq=False)
class _Lane:
    owner: Compile
    pid: int
    number: int
    queue: list[_Queued] = field(default_factory=list)
    open: list[_Queued] = field(default_factory=list)
    tids: list[int] = field(default_factory=list)


class _Threads:
    """Numbers of processes, lanes and threads; emits their names on first use."""

    def __init__(self, compiles: Iterable[Compile]) -> None:
        self.pids = _pids(compiles)
        self.lanes: dict[int, _Lane] = {}
        self.of_run: dict[tuple[int, str], tuple[int, int]] = {}
        """Process (its `id`) and name of a thread of a profile → its process and thread in the file."""
        self._numbers: dict[int, int] = {}
        self._lanes: Counter[int] = Counter()

    def lane(self, owner: Compile) -> _Lane:
        lane = self.lanes.get(id(owner))
        if lane is None:
            pid = self.pids[id(owner.process)]
            lane = self.lanes[id(owner)] = _Lane(owner, pid, self._lanes[pid])
            self._lanes[pid] += 1
        return lane

    def thread(self, lane: _Lane, track: int) -> Iterator[bytes]:
        """Yield the metadata events for the first use of a lane's thread."""
        while len(lane.tids) <= track:
            yield from self._process(lane.pid, lane.owner.process)
            self._numbers[lane.pid] += 1
            tid, more = self._numbers[lane.pid], len(lane.tids)
            lane.tids.append(tid)
            yield _meta("thread_name", lane.pid, tid, name=_lane_name(lane.owner) + (f" ({more + 1})" if more else ""))
            yield _meta("thread_sort_index", lane.pid, tid, sort_index=lane.number * TRACKS + min(more, TRACKS - 1))


    def run_thread(self, process: Process, name: str) -> Iterator[bytes]:
        """Yield the metadata events for the first use of a profile's thread, and register it in `of_run`."""
        if (id(process), name) not in self.of_run:
            pid = self.pids[id(process)]
            yield from self._process(pid, process)
            self._numbers[pid] += 1
            tid = self._numbers[pid]
            self.of_run[id(process), name] = pid, tid
            yield _meta("thread_name", pid, tid, name=name)
            yield _meta("thread_sort_index", pid, tid, sort_index=-TRACKS + len(self.of_run))

    def _process(self, pid: int, process: Process) -> Iterator[bytes]:
        if pid not in self._numbers:
            self._numbers[pid] = 0
            yield _meta("process_name", pid, 0, name=_process_name(process))
            yield _meta("process_sort_index", pid, 0, sort_index=pid)


def _pids(compiles: Iterable[Compile]) -> dict[int, int]:
    """Return process (its `id`) → its number in the file: the rank; further processes get numbers above all ranks."""
    processes = list({id(c.process): c.process for c in compiles}.values())
    numbers: dict[int, int] = {}
    ranks: set[int] = set()
    for process in processes:
        if process.rank is not None and process.rank not in ranks:
            numbers[id(process)] = process.rank
            ranks.add(process.rank)
    free = max(ranks, default=-1) + 1
    for process in processes:
        if id(process) not in numbers:
            numbers[id(process)] = free
            free += 1
    return numbers


def _process_name(process: Process) -> str:
    rank = "no rank" if process.rank is None else f"rank {process.rank}"
    return f"{rank} (pid {process.pid})"


def _lane_name(compile_: Compile) -> str:
    if compile_.id == NO_ID:
        return "no compile id (worker threads, AOTInductor, export)"
    function, file, line = display_code(compile_.frame)
    text = compile_.label
    if function:
        text += f" {function}"
    if file:
        text += f" {os.path.basename(file)}:{line}"
    return text


def _meta(event_name: str, pid: int, tid: int, **args: object) -> bytes:
    return _dumped({"name": event_name, "ph": "M", "pid": pid, "tid": tid, "args": args})


def _dumped(event: dict[str, Any]) -> bytes:
    try:
        return dumps(event)
    except TypeError:  # integers beyond 64 bit and lone surrogates are legal in a trace
        return json.dumps(event).encode("ascii", "replace")


def _ran(run: Run, threads: _Threads, written: Written) -> Iterator[bytes]:
    """Yield the profile events of the processes in the file."""
    for runtime in runtimes_of(run):
        process = process_of(run, runtime) if isinstance(runtime, Runtime) else None
        if process is None or not isinstance(runtime, Runtime) or id(process) not in threads.pids:
            continue
        for name, event in ran(run, runtime):
            yield from threads.run_thread(process, name)
            event["pid"], event["tid"] = threads.of_run[id(process), name]
            written.ran += 1
            yield _dumped(event)


def _events(compiles: Sequence[Compile], threads: _Threads, written: Written) -> Iterator[bytes]:
    """Yield all events, lane by lane as they close."""
    for log, owners in logs_of(compiles):
        lanes: dict[int, _Lane] = {}
        for records, payloads in payloads_of(log, owners):
            for record, data in zip(records, payloads, strict=True):
                event, owner = event_in(data), owners.get(log.columns.context[record])
                at = number(event.get("ts")) if event is not None else None
                if event is None or owner is None or at is None or not isinstance(event.get("name"), str):
                    written.unreadable += 1
                    continue
                lane = threads.lane(owner)
                lanes[id(lane)] = lane
                _queue_event(lane, _Queued((at, record), event))
                if not lane.open:
                    yield from _closed(lane, threads, written)
        for lane in lanes.values():
            yield from _closed(lane, threads, written)
    written.lanes = len(threads.lanes)


def _queue_event(lane: _Lane, queued: _Queued) -> None:
    """Queue an event in its lane; an end matches the nearest open begin of its name."""
    event = queued.event
    lane.queue.append(queued)
    if event.get("ph") == "B":
        lane.open.append(queued)
    elif event.get("ph") == "E":
        for place in range(len(lane.open) - 1, -1, -1):
            if lane.open[place].event["name"] == event["name"]:
                queued.begin = lane.open.pop(place)
                queued.begin.end = max(queued.order[0], queued.begin.order[0])
                return
        event["ph"], event["s"], event["name"] = "i", "t", f"end of {event['name']} (without a start)"


def _closed(lane: _Lane, threads: _Threads, written: Written) -> Iterator[bytes]:
    """Yield the events of a lane by time, each in its nesting thread."""
    lane.queue.sort(key=lambda queued: queued.order)
    tracks: list[list[float]] = []
    for queued in lane.queue:
        if queued.event.get("ph") == "B":
            queued.track = _track(tracks, queued)
        elif queued.begin is not None:
            queued.track = queued.begin.track
        yield from threads.thread(lane, queued.track)
        queued.event["pid"], queued.event["tid"] = lane.pid, lane.tids[queued.track]
        written.events += 1
        yield _dumped(queued.event)
    lane.queue, lane.open = [], []


def _track(tracks: list[list[float]], queued: _Queued) -> int:
    """Return the first thread without an open event that ends before this event does."""
    start = queued.order[0]
    for track, ends in enumerate(tracks):
        while ends and ends[-1] <= start:
            ends.pop()
        if not ends or ends[-1] >= queued.end:
            ends.append(queued.end)
            return track
    tracks.append([queued.end])
    return len(tracks) - 1
