"""A pseudo-terminal with a stop watch: keys in, bytes out, as a user sees them."""

from __future__ import annotations

import os
import select
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "terminal"))

from terminal import Gone, Terminal, key_bytes

IDLE = 0.2
"""Seconds of silence after which an answer is complete."""
PAUSE = 0.025
"""Seconds of silence between the parts of an answer (the tree moves, then the document follows)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The output after a key; times are seconds since the key."""

    first: float
    """To the first byte."""
    near: float
    """To the end of the first part."""
    last: float
    """To the last byte."""
    near_bytes: int
    bytes: int


class Probe(Terminal):
    """A terminal with a stop watch. What comes is drawn only when the answer is complete, so that drawing is not measured."""

    def send(self, key: str, *, idle: float = IDLE, limit: float = 20.0) -> Answer:
        """Press a key and wait for the whole answer."""
        self.drain()
        begin = time.perf_counter()
        os.write(self.descriptor, key_bytes(key))
        chunks: list[tuple[float, bytes]] = []
        while time.perf_counter() - begin < limit:
            # the first byte may take longer than the silence that ends an answer
            if not select.select([self.descriptor], [], [], idle if chunks else max(idle, 1.0))[0]:
                break
            data = self.read()
            chunks.append((time.perf_counter() - begin, data))
        for _, data in chunks:
            self.draw(data)
        return _answer(chunks)

    def drain(self, idle: float = 0.05) -> None:
        """Read pending output, for 2 s at most."""
        end = time.perf_counter() + 2
        while time.perf_counter() < end and select.select([self.descriptor], [], [], idle)[0]:
            self.draw(self.read())

    def settle(self) -> None:
        """Wait until output stops."""
        self.drain(0.5)

    def first_frame(self) -> float:
        """Return the seconds from the start until something is drawn."""
        while sum(bool(line.strip()) for line in self.screen.display) < 3:
            self.pump(10)
        return self.now()

    def now(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.started

    def memory(self) -> int:
        """Return the peak resident bytes of the program."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        raise OSError("no VmHWM")


def _answer(chunks: Sequence[tuple[float, bytes]]) -> Answer:
    if not chunks:
        return Answer(0.0, 0.0, 0.0, 0, 0)
    near, near_bytes = chunks[0][0], 0
    for at, data in chunks:
        if at - near > PAUSE:
            break
        near, near_bytes = at, near_bytes + len(data)
    return Answer(chunks[0][0], near, chunks[-1][0], near_bytes, sum(len(data) for _, data in chunks))


def median(answers: Sequence[Answer], figure: str) -> float:
    """Return the median of one figure of the answers with output."""
    return statistics.median(getattr(answer, figure) for answer in answers if answer.bytes)


def worst(answers: Sequence[Answer], figure: str) -> float:
    """Return the maximum of one figure."""
    return max(getattr(answer, figure) for answer in answers)


__all__ = ["Answer", "Gone", "Probe", "median", "worst"]
