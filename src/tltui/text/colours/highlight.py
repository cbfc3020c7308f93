"""Colours for a window of lines.

Nothing is lexed that nobody looks at. Texts whose lines stand by themselves (graphs, guards, JSON, tracebacks,
bytecode) are coloured line by line with small expressions of our own. Python and C++ go through Pygments in blocks of
`BLOCK` lines with `CONTEXT` lines around them, each region in its own language (see `tltui.text.colours.regions`). Lines
beyond `LEXED` bytes stay plain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tltui.text import tokens
from tltui.text.clean import LEXED, decode
from tltui.text.colours import line_styles
from tltui.text.colours.cpp_regions import CppRegions
from tltui.text.colours.lexing import lex
from tltui.text.colours.regions import Region, Regions
from tltui.text.document import Span
from tltui.text.line_index import LineIndex
from tltui.text.lru import Lru

LANGUAGES: dict[str, str] = {
    "python": "Python",
    "fx": "FX graph",
    "output_code": "Inductor output code",
    "cpp": "C++",
    "guards": "Guard tree",
    "traceback": "Traceback",
    "json": "JSON",
    "bytecode": "Bytecode",
    "stack": "Stack",
    "ir": "Scheduler IR",
    "text": "Text",
}

BLOCK = 32
CONTEXT = {"python": (20, 0), "cpp": (20, 24)}
"""Lines before and behind a block that are lexed with it. C++ needs both: a function's name is known by its body."""

Spans = tuple[Span, ...]


class Highlighter(Protocol):
    """Gives the spans of lines. Columns are those of the sanitised line."""

    def advance(self) -> None:
        """The line index has grown."""

    def spans(self, lo: int, hi: int) -> list[Spans]:
        """Spans of each of the lines `lo` to `hi` (exclusive)."""

    def window(self, text: str, inside: bool) -> Spans:
        """Spans of a part of a long line, from the part alone; its columns count from 0. `inside`: it does not
        begin with the line."""


class Plain:
    """No colours."""

    def advance(self) -> None:
        return

    def spans(self, lo: int, hi: int) -> list[Spans]:
        return [()] * (hi - lo)

    def window(self, text: str, inside: bool) -> Spans:
        return ()


class ByLine:
    """A language whose lines stand by themselves. With `windows`, part of a line may be coloured alone, too."""

    __slots__ = ("_index", "_styles", "_windows")

    def __init__(self, index: LineIndex, styles: Callable[[str], list[Span]], windows: bool) -> None:
        self._index = index
        self._styles = styles
        self._windows = windows

    def advance(self) -> None:
        return

    def spans(self, lo: int, hi: int) -> list[Spans]:
        lines = self._index.lines(lo, hi, LEXED)
        return [tuple(_with_controls(text, self._styles(text))) for text in map(decode, lines)]

    def window(self, text: str, inside: bool) -> Spans:
        if not self._windows or len(text) > LEXED:
            return ()
        start = line_styles.FX_RESTART.search(text) if inside else None
        if inside and start is None:
            return ()  # it may all stand in a string
        cut = start.start() if start else 0
        return _shifted(tuple(_with_controls(text[cut:], self._styles(text[cut:]))), cut)


class ByRegion:
    """Python and C++, lexed in blocks: a block always gives the same spans, wherever one came from."""

    __slots__ = ("_blocks", "_index", "_regions")

    def __init__(self, index: LineIndex, language: str) -> None:
        self._index = index
        self._regions: Regions | CppRegions = CppRegions(index) if language == "cpp" else Regions(index)
        self._blocks: Lru[int, list[Spans]] = Lru(64)

    def advance(self) -> None:
        self._regions.advance()

    def spans(self, lo: int, hi: int) -> list[Spans]:
        found: list[Spans] = []
        for block in range(lo // BLOCK, (hi - 1) // BLOCK + 1):
            spans = self._block(block)
            found += spans[max(lo - block * BLOCK, 0) : hi - block * BLOCK]
        return found

    def window(self, text: str, inside: bool) -> Spans:
        return ()

    def _block(self, block: int) -> list[Spans]:
        known = self._blocks.get(block)
        if known is not None:
            return known
        first, stop = block * BLOCK, min((block + 1) * BLOCK, len(self._index))
        spans: list[Spans] = []
        while first < stop:
            region = self._regions.at(first)
            end = min(region.last + 1, stop)
            spans += self._lex(region, first, end)
            first = end
        if len(spans) == BLOCK or self._index.complete:
            self._blocks.put(block, spans)
        return spans

    def _lex(self, region: Region, first: int, stop: int) -> list[Spans]:
        """Lines `first` to `stop` of one region, with the lines before them for the state of the lexer."""
        before, behind = CONTEXT.get(region.kind, (0, 0))
        begin, end = max(region.first, first - before), min(region.last + 1, stop + behind)
        lines = [decode(line) for line in self._index.lines(begin, end, LEXED)]
        if region.kind == "string":
            spans = [_whole(line) for line in lines]
        elif region.kind in ("open", "close"):
            spans = [_edge(lines[0], region)]
        else:
            spans = lex(region.kind, lines)
        return [tuple(_with_controls(*pair)) for pair in zip(lines, spans, strict=True)][first - begin : stop - begin]


def _whole(line: str) -> Spans:
    return (Span(0, len(line), tokens.STRING),) if line else ()


def _edge(line: str, region: Region) -> Spans:
    """A line that opens or closes a string: code on one side of the quote, string on the other."""
    if region.kind == "open":
        cut = max(line.rfind(region.quote), 0)
        if line[:cut].endswith(("r", "f", "b")):
            cut -= 1
        return (*lex("python", [line[:cut]])[0], *_shifted(_whole(line[cut:]), cut))
    cut = line.find(region.quote) + len(region.quote)
    return (*_whole(line[:cut]), *_shifted(lex("python", [line[cut:]])[0], cut))


def _shifted(spans: Spans, by: int) -> Spans:
    return tuple(Span(span.start + by, span.end + by, span.style) for span in spans)


def _with_controls(text: str, spans: list[Span] | Spans) -> list[Span] | Spans:
    """Marks of characters that must not reach a terminal stand out, whatever they stand in."""
    if text.isascii():
        return spans
    marks = [n for n, char in enumerate(text) if "\u2400" <= char <= "\u2426"]
    if not marks:
        return spans
    cut: list[Span] = []
    for span in spans:
        start = span.start
        for n in marks:
            if start <= n < span.end:
                if n > start:
                    cut.append(Span(start, n, span.style))
                start = n + 1
        if start < span.end:
            cut.append(Span(start, span.end, span.style))
    cut += [Span(n, n + 1, tokens.CONTROL) for n in marks]
    return sorted(cut, key=lambda span: span.start)


def highlighter(language: str, index: LineIndex) -> Highlighter:
    """The highlighter of a language. A language that is not known stays plain."""
    if language in ("python", "output_code", "cpp"):
        return ByRegion(index, language)
    styles = line_styles.STYLES.get(language)
    return Plain() if styles is None else ByLine(index, styles, windows=language == "fx")
