"""A page that is made piece by piece: its first lines are there at once, the rest while somebody reads them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TypeVar

from tltui.text import tokens
from tltui.text.document import Builder, Options, TextDocument

SLICE = 0.02
"""Seconds of work in one `advance`."""

B = TypeVar("B", bound=Builder)


class GrowingDocument(TextDocument):
    """A `TextDocument` whose `fill` adds lines to the builder and yields after each piece.

    What `fill` returns at its end is the frozen result that `data()` gives. `make` is the `Builder` to fill, or a kind
    of it.
    """

    __slots__ = ("_builder", "_pieces", "is_stopped")

    def __init__(
        self,
        ref: str,
        title: str,
        options: Options,
        fill: Callable[[B], Generator[None, None, object]],
        make: Callable[[str, str, Options], B] = Builder,  # type: ignore[assignment]
    ) -> None:
        builder = make(ref, title, options)
        self._builder: Builder = builder
        self.is_stopped = False
        made = builder.growing()
        super().__init__(ref, made.title, complete=False)
        self.lines, self.anchors, self.section_list = made.lines, made.anchors, made.section_list
        self._pieces = fill(builder)
        self._work(SLICE)

    def stop(self) -> None:
        """Nobody wants the rest: end what is at work, and say that there would be more."""
        if not self.complete:
            self.is_stopped = True
            self._pieces.close()
            self._builder.close(0)
            self._builder.blank()
            self._builder.add(("Stopped here: this page is not complete.", tokens.WARN))
            self._end(None)

    def advance(self, size: int = 0) -> bool:
        return self.complete or self._work(SLICE)

    def _work(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                next(self._pieces)
            except StopIteration as stop:
                self._end(stop.value)
                return True
        self.version += 1
        return False

    def _end(self, result: object) -> None:
        self._builder.document()
        self.result = result
        self.complete = True
        self.version += 1
