"""Position of each process of a run: open phases, waiting ranks, interrupted compiles."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import NamedTuple

from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Process, Rank
from tltui.model.record_reader import Reader
from tltui.model.ref import NO_ID, Ranks, counted, gaps, listed, parse_ref
from tltui.model.run import Run
from tltui.questions.compare.pairing import code_of
from tltui.questions.coverage.job_inputs import ranks_here
from tltui.questions.hang.open_phases import (
    AGAIN,
    CAPTURE,
    INTERRUPTED,
    OUTSIDE,
    Inside,
    Phase,
    all_inside,
    end_phase,
    inside,
    inside_of,
    last_record,
    launch_number,
    read_inside,
    specific_phases,
    written,
)
from tltui.questions.ranks.pace import Clock, Offset, clocks, offsets, without_late, written_us
from tltui.questions.stacks.tracebacks import display_code
from tltui.questions.timing.timing_events import Event, events_of
from tltui.text.frozen import frozen
from tltui.text.steps import run_steps

COMPILER_COLLECTIVE, GUARD_COLLECTIVE = "compiler_collective", "guard_collective"
COLLECTIVES = frozenset((COMPILER_COLLECTIVE, GUARD_COLLECTIVE))
"""Phases in which a rank does nothing but wait for all others."""


def collective_of(inside: Inside | None) -> str:
    """Return the compiler collective that a rank is in; '' for none."""
    name = inside.phases[-1].name if inside is not None and inside.phases else ""
    return name if name in COLLECTIVES else ""


def awaited(collectives: Mapping[int, str]) -> dict[int, frozenset[int]]:
    """Map each waiting rank to the ranks that are not in a compiler collective.

    Ranks that wait for none are omitted. `collectives`: rank → its current collective.
    """
    absent = frozenset(rank for rank, name in collectives.items() if not name)
    return {rank: absent for rank, name in collectives.items() if name and absent}


TOGETHER_US = 500_000
"""Between two ends that an exception leaves one after the other."""
AFTERWARDS = "gc"
"""torch's last event of each compile, also of an interrupted one."""


@part
def interrupted_position(compile_: Compile, reader: Reader) -> Inside | None:
    """Return the open phases of an interrupted compile; None if it was not interrupted."""
    if not compile_.facts.interrupted:
        return None
    phases = before_the_ends([event for event in events_of(compile_, reader) if event.phase in "BE" and event.name != AFTERWARDS])
    return Inside(str(compile_.ref), compile_.label, INTERRUPTED, *display_code(compile_.frame), phases, *written(compile_))


def before_the_ends(events: Sequence[Event]) -> tuple[Phase, ...]:
    """Return the phases open before the final run of end events."""
    first = len(events)
    while first and events[first - 1].phase == "E" and (first == len(events) or _close(events[first - 1], events[first])):
        first -= 1
    stack: list[Phase] = []
    for event in events[:first]:
        if event.phase == "B":
            stack.append(Phase(event.name, event.at))
        else:
            end_phase(stack, event.name)
    return tuple(stack)


def _close(event: Event, following: Event) -> bool:
    return following.at - event.at < TOGETHER_US


INSIDE, BETWEEN, EMPTY = "inside", "between", "empty"


@frozen
class Named:
    """The name of a compile on some ranks."""

    id: str
    ranks: Ranks


@frozen
class Group:
    """Ranks at the same position."""

    ranks: Ranks
    """Of a run without ranks the numbers of its processes, empty where it is one."""
    count: int
    state: str
    """`inside`: something is open; `between`: nothing is; `empty`: it has not begun a compile."""
    has_ended: bool
    """Whether their logs have ended: then they were there."""
    activity: str
    """See `Inside.what`; '' unless inside."""
    function: str | None
    """That is compiled, or was compiled last."""
    file: str | None
    line: int | None
    compile_number: int
    """Which compile of the function, from 1; 0 where that is not known."""
    ids: tuple[Named, ...]
    """What the compile is called; several where ranks call it otherwise."""
    ref: str
    """The address of the compile on the first of the ranks."""
    phases: tuple[Phase, ...]
    """Open phases, the outermost first, on the first of the ranks, by its clock."""
    phase_path: tuple[str, ...]
    """Those that tell most."""
    since_at_us: float | None
    """When the innermost phase began, the first of the ranks; microseconds since the epoch, clocks put right."""
    last_since_at_us: float | None
    """The same, the last of the ranks."""
    last_record_at_us: float | None
    """The newest record of them."""
    artifact: str
    """What the first of them wrote last of the compile beside timing events, by name."""
    graph: str
    """The address of the last graph that it wrote; '' where there is none."""
    finished_compiles: int
    """Compiles that each has finished at least."""
    finished_ranks: Ranks
    """Of an open compile: the ranks with nothing open that have finished it."""
    not_begun_ranks: Ranks
    """The ranks with nothing open that have not begun it."""
    is_behind: bool
    """Nothing is open, and they have made less progress than others."""
    first_rank: int
    """The first of the ranks."""
    pid: int
    """Its process."""
    collective: str
    """The collective of the compiler that they wait in: `compiler_collective`, `guard_collective`; '' for none."""
    waits_for_ranks: Ranks
    """The ranks that are not in a collective of the compiler, for which these wait; empty where they wait for none."""


