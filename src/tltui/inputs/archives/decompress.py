"""Bounded decompression of streams, read piece by piece."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Protocol

from tltui.inputs.archives import BZIP2, GZIP, UTF_16, XZ, ZSTD, size_of

PIECE = 1 << 16
"""Bytes that are read or unpacked at once."""
A_LITTLE = 1024
MEMORY = 256 << 20
"""Bytes that a decompressor may take: `xz -9` wants 65 MiB, and who made the file says how much."""
RAW = -15
"""For `Deflated`: without the header and the checksum of gzip."""
ZSTD_MEMORY = 128
"""MiB: what `zstd` takes without being told otherwise."""
NO_ZSTD = "zstd-compressed: unpack it with unzstd first"
NO_MODULE = "{}-compressed, and this Python was built without the module {}: unpack it with {} first"
CUT_OFF = "the compressed data is truncated"
BROKEN = "the compressed data is damaged"
MORE_BEHIND = "unexpected data after the compressed data"


class CannotUnpack(Exception):
    """Why a file cannot be unpacked here at all."""


class Stream(Protocol):
    """Bytes that are read from front to end."""

    @property
    def fault(self) -> str:
        """Why they are not all that there was; '' while nothing is wrong. Known when the end is reached."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes, fewer at any place, none at the end. Raises OSError where the file cannot be read."""

    def close(self) -> None:
        """Release its resources."""


class Plain:
    """A file as it is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.fault = ""

    def read(self, size: int) -> bytes:
        return self._file.read(size)

    def close(self) -> None:
        return


class Deflated:
    """zlib's decompressor, called as those of bz2 and lzma are.

    zlib finds a wrong checksum when all is unpacked, and its error takes the last piece along. So that piece is unpacked once more,
    a little at a time, from a copy.
    """

    def __init__(self, bits: int = 31) -> None:
        self._inner = zlib.decompressobj(wbits=bits)
        self._rest = b""
        self._has_more = False  # it stopped because enough was unpacked: more may come without another byte
        self.error: Exception | None = None

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._rest and not self._has_more

    def decompress(self, data: bytes, size: int) -> bytes:
        before, data = self._inner.copy(), self._rest + data
        try:
            output = self._inner.decompress(data, size)
        except zlib.error as error:
            self.error = error
            return self._what_came_out(before, data)
        self._rest, self._has_more = self._inner.unconsumed_tail, len(output) == size
        return output

    @staticmethod
    def _what_came_out(inner: Any, data: bytes) -> bytes:
        chunks: list[bytes] = []
        before = inner.copy()
        try:
            while piece := inner.decompress(data, A_LITTLE):
                chunks.append(piece)
                data, before = inner.unconsumed_tail, inner.copy()
        except zlib.error:
            with suppress(zlib.error):  # the byte that is wrong
                for place in range(len(data)):
                    chunks.append(before.decompress(data[place : place + 1], PIECE))
        return b"".join(chunks)


class Unpacked:
    """The bytes of a compressed file. Several streams one behind the other are one, as `gunzip`, `unxz` and `bunzip2` have it."""

    def __init__(self, file: Stream, make: Callable[[], Any]) -> None:
        self._file = file
        self._make = make
        self._inner = make()
        self._data = b""
        self._began = False  # something of the stream that is being unpacked was seen
        self._first = True
        self._ended = False
        self.fault = ""

    def read(self, size: int) -> bytes:
        while not self._ended:
            if self._inner.eof:
                self._next_stream()
                continue
            if not self._data and self._inner.needs_input:
                self._data = self._file.read(PIECE)
                if not self._data:
                    self._end(CUT_OFF if self._began or self._first else "")
                    return b""
            try:
                output = self._step(size)
            except _errors() as error:
                self._end(_why(error, self._first))
                return b""
            if output:
                return output
        return b""

    def _step(self, size: int) -> bytes:
        data, self._data = self._data, b""
        self._began = True
        output: bytes = self._inner.decompress(data, size)
        if (error := getattr(self._inner, "error", None)) is not None:
            self._end(_why(error, self._first))
        return output

    def _next_stream(self) -> None:
        """Handle the bytes after the end of a stream: another stream, NULs to fill a block, or garbage."""
        unused = self._inner.unused_data + self._data
        self._data = b""
        while not (unused := unused.lstrip(b"\x00")):
            unused = self._file.read(PIECE)
            if not unused:
                self._end("")
                return
        self._first, self._began, self._data = False, False, unused
        self._inner = self._make()

    def _end(self, fault: str) -> None:
        self._ended, self.fault = True, fault or self._file.fault

    def close(self) -> None:
        self._file.close()


def _why(error: Exception, is_first: bool) -> str:
    if not is_first:
        return MORE_BEHIND
    return f"{BROKEN}: {str(error).rpartition(': ')[2]}"


class Recoded:
    """UTF-16 text with a byte order mark, as UTF-8."""

    def __init__(self, file: Stream) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._has_ended = False

    @property
    def fault(self) -> str:
        return self._file.fault

    def read(self, size: int) -> bytes:
        output = b""
        while not output and not self._has_ended:
            data = self._file.read(max(min(size, PIECE) // 3, 2))  # of two bytes at most three come
            self._has_ended = not data
            output = self._decoder.decode(data, final=not data).encode("utf-8", "replace")
        return output

    def close(self) -> None:
        self._file.close()


class _Program:
    """The `zstd` program, where Python has no zstd."""

    def __init__(self, program: str, path: str) -> None:
        command = [program, "-dcq", f"--memory={ZSTD_MEMORY}MB", "--", path]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.fault = ""

    def read(self, size: int) -> bytes:
        assert self._process.stdout is not None and self._process.stderr is not None
        output = self._process.stdout.read(size)
        if not output and not self.fault:
            message = self._process.stderr.read(4096).decode("utf-8", "replace").strip()
            if self._process.wait() != 0:
                self.fault = f"{BROKEN}: {message.rpartition(': ')[2] or 'zstd failed'}"
        return output

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def unpacked(packing: str, file: Stream, path: str) -> Stream:
    """Return the decompressed stream of `file`; `path` has the same bytes, '' for none. Raises `CannotUnpack`."""
    if packing == GZIP:
        return Unpacked(file, Deflated)
    if packing == XZ:
        return Unpacked(file, _xz_decompressor())
    if packing == UTF_16:
        return Recoded(file)
    if packing == BZIP2:
        return Unpacked(file, _bzip2_decompressor())
    assert packing == ZSTD
    if (make := zstd_decompressor()) is not None:
        return Unpacked(file, make)
    program = shutil.which("zstd")
    if program is None or not path:
        raise CannotUnpack(NO_ZSTD)
    return _Program(program, path)


def _xz_decompressor() -> Callable[[], Any]:
    """Of the module that a Python lacks where the headers of liblzma did when it was built. Raises `CannotUnpack`."""
    try:
        from lzma import LZMADecompressor
    except ImportError:
        raise CannotUnpack(NO_MODULE.format("xz", "lzma", "unxz")) from None
    return lambda: LZMADecompressor(memlimit=MEMORY)


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that decompressors raise at broken data."""
    common = (OSError, EOFError, ValueError, zlib.error)
    try:
        from lzma import LZMAError
    except ImportError:
        return common
    return (*common, LZMAError)


