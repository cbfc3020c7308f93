"""Sizes that equal another size of the same call: torch.compile(dynamic=True) gives both one symbol (duck sizing)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tltui.model.nodes import Frame
from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import Key
from tltui.questions.recompiles.guard_comparison import Comparison
from tltui.questions.recompiles.guard_grammar import SIZE, SPECIAL
from tltui.questions.recompiles.guard_requirements import ANY
from tltui.questions.recompiles.guard_table import FrameGuards, base_guards, base_of, changes_of, compiles_of

Size = tuple[str, str]
"""A source and its dimension."""
_PARAMETER = re.compile(r"\._(?:parameters|buffers)\[")


def is_parameter(source: str) -> bool:
    """Return whether a source is a parameter or a buffer: their sizes are static also with dynamic=True."""
    return bool(_PARAMETER.search(source))


def equal_sizes(frame: Frame, guards: FrameGuards) -> frozenset[Key]:
    """Return the varying sizes that equaled, in an older version, a size that did not vary with them.

    If all sizes of that version were dynamic, one symbol would represent both, and the call would still need a version of its own.
    """
    base = base_of(frame)
    if base is None:
        return frozenset()
    compiles = compiles_of(frame)
    first = dict(_sizes(base_guards(base).requirements))
    by_value: dict[int, Mapping[str, Sequence[Size]]] = {}
    results: set[Key] = set()
    for call in guards.calls:
        for comparison in call.comparisons:
            number = comparison.version
            if number not in by_value:
                changes = changes_of(compiles[number])
                by_value[number] = _by_value(first, changes[0] if changes is not None else {})
            results.update(_shared(comparison, by_value[number]))
    return frozenset(results)


def _sizes(requirements: Mapping[required.Property, tuple[str, str]]) -> Iterator[tuple[Size, str]]:
    for key, (value, _) in requirements.items():
        if key.kind == required.SIZE and not is_parameter(key.source):
            yield (key.source, key.name), value


def _by_value(first: Mapping[Size, str], changes: Mapping[required.Property, str | None]) -> Mapping[str, Sequence[Size]]:
    """Group the sizes of a version by value."""
    sizes: dict[Size, str | None] = dict(first)
    for key, value in changes.items():
        if key.kind == required.SIZE and not is_parameter(key.source):
            sizes[(key.source, key.name)] = value
    groups: dict[str, list[Size]] = defaultdict(list)
    for size, value in sizes.items():
        if value is not None and value != ANY and value not in SPECIAL:
            groups[value].append(size)
    return groups


def _shared(comparison: Comparison, by_value: Mapping[str, Sequence[Size]]) -> Iterator[Key]:
    """Yield the sizes that differ in a comparison while an equal size does not, or differs otherwise."""
    actual = {(d.source, str(d.dim)): d.actual for d in comparison.differences if d.cause == SIZE}
    for difference in comparison.differences:
        if difference.cause == SIZE:
            group = by_value.get(difference.expected, ())
            if any(actual.get(size) != difference.actual for size in group):
                yield difference.key
