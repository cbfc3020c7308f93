"""Lines inside a triple-quoted string or a C++ wrapper, and the language of each."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from tltui.text.frozen import frozen
from tltui.text.payload import LineIndex

_KERNEL = re.compile(rb"async_compile\s*\.\s*(\w+)\s*\(")
_CPP = frozenset((b"cpp", b"cpp_pybinding", b"cuda", b"rocm", b"xpu", b"metal", b"cutlass"))
QUOTES = (b"'''", b'"""')
HEAD = 16 << 10
"""Bytes before an opening quote that are looked at for what it opens."""


@frozen
class Region:
    """Lines `first` to `last` (both inclusive) of one language: 'python', 'cpp', 'string', or an edge.

    An edge is the line that 'open's or 'close's a string with `quote`.
    """

    first: int
    last: int
    kind: str
    quote: str = ""


class Regions:
    """The regions of a payload, as far as its lines are known."""

    __slots__ = ("_done", "_heads", "_index", "_open", "_strings")

    def __init__(self, index: LineIndex) -> None:
        self._index = index
        self._done = 0
        self._open: tuple[int, str, bytes] | None = None
        self._heads: list[int] = []
        self._strings: list[tuple[int, int, str, str]] = []  # first line, last line, language, quote

    def advance(self) -> None:
        """Work through the lines that the index has found since."""
        for first, stop in self._index.chunks(self._done, len(self._index)):
            start, payload = self._index.start(first), self._index.payload
            self._scan(payload.source.read(payload.offset + start, self._index.end(stop - 1) - start), start)
            self._done = stop

    def _scan(self, data: bytes, base: int) -> None:
        quotes = _Quotes(data)
        position = 0
        while True:
            if self._open is None:
                position = quotes.next(position)
                if position < 0:
                    return
                quote = data[position : position + 3]
                head = data[data.rfind(b"\n", max(position - HEAD, 0), position) + 1 : position][-HEAD:]
                position += 3
                if head.lstrip().startswith(b"#"):
                    continue
                self._open = (self._index.line_of(base + position - 1), _language(head), quote)
            first, language, quote = self._open
            position = data.find(quote, position)
            if position < 0:
                return
            position += 3
            last = self._index.line_of(base + position - 1)
            if last > first:
                self._heads.append(first)
                self._strings.append((first, last, language, quote.decode()))
            self._open = None

    def at(self, n: int) -> Region:
        """Return the region of line `n`."""
        which = bisect_right(self._heads, n) - 1
        before = -1
        if which >= 0:
            first, last, language, quote = self._strings[which]
            if n <= last:
                return _part(n, first, last, language, quote)
            before = last
        if self._open is not None and n >= self._open[0]:
            first, language, opener = self._open
            return _part(n, first, len(self._index), language, opener.decode())
        after = self._heads[which + 1] if which + 1 < len(self._heads) else len(self._index)
        if self._open is not None:
            after = min(after, self._open[0])
        return Region(before + 1, after - 1, "python")


def _part(n: int, first: int, last: int, language: str, quote: str) -> Region:
    if n == first:
        return Region(n, n, "open", quote)
    if n == last:
        return Region(n, n, "close", quote)
    return Region(first + 1, last - 1, language, quote)


def _language(head: bytes) -> str:
    """Return the language of a string from the text before it on its line."""
    kernel = _KERNEL.search(head)
    if kernel is None:
        return "string"
    return "cpp" if kernel[1] in _CPP else "python"


class _Quotes:
    """The next quote of either kind; every byte is looked at once however many there are."""

    __slots__ = ("_data", "_places")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._places = dict.fromkeys(QUOTES, -1)

    def next(self, position: int) -> int:
        """Return the position of the next quote at or after `position`, -1 when there is none."""
        size = len(self._data)
        for quote, place in self._places.items():
            if place < position:
                index = self._data.find(quote, position)
                self._places[quote] = index if index >= 0 else size
        place = min(self._places.values())
        return place if place < size else -1


_OPENS = re.compile(rb'/\*|(?<!\w)R"([A-Za-z_]{0,16})\(|//[^\n]*')
_PYTHON = re.compile(rb"^\s*(?:import triton\b|from triton\b|@triton\b|@\w*\.?jit\b)|async_compile\.triton\(", re.MULTILINE)
_QUOTE = re.compile(b"|".join(QUOTES))


@dataclass(slots=True)
class _Open:
    """A comment or raw string that has begun."""

    first: int
    closes: bytes
    is_python: bool = False
    quotes: list[tuple[int, str]] = field(default_factory=list)
    """Lines with a triple quote, and which one."""


class CppRegions:
    """The regions of a C++ payload, as far as its lines are known. The same as `Regions` for another language."""

    __slots__ = ("_done", "_firsts", "_index", "_open", "_parts")

    def __init__(self, index: LineIndex) -> None:
        self._index = index
        self._done = 0
        self._open: _Open | None = None
        self._firsts: list[int] = []
        self._parts: list[Region] = []
        """What is not C++, ascending."""

    def advance(self) -> None:
        """Work through the lines that the index has found since."""
        for first, stop in self._index.chunks(self._done, len(self._index)):
            start, payload = self._index.start(first), self._index.payload
            self._scan(payload.source.read(payload.offset + start, self._index.end(stop - 1) - start), start)
            self._done = stop

    def _scan(self, data: bytes, base: int) -> None:
        position = 0
        while True:
            if self._open is None:
                match = _OPENS.search(data, position)
                if match is None:
                    return
                position = match.end()
                if match[0].startswith(b"//"):
                    continue
                closes = b"*/" if match[1] is None else b")" + match[1] + b'"'
                self._open = _Open(self._index.line_of(base + match.start()), closes)
            open_, end = self._open, data.find(self._open.closes, position)
            stop = len(data) if end < 0 else end
            open_.is_python = open_.is_python or _PYTHON.search(data, position, stop) is not None
            for quote in _QUOTE.finditer(data, position, stop):
                open_.quotes.append((self._index.line_of(base + quote.start()), quote[0].decode()))
            if end < 0:
                return
            position = end + len(open_.closes)
            if open_.is_python:
                self._add_lines(open_, self._index.line_of(base + end))
            self._open = None

    def _add_lines(self, open_: _Open, last: int) -> None:
        """Add the lines between the opening and the closing line, cut at triple quotes, which are edges of their own."""
        at, inside = open_.first + 1, ""
        times = Counter(open_.quotes)
        for line, quote in times:
            if line < at or line >= last or times[line, quote] % 2 == 0 or (inside and quote != inside):
                continue
            self._add(at, line - 1, "python")
            self._add(line, line, "close" if inside else "open", quote)
            at, inside = line + 1, "" if inside else quote
        self._add(at, last - 1, "python")

    def _add(self, first: int, last: int, kind: str, quote: str = "") -> None:
        if first <= last:
            self._firsts.append(first)
            self._parts.append(Region(first, last, kind, quote))

    def at(self, n: int) -> Region:
        """Return the region of line `n`."""
        which = bisect_right(self._firsts, n) - 1
        if which >= 0 and n <= self._parts[which].last:
            return self._parts[which]
        before = self._parts[which].last + 1 if which >= 0 else 0
        after = self._firsts[which + 1] - 1 if which + 1 < len(self._firsts) else len(self._index) - 1
        return Region(before, after, "cpp")
