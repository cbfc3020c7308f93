"""Streams around other streams: of which the beginning was looked at, whose bytes are counted, and which end at a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from tltui.inputs.archives.decompress import Stream
from tltui.inputs.archives.settings import size_of

HEAD = 1 << 20
"""Bytes of a member that are looked at to find out what it is."""
FLOOR = 1 << 30
"""Bytes that every packed file may unpack to, however small it is."""
RATIO = 400
"""Beyond the floor: times the packed size. A log is 10 to 15 times as large as its xz file; a tar archive of 64 ranks that logged
the same except for times and pids 70 to 130 times. Deflate reaches 1,032, xz and bzip2 many thousands."""


class Head:
    """A stream of which the beginning was looked at."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.head = b""
        self._given = 0
        self.look_on(HEAD)

    def look_on(self, until: int) -> None:
        """Have the first `until` bytes in `head`."""
        parts, size = [self.head], len(self.head)
        while size < until and (part := self._stream.read(until - size)):
            parts.append(part)
            size += len(part)
        self.head = b"".join(parts)

    @property
    def fault(self) -> str:
        return self._stream.fault

    def read(self, size: int) -> bytes:
        if self._given < len(self.head):
            part = self.head[self._given : self._given + size]
            self._given += len(part)
            return part
        return self._stream.read(size)

    def close(self) -> None:
        self._stream.close()


class Counted:
    """The packed file, and how far it was read."""

    def __init__(self, file: IO[bytes], size: int, tell: Callable[[int, int], object]) -> None:
        self._file = file
        self._size = size
        self._tell = tell
        self._read = 0
        self.fault = ""

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._read += len(data)
        self._tell(self._read, self._size)
        return data

    def close(self) -> None:
        return


class Allowance:
    """How much of one packed file has come out, of all streams in it together, and how much may."""

    def __init__(self, packed: int) -> None:
        self._packed = packed
        self._most = max(FLOOR, RATIO * packed)
        self.used = 0
        """Bytes that came out. Who goes through the file again sets it back to where it began."""

    @property
    def fault(self) -> str:
        """Why no more comes out; '' while more may."""
        if self.used < self._most:
            return ""
        return f"its {size_of(self._packed)} unpack to more than {size_of(self._most)}, as no log does: the rest was not unpacked"

    def limited(self, stream: Stream) -> Stream:
        """The stream, which ends with the fault where the allowance does."""
        return _Limited(stream, self)


class _Limited:
    """A stream that ends where the allowance of its file does."""

    def __init__(self, stream: Stream, allowance: Allowance) -> None:
        self._stream = stream
        self._allowance = allowance
        self.fault = stream.fault

    def read(self, size: int) -> bytes:
        data = b"" if self.fault else self._stream.read(size)
        self.fault = self.fault or self._stream.fault
        if data and self._allowance.fault:
            self.fault, data = self._allowance.fault, b""
        self._allowance.used += len(data)
        return data

    def close(self) -> None:
        self._stream.close()
