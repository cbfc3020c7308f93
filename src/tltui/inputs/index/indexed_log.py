"""A log as its saved index has it: checksums, bytes, batches of the scan."""

from __future__ import annotations

import errno
import math
import re
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from tltui.inputs.index.format import BadIndex, Chunk, Places, chunk_of, read_directory, unpack, unpack_extents
from tltui.inputs.index.scan_records import Saved, unpack_records
from tltui.text.frozen import frozen
from tltui.text.lru import Lru
from tltui.text.payload import ByteSource
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes
from tltui.trace.scan import STEP, Scanner, State

RECORDS = "records"
"""Columns, kinds, contexts, strings, metrics … of a log."""
EXTENTS = "extents"
"""Which of its bytes are kept, and where."""
STREAM = "stream"
"""The blocks that hold them: unlike a chunk this is not compressed as a whole."""
_HEX = re.compile(r"(?:[0-9a-f]{2}){4,32}")
_LAUNCH = re.compile(r"attempt_\d{1,9}")
POOL_ROW = 36
"""Bytes: a digest of 16, offset 8, stored 4, size 4, crc 4; in the order of the digests."""

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})?")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
NO_EXTENTS = bytes(12)
"""What the section of a log without texts would be."""
UNPACKED = 16 << 20
"""Bytes of unpacked blocks that are kept, of all indexes together."""


class Elsewhere(OSError):
    """The error that bytes of an indexed log are neither in the index nor in an opened log."""

    def __init__(self, host: str, path: str, is_named: bool = True) -> None:
        """Create the error. `is_named`: host and path are real names, not placeholders of a redacted index."""
        place = sanitize(f"{host}:{path}")
        super().__init__(errno.EREMOTE, f"payload is on {place}, not in the index")
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
        return f"{self.strerror}. To get it: {command}" if command else str(self.strerror)


@frozen
class SavedLog:
    """The facts of a log in an index."""

    number: int
    """Among the logs of the index, from 0."""
    path: str
    """Where it was, absolute: a label. Nothing is ever opened by it."""
    host: str
    """Where that is."""
    size: int
    """Bytes, when it was read."""
    changed: int
    """Time of its last change then, nanoseconds since the epoch."""
    head: str
    """blake2b (8 bytes) of its first 4 KiB, of less where less of it was read."""
    tail: str
    """The same of the 4 KiB before `reached`."""
    reached: int
    """Bytes of whole records: from here a scan can go on."""
    ended: bool
    """Whether nobody wrote into it any more."""
    rank: int | None
    """As its name states it."""
    launch: str
    started: float
    clock: float | None
    """As `FoundLog` has them."""
    fault: str
    is_redacted: bool
    is_lean: bool | None
    """Whether texts were left out; None where an older tltui did not say."""
    records: int
    sections: Mapping[str, Chunk]
    processes: tuple[SavedProcess, ...]


@frozen
class SavedProcess:
    """The facts of a process in an index, available without its log."""

    index: IndexFile = field(repr=False, compare=False)
    log: int
    """`SavedLog.number` of its log."""
    place: int
    """Among the processes of its log, from 0: that of `LogModel.processes`."""
    rank: int | None
    """As `Process.rank`."""
    pid: int
    twin: int
    is_forked: bool
    """Whether another process of its log started it."""
    host: str
    launch: str
    started: float
    """Seconds since the epoch, as `Process.started`."""
    is_dated: bool
    ended: bool
    is_traced: bool
    last: float
    """When its last record was written, microseconds since the epoch; NaN where that is not known."""
    inside: tuple[str, ...]
    """Phases open in its last compile, the outermost first."""
    doing: str
    """The compile that it was in when its log ended, `block1 [1/0]`; '' where it finished what it began."""
    compiles: int
    records: int
    course: bytes
    """The digest of its course: equal ones are one course."""
    times: Chunk
    phases: Chunk

    def course_bytes(self) -> bytes:
        """Its course, packed (`questions/ranks/lanes.py`). Raises `BadIndex`, OSError."""
        return self.index.course(self.course)

    def times_bytes(self) -> bytes:
        """Its times without phases, packed. Raises `BadIndex`, OSError."""
        return self.index.unpacked(self.times)

    def phases_bytes(self) -> bytes:
        """Return the packed phases of its times, which are large and seldom needed. Raises `BadIndex`, OSError."""
        return self.index.unpacked(self.phases)

    @property
    def key(self) -> str:
        """As `Process.key`, where its log is called by its path."""
        return f"{self.index.logs[self.log].path}\0{self.pid}" + (f"\0{self.twin}" if self.twin else "")


