"""A terminal for tests and benchmarks: runs a program in a real pseudo-terminal and keeps every byte that it sends.

What is on the screen is worked out by pyte. Tests wait for text, never for time. The program gets an environment of its
own, so that nobody's settings matter.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyte

import tltui

if TYPE_CHECKING:
    from typing_extensions import Self

SOURCES = Path(tltui.__file__).parents[1]
TIMEOUT = 60.0
"""Seconds that a test waits for what must happen."""
KEYS = {
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "enter": "\r", "escape": "\x1b", "tab": "\t", "space": " ",
    "backspace": "\x7f",
}  # fmt: skip
SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]P_^X])")
UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]P_^X][^\x07\x1b]*\x1b?)?$")
UNDRAWN = re.compile(rb"\x1b(?:\[[<>=?][0-?]*[ -/]*[@-~]|[\]P_^X].*)", re.DOTALL)
ASKED = re.compile(rb"\x1b\[(?:c|5n|6n|\?(\d+)\$p)")


def key_bytes(name: str) -> bytes:
    """What a terminal sends for a key: a name of `KEYS`, `ctrl+x`, or the text itself."""
    if name.startswith("ctrl+") and len(name) == 6:
        return bytes([ord(name[5].lower()) & 0x1F])
    return KEYS.get(name, name).encode()


class Gone(Exception):
    """The program has ended."""


class Terminal:
    """One program in a pseudo-terminal; a context manager that ends it."""

    most = 1 << 16
    """Bytes that are read at once."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        home: Path,
        columns: int = 120,
        rows: int = 40,
        term: str = "xterm-256color",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.raw = bytearray()
        """Every byte received."""
        self.code: int | None = None
        """The exit code, once the program has ended."""
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._carry = b""
        self._asking = b""
        clean = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "TERM": term, "LANG": "C.UTF-8"}
        clean["PYTHONPATH"] = str(SOURCES)  # the program under test, whatever is installed
        clean.update(environment or {})
        size = struct.pack("HHHH", rows, columns, 0, 0)
        self.started = time.perf_counter()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, size)
                os.execvpe(command[0], list(command), clean)
            finally:
                os._exit(127)

    @classmethod
    def tltui(cls, *arguments: str | Path, home: Path, columns: int = 120, rows: int = 40,
              term: str = "xterm-256color", environment: Mapping[str, str] | None = None) -> Self:  # fmt: skip
        """tltui with these arguments."""
        command = [sys.executable, "-m", "tltui", *map(str, arguments)]
        return cls(command, home=home, columns=columns, rows=rows, term=term, environment=environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what it shows

    def lines(self) -> list[str]:
        """The rows of the screen, without blanks at their ends."""
        return [line.rstrip() for line in self.screen.display]

    def text(self) -> str:
        """The screen."""
        return "\n".join(self.lines())

    # what it gets

    def press(self, *keys: str) -> None:
        """Press keys: names of `KEYS`, `ctrl+x`, or text."""
        for key in keys:
            os.write(self.descriptor, key_bytes(key))

    def resize(self, columns: int, rows: int) -> None:
        """Give it another size."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # waiting

    def pump(self, seconds: float) -> int:
        """Take what comes within this time, once; the number of bytes. Raises `Gone` at the end."""
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return 0
        data = self.read()
        self.draw(data)
        return len(data)

    def read(self) -> bytes:
        """Wait for what comes next. Raises `Gone` at the end."""
        try:
            data = os.read(self.descriptor, self.most)
        except OSError:  # how Linux reports that the other end is closed
            data = b""
        if not data:
            raise Gone
        self.raw += data
        self._answer(data)
        return data

    def _answer(self, data: bytes) -> None:
        """Answer what a real terminal answers."""
        data, place = self._asking + data, 0
        for asked in ASKED.finditer(data):
            place = asked.end()
            if (answer := self.answer(asked[0], asked[1])) is not None:
                os.write(self.descriptor, answer)
        self._asking = data[max(place, len(data) - 10) :]

    def answer(self, asked: bytes, mode: bytes | None) -> bytes | None:
        """What is answered to a question, at once; None for nothing."""
        if mode is not None:
            return b"\x1b[?" + mode + b";0$y"
        return {b"\x1b[c": b"\x1b[?62;22c", b"\x1b[5n": b"\x1b[0n", b"\x1b[6n": b"\x1b[1;1R"}[asked]

    def draw(self, data: bytes) -> None:
        """Give to pyte what it knows. A sequence may come in two pieces."""
        data = self._carry + data
        cut = UNFINISHED.search(data, max(len(data) - 200, 0))
        self._carry = data[cut.start() :] if cut else b""
        data = data[: cut.start()] if cut else data
        self._stream.feed(SEQUENCE.sub(lambda match: b"" if UNDRAWN.match(match[0]) else match[0], data))

    def wait(self, condition: Callable[[], object], what: str, timeout: float = TIMEOUT) -> None:
        """Wait until a condition holds; fail with the screen."""
        end = time.monotonic() + timeout
        while not condition():
            try:
                self.pump(0.05)
            except Gone:
                if condition():
                    return
                raise AssertionError(f"the program ended while waiting for {what}:\n{self.text()}") from None
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not come in {timeout:g} s:\n{self.text()}")

    def wait_for(self, *texts: str, timeout: float = TIMEOUT) -> None:
        """Wait until the screen shows all of these texts."""
        for text in texts:
            self.wait(lambda wanted=text: wanted in self.text(), repr(text), timeout)  # type: ignore[misc]

    def wait_gone(self, text: str, timeout: float = TIMEOUT) -> None:
        """Wait until the screen does not show this text."""
        self.wait(lambda: text not in self.text(), f"the end of {text!r}", timeout)

    def to_trouble(self) -> None:
        """From the first screen to the tree, on the first compile with a graph break."""
        self.wait_for("Start here")
        self.wait_gone("reading")
        self.press("tab", "b")
        if self.screen.columns < 100:
            self.wait(lambda: "document" in self.lines()[1], "the tree")
        else:
            self.wait(lambda: "[0/0]" in self.lines()[1], "the document of [0/0]")

    def wait_end(self, timeout: float = TIMEOUT) -> int:
        """Wait until the program has ended; its exit code."""
        end = time.monotonic() + timeout
        while not self._has_ended():
            try:
                self.pump(0.02)
            except Gone:
                time.sleep(0.005)  # the terminal is closed; the process goes any moment
            if time.monotonic() > end:
                raise AssertionError(f"the program did not end in {timeout:g} s:\n{self.text()}")
        assert self.code is not None
        return self.code

    def is_alive(self) -> bool:
        """Whether the program still runs."""
        return not self._has_ended()

    def peak(self) -> int:
        """The most memory that it has used so far, in bytes: `ru_maxrss` would begin with that of who forked it."""
        [line] = [line for line in Path(f"/proc/{self.pid}/status").read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) << 10

    def _has_ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def close(self) -> None:
        """End the program, if it still runs."""
        if not self._has_ended():
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
