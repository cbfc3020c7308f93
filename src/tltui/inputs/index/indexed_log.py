"""A log as its saved index has it: checksums, bytes, batches of the scan."""

from __future__ import annotations

import errno
import re
import threading
from weakref import WeakValueDictionary

from tltui.inputs.index.format import BadIndex, Chunk, Places, unpack_extents
from tltui.inputs.index.reader import EXTENTS, RECORDS, STREAM, IndexFile
from tltui.inputs.index.scan_records import Saved, unpack_records
from tltui.text.lru import Lru
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes
from tltui.trace.scan import STEP, Scanner, State

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})?")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Elsewhere(OSError):
    """The error that bytes of an indexed log are neither in the index nor in an opened log."""

    def __init__(self, host: str, path: str, is_named: bool = True) -> None:
        """Create the error. `is_named`: host and path are real names, not placeholders of a redacted index."""
        place = sanitize(f"{host}:{path}")
        super().__init__(errno.EREMOTE, f"payload is on {place}, and not in the index")
        self.host = host
        self.path = path
        self._is_named = is_named

    def command(self, ref: str = "", view: str = "show") -> str:
        """Return the shell command that shows the text, or the page that needs it (`view`); '' without a plain host and path.

        Host and path come from the index, which anybody may have written: a host is letters, digits, dots and dashes, a path is
        absolute, and both follow `--`, quoted for the shell here and once more for the one there.
        """
        if not self._is_named or not _HOST.fullmatch(self.host) or not self.path.startswith("/") or _UNSAFE.search(self.path):
            return ""
        if sanitize(self.path) != self.path:
            return ""
        command = " ".join(("tltui", view, *map(quoted, (self.path, *([ref] if ref else ())))))
        return f"ssh -- {quoted(self.host)} {quoted(command)}"

    def __str__(self) -> str:
        command = self.command()
        return f"{self.strerror}; to have it: {command}" if command else str(self.strerror)


NO_EXTENTS = bytes(12)
"""What the section of a log without texts would be."""


def check_log(index: IndexFile, number: int) -> None:
    """Compare the checksums of the records and texts of a log; shared texts are compared once.

    Raises `BadIndex` where one is wrong, OSError.
    """
    sections = index.logs[number].sections
    for name in (RECORDS, EXTENTS):
        if name in sections:
            index.check(sections[name])
    extents = unpack_extents(index.section(number, EXTENTS) or NO_EXTENTS)
    stream = sections.get(STREAM, Chunk(0, 0, 0, 0))
    for block in Places(extents, stream).blocks:
        index.check(block)
    for digest in extents.digests:
        if digest not in index.pool:
            raise BadIndex("it is damaged: a text is missing", index.path)
        index.check(index.pool[digest])


UNPACKED = 16 << 20
"""Bytes of unpacked blocks that are kept, of all indexes together."""

_blocks: Lru[tuple[int, int], bytes] = Lru(UNPACKED)
_lock = threading.Lock()
_opened: WeakValueDictionary[str, IndexFile] = WeakValueDictionary()


def opened(path: str, anew: bool = False) -> IndexFile:
    """Return the index at a path, shared while in use. Raises `BadIndex`, OSError."""
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
        """Do nothing: the index has a checksum of each piece."""

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
    """A log whose beginning is indexed."""

    __slots__ = ("index", "number")
    is_saved = True

    def __init__(self, path: str, index: str, number: int) -> None:
        super().__init__(path)
        self.index = index
        self.number = number


def saved_of(index: IndexFile, number: int) -> Saved:
    """Read the scan results of a log from an index. Raises `BadIndex`, OSError."""
    log = index.logs[number]
    try:
        saved = unpack_records(index.section(number, RECORDS))
    except BadIndex as bad:
        raise BadIndex(str(bad.strerror), index.path) from None
    batches = [batch for batch in (saved.batch, saved.last) if batch is not None]
    ends = [batch.columns.offset[-1] for batch in batches if len(batch.columns)]
    if saved.state.reached != log.reached or log.reached > log.size or any(end >= log.size for end in ends):
        raise BadIndex("it is damaged: records behind the end of a log", index.path)
    return saved


class IndexScanner:
    """A scanner that replays the index, and continues in the log if it is present."""

    def __init__(self, source: FileBytes) -> None:
        assert isinstance(source, IndexBytes | KnownFile)
        self._source = source
        self._scanner = Scanner(source)
        self._saved: Saved | None = None
        self._begun = False

    @property
    def reached(self) -> int:
        """The scanned bytes of the log; 0 where it is absent: the size of an index is unrelated to that of the log."""
        return self._scanner.reached if isinstance(self._source, KnownFile) else 0

    @property
    def state(self) -> State:
        """The state of the scan of a present log after a batch with `waiting`."""
        return self._scanner.state

    def step(self, size: int = STEP, last: bool = True) -> Batch:
        """Return the next batch. Raises OSError, `BadIndex` where the log is absent and the index is damaged."""
        if isinstance(self._source, KnownFile):
            return self._here(self._source, size, last)
        if not self._begun:
            check_log(self._source.index, self._source.number)
            self._saved = saved_of(self._source.index, self._source.number)
            self._begun = True
            batch = self._saved.batch
            batch.waiting = self._saved.last is None
            return batch
        assert self._saved is not None
        if self._saved.last is not None:
            return self._saved.last
        return Batch(self._saved.state.records, scanned=self._saved.state.reached, waiting=True)

    def _here(self, source: KnownFile, size: int, last: bool) -> Batch:
        if not self._begun:
            self._begun = True
            try:
                saved = saved_of(opened(source.index), source.number)
            except OSError:  # the log itself says it too
                return self._scanner.step(size, last)
            self._scanner.resume(saved.state, saved.batch.kinds, saved.batch.contexts)
            saved.batch.waiting, saved.batch.tail = False, None
            return saved.batch
        return self._scanner.step(size, last)
