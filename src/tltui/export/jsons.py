"""A result → JSON."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
import sys
from typing import Any

from tltui.text.json_codec import dumps
from tltui.text.sanitize import BEYOND

LEVELS = 250
"""Objects and lists in one another that a result is printed with: as many as orjson takes."""
_ACTED_ON = re.compile(f"[{BEYOND}]")


def to_json(value: Any, indent: bool = True) -> bytes:
    """A result as JSON: dataclasses and named tuples become objects, enums their values, tuples and ranges lists, numbers that
    JSON has no words for null. What a terminal would act on is written as an escape, which is the same JSON."""
    try:
        return _shown(dumps(value, indent=indent, default=_default, non_str_keys=True))
    except TypeError:  # integers beyond 64 bit, lone surrogates and depth are legal in a trace
        return _by_hand(value, indent)


def _by_hand(value: Any, indent: bool) -> bytes:
    """The same, with the slower encoder of Python, which takes them."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 16 * LEVELS))
    try:
        return json.dumps(_plain(value), indent=2 if indent else None, allow_nan=False).encode()
    finally:
        sys.setrecursionlimit(before)


def _plain(value: Any, level: int = 0) -> Any:
    """A result in terms of JSON."""
    if isinstance(value, enum.Enum):
        return _plain(value.value, level)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if level > LEVELS:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {_key(key): _plain(item, level + 1) for key, item in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [_plain(item, level + 1) for item in value]
    return _plain(_default(value), level)


def _key(key: Any) -> str:
    """A key as orjson writes it."""
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _default(value: Any) -> Any:
    """What JSON has no words for, one step nearer to it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, (tuple, range)):
        return list(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _shown(data: bytes) -> bytes:
    """JSON without what a terminal would act on: it can only stand in strings, which have another spelling for it."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTED_ON.sub(lambda match: json.dumps(match[0])[1:-1], data.decode()).encode()
