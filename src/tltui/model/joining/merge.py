"""The records of one process from several logs → one batch, in the order in which they were written.

The *base* is the log that tells most: the trace where there is one. What another log tells again is left out: a record of the same
kind, of the same compile and attempt, counted from the first. It still says where the records around it belong: those behind it go
behind its twin.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from tltui.model.log_model import LogModel
from tltui.model.nodes import Process
from tltui.model.ref import CompileId
from tltui.trace.batch import Batch, Context, Kind, Named
from tltui.trace.envelope import NOTABLE
from tltui.trace.joined import NOWHERE, JoinedLog
from tltui.trace.log import Log

Place = tuple[int, int]
"""The number of a member, and a record of its log."""
Key = tuple[CompileId, int, Kind]
"""What twins share: compile, attempt, kind."""


@dataclass(frozen=True, slots=True)
class Home:
    """The compile that a unit of a debug directory belongs to."""

    compile: CompileId
    attempt: int
    code: Place
    """Its generated code, which the files of the unit stand beside."""


@dataclass(frozen=True, slots=True)
class Twins:
    """Two records of which one says what the other says: the second one is left out."""

    kept: Place
    left: Place


@dataclass(slots=True)
class Merged:
    """A process, put together."""

    model: LogModel
    members: tuple[Process, ...]
    """The base first."""
    twins: list[Twins] = field(default_factory=list)

    @property
    def places(self) -> Sequence[Sequence[int]]:
        """For each member: record there → record of the joined log."""
        log = self.model.log
        assert isinstance(log, JoinedLog)
        return log.places


def merge(members: Sequence[tuple[LogModel, Process]], homes: dict[CompileId, Home]) -> Merged:
    """One process of several; the base first. `homes`: unit of a debug directory → its compile."""
    base_model, base = members[0]
    log = JoinedLog([process.log for _, process in members])
    origins = frozenset[str]().union(*(process.origins for _, process in members))
    model = LogModel(
        log, _first(process.rank_by_name for _, process in members), base.launch, base.started, base.parts, base.is_dated,
        base_model.form, origins,
    )  # fmt: skip
    merged = Merged(model, tuple(process for _, process in members))
    rank = _first(process.stated_rank for _, process in members)
    order = _order(merged, homes)
    batch, places = _batch(merged, order, homes, Context(base.pid, rank))
    log.take(batch, places)
    model.apply(batch)
    for process in model.processes:
        process.strings.update(base.strings)
    return merged


def _first(numbers: Iterator[int | None]) -> int | None:
    return next((number for number in numbers if number is not None), None)


def records_of(process: Process) -> Sequence[int]:
    """All records of a process, in file order."""
    if process.records == len(process.log):
        return range(len(process.log))
    return sorted(chain.from_iterable(compile_.records for compile_ in process.compiles.values()))


def _key(log: Log, record: int, homes: dict[CompileId, Home]) -> Key:
    context = log.context(record)
    own = CompileId(context.autograd, context.frame, context.compile, name=context.name)
    home = homes.get(own)
    if home is not None:
        return home.compile.of(0), home.attempt, log.kind(record)._replace(encoding="")
    return own, context.attempt or 0, log.kind(record)._replace(encoding="")


def _nth(code: Place, merged: Merged, known: dict[Key, list[Place]], homes: dict[CompileId, Home]) -> int:
    """Which of the lowerings of its compile a unit is, from 0: that of this generated code."""
    member, record = code
    codes = known[_key(merged.members[member].log, record, homes)]
    return codes.index(code) if code in codes else len(codes)


START: Place = (-1, -1)
"""Before the first record of the base."""


def _order(merged: Merged, homes: dict[CompileId, Home]) -> list[Place]:
    """All that is kept, in order."""
    base = merged.members[0]
    known: dict[Key, list[Place]] = defaultdict(list)
    for record in records_of(base):
        known[_key(base.log, record, homes)].append((0, record))
    behind: dict[Place, list[Place]] = defaultdict(list)
    kept: dict[Place, Place] = {}
    for number, process in enumerate(merged.members[1:], 1):
        log, seen, anchor = process.log, Counter[Key](), START
        new: list[tuple[Key, Place]] = []
        for record in records_of(process):
            key, place = _key(log, record, homes), (number, record)
            twins, nth = known[key], seen[key]
            seen[key] += 1
            home = homes.get(_unit(log, record))
            if home is not None:
                anchor = kept.get(home.code, home.code)
                nth = _nth(anchor, merged, known, homes)
            if nth < len(twins):
                merged.twins.append(Twins(twins[nth], place))
                kept[place] = twins[nth]
                anchor = max(anchor, twins[nth]) if home is None and twins[nth][0] == 0 else anchor
            else:
                behind[anchor].append(place)
                new.append((key, place))
        for key, place in new:
            known[key].append(place)
    order: list[Place] = []
    left = [*((0, record) for record in reversed(records_of(base))), START]
    while left:
        place = left.pop()
        if place is not START:
            order.append(place)
        left += reversed(behind.get(place, ()))
    return order


def _unit(log: Log, record: int) -> CompileId:
    context = log.context(record)
    return CompileId(context.autograd, context.frame, context.compile, name=context.name)


class _Numbers:
    """Kinds or contexts of the joined log, numbered as they come."""

    def __init__(self) -> None:
        self.all: dict[Kind | Context, int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def of(self, member: int, number: int, values: Sequence[Kind] | Sequence[Context]) -> int:
        """The number of the value that has `number` in a member, whose values these are."""
        found = self._known.get((member, number))
        if found is None:
            found = self._known[member, number] = self.all.setdefault(values[number], len(self.all))
        return found


def _batch(
    merged: Merged, order: list[Place], homes: dict[CompileId, Home], who: Context
) -> tuple[Batch, list[array[int]]]:
    """The batch, and for each member: record → record of the joined log."""
    logs = [process.log for process in merged.members]
    places = [array("I", [NOWHERE]) * len(log) for log in logs]
    is_stored = not logs[0].is_made
    batch = Batch(0)
    columns = batch.columns
    kinds, contexts = _Numbers(), _Numbers()
    homely = [[_at_home(context, homes, who) for context in log.contexts] for log in logs]
    for new, (member, record) in enumerate(order):
        log, own = logs[member], logs[member].columns
        stored = member == 0 and is_stored
        columns.offset.append(own.offset[record] if stored else record)
        columns.source.append(0 if stored else member + 1)
        columns.head.append(own.head[record])
        columns.size.append(own.size[record])
        columns.flags.append(own.flags[record])
        columns.kind.append(kinds.of(member, own.kind[record], log.kinds))
        context = contexts.of(member, own.context[record], homely[member])
        columns.context.append(context)
        batch.members[context].append(new)
        places[member][record] = new
    for twins in merged.twins:
        places[twins.left[0]][twins.left[1]] = places[twins.kept[0]][twins.kept[1]]
    batch.kinds = [kind for kind in kinds.all if isinstance(kind, Kind)]
    batch.contexts = [context for context in contexts.all if isinstance(context, Context)]
    _facts(merged, batch, places)
    _ends(merged, batch)
    return batch, places


def _at_home(context: Context, homes: dict[CompileId, Home], who: Context) -> Context:
    """Whose a record is in the joined log: the process of the base, and of a unit the compile that it belongs to."""
    home = homes.get(CompileId(context.autograd, context.frame, context.compile, name=context.name))
    context = context._replace(pid=who.pid, rank=who.rank)
    if home is None:
        return context
    own = home.compile
    return context._replace(autograd=own.autograd, frame=own.frame, compile=own.compile, attempt=home.attempt, name="")


def _facts(merged: Merged, batch: Batch, places: list[array[int]]) -> None:
    """What the compiles of the members tell, under the new numbers; what the base does not tell of a compile others may."""
    for number, process in enumerate(merged.members):
        where = places[number]
        for compile_ in process.compiles.values():
            for metrics in compile_.metrics:
                batch.metrics.append(metrics._replace(record=where[metrics.record]))
            first, named = compile_.started, compile_.named
            if first is not None and number == 0:
                batch.started.append(first._replace(record=where[first.record]))
            elif first is not None and first.name:  # the numbers of its strings are its own
                named = Named(first.record, first.name, process.string(first.filename), first.line)
            if named is not None and where[named.record] != NOWHERE:
                batch.named.append(named._replace(record=where[named.record]))
    notable = {number for number, kind in enumerate(batch.kinds) if kind.name in NOTABLE or kind.event in NOTABLE}
    batch.notable = [(record, kind) for record, kind in enumerate(batch.columns.kind) if kind in notable]
    for number, process in enumerate(merged.members):
        where = places[number]
        batch.damage += [
            damage._replace(record=where[damage.record]) for damage in process.log.damage
            if 0 <= damage.record < len(where) and where[damage.record] != NOWHERE and process.owns(damage.record)
        ]  # fmt: skip


def _ends(merged: Merged, batch: Batch) -> None:
    logs = [process.log for process in merged.members]
    batch.scanned = logs[0].scanned
    batch.finished = all(log.ended for log in logs)
    batch.waiting = all(log.ended or log.waiting for log in logs)
    batch.clock = max(log.clock for log in logs)
    batch.tail = logs[0].tail
