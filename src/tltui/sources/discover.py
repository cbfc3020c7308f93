"""Discovery of the logs and profiles to open, at once or in a background thread."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Collection, Generator, Iterable, Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from tltui.inputs.archives import STANDARD_INPUT
from tltui.inputs.directory_layouts import Layout, layout_of
from tltui.inputs.flight_recorder import is_dump, rank_in
from tltui.inputs.forms import DEBUG_DIR, TEXT, TRACE, form_of
from tltui.inputs.text.line_grammar import may_become, recognise
from tltui.sources.discovery_results import MEMBER, NO_RANK, OTHER, FoundDump, FoundLog, FoundProfile, Opened, Skipped, labels
from tltui.sources.job_output import is_job_output, is_recorded_job, is_text, output_log, read_state
from tltui.sources.log_files import (
    CLOCK,
    EMPTY,
    PACKED,
    REPORT,
    SNIFF,
    age,
    head_of,
    latest_run,
    newest,
    not_a_log,
    walk,
    why_no_log,
)
from tltui.sources.saved_indexes import INDEX, Crowd, Indexes
from tltui.text.frozen import frozen
from tltui.text.steps import run_steps
from tltui.trace.files import FileBytes

if TYPE_CHECKING:
    from tltui.sources.packed_sources import Packed


MOST = 4096
"""Profiles of a directory that was named."""


class NoProfileThere(Exception):
    """A named file that is no profile; the message gives the reason."""


def profile_at(path: str) -> FoundProfile | None:
    """Return the profile at a path, detected by its first bytes; None for any other file. Raises `OSError`."""
    from tltui.inputs.profile_reader import reason_against

    if reason_against(path):
        return None
    status = os.stat(path)
    return FoundProfile(path, status.st_size, status.st_mtime_ns)


def again(profile: FoundProfile) -> FoundProfile:
    """Stat a profile again."""
    try:
        status = os.stat(profile.path)
    except OSError:
        return profile
    return replace(profile, size=status.st_size, changed=status.st_mtime_ns)


def profiles_at(paths: Iterable[str]) -> tuple[FoundProfile, ...]:
    """Return the named profiles and those in named directories. Raises `NoProfileThere`."""
    from tltui.inputs.profile_reader import reason_against

    profiles: list[FoundProfile] = []
    for name in paths:
        path = os.path.expanduser(name)
        try:
            if os.path.isdir(path):
                profiles += _profiles_in(path)
            elif reason := reason_against(path):
                raise NoProfileThere(f"{reason}: '{name}'")
            else:
                profiles.append(again(FoundProfile(path, 0, is_named=True)))
        except OSError as error:
            raise NoProfileThere(f"{error.strerror or error}: '{name}'") from None
    return tuple({profile.path: profile for profile in profiles}.values())


def _profiles_in(directory: str) -> list[FoundProfile]:
    """Return the profiles in a directory."""
    with os.scandir(directory) as entries:
        files = sorted(entry.path for entry in entries if entry.is_file())[:MOST]
    profiles = [replace(profile, is_named=True) for path in files if (profile := profile_at(path)) is not None]
    if not profiles:
        raise NoProfileThere(f"no torch.profiler profile in the directory: '{directory}'")
    return profiles


__all__ = [
    "EMPTY", "KEPT", "MEMBER", "OTHER", "SNIFF", "TEXT", "Discovery", "Found", "FoundLog", "NothingFound",
    "Skipped", "age", "awaited", "discover", "labels", "newest", "without_logs",
]  # fmt: skip

WRITTEN = 2_000_000_000
"""Nanoseconds without a change after which a profile is taken for whole."""
UNDECIDED = 512
"""Bytes: a file that is shorter may still become a log."""

KEPT = "the output of a job"
OUTPUT = "job output without a torch record: name the file, or put it next to logs"
"""Of a file in a directory without logs."""
PROFILE = "a torch.profiler profile: put it next to the TORCH_TRACE log of its run"
"""Of a profile without a log."""
DUMP = "a flight recorder dump: put it next to the TORCH_TRACE logs of its run, for tltui where"
"""Of a dump without a log."""


class Looking(Protocol):
    """A look that goes on while something else is done (`sources/discover.py`)."""

    discovery: Discovery
    count: int
    """Logs found so far."""
    is_over: bool
    """Whether all has been looked at. What was found may not have been taken yet."""
    is_stopped: bool
    """Whether nobody wants to know any more."""

    def go_on(self) -> None:
        """Go on, where it was held."""

    def stop(self) -> None:
        """Nobody wants to know any more. Does not wait."""

    def come(self) -> list[FoundLog] | None:
        """Return the logs discovered since the last call, possibly none after a short wait; None when the search has ended."""

    def result(self) -> Found:
        """Return the result of the finished search. Raises `NothingFound`."""


@frozen
class Found:
    """The contents of a set of paths."""

    paths: tuple[str, ...]
    logs: tuple[FoundLog, ...]
    skipped: tuple[Skipped, ...]
    """Files that somebody could have meant, with the reason."""
    others: int = 0
    """Further files below the directories that are something else."""
    notes: tuple[str, ...] = field(default=())
    is_over: bool = False
    """Nobody writes into any of them: known, however young they are."""
    outputs: tuple[str, ...] = ()
    """What jobs printed that tltui started (`sources/job_output.py`), the newest last."""
    profiles: tuple[FoundProfile, ...] = ()
    """What torch.profiler exported: named, then found beside the logs."""
    dumps: tuple[FoundDump, ...] = ()
    """Dumps of torch's flight recorder."""
    discovery: Discovery | None = field(default=None, compare=False, repr=False)
    """What looked, and can look again."""
    crowd: Crowd | None = field(default=None, compare=False, repr=False)
    """What saved indexes tell of processes, also of those whose logs are not among `logs`."""
    search: Looking | None = field(default=None, compare=False, repr=False)
    """What is still looking: there may be more logs."""


