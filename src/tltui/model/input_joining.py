"""Joining of the inputs of one job: inputs of the same process, the facts that each adds, their records as one log."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import islice

from tltui.inputs.debug_directory import AOT_ID, DebugLog, Joined, TraceCode, join
from tltui.inputs.forms import FORMS
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Process
from tltui.model.process_evidence import EXACT, READS, SLICE, Evidence, Steps, compare, declared_md5, is_of_job, records_of, slices
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

START: Place = (-1, -1)
"""Before the first record of the base."""
Stretch = tuple[int, Sequence[int]]
"""The number of a member, and records of its log that follow each other."""

REST = 2.0
"""Seconds between two times that the processes of a run that goes on are put together."""
ORDER = tuple(FORMS)
"""The forms of input, the one that tells most first."""
Member = tuple[LogModel, Process]
State = tuple[object, ...]


@frozen
class _Home:
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
class _Merged:
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


@frozen
class Apart:
    """Two processes with one pid that are not the same one, and why."""

    base: Process
    other: Process
    why: str


@mutable
class _Memory:
    """Earlier results, used where a log has become unreadable."""

    evidence: dict[tuple[str, str], Evidence] = field(default_factory=dict)
    """By the keys of two processes."""
    homes: dict[str, dict[CompileId, _Home]] = field(default_factory=dict)
    """By the key of a debug directory."""


@frozen
class JoinResult:
    """The joined processes of a run at one time."""

    merged: list[_Merged]
    apart: list[Apart]
    states: list[State]
    """Of the logs before the first step."""
    took_s: float


def _merge(members: Sequence[tuple[LogModel, Process]], homes: dict[CompileId, _Home]) -> Steps[_Merged]:
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
    merged = _Merged(model, tuple(process for _, process in members))
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


def _failures(merged: _Merged, places: Sequence[Sequence[int]]) -> None:
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

    def __init__(self, log: Log, homes: dict[CompileId, _Home]) -> None:
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

    def home(self, record: int) -> _Home | None:
        """Return the compile of the unit of a record."""
        return self.homes[self._log.columns.context[record]]


def _id_of(context: Context) -> CompileId:
    return CompileId(context.autograd, context.frame, context.compile, name=context.name)


def _order(merged: _Merged, homes: dict[CompileId, _Home], sizes: Sequence[int]) -> Steps[dict[Place, list[Place]]]:
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


def _twins_of_base(merged: _Merged, keys: list[_Keys], size: int) -> Steps[dict[Key, list[Place]]]:
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
    merged: _Merged, homes: dict[CompileId, _Home], who: Context, sizes: Sequence[int]
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

    def __init__(self, log: Log, homes: dict[CompileId, _Home], who: Context) -> None:
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


def _at_home(context: Context, homes: dict[CompileId, _Home], who: Context) -> Context:
    """Whose a record is in the joined log: the process of the base, and of a unit the compile that it belongs to."""
    home = homes.get(_id_of(context))
    context = context._replace(pid=who.pid, rank=who.rank)
    if home is None:
        return context
    owner = home.compile
    return context._replace(autograd=owner.autograd, frame=owner.frame, compile=owner.compile, attempt=home.attempt, name="")


def _add_facts(merged: _Merged, batches: Sequence[Batch], places: list[array[int]]) -> Steps[None]:
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


def _homes_of(members: Sequence[Process], log: DebugLog) -> Steps[dict[CompileId, _Home]]:
    """Map units of a debug directory to compiles, by the first member that has the code. Raises OSError."""
    homes: dict[CompileId, _Home] = {}
    for number, process in enumerate(members):
        remaining = [unit for unit in log.units() if CompileId(name=unit.unit) not in homes]
        codes = (yield from _codes_of(process)) if remaining else []
        matches: dict[str, Joined[CompileId]] = join(remaining, codes)
        for unit, joined in matches.items():
            attempt = process.log.context(joined.record).attempt or 0
            homes[CompileId(name=unit)] = _Home(joined.compile.of(0), attempt, (number, joined.record))
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


def _state(model: LogModel) -> State:
    """Return the state of a log on which a joined process depends; it is rebuilt when the state changes."""
    log = model.log
    return log.path, len(log), log.scanned, log.stamp, log.waiting, len(log.damage), model.started


class Joining:
    """The joined processes of the inputs of a run, as far as they are read."""

    def __init__(self) -> None:
        self.merged: list[_Merged] = []
        self.apart: list[Apart] = []
        self._part_of: dict[Process, _Merged] = {}
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


def _join(models: Sequence[LogModel], memory: _Memory) -> Steps[tuple[list[_Merged], list[Apart]]]:
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
            merged.append((yield from _joined_group(group, memory)))
    _fork(merged)
    return merged, apart


def _fork(merged: Sequence[_Merged]) -> None:
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


def _joined_group(group: list[Member], memory: _Memory) -> Steps[_Merged]:
    homes: dict[CompileId, _Home] = {}
    traced = [process for _, process in group if not isinstance(process.log, DebugLog)]  # they come first
    for _, process in group[1:]:
        if isinstance(process.log, DebugLog):
            with suppress(OSError):  # then what was known before still holds
                memory.homes[process.log.key] = yield from _homes_of(traced, process.log)
            homes.update(memory.homes.get(process.log.key, {}))
    return (yield from _merge(group, homes))
