"""Stored bytes, read with `pread`.

No mmap: a live log that is truncated would kill the process. At most `MAX_OPEN` descriptors are kept open, so
that a run of a thousand ranks stays below the usual limit.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict

MAX_OPEN = 64


class _Descriptors:
    """Open file descriptors by path, the least recently used one closed first."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, path: str, offset: int, size: int) -> bytes:
        with self._lock:
            fd = self._open.pop(path, None)
            if fd is None:
                fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            self._open[path] = fd
            while len(self._open) > MAX_OPEN:
                os.close(self._open.popitem(last=False)[1])
            # dup: another thread may push this descriptor out while we read a slow file system
            fd = os.dup(fd)
        try:
            return _pread_all(fd, offset, size)
        finally:
            os.close(fd)


def _pread_all(fd: int, offset: int, size: int) -> bytes:
    """`size` bytes, fewer only at the end of the file: one pread may stop early (2 GB limit, signals)."""
    data = os.pread(fd, size, offset)
    if len(data) == size or not data:
        return data
    parts = [data]
    got = len(data)
    while got < size:
        more = os.pread(fd, size - got, offset + got)
        if not more:
            break
        parts.append(more)
        got += len(more)
    return b"".join(parts)


_descriptors = _Descriptors()


class FileBytes:
    """The bytes of a regular file (a `tltui.text.payload.ByteSource`).

    Raises OSError where the file cannot be read, also on its way (a network file system may fail at any time).
    """

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def size(self) -> int:
        return os.stat(self.path).st_size

    def read(self, offset: int, size: int) -> bytes:
        return _descriptors.read(self.path, offset, size)


def is_regular(path: str) -> bool:
    """Whether `path` is a regular file: a pipe or a device could block for ever."""
    return stat.S_ISREG(os.stat(path).st_mode)