class NothingFound(Exception):
    """The error that no log can be opened. The message names the inspected paths and the reasons."""

    def __init__(self, text: str, outputs: Iterable[str] = (), is_empty: bool = False) -> None:
        super().__init__(text)
        self.outputs = tuple(outputs)
        """What jobs printed that are to write their logs there, the newest last."""
        self.is_empty = is_empty
        """Whether the paths are directories with no file in them: a job may be about to write there."""


def discover(paths: Iterable[str], latest: bool = False) -> Found:
    """Look for logs in files and directories.

    With `latest` only the newest run is kept: the logs whose times overlap with that of the newest one.
    Raises `NothingFound` when there is none.
    """
    return Discovery(paths, latest).discover()


def awaited(paths: Iterable[str]) -> Found:
    """Return the current contents of the directory of a running job that may not have written a log yet."""
    paths = tuple(paths)
    try:
        return discover(paths)
    except NothingFound as no_logs:
        return without_logs(paths, no_logs)


def without_logs(paths: Iterable[str], no_logs: NothingFound) -> Found:
    """Return the contents of paths with output of jobs but no log yet."""
    states = [state for output in no_logs.outputs if (state := read_state(output)) is not None]
    may_come = any(state.ended is None and is_recorded_job(state) is not False for state in states)
    return Found(tuple(paths), (), (), is_over=not may_come, outputs=no_logs.outputs)


