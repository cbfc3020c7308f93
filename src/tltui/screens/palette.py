"""The command palette, from the registry of commands."""

from __future__ import annotations

from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from tltui.commands import COMMANDS, Command


class Performer(Protocol):
    """The app, as far as the palette knows it."""

    def perform(self, command: Command) -> None:
        """Run a command where it belongs."""


class Palette(Provider):
    """Every command, with its keys."""

    def _run(self, command: Command) -> None:
        cast(Performer, self.app).perform(command)

    async def discover(self) -> Hits:
        """Before anything is typed."""
        for command in COMMANDS:
            yield DiscoveryHit(command.title, partial(self._run, command), help=_help(command))

    async def search(self, query: str) -> Hits:
        """What was typed."""
        matcher = self.matcher(query)
        for command in COMMANDS:
            score = max(matcher.match(command.title), matcher.match(command.help) * 0.5)
            if score > 0:
                yield Hit(score, matcher.highlight(command.title), partial(self._run, command), help=_help(command))


def _help(command: Command) -> str:
    keys = command.keys_shown()
    return f"{command.where.value}{f', {keys}' if keys else ''}: {command.help}"
