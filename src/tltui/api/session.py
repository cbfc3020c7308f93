"""An open run: its model, its reader, and its lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tltui.api.errors import Closed, translated
from tltui.model.follow import Follower
from tltui.model.run import Run, settle

PIECE = 8 << 20
"""Bytes that are read at a time."""


class Session:
    """An open run. Any thread may use it, one at a time (`Run.reading`)."""

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run
        self._lock = run.reading
        self._follower = Follower(run, run.discovered.discovery)

    @contextmanager
    def reading(self) -> Iterator[Run]:
        """Lock the model for the block. Raises `Closed`, and exceptions of the block as errors of the API."""
        with self._lock:
            if self._run is None:
                raise Closed("this run is closed. To open it again: tltui.open(path)")
            with translated():
                yield self._run

    def read(self) -> None:
        """Read newly written records."""
        with self.reading() as run:
            for event in self._follower.read(PIECE):
                run.update(event)
            settle(run)

    def refresh(self) -> bool:
        """Read new records and detect ended logs; return whether anything changed."""
        with self.reading() as run:
            before = _state(run)
            self.read()
            for event in self._follower.poll():
                run.update(event)
            settle(run)
            return _state(run) != before

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed."""
        return self._run is None

    def close(self) -> None:
        """Release the data."""
        with self._lock:
            self._run = None
            self._follower.stop()


def _state(run: Run) -> tuple[object, ...]:
    """Return the properties of a run that change with its files."""
    ended = [model.log.ended for model in run.models]
    return run.scanned, ended, len(run.lost), dict(run.unreadable), dict(run.failures), [file.export for file in run.profiles.files]