class Discovery:
    """A repeatable search for logs; files unchanged since the last search are not read again."""

    def __init__(
        self, paths: Iterable[str], latest: bool = False, ranks: Collection[int] = (), profiles: Iterable[FoundProfile] = ()
    ) -> None:
        """Set up the search.

        `ranks`: their logs are read even if an index covers them (`sources/saved_indexes.py`). `profiles`: the named ones.
        """
        self.paths = tuple(paths)
        self.profiles = tuple(profiles)
        self.latest = latest
        self._ranks = ranks
        self.unpacks = False
        """Whether something packed was met: what unpacks it tells how far it is where there is no screen yet."""
        self._named_paths = frozenset(os.path.expanduser(path) for path in self.paths)
        self._entries: dict[str, tuple[tuple[int, int, int], Opened]] = {}
        self._others: set[str] = set()  # what was counted only, at the last look at everything
        self._indexes = Indexes()
        self._printed: dict[str, FoundLog] = {}  # what jobs printed, by path: it is read when there is a log beside it
        self._given: set[str] = set()  # of these the paths of those that were
        self._has_logs = False

    @property
    def needs_all(self) -> bool:
        """Return whether the search must end before a log can be opened: only the newest run is requested, or an index is used."""
        return self.latest or self._indexes.are_there

    def discover(self) -> Found:
        """Search the paths now. Raises `NothingFound` when there is no log."""
        return run_steps(self.search())

    def search(self) -> Generator[FoundLog | None, None, Found]:
        """`look`, file by file: each log when it is found, None for a file that is none."""
        logs: list[FoundLog] = []
        skipped: list[Skipped] = []
        notes: list[str] = []
        other_count = 0
        self._others.clear()
        self._printed.clear()
        self._given.clear()
        self._indexes.begin()
        paths_seen: set[str] = set()
        profiles = {profile.path: profile for profile in map(again, self.profiles)}
        dumps: list[FoundDump] = []
        outputs: list[str] = []
        for name in self.paths:
            path = os.path.expanduser(name)
            directory = os.path.isdir(path)
            candidates = walk(path, skipped) if directory else iter((path,))
            fresh = (candidate_path for candidate_path in candidates if _is_new(os.path.realpath(candidate_path), paths_seen))
            top = path if directory else os.path.dirname(path)
            for candidate, entry in self._detected(fresh, top, directory, notes) if name != STANDARD_INPUT else self._come(notes):
                if isinstance(entry, FoundProfile):
                    profiles.setdefault(entry.path, entry)
                elif isinstance(entry, FoundDump):
                    dumps.append(entry)
                elif isinstance(entry, FoundLog) and not self._needs_log(entry):
                    logs.append(entry)
                elif isinstance(entry, FoundLog):
                    self._printed[entry.path] = entry
                elif entry.reason == KEPT:
                    outputs += [candidate] * is_text(candidate)
                elif entry.reason == MEMBER or (directory and (entry.reason == OTHER or _is_foreign_empty_file(entry))):
                    other_count += 1
                    self._others.add(candidate)
                else:
                    skipped.append(entry)
                yield entry if isinstance(entry, FoundLog) and not self._needs_log(entry) else None
        outputs.sort(key=_changed)
        logs = self._indexes.merged(logs)
        notes += self._indexes.notes
        if not logs:
            printed = [Skipped(path, "job output: tltui shows it") for path in outputs]
            printed += [Skipped(log.name, OUTPUT) for log in self._printed.values()]
            printed += [Skipped(profile.name, PROFILE) for profile in profiles.values() if not profile.is_named]
            printed += [Skipped(profile.name, DUMP) for profile in dumps]
            directories = all(os.path.isdir(os.path.expanduser(path)) for path in self.paths)
            is_empty = directories and not (skipped or printed or other_count)
            raise NothingFound(_explain_nothing(self.paths, [*skipped, *printed], other_count), outputs, is_empty)
        self._has_logs = True
        logs += self._outputs_to_read(outputs)
        logs.sort(key=age)
        if self.latest:
            logs, remarks = latest_run(logs)
            notes += remarks
        chosen, crowd = self._indexes.chosen(logs, self._ranks)
        return Found(
            self.paths, tuple(chosen), tuple(skipped), other_count, tuple(notes), outputs=tuple(outputs),
            profiles=tuple(profiles.values()), dumps=tuple(dumps), discovery=self, crowd=crowd,
        )  # fmt: skip

    def _detected(
        self, paths: Iterable[str], top: str, in_directory: bool, notes: list[str]
    ) -> Iterator[tuple[str, Opened]]:
        """Yield each file with its detected type, and the files packed in it."""
        for path in paths:
            entry = self._detect(path, top)
            if isinstance(entry, Skipped) and entry.reason == PACKED:
                self.unpacks = True
                for inside in self._packed().inside(path, path, not in_directory, notes):
                    yield path, inside
            elif isinstance(entry, Skipped) and entry.reason == REPORT:
                yield path, self._packed().report(path, notes)
            elif isinstance(entry, Skipped) and entry.reason == INDEX:
                if reason := self._indexes.add(path, self._entries[path][0]):
                    yield path, Skipped(path, reason)
            else:
                yield path, entry

    def _needs_log(self, log: FoundLog) -> bool:
        """Tell whether it is read only beside a log: an output without a record of torch that nobody named."""
        return log.is_output and log.path not in self._named_paths and log.name != STANDARD_INPUT

    def _outputs_to_read(self, outputs: Iterable[str]) -> list[FoundLog]:
        """Return, once, the job output files next to logs: those written by tltui, and those recognised by their text."""
        self._printed.update((path, log) for path in outputs if (log := output_log(path)) is not None)
        logs = [log for path, log in self._printed.items() if path not in self._given]
        self._given.update(self._printed)
        self._printed.clear()
        return logs

    def with_outputs(self, new: Iterable[Opened]) -> list[FoundLog]:
        """Return the logs among new files, and job output as soon as there is a log next to it."""
        logs = []
        for file in new:
            if isinstance(file, FoundLog) and not self._needs_log(file):
                logs.append(file)
            elif isinstance(file, FoundLog):
                self._printed[file.path] = file
            elif isinstance(file, Skipped) and file.reason == KEPT and is_text(file.path):
                self._printed.update((log.path, log) for log in (output_log(file.path),) if log is not None)
        self._has_logs |= bool(logs)
        return [*logs, *self._outputs_to_read(())] if self._has_logs else logs

    def _come(self, notes: list[str]) -> Iterator[tuple[str, Opened]]:
        """Yield the files received through standard input."""
        for entry in self._packed().come(notes):
            yield STANDARD_INPUT, entry

    def _packed(self) -> Packed:
        """Return the reader of packed files; the unpacking code is imported on first use."""
        from tltui.sources.packed_sources import Packed

        def walked(top: str, notes: list[str]) -> Iterator[tuple[str, Opened]]:
            return self._detected(walk(top, []), top, True, notes)

        return Packed(lambda path: self._detect(path, "", True), walked, why_no_log)

    def look_at(self, path: str) -> Opened:
        """One file below the paths."""
        tops = [top for name in self.paths if path.startswith((top := os.path.expanduser(name)).rstrip(os.sep) + os.sep)]
        return self._detect(path, max(tops, key=len, default=os.path.dirname(path)))

    def with_log(self, results: Found, log: FoundLog) -> Found:
        """Return the results with one more log, which had no records or did not exist before."""
        other_count = results.others - (log.path in self._others)
        self._others.discard(log.path)
        skipped = tuple(entry for entry in results.skipped if entry.path != log.path)
        return replace(results, logs=(*results.logs, log), skipped=skipped, others=other_count)

    def is_new_index(self, path: str, entry: Opened) -> bool:
        """Whether a file is a saved index that can be opened, and was not there at the last look at everything."""
        is_index = isinstance(entry, Skipped) and entry.reason == INDEX
        return is_index and not self._indexes.contains(path) and not self._indexes.add(path, self._entries[path][0])

    def is_settled(self, path: str) -> bool:
        """Return whether the type of a file is final."""
        (_, size, _), entry = self._entries.get(path, ((0, 0, 0), None))
        if isinstance(entry, (FoundProfile, FoundDump)):  # written at once: whole when nothing changed for a moment
            return time.time_ns() - entry.changed >= WRITTEN
        if isinstance(entry, FoundLog):
            return self._has_logs or not self._needs_log(entry)
        if isinstance(entry, Skipped) and entry.reason == INDEX:
            return self._indexes.contains(path)  # else it may still be copied here
        return entry is not None and size >= UNDECIDED and not may_become(path, size)

    def come(self) -> list[FoundLog]:
        """Return the logs received through standard input, if it is one of the paths."""
        return [log for _, log in self._come([]) if isinstance(log, FoundLog)] if STANDARD_INPUT in self.paths else []

    def has_ended(self, path: str = "") -> bool:
        """Whether standard input has come to its end, where `path` is its copy, or is not given. No other file is known to end."""
        if STANDARD_INPUT not in self.paths:
            return False
        from tltui.inputs.archives.cache import standard_input

        stream = standard_input()
        return stream.has_ended and path in ("", stream.path)

    def forget(self, path: str) -> None:
        """Another file has this name now."""
        self._entries.pop(path, None)

    def _detect(self, path: str, top: str, is_named: bool | None = None) -> Opened:
        if is_job_output(path):
            return Skipped(path, KEPT)
        try:
            status = os.stat(path)
        except OSError as error:
            is_dangling = isinstance(error, FileNotFoundError) and os.path.islink(path)
            return Skipped(path, "a dangling symbolic link" if is_dangling else error.strerror or str(error))
        now = (status.st_ino, status.st_size, status.st_mtime_ns)
        before, entry = self._entries.get(path, ((0, 0, 0), Skipped(path, "")))
        if now == before:
            return entry
        is_same = isinstance(entry, FoundLog) and now[0] == before[0] and not self._needs_log(entry)
        if isinstance(entry, FoundLog) and is_same and (entry.clock is not None or SNIFF <= before[1] <= now[1]):
            entry = _again(entry, status)
        else:
            is_given = path in self._named_paths
            entry = _detect_file(path, top, status, is_given if is_named is None else is_named, is_given)
        self._entries[path] = (now, entry)
        return entry




