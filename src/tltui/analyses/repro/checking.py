"""Check the text of a graph: a script has its statements that compute, in a few forms, and nothing else.

The text is parsed by Python (`ast`: nothing is run), and the script is written from the parsed form. So strings, comments and names
of the trace cannot end where they should not, and a statement that no graph has is refused, not carried along.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator

from tltui.analyses.repro import checked_forms
from tltui.analyses.repro.allowed import (
    ATTRIBUTES,
    BUILTIN,
    CONSTANTS,
    KEYWORDS,
    MATH,
    OPERATOR,
    RANDOM,
    Refused,
    is_in_place,
    is_method,
    refusal,
)
from tltui.analyses.repro.literals import check_arithmetic, check_constant, needs_bound

DEEPEST = 60
"""How deep an expression may be: those of graphs are calls of names. Python 3.10 dies of deep ones."""
LONGEST = 16 << 20
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,300}", re.ASCII)
_DEVICE = re.compile(r"(?:cpu|cuda|xpu|mps|hpu|mtia|npu|privateuseone|meta)(?::\d{1,3})?")
_CLASS = re.compile(r"^( *)class ([^\n(]{1,300})\(torch\.nn\.Module\):", re.MULTILINE)
_KEYWORDS = frozenset(("not", "if", "else", "lambda", "and", "or", "in", "is", "for", "await", "yield", "from"))
_TAKEN = "torch self inf nan pow Ellipsis operator _operator math device fx_pytree pytree getattr super print exit argparse sys"
TAKEN = frozenset((*BUILTIN, *checked_forms.NAMES, *_TAKEN.split()))
"""Names that mean something in the script."""


def parsed(text: str) -> ast.Module:
    """A text of graphs as Python reads it. Raises `Refused`."""
    if len(text) > LONGEST:
        raise Refused(f"its text is longer than {LONGEST >> 20} MB")
    text = _CLASS.sub(lambda found: f"{found[1]}class {class_name(found[2])}(torch.nn.Module):", text)
    try:
        _measure(text)
        return ast.parse(text)
    except (SyntaxError, tokenize.TokenError) as error:
        line = getattr(error, "lineno", None)
        raise Refused(f"line {line} of it is no Python" if line else "it is no Python") from None
    except (ValueError, MemoryError, RecursionError):
        raise Refused("it is no Python") from None


def class_name(name: str) -> str:
    """A name for a class: torch writes `<lambda>` too."""
    return re.sub(r"\W", "_", name.strip(), flags=re.ASCII)[:300] if name.strip() != "<lambda>" else "GraphModule"


def _measure(text: str) -> None:
    """Raise `Refused` where an expression is deeper than any of a graph's."""
    depths = [0]
    total = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        word = token.string
        if token.type == tokenize.OP:
            if word in ",;=:" or word == "->":
                total -= depths[-1]
                depths[-1] = 0
            elif word in ")]}":
                total -= depths.pop() if len(depths) > 1 else 0
            else:
                depths[-1] += 1
                total += 1
                if word in "([{":
                    depths.append(0)
        elif token.type == tokenize.NEWLINE:
            depths, total = [0], 0
        elif token.type == tokenize.NAME and word in _KEYWORDS:
            depths[-1] += 1
            total += 1
        elif token.type == tokenize.STRING and "f" in word[:3].lower().partition("'")[0].partition('"')[0]:
            raise Refused(f"line {token.start[0]} of it has a string that computes")
        if total > DEEPEST:
            raise Refused(f"line {token.start[0]} of it is no statement of a graph")


