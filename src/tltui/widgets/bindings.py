"""Bindings from the registry of commands."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tltui.commands import Where, of


def bindings(where: Where) -> list[BindingType]:
    """The bindings of one place. Each has the command's id, so that the config file can give it other keys."""
    return [
        Binding(",".join(command.keys), command.action, command.title, show=False, id=command.id, tooltip=command.help)
        for command in of(where)
        if command.keys
    ]
