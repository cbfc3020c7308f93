"""Textual's driver with our decoder, and with the question behind each frame that the terminal answers when it is done with it."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from functools import partial
from types import FrameType
from typing import Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from tltui.terminal.decoder import Answered, Decoder

STATUS = "\x1b[5n"
"""How are you? `CSI 0 n`: an answer that no key looks like."""
PLACE = "\x1b[H\x1b[6n"
"""Where is the cursor? For those that do not say how they are; from the first cell, so that it is not taken for F3."""
TICK = 0.1
"""Seconds between two looks at whether to end."""
FIRST_PATIENCE = 0.5
"""Seconds that leaving waits for the answer to the first question: it may be that there is none."""
PATIENCE = 1.5
"""Seconds that leaving waits for the answer to a later one, so that the shell does not get it."""


class TerminalDriver(LinuxDriver):
    """Reads and writes the terminal. The app is a `Frames`."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._frames: Any = app
        self._question = ""
        self._owed_until = 0.0
        self._is_quiet = threading.Event()
        """Nothing is owed."""
        self._is_quiet.set()

    # to the terminal

    def ask(self) -> None:
        """Have the terminal answer when it is done with what was written."""
        self._owed_until = time.monotonic() + (PATIENCE if self._question else FIRST_PATIENCE)
        self._is_quiet.clear()
        self.write(self._question or f"{STATUS}{PLACE}")

    def start_application_mode(self) -> None:
        """Textual calls this at the start, and when the program has the terminal again."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._writer_thread is None:
            return
        before = signal.getsignal(signal.SIGWINCH)

        def resized(number: int, frame: FrameType | None) -> None:
            self._loop.call_soon_threadsafe(self._frames.terminal_changed)
            if callable(before):
                before(number, frame)

        signal.signal(signal.SIGWINCH, resized)
        self._frames.terminal_begins()
        if not self._question:
            self.ask()

    def disable_input(self) -> None:
        """Textual calls this before it gives the terminal back. What is still to come of answers is waited for here."""
        if self._key_thread is not None and self._key_thread.is_alive():
            self._is_quiet.wait(max(self._owed_until - time.monotonic(), 0.0))
        super().disable_input()

    # from the terminal

    def run_input_thread(self) -> None:
        """Read until told to end."""
        decoder = Decoder()
        heard = time.monotonic()
        while not self.exit_event.is_set():
            data = None
            if select.select([self.fileno], [], [], TICK)[0]:
                heard = time.monotonic()
                data = self._read()
                if not data:
                    self._gone()
                    return
            try:
                if data is not None:
                    self._take(decoder.feed(data))
                elif decoder.is_waiting:
                    self._take(decoder.silence(time.monotonic() - heard))
            except Exception as error:  # a fault of ours costs these bytes
                decoder = Decoder()
                self._tell(partial(self._app._handle_exception, error))

    def _read(self) -> bytes:
        """What has come; nothing where the terminal is not there any more."""
        try:
            return os.read(self.fileno, 1 << 16)
        except OSError:
            return b""

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, Answered):
                self._answered(message.is_status)
            else:
                self.process_message(message)

    def _answered(self, is_status: bool) -> None:
        if not self._question:
            self._question = STATUS if is_status else PLACE
        elif is_status != (self._question == STATUS):
            return
        self._is_quiet.set()
        self._tell(self._frames.terminal_answers)

    def _gone(self) -> None:
        """The terminal is not there any more."""
        self._is_quiet.set()
        self._tell(lambda: self._app.exit(return_code=128 + signal.SIGHUP))

    def _tell(self, call: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop has ended
            return


