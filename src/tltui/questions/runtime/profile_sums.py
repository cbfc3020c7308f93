"""Sums of a joined profile by step, process and device, and its spans for a flame view."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import cast

from tltui.inputs.profile_reader import Profile, Reading
from tltui.model.nodes import Compile, Process
from tltui.model.run import Run
from tltui.questions.runtime import event_nesting
from tltui.questions.runtime.event_joining import Devices, Joined, Joiner, Kernels, called, lookups_of, spread
from tltui.questions.runtime.event_nesting import (
    BACKENDS,
    BACKWARD,
    BENCHMARK,
    CALL,
    COLLECTIVE,
    FORWARD,
    LOOKUP,
    PRELUDE,
    REGION,
    SPANS,
    Nested,
    Walk,
    graph_key,
    kernel_name,
    kind_of,
    nested,
    region_id,
)
from tltui.questions.runtime.profile_results import (
    Collective,
    CompileTime,
    DeviceOp,
    DeviceTime,
    EagerTime,
    Fallback,
    GraphTime,
    Refused,
    Runtime,
    Share,
    Step,
    StreamTime,
)
from tltui.questions.timing.timing_report import Bar, Flame
from tltui.text.frozen import frozen

_PROFILER = re.compile(r"^ProfilerStep#\d+$")
_NUMBER = re.compile(r"\d+")
_OTHERS = re.compile(
    r"^(?:Optimizer\.|DistributedDataParallel\.|FullyShardedDataParallel\.|FSDP::|enumerate\(DataLoader\)|[a-z0-9_]+:\w+$|## )"
)
"""Annotations by torch: optimizers, wrappers, loaders, `gloo:all_reduce`."""
MOST_STEPS = 0.5
"""The least share of annotations in the time from the first to the last, for them to be steps."""
MOST_OPS = 50
BEFORE = 5.0
"""Seconds by which a profile may have begun before the first record of its process."""

GUARDS, GRAPH, KERNEL, EAGER, AROUND, DEVICE = "guards", "graph", "kernel", "eager", "around", "device"
"""Kinds of events, besides regions."""
REGIONS = "region"
MOST = 20_000
"""Events of a flame."""
AT_ONCE = 50_000
"""Events between two yields."""
SLACK = 500
"""ns by which an event may lie beyond the step that it is in."""

FIRST_EVENTS = 200_000
"""Events that are added up while the rest of a profile is read."""
FIRST_SHOWN = 12
_FIRST = ("kernel", "cpu_op", "user_annotation")

COPIES = ("gpu_memcpy", "gpu_memset")
_COLLECTIVE = re.compile(r"^(?:nccl|rccl|msccl)", re.IGNORECASE)
"""Kernels of collectives: `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, also those of RCCL."""


@frozen
class RunSpan:
    """One event."""

    begin_ns: int
    """In the profile's own time."""
    end_ns: int
    thread: int
    """A number of `Profile.threads`."""
    kind: str
    name: str
    """Its label: `[0/0]`, `guards`, `graph fxqmjx…`, the name of a kernel in the code, an operator."""


@frozen
class StepFlame:
    """One step on one thread."""

    step: str
    """Its name, '' for the entire window."""
    flame: Flame
    kinds: dict[str, str]
    """Name of a bar → its kind."""
    cut: bool
    """Whether it lacks events."""


@frozen
class FirstRow:
    """The calls of one name in the first part of a profile."""

    name: str
    calls: int
    us: float
    """Of all these calls, with the calls inside of them."""


@frozen
class FirstRows:
    """The names with the longest times in the first part of a profile."""

    share: float
    """The part of the file, from 0 to 1."""
    rows: tuple[FirstRow, ...]


@frozen
class _Case:
    """A candidate process for a profile."""

    sums: Sums
    process: Process
    same_pid: bool
    in_time: bool

    @property
    def is_proven(self) -> bool:
        """Whether graphs are equal."""
        joined = self.sums.joined
        return joined.same_key > 0 or (joined.other_key == 0 and joined.same_names > 0 and joined.other_names == 0)

    @property
    def is_disproven(self) -> bool:
        """Whether graphs differ."""
        joined = self.sums.joined
        return not joined.same_key and (joined.other_key > 0 or (joined.other_names > 0 and not joined.same_names))

    @property
    def rank(self) -> tuple[bool, bool, bool, int, int]:
        """Return the sort key; a better match is larger."""
        joined = self.sums.joined
        names = joined.same_names - joined.other_names
        return self.same_pid and self.in_time, self.is_proven, self.same_pid, joined.same_key, names


def steps_of(profile: Profile, nested: Nested) -> tuple[Step, ...]:
    """Return the steps in order.

    Among repeated annotations, the outermost ones with the largest total time.
    """
    names = [(event, profile.name_of(event)) for event in nested.annotations]
    annotations = [event for event, name in names if _PROFILER.match(name)]
    if not annotations:
        families: dict[str, list[int]] = defaultdict(list)
        for event, name in names:
            if not _OTHERS.match(name):
                families[_NUMBER.sub("#", name)].append(event)
        several = [events for events in families.values() if len(events) > 1 and _cover(profile, events)]
        annotations = max(several, key=lambda events: sum(profile.duration[event] for event in events), default=[])
    annotations.sort(key=lambda event: profile.begin[event])
    return tuple(
        Step(profile.name_of(event), profile.epoch_us(profile.begin[event]), profile.duration[event] / 1000)
        for event in annotations
    )  # fmt: skip


def _cover(profile: Profile, events: list[int]) -> bool:
    """Return whether annotations cover most of their range: sporadic events are no steps."""
    first, last = min(profile.begin[event] for event in events), max(profile.end(event) for event in events)
    return sum(profile.duration[event] for event in events) >= MOST_STEPS * (last - first)


def collectives_of(profile: Profile, nested: Nested) -> tuple[Collective, ...]:
    """Return the collectives that ended in the window, in order: as the backends recorded them, else the operators."""
    events = [event for event in nested.collectives if profile.end(event) <= profile.window[1]]
    recorded = [event for event in events if BACKENDS.match(profile.name_of(event))]
    return tuple(
        Collective(profile.name_of(event), profile.epoch_us(profile.begin[event]), profile.duration[event] / 1000)
        for event in sorted(recorded or events, key=lambda event: profile.begin[event])
    )


class Sums:
    """Sums over one process of a profile."""

    def __init__(self, profile: Profile, nested: Nested, process: Process) -> None:
        self._profile, self._nested, self._process = profile, nested, process
        self.joiner = Joiner(profile, nested, process)
        self.joined: Joined = self.joiner.join()
        self._kernels = Kernels(profile, nested, self.joiner, Devices(profile, nested))
        self._lookups, self._lost = lookups_of(nested, self.joined, self.joiner.is_complete)

    def runtime(self, doubts: tuple[str, ...]) -> Runtime:
        """Return all sums."""
        profile, joined = self._profile, self.joined
        graphs: dict[Compile, list[GraphTime]] = defaultdict(list)
        loose = self.joiner.loose()
        for group, calls in joined.calls.items():
            graph = self._kernels.graph(group.unit, group.key, calls, joined.graph_of[group], loose.get(group, []))
            graphs[group.compile].append(graph)
        eager, eager_in = self._eager()
        ran = set(called(joined))
        regions, preludes = self._regions(), self._preludes()
        compiles = [
            self._compile(compile_, regions.get(compile_, []), preludes.get(compile_, 0), graphs[compile_],
                          eager_in.get(compile_, 0.0))
            for compile_ in self._process.ordered() if compile_ in ran
        ]  # fmt: skip
        on_device = device_time(profile, self._nested, sum(graph.device_us for items in graphs.values() for graph in items))
        compiles = [compile_ for compile_ in compiles if compile_.regions.calls or compile_.lookups.calls or compile_.graphs]
        begin, end = profile.window
        us = self._nested.us_of
        return Runtime(
            profile.path, self._process.rank if self._process.rank is not None else profile.rank, profile.pid,
            profile.epoch_us(begin), profile.epoch_us(end), steps_of(profile, self._nested),
            Share(
                (end - begin) / 1000, us[event_nesting.KERNELS], us[event_nesting.WRAPPER], us[event_nesting.GUARDS],
                us[event_nesting.OVERHEAD],
                us[event_nesting.EAGER], us[event_nesting.IDLE] + us[event_nesting.COMPILE], us[event_nesting.COLLECTIVES],
            ),
            tuple(compiles), self._never_called(), eager, self._fallbacks(), dict(joined.unmatched), (*doubts, *self._doubts()),
            collectives_of(profile, self._nested), on_device,
        )  # fmt: skip

    def _regions(self) -> dict[Compile, list[int]]:
        """Return the complete regions of each compile."""
        regions: dict[Compile, list[int]] = defaultdict(list)
        for span, item in self.joined.compile_of.items():
            if self.joiner.is_complete(span):
                regions[item].append(span)
        return regions

    def _preludes(self) -> dict[Compile, int]:
        """Return the prologue time in the regions of each compile, in ns."""
        nested = self._nested
        times: dict[Compile, int] = defaultdict(int)
        for span, kind in enumerate(nested.kind):
            if kind == PRELUDE and (compile_ := self.joined.compile_of.get(self._region_of(span))) is not None:
                times[compile_] += self._ns(span)
        return times

    def _ns(self, span: int) -> int:
        """Return the time of a span without compiling in it."""
        return self._profile.duration[self._nested.event[span]] - self._nested.compiling_in[span]

    def _compile(
        self, compile_: Compile, regions: list[int], overhead: int, graphs: list[GraphTime], eager_us: float
    ) -> CompileTime:
        profile, nested = self._profile, self._nested
        self_ns = sum(profile.duration[nested.event[span]] - nested.inner[span] for span in regions)
        return CompileTime(
            str(compile_.ref), spread([self._ns(span) for span in regions]), self_ns / 1000,
            spread([self._ns(span) for span in self._lookups.get(compile_, ())]), overhead / 1000,
            tuple(graphs), eager_us,
        )  # fmt: skip

    def _region_of(self, span: int) -> int:
        while span >= 0 and self._nested.kind[span] != REGION:
            span = self._nested.parent[span]
        return span

    def _eager(self) -> tuple[tuple[EagerTime, ...], dict[Compile, float]]:
        """Return eager operators by location, most time first."""
        count: Counter[tuple[Compile | None, int]] = Counter()
        ns: Counter[tuple[Compile | None, int]] = Counter()
        nested, profile = self._nested, self._profile
        inside: dict[Compile, float] = defaultdict(float)
        for event, region, lookup in zip(nested.eager, nested.eager_in, nested.eager_after, strict=True):
            if lookup >= 0 and nested.region_after[lookup] >= 0:
                continue  # while the frame was compiled
            if profile.end(event) > profile.window[1]:
                continue
            if region < 0 and kind_of(profile.name_of(event)) == COLLECTIVE:
                continue
            key = (self.joined.compile_of.get(region), profile.name[event])
            count[key] += 1
            ns[key] += profile.duration[event]
        for (compile_, _), time in ns.items():
            if compile_ is not None:
                inside[compile_] += time / 1000
        eager_times = [
            EagerTime(None if key[0] is None else str(key[0].ref), profile.names[key[1]], count[key], time / 1000)
            for key, time in ns.most_common()
        ]
        return tuple(eager_times), inside

    def _fallbacks(self) -> tuple[Fallback, ...]:
        nested, profile = self._nested, self._profile
        ops: dict[int, dict[str, None]] = defaultdict(dict)
        for event, lookup in zip(nested.eager, nested.eager_after, strict=True):
            if lookup >= 0 and nested.region_after[lookup] < 0 and len(ops[lookup]) < MOST_OPS:
                ops[lookup][profile.name_of(event)] = None
        ref = self._limited()
        return tuple(
            Fallback(
                profile.epoch_us(profile.begin[nested.event[span]]), profile.duration[nested.event[span]] / 1000,
                tuple(ops.get(span, ())), ref,
            )
            for span in self._lost
        )  # fmt: skip

    def _limited(self) -> str:
        """Return the compile with the recompile limit hit, if only one frame reached it."""
        limited = {
            id(compile_.frame): compile_
            for compile_ in self._process.ordered()
            if compile_.is_compile and compile_.facts.recompile_limit_hit
        }
        return str(next(iter(limited.values())).ref) if len(limited) == 1 else ""

    def _never_called(self) -> tuple[str, ...]:
        """Return compiles finished before the window's end that did not run."""
        ran = set(called(self.joined))
        end = self._profile.epoch_us(self._profile.window[1])
        return tuple(
            str(compile_.ref)
            for compile_ in self._process.ordered()
            if compile_.is_compile and compile_ not in ran and compile_.facts.has_guarded_code and compile_.is_closed
            and (compile_.start_us or 0) < end
        )

    def _doubts(self) -> list[str]:
        doubts = list(self._profile.faults)
        profile, nested = self._profile, self._nested
        if cut := sum(kind in SPANS and not self.joiner.is_complete(span) for span, kind in enumerate(nested.kind)):
            doubts.append(f"{cut:,} events of compiled code were unfinished when the profile ended and are not counted")
        if nested.compiling:
            seconds = _covered(profile, nested.compiling) / 1e9
            doubts.append(f"torch compiled for {seconds:.3g} s in the window: steps without compilation are faster")
        if nested.overlapping:
            doubts.append(f"{nested.overlapping:,} events partly overlap another: each counts toward the event in which it begins")
        if self._never_called() and len({profile.thread[nested.event[span]] for span in self.joined.compile_of}) == 1:
            doubts.append("only profile_all_threads records other threads: compiles without calls may have run there")
        for text, count in self._kernels.doubts.items():
            doubts.append(f"{count:,} {text}")
        return doubts


def _covered(profile: Profile, events: Iterable[int], window: tuple[int, int] = (-(1 << 62), 1 << 62)) -> int:
    """Return the time in ns, within a window, that is covered by any of some events."""
    reached, last = window
    total = 0
    for begin, end in sorted((profile.begin[event], profile.end(event)) for event in events):
        total += max(min(end, last) - max(begin, reached), 0)
        reached = max(reached, end)
    return total


def device_time(profile: Profile, nested: Nested, compiled_us: float) -> DeviceTime | None:
    """Return the side of the devices; None where nothing ran on one.

    `compiled_us`: the time that was assigned to compiled graphs of the trace.
    """
    events = profile.on_device
    if not events:
        return None
    by_device: dict[str, list[int]] = defaultdict(list)
    for event in events:
        by_device[profile.threads[profile.thread[event]][0]].append(event)
    others = {device: [event for event in group if not _is_collective(profile, event)] for device, group in by_device.items()}
    busy = sum(_covered(profile, group, profile.window) for group in by_device.values())
    eager, eager_ns, bare, compiling = _outside(profile, nested)
    total = sum(profile.duration[event] for event in events)
    begin, end = profile.window
    unknown = max(total / 1000 - compiled_us - (eager_ns + bare + compiling) / 1000, 0.0)
    return DeviceTime(
        _name(profile, min(by_device)), len(by_device), (end - begin) / 1000, busy / 1000,
        (busy - sum(_covered(profile, group, profile.window) for group in others.values())) / 1000,
        compiled_us, eager_ns / 1000, bare / 1000, compiling / 1000, unknown,
        sum(profile.duration[event] for event in events if profile.categories[profile.category[event]] in COPIES) / 1000,
        sum(profile.duration[event] for event in nested.replayed) / 1000, nested.replays, _streams(profile),
        eager, _by_name((profile.name_of(event), profile.duration[event]) for event in events),
    )  # fmt: skip


def _is_collective(profile: Profile, event: int) -> bool:
    return _COLLECTIVE.match(profile.name_of(event)) is not None


def _outside(profile: Profile, nested: Nested) -> tuple[tuple[DeviceOp, ...], int, int, int]:
    """Return what was launched outside of graphs: by operator, and in ns by operators, by nothing else, by compiling."""
    times: list[tuple[str, int]] = []
    bare = compiling = 0
    for event, by in zip(nested.outside, nested.outside_of, strict=True):
        duration = profile.duration[event]
        if by >= 0:
            times.append((profile.name_of(nested.eager[by]), duration))
        elif by == BENCHMARK:
            compiling += duration
        else:
            bare += duration
    return _by_name(times), sum(ns for _, ns in times), bare, compiling


def _by_name(times: Iterable[tuple[str, int]]) -> tuple[DeviceOp, ...]:
    count: Counter[str] = Counter()
    ns: Counter[str] = Counter()
    for name, duration in times:
        count[name] += 1
        ns[name] += duration
    ordered = sorted(ns.items(), key=lambda item: (-item[1], item[0]))
    return tuple(DeviceOp(name, count[name], time / 1000) for name, time in ordered)


def _streams(profile: Profile) -> tuple[StreamTime, ...]:
    count: Counter[int] = Counter()
    ns: Counter[int] = Counter()
    for event in profile.on_device:
        count[profile.thread[event]] += 1
        ns[profile.thread[event]] += profile.duration[event]
    return tuple(StreamTime(*profile.threads[thread], count[thread], time / 1000) for thread, time in ns.most_common())


def _name(profile: Profile, device: str) -> str:
    """Return the name of a device as `deviceProperties` has it."""
    properties = profile.head.get("deviceProperties")
    for entry in properties if isinstance(properties, list) else ():
        if isinstance(entry, dict) and str(entry.get("id")) == device and isinstance(entry.get("name"), str):
            return str(entry["name"])[:60]
    return ""


def belonging(profile: Profile, nested: Nested, processes: Sequence[Process]) -> Runtime | Refused:
    """Join a profile with its process, or refuse it."""
    if not len(profile):
        return Refused(profile.path, "it has no events")
    candidates = [process for process in processes if process.compiles]
    if profile.rank is not None and any(process.rank is not None for process in candidates):
        candidates = [process for process in candidates if process.rank in (profile.rank, None)]
        if not candidates:
            return Refused(profile.path, f"it is from rank {profile.rank}, which has no trace")
    # another process of the same rank or pid comes last: joining reads the code
    candidates.sort(key=lambda process: (process.pid != profile.pid, process.rank != profile.rank))
    matching = [process for process in candidates if process.pid == profile.pid] or candidates
    cases = [
        _Case(Sums(profile, nested, process), process, process.pid == profile.pid, _in_time(profile, process))
        for process in matching
    ]
    case = max(cases, key=lambda item: item.rank, default=None)
    if case is None:
        return Refused(profile.path, "the trace has no compile")
    if case.is_disproven or not (case.is_proven or (case.same_pid and case.in_time)):
        return Refused(profile.path, _why(profile, nested, case))
    return case.sums.runtime(_doubts(profile, case))


def _in_time(profile: Profile, process: Process) -> bool:
    """Return whether the window ends after the process's first record."""
    return not process.is_dated or profile.epoch_us(profile.window[1]) / 1e6 >= process.started - BEFORE


def _doubts(profile: Profile, case: _Case) -> tuple[str, ...]:
    """Return the evidence against a match."""
    doubts = []
    if not case.same_pid:
        doubts.append(f"it is from process {profile.pid}, the trace from process {case.process.pid}, but the graphs are the same")
    elif not case.in_time:
        doubts.append("it was recorded before the trace began, but the graphs are the same")
    return tuple(doubts)


def _why(profile: Profile, nested: Nested, case: _Case) -> str:
    """Return the reason that a profile is of another run."""
    joined = case.sums.joined
    calls = sum(kind == CALL for kind in nested.kind)
    if joined.other_key:
        graphs = len({profile.name[nested.event[span]] for span, kind in enumerate(nested.kind) if kind == CALL})
        return f"it is from a different run: none of its {graphs} graph{'s' * (graphs != 1)} is in the trace"
    if joined.other_names:
        return f"it is from a different run: the kernels of its {calls} graph calls are not in the code of the trace"
    who = "it was recorded before the trace began"
    if not case.same_pid:
        who = f"it is from process {profile.pid}, which is not in the trace"
    if any(kind in (CALL, REGION) for kind in nested.kind):
        return f"{who}, and nothing shows that its graphs match the trace"
    return f"{who}, and no compiled code ran in it"


def runtimes_of(run: Run) -> tuple[Runtime | Refused, ...]:
    """Return for each read profile its result, or the reason that it is not of this run."""
    profiles = run.profiles
    if not profiles.version:
        return ()
    with profiles.lock:
        if profiles.cached_for == (run.version, profiles.version):
            return cast("tuple[Runtime | Refused, ...]", profiles.cached[1])
        state = profiles.version, _stamps(run)
        profiles.cached_for = run.version, profiles.version
        if profiles.cached[0] != state:
            results: list[Runtime | Refused] = []
            for file in profiles.files:
                if file.profile is not None:
                    results.append(belonging(file.profile, nested_of(run, file.profile), list(run.processes())))
                elif file.fault:
                    results.append(Refused(file.export.name, file.fault))
            profiles.cached = state, tuple(results)
        return cast("tuple[Runtime | Refused, ...]", profiles.cached[1])


def _stamps(run: Run) -> list[object]:
    """Return the cache key of a run's relevant state; compiles begun after the windows do not count."""
    last = max((item.epoch_us(item.window[1]) for item in run.profiles.profiles), default=0.0)
    stamps: list[object] = [process.naming.stamp for process in run.processes()]
    stamps += [
        (item.key, item.stamp) for process in run.processes() for item in process.ordered() if (item.start_us or 0.0) <= last
    ]
    return stamps


def preparing(run: Run) -> Iterator[None]:
    """Nest the read profiles of a run in steps, for `runtimes_of`. Does not touch any node."""
    for profile in run.profiles.profiles:
        if not run.profiles.is_derived(profile):
            walk = Walk(profile)
            yield from walk.steps()
            run.profiles.derived(profile, lambda _, walk=walk: walk.nested)  # type: ignore[misc]


def nested_of(run: Run, profile: Profile) -> Nested:
    """Return the cached nested events of a profile of the run."""
    return cast(Nested, run.profiles.derived(profile, nested))


def profile_of(run: Run, runtime: Runtime) -> Profile | None:
    """Return the profile of a result; None if it is no longer open."""
    profiles = (file.profile for file in run.profiles.files if file.export.name == runtime.profile)
    return next((profile for profile in profiles if profile is not None), None)


def compiling_us(run: Run, runtime: Runtime) -> float:
    """Return the compile time while the profiler ran, from the profile."""
    profile = profile_of(run, runtime)
    if profile is None:
        return 0.0
    return _covered(profile, nested_of(run, profile).compiling) / 1000


def spans_of(profile: Profile, nested: Nested, begin: int, end: int) -> Iterator[RunSpan | None]:
    """Yield the relevant events from `begin` to `end` (ns, in the profile's own time), by kind.

    Regions, guards, graphs, kernels, eager operators, device events. Yields None in between: a reader may stop there.
    """
    begins, durations = profile.begin, profile.duration
    kinds = ((KERNEL, nested.kernels), (EAGER, nested.eager), (DEVICE, nested.device))
    for kind, events in (("", nested.event), *kinds):
        for number, event in enumerate(events):
            if not number % AT_ONCE:
                yield None
            if begin <= begins[event] and begins[event] + durations[event] <= end:
                name = profile.name_of(event)
                label = (kind, kernel_name(name) if kind == KERNEL else name) if kind else _span_label(nested.kind[number], name)
                yield RunSpan(begins[event], begins[event] + durations[event], profile.thread[event], *label)


def _span_label(kind: int, name: str) -> tuple[str, str]:
    if kind == LOOKUP:
        return GUARDS, "guards"
    if kind == REGION:
        return REGIONS, f"[{region_id(name)}]"
    if kind == CALL:
        key = graph_key(name)
        return GRAPH, f"graph {key[:8]}" if key else "graph"
    if kind in (FORWARD, BACKWARD):
        return AROUND, "autograd forward" if kind == FORWARD else "autograd backward"
    return AROUND, name


def step_flames(run: Run, runtime: Runtime) -> Generator[None, None, tuple[StepFlame, ...]]:
    """Return the median step by duration, one flame per thread, busiest first.

    The entire window if there are no steps.
    """
    profile = profile_of(run, runtime)
    if profile is None:
        return ()
    step = _typical(runtime)
    begin = round(step.start_at_us * 1000) - profile.base_ns if step else profile.window[0]
    end = begin + round(step.duration_us * 1000) if step else profile.window[1]
    threads: dict[int, list[RunSpan]] = {}
    # the begin of a step is a float of µs since the epoch, exact to some hundred ns
    for span in spans_of(profile, nested_of(run, profile), begin - SLACK, end + SLACK):
        if span is None:
            yield
        elif span.kind != DEVICE:
            threads.setdefault(span.thread, []).append(span)
    refs = {f"[{compile_.ref.rpartition(':')[2].partition('~')[0]}]": compile_.ref for compile_ in runtime.compiles}
    flames = [_flame(step.name if step else "", spans, begin, end, profile, refs) for spans in threads.values()]
    return tuple(sorted(flames, key=lambda flame: -sum(bar.self_s for bar in flame.flame.bars)))


def _typical(runtime: Runtime) -> Step | None:
    ordered = sorted(runtime.steps, key=lambda step: step.duration_us)
    return ordered[len(ordered) // 2] if ordered else None


def _flame(step: str, spans: list[RunSpan], begin: int, end: int, profile: Profile, refs: dict[str, str]) -> StepFlame:
    """Nest spans by time, parents before children; direct children of the step have depth 0."""
    spans.sort(key=lambda span: (span.begin_ns, -span.end_ns))
    shown = spans[:MOST]
    depths: list[int] = []
    inside = [0] * len(shown)
    above: list[int] = []
    for number, span in enumerate(shown):
        while above and shown[above[-1]].end_ns <= span.begin_ns:
            above.pop()
        depths.append(len(above))
        if above:
            inside[above[-1]] += span.end_ns - span.begin_ns
        above.append(number)
    bars = tuple(
        Bar(span.name, depth, (span.begin_ns - begin) / 1e9, (span.end_ns - span.begin_ns) / 1e9,
            max(span.end_ns - span.begin_ns - within, 0) / 1e9, refs.get(span.name, ""), False)
        for span, depth, within in zip(shown, depths, inside, strict=True)
    )  # fmt: skip
    kinds = {span.name: span.kind for span in shown}
    return StepFlame(step, Flame(step, profile.epoch_us(begin), (end - begin) / 1e9, bars), kinds, len(spans) > MOST)


def first_rows(reading: Reading) -> FirstRows:
    """Add up the first events of a profile that is being read."""
    profile = reading.profile
    count = min(len(profile), FIRST_EVENTS)
    wanted = {number for number, category in enumerate(profile.categories) if category in _FIRST}
    sums: dict[int, list[int]] = {}
    for category, name, duration in zip(profile.category[:count], profile.name[:count], profile.duration[:count], strict=True):
        if category in wanted:
            entry = sums.setdefault(name, [0, 0])
            entry[0] += 1
            entry[1] += duration
    rows = [FirstRow(profile.names[name], calls, ns / 1000) for name, (calls, ns) in sums.items()]
    rows = sorted((row for row in rows if not _PROFILER.match(row.name)), key=lambda row: -row.us)
    return FirstRows(min(reading.done / reading.size, 1.0) * count / max(len(profile), 1), tuple(rows[:FIRST_SHOWN]))
