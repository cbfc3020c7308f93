"""Textual driver with a decoder of terminal input (keys, pastes, mouse, answers) and a status query after each frame."""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable
from functools import partial
from types import FrameType
from typing import Any

from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.message import Message

ESC = 0x1B
LIMIT = 32
"""Maximum bytes of any known escape sequence."""
KEPT = 100_000
"""Maximum bytes of a paste; the prompt takes one line."""
PASTE = b"\x1b[200~"
PASTE_END = b"\x1b[201~"
SILENCE = 1.0
"""Seconds without input after which an incomplete sequence is dropped."""
HURRY = 0.3
"""The same for two bytes that can be a key: alt and `[`."""
FARTHEST = 5000
"""Largest credible mouse coordinate, in cells."""

_PARAMETERS = re.compile(rb"[\x20-\x3f]*")
_STRING = re.compile(rb"[^\x00-\x1f]*")
_REPORT = re.compile(rb"\x1b\[(\d+);(\d+)R\Z")
_KITTY = re.compile(rb"\x1b\[(\d*)[\d:]*(?:;(\d*)(?::(\d*))?)?(;[\d:]*)?([u~A-HP-S])\Z")
_URXVT_MOUSE = re.compile(rb"\x1b\[(\d+);(\d+);(\d+)M\Z")
_UNWANTED = (b"\x1b[I", b"\x1b[O", PASTE_END)
"""Ignored sequences: focus in and out, which change nothing on the screen, and the end of an abandoned paste."""


class Answered(Message):
    """An answer of the terminal to one of our queries."""

    def __init__(self, is_status: bool) -> None:
        """Create the message; `is_status`: it answers the status query, not the cursor position query."""
        super().__init__()
        self.is_status = is_status


