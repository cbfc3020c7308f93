"""Who may touch the nodes of the run: the UI thread, which takes over batches, or the scheduler's, which reads in slices.

Whoever lets go of a lock and takes it again at once starves the other. So the UI thread, which never waits, says when it found the
gate closed; the scheduler then leaves it open until the UI thread had it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

PATIENCE = 0.1
"""Seconds that the scheduler leaves the gate open for a UI thread that wants it and does not come."""


class Lock(Protocol):
    """`Run.reading`."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; False where it is taken and `blocking` is off."""

    def release(self) -> None:
        """Let it go."""


class Gate:
    """The lock of a run, taken in turn."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def slice(self) -> Iterator[None]:
        """For the scheduler: a slice of reading."""
        self._free.wait(PATIENCE)
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def at_once(self) -> Iterator[bool]:
        """For the UI thread: True where it may change the run now; False: it is to come again soon, the way will be free."""
        if not self._lock.acquire(blocking=False):
            self._free.clear()
            yield False
            return
        try:
            yield True
        finally:
            self._free.set()
            self._lock.release()
