"""How the ranks of a run kept pace, found out: compile by compile, in the order in which they began."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tltui.analyses.hang.clocks import clocks
from tltui.analyses.ranks.columns import Columns
from tltui.analyses.ranks.course import Lane
from tltui.analyses.ranks.extras import Extras
from tltui.analyses.ranks.lateness import Lateness, wait_before, wait_inside
from tltui.analyses.ranks.pace import Late, Pace, Phases, Slow, Spread, Wait
from tltui.analyses.ranks.slowness import slow_in, spread_of
from tltui.analyses.ranks.stages import groups_of


def known_phases(lane: Lane, place: int) -> Mapping[str, float]:
    """The phases that a lane brings along."""
    found = {name: own[place] for name, own in lane.times.phases.items()}
    return {name: seconds for name, seconds in found.items() if seconds == seconds}


def pace_of(lanes: Sequence[Lane], phases: Phases = known_phases) -> Pace:
    """How some ranks kept pace."""
    finding = read_pace(lanes, phases)
    while True:
        try:
            next(finding)
        except StopIteration as stop:
            return cast(Pace, stop.value)


def read_pace(lanes: Sequence[Lane], phases: Phases = known_phases) -> Generator[None, None, Pace]:
    """The same, with a pause after each compile. Stages of a pipeline are compared each for itself."""
    groups = groups_of(lanes)
    if len(groups) < 2:
        return (yield from _read_alike(lanes, phases))
    found = []
    for own in groups:
        pace = yield from _read_alike(own, phases)
        # a stage of a pipeline begins when the one before is done, and stages that compile the same are one group
        found.append(replace(pace, late=(), waits=()) if own[0].is_pipelined else pace)
    return Pace(
        len(lanes), tuple(clock for pace in found for clock in pace.clocks), tuple(one for pace in found for one in pace.late),
        tuple(sorted((one for pace in found for one in pace.slow), key=lambda one: one.typical_s - one.seconds)),
        tuple(sorted((one for pace in found for one in pace.waits), key=lambda wait: -wait.rank_seconds)),
        tuple(sorted((one for pace in found for one in pace.spreads), key=lambda one: one.median_s - one.slowest_s)),
        {rank: offset for pace in found for rank, offset in pace.offsets.items()},
        tuple(sorted((one for pace in found for one in pace.extra), key=lambda one: -one.seconds)),
    )  # fmt: skip


def _read_alike(lanes: Sequence[Lane], phases: Phases) -> Generator[None, None, Pace]:
    """How ranks kept pace that do the same work."""
    columns = Columns(lanes)
    lateness, extras = Lateness(columns), Extras(columns)
    slow: list[Slow] = []
    spreads: list[Spread] = []
    waits: list[Wait] = []
    yield
    for key in columns.compiles():
        column = columns.column(key)
        extras.add(column)
        if key in columns.usual:
            lateness.add(column)
            if (wait := wait_before(column)) is not None:
                waits.append(wait)
        if (spread := spread_of(column)) is not None:
            spreads.append(spread)
            slow += slow_in(column, spread, phases)
        yield
    late = lateness.found()
    waits = [replace(wait, late=_is_late(wait, late)) for wait in waits]
    waits += [wait for one in late if (wait := wait_inside(columns.column(one.key), one, phases)) is not None]
    hosts = {lane.rank: lane.host for lane in lanes}
    return Pace(
        len(lanes), clocks(columns.offsets, hosts if len(set(hosts.values())) > 1 else {}), late,
        tuple(sorted(slow, key=lambda one: one.typical_s - one.seconds)),
        tuple(sorted(waits, key=lambda wait: -wait.rank_seconds)),
        tuple(sorted(spreads, key=lambda one: one.median_s - one.slowest_s)), columns.offsets, extras.found(),
    )  # fmt: skip


def _is_late(wait: Wait, late: Sequence[Late]) -> bool:
    return any(one.key == wait.key and not set(one.ranks).isdisjoint(wait.last) for one in late)