def _is_new(key: str, keys: set[str]) -> bool:
    """Whether it was not seen before. It is from now on."""
    is_new = key not in keys
    keys.add(key)
    return is_new


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_foreign_empty_file(skipped: Skipped) -> bool:
    """Return whether an empty file is no trace of torch: Inductor leaves many of them in its debug directories."""
    return skipped.reason == EMPTY and "torch_trace" not in os.path.basename(skipped.path)


def _again(log: FoundLog, status: os.stat_result) -> FoundLog:
    """Return an updated entry for a log that has grown since its beginning was read."""
    started = status.st_mtime if log.clock is None else min(log.clock, status.st_mtime)
    return replace(log, size=status.st_size, started=started, ended=status.st_mtime)


def _detect_file(path: str, top: str, status: os.stat_result, is_named: bool = True, opens_plain: bool = False) -> Opened:
    """One file, or directory of units: a log, or the reason why it is none."""
    try:
        is_directory = stat.S_ISDIR(status.st_mode)
        if (is_directory or is_named) and (units := layout_of(path)) is not None:
            return _debug_directory(path, units, status)
        if not stat.S_ISREG(status.st_mode):
            return Skipped(path, "a directory" if is_directory else "not a regular file")
        file = FileBytes(path)
        head = head_of(file)
        reason = not_a_log(head, path)
        if reason:
            file.close()  # an open descriptor would hold the disk space of a deleted file
        if reason in (OTHER, PACKED) and (profile := profile_at(path)) is not None:
            return profile
        if reason == OTHER and is_dump(head):
            rank = rank_in(path)
            return Skipped(path, NO_RANK) if rank is None else FoundDump(path, status.st_size, status.st_mtime_ns, rank)
        form = form_of(head) if reason == OTHER else "" if reason else TRACE
        may_be_text = reason == OTHER and not form
        text = recognise(file, path, is_named, status.st_mtime, opens_plain) if may_be_text else None
        if text is not None and not text.certainty:
            file.close()
    except OSError as error:
        return Skipped(path, error.strerror or str(error))
    if not form and (text is None or not text.certainty):
        return Skipped(path, text.reason or reason if text else reason)
    if text is not None:
        clock = text.clock
    else:
        match = CLOCK.search(head)
        clock = float(match[1]) / 1e6 if match else None
    started = status.st_mtime if clock is None else min(clock, status.st_mtime)
    parts = os.path.relpath(path, top).split(os.sep) if top else [os.path.basename(path)]
    rank, launch = labels(parts)
    is_output = text is not None and text.is_output
    return FoundLog(path, status.st_size, rank, launch, started, status.st_mtime, clock, form or TEXT, is_output=is_output)


