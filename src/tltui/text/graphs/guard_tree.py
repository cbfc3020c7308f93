"""Parser of the text of a guard tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tltui.text.frozen import frozen

_NODE = re.compile(r"^((?:\| )*)\+- (.*)$")
_LATENCY = re.compile(r"^Guard (?:eval )?latency = ([\d.]+) us")
_PAIR = re.compile(r"^KeyValueManager pair at index=(\d+)$")
_SIDE = re.compile(r"^(KeyManager|ValueManager): (.*)$")
_MANAGER = re.compile(r"^(\w*GuardManager)(?:: source=(.*))?$")
_LEAF = re.compile(r"^([A-Z][A-Z0-9_]*)(?:: (.*))?$")
_PLACE = re.compile(r"# (\S+?):(\d+) in (\S+)(?:\s+\((.*))?$")


class GuardNode(NamedTuple):
    """One manager or guard. `parent` is the place of the manager above it in `GuardTree.nodes`, -1 for the root."""

    line: int
    depth: int
    parent: int
    kind: str
    """`GuardManager`, `TENSOR_MATCH`, …; `KeyValueManager` for a pair."""
    source: str = ""
    """What a manager looks at, e.g. `L['x']`."""
    accessed_by: str = ""
    type_name: str = ""
    tag_safe: bool = False
    side: str = ""
    """`KeyManager` or `ValueManager` inside of a pair."""
    expression: str = ""
    """What a guard checks; the index of a pair."""
    code: str = ""
    """The user's line that made the guard."""
    path: str = ""
    place: int = 0
    """The line number in `path`."""
    function: str = ""
    hint: str = ""
    """What torch adds in parentheses."""

    @property
    def is_manager(self) -> bool:
        """A manager has children and checks nothing itself."""
        return self.kind.endswith("Manager")


@frozen
class GuardTree:
    """The nodes in the order of their lines."""

    nodes: tuple[GuardNode, ...]
    latency_us: float | None
    unknown: tuple[int, ...]
    """Lines that are no part of the grammar."""


def parse(lines: Iterable[str]) -> GuardTree:
    """Parse the lines of a guard tree."""
    nodes: list[GuardNode] = []
    unknown: list[int] = []
    latency: float | None = None
    for n, item in enumerate(walk(lines)):
        if isinstance(item, GuardNode):
            nodes.append(item)
        elif isinstance(item, float):
            latency = item
        elif item:
            unknown.append(n)
    return GuardTree(tuple(nodes), latency, tuple(unknown))


def walk(lines: Iterable[str]) -> Iterator[GuardNode | float | bool]:
    """Yield the meaning of each line: a node; the latency; True for one outside the grammar."""
    path: list[int] = []  # the managers above the line, by depth
    count = 0
    for n, line in enumerate(lines):
        match = _NODE.match(line)
        if match is None:
            time = _LATENCY.match(line)
            latency = _number(time[1]) if time else None
            yield latency if latency is not None else not time and bool(line.strip()) and not line.startswith("TREE_GUARD_MANAGER")
            continue
        depth = min(len(match[1]) // 2, len(path))
        if depth == 0 and path and not match[2].startswith("RootGuardManager"):
            depth = 1
        del path[depth:]
        node = _node(n, depth, path[-1] if path else -1, match[2].rstrip())
        if node is None:
            yield True
            continue
        path.append(count)
        count += 1
        yield node


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _node(line: int, depth: int, parent: int, text: str) -> GuardNode | None:
    if text[:1].isupper() and "Manager" not in text[:32]:
        return _leaf(line, depth, parent, text)
    pair = _PAIR.match(text)
    if pair:
        return GuardNode(line, depth, parent, "KeyValueManager", expression=pair[1])
    side = _SIDE.match(text)
    if side:
        text = side[2]
    manager = _MANAGER.match(text)
    if manager:
        guard_type, _, safe = (manager[2] or "").partition(", tag_safe=(")
        guard_type, type_name = _cut_type(guard_type)
        source, _, accessed_by = guard_type.partition(", accessed_by=")
        tag_safe = safe.startswith("True")
        return GuardNode(line, depth, parent, manager[1], source, accessed_by, type_name, tag_safe, side[1] if side else "")
    return _leaf(line, depth, parent, text)


def _cut_type(text: str) -> tuple[str, str]:
    """Cut `, type=<…>` off the end."""
    head, separator, type_name = text.rpartition(", type=<")
    return (head, "<" + type_name) if separator and type_name.endswith(">") else (text, "")


def _leaf(line: int, depth: int, parent: int, text: str) -> GuardNode | None:
    """Parse a guard from the right: its check, then the user's line, then the file of that line."""
    leaf = _LEAF.match(text)
    if leaf is None:
        return None
    kind, remainder = leaf[1], leaf[2] or ""
    path, place, function, hint = "", 0, "", ""
    where = _where(remainder)
    if where:
        path, place, function, hint = where[1], int(where[2][:9]), where[3], (where[4] or "").removesuffix(")")
        remainder = remainder[: where.start()]
    expression, _, code = remainder.partition("  # ")
    expression, type_name = _cut_type(expression.rstrip())
    return GuardNode(
        line, depth, parent, kind, "", "", type_name, False, "", expression, code.strip(), path, place, function, hint
    )  # fmt: skip


def _where(text: str) -> re.Match[str] | None:
    """`# PATH:LINE in FUNCTION` at the end of a guard. (A search for it would look at every character.)"""
    at = text.find("# ")
    while at >= 0:
        if (at == 0 or text[at - 1].isspace()) and (match := _PLACE.match(text, at)):
            return match
        at = text.find("# ", at + 1)
    return None
