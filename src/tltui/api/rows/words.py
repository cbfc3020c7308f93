"""How several things become one cell."""

from __future__ import annotations

from collections.abc import Iterable


def joined(texts: Iterable[object]) -> str:
    """The texts, by `, `."""
    return ", ".join(map(str, texts))
