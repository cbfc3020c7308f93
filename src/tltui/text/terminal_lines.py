r"""The lines of terminal output of a running program.

A line has the state that the terminal would display: overwritten text (`\r`: progress bars) is reduced to its last state, and
escape sequences for colours and cursor moves are removed. Moves to another line are not followed: a bar that is drawn some lines
above occupies lines of its own.

A progress bar of a long job is one line of many megabytes. Only the last state of such a line is read, from its end.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tltui.text.lru import Lru
from tltui.text.payload import CHUNK, LONG, SHORT, LineIndex, Payload

_STEERING = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-OQ-WYZ\\`-~])"
)
"""Escape sequences of ECMA-48: CSI, OSC, the other strings, and those of two bytes. What is cut off is left, and sanitised."""
BACK = 64 << 10
"""Bytes that are read at once from the end of a long line."""
BLANK_UP_TO = 4096
"""A state that is longer shows something."""


def shown(line: bytes) -> bytes:
    """Return the bytes of a line that a terminal displays."""
    if b"\r" in line:
        states = line.split(b"\r")
        line = next((state for state in reversed(states) if not _is_blank(state)), states[0])
    return _STEERING.sub(b"", line) if b"\x1b" in line else line


def _is_blank(state: bytes) -> bool:
    return not (_STEERING.sub(b"", state) if b"\x1b" in state else state).strip()


class TerminalLines(LineIndex):
    """The lines of growing output, the unfinished last line included; `grow` extends them."""

    __slots__ = ("_is_raw", "_states")

    def __init__(self, payload: Payload, raw: bool = False) -> None:
        """`raw`: as it was written, not as a terminal shows it."""
        self._is_raw = raw
        self._states: Lru[tuple[int, int], tuple[int, int]] = Lru(1024)
        super().__init__(payload)

    def __len__(self) -> int:
        """Lines known so far; behind the last line end there is none yet."""
        return max(len(self._starts) - (self._starts[-1] == self.scanned), 1)

    def grow(self, size: int) -> None:
        """So many bytes are there now."""
        if size > self.payload.size:
            self.payload = replace(self.payload, size=size)
            self.complete = False

    def _add(self, data: bytes) -> None:
        """Add data; the longest line is measured by its longest state."""
        before = self.longest
        super()._add(data)
        if b"\r" in data and not self._is_raw:
            self.longest = max(before, *map(len, data.replace(b"\r", b"\n").split(b"\n")))

    def weight(self, n: int) -> int:
        stored = self.end(n) - self.start(n)
        if stored <= SHORT or self._is_raw:
            return stored
        first, last = self._bounds(n)
        return last - first

    def _bounds(self, n: int) -> tuple[int, int]:
        """Return the offsets of the last state of a line."""
        if self._is_raw:
            return super()._bounds(n)
        key = first, last = self.payload.offset + self.start(n), self.payload.offset + self.end(n)
        state = self._states.get(key)
        if state is None:
            state = self._last_state(first, last)
            self._states.put(key, state)
        return state

    def _last_state(self, first: int, last: int) -> tuple[int, int]:
        read = self.payload.source.read
        end = at = last
        while at > first:
            begin = max(first, at - BACK)
            data = read(begin, at - begin)
            place = data.rfind(b"\r")
            while place >= 0:
                start = begin + place + 1
                size = end - start
                state = data[place + 1 : end - begin] if end <= at else read(start, size) if size <= BLANK_UP_TO else b"."
                if not _is_blank(state):
                    return start, end
                end = begin + place
                place = data.rfind(b"\r", 0, place)
            at = begin
        return first, end

    def size(self, n: int) -> int:
        """Return the size of a line: stored bytes of a huge line, else displayed bytes."""
        if self._is_raw:
            return super().size(n)
        weight = self.weight(n)
        return weight if weight > LONG else len(self.stored(n))

    def stored(self, n: int, lo: int = 0, hi: int | None = None) -> bytes:
        if self._is_raw:
            return super().stored(n, lo, hi)
        read = self.payload.source.read
        if self.end(n) - self.start(n) <= SHORT:
            return shown(read(self.payload.offset + self.start(n), self.end(n) - self.start(n)))[lo:hi]
        first, last = self._bounds(n)
        if last - first > LONG:
            stop = last if hi is None else min(last, first + hi)
            return read(first + lo, max(stop - first - lo, 0))
        return shown(read(first, last - first))[lo:hi]

    def block(self, lo: int, hi: int) -> bytes:
        """Lines `lo` to `hi` (exclusive), joined by line ends."""
        if lo >= hi or self._is_raw:
            return super().block(lo, hi)
        begin, end = self.start(lo), self.end(hi - 1)
        if end - begin > CHUNK:
            return b"\n".join(self.stored(n) for n in range(lo, hi))
        data = self.payload.source.read(self.payload.offset + begin, end - begin)
        if b"\r" not in data and b"\x1b" not in data:
            return data
        return b"\n".join(map(shown, data.split(b"\n")))
