"""Signals that end a command end it in order: what it was writing is taken away, what it had started ends with it.

The UI writes nothing until it runs, so a signal ends it at once then: an exception in the middle of an import may be swallowed
there, or leave half a module behind for who cleans up.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Beside ctrl+c, which Python raises as `KeyboardInterrupt`."""


STARTERS = (("tltui.text.search.child", "end_all"), ("tltui.inputs.archives.cache", "remove_own"))
"""Modules that start or write what outlives a process, and what each has to end it."""


class Ended(BaseException):
    """A signal ends the command. No `Exception`: nobody is to live on after it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        """What a shell says of a program that a signal ended."""


@contextmanager
def ended_by_signals(is_at_once: bool = False) -> Iterator[None]:
    """While the block runs they are raised in it, or end it at once. What `nohup` made deaf to one stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    ending = _end_at_once if is_at_once else _raise
    for number in own:
        signal.signal(number, ending)
    try:
        yield
    finally:
        for number in own:
            if signal.getsignal(number) is ending:
                signal.signal(number, signal.SIG_DFL)


def leave_nothing() -> None:
    """End what was started: who ends us does not end it. What was not imported has started nothing."""
    for module, end in STARTERS:
        ended = getattr(sys.modules.get(module), end, None)
        if ended is not None:
            ended()


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    raise Ended(number)


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    leave_nothing()
    os._exit(128 + number)
