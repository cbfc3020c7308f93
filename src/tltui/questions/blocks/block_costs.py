"""Predicted cost of compiling each repeated block separately: compile time, kernels, and fusions that are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from tltui.model.artifacts import artifacts_of
from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.model.torch_version import version_by_metrics
from tltui.model.torch_versions import exists_in, limit_name
from tltui.questions.blocks.graph_blocks import BlockGroup, GraphBlocks, blocks_in, class_versions
from tltui.questions.layers.layer_kernels import JOINT, captured_layers, layers_of
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import Kernel
from tltui.questions.timing.event_sums import stretches_of, time_of
from tltui.questions.timing.timing_events import KERNELS, Phase, events_of, intervals_of
from tltui.text.frozen import frozen, mutable

REST = ""
"""The key of everything outside of the blocks."""
FILE = "compile_file"
"""The timing event of a C++ file."""
INTEGERS = "torch._dynamo.config.allow_unspec_int_on_nn_module"

# Measured with torch 2.13.0 on a CPU by `tools/blocks_measure.py constants`: five compilations of a linear layer with ReLU in one
# process, caches off, one compiling thread, and 64 of these layers compiled together and separately.
FIRST_S = 2.1
"""Seconds of processor of imports of Inductor in the first compile of a process: 2.27 s, in the four after it 0.13 to 0.18 s."""
VERSION_S = 0.15
"""Seconds of processor of a compiled version with a graph of three nodes, without its kernel."""
CALL_US = 29.0
"""Microseconds of a call of a compiled block beyond its kernels: 2,299 µs for 64 separate layers, 472 µs for all as one."""


@frozen
class GroupCost:
    """A group of equal blocks, each compiled separately."""

    compile_s: float | None
    """Seconds to compile all versions of the block; None without times."""
    kernel_calls: int | None
    """Kernel calls of one block in one run, forward and backward together; None if no kernel is known."""
    kernels: int | None
    """Different kernels of one block."""


@frozen
class LostFusion:
    """A kernel with nodes of several blocks, or of a block and of the rest: separate compilation divides it."""

    unit: str
    key: str
    blocks: tuple[str, ...]
    """The modules; empty text for what is outside of the blocks."""


@frozen
class CompileBlocks:
    """A compile with repeated blocks, and the prediction for compiling each block separately."""

    ref: str
    function: str | None
    nodes: int
    """Nodes of the captured graph that compute something."""
    repeated_nodes: int
    """Those in repeated blocks."""
    groups: tuple[BlockGroup, ...]
    costs: tuple[GroupCost, ...]
    """Of each group, in their order."""
    compile_s: float | None
    """Compile time, forward and backward together; None without times."""
    phases: tuple[Phase, ...]
    """Its phases."""
    separate_s: float | None
    """Predicted compile time with each block compiled separately."""
    kernel_calls: int | None
    """Kernel calls of one run; None without generated code."""
    separate_kernel_calls: int | None
    """Predicted kernel calls in the blocks of one run; None if the kernels of a group are unknown. The operations outside of the
    blocks then run in eager mode."""
    rest_kernel_calls: int | None
    """Kernel calls that compute nothing in the blocks; None if the layers of no kernel are known."""
    kernels: int
    """Different generated kernels; 0 if none is known."""
    rest_nodes: int
    """Captured nodes outside of the blocks."""
    lost_fusions: tuple[LostFusion, ...]
    kernels_of_unknown_layer: int
    call_overhead_us: float
    """Predicted time of calling the compiled blocks in one run, in microseconds, beyond calling one compiled function."""
    limit_setting: str
    """The setting of torch that limits the compiled versions of a function."""
    integer_setting: str
    """The setting that makes integer attributes of modules dynamic; empty for versions of torch that may lack it."""

    @property
    def versions(self) -> int:
        """The most compiled versions of a class."""
        return class_versions(self.groups)


@part
def blocks_of(compile_: Compile, reader: Reader) -> CompileBlocks | None:
    """Return the repeated blocks of a compile with their prediction; None without repeated blocks."""
    graph_blocks = graph_blocks_of(compile_)
    if graph_blocks is None or not graph_blocks.groups:
        return None
    groups = graph_blocks.groups
    kernels = _kernels(compile_, groups)
    version = version_by_metrics(compile_, reader)
    costs = tuple(GroupCost(None, *_of_one_block(group, kernels, len(groups) == 1)) for group in groups)
    repeated = graph_blocks.repeated_nodes
    calls = [len(group.members) * cost.kernel_calls for group, cost in zip(groups, costs, strict=True) if cost.kernel_calls]
    blocks = CompileBlocks(
        str(compile_.ref), compile_.frame.code[0], graph_blocks.nodes, repeated, groups, costs, None, (), None,
        kernels.calls if kernels is not None else None, sum(calls) if len(calls) == len(groups) else None,
        kernels.rest if kernels is not None and kernels.calls_of else None, len(kernels.definitions) if kernels is not None else 0,
        graph_blocks.nodes - repeated, tuple(kernels.lost) if kernels is not None else (),
        kernels.unknown if kernels is not None else 0, (sum(group.calls for group in groups) - 1) * CALL_US,
        limit_name(version), INTEGERS if exists_in(version, INTEGERS) else "",
    )  # fmt: skip
    seconds = seconds_of(compile_)
    if seconds is None or not seconds.phases:
        return blocks
    constant_s, *of_groups = separate_seconds(blocks, seconds)
    costs = tuple(replace(cost, compile_s=group_s) for cost, group_s in zip(costs, of_groups, strict=True))
    separate_s = constant_s + sum(of_groups)
    return replace(blocks, costs=costs, compile_s=seconds.total_s, phases=seconds.phases, separate_s=separate_s)


@part
def graph_blocks_of(compile_: Compile, reader: Reader) -> GraphBlocks | None:
    """Return the groups of equal blocks in the captured graph of a compile; None without a graph that names parameters."""
    captured = captured_layers(compile_)
    return None if captured is None else blocks_in(captured, any(one.name == JOINT for one in artifacts_of(compile_)))


@mutable
class _Kernels:
    """Kernel calls of all units of a compile, by block."""

    calls: int = 0
    rest: int = 0
    unknown: int = 0
    definitions: set[tuple[str, object]] = field(default_factory=set)
    """Different generated kernels: unit and place of the code."""
    calls_of: Counter[str] = field(default_factory=Counter)
    """Block → kernel calls that compute something of it."""
    definitions_of: dict[str, set[tuple[str, object]]] = field(default_factory=dict)
    lost: list[LostFusion] = field(default_factory=list)
    times: Counter[tuple[str, object]] = field(default_factory=Counter)
    """Generated kernel, or the name of an external one → its calls."""

    def add(self, unit: str, kernel: Kernel, blocks: Sequence[str]) -> None:
        """Add a kernel call that computes something of these blocks."""
        self.calls += kernel.times
        definition = (unit, kernel.definition)
        self.times[definition if kernel.definition is not None else (unit, kernel.name)] += kernel.times
        if kernel.definition is not None:
            self.definitions.add(definition)
        if not blocks:
            self.unknown += 1
        if tuple(blocks) == (REST,):
            self.rest += kernel.times
        for block in blocks:
            self.calls_of[block] += kernel.times
            if kernel.definition is not None:
                self.definitions_of.setdefault(block, set()).add(definition)
        if len(blocks) > 1:
            self.lost.append(LostFusion(unit, kernel.key, tuple(blocks)))


def _kernels(compile_: Compile, groups: Iterable[BlockGroup]) -> _Kernels | None:
    """Return the kernels by block; None without kernels."""
    provenance = provenance_of(compile_)
    layers = layers_of(compile_, provenance)
    members = {path for group in groups for path in group.members}
    kernels = _Kernels()
    for unit in provenance.units:
        unit_layers = layers.unit(unit.unit)
        of_kernel = unit_layers.of_kernel if unit_layers is not None else {}
        for kernel in unit.kernels:
            blocks = dict.fromkeys(_block(path, members) for path in of_kernel.get(kernel.key, ()))
            kernels.add(unit.unit, kernel, tuple(blocks))
    return kernels if kernels.calls else None


def _block(path: str, members: set[str]) -> str:
    """Return the block that a module belongs to; REST outside of all blocks."""
    while path and path not in members:
        path = path.rpartition(".")[0]
    return path


@frozen
class CompileSeconds:
    """The seconds of a compile, and what they depend on."""

    total_s: float
    phases: tuple[Phase, ...]
    files: int
    """C++ files that were compiled, among them those that only examine the machine."""
    is_first: bool
    """Whether it is the first compile of its process."""

    def scaled(self, factor: float) -> CompileSeconds:
        """Return the seconds of another clock: of processor instead of wall time."""
        phases = tuple(Phase(phase.name, phase.self_s * factor) for phase in self.phases)
        return CompileSeconds(self.total_s * factor, phases, self.files, self.is_first)


def seconds_of(compile_: Compile) -> CompileSeconds | None:
    """Return the seconds of a compile, forward and backward together; None without times."""
    for stretch in stretches_of([compile_]):
        for member, row in zip(stretch.members, stretch.block().rows, strict=True):
            if member is compile_ and (time := time_of(compile_, row)) is not None:
                files = sum(event.name == FILE for event in intervals_of(events_of(compile_)))
                first = next((other for other in compile_.process.compiles.values() if other.is_compile), None)
                return CompileSeconds(time.duration_s, time.phases, files, first is compile_)
    return None


def separate_seconds(blocks: CompileBlocks, seconds: CompileSeconds) -> tuple[float, ...]:
    """Predict the seconds of each group with its blocks compiled separately; first those that do not depend on the blocks.

    Kernels: the mean of a C++ file times the files that remain. Other phases: the share of the nodes, for each version, after the
    constant costs of the first compile. Versions for guarded values have equal kernels, which are compiled once.
    """
    kernels_s = sum(phase.self_s for phase in seconds.phases if phase.name == KERNELS)
    others_s = sum(phase.self_s for phase in seconds.phases if phase.name != KERNELS)
    constant_s = min(FIRST_S, others_s) if seconds.is_first else 0.0
    examining = max(seconds.files - blocks.kernels, 0) if blocks.kernels else 0
    files = max(blocks.kernels + examining, 1)
    results = [constant_s + kernels_s * examining / files]
    for group, cost in zip(blocks.groups, blocks.costs, strict=True):
        share = group.nodes / blocks.nodes
        kernels = kernels_s if cost.kernels is None else kernels_s * min(cost.kernels / files, 1.0)
        results.append(group.versions * (VERSION_S + (others_s - constant_s) * share) + group.graph_versions * kernels)
    return tuple(results)


def _of_one_block(group: BlockGroup, kernels: _Kernels | None, is_only: bool) -> tuple[int | None, int | None]:
    """Return the kernel calls and the different kernels of one block: the median of the blocks, the lower one of an even number.

    If the layers of no kernel are known, a kernel belongs to the only group if it is called at least once for two of its blocks.
    """
    if kernels is None:
        return None, None
    count = len(group.members)
    if not kernels.calls_of and is_only:
        of_blocks = {kernel: times for kernel, times in kernels.times.items() if 2 * times >= count}
        defined = sum(kernel in kernels.definitions for kernel in of_blocks)
        return (round(sum(of_blocks.values()) / count), defined) if of_blocks else (None, None)
    calls = sorted(kernels.calls_of[path] for path in group.members)
    different = sorted(len(kernels.definitions_of.get(path, ())) for path in group.members)
    middle = (count - 1) // 2
    return (calls[middle], different[middle]) if calls[middle] else (None, None)
