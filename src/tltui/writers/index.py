"""Saved indexes: logs as bytes, and many of them as one file."""

from __future__ import annotations

import math
import os
import socket
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tltui import __version__
from tltui.inputs.forms import TRACE, scanner_of
from tltui.inputs.index import writer
from tltui.inputs.index.format import BadIndex, Keep, keep, pack_extents
from tltui.inputs.index.indexed_log import EXTENTS, RECORDS, IndexScanner, SavedLog, check_log, opened
from tltui.inputs.index.scan_records import Saved, pack_records, together
from tltui.model.artifacts import artifact_name, is_artifact
from tltui.model.kinds import Phase, kind_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Process
from tltui.model.ref import BadAddress
from tltui.model.run import Run, settle
from tltui.questions.hang.open_phases import last_record
from tltui.questions.ranks.compile_facets import course_of, phases_of, times_of
from tltui.questions.ranks.lanes import inside_of, left_in, pack_course, pack_phases, pack_times
from tltui.questions.ranks.rank_course import Times, steps_in
from tltui.sources.discover import Found
from tltui.sources.discovery_results import FoundLog
from tltui.sources.file_writers import Writers
from tltui.sources.saved_indexes import ends_of
from tltui.trace.batch import Batch, Kind
from tltui.trace.files import FileBytes
from tltui.trace.scan import STEP, Scanner
from tltui.writers.bundle import Bundle, local_names
from tltui.writers.redact.redact import Names

LONGEST = 1 << 20
"""Maximum stored bytes of a payload in an index."""
NO_TRACE = "an index contains only traces. Give this path next to the index to open both"
CODE = frozenset(("fx", "ir", "cpp", "python", "bytecode"))
"""Languages of texts that pages of one compile show, and no page of a whole run reads, but for these:"""
READ = frozenset(("dynamo_output_graph", "compiled_autograd_graph", "optimize_ddp_split_graph"))


def settled(logs: Sequence[FoundLog]) -> list[FoundLog]:
    """Return these logs, finished ones marked as such, after one scan of this machine's processes."""
    writers, files = Writers(), {}
    for log in logs:
        try:
            files[log.path] = os.stat(log.path)
        except OSError:
            continue  # whoever reads it says so
    over = writers.abandoned(files)
    over |= writers.ended({path: status for path, status in files.items() if path not in over})
    return [replace(log, is_final=log.is_final or log.path in over) for log in logs]


def to_index(discovered: Found, target: str) -> list[FoundLog]:
    """Return the logs of the index `target`, in their order there.

    Logs that only an older `target` has are dropped: that file only makes the new one faster.
    """
    indexed = () if discovered.crowd is None else [process.log for process in discovered.crowd.saved]
    logs = dict.fromkeys((*discovered.logs, *indexed))
    return sorted((log for log in logs if log.is_here or log.index != target), key=lambda log: (log.name, log.path, log.number))


def new_key() -> bytes:
    """Return a random key for the numbers of one redacted index. It is stored nowhere."""
    return os.urandom(32)


def host_of(key: bytes = b"", host: str = "") -> str:
    """Return the name of this machine, or `host`, in an index; redacted if there is a key."""
    name = host or socket.gethostname()
    return Names({}, key).anon(name) if key else name


def log_part(log: FoundLog, lean: bool = False, key: bytes = b"") -> bytes:
    """Return the index of one log. `lean`: without the texts that pages show.

    With a `key` (`new_key`, the same for all logs of an index) it is redacted: equal to the index of the log after
    `tltui bundle --redact`. If an index has the beginning of the log (`FoundLog.index`), only new bytes are read; an unchanged or
    absent log is copied from it. Raises OSError.
    """
    if log.form != TRACE:
        raise OSError(None, NO_TRACE)
    if not log.is_here:
        if key and not opened(log.index).logs[log.number].is_redacted:
            raise OSError(None, "the log exists only in an index that is not redacted. Give the directory of the log")
        try:
            check_log(opened(log.index), log.number)
        except BadIndex as bad:
            raise BadIndex(f"in {log.index}: {bad.strerror}") from None
        return writer.one_log(opened(log.index), log.number)
    if key:
        return _redacted_part(log, lean, key)
    return _unchanged_part(log, lean) or _part(log, lean)


def _unchanged_part(log: FoundLog, lean: bool) -> bytes:
    """Return the part of an index that this version wrote of the same file; else b''.

    Its bytes equal those of a new scan. Raises OSError.
    """
    if not log.index:
        return b""
    status = os.stat(log.path)
    try:
        index = opened(log.index)
        saved = index.logs[log.number]
        recorded = (
            saved.path, saved.size, saved.changed, saved.ended, saved.rank, saved.launch, saved.started, saved.clock,
            saved.fault, saved.is_lean,
        )  # fmt: skip
        here = (
            _name(log), status.st_size, status.st_mtime_ns, log.is_final, log.rank, log.launch, log.started, log.clock,
            log.fault, lean,
        )  # fmt: skip
        if saved.is_redacted or index.written_by != __version__ or recorded != here:
            return b""
        part = writer.one_log(index, saved.number, {"host": ""})
        writer.check(part)
    except BadIndex:
        return b""
    return part


def _part(log: FoundLog, lean: bool, is_redacted: bool = False) -> bytes:
    source = log.source()
    run = Run(Found((log.path,), (log,), ()))
    saved = _scan(run, source, log)
    settle(run)
    return b"".join(_pieces(log, source, run.models[0], saved, lean, is_redacted))


