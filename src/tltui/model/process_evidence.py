"""Evidence for and against two inputs having the records of one process."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TypeVar

from tltui.inputs.debug_directory import DebugLog
from tltui.inputs.forms import TEXT
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID
from tltui.text.frozen import frozen
from tltui.trace.batch import Kind
from tltui.trace.log import Log

SLICE = 4096
"""Records that are looked at between two yields, so that a large run is joined without holding the thread."""
READS = 64
"""First lines that are read between two yields."""

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that yields after each slice."""

_LAUNCHER = ("torch.distributed.elastic.", "torch.distributed.run", "torch.distributed.launcher")
"""How the names of the loggers of torchrun begin."""


def is_of_job(form: str, process: Process) -> bool:
    """Return whether the records of a log under one pid belong to a process of the job. `form`: of the log."""
    return form != TEXT or (process.pid != 0 and not _is_launcher(process))


def processes_of_job(processes: Iterable[tuple[str, Process]]) -> list[Process]:
    """Choose the processes of the job; where torchrun alone wrote messages of torch, torchrun.

    Each comes with the form of its log.
    """
    writers = [(form, process) for form, process in processes if form != TEXT or process.pid]
    return [process for form, process in writers if is_of_job(form, process)] or [process for _, process in writers]


def _is_launcher(process: Process) -> bool:
    """Tell whether all messages of torch are torchrun's."""
    without_id = process.compiles.get(NO_ID)
    if without_id is None or len(process.compiles) > 1:
        return False
    log = process.log
    return all(_is_from_launcher(log.kind(record)) for record in without_id.records)


def _is_from_launcher(kind: Kind) -> bool:
    return _is_plain(kind) or (kind.event == "log" and kind.name.startswith(_LAUNCHER))


def _is_plain(kind: Kind) -> bool:
    """Tell whether records of a kind are lines without a prefix of torch, which have neither time nor pid."""
    return kind.event == "text"


EXACT = ("inductor_output_code", "dynamo_cpp_guards_str", "recompile_reasons")
"""What a text log has byte for byte as the trace has it."""
COMPARED = 8
"""Texts of a name that are compared, from the first."""


@frozen
class Evidence:
    """The evidence for and against two processes being the same."""

    equal: frozenset[str] = frozenset()
    """Of "pid", "rank", "time", "text"."""
    against: str = ""

    @property
    def is_enough(self) -> bool:
        """Two equal facts, and nothing against it. A text that two processes made is as good as a pid and more."""
        return not self.against and len(self.equal) >= 2


def compare(base: Process, other: Process) -> Steps[Evidence]:
    """Compare two processes for being the same. Reads a few texts of both. Raises OSError."""
    equal = set()
    if base.pid and other.pid:
        if base.pid != other.pid:
            return Evidence(against=f"processes {base.pid} and {other.pid}")
        equal.add("pid")
    if base.stated_rank is not None and other.stated_rank is not None:
        if base.stated_rank != other.stated_rank:
            return Evidence(against=f"rank {base.stated_rank} and {other.stated_rank}")
        equal.add("rank")
    if against := _other_names(base, other):
        return Evidence(against=against)
    if (yield from _same_text(base, other)):
        equal.add("text")
        if not other.pid:
            equal.add("pid")  # the directory of a cache does not know whose it was: its code does
    spans = (yield from span(base)), (yield from span(other))
    if spans[0] and spans[1]:
        if max(spans[0][0], spans[1][0]) <= min(spans[0][1], spans[1][1]):
            equal.add("time")
        elif "text" not in equal:
            return Evidence(against=f"until {min(spans[0][1], spans[1][1])[:13]} and from {max(spans[0][0], spans[1][0])[:13]}")
    return Evidence(frozenset(equal))


