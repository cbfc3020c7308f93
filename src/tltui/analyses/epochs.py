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
    """Compiles of functions that had been compiled as often in an earlier epoch of their process: the first of an epoch, and its
    recompiles as far as there had been as many before."""
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
            if frame.code[0] is not None:
                compiles = [compile_ for compile_ in frame.compiles if compile_.is_compile]
                if frame.key.epoch > 1:
                    again += compiles[: before.get(frame.code, 0)]
                before[frame.code] = max(before.get(frame.code, 0), len(compiles))
    return Forgotten(
        max(process.epochs for process in several),
        len(again),
        sum(compile_.tally.seconds for compile_ in again),
        len({compile_.frame.code for compile_ in again}),
        str(again[-1].ref) if again else "",
    )
