"""Records of one process from several logs merged in the order in which they were written."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from tltui.model.log_model import LogModel
from tltui.model.nodes import Process
from tltui.model.ref import CompileId
from tltui.text.frozen import frozen
from tltui.trace.batch import Batch, Context, Kind, Named
from tltui.trace.grammar import NOTABLE
from tltui.trace.log import NOWHERE, JoinedLog, Log

Place = tuple[int, int]
"""The number of a member, and a record of its log."""
Key = tuple[CompileId, int, Kind]
"""What twins share: compile, attempt, kind."""


@frozen
class Home:
    """The compile that a unit of a debug directory belongs to."""

    compile: CompileId
    attempt: int
    code: Place
    """Its generated code, which the files of the unit stand beside."""


@frozen
class Twins:
    """Two records with the same contents; the second one is omitted."""

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
    _failures(merged, places)
    return merged


def _failures(merged: Merged, places: Sequence[Sequence[int]]) -> None:
    """Mark compiles as failed if the output of the job reports it, whichever input has them."""
    merged.model.tell_failed(
        merged.model.owner(where[failed.records[0]])
        for process, where in zip(merged.members, places, strict=True)
        for failed in process.compiles.values()
        if failed.is_told_failed and failed.records
    )


def _first(numbers: Iterator[int | None]) -> int | None:
    return next((number for number in numbers if number is not None), None)


def records_of(process: Process) -> Sequence[int]:
    """All records of a process, in file order."""
    if process.records == len(process.log):
        return range(len(process.log))
    return sorted(chain.from_iterable(compile_.records for compile_ in process.compiles.values()))


class _Keys:
    """The keys by which the records of one member match their twins, computed once for each context and kind."""

    def __init__(self, log: Log, homes: dict[CompileId, Home]) -> None:
        self._log = log
        self.homes = [homes.get(_id_of(context)) for context in log.contexts]
        """Context → the home of the unit that it is."""
        self._known: dict[tuple[int, int], Key] = {}

    def of(self, record: int) -> Key:
        columns = self._log.columns
        pair = (columns.context[record], columns.kind[record])
        pair_keys = self._known.get(pair)
        if pair_keys is None:
            context, kind, home = self._log.contexts[pair[0]], self._log.kinds[pair[1]]._replace(encoding=""), self.homes[pair[0]]
            identity = (_id_of(context), context.attempt or 0) if home is None else (home.compile.of(0), home.attempt)
            pair_keys = self._known[pair] = (*identity, kind)
        return pair_keys

    def home(self, record: int) -> Home | None:
        """Return the compile of the unit of a record."""
        return self.homes[self._log.columns.context[record]]


def _id_of(context: Context) -> CompileId:
    return CompileId(context.autograd, context.frame, context.compile, name=context.name)


START: Place = (-1, -1)
"""Before the first record of the base."""
Stretch = tuple[int, Sequence[int]]
"""The number of a member, and records of its log that follow each other."""


def _order(merged: Merged, homes: dict[CompileId, Home]) -> list[Stretch]:
    """All that is kept, in order."""
    keys = [_Keys(process.log, homes) for process in merged.members]
    base_twins = _twins_of_base(merged, keys)
    behind: dict[Place, list[Place]] = defaultdict(list)
    originals: dict[Place, Place] = {}
    for number, process in enumerate(merged.members[1:], 1):
        counts, anchor = Counter[Key](), START
        new: list[tuple[Key, Place]] = []
        for record in records_of(process):
            key, place = keys[number].of(record), (number, record)
            twins, nth = base_twins[key], counts[key]
            counts[key] += 1
            home = keys[number].home(record)
            if home is not None:
                anchor = originals.get(home.code, home.code)
                codes = base_twins[keys[anchor[0]].of(anchor[1])]
                nth = codes.index(anchor) if anchor in codes else len(codes)  # which of the lowerings of its compile it is
            if nth < len(twins):
                merged.twins.append(Twins(twins[nth], place))
                originals[place] = twins[nth]
                anchor = max(anchor, twins[nth]) if home is None and twins[nth][0] == 0 else anchor
            else:
                behind[anchor].append(place)
                new.append((key, place))
        for key, place in new:
            base_twins[key].append(place)
    return _laid_out(records_of(merged.members[0]), behind)


def _twins_of_base(merged: Merged, keys: list[_Keys]) -> dict[Key, list[Place]]:
    """Return the records of the base that other inputs may repeat. Most of a trace are events that no other input has."""
    base = merged.members[0]
    kinds = {kind._replace(encoding="") for process in merged.members[1:] for kind in process.log.kinds}
    repeatable = {number for number, kind in enumerate(base.log.kinds) if kind._replace(encoding="") in kinds}
    column = base.log.columns.kind
    twins: dict[Key, list[Place]] = defaultdict(list)
    for record in records_of(base):
        if column[record] in repeatable:
            twins[keys[0].of(record)].append((0, record))
    return twins


def _laid_out(base: Sequence[int], behind: dict[Place, list[Place]]) -> list[Stretch]:
    """Return the records of the base, each followed recursively by the records to be inserted after it."""
    order: list[Stretch] = []

    def add(anchor: Place) -> None:
        pending = list(reversed(behind[anchor]))
        while pending:
            place = pending.pop()
            order.append((place[0], (place[1],)))
            pending += reversed(behind.get(place, ()))

    if START in behind:
        add(START)
    begin = 0
    for record in sorted(record for member, record in behind if member == 0):
        end = bisect_right(base, record)
        order.append((0, base[begin:end]))
        add((0, record))
        begin = end
    order.append((0, base[begin:]))
    return order


def _batch(
    merged: Merged, order: list[Stretch], homes: dict[CompileId, Home], who: Context
) -> tuple[Batch, list[array[int]]]:
    """Return the batch, and for each member: record → record of the joined log."""
    logs = [process.log for process in merged.members]
    places = [array("I", [NOWHERE]) * len(log) for log in logs]
    numbers = [_Numbers(log, homes, who) for log in logs]
    batch = Batch(0)
    columns = batch.columns
    kinds: dict[Kind, int] = {}
    contexts: dict[Context, int] = {}
    for member, records in order:
        source, stored = logs[member].columns, member == 0 and not logs[0].is_made
        new = len(columns)
        columns.offset.extend(_taken(source.offset, records) if stored else records)
        columns.source.extend([0 if stored else member + 1] * len(records))
        columns.head.extend(_taken(source.head, records))
        columns.size.extend(_taken(source.size, records))
        columns.flags.extend(_taken(source.flags, records))
        columns.kind.extend(numbers[member].kinds(_taken(source.kind, records), kinds))
        for context in numbers[member].contexts(_taken(source.context, records), contexts):
            columns.context.append(context)
            batch.members[context].append(new)
            new += 1
        where = places[member]
        for number, record in enumerate(records, new - len(records)):
            where[record] = number
    for twins in merged.twins:
        places[twins.left[0]][twins.left[1]] = places[twins.kept[0]][twins.kept[1]]
    batch.kinds, batch.contexts = list(kinds), list(contexts)
    _facts(merged, batch, places)
    _ends(merged, batch)
    return batch, places


def _taken(column: array[int], records: Sequence[int]) -> Sequence[int]:
    """Return the values of some records."""
    if isinstance(records, range):
        return column[records.start : records.stop].tolist()
    return [column[record] for record in records]


class _Numbers:
    """The numbers that kinds and contexts of one member have in the joined log: they are given as they come."""

    def __init__(self, log: Log, homes: dict[CompileId, Home], who: Context) -> None:
        self._log, self._homes, self._who = log, homes, who
        self._kinds: dict[int, int] = {}
        self._contexts: dict[int, int] = {}

    def kinds(self, numbers: Sequence[int], table: dict[Kind, int]) -> list[int]:
        """Kinds of records as the joined log numbers them."""
        for number in dict.fromkeys(numbers):
            if number not in self._kinds:
                self._kinds[number] = table.setdefault(self._log.kinds[number], len(table))
        return [self._kinds[number] for number in numbers]

    def contexts(self, numbers: Sequence[int], table: dict[Context, int]) -> list[int]:
        """Contexts of records as the joined log numbers them."""
        for number in dict.fromkeys(numbers):
            if number not in self._contexts:
                context = _at_home(self._log.contexts[number], self._homes, self._who)
                self._contexts[number] = table.setdefault(context, len(table))
        return [self._contexts[number] for number in numbers]


def _at_home(context: Context, homes: dict[CompileId, Home], who: Context) -> Context:
    """Whose a record is in the joined log: the process of the base, and of a unit the compile that it belongs to."""
    home = homes.get(_id_of(context))
    context = context._replace(pid=who.pid, rank=who.rank)
    if home is None:
        return context
    owner = home.compile
    return context._replace(autograd=owner.autograd, frame=owner.frame, compile=owner.compile, attempt=home.attempt, name="")


def _facts(merged: Merged, batch: Batch, places: list[array[int]]) -> None:
    """Add the facts of the members under the new record numbers; facts that the base lacks come from other members."""
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
