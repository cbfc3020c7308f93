"""Rows of times: what compiling took, and what running takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from tltui.api.rows.words import joined
from tltui.questions.runtime.runtime_report import RuntimeJson, RuntimesJson
from tltui.questions.timing.timing_results import Timing


@dataclass(frozen=True, slots=True)
class TimingRow:
    """What one phase of one compile took by itself. A compile without phases has one row, with an empty `phase`."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    status: str | None
    """The status of the compile."""
    compile_seconds: float
    """What all of the compile took, in seconds: the same in each of its rows."""
    source: str
    """What tells it: `metrics` or `events`."""
    phase: str
    """The phase; empty where the log does not tell phases."""
    seconds: float
    """What the phase took by itself, in seconds: these add up."""


def timing_rows(data: Timing) -> Iterator[TimingRow]:
    """A row a phase."""
    for own in data.compiles:
        head = (own.ref, own.function, own.file, own.line, own.status, own.seconds, own.source)
        if not own.phases:
            yield TimingRow(*head, "", own.seconds)
        for phase in own.phases:
            yield TimingRow(*head, phase.name, phase.seconds)


@dataclass(frozen=True, slots=True)
class RuntimeRow:
    """One call of a kernel in the code of a graph. Times are wall clock, with the profiler on, of a step where the profile has
    steps."""

    profile: str
    """The profile."""
    rank: int | None
    """The rank."""
    pid: int
    """The process."""
    ref: str
    """The address of the compile."""
    unit: str
    """The lowering."""
    kernel: str
    """What the kernel is called."""
    key: str
    """As in provenance: `NAME:HANDLE`; empty where the code is not in the trace."""
    device: str
    """Where it ran."""
    calls: int
    """How often it was called."""
    us: float
    """All calls together, in microseconds."""
    mean_us: float
    """The mean of a call."""
    median_us: float
    """The median of a call."""
    min_us: float
    """The shortest call."""
    max_us: float
    """The longest call."""
    nodes: str
    """The post-grad nodes that it computes."""
    lines: str
    """The lines of source, `FILE:LINE`. Each has the whole time of the kernel: never to be added over lines."""


def runtime_rows(data: RuntimeJson | RuntimesJson) -> Iterator[RuntimeRow]:
    """A row a kernel."""
    several = cast(dict[str, list[RuntimeJson]], data).get("runtimes")
    for run in [cast(RuntimeJson, data)] if several is None else several:
        for compile_ in run["compiles"]:
            for graph in compile_["graphs"]:
                for own in graph["kernels"]:
                    yield RuntimeRow(
                        run["profile"], run["rank"], run["pid"], compile_["ref"], graph["unit"], own["name"], own["key"],
                        own["device"], own["calls"], own["us"], own["mean_us"], own["median_us"], own["min_us"], own["max_us"],
                        joined(own["nodes"]), joined(own["lines"]),
                    )  # fmt: skip
