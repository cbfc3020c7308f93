"""Looking for logs in a thread of its own, so that neither the first frame nor a key waits for a file: a directory may have
thousands, and a network file system may take seconds for one."""

from __future__ import annotations

import threading

from tltui.sources.discover import Discovery, Found, FoundLog, NothingFound, age, without_logs

TURN = 0.5
"""Seconds after which it may be said how many were found so far."""


class Search:
    """Looks once. `start` it, `wait` a little: what it is over with by then is `result`. Else `hold` it while something more urgent
    is done, `go_on`, and take what has `come`."""

    def __init__(self, discovery: Discovery) -> None:
        self.discovery = discovery
        self.count = 0
        """Logs found so far."""
        self._found: Found | None = None
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
        """What was found, also that a job has printed something and no log is there. To be asked when it is over. Raises
        `NothingFound`, and what else went wrong."""
        if isinstance(self._error, NothingFound) and self._error.outputs:
            return without_logs(self.discovery.paths, self._error)
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found

    def come(self) -> list[FoundLog] | None:
        """The logs that have come, the oldest first; none after `TURN` without one, and where it turns out at the end which of them
        are wanted. None when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._new or self.is_over, TURN)
            new, self._new = self._new, []
            return sorted(new, key=age) if new or not self.is_over else None

    def _run(self) -> None:
        try:
            self._look()
        except Exception as error:
            self._error = error
        with self._changed:
            self.is_over = True
            self._changed.notify_all()

    def _look(self) -> None:
        looking = self.discovery.looking()
        while not self.is_stopped:
            self._may.wait()
            try:
                log = next(looking)
            except StopIteration as end:
                self._found = end.value
                return
            if log is None:
                continue
            self.count += 1
            if not self.discovery.needs_all:
                with self._changed:
                    self._new.append(log)
                    self._changed.notify_all()
