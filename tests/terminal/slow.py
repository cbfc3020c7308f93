"""A terminal behind a slow line: bytes come at a rate, and what they ask is answered when they have come, later, or never."""

from __future__ import annotations

import os
import time

from terminal import Terminal

RATE = 20_000
"""Bytes a second: a busy bastion host, a VPN over a telephone."""


class SlowTerminal(Terminal):
    """Takes 200 bytes in 10 ms, and no more."""

    most = 200
    late: float | None = 0.0
    """Seconds until a question is answered, from the second one on; None: none is ever."""
    _due: tuple[tuple[float, bytes], ...] = ()
    _questions = 0

    @property
    def frames(self) -> int:
        """Frames that have come whole: behind each stands a question."""
        return self.raw.count(b"\x1b[5n")

    def read(self) -> bytes:
        data = super().read()
        time.sleep(len(data) / RATE)
        return data

    def pump(self, seconds: float) -> int:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            os.write(self.descriptor, self._due[0][1])
            self._due = self._due[1:]
        return super().pump(min(seconds, self._due[0][0] - now) if self._due else seconds)

    def answer(self, asked: bytes, mode: bytes | None) -> bytes | None:
        found = super().answer(asked, mode)
        if asked not in (b"\x1b[5n", b"\x1b[6n"):
            return found
        self._questions += 1
        if self.late is None:
            return None
        if not self.late or self._questions <= 2 or found is None:
            return found
        self._due += ((time.monotonic() + self.late, found),)
        return None
