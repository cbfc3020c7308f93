"""Paint rows of a document as Textual strips; a row that cannot be drawn says so instead of ending the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import wraps
from typing import TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip
from textual.widget import Widget

from tltui.messages import Undrawn
from tltui.text.document import Document, Line
from tltui.text.formatting import REAL, Script, crop
from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize
from tltui.text.screen_rows import WRAP_CAP, Row
from tltui.text.torch_names import is_graph_break_page

W = TypeVar("W", bound=Widget)


def row_by_row(render_line: Callable[[W, int], Strip]) -> Callable[[W, int], Strip]:
    """Wrap `render_line`: a failure costs the row, and is posted to the app as `Undrawn`."""

    @wraps(render_line)
    def drawn(self: W, y: int) -> Strip:
        try:
            return render_line(self, y)
        except Exception as error:
            self.app.post_message(Undrawn(error))  # it would not bubble: the screen draws, and counts as its sender
            width = self.size.width
            return Strip([Segment(crop(f"tltui cannot draw this: {type(error).__name__}", width).ljust(width))], width)

    return drawn


BANDS = 6
"""Colors of letters, one for each kernel in turn (see `ProvenanceView`)."""

WHOLE = 4096
"""Columns up to which a line is decoded whole; of a longer one only the window in sight."""

_FOLD = ("fold",)

Key = tuple[int, int, int, int]
"""What a row shows: line, first and last column (-1: to the end), cells scrolled right."""

Overlay = tuple[int, int, str]
"""Columns `start` to `end` (exclusive) of a line, and the name of the style that lies over them."""


@frozen
class Marks:
    """The characters that the widget itself draws."""

    open: str = "▾"
    closed: str = "▸"
    hit: str = "•"
    cut: str = "…"
    before: str = "‹"
    """The line begins further left."""
    onward: str = "↳"
    """The row goes on with the line of the one above."""
    linked: str = "▌"
    """The line corresponds to the one under the cursor."""


ASCII_MARKS = Marks("v", ">", "*", "~", "<", "`", "|")


@mutable
class RowStyle:
    """What lies over a row."""

    base: str = ""
    edge: str = ""
    """The style of the first cell of the gutter in the row of the cursor."""
    overlays: list[Overlay] = field(default_factory=list)
    fold: str = " "
    is_hit: bool = False
    sign: str = ""
    """A character for the first cell of the gutter, in the style `sign_style`."""
    sign_style: str = "hit-mark"
    label: str = ""
    """Text behind the first cell of the gutter, in the style `label_style`."""
    label_style: str = "gutter"
    tail: str = ""


def wrapped(text: str, width: int, script: Script = REAL) -> Sequence[int]:
    """Return the columns at which the rows of a text begin when each has `width` cells."""
    if text.isascii():
        return range(0, max(len(text), 1), width)
    starts, at = [0], 0
    while True:
        step = script.fitting(text[at : at + 2 * width], width)
        at += max(step, 1)
        if at >= len(text):
            return starts
        starts.append(at)


def key_of(row: Row, x: int) -> Key:
    """Return the key of what a row shows, scrolled right by `x`."""
    return row.line, row.lo, -1 if row.hi is None else row.hi, x


@frozen
class Fragment:
    """What one row shows of a line: `text` begins at column `first` and is padded with blanks to the row's width."""

    source: Line
    first: int
    text: str
    names: tuple[tuple[str, ...], ...]
    """For each character the name of its style, and the address of its hyperlink if it has one."""
    columns: int
    """Columns of the line in `text`: what follows them is padding or the mark."""


