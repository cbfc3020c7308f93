"""Differences between the kernels of two compiles or runs: split, merged, replaced, configured otherwise, more or fewer bytes.

Kernels are grouped by the graph nodes that they compute.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import json_in, metrics_fields, records_of, text_in
from tltui.model.ref import at_line
from tltui.model.torch_version import version_by_metrics, version_of
from tltui.model.torch_versions import TorchVersion
from tltui.questions.compare.comparable_lines import GraphText, graph_text, side_of
from tltui.questions.compare.pairing import owns_of
from tltui.questions.fusion.fusion_decisions import NotFused, UnitFusion, meaning_of
from tltui.questions.fusion.unit_fusion import fusion_of_compile, has_fusion
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.metrics.metric_sums import CONFIGS, FIELDS
from tltui.questions.passes.node_changes import node_pairs
from tltui.questions.provenance.dataflow.value_graph import VIEWS
from tltui.questions.provenance.generated_code import aten_of
from tltui.questions.provenance.provenance import LIMIT, provenance_of
from tltui.questions.provenance.records import POST, Kernel, UnitProvenance
from tltui.questions.provenance.unit_artifacts import WRAPPER
from tltui.questions.runtime.costs import Costs
from tltui.questions.stacks.tracebacks import display_name
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.normalisation import RankIdentity, normalised, rules_of

Names = tuple[str, ...]
EXTERN, TEMPLATE, GENERATED = "extern", "template", "generated"
_TEMPLATE = re.compile(r"triton_heuristics\.template\(|\w_micro_gemm\w*\(|async_compile\.(?:cuda|rocm|cutlass|cutedsl)\(")
"""A kernel from one of Inductor's templates: Triton's, those in C++, CUTLASS, CK, CuTe."""
_NUMBER = re.compile(r"_\d+$")
_FEATURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("threads", re.compile(r"num_threads\((\d+)\)")),
    ("heuristic", re.compile(r"triton_heuristics\.(\w+)\(")),
    ("size hints", re.compile(r"size_hints=(\{[^}\n]{0,200}\}|\[[^\]\n]{0,200}\])")),
    ("warps", re.compile(r"num_warps=(\d+)")),
    ("stages", re.compile(r"num_stages=(\d+)")),
)
"""What of the configuration of a kernel its code has, by name."""
_STEP = re.compile(r"\+=\(?static_cast<int64_t>\((\d{1,9})L?\)")
"""The elements by which a loop in C++ advances."""
_CPP, _VECTORS, _SYMBOLIC = re.compile(r"async_compile\.cpp|#include"), "at::vec::", re.compile(r"\bks\d+\b")

SPLIT, MERGED, REGROUPED = "split", "merged", "regrouped"
IMPLEMENTATION, CONFIGURATION, CODE = "other implementation", "other configuration", "other code"
MORE, FEWER = "more bytes", "fewer bytes"
ADDED, REMOVED, UNPAIRED = "added", "removed", "not paired"
KINDS = (SPLIT, MERGED, REGROUPED, IMPLEMENTATION, MORE, FEWER, CONFIGURATION, CODE, ADDED, REMOVED, UNPAIRED)
BYTES, TIME = "bytes", "time"
REASONS = 3
"""Reasons of Inductor that a change lists."""
Measured = tuple[Costs, Costs] | None
"""What profiles measured on both sides; None without a joined profile on either."""
N = TypeVar("N", int, float)


@frozen
class ComparedKernel:
    """A kernel on one side of a change."""

    key: str
    """Its name, unique in the unit."""
    implementation: str
    """`extern`: a function of a library; `template`: one of Inductor's templates; `generated`."""
    ref: str
    """The address of the line that calls it; empty without code."""
    moved_bytes: int | None
    """Bytes that one call reads and writes; null if unknown."""
    measured_us: float | None
    """Measured time, null without a profile on both sides."""


