"""Output of a job without a compile: its size, and whether torch's compiler is in it at all."""

from __future__ import annotations

from tltui.documents import format as fmt
from tltui.model.input_coverage import TEXT
from tltui.model.run import Run
from tltui.questions.job_failures.job_failures import is_of_compiler, outputs_of, printed_of
from tltui.trace.files import Gone
from tltui.trace.log import Log

COUNTED = 256 << 20
"""Bytes of an output whose lines are counted; of a larger one the size is given."""
BLOCK = 1 << 20


def has_only_output(run: Run) -> bool:
    """Return whether a run consists of text logs without any compile."""
    return bool(run.models) and all(model.form == TEXT for model in run.models) and not run.tally.compiles


def has_torch(run: Run) -> bool:
    """Return whether the output of a run has a log message of torch or an exception of its compiler."""
    if any(process.records for process in run.processes()):
        return True
    return any(is_of_compiler(traceback) for model in outputs_of(run) for traceback in printed_of(model.log).tracebacks)


def size_of_output(run: Run) -> str:
    """Return `812 lines`, or the size in bytes of a large output."""
    logs = [model.log for model in outputs_of(run)]
    size = sum(log.scanned for log in logs)
    return fmt.plural(sum(map(_lines_in, logs)), "line") if size <= COUNTED else fmt.size_of(size)


def _lines_in(log: Log) -> int:
    count, at, last = 0, 0, b"\n"
    try:
        while at < log.scanned and (data := log.source.read(at, min(BLOCK, log.scanned - at))):
            count, at, last = count + data.count(b"\n"), at + len(data), data[-1:]
    except (Gone, OSError):
        return count
    return count + (last != b"\n")
