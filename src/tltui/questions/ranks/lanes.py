"""Lanes: the newest process of each rank, from nodes or from a saved index, and the host it ran on."""

from __future__ import annotations

import math
import os
import sys
from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import cast
from weakref import WeakKeyDictionary

from tltui.inputs.index.format import BadIndex, dump_json, load_json
from tltui.inputs.index.indexed_log import SavedProcess
from tltui.model.nodes import Process, Rank
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.hang.open_phases import begun, last_record, launch_number
from tltui.questions.ranks.compile_facets import course_of, times_of
from tltui.questions.ranks.pace import written_us
from tltui.questions.ranks.rank_course import (
    DIGEST,
    FACETS,
    PIPELINING,
    TOGETHER_US,
    Code,
    Course,
    Lane,
    Older,
    Step,
    Times,
    steps_in,
)
from tltui.questions.stacks.tracebacks import display_name
from tltui.sources.discovery_results import Saved
from tltui.sources.saved_indexes import Crowd

_DAMAGED = "it is damaged: the compiles of a rank cannot be"
_WIDTH = DIGEST * len(FACETS)
_NONE = bytes(DIGEST)
_BIG = sys.byteorder == "big"
_UNKNOWN = -(1 << 62)
"""Stands for NaN among whole numbers."""


def pack_course(course: Course) -> bytes:
    """Serialize a course: JSON (after its length in 4 bytes), then the digests of its steps."""
    codes: dict[Code, int] = {}
    steps = [(codes.setdefault(step.code, len(codes)), step.number, step.id, step.status) for step in course.steps]
    used = {digest for step in course.steps for digest in step.facets if digest}
    texts = {digest.hex(): course.texts[digest] for digest in sorted(used) if digest in course.texts}
    data = dump_json({"facets": FACETS, "codes": list(codes), "steps": steps, "said": texts, "executed": course.executed})
    digests = b"".join(facet.ljust(DIGEST, b"\0") for step in course.steps for facet in step.facets)
    return len(data).to_bytes(4, "little") + data + digests


class Courses:
    """Reader of saved courses. Equal courses are one object, and so are equal steps of different courses."""

    def __init__(self) -> None:
        self._courses: dict[bytes, Course] = {}
        self._steps: dict[tuple[object, ...], Step] = {}
        self._texts: dict[bytes, str] = {}

    def of(self, saved: SavedProcess) -> Course:
        """Return the course of a process. Raises `BadIndex`, OSError."""
        results = self._courses.get(saved.course)
        if results is None:
            results = self.unpack(saved.course_bytes())
            if results.digest != saved.course:
                raise BadIndex(_DAMAGED, saved.index.path)
            self._courses[saved.course] = results
        return results

    def unpack(self, data: bytes) -> Course:
        """Deserialize the output of `pack_course`. Raises `BadIndex`."""
        size = int.from_bytes(data[:4], "little")
        value, digests = load_json(data[4 : 4 + size]), data[4 + size :]
        try:
            codes, rows, texts = [_code(row) for row in value["codes"]], value["steps"], value["said"]
            if tuple(value["facets"]) != FACETS or len(rows) * _WIDTH != len(digests):
                raise BadIndex(_DAMAGED)
            self._texts.update((bytes.fromhex(digest), _text(text)) for digest, text in texts.items())
            executed = tuple(value["executed"])
            if not all(type(place) is int and 0 <= place < len(rows) for place in executed):
                raise BadIndex(_DAMAGED)
            steps = tuple(self._step(codes, row, digests[n * _WIDTH : (n + 1) * _WIDTH]) for n, row in enumerate(rows))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise BadIndex(_DAMAGED) from None
        return Course(steps, self._texts, executed)

    def _step(self, codes: list[Code], row: list[object], digests: bytes) -> Step:
        code, number, id_, status = row
        if type(code) is not int or code < 0 or type(number) is not int:
            raise BadIndex(_DAMAGED)
        key = (codes[code], number, id_, status, digests)
        results = self._steps.get(key)
        if results is None:
            pieces = (digests[at : at + DIGEST] for at in range(0, _WIDTH, DIGEST))
            facets = tuple(b"" if piece == _NONE else piece for piece in pieces)
            results = self._steps[key] = Step(codes[code], number, _text(id_), _text(status), facets)
        return results


