"""Numbers that a graph spells out: none needs more than 64 bits, and none grows beyond that by arithmetic.

Python computes with whole numbers of any length: `2 ** 99999999999` would never end, and `[1] * 10**12` would take all memory.
"""

from __future__ import annotations

import ast

from tltui.analyses.repro.allowed import Refused

BITS = 64
SMALL_POWER = 4
"""Powers up to this one are written as they are; larger ones are computed by a function of the script that bounds them."""
Value = int | float | complex
_SEQUENCES = (ast.List, ast.Tuple, ast.Dict)


def check_constant(value: object) -> None:
    """Refuse a whole number of more than 64 bits."""
    if isinstance(value, int) and value.bit_length() > BITS:
        raise Refused(f"it has a number of more than {BITS} bits")


def check_arithmetic(node: ast.BinOp) -> None:
    """Refuse an expression that repeats a sequence, or that makes a number of more than 64 bits from literals."""
    if isinstance(node.op, ast.Mult) and any(_is_sequence(side) for side in (node.left, node.right)):
        raise Refused("it repeats a list or a text")
    value_of_literals(node)


def needs_bound(node: ast.BinOp) -> bool:
    """Whether the script has to bound a power or a shift when it runs."""
    if not isinstance(node.op, (ast.Pow, ast.LShift)) or value_of_literals(node) is not None:
        return False
    exponent = value_of_literals(node.right)
    return not isinstance(exponent, float) and not (isinstance(exponent, int) and 0 <= exponent <= SMALL_POWER)


def value_of_literals(node: ast.expr) -> Value | None:
    """Compute a sum, a product, a power or a shift of literals; None for any other expression. Raises `Refused`."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float, complex)) else None
    if isinstance(node, ast.UnaryOp):
        value = value_of_literals(node.operand)
        return None if value is None or not isinstance(node.op, ast.USub) else -value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = value_of_literals(node.left), value_of_literals(node.right)
    if left is None or right is None:
        return None
    try:
        value = _computed(node.op, left, right)
    except (ArithmeticError, TypeError, ValueError):
        return None
    check_constant(value)
    return value


def _computed(operator: ast.operator, left: Value, right: Value) -> Value | None:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(left, int) and isinstance(right, int) and isinstance(operator, (ast.Pow, ast.LShift)):
        is_power = isinstance(operator, ast.Pow)
        if right > BITS and abs(left) > is_power:
            raise Refused(f"it has a number of more than {BITS} bits")
        result: Value = left**right if is_power else left << right
        return result
    return None


def _is_sequence(node: ast.expr) -> bool:
    return isinstance(node, _SEQUENCES) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
