"""What `torch._dynamo.reset()` cost: functions that were compiled again because all compiles had been thrown away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tltui.model.nodes import Process


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Where ids began again, torch had thrown away what it had compiled."""

    epochs: int
    """Of the process with most of them."""
    compiles: int
    """First compiles of a function in an epoch that had been compiled in an earlier one of its process."""
    seconds: float
    """What these took."""
    functions: int
    newest: str
    """The address of the newest of them, '' for none."""


def forgotten(processes: Iterable[Process]) -> Forgotten | None:
    """Sum up the epochs of some processes; None where no ids began again."""
    several = [process for process in processes if process.epochs > 1]
    if not several:
        return None
    again = []
    for process in several:
        before: dict[tuple[str | None, str | None, int | None], int] = {}
        for frame in process.frames.values():
            code, first = frame.code, frame.compiles[0]
            if code[0] is not None and first.is_compile and before.setdefault(code, frame.key.epoch) < frame.key.epoch:
                again.append(first)
    return Forgotten(
        max(process.epochs for process in several),
        len(again),
        sum(compile_.tally.seconds for compile_ in again),
        len({compile_.frame.code for compile_ in again}),
        str(again[-1].ref) if again else "",
    )
