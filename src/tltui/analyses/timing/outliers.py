"""Ranks whose compiles together took longer than those of the others, and in what."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tltui.analyses.ranks.pace import MORE_S, is_minority, stands_out
from tltui.analyses.ranks.slowness import QUARTILE, SIGMAS, explained_by
from tltui.analyses.timing.blocks import together
from tltui.analyses.timing.phases import ORDER
from tltui.analyses.timing.results import Outlier, ProcessTime
from tltui.model.ref import Ref

NO_NAMES: Mapping[str, Mapping[str, float]] = {}


def outliers_of(processes: Sequence[ProcessTime], names: Mapping[str, Mapping[str, float]] = NO_NAMES) -> tuple[Outlier, ...]:
    """Ranks of which all compiles together took longer than the ranks differ anyway, the slowest first: more than a second and four
    standard deviations above the median, or by the rule for one compile (`analyses/ranks/pace.py`). Who took less than the others
    may have been killed: that is no outlier. `names`: address of a process -> name of a timing event -> seconds in it."""
    by_rank: dict[int, list[ProcessTime]] = defaultdict(list)
    for process in processes:
        if process.rank is not None:
            by_rank[process.rank].append(process)
    seconds = {rank: sum(p.seconds for p in own) for rank, own in by_rank.items()}
    if len(seconds) < 2:
        return ()
    known = sorted(seconds.values())
    typical = statistics.median_low(known)
    usual = (known[int(0.75 * (len(known) - 1))] - typical) / QUARTILE
    bound = typical + max(MORE_S, SIGMAS * usual) if len(known) > 2 else float("inf")
    slow = [rank for rank, own in seconds.items() if stands_out(own, typical) or own > bound]
    if not slow or not is_minority(len(slow), len(seconds)):
        return ()
    phases = {rank: {p.name: p.seconds for p in together(q.phases for q in own)} for rank, own in by_rank.items()}
    medians = {name: statistics.median_low(phases[rank].get(name, 0.0) for rank in seconds) for name in ORDER}
    events = {rank: _together(own, names) for rank, own in by_rank.items()}
    others = [events[rank] for rank in seconds if rank not in slow]
    found = []
    for rank in sorted(slow, key=lambda rank: -seconds[rank]):
        apart = {name: phases[rank].get(name, 0.0) - medians[name] for name in ORDER}
        name = max(apart, key=apart.__getitem__)
        phase = name if apart[name] > 0 else None
        event, event_s, usual_s = explained_by(events[rank], others)
        found.append(Outlier(
            str(Ref(rank)), rank, seconds[rank], typical, phase, apart[name] if phase else 0.0, event, event_s - usual_s
        ))  # fmt: skip
    return tuple(found)


def _together(processes: Sequence[ProcessTime], names: Mapping[str, Mapping[str, float]]) -> Mapping[str, float]:
    found: Counter[str] = Counter()
    for process in processes:
        found.update(names.get(process.ref, {}))
    return found
