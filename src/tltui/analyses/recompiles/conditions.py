"""The grammar of conditions on sizes and numbers: `2 <= x.size()[0] <= 64`, `(x.size()[0] % 4) == 0`, `y.size()[0] == x.size()[0]`.

Torch prints them as Python. They are parsed, never run: what they speak of (*terms*) is found, and which of their parts fails
for given values. What has another form than torch's is no condition.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 2_000
"""Characters of a condition that is parsed."""
LARGEST = 1 << 128
RANGE, EQUAL, DIFFERENT, DIVISIBLE, NAN, OTHER = "range", "equality", "inequality", "divisibility", "not NaN", "condition"

Number = int | float | bool
_SIZE = re.compile(r"^(?P<tensor>.+)\.(?:size\(\)|shape)\[(?P<dim>\d{1,6})\]$", re.DOTALL)
_OF_TENSOR = re.compile(r"\.(?:size\(\)|stride\(\)|shape)\[\d+\]$|\.storage_offset\(\)$")
_COMPARE: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_SYMPY = {"Eq": ast.Eq, "Ne": ast.NotEq, "Lt": ast.Lt, "Le": ast.LtE, "Gt": ast.Gt, "Ge": ast.GtE}
_ARITHMETIC: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv,
}  # fmt: skip
_CALLS: dict[str, Callable[..., Number]] = {
    "max": max, "Max": max, "min": min, "Min": min, "abs": abs, "Abs": abs,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "PythonMod": operator.mod,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """What a condition speaks of: `x.size()[0]`, `n`."""

    text: str
    source: str
    """The tensor or number."""
    dim: int | None
    """Of a size."""

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number, not a size, stride or offset of a tensor."""
        return not _OF_TENSOR.search(self.text)


@dataclass(frozen=True, slots=True)
class Part:
    """A comparison of a condition: all have to hold."""

    text: str
    kind: str
    """RANGE, EQUAL, DIFFERENT, DIVISIBLE, NAN or OTHER."""
    low: bool = False
    """Of a range: whether it is the lower bound."""
    bound: Number | None = None
    """Of a range: the number. Of a divisibility: the divisor."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A guard on sizes and numbers."""

    text: str
    terms: tuple[Term, ...]
    parts: tuple[Part, ...]

    @property
    def kind(self) -> str:
        """That of its parts."""
        kinds = {part.kind for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else OTHER

    def failing(self, values: Mapping[str, str]) -> tuple[Part, ...]:
        """The parts that do not hold for the values of its terms (by their texts); none where that can't be known."""
        known: dict[str, Number] = {}
        for term in self.terms:
            value = _number(values.get(term.text, ""))
            if value is not None:
                known[term.text] = value
        found = _read(self.text) if known else None
        if found is None:
            return ()
        return tuple(part for part, node in found[1] if _holds(node, known, self.text) is False)


def condition_of(text: str) -> Condition | None:
    """A condition on sizes or numbers; None for any other text."""
    found = _read(text.strip())
    return found[0] if found is not None else None


class _NoConditionError(Exception):
    """The text has another form."""


@lru_cache(maxsize=2048)
def _read(text: str) -> tuple[Condition, tuple[tuple[Part, ast.expr], ...]] | None:
    if not text or len(text) > LONGEST or "\\" in text or "\n" in text:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
        parts = tuple(_parts(tree, text))
        terms: dict[str, Term] = {}
        for _, node in parts:
            _terms(node, text, terms)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _NoConditionError):
        return None
    if not parts or not terms:
        return None
    return Condition(text, tuple(terms.values()), tuple(part for part, _ in parts)), parts


def _parts(node: ast.expr, text: str) -> list[tuple[Part, ast.expr]]:
    """The comparisons that have to hold, one by one: `2 <= n <= 9` has two."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _parts(value, text)]
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        found: list[tuple[Part, ast.expr]] = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in _COMPARE:
                raise _NoConditionError
            one = ast.copy_location(ast.Compare(left, [op], [right]), left)
            said = _segment(text, left, right)
            if said.count("(") != said.count(")"):  # parentheses around a side are no part of it
                said = ast.unparse(one)
            found.append((_part(left, op, right, said), one))
        return found
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SYMPY and len(node.args) == 2:
        left, right = node.args
        op = _SYMPY[node.func.id]()
        return [(_part(left, op, right, _segment(text, node, node)), ast.copy_location(ast.Compare(left, [op], [right]), node))]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _is_nan(node.operand):
        return [(Part(_segment(text, node, node), NAN), node)]
    either = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Or", "And")
    if either or isinstance(node, ast.BoolOp):
        return [(Part(_segment(text, node, node), OTHER), node)]
    raise _NoConditionError


def _part(left: ast.expr, op: ast.cmpop, right: ast.expr, text: str) -> Part:
    one, other = _constant(left), _constant(right)
    number = one if one is not None else other
    if isinstance(op, ast.Eq):
        divisor = _divisor(left if other == 0 else right) if number == 0 else None
        return Part(text, DIVISIBLE, bound=divisor[0]) if divisor is not None else Part(text, EQUAL, bound=number)
    if isinstance(op, ast.NotEq):
        return Part(text, DIFFERENT, bound=number)
    if number is None:
        return Part(text, OTHER)
    low = isinstance(op, (ast.Lt, ast.LtE)) == (one is not None)
    return Part(text, RANGE, low, number)


def _divisor(node: ast.expr) -> tuple[Number | None] | None:
    """Of `a % b`, `Mod(a, b)`: b, if it is a number; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return (_constant(node.right),)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Mod", "PythonMod"):
        return (_constant(node.args[1]),) if len(node.args) == 2 else None
    return None


