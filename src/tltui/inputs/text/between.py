"""What stands between the messages of a text log: prints, warnings, tracebacks, other programs."""

from __future__ import annotations

import re

from tltui.inputs.text.batch import UNCLEAN
from tltui.inputs.text.filling import Filling
from tltui.inputs.text.grammar import OUTER
from tltui.trace.batch import DECLARED, Kind

TEXT = Kind("text", "")
BLANK = b" \t\r\n\x00"
RANKED = re.compile(OUTER + rb"\[rank(\d{1,9})\]: ")
MOST_LABELS = 64
Key = tuple[bytes, "bytes | None", bytes]
"""Launcher's label, rank, pid: whose a line is."""
Writer = tuple["bytes | None", bytes]
"""Rank and pid."""
NO_WRITER: Writer = (None, b"0")


class Between(Filling):
    """Takes other text: consecutive lines of one writer are a record."""

    def __init__(self) -> None:
        super().__init__()
        self._run: tuple[int, int, Writer, int] = (-1, 0, NO_WRITER, 0)  # record, where it goes on, whose it is, where it begins
        self._last = NO_WRITER  # who wrote the last message
        self._ranks: dict[bytes, Writer] = {}
        self._launchers: dict[bytes, Writer] = {}
        self._pids: set[bytes] = set()

    def _other(self, data: bytes, at: int, end: int, offset: int, newline: int, damage: str = "") -> None:
        """Take a line, or a part of one, that no logger of torch wrote."""
        record, then, writer, begin = self._run
        is_blank = not data[at:end].strip(BLANK)
        if then == offset and is_blank and record >= 0:
            own = writer
        elif is_blank:
            return
        else:
            own = self._owner(data, at, end)
        flags = DECLARED | (UNCLEAN if data.find(b"\r", at, end) >= 0 or data.find(b"\x1b", at, end) >= 0 else 0)
        if record >= 0 and then == offset and own == writer and not damage:
            self._resize(record, end - at + offset - begin)
            if flags & UNCLEAN:
                self._flag(record, flags)
        else:
            record, begin = self._count, offset
            self._append(offset, 0, end - at, TEXT, self._context(*own, None), flags)
        if damage:
            self._damage(offset, record, damage)
            record = -1
        self._run = (record, offset + end - at + newline, own, begin)

    def _owner(self, data: bytes, at: int, end: int) -> Writer:
        """Who wrote other text: its rank or its launcher's label may tell, else it counts as of the process that wrote last."""
        if self._ranks and (match := RANKED.match(data, at, end)):
            return self._ranks.get(match[1], self._last)
        return next((writer for label, writer in self._launchers.items() if data.startswith(label, at)), self._last)

    def _of(self, key: Key, head: re.Match[bytes]) -> None:
        """Remember who wrote last."""
        label, rank, pid = key
        self._pids.add(pid)
        self._last = (rank, pid)
        if rank is not None:
            self._ranks[rank] = self._last
        if label and len(self._launchers) < MOST_LABELS:
            self._launchers[label] = self._last
