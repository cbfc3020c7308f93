"""Texts of failed guards: class, source, expected and actual value."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.guard_grammar import Cause, Condition, as_attribute, condition_of, value_kind

CAUSES_CACHED = 8192
"""Failed guards whose class is cached: those of all compiles of a frame."""
_LOCAL = re.compile(r"L\[\s*['\"](.*?)['\"]\s*\]")
_TENSOR = re.compile(
    r"^tensor '(?P<source>.*)' (?P<what>size|stride|rank|dtype|requires_grad|dispatch key set|Tensor device index|device)"
    r" mismatch(?: at index (?P<dim>\d{1,9}))?\.? ?(?P<rest>.*)$",
    re.DOTALL,
)
_EXPECTED = re.compile(r"^expected (?P<expected>.*?)(?:, actual (?P<actual>.*?))?(?:\. (?P<note>Guard failed on .*))?$", re.DOTALL)
_DEVICE = re.compile(r"(?:to be|expected) (?P<expected>-?\d+)\D+(?P<actual>-?\d+)")
_NO_TENSOR = re.compile(r"^expected type of '(?P<source>.*)' to be a tensor type,.*?(?P<type><class .*>)?$", re.DOTALL)
_KEYS = re.compile(r"\w+")
_TYPE_ID = re.compile(r"^___check_(?:type_id|fake_script_type)\((?P<source>.*), \d+\)(?:, type=(?P<type><[^>]*>|.*))?.*$")
_OBJ_ID = re.compile(r"^__?_?check_obj_id\((?P<source>.*), \d+\)(?:, type=(?P<type><[^>]*>|.*))?.*$")
_OTHER_TYPE = re.compile(
    r"^(?:(?P<accessor>\w+)GuardAccessor: )?(?:(?P<what>Not a function|Not a callable obj|Not a weakref(?: obj)?|null type dict"
    r"|not a tensor - grad field is accessed)(?: on)? |TYPE_MISMATCH\()(?P<source>.*?)\)?$"
)
_FUNCTION = re.compile(r"\.(?:__code__|__closure__|__defaults__|__kwdefaults__)$")
_CONTAINS = re.compile(r"^(?P<no>not )?___dict_contains\((?P<key>.*), (?P<source>[^,]*)\)$")
_SET = re.compile(r"^(?P<no>not )?set\.__contains__\((?P<source>[^,]*), (?P<key>.*)\)$")
_HASATTR = re.compile(r"^(?P<no>not )?hasattr\((?P<source>.*), '(?P<key>[^']*)'\)(?: == (?P<said>True|False))?$")
_LENGTH = re.compile(r"^(?:___tuple_iterator_)?len\((?P<source>.*)\) (?:==|!=) (?P<expected>\d{1,18})$")
_KEY_AT = re.compile(r"^list\(dict\.keys\((?P<source>.*)\)\)\[(?P<at>\d{1,9})\] == (?P<key>.+)$", re.DOTALL)
_KEY_ID = re.compile(r"^__?_?check_obj_id\(list\(dict\.keys\((?P<source>.*)\)\)\[(?P<at>\d{1,9})\], \d+\).*$")
_ALL_KEYS = re.compile(r"^list\((?:dict\.keys\((?P<one>.*)\)|(?P<other>.*)\.keys\(\))\) == (?P<keys>\[.*)$", re.DOTALL)
_ITERATOR = re.compile(r"^___normalize_(?:range|count)_iter\((?P<source>.*)\) == (?P<expected>\(.*\))$")
_MISSING = re.compile(r"^(?:KeyError|IndexError|AttributeError) on (?P<source>.*)$")
_NO_ATTRIBUTE = re.compile(r"^getattr failed on source (?P<source>.*)$")
_FREED = re.compile(r"^Cache line invalidated because (?P<source>.*) got deallocated")
_DUPLICATE = re.compile(r"^Duplicate tensors? found(?: where not expected!?)?:? ?(?P<which>.*)$", re.DOTALL)
_OVERLAP = re.compile(r"^check_overlapping\(overlapping=\[(?P<over>.*)\], non_overlapping=\[(?P<apart>.*)\]\)$")
_NAN = re.compile(r"^\(type\((?P<source>.*)\) is (?:float and __math|complex and __numpy)_isnan\(.*\)\)$")
_NO_NAN = re.compile(r"^not math\.isnan\((?P<source>.*)\)$")
_CONSTANT = re.compile(r"^[A-Za-z_][\w.]*(?:\[(?:\d+|'[^'\\]*')\][\w.]*)* == -?\d+(?:\.\d+)?$")
"""A variable with a number: most failed guards on values. It needs no parser."""
_IS = re.compile(r"^(?P<source>\S.*?) is (?P<no>not )?(?P<other>\S.*)$")
_EQUALS = re.compile(r"^(?P<source>\S.*?) == (?P<value>.+)$", re.DOTALL)
_NOT = re.compile(r"^not (?P<source>[\w.\[\]'\"()]+)$")
_MARKED = re.compile(
    r"_dynamo_(?P<mark>dynamic_indices|weak_dynamic_indices|unbacked_indices|strict_unbacked_indices|static_indices"
    r"|shape_ids|unbacked_bounds)\b"
)
_MARKED_TENSOR = re.compile(r"(?:hasattr|getattr)\((?P<source>[^\n]*?), '_dynamo_")
MARKS = {
    "dynamic_indices": "mark_dynamic", "weak_dynamic_indices": "maybe_mark_dynamic", "unbacked_indices": "mark_unbacked",
    "strict_unbacked_indices": "mark_unbacked(strict=True)", "static_indices": "mark_static",
    "shape_ids": "mark_unbacked(shape_id=…)", "unbacked_bounds": "mark_unbacked(min=…, max=…)",
}  # fmt: skip
"""The calls of `torch._dynamo` that leave an attribute on a tensor."""
OBJECTS = {"code": "function", "builtin_function_or_method": "builtin", "type": "class"}
"""Common names of object types."""


def strip_local(text: str) -> str:
    """Shorten `L['x'].shape` to `x.shape`, as torch does with its reasons."""
    return "".join(_LOCAL.split(text)) if "L[" in text else text


@lru_cache(maxsize=CAUSES_CACHED)
def cause_of(text: str, hint: str = "") -> Cause:
    """Classify a reason. `hint` is torch's comment on the guard."""
    text = strip_local(text.strip())
    for parse in (_tensor, _mark, _state, _check, _number, _container, _condition, _plain):
        if (cause := parse(text)) is not None:
            return _with_origin(cause, hint)
    first, semicolon, _ = text.partition("; ")  # several failed, as TORCH_LOGS=recompiles_verbose makes torch list them
    return cause_of(first, hint) if semicolon else Cause(guard_grammar.OTHER)


