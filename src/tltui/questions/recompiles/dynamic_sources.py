"""Values of `TORCH_COMPILE_DYNAMIC_SOURCES` and `TORCH_COMPILE_UNBACKED_SOURCES`: dynamic sizes and ints without an edit.

Torch removes all spaces, splits the value at commas, and matches each entry as a regular expression at the start of a source
(`is_dynamic_source` in torch/_dynamo/variables/builder.py). An entry is therefore an escaped expression that ends in `$`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

VARIABLE = "TORCH_COMPILE_DYNAMIC_SOURCES"
UNBACKED = "TORCH_COMPILE_UNBACKED_SOURCES"
CONFIGS = {VARIABLE: "torch.compiler.config.dynamic_sources", UNBACKED: "torch.compiler.config.unbacked_sources"}
"""The variables, and the settings in Python."""
_KEY = r"""\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\[\]'"]*)\]"""
_LOCAL = re.compile(rf"^(?P<name>[^\W\d]\w*)(?P<rest>(?:\.[^\W\d]\w*|{_KEY})*)$")
_ARGUMENT = re.compile(r"^[^\W\d]\w*(?:\[[^\[\]]*\])*$")
_OF_A_WRAPPER = re.compile(r"^(?:args|kwargs|kwds|inputs)\[")
_ESCAPES = {" ": r"\x20", ",": r"\x2c", "'": r"\x27", '"': r"\x22", ":": r"\x3a", "\n": r"\n"}


def is_argument(source: str, is_foreign: bool) -> bool:
    """Return whether the author of a program can mark a tensor by this name.

    `is_foreign`: the function is of torch or a library, whose variables the program does not have.
    """
    return not is_foreign and bool(_ARGUMENT.match(source)) and not _OF_A_WRAPPER.match(source)


def full_source(source: str) -> str | None:
    """Return the source as torch names it: `L['x']` for `x`; None for an expression."""
    if source.startswith("G["):
        return source
    match = _LOCAL.match(source)
    return f"L['{match['name']}']{match['rest']}" if match else None


def entry_of(source: str) -> str:
    """Return an expression that matches a source as torch names it, and no other source."""
    return "".join(_ESCAPES.get(char) or re.escape(char) for char in source) + "$"


def value_of(sources: Iterable[str]) -> str:
    """Return the value of the variable for sources, `L[…]` shortened; '' if torch cannot match one of them."""
    entries: dict[str, None] = {}
    for source in sorted(sources):
        name = full_source(source)
        if name is None:
            return ""
        entries[entry_of(name)] = None
    return ",".join(entries)


def assignment(value: str, variable: str = VARIABLE) -> str:
    """Return the assignment for a shell."""
    return f"{variable}={shlex.quote(value)}"


def statement(value: str, variable: str = VARIABLE) -> str:
    """Return the same setting in Python."""
    return f"{CONFIGS[variable]} = {value!r}"
