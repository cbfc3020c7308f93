"""The lines around the panes: run bar, status bar, prompt with its list, the divider, and lines for panes out of sight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.css.scalar import Unit
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tltui.text import formatting, tokens
from tltui.text.document import Piece, piece_style, piece_text
from tltui.text.formatting import cells as cell_len
from tltui.text.formatting import crop, fit, script_for
from tltui.text.frozen import mutable
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short
from tltui.widgets.key_input import LineEdit
from tltui.widgets.row_painter import row_by_row
from tltui.widgets.themes import Grounded, part_style

LINE_STYLES = (
    tokens.OK, tokens.BREAK, tokens.ERROR, tokens.EAGER, tokens.EMPTY, tokens.UNFINISHED, tokens.RUNNING,
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

    def plain_text(self) -> str:
        """Return the content as text."""
        return "".join(piece_text(piece) for piece in (*self._left, " ", *self._right))

    def _part(self, name: str) -> Style:
        return part_style(self.app.theme, name)

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """Render the line."""
        return self.strip(self._left, self._right, self.size.width).apply_style(self.ground)

    def strip(self, on_left: Sequence[Piece], on_right: Sequence[Piece], width: int) -> Strip:
        """Render pieces from the left and pieces at the right, in `width` cells."""
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
                shown = formatting.end(segment.text, room)
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
        part_style_ = self._part(part)
        if self.ground.reverse:  # in reverse video a colour would be a ground: patches
            part_style_ = Style(bold=part_style_.bold)
        return Segment(self._script.drawn(short(sanitize(piece_text(piece)), self._ascii)), part_style_)


class RunBar(Bar):
    """Above: what was opened and how much of it was read."""

    LEFT_FIRST = True


class Hint(NamedTuple):
    """A command of the footer."""

    key: str
    word: str
    command: str
    """Its name: what a click does."""


class Remark(Bar):
    """Hints, or the latest remark."""

    @mutable(slots=False)
    class Pressed(Message):
        """A hint was clicked."""

        command: str

    def __init__(self, hints: Sequence[Hint], neighbour: Widget | None = None, *, ascii_only: bool = False) -> None:
        """Create the widget; `neighbour`: the one at its right, which a long remark extends into."""
        super().__init__(ascii_only=ascii_only)
        self._hints = hints
        self._neighbour = neighbour
        self._has_message = self._is_description = False
        self._weight = 0
        self._in_sight: list[Hint] = []

    def show_message(self, text: str, style: str = "") -> None:
        """Show a remark until the next key. One that weighs less does not take the place of one that nobody can have read."""
        weight = WEIGHTS.get(style, 0)
        if self._has_message and weight < self._weight:
            return
        self._has_message, self._weight, self._is_description = True, weight, False
        self.set([(text, style)] if style else [text])

    def describe(self, text: str) -> None:
        """Show what is under the cursor, '' for nothing. It stays until the cursor moves: the keys are not drawn in between."""
        if text and not (self._has_message and self._weight):
            self._has_message, self._weight, self._is_description = True, 0, True
            self.set([(text, tokens.DIM)])
        elif not text and self._is_description:
            self._has_message = self._is_description = False
            self.set([])

    def show_hints(self, hints: Sequence[Hint]) -> None:
        """Change the hints."""
        if hints != self._hints:
            self._hints = hints
            if not self._has_message:
                self.refresh()

    def quiet(self) -> None:
        """Remove the remark, which has been read: a key was pressed."""
        if self._has_message and not self._is_description:
            self._has_message = False
            self.set([])

    @property
    def has_message(self) -> bool:
        """Whether there is one."""
        return self._has_message

    @property
    def is_long(self) -> bool:
        """Whether there is a remark that does not fit here."""
        return self._has_message and sum(self._segment(piece).cell_length for piece in self._left) > self.size.width

    def full_line(self, extra: int) -> Strip:
        """Return the line of a long remark, here and in `extra` cells at the right."""
        return self.strip(self._left, (), self.size.width + extra).apply_style(self.ground)

    def on_resize(self) -> None:
        """Repaint the neighbour: a long remark may need more or less of it."""
        if self._has_message and self._neighbour is not None:
            self._neighbour.refresh()

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """Render the line; without a remark the last hint and as many of the others as fit."""
        if self._neighbour is not None and self.is_long:
            return self.full_line(self._neighbour.size.width).crop(0, self.size.width)
        if not self._has_message:
            room = self.size.width - 1 - sum(map(_hint_width, self._hints[-1:]))
            self._in_sight = []
            for number, hint in enumerate(self._hints):
                room -= _hint_width(hint) if number < len(self._hints) - 1 else 0
                if room >= 0 or number == len(self._hints) - 1:
                    self._in_sight.append(hint)
            hints = [piece for hint in self._in_sight for piece in ((f" {hint.key}", "key"), f" {hint.word} ")]
            self._left = hints
        return super().render_line(y)


    def on_click(self, event: events.Click) -> None:
        """Run the command of the hint under the pointer."""
        left = event.x
        if self._has_message or event.button != 1:
            return
        for hint in self._in_sight:
            if left < _hint_width(hint):
                event.stop()
                self.post_message(self.Pressed(hint.command))
                return
            left -= _hint_width(hint)


def _hint_width(hint: Hint) -> int:
    return cell_len(hint.key) + cell_len(hint.word) + 3


class Position(Bar):
    """The position in the document.

    It changes with each key, so that it is a widget of its own: a part of a widget is repainted from the widget's left edge on.
    """

    STEP = 12
    remark: Remark | None = None
    """What stands at its left: one that needs the whole line has it until it has been read."""

    def on_mount(self) -> None:
        """Set the initial size."""
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
        """Render the line, or the end of a long remark."""
        width = self.size.width
        if self.remark is not None and self.remark.is_long:
            return self.remark.full_line(width).crop(self.remark.size.width, self.remark.size.width + width)
        return super().render_line(y)


class StatusBar(Horizontal):
    """Below: hints or the latest remark, and where one is in the document."""

    def __init__(
        self,
        hints: Sequence[Hint],
        *,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
    ) -> None:
        super().__init__(id=id)
        self.position = Position(ascii_only=ascii_only)
        self.remark = self.position.remark = Remark(hints, self.position, ascii_only=ascii_only)

    def compose(self) -> ComposeResult:
        """Yield the two lines beside each other."""
        yield self.remark
        yield self.position

    def plain_text(self) -> str:
        """Return the content as text."""
        return f"{self.remark.plain_text()}{self.position.plain_text()}"

    def show_message(self, text: str, style: str = "") -> None:
        """Show a remark until the next key."""
        self.remark.show_message(text, style)
        self.position.refresh()  # a long remark goes on there

    def describe(self, text: str) -> None:
        """Show what is under the cursor, '' for nothing, until the cursor moves or a remark comes."""
        self.remark.describe(text)
        self.position.refresh()

    def quiet(self) -> None:
        """Remove the remark, which has been read: a key was pressed."""
        if self.remark.has_message:
            self.remark.quiet()
            self.position.refresh()

    def show_hints(self, hints: Sequence[Hint]) -> None:
        """Change the hints."""
        self.remark.show_hints(hints)

    def place(self, pieces: Sequence[Piece]) -> None:
        """Say where one is in the document."""
        self.position.place(pieces)


class Corresponding(Bar):
    """One of the lines."""


class CorrespondingLines(Vertical):
    """The lines, each of which is repainted when it says something else."""

    def __init__(self, count: int, *, ascii_only: bool = False) -> None:
        """Create so many lines; the style sheet has their height."""
        super().__init__(id="elsewhere")
        self._lines = [Corresponding(ascii_only=ascii_only) for _ in range(count)]

    def compose(self) -> ComposeResult:
        """Yield the lines, from above."""
        yield from self._lines

    def say(self, lines: Sequence[Sequence[Piece]]) -> None:
        """Change what they say; fewer lines leave the others empty."""
        for n, line in enumerate(self._lines):
            line.set(lines[n] if n < len(lines) else ())

    def plain_text(self) -> list[str]:
        """Return the lines as text."""
        return [line.plain_text().rstrip() for line in self._lines]


STEP = 4
"""Cells that a key moves it by."""
DRAWN = 0.08
"""Seconds between two layouts while it is dragged."""
REST = 0.3
"""Seconds after the last key after which it rests."""


class Divider(Grounded, can_focus=False):
    """A line between two widgets of a `Horizontal` as wide as the screen.

    The widget before it gets a width, and the class `-placed`; the one behind it the rest.
    """

    @mutable(slots=False)
    class Rested(Message):
        """It was moved, and rests now. `share`: that of the widget before it in the width of the screen."""

        divider: Divider
        share: float

        @property
        def control(self) -> Divider:
            """The divider that was moved."""
            return self.divider

    def __init__(
        self,
        *,
        least: tuple[int, int],
        share: float | None = None,
        mouse: bool = True,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
    ) -> None:
        """Create a divider.

        `least`: minimum cells of the widgets before and behind it; `share`: that of the one before it in the width of the screen,
        None for the width of the style sheet.
        """
        super().__init__(id=id)
        self._least = least
        self._share = share
        self._mouse = mouse
        self._line = "|" if ascii_only else "│"
        self._grabbed = False
        self._drawing: Timer | None = None
        self._resting: Timer | None = None

    @property
    def _pane(self) -> Widget:
        siblings = self._siblings
        return siblings[siblings.index(self) - 1]

    @property
    def _siblings(self) -> list[Widget]:
        return [] if self.parent is None else [node for node in self.parent.children if isinstance(node, Widget)]

    def on_mount(self) -> None:
        """Set the initial size."""
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        """Render a cell of the line."""
        return Strip([Segment(self._line, self.ground)])

    def fit(self) -> None:
        """Keep the minimum widths when the room changes."""
        self._lay_out()

    def move(self, cells: int) -> None:
        """Move it by so many cells (to the right)."""
        self._put(self._columns + cells)
        self._lay_out()
        self._rests_in(REST)

    # the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of it."""
        if self._mouse and event.button == 1:
            event.stop()
            self._grabbed = True
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse, a few times a second."""
        if not self._grabbed:
            return
        event.stop()
        self._put(event.screen_x - self._pane.region.x)
        if self._drawing is None:
            self._drawing = self.set_timer(DRAWN, self._lay_out)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Let it go."""
        if not self._grabbed:
            return
        event.stop()
        self._grabbed = False
        self.release_mouse()
        if self._share is not None:
            self._lay_out()
            self._rests_in(0)

    # where it is

    @property
    def _columns(self) -> int:
        """Columns of the pane, also before the frame that draws it so: keys come faster than frames."""
        return self._pane.outer_size.width if self._share is None else self._placed(self._share)

    def _placed(self, share: float) -> int:
        return min(max(round(share * self.screen.size.width), self._least[0]), self._most)

    def _put(self, width: int) -> None:
        self._share = min(max(width, self._least[0]), self._most) / self.screen.size.width

    @property
    def _most(self) -> int:
        """Cells that the pane may have; both together have the width of the screen."""
        return max(self.screen.size.width - 1 - self._least[1], self._least[0])

    def _lay_out(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        if self._share is not None:
            self._pane.add_class("-placed")
            self._pane.styles.width = self._placed(self._share)

    def _rests_in(self, seconds: float) -> None:
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(seconds, self._rested) if seconds else None
        if not seconds:
            self._rested()

    def _rested(self) -> None:
        self._resting = None
        if self._share is not None:
            self.post_message(self.Rested(self, self._share))


LEAST_COLUMNS, LEAST_ROWS = 20, 4
"""Columns or rows of the narrowest pane; a row is the title."""


def widen(
    panes: Sequence[Widget], focused: Widget, cells: int = STEP, least: int = LEAST_COLUMNS, is_stacked: bool = False
) -> bool:
    """Give the focused pane `cells` more at the cost of all others; return whether each keeps `least`.

    Fewer cells where negative; rows where panes are stacked. The shares stay when the screen gets another size.
    """
    shown = [pane for pane in panes if pane.display]
    others = [pane for pane in shown if pane is not focused]
    if focused not in shown or not others:
        return False
    widths = _wanted_sizes(shown, "height" if is_stacked else "width")
    room = sum(widths[pane] for pane in others)
    wanted = widths[focused] + cells
    shares = {pane: widths[pane] * (room - cells) / room for pane in others} if room else {}
    if wanted < least or min(shares.values(), default=0) < least:
        return False
    for pane, share in {**shares, focused: float(wanted)}.items():
        setattr(pane.styles, "height" if is_stacked else "width", f"{share:.2f}fr")
    return True


def _wanted_sizes(panes: Sequence[Widget], side: str) -> dict[Widget, float]:
    """Return the cells of panes as their shares divide them, also before the frame that draws them so."""
    drawn = {pane: float(getattr(pane.outer_size, side)) for pane in panes}
    shares = {pane: getattr(pane.styles, side) for pane in panes}
    if not all(share is not None and share.unit is Unit.FRACTION and share.value > 0 for share in shares.values()):
        return drawn
    cell = sum(drawn.values()) / sum(share.value for share in shares.values())
    return {pane: share.value * cell for pane, share in shares.items()}


LEAST = 20
"""Cells that the text which is typed has at least; the question gives way."""
WHEEL = 3
"""Rows that a step of the wheel moves the cursor of a list."""


class PromptLine(Bar):
    """The question, what is typed, a hint."""

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

    def plain_text(self) -> str:
        """Return the content as text."""
        return " ".join((self.question, "" if self.edit is None else self.edit.text, self.hint))

    def show_text(self) -> None:
        """Repaint the changed text."""
        start = cell_len(self._question(self.size.width))
        self.refresh(Region(start, 0, self.size.width - start, 1))

    def _question(self, width: int) -> str:
        room = width if self.edit is None else max(width - LEAST, width // 2)
        return fit(self._script.drawn(f" {sanitize(self.question)} "), room, self._script.drawn("…"))

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """Render the line."""
        width = self.size.width
        question, hint = self._question(width), self._script.drawn(sanitize(f" {self.hint} ")) if self.hint else ""
        segments = [Segment(question, self._part("question"))]
        room = width - cell_len(question)
        if cell_len(hint) > room - (LEAST if self.edit is not None else 0):
            hint = ""
        room -= cell_len(hint)
        segments += self._field(self.edit, room) if self.edit is not None else [Segment(" " * room)]
        return Strip([*segments, Segment(hint, self._part("question-hint"))]).apply_style(self.ground)

    def _field(self, edit: LineEdit, room: int) -> list[Segment]:
        """Return the part of the text around the cursor, in `room` cells."""
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
        return [Segment(before), Segment(under, self._part("question-cursor")), Segment(behind + blank)]

    def _typed(self, lo: int, hi: int) -> str:
        """Return characters `lo` to `hi` of the typed text as they are drawn."""
        assert self.edit is not None
        return script_for(self._ascii, "typed").drawn(sanitize(self.edit.text[lo:hi]))


class Choices(Bar):
    """What can be chosen, with one of it under the cursor."""

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
        """Show other rows."""
        self.rows, self._top = rows, 0
        self.go(place)

    def go(self, place: int | None) -> None:
        """Move the cursor to a row, and repaint what changed."""
        self.place = place
        height = self.size.height
        if place is not None and height:
            self._top = min(max(self._top, place - height + 1), place)
        for y in range(self.size.height):
            if self._drawn.get(y) != self._row(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self) -> None:
        """Bring the cursor into sight at the new height."""
        self.go(self.place)

    def _row(self, y: int) -> tuple[Sequence[Piece], bool]:
        place = self._top + y
        return (self.rows[place], place == self.place) if place < len(self.rows) else ((), False)

    def plain_text(self) -> str:
        """Return the rows as text."""
        return "\n".join("".join(piece_text(p) for p in row) for row in self.rows)

    @row_by_row
    def render_line(self, y: int) -> Strip:
        """Render a row."""
        row, is_chosen = self._drawn[y] = self._row(y)
        base = self.ground
        edge = Segment(" ")
        if is_chosen:
            base += self._part("cursor")
            edge = Segment(" ", self._part("edge"))
        return Strip([edge, *self.strip(row, (), self.size.width - 1)]).apply_style(base)

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked row."""
        place = self._top + event.get_content_offset_capture(self).y
        if self.on_chosen is not None and 0 <= place < len(self.rows):
            self.on_chosen(place)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Move the cursor by the wheel, as the keys do."""
        self._wheel(event, WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Move the cursor by the wheel, as the keys do."""
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
        """Yield the list above, the line below."""
        yield self.choices
        yield self.line

    def open(self, rows: int) -> None:
        """Appear, with a list of so many rows."""
        self.choices.styles.height = rows
        self.styles.height = rows + 1

    def close(self) -> None:
        """Go away."""
        self.styles.height = 0


NO_MATCHES: Sequence[Sequence[Piece]] = ([("no match", tokens.DIM)],)
"""The list where nothing fits."""
