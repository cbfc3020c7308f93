"""A TORCH_LOGS text as a log: records made on demand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any, NamedTuple

from tltui.inputs.text import events
from tltui.inputs.text.events import STACK, SUPPRESSED, MessagePayload, logger_of
from tltui.inputs.text.line_grammar import HEAD_SIZE, IDS, OUTER, clean, core_of, head_of, label_of, parts_of
from tltui.text.frozen import mutable
from tltui.text.lru import Lru
from tltui.text.payload import ByteSource, Digest, Payload, digest
from tltui.trace.batch import DECLARED, Batch, Context, Damage, Kind
from tltui.trace.grammar import NAMED, Prefix
from tltui.trace.log import Check, Checked, Log

IRREGULAR = 4
"""Its lines do not stand in one piece with equal beginnings: others stand between, a launcher numbers them, or one was torn."""
UNCLEAN = 8
"""There are colours, carriage returns or trimmed blanks in it."""
TORN = 16
"""One of its lines was cut by another process."""

Piece = tuple[int, int]
"""Offset and size."""


@mutable
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


IN_PLACE = 1 << 20
"""Stored bytes from which a payload is read where it stands, if only prefixes must be taken off."""
KEPT = 16 << 20
"""Bytes of payloads that are kept."""
KEPT_DIGESTS = 4096
BREAK = "dynamo_graph_break_reason"
SAME_BREAK = 4
"""Lines by which breaks at one place are told apart: place and reason."""
ID_FIELDS = (
    ("rank", "rank"), ("autograd", "compiled_autograd_id"), ("frame", "frame_id"), ("compile", "frame_compile_id"),
    ("attempt", "attempt"),
)  # fmt: skip
"""Fields of a context, and the keys of an envelope that state them."""


class Identity(NamedTuple):
    """The key that distinguishes messages: TORCH_LOGS_OUT writes each a second time. Equal ones within a millisecond are legal."""

    pid: int
    time: str
    site: str
    ids: str
    md5: str


class TextLog(Log):
    """The records of a text log."""

    told_by = "TORCH_LOGS text"
    is_made = True

    def __init__(self, path: str, source: ByteSource, generation: int = 0) -> None:
        super().__init__(path, source, generation)
        self._mended: dict[int, list[list[Piece]]] = {}
        self._latency: dict[int, int] = {}
        self._breaks: list[int] = []
        self._first_breaks: dict[tuple[int, bytes], int] = {}
        self._sorted = 0  # up to here breaks are in `_first_breaks`
        self._payloads: Lru[int, Payload] = Lru(KEPT)
        self._digests: Lru[int, Digest] = Lru(KEPT_DIGESTS)

    def apply(self, batch: Batch) -> None:
        """Append the records of one step of the scan."""
        super().apply(batch)
        self._breaks += [record for record, kind in batch.notable if self.kinds[kind].name == BREAK]
        if isinstance(batch, TextBatch):
            for record, flags in batch.flags.items():
                self.columns.flags[record] = flags
            for record, lines in batch.mended.items():
                self._mended.setdefault(record, []).extend(lines)
            self._latency.update(batch.latency)
        if batch.resized:
            self._payloads, self._digests = Lru(KEPT), Lru(KEPT_DIGESTS)

    def is_torn(self, record: int) -> bool:
        """Whether another process cut one of its lines."""
        return bool(self.columns.flags[record] & TORN)

    def pieces(self, record: int) -> list[Piece]:
        """Where the bytes of a record are, line for line, without line ends. Raises OSError."""
        return [piece for pieces, _ in self._walk(record) for piece in pieces]

    def stored(self, record: int) -> bytes:
        """Return the lines of a record as they were written, prefixes and colours included. Raises OSError."""
        source = self.source
        return b"\n".join(b"".join(source.read(*piece) for piece in pieces) for pieces, _ in self._walk(record))

    def written(self, record: int) -> bytes:
        """Return the first line as it was written."""
        return next((b"".join(self.source.read(*piece) for piece in pieces) for pieces, _ in self._walk(record)), b"")

    def lines(self, record: int) -> list[bytes]:
        """Return the lines of the message without prefixes, colours, and text erased by a carriage return. Raises OSError."""
        texts = [text for _, text in self._walk(record)]
        return [clean(line) for line in texts] if self.columns.flags[record] & UNCLEAN else texts

    def message(self, record: int) -> bytes:
        """Return the message, or the other text. Raises OSError."""
        return b"\n".join(self.lines(record))

    def _walk(self, record: int) -> Iterator[tuple[list[Piece], bytes]]:
        """Yield the location of each line of a record, and the text after its prefix."""
        columns = self.columns
        offset, flags = columns.offset[record], columns.flags[record]
        data = self.source.read(offset, columns.head[record] + columns.size[record])
        if self.kind(record) == TEXT:
            for at, line in _lines_of(data):
                yield [(offset + at, len(line))], line
        elif not flags & IRREGULAR:
            first = data.partition(b"\n")[0]
            head = head_of(first, 0, len(first))
            length = head.end() if head else 0
            length += bool(head) and not first[:length].endswith(b" ")
            for at, line in _lines_of(data):
                yield [(offset + at, len(line))], line[length:]
        else:
            yield from self._walk_all(record, offset, data)

    def _walk_all(self, record: int, offset: int, data: bytes) -> Iterator[tuple[list[Piece], bytes]]:
        """Yield the same for a record with interleaved lines or a torn line."""
        mended = {pieces[0][0]: pieces for pieces in self._mended.get(record, ())}
        first = None
        for at, line in _lines_of(data):
            for begin, end, head in parts_of(line):
                pieces, text = [(offset + at + begin, end - begin)], line[begin:end]
                if pieces[0][0] in mended:
                    pieces = mended[pieces[0][0]]
                    text = b"".join(self.source.read(*piece) for piece in pieces)
                    head = head_of(text, 0, len(text))
                    begin = 0
                if head is None:
                    continue
                whose = (label_of(head), core_of(head))
                first = first or whose
                if whose == first:
                    yield pieces, text[head.end() - begin :]

    def _prefix(self, record: int) -> Any:
        """Return the prefix of the first line."""
        if record in self._mended:
            first = self.written(record)
        else:
            first = self.source.read(self.columns.offset[record], HEAD_SIZE).partition(b"\n")[0]
        return head_of(first, 0, len(first))

    def prefix(self, record: int) -> Prefix | None:
        """Return the text before the message; None for other text."""
        head = self._prefix(record) if self.kind(record) != TEXT else None
        if head is None:
            return None
        date, time = head["day"].decode(), head["time"].decode()
        return Prefix(
            head["level"].decode(), int(date[:2]), int(date[2:]), time, int(head["pid"]), head["path"].decode("utf-8", "replace"),
            int(head["line"]),
        )  # fmt: skip

    def identity(self, record: int) -> Identity | None:
        """Return the key that distinguishes a message; None for other text. Raises OSError."""
        head = self._prefix(record) if self.kind(record) != TEXT else None
        if head is None:
            return None
        time, site, ids = head["day"] + b" " + head["time"], head["path"] + b":" + head["line"], head["ids"] or b""
        md5 = digest(Payload.of(self.message(record))).md5
        return Identity(int(head["pid"]), time.decode(), site.decode("utf-8", "replace"), ids.decode(), md5)

    def head(self, record: int) -> bytes:
        """Return the first line that torch would have written to a trace; b"" for other text. Raises OSError."""
        prefix = self.prefix(record)
        if prefix is None:
            return b""
        kind, context = self.kind(record), self.context(record)
        message = self._message_of(record)
        value = self._row(record, message).value
        fields: object = value(message) if value is not None else {}
        if kind.event in NAMED or kind.event == "log":
            fields = {"name": kind.name, "encoding": kind.encoding} if kind.encoding else {"name": kind.name}
        envelope: dict[str, object] = {kind.event: fields}
        envelope.update((key, getattr(context, name)) for name, key in ID_FIELDS if getattr(context, name) is not None)
        if (md5 := self.md5(record)) is not None:
            envelope["has_payload"] = md5
        date = f"{prefix.month:02}{prefix.day:02}"
        line = f"{prefix.level}{date} {prefix.time} {prefix.pid} {prefix.path}:{prefix.line}] {json.dumps(envelope)}"
        return line.encode("utf-8", "surrogatepass")

    def has_payload(self, record: int) -> bool:
        """Whether the event has a payload."""
        return bool(self.columns.flags[record] & DECLARED)

    def payload(self, record: int) -> Payload | None:
        """Return the payload that torch would have written; None for an event without one. Raises OSError."""
        if not self.has_payload(record):
            return None
        payload = self._payloads.get(record)
        if payload is None:
            payload = self._in_place(record)
            if payload is None:
                message = self._message_of(record)
                make = (
                    events.whole_payload
                    if self.kind(record) == TEXT
                    else self._row(record, message).payload or events.whole_payload
                )
                payload = Payload.of(make(message))
                self._payloads.put(record, payload, payload.size)
        return payload

    def _in_place(self, record: int) -> Payload | None:
        """Return a large payload that only needs its prefixes removed; None for others."""
        columns = self.columns
        offset, size = columns.offset[record], columns.size[record]
        if size < IN_PLACE or columns.flags[record] & (UNCLEAN | IRREGULAR):
            return None
        if self.kind(record) == TEXT:
            return Payload(self.source, offset, size)
        begin = offset + columns.head[record]
        strip = self.source.read(offset, columns.head[record])
        row = self._row(record, MessagePayload([self._first(record)], bytes, list))
        if row.payload is events.rest_payload:
            begin += len(self._first(record)) + 1
        elif row.payload is not events.whole_payload:
            return None
        return Payload(self.source, begin, offset + columns.head[record] + size - begin, strip)

    def _first(self, record: int) -> bytes:
        """Return the first line of the message of a contiguous record."""
        begin, size = self.columns.offset[record] + self.columns.head[record], self.columns.size[record]
        return self.source.read(begin, min(size, HEAD_SIZE)).partition(b"\n")[0]

    def _message_of(self, record: int) -> MessagePayload:
        return MessagePayload(self.lines(record) or [b""], lambda: self._latency_of(record), lambda: self._first_break(record))

    def _row(self, record: int, text: MessagePayload) -> Any:
        """Return the row of the table that gave the record its kind."""
        head = self._prefix(record)
        return logger_of(head["artifact"] if head else None, head["path"] if head else b"").row_of(self.kind(record), text.lines[0])

    def _latency_of(self, tree: int) -> bytes:
        record = self._latency.get(tree)
        return b"" if record is None else self.message(record)

    def _first_break(self, record: int) -> list[bytes]:
        """Return the lines of the first break at the place of a later one."""
        while self._sorted < len(self._breaks) and self._breaks[self._sorted] < record:
            other = self._breaks[self._sorted]
            self._sorted += 1
            lines = self.lines(other)
            if STACK in lines:
                self._first_breaks.setdefault((self.context(other).pid, _place(lines)), other)
        first = self._first_breaks.get((self.context(record).pid, _place(self.lines(record))))
        return [] if first is None else self.lines(first)

    def md5(self, record: int) -> str | None:
        """Return the md5 of the payload, as torch would have written it; None where there is none. Raises OSError."""
        digest = self._digest(record)
        return None if digest is None else digest.md5

    def _digest(self, record: int) -> Digest | None:
        payload = self.payload(record)
        if payload is None:
            return None
        cached = self._digests.get(record)
        if cached is None:
            cached = digest(payload)
            self._digests.put(record, cached)
        return cached

    def check(self, record: int) -> Checked | None:
        """Size and md5 of the payload. There is none to compare it with: it is as good as the text."""
        payload, digest = self.payload(record), self._digest(record)
        if payload is None or digest is None:
            return None
        return Checked(Check.GOOD, payload, digest.size, digest.lines, digest.md5)


def _place(lines: list[bytes]) -> bytes:
    """Where a graph was broken, and why."""
    return b"\n".join(lines[:SAME_BREAK]).replace(SUPPRESSED, b"", 1)


def _lines_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(offset, line) of each line."""
    at = 0
    for line in data.split(b"\n"):
        yield at, line
        at += len(line) + 1
