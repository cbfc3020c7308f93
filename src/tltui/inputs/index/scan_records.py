"""Serialisation of the scan of a log."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from operator import sub
from typing import Any, NamedTuple, TypeVar

from tltui.inputs.index.format import BadIndex, dump_json, load_json
from tltui.text.frozen import mutable
from tltui.trace.batch import Batch, Columns, Context, Damage, Kind, Metrics, Started, Tail
from tltui.trace.grammar import LARGEST, MOST, NOTABLE
from tltui.trace.scan import State

Row = TypeVar("Row", bound=NamedTuple)
_COLUMNS = (("offset", "Q"), ("head", "I"), ("size", "Q"), ("kind", "I"), ("context", "I"), ("flags", "B"))
_LITTLE = sys.byteorder == "little"
_DAMAGED = "damaged index: invalid records of a log"
_BYTES = sum(array(code).itemsize for _, code in _COLUMNS)
Checks = Sequence[Callable[[Any], Any]]


@mutable
class Saved:
    """The stored scan results of a log."""

    batch: Batch
    """All of its records up to `state.reached`."""
    state: State
    """Where the scan goes on."""
    last: Batch | None
    """What came at its end, where nobody wrote any more: a record that is incomplete, and the remark that it is. None of a log
    that had not ended."""


def pack_records(saved: Saved) -> bytes:
    """Return the section of a log."""
    value = {"state": list(saved.state), "batch": _facts(saved.batch), "last": None if saved.last is None else _facts(saved.last)}
    data = dump_json(value)
    columns = [_packed(batch.columns) for batch in (saved.batch, saved.last) if batch is not None]
    return b"".join((len(data).to_bytes(4, "little"), data, *columns))


def unpack_records(data: bytes) -> Saved:
    """Parse the output of `pack_records`. Raises `BadIndex` for impossible scan results."""
    size = int.from_bytes(data[:4], "little")
    value = load_json(data[4 : 4 + size])
    if not isinstance(value, dict) or not isinstance(value.get("batch"), dict):
        raise BadIndex(_DAMAGED)
    at = 4 + size
    kinds: list[Kind] = []
    contexts: list[Context] = []
    batches: list[Batch] = []
    for fact in (value["batch"], value.get("last")):
        if fact is not None:
            if not isinstance(fact, dict):
                raise BadIndex(_DAMAGED)
            count = _int(fact.get("count"))
            batch = Batch(sum(len(part.columns) for part in batches), _columns(data, at, count))
            at += count * _BYTES
            _fill(batch, fact, kinds, contexts)
            batches.append(batch)
    if at != len(data):
        raise BadIndex(_DAMAGED)
    state = _row(State, value.get("state"), (_int, _int, _int, _int, _int, _signed, _flag, _flag, _signed, _int))
    if state.records != len(batches[0].columns) or (state.records and not state.last < len(contexts)):
        raise BadIndex(_DAMAGED)
    return Saved(batches[0], state, batches[1] if len(batches) > 1 else None)


def _packed(columns: Columns) -> bytes:
    """Return the columns, offsets as distances."""
    parts = []
    for name, code in _COLUMNS:
        column: array[int] = getattr(columns, name)
        if name == "offset":
            column = array(code, map(sub, column, (0, *column[:-1])))
        if not _LITTLE:
            column = array(code, column)
            column.byteswap()
        parts.append(column.tobytes())
    return b"".join(parts)


def _columns(data: bytes, at: int, count: int) -> Columns:
    if at + count * _BYTES > len(data):
        raise BadIndex(_DAMAGED)
    columns = Columns()
    for name, code in _COLUMNS:
        column: array[int] = array(code)
        size = count * column.itemsize
        column.frombytes(data[at : at + size])
        at += size
        if not _LITTLE:
            column.byteswap()
        if name == "offset":
            try:
                column = array(code, accumulate(column))
            except OverflowError:
                raise BadIndex(_DAMAGED) from None
        setattr(columns, name, column)
    return columns


def _facts(batch: Batch) -> dict[str, object]:
    """Return the values of a batch besides columns. `started` and so on keep the numbers of their records."""
    return {
        "count": len(batch.columns), "kinds": batch.kinds, "contexts": batch.contexts, "strings": batch.strings,
        "started": batch.started, "metrics": batch.metrics, "damage": batch.damage, "scanned": batch.scanned,
        "finished": batch.finished, "waiting": batch.waiting, "clock": batch.clock, "tail": batch.tail,
        "resized": list(batch.resized.items()),
    }  # fmt: skip


def _fill(batch: Batch, fact: dict[str, Any], kinds: list[Kind], contexts: list[Context]) -> None:
    """Facts of a batch, each of its type; `kinds` and `contexts` are those of the log, and become more."""
    columns, end = batch.columns, batch.first + len(batch.columns)
    batch.kinds = [_row(Kind, row, (_text, _text, _text)) for row in _list(fact.get("kinds"))]
    batch.contexts = [_row(Context, row, _CONTEXT) for row in _list(fact.get("contexts"))]
    kinds += batch.kinds
    contexts += batch.contexts
    if len(columns) and not (max(columns.kind) < len(kinds) and max(columns.context) < len(contexts)):
        raise BadIndex(_DAMAGED)
    if len(columns) and (columns.offset[-1] >= MOST or max(columns.size) >= MOST):
        raise BadIndex(_DAMAGED)
    batch.strings = [_string(row) for row in _list(fact.get("strings"))]
    batch.started = [_row(Started, row, _STARTED) for row in _list(fact.get("started"))]
    batch.metrics = [_metrics(row) for row in _list(fact.get("metrics"))]
    batch.damage = [_row(Damage, row, (_int, _signed, _text)) for row in _list(fact.get("damage"))]
    batch.resized = dict(_row(_Resized, row, (_int, _int)) for row in _list(fact.get("resized")))
    records = [*(item.record for item in batch.started), *(item.record for item in batch.metrics)]
    first_time = all(batch.first <= record < end for record in records)
    if not first_time or any(item.record >= end for item in batch.damage) or any(item >= batch.first for item in batch.resized):
        raise BadIndex(_DAMAGED)
    batch.scanned, batch.clock = _int(fact.get("scanned")), _text(fact.get("clock"))
    batch.finished, batch.waiting = _flag(fact.get("finished")), _flag(fact.get("waiting"))
    tail = fact.get("tail")
    batch.tail = None if tail is None else _row(Tail, tail, (_int, _int))
    _members(batch, kinds)
    if any(not batch.members.get(number) for number in range(len(contexts) - len(batch.contexts), len(contexts))):
        raise BadIndex(_DAMAGED)


def _members(batch: Batch, kinds: Sequence[Kind]) -> None:
    """Rebuild the tables that follow from the columns."""
    members, columns = batch.members, batch.columns
    begin = batch.first
    for context, same in groupby(columns.context):
        end = begin + len(list(same))
        members[context].extend(range(begin, end))
        begin = end
    notable = {number for number, kind in enumerate(kinds) if kind.name in NOTABLE or kind.event in NOTABLE}
    batch.notable = [(record, kind) for record, kind in enumerate(columns.kind, batch.first) if kind in notable]


class _Resized(NamedTuple):
    record: int
    size: int


def _string(row: object) -> tuple[int, int, str]:
    if not isinstance(row, list) or len(row) != 3 or type(row[0]) is not int or type(row[1]) is not int:
        raise BadIndex(_DAMAGED)
    return row[0], row[1], _text(row[2])


def _metrics(row: object) -> Metrics:
    """Metrics, most of whose texts are the same in every compile: they are kept once."""
    return _row(Metrics, row, _METRICS)


def _row(make: type[Row], row: object, checks: Sequence[Callable[[Any], Any]]) -> Row:
    if not isinstance(row, list) or len(row) != len(checks):
        raise BadIndex(_DAMAGED)
    return make(*[check(value) for check, value in zip(checks, row, strict=True)])


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise BadIndex(_DAMAGED)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadIndex(_DAMAGED)
    return value


def _interned(value: object) -> str | None:
    return None if value is None else sys.intern(_text(value))


def _maybe_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _texts(value: object) -> tuple[str, ...] | None:
    return None if value is None else tuple(map(_text, _list(value)))


def _int(value: object) -> int:
    if type(value) is not int or not 0 <= value < MOST:
        raise BadIndex(_DAMAGED)
    return value


def _any_whole(value: object) -> int:
    if type(value) is not int:
        raise BadIndex(_DAMAGED)
    return value


def _signed(value: object) -> int:
    if type(value) is not int or not -8 <= value < MOST:
        raise BadIndex(_DAMAGED)
    return value


def _maybe_whole(value: object) -> int | None:
    return None if value is None else _int(value)


def _maybe_any_whole(value: object) -> int | None:
    return None if value is None else _any_whole(value)


def _maybe_number(value: object) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not -LARGEST * 1e7 < value < LARGEST * 1e7:  # type: ignore[operator]
        raise BadIndex(_DAMAGED)
    return float(value)  # type: ignore[arg-type]


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise BadIndex(_DAMAGED)
    return value


def _maybe_flag(value: object) -> bool | None:
    return None if value is None else _flag(value)


_CONTEXT: Checks = (
    _any_whole, _maybe_whole, _maybe_whole, _maybe_whole, _maybe_whole, _maybe_whole, _maybe_text, _flag, _text,
)  # fmt: skip
_STARTED: Checks = (_int, _interned, _maybe_any_whole, _maybe_whole, _int)
_METRICS: Checks = (
    _int, _text, _interned, _interned, _texts, _maybe_whole, _maybe_number, _maybe_number, _interned, _interned, _maybe_whole,
    _maybe_whole, _maybe_whole, _interned, _interned, _interned, _flag, _maybe_flag, _flag,
)  # fmt: skip


def together(batches: Iterable[Batch], first: int = 0, kinds: Sequence[Kind] = ()) -> Batch:
    """Concatenate successive batches. `first` and `kinds`: the records and kinds before them."""
    joined = Batch(first)
    for batch in batches:
        joined.columns.extend(batch.columns)
        for record, size in batch.resized.items():
            if record < first:
                joined.resized[record] = size
            else:
                joined.columns.size[record - first] = size
        joined.kinds += batch.kinds
        joined.contexts += batch.contexts
        joined.strings += batch.strings
        joined.started += batch.started
        joined.metrics += batch.metrics
        joined.damage += batch.damage
        joined.scanned, joined.finished, joined.waiting = batch.scanned, batch.finished, batch.waiting
        joined.tail, joined.clock = batch.tail, batch.clock or joined.clock
    _members(joined, [*kinds, *joined.kinds])
    return joined
