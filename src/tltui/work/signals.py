"""A signal as an exception, where one is heeded.

Python raises an exception wherever it is when a signal comes. An import is no place for one: it may be swallowed there, become
another one, or meet code in C that never thought of it. In the callback of a weak reference, or of the collector, nothing can be
raised.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

INTERVAL = 0.01
"""Seconds between two checks for the end of an import."""
PATIENCE = 1.0
"""Seconds that a signal waits for the end of an import."""


class Raising:
    """A context manager whose signal handler `handle` raises the exception that `exception_of` returns for a signal number.

    It raises as soon as no import is in progress, and again if the exception was swallowed. A second signal does not wait. It uses
    SIGALRM.
    """

    def __init__(self, exception_of: Callable[[int], BaseException]) -> None:
        self._exception_of = exception_of
        self._number = 0
        self._deadline = 0.0
        self._raised: BaseException | None = None
        self._previous_hook = sys.unraisablehook

    def __enter__(self) -> Raising:
        sys.unraisablehook = self._unraised
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_timer()
        sys.unraisablehook = self._previous_hook

    def handle(self, number: int, frame: FrameType | None) -> None:
        is_first, self._number = self._number == 0, number
        if is_first and _is_importing(frame):
            self._wait()
        else:
            self._raise()

    def _wait(self) -> None:
        self._deadline = time.monotonic() + PATIENCE
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL, INTERVAL)

    def _stop_timer(self) -> None:
        if self._number:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        if not _is_importing(frame) or time.monotonic() >= self._deadline:
            self._raise()

    def _raise(self) -> NoReturn:
        self._stop_timer()
        self._raised = self._exception_of(self._number)
        raise self._raised

    def _unraised(self, unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_value is not None and unraisable.exc_value is self._raised:
            self._wait()
        else:
            self._previous_hook(unraisable)


def ignore_signal(number: int, frame: FrameType | None) -> None:
    """Ignore a signal.

    Unlike `SIG_IGN`, child processes do not inherit this handler, and Python still delivers a signal that arrived earlier.
    """


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
