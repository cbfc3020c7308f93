"""One log: its columns, and the contents of a record on demand."""

from __future__ import annotations

import hashlib
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from tltui.text.frozen import frozen
from tltui.text.payload import ByteSource, Digest, Payload, digest
from tltui.trace.batch import DECLARED, ORPHAN, Batch, Columns, Context, Damage, Kind, Tail
from tltui.trace.files import Gone
from tltui.trace.grammar import PREFIX, Prefix, parse_json, parse_prefix

BLOCK = 1 << 20
"""Bytes of a record that are read at once."""

LARGE = 16 << 20
"""Payloads above this many bytes are checked in pieces, and only as they are stored or with CRLF line ends."""
MAX_BLANK = 8
END_OF_LINE = 80
"""Bytes of the end of a first line in which the md5 is looked for."""
_MD5 = re.compile(rb'"has_payload": "([\x20\x21\x23-\x5b\x5d-\x7e]*)"\}[\r\x00]*$')


class Check(Enum):
    """The result of comparing a payload with its md5."""

    GOOD = "good"
    BAD = "bad"
    UNDECLARED = "undeclared"


@frozen
class Checked:
    """The outcome for one payload: by which reading of its bytes the md5 matched, and its size."""

    check: Check
    payload: Payload
    """The payload as it must be read: CRLF line ends taken off where only that gives the md5."""
    size: int
    """Bytes of the payload as torch wrote it."""
    lines: int
    declared: str
    """The md5 as the envelope has it."""


