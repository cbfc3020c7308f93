"""JSON by orjson, or by the standard library where orjson is not there: the same values, the same bytes, the same refusals.

orjson is compiled, so a node without pip may lack it. What it reads and writes is the rule here (RFC 8259, strictly): no NaN, no
half of a surrogate pair, 64 bits for an integer (a larger one is read as a float), 1,024 levels read and 254 written, no byte order
mark, nothing that is not UTF-8. `standard_loads` and `standard_dumps` do the same with `json`, and `tests/unit/test_json_codec.py`
compares the two. Where `json` is more lenient than orjson, a cheap test of the text decides whether the text or the value needs a
second pass.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import re
import sys
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring
from typing import Any, NoReturn

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment, unused-ignore]

__all__ = ["BACKEND", "JSONDecodeError", "JSONEncodeError", "dumps", "loads", "standard_dumps", "standard_loads"]

JSONEncodeError = TypeError
"""The error of `dumps` for a value without a JSON form; that of orjson is the same."""

loads: Callable[[bytes | str], Any]
"""Parse a JSON text. Raises `JSONDecodeError`."""
dumps: Callable[..., bytes]
"""`dumps(value, *, indent=False, default=None, non_str_keys=False)`: a value → UTF-8.

`indent` lays it out by two blanks a level; `default` replaces a value without a JSON form; with `non_str_keys`
numbers, None and enums are keys too. Dataclasses are objects of their attributes, enums their values, NaN and infinities null.
Raises `JSONEncodeError`.
"""
BACKEND: str
"""The library in use, with its version."""

READ, WRITTEN = 1024, 254
"""Levels of objects and lists that orjson reads and writes."""
SMALLEST, LARGEST = -(1 << 63), (1 << 64) - 1
DEFAULTS = 255
"""How often `default` may be asked in a row for one value."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F])|.)", re.DOTALL)
"""A pair of halves, half of one (group 1), or any other escape."""
_STRANGE_NUMBER = re.compile(r"\d{19}|[eE]\+?\d{3}")
"""Where a number may be that Python reads otherwise: beyond 64 bits, an infinity."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def _integer(text: str) -> int | float:
    value = int(text) if len(text) < 25 else None
    return value if value is not None and SMALLEST <= value <= LARGEST else _float(text)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("number is infinity when parsed as double")
    return value


_quick = JSONDecoder(parse_constant=_no_constant).decode
_exact = JSONDecoder(parse_constant=_no_constant, parse_int=_integer, parse_float=_float).decode


def standard_loads(data: bytes | str) -> Any:
    """Parse a JSON text. Raises `JSONDecodeError`."""
    try:
        text = data if isinstance(data, str) else str(data, "utf-8")
        if isinstance(data, str) and not data.isascii():
            data.encode()
        if _SURROGATE.search(text) is not None and any(match[1] for match in _ESCAPE.finditer(text)):
            raise JSONDecodeError("half of a surrogate pair", text, 0)
        value = _deep(_exact if _STRANGE_NUMBER.search(text) is not None else _quick, text)
        if text.count("[") + text.count("{") > READ and _is_too_deep(value):
            raise JSONDecodeError("depth limit exceeded", text, 0)
        return value
    except JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise JSONDecodeError(str(error), "", 0) from None


def _deep(decode: Callable[[str], Any], text: str) -> Any:
    """Decode a text; before Python 3.12 the recursion limit of the interpreter counts its levels too."""
    try:
        return decode(text)
    except RecursionError:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(before + 2 * READ)
        try:
            return decode(text)
        finally:
            sys.setrecursionlimit(before)


def _is_too_deep(value: Any) -> bool:
    """Return whether a value has more levels than orjson reads. One that a later equal key has replaced is not counted."""
    level = [value] if type(value) in (dict, list) else []
    for _ in range(READ):
        level = [x for outer in level for x in (outer.values() if type(outer) is dict else outer) if type(x) in (dict, list)]
        if not level:
            return False
    return True


def standard_dumps(
    value: object, *, indent: bool = False, default: Callable[[Any], Any] | None = None, non_str_keys: bool = False
) -> bytes:
    """Serialize a value to UTF-8 JSON, as `dumps` does. Raises TypeError."""
    encoder = _Encoder(indent, default, non_str_keys)
    encoder.write(value, 0)
    try:
        return "".join(encoder.parts).encode()
    except UnicodeEncodeError:
        raise TypeError("str is not valid UTF-8: surrogates not allowed") from None


class _Encoder:
    """A value that is written to text."""

    def __init__(self, indent: bool, default: Callable[[Any], Any] | None, non_str_keys: bool) -> None:
        self.parts: list[str] = []
        self._indent, self._default, self._non_str_keys = indent, default, non_str_keys

    def write(self, value: Any, level: int, depth: int = 0) -> None:
        """Append a value at nesting level `level`; `depth`: number of `default` calls for it so far."""
        kind = type(value)
        if kind is str:
            self.parts.append(encode_basestring(value))
        elif (simple := _simple(value, kind)) is not None:
            self.parts.append(simple)
        elif kind is dict:
            self._object(value, level)
        elif kind is list or kind is tuple:
            self._list(value, level)
        elif isinstance(value, enum.Enum):
            self.write(value.value, level)
        elif isinstance(value, str):
            self.parts.append(encode_basestring(value))
        elif isinstance(value, int):
            self.parts.append(_int(value))
        elif isinstance(value, list):
            self._list(value, level)
        elif isinstance(value, dict):
            self._object(value, level)
        elif dataclasses.is_dataclass(kind):
            self._object(_attributes(value), level)
        elif self._default is None:
            raise TypeError(f"Type is not JSON serializable: {kind.__name__}")
        elif depth >= DEFAULTS:
            raise TypeError("default serializer exceeds recursion limit")
        else:
            self.write(self._default(value), level, depth + 1)

    def _list(self, values: Any, level: int) -> None:
        if level >= WRITTEN:
            raise TypeError("Recursion limit reached")
        if not values:
            self.parts.append("[]")
            return
        separator, end = self._separators(level)
        parts, write = self.parts, self.write
        parts.append("[" + separator)
        for number, value in enumerate(values):
            if number:
                parts.append("," + separator)
            write(value, level + 1)
        parts.append(end + "]")

    def _object(self, values: dict[Any, Any], level: int) -> None:
        if level >= WRITTEN:
            raise TypeError("Recursion limit reached")
        if not values:
            self.parts.append("{}")
            return
        separator, end = self._separators(level)
        colon = ": " if self._indent else ":"
        parts, write = self.parts, self.write
        before = "{" + separator
        for key, value in values.items():
            parts.append(before + encode_basestring(key if type(key) is str else self._key(key)) + colon)
            write(value, level + 1)
            before = "," + separator
        parts.append(end + "}")

    def _separators(self, level: int) -> tuple[str, str]:
        """Return the separators before each value of this level and before its closing bracket."""
        return ("\n" + "  " * (level + 1), "\n" + "  " * level) if self._indent else ("", "")

    def _key(self, key: Any) -> str:
        if not self._non_str_keys:
            raise TypeError("Dict key must be str")
        if isinstance(key, enum.Enum):
            key = key.value
        if isinstance(key, str):
            return key[:]
        simple = _simple(key, int if isinstance(key, int) and not isinstance(key, bool) else type(key))
        if simple is None:
            raise TypeError("Dict key must a type serializable with OPT_NON_STR_KEYS")
        return simple


def _simple(value: Any, kind: type) -> str | None:
    """Return the text of a number, a truth value or None; None for any other value."""
    if kind is int:
        return _int(value)
    if kind is float:
        return _float_text(value)
    if value is None:
        return "null"
    return ("true" if value else "false") if kind is bool else None


def _int(value: int) -> str:
    if not SMALLEST <= value <= LARGEST:
        raise TypeError("Integer exceeds 64-bit range")
    return int.__repr__(value)


def _float_text(value: float) -> str:
    """Return the shortest digits of a float in orjson's layout: `0.00001` and `1e-6`, where Python has `1e-05`."""
    if not math.isfinite(value):
        return "null"
    text = float.__repr__(value)
    digits, sign, exponent = text.partition("e-")
    if not sign or len(exponent) > 2:
        return text
    if exponent != "05":
        return f"{digits}e-{exponent.lstrip('0')}"
    minus, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    return f"{minus}0.0000{digits.replace('.', '')}"


def _attributes(value: Any) -> dict[str, Any]:
    """Return the public attributes of a dataclass; without slots also those set later."""
    if hasattr(value, "__dict__") and "__slots__" not in type(value).__dict__:
        fields = vars(value)
    else:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: attribute for name, attribute in fields.items() if not name.startswith("_")}


if orjson is not None:
    _PLAIN, _INDENTED = 0, orjson.OPT_INDENT_2

    def _dumps(
        value: object, *, indent: bool = False, default: Callable[[Any], Any] | None = None, non_str_keys: bool = False
    ) -> bytes:
        option = (_INDENTED if indent else _PLAIN) | (orjson.OPT_NON_STR_KEYS if non_str_keys else 0)
        return orjson.dumps(value, default=default, option=option)

    loads, dumps = orjson.loads, _dumps
    BACKEND = f"orjson {orjson.__version__}"
else:
    loads, dumps = standard_loads, standard_dumps
    BACKEND = "Python's standard library (orjson is not installed: slower, same pages)"
