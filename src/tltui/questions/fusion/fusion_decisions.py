"""Fusion records of a compile, and torch's reasons for nodes that were not fused."""

from __future__ import annotations

import re
from functools import lru_cache

from tltui.model.torch_versions import TorchVersion, exists_in
from tltui.questions.shapes.shape_env import Value, value_of
from tltui.text.frozen import frozen

ARGUMENTS = "arguments"
ORIGINS = "origins"
PART = "part"
UNKNOWN = ""


@frozen
class Origin:
    """A node of the post-grad graph."""

    name: str
    line: int
    """Its line in the graph."""


@frozen
class SourceLine:
    """Source line."""

    file: str
    line: int
    code: str


@frozen
class Loops:
    """The loops of an operation."""

    sizes: tuple[Value, ...]
    """Of the outer loops; text for an expression. Empty without outer loops."""
    reduced_sizes: tuple[Value, ...] = ()
    """Of the loops of a reduction."""

    def __str__(self) -> str:
        outer, inner = (" × ".join(map(str, sizes)) for sizes in (self.sizes, self.reduced_sizes))
        return f"{outer or '1'} × {inner} reduced" if inner else outer or "1"


@frozen
class SchedulerNode:
    """Node after fusion: a kernel, or a part of one."""

    name: str
    kind: str
    """The class of torch: SchedulerNode, FusedSchedulerNode, ExternKernelSchedulerNode, …; '' where it is not known."""
    operations: tuple[str, ...]
    """The nodes before fusion that it is made of."""
    operation_kinds: tuple[str, ...]
    """Pointwise, Reduction, …: each once; of an external node the function that it calls. Empty where it is not known."""
    loops: tuple[Loops, ...]
    """Each of the different ones of its operations."""
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


@frozen
class FusedKernel:
    """Kernel call with its nodes."""

    key: str
    name: str
    is_generated: bool
    """Whether Inductor wrote it; else a function of a library is called."""
    call_line: int
    """Of the call in the generated code."""
    definition_line: int
    nodes: tuple[str, ...]
    """Names of nodes after fusion."""
    operations: int
    origins: tuple[Origin, ...]
    source: tuple[SourceLine, ...]


@frozen
class NotFused:
    """Two nodes that were not fused."""

    first: str
    """Its name at that time: of what was fused by then those of all its operations."""
    second: str
    first_node: str
    """The node that it is in after all fusion, '' where that is not known. Where both are in the same one, a later round fused
    them."""
    second_node: str
    details: str
    """What the reason says of them beyond its sentence."""
    rounds: int
    """Rounds that say so."""
    first_origins: tuple[Origin, ...]
    second_origins: tuple[Origin, ...]
    first_source: tuple[SourceLine, ...]
    second_source: tuple[SourceLine, ...]

    @property
    def is_fused_later(self) -> bool:
        """Whether a later round fused them."""
        return bool(self.first_node) and self.first_node == self.second_node


@frozen
class Reason:
    """Why nodes were not fused."""

    reason: str
    """As torch says it, without values."""
    meaning: str
    """The same in plain words, '' where it is not known."""
    advice: str
    """What one can do, '' for nothing known."""
    pairs: tuple[NotFused, ...]


@frozen
class Timed:
    """Two nodes that were timed fused and apart."""

    first: tuple[str, ...]
    """Buffers that it writes."""
    second: tuple[str, ...]
    is_fused: bool
    factor: str


@frozen
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


@frozen
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
    log_agrees_with_ir: bool | None
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


@frozen
class CompileFusion:
    """The fusion of a compile."""

    ref: str
    function: str | None
    units: tuple[UnitFusion, ...]


@frozen
class ReasonCount:
    """Number of pairs that a reason kept from fusing."""

    reason: str
    pairs: int
    fused_later: int
    """Pairs among them that a later round fused."""


@frozen
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
    """Sum up units. Operations and nodes are counted where they are known."""
    by_reason: dict[str, list[NotFused]] = {}
    for unit in units:
        for reason in unit.reasons:
            by_reason.setdefault(reason.reason, []).extend(reason.pairs)
    counts = (ReasonCount(reason, len(pairs), sum(pair.is_fused_later for pair in pairs)) for reason, pairs in by_reason.items())
    reasons = tuple(sorted(counts, key=lambda count: -count.pairs))
    generated = sum(unit.generated for unit in units)
    return FusionSums(
        len(units), sum(unit.ops for unit in units), sum(len(unit.nodes) for unit in units), generated,
        sum(len(unit.kernels) for unit in units) - generated, sum(count.pairs for count in reasons), reasons,
    )  # fmt: skip


