"""Record reader: fast access to the records of a log, without trusting the type of any field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from tltui.inputs.index.indexed_log import Elsewhere
from tltui.model.artifacts import artifact_name, is_artifact
from tltui.model.nodes import Compile, Process
from tltui.model.ref import Ref
from tltui.text.lru import Lru
from tltui.text.payload import ByteSource
from tltui.trace.batch import ORPHAN
from tltui.trace.files import Gone
from tltui.trace.grammar import MOST, PREFIX, number, parse_json
from tltui.trace.log import Log

AHEAD = 1 << 16
KEPT = 16 << 20
"""Characters of texts that a reader keeps for those who ask for the same few again and again."""
_MD5 = re.compile(rb'"has_payload": "([0-9a-f]{32})"\}$')
_MD5_BYTES = 52
JSON_LIMIT = 1 << 20
"""Stored bytes up to which a JSON payload is parsed as a whole."""


class Reader:
    """Reads many small records of one log: one `pread` fetches the neighbours too."""

    def __init__(self, log: Log, ahead: int = AHEAD) -> None:
        self.log = log
        self.cache: Lru[object, Any] = Lru(KEPT)
        """Texts that were laid out last: whoever puts them there sees to it that they are still true."""
        self._ahead = ahead
        self._block: tuple[ByteSource, int, bytes] = (log.source, 0, b"")  # one thing: another thread may read as well

    def _bytes(self, record: int, offset: int, size: int) -> bytes:
        """Return bytes of a record; bytes no longer in the file count as missing, which the tree marks for each payload."""
        source = self.log.source_of(record)
        before, begin, block = self._block
        start = offset - begin
        if source is not before or start < 0 or start + size > len(block):
            # never beyond what was scanned: what stands behind it may still change
            ahead = min(self._ahead, self.log.scanned - offset) if source is self.log.source else self._ahead
            try:
                block, start = source.read(offset, max(size, ahead)), 0
            except Gone:
                return b""
            self._block = (source, offset, block)
        return block[start : start + size]

    def hold(self, start: int, size: int) -> None:
        """Read a stretch of the log in one piece, as far as it was scanned, so that its records need no further reads.

        Bytes no longer in the file count as missing.
        """
        source, begin, block = self._block
        if source is self.log.source and begin <= start and start + size <= begin + len(block):
            return
        try:
            block = self.log.source.read(start, min(size, self.log.scanned - start))
        except (Gone, Elsewhere):
            return
        self._block = (self.log.source, start, block)

    def md5(self, record: int) -> str | None:
        """Return the md5 as `Log.md5` does, from bytes already read."""
        size = min(self.log.columns.head[record], _MD5_BYTES)
        end = self.log.columns.offset[record] + self.log.columns.head[record]
        match = _MD5.search(self._bytes(record, end - size, size)) if self.log.is_stored(record) else None
        return match[1].decode() if match else self.log.md5(record)

    def payload(self, record: int, limit: int = JSON_LIMIT) -> bytes:
        """Return the payload without its tabs, up to `limit` stored bytes; b"" for none."""
        columns = self.log.columns
        size = min(columns.size[record], limit)
        if not size:
            return b""
        if not self.log.is_stored(record):
            return self._converted(record, limit)
        start = columns.offset[record]
        if not columns.flags[record] & ORPHAN:
            start += columns.head[record] + 1
        return self._bytes(record, start, size).removeprefix(b"\t").replace(b"\n\t", b"\n")

    def head(self, record: int) -> bytes:
        """Return the first line: prefix and envelope."""
        if not self.log.is_stored(record):
            return self.log.head(record)
        return self._bytes(record, self.log.columns.offset[record], self.log.columns.head[record])

    def _converted(self, record: int, limit: int) -> bytes:
        payload = self.log.payload(record)
        return b"" if payload is None else replace(payload, size=min(payload.size, limit)).read()

    def text(self, record: int, limit: int = JSON_LIMIT) -> str:
        """Return the payload as text."""
        return self.payload(record, limit).decode("utf-8", "replace")

    def json(self, record: int, limit: int = JSON_LIMIT) -> Any:
        """Return the payload as JSON; None where it is larger than `limit`, or invalid."""
        if self.log.columns.size[record] > limit:
            return None
        try:
            return parse_json(self.payload(record, limit))
        except ValueError:
            return None

    def event(self, record: int) -> dict[str, Any]:
        """Return the metadata of the record: the value of its event key. {} where it is damaged or no object."""
        line = self.head(record)
        match = PREFIX.match(line)
        if match is None:
            return {}
        try:
            envelope = parse_json(line[match.end() :].rstrip(b"\x00\r"))
        except ValueError:
            return {}
        value = envelope.get(self.log.kind(record).event) if isinstance(envelope, dict) else None
        return value if isinstance(value, dict) else {}


def text_in(fields: object, key: str) -> str | None:
    """Return a string of an object; None for anything else, and for ''."""
    value = fields.get(key) if isinstance(fields, dict) else None
    return value if isinstance(value, str) and value else None


def number_in(fields: object, key: str) -> float | None:
    """Return a number of an object, small enough for arithmetic."""
    return number(fields.get(key)) if isinstance(fields, dict) else None


def whole_in(fields: object, key: str) -> int | None:
    """Return an integer of an object that fits a column of 64 bit."""
    value = fields.get(key) if isinstance(fields, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and -MOST < value < MOST else None


def list_in(fields: object, key: str) -> list[Any]:
    """Return a list of an object; [] for anything else."""
    value = fields.get(key) if isinstance(fields, dict) else None
    return value if isinstance(value, list) else []


def json_in(fields: object, key: str) -> dict[str, Any]:
    """Return an object that is stored as JSON in a string (the configurations in metrics); {} for anything else."""
    value = text_in(fields, key)
    if value is None:
        return {}
    try:
        parsed = parse_json(value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


_NAMES: WeakKeyDictionary[Log, list[str]] = WeakKeyDictionary()


def record_names(log: Log) -> list[str]:
    """Return the names of the kinds of a log. The list only grows in place, so threads may share it."""
    names = _NAMES.get(log, [])
    if len(names) < len(log.kinds):
        names = _NAMES[log] = [artifact_name(kind) for kind in log.kinds]
    return names


Names = tuple[str, ...] | frozenset[str]
_KINDS: WeakKeyDictionary[Log, dict[Names, tuple[int, dict[int, str]]]] = WeakKeyDictionary()


def _kinds_with(log: Log, names: Names) -> dict[int, str]:
    """Return the kinds of a log that have one of these names: their numbers and names."""
    by_names = _KINDS.get(log)
    if by_names is None:
        by_names = _KINDS[log] = {}
    count, kinds = by_names.get(names, (0, {}))
    if count < len(log.kinds):
        kinds = {n: name for n, name in enumerate(record_names(log)) if name in names}
        by_names[names] = len(log.kinds), kinds
    return kinds


def records_of(compile_: Compile, names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(record, name) of the records of a compile that have one of these event keys or artifact names, in file order."""
    log = compile_.process.log
    kinds = _kinds_with(log, names if isinstance(names, (tuple, frozenset)) else frozenset(names))
    if kinds:
        column = log.columns.kind
        for record in compile_.records:
            name = kinds.get(column[record])
            if name is not None:
                yield record, name


