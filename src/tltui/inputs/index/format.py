"""The container of a saved index, and the extents of a log that it stores."""

from __future__ import annotations

import enum
import hashlib
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import accumulate
from operator import add
from typing import Any, NamedTuple

from tltui.text.frozen import mutable
from tltui.text.json_codec import dumps
from tltui.text.payload import ByteSource
from tltui.trace.batch import ORPHAN, Columns
from tltui.trace.grammar import parse_json
from tltui.trace.log import END_OF_LINE

MAGIC = b"TLX\x89\r\n\x1a\n"
"""Bytes that no text begins with, and that a transfer as text would break."""
FORMAT = 1
"""The version of what is in the chunks. There is one."""
END = b"TLX-end\n"
_END = struct.Struct("<QQQI8s")
LARGEST = 1 << 28
"""Bytes of a chunk when it is unpacked."""
RATIO = 1032
"""How much smaller zlib can make anything (deflate, RFC 1951)."""
LEVEL = 3
SUFFIX = ".tlx"

BLOCK = 1 << 17
"""Bytes of a block, unpacked; a longer record has one of its own."""
POOLED = 2048
"""Bytes from which on a payload is kept once for all logs."""
DIGEST = 16
IN_STREAM = 0
_DAMAGED = "damaged index: invalid texts of a log"

_ARRAYS = ("start", "size", "pooled")
_BLOCKS = ("stored", "length", "crc")
_BIG = array("I", (1,)).tobytes()[0] == 0


