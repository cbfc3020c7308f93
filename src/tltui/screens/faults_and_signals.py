"""What the app survives and what ends it: faults, SIGTERM, SIGHUP and SIGCONT, and the key that always quits."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump

from tltui.commands import QUIT_KEY
from tltui.crash import CODE, fault_line, last_words, place_of, wants_traceback
from tltui.inputs.archives.cache import remove_own
from tltui.messages import Answer, Undrawn
from tltui.screens import child_processes
from tltui.screens.workbench import Workbench, say
from tltui.text import tokens
from tltui.text.search.child_process import end_all


class QuitKey(App[None]):
    """An app that looks at this key before any binding does."""

    def leave_for_sure(self) -> None:
        """The key was pressed."""
        self.exit()

    async def on_event(self, event: events.Event) -> None:
        """Every event comes through here, keys in turn."""
        if isinstance(event, events.Key) and event.key == QUIT_KEY:
            self.leave_for_sure()
        else:
            await super().on_event(event)


OFTEN = 20
"""Faults at one place within `SPAN` seconds after which the app ends as it would have at once."""
SPAN = 2.0

DISPATCH = MessagePump._dispatch_message
"""Textual's own."""


class FaultHandling(App[None]):
    """An app that lives on after a fault."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.faults: list[BaseException] = []
        """What went wrong, the last few."""
        self._seen: dict[tuple[str, int], deque[float]] = {}
        self._undrawn: set[tuple[str, int]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where it runs, once it does."""
        self._is_leaving = False
        self._has_begun = False
        MessagePump._dispatch_message = _dispatch  # type: ignore[method-assign]

    def exit(self, *given: Any, **options: Any) -> None:
        """Leave. From now on widgets go, in any order: that another one does not find them any more is no fault."""
        self._is_leaving = True
        super().exit(*given, **options)

    def report(self, error: BaseException) -> None:
        """From any thread: a fault that costs nothing but what was being done."""
        self.faults = [*self.faults[-9:], error]
        said = fault_line(error)
        try:
            self.post_message(Answer(lambda: say(self, said, tokens.ERROR)))
        except RuntimeError:  # the app is ending
            return

    def on_answer(self, message: Answer) -> None:
        """What another thread has to say, whatever screen is in front."""
        message.apply()

    def on_undrawn(self, message: Undrawn) -> None:
        """A row could not be drawn: it will be tried whenever the row is looked at, and is told once."""
        place = place_of(message.error)
        if place not in self._undrawn:
            self._undrawn.add(place)
            self.report(message.error)

    def survives(self, error: BaseException) -> bool:
        """Whether a fault is one to live with: told, and not the same again and again."""
        if self._is_leaving:
            return True
        self._has_begun |= any(isinstance(screen, Workbench) and screen.is_mounted for screen in self.screen_stack)
        if not self._has_begun:
            return False  # there is nothing to live for
        seen = self._seen.setdefault(place_of(error), deque(maxlen=OFTEN))
        now = time.monotonic()
        seen.append(now)
        if len(seen) == OFTEN and now - seen[0] < SPAN:
            return False
        self.report(error)
        return True

    def _handle_exception(self, error: Exception) -> None:
        """Textual calls this with what a timer, a callback or drawing raised, and would end the app."""
        if not self.survives(error):
            super()._handle_exception(error)
            self._return_code = CODE

    def panic(self, *renderables: RenderableType) -> None:
        """Textual calls this when what it cannot do without has failed: the shell learns that this was no end in order."""
        super().panic(*renderables)
        self._return_code = CODE

    def _fatal_error(self) -> None:
        """Textual calls this for the exception at hand before it ends the app, and would print it with the values of all variables:
        texts of the trace."""
        error = sys.exc_info()[1] or self._exception
        if error is None or wants_traceback():
            super()._fatal_error()
        else:
            self.panic(Text(last_words(error)))


async def _dispatch(self: MessagePump, message: Message) -> None:
    """In place of Textual's own: what the handlers of a message raise costs this message, not the loop that called them."""
    try:
        await DISPATCH(self, message)
    except Exception as error:
        app = self.app
        if not isinstance(app, FaultHandling) or not app.survives(error):
            raise


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

    def __init__(self, app: FaultHandling) -> None:
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
        child_processes.terminate_programs()
        loop.call_soon_threadsafe(lambda: self._app.exit(return_code=self._code))

    def at_once(self, code: int) -> NoReturn:
        """Give the terminal back by hand, and end."""
        self._is_ending = True
        child_processes.terminate_programs()
        end_all()
        remove_own()
        try:
            os.write(_claim_terminal(), RESET)
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

    def __init__(self, app: FaultHandling, stopped: Heard, continued: Heard) -> None:
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
        elif self._app.loop is not None and self._app.is_running and not child_processes.has_terminal():
            self._app.loop.call_soon_threadsafe(self._app.call_later, self._again)

    def _again(self) -> None:
        with self._app.suspend():
            """Given back and taken again: whoever had the terminal meanwhile has left it as he liked."""


def handle_stop_signals(app: FaultHandling) -> None:
    """Once the app has the terminal."""
    stopped, continued = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if callable(stopped) and callable(continued):  # not where there is no terminal
        stops = _Stops(app, stopped, continued)
        signal.signal(signal.SIGTSTP, stops.stopped)
        signal.signal(signal.SIGCONT, stops.continued)


def _claim_terminal() -> int:
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
def quitting_on_signals(app: FaultHandling) -> Iterator[None]:
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