def logged(compile_: Compile, name: str) -> Iterator[int]:
    """Yield the log messages of this name of a compile in TORCH_LOGS text, in file order."""
    log = compile_.process.log
    for record, _ in records_of(compile_, ("log",)):
        kind = log.kind(record)
        if kind.event == "log" and kind.name == name:
            yield record


def metrics_fields(compile_: Compile, reader: Reader | None = None) -> list[tuple[str, dict[str, Any]]]:
    """(event, all fields) of the metrics records that are not runtime records."""
    reader = reader or Reader(compile_.process.log)
    return [(m.event, reader.event(m.record)) for m in compile_.metrics if not m.is_runtime]


def address(compile_: Compile, record: int, name: str) -> str:
    """Return the address of one of the artifacts of a compile. For many of them use `addresses`."""
    log = compile_.process.log
    same = [other for other, _ in records_of(compile_, (name,)) if is_artifact(log.kind(other), log.has_payload(other))]
    if record not in same:
        return record_ref(compile_.process, record)
    plain = f"{compile_.address}:{name}"
    return plain if len(same) == 1 else f"{plain}#{same.index(record) + 1}"


def addresses(compile_: Compile, names: Iterable[str]) -> dict[int, str]:
    """Map the records of a compile with one of these names to addresses, numbered in one pass.

    Artifacts have their own; a record without the payload of an artifact has its record page.
    """
    log, base = compile_.process.log, str(compile_.ref)
    same: dict[str, list[int]] = {}
    by_record: dict[int, str] = {}
    for record, name in records_of(compile_, names):
        if is_artifact(log.kind(record), log.has_payload(record)):
            same.setdefault(name, []).append(record)
        else:
            by_record[record] = record_ref(compile_.process, record)
    for name, records in same.items():
        plain = f"{base}:{name}"
        by_record.update({r: f"{plain}#{n}" for n, r in enumerate(records, 1)} if len(records) > 1 else {records[0]: plain})
    return by_record


def record_ref(process: Process, record: int) -> str:
    """Return the address of the page of one record."""
    place = process.ref if process.ranks_differ or not process.alone else Ref()
    return str(Ref(place.rank, place.process, n=record + 1, view="record"))