def pack_times(times: Times) -> bytes:
    """Serialize the begins and seconds of steps. Begins are mostly whole microseconds, and then stored as differences."""
    begin = times.begin
    is_whole = all(math.isnan(at) or (at == int(at) and abs(at) < 1 << 53) for at in begin)
    if is_whole:
        numbers = [_UNKNOWN if math.isnan(at) else int(at) for at in begin]
        recorded = [at for at in numbers if at != _UNKNOWN]
        before = iter((0, *recorded))
        first: array[int] | array[float] = array("q", (at if at == _UNKNOWN else at - next(before) for at in numbers))
    else:
        first = begin
    return len(begin).to_bytes(4, "little") + (b"q" if is_whole else b"d") + _stored(first) + _stored(times.took)


def pack_phases(times: Times) -> bytes:
    """Serialize the phases of steps: names as JSON (after its length in 4 bytes), then seconds."""
    names = sorted(times.phases)
    data = dump_json({"count": len(times.begin), "names": names})
    return len(data).to_bytes(4, "little") + data + b"".join(_stored(times.phases[name]) for name in names)


def times_of_saved(saved: SavedProcess) -> Times:
    """Return the times of a process; phases load on first use. Raises `BadIndex`, OSError."""
    begin, took = unpack_times(saved.times_bytes())
    return Times(begin, took, Phases(saved.phases_bytes, len(begin)))


def unpack_times(data: bytes) -> tuple[array[float], array[float]]:
    """Deserialize begins and seconds. Raises `BadIndex`."""
    count, code = int.from_bytes(data[:4], "little"), data[4:5]
    if code not in (b"q", b"d") or 5 + count * 12 != len(data):
        raise BadIndex(_DAMAGED)
    took = _loaded(array("f"), data[5 + count * 8 :])
    if code == b"d":
        return _loaded(array("d"), data[5 : 5 + count * 8]), took
    steps: array[int] = array("q")
    steps.frombytes(data[5 : 5 + count * 8])
    if _BIG:
        steps.byteswap()
    if _UNKNOWN not in steps:
        return array("d", accumulate(steps)), took
    sums = accumulate(0 if step == _UNKNOWN else step for step in steps)
    return array("d", (math.nan if step == _UNKNOWN else at for step, at in zip(steps, sums, strict=True))), took


class Phases(Mapping[str, "array[float]"]):
    """Phases of a process, read at the first access; empty if they cannot be read."""

    def __init__(self, read: Callable[[], bytes], count: int) -> None:
        self._read = read
        self._count = count
        self._phases: dict[str, array[float]] | None = None

    def _all(self) -> dict[str, array[float]]:
        if self._phases is None:
            try:
                self._phases = unpack_phases(self._read(), self._count)
            except OSError:
                self._phases = {}
        return self._phases

    def __getitem__(self, name: str) -> array[float]:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def unpack_phases(data: bytes, count: int) -> dict[str, array[float]]:
    """Deserialize the seconds of each phase in `count` steps. Raises `BadIndex`."""
    size = int.from_bytes(data[:4], "little")
    value, at = load_json(data[4 : 4 + size]), 4 + size
    names = value.get("names") if isinstance(value, dict) else None
    if not isinstance(names, list) or value.get("count") != count or at + len(names) * count * 4 != len(data):
        raise BadIndex(_DAMAGED)
    return {
        sys.intern(_text(name)): _loaded(array("f"), data[at + n * count * 4 : at + (n + 1) * count * 4])
        for n, name in enumerate(names)
    }


def _stored(column: array[int] | array[float]) -> bytes:
    if _BIG:
        column = array(column.typecode, column)
        column.byteswap()
    return column.tobytes()


def _loaded(column: array[float], data: bytes) -> array[float]:
    column.frombytes(data)
    if _BIG:
        column.byteswap()
    return column


def _code(row: list[object]) -> Code:
    name, file, line = row
    if not isinstance(name, str) or not isinstance(file, str | None) or not isinstance(line, int | None):
        raise BadIndex(_DAMAGED)
    return sys.intern(name), None if file is None else sys.intern(file), line


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadIndex(_DAMAGED)
    return value


INDEXED_PIECE = 256
"""Ranks that are read without a pause."""