@frozen
class Older:
    """A replaced process of a restarted rank, or an additional process with open phases."""

    rank: int | None
    ref: str
    pid: int
    has_ended: bool
    open: Inside | None
    """What it was in the middle of."""


@frozen
class Also:
    """An additional open phase of a rank."""

    rank: int
    open: Inside


@frozen
class Where:
    """The positions of the processes of a run."""

    goes_on: bool
    """Whether any of the logs may still be written."""
    ranks: int
    """Ranks, or processes without a rank, that are compared."""
    has_ranks: bool
    """Whether they are ranks."""
    groups: tuple[Group, ...]
    """Who is behind first."""
    ranks_behind: Ranks
    """The ranks with nothing open that have come less far than others."""
    clocks: tuple[Clock, ...]
    ranks_without_log: Ranks
    """Ranks below the highest one without a log, at most 65,536 of them."""
    ranks_without_log_count: int
    """The number of all of these."""
    restarted: tuple[Older, ...]
    other_processes: tuple[Older, ...]
    """Processes without a rank beside ranks, and forked ones, that have something open."""
    idle_process_count: int
    """Those that have nothing open."""
    other_threads: tuple[Also, ...]
    """What else is open on the same processes: other threads."""


IDS_LISTED = 4
"""Ids of one function that are told apart."""
Code = tuple[str, "str | None", "int | None"]
Key = tuple[Code, int]


class Step(NamedTuple):
    """The `number`-th compile (from 1) of a code object in a process."""

    code: Code
    number: int
    start: float | None
    """Its begin, in microseconds by the clock of the process."""
    done: bool


@frozen
class CurrentCompile:
    """The current or last begun compile of a process."""

    key: Key
    done: bool
    ref: str
    label: str
    function: str | None
    file: str | None
    line: int | None


@frozen
class Position:
    """The position of one process."""

    inside: tuple[Inside, ...]
    """Open phases: the innermost compile first, then other threads."""
    at: CurrentCompile | None
    """The compile that it is in, with nothing open the one that it began last; None for none."""
    done: int
    """Compiles that it finished."""
    last: float | None
    """The time of its last record, by its own clock."""


@frozen
class Unit:
    """A rank, or a process without one, for comparison."""

    number: int
    process: Process
    place: Position
    over: bool


@part
def steps_of(process: Process, reader: Reader) -> tuple[Step, ...]:
    """Return the compiles of a process in begin order."""
    counts: Counter[Code] = Counter()
    codes: dict[int, Code] = {}
    steps = []
    for compile_ in _compiles(process):
        frame = compile_.frame
        code = codes.get(id(frame))
        if code is None:
            code = codes[id(frame)] = code_of(frame.compiles[0])
        counts[code] += 1
        # the metrics may be damaged: a compile is also over if all its events ended
        done = (compile_.is_closed or inside_of(compile_) is None) and not compile_.facts.interrupted
        steps.append(Step(code, counts[code], compile_.start_us, done))
    return tuple(steps)


def _compiles(process: Process) -> list[Compile]:
    return [compile_ for compile_ in process.ordered() if compile_.is_compile]


@part
def place_of(process: Process, reader: Reader) -> Position:
    """Return the position of a process."""
    positions, steps = all_inside(process), steps_of(process)
    compiles, at = _compiles(process), None
    if not positions and compiles and (interrupted := interrupted_position(compiles[-1])) is not None:
        positions = (interrupted,)
    compile_: Compile | None = None
    if positions and positions[0].activity not in (AGAIN, CAPTURE, OUTSIDE):
        compile_ = process.find(parse_ref(positions[0].ref).id or NO_ID)
    elif not positions and compiles:
        compile_ = compiles[-1]
    if compile_ is not None:
        step = steps[compiles.index(compile_)]
        at = CurrentCompile((step.code, step.number), step.done, str(compile_.ref), compile_.label, *display_code(compile_.frame))
    return Position(positions, at, sum(step.done for step in steps), last_record(process))