class Decoder:
    """Incremental decoder of terminal input, fed with pieces of any size."""

    def __init__(self) -> None:
        self._parser = XTermParser()
        self._pending = b""
        """A sequence that has begun."""
        self._skipping: re.Pattern[bytes] | None = None
        """What of a sequence that is too long is thrown away."""
        self._paste: bytearray | None = None
        self._edge = b""
        """The last bytes of a paste, which may be the beginning of its end."""
        self._characters = getincrementaldecoder("utf-8")("replace")
        self._button = 0

    @property
    def is_waiting(self) -> bool:
        """Return whether a sequence or paste is incomplete, so that a timeout matters."""
        return bool(self._pending or self._skipping or self._paste is not None or self._characters.getstate()[0])

    def feed(self, data: bytes) -> list[Message]:
        """Return the messages that these bytes complete."""
        messages: list[Message] = []
        data = self._pending + data
        self._pending = b""
        place = 0
        while place < len(data):
            if self._paste is not None:
                place = self._pasted(data, place, messages)
            elif self._skipping is not None:
                place = self._skipped(data, place)
            elif data[place] != ESC:
                end = data.find(b"\x1b", place)
                end = len(data) if end < 0 else end
                self._typed(self._characters.decode(data[place:end]), messages)
                place = end
            else:
                self._characters.reset()
                place = self._sequence(data, place, messages)
        return messages

    def silence(self, seconds: float) -> list[Message]:
        """Return the messages that `seconds` without input complete."""
        messages: list[Message] = []
        pending = self._pending if self._skipping is None else b""
        if seconds >= SILENCE:
            if self._paste is not None:
                self._paste += self._edge
                self._end_of_paste(messages)
            self._skipping, self._pending = None, b""
            self._characters.reset()
        if len(pending) == 1 and seconds >= constants.ESCAPE_DELAY:
            self._pending = b""
            messages.append(events.Key("escape", "\x1b"))
        elif len(pending) == 2 and seconds >= HURRY:
            self._pending = b""
            self._with_alt(chr(pending[1]), messages)
        return messages

    # characters

    def _typed(self, text: str, messages: list[Message]) -> None:
        for character in text:
            if character != "\ufffd" and not "\x80" <= character < "\xa0":
                self._parse(character, messages)

    def _with_alt(self, character: str, messages: list[Message]) -> None:
        keys = list(self._parser._sequence_to_key_events("\x1b" + character))
        self._add(keys or self._parser._sequence_to_key_events(character, alt=True), messages)

    # pastes

    def _pasted(self, data: bytes, place: int, messages: list[Message]) -> int:
        assert self._paste is not None
        before = place - len(self._edge)  # where the bytes begin that were not looked at whole
        text = self._edge + data[place:]
        end = text.find(PASTE_END)
        if end < 0:
            cut = max(len(text) - len(PASTE_END) + 1, 0)
            self._keep(text[:cut])
            self._edge = text[cut:]
            return len(data)
        self._keep(text[:end])
        self._end_of_paste(messages)
        return before + end + len(PASTE_END)

    def _keep(self, data: bytes) -> None:
        assert self._paste is not None
        self._paste += data[: max(KEPT - len(self._paste), 0)]

    def _end_of_paste(self, messages: list[Message]) -> None:
        assert self._paste is not None
        text = self._paste.decode("utf-8", "replace").replace("\x00", "").replace("\ufffd", "")
        self._paste, self._edge = None, b""
        messages.append(events.Paste(text))

    # sequences

    def _sequence(self, data: bytes, place: int, messages: list[Message]) -> int:
        """Decode the sequence that begins at `place`; return the offset of its end."""
        second = data[place + 1 : place + 2]
        if not second:
            self._pending = data[place:]
            return len(data)
        if second in b"[O":
            return self._control(data, place, messages)
        if second in b"]PX^_":
            return self._string(data, place)
        if second[0] == ESC:
            messages.append(events.Key("escape", "\x1b"))
            return place + 1
        if second[0] >= 0x80:  # alt and a letter that has more bytes
            return place + 1
        self._with_alt(chr(second[0]), messages)
        return place + 2

    def _control(self, data: bytes, place: int, messages: list[Message]) -> int:
        """Decode a CSI or SS3 sequence; return the offset of its end."""
        third = data[place + 2 : place + 3]
        if data[place + 1] == ord("[") and third in (b"M", b"["):
            return self._old(data, place, messages)
        match = _PARAMETERS.match(data, place + 2)
        assert match is not None
        end = match.end()
        if end == len(data):
            self._pending = data[place:]
            if len(self._pending) > LIMIT:
                self._pending, self._skipping = b"", _PARAMETERS
            return end
        if not 0x40 <= data[end] < 0x7F:
            if end == place + 2:  # alt and the letter, then something else
                self._with_alt(chr(data[place + 1]), messages)
            return end + (data[end] in (0x18, 0x1A))
        self._interpret(data[place : end + 1], messages)
        return end + 1

    def _old(self, data: bytes, place: int, messages: list[Message]) -> int:
        """Decode an X10 mouse report of three bytes, or a function key of the Linux console."""
        if data[place + 2] == ord("["):
            if len(data) < place + 4:
                self._pending = data[place:]
                return len(data)
            self._parse(data[place : place + 4].decode("latin-1"), messages)
            return place + 4
        report = data[place + 3 : place + 6]
        bad = next((at for at, byte in enumerate(report) if byte < 0x20), None)
        if bad is not None:
            return place + 3 + bad
        if len(report) < 3:
            self._pending = data[place:]
            return len(data)
        self._mouse(report[0] - 32, report[1] - 32, report[2] - 32, messages)
        return place + 6

    def _mouse(self, button: int, x: int, y: int, messages: list[Message]) -> None:
        """Decode a mouse report that does not name the released button: it is the pressed one."""
        is_let_go = button & 3 == 3 and button < 32
        if is_let_go:
            button = button & ~3 | self._button
        elif button < 32:
            self._button = button & 3
        self._parse(f"\x1b[<{button};{x};{y}{'m' if is_let_go else 'M'}", messages)

    def _string(self, data: bytes, place: int) -> int:
        """Skip an OSC, DCS or similar string, which ends with BEL or ESC and a backslash; return the offset of its end."""
        match = _STRING.match(data, place + 2)
        assert match is not None
        end = match.end()
        if end == len(data):
            self._pending = data[place:]
            if len(self._pending) > 2:
                self._pending, self._skipping = b"", _STRING
            return end
        return self._end_of_string(data, end)

    def _end_of_string(self, data: bytes, end: int) -> int:
        if data[end] != ESC:
            return end + (data[end] in (0x07, 0x18, 0x1A))
        if end + 1 == len(data):
            self._pending, self._skipping = data[end:], _STRING  # with what follows: its end, or something new
            return len(data)
        return end + 2 if data[end + 1] == ord("\\") else end

    def _skipped(self, data: bytes, place: int) -> int:
        """Continue skipping a discarded sequence; return the offset of its end."""
        assert self._skipping is not None
        match = self._skipping.match(data, place)
        assert match is not None
        end = match.end()
        if end == len(data):
            return end
        is_string, self._skipping = self._skipping is _STRING, None
        if is_string:
            return self._end_of_string(data, end)
        return end + (0x40 <= data[end] < 0x7F or data[end] in (0x18, 0x1A))

    def _interpret(self, sequence: bytes, messages: list[Message]) -> None:
        """Interpret a complete sequence."""
        if sequence == PASTE:
            self._paste = bytearray()
        elif sequence in (b"\x1b[0n", b"\x1b[3n"):
            messages.append(Answered(is_status=True))
        elif report := _REPORT.match(sequence):
            if report[1] == b"1" and report[2] != b"1" and len(sequence) <= LIMIT:  # F3 with shift, alt …
                self._add(self._parser._sequence_to_key_events(sequence.decode("ascii")), messages)
            else:
                messages.append(Answered(is_status=False))
        elif old := _URXVT_MOUSE.match(sequence) if len(sequence) <= LIMIT else None:
            self._mouse(int(old[1]) - 32, int(old[2]), int(old[3]), messages)
        elif len(sequence) <= LIMIT and sequence not in _UNWANTED:
            if b":" in sequence and (kitty := _KITTY.match(sequence)):
                code, modifiers, event, text, last = (part or b"" for part in kitty.groups())
                if event == b"3":  # a key is let go
                    return
                sequence = b"\x1b[%b;%b%b%b" % (code, modifiers or b"1", text, last)
            self._parse(sequence.decode("ascii"), messages)

    def _parse(self, text: str, messages: list[Message]) -> None:
        """Pass a sequence to Textual's parser; replace a parser that failed or waits for more."""
        try:
            self._add(self._parser.feed(text), messages)
            is_good = getattr(self._parser._awaiting, "timeout", None) is None
        except Exception:
            is_good = False
        self._check_pixels()
        if not is_good:
            old, self._parser = self._parser, XTermParser()
            for name in ("last_x", "last_y", "mouse_pixels", "terminal_size", "terminal_pixel_size"):
                setattr(self._parser, name, getattr(old, name))

    def _check_pixels(self) -> None:
        """Use mouse reports in cells for a terminal that does not report its size in pixels."""
        size, pixels = self._parser.terminal_size, self._parser.terminal_pixel_size
        if size is not None and pixels is not None and not (0 < size[0] <= pixels[0] and 0 < size[1] <= pixels[1]):
            self._parser.terminal_pixel_size = None

    def _add(self, messages: Iterable[Message], results: list[Message]) -> None:
        results += [message for message in messages if _is_sane(message)]


