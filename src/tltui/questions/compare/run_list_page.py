"""The list of the runs of a directory: what `tltui list` prints and shows."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table, by_numbers
from tltui.documents.page import Page
from tltui.model.status import Status
from tltui.questions.compare.run_list import RunList, RunRow
from tltui.text import tokens
from tltui.text.document import Document, Options, piece_text
from tltui.text.formatting import apart
from tltui.text.sanitize import sanitize

NAME_WIDTH, SHORT_NAME_WIDTH, LONG_NAME_WIDTH = 24, 16, 56
"""Cells of the name of a run in the table, in one of at most `NARROW` columns, and in one with so much room."""
NARROW, OTHERS = 90, 84
"""`OTHERS`: cells of the columns other than the name and the changes."""
CHANGE_WIDTH = 32
"""Cells of the changes, before which other columns give way: three changes."""
ORDERS = ("began", "name", "torch", "ranks", "compiles", "errors", "eager", "breaks", "time")
"""The orders of the table, the default first."""
RUN = "run:"
"""The beginning of the target of a run's link: the name of the run follows."""


def _count(value: int, style: str) -> tuple[str, str]:
    return fmt.count(value), style if value else tokens.DIM


def _signed(value: int) -> str:
    """Return a difference with its sign: `+2`, `−1`."""
    return f"{'−' if value < 0 else '+'}{abs(value)}"


def change_text(row: RunRow) -> str:
    """Return what became more or fewer, as `+2 breaks −1 error +12%`; '' if nothing did."""
    if row.change is None:
        return ""
    words = []
    for noun, value in (
        ("error", row.change.errors), ("eager", row.change.eager), ("break", row.change.breaks),
        ("recompile", row.change.recompiles), ("compile", row.change.compiles),
    ):  # fmt: skip
        if value:
            many = noun if abs(value) == 1 or noun == "eager" else f"{noun}s"
            words.append(f"{_signed(value)} {many}")
    before = row.compile_s - row.change.compile_s
    if before > 0 and row.compile_s and abs(row.change.compile_s) >= 0.1 * before:  # 0: the log has no times
        words.append(f"{_signed(round(100 * row.change.compile_s / before))}% time")
    return ", ".join(words)


def _runs_table(runs: Sequence[RunRow], width: int, mark: str) -> Table[RunRow]:
    """Return the table of runs for a page of `width` columns: the change of a run is its last column to give way.

    `mark`: of a run that is being written.
    """
    unused = width - OTHERS - (CHANGE_WIDTH if any(map(change_text, runs)) else 0)
    room = SHORT_NAME_WIDTH if width <= NARROW else min(max(unused, NAME_WIDTH), LONG_NAME_WIDTH)
    names = [sanitize(row.name) for row in runs]
    shown = dict(zip((row.name for row in runs), apart(names, room), strict=True))
    return Table((
        Column("run", lambda row: (shown[row.name], tokens.STRONG, RUN + row.name), shrinks=False,
               sort="name", key=lambda row: row.name),
        Column("", lambda row: (mark if row.has_writer else "", tokens.RUNNING), shrinks=False, drop=10,
               when=lambda rows: any(row.has_writer for row in rows)),
        Column("began", lambda row: fmt.when(row.start_at_us)[:16] if row.start_at_us is not None else ("unknown", tokens.DIM),
               shrinks=False, drop=4, sort="began"),
        Column("torch", lambda row: ", ".join(version.removeprefix("torch ") for version in row.torch), shrinks=False, drop=1,
               sort="torch", key=lambda row: _by_version(row.torch)),
        Column("ranks", lambda row: fmt.count(row.ranks), right=True, shrinks=False, drop=3, sort="ranks",
               key=lambda row: -row.ranks),
        Column("compiles", lambda row: fmt.count(row.compiles), right=True, shrinks=False, drop=5, sort="compiles",
               key=lambda row: -row.compiles),
        Column("errors", lambda row: _count(row.errors, tokens.ERROR), right=True, shrinks=False, drop=7, sort="errors",
               key=lambda row: -row.errors),
        Column("eager", lambda row: _count(row.eager, tokens.EAGER), right=True, shrinks=False, drop=2, sort="eager",
               key=lambda row: -row.eager),
        Column("breaks", lambda row: _count(row.breaks, tokens.BREAK), right=True, shrinks=False, drop=6, sort="breaks",
               key=lambda row: -row.breaks),
        Column("time", lambda row: (_time(row), tokens.NUMBER), right=True, shrinks=False, drop=8, sort="time",
               key=lambda row: -row.compile_s),
        Column("damaged", lambda row: _count(row.damaged, tokens.WARN), right=True, shrinks=False, drop=9,
               when=lambda rows: any(row.damaged for row in rows)),
        Column("change", change_text, when=lambda rows: any(map(change_text, rows)), least=CHANGE_WIDTH),
    ), noun="runs", folded=0, order=ORDERS[0])  # fmt: skip


def _time(row: RunRow) -> str:
    """Return the compile time; '' where the log has none."""
    return fmt.seconds(row.compile_s) if row.compile_s else ""


def _by_version(versions: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return what versions are sorted by: 2.9 comes before 2.10."""
    return tuple(map(by_numbers, versions))


def ended_document(row: RunRow, reason: str, options: Options) -> Document:
    """Return a run that ended in one line: its counts, the change from the same program before, and how its end is known."""
    page = Page("@list", sanitize(row.name), options)
    counts = [fmt.plural(row.compiles, "compile")]
    for noun, number in (("error", row.errors), ("break", row.breaks), ("recompile", row.recompiles)):
        counts += [fmt.plural(number, noun)] if number else []
    counts += [f"{fmt.count(row.eager)} eager"] if row.eager else []
    change = change_text(row)
    pieces = [*counts, _time(row), f"since the run of this program before: {change}" if change else "", reason]
    page.add((sanitize(row.name), tokens.STRONG), "  ", " · ".join(filter(None, pieces)))
    return page.document(row)


def run_list_document(result: RunList, options: Options) -> Document:
    """Return the list as a page."""
    page = Page("@list", f"runs of {sanitize(result.directory)}", options)
    mark = page.status(Status.RUNNING)
    table = _runs_table(result.runs, page.width, piece_text(mark))
    order = table.applied(page.sort)
    sorting = "the oldest first" if order == table.order else f"sorted by {order}"
    directory = sanitize(result.directory)
    if options.key_of is not None:  # a screen cuts what is longer than its lines
        directory = page.clip_middle(directory, page.width // 2)
    page.add((f"{fmt.plural(len(result.runs), 'run')} in {directory}", tokens.TITLE), f", {sorting}" if result.runs else "")
    if result.runs:
        page.blank()
        page.table(table, result.runs)
        if any(row.has_writer for row in result.runs):
            page.add("  ", mark, (" being written: a process of this machine has a log open for writing", tokens.DIM))
    for text in result.not_opened:
        page.say(f"Not opened: {sanitize(text)}", "", tokens.WARN, "  ")
    if result.other_entries:
        page.say(f"{fmt.plural(result.other_entries, 'other entry', 'other entries')} without a trace.", "", tokens.DIM)
    page.more()
    return page.document(result)