def where(run: Run, processes: Sequence[Process] | None = None) -> Where:
    """Return the positions of the processes of a run, or only of `processes`."""
    return run_steps(read_where(run, processes))


def read_where(run: Run, processes: Sequence[Process] | None = None) -> Generator[None, None, Where]:
    """Compute the positions as `where` does, with a pause after each piece."""
    selected = run.processes() if processes is None else processes
    chosen = [process for process in selected if process.is_traced]  # only a trace has open phases
    for process in chosen:
        yield from read_inside(process)
        place_of(process)
    units, restarted, additional = _split_processes(run.ranks, chosen)
    yield
    numbered = bool(units) and units[0].process.rank is not None
    shifts = offsets(_starts(_without_restarted(units, restarted))) if len(units) > 1 else {}
    if shifts:
        shifts = without_late(shifts, ((unit.number, unit.place.last, written_us(unit.process.log)) for unit in units))
    yield
    behind = _behind(units)
    groups = _groups(units, shifts, behind)
    yield
    older = [_older(process) for process in additional]
    lacking = gaps(ranks_here(run)) if processes is None and numbered else []
    return Where(
        any(not u.over for u in units), len(units), numbered, groups, Ranks(behind), clocks(shifts),
        listed(lacking), counted(lacking),
        tuple(_older(process) for process in restarted),
        tuple(item for item in older if item.open is not None), sum(item.open is None for item in older),
        tuple(Also(u.number, item) for u in units for item in u.place.inside[1:]),
    )  # fmt: skip


def _split_processes(ranks: Sequence[Rank], chosen: Sequence[Process]) -> tuple[list[Unit], list[Process], list[Process]]:
    """Split processes into compared units, replaced processes, and additional ones."""
    ids = {id(process) for process in chosen}
    by_rank = [(rank.number, [p for p in rank.processes if id(p) in ids]) for rank in ranks]
    numbered = [(number, processes) for number, processes in by_rank if number is not None and processes]
    unnumbered = [p for number, processes in by_rank if number is None for p in processes]
    if not numbered:
        units, restarted = _split_by_time(unnumbered)
        return units, restarted, []
    launch = max(launch_number(p) for _, processes in numbered for p in processes)
    units, restarted, additional = [], [], unnumbered
    for number, processes in numbered:
        same = {id(p) for p in processes}
        mains = [p for p in processes if id(p.parent) not in same] or processes
        newest = next((p for p in reversed(mains) if steps_of(p)), mains[-1])
        additional += [p for p in processes if id(p.parent) in same and p is not newest]
        restarted += [p for p in mains if p is not newest]
        if launch_number(newest) == launch:
            units.append(_unit(number, newest))
        else:
            restarted.append(newest)
    return units, restarted, additional


def _split_by_time(processes: Sequence[Process]) -> tuple[list[Unit], list[Process]]:
    """Split processes without a rank: those concurrent with the newest, and those of earlier runs."""
    if not processes:
        return [], []
    newest = processes[-1]
    units, before = [], []
    for process in processes:
        last = last_record(process)
        is_concurrent = not process.log.ended or (last is not None and newest.started and last / 1e6 > newest.started)
        if process is newest or is_concurrent:
            units.append(_unit(process.number, process))
        else:
            before.append(process)
    return units, before


def _unit(number: int, process: Process) -> Unit:
    return Unit(number, process, place_of(process), process.log.ended)


def _older(process: Process) -> Older:
    return Older(process.rank, str(process.ref), process.pid, process.log.ended, inside(process))


def _without_restarted(units: Sequence[Unit], restarted: Sequence[Process]) -> Sequence[Unit]:
    """Return the units without a few restarted ones, whose begins are later."""
    again = {process.rank for process in restarted}
    few = [unit for unit in units if unit.process.rank not in again]
    return few if 2 * len(few) >= len(units) else units


def _starts(units: Sequence[Unit]) -> dict[int, dict[Hashable, float]]:
    """Return the begin of each compile by rank, by the rank's own clock."""
    starts: dict[int, dict[Hashable, float]] = {}
    for unit in units:
        starts[unit.number] = {(s.code, s.number): s.start for s in steps_of(unit.process) if s.start is not None}
        place = unit.place
        if place.inside and place.at is not None and not place.at.done and place.inside[0].phases:
            starts[unit.number].setdefault(place.at.key, place.inside[0].phases[0].since_at_us)
    return starts


