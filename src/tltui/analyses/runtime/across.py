"""Kernels and lines of several calls or ranks put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from tltui.analyses.runtime.result import GraphTime, KernelTime, Runtime


@dataclass(slots=True)
class LineTime:
    """A line of source, or a layer: the whole time of each kernel that it is in. Of several of them it is never added."""

    name: str
    us: float = 0.0
    alone_us: float = 0.0
    """Of that, in kernels that have nothing but it."""
    calls: int = 0
    kernels: list[KernelTime] = field(default_factory=list)

    @property
    def mean_us(self) -> float:
        """All of its kernels, each called once."""
        return sum(kernel.time.mean_us for kernel in self.kernels)

    @property
    def median_us(self) -> float:
        """The same with the medians of the kernels."""
        return sum(kernel.time.median_us for kernel in self.kernels)


def line_times(graphs: Sequence[GraphTime]) -> list[LineTime]:
    """The lines of graphs, the dearest first."""
    kernels = [kernel for graph in graphs for kernel in graph.kernels]
    return _together([(kernel, kernel.lines, set(kernel.lines) if len(kernel.lines) == 1 else set()) for kernel in kernels])


def layer_times(graph: GraphTime, of_kernel: dict[str, tuple[str, ...]]) -> list[LineTime]:
    """The layers of a graph, with those that they are in: `layers`, `layers.3`, `layers.3.attn`."""
    found = []
    for kernel in graph.kernels:
        inner = of_kernel.get(kernel.key, ())
        names = _with_outer(inner)
        found.append((kernel, names, {name for name in names if all(f"{path}.".startswith(f"{name}.") for path in inner)}))
    return _together(found)


def _with_outer(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths and all that hold them, without the outermost, which is everything."""
    found: dict[str, None] = {}
    for path in paths:
        names = path.split(".")
        found.update(dict.fromkeys(".".join(names[: n + 1]) for n in range(len(names)) if path))
    return tuple(found)


def _together(members: Sequence[tuple[KernelTime, tuple[str, ...], set[str]]]) -> list[LineTime]:
    """Of each kernel its names, and those of them that have all of it."""
    found: dict[str, LineTime] = {}
    for kernel, names, alone in members:
        for name in dict.fromkeys(names):
            own = found.setdefault(name, LineTime(name))
            own.us += kernel.time.us
            own.alone_us += kernel.time.us if name in alone else 0.0
            own.calls += kernel.time.calls
            own.kernels.append(kernel)
    return sorted(found.values(), key=lambda own: (-own.us, own.name))


@dataclass(frozen=True, slots=True)
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
        """The rank on which it takes longest."""
        return max(self.means, key=lambda item: item[1])[0]

    @property
    def median_us(self) -> float:
        """The rank in the middle."""
        return median(us for _, us in self.means)

    @property
    def lost_us(self) -> float:
        """How much longer it takes on the slowest rank than on the one in the middle."""
        return max(us for _, us in self.means) - self.median_us


def rank_kernels(runtimes: Sequence[Runtime]) -> list[RankKernel]:
    """The kernels that several ranks have, those first of which the ranks differ most, in µs."""
    groups: defaultdict[tuple[str, str, str, int], list[tuple[int, str, KernelTime]]] = defaultdict(list)
    for runtime in runtimes:
        for compile_ in runtime.compiles if runtime.rank is not None else ():
            own = compile_.ref.rpartition(":")[2]
            for graph in compile_.graphs:
                for kernel in graph.kernels:
                    groups[own, graph.unit, kernel.name, kernel.nth].append((runtime.rank or 0, compile_.ref, kernel))
    found = []
    for (_, unit, _, _), members in groups.items():
        if len({rank for rank, _, _ in members}) > 1:
            _, ref, kernel = max(members, key=lambda item: item[2].time.mean_us)
            found.append(RankKernel(ref, unit, kernel, tuple((rank, own.time.mean_us) for rank, _, own in members)))
    return sorted(found, key=lambda item: -item.lost_us)
