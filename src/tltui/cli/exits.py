"""Exit of a command: user errors, orderly termination by signals, exit codes."""

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
    """An error that the user can correct. Printed on stderr; exit code 2."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem}\n  {advice}" if advice else problem)


def printable(text: str) -> str:
    """Escape terminal control characters in a message, which may contain names from files and the trace."""
    return "\n".join(map(sanitize, text.split("\n")))


def print_error(text: str) -> None:
    """Print on stderr, if there is one."""
    if sys.stderr is not None:
        try:
            print(printable(text), file=sys.stderr)
        except OSError:  # nobody listens
            return


SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Handled signals, besides ctrl+c, which raises `KeyboardInterrupt` as usual."""

STARTERS = (("tltui.text.search.child_process", "end_all"), ("tltui.inputs.archives.cache", "remove_own"))
"""Modules that start processes or write temporary files, and the cleanup function of each."""


class Ended(BaseException):
    """Termination by a signal. Not an `Exception`, so that handlers do not swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        """The exit status that a shell gives to a program ended by a signal."""


@contextmanager
def handled_signals(is_at_once: bool = False) -> Iterator[None]:
    """Raise the signals within the context, or exit at once. Signals ignored at the start (`nohup`) stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = dict.fromkeys(SIGNALS, signal.SIG_DFL) | ({} if is_at_once else {signal.SIGINT: signal.default_int_handler})
    handled = {number: handler for number, handler in before.items() if signal.getsignal(number) is handler}
    with Raising(_make_handler) as raising:
        ending = _end_at_once if is_at_once else raising.handle
        for number in handled:
            signal.signal(number, ending)
        try:
            yield
        finally:
            for number, handler in handled.items():
                if signal.getsignal(number) == ending:
                    signal.signal(number, handler)


@contextmanager
def reraised_signals() -> Iterator[None]:
    """Re-raise a signal in place of the errors that it causes in `finally` blocks."""
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
    """Return the exit code: 128 and the number of the signal.

    If ctrl+c came while Python executed a string, which is how it makes a dataclass, `python -m` ends by SIGINT whatever the code
    (pythonrun.c of CPython), unless it executed another one since.
    """
    if isinstance(ended, Ended):
        return ended.code
    exec("")
    return 128 + signal.SIGINT


def kill_children() -> None:
    """Clean up the started processes and files of the imported modules."""
    for module, end in STARTERS:
        ended = getattr(sys.modules.get(module), end, None)
        if ended is not None:
            ended()


def _make_handler(number: int) -> KeyboardInterrupt | Ended:
    return KeyboardInterrupt() if number == signal.SIGINT else Ended(number)


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    kill_children()
    os._exit(128 + number)
