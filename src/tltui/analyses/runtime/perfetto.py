"""What ran, as events for Perfetto: beside the timing events of compiling, which have the same clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tltui.analyses.runtime.result import Runtime
from tltui.analyses.runtime.runtimes import nested_of
from tltui.analyses.runtime.spans import DEVICE, GRAPH, GUARDS, REGIONS, profile_of, spans_of
from tltui.model.run import Run

STEPS = "steps"
NAMES = {REGIONS: "compiled region", GUARDS: "guards", GRAPH: "graph"}
"""What a category is called, where it says more than its word."""


class Ran(NamedTuple):
    """One event."""

    thread: str
    """`run time, thread 9234`, `run time, steps`."""
    event: dict[str, Any]
    """Without process and thread."""


def ran(run: Run, runtime: Runtime) -> Iterator[Ran]:
    """The events of a profile: steps, regions, guards, graphs, kernels, eager operators, what ran on devices. In µs."""
    for step in runtime.steps:
        yield Ran(f"run time, {STEPS}", _complete(step.name, "step", step.begin_us, step.us))
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
