"""What the outputs among a run's inputs tell of its end; read on as they grow."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from tltui.analyses.job_failures.found import Printed, PrintedReader, job_failures, may_tell
from tltui.analyses.job_failures.lines import TextLine
from tltui.analyses.job_failures.tracebacks import Traceback
from tltui.analyses.told import TEXT
from tltui.model.failed_in_text import OTHER_TEXT, unfinished_before
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.trace.files import Gone
from tltui.trace.log import Log

BLOCK = 1 << 20
_SENT = re.compile(r"Sending process (\d{1,9}) closing signal SIGTERM")


@dataclass(slots=True)
class _State:
    """How far an output has been read."""

    reader: PrintedReader = field(default_factory=PrintedReader)
    record: int = 0
    """The first record that was not read to its end."""
    done: int = 0
    """Bytes of it that were."""
    scanned: int = -1
    printed: Printed = field(default_factory=Printed)


_STATES: WeakKeyDictionary[Log, _State] = WeakKeyDictionary()


def printed_of(log: Log) -> Printed:
    """What one output tells, as far as it is scanned."""
    state = _STATES.setdefault(log, _State())
    if state.scanned != log.scanned:
        _read_on(log, state)
        state.printed, state.scanned = deepcopy(state.reader).close(), log.scanned
    return state.printed


def _read_on(log: Log, state: _State) -> None:
    columns = log.columns
    wanted = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    last = len(log)
    for record in range(state.record, last):
        if columns.kind[record] in wanted:
            begin = state.done if record == state.record else 0
            for lines in _lines(log, record, begin, state.reader):
                state.reader.take(lines)
    if last:  # its last record may still grow
        state.record = last - 1
        state.done = columns.size[last - 1] if columns.kind[last - 1] in wanted else 0


def _lines(log: Log, record: int, begin: int, reader: PrintedReader) -> Iterator[Iterator[TextLine]]:
    """The lines of a record that are worth a look, in blocks."""
    columns, source, context = log.columns, log.source_of(record), log.context(record)
    offset, size = columns.offset[record], columns.size[record]
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
        if reader.is_open or may_tell(data):
            yield _cut(data, offset + at, context.pid, context.rank)
        at += len(data)


def _cut(data: bytes, at: int, pid: int, rank: int | None) -> Iterator[TextLine]:
    for line in data.removesuffix(b"\n").split(b"\n"):
        yield TextLine(at, line, pid or None, rank)
        at += len(line) + 1


def outputs_of(run: Run) -> list[LogModel]:
    """The logs of a run that hold what a job printed."""
    return [model for model in run.models if model.form == TEXT]


@dataclass(frozen=True, slots=True)
class RunFailure:
    """A failure that an output tells of, and where it is in the run."""

    sentence: str
    """`rank 1 died first (exit code 1): RuntimeError: rank 1 gives up`"""
    rank: int | None
    pid: int | None
    exit: str
    """`exit code 1`, `SIGSEGV`; '' where nobody says."""
    is_first: bool
    """torchrun says that it failed before all others."""
    is_consequence: bool
    """It was ended since another process had failed: no failure of its own."""
    is_compile: bool
    """A compile failed."""
    compile: str
    """The address of the compile that it is probably about; '' for none."""
    file: str | None
    """The innermost line of the user's own."""
    line: int | None
    function: str | None
    means: str
    """What the line means, where it is no exception."""
    host: str
    time: str
    log: str
    """The output that tells of it."""
    offset: int
    """Bytes from its beginning."""
    is_deadly: bool
    """Whether a process or a compile ends by it: an exception in a thread ends neither."""


def run_failures(run: Run) -> tuple[RunFailure, ...]:
    """The failures that the outputs of a run tell of, the first one first."""
    models = outputs_of(run)
    printed = [printed_of(model.log) for model in models]
    told = []
    for failure in job_failures(printed, {pid for model in models for pid in _ended_by_torchrun(model.log)}):
        model = models[failure.output]
        owner = None if failure.traceback is None else probable_compile(run, model, failure.traceback)
        deadly = failure.traceback is None or failure.traceback.is_deadly or failure.is_first
        told.append(RunFailure(
            failure.sentence, failure.rank, failure.pid, failure.exit, failure.is_first, failure.is_consequence,
            failure.is_compile, str(owner.ref) if owner else "", failure.file, failure.line, failure.function, failure.means,
            failure.host, failure.time, model.log.path, failure.offset, deadly,
        ))  # fmt: skip
    return tuple(told)


def _ended_by_torchrun(log: Log) -> Iterator[int]:
    """The pids of workers that torchrun ended, as its own log says (`torch/distributed/elastic/multiprocessing/api.py`)."""
    wanted = {number for number, kind in enumerate(log.kinds) if kind.event == "log" and "elastic" in kind.name}
    if wanted:
        for record, number in enumerate(log.columns.kind):
            if number in wanted and (match := _SENT.search(log.text(record, 1 << 12))):
                yield int(match[1])


def told_first(run: Run) -> tuple[RunFailure, ...]:
    """Those that no trace tells of: what it says of a failed compile is not said again. Who died first is told all the same."""
    found = run_failures(run)
    failed = {str(own.ref) for own in run.compiles() if own.facts.failed and own.facts.traced} if found else set()
    return tuple(item for item in found if item.is_first or item.compile not in failed)


def traceback_of(run: Run, failure: RunFailure) -> Traceback | None:
    """The traceback that a failure was told by."""
    logs = [model.log for model in outputs_of(run) if model.log.path == failure.log]
    return next((item for log in logs for item in printed_of(log).tracebacks if item.offset == failure.offset), None)


def own_failures(found: Sequence[RunFailure]) -> list[RunFailure]:
    """Those that are failures of their own, and that ended a process or a compile."""
    return [item for item in found if not item.is_consequence and item.is_deadly]


def probable_compile(run: Run, model: LogModel, traceback: Traceback) -> Compile | None:
    """The compile that a failed one's traceback is probably about: the last of the process that was seen before it and that has no
    end. The text does not say."""
    if not traceback.is_compile:
        return None
    record = bisect_left(model.log.columns.offset, traceback.offset)
    owner = unfinished_before(model.log, model.owner, record, traceback.pid, traceback.rank)
    return None if owner is None else run.joining.home(model, owner.records[0])[0]
