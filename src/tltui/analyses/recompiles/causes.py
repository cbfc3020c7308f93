"""The classes of causes: what a failed guard can have been about."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SIZE, STRIDE, RANK, DTYPE, DEVICE = "tensor size", "tensor stride", "tensor rank", "tensor dtype", "tensor device"
GRAD, TENSOR, MARK = "requires_grad", "tensor kind", "dimension mark"
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
    MARK: "a tensor came with another mark: mark_dynamic …",
    INT: "a Python int had another value",
    FLOAT: "a Python float had another value",
    BOOL: "a Python bool had another value",
    STR: "a string differed",
    VALUE: "a Python value differed",
    TYPE: "an object had another type",
    OBJECT: "it was another object (function, class, module …)",
    STATE: "a setting of torch differed: grad mode, autocast …",
    ATTRIBUTE: "an attribute of an nn.Module had another value",
    CLOSURE: "a variable of an enclosing function had another value",
    GLOBAL: "a global had another value",
    CONDITION: "a condition on sizes or numbers did not hold",
    LENGTH: "a container had another length",
    KEY: "other keys or attributes, or another order of them",
    ALIASING: "two arguments were one object, or were not",
    BACKEND: "torch.compile was called with another backend object",
    FREED: "an object that the compiled code belongs to no longer existed",
    UNEXPECTED: "no guard failed: torch calls this a bug of its own",
    OTHER: "a reason that tltui does not know",
}
"""The classes, and what each says."""

VALUES = frozenset((INT, FLOAT, BOOL, STR, VALUE))
NAMED = frozenset((ATTRIBUTE, CLOSURE, GLOBAL))
"""Values that are named by where they come from."""
TENSORS = frozenset((SIZE, STRIDE, RANK, DTYPE, DEVICE, GRAD, TENSOR))
SOMETHING = "something"
"""What was there instead of None: torch does not say what."""


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
    settings: tuple[str, ...] = ()
    """Of the global state: each setting that differed."""
    note: str = ""
    """What torch adds in words."""


_FLOAT = re.compile(r"^-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf|nan)$")


def value_kind(text: str) -> str:
    """The class of a Python value, by its `repr`."""
    if text in ("True", "False"):
        return BOOL
    if text.lstrip("-").isdigit():
        return INT
    if _FLOAT.match(text):
        return FLOAT
    return STR if text[:1] in ("'", '"') else VALUE


def as_attribute(cause: Cause) -> Cause:
    """The same cause, now that its source is known to be an attribute of an nn.Module."""
    return replace(cause, kind=ATTRIBUTE, value=cause.kind) if cause.kind in VALUES else cause


def is_value(text: str) -> bool:
    """Whether a text is a value that was met, and not what is known instead of it."""
    return bool(text) and text != SOMETHING and not text.startswith(("some ", "a ", "an ", "another "))
