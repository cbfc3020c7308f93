"""Findings about run time, the most expensive first, and the JSON of `tltui runtime`.

Where profiles of all ranks show it, they include which rank the others waited for in their collectives.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from enum import Enum
from statistics import median
from typing import TypedDict, cast

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, metrics_fields
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import GraphBreak
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.runtime.costs import self_us, window_us
from tltui.questions.runtime.profile_results import (
    Collective,
    CompileTime,
    DeviceTime,
    GraphTime,
    KernelTime,
    Refused,
    Runtime,
    break_times,
    compile_at,
    process_of,
)
from tltui.questions.runtime.profile_sums import compiling_us
from tltui.questions.stacks.tracebacks import display_name
from tltui.text.frozen import frozen

_OF_ALL = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE)
"""Collectives that end nowhere before all ranks have joined. A broadcast or a send does not wait for all."""
FEWEST = 3
"""Collectives by which a rank is judged."""
MOST_OF_THEM = 2 / 3
SHORTER = 0.2
"""Share of the longest time by which the shortest must be shorter than all others."""
WAITED = 0.02
"""Share of the window that the others must have waited."""
CPP = "cpp_"
"""The prefix of Inductor's C++ kernels (torch/_inductor/codegen/cpp.py)."""

GUARDS_SHARE = 0.1
"""Share of guards in the time of a compile, from which on they are a finding."""
STEP_SHARE = 0.02
"""Share of anything in the total time, from which on it is a finding."""
WRAPPER_SHARE = 0.5
"""Share of a graph outside of kernels, from which on it is launch-bound."""
IDLE_SHARE = 0.3
COLLECTIVES_SHARE = 0.05
"""Share of collectives in which no thread computes, from which on they are a finding."""
OUTLIER = 10
"""Times the median that a call takes, from which on it is an outlier."""
KERNEL_SHARE = 0.05
EAGER_SHARE = 0.2
"""Share of operators outside of regions in the total time, from which on they are a finding."""
DEVICE = "device"


class Fact(Enum):
    """The kind of a finding."""

    GUARDS = "guards"
    BREAK = "break"
    FALLBACK = "fallback"
    LAUNCHES = "launches"
    IDLE = "idle"
    COMPILING = "compiling"
    EAGER = "eager"
    NEVER = "never called"
    KERNEL = "kernel"
    OUTLIER = "outlier"
    COLLECTIVES = "collectives"


@frozen
class Finding:
    """A fact."""

    fact: Fact
    ref: str
    """The compile that it is about, '' for all."""
    us: float
    """Its time in the window, or in a step where there are steps."""
    share: float
    """Its share (0…1): in the compile for guards, in the graph for launches, else in the total time."""
    calls: int = 0
    """Calls in the window."""
    mean_us: float = 0.0
    unit: str = ""
    name: str = ""
    """A kernel, an operator, a function or a collective; `device` where kernels run on one, of launches and of idle time."""
    lines: tuple[str, ...] = ()
    broke: GraphBreak | None = None
    """The graph break, if known."""
    seconds: float = 0.0
    """Its compile time."""
    count: int = 1
    """The number of compiles, of which this is the first; of a kernel 2 where it is all calls of a name."""
    most_us: float = 0.0
    """The longest call, of an outlier."""


@frozen
class Waits:
    """The rank that was waited for."""

    rank: int
    last: int
    """The collectives that are shortest on it."""
    calls: int
    own_us: float
    """Its time in those, in all."""
    others_us: float
    """The time of the median of the other ranks in those."""
    whom: str
    """The other ranks: `rank 0`, `the median of the others`."""
    is_in_order: bool
    """Whether by the clocks it joined each of those last, too: so the clocks agree."""


@part
def estimated_us(compile_: Compile, reader: Reader) -> float | None:
    """Return `guard_latency_us` of the metrics, None if it was not logged.

    Torch runs the guards once, warmed up, right after it has created them.
    """
    fields = next((fields for event, fields in metrics_fields(compile_, reader) if event == "compilation_metrics"), {})
    value = fields.get("guard_latency_us")
    return float(value) if isinstance(value, (int, float)) else None


