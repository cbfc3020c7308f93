"""Looking now and then whether something was written: a thread of its own, which touches no node and no widget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

EVERY = 0.5
"""Seconds between two looks."""
YIELD = 0.001
"""Seconds of sleep between two pieces of work, so that a key that waits for the same lock gets it."""


class Watch:
    """Calls `look` every `EVERY` seconds until it is stopped. It works piece by piece, and yields in between; what it raises ends
    the watch."""

    def __init__(self, look: Callable[[], Iterator[None]], faulted: Callable[[BaseException], object]) -> None:
        self._look = look
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
                for _ in self._look():
                    if self._stop.wait(YIELD):
                        return
        except Exception as error:
            self._faulted(error)
