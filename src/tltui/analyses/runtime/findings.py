"""What is worth knowing of a run's time: facts with what they cost, the dearest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tltui.analyses.problems.breaks import GraphBreak
from tltui.analyses.runtime.costs import own_us, whole_us
from tltui.analyses.runtime.eager import break_times
from tltui.analyses.runtime.nodes import compile_at, process_of
from tltui.analyses.runtime.result import CompileTime, Runtime
from tltui.analyses.runtime.spans import compiling_us
from tltui.analyses.runtime.unseen import unseen
from tltui.analyses.stacks.known_as import shown_name
from tltui.model.run import Run

GUARDS_SHARE = 0.1
"""Of the time of a compile that guards take, from which on that is worth a sentence."""
STEP_SHARE = 0.02
"""Of the whole that anything takes, from which on it is."""
WRAPPER_SHARE = 0.5
"""Of the time of a graph that is in no kernel, from which on it is launch-bound."""
IDLE_SHARE = 0.3
KERNEL_SHARE = 0.05
EAGER_SHARE = 0.2
"""Of the whole that operators take outside of all regions, from which on it is worth a sentence."""


class Fact(Enum):
    """What a finding is about."""

    GUARDS = "guards"
    BREAK = "break"
    FALLBACK = "fallback"
    LAUNCHES = "launches"
    IDLE = "idle"
    COMPILING = "compiling"
    EAGER = "eager"
    NEVER = "never called"
    KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact."""

    fact: Fact
    ref: str
    """The compile that it is about, '' for all."""
    us: float
    """What it takes in the window, or in a step where there are steps."""
    share: float
    """Of that: of the compile for guards, of the graph for launches, of the whole for all else. 0…1."""
    calls: int = 0
    """Calls in the window."""
    mean_us: float = 0.0
    unit: str = ""
    name: str = ""
    """A kernel, an operator, or a function; `device` where kernels run on one, of launches and of idle time."""
    lines: tuple[str, ...] = ()
    broke: GraphBreak | None = None
    """Where the break is, if it is known."""
    seconds: float = 0.0
    """What compiling it took."""
    count: int = 1
    """Of how many compiles this is the first."""


def findings_of(run: Run, runtime: Runtime) -> tuple[Finding, ...]:
    """The facts of a profile. First what could be better, by what it costs; then where the most time is."""
    steps = max(len(runtime.steps), 1)
    whole = max(whole_us(runtime), 1e-9)
    found = [*_guards(runtime, steps), *_breaks(run, runtime, steps, whole), *_fallbacks(run, runtime, steps, whole),
             *_launches(run, runtime, steps, whole), *_eager(runtime, steps, whole),
             *(compiling := tuple(_compiling(run, runtime, steps, whole)))]  # fmt: skip
    found.sort(key=lambda item: -item.us)
    dear = [item for item in found if item.us >= STEP_SHARE * whole / steps or item.fact is Fact.FALLBACK]
    idle = () if any(item in dear for item in compiling) else _idle(runtime, steps)
    return (*dear, *_kernels(runtime, steps, whole), *idle, *_never(run, runtime))


def _guards(runtime: Runtime, steps: int) -> Iterator[Finding]:
    for compile_ in runtime.compiles:
        own, lookups = own_us(compile_), compile_.lookups
        if lookups.calls and lookups.us >= GUARDS_SHARE * own > 0:
            yield Finding(Fact.GUARDS, compile_.ref, lookups.us / steps, lookups.us / own, lookups.calls, lookups.mean_us)


def _breaks(run: Run, runtime: Runtime, steps: int, whole: float) -> Iterator[Finding]:
    for item in break_times(run, runtime):
        calls = next(c.regions.calls for c in runtime.compiles if c.ref == item.ref)
        broke = item.breaks[0] if len(item.breaks) == 1 else None
        if item.breaks:
            yield Finding(Fact.BREAK, item.ref, item.eager_us / steps, item.eager_us / whole, calls, broke=broke)


def _fallbacks(run: Run, runtime: Runtime, steps: int, whole: float) -> Iterator[Finding]:
    if runtime.fallbacks:
        us = sum(item.lookup_us for item in runtime.fallbacks)
        refs = {item.ref for item in runtime.fallbacks}
        ref = min(refs) if len(refs) == 1 else ""
        compile_ = compile_at(run, ref) if ref else None
        name = (shown_name(compile_.frame) if compile_ is not None else None) or "the function of"
        yield Finding(Fact.FALLBACK, ref, us / steps, us / whole, len(runtime.fallbacks), name=name)


