"""A directory of units → batches: a record for each file, no payload read but the end of a graph, which names a function."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from tltui.inputs.debug_dir.layout import Layout, UnitFile, files_of, layout_of
from tltui.inputs.debug_dir.names import READABLE, written
from tltui.inputs.debug_dir.source import DirectoryBytes
from tltui.trace.batch import DECLARED, Batch, Context, Damage, Kind, Named
from tltui.trace.envelope import NOTABLE
from tltui.trace.files import FileBytes

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
        self._known: dict[str, tuple[int, int]] = {}  # path → its record, and its size
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
            found = next(self._files, None)
            if found is None:
                self._files = None
                batch.finished, batch.waiting = last, not last
                break
            self._take(batch, found)
        batch.scanned = self._bytes
        return batch

    def _take(self, batch: Batch, found: UnitFile) -> None:
        if found.reason:
            if found.reason not in self._refused:
                self._refused.add(found.reason)
                batch.damage.append(Damage(0, -1, found.reason))
            return
        if found.path in self._known:
            record, before = self._known[found.path]
            if before != found.size:
                self._known[found.path] = record, found.size
                self._bytes += found.size - before
                batch.resized[record] = found.size
            return
        record = self._append(batch, found)
        self._known[found.path] = record, found.size
        self._bytes += found.size
        if found.name == READABLE and (named := self._named(record, found)) is not None:
            batch.named.append(named)

    def _append(self, batch: Batch, found: UnitFile) -> int:
        kind = written(found.name, bool(found.unit)).kind
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            batch.kinds.append(kind)
        context = Context(self._layout.pid if self._layout is not None else 0, name=found.unit)
        place = self._contexts.get(context)
        if place is None:
            place = self._contexts[context] = len(self._contexts)
            batch.contexts.append(context)
        record, self._count = self._count, self._count + 1
        columns = batch.columns
        columns.offset.append(0)
        columns.head.append(0)
        columns.size.append(found.size)
        columns.kind.append(number)
        columns.context.append(place)
        columns.flags.append(DECLARED)
        columns.source.append(self._source.add(found.path, found.identity))
        batch.members[place].append(record)
        if kind.name in NOTABLE or kind.event in NOTABLE:
            batch.notable.append((record, number))
        return record

    def _named(self, record: int, found: UnitFile) -> Named | None:
        """The function that the last operation of a graph is in, as the comments of the graph say."""
        try:
            text = self._source.files[-1].read(max(found.size - NAMED_IN, 0), NAMED_IN)
        except OSError:
            return None
        place = next(iter(deque(_PLACE.finditer(text), maxlen=1)), None)
        if place is None:
            return None
        filename, line, name = place[1].decode("utf-8", "replace"), int(place[2]), place[3].decode("utf-8", "replace")
        return Named(record, name, filename, line, is_guess=True)
