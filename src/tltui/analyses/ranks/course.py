"""What a rank did, in the form in which ranks are compared, whatever their number.

A *course* is what a process compiled, in order, and what each compile amounts to, whichever rank it ran on: no time, no pid, no
path, no index of its own device is in it. Ranks with the same course are a *class*. A *lane* is one rank: its course, and its
times. Lanes are made from the nodes of a run (`tltui.analyses.ranks.lanes`), or come from a saved index, which has nothing else
of most ranks; everything that compares ranks reads lanes and no nodes.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tltui.analyses.compare.pairing import code_of
from tltui.model.nodes import Compile, Process

Code = tuple[str, "str | None", "int | None"]
"""Function name, file, line of a code object."""

FACETS = (
    "end", "version", "settings", "breaks", "failure", "collectives", "devices", "recompile", "inputs", "graph", "guards", "code",
    "parity", "cache", "estimates",
)  # fmt: skip
"""What a compile amounts to, a digest each, the more telling first. Of an equal digest everything is equal that a rank can have in
common with another one. `parity`: where generated code does not call the collectives that its schedule has."""
DIGEST = 8
"""Bytes of a digest; b'' where there is nothing of the kind."""
SAID = 1 << 16
EXECUTED = 4096
TOGETHER_US = 1e6
"""An older process that wrote this long after a newer one had begun ran beside it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A compile of a rank."""

    code: Code
    number: int
    """Which compile of this code object on the process, from 1."""
    id: str
    """What the rank calls it: `2/0`, as in addresses."""
    status: str
    """`Status.value`; '' for none."""
    facets: tuple[bytes, ...]
    """In the order of `FACETS`."""

    def of(self, facet: str) -> bytes:
        """Its digest of a facet."""
        return self.facets[FACETS.index(facet)]


@dataclass(frozen=True, eq=False)
class Course:
    """What a process compiled. Equal courses of several ranks are one object."""

    steps: tuple[Step, ...]
    """In the order in which the compiles began. Equal steps of several courses are one object."""
    said: Mapping[bytes, str] = field(default_factory=dict)
    """Digest → what stands behind it, where words can tell: a fact a line (`recompile_limit 16`, `14 nodes`), at most
    `SAID` characters. Of two digests the lines that only one has tell the difference. May be shared with other courses."""
    executed: tuple[int, ...] = ()
    """In which order its graphs ran, as places of `steps`, as far as the log tells that (`graph_execution`); at most `EXECUTED`."""

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal courses, also of other runs."""
        own = hashlib.blake2b(digest_size=16)
        for step in self.steps:
            own.update(repr((step.code, step.number, step.id, step.status)).encode("utf-8", "replace"))
            own.update(b"".join(facet.ljust(DIGEST, b"\0") for facet in step.facets))
        own.update(repr(self.executed).encode())
        return own.digest()

    @cached_property
    def places(self) -> Mapping[tuple[Code, int], int]:
        """Which step compiles a code object for the n-th time."""
        return {(step.code, step.number): place for place, step in enumerate(self.steps)}


@dataclass(frozen=True, slots=True)
class Times:
    """When a rank compiled, and how long that took; by the steps of its course."""

    begin: array[float]
    """'d': microseconds since the epoch, by the clock of the rank; NaN where that is not known."""
    took: array[float]
    """'f': seconds; NaN of what has no end."""
    phases: Mapping[str, array[float]]
    """Name of a timing event → 'f': seconds in it, all of its events of the compile together; NaN where there are none. Empty
    where they are read when somebody asks (`pace.Phases`): reading the events of all ranks costs more than all else."""


@dataclass(frozen=True, slots=True)
class Older:
    """An earlier process of a rank that was started again."""

    pid: int
    ref: str
    """Its address."""
    inside: str
    """The compile in which its log ends, `block1 [1/0]`; '' where it finished what it began."""
    at_once: bool = False
    """Whether it wrote on when the newest one had begun: two processes have one rank, or two jobs one directory."""


@dataclass(frozen=True, slots=True)
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
    """When its last record was written, microseconds since the epoch by its clock; NaN where that is not known."""
    course: Course
    times: Times
    older: tuple[Older, ...] = ()
    inside: tuple[str, ...] = ()
    """Phases that are open in its last compile, or in the newest backward without an end, the outermost first."""
    is_pipelined: bool = False
    """Whether stacks of its log go through `torch.distributed.pipelining`; not known of a rank that only an index tells of."""
    written: float = math.nan
    """When its log was written last, microseconds since the epoch by the clock of the file system; NaN where that is not known."""


def steps_in(process: Process) -> list[tuple[Compile, Code, int]]:
    """The compiles of a process that are steps of its course, in the order in which they began: with their code object, and which
    compile of it they are, from 1. A compile of which nothing names the function is none."""
    codes: dict[int, Code | None] = {}
    counts: dict[Code, int] = {}
    found = []
    for compile_ in process.ordered():
        if not compile_.is_compile:
            continue
        frame = compile_.frame
        if id(frame) not in codes:
            codes[id(frame)] = code_of(frame.compiles[0]) if frame.code[0] is not None else None
        code = codes[id(frame)]
        if code is not None:
            counts[code] = counts.get(code, 0) + 1
            found.append((compile_, code, counts[code]))
    return found


def classes(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Ranks by what they did: those with the same course together, the most ranks first."""
    found: dict[bytes, list[Lane]] = {}
    for lane in lanes:
        found.setdefault(lane.course.digest, []).append(lane)
    return sorted(found.values(), key=lambda own: (-len(own), own[0].rank))


def compile_ref(lane: Lane, step: Step) -> str:
    """The address of a step of a lane."""
    return f"{lane.ref}:{step.id}"


def members(lanes: Sequence[Lane]) -> Iterator[tuple[tuple[Code, int], list[tuple[Lane, int]]]]:
    """Each compile, whichever its id, with the lanes that have it and its place in their courses; in the order of the first lane
    that has it. Lanes of one class are looked at once."""
    found: dict[tuple[Code, int], list[tuple[Lane, int]]] = {}
    for own in classes(lanes):
        for key, place in own[0].course.places.items():
            found.setdefault(key, []).extend((lane, place) for lane in own)
    return iter(found.items())
