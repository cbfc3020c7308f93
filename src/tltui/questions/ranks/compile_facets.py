"""Facets of a compile in one pass over its records; course and compile times of a process."""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from tltui.model.artifacts import artifact_name
from tltui.model.node_answers import part, shared
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, list_in, records_of, text_in
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.questions.caches.cache_lookups import NAMES
from tltui.questions.compare.pairing import own_device
from tltui.questions.hang.open_phases import begun
from tltui.questions.problems.compile_problems import known_breaks
from tltui.questions.ranks.facet_texts import (
    MARK,
    bare,
    code_digest,
    collectives_fact,
    dumps_in,
    estimates_fact,
    graph_fact,
    guards_fact,
    inputs_fact,
    parity_fact,
    settings_fact,
    without_rank,
)
from tltui.questions.ranks.rank_course import EXECUTED, FACETS, NONE, Course, Fact, Lane, Step, Times, fact, plain, steps_in
from tltui.questions.timing.event_sums import Sums
from tltui.questions.timing.timing_events import Seen, read_groups
from tltui.text.normalisation import RankIdentity, devices_in, normalised
from tltui.trace.log import Log

LIMIT = 4 << 20
"""Stored bytes of a graph, guard tree or code that count."""
BREAKS = 20
GRAPH, CODE, SCHEDULE, ESTIMATES = "dynamo_output_graph", "inductor_output_code", "inductor_collective_schedule", (
    "inductor_runtime_and_tensor_meta"
)
GUARDS, TENSOR, SOURCE, REASONS = "dynamo_cpp_guards_str", "describe_tensor", "describe_source", "recompile_reasons"
READ = frozenset((GRAPH, CODE, SCHEDULE, ESTIMATES, GUARDS, TENSOR, SOURCE, REASONS, *NAMES))
FINISHED, FAILED, LIMITED = "finished", "failed", "recompile limit"
T = TypeVar("T")
_ID = re.compile(r"(?m)^\d+/\d+: ")
_WANTED: WeakKeyDictionary[Log, tuple[int, dict[int, str]]] = WeakKeyDictionary()
Facts = tuple[Fact, ...]


def facts_of(compile_: Compile, reader: Reader, own: RankIdentity) -> Facts:
    """Return the facts of a compile in the order of `course.FACETS`; empty for absent records.

    An unfinished compile has few. `own`: the rank identity, which is normalized away.
    """
    found, answers = _records(compile_, reader.log)
    get = found.get
    schedules = _keyed(reader, get(SCHEDULE, ()))
    codes = _keyed(reader, get(CODE, ()))
    graphs = _keyed(reader, get(GRAPH, ())[-1:])
    return (
        _end(compile_), _version(compile_), _settings(compile_, reader, own), _breaks(compile_), _failure(compile_),
        _schedules(compile_, reader, schedules), _devices(compile_, reader, own, graphs, get(TENSOR, ())),
        _recompile(compile_, reader, get(REASONS, ()), own),
        inputs_fact(map(reader.head, get(TENSOR, ())), map(reader.head, get(SOURCE, ())), own),
        _graph(compile_, reader, graphs, own), _guards(compile_, reader, get(GUARDS, ()), own),
        _code(compile_, reader, codes, own), _parity(compile_, reader, schedules, codes),
        plain(*(" ".join(NAMES[name]) for name in answers)) if answers else NONE,
        _estimates(compile_, reader, _keyed(reader, get(ESTIMATES, ()))),
    )  # fmt: skip


def _records(compile_: Compile, log: Log) -> tuple[dict[str, list[int]], list[str]]:
    """Return records by name, of the last attempt where there are several, and the names of cache answers."""
    known = _WANTED.get(log)
    if known is None or known[0] < len(log.kinds):
        wanted = {n: name for n, kind in enumerate(log.kinds) if (name := artifact_name(kind)) in READ}
        known = _WANTED[log] = len(log.kinds), wanted
    names, column = known[1], log.columns.kind
    last = max(compile_.attempts) if len(compile_.attempts) > 1 else 0
    found: dict[str, list[int]] = {}
    answers: list[str] = []
    for record in compile_.records:
        told = names.get(column[record])
        if told is None or (last and (log.context(record).attempt or 0) < last and told != REASONS):
            continue
        if told in NAMES:
            answers.append(told)
        elif told in found:
            found[told].append(record)
        else:
            found[told] = [record]
    return found, answers


