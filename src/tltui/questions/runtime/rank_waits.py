"""Which rank the others waited for in their collectives, where profiles of all ranks show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from tltui.questions.runtime.costs import window_us
from tltui.questions.runtime.profile_results import Collective, Runtime
from tltui.text.frozen import frozen

_OF_ALL = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE)
"""Collectives that end nowhere before all ranks have joined. A broadcast or a send does not wait for all."""
FEWEST = 3
"""Collectives by which a rank is judged."""
MOST_OF_THEM = 2 / 3
SHORTER = 0.2
"""Share of the longest time by which the shortest must be shorter than all others."""
WAITED = 0.02
"""Share of the window that the others must have waited."""


@frozen
class Waits:
    """The rank that was waited for."""

    rank: int
    last: int
    """The collectives that are shortest on it."""
    calls: int
    own_us: float
    """Its time in those, in all."""
    others_us: float
    """The time of the median of the other ranks in those."""
    whom: str
    """The other ranks: `rank 0`, `the median of the others`."""
    is_in_order: bool
    """Whether by the clocks it joined each of those last, too: so the clocks agree."""


def waits_of(runtimes: Sequence[Runtime]) -> Waits | None:
    """Return the rank that was waited for; None where that is not evident."""
    of_rank = {runtime.rank: runtime for runtime in runtimes if runtime.rank is not None}
    if len(of_rank) < 2 or len(of_rank) < len(runtimes):
        return None
    calls = _together(of_rank)
    shortest: dict[int, list[dict[int, Collective]]] = {}
    for call in calls:
        times = sorted((item.us, rank) for rank, item in call.items())
        if times[1][0] - times[0][0] > SHORTER * times[-1][0]:
            shortest.setdefault(times[0][1], []).append(call)
    rank = max(shortest, key=lambda rank: len(shortest[rank]), default=-1)
    if rank < 0 or len(calls) < FEWEST or len(shortest[rank]) < MOST_OF_THEM * len(calls):
        return None
    clear = shortest[rank]
    alone = sum(call[rank].us for call in clear)
    others = median(sum(call[other].us for call in clear) for other in of_rank if other != rank)
    if others - alone < WAITED * median(map(window_us, of_rank.values())):
        return None
    in_order = all(call[rank].begin_us == max(item.begin_us for item in call.values()) for call in clear)
    whom = "the median of the others" if len(of_rank) > 2 else f"rank {next(other for other in of_rank if other != rank)}"
    return Waits(rank, len(clear), len(calls), alone, others, whom, in_order)


def _together(of_rank: dict[int, Runtime]) -> list[dict[int, Collective]]:
    """Return the collectives of all ranks, each with all ranks; none where their orders differ.

    Where all profiles have the same steps, only steps with equal orders count: a window may cut the first and the last.
    """
    steps = {tuple(step.name for step in runtime.steps) for runtime in of_rank.values()}
    names = next(iter(steps)) if len(steps) == 1 else ()
    parts: list[dict[int, list[Collective]]] = []
    if names:
        for number in range(len(names)):
            parts.append({rank: _in_step(runtime, number) for rank, runtime in of_rank.items()})
    else:
        parts.append({rank: _of_all(runtime.collectives) for rank, runtime in of_rank.items()})
    results = []
    for part in parts:
        if len({tuple(item.name for item in items) for items in part.values()}) == 1:
            results += [{rank: items[number] for rank, items in part.items()} for number in range(len(next(iter(part.values()))))]
    return results


def _in_step(runtime: Runtime, number: int) -> list[Collective]:
    """Return the collectives of all ranks that began in a step."""
    step = runtime.steps[number]
    first, last = step.start_at_us, step.start_at_us + step.duration_us
    return [item for item in _of_all(runtime.collectives) if first <= item.begin_us < last]


def _of_all(collectives: Sequence[Collective]) -> list[Collective]:
    return [item for item in collectives if _OF_ALL.search(item.name)]
