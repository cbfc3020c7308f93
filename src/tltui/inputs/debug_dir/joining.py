"""Which compile a unit of a debug directory is of.

`output_code.py` is byte for byte the payload of the trace's `inductor_output_code`, of which the record declares the md5: no
payload of the trace is read. Where none has it (an edited file, another version of torch) the AOT id and direction of the code's
first line are left, and the order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

U = TypeVar("U")
C = TypeVar("C")


class How(Enum):
    """By what a unit was found to be of a compile."""

    CODE = "the same generated code"
    ORDER = "by order"


@dataclass(frozen=True, slots=True)
class UnitCode(Generic[U]):
    """The generated code of a unit."""

    unit: U
    md5: str
    aot_id: tuple[int, str] | None
    """AOT id and direction; None where nothing says them."""


@dataclass(frozen=True, slots=True)
class TraceCode(Generic[C]):
    """A record of generated code of the trace of the same process."""

    compile: C
    record: int
    md5: str
    """As the record declares it."""
    aot_id: Callable[[], tuple[int, str] | None]
    """AOT id and direction as the first line of the code has them: asked only where no md5 is the same."""


@dataclass(frozen=True, slots=True)
class Joined(Generic[C]):
    """The compile of a unit."""

    compile: C
    record: int
    """Its record of generated code."""
    how: How


def join(units: Iterable[UnitCode[U]], codes: Iterable[TraceCode[C]]) -> dict[U, Joined[C]]:
    """Unit → compile, both in the order in which they were made. Units that nothing is found for are left out.

    The same code may have been generated several times: then the first unit is that of the first record. The code of one record is
    that of one unit.
    """
    units, codes = list(units), sorted(codes, key=lambda code: code.record)
    by_md5: dict[object, deque[TraceCode[C]]] = {}
    for code in codes:
        by_md5.setdefault(code.md5.lower(), deque()).append(code)
    found: dict[U, Joined[C]] = {}
    taken: set[int] = set()
    for unit in units:
        if same := by_md5.get(unit.md5):
            code = same.popleft()
            taken.add(code.record)
            found[unit.unit] = Joined(code.compile, code.record, How.CODE)
    left = [unit for unit in units if unit.unit not in found and unit.aot_id is not None]
    if not left:
        return found
    by_id: dict[tuple[int, str] | None, deque[TraceCode[C]]] = {}
    for code in codes:
        if code.record not in taken:
            by_id.setdefault(code.aot_id(), deque()).append(code)
    for unit in left:
        if same := by_id.get(unit.aot_id):
            code = same.popleft()
            found[unit.unit] = Joined(code.compile, code.record, How.ORDER)
    return found
