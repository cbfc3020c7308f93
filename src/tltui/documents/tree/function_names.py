"""What the functions of a tree are known by, as far as somebody looked: that is read from guards, which no drawing waits for."""

from __future__ import annotations

from collections.abc import Iterator

from tltui.analyses.stacks.known_as import known_as, says_little
from tltui.model.nodes import Frame
from tltui.model.ref import CompileId

Key = tuple[str, CompileId]


class FunctionNames:
    """Names for `tltui.documents.tree.outline.label`. Those that it lacks are wanted from then on; `read` finds them out."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[int, str | None]] = {}
        self._wanted: dict[Key, Frame] = {}

    @property
    def is_asked(self) -> bool:
        """Whether names are wanted."""
        return bool(self._wanted)

    def __call__(self, frame: Frame) -> str | None:
        """The name of a function, by now."""
        name = frame.code[0]
        if not says_little(name):
            return name
        key = (frame.process.key, frame.key)
        stamp, known = self._known.get(key, (-1, None))
        if stamp != frame.stamp:
            self._wanted[key] = frame
        return known or name

    def read(self) -> Iterator[bool]:
        """Find out the names that are wanted, one after the other; whether each is news."""
        while self._wanted:
            key, frame = next(iter(self._wanted.items()))
            stamp, name = frame.stamp, known_as(frame)
            _, before = self._known.get(key, (-1, None))
            self._known[key] = stamp, name
            self._wanted.pop(key, None)
            yield name != before
