"""Buffers that only generated kernels write and read: no call tells what they are.

What such a buffer can be is what its writer can have made of what it reads, has its sizes, is in memory by what lowering does, and
is on the way to what all of its readers write. Where there are as many such values as buffers, they are these; which of them is
which changes nothing, since the same kernels write and read them.
"""

from __future__ import annotations

from tltui.analyses.provenance.flow.known import Identified, buffer_node, closes, copied_for, standing_for
from tltui.analyses.provenance.flow.lowering import Lowering, lowering
from tltui.analyses.provenance.flow.values import Shape
from tltui.analyses.provenance.flow.wrapper import FUSED, Step, Version

MAX_GROUP, MAX_WAY = 8, 500


def lowered(found: Identified) -> Lowering:
    """What each node carries, by what is known so far."""
    values = found.values
    kept = {
        name for version in found.walked.versions
        if version.node and version.by >= 0 and values.is_view(name := buffer_node(values, version))
        and not version.part_of and not copied_for(values, version)
    }  # fmt: skip
    return lowering(values, set(found.steps.values()), kept)


def identify_between(found: Identified) -> bool:
    """Identify such buffers; whether there were any."""
    groups = _groups(found)
    if not groups:
        return False
    values, memory, new = found.values, lowered(found), False
    ways: dict[int, set[str]] = {}
    taken = {values.root(version.node) for version in found.walked.versions if version.node and version.by >= 0}
    for (_, shape, readers), versions in groups.items():
        common: set[str] | None = None
        for reader in readers:
            if reader not in ways:
                ways[reader] = _way(found, found.walked.steps[reader])
            common = ways[reader] if common is None else common & ways[reader]
        choices = [
            name for name in sorted(common or (), key=values.order.__getitem__)
            if name in memory.realized and name not in memory.constant and name not in taken
            and _is(values.nodes[name].shape, shape) and closes(found, versions[0], name) > 0
        ]  # fmt: skip
        if len(choices) == len(versions):
            for version, name in zip(versions, choices, strict=True):
                new |= found.name(version, name)
            taken.update(choices)
    return new


def _groups(found: Identified) -> dict[tuple[int, Shape, tuple[int, ...]], list[Version]]:
    """Buffers of which nothing is known: by the kernel that wrote them, their sizes, and the kernels that read them."""
    readers: dict[int, list[int]] = {}
    for step in found.walked.steps:
        for version in step.reads:
            if not version.node and version.by >= 0 and version.shape is not None:
                readers.setdefault(id(version), []).append(step.number)
    groups: dict[tuple[int, Shape, tuple[int, ...]], list[Version]] = {}
    for version in found.walked.versions:
        read_by = readers.get(id(version))
        if read_by and version.shape is not None and all(_tells(found.walked.steps[number]) for number in read_by):
            groups.setdefault((version.by, version.shape, tuple(dict.fromkeys(read_by))), []).append(version)
    return {key: versions for key, versions in groups.items() if len(versions) <= MAX_GROUP}


def _tells(step: Step) -> bool:
    return step.kind == FUSED and step.complete and any(version.node for version in step.writes)


def _is(one: Shape | None, other: Shape) -> bool:
    return one is not None and one == other


def _way(found: Identified, step: Step) -> set[str]:
    """The nodes on the way back from what a kernel writes to what is known of what it reads."""
    values = found.values
    read = {name for version in step.reads if version.node for name in standing_for(values, version)}
    todo = [values.root(version.node) for version in step.writes if version.node]
    seen: set[str] = set()
    while todo and len(seen) < MAX_WAY:
        name = todo.pop()
        node = values.nodes[name]
        if name in seen or name in read or node.kind in ("placeholder", "get_attr") or found.is_extern(name):
            continue
        seen.add(name)
        todo += node.operands
    return seen
