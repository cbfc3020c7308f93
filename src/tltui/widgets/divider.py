"""The line between two panes, which the user moves with the mouse or by keys.

Moving it lays the panes out again, which repaints both: while it is dragged that is done a few times a second, and what is laid out
to a width (tables) is made again once, when it rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tltui.widgets.looks import Grounded

STEP = 4
"""Cells that a key moves it by."""
DRAWN = 0.08
"""Seconds between two layouts while it is dragged."""
REST = 0.3
"""Seconds after the last key after which it rests."""


class Divider(Grounded, can_focus=False):
    """Stands between two widgets of a `Horizontal` as wide as the screen. The one before it gets a width, and the class `-placed`;
    the one behind it the rest."""

    @dataclass
    class Rested(Message):
        """It was moved, and rests now. `width`: cells of the widget before it."""

        divider: Divider
        width: int

        @property
        def control(self) -> Divider:
            """The divider that was moved."""
            return self.divider

    def __init__(
        self,
        *,
        least: tuple[int, int],
        width: int | None = None,
        mouse: bool = True,
        ascii_only: bool = False,
        id: str | None = None,  # noqa: A002  (Textual's name for it)
    ) -> None:
        """`least`: cells that the widgets before and behind it have at least. `width`: of the one before it, None for that of the
        style sheet."""
        super().__init__(id=id)
        self._least = least
        self._width = width
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
        """Textual calls this when the widget is in its place."""
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        """A cell of the line."""
        return Strip([Segment(self._line, self.ground)])

    def fit(self) -> None:
        """The room for both has changed: each keeps its least width."""
        self._lay_out()

    def move(self, cells: int) -> None:
        """Move it by so many cells (to the right)."""
        self._put(self._pane.outer_size.width + cells)
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
        """It goes where the mouse is, a few times a second."""
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
        if self._width is not None:
            self._lay_out()
            self._rests_in(0)

    # where it is

    def _put(self, width: int) -> None:
        self._width = min(max(width, self._least[0]), self._most)

    @property
    def _most(self) -> int:
        """Cells that the pane may have; both together have the width of the screen."""
        return max(self.screen.size.width - 1 - self._least[1], self._least[0])

    def _lay_out(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        if self._width is not None:
            self._pane.add_class("-placed")
            self._pane.styles.width = min(self._width, self._most)

    def _rests_in(self, seconds: float) -> None:
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(seconds, self._rested) if seconds else None
        if not seconds:
            self._rested()

    def _rested(self) -> None:
        self._resting = None
        if self._width is not None:
            self.post_message(self.Rested(self, self._width))


def widen(panes: Sequence[Widget], focused: Widget, cells: int = STEP, least: int = 20) -> bool:
    """Give the focused one of some panes beside each other `cells` more (fewer where negative), at the cost of all others; False
    where one would have fewer than `least`. The shares stay when the screen gets another width."""
    shown = [pane for pane in panes if pane.display]
    others = [pane for pane in shown if pane is not focused]
    if focused not in shown or not others:
        return False
    widths = {pane: pane.outer_size.width for pane in shown}
    room = sum(widths[pane] for pane in others)
    wanted = widths[focused] + cells
    shares = {pane: widths[pane] * (room - cells) / room for pane in others} if room else {}
    if wanted < least or min(shares.values(), default=0) < least:
        return False
    for pane, share in {**shares, focused: float(wanted)}.items():
        pane.styles.width = f"{share:.2f}fr"
    return True
