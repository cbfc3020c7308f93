"""The metrics that torch wrote at the end of every compile: all fields of one, and what they amount to in a run."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tltui.analyses.metrics.fields import CONFIG, CONFIGS, GROUPS, JSON_TEXT, OF_ONE, ORDER, SUMMED, about
from tltui.analyses.records import Reader, list_in, named, text_in
from tltui.analyses.timing.spans import record_page
from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.trace.grammar import number, parse_json

AT_ONCE = 32
"""Records between two yields."""
TEXTS_KEPT = 8
"""Different values of a field that are told apart."""
TEXT_LIMIT = 300
SETTINGS_KEPT = 400


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
    reader = Reader(compile_.process.log)
    refs = {a.record: str(a.ref) for a in artifacts_of(compile_) if a.is_metrics}
    raw = [(m, reader.event(m.record)) for m in sorted(compile_.metrics, key=lambda m: m.record)]
    records = tuple(MetricsRecord(refs.get(m.record, str(compile_.ref)), m.event, fields_of(values)) for m, values in raw)
    same: tuple[str, ...] = ()
    other = first if first is not compile_ else None
    if other is not None and raw:
        theirs = Reader(other.process.log).event(other.metrics[0].record)
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


def run_metrics(ref: str, compiles: Sequence[Compile]) -> Generator[None, None, RunMetrics]:
    """The metrics of many compiles. Yields now and then: every record holds whole configurations."""
    sums = _Sums()
    for compile_ in compiles:
        if not compile_.metrics:
            continue
        sums.compiles += 1
        reader = Reader(compile_.process.log)
        where, rank = str(compile_.ref), compile_.process.rank
        for metrics in compile_.metrics:
            sums.add(reader.event(metrics.record), where, rank)
            if sums.records % AT_ONCE == 0:
                yield
    return sums.result(ref)


@dataclass(slots=True, eq=False)
class _Seen:
    value: Any
    first: str
    ranks: dict[int | None, int] = field(default_factory=dict)
    """Rank → records."""

    def add(self, rank: int | None, count: int = 1) -> None:
        if count > 0:
            self.ranks[rank] = self.ranks.get(rank, 0) + count

    def variant(self) -> Variant:
        ranks = tuple(sorted(self.ranks, key=lambda rank: (rank is None, rank or 0)))
        return Variant(self.value, sum(self.ranks.values()), ranks, self.first)


@dataclass(slots=True, eq=False)
class _Number:
    count: int = 0
    sum: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")
    most_ref: str = ""


class _Config:
    """The variants of one configuration. Only the first is kept; of others, what differs from it."""

    def __init__(self, text: str, where: str) -> None:
        self.first = where
        value = parsed(text)
        self.values: dict[str, Any] = value if isinstance(value, dict) else {"": value}
        self.apart: dict[bytes, dict[str, Any]] = {}
        """md5 of the text → entries that differ from the first."""
        self.total: dict[int | None, int] = {}
        """Rank → records."""
        self.seen: dict[str, dict[str, _Seen]] = {}
        """Entry → value as text → where it was seen; only values that are not those of the first."""

    def add(self, text: str, where: str, rank: int | None) -> None:
        self.total[rank] = self.total.get(rank, 0) + 1
        digest = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
        if digest not in self.apart:
            value = parsed(text)
            values = value if isinstance(value, dict) else {"": value}
            keys = [*self.values, *(key for key in values if key not in self.values)]
            self.apart[digest] = {
                key: values.get(key, MISSING) for key in keys if values.get(key, MISSING) != self.values.get(key, MISSING)
            }
        for key, value in self.apart[digest].items():
            _note(self.seen.setdefault(key, {}), value, where, rank)

    def settings(self, name: str) -> list[Setting]:
        found = []
        for key, others in list(self.seen.items())[:SETTINGS_KEPT]:
            own = _Seen(self.values.get(key, MISSING), self.first)
            for rank, count in self.total.items():
                own.add(rank, count - sum(seen.ranks.get(rank, 0) for seen in others.values()))
            found.append(Setting(name, key, _by_count([own, *others.values()])))
        return found


MISSING = "(not there)"


def _note(seen: dict[str, _Seen], value: Any, where: str, rank: int | None) -> None:
    """Count a value; at most `TEXTS_KEPT` different ones, the rest together."""
    text = repr(value)[:TEXT_LIMIT]
    if text not in seen and len(seen) >= TEXTS_KEPT:
        text, value = "…", "(other values)"
    if text not in seen:
        seen[text] = _Seen(value, where)
    seen[text].add(rank)


def _by_count(seen: Sequence[_Seen]) -> tuple[Variant, ...]:
    return tuple(sorted((item.variant() for item in seen if item.ranks), key=lambda variant: -variant.count))


class _Sums:
    def __init__(self) -> None:
        self.compiles = self.records = self.unreadable = 0
        self.numbers: dict[str, _Number] = {}
        self.texts: dict[str, dict[str, _Seen]] = {}
        self.configs: dict[str, _Config] = {}
        self.empty: dict[str, bool] = {}

    def add(self, values: dict[str, Any], where: str, rank: int | None) -> None:
        """Add one record."""
        self.records += 1
        self.unreadable += not values
        for name, value in values.items():
            self.empty[name] = self.empty.get(name, True) and value is None
            if value is None or value == [] or value == {} or name in OF_ONE:
                continue
            if name.endswith("_config") and isinstance(value, str):
                if name not in self.configs:
                    self.configs[name] = _Config(value, where)
                self.configs[name].add(value, where, rank)
            elif (amount := number(value)) is not None:
                self._number(name, amount, where)
            elif not isinstance(value, list):
                _note(self.texts.setdefault(name, {}), value, where, rank)
            else:
                for item in value[:TEXTS_KEPT]:
                    _note(self.texts.setdefault(name, {}), item, where, rank)

    def _number(self, name: str, amount: float, where: str) -> None:
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = _Number()
        found.count += 1
        found.sum += amount
        found.least = min(found.least, amount)
        if amount > found.most:
            found.most, found.most_ref = amount, where

    def result(self, ref: str) -> RunMetrics:
        """What was added."""
        settings = [setting for name, config in self.configs.items() for setting in config.settings(name)]
        texts = [Setting("", name, _by_count(list(seen.values()))) for name, seen in self.texts.items()]
        texts.sort(key=lambda text: _place(text.name))
        configs = tuple(
            Config(name, config.first, len(config.apart), config.values) for name, config in self.configs.items()
        )
        return RunMetrics(
            1, ref, self.compiles, self.records, self.unreadable, tuple(settings), tuple(texts), self._totals(), configs,
            tuple(name for name, empty in self.empty.items() if empty),
        )  # fmt: skip

    def _totals(self) -> tuple[Total, ...]:
        found = []
        for name, amount in self.numbers.items():
            known = about(name)
            total = amount.sum if known.unit in SUMMED else None
            found.append(Total(
                name, known.group, known.unit, known.help, amount.count, total, amount.least, amount.most, amount.most_ref
            ))  # fmt: skip
        return tuple(sorted(found, key=lambda total: _place(total.name)))


def _place(name: str) -> tuple[int, int]:
    return GROUPS.index(about(name).group), ORDER.get(name, len(ORDER))
