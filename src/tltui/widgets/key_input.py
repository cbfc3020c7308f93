"""Keys: bindings from the registry of commands, keys typed ahead of the screen, and the editing keys of an input line."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message_pump import MessagePump

from tltui.commands import Where, commands_of
from tltui.text.frozen import mutable


def bindings(where: Where) -> list[BindingType]:
    """Return the bindings of one place. Each has the command's id, so that the config file can give it other keys."""
    return [
        Binding(",".join(command.keys), command.action, command.title, show=False, id=command.id, tooltip=command.help)
        for command in commands_of(where)
        if command.keys
    ]


ROUNDS = 2
"""How often the way from the focus to the app is gone before the next key: behind the key, then behind the messages
that it caused."""
PAUSE = 0.005
"""Seconds between two looks at a screen that is being opened."""
PATIENCE = 0.4
"""Seconds after which a key stops waiting for the one before it, whatever that does."""
MOVES = frozenset(("cursor_down", "cursor_up", "page_down", "page_up", "half_down", "half_up"))
"""Actions that only move the cursor. The method of each takes how many times it is done."""
MANY = 8
"""Keys that wait, from which on moves are carried out together."""
SLICE = 0.02
"""Seconds of moves between two looks at everything else."""
EQUAL = 500
"""Equal keys that wait, of which more have no effect: nobody holds a key for so long that a program lags behind by that many."""


Typed = deque[events.Key | events.Paste]
"""What was typed and not taken yet, in this order."""


class TypeAhead(App[None]):
    """An app that takes keys in turn."""

    def __init__(self, *, typed: Typed | None = None, **options: Any) -> None:
        """Create the app; `typed`: what was typed before it began. What it does not take until its end stays in it."""
        super().__init__(**options)
        self._typed: Typed = deque() if typed is None else typed
        self._key_at_work = 0  # number of the key that is being handled, 0 for none
        self._key_count = 0
        self._hurried = 0  # the key behind which the others do not wait longer than `PATIENCE`

    @property
    def keys_wait(self) -> bool:
        """Whether keys have come that were not taken yet."""
        return bool(self._typed)

    async def on_event(self, event: events.Event) -> None:
        """Queue keys and pastes; handle other events at once."""
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await super().on_event(event)
            return
        self._typed.append(event)
        if not self._key_at_work:
            await self._handle_next_key()
        elif self._hurried != self._key_at_work:
            self._hurried = self._key_at_work
            self.set_timer(PATIENCE, lambda stuck=self._key_at_work: self._key_done(stuck))

    def take_typed(self) -> None:
        """Take what was typed before the app began, when its screen is there; keys that come meanwhile are taken after it."""
        if self._typed:
            self._key_count += 1
            self._key_at_work = self._key_count
            self._wait_for_screen(self._key_at_work, int(PATIENCE / PAUSE))

    def type_later(self, event: events.Key | events.Paste) -> None:
        """Leave a key to the next app: this one is ending."""
        self._typed.append(event)

    def intercepts(self, event: events.Key | events.Paste) -> bool:
        """Take a key or a paste in the place of what has the focus. Whether it was taken."""
        return False

    def is_asking(self) -> bool:
        """Return whether `intercepts` takes the next key: it may be a letter of a text."""
        return False

    def typing(self) -> Callable[[str], None] | None:
        """Return the function that inserts typed letters into a text; None where keys are commands."""
        return None

    def awaits_document(self) -> bool:
        """Return whether the next key is for a document that is not there yet."""
        return False

    async def _handle_next_key(self) -> None:
        if not self._typed or self._exit:  # the next app takes what is left
            return
        event = self._typed.popleft()  # also where what takes it fails: it is not tried twice
        self._key_count += 1
        self._key_at_work = self._key_count
        start = self.focused or self.screen
        try:
            if not self.intercepts(event):
                await super().on_event(event)
        finally:
            await self._follow(self._key_at_work, [*start.ancestors_with_self] * ROUNDS)

    async def _follow(self, key: int, way: Sequence[MessagePump]) -> None:
        """Go from queue to queue, behind what the key has put there."""
        for place, pump in enumerate(way):
            if pump.call_later(self._follow, key, way[place + 1 :]):
                return
        self._wait_for_screen(key, int(PATIENCE / PAUSE))

    def _wait_for_screen(self, key: int, looks: int) -> None:
        if not self.screen_stack:  # the app is ending
            return
        screen = self.screen
        is_open = screen.is_mounted and (screen.focused is not None or not screen.focus_chain)
        if (is_open and not self.awaits_document()) or not looks:
            self.call_later(self._key_done, key)
        else:
            self.set_timer(PAUSE, lambda: self._wait_for_screen(key, looks - 1))

    async def _key_done(self, key: int) -> None:
        if key != self._key_at_work:
            return
        self._key_at_work = 0
        try:
            if len(self._typed) > MANY:
                self._shorten()
        finally:
            await self._handle_next_key()

    def _shorten(self) -> None:
        """Do together what the next keys do: type letters, or move the cursor. Drop what is too much of any other key."""
        if (typing := self.typing()) is not None:
            letters = [event.character or "" for event in takewhile(_is_letter, self._typed) if isinstance(event, events.Key)]
            for _ in letters:
                self._typed.popleft()
            if letters:
                typing("".join(letters))
        elif not self.is_asking():
            self._move_on()

    def _move_on(self) -> None:
        """Carry out the moves that wait next."""
        end, moves = time.monotonic() + SLICE, self._moves()
        while self._typed and time.monotonic() < end:
            event = self._typed[0]
            if not isinstance(event, events.Key):
                return
            times = next((n for n, other in enumerate(self._typed) if not _is_same_key(event, other)), len(self._typed))
            move = moves.get(event.key)
            for _ in range(times if move is not None else times - EQUAL):
                self._typed.popleft()
            if move is None:
                return
            move(times)

    def _moves(self) -> dict[str, Callable[[int], object]]:
        """Return the keys that only move the cursor now, and their functions."""
        moves = {}
        for key, active in self.screen.active_bindings.items():
            name = active.binding.action
            if active.enabled and name in getattr(active.node, "REPEATED", ()):
                moves[key] = getattr(active.node, f"action_{name}")
        return moves