def _constant(node: ast.expr) -> Number | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def _is_nan(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "isnan" and len(node.args) == 1


def _terms(node: ast.expr, text: str, found: dict[str, Term]) -> None:
    """What an expression speaks of, in its order."""
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, (int, float)):
            raise _NoConditionError
    elif isinstance(node, (ast.BoolOp, ast.Compare, ast.BinOp, ast.UnaryOp)):
        if isinstance(node, ast.Compare) and any(type(op) not in _COMPARE for op in node.ops):
            raise _NoConditionError
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                _terms(child, text, found)
    elif isinstance(node, ast.Call) and (_is_nan(node) or _known_call(node)):
        for argument in node.args:
            _terms(argument, text, found)
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        said = _segment(text, node, node)
        size = _SIZE.match(said)
        whole = _OF_TENSOR.sub("", said)
        found.setdefault(said, Term(said, size["tensor"] if size else whole, int(size["dim"]) if size else None))
    else:
        raise _NoConditionError


_NAMES = frozenset((*_CALLS, *_SYMPY, "floor", "ceil", "trunc", "sqrt", "CeilDiv", "Or", "And", "Not"))


def _known_call(node: ast.Call) -> bool:
    """Whether it is arithmetic, and not the name of something: `max(…)`, `math.floor(…)`."""
    called = node.func
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id == "math" and called.attr in _NAMES
    return isinstance(called, ast.Name) and called.id in _NAMES


def _segment(text: str, start: ast.expr, end: ast.expr) -> str:
    """The words of a part: columns are counted in bytes."""
    if text.isascii():
        return text[start.col_offset : end.end_col_offset]
    return text.encode()[start.col_offset : end.end_col_offset].decode("utf-8", "replace")


def _number(text: str) -> Number | None:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text[:64])
        except ValueError:
            continue
    return None


def _holds(node: ast.expr, known: Mapping[str, Number], text: str) -> bool | None:
    try:
        value = _value(node, known, text)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None if value is None else bool(value)


def _value(node: ast.expr, known: Mapping[str, Number], text: str) -> Number | None:
    """The value of an expression; None where a term has none, or where its form is not known."""
    if (number := _constant(node)) is not None:
        return number
    if isinstance(node, ast.Compare):
        sides = [_value(side, known, text) for side in (node.left, *node.comparators)]
        found = [
            _COMPARE[type(op)](one, other)
            for one, op, other in zip(sides, node.ops, sides[1:], strict=False)
            if one is not None and other is not None
        ]
        return False if not all(found) else True if len(found) == len(node.ops) else None
    if isinstance(node, ast.BoolOp):
        return _either(node, [_value(value, known, text) for value in node.values])
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        one, other = _value(node.left, known, text), _value(node.right, known, text)
        if one is None or other is None or max(abs(one), abs(other)) > LARGEST:
            return None
        return _ARITHMETIC[type(node.op)](one, other)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, known, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        values = [_value(argument, known, text) for argument in node.args]
        whole = [value for value in values if value is not None]
        return _CALLS[node.func.id](*whole) if len(whole) == len(values) else None
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return known.get(_segment(text, node, node))
    return None


def _either(node: ast.BoolOp, values: list[Number | None]) -> bool | None:
    """`and` and `or` over values of which some are not known."""
    deciding = isinstance(node.op, ast.Or)
    if any(value is not None and bool(value) is deciding for value in values):
        return deciding
    return None if None in values else not deciding


def _unary(node: ast.UnaryOp, known: Mapping[str, Number], text: str) -> Number | None:
    if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Call) and _is_nan(node.operand):
        value = _value(node.operand.args[0], known, text)
        return None if value is None else value == value
    value = _value(node.operand, known, text)
    if value is None:
        return None
    return not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else value