_KEYWORD = re.compile(r"^kwargs\['(\w+)'\]")


def short_change(text: str) -> str:
    """Return the change of a tensor in a reason: `x dim 1: 8 → 12`, `x dtype: float32 → float64`; '' for any other reason.

    An argument passed by keyword has its name alone: `kwargs['input_ids']` is `input_ids`.
    """
    cause = cause_of(text)
    if cause.kind not in guard_grammar.TENSORS or not (cause.source and cause.expected and cause.actual):
        return ""
    words = [_KEYWORD.sub(r"\1", guard_grammar.without_numpy(cause.source))]
    if cause.kind != guard_grammar.SIZE:
        words.append(cause.kind.removeprefix("tensor "))
    if cause.dim is not None:
        words.append(f"dim {cause.dim}")
    return f"{' '.join(words)}: {cause.expected} → {cause.actual}"


_GEOMETRY = {"size": guard_grammar.SIZE, "stride": guard_grammar.STRIDE, "rank": guard_grammar.RANK}


def _tensor(text: str) -> Cause | None:
    if match := _NO_TENSOR.match(text):
        return Cause(guard_grammar.TYPE, match["source"], None, "Tensor", type_name(match["type"] or ""))
    match = _TENSOR.match(text)
    if match is None:
        return None
    property_, rest, source = match["what"], match["rest"], match["source"]
    dim = None if match["dim"] is None else int(match["dim"])
    values = _EXPECTED.match(rest)
    expected, actual, note = (values["expected"], values["actual"] or "", values["note"] or "") if values else ("", "", "")
    if property_ in _GEOMETRY:
        return Cause(_GEOMETRY[property_], source, dim, expected, actual, note=note)
    if property_ == "dtype":
        return Cause(guard_grammar.DTYPE, source, None, dtype_name(expected), dtype_name(actual))
    if property_ == "requires_grad":
        needed = expected.endswith("1")
        return Cause(guard_grammar.GRAD, source, None, "yes" if needed else "no", "no" if needed else "yes")
    if property_ == "dispatch key set":
        return compared_dispatch_keys(source, expected, actual)
    device = _DEVICE.search(rest)
    indices = (f"index {device['expected']}", f"index {device['actual']}") if device else ("", "")
    return Cause(guard_grammar.DEVICE, source, None, *indices)


