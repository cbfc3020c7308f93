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
from tltui.inputs.index.indexed_log import IndexScanner, check_log, opened
from tltui.inputs.index.reader import EXTENTS, RECORDS, SavedLog
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
from tltui.writers.bundle import Bundle, known_secrets
from tltui.writers.redact.name_mapping import Names

LONGEST = 1 << 20
"""Stored bytes of the longest payload that is kept."""
NO_TRACE = "only traces go into an index; name it beside the index to open both"
CODE = frozenset(("fx", "ir", "cpp", "python", "bytecode"))
"""Languages of texts that pages of one compile show, and no page of a whole run reads, but for these:"""
READ = frozenset(("dynamo_output_graph", "compiled_autograd_graph", "optimize_ddp_split_graph"))


def settled(logs: Sequence[FoundLog]) -> list[FoundLog]:
    """These logs, those into which nobody writes any more as such. One look at the processes of this machine serves for all."""
    writers, files = Writers(), {}
    for log in logs:
        try:
            files[log.path] = os.stat(log.path)
        except OSError:
            continue  # whoever reads it says so
    over = writers.abandoned(files)
    over |= writers.ended({path: status for path, status in files.items() if path not in over})
    return [replace(log, is_final=log.is_final or log.path in over) for log in logs]


def to_index(found: Found, target: str) -> list[FoundLog]:
    """The logs that go into the index `target`, in the order in which they stand in it. What only an older `target` tells of is
    gone: that file is there to make the new one sooner."""
    told = () if found.crowd is None else [process.found for process in found.crowd.saved]
    logs = dict.fromkeys((*found.logs, *told))
    return sorted((log for log in logs if log.is_here or log.index != target), key=lambda log: (log.name, log.path, log.number))


def new_key() -> bytes:
    """What makes the numbers of one redacted index. It is kept nowhere."""
    return os.urandom(32)


def host_of(key: bytes = b"", host: str = "") -> str:
    """What this machine, or `host`, is called in an index; redacted where there is a key."""
    name = host or socket.gethostname()
    return Names({}, key).anon(name) if key else name


def log_part(found: FoundLog, lean: bool = False, key: bytes = b"") -> bytes:
    """What an index says of a log, as an index of its own. `lean`: without the texts that pages show. With a `key` (`new_key`, the
    same for all logs of an index) it is redacted: what the log would be after `tltui bundle --redact`.

    Where an index knows the beginning of the log (`FoundLog.index`) only what has come since is read; what it says is copied where
    nothing has, and where the log is not here. Raises OSError.
    """
    if found.form != TRACE:
        raise OSError(None, NO_TRACE)
    if not found.is_here:
        if key and not opened(found.index).logs[found.number].is_redacted:
            raise OSError(None, "it is only in an index that is not redacted: give the directory of the log")
        try:
            check_log(opened(found.index), found.number)
        except BadIndex as bad:
            raise BadIndex(f"in {found.index}: {bad.strerror}") from None
        return writer.one_log(opened(found.index), found.number)
    if key:
        return _redacted_part(found, lean, key)
    return _unchanged_part(found, lean) or _part(found, lean)


def _unchanged_part(found: FoundLog, lean: bool) -> bytes:
    """What the index says that knows the log, where this tltui wrote it of the very same file; else b''. The same bytes come out as
    if the log were read. Raises OSError."""
    if not found.index:
        return b""
    status = os.stat(found.path)
    try:
        index = opened(found.index)
        own = index.logs[found.number]
        said = own.path, own.size, own.changed, own.ended, own.rank, own.launch, own.started, own.clock, own.fault, own.is_lean
        here = (
            _name(found), status.st_size, status.st_mtime_ns, found.is_final, found.rank, found.launch, found.started, found.clock,
            found.fault, lean,
        )  # fmt: skip
        if own.is_redacted or index.written_by != __version__ or said != here:
            return b""
        part = writer.one_log(index, own.number, {"host": ""})
        writer.check(part)
    except BadIndex:
        return b""
    return part


def _part(found: FoundLog, lean: bool, is_redacted: bool = False) -> bytes:
    source = found.source()
    run = Run(Found((found.path,), (found,), ()))
    saved = _scan(run, source, found)
    settle(run)
    return b"".join(_pieces(found, source, run.models[0], saved, lean, is_redacted))


