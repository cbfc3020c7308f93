"""Bounds of tensors: sizes in bytes, and the range of index values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from tltui.writers.repro.checking import ALIASES, DTYPES, Refused, dotted, value_of_literals
from tltui.writers.repro.graph_classes import GraphClass, GraphCode
from tltui.writers.repro.script_inputs import Number, Tensor, read_type, symbols_in, value_of

_SAME = (
    "view reshape to long int contiguous clone unsqueeze squeeze expand expand_as transpose permute flatten t detach alias repeat "
    "narrow slice select lift_fresh_copy convert_element_type _to_copy type_as chunk split unbind cat stack where view_as ravel "
    "repeat_interleave movedim swapaxes copy copy_ clamp clamp_max minimum maximum masked_fill flip roll unflatten pad "
    "constant_pad_nd _unsafe_view squeeze_ unsqueeze_ cumsum"
)
SAME = frozenset(_SAME.split())
"""Operations that keep numbers and change shape or type. `cumsum` gives larger numbers, and then small ones."""
BY_DIM = {
    "gather": (1, 2), "index_select": (1, 2), "index_add": (1, 2), "index_add_": (1, 2), "index_copy": (1, 2),
    "index_copy_": (1, 2),
    "index_fill": (1, 2), "index_fill_": (1, 2), "index_reduce": (1, 2), "index_reduce_": (1, 2), "scatter": (1, 2),
    "scatter_": (1, 2), "scatter_add": (1, 2), "scatter_add_": (1, 2), "scatter_reduce": (1, 2), "scatter_reduce_": (1, 2),
    "take_along_dim": (2, 1),
}  # fmt: skip
"""Operation → where it has the dimension, and the index; the tensor comes first."""
BY_LIST = frozenset(("index", "index_put", "index_put_", "_unsafe_index", "_unsafe_index_put"))
CLASSES = frozenset(("cross_entropy", "cross_entropy_loss", "nll_loss", "nll_loss_nd", "nll_loss_forward", "nll_loss2d_forward",
                     "nll_loss2d", "multi_margin_loss"))  # fmt: skip
COUNT = 10
"""Whole numbers that nothing is known of are below it."""


def bounds(graph: GraphClass, values: dict[str, int | float]) -> dict[str, int]:
    """Parameter → what its numbers have to be below, for those that are used as indices."""
    analysis = _Bounds(graph, values)
    for statement in reversed(graph.body):
        analysis.visit(statement)
    return {name: analysis.below[name] for name in graph.parameters if name in analysis.below}


class _Bounds:
    """The bounds of the values, while the statements are gone through from the last one on."""

    def __init__(self, graph: GraphClass, values: dict[str, int | float]) -> None:
        self.types = dict(graph.types)
        for statement in graph.body:  # `l_x_ = L_x_` says no type
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self.types.setdefault(target.id, self.types.get(statement.value.id, ""))
        self.values = values
        self.below: dict[str, int] = {}

    def visit(self, statement: ast.stmt) -> None:
        """Derive bounds from a statement."""
        value = getattr(statement, "value", None)
        target_name = None
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            target_name = target.id if isinstance(target, ast.Name) else None
            if isinstance(target, ast.Subscript):
                self._subscript(target)
        if not isinstance(value, ast.expr):
            return
        for node in ast.walk(value):
            if isinstance(node, ast.Subscript):
                self._subscript(node)
            elif isinstance(node, ast.Call):
                self._call(node)
        if target_name is not None and target_name in self.below:
            self._back(value, self.below[target_name])

    def _back(self, value: ast.expr, below: int) -> None:
        """Propagate a bound of a value to its operands."""
        if isinstance(value, ast.Name):
            self._bound(value, below)
        elif isinstance(value, ast.Subscript):
            self._bound(value.value, below)
        elif isinstance(value, ast.BinOp):
            self._arithmetic(type(value.op).__name__, value.left, value.right, below)
        elif isinstance(value, ast.Call):
            name, args = _operation(value)
            if name in SAME:
                for each in args:
                    for name_ in _names(each):
                        self._bound(name_, below)
            elif name in ("add", "mul", "add_", "mul_", "sub", "sub_") and len(args) > 1:
                self._arithmetic(name.strip("_").title(), args[0], args[1], below)

    def _arithmetic(self, operator: str, left: ast.expr, right: ast.expr, below: int) -> None:
        constants = (each.value for each in (left, right) if isinstance(each, ast.Constant))
        number = next((int(value) for value in constants if isinstance(value, int)), None)
        if operator == "Add":
            below = below // 2 if number is None else below - number
        elif operator in ("Mult", "Mul"):
            below = int(below**0.5) if number is None else below // max(abs(number), 1)
        for each in (left, right):
            self._bound(each, below)

    def _call(self, node: ast.Call) -> None:
        name, args = _operation(node)
        keywords = {each.arg: each.value for each in node.keywords}
        if name in ("embedding", "embedding_bag", "_embedding_bag", "_embedding_bag_forward_only") and len(args) > 1:
            index, table = (args[0], args[1]) if "nn.functional" in dotted(node.func) else (args[1], args[0])
            self._bound(index, self._size(table, 0))
        elif name in BY_DIM:
            at_dim, at_index = BY_DIM[name]
            dim = args[at_dim] if len(args) > at_dim else keywords.get("dim")
            index = args[at_index] if len(args) > at_index else keywords.get("index", keywords.get("indices"))  # type: ignore[assignment]
            if isinstance(index, ast.expr) and args:
                self._bound(index, self._size(args[0], _integer(dim)))
        elif name in BY_LIST and len(args) > 1 and isinstance(args[1], (ast.List, ast.Tuple)):
            self._indices(args[0], list(args[1].elts))
        elif name in CLASSES and args:
            target = args[1] if len(args) > 1 else keywords.get("target")
            if isinstance(target, ast.expr):
                self._bound(target, self._classes(args[0]))
        elif name == "one_hot":
            count = args[1] if len(args) > 1 else keywords.get("num_classes")
            if args and _integer(count) > 0:
                self._bound(args[0], _integer(count))

    def _subscript(self, node: ast.Subscript) -> None:
        """Bound the indices of `x[i]` or `x[(slice(None, None, None), i)]`."""
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        items = [each for each in items if not (isinstance(each, ast.Constant) and each.value is None)]
        for at, each in enumerate(items):
            if ast.unparse(each) in ("Ellipsis", "..."):
                self._indices(node.value, items[:at])
                self._from_the_end(node.value, items[at + 1 :])
                return
        self._indices(node.value, items)

    def _indices(self, tensor: ast.expr, items: list[ast.expr]) -> None:
        for dim, each in enumerate(items):
            if isinstance(each, ast.Name):
                self._bound(each, self._size(tensor, dim))

    def _from_the_end(self, tensor: ast.expr, items: list[ast.expr]) -> None:
        for dim, each in enumerate(items):
            if isinstance(each, ast.Name):
                self._bound(each, self._size(tensor, dim - len(items)))

    def _bound(self, node: ast.expr, below: int) -> None:
        if isinstance(node, ast.Name) and below:
            self.below[node.id] = max(1, min(below, self.below.get(node.id, below)))

    def _sizes(self, node: ast.expr) -> list[int]:
        kind: Tensor | Number | None = None
        if isinstance(node, ast.Name) and self.types.get(node.id):
            try:
                kind = read_type(self.types[node.id])
            except Refused:
                return []
        return [value_of(each, self.values) for each in kind.size] if isinstance(kind, Tensor) else []

    def _size(self, node: ast.expr, dim: int) -> int:
        sizes = self._sizes(node)
        return sizes[dim] if -len(sizes) <= dim < len(sizes) else 0

    def _classes(self, node: ast.expr) -> int:
        sizes = self._sizes(node)
        return sizes[1 if len(sizes) > 1 else 0] if sizes else 0


def _operation(node: ast.Call) -> tuple[str, list[ast.expr]]:
    """Return the name of the called operator, without its overload, and its arguments, `self` of a method first."""
    path = dotted(node.func)
    if path.startswith("torch.ops."):
        return (path.split(".")[3:4] or [""])[0], node.args
    if path.startswith("torch."):
        return path.rpartition(".")[2], node.args
    if isinstance(node.func, ast.Attribute):
        return node.func.attr, [node.func.value, *node.args]
    return "", node.args


def _names(node: ast.expr) -> Iterator[ast.Name]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each


def _integer(node: ast.expr | None) -> int:
    """Return the value of an integer literal, else 0."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_integer(node.operand)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 0


MAX_BYTES = 4 << 30
"""Default maximum bytes of the tensors of a script."""
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
    held = [*code.root.parameters.values(), *(kind for graph in code.classes for kind in graph.constants.values())]
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
    scope = {**symbols, **values}
    sizes = [value_of(size, scope) for size in tensor.size]
    count = prod(sizes)
    if tensor.stride is not None and count:
        count = 1 + sum((size - 1) * value_of(step, scope) for size, step in zip(sizes, tensor.stride, strict=True))
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
        sizes = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("size", "sizes", "repeats", "shape"))]
        dtype = next((dotted(each.value).removeprefix("torch.") for each in call.keywords if each.arg == "dtype"), "float32")
        yield _count(name, sizes) * item_bytes(dtype)


def _count(name: str, arguments: list[ast.expr]) -> int:
    """Count the elements as far as literals show it; what is no literal counts once."""
    shape = next((each for each in arguments if isinstance(each, (ast.List, ast.Tuple))), None)
    if shape is not None:
        return prod(_integers(shape.elts))
    numbers = list(_integers(arguments))
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
        raise Refused(f"the graph's tensors take {count} bytes, more than the limit of {limit}. Raise it with --max-bytes")