_LAYOUTS = {"SparseCsr": "sparse CSR", "Sparse": "sparse", "Quantized": "quantized", "NestedTensor": "nested", "Mkldnn": "mkldnn"}
_KINDS = {
    "Conjugate": "conjugate view", "Negative": "negative view", "ZeroTensor": "zero tensor", "Python": "tensor subclass",
    "FuncTorchBatched": "inside torch.vmap", "FuncTorchGradWrapper": "inside torch.func.grad", "Functionalize": "functionalized",
    "Batched": "inside torch.vmap", "AutocastCPU": "under autocast", "AutocastCUDA": "under autocast",
}  # fmt: skip
"""Meaning of a dispatch key."""
_SILENT = (
    "ADInplaceOrView", "BackendSelect", "PythonTLSSnapshot", "FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode",
)  # fmt: skip


def compared_dispatch_keys(source: str, expected: str, actual: str) -> Cause:
    """Compare two sets of dispatch keys: by device and layout if the backend differs, else by the differing keys."""
    one, other = _keys(expected), _keys(actual)
    (before, laid), (now, lies) = _backend(one), _backend(other)
    if before and now and before != now:
        return Cause(guard_grammar.DEVICE, source, None, before.lower(), now.lower())
    if laid != lies:
        return Cause(guard_grammar.TENSOR, source, None, laid or "dense", lies or "dense")
    return Cause(guard_grammar.TENSOR, source, None, _kind(one, other), _kind(other, one))


def _keys(text: str) -> list[str]:
    return list(_KEYS.findall(text.partition("(")[2]))


def _backend(keys: list[str]) -> tuple[str, str]:
    """Return device and layout: `SparseCPU` → (`CPU`, `sparse`)."""
    first = next((key for key in keys if f"Autograd{key}" in keys), keys[0] if keys else "")
    for prefix, layout in _LAYOUTS.items():
        if first.startswith(prefix):
            return first.removeprefix(prefix), layout
    return first, ""


def _kind(keys: list[str], other: list[str]) -> str:
    """Describe the dispatch keys that are not in another set."""
    words = []
    if _autograd(keys) != _autograd(other):
        words.append("needs autograd" if _autograd(keys) else "inference tensor")
    words += [_KINDS.get(key, key) for key in keys if key not in (*other, *_SILENT) and not key.startswith("Autograd")]
    return ", ".join(words) or "plain"


def _autograd(keys: list[str]) -> bool:
    return any(key.startswith("Autograd") for key in keys)


def _mark(text: str) -> Cause | None:
    """Parse guards on the marks of mark_dynamic and related functions."""
    if text.startswith("_has_dynamo_dim_marking "):
        return Cause(guard_grammar.MARK, "", None, "no mark", "a mark")
    match = _MARKED.search(text)
    if match is None:
        return None
    mark, tensor = MARKS[match["mark"]], _MARKED_TENSOR.search(text)
    source = tensor["source"] if tensor else ""
    if re.search(r"\bFalse$|should be absent", text):
        return Cause(guard_grammar.MARK, source, None, f"no {mark}", mark)
    subset = re.search(r"runtime (?P<now>\{.*?\}) is not a subset of compiled (?P<before>\{.*?\})", text)
    if subset:
        return Cause(guard_grammar.MARK, source, None, f"{mark} of {subset['before']}", f"{mark} of {subset['now']}")
    before = re.search(r"issubset\((\{.*?\})\)", text)
    return Cause(guard_grammar.MARK, source, None, f"{mark} of {before[1]}" if before else mark, "")


_CHANGED = "GLOBAL_STATE changed:"
_FUNCTIONAL = {
    "torch._functorch.pyfunctorch.compare_functorch_state": "torch.func transforms",
    "torch.autograd.forward_ad": "forward AD level",
    "top_saved_tensors_hooks": "saved tensors hooks",
    "___functorch": "torch.func transforms",
}


