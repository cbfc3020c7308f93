"""Operators that read or write without a bounds check → the functions that a script calls in their place.

Inductor's graphs hold such operators rightfully, because it made the indices itself. In the graph of a stranger the same operator
reads and writes where the stranger wants. `script_helpers.txt` has the functions that are not torch's own.
"""

from __future__ import annotations

import ast

OPERATORS = {
    "torch.ops.aten._unsafe_index": "torch.ops.aten.index",
    "torch.ops.aten._unsafe_index_put": "torch.ops.aten.index_put",
    "torch.ops.aten._unsafe_view": "torch.ops.aten.view",
}
"""Operators that do the same with a check; their overloads have the same names."""
FUNCTIONS = {
    "torch.ops.aten._unsafe_masked_index": "checked_masked_index",
    "torch.ops.aten._unsafe_masked_index_put_accumulate": "checked_masked_index_put",
    "torch.ops.aten.as_strided": "checked_as_strided",
    "torch.as_strided": "checked_as_strided",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": "checked_attention",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward": "checked_attention_backward",
    "torch.ops.aten.convolution_backward": "checked_convolution_backward",
    "operator.pow": "bounded_power",
    "operator.ipow": "bounded_power",
    "_operator.pow": "bounded_power",
    "_operator.ipow": "bounded_power",
    "operator.lshift": "bounded_shift",
    "operator.ilshift": "bounded_shift",
    "_operator.lshift": "bounded_shift",
    "_operator.ilshift": "bounded_shift",
    "pow": "bounded_power",
}
"""What a graph calls → the function of the script."""
METHODS = {"as_strided": "checked_as_strided", "__pow__": "bounded_power", "__lshift__": "bounded_shift"}
"""The same for methods of a value, which becomes the first argument."""
NAMES = frozenset((*FUNCTIONS.values(), *METHODS.values()))


def checked_path(path: str) -> str:
    """Return the path of the operator that does the same with a check, '' where there is none."""
    operator = ".".join(path.split(".")[:4]) if path.startswith("torch.ops.") else path
    if operator in OPERATORS:
        return OPERATORS[operator] + path[len(operator) :]
    return FUNCTIONS.get(operator, "")


def expression_of(path: str) -> ast.expr:
    """Make the expression of a dotted path."""
    first, *rest = path.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for name in rest:
        node = ast.Attribute(node, name, ast.Load())
    return node
