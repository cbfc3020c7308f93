"""How a command ends: messages of what the user can mend, signals that end it in order, exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from tltui.text.sanitize import sanitize
from tltui.work.signals import Raising


class Failure(Exception):
    """Something that the user can mend. Printed on stderr; exit code 2."""


def printable(text: str) -> str:
    """A message without what a terminal would act on: names of files and of the trace are in it."""
    return "\n".join(map(sanitize, text.split("\n")))


def print_error(text: str) -> None:
    """Print on stderr, where there is one."""
    if sys.stderr is not None:
        try:
            print(printable(text), file=sys.stderr)
        except OSError:  # nobody listens
            return


SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Beside ctrl+c, which is a `KeyboardInterrupt`, as ever."""

STARTERS = (("tltui.text.search.child_process", "end_all"), ("tltui.inputs.archives.cache", "remove_own"))
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
    before = dict.fromkeys(SIGNALS, signal.SIG_DFL) | ({} if is_at_once else {signal.SIGINT: signal.default_int_handler})
    own = {number: handler for number, handler in before.items() if signal.getsignal(number) is handler}
    with Raising(_make_handler) as raising:
        ending = _end_at_once if is_at_once else raising.heard
        for number in own:
            signal.signal(number, ending)
        try:
            yield
        finally:
            for number, handler in own.items():
                if signal.getsignal(number) == ending:
                    signal.signal(number, handler)


@contextmanager
def no_failure_of_signals() -> Iterator[None]:
    """Code that a signal leaves in the middle may fail in its own `finally`: what comes out of the block is the signal."""
    try:
        yield
    except Exception as error:
        behind: BaseException | None = error
        while behind is not None and not isinstance(behind, (KeyboardInterrupt, Ended)):
            behind = behind.__cause__ or behind.__context__
        if behind is not None:
            raise behind from None
        raise


def code_of(ended: KeyboardInterrupt | Ended) -> int:
    """The exit code: 128 and the number of the signal. Where ctrl+c came while Python executed a string, which is how it makes a
    dataclass, `python -m` ends by SIGINT whatever the code (pythonrun.c of CPython), unless it executed another one since."""
    if isinstance(ended, Ended):
        return ended.code
    exec("")
    return 128 + signal.SIGINT


def kill_children() -> None:
    """End what was started: who ends us does not end it. What was not imported has started nothing."""
    for module, end in STARTERS:
        ended = getattr(sys.modules.get(module), end, None)
        if ended is not None:
            ended()


def _make_handler(number: int) -> KeyboardInterrupt | Ended:
    return KeyboardInterrupt() if number == signal.SIGINT else Ended(number)


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    kill_children()
    os._exit(128 + number)
