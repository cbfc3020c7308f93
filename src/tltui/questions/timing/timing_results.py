"""Results of the page `timing`: seconds, and µs since the epoch for points in time."""

from __future__ import annotations

from typing import NamedTuple

from tltui.questions.timing.timing_events import Phase
from tltui.text.frozen import frozen


@frozen
class NameTime:
    """All timing events of one name."""

    name: str
    phase: str
    """The part of the compiler's work it belongs to: dynamo, inductor, kernels …"""
    self_s: float
    """Without what began inside of it."""
    total_s: float
    """While it was active; nested or parallel ones of the same name count once."""
    work_s: float
    """All of them added up: more than the total where threads work side by side."""
    count: int
    longest_s: float
    longest: str | None
    """The address of the compile with the longest one."""
    record: str | None
    """The page of the event that began the longest one."""


@frozen
class CompileTime:
    """One compile: its forward and, where it was compiled, its backward."""

    ref: str
    function: str | None
    file: str | None
    line: int | None
    status: str | None
    seconds: float
    source: str
    """`metrics`, or `events` for what has no metrics: records without an id, compiles that were cut off."""
    start: float | None
    phases: tuple[Phase, ...]


@frozen
class FunctionTime:
    """All compiles of a code object, on all ranks."""

    function: str | None
    file: str | None
    line: int | None
    frame: str
    """The address of the frame, on the rank where its slowest compile is."""
    seconds: float
    compiles: int
    ranks: int
    slowest: str
    slowest_s: float
    phases: tuple[Phase, ...]


@frozen
class ProcessTime:
    """One process of a rank."""

    ref: str
    rank: int | None
    pid: int
    seconds: float
    compiles: int
    phases: tuple[Phase, ...]
    busy_s: float | None
    """While anything was compiled, by the events."""
    span_s: float | None
    """From its first event to its last."""


@frozen
class Outlier:
    """A rank that took much longer than the others."""

    ref: str
    rank: int
    seconds: float
    typical_s: float
    """The median of all ranks, of an even number the lower one."""
    phase: str | None
    """Where most of the difference is."""
    phase_s: float
    """By how much it took longer there."""
    event: str = ""
    """The innermost timing event that explains it; '' where none does or that is not known."""
    event_s: float = 0.0
    """By how much it was longer in it."""


@frozen
class StillOpen:
    """A compile with events that began and were not seen to end."""

    ref: str
    names: tuple[str, ...]
    """The outermost first."""
    record: str
    """The page of the event that began the innermost."""
    since: float
    """When the outermost began."""
    seconds: float | None
    """From then to the last event of the process: at least so long. None: it is the last event, nothing is known of the time."""
    inner_s: float | None
    """The same of the innermost."""
    last: float
    """The last event of the process."""
    finished: bool
    """Whether its metrics were written all the same: then only the end events are missing."""


@frozen
class Gap:
    """A time during which a process compiled nothing."""

    seconds: float
    start: float
    after: str
    """The address of the compile before it."""
    before: str


@frozen
class KernelTime:
    """A Triton kernel."""

    name: str
    seconds: float
    ref: str
    """Where it is stated."""
    cache: str | None = None
    """What the cache of tuned configurations said: hit, miss, only 1 config."""
    configs: int | None = None
    """Configurations that were tried."""


class Tuning(NamedTuple):
    """What the metrics of a compile state of autotuning."""

    what: str
    seconds: float
    ref: str


@frozen
class Kernels:
    """Compiling kernels."""

    triton: tuple[KernelTime, ...]
    """The slowest first."""
    triton_s: float
    """All of them added up; workers compile them side by side."""
    files: int
    """C++ and other files that were compiled (`compile_file`)."""
    files_s: float
    """All of them added up."""
    longest_file_s: float
    longest_file: str | None
    """The page of its event."""
    wait_s: float
    """While a compile waited for kernels (`async_compile.wait`)."""
    tuning: tuple[Tuning, ...] = ()
    """Autotuning and CUDA graphs as the metrics state them, of one compile."""


@frozen
class Bar:
    """One event of a flame view."""

    name: str
    depth: int
    start_s: float
    """From the beginning of its group."""
    seconds: float
    self_s: float
    record: str
    open: bool
    """Not seen to end: it took at least so long."""


@frozen
class Flame:
    """The nested events of a compile between two moments at which nothing was open: its forward, later its backward."""

    title: str
    start: float
    seconds: float
    bars: tuple[Bar, ...]
    """Parents before their children."""


@frozen
class Timing:
    """Where the time went."""

    schema: int
    ref: str
    source: str
    """`events`, `metrics`, `events and metrics`, or '' where nothing is known."""
    events: int
    unreadable: int
    lone_ends: int
    seconds: float
    """All compiles added up."""
    phases: tuple[Phase, ...]
    names: tuple[NameTime, ...]
    beside: tuple[NameTime, ...]
    """Of worker threads, while a compile waits for them."""
    compiles: tuple[CompileTime, ...]
    """The slowest first."""
    functions: tuple[FunctionTime, ...]
    processes: tuple[ProcessTime, ...]
    outliers: tuple[Outlier, ...]
    open: tuple[StillOpen, ...]
    gaps: tuple[Gap, ...]
    """The longest first."""
    kernels: Kernels
    flames: tuple[Flame, ...]
    """Of a single compile."""