def unseen(compile_: Compile | None, graph: GraphTime) -> tuple[int, int, bool]:
    """Count a graph's kernel calls missing from the profile: (missing, all, whether they are C++ kernels).

    C++ kernels appear in a profile only with `enable_kernel_profile`. (0, 0, False) without code.
    """
    unit = provenance_of(compile_).unit(graph.unit) if compile_ is not None and graph.unit else None
    if unit is None or unit.unit != graph.unit:
        return 0, 0, False
    measured, all_of = {kernel.key for kernel in graph.kernels}, {kernel.name for kernel in graph.kernels if kernel.nth < 0}
    missing = [kernel.name for kernel in unit.kernels if kernel.key not in measured and kernel.name not in all_of]
    return len(missing), len(unit.kernels), bool(missing) and all(name.startswith(CPP) for name in missing)


def findings_of(run: Run, runtime: Runtime) -> tuple[Finding, ...]:
    """Return the findings of a profile: improvements by cost, then the largest times."""
    steps = max(len(runtime.steps), 1)
    total_us = max(window_us(runtime), 1e-9)
    findings = [*_guards(runtime, steps), *_breaks(run, runtime, steps, total_us), *_fallbacks(run, runtime, steps, total_us),
             *_launches(run, runtime, steps, total_us), *_eager(runtime, steps, total_us),
             *_collectives(runtime, steps, total_us),
             *(compiling := tuple(_compiling(run, runtime, steps, total_us)))]  # fmt: skip
    findings.sort(key=lambda item: -item.us)
    expensive = [item for item in findings if item.us >= STEP_SHARE * total_us / steps or item.fact is Fact.FALLBACK]
    idle = () if any(item in expensive for item in compiling) else _idle(runtime, steps)
    return (*expensive, *_kernels(runtime, steps, total_us), *_outliers(runtime, steps, total_us), *idle, *_never(run, runtime))


def _guards(runtime: Runtime, steps: int) -> Iterator[Finding]:
    for compile_ in runtime.compiles:
        compile_us, lookups = self_us(compile_), compile_.lookups
        us = lookups.typical_us
        if lookups.calls and us >= GUARDS_SHARE * compile_us > 0:
            yield Finding(Fact.GUARDS, compile_.ref, us / steps, us / compile_us, lookups.calls, us / lookups.calls)


