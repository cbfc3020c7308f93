"""Nesting of profile events, and the meaning of their names."""

from __future__ import annotations

import heapq
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise, repeat
from operator import lt

from tltui.inputs.profile_reader import LAUNCHES, ON_DEVICE, Profile
from tltui.text.frozen import frozen, mutable

(OTHER, REGION, LOOKUP, CALL, FORWARD, BACKWARD, PRELUDE, OPERATOR, ALLOCATION, ENGINE, ANNOTATION, LAUNCH, COMPILING,
 COLLECTIVE) = range(14)  # fmt: skip
"""Kinds of events. An allocation is an operator that is no kernel where a graph calls it; engine is what autograd runs around a
compiled backward; compiling is what `dynamo_timed` measures; a collective is its operator, or what the backend recorded."""
SPANS = frozenset((REGION, LOOKUP, CALL, FORWARD, BACKWARD, PRELUDE))

_REGION = re.compile(r"^Torch-Compiled Region(?:: (\S+))?$")
_CALL = re.compile(r"^## Call CompiledFxGraph (\S+)")
_GRAPH = re.compile(r"^graph_\d+_(?=\w)")
_STEP = re.compile(r"#\d+$")
BACKENDS = re.compile(r"^(?:gloo|nccl|rccl|xccl|ucc|mpi|hccl|mccl):\w")
"""Names by which a backend records the time from the start of a collective to its end."""
_COLLECTIVE = re.compile(r"^(?:c10d|_?c10d_functional)::\w")
_OPERATOR = re.compile(r"^(?!autograd::|torch::)\w+::\w")
_ENGINE = "autograd::engine::evaluate_function: "
_TIMED = re.compile(r" \(dynamo_timed\)$|_data: compile_id=|^(?:dynamo|compile_file|entire_(?:frame|backward)_compile)$")
_BACKWARD = re.compile(r"^\w*CompiledFunctionBackward\w*$")
_EXACT = {
    "TorchDynamo Cache Lookup": LOOKUP,
    "CompiledFunction": FORWARD,
    "Pregraph bytecode": PRELUDE,
    "AOTDispatcher Runtime Wrapper Prologue": PRELUDE,
}
_ALLOCATIONS = frozenset(f"aten::{name}" for name in (
    "empty", "empty_strided", "empty_like", "as_strided", "view", "reshape", "_reshape_alias", "alias", "detach", "t", "transpose",
    "permute", "expand", "squeeze", "unsqueeze", "slice", "select", "resize_", "set_", "resolve_conj", "resolve_neg", "lift_fresh",
))  # fmt: skip


@frozen
class Kinds:
    """The kinds of a profile's names and categories, by their numbers."""

    of_name: bytes
    of_category: bytes
    """The kind of events of a category whose names have none."""
    is_launch: bytes
    """1: its events are calls of a device's runtime, whatever their names."""
    nests: bytes
    """1: its events nest on the thread."""

    @property
    def by_category(self) -> list[bytes]:
        """The kind of each name, by category: users may give an annotation the name of an operator."""
        kinds_by_pair: dict[tuple[int, int], bytes] = {}
        for category, is_launch in zip(self.of_category, self.is_launch, strict=True):
            if is_launch:
                kinds = bytes((LAUNCH,)) * len(self.of_name)
            elif category:
                kinds = bytes(ANNOTATION if kind in BY_OPERATOR else kind or category for kind in self.of_name)
            else:
                kinds = self.of_name
            kinds_by_pair.setdefault((category, is_launch), kinds)
        return [kinds_by_pair[key] for key in zip(self.of_category, self.is_launch, strict=True)]


def kinds_of(profile: Profile) -> Kinds:
    """Return the kinds of a profile's names and categories."""
    categories = profile.categories
    kinds = {"user_annotation": ANNOTATION}
    return Kinds(
        bytes(map(kind_of, profile.names)),
        bytes(kinds.get(category, OTHER) for category in categories),
        bytes(category in LAUNCHES for category in categories),
        bytes(category not in ON_DEVICE for category in categories),
    )


