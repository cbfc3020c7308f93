"""Some lines of a document as a document: what a filter leaves, for export."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tltui.text.document import Document, Hit, Line, Section


class Part:
    """The lines `lines` of a document, in that order."""

    version = 0
    complete = True

    def __init__(self, whole: Document, lines: Sequence[int]) -> None:
        self.ref, self.title, self.language, self.badge = whole.ref, whole.title, whole.language, whole.badge
        self._whole = whole
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        return self._whole.line(self._lines[n], lo, hi)

    def length(self, n: int) -> int:
        return self._whole.length(self._lines[n])

    def width(self) -> int:
        return self._whole.width()

    def advance(self, size: int = 4 << 20) -> bool:
        return self._whole.advance(size)

    def sections(self) -> Sequence[Section]:
        return ()

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit]:
        for n in range(start, -1, -1) if back else range(start, len(self)):
            hits = [Hit(n, m.start(), m.end()) for m in pattern.finditer(self.line(n).text) if m.end() > m.start()]
            yield from reversed(hits) if back else hits

    def anchor(self, n: int) -> str:
        return self._whole.anchor(self._lines[n])

    def where(self, anchor: str) -> int | None:
        line = self._whole.where(anchor)
        return self._lines.index(line) if line is not None and line in self._lines else None

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        lines = self._lines[lo:hi]
        if isinstance(lines, range):
            yield from self._whole.text(lines.start, lines.stop)
        else:
            for n in lines:
                yield from self._whole.text(n, n + 1)

    def data(self) -> object | None:
        return None