class IndexFile:
    """An index. Opening it reads its directory. Raises `BadIndex` where it is none that can be used, OSError."""

    def __init__(self, path: str, source: ByteSource | None = None) -> None:
        self.path = path
        self.key = object()
        """The key of its unpacked blocks: unlike its id it is never another index's after this one is gone."""
        self.source = source or FileBytes(path)
        try:
            directory, self._end = read_directory(self.source)
            self.written_by = _text(directory, "tltui")
            self._courses = {
                bytes.fromhex(_match(digest)): chunk_of(chunk, self._end)
                for digest, chunk in _object(directory.get("courses")).items()
            }
            pool = directory.get("pool")
            self._pool_chunk = None if pool is None else chunk_of(pool, self._end)
            self.logs: tuple[SavedLog, ...] = tuple(self._log(n, entry) for n, entry in enumerate(_list(directory.get("logs"))))
        except BadIndex as bad:
            raise BadIndex(str(bad.strerror), path) from None
        self._lock = threading.Lock()
        self._sound: set[Chunk] = set()

    @property
    def saved(self) -> Sequence[SavedProcess]:
        """All processes, log by log."""
        return [process for log in self.logs for process in log.processes]

    @property
    def courses(self) -> Mapping[bytes, Chunk]:
        """Digest → where the course is."""
        return self._courses

    def course(self, digest: bytes) -> bytes:
        """Return a course, packed. Raises `BadIndex`, OSError."""
        return self.unpacked(self._courses[digest])

    def unpacked(self, chunk: Chunk) -> bytes:
        """Return the bytes of a chunk. Raises `BadIndex`, OSError."""
        try:
            return unpack(self.source, chunk)
        except BadIndex as bad:
            raise BadIndex(str(bad.strerror), self.path) from None

    def check(self, chunk: Chunk) -> None:
        """Compare the checksum of a chunk, unless that was done before. Raises `BadIndex`, OSError."""
        if chunk in self._sound:
            return
        if zlib.crc32(self.source.read(chunk.offset, chunk.stored)) != chunk.crc:
            raise BadIndex("damaged index: a checksum is wrong", self.path)
        self._sound.add(chunk)

    def section(self, log: int, name: str) -> bytes:
        """Return a section of a log, unpacked; b'' where it has none. Raises `BadIndex`, OSError."""
        chunk = self.logs[log].sections.get(name)
        return b"" if chunk is None else self.unpacked(chunk)

    @cached_property
    def facts(self) -> list[dict[str, Any]]:
        """Return the facts of each log as stored in the directory, for copying."""
        return _list(read_directory(self.source)[0].get("logs"))

    @cached_property
    def pool(self) -> Mapping[bytes, Chunk]:
        """Digest → where the text is, of those that are kept once for all logs. Raises `BadIndex`, OSError."""
        if self._pool_chunk is None:
            return {}
        data = self.unpacked(self._pool_chunk)
        if len(data) % POOL_ROW:
            raise BadIndex("damaged index: invalid list of texts", self.path)
        texts = {}
        for at in range(0, len(data), POOL_ROW):
            row = data[at : at + POOL_ROW]
            numbers = [int.from_bytes(row[a:b], "little") for a, b in ((16, 24), (24, 28), (28, 32), (32, 36))]
            texts[row[:16]] = chunk_of(numbers, self._end)
        return texts

    def _log(self, number: int, entry: object) -> SavedLog:
        """Facts of a log, each of the type that it must have."""
        fact = _object(entry)
        sections = {}
        for name, chunk in _object(fact.get("sections")).items():
            sections[name] = self._stream(chunk) if name == STREAM else chunk_of(chunk, self._end)
        host, ended = _text(fact, "host"), fact.get("ended") is True
        processes = [self._process(number, place, host, ended, item) for place, item in enumerate(_list(fact.get("processes")))]
        lean = fact.get("lean")
        return SavedLog(
            number, _text(fact, "path"), host, _count(fact, "size"), _count(fact, "changed"), _text(fact, "head"),
            _text(fact, "tail"), _count(fact, "reached"), ended, _integer(fact.get("rank")), _launch(fact),
            _time(fact.get("started")), None if fact.get("clock") is None else _time(fact["clock"]), _text(fact, "fault"),
            fact.get("redacted") is True, lean if isinstance(lean, bool) else None, _count(fact, "records"), sections,
            tuple(processes),
        )  # fmt: skip

    def _stream(self, value: object) -> Chunk:
        """Blocks, each of them checked when it is read."""
        if not isinstance(value, list) or len(value) != 2 or not all(type(number) is int and number >= 0 for number in value):
            raise BadIndex("damaged index: the position of a chunk is missing")
        if value[0] + value[1] > self._end:
            raise BadIndex("damaged index: a chunk exceeds the file")
        return Chunk(value[0], value[1], value[1], 0)

    def _process(self, number: int, place: int, host: str, ended: bool, entry: object) -> SavedProcess:
        fact = _object(entry)
        course = bytes.fromhex(_match(fact.get("course")))
        if course not in self._courses:
            raise BadIndex("damaged index: a sequence of compiles is missing")
        last = fact.get("last")
        return SavedProcess(
            self, number, place, _integer(fact.get("rank")), _count(fact, "pid"), _count(fact, "twin"),
            fact.get("forked") is True, host,
            _launch(fact), _time(fact.get("started")), fact.get("dated") is True, ended, fact.get("traced") is True,
            math.nan if last is None else _time(last), tuple(_texts(fact.get("inside"))), _text(fact, "doing"),
            _count(fact, "compiles"), _count(fact, "records"), course, chunk_of(fact.get("times"), self._end),
            chunk_of(fact.get("phases"), self._end),
        )  # fmt: skip


