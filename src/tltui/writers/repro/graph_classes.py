"""Classes of a script from the text of a graph, or from `fx_graph_runnable`."""

from __future__ import annotations

import ast
from dataclasses import field

from tltui.text.frozen import mutable
from tltui.text.graphs.fx_graph import parse
from tltui.writers.repro.checking import ALIASES, DTYPES, NAME, Checker, Refused, device_of, dotted, own_name, parsed

FLAT = ("fx_pytree.tree_flatten_spec", "pytree.tree_unflatten")
"""Calls that torch prints around the inputs and outputs of a graph that takes lists (the joint graph)."""
ROOT = "Graph"


@mutable
class GraphClass:
    """A graph as a class of the script."""

    name: str
    parameters: dict[str, str]
    """Name → the type as torch printed it (`f32[8, 16][16, 1]cpu`), '' where it printed none."""
    body: list[ast.stmt]
    types: dict[str, str]
    """The same of every value, the parameters among them."""
    children: dict[str, str] = field(default_factory=dict)
    """Attribute → the class of the graph that it holds."""
    constants: dict[str, str] = field(default_factory=dict)
    """Attribute → the type of the tensor that it holds; its values are not in the trace."""


@mutable
class GraphCode:
    """A graph, and the graphs in it: the innermost first, the root last."""

    classes: list[GraphClass]
    devices: set[str]
    is_random: bool
    comments: dict[int, str]
    """Line → the comment with the origin of the statements below it."""

    @property
    def root(self) -> GraphClass:
        """The graph that is called."""
        return self.classes[-1]


def read_graph(text: str) -> GraphCode:
    """Return the classes of a text. Raises `Refused`."""
    tree = parsed(text)
    roots = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if not roots:
        raise Refused("the text contains no graph")
    return read_graph_of(roots[0], text)


def read_graph_of(root: ast.ClassDef, text: str) -> GraphCode:
    """Return the classes that a root class refers to, itself included. Raises `Refused`."""
    return _Reading(text).read(root)


class _Reading:
    """The state of reading one text."""

    def __init__(self, text: str) -> None:
        self.code = GraphCode([], set(), False, _comments(text))

    def read(self, root: ast.ClassDef) -> GraphCode:
        """Return all classes from the outermost on."""
        self._class(root, ROOT, 0)
        return self.code

    def _class(self, node: ast.ClassDef, name: str, depth: int) -> None:
        if depth > 20:
            raise Refused("its graphs are nested too deeply")
        inner = {each.name: each for each in node.body if isinstance(each, ast.ClassDef)}
        forward = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "forward"), None)
        if forward is None:
            raise Refused("the graph has no forward method")
        class_names = {each.name for each in self.code.classes}
        names: dict[str, str] = {}
        for attribute, child in inner.items():
            if not NAME.fullmatch(attribute):
                raise Refused(f"a nested graph has the name {attribute[:60]!a}")
            inside = f"{name}_{attribute}"[:200]
            while inside in class_names or inside in names.values():
                inside += "_"
            names[attribute] = inside
            self._class(child, inside, depth + 1)
        self.code.classes.append(self._graph(forward, name, names))

    def _graph(self, forward: ast.FunctionDef, name: str, children: dict[str, str]) -> GraphClass:
        arguments = forward.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or forward.decorator_list:
            raise Refused("the forward method of the graph takes more than tensors and numbers")
        checker = Checker(children)
        parameters = {each.arg: _type(each.annotation) for each in (*arguments.posonlyargs, *arguments.args)[1:]}
        body = _Body(checker, parameters)
        for statement in forward.body:
            body.add(statement)
        if not body.statements or not isinstance(body.statements[-1], ast.Return):
            raise Refused("the graph text is truncated")
        graph = GraphClass(name, body.parameters, body.statements, body.types, children)
        for attribute in sorted(checker.used - children.keys()):
            graph.constants[attribute] = body.types.get(body.reads.get(attribute, ""), "")
        self.code.devices |= checker.devices
        self.code.is_random |= checker.is_random
        return graph


