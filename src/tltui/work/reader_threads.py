"""Threads that read logs and watch files for growth."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from tltui.model.follow import Follower
from tltui.model.run import Event, Read
from tltui.sources.discovery_results import FoundLog

EVERY = 0.5
"""Seconds between two polls."""
YIELD = 0.001
"""Seconds of sleep between two pieces of work, so that a key that waits for the same lock gets it."""


class Watch:
    """A timer that calls `poll` every `EVERY` seconds until stopped.

    It works piece by piece and yields in between; an exception ends the watch.
    """

    def __init__(self, poll: Callable[[], Iterator[None]], faulted: Callable[[BaseException], object]) -> None:
        self._poll = poll
        self._faulted = faulted
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tltui watch", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next piece; does not wait."""
        self._stop.set()

    def _run(self) -> None:
        try:
            while not self._stop.wait(EVERY):
                for _ in self._poll():
                    if self._stop.wait(YIELD):
                        return
        except Exception as error:
            self._faulted(error)


AHEAD = 4
"""Posts that may wait for the UI thread."""
TOGETHER = 2_000
"""Records that are posted together while the UI thread has no time for more: it takes them over in 5 ms or so."""
EVENT = 10
"""Cost of an event besides its records, in records."""
TICK = 0.5
"""Seconds between two polls of files that are followed."""
GLANCE = 10.0
"""Seconds between two polls of files that are not."""


class Scan:
    """A thread that reads the logs in turn and posts batches. It never touches a widget or the run.

    It reads the existing data and posts None; then, while following, the appended data. While not following it posts `grown` once
    when a log has grown.
    """

    def __init__(
        self,
        follower: Follower,
        post: Callable[[tuple[Event | None, ...]], object],
        faulted: Callable[[BaseException], object],
        grown: Callable[[], object] = lambda: None,
    ) -> None:
        self._follower = follower
        self._post = post
        self._faulted = faulted
        self._grown = grown
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._follows = False
        self._wanted: deque[tuple[FoundLog, ...]] = deque()
        self._room = threading.Semaphore(AHEAD)
        self._thread = threading.Thread(target=self._run, name="tltui scan", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next step; does not wait."""
        self._stop.set()
        self._follower.stop()
        self._wake.set()
        self._room.release()

    def applied(self) -> None:
        """Acknowledge a post: the UI thread has applied it and the queue has room for one more."""
        self._room.release()

    @property
    def follows(self) -> bool:
        """Return whether the scan reads appended data."""
        return self._follows

    def follow(self, on: bool) -> None:
        """Turn the reading of appended data on or off."""
        self._follows = on
        self._wake.set()

    def want(self, logs: Iterable[FoundLog]) -> None:
        """Queue further logs after the current ones."""
        self._wanted.append(tuple(logs))
        self._wake.set()

    def _run(self) -> None:
        try:
            self._post_all(self._follower.read())
            self._post_all((None,))
            has_grown = False
            while not self._stop.is_set():
                self._wake.wait(TICK if self._follows else None if has_grown else GLANCE)
                self._wake.clear()
                while self._wanted:
                    self._post_all(self._follower.add(self._wanted.popleft()))
                if self._follows:
                    has_grown = False
                    self._post_all(self._follower.poll())
                elif not has_grown and self._follower.has_grown():
                    has_grown = True
                    self._grown()
        except Exception as error:
            self._faulted(error)

    def _post_all(self, events: Iterable[Event | None]) -> None:
        """Post events: at once where the UI thread has time for them, else some together."""
        ready: list[Event | None] = []
        weight = 0
        for event in events:
            ready.append(event)
            weight += EVENT + (len(event.batch.columns) if isinstance(event, Read) else 0)
            if self._room.acquire(blocking=weight >= TOGETHER):
                if self._stop.is_set():
                    return
                self._post(tuple(ready))
                ready.clear()
                weight = 0
        if ready:
            self._room.acquire()
            if not self._stop.is_set():
                self._post(tuple(ready))
