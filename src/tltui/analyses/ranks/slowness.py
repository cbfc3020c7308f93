"""Ranks on which a compile, or a phase of it, took much longer than on others.

Phases are read only of compiles that took longer than the ranks differ anyway, and of a few ranks that took the median. Of phases
in one another that are outliers the innermost one is told that explains what they have in common.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from statistics import median_low
from typing import NamedTuple

from tltui.analyses.hang.open_work import WRAPPERS
from tltui.analyses.ranks.columns import Column
from tltui.analyses.ranks.pace import MORE_S, WAITING, Phases, Slow, Spread, is_minority, stands_out
from tltui.model.epochs import INNER, OUTERMOST

SIGMAS = 4
"""How many times as far from the median as ranks usually are a compile must take for its phases to be read."""
QUARTILE = 0.674
"""Of a normal distribution, in standard deviations."""
COMPARED = 9
"""Ranks that took the median whose phases are read."""
LOOKED_AT = 64
"""Ranks of one compile whose phases are read, the slowest."""
EXPLAINS = 0.9
"""How much of what the outermost phase took longer an inner one must have taken longer to explain it."""
PIECE = 16
"""Ranks whose phases are read without a pause."""
WHOLE = {*OUTERMOST, *INNER}
"""Phases that are all of a compile: that they took long explains nothing."""
HOLDS_WAIT = WRAPPERS | {"bytecode_tracing"}
"""Phases that hold the waiting for other ranks."""


def spread_of(column: Column) -> Spread | None:
    """What a compile took on all ranks; None where fewer than two finished it."""
    took = column.took
    known = sorted(seconds for seconds in took if seconds == seconds)
    if len(known) < 2:
        return None
    return _spread(column, "", took, known)


def _spread(column: Column, phase: str, took: Sequence[float], known: Sequence[float]) -> Spread:
    """`known`: in order."""
    slowest, median, fastest = (took.index(known[place]) for place in (-1, (len(known) - 1) // 2, 0))
    ranks = [column.lanes[number].rank for number in (slowest, median, fastest)]
    return Spread(
        column.key, phase, len(known), ranks[0], took[slowest], ranks[1], took[median], ranks[2], took[fastest],
        column.ref(slowest), column.ref(median), column.ref(fastest),
    )  # fmt: skip


def spread_with(column: Column, spread: Spread, rank: int) -> Spread | None:
    """The same with a certain rank in place of the slowest; None where that did not finish it."""
    for number, lane in enumerate(column.lanes):
        if lane.rank == rank and column.took[number] == column.took[number]:
            return replace(spread, slowest=rank, slowest_s=column.took[number], slowest_ref=column.ref(number))
    return None


def read_phase_spreads(column: Column, phases: Phases) -> Generator[None, None, list[Spread]]:
    """What each phase of a compile took on the ranks that finished it, the widest first. Reads the phases of all of them, with a
    pause now and then."""
    found: dict[str, list[float]] = {}
    nothing = [math.nan] * len(column.lanes)
    for number, seconds in enumerate(column.took):
        if seconds == seconds:
            for name, own in phases(column.lanes[number], column.places[number]).items():
                found.setdefault(name, nothing[:])[number] = own
            if number % PIECE == 0:
                yield
    known = {name: sorted(own for own in took if own == own) for name, took in found.items()}
    spreads = [_spread(column, name, took, known[name]) for name, took in found.items() if len(known[name]) > 1]
    return sorted(spreads, key=lambda own: (own.median_s - own.slowest_s, own.phase))


def slow_in(column: Column, spread: Spread, phases: Phases) -> list[Slow]:
    """The ranks on which a compile was slow, those with the same phase together."""
    took, pending = column.took, column.unfinished()
    if spread.slowest_s - spread.fastest_s <= MORE_S:
        return []
    known = sorted((number for number, seconds in enumerate(took) if seconds == seconds), key=took.__getitem__)
    middle = (len(known) + pending - 1) // 2
    if middle >= len(known):
        return []
    typical, typical_ref = took[known[middle]], column.ref(known[middle])
    usual = (took[known[int(0.75 * (len(known) - 1))]] - typical) / QUARTILE
    bound = typical + max(MORE_S, SIGMAS * usual)
    slow = [number for number in reversed(known) if took[number] > bound or stands_out(took[number], typical)]
    if not is_minority(len(slow) + pending, len(known) + pending):  # those to come take longer still
        return []
    others = known[: len(known) - len(slow)]
    first = max((len(others) - COMPARED) // 2, 0)
    compared = [phases(column.lanes[number], column.places[number]) for number in others[first : first + COMPARED]]
    groups: dict[str, list[int]] = defaultdict(list)
    found: dict[int, _Explained] = {}
    for number in slow[:LOOKED_AT]:
        own = phases(column.lanes[number], column.places[number])
        found[number] = explained_by(own, compared)
        phase = found[number].phase
        waited = own.get(WAITING, 0.0) - _typical(WAITING, compared)
        if phase or stands_out(took[number] - max(waited, 0.0), typical):
            groups[phase].append(number)
    groups[""] += [number for number in slow[LOOKED_AT:] if stands_out(took[number], typical)]
    return [
        Slow(
            column.key, tuple(sorted(column.lanes[number].rank for number in own)), column.ref(own[0]), typical_ref, took[own[0]],
            typical, *found.get(own[0], NOTHING),
        )
        for phase, own in groups.items()
        if own
    ]  # fmt: skip


class _Explained(NamedTuple):
    """What explains that a compile was slow."""

    phase: str
    seconds: float
    typical_s: float


NOTHING = _Explained("", 0.0, 0.0)


def _typical(name: str, compared: Sequence[Mapping[str, float]]) -> float:
    return median_low([other.get(name, 0.0) for other in compared]) if compared else 0.0


def explained_by(own: Mapping[str, float], compared: Sequence[Mapping[str, float]]) -> _Explained:
    """Find the innermost phase that explains why something was slow, seconds in it, and those of others; '' for none."""
    waited = max(own.get(WAITING, 0.0) - _typical(WAITING, compared), 0.0)
    found = []
    for name, seconds in own.items():
        typical = _typical(name, compared)
        if name in HOLDS_WAIT:
            seconds -= waited
        if name != WAITING and stands_out(seconds, typical):
            found.append((seconds, typical, name))
    most = max((seconds - typical for seconds, typical, _ in found), default=0.0)
    # what holds another one took longer than that
    inner = min((one for one in found if one[0] - one[1] >= EXPLAINS * most), default=None)
    if inner is None or inner[2] in WHOLE or inner[2].startswith("compile_attempt_"):
        return NOTHING
    return _Explained(inner[2], inner[0], inner[1])
