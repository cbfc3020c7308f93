"""Whether two inputs tell of the same process.

A number of a process says little: it is used again, and every container has a process 1. So besides the pid something else must be
equal: the rank, a text (generated code, guards, recompile reasons), or the time. And nothing may speak against it: another rank,
another function under the same id, other hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from tltui.inputs.debug_dir.joining import Joined, TraceCode, join
from tltui.inputs.debug_dir.log import AOT_ID, DebugLog
from tltui.model.joining.merge import Home
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID, CompileId
from tltui.trace.log import Log

EXACT = ("inductor_output_code", "dynamo_cpp_guards_str", "recompile_reasons")
"""What a text log has byte for byte as the trace has it."""
COMPARED = 8
"""Texts of a name that are compared, from the first."""
UNDATED = 256
"""Records without a time, from either end, behind which one with a time is looked for."""
CODE = "inductor_output_code"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for two processes being one, and what against it."""

    equal: frozenset[str] = frozenset()
    """Of "pid", "rank", "time", "text"."""
    against: str = ""

    @property
    def is_enough(self) -> bool:
        """Two equal facts, and nothing against it. A text that two processes made is as good as a pid and more."""
        return not self.against and len(self.equal) >= 2


def compare(base: Process, other: Process) -> Evidence:
    """What speaks for these being the same process. Reads a few texts of both. Raises OSError."""
    equal = set()
    if base.pid and other.pid:
        if base.pid != other.pid:
            return Evidence(against=f"process {base.pid} and {other.pid}")
        equal.add("pid")
    if base.stated_rank is not None and other.stated_rank is not None:
        if base.stated_rank != other.stated_rank:
            return Evidence(against=f"rank {base.stated_rank} and {other.stated_rank}")
        equal.add("rank")
    if against := _other_names(base, other):
        return Evidence(against=against)
    if _same_text(base, other):
        equal.add("text")
        if not other.pid:
            equal.add("pid")  # the directory of a cache does not know whose it was: its code does
    spans = span(base), span(other)
    if spans[0] and spans[1]:
        if max(spans[0][0], spans[1][0]) <= min(spans[0][1], spans[1][1]):
            equal.add("time")
        elif "text" not in equal:
            return Evidence(against=f"until {min(spans[0][1], spans[1][1])[:13]} and from {max(spans[0][0], spans[1][0])[:13]}")
    return Evidence(frozenset(equal))


def span(process: Process) -> tuple[str, str] | None:
    """The times of the first and the last record of a process that has one, `MMDD HH:MM:SS`, in local time of the job. What a
    program prints between the messages of torch has none."""
    log, rest = process.log, process.compiles.get(NO_ID)
    compiles = [compile_.records for compile_ in process.compiles.values() if compile_ is not rest and compile_.records]
    ends = []
    if compiles:
        ends = [_clock(log, min(records[0] for records in compiles)), _clock(log, max(records[-1] for records in compiles))]
    if rest is not None:
        ends += [_dated(log, rest.records[:UNDATED]), _dated(log, rest.records[-UNDATED:][::-1])]
    clocks = sorted(filter(None, ends))
    if not clocks:
        return None
    # a directory is named by the time at which the process began: the log of it begins later, and ends when it ends
    return (clocks[0], "9") if isinstance(process.log, DebugLog) else (clocks[0], clocks[-1])


def _dated(log: Log, records: Sequence[int]) -> str:
    """Return the time of the first record that has one."""
    return next(filter(None, (_clock(log, record) for record in records)), "")


def _clock(log: Log, record: int) -> str:
    prefix = log.prefix(record)
    return f"{prefix.month:02}{prefix.day:02} {prefix.time[:8]}" if prefix is not None else ""


def _other_names(base: Process, other: Process) -> str:
    """Two functions of which both are known, and that have the same id."""
    for key, frame in other.frames.items():
        twin = base.find_frame(key)
        if twin is None or any(own.named is not None and own.named.is_guess for own in (*twin.compiles, *frame.compiles)):
            continue
        names = twin.code[0], frame.code[0]
        if names[0] and names[1] and names[0] != names[1]:
            return f"{frame.label} is {names[0]} and {names[1]}"
    return ""


def _same_text(base: Process, other: Process) -> bool:
    if isinstance(other.log, DebugLog):
        declared = {code.md5 for code in codes_of(base)}
        return any(unit.md5 in declared for unit in other.log.units())
    for name in EXACT:
        theirs = {_md5(other.log, record) for _, record in islice(_records(other, name), COMPARED)}
        if theirs & {_md5(base.log, record) for _, record in islice(_records(base, name), COMPARED)} - {None}:
            return True
    return False


def _md5(log: Log, record: int) -> str | None:
    found = log.md5(record)
    return None if found is None else found.lower()


def _records(process: Process, name: str) -> Iterator[tuple[Compile, int]]:
    """The records of a name, compile by compile."""
    log = process.log
    kinds = {number for number, kind in enumerate(log.kinds) if name in (kind.name, kind.event)}
    if kinds:
        for compile_ in process.compiles.values():
            for record in compile_.records:
                if log.columns.kind[record] in kinds:
                    yield compile_, record


def codes_of(process: Process) -> list[TraceCode[CompileId]]:
    """The generated code of a process, for `join`."""

    return [
        TraceCode(compile_.id, record, _md5(process.log, record) or "", partial(_aot_id, process.log, record))
        for compile_, record in _records(process, CODE)
    ]  # fmt: skip


def _aot_id(log: Log, record: int) -> tuple[int, str] | None:
    payload = log.payload(record)
    match = AOT_ID.search(payload.source.read(payload.offset, min(payload.size, 400))) if payload is not None else None
    return (int(match[1]), match[2].decode()) if match else None


def homes_of(members: Sequence[Process], log: DebugLog) -> dict[CompileId, Home]:
    """Unit of a debug directory → its compile, as the first member tells that knows its code. Raises OSError."""
    homes: dict[CompileId, Home] = {}
    for number, process in enumerate(members):
        left = [unit for unit in log.units() if CompileId(name=unit.unit) not in homes]
        found: dict[str, Joined[CompileId]] = join(left, codes_of(process)) if left else {}
        for unit, joined in found.items():
            attempt = process.log.context(joined.record).attempt or 0
            homes[CompileId(name=unit)] = Home(joined.compile.of(0), attempt, (number, joined.record))
    return homes
