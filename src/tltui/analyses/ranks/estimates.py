"""What torch expects the kernels of a compile to take on each rank: the sums of `estimated_runtime_ns` in the artifact
`inductor_runtime_and_tensor_meta` (`torch/_inductor/debug.py`), which tlparse compares as "runtime deltas".

They are modelled or measured on one machine at one time: that they are apart is no difference between ranks by itself.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tltui.analyses.parts import reader_of, shared
from tltui.analyses.ranks.course import Code, Lane, steps_in
from tltui.analyses.ranks.facets.schedules import estimates_fact
from tltui.analyses.ranks.ranges import ranges
from tltui.analyses.records import Reader, named
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.trace.files import Gone

ARTIFACT = "inductor_runtime_and_tensor_meta"
APART, ALIKE = 1.1, 1.01
"""How many times the fastest rank the slowest must be expected to take to be told; up to how many times a rank takes the same."""
LIMIT = 4 << 20
"""Stored bytes of an artifact that are read."""
PIECE = 16
"""Ranks that are read without a pause."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A compile whose kernels are expected to take longer on some ranks."""

    function: str
    file: str | None
    """Its name, without a directory."""
    line: int | None
    number: int
    """Which compile of the function, from 1."""
    count: int
    """Ranks of which the log has estimates."""
    slowest: str
    """Ranks that are expected to take longest, as ranges."""
    slowest_ns: float
    slowest_ref: str
    """The compile of the first of them."""
    fastest: str
    fastest_ns: float
    fastest_ref: str


def read_expected(run: Run, lanes: Sequence[Lane]) -> Generator[None, None, tuple[Expected, ...]]:
    """Compiles whose estimates are more than a tenth apart, the furthest first; with a pause after each piece. Of an index only
    what was read in full tells them."""
    processes = {process.key: process for process in run.processes()}
    found: dict[tuple[Code, int], list[tuple[float, int, str]]] = {}
    for number, lane in enumerate(lanes, 1):
        process = processes.get(lane.process)
        if process is not None and any(kind.name == ARTIFACT for kind in process.log.kinds):
            for compile_, code, which in steps_in(process):
                if total := _total(compile_):
                    found.setdefault((code, which), []).append((total, lane.rank, str(compile_.ref)))
        if number % PIECE == 0:
            yield
    told = [one for (code, which), own in found.items() if (one := _apart(code, which, own)) is not None]
    return tuple(sorted(told, key=lambda one: round(one.fastest_ns - one.slowest_ns)))


def _total(compile_: Compile) -> float:
    """Nanoseconds of all kernels of the last attempt, forward and backward; 0 where nothing tells them that is here."""
    reader, log = reader_of(compile_), compile_.process.log
    last = max(compile_.attempts, default=0)
    total = 0.0
    try:
        for record, _ in named(compile_, (ARTIFACT,)):
            if (log.context(record).attempt or 0) >= last:
                key = reader.md5(record) or (log.key, record)
                total += shared(compile_, _total, key, partial(_sum, reader, record))
    except (Gone, Elsewhere):
        return 0.0
    return total


def _sum(reader: Reader, record: int) -> float:
    return estimates_fact(reader.payload(record, LIMIT))[1]


def _apart(code: Code, which: int, own: Sequence[tuple[float, int, str]]) -> Expected | None:
    most, least = max(own)[0], min(own)[0]
    if most < APART * least:
        return None
    slow = sorted((rank, ref) for total, rank, ref in own if total * ALIKE >= most)
    fast = sorted((rank, ref) for total, rank, ref in own if total <= least * ALIKE)
    return Expected(*code, which, len(own), _ranks(slow), most, slow[0][1], _ranks(fast), least, fast[0][1])


def _ranks(own: Iterable[tuple[int, str]]) -> str:
    return ranges(rank for rank, _ in own)
