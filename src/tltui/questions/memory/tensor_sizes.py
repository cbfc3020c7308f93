"""Sizes of tensors in bytes, as polynomials of the symbols in their shapes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from tltui.questions.provenance.dataflow.value_graph import arguments
from tltui.text.frozen import frozen

MAX_TEXT = 400
"""Characters of a size that is read."""
MAX_TERMS = 64
MAX_BITS = 80
"""Bits of a number that is computed."""
Atoms = tuple[str, ...]
"""The factors of a term besides its coefficient, in order: symbols, and other expressions as text."""
_TENSOR = re.compile(r"^([a-z]\w*)\[([^\]]*)\](?:\[([^\]]*)\])?([a-z]\w*(?::\d{1,4})?)?")
_BITS = re.compile(r"\d{1,3}")


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


def tensor_type(text: str) -> TensorType | None:
    """Parse the type of a node; None for a symbol and for anything else that is no tensor."""
    match = _TENSOR.match(text)
    if match is None or element_bytes(match[1]) is None:
        return None
    strides = None if match[3] is None else sizes_in(match[3])
    return TensorType(match[1], sizes_in(match[2]), strides, match[4] or "")


def sizes_in(text: str) -> tuple[str, ...]:
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