def kind_of(name: str) -> int:
    """Return the kind of an event name."""
    if (exact := _EXACT.get(name)) is not None:
        return exact
    if name in _ALLOCATIONS:
        return ALLOCATION
    if _COLLECTIVE.match(name) or BACKENDS.match(name):
        return COLLECTIVE
    if _OPERATOR.match(name):
        return OPERATOR
    if _REGION.match(name):
        return REGION
    if _CALL.match(name):
        return CALL
    if _BACKWARD.match(name):
        return BACKWARD
    if _TIMED.search(name):
        return COMPILING
    if name.startswith(_ENGINE) and _BACKWARD.match(name[len(_ENGINE) :]):
        return ENGINE
    return OTHER


def region_id(name: str) -> str:
    """Return the id `2/1` of a region; '' if it has none (torch 2.3 and before)."""
    match = _REGION.match(name)
    return match[1] or "" if match else ""


def graph_key(name: str) -> str | None:
    """Return the cache key of a call; None where caches are off."""
    match = _CALL.match(name)
    return None if match is None or match[1] == "None" else match[1]


def kernel_name(name: str) -> str:
    """Return the kernel's name in the code.

    Without the graph's number before it, or the step behind it (`name#3`, torch-spyre).
    """
    return _STEP.sub("", _GRAPH.sub("", name))


def code_name(name: str) -> str:
    """Return the profiler's name of a kernel in the code.

    `extern_kernels.mm` and `torch.ops.aten.mm.default` are `aten::mm`.
    """
    parts = name.split(".")
    if parts[0] == "extern_kernels" and len(parts) > 1:
        return f"aten::{parts[-1]}"
    if parts[:2] == ["torch", "ops"] and len(parts) > 3:
        return f"{parts[2]}::{parts[3]}"
    if parts[0] in ("aten", "inductor_ops") and len(parts) > 1:
        return f"{parts[0]}::{parts[1]}"
    return name


IDLE, COLLECTIVES, COMPILE, EAGER, OVERHEAD, GUARDS, WRAPPER, KERNELS = range(8)
"""Activities of a thread. If several threads are active, the larger number counts: a collective, where no thread computes."""
RUN = 1 << 16
"""Events that are sorted at a time, where they are out of order."""
BY_OPERATOR = frozenset((OPERATOR, ALLOCATION))
"""Kinds by names that users may give to annotations too."""
GRAPH_LAUNCH = "GraphLaunch"
"""In the names of launches of CUDA graphs: `cudaGraphLaunch`, `hipGraphLaunch`, `cuGraphLaunch`."""
ROUGH = 1000
"""ns by which an end may be beyond that of the event around it in files with integer µs."""


BARE, BENCHMARK = -1, -2
"""What launched an event on a device, besides operators: nothing that is recorded around the launch; compiling."""
Events = int | list[int]
"""Most launches are of one event: a list for each would take more than all the rest."""


def _put(events: dict[int, Events], key: int, event: int) -> None:
    previous = events.setdefault(key, event)
    if isinstance(previous, list):
        previous.append(event)
    elif previous != event:
        events[key] = [previous, event]


def _got(events: dict[int, Events], key: int) -> Sequence[int]:
    entry = events.get(key, ())
    return (entry,) if isinstance(entry, int) else entry


def _i() -> array[int]:
    return array("i")


def _u() -> array[int]:
    return array("I")


