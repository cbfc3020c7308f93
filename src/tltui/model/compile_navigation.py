"""Navigation from one compile to the next: failure, break, recompile, same code on another rank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Compile, Process
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.model.status import is_visited

T = TypeVar("T")


def in_order(run: Run) -> Iterator[Compile]:
    """Yield the compiles in the order of the tree, without the nodes of records without an id."""
    for process in run.processes():
        for frame in process.frames.values():
            if frame.key != NO_ID:
                yield from frame.compiles


def has_error(compile_: Compile) -> bool:
    """Return whether a compile failed or runs in eager mode (a predicate for `next_compile`)."""
    return is_visited(compile_, "e")


def has_break(compile_: Compile) -> bool:
    """For `next_compile`: also of compiles that failed."""
    return is_visited(compile_, "b")


def next_compile(
    run: Run, current: Compile | None, matches: Callable[[Compile], bool], back: bool = False
) -> Compile | None:
    """Return the next matching compile in tree order; without a current one from the beginning (or the end)."""
    order = list(in_order(run))
    if back:
        order.reverse()
    start = order.index(current) + 1 if current in order else 0
    return next((compile_ for compile_ in order[start:] if matches(compile_)), None)


def next_in_frame(current: Compile, back: bool = False) -> Compile | None:
    """Return the compile of the same frame after (or before) this one."""
    return _after(current.frame.compiles, current, back)


def next_artifact(compile_: Compile, current: Artifact | None, back: bool = False) -> Artifact | None:
    """Return the artifact of the compile after (or before) the current one, in record order."""
    artifacts = artifacts_of(compile_)
    if current is None:
        return (artifacts[-1] if back else artifacts[0]) if artifacts else None
    records = [artifact.record for artifact in artifacts]
    place = records.index(current.record) + (-1 if back else 1) if current.record in records else 0
    return artifacts[place] if 0 <= place < len(artifacts) else None


def on_next_rank(run: Run, current: Compile, back: bool = False) -> tuple[Compile | None, str]:
    """Return the compile of the same code object on the next rank that has it, and a remark.

    The same code object: same name, file and line, and ordinal. The remark: ids differ between ranks, or there is no such compile.
    """
    processes = [rank.processes[-1] for rank in run.ranks]
    index = next((place for place, rank in enumerate(run.ranks) if current.process in rank.processes), 0)
    code, ordinal = current.frame.code, _ordinal(current)
    candidates = processes[index + 1 :] if not back else list(reversed(processes[:index]))
    if code[0] is None:
        return None, f"{current.label} has no code object to look for on other ranks"
    for passed, process in enumerate(candidates):
        same = _same_code(process, code)
        if len(same) > ordinal:
            target = same[ordinal]
            remark = "" if target.id == current.id else f"there it is {target.label}, not {current.label}"
            if passed:
                remark = f"{remark}; " * bool(remark) + f"{passed} rank(s) in between did not compile it"
            return target, remark
    if not candidates:
        return None, f"there is no rank {'before' if back else 'after'} this one"
    return None, f"no {'earlier' if back else 'further'} rank compiled {code[0]} as often"


def _same_code(process: Process, code: tuple[str | None, str | None, int | None]) -> list[Compile]:
    return [c for frame in process.frames.values() if frame.code == code for c in frame.compiles]


def _ordinal(compile_: Compile) -> int:
    return _same_code(compile_.process, compile_.frame.code).index(compile_)


def _after(items: Sequence[T], current: T, back: bool) -> T | None:
    place = items.index(current) + (-1 if back else 1)
    return items[place] if 0 <= place < len(items) else None
