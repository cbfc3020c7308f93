"""What becomes of a fault of ours: a line below and a file that says where, and the program lives.

Textual ends the app when a message handler, a timer or a callback raises, and there is no public way to say otherwise. So what it
calls for each message, and what it calls with everything that was raised elsewhere, is overridden here and nowhere else. One of the
two is not enough: behind an exception in a handler Textual ends the message loop of the widget, whatever the app says.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from typing import Any

from rich.console import RenderableType
from rich.text import Text
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump

from tltui.crash import CODE, fault_line, last_words, place_of, wants_traceback
from tltui.messages import Answer, Undrawn
from tltui.screens.workbench import Workbench, say
from tltui.text import tokens

OFTEN = 20
"""Faults at one place within `SPAN` seconds after which the app ends as it would have at once."""
SPAN = 2.0

DISPATCH = MessagePump._dispatch_message
"""Textual's own."""


class Surviving(App[None]):
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
        if not isinstance(app, Surviving) or not app.survives(error):
            raise
