"""`Page`: a `Builder` with a width and the glyphs of `--ascii`, and the tables on it.

A table is declared as columns: each has its title, cell, alignment and order, and knows when it gives way to the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tltui.documents import format as fmt
from tltui.model.status import Status, colour, glyph
from tltui.text import formatting, tokens
from tltui.text.document import Builder, Options, Piece, piece_text, with_text
from tltui.text.formatting import OWN
from tltui.text.formatting import cells as wide
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

Row = TypeVar("Row")
_NUMBER = re.compile(r"\d+")

_WORD = re.compile(r"\s*\S+\s*")
COLUMN, LAST = 6, 16
"""Cells that are left of a column, and of the last one while others can give way."""
CLOSING = (",", ":", ";", ".")
"""Characters that no line begins with."""
Cell = tuple[str, str, str]
"""Text, style, and where it leads."""


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table."""

    title: str
    """Its label in the first line, '' for none."""
    cell: Callable[[Row], Piece]
    """Return the text of a row, with its style and where it leads."""
    right: bool = False
    """Whether it is aligned right, as numbers are."""
    drop: int = 0
    """When it gives way in a pane that is too narrow for all columns: 1 first, then 2 …; those with 0 last, from the right."""
    shrinks: bool = True
    """Whether its texts may be cut, down to 6 cells. Addresses never are."""
    least: int = 0
    """Cells that it keeps, if more than 6, as far as its texts have them: other columns give way before."""
    when: Callable[[Sequence[Row]], bool] | None = None
    """Return whether these rows have anything for it; None: all rows have."""
    sort: str = ""
    """The order (`--sort`) that goes by this column, '' for none."""
    key: Callable[[Row], Any] | None = None
    """Return what rows are compared by in that order; None: the rows come in it."""

    @property
    def arrow(self) -> str:
        """The sign in the title of the column that the rows are sorted by: numbers go down, names up."""
        return " ↓" if self.right else " ↑"


@dataclass(frozen=True)
class Table(Generic[Row]):
    """The columns of a table, and how many of its rows a page has."""

    columns: tuple[Column[Row], ...]
    noun: str = "rows"
    """The plural for rows, in the line in place of folded ones: `12 more functions`."""
    shown: int = 0
    """Rows above that line; 0: all. One or two more are not folded."""
    folded: int = 0
    """Rows below it at most; 0: all of them. `--json` has the others."""
    indent: str = "  "
    order: str = ""
    """The order in which the rows come, '' for none that has a name."""

    def present(self, rows: Sequence[Row]) -> list[Column[Row]]:
        """Return the columns for which these rows have anything."""
        return [column for column in self.columns if column.when is None or column.when(rows)]

    def applied(self, sort: str) -> str:
        """Return the order of the rows if `sort` is wanted: the one in which they come, where no column has it."""
        return sort if sort and any(column.sort == sort for column in self.columns) else self.order

    def ordered(self, rows: Sequence[Row], sort: str) -> Sequence[Row]:
        """Return the rows in the order `sort`; as they come, where no column has it."""
        key = next((column.key for column in self.columns if sort and column.sort == sort), None)
        return rows if key is None or sort == self.order else sorted(rows, key=key)


def by_numbers(text: str) -> tuple[int, ...]:
    """Return what addresses and versions are sorted by: `0/2` comes before `0/10`, 2.9 before 2.10."""
    return tuple(map(int, _NUMBER.findall(text)))


def fitting(least: Sequence[int], drops: Sequence[int], room: int) -> list[int]:
    """Return the columns that fit into `room` cells: the first one, and as many others as possible.

    `least` are the minimum cells of each, `drops` the order in which they give way; two cells separate columns.
    """
    stay = list(range(len(least)))
    for column in sorted(stay[1:], key=lambda n: (drops[n] == 0, drops[n], -n)):
        if sum(least[n] for n in stay) + 2 * (len(stay) - 1) <= room:
            break
        stay.remove(column)
    return stay


def to_page(label: str, target: str) -> Piece:
    """Return a link to another page: `→ metrics`."""
    return (f"→ {label}", tokens.LINK, target)