def _redacted_part(log: FoundLog, lean: bool, key: bytes) -> bytes:
    """Return the index of the redacted bundle of the log, which exists only in a temporary directory."""
    run = Run(Found((log.path,), (replace(log, index="", number=0),), ()))
    _scan(run, run.models[0].source, log)
    settle(run)
    try:
        bundle = Bundle(run, (), redact=True, secrets=local_names(), key=key)
    except BadAddress as bad:
        raise OSError(None, str(bad)) from None
    assert bundle.redactor is not None
    with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
        path = os.path.join(directory, "redacted.log")
        with open(path, "wb") as file:
            file.writelines(bundle.pieces(bundle.parts[0]))
        changed = os.stat(log.path).st_mtime_ns
        os.utime(path, ns=(changed, changed))
        label = bundle.redactor.path(_name(log))
        fault = "it was incomplete" if log.fault else ""
        size = os.path.getsize(path)
        return _part(FoundLog(path, size, log.rank, log.launch, log.started, log.ended, log.clock, label=label,
                              is_final=log.is_final, fault=fault), lean, True)  # fmt: skip


def _name(log: FoundLog) -> str:
    """Return the name of a log in an index."""
    return log.label or os.path.abspath(log.path)


merged = writer.merged


def _scan(run: Run, source: FileBytes, log: FoundLog) -> Saved:
    """Read the log as far as it is written; to its end if it is finished."""
    scanner = scanner_of(TRACE, source)
    assert isinstance(scanner, Scanner | IndexScanner)
    batches: list[Batch] = []
    while not batches or not batches[-1].waiting:
        batches.append(scanner.step(STEP, False))
        run.apply(0, batches[-1])
    state, main = scanner.state, together(batches)
    last: list[Batch] = []
    while log.is_final and not (last and last[-1].finished):
        last.append(scanner.step(STEP, True))
        run.apply(0, last[-1])
    return Saved(main, state, together(last, state.records, main.kinds) if last else None)


def _pieces(log_file: FoundLog, source: FileBytes, model: LogModel, saved: Saved, lean: bool, is_redacted: bool) -> Iterator[bytes]:
    log = model.log
    pool: dict[bytes, bytes] = {}
    sections = {RECORDS: pack_records(saved)}
    stream: list[bytes] = []
    most = [_stored_parts(kind, lean) for kind in log.kinds]
    sizes = zip(log.columns.kind, log.columns.size, strict=True)
    blobs = keep(source, log.columns, (most[kind] if size <= LONGEST else min(most[kind], Keep.LINE) for kind, size in sizes), pool)
    sections[EXTENTS], stream = pack_extents(blobs.extents), blobs.stream
    output = writer.Writer()
    yield output.begin()
    facts = {**_facts(log_file, source, saved), "redacted": is_redacted, "lean": lean}
    yield from output.log(facts, sections, stream, pool, map(_process, model.processes))
    yield from output.end()


def _facts(log: FoundLog, source: FileBytes, saved: Saved) -> dict[str, Any]:
    """Return the directory entry of a log (`SavedLog`)."""
    reached = saved.state.reached
    status = os.stat(log.path)
    head, tail = ends_of(source, reached)
    size = max(status.st_size if saved.last is None else saved.last.scanned, reached)
    return {
        "path": _name(log), "host": "", "size": size,
        "changed": status.st_mtime_ns, "head": head, "tail": tail, "reached": reached, "ended": saved.last is not None,
        "rank": log.rank, "launch": log.launch, "started": log.started, "clock": log.clock, "fault": log.fault,
        "records": saved.state.records,
    }  # fmt: skip


def _process(process: Process) -> dict[str, Any]:
    """Return the directory entry of a process (`SavedProcess`)."""
    course, times = course_of(process), _times(process)
    last = last_record(process) if process.is_traced else None
    return {
        "rank": process.rank, "pid": process.pid, "twin": process.twin, "forked": process.inherits,
        "launch": process.launch, "started": process.started,
        "dated": process.is_dated, "traced": process.is_traced, "last": last if last is not None and math.isfinite(last) else None,
        "inside": inside_of(process), "doing": left_in(process), "compiles": len(course.steps), "records": process.records,
        "course": (course.digest, pack_course(course)), "times": pack_times(times), "phases": pack_phases(times),
    }  # fmt: skip


def _times(process: Process) -> Times:
    """Return the times of a process, with the phases of all compiles."""
    times, steps = times_of(process), steps_in(process)
    phases: dict[str, array[float]] = {}
    for place, (compile_, _, _) in enumerate(steps):
        for name, seconds in phases_of(compile_).items():
            if name not in phases:
                phases[name] = array("f", [math.nan]) * len(steps)
            phases[name][place] = seconds
    return replace(times, phases=phases)


def _stored_parts(kind: Kind, lean: bool) -> Keep:
    """Return which data of a kind of record is stored. A lean index still has the md5s of artifacts for the tree's JSON."""
    if lean:
        return Keep.MD5 if is_artifact(kind, True) else Keep.NOTHING
    kind_info = kind_of(*kind)
    is_read = artifact_name(kind) in READ or kind_info.language not in CODE or kind_info.phase in (Phase.EXPORT, Phase.VLLM)
    return Keep.ALL if is_read else Keep.LINE


__all__ = ["BadIndex", "SavedLog", "log_part", "merged", "settled"]
