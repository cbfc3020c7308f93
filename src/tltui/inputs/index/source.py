"""The bytes of a log that an index tells of: as many of them as the index keeps; or those of the log itself, where that is here."""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from tltui.inputs.index.elsewhere import Elsewhere
from tltui.inputs.index.format import BadIndex, Chunk
from tltui.inputs.index.kept import Places, unpack_extents
from tltui.inputs.index.reader import EXTENTS, STREAM, IndexFile
from tltui.text.lru import Lru
from tltui.trace.files import FileBytes

UNPACKED = 16 << 20
"""Bytes of unpacked blocks that are kept, of all indexes together."""

_blocks: Lru[tuple[int, int], bytes] = Lru(UNPACKED)
_lock = threading.Lock()
_opened: WeakValueDictionary[str, IndexFile] = WeakValueDictionary()


def opened(path: str, anew: bool = False) -> IndexFile:
    """The index of this name, opened once as long as somebody uses it. Raises `BadIndex`, OSError."""
    with _lock:
        index = None if anew else _opened.get(path)
    if index is None:
        index = IndexFile(path)
        with _lock:
            _opened[path] = index
    return index


class IndexBytes(FileBytes):
    """A log that is not here. What its index does not keep of it raises `Elsewhere`."""

    __slots__ = ("_index", "_places", "number")
    is_saved = True

    def __init__(self, path: str, number: int) -> None:
        super().__init__(path)
        self.number = number
        self._index: IndexFile | None = None
        self._places: Places | None = None

    @property
    def index(self) -> IndexFile:
        """The index. Raises `BadIndex`, OSError."""
        if self._index is None:
            self._index = opened(self.path)
            if not 0 <= self.number < len(self._index.logs):
                raise BadIndex("it has fewer logs than it had", self.path)
        return self._index

    def size(self) -> int:
        return self.index.logs[self.number].size

    def read(self, offset: int, size: int) -> bytes:
        """As many bytes as are kept from `offset` on without a gap. Raises `Elsewhere` where none is."""
        log = self.index.logs[self.number]
        size = min(size, log.size - offset)
        if size <= 0:
            return b""
        if self._places is None:
            stream = log.sections.get(STREAM, Chunk(0, 0, 0, 0))
            self._places = Places(unpack_extents(self.index.section(self.number, EXTENTS) or bytes(12)), stream)
        parts = []
        for where, length, begin, count in self._places.pieces(offset, size):
            data = self._unpacked(where)
            if len(data) != length:
                raise BadIndex("it is damaged: a text has another length than it says", self.path)
            parts.append(data[begin : begin + count])
        if not parts:
            raise Elsewhere(log.host, log.path, not log.is_redacted)
        return b"".join(parts)

    def reached(self, offset: int) -> None:
        """Nothing to remember: the index says of each piece what it must be."""

    def _unpacked(self, where: Chunk | bytes) -> bytes:
        chunk = self.index.pool.get(where) if isinstance(where, bytes) else where
        if chunk is None:
            raise BadIndex("it is damaged: a text is missing", self.path)
        key = (id(self.index), chunk.offset)
        with _lock:
            data = _blocks.get(key)
        if data is None:
            data = self.index.unpacked(chunk)
            with _lock:
                _blocks.put(key, data, len(data))
        return data


class KnownFile(FileBytes):
    """A log of which an index knows the beginning."""

    __slots__ = ("index", "number")
    is_saved = True

    def __init__(self, path: str, index: str, number: int) -> None:
        super().__init__(path)
        self.index = index
        self.number = number
