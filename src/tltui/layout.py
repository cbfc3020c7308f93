"""Where the user has put the lines between panes: kept in the state directory, for all traces."""

from __future__ import annotations

import json
from pathlib import Path

from tltui.config import state_path
from tltui.text.atomic import replacing
from tltui.text.small_file import read_small_json

NAME = "layout.json"
TREE = "tree"
"""The pane of the tree on the main screen."""
LARGEST = 4096
"""Bytes of the file; one that is larger is none of ours."""
WIDEST = 10_000


def layout_path() -> Path:
    """Where it is kept."""
    return state_path() / NAME


def read_width(pane: str) -> int | None:
    """The width of a pane in cells, as it was left; None where none was, or the file is unreadable or broken."""
    return _read().get(pane)


def write_width(pane: str, width: int) -> None:
    """Remember a width. What another tltui wrote of other panes stays. Raises OSError."""
    path = layout_path()
    kept = {**_read(), pane: width}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, private=True) as file:
        file.write(json.dumps(kept).encode())


def _read() -> dict[str, int]:
    try:
        found = read_small_json(layout_path(), LARGEST)
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: width for name, width in found.items() if type(width) is int and 0 < width <= WIDEST}
