"""Checks of a graph's text: allowed functions and statements, bounded literals, operators without bounds checks."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection

from tltui.writers.repro.allowed_names import ATEN, FUNCTIONS, METHODS, OVERLOADS, PRIMS

_MODULES = (
    "torch torch.functional torch.nn.functional torch.fft torch.linalg torch.special torch.Tensor torch._tensor.Tensor "
    "torch._C._nn torch._C._fft torch._C._linalg torch._C._special torch._VF torch._C.TensorBase "
    "torch._C._VariableFunctions torch._C._TensorBase"
)
MODULES = frozenset(_MODULES.split())
"""Modules and classes of torch whose functions have the names of the list."""

_OTHERS = (
    "torch._C._set_grad_enabled torch.set_grad_enabled torch.is_grad_enabled torch.amp.autocast_mode._enter_autocast "
    "torch.amp.autocast_mode._exit_autocast torch.amp._enter_autocast torch.amp._exit_autocast "
    "torch._prims.convert_element_type torch.Size torch.is_tensor torch._assert torch.autograd.function.FunctionCtx "
    "torch._C._log_api_usage_once"
)
OTHERS = frozenset(_OTHERS.split())
"""Paths outside of these modules that Dynamo writes into graphs."""

_REGIONS = (
    "cond while_loop scan associative_scan map map_impl wrap wrap_activation_checkpoint tag_activation_checkpoint checkpoint "
    "autograd_function_apply wrap_with_set_grad_enabled wrap_with_autocast invoke_subgraph"
)
REGIONS = frozenset(_REGIONS.split())
"""`torch.ops.higher_order`: what takes parts of the graph as an argument."""

_OPERATOR = (
    "abs add and_ concat contains eq floordiv ge getitem gt iadd iand ifloordiv imatmul imod imul index inv invert ior "
    "irshift is_ is_not isub itruediv ixor le lt matmul mod mul ne neg not_ or_ pos rshift setitem sub truediv truth xor"
)
OPERATOR = frozenset(_OPERATOR.split())
_MATH = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs floor fmod gamma hypot isfinite "
    "isinf isnan isqrt lgamma log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc"
)
MATH = frozenset(_MATH.split())
_BUILTIN = "abs bool float int len max min round slice sum tuple list"
BUILTIN = frozenset(_BUILTIN.split())
"""`getattr` is none of them: see `checking.py`."""

_ATTRIBUTES = (
    "shape dtype device layout grad T mT H mH real imag ndim requires_grad itemsize nbytes is_cuda is_sparse is_nested "
    "is_quantized is_leaf names values indices"
)
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""Of a value; the last two of what `max`, `sort` and `topk` return. `data` is none of them: a change of `x.data` escapes the check
that autograd makes of the tensors that it saved."""

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz", "c32": "complex32", "c64": "complex64", "c128": "complex128",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "b8": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64",
}  # fmt: skip
"""As torch abbreviates them in graphs (`torch/utils/_dtype_abbrs.py`)."""
ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16"}
CONSTANTS = frozenset(
    (*DTYPES.values(), *ALIASES, "strided", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "inf",
     "nan", "pi", "e")
)  # fmt: skip
"""`torch.X` that is a value. Layouts other than `strided` are none: nobody checks the indices of a sparse tensor."""
KEYWORDS = frozenset(("out", "generator", "check_invariants", "unsafe", "sparse", "pin_memory"))
"""Keywords that no graph may give, except as None or False: `out=` resizes a tensor that others share."""

_METHOD_DUNDERS = (
    "__getitem__ __setitem__ __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __matmul__ __and__ __or__ __xor__ "
    "__rshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rmod__ __rfloordiv__ __iadd__ __isub__ __imul__ "
    "__itruediv__ __iand__ __ior__ __ixor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __bool__ "
    "__int__ __float__ __len__ __contains__ __index__"
)
METHOD_DUNDERS = frozenset(_METHOD_DUNDERS.split())
_IN_PLACE_FUNCTIONS = (
    "iadd iand ifloordiv imatmul imod imul ior irshift isub itruediv ixor setitem __setitem__ __iadd__ __isub__ __imul__ "
    "__itruediv__ __iand__ __ior__ __ixor__"
)
IN_PLACE_FUNCTIONS = frozenset(_IN_PLACE_FUNCTIONS.split())
"""Functions that change their first argument and whose name does not end with `_`."""
RANDOM = (
    "rand", "bernoulli", "multinomial", "normal", "dropout", "uniform_", "exponential_", "cauchy_", "geometric_", "poisson",
    "rrelu", "scaled_dot_product",
)  # fmt: skip
"""Parts of the names of operations that may draw random numbers."""