def _is_sane(message: Message) -> bool:
    """Return whether the coordinates and keys of a message are plausible."""
    if isinstance(message, events.Key):
        text = message.key + (message.character or "")
        return message.key != Keys.Ignore and not any(0xD800 <= ord(character) < 0xE000 for character in text)
    if isinstance(message, events.MouseEvent):
        return 0 <= message.x < FARTHEST and 0 <= message.y < FARTHEST
    if isinstance(message, events.Resize):
        return 0 < message.size.width <= FARTHEST and 0 < message.size.height <= FARTHEST
    return True


STATUS = "\x1b[5n"
"""Device status report query; the answer `CSI 0 n` resembles no key."""
PLACE = "\x1b[H\x1b[6n"
"""Cursor position query, for terminals without status reports; from the first cell, so that the answer is not read as F3."""
TICK = 0.1
"""Seconds between two checks of the exit event."""
FIRST_PATIENCE = 0.5
"""Seconds that exiting waits for the answer to the first query, which may never come."""
PATIENCE = 1.5
"""Seconds that exiting waits for the answer to a later query, so that the shell does not receive it."""


def forget_parsers() -> None:
    """Clear Textual's cache of parsers: the last key of each leads to the app that got it, with the run that this has read."""
    cached = getattr(XTermParser, "_parse_extended_key", None)
    getattr(cached, "cache_clear", lambda: None)()


