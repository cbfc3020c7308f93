"""Syntax colours for a window of lines. Pygments is imported when the first line is lexed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Protocol

from tltui.text import tokens
from tltui.text.document import Span
from tltui.text.frozen import frozen, mutable
from tltui.text.lazy_pattern import lazy_pattern
from tltui.text.lru import Lru
from tltui.text.payload import LEXED, LineIndex, decode
from tltui.text.torch_names import is_framework

_KERNEL = lazy_pattern(rb"async_compile\s*\.\s*(\w+)\s*\(")
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
        number = bisect_right(self._heads, n) - 1
        before = -1
        if number >= 0:
            first, last, language, quote = self._strings[number]
            if n <= last:
                return _part(n, first, last, language, quote)
            before = last
        if self._open is not None and n >= self._open[0]:
            first, language, opener = self._open
            return _part(n, first, len(self._index), language, opener.decode())
        after = self._heads[number + 1] if number + 1 < len(self._heads) else len(self._index)
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


_OPENS = lazy_pattern(rb'/\*|(?<!\w)R"([A-Za-z_]{0,16})\(|//[^\n]*')
_PYTHON = lazy_pattern(rb"^\s*(?:import triton\b|from triton\b|@triton\b|@\w*\.?jit\b)|async_compile\.triton\(", re.MULTILINE)
_QUOTE = lazy_pattern(b"|".join(QUOTES))


@mutable
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
        place = bisect_right(self._firsts, n) - 1
        if place >= 0 and n <= self._parts[place].last:
            return self._parts[place]
        before = self._parts[place].last + 1 if place >= 0 else 0
        after = self._firsts[place + 1] - 1 if place + 1 < len(self._firsts) else len(self._index) - 1
        return Region(before, after, "cpp")


# A string that is not closed ends with the line: without that, a hostile line would take quadratic time.
_STRING = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"

_FX = lazy_pattern(
    rf"(?P<comment>\#.*)"
    rf"|(?<=:\ )(?P<type>\"[^\"]*\")"
    rf"|(?P<string>{_STRING})"
    r"|(?P<dim>;\s+(?:[A-Za-z_]\w*\ =\ )+None(?=$|;|\s))"
    r"|^\s*(?P<keyword>class|def|return)\b(?:\s+(?P<definition1>\w+)(?=[(:]))?"
    r"|(?P<definition2>(?:^\s*|(?<=;\ \ ))[A-Za-z_]\w*)(?=:\ \"|\ =\ |:\ Sym)"
    r"|\b(?P<keyword2>lambda|with|if|else|for|in|and|or|not|import|from|as)\b"
    r"|\b(?P<constant>None|True|False)\b"
    r"|(?P<function>[A-Za-z_][\w.]*)(?=\()"
    r"|(?<![\w.])(?P<number>-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])"
    r"|[A-Za-z_][\w.]*",
    re.VERBOSE,
)

FX_RESTART = lazy_pattern(r"\b[A-Za-z_]\w*: \"|;  ")
"""Where a part of a long line of a graph can be read from: certainly not inside of a string."""

_JSON = lazy_pattern(
    r"(?P<key>\"(?:[^\"\\]|\\.)*\")(?=\s*:)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"?)"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<constant>\b(?:true|false|null|NaN|-?Infinity)\b)"
)

_GUARD = lazy_pattern(
    r"^(?P<dim>(?:\|\ )*\+-\ )(?P<keyword>[\w]+(?:\ pair\ at\ index=\d+)?)(?::\ (?P<definition>\w*GuardManager)(?=:))?"
    r"|^(?P<heading>TREE_GUARD_MANAGER:)"
    r"|^(?P<label>Guard\ (?:eval\ )?latency\ =)"
    r"|(?<=source=)(?P<value>.*?)(?=,\ accessed_by=|,\ type=<|$)"
    r"|(?P<dim2>,\ (?:accessed_by=.*?)?(?=,\ type=<)|,\ type=<.*?>(?:,\ tag_safe=\(\w+,\ \w+\))?(?=\s|$))"
    r"|(?P<origin>\#\ [^\s#]+:\d+\ in\ .*$)"
    r"|(?P<comment>\#\ (?:[^#]|\#(?!\ ))*)"
    rf"|(?P<string>{_STRING})"
    r"|(?<![\w.])(?P<number>-?\d+(?:\.\d+)?)(?![\w.])"
    r"|\b(?P<constant>None|True|False)\b",
    re.VERBOSE,
)

_BYTECODE = lazy_pattern(
    r"^\s*(?:(?P<number>\d+)\s+(?=(?:>>|-->)?\s*\d+\s+[A-Z]))?(?:(?P<operator>>>|-->)\s+)?(?:(?P<dim>\d+|L\d+:)\s*)?(?P<function>[A-Z][A-Z_0-9]+)\b"
    r"|^(?P<heading>\S.*:)$|(?P<string>\(.*\)$)|(?P<comment>\#.*$)|(?P<number2>\b\d+\b)"
)

_IR = lazy_pattern(
    r"^(?P<definition>\w+)(?=:\ \w+\(.*\)\s*$)"
    r"|^(?P<keyword>class)\ (?P<definition2>\w+)"
    r"|^\s+(?P<keyword2>def|return)\b"
    r"|^(?P<dim>\w+\.)(?P<label>[a-z_]+(?:\.[a-z_]+)*(?:\[\d+\])?)(?=\ =)"
    r"|^\s+(?P<name>\w+)(?=:\ [A-Z]\w*$|\.(?:layout|users|mutations|aliases)\ =)"
    rf"|(?P<string>{_STRING})"
    r"|\b(?P<type>torch\.\w+|[A-Z]\w*Dep|\w*Layout\w*|\w*SchedulerNode|ComputedBuffer|ExternKernel\w*)\b"
    r"|\b(?P<constant>None|True|False|OUTPUT)\b"
    r"|(?P<function>[A-Za-z_][\w.]*)(?=\()"
    r"|(?<![\w.])(?P<number>-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])"
    r"|[A-Za-z_][\w.]*",
    re.VERBOSE,
)

_FRAME = lazy_pattern(
    r'^(?P<lead>\s*(?:\[\w+\]:\s*)?)File (?P<path>"[^"]*")(?:, line (?P<line>\d+))?(?:, in (?P<function>.*))?$'
)
_PLACE = lazy_pattern(r"^(?P<lead>\s*)(?P<path>\S+?):(?P<line>\d+) in (?P<function>\S+)")
_MARKS = lazy_pattern(r"^\s*[~^]+$")
_EXCEPTION = lazy_pattern(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Unsupported|Violation\w*)(?=:|$)"
)
_DOTTED = lazy_pattern(r"^(?:[A-Za-z_]\w*\.)+[A-Z]\w*(?=:)")
_HEADING = lazy_pattern(
    r"^\s*(?:Traceback \(most recent call last\):|User code traceback:|User stack trace:|from user code:"
    r"|During handling of the above.*|The above exception was.*|={4,}|Graph break\b.*|Graph Break Reason:)"
)
_LABEL = lazy_pattern(r"^\s*(?:Explanation|Hint|Developer debug context|Higher Order Operator|Guard failed|Reason):")


def _matches(pattern: re.Pattern[str]) -> Callable[[str], list[Span]]:
    names = {name: name.rstrip("0123456789") for name in pattern.groupindex}

    def styles(text: str) -> list[Span]:
        tokens = []
        for match in pattern.finditer(text):
            if match.lastgroup is None:
                continue
            for name, style in names.items():
                start, end = match.span(name)
                if end > start >= 0:
                    tokens.append(Span(start, end, style))
        return tokens if len(tokens) < 2 else sorted(tokens, key=lambda span: span.start)

    return styles


_fx_matches = _matches(_FX)


def _fx(text: str) -> list[Span]:
    spans = _fx_matches(text)
    last = spans[-1] if spans else None
    if last is not None and last.style == tokens.COMMENT and "File: " in text[last.start :]:
        spans[-1] = Span(last.start, last.end, tokens.ORIGIN)
    return spans


def _traceback(text: str) -> list[Span]:
    frame = _FRAME.match(text) or _PLACE.match(text)
    if frame:
        if is_framework(frame["path"].strip('"')):
            return [Span(frame.end("lead"), len(text), tokens.DIM)]
        parts = ((("path"), tokens.ORIGIN), ("line", tokens.NUMBER), ("function", tokens.DEFINITION))
        return [Span(*frame.span(name), style) for name, style in parts if frame[name]]
    if _MARKS.match(text):
        return [Span(len(text) - len(text.lstrip()), len(text), tokens.DIM)]
    for pattern, style in (
        (_HEADING, tokens.HEADING),
        (_LABEL, tokens.LABEL),
        (_EXCEPTION, tokens.EXCEPTION),
        (_DOTTED, tokens.EXCEPTION),
    ):
        match = pattern.match(text)
        if match:
            start = len(text) - len(text.lstrip())
            return [Span(start, match.end(), style)] if match.end() > start else []
    return []


STYLES: dict[str, Callable[[str], list[Span]]] = {
    "fx": _fx,
    "json": _matches(_JSON),
    "guards": _matches(_GUARD),
    "bytecode": _matches(_BYTECODE),
    "ir": _matches(_IR),
    "traceback": _traceback,
    "stack": _traceback,
}


# The first entry that a token type is, or is part of, counts; '' is drawn plain.
_STYLES: tuple[tuple[str, str], ...] = (
    ("Keyword.Constant", tokens.CONSTANT),
    ("Keyword.Type", tokens.TYPE),
    ("Keyword", tokens.KEYWORD),
    ("Operator.Word", tokens.KEYWORD),
    ("Operator", tokens.OPERATOR),
    ("Name.Builtin.Pseudo", tokens.NAME),
    ("Name.Builtin", tokens.FUNCTION),
    ("Name.Function", tokens.DEFINITION),
    ("Name.Class", tokens.DEFINITION),
    ("Name.Decorator", tokens.DECORATOR),
    ("Name.Exception", tokens.EXCEPTION),
    ("Name.Label", tokens.NAME),
    ("Literal.String.Doc", tokens.COMMENT),
    ("Literal.String", tokens.STRING),
    ("Literal.Number", tokens.NUMBER),
    ("Comment.Preproc", tokens.DECORATOR),
    ("Comment", tokens.COMMENT),
)

ORIGINS = (
    "# File: ",
    "# Topologically Sorted Source Nodes:",
    "# [Provenance debug handles]",
    "// [Provenance debug handles]",
)
"""Comments that say where generated code comes from."""


@lru_cache(maxsize=512)
def _style(kind: Any) -> str:
    name = str(kind).removeprefix("Token.")
    return next((style for prefix, style in _STYLES if name == prefix or name.startswith(prefix + ".")), "")


@lru_cache(maxsize=4)
def _lexer(language: str) -> Any:
    if language == "cpp":
        from pygments.lexers.c_cpp import CppLexer

        return CppLexer()
    from pygments.lexers.python import PythonLexer

    return PythonLexer()


def lex(language: str, lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """Return the spans of each line, lexed together as 'python' or 'cpp'."""
    spans: list[list[Span]] = [[] for _ in lines]
    starts, offset = [], 0
    for line in lines:
        starts.append(offset)
        offset += len(line) + 1
    n = 0
    for index, kind, value in _lexer(language).get_tokens_unprocessed("\n".join(lines) + "\n"):
        while n + 1 < len(starts) and starts[n + 1] <= index:
            n += 1
        style = _style(kind)
        if not style or not value or value == ".":
            continue
        if style == tokens.COMMENT and value.startswith(ORIGINS):
            style = tokens.ORIGIN
        _add(spans, n, index - starts[n], value, style)
    return [tuple(line) for line in spans]


def _add(spans: list[list[Span]], n: int, column: int, value: str, style: str) -> None:
    """Add a token that may go over several lines. A neighbour of the same style grows."""
    for part in value.split("\n"):
        if part and n < len(spans):
            line = spans[n]
            if line and line[-1].end == column and line[-1].style == style:
                line[-1] = Span(line[-1].start, column + len(part), style)
            else:
                line.append(Span(column, column + len(part), style))
        n, column = n + 1, 0


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
        """Update after the line index has grown."""

    def spans(self, lo: int, hi: int) -> list[Spans]:
        """Spans of each of the lines `lo` to `hi` (exclusive)."""

    def window(self, text: str, inside: bool) -> Spans:
        """Return the spans of a part of a long line, from the part alone; its columns count from 0.

        `inside`: it does not begin with the line.
        """


class Plain:
    """No colours."""

    def advance(self) -> None:
        return

    def spans(self, lo: int, hi: int) -> list[Spans]:
        return [()] * (hi - lo)

    def window(self, text: str, inside: bool) -> Spans:
        return ()


class ByLine:
    """A language whose lines are independent. With `windows`, part of a line may be coloured alone, too."""

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
        start = FX_RESTART.search(text) if inside else None
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
        lines: list[Spans] = []
        for block in range(lo // BLOCK, (hi - 1) // BLOCK + 1):
            spans = self._block(block)
            lines += spans[max(lo - block * BLOCK, 0) : hi - block * BLOCK]
        return lines

    def window(self, text: str, inside: bool) -> Spans:
        return ()

    def _block(self, block: int) -> list[Spans]:
        block_spans = self._blocks.get(block)
        if block_spans is not None:
            return block_spans
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
            spans = [_string_span(line) for line in lines]
        elif region.kind in ("open", "close"):
            spans = [_edge(lines[0], region)]
        else:
            spans = lex(region.kind, lines)
        return [tuple(_with_controls(*pair)) for pair in zip(lines, spans, strict=True)][first - begin : stop - begin]


def _string_span(line: str) -> Spans:
    return (Span(0, len(line), tokens.STRING),) if line else ()


def _edge(line: str, region: Region) -> Spans:
    """Return the spans of a line that opens or closes a string: code on one side of the quote, string on the other."""
    if region.kind == "open":
        cut = max(line.rfind(region.quote), 0)
        if line[:cut].endswith(("r", "f", "b")):
            cut -= 1
        return (*lex("python", [line[:cut]])[0], *_shifted(_string_span(line[cut:]), cut))
    cut = line.find(region.quote) + len(region.quote)
    return (*_string_span(line[:cut]), *_shifted(lex("python", [line[cut:]])[0], cut))


def _shifted(spans: Spans, by: int) -> Spans:
    return tuple(Span(span.start + by, span.end + by, span.style) for span in spans)


def _with_controls(text: str, spans: list[Span] | Spans) -> list[Span] | Spans:
    """Highlight the marks of control characters, whatever span they are in."""
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
    """Return the highlighter of a language. An unknown language stays plain."""
    if language in ("python", "output_code", "cpp"):
        return ByRegion(index, language)
    styles = STYLES.get(language)
    return Plain() if styles is None else ByLine(index, styles, windows=language == "fx")
