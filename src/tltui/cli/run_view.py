"""`tltui run --view`: the terminal UI from the start of a job; the job has a terminal of its own and outlives the UI."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from tltui.cli.failure import Failure, tell
from tltui.cli.ui import no_terminal
from tltui.documents.output import how_it_ended
from tltui.running.environment import Prepared
from tltui.running.job import Job, NotStarted, start
from tltui.sources.discover import awaited
from tltui.text.shell import quoted

TREE = 0.42
"""The share of a wide screen that the tree has."""
NARROW = 100
MARGIN = 8


def run_in_view(words: Sequence[str], prepared: Prepared, options: argparse.Namespace) -> int:
    """Start the job, show it, and say what became of it; the exit code: that of the job, 0 where it was left running."""
    why = no_terminal()
    if why:
        raise Failure(f"--view needs a terminal: {why}. Leave --view out, and look at the trace with tltui {prepared.directory}")
    try:
        job = start(words, prepared.environment, prepared.directory, _size())
    except NotStarted as error:
        tell(f"tltui: {error}")
        return error.code
    from tltui.app import start as show

    code = show(awaited([prepared.directory]), options, job)
    return _farewell(job, prepared.directory, code)


def _size() -> tuple[int, int]:
    """About what the document will have. The UI says it exactly when it has drawn its first frame."""
    columns, rows = os.get_terminal_size(2)
    return max(columns - (int(columns * TREE) if columns >= NARROW else 0) - MARGIN, 20), max(rows - 4, 5)


def _farewell(job: Job, directory: str, code: int) -> int:
    """Say what became of the job. The last line is where its trace is."""
    state = job.state
    if state is not None and state.ended is not None:
        tell(f"tltui: the job ended with {how_it_ended(state)}{'; processes that it started go on' * state.held}")
        code = code or state.exit_code
    elif job.is_lost:
        tell(f"tltui: how the job ended is not known: the process that kept its output was ended (the job was pid {job.pid})")
    else:
        tell(f"tltui: the job runs on, pid {job.pid}. Its output goes to {job.output}")
        tell(f"tltui: tltui {quoted(directory)} shows it again; kill -INT -- -{job.pid} is what ctrl+c would be")
    tell(directory)
    return code
