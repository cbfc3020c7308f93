"""Results of a profile: times in µs with the profiler on, by graph, kernel, line, rank, eager operator and graph break."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from statistics import median

from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import GraphBreak, cached_breaks
from tltui.text.frozen import frozen, mutable
from tltui.text.torch_names import PREFIX


@frozen
class Spread:
    """The distribution of durations."""

    calls: int
    us: float
    """In all."""
    median_us: float
    min_us: float
    max_us: float

    @property
    def mean_us(self) -> float:
        """The mean per call."""
        return self.us / self.calls if self.calls else 0.0

    @property
    def is_uneven(self) -> bool:
        """Whether single calls took so long that sum and mean mislead: the process was interrupted."""
        return self.calls > 2 and self.mean_us > 2 * self.median_us

    @property
    def typical_us(self) -> float:
        """The sum; of uneven calls what it were if all took as long as the median."""
        return self.calls * self.median_us if self.is_uneven else self.us


@frozen
class KernelTime:
    """One call of a kernel in the code of a graph; where calls cannot be told apart, all calls of that name."""

    key: str
    """As `tltui.questions.provenance.records.Kernel.key`; '' where the code of the graph is not in the trace."""
    name: str
    nth: int
    """The number of the call among those of that name in the code of the unit, from 0; -1 for all of them together."""
    handle: int | None
    time: Spread
    nodes: tuple[str, ...]
    lines: tuple[str, ...]
    """`FILE:LINE`."""
    device: str
    """`cpu`, `cuda`, …: where the time was taken."""


@frozen
class GraphTime:
    """One lowered graph."""

    unit: str
    """As in provenance: `forward`, `backward`, …; '' if unknown."""
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
    wrapper_median_us: float = 0.0
    """The median of a call outside of kernels: of some calls, single ones may have been preempted."""

    @property
    def typical_wrapper_us(self) -> float:
        """As `Spread.typical_us`, of the time outside of kernels."""
        typical = self.wrapper_median_us * self.time.calls
        return typical if self.time.calls > 2 and self.wrapper_us > 2 * typical > 0 else self.wrapper_us


@frozen
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


@frozen
class EagerTime:
    """An operator that ran outside of compiled graphs."""

    inside_ref: str | None
    """The compile in whose region it ran; None outside of all."""
    op: str
    calls: int
    total_us: float


@frozen
class Fallback:
    """Guards were tried, and no compile ran: the recompile limit, or a frame that is skipped."""

    start_at_us: float
    """Since the epoch."""
    lookup_us: float
    ops: tuple[str, ...]
    """The operators that ran then, in order, each once."""
    ref: str
    """A compile of the frame; '' if unknown."""


@frozen
class Step:
    """One step: `ProfilerStep#5`, or an annotation of the user that repeats."""

    name: str
    start_at_us: float
    duration_us: float


@frozen
class Share:
    """The parts of the window: disjoint, and complete with `idle_us`."""

    total_us: float
    kernels_us: float
    wrapper_us: float
    guards_us: float
    overhead_us: float
    """Prologues, and bytecode in regions outside of graphs."""
    eager_us: float
    idle_us: float
    """None of these: other Python, data loading, waiting, compiling."""
    collectives_us: float = 0.0
    """A collective was open, and no thread did anything of the others."""


@frozen
class Collective:
    """One call of a collective, in the order of the process."""

    name: str
    begin_us: float
    """Since the epoch."""
    us: float


@frozen
class StreamTime:
    """What ran on one stream of a device."""

    device: str
    """As the profile names it: a number."""
    stream: str
    events: int
    us: float


@frozen
class DeviceOp:
    """Time on a device, by what launched it: an eager operator; or by the name of a kernel."""

    name: str
    calls: int
    us: float


@frozen
class DeviceTime:
    """The side of the devices. Sums are of durations: what overlaps on several streams counts each time."""

    name: str
    """As the profile names its first device, `NVIDIA H100`; '' where it does not."""
    devices: int
    window_us: float
    busy_us: float
    """In which anything ran; of several devices the sum."""
    collective_us: float
    """The part of it in which only collectives ran."""
    compiled_us: float
    """Launched by compiled graphs, or by the name of one of their kernels."""
    eager_us: float
    """Launched by operators outside of graphs."""
    bare_us: float
    """Launched outside of operators and graphs."""
    compiling_us: float
    """Launched while torch compiled: tuning."""
    unknown_us: float
    """Of no launch in the profile, or by a graph that is not in the trace."""
    copies_us: float
    """Of all these: copying and setting of memory."""
    replayed_us: float
    """Of all these: by replays of CUDA graphs."""
    replays: int
    streams: tuple[StreamTime, ...]
    """The busiest first."""
    ops: tuple[DeviceOp, ...]
    """Eager operators, most time first. Their calls are those of kernels, copies and settings."""
    kernels: tuple[DeviceOp, ...]
    """By name, most time first."""

    @property
    def idle_us(self) -> float:
        """The time in which nothing ran; of several devices the sum."""
        return max(self.window_us * self.devices - self.busy_us, 0.0)

    @property
    def total_us(self) -> float:
        """The sum of all durations."""
        return self.compiled_us + self.eager_us + self.bare_us + self.compiling_us + self.unknown_us


@frozen
class Runtime:
    """The result of one profile for one process."""

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
    """Events without a counterpart in the trace: kind → number."""
    doubts: tuple[str, ...]
    """Sentences on what is not certain: kernels not by call, replayed graphs, events cut at the edge, compiling in the window."""
    collectives: tuple[Collective, ...] = ()
    """As the backends recorded them; else the operators."""
    device: DeviceTime | None = None
    """None where nothing ran on a device."""


@frozen
class Refused:
    """A profile that was not joined."""

    profile: str
    reason: str
    """A sentence without its end: `it is of another run: none of its 3 graphs is in the trace`."""


def compile_at(run: Run, ref: str) -> Compile | None:
    """Return the compile at an address of a result."""
    try:
        node = run.resolve(ref)
    except BadAddress:
        return None
    return node if isinstance(node, Compile) else None


def process_of(run: Run, runtime: Runtime) -> Process | None:
    """Return the process that a profile was joined to, by its compiles.

    Its pid may differ, as in containers.
    """
    for ref in (*(entry.ref for entry in runtime.compiles), *runtime.never_called):
        if (compile_ := compile_at(run, ref)) is not None:
            return compile_.process
    return next((process for process in run.processes() if process.pid == runtime.pid), None)


@mutable
class LineTime:
    """A source line or layer with the full time of each of its kernels. Times of several lines cannot be added."""

    name: str
    us: float = 0.0
    alone_us: float = 0.0
    """The part of that in kernels of this line alone."""
    calls: int = 0
    kernels: list[KernelTime] = field(default_factory=list)

    @property
    def mean_us(self) -> float:
        """The sum of its kernels' means."""
        return sum(kernel.time.mean_us for kernel in self.kernels)

    @property
    def median_us(self) -> float:
        """The sum of its kernels' medians."""
        return sum(kernel.time.median_us for kernel in self.kernels)


