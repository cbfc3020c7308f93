"""The container of a saved index: chunks, a directory behind them, and an end that says where it is.

    MAGIC  chunk …  directory  end

A *chunk* is a piece of bytes, compressed with zlib where that makes it smaller, of which the directory says where it lies, how long
it is, how long it is unpacked, and its crc32. The directory is a chunk that is JSON. Whoever writes an index needs to know nothing
in advance and keeps nothing in memory but the directory; a file that was cut off has no end, and is refused.

Nothing that a file says is believed: each length is held against the size of the file before anything is allocated for it, and no
more bytes are unpacked than were announced.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

from tltui.text.json_codec import dumps
from tltui.text.payload import ByteSource
from tltui.trace.grammar import parse_json

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


class BadIndex(OSError):
    """An index that cannot be used. Its text is one line that says why."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(None, reason, path or None)
        self.strerror = reason

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}" if self.filename else str(self.strerror)


class Chunk(NamedTuple):
    """Where a piece of an index lies."""

    offset: int
    stored: int
    """Bytes in the file."""
    size: int
    """Bytes unpacked: as many where it is not compressed."""
    crc: int
    """crc32 of the stored bytes."""

    def moved(self, by: int) -> Chunk:
        """The same bytes, elsewhere."""
        return self._replace(offset=self.offset + by)


def pack(data: bytes, offset: int = 0) -> tuple[bytes, Chunk]:
    """What is stored of some bytes, and the chunk that it is at `offset`."""
    small = zlib.compress(data, LEVEL)
    stored = small if len(small) < len(data) else data
    return stored, Chunk(offset, len(stored), len(data), zlib.crc32(stored))


def chunk_of(value: object, end: int) -> Chunk:
    """A chunk as a directory has it, of a file whose chunks end at `end`. Raises `BadIndex`."""
    if not isinstance(value, list) or len(value) != 4 or not all(type(own) is int and 0 <= own < 1 << 62 for own in value):
        raise BadIndex("it is damaged: no place of a chunk")
    chunk = Chunk(*value)
    inside = chunk.offset >= len(MAGIC) and chunk.offset + chunk.stored <= end
    if not inside or chunk.size > LARGEST or not chunk.stored <= chunk.size <= chunk.stored * RATIO:
        raise BadIndex("it is damaged: a chunk that does not fit into it")
    return chunk


def block_of(stream: Chunk, offset: int, stored: int, size: int, crc: int) -> Chunk:
    """A block of a stream. Raises `BadIndex` where it is not inside of it."""
    if offset < 0 or offset + stored > stream.stored or size > LARGEST or not stored <= size <= stored * RATIO:
        raise BadIndex("it is damaged: a chunk that does not fit into it")
    return Chunk(stream.offset + offset, stored, size, crc)


def unpack(source: ByteSource, chunk: Chunk) -> bytes:
    """The bytes of a chunk that `chunk_of` took. Raises `BadIndex`, OSError."""
    data = source.read(chunk.offset, chunk.stored)
    if len(data) != chunk.stored or zlib.crc32(data) != chunk.crc:
        raise BadIndex("it is damaged: a checksum is wrong")
    if chunk.stored == chunk.size:
        return data
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(data, chunk.size + 1)
    except zlib.error:
        raise BadIndex("it is damaged: a chunk cannot be unpacked") from None
    if len(found) != chunk.size or not unpacking.eof or unpacking.unused_data:
        raise BadIndex("it is damaged: a chunk has another length than it says")
    return found


def write_directory(directory: dict[str, object], offset: int) -> bytes:
    """The directory, as it stands at `offset`, and the end of the file."""
    stored, chunk = pack(dump_json(directory), offset)
    crc = zlib.crc32(struct.pack("<QQQ", *chunk[:3]), chunk.crc)
    return stored + _END.pack(*chunk[:3], crc, END)


def read_directory(source: ByteSource) -> tuple[dict[str, Any], int]:
    """The directory of an index, and where its chunks end. Raises `BadIndex`, OSError."""
    size = source.size()
    if source.read(0, len(MAGIC)) != MAGIC:
        raise BadIndex("it is no index of tltui")
    end = source.read(max(size - _END.size, 0), _END.size)
    if len(end) < _END.size or not end.endswith(END):
        raise BadIndex("it is cut off, or still being written")
    offset, stored, length, crc, _ = _END.unpack(end)
    if offset < len(MAGIC) or stored > size or offset + stored + _END.size != size:
        raise BadIndex("it is damaged: its end is")
    data = source.read(offset, stored)
    own = zlib.crc32(data)
    if zlib.crc32(struct.pack("<QQQ", offset, stored, length), own) != crc:
        raise BadIndex("it is damaged: a checksum is wrong")
    found = load_json(unpack(source, chunk_of([offset, stored, length, own], size)))
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        other = found.get("format") if isinstance(found, dict) else None
        said = f"format {other}" if type(other) is int else "another format"
        raise BadIndex(f"it has {said}, and this tltui reads format {FORMAT}: make it again with tltui index")
    return found, offset


def dump_json(value: object) -> bytes:
    """JSON with a first byte that says who wrote it: `json_codec`, or for what that refuses (numbers beyond 64 bit, halves of
    surrogate pairs) json."""
    import json

    try:
        return b"o" + dumps(value, default=tuple)
    except (TypeError, ValueError):
        return b"j" + json.dumps(value, separators=(",", ":")).encode()


def load_json(data: bytes) -> Any:
    """What `dump_json` wrote. Raises `BadIndex`."""
    try:
        return parse_json(data[1:], exact=data[:1] == b"j")
    except ValueError:
        raise BadIndex("it is damaged: no JSON where some must be") from None
