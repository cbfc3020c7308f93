"""The scan of the logs: a thread of its own, since it touches no node."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tltui.trace.batch import Batch
from tltui.trace.scan import Scanner

AHEAD = 4
"""Batches that may wait for the UI thread."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the scan: a batch of the log with this number, or why the log cannot be read on."""

    log: int
    batch: Batch | None
    error: OSError | None = None


class Scan:
    """One thread that reads the logs in turn and posts what it found. It never touches a widget or the run."""

    def __init__(
        self, scanners: list[Scanner], post: Callable[[Step], object], faulted: Callable[[BaseException], object]
    ) -> None:
        self._scanners = scanners
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
        """The UI thread took over a batch: one more may be made."""
        self._room.release()

    def _run(self) -> None:
        for number, scanner in enumerate(self._scanners):
            finished = False
            while not finished:
                self._room.acquire()
                if self._stop.is_set():
                    return
                step = self._step(number, scanner)
                self._post(step)
                finished = step.batch is None or step.batch.finished

    def _step(self, number: int, scanner: Scanner) -> Step:
        try:
            return Step(number, scanner.step())
        except OSError as error:
            return Step(number, None, error)
        except Exception as error:  # a fault of ours costs this log what is left of it
            self._faulted(error)
            return Step(number, None, OSError(f"a fault of tltui: {type(error).__name__}"))
