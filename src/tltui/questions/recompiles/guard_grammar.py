"""Grammar of guard texts: comments after a guard, conditions on sizes, classes of causes, origins of conditions."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from tltui.text.frozen import frozen
from tltui.text.torch_names import Owner, owner_of

_COMMENT_START = re.compile(r"\s{2,}# ")
_TOKEN = re.compile(r"""\s{2,}# |'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
"""Start of a comment, or a quoted string."""
_ORIGIN = re.compile(
    r"^(?:(?P<code>.*?)# ?)?(?P<file>[^\s#()][^\n#()]*?):(?P<line>\d{1,9}) in (?P<name>\S+)(?:\s*\((?P<rest>.*)\))?$", re.DOTALL
)
_PLACE = re.compile(r"^(?P<file>[^\s#()][^\n#()]*?):(?P<line>\d{1,9}) in (?P<name>\S+)$")
_HINT = "HINT: "
LONGEST_COMMENT = 4_000
"""Characters of a comment that are read as more than a note."""
SPLITS = 20
"""Places at which a comment may be two origins."""


@frozen
class Place:
    """Line of a file. Torch strips the prefix that the path shares with its own."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.name}"


@frozen
class Origin:
    """Origin of a guard."""

    place: Place | None = None
    """The line that was being traced."""
    code: str | None = None
    by: Place | None = None
    """The line of torch that added the guard."""
    note: str = ""
    """A sentence of torch about the guard."""


@frozen
class Comment:
    """Comment of a guard."""

    origins: tuple[Origin, ...] = ()
    """One; of a range with two bounds that of the lower and that of the upper one."""

    @property
    def first(self) -> Origin:
        """The origin; for a range the origin of its lower bound."""
        return self.origins[0] if self.origins else Origin()

    @property
    def note(self) -> str:
        """Free text of the comment."""
        return "; ".join(dict.fromkeys(origin.note for origin in self.origins if origin.note))

    @property
    def traced(self) -> Origin:
        """The first origin with a line that was being traced."""
        return next((origin for origin in self.origins if origin.place is not None), self.first)


NO_COMMENT = Comment()
_MODULE_PART = re.compile(r"\._(?:modules|parameters|buffers)\['([^'\]]+)'\]")


def strip_modules(source: str) -> str:
    """Shorten `L['self']._modules['0']._parameters['w']` to `L['self'].0.w`, and a NumPy array as `without_numpy` does."""
    return _MODULE_PART.sub(r".\1", without_numpy(source))


_PARAMETER = re.compile(r"\._(?:parameters|buffers)\[")


def is_parameter(source: str) -> bool:
    """Return whether a source is a parameter or a buffer: their sizes are static also with dynamic=True."""
    return bool(_PARAMETER.search(source))


NUMPY = "___from_numpy("
"""Start of the source of a NumPy array: torch's name for its conversion to a tensor."""
_FROM_NUMPY = re.compile(r"___from_numpy\(((?:[^()]|\([^()]*\))*)\)")


def without_numpy(text: str) -> str:
    """Shorten `___from_numpy(x).size()[0]` to `x.size()[0]`: the program has no other name for it than that of the array."""
    return _FROM_NUMPY.sub(r"\1", text) if NUMPY in text else text


def split_comment(text: str) -> tuple[str, str]:
    """Split a guard from its comment. Quoted text belongs to the guard; an unmatched quote is ignored."""
    if "  # " not in text:
        return text.strip(), ""
    for match in (_TOKEN if len(text) <= LONGEST_COMMENT else _COMMENT_START).finditer(text):
        if match[0][0].isspace():
            return text[: match.start()].strip(), text[match.end() :].strip()
    return text.strip(), ""


@lru_cache(maxsize=2048)
def comment_of(text: str) -> Comment:
    """Parse the origins in a comment."""
    text = text.strip()
    if not text:
        return Comment()
    if len(text) > LONGEST_COMMENT:
        return Comment((Origin(note=text),))
    if (origin := _origin(text)) is not None and " and " not in text:
        return Comment((origin,))
    at = text.find(" and ")
    for _ in range(SPLITS):  # code and notes may have an ` and ` of their own: both sides have to read as an origin with a place
        if at < 0:
            break
        one, other = _origin(text[:at]), _origin(text[at + 5 :])
        if one is not None and other is not None and text[:at].endswith(")") and text.endswith(")"):
            return Comment((one, other))
        at = text.find(" and ", at + 1)
    return Comment((origin or Origin(note=_plain(text)),))


