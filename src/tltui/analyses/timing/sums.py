"""Adding up groups of timing events: by name, by compile, by process. One group at a time, nothing else is kept.

Every name gets a *total* (the time during which it was active; nested and parallel ones of one name count once), a *self*
time (without what began inside of it) and its *work* (all of them added up: more than the total where threads run side
by side). The self times of one thread add up to its whole time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from tltui.analyses.timing.phases import KERNELS, PRIORITY, group_of, is_aot, micros_by_phase
from tltui.analyses.timing.spans import Group, Span
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID

_RANK = {group: number for number, group in enumerate(PRIORITY)}


@dataclass(slots=True, eq=False)
class NameSum:
    """All events of one name. Microseconds."""

    rank: int
    """Its phase, as an index of `PRIORITY`."""
    count: int = 0
    total: float = 0.0
    own: float = 0.0
    work: float = 0.0
    longest: float = -1.0
    record: int = -1
    """Of the begin of the longest one."""
    owner: Compile | None = None
    """The compile with the longest one."""
    ref: str = ""
    """Its address, where only that is known any more."""

    def add(self, other: NameSum) -> None:
        """Take over what another process took."""
        self.count += other.count
        self.total += other.total
        self.own += other.own
        self.work += other.work
        if other.longest > self.longest:
            self.longest, self.record, self.owner, self.ref = other.longest, other.record, other.owner, other.ref


@dataclass(slots=True, eq=False)
class OwnerSum:
    """All groups of one compile. Microseconds."""

    owner: Compile
    start: float = math.inf
    end: float = -math.inf
    wall: float = 0.0
    phases: list[float] = field(default_factory=lambda: [0.0] * len(PRIORITY))
    aot: bool = False
    open: list[Span] = field(default_factory=list)
    """What began and was not seen to end, outermost first."""
    last: float = -math.inf
    """Its last event."""

    def micros(self) -> dict[str, float]:
        """By phase."""
        return dict(zip(PRIORITY, self.phases, strict=True))


@dataclass(slots=True, eq=False)
class ProcessSum:
    """All groups of one process."""

    process: Process
    names: dict[str, NameSum] = field(default_factory=dict)
    """Of compiles, and of what ran without a compile id where there is no compile to wait for it."""
    beside: dict[str, NameSum] = field(default_factory=dict)
    """Of threads beside a compile, which waits for them: kernels that workers compile."""
    walls: list[tuple[float, float, Compile]] = field(default_factory=list)
    """When something was compiled."""


class Sums:
    """What `add` was given, added up."""

    def __init__(self) -> None:
        self.owners: dict[int, OwnerSum] = {}
        self.processes: dict[int, ProcessSum] = {}

    def add(self, group: Group) -> None:
        """Add one group."""
        process = self.processes.get(id(group.owner.process))
        if process is None:
            process = self.processes[id(group.owner.process)] = ProcessSum(group.owner.process)
        if is_beside(group):
            add_names(group, process.beside)
            return
        owner = self.owners.get(id(group.owner))
        if owner is None:
            owner = self.owners[id(group.owner)] = OwnerSum(group.owner)
        _add_owner(owner, group, add_names(group, process.names, owner.phases))
        process.walls.append((group.start, group.end, group.owner))


def is_beside(group: Group) -> bool:
    """Whether it is work of threads that a compile waits for: no compile id, and nothing but kernels."""
    return group.owner.id == NO_ID and all(group_of(span[3]) == KERNELS for span in group.spans)


def _add_owner(owner: OwnerSum, group: Group, wall: float) -> None:
    owner.wall += wall
    end = group.end
    owner.start, owner.end = min(owner.start, group.start), max(owner.end, end)
    owner.last = max(owner.last, end)
    if not owner.aot:
        owner.aot = any(is_aot(span[3]) for span in group.spans)
    if group.open:
        owner.open += [span for span in group.spans if span[1] in group.open]


def add_names(group: Group, names: dict[str, NameSum], phases: list[float] | None = None) -> float:
    """Add the spans of a group to the sums of their names, and to those of the phases; microseconds of all together."""
    spans = group.spans
    found: list[NameSum] = []
    reach: dict[str, float] = {}
    nesting = Nesting()
    for start, record, end, name in spans:
        mine = names.get(name)
        if mine is None:
            mine = names[name] = NameSum(_RANK[group_of(name)])
        length = end - start
        nesting.add(start, end, mine.rank)
        found.append(mine)
        mine.count += 1
        mine.work += length
        if length > mine.longest:
            mine.longest, mine.record, mine.owner = length, record, group.owner
        before = reach.get(name, start)
        if start >= before:
            mine.total += length
            reach[name] = end
        elif end > before:
            mine.total += end - before
            reach[name] = end
    for mine, own in zip(found, nesting.owns, strict=True):
        mine.own += own
    if phases is not None:
        _add_phases(spans, phases, nesting)
    return nesting.wall


class Nesting:
    """Which span lies in which, for spans that come sorted. What threads do side by side may overlap: the parent is the
    innermost span that holds all of a span.
    """

    __slots__ = ("depths", "owns", "ranks", "stack", "tangled", "upto", "wall", "wall_upto")

    def __init__(self) -> None:
        self.stack: list[tuple[float, int]] = []
        self.depths: list[int] = []
        self.owns: list[float] = []
        """Self times."""
        self.upto: list[float] = []
        """How far the children of each cover it."""
        self.ranks: list[int] = []
        """The most specific phase on the way from the outermost span to each."""
        self.wall = 0.0
        self.wall_upto = -math.inf
        self.tangled = False
        """Whether some overlap without one holding the other."""

    def add(self, start: float, end: float, rank: int = 0) -> None:
        """The next span."""
        stack, number = self.stack, len(self.owns)
        while stack and stack[-1][0] <= start and (stack[-1][0] < start or end > start):
            stack.pop()
        parent = -1
        if stack:
            parent = stack[-1][1] if stack[-1][0] >= end else self._search(end)
        if parent >= 0:
            before = self.upto[parent]
            if start >= before:
                self.owns[parent] -= end - start
                self.upto[parent] = end
            else:
                self.tangled = True
                if end > before:
                    self.owns[parent] -= end - before
                    self.upto[parent] = end
            above = self.ranks[parent]
            self.ranks.append(above if above < rank else rank)
            self.depths.append(self.depths[parent] + 1)
        else:
            self.ranks.append(rank)
            self.depths.append(0)
            if end > self.wall_upto:
                self.wall += end - (start if start > self.wall_upto else self.wall_upto)
                self.wall_upto = end
        stack.append((end, number))
        self.owns.append(end - start)
        self.upto.append(start)

    def _search(self, end: float) -> int:
        """The innermost span that reaches as far as `end`, -1 for none."""
        self.tangled = True
        return next((number for reach, number in reversed(self.stack) if reach >= end), -1)


def _add_phases(spans: list[Span], phases: list[float], nesting: Nesting) -> None:
    """An instant belongs to the most specific phase that covers it: without threads side by side that is the most
    specific one on the way from a span to the outermost, with them the intervals must be merged.
    """
    if not nesting.tangled:
        for rank, own in zip(nesting.ranks, nesting.owns, strict=True):
            phases[rank] += own
        return
    for name, micros in micros_by_phase((name, start, end) for start, _, end, name in spans).items():
        phases[_RANK[name]] += micros


def nested(spans: list[Span]) -> Iterator[tuple[Span, int, float]]:
    """(span, depth, self time) in the order of the spans."""
    nesting = Nesting()
    for start, _, end, _ in spans:
        nesting.add(start, end)
    return zip(spans, nesting.depths, nesting.owns, strict=True)
