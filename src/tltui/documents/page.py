"""What the overviews are written with: a `Builder` that knows the width, and the glyphs of `--ascii`."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.model.status import Status, colour, glyph
from tltui.text import tokens
from tltui.text.document import Builder, Options, Piece
from tltui.text.sanitize import sanitize
from tltui.text.script import OWN

BAR, BAR_END = "▇", "▏"
CLOSING = (",", ":", ";", ".")
"""What no line begins with."""


def _said(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece[0]


def _in_ascii(piece: Piece) -> Piece:
    if isinstance(piece, str):
        return piece.translate(OWN)
    text, *rest = piece
    return (text.translate(OWN), *rest)  # type: ignore[return-value]


class Page(Builder):
    """A `Builder` for pages that tltui writes itself."""

    def __init__(self, ref: str, title: str, options: Options) -> None:
        super().__init__(ref, title, options)
        self.width = max(options.width, 30)
        self.ascii = options.ascii
        self.goes_on = options.goes_on

    def add(self, *pieces: Piece, anchor: str | None = None) -> None:
        """Append one line, with ASCII signs for ours where those are wanted."""
        if self.ascii:
            pieces = tuple(map(_in_ascii, pieces))
        super().add(*pieces, anchor=anchor)

    def more(self, what: str = "") -> None:
        """Say that more may come, and what of the page that concerns."""
        if self.goes_on:
            self.say(f"{self.goes_on[:1].upper()}{self.goes_on[1:]}{': ' + what if what else '.'}", "", tokens.WARN)

    def so_far(self, text: str) -> str:
        """A statement that something is not there: of a run that goes on it is about the moment."""
        return f"So far: {text[:1].lower()}{text[1:]}" if self.goes_on else text

    def status(self, status: Status | None) -> Piece:
        """The glyph of a status, in its style."""
        return (glyph(status, self.ascii), colour(status))

    def say(self, text: str, indent: str = "", style: str = "", hang: str | None = None) -> None:
        """A text, wrapped. `hang` is the indent of the further lines (the same by default)."""
        rest = indent if hang is None else hang
        for n, line in enumerate(fmt.wrap(text, self.width - max(len(indent), len(rest)))):
            self.add(indent if n == 0 else rest, (line, style))

    def labelled(self, label: str, text: str, indent: str = "  ", gap: int = 9, style: str = "") -> None:
        """`label    text`, wrapped beside the label."""
        room = self.width - len(indent) - gap
        for n, line in enumerate(fmt.wrap(text, room)):
            self.add(indent, (label.ljust(gap) if n == 0 else " " * gap, tokens.LABEL), (line, style))

    def row(self, pieces: Sequence[Piece], indent: str = "  ") -> None:
        """Pieces one after another; those that do not fit go on in the next line, with a deeper indent. None begins with a comma
        or a colon, as far as what stands before it fits there too."""
        line: list[Piece] = []
        used = len(indent)
        for number, piece in enumerate(pieces):
            text = _said(piece)
            after = pieces[number + 1] if number + 1 < len(pieces) else ""
            wanted = text + _said(after) if _said(after).startswith(CLOSING) else text
            if len(wanted) > self.width - len("    "):
                wanted = text
            if line and used + len(wanted.rstrip()) > self.width:
                self.add(indent, *line)
                line, indent = [], "    "
                used = len(indent)
                if isinstance(piece, str):
                    piece = text = piece.lstrip()
            line.append(piece)
            used += len(text)
        if line:
            self.add(indent, *line)

    def joined(self, pieces: Sequence[Piece], indent: str = "") -> None:
        """Pieces with ` · ` between them, wrapped."""
        separator = " · "
        line: list[Piece] = []
        used = len(indent)
        for piece in pieces:
            text = _said(piece)
            if line and used + len(separator) + len(text) > self.width:
                self.add(indent, *line)
                line, used = [], len(indent)
            if line:
                line.append((separator, tokens.DIM))
                used += len(separator)
            line.append(piece)
            used += len(text)
        if line:
            self.add(indent, *line)

    def place(self, path: str | None, line: int | None, style: str = "link") -> Piece:
        """A place in the user's source, as a link."""
        return (fmt.clip_middle(fmt.place(path, line), self.width // 2), style, fmt.place_target(path, line))

    def file(self, path: str) -> None:
        """A file of the run: its name, and below it its directory, each on a line of its own."""
        directory, _, name = fmt.home(path).rpartition("/")
        for label, text in (("file", name), ("in", directory or "/")):
            self.add("  ", (label.ljust(9), tokens.LABEL), fmt.clip_middle(sanitize(text), self.width - 11))

    def code(self, text: str | None, indent: str) -> None:
        """A source line, cut to the width."""
        if text and text.strip():
            self.add(indent, (fmt.clip(sanitize(text.strip()), self.width - len(indent)), tokens.NAME))

    def table(
        self, rows: Sequence[Sequence[Piece]], indent: str = "  ", right: Sequence[int] = (), shown: int = -1, more: str = ""
    ) -> None:
        """Columns as wide as their widest cell; the last one is cut to the width, `right` ones are aligned right.

        Rows from number `shown` on are folded below a line that says `more`.
        """
        if not rows:
            return
        columns = max(len(row) for row in rows)
        cells = [[self._cell(piece) for piece in row] + [("", "", "")] * (columns - len(row)) for row in rows]
        widths = [max(len(row[n][0]) for row in cells) for n in range(columns)]
        self._fit(widths, len(indent))
        for number, row in enumerate(cells):
            if number == shown:
                self.open(more, folded=True)
                self.add(indent, (more, tokens.DIM))
            pieces: list[Piece] = [indent]
            for n, (text, style, target) in enumerate(row):
                short = fmt.clip(text, widths[n]) if n == columns - 1 else fmt.clip_middle(text, widths[n])
                pad = " " * (widths[n] - len(short))
                if n in right:
                    pieces += [pad, (short, style, target)]
                else:
                    pieces += [(short, style, target), pad]
                if n < columns - 1:
                    pieces.append("  ")
            self.add(*pieces)
        if 0 <= shown < len(cells):
            self.close()

    @staticmethod
    def _cell(piece: Piece) -> tuple[str, str, str]:
        if isinstance(piece, str):
            return sanitize(piece), "", ""
        text, style, target = (*piece, "")[:3]
        return sanitize(text), style, target

    def _fit(self, widths: list[int], indent: int) -> None:
        """Make the columns fit: the last one first, then the widest."""
        def over() -> int:
            return indent + sum(widths) + 2 * (len(widths) - 1) - self.width

        last = len(widths) - 1
        if (more := over()) > 0:
            widths[last] -= min(more, max(widths[last] - 16, 0))
        while over() > 0:
            widest = max(range(len(widths)), key=lambda n: widths[n])
            if widths[widest] <= 6:
                break
            widths[widest] -= min(over(), max(1, widths[widest] - sorted(widths)[-2] if len(widths) > 1 else over()))
