"""The records of several inputs of one process as one log."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import islice

from tltui.inputs.debug_directory import AOT_ID, DebugLog, Joined, TraceCode, join
from tltui.model.log_model import LogModel
from tltui.model.nodes import Process
from tltui.model.process_evidence import EXACT, READS, SLICE, Steps, declared_md5, records_of, slices
from tltui.model.ref import CompileId
from tltui.text.frozen import frozen, mutable
from tltui.trace.batch import Batch, Context, Kind, Named
from tltui.trace.grammar import NOTABLE
from tltui.trace.log import NOWHERE, JoinedLog, Log

COUNTED = 128
"""Compiles whose status is derived between two yields."""
FACTS = 1024
"""Compiles whose facts are added between two yields."""
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

    first: Place
    second: Place


@mutable
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


def merge(members: Sequence[tuple[LogModel, Process]], homes: dict[CompileId, Home]) -> Steps[Merged]:
    """Join several processes into one; the base first. `homes`: unit of a debug directory → its compile.

    Records that arrive between two steps are left out.
    """
    base_model, base = members[0]
    log = JoinedLog([process.log for _, process in members])
    origins = frozenset[str]().union(*(process.origins for _, process in members))
    model = LogModel(
        log, _first(process.rank_by_name for _, process in members), base.launch, base.started, base.parts, base.is_dated,
        base_model.form, origins,
    )  # fmt: skip
    merged = Merged(model, tuple(process for _, process in members))
    sizes = [len(process.log) for process in merged.members]
    rank = _first(process.stated_rank for _, process in members)
    batches, places = yield from _batches(merged, homes, Context(base.pid, rank), sizes)
    yield from _add_facts(merged, batches, places)
    log.add_places(batches[0], places)
    for batch in batches:
        model.apply(batch, is_counted=False)
        for process in model.processes:
            process.strings.update(base.strings)
            process.logs_breaks = any(member.logs_breaks for member in merged.members)
        yield
    for process in model.processes:
        for part in slices(list(process.compiles.values()), COUNTED):
            model.count({id(compile_): compile_ for compile_ in part})
            yield
    _failures(merged, places)
    return merged


def _failures(merged: Merged, places: Sequence[Sequence[int]]) -> None:
    """Mark compiles as failed if the output of the job reports it, whichever input has them."""
    merged.model.tell_failed(
        merged.model.owner(where[failed.records[0]])
        for process, where in zip(merged.members, places, strict=True)
        for failed in process.compiles.values()
        if failed.is_told_failed and failed.records and failed.records[0] < len(where)
    )


def _first(numbers: Iterator[int | None]) -> int | None:
    return next((number for number in numbers if number is not None), None)


def process_records(process: Process, size: int) -> Iterator[Sequence[int]]:
    """Yield the records of a process below `size` in file order, in slices."""
    if process.records == len(process.log):
        yield from (range(begin, min(begin + SLICE, size)) for begin in range(0, size, SLICE))
        return
    columns = [compile_.records for compile_ in process.compiles.values() if compile_.records]
    following = [(records[0], number, 0) for number, records in enumerate(columns)]  # record, whose it is, its place there
    heapify(following)
    while following and following[0][0] < size:
        end = min(following[0][0] + SLICE, size)
        part: list[int] = []
        while following and following[0][0] < end:
            _, number, begin = heappop(following)
            records = columns[number]
            stop = bisect_left(records, end, begin)
            part += records[begin:stop]
            if stop < len(records):
                heappush(following, (records[stop], number, stop))
        part.sort()
        yield part


class _Keys:
    """The keys by which the records of one member match their twins, computed once for each context and kind."""

    def __init__(self, log: Log, homes: dict[CompileId, Home]) -> None:
        self._log = log
        self.homes = [homes.get(_id_of(context)) for context in log.contexts]
        """Context → the home of the unit that it is."""
        self._keys: dict[tuple[int, int], Key] = {}

    def of(self, record: int) -> Key:
        columns = self._log.columns
        pair = (columns.context[record], columns.kind[record])
        pair_keys = self._keys.get(pair)
        if pair_keys is None:
            context, kind, home = self._log.contexts[pair[0]], self._log.kinds[pair[1]]._replace(encoding=""), self.homes[pair[0]]
            identity = (_id_of(context), context.attempt or 0) if home is None else (home.compile.of(0), home.attempt)
            pair_keys = self._keys[pair] = (*identity, kind)
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


def _order(merged: Merged, homes: dict[CompileId, Home], sizes: Sequence[int]) -> Steps[dict[Place, list[Place]]]:
    """Find the twins; return the records to be inserted, by the record that they come after."""
    keys = [_Keys(process.log, homes) for process in merged.members]
    base_twins = yield from _twins_of_base(merged, keys, sizes[0])
    behind: dict[Place, list[Place]] = defaultdict(list)
    originals: dict[Place, Place] = {}
    for number, process in enumerate(merged.members[1:], 1):
        counts, anchor = Counter[Key](), START
        new: list[tuple[Key, Place]] = []
        for part in process_records(process, sizes[number]):
            yield
            for record in part:
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
        for part_of_new in slices(new):
            yield
            for key, place in part_of_new:
                base_twins[key].append(place)
    return behind


def _twins_of_base(merged: Merged, keys: list[_Keys], size: int) -> Steps[dict[Key, list[Place]]]:
    """Return the records of the base that other inputs may repeat. Most of a trace are events that no other input has."""
    base = merged.members[0]
    kinds = {kind._replace(encoding="") for process in merged.members[1:] for kind in process.log.kinds}
    repeatable = {number for number, kind in enumerate(base.log.kinds) if kind._replace(encoding="") in kinds}
    column = base.log.columns.kind
    twins: dict[Key, list[Place]] = defaultdict(list)
    for part in process_records(base, size):
        yield
        for record in part:
            if column[record] in repeatable:
                twins[keys[0].of(record)].append((0, record))
    return twins


def _laid_out(base: Iterable[Sequence[int]], behind: dict[Place, list[Place]]) -> Iterator[Stretch]:
    """Yield the records of the base, each followed recursively by the records to be inserted after it."""
    anchors = sorted(record for member, record in behind if member == 0)
    yield from _inserted(behind, START)
    at = 0
    for part in base:
        begin = 0
        while at < len(anchors) and anchors[at] <= part[-1]:
            end = bisect_right(part, anchors[at])
            yield 0, part[begin:end]
            yield from _inserted(behind, (0, anchors[at]))
            begin, at = end, at + 1
        yield 0, part[begin:]


def _inserted(behind: dict[Place, list[Place]], anchor: Place) -> Iterator[Stretch]:
    """Yield what comes after a record; successive records of one member in one piece of at most a slice."""
    pending = list(reversed(behind.get(anchor, ())))
    member, records = 0, list[int]()
    while pending:
        place = pending.pop()
        if records and (place[0] != member or len(records) == SLICE):
            yield member, records
            records = []
        member = place[0]
        records.append(place[1])
        pending += reversed(behind.get(place, ()))
    if records:
        yield member, records


def _batches(
    merged: Merged, homes: dict[CompileId, Home], who: Context, sizes: Sequence[int]
) -> Steps[tuple[list[Batch], list[array[int]]]]:
    """Return all that is kept in order, in batches, and for each member: record → record of the joined log."""
    logs = [process.log for process in merged.members]
    ended = all(log.ended for log in logs), all(log.ended or log.waiting for log in logs)
    scanned, clock, tail = logs[0].scanned, max(log.clock for log in logs), logs[0].tail
    behind = yield from _order(merged, homes, sizes)
    places = [array("I", [NOWHERE]) * size for size in sizes]
    numbers = [_Numbers(log, homes, who) for log in logs]
    kinds: dict[Kind, int] = {}
    contexts: dict[Context, int] = {}
    batches, counted = [Batch(0)], (0, 0)
    for member, records in _laid_out(process_records(merged.members[0], sizes[0]), behind):
        batch = batches[-1]
        if len(batch.columns) + len(records) > SLICE and batch.columns:
            counted = _complete(batch, kinds, contexts, counted)
            batch = Batch(batch.first + len(batch.columns))
            batches.append(batch)
            yield
        source, stored, columns = logs[member].columns, member == 0 and not logs[0].is_made, batch.columns
        new = batch.first + len(columns)
        columns.offset.extend(_selected(source.offset, records) if stored else records)
        columns.source.extend([0 if stored else member + 1] * len(records))
        columns.head.extend(_selected(source.head, records))
        columns.size.extend(_selected(source.size, records))
        columns.flags.extend(_selected(source.flags, records))
        columns.kind.extend(numbers[member].kinds(_selected(source.kind, records), kinds))
        where = places[member]
        owners = numbers[member].contexts(_selected(source.context, records), contexts)
        columns.context.extend(owners)
        for number, (record, context) in enumerate(zip(records, owners, strict=True), new):
            batch.members[context].append(number)
            where[record] = number
    _complete(batches[-1], kinds, contexts, counted)
    for part in slices(merged.twins):
        yield
        for twins in part:
            places[twins.second[0]][twins.second[1]] = places[twins.first[0]][twins.first[1]]
    for batch in batches:
        batch.scanned, batch.clock, batch.tail, batch.waiting = scanned, clock, tail, ended[1]
    batches[0].finished = ended[0]  # so that each status is derived once, with the end of the log known
    return batches, places


def _complete(batch: Batch, kinds: dict[Kind, int], contexts: dict[Context, int], before: tuple[int, int]) -> tuple[int, int]:
    """Add the kinds and contexts that a batch has for the first time; return how many there are now."""
    batch.kinds = list(islice(kinds, before[0], None))
    batch.contexts = list(islice(contexts, before[1], None))
    notable = {number for kind, number in kinds.items() if kind.name in NOTABLE or kind.event in NOTABLE}
    batch.notable = [(record, kind) for record, kind in enumerate(batch.columns.kind, batch.first) if kind in notable]
    return len(kinds), len(contexts)


def _selected(column: array[int], records: Sequence[int]) -> Sequence[int]:
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


def _add_facts(merged: Merged, batches: Sequence[Batch], places: list[array[int]]) -> Steps[None]:
    """Add the facts of the members to the batches of their records; facts that the base lacks come from other members."""
    firsts = [batch.first for batch in batches]

    def batch_of(record: int) -> Batch:
        return batches[bisect_right(firsts, record) - 1]

    for number, process in enumerate(merged.members):
        where = places[number]

        def place(record: int, where: array[int] = where) -> int:
            return where[record] if 0 <= record < len(where) else NOWHERE

        for count, compile_ in enumerate(list(process.compiles.values())):
            if count % FACTS == FACTS - 1:
                yield
            for metrics in compile_.metrics:
                if (record := place(metrics.record)) != NOWHERE:
                    batch_of(record).metrics.append(metrics._replace(record=record))
            first, name_source = compile_.started, compile_.name_source
            if first is not None and number == 0:
                if (record := place(first.record)) != NOWHERE:
                    batch_of(record).started.append(first._replace(record=record))
            elif first is not None and first.name:  # the numbers of its strings are its own
                name_source = Named(first.record, first.name, process.string(first.filename), first.line)
            if name_source is not None and (record := place(name_source.record)) != NOWHERE:
                batch_of(record).name_sources.append(name_source._replace(record=record))
        for damage in process.log.damage:
            if (record := place(damage.record)) != NOWHERE and process.owns(damage.record):
                batch_of(record).damage.append(damage._replace(record=record))


def homes_of(members: Sequence[Process], log: DebugLog) -> Steps[dict[CompileId, Home]]:
    """Map units of a debug directory to compiles, by the first member that has the code. Raises OSError."""
    homes: dict[CompileId, Home] = {}
    for number, process in enumerate(members):
        remaining = [unit for unit in log.units() if CompileId(name=unit.unit) not in homes]
        codes = (yield from _codes_of(process)) if remaining else []
        matches: dict[str, Joined[CompileId]] = join(remaining, codes)
        for unit, joined in matches.items():
            attempt = process.log.context(joined.record).attempt or 0
            homes[CompileId(name=unit)] = Home(joined.compile.of(0), attempt, (number, joined.record))
    return homes


def _codes_of(process: Process) -> Steps[list[TraceCode[CompileId]]]:
    """Return the generated code of a process, for `join`."""
    log, codes = process.log, list[TraceCode[CompileId]]()
    for count, (compile_, record) in enumerate((yield from records_of(process, EXACT[0]))):
        if count % READS == READS - 1:
            yield
        codes.append(TraceCode(compile_.id, record, declared_md5(log, record) or "", partial(_aot_id, log, record)))
    return codes


def _aot_id(log: Log, record: int) -> tuple[int, str] | None:
    payload = log.payload(record)
    match = AOT_ID.search(payload.source.read(payload.offset, min(payload.size, 400))) if payload is not None else None
    return (int(match[1]), match[2].decode()) if match else None
