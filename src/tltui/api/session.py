"""A run that is open: its model, what reads it, and who may use it now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tltui.api.errors import Closed, translated
from tltui.model.follow import Follower
from tltui.model.run import Run, settle

PIECE = 8 << 20
"""Bytes that are read at a time."""


class Session:
    """One run that is open. Any thread may use it; one at a time does (`Run.reading`)."""

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run
        self._lock = run.reading
        self._follower = Follower(run, run.found.discovery)

    @contextmanager
    def reading(self) -> Iterator[Run]:
        """The model, for as long as the block runs. Raises `Closed`, and what the block raises as errors of the API."""
        with self._lock:
            if self._run is None:
                raise Closed("this run was closed: tltui.open(path) opens it again")
            with translated():
                yield self._run

    def read(self) -> bool:
        """Read what is written by now and was not there before; whether that was anything."""
        with self.reading() as run:
            before = run.version
            for event in self._follower.read(PIECE):
                run.take(event)
            settle(run)
            return run.version != before

    def look(self) -> bool:
        """`read`, and find out which logs have ended since."""
        with self.reading() as run:
            has_news = self.read()
            before = run.version
            for event in self._follower.look():
                run.take(event)
            settle(run)
            return has_news or run.version != before

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._run is None

    def close(self) -> None:
        """Let go of what was read."""
        with self._lock:
            self._run = None
            self._follower.stop()
