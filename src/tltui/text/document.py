"""The document protocol: a lazily computed sequence of lines, displayed by every view of tltui.

The widget that draws, the search, the export and the command line know only the protocol of this module.
Two kinds of documents implement it: `TextDocument` here (built line by line, small: overviews, tables) and
`tltui.text.bytes_document.BytesDocument` (a stored payload of any size).

Columns are characters of the *sanitised* line (see `tltui.text.sanitize`), from 0; lines count from 0.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Protocol, runtime_checkable

from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize
from tltui.text.search.child_process import in_lines


@frozen
class Span:
    """Columns `start` (inclusive) to `end` (exclusive) are a `style` of `tltui.text.tokens`."""

    start: int
    end: int
    style: str


@frozen
class Link:
    """A link on some columns of a line.

    `target` is an address (`0/1:inductor_output_code`), `line:N` of the same document (N from 1), `file:PATH:LINE` of the user's
    source, or the web address of torch's page about a kind of graph break (`tltui.text.torch_names.graph_break_page`).
    """

    start: int
    end: int
    target: str
    is_sign: bool = False
    """Whether it is drawn in its own style: one of many signs, whose style tells more than that they lead somewhere."""


@frozen
class Line:
    """The requested part of a line.

    `text` begins at column `first`; the columns of `spans` and `links` are those of the full line.
    """

    text: str
    spans: tuple[Span, ...] = ()
    links: tuple[Link, ...] = ()
    first: int = 0


@frozen
class Section:
    """Lines `first` to `last` (both inclusive), headed by line `first`. `level` 0 is the outermost.

    A `folded` section is shown closed at first. Of one `aside` (frames of torch) a terminal is given the title alone.
    """

    first: int
    last: int
    level: int
    title: str
    folded: bool = False
    aside: bool = False


@frozen
class Hit:
    """A match of a search pattern: columns `start` to `end` (exclusive) of `line`."""

    line: int
    start: int
    end: int


@frozen
class Options:
    """Layout options of a document. A table uses its target width in columns."""

    width: int = 100
    sort: str = ""
    filter: str = ""
    part: str = ""
    """The one thing of all that a page is about, where it can be asked for it alone: a kernel. '' for all."""
    raw: bool = False
    window: tuple[float, float] = (0.0, 1.0)
    """The part of the time that charts show: shares of it."""
    ascii: bool = False
    goes_on: str = ""
    """Why more may come, '' when not: what is not there is then said to be so for now only."""
    about: str = ""
    """What a page must say of what it is made from, in a sentence. '' for nothing."""
    untold: str = ""
    """What the inputs cannot tell of what a page shows, in sentences: what is not there is then no fact. '' for all."""
    newest: frozenset[str] = frozenset()
    """Of ranks with several processes the addresses of those that stand for them: the newest, `50.2`."""
    path: str = "PATH"
    """The words that name the run in a command of the shell: the paths as given, quoted, or `--demo`."""
    key_of: Callable[[str], str] | None = field(default=None, compare=False, repr=False)
    """The key of a command (`app.next_error`), '' for one without. None where there is no screen: a page then names commands of the
    shell, and no keys."""


@runtime_checkable
class Document(Protocol):
    """A lazily computed sequence of lines. It never changes but by growing at its end.

    All methods may be called from any thread, one thread at a time.
    """

    @property
    def ref(self) -> str:
        """The address of the document: the key of history and marks."""

    @property
    def title(self) -> str:
        """The title of the frame."""

    @property
    def language(self) -> str:
        """A name of `tltui.text.colours.highlight.LANGUAGES`, or '' for pages that tltui wrote."""

    @property
    def badge(self) -> str:
        """A short remark for the frame, e.g. `md5 ✓`; '' for none."""

    @property
    def version(self) -> int:
        """Bumped whenever lines, sections or the badge changed."""

    @property
    def complete(self) -> bool:
        """False while `advance` still finds lines."""

    def __len__(self) -> int:
        """Lines known so far."""

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        """Columns `lo` to `hi` (exclusive; None: to the end, but see `length`) of line `n`, sanitised."""

    def length(self, n: int) -> int:
        """Columns of line `n`; an upper bound where the exact number would need a long line to be decoded."""

    def width(self) -> int:
        """Columns of the longest line known so far (an upper bound, cheap)."""

    def advance(self, size: int = 4 << 20) -> bool:
        """Work through up to `size` further bytes of the line index. True when `complete`. Runs off the UI thread."""

    def sections(self) -> Sequence[Section]:
        """Sections in the order of their first lines, properly nested. May take long for a large document."""

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit | None]:
        """Hits from line `start` on to the end (`back`: from the end of line `start` back to the first line).

        None now and then, for a pattern that is matched in another process: nothing yet. What is closed ends the process."""

    def anchor(self, n: int) -> str:
        """Return a name of line `n` that survives width, sorting and growth."""

    def where(self, anchor: str) -> int | None:
        """Return the line of an anchor, None if the document does not (or no longer) contain it."""

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        """Lines `lo` to `hi` (exclusive) as sanitised text without line ends, uncapped: for export."""

    def data(self) -> object | None:
        """Return the frozen result behind the document, for JSON; None for a document that is only text."""


Piece = str | tuple[str, str] | tuple[str, str, str]
"""Part of a line for `Builder.add`: text; (text, style); (text, style, link target)."""


def piece_text(piece: Piece) -> str:
    """Return the text of a piece."""
    return piece if isinstance(piece, str) else piece[0]


def piece_style(piece: Piece) -> str:
    """Return the style of a piece, '' for none."""
    return "" if isinstance(piece, str) else piece[1]


def with_text(piece: Piece, text: str) -> Piece:
    """Return a piece with another text and the same style."""
    return text if isinstance(piece, str) else (text, *piece[1:])


@mutable
class TextDocument:
    """A document whose lines were all made at once. Made with `Builder`."""

    ref: str
    title: str
    language: str = ""
    badge: str = ""
    version: int = 0
    complete: bool = True
    lines: list[Line] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    section_list: list[Section] = field(default_factory=list)
    result: object | None = None
    start: int = 0
    """The line that the caret is on at first."""
    orders: list[str] = field(default_factory=list)
    """The orders that its tables can be in, as far as their columns are shown."""
    all_orders: list[str] = field(default_factory=list)
    """Those of columns without room too."""
    absent_orders: list[str] = field(default_factory=list)
    """Those of columns for which the rows of a table have nothing."""
    chart_seconds: list[float] = field(default_factory=list)
    """The time of each chart that can show a part of it."""
    _measured: int = 0
    """Lines that `_widest` is about."""
    _widest: int = 0

    def __len__(self) -> int:
        return len(self.lines)

    def line(self, n: int, lo: int = 0, hi: int | None = None) -> Line:
        line = self.lines[n]
        if lo == 0 and (hi is None or hi >= len(line.text)):
            return line
        return Line(line.text[lo:hi], line.spans, line.links, lo)

    def length(self, n: int) -> int:
        return len(self.lines[n].text)

    def width(self) -> int:
        measured, end = self._measured, len(self.lines)
        if measured < end:  # lines are only ever added: a growing page is not measured anew with each slice
            self._widest = max(self._widest, *(len(self.lines[n].text) for n in range(measured, end)))
            self._measured = end
        return self._widest

    def advance(self, size: int = 0) -> bool:
        return True

    def sections(self) -> Sequence[Section]:
        return self.section_list

    def find(self, pattern: re.Pattern[str], start: int = 0, back: bool = False) -> Iterator[Hit | None]:
        order = range(start, -1, -1) if back else range(start, len(self.lines))
        for hit in in_lines(pattern, ((n, self.lines[n].text) for n in order), back):
            yield None if hit is None else Hit(*hit)

    def anchor(self, n: int) -> str:
        return next((name for name, line in self.anchors.items() if line == n), str(n + 1))

    def where(self, anchor: str) -> int | None:
        if anchor in self.anchors:
            return self.anchors[anchor]
        return int(anchor) - 1 if anchor.isdigit() and 0 < int(anchor) <= len(self.lines) else None

    def text(self, lo: int = 0, hi: int | None = None) -> Iterator[str]:
        for line in self.lines[lo:hi]:
            yield line.text

    def data(self) -> object | None:
        return self.result


class Builder:
    """Makes a `TextDocument` line by line.

    >>> b = Builder("0/1", "[0/1]")
    >>> b.heading("Inputs")
    >>> b.add("  ", ("L['x']", "name"), " float32 ", ("[0/0]", "link", "0/0"))
    >>> len(b.document())
    2
    """

    def __init__(self, ref: str, title: str, options: Options | None = None) -> None:
        self.options = options or Options()
        self._document = TextDocument(ref, sanitize(title))
        self._open: list[tuple[int, str, bool, bool, int]] = []

    def add(self, *pieces: Piece, anchor: str | None = None, signs: bool = False) -> None:
        """Append one line.

        Every piece is sanitised; line ends inside a piece become visible marks. `signs`: links of one character keep the
        style of their piece.
        """
        text, spans, links = "", [], []
        for piece in pieces:
            raw, style, target = (piece, "", "") if isinstance(piece, str) else (*piece, "")[:3]
            clean = sanitize(raw)
            start, text = len(text), text + clean
            if style and clean:
                spans.append(Span(start, len(text), style))
            if target and clean:
                links.append(Link(start, len(text), target, signs and len(clean) == 1))
        if anchor is not None:
            self._document.anchors[anchor] = len(self._document.lines)
        self._document.lines.append(Line(text.rstrip(), tuple(spans), tuple(links)))

    def begin_here(self) -> None:
        """Place the initial caret on the next line."""
        self._document.start = len(self._document.lines)

    def text(self, block: str, indent: str = "", style: str = "") -> None:
        """Append a text of several lines."""
        for line in block.split("\n"):
            self.add(indent, (line, style))

    def blank(self) -> None:
        """Append an empty line, unless the last one is empty."""
        if self._document.lines and self._document.lines[-1].text:
            self.add()

    def heading(self, title: str, folded: bool = False) -> None:
        """Start a section of level 0 after an empty line; it ends at the next heading."""
        self.close(0)
        self.blank()
        self.open(title, folded)
        self.add((title, "heading"))

    def open(self, title: str, folded: bool = False, aside: bool = False) -> None:
        """Start a section whose head is the next line. Sections nest."""
        self._open.append((len(self._document.lines), sanitize(title), folded, aside, len(self._document.section_list)))

    def close(self, level: int | None = None) -> None:
        """End the innermost open section, or all down to `level`. Empty lines at its end stay outside of it."""
        target = len(self._open) - 1 if level is None else level
        while len(self._open) > max(target, 0):
            first, title, folded, aside, place = self._open.pop()
            last = len(self._document.lines) - 1
            while last > first and not self._document.lines[last].text:
                last -= 1
            if last > first:
                section = Section(first, last, len(self._open), title, folded, aside)
                self._document.section_list.insert(place, section)  # before those in it: they are there already

    def growing(self) -> TextDocument:
        """Return the document in its current, unfinished state."""
        return self._document

    def document(self, result: object | None = None) -> TextDocument:
        """Return the finished document; `result` is the value of its `data()`."""
        self.close(0)
        self._document.result = result
        return self._document


NARROW = 74
"""Cells of a line that fits a terminal of 80 columns."""


def error_document(ref: str, title: str, task: str, error: Exception) -> TextDocument:
    """Return a document that reports an internal error or an unreadable file, so that the failure stays local."""
    builder = Builder(ref, title)
    builder.add((f"tltui cannot show this page: {task}", "error"))
    if isinstance(error, OSError):
        builder.add(f"{error.filename or 'a file'}: {error.strerror or error}")
        builder.blank()
        builder.add(("tltui cannot read this file. The rest of the run remains usable.", "dim"))
        return builder.document()
    builder.add(f"{type(error).__name__}: {error}")
    builder.blank()
    builder.add(("This is an internal error in tltui, not in the trace.", "dim"))
    builder.add(("The rest of the run remains usable.", "dim"))
    return builder.document()


def nowhere_document(ref: str, why: str) -> TextDocument:
    """Return a document that explains why an address does not resolve."""
    builder = Builder(ref, ref)
    builder.add((f"unknown address: {ref}", "error"))
    for line in textwrap.wrap(why, NARROW, break_long_words=False):
        builder.add(line)
    builder.blank()
    builder.add(("The rest of the run remains usable.", "dim"))
    return builder.document()


def printed(document: Document, render: Callable[[Line], str]) -> Iterator[str]:
    """Every line of a document, rendered (for a command line or an export with styles)."""
    while not document.advance():
        pass
    for n in range(len(document)):
        yield render(document.line(n))
