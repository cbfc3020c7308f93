"""The reading of the logs: a thread of its own, since it touches no node."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tltui.model.follow import Follower
from tltui.model.run import Event

AHEAD = 4
"""Events that may wait for the UI thread."""


class Scan:
    """One thread that reads the logs in turn and posts what it found. It never touches a widget or the run."""

    def __init__(
        self, follower: Follower, post: Callable[[Event], object], faulted: Callable[[BaseException], object]
    ) -> None:
        self._follower = follower
        self._post = post
        self._faulted = faulted
        self._stop = threading.Event()
        self._room = threading.Semaphore(AHEAD)
        self._thread = threading.Thread(target=self._run, name="tltui scan", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next step; does not wait."""
        self._stop.set()
        self._room.release()

    def applied(self) -> None:
        """The UI thread took over an event: there is room for one more."""
        self._room.release()

    def _run(self) -> None:
        try:
            for event in self._follower.read():
                self._room.acquire()
                if self._stop.is_set():
                    return
                self._post(event)
        except Exception as error:
            self._faulted(error)