def _origin(text: str) -> Origin | None:
    """Parse one origin; None for a text that names no place."""
    if text.startswith("(") and text.endswith(")"):
        inner = text[1:-1]
        by = _place(inner)
        return Origin(by=by) if by is not None else Origin(note=_plain(inner))
    match = _ORIGIN.match(text)
    if match is None:
        return None
    place = Place(match["file"], int(match["line"]), match["name"])
    rest = (match["rest"] or "").strip()
    by = _place(rest)
    return Origin(place, (match["code"] or "").strip() or None, by, "" if by is not None else _plain(rest))


def _place(text: str) -> Place | None:
    match = _PLACE.match(text)
    return Place(match["file"], int(match["line"]), match["name"]) if match else None


def _plain(text: str) -> str:
    text = text.strip()
    return text.removeprefix(_HINT)


LONGEST = 2_000
"""Characters of a condition that is parsed."""
LARGEST = 1 << 128
RANGE, EQUAL, DIFFERENT, DIVISIBLE, NAN, OTHER_CONDITION = "range", "equality", "inequality", "divisibility", "not NaN", "condition"

Number = int | float | bool
_SIZE = re.compile(r"^(?P<tensor>.+)\.(?:size\(\)|shape)\[(?P<dim>\d{1,6})\]$", re.DOTALL)
_OF_TENSOR = re.compile(r"\.(?:size\(\)|stride\(\)|shape)\[\d+\]$|\.storage_offset\(\)$")
_COMPARE: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_SYMPY = {"Eq": ast.Eq, "Ne": ast.NotEq, "Lt": ast.Lt, "Le": ast.LtE, "Gt": ast.Gt, "Ge": ast.GtE}
_ARITHMETIC: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv,
}  # fmt: skip
_CALLS: dict[str, Callable[..., Number]] = {
    "max": max, "Max": max, "min": min, "Min": min, "abs": abs, "Abs": abs,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "PythonMod": operator.mod,
}  # fmt: skip


@frozen
class Term:
    """Term of a condition: `x.size()[0]`, `n`."""

    text: str
    source: str
    """The tensor or number."""
    dim: int | None
    """The dimension, of a size."""

    @property
    def is_number(self) -> bool:
        """Whether it is a Python number, not a size, stride or offset of a tensor."""
        return not _OF_TENSOR.search(self.text)


@frozen
class Part:
    """A comparison of a condition: all have to hold."""

    text: str
    kind: str
    """RANGE, EQUAL, DIFFERENT, DIVISIBLE, NAN or OTHER."""
    low: bool = False
    """Whether it is the lower bound of a range."""
    bound: Number | None = None
    """The number in a range, the divisor of a divisibility."""


@frozen
class Condition:
    """A guard on sizes and numbers."""

    text: str
    terms: tuple[Term, ...]
    parts: tuple[Part, ...]

    @property
    def kind(self) -> str:
        """Kind of its parts."""
        kinds = {part.kind for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else OTHER_CONDITION

    def failing(self, values: Mapping[str, str]) -> tuple[Part, ...]:
        """Return the parts that are false for the values of the terms (by text); none if undecidable."""
        numbers: dict[str, Number] = {}
        for term in self.terms:
            value = _number(values.get(term.text, ""))
            if value is not None:
                numbers[term.text] = value
        parsed = _read(self.text) if numbers else None
        if parsed is None:
            return ()
        return tuple(part for part, node in parsed[1] if _holds(node, numbers, self.text) is False)


def condition_of(text: str) -> Condition | None:
    """Parse a condition on sizes or numbers; None for any other text."""
    parsed = _read(text.strip())
    return parsed[0] if parsed is not None else None


class _NoConditionError(Exception):
    """The text has another form."""


@lru_cache(maxsize=2048)
def _read(text: str) -> tuple[Condition, tuple[tuple[Part, ast.expr], ...]] | None:
    if not text or len(text) > LONGEST or "\\" in text or "\n" in text:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
        parts = tuple(_parts(tree, text))
        terms: dict[str, Term] = {}
        for _, node in parts:
            _terms(node, text, terms)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _NoConditionError):
        return None
    if not parts or not terms:
        return None
    return Condition(text, tuple(terms.values()), tuple(part for part, _ in parts)), parts


