"""Dumps of torch's flight recorder: the last collectives of a rank, read without executing any pickle code."""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Callable, Generator, Mapping, Sequence

from tltui.text import json_codec
from tltui.text.frozen import frozen

VALUES = 8_000_000
"""Opcodes of one file."""
PICKLE_PIECE = 20_000
"""Opcodes between two pauses."""


class NotPlain(Exception):
    """The error for a broken pickle or one with other than plain values; the message gives the reason."""


class _Mark:
    """The beginning of the items of a list or dictionary, on the stack."""


_MARK = _Mark()


class _Reader:
    """A pickle, read opcode by opcode."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[object] = []
        self.memo: dict[int, object] = {}

    def read(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise NotPlain("truncated")
        chunk = self.data[self.at : end]
        self.at = end
        return chunk

    def skip(self, size: int) -> None:
        self.read(size)

    def number(self, size: int) -> int:
        return int.from_bytes(self.read(size), "little")

    def text(self, size: int) -> None:
        self.stack.append(self.read(self.number(size)).decode("utf-8", "replace"))

    def pop(self) -> object:
        if not self.stack:
            raise NotPlain("damaged: an opcode has no value")
        return self.stack.pop()

    def top(self) -> object:
        if not self.stack:
            raise NotPlain("damaged: an opcode has no value")
        return self.stack[-1]

    def items(self) -> list[object]:
        """Pop the values above the last mark of the stack."""
        values: list[object] = []
        while (value := self.pop()) is not _MARK:
            values.append(value)
        values.reverse()
        return values

    def set_items(self, items: list[object]) -> None:
        target = self.top()
        if not isinstance(target, dict) or len(items) % 2:
            raise NotPlain("damaged: items without a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, (str, int)):
                raise NotPlain("a key is neither a string nor a number")
            target[key] = value

    def append(self, items: list[object]) -> None:
        target = self.top()
        if not isinstance(target, list):
            raise NotPlain("damaged: items without a list")
        target += items

    def recall(self, number: int) -> None:
        if number not in self.memo:
            raise NotPlain("damaged: a reference without a target")
        self.stack.append(self.memo[number])

    def keep(self, number: int) -> None:
        self.memo[number] = self.top()

    def long(self) -> None:
        size = self.number(1)
        if size > 8:
            raise NotPlain("a number has more than 64 bits")
        self.stack.append(int.from_bytes(self.read(size), "little", signed=True))

    def last(self, count: int) -> None:
        """Push a tuple of the last values."""
        values = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(values)))


def _push(value: Callable[[], object]) -> Callable[[_Reader], None]:
    return lambda reader: reader.stack.append(value())


OPCODES: dict[int, Callable[[_Reader], None]] = {
    0x80: lambda reader: reader.skip(1),  # the version of the format
    0x95: lambda reader: reader.skip(8),  # the size of what follows
    ord("("): _push(lambda: _MARK),
    ord("}"): _push(dict),
    ord("]"): _push(list),
    ord(")"): _push(tuple),
    ord("N"): _push(lambda: None),
    0x88: _push(lambda: True),
    0x89: _push(lambda: False),
    ord("J"): lambda reader: reader.stack.append(int.from_bytes(reader.read(4), "little", signed=True)),
    ord("K"): lambda reader: reader.stack.append(reader.number(1)),
    ord("M"): lambda reader: reader.stack.append(reader.number(2)),
    0x8A: _Reader.long,
    ord("G"): lambda reader: reader.stack.append(struct.unpack(">d", reader.read(8))[0]),
    0x8C: lambda reader: reader.text(1),
    ord("X"): lambda reader: reader.text(4),
    0x8D: lambda reader: reader.text(8),
    ord("s"): lambda reader: reader.set_items([reader.pop(), reader.pop()][::-1]),
    ord("u"): lambda reader: reader.set_items(reader.items()),
    ord("a"): lambda reader: reader.append([reader.pop()]),
    ord("e"): lambda reader: reader.append(reader.items()),
    ord("t"): lambda reader: reader.stack.append(tuple(reader.items())),
    0x85: lambda reader: reader.last(1),
    0x86: lambda reader: reader.last(2),
    0x87: lambda reader: reader.last(3),
    ord("h"): lambda reader: reader.recall(reader.number(1)),
    ord("j"): lambda reader: reader.recall(reader.number(4)),
    ord("q"): lambda reader: reader.keep(reader.number(1)),
    ord("r"): lambda reader: reader.keep(reader.number(4)),
    0x94: lambda reader: reader.keep(len(reader.memo)),
}
"""Opcode → what it does: those of plain values."""
STOP = ord(".")


def plain_value(data: bytes) -> Generator[None, None, object]:
    """Return the value of a pickle, with a pause after each piece. Raises `NotPlain`."""
    reader = _Reader(data)
    size = len(data)
    for number in range(1, VALUES):
        if number % PICKLE_PIECE == 0:
            yield
        if reader.at >= size:
            raise NotPlain("truncated")
        code = data[reader.at]
        reader.at += 1
        if code == STOP:
            return reader.pop()
        act = OPCODES.get(code)
        if act is None:
            where = f"opcode {code:#04x} at byte {reader.at - 1:,}"
            raise NotPlain(f"the pickle contains more than plain values ({where}); tltui executed none of it")
        act(reader)
    raise NotPlain(f"it has more than {VALUES:,} values")


BYTES = 64 << 20
"""Of a file that is read. The recorder keeps 2,000 entries unless somebody asks for more: a few MB."""
ENTRIES = 20_000
"""That are read of a dump, the newest."""
PIECE = 200
"""Entries between two pauses."""
FRAMES = 64
TENSORS, DIMS = 64, 16
TEXT = 400
"""Characters of a name."""
MEMBERS = 1 << 17
"""Ranks of a process group."""
_NUMBER = re.compile(r"\d{1,7}")
_RANK = re.compile(r"(\d{1,7})(?:\D*)$")
_JSON = re.compile(rb"\s*\{")
_KEYS = re.compile(rb"(?:pg_config|pg_status|collective_seq_id)")
FINISHED_BY_RETIRING = "gloo"
"""Of this backend torch records no events of the device: an entry stays `scheduled`, and is retired when its work has ended."""


class NotADump(Exception):
    """The error for a file that is no valid dump; the message gives the reason."""


@frozen
class DumpFrame:
    """A frame of the Python stack of a collective."""

    function: str
    file: str
    line: int | None


@frozen
class DumpEntry:
    """A collective that a rank has entered."""

    group: str
    """The name of its process group."""
    description: str
    backend: str
    """`nccl`, `gloo`"""
    operation: str
    """`all_reduce`; of a message its direction too: `send 1->2`."""
    sequence: int
    """Which collective of its process group it is: equal on all ranks that take part."""
    is_message: bool
    """Whether it is a send or receive between two ranks, and no collective."""
    state: str
    """`scheduled`, `started`, `completed`, as torch knew it."""
    is_over: bool
    input_sizes: tuple[tuple[int, ...], ...]
    output_sizes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    """Of the inputs."""
    created: float
    """Microseconds since the epoch."""
    frames: tuple[DumpFrame, ...]
    """The innermost first; empty in JSON, which has none."""


@frozen
class Dump:
    """A dump of the flight recorder of one rank."""

    path: str
    rank: int
    written: float
    """Microseconds since the epoch: the last change of the file."""
    version: str
    entries: tuple[DumpEntry, ...]
    """In the order in which they were recorded."""
    members: Mapping[str, tuple[int, ...]]
    """Name of a process group → its ranks, where the dump has them."""
    entered: Mapping[str, int]
    """Name of a process group → the last collective that was entered, as far as the dump tells."""


def is_dump(head: bytes) -> bool:
    """Whether a file that begins so may be a dump: a pickle or JSON with keys of the recorder near its beginning."""
    return (head[:1] == b"\x80" or _JSON.match(head) is not None) and _KEYS.search(head) is not None


def rank_in(name: str) -> int | None:
    """Parse the rank from the name of a file: the last number in it (`nccl_trace_rank_3`, `rank_3.json`). A dump has no rank."""
    match = _RANK.search(os.path.splitext(os.path.basename(name))[0])
    return int(match[1]) if match else None


def read_dump(path: str, rank: int) -> Generator[None, None, Dump]:
    """Read a dump, with a pause after each piece. Raises `NotADump`."""
    try:
        data, written = _bytes_of(path)
        value = (yield from plain_value(data)) if data[:1] == b"\x80" else json_codec.loads(data)
    except NotPlain as fault:
        raise NotADump(str(fault)) from None
    except json_codec.JSONDecodeError:
        raise NotADump("not JSON, or truncated") from None
    except OSError as error:
        raise NotADump(error.strerror or str(error)) from None
    dump = _mapping(value)
    records = _sequence(dump.get("entries"))[-ENTRIES:]
    if not records and not _mapping(dump.get("pg_config")):
        raise NotADump("without collectives and process groups")
    status = {_text(key): _mapping(record) for key, record in _mapping(dump.get("pg_status")).items()}
    entries = []
    entered: dict[str, int] = {}
    for number, record in enumerate(map(_mapping, records), 1):
        if number % PIECE == 0:
            yield
        progress = status.get(_text(record.get("pg_id")), {})
        entry = _entry(record, _int(progress.get("last_completed_collective")))
        if entry is not None:
            entries.append(entry)
            if not entry.is_message:
                last = max(entry.sequence, _int(progress.get("last_enqueued_collective")))
                entered[entry.group] = max(entered.get(entry.group, 0), last)
    return Dump(path, rank, written, _text(dump.get("version")), tuple(entries), _members(dump.get("pg_config")), entered)


def _bytes_of(path: str) -> tuple[bytes, float]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotADump("not a regular file")
        if status.st_size > BYTES:
            raise NotADump(f"it has more than {BYTES >> 20} MB")
        return file.read(BYTES), status.st_mtime_ns / 1e3


def _entry(record: Mapping[object, object], completed: int) -> DumpEntry | None:
    """Parse an entry; None for an invalid value. `completed`: the last collective of its group that has ended."""
    name = _text(record.get("profiling_name"))
    if not name:
        return None
    backend, _, operation = name.rpartition(":")
    group, description = [*map(_text, _sequence(record.get("process_group"))[:2]), "", ""][:2]
    sequence, is_message = _int(record.get("collective_seq_id")), record.get("is_p2p") is True
    state = _text(record.get("state"))
    is_over = state == "completed" or (backend == FINISHED_BY_RETIRING and record.get("retired") is True)
    return DumpEntry(
        group, description, backend, operation, sequence, is_message, state, is_over or (not is_message and sequence <= completed),
        _sizes(record.get("input_sizes")), _sizes(record.get("output_sizes")),
        tuple(map(_text, _sequence(record.get("input_dtypes"))[:TENSORS])), _int(record.get("time_created_ns")) / 1e3,
        tuple(_frame(_mapping(frame)) for frame in _sequence(record.get("frames"))[:FRAMES]),
    )  # fmt: skip


def _frame(record: Mapping[object, object]) -> DumpFrame:
    return DumpFrame(_text(record.get("name")), _text(record.get("filename")), _int(record.get("line")) or None)


def _sizes(value: object) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(_int, _sequence(record)[:DIMS])) for record in _sequence(value)[:TENSORS])


def _members(value: object) -> dict[str, tuple[int, ...]]:
    """Parse the ranks of each process group.

    Gloo records all its groups under an empty name, the last one over the others: that one is skipped.
    """
    members = {}
    for key, record in _mapping(value).items():
        ranks = _mapping(record).get("ranks")
        numbers = _NUMBER.findall(ranks) if isinstance(ranks, str) else [str(_int(rank)) for rank in _sequence(ranks)]
        if _text(key) and numbers:
            members[_text(key)] = tuple(sorted({int(number) for number in numbers[:MEMBERS]}))
    return members


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, dict) else {}


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


def _text(value: object) -> str:
    return value[:TEXT] if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _int(value: object) -> int:
    if isinstance(value, str):  # in JSON the numbers of `pg_status` are texts
        return int(value) if _NUMBER.fullmatch(value) else 0
    return value if isinstance(value, int) and abs(value) < 1 << 63 else 0
