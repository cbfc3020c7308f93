"""Joining of the inputs of one job: detection of inputs of the same process, and the facts that each adds."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

from tltui.inputs.debug_directory import AOT_ID, DebugLog, Joined, TraceCode, join
from tltui.inputs.forms import FORMS, TEXT
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID, CompileId
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

    first: Place
    second: Place


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
    log.add_places(batch, places)
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


def process_records(process: Process) -> Sequence[int]:
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


def _order(merged: Merged, homes: dict[CompileId, Home]) -> list[Stretch]:
    """All that is kept, in order."""
    keys = [_Keys(process.log, homes) for process in merged.members]
    base_twins = _twins_of_base(merged, keys)
    behind: dict[Place, list[Place]] = defaultdict(list)
    originals: dict[Place, Place] = {}
    for number, process in enumerate(merged.members[1:], 1):
        counts, anchor = Counter[Key](), START
        new: list[tuple[Key, Place]] = []
        for record in process_records(process):
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
    return _laid_out(process_records(merged.members[0]), behind)


def _twins_of_base(merged: Merged, keys: list[_Keys]) -> dict[Key, list[Place]]:
    """Return the records of the base that other inputs may repeat. Most of a trace are events that no other input has."""
    base = merged.members[0]
    kinds = {kind._replace(encoding="") for process in merged.members[1:] for kind in process.log.kinds}
    repeatable = {number for number, kind in enumerate(base.log.kinds) if kind._replace(encoding="") in kinds}
    column = base.log.columns.kind
    twins: dict[Key, list[Place]] = defaultdict(list)
    for record in process_records(base):
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
        columns.offset.extend(_selected(source.offset, records) if stored else records)
        columns.source.extend([0 if stored else member + 1] * len(records))
        columns.head.extend(_selected(source.head, records))
        columns.size.extend(_selected(source.size, records))
        columns.flags.extend(_selected(source.flags, records))
        columns.kind.extend(numbers[member].kinds(_selected(source.kind, records), kinds))
        for context in numbers[member].contexts(_selected(source.context, records), contexts):
            columns.context.append(context)
            batch.members[context].append(new)
            new += 1
        where = places[member]
        for number, record in enumerate(records, new - len(records)):
            where[record] = number
    for twins in merged.twins:
        places[twins.second[0]][twins.second[1]] = places[twins.first[0]][twins.first[1]]
    batch.kinds, batch.contexts = list(kinds), list(contexts)
    _facts(merged, batch, places)
    _ends(merged, batch)
    return batch, places


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


def _facts(merged: Merged, batch: Batch, places: list[array[int]]) -> None:
    """Add the facts of the members under the new record numbers; facts that the base lacks come from other members."""
    for number, process in enumerate(merged.members):
        where = places[number]
        for compile_ in process.compiles.values():
            for metrics in compile_.metrics:
                batch.metrics.append(metrics._replace(record=where[metrics.record]))
            first, name_source = compile_.started, compile_.name_source
            if first is not None and number == 0:
                batch.started.append(first._replace(record=where[first.record]))
            elif first is not None and first.name:  # the numbers of its strings are its own
                name_source = Named(first.record, first.name, process.string(first.filename), first.line)
            if name_source is not None and where[name_source.record] != NOWHERE:
                batch.name_sources.append(name_source._replace(record=where[name_source.record]))
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


_LAUNCHER = ("torch.distributed.elastic.", "torch.distributed.run", "torch.distributed.launcher")
"""How the names of the loggers of torchrun begin."""


def is_of_job(form: str, process: Process) -> bool:
    """Return whether the records of a log under one pid belong to a process of the job. `form`: of the log."""
    return form != TEXT or (process.pid != 0 and not _is_launcher(process))


def processes_of_job(processes: Iterable[tuple[str, Process]]) -> list[Process]:
    """Choose the processes of the job; where torchrun alone wrote messages of torch, torchrun.

    Each comes with the form of its log.
    """
    writers = [(form, process) for form, process in processes if form != TEXT or process.pid]
    return [process for form, process in writers if is_of_job(form, process)] or [process for _, process in writers]


def _is_launcher(process: Process) -> bool:
    """Tell whether all messages of torch are torchrun's."""
    without_id = process.compiles.get(NO_ID)
    if without_id is None or len(process.compiles) > 1:
        return False
    log = process.log
    return all(_is_from_launcher(log.kind(record)) for record in without_id.records)


def _is_from_launcher(kind: Kind) -> bool:
    return kind.event == "text" or (kind.event == "log" and kind.name.startswith(_LAUNCHER))


