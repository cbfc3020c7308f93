"""Join of profile events and kernels with the compiles, graphs and calls of a trace."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field
from statistics import median

from tltui.inputs.profile_reader import Profile
from tltui.model.artifacts import OUTPUT_CODE, artifacts_of, units_of
from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.model.ref import CompileId
from tltui.questions.caches.cache_report import BUNDLED, FX, NAMES, answer_of
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import Kernel
from tltui.questions.runtime.event_nesting import (
    BACKWARD,
    CALL,
    FORWARD,
    LOOKUP,
    REGION,
    Nested,
    code_name,
    graph_key,
    kernel_name,
    region_id,
)
from tltui.questions.runtime.profile_results import GraphTime, KernelTime, Spread
from tltui.text.frozen import frozen, mutable


@frozen
class CodeCall:
    """A call of a kernel in the code of a graph."""

    name: str
    """As a profile names it."""
    kernel: Kernel


@frozen
class CodeGraph:
    """A lowered graph."""

    unit: str
    direction: str
    """As `tltui.model.artifacts.Unit.direction`."""
    keys: frozenset[str]
    """Its FX graph cache keys; none if the cache was off or logged none."""
    calls: tuple[CodeCall, ...]
    """In the order of the code."""
    has_code: bool


@part
def graphs_of(compile_: Compile, reader: Reader) -> tuple[CodeGraph, ...]:
    """Return the lowered graphs of a compile."""
    artifacts = artifacts_of(compile_)
    keys: dict[int | None, set[str]] = {}
    for artifact in artifacts:
        if artifact.name in NAMES and NAMES[artifact.name][0] in (FX, BUNDLED):
            key = answer_of(artifact.name, artifact.record, "", reader)[0].key
            keys.setdefault(artifact.unit, set()).update((key,) if key else ())
    coded = {artifact.unit for artifact in artifacts if artifact.name == OUTPUT_CODE}
    kernels = {unit.number: unit.kernels for unit in provenance_of(compile_).units}
    return tuple(
        CodeGraph(
            unit.name, unit.direction, frozenset(keys.get(unit.number, ())), _calls(kernels.get(unit.number, ())),
            unit.number in coded,
        )
        for unit in units_of(artifacts)
    )  # fmt: skip


def _calls(kernels: tuple[Kernel, ...]) -> tuple[CodeCall, ...]:
    """Return each kernel call by line; several if they share a line."""
    calls = [(line, CodeCall(code_name(kernel.name), kernel)) for kernel in kernels for line in _first_lines(kernel)]
    return tuple(call for _, call in sorted(calls, key=lambda pair: pair[0]))


def _first_lines(kernel: Kernel) -> tuple[int, ...]:
    """Return the first line of each call of a kernel; lines of a call are contiguous."""
    return tuple(line for line in kernel.call_lines if line - 1 not in kernel.call_lines)


_ID = re.compile(r"^(?:!(\d{1,9})/)?(\d{1,9})/(\d{1,9})$")
SEQUENCE = "Sequence number"


@frozen
class Group:
    """One graph of one compile, from the profile and the trace."""

    compile: Compile
    unit: str
    key: str | None


@mutable
class Joined:
    """The result of the join."""

    compile_of: dict[int, Compile] = field(default_factory=dict)
    """Region (a span) → the compile that it runs."""
    calls: dict[Group, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Graph → the spans of its calls."""
    graph_of: dict[Group, CodeGraph | None] = field(default_factory=dict)
    unmatched: Counter[str] = field(default_factory=Counter)
    """Events without a counterpart in the trace, counted by kind."""
    same_key: int = 0
    """Calls of which the key is that of the trace."""
    other_key: int = 0
    """Calls whose compile has other keys in the trace."""
    same_names: int = 0
    """Calls whose kernels are all in the code of their compile."""
    other_names: int = 0
    """Calls with kernels that are not in the code of their compile."""


