"""SIGTERM and SIGHUP end the UI as `q` does, and the shell learns which it was. SIGCONT has it draw again, however it was stopped.

The terminal gets back what it was in any case: where the program does not get round to leaving, or a second signal comes, by hand.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from tltui.inputs.archives.cache import remove_own
from tltui.screens import outside
from tltui.screens.faults import Surviving
from tltui.text.search.child import end_all

Heard = Callable[[int, "FrameType | None"], Any]
SIGNALS = (signal.SIGTERM, signal.SIGHUP)
PATIENCE = 2.0
"""Seconds that leaving may take."""
_ON_ITS_WAY = 0.02
"""Seconds for a write of another thread that had begun."""
_MODES = (1000, 1003, 1006, 1015, 1016, 2004, 2048, 1004)
RESET = b"".join(b"\x1b[?%dl" % mode for mode in _MODES) + b"\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"
"""Takes back what Textual may have asked of a terminal."""


class _Leaving:
    """What a signal does while the app runs."""

    def __init__(self, app: Surviving) -> None:
        self._app = app
        self._terminal = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
        self._before = _attributes(self._terminal)
        self._code = 0
        self._is_ending = False

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Leave. Runs in the main thread, in between whatever it does."""
        if self._is_ending:
            return
        loop = self._app.loop
        if self._code or loop is None or not self._app.is_running:
            self.at_once(128 + number)
        self._code = 128 + number
        signal.signal(signal.SIGALRM, lambda *_: self.at_once(self._code))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        outside.end()
        loop.call_soon_threadsafe(lambda: self._app.exit(return_code=self._code))

    def at_once(self, code: int) -> NoReturn:
        """Give the terminal back by hand, and end."""
        self._is_ending = True
        outside.end()
        end_all()
        remove_own()
        try:
            os.write(_taken_away(), RESET)
            if self._before is not None:
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
        except (OSError, termios.error):  # the terminal is gone: nothing is left to be given back
            pass
        os._exit(code)


class _Stops:
    """What SIGTSTP and SIGCONT do beside what Textual does at them.

    Textual takes every SIGCONT for the end of an orderly stop. Behind SIGSTOP, which nobody hears, and where nothing was stopped,
    it would begin to read keys a second time, and keep the terminal as it is now for what it was before.
    """

    def __init__(self, app: Surviving, stopped: Heard, continued: Heard) -> None:
        self._app = app
        self._textual_stopped = stopped
        self._textual_continued = continued
        self._is_stopped = False

    def stopped(self, number: int, frame: FrameType | None) -> None:
        """ctrl+z, or a signal of its name."""
        self._is_stopped = True
        self._textual_stopped(number, frame)

    def continued(self, number: int, frame: FrameType | None) -> None:
        """It goes on."""
        if self._is_stopped:
            self._is_stopped = False
            self._textual_continued(number, frame)
        elif self._app.loop is not None and self._app.is_running and not outside.has_terminal():
            self._app.loop.call_soon_threadsafe(self._app.call_later, self._again)

    def _again(self) -> None:
        with self._app.suspend():
            """Given back and taken again: whoever had the terminal meanwhile has left it as he liked."""


def hear_stops(app: Surviving) -> None:
    """Once the app has the terminal."""
    stopped, continued = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if callable(stopped) and callable(continued):  # not where there is no terminal
        stops = _Stops(app, stopped, continued)
        signal.signal(signal.SIGTSTP, stops.stopped)
        signal.signal(signal.SIGCONT, stops.continued)


def _taken_away() -> int:
    """The terminal, under a number that nobody else writes to: Textual's thread would ask for modes after `RESET`."""
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    time.sleep(_ON_ITS_WAY)
    return terminal


def _attributes(terminal: int) -> list[Any] | None:
    try:
        return termios.tcgetattr(terminal)
    except termios.error:
        return None


@contextmanager
def leaving_by_signals(app: Surviving) -> Iterator[None]:
    """While the block runs. What `nohup` made deaf to one stays so."""
    leaving = _Leaving(app)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    own = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]
    for number in own:
        signal.signal(number, leaving.heard)
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, before[number])