def _launches(run: Run, runtime: Runtime, steps: int, whole: float) -> Iterator[Finding]:
    """Graphs whose time is mostly between kernels. Where not all kernels of the code are in the profile that is not known."""
    for compile_ in runtime.compiles:
        for graph in compile_.graphs:
            # what a device does beside the host counts in full: of a graph that only launches the rest is overhead
            us = max(graph.time.us - graph.device_us, 0.0) if graph.device_us else graph.wrapper_us
            is_most = us >= max(WRAPPER_SHARE * graph.time.us, STEP_SHARE * whole)
            if graph.kernels and is_most and not unseen(compile_at(run, compile_.ref), graph)[0]:
                yield Finding(
                    Fact.LAUNCHES, compile_.ref, us / steps, us / graph.time.us, graph.time.calls, graph.gap_us, graph.unit,
                    name="device" if graph.device_us else "",
                )  # fmt: skip


def _compiling(run: Run, runtime: Runtime, steps: int, whole: float) -> Iterator[Finding]:
    """What was compiled while the profiler ran, as far as the metrics tell: it says nothing of later steps. How long that took the
    profile says, where it does."""
    process = process_of(run, runtime)
    found: list[tuple[float, str]] = []
    for compile_ in process.ordered() if process is not None else ():
        start, seconds = compile_.start_us, compile_.duration_s
        if start is not None and seconds:
            overlap = min(start + seconds * 1e6, runtime.end_us) - max(start, runtime.begin_us)
            if overlap > 0 and compile_.is_compile:
                found.append((overlap, str(compile_.ref)))
    us = min(compiling_us(run, runtime) or sum(overlap for overlap, _ in found), whole)
    if us:
        yield Finding(Fact.COMPILING, max(found, default=(0.0, ""))[1], us / steps, us / whole, count=len(found), seconds=us / 1e6)


def _eager(runtime: Runtime, steps: int, whole: float) -> Iterator[Finding]:
    """What runs in no compiled code at all."""
    outside = [item for item in runtime.eager if item.inside is None]
    us = sum(item.us for item in outside)
    if outside and us >= EAGER_SHARE * whole:
        most = max(outside, key=lambda item: item.us)
        yield Finding(Fact.EAGER, "", us / steps, us / whole, sum(item.calls for item in outside), name=most.op)


def _idle(runtime: Runtime, steps: int) -> Iterator[Finding]:
    share = runtime.share
    if share.whole_us > 0 and share.idle_us >= IDLE_SHARE * share.whole_us:
        has_device = any(graph.device_us for own in runtime.compiles for graph in own.graphs)
        name = "device" if has_device else ""
        yield Finding(Fact.IDLE, "", share.idle_us / steps, share.idle_us / share.whole_us, name=name)


def _kernels(runtime: Runtime, steps: int, whole: float) -> Iterator[Finding]:
    """The dearest call of a kernel."""
    dearest: tuple[float, CompileTime, Finding] | None = None
    for compile_ in runtime.compiles:
        for graph in compile_.graphs:
            for kernel in graph.kernels:
                us = kernel.time.us
                if us >= KERNEL_SHARE * whole and (dearest is None or us > dearest[0]):
                    name = kernel.key or kernel.name
                    dearest = us, compile_, Finding(
                        Fact.KERNEL, compile_.ref, us / steps, us / whole, kernel.time.calls, kernel.time.mean_us, graph.unit, name,
                        kernel.lines,
                    )  # fmt: skip
    if dearest is not None:
        yield dearest[2]


def _never(run: Run, runtime: Runtime) -> Iterator[Finding]:
    """What was compiled and did not run, said once."""
    own = [(seconds_of(run, ref), ref) for ref in runtime.never_called]
    if own:
        most, ref = max(own)
        yield Finding(Fact.NEVER, ref, 0.0, 0.0, seconds=most, count=len(own))


def seconds_of(run: Run, ref: str) -> float:
    """What compiling took, 0 where that is not known."""
    compile_ = compile_at(run, ref)
    return compile_.tally.seconds if compile_ is not None else 0.0
