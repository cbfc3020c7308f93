"""A file of torch-spyre field by field, so that two of them can be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_NUMBERED = re.compile(r"\d{1,9}_\w+\Z")
MOST = 200_000
"""Fields up to which a file is taken apart."""


def fields_of(text: str) -> str:
    """A line `PATH = VALUE` for each value, the names of the operation left out of the paths; the text itself where it is no
    object."""
    try:
        value = json.loads(text)
        if not isinstance(value, dict) or not value:
            return text
        lines = [f"operation = {key}" for key in value]
        for key, held in value.items():
            lines += _lines("" if _NUMBERED.match(key) and len(value) == 1 else key, held, key.partition("_")[2])
            if len(lines) > MOST:
                return text
    except (ValueError, RecursionError):
        return text
    return "\n".join(lines) + "\n"


def _lines(path: str, value: object, op: str) -> Iterator[str]:
    dot = "." if path else ""
    if isinstance(value, dict) and value:
        for key, held in value.items():
            own = "OP" if key == op else key
            yield from _lines(f"{path}{dot}{own}", held, op)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        for n, held in enumerate(value):
            yield from _lines(f"{path}[{n}]", held, op)
    else:
        yield f"{path} = {json.dumps(value, ensure_ascii=False)}"