@mutable
class Nested:
    """The relevant events of a profile, as columns. A *span* is one of them, an *event* a number of the profile."""

    event: array[int] = field(default_factory=_u)
    """The event of each span."""
    kind: array[int] = field(default_factory=lambda: array("B"))
    parent: array[int] = field(default_factory=_i)
    """The span around it, -1 for none."""
    inner: array[int] = field(default_factory=lambda: array("q"))
    """ns of the lookups and regions in it that are in no other of these, and of compiling."""
    compiling_in: array[int] = field(default_factory=lambda: array("q"))
    """ns of compiling in it: no run time."""
    first: array[int] = field(default_factory=_u)
    """The first kernel of a call, a number of `kernels`."""
    last: array[int] = field(default_factory=_u)
    """The number behind the last kernel of a call."""
    region_after: array[int] = field(default_factory=_i)
    """The region after a lookup; -1 if another event followed, -2 if none is recorded."""
    kernels: array[int] = field(default_factory=_u)
    """Direct child events of calls."""
    name_source: dict[int, int] = field(default_factory=dict)
    """Kernel that is a bare launch, without an operator → the device event with its name."""
    device: array[int] = field(default_factory=_u)
    """Events on a device that were launched in calls."""
    launched_by: array[int] = field(default_factory=_i)
    """The number of the kernel of each; -1 - the span of the call for those without a kernel (replayed graphs)."""
    outside: array[int] = field(default_factory=_u)
    """Events on a device that were launched outside of calls, or while torch compiled in one."""
    outside_of: array[int] = field(default_factory=_i)
    """What launched each: a number of `eager`, or `BARE`, `BENCHMARK`."""
    replayed: set[int] = field(default_factory=set)
    """The events on a device that a replay of a CUDA graph launched."""
    replays: int = 0
    """The launches of CUDA graphs after which something ran."""
    loose: list[int] = field(default_factory=list)
    """Events on a device of which no launch was recorded."""
    eager: array[int] = field(default_factory=_u)
    """Operators that are in no graph and no other operator."""
    eager_in: array[int] = field(default_factory=_i)
    """The region of each; -1 outside of all."""
    eager_after: array[int] = field(default_factory=_i)
    """The lookup of each that no region has followed yet; -1."""
    annotations: array[int] = field(default_factory=_u)
    compiling: array[int] = field(default_factory=_u)
    """The outermost events of compiling."""
    collectives: array[int] = field(default_factory=_u)
    """Collectives: operators, and what the backends recorded."""
    us_of: list[float] = field(default_factory=lambda: [0.0] * 8)
    """µs of the window by what was done (`IDLE` … `KERNELS`); idle is what is left of it."""
    overlapping: int = 0
    """Events that begin in one and end outside of it."""
    threads: int = 0
    """Threads with regions or graphs."""


def nested(profile: Profile) -> Nested:
    """Nest the events of a profile, in linear time if they are sorted."""
    for _ in (walk := Walk(profile)).steps():
        pass
    return walk.nested


@mutable
class _Open:
    """An event that has not ended."""

    end: int
    state: int
    span: int
    """The innermost span that it is, or is in; -1."""
    kernel: int
    """The kernel that it is, or is in; -1."""
    call: int
    """The call that it is, or is in; -1."""
    region: int
    within: int
    """The innermost region or lookup that it is, or is in; -1."""
    is_operator: bool
    """Whether it is a kernel, or an operator that is in no graph, or in one of these."""
    waiting: int = -1
    """The last lookup directly in it that no region has followed yet; -1."""
    fell: int = -1
    """The lookup after which it runs, where that is what it is in; -1."""
    eager: int = -1
    """The operator that it is, or is in: a number of `Nested.eager`; -1."""


