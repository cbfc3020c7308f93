"""The processes of a run that several inputs tell of, joined."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tltui.inputs.debug_dir.log import DebugLog
from tltui.model.joining.merge import Home, Merged, merge
from tltui.model.joining.same import Evidence, compare, homes_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Process
from tltui.model.ref import CompileId

REST = 2.0
"""Seconds between two times that the processes of a run that goes on are put together."""
ORDER = ("trace", "text", "debug_dir")
"""The forms of input, the one that tells most first."""

Member = tuple[LogModel, Process]


@dataclass(frozen=True, slots=True)
class Apart:
    """Two processes with one pid that are not the same one, and why."""

    base: Process
    other: Process
    why: str


class Joining:
    """What the inputs of a run tell of the same processes, as far as they are read."""

    def __init__(self) -> None:
        self.merged: list[Merged] = []
        self.apart: list[Apart] = []
        self._part_of: dict[Process, Merged] = {}
        self.is_behind = False
        """Whether logs have grown since their processes were put together: it is to be done again, some time later."""
        self._lengths: list[int] = []
        self._done = 0.0
        self._took = 0.0

    def join(self, models: Sequence[LogModel], finished: bool) -> bool:
        """Put together what is the same process, anew when its logs have grown; whether there was anything to do.

        That takes long where there is much: of a run that goes on it is done only some time after the last time.
        """
        lengths = [len(model.log) for model in models]
        if all(model.form == ORDER[0] for model in models) or lengths == self._lengths:
            return False
        began = time.monotonic()
        self.is_behind = not finished and bool(self._lengths) and began - self._done < max(REST, 10 * self._took)
        if self.is_behind:
            return False
        self.merged, self.apart = _join(models)
        self._part_of = {process: merged for merged in self.merged for process in merged.members}
        self._lengths, self._done = lengths, time.monotonic()
        self._took = self._done - began
        return True

    def has(self, model: LogModel) -> bool:
        """Whether a process of a log is part of a joined one."""
        return bool(self._part_of) and any(process in self._part_of for process in model.processes)

    def shown(self, processes: Iterable[Process]) -> list[Process]:
        """The processes, joined ones in place of what they are made of."""
        kept = [process for process in processes if process not in self._part_of]
        return kept + [process for merged in self.merged for process in merged.model.processes]

    def name_members(self) -> None:
        """What joined processes are made of is called what they are called."""
        for member, merged in self._part_of.items():
            whole = merged.model.processes[0]
            member.named(whole.number, whole.alone, whole.ranks_differ)

    def home(self, model: LogModel, record: int) -> tuple[Compile, int]:
        """The compile that a record of a log is shown with, and its number in the log of that."""
        owner = model.owner(record)
        merged = self._part_of.get(owner.process)
        if merged is None:
            return owner, record
        number = merged.places[merged.members.index(owner.process)][record]
        return merged.model.owner(number), number


def _join(models: Sequence[LogModel]) -> tuple[list[Merged], list[Apart]]:
    """What is the same process, and what only looks like it. A text that cannot be read joins nothing."""
    ranked = sorted(models, key=lambda model: ORDER.index(model.form))
    groups: list[list[Member]] = []
    apart: list[Apart] = []
    for model in ranked:
        for process in model.processes:
            own = (model, process)
            home = None if model.form == ORDER[0] else _group(own, groups, apart)
            if home is None:
                groups.append([own])
            else:
                home.append(own)
    return [_merged(group) for group in groups if len(group) > 1], apart


def _group(own: Member, groups: list[list[Member]], apart: list[Apart]) -> list[Member] | None:
    """The group that a process belongs to: the one that most speaks for, if it is one."""
    _, process = own
    found: list[tuple[int, list[Member]]] = []
    for group in groups:
        base = group[0][1]
        if base.log is process.log or not (base.pid == process.pid or not process.pid):
            continue
        evidence = _compared(base, process)
        if evidence.is_enough:
            found.append((len(evidence.equal), group))
        elif evidence.against and process.pid:
            apart.append(Apart(base, process, evidence.against))
    best = [group for equal, group in found if equal == max(number for number, _ in found)]
    return best[0] if len(best) == 1 else None


def _compared(base: Process, other: Process) -> Evidence:
    try:
        return compare(base, other)
    except OSError:
        return Evidence()


def _merged(group: list[Member]) -> Merged:
    homes: dict[CompileId, Home] = {}
    told = [process for _, process in group if not isinstance(process.log, DebugLog)]  # they come first
    for _, process in group[1:]:
        if isinstance(process.log, DebugLog):
            try:
                homes.update(homes_of(told, process.log))
            except OSError:
                continue
    return merge(group, homes)
