"""The runs of a directory: which entries are runs, and the counts of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from tltui.inputs.index.format import BadIndex
from tltui.model.follow import open_run
from tltui.model.nodes import Process
from tltui.model.run import Run
from tltui.model.torch_version import version_of
from tltui.sources.discover import NothingFound, discover
from tltui.sources.file_writers import held
from tltui.text.frozen import frozen
from tltui.text.torch_names import PREFIX, Owner, owner_of
from tltui.trace.files import identity_of

SAVED = ".tlx"
"""The suffix of saved indexes."""
FUNCTIONS = 100
"""Functions by which two runs are recognized as those of one program."""


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
    named = {(name, file) for name, file in codes if name and file and not name.startswith(PREFIX)}
    names = (f"{os.path.basename(file)}:{name}" for name, file in named if owner_of(file) is not Owner.TORCH)
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


Entry = tuple[RunRow, bool] | str | None
"""What an entry of a directory is: a run, its row and whether no process writes its logs any more; the reason why a saved index
cannot be opened; None for anything else."""


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
