"""Several logs of one process as one log."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence

from tltui.text.payload import Payload
from tltui.trace.batch import Batch
from tltui.trace.grammar import Prefix
from tltui.trace.log import Checked, Log

NOWHERE = 0xFFFFFFFF
"""In place of the number of a record that is not in a joined log."""


class JoinedLog(Log):
    """The records of one process, taken from several logs (`members`, the first one is the *base*).

    What the base stores as a trace is read in place: its source is 0, its offset that in the file. Every other record is one of a
    member: its source is the number of the member from 1, its offset the number of the record there.
    """

    def __init__(self, members: Sequence[Log]) -> None:
        base = members[0]
        super().__init__(base.path, base.source)
        self.key = base.key
        self.members = tuple(members)
        self.places = [array("I") for _ in members]
        """For each member: record there → record here, also of one that was left out as the base has it too."""

    def take(self, batch: Batch, places: Sequence[array[int]]) -> None:
        """Remember where the records of a batch come from."""
        for column, more in zip(self.places, places, strict=True):
            column.extend(more)

    def is_stored(self, record: int) -> bool:
        return not self.columns.source or self.columns.source[record] == 0

    def origin(self, record: int) -> tuple[Log, int]:
        """Return the original log of a record, and its number there."""
        source, offset = self.columns.source[record] if self.columns.source else 0, self.columns.offset[record]
        if source:
            return self.members[source - 1], offset
        return self.members[0], bisect_left(self.members[0].columns.offset, offset)

    def head(self, record: int) -> bytes:
        if self.is_stored(record):
            return super().head(record)
        log, number = self.origin(record)
        return log.head(number)

    def written(self, record: int) -> bytes:
        log, number = self.origin(record)
        return log.written(number)

    def prefix(self, record: int) -> Prefix | None:
        log, number = self.origin(record)
        return log.prefix(number)

    def payload(self, record: int) -> Payload | None:
        if self.is_stored(record):
            return super().payload(record)
        log, number = self.origin(record)
        return log.payload(number)

    def has_payload(self, record: int) -> bool:
        if self.is_stored(record):
            return super().has_payload(record)
        log, number = self.origin(record)
        return log.has_payload(number)

    def md5(self, record: int) -> str | None:
        if self.is_stored(record):
            return super().md5(record)
        log, number = self.origin(record)
        return log.md5(number)

    def check(self, record: int) -> Checked | None:
        log, number = self.origin(record)
        return log.check(number)

    def place(self, record: int) -> tuple[str, int]:
        log, number = self.origin(record)
        return log.place(number)