def _state(text: str) -> Cause | None:
    """Parse guards on the global state of torch. One setting is one cause."""
    if text.startswith(_CHANGED):
        return _settings(*dict.fromkeys(text.partition(":")[2].split()))
    if text.startswith("___check_torch_function_mode_stack"):
        return _settings("torch function modes")
    if text.startswith("utils_device.CURRENT_DEVICE"):
        return replace(_settings("default device"), expected=text.partition(" == ")[2])
    if text.startswith("___check_global_state"):
        return Cause(guard_grammar.STATE)
    for words, setting in _FUNCTIONAL.items():
        if words in text:
            return _settings(setting)
    return None


def _settings(*names: str) -> Cause:
    return Cause(guard_grammar.STATE, ", ".join(names), settings=names)


def _check(text: str) -> Cause | None:
    """Parse guards that call torch's helpers, and reasons written as sentences."""
    if match := _KEY_ID.match(text):
        return Cause(guard_grammar.KEY, f"list({match['source']})[{match['at']}]", None, "a key", "another key")
    if match := _TYPE_ID.match(text):
        return Cause(guard_grammar.TYPE, match["source"], None, type_name(match["type"] or ""))
    if match := _OBJ_ID.match(text):
        kind = class_name(match["type"] or "")
        expected = f"a {OBJECTS.get(kind, kind)}" if kind else "an object"
        return Cause(guard_grammar.OBJECT, match["source"], None, expected, "another object")
    if match := _OTHER_TYPE.match(text):
        if match["what"] == "Not a function":
            return _no_function(match["accessor"] or "", match["source"])
        return Cause(guard_grammar.TYPE, match["source"])
    if match := _DUPLICATE.match(text):
        tensors = ", ".join(re.findall(r'"([^"]*)"', match["which"]))
        return Cause(guard_grammar.ALIASING, tensors, None, "different tensors", "one tensor")
    if match := _OVERLAP.match(text):
        tensors = ", ".join(part for part in (match["over"], match["apart"]) if part)
        return Cause(guard_grammar.ALIASING, tensors, None, "memory shared as before", "shared otherwise")
    if text.startswith("BACKEND_MATCH failure"):
        return Cause(guard_grammar.BACKEND)
    if text.startswith("Unexpected recompilation"):
        return Cause(guard_grammar.UNEXPECTED)
    if match := _FREED.match(text):
        return Cause(guard_grammar.FREED, match["source"])
    if text.startswith(("___check_metadata_", "__dtensor_spec_")):
        expected = "DTensor spec" if text.startswith("__d") else "metadata of a subclass"
        return Cause(guard_grammar.TENSOR, "", None, expected, "another")
    return Cause(guard_grammar.TENSOR, text[13:].partition(", ")[0].strip("()")) if text.startswith("check_tensor(") else None


def _no_function(accessor: str, source: str) -> Cause:
    """Return the cause of `ClosureGuardAccessor: Not a function on f.__closure__`.

    torch/csrc/dynamo/guards.cpp prints it for a function without a closure, or without default values, too. A function with a
    closure and one without have different code.
    """
    function = _FUNCTION.sub("", source)
    if accessor.startswith("Closure"):
        return Cause(guard_grammar.OBJECT, f"{function}.__code__", None, "a function", "another object")
    if "Defaults" in accessor:
        return Cause(guard_grammar.OBJECT, function, None, "a function with default values", "another object")
    return Cause(guard_grammar.TYPE, function, None, "function")


def _number(text: str) -> Cause | None:
    """Parse guards on NaN, for which torch has special ones, as it equals no number."""
    if match := _NAN.match(text):
        return Cause(guard_grammar.FLOAT if " is float " in text else guard_grammar.VALUE, match["source"], None, "nan")
    match = _NO_NAN.match(text)
    return Cause(guard_grammar.FLOAT, match["source"], None, "a number", "nan") if match else None