def _is_letter(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Key) and event.is_printable


def _is_same_key(event: events.Key, other: events.Key | events.Paste) -> bool:
    return isinstance(other, events.Key) and other.key == event.key


LONGEST_LINE = 4096
"""Maximum characters of a typed line: the length of the longest path. Each key searches for the whole line."""


@mutable
class LineEdit:
    """A text and where in it one types: `at` counts characters from 0."""

    text: str = ""
    at: int = 0

    def replace(self, text: str) -> None:
        """Replace the text; the cursor is at its end."""
        self.text, self.at = text, len(text)

    def insert(self, text: str) -> None:
        """Type. Characters beyond `LONGEST_LINE` are left out."""
        text = text[: max(LONGEST_LINE - len(self.text), 0)]
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def key(self, key: str) -> bool:
        """Do what a key, by Textual's name, does in a line. Whether it does anything there."""
        edit = _KEYS.get(key)
        if edit is not None:
            edit(self)
        return edit is not None

    def word_before(self) -> int:
        """Return the beginning of the word before the cursor."""
        return len(self.text[: self.at].rstrip().rpartition(" ")[0]) + 1 if " " in self.text[: self.at].rstrip() else 0

    def word_behind(self) -> int:
        """Return the end of the word behind the cursor."""
        blank = self.text.find(" ", len(self.text) - len(self.text[self.at :].lstrip()))
        return len(self.text) if blank < 0 else blank

    def move(self, to: int) -> None:
        """Go to a place."""
        self.at = min(max(to, 0), len(self.text))

    def cut(self, lo: int, hi: int) -> None:
        """Take characters `lo` to `hi` (exclusive) away, and type there."""
        lo = max(lo, 0)
        self.text = self.text[:lo] + self.text[hi:]
        self.at = lo


_KEYS: dict[str, Callable[[LineEdit], None]] = {
    "left": lambda line: line.move(line.at - 1),
    "right": lambda line: line.move(line.at + 1),
    "home": lambda line: line.move(0),
    "end": lambda line: line.move(len(line.text)),
    "ctrl+left": lambda line: line.move(line.word_before()),
    "ctrl+right": lambda line: line.move(line.word_behind()),
    "backspace": lambda line: line.cut(line.at - 1, line.at),
    "delete": lambda line: line.cut(line.at, line.at + 1),
    "ctrl+w": lambda line: line.cut(line.word_before(), line.at),
    "ctrl+u": lambda line: line.cut(0, line.at),
    "ctrl+k": lambda line: line.cut(line.at, len(line.text)),
}
_KEYS |= {
    "ctrl+a": _KEYS["home"], "ctrl+e": _KEYS["end"], "ctrl+b": _KEYS["left"], "ctrl+f": _KEYS["right"],
    "ctrl+h": _KEYS["backspace"], "ctrl+d": _KEYS["delete"], "alt+b": _KEYS["ctrl+left"], "alt+f": _KEYS["ctrl+right"],
    "ctrl+backspace": _KEYS["ctrl+w"],
}  # fmt: skip
