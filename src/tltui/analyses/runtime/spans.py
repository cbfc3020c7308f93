"""Single events of a profile that mean something: for a flame view of one step, and for a file that Perfetto shows."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from tltui.analyses.runtime.nesting import Nested
from tltui.analyses.runtime.result import Runtime, Step
from tltui.analyses.runtime.runtimes import nested_of
from tltui.analyses.runtime.words import BACKWARD, CALL, FORWARD, LOOKUP, REGION, graph_key, kernel_name, region_id
from tltui.analyses.timing.results import Bar, Flame
from tltui.inputs.profile.columns import Profile
from tltui.model.run import Run

GUARDS, GRAPH, KERNEL, EAGER, AROUND, DEVICE = "guards", "graph", "kernel", "eager", "around", "device"
"""What an event is, beside a region."""
REGIONS = "region"
MOST = 20_000
"""Events of a flame."""
AT_ONCE = 50_000
"""Events that are looked at between two moments at which a reader may leave."""
SLACK = 500
"""ns by which an event may lie beyond the step that it is in."""


@dataclass(frozen=True, slots=True)
class RunSpan:
    """One event."""

    begin_ns: int
    """In the profile's own time."""
    end_ns: int
    thread: int
    """A number of `Profile.threads`."""
    kind: str
    name: str
    """What people call it: `[0/0]`, `guards`, `graph fxqmjx…`, the name of a kernel in the code, an operator."""


@dataclass(frozen=True, slots=True)
class StepFlame:
    """One step on one thread."""

    step: str
    """Its name, '' for the whole window."""
    flame: Flame
    kinds: dict[str, str]
    """Name of a bar → what it is."""
    cut: bool
    """Whether there was more than is in it."""


def profile_of(run: Run, runtime: Runtime) -> Profile | None:
    """The profile that a result was made from; None when it is no longer there."""
    found = (file.profile for file in run.profiles.files if file.found.name == runtime.profile)
    return next((profile for profile in found if profile is not None), None)


def compiling_us(run: Run, runtime: Runtime) -> float:
    """How long torch compiled while the profiler ran, as the profile has it."""
    profile = profile_of(run, runtime)
    if profile is None:
        return 0.0
    total, until = 0, 0
    for event in sorted(nested_of(run, profile).compiling, key=lambda event: profile.begin[event]):
        end = profile.end(event)
        total += max(end - max(profile.begin[event], until), 0)
        until = max(until, end)
    return total / 1000


def spans_of(profile: Profile, nested: Nested, begin: int, end: int) -> Iterator[RunSpan | None]:
    """What means something and lies from `begin` to `end` (ns, in the profile's own time), kind by kind: regions, guards, graphs,
    kernels, eager operators, what ran on a device. None now and then: a moment at which a reader may leave."""
    begins, durations = profile.begin, profile.duration
    kinds = ((KERNEL, nested.kernels), (EAGER, nested.eager), (DEVICE, nested.device))
    for kind, events in (("", nested.event), *kinds):
        for number, event in enumerate(events):
            if not number % AT_ONCE:
                yield None
            if begin <= begins[event] and begins[event] + durations[event] <= end:
                name = profile.name_of(event)
                said = (kind, kernel_name(name) if kind == KERNEL else name) if kind else _said(nested.kind[number], name)
                yield RunSpan(begins[event], begins[event] + durations[event], profile.thread[event], *said)


def _said(kind: int, name: str) -> tuple[str, str]:
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
    """The step in the middle by its time, a flame a thread; without steps the whole window. The busiest thread first."""
    profile = profile_of(run, runtime)
    if profile is None:
        return ()
    step = _typical(runtime)
    begin = round(step.begin_us * 1000) - profile.base_ns if step else profile.window[0]
    end = begin + round(step.us * 1000) if step else profile.window[1]
    threads: dict[int, list[RunSpan]] = {}
    # the begin of a step is a float of µs since the epoch, exact to some hundred ns
    for span in spans_of(profile, nested_of(run, profile), begin - SLACK, end + SLACK):
        if span is None:
            yield
        elif span.kind != DEVICE:
            threads.setdefault(span.thread, []).append(span)
    refs = {f"[{own.ref.rpartition(':')[2].partition('~')[0]}]": own.ref for own in runtime.compiles}
    made = [_flame(step.name if step else "", spans, begin, end, profile, refs) for spans in threads.values()]
    return tuple(sorted(made, key=lambda found: -sum(bar.self_s for bar in found.flame.bars)))


def _typical(runtime: Runtime) -> Step | None:
    ordered = sorted(runtime.steps, key=lambda step: step.us)
    return ordered[len(ordered) // 2] if ordered else None


def _flame(step: str, spans: list[RunSpan], begin: int, end: int, profile: Profile, refs: dict[str, str]) -> StepFlame:
    """Nested by time, parents before their children. What is in nothing but the step is at depth 0."""
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
