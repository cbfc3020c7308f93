"""One log: its columns, and what a record says when somebody looks at it."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tltui.text.payload import ByteSource, Payload
from tltui.trace.batch import DECLARED, ORPHAN, Batch, Columns, Context, Damage, Kind
from tltui.trace.grammar import PREFIX, Prefix, parse_json, parse_prefix

LARGE = 16 << 20
"""Payloads above this many bytes are checked in pieces."""


class Check(Enum):
    """What comparing a payload with its md5 gave."""

    GOOD = "md5 ✓"
    BAD = "md5 ✗"
    UNDECLARED = "no md5"


@dataclass(frozen=True, slots=True)
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
    """The records of one file. Grows by `apply`; everything else reads."""

    def __init__(self, path: str, source: ByteSource) -> None:
        self.path = path
        self.source = source
        self.columns = Columns()
        self.kinds: list[Kind] = []
        self.contexts: list[Context] = []
        self.members: list[array[int]] = []
        """Context → its records."""
        self.damage: list[Damage] = []
        self.scanned = 0
        self.finished = False

    def __len__(self) -> int:
        return len(self.columns)

    def apply(self, batch: Batch) -> None:
        """Take over what one step of the scan found."""
        self.columns.extend(batch.columns)
        for record, size in batch.resized.items():
            self.columns.size[record] = size
        self.kinds.extend(batch.kinds)
        self.contexts.extend(batch.contexts)
        for context, records in batch.members.items():
            while len(self.members) <= context:
                self.members.append(array("I"))
            self.members[context].extend(records)
        self.damage.extend(batch.damage)
        self.scanned = batch.scanned
        self.finished = batch.finished

    def kind(self, record: int) -> Kind:
        """What the record is."""
        return self.kinds[self.columns.kind[record]]

    def context(self, record: int) -> Context:
        """Whose the record is."""
        return self.contexts[self.columns.context[record]]

    def head(self, record: int) -> bytes:
        """The stored first line: prefix and envelope. Raises OSError."""
        return self.source.read(self.columns.offset[record], self.columns.head[record])

    def prefix(self, record: int) -> Prefix | None:
        """What stands before the envelope; None for lines that are no records."""
        size = min(self.columns.head[record], 4096)
        match = PREFIX.match(self.source.read(self.columns.offset[record], size))
        return parse_prefix(match) if match else None

    def envelope(self, record: int) -> dict[str, Any]:
        """The parsed envelope; {} for a damaged one."""
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
        """The value of the event key of the envelope."""
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
        return Payload(self.source, start, size, b"\t")

    def has_payload(self, record: int) -> bool:
        """Whether the envelope declares a payload or payload lines follow it."""
        return bool(self.columns.flags[record] & DECLARED) or self.columns.size[record] > 0

    def text(self, record: int, limit: int = LARGE) -> str:
        """The payload as text, up to `limit` stored bytes; '' for none."""
        payload = self.payload(record)
        if payload is None:
            return ""
        part = Payload(payload.source, payload.offset, min(payload.size, limit), payload.strip)
        return part.read().decode("utf-8", "replace")

    def check(self, record: int) -> Checked | None:
        """Compare the payload with its md5. None for a record without payload.

        Two readings are tried when the plain one does not match (trace-format §1.1): the whole file may have been converted to CRLF
        line ends; and an older torch let parent and child write into one file, so that two first lines may stand before both payloads.
        """
        payload = self.payload(record)
        declared = self.envelope(record).get("has_payload") if self.columns.flags[record] & DECLARED else None
        if payload is None and declared is None:
            return None
        if payload is None:
            empty = Payload(self.source, self.columns.offset[record], 0)
            return self._regrouped(record, str(declared)) or Checked(Check.BAD, empty, 0, 0, str(declared))
        plain = _digest(payload)
        if declared is None:
            return Checked(Check.UNDECLARED, payload, plain.size, plain.lines, "")
        wanted = str(declared).lower()
        for reading in (payload, Payload(payload.source, payload.offset, payload.size, payload.strip, crlf=True)):
            found = plain if reading is payload else _digest(reading)
            if found.md5 == wanted:
                return Checked(Check.GOOD, reading, found.size, found.lines, str(declared))
        if again := self._regrouped(record, str(declared)):
            return again
        return Checked(Check.BAD, payload, plain.size, plain.lines, str(declared))

    def _regrouped(self, record: int, declared: str) -> Checked | None:
        """The payload when two writers of one file interleaved: both first lines, then both payloads."""
        first, second = (record, record + 1) if self.columns.size[record] == 0 else (record - 1, record)
        if first < 0 or second >= len(self) or self.columns.size[first]:
            return None
        both = self.payload(second)
        if both is None or both.size > LARGE or self.context(first).pid == self.context(second).pid:
            return None
        wanted = str(self.envelope(first).get("has_payload")).lower()
        digest, end = hashlib.md5(usedforsecurity=False), 0
        for number, line in enumerate(both.source.read(both.offset, both.size).split(b"\n")):
            digest.update((b"\n" if number else b"") + line.removeprefix(b"\t"))
            end += len(line) + 1
            if digest.hexdigest() == wanted:
                break
        else:
            return None
        lo, size = (0, end - 1) if record == first else (end, max(both.size - end, 0))
        payload = Payload(both.source, both.offset + lo, size, both.strip)
        found = _digest(payload)
        if found.md5 != declared.lower():
            return None
        return Checked(Check.GOOD, payload, found.size, found.lines, declared)

    def records(self) -> Iterator[int]:
        """All records in file order."""
        return iter(range(len(self)))


@dataclass(frozen=True, slots=True)
class _Digest:
    md5: str
    size: int
    lines: int


def _digest(payload: Payload, step: int = 4 << 20) -> _Digest:
    """md5, bytes and lines of a payload, read in pieces that end at line ends."""
    digest = hashlib.md5(usedforsecurity=False)
    size, lines, at, carry, begun = 0, 1, 0, b"\n", False
    while at < payload.size:
        data = payload.source.read(payload.offset + at, min(step, payload.size - at))
        if not data:
            break
        at += len(data)
        data = carry + data
        # keep back what may be the beginning of a line end that goes on in the next piece
        keep = 0 if at >= payload.size else 3
        cut = len(data) - keep
        while keep and data[cut - 1 : cut] in (b"\n", b"\r", b"\t"):
            cut -= 1
        data, carry = data[:cut], data[cut:]
        if payload.crlf:
            data = data.replace(b"\r\n", b"\n")
            if at >= payload.size:
                data = data.removesuffix(b"\r")
        if payload.strip:
            data = data.replace(b"\n" + payload.strip, b"\n")
        if not begun:
            data, begun = data[1:], True
        size += len(data)
        lines += data.count(b"\n")
        digest.update(data)
    return _Digest(digest.hexdigest(), size, lines)
