"""Inputs of a script: tensor constructors, and further facts of the compile."""

from __future__ import annotations

import ast
import re

from tltui.model.artifacts import artifacts_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, json_in, metrics_fields
from tltui.questions.problems.compile_problems import INTERRUPTED, cached_failures
from tltui.questions.shapes.shape_env import TensorInput, Value, inputs_of
from tltui.text.frozen import frozen
from tltui.writers.repro.checking import DTYPES, Refused, is_device

_TYPE = re.compile(r"^(\w{1,20})\[([^\[\]]*)\](?:\[([^\[\]]*)\])?\s*([a-z]\w*(?::\d+)?)?$")
_SYMBOL = re.compile(r"^Sym\((.*)\)$")
SYMBOL_NAME = re.compile(r"(?:s|u|zf|zuf|ps|us)\d{1,9}")
FUNCTIONS = {"Max": "max", "Min": "min", "Mod": "%", "FloorDiv": "//", "PythonMod": "%", "CleanDiv": "//", "IntTrueDiv": "/"}
LARGEST = 1 << 40
COLUMNS = 2000


@frozen
class Tensor:
    """A tensor that a graph takes. Sizes and strides are expressions over symbols, as they may stand in a script."""

    dtype: str
    """`float32`"""
    size: tuple[str, ...]
    stride: tuple[str, ...] | None
    device: str


@frozen
class Number:
    """A number that a graph takes: an expression over symbols."""

    value: str


def read_type(text: str) -> Tensor | Number:
    """Parse a type: `f32[s77, 16][16, 1]cpu`, `Sym(s77 + 1)`. Raises `Refused`."""
    text = text.strip()
    if match := _SYMBOL.match(text):
        return Number(expression(match[1]))
    match = _TYPE.match(text)
    if not match or match[1] not in DTYPES:
        unknown = f"the graph takes a {text[:60]!a}, a tensor that tltui cannot create"
        raise Refused(unknown if text else "the graph has no record of its inputs")
    device = match[4] or "cpu"
    if not is_device(device):
        raise Refused(f"the graph takes a tensor on an unknown device: {device[:40]!a}")
    stride = None if match[3] is None else tuple(expression(each) for each in _split(match[3]))
    size = tuple(expression(each) for each in _split(match[2]))
    if stride is not None and len(stride) != len(size):
        raise Refused(f"the graph takes a {text[:60]!a} with strides that do not match its sizes")
    return Tensor(DTYPES[match[1]], size, stride, device)


def _split(text: str) -> list[str]:
    """Cut at commas outside of brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]


def expression(text: str) -> str:
    """Return a size in the form of the script: symbols and integers, as torch's sympy prints them. Raises `Refused`."""
    if len(text) > COLUMNS or text.count("(") > 40:
        raise Refused("the graph has a size expression that is too long")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return ast.unparse(_checked(tree, 0))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused(f"the graph has an invalid size expression: {text[:60]!a}") from None


def _checked(node: ast.expr, depth: int) -> ast.expr:
    if depth > 40:
        raise Refused("the graph has a size expression that is nested too deeply")
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and abs(node.value) < LARGEST:
        return node
    if isinstance(node, ast.Name) and SYMBOL_NAME.fullmatch(node.id):
        return node
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.Pow)):
        node.left, node.right = _checked(node.left, depth + 1), _checked(node.right, depth + 1)
        if isinstance(node.op, ast.Pow) and not _is_small_power(node):
            raise Refused("the graph has a size expression with a power")
        return node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node.operand = _checked(node.operand, depth + 1)
        return node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and node.args:
        return _function(node, node.func.id, [_checked(each, depth + 1) for each in node.args])
    raise Refused("the graph has a size expression of an unsupported form")


def _is_small_power(node: ast.BinOp) -> bool:
    """Return whether a power may be computed: a power of a power has four times the digits with each level."""
    is_small = isinstance(node.right, ast.Constant) and node.right.value in (1, 2, 3, 4)
    return is_small and not any(isinstance(each, ast.Pow) for each in ast.walk(node.left))


def _function(node: ast.Call, name: str, args: list[ast.expr]) -> ast.expr:
    means = FUNCTIONS.get(name, "")
    if means in ("max", "min"):
        return ast.Call(ast.Name(means, ast.Load()), args, [])
    if means and len(args) == 2:
        operator: ast.operator = ast.Mod() if means == "%" else ast.FloorDiv()
        return ast.BinOp(args[0], operator, args[1])
    if name in ("ToFloat", "TruncToInt", "FloorToInt") and len(args) == 1:
        return ast.Call(ast.Name("float" if name == "ToFloat" else "int", ast.Load()), args, [])
    raise Refused(f"the graph has a size expression with {name[:40]!a}")


def symbols_in(text: str) -> list[str]:
    """Return the symbols of an expression without duplicates."""
    return list(dict.fromkeys(SYMBOL_NAME.findall(text)))


def value_of(text: str, values: dict[str, int | float]) -> int:
    """Evaluate an expression of `expression` for values of its symbols; 0 if it is undefined."""
    try:
        return int(_value(ast.parse(text, mode="eval").body, values))
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return 0


