"""From addresses in what profiles say to the nodes of the run."""

from __future__ import annotations

from tltui.analyses.runtime.result import Runtime
from tltui.model.nodes import Compile, Process
from tltui.model.ref import BadAddress
from tltui.model.run import Run


def compile_at(run: Run, ref: str) -> Compile | None:
    """The compile at an address of a result."""
    try:
        node = run.resolve(ref)
    except BadAddress:
        return None
    return node if isinstance(node, Compile) else None


def process_of(run: Run, runtime: Runtime) -> Process | None:
    """The process that a profile was joined to: that of its compiles. Its pid may be another, as in containers."""
    for ref in (*(own.ref for own in runtime.compiles), *runtime.never_called):
        if (compile_ := compile_at(run, ref)) is not None:
            return compile_.process
    return next((process for process in run.processes() if process.pid == runtime.pid), None)
