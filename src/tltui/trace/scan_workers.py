"""Processes that scan chunks of logs."""

from __future__ import annotations

import fcntl
import os
import pickle
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

from tltui.settings import said_by
from tltui.trace import worker
from tltui.trace.scan import Part, Scanned

MOST = 8
"""Processes: with more of them one that takes over what they find is behind."""
AHEAD = 2
"""Parts that a process has before it, so that it never waits for the next one."""
PIPE = 1 << 20
"""Bytes of an answer that wait for the reader."""
WAIT = 0.1
"""Seconds of one wait for an answer."""
PATIENCE = 20.0
"""Seconds of waiting for a process that gives nothing, after which it is ended. Its parts are scanned by whoever wants them."""
LAST = 0.5
"""Seconds that a process which was ended is waited for."""
VARIABLE = "TLTUI_WORKERS"

Key = TypeVar("Key")
_running: set[subprocess.Popen[bytes]] = set()
"""Those that were started and not ended."""


def end_all() -> None:
    """End all of them: for a program that is left in the middle."""
    for process in tuple(_running):
        process.kill()


def how_many() -> int:
    """How many processes may be started: as many as there are processors for us, none where there is one only."""
    value = said_by(os.environ, VARIABLE)
    if isinstance(value, int):
        return min(value, 64)
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(free, MOST) if free > 1 else 0


class _Worker(Generic[Key]):
    """One process."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-S", worker.__file__]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        _running.add(self.process)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._to, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.out, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # no more pages for pipes of this user: it is slower then
                fcntl.fcntl(self.out, fcntl.F_SETPIPE_SZ, PIPE)
        self.parts: deque[_Asked[Key]] = deque()
        self.waited = 0.0
        self._come = bytearray()
        self._send(worker.packed([path for path in sys.path if path]))

    def _send(self, data: bytes) -> None:
        with suppress(OSError):  # it has ended: that is found when its answer is read
            os.write(self._to, data)

    def ask(self, request: _Asked[Key]) -> None:
        self.parts.append(request)
        self._send(worker.packed(request.part))

    def hear(self) -> bool:
        """Receive an answer; return False when the worker has ended."""
        try:
            data = os.read(self.out, PIPE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        self.waited = 0.0
        self._come += data
        while len(self._come) >= worker.SIZE.size:
            size = worker.SIZE.unpack_from(self._come)[0] + worker.SIZE.size
            if len(self._come) < size:
                break
            request = self.parts.popleft()
            request.answer, request.is_done = bytes(self._come[worker.SIZE.size : size]), True
            del self._come[:size]
        return True

    def end(self) -> None:
        """End it at once. What it was asked stays without an answer."""
        for request in self.parts:
            request.is_done = True
        self.parts.clear()
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):  # a file system may hold it
            self.process.wait(LAST)
            _running.discard(self.process)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


class _Asked(Generic[Key]):
    """A part that a process was asked for."""

    __slots__ = ("answer", "is_done", "key", "part")

    def __init__(self, key: Key, part: Part) -> None:
        self.key, self.part = key, part
        self.answer = b""
        self.is_done = False


class Workers(Generic[Key]):
    """Some processes, until they are closed."""

    def __init__(self, count: int) -> None:
        self._workers: list[_Worker[Key]] = []
        self._selector = selectors.DefaultSelector()

        with suppress(OSError):  # no more processes here: those that there are do it
            for _ in range(count):
                child: _Worker[Key] = _Worker()
                self._workers.append(child)
                self._selector.register(child.out, selectors.EVENT_READ, child)

    def close(self) -> None:
        """End them at once, whatever they do."""
        for child in tuple(self._workers):
            self._end(child)
        self._selector.close()

    def _end(self, child: _Worker[Key]) -> None:
        self._selector.unregister(child.out)
        self._workers.remove(child)
        child.end()

    def scan(self, parts: Iterable[tuple[Key, Part]]) -> Iterator[tuple[Key, Part, Scanned | None]]:
        """Yield the scan results of parts, in the order of these; None where the caller has to scan the part itself.

        That happens where the scan depends on the bytes before the part, the file cannot be read, the process has ended or does not
        answer.
        """
        source, waiting = iter(parts), deque[_Asked[Key]]()
        while True:
            while len(waiting) < max(len(self._workers), 1) * AHEAD and (following := next(source, None)) is not None:
                request = _Asked(*following)
                waiting.append(request)
                self._give(request)
            if not waiting:
                return
            first = waiting.popleft()
            while not first.is_done:
                self._wait()
            yield first.key, first.part, pickle.loads(first.answer) if first.answer else None
            first.answer = b""

    def _give(self, request: _Asked[Key]) -> None:
        if self._workers:
            min(self._workers, key=lambda child: len(child.parts)).ask(request)
        else:
            request.is_done = True

    def _wait(self) -> None:
        """Wait a little for answers. A process that has ended, or gives nothing for long, is done with."""
        ready = self._selector.select(WAIT)
        for key, _ in ready:
            if not key.data.hear():
                self._end(key.data)
        if not ready:  # not by the clock: who was stopped and goes on has not waited
            for child in tuple(self._workers):
                child.waited += WAIT if child.parts else 0.0
                if child.waited >= PATIENCE:
                    self._end(child)