def _bzip2_decompressor() -> Callable[[], Any]:
    """As that of xz: of the headers of libbz2. Raises `CannotUnpack`."""
    try:
        from bz2 import BZ2Decompressor
    except ImportError:
        raise CannotUnpack(NO_MODULE.format("bzip2", "bz2", "bunzip2")) from None
    return BZ2Decompressor


def zstd_decompressor() -> Callable[[], Any] | None:
    """Return the decompressor factory of Python 3.14, or of the package `backports.zstd`; None without either."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        return None
    return zstd.ZstdDecompressor  # type: ignore[no-any-return]


KEPT = 4096
"""Bytes behind the place reached that can be read again: `tarfile` looks back by one."""
HEADER = 4 << 20
"""Bytes that the headers of one member may have. Names and attributes of real ones are a few hundred; who made the archive says how
many there are to be, and all of them are held in memory."""


class Oversized(Exception):
    """A header is larger than any real one."""


class ForwardFile(io.RawIOBase):
    """A forward-only file for `tarfile.TarFile`: `read`, `seek` and `tell`."""

    def __init__(self, stream: Stream, most: int) -> None:
        super().__init__()
        self.stream = stream
        self._most = most
        self._at = 0
        self._buffered = b""  # the last bytes before `_reached`
        self._reached = 0  # bytes taken from the stream
        self._allowed = HEADER
        self.is_cut = False
        """Whether something was wanted that lies behind the end."""

    def allow(self) -> None:
        """Allow the headers of the next member to be read."""
        self._allowed = HEADER

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        assert whence == os.SEEK_SET
        if offset < self._reached - len(self._buffered):
            raise Oversized("it refers back to data that was already read")
        while self._reached < offset and self._pull(min(PIECE, offset - self._reached)):
            pass
        self.is_cut |= self._reached < offset
        self._at = min(offset, self._reached)
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read all `size` bytes if available, as a buffered file does. For headers: they are counted."""
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
        part = self._buffered[len(self._buffered) - behind :][:size] if behind else self._pull(size)
        self._at += len(part)
        return part

    def _pull(self, size: int) -> bytes:
        part = self.stream.read(min(size, PIECE))
        self._reached += len(part)
        if self._reached > self._most:  # members that nobody wants are unpacked too, to get past them
            raise Oversized(f"it unpacks to more than {size_of(self._most)}: the rest was not read")
        self._buffered = (self._buffered + part)[-KEPT:]
        return part


HEAD = 1 << 20
"""Bytes of a member that are looked at to find out what it is."""
FLOOR = 1 << 30
"""Bytes that every packed file may unpack to, however small it is."""
RATIO = 400
"""Beyond the floor: times the packed size. A log is 10 to 15 times as large as its xz file; a tar archive of 64 ranks that logged
the same except for times and pids 70 to 130 times. Deflate reaches 1,032, xz and bzip2 many thousands."""


class Head:
    """A stream with a buffered beginning."""

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

    def __init__(self, file: IO[bytes], size: int, report: Callable[[int, int], object]) -> None:
        self._file = file
        self._size = size
        self._report = report
        self._read = 0
        self.fault = ""

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._read += len(data)
        self._report(self._read, self._size)
        return data

    def close(self) -> None:
        return


class Allowance:
    """The bytes unpacked from one packed file, of all streams in it together, and their limit."""

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
        return f"its {size_of(self._packed)} unpack to more than {size_of(self._most)}, too much for a log; the rest was skipped"

    def limited(self, stream: Stream) -> Stream:
        """Return the stream, which ends with the fault where the allowance does."""
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
