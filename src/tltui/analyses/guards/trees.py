"""What is found in the text of a guard tree. Many compiles have the same one: what was found in one is true of all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tltui.analyses.counted import Count, counts
from tltui.analyses.guards.guard_lines import LIMIT, GuardText, guard_text
from tltui.analyses.parts import parsed, reader_of
from tltui.analyses.recompiles.causes import Cause
from tltui.model.nodes import Compile
from tltui.model.parts import MISSING
from tltui.text.graphs.guard_tree import GuardNode, walk

KEPT = 1 << 18
"""Bytes of a guard tree up to which its nodes are kept."""
_KIND = re.compile(rb"^(?:\| )*\+- (?:(?:Key|Value)Manager: )?(\w+)", re.MULTILINE)
_LATENCY = re.compile(rb"^Guard (?:eval )?latency = ([\d.]{1,20}) us", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TreeCounts:
    """How much is in a guard tree."""

    guards: int
    managers: int
    kinds: tuple[Count, ...]
    """The most frequent first."""


@parsed
def tree_of(text: bytes) -> TreeCounts:
    """Count the guards of a tree: a search through the text, which is not parsed."""
    kinds = Counter(_KIND.findall(text))
    managers = sum(count for kind, count in kinds.items() if kind.endswith(b"Manager"))
    guards = Counter({k.decode("ascii", "replace"): n for k, n in kinds.items() if k.isupper()})
    return TreeCounts(guards.total(), managers, ordered(guards))


def ordered(kinds: Counter[str]) -> tuple[Count, ...]:
    """Kinds of guards, the most frequent first."""
    return counts(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))


def without_latency(payload: bytes) -> tuple[bytes, float | None]:
    """A guard tree, which many compiles have in common, and what is measured anew for each of them, at its end."""
    tail = max(len(payload) - 200, 0)
    found = _LATENCY.search(payload, tail)
    return (payload[: found.start()], _number(found[1])) if found else (payload, None)


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class GuardLines:
    """The lines of the guards of one compile that recompiles name. Each is looked for once in each different tree."""

    def __init__(self, compile_: Compile, digest: bytes) -> None:
        """`digest` is the md5 of its tree, b"" where it has none."""
        self._compile = compile_
        self._digest = digest
        self._text: GuardText | None = None

    def of(self, cause: Cause, text: str, hint: str) -> int | None:
        """The line of a guard, from 1; None where it is not found."""
        if not self._digest:
            return None
        parts, key = self._compile.process.parts, (self._digest, text, hint)
        known = parts.get(GuardLines, key)
        if known is not MISSING:
            return known if isinstance(known, int) else None
        self._text = self._text or guard_text(self._compile, reader_of(self._compile))
        guard = self._text.failed(cause, text) if self._text else None
        line = guard.line if guard else None
        parts.put(GuardLines, key, (), line)
        return line


def tree_nodes(compile_: Compile, record: int) -> Iterable[object]:
    """The nodes of a guard tree, one after the other; those of equal trees are parsed once."""
    text, _ = without_latency(reader_of(compile_).payload(record, LIMIT))
    return _nodes(compile_, text) if len(text) <= KEPT else walk(text.decode("utf-8", "replace").split("\n"))


@parsed
def _nodes(text: bytes) -> tuple[GuardNode, ...]:
    return tuple(node for node in walk(text.decode("utf-8", "replace").split("\n")) if isinstance(node, GuardNode))
