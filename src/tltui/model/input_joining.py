"""Joining of the inputs of one job: detection of inputs of the same process, and the facts that each adds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field

from tltui.inputs.debug_directory import DebugLog
from tltui.inputs.forms import FORMS
from tltui.model.input_merging import Home, Merged, homes_of, merge
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Process
from tltui.model.process_evidence import Evidence, Steps, compare, is_of_job
from tltui.model.ref import CompileId
from tltui.text.frozen import frozen, mutable

REST = 2.0
"""Seconds between two times that the processes of a run that goes on are put together."""
ORDER = tuple(FORMS)
"""The forms of input, the one that tells most first."""

Member = tuple[LogModel, Process]


@frozen
class Apart:
    """Two processes with one pid that are not the same one, and why."""

    base: Process
    other: Process
    why: str


State = tuple[object, ...]


def _state(model: LogModel) -> State:
    """Return the state of a log on which a joined process depends; it is rebuilt when the state changes."""
    log = model.log
    return log.path, len(log), log.scanned, log.stamp, log.waiting, len(log.damage), model.started


@mutable
class _Memory:
    """Earlier results, used where a log has become unreadable."""

    evidence: dict[tuple[str, str], Evidence] = field(default_factory=dict)
    """By the keys of two processes."""
    homes: dict[str, dict[CompileId, Home]] = field(default_factory=dict)
    """By the key of a debug directory."""


@frozen
class JoinResult:
    """The joined processes of a run at one time."""

    merged: list[Merged]
    apart: list[Apart]
    states: list[State]
    """Of the logs before the first step."""
    took_s: float


class Joining:
    """The joined processes of the inputs of a run, as far as they are read."""

    def __init__(self) -> None:
        self.merged: list[Merged] = []
        self.apart: list[Apart] = []
        self._part_of: dict[Process, Merged] = {}
        self.is_behind = False
        """Whether logs have grown since their processes were put together: it is to be done again, some time later."""
        self._states: list[State] = []
        self._memory = _Memory()
        self._done = 0.0
        self._took = 0.0

    def join(self, models: Sequence[LogModel], finished: bool) -> Steps[JoinResult | None]:
        """Join equal processes, again when their logs have grown or ended; return the result, None if nothing changed.

        Joining a large run is slow: while it grows, it is repeated only some time after the last time. Batches that are applied
        between two steps are joined the next time.
        """
        states = [_state(model) for model in models]
        if self.is_plain(models) or states == self._states:
            return None
        began = time.monotonic()
        self.is_behind = not finished and bool(self._states) and began - self._done < max(REST, 10 * self._took)
        if self.is_behind:
            return None
        merged, apart = yield from _join(models, self._memory)
        return JoinResult(merged, apart, states, time.monotonic() - began)

    def apply(self, result: JoinResult) -> None:
        """Replace the joined processes by those of the last `join`."""
        self.merged, self.apart = result.merged, result.apart
        self._part_of = {process: merged for merged in self.merged for process in merged.members}
        self._states, self._done, self._took = result.states, time.monotonic(), result.took_s

    @staticmethod
    def is_plain(models: Sequence[LogModel]) -> bool:
        """Whether there are traces alone: each process wrote its own."""
        return all(model.form == ORDER[0] for model in models)

    def joined_process(self, process: Process) -> Process | None:
        """Return the joined process that contains a process of a log; None for one that is not joined."""
        merged = self._part_of.get(process)
        return None if merged is None else merged.model.processes[0]

    def has(self, model: LogModel) -> bool:
        """Whether a process of a log is part of a joined one."""
        return bool(self._part_of) and any(process in self._part_of for process in model.processes)

    def shown(self, processes: Iterable[Process]) -> list[Process]:
        """Return the processes with joined ones in place of their members."""
        separate = [process for process in processes if process not in self._part_of]
        return separate + [process for merged in self.merged for process in merged.model.processes]

    def name_members(self) -> None:
        """Give the members of joined processes the names of these."""
        for member, merged in self._part_of.items():
            joined = merged.model.processes[0]
            member.set_name(joined.number, joined.alone, joined.ranks_differ)

    def home(self, model: LogModel, record: int) -> tuple[Compile, int]:
        """Return the compile in which a record is displayed, and its number in the log of that compile.

        Records that came after the last join still belong to their original log.
        """
        owner = model.owner(record)
        merged = self._part_of.get(owner.process)
        if merged is None:
            return owner, record
        places = merged.places[merged.members.index(owner.process)]
        if record >= len(places):  # it has come since
            return owner, record
        return merged.model.owner(places[record]), places[record]


def _join(models: Sequence[LogModel], memory: _Memory) -> Steps[tuple[list[Merged], list[Apart]]]:
    """Return the equal processes, and those that are only similar. An unreadable text joins nothing."""
    ranked = sorted(models, key=lambda model: ORDER.index(model.form))
    groups: list[list[Member]] = []
    apart: list[Apart] = []
    for model in ranked:
        for process in list(model.processes):
            if not is_of_job(model.form, process):
                continue
            member = (model, process)
            home = None if model.form == ORDER[0] else (yield from _group(member, groups, apart, memory))
            if home is None:
                groups.append([member])
            else:
                home.append(member)
    merged = []
    for group in groups:
        if len(group) > 1:
            merged.append((yield from _merged(group, memory)))
    _fork(merged)
    return merged, apart


def _fork(merged: Sequence[Merged]) -> None:
    """Set the fork parents of joined processes to the joined parents of their bases."""
    wholes = {joined.members[0]: joined.model.processes[0] for joined in merged}
    for base, process in wholes.items():
        process.twin = base.twin
        if base.inherits and base.parent is not None:
            process.parent, process.inherits = wholes.get(base.parent, base.parent), True


def _group(
    member: Member, groups: list[list[Member]], apart: list[Apart], memory: _Memory
) -> Steps[list[Member] | None]:
    """Return the group with the most evidence for a process, if it is unique."""
    _, process = member
    matches: list[tuple[int, list[Member]]] = []
    against: list[Apart] = []
    for group in groups:
        base = group[0][1]
        if base.log is process.log or not (base.pid == process.pid or not process.pid):
            continue
        evidence = yield from _compared(base, process, memory)
        if evidence.is_enough:
            matches.append((len(evidence.equal), group))
        elif evidence.against and process.pid:
            against.append(Apart(base, process, evidence.against))
    if not matches:  # that others have its pid too is nothing to be told of what has found its own
        apart += against
    best = [group for equal, group in matches if equal == max(number for number, _ in matches)]
    readable = [group for group in best if not _is_gone(group[0][0])] or best  # the same log may have been copied here again
    return readable[0] if len(readable) == 1 else None


def _is_gone(model: LogModel) -> bool:
    """Return whether the read bytes of a log are no longer in its file."""
    return bool(model.source.lost_reason)


def _compared(base: Process, other: Process, memory: _Memory) -> Steps[Evidence]:
    keys = base.key, other.key
    try:
        memory.evidence[keys] = yield from compare(base, other)
    except OSError:
        return memory.evidence.get(keys, Evidence())
    return memory.evidence[keys]


def _merged(group: list[Member], memory: _Memory) -> Steps[Merged]:
    homes: dict[CompileId, Home] = {}
    traced = [process for _, process in group if not isinstance(process.log, DebugLog)]  # they come first
    for _, process in group[1:]:
        if isinstance(process.log, DebugLog):
            with suppress(OSError):  # then what was known before still holds
                memory.homes[process.log.key] = yield from homes_of(traced, process.log)
            homes.update(memory.homes.get(process.log.key, {}))
    return (yield from merge(group, homes))
