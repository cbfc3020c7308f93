"""Whose turn it is to be looked at, where there may be thousands of files and each look costs a network file system something.

What changed a short while ago is looked at each time, what has been quiet for long only now and then, and never more than so many
of them together. A turn that was passed over comes first the next time, so that none waits for ever.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

SOON = 0.5
"""Seconds between two looks at what changes."""
LIVELY = 10.0
"""Seconds without a change after which something is quiet."""
SLOWER = 6
"""Of the seconds for which something has been quiet, the part after which it is looked at again."""
SELDOM = 10.0
"""Seconds between two looks at what has been quiet for long."""
FOR_QUIET = 0.25
"""The part of all looks that is kept for what is quiet, however much is lively."""


@dataclass(slots=True)
class _Turn:
    due: float
    changed: float
    """When it was last seen to have changed."""


class Turns(Generic[K]):
    """When each of some things is to be looked at again. All times are seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._turns: dict[K, _Turn] = {}

    def add(self, key: K, now: float, quiet: float = 0.0) -> None:
        """Something more to look at, from now on. `quiet`: for how many seconds it has not changed."""
        self._turns[key] = _Turn(now, now - quiet)

    def drop(self, key: K) -> None:
        """Nobody needs to look at it any more."""
        self._turns.pop(key, None)

    def __contains__(self, key: K) -> bool:
        return key in self._turns

    def quiet(self, key: K, now: float) -> float:
        """For how many seconds something has not changed."""
        return now - self._turns[key].changed

    def take(self, now: float, most: int) -> list[K]:
        """What is to be looked at now, at most `most`: what is lively first, of that what has waited for longest."""
        due = [(turn.due, key) for key, turn in self._turns.items() if turn.due <= now]
        if len(due) <= most:
            return [key for _, key in due]
        lively = [item for item in due if now - self._turns[item[1]].changed < LIVELY]
        quiet = [item for item in due if now - self._turns[item[1]].changed >= LIVELY]
        for_quiet = min(len(quiet), max(int(most * FOR_QUIET), most - len(lively), 1))
        chosen = nsmallest(most - for_quiet, lively, key=_due) + nsmallest(for_quiet, quiet, key=_due)
        return [key for _, key in chosen]

    def looked(self, key: K, now: float, changed: bool) -> None:
        """It was looked at, and had changed or not."""
        turn = self._turns.get(key)
        if turn is None:
            return
        if changed:
            turn.changed = now
        turn.due = now + min(max((now - turn.changed) / SLOWER, SOON), SELDOM) - SOON / 10


def _due(item: tuple[float, object]) -> float:
    return item[0]
