"""What is known of a regular expression before it runs: whether it could run for ever."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_parse as parser

CHOICES = 64
"""Ways to match at one place that a simple expression may have at most."""
_BY_LINE = re.compile(r"\(\?[=!<>(]|\(\?[aiLmux-]*[sx]|\\[AZzWDNsx0-7nrtfvuU]|\[\^|[*+?}]\+|\[[^\]]*[\\\x00-\x1f]|\n")
"""What may behave otherwise, or run on and on, when more than one line is in sight."""
_ONE = frozenset(("LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE", "CATEGORY"))
"""What stands for one character."""


class _NotSimpleError(Exception):
    """The expression may try more ways than it is worth to count."""


def is_by_line(source: str) -> bool:
    """Whether an expression must see one line at a time."""
    return _BY_LINE.search(source) is not None


@lru_cache(maxsize=64)
def is_simple(pattern: re.Pattern[Any]) -> bool:
    """Whether the time that it takes is sure to grow with the text only, at most `CHOICES` times its length.

    A repeat without end is simple where nothing follows that could fail. Everything else (`.*x`, `(a+)+$`, references back)
    may need the square of a line's length or far more, and while it runs no other thread does.
    """
    try:
        _choices(parser.parse(pattern.pattern, pattern.flags).data, True)
    except (_NotSimpleError, re.error, RecursionError, ValueError):
        return False
    return True


def _choices(parts: Sequence[Any], is_last: bool) -> int:
    """Ways in which a sequence can match at one place. Raises `_NotSimpleError`."""
    ways = 1
    for place, (code, argument) in enumerate(parts):
        name = str(code)
        ends = is_last and place == len(parts) - 1
        if name in _ONE or name == "AT":
            continue
        if name == "SUBPATTERN":
            ways *= _choices(argument[-1].data, ends)
        elif name == "BRANCH":
            ways *= sum(_choices(branch.data, ends) for branch in argument[1])
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inside = argument
            ways *= _repeated(least, most, inside.data, ends)
        else:
            raise _NotSimpleError
        if ways > CHOICES:
            raise _NotSimpleError
    return ways


def _repeated(least: int, most: int, parts: Sequence[Any], is_last: bool) -> int:
    if len(parts) == 1 and str(parts[0][0]) in _ONE:
        return 1 if is_last or least == most else int(most) - int(least) + 1
    if int(most) == 1:
        return 1 + _choices(parts, False)
    raise _NotSimpleError