@frozen
class KernelChange:
    """Kernels of one side and those of the other side that compute the same."""

    kind: str
    """`split`, `merged`, `regrouped`, `other implementation`, `more bytes`, `fewer bytes`, `other configuration`, `other code`,
    `added`, `removed`, or `not paired` (the nodes of a kernel are unknown)."""
    function: str
    """The compiled function, on the right side."""
    unit: str
    left_ref: str
    """The compile on the left."""
    right_ref: str
    left: tuple[ComparedKernel, ...]
    right: tuple[ComparedKernel, ...]
    nodes: tuple[str, ...]
    """Nodes of the graph that the kernels compute, under their names on the right; of removed kernels, those of the left."""
    lines: tuple[str, ...]
    """`FILE:LINE` of these nodes, on the same side."""
    details: tuple[str, ...]
    """Changed implementations and settings of the kernels."""
    reasons: tuple[str, ...]
    """Inductor's reasons against fusing these kernels, from the log of fusion."""
    compiles: int = 1
    """Pairs of compiles with this change."""

    @property
    def title(self) -> str:
        """The kind with the numbers of kernels: `split 1 → 4`."""
        counts = f" {len(self.left)} → {len(self.right)}" if self.kind in (SPLIT, MERGED, REGROUPED) else ""
        return f"{self.kind}{counts}"

    @property
    def bytes_by_side(self) -> tuple[int | None, int | None]:
        """Bytes of one call of each kernel of a side; None if those of one are unknown."""
        return _sum(k.moved_bytes for k in self.left), _sum(k.moved_bytes for k in self.right)

    @property
    def us_by_side(self) -> tuple[float | None, float | None]:
        """Measured microseconds of a side."""
        return _sum(k.measured_us for k in self.left), _sum(k.measured_us for k in self.right)


@frozen
class RecordedDifference:
    """A difference between two compiles that may be the cause of changed kernels."""

    kind: str
    """`version`, `setting`, `guard` (the guard that failed), `input` or `symbol`."""
    name: str
    left: str | None
    right: str | None


@frozen
class KernelComparison:
    """The kernels of two compiles, ranks or runs."""

    left_kernels: int
    """Kernel calls of the compared compiles."""
    right_kernels: int
    same: int
    """Kernels on the right that are unchanged."""
    order: str
    """The order of `changes`: by the difference in `bytes`, or in `time` with a profile on both sides."""
    changes: tuple[KernelChange, ...]
    recorded_differences: tuple[RecordedDifference, ...] = ()
    """Other differences between the compiles with changed kernels; a setting that Inductor's reasons name comes first."""
    not_compared: tuple[str, ...] = ()
    """Compiles whose kernels could not be read, or that have generated code on one side, each with the reason."""


Differences = Callable[[Compile, Compile], Iterable[RecordedDifference]]


@frozen
class UnitKernel:
    """A kernel call and the properties that are compared."""

    kernel: Kernel
    ref: str
    """The address of the line that calls it; '' without code."""
    implementation: str
    """`extern`: a function of a library; `template`: one of Inductor's templates; `generated`."""
    code: tuple[Hashable, ...]
    """Its code without its name and without run-dependent parts; of an extern kernel the function."""
    features: tuple[tuple[str, str], ...]
    """The configuration in its code: name and value."""
    moved_bytes: int | None

    @property
    def stem(self) -> str:
        """Its name without the number of the kernel."""
        return _NUMBER.sub("", self.kernel.name)


@frozen
class UnitKernels:
    """The kernels of one unit of a compile."""

    unit: str
    kernels: tuple[UnitKernel, ...]
    graph: GraphText | None
    """The post-grad graph; None without one."""

    @property
    def nodes(self) -> tuple[FxNode, ...]:
        """The nodes of the graph."""
        return () if self.graph is None else self.graph.graph.nodes


@frozen
class Group:
    """Kernels of both sides that compute the same nodes; one side may be empty. Numbers are places in `UnitKernels.kernels`."""

    left: tuple[int, ...]
    right: tuple[int, ...]


def _sum(values: Iterable[N | None]) -> N | None:
    """Return the sum; None if one value is unknown."""
    numbers = list(values)
    known_numbers = [number for number in numbers if number is not None]
    return sum(known_numbers) if len(known_numbers) == len(numbers) else None


def has_kernels(compile_: Compile) -> bool:
    """Return whether a compile has generated code."""
    return any(True for _ in records_of(compile_, (OUTPUT_CODE, WRAPPER)))