def span(process: Process) -> Steps[tuple[str, str] | None]:
    """Return the times of the first and the last dated record of a process, `MMDD HH:MM:SS`, in local time of the job.

    Program output between the messages of torch has no time and changes nothing.
    """
    log, untagged = process.log, process.compiles.get(NO_ID)
    compiles = [compile_.records for compile_ in process.compiles.values() if compile_ is not untagged and compile_.records]
    ends = []
    if compiles:
        ends = [_clock(log, min(records[0] for records in compiles)), _clock(log, max(records[-1] for records in compiles))]
    if untagged is not None:
        for backwards in (False, True):
            ends.append((yield from _dated(log, untagged.records, backwards)))
    clocks = sorted(filter(None, ends))
    if not clocks:
        return None
    # a directory is named by the time at which the process began: the log of it begins later, and ends when it ends
    return (clocks[0], "9") if isinstance(process.log, DebugLog) else (clocks[0], clocks[-1])


def _dated(log: Log, records: Sequence[int], backwards: bool) -> Steps[str]:
    """Return the time of the first, or last, record that has one; '' for none."""
    kinds, column, reads = [_is_plain(kind) for kind in log.kinds], log.columns.kind, 0
    for part in slices(records, backwards=backwards):
        for record in part:
            if kinds[column[record]]:
                continue
            if clock := _clock(log, record):
                return clock
            reads += 1
            if reads % READS == 0:
                yield
        yield
    return ""


def slices(items: Sequence[T], most: int | None = None, backwards: bool = False) -> Iterator[Sequence[T]]:
    """Cut a sequence into slices of at most `most` (default: `SLICE`), from the first or from the last."""
    size, most = len(items), most or SLICE
    for begin in range(0, size, most):
        yield items[max(size - begin - most, 0) : size - begin][::-1] if backwards else items[begin : begin + most]


def _clock(log: Log, record: int) -> str:
    prefix = log.prefix(record)
    return f"{prefix.month:02}{prefix.day:02} {prefix.time[:8]}" if prefix is not None else ""


def _other_names(base: Process, other: Process) -> str:
    """Describe two functions with known names and the same compile id; '' for none."""
    for key, frame in other.frames.items():
        twin = base.find_frame(key)
        if twin is None or any(c.name_source is not None and c.name_source.is_guess for c in (*twin.compiles, *frame.compiles)):
            continue
        names = twin.code[0], frame.code[0]
        if names[0] and names[1] and names[0] != names[1]:
            return f"{frame.label} is {names[0]} in one process and {names[1]} in the other"
    return ""


def _same_text(base: Process, other: Process) -> Steps[bool]:
    if isinstance(other.log, DebugLog):
        codes = yield from records_of(base, EXACT[0])
        declared = {declared_md5(base.log, record) for _, record in codes}
        return any(unit.md5 in declared for unit in other.log.units())
    for name in EXACT:
        theirs = yield from records_of(other, name, COMPARED)
        ours = (yield from records_of(base, name, COMPARED)) if theirs else []
        if _md5s(other.log, theirs) & _md5s(base.log, ours):
            return True
    return False


def _md5s(log: Log, records: list[tuple[Compile, int]]) -> set[str]:
    return {md5 for _, record in records if (md5 := declared_md5(log, record)) is not None}


def declared_md5(log: Log, record: int) -> str | None:
    """Return the md5 of the payload of a record in lower case."""
    digest = log.md5(record)
    return None if digest is None else digest.lower()


def records_of(process: Process, name: str, most: int | None = None) -> Steps[list[tuple[Compile, int]]]:
    """Return the records of a name, compile by compile, at most `most`."""
    log, records, done = process.log, list[tuple[Compile, int]](), 0
    kinds = {number for number, kind in enumerate(log.kinds) if name in (kind.name, kind.event)}
    column = log.columns.kind
    for compile_ in list(process.compiles.values()) if kinds else ():
        for part in slices(compile_.records):
            records += [(compile_, record) for record in part if column[record] in kinds]
            if most is not None and len(records) >= most:
                return records[:most]
            done += len(part)
            if done >= SLICE:
                done = 0
                yield
    return records
