"""Compilation metrics of many compiles: compact storage and sums by column."""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tltui.model.derived_cache import Parts
from tltui.model.node_answers import part, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.questions.metrics.compile_metrics import (
    GROUPS,
    OF_ONE,
    ORDER,
    SUMMED,
    Config,
    RunMetrics,
    Setting,
    Total,
    Variant,
    about,
    parsed,
)
from tltui.text.frozen import frozen
from tltui.trace.grammar import number

AT_ONCE = 32
"""Compiles between two yields."""
TEXTS_KEPT = 8
"""Maximum number of distinct values per field."""
TEXT_LIMIT = 300
SETTINGS_KEPT = 400
MISSING = "(not there)"
OTHERS = "(other values)"


@frozen
class _Form:
    """Field names shared by most records."""

    numbers: tuple[str, ...]
    empty: tuple[str, ...]
    """Fields that are null."""
    filled: tuple[str, ...]
    """All others."""


@frozen
class _Record:
    """One metrics record."""

    form: int
    """Number of its form in the `_Table` of the run."""
    numbers: bytes
    """An array of type d, in the order of the form."""
    texts: bytes
    """An array of type I: numbers of texts in the table."""
    configs: tuple[tuple[str, bytes], ...]
    """Its configurations, with the md5 of each."""


class _Table:
    """Forms and texts of the records of a run, each once. Only ever added to."""

    def __init__(self) -> None:
        self.forms: list[_Form] = []
        self.texts: list[tuple[str, str, Any]] = []
        """Field, text as which a value counts, and the value."""
        self._forms: dict[_Form, int] = {}
        self._texts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def record(self, values: dict[str, Any]) -> _Record:
        """Return the compact form of a record."""
        numbers: dict[str, float] = {}
        texts: list[int] = []
        configs: list[tuple[str, bytes]] = []
        empty: list[str] = []
        filled: list[str] = []
        with self._lock:
            for name, value in values.items():
                (empty if value is None else filled).append(name)
                if value is None or value == [] or value == {} or name in OF_ONE:
                    continue
                if name.endswith("_config") and isinstance(value, str):
                    configs.append((name, _digest(value)))
                elif (amount := number(value)) is not None:
                    numbers[name] = amount
                elif isinstance(value, list):
                    texts += [self._text(name, item) for item in value[:TEXTS_KEPT]]
                else:
                    texts.append(self._text(name, value))
            form = _Form(tuple(numbers), tuple(empty), tuple(filled))
            place = self._forms.setdefault(form, len(self.forms))
            if place == len(self.forms):
                self.forms.append(form)
        return _Record(place, array("d", numbers.values()).tobytes(), array("I", texts).tobytes(), tuple(configs))

    def _text(self, name: str, value: Any) -> int:
        text = repr(value)[:TEXT_LIMIT]
        place = self._texts.setdefault((name, text), len(self.texts))
        if place == len(self.texts):
            self.texts.append((name, text, value))
        return place


def _digest(text: str) -> bytes:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()


_TABLES: WeakKeyDictionary[Parts, _Table] = WeakKeyDictionary()


def _table(process: Process) -> _Table:
    found = _TABLES.get(process.parts)
    return found if found is not None else _TABLES.setdefault(process.parts, _Table())


@part
def _records(compile_: Compile, reader: Reader) -> tuple[_Record, ...]:
    """Return the metrics records of a compile."""
    table = _table(compile_.process)
    return tuple(table.record(reader.event(metrics.record)) for metrics in compile_.metrics)


def run_metrics(ref: str, compiles: Sequence[Compile]) -> Generator[None, None, RunMetrics]:
    """Return the metrics of many compiles. Yields now and then: every record holds complete configurations."""
    sums: _Sums | None = None
    measured = [compile_ for compile_ in compiles if compile_.metrics]
    for n, compile_ in enumerate(measured):
        if sums is None:
            sums = _Sums(_table(compile_.process))
        for place, record in enumerate(_records(compile_)):
            sums.add(record, compile_, place)
        if n % AT_ONCE == AT_ONCE - 1:
            yield
    if sums is None:
        return RunMetrics(1, ref, 0, 0, 0, (), (), (), (), ())
    yield
    return sums.result(ref, len(measured))


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


def _note(seen: dict[str, _Seen], text: str, value: Any, where: Compile, rank: int | None, count: int) -> None:
    """Count a value; at most `TEXTS_KEPT` different ones, the rest together."""
    if text not in seen and len(seen) >= TEXTS_KEPT:
        text, value = "…", OTHERS
    if text not in seen:
        seen[text] = _Seen(value, str(where.ref))
    seen[text].add(rank, count)


def _by_count(seen: Iterable[_Seen]) -> tuple[Variant, ...]:
    return tuple(sorted((item.variant() for item in seen if item.ranks), key=lambda variant: -variant.count))


@dataclass(slots=True, eq=False)
class _Number:
    count: int = 0
    sum: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")
    most_at: Compile | None = None

    def add(self, amounts: Sequence[float], compiles: Sequence[Compile]) -> None:
        """Add a column of numbers with their compiles."""
        self.count += len(amounts)
        self.sum += sum(amounts)
        if (least := min(amounts)) < self.least:
            self.least = least
        if (most := max(amounts)) > self.most:
            self.most, self.most_at = most, compiles[amounts.index(most)]


