"""The page `@damage`: payloads with a wrong checksum, damaged records, and files that could not be opened."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator
from dataclasses import replace

from tltui.documents.format import plural, size_of
from tltui.documents.page import Page
from tltui.documents.rank_groups import ROWS_SHOWN, add_named
from tltui.inputs.forms import TRACE
from tltui.inputs.index.indexed_log import Elsewhere, IndexBytes
from tltui.model.artifacts import artifact_name
from tltui.model.log_model import LogModel
from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import JSON_LIMIT, Reader
from tltui.model.run import Run
from tltui.questions.coverage.input_sections import add_conflicts
from tltui.questions.coverage.job_inputs import Conflict, conflicts, is_plain
from tltui.questions.question import result_of
from tltui.questions.records.records_page import record_ref
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.trace.batch import Damage
from tltui.trace.log import Check, Log
from tltui.trace.scan import NO_PAYLOAD

LAST = "last"
"""Nothing stands behind it yet that could tell how to read it: to be asked again."""
_MD5 = re.compile(rb'"has_payload": ?"([0-9a-f]{32})"\}$')


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


EVERY = 64
FIRST = 10
"""Records of one reason that have a line of their own where there are very many."""
CHECK_UP_TO = 256 << 20
"""Bytes of logs up to which the page compares all md5s by itself."""


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


def damage_report(run: Run, check: bool) -> DamageReport:
    """Return the damage that the scan noticed; with `check` every payload is compared with its md5 as well."""
    return result_of(read_damage(run, check))


def read_damage(run: Run, check: bool) -> Generator[None, None, DamageReport]:
    """Compute the report as `damage_report` does, with a pause after each piece."""
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
