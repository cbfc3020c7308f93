"""Signals that end a command end it in order: what it was writing is taken away, what it had started ends with it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Beside ctrl+c, which Python raises as `KeyboardInterrupt`."""


class Ended(BaseException):
    """A signal ends the command. No `Exception`: nobody is to live on after it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        """What a shell says of a program that a signal ended."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """While the block runs they are raised in it. What `nohup` made deaf to one stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in own:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in own:
            if signal.getsignal(number) is _end:
                signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise Ended(number)
