"""Cache of facts derived from the nodes of a run, valid until the run grows."""

from __future__ import annotations

import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from operator import attrgetter
from typing import Any, Protocol, TypeVar, cast

from tltui.model.kind import Kind
from tltui.text.lru import Lru

LIMIT = 48 << 20
"""Bytes that all parts of a run may take, as far as `weigh` knows."""
READERS = 16
"""Logs whose last block is kept."""
LATE = 8192
"""Items of what was asked last of single nodes and is too large to be kept of all."""
SAMPLE = 16
"""Items of a long sequence whose weight is computed."""
RECORDS = 2
"""Records of a sequence whose weight is computed: they have the same fields."""
OVERHEAD = 200
"""Bytes of an entry itself."""


T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


class Stamped(Protocol):
    """A node that counts its changes."""

    stamp: int


Read = tuple[tuple[Stamped, int], ...]
"""Nodes that a part was made from, and their stamps at that time."""
MISSING = object()


class _Asked:
    """All parts of one question."""

    __slots__ = ("items", "weight")

    def __init__(self) -> None:
        self.items: dict[Hashable, tuple[Read, Any, int]] = {}
        self.weight = 0


class Parts:
    """The parts of a run. Any thread may use it."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.weight = 0
        self.computed = 0
        """How many parts were made since the run was opened: what did not change is not computed again."""
        self.readers: Lru[Any, Any] = Lru(READERS)
        """Logs → what reads them; kept here so that all questions share it."""
        self._shared: dict[Hashable, Hashable] = {}
        self._late: Lru[Hashable, tuple[int, Any]] = Lru(LATE)
        self._asked: OrderedDict[Hashable, _Asked] = OrderedDict()
        self._lock = threading.Lock()
        self._reading = threading.local()

    def get(self, question: Hashable, node: Hashable) -> Any:
        """Return the cached answer if still valid, else `MISSING`; its dependencies are added to the part in progress."""
        answers = self._asked.get(question)
        entry = answers.items.get(node) if answers is not None else None
        if entry is None:
            return MISSING
        read, value, _ = entry
        for other, stamp in read:
            if other.stamp != stamp:
                return MISSING
        if (reading := getattr(self._reading, "stack", None)) is not None and reading:
            reading[-1].update(read)
        return value

    def begin(self, *nodes: Stamped) -> None:
        """Begin a part that depends on these nodes; `end` must follow."""
        stack = self._reading.__dict__.setdefault("stack", [])
        stack.append({node: node.stamp for node in nodes})

    def reads(self, *nodes: Stamped) -> None:
        """Add nodes to the dependencies of the part in progress, if any."""
        if stack := self._reading.__dict__.get("stack"):
            for node in nodes:
                stack[-1].setdefault(node, node.stamp)

    def end(self) -> Read:
        """Return the dependencies of the finished part."""
        stack = self._reading.stack
        read: dict[Stamped, int] = stack.pop()
        if stack:
            for node, stamp in read.items():
                stack[-1].setdefault(node, stamp)
        return tuple(read.items())

    def put(self, question: Hashable, node: Hashable, read: Read, value: object) -> None:
        """Keep an answer, unless there is no room for more of this question."""
        weight = weigh(value) + OVERHEAD
        with self._lock:
            self.computed += 1
            answers = self._asked.get(question)
            if answers is None:
                answers = self._asked[question] = _Asked()
            else:
                self._asked.move_to_end(question)
            old = answers.items.pop(node, None)
            if old is not None:
                answers.weight -= old[2]
                self.weight -= old[2]
            while self.weight + weight > self.limit and len(self._asked) > 1:
                self.weight -= self._asked.popitem(last=False)[1].weight
            if self.weight + weight <= self.limit:
                answers.items[node] = (read, value, weight)
                answers.weight += weight
                self.weight += weight

    def same(self, value: H) -> H:
        """Intern a value: thousands of nodes with equal facts share one object."""
        return cast("H", self._shared.setdefault(value, value))

    def lately(self, question: Hashable, node: Stamped, make: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
        """Return items that depend on one node, cached for the last few nodes.

        The node's page, the tree and the status line request them one after the other.
        """
        self.reads(node)
        key, stamp = (question, node), node.stamp
        with self._lock:
            entry = self._late.get(key)
        if entry is not None and entry[0] == stamp:
            return cast("tuple[T, ...]", entry[1])
        items = make()
        with self._lock:
            self._late.put(key, (stamp, items), len(items) + 1)
        return items


def weigh(value: object) -> int:
    """Bytes that a frozen result takes, roughly. Nodes and kinds are not counted: they are there anyway."""
    kind = type(value)
    if kind in _TEXTS:
        return sys.getsizeof(value)
    if kind in _PLAIN:
        return 16
    if kind is tuple and not value:
        return 56
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = _fields(kind)
    if fields is not _no_fields:
        total = 48
        for field in fields(value):  # most are texts and numbers
            kind = type(field)
            total += 8 + (sys.getsizeof(field) if kind in _TEXTS else 16 if kind in _PLAIN else weigh(field))
        return total
    if isinstance(value, dict):
        total = 64 + 100 * len(value)
        for pair in value.items():
            total += weigh(pair[0]) + weigh(pair[1])
        return total
    if isinstance(value, (tuple, list, set, frozenset)):
        if isinstance(value, (tuple, list)) and value:
            most = SAMPLE if _FIELDS.get(type(value[0]), _no_fields) is _no_fields else RECORDS
            if len(value) > 2 * most:  # long ones have items of one kind
                sample = value[:: len(value) // most]
                return 56 + 8 * len(value) + sum(map(weigh, sample)) * len(value) // len(sample)
        total = 56 + 8 * len(value)
        for item in value:
            total += weigh(item)
        return total
    return sys.getsizeof(value) if isinstance(value, (str, bytes, bytearray, array)) else 48


def _no_fields(_: object) -> tuple[Any, ...]:
    """Return no values: of what is no frozen dataclass."""
    return ()


def _fields(kind: type) -> Callable[[object], tuple[Any, ...]]:
    """Return a function from a frozen dataclass to the values of its fields."""
    if not is_dataclass(kind) or kind is Kind or not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return _no_fields
    names = tuple(kind.__dataclass_fields__)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


_TEXTS = frozenset((str, bytes))
_PLAIN = frozenset((int, float, bool, type(None)))
_FIELDS: dict[type, Callable[[object], tuple[Any, ...]]] = {}
