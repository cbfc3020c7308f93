"""Sections of the first page that only a running job has: compiles that ended, over time, and the steps that it printed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping

from tltui.documents import format as fmt
from tltui.documents.format import STEPS, tick
from tltui.documents.page import Page
from tltui.inputs.forms import TEXT
from tltui.model.log_model import OTHER_TEXT, LogModel
from tltui.model.run import Run
from tltui.model.status import compile_intervals
from tltui.questions.hang.open_phases import last_record
from tltui.questions.ranks.pace import Offset
from tltui.text import tokens
from tltui.text.formatting import LEVELS
from tltui.text.frozen import frozen

TAIL = 1 << 16
"""Bytes at the end of an output in which its newest step is looked for."""
AFTER_RECORD = 1 << 20
"""Bytes after the last record in which the first step after it is looked for."""
LOGS = 64
"""Logs whose times are compared with that of the output, at most."""
AGREE = 2.0
"""Seconds between the time of the last record and that at which its file was changed, at most."""
LINE = 400
"""Characters of a line in which a step is looked for."""
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STEP = re.compile(
    r"(?<![\w.-])(?:global[ _-]?)?(?:step|iter(?:ation)?)[\"']?(?:\s*[:=#]\s*|\s+)\[?(?P<number>\d{1,12})(?![\w.])", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")

CELLS = 48
"""Cells of the sparkline at most."""
LEAST = 3
"""Cells from which on there is one."""
LABEL = "compiles done"


@frozen
class PrintedSteps:
    """The steps in an output."""

    newest: int
    first_after_record: int | None
    """The first one after the last record of all logs; None where none of them is known to be after it.

    It is the newest one where the output alone does not show the order.
    """
    written_at_us: float | None
    """When the output was written last, microseconds since the epoch; None where it is not known to be after that record."""


@frozen
class _Step:
    form: str
    """The line up to the number, with `#` for each number."""
    number: int
    end: int
    """Offset of the end of its line in the piece of output that was read."""


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


def printed_steps(run: Run) -> PrintedSteps | None:
    """Return the steps in the output that was written last; None where no output shows any.

    A step is a number after `step` or `iteration` that has increased since an earlier line of the same form. Only complete lines
    that the scan has reached count.
    """
    outputs = [model for model in run.models if model.form == TEXT and not model.log.ended]
    for output in sorted(outputs, key=_changed, reverse=True):
        steps, is_last = _newest(output)
        if steps is None:
            continue
        if all(model is output for model in run.models):
            return PrintedSteps(steps.number, _first_after_record(output, steps), None)
        written_at_us = _written_after_records(output, run)
        is_after = is_last and written_at_us is not None
        return PrintedSteps(steps.number, steps.number if is_after else None, written_at_us)
    return None


def _newest(output: LogModel) -> tuple[_Step | None, bool]:
    """Return the newest step of an output, and whether its line is the last of the output."""
    end = output.log.scanned
    begin = max(end - TAIL, 0)
    piece = _read(output, begin, end)
    if begin:
        piece = piece[piece.find(b"\n") + 1 :]
    steps = list(_steps_in(piece))
    newest = steps[-1] if steps else None
    if newest is None or not any(step.form == newest.form and step.number < newest.number for step in steps):
        return None, False
    return newest, newest.end == len(piece)


def _steps_in(piece: bytes) -> Iterator[_Step]:
    """Yield the steps in the complete lines of a piece of output."""
    end = 0
    for line in piece.splitlines(keepends=True):
        end += len(line)
        if not line.endswith((b"\n", b"\r")):
            return
        text = _ESCAPE.sub("", line[:LINE].decode("utf-8", "replace"))
        if (match := _STEP.search(text)) is not None:
            yield _Step(_DIGITS.sub("#", text[: match.start("number")]), int(match["number"]), end)


def _first_after_record(output: LogModel, newest: _Step) -> int | None:
    """Return the first step after the last record of torch in an output; None for none, or where it has no record."""
    log = output.log
    others = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    record = next((record for record in range(len(log) - 1, -1, -1) if log.columns.kind[record] not in others), None)
    if record is None or record == len(log) - 1:
        return None
    begin = log.columns.offset[record + 1]
    piece = _read(output, begin, min(begin + AFTER_RECORD, log.scanned))
    return next((step.number for step in _steps_in(piece) if step.form == newest.form and step.number <= newest.number), None)


def _written_after_records(output: LogModel, run: Run) -> float | None:
    """Return when an output was written last, in microseconds since the epoch; None if a record of another log may be later.

    The file system has both times. It has those of the records too: else the files are copies, or clocks differ.
    """
    logs = [model for model in run.models if model is not output and model.processes]
    if not 0 < len(logs) <= LOGS:
        return None
    try:
        written = os.stat(output.source.path)
        others = [os.stat(model.source.path) for model in logs]
    except OSError:
        return None
    are_read = all(
        status.st_size == model.log.scanned for status, model in zip((written, *others), (output, *logs), strict=True)
    )
    latest = max(status.st_mtime for status in others)
    if not are_read or written.st_mtime <= latest or any(status.st_dev != written.st_dev for status in others):
        return None
    records = [at_us for model in logs for process in model.processes if (at_us := last_record(process)) is not None]
    is_original = bool(records) and abs(max(records) / 1e6 - latest) <= AGREE
    return written.st_mtime * 1e6 if is_original else None


def _read(output: LogModel, begin: int, end: int) -> bytes:
    try:
        return output.source.read(begin, end - begin)
    except OSError:
        return b""


def _changed(output: LogModel) -> int:
    """Return the time in nanoseconds at which an output was written last; 0 where it is unknown."""
    try:
        return os.stat(output.source.path).st_mtime_ns
    except OSError:
        return 0