def _keyed(reader: Reader, records: Sequence[int]) -> list[tuple[object, int]]:
    """Pair records with a content key: equal texts have equal keys."""
    return [(reader.md5(record) or (reader.log.key, record), record) for record in records]


def _end(compile_: Compile) -> Fact:
    facts = compile_.facts
    if facts.failed:
        return plain(FAILED)
    return plain(FINISHED) if facts.has_metrics and not facts.backward_unfinished else NONE


def _version(compile_: Compile) -> Fact:
    version = next((m.pytorch_version for m in compile_.metrics if m.pytorch_version), None)
    return plain(version) if version else NONE


def _settings(compile_: Compile, reader: Reader, own: RankIdentity) -> Fact:
    record = next((m.record for m in compile_.metrics if m.ends_compile), -1)
    if record < 0:
        return NONE
    dumps = dumps_in(reader.head(record))
    if not dumps:
        return NONE

    def keep(key: Hashable, make: Callable[[], T]) -> T:
        return shared(compile_, settings_fact, key, make)

    return shared(compile_, _settings, (dumps, own.name), lambda: settings_fact(dumps, own, keep))


def _breaks(compile_: Compile) -> Fact:
    if not compile_.tally.breaks:
        return NONE
    told = []
    for one in known_breaks(compile_, BREAKS):
        place = f", {one.file.rpartition('/')[2]}:{one.line}" if one.file else ""
        told.append(one.headline + place)
    return fact(told, [normalised(line)[0].encode("utf-8", "replace") for line in told])


def _failure(compile_: Compile) -> Fact:
    facts = compile_.facts
    kind = LIMITED if facts.recompile_limit else (facts.fail_type or FAILED) if facts.failed else ""
    return plain(kind) if kind else plain("backward failed") if facts.backward_failed else NONE


def _schedules(compile_: Compile, reader: Reader, schedules: Sequence[tuple[object, int]]) -> Fact:
    return _shared(compile_, _schedules, schedules, lambda: collectives_fact([reader.payload(r, LIMIT) for _, r in schedules]))


def _devices(
    compile_: Compile, reader: Reader, own: RankIdentity, graphs: Sequence[tuple[object, int]], tensors: Sequence[int]
) -> Fact:
    """Devices of its tensors that are not the rank's own, as its graph names them; of one that names none, its inputs."""
    def read() -> Fact | None:
        text = reader.text(graphs[0][1], LIMIT)
        return _others(text, own) if devices_in(text) or ']cpu"' in text else None

    found = shared(compile_, _devices, (graphs[0][0], own.name), read) if graphs else None
    if found is None:
        found = _others("\n".join(reader.head(record).decode("utf-8", "replace") for record in tensors[:64]), own)
    return found


def _others(text: str, own: RankIdentity) -> Fact:
    names = {f"{kind}:{index}" for kind, index in devices_in(text)} - {own.name}
    return fact([f"tensors on {name}" for name in sorted(names)])


def _recompile(compile_: Compile, reader: Reader, records: Sequence[int], own: RankIdentity) -> Fact:
    """Why it was compiled again. The id of the compile whose guard failed is no part of it."""
    told = [m.recompile_reason for m in compile_.metrics if m.recompile_reason]
    if not told and records:
        value = reader.json(records[-1])
        told = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if not told:
        return NONE
    lines = [line for text in told for line in _ID.sub("", text).split("\n") if line.strip()]
    told_of_any = (without_rank(normalised(line)[0]).replace(own.name or "\0", own.device) for line in lines)
    return fact(lines, [line.encode("utf-8", "replace") for line in told_of_any])