class Log:
    """The records of one file. Grows by `apply`; everything else reads.

    Other forms than a trace are subclasses: their `head`, `payload` and `md5` return the text that torch would have written to
    a trace at the same place of its code.
    """

    told_by = ""
    """What a page says of where it has its texts from; '' for a trace."""
    is_made = False
    """Whether first lines and payloads of all records are made when somebody looks, rather than read as they are stored."""

    def __init__(self, path: str, source: ByteSource, generation: int = 0) -> None:
        self.path = path
        self.key = f"{path}\0{generation}" if generation else path
        """Tells it apart from every other log of the run, also from one that had the same name before, and never changes."""
        self.sources: list[ByteSource] = [source]
        self.columns = Columns.narrow()
        self.kinds: list[Kind] = []
        self.contexts: list[Context] = []
        self.damage: list[Damage] = []
        self.scanned = 0
        self.ended = False
        """Whether the writer has ended: what is there is all that will be."""
        self.stamp = 0
        """Changes when it ends."""
        self.tail: Tail | None = None
        """The incomplete record at the end of a log that may still be written."""
        self.clock = ""
        """`MMDD HH:MM:SS.micros` of its last record, in local time of the job; '' where that is not known."""
        self.waiting = False
        """Whether all of it that is written by now has been read."""

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def source(self) -> ByteSource:
        """The file itself, which has all records unless their column names another source."""
        return self.sources[0]

    def source_of(self, record: int) -> ByteSource:
        """Where the bytes of a record are."""
        return self.sources[self.columns.source[record]] if self.columns.source else self.sources[0]

    def line_blocks(self, record: int, begin: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, bytes) of a record from its byte `begin` on, in blocks of whole lines; none where the file is gone."""
        source, offset, size = self.source_of(record), self.columns.offset[record], self.columns.size[record]
        at = begin
        while at < size:
            try:
                data = source.read(offset + at, min(BLOCK, size - at))
            except Gone:
                return
            if not data:
                return
            if at + len(data) < size and (end := data.rfind(b"\n") + 1):
                data = data[:end]
            yield offset + at, data
            at += len(data)

    def apply(self, batch: Batch) -> None:
        """Append the records of one step of the scan."""
        self.columns.extend(batch.columns)
        for record, size in batch.resized.items():
            self.columns.resize(record, size)
        self.kinds.extend(batch.kinds)
        self.contexts.extend(batch.contexts)
        self.damage.extend(batch.damage)
        self.scanned = batch.scanned
        if batch.finished:
            self.end()
        self.tail, self.waiting = batch.tail, batch.waiting
        self.clock = batch.clock or self.clock

    def end(self) -> None:
        """Nothing more will come."""
        self.ended, self.tail = True, None
        self.stamp += 1

    def kind(self, record: int) -> Kind:
        """Return the kind of the record."""
        return self.kinds[self.columns.kind[record]]

    def context(self, record: int) -> Context:
        """Whose the record is."""
        return self.contexts[self.columns.context[record]]

    def head(self, record: int) -> bytes:
        """Return the stored first line: prefix and envelope. Raises OSError."""
        return self.source_of(record).read(self.columns.offset[record], self.columns.head[record])

    def is_stored(self, record: int) -> bool:
        """Whether the record is stored in `source` as torch writes it to a trace."""
        return not self.is_made

    def place(self, record: int) -> tuple[str, int]:
        """Return the file of a record, and its offset there in bytes."""
        return self.path, self.columns.offset[record]

    def origin(self, record: int) -> tuple[Log, int]:
        """Return the original log of a record, and its number there: several logs of a process are joined."""
        return self, record

    def written(self, record: int) -> bytes:
        """Return the first line of a record as it was written, in whatever form. Raises OSError."""
        return self.head(record)

    def prefix(self, record: int) -> Prefix | None:
        """Return the text before the envelope; None for lines that are no records."""
        if self.is_made:
            line = self.head(record)
        else:
            line = self.source_of(record).read(self.columns.offset[record], min(self.columns.head[record], 4096))
        match = PREFIX.match(line)
        return parse_prefix(match) if match else None

    def envelope(self, record: int) -> dict[str, Any]:
        """Return the parsed envelope; {} for a damaged one."""
        line = self.head(record)
        match = PREFIX.match(line)
        if match is None:
            return {}
        try:
            value = parse_json(line[match.end() :].rstrip(b"\x00\r"), exact=True)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def event(self, record: int) -> Any:
        """Return the value of the event key of the envelope."""
        return self.envelope(record).get(self.kind(record).event)

    def payload(self, record: int) -> Payload | None:
        """Where the payload lies; None for a record without payload lines."""
        columns = self.columns
        size = columns.size[record]
        if not size:
            return None
        start = columns.offset[record]
        if not columns.flags[record] & ORPHAN:
            start += columns.head[record] + 1
        return Payload(self.source_of(record), start, size, b"\t")

    def has_payload(self, record: int) -> bool:
        """Whether the envelope declares a payload or payload lines follow it."""
        return bool(self.columns.flags[record] & DECLARED) or self.columns.size[record] > 0

    def text(self, record: int, limit: int = LARGE) -> str:
        """Return the payload as text, up to `limit` stored bytes; '' for none."""
        payload = self.payload(record)
        if payload is None:
            return ""
        part = Payload(payload.source, payload.offset, min(payload.size, limit), payload.strip)
        return part.read().decode("utf-8", "replace")

    def md5(self, record: int) -> str | None:
        """Return the md5 that the envelope declares, as written; None for a record that declares no payload."""
        if not self.columns.flags[record] & DECLARED:
            return None
        size = min(self.columns.head[record], END_OF_LINE)
        tail = self.source_of(record).read(self.columns.offset[record] + self.columns.head[record] - size, size)
        if match := _MD5.search(tail):
            return match[1].decode()
        return str(self.envelope(record).get("has_payload"))

    def check(self, record: int) -> Checked | None:
        """Compare the payload with its md5, in all readings that `_readings` knows. None for a record without one."""
        payload, declared = self.payload(record), self.md5(record)
        if payload is None and declared is None:
            return None
        if payload is None:
            payload = Payload(self.source_of(record), self.columns.offset[record], 0)
            plain = Digest("", 0, 0)
        else:
            plain = digest(payload)
        if declared is None:
            return Checked(Check.UNDECLARED, payload, plain.size, plain.lines, "")
        declared_md5 = declared.lower()
        if plain.md5 == declared_md5:
            return Checked(Check.GOOD, payload, plain.size, plain.lines, declared)
        for reading in self._readings(record):
            actual = digest(reading)
            if actual.md5 == declared_md5:
                return Checked(Check.GOOD, reading, actual.size, actual.lines, declared)
        return Checked(Check.BAD, payload, plain.size, plain.lines, declared)

    def _readings(self, record: int) -> Iterator[Payload]:
        """Yield candidate payloads where the plain reading does not match the md5 (trace-format §1.1).

        The complete file may have been converted to CRLF line ends. Editors trim the tab of an empty line, which may then
        be inside or at the end; some tools insert empty lines. And an older torch let parent and child write into
        one file.
        """
        payload = self.payload(record)
        if payload is not None:
            yield replace(payload, crlf=True)
        if payload is None or payload.size <= LARGE:
            lines = payload.source.read(payload.offset, payload.size).split(b"\n") if payload else []
            tabbed = [line[1:] for line in lines if line.startswith(b"\t")]
            if 0 < len(tabbed) < len(lines):
                yield Payload.of(b"\n".join(tabbed))
            untabbed = [line.removeprefix(b"\t") for line in lines]
            for _ in range(min(self._blank_lines_after(record), MAX_BLANK)):
                untabbed.append(b"")
                yield Payload.of(b"\n".join(untabbed))
        if (regrouped := self._regrouped(record)) is not None:
            yield regrouped

    def _blank_lines_after(self, record: int) -> int:
        columns = self.columns
        end = columns.offset[record] + columns.head[record] + columns.size[record] + (columns.size[record] > 0)
        following = columns.offset[record + 1] if record + 1 < len(self) else self.scanned
        return max(following - end - 1, 0)

    def _regrouped(self, record: int) -> Payload | None:
        """Return the payload when two writers of one file interleaved: both first lines precede both payloads."""
        first, second = (record, record + 1) if self.columns.size[record] == 0 else (record - 1, record)
        if first < 0 or second >= len(self) or self.columns.size[first]:
            return None
        both = self.payload(second)
        if both is None or both.size > LARGE or self.context(first).pid == self.context(second).pid:
            return None
        lines = both.source.read(both.offset, both.size).split(b"\n")
        for leader in (first, second):
            declared_md5 = (self.md5(leader) or "").lower()
            md5, end = hashlib.md5(usedforsecurity=False), 0
            for number, line in enumerate(lines):
                md5.update((b"\n" if number else b"") + line.removeprefix(b"\t"))
                end += len(line) + 1
                if md5.hexdigest() == declared_md5:
                    if record == leader:
                        return replace(both, size=end - 1)
                    return replace(both, offset=both.offset + end, size=max(both.size - end, 0))
        return None

    def records(self) -> Iterator[int]:
        """All records in file order."""
        return iter(range(len(self)))


NOWHERE = 0xFFFFFFFF
"""In place of the number of a record that is not in a joined log."""


class JoinedLog(Log):
    """The records of one process, taken from several logs (`members`, the first one is the *base*).

    What the base stores as a trace is read in place: its source is 0, its offset that in the file. Every other record is one of a
    member: its source is the number of the member from 1, its offset the number of the record there.
    """

    def __init__(self, members: Sequence[Log]) -> None:
        base = members[0]
        super().__init__(base.path, base.source)
        self.key = base.key
        self.members = tuple(members)
        self.places = [array("I") for _ in members]
        """For each member: record there → record here, also of one that was left out as the base has it too."""

    def add_places(self, batch: Batch, places: Sequence[array[int]]) -> None:
        """Remember where the records of a batch come from."""
        for column, more in zip(self.places, places, strict=True):
            column.extend(more)

    def is_stored(self, record: int) -> bool:
        return not self.columns.source or self.columns.source[record] == 0

    def origin(self, record: int) -> tuple[Log, int]:
        """Return the original log of a record, and its number there."""
        source, offset = self.columns.source[record] if self.columns.source else 0, self.columns.offset[record]
        if source:
            return self.members[source - 1], offset
        return self.members[0], bisect_left(self.members[0].columns.offset, offset)

    def head(self, record: int) -> bytes:
        if self.is_stored(record):
            return super().head(record)
        log, number = self.origin(record)
        return log.head(number)

    def written(self, record: int) -> bytes:
        log, number = self.origin(record)
        return log.written(number)

    def prefix(self, record: int) -> Prefix | None:
        log, number = self.origin(record)
        return log.prefix(number)

    def payload(self, record: int) -> Payload | None:
        if self.is_stored(record):
            return super().payload(record)
        log, number = self.origin(record)
        return log.payload(number)

    def has_payload(self, record: int) -> bool:
        if self.is_stored(record):
            return super().has_payload(record)
        log, number = self.origin(record)
        return log.has_payload(number)

    def md5(self, record: int) -> str | None:
        if self.is_stored(record):
            return super().md5(record)
        log, number = self.origin(record)
        return log.md5(number)

    def check(self, record: int) -> Checked | None:
        log, number = self.origin(record)
        return log.check(number)

    def place(self, record: int) -> tuple[str, int]:
        log, number = self.origin(record)
        return log.place(number)