def _debug_directory(path: str, units: Layout, status: os.stat_result) -> FoundLog:
    started = None if units.started is None else units.started.timestamp()
    return FoundLog(
        path, 0, None, "", min(started or status.st_mtime, status.st_mtime), status.st_mtime, started, form=DEBUG_DIR
    )  # fmt: skip


def _explain_nothing(paths: tuple[str, ...], skipped: list[Skipped], other_count: int) -> str:
    where = ", ".join(paths)
    if len(paths) == 1 and len(skipped) == 1 and not other_count and skipped[0].path == os.path.expanduser(paths[0]):
        if where == STANDARD_INPUT and skipped[0].reason == EMPTY:
            return "standard input is empty: '-'\n  the command before the pipe printed nothing"
        fault, _, remedy = skipped[0].reason.rpartition("; ")
        return f"{fault}: '{where}'; {remedy}" if fault else f"{remedy}: '{where}'"
    lines = [f"no trace, TORCH_LOGS text, debug directory or tlparse output found: '{where}'"]
    lines += [f"  {item.path}: {item.reason}" for item in skipped[:10]]
    if len(skipped) > 10:
        lines.append(f"  … and {len(skipped) - 10} more")
    if other_count:
        lines.append(f"  {other_count} file{'s' * (other_count != 1)} of other kinds")
    return "\n".join(lines)


