"""The metrics that torch wrote at the end of every compile: all fields of one, and what they amount to in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tltui.analyses.metrics.fields import CONFIG, CONFIGS, GROUPS, JSON_TEXT, ORDER, about
from tltui.analyses.parts import reader_of
from tltui.analyses.records import Reader, list_in, named, text_in
from tltui.analyses.timing.spans import record_page
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.trace.grammar import parse_json


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a metrics record. Configurations are parsed."""

    name: str
    group: str
    unit: str
    help: str
    value: Any


@dataclass(frozen=True, slots=True)
class MetricsRecord:
    """One metrics record."""

    ref: str
    event: str
    fields: tuple[Field, ...]
    """Grouped, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Specialized:
    """A symbol that was fixed to a value. It has a record of its own."""

    symbol: str
    sources: tuple[str, ...]
    value: str
    reason: str | None
    record: str


@dataclass(frozen=True, slots=True)
class GuardAdded:
    """A guard on symbols. It has a record of its own."""

    expression: str
    record: str


@dataclass(frozen=True, slots=True)
class CompileMetrics:
    """The metrics of one compile."""

    schema: int
    ref: str
    records: tuple[MetricsRecord, ...]
    first: str | None
    """The address of the first compile of the run with metrics, to which the configurations were compared; None for itself."""
    same_configs: tuple[str, ...]
    """Configurations that are the same as there."""
    specializations: tuple[Specialized, ...]
    guards_added: tuple[GuardAdded, ...]
    """Guards on symbols as they were added."""


def metrics_of(compile_: Compile, first: Compile | None = None) -> CompileMetrics:
    """All metrics of a compile. `first`: compare its configurations with those of this one."""
    reader = reader_of(compile_)
    refs = {a.record: str(a.ref) for a in artifacts_of(compile_) if a.is_metrics}
    raw = [(m, reader.event(m.record)) for m in sorted(compile_.metrics, key=lambda m: m.record)]
    records = tuple(MetricsRecord(refs.get(m.record, str(compile_.ref)), m.event, fields_of(values)) for m, values in raw)
    same: tuple[str, ...] = ()
    other = first if first is not compile_ else None
    if other is not None and raw:
        theirs = reader_of(other).event(other.metrics[0].record)
        same = tuple(name for name in CONFIGS if raw[0][1].get(name) and raw[0][1].get(name) == theirs.get(name))
    return CompileMetrics(
        1, str(compile_.ref), records, str(other.ref) if other is not None else None, same,
        _specialized(compile_, reader), _guards(compile_, reader),
    )  # fmt: skip


def _specialized(compile_: Compile, reader: Reader) -> tuple[Specialized, ...]:
    found = []
    for record, _ in named(compile_, ("symbolic_shape_specialization",)):
        fields = reader.event(record)
        sources = tuple(source for source in list_in(fields, "sources") if isinstance(source, str))
        found.append(Specialized(
            text_in(fields, "symbol") or "?", sources, str(fields.get("value", "?")), text_in(fields, "reason"),
            record_page(compile_.process, record),
        ))  # fmt: skip
    return tuple(found)


def _guards(compile_: Compile, reader: Reader) -> tuple[GuardAdded, ...]:
    return tuple(
        GuardAdded(text_in(reader.event(record), "expr") or "?", record_page(compile_.process, record))
        for record, _ in named(compile_, ("guard_added_fast",))
    )


def fields_of(values: dict[str, Any]) -> tuple[Field, ...]:
    """The fields by group; within one in the order of the table, unknown ones last, as they were written."""
    found = []
    for name, value in values.items():
        known = about(name)
        if known.unit == JSON_TEXT or known.group == CONFIG:
            value = parsed(value)
            if isinstance(value, list):
                value = [parsed(item) for item in value]
        found.append(Field(name, known.group, known.unit, known.help, value))
    return tuple(sorted(found, key=lambda f: (GROUPS.index(f.group), ORDER.get(f.name, len(ORDER)))))


def parsed(value: Any) -> Any:
    """What JSON in a string says; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_json(value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return value


@dataclass(frozen=True, slots=True)
class Variant:
    """A value that some of the records have."""

    value: Any
    count: int
    ranks: tuple[int | None, ...]
    first: str
    """The address of the first compile with it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An entry of a configuration, or another field, that is not the same everywhere: the most frequent value first."""

    where: str
    """The configuration, '' for a field of its own."""
    name: str
    values: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A number over all records that have it."""

    name: str
    group: str
    unit: str
    help: str
    count: int
    sum: float | None
    """None where a sum would mean nothing."""
    least: float
    most: float
    most_ref: str
    """The address of the first compile with the most."""


@dataclass(frozen=True, slots=True)
class Config:
    """A whole configuration, as the first record has it."""

    name: str
    ref: str
    variants: int
    """Different ones in the run."""
    values: Any


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """The metrics of a part of the run."""

    schema: int
    ref: str
    compiles: int
    """Those with metrics."""
    records: int
    unreadable: int
    settings: tuple[Setting, ...]
    """What differs between compiles: entries of configurations, versions."""
    texts: tuple[Setting, ...]
    """Fields that are no numbers, with their values."""
    totals: tuple[Total, ...]
    configs: tuple[Config, ...]
    empty: tuple[str, ...]
    """Fields that are null in every record."""
