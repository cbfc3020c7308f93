"""Keys that a page names: those of the person who reads it, and none where it is printed by a command.

A hint is a link to what the key does, so that a click does it too, and so that a test can find all of them.
"""

from __future__ import annotations

from tltui.text import tokens
from tltui.text.document import Options, Piece

DOES = "key:"
"""How the target of a hint begins: the name of the command follows."""
FOLLOW = "document.follow"


def key_of(options: Options, command: str) -> str:
    """The key of a command, '' where it has none or where there is no screen."""
    return options.key_of(command) if options.key_of is not None else ""


def key_hint(options: Options, command: str, says: str = "press {}", instead: str = "") -> Piece:
    """`press e`; `instead` where there is no such key."""
    key = key_of(options, command)
    return (says.format(key), tokens.KEY, f"{DOES}{command}") if key else (instead, tokens.KEY)


def link_hint(options: Options, ref: str, instead: str = "", page: str = "") -> Piece:
    """`enter`, on a line whose first link leads to an address; without such a key `instead`, a command that prints `page`."""
    key = key_of(options, FOLLOW)
    return (key, tokens.KEY, ref) if key else (instead, tokens.KEY, page)
