"""Incremental reading of the files of a run while they are written.

    follower = Follower(run)
    for event in follower.read():      # reads files, touches no node: any one thread may do it
        run.update(event)                # the thread that owns the run

One `read` reads all available data of all files. `look`, to be called twice a second, polls the files that are due
(`sources/polling.py`): at most `RATE` polls a second, however many files there are. Their events are never invalidated by more
bytes: a log has `ended` only when it is certain that no process writes it (`tltui.sources.file_writers`).
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tltui.inputs.forms import TRACE, StepScanner, scanner_of
from tltui.model.run import Added, Event, Failed, Looked, Lost, Moved, Nothing, Read, Run, Unreadable, settle
from tltui.sources.discover import SNIFF, Discovery, Found, FoundLog, Looking, NothingFound
from tltui.sources.discovery_results import FoundDump, FoundProfile
from tltui.sources.file_writers import Writers
from tltui.sources.polling import Schedule, Watching, name_of
from tltui.text.frozen import mutable
from tltui.trace.files import CUT_OFF, REPLACED, FileBytes, Gone, Identity, identity_of
from tltui.trace.scan import STEP, Part, Scanner, parts_of
from tltui.trace.scan_workers import Workers, how_many

Beside = TypeVar("Beside", FoundProfile, FoundDump)

WORTH = 48 << 20
"""Bytes from which on it pays to start processes that scan."""
PATIENCE = 2
"""How often a log is found shorter than it was before it counts as cut off: writers of some file systems take bytes back."""
RATE = 200.0
"""Looks a second at files and directories, all together."""
FOR_NEW = 4
"""One look of so many is for logs that are not known yet."""
STILL = 3.0
"""Seconds without a change after which it is asked whether anybody still writes into a log."""
ASKED_AGAIN = 5.0
"""Seconds between two such questions, and so many times what the last one took."""
PART = 50
FAILED = (-2, -2)
"""What stands for size and time of a file that could not be read."""
DELETED = "the file was deleted"
GOES_ON = "written again after it was considered complete"


@mutable
class _Followed:
    """A log, and how far it was read."""

    path: str
    source: FileBytes
    scanner: StepScanner | None
    """None when nothing more will be read."""
    last_read: tuple[int, int] = (-1, -1)  # size and time of the last change when it was read
    short: int = 0
    unreadable: str = ""
    status: os.stat_result | None = None
    """Of the last look."""
    form: str = TRACE
    is_final: bool = False
    """Nobody writes into it."""

    @property
    def is_fresh(self) -> bool:
        """Whether nothing of it has been read, and it may be read in parts (`tltui.trace.scan`)."""
        return self.last_read == (-1, -1) and isinstance(self.scanner, Scanner)

    @property
    def done(self) -> bool:
        return self.scanner is None


class Follower:
    """Reads the logs of a run. With a `discovery` it also finds logs that were not there before."""

    def __init__(
        self,
        run: Run,
        discovery: Discovery | None = None,
        writers: Writers | None = None,
        faulted: Callable[[Exception], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        workers: int | None = None,
    ) -> None:
        """`workers`: how many processes may be started to read large logs, or many; None: as many as there are processors."""
        self._workers = how_many() if workers is None else workers
        self._pool: Workers[int] | None = None
        self._large = 0  # bytes of the logs that can be read by them
        self._faulted = faulted  # told of a fault of ours, which then costs one log; without it the fault is raised
        self._discovery = discovery
        self._writers = writers or Writers()
        self._is_over = run.discovered.is_over
        self._clock = clock
        self._results = run.discovered
        self._logs: list[_Followed] = []
        self._schedule: Schedule[int] = Schedule()
        self._watching: Watching | None = None
        self._polled_at = clock()
        self._asked = self._polled_at  # when it was last found out who writes
        self._took = 0.0
        final = {log.path for log in run.discovered.logs if log.is_final}
        for model in run.models:
            self._follow(model.source, model.form, model.source.path in final)

    def _follow(self, source: FileBytes, form: str, is_final: bool = False) -> _Followed:
        followed = _Followed(source.path, source, scanner_of(form, source), form=form, is_final=is_final)
        self._schedule.add(len(self._logs), self._clock())
        self._logs.append(followed)
        return followed

    def read(self, size: int = STEP) -> Iterator[Event]:
        """Everything that is written by now and was not there before, in pieces of about `size` bytes."""
        try:
            yield from self._read_now(size)
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop the workers and the search for logs."""
        if self._results.search is not None:
            self._results.search.stop()
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _read_now(self, size: int) -> Iterator[Event]:
        statuses: dict[int, os.stat_result] = {}
        for number in range(len(self._logs)):
            if not self._logs[number].done:
                yield from self._stat(number, statuses)
        if self._results.search is not None:
            yield from self._sought(self._results.search, statuses, size)
        else:
            count = len(self._logs)
            yield from self._discover()
            for number in range(count, len(self._logs)):
                if number not in statuses:
                    yield from self._stat(number, statuses)
            yield from self._read_all(statuses, size)
        # only then: looking at all processes takes long where there are many. What is there when nobody writes any more is all
        waiting = {number: status for number, status in statuses.items() if not self._logs[number].done}
        if waiting:
            ended = self._writers.ended({self._logs[number].path: status for number, status in waiting.items()})
            yield from self._end(waiting, ended, size)

    def _sought(self, search: Looking, statuses: dict[int, os.stat_result], size: int) -> Iterator[Event]:
        """Read logs while others are still being looked for. What was looked at goes to `look`."""
        search.go_on()
        while (new := search.come()) is not None and not search.is_stopped:
            yield from self._arrived(new, replace(self._results, logs=(*self._results.logs, *new)), statuses, size)
        if search.is_stopped:
            return
        try:
            results = search.result()
        except NothingFound as nothing:
            if nothing.is_empty:  # a log may come
                self._results = replace(self._results, search=None)
                yield Looked(self._results)
            else:
                yield Nothing(str(nothing))
            return
        paths = {followed.path for followed in self._logs}
        yield from self._arrived([log for log in results.logs if log.path not in paths], results, statuses, size)

    def add(self, logs: Iterable[FoundLog]) -> Iterator[Event]:
        """Read logs that were left out (`Run.unread`), as far as they are written."""
        new = [log for log in dict.fromkeys(logs) if log not in self._results.logs]
        if new:
            yield from self._arrived(new, replace(self._results, logs=(*self._results.logs, *new)), {}, STEP)

    def _arrived(self, new: list[FoundLog], results: Found, statuses: dict[int, os.stat_result], size: int) -> Iterator[Event]:
        """Read newly discovered logs."""
        self._results = results
        yield Looked(results)
        new_statuses: dict[int, os.stat_result] = {}
        for log in new:
            yield self._added(log)
            yield from self._stat(len(self._logs) - 1, new_statuses)
        yield from self._read_all(new_statuses, size)
        statuses |= new_statuses

    def _read_all(self, statuses: dict[int, os.stat_result], size: int) -> Iterator[Event]:
        """Read several logs further, one piece of each in turn, and to the end those without a writer."""
        new = {self._logs[number].path: status for number, status in statuses.items() if self._logs[number].last_read == (-1, -1)}
        over = self._writers.abandoned(new) if not self._is_over else set(new)
        final = {number for number in statuses if self._is_over or self._logs[number].is_final or self._logs[number].path in over}
        fresh = {number: statuses[number] for number in statuses if self._logs[number].is_fresh}
        self._large += sum(status.st_size for status in fresh.values())
        if self._workers and self._large >= WORTH:
            yield from self._read_parts(fresh, size)
        readers = deque(self._read(number, status, number in final, size) for number, status in statuses.items())
        while readers:
            event = next(readers[0], None)
            if event is None:
                readers.popleft()
            else:
                yield event
                readers.rotate(-1)

    def _read_parts(self, statuses: dict[int, os.stat_result], size: int) -> Iterator[Event]:
        """Have parts of logs scanned by other processes, but for the last record of each. What they do not find is found here."""
        if self._pool is None:
            self._pool = Workers(self._workers)
        for number, part, result in self._pool.scan(self._parts(statuses)):
            scanner = self._logs[number].scanner
            if not isinstance(scanner, Scanner) or scanner.reached != part.begin:
                continue  # something was wrong before: it is read on where that was
            if result is not None:
                scanner.take_over(*result)
                for batch in result.batches:
                    yield Read(number, batch)
            elif not part.is_last:
                yield from self._read_part(number, scanner, part.end, size)

    def _parts(self, statuses: dict[int, os.stat_result]) -> Iterator[tuple[int, Part]]:
        """Yield the parts of logs, one of each in turn."""
        readers: deque[tuple[int, Iterator[Part]]] = deque()
        for number, status in statuses.items():
            source = self._logs[number].source
            source.identity = source.identity or identity_of(status)
            readers.append((number, parts_of(source, status.st_size)))
        while readers:
            number, parts = readers.popleft()
            if (part := next(parts, None)) is not None:
                yield number, part
                readers.append((number, parts))

    def _read_part(self, number: int, scanner: Scanner, end: int, size: int) -> Iterator[Event]:
        """Scan a part here. What fails fails again where the rest is read, and is told there."""
        is_whole = False
        while scanner.reached < end and not is_whole:
            try:
                batch = scanner.step(size, False, end)
            except Exception:
                return
            is_whole = batch.waiting
            yield Read(number, batch)

    def poll(self) -> Iterator[Event]:
        """Yield the news of the due files and of the directories; to be called twice a second after `read`."""
        now = self._clock()
        most = max(int(min(now - self._polled_at, 1.0) * RATE), FOR_NEW)
        self._polled_at = now
        if self._discovery is not None:
            yield from self._new_logs(self._discovery, now, most // FOR_NEW)
        for number in self._schedule.due_keys(now, most - most // FOR_NEW):
            yield from self._look_at(number, now)
        yield from self._ends(now)

    def has_grown(self) -> bool:
        """Whether there is something to read: looks at the files whose turn it is, and reads nothing."""
        now = self._clock()
        most = max(int(min(now - self._polled_at, 1.0) * RATE), 1)
        self._polled_at = now
        for number in self._schedule.due_keys(now, most):
            self._schedule.polled(number, now, False)
            followed = self._logs[number]
            try:
                status = os.stat(followed.path)
            except OSError:
                continue
            if (status.st_size, status.st_mtime_ns) != followed.last_read:
                return True
        return False

    def _look_at(self, number: int, now: float) -> Iterator[Event]:
        followed = self._logs[number]
        statuses: dict[int, os.stat_result] = {}
        yield from self._stat(number, statuses)
        status = statuses.pop(number, None)
        for other, new in statuses.items():
            yield from self._read(other, new, False, STEP)
        changed = status is not None and (status.st_size, status.st_mtime_ns) != followed.last_read
        if status is not None and followed.unreadable == DELETED:
            yield from self._unreadable(number, "")
        if status is not None and changed:
            if followed.done:
                followed.last_read = (status.st_size, status.st_mtime_ns)
                yield from self._unreadable(number, GOES_ON)
            else:
                yield from self._read(number, status, False, STEP)
                yield from self._begun(number)
        self._schedule.polled(number, now, changed and not followed.unreadable)

    def _ends(self, now: float) -> Iterator[Event]:
        """Yield the end of each log without a writer; seldom, since a scan of all processes may take long."""
        if now - self._asked < max(ASKED_AGAIN, PART * self._took):
            return
        still = {
            number: followed.status
            for number, followed in enumerate(self._logs)
            if not followed.done and followed.status is not None and self._schedule.quiet(number, now) >= STILL
        }
        if not still:
            return
        ended = self._writers.ended({self._logs[number].path: status for number, status in still.items()})
        if self._discovery is not None:
            ended |= {self._logs[number].path for number in still if self._discovery.has_ended(self._logs[number].path)}
        self._asked, self._took = self._clock(), self._clock() - now
        yield from self._end(still, ended, STEP)

    def _end(self, statuses: dict[int, os.stat_result], ended: set[str], size: int) -> Iterator[Event]:
        """Read logs to their ends into which nobody writes any more. They may have grown since they were looked at."""
        for number, status in statuses.items():
            if self._logs[number].path in ended:
                self._schedule.drop(number)
                yield from self._read(number, status, True, size)

    def _new_logs(self, discovery: Discovery, now: float, most: int) -> Iterator[Event]:
        if self._watching is None:
            self._watching = Watching(discovery, now)
        for log in self._watching.poll(now, most):
            identity = _identity(log.path)
            if any(identity == followed.source.identity and not followed.source.lost_reason for followed in self._logs):
                continue  # another name of what is read already
            self._results = discovery.with_log(self._results, log)
            yield Looked(self._results)
            yield self._added(log)
        yield from self._new_profiles_and_dumps(self._watching)
        if self._watching.has_index:
            self._watching.has_index = False
            yield from self._discover()
        if not self._logs and not self._results.is_over and discovery.has_ended():
            yield from self._came_to_nothing(discovery)

    def _new_profiles_and_dumps(self, watching: Watching) -> Iterator[Event]:
        """Profiles and dumps of the flight recorder that are new, or were written again."""
        profiles, dumps = _renewed(self._results.profiles, watching.profiles), _renewed(self._results.dumps, watching.dumps)
        watching.profiles.clear()
        watching.dumps.clear()
        if (profiles, dumps) != (self._results.profiles, self._results.dumps):
            self._results = replace(self._results, profiles=profiles, dumps=dumps)
            yield Looked(self._results)

    def _came_to_nothing(self, discovery: Discovery) -> Iterator[Event]:
        """Report that standard input has ended without a log."""
        try:
            self._results = discovery.discover()
        except NothingFound as nothing:
            self._results = replace(self._results, is_over=True, notes=(str(nothing),))
        yield Looked(self._results)

    def _begun(self, number: int) -> Iterator[Event]:
        """When a log began is said by its first event, which its beginning may not have had yet when the log was found."""
        path = self._logs[number].path
        entry = next((log for log in self._results.logs if log.path == path), None)
        if self._discovery is None or entry is None or entry.clock is not None or entry.size >= SNIFF:
            return
        again = self._discovery.look_at(path)
        if isinstance(again, FoundLog) and again.clock is not None:
            yield self._look_known(tuple(again if log is entry else log for log in self._results.logs))

    def _look_known(self, logs: tuple[FoundLog, ...]) -> Looked:
        self._results = replace(self._results, logs=logs)
        return Looked(self._results)

    def _unreadable(self, number: int, reason: str) -> Iterator[Event]:
        followed = self._logs[number]
        if reason != followed.unreadable:
            followed.unreadable = reason
            yield Unreadable(number, reason)

    def _discover(self) -> Iterator[Event]:
        """Yield the events of new logs."""
        if self._discovery is None:
            return
        try:
            results = self._discovery.discover()
        except NothingFound:
            return
        self._results = results
        yield Looked(results)
        names = {followed.path for followed in self._logs}
        for log in results.logs:
            if log.path not in names:
                yield self._added(log)

    def _added(self, log: FoundLog) -> Added:
        return Added(log, self._follow(log.source(), log.form, log.is_final).source)

    def _stat(self, number: int, statuses: dict[int, os.stat_result]) -> Iterator[Event]:
        """Look at one file: whether it is still the same, and no shorter than before."""
        followed = self._logs[number]
        try:
            status = os.stat(followed.path)
        except OSError as error:
            if followed.last_read == (-1, -1):
                followed.scanner = None
                yield Failed(number, error)
            elif isinstance(error, FileNotFoundError) and (name := self._name_of(followed)) is not None:
                yield from self._moved(number, name)
            else:
                reason = DELETED if isinstance(error, FileNotFoundError) else error.strerror or str(error)
                yield from self._unreadable(number, reason)
            return  # what was read before stays; the next look may find it again
        if followed.source.identity not in (None, identity_of(status)):
            if (name := self._name_of(followed)) is not None:
                yield from self._moved(number, name)
            else:
                yield from self._lost(number, REPLACED, status, statuses)
        elif followed.scanner is not None and status.st_size < followed.scanner.reached:
            followed.short += 1
            if followed.short >= PATIENCE:
                yield from self._lost(number, CUT_OFF, status, statuses)
        else:
            followed.short = 0
            statuses[number] = followed.status = status

    @staticmethod
    def _name_of(followed: _Followed) -> str | None:
        """Return the new name of a renamed log, '' if it has none."""
        identity = followed.source.identity
        return name_of(followed.path, identity) if identity is not None else None

    def _moved(self, number: int, path: str) -> Iterator[Event]:
        """Rename a log; the file at its former name may be a new log."""
        followed = self._logs[number]
        if self._watching is not None:
            self._watching.renamed(followed.path)
        followed.path = followed.source.path = path
        yield Moved(number, path)

    def _lost(self, number: int, reason: str, status: os.stat_result, statuses: dict[int, os.stat_result]) -> Iterator[Event]:
        """Mark the read data of a log as lost; the present file is another log and is appended to `look`."""
        followed = self._logs[number]
        followed.scanner, followed.source.lost_reason = None, reason
        self._schedule.drop(number)
        yield Lost(number, reason)
        if not stat.S_ISREG(status.st_mode):
            return
        log = FoundLog(followed.path, status.st_size, None, "", status.st_mtime, status.st_mtime, form=followed.form)
        statuses[len(self._logs)] = status
        yield Added(log, self._follow(log.source(), log.form).source, instead_of=number)

    def _read(self, number: int, status: os.stat_result, last: bool, size: int) -> Iterator[Event]:
        """Read a log further; with `last` the present data is complete."""
        followed = self._logs[number]
        now = (status.st_size, status.st_mtime_ns)
        if now == followed.last_read and not last:
            return
        is_first, followed.last_read, followed.status = followed.last_read == (-1, -1), now, status
        finished = False
        while not finished and followed.scanner is not None:
            try:
                batch = followed.scanner.step(size, last)
                finished = batch.finished or batch.waiting
                if finished:
                    followed.source.reached(batch.scanned)
            except Gone as lost:
                instead: dict[int, os.stat_result] = {}
                yield from self._lost(number, lost.strerror or "", status, instead)
                for other, renewed in instead.items():
                    yield from self._read(other, renewed, last, size)
                return
            except OSError as error:
                if is_first or last:
                    followed.scanner = None
                    yield Failed(number, error)
                else:  # it is tried again
                    followed.last_read = FAILED
                    yield from self._unreadable(number, error.strerror or str(error))
                return
            except Exception as error:
                if self._faulted is None:
                    raise
                self._faulted(error)
                followed.scanner = None
                yield Failed(number, OSError(f"internal error in tltui: {type(error).__name__}"))
                return
            if batch.finished:
                followed.scanner = None
            yield Read(number, batch)
        yield from self._unreadable(number, "")


def open_run(results: Found, writers: Writers | None = None) -> Run:
    """Read all logs at once, as far as they are written, for the command line.

    Logs that fail on the way are kept as far as they were read.
    """
    run = Run(results)
    for event in Follower(run, writers=writers).read(8 << 20):
        run.update(event)
    settle(run)
    return run


def _identity(path: str) -> Identity | None:
    try:
        return identity_of(os.stat(path))
    except OSError:
        return None


def _renewed(previous: tuple[Beside, ...], current: Sequence[Beside]) -> tuple[Beside, ...]:
    """Replace files by their changed versions."""
    same = {(file.path, file.size, file.changed) for file in previous}
    new: dict[str, Beside] = {file.path: file for file in current if (file.path, file.size, file.changed) not in same}
    unchanged = [file for file in previous if file.path not in new]
    return tuple(unchanged + list(new.values()))
