"""The guard table of a frame: the values that each compiled version requires, and all differences of each recompilation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from tltui.model.derived_cache import MISSING
from tltui.model.node_answers import part, reads
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, records_of
from tltui.questions.guards.guard_report import LIMIT, TREE
from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import Explained, Key
from tltui.questions.recompiles.guard_comparison import MODES, Comparison, Values, Version, compared
from tltui.questions.recompiles.guard_requirements import Property, requirements_of
from tltui.text.frozen import frozen

MOST_VERSIONS = 64
"""Different compiled versions that a call is compared with."""
MOST_PAIRS = 24_000
"""Comparisons for one frame; with more recompilations, each is compared with fewer versions."""
FEWEST_VERSIONS = 4


class Call(NamedTuple):
    """A compile with the comparisons of its call."""

    ref: str
    comparisons: tuple[Comparison, ...]
    is_recompile: bool


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
    compared: int
    """The maximum number of versions that a call was compared with."""


class FrameGuards(NamedTuple):
    """The guard table of a frame with the comparisons of all its calls."""

    table: GuardTable
    calls: tuple[Call, ...]


@part
def requirements_of_base(compile_: Compile, reader: Reader) -> dict[Property, tuple[str, str]]:
    """Return the requirements of the first guard tree of a frame: property → (value, line)."""
    return requirements_of(_tree(compile_, reader))


@part
def changes_of(compile_: Compile, reader: Reader) -> tuple[Values, dict[Property, str]] | None:
    """Return the properties in which the guards of a compile differ from the first ones, with their lines; None without guards."""
    base = base_of(compile_.frame)
    if base is None:
        return None
    reads(compile_, base)
    first = requirements_of_base(base)
    if compile_ is base:
        return {}, {}
    text = _tree(compile_, reader)
    if not text:
        return None
    guards = requirements_of(text)
    values: Values = {}
    lines: dict[Property, str] = {}
    for key, (value, line) in guards.items():
        entry = first.get(key)
        if entry is None or entry[0] != value:
            values[key], lines[key] = value, line
    if len(guards) - len(values) < len(first):
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


def base_of(frame: Frame) -> Compile | None:
    """Return the first compile with guards."""
    return next((c for c in compiles_of(frame) if any(records_of(c, (TREE,)))), None)


def table_of(frame: Frame, explained: Sequence[Explained]) -> Generator[None, None, FrameGuards]:
    """Make the guard table of a frame. `explained`: its recompilations with torch's reasons. Yields meanwhile."""
    compiles = compiles_of(frame)
    by_ref = {item.ref: item for item in explained}
    base = base_of(frame)
    first = requirements_of_base(base) if base is not None else {}
    versions: list[Version] = []
    different: dict[frozenset[tuple[Property, str | None]], int] = {}
    numbers: dict[str, int] = {}
    most = max(min(MOST_VERSIONS, MOST_PAIRS // max(len(explained), 1)), FEWEST_VERSIONS)
    most_compared = 0
    calls: list[Call] = []
    properties: dict[Key, Property] = {}
    for n, compile_ in enumerate(compiles):
        version = Version(compile_, first, changes_of(compile_))
        versions.append(version)
        item = by_ref.get(version.ref)
        tried: list[int] = []
        if item is not None:
            reported = (numbers[reason.earlier] for reason in item.reasons if reason.earlier in numbers)
            tried = list(dict.fromkeys((*reported, *reversed(different.values()))))[:most]
        most_compared = max(most_compared, len(tried))
        modes = item is not None and any(MODES in reason.settings for reason in item.reasons)
        pairs = tuple(compared(versions[number], version, number, item, modes, properties) for number in tried)
        calls.append(Call(version.ref, pairs, compile_.is_recompile))
        numbers[version.ref] = n
        if version.changes is not None:
            different.setdefault(frozenset(version.changes.items()), n)
        if n % 8 == 7:
            yield
    shown = [versions[n] for n in list(different.values())[:MOST_VERSIONS]]
    without = tuple(version.ref for version in versions if version.changes is None)
    rows = _rows(calls, shown, properties)
    table = GuardTable(tuple(version.ref for version in shown), rows, len(different), without, most_compared)
    return FrameGuards(table, tuple(calls))


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
            rows.append(TableRow(*key, _labels(name, [version.value(name) for version in versions])))
    return tuple(rows)


def _labels(key: Property, values: Sequence[str | None]) -> tuple[str, ...]:
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
        return tuple((value or "").partition("(")[2].partition(",")[0] for value in values)
    return tuple(value or "" for value in values)
