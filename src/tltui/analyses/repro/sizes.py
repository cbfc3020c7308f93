"""How many bytes the tensors of a graph take, as far as its text shows it.

The rest shows when the script runs: it counts the bytes of its inputs, and its process has a limit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from tltui.analyses.repro.allowed import ALIASES, DTYPES, Refused
from tltui.analyses.repro.checking import dotted
from tltui.analyses.repro.inputs import Tensor, read_type, symbols_in, value_of
from tltui.analyses.repro.literals import value_of_literals
from tltui.analyses.repro.reading import GraphCode

MAX_BYTES = 4 << 30
"""What a script may take if nobody allows more."""
_MADE = (
    "zeros ones empty full rand randn randint new_zeros new_ones new_empty new_full empty_strided new_empty_strided "
    "empty_permuted eye repeat tile tril_indices triu_indices"
)
MADE = frozenset(_MADE.split())
"""Functions that make a tensor of a size that their arguments give: a list, or one number for each dimension."""
RANGES = frozenset(("arange", "linspace", "logspace", "iota"))
"""Functions whose largest argument is the size, or larger."""


def check_bytes(code: GraphCode, values: dict[str, int | float], limit: int) -> None:
    """Refuse a graph whose inputs and constants, or whose largest other value, take more than `limit` bytes."""
    held = [*code.whole.parameters.values(), *(kind for graph in code.classes for kind in graph.constants.values())]
    total = sum(bytes_of(kind, values) for kind in held)
    _compare(total, limit)
    for graph in code.classes:
        for kind in graph.types.values():
            _compare(bytes_of(kind, values), limit)
        total += sum(_made_bytes(graph.body))
    _compare(total, limit)


def bytes_of(kind: str, values: dict[str, int | float], fallback: int = 8) -> int:
    """Compute the bytes of a tensor from its type as torch prints it; 0 for what is no tensor."""
    try:
        tensor = read_type(kind) if kind else None
    except Refused:
        return 0
    if not isinstance(tensor, Tensor):
        return 0
    symbols = dict.fromkeys((name for size in (*tensor.size, *(tensor.stride or ())) for name in symbols_in(size)), fallback)
    known = {**symbols, **values}
    sizes = [value_of(size, known) for size in tensor.size]
    count = prod(sizes)
    if tensor.stride is not None and count:
        count = 1 + sum((size - 1) * value_of(step, known) for size, step in zip(sizes, tensor.stride, strict=True))
    return count * item_bytes(tensor.dtype)


def item_bytes(dtype: str) -> int:
    """Compute the bytes of one element: 4 for `float32`."""
    name = ALIASES.get(dtype, dtype)
    digits = "".join(sign if sign.isdigit() else " " for sign in name).split()
    return 1 if name == "bool" else int(digits[0]) // 8 if name in DTYPES.values() else 8


def _made_bytes(body: list[ast.stmt]) -> Iterator[int]:
    """Compute the bytes of each tensor that a function makes in a size of literals."""
    calls = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call))
    for call in calls:
        path = dotted(call.func)
        name = path.split(".")[3] if path.startswith("torch.ops.") and path.count(".") > 2 else path.rpartition(".")[2]
        name = name or getattr(call.func, "attr", "")
        if name not in MADE and name not in RANGES:
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("size", "sizes", "repeats", "shape"))]
        dtype = next((dotted(each.value).removeprefix("torch.") for each in call.keywords if each.arg == "dtype"), "float32")
        yield _count(name, given) * item_bytes(dtype)


def _count(name: str, given: list[ast.expr]) -> int:
    """Count the elements as far as literals show it; what is no literal counts once."""
    shape = next((each for each in given if isinstance(each, (ast.List, ast.Tuple))), None)
    if shape is not None:
        return prod(_integers(shape.elts))
    numbers = list(_integers(given))
    if not numbers:
        return 0
    return max(numbers) if name in RANGES else prod(numbers)


def _integers(nodes: list[ast.expr]) -> Iterator[int]:
    for node in nodes:
        value = value_of_literals(node)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            yield value


def _compare(count: int, limit: int) -> None:
    if count > limit:
        raise Refused(f"its tensors take {count} bytes, more than the limit of {limit}; --max-bytes allows more")
