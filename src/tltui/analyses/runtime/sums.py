"""A joined profile → what it says of a run."""

from __future__ import annotations

from collections import Counter, defaultdict

from tltui.analyses.runtime import nesting
from tltui.analyses.runtime.joining import Joined, Joiner, called, lookups_of
from tltui.analyses.runtime.kernel_times import Devices, Kernels, spread
from tltui.analyses.runtime.nesting import Nested
from tltui.analyses.runtime.result import CompileTime, EagerTime, Fallback, GraphTime, Runtime, Share
from tltui.analyses.runtime.steps import steps_of
from tltui.analyses.runtime.words import PRELUDE, REGION, SPANS
from tltui.inputs.profile.columns import Profile
from tltui.model.nodes import Compile, Process

MOST_OPS = 50


class Sums:
    """Puts together what a profile says of one process."""

    def __init__(self, profile: Profile, nested: Nested, process: Process) -> None:
        self._profile, self._nested, self._process = profile, nested, process
        self.joiner = Joiner(profile, nested, process)
        self.joined: Joined = self.joiner.join()
        self._kernels = Kernels(profile, nested, self.joiner, Devices(profile, nested))
        self._lookups, self._lost = lookups_of(nested, self.joined, self.joiner.is_whole)

    def runtime(self, doubts: tuple[str, ...]) -> Runtime:
        """All of it."""
        profile, joined = self._profile, self.joined
        graphs: dict[Compile, list[GraphTime]] = defaultdict(list)
        loose = self.joiner.loose()
        for group, calls in joined.calls.items():
            graph = self._kernels.graph(group.unit, group.key, calls, joined.graph_of[group], loose.get(group, []))
            graphs[group.compile].append(graph)
        eager, eager_in = self._eager()
        ran = set(called(joined))
        regions, preludes = self._regions(), self._preludes()
        compiles = [
            self._compile(own, regions.get(own, []), preludes.get(own, 0), graphs[own], eager_in.get(own, 0.0))
            for own in self._process.ordered() if own in ran
        ]  # fmt: skip
        compiles = [own for own in compiles if own.regions.calls or own.lookups.calls or own.graphs]
        begin, end = profile.window
        us = self._nested.us_of
        strange = dict(joined.strange)
        return Runtime(
            profile.path, self._process.rank if self._process.rank is not None else profile.rank, profile.pid,
            profile.epoch_us(begin), profile.epoch_us(end), steps_of(profile, self._nested),
            Share(
                (end - begin) / 1000, us[nesting.KERNELS], us[nesting.WRAPPER], us[nesting.GUARDS], us[nesting.OVERHEAD],
                us[nesting.EAGER], us[nesting.IDLE],
            ),
            tuple(compiles), self._never_called(), eager, self._fallbacks(), strange, (*doubts, *self._doubts()),
        )  # fmt: skip

    def _regions(self) -> dict[Compile, list[int]]:
        """The regions of each compile that are whole."""
        found: dict[Compile, list[int]] = defaultdict(list)
        for span, own in self.joined.compile_of.items():
            if self.joiner.is_whole(span):
                found[own].append(span)
        return found

    def _preludes(self) -> dict[Compile, int]:
        """The prologues in the regions of each compile: ns."""
        profile, nested = self._profile, self._nested
        found: dict[Compile, int] = defaultdict(int)
        for span, kind in enumerate(nested.kind):
            if kind == PRELUDE and (own := self.joined.compile_of.get(self._region_of(span))) is not None:
                found[own] += profile.duration[nested.event[span]]
        return found

    def _compile(
        self, compile_: Compile, regions: list[int], overhead: int, graphs: list[GraphTime], eager_us: float
    ) -> CompileTime:
        profile, nested = self._profile, self._nested
        own = sum(profile.duration[nested.event[span]] - nested.inner[span] for span in regions)
        return CompileTime(
            str(compile_.ref), spread([profile.duration[nested.event[span]] for span in regions]), own / 1000,
            spread([profile.duration[nested.event[span]] for span in self._lookups.get(compile_, ())]), overhead / 1000,
            tuple(graphs), eager_us,
        )  # fmt: skip

    def _region_of(self, span: int) -> int:
        while span >= 0 and self._nested.kind[span] != REGION:
            span = self._nested.parent[span]
        return span

    def _eager(self) -> tuple[tuple[EagerTime, ...], dict[Compile, float]]:
        """Eager operators by where they ran, the most time first."""
        count: Counter[tuple[Compile | None, int]] = Counter()
        ns: Counter[tuple[Compile | None, int]] = Counter()
        nested, profile = self._nested, self._profile
        inside: dict[Compile, float] = defaultdict(float)
        for event, region, lookup in zip(nested.eager, nested.eager_in, nested.eager_after, strict=True):
            if lookup >= 0 and nested.led[lookup] >= 0:
                continue  # while the frame was compiled
            if profile.end(event) > profile.window[1]:
                continue
            own = (self.joined.compile_of.get(region), profile.name[event])
            count[own] += 1
            ns[own] += profile.duration[event]
        for (compile_, _), time in ns.items():
            if compile_ is not None:
                inside[compile_] += time / 1000
        found = [
            EagerTime(None if own[0] is None else str(own[0].ref), profile.names[own[1]], count[own], time / 1000)
            for own, time in ns.most_common()
        ]
        return tuple(found), inside

    def _fallbacks(self) -> tuple[Fallback, ...]:
        nested, profile = self._nested, self._profile
        ops: dict[int, dict[str, None]] = defaultdict(dict)
        for event, lookup in zip(nested.eager, nested.eager_after, strict=True):
            if lookup >= 0 and nested.led[lookup] < 0 and len(ops[lookup]) < MOST_OPS:
                ops[lookup][profile.name_of(event)] = None
        ref = self._limited()
        return tuple(
            Fallback(
                profile.epoch_us(profile.begin[nested.event[span]]), profile.duration[nested.event[span]] / 1000,
                tuple(ops.get(span, ())), ref,
            )
            for span in self._lost
        )  # fmt: skip

    def _limited(self) -> str:
        """The compile that tells of the recompile limit, where only one frame has reached it."""
        limited = {id(own.frame): own for own in self._process.ordered() if own.is_compile and own.facts.recompile_limit}
        return str(next(iter(limited.values())).ref) if len(limited) == 1 else ""

    def _never_called(self) -> tuple[str, ...]:
        """Compiles that were there before the window ended and did not run."""
        ran = set(called(self.joined))
        end = self._profile.epoch_us(self._profile.window[1])
        return tuple(
            str(own.ref)
            for own in self._process.ordered()
            if own.is_compile and own not in ran and own.facts.left_code and own.is_closed and (own.start_us or 0) < end
        )

    def _doubts(self) -> list[str]:
        found = list(self._profile.faults)
        profile, nested = self._profile, self._nested
        if cut := sum(kind in SPANS and not self.joiner.is_whole(span) for span, kind in enumerate(nested.kind)):
            found.append(f"{cut:,} events of compiled code were not over when the window ended: they do not count")
        if nested.compiling:
            seconds = _covered([(profile.begin[event], profile.end(event)) for event in nested.compiling]) / 1e9
            found.append(f"torch compiled inside of the window, for {seconds:.3g} s: steps without it take less")
        if nested.overlapping:
            found.append(f"{nested.overlapping:,} events begin in one and end outside of it: they count where they begin")
        if self._never_called() and len({profile.thread[nested.event[span]] for span in self.joined.compile_of}) == 1:
            found.append("other threads are in it with profile_all_threads only: what never ran may have run there")
        for text, count in self._kernels.doubts.items():
            found.append(f"{count:,} {text}")
        return found


def _covered(intervals: list[tuple[int, int]]) -> int:
    """How long at least one of them lasted."""
    total, reached = 0, -(1 << 62)
    for begin, end in sorted(intervals):
        total += max(end - max(begin, reached), 0)
        reached = max(reached, end)
    return total
