"""A stored payload of any size as a document.

What is kept is the line index (eight bytes per line) and a few bounded caches; lines are read when somebody looks at
them. Any thread may do so at any time: a lock is held for as long as one line takes, or one step of the line index.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence

from tltui.text.clean import LEXED, LONG, SHORT, decode, decode_bytewise, decode_lines, is_plain
from tltui.text.document import Hit, Line, Link, Section, Span
from tltui.text.line_index import LineIndex
from tltui.text.links import links
from tltui.text.lru import Lru
from tltui.text.payload import Payload
from tltui.text.search.find import Finder

SECTIONS_UP_TO = 32 << 20
"""A larger payload has no sections: finding them would hold every line in memory at once."""


class BytesDocument:
    """The `Document` of a payload. `language` is one of `tltui.text.colours.highlight.LANGUAGES`."""

    is_live = False
    """Whether it may still be written: then its last line may change, and lines come behind it."""

    def __init__(
        self,
        payload: Payload,
        language: str = "text",
        *,
        ref: str = "",
        title: str = "",
        badge: str = "",
        result: object | None = None,
        inputs: Mapping[str, str] | None = None,
    ) -> None:
        """`inputs`: of a graph that names its inputs anew, how the graph before called them: its sections are called by layers."""
        self.ref = ref
        self.title = title
        self.language = language
        self.badge = badge
        self.version = 0
        self.payload = payload
        self._index = self._indexed(payload)
        from tltui.text.colours.highlight import highlighter  # the UI knows this class before it has an instance

        self._highlighter = highlighter(language, self._index)
        self._highlighter.advance()
        self.complete = self._index.complete
        self._result = result
        self._inputs = inputs or {}
        self._lines: Lru[int, Line] = Lru(8 << 20)
        self._long: Lru[int, str] = Lru(16 << 20)
        self._plain: Lru[int, bool] = Lru(4096)
        self._widest = 0
        self._lock = threading.RLock()
        self._sections: Sequence[Section] | None = None
        self.start = 0
        """The line that the caret is on at first."""

    def _indexed(self, payload: Payload) -> LineIndex:
        return LineIndex(payload)

    def __len__(self) -> int:
        return len(self._index)

    def advance(self, size: int = 4 << 20) -> bool:
        with self._lock:
            if not self.complete:
                done = self._index.advance(size)
                self._highlighter.advance()
                self.complete = done
                self.version += 1
            return self.complete

    def _stored(self, n: int) -> int:
        """Stored bytes of line `n`, its prefix included: says without reading what kind of line it is."""
        if not 0 <= n < len(self._index):
            raise IndexError(n)
        return self._index.weight(n)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        with self._lock:
            if self._stored(n) > SHORT:
                return self._window(n, lo, hi)
            whole = self._lines.get(n)
            if whole is None:
                whole = self._read(n)
        if lo == 0 and (hi is None or hi >= len(whole.text)):
            return whole
        return Line(whole.text[lo:hi], whole.spans, whole.links, lo)

    def _read(self, n: int) -> Line:
        text = decode(self._index.stored(n))
        spans = self._highlighter.spans(n, n + 1)[0]
        whole = Line(text, spans, links(text))
        self._lines.put(n, whole, len(text) + 64 * len(spans) + 64)
        self._widest = max(self._widest, len(text))
        return whole

    def _window(self, n: int, lo: int, hi: int | None) -> Line:
        """Part of a line that is too long to be handed out whole."""
        hi = lo + SHORT if hi is None else min(hi, lo + SHORT)
        if self._stored(n) > LONG:
            text = decode_bytewise(self._index.stored(n, lo, hi))
        elif self._is_plain(n):
            text = self._index.stored(n, lo, hi).decode("ascii", "replace")
        else:
            text = self._long_text(n)[lo:hi]
        return Line(text, *self._marks(text, lo), lo)

    def _marks(self, text: str, lo: int) -> tuple[tuple[Span, ...], tuple[Link, ...]]:
        """Spans and links of a window, from the window alone, in columns of the line."""
        spans = self._highlighter.window(text, lo > 0)
        found = links(text) if len(text) <= LEXED else ()
        if not lo:
            return spans, found
        return (
            tuple(Span(span.start + lo, span.end + lo, span.style) for span in spans),
            tuple(Link(link.start + lo, link.end + lo, link.target) for link in found),
        )

    def _is_plain(self, n: int) -> bool:
        plain = self._plain.get(n)
        if plain is None:
            plain = is_plain(self._index.stored(n))
            self._plain.put(n, plain)
        return plain

    def _long_text(self, n: int) -> str:
        text = self._long.get(n)
        if text is None:
            text = decode(self._index.stored(n))
            self._long.put(n, text, len(text))
            self._widest = max(self._widest, len(text))
        return text

    def length(self, n: int) -> int:
        stored = self._stored(n)
        if stored <= SHORT:
            return len(self.line(n).text)
        with self._lock:
            if stored > LONG or self._is_plain(n):
                return self._index.size(n)
            return len(self._long_text(n))

    def width(self) -> int:
        """A line of many tabs may be wider; the number grows when such a line is looked at."""
        return max(self._index.longest, self._widest)

    def sections(self) -> Sequence[Section]:
        if not self.complete:
            return ()
        if self._sections is None:
            from tltui.text.colours.sections import find_sections

            small = self.payload.size <= SECTIONS_UP_TO
            self._sections = find_sections(self.language, list(self.text()), self._inputs) if small else ()
        return self._sections

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit | None]:
        """Lines that are not known yet are indexed on the way, also backwards up to line `start`."""
        finder = Finder(self._index, pattern)
        try:
            if back:
                while start >= len(self._index) and not self.advance():
                    yield None
                yield from finder.backward(0, min(start + 1, len(self._index)))
                return
            start = max(start, 0)  # a search that begins again at the top comes from before it
            while True:
                known = len(self._index)
                yield from finder.forward(start, known)
                start = max(start, known)
                if self.complete and start >= len(self._index):
                    return
                self.advance()
        finally:
            finder.close()

    def anchor(self, n: int) -> str:
        return str(n + 1)

    def where(self, anchor: str) -> int | None:
        if not (anchor.isascii() and anchor.isdigit()) or len(anchor) > 18:
            return None
        return int(anchor) - 1 if 0 < int(anchor) <= len(self) else None

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        """Uncapped. What is not indexed yet is indexed first when `hi` is None."""
        while hi is None and not self.advance():
            pass
        known = len(self._index)
        for first, stop in self._index.chunks(max(lo, 0), known if hi is None else min(hi, known)):
            yield from decode_lines(self._index.block(first, stop)).split("\n")

    def data(self) -> object | None:
        return self._result