def _value(node: ast.expr, values: dict[str, int | float]) -> float:
    if isinstance(node, ast.Constant):
        return float(node.value) if isinstance(node.value, float) else int(str(node.value))
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        arguments = [_value(each, values) for each in node.args]
        return {"max": max, "min": min}.get(node.func.id, lambda each: int(each[0]))(arguments)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, values), _value(node.right, values)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Mod):
            return left % right
        return left // right if not isinstance(node.op, ast.Pow) else left ** min(right, 4)
    raise ValueError


AUTOGRAD = frozenset(("aot_joint_graph", "aot_forward_graph", "aot_backward_graph"))
INDUCTOR = frozenset(
    ("fx_graph_runnable", "inductor_output_code", "inductor_post_grad_graph", "fx_graph_cache_hit", "fx_graph_cache_miss",
     "fx_graph_cache_bypass", "fx_graph_cache_hash", "before_pre_grad_graph", "fx_graph_bundled_cache_hit")
)  # fmt: skip
AOT = AUTOGRAD | {"aot_inference_graph", "aotautograd_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_bypass"}
SWITCHES = (
    "max_autotune", "max_autotune_pointwise", "max_autotune_gemm", "coordinate_descent_tuning", "triton.cudagraphs",
    "triton.cudagraph_trees", "freezing", "cpp_wrapper", "epilogue_fusion", "shape_padding", "force_same_precision",
    "emulate_precision_casts", "layout_optimization", "combo_kernels", "group_fusion", "batch_fusion",
)  # fmt: skip
"""Settings of Inductor that are on or off and change what a compile does: the script has those that the job had set otherwise."""
ON = frozenset(("epilogue_fusion", "shape_padding", "layout_optimization", "triton.cudagraph_trees", "batch_fusion"))
"""Those that are on if nobody sets them."""
_BACKEND = re.compile(r"backend='([A-Za-z_]\w{0,60})' raised")
_RAISED = re.compile(r"backend='inductor' raised:\s*([A-Za-z_]\w{0,80})", re.ASCII)
_PARTS = re.compile(r"[A-Za-z0-9]+")
_INNER = frozenset(("modules", "parameters", "buffers"))


@frozen
class ReproFacts:
    """Facts of the compile besides its graphs."""

    values: tuple[tuple[str, int | float], ...]
    """Values of symbols in the job."""
    sources: tuple[tuple[str, str], ...]
    """Symbol → the expression of the program that it stands for."""
    tensors: tuple[TensorInput, ...]
    has_backward: bool
    backend: str
    """`inductor`, `aot_eager`, or `` where nothing tells."""
    other_backend: str
    """The name of a backend that torch does not have."""
    switches: tuple[tuple[str, bool], ...]
    failure: str
    """The name of the exception that the compile failed with, '' for none."""
    failure_reason: str
    expected: str
    """The exception that a script of the graph has to raise, '' for none: in a backend that raised one the one that it raised."""

    def tensor(self, name: str) -> TensorInput | None:
        """Return the program input of a graph parameter: `L_x_` is `L['x']`."""
        words = words_of(name)
        return next((each for each in self.tensors if words_of(each.source) == words), None)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name: L, s, e, weight for both `L_s_modules_e_parameters_weight_` and `L['s'].e.weight`."""
    words = [word for text in _PARTS.findall(name) for word in text.lower().split("_")]
    return tuple(word for word in words if word and word not in _INNER)


def repro_facts(compile_: Compile) -> ReproFacts:
    """Return the facts of a compile."""
    reader = reader_of(compile_)
    inputs = inputs_of(compile_, reader)
    names = {artifact.name for artifact in artifacts_of(compile_)}
    failures = cached_failures(compile_)
    values = {}
    for symbol in inputs.symbols:
        value = _number(symbol.hint if symbol.specialized is None else symbol.specialized)
        if value is not None and SYMBOL_NAME.fullmatch(symbol.name):
            values[symbol.name] = value
    failure = failures[0] if failures else None
    reason = failure.reason if failure is not None else ""
    other = _BACKEND.search(reason)
    is_custom = other is not None and other[1] not in ("inductor", "aot_eager", "eager", "aot_eager_decomp_partition")
    return ReproFacts(
        tuple(values.items()),
        tuple((symbol.name, symbol.source) for symbol in inputs.symbols if symbol.source),
        inputs.tensors,
        bool(names & AUTOGRAD),
        "inductor" if names & INDUCTOR else "aot_eager" if names & AOT else "",
        other[1] if is_custom and other is not None else "",
        _switches(compile_, reader),
        failure.type if failure is not None else "",
        reason,
        "" if is_custom or failure is None else _expected(failure.type, reason),
    )


def _expected(kind: str, reason: str) -> str:
    raised = _RAISED.search(reason)
    name = raised[1] if raised else kind
    return name if kind != INTERRUPTED and re.fullmatch(r"[A-Za-z_]\w{0,80}", name, re.ASCII) else ""


def _switches(compile_: Compile, reader: Reader) -> tuple[tuple[str, bool], ...]:
    for _, fields in metrics_fields(compile_, reader):
        config = json_in(fields, "inductor_config")
        if config:
            settings = ((key, config.get(key)) for key in SWITCHES)
            return tuple((key, value) for key, value in settings if isinstance(value, bool) and value != (key in ON))
    return ()


def _number(value: Value | None) -> int | float | None:
    return value if isinstance(value, (int, float)) and abs(value) < 1e300 else None
