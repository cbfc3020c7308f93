"""Stored bytes, read with `pread`.

No mmap: a live log that is truncated would kill the process. At most `MAX_OPEN` descriptors are kept open, so
that a run of a thousand ranks stays below the usual limit.

Bytes that were read once must not change: a file that has been replaced, truncated or rewritten since then yields no bytes at
all, rather than wrong ones.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from typing import ClassVar

MAX_OPEN = 64
PLACE = 64
"""Bytes that are remembered of the beginning of a file, and of the place up to which it was read."""
NO_LONGER = "no longer in the file: "
REPLACED = f"{NO_LONGER}another file replaced it"
CUT_OFF = f"{NO_LONGER}the file was truncated after it was read"
WRITTEN_ANEW = f"{NO_LONGER}the file was rewritten after it was read"

Identity = tuple[int, int]
"""Device and inode."""


class Gone(OSError):
    """The error that bytes read once are no longer in the file. `strerror` gives the reason."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(errno.ESTALE, reason, path)


def identity_of(status: os.stat_result) -> Identity:
    """Which file it is, whatever its name."""
    return status.st_dev, status.st_ino


class _Descriptors:
    """Open file descriptors by file, the least recently used one closed first."""

    def __init__(self) -> None:
        self._open: OrderedDict[Identity, int] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, file: FileBytes) -> int:
        """Return a descriptor for the caller to close. Raises OSError, `Gone` where another file has the name by now."""
        with self._lock:
            fd = self._open.pop(file.identity, None) if file.identity is not None else None
            if fd is None:
                # a pipe that has the name by now would wait for a writer
                fd = os.open(file.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
                identity = identity_of(os.fstat(fd))
                if file.identity not in (None, identity):
                    os.close(fd)
                    raise Gone(REPLACED, file.path)
                file.identity = identity
                if (twin := self._open.pop(identity, None)) is not None:
                    os.close(twin)
            assert file.identity is not None
            self._open[file.identity] = fd
            while len(self._open) > MAX_OPEN:
                os.close(self._open.popitem(last=False)[1])
            # dup: another thread may push this descriptor out while we read a slow file system
            return os.dup(fd)

    def close(self, file: FileBytes) -> None:
        """Close the descriptor of a file, if it is open."""
        with self._lock:
            fd = self._open.pop(file.identity, None) if file.identity is not None else None
            if fd is not None:
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

    Raises OSError where the file cannot be read, also later (a network file system may fail at any time), and `Gone` where it
    has changed since `reached` was called.
    """

    __slots__ = ("_beginning", "_checked", "_place", "_reached", "identity", "lost_reason", "path")
    is_saved: ClassVar[bool] = False
    """Whether a saved index keeps what was found in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.identity: Identity | None = None
        """Which file was opened; None before."""
        self.lost_reason = ""
        """Why there are no bytes any more; '' while there are."""
        self._reached = 0
        self._beginning = b""
        self._place = b""
        self._checked = (0, 0)  # time of the last change and size when the bytes were compared

    def size(self) -> int:
        return os.stat(self.path).st_size

    def read(self, offset: int, size: int) -> bytes:
        if self.lost_reason:
            raise Gone(self.lost_reason, self.path)
        fd = _descriptors.of(self)
        try:
            if self._reached:
                self._check(fd)
            return _pread_all(fd, offset, size)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Close the descriptor that was left open for the next read, which opens the file again."""
        _descriptors.close(self)

    def reached(self, offset: int) -> None:
        """Everything before `offset` was read, and must stay as it is. Raises OSError."""
        fd = _descriptors.of(self)
        try:
            status = os.fstat(fd)
            self._beginning = _pread_all(fd, 0, min(PLACE, offset))
            self._place = _pread_all(fd, max(offset - PLACE, 0), min(PLACE, offset))
            self._checked = (status.st_mtime_ns, status.st_size)
            self._reached = offset
        finally:
            os.close(fd)

    def _check(self, fd: int) -> None:
        status = os.fstat(fd)
        now = (status.st_mtime_ns, status.st_size)
        if now == self._checked:
            return
        if status.st_size < self._reached:
            raise Gone(CUT_OFF, self.path)
        beginning = _pread_all(fd, 0, len(self._beginning))
        if beginning != self._beginning or _pread_all(fd, self._reached - len(self._place), len(self._place)) != self._place:
            raise Gone(WRITTEN_ANEW, self.path)
        self._checked = now