class _Body:
    """The statements of a `forward`."""

    def __init__(self, checker: Checker, parameters: dict[str, str]) -> None:
        self.checker = checker
        self.parameters = parameters
        self.types: dict[str, str] = {}
        self.reads: dict[str, str] = {}
        """Attribute of `self` → the value that it was read into."""
        self.statements: list[ast.stmt] = []
        self.flattens = False
        for name, kind in parameters.items():
            checker.declare(name)
            self.types[name] = kind

    def add(self, node: ast.stmt) -> None:
        """Add a statement. Raises `Refused`."""
        if isinstance(node, (ast.Delete, ast.Pass)):
            return  # it only frees
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self._declared(node, node.target)
        elif isinstance(node, ast.Assign):
            self._assign(node)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._in_place(node, node.target)
        elif isinstance(node, ast.Return):
            self._return(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            node.value = self.checker.expression(node.value)
            self.statements.append(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise Refused(f"line {node.lineno} of the graph cannot be a statement of an FX graph ({type(node).__name__})")

    def _in_place(self, node: ast.AugAssign, target: ast.Name) -> None:
        operation = ast.BinOp(ast.Name(target.id, ast.Load()), node.op, node.value)
        if isinstance(self.checker.expression(operation), ast.Call):
            raise Refused(f"line {node.lineno} of the graph raises a value to a power in place")
        node.value = operation.right
        self.statements.append(node)

    def _declared(self, node: ast.AnnAssign, target: ast.Name) -> None:
        self.types[target.id] = _type(node.annotation)
        if node.value is None:
            self.flattens = True  # `primals_1: "f32[8]"`: what the lists hold
            self.parameters[target.id] = self.types[target.id]
            self.checker.declare(target.id)
            return
        self._store(node, [target], node.value)

    def _assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Constant) and node.value.value is None and all(isinstance(t, ast.Name) for t in node.targets):
            return  # `x = y = None` only frees
        if isinstance(node.value, ast.Call) and dotted(node.value.func) == FLAT[0]:
            self._flattened(node)
            return
        self._store(node, node.targets, node.value)

    def _flattened(self, node: ast.Assign) -> None:
        """Make parameters of the targets of `primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], …)`."""
        target = node.targets[0]
        names = [each.id for each in getattr(target, "elts", [target]) if isinstance(each, ast.Name)]
        self.parameters = {name: self.parameters.get(name, self.types.get(name, "")) for name in names}
        for name in names:
            self.checker.declare(name)

    def _store(self, node: ast.stmt, targets: list[ast.expr] | list[ast.Name], value: ast.expr) -> None:
        if len(targets) != 1:
            raise Refused(f"line {node.lineno} of the graph is not a graph statement")
        path = dotted(value)
        checked = self.checker.expression(value)
        target = self._target(targets[0])
        if isinstance(target, ast.Name) and path.startswith("self."):
            self.reads[own_name(path)] = target.id
        assignment = ast.Assign([target], checked)
        ast.copy_location(assignment, node)
        self.statements.append(assignment)

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            self.checker.declare(node.id)
        elif isinstance(node, (ast.Tuple, ast.List)) and all(isinstance(each, ast.Name) for each in node.elts):
            for each in node.elts:
                self._target(each)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            node.value, node.slice = self.checker.expression(node.value), self.checker.expression(node.slice)
        else:
            raise Refused(f"line {node.lineno} of the graph is not a graph statement")
        return node

    def _return(self, node: ast.Return) -> None:
        value = node.value
        if isinstance(value, ast.Call) and dotted(value.func) == FLAT[1] and value.args:
            value = value.args[0]
        node.value = None if value is None else self.checker.expression(value)
        self.statements.append(node)


def _type(annotation: ast.expr | None) -> str:
    return annotation.value if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str) else ""


def _comments(text: str) -> dict[int, str]:
    """Line (from 1) → where the statements below it come from."""
    return {
        origin.line + 1: f"{origin.path}:{origin.place} in {origin.function}" + (f": {origin.code}" if origin.code else "")
        for origin in parse(text.split("\n")).origins
    }


SHORT = {long: short for short, long in DTYPES.items()}


def read_runnable(text: str) -> GraphCode:
    """Return the graph of the script, its parameters typed by `load_args`. Raises `Refused`."""
    tree = parsed(text)
    root = next((each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Repro"), None)
    if root is None:
        raise Refused("the text contains no graph")
    loads = next((each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "load_args"), None)
    code = read_graph_of(root, text)
    types = _types(loads) if loads is not None else []
    if len(types) != len(code.root.parameters):
        raise Refused("the graph has no record of its inputs")
    code.root.parameters = dict(zip(code.root.parameters, types, strict=True))
    code.root.types.update(code.root.parameters)
    return code


def _types(loads: ast.FunctionDef) -> list[str]:
    """Return the type of each argument, as graphs print types."""
    devices: dict[str, str] = {}
    types = []
    for statement in loads.body:
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.Call):
            continue
        name = dotted(value.func)
        if name == "reader.storage" and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            device = _keyword(value, "device")
            devices[statement.targets[0].id] = device_of(device) if device is not None else "cpu"
        elif name == "reader.tensor":
            types.append(_tensor(value, devices))
        elif name == "reader.symint":
            types.append(f"Sym({_number(value)})")
        elif name.startswith("reader."):
            raise Refused(f"the graph takes more than tensors and numbers ({name[:60]})")
    return types


def _tensor(call: ast.Call, devices: dict[str, str]) -> str:
    if len(call.args) < 2 or not isinstance(call.args[0], ast.Name):
        raise Refused("the graph has no record of its inputs")
    dtype = _keyword(call, "dtype")
    name = dotted(dtype).removeprefix("torch.") if dtype is not None else "float32"
    short = SHORT.get(ALIASES.get(name, name), "")
    size = _sizes(call.args[1])
    stride = f"[{_sizes(call.args[2])}]" if len(call.args) > 2 else ""
    return f"{short}[{size}]{stride}{devices.get(call.args[0].id, '') or 'cpu'}"


def _number(call: ast.Call) -> str:
    """Return the number or symbol of `reader.symint(5)` or, of newer torch, `reader.symint(None, expr='u1')`."""
    symbol = _keyword(call, "expr")
    if isinstance(symbol, ast.Constant) and isinstance(symbol.value, str):
        return symbol.value
    return ast.unparse(call.args[0]) if call.args else ""


def _sizes(node: ast.expr) -> str:
    return ", ".join(ast.unparse(each) for each in node.elts) if isinstance(node, (ast.Tuple, ast.List)) else ""


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)
