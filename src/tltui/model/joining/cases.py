"""The processes of a run that several inputs tell of, joined."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tltui.inputs.debug_dir.log import DebugLog
from tltui.inputs.table import FORMS
from tltui.model.joining.merge import Home, Merged, merge
from tltui.model.joining.same import Evidence, compare, homes_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Process
from tltui.model.ref import CompileId
from tltui.model.writers_of_text import is_of_job

REST = 2.0
"""Seconds between two times that the processes of a run that goes on are put together."""
ORDER = tuple(FORMS)
"""The forms of input, the one that tells most first."""

Member = tuple[LogModel, Process]


@dataclass(frozen=True, slots=True)
class Apart:
    """Two processes with one pid that are not the same one, and why."""

    base: Process
    other: Process
    why: str


State = tuple[object, ...]


def _state(model: LogModel) -> State:
    """What a joined process has of one of its logs: it is put together anew when that is not so any more."""
    log = model.log
    return log.path, len(log), log.scanned, log.stamp, log.waiting, len(log.damage), model.started


@dataclass(slots=True)
class _Memory:
    """What was found out before: it holds where a log is out of reach by now."""

    evidence: dict[tuple[str, str], Evidence] = field(default_factory=dict)
    """By the keys of two processes."""
    homes: dict[str, dict[CompileId, Home]] = field(default_factory=dict)
    """By the key of a debug directory."""


class Joining:
    """What the inputs of a run tell of the same processes, as far as they are read."""

    def __init__(self) -> None:
        self.merged: list[Merged] = []
        self.apart: list[Apart] = []
        self._part_of: dict[Process, Merged] = {}
        self.is_behind = False
        """Whether logs have grown since their processes were put together: it is to be done again, some time later."""
        self._seen: list[State] = []
        self._memory = _Memory()
        self._done = 0.0
        self._took = 0.0

    def join(self, models: Sequence[LogModel], finished: bool) -> bool:
        """Put together what is the same process, anew when its logs have grown or ended; whether there was anything to do.

        That takes long where there is much: of a run that goes on it is done only some time after the last time.
        """
        seen = [_state(model) for model in models]
        if self.is_plain(models) or seen == self._seen:
            return False
        began = time.monotonic()
        self.is_behind = not finished and bool(self._seen) and began - self._done < max(REST, 10 * self._took)
        if self.is_behind:
            return False
        self.merged, self.apart = _join(models, self._memory)
        self._part_of = {process: merged for merged in self.merged for process in merged.members}
        self._seen, self._done = seen, time.monotonic()
        self._took = self._done - began
        return True

    @staticmethod
    def is_plain(models: Sequence[LogModel]) -> bool:
        """Whether there are traces alone: each process wrote its own."""
        return all(model.form == ORDER[0] for model in models)

    def whole(self, process: Process) -> Process | None:
        """The joined process that one of a log is part of; None for one that stands for itself."""
        merged = self._part_of.get(process)
        return None if merged is None else merged.model.processes[0]

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
        """The compile that a record of a log is shown with, and its number in the log of that. What has come since processes were
        put together is still that of its own log."""
        owner = model.owner(record)
        merged = self._part_of.get(owner.process)
        if merged is None:
            return owner, record
        places = merged.places[merged.members.index(owner.process)]
        if record >= len(places):  # it has come since
            return owner, record
        return merged.model.owner(places[record]), places[record]


def _join(models: Sequence[LogModel], memory: _Memory) -> tuple[list[Merged], list[Apart]]:
    """What is the same process, and what only looks like it. A text that could never be read joins nothing."""
    ranked = sorted(models, key=lambda model: ORDER.index(model.form))
    groups: list[list[Member]] = []
    apart: list[Apart] = []
    for model in ranked:
        for process in model.processes:
            if not is_of_job(model.form, process):
                continue
            own = (model, process)
            home = None if model.form == ORDER[0] else _group(own, groups, apart, memory)
            if home is None:
                groups.append([own])
            else:
                home.append(own)
    merged = [_merged(group, memory) for group in groups if len(group) > 1]
    _fork(merged)
    return merged, apart


def _fork(merged: Sequence[Merged]) -> None:
    """Processes that wrote into one trace: a joined one was forked from the one that its base was forked from."""
    wholes = {own.members[0]: own.model.processes[0] for own in merged}
    for base, whole in wholes.items():
        whole.twin = base.twin
        if base.inherits and base.parent is not None:
            whole.parent, whole.inherits = wholes.get(base.parent, base.parent), True


def _group(own: Member, groups: list[list[Member]], apart: list[Apart], memory: _Memory) -> list[Member] | None:
    """The group that a process belongs to: the one that most speaks for, if it is one."""
    _, process = own
    found: list[tuple[int, list[Member]]] = []
    against: list[Apart] = []
    for group in groups:
        base = group[0][1]
        if base.log is process.log or not (base.pid == process.pid or not process.pid):
            continue
        evidence = _compared(base, process, memory)
        if evidence.is_enough:
            found.append((len(evidence.equal), group))
        elif evidence.against and process.pid:
            against.append(Apart(base, process, evidence.against))
    if not found:  # that others have its pid too is nothing to be told of what has found its own
        apart += against
    best = [group for equal, group in found if equal == max(number for number, _ in found)]
    left = [group for group in best if not _is_gone(group[0][0])] or best  # the same log may have been copied here again
    return left[0] if len(left) == 1 else None


def _is_gone(model: LogModel) -> bool:
    """Whether what was read of a log is not in its file any more."""
    return bool(model.source.gone)


def _compared(base: Process, other: Process, memory: _Memory) -> Evidence:
    keys = base.key, other.key
    try:
        memory.evidence[keys] = compare(base, other)
    except OSError:
        return memory.evidence.get(keys, Evidence())
    return memory.evidence[keys]


def _merged(group: list[Member], memory: _Memory) -> Merged:
    homes: dict[CompileId, Home] = {}
    told = [process for _, process in group if not isinstance(process.log, DebugLog)]  # they come first
    for _, process in group[1:]:
        if isinstance(process.log, DebugLog):
            with suppress(OSError):  # then what was known before still holds
                memory.homes[process.log.key] = homes_of(told, process.log)
            homes.update(memory.homes.get(process.log.key, {}))
    return merge(group, homes)