def _parts(node: ast.expr, text: str) -> list[tuple[Part, ast.expr]]:
    """Split a condition into single comparisons: `2 <= n <= 9` has two."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _parts(value, text)]
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        results: list[tuple[Part, ast.expr]] = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in _COMPARE:
                raise _NoConditionError
            one = ast.copy_location(ast.Compare(left, [op], [right]), left)
            segment = _segment(text, left, right)
            if segment.count("(") != segment.count(")"):  # parentheses around a side are no part of it
                segment = ast.unparse(one)
            results.append((_part(left, op, right, segment), one))
        return results
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SYMPY and len(node.args) == 2:
        left, right = node.args
        op = _SYMPY[node.func.id]()
        return [(_part(left, op, right, _segment(text, node, node)), ast.copy_location(ast.Compare(left, [op], [right]), node))]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _is_nan(node.operand):
        return [(Part(_segment(text, node, node), NAN), node)]
    either = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Or", "And")
    if either or isinstance(node, ast.BoolOp):
        return [(Part(_segment(text, node, node), OTHER_CONDITION), node)]
    raise _NoConditionError


def _part(left: ast.expr, op: ast.cmpop, right: ast.expr, text: str) -> Part:
    one, other = _constant(left), _constant(right)
    number = one if one is not None else other
    if isinstance(op, ast.Eq):
        divisor = _divisor(left if other == 0 else right) if number == 0 else None
        return Part(text, DIVISIBLE, bound=divisor[0]) if divisor is not None else Part(text, EQUAL, bound=number)
    if isinstance(op, ast.NotEq):
        return Part(text, DIFFERENT, bound=number)
    if number is None:
        return Part(text, OTHER_CONDITION)
    low = isinstance(op, (ast.Lt, ast.LtE)) == (one is not None)
    return Part(text, RANGE, low, number)


def _divisor(node: ast.expr) -> tuple[Number | None] | None:
    """Return b of `a % b` or `Mod(a, b)` if it is a number; None for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return (_constant(node.right),)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Mod", "PythonMod"):
        return (_constant(node.args[1]),) if len(node.args) == 2 else None
    return None


def _constant(node: ast.expr) -> Number | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        return None if value is None else -value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def _is_nan(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "isnan" and len(node.args) == 1


def _terms(node: ast.expr, text: str, terms: dict[str, Term]) -> None:
    """Collect the terms of an expression in order."""
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, (int, float)):
            raise _NoConditionError
    elif isinstance(node, (ast.BoolOp, ast.Compare, ast.BinOp, ast.UnaryOp)):
        if isinstance(node, ast.Compare) and any(type(op) not in _COMPARE for op in node.ops):
            raise _NoConditionError
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                _terms(child, text, terms)
    elif isinstance(node, ast.Call) and (_is_nan(node) or _is_arithmetic(node)):
        for argument in node.args:
            _terms(argument, text, terms)
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        segment = _segment(text, node, node)
        size = _SIZE.match(segment)
        source = _OF_TENSOR.sub("", segment)
        terms.setdefault(segment, Term(segment, size["tensor"] if size else source, int(size["dim"]) if size else None))
    else:
        raise _NoConditionError


_NAMES = frozenset((*_CALLS, *_SYMPY, "floor", "ceil", "trunc", "sqrt", "CeilDiv", "Or", "And", "Not"))


def _is_arithmetic(node: ast.Call) -> bool:
    """Return whether a call is supported arithmetic: `max(…)`, `math.floor(…)`."""
    called = node.func
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id == "math" and called.attr in _NAMES
    return isinstance(called, ast.Name) and called.id in _NAMES


def _segment(text: str, start: ast.expr, end: ast.expr) -> str:
    """Return the text of a part; AST columns count bytes."""
    if text.isascii():
        return text[start.col_offset : end.end_col_offset]
    return text.encode()[start.col_offset : end.end_col_offset].decode("utf-8", "replace")


def _number(text: str) -> Number | None:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text[:64])
        except ValueError:
            continue
    return None


def _holds(node: ast.expr, numbers: Mapping[str, Number], text: str) -> bool | None:
    try:
        value = _value(node, numbers, text)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None if value is None else bool(value)


def _value(node: ast.expr, numbers: Mapping[str, Number], text: str) -> Number | None:
    """Evaluate an expression; None if a term has no value or the form is unsupported."""
    if (number := _constant(node)) is not None:
        return number
    if isinstance(node, ast.Compare):
        sides = [_value(side, numbers, text) for side in (node.left, *node.comparators)]
        outcomes = [
            _COMPARE[type(op)](one, other)
            for one, op, other in zip(sides, node.ops, sides[1:], strict=False)
            if one is not None and other is not None
        ]
        return False if not all(outcomes) else True if len(outcomes) == len(node.ops) else None
    if isinstance(node, ast.BoolOp):
        return _either(node, [_value(value, numbers, text) for value in node.values])
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        one, other = _value(node.left, numbers, text), _value(node.right, numbers, text)
        if one is None or other is None or max(abs(one), abs(other)) > LARGEST:
            return None
        return _ARITHMETIC[type(node.op)](one, other)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, numbers, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        values = [_value(argument, numbers, text) for argument in node.args]
        operands = [value for value in values if value is not None]
        return _CALLS[node.func.id](*operands) if len(operands) == len(values) else None
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return numbers.get(_segment(text, node, node))
    return None