_SETTING = re.compile(r"torch\._inductor\.config(?:\.\w+)+")
_VALUES = re.compile(r"\([^()]*\)|(?<![A-Za-z_])\d+(?:\.\d+)?")


@frozen
class KnownCause:
    """A reason of torch."""

    begins: str
    """What its text begins with; the whole text where it has no values."""
    means: str
    """A plain sentence."""
    does: str = ""
    """What one can do, '' where there is nothing that torch offers. It names one setting."""

    @property
    def setting(self) -> str:
        """The setting that it names, '' for none."""
        setting_match = _SETTING.search(self.does)
        return setting_match[0] if setting_match else ""


_ORDER = (
    "Another node depends on the first and feeds the second. If that node is fused with one of them, the next round may fuse the "
    "rest. Otherwise the two stay separate, because fusing them would create a cycle."
)
_LOOPS = "The two nodes run over different numbers of elements, so they cannot share one loop."
_LIBRARY = (
    "A library call (a matrix product, a convolution, a custom operator) is a separate kernel; Inductor does not generate its "
    "code."
)
_TEMPLATES = (
    "torch._inductor.config.max_autotune_gemm = True makes Inductor try its own matrix products, which can be fused "
    "with later operations."
)
_PROLOGUE = "Operations before an Inductor matrix product are fused only if the product then reads less."
_EPILOGUE = (
    "Operations after an Inductor matrix product are fused only if they are element-wise and change nothing in place."
)
_FOREACH = "A foreach operation handles many small tensors in one kernel; another operation must match each of them."
_OWN = "An operation after a user-defined Triton kernel is fused only if"

