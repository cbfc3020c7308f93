"""How often something occurs, with a name for each part in JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Count(NamedTuple):
    """How often something of a name occurs."""

    name: str
    times: int


def counts(pairs: Iterable[tuple[str, int]]) -> tuple[Count, ...]:
    """Pairs as counts."""
    return tuple(Count(*pair) for pair in pairs)
