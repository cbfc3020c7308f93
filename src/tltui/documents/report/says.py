"""Whether a page has something to say about a run, by the result that it shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

ALWAYS = frozenset(("summary", "problems", "damage"))
"""Pages that are an answer also where there is nothing: that nothing failed, that nothing is damaged."""
_DEEP = 3


def says_something(name: str, result: object) -> bool:
    """Whether the page `name` tells anything of the run: whether any collection in its result has a member. Sentences that say why
    there is nothing are none; a matrix takes two ranks."""
    if name == "matrix" and getattr(result, "ranks", 0) < 2:
        return False
    return name in ALWAYS or _has_any(result, _DEEP)


def _has_any(value: object, deep: int) -> bool:
    if isinstance(value, str) or not deep:
        return False
    if dataclasses.is_dataclass(value):
        return any(_has_any(getattr(value, field.name), deep - 1) for field in dataclasses.fields(value))
    if isinstance(value, dict):
        return any(_has_any(item, deep - 1) for item in value.values())
    return isinstance(value, Collection) and len(value) > 0