KNOWN_REASONS: tuple[KnownCause, ...] = (
    KnownCause("no shared data due to indexing mismatch",
          "Both nodes use the same buffer, but in a different order of elements, so fusing would not save a read.",
          "torch._inductor.config.loop_ordering_after_fusion = True (the default of newer versions) tries other orders of the "
          "loops on a GPU."),
    KnownCause("no shared data",
          "Torch expects no savings from one kernel: the nodes share no buffer, do not use the same elements of it in the same "
          "order, or run over different sizes.",
          "torch._inductor.config.aggressive_fusion = True makes Inductor try to fuse such nodes too, if none is a reduction. "
          "This launches fewer kernels with about the same memory traffic."),
    KnownCause("intermediate nodes between node1 & node2", _ORDER),
    KnownCause("score_fusion_memory_threshold",
          "The nodes share too little data, such as one scalar. Fusing would save fewer bytes than the threshold (10).",
          "torch._inductor.config.score_fusion_memory_threshold sets how many bytes are enough."),
    KnownCause("Nodes are too far away. Fusing them may increase peak memory.",
          "More than 64 nodes are between them, so the result of the first would stay in memory for a long time."),
    KnownCause("Fusion will increase peak memory",
          "Fusing would keep buffers alive that could otherwise be reused, which costs more than it saves."),
    KnownCause("memory deps did not match",
          "In the same loop step, the second node reads places of a buffer that the first did not write (shifted, transposed, or "
          "the whole buffer).",
          "torch._inductor.config.loop_ordering_after_fusion = True (the default of newer versions) tries other orders of the "
          "loops on a GPU; in the model, moving .contiguous() may help."),
    KnownCause("exceeds max fusion", "The fused node would hold more operations than the limit (64).",
          "torch._inductor.config.max_fusion_size sets the limit."),
    KnownCause("fusion_prevent_too_many_reads_and_writes",
          "The kernel would read and write more buffers than the configured limit.",
          "torch._inductor.config.max_fusion_unique_io_buffers sets the limit; None (default) means no limit."),
    KnownCause("numel/rnumel mismatch (reduce)", "Two reductions over different sizes cannot share one loop."),
    KnownCause("numel/rnumel mismatch (non-reduce)", _LOOPS),
    KnownCause("numel/rnumel mismatch prologue mismatch", _LOOPS),
    KnownCause("nodes numel/rnumel incompatibility",
          "One node is element-wise, the other a reduction, and the elements cannot be split as the reduction needs."),
    KnownCause("nodes numel incompatibility", _LOOPS),
    KnownCause("tiling mismatch", "The nodes need different tilings, so they cannot share one.",
          "torch._inductor.config.triton.tiling_prevents_pointwise_fusion = False fuses them anyway; one of them may "
          "then read memory in a worse order."),
    KnownCause("invalid tiling for reduction", "The reduction cannot use the tiling of the other node.",
          "torch._inductor.config.triton.tiling_prevents_reduction_fusion = False fuses them anyway; one of them may "
          "then read memory in a worse order."),
    KnownCause("invalid loop order and tiling for native matmul",
          "A matrix product keeps its loop order, and the other node needs a different one."),
    KnownCause("Split scan cannot fuse with reductions",
          "A scan that is split over blocks cannot share a kernel with a reduction."),
    KnownCause("device mismatch", "The nodes run on different devices."),
    KnownCause("will create cycle", "Each node would have to wait for the other, through the nodes between them."),
    KnownCause("node1 must go before node2", "The first node needs a result of the second."),
    KnownCause("node1 is extern but not a triton kernel", _LIBRARY, _TEMPLATES),
    KnownCause("node2 is extern or nop", _LIBRARY, _TEMPLATES),
    KnownCause("node1 is extern but node2", f"{_OWN} it is element-wise."),
    KnownCause("node1's triton kernel doesn't support epilogue fusion",
          "Fusing later operations into this user-defined Triton kernel is switched off, or the kernel is unsupported."),
    KnownCause("epilogue reads from buffers other than the mutated output",
          f"{_OWN} it reads nothing but the output of the kernel."),
    KnownCause("node1 and node2 uses different buf layouts", f"{_OWN} it has the same sizes, strides and device."),
    KnownCause("node1 is nop", "The first node computes nothing; it only gives memory a new name."),
    KnownCause("grouped node must not be fused with other nodes",
          "Inductor keeps the nodes of a group together, in their order."),
    KnownCause("fusion for buffer explicit disabled", "Inductor keeps this buffer out of fusion."),
    KnownCause("prologue fusion turned off", "Fusing into the inputs of matrix products is switched off.",
          "torch._inductor.config.prologue_fusion = True switches it on."),
    KnownCause("prologue fusion", _PROLOGUE),
    KnownCause("template prologue", _PROLOGUE),
    KnownCause("template has no allowed prologue inputs", _PROLOGUE),
    KnownCause("template epilogue not satisfied", _EPILOGUE,
          "This fusion needs torch._inductor.config.epilogue_fusion = True, which is the default."),
    KnownCause("multi-output template epilogue requires ComputedBuffer", _EPILOGUE),
    KnownCause("foreach do not have same length", _FOREACH),
    KnownCause("candidate producer is", _FOREACH),
    KnownCause("candidate consumer", _FOREACH),
    KnownCause("register spilling of", "Benchmarked: the fused kernel needs more registers than are available.",
          "torch._inductor.config.benchmark_fusion = False fuses without benchmarking."),
)  # fmt: skip


@frozen
class ReasonMeaning:
    """A reason, without the values in it."""

    template: str
    values: str
    """The values in it, '' for none."""
    entry: KnownCause

    def advice(self, version: TorchVersion) -> str:
        """Return the advice for this version of torch; '' if there is none."""
        setting = self.entry.setting
        return "" if setting and exists_in(version, setting) is False else self.entry.does


@lru_cache(maxsize=1 << 12)
def meaning_of(reason: str) -> ReasonMeaning:
    """Split a reason into its template and values, with the known explanation."""
    text = " ".join(reason.split())
    entry = next((entry for entry in KNOWN_REASONS if text.startswith(entry.begins)), KnownCause("", ""))
    rest = text[len(entry.begins) :].strip()
    if not entry.begins:
        template = _VALUES.sub("…", text)
        return ReasonMeaning(template, text if template != text else "", entry)
    return ReasonMeaning(entry.begins, rest, entry) if rest.startswith("(") else ReasonMeaning(text, "", entry)


_PARTS = re.compile(r"^\(\s*[\[(](.*?)[\])],\s*[\[(](.*?)[\])]\s*\)$")


def loops_of(text: str) -> Loops | None:
    """Parse `.sizes` or `.group.iteration`: outer loops and reduced loops.

    Text in an unknown form is one size; None for an empty text.
    """
    match = _PARTS.match(text.strip())
    if match is None:
        return Loops((text.strip(),)) if text.strip() else None
    outer, inner = (_sizes(part) for part in match.groups())
    return Loops(outer, inner)


def _sizes(part: str) -> tuple[Value, ...]:
    return tuple(value_of(size) for item in part.split(", ") if (size := item.strip(" ,")))
