"""The pages `@records` (every record of a compile, process or rank, in file order) and `@damage` (damaged records and payloads)."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import TypedDict

from tltui.documents.format import plural, size_of
from tltui.documents.page import Page
from tltui.documents.rank_groups import ROWS_SHOWN, add_named
from tltui.documents.scope import called, part_title
from tltui.inputs.forms import TRACE
from tltui.inputs.index.indexed_log import Elsewhere, IndexBytes
from tltui.model.artifacts import artifact_name
from tltui.model.log_model import LogModel
from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.record_reader import JSON_LIMIT, Reader
from tltui.model.ref import NO_ID, CompileId, Ref
from tltui.model.run import Node, Run
from tltui.questions.coverage.input_sections import add_conflicts
from tltui.questions.coverage.job_inputs import Conflict, conflicts, is_plain
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Hit, Line, Link, Options, Piece, Section, Span
from tltui.text.frozen import frozen
from tltui.text.lru import Lru
from tltui.text.sanitize import sanitize
from tltui.trace.batch import Damage
from tltui.trace.log import Check, Log
from tltui.trace.scan import NO_PAYLOAD

CACHED_LINES = 4096
LAST = "last"
"""The bytes behind it do not show yet how to read it: look again later."""
_MD5 = re.compile(rb'"has_payload": ?"([0-9a-f]{32})"\}$')

EVERY = 64
FIRST = 10
"""Records of one reason that have a line of their own where there are very many."""
CHECK_UP_TO = 256 << 20
"""Bytes of logs up to which the page compares all md5s by itself."""


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


@frozen
class DamagedRecord:
    """One damaged place."""

    file: str
    offset_bytes: int
    """Bytes from the beginning of the file."""
    record: int | None
    """Number in its log, from 1."""
    name: str
    reason: str
    ref: str


@frozen
class SkippedFile:
    """One file that was not opened."""

    file: str
    reason: str


@frozen
class DamageReport:
    """Damage of a run."""

    damaged: tuple[DamagedRecord, ...]
    skipped: tuple[SkippedFile, ...]
    other_files: int
    """Further files that are no logs."""
    md5_checked: bool
    conflicts: tuple[Conflict, ...] = ()
    """What several inputs of one job tell differently."""


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
        for piece in reversed(self._slices):
            if n >= piece.start:
                return piece, piece.records[n - piece.start]
        raise IndexError(n)

    def row(self, n: int) -> RecordRow:
        """Return the record of line `n`."""
        piece, record = self._at(n)
        log = piece.log
        kind, context, prefix = log.kind(record), log.context(record), log.prefix(record)
        return RecordRow(
            record + 1,
            *log.place(record),
            f"{prefix.month:02}-{prefix.day:02} {prefix.time}" if prefix else None,
            context.pid,
            self._id(piece.process, record).address,
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
        piece, record = self._at(n)
        row = self.row(n)
        id_ = self._id(piece.process, record)
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
                links.append(Link(start, start + len(value), str(record_ref(piece.process, record))))
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
        piece, record = self._at(n)
        return f"{piece.log.path}#{record + 1}"

    def where(self, anchor: str) -> int | None:
        if anchor.isdigit():
            return int(anchor) - 1 if 0 < int(anchor) <= self._length else None
        path, _, number = anchor.rpartition("#")
        for piece in self._slices:
            if piece.log.path == path and int(number) - 1 in piece.records:
                return piece.start + piece.records.index(int(number) - 1)
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


def damage_document(run: Run, options: Options, check: bool | None = None) -> Document:
    """Return the page. `check` None: compare md5s if the logs are not too large for that."""
    checking = run.size <= CHECK_UP_TO if check is None else check
    options = replace(options, goes_on=run.goes_on)

    def fill(page: Page) -> Generator[None, None, DamageReport]:
        report = yield from read_damage(run, checking)
        yield from _fill(page, run, report)
        return report

    return GrowingDocument("@damage", "damage", options, fill, Page)


def _fill(page: Page, run: Run, report: DamageReport) -> Generator[None, None, None]:
    if not report.damaged and report.conflicts:
        page.add((page.so_far("No record is damaged, but the inputs disagree."), tokens.STRONG))
    elif not report.damaged:
        subject = "No record" if report.skipped else "Nothing"
        page.add((page.so_far(f"{subject} is damaged."), tokens.OK))
    else:
        damaged = plural(len(report.damaged), "damaged record")
        page.add((damaged, tokens.STRONG), " in ", plural(len(run.models), "log"))
    if not any(model.form == TRACE for model in run.models):
        pass  # only a trace states md5s
    elif report.md5_checked:
        of = "" if is_plain(run) else " of a trace"
        is_from_index = any(isinstance(model.source, IndexBytes) for model in run.models)
        page.add((f"Every payload{' in the index' * is_from_index}{of} was read and compared with its md5.", tokens.DIM))
    else:
        unread = f"The payloads ({size_of(run.size)}) were not compared with their md5s. To compare them:"
        page.say(f"{unread} tltui damage {page.options.path}", "", tokens.DIM)
    by_file: dict[str, list[DamagedRecord]] = {}
    for item in report.damaged:
        by_file.setdefault(item.file, []).append(item)
    for path, items in by_file.items():
        page.heading(os.path.basename(path))
        page.add((f"  {path}", tokens.DIM))
        if len(items) <= ROWS_SHOWN:
            for item in items:
                _row(page, item)
        else:
            yield from _by_reason(page, items)
    _incomplete(page, run)
    add_conflicts(page, report.conflicts)
    if report.skipped or report.other_files:
        page.heading("Not opened")
        for skipped in report.skipped:
            page.row([f"{skipped.file}  " if skipped.file else "", (skipped.reason, tokens.WARN)])
        if report.other_files:
            are = "file is not a log" if report.other_files == 1 else "files are not logs"
            page.add((f"  {report.other_files} more {are}", tokens.DIM))


def _incomplete(page: Page, run: Run) -> None:
    """Add places that may be no damage: a record that is being written, bytes that were replaced since they were read."""
    for path, tail in run.tails:
        page.heading(os.path.basename(path))
        text = f"incomplete record at the end: {size_of(tail.size)} from byte {tail.offset:,}"
        page.say(f"{text}. {page.goes_on[:1].upper()}{page.goes_on[1:]}.", "  ", tokens.DIM)
    for path, reason in run.lost:
        page.heading(os.path.basename(path))
        page.say(f"The data read earlier from {path} is {reason}. The file now contains another process.", "  ", tokens.WARN)


def _row(page: Page, item: DamagedRecord, indent: str = "  ") -> None:
    number = f"record {item.record}" if item.record else "—"
    where: Piece = (f"{number:<14}", tokens.LINK, item.ref) if item.ref else f"{number:<14}"
    page.row([(f"byte {item.offset_bytes:>12,}  ", tokens.DIM), where, f"{item.name}  ", (item.reason, tokens.WARN)], indent)


def _by_reason(page: Page, items: list[DamagedRecord]) -> Generator[None, None, None]:
    """Add the damaged records of a file by reason: the first few with a line each, all others as links."""
    groups: dict[str, list[DamagedRecord]] = {}
    for item in items:
        groups.setdefault(item.reason, []).append(item)
    for reason, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        page.add("  ", (f"{len(members):,}×  ", tokens.STRONG), (reason, tokens.WARN))
        for item in members[:FIRST]:
            _row(page, item, "    ")
        if rest := members[FIRST:]:
            links = [(f"{item.record or item.offset_bytes}", tokens.LINK, item.ref) for item in rest]
            yield from add_named(page, plural(len(rest), "more record"), [], links, "    ")


def read_damage(run: Run, check: bool) -> Generator[None, None, DamageReport]:
    """Find the damage that the scan noticed; with `check` compare every payload with its md5 as well. Yields after each part."""
    damaged: list[DamagedRecord] = []
    for model in run.models:
        places = list(model.log.damage)
        if check:
            yield from _check(model, places)
        for n, place in enumerate(sorted(places)):
            damaged.append(_damaged(run, model, place))
            if n % EVERY == EVERY - 1:
                yield
    skipped = [SkippedFile(item.path, item.reason) for item in run.discovered.skipped]
    skipped += [SkippedFile(path, f"could not be read completely: {reason}") for path, reason in run.failures.items()]
    skipped += [SkippedFile("", note) for note in run.discovered.notes]
    differing = []
    for conflict in conflicts(run):
        if conflict is None:
            yield
        else:
            differing.append(conflict)
    return DamageReport(tuple(damaged), tuple(skipped), run.discovered.others, check, tuple(differing))


def _check(model: LogModel, places: list[Damage]) -> Generator[None, None, None]:
    """Add the places of payloads that do not match their md5s to those that the scan noticed."""
    log = model.log
    damaged_records = {place.record for place in places if place.record >= 0}
    for n, place in enumerate(places):
        if place.reason == NO_PAYLOAD and log.has_payload(place.record) and _is_good(log, place.record):
            reason = "two writers interleaved: the payload comes after the first line of the next record"
            places[n] = place._replace(reason=reason)
        if n % EVERY == EVERY - 1:
            yield
    asked = 0
    for process in model.processes:
        for compile_ in process.compiles.values():
            for record, why in wrong_payloads(compile_):
                if record in damaged_records and not why.startswith("cannot"):
                    continue
                if why == LAST and _is_good(log, record):
                    continue
                last = record == len(log) - 1
                mismatch = "its payload does not match its md5" + ": the log may end in the middle of it" * last
                places.append(Damage(log.columns.offset[record], record, mismatch if why in ("", LAST) else why))
            asked += 1
            if asked % EVERY == 0:
                yield


def _is_good(log: Log, record: int) -> bool:
    try:
        checked = log.check(record)
    except OSError:
        return False
    return checked is not None and checked.check is not Check.BAD


def _damaged(run: Run, model: LogModel, place: Damage) -> DamagedRecord:
    log, record = model.log, place.record
    if record < 0:
        return DamagedRecord(log.path, place.offset, None, "", place.reason, "")
    owner, number = run.joining.home(model, record)
    name = artifact_name(log.kind(record))
    return DamagedRecord(log.path, place.offset, record + 1, name, place.reason, str(record_ref(owner.process, number)))


@part
def wrong_payloads(compile_: Compile, reader: Reader) -> tuple[tuple[int, str], ...]:
    """Return (record, why) of the records of a compile whose payload does not match its md5; why: unreadable, `LAST`, or ''."""
    log = compile_.process.log
    end = len(log) - 1
    wrong = []
    for record in sorted(compile_.records):
        if not log.has_payload(record) or _is_plain(reader, record):
            continue
        try:
            checked = log.check(record)
        except Elsewhere:
            continue  # its bytes are in a log that is not here
        except OSError as error:
            wrong.append((record, f"cannot be read: {error.strerror or error}"))
            continue
        if checked is None or checked.check is Check.BAD:
            wrong.append((record, LAST if record == end else ""))
    return tuple(wrong)


def _is_plain(reader: Reader, record: int) -> bool:
    """Return whether the md5 is that of the stored payload, as for nearly all: neighbours are read together."""
    size = reader.log.columns.size[record]
    if not 0 < size <= JSON_LIMIT:
        return False
    try:
        declared = _MD5.search(reader.head(record)[-80:])
        if declared is None:
            return False
        text = reader.payload(record)
    except OSError:
        return False
    return hashlib.md5(text, usedforsecurity=False).hexdigest().encode() == declared[1]