class IndexedLanes:
    """Index contents of the processes of a crowd. Each is read once."""

    def __init__(self, crowd: Crowd) -> None:
        self._courses = Courses()
        self._by_name = {_name(saved): saved.process for saved in crowd.saved if saved.process is not None}
        self._newest = dict(crowd.newest)
        self._others: dict[int, list[SavedProcess]] = {}
        for saved in crowd.saved:
            if saved.rank in self._newest and saved is not self._newest[saved.rank] and saved.process is not None:
                self._others.setdefault(saved.rank, []).append(saved.process)
        self._lanes: dict[int, Lane] = {}
        self.damaged: dict[str, str] = {}
        """Index → why what it has of some ranks could not be read."""

    @property
    def ranks(self) -> list[int]:
        """Ranks in the indexes, ascending."""
        return list(self._newest)

    def of(self, process: Process) -> SavedProcess | None:
        """Return the saved state of a process that was read too; None if its log has grown since."""
        saved = self._by_name.get((process.log.path, process.pid, process.twin))
        return saved if saved is not None and saved.records == process.records else None

    def course(self, saved_process: SavedProcess) -> Course:
        """Return the course of a saved process. Raises `BadIndex`, OSError."""
        return self._courses.of(saved_process)

    def lane(self, rank: int) -> Lane | None:
        """Return the lane of a rank from its index. Raises `BadIndex`, OSError."""
        if rank not in self._lanes:
            newest = self._newest[rank]
            saved = newest.process
            if saved is None or not saved.is_traced:
                return None
            others = self._others.get(rank, [])
            place = str(Ref(rank, len(others) + 1 if others else None)).removesuffix(":")
            self._lanes[rank] = Lane(
                rank, _key(newest, saved), place if others or len(self._newest) > 1 else "", newest.host, newest.pid, saved.ended,
                True, saved.last, self.course(saved), times_of_saved(saved),
                tuple(_older_index(older, n, saved) for n, older in enumerate(others, 1)), saved.inside,
            )  # fmt: skip
        return self._lanes[rank]


_indexed: WeakKeyDictionary[Crowd, IndexedLanes] = WeakKeyDictionary()


def indexed_lanes(crowd: Crowd) -> IndexedLanes:
    """Return the index contents of a crowd, cached."""
    results = _indexed.get(crowd)
    if results is None:
        results = _indexed[crowd] = IndexedLanes(crowd)
    return results


def read_indexed_lanes(crowd: Crowd, without: frozenset[int]) -> Generator[None, None, list[Lane]]:
    """Read the lanes of all ranks not in `without`; yields after each.

    A rank whose index is unreadable is skipped and listed in `IndexedLanes.damaged`.
    """
    indexed, lanes = indexed_lanes(crowd), []
    for number, rank in enumerate(rank for rank in indexed.ranks if rank not in without):
        try:
            lane = indexed.lane(rank)
        except OSError as error:
            indexed.damaged[crowd.newest[rank].log.index] = error.strerror or str(error)
            lane = None
        if lane is not None:
            lanes.append(lane)
        if number % INDEXED_PIECE == INDEXED_PIECE - 1:
            yield
    return lanes


def _name(saved: Saved) -> tuple[str, int, int]:
    return saved.log.name, saved.pid, saved.process.twin if saved.process is not None else 0


def _key(saved: Saved, saved_process: SavedProcess) -> str:
    """Return the `Process.key` that the process has when its log is read."""
    return f"{saved.log.name}\0{saved.pid}" + (f"\0{saved_process.twin}" if saved_process.twin else "")


def _older_index(saved_process: SavedProcess, number: int, newest: SavedProcess) -> Older:
    at_once = (
        not math.isnan(saved_process.last)
        and newest.is_dated
        and newest.started > 0
        and saved_process.last - newest.started * 1e6 > TOGETHER_US
    )
    return Older(saved_process.pid, str(Ref(saved_process.rank, number)), saved_process.doing, at_once)


