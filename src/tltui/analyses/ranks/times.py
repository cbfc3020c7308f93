"""When a process compiled and how long that took, by the steps of its course; and of what phases that consisted.

Begin and seconds come from the metrics that the scan kept: no payload is read for them, but the events of a compile that has no
end. The events of the others are read when somebody asks for phases.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from tltui.analyses.hang.open_work import begun
from tltui.analyses.parts import part, shared
from tltui.analyses.ranks.course import FACETS, Course, Lane, Step, Times, steps_in
from tltui.analyses.records import Reader
from tltui.analyses.timing.spans import Seen, read_groups
from tltui.analyses.timing.sums import Sums
from tltui.model.nodes import Compile, Process
from tltui.model.run import Run

NOTHING: Mapping[str, float] = {}
NO_FACETS = (b"",) * len(FACETS)


@part
def times_of(process: Process, reader: Reader) -> Times:
    """The times of a process, without phases."""
    begin, took = array("d"), array("f")
    for compile_, _, _ in steps_in(process):
        start, seconds = compile_.start_us, compile_.duration_s
        if not compile_.is_closed:
            open_, _ = begun(compile_)
            start, seconds = open_[0].since if open_ else start, None
        if compile_.facts.backward_unfinished:
            seconds = None
        begin.append(math.nan if start is None else start)
        took.append(math.nan if seconds is None else seconds)
    return Times(begin, took, {})


def bare_course(process: Process) -> Course:
    """What a process compiled without what that amounts to: enough for times, and no payload is read. Equal ones are one object."""
    return _bare(process).course


class _Held:
    """Something that is kept once for all who have it: of each of them it takes no room."""

    __slots__ = ("course",)

    def __init__(self, course: Course) -> None:
        self.course = course


@part
def _bare(process: Process, reader: Reader) -> _Held:
    steps = tuple(
        (code, number, str(process.named_id(compile_.id)), str(compile_.status or ""))
        for compile_, code, number in steps_in(process)
    )
    return shared(process, bare_course, steps, lambda: _Held(Course(tuple(Step(*own, NO_FACETS) for own in steps))))


@part
def phases_of(compile_: Compile, reader: Reader) -> dict[str, float]:
    """Name of a timing event → seconds during which it was active, forward and backward compile together. What has no end in the
    log is left out: nobody knows what it took."""
    sums = Sums()
    for found in read_groups((compile_,), Seen()):
        for group in found:
            if not group.open:
                sums.add(group)
    own = sums.processes.get(id(compile_.process))
    return {name: total.total / 1e6 for name, total in own.names.items()} if own is not None else {}


class PhasesOf:
    """The phases of the compiles of a run: from its logs where they are there, else from the lane."""

    def __init__(self, run: Run) -> None:
        self._processes = {process.key: process for process in run.processes()}
        self._compiles: dict[str, list[Compile]] = {}

    def __call__(self, lane: Lane, place: int) -> Mapping[str, float]:
        """Those of a step of a lane; {} where that is not known."""
        if lane.times.phases:  # an index has them, and may have no events
            return {name: own[place] for name, own in lane.times.phases.items() if not math.isnan(own[place])}
        process = self._processes.get(lane.process)
        if process is not None:
            if lane.process not in self._compiles:
                self._compiles[lane.process] = [compile_ for compile_, _, _ in steps_in(process)]
            compiles = self._compiles[lane.process]
            return phases_of(compiles[place]) if place < len(compiles) else NOTHING
        return NOTHING