def compare_kernels(
    pairs: Iterable[tuple[Compile, Compile]], differences: Differences, measured: Measured = None
) -> Generator[None, None, KernelComparison]:
    """Compare the kernels of pairs of compiles. `differences` gives those of a pair that may be the cause of changed kernels."""
    totals = [0, 0, 0]
    changes: dict[tuple[object, ...], KernelChange] = {}
    recorded: dict[RecordedDifference, None] = {}
    not_compared = []
    for left, right in pairs:
        if not has_kernels(left) or not has_kernels(right):
            if has_kernels(left) or has_kernels(right):
                not_compared.append(f"{right.ref}: only {'left' if has_kernels(left) else 'right'} has generated code")
            continue
        try:
            counts, own_changes = kernel_changes(left, right, measured)
            recorded |= dict.fromkeys(differences(left, right) if own_changes else ())
        except (OSError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            not_compared.append(f"{right.ref}: {reason or f'{type(error).__name__}: {error}'}")
            continue
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        for change in own_changes:
            key = _key(change)
            earlier = changes.get(key)
            changes[key] = change if earlier is None else replace(earlier, compiles=earlier.compiles + 1)
        yield
    order = TIME if measured is not None else BYTES
    names = {meaning_of(reason).entry.setting for change in changes.values() for reason in change.reasons}
    return KernelComparison(
        totals[0], totals[1], totals[2], order, _ordered(changes.values(), order), by_weight(recorded, names), tuple(not_compared)
    )


def by_weight(differences: Iterable[RecordedDifference], settings: set[str]) -> tuple[RecordedDifference, ...]:
    """Sort recorded differences: the version and settings that reasons name, other settings, guards and inputs.

    Another version has other defaults, so its settings come last; so do private ones.
    """
    recorded = tuple(differences)
    has_version = any(difference.kind == "version" for difference in recorded)

    def weight(difference: RecordedDifference) -> int:
        if difference.kind != "setting":
            return 0 if difference.kind == "version" else 2
        if difference.name in settings:
            return 0
        is_private = difference.name.partition(".config.")[2].startswith("_")
        return 4 if is_private else 3 if has_version else 1

    return tuple(sorted(recorded, key=weight))


def _key(change: KernelChange) -> tuple[object, ...]:
    """Return a key of changes that are equal on several ranks."""
    sides = tuple(tuple((k.key, k.moved_bytes) for k in side) for side in (change.left, change.right))
    return change.kind, change.function, change.unit, sides, change.lines, change.details, change.reasons


def _ordered(changes: Iterable[KernelChange], order: str) -> tuple[KernelChange, ...]:
    def size(change: KernelChange) -> tuple[float, ...]:
        times, sizes = (_by_difference(change.us_by_side), _by_difference(change.bytes_by_side))
        return (*times, *sizes) if order == TIME else sizes

    return tuple(sorted(changes, key=lambda change: (*(-value for value in size(change)), KINDS.index(change.kind))))


def _by_difference(sides: tuple[float | None, float | None]) -> tuple[float, float]:
    left, right = (side or 0.0 for side in sides)
    return (0.0 if None in sides else abs(right - left)), max(left, right)


def kernel_changes(left: Compile, right: Compile, measured: Measured = None) -> tuple[tuple[int, int, int], list[KernelChange]]:
    """Return the numbers of kernels on the left, on the right and unchanged, and the changes. Raises OSError."""
    owns = owns_of(left.process, right.process)
    units = [{unit.unit: unit for unit in _kernels_of(side, files)} for side, files in zip((left, right), owns, strict=True)]
    counts = [sum(len(unit.kernels) for unit in side.values()) for side in units]
    same = 0
    changes = []
    for name in dict.fromkeys((*units[1], *units[0])):
        a, b = (side.get(name, UnitKernels(name, (), None)) for side in units)
        comparison = _Between(left, right, a, b, measured)
        for group in groups_of(a, b):
            if (change := comparison.change(group)) is None:
                same += 1
            else:
                changes.append(change)
    return (counts[0], counts[1], same), changes


class _Between:
    """The changes between two units."""

    def __init__(self, left: Compile, right: Compile, a: UnitKernels, b: UnitKernels, measured: Measured) -> None:
        self._compiles, self._units = (left, right), (a, b)
        self._refs = str(left.ref), str(right.ref)
        self._function = display_name(right.frame) or right.label
        self._us = tuple(
            {} if measured is None else {
                key: costs.scaled(ref, kernel.time.us) for key, kernel in costs.of_kernels(ref, a.unit).items()
            } for ref, costs in zip(self._refs, measured or (), strict=False)
        ) or ({}, {})  # fmt: skip

    def change(self, group: Group) -> KernelChange | None:
        """Return the change of a group of kernels; None if they are unchanged."""
        left, right = (
            [unit.kernels[n] for n in numbers] for unit, numbers in zip(self._units, (group.left, group.right), strict=True)
        )
        if not (kind := kind_of(left, right)):
            return None
        shown = right or left
        return KernelChange(
            kind, self._function, self._units[0].unit, *self._refs, self._compared(left, 0), self._compared(right, 1),
            _names_of(shown), tuple(dict.fromkeys(line for item in shown for line in item.kernel.user_lines)),
            _details(left, right), self._reasons(kind, left, right),
        )  # fmt: skip

    def _compared(self, kernels: Sequence[UnitKernel], side: int) -> tuple[ComparedKernel, ...]:
        us: Mapping[str, float] = self._us[side]
        return tuple(
            ComparedKernel(item.kernel.key, item.implementation, item.ref, item.moved_bytes, us.get(item.kernel.key))
            for item in kernels
        )

    def _reasons(self, kind: str, left: Sequence[UnitKernel], right: Sequence[UnitKernel]) -> tuple[str, ...]:
        """Return why kernels of the side with more of them were not fused."""
        if kind not in (SPLIT, MERGED):
            return ()
        side, kernels = (1, right) if kind == SPLIT else (0, left)
        fusion = _fusion(self._compiles[side], self._units[0].unit)
        keys, nodes = {item.kernel.key for item in kernels}, {*_names_of(left), *_names_of(right)}
        return () if fusion is None else _against(fusion, keys, nodes)


def kind_of(left: Sequence[UnitKernel], right: Sequence[UnitKernel]) -> str:
    """Return the kind of a change, '' if nothing changed."""
    if not left or not right:
        return UNPAIRED if not _names_of(left or right) else ADDED if right else REMOVED
    if len(left) > 1 or len(right) > 1:
        return SPLIT if len(left) == 1 else MERGED if len(right) == 1 else REGROUPED
    [a], [b] = left, right
    if a.implementation != b.implementation:
        return IMPLEMENTATION
    if a.moved_bytes is not None and b.moved_bytes is not None and a.moved_bytes != b.moved_bytes:
        return MORE if b.moved_bytes > a.moved_bytes else FEWER
    if a.code == b.code:
        return ""
    return CONFIGURATION if a.features != b.features else CODE


def _details(left: Sequence[UnitKernel], right: Sequence[UnitKernel]) -> tuple[str, ...]:
    """Return what changed in the implementation and configuration of kernels that have a counterpart."""
    if not left or not right:
        return ()
    details = []
    kinds = [tuple(dict.fromkeys(item.implementation for item in side)) for side in (left, right)]
    if set(kinds[0]) != set(kinds[1]):
        details.append(f"{' and '.join(kinds[0])} → {' and '.join(kinds[1])}")
    if len(left) == len(right) == 1:
        [a], [b] = left, right
        if a.implementation == b.implementation and a.kernel.definition is None and a.kernel.name != b.kernel.name:
            details.append(f"{a.kernel.name} → {b.kernel.name}")
        features = dict(a.features), dict(b.features)
        if a.kernel.definition is not None and b.kernel.definition is not None:
            names = dict.fromkeys((*features[0], *features[1]))
            apart = ((name, *(side.get(name, "none") for side in features)) for name in names)
            details += [f"{name}: {x} → {y}" for name, x, y in apart if x != y]
    return tuple(details)


def _fusion(compile_: Compile, unit: str) -> UnitFusion | None:
    if not has_fusion(compile_):
        return None
    fusion = fusion_of_compile(compile_, version_by_metrics(compile_, reader_of(compile_)))
    return next((each for each in fusion.units if each.unit == unit), None)


def _against(fusion: UnitFusion, keys: set[str], nodes: set[str]) -> tuple[str, ...]:
    """Return the reasons against fusing what is in different kernels of `keys`, the most frequent first.

    Where the kernel of an operation is unknown, its nodes have to be among `nodes`.
    """
    kernels = {node.name: set(node.kernels) & keys for node in fusion.nodes if node.kernel_from}

    def is_apart(pair: NotFused) -> bool:
        first, second = kernels.get(pair.first_node), kernels.get(pair.second_node)
        if first is not None and second is not None:
            return bool(first and second and first != second)
        origins = [{origin.name for origin in side} for side in (pair.first_origins, pair.second_origins)]
        return not pair.is_fused_later and all(names and names <= nodes for names in origins)

    return tuple(reason.reason for reason in fusion.reasons if any(map(is_apart, reason.pairs)))[:REASONS]


def recorded_differences(left: Compile, right: Compile) -> Iterator[RecordedDifference]:
    """Yield the version of torch, the settings that both sides recorded, and the failed guard, where they differ."""
    versions = version_of(left.process), version_of(right.process)
    if _are_different(*versions):
        yield RecordedDifference("version", "torch", *(v.stated or v.words.removeprefix("torch ") for v in versions))
    fields = _metrics(left), _metrics(right)
    for config in CONFIGS:
        a, b = (json_in(side, config) for side in fields)
        for name in a:
            if name in b and a[name] != b[name] and not _alike(x := repr(a[name]), y := repr(b[name])):
                yield RecordedDifference("setting", f"{FIELDS[config].help}.{name}", x, y)
    if left.frame is right.frame and (reason := text_in(fields[1], "recompile_reason")):
        yield RecordedDifference("guard", str(right.ref), None, reason)


def _are_different(left: TorchVersion, right: TorchVersion) -> bool:
    """Return whether two versions, stated or inferred, cannot be the same."""
    if left.stated and right.stated:
        return left.stated != right.stated
    ends = ((left.most, right.least), (right.most, left.least))
    return any(most is not None and least is not None and most < least for most, least in ends)


def _metrics(compile_: Compile) -> dict[str, Any]:
    return next((f for event, f in metrics_fields(compile_, reader_of(compile_)) if event == "compilation_metrics"), {})


def _alike(left: str, right: str) -> bool:
    """Return whether two values differ only in paths and other run-dependent parts."""
    return normalised(left, rules_of(left))[0] == normalised(right, rules_of(right))[0]


def _kernels_of(compile_: Compile, identity: RankIdentity) -> tuple[UnitKernels, ...]:
    """Return the kernels of each unit of a compile. `identity`: the device and the ranks that count as the same. Raises OSError."""
    artifacts = {str(artifact.ref): artifact for artifact in artifacts_of(compile_)}
    texts: dict[str, str] = {}

    def text(ref: str) -> str:
        if ref not in texts:
            texts[ref] = _text(compile_, artifacts[ref]) if ref in artifacts else ""
        return texts[ref]

    provenance = provenance_of(compile_)
    costs = {unit.unit: unit.costs for unit in layers_of(compile_, provenance).units}
    results = []
    for unit in provenance.units:
        moved = {key: cost.moved_bytes for key, cost in costs.get(unit.unit, {}).items()}
        codes = {pane.ref: text(pane.ref).split("\n") for pane in unit.panes if pane.ref and pane.kind != "source"}
        graph = graph_text(text(unit.panes[POST].ref)) if unit.panes[POST].ref else None
        kernels = tuple(_kernel(unit, kernel, codes, moved.get(kernel.key), identity) for kernel in unit.kernels)
        results.append(UnitKernels(unit.unit, kernels, graph if graph is not None and graph.understood else None))
    return tuple(results)


def _text(compile_: Compile, artifact: Artifact) -> str:
    text = reader_of(compile_).text(artifact.record, LIMIT)
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def _kernel(
    unit: UnitProvenance, kernel: Kernel, codes: Mapping[str, list[str]], moved_bytes: int | None, identity: RankIdentity
) -> UnitKernel:
    caller = unit.panes[kernel.call_pane].ref
    ref = at_line(caller, kernel.call_lines[0]) if caller and kernel.call_lines else ""
    lines = codes.get(unit.panes[kernel.definition_pane].ref, [])
    if kernel.definition is None:
        return UnitKernel(kernel, ref, EXTERN, (kernel.name,), (), moved_bytes)
    first, last = kernel.definition
    text = "\n".join(lines[first - 1 : last])
    code = side_of(text.replace(kernel.name, "‹kernel›"), "text", identity).keys
    return UnitKernel(kernel, ref, TEMPLATE if _TEMPLATE.search(text) else GENERATED, code, _features(text), moved_bytes)


def _features(text: str) -> tuple[tuple[str, str], ...]:
    values = [(name, ", ".join(dict.fromkeys(pattern.findall(text)))) for name, pattern in _FEATURES]
    if _CPP.search(text):
        widest = max(map(int, _STEP.findall(text)), default=0)
        values.append(("C++", (f"vectorized by {widest}" if widest > 1 else "vectorized") if _VECTORS in text else "scalar"))
    values.append(("sizes", "dynamic" if _SYMBOLIC.search(text) else "static"))
    return tuple((name, value) for name, value in values if value)


def groups_of(left: UnitKernels, right: UnitKernels) -> tuple[Group, ...]:
    """Group the kernels of two units, in the order of the right side; kernels of the left side alone come last.

    If the code of all kernels is equal in order, each is paired with its counterpart. Otherwise kernels that compute a node
    in common are one group; of the others, those with equal code, lines or names are pairs.
    """
    if [(k.implementation, k.code) for k in left.kernels] == [(k.implementation, k.code) for k in right.kernels]:
        return tuple(Group((n,), (n,)) for n in range(len(left.kernels)))
    partners = _partners(left, right)
    names = _nodes(left, {}), _nodes(right, partners)
    groups = _Union(len(left.kernels), len(right.kernels))
    _join_sharing(groups, left, right, names)
    for key in (_by_code, _by_lines, _by_name):
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for x in groups.alone(0):
            if (value := key(left.kernels[x])) is not None:
                waiting[value].append(x)
        for y in groups.alone(1):
            if (value := key(right.kernels[y])) is not None and waiting.get(value):
                groups.join(waiting[value].pop(0), y)
    _join_unknown(groups, names, ({node.name for node in left.nodes}, set(partners.values())))
    return groups.ordered()


def _join_sharing(groups: _Union, left: UnitKernels, right: UnitKernels, names: tuple[Sequence[Names], Sequence[Names]]) -> None:
    """Put kernels that share a node into one group.

    A node in several kernels of a side is computed again in each: it joins kernels only if nothing else does, first those with
    equal code.
    """
    weak = []
    equal: tuple[set[int], set[int]] = (set(), set())
    for x, y, is_only_there, common in _sharing(*names):
        if is_only_there:
            groups.join(x, y)
        else:
            a, b = left.kernels[x], right.kernels[y]
            weak.append((-common, a.code != b.code, a.stem != b.stem, x, y))
    for *_, x, y in sorted(weak):
        if groups.is_alone(0, x) and groups.is_alone(1, y):
            groups.join(x, y)
            if left.kernels[x].code == right.kernels[y].code:
                equal[0].add(x)
                equal[1].add(y)
    for *_, x, y in sorted(weak):  # a kernel with equal code on the other side was not split
        if (groups.is_alone(0, x) or groups.is_alone(1, y)) and x not in equal[0] and y not in equal[1]:
            groups.join(x, y)


def _join_unknown(groups: _Union, names: tuple[Sequence[Names], Sequence[Names]], graphs: tuple[set[str], set[str]]) -> None:
    """Put kernels with unknown nodes into the one group with nodes that no other kernel of their side computes."""
    for side in (0, 1):
        without = [n for n, of_kernel in enumerate(names[side]) if not of_kernel]
        unknown = [n for n in without if groups.is_alone(side, n)]
        may_be_complete = {groups.root(side, n) for n in without}
        computed = {name for of_kernel in names[side] for name in of_kernel}
        roots = {
            groups.root(1 - side, n): n for n, of_kernel in enumerate(names[1 - side])
            if any(name in graphs[side] and name not in computed for name in of_kernel)
        }  # fmt: skip
        incomplete = {root: n for root, n in roots.items() if root not in may_be_complete}
        if len(incomplete) == 1:
            [other] = incomplete.values()
            for n in unknown:
                groups.join(*((n, other) if side == 0 else (other, n)))


def _by_code(kernel: UnitKernel) -> Hashable:
    return kernel.implementation, kernel.code


def _by_lines(kernel: UnitKernel) -> Hashable:
    return kernel.kernel.user_lines or None


def _by_name(kernel: UnitKernel) -> Hashable:
    return kernel.stem


def _sharing(left: Sequence[Names], right: Sequence[Names]) -> Iterator[tuple[int, int, bool, int]]:
    """Yield the kernels that share nodes: left, right, whether one of the nodes is in no other kernel, and their number."""
    counts = [Counter(name for names in side for name in names) for side in (left, right)]
    holders: dict[str, list[int]] = defaultdict(list)
    for x, names in enumerate(left):
        for name in names:
            holders[name].append(x)
    for y, names in enumerate(right):
        only = {x for name in names if counts[0][name] == counts[1][name] == 1 for x in holders[name]}
        shared = Counter(x for name in names for x in holders.get(name, ()))
        for x, common in shared.items():
            yield x, y, x in only, common


def _partners(left: UnitKernels, right: UnitKernels) -> dict[str, str]:
    """Map each node of the right graph to the same node of the left one, or to a name of its own."""
    if left.graph is None or right.graph is None:
        return {}
    outermost = (side.graph.graph.graphs for side in (left, right) if side.graph is not None)
    roots = [{n for n, graph in enumerate(graphs) if graph.parent < 0} for graphs in outermost]
    pairs = node_pairs(left.graph, right.graph)
    partners = {b.name: a.name for a, b in pairs if a.graph in roots[0] and b.graph in roots[1]}
    renamed = {node.name for node in right.nodes if node.graph in roots[1]}
    return {name: partners.get(name, f"+{name}") for name in renamed}


def _nodes(unit: UnitKernels, partners: Mapping[str, str]) -> list[Names]:
    """Return the nodes of each kernel under their names on the left side; views only where a kernel has no other node."""
    views = {
        node.name for node in unit.nodes
        if node.kind == "getitem" or aten_of(node).partition(".")[2] in VIEWS
    }  # fmt: skip
    results = []
    for item in unit.kernels:
        kernel = item.kernel
        names: Iterable[str] = kernel.post_nodes or kernel.pre_nodes
        names = [name for name in names if name not in views] or names
        if kernel.function:
            results.append(tuple(f"{kernel.function}.{name}" for name in names))
        else:
            results.append(tuple(partners.get(name, name) for name in names) if kernel.post_nodes else tuple(names))
    return results


class _Union:
    """Groups of kernels that grow together."""

    def __init__(self, left: int, right: int) -> None:
        self._sizes = left, right
        self._parents = list(range(left + right))
        self._joined: set[int] = set()

    def join(self, x: int, y: int) -> None:
        """Put a kernel of the left and one of the right into one group."""
        y += self._sizes[0]
        self._joined |= {x, y}
        a, b = self._root(x), self._root(y)
        self._parents[max(a, b)] = min(a, b)

    def root(self, side: int, n: int) -> int:
        """Return a number of the group of a kernel."""
        return self._root(n + self._sizes[0] * side)

    def is_alone(self, side: int, n: int) -> bool:
        """Return whether a kernel of a side (0, 1) has no partner."""
        return n + self._sizes[0] * side not in self._joined

    def alone(self, side: int) -> list[int]:
        """Return the kernels of a side without a partner."""
        return [n for n in range(self._sizes[side]) if self.is_alone(side, n)]

    def ordered(self) -> tuple[Group, ...]:
        """Return the groups by their first kernel on the right; those without one come last."""
        left, right = self._sizes
        members: dict[int, tuple[list[int], list[int]]] = {}
        for n in (*range(left, left + right), *range(left)):
            sides = members.setdefault(self._root(n), ([], []))
            sides[n >= left].append(n - left if n >= left else n)
        return tuple(Group(tuple(a), tuple(b)) for a, b in members.values())

    def _root(self, n: int) -> int:
        while self._parents[n] != n:
            self._parents[n] = self._parents[self._parents[n]]
            n = self._parents[n]
        return n


def _names_of(kernels: Sequence[UnitKernel]) -> tuple[str, ...]:
    """Return the nodes of kernels, each once."""
    return tuple(dict.fromkeys(name for item in kernels for name in item.kernel.post_nodes or item.kernel.pre_nodes))
