"""The files of a run, read as far as they are written, as often as they grow.

    follower = Follower(run)
    for event in follower.read():      # reads files, touches no node: any one thread may do it
        run.take(event)                # the thread that owns the run

One `read` is one look at the files: everything that is there now. What it gives says nothing that more bytes make wrong: a log
has `ended` only when it is known that nobody writes into it (`tltui.sources.writers`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tltui.model.run import Added, Event, Failed, Looked, Lost, Moved, Read, Run, settle
from tltui.sources.discover import Discovery, Found, FoundLog, NothingFound
from tltui.sources.writers import Writers
from tltui.trace.files import CUT_OFF, REPLACED, FileBytes, Gone, Identity, identity_of
from tltui.trace.scan import STEP, Scanner

PATIENCE = 2
"""How often a log is found shorter than it was before it counts as cut off: writers of some file systems take bytes back."""


@dataclass(slots=True)
class _Followed:
    """A log, and how far it was read."""

    path: str
    source: FileBytes
    scanner: Scanner | None
    """None when nothing more will be read."""
    seen: tuple[int, int] = (-1, -1)  # size and time of the last change when it was read
    short: int = 0

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
    ) -> None:
        self._faulted = faulted  # told of a fault of ours, which then costs one log; without it the fault is raised
        self._discovery = discovery
        self._writers = writers or Writers()
        self._is_over = run.found.is_over
        self._logs: list[_Followed] = []
        for model in run.models:
            assert isinstance(model.log.source, FileBytes)
            self._follow(model.log.path, model.log.source)

    def _follow(self, path: str, source: FileBytes) -> _Followed:
        followed = _Followed(path, source, Scanner(source))
        self._logs.append(followed)
        return followed

    def read(self, size: int = STEP) -> Iterator[Event]:
        """Everything that is written by now and was not there before, in pieces of about `size` bytes."""
        yield from self._discover()
        look: dict[int, os.stat_result] = {}
        for number in range(len(self._logs)):
            if not self._logs[number].done:
                yield from self._stat(number, look)
        for number, status in look.items():
            followed = self._logs[number]
            quiet = self._is_over or (followed.seen == (-1, -1) and self._writers.quiet(status))
            yield from self._read(number, status, quiet, size)
        # only then: looking at all processes takes long where there are many. What is there when nobody writes any more is all
        waiting = {number: status for number, status in look.items() if not self._logs[number].done}
        if waiting:
            ended = self._writers.ended({self._logs[number].path: status for number, status in waiting.items()})
            for number, status in waiting.items():
                if self._logs[number].path in ended:
                    yield from self._read(number, status, True, size)

    def _discover(self) -> Iterator[Event]:
        """Logs that are new, and logs that have another name now."""
        if self._discovery is None:
            return
        try:
            found = self._discovery.look()
        except NothingFound:
            return
        yield from self._renamed(found.logs)
        yield Looked(found)
        names = {followed.path for followed in self._logs}
        for log in found.logs:
            if log.path not in names:
                yield self._added(log)

    def _renamed(self, logs: tuple[FoundLog, ...]) -> Iterator[Event]:
        """Logs that have another name now. What they were called may be new logs."""
        names = {followed.path for followed in self._logs}
        new = {identity: log.path for log in logs if log.path not in names and (identity := _identity(log.path))}
        for number, followed in enumerate(self._logs if new else ()):
            path = new.get(followed.source.identity or (-1, -1))
            if path is not None and _identity(followed.path) != followed.source.identity:
                followed.path = followed.source.path = path
                yield Moved(number, path)

    def _added(self, log: FoundLog) -> Added:
        return Added(log, self._follow(log.path, FileBytes(log.path)).source)

    def _stat(self, number: int, look: dict[int, os.stat_result]) -> Iterator[Event]:
        """Look at one file: whether it is still the same, and no shorter than before."""
        followed = self._logs[number]
        try:
            status = os.stat(followed.path)
        except OSError as error:
            if followed.seen == (-1, -1):
                followed.scanner = None
                yield Failed(number, error)
            return  # what was read before stays; the next look may find it again
        if followed.source.identity not in (None, identity_of(status)):
            yield from self._lost(number, REPLACED, status, look)
        elif followed.scanner is not None and status.st_size < followed.scanner.reached:
            followed.short += 1
            if followed.short >= PATIENCE:
                yield from self._lost(number, CUT_OFF, status, look)
        else:
            followed.short = 0
            look[number] = status

    def _lost(self, number: int, reason: str, status: os.stat_result, look: dict[int, os.stat_result] | None) -> Iterator[Event]:
        """What was read is not in the file any more; what is there now is another log."""
        followed = self._logs[number]
        followed.scanner, followed.source.gone = None, reason
        yield Lost(number, reason)
        log = FoundLog(followed.path, status.st_size, None, "", status.st_mtime, status.st_mtime)
        yield Added(log, self._follow(followed.path, FileBytes(followed.path)).source, instead_of=number)
        if look is not None:
            look[len(self._logs) - 1] = status

    def _read(self, number: int, status: os.stat_result, last: bool, size: int) -> Iterator[Event]:
        """Read on; with `last` what is there is all that will be."""
        followed = self._logs[number]
        now = (status.st_size, status.st_mtime_ns)
        if now == followed.seen and not last:
            return
        followed.seen = now
        finished = False
        while not finished and followed.scanner is not None:
            try:
                batch = followed.scanner.step(size, last)
                finished = batch.finished or batch.waiting
                if finished:
                    followed.source.reached(batch.scanned)
            except Gone as gone:
                yield from self._lost(number, gone.strerror or "", status, None)
                yield from self._read(len(self._logs) - 1, status, last, size)
                return
            except OSError as error:
                followed.scanner = None
                yield Failed(number, error)
                return
            except Exception as error:
                if self._faulted is None:
                    raise
                self._faulted(error)
                followed.scanner = None
                yield Failed(number, OSError(f"a fault of tltui: {type(error).__name__}"))
                return
            if batch.finished:
                followed.scanner = None
            yield Read(number, batch)


def open_run(found: Found, writers: Writers | None = None) -> Run:
    """Read all logs at once, as far as they are written, for the command line. Logs that fail on the way are kept as far as they
    were read."""
    run = Run(found)
    for event in Follower(run, writers=writers).read(8 << 20):
        run.take(event)
    settle(run)
    return run


def _identity(path: str) -> Identity | None:
    try:
        return identity_of(os.stat(path))
    except OSError:
        return None