class Joiner:
    """The join of a profile and a process."""

    def __init__(self, profile: Profile, nested: Nested, process: Process) -> None:
        self._profile, self._nested, self._process = profile, nested, process
        self.joined = Joined()
        self._by_name: dict[int, list[Compile]] = {}
        self._graphs: dict[Compile, tuple[CodeGraph, ...]] = {}
        self._forwards: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._begun: dict[tuple[int, int], int] = {}
        self._tied: dict[tuple[int, int], tuple[int, int]] = {}
        """End of an arrow → its begin: thread and time."""
        self._kernel_names: dict[int, str] = {}

    def join(self) -> Joined:
        """Compute the join."""
        nested = self._nested
        for span, kind in enumerate(nested.kind):
            if kind == REGION:
                self._region(span)
            elif kind == FORWARD:
                self._remember(span)
        self._tie()
        for span, kind in enumerate(nested.kind):
            if kind == CALL and self.is_complete(span):
                self._call(span)
        return self.joined

    def is_complete(self, span: int) -> bool:
        """Return whether a span ended within the window."""
        return self._profile.end(self._nested.event[span]) <= self._profile.window[1]

    def _tie(self) -> None:
        """Link forwards and backwards of compiled graphs by the profile's flow events."""
        profile = self._profile
        ends: dict[int, tuple[int, int]] = {}
        for number, thread, time in zip(profile.flow, profile.flow_thread, profile.flow_time, strict=True):
            if thread >= 0 and (thread, time) in self._begun:
                ends[number] = thread, time
        for number, thread, time in zip(profile.flow, profile.flow_thread, profile.flow_time, strict=True):
            if thread < 0 and number in ends:
                self._tied[-1 - thread, time] = ends[number]

    def _region(self, span: int) -> None:
        event = self._nested.event[span]
        name = self._profile.name[event]
        if name not in self._by_name:
            self._by_name[name] = self._compiles_by_name(region_id(self._profile.names[name]))
        compiles = self._by_name[name]
        if not compiles and not region_id(self._profile.names[name]):
            return  # its graph has the id of the compile
        if not compiles:
            self.joined.unmatched["regions of compiles that are not in the trace"] += 1
            return
        begin = self._profile.epoch_us(self._profile.begin[event])
        self.joined.compile_of[span] = compiles[0] if len(compiles) == 1 else self._at(compiles, begin)

    def _compiles_by_name(self, text: str) -> list[Compile]:
        match = _ID.match(text)
        if match is None:
            return []
        autograd = None if match[1] is None else int(match[1])
        return self._process.epochs_of(CompileId(autograd, int(match[2]), int(match[3])))

    @staticmethod
    def _at(compiles: list[Compile], us: float) -> Compile:
        """Return the last begun of several compiles with one id."""
        return next((compile_ for compile_ in reversed(compiles) if (compile_.start_us or 0) <= us), compiles[0])

    def _remember(self, span: int) -> None:
        """Index a forward by its links to a backward."""
        event = self._nested.event[span]
        self._begun[self._profile.thread[event], self._profile.begin[event]] = span
        number = self._profile.extra.get(event, {}).get(SEQUENCE)
        if isinstance(number, int) and number >= 0:
            self._forwards[number, self._profile.threads[self._profile.thread[event]][0]].append(span)

    def _call(self, span: int) -> None:
        """Resolve the graph of a call."""
        key = graph_key(self._profile.name_of(self._nested.event[span]))
        above, is_backward = self._above(span)
        names = self._names(span)
        compile_ = self.joined.compile_of.get(above) if above >= 0 else None
        if compile_ is None and (above < 0 or not region_id(self._profile.name_of(self._nested.event[above]))):
            compile_ = self._by_graph(key, names, is_backward)
            if compile_ is not None and above >= 0:
                self.joined.compile_of[above] = compile_
        if compile_ is None:
            self.joined.unmatched["calls of graphs whose compile is unknown"] += 1
            return
        graphs = [graph for graph in self._graphs_of(compile_) if (graph.direction == "backward") == is_backward]
        graph = _chosen(graphs, key, names)
        self._weigh(graphs, graph, key, names)
        unit = graph.unit if graph is not None else "backward" if is_backward else ""
        group = Group(compile_, unit, key)
        self.joined.graph_of.setdefault(group, graph)
        self.joined.calls[group].append(span)

    def loose(self) -> dict[Group, list[int]]:
        """Assign device events without a recorded launch.

        Each goes to the only graph that ran and has a kernel of its name.
        """
        results: dict[Group, list[int]] = defaultdict(list)
        by_name: dict[str, list[Group]] = defaultdict(list)
        for group, graph in self.joined.graph_of.items():
            for name in {call.name for call in graph.calls} if graph is not None else ():
                by_name[name].append(group)
        for event in self._nested.loose:
            groups = by_name.get(self.kernel_name_of(event), [])
            if len(groups) == 1:
                results[groups[0]].append(event)
            else:
                self.joined.unmatched["events on a device whose launch was not recorded"] += 1
        return results

    def _weigh(self, graphs: list[CodeGraph], graph: CodeGraph | None, key: str | None, names: Counter[str]) -> None:
        """Count evidence from a call for or against this process."""
        graph_keys = {graph_key for each in graphs for graph_key in each.keys}
        if key is not None and graph_keys:
            self.joined.same_key += key in graph_keys
            self.joined.other_key += key not in graph_keys
        fused = {name for name in names if "::" not in name}
        if fused and any(each.has_code for each in graphs):
            is_same = graph is not None and fused <= {call.name for call in graph.calls}
            self.joined.same_names += is_same
            self.joined.other_names += not is_same

    def _above(self, span: int) -> tuple[int, bool]:
        """Return the region around a call or its forward, -1 for none; and whether it is a backward."""
        parents, kinds = self._nested.parent, self._nested.kind
        above = parents[span]
        while above >= 0 and kinds[above] not in (REGION, BACKWARD):
            above = parents[above]
        if above < 0 or kinds[above] == REGION:
            return above, False
        forward = self._forward(self._nested.event[above])
        while forward >= 0 and kinds[forward] != REGION:
            forward = parents[forward]
        return forward, True

    def _forward(self, event: int) -> int:
        """Return the forward's span of a backward, -1 for none.

        By flow event, else by sequence number, which counts per thread.
        """
        profile = self._profile
        thread = profile.thread[event]
        if (start := self._tied.get((thread, profile.begin[event]))) is not None:
            return self._begun[start]
        number = profile.extra.get(event, {}).get(SEQUENCE)
        forwards = self._forwards.get((number, profile.threads[thread][0]), []) if isinstance(number, int) else []
        forwards = [span for span in forwards if profile.begin[self._nested.event[span]] <= profile.begin[event]]
        return forwards[0] if len(forwards) == 1 else -1

    def _by_graph(self, key: str | None, names: Counter[str], is_backward: bool) -> Compile | None:
        """Return the only compile with a graph; None otherwise. Its forward ran before the window."""
        compiles = []
        for compile_ in self._process.ordered():
            for graph in self._graphs_of(compile_):
                same = key in graph.keys if key is not None else graph.has_code and _kernel_counts(graph) == names
                if same and (graph.direction == "backward") == is_backward:
                    compiles.append(compile_)
        return compiles[0] if len(set(map(id, compiles))) == 1 else None

    def _graphs_of(self, compile_: Compile) -> tuple[CodeGraph, ...]:
        if compile_ not in self._graphs:
            self._graphs[compile_] = graphs_of(compile_)
        return self._graphs[compile_]

    def _names(self, span: int) -> Counter[str]:
        """Count the kernels of a call, by their names in the code."""
        nested = self._nested
        return Counter(self.kernel_name_of(nested.kernels[row]) for row in range(nested.first[span], nested.last[span]))

    def kernel_name_of(self, event: int) -> str:
        """Return the name in the code of an event's kernel."""
        number = self._profile.name[self._nested.name_source.get(event, event)]
        if number not in self._kernel_names:
            self._kernel_names[number] = kernel_name(self._profile.names[number])
        return self._kernel_names[number]


