"""What the profiles of a run say, kept."""

from __future__ import annotations

from tltui.analyses.runtime.result import Refused, Runtime
from tltui.model.run import Run


def runtimes_of(run: Run) -> tuple[Runtime | Refused, ...]:
    """Each profile of a run, joined or refused; () while none is read."""
    return ()