def _behind(units: Sequence[Unit]) -> set[int]:
    """Return idle ranks that finished fewer compiles and reached no later position."""
    if len(units) < 2:
        return set()
    first = max(units, key=lambda unit: len(steps_of(unit.process)))
    order = {(step.code, step.number): n for n, step in enumerate(steps_of(first.process))}
    unknown = len(order)
    reached = {u.number: order.get(u.place.at.key, unknown) if u.place.at is not None else -1 for u in units}
    furthest = max((place for place in reached.values() if place < unknown), default=-1)
    most = max(unit.place.done for unit in units)
    late = {u.number for u in units if not u.place.inside and u.place.done < most and reached[u.number] < furthest}
    return late & _lacking(units) if all(unit.over for unit in units) else late


def _lacking(units: Sequence[Unit]) -> set[int]:
    """Return ranks without a compile that most ranks finished.

    In a finished job only these are behind.
    """
    done = {u.number: {(step.code, step.number) for step in steps_of(u.process) if step.done} for u in units}
    counts = Counter(key for keys in done.values() for key in keys)
    usual = {key for key, count in counts.items() if 2 * count > len(units)}
    return {number for number, keys in done.items() if not usual <= keys}


def _groups(units: Sequence[Unit], shift: Mapping[int, Offset], behind: set[int]) -> tuple[Group, ...]:
    """Group ranks by position, those behind first.

    At equal progress, ranks inside of a compile come first. Ranks that wait in a compiler collective come last.
    """
    by_place: dict[Hashable, list[Unit]] = defaultdict(list)
    for unit in units:
        by_place[_place_key(unit), unit.number in behind].append(unit)
    idle = [unit for unit in units if not unit.place.inside]
    finished: dict[int, frozenset[Key]] = {}
    if len(idle) < len(units):
        finished = {u.number: frozenset((s.code, s.number) for s in steps_of(u.process) if s.done) for u in idle}
    waiting = awaited({u.number: collective_of(u.place.inside[0]) if u.place.inside else "" for u in units})
    groups = [_group(members, shift, finished, waiting, members[0].number in behind) for members in by_place.values()]
    return tuple(
        sorted(
            groups, key=lambda group: (bool(group.waits_for_ranks), group.state != INSIDE, group.finished_compiles, -group.count)
        )
    )


def _place_key(unit: Unit) -> Hashable:
    place = unit.place
    key = place.at.key if place.at is not None else None
    if not place.inside:
        return unit.over, key
    first = place.inside[0]
    return unit.over, key, first.activity, first.trail, None if key else first.id


def _group(
    units: Sequence[Unit], shift: Mapping[int, Offset], finished: Mapping[int, frozenset[Key]],
    waiting: Mapping[int, frozenset[int]], behind: bool,
) -> Group:  # fmt: skip
    first = units[0]
    open_, at = first.place.inside[0] if first.place.inside else None, first.place.at
    begun = [(u.number, u.place.inside[0].since) for u in units if u.place.inside]
    since = [_corrected(when, shift.get(number)) for number, when in begun if when is not None]
    last = [_corrected(u.place.last, shift.get(u.number)) for u in units if u.place.last is not None]
    key = at.key if open_ is not None and at is not None and not at.done else None
    passed = {rank for rank, keys in finished.items() if key in keys}
    source = open_ or at
    return Group(
        Ranks(u.number for u in units) if first.process.rank is not None or not first.process.alone else Ranks(), len(units),
        INSIDE if open_ is not None else BETWEEN if at is not None else EMPTY, first.over, open_.activity if open_ else "",
        source.function if source else None, source.file if source else None, source.line if source else None,
        at.key[1] if at else 0,
        _ids(units), source.ref if source else str(first.process.ref), open_.phases if open_ else (),
        specific_phases([phase.name for phase in open_.phases]) if open_ else (),
        min(since, default=None), max(since, default=None), max(last, default=None), open_.artifact if open_ else "",
        open_.graph if open_ else "", min(u.place.done for u in units), Ranks(passed) if key else Ranks(),
        Ranks(finished.keys() - passed) if key else Ranks(), behind, first.number, first.process.pid,
        collective_of(open_), Ranks(waiting.get(first.number, ())),
    )  # fmt: skip


def _corrected(when: float, clock: Offset | None) -> float:
    return when if clock is None else when - clock.at(when)


def _ids(units: Sequence[Unit]) -> tuple[Named, ...]:
    """Return the names of the compile, the one on the most ranks first."""
    by_id: dict[str, list[int]] = defaultdict(list)
    for unit in units:
        place = unit.place
        label = place.inside[0].id if place.inside else place.at.label if place.at is not None else ""
        if label:
            by_id[label].append(unit.number)
    most = sorted(by_id.items(), key=lambda item: -len(item[1]))
    return tuple(Named(label, Ranks(numbers)) for label, numbers in most[:IDS_LISTED])