class _Config:
    """Variants of one configuration: the first one complete, of others the differences."""

    def __init__(self, text: str, where: str) -> None:
        self.first = where
        self.values = _entries(text)
        self.variants = 0
        self._total: dict[int | None, int] = {}
        self._seen: dict[str, dict[str, _Seen]] = {}
        """Entry → value as text → where it was seen; only values that are not those of the first."""

    def add(self, text: str, where: Compile, ranks: dict[int | None, int]) -> None:
        """Add a variant with its number of records per rank."""
        self.variants += 1
        values = _entries(text)
        keys = [*self.values, *(key for key in values if key not in self.values)]
        apart = [(key, values.get(key, MISSING)) for key in keys if values.get(key, MISSING) != self.values.get(key, MISSING)]
        for rank, count in ranks.items():
            self._total[rank] = self._total.get(rank, 0) + count
            for key, value in apart:
                _note(self._seen.setdefault(key, {}), repr(value)[:TEXT_LIMIT], value, where, rank, count)

    def settings(self, name: str) -> Iterator[Setting]:
        """Yield the entries that differ."""
        for key, others in list(self._seen.items())[:SETTINGS_KEPT]:
            own = _Seen(self.values.get(key, MISSING), self.first)
            for rank, count in self._total.items():
                own.add(rank, count - sum(seen.ranks.get(rank, 0) for seen in others.values()))
            yield Setting(name, key, _by_count([own, *others.values()]))


def _entries(text: str) -> dict[str, Any]:
    value = parsed(text)
    return value if isinstance(value, dict) else {"": value}


@dataclass(slots=True, eq=False)
class _Variant:
    """Text of a configuration: its first occurrence, and its records per rank."""

    compile: Compile
    place: int
    ranks: dict[int | None, int] = field(default_factory=dict)


class _Sums:
    """Records of one form and with the same texts are counted together."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._records = 0
        self._columns: dict[int, tuple[list[bytes], list[Compile]]] = {}
        self._texts: dict[tuple[int | None, bytes], tuple[Compile, list[int]]] = {}
        self._configs: dict[str, dict[bytes, _Variant]] = {}

    def add(self, record: _Record, compile_: Compile, place: int) -> None:
        """Add the `place`-th metrics record of a compile."""
        self._records += 1
        rank = compile_.process.rank
        column = self._columns.get(record.form)
        if column is None:
            column = self._columns[record.form] = [], []
        column[0].append(record.numbers)
        column[1].append(compile_)
        key = rank, record.texts
        counted = self._texts.get(key)
        if counted is None:
            self._texts[key] = compile_, [1]
        else:
            counted[1][0] += 1
        for name, digest in record.configs:
            variants = self._configs.setdefault(name, {})
            variant = variants.get(digest)
            if variant is None:
                variant = variants[digest] = _Variant(compile_, place)
            variant.ranks[rank] = variant.ranks.get(rank, 0) + 1

    def result(self, ref: str, compiles: int) -> RunMetrics:
        """Return the sums."""
        configs = {name: _config(name, variants) for name, variants in self._configs.items()}
        settings = tuple(setting for name, config in configs.items() for setting in config.settings(name))
        empty: dict[str, bool] = {}
        unreadable = 0
        for number_, (_, members) in self._columns.items():
            form = self._table.forms[number_]
            empty.update((name, False) for name in form.filled)
            for name in form.empty:
                empty.setdefault(name, True)
            unreadable += 0 if form.filled or form.empty else len(members)
        return RunMetrics(
            1, ref, compiles, self._records, unreadable, settings, self._values(), self._totals(),
            tuple(Config(name, config.first, config.variants, config.values) for name, config in configs.items()),
            tuple(name for name, is_empty in empty.items() if is_empty),
        )  # fmt: skip

    def _values(self) -> tuple[Setting, ...]:
        seen: dict[str, dict[str, _Seen]] = {}
        for (rank, texts), (compile_, (count,)) in self._texts.items():
            for place, times in Counter(array("I", texts)).items():
                name, text, value = self._table.texts[place]
                _note(seen.setdefault(name, {}), text, value, compile_, rank, count * times)
        found = [Setting("", name, _by_count(values.values())) for name, values in seen.items()]
        return tuple(sorted(found, key=lambda setting: _place(setting.name)))

    def _totals(self) -> tuple[Total, ...]:
        numbers: dict[str, _Number] = {}
        for form, (rows, compiles) in self._columns.items():
            names = self._table.forms[form].numbers
            amounts = array("d", b"".join(rows))
            for n, name in enumerate(names):
                numbers.setdefault(name, _Number()).add(amounts[n :: len(names)], compiles)
        found = []
        for name, amount in numbers.items():
            known = about(name)
            total = amount.sum if known.unit in SUMMED else None
            found.append(Total(
                name, known.group, known.unit, known.help, amount.count, total, amount.least, amount.most,
                str(amount.most_at.ref) if amount.most_at is not None else "",
            ))  # fmt: skip
        return tuple(sorted(found, key=lambda total: _place(total.name)))


def _config(name: str, variants: dict[bytes, _Variant]) -> _Config:
    """Their texts are read again, one of each variant: a configuration may be 40 KB, and every compile states it."""
    config: _Config | None = None
    for variant in variants.values():
        compile_ = variant.compile
        text = reader_of(compile_).event(compile_.metrics[variant.place].record).get(name)
        if not isinstance(text, str):
            text = ""
        if config is None:
            config = _Config(text, str(compile_.ref))
        config.add(text, compile_, variant.ranks)
    assert config is not None
    return config


def _place(name: str) -> tuple[int, int]:
    return GROUPS.index(about(name).group), ORDER.get(name, len(ORDER))
