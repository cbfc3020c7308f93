"""Lines of a block of text that contain one of some texts, searched text by text: far faster than line by line."""

from __future__ import annotations

from collections.abc import Iterable


class LinePlaces:
    """The beginnings of such lines in a block, asked for in ascending order."""

    def __init__(self, data: bytes, needles: Iterable[bytes]) -> None:
        begins = set()
        for needle in needles:
            at = data.find(needle)
            while at >= 0:
                begins.add(data.rfind(b"\n", 0, at) + 1)
                at = data.find(needle, at + len(needle))
        self._begins = sorted(begins)
        self._begins.append(len(data) + 1)
        self._next = 0

    def after(self, at: int) -> int:
        """Return the beginning of the first such line from `at` on; behind the block if no such line follows."""
        while self._begins[self._next] < at:
            self._next += 1
        return self._begins[self._next]