def _container(text: str) -> Cause | None:
    if match := _CONTAINS.match(text) or _SET.match(text) or _HASATTR.match(text):
        absent = (match["no"] is not None) != (match.groupdict().get("said") == "False")
        states = ("not there", "there") if absent else ("there", "not there")
        key = match["key"] if match.re is not _HASATTR else f".{match['key']}"
        source = match["source"].removesuffix(".__dict__")
        return Cause(guard_grammar.KEY, f"{source}{key}" if key[0] == "." else f"{source}[{key}]", None, *states)
    if match := _LENGTH.match(text):
        return Cause(guard_grammar.LENGTH, match["source"], None, match["expected"])
    if match := _KEY_AT.match(text):
        return Cause(guard_grammar.KEY, f"list({match['source']})[{match['at']}]", None, match["key"])
    if match := _ALL_KEYS.match(text):
        return Cause(guard_grammar.KEY, f"list({match['one'] or match['other']})", None, match["keys"])
    if match := _ITERATOR.match(text):
        return Cause(guard_grammar.VALUE, match["source"], None, match["expected"])
    if match := _NO_ATTRIBUTE.match(text):
        return Cause(guard_grammar.KEY, match["source"], None, "an attribute", "not there")
    if match := _NOT.match(text):
        return Cause(guard_grammar.LENGTH, match["source"], None, "0")
    if match := _MISSING.match(text):
        return Cause(guard_grammar.KEY, match["source"], None, "there", "not there")
    return None


def _condition(text: str) -> Cause | None:
    """Parse a guard on symbols, named by its first size or number."""
    if _CONSTANT.match(text) and ".shape[" not in text:
        return None
    condition = condition_of(text)
    if condition is None or _is_value(condition):
        return None
    term = condition.terms[0]
    return Cause(guard_grammar.CONDITION, term.source, term.dim, text)


def _is_value(condition: Condition) -> bool:
    """Return whether a condition is on a constant (`n == 3`, `d == torch.float64`), not on sizes."""
    equals = _EQUALS.match(condition.text)
    if condition.kind != guard_grammar.EQUAL or equals is None or any(not term.is_number for term in condition.terms):
        return False
    constant = condition.parts[0].bound is not None
    name = condition.terms[0].text == equals["source"] and len(condition.terms) <= 2
    return name and (constant or bool(re.match(r"torch\.|[A-Z]\w+$|\w+\(", equals["value"])))


def _plain(text: str) -> Cause | None:
    if match := _EQUALS.match(text):
        value = match["value"]
        return Cause(value_kind(value), match["source"], None, value)
    match = _IS.match(text)
    if match is None or " " in match["source"]:
        return None
    if match["other"] == "None":
        values = (guard_grammar.SOMETHING, "None") if match["no"] else ("None", guard_grammar.SOMETHING)
        return Cause(guard_grammar.VALUE, match["source"], None, *values)
    return Cause(guard_grammar.ALIASING, f"{match['source']}, {match['other']}", None, "one object", "different objects")


_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\[|\.training$")


def _with_origin(cause: Cause, hint: str) -> Cause:
    """Reclassify a value that is no argument by its origin."""
    if cause.kind not in guard_grammar.VALUES:
        return cause
    source = cause.source
    if "__closure__" in source or "cell_contents" in source or 'guard on "' in hint:
        if cause.kind in guard_grammar.NUMBERS and not source.startswith("G["):
            return cause  # torch makes it dynamic like an argument; what a global leads to is constant
        return replace(cause, kind=guard_grammar.CLOSURE, value=cause.kind)
    if _MODULE.search(source) or "attributes of the nn.Module" in hint:
        return as_attribute(cause)
    return replace(cause, kind=guard_grammar.GLOBAL, value=cause.kind) if source.startswith("G[") else cause


def class_name(text: str) -> str:
    """Return the name in `<class 'torch.nn.parameter.Parameter'>`: `torch.nn.parameter.Parameter`."""
    match = re.match(r"^<(?:class|enum|flag) '(.*)'>$", text.strip())
    return match[1] if match else text.strip()


_SHORT_TYPES = {"torch.Tensor": "Tensor", "torch.nn.parameter.Parameter": "Parameter"}


def type_name(text: str) -> str:
    """Return the name of a type in one spelling: `Tensor`, as torch has it in some guards, for `<class 'torch.Tensor'>` too."""
    name = class_name(text)
    return _SHORT_TYPES.get(name, name)


_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
    "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128", "ComplexHalf": "complex32",
}  # fmt: skip


def dtype_name(text: str) -> str:
    """Return the Python name of a C++ dtype: `Double` is float64."""
    return _DTYPES.get(text, text)
