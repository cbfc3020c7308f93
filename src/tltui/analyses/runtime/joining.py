"""Which compile, graph and call of the trace an event of a profile is of."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tltui.analyses.runtime.code import CodeGraph, graphs_of
from tltui.analyses.runtime.nesting import Nested
from tltui.analyses.runtime.words import BACKWARD, CALL, FORWARD, LOOKUP, REGION, graph_key, kernel_name, region_id
from tltui.inputs.profile.columns import Profile
from tltui.model.nodes import Compile, Process
from tltui.model.ref import CompileId

_ID = re.compile(r"^(?:!(\d{1,9})/)?(\d{1,9})/(\d{1,9})$")
SEQUENCE = "Sequence number"


@dataclass(frozen=True, slots=True)
class Group:
    """One graph of one compile, as the profile and the trace know it."""

    compile: Compile
    unit: str
    key: str | None


@dataclass(slots=True)
class Joined:
    """What belongs together."""

    compile_of: dict[int, Compile] = field(default_factory=dict)
    """Region (a span) → the compile that it runs."""
    calls: dict[Group, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Graph → the spans of its calls."""
    graph_of: dict[Group, CodeGraph | None] = field(default_factory=dict)
    strange: Counter[str] = field(default_factory=Counter)
    """What belongs to nothing in the trace."""
    same_key: int = 0
    """Calls of which the key is that of the trace."""
    other_key: int = 0
    """Calls whose compile has other keys in the trace."""
    same_names: int = 0
    """Calls whose kernels are all in the code of their compile."""
    other_names: int = 0
    """Calls with kernels that are not in the code of their compile."""


