"""The guard table of a frame: the values that each compiled version requires, and all differences of each recompilation."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from tltui.model.derived_cache import MISSING
from tltui.model.node_answers import part, reads
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, records_of
from tltui.questions.guards.guard_report import LIMIT, TREE
from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import Explained, Key, Reason, tensors_in
from tltui.questions.recompiles.guard_comparison import MODES, Comparison, Values, Version, compared, distinct_values
from tltui.questions.recompiles.guard_grammar import DEVICE, FLOAT, SIZE, SPECIAL, condition_of, is_parameter, value_kind
from tltui.questions.recompiles.guard_requirements import (
    Property,
    has_ordered_keys,
    numbers_removed,
    requirements_of,
    requirements_of_line,
)
from tltui.questions.recompiles.recompile_reasons import MOST_VERSIONS, ends_of, versions_compared
from tltui.text.frozen import frozen


class Call(NamedTuple):
    """A compile with the comparisons of its call."""

    ref: str
    comparisons: tuple[Comparison, ...]
    is_recompile: bool
    is_complete: bool
    """Whether it was compared with each older version that torch tried."""
    is_at_limit: bool = False
    """Whether the recompile limit refused it: the log lacks the calls after it."""
    views: frozenset[str] = frozenset()
    """Its tensors that are views, and none in another call."""


@frozen
class TableRow:
    """A guarded value that differs between compiled versions."""

    cause: str
    source: str
    dim: int | None
    values: tuple[str, ...]
    """The required value of each version: `any` for a dynamic one, '' for a version without a guard on it."""


@frozen
class GuardTable:
    """The compiled versions of a frame and their guards that differ."""

    versions: tuple[str, ...]
    """The addresses of versions with different guards, at most `MOST_VERSIONS`."""
    rows: tuple[TableRow, ...]
    different: int
    """The number of versions with different guards."""
    without_guards: tuple[str, ...]
    """Compiles without guards in the log."""
    limit: int
    """The fewest older versions that a call was compared with; 0 if each was compared with all that torch tried."""
    callees: tuple[str, ...] = ()
    """The types that a shared wrapper was compiled for; () for one."""


class FrameGuards(NamedTuple):
    """The guard table of a frame with the comparisons of all its calls."""

    table: GuardTable
    calls: tuple[Call, ...]
    related: frozenset[Key] = frozenset()
    """Sizes that a condition of some version relates to other ones."""
    constant_floats: int = 0
    """Floats that the first guards fix."""
    parameters: frozenset[str] = frozenset()
    """Arguments that are parameters of a module: their sizes are static also with dynamic=True."""
    returned: Mapping[Key, frozenset[Key]] = MappingProxyType({})
    """Size → those of later calls that the function probably returned with it: they are dynamic where it is."""


class Base(NamedTuple):
    """The first guard tree of a frame, which the others are compared with."""

    requirements: dict[Property, tuple[str, str]]
    """Property → (value, line)."""
    lines: dict[str, tuple[Property, ...]]
    """Line → its properties."""
    support: dict[Property, int]
    """Property → the number of lines that require it."""


@part
def base_guards(compile_: Compile, reader: Reader) -> Base:
    """Return the guards of the first compile with guards."""
    text = _tree(compile_, reader)
    lines = {line: tuple(key for key, _ in requirements_of_line(line)) for line in numbers_removed(text).split("\n")}
    return Base(requirements_of(text), lines, Counter(key for keys in lines.values() for key in keys))


@part
def changes_of(compile_: Compile, reader: Reader) -> tuple[Values, dict[Property, str]] | None:
    """Return the properties in which the guards of a compile differ from the first ones, with their lines; None without guards."""
    base = base_of(compile_.frame)
    if base is None:
        return None
    reads(compile_, base)
    if compile_ is base:
        return {}, {}
    text = _tree(compile_, reader)
    if not text:
        return None
    guards = base_guards(base)
    lines = dict.fromkeys(numbers_removed(text).split("\n"))
    added, removed = [line for line in lines if line not in guards.lines], [line for line in guards.lines if line not in lines]
    if any(has_ordered_keys(line) for line in (*added, *removed)):
        return _changed(guards.requirements, requirements_of(text))
    present = {key: (value, line) for line in added for key, value in requirements_of_line(line)}
    values, positions = _changed({}, present)
    for key, (value, _) in present.items():
        entry = guards.requirements.get(key)
        if entry is not None and entry[0] == value:
            del values[key], positions[key]
    missing = Counter(key for line in removed for key in guards.lines[line])
    for key, times in missing.items():
        if key not in present and times >= guards.support[key]:
            values[key] = None
    return values, positions


def _changed(
    first: Mapping[Property, tuple[str, str]], guards: Mapping[Property, tuple[str, str]]
) -> tuple[Values, dict[Property, str]]:
    """Return the properties with another value than in the first guards, and their lines."""
    values: Values = {}
    lines: dict[Property, str] = {}
    for key, (value, line) in guards.items():
        entry = first.get(key)
        if entry is None or entry[0] != value:
            values[key], lines[key] = value, line
    for key in first:
        if key not in guards:
            values[key] = None
    return values, lines


def _tree(compile_: Compile, reader: Reader) -> str:
    records = [record for record, _ in records_of(compile_, (TREE,)) if compile_.process.log.has_payload(record)]
    return reader.text(records[-1], LIMIT) if records else ""


def compiles_of(frame: Frame) -> list[Compile]:
    """Return the compiles of a frame in order."""
    return sorted((c for c in frame.compiles if c.is_compile), key=lambda c: c.id.compile or 0)


@part
def base_of(frame: Frame, reader: Reader) -> Compile | None:
    """Return the first compile with guards."""
    for compile_ in compiles_of(frame):
        reads(frame, compile_)
        if any(records_of(compile_, (TREE,))):
            return compile_
    return None


def table_of(frame: Frame, explained: Sequence[Explained]) -> Generator[None, None, FrameGuards]:
    """Make the guard table of a frame. `explained`: its recompilations with torch's reasons. Yields meanwhile."""
    compiles = compiles_of(frame)
    by_ref = {item.ref: item for item in explained}
    base = base_of(frame)
    first = base_guards(base).requirements if base is not None else {}
    views = varying_views(compiles)
    versions: list[Version] = []
    different: dict[frozenset[tuple[Property, str | None]], int] = {}
    firsts: list[int] = []  # the first version with each set of guards
    numbers: dict[str, int] = {}
    limit = 0
    calls: list[Call] = []
    properties: dict[Key, Property] = {}
    for n, compile_ in enumerate(compiles):
        version = Version(compile_, first, changes_of(compile_))
        versions.append(version)
        item = by_ref.get(version.ref)
        tried, is_every = _tried(item, numbers, firsts, versions_compared(compile_)) if item is not None else ((), True)
        limit = limit if is_every else min(len(tried), limit or MOST_VERSIONS)
        modes = item is not None and any(MODES in reason.settings for reason in item.reasons)
        reasons: dict[str | None, list[Reason]] = {}
        for reason in item.reasons if item is not None else ():
            reasons.setdefault(reason.earlier, []).append(reason)
        failed = {(key, reason.expected) for each in reasons.values() for reason in each for key in reason.keys if reason.expected}
        distinct = distinct_values([versions[number] for number in tried]) if version.changes is None else ()
        alike = _alike([versions[number] for number in tried], reasons) if version.changes is None else ()
        pairs = tuple(
            compared(older, version, number, reasons.get(older.ref, ()), modes, properties, failed, distinct, alike)
            for number in tried for older in (versions[number],)
        )  # fmt: skip
        calls.append(Call(version.ref, pairs, compile_.is_recompile, is_every, compile_.facts.recompile_limit_hit, views[n]))
        numbers[version.ref] = n
        if version.changes is not None and different.setdefault(frozenset(version.changes.items()), n) == n:
            firsts.append(n)
        if n % 8 == 7:
            yield
    shown = [versions[n] for n in firsts[:MOST_VERSIONS]]
    without = tuple(version.ref for version in versions if version.changes is None)
    rows = _rows(calls, shown, properties)
    table = GuardTable(tuple(version.ref for version in shown), rows, len(firsts), without, limit, _callees(versions))
    floats = sum(key.kind == required.VALUE and value_kind(value) == FLOAT for key, (value, _) in first.items())
    return FrameGuards(table, tuple(calls), _related(versions), floats, _parameters(versions), returned_sizes(versions))


