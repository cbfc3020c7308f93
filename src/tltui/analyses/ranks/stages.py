"""Groups of ranks that do different work by design: the stages of a pipeline, or functions that have nothing in common.

Ranks are compared within a group. A pipeline is known by the files of `torch.distributed.pipelining` in the stacks of its compiles
(torch/distributed/pipelining/stage.py calls the submodule of the stage). There the first compile that not all ranks have tells the
stage: its code object, and the sources of its inputs, which name the layers of the stage where all stages are of one class.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tltui.analyses.ranks.course import Code, Lane, Step
from tltui.analyses.ranks.ranges import ranges

PIPELINING = "/torch/distributed/pipelining/"
"""In the path of a file: the stack of a compile goes through a pipeline."""
_Work = tuple[Code, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Stage:
    """Ranks that do the same work."""

    ranks: str
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
    """Group ranks by their work, the group with the lowest rank first; one group where all do the same, or that is not known. Who
    compiled nothing is in the largest group."""
    busy = [lane for lane in lanes if lane.course.steps]
    if len(busy) < 2:
        return [list(lanes)]
    groups = _by_stage(busy) if all(lane.is_pipelined for lane in busy) else _by_function(busy)
    if len(groups) < 2:
        return [list(lanes)]
    idle = [lane for lane in lanes if not lane.course.steps]
    max(groups, key=len).extend(idle)
    return sorted((sorted(own, key=lambda lane: lane.rank) for own in groups), key=lambda own: own[0].rank)


def stages_of(lanes: Sequence[Lane]) -> tuple[Stage, ...]:
    """Describe the groups; () where there is one."""
    groups = groups_of(lanes)
    if len(groups) < 2:
        return ()
    busy = [lane for lane in lanes if lane.course.steps]
    is_pipeline, common = all(lane.is_pipelined for lane in busy), _common(busy)
    found = []
    for own in groups:
        first = next(lane for lane in own if lane.course.steps)
        step = _telling(first, common) or first.course.steps[0]
        found.append(Stage(ranges(lane.rank for lane in own), len(own), *step.code, f"{first.ref}:{step.id}", is_pipeline))
    return tuple(found)


def _by_stage(lanes: Sequence[Lane]) -> list[list[Lane]]:
    common = _common(lanes)
    groups: dict[Hashable, list[Lane]] = defaultdict(list)
    for lane in lanes:
        step = _telling(lane, common)
        groups[None if step is None else _work(lane, step)].append(lane)
    return list(groups.values())


def _common(lanes: Sequence[Lane]) -> set[_Work]:
    """Collect what all ranks compiled."""
    courses = {id(lane.course): lane for lane in lanes}
    return set.intersection(*({_work(lane, step) for step in lane.course.steps} for lane in courses.values()))


def _telling(lane: Lane, common: set[_Work]) -> Step | None:
    """Find the first compile that not all ranks have."""
    return next((step for step in lane.course.steps if _work(lane, step) not in common), None)


def _work(lane: Lane, step: Step) -> _Work:
    said = lane.course.said.get(step.of("inputs"), "")
    return step.code, frozenset(line.partition(": ")[0] for line in said.split("\n"))


def _by_function(lanes: Sequence[Lane]) -> list[list[Lane]]:
    """Group ranks that have a function in common, over others too. While a job goes on those without one may come to one."""
    if not all(lane.ended for lane in lanes):
        return [list(lanes)]
    groups: list[tuple[set[Code], list[Lane]]] = []
    for lane in lanes:
        codes, members = {step.code for step in lane.course.steps}, [lane]
        apart = []
        for theirs, own in groups:
            if codes.isdisjoint(theirs):
                apart.append((theirs, own))
            else:
                codes, members = codes | theirs, own + members
        groups = [*apart, (codes, members)]
    return [members for _, members in groups]
