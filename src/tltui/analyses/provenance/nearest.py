"""Of a compile without generated code: why it has none, and which one near it has some."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from tltui.analyses.parts import reader_of
from tltui.analyses.problems.absent import PRESENT, absence_of
from tltui.analyses.provenance.parts import KERNELS, WRAPPER, parts_of
from tltui.analyses.records import named
from tltui.model.artifacts import OUTPUT_CODE, artifacts_of, units_of
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.model.walk import in_order

CODE = (OUTPUT_CODE, WRAPPER, KERNELS)
AT_ONCE = 64
"""Compiles that are looked at between two moments at which a reader may leave."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A compile with generated code."""

    ref: str
    what: str
    """How it is near: `the nearest compile of f with code`."""


@dataclass(frozen=True, slots=True)
class NoCode:
    """What is to be said of a compile without generated code."""

    why: str
    """A sentence without its end: `it failed in Dynamo`."""
    nearest: Nearest | None
    """None where nothing in the run has any."""


def has_lowered(compile_: Compile) -> bool:
    """Whether there is a graph, code or mapping to show side by side."""
    artifacts = artifacts_of(compile_)
    return bool(parts_of(artifacts, units_of(artifacts), reader_of(compile_)))


def has_code(compile_: Compile) -> bool:
    """Whether torch wrote generated code for it."""
    return any(True for _ in named(compile_, CODE))


def no_code(run: Run, compile_: Compile | None) -> Generator[None, None, NoCode]:
    """Why a compile has no code, and the nearest one that has: of the same function, else on its rank, else any. Without a compile
    the first one that has. Yields in between."""
    order = [*in_order(run), *(own for own in run.compiles() if own.id == NO_ID)]
    if compile_ is None:
        found = yield from _first(order)
        return NoCode("", None if found is None else Nearest(str(found.ref), "the first compile with code"))
    place = order.index(compile_) if compile_ in order else 0
    near = sorted(range(len(order)), key=lambda number: abs(number - place))
    code, name = compile_.frame.code, compile_.frame.code[0]
    rank = compile_.process.rank
    steps: list[tuple[str, Callable[[Compile], bool]]] = [
        (f"the nearest compile of {name} with code", lambda own: name is not None and own.frame.code == code),
        (f"the nearest compile on rank {rank} with code", lambda own: rank is not None and own.process.rank == rank),
        ("the nearest compile with code", lambda own: True),
    ]
    for what, wanted in steps:
        found = yield from _first([order[number] for number in near if wanted(order[number])])
        if found is not None:
            return NoCode(why_none(compile_), Nearest(str(found.ref), what))
    return NoCode(why_none(compile_), None)


def _first(compiles: list[Compile]) -> Generator[None, None, Compile | None]:
    for number, compile_ in enumerate(compiles):
        if has_code(compile_):
            return compile_
        if number % AT_ONCE == AT_ONCE - 1:
            yield
    return None


def why_none(compile_: Compile) -> str:
    """Why it has no generated code."""
    if compile_.id == NO_ID:
        return "these records belong to no compile"
    if not compile_.is_compile:
        return "a backward was captured here, and its graph is compiled under another id"
    facts, status = compile_.facts, compile_.status
    if facts.recompile_limit:
        return "the recompile limit was reached, and nothing was compiled"
    if status is Status.EAGER:
        return "torch gave the function up, and it runs in eager mode"
    if facts.interrupted:
        return "it was interrupted"
    if status is Status.RUNNING:
        return "it is still running"
    rows = (row for found in absence_of([compile_]).compiles for row in found.expected)
    reason = next((row.reason for row in rows if row.name == OUTPUT_CODE and row.state != PRESENT), None)
    if reason is not None:
        said = reason.removesuffix(", before it").replace("the compile failed", "it failed")
        return said.replace("before it", "before there was any")
    if facts.has_metrics and not facts.graph_op_count:
        return "no operations were captured" + (" before the graph break" if facts.breaks else "")
    return "torch wrote none"