def _graph(compile_: Compile, reader: Reader, graphs: Sequence[tuple[object, int]], own: RankIdentity) -> Fact:
    if not graphs:
        return NONE
    key, record = graphs[0]
    return shared(compile_, _graph, (key, own.name), lambda: _once(compile_, graph_fact, reader.payload(record, LIMIT), own))


def _guards(compile_: Compile, reader: Reader, records: Sequence[int], own: RankIdentity) -> Fact:
    return _once(compile_, guards_fact, reader.payload(records[-1], LIMIT), own) if records else NONE


def content_of(text: bytes) -> bytes:
    """Return the digest of a text."""
    return hashlib.blake2b(text, digest_size=16).digest()


def _once(compile_: Compile, make: Callable[[bytes, RankIdentity], Fact], text: bytes, own: RankIdentity) -> Fact:
    left = bare(text, own)
    return shared(compile_, make, (content_of(left), own.name), lambda: make(left, own))


def _code(compile_: Compile, reader: Reader, codes: Sequence[tuple[object, int]], own: RankIdentity) -> Fact:
    def read(record: int) -> bytes:
        text = bare(reader.payload(record, LIMIT), own)
        return shared(compile_, code_digest, (content_of(text), own.name), lambda: code_digest(text, own))

    found = [shared(compile_, _code, (key, own.name), partial(read, record)) for key, record in codes]
    return fact([digest.hex() for digest in found]) if found else NONE


def _parity(
    compile_: Compile, reader: Reader, schedules: Sequence[tuple[object, int]], codes: Sequence[tuple[object, int]]
) -> Fact:
    def made() -> Fact:
        texts = [reader.payload(record, LIMIT) for _, record in codes]
        return parity_fact([reader.payload(record, LIMIT) for _, record in schedules], [t for t in texts if MARK in t])

    return _shared(compile_, _parity, (*schedules, *codes), made) if schedules and codes else NONE


def _estimates(compile_: Compile, reader: Reader, records: Sequence[tuple[object, int]]) -> Fact:
    def made() -> Fact:
        found = [estimates_fact(reader.payload(record, LIMIT))[0] for _, record in records]
        return fact([one.said for one in found], [one.digest for one in found])

    return _shared(compile_, _estimates, records, made)


def _shared(compile_: Compile, question: object, keyed: Sequence[tuple[object, int]], make: Callable[[], Fact]) -> Fact:
    """One answer for all that declare the same texts."""
    return shared(compile_, question, tuple(key for key, _ in keyed), make) if keyed else NONE


ORDER = "graph_execution"
AT_ONCE = 1 << 20
"""Bytes of a log, or from the first record of a compile to its last, that are read in one piece."""


class _Held:
    """Process-wide cache entry, shared by all owners of an equal value."""

    __slots__ = ("course", "facts")

    def __init__(self, facts: tuple[Fact, ...] = (), course: Course | None = None) -> None:
        self.facts = facts
        self.course = course


def course_of(process: Process) -> Course:
    """Return the course of a process. Equal courses of a run are one object."""
    return _course(process).course or Course(())


@part
def _course(process: Process, reader: Reader) -> _Held:
    if reader.log.scanned <= AT_ONCE:
        reader.hold(0, AT_ONCE)
    device = own_device(process)
    own = device or ("", -1)
    steps: list[Step] = []
    told: list[tuple[Fact, ...]] = []
    for compile_, code, number in steps_in(process):
        facts = _facts(compile_, *own).facts
        told.append(facts)
        step = (code, number, str(process.named_id(compile_.id)), str(compile_.status or ""), tuple([one[0] for one in facts]))
        steps.append(shared(process, Step, step, partial(Step, *step)))
    executed = _executed(process, reader, steps)
    return _Held(course=shared(process, Course, (tuple(steps), executed), partial(_made, steps, told, executed)))


def _made(steps: Sequence[Step], told: Sequence[tuple[Fact, ...]], executed: tuple[int, ...]) -> Course:
    return Course(tuple(steps), {one.digest: one.said for facts in told for one in facts if one.said}, executed)


