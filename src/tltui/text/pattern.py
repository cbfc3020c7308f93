r"""What people type to search for: smart case, and what becomes of text that is no regular expression.

Small letters match capitals too; a capital in the pattern makes case matter. What only looks like a capital does not: `\S` is a
class, the P of `(?P<name>` and the name are syntax. A character that is given by its number (`\x4A`) is that character.
Search in pages and payloads, grep, and the filters of the tree, of documents and of guards all mean this.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tltui.text.resume_names import either

_SYNTAX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{[^}]*\}|.)|\(\?P[<=>][^<=>()]*[>)]", re.DOTALL)


def heeds_case(pattern: str) -> bool:
    """Whether case matters to a pattern: whether there is a capital in what it looks for."""
    return any(letter.isupper() for letter in _SYNTAX.sub(_character, pattern))


def _character(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    return chr(int(number, 16)) if number and int(number, 16) <= 0x10FFFF else ""


def flags_of(pattern: str) -> int:
    """What `re.compile` is given beside the pattern."""
    return 0 if heeds_case(pattern) else re.IGNORECASE


@lru_cache(maxsize=64)
def compiled(text: str) -> re.Pattern[str]:
    """The regular expression that `text` is; text that is none is looked for as it stands. What names the rest of a function behind
    a graph break finds both of its names."""
    try:
        re.compile(text)  # as it was typed: what is wrong in it is not mended
        return re.compile(either(text), flags_of(text))
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(text), 0 if any(letter.isupper() for letter in text) else re.IGNORECASE)
