"""Storages of Inductor's Python wrapper: each allocation, the names that hold it, and the statement that frees it.

Sizes in bytes are polynomials of the symbols in the shapes of tensors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

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
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import split

MAX_TEXT = 400
"""Characters of a size that is read."""
MAX_TERMS = 64
MAX_BITS = 80
"""Bits of a number that is computed."""
Atoms = tuple[str, ...]
"""The factors of a term besides its coefficient, in order: symbols, and other expressions as text."""
_TENSOR = re.compile(r"^([a-z]\w*)\[([^\]]*)\](?:\[([^\]]*)\])?([a-z]\w*(?::\d{1,4})?)?")
_BITS = re.compile(r"\d{1,3}")

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


@frozen
class Amount:
    """A number of bytes: coefficients by the factors of each term. Without symbols it has one term, with no factors."""

    terms: Mapping[Atoms, int] = field(default_factory=dict)

    def plus(self, other: Amount, times: int = 1) -> Amount:
        """Return the sum of this and of another amount taken `times`."""
        terms = dict(self.terms)
        for atoms, coefficient in other.terms.items():
            terms[atoms] = terms.get(atoms, 0) + times * coefficient
        return Amount({atoms: coefficient for atoms, coefficient in terms.items() if coefficient})

    def times(self, other: Amount) -> Amount:
        """Return the product."""
        product = Amount()
        for atoms, coefficient in self.terms.items():
            for others, factor in other.terms.items():
                product = product.plus(Amount({tuple(sorted((*atoms, *others))): coefficient * factor}))
        return product

    @property
    def has_symbols(self) -> bool:
        """Whether it depends on a symbol."""
        return any(self.terms)

    @property
    def formula(self) -> str:
        """`128*s77 + 4096`; '' without symbols."""
        if not self.has_symbols:
            return ""
        parts = ["*".join((*([str(count)] if count != 1 or not atoms else []), *atoms)) for atoms, count in _ordered(self.terms)]
        return " + ".join(parts).replace("+ -", "- ")

    def value(self, sizes: Mapping[str, int]) -> int | None:
        """Return the number of bytes with the values of symbols; None if one is missing."""
        total = 0
        for atoms, coefficient in self.terms.items():
            term: int | None = coefficient
            for atom in atoms:
                factor = _value(_parsed(atom), sizes)
                term = None if term is None or factor is None else term * factor
            if term is None or term.bit_length() > MAX_BITS:
                return None
            total += term
        return total


@frozen
class TensorType:
    """A tensor as FX annotates it: `f32[8, 16][16, 1]cpu`."""

    dtype: str
    sizes: tuple[str, ...]
    strides: tuple[str, ...] | None
    """None where the text has none: the tensor counts as contiguous."""
    device: str

    @property
    def amount(self) -> Amount | None:
        """The bytes from its first to its last element; None for an unreadable size or dtype."""
        return storage_amount(self.sizes, self.strides, self.dtype)


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


def _ordered(terms: Mapping[Atoms, int]) -> list[tuple[Atoms, int]]:
    return sorted(terms.items(), key=lambda term: (-len(term[0]), term[0]))


def constant(number: int) -> Amount:
    """Return a fixed amount."""
    return Amount({(): number} if number else {})


def together(amounts: Iterable[Amount | None]) -> Amount:
    """Return the sum of the known amounts."""
    total = Amount()
    for amount in amounts:
        if amount is not None:
            total = total.plus(amount)
    return total


def _parsed(text: str) -> ast.expr | None:
    """Parse an expression; nothing is evaluated."""
    try:
        return ast.parse(text.strip(), mode="eval").body if len(text) <= MAX_TEXT else None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


@lru_cache(maxsize=4096)
def size_of_text(text: str) -> Amount | None:
    """Return a size as Inductor and FX write it, `64`, `s77`, `2*s0 + 1`; None for anything else."""
    tree = _parsed(text)
    return None if tree is None else _polynomial(tree)


def _polynomial(tree: ast.expr) -> Amount | None:
    if isinstance(tree, ast.Constant):
        return constant(tree.value) if type(tree.value) is int and tree.value.bit_length() <= MAX_BITS else None
    if isinstance(tree, ast.Name):
        return Amount({(tree.id,): 1})
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = _polynomial(tree.operand)
        return None if inner is None else Amount().plus(inner, -1)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub, ast.Mult)):
        left, right = _polynomial(tree.left), _polynomial(tree.right)
        if left is None or right is None:
            return None
        if isinstance(tree.op, ast.Mult):
            product = left.times(right) if len(left.terms) * len(right.terms) <= MAX_TERMS else None
            return None if product is None or any(part.bit_length() > MAX_BITS for part in product.terms.values()) else product
        return left.plus(right, 1 if isinstance(tree.op, ast.Add) else -1)
    return Amount({(f"({ast.unparse(tree)})",): 1}) if isinstance(tree, (ast.BinOp, ast.Call)) else None


def _value(tree: ast.expr | None, sizes: Mapping[str, int]) -> int | None:
    """Return the value of an expression of sizes: sums, products, floor divisions, remainders, `Max`, `Min`."""
    if isinstance(tree, ast.Constant):
        return tree.value if type(tree.value) is int else None
    if isinstance(tree, ast.Name):
        return sizes.get(tree.id)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        inner = _value(tree.operand, sizes)
        return None if inner is None else -inner
    if isinstance(tree, ast.BinOp):
        return _operation(tree.op, _value(tree.left, sizes), _value(tree.right, sizes))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
        values = [_value(argument, sizes) for argument in tree.args]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values) or not numbers:
            return None
        if tree.func.id in ("Max", "max", "Min", "min"):
            return max(numbers) if tree.func.id.lower() == "max" else min(numbers)
        if tree.func.id in ("FloorDiv", "CleanDiv", "Mod", "PythonMod") and len(numbers) == 2:
            return _operation(ast.FloorDiv() if tree.func.id.endswith("Div") else ast.Mod(), *numbers)
    return None


def _operation(operator: ast.operator, left: int | None, right: int | None) -> int | None:
    if left is None or right is None or max(left.bit_length(), right.bit_length()) > MAX_BITS:
        return None
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, (ast.FloorDiv, ast.Mod)) and right:
        return left // right if isinstance(operator, ast.FloorDiv) else left % right
    return None


def element_bytes(dtype: str) -> int | None:
    """Return the bytes of an element of a dtype in FX's short form, `f32`: its first number is its bits.

    Packed dtypes have at most 8 bits and take a byte.
    """
    bits = _BITS.search(dtype)
    return max(int(bits[0]) // 8, 1) if bits else None


def tensor_type(text: str) -> TensorType | None:
    """Parse the type of a node; None for a symbol and for anything else that is no tensor."""
    match = _TENSOR.match(text)
    if match is None or element_bytes(match[1]) is None:
        return None
    strides = None if match[3] is None else _sizes_in(match[3])
    return TensorType(match[1], _sizes_in(match[2]), strides, match[4] or "")


def _sizes_in(text: str) -> tuple[str, ...]:
    """Split `8, 16` into sizes."""
    return tuple(part for part in arguments(text) if part)


def storage_amount(sizes: Sequence[str], strides: Sequence[str] | None, dtype: str) -> Amount | None:
    """Return the bytes that torch requests for a tensor: `1 + Σ (size - 1) * stride` elements, none if a size is 0."""
    element = element_bytes(dtype)
    dims = [size_of_text(size) for size in sizes]
    if element is None or (strides is not None and len(strides) != len(sizes)):
        return None
    if any(dim is not None and not dim.terms for dim in dims):
        return Amount()
    elements = constant(1)
    for n, dim in enumerate(dims):
        stride = size_of_text(strides[n]) if strides is not None else constant(1)
        if dim is None or stride is None:
            return None
        elements = elements.times(dim) if strides is None else elements.plus(dim.plus(constant(-1)).times(stride))
    return elements.times(constant(element))


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
            self.checked(names.get(match[1]), _sizes_in(match[2]), _sizes_in(match[3]))
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
        sizes, strides = (_sizes_in(part.strip("()")) for part in (*parts, "", "")[:2])
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