def line_times(graphs: Sequence[GraphTime]) -> list[LineTime]:
    """Return the lines of graphs, most expensive first."""
    kernels = [kernel for graph in graphs for kernel in graph.kernels]
    return _together([(kernel, kernel.lines, set(kernel.lines) if len(kernel.lines) == 1 else set()) for kernel in kernels])


def layer_times(graph: GraphTime, of_kernel: dict[str, tuple[str, ...]]) -> list[LineTime]:
    """Return the layers of a graph with enclosing ones: `layers`, `layers.3`, `layers.3.attn`."""
    results = []
    for kernel in graph.kernels:
        inner = of_kernel.get(kernel.key, ())
        names = _with_outer(inner)
        results.append((kernel, names, {name for name in names if all(f"{path}.".startswith(f"{name}.") for path in inner)}))
    return _together(results)


def _with_outer(paths: Sequence[str]) -> tuple[str, ...]:
    """Return paths and all enclosing ones except for the outermost, which contains everything."""
    results: dict[str, None] = {}
    for path in paths:
        names = path.split(".")
        results.update(dict.fromkeys(".".join(names[: n + 1]) for n in range(len(names)) if path))
    return tuple(results)


def _together(members: Sequence[tuple[KernelTime, tuple[str, ...], set[str]]]) -> list[LineTime]:
    """Group names by kernels, and merge those with all kernels in common."""
    results: dict[str, LineTime] = {}
    for kernel, names, alone in members:
        for name in dict.fromkeys(names):
            line = results.setdefault(name, LineTime(name))
            line.us += kernel.time.us
            line.alone_us += kernel.time.us if name in alone else 0.0
            line.calls += kernel.time.calls
            line.kernels.append(kernel)
    return sorted(results.values(), key=lambda line: (-line.us, line.name))


@frozen
class RankKernel:
    """One call of a kernel on several ranks."""

    ref: str
    """The compile on the slowest rank."""
    unit: str
    kernel: KernelTime
    """On the slowest rank."""
    means: tuple[tuple[int, float], ...]
    """(rank, µs a call)."""

    @property
    def slowest(self) -> int:
        """The rank with the longest time."""
        return max(self.means, key=lambda item: item[1])[0]

    @property
    def median_us(self) -> float:
        """The time on the median rank."""
        return median(us for _, us in self.means)

    @property
    def lost_us(self) -> float:
        """The excess of the slowest rank over the median one."""
        return max(us for _, us in self.means) - self.median_us