TURN = 0.5
"""Seconds after which it may be said how many were found so far."""


class Search:
    """A search in a thread that can be paused.

    `start` it and `wait` a little: if it has ended by then, read `result`. Else `hold` it during more urgent work, `go_on`, and
    read new logs with `come`.
    """

    def __init__(self, discovery: Discovery) -> None:
        self.discovery = discovery
        self.count = 0
        """Logs found so far."""
        self._results: Found | None = None
        self._error: Exception | None = None
        self._new: list[FoundLog] = []
        self._changed = threading.Condition()
        self._may = threading.Event()
        self._may.set()
        self.is_over = False
        """Whether all has been looked at. What was found may not have been taken yet."""
        self.is_stopped = False
        self._thread = threading.Thread(target=self._run, name="tltui search", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def hold(self) -> None:
        """Begin no further file for now."""
        self._may.clear()

    def go_on(self) -> None:
        """Go on."""
        self._may.set()

    def stop(self) -> None:
        """Nobody wants to know any more. Does not wait."""
        self.is_stopped = True
        self._may.set()

    def wait(self, seconds: float) -> bool:
        """Whether it is over, at the latest after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.is_over, seconds)

    def result(self) -> Found:
        """Return the results of the ended search, also for output of jobs without a log.

        Raises `NothingFound` and the exception of the search.
        """
        if isinstance(self._error, NothingFound) and self._error.outputs:
            return without_logs(self.discovery.paths, self._error)
        if self._error is not None:
            raise self._error
        assert self._results is not None
        return self._results

    def come(self) -> list[FoundLog] | None:
        """Return the new logs, oldest first; None when the search has ended.

        Returns none after `TURN` without a log, and where the choice of logs is only known at the end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._new or self.is_over, TURN)
            new, self._new = self._new, []
            return sorted(new, key=age) if new or not self.is_over else None

    def _run(self) -> None:
        try:
            self._search()
        except Exception as error:
            self._error = error
        with self._changed:
            self.is_over = True
            self._changed.notify_all()

    def _search(self) -> None:
        search = self.discovery.search()
        while not self.is_stopped:
            self._may.wait()
            try:
                log = next(search)
            except StopIteration as end:
                self._results = end.value
                return
            if log is None:
                continue
            self.count += 1
            if not self.discovery.needs_all:
                with self._changed:
                    self._new.append(log)
                    self._changed.notify_all()