def _kernel_counts(graph: CodeGraph) -> Counter[str]:
    return Counter(call.name for call in graph.calls)


def _chosen(graphs: list[CodeGraph], key: str | None, names: Counter[str]) -> CodeGraph | None:
    """Return the graph of a call: by its key, then by its kernels."""
    same = [graph for graph in graphs if key is not None and key in graph.keys] or graphs
    if len(same) > 1:
        same = [graph for graph in same if _kernel_counts(graph) == names] or [
            graph for graph in same if names.keys() <= _kernel_counts(graph).keys()
        ]
    return same[0] if same else None


def lookups_of(nested: Nested, joined: Joined, is_complete: Callable[[int], bool]) -> tuple[dict[Compile, list[int]], list[int]]:
    """Return the lookups of each compile, and those that no region followed."""
    lookups: dict[Compile, list[int]] = defaultdict(list)
    lost: list[int] = []
    for span, kind in enumerate(nested.kind):
        if kind != LOOKUP or not is_complete(span):
            continue
        region = nested.region_after[span]
        if region == -1:
            lost.append(span)
        elif region >= 0 and (compile_ := joined.compile_of.get(region)) is not None:
            lookups[compile_].append(span)
    return lookups, lost


def called(joined: Joined) -> Iterable[Compile]:
    """Return the compiles that ran."""
    return dict.fromkeys((*joined.compile_of.values(), *(group.compile for group in joined.calls)))