class Page(Builder):
    """A `Builder` for pages that tltui writes itself."""

    def __init__(self, ref: str, title: str, options: Options) -> None:
        super().__init__(ref, short(title, options.ascii), options)
        self.width = max(options.width, 30)
        self.ascii = options.ascii
        self.goes_on = options.goes_on
        self.sort = options.sort
        self._window = options.window
        self.untold = options.untold
        self.newest = options.newest
        self._apart = formatting.Apart()
        if options.about:
            self.say(options.about, "", tokens.DIM)
        if self.untold:
            self.say_untold()
        if self.untold or options.about:
            self.blank()

    def add(self, *pieces: Piece, anchor: str | None = None, signs: bool = False) -> None:
        """Append one line, functions called in short, with ASCII signs for ours where those are wanted."""
        super().add(*map(self._screen_piece, pieces), anchor=anchor, signs=signs)

    def open(self, title: str, folded: bool = False, aside: bool = False) -> None:
        """Start a section whose head is the next line."""
        super().open(self.drawn(title), folded, aside)

    @contextmanager
    def fold(self, title: str, indent: str = "  ", aside: bool = False) -> Iterator[None]:
        """Fold what the block adds below a line with its title."""
        self.open(title, folded=True, aside=aside)
        self.add(indent, (title, tokens.DIM))
        yield
        self.close()

    def drawn(self, text: str) -> str:
        """Return a text in the characters that reach the screen, so that its length is final."""
        text = short(text)
        return text.translate(OWN) if self.ascii else text

    def _screen_piece(self, piece: Piece) -> Piece:
        text = piece_text(piece)
        shown = self.drawn(text)
        return piece if shown is text else with_text(piece, shown)

    def clip(self, text: str, width: int) -> str:
        """Clip like `format.clip`, but differently from any other text that was clipped on this page."""
        return self._apart.cut(self.drawn(text), width)

    def clip_middle(self, text: str, width: int) -> str:
        """Clip like `format.clip_middle`, but differently from any other text that was clipped on this page."""
        return self._apart.cut(self.drawn(text), width, formatting.name)

    def more(self, part: str = "") -> None:
        """Add a note that the page may grow, and which part."""
        if self.goes_on:
            self.say(f"{self.goes_on[:1].upper()}{self.goes_on[1:]}{': ' + part if part else '.'}", "", tokens.WARN)

    def so_far(self, text: str) -> str:
        """Qualify a statement of absence in a live run or an incomplete input.

        A live run gets `So far`, an input without a trace `As far as the logs show`.
        """
        if self.goes_on or self.untold:
            return f"{'So far' if self.goes_on else 'As far as the logs show'}, {text[:1].lower()}{text[1:]}"
        return text

    def title_so_far(self, title: str) -> str:
        """Qualify the title of a section like `so_far`."""
        return f"{title}, {'so far' if self.goes_on else 'as far as the logs show'}" if self.goes_on or self.untold else title

    def say_untold(self) -> None:
        """Add the limits of the inputs for this page."""
        if self.untold:
            self.say(self.untold, "", tokens.WARN)

    def status(self, status: Status | None) -> Piece:
        """Return the glyph of a status in its style."""
        return (glyph(status, self.ascii), colour(status))

    def say(self, text: str, indent: str = "", style: str = "", hang: str | None = None) -> None:
        """Add a wrapped text. `hang` indents the continuation lines (default: `indent`)."""
        rest = indent if hang is None else hang
        for n, line in enumerate(fmt.wrap(self.drawn(text), self.width - max(len(indent), len(rest)))):
            self.add(indent if n == 0 else rest, (line, style))

    def labelled(self, label: str, text: str, indent: str = "  ", gap: int = 9, style: str = "") -> None:
        """Add `label    text`, with the text wrapped next to the label."""
        room = self.width - len(indent) - gap
        for n, line in enumerate(fmt.wrap(self.drawn(text), room)):
            self.add(indent, (label.ljust(gap) if n == 0 else " " * gap, tokens.LABEL), (line, style))

    def row(self, pieces: Sequence[Piece], indent: str = "  ") -> None:
        """Add pieces in sequence; overflow continues on the next line with a deeper indent.

        No line begins with a comma or a colon if the piece before it fits on that line too.
        """
        line: list[Piece] = []
        used = len(indent)
        hang = "    " if len(indent) < 4 else indent + "  "
        pieces = [part for piece in map(self._screen_piece, pieces) for part in self._broken(piece)]
        for number, piece in enumerate(pieces):
            text = piece_text(piece)
            after = pieces[number + 1] if number + 1 < len(pieces) else ""
            wanted = text + piece_text(after) if piece_text(after).startswith(CLOSING) else text
            if len(wanted) > self.width - len(hang):
                wanted = text
            if line and used + len(wanted.rstrip()) > self.width:
                self.add(indent, *line)
                line, indent = [], hang
                used = len(indent)
                if isinstance(piece, str):
                    piece = text = piece.lstrip()
            line.append(piece)
            used += len(text)
        if line:
            self.add(indent, *line)

    def _broken(self, piece: Piece) -> Iterable[Piece]:
        """Split a piece that is wider than a line into words."""
        text = piece_text(piece)
        if len(text) <= self.width - len("    ") or " " not in text.strip():
            return (piece,)
        return (with_text(piece, word) for word in _WORD.findall(text))

    def joined(self, pieces: Sequence[Piece], indent: str = "") -> None:
        """Pieces with ` · ` between them, wrapped."""
        separator = " · "
        line: list[Piece] = []
        used = len(indent)
        for piece in map(self._screen_piece, pieces):
            text = piece_text(piece)
            if line and used + len(separator) + len(text) > self.width:
                self.add(indent, *line)
                line, used = [], len(indent)
            if len(text) > self.width - len(indent):
                for n, part in enumerate(fmt.wrap(text, self.width - len(indent) - 2)):
                    self.add(indent, "  " if n else "", with_text(piece, part))
                continue
            if line:
                line.append((separator, tokens.DIM))
                used += len(separator)
            line.append(piece)
            used += len(text)
        if line:
            self.add(indent, *line)

    def place(self, path: str | None, line: int | None, style: str = "link") -> Piece:
        """Return a location in the user's source as a link."""
        return (fmt.clip_middle(fmt.place(path, line), self.width // 2), style, fmt.place_target(path, line))

    def file(self, path: str) -> None:
        """Add a file of the run: its name, then its directory, on separate lines."""
        directory, _, name = fmt.home(path).rpartition("/")
        for label, text in (("file", name), ("in", directory or "/")):
            self.add("  ", (label.ljust(9), tokens.LABEL), fmt.clip_middle(sanitize(text), self.width - 11))

    def code(self, text: str | None, indent: str) -> None:
        """Add a source line, clipped to the width."""
        if text and text.strip():
            self.add(indent, (fmt.clip(sanitize(text.strip()), self.width - len(indent)), tokens.NAME))

    def window_of(self, duration_s: float) -> tuple[float, float]:
        """Return the begin and end, in seconds, of the part that a chart over so much time is to show."""
        self._document.chart_seconds.append(duration_s)
        low, high = self._window
        return low * duration_s, high * duration_s

    def table(self, table: Table[Row], rows: Sequence[Row], total: int | None = None, sort: str | None = None) -> None:
        """Add rows below the titles of their columns, as many columns as fit.

        `total` is the number of rows with those that the caller left out. `sort` is the wanted order, None for that of the page.
        """
        if not rows:
            return
        applied = ""
        sort = self.sort if sort is None else sort
        columns = table.present(rows)
        if is_sortable := any(column.sort for column in table.columns):
            absent = [column.sort for column in table.columns if column.sort and column not in columns]
            sort = table.order if sort in absent else sort
            applied, rows = table.applied(sort), table.ordered(rows, sort)
            self._document.all_orders += [table.order, *(column.sort for column in columns)]
            self._document.absent_orders += absent
        most = table.shown + table.folded if table.shown and table.folded else len(rows)
        total, rows = max(total or 0, len(rows)), rows[:most]
        arrows = [column.arrow if column.title and applied and column.sort == applied else "" for column in columns]
        head: list[list[Piece]] = [
            [(one.title + arrow, tokens.STRONG if arrow else tokens.LABEL) for one, arrow in zip(columns, arrows, strict=True)]
        ]
        cells = (head if any(column.title for column in columns) else []) + [[one.cell(row) for one in columns] for row in rows]
        texts = [[self._cell(piece) for piece in row] for row in cells]
        least = [_least_of(column, [row[n] for row in texts]) for n, column in enumerate(columns)]
        wanted = applied if applied != table.order else ""  # the column of an order that somebody chose stays in sight
        drops = [0 if wanted and column.sort == wanted else column.drop for column in columns]
        stay = fitting(least, drops, self.width - len(table.indent))
        if is_sortable:
            names, orders = [*(columns[n].sort for n in stay), table.order], self._document.orders
            orders += [name for name in dict.fromkeys(names) if name and name not in orders]
        more = f"{fmt.count(total - table.shown)} more {table.noun}"
        if total > len(rows):
            more += f", {fmt.count(len(rows) - table.shown)} of them listed; --json lists all"
        is_folded = table.shown and total > table.shown + 2
        self._grid(
            [[row[n] for n in stay] for row in texts], table.indent, [place for place, n in enumerate(stay) if columns[n].right],
            len(cells) - len(rows) + table.shown if is_folded else -1, more,
            [min(least[n], columns[n].least) if columns[n].shrinks else least[n] for n in stay],
        )  # fmt: skip

    def grid(
        self, rows: Sequence[Sequence[Piece]], indent: str = "  ", right: Sequence[int] = (), shown: int = -1, more: str = ""
    ) -> None:
        """Add cells below each other, without titles: columns are as wide as their widest cell, `right` ones are aligned right.

        Rows from number `shown` on are folded below a line that says `more`.
        """
        if not rows:
            return
        count = max(len(row) for row in rows)
        cells = [[self._cell(piece) for piece in row] + [("", "", "")] * (count - len(row)) for row in rows]
        self._grid(cells, indent, right, shown, more, [0] * count)

    def _grid(
        self, cells: Sequence[Sequence[Cell]], indent: str, right: Sequence[int], shown: int, more: str, least: Sequence[int]
    ) -> None:
        """Add cells, none narrower than its column's `least`; the last column is cut to the width first."""
        count = len(least)
        columns = [[row[n][0] for row in cells] for n in range(count)]
        widths = [max(map(wide, texts)) for texts in columns]
        self._fit(widths, len(indent), [max(least[n], _least(row[n] for row in cells)) for n in range(count)])
        shorts = []
        for n, texts in enumerate(columns):
            shorts.append(formatting.apart(texts, widths[n], formatting.end if n == count - 1 else formatting.name))
            needs = max(map(wide, shorts[n]))
            if n < count - 1 and needs < widths[n]:  # a path is cut at its directories
                widths[n], widths[-1] = needs, min(widths[-1] + widths[n] - needs, max(map(wide, columns[-1])))
        for number, row in enumerate(cells):
            if number == shown:
                self.open(more, folded=True)
                self.add(indent, (more, tokens.DIM))
            pieces: list[Piece] = [indent]
            for n, (_, style, target) in enumerate(row):
                text = shorts[n][number]
                pad = " " * (widths[n] - wide(text))
                if n in right:
                    pieces += [pad, (text, style, target)]
                else:
                    pieces += [(text, style, target), pad]
                if n < count - 1:
                    pieces.append("  ")
            self.add(*pieces)
        if 0 <= shown < len(cells):
            self.close()

    def _cell(self, piece: Piece) -> Cell:
        text, style, target = (piece, "", "") if isinstance(piece, str) else (*piece, "")[:3]
        return self.drawn(sanitize(text)), style, target

    def _fit(self, widths: list[int], indent: int, least: Sequence[int]) -> None:
        """Make the columns fit: the last one first, then the widest. None gets narrower than `least`."""
        def over() -> int:
            return indent + sum(widths) + 2 * (len(widths) - 1) - self.width

        last = len(widths) - 1
        if (more := over()) > 0:
            widths[last] -= min(more, max(widths[last] - max(LAST, least[last]), 0))
        while over() > 0:
            loose = [n for n in range(len(widths)) if widths[n] > least[n]]
            if not loose:
                break
            widest = max(loose, key=lambda n: widths[n])
            lower = max([least[widest], *(widths[n] for n in loose if widths[n] < widths[widest])])
            widths[widest] -= min(over(), max(1, widths[widest] - lower))


def _least_of(column: Column[Row], cells: Sequence[Cell]) -> int:
    """Return the cells of the terminal that a column needs at least."""
    widest = max(wide(text) for text, _, _ in cells)
    return min(widest, max(_least(cells), column.least)) if column.shrinks else widest


def _least(cells: Iterable[Cell]) -> int:
    """Cells that a column must have: its addresses, whole, and a few of whatever else."""
    return max([COLUMN, *(wide(text) for text, _, target in cells if target and text.strip("[] ") == target)])