def _bad(detail: str) -> BadIndex:
    return BadIndex(f"damaged index: {detail}")


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _bad("invalid facts of a log")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _bad("a list is missing")
    return value


def _texts(value: object) -> list[str]:
    if not all(isinstance(text, str) for text in _list(value)):
        raise _bad("texts are missing")
    return _list(value)


def _text(fact: dict[str, Any], key: str) -> str:
    value = fact.get(key)
    if not isinstance(value, str):
        raise _bad(f"a log without a valid {key}")
    return value


def _launch(fact: dict[str, Any]) -> str:
    launch = _text(fact, "launch")
    if launch and not _LAUNCH.fullmatch(launch):
        raise _bad("a log without a valid launch")
    return launch


def _match(value: object) -> str:
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise _bad("a digest is missing")
    return value


def _count(fact: dict[str, Any], key: str) -> int:
    value = fact.get(key)
    if type(value) is not int or value < 0:
        raise _bad(f"a log without a valid {key}")
    return value


def _integer(value: object) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value < 1 << 63):
        raise _bad("a rank is invalid")
    return value


def _time(value: object) -> float:
    if type(value) not in (int, float) or not -1e18 < value < 1e18:  # type: ignore[operator]
        raise _bad("a time is invalid")
    return float(value)  # type: ignore[arg-type]


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
            raise BadIndex("damaged index: a text is missing", index.path)
        index.check(index.pool[digest])


_blocks: Lru[tuple[object, int], bytes] = Lru(UNPACKED)
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
                raise BadIndex("it now has fewer logs", self.path)
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
                raise BadIndex("damaged index: the length of a text is wrong", self.path)
            parts.append(data[begin : begin + count])
        if not parts:
            raise Elsewhere(log.host, log.path, not log.is_redacted)
        return b"".join(parts)

    def reached(self, offset: int) -> None:
        """Do nothing: the index has a checksum of each piece."""

    def _unpacked(self, where: Chunk | bytes) -> bytes:
        chunk = self.index.pool.get(where) if isinstance(where, bytes) else where
        if chunk is None:
            raise BadIndex("damaged index: a text is missing", self.path)
        key = (self.index.key, chunk.offset)
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


def _saved_of(index: IndexFile, number: int) -> Saved:
    """Read the scan results of a log from an index. Raises `BadIndex`, OSError."""
    log = index.logs[number]
    try:
        saved = unpack_records(index.section(number, RECORDS))
    except BadIndex as bad:
        raise BadIndex(str(bad.strerror), index.path) from None
    batches = [batch for batch in (saved.batch, saved.last) if batch is not None]
    ends = [batch.columns.offset[-1] for batch in batches if len(batch.columns)]
    if saved.state.reached != log.reached or log.reached > log.size or any(end >= log.size for end in ends):
        raise BadIndex("damaged index: records after the end of a log", index.path)
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
            self._saved = _saved_of(self._source.index, self._source.number)
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
                saved = _saved_of(opened(source.index), source.number)
            except OSError:  # the log itself says it too
                return self._scanner.step(size, last)
            self._scanner.resume(saved.state, saved.batch.kinds, saved.batch.contexts)
            saved.batch.waiting, saved.batch.tail = False, None
            return saved.batch
        return self._scanner.step(size, last)
