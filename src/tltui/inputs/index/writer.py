"""A streaming writer of indexes: pieces are returned and not kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tltui import __version__
from tltui.inputs.index.format import FORMAT, MAGIC, BadIndex, Chunk, pack, unpack_extents, write_directory
from tltui.inputs.index.indexed_log import EXTENTS, NO_EXTENTS, POOL_ROW, STREAM, IndexFile, check_log
from tltui.text.payload import MemoryBytes

PIECE = 1 << 20
NO_FACTS: Mapping[str, Any] = {}


class Writer:
    """The pieces of an index, in order. The directory comes last."""

    def __init__(self) -> None:
        self._offset = 0
        self._logs: list[dict[str, Any]] = []
        self._courses: dict[bytes, Chunk] = {}
        self._pool: dict[bytes, Chunk] = {}

    def begin(self) -> bytes:
        """Return the first piece."""
        self._offset = len(MAGIC)
        return MAGIC

    def log(
        self, facts: Mapping[str, Any], sections: Mapping[str, bytes], stream: Iterable[bytes], pool: Mapping[bytes, bytes],
        processes: Iterable[Mapping[str, Any]],
    ) -> Iterator[bytes]:
        """Yield a log. Of `processes` the values that are bytes become chunks; `course` is a digest and its contents."""
        chunks = {name: self._chunk(data) for name, data in sorted(sections.items())}
        for stored, _ in chunks.values():
            yield stored
        first = self._offset
        for block in stream:
            self._offset += len(block)
            yield block
        places: dict[str, object] = {name: chunk for name, (_, chunk) in chunks.items()}
        places[STREAM] = [first, self._offset - first]
        for digest, text in sorted(pool.items()):
            if digest not in self._pool:
                stored, self._pool[digest] = self._chunk(text)
                yield stored
        rows = []
        for process in processes:
            row = dict(process)
            for name, value in process.items():
                if name == "course":
                    digest, packed = value
                    row[name] = digest.hex()
                    if digest not in self._courses:
                        stored, self._courses[digest] = self._chunk(packed)
                        yield stored
                elif isinstance(value, bytes):
                    stored, row[name] = self._chunk(value)
                    yield stored
            rows.append(row)
        self._logs.append({**facts, "sections": places, "processes": rows})

    def copied(self, index: IndexFile, number: int, facts: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield a log of another index unchanged, with `facts` in place of its own. Raises `BadIndex`, OSError."""
        old = index.facts[number]
        places: dict[str, object] = {}
        for name, chunk in sorted(index.logs[number].sections.items()):
            places[name] = [self._offset, chunk.stored] if name == STREAM else chunk.moved(self._offset - chunk.offset)
            yield from self._copy(index, chunk)
        for digest in sorted(unpack_extents(index.section(number, EXTENTS) or NO_EXTENTS).digests):
            if digest not in self._pool:
                if (text := index.pool.get(digest)) is None:
                    raise BadIndex("damaged index: a text is missing", index.path)
                self._pool[digest] = text.moved(self._offset - text.offset)
                yield from self._copy(index, text)
        rows = []
        for row, process in zip(old["processes"], index.logs[number].processes, strict=True):
            row = dict(row)
            if process.course not in self._courses:
                chunk = index.courses[process.course]
                self._courses[process.course] = chunk.moved(self._offset - chunk.offset)
                yield from self._copy(index, chunk)
            for name, chunk in (("times", process.times), ("phases", process.phases)):
                row[name] = chunk.moved(self._offset - chunk.offset)
                yield from self._copy(index, chunk)
            rows.append(row)
        self._logs.append({**old, **facts, "sections": places, "processes": rows})

    def end(self) -> Iterator[bytes]:
        """Yield the directory, and the end."""
        rows = []
        for digest, chunk in sorted(self._pool.items()):
            numbers = zip(chunk, (8, 4, 4, 4), strict=True)
            rows.append(digest + b"".join(number.to_bytes(size, "little") for number, size in numbers))
        assert all(len(row) == POOL_ROW for row in rows)
        pool = None
        if rows:
            stored, pool = self._chunk(b"".join(rows))
            yield stored
        courses = {digest.hex(): chunk for digest, chunk in sorted(self._courses.items())}
        directory = {"format": FORMAT, "tltui": __version__, "logs": self._logs, "courses": courses, "pool": pool}
        yield write_directory(directory, self._offset)

    def _chunk(self, data: bytes) -> tuple[bytes, Chunk]:
        stored, chunk = pack(data, self._offset)
        self._offset += len(stored)
        return stored, chunk

    def _copy(self, index: IndexFile, chunk: Chunk) -> Iterator[bytes]:
        for at in range(0, chunk.stored, PIECE):
            data = index.source.read(chunk.offset + at, min(PIECE, chunk.stored - at))
            if len(data) != min(PIECE, chunk.stored - at):
                raise BadIndex("it is cut off", index.path)
            self._offset += len(data)
            yield data


def one_log(index: IndexFile, number: int, facts: Mapping[str, Any] = NO_FACTS) -> bytes:
    """Return a log of an index as a separate index, with `facts` in place of its own. Raises `BadIndex`, OSError."""
    writer = Writer()
    return b"".join((writer.begin(), *writer.copied(index, number, facts), *writer.end()))


def check(part: bytes) -> None:
    """Verify the checksums of an index, so that a damaged one is not copied. Raises `BadIndex`."""
    index = IndexFile("", MemoryBytes(part))
    for log in index.logs:
        check_log(index, log.number)
        for process in log.processes:
            index.check(process.times)
            index.check(process.phases)
    for chunk in index.courses.values():
        index.check(chunk)


def merged(parts: Iterable[bytes], host: str) -> Iterator[bytes]:
    """Yield one index with the logs of several, in that order; logs without a host get `host`.

    No more than one part is in memory at a time. Raises `BadIndex`.
    """
    writer = Writer()
    yield writer.begin()
    for part in parts:
        index = IndexFile("", MemoryBytes(part))
        for log in index.logs:
            yield from writer.copied(index, log.number, {} if log.host else {"host": host})
    yield from writer.end()