NOT_ALLOWED = ", which tltui does not allow in a script"


class Refused(Exception):
    """Why there is no script of a graph: a clause for people."""


def refusal(path: str) -> str:
    """Explain why a dotted path that begins with `torch.` may not be called; '' when it may."""
    if path in OTHERS:
        return ""
    module, _, name = path.rpartition(".")
    if path.startswith("torch.ops."):
        return _operator(path.split(".")[2:])
    if module in MODULES and (is_method(name) if "Tensor" in module else name in FUNCTIONS):
        return ""
    if ".distributed" in path or "c10d" in path:
        return f"{path} needs the other ranks of the job"
    return f"{path} is not a torch function that tltui allows in a script"


def is_method(name: str) -> bool:
    """Return whether a graph may call this method of a tensor."""
    return name in METHODS or name in METHOD_DUNDERS


def is_in_place(path: str) -> bool:
    """Return whether a call of this path changes its first argument."""
    parts = path.split(".")
    name = parts[3] if path.startswith("torch.ops.") and len(parts) > 3 else parts[-1]
    is_python = name in OPERATOR or name.endswith("__")
    return name in IN_PLACE_FUNCTIONS or (name.endswith("_") and not is_python)


def _operator(parts: list[str]) -> str:
    """Explain why an operator, a path without `torch.ops.`, may not be called; '' when it may."""
    space, name = parts[0], parts[1] if len(parts) > 1 else ""
    if len(parts) > 3 or not name:
        return f"torch.ops.{'.'.join(parts)} is not an operator"
    if space == "higher_order":
        if name.startswith("triton_kernel_wrapper"):
            return f"the graph runs a custom Triton kernel ({name}), and graphs do not contain its code"
        return "" if name in REGIONS and len(parts) == 2 else f"torch.ops.higher_order.{name} needs more than the graph contains"
    if "c10d" in space or space in ("symm_mem", "_dtensor", "fsdp"):
        return f"torch.ops.{space}.{name} needs the other ranks of the job"
    if space in ("aten", "prims"):
        if len(parts) > 2 and parts[2] not in OVERLOADS:
            return f"torch.ops.{space}.{name}.{parts[2]} is an overload that tltui does not allow in a script"
        allowed = ATEN if space == "aten" else PRIMS
        return "" if name in allowed else f"torch.ops.{space}.{name} is not an operator that tltui allows in a script"
    if space == "inductor":
        return f"torch.ops.inductor.{name} is not an operator that tltui allows in a script"
    return f"torch.ops.{space}.{name} is a custom operator, and its code is not in the trace"


BITS = 64
SMALL_POWER = 4
"""Powers up to this one are written as they are; larger ones are computed by a function of the script that bounds them."""
Value = int | float | complex
_SEQUENCES = (ast.List, ast.Tuple, ast.Dict)


def check_constant(value: object) -> None:
    """Refuse a whole number of more than 64 bits."""
    if isinstance(value, int) and value.bit_length() > BITS:
        raise Refused(f"the graph has a number with more than {BITS} bits")


def check_arithmetic(node: ast.BinOp) -> None:
    """Refuse an expression that repeats a sequence, or that makes a number of more than 64 bits from literals."""
    if isinstance(node.op, ast.Mult) and any(_is_sequence(side) for side in (node.left, node.right)):
        raise Refused("the graph repeats a list or a string")
    value_of_literals(node)


def needs_bound(node: ast.BinOp) -> bool:
    """Return whether the script has to bound a power or a shift when it runs."""
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
            raise Refused(f"the graph has a number with more than {BITS} bits")
        result: Value = left**right if is_power else left << right
        return result
    return None


def _is_sequence(node: ast.expr) -> bool:
    return isinstance(node, _SEQUENCES) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


