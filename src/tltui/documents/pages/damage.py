"""What of the run is damaged, and what could not be opened at all."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tltui.documents.format import plural, size_of
from tltui.documents.pages.records import record_ref
from tltui.model.artifacts import artifact_name
from tltui.model.nodes import LogModel
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Builder, Options, TextDocument
from tltui.trace.batch import Damage
from tltui.trace.log import Check, Log
from tltui.trace.scan import NO_PAYLOAD

CHECK_UP_TO = 256 << 20
"""Bytes of logs up to which the page compares all md5s by itself."""


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """One damaged place."""

    file: str
    offset: int
    """Bytes from the beginning of the file."""
    record: int | None
    """Number in its log, from 1."""
    name: str
    reason: str
    ref: str


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """One file that was not opened."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class DamageReport:
    """All of it. `schema` changes when a field changes its meaning."""

    schema: int
    damaged: tuple[DamagedRecord, ...]
    skipped: tuple[SkippedFile, ...]
    others: int
    """Further files that are no logs."""
    md5_checked: bool


def damage_report(run: Run, check: bool) -> DamageReport:
    """Collect what the scan noticed; with `check` read every payload and compare its md5 as well."""
    found: list[DamagedRecord] = []
    for model in run.models:
        places = list(model.log.damage)
        if check:
            places = _checked(model.log, places)
        found += [_damaged(model, place) for place in sorted(places)]
    skipped = [SkippedFile(item.path, item.reason) for item in run.found.skipped]
    skipped += [SkippedFile(path, f"could not be read to its end: {reason}") for path, reason in run.failures.items()]
    skipped += [SkippedFile("", note) for note in run.found.notes]
    return DamageReport(1, tuple(found), tuple(skipped), run.found.others, check)


def _checked(log: Log, places: list[Damage]) -> list[Damage]:
    """The places that the scan noticed and those of payloads that do not match their md5s."""
    known = {place.record: number for number, place in enumerate(places)}
    for record in log.records():
        if not log.has_payload(record):
            continue
        try:
            checked = log.check(record)
        except OSError as error:
            places.append(Damage(log.columns.offset[record], record, f"cannot be read: {error.strerror or error}"))
            continue
        good = checked is not None and checked.check is not Check.BAD
        if good and record in known and places[known[record]].reason == NO_PAYLOAD:
            reason = "two writers interleaved: its payload stands behind the next record's first line"
            places[known[record]] = places[known[record]]._replace(reason=reason)
        elif not good and record not in known:
            last = record == len(log) - 1
            reason = "its payload does not match its md5" + ": the log may end inside of it" * last
            places.append(Damage(log.columns.offset[record], record, reason))
    return places


def _damaged(model: LogModel, place: Damage) -> DamagedRecord:
    log, record = model.log, place.record
    if record < 0:
        return DamagedRecord(log.path, place.offset, None, "", place.reason, "")
    kind, owner = log.kind(record), model.owner(record).process
    name = artifact_name(kind)
    return DamagedRecord(log.path, place.offset, record + 1, name, place.reason, str(record_ref(owner, record)))


def damage_document(run: Run, options: Options, check: bool | None = None) -> TextDocument:
    """The page. `check` None: compare md5s if the logs are not too large for that."""
    checking = run.size <= CHECK_UP_TO if check is None else check
    report = damage_report(run, checking)
    builder = Builder("@damage", "damage", options)
    if not report.damaged and not report.skipped:
        builder.add(("Nothing is damaged.", tokens.OK))
    else:
        damaged = plural(len(report.damaged), "damaged record")
        builder.add((damaged, tokens.STRONG), " in ", plural(len(run.models), "log"))
    if report.md5_checked:
        builder.add(("Every payload was read and compared with its md5.", tokens.DIM))
    else:
        unread = f"The payloads ({size_of(run.size)}) were not compared with their md5s: tltui damage PATH does that."
        builder.add((unread, tokens.DIM))
    by_file: dict[str, list[DamagedRecord]] = {}
    for item in report.damaged:
        by_file.setdefault(item.file, []).append(item)
    for path, items in by_file.items():
        builder.heading(os.path.basename(path))
        builder.add((f"  {path}", tokens.DIM))
        for item in items:
            number = f"record {item.record}" if item.record else "—"
            builder.add(
                (f"  byte {item.offset:>12,}  ", tokens.DIM),
                (f"{number:<14}", tokens.LINK, item.ref) if item.ref else f"{number:<14}",
                f"{item.name}  ",
                (item.reason, tokens.WARN),
            )
    if report.skipped or report.others:
        builder.heading("Not opened")
        for skipped in report.skipped:
            builder.add("  ", f"{skipped.file}  " if skipped.file else "", (skipped.reason, tokens.WARN))
        if report.others:
            are = "file is" if report.others == 1 else "files are"
            builder.add((f"  {report.others} further {are} no log", tokens.DIM))
    return builder.document(report)
