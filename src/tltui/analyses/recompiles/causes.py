"""What a recompile reason is about: torch's words for a failed guard → a class, a source, expected and actual.

Torch shortens `L['x']` to `x` in reasons (`torch._dynamo.guards.strip_local_scope`); so do we with sources, or else the
reasons of an old and a new torch would not compare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SIZE, STRIDE, RANK, DTYPE, DEVICE = "tensor size", "tensor stride", "tensor rank", "tensor dtype", "tensor device"
GRAD, TENSOR = "requires_grad", "tensor kind"
INT, FLOAT, BOOL, STR, VALUE = "int value", "float value", "bool value", "str value", "other value"
TYPE, OBJECT, STATE = "type", "object id", "global state"
ATTRIBUTE, CLOSURE, GLOBAL = "module attribute", "closure", "global"
CONDITION, LENGTH, KEY, ALIASING = "size condition", "length", "key or attribute", "aliasing"
BACKEND, FREED, UNEXPECTED, OTHER = "backend", "object freed", "unexpected", "other"

CAUSES: dict[str, str] = {
    SIZE: "a dimension of a tensor had another size",
    STRIDE: "a tensor lay differently in memory",
    RANK: "a tensor had another number of dimensions",
    DTYPE: "a tensor had another dtype",
    DEVICE: "a tensor was on another device",
    GRAD: "a tensor needed a gradient, or did not",
    TENSOR: "a tensor was of another kind: conjugate, inference, subclass …",
    INT: "a Python int had another value",
    FLOAT: "a Python float had another value",
    BOOL: "a Python bool had another value",
    STR: "a string differed",
    VALUE: "a Python value differed",
    TYPE: "an object had another type",
    OBJECT: "it was another object (function, class, module …)",
    STATE: "a mode of torch differed: grad mode, autocast, threads, default device …",
    ATTRIBUTE: "an attribute of an nn.Module had another value",
    CLOSURE: "a variable of an enclosing function had another value",
    GLOBAL: "a global had another value",
    CONDITION: "a condition on sizes that the graph relies on did not hold",
    LENGTH: "a container had another length",
    KEY: "a key or an attribute was there, or was not",
    ALIASING: "the same tensor was passed twice, or was not",
    BACKEND: "torch.compile was called with another backend object",
    FREED: "an object that the compiled code belongs to no longer existed",
    UNEXPECTED: "no guard failed: torch calls this a bug of its own",
    OTHER: "a reason that tltui does not know",
}
"""The classes, and what each says."""

VALUES = frozenset((INT, FLOAT, BOOL, STR, VALUE))
TENSORS = frozenset((SIZE, STRIDE, RANK, DTYPE, DEVICE, GRAD, TENSOR))


@dataclass(frozen=True, slots=True)
class Cause:
    """What a failed guard was about."""

    kind: str
    """A class of `CAUSES`."""
    source: str = ""
    """The Python expression that the guard looks at, `L[…]` shortened: `x`, `module.index`, `G['FACTOR']`."""
    dim: int | None = None
    expected: str = ""
    actual: str = ""
    """'' where torch does not say."""
    value: str = ""
    """Of a closure, a global or an attribute: the class that its value alone would have (`int value`)."""

    @property
    def key(self) -> tuple[str, str, int | None]:
        """What two recompiles for the same cause share."""
        return self.kind, "" if self.kind == STATE else self.source, self.dim


_LOCAL = re.compile(r"L\[\s*['\"](.*?)['\"]\s*\]")
_TENSOR = re.compile(
    r"^tensor '(?P<source>.*)' (?P<what>size|stride|rank|dtype|requires_grad|dispatch key set|Tensor device index|device)"
    r" mismatch(?: at index (?P<dim>\d{1,9}))?\.? ?(?P<rest>.*)$",
    re.DOTALL,
)
_EXPECTED = re.compile(r"^expected (?P<expected>.*?)(?:, actual (?P<actual>.*))?$", re.DOTALL)
_DEVICE = re.compile(r"(?:to be|expected) (?P<expected>-?\d+)\D+(?P<actual>-?\d+)")
_NO_TENSOR = re.compile(r"^expected type of '(?P<source>.*)' to be a tensor type,.*?(?P<type><class .*>)?$", re.DOTALL)
_KEYS = re.compile(r"\w+")
_TYPE_ID = re.compile(r"^___check_(?:type_id|fake_script_type)\((?P<source>.*), \d+\)(?:, type=(?P<type>.*))?$")
_OBJ_ID = re.compile(r"^___check_obj_id\((?P<source>.*), \d+\)(?:, type=(?P<type>.*))?$")
_CONTAINS = re.compile(r"^(?P<no>not )?___dict_contains\((?P<key>.*), (?P<source>[^,]*)\)$")
_SET = re.compile(r"^(?P<no>not )?set\.__contains__\((?P<source>[^,]*), (?P<key>.*)\)$")
_HASATTR = re.compile(r"^(?P<no>not )?hasattr\((?P<source>.*), '(?P<key>[^']*)'\)(?: == (?P<said>True|False))?$")
_LENGTH = re.compile(r"^(?:___tuple_iterator_)?len\((?P<source>.*)\) == (?P<expected>\d+)$")
_MISSING = re.compile(r"^(?:KeyError|IndexError|AttributeError) on (?P<source>.*)$")
_FREED = re.compile(r"^Cache line invalidated because (?P<source>.*) got deallocated")
_DUPLICATE = re.compile(r"^Duplicate tensors? found(?: where not expected!?)?:? ?(?P<which>.*)$", re.DOTALL)
_IS = re.compile(r"^(?P<source>\S.*?) is (?P<no>not )?(?P<other>\S.*)$")
_EQUALS = re.compile(r"^(?P<source>\S.*?) == (?P<value>.+)$", re.DOTALL)
_NOT = re.compile(r"^not (?P<source>[\w.\[\]'\"]+)$")
_SHAPE = re.compile(r"(?P<source>[\w.\[\]'\"]+)\.(?:size\(\)\[(?P<dim>\d+)\]|stride\(\)\[\d+\]|storage_offset\(\))")
_COMPARES = re.compile(r" (?:<|<=|>|>=|!=) |^(?:Eq|Ne|Mod|Le|Lt|Ge|Gt)\(")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\]]*\][\w.]*)*")
_STATES = ("___check_global_state", "torch._functorch", "torch.autograd.forward_ad", "___functorch", "top_saved_tensors_hooks")
OBJECTS = {"code": "function", "builtin_function_or_method": "builtin", "type": "class"}
"""What people call objects of these types."""
_FLOAT = re.compile(r"^-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf|nan)$")


def strip_local(text: str) -> str:
    """`L['x'].shape` → `x.shape`, as torch does with its reasons."""
    return _LOCAL.sub(r"\1", text) if "L[" in text else text


def cause_of(text: str, hint: str = "") -> Cause:
    """What a reason is about. `hint` is what torch adds to the guard in parentheses."""
    text = strip_local(text.strip())
    for parse in (_tensor, _check, _container, _condition, _plain):
        if (found := parse(text)) is not None:
            return _with_origin(found, hint)
    first, semicolon, _ = text.partition("; ")  # several failed, as TORCH_LOGS=recompiles_verbose makes torch list them
    return cause_of(first, hint) if semicolon else Cause(OTHER)


def _tensor(text: str) -> Cause | None:
    if match := _NO_TENSOR.match(text):
        return Cause(TYPE, match["source"], None, "Tensor", class_name(match["type"] or ""))
    match = _TENSOR.match(text)
    if match is None:
        return None
    what, rest, source = match["what"], match["rest"], match["source"]
    dim = None if match["dim"] is None else int(match["dim"])
    said = _EXPECTED.match(rest)
    expected, actual = (said["expected"], said["actual"] or "") if said else ("", "")
    if what in ("size", "stride", "rank"):
        return Cause({"size": SIZE, "stride": STRIDE, "rank": RANK}[what], source, dim, expected, actual)
    if what == "dtype":
        return Cause(DTYPE, source, None, dtype_name(expected), dtype_name(actual))
    if what == "requires_grad":
        needed = expected.endswith("1")
        return Cause(GRAD, source, None, "yes" if needed else "no", "no" if needed else "yes")
    if what == "dispatch key set":
        return _dispatch(source, expected, actual)
    device = _DEVICE.search(rest)
    return Cause(DEVICE, source, None, *((f"index {device['expected']}", f"index {device['actual']}") if device else ("", "")))


def _dispatch(source: str, expected: str, actual: str) -> Cause:
    """Two sets of dispatch keys: another backend is another device; else what differs is named."""
    one, other = _keys(expected), _keys(actual)
    before, now = _backend(one), _backend(other)
    if before and now and before != now:
        return Cause(DEVICE, source, None, before.lower(), now.lower())
    less = [key for key in one if key not in other]
    more = [key for key in other if key not in one]
    return Cause(TENSOR, source, None, ", ".join(less) or "plain", ", ".join(more) or "plain")


def _keys(text: str) -> list[str]:
    return list(_KEYS.findall(text.partition("(")[2]))


def _backend(keys: list[str]) -> str:
    return next((key for key in keys if f"Autograd{key}" in keys), keys[0] if keys else "")


def _check(text: str) -> Cause | None:
    """The guards that torch writes as calls of its own helpers, and the reasons that are sentences."""
    if text.startswith("GLOBAL_STATE changed:"):
        return Cause(STATE, ", ".join(text.partition(":")[2].split()))
    if match := _TYPE_ID.match(text):
        return Cause(TYPE, match["source"], None, class_name(match["type"] or ""))
    if match := _OBJ_ID.match(text):
        kind = class_name(match["type"] or "") or "object"
        return Cause(OBJECT, match["source"], None, f"this {OBJECTS.get(kind, kind)}", "another")
    if text.startswith("___check_torch_function_mode_stack"):
        return Cause(STATE, "torch function modes")
    if text.startswith("utils_device.CURRENT_DEVICE"):
        return Cause(STATE, "default device", None, text.partition(" == ")[2])
    if any(name in text for name in _STATES):
        return Cause(STATE, text.partition("(")[0].rpartition(".")[2].partition(" ")[0].strip("_"))
    if match := _DUPLICATE.match(text):
        return Cause(ALIASING, ", ".join(re.findall(r'"([^"]*)"', match["which"])), None, "different tensors", "one tensor")
    if text.startswith("BACKEND_MATCH failure"):
        return Cause(BACKEND)
    if text.startswith("Unexpected recompilation"):
        return Cause(UNEXPECTED)
    if match := _FREED.match(text):
        return Cause(FREED, match["source"])
    return Cause(TENSOR, text[13:].partition(", ")[0].strip("()")) if text.startswith("check_tensor(") else None


def _container(text: str) -> Cause | None:
    if match := _CONTAINS.match(text) or _SET.match(text) or _HASATTR.match(text):
        absent = (match["no"] is not None) != (match.groupdict().get("said") == "False")
        there = ("not there", "there") if absent else ("there", "not there")
        key = match["key"] if match.re is not _HASATTR else f".{match['key']}"
        source = match["source"].removesuffix(".__dict__")
        return Cause(KEY, f"{source}{key}" if key[0] == "." else f"{source}[{key}]", None, *there)
    if match := _LENGTH.match(text):
        return Cause(LENGTH, match["source"], None, match["expected"])
    if match := _NOT.match(text):
        return Cause(LENGTH, match["source"], None, "0")
    if match := _MISSING.match(text):
        return Cause(KEY, match["source"], None, "there", "not there")
    return None


def _condition(text: str) -> Cause | None:
    """A guard on symbols. It is named by the first size in it."""
    shape = _SHAPE.search(text)
    if shape is None and not _COMPARES.search(text):
        return None
    if shape is None and (value := _EQUALS.match(text)) and _is_literal(value["value"]):
        return None
    name = _NAME.search(_COMPARES.sub(" ", text)) if shape is None else None
    source = shape["source"] if shape else name[0] if name else ""
    dim = int(shape["dim"][:9]) if shape and shape["dim"] else None
    return Cause(CONDITION, source, dim, text)


def _plain(text: str) -> Cause | None:
    if match := _EQUALS.match(text):
        value = match["value"]
        return Cause(value_kind(value), match["source"], None, value)
    match = _IS.match(text)
    if match is None or " " in match["source"]:
        return None
    if match["other"] == "None":
        said = ("something", "None") if match["no"] else ("None", "something")
        return Cause(VALUE, match["source"], None, *said)
    return Cause(ALIASING, f"{match['source']}, {match['other']}", None, "one object", "different objects")


def _is_literal(text: str) -> bool:
    return text[:1] in "'\"([{" or value_kind(text) in (INT, FLOAT, BOOL)


def value_kind(text: str) -> str:
    """The class of a Python value, by its `repr`."""
    if text in ("True", "False"):
        return BOOL
    if text.lstrip("-").isdigit():
        return INT
    if _FLOAT.match(text):
        return FLOAT
    return STR if text[:1] in ("'", '"') else VALUE


_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\[|\.training$")


def _with_origin(cause: Cause, hint: str) -> Cause:
    """A value that is no argument is named by where it comes from."""
    if cause.kind not in VALUES:
        return cause
    source = cause.source
    if "__closure__" in source or "cell_contents" in source or 'guard on "' in hint:
        return replace(cause, kind=CLOSURE, value=cause.kind)
    if _MODULE.search(source) or "attributes of the nn.Module" in hint:
        return as_attribute(cause)
    return replace(cause, kind=GLOBAL, value=cause.kind) if source.startswith("G[") else cause


def as_attribute(cause: Cause) -> Cause:
    """The same cause, now that its source is known to be an attribute of an nn.Module."""
    return replace(cause, kind=ATTRIBUTE, value=cause.kind) if cause.kind in VALUES else cause


def class_name(text: str) -> str:
    """`<class 'torch.nn.parameter.Parameter'>` → `torch.nn.parameter.Parameter`"""
    match = re.match(r"^<(?:class|enum) '(.*)'>$", text.strip())
    return match[1] if match else text.strip()


_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128", "ComplexHalf": "complex32",
}  # fmt: skip


def dtype_name(text: str) -> str:
    """The name that Python has for a dtype: C++ writes `Double`."""
    return _DTYPES.get(text, text)
