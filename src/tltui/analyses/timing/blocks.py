"""The timing events of a few compiles, added up and kept: what the timing of a run is joined from.

A block holds compiles of one process in the order in which they began, so that blocks stay the same while a run grows. It is
small: what is said of single names is added up, what is said of single compiles is a row of numbers.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tltui.analyses.parts import part_of, reader_of
from tltui.analyses.records import Reader, metrics_fields
from tltui.analyses.timing.kernels import stated_by
from tltui.analyses.timing.phases import DYNAMO, ORDER, Phase, ordered, timing_of
from tltui.analyses.timing.results import CompileTime, KernelTime
from tltui.analyses.timing.spans import Seen, Span, read_groups
from tltui.analyses.timing.sums import NameSum, OwnerSum, ProcessSum, Sums
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID

MEMBERS = 16
"""Compiles of a block."""
LARGE = 1000
"""Records from which on a compile is a block of its own."""


@dataclass(frozen=True, slots=True)
class NameTotal:
    """All events of one name in a block. Microseconds."""

    name: str
    rank: int
    count: int
    total: float
    own: float
    work: float
    longest: float
    record: int
    owner: str
    """The address of the compile with the longest one."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a compile began and was not seen to end."""

    ref: str
    spans: tuple[Span, ...]
    """The outermost first."""
    last: float
    """The last event of the compile."""
    finished: bool


