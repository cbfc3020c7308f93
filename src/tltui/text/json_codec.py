"""JSON by orjson, or by the standard library where orjson is not there: the same values, the same bytes, the same refusals.

orjson is compiled, so a node without pip may lack it. What it reads and writes is the rule here (RFC 8259, strictly): no NaN, no
half of a surrogate pair, 64 bits for an integer (a larger one is read as a float), 1,024 levels read and 254 written, no byte order
mark, nothing that is not UTF-8. `standard` below does the same with `json`; `tests/unit/test_json_codec.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment, unused-ignore]

__all__ = ["BACKEND", "JSONDecodeError", "JSONEncodeError", "dumps", "loads"]

JSONEncodeError = TypeError
"""What `dumps` raises for a value that JSON has no words for; orjson's own is the same."""

loads: Callable[[bytes | str], Any]
"""A JSON text → its value. Raises `JSONDecodeError`."""
dumps: Callable[..., bytes]
"""`dumps(value, *, indent=False, default=None, non_str_keys=False)`: a value → UTF-8.

`indent` lays it out by two blanks a level; `default` makes of what JSON has no words for something else; with `non_str_keys`
numbers, None and enums are keys too. Dataclasses are objects of their attributes, enums their values, NaN and infinities null.
Raises `JSONEncodeError`.
"""
BACKEND: str
"""Which one does it, with its version."""

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
    from tltui.text import json_standard

    loads, dumps = json_standard.loads, json_standard.dumps
    BACKEND = "the standard library of Python (orjson is not installed: slower, the same pages)"