class Joiner:
    """Joins a profile and a process."""

    def __init__(self, profile: Profile, nested: Nested, process: Process) -> None:
        self._profile, self._nested, self._process = profile, nested, process
        self.found = Joined()
        self._by_name: dict[int, list[Compile]] = {}
        self._graphs: dict[Compile, tuple[CodeGraph, ...]] = {}
        self._forwards: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._begun: dict[tuple[int, int], int] = {}
        self._tied: dict[tuple[int, int], tuple[int, int]] = {}
        """Where an arrow ends → where it begins: thread and time."""
        self._kernel_names: dict[int, str] = {}

    def join(self) -> Joined:
        """Find out what belongs together."""
        nested = self._nested
        for span, kind in enumerate(nested.kind):
            if kind == REGION:
                self._region(span)
            elif kind == FORWARD:
                self._remember(span)
        self._tie()
        for span, kind in enumerate(nested.kind):
            if kind == CALL and self.is_whole(span):
                self._call(span)
        return self.found

    def is_whole(self, span: int) -> bool:
        """Whether a span was over when the window ended."""
        return self._profile.end(self._nested.event[span]) <= self._profile.window[1]

    def _tie(self) -> None:
        """The arrows between forwards and backwards of compiled graphs."""
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
            self._by_name[name] = self._named(region_id(self._profile.names[name]))
        own = self._by_name[name]
        if not own and not region_id(self._profile.names[name]):
            return  # its graph says whose it is
        if not own:
            self.found.strange["regions of compiles that are not in the trace"] += 1
            return
        self.found.compile_of[span] = own[0] if len(own) == 1 else self._at(own, self._profile.epoch_us(self._profile.begin[event]))

    def _named(self, text: str) -> list[Compile]:
        match = _ID.match(text)
        if match is None:
            return []
        autograd = None if match[1] is None else int(match[1])
        return self._process.epochs_of(CompileId(autograd, int(match[2]), int(match[3])))

    @staticmethod
    def _at(own: list[Compile], us: float) -> Compile:
        """Of several compiles with one id the last one that had begun."""
        return next((compile_ for compile_ in reversed(own) if (compile_.start_us or 0) <= us), own[0])

    def _remember(self, span: int) -> None:
        """A forward, by what ties its backward to it."""
        event = self._nested.event[span]
        self._begun[self._profile.thread[event], self._profile.begin[event]] = span
        number = self._profile.extra.get(event, {}).get(SEQUENCE)
        if isinstance(number, int) and number >= 0:
            self._forwards[number, self._profile.threads[self._profile.thread[event]][0]].append(span)

    def _call(self, span: int) -> None:
        """The graph of a call."""
        key = graph_key(self._profile.name_of(self._nested.event[span]))
        above, is_backward = self._above(span)
        names = self._names(span)
        compile_ = self.found.compile_of.get(above) if above >= 0 else None
        if compile_ is None and (above < 0 or not region_id(self._profile.name_of(self._nested.event[above]))):
            compile_ = self._by_graph(key, names, is_backward)
            if compile_ is not None and above >= 0:
                self.found.compile_of[above] = compile_
        if compile_ is None:
            self.found.strange["calls of graphs whose compile is not known"] += 1
            return
        graphs = [graph for graph in self._graphs_of(compile_) if (graph.direction == "backward") == is_backward]
        graph = _chosen(graphs, key, names)
        self._weigh(graphs, graph, key, names)
        unit = graph.unit if graph is not None else "backward" if is_backward else ""
        group = Group(compile_, unit, key)
        self.found.graph_of.setdefault(group, graph)
        self.found.calls[group].append(span)

    def loose(self) -> dict[Group, list[int]]:
        """Events on a device whose launch was not recorded, by the only graph that ran and whose code has a kernel of that name."""
        found: dict[Group, list[int]] = defaultdict(list)
        by_name: dict[str, list[Group]] = defaultdict(list)
        for group, graph in self.found.graph_of.items():
            for name in {call.name for call in graph.calls} if graph is not None else ():
                by_name[name].append(group)
        for event in self._nested.loose:
            groups = by_name.get(self.kernel_named(event), [])
            if len(groups) == 1:
                found[groups[0]].append(event)
            else:
                self.found.strange["events on a device whose launch was not recorded"] += 1
        return found

    def _weigh(self, graphs: list[CodeGraph], graph: CodeGraph | None, key: str | None, names: Counter[str]) -> None:
        """Whether a call speaks for this process."""
        known = {own for each in graphs for own in each.keys}
        if key is not None and known:
            self.found.same_key += key in known
            self.found.other_key += key not in known
        fused = {name for name in names if "::" not in name}
        if fused and any(each.has_code for each in graphs):
            is_same = graph is not None and fused <= {call.name for call in graph.calls}
            self.found.same_names += is_same
            self.found.other_names += not is_same

    def _above(self, span: int) -> tuple[int, bool]:
        """The region that a call is in, or that its forward was in, -1 for none; whether it is a backward."""
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
        """The span of the forward of a backward: by the arrow, else by the number, which each thread counts for itself; -1."""
        profile = self._profile
        thread = profile.thread[event]
        if (start := self._tied.get((thread, profile.begin[event]))) is not None:
            return self._begun[start]
        number = profile.extra.get(event, {}).get(SEQUENCE)
        own = self._forwards.get((number, profile.threads[thread][0]), []) if isinstance(number, int) else []
        own = [span for span in own if profile.begin[self._nested.event[span]] <= profile.begin[event]]
        return own[0] if len(own) == 1 else -1

    def _by_graph(self, key: str | None, names: Counter[str], is_backward: bool) -> Compile | None:
        """The only compile that has such a graph: its forward ran before the window."""
        found = []
        for compile_ in self._process.ordered():
            for graph in self._graphs_of(compile_):
                same = key in graph.keys if key is not None else graph.has_code and _wanted(graph) == names
                if same and (graph.direction == "backward") == is_backward:
                    found.append(compile_)
        return found[0] if len(set(map(id, found))) == 1 else None

    def _graphs_of(self, compile_: Compile) -> tuple[CodeGraph, ...]:
        if compile_ not in self._graphs:
            self._graphs[compile_] = graphs_of(compile_)
        return self._graphs[compile_]

    def _names(self, span: int) -> Counter[str]:
        """The kernels of a call, as the code names them."""
        nested = self._nested
        return Counter(self.kernel_named(nested.kernels[row]) for row in range(nested.first[span], nested.last[span]))

    def kernel_named(self, event: int) -> str:
        """What the code calls the kernel of an event."""
        number = self._profile.name[self._nested.named_by.get(event, event)]
        if number not in self._kernel_names:
            self._kernel_names[number] = kernel_name(self._profile.names[number])
        return self._kernel_names[number]


def _wanted(graph: CodeGraph) -> Counter[str]:
    return Counter(call.name for call in graph.calls)


def _chosen(graphs: list[CodeGraph], key: str | None, names: Counter[str]) -> CodeGraph | None:
    """The graph of a call: by its key, then by its kernels."""
    same = [graph for graph in graphs if key is not None and key in graph.keys] or graphs
    if len(same) > 1:
        same = [graph for graph in same if _wanted(graph) == names] or [
            graph for graph in same if names.keys() <= _wanted(graph).keys()
        ]
    return same[0] if same else None


def lookups_of(nested: Nested, joined: Joined, is_whole: Callable[[int], bool]) -> tuple[dict[Compile, list[int]], list[int]]:
    """The lookups of each compile, and those that something else than a region followed."""
    own: dict[Compile, list[int]] = defaultdict(list)
    lost: list[int] = []
    for span, kind in enumerate(nested.kind):
        if kind != LOOKUP or not is_whole(span):
            continue
        region = nested.led[span]
        if region == -1:
            lost.append(span)
        elif region >= 0 and (compile_ := joined.compile_of.get(region)) is not None:
            own[compile_].append(span)
    return own, lost


def called(joined: Joined) -> Iterable[Compile]:
    """The compiles that ran."""
    return dict.fromkeys((*joined.compile_of.values(), *(group.compile for group in joined.calls)))
