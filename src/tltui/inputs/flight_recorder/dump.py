"""One dump of the flight recorder, read from its file: bounded, and with values of the wrong kind left out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from tltui.inputs.flight_recorder.pickled import NotPlain, plain_value
from tltui.text import json_codec

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
    """A file that cannot be read as a dump. Its text says why."""


@dataclass(frozen=True, slots=True)
class DumpFrame:
    """A frame of the Python stack of a collective."""

    function: str
    file: str
    line: int | None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Dump:
    """What the flight recorder of one rank wrote."""

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
    """The rank that the name of a file states: the last number in it (`nccl_trace_rank_3`, `rank_3.json`). A dump has no rank."""
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
        raise NotADump("it is no JSON, or cut off") from None
    except OSError as error:
        raise NotADump(error.strerror or str(error)) from None
    dump = _mapping(value)
    records = _sequence(dump.get("entries"))[-ENTRIES:]
    if not records and not _mapping(dump.get("pg_config")):
        raise NotADump("it has neither collectives nor process groups")
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
            raise NotADump("it is not a regular file")
        if status.st_size > BYTES:
            raise NotADump(f"it has more than {BYTES >> 20} MB")
        return file.read(BYTES), status.st_mtime_ns / 1e3


def _entry(record: Mapping[object, object], completed: int) -> DumpEntry | None:
    """An entry; None for a value that is none. `completed`: the last collective of its group that has ended."""
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
    """The ranks of each process group. Gloo records all its groups under an empty name, the last one over the others: that tells
    nothing."""
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