class BadIndex(OSError):
    """An invalid index; the message is one line with the reason."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(None, reason, path or None)
        self.strerror = reason

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}" if self.filename else str(self.strerror)


class Chunk(NamedTuple):
    """The location of a piece of an index."""

    offset: int
    stored: int
    """Bytes in the file."""
    size: int
    """Bytes unpacked: as many where it is not compressed."""
    crc: int
    """crc32 of the stored bytes."""

    def moved(self, by: int) -> Chunk:
        """Return the chunk of the same bytes at another offset."""
        return self._replace(offset=self.offset + by)


@mutable
class Extents:
    """The stored byte ranges of a log and their locations."""

    start: array[int] = field(default_factory=lambda: array("Q"))
    """Offsets in the log, ascending."""
    size: array[int] = field(default_factory=lambda: array("Q"))
    pooled: array[int] = field(default_factory=lambda: array("I"))
    """0: in the stream; else which of `digests` it is, from 1."""
    digests: list[bytes] = field(default_factory=list)
    stored: array[int] = field(default_factory=lambda: array("I"))
    """Of each block, bytes in the file."""
    length: array[int] = field(default_factory=lambda: array("I"))
    """Of each block, bytes unpacked."""
    crc: array[int] = field(default_factory=lambda: array("I"))

    def add(self, start: int, size: int, pooled: int) -> None:
        """One more; together with the one before where it goes on there."""
        if not pooled and self.start and not self.pooled[-1] and self.start[-1] + self.size[-1] == start:
            self.size[-1] += size
        else:
            self.start.append(start)
            self.size.append(size)
            self.pooled.append(pooled)


class Keep(enum.IntEnum):
    """The part of a record to store."""

    NOTHING = 0
    MD5 = 1
    """The end of its first line, with the md5 of its payload."""
    LINE = 2
    """Its first line."""
    ALL = 3


def pack(data: bytes, offset: int = 0) -> tuple[bytes, Chunk]:
    """Compress bytes; return them and their chunk at `offset`."""
    small = zlib.compress(data, LEVEL)
    stored = small if len(small) < len(data) else data
    return stored, Chunk(offset, len(stored), len(data), zlib.crc32(stored))


def chunk_of(value: object, end: int) -> Chunk:
    """Parse a chunk in the directory of a file whose chunks end at `end`. Raises `BadIndex`."""
    if not isinstance(value, list) or len(value) != 4 or not all(type(number) is int and 0 <= number < 1 << 62 for number in value):
        raise BadIndex("damaged index: the position of a chunk is missing")
    chunk = Chunk(*value)
    inside = chunk.offset >= len(MAGIC) and chunk.offset + chunk.stored <= end
    if not inside or chunk.size > LARGEST or not chunk.stored <= chunk.size <= chunk.stored * RATIO:
        raise BadIndex("damaged index: a chunk exceeds the file")
    return chunk


def _block_of(stream: Chunk, offset: int, stored: int, size: int, crc: int) -> Chunk:
    """Return a block of a stream. Raises `BadIndex` where it is not inside of it."""
    if offset < 0 or offset + stored > stream.stored or size > LARGEST or not stored <= size <= stored * RATIO:
        raise BadIndex("damaged index: a chunk exceeds the file")
    return Chunk(stream.offset + offset, stored, size, crc)


def unpack(source: ByteSource, chunk: Chunk) -> bytes:
    """Return the bytes of a chunk from `chunk_of`. Raises `BadIndex`, OSError."""
    data = source.read(chunk.offset, chunk.stored)
    if len(data) != chunk.stored or zlib.crc32(data) != chunk.crc:
        raise BadIndex("damaged index: a checksum is wrong")
    if chunk.stored == chunk.size:
        return data
    unpacking = zlib.decompressobj()
    try:
        output = unpacking.decompress(data, chunk.size + 1)
    except zlib.error:
        raise BadIndex("damaged index: a chunk cannot be unpacked") from None
    if len(output) != chunk.size or not unpacking.eof or unpacking.unused_data:
        raise BadIndex("damaged index: the length of a chunk is wrong")
    return output


def write_directory(directory: dict[str, object], offset: int) -> bytes:
    """Return the bytes of the directory at `offset`, and of the end of the file."""
    stored, chunk = pack(dump_json(directory), offset)
    crc = zlib.crc32(struct.pack("<QQQ", *chunk[:3]), chunk.crc)
    return stored + _END.pack(*chunk[:3], crc, END)


def read_directory(source: ByteSource) -> tuple[dict[str, Any], int]:
    """Return the directory of an index, and the end offset of its chunks. Raises `BadIndex`, OSError."""
    size = source.size()
    if source.read(0, len(MAGIC)) != MAGIC:
        raise BadIndex("not a tltui index")
    end = source.read(max(size - _END.size, 0), _END.size)
    if len(end) < _END.size or not end.endswith(END):
        raise BadIndex("truncated, or still being written")
    offset, stored, length, crc, _ = _END.unpack(end)
    if offset < len(MAGIC) or stored > size or offset + stored + _END.size != size:
        raise BadIndex("damaged index: invalid end")
    data = source.read(offset, stored)
    checksum = zlib.crc32(data)
    if zlib.crc32(struct.pack("<QQQ", offset, stored, length), checksum) != crc:
        raise BadIndex("damaged index: a checksum is wrong")
    directory = load_json(unpack(source, chunk_of([offset, stored, length, checksum], size)))
    if not isinstance(directory, dict) or directory.get("format") != FORMAT:
        other = directory.get("format") if isinstance(directory, dict) else None
        version = f"format {other}" if type(other) is int else "another format"
        raise BadIndex(f"it has {version}, but this tltui reads format {FORMAT}; make a new index with tltui index")
    return directory, offset


def dump_json(value: object) -> bytes:
    """Serialize to JSON with a first byte for the encoder.

    That is `json_codec`, or json for values that it refuses (numbers beyond 64 bit, halves of surrogate pairs).
    """
    import json

    try:
        return b"o" + dumps(value, default=tuple)
    except (TypeError, ValueError):
        return b"j" + json.dumps(value, separators=(",", ":")).encode()


def load_json(data: bytes) -> Any:
    """Parse the output of `dump_json`. Raises `BadIndex`."""
    try:
        return parse_json(data[1:], exact=data[:1] == b"j")
    except ValueError:
        raise BadIndex("damaged index: invalid JSON") from None


class Keeping:
    """A writer of the stored bytes of a log to its stream. `pool` receives the texts that all logs share."""

    def __init__(self, pool: dict[bytes, bytes]) -> None:
        self.extents = Extents()
        self.stream: list[bytes] = []
        self._pool = pool
        self._numbers: dict[bytes, int] = {}
        self._open: list[bytes] = []
        self._size = 0

    def line(self, start: int, data: bytes) -> None:
        """Add bytes of the log to the stream."""
        if data:
            self.extents.add(start, len(data), IN_STREAM)
            self._open.append(data)
            self._size += len(data)
            if self._size >= BLOCK:
                self.flush()

    def text(self, start: int, data: bytes) -> None:
        """Add a payload as it is stored."""
        if len(data) < POOLED:
            self.line(start, data)
            return
        digest = hashlib.blake2b(data, digest_size=DIGEST).digest()
        self._pool.setdefault(digest, data)
        if digest not in self._numbers:
            self.extents.digests.append(digest)
            self._numbers[digest] = len(self.extents.digests)
        self.extents.add(start, len(data), self._numbers[digest])

    def flush(self) -> None:
        """Write the pending bytes as a block."""
        if not self._open:
            return
        data = b"".join(self._open)
        small = zlib.compress(data, LEVEL)
        stored = small if len(small) < len(data) else data
        self.stream.append(stored)
        self.extents.stored.append(len(stored))
        self.extents.length.append(len(data))
        self.extents.crc.append(zlib.crc32(stored))
        self._open, self._size = [], 0


def keep(source: ByteSource, columns: Columns, keeps: Iterable[Keep], pool: dict[bytes, bytes], piece: int = 4 << 20) -> Keeping:
    """Store of each record the part that `wanted` returns. Raises OSError."""
    keeping = Keeping(pool)
    offset, head, size, flags = columns.offset, columns.head, columns.size, columns.flags
    begin, data = 0, b""

    def read(start: int, length: int) -> bytes:
        nonlocal begin, data
        if start < begin or start + length > begin + len(data):
            begin, data = start, source.read(start, max(length, piece))
        return data[start - begin : start - begin + length]

    for record, part in enumerate(keeps):
        at = offset[record]
        if part is Keep.MD5:
            length = min(head[record], END_OF_LINE)
            keeping.line(at + head[record] - length, read(at + head[record] - length, length))
        if part < Keep.LINE:
            continue
        if not flags[record] & ORPHAN:
            keeping.line(at, read(at, head[record] + 1))
            at += head[record] + 1
        if size[record] and part is Keep.ALL:
            keeping.text(at, read(at, size[record]))
            keeping.line(at + size[record], read(at + size[record], 1))
    keeping.flush()
    return keeping


def pack_extents(extents: Extents) -> bytes:
    """Return the section of a log."""
    counts = (len(extents.start), len(extents.stored), len(extents.digests))
    parts = [b"".join(count.to_bytes(4, "little") for count in counts)]
    parts += [_bytes(getattr(extents, name)) for name in (*_ARRAYS, *_BLOCKS)]
    return b"".join((*parts, *extents.digests))


def unpack_extents(data: bytes) -> Extents:
    """Parse the output of `pack_extents`. Raises `BadIndex`."""
    count, blocks, digests = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    if 12 + count * 20 + blocks * 12 + digests * DIGEST != len(data):
        raise BadIndex(_DAMAGED)
    extents, at = Extents(), 12
    for name, number in [(name, count) for name in _ARRAYS] + [(name, blocks) for name in _BLOCKS]:
        column: array[int] = getattr(extents, name)
        column.frombytes(data[at : at + number * column.itemsize])
        at += number * column.itemsize
        if _BIG:
            column.byteswap()
    extents.digests = [data[at + n * DIGEST : at + (n + 1) * DIGEST] for n in range(digests)]
    ends = list(map(add, extents.start, extents.size))
    ordered = all(end <= start for end, start in zip(ends, extents.start[1:], strict=False))
    streamed = sum(size for size, pooled in zip(extents.size, extents.pooled, strict=True) if not pooled)
    if not ordered or max(extents.pooled, default=0) > digests or streamed != sum(extents.length) or 0 in extents.length:
        raise BadIndex(_DAMAGED)
    return extents


def _bytes(column: array[int]) -> bytes:
    if _BIG:
        column = array(column.typecode, column)
        column.byteswap()
    return column.tobytes()


class Places:
    """The locations of the stored bytes of a log in its index."""

    def __init__(self, extents: Extents, stream: Chunk) -> None:
        self._extents = extents
        self._before = [0, *accumulate(0 if pooled else size for size, pooled in zip(extents.size, extents.pooled, strict=True))]
        self._firsts = [0, *accumulate(extents.length)]
        offsets = accumulate(extents.stored, initial=0)
        table = zip(offsets, extents.stored, extents.length, extents.crc, strict=False)
        self.blocks: Sequence[Chunk] = [_block_of(stream, offset, stored, length, crc) for offset, stored, length, crc in table]

    def pieces(self, offset: int, size: int) -> Iterator[tuple[Chunk | bytes, int, int, int]]:
        """Yield the locations of the bytes from `offset` on, up to the first gap.

        Each is (block, or the digest of a text in the pool; its unpacked size in bytes; the offset in it; the number of bytes).
        """
        extents, end = self._extents, offset + size
        place = bisect_right(extents.start, offset) - 1
        while 0 <= place < len(extents.start) and offset < end:
            within = offset - extents.start[place]
            if not 0 <= within < extents.size[place]:
                return
            count = min(extents.size[place] - within, end - offset)
            if pooled := extents.pooled[place]:
                yield extents.digests[pooled - 1], extents.size[place], within, count
            else:
                yield from self._streamed(self._before[place] + within, count)
            offset += count
            place += 1

    def _streamed(self, at: int, count: int) -> Iterator[tuple[Chunk, int, int, int]]:
        number = bisect_right(self._firsts, at) - 1
        while count:
            within = at - self._firsts[number]
            step = min(self.blocks[number].size - within, count)
            yield self.blocks[number], self.blocks[number].size, within, step
            at, count, number = at + step, count - step, number + 1