def _either(node: ast.BoolOp, values: list[Number | None]) -> bool | None:
    """Evaluate `and` or `or` with partly unknown values."""
    deciding = isinstance(node.op, ast.Or)
    if any(value is not None and bool(value) is deciding for value in values):
        return deciding
    return None if None in values else not deciding


def _unary(node: ast.UnaryOp, numbers: Mapping[str, Number], text: str) -> Number | None:
    if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Call) and _is_nan(node.operand):
        value = _value(node.operand.args[0], numbers, text)
        return None if value is None else value == value
    value = _value(node.operand, numbers, text)
    if value is None:
        return None
    return not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else value


ZERO_ONE, MARKED, DUCK, EXCLUSION = "sizes 0 and 1", "the bounds of a mark", "equal sizes", "an older compile"
PROGRAM, LIBRARY, TORCH = "your line", "a library", "torch"
SPECIAL = ("0", "1")
"""The sizes that torch compiles for themselves."""


NOWHERE = Origin()


@frozen
class Asked:
    """The part of a condition that did not hold, and its origin."""

    part: Part | None = None
    """None if unknown."""
    who: str = ""
    """One of the constants above; '' if torch does not log it."""
    origin: Origin = NOWHERE


def asked(condition: Condition, values: Mapping[str, str], comment: Comment) -> Asked:
    """Return the failed part for the values of the terms, and its origin."""
    failing = condition.failing(values)
    if not failing and len(condition.parts) == 1:
        failing = condition.parts
    part = failing[0] if failing else None
    origin = _condition_origin(part, condition, comment)
    return Asked(part, _who(part, origin, values) if part is not None or len(comment.origins) == 1 else "", origin)


def _condition_origin(part: Part | None, condition: Condition, comment: Comment) -> Origin:
    """Return the origin of the failed bound: the second of two belongs to the upper bound."""
    if part is None or not comment.origins:
        return comment.first
    return comment.origins[0] if part.low or len(condition.parts) == 1 else comment.origins[-1]


def _who(part: Part | None, origin: Origin, values: Mapping[str, str]) -> str:
    note = origin.note
    lowest = part is not None and part.kind == RANGE and part.low and part.bound == 2
    if "0/1 specialization" in note or (lowest and origin == NOWHERE and any(value in SPECIAL for value in values.values())):
        return ZERO_ONE
    if note.startswith("duck sizing"):
        return DUCK
    if note.startswith("exclusion guard"):
        return EXCLUSION
    by = origin.by
    if by is None:
        return ""
    if by.file.endswith("_dynamo/variables/builder.py"):
        return MARKED
    if by.name != "evaluate_expr":
        return TORCH
    return whose(origin.place.file) or PROGRAM if origin.place is not None else ""


_TORCH_FILES = (
    "_dynamo/", "_prims_common/", "_subclasses/", "_refs/", "_decomp/", "_functorch/", "_inductor/", "_higher_order_ops/", "fx/",
    "nn/modules/", "nn/functional.py", "nn/parallel/", "optim/", "autograd/", "_tensor.py", "functional.py",
)  # fmt: skip


@lru_cache(maxsize=1024)
def whose(path: str) -> str:
    """Return the owner of a file: TORCH, LIBRARY, or '' for the user. Guards name torch files relative to its folder."""
    path = path.replace("\\", "/")
    if path.startswith("<"):  # created by exec: unknown
        return ""
    owner = Owner.TORCH if path.startswith(_TORCH_FILES) else owner_of(path)
    return {Owner.TORCH: TORCH, Owner.USER: ""}.get(owner, LIBRARY)


SIZE, STRIDE, RANK, DTYPE, DEVICE = "tensor size", "tensor stride", "tensor rank", "tensor dtype", "tensor device"
GRAD, TENSOR, MARK = "requires_grad", "tensor kind", "dimension mark"
INT, FLOAT, BOOL, STR, VALUE = "int value", "float value", "bool value", "str value", "other value"
TYPE, OBJECT, STATE = "type", "object id", "global state"
ATTRIBUTE, CLOSURE, GLOBAL = "module attribute", "closure", "global"
CONDITION, LENGTH, KEY, ALIASING = "size condition", "length", "key or attribute", "aliasing"
BACKEND, FREED, UNEXPECTED, OTHER = "backend", "object freed", "unexpected", "other"

