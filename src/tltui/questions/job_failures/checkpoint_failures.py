"""Failures of activation checkpointing that follow from the recompile limit."""

from __future__ import annotations

from tltui.model.nodes import Compile, Frame
from tltui.model.run import Run
from tltui.questions.job_failures.job_failures import RunFailure
from tltui.questions.stacks.tracebacks import callers_of

ERROR = "CheckpointError"
CHECKPOINT = "torch/utils/checkpoint.py"


def limit_in_checkpoint(run: Run, failure: RunFailure) -> Compile | None:
    """Return the last hit of the recompile limit in a checkpointed region of the process that raised a `CheckpointError`."""
    if ERROR not in failure.sentence or (failure.pid is None and failure.rank is None):
        return None
    hits = [
        compile_
        for process in run.processes()
        if failure.pid in (None, process.pid) and failure.rank in (None, process.rank)
        for compile_ in process.ordered()
        if compile_.facts.recompile_limit_hit and is_in_checkpoint(compile_.frame)
    ]
    return hits[-1] if hits else None


def is_in_checkpoint(frame: Frame) -> bool:
    """Whether a compile of a frame has `torch.utils.checkpoint` among its callers."""
    callers = (caller for compile_ in frame.compiles for caller in callers_of(compile_))
    return any(caller.file.replace("\\", "/").endswith(CHECKPOINT) for caller in callers)