@part
def _facts(compile_: Compile, reader: Reader, device: str, index: int) -> _Held:
    columns, records = reader.log.columns, compile_.records
    if records and not columns.source:
        start, end = columns.offset[records[0]], columns.offset[records[-1]] + columns.head[records[-1]]
        if end - start <= AT_ONCE:
            reader.hold(start, end - start)
    facts = facts_of(compile_, reader, _own(device, index))
    return _Held(shared(compile_, facts_of, tuple([one[0] for one in facts]), lambda: facts))


@lru_cache(maxsize=256)
def _own(device: str, index: int) -> RankIdentity:
    return RankIdentity(device, index, True)


def _executed(process: Process, reader: Reader, steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the newest execution order of graphs as indices into the course."""
    rest = process.compiles.get(NO_ID)
    records: list[int] = [record for record, _ in records_of(rest, (ORDER,))] if rest is not None else []
    if not records:
        return ()
    places = {step.id: place for place, step in enumerate(steps)}
    ran = (text_in(one, "compile_id") for one in list_in(reader.json(records[-1]), "graph_execution_order")[:EXECUTED])
    return tuple(place for compile_id in ran if compile_id is not None and (place := places.get(compile_id)) is not None)


NOTHING: Mapping[str, float] = {}
NO_FACETS = (b"",) * len(FACETS)


@part
def times_of(process: Process, reader: Reader) -> Times:
    """Return the compile times of a process, without phases."""
    begin, took = array("d"), array("f")
    for compile_, _, _ in steps_in(process):
        start, seconds = compile_.start_us, compile_.duration_s
        if not compile_.is_closed:
            open_, _ = begun(compile_)
            start, seconds = open_[0].since if open_ else start, None
        if compile_.facts.backward_unfinished:
            seconds = None
        begin.append(math.nan if start is None else start)
        took.append(math.nan if seconds is None else seconds)
    return Times(begin, took, {})


def bare_course(process: Process) -> Course:
    """Return the course of a process without facets: enough for times, without reading payloads.

    Equal courses are one object.
    """
    return _bare(process).course


class _TimesCache:
    """Something that is kept once for all who have it: of each of them it takes no room."""

    __slots__ = ("course",)

    def __init__(self, course: Course) -> None:
        self.course = course


@part
def _bare(process: Process, reader: Reader) -> _TimesCache:
    steps = tuple(
        (code, number, str(process.named_id(compile_.id)), str(compile_.status or ""))
        for compile_, code, number in steps_in(process)
    )
    return shared(process, bare_course, steps, lambda: _TimesCache(Course(tuple(Step(*own, NO_FACETS) for own in steps))))


@part
def phases_of(compile_: Compile, reader: Reader) -> dict[str, float]:
    """Map timing event names to their active seconds, forward and backward compile together.

    Events without an end in the log are excluded: their duration is unknown.
    """
    sums = Sums()
    for found in read_groups((compile_,), Seen()):
        for group in found:
            if not group.open:
                sums.add(group)
    own = sums.processes.get(id(compile_.process))
    return {name: total.total / 1e6 for name, total in own.names.items()} if own is not None else {}


class PhasesOf:
    """Phases of the compiles of a run: from its logs if present, else from the lane."""

    def __init__(self, run: Run) -> None:
        self._processes = {process.key: process for process in run.processes()}
        self._compiles: dict[str, list[Compile]] = {}

    def __call__(self, lane: Lane, place: int) -> Mapping[str, float]:
        """Return the phases of a step of a lane; {} if unknown."""
        if lane.times.phases:  # an index has them, and may have no events
            return {name: own[place] for name, own in lane.times.phases.items() if not math.isnan(own[place])}
        process = self._processes.get(lane.process)
        if process is not None:
            if lane.process not in self._compiles:
                self._compiles[lane.process] = [compile_ for compile_, _, _ in steps_in(process)]
            compiles = self._compiles[lane.process]
            return phases_of(compiles[place]) if place < len(compiles) else NOTHING
        return NOTHING
