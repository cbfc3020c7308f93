"""Somebody who presses keys, types, clicks, drags, turns the wheel, pastes and resizes the window, all by chance.

`Acts` runs on any app that is open. What it does depends on its seed; what comes of it also on how quick the machine is. After each
few acts it looks whether a fault of ours was told, and at a rest whether each cursor is where there is something, and whether the
screen is what it is when all of it is drawn anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from screen import screen_text, until
from textual import events
from textual.keys import key_to_character
from textual.pilot import Pilot
from textual.widget import Widget

from tltui.app import TltuiApp
from tltui.commands import COMMANDS
from tltui.screens.prompts import REST
from tltui.screens.workbench import Workbench
from tltui.widgets.bars import Bar
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree

SIZES = ((20, 5), (60, 20), (80, 24), (120, 40))
ELSEWHERE = {"app.leave", "app.pager", "app.editor", "app.suspend", "app.processes"}
"""Commands that leave, or start other programs."""
NEVER = {"q", "ctrl+q", "ctrl+z", "ctrl+e", "v", "X", "P"}
"""Their keys, which some modes use otherwise."""
KEYS = sorted({key for command in COMMANDS if command.id not in ELSEWHERE for key in command.keys} - NEVER)
ODD_KEYS = ["f1", "f12", "delete", "insert", "ctrl+c", "ctrl+up", "ctrl+left", "alt+x", "shift+f3", "é", "漢", "9", "~"]
MODES = ["p", "d", "D", "question_mark", "ctrl+p", "o", "slash", "colon", "f", "s", "x", "m", "apostrophe"]
"""Keys that open a prompt, a list or a mode: pressed more often than their number would have it."""
ASKING = ["slash", "colon", "f", "o", "s", "x", "m", "ctrl+p", "question_mark"]
EDITING = ["up", "down", "left", "home", "backspace", "delete", "tab", "ctrl+u", "ctrl+w", "end", "ctrl+p"]
TEXTS = [
    "f", "0/0", "1:0/0", "@summary", "@problems:0/0", "guard|graph", "torch", "call", "error", "!ok", "break", "12", "999999",
    "-1", "0", "", " ", "(", "[", "*", "\\", "a{2", "(?P<", "(a|b)*c", ".", "^", "$", "é漢字", "\u202eevil", "x" * 200, "out.txt",
    "out.md", "out.ansi", "no/such/directory/x.txt", "/", "quit", "provenance", "wrap", "none", "0/0:", "%", "[bold]", "[/]",
    "0/0:inductor_output_code@L3",
]  # fmt: skip
PASTES = ["one", "a\nb\nc\n", "\n", "\x1b[31mred", "\t\t", "漢字" * 50, "x" * 6000, "0/0\n", "\ud800"]
AT_ONCE = 6
"""Acts that come before anybody looks, at most: as a fast hand, or a slow line, sends them."""
ESCAPES = 16
"""What can be open inside of one another, at most."""
LAST = 40
"""Acts that are told when something is wrong."""


class Acts:
    """Acts by chance."""

    def __init__(self, app: TltuiApp, pilot: Pilot[Any], seed: str) -> None:
        self.app = app
        self.pilot = pilot
        self.rng = random.Random(seed)
        self.done: list[str] = []
        """What was done, in order."""

    # acts

    def _send(self, event: events.Event) -> None:
        assert self.app._driver is not None
        self.app._driver.process_message(event)

    def key(self, key: str) -> None:
        """Press a key."""
        self.done.append(key)
        character = key if len(key) == 1 else key_to_character(key)
        self._send(events.Key(key, character if character and character.isprintable() else None))

    def type(self, text: str) -> None:
        """Type a text, a key for each letter."""
        for letter in text:
            self.key(letter)

    def paste(self, text: str) -> None:
        """Paste a text."""
        self.done.append(f"paste {text[:20]!r}")
        self._send(events.Paste(text))

    def mouse(self, kind: type[events.MouseEvent], x: int, y: int, button: int = 0) -> None:
        """One report of the mouse."""
        self.done.append(f"{kind.__name__} {x},{y} {button}")
        self._send(kind(None, x, y, 0, 0, button, False, False, False, x, y))

    async def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self.done.append(f"resize {columns}x{rows}")
        await self.pilot.resize_terminal(columns, rows)

    def _cell(self) -> tuple[int, int]:
        return self.rng.randrange(self.app.size.width), self.rng.randrange(self.app.size.height)

    def _click(self) -> None:
        x, y = self._cell()
        button = self.rng.choice((1, 1, 1, 1, 2, 3))
        for _ in range(self.rng.choice((1, 1, 2))):
            self.mouse(events.MouseDown, x, y, button)
            self.mouse(events.MouseUp, x, y, button)

    def _drag(self) -> None:
        self.mouse(events.MouseDown, *self._cell(), 1)
        for _ in range(self.rng.randrange(1, 4)):
            self.mouse(events.MouseMove, *self._cell(), 1)
        if self.rng.random() < 0.9:  # a terminal may lose the end of it
            self.mouse(events.MouseUp, *self._cell(), 1)

    def _wheel(self) -> None:
        turn = self.rng.choice((events.MouseScrollDown, events.MouseScrollUp, events.MouseScrollLeft, events.MouseScrollRight))
        for _ in range(self.rng.randrange(1, 5)):
            self.mouse(turn, *self._cell())

    def _ask(self) -> None:
        """A prompt, a text in it, and its end: or not."""
        self.key(self.rng.choice(ASKING))
        self.type(self.rng.choice(TEXTS)[:30])
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            self.key(self.rng.choice(EDITING))
        self.key(self.rng.choice(("enter", "enter", "escape", "")) or "escape")

    def _plain(self) -> None:
        self.key(self.rng.choice(KEYS))

    def one(self) -> None:
        """One act, a few events at most."""
        ways: list[tuple[float, Callable[[], None]]] = [
            (52, self._plain), (8, lambda: self.key(self.rng.choice(MODES))), (2, lambda: self.key(self.rng.choice(ODD_KEYS))),
            (6, lambda: self.key("escape")), (4, lambda: self.key("enter")), (7, self._ask), (8, self._click), (3, self._drag),
            (4, self._wheel), (2, lambda: self.mouse(events.MouseMove, *self._cell())),
            (2, lambda: self.paste(self.rng.choice(PASTES))),
        ]  # fmt: skip
        [way] = self.rng.choices([way for _, way in ways], [weight for weight, _ in ways])
        way()

    async def do(self, count: int) -> None:
        """So many keys, reports of the mouse, pastes and sizes, a few at a time."""
        end = len(self.done) + count
        while len(self.done) < end:
            for _ in range(self.rng.randrange(1, AT_ONCE + 1)):
                self.one()
            if self.rng.random() < 0.03:
                await self.resize(*self.rng.choice(SIZES))
            await self.pilot.pause()
            self.assert_no_fault()

    # what must hold

    def said(self, what: str) -> str:
        """What is wrong, and what led to it."""
        return f"{what}\nthe last acts, of {len(self.done)}: {' '.join(self.done[-LAST:])}\n{screen_text(self.app)}"

    def assert_no_fault(self) -> None:
        """Nothing of ours failed, and the program is there."""
        if self.app.faults:
            raise AssertionError(self.said("a fault was told")) from self.app.faults[-1]
        assert self.app.is_running, self.said("it has ended")

    async def settle(self) -> None:
        """Wait until all that was asked for is there."""
        await self._until(lambda: all(not view.is_at_work for view in self._shown(DocumentView)), "a page is never whole")
        if self.app.screen is self.app.browser:
            await self._until(lambda: self.app.screen is not self.app.browser or self.app.browser.is_at_rest, "it never rests")
        front = self.app.screen
        await self.pilot.pause(REST if isinstance(front, Workbench) and front.prompt.is_open else None)

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            await until(self.pilot, condition, 20)
        except AssertionError:
            raise AssertionError(self.said(what)) from None

    def _shown(self, kind: type[Any]) -> list[Any]:
        return [view for view in self.app.screen.query(kind) if view.is_on_screen]

    def assert_cursors(self) -> None:
        """Each cursor is on a line that there is, and in sight where it was not scrolled away."""
        for view in self._shown(DocumentView):
            line, column = view.cursor
            assert 0 <= line < max(len(view.document), 1), self.said(f"line {line} of {len(view.document)}")
            assert column >= 0, self.said(f"column {column}")
            assert 0 <= view.scroll_offset.y <= max(view.max_scroll_y, 0), self.said(f"scrolled to {view.scroll_offset}")
        for tree in self._shown(TraceTree):
            assert 0 <= tree.cursor < len(tree.outline), self.said(f"row {tree.cursor} of {len(tree.outline)}")

    async def assert_drawn(self) -> None:
        """What is on the screen is what it is when all of it is drawn anew."""
        screen = self.app.screen
        widgets: list[Widget] = [widget for widget in screen.query(Widget) if widget.is_on_screen]
        before, rows = screen._compositor.render_strips(), self._now(widgets)
        for widget in widgets:
            widget.refresh()
        await self.pilot.pause()
        if screen is not self.app.screen or rows != self._now(widgets):
            return  # the run has grown meanwhile, or a list came
        after = screen._compositor.render_strips()
        for y, (drawn, anew) in enumerate(zip(before, after, strict=True)):
            assert drawn == anew, self.said(f"row {y} is {drawn.text!r}, and drawn anew {anew.text!r}")

    def _now(self, widgets: list[Widget]) -> list[object]:
        """What the screen is drawn from, as far as it changes without a key."""
        bench = self.app.screen
        found: list[object] = [str(self.app.browser.trace.tally)]
        if isinstance(bench, Workbench):
            found += [bench.prompt.rows, bench.prompt.text, bench.prompt.asking.choices.place]
        for widget in widgets:
            if isinstance(widget, DocumentView):
                found.append((id(widget.document), len(widget.document), widget.cursor, widget.scroll_offset, len(widget.rows)))
            elif isinstance(widget, TraceTree):
                found.append(([row.node.key for row in widget.outline.rows], widget.cursor, widget.scroll_offset))
            elif isinstance(widget, Bar):
                found.append(widget.plain_text())
        return found

    async def look(self) -> None:
        """All of it."""
        await self.settle()
        self.assert_no_fault()
        self.assert_cursors()
        await self.assert_drawn()

    async def come_back(self) -> None:
        """`esc` closes everything, and the program answers."""
        await self.resize(120, 40)
        for _ in range(ESCAPES):
            self.key("escape")
        await self.pilot.pause()
        await self._until(lambda: self.app.screen is self.app.browser, "esc does not lead back")
        self.key("2")
        await self._until(lambda: self.app.browser.shown_ref.startswith("@problems"), "2 shows no problems")
        self.key("1")
        await self._until(lambda: not self.app.browser.shown_ref, "1 does not show the run")
        await self.settle()
        self.assert_no_fault()

    async def gone(self) -> None:
        """It was told to leave."""
        await self._until(lambda: not self.app.is_running, "it does not leave")

