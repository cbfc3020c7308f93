"""Patterns of source locations and other formatted text in a trace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

FILE_LINE = re.compile(r'([ \t|]*)File "([^"\n]+)", line \d+(?:, in ([^\n]+))?$')
STACKED = re.compile(r"(Line: \d+, Name: )([^\n]{1,500}), Filename: ([^\n]+)$")
PLACE = re.compile(r"(?<![\w./\\\-+@~:])([\w./\\\-+@~:]+):(\d+) in ([\w<>.]+)")
NAME = re.compile(r"[^\W\d]\w*")
RESUME = re.compile(r"torch_dynamo_resume_in_(\w+?)_at_\d{1,7}(?=$|_ORIGINAL|_MODIFIED|_\d)")
_DEEPEST = 6
_SIGN = "  # "
_AND = ") and "
_CAUSE = "Caused by: "


class Commented(NamedTuple):
    """A line of source that torch wrote beside what came of it."""

    start: int
    end: int
    path: str
    function: str


def commented(line: str) -> list[Commented]:
    """The source in `# File: /x/m.py:4 in f, code: y = x` and in `…  # y = x  # m.py:4 in f`, there also several."""
    at = line.find(", code: ")
    if at >= 0 and (start := line.find("File: ", 0, at)) >= 0:
        path, _, function = line[start + 6 : at].rpartition(" in ")
        return [Commented(at + 8, len(line), path.rpartition(":")[0], function)]
    found = []
    end = line.find(_SIGN)
    cause = line.find(_CAUSE, 0, end)
    before: int | None = cause + len(_CAUSE) if cause >= 0 else None
    while end >= 0:
        start = end + len(_SIGN)
        place = PLACE.match(line, start)
        if place is not None and before is not None:
            found.append(Commented(before, end, place[1], place[3]))
        end = line.find(_SIGN, start)
        joined = line.rfind(_AND, start, max(end, start))
        before = start if place is None else joined + len(_AND) if joined >= 0 else place.end()
    return found


def source_lines(text: str) -> Iterator[tuple[str, re.Match[str] | None, re.Match[str] | None]]:
    """Each line; if it is a `File "…"` of a traceback, that; and the one that it stands below as its line of source."""
    above: re.Match[str] | None = None
    for line in text.split("\n"):
        if (file := FILE_LINE.match(line)) is not None:
            above = file
            yield line, file, None
            continue
        bare = line.lstrip(" \t|")
        if above is not None and (not bare or len(line) - len(bare) <= len(above[1])):
            above = None
        yield line, None, above


def is_marks(line: str) -> bool:
    """Whether a line only points into the one above it: `~~~^^^`."""
    return not set(line.strip()) - set("^~ |")


def nested_json(text: str) -> Any:
    """The object or list that a text is as JSON; None for any other text."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def values_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Every object and every string in a JSON value with the key that it stands under, also in JSON within strings."""
    rest: list[tuple[str, Any, int]] = [("", value, 0)]
    while rest:
        key, item, deep = rest.pop()
        if isinstance(item, str):
            inner = nested_json(item) if deep < _DEEPEST else None
            if inner is None:
                yield key, item
            else:
                rest.append((key, inner, deep + 1))
        elif isinstance(item, Mapping):
            yield key, item
            rest.extend((str(name), inner, deep) for name, inner in reversed(list(item.items())))
        elif isinstance(item, list):
            rest.extend((key, inner, deep) for inner in reversed(item))
