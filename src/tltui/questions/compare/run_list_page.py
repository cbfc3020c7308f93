"""The list of the runs of a directory: what `tltui list` prints."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table
from tltui.documents.page import Page
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

NAME_WIDTH, SHORT_NAME_WIDTH = 24, 16
"""Cells of the name of a run in the table, and in one of at most `NARROW` columns."""
NARROW = 90
CHANGE_WIDTH = 32
"""Cells of the changes, before which other columns give way: three changes."""


@frozen
class RunChange:
    """The difference of the counts of a run from those of the run before it."""

    compiles: int
    errors: int
    eager: int
    breaks: int
    recompiles: int
    compile_s: float


@frozen
class RunRow:
    """One run of the directory."""

    path: str
    """As the directory was given, with the name of the run."""
    name: str
    start_at_us: float | None
    """Beginning of its first process, microseconds since the epoch; null if no record has it."""
    torch: tuple[str, ...]
    """Versions of torch, as they are recorded or inferred."""
    ranks: int
    compiles: int
    errors: int
    eager: int
    """Compiles that fell back to eager mode."""
    breaks: int
    recompiles: int
    compile_s: float
    """Compile time of the slowest rank, in seconds."""
    change: RunChange | None = None
    """From the run before it in the list; null for the first."""


@frozen
class RunList:
    """The runs of a directory, the oldest first."""

    directory: str
    runs: tuple[RunRow, ...]
    not_opened: tuple[str, ...]
    """Entries that look like runs and cannot be opened, with the reason."""
    other_entries: int
    """Entries that are no runs."""


def row_of(run: Run, path: str) -> RunRow:
    """Return the counts of a run."""
    tally, processes = run.tally, list(run.processes())
    starts = [process.started for process in processes if process.is_dated and process.started]
    versions = dict.fromkeys(version_of(process).words for process in processes if process.is_traced)
    return RunRow(
        path, os.path.basename(os.path.normpath(path)), min(starts) * 1e6 if starts else None, tuple(versions), len(run.ranks),
        tally.compiles, tally.errors, tally.eager, tally.breaks, tally.recompiles,
        max((rank.tally.compile_s for rank in run.ranks), default=0.0),
    )  # fmt: skip


def in_order(rows: Iterable[RunRow]) -> tuple[RunRow, ...]:
    """Return the runs by time, each with its change from the one before."""
    ordered = sorted(rows, key=lambda row: (row.start_at_us is None, row.start_at_us or 0.0, row.name))
    return tuple(_with_change(row, ordered[n - 1] if n else None) for n, row in enumerate(ordered))


def _with_change(row: RunRow, before: RunRow | None) -> RunRow:
    counts = ("compiles", "errors", "eager", "breaks", "recompiles", "compile_s")
    change = None if before is None else RunChange(*(getattr(row, name) - getattr(before, name) for name in counts))
    return RunRow(**{**{name: getattr(row, name) for name in RunRow.__dataclass_fields__}, "change": change})


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
    if before > 0 and abs(row.change.compile_s) >= 0.1 * before:
        words.append(f"{_signed(round(100 * row.change.compile_s / before))}% time")
    return ", ".join(words)


def _runs_table(width: int) -> Table[RunRow]:
    """Return the table of runs for a page of `width` columns: the change of a run is its last column to give way."""
    room = SHORT_NAME_WIDTH if width <= NARROW else NAME_WIDTH
    return Table((
        Column("run", lambda row: (fmt.clip_middle(sanitize(row.name), room), tokens.STRONG), shrinks=False),
        Column("began", lambda row: fmt.when(row.start_at_us)[:16] if row.start_at_us is not None else ("unknown", tokens.DIM),
               shrinks=False, drop=4),
        Column("torch", lambda row: ", ".join(version.removeprefix("torch ") for version in row.torch), shrinks=False, drop=1),
        Column("ranks", lambda row: fmt.count(row.ranks), right=True, shrinks=False, drop=3),
        Column("compiles", lambda row: fmt.count(row.compiles), right=True, shrinks=False, drop=5),
        Column("errors", lambda row: _count(row.errors, tokens.ERROR), right=True, shrinks=False, drop=7),
        Column("eager", lambda row: _count(row.eager, tokens.EAGER), right=True, shrinks=False, drop=2),
        Column("breaks", lambda row: _count(row.breaks, tokens.BREAK), right=True, shrinks=False, drop=6),
        Column("time", lambda row: (fmt.seconds(row.compile_s), tokens.NUMBER), right=True, shrinks=False, drop=8),
        Column("change", change_text, when=lambda rows: any(map(change_text, rows)), least=CHANGE_WIDTH),
    ), noun="runs", folded=0)  # fmt: skip


def ended_document(row: RunRow, reason: str, options: Options) -> Document:
    """Return a run that ended in one line: its counts, the change from the run before, and how its end is known."""
    page = Page("@list", sanitize(row.name), options)
    counts = [fmt.plural(row.compiles, "compile")]
    for noun, number in (("error", row.errors), ("break", row.breaks), ("recompile", row.recompiles)):
        counts += [fmt.plural(number, noun)] if number else []
    counts += [f"{fmt.count(row.eager)} eager"] if row.eager else []
    change = change_text(row)
    pieces = [*counts, fmt.seconds(row.compile_s), *([f"since the run before: {change}"] if change else []), reason]
    page.add((sanitize(row.name), tokens.STRONG), "  ", " · ".join(pieces))
    return page.document(row)


def run_list_document(result: RunList, options: Options) -> Document:
    """Return the list as a page."""
    page = Page("@list", f"runs of {sanitize(result.directory)}", options)
    page.add((f"{fmt.plural(len(result.runs), 'run')} in {sanitize(result.directory)}", tokens.TITLE), ", the oldest first")
    if result.runs:
        page.blank()
        page.table(_runs_table(page.width), result.runs)
    for text in result.not_opened:
        page.say(f"Not opened: {sanitize(text)}", "", tokens.WARN, "  ")
    if result.other_entries:
        page.say(f"{fmt.plural(result.other_entries, 'other entry', 'other entries')} without a trace.", "", tokens.DIM)
    return page.document(result)


