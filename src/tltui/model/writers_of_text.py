"""Which records of a text log are those of a process of the job: not what was printed without any message of torch, of which nobody
knows who wrote it, and not what torchrun wrote about the processes that it started."""

from __future__ import annotations

from collections.abc import Iterable

from tltui.inputs.table import TEXT
from tltui.model.nodes import Process
from tltui.model.ref import NO_ID
from tltui.trace.batch import Kind

_LAUNCHER = ("torch.distributed.elastic.", "torch.distributed.run", "torch.distributed.launcher")
"""How the names of the loggers of torchrun begin."""


def is_of_job(form: str, process: Process) -> bool:
    """Tell whether what a log has under one pid is a process of the job. `form`: of the log."""
    return form != TEXT or (process.pid != 0 and not _is_launcher(process))


def processes_of_job(processes: Iterable[tuple[str, Process]]) -> list[Process]:
    """Choose the processes of the job; where torchrun alone wrote messages of torch, torchrun. Each comes with the form of its
    log."""
    writers = [(form, process) for form, process in processes if form != TEXT or process.pid]
    return [process for form, process in writers if is_of_job(form, process)] or [process for _, process in writers]


def _is_launcher(process: Process) -> bool:
    """Tell whether all messages of torch are torchrun's."""
    without_id = process.compiles.get(NO_ID)
    if without_id is None or len(process.compiles) > 1:
        return False
    log = process.log
    return all(_is_from_launcher(log.kind(record)) for record in without_id.records)


def _is_from_launcher(kind: Kind) -> bool:
    return kind.event == "text" or (kind.event == "log" and kind.name.startswith(_LAUNCHER))