CAUSES: dict[str, str] = {
    SIZE: "a dimension of a tensor had a different size",
    STRIDE: "a tensor had a different memory layout",
    RANK: "a tensor had a different number of dimensions",
    DTYPE: "a tensor had a different dtype",
    DEVICE: "a tensor was on a different device",
    GRAD: "a tensor required a gradient in only some of the calls",
    TENSOR: "a tensor was of a different kind: conjugate, inference, subclass …",
    MARK: "a dimension had a different mark (mark_dynamic …)",
    INT: "a Python int had a different value",
    FLOAT: "a Python float had a different value",
    BOOL: "a Python bool had a different value",
    STR: "a string had a different value",
    VALUE: "a Python value was different",
    TYPE: "an object had a different type",
    OBJECT: "an object was not the same one (function, class, module …)",
    STATE: "a setting of torch was different: grad mode, autocast …",
    ATTRIBUTE: "an attribute of an nn.Module had a different value",
    CLOSURE: "a variable of an enclosing function had a different value",
    GLOBAL: "a global variable had a different value",
    CONDITION: "a condition on sizes or numbers did not hold",
    LENGTH: "a container had a different length",
    KEY: "the keys or attributes, or their order, were different",
    ALIASING: "two arguments were the same object in only some of the calls",
    BACKEND: "torch.compile was called with a different backend object",
    FREED: "the compiled code belonged to an object that no longer existed",
    UNEXPECTED: "no guard failed; torch reports this as a bug in torch",
    OTHER: "a reason that is unknown to tltui",
}
"""Classes of causes with their descriptions."""

VALUES = frozenset((INT, FLOAT, BOOL, STR, VALUE))
NUMBERS = frozenset((INT, FLOAT))
NAMED = frozenset((ATTRIBUTE, CLOSURE, GLOBAL))
"""Values that are named by where they come from."""
TENSORS = frozenset((SIZE, STRIDE, RANK, DTYPE, DEVICE, GRAD, TENSOR))
SOMETHING = "something"
"""Placeholder for the actual value in place of None: torch does not record it."""


@frozen
class Cause:
    """Parsed cause of a failed guard."""

    kind: str
    """A class of `CAUSES`."""
    source: str = ""
    """The Python expression that the guard checks, `L[…]` shortened: `x`, `module.index`, `G['FACTOR']`."""
    dim: int | None = None
    expected: str = ""
    actual: str = ""
    """'' if torch does not log it."""
    value: str = ""
    """The class of the value alone, of a closure, a global or an attribute: `int value`."""
    settings: tuple[str, ...] = ()
    """The settings that differed, of the global state."""
    note: str = ""
    """A note by torch."""


_FLOAT = re.compile(r"^-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf|nan)$")


def value_kind(text: str) -> str:
    """Classify a Python value by its `repr`."""
    if text in ("True", "False"):
        return BOOL
    if text.lstrip("-").isdigit():
        return INT
    if _FLOAT.match(text):
        return FLOAT
    return STR if text[:1] in ("'", '"') else VALUE


_INTEGER, _FLOAT = re.compile(r"-?\d+"), re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?|-?\d+e[+-]?\d+|-?inf")


def by_number_type(cause: Cause, actual: str) -> Cause:
    """Return the type as the cause if an int and a float differ: torch compares the value first."""
    if cause.kind not in (INT, FLOAT):
        return cause
    before, now = _number_type(cause.expected), _number_type(actual)
    return Cause(TYPE, cause.source, expected=before, actual=now) if before and now and before != now else cause


def _number_type(text: str) -> str:
    return "int" if _INTEGER.fullmatch(text) else "float" if _FLOAT.fullmatch(text) else ""


def as_attribute(cause: Cause) -> Cause:
    """Reclassify a cause whose source is an attribute of an nn.Module."""
    if cause.kind not in VALUES:
        return cause
    return Cause(ATTRIBUTE, cause.source, cause.dim, cause.expected, cause.actual, cause.kind, cause.settings, cause.note)


def is_value(text: str) -> bool:
    """Return whether a text is an actual value, not a substitute for an unknown one."""
    return bool(text) and text != SOMETHING and not text.startswith(("some ", "a ", "an ", "another "))


def container(source: str) -> str:
    """Return the dict of a key: `d` for `d`, `d['a']` and `list(d)[0]`."""
    return re.sub(r"^list\((.*)\)$", r"\1", re.sub(r"\[[^\[\]]*\]$", "", source))
