"""Where the time of a compile went, by phase.

The intervals of the timing events nest, and worker threads write into the same lane. So an instant belongs to the
most specific phase that covers it: kernels before guards, Inductor, autograd, Dynamo. The phases add up to the wall
time, also when threads overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tltui.analyses.records import Reader, number_in
from tltui.analyses.timing.events import Event, Interval, after_events, intervals_of
from tltui.model.nodes import Compile

DYNAMO, AUTOGRAD, BACKEND, INDUCTOR, KERNELS, CACHE, GUARDS, OTHER = (
    "dynamo", "aot autograd", "backend", "inductor", "kernels", "cache", "guards", "other",
)  # fmt: skip
MEANING = {
    DYNAMO: "tracing Python into a graph",
    AUTOGRAD: "AOTAutograd: functionalizing, the joint graph, partitioning",
    BACKEND: "the backend, outside of Inductor",
    INDUCTOR: "passes, lowering, scheduling and code generation",
    KERNELS: "compiling (Triton or C++), loading and autotuning kernels",
    CACHE: "loading from a cache",
    GUARDS: "building the guards",
    OTHER: "garbage collection and what no event names",
}
PRIORITY = (KERNELS, GUARDS, CACHE, INDUCTOR, AUTOGRAD, DYNAMO, OTHER)
"""From the most to the least specific."""
ORDER = (DYNAMO, AUTOGRAD, BACKEND, INDUCTOR, CACHE, KERNELS, GUARDS, OTHER)
_KERNEL_NAMES = ("compile_file", "async_compile.", "CachingAutotuner.", "TritonBenchmarker.", "benchmark")
_CACHE_NAMES = ("AOTAutogradCache.", "FxGraphCache.", "TritonBundler.")
_INDUCTOR_NAMES = (
    "inductor_compile", "fx_codegen_and_compile", "compile_fx.", "compile_fx_aot", "_recursive_", "GraphLowering.",
    "Scheduler.", "code_gen", "PyCodeCache.", "pass.",
)  # fmt: skip
_AUTOGRAD_NAMES = ("backend_compile", "create_aot_dispatcher_function", "aot_")
_DYNAMO_NAMES = ("dynamo", "entire_frame_compile", "compile_attempt_", "bytecode_tracing", "compiled_autograd")


@dataclass(frozen=True, slots=True)
class Phase:
    """What a phase took by itself."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Open:
    """Something that began and was not seen to end: still running, or killed in it."""

    name: str
    since: float
    """Microseconds since the epoch."""
    seconds: float
    """Up to the last record of this compile: at least so long. 0: nothing is known of its length."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Where the time went. `source` is `events`, `metrics`, or '' where nothing is known."""

    source: str
    phases: tuple[Phase, ...] = ()
    """Of the compile; a backward that was compiled later is not in it."""
    backward: tuple[Phase, ...] = ()
    """Of the backward that was compiled later."""
    start: float | None = None
    """Microseconds since the epoch."""
    end: float | None = None
    open: tuple[Open, ...] = ()
    """The outermost first."""

    @property
    def seconds(self) -> float:
        """All phases of the compile."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def backward_seconds(self) -> float:
        """All phases of the backward."""
        return sum(phase.seconds for phase in self.backward)


def timing_of(events: list[Event], metrics: list[tuple[str, dict[str, Any]]], later_s: float = 0.0) -> Timing:
    """The timing of a compile: from its events, else from the totals in its metrics. It is known to have gone on for `later_s`
    seconds after its last event."""
    intervals = intervals_of(events)
    if not intervals:
        return _from_metrics(metrics)
    last = max([event.at for event in events] + [i.end for i in intervals if i.end is not None]) + later_s * 1e6
    whole = [i for i in intervals if i.name == "entire_backward_compile"]
    backward = [i for i in intervals if any(_inside(i, outer, last) for outer in whole)]
    taken = {id(interval) for interval in backward}
    forward = [i for i in intervals if id(i) not in taken]
    waiting = tuple(Open(i.name, i.start, (last - i.start) / 1e6) for i in intervals if i.end is None)
    return Timing("events", _phases(forward, last), _phases(backward, last), intervals[0].start, last, waiting)


def timing_so_far(
    compile_: Compile, events: list[Event], metrics: list[tuple[str, dict[str, Any]]], reader: Reader
) -> Timing:
    """The same of a compile that may not have ended: its last record tells how long it went on at least."""
    timing = timing_of(events, metrics)
    later_s = after_events(compile_, reader) if timing.open else 0.0
    return timing_of(events, metrics, later_s) if later_s else timing


def _inside(interval: Interval, outer: Interval, last: float) -> bool:
    return outer.start <= interval.start <= (last if outer.end is None else outer.end)


@lru_cache(maxsize=4096)
def group_of(name: str) -> str:
    """The phase that an event of this name belongs to."""
    for group, names in (
        (KERNELS, _KERNEL_NAMES), (CACHE, _CACHE_NAMES), (INDUCTOR, _INDUCTOR_NAMES), (AUTOGRAD, _AUTOGRAD_NAMES),
        (DYNAMO, _DYNAMO_NAMES),
    ):  # fmt: skip
        if name.startswith(names):
            return group
    return GUARDS if name == "build_guards" else OTHER


def _phases(intervals: list[Interval], last: float) -> tuple[Phase, ...]:
    """Seconds by phase. Phases without time are left out."""
    micros = micros_by_phase((i.name, i.start, last if i.end is None else i.end) for i in intervals)
    return ordered(micros, any(is_aot(interval.name) for interval in intervals))


def micros_by_phase(spans: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Microseconds by phase of (name, start, end), each instant counted for the most specific phase that covers it."""
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
    """Whether an event shows that the backend was AOTAutograd; without one, the time is that of another backend."""
    return name.startswith("create_aot_dispatcher")


def ordered(micros: Mapping[str, float], aot: bool) -> tuple[Phase, ...]:
    """Phases in the order of the compiler's work, those without time left out."""
    named = {BACKEND if group == AUTOGRAD and not aot else group: value for group, value in micros.items()}
    return tuple(Phase(name, named[name] / 1e6) for name in ORDER if named.get(name, 0) > 0)


def union(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same time without overlaps."""
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
    """The totals of metrics contain each other: whole ⊃ AOTAutograd ⊃ Inductor ⊃ waiting for kernels."""
    forward: list[Phase] = []
    backward: list[Phase] = []
    for event, fields in metrics:
        is_backward = event != "compilation_metrics"
        kernels = _seconds(fields, "triton_compile_time_us")
        inductor = _seconds(fields, "inductor_cumulative_compile_time_us", "inductor_compile_time_s")
        if is_backward:
            whole = _seconds(fields, "backward_cumulative_compile_time_us")
            chain = [(OTHER, whole), (INDUCTOR, inductor), (KERNELS, kernels)]
        else:
            whole = _seconds(fields, "dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s")
            aot = _seconds(fields, "aot_autograd_cumulative_compile_time_us", "backend_compile_time_s")
            chain = [(DYNAMO, whole), (AUTOGRAD, aot), (INDUCTOR, inductor), (KERNELS, kernels)]
        known = [(name, value) for name, value in chain if value is not None]
        inner = [value for _, value in known[1:]] + [0.0]
        phases = [Phase(name, max(value - less, 0.0)) for (name, value), less in zip(known, inner, strict=False)]
        (backward if is_backward else forward).extend(phase for phase in phases if phase.seconds > 0)
    return Timing("metrics" if forward or backward else "", tuple(forward), tuple(backward))
