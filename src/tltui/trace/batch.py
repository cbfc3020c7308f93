"""The output of the scanner: columns, no object per record, all of it picklable."""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import field
from typing import NamedTuple

from tltui.text.frozen import mutable

DECLARED = 1
"""The envelope has `has_payload`."""
ORPHAN = 2
"""Payload lines without a record before them: there is no first line, the payload begins at the offset."""


class Kind(NamedTuple):
    """The type of a record in the log. `name` and `encoding` are those of an artifact or a dump."""

    event: str
    name: str
    encoding: str = ""


class Context(NamedTuple):
    """The process and compile of a record. Every combination is stored once per log."""

    pid: int
    rank: int | None = None
    autograd: int | None = None
    frame: int | None = None
    compile: int | None = None
    attempt: int | None = None
    subgraph: str | None = None
    stack: bool = False
    """The record carries a `stack` instead of ids."""
    name: str = ""
    """The directory of a lowering of which only that is known: then there are no ids."""


class Started(NamedTuple):
    """A `dynamo_start`: the frame is the last one of its stack."""

    record: int
    name: str | None
    filename: int | None
    line: int | None
    depth: int


class Named(NamedTuple):
    """A source of the function name of a frame without a `dynamo_start`."""

    record: int
    name: str
    filename: str | None
    line: int | None
    is_guess: bool = False
    """Whether it is concluded: from the last frame of a graph."""


class Metrics(NamedTuple):
    """The fields of a metrics record that statuses and the tree need. The rest is read when looked at."""

    record: int
    event: str
    fail_type: str | None
    fail_reason: str | None
    restart_reasons: tuple[str, ...] | None
    """None where the field is absent or null."""
    graph_op_count: int | None
    start_us: float | None
    """Microseconds since the epoch."""
    duration_s: float | None
    co_name: str | None
    co_filename: str | None
    co_firstlineno: int | None
    guard_count: int | None
    graph_breaks: int | None
    cudagraph_skip_reason: str | None
    recompile_reason: str | None
    pytorch_version: str | None
    is_runtime: bool
    guarded: bool | None = None
    """`has_guarded_code`: no exception left the compile."""
    suppressed: bool = False
    """It failed, and `suppress_errors` was set."""

    @property
    def ends_compile(self) -> bool:
        """Whether they end the compile of a frame: those of backwards and of run-time events do not."""
        return self.event == "compilation_metrics" and not self.is_runtime


class Damage(NamedTuple):
    """A damaged place of a log."""

    offset: int
    """Bytes from the beginning of the file."""
    record: int
    """Index of the record, -1 where there is none."""
    reason: str


class Tail(NamedTuple):
    """An incomplete record at the end of a log that may still be written."""

    offset: int
    """Bytes from the beginning of the file."""
    size: int


@mutable
class Columns:
    """The records of one log, in file order. 29 bytes each in a batch, 14 where they are kept (`narrow`)."""

    offset: array[int] = field(default_factory=lambda: array("Q"))
    head: array[int] = field(default_factory=lambda: array("I"))
    """Bytes of the first line: prefix and envelope, without its line end."""
    size: array[int] = field(default_factory=lambda: array("Q"))
    """Stored bytes of the payload without the last line end; 0 for none (an empty payload is one tab)."""
    kind: array[int] = field(default_factory=lambda: array("I"))
    context: array[int] = field(default_factory=lambda: array("I"))
    flags: array[int] = field(default_factory=lambda: array("B"))
    source: array[int] = field(default_factory=lambda: array("H"))
    """Which of the log's byte sources it is in; empty where all are in the first."""

    def __len__(self) -> int:
        return len(self.offset)

    @classmethod
    def narrow(cls) -> Columns:
        """Columns that take as few bytes as most logs need. What does not go in makes its column as wide as that of a batch."""
        return cls(array("I"), array("H"), array("I"), array("B"), array("H"))

    def extend(self, other: Columns) -> None:
        """Append all records of `other`."""
        self.offset = _extended(self.offset, other.offset)
        self.head = _extended(self.head, other.head)
        self.size = _extended(self.size, other.size)
        self.kind = _extended(self.kind, other.kind)
        self.context = _extended(self.context, other.context)
        if other.source or self.source:
            self.source.extend([0] * (len(self.offset) - len(self.source) - len(other.offset)))
            self.source.extend(other.source or [0] * len(other.offset))
        self.flags.extend(other.flags)

    def resize(self, record: int, size: int) -> None:
        """Correct the size of the payload of a record."""
        try:
            self.size[record] = size
        except OverflowError:
            self.size = array("Q", self.size)
            self.size[record] = size


def _extended(column: array[int], more: array[int]) -> array[int]:
    """Return a column with more values; a new wider one where these are too large for it."""
    if column.typecode == more.typecode:
        column.extend(more)
        return column
    try:
        column.extend(array(column.typecode, more))
    except OverflowError:
        column = array(more.typecode, column)
        column.extend(more)
    return column


@mutable
class Batch:
    """The records of one step of a scan of one log. Record numbers count from the beginning of the log."""

    first: int
    """Number of the first record of `columns`."""
    columns: Columns = field(default_factory=Columns)
    resized: dict[int, int] = field(default_factory=dict)
    """Records of earlier batches whose payload turned out to be longer: record → stored size."""
    kinds: list[Kind] = field(default_factory=list)
    """Kinds seen for the first time; their numbers go on from those of earlier batches."""
    contexts: list[Context] = field(default_factory=list)
    members: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Context → records."""
    notable: list[tuple[int, int]] = field(default_factory=list)
    """(record, kind) of the artifacts that the tree and the statuses count."""
    strings: list[tuple[int, int, str]] = field(default_factory=list)
    """(pid, id, string) of the string table."""
    started: list[Started] = field(default_factory=list)
    name_sources: list[Named] = field(default_factory=list)
    metrics: list[Metrics] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    scanned: int = 0
    """Bytes of the log that have been read so far."""
    finished: bool = False
    """The end of the log was reached, and it is the end of what was written."""
    waiting: bool = False
    """The end of the log was reached, and more may come."""
    clock: str = ""
    """`MMDD HH:MM:SS.micros` of the last record of the log, in local time of the job, where all that is written has been read."""
    tail: Tail | None = None
    """With `waiting`: what could not be taken yet."""

    def renumber(self, base: int, kinds: list[int], contexts: list[int]) -> None:
        """Renumber it for a log in which `base` records precede the first one of its scan.

        `kinds` and `contexts` map its numbers to those of the log. `members` is rebuilt.
        """
        columns = self.columns
        columns.kind = array("I", map(kinds.__getitem__, columns.kind))
        columns.context = array("I", map(contexts.__getitem__, columns.context))
        self.first += base
        self.members = defaultdict(list)
        for record, context in enumerate(columns.context, self.first):
            self.members[context].append(record)
        self.resized = {record + base: size for record, size in self.resized.items()}
        self.notable = [(record + base, kinds[kind]) for record, kind in self.notable]
        if base:
            self.started = [start._replace(record=start.record + base) for start in self.started]
            self.name_sources = [start._replace(record=start.record + base) for start in self.name_sources]
            self.metrics = [start._replace(record=start.record + base) for start in self.metrics]
            self.damage = [start._replace(record=start.record + base) for start in self.damage]
