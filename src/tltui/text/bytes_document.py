"""A stored payload of any size as a document: search, links to source files, JSON laid out."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence

from tltui.text.colours.highlight import highlighter
from tltui.text.document import Hit, Line, Link, Section, Span
from tltui.text.json_codec import JSONDecodeError, JSONEncodeError, dumps, loads
from tltui.text.lru import Lru
from tltui.text.payload import CHUNK, LEXED, LONG, SHORT, LineIndex, Payload, decode, decode_bytewise, decode_lines, is_plain
from tltui.text.search.child_process import BLOCK, Child, is_by_line, is_simple
from tltui.text.search.matcher import in_line, in_text

_PLACE = re.compile(
    r'File "(?P<p1>[^"\n]{1,1024})", line (?P<l1>\d{1,9})'
    r"|File: (?P<p2>\S.{0,1023}?):(?P<l2>\d{1,9})(?= in )"
    r"|(?<=# )(?P<p3>[^\s:#]{1,1024}):(?P<l3>\d{1,9})(?= in )"
    r"|(?<=user code at )(?P<p4>\S.{0,1023}?):(?P<l4>\d{1,9})(?=\s|$)"
)


def links(text: str) -> tuple[Link, ...]:
    """Return links to the files and lines named in a sanitised line."""
    if ":" not in text and "File" not in text:
        return ()
    places = []
    for match in _PLACE.finditer(text):
        number = (match.lastgroup or "p1")[1:]
        path, line = match["p" + number], match["l" + number]
        start = match.start("p" + number)
        places.append(Link(start, match.end("l" + number), f"file:{path}:{line}"))
    return tuple(places)


OVERLAP = 64 << 10
"""Longest match that is sure to be found across the windows of a huge line."""

_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_ESCAPED = re.compile(r"\\([^A-Za-z0-9])")


class PayloadFinder:
    """One search in one payload."""

    __slots__ = ("_child", "_chunk", "_index", "_literal", "_lower", "_pattern")

    def __init__(self, index: LineIndex, pattern: re.Pattern[str]) -> None:
        self._index = index
        self._pattern = pattern
        self._literal = _literal(pattern)
        self._lower = bool(pattern.flags & re.IGNORECASE)
        self._chunk: re.Pattern[str] | None = None
        if self._literal is None and not pattern.flags & re.DOTALL and not is_by_line(pattern.pattern):
            self._chunk = re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
        self._child = None if self._literal is not None or is_simple(pattern) else Child(pattern, self._chunk)

    def close(self) -> None:
        """End the search and the process it started."""
        if self._child is not None:
            self._child.close()

    @property
    def _size(self) -> int:
        return CHUNK if self._child is None else BLOCK

    def forward(self, lo: int, hi: int) -> Iterator[Hit | None]:
        """Hits in lines `lo` to `hi` (exclusive); None now and then, while another process is at work."""
        for first, stop in self._index.chunks(lo, hi, self._size):
            if self._is_huge(first, stop):
                yield from self._huge(first)
            else:
                yield from self._hits(first, stop)

    def backward(self, lo: int, hi: int) -> Iterator[Hit | None]:
        """Yield the same hits in reverse order."""
        for first, stop in self._index.chunks_back(lo, hi, self._size):
            hits: list[Hit] = []
            for hit in self._huge(first) if self._is_huge(first, stop) else self._hits(first, stop):
                if hit is None:
                    yield None
                else:
                    hits.append(hit)
            yield from reversed(hits)

    def _is_huge(self, first: int, stop: int) -> bool:
        return stop == first + 1 and self._index.weight(first) > LONG

    def _hits(self, first: int, stop: int) -> Iterator[Hit | None]:
        data = self._index.block(first, stop)
        if self._is_absent(data):
            return
        text = decode_lines(data)
        if self._literal is not None and (not self._lower or (text.isascii() and self._literal.isascii())):
            yield from _literal_hits(text, self._literal, self._lower, first)
        elif self._child is not None:
            yield from self._outside(self._child, text, first)
        else:
            for n, start, end in in_text(text, self._pattern, self._chunk):
                yield Hit(first + n, start, end)

    @staticmethod
    def _outside(child: Child, text: str, first: int, at: int = 0) -> Iterator[Hit | None]:
        answer = yield from child.ask(text, at)
        for n in range(0, len(answer), 4):
            yield Hit(first + answer[n], answer[n + 2], answer[n + 3])

    def _is_absent(self, data: bytes) -> bool:
        """Return whether the raw bytes cannot contain the literal (a cheap test)."""
        literal = self._literal
        if literal is None or not literal.isascii() or " " in literal:
            return False  # a blank may have been a tab
        if not self._lower:
            return literal.encode() not in data
        return data.isascii() and literal.lower().encode() not in data.lower()

    def _huge(self, n: int) -> Iterator[Hit | None]:
        """One line of many megabytes: windows that overlap, one column per byte."""
        size, offset, done = self._index.size(n), 0, 0
        while offset < size:
            before = min(offset, 1)  # one byte of context, so that ^ and \b see that the line began earlier
            text = decode_bytewise(self._index.stored(n, offset - before, offset + CHUNK + OVERLAP))
            if self._child is not None:
                hits: Iterator[Hit | None] = self._outside(self._child, text, n, before)
            else:
                hits = (Hit(n, start, end) for start, end in in_line(self._pattern, text, before))
            for hit in hits:
                if hit is None:
                    yield None
                    continue
                start, end = offset - before + hit.start, offset - before + hit.end
                if end > start >= done and start < offset + CHUNK:
                    yield Hit(n, start, end)
                    done = end
            offset += CHUNK


def _literal(pattern: re.Pattern[str]) -> str | None:
    """Return the text that a pattern matches if it matches a single literal text."""
    if pattern.flags & re.VERBOSE:
        return None
    plain = _ESCAPED.sub("", pattern.pattern)
    if not pattern.pattern or "\n" in pattern.pattern or _SPECIAL.search(plain):
        return None
    return _ESCAPED.sub(r"\1", pattern.pattern)


def _literal_hits(text: str, literal: str, lower: bool, line: int) -> Iterator[Hit]:
    if lower:
        text, literal = text.lower(), literal.lower()
    position, counted = text.find(literal), 0
    while position >= 0:
        line += text.count("\n", counted, position)
        counted = position
        column = position - text.rfind("\n", 0, position) - 1
        yield Hit(line, column, column + len(literal))
        position = text.find(literal, position + len(literal))


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
        """Create the document of a payload.

        `inputs`: for a graph that renames its inputs, their names in the preceding graph, which give the layers of its sections.
        """
        self.ref = ref
        self.title = title
        self.language = language
        self.badge = badge
        self.version = 0
        self.payload = payload
        self._index = self._indexed(payload)

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
        """Return the stored bytes of line `n`, prefix included, without reading the line."""
        if not 0 <= n < len(self._index):
            raise IndexError(n)
        return self._index.weight(n)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        with self._lock:
            if self._stored(n) > SHORT:
                return self._window(n, lo, hi)
            cached = self._lines.get(n)
            if cached is None:
                cached = self._read(n)
        if lo == 0 and (hi is None or hi >= len(cached.text)):
            return cached
        return Line(cached.text[lo:hi], cached.spans, cached.links, lo)

    def _read(self, n: int) -> Line:
        text = decode(self._index.stored(n))
        spans = self._highlighter.spans(n, n + 1)[0]
        line = Line(text, spans, links(text))
        self._lines.put(n, line, len(text) + 64 * len(spans) + 64)
        self._widest = max(self._widest, len(text))
        return line

    def _window(self, n: int, lo: int, hi: int | None) -> Line:
        """Return part of a line that is too long to be returned in full."""
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
        places = links(text) if len(text) <= LEXED else ()
        if not lo:
            return spans, places
        return (
            tuple(Span(span.start + lo, span.end + lo, span.style) for span in spans),
            tuple(Link(link.start + lo, link.end + lo, link.target) for link in places),
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
        """Return the width in columns; it grows when a line with many tabs is rendered."""
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
        finder = PayloadFinder(self._index, pattern)
        try:
            if back:
                while start >= len(self._index) and not self.advance():
                    yield None
                yield from finder.backward(0, min(start + 1, len(self._index)))
                return
            start = max(start, 0)  # a search that begins again at the top comes from before it
            while True:
                count = len(self._index)
                yield from finder.forward(start, count)
                start = max(start, count)
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
        count = len(self._index)
        for first, stop in self._index.chunks(max(lo, 0), count if hi is None else min(hi, count)):
            yield from decode_lines(self._index.block(first, stop)).split("\n")

    def data(self) -> object | None:
        return self._result


UP_TO = 4 << 20
"""A larger payload is shown as stored: laying it out would hold the interpreter for too long."""

NOT_JSON = "not JSON"
_LONG_NUMBER = re.compile(rb"\d{19}")


def lay_out(data: bytes) -> tuple[bytes, str]:
    """JSON text indented, and '' as the remark; text that is not laid out is given back with the reason."""
    if not _LONG_NUMBER.search(data):
        try:
            return dumps(loads(data), indent=True), ""
        except (JSONDecodeError, JSONEncodeError, RecursionError):
            pass
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
        # A lone surrogate has no bytes: backslashreplace writes it as the very escape that JSON has for it.
        return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace"), ""
    except RecursionError:
        return data, "nested too deeply to reformat"
    except UnicodeDecodeError:
        return data, "not UTF-8"
    except JSONDecodeError:
        return data, NOT_JSON
    except ValueError:
        return data, "a number is too long to reformat"


def json_document(
    payload: Payload,
    *,
    ref: str = "",
    title: str = "",
    badge: str = "",
    raw: bool = False,
    result: object | None = None,
) -> BytesDocument:
    """Return the document of a JSON payload; with `raw`, as stored."""
    if raw or payload.size > UP_TO:
        note = "" if raw else f"{payload.size / (1 << 20):.1f} MB: as stored"
        return BytesDocument(payload, "json", ref=ref, title=title, badge=_join(badge, note), result=result)
    data, note = lay_out(payload.read())
    shown = payload if note else Payload.of(data)
    language = "text" if note == NOT_JSON else "json"
    return BytesDocument(shown, language, ref=ref, title=title, badge=_join(badge, note), result=result)


def _join(*badges: str) -> str:
    return " · ".join(badge for badge in badges if badge)
