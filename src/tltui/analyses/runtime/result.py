"""What a profile says of a run: small frozen results. All times are µs of wall clock as the profile has them, with the profiler on.

A *region* is one run of the bytecode that Dynamo made for a compile, a *lookup* the trying of a frame's guards before it. Regions
nest: the callee behind a graph break runs inside of its caller's region, so their totals are never added; `self_us` is what may be.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took each time."""

    calls: int
    us: float
    """In all."""
    median_us: float
    min_us: float
    max_us: float

    @property
    def mean_us(self) -> float:
        """A call on average."""
        return self.us / self.calls if self.calls else 0.0


@dataclass(frozen=True, slots=True)
class KernelTime:
    """One call of a kernel in the code of a graph; where calls cannot be told apart, all calls of that name."""

    key: str
    """As `tltui.analyses.provenance.result.Kernel.key`; '' where the code of the graph is not in the trace."""
    name: str
    nth: int
    """Which call of that name in the code of the unit, from 0; -1 for all of them together."""
    handle: int | None
    time: Spread
    nodes: tuple[str, ...]
    lines: tuple[str, ...]
    """`FILE:LINE`."""
    device: str
    """`cpu`, `cuda`, …: where the time was taken."""


@dataclass(frozen=True, slots=True)
class GraphTime:
    """One lowered graph."""

    unit: str
    """As in provenance: `forward`, `backward`, …; '' where it is not known."""
    key: str | None
    """The cache key by which the profile names it; None with caches off."""
    time: Spread
    kernels: tuple[KernelTime, ...]
    """In the order of the code."""
    kernels_us: float
    """In kernels, on the thread that runs the graph."""
    wrapper_us: float
    """In the graph and in no kernel: Python between the calls, allocations, launches."""
    gap_us: float
    """The median time between two kernels, of that."""
    device_us: float
    """In kernels on a device; 0 where the profile has none."""


@dataclass(frozen=True, slots=True)
class CompileTime:
    """One compile."""

    ref: str
    """Its address: `0/0`, with its rank where there are several."""
    regions: Spread
    region_self_us: float
    """Without nested regions and lookups."""
    lookups: Spread
    """Its guards were tried. Of a lookup that led to another compile of the frame the one that ran has the time."""
    overhead_us: float
    """In prologues before the graph: `Pregraph bytecode`, `AOTDispatcher Runtime Wrapper Prologue`."""
    graphs: tuple[GraphTime, ...]
    eager_us: float
    """Operators that ran eagerly inside of its region."""


@dataclass(frozen=True, slots=True)
class EagerTime:
    """An operator that ran outside of compiled graphs."""

    inside: str | None
    """The compile in whose region it ran; None outside of all."""
    op: str
    calls: int
    us: float


@dataclass(frozen=True, slots=True)
class Fallback:
    """Guards were tried, and no compile ran: the recompile limit, or a frame that is skipped."""

    ts_us: float
    """Since the epoch."""
    lookup_us: float
    ops: tuple[str, ...]
    """The operators that ran then, in order, each once."""
    ref: str
    """A compile of the frame, where that is known; else ''."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `ProfilerStep#5`, or an annotation of the user that repeats."""

    name: str
    begin_us: float
    us: float


@dataclass(frozen=True, slots=True)
class Share:
    """Where the time of the window went. The parts are disjoint; with `idle_us` they are the whole."""

    whole_us: float
    kernels_us: float
    wrapper_us: float
    guards_us: float
    overhead_us: float
    """Prologues, and bytecode in regions outside of graphs."""
    eager_us: float
    idle_us: float
    """None of these: other Python, data loading, waiting."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What one profile says of one process."""

    profile: str
    """The path of the file."""
    rank: int | None
    pid: int
    begin_us: float
    end_us: float
    """Since the epoch."""
    steps: tuple[Step, ...]
    share: Share
    compiles: tuple[CompileTime, ...]
    never_called: tuple[str, ...]
    """Addresses of compiles that were done before the window ended and never ran in it."""
    eager: tuple[EagerTime, ...]
    fallbacks: tuple[Fallback, ...]
    unmatched: dict[str, int]
    """What in the profile belongs to nothing in the trace: what it is → how many."""
    doubts: tuple[str, ...]
    """Sentences on what is not certain: kernels not by call, replayed graphs, events cut at the edge, compiling in the window."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A profile that was not joined."""

    profile: str
    why: str
    """A sentence without its end: `it is of another run: none of its 3 graphs is in the trace`."""