class Painter:
    """Makes strips. `style(name)` gives what a part of the screen adds to the style below it (`tltui.widgets.themes`)."""

    def __init__(self, style: Callable[[str], Style], mark: str = "…", hyperlinks: bool = False) -> None:
        """Create a painter. `hyperlinks`: numbers of graph breaks are links of the terminal to torch's documentation."""
        self._style = style
        self._mark = mark
        self._hyperlinks = hyperlinks
        self.script = REAL
        """How the document is drawn; `clear` when it changes."""
        self._fragments: LRUCache[Key, Fragment] = LRUCache(2048)
        self._strips: LRUCache[Key, Strip] = LRUCache(2048)
        self._styles: dict[tuple[str, ...], Style] = {}
        self._spreads: dict[str, bool] = {}

    def clear(self) -> None:
        """Forget every row: another document, width or set of styles."""
        self._fragments.clear()
        self._strips.clear()
        self._styles.clear()
        self._spreads.clear()

    def fragment(self, document: Document, row: Row, x: int, width: int) -> Fragment:
        """Return the content of a row, scrolled right by `x`."""
        key = key_of(row, x)
        fragment = self._fragments.get(key)
        if fragment is None:
            try:
                fragment = self._cut(document, row, x, width)
            except Exception as error:
                line = Line(sanitize(f"tltui cannot show this line: {type(error).__name__}: {error}"))
                fragment = self._make_fragment(line, line.text[: max(width, 0)], 0, 0, width)
            self._fragments[key] = fragment
        return fragment

    def _cut(self, document: Document, row: Row, x: int, width: int) -> Fragment:
        length = document.length(row.line)
        if length <= WHOLE:
            line = document.line(row.line)
            first = row.lo
            text = line.text[first : row.hi]
            if x:
                skipped = min(x, len(text)) if text.isascii() else self._columns_to(text, x)
                first, text = first + skipped, text[skipped:]
        else:
            first = row.lo + x
            end = first + width if row.hi is None else min(first + width, row.hi)
            line = document.line(row.line, first, end)
            text = line.text
        shown = text[: self.script.fitting(text, width)]
        is_inner = row.hi is not None and row.hi < WRAP_CAP  # the line goes on in the next row
        rest = 0 if is_inner else (len(text) if length <= WHOLE else length - first) - len(shown)
        return self._make_fragment(line, shown, first, rest, width)

    def _make_fragment(self, line: Line, text: str, first: int, rest: int, width: int) -> Fragment:
        columns = len(text)
        names = [""] * columns
        addresses: dict[int, str] = {}
        for span in line.spans:
            lo, hi = max(span.start - first, 0), min(span.end - first, columns)
            if lo < hi:
                names[lo:hi] = [f"tok-{span.style}"] * (hi - lo)
        for link in line.links:
            if link.is_sign:
                continue
            start = max(link.start - first, 0)
            end = max(min(link.end - first, columns), start)
            names[start:end] = ["tok-link"] * (end - start)
            # terminals recognize an address that is written in full
            if self._hyperlinks and is_graph_break_page(link.target) and text[start:end] != link.target:
                addresses.update(dict.fromkeys(range(start, end), link.target))
        if rest > 0:
            mark = f"{self._mark} +{rest // 1000} KB" if rest > WHOLE else self._mark
            columns = self.script.fitting(text, max(width - len(mark), 0))
            text = text[:columns] + mark
            names[columns:] = ["mark"] * len(mark)
        self._spread(text, names)
        pad = max(width - self.script.cells(text), 0)
        last = names[-1] if names and self._spreading(names[-1]) else ""
        each = {name: (name,) for name in {*names, last}}
        styles: list[tuple[str, ...]] = [each[name] for name in names + [last] * pad]
        for place, address in addresses.items():
            if place < columns:
                styles[place] = (names[place], address)
        return Fragment(line, first, text + " " * pad, tuple(styles), columns)

    def _spreading(self, name: str) -> bool:
        """Return whether a blank looks the same in this style as in any other."""
        if name not in self._spreads:
            style = self._style(name) if name else Style.null()
            self._spreads[name] = not (style.underline or style.reverse or style.strike or style.bgcolor)
        return self._spreads[name]

    def _spread(self, text: str, names: list[str]) -> None:
        """Let blanks have the style of what stands before them: a change of style costs 25 bytes over SSH."""
        wide = not text.isascii()
        for place in range(1, len(names)):
            before = names[place - 1]
            if names[place] == before:
                continue
            if (text[place] == " " and self._spreading(before) and self._spreading(names[place])) or (
                wide and not self.script.cells(text[place])
            ):
                names[place] = before

    def strip(self, key: Key, fragment: Fragment, base: Style, flat: bool = False) -> Strip:
        """Return the strip of the fragment that was got with `key`, with nothing over it; `flat`: in one colour."""
        if flat:
            return self._joined(fragment.text, _flat(fragment)).apply_style(base)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._joined(fragment.text, list(fragment.names))
        return strip.apply_style(base)

    def covered(
        self, fragment: Fragment, base: Style, overlays: Sequence[Overlay], tail: str = "", flat: bool = False
    ) -> Strip:
        """Return the strip of a fragment with `overlays` on it, later ones on top, and a remark after the text."""
        text = fragment.text
        names = _flat(fragment) if flat else list(fragment.names)
        if tail and fragment.columns + len(tail) <= len(text) and text[fragment.columns :].isspace():
            end = fragment.columns + len(tail)
            text = text[: fragment.columns] + tail + text[end:]
            if not flat:
                names[fragment.columns : end] = [_FOLD] * len(tail)
        for start, stop, name in overlays:
            for place in range(max(start - fragment.first, 0), min(stop - fragment.first, len(names))):
                names[place] = (*names[place], name)
        return self._joined(text, names).apply_style(base)

    def _joined(self, text: str, names: list[tuple[str, ...]]) -> Strip:
        if not text.isascii():
            for place in range(1, len(names)):
                if names[place] != names[place - 1] and not self.script.cells(text[place]):
                    names[place] = names[place - 1]
        segments: list[Segment] = []
        start, before, style = 0, names[0] if names else (), Style.null()
        for place, name in enumerate(names):
            if name is before and place:
                continue
            before, combined = name, self._combined(name)
            if combined != style and place:  # by look, not by name: one escape sequence for all of it
                segments.append(Segment(self.script.drawn(text[start:place]), style))
                start = place
            style = combined
        segments.append(Segment(self.script.drawn(text[start:]), style))
        return Strip(segments)

    def _combined(self, names: tuple[str, ...]) -> Style:
        style = self._styles.get(names)
        if style is None:
            style = Style.combine([Style.null(), *(self._style(name) for name in names if name)])
            self._styles[names] = style
        return style

    def _columns_to(self, text: str, cells: int) -> int:
        """Return the first column of `text` that is at or right of a number of cells."""
        column = self.script.fitting(text, cells)
        return column + (self.script.cells(text[:column]) < cells and column < len(text))


def _flat(fragment: Fragment) -> list[tuple[str, ...]]:
    """Return for each character its hyperlink alone."""
    return [names[1:] for names in fragment.names]
