"""Sizes that equal another size of the same call: torch.compile(dynamic=True) gives both one symbol (duck sizing)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from tltui.model.nodes import Compile, Frame
from tltui.questions.recompiles import guard_requirements as required
from tltui.questions.recompiles.explanations import Key
from tltui.questions.recompiles.guard_comparison import Comparison
from tltui.questions.recompiles.guard_grammar import EQUAL, SIZE, SPECIAL, condition_of, is_parameter
from tltui.questions.recompiles.guard_requirements import ANY
from tltui.questions.recompiles.guard_table import FrameGuards, base_guards, base_of, changes_of, compiles_of
from tltui.text.torch_names import PREFIX

Size = tuple[str, str]
"""A source and its dimension."""


class Equal(NamedTuple):
    """Sizes that are equal in an older version: if all were dynamic, one symbol would represent them."""

    divided: frozenset[Key]
    """Those that equal a size that does not vary with them."""
    apart: frozenset[Key]
    """Those that may have a symbol each: they equal another one in the call too, where its version has a symbol for each, so that
    other calls may have divided them; or they come after a graph break, perhaps from another compiled graph."""
    fresh: frozenset[Key] = frozenset()
    """Those of `divided` that no earlier version has: only a size that had changed before has a symbol of its own."""


EqualSizes = Mapping[tuple[str, int], Equal]
"""(address of the call, number of the older version) → sizes."""
MOST_OLDER = 64
"""Versions that are searched for sizes."""


def equal_sizes(frame: Frame, guards: FrameGuards) -> EqualSizes:
    """Return the equal sizes of each comparison."""
    base = base_of(frame)
    if base is None:
        return {}
    compiles = compiles_of(frame)
    # what a compiled graph returned keeps its dynamic sizes in the next graph, each with a symbol of its own
    # (mark_dynamo_propagated_dynamic_indices in torch/_functorch/_aot_autograd/runtime_wrappers.py); no guard shows that
    is_resumed = (frame.code[0] or "").startswith(PREFIX)
    requirements = base_guards(base).requirements
    first = dict(_sizes(requirements))
    by_value: dict[int, Mapping[str, Sequence[Size]]] = {}
    results: dict[tuple[str, int], Equal] = {}
    for call, compile_ in zip(guards.calls, compiles, strict=True):
        for comparison in call.comparisons:
            if not any(difference.cause == SIZE for difference in comparison.differences):
                continue
            number = comparison.version
            if number not in by_value:
                by_value[number] = _by_value(_sizes_in(first, _changed(compiles[number])))
            groups = by_value[number]
            if divided := frozenset(_shared(comparison, groups)):
                older = [_sizes_in(first, _changed(each)) for each in compiles[: min(number, MOST_OLDER)]]
                fresh = frozenset(_fresh(divided, groups, older)) if older else frozenset()
                results[(call.ref, number)] = Equal(frozenset(), divided) if is_resumed else Equal(divided, frozenset(), fresh)
            elif together := [group for group in _varying(comparison, groups) if len(group) > 1]:
                apart = frozenset(_apart(together, requirements, _changed(compile_)))
                if apart:
                    results[(call.ref, number)] = Equal(frozenset(), apart)
    return results


def _varying(comparison: Comparison, by_value: Mapping[str, Sequence[Size]]) -> list[Sequence[Size]]:
    """Return the groups of equal sizes that differ in a comparison."""
    return [by_value.get(value, ()) for value in dict.fromkeys(d.expected for d in comparison.differences if d.cause == SIZE)]


def _apart(
    groups: Sequence[Sequence[Size]], first: Mapping[required.Property, tuple[str, str]],
    changes: Mapping[required.Property, str | None],
) -> Iterator[Key]:  # fmt: skip
    """Yield the sizes of groups that are dynamic in a version without a condition that they are equal."""
    related: set[frozenset[Size]] = set()
    for key in (*first, *changes):
        if key.kind == required.CONDITION and changes.get(key, required.THERE) is not None:
            condition = condition_of(key.source)
            if condition is not None and condition.kind == EQUAL:
                related.add(frozenset((term.source, str(term.dim)) for term in condition.terms))
    for group in groups:
        free = [size for size in group if changes.get(required.Property(required.SIZE, *size)) == ANY]
        for n, size in enumerate(free):
            if n and not any(size in pair and not pair.isdisjoint(free[:n]) for pair in related):
                yield (SIZE, size[0], int(size[1]))


def _sizes(requirements: Mapping[required.Property, tuple[str, str]]) -> Iterator[tuple[Size, str]]:
    for key, (value, _) in requirements.items():
        if key.kind == required.SIZE and not is_parameter(key.source):
            yield (key.source, key.name), value


def _changed(compile_: Compile) -> Mapping[required.Property, str | None]:
    changes = changes_of(compile_)
    return changes[0] if changes is not None else {}


def _sizes_in(first: Mapping[Size, str], changes: Mapping[required.Property, str | None]) -> dict[Size, str | None]:
    """Return the sizes that a version requires. `first`: those of the first one with guards; `changes`: what differs from that."""
    sizes: dict[Size, str | None] = dict(first)
    for key, value in changes.items():
        if key.kind == required.SIZE and not is_parameter(key.source):
            sizes[(key.source, key.name)] = value
    return sizes


def _by_value(sizes: Mapping[Size, str | None]) -> Mapping[str, Sequence[Size]]:
    """Group the sizes of a version by value."""
    groups: dict[str, list[Size]] = defaultdict(list)
    for size, value in sizes.items():
        if value is not None and value != ANY and value not in SPECIAL:
            groups[value].append(size)
    return groups


def _fresh(
    divided: Set[Key], by_value: Mapping[str, Sequence[Size]], older: Sequence[Mapping[Size, str | None]]
) -> Iterator[Key]:  # fmt: skip
    """Yield the sizes that no older version has and that equal a size which had not changed before."""
    for value, group in by_value.items():
        fresh = [size for size in group if not any(sizes.get(size) for sizes in older)]
        if any(all(sizes.get(size) in (None, value) for sizes in older) for size in group if size not in fresh):
            yield from divided & {(SIZE, source, int(dim)) for source, dim in fresh}


def _shared(comparison: Comparison, by_value: Mapping[str, Sequence[Size]]) -> Iterator[Key]:
    """Yield the sizes that differ in a comparison while an equal size does not, or differs otherwise."""
    actual = {(d.source, str(d.dim)): d.actual for d in comparison.differences if d.cause == SIZE}
    for difference in comparison.differences:
        if difference.cause == SIZE:
            group = by_value.get(difference.expected, ())
            if any(actual.get(size) != difference.actual for size in group):
                yield difference.key
