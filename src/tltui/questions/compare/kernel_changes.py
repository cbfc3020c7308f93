"""Differences between the kernels of two compiles or runs: split, merged, replaced, configured otherwise, more or fewer bytes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from tltui.model.artifacts import OUTPUT_CODE
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import json_in, metrics_fields, records_of, text_in
from tltui.model.torch_version import version_by_metrics, version_of
from tltui.model.torch_versions import TorchVersion
from tltui.questions.compare.kernel_matching import Group, UnitKernel, UnitKernels, groups_of, kernels_of, names_of
from tltui.questions.compare.pairing import owns_of
from tltui.questions.fusion.fusion_decisions import NotFused, UnitFusion, meaning_of
from tltui.questions.fusion.unit_fusion import fusion_of_compile, has_fusion
from tltui.questions.metrics.metric_sums import CONFIGS, FIELDS
from tltui.questions.provenance.unit_artifacts import WRAPPER
from tltui.questions.runtime.costs import Costs
from tltui.questions.stacks.tracebacks import display_name
from tltui.text.frozen import frozen
from tltui.text.normalisation import normalised, rules_of

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


N = TypeVar("N", int, float)


def _sum(values: Iterable[N | None]) -> N | None:
    """Return the sum; None if one value is unknown."""
    numbers = list(values)
    known_numbers = [number for number in numbers if number is not None]
    return sum(known_numbers) if len(known_numbers) == len(numbers) else None


def has_kernels(compile_: Compile) -> bool:
    """Return whether a compile has generated code."""
    return any(True for _ in records_of(compile_, (OUTPUT_CODE, WRAPPER)))


Differences = Callable[[Compile, Compile], Iterable[RecordedDifference]]


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
    units = [{unit.unit: unit for unit in kernels_of(side, files)} for side, files in zip((left, right), owns, strict=True)]
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
            names_of(shown), tuple(dict.fromkeys(line for item in shown for line in item.kernel.user_lines)),
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
        keys, nodes = {item.kernel.key for item in kernels}, {*names_of(left), *names_of(right)}
        return () if fusion is None else _against(fusion, keys, nodes)


def kind_of(left: Sequence[UnitKernel], right: Sequence[UnitKernel]) -> str:
    """Return the kind of a change, '' if nothing changed."""
    if not left or not right:
        return UNPAIRED if not names_of(left or right) else ADDED if right else REMOVED
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
