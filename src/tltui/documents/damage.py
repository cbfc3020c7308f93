"""What of the run is damaged, and what could not be opened at all."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tltui.documents.format import plural, size_of
from tltui.documents.records import record_ref
from tltui.model.nodes import Process
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Builder, Options, TextDocument
from tltui.trace.log import Check, Log

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
        log = model.log
        known = {damage.record for damage in log.damage}
        owners = {process.pid: process for process in model.processes.values()}
        places = [(damage.offset, damage.record, damage.reason) for damage in log.damage]
        if check:
            places += [(log.columns.offset[r], r, "its payload does not match its md5") for r in _wrong(log) if r not in known]
        found += [_damaged(log, owners, *place) for place in sorted(places)]
    skipped = [SkippedFile(item.path, item.reason) for item in run.found.skipped]
    skipped += [SkippedFile(path, f"could not be read to its end: {reason}") for path, reason in run.failures.items()]
    skipped += [SkippedFile("", note) for note in run.found.notes]
    return DamageReport(1, tuple(found), tuple(skipped), run.found.others, check)


def _wrong(log: Log) -> list[int]:
    bad = []
    for record in log.records():
        if log.has_payload(record):
            checked = log.check(record)
            if checked is not None and checked.check is Check.BAD:
                bad.append(record)
    return bad


def _damaged(log: Log, owners: dict[int, Process], offset: int, record: int, reason: str) -> DamagedRecord:
    if record < 0:
        return DamagedRecord(log.path, offset, None, "", reason, "")
    kind = log.kind(record)
    owner = owners.get(log.context(record).pid) or next(iter(owners.values()), None)
    ref = str(record_ref(owner, record)) if owner else ""
    return DamagedRecord(log.path, offset, record + 1, kind.name or kind.event, reason, ref)


def damage_document(run: Run, options: Options, check: bool | None = None) -> TextDocument:
    """The page. `check` None: compare md5s if the logs are not too large for that."""
    checking = run.size <= CHECK_UP_TO if check is None else check
    report = damage_report(run, checking)
    builder = Builder("@damage", "damage", options)
    if not report.damaged and not report.skipped:
        builder.add(("Nothing is damaged.", tokens.OK))
    else:
        builder.add((plural(len(report.damaged), "damaged record"), tokens.STRONG), " in ", plural(len(run.models), "log"))
    if report.md5_checked:
        builder.add(("Every payload was read and compared with its md5.", tokens.DIM))
    else:
        size = size_of(run.size)
        builder.add((f"The payloads ({size}) were not compared with their md5s: tltui damage PATH does that.", tokens.DIM))
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
