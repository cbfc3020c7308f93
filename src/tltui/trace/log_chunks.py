"""Chunks of a log that are scanned apart by other processes, cut where a record begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tltui.text.payload import ByteSource
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes, Identity
from tltui.trace.grammar import parse_line
from tltui.trace.scan import Scanner, State

PART = 8 << 20
"""Bytes of a part: little enough to be done again."""
SLICE = 4 << 20
"""Bytes that a batch is made of."""
SIGHT = 64 << 10
"""Bytes read at once to find the beginning of a record."""
LONGEST = 4 << 20
"""Bytes of a first line at a cut of which it is still found out whether it is good."""


class Part(NamedTuple):
    """A stretch of a log that is scanned by itself."""

    path: str
    identity: Identity
    begin: int
    """0, or where a record begins."""
    end: int
    """Where a record begins; of the last part of a log the size of the log: then the part ends where the last record begins."""
    is_last: bool


class Scanned(NamedTuple):
    """The scan result of a part."""

    batches: list[Batch]
    """Without `members`; their numbers begin with 0 at the part."""
    state: State


def parts_of(source: FileBytes, size: int) -> Iterator[Part]:
    """Yield the parts of a log that has `size` bytes so far. Ends where the log cannot be read."""
    assert source.identity is not None
    begin = 0
    try:
        for cut in cuts(source, size, PART):
            yield Part(source.path, source.identity, begin, cut, False)
            begin = cut
    except OSError:
        return
    yield Part(source.path, source.identity, begin, size, True)


def cuts(source: ByteSource, size: int, part: int) -> Iterator[int]:
    r"""Where a log may be cut: behind the first `\n` before a `V` in every `part` bytes. Reads a little at each. Raises OSError."""
    for edge in range(part, size, part):
        at = next_record(source, edge, min(edge + part, size))
        if at is not None:
            yield at


def next_record(source: ByteSource, begin: int, end: int) -> int | None:
    r"""Return the first offset after `begin` at which a line begins with `V`, up to the byte before `end`. Raises OSError."""
    at = begin
    while at + 1 < end:
        data = source.read(at, min(SIGHT, end - at))
        at_v = data.find(b"\nV")
        if at_v >= 0:
            return at + at_v + 1
        if len(data) < min(SIGHT, end - at):
            return None
        at += len(data) - 1
    return None


def last_record(source: ByteSource, begin: int, end: int) -> int | None:
    r"""Return the last such offset. Raises OSError."""
    stop = end
    while stop > begin + 1:
        start = max(stop - SIGHT, begin)
        at_v = source.read(start, stop - start).rfind(b"\nV")
        if at_v >= 0:
            return start + at_v + 1
        if start == begin:
            return None
        stop = start + 1
    return None


def scan(part: Part) -> Scanned | None:
    """Scan a part; None where the scan depends on the bytes before it. Raises OSError."""
    source = FileBytes(part.path)
    source.identity = part.identity
    end = last_record(source, part.begin, part.end) if part.is_last else part.end
    if end is None or (part.begin and not _begins_well(source, part.begin, end)):
        return None
    scanner = Scanner(source, part.begin)
    batches: list[Batch] = []
    while scanner.reached < end:
        batch = scanner.step(SLICE, False, end)
        if batch.waiting:
            return None  # it has become shorter
        batch.members.clear()
        batches.append(batch)
    return Scanned(batches, scanner.state) if batches else None


def _begins_well(source: ByteSource, begin: int, end: int) -> bool:
    """Return whether the line at a cut is a record as torch writes it. The end of a line with NULs is known to the scanner only."""
    line, at = b"", begin
    while at < min(end, begin + LONGEST):
        data = source.read(at, min(SIGHT, end - at))
        eol = data.find(b"\n")
        line += data if eol < 0 else data[:eol]
        if eol >= 0:
            return b"\x00" not in line and parse_line(line)[2] is not None
        if not data:
            return False
        at += len(data)
    return False
