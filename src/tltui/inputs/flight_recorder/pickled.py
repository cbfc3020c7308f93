"""The values of a pickle that holds nothing but dictionaries, lists, tuples, texts and numbers. Nothing is ever executed.

Python's own unpickler imports modules and calls what a file asks for; even one that refuses this can be made to allocate memory for
4 billion entries of its memo. So the few opcodes that torch's `Pickler` (`torch/csrc/jit/serialization/pickler.cpp`) writes for
plain values are read here, by the table of Python's `pickletools`; any other opcode refuses the file. All that is made is bounded
by the bytes of the file: references to the memo share a value, they do not copy it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator

VALUES = 8_000_000
"""Opcodes of one file."""
PIECE = 20_000
"""Opcodes between two pauses."""


class NotPlain(Exception):
    """A pickle that is broken, or holds more than plain values. Its text says why."""


class _Mark:
    """The beginning of the items of a list or dictionary, on the stack."""


_MARK = _Mark()


class _Reader:
    """A pickle, read opcode by opcode."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[object] = []
        self.memo: dict[int, object] = {}

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise NotPlain("it is cut off")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def skip(self, size: int) -> None:
        self.take(size)

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def text(self, size: int) -> None:
        self.stack.append(self.take(self.number(size)).decode("utf-8", "replace"))

    def pop(self) -> object:
        if not self.stack:
            raise NotPlain("it is broken: an opcode has no value")
        return self.stack.pop()

    def top(self) -> object:
        if not self.stack:
            raise NotPlain("it is broken: an opcode has no value")
        return self.stack[-1]

    def items(self) -> list[object]:
        """What was put on the stack since the last mark."""
        values: list[object] = []
        while (value := self.pop()) is not _MARK:
            values.append(value)
        values.reverse()
        return values

    def set_items(self, items: list[object]) -> None:
        target = self.top()
        if not isinstance(target, dict) or len(items) % 2:
            raise NotPlain("it is broken: items without a dictionary")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, (str, int)):
                raise NotPlain("it has a key that is neither a text nor a number")
            target[key] = value

    def append(self, items: list[object]) -> None:
        target = self.top()
        if not isinstance(target, list):
            raise NotPlain("it is broken: items without a list")
        target += items

    def recall(self, number: int) -> None:
        if number not in self.memo:
            raise NotPlain("it is broken: a reference to nothing")
        self.stack.append(self.memo[number])

    def keep(self, number: int) -> None:
        self.memo[number] = self.top()

    def long(self) -> None:
        size = self.number(1)
        if size > 8:
            raise NotPlain("it has a number of more than 64 bits")
        self.stack.append(int.from_bytes(self.take(size), "little", signed=True))

    def last(self, count: int) -> None:
        """A tuple of the last values."""
        values = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(values)))


def _push(value: Callable[[], object]) -> Callable[[_Reader], None]:
    return lambda reader: reader.stack.append(value())


OPCODES: dict[int, Callable[[_Reader], None]] = {
    0x80: lambda reader: reader.skip(1),  # the version of the format
    0x95: lambda reader: reader.skip(8),  # the size of what follows
    ord("("): _push(lambda: _MARK),
    ord("}"): _push(dict),
    ord("]"): _push(list),
    ord(")"): _push(tuple),
    ord("N"): _push(lambda: None),
    0x88: _push(lambda: True),
    0x89: _push(lambda: False),
    ord("J"): lambda reader: reader.stack.append(int.from_bytes(reader.take(4), "little", signed=True)),
    ord("K"): lambda reader: reader.stack.append(reader.number(1)),
    ord("M"): lambda reader: reader.stack.append(reader.number(2)),
    0x8A: _Reader.long,
    ord("G"): lambda reader: reader.stack.append(struct.unpack(">d", reader.take(8))[0]),
    0x8C: lambda reader: reader.text(1),
    ord("X"): lambda reader: reader.text(4),
    0x8D: lambda reader: reader.text(8),
    ord("s"): lambda reader: reader.set_items([reader.pop(), reader.pop()][::-1]),
    ord("u"): lambda reader: reader.set_items(reader.items()),
    ord("a"): lambda reader: reader.append([reader.pop()]),
    ord("e"): lambda reader: reader.append(reader.items()),
    ord("t"): lambda reader: reader.stack.append(tuple(reader.items())),
    0x85: lambda reader: reader.last(1),
    0x86: lambda reader: reader.last(2),
    0x87: lambda reader: reader.last(3),
    ord("h"): lambda reader: reader.recall(reader.number(1)),
    ord("j"): lambda reader: reader.recall(reader.number(4)),
    ord("q"): lambda reader: reader.keep(reader.number(1)),
    ord("r"): lambda reader: reader.keep(reader.number(4)),
    0x94: lambda reader: reader.keep(len(reader.memo)),
}
"""Opcode → what it does: those of plain values."""
STOP = ord(".")


def plain_value(data: bytes) -> Generator[None, None, object]:
    """The value of a pickle, with a pause after each piece. Raises `NotPlain`."""
    reader = _Reader(data)
    size = len(data)
    for number in range(1, VALUES):
        if number % PIECE == 0:
            yield
        if reader.at >= size:
            raise NotPlain("it is cut off")
        code = data[reader.at]
        reader.at += 1
        if code == STOP:
            return reader.pop()
        act = OPCODES.get(code)
        if act is None:
            where = f"opcode {code:#04x} at byte {reader.at - 1:,}"
            raise NotPlain(f"it asks for more than plain values ({where}); nothing of it was executed")
        act(reader)
    raise NotPlain(f"it has more than {VALUES:,} values")