CPP_KERNELS = "set torch._inductor.config.cpp.enable_kernel_profile = True"
NO_TIME = Spread(0, 0.0, 0.0, 0.0, 0.0)


def spread(times: list[int] | array[int]) -> Spread:
    """Return the distribution of durations in ns."""
    if not times:
        return NO_TIME
    return Spread(len(times), sum(times) / 1000, median(times) / 1000, min(times) / 1000, max(times) / 1000)


class Devices:
    """Device events by the kernel that launched them."""

    def __init__(self, profile: Profile, nested: Nested) -> None:
        self._of_kernel = array("q", bytes(8 * len(nested.kernels)))
        self.replayed: dict[int, list[int]] = defaultdict(list)
        """A call → events on a device that no kernel of it launched."""
        for event, owner in zip(nested.device, nested.launched_by, strict=True):
            if owner >= 0:
                self._of_kernel[owner] += profile.duration[event]
            else:
                self.replayed[-1 - owner].append(event)
        launches = {category.split("_")[0] for category in profile.categories if category.endswith(("_runtime", "_driver"))}
        self.name = min(launches & {"cuda", "xpu", "mtia", "hpu", "privateuse1"}, default="device")

    def time(self, kernel: int) -> int:
        """Return the device time in ns of a kernel's launches."""
        return self._of_kernel[kernel]


