"""A stored payload: its bytes, their decoding to safe text, and where each line begins."""

from __future__ import annotations

import hashlib
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, count
from operator import add
from typing import Protocol

from tltui.text.frozen import frozen
from tltui.text.sanitize import SUBSTITUTE, sanitize

SHORT = 16 << 10
LONG = 4 << 20
LEXED = 8 << 10
"""Lines beyond this many stored bytes are never lexed."""

_PRINTABLE = bytes(range(0x20, 0x7F))
_WITH_LINE_ENDS = _PRINTABLE + b"\n"
_NOT_PRINTABLE = re.compile("[^ -~]")


def is_plain(data: bytes) -> bool:
    """Whether every byte is one printable ASCII character, so that byte and column are the same."""
    return data.isascii() and not data.translate(None, _PRINTABLE)


def decode(data: bytes) -> str:
    """One line as text that is safe to show."""
    return sanitize(data.decode("utf-8", "replace"))


def decode_lines(data: bytes) -> str:
    """Several lines, joined by line ends, as text that is safe to show."""
    if not data.translate(None, _WITH_LINE_ENDS):
        return data.decode("ascii")
    return "\n".join(map(sanitize, data.decode("utf-8", "replace").split("\n")))


def decode_bytewise(data: bytes) -> str:
    """Part of a huge line: one column per byte."""
    return _NOT_PRINTABLE.sub(_mark_bytes, data.decode("latin-1"))


