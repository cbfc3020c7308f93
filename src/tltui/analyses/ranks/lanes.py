"""The ranks of a run as lanes, from its nodes: of each rank the newest process, of the newest launch.

Ranks that a trace tells of are not compared with those of which other inputs tell: those lack what was not logged. Where these
leave out what the functions are called, nothing is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import cast

from tltui.analyses.hang.clocks import written_us
from tltui.analyses.hang.open_work import begun, last_record
from tltui.analyses.ranks.course import TOGETHER_US, Course, Lane, Older, steps_in
from tltui.analyses.ranks.courses import course_of
from tltui.analyses.ranks.indexed import Told, read_told, told
from tltui.analyses.ranks.stages import PIPELINING
from tltui.analyses.ranks.times import times_of
from tltui.model.nodes import Process, Rank
from tltui.model.run import Run

PIECE = 16
"""Ranks that are read without a pause."""


def lanes_of(run: Run) -> tuple[Lane, ...]:
    """The ranks of a run; () where they cannot be compared."""
    reading = read_lanes(run)
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return cast("tuple[Lane, ...]", stop.value)


def read_lanes(run: Run, course: Callable[[Process], Course] = course_of) -> Generator[None, None, tuple[Lane, ...]]:
    """The same, with a pause after each piece. `course`: what tells what a process compiled."""
    chosen = _newest(run.ranks)
    if any(_is_nameless(process) for _, process in chosen):
        return ()
    known = told(run.crowd) if run.crowd is not None else None
    lanes = []
    for number, (rank, process) in enumerate(chosen, 1):
        lane = _told_lane(rank, process, known) if known is not None else None
        lanes.append(lane or _lane(rank, process, course(process)))
        if number % PIECE == 0:
            yield
    if run.crowd is not None:
        lanes += yield from read_told(run.crowd, frozenset(lane.rank for lane in lanes))
    return tuple(sorted(lanes, key=lambda lane: lane.rank))


def _newest(ranks: Sequence[Rank]) -> list[tuple[Rank, Process]]:
    """The ranks that have a number, each with the process that counts."""
    newest = [(rank, _main(rank.processes)) for rank in ranks if rank.number is not None]
    if any(process.is_traced for _, process in newest):
        newest = [(rank, process) for rank, process in newest if process.is_traced]
    launch = max((_launch(process) for _, process in newest), default=-1)
    return [(rank, process) for rank, process in newest if _launch(process) in (launch, -1)]


def _main(processes: Sequence[Process]) -> Process:
    """The newest process of a rank that no other one of the rank has forked."""
    same = {id(process) for process in processes}
    mains = [process for process in processes if id(process.parent) not in same] or list(processes)
    return mains[-1]


def _launch(process: Process) -> int:
    number = process.launch.rpartition("_")[2]
    return int(number) if number.isdigit() and len(number) < 10 else -1


def _is_nameless(process: Process) -> bool:
    """Whether a text leaves out which functions some of its compiles are of."""
    frames = () if process.is_traced else process.frames.values()
    return any(frame.is_guessed or frame.code[0] is None for frame in frames if any(own.is_compile for own in frame.compiles))


def _lane(rank: Rank, process: Process, course: Course) -> Lane:
    last = last_record(process) if process.is_traced else None
    return Lane(
        cast(int, rank.number), process.key, _address(process), "", process.pid,
        process.log.ended, process.is_traced, math.nan if last is None else last, course, times_of(process),
        tuple(_older(own, process) for own in rank.processes if _is_older(own, process)), inside_of(process),
        is_pipelined(process), written_us(process.log),
    )  # fmt: skip


def _told_lane(rank: Rank, process: Process, index: Told) -> Lane | None:
    """Make the lane of a process that was read of what an index has of it: texts that only logs have are not needed for it. None
    where no index has it, or where what it has is damaged."""
    saved = index.of(process)
    if saved is None:
        return None
    try:
        course_and_times = index.course(saved), index.times(saved)
    except OSError as error:
        index.damaged[saved.index.path] = error.strerror or str(error)
        return None
    return Lane(
        cast(int, rank.number), process.key, _address(process), saved.host, process.pid, process.log.ended, saved.is_traced,
        saved.last, *course_and_times,
        tuple(_older(own, process) for own in rank.processes if _is_older(own, process)), saved.inside,
        is_pipelined(process), written_us(process.log),
    )  # fmt: skip


def is_pipelined(process: Process) -> bool:
    """Tell whether a stack in its log goes through a pipeline: torch writes the name of each file of a stack once."""
    return any(PIPELINING in text for text in process.strings.values())


def _is_older(own: Process, newest: Process) -> bool:
    return own is not newest and own.is_traced and own.parent is None and newest.parent is not own


def _older(own: Process, newest: Process) -> Older:
    last = last_record(own)
    at_once = last is not None and newest.is_dated and newest.started > 0 and last - newest.started * 1e6 > TOGETHER_US
    return Older(own.pid, str(own.ref), left_in(own), at_once)


def left_in(process: Process) -> str:
    """The compile in which its log ends, `block1 [1/0]`; '' where it finished what it began."""
    steps = steps_in(process)
    if not process.log.ended or not steps or steps[-1][0].is_closed:
        return ""
    compile_, code, _ = steps[-1]
    return f"{code[0]} {compile_.label}"


def _address(process: Process) -> str:
    """`7`, `7.2`: what stands before the id of a compile."""
    return str(process.ref).removesuffix(":")


def inside_of(process: Process) -> tuple[str, ...]:
    """Name the phases that are open in the last compile, or in the backward of the newest one whose backward has no end."""
    if not process.is_traced:
        return ()
    compiles = [own for own in reversed(process.compiles.values()) if own.is_compile]
    if compiles and compiles[0].is_closed:
        compiles = [own for own in compiles if own.facts.backward_running or own.facts.backward_unfinished]
    return tuple(phase.name for phase in begun(compiles[0])[0]) if compiles else ()