def _redacted_part(found: FoundLog, lean: bool, key: bytes) -> bytes:
    """The part of the log that a redacted bundle of it is, which is never anywhere but in a directory of its own."""
    run = Run(Found((found.path,), (replace(found, index="", number=0),), ()))
    _scan(run, run.models[0].source, found)
    settle(run)
    try:
        bundle = Bundle(run, (), redact=True, secrets=known_secrets(), key=key)
    except BadAddress as bad:
        raise OSError(None, str(bad)) from None
    assert bundle.redactor is not None
    with tempfile.TemporaryDirectory(prefix="tltui-") as directory:
        path = os.path.join(directory, "redacted.log")
        with open(path, "wb") as file:
            file.writelines(bundle.pieces(bundle.parts[0]))
        changed = os.stat(found.path).st_mtime_ns
        os.utime(path, ns=(changed, changed))
        label = bundle.redactor.path(_name(found))
        fault = "it was not all there" if found.fault else ""
        size = os.path.getsize(path)
        return _part(FoundLog(path, size, found.rank, found.launch, found.started, found.ended, found.clock, label=label,
                              is_final=found.is_final, fault=fault), lean, True)  # fmt: skip


def _name(found: FoundLog) -> str:
    """What a log is called in an index."""
    return found.label or os.path.abspath(found.path)


merged = writer.merged


def _scan(run: Run, source: FileBytes, found: FoundLog) -> Saved:
    """Read the log as far as it is written; to its end where nobody writes any more."""
    scanner = scanner_of(TRACE, source)
    assert isinstance(scanner, Scanner | IndexScanner)
    batches: list[Batch] = []
    while not batches or not batches[-1].waiting:
        batches.append(scanner.step(STEP, False))
        run.apply(0, batches[-1])
    state, main = scanner.state, together(batches)
    last: list[Batch] = []
    while found.is_final and not (last and last[-1].finished):
        last.append(scanner.step(STEP, True))
        run.apply(0, last[-1])
    return Saved(main, state, together(last, state.taken, main.kinds) if last else None)


def _pieces(found: FoundLog, source: FileBytes, model: LogModel, saved: Saved, lean: bool, is_redacted: bool) -> Iterator[bytes]:
    log = model.log
    pool: dict[bytes, bytes] = {}
    sections = {RECORDS: pack_records(saved)}
    stream: list[bytes] = []
    most = [_kept_of(kind, lean) for kind in log.kinds]
    sizes = zip(log.columns.kind, log.columns.size, strict=True)
    kept = keep(source, log.columns, (most[kind] if size <= LONGEST else min(most[kind], Keep.LINE) for kind, size in sizes), pool)
    sections[EXTENTS], stream = pack_extents(kept.extents), kept.stream
    own = writer.Writer()
    yield own.begin()
    facts = {**_facts(found, source, saved), "redacted": is_redacted, "lean": lean}
    yield from own.log(facts, sections, stream, pool, map(_process, model.processes))
    yield from own.end()


def _facts(found: FoundLog, source: FileBytes, saved: Saved) -> dict[str, Any]:
    """What the directory says of a log (`SavedLog`)."""
    reached = saved.state.reached
    status = os.stat(found.path)
    head, tail = ends_of(source, reached)
    size = max(status.st_size if saved.last is None else saved.last.scanned, reached)
    return {
        "path": _name(found), "host": "", "size": size,
        "changed": status.st_mtime_ns, "head": head, "tail": tail, "reached": reached, "ended": saved.last is not None,
        "rank": found.rank, "launch": found.launch, "started": found.started, "clock": found.clock, "fault": found.fault,
        "records": saved.state.taken,
    }  # fmt: skip


def _process(process: Process) -> dict[str, Any]:
    """What the directory says of a process (`SavedProcess`)."""
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
    """The times of a process, with the phases of all compiles."""
    times, steps = times_of(process), steps_in(process)
    phases: dict[str, array[float]] = {}
    for place, (compile_, _, _) in enumerate(steps):
        for name, seconds in phases_of(compile_).items():
            if name not in phases:
                phases[name] = array("f", [math.nan]) * len(steps)
            phases[name][place] = seconds
    return replace(times, phases=phases)


def _kept_of(kind: Kind, lean: bool) -> Keep:
    """What is kept of the records of a kind. Of a lean index the tree's JSON still has the md5s of artifacts."""
    if lean:
        return Keep.MD5 if is_artifact(kind, True) else Keep.NOTHING
    known = kind_of(*kind)
    is_read = artifact_name(kind) in READ or known.language not in CODE or known.phase in (Phase.EXPORT, Phase.VLLM)
    return Keep.ALL if is_read else Keep.LINE


__all__ = ["BadIndex", "SavedLog", "log_part", "merged", "settled"]
