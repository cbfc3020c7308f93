"""The page `@records`: every record of a compile, process or rank, in file order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypedDict

from tltui.documents.format import size_of
from tltui.documents.scope import called, part_title
from tltui.model.artifacts import artifact_name
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import NO_ID, CompileId, Ref
from tltui.model.run import Node
from tltui.text import tokens
from tltui.text.document import Hit, Line, Link, Section, Span
from tltui.text.frozen import frozen
from tltui.text.lru import Lru
from tltui.text.sanitize import sanitize
from tltui.trace.log import Log

CACHED_LINES = 4096


@frozen
class RecordRow:
    """One record of a log."""

    record: int
    """Its number in its log, from 1."""
    file: str
    """The log."""
    offset_bytes: int
    """Its offset in bytes."""
    time: str | None
    """The time in the log: `MM-DD HH:MM:SS.micros`, local time of the job."""
    pid: int
    """The process that wrote it."""
    id: str
    """The compile id, as torch prints it."""
    attempt: int | None
    """The attempt."""
    event: str
    """The kind of record."""
    name: str
    """The name of an artifact."""
    site: str | None
    """The line of torch that wrote it."""
    envelope_bytes: int
    """Bytes of its first line."""
    payload_bytes: int
    """Bytes of its payload."""


class Records(TypedDict):
    """The records of a part of a run, in file order."""

    records: list[RecordRow]


@frozen
class _Slice:
    """Consecutive lines of the document that come from one log."""

    log: Log
    process: Process
    records: Sequence[int]
    start: int


class RecordsDocument:
    """The records of a node as a `Document`."""

    language = ""
    badge = ""
    complete = True

    def __init__(self, ref: Ref, title: str, parts: Sequence[tuple[Process, Sequence[int]]]) -> None:
        self.ref = str(ref.at("records"))
        self.title = sanitize(title)
        self.version = 0
        self._slices: list[_Slice] = []
        total = 0
        for process, records in parts:
            self._slices.append(_Slice(process.log, process, records, total))
            total += len(records)
        self._length = total
        self._lines: Lru[int, Line] = Lru(CACHED_LINES)

    def __len__(self) -> int:
        return self._length

    def _at(self, n: int) -> tuple[_Slice, int]:
        for part in reversed(self._slices):
            if n >= part.start:
                return part, part.records[n - part.start]
        raise IndexError(n)

    def row(self, n: int) -> RecordRow:
        """Return the record of line `n`."""
        part, record = self._at(n)
        log = part.log
        kind, context, prefix = log.kind(record), log.context(record), log.prefix(record)
        return RecordRow(
            record + 1,
            *log.place(record),
            f"{prefix.month:02}-{prefix.day:02} {prefix.time}" if prefix else None,
            context.pid,
            self._id(part.process, record).address,
            context.attempt,
            kind.event,
            artifact_name(kind),
            f"{prefix.path}:{prefix.line}" if prefix else None,
            log.columns.head[record],
            log.columns.size[record],
        )

    @staticmethod
    def _id(process: Process, record: int) -> CompileId:
        if process.epochs > 1 and (owner := process.owner(record)) is not None:
            return owner.id
        context = process.log.context(record)
        return CompileId(context.autograd, context.frame, context.compile, name=context.name)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        full = self._lines.get(n)
        if full is None:
            full = self._draw(n)
            self._lines.put(n, full, 1)
        if lo == 0 and hi is None:
            return full
        return Line(full.text[lo:hi], full.spans, full.links, lo)

    def _draw(self, n: int) -> Line:
        part, record = self._at(n)
        row = self.row(n)
        id_ = self._id(part.process, record)
        place = "" if id_ == NO_ID else id_.bracketed
        if row.attempt and not id_.name:
            place = f"{place.removesuffix(']')}_{row.attempt}]"
        time = (row.time or "").partition(" ")[2][:12]
        columns = (
            (f"{row.record:>7}", tokens.DIM),
            (f"{time:<12}", tokens.DIM),
            (f"{place:<9}", tokens.VALUE),
            (f"{size_of(row.payload_bytes) if row.payload_bytes else '':>8}", tokens.NUMBER),
            (sanitize(row.name), tokens.NAME),
            (sanitize(row.site or ""), tokens.DIM),
        )
        text, spans, links = "", [], []
        for value, style in columns:
            start = len(text)
            text += value + "  "
            spans.append(Span(start, start + len(value), style))
            if style == tokens.NAME:
                links.append(Link(start, start + len(value), str(record_ref(part.process, record))))
        return Line(text.rstrip(), tuple(spans), tuple(links))

    def length(self, n: int) -> int:
        return len(self.line(n).text)

    def width(self) -> int:
        return 160

    def advance(self, size: int = 0) -> bool:
        return True

    def sections(self) -> Sequence[Section]:
        return ()

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit]:
        for n in range(start, -1, -1) if back else range(start, self._length):
            hits = [Hit(n, m.start(), m.end()) for m in pattern.finditer(self.line(n).text) if m.end() > m.start()]
            yield from reversed(hits) if back else hits

    def anchor(self, n: int) -> str:
        part, record = self._at(n)
        return f"{part.log.path}#{record + 1}"

    def where(self, anchor: str) -> int | None:
        if anchor.isdigit():
            return int(anchor) - 1 if 0 < int(anchor) <= self._length else None
        path, _, number = anchor.rpartition("#")
        for part in self._slices:
            if part.log.path == path and int(number) - 1 in part.records:
                return part.start + part.records.index(int(number) - 1)
        return None

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        for n in range(lo, self._length if hi is None else min(hi, self._length)):
            yield self._draw(n).text

    def data(self) -> object | None:
        return Records(records=[self.row(n) for n in range(self._length)])


def record_ref(process: Process, record: int) -> Ref:
    """Return the address of the page of one record."""
    return Ref(process.ref.rank, process.number, view="record", n=record + 1)


def records_document(node: Node | None, processes: Sequence[Process], ref: Ref) -> RecordsDocument:
    """Return the records of a compile, frame, process or rank; of the run for None."""
    if isinstance(node, (Compile, Frame)):
        compiles = [node] if isinstance(node, Compile) else node.compiles
        records = sorted(record for compile_ in compiles for record in compile_.records)
        return RecordsDocument(ref, f"records of {called(node)}", [(node.process, records)])
    owners = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else processes
    of = part_title(node) if isinstance(node, (Process, Rank)) else ""
    return RecordsDocument(ref, f"records of {of}" if of else "records", [_all_of(owner) for owner in owners])


def _all_of(process: Process) -> tuple[Process, Sequence[int]]:
    """Return all records of a process: those of its log, unless another process wrote into it as well."""
    if process.records == len(process.log):
        return process, range(len(process.log))
    return process, sorted(record for compile_ in process.compiles.values() for record in compile_.records)
