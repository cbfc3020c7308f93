"""What is to be told of the keys that a user gave to commands: what they take, what never arrives, what quits anyway."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tltui.commands import BY_ID, COMMANDS, Command, Where, meet, shown

FLOOR = "ctrl+q"
"""The key that quits whatever a config file says (`tltui.screens.floor`)."""
TAKEN = {
    "ctrl+a": "GNU screen takes it for itself", "ctrl+b": "tmux takes it for itself",
    "ctrl+s": "with flow control it stops the terminal", "ctrl+q": "with flow control it starts the terminal",
    "ctrl+i": "to a terminal it is tab", "ctrl+m": "to a terminal it is enter", "ctrl+j": "to most terminals it is enter",
    "ctrl+h": "to many terminals it is backspace", "ctrl+left_square_bracket": "to a terminal it is esc",
    "ctrl+[": "to a terminal it is esc",
}  # fmt: skip
"""Keys that somebody takes on the way, or that are sent as another one."""
_PROTOCOL = "only terminals with the Kitty keyboard protocol send it"
_FOR_KITTY = {"super", "meta", "hyper"}
_PLAIN_ONLY = {"enter", "backspace", "space"}
_WITH_CTRL = re.compile(
    r"[a-z]|f\d+|up|down|left|right|home|end|page(up|down)|insert|delete|space|@|at|\\|backslash|\]|right_square_bracket|_|underscore"
)
_PLACES = {Where.TREE: "in the tree", Where.DOCUMENT: "in documents"}


def keymap_problems(keys: Mapping[str, Sequence[str]]) -> list[str]:
    """Those of overrides (command → its keys), a sentence each. They hold all the same: what can be done is done."""
    return [f"{name}: {said}" for name in keys for said in (*_on_the_way(keys[name]), *_taken(name, keys))]


def _on_the_way(keys: Sequence[str]) -> Iterator[str]:
    """What becomes of keys before they arrive."""
    for key in keys:
        if key == FLOOR:
            yield f"{key} always quits, so it never does this"
        elif why := TAKEN.get(key) or _never_sent(key):
            yield f"{shown(key)} may never arrive: {why}"


def _never_sent(key: str) -> str:
    """Why an ordinary terminal cannot send this key, '' where it can."""
    *modifiers, own = key.split("+") if key != "+" else [key]
    is_known_of_ctrl = "shift" not in modifiers or len(own) > 1
    if _FOR_KITTY & set(modifiers) or ("ctrl" in modifiers and not (is_known_of_ctrl and _WITH_CTRL.fullmatch(own))):
        return _PROTOCOL
    if "shift" in modifiers and len(own) == 1:
        return f"terminals send the character itself{f', {own.upper()}' if own.isalpha() else ''}"
    return _PROTOCOL if "shift" in modifiers and own in _PLAIN_ONLY else ""


def _taken(name: str, keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What other commands lose by the keys of this one, or keep from it."""
    command = BY_ID[name]
    for other in COMMANDS:
        if other is command or not meet(command.where, other.where):
            continue
        if same := [key for key in keys[name] if key in keys.get(other.id, other.keys) and key != FLOOR]:
            yield from _said(command, other, same[0], keys)


def _said(command: Command, other: Command, key: str, keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Textual asks the pane before the screen; in one place a key that was given goes before a default."""
    has = shown(key)
    if command.where is other.where and other.id in keys:
        if command.id < other.id:
            yield f"{has} is the key of {other.id} too, and only one of them works"
    elif command.where is Where.EVERYWHERE and other.where is not Where.EVERYWHERE:
        yield f"{has} stays the key of {other.id} {_PLACES[other.where]}, and does this elsewhere only"
    elif other.where is Where.EVERYWHERE and command.where is not Where.EVERYWHERE:
        yield f"{has} is no longer the key of {other.id} {_PLACES[command.where]}"
    else:
        taken = {own for name, given in keys.items() if BY_ID[name].where is other.where for own in given}
        left = [own for own in other.keys if own not in taken]
        yield f"it takes {has} from {other.id}, which has {' '.join(map(shown, left)) if left else 'no other key'}"