def returned_sizes(versions: Sequence[Version]) -> dict[Key, frozenset[Key]]:
    """Return size → sizes of tensors that a later call has first, as a cache: equal to it in the call before, and not in that call.

    What a compiled graph returns keeps its dynamic sizes (mark_dynamo_propagated_dynamic_indices in
    torch/_functorch/_aot_autograd/runtime_wrappers.py).
    """
    results: dict[Key, set[Key]] = defaultdict(set)
    for before, now in pairwise(versions):
        if before.changes is None or now.changes is None:
            continue
        keys = dict.fromkeys(key for key in (*before.changes, *now.changes) if key.kind == required.SIZE)
        sizes = [(SIZE, key.source, int(key.name)) for key in keys if not is_parameter(key.source)]
        values = {size: (before.size(*size[1:]), now.size(*size[1:])) for size in sizes}
        by_value: dict[str | None, list[Key]] = defaultdict(list)
        for size, (value, other) in values.items():
            if other not in (None, value):
                by_value[value].append(size)
        for size, (value, other) in values.items():
            if value is None and other and other not in SPECIAL:
                for returned in by_value.get(other, ()):
                    results[returned].add(size)
    return {size: frozenset(others) for size, others in results.items()}


def _alike(versions: Sequence[Version], reasons: Mapping[str | None, Sequence[Reason]]) -> list[Version]:
    """Return the versions that a call without guards failed by the size of a tensor only, as torch's reasons have it."""
    return [
        version for version in versions
        if version.changes is not None and (causes := reasons.get(version.ref)) and all(reason.cause == SIZE for reason in causes)
    ]  # fmt: skip


