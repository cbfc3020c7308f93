"""Course of a rank: its compiles as comparable digests, and pipeline stages by design."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from tltui.model.nodes import Compile, Process
from tltui.model.ref import Ranks
from tltui.questions.compare.pairing import code_of
from tltui.text.frozen import frozen

Code = tuple[str, "str | None", "int | None"]
"""Function name, file, line of a code object."""

FACETS = (
    "end", "version", "settings", "breaks", "failure", "collectives", "devices", "recompile", "inputs", "graph", "guards", "code",
    "parity", "cache", "estimates",
)  # fmt: skip
"""Facets of a compile, each with a digest, leading first.

Equal digests mean equality in everything that ranks can share. `parity`: generated code does not call the collectives of
its schedule.
"""
DIGEST = 8
"""Bytes of a digest; b'' for an absent facet."""
TEXT_LIMIT = 1 << 16
EXECUTED = 4096
TOGETHER_US = 1e6
"""Overlap in microseconds from which an older process ran concurrently with a newer one."""


@frozen
class Step:
    """A compile of a rank."""

    code: Code
    number: int
    """Which compile of this code object on the process, from 1."""
    id: str
    """The id on this rank: `2/0`, as in addresses."""
    status: str
    """`Status.value`; '' for none."""
    facets: tuple[bytes, ...]
    """One digest for each of `FACETS`."""

    def of(self, facet: str) -> bytes:
        """Return the digest of a facet."""
        return self.facets[FACETS.index(facet)]


@dataclass(frozen=True, eq=False)
class Course:
    """Compiles of a process. Equal courses of several ranks are one object."""

    steps: tuple[Step, ...]
    """Steps by begin. Equal steps of several courses are one object."""
    texts: Mapping[bytes, str] = field(default_factory=dict)
    """Digest → what stands behind it, where words can tell: a fact a line (`recompile_limit 16`, `14 nodes`), at most
    `TEXT_LIMIT` characters. Of two digests the lines that only one has tell the difference. May be shared with other courses."""
    executed: tuple[int, ...] = ()
    """Execution order of its graphs as places of `steps`, as far as it is logged (`graph_execution`); at most `EXECUTED`."""

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal courses, also of other runs."""
        hasher = hashlib.blake2b(digest_size=16)
        for step in self.steps:
            hasher.update(repr((step.code, step.number, step.id, step.status)).encode("utf-8", "replace"))
            hasher.update(b"".join(facet.ljust(DIGEST, b"\0") for facet in step.facets))
        hasher.update(repr(self.executed).encode())
        return hasher.digest()

    @cached_property
    def places(self) -> Mapping[tuple[Code, int], int]:
        """Map code object and occurrence to the index of the step."""
        return {(step.code, step.number): place for place, step in enumerate(self.steps)}


@frozen
class Times:
    """Begins and durations of a rank's compiles, by the steps of its course."""

    begin: array[float]
    """'d': microseconds since the epoch, by the clock of the rank; NaN where that is not known."""
    took: array[float]
    """'f': seconds; NaN of what has no end."""
    phases: Mapping[str, array[float]]
    """Name of a timing event → 'f': seconds in it, all of its events of the compile together; NaN where there are none. Empty
    where they are read when somebody asks (`pace.Phases`): reading the events of all ranks costs more than all else."""


@frozen
class Older:
    """An earlier process of a rank that was started again."""

    pid: int
    ref: str
    """Its address."""
    inside: str
    """The compile in which its log ends, `block1 [1/0]`; '' where it finished what it began."""
    at_once: bool = False
    """Whether it wrote on when the newest one had begun: two processes have one rank, or two jobs one directory."""


@frozen
class Lane:
    """A rank: its newest process, of the newest launch."""

    rank: int
    process: str
    """`Process.key`."""
    ref: str
    """The address of the process in this run, `7` or `7.2`: with the id of a step that of a compile, `7:2/0`."""
    host: str
    """'' where that is not known."""
    pid: int
    ended: bool
    """Whether its log has ended: nothing more will come."""
    is_traced: bool
    """Whether a trace tells of it: only that tells what became of a compile."""
    last: float
    """The time of its last record, in microseconds since the epoch by its clock; NaN if unknown."""
    course: Course
    times: Times
    older: tuple[Older, ...] = ()
    inside: tuple[str, ...] = ()
    """Phases that are open in its last compile, or in the newest backward without an end, the outermost first."""
    is_pipelined: bool = False
    """Whether stacks of its log go through `torch.distributed.pipelining`; not known of a rank that only an index tells of."""
    written: float = math.nan
    """The last write of its log, in microseconds since the epoch by the clock of the file system; NaN if unknown."""


def steps_in(process: Process) -> list[tuple[Compile, Code, int]]:
    """Return the steps of a process's course by start time: compile, code object, occurrence from 1.

    Compiles without a named function are excluded.
    """
    codes: dict[int, Code | None] = {}
    counts: dict[Code, int] = {}
    results = []
    for compile_ in process.ordered():
        if not compile_.is_compile:
            continue
        frame = compile_.frame
        if id(frame) not in codes:
            codes[id(frame)] = code_of(frame.compiles[0]) if frame.code[0] is not None else None
        code = codes[id(frame)]
        if code is not None:
            counts[code] = counts.get(code, 0) + 1
            results.append((compile_, code, counts[code]))
    return results


