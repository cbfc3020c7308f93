"""Several documents one after the other, as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tltui.text.document import Document, Hit, Line, Section


class Chain:
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
        part, own = self._at(n)
        return part.line(own, lo, hi)

    def length(self, n: int) -> int:
        part, own = self._at(n)
        return part.length(own)

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
            own = start - first
            if back and own < 0:
                continue
            if not back and first != self._starts[-1] and own >= len(part):
                continue
            begin = min(own, len(part) - 1) if back and part is not self._parts[-1] else max(own, 0)
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
