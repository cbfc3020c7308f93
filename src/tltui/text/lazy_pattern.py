"""Regular expressions that are compiled when they are first used.

Compiling takes 0.05–0.6 ms each, and a command uses few of the hundreds that its modules declare. Use it in modules that many
commands import and that most traces do not need.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = (
    "search", "match", "fullmatch", "sub", "subn", "finditer", "findall", "split", "pattern", "flags", "groups", "groupindex",
)  # fmt: skip


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an object with the methods of `re.compile(pattern, flags)`; the first use raises `re.error` for a bad pattern."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


class LazyPattern:
    """An expression that is not compiled yet; its methods are those of the compiled one from the first use on."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_source" not in vars(self):
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)
