"""Batches of a scan of TORCH_LOGS text, and the lines between its messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tltui.inputs.text.line_grammar import IDS, OUTER
from tltui.trace.batch import DECLARED, Batch, Context, Damage, Kind

IRREGULAR = 4
"""Its lines do not stand in one piece with equal beginnings: others stand between, a launcher numbers them, or one was torn."""
UNCLEAN = 8
"""There are colours, carriage returns or trimmed blanks in it."""
TORN = 16
"""One of its lines was cut by another process."""

Piece = tuple[int, int]
"""Offset and size."""


@dataclass(slots=True)
class TextBatch(Batch):
    """The records of one step of the scan of a text log."""

    flags: dict[int, int] = field(default_factory=dict)
    """Records of earlier batches → their flags now."""
    mended: dict[int, list[list[Piece]]] = field(default_factory=dict)
    """Record → its lines that were cut and put together again: the pieces of each."""
    latency: dict[int, int] = field(default_factory=dict)
    """The record of a guard tree → that of its latency."""


class Filling:
    """Fills batches. A scanner is one: this is where most of its time passes."""

    def __init__(self) -> None:
        self._batch = TextBatch(0)
        self._count = 0  # records of all batches
        self._kinds: dict[Kind, int] = {}
        self._contexts: dict[Context, int] = {}
        self._context_list: list[Context] = []
        self._context_numbers: dict[tuple[bytes | None, bytes, bytes | None], int] = {}  # rank, pid, id → context
        self._strings: dict[tuple[int, str], int] = {}

    def _context(self, rank: bytes | None, pid: bytes, ids: bytes | None) -> int:
        """Return the number of a context, by the texts of a prefix."""
        key = (rank, pid, ids)
        number = self._context_numbers.get(key)
        if number is None:
            autograd, frame, compile_, attempt = IDS.fullmatch(ids or b"").groups()  # type: ignore[union-attr]
            context = Context(
                int(pid), None if rank is None else int(rank), _number(autograd), _number(frame), _number(compile_),
                None if ids is None else int(attempt or 0),
            )  # fmt: skip
            number = self._contexts.get(context)
            if number is None:
                number = self._contexts[context] = len(self._contexts)
                self._context_list.append(context)
                self._batch.contexts.append(context)
            self._context_numbers[key] = number
        return number

    def _string(self, pid: int, text: str) -> int:
        """Intern a string in the string table of a process and return its id."""
        number = self._strings.get((pid, text))
        if number is None:
            number = self._strings[pid, text] = len(self._strings)
            self._batch.strings.append((pid, number, text))
        return number

    def _append(self, offset: int, head: int, size: int, kind: Kind, context: int, flags: int) -> int:
        batch, columns = self._batch, self._batch.columns
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            batch.kinds.append(kind)
        columns.offset.append(offset)
        columns.head.append(head)
        columns.size.append(size)
        columns.kind.append(number)
        columns.context.append(context)
        columns.flags.append(flags)
        batch.members[context].append(self._count)
        self._count += 1
        return number

    def _resize(self, record: int, size: int) -> None:
        batch = self._batch
        if record >= batch.first:
            batch.columns.size[record - batch.first] = size
        else:
            batch.resized[record] = size

    def _flag(self, record: int, flags: int) -> None:
        batch = self._batch
        if record >= batch.first:
            batch.columns.flags[record - batch.first] = flags
        else:
            batch.flags[record] = flags

    def _damage(self, offset: int, record: int, reason: str) -> None:
        self._batch.damage.append(Damage(offset, record, reason))


def _number(text: bytes | None) -> int | None:
    return None if text is None else int(text)


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
            owner = writer
        elif is_blank:
            return
        else:
            owner = self._owner(data, at, end)
        flags = DECLARED | (UNCLEAN if data.find(b"\r", at, end) >= 0 or data.find(b"\x1b", at, end) >= 0 else 0)
        if record >= 0 and then == offset and owner == writer and not damage:
            self._resize(record, end - at + offset - begin)
            if flags & UNCLEAN:
                self._flag(record, flags)
        else:
            record, begin = self._count, offset
            self._append(offset, 0, end - at, TEXT, self._context(*owner, None), flags)
        if damage:
            self._damage(offset, record, damage)
            record = -1
        self._run = (record, offset + end - at + newline, owner, begin)

    def _owner(self, data: bytes, at: int, end: int) -> Writer:
        """Return the writer of other text: by its rank or launcher label, else the process that wrote last."""
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