def with_hosts(run: Run, lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """Name lanes without a host after the directory of their log, if each directory has a few ranks."""
    folders = {process.key: os.path.dirname(process.log.path) for process in run.processes()}
    used = {folders.get(lane.process, "") for lane in lanes}
    if any(lane.host for lane in lanes) or not 1 < len(used) <= len(lanes) // 2 or "" in used:
        return tuple(lanes)
    return tuple(replace(lane, host=os.path.basename(folders[lane.process])) for lane in lanes)


PIECE = 16
"""Ranks that are read without a pause."""


def read_lanes(run: Run, course: Callable[[Process], Course] = course_of) -> Generator[None, None, tuple[Lane, ...]]:
    """Read the ranks of a run; yields after each. `course`: the function that returns a process's course."""
    chosen = _newest(run.ranks)
    if any(_is_nameless(process) for _, process in chosen):
        return ()
    indexed = indexed_lanes(run.crowd) if run.crowd is not None else None
    lanes = []
    for number, (rank, process) in enumerate(chosen, 1):
        lane = _indexed_lane(rank, process, indexed) if indexed is not None else None
        lanes.append(lane or _lane(rank, process, course(process)))
        if number % PIECE == 0:
            yield
    if run.crowd is not None:
        lanes += yield from read_indexed_lanes(run.crowd, frozenset(lane.rank for lane in lanes))
    return tuple(sorted(lanes, key=lambda lane: lane.rank))


def _newest(ranks: Sequence[Rank]) -> list[tuple[Rank, Process]]:
    """Return the numbered ranks, each with its representative process."""
    newest = [(rank, _main(rank.processes)) for rank in ranks if rank.number is not None]
    if any(process.is_traced for _, process in newest):
        newest = [(rank, process) for rank, process in newest if process.is_traced]
    launch = max((launch_number(process) for _, process in newest), default=-1)
    return [(rank, process) for rank, process in newest if launch_number(process) in (launch, -1)]


def _main(processes: Sequence[Process]) -> Process:
    """Return the newest process of a rank that is not a fork of another process of the rank."""
    same = {id(process) for process in processes}
    mains = [process for process in processes if id(process.parent) not in same] or list(processes)
    return mains[-1]


def _is_nameless(process: Process) -> bool:
    """Return whether a text input has compiles without function names."""
    frames = () if process.is_traced else process.frames.values()
    return any(
        frame.is_guessed or frame.code[0] is None for frame in frames if any(compile_.is_compile for compile_ in frame.compiles)
    )


def _lane(rank: Rank, process: Process, course: Course) -> Lane:
    last = last_record(process) if process.is_traced else None
    return Lane(
        cast(int, rank.number), process.key, _address(process), "", process.pid,
        process.log.ended, process.is_traced, math.nan if last is None else last, course, times_of(process),
        tuple(_older(other, process) for other in rank.processes if _is_older(other, process)), inside_of(process),
        is_pipelined(process), written_us(process.log),
    )  # fmt: skip


def _indexed_lane(rank: Rank, process: Process, index: IndexedLanes) -> Lane | None:
    """Make the lane of a loaded process from its index, without texts that only logs have.

    None if no index has it, or if the index is damaged.
    """
    saved = index.of(process)
    if saved is None:
        return None
    try:
        course_and_times = index.course(saved), times_of_saved(saved)
    except OSError as error:
        index.damaged[saved.index.path] = error.strerror or str(error)
        return None
    return Lane(
        cast(int, rank.number), process.key, _address(process), saved.host, process.pid, process.log.ended, saved.is_traced,
        saved.last, *course_and_times,
        tuple(_older(other, process) for other in rank.processes if _is_older(other, process)), saved.inside,
        is_pipelined(process), written_us(process.log),
    )  # fmt: skip


def is_pipelined(process: Process) -> bool:
    """Return whether a stack in its log goes through a pipeline: torch writes the name of each file of a stack once."""
    return any(PIPELINING in text for text in process.strings.values())


def _is_older(process: Process, newest: Process) -> bool:
    return process is not newest and process.is_traced and process.parent is None and newest.parent is not process


def _older(process: Process, newest: Process) -> Older:
    last = last_record(process)
    at_once = last is not None and newest.is_dated and newest.started > 0 and last - newest.started * 1e6 > TOGETHER_US
    return Older(process.pid, str(process.ref), left_in(process), at_once)


def left_in(process: Process) -> str:
    """Return the compile in which a log ends, `block1 [1/0]`; '' if the last one finished."""
    steps = steps_in(process)
    if not process.log.ended or not steps or steps[-1][0].is_closed:
        return ""
    compile_, code, _ = steps[-1]
    return f"{display_name(compile_.frame) or code[0]} {compile_.label}"


def _address(process: Process) -> str:
    """Return the address prefix of a process: `7`, `7.2`."""
    return str(process.ref).removesuffix(":")


def inside_of(process: Process) -> tuple[str, ...]:
    """Name the phases that are open in the last compile, or in the backward of the newest one whose backward has no end."""
    if not process.is_traced:
        return ()
    compiles = [compile_ for compile_ in reversed(process.compiles.values()) if compile_.is_compile]
    if compiles and compiles[0].is_closed:
        compiles = [compile_ for compile_ in compiles if compile_.facts.backward_running or compile_.facts.backward_unfinished]
    return tuple(phase.name for phase in begun(compiles[0])[0]) if compiles else ()