def classes(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Group ranks with the same course, the largest group first."""
    groups: dict[bytes, list[Lane]] = {}
    for lane in lanes:
        groups.setdefault(lane.course.digest, []).append(lane)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0].rank))


def compile_ref(lane: Lane, step: Step) -> str:
    """Return the address of a step of a lane."""
    return f"{lane.ref}:{step.id}"


def members(lanes: Sequence[Lane]) -> Iterator[tuple[tuple[Code, int], list[tuple[Lane, int]]]]:
    """Yield each compile, whatever its id, with its lanes and positions; in the order of first occurrence.

    Lanes of one class are examined once.
    """
    occurrences: dict[tuple[Code, int], list[tuple[Lane, int]]] = {}
    for class_ in classes(lanes):
        for key, place in class_[0].course.places.items():
            occurrences.setdefault(key, []).extend((lane, place) for lane in class_)
    return iter(occurrences.items())


LINE = 240
"""Maximum number of characters per line."""


class Fact(NamedTuple):
    """Rank-independent value of a facet."""

    digest: bytes
    text: str
    """A fact a line; '' where words can't tell it."""


NONE = Fact(b"", "")
CACHED_FACTS = 4096
"""Facts that are not made again: most compiles have the same."""


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Return the digest of parts in their order."""
    return framed_digest(map(framed, parts))


def framed(part: bytes) -> bytes:
    """Return a part with its length before it, so that two parts never have the digest of one."""
    return b"%d\n%b" % (len(part), part)


def framed_digest(parts: Iterable[bytes]) -> bytes:
    """Return the digest of parts that are `framed` already."""
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST).digest()


@lru_cache(maxsize=CACHED_FACTS)
def plain(*lines: str) -> Fact:
    """Return a fact of lines that most compiles share, cached."""
    return fact(lines)


def fact(lines: Sequence[str], parts: Iterable[bytes] | None = None) -> Fact:
    """Return a fact of lines; `parts`, if given, determine its digest. `NONE` without lines."""
    if parts is None:
        if not lines:
            return NONE
        parts = (line.encode("utf-8", "replace") for line in lines)
    return Fact(digest_of(parts), "\n".join(line[:LINE] for line in lines)[:TEXT_LIMIT])


PIPELINING = "/torch/distributed/pipelining/"
"""Part of the path of a file in the stacks of compiles that go through a pipeline."""
_Work = tuple[Code, frozenset[str]]


@frozen
class Stage:
    """Ranks that do the same work."""

    ranks: Ranks
    """As ranges."""
    count: int
    function: str
    """The first function that these ranks compiled and not all ranks did."""
    file: str | None
    line: int | None
    ref: str
    """The address of that compile on the first of them."""
    is_pipeline: bool
    """Whether it is a stage of a pipeline; else the ranks compiled functions that no other rank has."""


def groups_of(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Group ranks by their work, the group with the lowest rank first.

    One group if all do the same or if it is unknown. Ranks without compiles join the largest group.
    """
    busy = [lane for lane in lanes if lane.course.steps]
    if len(busy) < 2:
        return [list(lanes)]
    groups = _by_stage(busy) if all(lane.is_pipelined for lane in busy) else _by_function(busy)
    if len(groups) < 2:
        return [list(lanes)]
    idle = [lane for lane in lanes if not lane.course.steps]
    max(groups, key=len).extend(idle)
    return sorted((sorted(group, key=lambda lane: lane.rank) for group in groups), key=lambda group: group[0].rank)


def stages_of(lanes: Sequence[Lane]) -> tuple[Stage, ...]:
    """Describe the groups; () if there is only one."""
    groups = groups_of(lanes)
    if len(groups) < 2:
        return ()
    busy = [lane for lane in lanes if lane.course.steps]
    is_pipeline, common = all(lane.is_pipelined for lane in busy), _common(busy)
    stages = []
    for group in groups:
        first = next(lane for lane in group if lane.course.steps)
        step = _distinguishing_step(first, common) or first.course.steps[0]
        stages.append(Stage(Ranks(lane.rank for lane in group), len(group), *step.code, f"{first.ref}:{step.id}", is_pipeline))
    return tuple(stages)


def _by_stage(lanes: Sequence[Lane]) -> list[list[Lane]]:
    common = _common(lanes)
    groups: dict[Hashable, list[Lane]] = defaultdict(list)
    for lane in lanes:
        step = _distinguishing_step(lane, common)
        groups[None if step is None else _work(lane, step)].append(lane)
    return list(groups.values())


def _common(lanes: Sequence[Lane]) -> set[_Work]:
    """Collect the compiles that all ranks share."""
    courses = {id(lane.course): lane for lane in lanes}
    return set.intersection(*({_work(lane, step) for step in lane.course.steps} for lane in courses.values()))


def _distinguishing_step(lane: Lane, common: set[_Work]) -> Step | None:
    """Find the first compile that not all ranks have."""
    return next((step for step in lane.course.steps if _work(lane, step) not in common), None)


def _work(lane: Lane, step: Step) -> _Work:
    inputs = lane.course.texts.get(step.of("inputs"), "")
    return step.code, frozenset(line.partition(": ")[0] for line in inputs.split("\n"))


def _by_function(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Group ranks that have a function in common, over others too. While a job goes on those without one may come to one."""
    if not all(lane.ended for lane in lanes):
        return [list(lanes)]
    groups: list[tuple[set[Code], list[Lane]]] = []
    for lane in lanes:
        codes, members = {step.code for step in lane.course.steps}, [lane]
        apart = []
        for theirs, their_lanes in groups:
            if codes.isdisjoint(theirs):
                apart.append((theirs, their_lanes))
            else:
                codes, members = codes | theirs, their_lanes + members
        groups = [*apart, (codes, members)]
    return [members for _, members in groups]
