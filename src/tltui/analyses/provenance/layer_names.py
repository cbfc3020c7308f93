"""What modules are called in guards and exported programs, and how their paths lie to each other.

A graph that export made has a list of its inputs beside it that says their paths, which their names do not.
"""

from __future__ import annotations

import re

from tltui.analyses.provenance.layered import MERGED
from tltui.text.graphs.module_names import Parameter, unwrapped

_SIGNATURE = re.compile(r"^\s*#?\s*(?P<name>\w+): (?:PARAMETER|BUFFER)\b[^\n]*?target='(?P<path>[^'\n]+)'", re.M)
_MODULE = re.compile(r"_modules\['([^'\]]+)'\]")
_SOURCE = re.compile(r"^[LG]\['(\w+)'\]")
_STEP = re.compile(r"\.(\w+)|\['([^'\]]+)'\]|\[(\d+)\]")
_NUMBER = re.compile(r"(?:^|\.)\d+(?=\.|$)")


def signature_of(text: str) -> dict[str, Parameter]:
    """The parameters of an exported program: name in the graph → its module, as the list behind the graph says."""
    found = {}
    for line in _SIGNATURE.finditer(text):
        *modules, own = line["path"].split(".")
        found[line["name"]] = Parameter("", unwrapped(tuple(modules)), own)
    return found


def source_path(source: str) -> tuple[str, tuple[str, ...]] | None:
    """`L['self']._modules['layers']._modules['0']` → `self` and `layers`, `0`. None for what is held by no variable."""
    root = _SOURCE.match(source)
    if root is None:
        return None
    rest = source[root.end() :]
    if not rest or "_modules[" in rest:
        return root[1], unwrapped(tuple(_as_in_names(word) for word in _MODULE.findall(rest)))
    steps = [a or b or c for a, b, c in _STEP.findall(rest)]
    return root[1], unwrapped(tuple(map(_as_in_names, steps)))


def _as_in_names(word: str) -> str:
    """A module as Dynamo writes it into names."""
    return re.sub(r"[^a-zA-Z0-9]+", "_", word).strip("_")


def merged(path: str) -> str:
    """The path with its numbers as `*`: what iterations have in common."""
    return _NUMBER.sub(lambda found: found[0].rstrip("0123456789") + MERGED, path) if any(map(str.isdigit, path)) else path


def is_below(path: str, other: str) -> bool:
    """Whether a module is `other` or in it."""
    return not other or path == other or path.startswith(other + ".")
