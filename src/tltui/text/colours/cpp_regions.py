"""Which lines of a C++ text are Python: the wrapper that AOTInductor generates for a GPU holds its Triton kernels.

In AOT mode a kernel stands in a comment, between lines `/*` and `*/`; where it is compiled when it is first called, in a raw
string: `R"TRITON(` … `)TRITON"` (torch/_inductor/codegen/cpp_wrapper_gpu.py, torch 2.9 to 2.13). As C++ all of it would be one
comment or one string.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from tltui.text.colours.regions import QUOTES, Region
from tltui.text.line_index import LineIndex

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
                self._take(open_, self._index.line_of(base + end))
            self._open = None

    def _take(self, open_: _Open, last: int) -> None:
        """The lines between the one that opens and the one that closes, cut at triple quotes, which are edges of their own."""
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
        """The region of line `n`."""
        which = bisect_right(self._firsts, n) - 1
        if which >= 0 and n <= self._parts[which].last:
            return self._parts[which]
        before = self._parts[which].last + 1 if which >= 0 else 0
        after = self._firsts[which + 1] - 1 if which + 1 < len(self._firsts) else len(self._index) - 1
        return Region(before, after, "cpp")
