"""`ctrl+p`: the commands that work here and now, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tltui.commands import Command
from tltui.finding_commands import Situation, commands_for, keys_said, match_commands
from tltui.screens.asking.goto import ROWS
from tltui.screens.asking.question import Question, Row
from tltui.text import tokens

KEYS = 12
"""Cells for the keys of a command."""


class Palette(Question):
    """Answers with the command that was chosen."""

    rows = ROWS
    picks_first = True

    def __init__(self, now: Situation, keys: Mapping[str, Sequence[str]], chosen: Callable[[Command], object]) -> None:
        """`keys`: the id of a command → other keys than its own."""
        super().__init__("command", hint="what it is called, or what it does")
        self._now = now
        self._all_keys = keys
        self._chosen = chosen
        self._commands = self._matches = commands_for(now)

    def _keys(self, command: Command) -> Sequence[str]:
        return self._all_keys.get(command.id, command.keys)

    def listed(self, text: str) -> Sequence[Row]:
        """The commands that fit what was typed, the best first."""
        self._matches = match_commands(text, self._commands, self._keys) if text.strip() else self._commands
        return [
            [(f"{self._said(command):<{KEYS}} ", "key"), (f"{command.title:<24} ", tokens.STRONG), (command.help, tokens.DIM)]
            for command in self._matches
        ]

    def _said(self, command: Command) -> str:
        """Its first two keys; the first one where there is no room for both."""
        keys = self._keys(command)
        said = keys_said(command, self._now, keys[:2])
        return said if len(said) <= KEYS else keys_said(command, self._now, keys[:1])

    def accepts(self, text: str, place: int | None) -> bool:
        """A row."""
        return place is not None

    def entered(self, text: str, place: int | None) -> None:
        """The one under the cursor."""
        self._chosen(self._matches[place or 0])