OPERATORS = {
    "torch.ops.aten._unsafe_index": "torch.ops.aten.index",
    "torch.ops.aten._unsafe_index_put": "torch.ops.aten.index_put",
    "torch.ops.aten._unsafe_view": "torch.ops.aten.view",
}
"""Operators that do the same with a check; their overloads have the same names."""
CHECKED_FUNCTIONS = {
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
"""Call in a graph → the function of the script."""
CHECKED_METHODS = {"as_strided": "checked_as_strided", "__pow__": "bounded_power", "__lshift__": "bounded_shift"}
"""The same for methods of a value, which becomes the first argument."""
NAMES = frozenset((*CHECKED_FUNCTIONS.values(), *CHECKED_METHODS.values()))


def checked_path(path: str) -> str:
    """Return the path of the operator that does the same with a check, '' where there is none."""
    operator = ".".join(path.split(".")[:4]) if path.startswith("torch.ops.") else path
    if operator in OPERATORS:
        return OPERATORS[operator] + path[len(operator) :]
    return CHECKED_FUNCTIONS.get(operator, "")


def expression_of(path: str) -> ast.expr:
    """Make the expression of a dotted path."""
    first, *parts = path.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for name in parts:
        node = ast.Attribute(node, name, ast.Load())
    return node


DEEPEST = 60
"""Maximum depth of an expression: those of graphs are calls of names. Python 3.10 crashes on deep ones."""
LONGEST = 16 << 20
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,300}", re.ASCII)
_DEVICE = re.compile(r"(?:cpu|cuda|xpu|mps|hpu|mtia|npu|privateuseone|meta)(?::\d{1,3})?")
_CLASS = re.compile(r"^( *)class ([^\n(]{1,300})\(torch\.nn\.Module\):", re.MULTILINE)
_KEYWORDS = frozenset(("not", "if", "else", "lambda", "and", "or", "in", "is", "for", "await", "yield", "from"))
_RESERVED = "torch self inf nan pow Ellipsis operator _operator math device fx_pytree pytree getattr super print exit argparse sys"
RESERVED = frozenset((*BUILTIN, *NAMES, *_RESERVED.split()))
"""Names that mean something in the script."""


def parsed(text: str) -> ast.Module:
    """Parse the text of a graph. Raises `Refused`."""
    if len(text) > LONGEST:
        raise Refused(f"its text is longer than {LONGEST >> 20} MB")
    text = _CLASS.sub(lambda match: f"{match[1]}class {class_name(match[2])}(torch.nn.Module):", text)
    try:
        _measure(text)
        return ast.parse(text)
    except (SyntaxError, tokenize.TokenError) as error:
        line = getattr(error, "lineno", None)
        raise Refused(f"line {line} of the graph is not valid Python" if line else "the graph is not valid Python") from None
    except (ValueError, MemoryError, RecursionError):
        raise Refused("the graph is not valid Python") from None


def class_name(name: str) -> str:
    """Return a valid class name: torch writes `<lambda>` too."""
    return re.sub(r"\W", "_", name.strip(), flags=re.ASCII)[:300] if name.strip() != "<lambda>" else "GraphModule"


def _measure(text: str) -> None:
    """Raise `Refused` for an expression that is nested deeper than any of a graph."""
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
            raise Refused(f"line {token.start[0]} of the graph has an f-string")
        if total > DEEPEST:
            raise Refused(f"line {token.start[0]} of the graph is not a graph statement")