def _parameters(versions: Sequence[Version]) -> frozenset[str]:
    """Return the sources that are a torch.nn.Parameter in each version with guards on their class."""
    classes: dict[str, set[str | None]] = {}
    for version in versions:
        for key in version.first if version.changes is not None else ():
            if key.kind == required.CLASS:
                classes.setdefault(key.source, set()).add(version.value(key))
    return frozenset(source for source, names in classes.items() if names - {None} == {"Parameter"})


def _related(versions: Sequence[Version]) -> frozenset[Key]:
    """Return the sizes in conditions with several terms."""
    first = versions[0].first if versions else {}
    texts = dict.fromkeys(
        key.source for keys in (first, *(version.changes or () for version in versions)) for key in keys
        if key.kind == required.CONDITION
    )  # fmt: skip
    conditions = [condition for text in texts if (condition := condition_of(text)) is not None and len(condition.terms) > 1]
    return frozenset((SIZE, term.source, term.dim) for each in conditions for term in each.terms if term.dim is not None)


def _tried(item: Explained, numbers: Mapping[str, int], different: Sequence[int], most: int) -> tuple[Sequence[int], bool]:
    """Return at most `most` older versions that torch tried, the one that was used last first, and whether these are all.

    Torch logs a reason for each of them. With `isolate_recompiles=True`, these are only those of the same torch.compile call. Where
    torch logs one reason or none, all older versions count.
    """
    tried = dict.fromkeys(numbers[ref] for reason in item.reasons if (ref := reason.earlier or "") in numbers)
    if item.reasons_from in ("metrics", "never"):
        older, others = ends_of(different, most)
        tried.update(dict.fromkeys(reversed(older)))
    else:
        others = ()
    compared_versions, left = ends_of(list(tried), most)
    return compared_versions, not (left or others or item.other_reasons)


def guards_of(frame: Frame, explained: Sequence[Explained]) -> Generator[None, None, FrameGuards | None]:
    """Return the guard table of a frame, cached; None if no compile of it has guards in the log. Yields meanwhile."""
    process = frame.process
    cached = process.parts.get(guards_of, frame)
    if cached is not MISSING:
        result: FrameGuards | None = cached
        return result
    guards = yield from table_of(frame, explained)
    process.parts.begin(frame, process.naming, *frame.compiles)
    value = guards if guards.table.versions else None
    process.parts.put(guards_of, frame, process.parts.end(), value)
    return value


MOST_ROWS = 40


def _rows(calls: Sequence[Call], versions: Sequence[Version], properties: Mapping[Key, Property]) -> tuple[TableRow, ...]:
    """Return the rows of the table, the most frequent difference first."""
    times = Counter(d.key for call in calls for d in {d.key: d for pair in call.comparisons for d in pair.differences}.values())
    rows: list[TableRow] = []
    for key, _ in times.most_common(MOST_ROWS):
        name = properties.get(key)
        if name is not None and name.kind != required.CONDITION:
            rows.append(TableRow(*key, _labels(key[0], name, [version.value(name) for version in versions])))
    return tuple(rows)


def _callees(versions: Sequence[Version]) -> tuple[str, ...]:
    """Return the types of the wrapped object: `fn` of torch's wrapper, else `self`."""
    for source in ("fn", "self"):
        types = dict.fromkeys(version.value(Property(required.TYPE, source)) for version in versions if version.changes is not None)
        names = tuple(name.rpartition(".")[2] for name in types if name)
        if len(names) > 1 and None not in types:
            return names
    return ()


def _labels(cause: str, key: Property, values: Sequence[str | None]) -> tuple[str, ...]:
    """Return values for the eye: of object ids `A`, `B` …"""
    if key.kind == required.OBJECT:
        names: dict[str, str] = {}
        for value in values:
            if value is not None:
                names.setdefault(value, f"object {len(names) + 1}")
        return tuple(names.get(value or "", "") for value in values)
    if key.kind == required.GRAD:
        return tuple({"True": "yes", "False": "no"}.get(value or "", "") for value in values)
    if key.kind == required.KEYS:
        devices = tuple((value or "").partition("(")[2].partition(",")[0] for value in values)
        if cause == DEVICE:
            return devices
        sets = [
            None if value is None else {name.removesuffix(device) for name in re.findall(r"\w+", value.partition("(")[2])}
            for value, device in zip(values, devices, strict=True)
        ]
        common = set.intersection(*(keys for keys in sets if keys is not None))
        return tuple("" if keys is None else ", ".join(sorted(keys - common)) or "plain" for keys in sets)
    return tuple(value or "" for value in values)


# arguments that are views of another tensor in some calls: with dynamic=True torch guards on the sizes of that tensor

MOST_COMPILES = 64
"""Compiles of a frame whose arguments are read."""


def varying_views(compiles: Sequence[Compile]) -> list[frozenset[str]]:
    """Return of each compile the tensors that are views in it, and none in another compile."""
    if len(compiles) > MOST_COMPILES:
        return [frozenset()] * len(compiles)
    described = [tensors_in(compile_) for compile_ in compiles]
    plain = {source for tensors in described for source, tensor in tensors.items() if not tensor.is_view}
    return [frozenset(source for source, each in tensors.items() if each.is_view and source in plain) for tensors in described]
