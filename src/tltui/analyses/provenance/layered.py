"""What belongs to which layer of the model, and which kernels cost what by their code: small frozen results."""

from __future__ import annotations

from dataclasses import dataclass, field

MERGED = "*"
"""Stands for the number of an iteration where iterations are merged: `layers.*.attn`."""


@dataclass(frozen=True, slots=True)
class StaticCost:
    """What generated code tells of a kernel without running it. None where it does not say."""

    loads: int | None = None
    """Buffers that C++ reads; of Triton the loads in its code, as Inductor counts them."""
    stores: int | None = None
    reductions: int | None = None
    """Of Triton; C++ does not say."""
    bytes: int | None = None
    """Read and written, by the sizes of the buffers: each whole, once for each pointer to it."""
    estimated_us: float | None = None
    """Inductor's estimate, where it was logged."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A module of the model: `layers.3.attn`. The outermost is ''."""

    path: str
    parent: int
    """Its place in `UnitLayers.layers`; -1 for the outermost."""
    pre: tuple[str, ...]
    """Pre-grad nodes of it and of what it holds, in the order of the graph."""
    post: tuple[str, ...]
    kernels: tuple[str, ...]
    """Keys of kernels (`Kernel.key`) that compute something of it. A kernel may be in several layers."""
    alone: tuple[str, ...]
    """Those of them that compute nothing outside of it."""
    lines: tuple[str, ...]
    """`FILE:LINE`, the user's own first."""
    cost: StaticCost = field(default_factory=StaticCost)
    """Of those of `kernels` together of which it is known."""
    priced: int = 0
    """How many of `kernels` those are, for the bytes."""


@dataclass(frozen=True, slots=True)
class Site:
    """A line on the way from the outermost caller to an operation: a node of the call tree of a unit."""

    file: str
    line: int
    function: str
    parent: int
    """-1 at the top."""
    kernels: tuple[str, ...]
    post: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitLayers:
    """The layers and call sites of one unit, in the order in which they first run."""

    unit: str
    layers: tuple[Layer, ...]
    sites: tuple[Site, ...]
    of_pre: dict[str, str]
    """Pre-grad node → path of its innermost layer."""
    of_post: dict[str, str]
    of_kernel: dict[str, tuple[str, ...]]
    """Key of a kernel → its innermost layers."""
    unknown: int
    """Kernels of which no layer is known."""
    why: str
    """Why there are no layers, or not all; '' where all is known."""
    costs: dict[str, StaticCost]
    """Key of a kernel → its cost."""


@dataclass(frozen=True, slots=True)
class Layers:
    """All units of a compile."""

    ref: str
    units: tuple[UnitLayers, ...]

    def unit(self, name: str) -> UnitLayers | None:
        """The unit of a name."""
        return next((unit for unit in self.units if unit.unit == name), None)