def dotted(node: ast.expr) -> str:
    """`torch.ops.aten.mm.default` for the attributes of a name, '' for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


class Checker:
    """Takes the statements of one function of a graph, and gives them as they may stand in a script."""

    def __init__(self, modules: Collection[str]) -> None:
        self.modules = modules
        """The attributes of `self` that are graphs of this text."""
        self.names: set[str] = set()
        self.used: set[str] = set()
        """The attributes of `self` that were read."""
        self.devices: set[str] = set()
        self.is_random = False

    def declare(self, name: str) -> None:
        """A parameter, or the target of an assignment."""
        if not NAME.fullmatch(name) or name in TAKEN or name.startswith("__") or name.startswith("DEVICE_"):
            raise Refused(f"it gives the name {name[:60]!a} to a value")
        self.names.add(name)

    def expression(self, node: ast.expr) -> ast.expr:
        """The expression as it may stand in a script. Raises `Refused`."""
        if isinstance(node, ast.Constant):
            if node.value is not None and not isinstance(node.value, (bool, int, float, complex, str, type(Ellipsis))):
                raise self._refused(node)
            check_constant(node.value)
            return node
        if isinstance(node, ast.Name):
            if node.id not in self.names and node.id not in ("inf", "nan", "Ellipsis"):
                raise Refused(f"it reads {node.id[:60]!a}, which is no value of it")
            return node
        if isinstance(node, (ast.Tuple, ast.List)):
            node.elts = [self.expression(each) for each in node.elts]
            return node
        if isinstance(node, ast.Dict):
            node.keys = [self._key(key) for key in node.keys]
            node.values = [self.expression(each) for each in node.values]
            return node
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        return self._operation(node)

    def _key(self, key: ast.expr | None) -> ast.expr:
        if not isinstance(key, ast.Constant):
            raise Refused("it has a dictionary with a key that is computed")
        return self.expression(key)

    def _operation(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Subscript):
            node.value, node.slice = self.expression(node.value), self.expression(node.slice)
        elif isinstance(node, ast.Slice):
            for side in ("lower", "upper", "step"):
                if (part := getattr(node, side)) is not None:
                    setattr(node, side, self.expression(part))
        elif isinstance(node, ast.UnaryOp):
            node.operand = self.expression(node.operand)
        elif isinstance(node, ast.BinOp):
            return self._arithmetic(node)
        elif isinstance(node, ast.BoolOp):
            node.values = [self.expression(each) for each in node.values]
        elif isinstance(node, ast.Compare):
            node.left, node.comparators = self.expression(node.left), [self.expression(each) for each in node.comparators]
        else:
            raise self._refused(node)
        return node

    def _arithmetic(self, node: ast.BinOp) -> ast.expr:
        check_arithmetic(node)
        node.left, node.right = self.expression(node.left), self.expression(node.right)
        if not needs_bound(node):
            return node
        name = "bounded_power" if isinstance(node.op, ast.Pow) else "bounded_shift"
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        path = dotted(node)
        head = path.partition(".")[0]
        if head == "self" and head not in self.names:
            return self._own(node, path)
        if head == "torch" and head not in self.names:
            if path.count(".") == 1 and node.attr in CONSTANTS:
                return node
            raise Refused(f"it reads {path[:120]}")  # an operator too: as an argument it would escape its checked form
        if node.attr not in ATTRIBUTES:
            raise Refused(f"it reads .{node.attr[:60]} of a value")
        node.value = self.expression(node.value)
        return node

    def _own(self, node: ast.Attribute, path: str) -> ast.expr:
        """`self.cond_true_0`. Names with dots become one name, as the script's own class has them."""
        name = own_name(path)
        if not NAME.fullmatch(name) or name.startswith("__"):
            raise Refused(f"it reads {path[:120]}")
        self.used.add(name)
        return ast.Attribute(ast.Name("self", ast.Load()), name, node.ctx)

    def _call(self, node: ast.Call) -> ast.expr:
        if device := device_of(node):
            return self.device(device)
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise self._refused(node)
        path = dotted(node.func)
        node.args = [self._argument(node, None, each) for each in node.args]
        for keyword in node.keywords:
            if not NAME.fullmatch(keyword.arg or "") or (keyword.arg or "").startswith("__"):
                raise self._refused(node)
            if keyword.arg in KEYWORDS and not (isinstance(keyword.value, ast.Constant) and keyword.value.value in (None, False)):
                raise Refused(f"it gives {keyword.arg} to {path[:120]}")
            keyword.value = self._argument(node, keyword.arg, keyword.value)
        node.func = self._callee(node)
        self._check_target(node, path)
        return node

    def _check_target(self, node: ast.Call, path: str) -> None:
        """Refuse a call that changes what is no value of the graph."""
        method = isinstance(node.func, ast.Attribute) and path.partition(".")[0] not in ("torch", "operator", "_operator")
        if not is_in_place(node.func.attr if method and isinstance(node.func, ast.Attribute) else path):
            return
        target = node.func.value if isinstance(node.func, ast.Attribute) and method else node.args[0] if node.args else None
        if not isinstance(target, ast.Name) or target.id not in self.names:
            raise Refused("it changes what is no value of it")

    def _argument(self, call: ast.Call, keyword: str | None, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _DEVICE.fullmatch(node.value):
            moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and keyword is None
            if moves or keyword == "device":
                return self.device(node.value)
        return self.expression(node)

    def _callee(self, node: ast.Call) -> ast.expr:
        path = dotted(node.func)
        head, _, rest = path.partition(".")
        own = head not in self.names
        name = path.rpartition(".")[2]
        if any(word in path for word in RANDOM):
            self.is_random = True
        if own and path and (checked := checked_forms.checked_path(path)):
            if checked.startswith("torch.") and (why := refusal(checked)):
                raise Refused(why)
            return checked_forms.expression_of(checked)
        if own and head == "torch" and rest:
            if why := refusal(path):
                raise Refused(why)
            return node.func
        if own and head in ("operator", "_operator", "math") and rest:
            if rest not in (MATH if head == "math" else OPERATOR):
                raise Refused(f"it calls {path[:120]}")
            return ast.Attribute(ast.Name(head.strip("_"), ast.Load()), rest, ast.Load())
        if own and head == "self" and rest:
            if own_name(path) not in self.modules:
                raise Refused(f"it calls the module {path[:120]}, whose code and weights it does not have")
            assert isinstance(node.func, ast.Attribute)
            return self._own(node.func, path)
        if isinstance(node.func, ast.Name):
            if own and head in BUILTIN:
                return node.func
            raise Refused(f"it calls {head[:120]}, which is not in the trace")
        if isinstance(node.func, ast.Attribute) and node.func.attr in checked_forms.METHODS:
            node.args = [self.expression(node.func.value), *node.args]
            return ast.Name(checked_forms.METHODS[node.func.attr], ast.Load())
        if isinstance(node.func, ast.Attribute) and is_method(node.func.attr):
            node.func.value = self.expression(node.func.value)
            return node.func
        raise Refused(f"it calls {(path or name or type(node.func).__name__)[:120]}")

    def device(self, name: str) -> ast.expr:
        """A device of the trace: the script decides what takes its place."""
        self.devices.add(name)
        return ast.Name(device_constant(name), ast.Load())

    def _refused(self, node: ast.AST) -> Refused:
        return Refused(f"line {getattr(node, 'lineno', '?')} of it is no statement of a graph ({type(node).__name__})")


def own_name(path: str) -> str:
    """`self.layers.0` → `layers_0`."""
    return path.removeprefix("self.").replace(".", "_")


def device_of(node: ast.expr) -> str:
    """`cuda:0` for `device(type='cuda', index=0)`, '' for anything else."""
    if not isinstance(node, ast.Call) or dotted(node.func) not in ("device", "torch.device"):
        return ""
    values = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("type", "index"))]
    if len(values) != len(node.args) + len(node.keywords) or not all(isinstance(each, ast.Constant) for each in values):
        raise Refused("it has a device that is computed")
    name = ":".join(str(each.value) for each in values if isinstance(each, ast.Constant) and each.value is not None)
    if not _DEVICE.fullmatch(name):
        raise Refused(f"it is on a device that tltui does not know: {name[:40]!a}")
    return name


def device_constant(name: str) -> str:
    """The name in the script for a device: `DEVICE_CUDA_0`."""
    return "DEVICE_" + name.upper().replace(":", "_")


def is_device(name: str) -> bool:
    """Whether it spells a device."""
    return bool(_DEVICE.fullmatch(name))


def walk_names(nodes: list[ast.stmt]) -> Iterator[str]:
    """Every name that statements read."""
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                yield each.id
