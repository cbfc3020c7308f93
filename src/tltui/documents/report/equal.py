"""Compiles that are the same on several ranks: one of them stands for all."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tltui.analyses.ranks.course import steps_in
from tltui.analyses.ranks.courses import course_of
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.ref import NO_ID
from tltui.model.run import Run


@dataclass(frozen=True, slots=True)
class Equal:
    """Compiles of a run, equal ones of several ranks once."""

    compiles: tuple[Compile, ...]
    """The first of each, in the order of the tree, records without an id too."""
    standing: dict[str, str]
    """Address of a compile or frame → that of the one that stands for it; those that stand for themselves are not in it."""
    refs: dict[str, tuple[str, ...]]
    """Address of one that stands for others → those, its own first."""


def equal_compiles(run: Run) -> Equal:
    """The compiles of a run. Equal are those that nothing but the rank tells apart (`tltui.analyses.ranks.course`): of the same
    code object, compiled as often before, to the same graphs, guards and code, with the same end. Of a run of one process nothing
    is read for it."""
    processes = list(run.processes())
    if len(processes) < 2:
        return Equal(tuple(own for process in processes for own in _kept(process, {})), {}, {})
    firsts: dict[Hashable, Compile] = {}
    members: dict[str, list[str]] = {}
    standing: dict[str, str] = {}
    frames: dict[str, Frame] = {}
    for process in processes:
        steps = {step.id: step for step in course_of(process).steps}
        for compile_, _, _ in steps_in(process):
            step = steps.get(str(process.named_id(compile_.id)))
            if step is None:
                continue
            first = firsts.setdefault((step.code, step.number, step.status, step.facets), compile_)
            members.setdefault(str(first.ref), []).append(str(compile_.ref))
            if first is not compile_:
                standing[str(compile_.ref)] = str(first.ref)
                frames.setdefault(str(compile_.frame.ref), first.frame)
    whole = {ref: frame for ref, frame in frames.items() if ref != str(frame.ref)}
    left = tuple(own for process in processes for own in _kept(process, standing))
    kept = {str(own.frame.ref) for own in left}
    standing.update((ref, str(frame.ref)) for ref, frame in whole.items() if ref not in kept)
    return Equal(left, standing, {ref: tuple(own) for ref, own in members.items() if len(own) > 1})


def _kept(process: Process, standing: dict[str, str]) -> list[Compile]:
    """What of a process nothing stands for, records without an id last; nothing where all of its compiles are equal to others."""
    own = [compile_ for frame in process.frames.values() for compile_ in frame.compiles]
    own.sort(key=lambda compile_: compile_.id == NO_ID)
    left = [compile_ for compile_ in own if str(compile_.ref) not in standing]
    return left if any(compile_.is_compile for compile_ in left) or not any(compile_.is_compile for compile_ in own) else []
