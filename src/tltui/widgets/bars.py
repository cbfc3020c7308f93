"""The two lines above and below the panes.

They draw themselves in a fixed size: updating a `Static` beside other widgets costs a layout, a changed title repaints the
screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widget import Widget

from tltui.text import cut, tokens
from tltui.text.document import Piece, piece_style, piece_text
from tltui.text.resume_names import short
from tltui.text.sanitize import sanitize
from tltui.text.script import script_for
from tltui.text.width import cells as cell_len
from tltui.widgets.looks import Grounded, part_style
from tltui.widgets.undrawn import row_by_row

LINE_STYLES = (
    tokens.OK, tokens.BREAK, tokens.ERROR, tokens.EAGER, tokens.EMPTY, tokens.MISSING, tokens.RUNNING,
    tokens.SEEN, tokens.WARN, tokens.RECOMPILE,
    tokens.TITLE, tokens.HEADING, tokens.LABEL, tokens.DIM, tokens.STRONG, tokens.DEFINITION,
)  # fmt: skip
"""The styles of bars and of the tree. Others look like plain text there."""
WEIGHTS = {tokens.WARN: 1, tokens.BREAK: 1, tokens.EAGER: 2, tokens.ERROR: 3}
"""How much a remark of a style matters."""


class Bar(Grounded, can_focus=False):
    """One line: pieces from the left, pieces at the right."""

    LEFT_FIRST: ClassVar[bool] = False
    """Whether what stands at the right goes when there is no room for both."""

    def __init__(self, *, ascii_only: bool = False, id: str | None = None) -> None:  # noqa: A002  (Textual's name for it)
        super().__init__(id=id)
        self._ascii = ascii_only
        self._script = script_for(ascii_only)
        self._left: Sequence[Piece] = ()
        self._right: Sequence[Piece] = ()

    def set(self, left: Sequence[Piece] | None = None, right: Sequence[Piece] | None = None) -> None:
        """Change what it says; repaints only if something changed."""
        new = (self._left if left is None else tuple(left), self._right if right is None else tuple(right))
        if new != (self._left, self._right):
            self._left, self._right = new
            self.refresh()

    def said(self) -> str:
        """What it says, as text."""
        return "".join(piece_text(piece) for piece in (*self._left, " ", *self._right))

    def _part(self, name: str) -> Style:
        return part_style(self.app.theme, name)

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """The line."""
        return self.strip(self._left, self._right, self.size.width).apply_style(self.ground)

    def strip(self, on_left: Sequence[Piece], on_right: Sequence[Piece], width: int) -> Strip:
        """Pieces from the left and pieces at the right, in `width` cells."""
        right = [self._segment(piece) for piece in on_right]
        right_width = sum(segment.cell_length for segment in right)
        room = width - right_width - (1 if right else 0)
        wanted = sum(self._segment(piece).cell_length for piece in on_left)
        if wanted and (room < width // 3 or (self.LEFT_FIRST and wanted > room)):
            right, right_width, room = [], 0, width
        segments: list[Segment] = []
        for piece in on_left:
            segment = self._segment(piece)
            if segment.cell_length > room:
                shown = cut.end(segment.text, room)
                segments.append(Segment(self._script.drawn(shown), segment.style))
                room -= cell_len(shown)
                break
            segments.append(segment)
            room -= segment.cell_length
        segments.append(Segment(" " * (room + (1 if right else 0))))
        return Strip([*segments, *right])

    def _segment(self, piece: Piece) -> Segment:
        style = piece_style(piece)
        part = "hint-key" if style == "key" else f"tok-{style}" if style in LINE_STYLES else ""
        known = self._part(part)
        if self.ground.reverse:  # in reverse video a colour would be a ground: patches
            known = Style(bold=known.bold)
        return Segment(self._script.drawn(short(sanitize(piece_text(piece)), self._ascii)), known)


class RunBar(Bar):
    """Above: what was opened and how much of it was read."""

    LEFT_FIRST = True


class Remark(Bar):
    """Hints, or the latest remark."""

    def __init__(self, hints: Sequence[tuple[str, str]], beside: Widget | None = None, *, ascii_only: bool = False) -> None:
        """`beside`: the widget at its right, which a remark may have until it has been read."""
        super().__init__(ascii_only=ascii_only)
        self._hints = hints
        self._beside = beside
        self._told = False
        self._weight = 0

    def tell(self, text: str, style: str = "") -> None:
        """Show a remark until the next key. One that weighs less does not take the place of one that nobody can have read."""
        weight = WEIGHTS.get(style, 0)
        if self._told and weight < self._weight:
            return
        self._told, self._weight = True, weight
        self.set([(text, style)] if style else [text])

    def quiet(self) -> None:
        """A key was pressed: the remark has been read."""
        if self._told:
            self._told = False
            self.set([])

    @property
    def is_told(self) -> bool:
        """Whether there is one."""
        return self._told

    @property
    def is_long(self) -> bool:
        """Whether there is a remark that does not fit here."""
        return self._told and sum(self._segment(piece).cell_length for piece in self._left) > self.size.width

    def whole(self, beside: int) -> Strip:
        """The line of a long remark, here and in so many cells at the right."""
        return self.strip(self._left, (), self.size.width + beside).apply_style(self.ground)

    def on_resize(self) -> None:
        """Textual calls this with another size: a remark that had room may need what is beside it now, or the other way round."""
        if self._told and self._beside is not None:
            self._beside.refresh()

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """The line; without a remark as many hints as there is room for."""
        if self._beside is not None and self.is_long:
            return self.whole(self._beside.size.width).crop(0, self.size.width)
        if not self._told:
            room = self.size.width - 1
            hints: list[Piece] = []
            for key, word in self._hints:
                room -= cell_len(key) + cell_len(word) + 3
                if room < 0:
                    break
                hints += [(f" {key}", "key"), f" {word} "]
            self._left = hints
        return super().render_line(y)


class Position(Bar):
    """Where one is in the document. It changes with each key, so that it is a widget of its own: a part of a widget is repainted
    from the widget's left edge on."""

    STEP = 12
    remark: Remark | None = None
    """What stands at its left: one that needs the whole line has it until it has been read."""

    def on_mount(self) -> None:
        """Textual calls this when the widget is in its place."""
        self._room = self.STEP
        self.styles.width = self._room

    def place(self, pieces: Sequence[Piece]) -> None:
        """Say it, at the right. The widget changes in steps, and shrinks by no fewer than two: another width costs a layout."""
        width = sum(cell_len(piece_text(piece)) for piece in pieces)
        room = max(-(-width // self.STEP), 1) * self.STEP
        if room > self._room or room <= self._room - 2 * self.STEP:
            self._room = room
            self.styles.width = room
        self.set(right=pieces)

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """The line, or the end of a long remark."""
        width = self.size.width
        if self.remark is not None and self.remark.is_long:
            return self.remark.whole(width).crop(self.remark.size.width, self.remark.size.width + width)
        return super().render_line(y)


class StatusBar(Horizontal):
    """Below: hints or the latest remark, and where one is in the document."""

    def __init__(
        self,
        hints: Sequence[tuple[str, str]],
        *,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
    ) -> None:
        super().__init__(id=id)
        self.position = Position(ascii_only=ascii_only)
        self.remark = self.position.remark = Remark(hints, self.position, ascii_only=ascii_only)

    def compose(self) -> ComposeResult:
        """Two lines beside each other."""
        yield self.remark
        yield self.position

    def said(self) -> str:
        """What it says, as text."""
        return f"{self.remark.said()}{self.position.said()}"

    def tell(self, text: str, style: str = "") -> None:
        """Show a remark until the next key."""
        self.remark.tell(text, style)
        self.position.refresh()  # a long remark goes on there

    def quiet(self) -> None:
        """A key was pressed: the remark has been read."""
        if self.remark.is_told:
            self.remark.quiet()
            self.position.refresh()

    def place(self, pieces: Sequence[Piece]) -> None:
        """Say where one is in the document."""
        self.position.place(pieces)
