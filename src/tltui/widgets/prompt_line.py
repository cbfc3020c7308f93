"""Where something is asked: one line over the status line, and the list that grows above it.

They never have Textual's focus, whose moving repaints a pane: the screen gives them the keys (`screens/prompts.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Region
from textual.strip import Strip

from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.formatting import cells as cell_len
from tltui.text.formatting import crop, fit, script_for
from tltui.text.sanitize import sanitize
from tltui.widgets.bars import Bar
from tltui.widgets.key_input import LineEdit
from tltui.widgets.row_painter import row_by_row

LEAST = 20
"""Cells that the text which is typed has at least; the question gives way."""
WHEEL = 3
"""Rows that a step of the wheel moves the cursor of a list."""


class PromptLine(Bar):
    """The question, what is typed, a hint."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--question", "prompt--cursor", "prompt--hint"}

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(ascii_only=ascii_only)
        self.question = self.hint = ""
        self.edit: LineEdit | None = LineEdit()
        """None where a key is the answer."""
        self._first = 0  # the first character of the text that is in sight

    def begin(self, question: str, edit: LineEdit | None, hint: str) -> None:
        """Ask."""
        self.question, self.edit, self.hint, self._first = question, edit, hint, 0
        self.refresh()

    def said(self) -> str:
        """What it says, as text."""
        return " ".join((self.question, "" if self.edit is None else self.edit.text, self.hint))

    def show_text(self) -> None:
        """The text was changed."""
        start = cell_len(self._question(self.size.width))
        self.refresh(Region(start, 0, self.size.width - start, 1))

    def _question(self, width: int) -> str:
        room = width if self.edit is None else max(width - LEAST, width // 2)
        return fit(self._script.drawn(f" {sanitize(self.question)} "), room, self._script.drawn("…"))

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.size.width
        question, hint = self._question(width), self._script.drawn(sanitize(f" {self.hint} ")) if self.hint else ""
        segments = [Segment(question, self._component("question"))]
        room = width - cell_len(question)
        if cell_len(hint) > room - (LEAST if self.edit is not None else 0):
            hint = ""
        room -= cell_len(hint)
        segments += self._field(self.edit, room) if self.edit is not None else [Segment(" " * room)]
        return Strip([*segments, Segment(hint, self._component("hint"))]).apply_style(self.rich_style)

    def _field(self, edit: LineEdit, room: int) -> list[Segment]:
        """The part of the text around the place where one types, in `room` cells."""
        self._first = min(self._first, edit.at)
        while cell_len(self._typed(self._first, edit.at)) >= room and self._first < edit.at:
            self._first += 1
        while self._first and len(edit.text) - self._first < room and cell_len(self._typed(self._first - 1, len(edit.text))) < room:
            self._first -= 1  # nothing is hidden for which there is room
        before = crop(self._typed(self._first, edit.at), room - 1)
        under = self._typed(edit.at, edit.at + 1) or " "
        left = room - cell_len(before) - cell_len(under)
        behind = crop(self._typed(edit.at + 1, edit.at + 1 + left), left)
        blank = " " * max(left - cell_len(behind), 0)
        return [Segment(before), Segment(under, self._component("cursor")), Segment(behind + blank)]

    def _typed(self, lo: int, hi: int) -> str:
        """How characters `lo` to `hi` of what is typed are drawn."""
        assert self.edit is not None
        return script_for(self._ascii, "typed").drawn(sanitize(self.edit.text[lo:hi]))

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(f"prompt--{name}", partial=True, default=Style.null())


class Choices(Bar):
    """What can be chosen, with one of it under the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--cursor", "choices--edge"}

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(ascii_only=ascii_only)
        self.rows: Sequence[Sequence[Piece]] = ()
        self.place: int | None = None
        """The row under the cursor, from 0; None: no row."""
        self.on_chosen: Callable[[int], object] | None = None
        self.on_wheel: Callable[[int], object] | None = None
        """Called with the rows that a step of the wheel is to move the cursor, down or (less than 0) up."""
        self._top = 0
        self._drawn: dict[int, tuple[Sequence[Piece], bool]] = {}

    def fill(self, rows: Sequence[Sequence[Piece]], place: int | None) -> None:
        """Other rows."""
        self.rows, self._top = rows, 0
        self.go(place)

    def go(self, place: int | None) -> None:
        """The cursor to a row; what looks otherwise is painted."""
        self.place = place
        height = self.size.height
        if place is not None and height:
            self._top = min(max(self._top, place - height + 1), place)
        for y in range(self.size.height):
            if self._drawn.get(y) != self._row(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        """The list is there now, or as high as it is to be."""
        self.go(self.place)

    def _row(self, y: int) -> tuple[Sequence[Piece], bool]:
        place = self._top + y
        return (self.rows[place], place == self.place) if place < len(self.rows) else ((), False)

    def said(self) -> str:
        """The rows, as text."""
        return "\n".join("".join(piece_text(p) for p in row) for row in self.rows)

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """One row."""
        row, is_chosen = self._drawn[y] = self._row(y)
        base = self.rich_style
        edge = Segment(" ")
        if is_chosen:
            base += self._component("cursor")
            edge = Segment(" ", self._component("edge"))
        return Strip([edge, *self.strip(row, (), self.size.width - 1)]).apply_style(base)

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(f"choices--{name}", partial=True, default=Style.null())

    def on_click(self, event: events.Click) -> None:
        """A row was clicked."""
        place = self._top + event.get_content_offset_capture(self).y
        if self.on_chosen is not None and 0 <= place < len(self.rows):
            self.on_chosen(place)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor, as the keys do."""
        self._wheel(event, WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor, as the keys do."""
        self._wheel(event, -WHEEL)

    def _wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        if self.on_wheel is not None:
            self.on_wheel(rows)


class Asking(Vertical):
    """The line and the list, over everything else.

    While nothing is asked they have no height. They are not taken away: where widgets come and go Textual numbers the others anew,
    and paints all of them.
    """

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self.line = PromptLine(ascii_only=ascii_only)
        self.choices = Choices(ascii_only=ascii_only)

    def compose(self) -> ComposeResult:
        """List above, line below."""
        yield self.choices
        yield self.line

    def open(self, rows: int) -> None:
        """Appear, with a list of so many rows."""
        self.choices.styles.height = rows
        self.styles.height = rows + 1

    def close(self) -> None:
        """Go away."""
        self.styles.height = 0


NOTHING: Sequence[Sequence[Piece]] = ([("nothing like this", tokens.DIM)],)
"""The list where nothing fits."""