def _mark_bytes(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\t":
        return " "
    mark = sanitize(char)
    return mark if mark != char else SUBSTITUTE


class ByteSource(Protocol):
    """Random access to stored bytes. Reading past the end gives fewer bytes, never an error."""

    def size(self) -> int:
        """Bytes there are now."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`."""


@frozen
class MemoryBytes:
    """Bytes that are held in memory."""

    data: bytes

    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


@frozen
class Payload:
    """`size` stored bytes at `offset` of `source`, without the line end of the last line.

    `strip` is removed from the beginning of each stored line that has it; with `crlf` one carriage return is removed
    from each line's end.
    """

    source: ByteSource
    offset: int
    size: int
    strip: bytes = b""
    crlf: bool = False

    def read(self) -> bytes:
        """Read the full text as it was written, stripped; for texts of known small size or complete consumers."""
        stored = self.source.read(self.offset, self.size)
        if self.crlf:
            stored = stored.replace(b"\r\n", b"\n").removesuffix(b"\r")
        if self.strip:
            stored = stored.removeprefix(self.strip).replace(b"\n" + self.strip, b"\n")
        return stored

    @classmethod
    def of(cls, data: bytes) -> Payload:
        """Return a payload of bytes in memory."""
        return cls(MemoryBytes(data), 0, len(data))


CHUNK = 1 << 20
"""Bytes read at once: large enough to be fast, small enough never to hold the interpreter for long."""


class LineIndex:
    """The line starts of a payload, computed step by step with `advance`.

    Offsets are those of the *stored* bytes, counted from the beginning of the payload; `stored` and `lines` return stripped bytes.
    A line counts once its end is known. An empty payload is one empty line.
    """

    __slots__ = ("_carry", "_starts", "complete", "longest", "payload", "scanned")

    def __init__(self, payload: Payload, first: int = 256 << 10) -> None:
        """Index the first `first` bytes and on to the end of the first line, so that `len` is never 0."""
        self.payload = payload
        self.scanned = 0
        """Stored bytes that were looked at."""
        self.complete = False
        self.longest = 0
        """Stored bytes of the longest line known so far, without its prefix."""
        self._starts = array("Q", [0])
        self._carry = 0
        self.advance(first)
        while not len(self):
            self.advance(4 * CHUNK)

    def __len__(self) -> int:
        """Lines known so far."""
        return len(self._starts) if self.complete else len(self._starts) - 1

    def advance(self, size: int = 4 * CHUNK) -> bool:
        """Look at up to `size` further bytes. True when all lines are known."""
        payload, target = self.payload, min(self.payload.size, self.scanned + size)
        while self.scanned < target:
            data = payload.source.read(payload.offset + self.scanned, min(CHUNK, target - self.scanned))
            if not data:  # the file was cut off: what is there is all there is
                self._finish()
                return True
            self._add(data)
        if self.scanned >= payload.size and not self.complete:
            self._finish()
        return self.complete

    def _add(self, data: bytes) -> None:
        """Add the lines that begin in `data`, the bytes at offset `scanned`."""
        pieces = data.split(b"\n")
        last = pieces.pop()
        if pieces:
            # The k-th line begins behind k pieces and k line ends: all in C, nothing per line in Python.
            self._starts.extend(map(add, accumulate(map(len, pieces)), count(self.scanned + 1)))
            self._measure(pieces[0], self._carry)
            self._measure(max(pieces, key=len), 0)
            self._carry = len(last)
        else:
            self._carry += len(last)
        self.scanned += len(data)

    def _measure(self, piece: bytes, before: int) -> None:
        strip = len(self.payload.strip) if before or piece.startswith(self.payload.strip) else 0
        self.longest = max(self.longest, before + len(piece) - strip)

    def _finish(self) -> None:
        self.complete = True
        self.longest = max(self.longest, self.size(len(self._starts) - 1))

    def start(self, n: int) -> int:
        """Offset of the first stored byte of line `n`, its prefix included."""
        return self._starts[n]

    def end(self, n: int) -> int:
        """Offset behind the last stored byte of line `n`, its line end excluded."""
        return self._starts[n + 1] - 1 if n + 1 < len(self._starts) else self.scanned

    def line_of(self, offset: int) -> int:
        """Return the line of the stored byte at `offset` (a line includes its line end)."""
        return max(0, min(bisect_right(self._starts, offset), len(self)) - 1)

    def _bounds(self, n: int) -> tuple[int, int]:
        """Return the absolute offsets of line `n` after stripping."""
        payload = self.payload
        first, last = payload.offset + self.start(n), payload.offset + self.end(n)
        if payload.crlf and last > first and payload.source.read(last - 1, 1) == b"\r":
            last -= 1
        size = len(payload.strip)
        if size and last - first >= size and payload.source.read(first, size) == payload.strip:
            first += size
        return first, last

    def weight(self, n: int) -> int:
        """Return the stored bytes of line `n`, prefix included, without reading the line."""
        return self.end(n) - self.start(n)

    def size(self, n: int) -> int:
        """Bytes of line `n` by the strip rule."""
        first, last = self._bounds(n)
        return last - first

    def stored(self, n: int, lo: int = 0, hi: int | None = None) -> bytes:
        """Bytes `lo` to `hi` (exclusive) of line `n` by the strip rule."""
        payload = self.payload
        if lo == 0 and hi is None:
            return self._strip(payload.source.read(payload.offset + self.start(n), self.end(n) - self.start(n)))
        first, last = self._bounds(n)
        stop = last if hi is None else min(last, first + hi)
        return payload.source.read(first + lo, stop - first - lo) if stop > first + lo else b""

    def _strip(self, line: bytes) -> bytes:
        if self.payload.crlf:
            line = line.removesuffix(b"\r")
        return line.removeprefix(self.payload.strip)

    def block(self, lo: int, hi: int) -> bytes:
        """Lines `lo` to `hi` (exclusive) by the strip rule, joined by line ends, read at once."""
        if lo >= hi:
            return b""
        begin, end = self.start(lo), self.end(hi - 1)
        return Payload(
            self.payload.source, self.payload.offset + begin, end - begin, self.payload.strip, self.payload.crlf
        ).read()

    def lines(self, lo: int, hi: int, cap: int) -> list[bytes]:
        """Lines `lo` to `hi` (exclusive) by the strip rule. One of more than `cap` stored bytes is given as empty."""
        if lo >= hi:
            return []
        if self.end(hi - 1) - self.start(lo) > max(CHUNK, cap):
            return [self.stored(n) if self.end(n) - self.start(n) <= cap else b"" for n in range(lo, hi)]
        return [line if len(line) <= cap else b"" for line in self.block(lo, hi).split(b"\n")]

    def chunks(self, lo: int, hi: int, size: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Line ranges that cover `lo` to `hi` (exclusive), each of at most `size` stored bytes or of one line."""
        while lo < hi:
            stop = bisect_right(self._starts, self._starts[lo] + size, lo, len(self._starts)) - 1
            stop = min(max(stop, lo + 1), hi)
            yield lo, stop
            lo = stop

    def chunks_back(self, lo: int, hi: int, size: int = CHUNK) -> Iterator[tuple[int, int]]:
        """As `chunks`, from the end to the beginning."""
        while lo < hi:
            end = self.end(hi - 1)
            first = bisect_right(self._starts, max(end - size, 0), lo, hi)
            if first > lo and self._starts[first - 1] == max(end - size, 0):
                first -= 1
            first = max(min(first, hi - 1), lo)
            yield first, hi
            hi = first


PIECE = 4 << 20


@frozen
class Digest:
    """md5, bytes and lines of a payload."""

    md5: str
    size: int
    lines: int


def digest(payload: Payload, step: int = PIECE) -> Digest:
    """Hash a payload in pieces, so that a large one is never in memory at once."""
    md5 = hashlib.md5(usedforsecurity=False)
    size, lines, at, carry, begun = 0, 1, 0, b"\n", False
    while at < payload.size:
        data = payload.source.read(payload.offset + at, min(step, payload.size - at))
        if not data:
            break
        at += len(data)
        data = carry + data
        # keep back what may be the beginning of a line end that goes on in the next piece
        cut = len(data)
        while at < payload.size and data[cut - 1 : cut] in (b"\n", b"\r"):
            cut -= 1
        data, carry = data[:cut], data[cut:]
        if payload.crlf:
            data = data.replace(b"\r\n", b"\n")
            if at >= payload.size:
                data = data.removesuffix(b"\r")
        if payload.strip:
            data = data.replace(b"\n" + payload.strip, b"\n")
        if not begun and data:
            data, begun = data[1:], True  # the line end that the first piece was given
        size += len(data)
        lines += data.count(b"\n")
        md5.update(data)
    return Digest(md5.hexdigest(), size, lines)
