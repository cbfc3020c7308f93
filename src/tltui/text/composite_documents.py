"""Documents made of others: concatenated, a range of lines, or built piece by piece."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tltui.text import tokens
from tltui.text.document import Builder, Document, Hit, Line, Options, Section, TextDocument


class DocumentChain:
    """A `Document` made of parts. All parts but the last must be complete, so that growth stays at the end."""

    def __init__(self, ref: str, title: str, parts: Sequence[Document], badge: str = "") -> None:
        self.ref = ref
        self.title = title
        self.language = ""
        self.badge = badge
        self._parts = list(parts)
        self._starts = [0]
        for part in self._parts[:-1]:
            self._starts.append(self._starts[-1] + len(part))

    @property
    def version(self) -> int:
        """Grows with the last part."""
        return self._parts[-1].version

    @property
    def complete(self) -> bool:
        """Whether the last part is."""
        return self._parts[-1].complete

    def __len__(self) -> int:
        return self._starts[-1] + len(self._parts[-1])

    def _at(self, n: int) -> tuple[Document, int]:
        for part, start in zip(reversed(self._parts), reversed(self._starts), strict=True):
            if n >= start:
                return part, n - start
        raise IndexError(n)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        part, offset = self._at(n)
        return part.line(offset, lo, hi)

    def length(self, n: int) -> int:
        part, offset = self._at(n)
        return part.length(offset)

    def width(self) -> int:
        return max(part.width() for part in self._parts)

    def advance(self, size: int = 4 << 20) -> bool:
        return self._parts[-1].advance(size)

    def sections(self) -> Sequence[Section]:
        return [
            replace(section, first=section.first + start, last=section.last + start)
            for part, start in zip(self._parts, self._starts, strict=True)
            for section in part.sections()
        ]

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit | None]:
        pairs = list(zip(self._parts, self._starts, strict=True))
        for part, first in reversed(pairs) if back else pairs:
            offset = start - first
            if back and offset < 0:
                continue
            if not back and first != self._starts[-1] and offset >= len(part):
                continue
            begin = min(offset, len(part) - 1) if back and part is not self._parts[-1] else max(offset, 0)
            for hit in part.find(pattern, begin, back):
                yield None if hit is None else replace(hit, line=hit.line + first)

    def anchor(self, n: int) -> str:
        return str(n + 1)

    def where(self, anchor: str) -> int | None:
        return int(anchor) - 1 if anchor.isdigit() and 0 < int(anchor) <= len(self) else None

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        for part, start in zip(self._parts, self._starts, strict=True):
            last = part is self._parts[-1]
            stop = None if hi is None else hi - start
            if stop is not None and stop <= 0:
                return
            if last or lo < start + len(part):
                yield from part.text(max(lo - start, 0), stop if last else min(len(part), stop or len(part)))

    def data(self) -> object | None:
        return None


class DocumentPart:
    """The lines `lines` of a document, in that order."""

    version = 0
    complete = True

    def __init__(self, base: Document, lines: Sequence[int]) -> None:
        self.ref, self.title, self.language, self.badge = base.ref, base.title, base.language, base.badge
        self._base = base
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        return self._base.line(self._lines[n], lo, hi)

    def length(self, n: int) -> int:
        return self._base.length(self._lines[n])

    def width(self) -> int:
        return self._base.width()

    def advance(self, size: int = 4 << 20) -> bool:
        return self._base.advance(size)

    def sections(self) -> Sequence[Section]:
        return ()

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit]:
        for n in range(start, -1, -1) if back else range(start, len(self)):
            hits = [Hit(n, m.start(), m.end()) for m in pattern.finditer(self.line(n).text) if m.end() > m.start()]
            yield from reversed(hits) if back else hits

    def anchor(self, n: int) -> str:
        return self._base.anchor(self._lines[n])

    def where(self, anchor: str) -> int | None:
        line = self._base.where(anchor)
        return self._lines.index(line) if line is not None and line in self._lines else None

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        lines = self._lines[lo:hi]
        if isinstance(lines, range):
            yield from self._base.text(lines.start, lines.stop)
        else:
            for n in lines:
                yield from self._base.text(n, n + 1)

    def data(self) -> object | None:
        return None


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
        document = builder.growing()
        super().__init__(ref, document.title, complete=False)
        self.lines, self.anchors, self.section_list = document.lines, document.anchors, document.section_list
        self.orders, self.all_orders, self.absent_orders = document.orders, document.all_orders, document.absent_orders
        self.chart_seconds = document.chart_seconds
        self._pieces = fill(builder)
        self._work(SLICE)

    def stop(self) -> None:
        """Cancel the work in progress and report that the document is incomplete."""
        if not self.complete:
            self.is_stopped = True
            self._pieces.close()
            self._builder.close(0)
            self._builder.blank()
            self._builder.add(("Stopped. This page is incomplete.", tokens.WARN))
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