class Walk:
    """Stepwise nesting of a profile's events, thread by thread."""

    def __init__(self, profile: Profile) -> None:
        self.nested = Nested()
        self._profile = profile
        self._kinds = kinds_of(profile)
        self._by_correlation: dict[int, Events] = {}
        self._by_external: dict[int, Events] = {}
        self._attached = bytearray(len(profile))
        self._changes: list[tuple[array[int], array[int]]] = []
        """Per thread: when it began something else, and what."""
        self._stack: list[_Open] = []
        is_rough = len(profile) > 0 and not any(time % 1000 for time in profile.begin[:1000])
        self._rough = ROUGH if is_rough else 0
        self._graph_launches = {number for number, name in enumerate(profile.names) if GRAPH_LAUNCH in name}

    def steps(self) -> Iterator[None]:
        """Run in steps."""
        self._find_device()
        yield None
        for item in self._by_thread():
            if item:
                yield from self._thread(self._ordered(item))
        self.nested.loose = [event for event in self._profile.on_device if not self._attached[event]]
        self._sum()

    def _find_device(self) -> None:
        """Index device events by the ids that link them to their launches."""
        profile, is_launch = self._profile, self._kinds.is_launch
        if not profile.on_device:
            return
        links = zip(profile.category, profile.link, strict=True)
        launches = {link for category, link in links if is_launch[category] and link > 0}
        for event, operator in zip(profile.on_device, profile.operator, strict=True):
            correlation = profile.link[event]
            if correlation in launches:
                _put(self._by_correlation, correlation, event)
            elif operator > 0:
                _put(self._by_external, operator, event)

    def _by_thread(self) -> list[array[int]]:
        """Return the nested events of each thread."""
        results = [array("I") for _ in self._profile.threads]
        nests = self._kinds.nests
        for event, (thread, category) in enumerate(zip(self._profile.thread, self._profile.category, strict=True)):
            if nests[category]:
                results[thread].append(event)
        return results

    def _ordered(self, events: array[int]) -> Iterable[int]:
        """Return a thread's events in order; torch mostly writes them sorted."""
        begin, duration, order = self._profile.begin, self._profile.duration, self._profile.order

        def key(event: int) -> tuple[int, int, int]:
            return begin[event], -duration[event], order[event]

        times = array("q", map(begin.__getitem__, events))
        if all(map(lt, times, times[1:])) or all(begin[a] < begin[b] or key(a) <= key(b) for a, b in pairwise(events)):
            return events
        runs = [array("I", sorted(events[at : at + RUN], key=key)) for at in range(0, len(events), RUN)]
        return runs[0] if len(runs) == 1 else heapq.merge(*runs, key=key)

    def _thread(self, events: Iterable[int]) -> Iterator[None]:
        """Process the events of one thread."""
        profile, kinds = self._profile, self._kinds
        begins, durations, names, categories = profile.begin, profile.duration, profile.name, profile.category
        by_category = kinds.by_category
        times, states = array("q"), array("B")
        stack = self._stack = [_Open(1 << 62, IDLE, -1, -1, -1, -1, -1, False)]
        state, event = IDLE, -1
        for count, event in enumerate(events):
            begin = begins[event]
            end = begin + durations[event]
            top = stack[-1]
            while top.end <= begin or top.end < end:
                stack.pop()
                at, is_cut = (top.end, False) if top.end <= begin else (begin, True)
                if is_cut and end - top.end <= self._rough:  # rounded to µs: it ends with its parent
                    stack.append(top)
                    end = top.end
                    break
                self.nested.overlapping += is_cut
                top = stack[-1]
                if top.state != state:
                    state = top.state
                    times.append(at)
                    states.append(state)
            kind = by_category[categories[event]][names[event]]
            if kind == COLLECTIVE:
                self.nested.collectives.append(event)
            if top.is_operator and kind not in SPANS:
                if kind == LAUNCH or self._by_external:
                    self._attach(event, kind == LAUNCH, top)
                continue
            new = self._opened(event, kind, end, top)
            stack.append(new)
            if new.state != state:
                state = new.state
                times.append(begin)
                states.append(state)
            if not count % RUN:
                yield None
        if self.nested.event and self.nested.event[-1] == event and self.nested.kind[-1] == LOOKUP:
            self.nested.region_after[-1] = -2
        while len(stack) > 1:
            end = stack.pop().end
            if stack[-1].state != state:
                state = stack[-1].state
                times.append(end)
                states.append(state)
        if times:
            self._changes.append((times, states))

    def _opened(self, event: int, kind: int, end: int, top: _Open) -> _Open:
        """Open an event inside of another one."""
        columns = self.nested
        fell = top.waiting if top.waiting >= 0 else top.fell
        if kind in SPANS:
            return self._span(event, kind, end, top)
        new = _Open(end, top.state, top.span, top.kernel, top.call, top.region, top.within, top.is_operator, fell=fell)
        if kind == ANNOTATION:
            columns.annotations.append(event)
            top.waiting = top.fell = new.fell = -1
        elif kind == COMPILING:
            new.state, new.is_operator = COMPILE, True
            self._compiled(event, top)
        elif kind == LAUNCH:
            self._launched(event, top, new)
        elif top.call >= 0:
            if kind != ALLOCATION:
                self._kernel(event, top, new)
            if kind == COLLECTIVE:
                new.state = COLLECTIVES
            if self._by_external:
                self._attach(event, False, new)
        elif kind == COLLECTIVE and BACKENDS.match(self._profile.name_of(event)):
            new.state, new.is_operator = max(top.state, COLLECTIVES), True
        elif kind in (OPERATOR, ALLOCATION, COLLECTIVE):
            new.state, new.is_operator = max(top.state, EAGER) if top.state != OVERHEAD else EAGER, True
            if kind == COLLECTIVE:
                new.state = COLLECTIVES
            new.eager = len(columns.eager)
            columns.eager.append(event)
            columns.eager_in.append(top.region)
            columns.eager_after.append(fell)
            if self._by_external:
                self._attach(event, False, new)
        elif kind == ENGINE:
            new.state = OVERHEAD
            top.waiting = top.fell = new.fell = -1
        return new

    def _compiled(self, event: int, top: _Open) -> None:
        """Record compiling, which is no run time of what is around it."""
        columns, duration = self.nested, self._profile.duration[event]
        columns.compiling.append(event)
        if top.within >= 0:
            columns.inner[top.within] += duration
        span = top.span
        while span >= 0:
            columns.compiling_in[span] += duration
            span = columns.parent[span]

    def _span(self, event: int, kind: int, end: int, top: _Open) -> _Open:
        columns, number = self.nested, len(self.nested.event)
        columns.event.append(event)
        columns.kind.append(kind)
        columns.parent.append(top.span)
        columns.inner.append(0)
        columns.compiling_in.append(0)
        columns.first.append(len(columns.kernels))
        columns.last.append(len(columns.kernels))
        columns.region_after.append(-1)
        new = _Open(end, OVERHEAD, number, top.kernel, top.call, top.region, top.within, top.is_operator)
        if kind in (REGION, LOOKUP):
            if top.within >= 0:
                columns.inner[top.within] += end - self._profile.begin[event]
            new.within = number
        if kind == REGION:
            new.region = number
            if top.waiting >= 0:
                columns.region_after[top.waiting] = number
            top.waiting = -1
            new.is_operator = False
        elif kind == LOOKUP:
            top.waiting, new.state, new.is_operator = number, GUARDS, True
        elif kind == CALL:
            new.call, new.state, new.kernel, new.is_operator = number, WRAPPER, -1, False
        return new

    def _kernel(self, event: int, top: _Open, new: _Open) -> None:
        """Record a direct child of a call as a kernel."""
        new.kernel, new.state, new.is_operator = len(self.nested.kernels), KERNELS, True
        self.nested.kernels.append(event)
        self.nested.last[top.call] = len(self.nested.kernels)

    def _launched(self, event: int, top: _Open, new: _Open) -> None:
        """Record a launch outside of operators.

        It is of a kernel if a device event follows from it, or of a CUDA graph of kernels.
        """
        device_events = _got(self._by_correlation, self._profile.link[event])
        is_graph = self._profile.name[event] in self._graph_launches
        if top.call >= 0 and top.kernel < 0 and len(device_events) == 1 and not is_graph and self._is_kernel(device_events[0]):
            self._kernel(event, top, new)
            self.nested.name_source[event] = device_events[0]
        self._attach(event, True, new)

    def _is_kernel(self, event: int) -> bool:
        """Return whether a device event is a kernel rather than a copy."""
        return not self._profile.categories[self._profile.category[event]].startswith("gpu_mem")

    def _attach(self, event: int, is_launch: bool, by: _Open) -> None:
        """Assign device events to a kernel or a call of `by`, or to what runs outside of calls.

        By correlation id, which is exact, else by the operator's number.
        """
        kernels_by_id = self._by_correlation if is_launch else self._by_external
        items = _got(kernels_by_id, self._profile.link[event])
        if is_launch and items and self._profile.name[event] in self._graph_launches:
            self.nested.replays += 1
            self.nested.replayed.update(items)
        for item in items:
            if self._attached[item]:
                continue
            self._attached[item] = 1
            if by.call >= 0 and by.state != COMPILE:
                self.nested.device.append(item)
                self.nested.launched_by.append(by.kernel if by.kernel >= 0 else -1 - by.call)
            else:
                self.nested.outside.append(item)
                self.nested.outside_of.append(BENCHMARK if by.state == COMPILE else by.eager)

    def _busiest(self) -> Iterable[tuple[int, int]]:
        """Return the times at which the busiest thread does something else, and what."""
        if len(self._changes) == 1:
            return zip(*self._changes[0], strict=True)
        streams = [zip(times, repeat(number), new_states) for number, (times, new_states) in enumerate(self._changes)]
        return self._of_threads(heapq.merge(*streams))

    def _of_threads(self, changes: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
        states = [IDLE] * len(self._changes)
        for time, number, kind in changes:
            states[number] = kind
            yield time, max(states)

    def _sum(self) -> None:
        """Sum up time by kind; of several threads the busiest counts."""
        total = [0] * 8
        begin, end = self._profile.window
        before, state = begin, IDLE
        for time, kind in self._busiest():
            time = begin if time < begin else end if time > end else time
            total[state] += time - before
            before, state = time, kind
        self.nested.us_of = [ns / 1000 for ns in total]
        self.nested.us_of[IDLE] = max((end - begin) / 1000 - sum(self.nested.us_of[COLLECTIVES:]), 0.0)