def _breaks(run: Run, runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    for item in break_times(run, runtime):
        calls = next(c.regions.calls for c in runtime.compiles if c.ref == item.ref)
        broke = item.breaks[0] if len(item.breaks) == 1 else None
        if item.breaks:
            yield Finding(Fact.BREAK, item.ref, item.eager_us / steps, item.eager_us / total_us, calls, broke=broke)


def _fallbacks(run: Run, runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    if runtime.fallbacks:
        us = sum(item.lookup_us for item in runtime.fallbacks)
        refs = {item.ref for item in runtime.fallbacks}
        ref = min(refs) if len(refs) == 1 else ""
        compile_ = compile_at(run, ref) if ref else None
        name = (display_name(compile_.frame) if compile_ is not None else None) or "the function of"
        yield Finding(Fact.FALLBACK, ref, us / steps, us / total_us, len(runtime.fallbacks), name=name)


def _launches(run: Run, runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    """Yield graphs with most of their time between kernels.

    Only if all kernels of the code are in the profile; otherwise unknown.
    """
    device = runtime.device
    if device is not None and device.idle_us < IDLE_SHARE * device.window_us * device.devices:
        return  # the host is ahead of it
    for compile_ in runtime.compiles:
        for graph in compile_.graphs:
            # what a device does beside the host counts in full: of a graph that only launches the rest is overhead
            graph_us = graph.time.typical_us
            us = max(graph_us - graph.device_us, 0.0) if graph.device_us else min(graph.typical_wrapper_us, graph_us)
            is_most = us >= max(WRAPPER_SHARE * graph_us, STEP_SHARE * total_us)
            if graph.kernels and is_most and not unseen(compile_at(run, compile_.ref), graph)[0]:
                yield Finding(
                    Fact.LAUNCHES, compile_.ref, us / steps, us / graph_us, graph.time.calls, graph.gap_us, graph.unit,
                    name=DEVICE if graph.device_us else "",
                )  # fmt: skip


def _compiling(run: Run, runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    """Yield the compile time while the profiler ran, which does not affect later steps.

    The compiles are from the metrics; the duration is from the profile if it has one.
    """
    process = process_of(run, runtime)
    times: list[tuple[float, str]] = []
    for compile_ in process.ordered() if process is not None else ():
        start, seconds = compile_.start_us, compile_.duration_s
        if start is not None and seconds:
            overlap = min(start + seconds * 1e6, runtime.end_us) - max(start, runtime.begin_us)
            if overlap > 0 and compile_.is_compile:
                times.append((overlap, str(compile_.ref)))
    us = min(compiling_us(run, runtime) or sum(overlap for overlap, _ in times), total_us)
    if us:
        yield Finding(Fact.COMPILING, max(times, default=(0.0, ""))[1], us / steps, us / total_us,
                      count=len(times), seconds=us / 1e6)


def _eager(runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    """Yield the time outside of compiled code: on the device, where there is one."""
    if (device := runtime.device) is not None:
        if device.ops and device.eager_us >= EAGER_SHARE * device.total_us:
            yield Finding(Fact.EAGER, "", device.eager_us / steps, device.eager_us / device.total_us,
                          sum(item.calls for item in device.ops), name=device.ops[0].name, unit=DEVICE)  # fmt: skip
        return
    outside = [item for item in runtime.eager if item.inside_ref is None]
    us = sum(item.total_us for item in outside)
    if outside and us >= EAGER_SHARE * total_us:
        most = max(outside, key=lambda item: item.total_us)
        yield Finding(Fact.EAGER, "", us / steps, us / total_us, sum(item.calls for item in outside), name=most.op)


def _collectives(runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    """Yield the time in which a collective was open and nothing of torch ran."""
    us = runtime.share.collectives_us
    if runtime.collectives and us >= COLLECTIVES_SHARE * total_us:
        sums: defaultdict[str, float] = defaultdict(float)
        for item in runtime.collectives:
            sums[item.name] += item.us
        most = max(sums, key=lambda name: sums[name])
        calls = sum(item.name == most for item in runtime.collectives)
        yield Finding(Fact.COLLECTIVES, "", us / steps, us / total_us, calls, name=most)


def _outliers(runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    """Yield the kernel call that took longest beyond the median of its calls."""
    worst: Finding | None = None
    for compile_ in runtime.compiles:
        for graph in compile_.graphs:
            for kernel in graph.kernels:
                time = kernel.time
                us = time.max_us - time.median_us
                is_far = time.calls > 2 and time.max_us >= OUTLIER * time.median_us and us >= STEP_SHARE * total_us
                if kernel.nth >= 0 and is_far and (worst is None or us > worst.us * steps):
                    worst = Finding(Fact.OUTLIER, compile_.ref, us / steps, us / total_us, time.calls, time.median_us, graph.unit,
                                    kernel.key or kernel.name, kernel.lines, most_us=time.max_us)  # fmt: skip
    if worst is not None:
        yield worst


def _idle(runtime: Runtime, steps: int) -> Iterator[Finding]:
    share, device = runtime.share, runtime.device
    total_us = share.total_us if device is None else device.window_us * device.devices
    us = share.idle_us if device is None else device.idle_us
    if total_us > 0 and us >= IDLE_SHARE * total_us:
        yield Finding(Fact.IDLE, "", us / steps, us / total_us, name="" if device is None else DEVICE)


def _kernels(runtime: Runtime, steps: int, total_us: float) -> Iterator[Finding]:
    """Yield the most expensive kernel call, by its median where single calls took far longer."""
    slowest: tuple[float, Finding] | None = None
    for compile_ in runtime.compiles:
        for graph in compile_.graphs:
            for kernel in graph.kernels:
                us = kernel.time.typical_us if kernel.nth >= 0 else kernel.time.us  # different calls have different times
                if us >= KERNEL_SHARE * total_us and (slowest is None or us > slowest[0]):
                    slowest = us, Finding(
                        Fact.KERNEL, compile_.ref, us / steps, us / total_us, kernel.time.calls, kernel.time.median_us, graph.unit,
                        kernel.key or kernel.name, kernel.lines, count=1 if kernel.nth >= 0 else 2,
                    )  # fmt: skip
    if slowest is not None:
        yield slowest[1]


def _never(run: Run, runtime: Runtime) -> Iterator[Finding]:
    """Yield one finding for compiles that did not run."""
    costs = [(seconds_of(run, ref), ref) for ref in runtime.never_called]
    if costs:
        most, ref = max(costs)
        yield Finding(Fact.NEVER, ref, 0.0, 0.0, seconds=most, count=len(costs))


def seconds_of(run: Run, ref: str) -> float:
    """Return the compile time in seconds, 0 if unknown."""
    compile_ = compile_at(run, ref)
    return compile_.compile_s if compile_ is not None else 0.0


def waits_of(runtimes: Sequence[Runtime]) -> Waits | None:
    """Return the rank that was waited for; None where that is not evident."""
    of_rank = {runtime.rank: runtime for runtime in runtimes if runtime.rank is not None}
    if len(of_rank) < 2 or len(of_rank) < len(runtimes):
        return None
    calls = _together(of_rank)
    shortest: dict[int, list[dict[int, Collective]]] = {}
    for call in calls:
        times = sorted((item.us, rank) for rank, item in call.items())
        if times[1][0] - times[0][0] > SHORTER * times[-1][0]:
            shortest.setdefault(times[0][1], []).append(call)
    rank = max(shortest, key=lambda rank: len(shortest[rank]), default=-1)
    if rank < 0 or len(calls) < FEWEST or len(shortest[rank]) < MOST_OF_THEM * len(calls):
        return None
    clear = shortest[rank]
    alone = sum(call[rank].us for call in clear)
    others = median(sum(call[other].us for call in clear) for other in of_rank if other != rank)
    if others - alone < WAITED * median(map(window_us, of_rank.values())):
        return None
    in_order = all(call[rank].begin_us == max(item.begin_us for item in call.values()) for call in clear)
    whom = "the median of the others" if len(of_rank) > 2 else f"rank {next(other for other in of_rank if other != rank)}"
    return Waits(rank, len(clear), len(calls), alone, others, whom, in_order)


def _together(of_rank: dict[int, Runtime]) -> list[dict[int, Collective]]:
    """Return the collectives of all ranks, each with all ranks; none where their orders differ.

    Where all profiles have the same steps, only steps with equal orders count: a window may cut the first and the last.
    """
    steps = {tuple(step.name for step in runtime.steps) for runtime in of_rank.values()}
    names = next(iter(steps)) if len(steps) == 1 else ()
    parts: list[dict[int, list[Collective]]] = []
    if names:
        for number in range(len(names)):
            parts.append({rank: _in_step(runtime, number) for rank, runtime in of_rank.items()})
    else:
        parts.append({rank: _of_all(runtime.collectives) for rank, runtime in of_rank.items()})
    results = []
    for by_rank in parts:
        if len({tuple(item.name for item in items) for items in by_rank.values()}) == 1:
            count = len(next(iter(by_rank.values())))
            results += [{rank: items[number] for rank, items in by_rank.items()} for number in range(count)]
    return results


def _in_step(runtime: Runtime, number: int) -> list[Collective]:
    """Return the collectives of all ranks that began in a step."""
    step = runtime.steps[number]
    first, last = step.start_at_us, step.start_at_us + step.duration_us
    return [item for item in _of_all(runtime.collectives) if first <= item.begin_us < last]


def _of_all(collectives: Sequence[Collective]) -> list[Collective]:
    return [item for item in collectives if _OF_ALL.search(item.name)]


class KernelTimeJson(TypedDict):
    """One call of a kernel in the code of a graph. Times are µs of wall clock, with the profiler on."""

    name: str
    call_number: int
    """The number of the call among those of that name in the code, from 0; -1: all of them, as they cannot be told apart."""
    handle: int | None
    """Torch's number of the call."""
    calls: int
    total_us: float
    mean_us: float
    median_us: float
    min_us: float
    max_us: float
    nodes: list[str]
    lines: list[str]
    """`FILE:LINE`. Each has the full time of the kernel: never to be added."""
    key: str
    """As in `tltui provenance --json`; '' where the code is not in the trace."""
    device: str


class GraphTimeJson(TypedDict):
    """One lowered graph."""

    unit: str
    key: str | None
    """The cache key by which the profile names it, null with caches off."""
    calls: int
    total_us: float
    mean_us: float
    median_us: float
    kernels_us: float
    wrapper_us: float
    """In the graph and in no kernel."""
    wrapper_median_us: float
    """The median of a call, of that."""
    gap_us: float
    """The median time between two kernels."""
    device_us: float
    kernels: list[KernelTimeJson]


class CompileRunJson(TypedDict):
    """One compile."""

    ref: str
    regions: int
    region_us: float
    """With the regions of other compiles in it: not to be added."""
    region_self_us: float
    lookups: int
    lookup_us: float
    """Trying its guards."""
    overhead_us: float
    eager_us: float
    graphs: list[GraphTimeJson]


class EagerJson(TypedDict):
    """An operator that ran outside of compiled graphs."""

    inside_ref: str | None
    op: str
    calls: int
    total_us: float


class FallbackJson(TypedDict):
    """Guards were tried, and no compile ran."""

    start_at_us: float
    lookup_us: float
    ops: list[str]
    ref: str


class ShareJson(TypedDict):
    """The parts of the window: disjoint and complete."""

    total_us: float
    kernels_us: float
    wrapper_us: float
    guards_us: float
    overhead_us: float
    eager_us: float
    idle_us: float
    """None of the others; compiling is in it."""
    collectives_us: float
    """In collectives while no thread computed."""


class CollectiveJson(TypedDict):
    """All calls of one collective."""

    name: str
    calls: int
    total_us: float
    """From start to end on its own thread: computing may go on meanwhile."""
    median_us: float


class DeviceOpJson(TypedDict):
    """Time on a device by a name."""

    name: str
    calls: int
    total_us: float


class StreamJson(TypedDict):
    """What ran on one stream."""

    device: str
    stream: str
    events: int
    total_us: float


class DeviceJson(TypedDict):
    """The side of the devices. Its `compiled_us`, `eager_us`, `direct_us`, `tuning_us` and `unknown_us` are all of it."""

    name: str
    devices: int
    window_us: float
    busy_us: float
    idle_us: float
    collectives_us: float
    """The part of `busy_us` in which only collectives ran."""
    compiled_us: float
    eager_us: float
    direct_us: float
    """Launched outside of operators and graphs."""
    tuning_us: float
    """Launched while torch compiled."""
    unknown_us: float
    copies_us: float
    replayed_us: float
    replays: int
    streams: list[StreamJson]
    eager: list[DeviceOpJson]
    kernels: list[DeviceOpJson]


class StepJson(TypedDict):
    """One step."""

    name: str
    start_at_us: float
    duration_us: float


class RuntimeJson(TypedDict):
    """The result of one profile for one process."""

    profile: str
    start_at_us: float
    end_at_us: float
    rank: int | None
    pid: int
    steps: list[StepJson]
    share: ShareJson
    fallback_count: int
    compiles: list[CompileRunJson]
    never_called: list[str]
    eager: list[EagerJson]
    fallbacks: list[FallbackJson]
    unmatched: dict[str, int]
    warnings: list[str]
    collectives: list[CollectiveJson]
    device: DeviceJson | None
    """Null where nothing ran on a device."""


class RefusedJson(TypedDict):
    """A profile that was not joined."""

    profile: str
    reason: str


class RuntimesJson(TypedDict):
    """Several profiles, or one that was refused."""

    runtimes: list[RuntimeJson]
    refused: list[RefusedJson]


def runtimes_json(
    runtimes: Sequence[Runtime], refused: Sequence[Refused], refs: Collection[str] | None = None
) -> RuntimeJson | RuntimesJson:
    """Return the documented JSON shape (docs/json.md).

    `refs`: only these compiles and their contents.
    """
    if len(runtimes) == 1 and not refused:
        return runtime_json(runtimes[0], refs)
    return {
        "runtimes": [runtime_json(runtime, refs) for runtime in runtimes],
        "refused": [cast(RefusedJson, asdict(item)) for item in refused],
    }


def runtime_json(runtime: Runtime, refs: Collection[str] | None = None) -> RuntimeJson:
    """Return one profile as JSON."""
    fallbacks = [item for item in runtime.fallbacks if refs is None or item.ref in refs]
    return {
        "profile": runtime.profile,
        "start_at_us": runtime.begin_us,
        "end_at_us": runtime.end_us,
        "rank": runtime.rank,
        "pid": runtime.pid,
        "steps": [cast(StepJson, asdict(step)) for step in runtime.steps],
        "share": cast(ShareJson, asdict(runtime.share)),
        "fallback_count": len(fallbacks),
        "compiles": [_compile(compile_) for compile_ in runtime.compiles if refs is None or compile_.ref in refs],
        "never_called": [ref for ref in runtime.never_called if refs is None or ref in refs],
        "eager": [cast(EagerJson, asdict(item)) for item in runtime.eager if refs is None or item.inside_ref in refs],
        "fallbacks": [cast(FallbackJson, asdict(item) | {"ops": list(item.ops)}) for item in fallbacks],
        "unmatched": dict(runtime.unmatched),
        "warnings": list(runtime.doubts),
        "collectives": _collectives_json(runtime),
        "device": _device(runtime.device) if runtime.device is not None else None,
    }  # fmt: skip


def _collectives_json(runtime: Runtime) -> list[CollectiveJson]:
    times: defaultdict[str, list[float]] = defaultdict(list)
    for item in runtime.collectives:
        times[item.name].append(item.us)
    return [
        {"name": name, "calls": len(each), "total_us": sum(each), "median_us": median(each)} for name, each in times.items()
    ]


def _device(device: DeviceTime) -> DeviceJson:
    return {
        "name": device.name,
        "devices": device.devices,
        "window_us": device.window_us,
        "busy_us": device.busy_us,
        "idle_us": device.idle_us,
        "collectives_us": device.collective_us,
        "compiled_us": device.compiled_us,
        "eager_us": device.eager_us,
        "direct_us": device.bare_us,
        "tuning_us": device.compiling_us,
        "unknown_us": device.unknown_us,
        "copies_us": device.copies_us,
        "replayed_us": device.replayed_us,
        "replays": device.replays,
        "streams": [
            {"device": item.device, "stream": item.stream, "events": item.events, "total_us": item.us} for item in device.streams
        ],
        "eager": [{"name": item.name, "calls": item.calls, "total_us": item.us} for item in device.ops],
        "kernels": [{"name": item.name, "calls": item.calls, "total_us": item.us} for item in device.kernels],
    }


def _compile(compile_: CompileTime) -> CompileRunJson:
    return {
        "ref": compile_.ref,
        "regions": compile_.regions.calls,
        "region_us": compile_.regions.us,
        "region_self_us": compile_.region_self_us,
        "lookups": compile_.lookups.calls,
        "lookup_us": compile_.lookups.us,
        "overhead_us": compile_.overhead_us,
        "eager_us": compile_.eager_us,
        "graphs": [_graph(graph) for graph in compile_.graphs],
    }


def _graph(graph: GraphTime) -> GraphTimeJson:
    return {
        "unit": graph.unit,
        "key": graph.key,
        "calls": graph.time.calls,
        "total_us": graph.time.us,
        "mean_us": graph.time.mean_us,
        "median_us": graph.time.median_us,
        "kernels_us": graph.kernels_us,
        "wrapper_us": graph.wrapper_us,
        "wrapper_median_us": graph.wrapper_median_us,
        "gap_us": graph.gap_us,
        "device_us": graph.device_us,
        "kernels": [_kernel(kernel) for kernel in graph.kernels],
    }


def _kernel(kernel: KernelTime) -> KernelTimeJson:
    time = kernel.time
    return {
        "name": kernel.name,
        "call_number": kernel.nth,
        "handle": kernel.handle,
        "calls": time.calls,
        "total_us": time.us,
        "mean_us": time.mean_us,
        "median_us": time.median_us,
        "min_us": time.min_us,
        "max_us": time.max_us,
        "nodes": list(kernel.nodes),
        "lines": list(kernel.lines),
        "key": kernel.key,
        "device": kernel.device,
    }
