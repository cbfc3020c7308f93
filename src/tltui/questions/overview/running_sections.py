"""What only the first page of a running job has: compiles that ended, over time, and the steps that the job printed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tltui.documents import format as fmt
from tltui.documents.axis import STEPS, tick
from tltui.documents.page import Page
from tltui.model.run import Run
from tltui.model.status import compile_intervals
from tltui.questions.overview.printed_steps import PrintedSteps, printed_steps
from tltui.questions.ranks.pace import Offset
from tltui.text import tokens
from tltui.text.formatting import LEVELS

CELLS = 48
"""Cells of the sparkline at most."""
LEAST = 3
"""Cells from which on there is one."""
LABEL = "compiles done"


def add_running(page: Page, run: Run, start_us: float, end_us: float, offsets: Mapping[int, Offset], label: int) -> None:
    """Add compiles that ended, over time and the newest step.

    `start_us`, `end_us`: begin of the first compile and end of the last, in microseconds since the epoch; `label`: columns of the
    names of rows.
    """
    steps = printed_steps(run)
    if steps is not None and steps.written_at_us is not None:
        end_us = max(end_us, steps.written_at_us)
    _add_sparkline(page, _ends(run, offsets), start_us, end_us, label)
    if steps is not None:
        page.say(steps_text(steps), "  ")


def add_steps(page: Page, run: Run) -> None:
    """Add the newest step alone, where no compile has a time."""
    steps = printed_steps(run)
    if steps is not None:
        page.say(steps_text(steps), "")


def steps_text(steps: PrintedSteps) -> str:
    """Return the steps that were printed after the last record, and the newest one."""
    newest, first = fmt.count(steps.newest), steps.first_after_record
    if first is None:
        return f"Newest step in the output: {newest}."
    if first == steps.newest:
        return f"No record since step {newest} was printed, the newest in the output."
    return f"No record since step {fmt.count(first)} was printed. Newest step in the output: {newest}."


def _ends(run: Run, offsets: Mapping[int, Offset]) -> list[float]:
    """Return when compiles ended, in microseconds since the epoch by corrected clocks; an open one has no metrics yet."""
    ends = []
    for process in run.processes():
        offset = None if process.rank is None else offsets.get(process.rank)
        for compile_ in process.ordered():
            if compile_.is_compile and (intervals := compile_intervals(compile_.metrics)):
                end = max(begin + seconds * 1e6 for begin, seconds in intervals)
                ends.append(end if offset is None else end - offset.at(end))
    return ends


def _add_sparkline(page: Page, ends: list[float], start_us: float, end_us: float, label: int) -> None:
    """Add a line with a cell for equal times; it grows by a cell at a time, and its scale changes seldom."""
    seconds = (end_us - start_us) / 1e6
    room = min(page.width - label - 6 - len(_scale_text(STEPS[-1], start_us)), CELLS)
    step = next((step for step in STEPS if seconds / step < room), None)
    if step is None or seconds < LEAST * step:
        return
    counts = [0] * (int(seconds / step) + 1)
    for end in ends:
        counts[min(max(int((end - start_us) / 1e6 / step), 0), len(counts) - 1)] += 1
    most = max(counts)
    cells = "".join(LEVELS[math.ceil(count * (len(LEVELS) - 1) / most)] for count in counts)
    page.add(
        "  ", (LABEL.ljust(label), tokens.LABEL), "  ", ("│", tokens.DIM), (cells, tokens.VALUE), ("│ ", tokens.DIM),
        (_scale_text(step, start_us), tokens.DIM), signs=True,
    )  # fmt: skip


def _scale_text(step: int, start_us: float) -> str:
    return f"per {tick(step, step)} from {fmt.clock(start_us)}"
