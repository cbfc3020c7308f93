"""A stream as a file that can be read forward only, for `tarfile`: it never unpacks more for a header than a header needs."""

from __future__ import annotations

import io
import os

from tltui.inputs.archives.decompress import PIECE, Stream
from tltui.inputs.archives.settings import size_of

KEPT = 4096
"""Bytes behind the place reached that can be read again: `tarfile` looks back by one."""
HEADER = 4 << 20
"""Bytes that the headers of one member may have. Names and attributes of real ones are a few hundred; who made the archive says how
many there are to be, and all of them are held in memory."""


class Oversized(Exception):
    """A header is larger than any real one."""


class ForwardFile(io.RawIOBase):
    """What `tarfile.TarFile` needs of a file: `read`, `seek` and `tell`."""

    def __init__(self, stream: Stream, most: int) -> None:
        super().__init__()
        self.stream = stream
        self._most = most
        self._at = 0
        self._kept = b""  # the last bytes before `_reached`
        self._reached = 0  # bytes taken from the stream
        self._allowed = HEADER
        self.is_cut = False
        """Whether something was wanted that lies behind the end."""

    def allow(self) -> None:
        """The next member begins: its headers may be read."""
        self._allowed = HEADER

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        assert whence == os.SEEK_SET
        if offset < self._reached - len(self._kept):
            raise Oversized("it refers back to what was read already")
        while self._reached < offset and self._pull(min(PIECE, offset - self._reached)):
            pass
        self.is_cut |= self._reached < offset
        self._at = min(offset, self._reached)
        return self._at

    def read(self, size: int = -1) -> bytes:
        """All of what is there, as a buffered file gives it. For headers: they are counted."""
        self._allowed -= max(size, 0)
        if size < 0 or self._allowed < 0:
            raise Oversized(f"its header is larger than {HEADER >> 20} MiB")
        parts = []
        while size and (part := self.read_some(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def read_some(self, size: int) -> bytes:
        """At most `size` bytes, fewer at any place, none at the end."""
        behind = self._reached - self._at
        part = self._kept[len(self._kept) - behind :][:size] if behind else self._pull(size)
        self._at += len(part)
        return part

    def _pull(self, size: int) -> bytes:
        part = self.stream.read(min(size, PIECE))
        self._reached += len(part)
        if self._reached > self._most:  # members that nobody wants are unpacked too, to get past them
            raise Oversized(f"it unpacks to more than {size_of(self._most)}: the rest was not looked at")
        self._kept = (self._kept + part)[-KEPT:]
        return part
