"""Small changes of a module for `mutate.py`, which tests should notice.

Only in bodies of functions: no annotation, default, decorator, assertion, docstring, table or field of a class is touched.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Place:
    """A node of a module and its possible changes. Calling a change makes it in the tree of the place."""

    line: int
    column: int
    function: str
    lines: tuple[int, int]
    """First and last line of the function."""
    before: str
    changes: tuple[tuple[str, Callable[[], None]], ...]


def places(tree: ast.Module) -> list[Place]:
    """Return all places of a module in a stable order."""
    return list(_in_scope(tree.body, ""))


def mutated(source: str, number: int, change: int) -> str:
    """Return the source of a module with one place changed, without comments."""
    tree = ast.parse(source)
    places(tree)[number].changes[change][1]()
    return ast.unparse(ast.fix_missing_locations(tree))


def _in_scope(body: list[ast.stmt], name: str) -> Iterator[Place]:
    """Yield the places in the functions of a module or class."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _in_scope(node.body, f"{name}{node.name}.")
        elif isinstance(node, FUNCTIONS):
            first = min(part.lineno for part in (node, *node.decorator_list))
            around = name + node.name, (first, node.end_lineno or first)
            for statement in node.body:
                yield from _below(statement, around)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from _in_scope(node.body + node.orelse, name)


Around = tuple[str, tuple[int, int]]
"""The name of the function, its first and its last line."""


def _below(node: ast.AST, around: Around) -> Iterator[Place]:
    """Yield the places of a statement or expression and of its parts."""
    if isinstance(node, ast.Assert):
        return
    if changes := tuple(_changes(node)):
        yield _place(node, around, _short(node), changes)
    skipped = {"annotation", "returns", "decorator_list", "args" if isinstance(node, (*FUNCTIONS, ast.Lambda)) else ""}
    for field, value in ast.iter_fields(node):
        if field in skipped:
            continue
        if isinstance(value, ast.expr) and field == "test" and isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield _condition(node, value, around)
        if isinstance(node, ast.comprehension) and field == "ifs":
            yield from (_filter(node, at, around) for at in range(len(node.ifs)))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _below(child, around)


Changes = tuple[tuple[str, Callable[[], None]], ...]


def _place(node: Any, around: Around, before: str, changes: Changes) -> Place:
    return Place(node.lineno, node.col_offset + 1, *around, before, changes)


def _condition(node: ast.If | ast.IfExp | ast.While, test: ast.expr, around: Around) -> Place:
    def become(value: bool) -> Callable[[], None]:
        return lambda: setattr(node, "test", ast.Constant(value))

    truths = (False,) if isinstance(node, ast.While) else (True, False)
    words = {ast.If: "if", ast.IfExp: "… if", ast.While: "while"}[type(node)]
    return _place(test, around, f"{words} {_short(test)}", tuple((str(truth), become(truth)) for truth in truths))


def _filter(node: ast.comprehension, at: int, around: Around) -> Place:
    def become(value: bool) -> Callable[[], None]:
        return lambda: node.ifs.__setitem__(at, ast.Constant(value))

    return _place(node.ifs[at], around, f"for … if {_short(node.ifs[at])}", (("True", become(True)), ("False", become(False))))


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the changes of a node itself."""

    def put(name: str, value: object) -> Callable[[], None]:
        return lambda: setattr(node, name, value)

    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in COMPARED[type(operator)]:
                ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                yield _short(ast.Compare(node.left, ops, node.comparators)), put("ops", ops)
    elif isinstance(node, ast.BoolOp):
        flipped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _short(ast.BoolOp(flipped, node.values)), put("op", flipped)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _short(node.operand), lambda: _drop_not(node)
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in COUNTED:
        op = COUNTED[type(node.op)]()
        is_binary = isinstance(node, ast.BinOp)
        other_node = ast.BinOp(node.left, op, node.right) if is_binary else ast.AugAssign(node.target, op, node.value)
        yield _short(other_node), put("op", op)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield str(node.value + 1), put("value", node.value + 1)
        yield str(node.value - 1), put("value", node.value - 1)
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        for other_value in _other_results(node.value):
            yield f"return {other_value}", put("value", ast.Constant(other_value))
    elif isinstance(node, (ast.Continue, ast.Break)):
        becomes = ast.Break if isinstance(node, ast.Continue) else ast.Continue
        yield becomes.__name__.lower(), lambda: setattr(node, "__class__", becomes)


def _drop_not(node: ast.UnaryOp) -> None:
    """Change `not x` to `not not x`: a node cannot be replaced in place."""
    node.operand = ast.UnaryOp(ast.Not(), node.operand)


def _other_results(value: ast.expr) -> tuple[object, ...]:
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return (not value.value,)
    if isinstance(value, (ast.Compare, ast.BoolOp)) or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)):
        return (True, False)
    return (None,)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:99] + "…"