EXACT = ("inductor_output_code", "dynamo_cpp_guards_str", "recompile_reasons")
"""What a text log has byte for byte as the trace has it."""
COMPARED = 8
"""Texts of a name that are compared, from the first."""
UNDATED = 256
"""Records without a time, from either end, behind which one with a time is looked for."""
CODE = "inductor_output_code"


@frozen
class Evidence:
    """The evidence for and against two processes being the same."""

    equal: frozenset[str] = frozenset()
    """Of "pid", "rank", "time", "text"."""
    against: str = ""

    @property
    def is_enough(self) -> bool:
        """Two equal facts, and nothing against it. A text that two processes made is as good as a pid and more."""
        return not self.against and len(self.equal) >= 2


def compare(base: Process, other: Process) -> Evidence:
    """Compare two processes for being the same. Reads a few texts of both. Raises OSError."""
    equal = set()
    if base.pid and other.pid:
        if base.pid != other.pid:
            return Evidence(against=f"process {base.pid} and {other.pid}")
        equal.add("pid")
    if base.stated_rank is not None and other.stated_rank is not None:
        if base.stated_rank != other.stated_rank:
            return Evidence(against=f"rank {base.stated_rank} and {other.stated_rank}")
        equal.add("rank")
    if against := _other_names(base, other):
        return Evidence(against=against)
    if _same_text(base, other):
        equal.add("text")
        if not other.pid:
            equal.add("pid")  # the directory of a cache does not know whose it was: its code does
    spans = span(base), span(other)
    if spans[0] and spans[1]:
        if max(spans[0][0], spans[1][0]) <= min(spans[0][1], spans[1][1]):
            equal.add("time")
        elif "text" not in equal:
            return Evidence(against=f"until {min(spans[0][1], spans[1][1])[:13]} and from {max(spans[0][0], spans[1][0])[:13]}")
    return Evidence(frozenset(equal))


def span(process: Process) -> tuple[str, str] | None:
    """Return the times of the first and the last dated record of a process, `MMDD HH:MM:SS`, in local time of the job.

    Program output between the messages of torch has no time.
    """
    log, untagged = process.log, process.compiles.get(NO_ID)
    compiles = [compile_.records for compile_ in process.compiles.values() if compile_ is not untagged and compile_.records]
    ends = []
    if compiles:
        ends = [_clock(log, min(records[0] for records in compiles)), _clock(log, max(records[-1] for records in compiles))]
    if untagged is not None:
        ends += [_dated(log, untagged.records[:UNDATED]), _dated(log, untagged.records[-UNDATED:][::-1])]
    clocks = sorted(filter(None, ends))
    if not clocks:
        return None
    # a directory is named by the time at which the process began: the log of it begins later, and ends when it ends
    return (clocks[0], "9") if isinstance(process.log, DebugLog) else (clocks[0], clocks[-1])


def _dated(log: Log, records: Sequence[int]) -> str:
    """Return the time of the first record that has one."""
    return next(filter(None, (_clock(log, record) for record in records)), "")


def _clock(log: Log, record: int) -> str:
    prefix = log.prefix(record)
    return f"{prefix.month:02}{prefix.day:02} {prefix.time[:8]}" if prefix is not None else ""


def _other_names(base: Process, other: Process) -> str:
    """Describe two functions with known names and the same compile id; '' for none."""
    for key, frame in other.frames.items():
        twin = base.find_frame(key)
        if twin is None or any(c.name_source is not None and c.name_source.is_guess for c in (*twin.compiles, *frame.compiles)):
            continue
        names = twin.code[0], frame.code[0]
        if names[0] and names[1] and names[0] != names[1]:
            return f"{frame.label} is {names[0]} and {names[1]}"
    return ""


def _same_text(base: Process, other: Process) -> bool:
    if isinstance(other.log, DebugLog):
        declared = {code.md5 for code in codes_of(base)}
        return any(unit.md5 in declared for unit in other.log.units())
    for name in EXACT:
        theirs = {_md5(other.log, record) for _, record in islice(_records(other, name), COMPARED)}
        if theirs & {_md5(base.log, record) for _, record in islice(_records(base, name), COMPARED)} - {None}:
            return True
    return False


def _md5(log: Log, record: int) -> str | None:
    digest = log.md5(record)
    return None if digest is None else digest.lower()


def _records(process: Process, name: str) -> Iterator[tuple[Compile, int]]:
    """Yield the records of a name, compile by compile."""
    log = process.log
    kinds = {number for number, kind in enumerate(log.kinds) if name in (kind.name, kind.event)}
    if kinds:
        for compile_ in process.compiles.values():
            for record in compile_.records:
                if log.columns.kind[record] in kinds:
                    yield compile_, record


