"""Eager operators and the graph breaks that cause them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import GraphBreak, known_breaks
from tltui.questions.runtime.profile_results import CompileTime, EagerTime, Fallback, Runtime, compile_at
from tltui.text.torch_names import PREFIX


@dataclass(frozen=True, slots=True)
class BreakTime:
    """What the graph break of a compile costs in a window."""

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
        """Eager time, and the guards of what goes on behind it."""
        return self.eager_us + self.guards_us


@dataclass(frozen=True, slots=True)
class FallbackTime:
    """Calls of one function that fell back to eager mode."""

    ref: str
    """A compile of the function, '' where that is not known."""
    calls: int
    lookup_us: float
    ops: tuple[str, ...]


def break_times(run: Run, runtime: Runtime) -> tuple[BreakTime, ...]:
    """The graph breaks of what ran, those first that cost most."""
    eager: defaultdict[str, list[EagerTime]] = defaultdict(list)
    for item in runtime.eager:
        if item.inside is not None:
            eager[item.inside].append(item)
    ran = {compile_.ref: compile_ for compile_ in runtime.compiles}
    found = []
    for ref in ran:
        node = compile_at(run, ref)
        breaks = breaks_at(node) if node is not None else ()
        if breaks or eager[ref]:
            resumed = tuple(_resumed(node, breaks, ran)) if node is not None else ()
            ops = tuple(sorted(eager[ref], key=lambda item: -item.us))
            guards = sum(ran[name].lookups.us for name in resumed)
            found.append(BreakTime(ref, breaks, sum(item.us for item in ops), ops, resumed, guards))
    return tuple(sorted(found, key=lambda item: -item.us))


@part
def breaks_at(compile_: Compile, reader: Reader) -> tuple[GraphBreak, ...]:
    """The graph break that ends the graph of a compile: those of the last attempt that had one, each place once. Earlier ones came
    while the analysis looked for where it could break."""
    known = known_breaks(compile_)
    last = max((found.attempt for found in known), default=0)
    places: dict[tuple[str, int | None], GraphBreak] = {}
    for found in known:
        if found.attempt == last:
            lead = found.lead
            places.setdefault((lead.file, lead.line) if lead else (found.headline, None), found)
    return tuple(places.values())


def _resumed(compile_: Compile, breaks: Sequence[GraphBreak], ran: Mapping[str, CompileTime]) -> list[str]:
    """The compiles of the functions that go on behind breaks: torch names them by function and line."""
    lines = {frame.line for found in breaks for frame in (found.at, *found.stack) if frame is not None}
    name, file, _ = compile_.frame.code
    names = {f"{PREFIX}{name}_at_{line}" for line in lines if line is not None}
    return [
        str(own.ref) for frame in compile_.process.frames.values() if frame.code[0] in names and frame.code[1] == file
        for own in frame.compiles if str(own.ref) in ran
    ]  # fmt: skip


def fallback_times(fallbacks: Sequence[Fallback]) -> tuple[FallbackTime, ...]:
    """Fallbacks by function and by what ran then, the most frequent first."""
    groups: defaultdict[tuple[str, tuple[str, ...]], list[Fallback]] = defaultdict(list)
    for item in fallbacks:
        groups[item.ref, item.ops].append(item)
    made = [FallbackTime(ref, len(own), sum(item.lookup_us for item in own), ops) for (ref, ops), own in groups.items()]
    return tuple(sorted(made, key=lambda item: -item.calls))
