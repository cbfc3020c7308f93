"""The course of a process: what each of its compiles amounts to, from its log."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from tltui.analyses.compare.own_device import own_device
from tltui.analyses.parts import part, shared
from tltui.analyses.ranks.course import EXECUTED, Course, Step, steps_in
from tltui.analyses.ranks.facets.fact import Fact
from tltui.analyses.ranks.facets.of_compile import facts_of
from tltui.analyses.records import Reader, list_in, named, text_in
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID
from tltui.text.diff.own import Own

ORDER = "graph_execution"
AT_ONCE = 1 << 20
"""Bytes of a log, or from the first record of a compile to its last, that are read in one piece."""


class _Held:
    """Something that is kept once for all who have it: of each of them it takes no room."""

    __slots__ = ("course", "facts")

    def __init__(self, facts: tuple[Fact, ...] = (), course: Course | None = None) -> None:
        self.facts = facts
        self.course = course


def course_of(process: Process) -> Course:
    """What a process compiled. Equal courses of a run are one object."""
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
def _own(device: str, index: int) -> Own:
    return Own(device, index, True)


def _executed(process: Process, reader: Reader, steps: Sequence[Step]) -> tuple[int, ...]:
    """The newest record of the order in which graphs ran, as places in the course."""
    rest = process.compiles.get(NO_ID)
    records: list[int] = [record for record, _ in named(rest, (ORDER,))] if rest is not None else []
    if not records:
        return ()
    places = {step.id: place for place, step in enumerate(steps)}
    ran = (text_in(one, "compile_id") for one in list_in(reader.json(records[-1]), "graph_execution_order")[:EXECUTED])
    return tuple(place for compile_id in ran if compile_id is not None and (place := places.get(compile_id)) is not None)
