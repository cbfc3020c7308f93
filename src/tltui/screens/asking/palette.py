"""`ctrl+p`: the commands, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tltui.commands import Command
from tltui.screens.asking.goto import ROWS
from tltui.screens.asking.question import Question, Row
from tltui.text import tokens

KEYS = 12
"""Cells for the keys of a command."""


class Palette(Question):
    """Answers with the command that was chosen."""

    rows = ROWS
    picks_first = True

    def __init__(
        self, commands: Sequence[Command], keys: Callable[[Command], str], chosen: Callable[[Command], object]
    ) -> None:
        """`commands` are those that work here; `keys` says theirs."""
        super().__init__("command", hint="what it is called, or what it does")
        self._commands = commands
        self._keys = keys
        self._chosen = chosen
        self._matches: Sequence[Command] = commands

    def listed(self, text: str) -> Sequence[Row]:
        """The commands that fit what was typed, the best first."""
        self._matches = matching(text, self._commands) if text.strip() else self._commands
        return [
            [(f"{self._keys(command):<{KEYS}}", "key"), (f"{command.title:<24} ", tokens.STRONG), (command.help, tokens.DIM)]
            for command in self._matches
        ]

    def accepts(self, text: str, place: int | None) -> bool:
        """A row."""
        return place is not None

    def entered(self, text: str, place: int | None) -> None:
        """The one under the cursor."""
        self._chosen(self._matches[place or 0])


def matching(text: str, commands: Sequence[Command]) -> list[Command]:
    """Those with all words in the title, then those in which words of the help begin so."""
    words = text.lower().split()
    named = [command for command in commands if all(word in command.title.lower() for word in words)]
    helped = [
        command for command in commands
        if command not in named and all(f" {word}" in f" {command.title} {command.help}".lower() for word in words)
    ]
    return [*named, *helped]
