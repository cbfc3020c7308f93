"""Where a stored text lies and how its lines were wrapped.

A payload is not read until somebody looks at it. It has a stored size and opens to byte lines by a *strip rule*:
a prefix that each stored line may carry (a log's tab, a text log's repeated prefix, or nothing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ByteSource(Protocol):
    """Random access to stored bytes. Reading past the end gives fewer bytes, never an error."""

    def size(self) -> int:
        """Bytes there are now."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`."""


@dataclass(frozen=True, slots=True)
class MemoryBytes:
    """Bytes that are held in memory."""

    data: bytes

    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : offset + size]


@dataclass(frozen=True, slots=True)
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
        """The whole text as it was written, stripped. For texts that are known to be small or wanted whole."""
        stored = self.source.read(self.offset, self.size)
        if self.crlf:
            stored = stored.replace(b"\r\n", b"\n").removesuffix(b"\r")
        if self.strip:
            stored = stored.removeprefix(self.strip).replace(b"\n" + self.strip, b"\n")
        return stored

    @classmethod
    def of(cls, data: bytes) -> Payload:
        """A payload that is already in memory."""
        return cls(MemoryBytes(data), 0, len(data))
