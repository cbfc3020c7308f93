"""`tltui run --view`: the terminal UI from the start of a job; the job has a terminal of its own and may outlive the UI."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from tltui.cli.exits import Failure, print_error
from tltui.cli.standard_input import no_terminal
from tltui.config import TREE_PANE, read_width
from tltui.questions.records.output_page import how_it_ended
from tltui.running.job import Ending, Job, start
from tltui.running.job_trace import Prepared
from tltui.sources.discover import awaited
from tltui.text.safe_files import quoted

SHARE, LEAST, WIDEST = 0.36, 36, 64
"""What of a wide screen the tree has (styles.tcss), in cells at least and at most, where nobody has moved the line beside it."""
NARROW = 100
MARGIN = 10
"""Columns beside the text of the document: the gutter, the scroll bar."""


def needs_terminal() -> None:
    """See to it that there is a screen, before anything is made for the job."""
    why = no_terminal()
    if why:
        raise Failure(f"--view needs a terminal: {why}. Without --view the job runs just so, and tltui DIR looks at it meanwhile")


def run_in_view(words: Sequence[str], prepared: Prepared, options: argparse.Namespace) -> Ending | None:
    """Start the job and show it; how it ended. None where it goes on, or that is not known, which is said. Raises `NotStarted`."""
    job = start(words, prepared.environment, prepared.directory, _size())
    from tltui.app import start as show

    try:
        look = argparse.Namespace(theme=None, ascii=options.ascii, no_mouse=None)
        options.exit_code = show(awaited([prepared.directory]), look, job)
    except BaseException:  # whatever it is: the job runs, and somebody must be able to find it
        _farewell(job, prepared.directory)
        raise
    state = job.state
    if state is not None and state.ended is not None:
        print_error(f"tltui: the job ended with {how_it_ended(state)}{'; processes that it started go on' * state.held}")
        return Ending(state.code or 0)
    _farewell(job, prepared.directory)
    return None


def _size() -> tuple[int, int]:
    """About what the document will have. The UI says it exactly when it has drawn its first frame."""
    columns, rows = os.get_terminal_size(2)
    tree = min(max(int(columns * SHARE), LEAST), WIDEST) if columns >= NARROW else 0
    if tree:
        tree = (read_width(TREE_PANE) or tree) + 1  # the line beside it
    return max(columns - tree - MARGIN, 20), max(rows - 3, 5)


def _farewell(job: Job, directory: str) -> None:
    """The job goes on. The last line is where its trace is."""
    if job.is_lost:
        print_error(
            f"tltui: how the job ended is not known: the process that kept its output was ended (the job was pid {job.pid})"
        )
    else:
        print_error(f"tltui: the job runs on, pid {job.pid}. Its output goes to {job.output}")
        print_error(f"tltui: tltui {quoted(directory)} shows it again; kill -INT -- -{job.pid} is what ctrl+c would be")
    print_error(directory)