def rank_kernels(runtimes: Sequence[Runtime]) -> list[RankKernel]:
    """Return the kernels on several ranks, sorted by the difference between ranks in µs."""
    groups: defaultdict[tuple[str, str, str, int], list[tuple[int, str, KernelTime]]] = defaultdict(list)
    for runtime in runtimes:
        for compile_ in runtime.compiles if runtime.rank is not None else ():
            compile_id = compile_.ref.rpartition(":")[2]
            for graph in compile_.graphs:
                for kernel in graph.kernels:
                    groups[compile_id, graph.unit, kernel.name, kernel.nth].append((runtime.rank or 0, compile_.ref, kernel))
    results = []
    for (_, unit, _, _), members in groups.items():
        if len({rank for rank, _, _ in members}) > 1:
            _, ref, kernel = max(members, key=lambda item: item[2].time.mean_us)
            results.append(RankKernel(ref, unit, kernel, tuple((rank, compile_id.time.mean_us) for rank, _, compile_id in members)))
    return sorted(results, key=lambda item: -item.lost_us)


@frozen
class BreakTime:
    """The cost of a compile's graph break in a window."""

    ref: str
    """The compile whose graph it ends."""
    breaks: tuple[GraphBreak, ...]
    """One; several if any of them may be it; none if unknown."""
    eager_us: float
    """Operators that ran eagerly in the region of the compile, outside of the regions in it."""
    ops: tuple[EagerTime, ...]
    """The most expensive first."""
    resumed: tuple[str, ...]
    """The compiles of resume functions behind it that ran."""
    guards_us: float
    """The time in their guards."""

    @property
    def us(self) -> float:
        """The eager time plus the guards of the resume functions."""
        return self.eager_us + self.guards_us


@frozen
class FallbackTime:
    """Calls of one function that fell back to eager mode."""

    ref: str
    """A compile of the function, '' if unknown."""
    calls: int
    lookup_us: float
    ops: tuple[str, ...]


def break_times(run: Run, runtime: Runtime) -> tuple[BreakTime, ...]:
    """Return the graph breaks of compiles that ran, most expensive first."""
    eager: defaultdict[str, list[EagerTime]] = defaultdict(list)
    for item in runtime.eager:
        if item.inside_ref is not None:
            eager[item.inside_ref].append(item)
    ran = {compile_.ref: compile_ for compile_ in runtime.compiles}
    results = []
    for ref in ran:
        node = compile_at(run, ref)
        breaks = breaks_at(node) if node is not None else ()
        if breaks or eager[ref]:
            resumed = tuple(_resumed(node, breaks, ran)) if node is not None else ()
            ops = tuple(sorted(eager[ref], key=lambda item: -item.total_us))
            guards = sum(ran[name].lookups.us for name in resumed)
            results.append(BreakTime(ref, breaks, sum(item.total_us for item in ops), ops, resumed, guards))
    return tuple(sorted(results, key=lambda item: -item.us))


@part
def breaks_at(compile_: Compile, reader: Reader) -> tuple[GraphBreak, ...]:
    """Return the graph breaks that end a compile's graph, without duplicate places.

    Those of the last attempt with any; earlier ones came up while Dynamo searched for a place to break.
    """
    graph_breaks = cached_breaks(compile_)
    last = max((graph_break.attempt for graph_break in graph_breaks), default=0)
    places: dict[tuple[str, int | None], GraphBreak] = {}
    for graph_break in graph_breaks:
        if graph_break.attempt == last:
            lead = graph_break.lead
            places.setdefault((lead.file, lead.line) if lead else (graph_break.headline, None), graph_break)
    return tuple(places.values())


def _resumed(compile_: Compile, breaks: Sequence[GraphBreak], ran: Mapping[str, CompileTime]) -> list[str]:
    """Return the compiles of resume functions: torch names them by function and line."""
    lines = {frame.line for graph_break in breaks for frame in (graph_break.at, *graph_break.stack) if frame is not None}
    name, file, _ = compile_.frame.code
    names = {f"{PREFIX}{name}_at_{line}" for line in lines if line is not None}
    return [
        str(candidate.ref) for frame in compile_.process.frames.values() if frame.code[0] in names and frame.code[1] == file
        for candidate in frame.compiles if str(candidate.ref) in ran
    ]  # fmt: skip


def fallback_times(fallbacks: Sequence[Fallback]) -> tuple[FallbackTime, ...]:
    """Group fallbacks by function and executed code, most frequent first."""
    groups: defaultdict[tuple[str, tuple[str, ...]], list[Fallback]] = defaultdict(list)
    for item in fallbacks:
        groups[item.ref, item.ops].append(item)
    results = [FallbackTime(ref, len(group), sum(item.lookup_us for item in group), ops) for (ref, ops), group in groups.items()]
    return tuple(sorted(results, key=lambda item: -item.calls))