class TerminalDriver(LinuxDriver):
    """Driver that reads and writes the terminal for a `Frames` app."""

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
        """Query the terminal, which answers after it has processed the output."""
        self._owed_until = time.monotonic() + (PATIENCE if self._question else FIRST_PATIENCE)
        self._is_quiet.clear()
        self.write(self._question or f"{STATUS}{PLACE}")

    def start_application_mode(self) -> None:
        """Enter application mode; Textual calls this at the start and on resume."""
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
        """Wait for outstanding answers; Textual calls this before it gives the terminal back."""
        if self._key_thread is not None and self._key_thread.is_alive():
            self._is_quiet.wait(max(self._owed_until - time.monotonic(), 0.0))
        if self._frames.is_followed:
            self._stop_reading()
        else:
            super().disable_input()

    def _stop_reading(self) -> None:
        """Do what Textual's `disable_input` does, but leave what was typed meanwhile to the next app."""
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        self._disable_mouse_support()
        self.exit_event.set()
        if self._key_thread is not None:
            self._key_thread.join()
        self.exit_event.clear()

    def send_message(self, message: Message) -> None:
        """Send a message to the app; runs on the reading thread."""
        asyncio.run_coroutine_threadsafe(self._deliver(message), self._loop)

    async def _deliver(self, message: Message) -> None:
        if self._app._exit and isinstance(message, (events.Key, events.Paste)):
            self._frames.type_later(message)
        else:
            await self._app._post_message(message)

    # from the terminal

    def run_input_thread(self) -> None:
        """Read input until the exit event is set."""
        decoder = Decoder()
        heard = time.monotonic()
        while not self.exit_event.is_set():
            data = None
            if select.select([self.fileno], [], [], TICK)[0]:
                heard = time.monotonic()
                data = self._read()
                if not data:
                    self._hang_up()
                    return
            try:
                if data is not None:
                    self._post_messages(decoder.feed(data))
                elif decoder.is_waiting:
                    self._post_messages(decoder.silence(time.monotonic() - heard))
            except Exception as error:  # a fault of ours costs these bytes
                decoder = Decoder()
                self._call_in_loop(partial(self._app._handle_exception, error))

    def _read(self) -> bytes:
        """Return the pending input; b'' if the terminal is gone."""
        try:
            return os.read(self.fileno, 1 << 16)
        except OSError:
            return b""

    def _post_messages(self, messages: list[Message]) -> None:
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
        self._call_in_loop(self._frames.terminal_answers)

    def _hang_up(self) -> None:
        """Exit with the status of SIGHUP: the terminal is gone."""
        self._is_quiet.set()
        self._call_in_loop(lambda: self._app.exit(return_code=128 + signal.SIGHUP))

    def _call_in_loop(self, call: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop has ended
            return
