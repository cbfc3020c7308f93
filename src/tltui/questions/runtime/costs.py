"""Run-time costs of compiles, kernels, nodes and lines, for other pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from tltui.model.run import Run

if TYPE_CHECKING:
    from tltui.questions.runtime.profile_results import CompileTime, GraphTime, KernelTime, Refused, Runtime

BACKWARD = "backward"
_Names = Callable[["KernelTime"], tuple[str, ...]]


class Costs:
    """The costs of a run with at least one joined profile."""

    def __init__(self, runtimes: Sequence[Runtime]) -> None:
        self.runtimes = tuple(runtimes)
        self.per_step = all(runtime.steps for runtime in self.runtimes)
        """Whether figures are of a step on average; else they are of the entire window."""
        self._compiles: dict[str, tuple[CompileTime, Runtime]] = {}
        for runtime in self.runtimes:
            for compile_ in runtime.compiles:  # of two profiles of one process the one that saw more of it
                entry = self._compiles.get(compile_.ref)
                if entry is None or entry[0].regions.calls < compile_.regions.calls:
                    self._compiles[compile_.ref] = compile_, runtime
        self._hottest = max(
            (kernel.time.us / self._steps(runtime) for compile_, runtime in self._compiles.values()
             for graph in compile_.graphs for kernel in graph.kernels), default=0.0,
        )  # fmt: skip

    @property
    def of(self) -> str:
        """The basis of a figure, for a heading or a sentence: `a step`, `in all`."""
        return "per step" if self.per_step else "in total"

    @property
    def refs(self) -> tuple[str, ...]:
        """Return the addresses of the compiles that ran."""
        return tuple(self._compiles)

    def of_compile(self, ref: str) -> CompileTime | None:
        """Return the total times of a compile; None if it ran in no profile."""
        return self._compiles[ref][0] if ref in self._compiles else None

    def us_of(self, ref: str) -> float | None:
        """Return the cost of a compile in µs; None if it did not run.

        Its guards, its regions without nested ones, and its backward graphs, which run outside of the region. These
        costs may be added up.
        """
        entry = self._compiles.get(ref)
        return None if entry is None else self_us(entry[0]) / self._steps(entry[1])

    def share_of(self, ref: str, us: float) -> float:
        """Return the share (0…1) of `us`, a figure of a compile, in a step or in the window."""
        entry = self._compiles.get(ref)
        if entry is None:
            return 0.0
        total_us = window_us(entry[1]) / self._steps(entry[1])
        return us / total_us if total_us > 0 else 0.0

    def scaled(self, ref: str, us: float) -> float:
        """Convert a time in a profile's window to the basis of these figures: a step's share."""
        entry = self._compiles.get(ref)
        return us if entry is None else us / self._steps(entry[1])

    def of_kernels(self, ref: str, unit: str) -> Mapping[str, KernelTime]:
        """Return total times by `tltui.questions.provenance.records.Kernel.key`."""
        return {kernel.key: kernel for graph in self._graphs(ref, unit) for kernel in graph.kernels if kernel.key}

    def of_nodes(self, ref: str, unit: str) -> Mapping[str, float]:
        """Return for each node the time of its kernels."""
        return self._spread(ref, unit, lambda kernel: kernel.nodes)

    def of_lines(self, ref: str, unit: str) -> Mapping[str, float]:
        """Return for each `FILE:LINE` the time of its kernels."""
        return self._spread(ref, unit, lambda kernel: kernel.lines)

    def heat(self, us: float) -> float:
        """Return the cost of a kernel relative to the run's most expensive one: 0…1, linear."""
        return min(max(us / self._hottest, 0.0), 1.0) if self._hottest > 0 else 0.0

    def _graphs(self, ref: str, unit: str) -> list[GraphTime]:
        entry = self._compiles.get(ref)
        return [graph for graph in entry[0].graphs if graph.unit == unit] if entry else []

    def _spread(self, ref: str, unit: str, names: _Names) -> Mapping[str, float]:
        sums: defaultdict[str, float] = defaultdict(float)
        for graph in self._graphs(ref, unit):
            for kernel in graph.kernels:
                for name in set(names(kernel)):
                    sums[name] += self.scaled(ref, kernel.time.us)
        return dict(sums)

    def _steps(self, runtime: Runtime) -> int:
        return len(runtime.steps) if self.per_step else 1


_cached_costs: WeakKeyDictionary[Run, tuple[tuple[Runtime | Refused, ...], Costs | None]] = WeakKeyDictionary()


def costs_of(run: Run) -> Costs | None:
    """Return the cached costs of a run; None without a joined profile."""
    if not run.profiles.version:
        return None
    from tltui.questions.runtime.profile_sums import runtimes_of  # joining is much to import where there is no profile

    return _costs(run, runtimes_of(run))


def computed_costs(run: Run) -> Costs | None:
    """Return the last computed costs of a run, for drawing, which never waits for a profile."""
    return _costs(run, cast("tuple[Runtime | Refused, ...]", run.profiles.cached[1]))


def _costs(run: Run, results: tuple[Runtime | Refused, ...]) -> Costs | None:
    if not results:
        return None
    cached = _cached_costs.get(run)
    if cached is None or cached[0] is not results:
        from tltui.questions.runtime.profile_results import Runtime

        joined = [runtime for runtime in results if isinstance(runtime, Runtime)]
        cached = _cached_costs[run] = results, Costs(joined) if joined else None
    return cached[1]


def self_us(compile_: CompileTime) -> float:
    """Return a compile's time without nested compiles: guards, regions, backward."""
    outside = sum(graph.time.us for graph in compile_.graphs if graph.unit.startswith(BACKWARD))
    return compile_.region_self_us + compile_.lookups.us + outside


def window_us(runtime: Runtime) -> float:
    """Return the denominator of shares: the length of the window."""
    return runtime.share.total_us or max(runtime.end_us - runtime.begin_us, 0.0)
