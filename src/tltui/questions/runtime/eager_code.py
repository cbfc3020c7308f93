"""Eager operators and the graph breaks that cause them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import GraphBreak, known_breaks
from tltui.questions.runtime.profile_results import CompileTime, EagerTime, Fallback, Runtime, compile_at
from tltui.text.frozen import frozen
from tltui.text.torch_names import PREFIX


@frozen
class BreakTime:
    """The cost of a compile's graph break in a window."""

    ref: str
    """The compile whose graph it ends."""
    breaks: tuple[GraphBreak, ...]
    """One; several where it is not known which of them; none where the trace does not tell."""
    eager_us: float
    """Operators that ran eagerly in the region of the compile, outside of the regions in it."""
    ops: tuple[EagerTime, ...]
    """The dearest first."""
    resumed: tuple[str, ...]
    """The compiles that go on behind it, as far as they ran."""
    guards_us: float
    """What trying their guards took."""

    @property
    def us(self) -> float:
        """The eager time plus the guards of the resume functions."""
        return self.eager_us + self.guards_us


@frozen
class FallbackTime:
    """Calls of one function that fell back to eager mode."""

    ref: str
    """A compile of the function, '' where that is not known."""
    calls: int
    lookup_us: float
    ops: tuple[str, ...]


def break_times(run: Run, runtime: Runtime) -> tuple[BreakTime, ...]:
    """Return the graph breaks of compiles that ran, most expensive first."""
    eager: defaultdict[str, list[EagerTime]] = defaultdict(list)
    for item in runtime.eager:
        if item.inside is not None:
            eager[item.inside].append(item)
    ran = {compile_.ref: compile_ for compile_ in runtime.compiles}
    results = []
    for ref in ran:
        node = compile_at(run, ref)
        breaks = breaks_at(node) if node is not None else ()
        if breaks or eager[ref]:
            resumed = tuple(_resumed(node, breaks, ran)) if node is not None else ()
            ops = tuple(sorted(eager[ref], key=lambda item: -item.us))
            guards = sum(ran[name].lookups.us for name in resumed)
            results.append(BreakTime(ref, breaks, sum(item.us for item in ops), ops, resumed, guards))
    return tuple(sorted(results, key=lambda item: -item.us))


@part
def breaks_at(compile_: Compile, reader: Reader) -> tuple[GraphBreak, ...]:
    """Return the graph breaks that end a compile's graph, without duplicate places.

    Those of the last attempt with any; earlier ones came up while Dynamo searched for a place to break.
    """
    graph_breaks = known_breaks(compile_)
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
