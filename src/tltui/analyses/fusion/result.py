"""What is known of the fusion of a compile: small frozen results. Lines count from 1, 0 means none."""

from __future__ import annotations

from dataclasses import dataclass

ARGUMENTS = "arguments"
ORIGINS = "origins"
PART = "part"
UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """A node of the post-grad graph."""

    name: str
    line: int
    """Its line in the graph."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of somebody's source."""

    file: str
    line: int
    code: str


@dataclass(frozen=True, slots=True)
class SchedulerNode:
    """A node after fusion: what becomes a kernel, or a part of one."""

    name: str
    kind: str
    """The class of torch: SchedulerNode, FusedSchedulerNode, ExternKernelSchedulerNode, …; '' where it is not known."""
    operations: tuple[str, ...]
    """The nodes before fusion that it is made of."""
    does: str
    """Pointwise, Reduction, …: each once; of an external node the function that it calls. '' where it is not known."""
    sizes: tuple[str, ...]
    """Its loops, `4 × sum of 16`: each of the different ones of its operations."""
    device: str
    writes: tuple[str, ...]
    """Buffers."""
    reads: tuple[str, ...]
    origins: tuple[Origin, ...]
    """What of the graph it computes, as the fusion log says, or else of an only node the mapping of its kernel."""
    source: tuple[SourceLine, ...]
    kernels: tuple[str, ...]
    """Keys of the kernels that compute it; of several that are possible all of them, see `kernel_from`."""
    kernel_from: str
    """`arguments`: it writes an argument of the kernel. `origins`: the kernel is the only one that computes its origins. `part`:
    it takes one of several outputs of another node. '' where that is not known, also where `kernels` are several of which one is
    right."""
    line: int
    """Its line in the IR after fusion."""


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """A call of a kernel, and what is in it."""

    key: str
    name: str
    is_generated: bool
    """Whether Inductor wrote it; else a function of a library is called."""
    line: int
    """Of the call in the generated code."""
    definition: int
    nodes: tuple[str, ...]
    """Names of nodes after fusion."""
    operations: int
    origins: tuple[Origin, ...]
    source: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class NotFused:
    """Two nodes that were not fused."""

    first: str
    """Its name at that time: of what was fused by then those of all its operations."""
    second: str
    first_node: str
    """The node that it is in after all fusion, '' where that is not known. Where both are in the same one, a later round fused
    them."""
    second_node: str
    values: str
    """What the reason says of them beyond its sentence."""
    times: int
    """Rounds that say so."""
    first_origins: tuple[Origin, ...]
    second_origins: tuple[Origin, ...]
    first_source: tuple[SourceLine, ...]
    second_source: tuple[SourceLine, ...]

    @property
    def is_fused_later(self) -> bool:
        """Whether a later round fused them."""
        return bool(self.first_node) and self.first_node == self.second_node


@dataclass(frozen=True, slots=True)
class Reason:
    """Why nodes were not fused."""

    reason: str
    """As torch says it, without values."""
    means: str
    """The same in plain words, '' where it is not known."""
    does: str
    """What one can do, '' for nothing known."""
    pairs: tuple[NotFused, ...]


@dataclass(frozen=True, slots=True)
class Timed:
    """Two nodes that were timed fused and apart."""

    first: tuple[str, ...]
    """Buffers that it writes."""
    second: tuple[str, ...]
    is_fused: bool
    factor: str


@dataclass(frozen=True, slots=True)
class BufferUse:
    """A buffer, the node that writes it and those that read it, with their kernels."""

    name: str
    layout: str
    writer: str
    readers: tuple[str, ...]
    is_output: bool
    """Whether the graph hands it out."""
    written_by: tuple[str, ...]
    """Keys of kernels."""
    read_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnitFusion:
    """The fusion of one unit."""

    unit: str
    ops: int
    """Nodes before fusion."""
    nodes: tuple[SchedulerNode, ...]
    """Those after it."""
    kernels: tuple[FusedKernel, ...]
    """In the order of the code."""
    reasons: tuple[Reason, ...]
    """The most frequent first."""
    timed: tuple[Timed, ...]
    buffers: tuple[BufferUse, ...]
    rounds: int
    has_ir: bool
    has_log: bool
    """Whether there are records of TORCH_LOGS=fusion."""
    is_complete: bool
    """Whether the log tells of the end of the fusion."""
    agrees: bool | None
    """Whether log and IR say the same of what was fused; None where one of them is not there."""
    pre_ref: str
    """Addresses of the texts, '' for none."""
    post_ref: str
    code_ref: str
    graph_ref: str

    @property
    def generated(self) -> int:
        """Calls of kernels that Inductor wrote."""
        return sum(kernel.is_generated for kernel in self.kernels)

    @property
    def not_fused(self) -> int:
        """Pairs that were not fused, each with one reason once."""
        return sum(len(reason.pairs) for reason in self.reasons)


@dataclass(frozen=True, slots=True)
class CompileFusion:
    """The fusion of a compile."""

    ref: str
    function: str | None
    units: tuple[UnitFusion, ...]


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """How often a reason stood against fusing."""

    reason: str
    pairs: int
    later: int
    """Pairs among them that a later round fused."""


@dataclass(frozen=True, slots=True)
class FusionSums:
    """The sums over units."""

    units: int
    ops: int
    nodes: int
    kernel_calls: int
    """Of kernels that Inductor wrote."""
    external_calls: int
    not_fused: int
    reasons: tuple[ReasonCount, ...]


def sums_of(units: tuple[UnitFusion, ...]) -> FusionSums:
    """The sums over some units. Operations and nodes are counted where they are known."""
    found: dict[str, list[NotFused]] = {}
    for unit in units:
        for reason in unit.reasons:
            found.setdefault(reason.reason, []).extend(reason.pairs)
    counts = (ReasonCount(reason, len(pairs), sum(pair.is_fused_later for pair in pairs)) for reason, pairs in found.items())
    reasons = tuple(sorted(counts, key=lambda count: -count.pairs))
    generated = sum(unit.generated for unit in units)
    return FusionSums(
        len(units), sum(unit.ops for unit in units), sum(len(unit.nodes) for unit in units), generated,
        sum(len(unit.kernels) for unit in units) - generated, sum(count.pairs for count in reasons), reasons,
    )  # fmt: skip