class Kernels:
    """Times of the kernels of one graph."""

    def __init__(self, profile: Profile, nested: Nested, joiner: Joiner, devices: Devices) -> None:
        self._profile, self._nested, self._joiner, self._devices = profile, nested, joiner, devices
        self.doubts: Counter[str] = Counter()

    def graph(self, unit: str, key: str | None, calls: list[int], graph: CodeGraph | None, loose: list[int]) -> GraphTime:
        """Return the times of a graph.

        `loose`: its device events by name alone.
        """
        profile, nested = self._profile, self._nested
        gaps: list[int] = []
        times: list[int] = []
        outside: list[int] = []
        inside, on_device = 0, 0
        for span in calls:
            before, inside_before = -1, inside
            times.append(profile.duration[nested.event[span]] - nested.compiling_in[span])
            on_device += sum(profile.duration[item] for item in self._devices.replayed.get(span, ()))
            for row in range(nested.first[span], nested.last[span]):
                kernel = nested.kernels[row]
                inside += profile.duration[kernel]
                on_device += self._devices.time(row)
                if before >= 0:
                    gaps.append(max(profile.begin[kernel] - before, 0))
                before = profile.end(kernel)
            outside.append(max(times[-1] - (inside - inside_before), 0))
        on_device += sum(profile.duration[event] for event in loose)
        kernels = self._kernels(calls, graph, loose)
        return GraphTime(
            unit, key, spread(times), kernels, inside / 1000, max(sum(times) - inside, 0) / 1000,
            median(gaps) / 1000 if gaps else 0.0, on_device / 1000, median(outside) / 1000 if outside else 0.0,
        )  # fmt: skip

    def _kernels(self, calls: list[int], graph: CodeGraph | None, loose: list[int]) -> tuple[KernelTime, ...]:
        """Return the calls of the code, then ambiguous kernels and those not in the code."""
        nested = self._nested
        calls_by_name: dict[str, list[CodeCall]] = defaultdict(list)
        for call in graph.calls if graph is not None else ():
            calls_by_name[call.name].append(call)
        rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        uneven: set[str] = set()
        for span in calls:
            count: Counter[str] = Counter()
            for row in range(nested.first[span], nested.last[span]):
                name = self._joiner.kernel_name_of(nested.kernels[row])
                rows[name, count[name]].append(row)
                count[name] += 1
            uneven.update(name for name in calls_by_name.keys() | count.keys() if count[name] != len(calls_by_name[name]))
        kernel_times: list[KernelTime] = []
        for call in graph.calls if graph is not None else ():
            nth = calls_by_name[call.name].index(call)
            if call.name not in uneven and (call_rows := rows.get((call.name, nth))):
                kernel_times.append(self._time(call, call.kernel.name, nth, call_rows))
        lacking = sum(call.kernel.name[:3] == "cpp" and not rows.get((call.name, 0)) for call in graph.calls) if graph else 0
        if lacking:
            self.doubts[f"calls of C++ kernels were not recorded: {CPP_KERNELS}"] += lacking
        for name in dict.fromkeys(name for name, _ in rows if name in uneven):
            members = [row for (call_rows, _), those in rows.items() if call_rows == name for row in those]
            kernel_times.append(self._together(name, calls_by_name.get(name, []), members))
        replayed = [event for span in calls for event in self._devices.replayed.get(span, ())]
        if again := sum(event in nested.replayed for event in replayed):
            self.doubts["replayed kernels (CUDA graphs) are listed by name, not by call"] += again
        if loose:
            self.doubts["kernels on a device without a recorded launch are listed by name or handle"] += len(loose)
        return (*kernel_times, *self._by_name([*replayed, *loose], calls_by_name))

    def _time(self, call: CodeCall | None, name: str, nth: int, rows: list[int]) -> KernelTime:
        """Return the time of one call of the code."""
        on_device = [time for row in rows if (time := self._devices.time(row))]
        times = on_device or [self._profile.duration[self._nested.kernels[row]] for row in rows]
        device = self._devices.name if on_device else "cpu"
        if call is None:
            return KernelTime("", name, nth, None, spread(times), (), (), device)
        kernel = call.kernel
        return KernelTime(kernel.key, name, nth, kernel.handle, spread(times), kernel.post_nodes, kernel.user_lines, device)

    def _together(self, name: str, calls: list[CodeCall], rows: list[int]) -> KernelTime:
        """Return the time of all calls of a name if their number differs from the code's."""
        if not calls:
            self.doubts["calls of kernels that are not in the code of their graph"] += len(rows)
            return self._time(None, name, -1, rows)
        name = calls[0].kernel.name
        doubt = f"calls of {name} are reported together: the profile has a different number of calls than the code"
        self.doubts[doubt] += len(rows)
        total = self._time(calls[0], name, -1, rows)
        return total if len(calls) == 1 else _of_all(total, calls)

    def _by_name(self, events: list[int], calls_by_name: dict[str, list[CodeCall]]) -> list[KernelTime]:
        """Return device events by name, or by the handle of the call if present (`debug_handle`)."""
        times: dict[tuple[str, int | None], list[int]] = defaultdict(list)
        for event in events:
            name = self._joiner.kernel_name_of(event)
            handle = self._profile.extra.get(event, {}).get("debug_handle")
            has_call = isinstance(handle, int) and any(call.kernel.handle == handle for call in calls_by_name.get(name, ()))
            times[name, handle if has_call else None].append(self._profile.duration[event])
        results = []
        for (name, handle), duration in times.items():
            calls = calls_by_name.get(name, [])
            same = [call for call in calls if handle is not None and call.kernel.handle == handle]
            nth = calls.index(same[0]) if len(same) == 1 else -1
            time = KernelTime("", name, nth, None, spread(duration), (), (), self._devices.name)
            results.append(_of_all(time, same or calls) if calls else time)
        return results


def _of_all(kernel_time: KernelTime, calls: list[CodeCall]) -> KernelTime:
    """Return the time with nodes and lines of all calls of a name; a key only for a single call."""
    kernels = [call.kernel for call in calls]
    keys = {kernel.key for kernel in kernels}
    return KernelTime(
        keys.pop() if len(keys) == 1 else "", kernels[0].name, kernel_time.nth,
        kernels[0].handle if len(kernels) == 1 else None, kernel_time.time,
        tuple(dict.fromkeys(node for kernel in kernels for node in kernel.post_nodes)),
        tuple(dict.fromkeys(line for kernel in kernels for line in kernel.user_lines)), kernel_time.device,
    )  # fmt: skip
