"""Courses and times as bytes, for a saved index, and back.

What comes out of bytes is held against what it may be: an index may have been written by anybody. Numbers are little endian.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from tltui.analyses.ranks.course import DIGEST, FACETS, Code, Course, Step, Times
from tltui.inputs.index.format import BadIndex, dump_json, load_json
from tltui.inputs.index.reader import SavedProcess

_DAMAGED = "it is damaged: what a rank did cannot be"
_WIDTH = DIGEST * len(FACETS)
_NONE = bytes(DIGEST)
_BIG = sys.byteorder == "big"
_UNKNOWN = -(1 << 62)
"""Stands for NaN among whole numbers."""


def pack_course(course: Course) -> bytes:
    """A course: JSON (its length in 4 bytes before it), then the digests of its steps."""
    codes: dict[Code, int] = {}
    steps = [(codes.setdefault(step.code, len(codes)), step.number, step.id, step.status) for step in course.steps]
    told = {digest for step in course.steps for digest in step.facets if digest}
    said = {digest.hex(): course.said[digest] for digest in sorted(told) if digest in course.said}
    data = dump_json({"facets": FACETS, "codes": list(codes), "steps": steps, "said": said, "executed": course.executed})
    digests = b"".join(facet.ljust(DIGEST, b"\0") for step in course.steps for facet in step.facets)
    return len(data).to_bytes(4, "little") + data + digests


class Courses:
    """Makes courses from bytes. Equal ones are one object, and so are equal steps of different ones."""

    def __init__(self) -> None:
        self._courses: dict[bytes, Course] = {}
        self._steps: dict[tuple[object, ...], Step] = {}
        self._said: dict[bytes, str] = {}

    def of(self, saved: SavedProcess) -> Course:
        """The course of a process. Raises `BadIndex`, OSError."""
        found = self._courses.get(saved.course)
        if found is None:
            found = self.unpack(saved.course_bytes())
            if found.digest != saved.course:
                raise BadIndex(_DAMAGED, saved.index.path)
            self._courses[saved.course] = found
        return found

    def unpack(self, data: bytes) -> Course:
        """What `pack_course` was given. Raises `BadIndex`."""
        size = int.from_bytes(data[:4], "little")
        value, digests = load_json(data[4 : 4 + size]), data[4 + size :]
        try:
            codes, rows, said = [_code(row) for row in value["codes"]], value["steps"], value["said"]
            if tuple(value["facets"]) != FACETS or len(rows) * _WIDTH != len(digests):
                raise BadIndex(_DAMAGED)
            self._said.update((bytes.fromhex(digest), _text(text)) for digest, text in said.items())
            executed = tuple(value["executed"])
            if not all(type(place) is int and 0 <= place < len(rows) for place in executed):
                raise BadIndex(_DAMAGED)
            steps = tuple(self._step(codes, row, digests[n * _WIDTH : (n + 1) * _WIDTH]) for n, row in enumerate(rows))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise BadIndex(_DAMAGED) from None
        return Course(steps, self._said, executed)

    def _step(self, codes: list[Code], row: list[object], digests: bytes) -> Step:
        code, number, id_, status = row
        if type(code) is not int or code < 0 or type(number) is not int:
            raise BadIndex(_DAMAGED)
        key = (codes[code], number, id_, status, digests)
        found = self._steps.get(key)
        if found is None:
            pieces = (digests[at : at + DIGEST] for at in range(0, _WIDTH, DIGEST))
            facets = tuple(b"" if own == _NONE else own for own in pieces)
            found = self._steps[key] = Step(codes[code], number, _text(id_), _text(status), facets)
        return found


def pack_times(times: Times) -> bytes:
    """Begins and seconds of the steps. Begins are mostly whole microseconds, and then stored as distances."""
    begin = times.begin
    whole = all(math.isnan(at) or (at == int(at) and abs(at) < 1 << 53) for at in begin)
    if whole:
        numbers = [_UNKNOWN if math.isnan(at) else int(at) for at in begin]
        known = [at for at in numbers if at != _UNKNOWN]
        before = iter((0, *known))
        first: array[int] | array[float] = array("q", (at if at == _UNKNOWN else at - next(before) for at in numbers))
    else:
        first = begin
    return len(begin).to_bytes(4, "little") + (b"q" if whole else b"d") + _stored(first) + _stored(times.took)


def pack_phases(times: Times) -> bytes:
    """The phases of the steps: their names as JSON (its length in 4 bytes before it), then their seconds."""
    names = sorted(times.phases)
    data = dump_json({"count": len(times.begin), "names": names})
    return len(data).to_bytes(4, "little") + data + b"".join(_stored(times.phases[name]) for name in names)


def times_of_saved(saved: SavedProcess) -> Times:
    """The times of a process; its phases are read when somebody asks for them. Raises `BadIndex`, OSError."""
    begin, took = unpack_times(saved.times_bytes())
    return Times(begin, took, Phases(saved.phases_bytes, len(begin)))


def unpack_times(data: bytes) -> tuple[array[float], array[float]]:
    """Begins and seconds. Raises `BadIndex`."""
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
    """The phases of a process, read when they are asked for the first time. What cannot be read counts as not known."""

    def __init__(self, read: Callable[[], bytes], count: int) -> None:
        self._read = read
        self._count = count
        self._found: dict[str, array[float]] | None = None

    def _all(self) -> dict[str, array[float]]:
        if self._found is None:
            try:
                self._found = unpack_phases(self._read(), self._count)
            except OSError:
                self._found = {}
        return self._found

    def __getitem__(self, name: str) -> array[float]:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def unpack_phases(data: bytes, count: int) -> dict[str, array[float]]:
    """Name → seconds, of `count` steps. Raises `BadIndex`."""
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
