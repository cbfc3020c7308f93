"""Which artifacts belong together: graphs, generated code and mappings of each unit.

tlparse takes the last file of each kind of a compile. That shows the backward of a training step, and nothing where it was
compiled lazily. Here each unit has its own: its post-grad graph, code and mappings lie in it; the pre-grad graph stands
before it and is shared by forward and backward.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tltui.analyses.provenance import mapping
from tltui.analyses.provenance.information import INFORMATION, OPERATIONS
from tltui.analyses.records import Reader
from tltui.model.artifacts import OUTPUT_CODE, Artifact, Unit

PRE_GRAPHS = ("before_pre_grad_graph", "inductor_pre_grad_graph")
POST_GRAPHS = ("after_post_grad_graph", "inductor_post_grad_graph", "fx_graph_transformed", "fx_graph_readable")
DYNAMO_GRAPH = "dynamo_output_graph"
WRAPPER, KERNELS = "inductor_aot_wrapper_code", "inductor_aot_kernel_code"
_OF_UNIT = (
    *POST_GRAPHS, OUTPUT_CODE, WRAPPER, KERNELS, mapping.NODE_MAPPINGS, mapping.KERNEL_STACKS, mapping.KERNEL_NODES,
    mapping.POST_NODES, *INFORMATION, *OPERATIONS,
)  # fmt: skip
TEXTS = frozenset((*_OF_UNIT, *PRE_GRAPHS, DYNAMO_GRAPH))
"""Artifacts whose texts provenance reads."""
_AOT_ID = re.compile(rb"# AOT ID: \['(\d+)_(\w+)'\]")


@dataclass(frozen=True, slots=True)
class Parts:
    """The artifacts of one unit."""

    unit: Unit
    members: dict[str, Artifact]
    """The last of each name in the unit, of those that provenance reads."""
    pre: Artifact | None
    pre_why: str
    """Said of the pre-grad pane: that there is none, or what stands in."""
    aot_number: str
    forward: int | None
    """Of a backward: the number of the unit that is its forward."""

    @property
    def post(self) -> Artifact | None:
        """The post-grad graph."""
        return next((self.members[name] for name in POST_GRAPHS if name in self.members), None)

    def record(self, name: str) -> int | None:
        """The record of an artifact."""
        found = self.members.get(name)
        return None if found is None else found.record


def parts_of(artifacts: Sequence[Artifact], units: Sequence[Unit], reader: Reader) -> list[Parts]:
    """The parts of each unit that has a graph, code or a mapping."""
    members: dict[int, dict[str, Artifact]] = {}
    firsts: dict[int, int] = {}
    for artifact in artifacts:
        if artifact.unit is not None:
            firsts.setdefault(artifact.unit, artifact.record)
            if artifact.name in _OF_UNIT or artifact.name in PRE_GRAPHS:
                members.setdefault(artifact.unit, {})[artifact.name] = artifact
    numbers = {number: _aot_number(found.get(OUTPUT_CODE), reader) for number, found in members.items()}
    forwards = {
        numbers[unit.number]: unit.number for unit in reversed(units)
        if unit.direction == "forward" and numbers.get(unit.number)
    }  # fmt: skip
    found: list[Parts] = []
    for unit in units:
        own = members.get(unit.number)
        if own is None or not any(name in own for name in _OF_UNIT):
            continue
        number = numbers[unit.number]
        forward = forwards.get(number) if unit.direction == "backward" and number else None
        before = firsts[unit.number] if forward is None else firsts[forward]
        pre, why = _pre_graph(artifacts, unit, own, before)
        found.append(Parts(unit, own, pre, why, number, forward))
    return found


def _aot_number(code: Artifact | None, reader: Reader) -> str:
    """The number that forward and backward share: `# AOT ID: ['0_backward']`."""
    match = _AOT_ID.search(reader.payload(code.record, 400)) if code is not None else None
    return match[1].decode() if match else ""


def _pre_graph(
    artifacts: Sequence[Artifact], unit: Unit, own: dict[str, Artifact], before: int
) -> tuple[Artifact | None, str]:
    """The graph that Inductor began with: the last one before the unit, of its subgraph if it has one."""
    if name := next((name for name in PRE_GRAPHS if name in own), ""):
        return own[name], ""
    same = [a for a in artifacts if a.attempt == unit.attempt]
    for subgraph in dict.fromkeys((unit.subgraph, None)):
        for name in PRE_GRAPHS:
            found = [a for a in same if a.name == name and a.record < before and a.subgraph == subgraph]
            if found:
                return found[-1], ""
    graph = next((a for a in reversed(same) if a.name == DYNAMO_GRAPH), None)
    if graph is None and artifacts and not artifacts[0].owner.process.is_traced:
        return None, "only a trace has the pre-grad graph"
    if graph is None:
        return None, "torch wrote no pre-grad graph"
    hit = any(a.name in ("aotautograd_cache_hit", "fx_graph_cache_hit", "fx_graph_bundled_cache_hit") for a in same)
    cause = " (it came from a cache)" if hit else ""
    return graph, f"torch wrote no pre-grad graph{cause}: this is the graph of Dynamo, with the same names"
