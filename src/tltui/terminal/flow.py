"""When the next frame may be drawn: not before the terminal has said that it is done with the one before.

Over a slow line a program writes faster than the line takes, and what it drew keeps coming long after the last key. How much is
under way no system call tells; the terminal's own answer does: a question behind each frame (see `driver.py`), and no frame until
it is answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 2.0
"""Seconds that a frame waits for the answer to the one before."""
LOST = 10.0
"""Seconds after which an answer does not come any more."""


class Flow:
    """Knows whether the terminal answers, and whether it owes an answer. A terminal that never answered is never waited for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers = False
        self._asked: float | None = None
        self._drawn = 0.0
        self._lost = 0

    def begin(self) -> None:
        """The terminal is ours, now or again: what it owed was for somebody else."""
        self._asked = None

    def answered(self) -> None:
        """It has answered."""
        self._answers, self._asked, self._lost = True, None, 0

    def wait(self) -> float:
        """Seconds until a frame may be drawn, unless an answer comes before; 0 for now."""
        if self._asked is None or not self._answers:
            return 0.0
        now = self._clock()
        if now - self._asked >= LOST:
            self._asked, self._lost = None, self._lost + 1
            self._answers = self._lost < 2
            return 0.0
        # what is late is not waited for, but nothing is gained by writing faster
        return max(max(self._asked, self._drawn) + PATIENCE - now, 0.0)

    def drawn(self) -> bool:
        """A frame is written. Whether the terminal is to be asked behind it: one answer at a time."""
        self._drawn = self._clock()
        if not self._answers or self._asked is not None:
            return False
        self._asked = self._drawn
        return True
