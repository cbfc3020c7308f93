"""Run-time costs of compiles, kernels, nodes and lines, for other pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import cast
from weakref import WeakKeyDictionary

from tltui.model.run import Run
from tltui.questions.runtime.profile_results import CompileTime, GraphTime, KernelTime, Refused, Runtime

BACKWARD = "backward"
_Names = Callable[[KernelTime], tuple[str, ...]]


class Costs:
    """The costs of a run. At least one profile was joined."""

    def __init__(self, runtimes: Sequence[Runtime]) -> None:
        self.runtimes = tuple(runtimes)
        self.per_step = all(runtime.steps for runtime in self.runtimes)
        """Whether figures are of a step on average; else they are of the whole window."""
        self._compiles: dict[str, tuple[CompileTime, Runtime]] = {}
        for runtime in self.runtimes:
            for compile_ in runtime.compiles:  # of two profiles of one process the one that saw more of it
                known = self._compiles.get(compile_.ref)
                if known is None or known[0].regions.calls < compile_.regions.calls:
                    self._compiles[compile_.ref] = compile_, runtime
        self._hottest = max(
            (kernel.time.us / self._steps(runtime) for compile_, runtime in self._compiles.values()
             for graph in compile_.graphs for kernel in graph.kernels), default=0.0,
        )  # fmt: skip

    @property
    def of(self) -> str:
        """What a figure is of, for a head or a sentence: `a step`, `in all`."""
        return "a step" if self.per_step else "in all"

    @property
    def refs(self) -> tuple[str, ...]:
        """The addresses of the compiles that ran."""
        return tuple(self._compiles)

    def of_compile(self, ref: str) -> CompileTime | None:
        """What was measured of a compile, in all; None where it did not run in any profile."""
        return self._compiles[ref][0] if ref in self._compiles else None

    def runtime_of(self, ref: str) -> Runtime | None:
        """The profile that tells of a compile."""
        return self._compiles[ref][1] if ref in self._compiles else None

    def us_of(self, ref: str) -> float | None:
        """What a compile costs: its guards, its regions without those inside of them, and its backward graphs, which run outside
        of the region. These may be added. None where it did not run."""
        found = self._compiles.get(ref)
        return None if found is None else own_us(found[0]) / self._steps(found[1])

    def share_of(self, ref: str, us: float) -> float:
        """The share, 0…1, that `us` (a figure of a compile, as all here) has in a step, or in the window."""
        found = self._compiles.get(ref)
        if found is None:
            return 0.0
        whole = whole_us(found[1]) / self._steps(found[1])
        return us / whole if whole > 0 else 0.0

    def scaled(self, ref: str, us: float) -> float:
        """Of a time in the whole window of a compile's profile what falls to a figure here: a step's part."""
        found = self._compiles.get(ref)
        return us if found is None else us / self._steps(found[1])

    def of_kernels(self, ref: str, unit: str) -> Mapping[str, KernelTime]:
        """By `tltui.questions.provenance.records.Kernel.key` what was measured of each kernel, in all."""
        return {kernel.key: kernel for graph in self._graphs(ref, unit) for kernel in graph.kernels if kernel.key}

    def of_nodes(self, ref: str, unit: str) -> Mapping[str, float]:
        """By node the time of the kernels that it is in."""
        return self._spread(ref, unit, lambda kernel: kernel.nodes)

    def of_lines(self, ref: str, unit: str) -> Mapping[str, float]:
        """By `FILE:LINE` the time of the kernels that it is in."""
        return self._spread(ref, unit, lambda kernel: kernel.lines)

    def heat(self, us: float) -> float:
        """How dear a kernel is beside the dearest of the run: 0…1, linear."""
        return min(max(us / self._hottest, 0.0), 1.0) if self._hottest > 0 else 0.0

    def _graphs(self, ref: str, unit: str) -> list[GraphTime]:
        found = self._compiles.get(ref)
        return [graph for graph in found[0].graphs if graph.unit == unit] if found else []

    def _spread(self, ref: str, unit: str, names: _Names) -> Mapping[str, float]:
        sums: defaultdict[str, float] = defaultdict(float)
        for graph in self._graphs(ref, unit):
            for kernel in graph.kernels:
                for name in set(names(kernel)):
                    sums[name] += self.scaled(ref, kernel.time.us)
        return dict(sums)

    def _steps(self, runtime: Runtime) -> int:
        return len(runtime.steps) if self.per_step else 1


_KEPT: WeakKeyDictionary[Run, tuple[tuple[Runtime | Refused, ...], Costs | None]] = WeakKeyDictionary()


def costs_of(run: Run) -> Costs | None:
    """The costs of a run, kept; None where no profile was joined, or none is read yet."""
    if not run.profiles.version:
        return None
    from tltui.questions.runtime.profile_sums import runtimes_of  # joining is much to import where there is no profile

    return _costs(run, runtimes_of(run))


def known_costs(run: Run) -> Costs | None:
    """The costs of a run as they were last asked for: for what is drawn, which never waits for a profile to be joined."""
    return _costs(run, cast("tuple[Runtime | Refused, ...]", run.profiles.kept[1]))


def _costs(run: Run, found: tuple[Runtime | Refused, ...]) -> Costs | None:
    kept = _KEPT.get(run)
    if kept is None or kept[0] is not found:
        joined = [runtime for runtime in found if isinstance(runtime, Runtime)]
        kept = _KEPT[run] = found, Costs(joined) if joined else None
    return kept[1]


def own_us(compile_: CompileTime) -> float:
    """What a compile took in the window without other compiles in its regions: its guards, its regions, its backward."""
    outside = sum(graph.time.us for graph in compile_.graphs if graph.unit.startswith(BACKWARD))
    return compile_.region_self_us + compile_.lookups.us + outside


def whole_us(runtime: Runtime) -> float:
    """What shares are of: all of the window."""
    return runtime.share.whole_us or max(runtime.end_us - runtime.begin_us, 0.0)