def codes_of(process: Process) -> list[TraceCode[CompileId]]:
    """Return the generated code of a process, for `join`."""

    return [
        TraceCode(compile_.id, record, _md5(process.log, record) or "", partial(_aot_id, process.log, record))
        for compile_, record in _records(process, CODE)
    ]  # fmt: skip


def _aot_id(log: Log, record: int) -> tuple[int, str] | None:
    payload = log.payload(record)
    match = AOT_ID.search(payload.source.read(payload.offset, min(payload.size, 400))) if payload is not None else None
    return (int(match[1]), match[2].decode()) if match else None


def homes_of(members: Sequence[Process], log: DebugLog) -> dict[CompileId, Home]:
    """Map units of a debug directory to compiles, by the first member that has the code. Raises OSError."""
    homes: dict[CompileId, Home] = {}
    for number, process in enumerate(members):
        remaining = [unit for unit in log.units() if CompileId(name=unit.unit) not in homes]
        matches: dict[str, Joined[CompileId]] = join(remaining, codes_of(process)) if remaining else {}
        for unit, joined in matches.items():
            attempt = process.log.context(joined.record).attempt or 0
            homes[CompileId(name=unit)] = Home(joined.compile.of(0), attempt, (number, joined.record))
    return homes


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


@dataclass(slots=True)
class _Memory:
    """Earlier results, used where a log has become unreadable."""

    evidence: dict[tuple[str, str], Evidence] = field(default_factory=dict)
    """By the keys of two processes."""
    homes: dict[str, dict[CompileId, Home]] = field(default_factory=dict)
    """By the key of a debug directory."""


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

    def join(self, models: Sequence[LogModel], finished: bool) -> bool:
        """Join equal processes, again when their logs have grown or ended; return whether anything changed.

        Joining a large run is slow: while it grows, it is repeated only some time after the last time.
        """
        states = [_state(model) for model in models]
        if self.is_plain(models) or states == self._states:
            return False
        began = time.monotonic()
        self.is_behind = not finished and bool(self._states) and began - self._done < max(REST, 10 * self._took)
        if self.is_behind:
            return False
        self.merged, self.apart = _join(models, self._memory)
        self._part_of = {process: merged for merged in self.merged for process in merged.members}
        self._states, self._done = states, time.monotonic()
        self._took = self._done - began
        return True

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


def _join(models: Sequence[LogModel], memory: _Memory) -> tuple[list[Merged], list[Apart]]:
    """Return the equal processes, and those that are only similar. An unreadable text joins nothing."""
    ranked = sorted(models, key=lambda model: ORDER.index(model.form))
    groups: list[list[Member]] = []
    apart: list[Apart] = []
    for model in ranked:
        for process in model.processes:
            if not is_of_job(model.form, process):
                continue
            member = (model, process)
            home = None if model.form == ORDER[0] else _group(member, groups, apart, memory)
            if home is None:
                groups.append([member])
            else:
                home.append(member)
    merged = [_merged(group, memory) for group in groups if len(group) > 1]
    _fork(merged)
    return merged, apart


def _fork(merged: Sequence[Merged]) -> None:
    """Set the fork parents of joined processes to the joined parents of their bases."""
    wholes = {joined.members[0]: joined.model.processes[0] for joined in merged}
    for base, process in wholes.items():
        process.twin = base.twin
        if base.inherits and base.parent is not None:
            process.parent, process.inherits = wholes.get(base.parent, base.parent), True


def _group(member: Member, groups: list[list[Member]], apart: list[Apart], memory: _Memory) -> list[Member] | None:
    """Return the group with the most evidence for a process, if it is unique."""
    _, process = member
    matches: list[tuple[int, list[Member]]] = []
    against: list[Apart] = []
    for group in groups:
        base = group[0][1]
        if base.log is process.log or not (base.pid == process.pid or not process.pid):
            continue
        evidence = _compared(base, process, memory)
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


def _compared(base: Process, other: Process, memory: _Memory) -> Evidence:
    keys = base.key, other.key
    try:
        memory.evidence[keys] = compare(base, other)
    except OSError:
        return memory.evidence.get(keys, Evidence())
    return memory.evidence[keys]


def _merged(group: list[Member], memory: _Memory) -> Merged:
    homes: dict[CompileId, Home] = {}
    traced = [process for _, process in group if not isinstance(process.log, DebugLog)]  # they come first
    for _, process in group[1:]:
        if isinstance(process.log, DebugLog):
            with suppress(OSError):  # then what was known before still holds
                memory.homes[process.log.key] = homes_of(traced, process.log)
            homes.update(memory.homes.get(process.log.key, {}))
    return merge(group, homes)