@dataclass(frozen=True, slots=True)
class Block:
    """What the events, and where there are none the metrics, of some compiles amount to."""

    events: int
    unreadable: int
    lone_ends: int
    last: float | None
    """The last event."""
    with_events: bool
    with_metrics: bool
    """Whether phases of some compile come from events, of some from metrics."""
    rows: tuple[array[float] | None, ...]
    """Of each compile, see `time_of`; None where neither events nor metrics tell."""
    names: tuple[NameTotal, ...]
    beside: tuple[NameTotal, ...]
    walls: tuple[tuple[float, float, int], ...]
    """(start, end, which of the compiles) of each time in which something was compiled."""
    waiting: tuple[Waiting, ...]
    kernels: tuple[KernelTime, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Compiles that make a block."""

    process: Process
    members: Sequence[Compile]
    kept: str
    """In which order they stand: compiles of a process, or of a frame."""

    def block(self) -> Block:
        """The block, from the cache if nothing changed."""
        return part_of(("timing", self.kept), self.members, lambda: block_of(self.members, Sums(), Seen()))


def stretches_of(compiles: Sequence[Compile]) -> Iterator[Stretch]:
    """Cut some compiles into stretches."""
    by_process: dict[Process, list[Compile]] = {}
    for compile_ in compiles:
        by_process.setdefault(compile_.process, []).append(compile_)
    for process, own in by_process.items():
        kept = "process" if len(own) == len(process.compiles) else "frame"
        for members in _cut(process.compiles.values() if kept == "process" else own):
            yield Stretch(process, members, kept)


def _cut(compiles: Iterable[Compile]) -> Iterator[list[Compile]]:
    run: list[Compile] = []
    for compile_ in compiles:
        alone = compile_.id == NO_ID or len(compile_.records) > LARGE
        if run and (alone or len(run) == MEMBERS):
            yield run
            run = []
        if alone:
            yield [compile_]
        else:
            run.append(compile_)
    if run:
        yield run


def block_of(members: Sequence[Compile], sums: Sums, seen: Seen) -> Block:
    """Read the events of some compiles of one process."""
    for found in read_groups(members, seen):
        for group in found:
            sums.add(group)
    return block_from(members, sums, seen)


def block_from(members: Sequence[Compile], sums: Sums, seen: Seen) -> Block:
    """What was added up, with what the index knows of the compiles."""
    process = members[0].process
    found = sums.processes.get(id(process)) or ProcessSum(process)
    owners = [sums.owners.get(id(compile_)) for compile_ in members]
    phases = [_of_events(own) if own is not None else () for own in owners]
    with_metrics = False
    for n, compile_ in enumerate(members):
        if owners[n] is None and compile_.metrics:
            phases[n] = _of_metrics(compile_, reader_of(compile_))
            with_metrics = with_metrics or bool(phases[n])
    places = {id(compile_): n for n, compile_ in enumerate(members)}
    return Block(
        seen.events, seen.unreadable, seen.lone_ends, seen.last.get(id(process)), any(own is not None for own in owners),
        with_metrics, tuple(map(_row, owners, phases)), _totals(found.names),
        _totals(found.beside), tuple((start, end, places[id(owner)]) for start, end, owner in found.walls),
        tuple(_waiting(own) for own in owners if own is not None and own.open),
        tuple(kernel for compile_ in members for kernel in stated_by(compile_, reader_of(compile_))),
    )  # fmt: skip


def _of_events(own: OwnerSum) -> tuple[Phase, ...]:
    return ordered(own.micros(), own.aot)


def _of_metrics(compile_: Compile, reader: Reader) -> tuple[Phase, ...]:
    timing = timing_of([], metrics_fields(compile_, reader))
    return together((timing.phases, timing.backward))


def together(parts: Iterable[tuple[Phase, ...]]) -> tuple[Phase, ...]:
    """The sums of phases."""
    seconds: dict[str, float] = {}
    for phases in parts:
        for phase in phases:
            seconds[phase.name] = seconds.get(phase.name, 0.0) + phase.seconds
    return tuple(Phase(name, seconds[name]) for name in ORDER if seconds.get(name, 0) > 0)


def _row(own: OwnerSum | None, phases: tuple[Phase, ...]) -> array[float] | None:
    """(microseconds of the groups, start, seconds of each phase of `ORDER`); no number for the first two without events. There is
    one for each compile of the run: it must be small."""
    if own is None and not phases:
        return None
    seconds = {phase.name: phase.seconds for phase in phases}
    wall, start = (own.wall, own.start) if own is not None else (math.nan, math.nan)
    return array("d", [wall, start, *(seconds.get(name, 0.0) for name in ORDER)])


def time_of(compile_: Compile, row: array[float] | None = None) -> CompileTime | None:
    """The time of a compile; without its row from the index alone."""
    events = row is not None and not math.isnan(row[0])
    seconds, source = compile_.tally.seconds, "metrics"
    if not seconds and row is not None and events:
        seconds, source = row[0] / 1e6, "events"
    if not seconds and not compile_.is_compile:
        return None
    name, file, line = compile_.frame.code
    status = compile_.status
    start = row[1] if row is not None and events else compile_.start_us
    phases = tuple(Phase(name, row[n]) for n, name in enumerate(ORDER, 2) if row[n] > 0) if row is not None else ()
    if source == "metrics":
        phases = _within(phases, seconds)
    return CompileTime(
        str(compile_.ref), name, file, line, str(status) if status else None, seconds, source, start, phases
    )


def _within(phases: tuple[Phase, ...], seconds: float) -> tuple[Phase, ...]:
    """The phases, so that they add up to no more than the metrics say: the outermost event, Dynamo's, also holds the writing of the
    metrics themselves, which they do not count."""
    beyond = sum(phase.seconds for phase in phases) - seconds
    if beyond <= 0:
        return phases
    return tuple(replace(p, seconds=max(p.seconds - beyond, 0.0)) if p.name == DYNAMO else p for p in phases)


def _totals(names: dict[str, NameSum]) -> tuple[NameTotal, ...]:
    return tuple(
        NameTotal(
            sys.intern(name), found.rank, found.count, found.total, found.own, found.work, found.longest, found.record,
            str(found.owner.ref) if found.owner is not None else "",
        )
        for name, found in names.items()
    )  # fmt: skip


def _waiting(own: OwnerSum) -> Waiting:
    return Waiting(str(own.owner.ref), tuple(own.open), own.last if own.last > -math.inf else 0.0, bool(own.owner.metrics))

