"""A small cache with a bound, per object (functools.lru_cache would keep documents alive)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Keeps the most recently used values whose weights sum up to at most `limit` (but always the newest one)."""

    __slots__ = ("_items", "_limit", "_weight")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: K) -> V | None:
        """Return the value of `key`, None if it is not (or no longer) cached."""
        item = self._items.get(key)
        if item is None:
            return None
        self._items.move_to_end(key)
        return item[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Store `value`; evict the least recently used entries until the weights fit."""
        old = self._items.pop(key, None)
        if old is not None:
            self._weight -= old[1]
        self._items[key] = (value, weight)
        self._weight += weight
        while self._weight > self._limit and len(self._items) > 1:
            self._weight -= self._items.popitem(last=False)[1][1]
