"""What is told of layers: `tltui layers --json`."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.provenance.layered import Site, StaticCost


@dataclass(frozen=True, slots=True)
class KernelCost:
    """A kernel of a layer, in the order of the code."""

    key: str
    """As in provenance: `NAME:HANDLE`, or `NAME`."""
    layers: tuple[str, ...]
    """The innermost layers that it computes something of."""
    nodes: tuple[str, ...]
    """Post-grad nodes."""
    lines: tuple[str, ...]
    """`FILE:LINE`."""
    cost: StaticCost
    us: float | None
    """Measured, with a profile: in all, or a step on average."""


@dataclass(frozen=True, slots=True)
class LayerCost:
    """A layer, or with `--merge` all iterations of one."""

    path: str
    """The outermost is ''."""
    iterations: int
    """How many layers it stands for."""
    kernels: int
    kernels_only_here: int
    """Kernels that compute nothing outside of it."""
    nodes: int
    """Post-grad nodes."""
    lines: tuple[str, ...]
    cost: StaticCost
    """Of the kernels of which it is known together."""
    priced: int
    """Of how many kernels the bytes are known."""
    us: float | None
    """Measured: the whole time of the kernels that are in it. Such figures of several layers are never added."""


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """One lowering."""

    unit: str
    why: str
    """Why layers are not known, or not of all kernels; ''."""
    unknown: int
    """Kernels of which no layer is known."""
    layers: tuple[LayerCost, ...]
    kernels: tuple[KernelCost, ...]
    sites: tuple[Site, ...]
    """The call tree; () where one layer was asked for."""


@dataclass(frozen=True, slots=True)
class CompileLayers:
    """The layers of a compile."""

    ref: str
    layer: str
    """The layer that was asked for; '' for all."""
    units: tuple[UnitCosts, ...]
