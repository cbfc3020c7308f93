"""The list of the runs of a directory: which entries are runs, the counts of each, the page that `tltui list` prints and shows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, by_numbers
from tltui.inputs.index.format import BadIndex
from tltui.model.follow import open_run
from tltui.model.nodes import Process
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.model.torch_version import version_of
from tltui.sources.discover import NothingFound, discover
from tltui.sources.file_writers import held
from tltui.text import tokens
from tltui.text.document import Document, Options, piece_text
from tltui.text.formatting import apart
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import PREFIX, Owner, owner_of
from tltui.trace.files import identity_of

SAVED = ".tlx"
"""The suffix of saved indexes."""
FUNCTIONS = 100
"""Functions by which two runs are recognized as those of one program."""

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


@frozen
class RunChange:
    """The difference of the counts of a run from those of the run of the same program before it."""

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
    """Versions of torch, as they are recorded or inferred; empty if unknown."""
    ranks: int
    compiles: int
    errors: int
    eager: int
    """Compiles that fell back to eager mode."""
    breaks: int
    recompiles: int
    compile_s: float
    """Compile time of the slowest rank, in seconds."""
    damaged: int
    """Places in the logs that could not be read."""
    has_writer: bool = False
    """Whether a process on this machine had one of its logs open for writing when they were read."""
    change: RunChange | None = None
    """From the run of the same program before it; null for the first, and while one of the two is being written."""
    functions: tuple[str, ...] = ()
    """The functions that it compiled, as `train.py:step`, without torch's own: at most `FUNCTIONS`, by name."""


@frozen
class RunList:
    """The runs of a directory, the oldest first."""

    directory: str
    runs: tuple[RunRow, ...]
    not_opened: tuple[str, ...]
    """Entries that look like runs and cannot be opened, with the reason."""
    other_entries: int
    """Entries that are no runs."""


Entry = tuple[RunRow, bool] | str | None
"""What an entry of a directory is: a run, its row and whether no process writes its logs any more; the reason why a saved index
cannot be opened; None for anything else."""


def row_of(run: Run, path: str) -> RunRow:
    """Return the counts of a run."""
    tally, processes = run.tally, list(run.processes())
    starts = [process.started for process in processes if process.is_dated and process.started]
    stated = (version_of(process) for process in processes if process.is_traced)
    versions = dict.fromkeys(version.words for version in stated if version.description is not None)
    return RunRow(
        path, os.path.basename(os.path.normpath(path)), min(starts) * 1e6 if starts else None, tuple(versions), len(run.ranks),
        tally.compiles, tally.errors, tally.eager, tally.breaks, tally.recompiles,
        max((rank.tally.compile_s for rank in run.ranks), default=0.0), run.damaged, _has_writer(run),
        functions=_functions(processes),
    )  # fmt: skip


def _functions(processes: Iterable[Process]) -> tuple[str, ...]:
    """Return the compiled functions. The code after a graph break is left out: it comes and goes with the break."""
    codes = {frame.code[:2] for process in processes for frame in process.frames.values()}
    functions = {(name, file) for name, file in codes if name and file and not name.startswith(PREFIX)}
    names = (f"{os.path.basename(file)}:{name}" for name, file in functions if owner_of(file) is not Owner.TORCH)
    return tuple(sorted(set(names))[:FUNCTIONS])


def is_same_program(row: RunRow, other: RunRow) -> bool:
    """Return whether two runs compiled the same functions, most of them: an edit adds and removes some."""
    mine, theirs = set(row.functions), set(other.functions)
    return 2 * len(mine & theirs) >= max(min(len(mine), len(theirs)), 1)


def _has_writer(run: Run) -> bool:
    """Return whether a process of this machine has a log open for writing. False where that cannot be seen."""
    files = set()
    for model in run.models:
        if not model.log.ended:
            with suppress(OSError):
                files.add(identity_of(os.stat(model.source.path)))
    holders = held(files) if files else None
    return holders is not None and bool(holders.by)


def in_order(rows: Iterable[RunRow]) -> tuple[RunRow, ...]:
    """Return the runs by time, each with its change from the one of the same program before."""
    results, newest = [], dict[tuple[str, ...], RunRow]()  # of runs with equal functions, the newest run last
    for row in sorted(rows, key=lambda row: (row.start_at_us is None, row.start_at_us or 0.0, row.name)):
        results.append(_with_change(row, next((one for one in reversed(newest.values()) if is_same_program(row, one)), None)))
        newest.pop(row.functions, None)
        newest[row.functions] = row
    return tuple(results)


def _with_change(row: RunRow, before: RunRow | None) -> RunRow:
    counts = ("compiles", "errors", "eager", "breaks", "recompiles", "compile_s")
    if before is None or row.has_writer or before.has_writer:  # counts of a run that is being written are not final
        return row
    change = RunChange(*(getattr(row, name) - getattr(before, name) for name in counts))
    return RunRow(**{**{name: getattr(row, name) for name in RunRow.__dataclass_fields__}, "change": change})


def entry_names(directory: str) -> list[str]:
    """Return the entries of a directory that may be runs, by name. Raises `OSError`."""
    return sorted(name for name in os.listdir(os.path.expanduser(directory)) if not name.startswith("."))


def open_entry(directory: str, name: str) -> Entry:
    """Open an entry of a directory."""
    path, shown = os.path.join(os.path.expanduser(directory), name), os.path.join(directory, name)
    try:
        opened = open_run(discover([path]))
    except NothingFound as nothing:
        is_meant = path.endswith(SAVED)
        reason, _, _ = str(nothing).partition(f": '{path}'")
        return f"{shown}: {reason}" if is_meant else None
    except (OSError, BadIndex) as error:
        return f"{shown}: {error}"
    if not any(process.is_traced for process in opened.processes()):
        return None
    return row_of(opened, shown), opened.finished


def list_of(directory: str, entries: Mapping[str, Entry]) -> RunList:
    """Return the list of the opened entries of a directory, by their names."""
    opened = [entries[name] for name in sorted(entries)]
    return RunList(
        directory, in_order(entry[0] for entry in opened if isinstance(entry, tuple)),
        tuple(entry for entry in opened if isinstance(entry, str)), opened.count(None),
    )  # fmt: skip


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
