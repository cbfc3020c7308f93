"""Storages of Inductor's Python wrapper: each allocation, the names that hold it, and the statement that frees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tltui.questions.memory.tensor_sizes import Amount, TensorType, sizes_in, storage_amount
from tltui.questions.provenance.dataflow.value_graph import VIEWS, arguments
from tltui.questions.provenance.dataflow.wrapper_code import (
    BASE,
    DTYPES,
    FUNCTION_CALL,
    ITEM,
    LISTED,
    PARTITION,
    RENAMED,
    SHOWN,
    UNPACK,
)
from tltui.questions.provenance.generated_code import CodeText, Function, statement_end
from tltui.text.frozen import mutable
from tltui.text.graphs.fx_graph import split

NO_CODE = "torch wrote no generated code"
CPP_WRAPPER = "its wrapper is C++ (cpp_wrapper or AOTInductor)"
BRANCHES = "its wrapper has a branch or a loop"
UNREADABLE = "its wrapper has an unknown form"
MAX_DEPTH = 20
_ALLOCATED = re.compile(r"^(\w+) = (?:torch\.)?empty_strided(?:_(\w+))?\((.*)\)$")
_FROM_POOL = re.compile(r"^(\w+) = (?:torch\.ops\.inductor\._)?alloc_from_pool\((\w+)\b")
_RESULT = re.compile(r"^(\w+) = (?:torch\.ops\.\w+|aten|extern_kernels|inductor_ops)\.(\w+)(?:\.\w+)*\(")
_CHECKED = re.compile(r"^assert_size_stride\((\w+), \(([^()]*)\), \(([^()]*)\)")
_BRANCH = ("if ", "else:", "elif ", "while ", "for ", "try:")
_MEMORY_VIEWS = VIEWS | {"view_as_complex", "view_as_real"}
_DEVICES = {"": "cpu", "cpu_pinned": "cpu"}
_DEVICE = re.compile(r"\bdevice=(?:torch\.device\()?['\"](\w+)")


class UnreadableWrapper(Exception):
    """A wrapper whose allocations are not followed; the text is the reason."""


class Name(NamedTuple):
    """A name of a storage, with the statement and the line, from 0, that bind it."""

    text: str
    moment: int
    line: int


@mutable(eq=False)
class Storage:
    """A memory block. Moments are numbers of statements in the order of their run."""

    name: str
    line: int
    """The line of its allocation, from 0; -1 for an argument."""
    amount: Amount | None
    """Its bytes; None if unknown."""
    dtype: str = ""
    device: str = ""
    begin: int = 0
    end: int | None = None
    """The statement that frees it; None where it outlives the call."""
    uses: int = 0
    """Names and lists that hold it."""
    names: list[Name] = field(default_factory=list)
    """All names that it had, in order."""
    call: str = ""
    """The library call that allocated it; '' for an allocation of the wrapper."""

    @property
    def is_argument(self) -> bool:
        """Whether the caller passed it."""
        return self.line < 0

    def name_at(self, moment: int) -> Name:
        """Return the last name that it had got by a moment."""
        return next((name for name in reversed(self.names) if name.moment <= moment), Name(self.name, self.begin, self.line))


@mutable(eq=False)
class _Held:
    """A list of storages, or the results of a call by their index."""

    items: dict[int, Storage | None]
    uses: int = 0


Held = Storage | _Held | None
Results = Callable[[int, str], Mapping[int, TensorType]]
"""Line and operator of a library call → its tensors by index; -1 for a single one."""


@mutable
class Allocations:
    """All storages of one call of a wrapper."""

    storages: list[Storage] = field(default_factory=list)
    given: list[tuple[str, Storage]] = field(default_factory=list)
    """The arguments in order."""
    returned: list[Storage | None] = field(default_factory=list)
    """The storage of each result; None for a result that is no tensor."""
    reused: int = 0
    """Buffers that took over the storage of another one."""
    statements: int = 0


def allocations_of(code: CodeText, results: Results) -> Allocations:
    """Follow the statements of a wrapper. Raises `UnreadableWrapper`."""
    main = next((function for function in reversed(code.functions) if function.name == "call"), None)
    if main is None:
        raise UnreadableWrapper(CPP_WRAPPER if code.text else NO_CODE)
    walk = _Walk(code, results)
    walk.out.returned = walk.run(main, _Held({}), 0)
    return walk.out


class _Walk:
    def __init__(self, code: CodeText, results: Results) -> None:
        self.lines, self.results, self.out = code.text, results, Allocations()
        partitions = [function for function in code.functions if function.name.startswith("partition_")]
        self.functions = {function.name: function for function in code.functions if function.inner}
        self.partitions = {int(function.name.rpartition("_")[2]): function for function in partitions}

    def run(self, function: Function, given: _Held, depth: int) -> list[Storage | None]:
        """Follow one function with the list of its arguments; return its results."""
        if depth > MAX_DEPTH:
            raise UnreadableWrapper(UNREADABLE)
        names: dict[str, Held] = {}
        n = function.first + 1
        while n <= function.last:
            text = self.lines[n].strip()
            last = n if not text or text.startswith("#") else statement_end(self.lines, n)
            if last > n:
                text = " ".join(line.strip() for line in self.lines[n : last + 1])
            if text.startswith("return"):
                return self.end(names, text)
            if text.startswith(_BRANCH):
                raise UnreadableWrapper(BRANCHES)
            if text and not text.startswith(("#", "with ", "raise ")):
                self.out.reused += "# reuse" in text
                for part in split(text.partition("  # ")[0]):
                    self.out.statements += 1
                    self.statement(n, part, names, given, depth)
            n = last + 1
        raise UnreadableWrapper(UNREADABLE)

    def end(self, names: dict[str, Held], text: str) -> list[Storage | None]:
        """Release the names of a function, except what it returns."""
        inner = text.removeprefix("return").strip()
        parts = arguments(inner[1:-1]) if inner[:1] in ("(", "[") else [inner]
        results = [self.storage(names, part) for part in parts if part]
        for storage in results:
            self.retain(storage)
        self.out.statements += 1
        for name in list(names):
            self.release(names.pop(name))
        for storage in results:
            if storage is not None:
                storage.uses -= 1
        return results

    def statement(self, n: int, text: str, names: dict[str, Held], given: _Held, depth: int) -> None:
        """Follow one statement."""
        if match := UNPACK.match(text):
            self.unpack([part.strip() for part in match[1].split(",") if part.strip()], names, given, depth)
        elif text == "args.clear()":
            self.clear(given)
        elif text.startswith("del "):
            for name in text[4:].split(","):
                self.release(names.pop(name.strip(), None))
        elif match := _ALLOCATED.match(text):
            self.bind(names, match[1], self.allocated(match[1], n, match[2] or "", match[3]), n)
        elif match := _FROM_POOL.match(text) or SHOWN.match(text) or RENAMED.match(text):
            self.bind(names, match[1], names.get(match[2]), n)
        elif match := ITEM.match(text):
            held = names.get(match[2])
            self.bind(names, match[1], held.items.get(int(match[3])) if isinstance(held, _Held) else None, n)
        elif (match := PARTITION.match(text)) and int(match[2]) in self.partitions:
            self.inner(self.partitions[int(match[2])], match[1], match[3], names, depth)
        elif (match := FUNCTION_CALL.match(text)) and match[2] in self.functions:
            self.inner(self.functions[match[2]], match[1], match[3], names, depth)
        elif (match := LISTED.match(text)) and "(" not in match[2].partition("reinterpret")[0]:
            storages = [self.storage(names, part) for part in arguments(match[2]) if part]
            self.bind(names, match[1], self.holding(dict(enumerate(storages))))
        elif match := _CHECKED.match(text):
            self.checked(names.get(match[1]), sizes_in(match[2]), sizes_in(match[3]))
        elif match := _RESULT.match(text):
            self.result(n, match[1], match[2], text, names)

    def unpack(self, targets: Sequence[str], names: dict[str, Held], given: _Held, depth: int) -> None:
        for n, name in enumerate(targets):
            if depth == 0:
                storage = Storage(name, -1, None)
                self.out.given.append((name, storage))
                self.bind(names, name, storage)
            else:
                self.bind(names, name, given.items.get(n))

    def inner(self, function: Function, targets: str, listed: str, names: dict[str, Held], depth: int) -> None:
        """Follow the function of a part of the graph."""
        held = names.get(listed)
        results = self.run(function, held if isinstance(held, _Held) else _Held({}), depth + 1)
        for name, storage in zip((part.strip() for part in targets.split(",") if part.strip()), results, strict=False):
            self.bind(names, name, storage)

    def allocated(self, name: str, n: int, where: str, text: str) -> Storage:
        parts = arguments(text)
        dtype = next((DTYPES.get(match[1], "") for part in parts if (match := re.search(r"\btorch\.(\w+)$", part))), "")
        sizes, strides = (sizes_in(part.strip("()")) for part in (*parts, "", "")[:2])
        device = _DEVICE.search(text)
        place = device[1] if device else _DEVICES.get(where, where)
        return self.new(Storage(name, n, storage_amount(sizes, strides, dtype), dtype, place))

    def new(self, storage: Storage) -> Storage:
        storage.begin = self.out.statements
        self.out.storages.append(storage)
        return storage

    def result(self, n: int, name: str, operator: str, text: str, names: dict[str, Held]) -> None:
        """Bind the results of a library call, which allocates them itself; a view shows its first argument."""
        if operator in _MEMORY_VIEWS:
            self.bind(names, name, self.storage(names, text.partition(" = ")[2].partition("(")[2]), n)
            return
        items = {
            index: self.new(Storage(name, n, tensor.amount, tensor.dtype, tensor.device, call=operator))
            for index, tensor in self.results(n, operator).items()
        }
        if not items:
            items = {-1: self.new(Storage(name, n, None, call=operator))}
        self.bind(names, name, items[-1] if -1 in items else self.holding(dict(items)), n)

    @staticmethod
    def checked(held: Held, sizes: Sequence[str], strides: Sequence[str]) -> None:
        """Take the layout of a library call's result from the wrapper's check of it."""
        if isinstance(held, Storage) and held.call and held.dtype and len(held.names) == 1:
            held.amount = storage_amount(sizes, strides, held.dtype) or held.amount

    def holding(self, items: dict[int, Storage | None]) -> _Held:
        for storage in items.values():
            self.retain(storage)
        return _Held(items)

    def storage(self, names: Mapping[str, Held], text: str) -> Storage | None:
        """Return the storage that an expression shows: a name, or views of one."""
        base = BASE.match(text.strip())
        held = names.get(base[1]) if base else None
        return held if isinstance(held, Storage) else None

    def bind(self, names: dict[str, Held], name: str, held: Held, line: int = -1) -> None:
        self.retain(held)
        self.release(names.pop(name, None))
        names[name] = held
        if isinstance(held, Storage):
            held.names.append(Name(name, self.out.statements, line))

    @staticmethod
    def retain(held: Held) -> None:
        if held is not None:
            held.uses += 1

    def release(self, held: Held) -> None:
        if held is None:
            return
        held.uses -= 1
        if held.uses:
            return
        if isinstance(held, Storage):
            held.end = self.out.statements
        else:
            self.clear(held)

    def clear(self, held: _Held) -> None:
        items, held.items = held.items, {}
        for storage in items.values():
            self.release(storage)


@dataclass(frozen=True, slots=True)
class Level:
    """The moment with the most bytes on a device."""

    moment: int
    bytes: int
    start_bytes: int
    """At the start of the call."""
    end_bytes: int
    """At its end."""
    alive: tuple[Storage, ...]
    """The storages at that moment, the largest first."""


def highest_level(allocations: Allocations, storages: Iterable[Storage], sizes: Mapping[str, int]) -> Level | None:
    """Return the highest level of some storages, unknown sizes left out; None if a symbol of one has no value."""
    changes: dict[int, int] = {}
    amounts: dict[int, int] = {}
    counted = [storage for storage in storages if storage.amount is not None]
    for storage in counted:
        value = storage.amount.value(sizes) if storage.amount is not None else None
        if value is None:
            return None
        amounts[id(storage)] = value
        changes[storage.begin] = changes.get(storage.begin, 0) + value
        if storage.end is not None:
            changes[storage.end] = changes.get(storage.end, 0) - value
    level = highest = changes.pop(0, 0)
    start, moment = level, 0
    for at in sorted(changes):
        level += changes[at]
        if level > highest:
            highest, moment = level, at
    alive = [storage for storage in counted if storage.begin <= moment and (storage.end is None or storage.end > moment)]
    alive.sort(key=lambda storage: -amounts[id(storage)])
    return Level(moment, highest, start, level, tuple(alive))
