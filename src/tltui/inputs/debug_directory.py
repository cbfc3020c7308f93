"""A debug directory (TORCH_COMPILE_DEBUG=1) as a log: its bytes, its scanner, its records."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import Enum
from typing import Generic, TypeVar

from tltui.inputs.directory_layouts import (
    BEST_CONFIG,
    CACHED,
    CODE,
    READABLE,
    UNIT,
    Layout,
    UnitFile,
    files_of,
    layout_of,
    process_of,
    unit_order,
    written,
)
from tltui.inputs.vllm_cache import MARKS, RANK
from tltui.text.frozen import frozen
from tltui.text.payload import ByteSource, Digest, Payload, digest
from tltui.trace.batch import DECLARED, Batch, Context, Damage, Kind, Named
from tltui.trace.files import FileBytes, Identity
from tltui.trace.grammar import NOTABLE
from tltui.trace.log import Check, Checked, Log


class DirectoryBytes(FileBytes):
    """The directory that is read. Its scanner fills `files`, its log reads them."""

    __slots__ = ("files",)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.files: list[FileBytes] = []
        """In the order in which they were found; the records name them by their places, from 1."""

    def size(self) -> int:
        return sum(file.size() for file in self.files)

    def read(self, offset: int, size: int) -> bytes:
        """Nothing: records are in the files."""
        return b""

    def reached(self, offset: int) -> None:
        """Nothing to remember: each file is known by its identity."""

    def add(self, path: str, identity: Identity) -> int:
        """One more file, and its number."""
        file = FileBytes(path)
        file.identity = identity
        self.files.append(file)
        return len(self.files)


U = TypeVar("U")
C = TypeVar("C")


class How(Enum):
    """The evidence that joined a unit with a compile."""

    CODE = "the same generated code"
    ORDER = "by order"


@frozen
class UnitCode(Generic[U]):
    """The generated code of a unit."""

    unit: U
    md5: str
    aot_id: tuple[int, str] | None
    """AOT id and direction; None where nothing says them."""


@frozen
class TraceCode(Generic[C]):
    """A record of generated code of the trace of the same process."""

    compile: C
    record: int
    md5: str
    """As the record declares it."""
    aot_id: Callable[[], tuple[int, str] | None]
    """AOT id and direction as the first line of the code has them: asked only where no md5 is the same."""


@frozen
class Joined(Generic[C]):
    """The compile of a unit."""

    compile: C
    record: int
    """Its record of generated code."""
    how: How


def join(units: Iterable[UnitCode[U]], codes: Iterable[TraceCode[C]]) -> dict[U, Joined[C]]:
    """Map units to compiles, both in order of creation; unmatched units are omitted.

    The same code may have been generated several times: then the first unit belongs to the first record. The code of one record is
    joined with one unit.
    """
    units, codes = list(units), sorted(codes, key=lambda code: code.record)
    by_md5: dict[object, deque[TraceCode[C]]] = {}
    for code in codes:
        by_md5.setdefault(code.md5.lower(), deque()).append(code)
    joined: dict[U, Joined[C]] = {}
    joined_records: set[int] = set()
    for unit in units:
        if same := by_md5.get(unit.md5):
            code = same.popleft()
            joined_records.add(code.record)
            joined[unit.unit] = Joined(code.compile, code.record, How.CODE)
    remaining = [unit for unit in units if unit.unit not in joined and unit.aot_id is not None]
    if not remaining:
        return joined
    by_id: dict[tuple[int, str] | None, deque[TraceCode[C]]] = {}
    for code in codes:
        if code.record not in joined_records:
            by_id.setdefault(code.aot_id(), deque()).append(code)
    for unit in remaining:
        if same := by_id.get(unit.aot_id):
            code = same.popleft()
            joined[unit.unit] = Joined(code.compile, code.record, How.ORDER)
    return joined


VLLM_CACHE = "vLLM's compile cache"
AUTOTUNE_CACHE = "Inductor's autotuning cache"
TOGETHER = 64
"""Files looked at in one step."""
NAMED_IN = 1 << 16
"""Bytes at the end of a graph in which the function is looked for."""
_PLACE = re.compile(rb"# (?:[^\n]*\|)?File: ([^\n]{1,4000}):(\d{1,9}) in ([^\n,]{1,400}), code: ")


class DebugScanner:
    """Reads one directory. It is looked at again whenever it is asked: files that are new are records more."""

    def __init__(self, source: FileBytes) -> None:
        assert isinstance(source, DirectoryBytes)
        self._source = source
        self._layout: Layout | None = None
        self._files: Iterator[UnitFile] | None = None
        self._indexed: dict[str, tuple[int, int]] = {}  # path → its record, and its size
        self._refused: set[str] = set()
        self._kinds: dict[Kind, int] = {}
        self._contexts: dict[Context, int] = {}
        self._count = 0
        self._bytes = 0

    @property
    def reached(self) -> int:
        """0: a directory has no place up to which it was read."""
        return 0

    def step(self, size: int, last: bool) -> Batch:
        """Look at some more files. Raises OSError where the directory is not there."""
        batch = Batch(self._count)
        if self._files is None:
            self._layout = layout_of(self._source.path)
            self._files = files_of(self._layout) if self._layout is not None else iter(())
        for _ in range(TOGETHER):
            file = next(self._files, None)
            if file is None:
                self._files = None
                batch.finished, batch.waiting = last, not last
                break
            self._add_file(batch, file)
        batch.scanned = self._bytes
        return batch

    def _add_file(self, batch: Batch, file: UnitFile) -> None:
        if file.reason:
            if file.reason not in self._refused:
                self._refused.add(file.reason)
                batch.damage.append(Damage(0, -1, file.reason))
            return
        if file.path in self._indexed:
            record, before = self._indexed[file.path]
            if before != file.size:
                self._indexed[file.path] = record, file.size
                self._bytes += file.size - before
                batch.resized[record] = file.size
            return
        record = self._append(batch, file)
        self._indexed[file.path] = record, file.size
        self._bytes += file.size
        if file.name == READABLE and (name_source := self._function_of(record, file)) is not None:
            batch.name_sources.append(name_source)

    def _append(self, batch: Batch, file: UnitFile) -> int:
        kind = written(file.name, bool(file.unit)).kind
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            batch.kinds.append(kind)
        context = Context(self._layout.pid if self._layout is not None else 0, name=file.unit)
        place = self._contexts.get(context)
        if place is None:
            place = self._contexts[context] = len(self._contexts)
            batch.contexts.append(context)
        record, self._count = self._count, self._count + 1
        columns = batch.columns
        columns.offset.append(0)
        columns.head.append(0)
        columns.size.append(file.size)
        columns.kind.append(number)
        columns.context.append(place)
        columns.flags.append(DECLARED)
        columns.source.append(self._source.add(file.path, file.identity))
        batch.members[place].append(record)
        if kind.name in NOTABLE or kind.event in NOTABLE:
            batch.notable.append((record, number))
        return record

    def _function_of(self, record: int, file: UnitFile) -> Named | None:
        """Return the function of the last operation of a graph, from the comments of the graph."""
        try:
            text = self._source.files[-1].read(max(file.size - NAMED_IN, 0), NAMED_IN)
        except OSError:
            return None
        place = next(iter(deque(_PLACE.finditer(text), maxlen=1)), None)
        if place is None:
            return None
        filename, line, name = place[1].decode("utf-8", "replace"), int(place[2]), place[3].decode("utf-8", "replace")
        return Named(record, name, filename, line, is_guess=True)


AOT_ID = re.compile(rb"# AOT ID: \['(\d+)_(forward|backward|inference)'\]")
_FIRST_LINE = 400


class DebugLog(Log):
    """The files of a directory of units. First lines are made, payloads are the files as they are."""

    is_made = True

    def __init__(self, path: str, source: FileBytes, generation: int = 0) -> None:
        assert isinstance(source, DirectoryBytes)
        super().__init__(path, source, generation)
        self._directory = source
        self._digests: dict[int, Digest] = {}

    def apply(self, batch: Batch) -> None:
        super().apply(batch)
        index = len(self.sources) - 1
        self.sources += self._directory.files[index : len(self.columns)]
        for record in batch.resized:
            self._digests.pop(record, None)

    @property
    def told_by(self) -> str:  # type: ignore[override]
        """The kind of the directory, as pages name it."""
        if self.kinds and all(kind.name == BEST_CONFIG for kind in self.kinds):
            return AUTOTUNE_CACHE
        return VLLM_CACHE if self.is_vllm_cache else "torch_compile_debug"

    @property
    def is_vllm_cache(self) -> bool:
        """Whether it is a part of vLLM's compile cache."""
        return any(kind.name in MARKS for kind in self.kinds) or any(RANK.match(context.name) for context in self.contexts)

    def source_of(self, record: int) -> ByteSource:
        """Return the bytes of the file of a record."""
        return self.sources[self.columns.source[record]]

    def path_of(self, record: int) -> str:
        """Return the path of the file of a record."""
        file = self.source_of(record)
        assert isinstance(file, FileBytes)
        return file.path

    def name_of(self, record: int) -> str:
        """Return the base name of the file of a record."""
        return os.path.basename(self.path_of(record))

    def head(self, record: int) -> bytes:
        """Return the envelope line that torch would have written. Raises OSError where the file cannot be read."""
        kind, context = self.kind(record), self.context(record)
        if kind.event == "artifact":
            event: dict[str, object] = {"artifact": {"name": kind.name, "encoding": kind.encoding}}
        elif kind.event == "graph_dump":
            event = {"graph_dump": {"name": kind.name, "type": kind.encoding}}
        else:
            event = {kind.event: self._place_of_code(record)}
        event["has_payload"] = self.md5(record)
        file_kind = written(self.name_of(record), bool(context.name))
        when = self._time_of(record).strftime("%m%d %H:%M:%S.%f")
        return f"V{when} {context.pid} {file_kind.path}:{file_kind.line}] {json.dumps(event)}".encode()

    def written(self, record: int) -> bytes:
        """Return the path of the file: it has no envelope line."""
        return os.fsencode(self.path_of(record))

    def place(self, record: int) -> tuple[str, int]:
        """Return the file and line 0."""
        return self.path_of(record), 0

    def payload(self, record: int) -> Payload | None:
        """Return the file as the payload, unchanged."""
        return Payload(self.source_of(record), 0, self.columns.size[record])

    def md5(self, record: int) -> str | None:
        """Return the md5 of the file. Raises OSError where it cannot be read."""
        return self._digest(record).md5

    def check(self, record: int) -> Checked | None:
        """Return None: a file of a debug directory has no recorded md5."""
        payload, digest = self.payload(record), self._digest(record)
        assert payload is not None
        return Checked(Check.GOOD, payload, digest.size, digest.lines, digest.md5)

    def units(self) -> list[UnitCode[str]]:
        """Read the generated code of each unit, in order, to join it with the compiles of a trace."""
        codes = []
        for record in self.records():
            name = self.context(record).name
            if name and self.kind(record).event == "inductor_output_code" and self.name_of(record) == CODE:
                try:
                    md5 = self._digest(record).md5
                    match = AOT_ID.search(self.source_of(record).read(0, _FIRST_LINE))
                except OSError:
                    continue
                aot_id = (int(match[1]), match[2].decode()) if match else None
                codes.append(UnitCode(name, md5, aot_id or _aot_id_of(name)))
        return sorted(codes, key=lambda unit: unit_order(unit.unit))

    def _digest(self, record: int) -> Digest:
        if (cached := self._digests.get(record)) is None:
            payload = self.payload(record)
            assert payload is not None
            cached = self._digests[record] = digest(payload)
        return cached

    def _place_of_code(self, record: int) -> dict[str, str]:
        """Return the path of the code in Inductor's cache, where a unit directory has the name of that file; else nothing."""
        directory = os.path.dirname(self.path_of(record))
        if not CACHED.fullmatch(os.path.basename(directory)):
            return {}
        path = directory.removesuffix(".debug") + ".py"
        return {"filename": path, "file_path": path}

    def _time_of(self, record: int) -> datetime:
        """When the process began, else when the file was last changed, in local time."""
        _, started = process_of(self._directory.path)
        if started is not None:
            return started
        try:
            return datetime.fromtimestamp(os.stat(self.path_of(record)).st_mtime)
        except (OSError, OverflowError, ValueError):
            return datetime.fromtimestamp(0)


def _aot_id_of(name: str) -> tuple[int, str] | None:
    """Parse the AOT id and direction from the name of a unit."""
    match = UNIT.fullmatch(name)
    return (int(match["aot"]), match["direction"]) if match else None
