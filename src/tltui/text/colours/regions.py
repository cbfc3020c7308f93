"""Which lines of Python text stand inside a triple-quoted string, and in which language.

Inductor's wrapper code holds each kernel as a string: `name = async_compile.triton('name', '''` … `''', …)`. Lexed as
one text, a window that begins inside a kernel would take code for string and string for code. So the strings are found
first, by a search over bytes that goes along with the line index, and each region is lexed by itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from tltui.text.line_index import LineIndex

_KERNEL = re.compile(rb"async_compile\s*\.\s*(\w+)\s*\(")
_CPP = frozenset((b"cpp", b"cpp_pybinding", b"cuda", b"rocm", b"xpu", b"metal", b"cutlass"))
QUOTES = (b"'''", b'"""')
HEAD = 16 << 10
"""Bytes before an opening quote that are looked at for what it opens."""


@dataclass(frozen=True, slots=True)
class Region:
    """Lines `first` to `last` (both inclusive) of one language: 'python', 'cpp', 'string', or an edge: the line
    that 'open's or 'close's a string with `quote`."""

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
        """The region of line `n`."""
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
    """The language of a string from what stands before it on its line."""
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
        """The place of the next quote at or behind `position`, -1 when there is none."""
        size = len(self._data)
        for quote, place in self._places.items():
            if place < position:
                found = self._data.find(quote, position)
                self._places[quote] = found if found >= 0 else size
        place = min(self._places.values())
        return place if place < size else -1