def dotted(node: ast.expr) -> str:
    """Return `torch.ops.aten.mm.default` for the attributes of a name, '' for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


class Checker:
    """Validator of the statements of one graph function, which returns them in the form of the script."""

    def __init__(self, modules: Collection[str]) -> None:
        self.modules = modules
        """The attributes of `self` that are graphs of this text."""
        self.names: set[str] = set()
        self.used: set[str] = set()
        """The attributes of `self` that were read."""
        self.devices: set[str] = set()
        self.is_random = False

    def declare(self, name: str) -> None:
        """Declare a parameter, or the target of an assignment."""
        if not NAME.fullmatch(name) or name in RESERVED or name.startswith("__") or name.startswith("DEVICE_"):
            raise Refused(f"the graph names a value {name[:60]!a}{NOT_ALLOWED}")
        self.names.add(name)

    def expression(self, node: ast.expr) -> ast.expr:
        """Return the expression in the form of the script. Raises `Refused`."""
        if isinstance(node, ast.Constant):
            if node.value is not None and not isinstance(node.value, (bool, int, float, complex, str, type(Ellipsis))):
                raise self._refused(node)
            check_constant(node.value)
            return node
        if isinstance(node, ast.Name):
            if node.id not in self.names and node.id not in ("inf", "nan", "Ellipsis"):
                raise Refused(f"the graph reads {node.id[:60]!a}, which is not one of its values")
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
            raise Refused("the graph has a dictionary with a computed key")
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
            return self._attribute_of_self(node, path)
        if head == "torch" and head not in self.names:
            if path.count(".") == 1 and node.attr in CONSTANTS:
                return node
            raise Refused(f"the graph reads {path[:120]}{NOT_ALLOWED}")  # an operator too: as an argument it would escape its check
        if node.attr not in ATTRIBUTES:
            raise Refused(f"the graph reads the attribute .{node.attr[:60]}{NOT_ALLOWED}")
        node.value = self.expression(node.value)
        return node

    def _attribute_of_self(self, node: ast.Attribute, path: str) -> ast.expr:
        """Return `self.cond_true_0`. Names with dots become one name, as in the script's own class."""
        name = own_name(path)
        if not NAME.fullmatch(name) or name.startswith("__"):
            raise Refused(f"the graph reads {path[:120]}{NOT_ALLOWED}")
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
                raise Refused(f"the graph passes {keyword.arg} to {path[:120]}{NOT_ALLOWED}")
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
            raise Refused("the graph changes an object that is not one of its values")

    def _argument(self, call: ast.Call, keyword: str | None, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _DEVICE.fullmatch(node.value):
            moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and keyword is None
            if moves or keyword == "device":
                return self.device(node.value)
        return self.expression(node)

    def _callee(self, node: ast.Call) -> ast.expr:
        path = dotted(node.func)
        head, _, attribute = path.partition(".")
        is_module = head not in self.names
        name = path.rpartition(".")[2]
        if any(word in path for word in RANDOM):
            self.is_random = True
        if is_module and path and (checked := checked_path(path)):
            if checked.startswith("torch.") and (why := refusal(checked)):
                raise Refused(why)
            return expression_of(checked)
        if is_module and head == "torch" and attribute:
            if why := refusal(path):
                raise Refused(why)
            return node.func
        if is_module and head in ("operator", "_operator", "math") and attribute:
            if attribute not in (MATH if head == "math" else OPERATOR):
                raise Refused(f"the graph calls {path[:120]}{NOT_ALLOWED}")
            return ast.Attribute(ast.Name(head.strip("_"), ast.Load()), attribute, ast.Load())
        if is_module and head == "self" and attribute:
            if own_name(path) not in self.modules:
                raise Refused(f"the graph calls the module {path[:120]}, but the trace lacks its code and weights")
            assert isinstance(node.func, ast.Attribute)
            return self._attribute_of_self(node.func, path)
        if isinstance(node.func, ast.Name):
            if is_module and head in BUILTIN:
                return node.func
            raise Refused(f"the graph calls {head[:120]}, which is not in the trace")
        if isinstance(node.func, ast.Attribute) and node.func.attr in CHECKED_METHODS:
            node.args = [self.expression(node.func.value), *node.args]
            return ast.Name(CHECKED_METHODS[node.func.attr], ast.Load())
        if isinstance(node.func, ast.Attribute) and is_method(node.func.attr):
            node.func.value = self.expression(node.func.value)
            return node.func
        raise Refused(f"the graph calls {(path or name or type(node.func).__name__)[:120]}{NOT_ALLOWED}")

    def device(self, name: str) -> ast.expr:
        """Return the constant for a device of the trace, which the script defines."""
        self.devices.add(name)
        return ast.Name(device_constant(name), ast.Load())

    def _refused(self, node: ast.AST) -> Refused:
        line = getattr(node, "lineno", "?")
        return Refused(f"line {line} of the graph cannot be a statement of an FX graph ({type(node).__name__})")


def own_name(path: str) -> str:
    """Convert `self.layers.0` to `layers_0`."""
    return path.removeprefix("self.").replace(".", "_")


def device_of(node: ast.expr) -> str:
    """Return `cuda:0` for `device(type='cuda', index=0)`, '' for anything else."""
    if not isinstance(node, ast.Call) or dotted(node.func) not in ("device", "torch.device"):
        return ""
    values = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg in ("type", "index"))]
    if len(values) != len(node.args) + len(node.keywords) or not all(isinstance(each, ast.Constant) for each in values):
        raise Refused("the graph has a computed device")
    name = ":".join(str(each.value) for each in values if isinstance(each, ast.Constant) and each.value is not None)
    if not _DEVICE.fullmatch(name):
        raise Refused(f"unknown device: {name[:40]!a}")
    return name


def device_constant(name: str) -> str:
    """Return the name of a device in the script: `DEVICE_CUDA_0`."""
    return "DEVICE_" + name.upper().replace(":", "_")


def is_device(name: str) -> bool:
    """Return whether a text is the name of a device."""
    return bool(_DEVICE.fullmatch(name))
