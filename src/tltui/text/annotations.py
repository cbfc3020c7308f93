"""A graph or generated code without its annotations: types, freed buffers, size checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tltui.text import tokens
from tltui.text.document import Document, Hit, Line, Section, Span
from tltui.text.lru import Lru
from tltui.text.search.child_process import is_simple

LONGEST = 4096
"""Columns of a line from which nothing is left out: of longer ones no more than a part is read at a time."""
KEPT = 1 << 20
"""Characters of lines that are kept as they are shown."""
Columns = tuple[tuple[int, int], ...]
"""First (inclusive) and last (exclusive) columns of parts of a line, ascending."""

_STRING = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
_PARTS = re.compile(
    r"(?<=[\w)])(?P<type>: ?\"[^\"]*\")(?=\s*[=,)]|$)"
    r"|(?<=\w)(?P<bare>: (?:Sym\([^()]*\)|[a-z]+\d+\[[^\]]*\](?:\[[^\]]*\])?[\w:]*))(?=\s*[=,)])"
    rf"|(?<![\w.])(?P<ops>torch\.ops\.)(?=\w+\.)|{_STRING}"
)
"""`: "f32[8, 32][32, 1]cpu"` behind a name, before torch 2.5 without quotes; `torch.ops.` before `aten.add.Tensor`. Other
strings are passed over whole."""
_FILE = re.compile(r"\s*# (?P<before>File: (?:[^,]*[/\\])?)[^,/\\]+:\d+(?= in |, code:|$)")
"""`# File: /home/user/models/mlp.py:18 in attend, code: …` above nodes: up to the name of the file."""
_FREED = re.compile(r";\s+(?:[A-Za-z_]\w* = )+None\s*$")
_ASIDE = re.compile(r"\s*(?:assert_size_stride|assert_alignment|assert_numel)\(|\s*del \w+(?:, \w+)*\s*(?:#.*)?$")
"""Lines of generated code that compute nothing: checks of the inputs, and what is freed."""
INDENT = 4
"""Columns that the lines of a graph are indented by, as it is printed as a class."""
GRAPHS = frozenset(("fx",))
CODE = frozenset(("output_code", "python", "cpp"))


def left_out(language: str, text: str) -> Columns:
    """Return the columns of a line that are not needed to read its computation."""
    if language not in GRAPHS:
        return ()
    columns = [(0, INDENT)] if text.startswith(" " * INDENT) else []
    if text.lstrip().startswith("#"):
        file = _FILE.match(text)
        return (*columns, file.span("before")) if file is not None else tuple(columns)
    columns += [match.span() for match in _PARTS.finditer(text) if match.lastgroup]
    freed = _FREED.search(text)
    if freed is not None:
        columns = [(first, last) for first, last in columns if last <= freed.start()] + [freed.span()]
    return tuple(columns)


def is_aside(language: str, text: str) -> bool:
    """Whether a line of code computes nothing: then it is dimmed."""
    return language in CODE and _ASIDE.match(text) is not None


def shown_column(column: int, parts: Columns) -> int:
    """Map a column of the line to its displayed column; a column of an omitted part maps to the start of that part."""
    return column - sum(min(last, column) - first for first, last in parts if first < column)


def without(line: Line, parts: Columns) -> Line:
    """Return a line without some parts of it; spans and links that lie wholly in a removed part are dropped."""
    if not parts:
        return line
    text, at = "", 0
    for first, last in (*parts, (len(line.text), len(line.text))):
        text, at = text + line.text[at:first], last
    spans = [Span(shown_column(x.start, parts), shown_column(x.end, parts), x.style) for x in line.spans]
    links = [replace(x, start=shown_column(x.start, parts), end=shown_column(x.end, parts)) for x in line.links]
    return Line(text, tuple(x for x in spans if x.start < x.end), tuple(x for x in links if x.start < x.end))


class Unannotated:
    """A `Document` displayed without annotations; `whole` is the full document."""

    def __init__(self, base: Document) -> None:
        self.base = base
        self.opening: re.Pattern[str] | None = None
        """What is searched for: lines with a hit in what is left out are shown whole. Who sets it draws all lines again."""
        self.start: int = getattr(base, "start", 0)
        self._lines: Lru[tuple[int, re.Pattern[str] | None], Line] = Lru(KEPT)

    # what is the same as in the document

    @property
    def ref(self) -> str:
        return self.base.ref

    @property
    def title(self) -> str:
        return self.base.title

    @property
    def language(self) -> str:
        return self.base.language

    @property
    def badge(self) -> str:
        return self.base.badge

    @property
    def version(self) -> int:
        return self.base.version

    @property
    def complete(self) -> bool:
        return self.base.complete

    def __len__(self) -> int:
        return len(self.base)

    def width(self) -> int:
        return self.base.width()

    def advance(self, size: int = 4 << 20) -> bool:
        return self.base.advance(size)

    def sections(self) -> Sequence[Section]:
        return self.base.sections()

    def anchor(self, n: int) -> str:
        return self.base.anchor(n)

    def where(self, anchor: str) -> int | None:
        return self.base.where(anchor)

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        return self.base.text(lo, hi)

    def data(self) -> object | None:
        return self.base.data()

    # what is shown

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        if self.base.length(n) > LONGEST:
            return self.base.line(n, lo, hi)
        opening = self.opening
        shown = self._lines.get((n, opening))
        if shown is None:
            shown = self._annotated(n, opening)
            self._lines.put((n, opening), shown, len(shown.text) + 64)
        if lo == 0 and (hi is None or hi >= len(shown.text)):
            return shown
        return Line(shown.text[lo:hi], shown.spans, shown.links, lo)

    def _annotated(self, n: int, opening: re.Pattern[str] | None) -> Line:
        line = self.base.line(n)
        if is_aside(self.language, line.text):
            return Line(line.text, (Span(0, len(line.text), tokens.DIM),), line.links)
        return without(line, self._parts(line.text, opening))

    def _parts(self, text: str, opening: re.Pattern[str] | None) -> Columns:
        """Return the omitted columns of a line, none when the search would match in them."""
        parts = left_out(self.language, text)
        if parts and opening is not None and is_simple(opening):
            for match in opening.finditer(text):
                if any(first < match.end() and match.start() < last for first, last in parts):
                    return ()
        return parts

    def length(self, n: int) -> int:
        length = self.base.length(n)
        return length if length > LONGEST or self.language not in GRAPHS else len(self.line(n).text)

    # searching

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit | None]:
        """Yield hits in the full text at their displayed columns; a hit in an omitted part is at the start of that part."""
        hits = self.base.find(pattern, start, back)
        last = -1
        parts: Columns = ()
        try:
            for hit in hits:
                if hit is None:
                    yield None
                    continue
                if hit.line != last:
                    last, parts = hit.line, self._parts_of(hit.line)
                first = shown_column(hit.start, parts)
                yield Hit(hit.line, first, max(shown_column(hit.end, parts), first + 1)) if parts else hit
        finally:
            close = getattr(hits, "close", None)
            if close is not None:
                close()

    def hits_in(self, n: int, pattern: re.Pattern[str]) -> list[tuple[int, int]] | None:
        """Return the displayed columns of hits of a simple pattern in a line; None when the line has no omitted part.

        A match that spans an omitted part is no hit.
        """
        if self.base.length(n) > LONGEST:
            return None
        text = self.base.line(n).text
        parts = self._parts(text, self.opening)
        spans = (match.span() for match in pattern.finditer(text))
        shown = [(shown_column(first, parts), shown_column(last, parts)) for first, last in spans]
        return [(first, last) for first, last in shown if first < last]

    def _parts_of(self, n: int) -> Columns:
        return () if self.base.length(n) > LONGEST else self._parts(self.base.line(n).text, self.opening)


